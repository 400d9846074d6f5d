"""What a finished run teaches the graph: only what it states, to be reviewed, and to be taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.domain.datatypes import DataType
from engine.domain.findings import Finding, FindingValue
from engine.domain.knowledge import EdgeType, GraphSource, NodeRows, NodeType
from engine.domain.memory import Episode
from engine.domain.plan import Dataset, TaskDag, TaskNode
from engine.domain.results import Artifact, NodeResult
from engine.errors import NotFoundError
from engine.knowledge.graph.csr import open_graph
from engine.knowledge.graph.twin import GraphTwin
from engine.knowledge.learning import Learned, learn_run, taught
from storage.graph.twin import GraphStoreTwin

COUNTS, SAMPLES, SETS, DE = "a" * 64, "b" * 64, "c" * 64, "d" * 64

EPISODE = Episode(
    id="ep_1", run_id="run_1", at="2026-11-21T08:00:00.000Z", task="Which genes change\nwith dex?" + " x" * 60
)
PLAN = TaskDag(
    question="Which genes change with dex?",
    datasets=[
        Dataset(name="counts", path="/home/me/counts.csv", sha256=COUNTS, type=DataType.COUNT_MATRIX),
        Dataset(name="samples", path="C:\\data\\samples.csv", sha256=SAMPLES, type=DataType.SAMPLE_SHEET),
        Dataset(name="sets", path="h.gmt", sha256=SETS, type=DataType.GENE_SET_LIBRARY),
    ],
    nodes=[
        TaskNode(id="n1", name="QC", tool="count_qc", inputs={"counts": "data:counts", "samples": "data:samples"}),
        TaskNode(
            id="n2",
            name="DE",
            tool="de",
            inputs={"counts": "data:counts", "samples": "data:samples"},
            depends_on=["n1"],
        ),
        TaskNode(id="n3", name="ORA", tool="ora", inputs={"genes": "n2.de_table", "gene_sets": "data:sets"}),
        TaskNode(id="n4", name="Plot", tool="volcano", inputs={"table": "n2.de_table"}),
    ],
)


def finding(number: int, row: dict[str, Any], **values: float) -> Finding:
    return Finding(
        id=f"f{number}",
        node="n",
        text="...",
        row=row,
        values=[FindingValue(name=k, value=v) for k, v in values.items()],
    )


RESULTS = {
    "n1": NodeResult(node="n1", tool="count_qc", status="cached"),
    "n2": NodeResult(
        node="n2",
        tool="de",
        status="succeeded",
        findings=[
            finding(1, {}, n_significant=12),
            finding(2, {"feature": "CRISPLD2"}, log2_fold_change=2.1, p_adj=1e-9),
            finding(3, {"feature": "TP53"}, log2_fold_change=-0.1, p_adj=0.7),
            finding(4, {"feature": "NOVEL1"}, log2_fold_change=-3.0, p_adj=1e-4),
            finding(5, {"feature": "DUSP1"}, log2_fold_change=-1.5, p_adj=0.01),
        ],
        artifacts=[
            Artifact(name="de_table.csv", output="de_table", type="de_table", sha256=DE, bytes=10),
            Artifact(name="ma.png", output="ma", type="figure", sha256="e" * 64, bytes=10),
        ],
    ),
    "n3": NodeResult(
        node="n3",
        tool="ora",
        status="succeeded",
        findings=[finding(1, {"term_id": "HALLMARK_HYPOXIA"}, fold_enrichment=4.2, p_value=1e-6, p_adj=1e-5)],
    ),
    "n4": NodeResult(node="n4", tool="volcano", status="failed"),
}
KNOWN = {
    ("CRISPLD2", NodeType.GENE): "Gene::83716",
    ("TP53", NodeType.GENE): "Gene::7157",
    ("DUSP1", NodeType.GENE): "Gene::1843",
    ("HALLMARK_HYPOXIA", NodeType.PATHWAY): "Pathway::H",
}


def learn(**changes: Any) -> Learned:
    given: dict[str, Any] = {"episode": EPISODE, "plan": PLAN, "results": RESULTS, **changes}
    resolve = lambda name, kind: KNOWN.get((name, kind))  # noqa: E731
    return learn_run(
        given["episode"],
        given["plan"],
        given["results"],
        resolve=resolve,
        titles={"de": "Differential expression"},
        asked=given.get("asked", ()),
    )


def triples(learned: Learned) -> list[tuple[str, str, str, str]]:
    rows = zip(learned.edges.sources, learned.edges.types, learned.edges.targets, learned.edges.relations, strict=True)
    return [(a, kind.value, b, relation) for a, kind, b, relation in rows]


def test_a_run_teaches_what_it_states() -> None:
    got = learn()
    counts, table = f"dataset:{COUNTS[:16]}", f"dataset:{DE[:16]}"
    assert sorted(triples(got)) == sorted(
        [
            ("tool:count_qc", "uses_data", counts, "counts"),
            ("tool:count_qc", "uses_data", f"dataset:{SAMPLES[:16]}", "samples"),
            ("tool:de", "uses_data", counts, "counts"),
            ("tool:de", "uses_data", f"dataset:{SAMPLES[:16]}", "samples"),
            ("tool:ora", "uses_data", f"dataset:{SETS[:16]}", "gene_sets"),
            ("tool:de", "produces_for", "tool:ora", "de_table as genes"),
            ("tool:de", "produces_data", table, "de_table"),
            ("tool:count_qc", "used_with", "tool:de", ""),
            ("tool:count_qc", "used_with", "tool:ora", ""),
            ("tool:de", "used_with", "tool:ora", ""),
            ("Gene::83716", "associated_with", counts, "higher (log2 fold change +2.10)"),
            ("Gene::1843", "associated_with", counts, "lower (log2 fold change -1.50)"),
            ("Pathway::H", "associated_with", counts, "enriched (4.2 times the number expected)"),
        ]
    )
    assert got.passed_over == ["NOVEL1"]
    assert got.source.id == "run_1"
    assert got.source.kind == "run"
    assert got.source.name.startswith("Run run_1: Which genes change with dex? x x")
    assert len(got.source.name) < 100
    names = dict(zip(got.nodes.ids, got.nodes.names, strict=True))
    assert names["tool:de"] == "Differential expression"
    assert names[counts] == "counts"
    assert got.nodes.aliases[got.nodes.ids.index(f"dataset:{SAMPLES[:16]}")] == ["samples.csv"]
    assert "tool:volcano" not in names  # it failed


def test_genes_by_ensembl_id_are_found_or_added_with_the_symbol_the_tool_gives() -> None:
    def about(text: str, row: dict[str, Any]) -> Finding:
        return finding(1, row, log2_fold_change=2.0, p_adj=1e-9).model_copy(update={"text": text})

    found = [
        about("SPARCL1 (ENSG00000152583.12) is higher in treated", {"feature": "ENSG00000152583.12"}),
        about("TP53 (ENSG00000141510) is higher in treated", {"feature": "ENSG00000141510"}),
        about("ENSG00000189221 is higher in treated", {"feature": "ENSG00000189221"}),
        about("Trp53 (ENSMUSG00000059552) is higher", {"feature": "ENSMUSG00000059552"}),
        about("gene_17 is higher in treated", {"feature": "gene_17"}),
    ]
    got = learn(results={"n2": RESULTS["n2"].model_copy(update={"findings": found, "artifacts": []})})
    genes = [at for at, kind in enumerate(got.nodes.types) if kind is NodeType.GENE]
    assert {got.nodes.ids[at]: got.nodes.names[at] for at in genes} == {
        "ENSEMBL:ENSG00000152583": "SPARCL1",
        "ENSEMBL:ENSG00000189221": "ENSG00000189221",
    }
    assert [list(got.nodes.xrefs[at]) for at in genes] == [["ENSEMBL:ENSG00000152583"], ["ENSEMBL:ENSG00000189221"]]
    linked = [a for a, kind, _, _ in triples(got) if kind == "associated_with"]
    assert linked == ["ENSEMBL:ENSG00000152583", "Gene::7157", "ENSEMBL:ENSG00000189221"]
    assert got.passed_over == ["ENSMUSG00000059552", "gene_17"]


def test_what_the_question_names_is_joined_to_the_measured_data() -> None:
    got = learn(asked=["Compound::DB01234"])
    joined = [(a, b) for a, kind, b, _ in triples(got) if kind == "related_to"]
    assert joined == [(f"dataset:{COUNTS[:16]}", "Compound::DB01234")]  # not to the sample sheet, not to the gene sets


def test_a_failed_step_and_an_unfinished_run_teach_nothing() -> None:
    got = learn(results={"n4": RESULTS["n4"]})
    assert triples(got) == []
    assert set(got.nodes.types) == {NodeType.DATASET}
    assert len(learn(plan=TaskDag(question="q"), results={}).nodes) == 0


def graph_with_genes() -> GraphStoreTwin:
    store, rows = GraphStoreTwin(), NodeRows()
    for (name, kind), node_id in KNOWN.items():
        rows.add(node_id, kind, name)
    store.add(GraphSource(id="base", name="Base", kind="generic"), [rows])
    return store


def test_what_was_learned_can_be_reviewed_and_taken_back(tmp_path: Path) -> None:
    store, got = graph_with_genes(), learn()
    before = open_graph(store, tmp_path)
    done = store.add(got.source, [got.nodes, got.edges])
    assert done.warnings == []
    assert done.edges_added == 13
    view = open_graph(store, tmp_path)
    shown = taught(view, "run_1")
    assert {node.id for node in shown.nodes} == set(got.nodes.ids)
    assert len(shown.edges) == 13
    assert {edge.origin for edge in shown.edges} == {"run_1"}
    assert {edge.confidence for edge in shown.edges} == {1.0, 0.8, 0.6}
    nodes = [view.nodes.node(number) for number in range(len(view.nodes))]
    in_memory = GraphTwin(nodes, view.edges.full(range(len(view.edges))), store.sources())
    assert taught(in_memory, "run_1") == shown
    store.remove_source("run_1")
    after = open_graph(store, tmp_path)
    assert (len(after.nodes), len(after.edges)) == (len(before.nodes), len(before.edges))
    with pytest.raises(NotFoundError, match="no source 'run_1'"):
        taught(after, "run_1")


def test_learning_twice_changes_nothing_and_a_resumed_run_replaces_itself() -> None:
    store, got = graph_with_genes(), learn()
    store.add(got.source, [got.nodes, got.edges])
    assert store.add(learn().source, [got.nodes, got.edges]).unchanged
    again = learn(results={**RESULTS, "n4": NodeResult(node="n4", tool="volcano", status="succeeded")})
    done = store.add(again.source, [again.nodes, again.edges])
    assert not done.unchanged
    assert "tool:volcano" in store.columns().ids
    assert len([source for source in store.sources() if source.id == "run_1"]) == 1


def test_two_runs_on_the_same_file_meet_in_one_node() -> None:
    store = graph_with_genes()
    for run in ("run_1", "run_2"):
        got = learn(episode=EPISODE.model_copy(update={"run_id": run}))
        store.add(got.source, [got.nodes, got.edges])
    assert store.columns().ids.count(f"dataset:{COUNTS[:16]}") == 1
    store.remove_source("run_1")
    assert f"dataset:{COUNTS[:16]}" in store.columns().ids


def test_steps_that_wait_for_each_other_do_not_hang_it() -> None:
    nodes = [
        TaskNode(id="a", name="A", tool="ta", inputs={"x": "b.y"}),
        TaskNode(id="b", name="B", tool="tb", inputs={"x": "a.y", "z": "nobody.y", "w": "data:gone"}),
    ]
    results = {
        n.id: NodeResult(
            node=n.id, tool=n.tool, status="succeeded", findings=[finding(1, {"gene": "TP53"}, p_value=0.0)]
        )
        for n in nodes
    }
    got = learn(plan=TaskDag(question="q", nodes=nodes), results=results)
    assert (EdgeType.PRODUCES_FOR in got.edges.types, "tool:ta" in got.nodes.ids) == (True, True)


@pytest.mark.parametrize("p", [0.05, 0.9, None, "0.01", True, float("nan")])
def test_only_significant_findings_teach(p: Any) -> None:
    values = [FindingValue(name="p_adj", value=p), FindingValue(name="p_value", value=0.0001)]
    result = RESULTS["n2"].model_copy(
        update={"findings": [Finding(id="f1", node="n2", text=".", row={"gene": "TP53"}, values=values)]}
    )
    assert "associated_with" not in {t[1] for t in triples(learn(results={"n2": result}))}
