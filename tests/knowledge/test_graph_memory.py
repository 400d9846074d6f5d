"""What stays of a graph's older versions: nothing but what newer ones use, and no index is made twice."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.adapters.fakes import FrozenClock
from engine.domain.knowledge import EdgeRows, EdgeType, GraphSource, NodeRows, NodeType
from engine.knowledge.graph import csr, search
from engine.knowledge.graph.search_names import Names
from engine.knowledge.graph.view import GraphView
from engine.knowledge.linking.linker import EntityLinker
from engine.knowledge.service import KnowledgeBase, open_knowledge
from storage.graph.twin import GraphStoreTwin

T = NodeType
GENES = [
    ("Gene::1956", T.GENE, "EGFR", ["ERBB1", "Größe"], ["ENSEMBL:ENSG00000146648"]),
    ("Gene::5888", T.GENE, "RAD51"),
    ("Compound::DB00317", T.DRUG, "Gefitinib", ["Iressa"]),
]


def rows(nodes: list[Any], edges: list[Any] = ()) -> list[NodeRows | EdgeRows]:  # type: ignore[assignment]
    made, stated = NodeRows(), EdgeRows()
    for row in nodes:
        made.add(*row)
    for row in edges:
        stated.add(*row)
    return [made, stated]


def source(name: str, kind: str = "run") -> GraphSource:
    return GraphSource(id=name, name=name, kind=kind)


def run(number: int) -> list[NodeRows | EdgeRows]:
    """What a run teaches: its file, a tool used before, and the genes it found."""
    file = f"dataset:{number}"
    nodes = [("tool:de", T.TOOL, "de"), (file, T.DATASET, f"counts{number}.csv")]
    edges = [("tool:de", EdgeType.USES_DATA, file), ("Gene::1956", EdgeType.ASSOCIATED_WITH, file)]
    return rows(nodes, edges)


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    store = GraphStoreTwin()
    store.add(source("genes", "generic"), rows(GENES, [("Compound::DB00317", EdgeType.BINDS, "Gene::1956")]))
    store.add(source("run_0"), run(0))
    return open_knowledge(store, tmp_path / "graph", FrozenClock(), starter_wanted=False)


def use(base: KnowledgeBase) -> None:
    """Ask everything that keeps something between questions."""
    assert base.entities.search("EGFR")[0].node.id == "Gene::1956"
    assert [m.node.id for m in base.entities.link("Gefitinib binds EGFR.")] == ["Compound::DB00317", "Gene::1956"]
    assert base.entities.gene_ids(["EGFR"]) == ["Gene::1956"]
    assert base.claims.check("Gefitinib binds EGFR.").claims
    for thread in threading.enumerate():
        if thread.name == "biodesk-linker":
            thread.join(20)


def test_a_version_that_was_searched_and_linked_with_goes_when_a_newer_one_comes(base: KnowledgeBase) -> None:
    old: list[weakref.ref[GraphView]] = []
    for number in range(1, 5):
        use(base)
        old.append(weakref.ref(base.graph.view()))
        base.sources.learn(source(f"run_{number}"), run(number))
    use(base)
    gc.collect()
    assert [view() for view in old] == [None] * 4
    maps = Path("/proc/self/maps")
    if maps.exists():
        held = [line for line in maps.read_text().splitlines() if str(base.graph.folder) in line]
        assert not [line for line in held if "deleted" in line]
        assert held


def test_a_run_makes_no_new_index_of_the_names(base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    class Counting(Names):
        def __init__(self, nodes: Any) -> None:
            found = list(nodes)
            read.append(len(found))
            super().__init__(found)

    monkeypatch.setattr(search, "Names", Counting)
    base.sources.learn(source("run_1"), run(1))
    use(base)
    assert read in ([3, 3], [3])  # the names (unless a graph of the same ones was searched), then tool and two files
    read.clear()
    nodes, edges = run(2)
    assert isinstance(nodes, NodeRows)
    nodes.add("tool:new", T.TOOL, "brandnewtool")
    base.sources.learn(source("run_2"), [nodes, edges])
    use(base)
    assert read == [5]  # two tools and three files, none of the genes
    assert base.entities.search("brandnewtool")[0].node.id == "tool:new"
    assert base.entities.search("counts2")[0].node.id == "dataset:2"
    base.sources.remove("run_2")
    assert base.entities.search("brandnewtool") == []
    base.graph.store.add(source("more", "generic"), rows([("Gene::7157", T.GENE, "TP53")]))
    base.graph.outdate(names=True)
    assert base.entities.search("TP53")[0].node.id == "Gene::7157"


def test_few_indexes_of_names_stay(tmp_path: Path) -> None:
    for number in range(5):
        view = graph(rows([(f"Gene::{number}", T.GENE, f"GENE{number}")]))
        assert search.search(view, f"GENE{number}")
    assert len(search._names) <= 2


def graph(batches: list[Any]) -> GraphView:
    store = GraphStoreTwin()
    store.add(source("s"), batches)
    return GraphView(csr.build(store.columns()), 1)


def test_the_linker_knows_its_nodes_when_its_view_is_gone() -> None:
    view = graph(rows(GENES, [("Compound::DB00317", EdgeType.BINDS, "Gene::1956")]))
    linker, whole, gone = EntityLinker(view), view.nodes.node(0), weakref.ref(view)
    del view
    gc.collect()
    assert gone() is None
    mention = linker.link("ENSG00000146648 and ERBB1")[1]
    assert mention.node == whole
    assert linker.by_id("DB00317") is not None


def test_the_files_of_runs_are_no_entities_of_a_text() -> None:
    view = graph(rows([*GENES, ("dataset:1", T.DATASET, "counts", ["counts.csv"]), ("tool:de", T.TOOL, "deseq")]))
    found = EntityLinker(view).link("The counts of EGFR in counts.csv rose, says deseq.")
    assert [m.node.id for m in found] == ["Gene::1956", "tool:de"]


# ==== the key of the names ====

WORD = st.text(st.sampled_from("abé1"), min_size=1, max_size=3)
NODE = st.tuples(st.sampled_from([T.GENE, T.DRUG, T.TOOL, T.DATASET]), WORD, st.lists(WORD, max_size=2))


def named(nodes: list[Any]) -> GraphView:
    return graph(rows([(f"{kind.value}:{place}", kind, name, [*a]) for place, (kind, name, a) in enumerate(nodes)]))


def called(view: GraphView, leaving_out: tuple[NodeType, ...]) -> list[Any]:
    return [
        (node.type, node.id, node.name, list(node.aliases), list(node.xrefs))
        for node in view.nodes.named()
        if node.type not in leaving_out
    ]


@settings(max_examples=80, deadline=None)
@given(st.lists(NODE, max_size=6), st.lists(NODE, max_size=6), st.sampled_from([(), (T.DATASET,), (T.TOOL, T.DATASET)]))
def test_graphs_have_one_key_exactly_when_their_nodes_are_called_the_same(
    first: list[Any], second: list[Any], leaving_out: tuple[NodeType, ...]
) -> None:
    a, b = named(first), named(second)
    same = called(a, leaving_out) == called(b, leaving_out)
    assert (a.nodes.key(leaving_out) == b.nodes.key(leaving_out)) == same
    assert a.nodes.key(leaving_out) == named(first).nodes.key(leaving_out)


def test_edges_are_no_part_of_the_key_but_types_and_orders_are() -> None:
    plain = graph(rows(GENES))
    assert plain.nodes.key() == graph(rows(GENES, [("Gene::1956", EdgeType.INTERACTS_WITH, "Gene::5888")])).nodes.key()
    assert plain.nodes.key() != graph(rows(GENES[::-1])).nodes.key()
    other = [("Gene::1956", T.PROTEIN, *GENES[0][2:]), *GENES[1:]]
    assert plain.nodes.key() != graph(rows(other)).nodes.key()


# ==== searching in parts ====

_WORDS = ["alpha", "beta", "alphabet", "gamma"]
_CALLED = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([T.GENE, T.TOOL, T.DATASET]), _CALLED), min_size=1, max_size=8),
    st.lists(st.sampled_from([*_WORDS, "alph", "gam", "zzz"]), min_size=1, max_size=3).map(" ".join),
)
def test_nodes_indexed_in_two_parts_are_found_as_in_one(nodes: list[Any], query: str) -> None:
    view = graph(rows([(f"n{place}", kind, name) for place, (kind, name) in enumerate(nodes)]))
    got = {hit.node.id: hit.score for hit in search.search(view, query)}
    whole = Names(view.nodes.named())
    one: search._ViewIndex = search._ViewIndex((search._Part(whole, search.np.arange(len(view.nodes))),), 1.0)
    want = {hit.node.id: hit.score for hit in search._search(view, one, query, (), 20)}
    assert got == want
