"""Checks a report: its numbers against the stored tables, its statements against the knowledge graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.domain.findings import Finding
from engine.domain.knowledge import Claim, ClaimCheck
from engine.domain.report import Report
from engine.domain.run_view import RunView
from engine.ports.artifacts import ArtifactStore
from engine.reporting.checked import NOT_CHECKED, Reread, of_findings, reread

Check = Callable[[str, Sequence[Finding]], ClaimCheck]
_MOST_FINDINGS = 60


def ground_findings(report: Report, view: RunView, artifacts: ArtifactStore) -> Report:
    """Return the report with each finding labelled by what was really checked of it, which its evidence names."""
    compared = reread(report.findings, report.tables, artifacts)
    findings = [_labelled(finding, compared.get(finding.id), view) for finding in report.findings]
    lines = [*report.checked, *of_findings(report.findings, compared), NOT_CHECKED]
    return report.model_copy(update={"findings": findings, "checked": lines})


def _labelled(finding: Finding, compared: Reread | None, view: RunView) -> Finding:
    row = ", ".join(f"{name} = {value}" for name, value in finding.row.items())
    place = f"{finding.artifact}, {row}" if row else finding.artifact
    if compared is not None and compared.differ:
        update = {"grounding": "contradicted", "evidence": [f"{place}: {text}" for text in compared.differ]}
    elif compared is not None and compared.agree:
        read = f"findings_match_tables: {compared.agree} of its numbers read again from {place}"
        update = {"grounding": "grounded", "evidence": [read]}
    else:
        result = view.results.get(finding.node)
        held = len(result.verdict.checks) if result and result.verdict and result.verdict.passed else 0
        said = f"computed by step {finding.node}, of which {held} postconditions held; not read again from a table"
        update = {"grounding": "inferred" if held else "ungrounded", "evidence": [said] if held else []}
    return finding.model_copy(update=update)


def ground_claims(report: Report, check: Check) -> Report:
    """Return the report with what the knowledge graph says of its summary and its findings.

    A sentence that repeats a finding is looked up in the graph alone, for the finding is no evidence for itself; any
    other sentence may rest on the findings. The graph never changes a finding's own label: where it states the
    opposite, that is said and the finding stays.
    """
    findings = [_with_evidence(finding, check) for finding in report.findings[:_MOST_FINDINGS]]
    findings += report.findings[_MOST_FINDINGS:]
    computed = {finding.text for finding in report.findings} | {answer.said for answer in report.answers}
    claims: list[Claim] = []
    version, seconds = 0, 0.0
    for sentence in report.summary:
        checked = check(sentence, () if sentence in computed else report.findings)
        version, seconds = checked.graph_version, seconds + checked.seconds
        # Numbers, and an entity named alone, are nothing that a graph of relations could state or deny.
        claims += [claim for claim in checked.claims if claim.label != "ungrounded" or (claim.subject and claim.object)]
    outcome = ClaimCheck(claims=claims, score=0.0, graph_version=version, seconds=seconds)
    return report.model_copy(update={"findings": findings, "claims": outcome})


def _with_evidence(finding: Finding, check: Check) -> Finding:
    evidence = [text for claim in check(finding.text, ()).claims if (text := _said(claim))]
    return finding.model_copy(update={"evidence": list(dict.fromkeys([*finding.evidence, *evidence]))[:6]})


def _said(claim: Claim) -> str:
    """Return what the graph says of a claim in a finding, or "" when it says nothing."""
    if not claim.evidence or claim.label == "ungrounded":
        return ""
    first = claim.evidence[0]
    how = {"grounded": "also stated", "inferred": "supported indirectly", "contradicted": "the opposite is stated"}
    return f"knowledge graph, {how[claim.label]}: {first.edge} ({first.source})"
