"""Why apart: people ask whether a test may be used before they use it, and want to hear what to do next.

A test of normality says little of few values and too much of many. So the skew stands beside every p-value, the figure
shows the values against a normal distribution, and the advice is in words.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.linear import check_rank, predictor_matrix
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    format_p,
    label_groups,
    level_labels,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    plain_table,
    require_columns,
)

MOST_GROUPS = 40
"""So many groups are looked at."""


@check("assumption_results_follow")
def assumption_results_follow(step: StepOutputs) -> Iterator[Issue]:
    """What is said to hold has p of at least 0.05, what is said not to has less; W is at most 1."""
    for _, row in step.table("checks").dropna(subset=["p_value"]).iterrows():
        if (row["p_value"] >= 0.05) != (row["result"] == "no clear departure"):
            message = f"{row['check']} of {row['group']}: the result does not follow from p = {row['p_value']}."
            yield Issue(code="result_differs", severity="error", message=message, where="checks")
        if row["check"].startswith("normality") and not 0 < row["statistic"] <= 1 + 1e-9:
            message = f"W of {row['group']} is {row['statistic']}; it lies between 0 and 1."
            yield Issue(code="w_range", severity="error", message=message, where="checks")


def check_row(check, group, n, statistic, p_value, skew=float("nan")):
    """Return a row of the checks table."""
    result = "not tested" if p_value != p_value else "no clear departure" if p_value >= 0.05 else "departs"
    return {"check": check, "group": group, "n": n, "statistic": float(statistic), "p_value": float(p_value),
            "skewness": float(skew), "result": result}  # fmt: skip


def normality_row(x, group, what="normality (Shapiro-Wilk)"):
    """Return the Shapiro-Wilk row of a sample; of more than 5000 values a fixed random 5000 are tested."""
    import numpy as np
    from scipy import stats

    if len(x) < 3 or np.ptp(x) == 0:
        return check_row(what, group, len(x), float("nan"), float("nan"))
    shown = np.random.default_rng(0).permutation(x)[:5000]
    result = stats.shapiro(shown)
    skew = stats.skew(x, bias=False) if len(x) > 2 else float("nan")
    return check_row(what, group, len(x), result.statistic, result.pvalue, skew)


def spread_rows(samples):
    """Return the rows on equal variances: Brown-Forsythe (from medians), Levene (from means) and Bartlett."""
    from scipy import stats

    names = [name for name, x in samples.items() if len(x) > 1]
    groups, n = [samples[name] for name in names], sum(len(samples[name]) for name in names)
    if len(groups) < 2 or not any(x.var() > 0 for x in groups):
        return []
    rows = [check_row(f"equal variances ({title})", "all groups", n, *stats.levene(*groups, center=centre))
            for title, centre in (("Brown-Forsythe", "median"), ("Levene", "mean"))]  # fmt: skip
    if all(x.var() > 0 for x in groups):
        rows.append(
            check_row("equal variances (Bartlett, for normal values)", "all groups", n, *stats.bartlett(*groups))
        )
    return rows


def residual_rows(values, design):
    """Return residual checks of a straight-line model, its fitted values, standardised residuals, Cook's distances.

    Breusch and Pagan's test is Koenker's form (n times R2 of the squared residuals), which needs no normal errors.
    """
    import numpy as np
    from scipy import stats

    x, n, k = design.to_numpy(dtype=float), *design.shape
    fitted = x @ np.linalg.lstsq(x, values, rcond=None)[0]
    residuals = values - fitted
    leverage = np.clip(np.einsum("ij,ji->i", x, np.linalg.pinv(x)), 0, 1 - 1e-12)
    variance = float((residuals**2).sum() / (n - k))
    if variance <= 1e-20 * max(float(values.var()), 1e-300):
        raise ValueError(
            "The model fits every value exactly, so there are no residuals to check. Is a predictor the outcome?"
        )
    standard = residuals / np.sqrt(variance * (1 - leverage))
    cook = standard**2 * leverage / (1 - leverage) / k
    squared = residuals**2
    rest = squared - x @ np.linalg.lstsq(x, squared, rcond=None)[0]
    lagrange = n * (1 - float((rest**2).sum() / ((squared - squared.mean()) ** 2).sum()))
    bent = np.column_stack([x, fitted**2, fitted**3])
    better = ((values - bent @ np.linalg.lstsq(bent, values, rcond=None)[0]) ** 2).sum()
    added = int(np.linalg.matrix_rank(bent / np.maximum(np.abs(bent).max(axis=0), 1e-300))) - k
    rows = [normality_row(standard, "residuals"),
            check_row("constant scatter (Breusch-Pagan)", "residuals", n, lagrange,
                      stats.chi2.sf(lagrange, k - 1))]  # fmt: skip
    if added > 0 and n > k + added:
        f = ((residuals**2).sum() - better) / added / (better / (n - k - added))
        rows.append(check_row("straight line (RESET)", "residuals", n, f, stats.f.sf(f, added, n - k - added)))
    return rows, fitted, standard, cook


def assumption_figure(parts, fitted, standard, measure):
    """Draw normal quantile plots (one colour a group), beside them residuals or values about their centre."""
    import numpy as np
    from scipy import stats

    figure, (left, right) = new_axes(width=9.0, panels=2)
    colours = palette(len(parts))
    for (name, x), colour in zip(parts.items(), colours, strict=True):
        if len(x) > 2 and np.std(x) > 0:
            scaled = np.sort((x - x.mean()) / x.std(ddof=1))
            places = stats.norm.ppf((np.arange(1, len(x) + 1) - 0.375) / (len(x) + 0.25))
            left.scatter(places, scaled, s=14, color=colour, alpha=0.8, label=f"{name} ({len(x)})")
    ends = np.array(left.get_xlim())
    left.plot(ends, ends, color="0.5", linewidth=0.9, linestyle="--")
    left.set_xlabel("normal quantile")
    left.set_ylabel("standardised value")
    if 1 < len(parts) <= 10:
        left.legend(frameon=False, fontsize=8)
    if fitted is not None:
        right.scatter(fitted, standard, s=14, color=colours[0], alpha=0.8)
        right.axhline(0, color="0.5", linewidth=0.9, linestyle="--")
        right.set_xlabel("fitted value")
        right.set_ylabel("standardised residual")
        return figure
    rng = np.random.default_rng(0)
    for i, ((_, x), colour) in enumerate(zip(parts.items(), colours, strict=True)):
        shown = rng.permutation(x - np.median(x))[:500]
        right.scatter(i + rng.uniform(-0.16, 0.16, len(shown)), shown, s=14, color=colour, alpha=0.8)
    right.axhline(0, color="0.5", linewidth=0.9, linestyle="--")
    label_groups(right, list(parts))
    right.set_ylabel(f"{measure} minus median of its group" if len(parts) > 1 else f"{measure} minus its median")
    return figure


def next_in_words(normal, equal, logs, smallest, groups):
    """Return what to do next, in one sentence, for groups of values."""
    if groups < 2:
        what = (
            "methods for normal values may be used" if normal else "give the median and quartiles, and take rank tests"
        )
    elif normal and equal:
        what = f"{'a t-test' if groups == 2 else 'an analysis of variance'} may be used"
    elif normal:
        what = f"take Welch's {'t-test' if groups == 2 else 'analysis of variance'}, which needs no equal variances"
    elif smallest >= 30:
        what = "with 30 or more values a group means are still near normal: Welch's test may be used, or ranks"
    else:
        what = f"take a rank test ({'Mann-Whitney' if groups == 2 else 'Kruskal-Wallis'})"
    return (
        what[0].upper()
        + what[1:]
        + ("; logarithms would bring the values near normal." if logs and not normal else ".")
    )


@tool(
    name="assumption_checks",
    title="Check of assumptions: normality, equal variances, residuals",
    description=(
        "Check what tests of means and straight lines assume, and say what to do next: Shapiro-Wilk and skewness "
        "of each "
        "group, Brown-Forsythe, Levene and Bartlett for equal variances, whether logarithms would help; with "
        "predictors the "
        "residuals of the linear model: normality, constant scatter (Breusch-Pagan), straightness (RESET), "
        "influential rows "
        "(Cook). With quantile and residual plots. Compares no means."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "predictors => Shapiro-Wilk, Breusch-Pagan and RESET tests of the residuals of a linear model",
        "group => Shapiro-Wilk test in each group, Brown-Forsythe, Levene and Bartlett tests of equal variances",
        "Shapiro-Wilk test of normality",
    ),
    complete=("measure", "group", "predictors"),
    answers=["assumption_checks"],
    inputs={"table": "table: one row a measurement"},
    outputs={
        "checks": "table: every check with its statistic, p-value and result",
        "check_plot": "figure: normal quantile plot, and residuals or groups about their centre",
    },
    params={
        "measure": param("The measurement", kind="column", of="table", role="measure"),
        "group": param("Column of groups", kind="column", of="table", role="group", required=False,
                       distinct=MOST_GROUPS),
        "predictors": param("Predictors of a linear model whose residuals are checked", kind="columns", of="table",
                            role="predictors"),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "assumption_results_follow"),
    keywords=("normality test", "Shapiro-Wilk", "normally distributed", "Levene", "Brown-Forsythe", "Bartlett",
              "equal variances", "homoscedasticity", "heteroscedasticity", "QQ plot", "Q-Q plot", "bell curve",
              "bell shaped",
              "residual plot", "residual diagnostics", "Breusch-Pagan", "may I use a t-test", "conditions of the test",
              "parametric", "skewed"),
    citations=(
        Citation(title="An analysis of variance test for normality (complete samples)", authors="Shapiro SS, Wilk MB",
                 year=1965, doi="10.1093/biomet/52.3-4.591"),
        Citation(title="Robust tests for the equality of variances", authors="Brown MB, Forsythe AB", year=1974,
                 doi="10.1080/01621459.1974.10482955"),
        Citation(title="A note on studentizing a test for heteroscedasticity", authors="Koenker R", year=1981,
                 doi="10.1016/0304-4076(81)90062-2"),
        Citation(title="Tests for specification errors in classical linear least-squares regression analysis",
                 authors="Ramsey JB", year=1969, doi="10.1111/j.2517-6161.1969.tb00796.x"),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="Is ferritin normally distributed in both arms, and are the variances equal?",
)  # fmt: skip
def assumption_checks(
    table,
    *,
    measure: str,
    group: str = "",
    predictors: list[str] = [],  # noqa: B006 - a plain default, never changed
):
    """Check normality, equal variances and residuals."""
    import numpy as np
    import pandas as pd

    table, predictors = plain_table(table), list(dict.fromkeys(predictors))
    require_columns(table, [measure, *([group] if group else []), *predictors])
    if measure in (group, *predictors):
        raise ValueError(f"{measure!r} is both the measurement and what explains it; expected different columns.")
    if not group and len(predictors) == 1:
        column = table[predictors[0]]
        if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            group, predictors = predictors[0], []
    predictors = [*predictors, *([group] if group and predictors and group not in predictors else [])]
    table, warnings = complete_rows(table, [measure, *([group] if group else []), *predictors])
    values = numeric_values(table, measure)
    if len(values) < 3 or values.nunique() < 2:
        raise ValueError(f"Column {measure!r} has {len(values)} usable values, {values.nunique()} of them "
                         f"different; expected "
                         "at least 3 that vary.")  # fmt: skip
    fitted = standard = None
    if predictors:
        design, _, notes = predictor_matrix(table, predictors, [])
        check_rank(design, measure)
        if len(table) < design.shape[1] + 3:
            raise ValueError(
                f"{len(table)} complete rows are too few to judge the residuals of {design.shape[1]} coefficients."
            )
        warnings += notes
        rows, fitted, standard, cook = residual_rows(values.to_numpy(), design)
        parts = {"residuals": standard}
        strong, worst = int((cook > 1).sum()), int(cook.round(9).argmax()) + 1
        rows.append({"check": "largest Cook's distance", "group": f"row {worst}", "n": len(cook),
                     "statistic": float(cook.max()),
                     "result": "influential" if strong else "none above 1"})  # fmt: skip
        bad = [row for row in rows if row["result"] == "departs"]
        said = {"normality": "the residuals are not normal (take logarithms, or a robust or rank method)",
                "constant": "the scatter is not constant (take logarithms, or robust standard errors)",
                "straight": "the relation bends (add a square, or a curve)"}  # fmt: skip
        troubles = [said[row["check"].split()[0]] for row in bad]
        troubles += [f"row {worst} decides the result alone (Cook's distance {cook.max():.2f})"] if strong else []
        told = "; ".join(f"{row['check']} {format_p(row['p_value'])}" for row in rows if "p_value" in row)
        text = f"The linear model of {measure} by {', '.join(predictors)} " + (
            f"does not fit what it assumes: {'; '.join(troubles)}"
            if troubles
            else "shows no clear departure from what it assumes"
        )
        text += f" ({told}; n = {len(values)})."
        warnings.append("Rows were numbered as used, after those with missing values were left out.")
    else:
        labels = level_labels(table[group]) if group else pd.Series("all", index=table.index)
        levels = order_levels(labels)
        if len(levels) > MOST_GROUPS:
            raise ValueError(f"Column {group!r} has {len(levels)} different values; expected at most {MOST_GROUPS} "
                             "groups. To check a straight line name it as a predictor.")  # fmt: skip
        parts = {level: values[labels == level].to_numpy() for level in levels}
        rows = [normality_row(x, level) for level, x in parts.items()]
        tested = [row["p_value"] for row in rows if row["p_value"] == row["p_value"]]
        departs = [row["group"] for row in rows if row["result"] == "departs"]
        normal = bool(tested) and min(tested) * len(tested) >= 0.05
        spread = spread_rows(parts)
        equal = not spread or spread[0]["p_value"] >= 0.05
        rows += spread
        logs = False
        if (values > 0).all() and not normal:
            in_logs = [
                normality_row(np.log(x), level, "normality of logarithms (Shapiro-Wilk)") for level, x in parts.items()
            ]
            p_logs = [row["p_value"] for row in in_logs if row["p_value"] == row["p_value"]]
            logs = bool(p_logs) and min(p_logs) * len(p_logs) >= 0.05
            rows += in_logs
        smallest = min(len(x) for x in parts.values())
        where = f" in {group}" if group else ""
        told = f"smallest Shapiro-Wilk {format_p(min(tested))}" if tested else "too few values to test"
        say = (f"{measure} shows no clear departure from a normal distribution{where}" if normal else
               f"{measure} departs from a normal distribution"
               + (f" in {', '.join(departs[:6])}" if group and departs else "")
               if tested else f"Whether {measure} is normal cannot be tested")  # fmt: skip
        text = f"{say} ({told}, n = {len(values)})"
        if spread:
            text += (f"; the variances {'do not differ clearly' if equal else 'differ'} (Brown-Forsythe "
                     f"{format_p(spread[0]['p_value'])})")  # fmt: skip
        text += ". " + next_in_words(normal, equal, logs, smallest, len(parts))
        if len(tested) > 1 and departs and normal:
            warnings.append(
                f"{', '.join(departs)} alone would depart at 0.05, but not after allowing for {len(tested)} groups."
            )
        if smallest < 10:
            warnings.append(f"With {smallest} values in the smallest group a test sees only gross departures: no "
                            f"departure is no "
                            "proof of a normal distribution.")  # fmt: skip
        if max(len(x) for x in parts.values()) > 300:
            warnings.append(
                "With several hundred values the tests find departures that do not matter; judge by the figure."
            )
    warnings.append(
        "Choosing the test by these checks on the same data is common, but a test chosen beforehand is cleaner."
    )
    frame = pd.DataFrame(rows)
    findings = [{"text": text, "values": finding_values(n=len(values))}]
    findings += [
        {"text": f"{row['check']}, {row['group']}: statistic {format_number(row['statistic'])}, "
                 f"{format_p(row['p_value'])}"
                 + (f", skewness {row['skewness']:.2f}" if row["skewness"] == row["skewness"] else "")
                 + f" ({row['result']}).",
         "values": finding_values(statistic=row["statistic"], p_value=row["p_value"])}
        for row in rows[:8] if "p_value" in row and row["p_value"] == row["p_value"]
    ]  # fmt: skip
    for finding in findings:
        finding["output"] = "checks"
    return {"checks": frame, "check_plot": assumption_figure(parts, fitted, standard, measure), "findings": findings,
            "warnings": warnings}  # fmt: skip
