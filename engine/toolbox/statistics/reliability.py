"""How much of what raters say is the subject: intraclass correlations, each form named, and kappas."""

from __future__ import annotations


def stepped_up(value, k):
    """Return the reliability of the mean of k ratings from that of one (Spearman and Brown), NaN beyond its range."""
    return k * value / (1 + (k - 1) * value) if 1 + (k - 1) * value > 0 else float("nan")


def intraclass_rows(matrix):
    """Return the six intraclass correlations of Shrout and Fleiss (1979) with their 95 % F intervals.

    Args:
        matrix: one row a subject, one column a rater, no gaps, at least two of each.
    """
    from scipy.stats import f as f_law

    n, k = matrix.shape
    grand = matrix.mean()
    total = ((matrix - grand) ** 2).sum()
    subjects, raters = k * ((matrix.mean(axis=1) - grand) ** 2).sum(), n * ((matrix.mean(axis=0) - grand) ** 2).sum()
    between, judges = subjects / (n - 1), raters / (k - 1)
    error, within = (total - subjects - raters) / ((n - 1) * (k - 1)), (total - subjects) / (n * (k - 1))
    if between <= 1e-12 * max(1.0, abs(grand)) ** 2:
        return []
    # Ratings that agree to the last digit leave rounding errors for a variance; a relative floor keeps F finite.
    error, within = max(float(error), 1e-12 * float(between)), max(float(within), 1e-12 * float(between))

    def single(ratio):
        return (ratio - 1) / (ratio + k - 1)

    f1, f3 = between / within, between / error
    low1, high1 = f1 / f_law.ppf(0.975, n - 1, n * (k - 1)), f1 * f_law.ppf(0.975, n * (k - 1), n - 1)
    free = (n - 1) * (k - 1)
    low3, high3 = f3 / f_law.ppf(0.975, n - 1, free), f3 * f_law.ppf(0.975, free, n - 1)
    icc2 = (between - error) / (between + (k - 1) * error + k * (judges - error) / n)
    # Satterthwaite's degrees of freedom, as Shrout and Fleiss give them for ICC(2,1).
    ratio = judges / error
    top = free * (k * icc2 * ratio + n * (1 + (k - 1) * icc2) - k * icc2) ** 2
    bottom = (n - 1) * k**2 * icc2**2 * ratio**2 + (n * (1 + (k - 1) * icc2) - k * icc2) ** 2
    v = max(float(top / bottom), 0.02)  # below it the quantile of F is no number any more
    upper, lower = f_law.ppf(0.975, n - 1, v), f_law.ppf(0.975, v, n - 1)
    low2 = n * (between - upper * error) / (upper * (k * judges + (k * n - k - n) * error) + n * between)
    high2 = n * (lower * between - error) / (k * judges + (k * n - k - n) * error + n * lower * between)
    # Of few subjects with a negative ICC the approximate interval may miss the estimate itself.
    forms = [
        ("ICC(2,1)", icc2, min(low2, icc2), max(high2, icc2), "two-way random, single rating, absolute agreement"),
        ("ICC(3,1)", single(f3), single(low3), single(high3), "two-way mixed, single rating, consistency"),
        ("ICC(1,1)", single(f1), single(low1), single(high1), "one-way random, single rating"),
    ]
    rows = [
        {"measure": name, "estimate": float(value), "lower_95": float(low), "upper_95": float(high), "method": text}
        for name, value, low, high, text in forms
    ]
    rows += [
        {"measure": name.replace(",1)", f",{k})"), "estimate": float(stepped_up(value, k)),
         "lower_95": float(stepped_up(low, k)), "upper_95": float(stepped_up(high, k)),
         "method": text.replace("single rating", f"mean of {k} ratings")}
        for name, value, low, high, text in forms
    ]  # fmt: skip
    return rows


def kappa_row(counts, weights):
    """Return Cohen's kappa of a square table of counts with its 95 % interval (Fleiss, Cohen and Everitt 1969).

    Args:
        counts: first rater in rows, second in columns, levels in the same order.
        weights: `none`, `linear` or `quadratic` (1 minus the squared distance over its maximum).
    """
    import numpy as np

    shares, size = counts / counts.sum(), len(counts)
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) / max(size - 1, 1)
    weight = {"none": np.eye(size), "linear": 1 - apart, "quadratic": 1 - apart**2}[weights]
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float((weight * shares).sum()), float((weight * np.outer(rows, columns)).sum())
    name = {"none": "kappa", "linear": "weighted kappa (linear)", "quadratic": "weighted kappa (quadratic)"}[weights]
    row = {"measure": name, "method": f"observed {observed:.4g}, by chance {expected:.4g}"}
    if expected >= 1 - 1e-12:
        return row | {"method": "not defined: both raters used one and the same level only"}
    kappa = (observed - expected) / (1 - expected)
    mean_row, mean_column = weight @ columns, rows @ weight
    spread = shares * (weight - (1 - kappa) * np.add.outer(mean_row, mean_column)) ** 2
    variance = (spread.sum() - (kappa - expected * (1 - kappa)) ** 2) / ((1 - expected) ** 2 * counts.sum())
    half = 1.959963984540054 * float(np.sqrt(max(variance, 0.0)))
    return row | {"estimate": kappa, "lower_95": max(-1.0, kappa - half), "upper_95": min(1.0, kappa + half)}


def fleiss_row(counts):
    """Return Fleiss' kappa (1971) of three or more raters with its 95 % interval by a jackknife over the subjects.

    Args:
        counts: one row a subject, one column a level: how many raters gave it; as many raters for every subject.
    """
    import numpy as np

    n, raters = len(counts), counts[0].sum()
    alike = ((counts**2).sum(axis=1) - raters) / (raters * (raters - 1))
    shares = counts.sum(axis=0)

    def kappa(agreed, of, rated):
        chance = ((rated / rated.sum(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
        return (agreed / of - chance) / (1 - chance)

    row = {"pair": "all", "measure": "Fleiss kappa", "method": f"{raters:g} raters, jackknife over subjects"}
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = float(kappa(alike.sum(), n, shares))
        without = kappa(alike.sum() - alike, n - 1, shares - counts)
    if estimate != estimate:
        return row | {"method": "not defined: every rating is one and the same level"}
    if not np.isfinite(without).all():
        return row | {"estimate": estimate, "method": f"{raters:g} raters; no interval: one subject decides"}
    half = 1.959963984540054 * float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))
    return row | {"estimate": estimate, "lower_95": max(-1.0, estimate - half), "upper_95": min(1.0, estimate + half)}


def share_of_agreement(same, n):
    """Return the row of the share of subjects rated alike, with Wilson's interval."""
    from scipy.stats import binomtest

    limits = binomtest(int(same), int(n)).proportion_ci(method="wilson")
    return {"measure": "share rated alike", "estimate": same / n, "lower_95": float(limits.low),
            "upper_95": float(limits.high), "method": "Wilson's interval"}  # fmt: skip
