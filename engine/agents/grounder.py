"""Labels what a report says by what supports it: the run's own findings first, then the knowledge graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.domain.findings import Finding
from engine.domain.knowledge import Claim, ClaimCheck, EvidenceEdge
from engine.domain.report import Report
from engine.knowledge.grounding import SCORES

Check = Callable[[str, Sequence[Finding]], ClaimCheck]
_MOST_FINDINGS = 60
_SAYS = {
    "grounded": "The knowledge graph states it too.",
    "inferred": "The knowledge graph supports it indirectly.",
    "contradicted": "The knowledge graph states the opposite, which makes it worth a second look.",
}


def ground_report(report: Report, check: Check) -> Report:
    """Return the report with its summary's claims labelled and its findings' evidence named.

    A finding is computed from the user's data, so it is grounded by its artifact. What the graph says of the
    same entities stands beside it; where the graph states the opposite, that is said and the finding stays.
    """
    findings = [_with_evidence(finding, check) for finding in report.findings[:_MOST_FINDINGS]]
    findings += report.findings[_MOST_FINDINGS:]
    computed = {finding.text: finding for finding in report.findings}
    claims: list[Claim] = []
    version, seconds = 0, 0.0
    for sentence in report.summary:
        own = computed.get(sentence)
        checked = check(sentence, () if own else report.findings)
        version, seconds = checked.graph_version, seconds + checked.seconds
        claims += [_computed(own, checked)] if own else checked.claims
    score = sum(SCORES[claim.label] for claim in claims) / len(claims) if claims else 0.0
    outcome = ClaimCheck(claims=claims, score=score, graph_version=version, seconds=seconds)
    return report.model_copy(update={"findings": findings, "claims": outcome})


def _computed(finding: Finding, checked: ClaimCheck) -> Claim:
    """Return a finding as a claim: grounded by its own file, with what the graph says beside it."""
    where = finding.artifact or "the step's result"
    row = ", ".join(f"{name} = {value}" for name, value in finding.row.items())
    own = EvidenceEdge(
        edge=f"{where}{f', {row}' if row else ''}",
        source=f"finding {finding.id} of this run",
        confidence=1.0,
        kind="finding",
    )
    said = [claim for claim in checked.claims if claim.evidence and claim.label in _SAYS]
    return Claim(
        text=finding.text,
        label="grounded",
        entities=[mention for claim in checked.claims for mention in claim.entities],
        evidence=[own, *(item for claim in said for item in claim.evidence)][:8],
        why=" ".join(["Computed by this run.", *dict.fromkeys(_SAYS[claim.label] for claim in said)]),
    )


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
