"""One step for each level of a column: `separately for men and women`, `within each site`, `split by sex`.

Only where the analysis has no part of its own for the column: a table of means by group is one step.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from engine.planning.binding.bound import Bound
from engine.planning.choosing.score import Candidate
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading, Restriction
from engine.planning.tables.sheets import Data, is_group

MOST = 8
"""A column of more levels is no list of steps that a person would read."""
FEWEST = 3
"""A level of fewer rows is left out."""
OWN = frozenset({"group", "group_optional", "split", "category", "within_each", "stratum", "strata", "cluster"})
"""Roles of columns by whose levels a step itself gives its results."""
_RELATED = tuple("predictors factors x exposure covariates measure_a wide condition rating_a test".split())
_BEFORE = re.compile(
    r"(?:\b(?:for|in|with|by|per|across|of)?\s*(?:each|every)\s+(?:level |value |kind |type )?(?:of )?(?:the )?|"
    r"\bsplit\w*\s+(?:(?:it|this|that|them|up)\s+)*(?:by|on|into)\s+(?:the )?|"
    r"\b(?:separate|subgroup|stratified) analys[ei]s\s+(?:for|by|of|in|per)\s+(?:the )?|"
    r"\b(?:separate?\w*|individually|apart)\s+(?:(?:for|in|by|within|among|per|of)\s+)?(?:each |every |the |both )?)$",
    re.IGNORECASE,
)
_WHICH = re.compile(r"\b(?:which|what)\s+(?:of\s+the\s+)?$", re.IGNORECASE)
_CHANGED = re.compile(
    r"^\s+(?:have\s+|has\s+|are\s+|is\s+|did\s+)?(?:declin|decreas|increas|ris|rose|fall|fell|grow|grew|grown|gain|los[et]|shrink|shrank|"
    r"shrunk|drop|expand|recover|worsen|improv|chang)\w*",
    re.IGNORECASE,
)
"""`which species declined`: each of them is asked how it changed along the time."""
_LIE_APART = re.compile(
    r"\b(?:do|does|did|will|would|whether|if|how)\s+(?!(?:you|we|i|it|this|that)\b)[^,;.?!]{2,60}?\bseparate\s+(?:by|in|within|among|for)\b"
    r"[^,;.?!]*$",
    re.IGNORECASE,
)
"""`do the fish separate by pond`: they are asked to lie apart, nobody is to take them apart."""
_WHETHER = re.compile(r"\b(?:whether|if|do|does|did|how well)\s+[^,;.?!]{0,60}$", re.IGNORECASE)
"""`see whether the positions separate there`"""
_TELL = re.compile(r"\b(?:tell|tells|telling|told|know|distinguish)\s+[^.?!;]{0,80}$", re.IGNORECASE)
"""`tell bobcat and coyote apart`"""
_AFTER = re.compile(
    r"^\s*(?:groups?|levels?)?[\s,(]*(?:separate?\w*|individually|apart|on their own)\b(?!\s+(?:for|in|by|within|among|per|of|each|every)\b)",
    re.IGNORECASE,
)
_AT_EACH = re.compile(
    r"\b(?:differ\w*|compar\w+|gap|effect)\b[^.?!:;]{0,60}?\b(?:already |both )?at\s+(?:the\s+)?(?:ages?|days?|weeks?|months?|visits?|years?|hours?|times?)?\s*$",
    re.IGNORECASE,
)
"""`the sex difference at 8 and at 14`: what is compared is asked of each of these times."""
_LISTED = re.compile(
    r"\s*(?:,|and|&|or|versus|vs\.?|,\s*and)\s*(?:the\s+|in\s+|for\s+|at\s+(?:(?:age|day|week|month|visit|year|hour|time)s?\s+)?)?",
    re.IGNORECASE,
)


class Each(NamedTuple):
    """The column by whose levels rows are taken apart."""

    column: str
    levels: tuple[str, ...]
    mentions: tuple[ColumnMention, ...]
    surely: bool
    """True where it is said outright (`separately`, `split by`), not only by `each`."""


def each_level(reading: Reading, data: Data) -> Each | None:
    """Return the column for each level of which the question is asked, None where it is asked once."""
    for stretch in _stretches(reading):
        first, last = reading.words[stretch[0].first], reading.words[stretch[-1].last]
        column = data.column(stretch[0].column)
        before = reading.question[: first.start]
        told = _BEFORE.search(before) or _AFTER.match(reading.question[last.end :]) or _which_changed(
            reading, data, before, reading.question[last.end :]) or _at_each(reading, data, stretch, before)  # fmt: skip
        if (
            not told
            or (told.re is _BEFORE and _LIE_APART.search(before))
            or (told.re is _AFTER and "separate" in told[0].split() and _WHETHER.search(before))
            or (told.re is _AFTER and "apart" in told[0].split() and _TELL.search(before))
            or column is None
            or not is_group(column)
            or not 2 <= len(column.levels) <= MOST
        ):
            continue
        levels = [level for level, rows in column.levels.items() if rows >= FEWEST]
        named = [m.level for m in stretch if m.level]
        if len(levels) > 1 and (not named or {*named} == {*levels} or len({*named}) > 1):
            kept = tuple(level for level in levels if not named or level in named)
            surely = (
                told.re in (_AFTER, _CHANGED, _AT_EACH)
                or re.search(r"separat|split|individual|apart|analys", told.group()) is not None
            )
            return Each(column.name, kept, tuple(stretch), surely)
    return None


def _at_each(reading: Reading, data: Data, stretch: list[ColumnMention], before: str) -> re.Match[str] | None:
    """Return the words where a difference of other groups is asked of two or more times that are named."""
    times = {name for sheet in data.sheets for item in sheet.structure.repeated for name in item.within[:1]}
    groups = [c for name in reading.named() if name not in times and (c := data.column(name)) and is_group(c)]
    several = len({m.level for m in stretch if m.level}) > 1 and stretch[0].column in times
    return _AT_EACH.search(before) if several and groups else None


def _which_changed(reading: Reading, data: Data, before: str, after: str) -> re.Match[str] | None:
    """Return the verb where it is asked which levels changed, and the data have a time along which they may have."""
    times = any(sheet.structure.times for sheet in data.sheets)
    return _CHANGED.match(after) if times and _WHICH.search(before) else None


def _stretches(reading: Reading) -> list[list[ColumnMention]]:
    """Return the mentions, each with what is listed after it of the same column: `men and women`."""
    found: list[list[ColumnMention]] = []
    for mention in reading.mentions:
        before = found[-1][-1] if found else None
        if before is not None and before.level and not mention.level and mention.column == before.column:
            continue  # `at age 8 and at age 14`
        if before is not None and before.level and mention.level and before.column == mention.column:
            between = reading.question[reading.words[before.last].end : reading.words[mention.first].start]
            if _LISTED.fullmatch(between):
                found[-1].append(mention)
                continue
        found.append([mention])
    return found


def without(reading: Reading, each: Each, data: Data) -> Reading:
    """Return the question read as if it did not name the column: what is asked of the rows of each level."""
    rest = [mention for mention in reading.mentions if mention.column != each.column]
    inner = reread(reading, rest, data)
    for mention in each.mentions:
        inner.mark(mention.first, mention.last, "column", each.column)
    return inner


def of_one_level(reading: Reading, each: Each, data: Data) -> Reading:
    """Return what is asked as of the rows of the first level where the column is the occasion: of one, each subject has one row."""
    occasions = {name for sheet in data.sheets for item in sheet.structure.repeated for name in item.within[:1]}
    if each.column not in occasions:
        return reading
    first, last = each.mentions[0].first, each.mentions[-1].last
    row = Restriction(each.column, "in", each.levels[:1], first, last, sure=True)
    return replace(reading, restrictions=[*reading.restrictions, row])


def relates(bound: Bound | None) -> bool:
    """Say whether a step relates something to groups or to other columns, so that it can be asked of each level."""
    return bound is not None and bool(bound.of_role(*OWN, *_RELATED))


def holds(bound: Bound | None, column: str) -> bool:
    """Say whether a step itself gives its results by the levels of a column."""
    return bound is not None and column in bound.of_role(*OWN)


def apart(goal: Candidate, each: Each) -> list[Candidate]:
    """Return the goal once for each level, with its rows only."""
    bound = goal.bound
    if bound is None:
        return [goal]
    first, last = each.mentions[0].first, each.mentions[-1].last
    found: list[Candidate] = []
    for level in each.levels:
        row = Restriction(each.column, "in", (level,), first, last, sure=True)
        reasons = [*bound.reasons, f"One step for each level of {each.column!r}, as the question asks."]
        part = replace(
            bound, params=dict(bound.params), rows=[*(r for r in bound.rows if r.column != each.column), row], reasons=reasons, missing=list(bound.missing),
            questions=list(bound.questions), told=f"{each.column} = {level}",
        )  # fmt: skip
        found.append(replace(goal, bound=part))
    return found
