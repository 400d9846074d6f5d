"""What is measured next to its own control: `every plate normalised to its own DMSO wells`, `S pool minus unstim of the same mouse`.

No column says so. A step divides by, or takes off, the mean of the control rows that agree with a row in its plate, blot or mouse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from engine.domain.profile import ColumnProfile
from engine.planning.formulas.views import view
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading, Restriction
from engine.planning.tables.sheets import NUMBERS, Data, Made, Sheet, is_id

_RELATIVE = re.compile(
    r"\b(?:normali[sz]\w*|relative to|(?:in|as)\s+(?:%|percent)\s+of|(?:%|percent) of)(?=\s)[^.?!;()]*(?:\([^()]*\)[^.?!;()]*)*",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:same|each|every|own|its|that|per)\s+(?:\w+\s+)?$", re.IGNORECASE)
_NONE_GIVEN = re.compile(r"\b(?:dmso|vehicle|veh|solvent|untreated|controls?|ctrl|zero|0)\b", re.IGNORECASE)
"""What rows without a dose are called."""
_PERCENT = re.compile(r"%|\bper\s?cent", re.IGNORECASE)
_TO_ANOTHER = re.compile(r"\bnormali[sz]ed\s+(?:to|by|for|on)\s+(?:the\s+)?(?:total\s+)?$", re.IGNORECASE)
_MINUS = re.compile(r"\s*(?:[-–−]|minus|less)\s+(?:the\s+)?(?:its\s+)?", re.IGNORECASE)
_GROUPS = ("category", "binary", "ordered", "code")


class _Beside(NamedTuple):
    """The control of rows: in which column and at which level, and in which columns a row and its control agree."""

    column: str
    level: str
    by: list[str]
    span: tuple[int, int]
    """The words that say so."""
    rows: ColumnMention | None = None
    """The level whose rows alone are asked about, where the control is taken off them."""


def with_relative(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data with what is measured next to its own control; None where the question asks for no such thing."""
    for sheet in data.sheets:
        found = _divided(sheet, reading) or _taken_off(sheet, reading)
        values = list(_measured(sheet, reading)) if found is not None else []
        if found is not None and values:
            return _seen(reading, data, sheet, found, values)
    return None


def _divided(sheet: Sheet, reading: Reading) -> _Beside | None:
    for match in _RELATIVE.finditer(reading.question):
        inside = [at for at, word in enumerate(reading.words) if match.start() <= word.start < match.end()]
        own = [m for m in reading.mentions if m.first in inside]
        block = next((m for m in own if not m.level and _is_block(sheet, m, reading)), None)
        if block is None:
            continue
        doses = [c.name for name in sheet.structure.doses if (c := sheet.column(name)) and "0" in c.levels]
        level = next((m for m in own if m.level and m.column not in (block.column, *doses)), None)
        none = [n.end() + match.start() for n in _NONE_GIVEN.finditer(match[0])] if len(doses) == 1 else []
        said = [m.last for m in own] + [at for at in inside for end in none if reading.words[at].end <= end]
        if level is not None:
            return _beside(sheet, level.column, level.level, block.column, (inside[0], max(said)))
        if none:
            return _beside(sheet, doses[0], "0", block.column, (inside[0], max(said)))
    return None


def _taken_off(sheet: Sheet, reading: Reading) -> _Beside | None:
    levels = sorted((m for m in reading.mentions if m.level and sheet.column(m.column)), key=lambda m: m.first)
    for one in levels:
        for other in levels:
            between = reading.question[reading.words[one.last].end : reading.words[other.first].start]
            if one.column != other.column or one.level == other.level or not _MINUS.fullmatch(between):
                continue
            blocks = [
                m for m in reading.mentions if not m.level and m.first > other.last and _is_block(sheet, m, reading)
            ]
            named = [m.column for m in blocks] or [item.subject for item in sheet.structure.repeated[:1]]
            if named:
                last = blocks[0].last if blocks else other.last
                found = _beside(sheet, other.column, other.level, named[0], (one.last + 1, last))
                return found._replace(rows=one) if found else None
    return None


def _is_block(sheet: Sheet, mention: ColumnMention, reading: Reading) -> bool:
    column = sheet.column(mention.column)
    before = reading.question[: reading.words[mention.first].start]
    return column is not None and (column.scale in _GROUPS or is_id(column)) and _OWN.search(before) is not None


def _beside(sheet: Sheet, column: str, level: str, block: str, span: tuple[int, int]) -> _Beside | None:
    """Return the control of rows in a block, and of all else that its control has too: the tissue of `the same mouse`."""
    frame: Any = sheet.frame()
    held = frame[column].astype(str).str.strip()
    control = frame[(held == level) | (held == f"{level}.0")]
    if control.empty or not {*frame[block].dropna()} <= {*control[block]}:
        return None
    others = [c.name for c in sheet.columns if c.scale in ("category", "binary") and c.name not in (column, block)]
    keys = control.groupby(block)
    by = [name for name in others if (keys[name].nunique() == frame.groupby(block)[name].nunique()).all()]
    return _Beside(column, level, [block, *by], span)


def _measured(sheet: Sheet, reading: Reading) -> Iterator[tuple[str, str, ColumnMention | None]]:
    """Yield (name, expression, mention) of each measurement that the question names; the only one of the data where it names none."""
    apart = {*sheet.structure.times, *sheet.structure.doses}
    able = [c.name for c in sheet.columns if c.scale in NUMBERS and not is_id(c) and c.name not in apart]
    named = [m for m in reading.mentions if not m.level and m.column in able]
    of = {
        m.column: other.column
        for m in named
        for other in named
        if other is not m and _TO_ANOTHER.search(reading.question[: reading.words[other.first].start])
    }
    if not named and len(able) == 1:
        yield able[0], f"`{able[0]}`", None
    for mention in {m.column: m for m in reversed(named)}.values():
        if mention.column in of.values():
            continue
        other = of.get(mention.column, "")
        name = f"{mention.column} / {other}" if other else mention.column
        yield name, f"`{mention.column}` / `{other}`" if other else f"`{mention.column}`", mention


def _seen(
    reading: Reading, data: Data, sheet: Sheet, beside: _Beside, values: Sequence[tuple[str, str, ColumnMention | None]]
) -> tuple[Reading, Data]:
    column = sheet.column(beside.column)
    level = beside.level if column is not None and column.kind in ("integer", "number") else repr(beside.level)
    by = ", ".join(f"`{name}`" for name in beside.by)
    start, end = reading.words[beside.span[0]].start, reading.words[beside.span[1]].end
    percent = beside.rows is None and _PERCENT.search(reading.question) is not None
    how = "minus" if beside.rows else "in % of" if percent else "relative to"
    own = f"{beside.level!r} of {beside.column!r} of the same {' and '.join(beside.by)}"
    shown, named = sheet, list[ColumnMention]()
    for value, formula, mention in values:
        control = f"mean_of({formula}, `{beside.column}` == {level}, {by})"
        expression = f"{formula} - {control}" if beside.rows else f"{'100 * ' * percent}({formula}) / {control}"
        name = f"{value} {how} {beside.column} {beside.level}"
        made = Made(name, expression, f"{value!r} is taken {how} the mean at {own}, as the question says.")
        seen = ColumnProfile(name=name, kind="number", scale="number", distinct=sheet.profile.rows or 0)
        shown = view(shown, [*shown.columns, seen], sheet.structure.repeated, made)
        first, last = (mention.first, mention.last) if mention else beside.span
        named.append(ColumnMention(name, "", first, last, 1.0))
    said = {*range(beside.span[0], beside.span[1] + 1), *(at for m in named for at in range(m.first, m.last + 1))}
    anew = data.seen(sheet, shown)
    again = reread(reading, [*(m for m in reading.mentions if m.first not in said), *named], anew)
    if (rows := beside.rows) is not None:
        again.restrictions = [r for r in again.restrictions if r.column != rows.column]
        again.restrictions.append(Restriction(rows.column, "in", (rows.level,), rows.first, rows.last, sure=True))
    again.asides.append((start, end))
    again.mark_text(start, end, "method", f"{how} {own}")
    again.masked = again.masked.replace(reading.question[start:end], "")
    return again, anew
