"""Which file is which input, and how well the files suit an analysis.

Two lists of genes are told apart by what is said of them: words of their names, words beside their names in the question, and
that all that were tested contain those of interest. What stays open is proposed and asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.data.catalogue import TABULAR
from engine.domain.datatypes import DataType
from engine.domain.plan import OpenQuestion
from engine.domain.toolspec import InputSpec, ToolSpec
from engine.planning.binding.bind import bind
from engine.planning.binding.bound import Bound
from engine.planning.binding.slots import SLOTS
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, Sheet, usable
from engine.text.names import name_parts
from engine.text.stems import stem
from engine.text.tokens import tokens
from engine.toolbox.analyses import Analysis

UNUSED_FILES = 0.1
"""What is left of an analysis' weight that uses none of the files that can only serve for something of their own."""
NO_COLUMN = 0.3
"""The same for each part, such as a time, that no column of the data can play."""
BY_NAME = 6.0
"""How much likelier a step is whose method the question names."""
NOT_ALL = 0.3
"""The same where the words ask of all columns and its step takes a few."""
_PLAIN = {DataType.TABLE, DataType.SAMPLE_SHEET}
_FORMS = {"table", "library", "matrix", "list", "sheet"}
_MANY = {"predictors", "covariates", "measures", "features", "columns", "factors"}
_NEAR = 45
"""So many characters beside a file's name say something of the file."""
_HELD = 0.9
"""The share of a list's values that another must have to contain it."""


def suits(analysis: Analysis, bound: Bound | None, reading: Reading, data: Data, named: set[str]) -> float:
    """Return how well files and columns suit an analysis, whatever the words: 1 is fully.

    People give the files that their question needs: an analysis that leaves a gene set file or a matrix aside is less likely
    meant than one that takes it. A plain table says nothing of the kind.
    """
    takes = {DataType(kind) for kind in analysis.data} | {port.type for port in (bound.spec.inputs if bound else [])}
    special = [s for s in data.sheets if s.profile.best and s.profile.best.type not in _PLAIN]
    left = [s for s in special if not takes & ({guess.type for guess in usable(s.profile)} - _PLAIN)]
    own = [s for s in special if s.profile.best and s.profile.best.type not in TABULAR]
    unused = (
        1.0 if any(_called(s, reading) for s in left) else (sum(s in own for s in left) / len(own)) ** 2 if own else 0.0
    )
    share = UNUSED_FILES**unused if analysis.data else 1.0
    if bound is None:
        share *= NO_COLUMN ** sum(not _played(slot, data) for slot in analysis.slots if slot in SLOTS)
    many = any(p.kind == "columns" for p in bound.spec.params) if bound else bool(_MANY & set(analysis.slots))
    if reading.every and analysis.data and not many:
        share *= NOT_ALL
    counted = [
        c
        for name in (bound.of_role("outcome", "measure", "response", "y") if bound else ())
        if (c := data.column(name)) and c.scale == "count"
    ]
    # `Adjusted for` names no model of a count.
    only_adjusts = bool(counted) and "regress" not in reading.question.lower()
    if bound is not None and bound.spec.name in named and not only_adjusts:
        share *= BY_NAME
    return share


def leaves_files(analysis: Analysis, bound: Bound | None, data: Data) -> bool:
    """Say whether an analysis takes none of the files that are no plain tables, a matrix or a gene set file."""
    takes = {DataType(kind) for kind in analysis.data} | {port.type for port in (bound.spec.inputs if bound else [])}
    own = [s for s in data.sheets if s.profile.best and s.profile.best.type not in TABULAR]
    return bool(own) and not any(takes & ({guess.type for guess in usable(s.profile)} - _PLAIN) for s in own)


def _called(sheet: Sheet, reading: Reading) -> bool:
    """Say whether the question calls a file by what it is: gene sets, a ranked list, survival."""
    assert sheet.profile.best is not None
    parts = {stem(part) for part in sheet.profile.best.type.value.split("_") if part not in _FORMS}
    named = {at for mention in reading.mentions for at in range(mention.first, mention.last + 1)}
    return parts <= {token.stem for at, token in enumerate(reading.words) if at not in named}


def methods_named(tools: Iterable[ToolSpec], question: str) -> set[str]:
    """Return the tools whose method the question names, by a term of several parts or an abbreviation."""
    tools = list(tools)
    owners: dict[str, set[str]] = {}
    lower = _unhyphened(question)
    for tool in tools:
        for name in (tool.title, *tool.keywords):
            said = _unhyphened(name)
            if (
                said in lower
                and re.search(r"[-\s]|[A-Z]{2}", name)
                and re.search(rf"(?<!\w){re.escape(said)}s?(?!\w)", lower)
            ):
                owners.setdefault(said, set()).add(tool.name)
    names = (
        {(_unhyphened(n), tool.name) for tool in tools for n in (tool.title, *tool.keywords)}
        if owners
        else set[tuple[str, str]]()
    )
    return {
        tool
        for name, own in owners.items()
        for tool in own
        if not any(name in other for other, tool in names if tool not in own)
    }


def tools_named(tools: Iterable[ToolSpec], question: str) -> list[str]:
    """Return the tools all words of whose name a question says, such as `log rank`."""
    said = {token.stem for token in tokens(question)}
    found = [(tool, {stem(part) for part in name_parts(tool.name)}) for tool in tools if tool.runnable]
    return [tool.name for tool, parts in found if parts and parts <= said]


def _unhyphened(text: str) -> str:
    return text.lower().replace("-", " ")  # `kaplan meier`, `log rank`


def _played(role: str, data: Data) -> bool:
    return any(SLOTS[role].fits(column, sheet) >= 0.3 for sheet in data.sheets for column in sheet.columns)


def comes_on_the_way(spec: ToolSpec) -> bool:
    """Say whether a step may be made for what it gives: one that needs a choice and answers nothing is planned by name only."""
    return bool(spec.answers) or not any(p.required for p in spec.params)


def reachable(data: Data, tools: Iterable[ToolSpec]) -> set[DataType]:
    """Return the types of data that the files are, or that steps can make of them."""
    found = data.types() | ({DataType.TABLE} if data.types() & TABULAR else set[DataType]())
    if any(sheet.columns for sheet in data.sheets) and len(data.sheets) > 1:
        found.add(DataType.SAMPLE_SHEET)
    able = [tool for tool in tools if tool.runnable and comes_on_the_way(tool)]
    while True:
        more = {
            out.type for tool in able if all(port.optional or port.type in found for port in tool.inputs) for out in tool.outputs
        } - {DataType.TABLE, DataType.FIGURE} - found  # fmt: skip
        if not more:
            return found
        found |= more


def on_the_way(spec: ToolSpec, reading: Reading, data: Data, tools: Iterable[ToolSpec], depth: int = 3) -> Bound | None:
    """Return the bound step before a tool that takes the columns a question names, where its own parameters take none."""
    tools = list(tools)
    for port in spec.inputs:
        if port.optional or not depth or any(sheet.serves(port.type) for sheet in data.sheets):
            continue
        for maker in tools:
            if (
                maker.runnable
                and any(out.type == port.type for out in maker.outputs)
                and all(p.type != port.type for p in maker.inputs)
            ):
                if any(p.kind == "column" and p.required for p in maker.params):
                    if all(p.optional or p.type is DataType.SAMPLE_SHEET or data.serving(p.type) for p in maker.inputs):
                        return bind(maker, reading, data)
                elif (found := on_the_way(maker, reading, data, tools, depth - 1)) is not None:
                    return found
    return None


@dataclass(slots=True)
class Assigned:
    """Files for inputs; several where a step is made for each."""

    files: dict[str, list[Sheet]] = field(default_factory=dict)
    questions: list[OpenQuestion] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


def files_for(spec: ToolSpec, reading: Reading, data: Data) -> Assigned:
    """Return the files of the inputs that take each of several, or one of several that are told apart by words."""
    found = Assigned()
    for port in spec.inputs:
        if not port.each_file:
            continue
        able = [
            s for s in data.serving(port.type) if s.profile.best and s.profile.best.type in (port.type, DataType.TABLE)
        ]
        for other in spec.inputs:
            if other.holds == port.name and other.type == port.type and len(able) > 1:
                holder = _holder(other, port, able, reading, found)
                if holder is not None:
                    found.files[other.name] = [holder]
                    able = [sheet for sheet in able if sheet is not holder]
        named = [sheet for sheet in able if _places(sheet, reading.question)]
        if named or able:
            found.files[port.name] = named or able
    return found


def _places(sheet: Sheet, question: str) -> list[tuple[int, int]]:
    """Return where a question names a file, with or without its ending."""
    stem = Path(sheet.name).stem
    spoken = r"[\s_.-]?".join(re.escape(part) for part in name_parts(stem))
    return [
        match.span()
        for match in re.finditer(rf"(?<!\w)(?:{re.escape(sheet.name)}|{spoken})(?!\w)", question, re.IGNORECASE)
    ]


def _said(port: InputSpec, sheet: Sheet, reading: Reading) -> int:
    """Return how much words say that a file is an input's: its name, and what stands beside its name in the question."""
    if not port.words:
        return 0
    pattern = re.compile("|".join(rf"\b(?:{word})" for word in port.words), re.IGNORECASE)
    score = 2 * bool(pattern.search(" ".join(name_parts(Path(sheet.name).stem))))
    spans = _places(sheet, reading.question)
    beside = " ".join(reading.question[max(0, a - _NEAR) : a] + " " + reading.question[b : b + _NEAR] for a, b in spans)
    return score + bool(pattern.search(beside))


def _holder(
    port: InputSpec, inner: InputSpec, able: Sequence[Sheet], reading: Reading, found: Assigned
) -> Sheet | None:
    """Return the file that holds the values of the others: by words first, then by its values."""
    spoken = {id(s): _said(port, s, reading) - _said(inner, s, reading) for s in able}
    larger = [s for s in able if all(s is o or _contains(s, o, port.type) for o in able)]
    asked = (
        bool(re.search("|".join(rf"\b(?:{word})" for word in port.words), reading.question, re.IGNORECASE))
        if port.words
        else False
    )
    best = max(able, key=lambda s: (spoken[id(s)], s in larger, len(_values(s, port.type))))
    rest = [s for s in able if s is not best]
    told = spoken[id(best)] > 0 and all(spoken[id(s)] < spoken[id(best)] for s in rest)
    if not told and len(larger) == 1:
        best, rest = larger[0], [s for s in able if s is not larger[0]]
    sure = told or (asked and len(larger) == 1)
    if not (sure or asked or len(larger) == 1):
        return None
    what = f"{best.name} is taken as {port.description}, {' and '.join(s.name for s in rest)} as {inner.description}"
    found.reasons.append(f"{what}.")
    if not sure or (told and best not in larger and larger):
        found.questions.append(
            OpenQuestion(
                id=port.name, text=f"Is {best.name} {port.description.split(';')[0]}?", choices=[s.name for s in able], proposed=best.name,
                why=f"{what}: the words do not settle it" + (f", and {best.name} contains the other." if best in larger else "."),
            )
        )  # fmt: skip
    return best


def _contains(larger: Sheet, smaller: Sheet, kind: DataType) -> bool:
    a, b = _values(larger, kind), _values(smaller, kind)
    return len(a) > len(b) > 0 and len(a & b) >= _HELD * len(b)


def _values(sheet: Sheet, kind: DataType) -> set[str]:
    from engine.data.catalogue import read_data

    guess = sheet.serves(kind)
    assert guess is not None
    return {str(value) for value in read_data(sheet.profile.path, kind.value, **guess.read)}
