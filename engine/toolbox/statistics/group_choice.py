"""Why apart: which test fits is decided by what the values look like, before anything is compared.

The assumptions are checked, a test is chosen by them or by what was asked for, and its doubts are put in words.
"""

from __future__ import annotations

from engine.toolbox.statistics.group_tests import independent_test, paired_test
from engine.toolbox.tables.columns import format_p


def check_assumptions(samples, value, paired_differences=None):
    """Return rows on normality and equal spread, and whether each holds well enough for a test of means."""
    import numpy as np
    from scipy import stats

    checked = samples if paired_differences is None else {"differences": paired_differences}
    rows, worst, small_skewed = [], 1.0, False
    for name, x in checked.items():
        if 3 <= len(x) <= 5000 and np.ptp(x) > 0:
            result = stats.shapiro(x)
            rows.append(
                {"check": "normality (Shapiro-Wilk)", "group": name, "n": len(x),
                 "statistic": float(result.statistic), "p_value": float(result.pvalue),
                 "result": "no clear departure" if result.pvalue >= 0.05 else "departs from normal"}
            )  # fmt: skip
            if result.pvalue * len(checked) < 0.01 and len(x) < 30:
                small_skewed = True
            worst = min(worst, result.pvalue * len(checked))
    equal = True
    if paired_differences is None and any(np.ptp(x) > 0 for x in samples.values()):
        result = stats.levene(*samples.values(), center="median")
        spreads = [float(np.std(x, ddof=1)) for x in samples.values() if len(x) > 1 and np.ptp(x) > 0]
        ratio = max(spreads) / min(spreads) if len(spreads) > 1 else 1.0
        # Of few values the test sees little: an SD of more than three times another is unequal without it.
        equal = not (result.pvalue < 0.05 or ratio > 3.0)
        rows.append(
            {"check": "equal spread (Brown-Forsythe)", "group": "all", "n": sum(len(x) for x in samples.values()),
             "statistic": float(result.statistic), "p_value": float(result.pvalue),
             "result": "no clear difference in spread" if equal
             else f"spreads differ (largest SD {ratio:.3g} times the smallest)"}
        )  # fmt: skip
    return rows, {"normal": worst >= 0.05, "use_ranks": small_skewed, "equal_spread": equal}


def choose_test(test, k, paired, state, samples):
    """Return the family of tests that answers `test` for k groups: welch, pooled, rank, paired_t or wilcoxon.

    `ranks` is the one that fits the design: the signs and sizes of differences within pairs, else of the groups.
    """
    families = {
        "welch_t": "welch", "welch_anova": "welch", "student_t": "pooled", "anova": "pooled", "mann_whitney": "rank",
        "kruskal": "rank", "paired_t": "paired_t", "wilcoxon": "wilcoxon", "friedman": "wilcoxon",
        "ranks": "wilcoxon" if paired else "rank",
    }  # fmt: skip
    if test != "auto":
        if test not in families:
            raise ValueError(f"There is no test {test!r}; expected auto or one of: {', '.join(families)}.")
        family = families[test]
    elif paired:
        family = "wilcoxon" if state["use_ranks"] or k > 2 else "paired_t"
    elif state["use_ranks"]:
        family = "rank"
    else:
        family = "pooled" if k > 2 and state["equal_spread"] else "welch"
    flat = [level for level, x in samples.items() if x.var() == 0]
    if family in ("welch", "pooled") and (len(flat) == len(samples) or (family == "welch" and k > 2 and flat)):
        if test == "auto":
            return "rank"
        raise ValueError(
            f"The values do not vary within {', '.join(flat)}; a test of means needs spread within every group. "
            "Use kruskal or mann_whitney, or check that the right column was chosen."
        )
    return family


def comparison_warnings(samples, family, state, pairs):
    """Return the caveats of a comparison that follow from sizes and assumptions."""
    warnings = []
    smallest = min(len(x) for x in samples.values())
    if smallest < 5:
        warnings.append(
            f"The smallest group has {smallest} {'pairs' if pairs else 'values'}: only large differences can be seen."
        )
    if family in ("welch", "pooled", "paired_t") and not state["normal"]:
        warnings.append(
            "The values depart from a normal distribution (Shapiro-Wilk, see assumptions); consider a rank test."
        )
    if family == "pooled" and not state["equal_spread"]:
        warnings.append("The groups' spreads differ (Brown-Forsythe); Welch's test does not assume equal ones.")
    return warnings


def second_opinion(samples, contrast, family, chosen):
    """Return the same comparison by ranks (or by means), for the assumptions table, and a warning if they disagree."""
    paired = family in ("paired_t", "wilcoxon")
    other = {"welch": "mann_whitney", "pooled": "mann_whitney", "rank": "welch_t", "paired_t": "wilcoxon",
             "wilcoxon": "paired_t"}[family]  # fmt: skip
    first, second = (samples[level] for level in contrast)
    if other == "welch_t" and first.var() + second.var() == 0:
        return [], []
    if other == "paired_t" and (first - second).var() == 0:
        return [], []
    row = (paired_test if paired else independent_test)(first, second, other)
    agrees = (row["p_value"] < 0.05) == (chosen["p_value"] < 0.05)
    name = other.replace("_", " ")
    note = {"check": f"the same question by another test ({name})", "group": chosen["comparison"], "n": chosen["n"],
            "statistic": row["statistic"], "p_value": row["p_value"],
            "result": "agrees at 0.05" if agrees else "disagrees at 0.05"}  # fmt: skip
    if agrees:
        return [note], []
    return [note], [
        f"The conclusion at 0.05 depends on the test: {chosen['test']} {format_p(chosen['p_value'])}, {name} "
        f"{format_p(row['p_value'])}."
    ]


def post_hoc_test(post_hoc, test, paired, groups):
    """Return the test to which the comparisons asked for belong, and warnings; what cannot be raises ValueError."""
    names = {"tukey": "Tukey's comparisons", "dunnett": "Dunnett's comparisons with a control",
             "games_howell": "Games and Howell's comparisons", "dunn": "Dunn's comparisons"}  # fmt: skip
    belongs = {"tukey": "anova", "dunnett": "anova", "games_howell": "welch_anova", "dunn": "kruskal"}
    alike = {"student_t": "anova", "welch_t": "welch_anova", "mann_whitney": "kruskal"}
    if post_hoc not in ("auto", "holm", "bonferroni", *names):
        known = ", ".join(["auto", "holm", "bonferroni", *names])
        raise ValueError(f"There is no correction post_hoc {post_hoc!r}; expected one of: {known}.")
    if post_hoc == "auto":
        return test, []
    if groups == 2:
        label = post_hoc.replace("_", "-").capitalize()
        return test, [f"Two groups make one comparison, so there was nothing to correct for ({label} was asked for)."]
    if post_hoc not in names:
        return test, []
    if paired:
        raise ValueError(
            f"{names[post_hoc]} take independent groups, but rows are paired here; expected post_hoc holm or "
            "bonferroni, or no pair column."
        )
    wanted = belongs[post_hoc]
    if test in ("auto", wanted) or alike.get(test) == wanted:
        return wanted, []
    if "kruskal" in (wanted, alike.get(test, test)):
        raise ValueError(
            f"{names[post_hoc]} are of {'ranks' if wanted == 'kruskal' else 'means'}, and the test {test!r} is not; "
            "choose another post_hoc (auto takes one that fits), or test auto."
        )
    spread = "have a spread each" if wanted == "welch_anova" else "share one spread"
    return wanted, [f"{names[post_hoc]} take groups to {spread}, so {wanted} was used as the overall test, not {test}."]
