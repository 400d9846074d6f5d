"""What a report says was checked: each line can come out against the run, and nothing is evidence for itself."""

from __future__ import annotations

import hashlib

import pytest
from reporting_run import FolderStore, small_registry

from engine.domain.findings import Assertion, Finding, FindingValue
from engine.domain.knowledge import Edge, EdgeType, Node, NodeType
from engine.domain.report import Report, RunView
from engine.domain.results import Artifact, NodeResult, RunRecord, Verdict
from engine.knowledge.graph.twin import GraphTwin
from engine.knowledge.grounding.findings import check_findings
from engine.knowledge.lookup import EntityLookup
from engine.reporting.checked import checked_lines, of_steps
from engine.reporting.forms import html, markdown, pdf, run_json
from engine.steps.grounder import ground_claims, ground_findings
from engine.steps.result_file import ResultFile
from engine.toolbox.bulk_rna.common import changed_by

GRAPH = GraphTwin(
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


def check(findings):
    return check_findings(findings, GRAPH, EntityLookup(GRAPH.nodes))


def report(*texts: str, asserts: Assertion | None = None) -> Report:
    findings = [
        Finding(
            id=f"f{k}",
            asserts=asserts,
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
        summary=list(texts),
        findings=findings,
        methods=[],
        figures=[],
        tables=[],
        limitations=[],
        next_steps=[],
        citations=[],
    )


def test_the_sentence_of_a_finding_is_not_read():
    made = ground_claims(report("E2F7 is lower in breast cancer than in controls."), check)
    assert made.claims is not None
    assert made.claims.claims == []
    assert any("could be looked up" in line for line in checked_lines(made))


def test_what_the_graph_says_of_a_finding_is_the_graphs_word_alone():
    lower = Assertion(subject="breast cancer", relation="downregulates", object="E2F7")
    made = ground_claims(report("E2F7 is lower in breast cancer than in controls.", asserts=lower), check)
    (claim,) = made.claims.claims
    assert claim.label == "contradicted"
    assert [item.kind for item in claim.evidence] == ["opposite"]
    assert any("opposite is stated" in text for text in made.findings[0].evidence)
    assert made.findings[0].grounding == "ungrounded"  # the graph decides nothing about what was measured
    assert any(line.startswith("The OPPOSITE is stated: E2F7 is lower") for line in checked_lines(made))


def test_what_the_graph_knows_and_does_not_know_of_findings_is_told():
    for asserts, told in (
        (Assertion(subject="gefitinib", relation="binds", object="EGFR"), "Stated: "),
        (Assertion(subject="gefitinib", relation="treats", object="breast cancer"), "Not found: "),
    ):
        made = ground_claims(report("As the table shows.", asserts=asserts), check)
        assert any(line.startswith(told) for line in checked_lines(made))


def labelled(tmp_path, csv: str, *, values: dict | None = None, row: dict | None = None, checks=("a", "b")):
    """Return the one finding of a report and its lines, its table being this text."""
    store = FolderStore(tmp_path / "store")
    sha256 = store.put_bytes(csv.encode())
    artifact = Artifact(name="t.csv", output="t", type="table", sha256=sha256, bytes=len(csv), node="n1")
    finding = Finding(
        id="f1",
        node="n1",
        text="EGFR is higher.",
        artifact="t.csv",
        row={"feature": "EGFR"} if row is None else row,
        values=[FindingValue(name=name, value=value) for name, value in (values or {"lfc": 1.5}).items()],
    )
    verdict = Verdict(passed=True, quality=1.0, checks=list(checks))
    result = NodeResult(node="n1", tool="x", status="succeeded", findings=[finding], artifacts=[artifact],
                        verdict=verdict)  # fmt: skip
    record = RunRecord(run_id="r", user="u", question="q", status="succeeded", created_at="2026-01-01T00:00:00Z")
    bare = report().model_copy(update={"findings": [finding], "tables": [artifact]})
    made = ground_findings(bare, RunView(record=record, results={"n1": result}), store)
    return made.findings[0], made.checked


def test_a_finding_is_grounded_when_its_number_was_read_again(tmp_path):
    finding, lines = labelled(tmp_path, "feature,lfc\nTP53,9\nEGFR,1.5000001\n")
    assert finding.grounding == "grounded"
    assert finding.evidence == ["findings_match_tables: 1 of its numbers read again from t.csv, feature = EGFR"]
    assert lines[0] == "Numbers read again from the stored tables that agree: 1 of 1, from 1 of 1 finding."
    assert "None of this says whether the analysis is the one that the question asks for" in lines[-1]


@pytest.mark.parametrize(
    ("csv", "told"),
    [
        ("feature,lfc\nTP53,9\nEGFR,-1.5\n", "lfc is 1.5 here and -1.5 in the table"),
        ("feature,lfc\nTP53,1.5\n", "the table has no such row"),
        ("feature,lfc\nEGFR,\n", "lfc is 1.5 here and empty in the table"),
    ],
)
def test_a_number_that_its_table_does_not_hold_is_contradicted(tmp_path, csv, told):
    finding, lines = labelled(tmp_path, csv)
    assert finding.grounding == "contradicted"
    assert told in finding.evidence[0]
    assert any(line.startswith("DIFFERS FROM ITS TABLE: EGFR is higher.") and told in line for line in lines)
    assert "agree: 0 of 1, from 1 of 1 finding." in lines[0]


@pytest.mark.parametrize("asked", [{"row": {}}, {"values": {"not_a_column": 3.0}}, {"values": {"lfc": "high"}}])
def test_what_names_no_number_of_a_row_is_not_called_grounded(tmp_path, asked):
    finding, lines = labelled(tmp_path, "feature,lfc\nEGFR,1.5\n", **asked)
    assert finding.grounding == "inferred"
    assert "not read again from a table" in finding.evidence[0]
    assert "2 postconditions held" in finding.evidence[0]
    assert "agree: 0 of 0, from 0 of 1 finding; the others name no number" in lines[0]


def test_without_any_check_nothing_stands_behind_a_finding(tmp_path):
    finding, _ = labelled(tmp_path, "feature,lfc\nEGFR,1.5\n", row={}, checks=())
    assert (finding.grounding, finding.evidence) == ("ungrounded", [])


def test_hand_overs_between_steps_are_compared_by_hash(small_run):
    view, _ = small_run
    assert any(
        line.startswith("Inputs that are byte for byte") and "(SHA-256): 3 of 3." in line for line in of_steps(view)
    )
    swapped = view.results["n3"].model_copy(update={"inputs": {"expression": hashlib.sha256(b"other").hexdigest()}})
    lines = of_steps(view.model_copy(update={"results": {**view.results, "n3": swapped}}))
    (line,) = [line for line in lines if line.startswith("Inputs")]
    assert "2 of 3; " in line
    assert "'Variable genes' read expression from other data than n2.expression" in line


def test_a_postcondition_that_did_not_hold_is_said(small_run):
    view, _ = small_run
    verdict = Verdict.model_validate(
        {"passed": False, "quality": 0.5, "checks": ["c"],
         "issues": [{"code": "x", "severity": "error", "message": "means has no rows."}]}
    )  # fmt: skip
    failed = view.results["n1"].model_copy(update={"status": "failed", "verdict": verdict})
    lines = of_steps(view.model_copy(update={"results": {**view.results, "n1": failed}}))
    assert "Postconditions of 'Growth by dose' did not hold: means has no rows." in lines


def test_no_form_of_a_report_shows_a_score_of_its_statements(small_run):
    view, store = small_run
    made = ground_claims(ground_findings(view.report, view, store), check)
    view = view.model_copy(update={"report": made})
    lines = checked_lines(made)
    for beginning in ("Postconditions", "Inputs that are byte", "Numbers read again", "Knowledge graph"):
        assert any(line.startswith(beginning) for line in lines), beginning
    texts = [markdown.render(view, small_registry()), html.render(view, store, small_registry())]
    for text in texts:
        assert "What was checked" in text
        assert "byte for byte" in text
        assert "Score" not in text
    document = run_json.render(view, small_registry())
    assert document["checked"] == lines
    assert "score" not in document["claims"]
    grounding = [finding["grounding"] for finding in document["findings"]]
    # The number of records stands in no row and the tool names no check; the two means have their rows.
    assert grounding[:3] == ["ungrounded", "grounded", "grounded"]
    from io import BytesIO

    from pypdf import PdfReader

    pages = PdfReader(BytesIO(pdf.render(view, store, small_registry()))).pages
    told = " ".join(" ".join(page.extract_text() for page in pages).split())
    assert "What was checked" in told
    assert "Score" not in told


def test_what_a_step_asserts_is_checked_like_all_it_writes():
    asserts = {"subject": "dexamethasone", "relation": "upregulates", "object": "DUSP1"}
    assert ResultFile.FoundSentence.model_validate({"text": "t", "asserts": asserts}).asserts == Assertion(**asserts)
    assert ResultFile.FoundSentence.model_validate({"text": "t", "asserts": None}).asserts is None
    for wrong in ({"subject": "x"}, {**asserts, "sign": 2}, "a raises b"):
        with pytest.raises(ValueError, match="asserts"):
            ResultFile.FoundSentence.model_validate({"text": "t", "asserts": wrong})


@pytest.mark.parametrize(("change", "relation"), [(1.5, "upregulates"), (-1.5, "downregulates")])
def test_a_gene_that_differs_states_which_way_by_its_symbol_where_it_has_one(change, relation):
    row = {"feature": "ENSG00000146648", "symbol": "EGFR", "log2_fold_change": change}
    assert changed_by("lung cancer", row) == {"subject": "lung cancer", "relation": relation, "object": "EGFR"}
    assert changed_by("lung cancer", {**row, "symbol": float("nan")})["object"] == "ENSG00000146648"
