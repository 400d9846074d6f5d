"""What a course in columns comes to: `the incremental AUC of glucose` of gluc_0 to gluc_120, the `maximum weight loss, in % of day 0`.

A step adds up the trapezoids between neighbouring columns (of an incremental area the first value is the ground), or takes the lowest
or highest of the values that a row has.
"""

from __future__ import annotations

import re
from itertools import pairwise

from engine.domain.profile import ColumnProfile, WideMeasure
from engine.planning.formulas.views import view
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, Made, Sheet
from engine.text.names import name_parts

_AREA = re.compile(
    r"\b(?P<inc>(?:net\s+)?incremental\s+|i)?(?:AUC|area under (?:the )?(?:[\w-]+ )?curve)\b"
    r"(?:\s*(?:from\s+)?\d+\s*(?:-|–|to)\s*\d+\s*(?:min\w*|h|hours?)?\b)?(?:\s*\([^()]*(?:trapez|above|below|baseline)[^()]*\))?",
    re.IGNORECASE,
)
_OF_A_MARKER = re.compile(
    r"\b(?:roc|receiver|predict\w*|diagnos\w*|discriminat\w*|cut[- ]?(?:off|point)|sensitiv\w*|marker|classif\w*)\b",
    re.IGNORECASE,
)
"""There the area is that under the curve of sensitivities."""
_LEAST = 3
"""So many values make a course."""


_EXTREME = re.compile(
    r"\b(?:max(?:imum|imal)?|greatest|largest|biggest|peak|deepest|worst|total)\s+(?:[\w-]+\s+){0,2}?"
    r"(?P<way>loss|drop|fall|decrease|decline|reduction|gain|increase|rise)\b|\b(?P<end>nadir|trough|peak)\b(?!\s+area)",
    re.IGNORECASE,
)
_OF_THE_FIRST = re.compile(
    r"\(?\s*(?:in|as)\s+(?:a\s+)?(?:%|per ?cent(?:age)?)(?:\s+of\s+(?:the\s+)?(?:(?:day|week|month|hour|time|t|d|w)\s*0|baseline|start\w*|initial|first|body)(?:\s+weight)?)?\s*\)?|"
    r"(?:%|per ?cent(?:age)?)\s+(?:of\s+(?:the\s+)?(?:(?:day|week|month|hour|time|t|d|w)\s*0|baseline|start\w*|initial))|"
    r"relative to (?:the\s+)?(?:(?:day|week|d|w)\s*0|baseline|start\w*)",
    re.IGNORECASE,
)
_FALLS = frozenset("loss drop fall decrease decline reduction nadir trough".split())


def with_courses(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data with what a course in columns comes to, None where the question asks for none of these."""
    return _with_area(reading, data) or _with_extreme(reading, data)


def _with_extreme(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data with the largest loss or gain since the first column of a course, or its lowest or highest value."""
    said = _EXTREME.search(reading.question)
    if said is None:
        return None
    for sheet in data.sheets:
        able = [w for w in sheet.structure.wide if w.ordered and len(w.columns) >= _LEAST and _is_named(w, reading)]
        if len(able) == 1:
            share = _OF_THE_FIRST.search(reading.question)
            beside = share is not None and 0 <= share.start() - said.end() <= 1
            end = share.end() if share is not None and beside else said.end()
            made = _extreme(able[0], said, share=share is not None)
            return _seen(reading, data, sheet, able[0], made, (said.start(), end))
    return None


def _extreme(wide: WideMeasure, said: re.Match[str], *, share: bool) -> Made:
    word = (said["way"] or said["end"]).lower()
    falls, first = word in _FALLS, f"`{wide.columns[0]}`"
    value = f"{'min' if falls else 'max'}_across({', '.join(f'`{name}`' for name in wide.columns)})"
    kind = "lowest" if falls else "highest"
    why = f"The {kind} of the values that a row has from {wide.columns[0]!r} to {wide.columns[-1]!r}"
    if said["end"]:
        return Made(f"{kind} {wide.name}", value, f"{why}, as the question asks.")
    change = f"{first} - {value}" if falls else f"{value} - {first}"
    name = f"largest {word} of {wide.name}" + (f", % of {wide.columns[0]}" if share else "")
    told = f"{why}, taken from the first" if falls else f"{why}, less the first"
    return Made(
        name, f"100 * ({change}) / {first}" if share else change, f"{told}{', in % of the first' if share else ''}."
    )


def _with_area(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data with the area under a course in columns, None where none is asked for."""
    said = _AREA.search(reading.question)
    if said is None or _OF_A_MARKER.search(reading.question):
        return None
    for sheet in data.sheets:
        able = [wide for wide in sheet.structure.wide if len(_times(wide)) >= _LEAST]
        named = [wide for wide in able if _is_named(wide, reading)] or able
        if len(named) == 1:  # the only course need not be named
            return _seen(reading, data, sheet, named[0], _area(named[0], said), said.span())
    return None


def _times(wide: WideMeasure) -> list[float]:
    """Return the times in the labels, [] where one has none or they do not rise."""
    found = [re.search(r"\d+(?:\.\d+)?", label) for label in wide.labels]
    times = [float(match[0]) for match in found if match]
    units = {re.sub(r"[\W\d_]+", "", label).lower() for label in wide.labels} - {""}
    if len(units) > 1:  # 30min and 2h
        return []
    return times if len(times) == len(wide.columns) and all(a < b for a, b in pairwise(times)) else []


def _is_named(wide: WideMeasure, reading: Reading) -> bool:
    own = {part for part in name_parts(wide.name) if len(part) > 1}
    return any(m.column in wide.columns for m in reading.mentions) or any(word.text in own for word in reading.words)


def _area(wide: WideMeasure, said: re.Match[str]) -> Made:
    times, above = _times(wide), bool(said["inc"])
    name = f"{'iAUC' if above else 'AUC'} of {wide.name} {times[0]:g} to {times[-1]:g}"
    pieces = [
        f"{b - a:g} * (`{one}` + `{other}`) / 2"
        for (a, one), (b, other) in pairwise(zip(times, wide.columns, strict=True))
    ]
    ground = f" - {times[-1] - times[0]:g} * `{wide.columns[0]}`" if above else ""
    why = f"The question asks for the area under {wide.columns[0]} to {wide.columns[-1]}: trapezoids" + (
        f" above the first value, {wide.columns[0]!r}; what lies below it counts as negative." if above else "."
    )
    return Made(name, " + ".join(pieces) + ground, why)


def _seen(
    reading: Reading, data: Data, sheet: Sheet, wide: WideMeasure, made: Made, said: tuple[int, int]
) -> tuple[Reading, Data]:
    """Return question and data with the column in the place of the words that ask for it, and of the course it is made of."""
    name = made.column
    column = ColumnProfile(name=name, kind="number", scale="number", distinct=sheet.profile.rows or 0)
    shown = view(sheet, [*sheet.columns, column], sheet.structure.repeated, made)
    anew = data.seen(sheet, shown)
    inside = [at for at, word in enumerate(reading.words) if said[0] <= word.start < said[1]]
    mentions = [m for m in reading.mentions if m.column not in wide.columns and m.first not in inside]
    seen = reread(reading, [*mentions, ColumnMention(name, "", inside[0], inside[-1], 1.0)], anew)
    for m in reading.mentions:
        if m.column in wide.columns and m.first not in inside:
            seen.mark(m.first, m.last, "column", name)
    return seen, anew
