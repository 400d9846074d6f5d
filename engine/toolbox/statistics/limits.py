"""How far one method may lie from another: bias, limits of agreement and their intervals.

Rows of one subject say little new of another: where subjects have several pairs the limits come from the variance
between and within subjects, and intervals rest on the number of subjects.
"""

from __future__ import annotations

from engine.toolbox.tables.columns import format_number, format_p, new_axes, palette


def limit_rows(bias, half, sd, wide, method):
    """Return the rows of bias, limits and SD; `half` and `wide` are how far the intervals reach (inner, outer end)."""
    z = 1.959963984540054
    rows = [{"measure": "bias", "estimate": bias, "lower_95": bias - half, "upper_95": bias + half,
             "method": f"mean of first minus second, t interval{method}"}]  # fmt: skip
    inner, outer = wide
    for name, side, sign in (("lower limit", -1, "-"), ("upper limit", 1, "+")):
        at = bias + side * z * sd
        low, high = (outer, inner) if side < 0 else (inner, outer)
        rows.append({"measure": name, "estimate": at, "lower_95": at - low, "upper_95": at + high,
                     "method": f"bias {sign} 1.96 SD of the differences{method}"})  # fmt: skip
    return [*rows, {"measure": "SD of differences", "estimate": sd, "method": f"SD of first minus second{method}"}]


def spoiling_notes(gaps, means):
    """Return the slope of the differences (estimate, t limits, p) or None, and what makes one pair of limits unfit."""
    import numpy as np
    from scipy import stats

    n, notes = len(gaps), []
    if np.ptp(gaps) <= 1e-9 * np.abs(gaps).max() or np.ptp(means) == 0 or n < 10:
        return None, notes
    line = stats.linregress(means, gaps)
    half = float(stats.t.ppf(0.975, n - 2) * line.stderr)
    slope = (float(line.slope), float(line.slope) - half, float(line.slope) + half, float(line.pvalue))
    rest = gaps - line.intercept - line.slope * means
    if np.abs(rest).max() <= 1e-9 * np.abs(gaps).max():
        return slope, [f"The difference is an exact straight line over the size (slope {format_number(slope[0])}): is "
                       "one of the columns computed from the other?"]  # fmt: skip
    fan = stats.spearmanr(means, np.abs(rest))
    if line.pvalue < 0.01:
        notes.append(f"The difference changes with the size measured (slope {format_number(slope[0])} per unit, "
                     f"{format_p(slope[3])}): one bias does not hold for all. A slope also appears where one method "
                     "merely scatters more than the other.")  # fmt: skip
    if fan.pvalue < 0.01 and fan.statistic > 0:
        notes.append("Differences grow with the size measured: the limits are too wide for small values and too "
                     "narrow for large ones; compare logarithms, so that limits become ratios.")  # fmt: skip
    if n <= 5000 and stats.shapiro(gaps).pvalue < 0.01:
        notes.append("The differences are not normal (Shapiro-Wilk, p < 0.01): about 95 % between the limits holds "
                     "only roughly; look for outlying pairs in the figure.")  # fmt: skip
    return slope, notes


def limits_of_agreement(first, second):
    """Return the rows of Bland and Altman's analysis of first minus second, and what may spoil it.

    Bias with its t interval; limits bias -+ 1.96 SD with intervals from their standard error
    s sqrt(1/n + 1.96^2 / (2 (n - 1))) (Bland and Altman 1999); the slope of the differences over the means, which is
    a bias that changes with the size; all in the unit of the columns.
    """
    import numpy as np
    from scipy import stats

    gaps, n = first - second, len(first)
    bias, sd, z = float(gaps.mean()), float(gaps.std(ddof=1)), 1.959963984540054
    t = float(stats.t.ppf(0.975, n - 1))
    wide = t * sd * float(np.sqrt(1 / n + z**2 / (2 * (n - 1))))
    rows = limit_rows(bias, float(t * sd / np.sqrt(n)), sd, (wide, wide), "")
    slope, notes = spoiling_notes(gaps, (first + second) / 2)
    if slope:
        method = f"slope of the difference over the mean, least squares; {format_p(slope[3])}"
        rows.append({"measure": "proportional bias", "estimate": slope[0], "lower_95": slope[1], "upper_95": slope[2],
                     "method": method})  # fmt: skip
    return rows, notes


def repeated_limits(first, second, subjects):
    """Return the same rows where subjects have several pairs (Bland and Altman 2007), and what may spoil it.

    The variance of a single difference is that of the subjects' means plus (1 - 1/m) of the variance within subjects,
    m the harmonic mean of the pairs a subject; its interval, and by it that of the limits, recovers the variances of
    both parts (MOVER, Zou 2013). The bias is the mean of the subjects' means, on (subjects - 1) degrees of freedom.
    """
    import numpy as np
    import pandas as pd
    from scipy import stats

    gaps = pd.Series(first - second)
    by = gaps.groupby(np.asarray(subjects))
    means, sizes = by.mean(), by.size()
    n, total, z = len(means), len(gaps), 1.959963984540054
    share = 1 - float((1 / sizes).mean())
    within = float(((gaps - by.transform("mean")) ** 2).sum() / (total - n))
    between, bias = float(means.var(ddof=1)), float(means.mean())
    variance = between + share * within
    parts = ((between, n - 1), (share * within, total - n))

    def recovered(tail):
        return sum((part * (df / stats.chi2.ppf(tail, df) - 1)) ** 2 for part, df in parts) ** 0.5

    sd = variance**0.5
    low, high = max(0.0, variance - recovered(0.975)) ** 0.5, (variance + recovered(0.025)) ** 0.5
    half = float(stats.t.ppf(0.975, n - 1) * (between / n) ** 0.5)
    inner, outer = (float(np.hypot(half, z * (end - sd))) for end in (low, high))
    said = f"; {total} pairs of {n} subjects (Bland and Altman 2007, Zou 2013)"
    rows = limit_rows(bias, half, sd, (inner, outer), said)
    rows += [{"measure": f"SD {name} subjects", "estimate": value**0.5,
              "method": "of the differences, analysis of variance"}
             for name, value in (("between", max(0.0, variance - within)), ("within", within))]  # fmt: skip
    whole = pd.Series((first + second) / 2).groupby(np.asarray(subjects)).mean()
    return rows, spoiling_notes(means.to_numpy(), whole.to_numpy())[1]


def difference_figure(pairs, unit):
    """Draw the difference against the mean of every pair of methods, with bias, limits and their intervals."""
    import numpy as np

    figure, axes = new_axes(width=min(18, 5.6 * len(pairs) + 0.8), panels=len(pairs))
    colours = palette(6)
    for axis, ((a, b), first, second, rows) in zip(np.atleast_1d(axes), pairs, strict=True):
        axis.scatter((first + second) / 2, first - second, s=20, color=colours[0], alpha=0.75, edgecolor="white",
                     linewidth=0.4, zorder=3)  # fmt: skip
        for row, colour, style in zip(rows[:3], (colours[5], "0.3", "0.3"), ("-", "--", "--"), strict=True):
            axis.axhline(row["estimate"], color=colour, linestyle=style, linewidth=1.1)
            axis.axhspan(row["lower_95"], row["upper_95"], color=colour, alpha=0.1, linewidth=0)
            axis.annotate(f"{row['measure']} {format_number(row['estimate'])}", (0.99, row["estimate"]),
                          xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)  # fmt: skip
        axis.axhline(0, color="0.7", linewidth=0.7)
        axis.set_xlabel(f"mean of {a} and {b}" + (f" ({unit})" if unit else ""))
        axis.set_ylabel(f"{a} minus {b}" + (f" ({unit})" if unit else ""))
        axis.set_title(f"n = {len(first)}; bands: 95 % CI", fontsize=9)
    return figure
