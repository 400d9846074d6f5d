"""What is measured for each unit of how long, far or much was looked at: `hake per hour` of kg and minutes of towing, `spine density`.

No column says so. A step divides one by the other, where the data have one column in a unit of that kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.domain.profile import ColumnProfile
from engine.planning.formulas.views import view
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import NUMBERS, Data, Made, Sheet
from engine.text.names import name_pieces
from engine.text.numbers import as_number
from engine.text.times import DAYS, UNITS_OF_TIME

_SIZES: dict[str, dict[str, float]] = {
    "time": {word: DAYS[word] for word in DAYS if UNITS_OF_TIME.get(word) in ("second", "minute", "hour", "day")},
    "length": {"nm": 1e-9, "um": 1e-6, "µm": 1e-6, "micron": 1e-6, "mm": 1e-3, "cm": 1e-2, "m": 1.0, "metre": 1.0, "meter": 1.0, "km": 1e3},
    "area": {"mm2": 1e-6, "cm2": 1e-4, "m2": 1.0, "ha": 1e4, "hectare": 1e4, "km2": 1e6},
    "volume": {"ul": 1e-9, "ml": 1e-6, "cl": 1e-5, "dl": 1e-4, "l": 1e-3, "litre": 1e-3, "liter": 1e-3, "m3": 1.0},
}  # fmt: skip
"""Kind of quantity -> unit as it is written -> how many of its usual one."""
_PER = re.compile(
    r"\s*(?:(?!(?:and|or|by|of|in|for|with|from)\b)[\w-]+\s+)?\bper\s+(?P<many>\d+(?:[.,]\d+)?\s*)?(?P<unit>[^\W\d][\w²³]*)",
    re.IGNORECASE,
)
_DENSE = re.compile(r"\s+densit(?:y|ies)\b", re.IGNORECASE)
_OVER_TIME = re.compile(
    r"\b(?:grow\w*|growth|chang\w*|r[iou]s\w*|fall\w*|fell|increas\w*|decreas\w*|declin\w*|drop\w*|slopes?|speed|faster|slower|quick\w*|los[est]\w*|gain\w*)\b",
    re.IGNORECASE,
)
"""What goes on along a time is a slope, and no amount for each hour of effort."""


def with_rates(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data with one column divided by another as the question says; None where it divides none."""
    for sheet in data.sheets:
        for mention in reading.mentions:
            column = sheet.column(mention.column)
            if (
                column is None
                or mention.level
                or column.scale not in NUMBERS
                or sheet.structure.part_of.get(column.name)
            ):
                continue
            end = reading.words[mention.last].end
            behind = (
                reading.words[mention.last - 1].end if mention.width > 1 else end
            )  # `spine density` may name n_spines
            dense = _DENSE.match(reading.question, end) or _DENSE.match(reading.question, behind)
            dense = dense if column.kind == "integer" else None  # of what is counted: a bone has its density measured
            per = _PER.match(reading.question, end)
            if dense and (found := _by_size(sheet, reading, column)):
                return _seen(reading, data, sheet, mention, found, "", dense.end())
            unit = _plain(per["unit"]) if per else ""
            if per and unit and (found := _in_unit(sheet, reading, column, unit)):
                by, factor, own = found
                many = as_number((per["many"] or "1").strip()) or 1.0
                told = f"{many:g} {unit}" if many != 1 else unit  # `per 100 m`
                return _seen(reading, data, sheet, mention, (by, factor * many, own), told, per.end())
    return None


def _plain(unit: str) -> str:
    word = unit.lower().replace("²", "2").replace("³", "3").replace("μ", "µ")
    known = {name for sizes in _SIZES.values() for name in sizes}
    return word if word in known else word.removesuffix("s") if word.removesuffix("s") in known else ""


def _units(column: ColumnProfile) -> Iterator[tuple[str, str, float]]:
    """Yield (kind, unit, size) of what a column is measured in, as its unit or a piece of its name says."""
    words = [column.unit] if column.unit else [piece.lower() for piece in name_pieces(column.name)]
    for kind, sizes in _SIZES.items():
        yield from ((kind, word, sizes[word]) for word in map(_plain, words) if word in sizes)


def _able(sheet: Sheet, reading: Reading, of: ColumnProfile) -> list[ColumnProfile]:
    """Return the columns that may be what something is counted for: numbers that the question does not name."""
    named = {m.column for m in reading.mentions}
    return [c for c in sheet.columns if c.kind in ("integer", "number") and c.name not in named and c.name != of.name
            and c.scale in (*NUMBERS, "ordered") and (c.minimum or 0) > 0]  # fmt: skip


def _by_size(sheet: Sheet, reading: Reading, of: ColumnProfile) -> tuple[ColumnProfile, float, str] | None:
    sized = [(c, unit) for c in _able(sheet, reading, of) for kind, unit, _ in _units(c) if kind != "time"]
    return (sized[0][0], 1.0, sized[0][1]) if len(sized) == 1 else None


def _in_unit(sheet: Sheet, reading: Reading, of: ColumnProfile, unit: str) -> tuple[ColumnProfile, float, str] | None:
    kind = next(name for name, sizes in _SIZES.items() if unit in sizes)
    if kind == "time" and _OVER_TIME.search(reading.question):
        return None
    found = [(c, size) for c in _able(sheet, reading, of) for own, _, size in _units(c)
             if own == kind and (kind != "time" or _spent(c))]  # fmt: skip
    return (found[0][0], _SIZES[kind][unit] / found[0][1], unit) if len(found) == 1 else None


_EFFORT = frozenset(
    "effort tow tows towing haul trawl trawling arrastre soak soaking trap traps trapping search searching survey surveyed observation observed obs "
    "watch watched watching recording recorded filmed video fishing fished sampling sampled duration dauer duree duracion esfuerzo aufwand".split()
)  # fmt: skip
"""What a time is called that was spent looking or catching, and is no moment that rows were taken at: `study_day`."""


def _spent(column: ColumnProfile) -> bool:
    return bool(_EFFORT & {*map(str.lower, name_pieces(column.name)), *column.label.lower().split()})


def _seen(
    reading: Reading, data: Data, sheet: Sheet, mention: ColumnMention, by: tuple[ColumnProfile, float, str],
    unit: str, end: int,
) -> tuple[Reading, Data]:  # fmt: skip
    divisor, factor, own = by
    name = f"{mention.column} per {unit or own}"
    over = f"`{divisor.name}`" if abs(factor - 1) < 1e-9 else f"(`{divisor.name}` / {factor:.12g})"
    why = f"{mention.column!r} is divided by {divisor.name!r}, the only column in such a unit, as the question says."
    made = Made(name, f"`{mention.column}` / {over}", why)
    column = ColumnProfile(name=name, kind="number", scale="number", distinct=sheet.profile.rows or 0)
    shown = view(sheet, [*sheet.columns, column], sheet.structure.repeated, made)
    anew = data.seen(sheet, shown)
    last = max(at for at, word in enumerate(reading.words) if word.start < end)
    kept = [m for m in reading.mentions if not (mention.first <= m.first <= last)]
    taken = {m.column for m in kept}
    others = (
        [m._replace(column=name) if m.column == mention.column else m for m in kept]
        if mention.column in taken
        else kept
    )
    return reread(reading, [*others, ColumnMention(name, "", mention.first, last, 1.0)], anew), anew
