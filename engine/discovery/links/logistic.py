"""A logistic model whose weights are never below zero, fitted with a penalty on their squares.

Each feature counts paths, and a path is a reason for a link or none; a weight below zero would only take back what a
feature like it said too much. On Hetionet, fold by fold, it is better than free weights (ADR 37).
"""

from __future__ import annotations

import numpy as np

START = -5.0
"""Where the intercept begins; links are rare."""


def fit_nonnegative(
    features: np.ndarray, linked: np.ndarray, weights: np.ndarray, penalty: float
) -> tuple[np.ndarray, float]:
    """Return weights and intercept of the smallest weighted log loss plus `penalty / 2` times the squared weights.

    Args:
        features: a row for each pair.
        linked: 1 or 0 each.
        weights: how many pairs each stands for.
        penalty: 0 or more; it does not hold the intercept.
    """
    from scipy.optimize import minimize

    signs = np.where(linked > 0, 1.0, -1.0)

    def loss(guess: np.ndarray) -> tuple[float, np.ndarray]:
        margins = signs * (features @ guess[1:] + guess[0])
        slopes = -weights * signs / (1 + np.exp(np.clip(margins, -500, 500)))
        value = float(weights @ np.logaddexp(0, -margins)) + penalty / 2 * float(guess[1:] @ guess[1:])
        return value, np.r_[slopes.sum(), features.T @ slopes + penalty * guess[1:]]

    start = np.r_[START, np.zeros(features.shape[1])]
    bounds = [(None, None), *[(0, None)] * features.shape[1]]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return found[1:], float(found[0])
