"""Files whose times and ends only the question tells: `days until pregnant (Guesttage); 'tragend' is the event`."""

from __future__ import annotations

import re
from itertools import pairwise

from engine.data.structure.scales import HINTS
from engine.domain.datatypes import DataType
from engine.domain.profile import ColumnProfile, TypeGuess
from engine.planning.naming.mention import SURE
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, Sheet
from engine.text.names import name_parts
from engine.text.stems import stem
from engine.text.times import time_unit

_WAITED = re.compile(
    r"\b(?:time|days?|weeks?|months?|years?|hours?|longer|long|later|sooner|earlier|quicker|faster)\b[^.?!]{0,40}?"
    r"\b(?:to|until|till)\b|\bsurviv\w*|\bkaplan|\bcox\b|\blog.?rank|\bhazard|\bcensor\w*",
    re.IGNORECASE,
)
_DELAYS = re.compile(r"\b(?:delay|postpone|prolong)\w*\b", re.IGNORECASE)
_STILL = re.compile(
    rf"{_DELAYS.pattern}|\bstill (?:free|without|alive|in)\b|\bfree of\b|\bevent.free\b|"
    r"\b(?:until|till|by|within|at) (?:the )?(?:(?:day|week|month|year)s? \d|\d+ (?:day|week|month|year)s?)",
    re.IGNORECASE,
)
"""Asks when something happened, or who it has not happened to yet."""
_BESIDE = re.compile(
    r"[\s,;/&+()]*(?:\b(?:and|with|in|days?|weeks?|months?|years?|hours?|events?|status|censor\w*|indicator|the|is|its|=)\b[\s,;/&+()]*)*",
    re.IGNORECASE,
)
_STANDS_FOR_NONE = re.compile(
    r"\b(?:alive|alife|surviv\w*|cens\w*|free|healthy|well|lost|withdrawn|open|lebt|leben\w*|viv\w*|zensiert)\b"
)
_IS_TIME = re.compile(
    r"\s*(?:(?:\(|is|are|=|:)\s*)?(?:the\s+)?(?:(?:time|days?|weeks?|months?|years?|hours?)\s+)?(?:in \w+ )?(?:till|until|to)\b",
    re.IGNORECASE,
)
_CODED = re.compile(r"\s*[:(,=]?\s*(?:is\s+)?[01]\s*(?:=|:|is\b|[a-z])", re.IGNORECASE)
EXACT = 0.95
"""So sure is a column that is named as it is written."""
_IS_END = re.compile(
    r"['\")\]]*\s*(?:=|\b(?:is|was|means?|being|as)\b)\s*(?:the\s+|an\s+)?(?:event|end ?point|outcome)\b", re.IGNORECASE
)
_IS = re.compile(
    r"['\")\]]*\s*(?:=|\b(?:is|are|was|were|means?)\b|(?=\b(?:censor\w*|lost|not|still)\b))(?P<what>[^.;?!]*)",
    re.IGNORECASE,
)
_NOT_ENDED = re.compile(
    r"\b(?:censor\w*|not|never|still|alive|lost|withdrawn|withdrew|dropped|open|last (?:seen|visit|contact)|no longer)\b",
    re.IGNORECASE,
)
MOST_ENDS = 5
"""A column of more levels tells no end."""


def with_ends_told(reading: Reading, data: Data) -> Data:
    """Return the data with a time to an event where no column's name or values show one and the question tells it."""
    waits = _WAITED.search(reading.question) or _STILL.search(reading.question)
    for sheet in data.sheets:
        if sheet.structure.survival or not sheet.serves(DataType.TABLE):
            continue
        if not waits:
            exactly = {m.column for m in reading.mentions if not m.level and m.strength >= EXACT}
            pairs = _called_alike(sheet, reading)
            only = pairs.pop() if len(pairs) == 1 else ("", "", "")
            if {*only[:2]} <= exactly:
                return data.seen(sheet, _followed(sheet, *only))
            continue
        ends = [found for column in sheet.columns if (found := _end_told(column, reading))]
        clocks = _clocks(sheet, reading)
        if len(ends) == len(clocks) == 1:
            return data.seen(sheet, _followed(sheet, clocks[0], *ends[0]))
        named = {m.column for m in reading.mentions}
        if any(_STANDS_FOR_NONE.search(" ".join(name_parts(name))) for name in named):
            continue  # the 1 of `alive` or `still_free` says that nothing happened: which is the end a legend must say
        for told in (_named_together, _told_as_time, _called_alike, _only_clock):
            if len(pairs := told(sheet, reading)) == 1:
                return data.seen(sheet, _followed(sheet, *pairs.pop()))
    return data


def _named_together(sheet: Sheet, reading: Reading) -> set[tuple[str, str, str]]:
    """Return (time, event, its level) of columns that stand side by side as such: `(T3, D3 = 1 infected)`."""
    found = set[tuple[str, str, str]]()
    named = [m for m in reading.mentions if not m.level and m.strength >= EXACT]
    for one, other in pairwise(named):
        between = reading.question[reading.words[one.last].end : reading.words[other.first].start]
        clock, event = sheet.column(one.column), sheet.column(other.column)
        if clock and event and _BESIDE.fullmatch(between) and _runs(clock) and _happened(event):
            found.add((clock.name, event.name, "1"))
    return found


def _told_as_time(sheet: Sheet, reading: Reading) -> set[tuple[str, str, str]]:
    """Return those of which the question says so: `months is time till relapse, relapsed 1 = yes 0 = not yet`."""
    clocks, events = set[str](), set[str]()
    for mention in (m for m in reading.mentions if not m.level and m.strength >= SURE):
        column, end = sheet.column(mention.column), reading.words[mention.last].end
        if column and _runs(column) and _IS_TIME.match(reading.question, end):
            clocks.add(column.name)
        elif column and _happened(column) and _CODED.match(reading.question, end):
            events.add(column.name)
    return {(clocks.pop(), events.pop(), "1")} if len(clocks) == len(events) == 1 else set()


def _called_alike(sheet: Sheet, reading: Reading) -> set[tuple[str, str, str]]:
    """Return those of which one is called as when the other happened, and of several those that are named: `infection_day`."""
    found = set[tuple[str, str, str]]()
    named = {m.column for m in reading.mentions}
    for event in filter(_happened, sheet.columns):
        own = [stem(part) for part in name_parts(event.name)]
        for clock in filter(_runs, sheet.columns):
            parts = [part for part in name_parts(clock.name) if not (time_unit(part) or part in ("time", "d", "t"))]
            called = len(parts) < len(name_parts(clock.name)) and [stem(part) for part in parts] == own
            if called and named & {event.name, clock.name}:
                found.add((clock.name, event.name, "1"))
    return found


def _only_clock(sheet: Sheet, reading: Reading) -> set[tuple[str, str, str]]:
    """Return the only column of times with the only named thing that happened, which no group is called: `does it delay blindness`."""
    clocks = [c for c in sheet.columns if _runs(c) and (c.role("time") >= SURE or time_unit(c.name.lower()))]
    named = {m.column for m in reading.mentions}
    ends = [
        c.name for c in sheet.columns if _happened(c) and c.name in named and not {*name_parts(c.name)} & HINTS["group"]
        and not reading.is_a(c.name, "cause", "by")
    ]  # fmt: skip
    if delays := _DELAYS.search(reading.question):  # `does flushing delay deafness`
        late = {m.column for m in reading.mentions if reading.words[m.first].start > delays.start()}
        ends = [name for name in ends if name in late]
    if len(clocks) != 1 or len(ends) != 1:
        return set()
    visits = clocks[0].name in sheet.structure.times and _VISITS * clocks[0].distinct < (sheet.profile.rows or 0)
    return set[tuple[str, str, str]]() if visits else {(clocks[0].name, ends[0], "1")}


_VISITS = 3
"""Times that so many rows share on the average are visits, and no lengths of follow-up."""


def _happened(column: ColumnProfile) -> bool:
    """Say whether a column says of each row whether something happened, in 1 and 0: which of 1 and 2 does only a legend says."""
    return column.distinct == 2 and {*column.levels} == {"0", "1"}


def _runs(column: ColumnProfile) -> bool:
    return column.kind in ("integer", "number") and (column.minimum or 0) >= 0 and column.distinct > MOST_ENDS


def _end_told(column: ColumnProfile, reading: Reading) -> tuple[str, str] | None:
    """Return a column and its level of which the question says that it came to an end there, the others not."""
    if not 2 <= len(column.levels) <= MOST_ENDS or column.kind in ("number", "date"):
        return None
    told: dict[str, str] = {}
    mine = [m for m in reading.mentions if m.column == column.name and m.level]
    if not mine:
        return None
    ends = [*(reading.words[m.first].start for m in mine[1:]), len(reading.question)]
    for mention, end in zip(mine, ends, strict=True):
        after = reading.question[reading.words[mention.last].end : end]
        if _IS_END.match(after):
            return column.name, mention.level
        if said := _IS.match(after):
            told[mention.level] = said["what"]
    for one, other in pairwise(reversed(mine)):  # `open and gone were not`: what is said of the last holds of both
        between = reading.question[reading.words[other.last].end : reading.words[one.first].start]
        if one.level in told and re.fullmatch(r"['\")\]]*\s*(?:,|and|or|/|&)\s*['\"(\[]*", between):
            told.setdefault(other.level, told[one.level])
    waiting = {level for level, what in told.items() if _NOT_ENDED.search(what)}
    came = [level for level in told if level not in waiting]
    return (column.name, came[0]) if len(came) == 1 and waiting else None


def _clocks(sheet: Sheet, reading: Reading) -> list[str]:
    """Return the numbers from 0 on that are named behind words of waiting, in the same sentence."""
    found: list[str] = []
    for match in _WAITED.finditer(reading.question):
        stop = re.compile(r"[.?!](?:\s|$)").search(reading.question, match.end())
        end = stop.start() if stop else len(reading.question)
        for mention in reading.mentions:
            column = sheet.column(mention.column)
            inside = match.end() <= reading.words[mention.first].start < end
            if column is None or mention.level or not inside or mention.strength < SURE:
                continue
            if _runs(column):
                found.append(column.name)
    cut = {r.column for r in reading.restrictions}
    held = {name for name, parts in reading.parts.items() if "adjust" in parts}
    return [name for name in dict.fromkeys(found) if name not in cut | held]


def _followed(sheet: Sheet, clock: str, event: str, level: str) -> Sheet:
    guess = TypeGuess(type=DataType.SURVIVAL_TABLE, confidence=0.9, read=sheet.profile.types[0].read)
    ends = {"time": clock, "event": event, "event_value": level}
    structure = sheet.structure.model_copy(update={"survival": ends})
    told = f"{sheet.name}: {clock!r} is the time until {event!r} is {level!r}, as question and names tell; others are censored."
    profile = sheet.profile
    update = {"types": [guess, *profile.types], "structure": structure, "warnings": [*profile.warnings, told]}
    return Sheet(profile.model_copy(update=update), sheet.made)
