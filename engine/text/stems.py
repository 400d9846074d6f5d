"""Stems of English words, after Porter (2001, Snowball: a language for stemming algorithms)."""

from __future__ import annotations

import functools
import threading
from typing import Any

_ONE_AT_A_TIME = threading.Lock()
"""A stemmer keeps the word it works on in itself: two threads in it would spoil each other's words."""


@functools.cache
def _snowball() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


@functools.lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; words of up to three letters and numbers stay as they are."""
    if len(word) <= 3 or word[0].isdigit():
        return word
    with _ONE_AT_A_TIME:
        return _snowball().stemWord(word)
