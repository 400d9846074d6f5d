"""Words that are nearly as written, among those that an index knows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain


class Spelling:
    """Known words with how often each comes; the distance is the number of edits, a transposition counting as one."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        """Take words, in the case in which they will be asked for."""
        self._counts = counts
        self._of_length: dict[int, list[str]] = {}
        for word in counts:
            self._of_length.setdefault(len(word), []).append(word)

    def __contains__(self, word: object) -> bool:
        """Say whether the word is known as it is."""
        return word in self._counts

    def near(self, word: str, edits: int, *, start: str = "", most: int = 5) -> list[tuple[str, int]]:
        """Return known words and their distance, nearest first, of equally near ones the most frequent first.

        Args:
            word: what was written.
            edits: the largest distance (Damerau 1964, in the form of optimal string alignment).
            start: what the words must begin with.
            most: how many at most.
        """
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        lengths = range(len(word) - edits, len(word) + edits + 1)
        choices = list(chain.from_iterable(self._of_length.get(length, ()) for length in lengths))
        found = process.extract(word, choices, scorer=OSA.distance, score_cutoff=edits, limit=None)
        near = [(other, int(distance)) for other, distance, _ in found if other.startswith(start)]
        return sorted(near, key=lambda hit: (hit[1], -self._counts[hit[0]], hit[0]))[:most]
