"""Why apart: before and after often stand in two columns of one row, and then no column of groups exists.

The pair is the row, so nothing has to be matched; what is tested, and how, is as for pairs in `groups`.
"""

from __future__ import annotations

from engine.domain.toolspec import Citation, NextStep, Repair
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.group_tests import paired_test
from engine.toolbox.statistics.groups import check_assumptions, choose_test, comparison_warnings, second_opinion
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    format_p,
    label_groups,
    left_open,
    level_labels,
    new_axes,
    numeric_values,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.wording import in_size


def paired_columns(table, first, second, subject):
    """Return the values of both columns in complete rows, their differences, and warnings."""
    import numpy as np

    whole = plain_table(table)
    require_columns(whole, [first, second, *([subject] if subject else [])])
    if first == second:
        raise ValueError(f"Both measurements are the column {first!r}; expected two different columns.")
    table, warnings = complete_rows(whole, [first, second])
    a, b = numeric_values(table, first).to_numpy(), numeric_values(table, second).to_numpy()
    if len(a) < 3:
        raise ValueError(f"Only {len(a)} rows have both {first!r} and {second!r}; expected at least 3 pairs.")
    # 0.3 - 0.1 and 0.2 - 0.0 are the same difference: without rounding, ties among ranks would be lost.
    size = max(np.abs(a).max(), np.abs(b).max(), 1e-300)
    differences = np.round((a - b) / size, 14) * size
    repeats = int(level_labels(table[subject]).dropna().duplicated().sum()) if subject else 0
    if repeats:
        warnings.append(
            f"{repeats} rows repeat a value of {subject}, yet every row was taken as a subject of its own: p-values "
            "are then too small. Use one row a subject, or a mixed model."
        )
    return a, b, differences, len(whole) - len(table), warnings


def paired_figure(a, b, differences, first, second, row):
    """Draw a line a row between the two columns, beside the differences with their estimate."""
    import numpy as np

    figure, (left, right) = new_axes(width=9, panels=2)
    colours = palette(3)
    shown = np.random.default_rng(0).permutation(len(a))[:200]
    for i in shown:
        left.plot([0, 1], [b[i], a[i]], color="0.7", linewidth=0.8, zorder=1)
    for place, values, colour in ((0, b, colours[0]), (1, a, colours[1])):
        left.scatter(np.full(len(shown), place), values[shown], s=16, color=colour, edgecolor="white", linewidth=0.4)
    left.set_xlim(-0.4, 1.4)
    label_groups(left, [second, first])
    left.set_ylabel("value")
    right.hist(differences, bins="sqrt", color=colours[0], alpha=0.7)
    right.axvline(0, color="0.4", linestyle="--", linewidth=0.8)
    right.axvline(row["difference"], color=colours[2])
    if row["lower_95"] == row["lower_95"]:
        right.axvspan(row["lower_95"], row["upper_95"], color=colours[2], alpha=0.2)
    right.set_xlabel(f"{first} minus {second}\n(line: {row['estimate'].split(' of ')[0]}, band: 95 % CI)")
    right.set_ylabel("rows")
    return figure


def describe_columns_pair(row, first, second, alpha):
    """Return the finding of a paired comparison of two columns, its direction in words."""
    clear = row["p_value"] < alpha
    relation = "higher" if row["difference"] > 0 else "lower"
    start = (
        f"{first} is {relation} than {second} in the same subjects" if clear and row["difference"]
        else f"{first} and {second} differ in the same subjects" if clear
        else f"{first} and {second} are not shown to differ"
    )  # fmt: skip
    size, limits = in_size(row["difference"], row["lower_95"], row["upper_95"])
    if not (clear and row["difference"]):
        size = f"({first} minus {second}) {format_number(row['difference'])}"
        limits = f"95 % CI {format_number(row['lower_95'])} to {format_number(row['upper_95'])}"
    interval = f" ({limits})" if row["lower_95"] == row["lower_95"] else " (too few pairs for a 95 % interval)"
    unseen = "" if clear else left_open(row["lower_95"], row["upper_95"])
    text = (
        f"{start}: mean {format_number(row['mean_1'])} against {format_number(row['mean_2'])}, {row['estimate']} "
        f"{size}{interval}, {format_p(row['p_value'])} "
        f"({row['test']}, {row['n']} pairs); higher in {row['n_higher']} pairs, lower in {row['n_lower']}{unseen}."
    )
    values = finding_values(
        difference=(row["difference"], row["lower_95"], row["upper_95"]), p_value=row["p_value"],
        statistic=row["statistic"], n=row["n"], effect_size=row["effect_size"], mean_1=row["mean_1"],
        mean_2=row["mean_2"], n_left_out=row["n_left_out"],
    )  # fmt: skip
    return {"text": text, "values": values, "output": "comparison", "row": {"comparison": row["comparison"]}}


@tool(
    name="compare_columns_paired",
    title="Compare two columns measured in the same subjects",
    description=(
        "Test whether two numeric columns of one row per subject differ: before and after, left and right, treated and "
        "control side of the same animal. The difference is first minus second, with its 95 % interval, a "
        "standardised difference, and the number of pairs and of rows left out. With `auto`: the paired t-test, or "
        "Wilcoxon's signed-rank test with the Hodges-Lehmann estimate when fewer than 30 differences are clearly not "
        "normal (Shapiro-Wilk, p < 0.01). Two-sided. For one column of values and one of groups take compare_groups."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "test=paired_t => paired t test, because {first} and {second} are of the same subjects",
        "test=wilcoxon => Wilcoxon's signed-rank test, because {first} and {second} are of the same subjects",
        "paired t test (Wilcoxon's signed-rank test if fewer than 30 differences are clearly not normal), "
        "because {first} and {second} are of the same subjects",
    ),
    complete=("first", "second"),
    inputs={"table": "table: one row a subject, with both measurements in it"},
    outputs={
        "comparison": "table: one row: means, difference first minus second, interval, p-value, effect size",
        "assumptions": "table: normality of the differences and the same question by another test",
        "paired_plot": "figure: a line a subject, and the differences",
    },
    params={
        "first": param("The later or treated measurement", kind="column", of="table", role="measure_a"),
        "second": param("The earlier or baseline measurement, subtracted from the first", kind="column", of="table",
                        role="measure_b"),
        "subject": param("The column that names the subject, to notice repeated ones", kind="column",
                         of="table", role="pair"),
        "test": param("Which test; auto chooses by the differences and says which it took",
                      choices=["auto", "paired_t", "wilcoxon"],
                      words=["paired_t: paired (?:t|student)|t.?tests?\\b",
                             "wilcoxon: wilcoxon|signed.?rank|rank tests?\\b|non.?param\\w*|rank.?based|"
                             "distribution.?free"]),
        "alpha": param("P-value below which a difference is reported", minimum=1e-10, maximum=0.5),
    },
    answers=['compare_paired'],
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "group_differences_match_means"),
    keywords=("paired t-test", "paired", "before and after", "pre and post", "two columns", "change from baseline",
              "same subjects", "same animals", "left and right", "Wilcoxon signed-rank", "matched pairs",
              "within subject difference", "dependent samples"),
    citations=(
        Citation(title="The probable error of a mean", authors="Student", year=1908, doi="10.1093/biomet/6.1.1"),
        Citation(title="Individual comparisons by ranking methods", authors="Wilcoxon F", year=1945,
                 doi="10.2307/3001968"),
        Citation(title="Estimates of location based on rank tests", authors="Hodges JL, Lehmann EL", year=1963,
                 doi="10.1214/aoms/1177704172"),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=3.0,
    example="Is the heart rate after training lower than before in the same people?",
    repairs=[
        Repair(pattern="no spread to use", change={"test": "wilcoxon"},
               why="every pair differs by the same amount, so the signed-rank test was used"),
    ],
    next_steps=[
        NextStep(text="A change from {param:second} to {param:first} without a control group may also be time, "
                      "practice or regression to the mean; compare it with subjects that were not treated.",
                 after="found"),
    ],
)  # fmt: skip
def compare_columns_paired(
    table, *, first: str, second: str, subject: str = "", test: str = "auto", alpha: float = 0.05
):
    """Compare two columns measured in the same subjects."""
    import numpy as np
    import pandas as pd

    a, b, differences, left_out, warnings = paired_columns(table, first, second, subject)
    assumptions, state = check_assumptions({}, first, differences)
    constant = np.ptp(differences) == 0
    state["use_ranks"] = state["use_ranks"] or constant
    samples = {first: differences, second: np.zeros(len(differences))}
    family = choose_test(test, 2, True, state, samples)
    row = paired_test(differences, samples[second], family)
    spread = 0.0 if constant else float(differences.std(ddof=1))
    row |= {
        "comparison": f"{first} vs {second}", "column_1": first, "column_2": second, "n": len(a),
        "test": {"paired_t": "paired t-test", "wilcoxon": "Wilcoxon signed-rank test"}[family],
        "n_left_out": left_out, "n_higher": int((differences > 0).sum()), "n_lower": int((differences < 0).sum()),
        "n_equal": int((differences == 0).sum()), "sd_difference": spread,
        "standardised_difference": float(differences.mean() / spread) if spread else float("nan"),
    }  # fmt: skip
    for i, x in (("1", a), ("2", b)):
        row |= {f"mean_{i}": float(x.mean()), f"sd_{i}": float(x.std(ddof=1)), f"median_{i}": float(np.median(x))}
    warnings += comparison_warnings(samples, family, state, [True])
    extra, notes = ([], []) if constant else second_opinion(samples, (first, second), family, row)
    columns = ["comparison", "test", "column_1", "column_2", "n", "n_left_out", "n_higher", "n_lower", "n_equal",
               "mean_1", "mean_2", "sd_1", "sd_2", "median_1", "median_2", "estimate", "difference", "lower_95",
               "upper_95", "statistic", "df", "p_value", "standardised_difference", "sd_difference", "effect_size",
               "effect_size_type"]  # fmt: skip
    nothing = [{"check": "the differences do not vary", "group": "differences", "n": len(a)}]
    return {
        "comparison": pd.DataFrame([row]).reindex(columns=columns),
        "assumptions": pd.DataFrame(assumptions + extra or nothing),
        "paired_plot": paired_figure(a, b, differences, first, second, row),
        "findings": [describe_columns_pair(row, first, second, alpha)],
        "warnings": warnings + notes,
    }
