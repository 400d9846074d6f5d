"""Columns as they are without the levels that the question leaves out: `y`, `n` and `lost` are two states once nobody is lost."""

from __future__ import annotations

from engine.domain.profile import ColumnProfile
from engine.planning.reading.leaving_out import phrases_of_levels
from engine.planning.reading.masking import masked
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, Sheet


def without_levels_out(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data where levels are surely left out: their columns have the others, and what only helps to say so is no name.

    None where nothing changes.
    """
    gone: dict[str, set[str]] = {}
    for item in reading.restrictions:
        if item.op == "not in" and item.sure and not item.whole:
            gone.setdefault(item.column, set()).update(item.values)
    if not gone:
        return None
    seen = Data([_seen(sheet, gone) for sheet in data.sheets])
    spans = phrases_of_levels(reading.question, reading.mentions, reading.words, gone)
    rest = [
        m for m in reading.mentions
        if m.level or m.column in gone or not any(a <= reading.words[m.first].start < b for a, b in spans)
    ]  # fmt: skip
    changed = any(one is not other for one, other in zip(seen.sheets, data.sheets, strict=True))
    if not changed and len(rest) == len(reading.mentions):
        return None
    own = reread(reading, rest, seen)
    own.asides, own.lost, own.restrictions = reading.asides, reading.lost, reading.restrictions
    own.masked = masked(own, {column.name: column for column in seen.columns()})
    return own, seen


def _seen(sheet: Sheet, gone: dict[str, set[str]]) -> Sheet:
    columns = [_left(c, gone[c.name]) if c.name in gone else c for c in sheet.columns]
    if all(one is other for one, other in zip(columns, sheet.columns, strict=True)):
        return sheet
    return Sheet(sheet.profile.model_copy(update={"column_profiles": columns}), sheet.made)


def _left(column: ColumnProfile, gone: set[str]) -> ColumnProfile:
    levels = {level: n for level, n in column.levels.items() if level not in gone}
    if column.kind != "category" or len(levels) != 2 or len(levels) == len(column.levels):
        return column
    order = [level for level in column.order if level in levels]
    return column.model_copy(update={"levels": levels, "order": order, "distinct": 2, "scale": "binary"})
