"""An inverted index in sorted NumPy arrays: fingerprint -> rows that have it, with a weight.

New rows go into small segments that are merged as they grow, like the levels of a log-structured tree:
adding one row costs microseconds and a lookup meets a handful of segments at most.

A query asks two things of it: which rows have its rare keys (`Found.totals`, which reads their postings), and what a
few hundred chosen rows have of any keys (`Found.among`). For the second, keys that very many rows have are kept as
columns too, a byte for each row, so that their postings need not be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MOST_SEGMENTS = 6
"""More than these are merged: each costs every lookup one binary search."""
COLUMN_FROM = 1_000
COLUMN_SHARE = 1 / 64
"""A key with this many postings, in this share of a segment's rows, gets a column."""
MOST_COLUMNS = 512
"""Columns of a segment; at a byte a row they take no more than a short text does."""
_MOST_VALUES = 255


@dataclass(frozen=True, slots=True)
class _Column:
    """What each row of a segment has of one key."""

    codes: np.ndarray
    """Place in `values` of what a row has, uint8."""
    values: np.ndarray
    """Sums of weights, float32; the first is 0."""


@dataclass(frozen=True, slots=True)
class _Segment:
    """Postings of some rows, ordered by key."""

    keys: np.ndarray
    """Distinct fingerprints, ascending, uint64."""
    starts: np.ndarray
    """Where each key's postings begin, and at the end the number of postings, int64, one more than keys."""
    rows: np.ndarray
    """int32."""
    weights: np.ndarray
    """float32."""
    first: int
    """The lowest row: that of the first code of a column."""
    last: int
    """The highest row."""
    columns: dict[int, _Column]
    """By place of the key in `keys`."""

    def places(self, keys: np.ndarray) -> list[_Place]:
        """Return where the postings of those keys lie that the segment has."""
        import numpy as np

        at = np.searchsorted(self.keys, keys)
        np.minimum(at, len(self.keys) - 1, out=at)
        known = np.flatnonzero(self.keys[at] == keys)
        at = at[known]
        low, high = self.starts[at].tolist(), self.starts[at + 1].tolist()
        column = map(self.columns.get, at.tolist()) if self.columns else [None] * len(at)
        return [_Place(self, *one) for one in zip(known.tolist(), low, high, column, strict=True)]


@dataclass(slots=True)
class _Place:
    """Where the postings of one of the keys asked for lie in a segment."""

    segment: _Segment
    key: int
    """Which of the keys asked for."""
    low: int
    high: int
    column: _Column | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums by row, of the rows that have any of some keys."""

    rows: np.ndarray
    """Distinct rows, int32, in no order."""
    sums: np.ndarray
    """Float64, one for each of `rows`."""
    _where: np.ndarray
    """Row -> place in `_owners`; not set for other rows, so that what stands there has to be checked."""
    _owners: np.ndarray
    _all: np.ndarray

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Return the sums of any rows, float64; 0 for rows that have none of the keys."""
        import numpy as np

        if not len(self._owners):
            return np.zeros(len(rows), dtype=np.float64)
        where = self._where.take(rows, mode="clip")
        own = self._owners.take(where, mode="clip") == rows
        return np.where(own, self._all.take(where, mode="clip"), 0.0)


@dataclass(frozen=True, slots=True)
class Hits:
    """Postings of some keys in chosen rows, in arrays of equal length."""

    keys: np.ndarray
    """Which of the keys asked for."""
    places: np.ndarray
    """Which of the chosen rows."""
    weights: np.ndarray
    """float32."""
    chosen: int
    """How many rows were chosen."""

    def sums(self, factors: np.ndarray) -> np.ndarray:
        """Return for each chosen row the sum of factor x weight over the keys it has, float64."""
        import numpy as np

        return np.bincount(self.places, factors[self.keys] * self.weights, minlength=self.chosen)


@dataclass(frozen=True, slots=True)
class Found:
    """The postings of some keys; valid until the next `add`."""

    counts: np.ndarray
    """For each key the number of its postings, int64."""
    _places: list[_Place]
    _size: int
    """One more than the highest row."""

    def totals(self, factors: np.ndarray) -> Totals:
        """Return by row the sum of factor x weight over its postings; keys with a factor of 0 are not read."""
        import numpy as np

        wanted = (factors != 0).tolist()
        rows, keys, weights = _joined([place for place in self._places if wanted[place.key]])
        # Every row's postings agree on one of their number, without any sorting: the last that wrote itself down.
        order = np.arange(len(rows), dtype=np.int32)
        where = np.empty(self._size, dtype=np.int32)
        where[rows] = order
        owner = where[rows]
        sums = np.bincount(owner, factors[keys] * weights, minlength=len(rows))
        own = np.flatnonzero(owner == order)
        return Totals(rows[own], sums[own], where, rows, sums)

    def among(self, rows: np.ndarray, which: np.ndarray | None = None) -> Hits:
        """Return what chosen rows have of the keys.

        Args:
            rows: distinct rows, in any order.
            which: for each key whether it is asked for; all by default.
        """
        import numpy as np

        there = self._places
        if which is not None:
            asked = which.tolist()
            there = [place for place in there if asked[place.key]]
        # Rows that came after the last posting may be asked for too.
        size = max(self._size, 1 + int(rows.max(initial=-1)))
        found = [_in_postings([place for place in there if place.column is None], rows, size)]
        found += [_in_column(place, rows, size) for place in there if place.column is not None]
        keys, places, weights = (np.concatenate(part) for part in zip(*found, strict=True))
        return Hits(keys, places, weights, len(rows))

    def rows(self, which: np.ndarray) -> np.ndarray:
        """Return the distinct rows that have at least one of the keys chosen by `which`, int32, ascending."""
        asked = which.tolist()
        return distinct(_joined([place for place in self._places if asked[place.key]])[0])


class Postings:
    """Rows by fingerprint. Not thread-safe: the caller holds a lock."""

    def __init__(self) -> None:
        self._segments: list[_Segment] = []

    def add(self, keys: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> None:
        """Add postings: three arrays of equal length (uint64, int32, float32), in any order.

        Where a row has a key more than once, its weights add up.
        """
        if not len(keys):
            return
        self._segments.append(_segment(keys, rows, weights))
        while len(self._segments) > 1 and (
            len(self._segments) > MOST_SEGMENTS or len(self._segments[-1].rows) * 2 > len(self._segments[-2].rows)
        ):
            last = self._segments.pop()
            self._segments[-1] = _merged(self._segments[-1], last)

    def find(self, keys: np.ndarray) -> Found:
        """Return where the postings of keys lie."""
        import numpy as np

        places = [place for segment in self._segments for place in segment.places(keys)]
        counts = np.zeros(len(keys), dtype=np.int64)
        for place in places:
            counts[place.key] += place.high - place.low
        return Found(counts, places, 1 + max((segment.last for segment in self._segments), default=-1))

    @property
    def size(self) -> int:
        """The number of postings."""
        return sum(len(segment.rows) for segment in self._segments)


def distinct(rows: np.ndarray) -> np.ndarray:
    """Return rows in ascending order, each once."""
    import numpy as np

    ordered = np.sort(rows)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(rows) else ordered


def _joined(places: list[_Place]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, keys (which of those asked for) and weights of all postings in some places."""
    import numpy as np

    if not places:
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    rows = np.concatenate([place.segment.rows[place.low : place.high] for place in places])
    weights = np.concatenate([place.segment.weights[place.low : place.high] for place in places])
    keys = np.repeat([place.key for place in places], [place.high - place.low for place in places])
    return rows, keys, weights


def _in_postings(places: list[_Place], rows: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return keys, places among `rows` and weights of the postings that lie in `rows`, by reading them all."""
    import numpy as np

    theirs, keys, weights = _joined(places)
    if not len(theirs) or not len(rows):
        return keys[:0], keys[:0], weights[:0]
    where = np.empty(size, dtype=np.int32)
    where[rows] = np.arange(len(rows), dtype=np.int32)
    # What was not written is anything at all; only a place that holds the very row counts.
    guess = where[theirs]
    hits = np.flatnonzero(rows.take(guess, mode="clip") == theirs)
    return keys[hits], guess[hits], weights[hits]


def _in_column(place: _Place, rows: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same for a key that has a column."""
    import numpy as np

    column, segment = place.column, place.segment
    assert column is not None
    offsets = rows - segment.first
    codes = column.codes.take(offsets, mode="clip")
    if len(column.codes) < size:
        codes[(offsets < 0) | (offsets >= len(column.codes))] = 0
    hits = np.flatnonzero(codes)
    return np.full(len(hits), place.key), hits, column.values[codes[hits]]


def _segment(keys: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> _Segment:
    import numpy as np

    order = np.argsort(keys, kind="stable" if len(keys) < 1000 else None)
    ordered = keys[order]
    first = np.concatenate(([0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1))
    starts = np.concatenate((first, [len(ordered)])).astype(np.int64)
    rows, weights = rows[order], weights[order]
    lowest, highest = int(rows.min()), int(rows.max())
    columns = _columns(starts, rows, weights, lowest, highest) if len(rows) >= COLUMN_FROM else {}
    return _Segment(ordered[first], starts, rows, weights, lowest, highest, columns)


def _columns(starts: np.ndarray, rows: np.ndarray, weights: np.ndarray, first: int, last: int) -> dict[int, _Column]:
    """Return columns of the most frequent keys, by place of the key."""
    import numpy as np

    counts = np.diff(starts)
    many = np.flatnonzero(counts >= max(COLUMN_FROM, COLUMN_SHARE * (last + 1 - first)))
    many = many[np.argsort(-counts[many], kind="stable")][:MOST_COLUMNS]
    columns: dict[int, _Column] = {}
    for key in many.tolist():
        part = slice(starts[key], starts[key + 1])
        own = rows[part] - first
        sums = np.bincount(own, weights[part], minlength=last + 1 - first).astype(np.float32)
        values = np.unique(sums[own])
        if len(values) <= _MOST_VALUES:
            codes = np.zeros(len(sums), dtype=np.uint8)
            codes[own] = np.searchsorted(values, sums[own]) + 1
            columns[key] = _Column(codes, np.concatenate((np.zeros(1, dtype=np.float32), values)))
    return columns


def _merged(left: _Segment, right: _Segment) -> _Segment:
    import numpy as np

    keys = [np.repeat(s.keys, np.diff(s.starts)) for s in (left, right)]
    return _segment(
        np.concatenate(keys),
        np.concatenate((left.rows, right.rows)),
        np.concatenate((left.weights, right.weights)),
    )
