"""The words and numbers of a sentence, each with its stem and place.

`week twelve` and `the twelfth week` both give `12`; `β-catenin` gives `beta`, `catenin`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from engine.text.letters import plain
from engine.text.numbers import NUMBER_WORDS, ORDINALS, as_number
from engine.text.stems import stem

PIECE = re.compile(r"\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?|[^\W\d_]+")
"""A number or a run of letters."""


class Token(NamedTuple):
    """A word or number: its text in lower case, its stem, and where it stands in the original text."""

    text: str
    stem: str
    start: int
    end: int

    @property
    def number(self) -> float | None:
        """The number this token is, or None."""
        return as_number(self.text)


def tokens(text: str) -> list[Token]:
    """Return the words and numbers of a sentence; number words become digits, `12th` and `twelfth` become `12`."""
    found: list[Token] = []
    for match in PIECE.finditer(text):
        word = plain(match[0])
        if word in ("st", "nd", "rd", "th") and found and found[-1].end == match.start() and found[-1].text.isdigit():
            found[-1] = found[-1]._replace(end=match.end())
            continue
        if word == "s" and match.start() and text[match.start() - 1] in "'’":
            continue
        word = NUMBER_WORDS.get(word) or ORDINALS.get(word) or word
        found.append(Token(word, stem(word), match.start(), match.end()))
    return found
