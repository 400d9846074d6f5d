"""The report: sections made of findings, with all a reader needs to doubt it properly; and the run it tells of."""

from __future__ import annotations

from typing import Literal

from engine.domain.base import Value
from engine.domain.discovery.search_tree import SearchTree
from engine.domain.encoding.sealing import SealHead
from engine.domain.findings import Finding
from engine.domain.knowledge import ClaimCheck
from engine.domain.plan import TaskDag
from engine.domain.profile import Profile
from engine.domain.results import Artifact, NodeResult, Route, RunRecord
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


class ShownTable(Value):
    """The few rows and columns of a stored table that show an answer, as its cells are written in the file."""

    name: str
    """Name of the artifact."""
    columns: list[str]
    rows: dict[int, list[str]]
    """Number of the row in the file (from 1, the header not counted) -> its cells in these columns."""
    marked: list[int] = []
    """The rows that the sentence is about."""
    total: int = 0

    def place(self, value: str, part: str = "value") -> tuple[int, int] | None:
        """Return row number and column of a value named `COLUMN LEVEL`, or of its `lower_95`, `upper_95` or `n`."""
        column, _, level = value.partition(" ")
        names = [column] if part == "value" else [f"{column}_{part}", part]
        at = next((self.columns.index(name) for name in names if name in self.columns), None)
        row = next((number for number, cells in self.rows.items() if level and level in cells), None)
        return (row, at) if row is not None and at is not None else None


class Answer(Value):
    """What answers one request of the question: a finding as its step wrote it, and what shows it."""

    text: str
    node: str
    finding: str
    """Id of the finding."""
    table: ShownTable | None = None
    beside: ShownTable | None = None
    """What decides, where the first table only describes: tests of pairs beside the means of groups."""
    figure: str = ""
    """Name of the artifact, one of the report's figures."""
    rows: str = ""
    """Which rows it is about, in words; "" for all."""
    led_by: str | None = None
    """What the sentence begins with because of that; None in what was stored before it was kept."""
    verdict: str = ""
    """`Yes` or `No`, where the question asks for either and the finding says it."""

    @property
    def tables(self) -> list[ShownTable]:
        """The tables that show it, in the order they are read."""
        return [table for table in (self.table, self.beside) if table is not None]

    @property
    def about(self) -> str:
        """What the sentence begins with: which rows it is about."""
        told = f"Where {self.rows}: " if self.rows else ""
        return told if self.led_by is None else self.led_by

    @property
    def lead(self) -> str:
        """What stands before the finding's own words: the verdict, and which rows it is about."""
        if not self.verdict or not self.about:
            return f"{self.verdict}: " if self.verdict else self.about
        return f"{self.verdict}, {self.about[0].lower()}{self.about[1:]}"

    @property
    def told(self) -> str:
        """The sentence alone, for where another question is answered by it."""
        return self.about + self.text

    @property
    def said(self) -> str:
        """The whole sentence, as the answer to its question."""
        return self.lead + self.text


class InWords(Value):
    """The answers in plain words, written by a model; every number of them stands in the findings it rests on."""

    text: str
    model: str
    """Provider and model."""
    findings: list[str]
    """Ids."""

    @property
    def line(self) -> str:
        """What is shown: the words with who wrote them and what holds them."""
        return f"In plain words (by {self.model}; every number stands in the findings): {self.text}"


class Doubt(Value):
    """What a model that reviewed the run doubts."""

    kind: Literal["wrong", "doubt"]
    """`wrong` where it holds the answer for unusable."""
    text: str
    model: str
    node: str = ""


class Report(Value):
    """A report on one run."""

    title: str
    question: str
    summary: list[str]
    """The sentences that answer the question, in the order of its requests; where not all was done, first how far."""
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
    answers: list[Answer] = []
    caveats: list[str] = []
    """At most three of the limitations: what failed or is left out, then what matters for these answers."""
    in_words: InWords | None = None
    doubts: list[Doubt] = []
    searches: list[SearchTree] = []
    """What was searched for this answer, each tree in short."""
    spoken: str = ""
    """The answer to be said aloud, at most 60 words; empty in reports of earlier versions."""


class Conversation(Value):
    """Questions that followed each other."""

    id: str
    title: str
    """What a person called it, else its first question."""
    named: bool = False
    """True when a person gave it its name."""
    runs: list[RunRecord]
    """Its turns, oldest first; never empty."""


class RunView(Value):
    """A run with its route, newest plan, results, profiles of its data and report (as far as they exist)."""

    record: RunRecord
    route: Route | None = None
    plan: TaskDag | None = None
    plan_versions: list[int] = []
    results: dict[str, NodeResult] = {}
    """Node id -> result; nodes that have not run are absent."""
    profiles: list[Profile] = []
    report: Report | None = None
    warnings: list[str] = []
    sandbox: dict[str, str] = {}
    """What isolated the steps: kind and a sentence on each thing it does not isolate."""
    seal: SealHead | None = None
    """The newest seal of the stored run."""
