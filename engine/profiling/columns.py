"""What a column of a table is: its kind, its values, and what is wrong with them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from engine.domain.profile import ColumnKind, ColumnProfile
from engine.profiling.source import Column, Frame, plural, some

MAX_LEVELS = 30
MAX_COLUMNS = 300
"""A table with more columns gets profiles of its first ones only."""
MISSING_MARKS = {
    "n.d.", "n.d", "nd", "n.a.", "na.", "-", "--", ".", "?", "missing", "unknown", "not available", "not determined",
    "not done", "below detection", "bdl", "lod", "#div/0!", "#value!", "#ref!", "#num!", "inf.", "nr", "n/d", "none",
}  # fmt: skip
_DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T]\d\d:\d\d.*)?$")
_CENSORED = re.compile(r"[<>\u2264\u2265~]\s*[-+]?\d")
_PERCENT = re.compile(r"[-+]?\d+([.,]\d+)?\s*%$")


class Cleaned(NamedTuple):
    """A frame in which marks of missing values are missing, and what was done to it."""

    frame: Frame
    marks: dict[str, list[str]]
    """Column -> marks in it that mean `missing`."""
    warnings: list[str]
    mixed: list[str]
    """Columns that are numbers but for some cells, and so are read as text."""


def clean(frame: Frame, name: str) -> Cleaned:
    """Turn text columns that are numbers but for a few marks into numbers, and say what else is mixed."""
    import pandas as pd

    marks: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    mixed: list[str] = []
    mixed_columns: list[str] = []
    percents: list[str] = []
    for column in [c for c in frame.columns if frame[c].dtype == object]:
        values = frame[column].dropna()
        texts = values.astype(str).str.strip()
        if texts.empty:
            continue
        numbers: Column = pd.to_numeric(texts, errors="coerce")
        odd = texts[numbers.isna()]
        if texts.head(200).str.match(_PERCENT).mean() > 0.8:
            percents.append(str(column))
            continue
        if odd.empty or len(odd) > 0.5 * len(texts) or odd.nunique() > 12:
            continue
        if all(text.lower() in MISSING_MARKS for text in odd.unique()):
            marks[str(column)] = sorted(odd.unique())
            counts[str(column)] = len(odd)
            if len(marks) == 1:
                frame = frame.copy()
            frame[column] = pd.to_numeric(frame[column].astype(str).str.strip(), errors="coerce")
        elif odd.str.match(_CENSORED).any() or len(odd) <= max(1, 0.1 * len(texts)):
            mixed_columns.append(str(column))
            mixed.append(
                f"column {column!r} is numbers except for {plural(len(odd), 'cell')} ({some(list(odd.unique()))})"
            )
    warnings = []
    if marks:
        every = sorted({mark for found in marks.values() for mark in found})
        where = f"column {next(iter(marks))!r}" if len(marks) == 1 else f"{len(marks)} columns"
        warnings.append(
            f"{name}: {plural(sum(counts.values()), 'cell')} ({some(every)}) in {where} are read as missing values."
        )
    for text in mixed[:3]:
        warnings.append(f"{name}: {text}; it stays text until these are replaced by numbers or left empty.")
    if len(mixed) > 3:
        warnings.append(f"{name}: {len(mixed) - 3} more columns mix numbers and text.")
    if percents:
        warnings.append(
            f"{name}: the values of {some(percents)} carry a percent sign and are read as text; remove the sign to "
            "calculate with them."
        )
    return Cleaned(frame, marks, warnings, [*mixed_columns, *percents])


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
    return ColumnProfile(
        name=name, kind=_kind(present, distinct), missing=missing, distinct=distinct, levels=levels,
        minimum=_finite(low), maximum=_finite(high),
    )  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and abs(value) != float("inf") and value == value else None


def _sort_key(value: Any) -> tuple[int, float, str]:
    number = isinstance(value, (int, float)) or hasattr(value, "dtype")
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
