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
from engine.knowledge import service
from engine.knowledge.service import KnowledgeBase
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
    return KnowledgeBase(store, tmp_path / "graph", FrozenClock(), starter_wanted=False)


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
    assert not base._renewing


def test_a_view_does_not_wait_for_a_linker(base, monkeypatch, threads) -> None:
    gate = Gate(service.EntityLinker)
    monkeypatch.setattr(service, "EntityLinker", gate)
    linking = threads(lambda: base.link(SENTENCE))
    assert gate.reached.wait(WAIT)
    base.learn(source("run_1", "run"), run_rows("leiden", "second"))
    seen: list[int] = []
    threads(lambda: seen.extend([base.view().node_count, len(base.gene_ids(["EGFR"]))])).join(WAIT)
    assert seen == [6, 1]  # while the linker is still being built
    assert linking.is_alive()
    gate.open.set()


def test_while_a_view_is_built_after_a_run_others_read_the_one_before(base, monkeypatch, threads) -> None:
    old = base.view()
    gate = Gate(service.open_graph)
    monkeypatch.setattr(service, "open_graph", gate)
    base.store.add(source("run_1", "run"), run_rows("scrublet", "second"))
    made: list[Any] = []
    building = threads(lambda: made.append(base.view()))
    assert gate.reached.wait(WAIT)
    assert base.view() is old
    assert base.check(SENTENCE).claims[0].label == "grounded"
    gate.open.set()
    building.join(WAIT)
    assert base.view() is made[0]
    assert made[0].number("tool:scrublet") >= 0


def test_after_a_removal_nobody_reads_the_view_before(base, monkeypatch, threads) -> None:
    assert base.check(SENTENCE).claims[0].label == "grounded"
    gate = Gate(service.open_graph)
    monkeypatch.setattr(service, "open_graph", gate)
    base.remove("genes")
    numbers: list[int] = []
    asking = [threads(lambda: numbers.append(base.view().number("Gene::1956"))) for _ in range(2)]
    assert gate.reached.wait(WAIT)
    assert numbers == []
    gate.open.set()
    for thread in asking:
        thread.join(WAIT)
    assert numbers == [-1, -1]
    assert base.link("EGFR") == []


def test_what_was_taught_is_shown_though_another_thread_builds_the_view(base, monkeypatch, threads) -> None:
    base.view()
    gate = Gate(service.open_graph)
    monkeypatch.setattr(service, "open_graph", gate)
    base.store.add(source("run_2", "run"), run_rows("scrublet", "second"))
    threads(base.view)
    assert gate.reached.wait(WAIT)
    shown: list[Any] = []
    asking = threads(lambda: shown.append(base.taught("run_2")))
    gate.open.set()
    asking.join(WAIT)
    assert [node.id for node in shown[0].nodes] == ["tool:scrublet", "dataset:second"]
    assert [edge.target for edge in shown[0].edges] == ["dataset:second"]


def test_a_run_that_names_nothing_new_leaves_linker_and_resolver_as_they_are(base) -> None:
    linker, resolver = base.linker(), base.resolver()
    edges = EdgeRows()
    edges.add("tool:leiden", EdgeType.RELATED_TO, "Gene::1956")
    base.learn(source("run_1", "run"), [*run_rows("leiden", "second"), edges])
    assert base.linker() is linker
    settled(base)
    assert base.linker() is linker
    assert base.resolver() is resolver
    assert base.view().number("dataset:second") >= 0


def test_a_new_tool_is_recognised_once_the_linker_was_renewed_in_the_background(base, monkeypatch) -> None:
    linker = base.linker()
    gate = Gate(service.EntityLinker)
    monkeypatch.setattr(service, "EntityLinker", gate)
    base.learn(source("run_1", "run"), run_rows("scrublet"))
    assert base.linker() is linker  # nobody waits
    assert base.check(SENTENCE).claims[0].label == "grounded"
    assert base.resolver()("scrublet", NodeType.TOOL) == "tool:scrublet"
    gate.open.set()
    settled(base)
    assert [mention.node.id for mention in base.link("We ran scrublet.")] == ["tool:scrublet"]


def test_a_linker_that_cannot_be_built_in_the_background_leaves_the_old_one(base, monkeypatch, caplog) -> None:
    linker = base.linker()

    def fail(_view: Any) -> Any:
        message = "no memory"
        raise MemoryError(message)

    with monkeypatch.context() as patch:
        patch.setattr(service, "EntityLinker", fail)
        base.learn(source("run_1", "run"), run_rows("scrublet"))
        assert base.linker() is linker
        settled(base)
    assert "could not be built" in caplog.text
    base.linker()
    settled(base)
    assert base.link("scrublet")


def test_an_import_that_only_adds_names_is_recognised_at_once(base, tmp_path) -> None:
    base.linker()
    base.resolver()
    (tmp_path / "nodes.tsv").write_text("id\ttype\tname\taliases\nGene::1956\tgene\tEGFR\tERBBX1\n")
    (tmp_path / "edges.tsv").write_text("source\ttype\ttarget\nGene::1956\tregulates\tGene::7157\n")
    base.import_files("tables", [tmp_path / "nodes.tsv", tmp_path / "edges.tsv"])
    assert [mention.node.id for mention in base.link("ERBBX1")] == ["Gene::1956"]
    assert base.gene_ids(["ERBBX1"]) == ["Gene::1956"]


def test_a_kept_linker_names_the_right_entities_though_their_numbers_moved(base) -> None:
    linker = base.linker()
    base.store.add(source("genes_2"), [genes(("Gene::6774", "STAT3"))])
    base.outdate(names=True)
    second = base.linker()
    assert second is not linker
    before = base.view().number("Gene::6774")
    base.store.add(source("run_0", "run"), run_rows("leiden"))  # the run again, without its file
    assert base.linker() is second
    settled(base)
    kept = base.linker()
    assert base.view().number("Gene::6774") != before
    fresh = service.EntityLinker(base.view())
    text = "EGFR interacts with GRB2, and STAT3 regulates TP53 after leiden."
    assert [m.node.id for m in kept.link(text)] == [m.node.id for m in fresh.link(text)]
    assert base.check(text).claims == service.check_text(text, base.view(), fresh).claims


def test_the_starter_graph_stays_taken_back_at_the_next_start(tmp_path: Path) -> None:
    for start in range(3):
        database = Database(tmp_path / "b.duckdb")
        base = KnowledgeBase(DuckGraphStore(database), tmp_path / "graph", FrozenClock())
        assert ("starter" in [s.id for s in base.stats().sources]) == (start == 0)
        if start == 0:
            base.remove("starter")
            assert base.view().node_count == 0
        database.close()


def test_an_unknown_source_taught_nothing_and_the_message_says_where_to_look(base) -> None:
    with pytest.raises(NotFoundError, match="no source 'run_9'") as caught:
        base.taught("run_9")
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
    first = base.import_files("tables", [nodes], name="mine")
    assert not any("replaced" in text for text in first.warnings)
    assert base.import_files("tables", [nodes], name="mine").unchanged
    nodes.write_text("id\ttype\tname\nbbb\tgene\tGENEBBB\n")
    again = base.import_files("tables", [nodes], name="mine")
    assert any("replaced" in text and "another name" in text for text in again.warnings)
    assert base.node("genebbb").id == "bbb"


@pytest.fixture
def empty(tmp_path: Path) -> KnowledgeBase:
    """A graph of nothing yet, on the disk."""
    store = DuckGraphStore(Database(tmp_path / "b.duckdb"))
    return KnowledgeBase(store, tmp_path / "graph", FrozenClock(), starter_wanted=False)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_edges_arrive_when_their_nodes_have_come(empty: KnowledgeBase, tmp_path: Path) -> None:
    nodes = written(tmp_path / "nodes.tsv", "id\ttype\tname\naaa\tgene\tGENEAAA\nbbb\tdrug\tdrugbbb\n")
    edges = written(tmp_path / "edges.tsv", "source\ttype\ttarget\nbbb\ttargets\taaa\n")
    assert "1 edge is left out" in empty.import_files("tables", [edges]).warnings[0]
    assert empty.import_files("tables", [edges]).unchanged
    empty.import_files("tables", [nodes])
    again = empty.import_files("tables", [edges])
    assert (again.unchanged, again.edges_added) == (False, 1)
    assert "read again" in again.warnings[0]
    version = empty.view().version
    assert empty.import_files("tables", [edges]).unchanged
    assert empty.import_files("tables", [nodes]).unchanged  # read again, as the edges came after it
    assert empty.view().version == version


def test_gene_sets_imported_before_their_genes_are_linked_when_repeated(empty: KnowledgeBase, tmp_path: Path) -> None:
    sets = written(tmp_path / "sets.gmt", "SET\tna\tEGFR\tERBB4\tENSG00000141510\n")
    more = written(tmp_path / "more.gmt", "MORE\tna\tEGFR\n")
    table = written(
        tmp_path / "genes.tsv",
        "symbol\tentrez_id\tensembl_gene_id\nEGFR\t1956\tENSG00000146648\nTP53\t7157\tENSG00000141510\n",
    )
    empty.import_files("gmt", [sets])
    empty.import_files("gmt", [more])
    empty.import_files("gene_table", [table])
    empty.import_files("gmt", [sets])

    def members(of: str) -> set[str]:
        return {node.id for node in empty.neighbours(of, hops=1).nodes} - {of}

    assert members("pathway:SET") == {"Gene::1956", "Gene::7157", "symbol:ERBB4"}
    assert members("pathway:MORE") == {"symbol:EGFR"}
    empty.import_files("gmt", [more])
    assert members("pathway:MORE") == {"Gene::1956"}
    assert empty.view().number("symbol:EGFR") < 0
    assert empty.import_files("gmt", [sets]).unchanged


def test_numbers_of_a_text_are_no_genes(empty: KnowledgeBase, tmp_path: Path) -> None:
    sets = written(tmp_path / "sets.gmt", "SET\tna\t1956\t2024\n")
    table = written(tmp_path / "genes.tsv", "symbol\tentrez_id\nEGFR\t1956\nBRAF\t673\n")
    empty.import_files("gmt", [sets])
    empty.import_files("gene_table", [table])
    node = empty.node("Gene::1956")
    assert (node.name, node.aliases) == ("EGFR", [])  # named when the table came
    assert empty.node("Gene::2024").name == "Gene::2024"
    mentioned = {mention.text for mention in empty.link("In 1956 patients of 2024, BRAF was mutated.")}
    assert mentioned == {"BRAF"}


def test_the_starter_graph_comes_back_when_asked_for(tmp_path: Path) -> None:
    base = KnowledgeBase(GraphStoreTwin(), tmp_path / "graph", FrozenClock())
    edges = base.view().edge_count
    base.remove("starter")
    assert base.view().edge_count == 0
    done = base.restore_starter()
    assert (done.unchanged, done.edges_added, base.view().edge_count) == (False, edges, edges)
    assert base.restore_starter().unchanged
    unwanted = KnowledgeBase(GraphStoreTwin(), tmp_path / "other", FrozenClock(), starter_wanted=False)
    assert unwanted.view().edge_count == 0
    unwanted.restore_starter()
    assert unwanted.view().edge_count == edges


def test_the_starter_graph_is_not_read_at_every_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = GraphStoreTwin()
    KnowledgeBase(store, tmp_path / "graph", FrozenClock()).view()
    store.add(source("other"), [genes(*GENES)])

    def never() -> Iterator[NodeRows]:
        raise AssertionError("it is there already")
        yield

    monkeypatch.setattr(service.starter, "starter_batches", never)
    KnowledgeBase(store, tmp_path / "graph", FrozenClock()).view()


def test_genes_that_are_not_in_the_graph_are_told(base: KnowledgeBase) -> None:
    assert base.unknown_genes(["EGFR", "NOTAGENE", "tp53", "NOTAGENE", "Gene::2885"]) == ["NOTAGENE"]
    assert base.gene_ids(["1956", "GRB2", "EGFR", "x"]) == ["Gene::1956", "Gene::2885"]
    with pytest.raises(NotFoundError, match=r"None of the 2 genes given is in the knowledge graph \(NOTAGENE, X\)"):
        base.enrich(["NOTAGENE", "X"])


def test_genes_of_another_organism_are_kept_apart(empty: KnowledgeBase, tmp_path: Path) -> None:
    sets = written(tmp_path / "sets.gmt", "SET\tna\tEgfr\tTrp53\tBrca1\n")
    assert any("mouse" in text for text in empty.import_files("gmt", [sets]).warnings)
    done = empty.import_files("gmt", [sets], organism="Mus musculus")
    assert (done.source.id, done.warnings) == ("gmt:sets:mouse", [])
    assert empty.view().number("symbol:mouse:Trp53") >= 0
    assert empty.preview("gmt", [sets], organism="mouse").nodes[1].id == "symbol:mouse:Egfr"
