"""What became of a row that a question misses in the last tables: where it is, or where it was last seen."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from engine.domain.findings import Finding, FindingValue
from engine.domain.plan import TaskDag
from engine.domain.report import Report
from engine.domain.results import Artifact, NodeResult
from engine.errors import EngineError
from engine.knowledge.entities import Entities
from engine.ports.artifacts import ArtifactStore
from engine.reporting.compose import is_table
from engine.strategies.react.answer.answer_report import told_report
from engine.strategies.react.answer.row_of_data import NAME_COLUMNS, RowsOfData
from engine.strategies.react.answer.stored_tables import ROWS_READ, alpha_of, is_adjusted, is_p, number_of, rows_of
from engine.toolbox.registry import ToolRegistry

_UNSEEN = r"(?:do not|don'?t|dont|cannot|can'?t|cant) (?:see|find)"

_WHY = re.compile(
    r"\bwhy\b|\bwhere(?:'s| is| are| did| has)\b|\bhow come\b|\bwhat (?:happened|became) (?:to|with|of)\b|"
    rf"\bmissing\b|\bnot (?:in|on|among) the (?:list|table|result|plot|figure)|\b{_UNSEEN}\b",
    re.IGNORECASE,
)

_GONE = re.compile(
    r"\b(?:missing|absent|not (?:there|in|on|among|shown|listed|significant)|left out|filtered|dropped|"
    rf"gone|disappear\w*|{_UNSEEN}|where(?:'s| is| are)|why not|why (?:is|are|was|were|isn'?t|aren'?t))\b",
    re.IGNORECASE,
)

_THAT = re.compile(r"\b(?:that|this|it|the) (?:gene|protein|row|term|pathway|marker|feature|metabolite)\b|\bit\b", re.I)

_WORD = re.compile(r"[A-Za-z0-9][\w.:/-]*[\w]|[A-Z]")

_COMMON = frozenset(
    "why where is are was were not in on the that this gene genes protein row missing list table result results it i "
    "do don dont see find what about happened became to with of a an and or my our significant volcano plot how come "
    "at all there here any no fdr pca p value values filtered out left shown listed did has have been be from for can "
    "cant cannot please up down top".split()
)

LONGEST = 16
"""Words; a longer question asks for more than where a row is."""


class _Found(NamedTuple):
    artifact: Artifact
    result: NodeResult
    row: dict[str, str]


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Finds rows by name in the tables and files of a run."""

    plan: TaskDag
    results: Mapping[str, NodeResult]
    artifacts: ArtifactStore
    registry: ToolRegistry
    aliases: Callable[[str], Sequence[str]] = lambda _: ()
    """Other names of what a name means."""
    data_words: frozenset[str] = frozenset()
    """Columns and levels of the data in lower case: `why is survival shorter in treated` asks for no row."""
    _read: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    """Table -> name in lower case -> its row."""

    def told(self, question: str) -> Report | None:
        """Return what became of what a question misses in the last tables; None when it asks for no such thing."""
        if not _WHY.search(question) or len(question.split()) > LONGEST:
            return None
        said = [w for w in dict.fromkeys(_WORD.findall(question)) if w.lower() not in _COMMON]
        data = RowsOfData(self.plan, self.results, self.artifacts, self.registry)
        rows = [w for w in said if data.has(w)]
        if found := [one for number, name in enumerate(rows[:5], start=1) if (one := data.told(name, number))]:
            return told_report(question, [finding.text for finding in found], found)
        words = [w for w in said if w.lower() not in self.data_words]
        names = [w for w in words if self._known(w) or _like_a_symbol(w)]
        if not names:
            if not (_THAT.search(question) and _GONE.search(question)):
                return None
            places = " or ".join([*(a.name for a, _ in self._tables()[:1]), *(d.name for d in self.plan.datasets[:1])])
            return told_report(
                question, [f"Which one is meant? Write its name as it stands in {places}, and it is looked up."]
            )
        findings = [finding for number, name in enumerate(names[:5], start=1) for finding in self._of(name, number)]
        return told_report(question, [finding.text for finding in findings], findings)

    def _of(self, name: str, number: int) -> list[Finding]:
        """Return what became of one name: a sentence for each table that has it, else where it was last seen."""
        for called in (name, *self.aliases(name)):
            rows = [
                hit for artifact, result in self._tables() if (hit := self._row(artifact, result, called)) is not None
            ]
            if rows:
                also = f"{name} ({called})" if called != name else name
                # The tables that test come first: they say why.
                rows.sort(key=lambda hit: not any(is_p(column) for column in hit.row))
                said = [self._said(also, hit, f"f{number}_{at}") for at, hit in enumerate(rows[:2], start=1)]
                return said if any(finding.values for finding in said) else [*said, *self._row_of_file(called, number)]
        for called in (name, *self.aliases(name)):
            if (seen := self._file_row(called)) is not None:
                told = _in_the_file(name, called, *seen, self._tables())
                return [Finding(id=f"f{number}", node="", **told)]
        files = ", ".join(dataset.name for dataset in self.plan.datasets)
        text = (
            f"{name} is in none of the {len(self._tables())} result tables and, under this name, not in {files} either."
        )
        return [Finding(id=f"f{number}", node="", text=text)]

    def _file_row(self, called: str) -> tuple[str, dict[str, str]] | None:
        """Return the file that has a row of a name, and its cells."""
        for dataset in self.plan.datasets:
            held = self.artifacts.has(dataset.sha256)
            row = self._in_file(self.artifacts.path(dataset.sha256), called) if held else None
            if row is not None:
                return dataset.name, row
        return None

    def _row_of_file(self, called: str, number: int) -> list[Finding]:
        """Return what a file says of a name that a list of the answer holds without numbers."""
        file, row = self._file_row(called) or ("", {})
        shown, values = _numbers(row)
        text = f"So it is in the answer; its row in {file}: {shown}."
        return [Finding(id=f"f{number}_file", node="", text=text, values=values)] if shown else []

    def _said(self, name: str, hit: _Found, id_: str) -> Finding:
        """Return the sentence on a row of a table, with its numbers."""
        numbers = {column: value for column, text in hit.row.items() if (value := number_of(text)) is not None}
        step = self.plan.node(hit.result.node)
        where = f"{hit.artifact.name}" + (f" (step {step.name!r})" if step else "")
        adjusted = next((c for c in hit.row if is_adjusted(c)), "")
        decided = adjusted or next((c for c in hit.row if is_p(c)), "")
        alpha = alpha_of(hit.result, self.registry)
        shown = ", ".join(f"{column} {value:.4g}" for column, value in list(numbers.items())[:8])
        text = f"{name} is in {where}" + (f": {shown}." if shown else ".")
        if decided and decided not in numbers:
            text += (
                f" Its {decided} is empty: the step left it out before the values were adjusted, or could not test it."
            )
        elif decided and alpha is not None:
            verdict = "below" if numbers[decided] < alpha else "not below"
            text += f" Its {decided} is {verdict} the threshold {alpha:g}" + (
                ", so it counts as significant."
                if numbers[decided] < alpha
                else ", so it is not listed as significant."
            )
        values = [FindingValue(name=column, value=value) for column, value in list(numbers.items())[:8]]
        values += [FindingValue(name="threshold", value=alpha)] if alpha is not None and decided else []
        return Finding(id=id_, node="", text=text, values=values)

    def _tables(self) -> list[tuple[Artifact, NodeResult]]:
        """Return the tables of the run, those that test something first: they say why."""
        found = [
            (artifact, result)
            for result in self.results.values()
            for artifact in result.artifacts
            if is_table(artifact) and self.artifacts.has(artifact.sha256)
        ]
        return sorted(found, key=lambda item: not any(map(is_p, item[0].columns)))

    def _known(self, word: str) -> bool:
        return any(self._row(artifact, result, word) is not None for artifact, result in self._tables())

    def _row(self, artifact: Artifact, result: NodeResult, name: str) -> _Found | None:
        if artifact.sha256 not in self._read:
            named: dict[str, dict[str, str]] = {}
            for row in rows_of(self.artifacts.path(artifact.sha256)):
                for value in list(row.values())[:NAME_COLUMNS]:
                    if value and number_of(value) is None:
                        named.setdefault(value.casefold(), row)
            self._read[artifact.sha256] = named
        row = self._read[artifact.sha256].get(name.casefold())
        return _Found(artifact, result, row) if row is not None else None

    @staticmethod
    def _in_file(path: Path, name: str) -> dict[str, str] | None:
        """Return the cells of the row that begins with a name by their columns, None where a file has no such row."""
        wanted, head = name.casefold(), list[str]()
        try:
            with path.open(encoding="utf-8", errors="replace", newline="") as handle:
                for number, line in enumerate(handle):
                    if number > ROWS_READ or "\0" in line:
                        return None
                    if wanted in line.casefold() or not head:
                        cells = [cell.strip().strip('"') for cell in re.split(r"[,\t;]", line.rstrip("\r\n"))]
                        if head and wanted in (cell.casefold() for cell in cells[:NAME_COLUMNS]):
                            head = ["", *head] if len(head) < len(cells) else head  # names of rows without a heading
                            return dict(zip(head, cells, strict=False))
                        head = head or cells
        except OSError:
            return None
        return None


def _in_the_file(name: str, called: str, file: str, row: Mapping[str, str], tables: Sequence[Any]) -> dict[str, Any]:
    """Return what a file says of a row that no result has: an empty p-value is the reason where it has one."""
    also = f"{name} ({called})" if called != name else name
    out = f"{tables[0][0].name} and the other {len(tables) - 1}" if len(tables) > 1 else "the result tables"
    decided = next((c for c in row if is_adjusted(c)), "") or next((c for c in row if is_p(c)), "")
    shown, cells = _numbers(row)
    text = f"{also} is in {file}, but not in {out}: "
    if decided:
        empty = decided not in {cell.name for cell in cells}
        text += f"its {decided} is empty there, so it passes no threshold." if empty else "a step left it out."
        text += f" Its row there: {shown}." if shown else ""
        return {"text": text, "values": cells}
    text += "a step left it out before them."
    numbers, values = [], [value for cell in list(row.values())[1:] if (value := number_of(cell)) is not None]
    if values:
        numbers = [FindingValue(name="sum", value=math.fsum(values)), FindingValue(name="largest", value=max(values))]
        text += f" Its {len(values)} values there add up to {math.fsum(values):g}, the largest is {max(values):g}."
        numbers.append(FindingValue(name="values", value=len(values)))
    return {"text": text, "values": numbers}


def _numbers(row: Mapping[str, str]) -> tuple[str, list[FindingValue]]:
    """Return the numbers of a row in words and as values, by their columns."""
    found = {column: value for column, text in list(row.items())[1:] if (value := number_of(text)) is not None}
    told = ", ".join(f"{column} {value:.4g}" for column, value in found.items())
    return told, [FindingValue(name=column, value=value) for column, value in found.items()]


def _like_a_symbol(word: str) -> bool:
    return bool(
        re.fullmatch(
            r"[A-Z][A-Z0-9-]{2,}|[A-Z]+[0-9][A-Za-z0-9-]*|ENS[A-Z]*G\d+(?:\.\d+)?|[A-Z][a-z]+\d+[a-z]*\d*", word
        )
    )


def other_names(entities: Entities) -> Callable[[str], Sequence[str]]:
    """Return what finds the other names of a gene: its aliases and identifiers in the graph."""

    def names(text: str) -> Sequence[str]:
        try:
            node = entities.node(text)
        except EngineError:
            return ()
        local = [xref.partition(":")[2] for xref in node.xrefs]
        return [name for name in dict.fromkeys([node.name, *node.aliases, *local]) if name and name != text]

    return names
