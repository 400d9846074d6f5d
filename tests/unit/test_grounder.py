"""A report's claims: findings are grounded by their own files; the graph's word stands beside, never instead."""

from __future__ import annotations

import pytest

from engine.agents.grounder import ground_report
from engine.domain.findings import Finding, FindingValue
from engine.domain.knowledge import Edge, EdgeType, Node, NodeType
from engine.domain.report import Report
from engine.knowledge.grounding import check_text
from engine.knowledge.linking import EntityLinker
from engine.knowledge.memory_graph import MemoryGraph

GRAPH = MemoryGraph(
    [
        Node(id="Gene::1956", type=NodeType.GENE, name="EGFR"),
        Node(id="Gene::2", type=NodeType.GENE, name="E2F7"),
        Node(id="Disease::1", type=NodeType.DISEASE, name="breast cancer"),
        Node(id="Compound::1", type=NodeType.DRUG, name="gefitinib"),
    ],
    [
        Edge(source="Compound::1", type=EdgeType.BINDS, target="Gene::1956", origin="x"),
        Edge(source="Disease::1", type=EdgeType.UPREGULATES, target="Gene::2", origin="x"),
    ],
)
LINKER = EntityLinker(GRAPH)


def check(text, findings=()):
    return check_text(text, GRAPH, LINKER, findings=findings)


def report(*texts: str, summary: list[str] | None = None) -> Report:
    findings = [
        Finding(
            id=f"f{k}",
            node="n1",
            text=text,
            artifact="de_table.csv",
            row={"feature": "x"},
            values=[FindingValue(name="n", value=812)],
        )
        for k, text in enumerate(texts)
    ]
    return Report(
        title="t",
        question="q",
        summary=summary if summary is not None else list(texts),
        findings=findings,
        methods=[],
        figures=[],
        tables=[],
        limitations=[],
        next_steps=[],
        citations=[],
    )


def test_a_finding_is_grounded_by_its_own_file():
    made = ground_report(report("812 genes changed (95 % CI 700 to 900)."), check)
    assert made.claims is not None
    (claim,) = made.claims.claims
    assert claim.label == "grounded"
    assert claim.evidence[0].kind == "finding"
    assert "de_table.csv" in claim.evidence[0].edge
    assert made.claims.score == 1.0
    assert made.findings[0].evidence == ["computed: de_table.csv"]


def test_the_opposite_in_the_graph_is_said_and_the_finding_stays():
    made = ground_report(report("E2F7 is lower in breast cancer than in controls."), check)
    (claim,) = made.claims.claims
    assert claim.label == "grounded"
    assert "opposite" in claim.why
    assert any("opposite is stated" in text for text in made.findings[0].evidence)


def test_a_sentence_that_no_finding_states_is_left_to_the_graph():
    made = ground_report(
        report("812 genes changed.", summary=["Gefitinib binds EGFR.", "Gefitinib treats breast cancer."]), check
    )
    assert [claim.label for claim in made.claims.claims] == ["grounded", "ungrounded"]
    assert made.claims.score == pytest.approx(0.5)


def test_a_report_without_claims_has_a_score_of_nothing():
    made = ground_report(report(summary=["No step finished, so there is nothing to report."]), check)
    assert made.claims.claims == []
    assert made.claims.score == 0.0
