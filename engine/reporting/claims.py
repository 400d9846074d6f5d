"""What the check of a report's claims found, in lines that every form of the report shows alike."""

from __future__ import annotations

from engine.domain.report import Report

LABELS = {
    "grounded": "Grounded",
    "inferred": "Inferred",
    "ungrounded": "Not supported here",
    "contradicted": "CONTRADICTED",
}


def claim_lines(report: Report) -> list[str]:
    """Return the score, then one line a claim with its label, reason and first evidence; empty without claims."""
    if report.claims is None or not report.claims.claims:
        return []
    claims = report.claims.claims
    counts = {label: sum(claim.label == label for claim in claims) for label in LABELS}
    told = ", ".join(f"{count} {label}" for label, count in counts.items() if count)
    lines = [f"Score {report.claims.score:.2f} of 1 over {len(claims)} statements of the summary: {told}."]
    for claim in claims:
        first = claim.evidence[0] if claim.evidence else None
        evidence = f" Evidence: {first.edge}, {first.source}." if first else ""
        lines.append(f"{LABELS[claim.label]}: {claim.text} ({claim.why}{evidence})")
    return lines
