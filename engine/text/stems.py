"""Stems of English words, after Porter (2001, Snowball: a language for stemming algorithms)."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def _snowball() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


@functools.lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; words of up to three letters and numbers stay as they are."""
    if len(word) <= 3 or word[0].isdigit():
        return word
    return _snowball().stemWord(word)
