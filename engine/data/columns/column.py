"""What a column of a table is: its kind, its values, and what is wrong with them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.data.columns.cells import MISSING_MARKS, CellReading, is_titre, parse, read_numbers, tidy
from engine.data.columns.codes import ABOVE, BELOW, missing_codes
from engine.data.columns.spellings import spelled_alike, told_joins
from engine.data.source import Column, Frame, plural, some
from engine.domain.profile import ColumnKind, ColumnProfile

MAX_LEVELS = 30
MAX_COLUMNS = 300
"""A table with more columns gets profiles of its first ones only."""
_DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T]\d\d:\d\d.*)?$")


class Cleaned(NamedTuple):
    """A frame in which numbers are numbers and marks of missing values are missing, and what was done to it."""

    frame: Frame
    marks: dict[str, list[str]]
    """Column -> cells in it, as written, that mean `missing`, where naming them is all that reading needs."""
    numbers: dict[str, dict[str, Any]]
    """Column -> how its cells become numbers (`numbers` of `read_table`), where they are written in other ways."""
    warnings: list[str]
    mixed: list[str]
    """Columns that are numbers but for some cells, and so are read as text."""
    notes: dict[str, list[str]]
    """Column -> what was found in its cells, in sentences."""
    units: dict[str, str]
    coded: list[str]
    """Columns in which numbers such as -99 or 999 are marks: only there, since elsewhere they may be values."""
    same: dict[str, dict[str, str]]
    """Column -> {cell as written: the level it is}, where levels differ by case, accents, hyphens or blanks only."""


def clean(
    frame: Frame,
    name: str,
    *,
    decimal: str = ".",
    marks_count: bool = True,
    told: Mapping[str, Mapping[str, str]] | None = None,
    spelled_out: Mapping[str, Mapping[str, str]] | None = None,
) -> Cleaned:
    """Turn text columns that hold numbers in any usual writing into numbers, and say what else is mixed.

    Args:
        frame: the table.
        name: its file's name, for the warnings.
        decimal: the decimal sign of the numbers that were read as such.
        marks_count: whether the file's reader takes `na`, the cells that mean `missing`.
        told: column of numbers -> the codes that a legend calls missing, with its words.
        spelled_out: column -> {cell as written: the code that a legend says stands for it}.
    """
    done = Cleaned(frame.copy(deep=False), {}, {}, [], [], {}, {}, [], {})
    marked: dict[str, int] = {}
    doubts: list[str] = []
    mixed: list[str] = []
    dtypes = list(frame.dtypes)
    repeated = frame.columns.duplicated(keep=False)
    coded_columns = _may_be_coded(frame, dtypes) if marks_count else set()
    for position, column in enumerate(frame.columns):
        if repeated[position]:
            continue
        said = (told or {}).get(str(column), {})
        usual = missing_codes(frame[column], str(column)) if position in coded_columns and position else []
        if codes := list(dict.fromkeys([*said, *usual])):
            marked[str(column)] = _without_codes(done, column, codes, said)
            continue
        if dtypes[position].kind != "O":
            continue
        reading = _column_numbers(frame[column], decimal, first=position == 0)
        if reading is None:
            continue
        if isinstance(reading, str):
            done.mixed.append(str(column))
            mixed.append(f"column {column!r} is numbers except for {reading}")
            continue
        _without_codes_among(frame[column], reading, str(column), said, sure=marks_count and position > 0)
        _with_numbers(done, column, reading, marks_count=marks_count)
        if reading.doubtful:
            doubts.append(f"{name}: column {column!r}: {'; '.join(reading.notes)}.")
        elif reading.missing:
            marked[str(column)] = int(frame[column].map(tidy, na_action="ignore").isin(reading.missing).sum())
    done.warnings.extend(_say(name, done, marked, doubts, mixed))
    done.same.update(spelled_alike(done.frame))
    _as_one_level(done, done.same)
    done.warnings.extend(told_joins(name, done.same))
    for column, codes in (spelled_out or {}).items():
        shown = ", ".join(f"{cell!r} as {code!r}" for cell, code in codes.items())
        done.warnings.append(f"{name}: column {column!r}: {shown}, as its legend says, is read as one level.")
        written = done.same.get(column, {})
        done.same[column] = {**codes, **{cell: codes.get(level, level) for cell, level in written.items()}}
        _as_one_level(done, {column: codes})
    return done


def _as_one_level(done: Cleaned, same: Mapping[str, Mapping[str, str]]) -> None:
    for column, levels in same.items():
        done.frame[column] = done.frame[column].map(lambda cell, levels=levels: levels.get(cell, cell))


def _without_codes(done: Cleaned, column: Any, codes: list[str], said: Mapping[str, str]) -> int:
    """Empty the cells of a column that hold a code for a missing value, and return how many they are."""
    coded = done.frame[column].isin([float(code) for code in codes])
    done.marks[str(column)] = codes
    done.frame[column] = done.frame[column].where(~coded)
    done.coded.append(str(column))
    done.notes[str(column)] = [f"{_why_missing(codes, said, done.frame[column])}."]
    return int(coded.sum())


def _without_codes_among(
    cells: Column, reading: CellReading, name: str, said: Mapping[str, str], *, sure: bool
) -> None:
    """Take codes for a missing value for such where other cells are text: -999 beside `n.a.`."""
    numbers = _as_numbers(cells, reading)
    codes = list(dict.fromkeys([*said, *missing_codes(numbers, name)])) if sure else []
    coded = {tidy(cell) for cell in cells[numbers.isin([float(code) for code in codes])]}
    if coded:
        reading.missing += sorted(coded)
        reading.values = {cell: number for cell, number in reading.values.items() if cell not in coded}
        reading.notes.append(_why_missing(codes, said, _as_numbers(cells, reading)))


def _why_missing(codes: list[str], said: Mapping[str, str], others: Column) -> str:
    """Return the sentence that says which codes are taken for a missing value, and why."""
    beside = "0 or more" if codes[0].startswith("-") else f"{float(others.max()):g} or less"
    taken = f"{codes[0]} is" if len(codes) == 1 else f"{' and '.join(codes)} are"
    why = f"all others are {beside}"
    if said:
        why = "by its legend " + ", ".join(f"{code} is {words!r}" for code, words in said.items())
    return f"{taken} taken for a missing value: {why}"


def _with_numbers(done: Cleaned, column: Any, reading: CellReading, *, marks_count: bool) -> None:
    """Put the numbers of a column in the place of its texts, and note how a reader of the file gets them."""
    cells = done.frame[column]
    done.frame[column] = _as_numbers(cells, reading)
    if reading.notes:
        done.notes[str(column)] = [f"{note[0].upper()}{note[1:]}." for note in reading.notes]
    if reading.unit:
        done.units[str(column)] = reading.unit
    # Spaces that cannot be seen and quotes hinder every reader.
    written = [cell for cell in cells.dropna().unique() if isinstance(cell, str)]
    seen = all(cell == tidy(cell) for cell in written if tidy(cell) in reading.values)
    if reading.plain and marks_count and seen:
        done.marks[str(column)] = sorted(
            {str(cell) for cell in cells.dropna().unique() if tidy(cell) in reading.missing}
        )
    else:
        done.numbers[str(column)] = reading.options()


def _may_be_coded(frame: Frame, dtypes: list[Any]) -> set[int]:
    """Return the positions of the columns whose lowest or highest number is a code: one look at all is fast."""
    numbers = [position for position, dtype in enumerate(dtypes) if dtype.kind in "if"]
    part, codes = frame.iloc[:, numbers], {float(code) for code in (*BELOW, *ABOVE)}
    ends = zip(numbers, part.min().tolist(), part.max().tolist(), strict=True) if numbers else []
    return {position for position, low, high in ends if low in codes or high in codes}


def _column_numbers(series: Column, decimal: str, *, first: bool) -> CellReading | str | None:
    present = series.dropna()
    present = present[present.map(lambda cell: not isinstance(cell, (bool, list, dict)))]
    if len(present) < len(series.dropna()) or present.empty:
        return None
    # Text columns are the usual case: a look at some cells spares reading them all.
    some_cells = present.drop_duplicates().head(300).map(tidy)
    told = [parse(cell) is not None or is_titre(cell) or cell.lower() in MISSING_MARKS for cell in some_cells]
    if sum(told) < 0.1 * len(some_cells):
        return None
    typed = {tidy(cell) for cell in present.unique() if not isinstance(cell, str)}
    counts = present.map(tidy).value_counts()
    return read_numbers({str(k): int(n) for k, n in counts.items() if k}, decimal=decimal, first=first, typed=typed)


def _as_numbers(series: Column, reading: CellReading) -> Column:
    import pandas as pd

    missing = {*reading.missing}
    values = series.map(
        lambda cell: (
            reading.values.get(tidy(cell)) if isinstance(cell, str) else None if tidy(cell) in missing else cell
        )
    )
    try:
        return pd.to_numeric(values)
    except ValueError:  # beyond what a number can be: infinite
        return values.astype(float)


def _say(name: str, done: Cleaned, marked: dict[str, int], doubts: list[str], mixed: list[str]) -> list[str]:
    warnings = []
    if marked:
        every = sorted({m for c in marked for m in done.marks.get(c) or done.numbers[c]["missing"]})
        where = f"column {next(iter(marked))!r}" if len(marked) == 1 else f"{len(marked)} columns"
        count = plural(sum(marked.values()), "cell")
        warnings.append(f"{name}: {count} ({some(every)}) in {where} are read as missing values.")
    warnings += doubts[:4]
    if len(doubts) > 4:
        warnings.append(f"{name}: {len(doubts) - 4} more columns are read with such doubts; see their notes.")
    for text in mixed[:3]:
        warnings.append(f"{name}: {text}; it stays text until these are replaced by numbers or left empty.")
    if len(mixed) > 3:
        warnings.append(f"{name}: {len(mixed) - 3} more columns mix numbers and text.")
    return warnings


def is_numeric(series: Any) -> bool:
    """Say whether the column holds numbers (truth values are none)."""
    return series.dtype.kind in "iuf"


def profile_column(name: str, series: Column) -> ColumnProfile:
    """Describe one column; its roles are guessed where the whole table is known."""
    present = series.dropna()
    missing = int(len(series) - len(present))
    try:
        counts = present.value_counts()
    except TypeError:  # lists or dicts in the cells
        present = present.astype(str)
        counts = present.value_counts()
    distinct = len(counts)
    levels: dict[str, int] = {}
    if distinct <= MAX_LEVELS:
        # Ties stand in the order of the values, so that a profile is the same on every machine.
        ordered = sorted(counts.items(), key=lambda pair: (-int(pair[1]), _sort_key(pair[0])))
        levels = {level_text(value): int(count) for value, count in ordered}
    low = high = None
    if is_numeric(series) and len(present):
        low, high = float(present.min()), float(present.max())
    kind = _kind(present, distinct)
    return ColumnProfile(
        name=name, kind=kind, missing=missing, distinct=distinct, levels=levels, minimum=_finite(low),
        maximum=_finite(high), notes=_years(present) if kind == "date" else [],
    )  # fmt: skip


def _years(dates: Column) -> list[str]:
    """Return which years dates are of, and those of a year that has not come: one such date decides a trend."""
    years = dates.dt.year if dates.dtype.kind == "M" else dates.astype(str).str.extract(_YEAR)[0].dropna().astype(int)
    if years.empty:
        return []
    first, last, this = int(years.min()), int(years.max()), dt.datetime.now(tz=dt.UTC).year
    told = [f"Dates of {first}." if first == last else f"Dates of {first} to {last}."]
    future = int((years > this + 1).sum())
    return told + ([f"{plural(future, 'date')} {NOT_YET} ({last}): a slip?"] if future else [])


NOT_YET = "of a year that has not come"
_YEAR = re.compile(r"(?<!\d)(\d{4})(?!\d)")


def _finite(value: float | None) -> float | None:
    return value if value is not None and abs(value) != float("inf") and value == value else None


def _sort_key(value: Any) -> tuple[int, float, str]:
    number = not isinstance(value, str) and (isinstance(value, (int, float)) or hasattr(value, "dtype"))
    return (0, float(value), "") if number else (1, 0.0, str(value))


def level_text(value: Any) -> str:
    """Return a level as a person writes it: 1, not 1.0."""
    if isinstance(value, str):
        return value.strip()
    try:
        return str(int(value)) if float(value).is_integer() and not isinstance(value, bool) else str(value)
    except (TypeError, ValueError, OverflowError):
        return str(value)


def _kind(present: Column, distinct: int) -> ColumnKind:
    if present.dtype == bool:
        return "boolean"
    if is_numeric(present):
        whole = present.dtype.kind in "iu" or (len(present) > 0 and bool((present % 1 == 0).all()))
        return "integer" if whole else "number"
    if present.dtype.kind == "M":
        return "date"
    texts = present.astype(str).str.strip()
    if texts.empty:
        return "text"
    if set(texts.str.lower().unique()[:5]) <= {"true", "false", "yes", "no"}:
        return "boolean"
    if texts.head(200).str.match(_DATE).mean() > 0.9:
        return "date"
    length = float(texts.head(500).str.len().mean())
    spaced = float(texts.head(500).str.contains(" ").mean())
    if distinct >= 0.95 * len(texts) and length < 40 and not (spaced > 0.5 and length > 20):
        return "identifier"
    if distinct <= max(MAX_LEVELS, 0.05 * len(texts)) and length < 60:
        return "category"
    return "text" if spaced > 0.3 or length >= 40 else "identifier" if distinct > 0.5 * len(texts) else "category"


def row_numbers(ids: Any) -> bool:
    """Say whether values only count the rows, from 0 or 1 on."""
    import pandas as pd

    numbers: Column = pd.to_numeric(pd.Series(list(ids)), errors="coerce")
    if numbers.isna().any() or len(numbers) == 0:
        return False
    return bool((numbers.diff().dropna() == 1).all()) and numbers.iloc[0] in (0, 1)


def whole_again(frame: Frame) -> Frame:
    """Make integers of the columns of whole numbers that blanks had made floats."""
    for column in frame.select_dtypes("float").columns:
        if frame[column].notna().all() and (frame[column] % 1 == 0).all():
            frame[column] = frame[column].astype("int64")
    return frame
