"""Comparing many measurements between groups at once: a screen, corrected for the number of tests.

Asking "which features differ" one test at a time forgets that twenty tests give a false alarm; here the
correction is part of the answer.
"""

from __future__ import annotations

from engine.domain.toolspec import Citation
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    called_level,
    format_number,
    format_p,
    level_labels,
    likely_control,
    order_levels,
)
from engine.toolbox.tables.wording import in_size


def screened_columns(table, group, columns):
    """Return the numeric columns to screen (all but the group and row numbers, when none is named) and warnings."""
    import pandas as pd

    if group not in table:
        raise ValueError(f"There is no column {group!r}; the table has {', '.join(map(str, table.columns[:12]))}.")
    missing = [column for column in columns if column not in table]
    if missing:
        raise ValueError(
            f"There is no column {missing[0]!r} to compare; choose among {', '.join(map(str, table.columns[:12]))}."
        )
    values, warnings = {}, []
    for column in columns or [name for name in table.columns if name != group]:
        numbers = pd.to_numeric(table[column], errors="coerce")
        lost = int((numbers.isna() & table[column].notna()).sum())
        if columns and numbers.notna().sum() == 0:
            raise ValueError(f"Column {column!r} holds no numbers, so its groups cannot be compared by their means.")
        row_number = str(column).lower() in ("rownames", "index", "unnamed: 0", "id") and numbers.is_unique
        if numbers.notna().sum() >= 4 and lost <= 0.05 * len(table) and numbers.nunique() > 2 and not row_number:
            values[column] = numbers
            if lost:
                warnings.append(f"{lost} values of {column} are not numbers and were left out.")
    if not values:
        raise ValueError("The table has no column of numbers to compare between the groups.")
    return values, warnings


def screen_row(samples, names):
    """Return one row of the screen for a list of arrays, one a group."""
    import numpy as np
    from scipy import stats

    sizes, means = [len(sample) for sample in samples], [float(np.mean(sample)) for sample in samples]
    row = {"n": int(sum(sizes))}
    if len(samples) == 2:
        first, second = samples
        test = stats.ttest_ind(first, second, equal_var=False)
        interval = test.confidence_interval(0.95)
        spread = np.sqrt((np.var(first, ddof=1) + np.var(second, ddof=1)) / 2)
        row |= {"n_1": sizes[0], "n_2": sizes[1], "mean_1": means[0], "mean_2": means[1],
                "difference": means[0] - means[1], "lower_95": float(interval.low), "upper_95": float(interval.high),
                "effect_size": float((means[0] - means[1]) / spread) if spread else np.nan}  # fmt: skip
    else:
        test = stats.f_oneway(*samples, equal_var=False)
        pooled = np.concatenate(samples)
        between = sum(size * (mean - pooled.mean()) ** 2 for size, mean in zip(sizes, means, strict=True))
        total = float(((pooled - pooled.mean()) ** 2).sum())
        row |= {"highest_group": names[int(np.argmax(means))], "highest_mean": max(means),
                "lowest_group": names[int(np.argmin(means))], "lowest_mean": min(means),
                "effect_size": float(between / total) if total else np.nan}  # fmt: skip
    return row | {"statistic": float(test.statistic), "p_value": float(test.pvalue)}


def detectable(result, alpha, groups):
    """Return how large a difference would have been found where none was, as the end of a sentence.

    In standard deviations (of two groups) or as Cohen's f, with a power of 80 % at alpha shared by all columns.
    """
    from statsmodels.stats.power import FTestAnovaPower, TTestIndPower

    if (result["p_adj"] < alpha).any():
        return ""
    if "n_1" not in result:
        many = float(result["n"].median())
        size = FTestAnovaPower().solve_power(nobs=many, alpha=alpha / len(result), power=0.8, k_groups=groups)
        return f"; an effect of Cohen's f {float(size):.2f} in one of them would have been found with 80 % power"
    first, second = float(result["n_1"].median()), float(result["n_2"].median())
    size = TTestIndPower().solve_power(nobs1=first, ratio=second / first, alpha=alpha / len(result), power=0.8)
    return (
        f"; a difference of {float(size):.2f} standard deviations in one of them would have been found with 80 % power"
    )


FEW_COLUMNS = 3
"""So few measurements are told one by one."""


def few_columns(result, ends, alpha):
    """Return the sentence on a few measurements of two groups, the clearest first: which way, how much, how sure."""
    told = []
    for row in result.itertuples():
        p = f"adjusted {format_p(row.p_adj)}"
        if row.p_adj < alpha:
            size, interval = in_size(row.difference, row.lower_95, row.upper_95)
            way = "higher" if row.difference > 0 else "lower"
            told.append(f"{row.column} is {size} {way} in {ends[0]} than in {ends[1]} ({interval}, {p})")
        else:
            interval = f"95 % CI {format_number(row.lower_95)} to {format_number(row.upper_95)}"
            told.append(f"{row.column} is not shown to differ between {ends[0]} and {ends[1]} (difference "
                        f"{format_number(row.difference)}, {interval}, {p})")  # fmt: skip
    return f"{'; '.join(told)}; {int(result['n'].max())} rows, Welch's t-test of each."


@tool(
    name="compare_columns",
    title="Compare many measurements between groups",
    description=(
        "Compare every numeric column of a table between the groups of one column, one test a column, corrected for "
        "the number of tests (Benjamini-Hochberg, Holm or Bonferroni). Two groups: Welch's t-test, the difference of "
        "means with its 95 % interval and Cohen's d (first group minus second; pooled by the mean of the "
        "variances). More groups: Welch's analysis of variance and eta squared. A screen that says which measurements "
        "differ, not a model of them together: measurements that are correlated differ together."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "correction=holm => Welch's test for each column, Holm adjusted, because that correction is asked for",
        "correction=bonferroni => Welch's test for each column, Bonferroni adjusted, because that is asked for",
        "group:2 => Welch's t test for each column, Benjamini-Hochberg adjusted, because two groups are "
        "compared by many measurements",
        "group:3 => Welch's analysis of variance for each column, Benjamini-Hochberg adjusted, because "
        "several groups are compared by many measurements",
        "Welch's test for each column, Benjamini-Hochberg adjusted, because groups are compared by many measurements",
    ),
    inputs={"table": "table: one row a subject or sample"},
    outputs={"screening": "table: one row a measurement, most significant first", "screening_plot": "figure"},
    params={
        "group": param("Column that says which group a row belongs to", kind="column", of="table", role="group"),
        "columns": param(
            "Columns to compare; empty for all numeric ones",
            kind="columns",
            of="table",
            role="measures",
            least=2,
            needed=True,
        ),
        "treated": param(
            "With two groups: the one differences are counted for", kind="level", of="group", role="interest"
        ),
        "control": param(
            "With two groups: the one that is subtracted", kind="level", of="group", role="reference", otherwise="last"
        ),
        "correction": param(
            "Correction for the number of tests: of the false discovery rate, or of the chance of any error",
            choices=["benjamini_hochberg", "holm", "bonferroni"],
            words=[
                "holm: (?:bonferroni.)?holm(?!.{0,3}[sš]id)",
                "bonferroni: bonfer+on+i(?!.holm)",
                "benjamini_hochberg: benjamini|fdr\\b|false discovery",
            ],
        ),
        "alpha": param(
            "False discovery rate (or chance of any error) at which a difference counts",
            minimum=0,
            maximum=1,
            decides="Adjusted p-value below",
        ),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables"),
    keywords=(
        "which features differ",
        "which measurements distinguish",
        "screen",
        "biomarker",
        "all variables",
        "discriminate",
    ),
    citations=(
        Citation(
            title="The generalization of Student's problem when several different population variances are involved",
            authors="Welch BL",
            year=1947,
            doi="10.1093/biomet/34.1-2.28",
        ),
        Citation(
            title="Controlling the false discovery rate: a practical and powerful approach to multiple testing",
            authors="Benjamini Y, Hochberg Y",
            year=1995,
            doi="10.1111/j.2517-6161.1995.tb02031.x",
        ),
    ),
    packages=("scipy", "pandas", "numpy", "statsmodels"),
    seconds=2.0,
    example="Which features distinguish malignant from benign tumours?",
    answers=["compare_groups"],
)
def compare_columns(
    table,
    *,
    group: str,
    columns: list[str] | None = None,
    treated: str = "",
    control: str = "",
    correction: str = "benjamini_hochberg",
    alpha: float = 0.05,
):
    """Compare numeric columns between groups, one test a column."""
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure
    from statsmodels.stats.multitest import multipletests

    method = {"benjamini_hochberg": "fdr_bh", "holm": "holm", "bonferroni": "bonferroni"}[correction]
    values, warnings = screened_columns(table, group, columns or [])
    labels = pd.Series(list(level_labels(table[group])), index=table.index)
    levels = order_levels(labels.dropna())
    if len(levels) < 2:
        raise ValueError(f"{group!r} has {len(levels)} group; a comparison needs at least two.")
    if len(levels) == 2:
        control = control or next((level for level in levels if level != treated), "") if treated else control
        control = control or likely_control(levels) or levels[-1]
        treated = treated or next(level for level in levels if level != control)
        if {treated, control} != set(levels):
            raise ValueError(f"{group!r} has the groups {levels[0]} and {levels[1]}, not {treated} and {control}.")
        levels = [treated, control]
    rows, constant = [], []
    for column, numbers in values.items():
        samples = [numbers[(labels == level) & numbers.notna()].to_numpy(float) for level in levels]
        if min(map(len, samples)) < 2 or max(np.ptp(sample) for sample in samples) == 0:
            constant.append(str(column))
            continue
        rows.append({"column": str(column), **screen_row(samples, levels)})
    if not rows:
        raise ValueError(f"No column has two varying values in every group of {group!r}.")
    if constant:
        warnings.append(f"Not compared, constant or with fewer than two values in a group: {', '.join(constant[:8])}.")
    result = pd.DataFrame(rows)
    result["p_adj"] = multipletests(result["p_value"].fillna(1.0), method=method)[1]
    result = result.sort_values(["p_value", "column"]).reset_index(drop=True)
    if len(result) > 1:
        warnings.append("The columns were tested one by one: measurements that are correlated differ together.")
    significant = int((result["p_adj"] < alpha).sum())
    ends = [called_level(level, group) for level in levels]
    what = f"between {ends[0]} and {ends[1]}" if len(levels) == 2 else f"between the {len(levels)} groups of {group}"
    named = [str(name) for name in result.loc[result["p_adj"] < alpha, "column"]]
    if len(levels) == 2:
        sides = dict(zip(result["column"], result["difference"], strict=True))
        named = [f"{name} ({'higher' if sides[name] > 0 else 'lower'})" for name in named]
        what += f", seen from {ends[0]}" if named else ""
    limit = "a false discovery rate" if method == "fdr_bh" else f"a family-wise error ({correction.capitalize()})"
    clearest = f": {'clearest ' if len(named) > 6 else ''}{', '.join(named[:6])}" if named else ""
    findings = [
        {
            "text": f"{significant} of {len(result)} measurements differ {what} at {limit} of "
            f"{100 * alpha:g} %{clearest} ({int(result['n'].max())} rows){detectable(result, alpha, len(levels))}.",
            "values": [
                {"name": "n_significant", "value": significant, "unit": "measurements"},
                {"name": "n_tested", "value": len(result), "unit": "measurements"},
            ],
            "output": "screening",
        }
    ]
    if len(levels) == 2 and len(result) <= FEW_COLUMNS:
        findings[0]["text"] = few_columns(result, ends, alpha)
    for row in result.head(6).itertuples():
        clear, tail = row.p_adj < alpha, f"adjusted {format_p(row.p_adj)}"
        if len(levels) == 2:
            side = f"{'higher' if row.difference > 0 else 'lower'} in" if clear else "not shown to differ between"
            text = (
                f"{row.column} is {side} {ends[0]} (mean {row.mean_1:.4g}, n = {row.n_1}) "
                f"{'than in' if clear else 'and'} {ends[1]} (mean {row.mean_2:.4g}, n = {row.n_2}): "
                f"difference {row.difference:.4g}, 95 % CI {row.lower_95:.4g} to {row.upper_95:.4g}, {tail}."
            )
            interval = {"low": float(row.lower_95), "high": float(row.upper_95)}
            main = {"name": "difference", "value": float(row.difference), **interval, "n": int(row.n)}
        else:
            text = (
                f"{row.column} is {'' if clear else 'not shown to differ: '}highest in {row.highest_group} (mean "
                f"{row.highest_mean:.4g}) and lowest in {row.lowest_group} (mean {row.lowest_mean:.4g}): eta "
                f"squared {row.effect_size:.2f}, {tail}."
            )
            main = {"name": "effect_size", "value": float(row.effect_size), "n": int(row.n)}
        values_named = [
            main,
            {"name": "p_value", "value": float(row.p_value)},
            {"name": "p_adj", "value": float(row.p_adj)},
        ]
        findings.append({"text": text, "values": values_named, "output": "screening", "row": {"column": row.column}})
    shown = result.head(25).iloc[::-1]
    figure = Figure(figsize=(8, max(2.5, 0.28 * len(shown) + 1.2)), layout="constrained")
    axis = figure.subplots()
    colours = ["#0072b2" if p < alpha else "0.7" for p in shown["p_adj"]]
    axis.barh(range(len(shown)), shown["effect_size"], color=colours)
    axis.set_yticks(range(len(shown)), [name[:45] for name in shown["column"]], fontsize=8)
    axis.axvline(0, color="0.3", linewidth=0.8)
    size = f"Cohen's d ({levels[0]} minus {levels[1]})" if len(levels) == 2 else "eta squared"
    axis.set_xlabel(f"{size}; blue: adjusted p < {alpha:g}")
    return {"screening": result, "screening_plot": figure, "findings": findings, "warnings": warnings}
