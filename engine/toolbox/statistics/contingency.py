"""Why apart: an odds ratio read backwards is a harm, and most clinical questions end in one.

The odds ratio always says whose odds, of what, against whom; small expected counts switch to the exact test.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    called_level,
    complete_rows,
    finding_values,
    format_number,
    format_p,
    in_a_row,
    left_open,
    level_labels,
    likely_control,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    pick_level,
    plain_table,
    require_columns,
)


@check("contingency_counts_add_up")
def contingency_counts_add_up(step: StepOutputs) -> Iterator[Issue]:
    """The counts of the table add up to the number of rows that was tested."""
    if not {"counts", "test_table"} <= set(step.files):
        return
    counts, tests = step.table("counts"), step.table("test_table")
    total, expected = counts.iloc[:, 1:].to_numpy().sum(), tests["n"].iloc[0]
    if abs(total - expected) > 1e-6:
        message = f"The counts add up to {total}, but {expected} rows were tested."
        yield Issue(code="counts_differ", severity="error", message=message, where="counts")


def orient_levels(levels, wanted, column):
    """Return the levels with the one of interest first: the one named, else not the control-like, else the last."""
    if wanted:
        first = pick_level(wanted, levels, column)
    elif len(levels) == 2:
        control = likely_control(levels)
        first = next(level for level in levels if level != control) if control else levels[-1]
    else:
        return levels
    return [first, *(level for level in levels if level != first)]


def two_by_two_rows(counts):
    """Return the odds ratio rows of a 2 x 2 table: Woolf's interval, and Fisher's exact test with the exact one."""
    import numpy as np
    from scipy import stats
    from scipy.stats import contingency as tables

    shifted = counts + 0.5 if (counts == 0).any() else counts
    (a, b), (c, d) = shifted
    log_or, se = np.log(a * d / (b * c)), np.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    wald = {"odds_ratio": float(np.exp(log_or)), "lower_95": float(np.exp(log_or - 1.959963985 * se)),
            "upper_95": float(np.exp(log_or + 1.959963985 * se))}  # fmt: skip
    fisher = {"test": "Fisher's exact test", "statistic": np.nan, "df": np.nan,
              "p_value": float(np.ravel(stats.fisher_exact(counts.astype(int)).pvalue)[0])}  # fmt: skip
    if counts.sum() > 10_000:
        # The exact interval takes minutes on large counts, where it equals Woolf's to three digits.
        return wald, fisher | wald
    exact = tables.odds_ratio(counts.astype(int), kind="conditional")
    limits = exact.confidence_interval(0.95)
    fisher |= {"odds_ratio": float(exact.statistic), "lower_95": float(limits.low), "upper_95": float(limits.high)}
    return wald, fisher


def independence_tests(counts, seed):
    """Return the rows of the test table, the recommended one first, and the expected counts."""
    import numpy as np
    from scipy import stats

    n = counts.sum()
    plain = stats.chi2_contingency(counts, correction=False)
    cramers = float(np.sqrt(plain.statistic / (n * (min(counts.shape) - 1))))
    expected = plain.expected_freq
    # Cochran's rule: the chi-square distribution holds when at most a fifth of expected counts are below 5.
    sparse = (expected < 5).mean() > 0.2 or (expected < 1).any() or (counts.shape == (2, 2) and (expected < 5).any())
    chi = {"test": "chi-square test", "statistic": float(plain.statistic), "df": int(plain.dof),
           "p_value": float(plain.pvalue)}  # fmt: skip
    if counts.shape == (2, 2):
        wald, fisher = two_by_two_rows(counts)
        yates = stats.chi2_contingency(counts, correction=True)
        corrected = {"test": "chi-square test with Yates's continuity correction", "statistic": float(yates.statistic),
                     "df": 1, "p_value": float(yates.pvalue)}  # fmt: skip
        rows = [chi | wald, corrected | wald, fisher]
        rows = [fisher, *rows[:2]] if sparse else rows
    else:
        rows = [chi]
        if sparse:
            drawn = stats.MonteCarloMethod(n_resamples=19_999, rng=np.random.default_rng(seed))
            result = stats.fisher_exact(counts.astype(int), method=drawn)
            rows.insert(
                0,
                {
                    "test": "Fisher-Freeman-Halton test (19999 random tables)",
                    "p_value": float(np.ravel(result.pvalue)[0]),
                },
            )
    for i, row in enumerate(rows):
        row |= {"n": int(n), "cramers_v": cramers, "recommended": i == 0}
    return rows, expected, sparse


def contingency_figure(counts, rows, columns, row, column):
    """Draw the share of every column level within each row level."""
    import numpy as np

    figure, axis = new_axes(width=max(4.5, min(14, 0.8 * len(rows) + 3.2)))
    shares = 100 * counts / counts.sum(axis=1, keepdims=True)
    bottom = np.zeros(len(rows))
    for j, colour in enumerate(palette(len(columns))):
        axis.bar(range(len(rows)), shares[:, j], bottom=bottom, color=colour, label=columns[j], edgecolor="white")
        bottom += shares[:, j]
    crowded = sum(len(name) for name in rows) > 45
    labels = [f"{name[:22]}\nn = {total:.0f}" for name, total in zip(rows, counts.sum(axis=1), strict=True)]
    axis.set_xticks(range(len(rows)), labels, rotation=40 if crowded else 0, ha="right" if crowded else "center")
    axis.set_xlabel(row)
    axis.set_ylabel("share of rows (%)")
    axis.legend(title=column, frameon=False, bbox_to_anchor=(1.01, 1), loc="upper left", fontsize=8)
    return figure


def tally(table, row, column, count):
    """Return the counts of every combination of two classifications (rows x columns), and warnings."""
    import numpy as np
    import pandas as pd

    table, warnings = complete_rows(table, [row, column, *([count] if count else [])])
    weights = numeric_values(table, count) if count else pd.Series(1.0, index=table.index)
    if (weights < 0).any() or (np.abs(weights - weights.round()) > 1e-6).any():
        raise ValueError(f"Column {count!r} holds negative or fractional values; expected counts (whole numbers).")
    labels = pd.DataFrame(
        {"row": level_labels(table[row]), "column": level_labels(table[column]), "w": weights.round()}
    )
    for name, key in ((row, "row"), (column, "column")):
        found = labels[key].nunique()
        if found < 2:
            raise ValueError(f"Column {name!r} has a single value; expected at least two categories. Choose another.")
        if found > 50:
            raise ValueError(
                f"Column {name!r} has {found} categories; expected at most 50. Is it a measurement or an id?"
            )
    counts = labels.pivot_table(index="row", columns="column", values="w", aggfunc="sum", fill_value=0.0)
    counts = counts.loc[counts.sum(axis=1) > 0, counts.sum(axis=0) > 0]
    if min(counts.shape) < 2:
        raise ValueError(f"Only one category of {row!r} or {column!r} has any counts; expected at least two of each.")
    return counts, warnings


def largest_v(row, n, sides):
    """Return the largest Cramer's V that the chi-square test does not exclude: the upper 95 % limit (Smithson 2003)."""
    import numpy as np
    from scipy.optimize import brentq
    from scipy.stats import ncx2

    statistic, df = row["statistic"], row["df"]

    def beyond(noncentral):
        return ncx2.cdf(statistic, df, noncentral) - 0.025

    top = 4 * (statistic + df + 20)
    noncentral = brentq(beyond, 1e-9, top) if beyond(1e-9) > 0 else 0.0
    return min(1.0, float(np.sqrt(noncentral / (n * (min(sides) - 1)))))


def describe_table(tests, counts, names, cells):
    """Return the leading finding: of a 2 x 2 table the share in both rows and the odds ratio, else what stands out.

    Args:
        tests: the rows of tests, the recommended one first.
        counts: the counts, rows x columns.
        names: the row column, its levels, the column and its levels.
        cells: the rows of all cells.
    """
    best, (row, rows, column, columns) = tests[0], names
    n, clear = int(counts.sum()), best["p_value"] < 0.05
    test = f"{format_p(best['p_value'])} ({best['test']})"
    values = {"p_value": best["p_value"], "n": n, "cramers_v": best["cramers_v"]}
    if counts.shape == (2, 2):
        first, second = (called_level(level, row) for level in rows)
        event = f"{column} = {columns[0]}"
        share = counts[:, 0] / counts.sum(axis=1)
        shown = [f"{counts[i, 0]:.0f} of {counts[i].sum():.0f}, {100 * share[i]:.1f} %" for i in (0, 1)]
        more = "more" if share[0] > share[1] else "less"
        start = (
            f"{event} is {more} frequent in {first} ({shown[0]}) than in {second} ({shown[1]})" if clear
            else f"{event} is not shown to be more or less frequent in {first} ({shown[0]}) than in {second} "
            f"({shown[1]})"
        )  # fmt: skip
        unseen = "" if clear else left_open(best["lower_95"], best["upper_95"], ratio=True, what="odds")
        interval = f"95 % CI {format_number(best['lower_95'])} to {format_number(best['upper_95'])}"
        text = f"{start}: odds ratio {format_number(best['odds_ratio'])} ({interval}), {test}{unseen}."
        values["odds_ratio"] = (best["odds_ratio"], best["lower_95"], best["upper_95"])
    elif clear:
        overall = counts.sum(axis=0) / n
        told = [
            f"{'more' if cell['adjusted_residual'] > 0 else 'less'} {called_level(cell['column_level'], column)} in "
            f"{called_level(cell['row_level'], row)} ({cell['row_percent']:.1f} % against "
            f"{100 * overall[columns.index(cell['column_level'])]:.1f} % overall)"
            for cell in sorted(cells, key=lambda cell: -abs(cell["adjusted_residual"]))[:3]
        ]
        text = (f"{row} and {column} are related (n = {n}), most clearly by {in_a_row(told)}: {test}, Cramer's V "
                f"{format_number(best['cramers_v'])}.")  # fmt: skip
    else:
        chi = next(one for one in tests if one["test"] == "chi-square test")
        values["largest_v"] = largest_v(chi, n, counts.shape)
        text = (f"{row} and {column} are not shown to be related (n = {n}): {test}, Cramer's V "
                f"{format_number(best['cramers_v'])}; the data are compatible with one of up to "
                f"{format_number(values['largest_v'])}.")  # fmt: skip
    return {"text": text, "values": finding_values(**values), "output": "test_table", "row": {"test": best["test"]}}


@tool(
    name="contingency",
    title="Relation between two classifications",
    description=(
        "Cross-tabulate two categorical columns and test whether they are related: the chi-square test, or Fisher's "
        "exact test when expected counts are small (below 5 in a 2 x 2 table; Cochran's rule in larger ones, where "
        "random tables with a fixed seed give the p-value). For 2 x 2 tables the odds ratio with its 95 % interval, "
        "its direction stated. Two-sided. Cramer's V, and which cells hold more or fewer rows than expected. Every row "
        "is one independent subject; name a count column when the table is already tallied."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "row:2 and column:2 => chi-square test, or Fisher's exact test where an expected count is below 5, "
        "because two classifications are crossed",
        "chi-square test, or Fisher's exact test where expected counts are small, because two "
        "classifications are crossed",
    ),
    complete=("row", "column", "times count"),
    answers=['contingency'],
    inputs={"table": "table: one row a subject, or already tallied with a count column"},
    outputs={
        "counts": "table: the cross-tabulation",
        "test_table": "table: tests, odds ratio (2 x 2), Cramer's V; the recommended test first",
        "cells": "table: observed and expected count, row percentage and adjusted residual of every cell",
        "contingency_plot": "figure: shares within each row level",
    },
    params={
        "row": param("The first classification (exposure, treatment, genotype)", kind="column", of="table",
                     role='group'),
        "column": param("The second classification (outcome, phenotype)", kind="column", of="table", role='category'),
        "row_level": param("The level of row whose odds stand above in the odds ratio; empty to recognise it",
                           kind="level", of="row", role='interest'),
        "column_level": param("The level of column that is the event; empty to recognise it", kind="level",
                              of="column", role='event'),
        "count": param("Column of counts when the table is already tallied", kind="column", of="table", role='tally'),
        "seed": param("Seed of the random tables", minimum=0),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "contingency_counts_add_up"),
    keywords=("chi-square", "chi squared", "Fisher's exact test", "contingency table", "cross tabulation", "odds ratio",
              "independence", "proportions", "categorical", "association between", "frequency", "mutation status",
              "responder", "2x2", "enriched in", "counts", "percent"),
    citations=(
        Citation(title="On the criterion that a given system of deviations from the probable in the case of a "
                       "correlated system of variables is such that it can be reasonably supposed to have arisen from "
                       "random sampling", authors="Pearson K", year=1900, doi="10.1080/14786440009463897"),
        Citation(title="On the interpretation of chi-squared from contingency tables, and the calculation of P",
                 authors="Fisher RA", year=1922, doi="10.2307/2340521"),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="Is sex related to species among the penguins?",
)  # fmt: skip
def contingency(
    table,
    *,
    row: str,
    column: str,
    row_level: str = "",
    column_level: str = "",
    count: str = "",
    seed: int = 1,
):
    """Test whether two classifications are related."""
    import numpy as np
    import pandas as pd

    table = plain_table(table)
    require_columns(table, [row, column, *([count] if count else [])])
    if row == column:
        raise ValueError(f"Row and column are both {row!r}; expected two different classifications.")
    tallied, warnings = tally(table, row, column, count)
    rows = orient_levels(order_levels(tallied.index), row_level, row)
    columns = orient_levels(order_levels(tallied.columns), column_level, column)
    counts = tallied.loc[rows, columns].to_numpy(dtype=float)
    tests, expected, sparse = independence_tests(counts, seed)
    n = int(counts.sum())
    if sparse:
        low = int((expected < 5).sum())
        warnings.append(f"{low} of {expected.size} expected counts are below 5, so the exact test is the one to read.")
    if counts.shape == (2, 2) and (counts == 0).any():
        warnings.append("A cell is empty: the sample odds ratio uses 0.5 added to every cell.")
    share_row, share_column = counts.sum(axis=1) / n, counts.sum(axis=0) / n
    residuals = (counts - expected) / np.sqrt(expected * np.outer(1 - share_row, 1 - share_column))
    cells = [
        {"row_level": a, "column_level": b, "observed": int(counts[i, j]), "expected": float(expected[i, j]),
         "row_percent": float(100 * counts[i, j] / counts[i].sum()), "adjusted_residual": float(residuals[i, j])}
        for i, a in enumerate(rows)
        for j, b in enumerate(columns)
    ]  # fmt: skip
    best = tests[0]
    findings = [describe_table(tests, counts, (row, rows, column, columns), cells)]
    if counts.shape == (2, 2):
        names = {"odds_of": f"{column} = {columns[0]}", "odds_in": f"{row} = {rows[0]}",
                 "odds_versus": f"{row} = {rows[1]}"}  # fmt: skip
        tests = [test | names for test in tests]
        statistic = f"{best['test']}"
        if best.get("df", np.nan) > 0:
            statistic += f", chi-squared {format_number(best['statistic'], 4)} on {best['df']:g} df"
        findings.append(
            {"text": f"{row} and {column} (n = {n}): {statistic}, {format_p(best['p_value'])}, Cramer's V "
                     f"{format_number(best['cramers_v'])}.",
             "values": finding_values(statistic=best.get("statistic"), p_value=best["p_value"], n=n,
                                      cramers_v=best["cramers_v"]),
             "output": "test_table", "row": {"test": best["test"]}}
        )  # fmt: skip
    elif best["p_value"] < 0.05:
        for cell in sorted(cells, key=lambda cell: -abs(cell["adjusted_residual"]))[:3]:
            relation = "more" if cell["adjusted_residual"] > 0 else "fewer"
            findings.append(
                {"text": f"{row} = {cell['row_level']} with {column} = {cell['column_level']}: {cell['observed']} "
                         f"rows, {relation} than the {format_number(cell['expected'])} expected (adjusted residual "
                         f"{cell['adjusted_residual']:.2f}).",
                 "values": finding_values(observed=cell["observed"], expected=cell["expected"],
                                          adjusted_residual=cell["adjusted_residual"])}
            )  # fmt: skip
    wanted = ["test", "statistic", "df", "p_value", "n", "cramers_v", "odds_ratio", "lower_95", "upper_95", "odds_of",
              "odds_in", "odds_versus", "recommended"]  # fmt: skip
    frame = pd.DataFrame(tests)
    crossed = pd.DataFrame(counts.astype(int), columns=columns)
    crossed.insert(0, row if row not in columns else f"{row} (rows)", rows)
    return {
        "counts": crossed,
        "test_table": frame.reindex(columns=[name for name in wanted if name in frame or name in ("statistic", "df")]),
        "cells": pd.DataFrame(cells),
        "contingency_plot": contingency_figure(counts, rows, columns, row, column),
        "findings": findings,
        "warnings": warnings,
    }
