"""The power of designs, and what number of subjects or what effect has a power that is wanted."""

from __future__ import annotations


def tost_power(margin, shift, n, alpha, ratio=1.0):
    """Return the power of two one-sided t-tests of groups of n and n * ratio: margin and true difference in SDs.

    Given the standard deviation that is found both tests are normal; the mean over its distribution is Owen's (1965)
    integral, here over 2000 equal parts of it.
    """
    import numpy as np
    from scipy import stats

    df, error = n * (1 + ratio) - 2, ((1 + 1 / ratio) / n) ** 0.5
    found = np.sqrt(stats.chi2.ppf((np.arange(2000) + 0.5) / 2000, df) / df) * stats.t.isf(alpha, df)
    inside = stats.norm.cdf((margin - shift) / error - found) - stats.norm.cdf((-margin - shift) / error + found)
    return float(np.clip(inside, 0, 1).mean())


def planned_power(design, effect, n, alpha, ratio=1.0):
    """Return the power of a design: n subjects a group (pairs, subjects or events where there is one group).

    Two-sided, but for equivalence and non-inferiority, whose one-sided tests are each at alpha. `effect` is Cohen's d
    (difference / SD), a correlation, a hazard ratio, two shares, Cohen's f with the number of groups (`anova`), or
    margin and true difference in SDs (`equivalence`, `non_inferiority`). `ratio` is how many subjects the second of two
    groups has for each of the n of the first (proportions: Fleiss, Tytun and Ury 1980, without their correction).
    """
    import numpy as np
    from scipy import stats

    z = stats.norm.isf(alpha / 2)
    if design == "anova":
        f, k = effect
        df = k * (n - 1)
        return float(stats.ncf.sf(stats.f.isf(alpha, k - 1, df), k - 1, df, n * k * f**2))
    if design == "equivalence":
        return tost_power(*effect, n, alpha, ratio)
    if design == "non_inferiority":
        margin, shift = effect
        df, error = n * (1 + ratio) - 2, ((1 + 1 / ratio) / n) ** 0.5
        return float(stats.nct.sf(stats.t.isf(alpha, df), df, (margin - shift) / error))
    if design in ("two_means", "paired"):
        pairs = design == "paired"
        error = n**-0.5 if pairs else ((1 + 1 / ratio) / n) ** 0.5
        df, shift = n - 1 if pairs else n * (1 + ratio) - 2, effect / error
        limit = stats.t.isf(alpha / 2, df)
        near = stats.nct.sf(limit, df, abs(shift))
        far = stats.nct.cdf(-limit, df, abs(shift))
        return float(min(1.0, near + (far if far == far else 0.0)))
    if design == "proportions":
        p1, p2 = effect
        middle = (p1 + ratio * p2) / (1 + ratio)
        spread = (p1 * (1 - p1) + p2 * (1 - p2) / ratio) ** 0.5
        null = ((1 + 1 / ratio) * middle * (1 - middle)) ** 0.5
        return float(stats.norm.cdf((n**0.5 * abs(p1 - p2) - z * null) / spread))
    if design == "correlation":
        t = stats.t.isf(alpha / 2, n - 2)
        limit = np.arctanh((t**2 / (t**2 + n - 2)) ** 0.5)
        shift = np.arctanh(abs(effect)) + abs(effect) / (2 * (n - 1))
        return float(
            stats.norm.cdf((shift - limit) * (n - 3) ** 0.5) + stats.norm.cdf((-shift - limit) * (n - 3) ** 0.5)
        )
    return float(stats.norm.cdf(abs(np.log(effect)) * (n * ratio) ** 0.5 / (1 + ratio) - z))


def smallest_number(design, effect, power, alpha, ratio=1.0):
    """Return the exact (fractional) number a group (in the first of two unequal ones) that reaches the power."""
    from scipy.optimize import brentq

    low = {"proportions": 1.0, "survival": 1.0, "correlation": 3.5}.get(design, max(1.5, 3 / (1 + ratio)))
    if planned_power(design, effect, low, alpha, ratio) >= power:
        return low
    high = 4.0
    while planned_power(design, effect, high, alpha, ratio) < power:
        high *= 2
        if high > 1e7:
            raise ValueError("More than 10 million subjects would be needed; the effect is too small to plan for.")
    return float(brentq(lambda n: planned_power(design, effect, n, alpha, ratio) - power, low, high, xtol=1e-9))


def smallest_effect(design, n, power, alpha, given=None, ratio=1.0):
    """Return the smallest effect that n subjects a group find with the power, in the form `planned_power` takes.

    Args:
        design: the design.
        n: subjects a group.
        power: the power wanted.
        alpha: the error of a test.
        given: the share of the first group, the number of groups (`anova`) or the true difference (`equivalence`).
        ratio: subjects in the second of two groups for each in the first.
    """
    from math import exp

    from scipy.optimize import brentq

    def reached(effect):
        return planned_power(design, effect, n, alpha, ratio) - power

    if design == "proportions":
        for end in (1 - 1e-9, 1e-9):  # a rise, or a fall where the share is so high that none can be found
            near = given + (1e-9 if end > 0.5 else -1e-9)
            if 0 < near < 1 and reached((given, end)) >= 0:
                return given, float(brentq(lambda p: reached((given, p)), near, end))
        raise ValueError(f"{n} subjects a group cannot find any change of a share of {given:g} with this power.")
    if design == "survival":
        return exp(-brentq(lambda x: reached(exp(x)), 1e-9, 50))
    if design in ("anova", "equivalence", "non_inferiority"):
        low = abs(given) if design != "anova" else 0.0
        if reached((low + 100.0, given)) < 0:
            raise ValueError(f"{n} subjects are too few to find any effect with this power; take more.")
        return float(brentq(lambda x: reached((x, given)), low + 1e-9, low + 100.0, xtol=1e-12)), given
    high = 0.999999 if design == "correlation" else 100.0
    if reached(high) < 0:
        raise ValueError(f"{n} subjects are too few to find any effect with this power; take more.")
    return float(brentq(reached, 1e-9, high, xtol=1e-12))
