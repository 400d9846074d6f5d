"""Whether anything in the catalogues fits a question at all, which the order of the tools cannot say.

The best of 10,000 tools is always something. So a question is measured by how near the nearest tool and the nearest
method are in words and in meaning, how near it is to what people also ask for and no tool does (`data/elsewhere.tsv`),
and how much of it no tool has; a model fitted on questions with known answers (`data/match.json`, made by
`python -m benchmarks.fit_match`) says how sure that makes it. What else was tried is in docs/adr/0026.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from engine.retrieval.indexes.index import Nearness, ToolIndex
from engine.retrieval.understanding import Understood
from engine.search.confidence import Confidence

SURE_WORDS = 12.0
"""A lexical score with a method at and above which the method is certain by words."""
_MOST_WORDS = 1.5
"""What such a score counts at most, as a share of that."""
GOOD, NONE = 0.5, 0.03
"""Probabilities from which on the best tools are said to fit, and below which none is shown."""
_SHOWN = {"nearest": "nearest", "method": "nearest_method", "elsewhere": "nearest_elsewhere", "share": "share_of_words"}
NOTHING = "No tool in the catalogues has to do with this question; try other words for what you want to do."
WEAK = (
    "Nothing in the catalogues matches this question well. What follows is only the nearest there is; try other words "
    "for what you want to do with your data."
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for the best tools."""

    measures: dict[str, float]
    """`share` (0 to 1, of what the question says by rarity, that the best tool by words has), `method_words` and
    `elsewhere_words` (lexical scores, 1 is certain), `unknown` (share of words that no tool has); with vectors also
    `nearest`, `method`, `elsewhere` (cosines)."""
    words: int
    """How many the question has."""
    suite: bool
    """Whether one of them is in the name of the suite of the best tool by words."""

    @property
    def probability(self) -> float:
        """The probability, 0 to 1, that a tool among the best does what is asked."""
        return _models()["vectors" if "nearest" in self.measures else "words"].probability(self.measures)

    @property
    def nothing(self) -> bool:
        """Say whether no tool has to do with the question.

        A question of unknown words only says so sooner; a single known word is too little to say so, and a method
        that is named word for word, and that a tool here is for, is something.
        """
        if self.measures["unknown"] == 1:
            return self.weak
        return self.probability < NONE and self.words > 1 and self.measures["method_words"] < 1

    @property
    def weak(self) -> bool:
        """Say whether what fits best still fits badly; the name of a suite is right, whatever else it means."""
        return self.probability < GOOD and not (self.words == 1 and self.suite)

    def figures(self) -> dict[str, float]:
        """Return the chief measures by name, for people who want to see them."""
        shown = {name: self.measures[measure] for measure, name in _SHOWN.items() if measure in self.measures}
        return {name: round(value, 4) for name, value in {**shown, "probability": self.probability}.items()}


@cache
def _models() -> dict[str, Confidence]:
    """Return the model for questions with a vector (`vectors`) and for words alone (`words`)."""
    kept = json.loads(files("engine.retrieval").joinpath("data", "match.json").read_text(encoding="utf-8"))
    return {name: Confidence(**model) for name, model in kept.items()}


def weigh(
    index: ToolIndex, asked: Understood, direct: np.ndarray, cosines: np.ndarray | None, methods: Nearness | None
) -> Evidence:
    """Measure how well a question is answered at all.

    Args:
        index: the tools, at least one.
        asked: the question, with a word at least.
        direct: every tool's lexical score for its words.
        cosines: every tool's cosine with the question, or None.
        methods: how near the question is to the methods, or None.
    """
    best = int(np.argmax(direct))
    whole = index.texts.whole(asked.words)
    everything = whole + index.texts.rarest * len(asked.unknown)
    count = len(asked.words) + len(asked.unknown)
    share = index.texts.coverage(best, asked.words) * whole / everything
    # A method that no tool here is known for says of a match what the words of the best tool say, and no more.
    counts = np.where(index.served, 1.0, share)
    measures = {
        "share": share,
        "method_words": _certainty(index.methods.words.bm25(asked.words) * counts),
        "elsewhere_words": _certainty(index.methods.elsewhere.bm25(asked.words)),
        "unknown": len(asked.unknown) / count,
    }
    if cosines is not None and methods is not None:
        nearest = {"nearest": float(cosines.max()), "method": float((methods.all_texts * counts).max())}
        measures |= {**nearest, "elsewhere": methods.elsewhere}
    return Evidence(measures, count, not index.suite_words(best).isdisjoint(asked.words))


def _certainty(scores: np.ndarray) -> float:
    return min(_MOST_WORDS, float(scores.max(initial=0.0)) / SURE_WORDS)
