"""Finds the row of a stored table that a finding points to, the same way everywhere.

Reports link to it and `verify` compares the finding's numbers with it, so both must agree on which row it is.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from engine.domain.base import Scalar

_FIELD_LIMIT = 64 * 1024 * 1024


def iterate_rows(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Yield (header, header) first, then (header, cells) for each record of a CSV file."""
    csv.field_size_limit(_FIELD_LIMIT)
    with path.open(encoding="utf-8", newline="") as handle:
        reader = csv.reader(handle)
        header = next(reader, [])
        yield header, header
        for cells in reader:
            if cells:
                yield header, cells


class RowSelector:
    """Column -> value, compared with the text of a CSV cell."""

    def __init__(self, row: Mapping[str, Scalar]) -> None:
        self._wanted = dict(row)

    def matches(self, header: Sequence[str], cells: Sequence[str]) -> bool:
        """Say whether this record is the one selected; a column the table lacks matches nothing."""
        for column, value in self._wanted.items():
            if column not in header:
                return False
            position = header.index(column)
            if position >= len(cells) or not same_value(cells[position], value):
                return False
        return bool(self._wanted)


def same_value(text: str, value: Scalar) -> bool:
    """Say whether a CSV cell holds this value; numbers are compared as numbers."""
    if value is None:
        return text.strip() in ("", "NA", "NaN", "nan")
    if text == str(value):
        return True
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        number = float(text)
    except ValueError:
        return False
    return abs(number - value) <= 1e-9 * max(1.0, abs(value))


def close_enough(text: str, value: float) -> bool:
    """Say whether a CSV cell holds this number to six digits: what the finding's own check demands."""
    try:
        number = float(text)
    except ValueError:
        return False
    return abs(number - value) <= 1e-6 * max(1.0, abs(value))
