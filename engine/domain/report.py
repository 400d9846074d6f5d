"""The report: sections made of findings, with everything a reader needs to doubt it properly."""

from __future__ import annotations

from engine.domain.base import Value
from engine.domain.findings import Finding
from engine.domain.knowledge import ClaimCheck
from engine.domain.results import Artifact
from engine.domain.toolspec import Citation


class MethodStep(Value):
    """How one step was done, in words, with the parameters that decide it."""

    node: str
    name: str
    tool: str
    text: str
    citations: list[int] = []


class ReportFigure(Value):
    """A figure with its caption and the table that holds the same numbers."""

    artifact: Artifact
    caption: str
    table: str = ""


class Report(Value):
    """A report on one run."""

    title: str
    question: str
    summary: list[str]
    findings: list[Finding]
    methods: list[MethodStep]
    figures: list[ReportFigure]
    tables: list[Artifact]
    limitations: list[str]
    next_steps: list[str]
    citations: list[Citation]
    assumptions: list[str] = []
    checked: list[str] = []
    """What was checked against what, and how it came out, one sentence each."""
    claims: ClaimCheck | None = None
    """The summary's statements about entities, each labelled by what the knowledge graph says of it. Its `score` is not
    shown: what could not be looked up would count like what was."""
