"""The promises of `GraphStore`, kept by every implementation of it, and the two implementations against each other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.domain.knowledge import EDGE_TYPES, NODE_TYPES, EdgeRows, EdgeType, GraphSource, NodeRows, NodeType
from engine.errors import DataError, Interrupted, NotFoundError, StorageError
from engine.ports.graph import GraphStore
from engine.runs.cancel import CancelSource
from storage.database import Database
from storage.graph.rows import distinct
from storage.graph.store import DuckGraphStore
from storage.graph.twin import GraphStoreTwin

ROOT = Path(__file__).resolve().parents[2]
G, D = NodeType.GENE, NodeType.DISEASE
Make = Callable[[], GraphStore]


@pytest.fixture(params=["memory", "duckdb"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    opened: list[Database] = []

    def make_one() -> GraphStore:
        if request.param == "memory":
            return GraphStoreTwin()
        opened.append(Database(tmp_path / f"b{len(opened)}.duckdb"))
        return DuckGraphStore(opened[-1])

    yield make_one
    for database in opened:
        database.close()


@pytest.fixture
def store(make: Make) -> GraphStore:
    return make()


def source(name: str = "a", **fields: Any) -> GraphSource:
    return GraphSource(**{"id": name, "name": f"Source {name}", "kind": "generic", "license": "CC0", "at": "2026-11-21T08:00:00.000Z", **fields})  # fmt: skip


def nodes(*rows: tuple) -> NodeRows:
    batch = NodeRows()
    for row in rows:
        batch.add(*row)
    return batch


def edges(*rows: tuple) -> EdgeRows:
    batch = EdgeRows()
    for row in rows:
        batch.add(*row)
    return batch


def content(store: GraphStore) -> dict[str, Any]:
    """Everything of a graph that a reader can see, without the numbers that stand for it."""
    got = store.columns()
    return {
        "nodes": {
            node_id: (
                NODE_TYPES[got.node_types[i]],
                got.names[i],
                sorted(got.aliases.get(i, [])),
                sorted(got.xrefs.get(i, [])),
                got.origins[got.named_by[i]].id if got.named_by[i] >= 0 else "",
            )
            for i, node_id in enumerate(got.ids)
        },
        "edges": sorted(
            (
                got.ids[got.sources[row]],
                EDGE_TYPES[got.edge_types[row]].value,
                got.ids[got.targets[row]],
                got.relations[got.edge_relations[row]],
                got.origins[got.edge_origins[row]].id,
                round(float(got.confidences[row]), 5),
            )
            for row in range(len(got.sources))
        ),
        "sources": [(s.id, s.files, s.edges) for s in store.sources()],
    }


EGFR = ("Gene::1956", G, "EGFR", ["ERBB1"], ["ENSEMBL:ENSG00000146648"])
GRB2 = ("Gene::2885", G, "GRB2")
LUNG = ("DOID:1324", D, "lung cancer")
BIND = ("Gene::1956", EdgeType.INTERACTS_WITH, "Gene::2885", "GiG", 0.9)
LINK = ("DOID:1324", EdgeType.ASSOCIATED_WITH, "Gene::1956", "DaG")


def test_an_empty_graph(store: GraphStore) -> None:
    assert store.sources() == []
    columns = store.columns()
    assert (columns.version, columns.ids, len(columns.sources), columns.relations) == (store.version(), [], 0, [])
    assert store.edges([]) == []


def test_what_was_stored_comes_back(store: GraphStore) -> None:
    before = store.version()
    done = store.add(source(confidence=0.7), [nodes(EGFR, GRB2, LUNG), edges(BIND, LINK)])
    assert (done.nodes_read, done.edges_read, done.nodes_added, done.edges_added) == (3, 2, 3, 2)
    assert done.warnings == []
    assert not done.unchanged
    assert store.version() > before
    assert content(store)["nodes"]["Gene::1956"] == (G, "EGFR", ["ERBB1"], ["ENSEMBL:ENSG00000146648"], "a")
    columns = store.columns()
    kinds = {f.dtype for f in (columns.sources, columns.targets)}
    assert kinds == {np.dtype(np.int32)}
    assert (columns.node_types.dtype, columns.confidences.dtype) == (np.uint8, np.float32)
    got = store.edges([int(key) for key in columns.edge_keys[::-1]])
    assert [e.relation for e in got] == ["DaG", "GiG"]
    assert (got[0].confidence, got[1].confidence) == (0.7, 0.9)  # the source's own where the row says nothing
    assert (got[0].origin, got[0].license, got[0].at) == ("a", "CC0", "2026-11-21T08:00:00.000Z")
    assert (store.sources()[0].nodes, store.sources()[0].edges) == (3, 2)


def test_edges_may_come_before_their_nodes_and_in_many_batches(store: GraphStore) -> None:
    store.add(source(), [edges(BIND), nodes(EGFR), edges(LINK), nodes(GRB2), nodes(LUNG), NodeRows(), EdgeRows()])
    assert len(content(store)["edges"]) == 2


def test_edges_to_unknown_ids_are_left_out_and_counted(store: GraphStore) -> None:
    done = store.add(source(), [nodes(EGFR), edges(BIND, LINK)])
    assert done.edges_added == 0
    assert done.warnings == ["2 edges are left out: Source a links 2 ids that no node has (DOID:1324, Gene::2885)."]
    store.add(source("b"), [nodes(GRB2), edges(BIND)])  # a node of another source will do
    assert [edge[4] for edge in content(store)["edges"]] == ["b"]


def test_the_same_files_again_change_nothing(store: GraphStore) -> None:
    first = source(files={"x.tsv": "00"})
    store.add(first, [nodes(EGFR)])
    version = store.version()

    def never() -> Iterator[NodeRows]:
        raise AssertionError("the batches need not be read")
        yield

    done = store.add(first, never())
    assert done.unchanged
    assert done.source.nodes == 1
    assert store.version() == version


def test_the_same_files_are_read_again_after_another_source_came(store: GraphStore) -> None:
    links = source("links", files={"edges.tsv": "00"})
    first = store.add(links, [nodes(EGFR), edges(BIND)])
    assert first.edges_added == 0  # GRB2 is not there yet
    store.add(source("genes", files={"nodes.tsv": "01"}), [nodes(GRB2)])
    again = store.add(links, [nodes(EGFR), edges(BIND)])
    assert (again.unchanged, again.edges_added, again.warnings) == (False, 1, [])
    assert [edge[4] for edge in content(store)["edges"]] == ["links"]


@pytest.mark.parametrize("change", ["added", "removed", "replaced"])
def test_files_that_say_the_same_when_read_again_leave_the_version(store: GraphStore, change: str) -> None:
    store.add(source("b", files={"b.tsv": "01"}), [nodes(GRB2)])
    links = source("links", files={"edges.tsv": "00"})
    rows = [nodes(EGFR, LUNG), edges(LINK, LINK, ("DOID:1324", EdgeType.PRESENTS, "nowhere"))]
    said = store.add(links, rows).warnings
    assert len(said) == 2
    if change == "removed":
        store.remove_source("b")
    else:
        other = source("c") if change == "added" else source("b", files={"b.tsv": "02"})
        store.add(other, [nodes(("Gene::7157", G, "TP53"))])
    version, before = store.version(), content(store)
    done = store.add(links, rows)
    assert done.unchanged
    assert (done.nodes_read, done.edges_read, done.nodes_added, done.edges_added) == (2, 3, 0, 0)
    assert done.warnings == said
    assert done.source == next(known for known in store.sources() if known.id == "links")
    assert (store.version(), content(store)) == (version, before)

    def never() -> Iterator[NodeRows]:
        raise AssertionError("nothing changed since it was read")
        yield

    assert store.add(links, never()).unchanged


def test_read_again_an_edge_to_a_node_that_is_gone_is_left_out(store: GraphStore) -> None:
    store.add(source("genes"), [nodes(GRB2)])
    links = source("links", files={"edges.tsv": "00"})
    store.add(links, [nodes(EGFR), edges(BIND)])
    store.remove_source("genes")
    assert "Gene::2885" in content(store)["nodes"]  # the edge still holds it
    done = store.add(links, [nodes(EGFR), edges(BIND)])
    assert not done.unchanged
    assert "1 edge is left out" in done.warnings[0]
    assert list(content(store)["nodes"]) == ["Gene::1956"]


def test_a_node_with_its_id_for_a_name_takes_the_first_real_one(store: GraphStore) -> None:
    store.add(source("sets"), [nodes(("Gene::1956", G, ""))])
    assert content(store)["nodes"]["Gene::1956"][1:] == ("Gene::1956", [], [], "sets")
    store.add(source("genes"), [nodes(EGFR)])
    store.add(source("more"), [nodes(("Gene::1956", G, "", ["Gene::1956", "HER1"]))])
    assert content(store)["nodes"]["Gene::1956"] == (G, "EGFR", ["ERBB1", "HER1"], EGFR[4], "genes")
    store.remove_source("genes")
    assert content(store)["nodes"]["Gene::1956"] == (G, "Gene::1956", ["HER1"], [], "sets")


def test_other_files_replace_what_the_source_said(store: GraphStore) -> None:
    store.add(source(files={"x": "1"}), [nodes(EGFR, GRB2, LUNG), edges(BIND, LINK)])
    store.add(source("b"), [nodes(("Gene::2885", G, "Growth factor bound 2"))])
    store.add(source(files={"x": "2"}), [nodes(("Gene::1956", G, "EGFR-new"), LUNG), edges(LINK)])
    got = content(store)
    assert set(got["nodes"]) == {"Gene::1956", "DOID:1324", "Gene::2885"}
    assert got["nodes"]["Gene::1956"] == (G, "EGFR-new", [], [], "a")
    assert got["nodes"]["Gene::2885"] == (G, "Growth factor bound 2", [], [], "b")  # now the only one who names it
    assert [edge[:3] for edge in got["edges"]] == [("DOID:1324", "associated_with", "Gene::1956")]
    assert [s.id for s in store.sources()] == ["a", "b"]


def test_a_node_that_exists_gains_names_and_keeps_its_own(store: GraphStore) -> None:
    store.add(source(), [nodes(EGFR)])
    done = store.add(source("b"), [nodes(("Gene::1956", NodeType.PROTEIN, "Epidermal growth factor receptor", ["HER1", "EGFR"], ["UNIPROT:P00533"]))])  # fmt: skip
    assert done.nodes_added == 0
    assert done.warnings == [
        "1 node is known as another type already, which is kept (for example Gene::1956: gene, here protein)."
    ]
    assert content(store)["nodes"]["Gene::1956"] == (
        G,
        "EGFR",
        ["ERBB1", "Epidermal growth factor receptor", "HER1"],
        ["ENSEMBL:ENSG00000146648", "UNIPROT:P00533"],
        "a",
    )
    store.remove_source("a")
    assert content(store)["nodes"]["Gene::1956"][:3] == (
        NodeType.PROTEIN,
        "Epidermal growth factor receptor",
        ["EGFR", "HER1"],
    )


def test_nodes_that_one_source_alone_mentions(store: GraphStore) -> None:
    store.add(source("a"), [nodes(EGFR, GRB2), edges(BIND)])
    store.add(source("b"), [nodes(GRB2, LUNG), edges(LINK)])  # an edge alone is no mention
    assert store.mentioned_only_by("a") == ["Gene::1956"]
    assert store.mentioned_only_by("b") == ["DOID:1324"]
    assert store.mentioned_only_by("nobody") == []
    store.remove_source("b")
    assert sorted(store.mentioned_only_by("a")) == ["Gene::1956", "Gene::2885"]
    assert store.mentioned_only_by("b") == []


def test_an_edge_stated_by_two_sources_survives_the_loss_of_one(store: GraphStore) -> None:
    store.add(source(), [nodes(EGFR, GRB2), edges(BIND)])
    store.add(source("b"), [edges(BIND)])
    assert len(content(store)["edges"]) == 2
    store.remove_source("a")
    got = content(store)
    assert [edge[4] for edge in got["edges"]] == ["b"]
    assert got["nodes"]["Gene::1956"][1] == "EGFR"  # an edge of b needs it, though nobody in force names it
    assert got["nodes"]["Gene::1956"][4] == ""
    store.remove_source("b")
    assert content(store)["nodes"] == {}


def test_removing_leaves_the_graph_as_if_the_source_had_never_been(store: GraphStore) -> None:
    store.add(source(), [nodes(EGFR, LUNG), edges(LINK)])
    before = content(store)
    store.add(source("b"), [nodes(EGFR, GRB2, ("x", D, "X")), edges(BIND, LINK, ("x", EdgeType.RESEMBLES, LUNG[0]))])
    version = store.version()
    store.remove_source("b")
    assert content(store) == before
    assert store.version() > version
    with pytest.raises(NotFoundError, match="no source 'b'"):
        store.remove_source("b")
    store.add(source("b"), [nodes(GRB2)])
    assert [s.id for s in store.sources()] == ["a", "b"]


def test_what_was_taken_back_is_known_until_it_is_stored_again(store: GraphStore) -> None:
    assert store.removed_sources() == []
    for name in ("a", "b", "c"):
        store.add(source(name), [nodes(EGFR)])
    for name in ("c", "a"):
        store.remove_source(name)
    assert store.removed_sources() == ["c", "a"]
    store.add(source("c"), [nodes(GRB2)])
    assert store.removed_sources() == ["a"]
    store.add(source("b", files={"f": "2"}), [nodes(LUNG)])  # replaced is not removed
    store.remove_source("c")
    assert store.removed_sources() == ["a", "c"]
    with pytest.raises(NotFoundError):
        store.remove_source("c")
    assert store.removed_sources() == ["a", "c"]


def test_keys_are_never_given_twice(store: GraphStore) -> None:
    store.add(source(), [nodes(EGFR, GRB2), edges(BIND)])
    old = [int(key) for key in store.columns().edge_keys]
    store.remove_source("a")
    store.add(source(), [nodes(EGFR, GRB2), edges(BIND)])
    assert not set(old) & {int(key) for key in store.columns().edge_keys}
    with pytest.raises(NotFoundError, match="1 of 1 edges"):
        store.edges(old)


def test_an_edge_stated_twice_by_one_source_is_kept_once_with_its_best_confidence(store: GraphStore) -> None:
    back = ("Gene::2885", EdgeType.INTERACTS_WITH, "Gene::1956", "GiG", 0.95)
    directed = ("Gene::1956", EdgeType.REGULATES, "Gene::2885", "", 0.2)
    done = store.add(source(), [nodes(EGFR, GRB2), edges(BIND, back), edges(BIND, directed), edges((*directed[2::-1],))])  # fmt: skip
    assert "2 edges were stated more than once" in done.warnings[0]
    assert [(e[0], e[1], e[5]) for e in content(store)["edges"]] == [
        ("Gene::1956", "interacts_with", 0.95),
        ("Gene::1956", "regulates", 0.2),
        ("Gene::2885", "regulates", 1.0),
    ]


@pytest.mark.parametrize("shift", [0, 2**31 - 9], ids=["few nodes", "more nodes than fit one number"])
def test_equal_statements_are_found_whatever_the_numbers(shift: int) -> None:
    rng = np.random.default_rng(0)
    heads, tails = (rng.integers(0, 8, (2, 300)) + shift).astype(np.int32)
    kinds = [EDGE_TYPES.index(kind) for kind in (EdgeType.REGULATES, EdgeType.RESEMBLES)]
    types, relations = rng.choice(kinds, 300).astype(np.uint8), rng.integers(0, 2, 300).astype(np.int32)
    worth = rng.random(300).astype(np.float32)
    want: dict[tuple, list[int]] = {}
    for i, row in enumerate(zip(heads.tolist(), tails.tolist(), types.tolist(), relations.tolist(), strict=True)):
        ends = row[:2] if row[2] == kinds[0] else tuple(sorted(row[:2]))
        want.setdefault((*ends, *row[2:]), []).append(i)
    first, best = distinct(heads, tails, types, relations, worth)
    assert first.tolist() == [places[0] for places in want.values()]
    assert best.tolist() == [worth[places].max() for places in want.values()]


BAD = [
    (nodes(("", G, "nameless")), "no id"),
    (nodes(("x", "planet", "Mars")), "'planet' is not a type of node"),
    (edges(("x", "loves", "y")), "'loves' is not a type of edge"),
    (edges(("x", EdgeType.BINDS, "y", "", 1.5)), "confidence 1.5"),
    (nodes(("x\ud800", G, "half")), "not proper text"),
    (NodeRows(ids=["a", "b"], types=[G], names=["a"], aliases=[[]], xrefs=[[]]), "columns of 1 to 2 rows"),
]


@pytest.mark.parametrize(("batch", "why"), BAD, ids=[why for _, why in BAD])
def test_rows_that_cannot_be_stored_undo_everything(store: GraphStore, batch: Any, why: str) -> None:
    store.add(source(), [nodes(EGFR)])
    before, version = content(store), store.version()
    with pytest.raises(DataError, match=why):
        store.add(source("b"), [nodes(GRB2), batch])
    assert (content(store), store.version()) == (before, version)


def test_a_file_that_breaks_off_undoes_everything(store: GraphStore) -> None:
    def broken() -> Iterator[NodeRows]:
        yield nodes(GRB2)
        raise DataError("edges.tsv, line 4: 2 fields instead of 3.")

    store.add(source(files={"x": "1"}), [nodes(EGFR)])
    before = content(store)
    with pytest.raises(DataError, match="line 4"):
        store.add(source(files={"x": "2"}), broken())
    assert content(store) == before


def test_a_cancelled_import_leaves_nothing(store: GraphStore) -> None:
    cancel = CancelSource()

    def slow() -> Iterator[NodeRows]:
        yield nodes(EGFR)
        cancel.cancel()
        yield nodes(GRB2)

    with pytest.raises(Interrupted, match="nothing of it was stored"):
        store.add(source(), slow(), cancel=cancel)
    assert content(store)["nodes"] == {}
    assert store.sources() == []


def test_progress_counts_what_was_read(store: GraphStore) -> None:
    seen: list[tuple[int, int]] = []
    store.add(source(), [nodes(EGFR, GRB2), edges(BIND), nodes(LUNG)], progress=lambda n, e: seen.append((n, e)))
    assert seen == [(2, 0), (2, 1), (3, 1)]


@pytest.mark.parametrize(
    "text", ["", " ", "O'Brien; DROP TABLE graph_nodes", "β-catenin", "a\x00b", "line\nbreak", "x" * 5000]
)
def test_any_text_comes_back_as_it_was(store: GraphStore, text: str) -> None:
    store.add(source(), [nodes(("n", G, text, [text, "other"], [text])), edges(("n", EdgeType.RELATED_TO, "n", text))])
    got = content(store)
    assert got["nodes"]["n"][1] == (text or "n")
    assert got["nodes"]["n"][2] == ["other"]
    assert got["nodes"]["n"][3] == ([text] if text else [])
    assert got["edges"][0][3] == text


def test_a_source_must_have_an_id_and_a_proper_confidence(store: GraphStore) -> None:
    with pytest.raises(StorageError, match="without an id"):
        store.add(source(""), [])
    with pytest.raises(DataError, match="its confidence is 3"):
        store.add(source(confidence=3), [])


def test_readers_never_see_half_of_an_import(store: GraphStore) -> None:
    store.add(source(files={"x": "0"}), [nodes(EGFR, GRB2), edges(BIND)])
    stop, wrong = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            got = store.columns()
            if len(got.sources) != 1 or len(got.ids) != 2 or got.sources.min() < 0:
                wrong.append((got.ids, got.sources))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for turn in range(1, 8):
        store.add(source(files={"x": str(turn)}), [nodes(EGFR, GRB2), edges(BIND)])
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


# ==== the two implementations against each other ====

IDS = st.sampled_from(["a", "b", "c", "d"])
NODE = st.tuples(IDS, st.sampled_from([G, D]), st.sampled_from(["", "a", "N1", "N2"]), st.lists(st.sampled_from(["x", "y", "a"]), max_size=2), st.lists(st.just("P:1"), max_size=1))  # fmt: skip
EDGE = st.tuples(IDS, st.sampled_from([EdgeType.REGULATES, EdgeType.RESEMBLES]), IDS, st.sampled_from(["", "r"]), st.sampled_from([None, 0.25]))  # fmt: skip
STEP = st.one_of(
    st.tuples(st.just("add"), st.sampled_from("PQR"), st.lists(NODE, max_size=4), st.lists(EDGE, max_size=6), st.sampled_from([{}, {"f": "1"}])),
    st.tuples(st.just("again"), st.sampled_from("PQR")),
    st.tuples(st.just("remove"), st.sampled_from("PQR")),
)  # fmt: skip


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, min_size=1, max_size=7))
def test_any_history_gives_both_stores_the_same_graph(tmp_path_factory: pytest.TempPathFactory, steps: list) -> None:
    database = Database(tmp_path_factory.mktemp("graph") / "b.duckdb")
    stores: list[GraphStore] = [GraphStoreTwin(), DuckGraphStore(database)]
    last: dict[str, tuple] = {}
    try:
        for step in steps:
            said: list[Any] = []
            given = last.get(step[1], ("add", step[1], [], [], {})) if step[0] == "again" else step
            for store in stores:
                version = store.version()
                if given[0] == "add":
                    last[given[1]] = given
                    done = store.add(source(given[1], files=given[4]), [nodes(*given[2]), edges(*given[3])])
                    said.append((done.nodes_read, done.nodes_added, done.edges_added, done.unchanged, done.warnings))
                    assert done.unchanged == (store.version() == version)
                else:
                    try:
                        said.append(store.remove_source(given[1]))
                    except NotFoundError as error:
                        said.append(error.message)
            assert said[0] == said[1]
            assert content(stores[0]) == content(stores[1])
            for name in "PQR":
                assert sorted(stores[0].mentioned_only_by(name)) == sorted(stores[1].mentioned_only_by(name))
    finally:
        database.close()


# ==== what only a store on a disk can lose ====


def test_the_graph_is_there_after_reopening(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")
    DuckGraphStore(database).add(source(), [nodes(EGFR, GRB2), edges(BIND)])
    before = content(DuckGraphStore(database))
    database.close()
    database = Database(tmp_path / "b.duckdb")
    assert content(DuckGraphStore(database)) == before
    database.close()


KILLED = """
import sys, os
from pathlib import Path
from engine.domain.knowledge import *
from storage.database import Database
from storage.graph.store import DuckGraphStore
import storage.graph.write as w
store = DuckGraphStore(Database(Path(sys.argv[1])))
def batches():
    rows = NodeRows()
    for i in range(5000):
        rows.add(f"n{i}", NodeType.GENE, f"G{i}")
    yield rows
    for k in range(20):
        rows = EdgeRows()
        for i in range(5000):
            rows.add(f"n{i}", EdgeType.REGULATES, f"n{(i * 7 + k) % 5000}")
        yield rows
        if k == 10 and sys.argv[2] == "reading":
            print("now", flush=True); sys.stdin.read()
real = w._insert_edges
def insert(*args):
    done = real(*args)
    if sys.argv[2] == "writing":
        print("now", flush=True); sys.stdin.read()
    return done
w._insert_edges = insert
store.add(GraphSource(id="big", name="Big", kind="generic", files={"f": "2"}), batches())
print("done", flush=True); sys.stdin.read()
"""


@pytest.mark.parametrize("moment", ["reading", "writing", "committed"])
def test_a_killed_import_leaves_the_store_as_before_or_complete(tmp_path: Path, moment: str) -> None:
    path = tmp_path / "b.duckdb"
    database = Database(path)
    first = DuckGraphStore(database)
    first.add(source("big", files={"f": "1"}), [nodes(EGFR, GRB2), edges(BIND)])
    before, version = content(first), first.version()
    database.close()
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), moment],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() in (b"now", b"done")
        child.send_signal(signal.SIGKILL)
    database = Database(path)
    store = DuckGraphStore(database)
    if moment == "committed":
        assert len(store.columns().sources) == 100_000
        assert [s.files for s in store.sources()] == [{"f": "2"}]
    else:
        assert (content(store), store.version()) == (before, version)
        store.add(source("big", files={"f": "3"}), [nodes(EGFR)])  # and it can be written
        assert list(content(store)["nodes"]) == ["Gene::1956"]
    database.close()


def test_a_store_open_for_reading_only_says_so(tmp_path: Path) -> None:
    Database(tmp_path / "b.duckdb").close()
    database = Database(tmp_path / "b.duckdb", read_only=True)
    with pytest.raises(StorageError, match="reading only"):
        DuckGraphStore(database).add(source(), [nodes(EGFR)])
    database.close()
