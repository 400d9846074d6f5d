"""How well the best tools fit a question at all: a search always has a best hit, so its score cannot tell.

Three things are measured: the cosine of the nearest tool, the cosine of the nearest method of the table, and the share
of what the question says (its words weighted by rarity, unknown ones as rare as can be) that the best tool by words
has. The floors were set between questions of the development catalogues and the first fifty of
`benchmarks/retrieval_off_topic.txt`, which have nothing to do with the life sciences, and checked on the rest of those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.retrieval.index import ToolIndex

SURE_WORDS = 12.0
"""A lexical score with a method at and above which the method is certain by words."""
_UNKNOWN = 9.0
"""What a word weighs that no description has: as much as a word of one in 10,000."""
_NO_SENSE = 0.45
_OFF_TOPIC = 0.36
_DOUBTFUL = 0.47
_FAR = 0.3
_MOST = 0.75
_HALF = 0.5
NOTHING = "No tool in the catalogues has to do with this question; try other words for what you want to do."
WEAK = (
    "Nothing in the catalogues matches this question well. What follows is only the nearest there is; try other words "
    "for what you want to do with your data."
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for the best tools. Cosines are None without vectors."""

    nearest: float | None
    """Cosine of the question with the tool nearest in meaning."""
    method: float | None
    """Cosine of the question with the nearest method of the table."""
    by_words: float
    """Lexical score of the best method."""
    share: float
    """0 to 1: how much of what the question says the best tool by words has."""
    names: bool
    """Whether a word of the question is in the name of the suite of the best tool by words."""
    known: int
    unknown: int
    """How many words of the question some description has, and how many none has."""

    @property
    def sure(self) -> bool:
        """Say whether the question names a method in so many words."""
        return self.by_words >= SURE_WORDS

    @property
    def nothing(self) -> bool:
        """Say whether no tool has to do with the question."""
        most_known = self.known > self.unknown
        if self.nearest is None:
            return not self.known or self.share == 0 or self.known < self.unknown
        if not most_known:
            return self.nearest < _NO_SENSE
        if self.known + self.unknown < 2 or self.sure or self.share >= _MOST:
            return False
        return max(self.nearest, self.method or 0.0) < _OFF_TOPIC

    @property
    def weak(self) -> bool:
        """Say whether what fits best still fits badly."""
        if self.sure:
            return False
        if self.nearest is None:
            return self.share < _HALF
        if self.nearest < _FAR:
            return not (self.names and self.share >= _MOST)
        near_method = self.method is not None and self.method >= _OFF_TOPIC
        return self.share < _MOST and self.nearest < (_OFF_TOPIC if near_method else _DOUBTFUL)

    def figures(self) -> dict[str, float]:
        """Return the measures by name, for people who want to see them."""
        figures = {"nearest": self.nearest, "nearest_method": self.method, "share_of_words": self.share}
        return {name: round(value, 4) for name, value in figures.items() if value is not None}


def weigh(
    index: ToolIndex,
    wanted: dict[str, float],
    unknown: Sequence[str],
    direct: np.ndarray,
    cosines: np.ndarray | None,
    vector: np.ndarray | None,
) -> Evidence:
    """Measure how well a question is answered at all.

    Args:
        index: the tools, at least one.
        wanted: the question's known words with weights.
        unknown: its unknown words.
        direct: every tool's lexical score for those words.
        cosines: every tool's cosine with the question, or None.
        vector: the question's unit vector, or None.
    """
    methods = index.methods
    best = int(np.argmax(direct))
    # Words that only the table of methods knows are in no description, so they are as rare as can be.
    weights = {word: (index.texts.idf(word) or _UNKNOWN) * weight for word, weight in wanted.items()}
    total = sum(weights.values()) + _UNKNOWN * len(unknown)
    there = sum(weight for word, weight in weights.items() if direct[best] > 0 and index.texts.words.has(best, word))
    near_method = None
    if methods.vectors is not None and vector is not None:
        near_method = methods.nearness(vector)[1]
    return Evidence(
        nearest=None if cosines is None else float(cosines.max()),
        method=None if near_method is None else float(near_method.max()),
        by_words=float(methods.words.bm25(wanted).max(initial=0.0)),
        share=there / total if total else 0.0,
        names=bool(index.suite_words(best) & wanted.keys()),
        known=len(wanted),
        unknown=len(unknown),
    )
