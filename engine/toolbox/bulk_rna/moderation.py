"""Linear models of many features, and their variances drawn towards what all features show.

Few samples measure one feature's variance badly; thousands of features tell how variances are spread. Smyth (2004)
takes variances as scaled inverse chi-squared with `d0` degrees of freedom around `s0_squared`, and gives each feature
the variance that its own residuals and these say together. Written from the formulas of that paper.
"""

from __future__ import annotations


def fit_rows(values, factor, others):
    """Fit a linear model to each row over its observed values, and return what of it belongs to one factor.

    Args:
        values: features x samples, NaN where missing.
        factor: one number a sample, whose coefficient is wanted.
        others: samples x k, what is held constant, with the constant.

    Returns:
        Arrays of one number a feature: the coefficient, its standard error for a residual variance of 1, the residual
        variance and its degrees of freedom. NaN (and 0 degrees) where the observed samples do not tell the factor from
        the others, or leave no residual. By the theorem of Frisch, Waugh and Lovell the coefficient is that of the
        factor's part that the others do not explain.
    """
    import numpy as np

    seen = np.isfinite(values)
    effect, unit = np.full(len(values), np.nan), np.full(len(values), np.nan)
    variance, freedom = np.full(len(values), np.nan), np.zeros(len(values))
    # Rows with the same samples missing have the same design, which is solved once.
    patterns, which = np.unique(seen, axis=0, return_inverse=True)
    which = np.asarray(which).ravel()
    for number, here in enumerate(patterns):
        rows = np.flatnonzero(which == number)
        design, x, y = others[here], factor[here], values[rows][:, here].T
        if not len(x):
            continue
        basis, sizes, _ = np.linalg.svd(design, full_matrices=False)
        basis = basis[:, sizes > 1e-9 * max(sizes.max(), 1.0)]
        part = x - basis @ (basis.T @ x)
        left = len(x) - basis.shape[1] - 1
        strength = float(part @ part)
        if left < 1 or strength < 1e-9 * max(float(x @ x), 1.0):
            continue
        slope = part @ y / strength
        residual = y - basis @ (basis.T @ y) - np.outer(part, slope)
        effect[rows], unit[rows] = slope, 1 / np.sqrt(strength)
        variance[rows], freedom[rows] = (residual**2).sum(axis=0) / left, left
    return effect, unit, variance, freedom


def trigamma_inverse(value):
    """Return the y at which trigamma(y) is a value above 0, by Newton's steps on 1 / trigamma, nearly straight."""
    from scipy.special import polygamma

    if value > 1e7:
        return value**-0.5
    if value < 1e-6:
        return 1 / value
    y = 0.5 + 1 / value
    for _ in range(60):
        here = polygamma(1, y)
        step = here * (1 - here / value) / polygamma(2, y)
        y += step
        if abs(step) < 1e-12 * y:
            break
    return float(y)


def prior_of_variances(variance, freedom):
    """Return `d0` and `s0_squared` of variances by the moments of their logarithms (Smyth 2004, section 6.2).

    Where the variances vary no more than their degrees of freedom let them, `d0` is infinite and `s0_squared` the
    pooled variance. Fewer than 3 variances tell no spread: `d0` is 0, each is believed as it stands.
    """
    import numpy as np
    from scipy.special import digamma, polygamma

    usable = np.isfinite(variance) & (freedom > 0)
    s, d = variance[usable], freedom[usable]
    if len(s) < 3 or not (s > 0).any():
        return 0.0, float(s.mean()) if len(s) else float("nan")
    pooled = float((s * d).sum() / d.sum())
    # A residual of exactly zero (rounded values) has no logarithm.
    logs = np.log(np.maximum(s, 1e-5 * np.median(s[s > 0]))) - digamma(d / 2) + np.log(d / 2)
    spread = float(logs.var(ddof=1) - polygamma(1, d / 2).mean())
    if spread <= 0:
        return float("inf"), pooled
    d0 = 2 * trigamma_inverse(spread)
    return d0, float(np.exp(logs.mean() + digamma(d0 / 2) - np.log(d0 / 2)))


def moderated_t(effect, unit, variance, freedom):
    """Return moderated t, its standard error, degrees of freedom and two-sided p, then `d0` and `s0_squared`."""
    import numpy as np
    from scipy import stats

    d0, s0_squared = prior_of_variances(variance, freedom)
    if np.isinf(d0):
        together, total = np.where(freedom > 0, s0_squared, np.nan), np.full(len(freedom), np.inf)
    else:
        together = (d0 * s0_squared + freedom * variance) / (d0 + freedom) if d0 else variance
        total = d0 + freedom
    # All residuals together have no more degrees of freedom than they have.
    total = np.where(freedom > 0, np.minimum(total, freedom.sum()), np.nan)
    error = np.sqrt(together) * unit
    with np.errstate(divide="ignore", invalid="ignore"):
        t = effect / error
    return t, error, total, 2 * stats.t.sf(np.abs(t), total), d0, s0_squared
