"""From measures of the best answer to the probability that it answers at all: a fitted logistic model.

No single threshold tells nonsense from a question in everyday words: both are far from every text. Several weak
measures together do (how near the nearest is and how far it leads, how much of the question it covers, how rare the
words are that meet), and only a model fitted on questions with known answers says what each is worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Confidence:
    """A probability from named measures."""

    weights: Mapping[str, float]
    bias: float

    def probability(self, measures: Mapping[str, float]) -> float:
        """Return 0 to 1; measures that are missing count as 0."""
        total = self.bias + sum(weight * measures.get(name, 0.0) for name, weight in self.weights.items())
        return float(1 / (1 + np.exp(-np.clip(total, -30, 30))))

    @classmethod
    def fit(
        cls,
        measures: Sequence[Mapping[str, float]],
        answered: Sequence[bool],
        *,
        ridge: float = 1.0,
        share: np.ndarray | None = None,
    ) -> Confidence:
        """Fit by Newton's method.

        Args:
            measures: for each question; the names of the first are used.
            answered: whether the answer to each was one.
            ridge: how much large weights are held back, on measures brought to unit variance.
            share: how much each counts; when None, both outcomes count the same in all, however many there are of each.
        """
        names = list(measures[0])
        values = np.array([[row.get(name, 0.0) for name in names] for row in measures])
        mean = np.average(values, axis=0, weights=share)
        scale = np.maximum(np.sqrt(np.average((values - mean) ** 2, axis=0, weights=share)), 1e-9)
        design = np.column_stack([(values - mean) / scale, np.ones(len(values))])
        outcome = np.asarray(answered, float)
        if share is None:
            many = max(1.0, outcome.sum()), max(1.0, (1 - outcome).sum())
            share = np.where(outcome > 0, 0.5 / many[0], 0.5 / many[1]) * len(outcome)
        penalty = ridge * np.append(np.ones(len(names)), 0.0)
        found = np.zeros(len(names) + 1)
        for _ in range(50):
            expected = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
            slope = design.T @ (share * (expected - outcome)) + penalty * found
            curve = (design * (share * expected * (1 - expected))[:, None]).T @ design + np.diag(penalty + 1e-9)
            step = np.linalg.solve(curve, slope)
            found -= step
            if np.abs(step).max() < 1e-8:
                break
        weights = found[:-1] / scale
        return cls(
            dict(zip(names, weights.round(6).tolist(), strict=True)), round(float(found[-1] - weights @ mean), 6)
        )
