"""Reads a table that a step wrote in one pass and in the memory of a piece of it, whatever its size.

Everything that looks at stored tables from outside the sandbox looks through here: which row a finding points to must
be the same for the check that judges a step, for the report that links to the row and for `verify`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any, TypeGuard

from engine.domain.base import Scalar

ROW_BYTES = 16 << 20
"""The longest row of a table that is read."""
MOST_COLUMNS = 1_000_000
_AT_ONCE = 1_000
"""Rows of a piece that are looked at one by one before what was met twice is forgotten."""
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What pandas takes for a missing value (`na_values` of `read_csv`): steps write and read tables with it."""
_NEAR = 1e-9
"""Share of itself by which a number may differ and be the same."""
_NOTHING = 1e-12
"""What may stand for zero."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of a table is held, in bytes."""

    whole: int = 32 << 20
    """A larger table is never held: in memory it can take thirty times its size."""
    piece: int = 4 << 20
    """What is read of a larger one at once; some thirty such pieces are under way together."""


SIZES = Sizes()


@dataclass(slots=True)
class RowHit:
    """What one selection met."""

    count: int = 0
    """How many rows were met; in a large table counting may stop after the second."""
    number: int = 0
    """Number of the first of them, from 1, the header not counted."""
    cells: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """Return how many rows were met, in words."""
        return "no row" if not self.count else "one row" if self.count == 1 else "several rows"


@dataclass(slots=True)
class Scan:
    """What one pass over a table found."""

    header: list[str] = field(default_factory=list)
    first: list[list[str]] = field(default_factory=list)
    """The cells of the first rows."""
    total: int = 0
    hits: dict[str, RowHit] = field(default_factory=dict)
    """Name of a selection -> the rows it met."""


def scan(path: Path, wanted: Mapping[str, Mapping[str, Scalar]], *, first: int = 0, sizes: Sizes = SIZES) -> Scan:
    """Read a CSV file once: its header, its first rows, how many there are, and the rows that are asked for.

    Args:
        path: the file, UTF-8 with a header.
        wanted: name -> (column -> value) of the rows asked for; a column that the table lacks selects nothing.
        first: how many rows to keep from the beginning.
        sizes: what of it is held.

    Raises:
        ValueError: when it is no such table, or a row has more than `ROW_BYTES`.
        OSError: when it cannot be read.
    """
    found = Scan(hits={name: RowHit() for name in wanted})
    records = stream_rows(path)
    found.header = next(records, [])
    if path.stat().st_size > sizes.whole:
        try:
            found.total = _scan_pieces(path, _SelectionIndex(found.header, wanted), found.hits, sizes.piece)
        except ValueError:  # the quick reader refuses rows of unequal length: these are taken one by one
            found.hits = {name: RowHit() for name in wanted}
        else:
            found.first = [cells for _, cells in zip(range(first), records, strict=False)]
            return found
    index = _SelectionIndex(found.header, wanted)
    for found.total, cells in enumerate(records, start=1):
        if found.total <= first:
            found.first.append(cells)
        for name in index.met(cells):
            _count(found.hits[name], found.total, cells)
    return found


def same_value(text: str, value: Scalar) -> bool:
    """Say whether a CSV cell holds this value; numbers are compared as numbers, to a billionth of them."""
    if value is None or value != value:
        return text.strip() in _MISSING
    if text == str(value):
        return True
    number = None if isinstance(value, str | bool) else _number(text)
    return number is not None and abs(number - value) <= _NEAR * abs(value)


def close_enough(text: str, value: float, share: float = 1e-6) -> bool:
    """Say whether a CSV cell holds this number to a share of it, however small it is: a p-value has six digits too.

    Beside a zero stands what rounding leaves of one (`_NOTHING`).
    """
    number = _number(text)
    return number is not None and abs(number - value) <= (share * abs(value) if number and value else _NOTHING)


def columns_of(path: Path, names: Sequence[str], piece: int = SIZES.piece) -> Iterator[dict[str, Any]]:
    """Yield pieces of the columns of these names that a table has, as name -> array, read as pandas reads a whole one.

    Raises:
        ValueError: for a file that is no table.
    """
    import pyarrow as pa

    header = next(stream_rows(path), [])
    places = {name: header.index(name) for name in names if name in header}
    if not places:
        return
    done = 0
    try:
        for batch in _pieces(path, {f"f{place}": pa.string() for place in places.values()}, piece):
            yield _as_pandas_reads({name: batch.column(f"f{place}") for name, place in places.items()})
            done += batch.num_rows
        return
    except pa.ArrowInvalid:  # rows of unequal length, as in `scan`
        rows = islice(stream_rows(path), 1 + done, None)
    while some := list(islice(rows, _AT_ONCE)):
        if any(len(cells) > len(header) for cells in some):
            raise ValueError("a row has more cells than the header")
        yield _as_pandas_reads(
            {name: [cells[place] if place < len(cells) else "" for cells in some] for name, place in places.items()}
        )


def _as_pandas_reads(texts: Mapping[str, Any]) -> Any:
    """Return columns of texts as pandas would have read them from a file."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import csv as arrow

    written = pa.BufferOutputStream()
    arrow.write_csv(pa.table({name: pa.array(column, pa.string()) for name, column in texts.items()}), written)
    return pd.read_csv(pa.BufferReader(written.getvalue()), low_memory=False)


def stream_rows(path: Path) -> Iterator[list[str]]:
    """Yield the records of a CSV file, the header first, in the memory of one.

    Raises:
        ValueError: for a row of more than `ROW_BYTES`, or what is no CSV file.
    """
    csv.field_size_limit(max(csv.field_size_limit(), ROW_BYTES))
    held = 0

    def lines(handle: Any) -> Iterator[str]:
        nonlocal held
        while line := handle.readline(ROW_BYTES + 1):
            held += len(line)
            if held > ROW_BYTES or line.count(",") > MOST_COLUMNS:
                raise ValueError(f"a row has more than {ROW_BYTES >> 20} MB or {MOST_COLUMNS:,} cells")
            yield line

    with path.open(encoding="utf-8", newline="") as handle:
        try:
            for cells in csv.reader(lines(handle)):
                held = 0
                if cells:
                    yield cells
        except csv.Error as error:
            raise ValueError(str(error)) from error


def longest_row_is_short(path: Path) -> bool:
    """Say whether no line of a file is longer than a row may be; quick, whatever the size of the file."""
    run = 0
    with path.open("rb") as handle:
        while piece := handle.read(1 << 20):
            first, last = piece.find(b"\n"), piece.rfind(b"\n")
            if run + (len(piece) if first < 0 else first) > ROW_BYTES:
                return False
            run = run + len(piece) if first < 0 else len(piece) - last
    return True


class _SelectionIndex:
    """Finds which selections a row meets by one look-up for each set of columns that selections name."""

    def __init__(self, header: Sequence[str], wanted: Mapping[str, Mapping[str, Scalar]]) -> None:
        self.groups: dict[tuple[int, ...], dict[tuple[str, ...], list[str]]] = {}
        self.values: dict[str, list[Scalar]] = {}
        """Name -> its values, in the order of its columns."""
        for name, row in wanted.items():
            if row and all(column in header for column in row):
                columns = sorted(row)
                self.values[name] = [row[column] for column in columns]
                keys = self.groups.setdefault(tuple(header.index(column) for column in columns), {})
                for key in product(*map(_keys, self.values[name])):
                    keys.setdefault(key, []).append(name)

    def met(self, cells: Sequence[str]) -> Iterator[str]:
        """Yield the names of the selections that this row meets."""
        for places in self.groups:
            yield from self.met_by(places, cells)

    def met_by(self, places: tuple[int, ...], cells: Sequence[str]) -> Iterator[str]:
        """The same for the selections by these columns."""
        if max(places) < len(cells):
            texts = [cells[place] for place in places]
            for name in self.groups[places].get(tuple(map(_key, texts)), ()):
                if all(map(same_value, texts, self.values[name])):
                    yield name

    def wanted_in(self, places: tuple[int, ...]) -> Iterator[list[Scalar]]:
        """Yield for each of these columns the values that are looked for in it."""
        names = {name for group in self.groups[places].values() for name in group}
        for position in range(len(places)):
            values = (self.values[name][position] for name in names)
            yield list({(type(value), str(value)): value for value in values}.values())

    def forget(self, names: Iterable[str]) -> None:
        """Look for these no longer."""
        gone = set(names)
        for places, keys in list(self.groups.items()):
            left = {key: kept for key, group in keys.items() if (kept := [n for n in group if n not in gone])}
            self.groups[places] = left
            if not left:
                del self.groups[places]


def _scan_pieces(path: Path, index: _SelectionIndex, hits: Mapping[str, RowHit], piece: int) -> int:
    """Fill `hits` from a large table and return how many rows it has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def mask(batch: Any, places: tuple[int, ...]) -> Any:
        alike = None
        for place, values in zip(places, index.wanted_in(places), strict=True):
            column = batch.column(place)
            texts = pa.array([text for value in values for text in _texts(value)], pa.string())
            here = pc.or_(pc.is_in(column, texts), pc.is_in(pc.utf8_trim_whitespace(column), texts))
            if any(map(_is_number, values)):
                here = pc.or_(here, pa.array(_near(column, values)))
            alike = here if alike is None else pc.and_(alike, here)
        return alike

    total, width = 0, len(next(stream_rows(path), []))
    every = {f"f{place}": pa.string() for place in range(width if index.groups else min(1, width))}
    for batch in _pieces(path, every, piece):
        for places in list(index.groups):
            rows = pc.indices_nonzero(mask(batch, places))
            for start in range(0, len(rows), _AT_ONCE):
                if places in index.groups:
                    some = rows.slice(start, _AT_ONCE)
                    for number, row in zip(some.to_pylist(), batch.take(some).to_pylist(), strict=True):
                        cells = list(row.values())
                        for name in index.met_by(places, cells):
                            _count(hits[name], total + number + 1, cells)
                    index.forget(name for name, hit in hits.items() if hit.count > 1)
        total += batch.num_rows
    return total


def _pieces(path: Path, kinds: Mapping[str, Any], piece: int) -> Iterator[Any]:
    """Yield the rows of a table, the header left out, as record batches of the columns `f0`, `f1`... that are named."""
    from pyarrow import csv as arrow

    header = sum(map(len, next(stream_rows(path), [])))
    block = min(ROW_BYTES, max(piece, 16 * header))
    reading = arrow.ReadOptions(block_size=block, autogenerate_column_names=True, skip_rows_after_names=1)
    converting = arrow.ConvertOptions(column_types=dict(kinds), include_columns=list(kinds), strings_can_be_null=False)
    # A row longer than a block is refused by the reader itself.
    with arrow.open_csv(path, reading, arrow.ParseOptions(newlines_in_values=True), converting) as reader:
        yield from reader


def _near(column: Any, values: Sequence[Scalar]) -> Any:
    """Say for each text of a column whether it is a number near one of the values."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    sought = np.sort([float(value) for value in values if _is_number(value)])
    texts = pc.utf8_trim_whitespace(column)
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    try:
        cast = texts.cast(pa.float64())
    except pa.ArrowInvalid:  # words among them
        texts = pc.replace_substring_regex(texts, r"^\+", "")
        plain = pc.match_substring_regex(texts, r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$")
        cast = pc.if_else(plain, texts, pa.scalar(None, pa.string())).cast(pa.float64())
    numbers = cast.to_numpy(zero_copy_only=False)
    place = np.searchsorted(sought, numbers).clip(0, len(sought) - 1)
    with np.errstate(invalid="ignore"):  # infinity from infinity
        near = [abs(numbers - v) <= 2 * _NEAR * abs(v) for v in (sought[place], sought[(place - 1).clip(0)])]
    return near[0] | near[1]


def _number(text: str) -> float | None:
    """Return the number that a cell holds, if it is written as files write numbers; Python takes more for one."""
    text = text.strip()
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def _key(text: str) -> str:
    """Return what is looked up for a cell: missing values have one key, numbers that of their first eight digits."""
    text, number = text.strip(), _number(text)
    if text in _MISSING or number != number:
        return ""
    return text if number is None else f"{number + 0.0:.8g}"


def _keys(value: Scalar) -> set[str]:
    """Return the keys of all cells that may hold this value: nearly the same numbers may be rounded to two."""
    if not _is_number(value):
        return {_key("" if value is None else str(value))}
    return {_key(repr(float(value) * factor)) for factor in (1 - 2 * _NEAR, 1.0, 1 + 2 * _NEAR)}


def _texts(value: Scalar) -> list[str]:
    """Return how a CSV file may write a value."""
    if value is None or value != value:
        return list(_MISSING)
    return [str(value)]  # what other ways there are to write a number, `_near` finds


def _is_number(value: Scalar) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(hit: RowHit, number: int, cells: list[str]) -> None:
    hit.count += 1
    if hit.count == 1:
        hit.number, hit.cells = number, cells
