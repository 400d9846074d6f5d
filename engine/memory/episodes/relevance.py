"""From what was measured to the order of the candidates and to the probability that they answer.

Two logistic models, of which `relevance.json` keeps the weights, once with and once without vectors: one says which of
two episodes a question rather means, the other whether the best of them answers it at all. The best episode's
relevance is that probability; the others' is lower by as much as they are behind. `python -m benchmarks.fit_recall`
fits them, and shifts the second so that the usual least relevance of 0.25 keeps silent where it should.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from engine.memory.episodes.measures import Measured
from engine.search.confidence import Confidence

ORDER = ("words", "coverage", "near", "cosine", "standing", "entities", "tools", "domains")
"""Measures that decide the order; the meaning's two are left out without vectors."""
FALL = 0.18
"""How fast the relevance falls with the distance from the best."""
LEADERS = 3
"""How many of the best the best nearness is taken of."""


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """The weights for one way of recalling."""

    order: Confidence
    answers: Confidence

    def scores(self, measures: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return what candidates are ordered by: the log odds that an episode is meant, any other things equal."""
        weighed = [weight * measures[name] for name, weight in self.order.weights.items()]
        return np.sum(weighed, axis=0) + self.order.bias

    def relevance(self, found: Measured) -> np.ndarray:
        """Return the relevance of each candidate, 0 to 1."""
        scores = self.scores(found.measures)
        if not len(scores):
            return scores
        answers = self.answers.probability(of_the_best(found, scores))
        return answers * np.exp(FALL * (scores - scores.max()))


def of_the_best(found: Measured, scores: np.ndarray) -> dict[str, float]:
    """Return what is asked of the best candidates to know whether they answer."""
    order = np.argsort(-scores, kind="stable")
    first, measures = order[0], found.measures
    return {
        "score": float(scores[first]),
        "near": float(measures["near"][order[:LEADERS]].max()),
        "missing": float(measures["missing"][first]),
        "strangest": float(measures["strangest"][first]),
        "technical": found.technical,
        "length": found.length,
        "hinted": float(found.hinted),
    }


@cache
def models() -> dict[str, RelevanceModel]:
    """Return the fitted models: `vectors` and `words`."""
    text = resources.files("engine.memory.episodes").joinpath("relevance.json").read_text(encoding="utf-8")
    return {
        way: RelevanceModel(*(Confidence(part["weights"], part["bias"]) for part in (model["order"], model["answers"])))
        for way, model in json.loads(text).items()
    }
