"""The area under a course that stands in columns: `the incremental AUC of glucose` of gluc_0, gluc_30, gluc_60, gluc_120.

A step adds up the trapezoids between neighbouring columns; of an incremental area the first value is the ground.
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


def with_areas(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data with the area under a course in columns, None where the question asks for none of these."""
    said = _AREA.search(reading.question)
    if said is None or _OF_A_MARKER.search(reading.question):
        return None
    for sheet in data.sheets:
        able = [wide for wide in sheet.structure.wide if len(_times(wide)) >= _LEAST]
        named = [wide for wide in able if _is_named(wide, reading)]
        if len(named) == 1:
            return _seen(reading, data, sheet, named[0], said)
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


def _seen(reading: Reading, data: Data, sheet: Sheet, wide: WideMeasure, said: re.Match[str]) -> tuple[Reading, Data]:
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
    made = Made(name, " + ".join(pieces) + ground, why)
    column = ColumnProfile(name=name, kind="number", scale="number", distinct=sheet.profile.rows or 0)
    shown = view(sheet, [*sheet.columns, column], sheet.structure.repeated, made)
    anew = data.seen(sheet, shown)
    inside = [at for at, word in enumerate(reading.words) if said.start() <= word.start < said.end()]
    mentions = [m for m in reading.mentions if m.column not in wide.columns and m.first not in inside]
    seen = reread(reading, [*mentions, ColumnMention(name, "", inside[0], inside[-1], 1.0)], anew)
    for m in reading.mentions:
        if m.column in wide.columns and m.first not in inside:
            seen.mark(m.first, m.last, "column", name)
    return seen, anew
