"""Questions that could be asked next: wordings declared beside the analyses, with the names of these data in their places.

A wording has slots in braces (`Does {measure} differ by {group}?`); those that the data cannot fill are left out. Whether a
question plans without asking anything is found out by planning it (`Planner.suggest`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from engine.domain.plan import TaskDag, listed
from engine.domain.profile import ColumnProfile
from engine.domain.toolspec import ToolSpec
from engine.planning.followups.turn import outcomes
from engine.planning.tables.sheets import NUMBERS, Data, Sheet, is_group, is_id
from engine.toolbox.analyses import Analysis
from engine.toolbox.registry import ToolRegistry

_SLOT = re.compile(r"\{(\w+)\}")
MOST_LEVELS = 6
"""So many groups are compared at a glance."""
CURVE = 5
"""Of fewer doses no curve is fitted."""
ALONG = ("dose", "steps", "time", "moment")
"""Slots of what an outcome runs along: groups that are compared without it are compared over all of it."""
LONGEST = 40
"""Characters of a name that reads well in a question."""


class Idea(NamedTuple):
    """A question that could be asked, and the analysis that it must lead to ("" for whichever it goes on with)."""

    question: str
    analysis: str
    alone: bool = False
    """True for one of several wordings of its analysis, of which one is enough."""


def first_ideas(
    data: Data, analyses: Mapping[str, Analysis], registry: ToolRegistry, named: Collection[str] = ()
) -> Iterator[Idea]:
    """Yield questions on files nobody has asked about: the wordings of each analysis in turn, by the rank they declare.

    Columns in `named` are taken before others.
    """
    answered = {key for tool in registry if tool.runnable for key in tool.answers}
    types = {kind.value for kind in data.types()}
    able = [a for a in analyses.values() if a.suggests and a.id in answered and types & {*a.data}]
    filled = _fillings(data, named)
    for analysis in sorted(able, key=lambda a: a.rank):
        for wording in analysis.suggests:
            if (question := _filled(wording, filled)) is not None:
                yield Idea(question, analysis.id, alone=True)


def next_ideas(before: TaskDag, data: Data, analyses: Mapping[str, Analysis], registry: ToolRegistry) -> Iterator[Idea]:
    """Yield questions that go on from a plan: what its steps make something for, other rows, another measure, one held constant.

    After them come those that are offered for the files and were not asked yet, of the same columns where they can be.
    """
    specs = {node.tool: registry.get(node.tool) for node in before.nodes if node.tool in registry}
    done = {key for spec in specs.values() for key in spec.answers}
    onward = [tool for spec in specs.values() for tool in spec.produces_for if tool in registry and tool not in specs]
    for tool in dict.fromkeys(onward):
        for key in registry.get(tool).answers:
            if key not in done and key in analyses and analyses[key].asked_after:
                yield Idea(analyses[key].asked_after, key)
    named = {name for node in before.nodes for name in _names(node.params.values())}
    named |= {
        match for node in before.nodes for value in node.params.values() for match in re.findall(r"\w+", str(value))
    }
    sheet = max(data.sheets, key=lambda s: sum(c.name in named for c in s.columns), default=None)
    if sheet is not None:
        yield from _changed(before, sheet, specs, named)
    left = {key: analysis for key, analysis in analyses.items() if key not in {*done, *(c.id for c in before.analysis)}}
    yield from first_ideas(data, left, registry, named)


def _changed(before: TaskDag, sheet: Sheet, specs: Mapping[str, ToolSpec], named: Collection[str]) -> Iterator[Idea]:
    """Yield the question before with another measure, of fewer rows, with a column held constant."""
    free = [column for column in _nameable(sheet) if column.name not in named]
    explained = outcomes(before, specs)
    asked = {chosen.id for chosen in before.analysis}
    last = asked.pop() if len(asked) == 1 else ""
    groups = [c for c in free if _is_few(c)]
    others = [c for c in free if explained and c.scale in NUMBERS and _alike(c, sheet.column(explained[0]))]
    for place in range(2):
        for column in others[place : place + 1]:
            yield Idea(f"The same for {column.name} instead of {explained[0]}", last)
        for column in groups[place : place + 1]:
            level = next(iter(column.levels), "")
            if level and len(level) <= LONGEST:
                yield Idea(f"And only where {column.name} is {level}?", last)
        for column in groups[place : place + 1]:
            yield Idea(f"The same, adjusted for {column.name}", "")


def _filled(wording: str, filled: Mapping[str, str]) -> str | None:
    slots = _SLOT.findall(wording)
    if not all(filled.get(slot) for slot in slots):
        return None
    if {"measure", "group"} <= {*slots} and not {*slots} & {*ALONG} and any(filled.get(slot) for slot in ALONG):
        return None
    return _SLOT.sub(lambda match: filled[match[1]], wording)


def _fillings(data: Data, named: Collection[str]) -> dict[str, str]:
    """Return slot -> the name that fills it, of the file with the most of them."""
    found: dict[str, str] = {}
    for sheet in data.sheets:
        own = _of(sheet, named)
        if len(own) > len(found):
            found = own
    return found


def _of(sheet: Sheet, named: Collection[str]) -> dict[str, str]:
    columns, structure = sorted(_nameable(sheet), key=lambda c: c.name not in named), sheet.structure
    ends = {*structure.survival.values()}
    numbers = [c.name for c in columns if c.scale in NUMBERS and not is_group(c) and c.name not in ends]
    numbers = [n for n in numbers if n not in structure.times and n not in structure.doses] or numbers
    along = {*ends, *structure.times, *structure.doses, *(item.subject for item in structure.repeated)}
    groups = [c for c in columns if _is_few(c) and c.name not in along]
    spans = [t for t in structure.times if t not in ends] if structure.repeated else []
    # A curve takes at least so many doses; where each subject is followed, its dose is one of what it was given.
    series = [d for d in structure.doses if (c := sheet.column(d)) and c.distinct >= CURVE and not structure.times]
    slots = {
        "measure": numbers[:1], "number": numbers[:1], "other": numbers[1:2],
        "group": [c.name for c in groups[:1]], "second": [c.name for c in groups[1:2]],
        "several": ["measurements"] if len(numbers) > 3 else [],
        "two": [c.name for c in groups if c.distinct == 2][:1],
        "dose": series[:1], "steps": [] if series else structure.doses[:1],
        "time": spans[:1], "moment": [] if structure.repeated else [t for t in structure.times if t not in ends][:1],
        "event": [structure.survival["event"]] if "event" in structure.survival else [],
    }  # fmt: skip
    return {slot: names[0] for slot, names in slots.items() if names}


def _nameable(sheet: Sheet) -> list[ColumnProfile]:
    """Return the columns that can stand in a sentence: whole, measured or grouping, not mostly missing."""
    rows = sheet.profile.rows or 0
    return [
        c
        for c in sheet.columns
        if not is_id(c)
        and c.corrected != "ignore"
        and c.missing <= 0.2 * rows
        and len(c.name) <= LONGEST
        and re.fullmatch(r"[^\W\d][\w .%()/-]*", c.name)
        and c.scale not in ("identifier", "text", "date", "code")
    ]


def _is_few(column: ColumnProfile) -> bool:
    return (
        column.scale in ("category", "binary", "ordered")
        and 2 <= column.distinct <= MOST_LEVELS
        and bool(column.levels)
    )


def _alike(column: ColumnProfile, other: ColumnProfile | None) -> bool:
    return other is not None and (column.scale in NUMBERS) == (other.scale in NUMBERS) and not is_group(column)


def _names(values: Iterable[Any]) -> list[str]:
    return [str(v) for value in values for v in listed(value) if v]
