"""Questions that could be asked next: wordings declared beside the analyses, with the names of these data in their places.

A wording has slots in braces (`Does {measure} differ by {group}?`); those that the data cannot fill are left out. Whether a
question plans without asking anything is found out by planning it (`Planner.suggest`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from engine.domain.plan import TaskDag, listed
from engine.domain.profile import ColumnProfile
from engine.domain.toolspec import ToolSpec
from engine.planning.followups.turn import EXPLAINS, answering, columns_of, outcomes
from engine.planning.tables.as_tools import likely_control
from engine.planning.tables.sheets import EVERY_ROW, NUMBERS, Data, Sheet, is_group, is_id, was_given
from engine.planning.telling.groups import COMPARED
from engine.toolbox.analyses import Analysis
from engine.toolbox.registry import ToolRegistry

_SLOT = re.compile(r"\{(\w+)\}")
MOST_LEVELS = 6
"""So many groups are compared at a glance."""
CURVE = 5
"""Of fewer doses no curve is fitted."""
ALONG = ("dose", "steps", "time")
"""Slots of what an outcome runs along: groups that are compared without it are compared over all of it."""
OTHERS = 2
"""So many more times the wordings are filled, each time with the columns that come next."""
SURE = 0.5
"""From this confidence on a column is what it could be."""
GIVEN = 5
"""Numbers that are given to rows leave out at most so many for each that is there."""
LITTLE = 5
"""From this rank on a question describes what there is, after all others and of one column only."""
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

    Columns in `named` are taken before others. Where that is not enough, the same is asked of other columns.
    """
    answered = {key for tool in registry if tool.runnable for key in tool.answers}
    types = {kind.value for kind in data.types()}
    able = [a for a in analyses.values() if a.suggests and a.id in answered and types & {*a.data}]
    told: set[tuple[str, str]] = set()
    able.sort(key=lambda a: a.rank)
    fillings = [_fillings(data, named, skipped=again) for again in range(1 + OTHERS)]
    asking, showing = ([a for a in able if (a.rank >= LITTLE) is little] for little in (False, True))
    for filled, some in (*((filled, asking) for filled in fillings), (fillings[0], showing)):
        for key, wording in ((analysis.id, wording) for analysis in some for wording in analysis.suggests):
            question = _filled(wording, filled)
            if question is not None and (key, question) not in told:
                told.add((key, question))
                yield Idea(question, key, alone=filled is fillings[0])


def next_ideas(before: TaskDag, data: Data, analyses: Mapping[str, Analysis], registry: ToolRegistry) -> Iterator[Idea]:
    """Yield questions that go on from a plan: what its steps make something for, other rows, another measure, one held constant.

    After them come those that are offered for the files and were not asked yet, of the same columns where they can be,
    then what was asked, of others.
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
        match
        for node in before.nodes
        for value in node.params.values()
        for match in [*re.findall(r"\w+", str(value)), *re.findall(r"`([^`]+)`", str(value))]
    }
    sheet = max(data.sheets, key=lambda s: sum(c.name in named for c in s.columns), default=None)
    if sheet is not None:
        yield from _changed(before, sheet, specs, named)
    done |= {chosen.id for chosen in before.analysis}
    left = {key: analysis for key, analysis in analyses.items() if key not in done}
    fresh = {column.name for sheet in data.sheets for column in sheet.columns} - named
    ideas = [*first_ideas(data, left, registry, named)]
    yield from (idea for idea in ideas if analyses[idea.analysis].rank < LITTLE)
    for idea in first_ideas(data, {key: analyses[key] for key in done if key in analyses}, registry, fresh):
        if analyses[idea.analysis].rank < LITTLE:  # the same of columns that have had no part yet
            yield idea._replace(alone=False)
    yield from (idea for idea in ideas if analyses[idea.analysis].rank >= LITTLE)


def done_again(plan: TaskDag, before: TaskDag) -> bool:
    """Say whether a plan does nothing that the one before did not: the same steps of the same columns and rows."""
    done, fresh = ({(node.tool, *sorted(_names(_said(node.params)))) for node in dag.nodes} for dag in (before, plan))
    named, own = ({name for _, *names in steps for name in names} for steps in (done, fresh))
    kept = any("condition" in node.params for node in plan.nodes)
    same = [chosen.id for chosen in plan.analysis] == [chosen.id for chosen in before.analysis]
    return fresh <= done or (same and own <= named and not kept)


def _said(params: Mapping[str, Any]) -> list[Any]:
    return [value for name, value in params.items() if name != "term"]  # an ED50 is an EC50


def _changed(before: TaskDag, sheet: Sheet, specs: Mapping[str, ToolSpec], named: Collection[str]) -> Iterator[Idea]:
    """Yield the question before with another measure, of fewer rows, with a column held constant."""
    free = [column for column in _nameable(sheet) if column.name not in named]
    explained = outcomes(before, specs)
    asked = {chosen.id for chosen in before.analysis}
    last = asked.pop() if len(asked) == 1 else ""
    free.sort(key=lambda c: _rank(c, sheet, ()))
    groups = [c for c in free if _is_few(c)]
    compared = columns_of((*COMPARED, *EXPLAINS), answering(before, specs), specs)
    others = [c for c in free if explained and c.scale in NUMBERS and _alike(c, sheet.column(explained[0]))]
    for place in range(2):
        for column in others[place : place + 1]:
            yield Idea(f"The same for {column.name} instead of {explained[0]}", last)
        for column in groups[place : place + 1]:
            level = next(iter(column.levels), "")
            if level and len(level) <= LONGEST:
                yield Idea(f"And only where {column.name} is {level}?", last)
        for column in groups[place : place + 1] if compared else ():  # a list of rows is adjusted for nothing
            yield Idea(f"The same, adjusted for {column.name}", "")


def _filled(wording: str, filled: Mapping[str, str]) -> str | None:
    slots = _SLOT.findall(wording)
    if not all(filled.get(slot) for slot in slots):
        return None
    if {"measure", "group"} <= {*slots} and not {*slots} & {*ALONG} and any(filled.get(slot) for slot in ALONG):
        return None
    return _SLOT.sub(lambda match: filled[match[1]], wording)


def _fillings(data: Data, named: Collection[str], *, skipped: int = 0) -> dict[str, str]:
    """Return slot -> the name that fills it, of the file with the most of them; the first so many measures and groups not."""
    found: dict[str, str] = {}
    for sheet in data.sheets:
        own = _of(sheet, named, skipped)
        if len(own) > len(found):
            found = own
    return found


def _of(sheet: Sheet, named: Collection[str], skipped: int) -> dict[str, str]:
    structure = sheet.structure
    columns = sorted(_nameable(sheet), key=lambda c: _rank(c, sheet, named))
    ends = {*structure.survival.values()}
    numbers = [c.name for c in columns if c.scale in NUMBERS and not is_group(c) and c.name not in ends]
    numbers = [n for n in numbers if n not in structure.times and n not in structure.doses] or numbers
    fixed = {name for item in structure.repeated for name in item.between}
    numbers = [n for n in numbers if n not in fixed] or (
        [] if structure.times else numbers
    )  # an age runs along no visits
    along = {*ends, *structure.times, *structure.doses, *(item.subject for item in structure.repeated)}
    groups = [c for c in columns if _is_few(c) and c.name not in along]
    before, after = next(_pairs(numbers, structure.same_quantity), ("", ""))
    twins = [pair for pair in structure.same_quantity if {*pair} <= {*numbers} and _two_ways(*pair)]
    part, total = next(iter(structure.part_of.items()), ("", ""))
    first, twin = twins[0] if len(twins) == 1 else ("", "")
    numbers, groups = numbers[skipped:], groups[skipped:]
    # With something that happens in it, a time that is no visit is when it happened.
    if not ends and any(c.role("event") > SURE for c in sheet.columns):
        ends = {t for t in structure.times if (c := sheet.column(t)) and c.scale in NUMBERS}
    spans = [t for t in structure.times if t not in ends] if structure.repeated else []
    # A curve takes at least so many doses; where each subject is followed, its dose is one of what it was given.
    series = [d for d in structure.doses if (c := sheet.column(d)) and c.distinct >= CURVE and not structure.times]
    # How often treatments and replicates come together was laid out by whoever planned it.
    laid_out = bool(series) or all(len({*c.levels.values()}) == 1 for c in groups[:2])
    slots = {
        "measure": numbers[:1], "number": numbers[:1], "other": numbers[1:2],
        "group": [c.name for c in groups[:1]], "second": [] if laid_out else [c.name for c in groups[1:2]],
        "several": ["measurements"] if len(numbers) > 3 else [],
        "two": [c.name for c in groups if c.distinct == 2][:1],
        "dose": series[:1], "steps": [] if series else structure.doses[:1],
        "time": spans[:1], "moment": [] if structure.repeated else [t for t in structure.times if t not in ends][:1],
        "event": [structure.survival["event"]] if "event" in structure.survival else [],
        "before": [before], "after": [after], "first": [first], "twin": [twin],
        "part": [part], "total": [total],
    }  # fmt: skip
    return {slot: names[0] for slot, names in slots.items() if any(names[:1])}


_SIDE = frozenset("left right l r before after pre post start end first last min max low high".split())


def _two_ways(one: str, other: str) -> bool:
    """Say whether two columns look like one quantity measured in two ways, by their names: two readers, two devices, no two sides."""
    parts = [set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())) for name in (one, other)]
    sides = any(part in _SIDE or part.startswith(("left", "right")) for part in parts[0] ^ parts[1])
    return bool(parts[0] & parts[1]) and not sides


def _rank(column: ColumnProfile, sheet: Sheet, named: Collection[str]) -> tuple[bool, bool, bool, float]:
    """Return what columns are put in order by: those first that were named, that are studied, that have a control."""
    fixed = any(column.name in item.between for item in sheet.structure.repeated)
    aside = max(column.role("covariate"), column.role("batch"), column.role("pair")) >= SURE
    if not _is_few(column):
        return column.name not in named, _numbers_rows(column, sheet) or fixed, aside, 0.0
    # Yes and no have a `no`, which is no control: what was given goes before what somebody has.
    control = (likely_control(list(column.levels)) is not None and column.scale != "binary") or was_given(column)
    return (
        column.name not in named,
        aside,
        bool(sheet.structure.repeated) and not fixed,
        -2 * control - column.role("group"),
    )


def _numbers_rows(column: ColumnProfile, sheet: Sheet) -> bool:
    """Say whether whole numbers look given and not measured: all of them different, and close together."""
    low, high = column.minimum, column.maximum
    every = column.kind == "integer" and column.distinct >= EVERY_ROW * (sheet.profile.rows or 1)
    return every and low is not None and high is not None and high - low <= GIVEN * column.distinct


def _pairs(numbers: Collection[str], same: Collection[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield pairs of measures of the same under two conditions, by their names, the control first: `il6_rest`, `il6_lps`."""
    parts = {name: re.findall(r"[^\W_]+", name) for name in numbers}
    for one, two in combinations(numbers, 2):
        apart = [(a, b) for a, b in zip(parts[one], parts[two], strict=False) if a != b]
        if len(parts[one]) == len(parts[two]) > 1 and len(apart) == 1 and {one, two} not in [{*pair} for pair in same]:
            ((a, b),) = apart
            if not re.search(r"\d$", a) and sum(len(p) == len(parts[one]) for p in parts.values()) < 2 * len(
                parts[one]
            ):
                yield (two, one) if likely_control([a, b]) == b else (one, two)


def _nameable(sheet: Sheet) -> list[ColumnProfile]:
    """Return the columns that can stand in a sentence: whole, measured or grouping, not mostly missing."""
    rows = sheet.profile.rows or 0
    return [
        c
        for c in sheet.columns
        if not is_id(c)
        and c.corrected != "ignore"
        and c.distinct > 1
        and c.missing <= 0.2 * rows
        and len(c.name) <= LONGEST
        and re.fullmatch(r"[^\W\d][\w .%()/-]*", c.name)
        and c.name.lower() not in _OF_A_MEAN
        and (c.scale not in ("identifier", "text", "date", "code") or _is_few(c))
    ]


_OF_A_MEAN = frozenset("n sd se sem std stdev stderr ci".split())
"""Columns of a table of means that say how sure these are."""


def _is_few(column: ColumnProfile) -> bool:
    return (
        (column.scale in ("category", "binary", "ordered") or (column.scale == "code" and column.role("group") > SURE))
        and 2 <= column.distinct <= MOST_LEVELS
        and bool(column.levels)
    )


def _alike(column: ColumnProfile, other: ColumnProfile | None) -> bool:
    return other is not None and (column.scale in NUMBERS) == (other.scale in NUMBERS) and not is_group(column)


def _names(values: Iterable[Any]) -> list[str]:
    return [str(v) for value in values for v in listed(value) if v]
