"""Typing errors: which known words are a slip of the pen away (Damerau 1964, doi 10.1145/363958.363994)."""

from __future__ import annotations

import functools
from collections.abc import Iterable


def one_slip_away(word: str, known: Iterable[str], shortest: int = 6) -> list[str]:
    """Return the known words of so many letters at least that are one slip of the pen away: `betwen`, `seperate`."""
    if len(word) < shortest:
        return []
    return sorted(other for other in known if len(other) >= shortest and slips(word, other, 1) <= 1)


def is_english(word: str) -> bool:
    """Say whether a word in lower case is in the dictionary of English words."""
    return word in _dictionary()


@functools.cache
def _dictionary() -> frozenset[str]:
    from spellchecker import SpellChecker

    return frozenset(SpellChecker(language="en").word_frequency.keys())


@functools.lru_cache(maxsize=50_000)
def slips(word: str, other: str, most: int) -> int:
    """Return how many letters are wrong, missing, too many or swapped between two words, `most` + 1 for more."""
    from rapidfuzz.distance import DamerauLevenshtein

    return DamerauLevenshtein.distance(word, other, score_cutoff=most)


def misspelt(word: str, other: str) -> bool:
    """Say whether two words of one initial are the same but for a slip, or two where both have eight letters."""
    allowed = 1 if min(len(word), len(other)) < 8 else 2
    return word[0] == other[0] and slips(word, other, allowed) <= allowed
