"""Cutting a text into sentences without cutting names, numbers or abbreviations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.domain.knowledge import Mention


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text, from character `start` to `end`."""

    text: str
    start: int
    end: int


_END = re.compile(
    r"[.!?\u2026\u3002\uff01\uff1f]+[\"'\u201d\u2019)\]]*(?=\s+[\"'\u201c\u2018(\[]?[^\sa-z])|[\u3002\uff01\uff1f]|\n\s*\n|\n(?=\s*(?:[-*\u2022]|\d+[.)])\s)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|et al|cf|vs|approx|resp|fig|figs|tab|eq|ref|refs|dr|mr|mrs|ms|prof|st|no|nos|vol|pp|sp|spp|ca|"
    r"etc|al|inc|ltd|dept|est|incl|viz)|\b[A-Z])\.$",
    re.IGNORECASE,
)
_MAX_SENTENCE = 4000
"""Characters; a longer run without an end is cut, so that no pattern has to read a whole file."""


def split_sentences(text: str, mentions: Sequence[Mention] = ()) -> list[Sentence]:
    """Cut a text into sentences; full stops inside an entity's name, a number or an abbreviation end nothing."""
    inside = _inside(mentions)
    sentences: list[Sentence] = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if match.start() in inside or _ABBREVIATION.search(text[max(start, end - 8) : end]):
            continue
        _add_sentence(sentences, text, start, end)
        start = end
    _add_sentence(sentences, text, start, len(text))
    return sentences


def _inside(mentions: Sequence[Mention]) -> set[int]:
    return {position for m in mentions if "." in m.text or "?" in m.text for position in range(m.start, m.end)}


def _add_sentence(sentences: list[Sentence], text: str, start: int, end: int) -> None:
    while start < end:
        stop = min(end, start + _MAX_SENTENCE)
        if stop < end:
            space = text.rfind(" ", start + 1, stop)
            stop = space if space > start else stop
        part = text[start:stop]
        stripped = part.strip()
        if stripped:
            begin = start + part.index(stripped[0])
            sentences.append(Sentence(stripped, begin, begin + len(stripped)))
        start = stop
