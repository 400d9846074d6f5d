"""Checks a report: its numbers against the stored tables, what its findings assert against the knowledge graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.domain.findings import Finding
from engine.domain.knowledge import Claim, ClaimCheck
from engine.domain.report import Report, RunView
from engine.ports.artifacts import ArtifactStore
from engine.reporting.checked import NOT_CHECKED, Reread, of_findings, reread

Check = Callable[[Sequence[Finding]], Mapping[str, Claim]]
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
    """Return the report with what the knowledge graph says of what its findings assert as data.

    Their sentences are not read. The graph never changes a finding's own label: where it states the opposite, that is
    said and the finding stays.
    """
    claims = check(report.findings[:_MOST_FINDINGS])
    findings = [_with_evidence(finding, claims.get(finding.id)) for finding in report.findings]
    outcome = ClaimCheck(claims=list(claims.values()), score=0.0)
    return report.model_copy(update={"findings": findings, "claims": outcome})


def _with_evidence(finding: Finding, claim: Claim | None) -> Finding:
    """Add what the graph says of a finding to its evidence, when it says anything."""
    if claim is None or not claim.evidence or claim.label == "ungrounded":
        return finding
    how = {"grounded": "also stated", "inferred": "supported indirectly", "contradicted": "the opposite is stated"}
    kind = "opposite" if claim.label == "contradicted" else ""
    first = next((item for item in claim.evidence if item.kind == kind), claim.evidence[0])
    text = f"knowledge graph, {how[claim.label]}: {first.edge} ({first.source})"
    return finding.model_copy(update={"evidence": list(dict.fromkeys([*finding.evidence, text]))[:6]})
