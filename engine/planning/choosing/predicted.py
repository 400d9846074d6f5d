"""What is to be expected at values that the question names: `how many eggs would you predict for a moth of 2 g`.

The columns whose values are told explain the one that is asked for; their values keep no rows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from engine.data.structure.scales import HINTS
from engine.planning.choosing.goals import CLEAR
from engine.planning.choosing.score import Candidate
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, Sheet, is_id, is_number
from engine.text.names import name_parts
from engine.text.times import time_unit

_PREDICTS = re.compile(
    r"\b(?:predict(?:s|ed)?(?! well)|(?<!\bI )(?<!\bwe )(?<!as )expect(?:ed)?|forecast|estimated? (?:for|at|in)|chances?|probability|likelihood)\b",
    re.IGNORECASE,
)
_OF = re.compile(r"\s*(?:(?:\(|[=:]|\b(?:is|was|of|at|being|about|around|equal to|equals)\b)\s*)*", re.IGNORECASE)
_OTHERWISE = re.compile(
    r"\b(?:only|alone|among|amongst|excluding|except|without|(?<!does )(?<!do )(?<!did )not|above|over|under|below|older|younger|"
    r"(?:more|less|fewer) than|at least|at most|higher|lower|versus|vs\.?)\b",
    re.IGNORECASE,
)
"""Here rows are kept, left out or compared, and no single value is meant."""
_WHOSE = re.compile(r"\b(?:of|for|in|with)\s+an?\s+$", re.IGNORECASE)
_CHANCE_OF = re.compile(
    r"\b(?:chances?|probability|likelihood|risk|odds)\s+(?:of|for|that)\s+(?:(?:an?|the|her|his)\s+)?$", re.IGNORECASE
)
_UNTIL = re.compile(r"\b(?:by|within|until|after|at)\s+(?:the\s+)?\d[\d.]*[\s-]*(?P<unit>[A-Za-z]+)", re.IGNORECASE)
_BEFORE = re.compile(r"\s*(?:%|[A-Za-z]{1,8}\s+)?\s*(?:of\s+)?", re.IGNORECASE)
"""What may stand between a number and the name behind it: `60 % humidity`."""


def with_values_told(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return the question as one for what a model expects at values, None where it names none or several outcomes."""
    cut = any(row.op != "in" for row in reading.restrictions)
    asks = _PREDICTS.search(reading.question) and not (cut or _OTHERWISE.search(reading.question))
    sheet = data.home(reading.named()) if asks else None
    if sheet is None or _of_a_follow_up(reading, sheet) or not (told := _numbers_told(reading, sheet)):
        return None
    levels = _levels_told(reading, told)
    before = {m: reading.question[: reading.words[m.first].start] for m in reading.mentions}
    sought = {m.column for m, text in before.items() if _CHANCE_OF.search(text)}
    whose = {m.column for m, text in before.items() if _WHOSE.search(text)} - sought
    able = [n for n in reading.named() if n not in {*told, *levels, *whose} and _outcome(sheet, n)]
    asked = [name for name in able if name in sought] or [
        name for name in able if "outcome" in reading.parts.get(name, ())
    ]
    if len(able) != 1 and len(asked) != 1:
        return None
    outcome = asked[0] if len(asked) == 1 else able[0]
    mentions = [m._replace(level="") if m.column in {*told, *levels} else m for m in reading.mentions]
    mentions += [ColumnMention(n, "", at, at, 0.9) for n, (_, (at, *_)) in told.items() if n not in reading.named()]
    own = reread(reading, mentions, data)
    own.at = {name: values for name, (values, _) in told.items()} | {name: [level] for name, level in levels.items()}
    own.restrictions = [row for row in own.restrictions if row.column not in own.at]
    own.contrasts = [contrast for contrast in own.contrasts if contrast.column not in own.at]
    own.parts |= {name: {"cause"} for name in own.named() if name != outcome}
    own.parts[outcome] = {"outcome"}
    for at in (at for _, places in told.values() for at in places):
        own.mark(at, at, "number", "a value at which something is expected")
    return own, data


def expects(reading: Reading, every: Sequence[Candidate]) -> str:
    """Return the analysis that says what is expected at the values told, "" where none are or another is clearly heard."""
    able = [c for c in every if reading.at and c.bound is not None and not c.bound.missing and _takes_values(c)]
    heard = max(every, key=lambda c: c.wording, default=None)
    if not able or heard is None:
        return ""
    apart = (
        heard.wording >= CLEAR and heard not in able and not {c.analysis.id for c in able} & {*heard.analysis.instead}
    )
    return "" if apart else max(able, key=lambda c: c.probability).analysis.id


def _takes_values(one: Candidate) -> bool:
    return one.bound is not None and any(param.role == "values_told" for param in one.bound.spec.params)


def _of_a_follow_up(reading: Reading, sheet: Sheet) -> bool:
    """Say whether a chance until some time is asked of what is watched: that is read from a survival curve."""
    timed = (time_unit(match["unit"].lower()) for match in _UNTIL.finditer(reading.question))
    return bool(sheet.structure.survival) and any(timed)


def _outcome(sheet: Sheet, name: str) -> bool:
    column = sheet.column(name)
    if column is None or {*name_parts(name)} & HINTS["group"]:
        return False
    return (is_number(column) or column.distinct == 2) and not is_id(column)


def _numbers_told(reading: Reading, sheet: Sheet) -> dict[str, tuple[list[str], list[int]]]:
    """Return number column -> (values, their tokens) for each of which they stand beside its name, or with its unit of time."""
    found: dict[str, tuple[list[str], list[int]]] = {}
    for at, word in enumerate(reading.words):
        names = {part for m in reading.mentions if m.first <= at <= m.last for part in name_parts(m.column)}
        if word.number is None or word.text in names:
            continue
        names = [m.column for m in reading.mentions if _beside(m, at, reading) and _told_of(sheet, m.column)]
        unit = time_unit(reading.words[at + 1].text) if at + 1 < len(reading.words) else ""
        timed = [c.name for c in sheet.columns if unit and _in_time(c.name, unit) and _told_of(sheet, c.name)]
        name = (names or (timed if len(timed) == 1 else [""]))[0]
        if name:
            values, places = found.setdefault(name, ([], []))
            values.append(f"{word.number:.12g}")
            places.append(at)
    return found


def _told_of(sheet: Sheet, name: str) -> bool:
    column = sheet.column(name)
    watched = name in sheet.structure.survival.values()
    return column is not None and is_number(column) and not is_id(column) and not watched


def _beside(mention: ColumnMention, at: int, reading: Reading) -> bool:
    """Say whether a number is said of a column: in its words, behind them or right before them."""
    start, end, word = reading.words[mention.first].start, reading.words[mention.last].end, reading.words[at]
    if mention.first <= at <= mention.last:
        return True
    if word.start >= end:
        return _OF.fullmatch(reading.question[end : word.start]) is not None
    return _BEFORE.fullmatch(reading.question[word.end : start]) is not None


def _in_time(name: str, unit: str) -> bool:
    parts = name_parts(name)
    return any(time_unit(part) == unit for part in parts) or (unit == "year" and "age" in parts)


def _levels_told(reading: Reading, told: Collection[str]) -> dict[str, str]:
    """Return group -> the only level of it that the question names."""
    levels: dict[str, set[str]] = {}
    for m in reading.mentions:
        if m.level and m.column not in told:
            levels.setdefault(m.column, set()).add(m.level)
    return {name: own.pop() for name, own in levels.items() if len(own) == 1}
