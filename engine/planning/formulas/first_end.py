"""Which of two ends came first, where each has a column of its own: `the risk of relapse, allowing for death from other causes`.

Competing risks need one column that says how the follow-up of each row ended. A step makes it of the two.
"""

from __future__ import annotations

import re
from dataclasses import replace

from engine.data.structure.scales import two_states
from engine.domain.profile import ColumnProfile
from engine.planning.binding.slots import slot_of
from engine.planning.formulas.views import view
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, Made, Sheet
from engine.text.names import name_parts

COMPETE = re.compile(
    r"\bcompet\w+|\b(?:allowing|accounting|account) for (?:\w+ ){0,2}(?:death|dying|mortality|deaths)\b|"
    r"\b(?:death|dying|deaths|died|mortality) (?:from|of|by) other causes?\b|\bother causes of death\b|\bcumulative incidence\b",
    re.IGNORECASE,
)

_RIVALS = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (
        r"\b(?:allowing|accounting|account|adjust\w*|correct\w*) for (?:\w+ ){0,3}\w+",
        r"\b\w+ (?:from|of|by) other causes?\b",
        r"\bcompet\w+(?:[\s:=(,-]+(?:risks?|events?))?[\s:=(,-]+(?:(?:of|from|with|by|being|is|are) )?(?:\w+ )?\w+",
        r"\b\w+ (?:(?:as|is|being) )?(?:an? |the )?compet\w+",
        r"\bbefore (?:\w+ )?\w+",
    )
)
"""What names an end that keeps the other from being seen, and is not asked about itself."""


def with_first_end(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data with one column of how follow-up ended, or None where the question asks for none."""
    if not COMPETE.search(reading.question):
        return None
    for sheet in data.sheets:
        usual = sheet.column(sheet.structure.survival.get("event", ""))
        own = [c for name in reading.named() if (c := sheet.column(name)) and c is not usual and _is_end(c, sheet)]
        if usual is None or not _is_end(usual, sheet) or len(own) != 1:
            continue
        if _wanted(own[0], reading) >= _wanted(usual, reading):
            return _seen(reading, data, sheet, own[0], usual)
        return _seen(reading, data, sheet, usual, own[0])
    return None


def _wanted(column: ColumnProfile, reading: Reading) -> tuple[bool, int]:
    """Return how surely an end is the one asked about: named not only as what competes, and named early."""
    spans = [match.span() for rival in _RIVALS for match in rival.finditer(reading.question)]
    named = [reading.words[m.first].start for m in reading.mentions if m.column == column.name]
    alone = [at for at in named if not any(start <= at < end for start, end in spans)]
    return bool(alone), -min(named, default=len(reading.question))


def _is_end(column: ColumnProfile, sheet: Sheet) -> bool:
    return bool(_happened(column, sheet)) and slot_of("event").fits(column, sheet) > 0


def _happened(column: ColumnProfile, sheet: Sheet) -> str:
    """Return the level that says that an end came: as its words say, or for the usual event as the data do; "" if neither."""
    survival = sheet.structure.survival
    known = survival.get("event_value", "") if column.name == survival.get("event") else ""
    return next(iter(two_states(list(column.levels))[1:]), known)


def _seen(
    reading: Reading, data: Data, sheet: Sheet, first: ColumnProfile, usual: ColumnProfile
) -> tuple[Reading, Data]:
    clock = sheet.structure.survival["time"]
    fits, own = slot_of("time").fits, {*name_parts(first.name)}
    able = (c for c in sheet.columns if c.name != first.name and own & {*name_parts(c.name)})
    called = [c.name for c in able if fits(c, sheet) > 0]
    time = called[0] if len(called) == 1 else clock
    name = f"first of {first.name} and {usual.name}"
    happened = [_condition(column, _happened(column, sheet)) for column in (first, usual)]
    made = Made(
        name,
        f"if_else({happened[0]}, {first.name!r}, if_else({happened[1]}, {usual.name!r}, 'censored'))",
        f"Follow-up ended with {first.name!r} or, before it came, with {usual.name!r}: one column says which was first.",
    )
    levels = dict.fromkeys((first.name, usual.name, "censored"), 1)
    column = ColumnProfile(name=name, kind="category", scale="category", distinct=3, levels=levels)
    shown = view(sheet, [*sheet.columns, column], sheet.structure.repeated, made)
    survival = {"time": time, "event": name, "event_value": first.name}
    structure = shown.structure.model_copy(update={"survival": survival})
    shown = Sheet(shown.profile.model_copy(update={"structure": structure}), made=shown.made)
    anew = data.seen(sheet, shown)
    ends = (first.name, usual.name)
    mentions = [
        m if m.column not in ends else ColumnMention(name, m.column, m.first, m.last, 1.0) for m in reading.mentions
    ]
    seen = reread(reading, mentions, anew)
    return replace(seen, contrasts=[], restrictions=[r for r in seen.restrictions if r.column != name]), anew


def _condition(column: ColumnProfile, happened: str) -> str:
    value = happened if column.kind in ("integer", "number") else repr(happened)
    return f"`{column.name}` == {value}"
