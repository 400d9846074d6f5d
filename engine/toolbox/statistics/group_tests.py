"""Why apart: the two-group and many-group tests as plain numbers, so that each can be held against published ones.

Every function takes samples and returns the numbers of a table row; reading columns, choosing a test and
wording its result are in `groups`.
"""

from __future__ import annotations


def shift_estimate(walsh, centre, spread):
    """Return the median of pairwise differences and its distribution-free 95 % interval, where one exists."""
    import numpy as np

    size = np.abs(walsh).max(initial=0.0)
    walsh = np.sort(np.where(np.abs(walsh) < 1e-12 * size, 0.0, walsh))  # a difference of equal values is none
    rank = int(np.floor(centre - 1.959964 * spread))
    if rank < 1:
        return float(np.median(walsh)), float("nan"), float("nan")
    return float(np.median(walsh)), float(walsh[rank - 1]), float(walsh[len(walsh) - rank])


def independent_test(first, second, test):
    """Compare two independent samples two-sided, first minus second; return the row's numbers."""
    import numpy as np
    from scipy import stats

    n_1, n_2 = len(first), len(second)
    if test in ("welch_t", "student_t"):
        result = stats.ttest_ind(first, second, equal_var=test == "student_t")
        interval = result.confidence_interval(0.95)
        df = n_1 + n_2 - 2
        pooled = np.sqrt(((n_1 - 1) * np.var(first, ddof=1) + (n_2 - 1) * np.var(second, ddof=1)) / df)
        difference = float(np.mean(first) - np.mean(second))
        return {
            "estimate": "mean difference", "difference": difference, "lower_95": float(interval.low),
            "upper_95": float(interval.high), "statistic": float(result.statistic), "df": float(result.df),
            "p_value": float(result.pvalue), "effect_size": float(difference / pooled * (1 - 3 / (4 * df - 1))),
            "effect_size_type": "Hedges g",
        }  # fmt: skip
    exact = max(n_1, n_2) < 50 and len(np.unique(np.concatenate([first, second]))) == n_1 + n_2
    result = stats.mannwhitneyu(first, second, alternative="two-sided", method="exact" if exact else "asymptotic")
    if n_1 * n_2 <= 4_000_000:
        spread = np.sqrt(n_1 * n_2 * (n_1 + n_2 + 1) / 12)
        shift = shift_estimate(np.subtract.outer(first, second).ravel(), n_1 * n_2 / 2, spread)
        estimate = "Hodges-Lehmann shift"
    else:
        shift, estimate = (float(np.median(first) - np.median(second)), np.nan, np.nan), "difference of medians"
    return {
        "estimate": estimate, "difference": shift[0], "lower_95": shift[1], "upper_95": shift[2],
        "statistic": float(result.statistic), "df": np.nan, "p_value": float(result.pvalue),
        "effect_size": float(2 * result.statistic / (n_1 * n_2) - 1), "effect_size_type": "rank-biserial correlation",
    }  # fmt: skip


def paired_test(first, second, test):
    """Compare paired samples two-sided, first minus second; return the row's numbers."""
    import numpy as np
    from scipy import stats

    differences = np.asarray(first) - np.asarray(second)
    n = len(differences)
    if np.all(differences == 0):
        raise ValueError("Every pair has the same value in both groups; there is no difference to test.")
    if test == "paired_t":
        if np.ptp(differences) == 0:
            raise ValueError("Every pair differs by exactly the same amount, so a paired t-test has no spread to use.")
        result = stats.ttest_rel(first, second)
        interval = result.confidence_interval(0.95)
        return {
            "estimate": "mean of paired differences", "difference": float(differences.mean()),
            "lower_95": float(interval.low), "upper_95": float(interval.high), "statistic": float(result.statistic),
            "df": float(result.df), "p_value": float(result.pvalue),
            "effect_size": float(differences.mean() / differences.std(ddof=1)), "effect_size_type": "Cohen d_z",
        }  # fmt: skip
    nonzero = differences[differences != 0]
    exact = len(nonzero) == n < 50 and len(np.unique(np.abs(nonzero))) == len(nonzero)
    result = stats.wilcoxon(nonzero, correction=not exact, method="exact" if exact else "asymptotic")
    ranks = stats.rankdata(np.abs(nonzero))
    positive = float(ranks[nonzero > 0].sum())
    total = float(ranks.sum())
    estimate = "Hodges-Lehmann pseudomedian of paired differences"
    if n <= 2800:
        i, j = np.triu_indices(n)
        spread = np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        shift = shift_estimate((differences[i] + differences[j]) / 2, n * (n + 1) / 4, spread)
    else:
        shift, estimate = (float(np.median(differences)), np.nan, np.nan), "median of paired differences"
    return {
        "estimate": estimate, "difference": shift[0], "lower_95": shift[1], "upper_95": shift[2],
        "statistic": positive, "df": np.nan, "p_value": float(result.pvalue),
        "effect_size": 2 * positive / total - 1, "effect_size_type": "matched-pairs rank-biserial correlation",
    }  # fmt: skip


def range_adjusted(t, df, groups, p_raw, comparisons):
    """Return the studentized-range p-value of a contrast.

    Below 1e-9 the distribution's numbers are not reliable and the Bonferroni bound takes their place.
    """
    import numpy as np
    from scipy import stats

    p = float(stats.studentized_range.sf(abs(t) * np.sqrt(2), groups, df))
    if not p > 1e-9:
        p = min(1.0, p_raw * comparisons)
    return min(1.0, max(p, p_raw))


def holm_adjust(rows):
    """Give every row without an adjusted p-value Holm's over these rows."""
    open_rows = sorted((row for row in rows if "p_adj" not in row), key=lambda row: row["p_value"])
    highest = 0.0
    for rank, row in enumerate(open_rows):
        highest = max(highest, min(1.0, row["p_value"] * (len(open_rows) - rank)))
        row["p_adj"] = highest
    return rows


def overall_test(samples, family):
    """Test whether several groups differ at all; `friedman` takes equally long, paired samples."""
    import numpy as np
    from scipy import stats

    groups = list(samples.values())
    k, n = len(groups), sum(len(x) for x in groups)
    row = {"comparison": "all groups", "n": n, "group_1": "", "group_2": ""}
    if family == "friedman":
        result = stats.friedmanchisquare(*groups)
        blocks = len(groups[0])
        return row | {
            "test": "Friedman test", "statistic": float(result.statistic), "df": k - 1, "n": n,
            "p_value": float(result.pvalue), "effect_size": float(result.statistic / (blocks * (k - 1))),
            "effect_size_type": "Kendall W",
        }  # fmt: skip
    if family == "rank":
        result = stats.kruskal(*groups)
        return row | {
            "test": "Kruskal-Wallis test", "statistic": float(result.statistic), "df": k - 1,
            "p_value": float(result.pvalue), "effect_size": max(0.0, float((result.statistic - k + 1) / (n - k))),
            "effect_size_type": "epsilon squared",
        }  # fmt: skip
    centre = np.concatenate(groups).mean()
    between = sum(len(x) * (x.mean() - centre) ** 2 for x in groups)
    within = sum(((x - x.mean()) ** 2).sum() for x in groups)
    eta = {"effect_size": float(between / (between + within)), "effect_size_type": "eta squared"}
    if family == "pooled":
        f, df_2 = between / (k - 1) / (within / (n - k)), n - k
        name = "one-way ANOVA"
    else:
        weights = np.array([len(x) / x.var(ddof=1) for x in groups])
        means = np.array([x.mean() for x in groups])
        grand = (weights * means).sum() / weights.sum()
        lack = sum((1 - w / weights.sum()) ** 2 / (len(x) - 1) for w, x in zip(weights, groups, strict=True))
        f = (weights * (means - grand) ** 2).sum() / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * lack)
        df_2 = (k**2 - 1) / (3 * lack)
        name = "Welch's ANOVA"
    p = float(stats.f.sf(f, k - 1, df_2))
    return row | {"test": name, "statistic": float(f), "df": k - 1, "df_2": float(df_2), "p_value": p} | eta


def logarithms(samples, value):
    """Return the natural logarithms of samples; a value that is not above 0 raises ValueError."""
    import numpy as np

    low = min(float(np.nanmin(x)) for x in samples.values())
    if low <= 0:
        raise ValueError(
            f"Column {value!r} holds values of 0 or below (the lowest is {low:g}), which have no logarithm. Compare it "
            "as measured, or by ranks."
        )
    return {level: np.log(x) for level, x in samples.items()}


def as_ratios(rows):
    """Add to rows that compare logarithms the ratio of geometric means (of ranks: of shifts) with its interval."""
    import math

    for row in (row for row in rows if row["group_1"]):
        row["estimate"] += " of logarithms"
        row["ratio"], row["ratio_lower_95"], row["ratio_upper_95"] = (
            math.exp(row[key]) if row[key] == row[key] else math.nan for key in ("difference", "lower_95", "upper_95")
        )
        for key in ("1", "2"):
            row[f"geometric_mean_{key}"] = math.exp(row[f"mean_{key}"])
    return rows
