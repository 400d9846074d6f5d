"""Why apart: what counts as one family of comparisons decides the p-values, so each correction has a name.

Tukey's and Games and Howell's take all pairs of groups together, Dunnett's all groups against one control, and Holm's
and Bonferroni's any list of tests.
"""

from __future__ import annotations

from engine.toolbox.statistics.group_tests import holm_adjust, independent_test, range_adjusted


def many_to_one(t, correlation, df):
    """Return Dunnett's two-sided p-values of correlated t statistics, and the critical value of their 95 % intervals.

    Both come from the multivariate t distribution, integrated with a fixed seed to about 1e-5. A p-value below that is
    replaced by Bonferroni's, which is never smaller and nearly equal in the tail.

    Source: Dunnett (1955), J. Am. Stat. Assoc. 50, 1096; general correlations: Hothorn, Bretz and Westfall (2008).
    """
    import numpy as np
    from scipy import stats
    from scipy.optimize import brentq

    t, m = np.abs(np.asarray(t, dtype=float)), len(t)
    single = 2 * stats.t.sf(t, df)
    if m == 1:
        return single, float(stats.t.ppf(0.975, df))

    def beyond(c, points=5_000):
        ends = np.full(m, c)
        inside = stats.multivariate_t.cdf(
            ends, shape=correlation, df=df, lower_limit=-ends, maxpts=points * m, random_state=0, allow_singular=True
        )
        return float(1 - inside)

    tail = np.minimum(1.0, m * single)
    p = [bound if bound < 1e-4 else min(bound, max(low, beyond(c, 20_000)))
         for c, low, bound in zip(t, single, tail, strict=True)]  # fmt: skip
    # Between the critical values of one comparison and of m unrelated ones lies that of m related ones.
    ends = stats.t.ppf(0.975, df) - 1e-3, stats.t.ppf(1 - 0.025 / m, df) + 1e-2
    return np.array(p), float(brentq(lambda c: beyond(c) - 0.05, *ends, xtol=1e-4))


def adjust_rows(rows, method):
    """Give every row without an adjusted p-value Bonferroni's or Holm's over these rows."""
    if method != "bonferroni":
        return holm_adjust(rows)
    left = [row for row in rows if "p_adj" not in row]
    for row in left:
        row["p_adj"] = min(1.0, row["p_value"] * len(left))
    return rows


def dunnett_rows(rows, samples, mse, df):
    """Give rows of contrasts with one control (`group_2`) Dunnett's p-values and simultaneous intervals."""
    import numpy as np

    sizes = np.array([len(samples[row["group_1"]]) for row in rows])
    share = np.sqrt(sizes / (sizes + len(samples[rows[0]["group_2"]])))
    correlation = np.outer(share, share)
    np.fill_diagonal(correlation, 1.0)
    p_values, critical = many_to_one([row["statistic"] for row in rows], correlation, df)
    for row, p, n in zip(rows, p_values, sizes, strict=True):
        width = critical * np.sqrt(mse * (1 / n + 1 / len(samples[row["group_2"]])))
        row |= {"p_adj": float(p), "lower_95": row["difference"] - width, "upper_95": row["difference"] + width,
                "test": "Dunnett's test"}  # fmt: skip
    return rows


def pooled_contrasts(samples, contrasts, family, method):
    """Compare the named pairs of several independent groups, corrected for their number; first minus second.

    `family` says what is compared: `pooled` (means, one spread), `welch` (means, a spread each) or `rank` (Dunn's mean
    ranks). `method` is range (Tukey-Kramer, or Games-Howell with spreads of their own), dunnett, holm or bonferroni.
    Intervals are simultaneous but for Holm's and those of ranks.
    """
    import numpy as np
    from scipy import stats

    values = np.concatenate(list(samples.values()))
    k, n = len(samples), len(values)
    mse = sum(((x - x.mean()) ** 2).sum() for x in samples.values()) / (n - k)
    ends = np.cumsum([len(x) for x in samples.values()])
    ranks = dict(zip(samples, np.split(stats.rankdata(values), ends[:-1]), strict=True))
    _, tied = np.unique(values, return_counts=True)
    rank_variance = n * (n + 1) / 12 - (tied**3 - tied).sum() / (12 * (n - 1))
    correction = "Bonferroni" if method == "bonferroni" else "Holm"
    rows, critical = [], {}
    for first, second in contrasts:
        a, b = samples[first], samples[second]
        inverse = 1 / len(a) + 1 / len(b)
        row = independent_test(a, b, "mann_whitney" if family == "rank" else "welch_t")
        if family == "rank":
            z = (ranks[first].mean() - ranks[second].mean()) / np.sqrt(rank_variance * inverse)
            row |= {"statistic": z, "p_value": 2 * stats.norm.sf(abs(z)), "test": f"Dunn's test ({correction})"}
        else:
            if family == "pooled":
                se, df = np.sqrt(mse * inverse), n - k
            else:
                se, df = np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)), row["df"]
            t = row["difference"] / se
            p = 2 * stats.t.sf(abs(t), df)
            level = 0.025 / len(contrasts) if method == "bonferroni" else 0.025
            width = stats.t.isf(level, df) * se
            row["test"] = ("pooled t-test" if family == "pooled" else "Welch's t-test") + f" ({correction})"
            if method == "range":
                if df not in critical:  # found slowly, and with one spread the same for all pairs
                    critical[df] = stats.studentized_range.ppf(0.95, k, df) / np.sqrt(2)
                width = critical[df] * se
                row["test"] = "Tukey HSD" if family == "pooled" else "Games-Howell"
                row["p_adj"] = range_adjusted(t, df, k, p, k * (k - 1) // 2)
            row |= {"statistic": t, "df": df, "p_value": p}
            row |= {"lower_95": row["difference"] - width, "upper_95": row["difference"] + width}
        rows.append(row | {"group_1": first, "group_2": second})
    return dunnett_rows(rows, samples, mse, n - k) if method == "dunnett" else rows
