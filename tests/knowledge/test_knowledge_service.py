"""The knowledge graph as one thing: what is built again when, what is served meanwhile, and what stays taken back."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.adapters.fakes import FrozenClock
from engine.cli.main import main
from engine.domain.knowledge import EdgeRows, EdgeType, GraphSource, NodeRows, NodeType
from engine.errors import NotFoundError
from engine.knowledge import newest, recognising
from engine.knowledge.grounding.check import check_text
from engine.knowledge.service import KnowledgeBase, open_knowledge
from storage.database import Database
from storage.graph.store import DuckGraphStore
from storage.graph.twin import GraphStoreTwin

GENES = [("Gene::1956", "EGFR"), ("Gene::2885", "GRB2"), ("Gene::7157", "TP53")]
SENTENCE = "EGFR interacts with GRB2."
WAIT = 20.0
"""Seconds after which a test that hangs fails."""


def source(name: str, kind: str = "generic") -> GraphSource:
    return GraphSource(id=name, name=name, kind=kind)


def genes(*rows: tuple[str, str]) -> NodeRows:
    nodes = NodeRows()
    for node_id, name in rows:
        nodes.add(node_id, NodeType.GENE, name)
    return nodes


def run_rows(tool: str, *files: str) -> list[NodeRows | EdgeRows]:
    """What a run teaches: a tool, its files, and that it read them."""
    nodes, edges = NodeRows(), EdgeRows()
    nodes.add(f"tool:{tool}", NodeType.TOOL, tool)
    for file in files:
        nodes.add(f"dataset:{file}", NodeType.DATASET, file)
        edges.add(f"tool:{tool}", EdgeType.USES_DATA, f"dataset:{file}")
    return [nodes, edges]


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    """Three genes, two of which interact, and a tool that a run used."""
    store = GraphStoreTwin()
    edges = EdgeRows()
    edges.add("Gene::1956", EdgeType.INTERACTS_WITH, "Gene::2885")
    store.add(source("genes"), [genes(*GENES), edges])
    store.add(source("run_0", "run"), run_rows("leiden", "first"))
    return open_knowledge(store, tmp_path / "graph", FrozenClock(), starter_wanted=False)


class Gate:
    """Holds whoever passes a function of the service until it is opened."""

    def __init__(self, real: Callable[..., Any]) -> None:
        self.real = real
        self.open = threading.Event()
        self.reached = threading.Event()

    def __call__(self, *args: Any) -> Any:
        self.reached.set()
        assert self.open.wait(WAIT)
        return self.real(*args)


@pytest.fixture
def threads() -> Iterator[Callable[[Callable[[], Any]], threading.Thread]]:
    started: list[threading.Thread] = []

    def start(work: Callable[[], Any]) -> threading.Thread:
        started.append(threading.Thread(target=work, daemon=True))
        started[-1].start()
        return started[-1]

    yield start
    for thread in started:
        thread.join(WAIT)
        assert not thread.is_alive()


def settled(base: KnowledgeBase) -> None:
    """Wait until no linker is being built in the background."""
    for thread in threading.enumerate():
        if thread.name == "biodesk-linker":
            thread.join(WAIT)
    assert not base.recognising._renewing


def test_a_view_does_not_wait_for_a_linker(base, monkeypatch, threads) -> None:
    gate = Gate(recognising.EntityLinker)
    monkeypatch.setattr(recognising, "EntityLinker", gate)
    linking = threads(lambda: base.entities.link(SENTENCE))
    assert gate.reached.wait(WAIT)
    base.sources.learn(source("run_1", "run"), run_rows("leiden", "second"))
    seen: list[int] = []
    threads(lambda: seen.extend([len(base.graph.view().nodes), len(base.entities.gene_ids(["EGFR"]))])).join(WAIT)
    assert seen == [6, 1]  # while the linker is still being built
    assert linking.is_alive()
    gate.open.set()


def test_while_a_view_is_built_after_a_run_others_read_the_one_before(base, monkeypatch, threads) -> None:
    old = base.graph.view()
    gate = Gate(newest.open_graph)
    monkeypatch.setattr(newest, "open_graph", gate)
    base.graph.store.add(source("run_1", "run"), run_rows("scrublet", "second"))
    made: list[Any] = []
    building = threads(lambda: made.append(base.graph.view()))
    assert gate.reached.wait(WAIT)
    assert base.graph.view() is old
    assert base.claims.check(SENTENCE).claims[0].label == "grounded"
    gate.open.set()
    building.join(WAIT)
    assert base.graph.view() is made[0]
    assert made[0].nodes.number("tool:scrublet") >= 0


def test_after_a_removal_nobody_reads_the_view_before(base, monkeypatch, threads) -> None:
    assert base.claims.check(SENTENCE).claims[0].label == "grounded"
    gate = Gate(newest.open_graph)
    monkeypatch.setattr(newest, "open_graph", gate)
    base.sources.remove("genes")
    numbers: list[int] = []
    asking = [threads(lambda: numbers.append(base.graph.view().nodes.number("Gene::1956"))) for _ in range(2)]
    assert gate.reached.wait(WAIT)
    assert numbers == []
    gate.open.set()
    for thread in asking:
        thread.join(WAIT)
    assert numbers == [-1, -1]
    assert base.entities.link("EGFR") == []


def test_what_was_taught_is_shown_though_another_thread_builds_the_view(base, monkeypatch, threads) -> None:
    base.graph.view()
    gate = Gate(newest.open_graph)
    monkeypatch.setattr(newest, "open_graph", gate)
    base.graph.store.add(source("run_2", "run"), run_rows("scrublet", "second"))
    threads(base.graph.view)
    assert gate.reached.wait(WAIT)
    shown: list[Any] = []
    asking = threads(lambda: shown.append(base.sources.taught("run_2")))
    gate.open.set()
    asking.join(WAIT)
    assert [node.id for node in shown[0].nodes] == ["tool:scrublet", "dataset:second"]
    assert [edge.target for edge in shown[0].edges] == ["dataset:second"]


def test_a_run_that_names_nothing_new_leaves_linker_and_resolver_as_they_are(base) -> None:
    linker, lookup = base.recognising.linker(), base.recognising.lookup()
    edges = EdgeRows()
    edges.add("tool:leiden", EdgeType.RELATED_TO, "Gene::1956")
    base.sources.learn(source("run_1", "run"), [*run_rows("leiden", "second"), edges])
    assert base.recognising.linker() is linker
    settled(base)
    assert base.recognising.linker() is linker
    assert base.recognising.lookup() is lookup
    assert base.graph.view().nodes.number("dataset:second") >= 0


def test_a_new_tool_is_recognised_once_the_linker_was_renewed_in_the_background(base, monkeypatch) -> None:
    linker = base.recognising.linker()
    gate = Gate(recognising.EntityLinker)
    monkeypatch.setattr(recognising, "EntityLinker", gate)
    base.sources.learn(source("run_1", "run"), run_rows("scrublet"))
    assert base.recognising.linker() is linker  # nobody waits
    assert base.claims.check(SENTENCE).claims[0].label == "grounded"
    assert base.recognising.lookup()("scrublet", NodeType.TOOL) == "tool:scrublet"
    gate.open.set()
    settled(base)
    assert [mention.node.id for mention in base.entities.link("We ran scrublet.")] == ["tool:scrublet"]


def test_a_linker_that_cannot_be_built_in_the_background_leaves_the_old_one(base, monkeypatch, caplog) -> None:
    linker = base.recognising.linker()

    def fail(_view: Any) -> Any:
        message = "no memory"
        raise MemoryError(message)

    with monkeypatch.context() as patch:
        patch.setattr(recognising, "EntityLinker", fail)
        base.sources.learn(source("run_1", "run"), run_rows("scrublet"))
        assert base.recognising.linker() is linker
        settled(base)
    assert "could not be built" in caplog.text
    base.recognising.linker()
    settled(base)
    assert base.entities.link("scrublet")


def test_an_import_that_only_adds_names_is_recognised_at_once(base, tmp_path) -> None:
    base.recognising.linker()
    base.recognising.lookup()
    (tmp_path / "nodes.tsv").write_text("id\ttype\tname\taliases\nGene::1956\tgene\tEGFR\tERBBX1\n")
    (tmp_path / "edges.tsv").write_text("source\ttype\ttarget\nGene::1956\tregulates\tGene::7157\n")
    base.sources.import_files("tables", [tmp_path / "nodes.tsv", tmp_path / "edges.tsv"])
    assert [mention.node.id for mention in base.entities.link("ERBBX1")] == ["Gene::1956"]
    assert base.entities.gene_ids(["ERBBX1"]) == ["Gene::1956"]


def test_a_kept_linker_names_the_right_entities_though_their_numbers_moved(base) -> None:
    linker = base.recognising.linker()
    base.graph.store.add(source("genes_2"), [genes(("Gene::6774", "STAT3"))])
    base.graph.outdate(names=True)
    second = base.recognising.linker()
    assert second is not linker
    before = base.graph.view().nodes.number("Gene::6774")
    base.graph.store.add(source("run_0", "run"), run_rows("leiden"))  # the run again, without its file
    assert base.recognising.linker() is second
    settled(base)
    kept = base.recognising.linker()
    assert base.graph.view().nodes.number("Gene::6774") != before
    fresh = recognising.EntityLinker(base.graph.view())
    text = "EGFR interacts with GRB2, and STAT3 regulates TP53 after leiden."
    assert [m.node.id for m in kept.link(text)] == [m.node.id for m in fresh.link(text)]
    assert base.claims.check(text).claims == check_text(text, base.graph.view(), fresh).claims


def test_the_starter_graph_stays_taken_back_at_the_next_start(tmp_path: Path) -> None:
    for start in range(3):
        database = Database(tmp_path / "b.duckdb")
        base = open_knowledge(DuckGraphStore(database), tmp_path / "graph", FrozenClock())
        assert ("starter" in [s.id for s in base.reading.stats().sources]) == (start == 0)
        if start == 0:
            base.sources.remove("starter")
            assert len(base.graph.view().nodes) == 0
        database.close()


def test_an_unknown_source_taught_nothing_and_the_message_says_where_to_look(base) -> None:
    with pytest.raises(NotFoundError, match="no source 'run_9'") as caught:
        base.sources.taught("run_9")
    assert "kg sources" in caught.value.advice


def test_the_command_shows_what_a_source_put_into_the_graph(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    (tmp_path / "nodes.tsv").write_text("id\ttype\tname\naaa\tgene\tGENEAAA\nbbb\tdrug\tdrugbbb\n")
    (tmp_path / "edges.tsv").write_text("source\ttype\ttarget\nbbb\ttargets\taaa\n")

    def call(*words: object) -> tuple[int, str, str]:
        code = main([*map(str, words), "--workspace", str(tmp_path / "ws")])
        return code, *capsys.readouterr()

    code, out, err = call("kg", "import", "tables", tmp_path / "nodes.tsv", tmp_path / "edges.tsv", "--json")
    assert code == 0, err
    brought = json.loads(out)["source"]["id"]
    code, out, _ = call("kg", "taught", brought, "--json")
    taught = json.loads(out)
    assert (code, taught["source"]) == (0, brought)
    assert sorted(node["id"] for node in taught["nodes"]) == ["aaa", "bbb"]
    assert [(e["source"], e["type"], e["target"], e["origin"]) for e in taught["edges"]] == [
        ("bbb", "targets", "aaa", brought)
    ]
    code, out, _ = call("kg", "taught", brought)
    assert "2 entities" in out
    assert "GENEAAA (gene)" in out
    assert "drugbbb -[targets]-> GENEAAA" in out
    code, _, err = call("kg", "taught", "run_none")
    assert code == 2
    assert "no source 'run_none'" in err
    assert "kg sources" in err


def test_an_import_that_replaces_another_says_so(base: KnowledgeBase, tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.tsv"
    nodes.write_text("id\ttype\tname\naaa\tgene\tGENEAAA\n")
    first = base.sources.import_files("tables", [nodes], name="mine")
    assert not any("replaced" in text for text in first.warnings)
    assert base.sources.import_files("tables", [nodes], name="mine").unchanged
    nodes.write_text("id\ttype\tname\nbbb\tgene\tGENEBBB\n")
    again = base.sources.import_files("tables", [nodes], name="mine")
    assert any("replaced" in text and "another name" in text for text in again.warnings)
    assert base.entities.node("genebbb").id == "bbb"


@pytest.fixture
def empty(tmp_path: Path) -> KnowledgeBase:
    """A graph of nothing yet, on the disk."""
    store = DuckGraphStore(Database(tmp_path / "b.duckdb"))
    return open_knowledge(store, tmp_path / "graph", FrozenClock(), starter_wanted=False)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_edges_arrive_when_their_nodes_have_come(empty: KnowledgeBase, tmp_path: Path) -> None:
    nodes = written(tmp_path / "nodes.tsv", "id\ttype\tname\naaa\tgene\tGENEAAA\nbbb\tdrug\tdrugbbb\n")
    edges = written(tmp_path / "edges.tsv", "source\ttype\ttarget\nbbb\ttargets\taaa\n")
    assert "1 edge is left out" in empty.sources.import_files("tables", [edges]).warnings[0]
    assert empty.sources.import_files("tables", [edges]).unchanged
    empty.sources.import_files("tables", [nodes])
    again = empty.sources.import_files("tables", [edges])
    assert (again.unchanged, again.edges_added) == (False, 1)
    assert "read again" in again.warnings[0]
    version = empty.graph.view().version
    assert empty.sources.import_files("tables", [edges]).unchanged
    assert empty.sources.import_files("tables", [nodes]).unchanged  # read again, as the edges came after it
    assert empty.graph.view().version == version


def test_gene_sets_imported_before_their_genes_are_linked_when_repeated(empty: KnowledgeBase, tmp_path: Path) -> None:
    sets = written(tmp_path / "sets.gmt", "SET\tna\tEGFR\tERBB4\tENSG00000141510\n")
    more = written(tmp_path / "more.gmt", "MORE\tna\tEGFR\n")
    table = written(
        tmp_path / "genes.tsv",
        "symbol\tentrez_id\tensembl_gene_id\nEGFR\t1956\tENSG00000146648\nTP53\t7157\tENSG00000141510\n",
    )
    empty.sources.import_files("gmt", [sets])
    empty.sources.import_files("gmt", [more])
    empty.sources.import_files("gene_table", [table])
    empty.sources.import_files("gmt", [sets])

    def members(of: str) -> set[str]:
        return {node.id for node in empty.reading.neighbours(of, hops=1).nodes} - {of}

    assert members("pathway:SET") == {"Gene::1956", "Gene::7157", "symbol:ERBB4"}
    assert members("pathway:MORE") == {"symbol:EGFR"}
    empty.sources.import_files("gmt", [more])
    assert members("pathway:MORE") == {"Gene::1956"}
    assert empty.graph.view().nodes.number("symbol:EGFR") < 0
    assert empty.sources.import_files("gmt", [sets]).unchanged


def test_numbers_of_a_text_are_no_genes(empty: KnowledgeBase, tmp_path: Path) -> None:
    sets = written(tmp_path / "sets.gmt", "SET\tna\t1956\t2024\n")
    table = written(tmp_path / "genes.tsv", "symbol\tentrez_id\nEGFR\t1956\nBRAF\t673\n")
    empty.sources.import_files("gmt", [sets])
    empty.sources.import_files("gene_table", [table])
    node = empty.entities.node("Gene::1956")
    assert (node.name, node.aliases) == ("EGFR", [])  # named when the table came
    assert empty.entities.node("Gene::2024").name == "Gene::2024"
    mentioned = {mention.text for mention in empty.entities.link("In 1956 patients of 2024, BRAF was mutated.")}
    assert mentioned == {"BRAF"}


def test_the_starter_graph_comes_back_when_asked_for(tmp_path: Path) -> None:
    base = open_knowledge(GraphStoreTwin(), tmp_path / "graph", FrozenClock())
    edges = len(base.graph.view().edges)
    base.sources.remove("starter")
    assert len(base.graph.view().edges) == 0
    done = base.sources.restore_starter()
    assert (done.unchanged, done.edges_added, len(base.graph.view().edges)) == (False, edges, edges)
    assert base.sources.restore_starter().unchanged
    unwanted = open_knowledge(GraphStoreTwin(), tmp_path / "other", FrozenClock(), starter_wanted=False)
    assert len(unwanted.graph.view().edges) == 0
    unwanted.sources.restore_starter()
    assert len(unwanted.graph.view().edges) == edges


def test_the_starter_graph_is_not_read_at_every_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = GraphStoreTwin()
    open_knowledge(store, tmp_path / "graph", FrozenClock()).graph.view()
    store.add(source("other"), [genes(*GENES)])

    def never() -> Iterator[NodeRows]:
        raise AssertionError("it is there already")
        yield

    monkeypatch.setattr(newest.starter, "starter_batches", never)
    open_knowledge(store, tmp_path / "graph", FrozenClock()).graph.view()


def test_genes_that_are_not_in_the_graph_are_told(base: KnowledgeBase) -> None:
    assert base.entities.unknown_genes(["EGFR", "NOTAGENE", "tp53", "NOTAGENE", "Gene::2885"]) == ["NOTAGENE"]
    assert base.entities.gene_ids(["1956", "GRB2", "EGFR", "x"]) == ["Gene::1956", "Gene::2885"]
    with pytest.raises(NotFoundError, match=r"None of the 2 genes given is in the knowledge graph \(NOTAGENE, X\)"):
        base.reading.enrich(["NOTAGENE", "X"])


def test_genes_of_another_organism_are_kept_apart(empty: KnowledgeBase, tmp_path: Path) -> None:
    sets = written(tmp_path / "sets.gmt", "SET\tna\tEgfr\tTrp53\tBrca1\n")
    assert any("mouse" in text for text in empty.sources.import_files("gmt", [sets]).warnings)
    done = empty.sources.import_files("gmt", [sets], organism="Mus musculus")
    assert (done.source.id, done.warnings) == ("gmt:sets:mouse", [])
    assert empty.graph.view().nodes.number("symbol:mouse:Trp53") >= 0
    assert empty.sources.preview("gmt", [sets], organism="mouse").nodes[1].id == "symbol:mouse:Egfr"


def test_a_file_of_a_run_is_found_by_its_name_though_the_lookup_stays(base: KnowledgeBase) -> None:
    lookup = base.recognising.lookup()
    base.sources.learn(source("run_1", "run"), run_rows("leiden", "second counts"))
    assert base.entities.node("Second-Counts").id == base.entities.node("second counts").id == "dataset:second counts"
    assert base.recognising.lookup() is lookup
    assert base.entities.ids(["first", "second counts", "nothing"]) == {
        "first": "dataset:first",
        "second counts": "dataset:second counts",
    }
