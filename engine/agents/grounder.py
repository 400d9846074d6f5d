"""Labels what a report says by what supports it: the run's own findings, then the knowledge graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.domain.findings import Finding
from engine.domain.knowledge import Claim, ClaimCheck
from engine.domain.report import Report

Check = Callable[[str, Sequence[Finding]], ClaimCheck]
_MOST_FINDINGS = 60


def ground_report(report: Report, check: Check) -> Report:
    """Return the report with its summary's claims labelled and its findings' evidence named.

    A finding is computed from the user's data, so it is grounded by its artifact. What the graph says of the
    same entities stands beside it; where the graph states the opposite, that is said and the finding stays.
    """
    findings = [_with_evidence(finding, check) for finding in report.findings[:_MOST_FINDINGS]]
    findings += report.findings[_MOST_FINDINGS:]
    claims = check("\n".join(report.summary), report.findings)
    return report.model_copy(update={"findings": findings, "claims": claims})


def _with_evidence(finding: Finding, check: Check) -> Finding:
    own = f"computed: {finding.artifact}" if finding.artifact else "computed by this run"
    evidence = [own, *(text for claim in check(finding.text, ()).claims if (text := _said(claim)))]
    return finding.model_copy(update={"evidence": list(dict.fromkeys([*finding.evidence, *evidence]))[:6]})


def _said(claim: Claim) -> str:
    """Return what the graph says of a claim in a finding, or "" when it says nothing."""
    if not claim.evidence or claim.label == "ungrounded":
        return ""
    first = claim.evidence[0]
    how = {"grounded": "also stated", "inferred": "supported indirectly", "contradicted": "the opposite is stated"}
    return f"knowledge graph, {how[claim.label]}: {first.edge} ({first.source})"
