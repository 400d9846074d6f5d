"""An inverted index in sorted NumPy arrays: fingerprint -> rows that have it, with a weight.

New rows go into small segments that are merged as they grow, like the levels of a log-structured tree:
adding one row costs microseconds and a lookup meets a handful of segments at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MOST_SEGMENTS = 6
"""More than these are merged: each costs every lookup one binary search."""


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


@dataclass(frozen=True, slots=True)
class Found:
    """The postings of some keys."""

    places: list[tuple[_Segment, np.ndarray, np.ndarray]]
    """Segment, and for each key where its postings begin and end there."""
    counts: np.ndarray
    """For each key the number of its postings, int64."""

    def add_up(self, factors: np.ndarray, into: np.ndarray) -> None:
        """Add factor x weight of every posting to the dense float32 array `into`, by row; a factor of 0 adds none."""
        import numpy as np

        for segment, low, high in self.places:
            for at in np.flatnonzero((high > low) & (factors != 0)).tolist():
                part = slice(low[at], high[at])
                np.add.at(into, segment.rows[part], np.float32(factors[at]) * segment.weights[part])


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
        """Return where the postings of keys lie; valid until the next `add`."""
        import numpy as np

        places = [(segment, *_ranges(segment, keys)) for segment in self._segments]
        counts = np.zeros(len(keys), dtype=np.int64)
        for _, low, high in places:
            counts += high - low
        return Found(places, counts)

    def counts(self, keys: np.ndarray) -> np.ndarray:
        """Return how many postings each key has, int64."""
        return self.find(keys).counts

    def add_up(self, keys: np.ndarray, factors: np.ndarray, into: np.ndarray) -> None:
        """Add factor x weight of every posting of the keys to the dense float32 array `into`, by row."""
        self.find(keys).add_up(factors, into)

    def rows(self, keys: np.ndarray) -> np.ndarray:
        """Return the distinct rows that have at least one of the keys, int32, ascending."""
        import numpy as np

        found: list[np.ndarray] = []
        for segment in self._segments:
            low, high = _ranges(segment, keys)
            found += [segment.rows[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True) if b > a]
        return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int32)

    @property
    def size(self) -> int:
        """The number of postings."""
        return sum(len(segment.rows) for segment in self._segments)


def _segment(keys: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> _Segment:
    import numpy as np

    order = np.argsort(keys, kind="stable" if len(keys) < 1000 else None)
    ordered = keys[order]
    first = np.concatenate(([0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1))
    starts = np.concatenate((first, [len(ordered)])).astype(np.int64)
    return _Segment(ordered[first], starts, rows[order], weights[order])


def _merged(left: _Segment, right: _Segment) -> _Segment:
    import numpy as np

    keys = [np.repeat(s.keys, np.diff(s.starts)) for s in (left, right)]
    return _segment(
        np.concatenate(keys),
        np.concatenate((left.rows, right.rows)),
        np.concatenate((left.weights, right.weights)),
    )


def _ranges(segment: _Segment, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each key's postings begin and end; equal where the segment has none."""
    import numpy as np

    place = np.searchsorted(segment.keys, keys)
    inside = np.minimum(place, len(segment.keys) - 1)
    known = segment.keys[inside] == keys
    return np.where(known, segment.starts[inside], 0), np.where(known, segment.starts[inside + 1], 0)
