"""What a wording is made of for the chooser: stems, pairs of stems and the kinds of data it names, never the data's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from engine.text.tokens import tokens

KINDS = ("NUM", "CAT", "BIN", "LEV", "TIME", "UNIT", "CNT", "DOSE", "GENE", "VAL", "FILE")
"""What stands in a wording for words that name data: a measurement, a grouping, a yes/no column, one level, a point in time or a
time column, subjects or ids, a count, a dose, a gene, a number, a file."""
SAID = {"NUM": "the measurement", "CAT": "the group", "BIN": "the event", "LEV": "one group", "TIME": "one time",
        "UNIT": "the subjects", "CNT": "the number of cases", "DOSE": "the dose", "GENE": "the gene", "VAL": "5",
        "FILE": "my file"}  # fmt: skip
_PIECE = re.compile(rf"\b(?:{'|'.join(KINDS)})\b|[^\W_]+", re.UNICODE)


def stems(masked: str) -> list[str]:
    """Return the stems of a masked wording in order; numbers left in it become VAL."""
    found: list[str] = []
    for piece in _PIECE.findall(masked):
        if piece in KINDS:
            found.append("NUM" if piece == "CNT" else piece)  # what is counted is decided by the data, not by the words
        else:
            found += ["VAL" if token.number is not None else token.stem for token in tokens(piece)]
    # Runs of one kind (`NUM, NUM and NUM`) say the same as two of it.
    return [word for at, word in enumerate(found) if at < 2 or not word == found[at - 1] == found[at - 2]]


def features(words: Sequence[str]) -> list[str]:
    """Return the stems and their pairs."""
    return [*words, *(f"{a} {b}" for a, b in pairwise(words))]


def spoken(masked: str) -> str:
    """Return a masked wording as a plain sentence, for an embedding."""
    return re.sub(rf"\b({'|'.join(KINDS)})\b", lambda match: SAID[match[1]], masked)


def vocabulary(texts: Iterable[str]) -> dict[str, int]:
    """Return feature -> number of texts it occurs in."""
    counts: dict[str, int] = {}
    for text in texts:
        for feature in set(features(stems(text))):
            counts[feature] = counts.get(feature, 0) + 1
    return counts
