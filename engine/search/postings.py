"""Which rows have a word, and with what weight: two growing arrays for each word.

Adding a row costs an append a word and a lookup copies nothing, so an index may grow while it is in use. Nothing is
merged or compressed: at 100,000 rows of forty words the arrays take about 40 MB.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping

import numpy as np


class Postings:
    """Rows by word. Not thread-safe while it grows."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[array[int], array[float]]] = {}

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self._of)

    def __contains__(self, word: object) -> bool:
        """Say whether any row has the word."""
        return word in self._of

    def __iter__(self) -> Iterator[str]:
        """Yield the words."""
        return iter(self._of)

    def add(self, row: int, weights: Mapping[str, float]) -> None:
        """Give a row its words: a higher row than any before."""
        known = self._of
        for word, weight in weights.items():
            found = known.get(word)
            if found is None:
                found = known[word] = (array("i"), array("f"))
            found[0].append(row)
            found[1].append(weight)

    def count(self, word: str) -> int:
        """Return how many rows have the word."""
        found = self._of.get(word)
        return len(found[0]) if found else 0

    def has(self, row: int, word: str) -> bool:
        """Say whether a row has the word."""
        rows = self._of[word][0] if word in self._of else ()
        place = bisect_left(rows, row)
        return place < len(rows) and rows[place] == row

    def rows(self, word: str) -> np.ndarray:
        """Return the rows that have the word, int32, ascending."""
        found = self._of.get(word)
        return np.array(found[0], np.int32) if found else np.zeros(0, np.int32)

    def sums(self, factors: Mapping[str, float], size: int) -> np.ndarray:
        """Return for each of `size` rows the sum of factor x weight over the words it has, float32."""
        total = np.zeros(size, np.float32)
        for word, factor in factors.items():
            found = self._of.get(word)
            if found and factor:
                total[np.frombuffer(found[0], np.int32)] += np.float32(factor) * np.frombuffer(found[1], np.float32)
        return total

    def renumbered(self, places: np.ndarray) -> Postings:
        """Return the same without the rows whose new number in `places` (int, by row) is below 0."""
        fresh = Postings()
        for word, (rows, weights) in self._of.items():
            moved = places[np.frombuffer(rows, np.int32)]
            keep = moved >= 0
            if keep.any():
                left = np.frombuffer(weights, np.float32)[keep]
                fresh._of[word] = (array("i", moved[keep].astype(np.int32).tobytes()), array("f", left.tobytes()))
        return fresh
