"""The report of an answer that needed no plan."""

from __future__ import annotations

from collections.abc import Sequence

from engine.domain.findings import Finding
from engine.domain.report import Report, ReportFigure
from engine.reporting.compose import title_of


def told_report(
    question: str,
    summary: list[str],
    findings: Sequence[Finding] = (),
    limitations: Sequence[str] = (),
    figures: Sequence[ReportFigure] = (),
) -> Report:
    """Return the report of an answer that needed no plan."""
    return Report(
        title=title_of(question), question=question, summary=summary, findings=list(findings), methods=[],
        figures=list(figures), tables=[], limitations=list(limitations), next_steps=[], citations=[],
    )  # fmt: skip
