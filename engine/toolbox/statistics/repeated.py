"""Why apart: one measurement at several occasions in the same subjects is neither groups nor a table of factors.

Subjects are compared with themselves: what differs between them is taken out before occasions are tested, and
the p-value is corrected for occasions that are unequally correlated.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep, Repair
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.group_sentences import describe_pair
from engine.toolbox.statistics.group_tests import holm_adjust, overall_test, paired_test
from engine.toolbox.statistics.groups import check_assumptions
from engine.toolbox.tables.columns import (
    called_level,
    complete_rows,
    finding_values,
    format_number,
    format_p,
    in_a_row,
    label_groups,
    level_labels,
    likely_control,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    pick_level,
    plain_table,
    require_columns,
    shared_name,
    which_differ,
)
from engine.toolbox.tables.wording import high_to_low


@check("sphericity_correction_in_bounds")
def sphericity_correction_in_bounds(step: StepOutputs) -> Iterator[Issue]:
    """The Greenhouse-Geisser epsilon lies between 1 / (k - 1) and 1."""
    table = step.table("tests")
    for _, row in table.dropna(subset=["epsilon"]).iterrows():
        if not 1 / (row["levels"] - 1) - 1e-9 <= row["epsilon"] <= 1 + 1e-9:
            message = f"Epsilon is {row['epsilon']}; expected 1 / {row['levels'] - 1} to 1."
            yield Issue(code="epsilon_out_of_bounds", severity="error", message=message, where="tests")


def occasions_of_rows(table, value, within, subject, levels):
    """Return subjects x occasions from one row a measurement (NaN where one is missing), and warnings."""
    import pandas as pd

    if not (value and within and subject):
        raise ValueError(
            "Name the columns of the value, of the condition (within) and of the subject, or several columns of one "
            "row per subject."
        )
    if len({value, within, subject}) < 3:
        raise ValueError(
            f"Value, condition and subject ({value}, {within}, {subject}) must be three different columns."
        )
    require_columns(table, [value, within, subject])
    table, warnings = complete_rows(table, [value, within, subject])
    numbers, labels = numeric_values(table, value), level_labels(table[within])
    found = order_levels(labels)
    baseline = likely_control(found)
    chosen = [baseline, *(x for x in found if x != baseline)] if baseline else found
    if levels:
        chosen = list(dict.fromkeys(pick_level(level, found, within) for level in levels))
        left = [level for level in found if level not in chosen]
        if left:
            warnings.append(f"Rows of other levels of {within} were left out: {', '.join(left)}.")
    if not 2 <= len(chosen) <= 40:
        raise ValueError(
            f"{within!r} has {len(chosen)} level(s) to compare ({', '.join(chosen[:6])}); expected 2 to 40. Choose the "
            "column that tells a subject's measurements apart."
        )
    tidy = pd.DataFrame({"subject": level_labels(table[subject]), "level": labels, "value": numbers})
    tidy = tidy[tidy["level"].isin(chosen)]
    if not tidy.duplicated("subject").any():
        raise ValueError(
            f"Every value of {subject!r} occurs once, so nothing was measured repeatedly. Choose the column that names "
            "the subject, or use compare_groups for independent rows."
        )
    repeats = int(tidy.duplicated(["subject", "level"]).sum())
    if repeats:
        warnings.append(f"{repeats} repeated measurements of the same {subject} at the same {within} were averaged.")
    wide = tidy.pivot_table(index="subject", columns="level", values="value", aggfunc="mean", sort=False)
    return wide[chosen], warnings


def occasions_of_columns(table, columns, subject):
    """Return subjects x occasions from one row a subject with a column an occasion (NaN where one is missing)."""
    import pandas as pd

    columns = list(dict.fromkeys(columns))
    if len(columns) < 2:
        raise ValueError("Only one column of measurements was named; expected two or more, one an occasion.")
    require_columns(table, [*columns, *([subject] if subject else [])])
    wide = pd.DataFrame({name: numeric_values(table, name) for name in columns})
    repeats = int(level_labels(table[subject]).dropna().duplicated().sum()) if subject else 0
    rows = pd.Series([f"row {i + 1}" for i in range(len(wide))], index=wide.index)
    wide.index = level_labels(table[subject]).fillna(rows) if subject else rows
    warnings = [f"{repeats} rows repeat a value of {subject}; every row was taken as one subject."] if repeats else []
    return wide, warnings


def sphericity(wide):
    """Return the Greenhouse-Geisser epsilon and Mauchly's W with its p-value (NaN where it does not exist)."""
    import numpy as np
    from scipy import linalg, stats

    n, k = wide.shape
    contrasts = linalg.helmert(k)
    spread = contrasts @ np.atleast_2d(np.cov(wide, rowvar=False)) @ contrasts.T
    epsilon = float(np.trace(spread) ** 2 / ((k - 1) * np.trace(spread @ spread)))
    if k < 3 or n <= k:
        return min(1.0, epsilon), float("nan"), float("nan")
    p, df = k - 1, k * (k - 1) / 2 - 1
    w = float(np.linalg.det(spread) / (np.trace(spread) / p) ** p)
    size = -(n - 1 - (2 * p**2 + p + 2) / (6 * p)) * np.log(max(w, 1e-300))
    return min(1.0, epsilon), w, float(stats.chi2.sf(size, df))


def repeated_anova(wide):
    """Return the numbers of a repeated-measures ANOVA of subjects x occasions, and its residuals."""
    from scipy import stats

    n, k = wide.shape
    grand, rows, columns = wide.mean(), wide.mean(axis=1, keepdims=True), wide.mean(axis=0, keepdims=True)
    residuals = wide - rows - columns + grand
    error, effect = float((residuals**2).sum()), float(n * ((columns - grand) ** 2).sum())
    subjects = float(k * ((rows - grand) ** 2).sum())
    if error <= 1e-20 * max(1e-300, ((wide - grand) ** 2).sum()):
        raise ValueError(
            "Every subject changes by exactly the same amount, so an ANOVA has no spread to use. Use method friedman, "
            "or check the columns."
        )
    df, df_2 = k - 1, (k - 1) * (n - 1)
    f = effect / df / (error / df_2)
    epsilon, w, p_w = sphericity(wide)
    row = {
        "test": "repeated-measures ANOVA (Greenhouse-Geisser)", "statistic": f, "df": df, "df_2": df_2,
        "epsilon": epsilon, "p_value": float(stats.f.sf(f, df * epsilon, df_2 * epsilon)),
        "p_uncorrected": float(stats.f.sf(f, df, df_2)), "effect_size": effect / (effect + subjects + error),
        "effect_size_type": "generalised eta squared", "partial_eta_squared": effect / (effect + error),
    }  # fmt: skip
    return row, residuals, (w, p_w)


def within_intervals(wide, names):
    """Return the means of the occasions with within-subject 95 % intervals (Cousineau, corrected by Morey)."""
    import numpy as np
    from scipy import stats

    n, k = wide.shape
    centred = wide - wide.mean(axis=1, keepdims=True) + wide.mean()
    half = stats.t.ppf(0.975, n - 1) * centred.std(axis=0, ddof=1) * np.sqrt(k / (k - 1) / n)
    return [
        {"occasion": name, "n": n, "mean": float(x.mean()), "sd": float(x.std(ddof=1)), "median": float(np.median(x)),
         "lower_95": float(x.mean() - h), "upper_95": float(x.mean() + h), "interval": "within-subject"}
        for name, x, h in zip(names, wide.T, half, strict=True)
    ]  # fmt: skip


def occasion_pairs(wide, names, kind):
    """Return the comparison of each occasion with each earlier one, adjusted by Holm; later minus earlier."""
    import numpy as np

    label = {"paired_t": "paired t-test", "wilcoxon": "Wilcoxon signed-rank test"}
    size = max(np.abs(wide).max(), 1e-300)
    several = len(names) > 2
    rows = []
    for i in range(len(names)):
        for j in range(i + 1, len(names)):
            a, b = wide[:, j], wide[:, i]
            # Rounding keeps equal differences equal (0.3 - 0.1 and 0.2 - 0.0), which ranks need.
            d = np.round((a - b) / size, 14) * size
            flat = np.ptp(d) == 0
            row = (
                {"estimate": "mean of paired differences", "difference": 0.0, "p_value": 1.0} if flat and d[0] == 0
                else paired_test(d, np.zeros(len(d)), "wilcoxon" if flat else kind)
            )  # fmt: skip
            test = label["wilcoxon" if flat else kind] if len(row) > 3 else "no difference in any subject"
            row |= {"comparison": f"{names[j]} vs {names[i]}", "group_1": names[j], "group_2": names[i], "n": len(d),
                    "test": test + (" (Holm)" if several else "")}  # fmt: skip
            for key, x in (("1", a), ("2", b)):
                row |= {f"n_{key}": len(x), f"mean_{key}": float(x.mean()), f"sd_{key}": float(x.std(ddof=1)),
                        f"median_{key}": float(np.median(x))}  # fmt: skip
            rows.append({"lower_95": np.nan, "upper_95": np.nan, "effect_size": np.nan} | row)
    return sorted(holm_adjust(rows), key=lambda row: row["p_value"])


def profile_figure(wide, means, name, within):
    """Draw a line a subject over the occasions, and the means with their within-subject intervals."""
    import numpy as np

    figure, axis = new_axes(width=max(4.6, min(14, 1.0 * len(means) + 2.4)))
    places, colour = np.arange(len(means)), palette(1)[0]
    for i in np.random.default_rng(0).permutation(len(wide))[:200]:
        axis.plot(places, wide[i], color="0.75", linewidth=0.8, zorder=1)
    centre = np.array([row["mean"] for row in means])
    half = np.array([row["upper_95"] - row["mean"] for row in means])
    axis.errorbar(places, centre, yerr=half, color=colour, marker="o", capsize=4, linewidth=2, zorder=3,
                  label="mean, within-subject 95 % CI")  # fmt: skip
    label_groups(axis, [row["occasion"] for row in means])
    axis.set_xlabel(within)
    axis.set_ylabel(name)
    axis.legend(frameon=False, fontsize=8)
    return figure


def overall_row(wide, names, method):
    """Choose and run the overall test; return its row, the assumption rows, and warnings."""
    import numpy as np

    n, k = wide.shape
    if np.ptp(wide, axis=1).max() == 0:
        raise ValueError("No subject's value changes between occasions; there is no difference to test.")
    rows, warnings, skewed, row = [], [], False, {}
    if method not in ("auto", "anova", "friedman"):
        raise ValueError(f"There is no method {method!r}; expected auto, anova or friedman.")
    try:
        row, residuals, (w, p_w) = repeated_anova(wide)
    except ValueError:
        if method == "anova":
            raise
    if row:
        differences = wide[:, 1] - wide[:, 0] if k == 2 else None
        rows, state = check_assumptions(dict(zip(names, residuals.T, strict=True)), "", differences)
        rows = [part | {"group": f"residuals of {part['group']}" if k > 2 else "differences"} for part in rows
                if part["check"].startswith("normality")]  # fmt: skip
        skewed = state["use_ranks"]
        if w == w:
            rows.append({"check": "sphericity (Mauchly)", "group": "all", "n": n, "statistic": w, "p_value": p_w,
                         "result": "no clear departure" if p_w >= 0.05 else "departs; corrected for"})  # fmt: skip
        if method != "friedman" and not state["normal"] and not (method == "auto" and skewed):
            warnings.append("Residuals depart from a normal distribution (see assumptions); consider method friedman.")
    if method == "friedman" or not row or (method == "auto" and skewed):
        if method == "auto":
            warnings.append("Ranks were used (friedman), because the values are too far from normal for an ANOVA.")
        if k == 2:
            pair = occasion_pairs(wide, names, "wilcoxon")[0]
            row = {key: pair[key] for key in ("test", "statistic", "p_value", "effect_size", "effect_size_type")}
        else:
            row = overall_test(dict(zip(names, wide.T, strict=True)), "friedman")
            if n < 8:
                warnings.append(f"With {n} subjects the chi-squared p-value of the Friedman test is approximate.")
    return {**row, "n": n, "levels": k}, rows or [{"check": "no spread of changes", "group": "all", "n": n}], warnings


def largest_change(pairs):
    """Return the largest mean difference that the t intervals of all pairs at once (Bonferroni) leave open, or None."""
    from scipy.stats import t

    if not all(pair["estimate"].startswith("mean") and pair["lower_95"] == pair["lower_95"] for pair in pairs):
        return None
    wider = [t.isf(0.025 / len(pairs), pair["n"] - 1) / t.isf(0.025, pair["n"] - 1) for pair in pairs]
    return max(abs(pair["difference"]) + factor * (pair["upper_95"] - pair["lower_95"]) / 2
               for pair, factor in zip(pairs, wider, strict=True))  # fmt: skip


def describe_overall(row, value, within, pairs):
    """Return the finding of the overall test: whether occasions differ, which is highest, and which pairs do."""
    clear = row["p_value"] < 0.05
    kind = "mean" if row["test"].startswith("repeated") else "median"
    ends = {pair[f"group_{key}"]: pair[f"{kind}_{key}"] for pair in pairs for key in ("1", "2")}
    # In the order of the occasions, as a course is told; of many the ends.
    order = sorted(ends, key=lambda level: -sum(pair["group_2"] == level for pair in pairs))
    told = in_a_row(f"{format_number(ends[level])} at {called_level(level, within)}" for level in order)
    shown = order
    if len(order) > 6:
        shown, told = sorted(ends, key=lambda level: -ends[level])[:: len(order) - 1], high_to_low(ends, within)
    reach = None if clear else largest_change(pairs)
    excluded = f"; the data are compatible with mean changes of up to {format_number(reach)} between two of them"
    text = (
        f"{value} {'differs' if clear else 'is not shown to differ'} between the {row['levels']} levels of {within} in "
        f"the same {row['n']} subjects ({format_p(row['p_value'])}, {row['test']}, {row['effect_size_type']} "
        f"{format_number(row['effect_size'])}): {kind} {told}; "
        f"{which_differ(pairs, within)} at an adjusted p below 0.05 (Holm){excluded if reach else ''}."
    )
    values = finding_values(statistic=row["statistic"], p_value=row["p_value"], epsilon=row.get("epsilon"), n=row["n"],
                            levels=row["levels"], effect_size=row["effect_size"], largest_not_excluded=reach,
                            **{f"{kind} {level}": ends[level] for level in shown})  # fmt: skip
    return {"text": text, "values": values, "output": "tests", "row": {"effect": row["effect"]}}


@tool(
    name="repeated_measures",
    title="Repeated measurements of the same subjects",
    description=(
        "Test whether one measurement differs between several occasions or conditions of the same subjects. Long form: "
        "value, condition and subject columns (`levels` keeps and orders some; two make a paired comparison). Wide "
        "form: `columns`, one an occasion, in one row per subject. Repeated-measures ANOVA with the Greenhouse-Geisser "
        "correction and generalised eta squared, or the Friedman test with Kendall's W; `auto` takes ranks when there "
        "are fewer than 30 subjects and residuals are clearly not normal (Shapiro-Wilk, p < 0.01). All pairs of "
        "occasions follow, later minus earlier (paired t or Wilcoxon, Holm; their intervals are not adjusted). "
        "Subjects that miss an occasion are left out and counted; a mixed model keeps them and takes other factors."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "method=friedman and within:2 => Wilcoxon's signed-rank test, because each {subject} is measured in both",
        "method=friedman => Friedman test and Wilcoxon's signed-rank tests, because the same subjects are "
        "measured several times",
        "method=anova => repeated-measures ANOVA (Greenhouse-Geisser) and paired t tests, because the same "
        "subjects are measured several times",
        "repeated-measures ANOVA (Greenhouse-Geisser; Friedman, or Wilcoxon for two occasions, if "
        "residuals of fewer than 30 subjects are clearly not normal), because the same subjects are "
        "measured several times",
    ),
    complete=("value", "within", "subject", "columns"),
    matched="subject",
    inputs={"table": "table: one row a measurement, or one row a subject with a column an occasion"},
    outputs={
        "tests": "table: overall test: statistic, epsilon, p-value, effect size",
        "means": "table: mean of every occasion with its within-subject interval",
        "comparison": "table: every pair of occasions: difference, interval, p-values",
        "assumptions": "table: normality and sphericity",
        "profile_plot": "figure: a line a subject, and the means",
    },
    params={
        "value": param("The measured quantity (long form)", kind="column", of="table", role="measure", needed=True),
        "within": param(
            "The occasion or condition of a measurement (long form)",
            kind="column",
            of="table",
            role="condition",
            needed=True,
        ),
        "subject": param("The column that names the subject", kind="column", of="table", role="subject", needed=True),
        "levels": param(
            "Only these levels of the condition, in this order; empty for all", kind="texts", role="levels", of="within"
        ),
        "columns": param(
            "One column an occasion, in their order (wide form)",
            kind="columns",
            of="table",
            role="wide",
            instead_of=["value", "within", "subject"],
            least=2,
        ),
        "method": param(
            "Which test; auto chooses by the data and says which it took",
            choices=["auto", "anova", "friedman"],
            words=[
                "friedman: friedman|wilcoxon|non.?param\\w*|rank.?based|distribution.?free",
                "anova: (?:rm|repeated).{0,10}anova",
            ],
        ),
    },
    answers=["repeated_measures", "compare_paired"],
    checks=(
        "tables_not_empty",
        "p_values_valid",
        "findings_match_tables",
        "group_differences_match_means",
        "sphericity_correction_in_bounds",
    ),
    keywords=(
        "repeated measures",
        "repeated-measures ANOVA",
        "within-subject",
        "over time",
        "time course",
        "visits",
        "several time points",
        "same subjects",
        "Friedman",
        "sphericity",
        "Greenhouse-Geisser",
        "Kendall's W",
        "crossover",
        "longitudinal",
        "weeks",
        "change over visits",
        "same animals measured",
    ),
    citations=(
        Citation(
            title="On methods in the analysis of profile data",
            authors="Greenhouse SW, Geisser S",
            year=1959,
            doi="10.1007/BF02289823",
        ),
        Citation(
            title="The use of ranks to avoid the assumption of normality implicit in the analysis of variance",
            authors="Friedman M",
            year=1937,
            doi="10.1080/01621459.1937.10503522",
        ),
        Citation(
            title="Generalized eta and omega squared statistics: measures of effect size for some common research "
            "designs",
            authors="Olejnik S, Algina J",
            year=2003,
            doi="10.1037/1082-989X.8.4.434",
        ),
        Citation(
            title="Confidence intervals from normalized data: a correction to Cousineau (2005)",
            authors="Morey RD",
            year=2008,
            doi="10.20982/tqmp.04.2.p061",
        ),
        Citation(title="A simple sequentially rejective multiple test procedure", authors="Holm S", year=1979),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=3.0,
    example="Does the depression score change over the five visits of the same patients?",
    repairs=[
        Repair(
            pattern="no spread to use",
            change={"method": "friedman"},
            why="every subject changes by the same amount, so ranks were used",
        ),
    ],
    next_steps=[
        NextStep(
            text="{name} takes all subjects as one group; where they were treated differently, ask whether the "
            "change differs between the groups (a mixed model with the interaction).",
            unless_tool="mixed_model",
        ),
    ],
)
def repeated_measures(
    table,
    *,
    value: str = "",
    within: str = "",
    subject: str = "",
    levels: list[str] = [],  # noqa: B006 - a plain default, never changed
    columns: list[str] = [],  # noqa: B006 - a plain default, never changed
    method: str = "auto",
):
    """Compare repeated measurements of the same subjects."""
    import pandas as pd

    table = plain_table(table)
    if columns and (value or within):
        raise ValueError(
            f"Both columns of occasions ({', '.join(columns)}) and a value or condition column ({value or within}) "
            "were named; expected one form: columns for one row per subject, else value, within and subject."
        )
    wide, warnings = (
        occasions_of_columns(table, columns, subject) if columns
        else occasions_of_rows(table, value, within, subject, levels)
    )  # fmt: skip
    name, condition = value, within
    if columns:
        shared = shared_name([str(column) for column in columns])
        name, condition = shared if len(shared) > 1 and shared != "value" else "The measurement", "occasion"
    incomplete = wide.index[wide.isna().any(axis=1)]
    if len(incomplete):
        named = ", ".join(map(str, incomplete[:10])) + (", ..." if len(incomplete) > 10 else "")
        warnings.append(
            f"{len(incomplete)} of {len(wide)} subjects lack an occasion and were left out: {named}. A mixed model "
            "would keep them."
        )
    complete = wide.dropna()
    if len(complete) < 3:
        raise ValueError(
            f"Only {len(complete)} of {len(wide)} subjects have a value at every occasion; expected at least 3. Check "
            "that the subject column names the same subject at each, choose fewer occasions, or use mixed_model."
        )
    names, numbers = [str(x) for x in complete.columns], complete.to_numpy(dtype=float)
    row, assumptions, notes = overall_row(numbers, names, method)
    row |= {"effect": condition, "n_left_out": len(incomplete)}
    warnings += notes
    if len(numbers) < 5:
        warnings.append(f"There are {len(numbers)} subjects: only large differences can be seen.")
    kind = "paired_t" if row["test"].startswith("repeated") else "wilcoxon"
    pairs = occasion_pairs(numbers, names, kind)
    means = within_intervals(numbers, names)
    findings = [describe_pair(pair, name, condition, len(pairs) > 1) for pair in pairs[:6]]
    if len(names) > 2:
        findings.insert(0, describe_overall(row, name, condition, pairs))
    order = ["effect", "test", "n", "n_left_out", "levels", "statistic", "df", "df_2", "epsilon", "p_value",
             "p_uncorrected", "effect_size", "effect_size_type", "partial_eta_squared"]  # fmt: skip
    pair_order = ["comparison", "test", "group_1", "group_2", "n", "mean_1", "mean_2", "sd_1", "sd_2", "median_1",
                  "median_2", "estimate", "difference", "lower_95", "upper_95", "statistic", "df", "p_value", "p_adj",
                  "effect_size", "effect_size_type"]  # fmt: skip
    return {
        "tests": pd.DataFrame([row]).reindex(columns=order),
        "means": pd.DataFrame(means),
        "comparison": pd.DataFrame(pairs).reindex(columns=pair_order),
        "assumptions": pd.DataFrame(assumptions).reindex(
            columns=["check", "group", "n", "statistic", "p_value", "result"]
        ),
        "profile_plot": profile_figure(numbers, means, name, condition),
        "findings": findings,
        "warnings": warnings,
    }
