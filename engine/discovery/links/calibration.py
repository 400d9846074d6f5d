"""Probabilities that hold on what was hidden, and how good a model was on it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from engine.discovery.links.logistic import fit_nonnegative

KNOTS = (0.25, 0.5, 0.75)
"""Quantiles of the hidden links between which the calibration is straight."""
BINS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True, slots=True)
class Calibration:
    """From a model's log odds to log odds that are right: straight pieces, never falling."""

    knots: np.ndarray
    slopes: np.ndarray
    """Of the pieces between the knots and beyond, one more than knots."""
    intercept: float

    def __call__(self, log_odds: np.ndarray) -> np.ndarray:
        """Return log odds set right."""
        return _pieces(np.asarray(log_odds, dtype=np.float64), self.knots) @ self.slopes + self.intercept


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkQuality:
    """How good a model is on links that were hidden from it."""

    links: int
    auroc: float
    average_precision: float
    prior_auroc: float
    """The same for degrees alone."""
    prior_average_precision: float
    calibration: list[tuple[float, float, int]]
    """Bins of predicted probability: mean predicted, share that are links, links in it."""
    base_rate: float
    """Links among all pairs: what average precision is for a coin."""


def calibrate(log_odds: np.ndarray, linked: np.ndarray, weights: np.ndarray) -> Calibration:
    """Return the calibration that makes log odds of pairs that a model did not see right.

    Args:
        log_odds: of each pair.
        linked: 1 or 0 each.
        weights: how many pairs each stands for.
    """
    knots = np.unique(np.quantile(log_odds[linked > 0], KNOTS))
    slopes, intercept = fit_nonnegative(_pieces(log_odds, knots), linked, weights, 1.0)
    return Calibration(knots, np.maximum(slopes, 1e-3), intercept)  # the order of pairs is kept in any case


def quality_of(log_odds: np.ndarray, prior: np.ndarray, linked: np.ndarray, weights: np.ndarray) -> LinkQuality:
    """Return how good calibrated log odds of hidden pairs are, beside those of degrees alone."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    def ranked(values: np.ndarray) -> tuple[float, float]:
        return (
            float(roc_auc_score(linked, values, sample_weight=weights)),
            float(average_precision_score(linked, values, sample_weight=weights)),
        )

    chance = 1 / (1 + np.exp(-log_odds))
    bins: list[tuple[float, float, int]] = []
    for low, high in itertools.pairwise(BINS):
        inside = (chance >= low) & (chance < high)
        if inside.any():
            mean, share = (float(np.average(one[inside], weights=weights[inside])) for one in (chance, linked))
            bins.append((mean, share, int(linked[inside].sum())))
    whole, alone = ranked(log_odds), ranked(prior)
    return LinkQuality(
        links=int(linked.sum()),
        auroc=whole[0],
        average_precision=whole[1],
        prior_auroc=alone[0],
        prior_average_precision=alone[1],
        calibration=bins,
        base_rate=float(np.average(linked, weights=weights)),
    )


def _pieces(log_odds: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Return how far each value reaches into each piece; the first counts from its knot down (a last axis more)."""
    bounds = [*knots.tolist(), np.inf]
    parts = [np.minimum(log_odds, bounds[0]) - bounds[0]]
    parts += [np.clip(log_odds, low, high) - low for low, high in itertools.pairwise(bounds)]
    return np.stack(parts, axis=-1)
