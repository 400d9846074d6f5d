"""A measurement against a value that no data hold: chance, zero, a limit, a published mean; in each group by itself."""

from __future__ import annotations

from engine.domain.toolspec import Citation
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    left_open,
    level_labels,
    numeric_values,
    order_levels,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row

_A_VALUE = (
    r"\bchance\b|\bone[- ]sample\b|"
    r"\b(?:reference|expected|target|nominal|theoretical|published|literature|hypothesi[sz]ed) (?:value|mean)\b|"
    r"\b(?:differ\w*|deviat\w*) (?:\w+ )?from (?:the value (?:of )?)?(?:zero\b|\d)|\b(?:above|below|than) zero\b"
)


def one_sample(values, reference, test):
    """Compare one sample with a value two-sided; return the row's numbers (Student 1908; Wilcoxon 1945).

    Args:
        values: numbers without gaps.
        reference: the value.
        test: `one_sample_t`, or `wilcoxon` of the signed ranks, whose estimate is the median of pairwise means.
    """
    import numpy as np
    from scipy import stats

    differences = np.asarray(values, dtype=float) - reference
    row = {"n": len(differences), "mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1)),
           "median": float(np.median(values)), "reference": reference}  # fmt: skip
    if test == "one_sample_t":
        result = stats.ttest_1samp(differences, 0.0)
        interval = result.confidence_interval(0.95)
        return row | {
            "difference": float(differences.mean()), "lower_95": float(interval.low), "upper_95": float(interval.high),
            "statistic": float(result.statistic), "df": float(result.df), "p_value": float(result.pvalue),
            "effect_size": float(differences.mean() / differences.std(ddof=1)), "effect_size_type": "Cohen d",
        }  # fmt: skip
    nonzero = differences[differences != 0]
    exact = len(nonzero) == len(differences) < 50 and len(np.unique(np.abs(nonzero))) == len(nonzero)
    result = stats.wilcoxon(nonzero, correction=not exact, method="exact" if exact else "asymptotic")
    ranks = stats.rankdata(np.abs(nonzero))
    walsh = np.sort(np.add.outer(differences, differences)[np.tril_indices(len(differences))] / 2)
    n = len(differences)
    place = int(np.floor(n * (n + 1) / 4 - 1.959964 * np.sqrt(n * (n + 1) * (2 * n + 1) / 24)))
    low, high = (float(walsh[place - 1]), float(walsh[-place])) if place >= 1 else (np.nan, np.nan)
    return row | {
        "difference": float(np.median(walsh)), "lower_95": low, "upper_95": high, "statistic": float(result.statistic),
        "df": np.nan, "p_value": float(result.pvalue),
        "effect_size": float(2 * ranks[nonzero > 0].sum() / ranks.sum() - 1),
        "effect_size_type": "rank-biserial correlation",
    }  # fmt: skip


def value_finding(row, value, group, reference, comparison):
    """Return the finding on one group: above or below the value, by how much."""
    adjusted = len(comparison) > 1
    p = row["p_adj"] if adjusted else row["p_value"]
    middle = "median" if row["test"].startswith("Wilcoxon") else "mean"
    where = f" in {called_level(row['group'], group)}" if group else ""
    limits = f"{format_number(row['lower_95'])} to {format_number(row['upper_95'])}"
    size = f"difference {format_number(row['difference'])} (95 % CI {limits})"
    side = "above" if row["difference"] > 0 else "below"
    verdict = f"is {side}" if p < 0.05 else "is not shown to differ from"
    open_end = "" if p < 0.05 else left_open(row["lower_95"], row["upper_95"])
    text = (
        f"{value}{where} {verdict} {reference:g}: {middle} {format_number(row[middle])} "
        f"(n = {row['n']}), {size}, "
        f"{format_p(p)} ({row['test']}{', Holm' * adjusted}){open_end}."
    )
    values = finding_values(**{middle: row[middle]}, difference=(row["difference"], row["lower_95"], row["upper_95"]),
                            p_value=row["p_value"], n=row["n"])  # fmt: skip
    return {"text": text, "values": values, "output": "comparison", "row": table_row(comparison, group=row["group"])}


def drawn_values(samples, value, group, reference):
    """Return the figure: the values of each group, their means with 95 % intervals, and the fixed value."""
    import numpy as np
    from matplotlib.figure import Figure
    from scipy import stats

    figure = Figure(figsize=(1.8 + 1.1 * len(samples), 4.0), layout="constrained")
    axes = figure.subplots()
    rng = np.random.default_rng(0)
    for at, sample in enumerate(samples.values()):
        axes.scatter(at + rng.uniform(-0.12, 0.12, len(sample)), sample, s=16, alpha=0.6, color="#3b6ea5")
        half = stats.t.ppf(0.975, len(sample) - 1) * sample.std(ddof=1) / np.sqrt(len(sample))
        axes.errorbar(at + 0.25, sample.mean(), yerr=half, fmt="o", color="#222222", capsize=4)
    axes.axhline(reference, color="#b5452c", linestyle="--", linewidth=1)
    axes.annotate(
        f"{reference:g}",
        (1.0, reference),
        xycoords=("axes fraction", "data"),
        va="bottom",
        ha="right",
        fontsize=8,
    )
    axes.set_xticks(range(len(samples)), [str(level) for level in samples])
    axes.set_xlim(-0.5, len(samples) - 0.4)
    axes.set_ylabel(value)
    axes.set_xlabel(group)
    return figure


@tool(
    name="compare_with_value",
    title="Compare a measurement with a fixed value",
    description=(
        "Compare one measurement with a value that is not in the data (chance, zero, a limit, a published mean), in "
        "all rows or in each group: one-sample t-test, or Wilcoxon's signed-rank test where a small sample is clearly "
        "not normal; difference from the value with its 95 % interval, adjusted by Holm over groups. The groups are "
        "not compared with each other."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "one-sample t test (Wilcoxon's signed-rank test if a sample of fewer than 30 is clearly not normal), because a "
        "measurement is set against a fixed value",
    ),
    inputs={"table": "table: one row a subject or sample"},
    outputs={"comparison": "table: one row a group", "value_plot": "figure: values, means and the fixed value"},
    params={
        "value": param("The measured quantity", kind="column", of="table", role="measure"),
        "reference": param(
            "The value it is compared with",
            required=True,
            decides="Against the value",
            words=[
                r"chance(?:\s+level)?\s*[(=:,]?\s*(?:of|is|at)?",
                r"(?:reference|expected|target|nominal|theoretical|published|literature|hypothesi[sz]ed)\s+(?:value|mean)\s*[(=:]?\s*(?:of|is)?",
                r"(?:differ\w*|deviat\w*)\s+(?:\w+\s+)?from\s*(?:the\s+value\s*)?(?:of)?",
                r"one[- ]sample\s[^.;?\d]{0,60}?(?:against|vs\.?|versus|to|=|from)",
                "0: zero",
            ],
        ),
        "group": param("Compare within each level of this column", kind="column", of="table", role="group_optional"),
        "test": param(
            "Which test",
            choices=("auto", "one_sample_t", "wilcoxon"),
            words=["one_sample_t: one[- ]sample t|t[- ]test", "wilcoxon: wilcoxon|signed[- ]rank"],
        ),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables"),
    keywords=("one-sample t-test", "chance level", "reference value", "different from zero", "expected value"),
    citations=(
        Citation(title="The probable error of a mean", authors="Student", year=1908, doi="10.1093/biomet/6.1.1"),
        Citation(
            title="Individual comparisons by ranking methods", authors="Wilcoxon F", year=1945, doi="10.2307/3001968"
        ),
    ),
    packages=("pandas", "numpy", "scipy", "statsmodels", "matplotlib"),
    seconds=1.0,
    example="Do the mice spend more time in the target quadrant than by chance (15 s)?",
    answers=["compare_groups"],
    when=[f"said:{_A_VALUE}"],
)
def compare_with_value(table, *, value: str, reference: float, group: str = "", test: str = "auto"):
    """Compare a measurement with a fixed value, in all rows or in each group."""
    import numpy as np
    import pandas as pd
    from scipy import stats
    from statsmodels.stats.multitest import multipletests

    table = plain_table(table)
    require_columns(table, [value, *([group] if group else [])])
    numbers = numeric_values(table, value)
    labels = level_labels(table[group]) if group else pd.Series("all", index=table.index)
    kept = numbers.notna() & labels.notna()
    warnings = []
    if lost := int((~kept).sum()):
        warnings.append(f"{lost} of {len(table)} rows lack a value of {value}{f' or {group}' if group else ''}.")
    samples = {level: numbers[kept & (labels == level)].to_numpy(float) for level in order_levels(labels[kept])}
    short = [level for level, sample in samples.items() if len(sample) < 3 or np.ptp(sample) == 0]
    if short:
        raise ValueError(
            f"{value} in {short[0]} has fewer than 3 values or all are the same; there is no spread to test with."
        )
    rows = []
    for level, sample in samples.items():
        normal = len(sample) > 5000 or len(sample) >= 30 or stats.shapiro(sample).pvalue * len(samples) >= 0.01
        chosen = test if test != "auto" else "one_sample_t" if normal else "wilcoxon"
        names = {"one_sample_t": "one-sample t-test", "wilcoxon": "Wilcoxon signed-rank test"}
        rows.append({"group": level, **one_sample(sample, reference, chosen), "test": names[chosen]})
    comparison = pd.DataFrame(rows)
    comparison["p_adj"] = (
        multipletests(comparison["p_value"], method="holm")[1] if len(rows) > 1 else comparison["p_value"]
    )
    order = ["group", "difference", "p_value", "p_adj", "lower_95", "upper_95"]
    comparison = comparison[[*order, *(name for name in comparison if name not in order)]]
    surest = comparison.sort_values("p_value").to_dict("records")
    findings = [value_finding(row, value, group, reference, comparison) for row in surest]
    if len(findings) > 1:
        lead = "; ".join(finding["text"].removesuffix(".") for finding in findings)
        findings.insert(
            0, {"text": f"{lead}.", "values": [v for f in findings for v in f["values"]], "output": "comparison"}
        )
    return {
        "comparison": comparison,
        "value_plot": drawn_values(samples, value, group, reference),
        "findings": findings,
        "warnings": warnings,
    }
