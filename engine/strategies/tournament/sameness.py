"""When two hypotheses say the same: by their words, and never when they name other things or say the opposite."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from engine.domain.discovery.hypotheses import Hypothesis
from engine.text.letters import plain
from engine.text.negation import NEGATORS
from engine.text.prose import one_line
from engine.text.stems import stem
from engine.text.stopwords import EMPTY

_UP = frozenset("increas activ upregul induc promot enhanc rais stimul gain more higher elev caus worsen".split())
_DOWN = frozenset(
    "decreas inhibit downregul repress suppress reduc lower block loss less lose prevent protect silenc treat".split()
)
_NAME = re.compile(r"\b(?=\w*[A-Z0-9])(?:[A-Z0-9][\w-]*[A-Z0-9]\w*|\w*\d[\w-]*)\b")
"""A word with two capitals or a digit: a gene, a protein, a compound."""


def id_of(text: str) -> str:
    """Return the id of a hypothesis, the same for the same words."""
    return "h" + hashlib.sha256(plain(one_line(text)).encode("utf-8", "replace")).hexdigest()[:8]


def likeness_of_words(hypotheses: Sequence[Hypothesis]) -> np.ndarray:
    """Return (n, n): the cosine of the stems that each two texts share; the form that needs no model."""
    bags = [_stems(one.text) for one in hypotheses]
    place = {word: at for at, word in enumerate(sorted(set().union(*bags)))}
    counts = np.zeros((len(bags), max(1, len(place))))
    for row, bag in zip(counts, bags, strict=True):
        row[[place[word] for word in bag]] = 1
    length = np.sqrt(counts.sum(axis=1))
    return (counts @ counts.T) / np.maximum(1e-9, np.outer(length, length))


def says_other(one: Hypothesis, other: Hypothesis) -> bool:
    """Return whether two hypotheses cannot be one idea however alike their words: other names, or the opposite."""
    if one.entities and other.entities and set(one.entities) != set(other.entities):
        return True
    return _names(one.text) != _names(other.text) or _way(one.text) != _way(other.text)


def _names(text: str) -> set[str]:
    return {plain(name) for name in _NAME.findall(text)}


def _way(text: str) -> tuple[bool, bool, bool]:
    words = _words(text)
    stems = {stem(word) for word in words}
    return (
        any(s.startswith(tuple(_UP)) for s in stems),
        any(s.startswith(tuple(_DOWN)) for s in stems),
        bool(NEGATORS & set(words)),
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", plain(text))


def _stems(text: str) -> set[str]:
    return {stem(word) for word in _words(text) if word not in EMPTY}
