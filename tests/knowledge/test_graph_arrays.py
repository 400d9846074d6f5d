"""The kept arrays: whole or not used at all, made again when the graph changed, and walks that agree with NetworkX."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.domain.knowledge import SYMMETRIC, EdgeRows, EdgeType, GraphSource, NodeRows, NodeType
from engine.errors import NotFoundError, UserError
from engine.knowledge.graph import arrays, csr, kernels
from engine.knowledge.graph.csr import open_graph
from engine.knowledge.graph.view import GraphView
from storage.graph.twin import GraphStoreTwin

ROOT = Path(__file__).resolve().parents[2]
KINDS = [EdgeType.REGULATES, EdgeType.BINDS, EdgeType.INTERACTS_WITH]


@pytest.fixture(scope="module", autouse=True)
def _keep_the_kernels() -> Iterator[None]:
    before = kernels._loaded
    yield
    kernels._loaded = before


def make(triples: list[tuple[int, EdgeType, int]], count: int = 8, name: str = "s") -> GraphStoreTwin:
    store = GraphStoreTwin()
    add(store, triples, count, name)
    return store


def add(store: GraphStoreTwin, triples: list, count: int, name: str) -> None:
    nodes, edges = NodeRows(), EdgeRows()
    for number in range(count):
        nodes.add(f"n{number}", NodeType.GENE, f"Gene {number}")
    for place, (a, kind, b) in enumerate(triples):
        edges.add(f"n{a}", kind, f"n{b}", str(place))
    store.add(GraphSource(id=name, name=name, kind="generic"), [nodes, edges])


@pytest.fixture
def store() -> GraphStoreTwin:
    return make([(0, EdgeType.BINDS, 1), (1, EdgeType.REGULATES, 2), (2, EdgeType.INTERACTS_WITH, 3)])


def built(store: GraphStoreTwin, folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Open the graph and say whether its arrays were made anew; in any case it must be right."""
    made: list[bool] = []
    real = csr.build

    def build(columns: Any) -> Any:
        made.append(True)
        return real(columns)

    with monkeypatch.context() as patch:
        patch.setattr(csr, "build", build)
        graph = open_graph(store, folder)
    assert graph.version == store.version()
    assert [graph.nodes.node(n).id for n in graph.reach([0], 3)] == ["n0", "n1", "n2", "n3"]
    assert [edge.relation for edge in graph.edges.full([0, 1, 2])] == ["0", "1", "2"]
    return bool(made)


def test_the_arrays_are_made_once(store: GraphStoreTwin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert built(store, tmp_path, monkeypatch)
    assert not built(store, tmp_path, monkeypatch)


def test_a_changed_graph_is_a_new_view_and_the_old_files_go(store: GraphStoreTwin, tmp_path: Path) -> None:
    old = open_graph(store, tmp_path)
    add(store, [(0, EdgeType.BINDS, 5)], 8, "t")
    new = open_graph(store, tmp_path)
    assert (len(old.edges), len(new.edges)) == (3, 4)
    assert [child.name for child in tmp_path.iterdir()] == [str(store.version())]
    assert [old.nodes.node(n).name for n in old.reach([3], 3)] == [
        "Gene 0",
        "Gene 1",
        "Gene 2",
        "Gene 3",
    ]  # still readable
    assert old.edges.full([2])[0].relation == "2"


def test_another_graph_of_the_same_version_is_not_mistaken(tmp_path: Path) -> None:
    first, second = make([(0, EdgeType.BINDS, 1)]), make([(0, EdgeType.BINDS, 2)], name="other")
    assert first.version() == second.version()
    open_graph(first, tmp_path)
    assert open_graph(second, tmp_path).reach([0], 1).tolist() == [0, 2]


def damage(kind: str, folder: Path) -> None:
    data, layout = folder / "arrays.bin", folder / "layout.json"
    content = bytearray(data.read_bytes())
    told = json.loads(layout.read_text())
    if kind == "a flipped bit in the edges":
        content[told["arrays"]["near"][2]] ^= 1
    elif kind == "a flipped bit in the names":
        content[told["arrays"]["name_data"][2] + 3] ^= 4
    elif kind == "cut short":
        content = content[:-100]
    elif kind == "empty":
        content = bytearray()
    elif kind == "zeros, as after a power cut":
        content = bytearray(len(content))
    elif kind == "too long":
        content += bytes(64)
    elif kind == "no data":
        data.unlink()
        return
    elif kind == "another layout":
        told["arrays"]["near"][2] += 4
        layout.write_text(json.dumps(told))
    elif kind == "half a layout":
        layout.write_text(layout.read_text()[: len(layout.read_text()) // 2])
    elif kind == "no JSON":
        layout.write_bytes(b"\xff\xfe nonsense")
    elif kind == "a list":
        layout.write_text("[1, 2]")
    elif kind == "no layout":
        layout.unlink()
    data.write_bytes(bytes(content))


@pytest.mark.parametrize(
    "kind",
    [
        "a flipped bit in the edges", "a flipped bit in the names", "cut short", "empty",
        "zeros, as after a power cut", "too long", "no data", "another layout", "half a layout", "no JSON", "a list",
        "no layout",
    ],
)  # fmt: skip
def test_a_damaged_cache_is_made_again(
    kind: str, store: GraphStoreTwin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(store, tmp_path, monkeypatch)
    damage(kind, tmp_path / str(store.version()))
    assert built(store, tmp_path, monkeypatch)
    assert not built(store, tmp_path, monkeypatch)


def test_a_folder_that_cannot_be_written_costs_only_time(
    store: GraphStoreTwin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert built(store, tmp_path / "file" / "graph", monkeypatch)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(arrays, "_checksum", full)
    assert built(store, tmp_path / "graph", monkeypatch)
    assert list((tmp_path / "graph").iterdir()) == []


def test_a_process_killed_while_it_writes_leaves_nothing_that_is_trusted(
    store: GraphStoreTwin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "import sys, numpy as np\nfrom pathlib import Path\nfrom engine.knowledge.graph import arrays\n"
        "def wait(*a):\n    print('now', flush=True); sys.stdin.read()\n"
        "arrays._checksum = wait\narrays.save(Path(sys.argv[1]), {'near': np.arange(9)}, {})\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / str(store.version()))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == b"now"
        child.send_signal(signal.SIGKILL)
    assert len(list(tmp_path.iterdir())) == 1  # the unfinished one
    assert built(store, tmp_path, monkeypatch)
    assert [path.name for path in tmp_path.iterdir()] == [str(store.version())]


def test_texts_of_every_kind_are_packed() -> None:
    texts = ["", "a", "β-catenin", "x" * 1000, "", "日本"]
    packed = arrays.Texts(*arrays.Texts.pack(texts))
    assert list(packed) == [packed[i] for i in range(len(packed))] == texts
    assert list(arrays.Texts(*arrays.Texts.pack([]))) == []


# ==== walks ====

TRIPLES = st.lists(st.tuples(st.integers(0, 7), st.sampled_from(KINDS), st.integers(0, 7)), max_size=16)
SETTINGS = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def peer(triples: list, kinds: set | None, direction: str) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(8))
    for a, kind, b in triples:
        if kinds is not None and kind not in kinds:
            continue
        if direction in ("out", "both") or kind in SYMMETRIC:
            graph.add_edge(a, b)
        if direction in ("in", "both") or kind in SYMMETRIC:
            graph.add_edge(b, a)
    return graph


@pytest.fixture(params=["numpy", "numba"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numba":
        assert kernels.load()
    else:
        monkeypatch.setattr(kernels, "_loaded", None)
        monkeypatch.setattr(kernels, "_failed", True)  # a walk would have them loaded meanwhile
    return request.param


@SETTINGS
@given(
    triples=TRIPLES,
    seeds=st.lists(st.integers(0, 7), max_size=3),
    hops=st.integers(0, 4),
    kinds=st.none() | st.sets(st.sampled_from(KINDS)),
    direction=st.sampled_from(["out", "in", "both"]),
)
def test_reach_is_that_of_networkx(
    engine: str, triples: list, seeds: list, hops: int, kinds: Any, direction: Any
) -> None:
    graph = GraphView(csr.build(make(triples).columns()), 1)
    want: dict[int, int] = {}
    for seed in seeds:
        for node, steps in nx.single_source_shortest_path_length(peer(triples, kinds, direction), seed, hops).items():
            want[node] = min(steps, want.get(node, 99))
    found, steps = graph.reach_steps(seeds, hops, kinds, direction)
    assert dict(zip(found.tolist(), steps.tolist(), strict=True)) == want
    assert found.tolist() == sorted(want)
    assert graph.reach(seeds, hops, kinds, direction).tolist() == sorted(want)


@SETTINGS
@given(
    triples=TRIPLES,
    ends=st.tuples(st.integers(0, 7), st.integers(0, 7)),
    kinds=st.none() | st.sets(st.sampled_from(KINDS)),
    direction=st.sampled_from(["out", "in", "both"]),
    most=st.integers(0, 6),
)
def test_shortest_is_as_long_as_that_of_networkx(
    engine: str, triples: list, ends: tuple[int, int], kinds: Any, direction: Any, most: int
) -> None:
    graph = GraphView(csr.build(make(triples).columns()), 1)
    other = peer(triples, kinds, direction)
    found = graph.shortest(*ends, kinds, direction, most)
    length = nx.shortest_path_length(other, *ends) if nx.has_path(other, *ends) else None
    if length is None or length > most:
        assert found is None
    else:
        assert found is not None
        assert (len(found) - 1, found[0], found[-1]) == (length, *ends)
        assert all(other.has_edge(a, b) for a, b in pairwise(found))


def test_both_ways_of_walking_give_the_same_on_a_large_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(3)
    kinds = [KINDS[i] for i in chance.integers(0, 3, 6000)]
    ends = (chance.random((6000, 2)) ** 3 * 2000).astype(int)  # some nodes are hubs
    graph = GraphView(
        csr.build(make([(a, k, b) for (a, b), k in zip(ends.tolist(), kinds, strict=True)], 2000).columns()), 1
    )
    questions = [(int(a), int(b), d, k) for a, b in chance.integers(0, 2000, (40, 2)) for d in ("out", "both") for k in (None, KINDS[:1])]  # fmt: skip

    def answers() -> list[Any]:
        reached = [graph.reach_steps([a, b], 2, k, d) for a, b, d, k in questions]
        many = list(range(0, 2000, 4))
        reached += [
            graph.reach_steps(many[:400], hops, k)
            for hops in (0, 1, 3)
            for k in (None, KINDS[:1], [], [EdgeType.TREATS])
        ]
        reached += [graph.reach_steps([number], 6) for number in many]
        return [
            [(n.tolist(), s.tolist()) for n, s in reached],
            [graph.shortest(a, b, k, d) for a, b, d, k in questions],
        ]

    assert kernels.load()
    compiled = answers()
    assert compiled == answers()  # the marks are as they were before
    monkeypatch.setattr(kernels, "_loaded", None)
    assert answers() == compiled


def test_numbers_that_are_no_nodes_are_refused(engine: str, store: GraphStoreTwin, tmp_path: Path) -> None:
    graph = open_graph(store, tmp_path)
    calls = [
        lambda n: graph.reach([0, n]),
        lambda n: graph.shortest(0, n),
        graph.nodes.node,
        graph.adjacent,
        graph.nodes.degree,
        lambda n: graph.rows_between(0, n),
        lambda n: graph.edges.full([n]),
    ]
    for wrong in (-1, 8, 2**40):
        for call in calls:
            with pytest.raises(NotFoundError):
                call(wrong)


def test_without_numba_the_answers_stay(monkeypatch: pytest.MonkeyPatch, store: GraphStoreTwin, tmp_path: Path) -> None:
    monkeypatch.setattr(kernels, "_loaded", None)
    monkeypatch.setattr(kernels, "_failed", False)

    def broken() -> Any:
        raise ImportError("no numba here")

    monkeypatch.setattr(kernels, "_compile", broken)
    graph = open_graph(store, tmp_path)
    assert not kernels.load()
    assert graph.reach([0], 1).tolist() == [0, 1]
    assert graph.shortest(0, 3) == [0, 1, 2, 3]


def test_an_identifier_stands_for_a_name_only_until_a_source_gives_one(tmp_path: Path) -> None:
    store = GraphStoreTwin()
    for source, name in (("annotations", "GO:0006915"), ("ontology", "apoptotic process"), ("other", "apoptosis")):
        rows = NodeRows()
        rows.add("GO:0006915", NodeType.GO_TERM, name)
        store.add(GraphSource(id=source, name=source, kind="generic"), [rows])
        node = open_graph(store, tmp_path).nodes.node(0)
        assert node.name == ("GO:0006915" if source == "annotations" else "apoptotic process")
    assert node.aliases == ["apoptosis"]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "seeds",
    [
        np.array([2**32 + 1]),
        np.array([0, 2**40], dtype=np.uint64),
        np.array([-(2**32)]),
        np.array([2**31], dtype=np.uint32),
        np.array([-1], dtype=np.int8),
        [2**32],
        [2**70],
        [np.int64(2**32)],
    ],
    ids=str,
)
def test_a_number_too_large_is_no_other_node(
    store: GraphStoreTwin, seeds: Any, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiled:
        assert kernels.load()
    else:
        monkeypatch.setattr(kernels, "_loaded", None)
        monkeypatch.setattr(kernels, "_failed", True)
    graph = GraphView(csr.build(store.columns()), 1)
    wrong = next(int(seed) for seed in seeds if not 0 <= int(seed) < 8)
    with pytest.raises(NotFoundError, match=f"none with the number {wrong}"):
        graph.reach(seeds)
    for kind in (np.int8, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        assert graph.reach(np.array([0, 3], dtype=kind), 1).tolist() == [0, 1, 2, 3]
    assert graph.reach(np.array([]), 1).tolist() == graph.reach([], 1).tolist() == []
    with pytest.raises(TypeError):
        graph.reach(np.array([1.5]))


def test_what_is_no_type_of_edge_is_said(store: GraphStoreTwin) -> None:
    graph = GraphView(csr.build(store.columns()), 1)
    for ask in (
        lambda kinds: graph.reach([0], 1, kinds),
        lambda kinds: graph.shortest(0, 3, kinds),
        lambda kinds: graph.adjacent(0, kinds),
        lambda kinds: graph.adjacent_many(np.array([0]), kinds),
    ):
        with pytest.raises(UserError, match="'loves' is not a type of edge") as caught:
            ask(["binds", "loves"])
        assert "binds" in caught.value.advice
    assert graph.reach([0], 1, ["binds"]).tolist() == [0, 1]  # type: ignore[list-item]
