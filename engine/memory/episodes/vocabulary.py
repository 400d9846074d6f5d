"""The words of all episodes, by number, with how each is spelt and what it means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.memory.episodes.reading import Word, spelling
from engine.search.vectors import Vectors


class EpisodeWords:
    """Words by number, in the order they came. Not thread-safe: the caller holds the lock of the index."""

    def __init__(self) -> None:
        self.vectors = Vectors()
        """By number of a word; zero for identifiers, which are equal or not."""
        self._numbers: dict[str, int] = {}
        """Form of a word -> its number."""
        self._words: list[Word] = []
        self._spellings: list[str] = []
        self._with_vector = 0
        """Words of lower number have their vector."""

    def numbers(self, found: Sequence[Word]) -> np.ndarray:
        """Return the numbers of words, each once, ascending, int32; new words get one."""
        for word in found:
            if word.form not in self._numbers:
                self._numbers[word.form] = len(self._words)
                self._words.append(word)
                self._spellings.append(spelling(word))
        return np.array(sorted({self._numbers[word.form] for word in found}), np.int32)

    def number(self, form: str) -> int:
        """Return the number of a word, -1 for one that no episode has."""
        return self._numbers.get(form, -1)

    def has_vector(self, form: str) -> bool:
        """Say whether a word has its vector."""
        return 0 <= self.number(form) < self._with_vector

    def spellings(self, numbers: np.ndarray) -> list[str]:
        """Return how the words of some numbers are spelt; "" where that is not compared."""
        return [self._spellings[number] for number in numbers.tolist()]

    def lacking_vectors(self, most: int) -> list[Word]:
        """Return the next words, at most `most`, without a vector, in the order of their numbers."""
        return self._words[self._with_vector :][:most]

    def put_vectors(self, vectors: np.ndarray) -> None:
        """Store the vectors of the next words without one, in the order of `lacking_vectors`."""
        first = self._with_vector
        self.vectors.put(np.arange(first, first + len(vectors)), vectors)
        self._with_vector = first + len(vectors)
