"""One effect of many: weighted means, the variance between studies by several estimators, and what may spoil them."""

from __future__ import annotations


def dersimonian_laird(y, v):
    """Return tau2 by the method of moments of DerSimonian and Laird (1986), 0 where it is negative."""
    w = 1 / v
    q = (w * (y - (w * y).sum() / w.sum()) ** 2).sum()
    return max(0.0, float((q - (len(y) - 1)) / (w.sum() - (w**2).sum() / w.sum())))


def restricted_likelihood(y, v):
    """Return tau2 by restricted maximum likelihood (Viechtbauer 2005): the best root of the likelihood's slope, or 0.

    Few studies can have several maxima, one of them at 0; climbing from one start ends in any of them.
    """
    import numpy as np
    from scipy.optimize import brentq

    unit = float(v.mean())  # so that what counts as 0 does not depend on the unit of the effect
    y, v = y / unit**0.5, v / unit

    def slope(tau2):
        w = 1 / (v + tau2)
        residual = y - (w * y).sum() / w.sum()
        return float((w**2 * residual**2).sum() - w.sum() + (w**2).sum() / w.sum())

    def likelihood(tau2):
        w = 1 / (v + tau2)
        mean = (w * y).sum() / w.sum()
        return float(np.log(w).sum() - np.log(w.sum()) - (w * (y - mean) ** 2).sum()) / 2

    top = 4 * float(y.var(ddof=1) + v.max())
    grid = [0.0, *np.geomspace(1e-8 * top, top, 200)]
    rising = [slope(tau2) > 0 for tau2 in grid]
    ends = [0.0] if not rising[0] else []
    turns = [n for n in range(len(grid) - 1) if rising[n] and not rising[n + 1]]
    ends += [brentq(slope, grid[n], grid[n + 1], xtol=1e-14) for n in turns]
    return max(ends, key=likelihood) * unit


def generalised_q(y, v, tau2):
    """Return the weighted squares of the effects about their mean, the variance between studies being tau2."""
    w = 1 / (v + tau2)
    return float((w * (y - (w * y).sum() / w.sum()) ** 2).sum())


def paule_mandel(y, v):
    """Return tau2 at which the weighted squares equal their degrees of freedom (Paule and Mandel 1982), or 0."""
    from scipy.optimize import brentq

    wanted, top = len(y) - 1.0, float(max(v.max(), y.var(ddof=1), 1e-300))
    if generalised_q(y, v, 0.0) <= wanted:
        return 0.0
    while generalised_q(y, v, top) > wanted:
        top *= 2
    return float(brentq(lambda tau2: generalised_q(y, v, tau2) - wanted, 0.0, top, xtol=1e-14 * top, rtol=1e-13))


def tau2_interval(y, v):
    """Return the 95 % interval of tau2 by Q-profile (Viechtbauer 2007)."""
    from scipy import stats
    from scipy.optimize import brentq

    def q(tau2):
        return generalised_q(y, v, tau2)

    limits = []
    for share in (0.975, 0.025):
        wanted, top = stats.chi2.ppf(share, len(y) - 1), float(max(v.max(), y.var(ddof=1), 1e-300))
        while q(top) > wanted:
            top *= 2
        limits.append(brentq(lambda t, wanted=wanted: q(t) - wanted, 0, top, xtol=1e-14) if q(0) > wanted else 0.0)
    return limits[0], limits[1]


def pool(y, v, tau2):
    """Return the weighted mean and its standard error for a given tau2."""
    w = 1 / (v + tau2)
    return float((w * y).sum() / w.sum()), float(w.sum() ** -0.5)


def pooled_rows(y, v, between):
    """Return the rows of the pooled table: fixed, one a random-effects estimator, REML with Hartung-Knapp's error.

    Args:
        y: effects of the studies.
        v: their variances.
        between: tau2 by `dersimonian_laird`, `reml` and `paule_mandel`.
    """
    import numpy as np
    from scipy import stats

    rows, k = [], len(y)
    models = {"fixed effect (inverse variance)": 0.0,
              "random effects (DerSimonian-Laird)": between["dersimonian_laird"],
              "random effects (REML)": between["reml"], "random effects (REML), Hartung-Knapp": between["reml"],
              "random effects (Paule-Mandel)": between["paule_mandel"]}  # fmt: skip
    for model, tau2 in models.items():
        mean, se = pool(y, v, tau2)
        score, critical = mean / se, stats.norm.ppf(0.975)
        p_value = 2 * stats.norm.sf(abs(score))
        if "Hartung" in model:
            w = 1 / (v + tau2)
            se *= float(np.sqrt((w * (y - mean) ** 2).sum() / (k - 1)))
            if se < 1e-9 * w.sum() ** -0.5:  # studies that agree to the last digit leave no scatter to go by
                continue
            score, critical = mean / se, stats.t.ppf(0.975, k - 1)
            p_value = 2 * stats.t.sf(abs(score), k - 1)
        row = {"model": model, "studies": k, "estimate": mean, "se": se, "lower_95": mean - critical * se,
               "upper_95": mean + critical * se, "statistic": score, "p_value": float(p_value)}  # fmt: skip
        if "random" in model:
            row["tau2"] = tau2
            if k >= 3 and "Hartung" not in model:
                half = stats.t.ppf(0.975, k - 2) * np.sqrt(tau2 + se**2)
                row |= {"prediction_lower": mean - half, "prediction_upper": mean + half}
        rows.append(row)
    return rows


def heterogeneity_row(y, v, tau2, method):
    """Return Q with its test, tau2 with its interval, and I2 and H2 that follow from tau2 (as in metafor)."""
    from scipy import stats

    w, k = 1 / v, len(y)
    q = generalised_q(y, v, 0.0)
    typical = float((k - 1) * w.sum() / (w.sum() ** 2 - (w**2).sum()))
    low, high = tau2_interval(y, v)
    share = [100 * t / (t + typical) for t in (tau2, low, high)]
    return {"heterogeneity": method, "studies": k, "Q": q, "df": k - 1, "p_value": float(stats.chi2.sf(q, k - 1)),
            "tau2": tau2, "tau2_lower_95": low, "tau2_upper_95": high, "tau": tau2**0.5, "I2": share[0],
            "I2_lower_95": share[1], "I2_upper_95": share[2],
            "I2_from_Q": max(0.0, 100 * (q - k + 1) / q) if q > 0 else 0.0, "H2": tau2 / typical + 1}  # fmt: skip


def egger_test(y, v):
    """Return Egger's regression (effect / se on 1 / se): intercept, its error, t and p, or None."""
    import numpy as np
    from scipy import stats

    se = np.sqrt(v)
    if len(y) < 4 or np.ptp(1 / se) < 1e-9 * (1 / se).max():
        return None
    fit = stats.linregress(1 / se, y / se)
    if not fit.intercept_stderr > 0:
        return None
    t = fit.intercept / fit.intercept_stderr
    return {"intercept": float(fit.intercept), "se": float(fit.intercept_stderr), "t": float(t), "df": len(y) - 2,
            "p_value": float(2 * stats.t.sf(abs(t), len(y) - 2))}  # fmt: skip
