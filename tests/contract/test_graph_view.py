"""The promises of `GraphView`, kept by the memory-mapped arrays and by the graph in memory."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.domain.knowledge import (
    EDGE_TYPES,
    NODE_TYPES,
    SYMMETRIC,
    Edge,
    EdgeRows,
    EdgeType,
    GraphSource,
    Node,
    NodeRows,
    NodeType,
)
from engine.errors import NotFoundError
from engine.knowledge.graph.csr import open_graph
from engine.knowledge.graph.twin import GraphTwin
from engine.knowledge.graph.view import GraphView
from storage.graph.twin import GraphStoreTwin

SOURCE = GraphSource(id="s1", name="Source one", kind="generic", license="CC0", at="2026-11-21T08:00:00.000Z")
NODES = [
    Node(
        id="Gene::1956",
        type=NodeType.GENE,
        name="EGFR",
        aliases=["ERBB1", "HER1"],
        xrefs=["UNIPROT:P00533"],
        source="s1",
    ),
    Node(id="Gene::2885", type=NodeType.GENE, name="GRB2", source="s1"),
    Node(id="DOID:1324", type=NodeType.DISEASE, name="lung cancer", source="s1"),
    Node(id="DB00317", type=NodeType.DRUG, name="Gefitinib – Größe β", source="s1"),
    Node(id="lonely", type=NodeType.SYMPTOM, name="Nobody's symptom", source="s1"),
]


def edge(source: str, kind: EdgeType, target: str, relation: str = "", confidence: float = 1.0) -> Edge:
    return Edge(
        source=source,
        type=kind,
        target=target,
        relation=relation,
        origin="s1",
        confidence=confidence,
        at=SOURCE.at,
        license="CC0",
    )


EDGES = [
    edge("Gene::1956", EdgeType.INTERACTS_WITH, "Gene::2885", "GiG", 0.9),
    edge("DB00317", EdgeType.BINDS, "Gene::1956", "CbG"),
    edge("DB00317", EdgeType.DOWNREGULATES, "Gene::1956", "CdG", 0.25),
    edge("DOID:1324", EdgeType.ASSOCIATED_WITH, "Gene::1956", "DaG"),
    edge("DB00317", EdgeType.TREATS, "DOID:1324", "CtD"),
    edge("Gene::2885", EdgeType.REGULATES, "Gene::2885", "self"),
    edge("Gene::1956", EdgeType.INTERACTS_WITH, "Gene::1956", "dimer"),
]

Build = Callable[[list[Node], list[Edge]], GraphView]


def stored(nodes: list[Node], edges: list[Edge]) -> GraphStoreTwin:
    node_rows, edge_rows = NodeRows(), EdgeRows()
    for node in nodes:
        node_rows.add(node.id, node.type, node.name, node.aliases, node.xrefs)
    for one in edges:
        edge_rows.add(one.source, one.type, one.target, one.relation, one.confidence)
    store = GraphStoreTwin()
    store.add(SOURCE, [node_rows, edge_rows])
    return store


@pytest.fixture(params=["arrays", "arrays from the cache", "memory"])
def build(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Build:
    def build_one(nodes: list[Node], edges: list[Edge]) -> GraphView:
        if request.param == "memory":
            return GraphTwin(nodes, edges, [SOURCE])
        store, folder = stored(nodes, edges), tmp_path_factory.mktemp("graph")
        graph = open_graph(store, folder)
        return open_graph(store, folder) if request.param == "arrays from the cache" else graph

    return build_one


@pytest.fixture
def view(build: Build) -> GraphView:
    return build(NODES, EDGES)


def test_it_counts_its_nodes_and_edges(view: GraphView) -> None:
    assert (len(view.nodes), len(view.edges), view.version) == (5, 7, 1)


def test_numbers_and_ids_belong_together(view: GraphView) -> None:
    assert sorted(view.nodes.number(node.id) for node in NODES) == list(range(5))
    assert [view.nodes.node(view.nodes.number(node.id)) for node in NODES] == NODES
    for unknown in ("", "gene::1956", "Gene::19", "Gene::19566", "\ud800", "x" * 10_000):
        assert view.nodes.number(unknown) == -1


def test_types(view: GraphView) -> None:
    codes = view.nodes.types
    assert codes.dtype == np.uint8
    for node in NODES:
        number = view.nodes.number(node.id)
        assert view.nodes.node_type(number) == node.type == NODE_TYPES[codes[number]]
    with pytest.raises(ValueError):
        codes[0] = 3


def test_all_names_are_listed(view: GraphView) -> None:
    listed = list(view.nodes.named())
    assert [node.number for node in listed] == list(range(5))
    assert {(n.id, n.type, n.name, tuple(n.aliases), tuple(n.xrefs)) for n in listed} == {
        (n.id, n.type, n.name, tuple(n.aliases), tuple(n.xrefs)) for n in NODES
    }


def relations(view: GraphView, node_id: str, *args: object) -> list[str]:
    found = view.adjacent(view.nodes.number(node_id), *args)  # type: ignore[arg-type]
    assert len(found) == len(found.numbers) == len(found.types) == len(found.rows)
    assert (found.numbers.dtype, found.types.dtype, found.rows.dtype) == (np.int32, np.uint8, np.int64)
    edges = view.edges.full(found.rows)
    for other, code, one in zip(found.numbers, found.types, edges, strict=True):
        assert {one.source, one.target} == {node_id, view.nodes.node(int(other)).id}
        assert EDGE_TYPES[code] == one.type
    return sorted(one.relation for one in edges)


def test_edges_at_a_node(view: GraphView) -> None:
    assert relations(view, "Gene::1956") == ["CbG", "CdG", "DaG", "GiG", "dimer"]
    assert relations(view, "Gene::1956", None, "out") == ["DaG", "GiG", "dimer"]  # symmetric ones from both ends
    assert relations(view, "Gene::1956", None, "in") == ["CbG", "CdG", "DaG", "GiG", "dimer"]
    assert relations(view, "DB00317", None, "out") == ["CbG", "CdG", "CtD"]
    assert relations(view, "DB00317", None, "in") == []
    assert relations(view, "DB00317", [EdgeType.BINDS, EdgeType.TREATS]) == ["CbG", "CtD"]
    assert relations(view, "DOID:1324", {EdgeType.TREATS}, "in") == ["CtD"]
    assert relations(view, "DOID:1324", {EdgeType.TREATS}, "out") == []
    assert relations(view, "DB00317", [EdgeType.CITED_IN]) == []
    assert relations(view, "DB00317", []) == []
    assert relations(view, "lonely") == []


def test_an_edge_from_a_node_to_itself_is_one_edge(view: GraphView) -> None:
    for direction in ("out", "in", "both"):
        assert relations(view, "Gene::2885", [EdgeType.REGULATES], direction) == ["self"]
    assert view.nodes.degree(view.nodes.number("Gene::2885")) == 2
    assert view.nodes.degree(view.nodes.number("Gene::1956")) == 5


def test_edges_between_two_nodes(view: GraphView) -> None:
    a, b = view.nodes.number("DB00317"), view.nodes.number("Gene::1956")
    for pair in ((a, b), (b, a)):
        rows = view.rows_between(*pair)
        assert rows.dtype == np.int64
        assert sorted(one.relation for one in view.edges.full(rows)) == ["CbG", "CdG"]
    assert len(view.rows_between(a, view.nodes.number("lonely"))) == 0
    assert [one.relation for one in view.edges.full(view.rows_between(b, b))] == ["dimer"]


def test_edges_in_full_in_the_order_asked(view: GraphView) -> None:
    rows = view.rows_between(view.nodes.number("DB00317"), view.nodes.number("Gene::1956"))
    assert view.edges.full(rows[::-1]) == view.edges.full(rows)[::-1]
    assert sorted(view.edges.full(range(7)), key=str) == sorted(EDGES, key=str)
    assert view.edges.full([]) == []


def test_sources_have_names(view: GraphView) -> None:
    assert view.edges.source_name("s1") == "Source one"
    assert view.edges.source_name("unknown") == "unknown"


def test_an_empty_graph(build: Build) -> None:
    view = build([], [])
    assert (len(view.nodes), len(view.edges), view.nodes.number("x"), list(view.nodes.named())) == (0, 0, -1, [])
    assert len(view.nodes.types) == 0


def test_nodes_without_edges(build: Build) -> None:
    view = build(NODES, [])
    assert (len(view.nodes), len(view.edges), view.nodes.degree(0), len(view.adjacent(0))) == (5, 0, 0, 0)


def test_many_threads_read_the_same(view: GraphView) -> None:
    want = [relations(view, node.id) for node in NODES]
    wrong: list[object] = []

    def read() -> None:
        for _ in range(30):
            if [relations(view, node.id) for node in NODES] != want:
                wrong.append(1)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


IDS = [f"n{i}" for i in range(7)]
KINDS = [EdgeType.REGULATES, EdgeType.BINDS, EdgeType.INTERACTS_WITH, EdgeType.RESEMBLES]
TRIPLES = st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(KINDS), st.sampled_from(IDS)), max_size=25)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(triples=TRIPLES, kinds=st.none() | st.sets(st.sampled_from(KINDS)))
def test_adjacency_is_what_the_edges_say(build: Build, triples: list, kinds: set | None) -> None:
    nodes = [Node(id=name, type=NodeType.GENE, name=name, source="s1") for name in IDS]
    edges = [edge(a, kind, b, str(i)) for i, (a, kind, b) in enumerate(triples)]
    view = build(nodes, edges)
    for name, direction in itertools.product(IDS, ("out", "in", "both")):
        want = []
        for one in edges:
            out, inward = one.source == name, one.target == name
            if one.type in SYMMETRIC:
                out = inward = out or inward
            hit = {"out": out, "in": inward, "both": out or inward}[direction]
            if hit and (kinds is None or one.type in kinds):
                want.append(one.relation)
        assert relations(view, name, kinds, direction) == sorted(want)
        assert view.nodes.degree(view.nodes.number(name)) == sum(name in (one.source, one.target) for one in edges)


def test_the_cache_is_in_the_folder(tmp_path: Path) -> None:
    open_graph(stored(NODES, EDGES), tmp_path / "graph")
    assert [child.name for child in (tmp_path / "graph").iterdir()] == ["1"]


# ==== columns and walks ====


def test_columns_say_the_same_as_edges_one_by_one(view: GraphView) -> None:
    rows = np.arange(len(view.edges))
    edges = view.edges.full(rows)
    assert [view.nodes.number(one.source) for one in edges] == view.edges.heads.tolist()
    assert [view.nodes.number(one.target) for one in edges] == view.edges.tails.tolist()
    assert [one.type for one in edges] == [EDGE_TYPES[code] for code in view.edges.codes]
    assert view.edges.confidences(rows).tolist() == pytest.approx([one.confidence for one in edges])
    assert view.nodes.degrees.tolist() == [view.nodes.degree(number) for number in range(len(view.nodes))]


def test_edges_at_many_nodes_are_those_at_each(view: GraphView) -> None:
    numbers = np.arange(len(view.nodes))
    owners, near, rows = view.adjacent_many(numbers, [EdgeType.INTERACTS_WITH, EdgeType.TREATS])
    for number in numbers.tolist():
        one = view.adjacent(number, [EdgeType.INTERACTS_WITH, EdgeType.TREATS])
        here = owners == number
        assert sorted(zip(near[here].tolist(), rows[here].tolist(), strict=True)) == sorted(
            zip(one.numbers.tolist(), one.rows.tolist(), strict=True)
        )
    assert [len(part) for part in view.adjacent_many(numbers[:0])] == [0, 0, 0]


def test_walks(view: GraphView) -> None:
    drug, disease, partner, lonely = map(view.nodes.number, ("DB00317", "DOID:1324", "Gene::2885", "lonely"))
    found, steps = view.reach_steps([drug], 2)
    assert dict(zip(found.tolist(), steps.tolist(), strict=True)) == {
        drug: 0, disease: 1, view.nodes.number("Gene::1956"): 1, partner: 2,
    }  # fmt: skip
    assert view.shortest(drug, partner) == [drug, view.nodes.number("Gene::1956"), partner]
    assert view.shortest(drug, partner, max_hops=1) is None
    assert view.shortest(drug, lonely) is None
    assert view.shortest(disease, drug, None, "out") is None
    assert view.shortest(drug, drug) == [drug]


def test_what_a_source_states_is_found_by_it(view: GraphView) -> None:
    numbers, rows = view.of_origin("s1")
    assert (sorted(numbers.tolist()), sorted(rows.tolist())) == (list(range(5)), list(range(7)))
    with pytest.raises(NotFoundError):
        view.of_origin("another")


def test_nodes_outlive_their_view(view: GraphView) -> None:
    nodes = view.nodes.apart()
    number = view.nodes.number("Gene::1956")
    assert (nodes.node(number), nodes.degree(number)) == (view.nodes.node(number), view.nodes.degree(number))


def test_names_are_told_apart_by_their_key(build: Build) -> None:
    key = build(NODES, EDGES).nodes.key()
    assert build(NODES, EDGES[:2]).nodes.key() == key
    assert build([NODES[0].model_copy(update={"name": "HER1"}), *NODES[1:]], EDGES).nodes.key() != key
    fewer = [node for node in NODES if node.type is not NodeType.SYMPTOM]
    assert build(fewer, EDGES).nodes.key() == build(NODES, EDGES).nodes.key([NodeType.SYMPTOM])
    assert [named.name for named in build(NODES, EDGES).nodes.named([1, 0])] == [NODES[1].name, NODES[0].name]
