"""Says what is wrong with the columns of a table, one sentence per problem, each with its number."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from engine.data.columns.column import MAX_COLUMNS
from engine.data.source import Frame, plural, some
from engine.data.structure.roles import words
from engine.domain.profile import ColumnProfile

if TYPE_CHECKING:
    import pandas as pd

REPEATED = "the same as an earlier row in every column."
LEFT_OUT = f"{REPEATED.removesuffix('.')}, left out."
_NAMES_ROWS = {"id", "ids", "sample", "sampleid", "samplename", "samples"}


def column_problems(name: str, columns: list[ColumnProfile], frame: Frame) -> list[str]:
    """Return what is missing, constant, empty, spelled in two ways or repeated."""
    rows = max(1, len(frame))
    return [
        *_gaps(name, columns, rows), *_constant(name, columns, rows), *_two_spellings(name, columns),
        *_repeated_rows(name, columns, frame), *_repeated_ids(name, columns, frame), *_unnamed_total(name, frame),
    ]  # fmt: skip


def slips_of(columns: list[ColumnProfile], apart: Collection[str], frame: Frame) -> pd.Series | None:
    """Return which rows were typed twice: they repeat an earlier row, and names tell all others apart.

    None where no row was, or where rows may well be the same: measured twice, or without a name of what was measured.

    Args:
        columns: what is known of them.
        apart: the columns that name subjects and tell their rows apart.
        frame: the rows.
    """
    if not FEWEST <= len(frame) <= MOST_LOOKED_AT:
        return None
    held = [column for column in columns if column.name in frame]
    names = [c.name for c in held if c.scale in _NAMES or c.role("time") or c.name in apart]
    try:
        twice = frame.duplicated()
        if not 0 < int(twice.sum()) <= max(2, SLIPS * len(frame)):
            return None
        others = frame.loc[~twice]
        alone = any(not others[c.name].duplicated().any() for c in held if c.kind in ("integer", "identifier"))
        named = any(c.role("id") for c in held) or apart
        return twice if alone or (named and not others[names].duplicated().any()) else None
    except TypeError:  # lists in the cells
        return None


SLIPS = 0.02
"""So many of the rows may be there twice by mistake, and two in a small table."""
FEWEST = 8
MOST_LOOKED_AT = 100_000
_NAMES = ("binary", "category", "ordered", "code", "identifier", "date")


def none_kept(name: str, none_words: dict[str, int]) -> list[str]:
    """Say that the word `None` was taken for a group."""
    return [
        f"{name}: {plural(count, 'cell')} of {column!r} hold the word 'None', which is read as a level of its own "
        "('none') beside the others; leave cells empty where nothing is known."
        for column, count in none_words.items()
    ]


def none_problems(name: str, none_words: dict[str, int]) -> list[str]:
    """Say when the word `None`, which may be a group of untreated samples, was read as missing."""
    return [
        f"{name}: {plural(count, 'cell')} of {column!r} hold the word 'None' and are read as missing; if that is a "
        "group, call it 'untreated' or the like."
        for column, count in none_words.items()
    ]


def _gaps(name: str, columns: list[ColumnProfile], rows: int) -> list[str]:
    gaps = sorted((column for column in columns if column.missing), key=lambda column: -column.missing)
    notable = [column for column in gaps if column.missing >= max(1, 0.01 * rows)]
    if not notable:
        return []
    shown = ", ".join(f"{column.name} ({column.missing:,} of {rows:,})" for column in notable[:4])
    more = f" and {len(notable) - 4} more" if len(notable) > 4 else ""
    return [f"{name}: {plural(len(notable), 'column')} with missing values: {shown}{more}."]


def _constant(name: str, columns: list[ColumnProfile], rows: int) -> list[str]:
    problems = []
    constant = [column.name for column in columns if column.distinct == 1 and not column.missing and rows > 2]
    if constant:
        problems.append(
            f"{name}: {plural(len(constant), 'column')} with the same value in every row ({some(constant)})."
        )
    void = [column.name for column in columns if column.distinct == 0]
    if void:
        problems.append(f"{name}: {plural(len(void), 'column')} without any value ({some(void)}).")
    return problems


def _two_spellings(name: str, columns: list[ColumnProfile]) -> list[str]:
    """Say when two levels differ only in case or spaces: they would be two groups."""
    problems = []
    for column in columns:
        if column.kind not in ("category", "identifier", "text") or len(column.levels) < 2:
            continue
        folded: dict[str, list[str]] = {}
        for level in column.levels:
            folded.setdefault(re.sub(r"(?<=\w)[\s_-]+(?=\w)", " ", level.strip().lower()), []).append(level)
        twins = next((levels for levels in folded.values() if len(levels) > 1), None)
        if twins:
            problems.append(
                f"{name}: column {column.name!r} spells the same level differently ({some(twins)}); they count as "
                "different groups."
            )
    return problems


def _repeated_rows(name: str, columns: list[ColumnProfile], frame: Frame) -> list[str]:
    if len(frame) > 100_000 or frame.shape[1] < 2:
        return []
    head = frame.iloc[:, :MAX_COLUMNS]
    try:
        copies = int(head.duplicated().sum())
    except TypeError:  # lists in the cells
        copies = int(head.astype(str).duplicated().sum())
    # Coarse codes repeat by chance; measurements and names do not.
    if copies and any(column.kind in ("number", "identifier", "text") for column in columns):
        return [f"{name}: {plural(copies, 'row')} {REPEATED}"]
    return []


def _repeated_ids(name: str, columns: list[ColumnProfile], frame: Frame) -> list[str]:
    first = columns[0] if columns else None
    if first is None or not words(first.name) & _NAMES_ROWS:
        return []
    if not 0.7 * len(frame) <= first.distinct < len(frame) - first.missing:
        return []
    counts = frame[first.name].value_counts()
    twice = [str(value) for value in counts[counts > 1].index]
    return [
        f"{name}: {plural(len(twice), 'value')} of {first.name!r} used more than once ({some(twice)}), so it cannot "
        "name the rows."
    ]


def _unnamed_total(name: str, frame: Frame) -> list[str]:
    """Say when the last row has no name and adds up the others; without a label it is kept."""
    if not 4 <= len(frame) <= 100_000 or frame.iloc[-1].isna().sum() == 0 or frame.iloc[:-1, 0].isna().any():
        return []
    numbers = frame.select_dtypes("number").dropna(axis="columns", how="all")
    last, sums = numbers.iloc[-1], numbers.iloc[:-1].sum()
    if frame.iloc[-1, :1].notna().any() or numbers.empty or not (last.notna() & (sums != 0)).all():
        return []
    if not ((last - sums).abs() <= 1e-9 * sums.abs()).all():
        return []
    return [f"{name}: the last row has no name and is the sum of the others; remove it, or results count it, too."]
