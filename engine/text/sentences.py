"""Cutting a text into sentences without cutting names, numbers or abbreviations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Sentence(NamedTuple):
    """A sentence of a text, from character `start` to `end`."""

    text: str
    start: int
    end: int


_END = re.compile(r"[.!?…。！？]+[\"'”’)\]]*(?=\s+[\"'“‘(\[]?[^\sa-z])|[。！？]|\n\s*\n|\n(?=\s*(?:[-*•]|\d+[.)])\s)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|et al|cf|vs|approx|resp|fig|figs|tab|eq|ref|refs|dr|mr|mrs|ms|prof|st|no|nos|vol|pp|sp|spp|ca|"
    r"etc|al|inc|ltd|dept|est|incl|viz)|\b[A-Z])\.$",
    re.IGNORECASE,
)
_ABBREVIATION_REACH = 8
_LONGEST = 4000
"""Characters; a longer run without an end is cut, so that no pattern has to read a whole file."""


def split_sentences(text: str, names: Iterable[tuple[int, int]] = ()) -> list[Sentence]:
    """Cut a text into sentences.

    Args:
        text: any text; a blank line and the next item of a list end a sentence, too.
        names: (start, end) of what is one name in the text: a full stop inside ends nothing.
    """
    inside = {place for start, end in names for place in range(start, end) if text[place] in ".?!"}
    sentences: list[Sentence] = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if match.start() in inside or _ABBREVIATION.search(text[max(start, end - _ABBREVIATION_REACH) : end]):
            continue
        sentences += _pieces(text, start, end)
        start = end
    return [*sentences, *_pieces(text, start, len(text))]


def _pieces(text: str, start: int, end: int) -> Iterable[Sentence]:
    """Yield a sentence without the blanks around it, in pieces where it is too long."""
    while start < end:
        stop = min(end, start + _LONGEST)
        space = text.rfind(" ", start + 1, stop) if stop < end else -1
        stop = space if space > start else stop
        part = text[start:stop]
        if stripped := part.strip():
            begin = start + part.index(stripped[0])
            yield Sentence(stripped, begin, begin + len(stripped))
        start = stop


def first_sentence(text: str) -> str:
    """Return the first sentence of a text; "" when there is none."""
    return next((sentence.text for sentence in split_sentences(text)), "")
