"""How common a word is in everyday English: `people` is, `kinase` and `dermoscopy` are not."""

from __future__ import annotations

import math
from functools import cache
from importlib import resources

_EVERYDAY = 300
"""So many of the most common words are everybody's."""


def technicality(word: str) -> float:
    """Return 0 for a lower-case word that everybody uses daily to 1 for one that few outside a trade know.

    Words fall off by the logarithm of their place among the most common ones (Zipf 1949: a word's frequency is about
    inversely proportional to its place).
    """
    places = _places()
    place = places.get(word, len(places))
    return max(0.0, math.log(max(place, 1) / _EVERYDAY)) / math.log(len(places) / _EVERYDAY)


def everyday() -> list[str]:
    """Return the most common words of English, the most common first."""
    return [*_places()]


@cache
def _places() -> dict[str, int]:
    text = resources.files("engine.text").joinpath("data/common_words.txt").read_text(encoding="utf-8")
    listed = (line for line in text.splitlines() if not line.startswith("#"))
    return {word: place for place, word in enumerate(listed)}
