"""Why these together: what a biologist asks of a plain table before any model.

Describe its columns, see which measurements move together, and correct many p-values for their number.
Group comparisons, ANOVA, contingency tables and regression have files of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep, Points
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    called_level,
    drawn_rows,
    finding_values,
    format_number,
    format_p,
    in_a_row,
    new_axes,
    numeric_values,
    palette,
    plain_table,
    require_columns,
    whole_or_short,
)
from engine.toolbox.tables.rows import table_row

MOST_GROUPS = 100
"""So many groups are described."""


@check("correlations_in_range")
def correlations_in_range(step: StepOutputs) -> Iterator[Issue]:
    """A correlation lies between -1 and 1 and inside its own interval."""
    table = step.table("correlations") if "correlations" in step.files else None
    if table is None or "r" not in table:
        return
    outside = table[table["r"].abs() > 1 + 1e-9]
    if len(outside):
        message = f"{len(outside)} correlations lie outside -1 to 1, for example {outside['r'].iloc[0]}."
        yield Issue(code="correlation_out_of_range", severity="error", message=message, where="correlations")
    limits = table.dropna(subset=["lower_95", "upper_95"])
    wrong = limits[(limits["lower_95"] > limits["r"] + 1e-9) | (limits["upper_95"] < limits["r"] - 1e-9)]
    if len(wrong):
        message = f"{len(wrong)} correlations lie outside their own 95 % interval."
        yield Issue(code="interval_without_estimate", severity="error", message=message, where="correlations")


@check("adjusted_rows_complete")
def adjusted_rows_complete(step: StepOutputs) -> Iterator[Issue]:
    """Every row with a p-value has an adjusted one, no smaller and in the same order, and no other row has one."""
    column = step.params.get("column", "p_value")
    table = step.table("adjusted") if "adjusted" in step.files else None
    if table is None or column not in table or "p_adj" not in table:
        return
    if (table[column].isna() != table["p_adj"].isna()).any():
        message = f"Rows with a value of {column} and rows with an adjusted p-value are not the same rows."
        yield Issue(code="adjusted_missing", severity="error", message=message, where="adjusted")
    ordered = table.dropna(subset=[column, "p_adj"]).sort_values(column)
    if (ordered["p_adj"].diff() < -1e-12).any() or (ordered["p_adj"] < ordered[column] * (1 - 1e-9)).any():
        message = "Adjusted p-values are not in the order of the raw ones, or are smaller."
        yield Issue(code="adjusted_order", severity="error", message=message, where="adjusted")


def describe_column(column, name):
    """Return the summary of one column: numbers by their distribution, text by its most frequent value."""
    import pandas as pd

    blank = column.isna() | (column.astype(str).str.strip() == "")
    present = column[~blank]
    row = {"column": name, "n": len(present), "missing": int(blank.sum()), "distinct": int(present.nunique())}
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if numeric and len(present):
        quarters = present.astype(float).quantile([0.25, 0.5, 0.75]).tolist()
        return row | {
            "type": "number", "mean": float(present.mean()), "sd": float(present.std(ddof=1)),
            "min": float(present.min()), "q1": quarters[0], "median": quarters[1], "q3": quarters[2],
            "max": float(present.max()),
        }  # fmt: skip
    if not len(present):
        return row | {"type": "empty"}
    frequent = present.astype(str).value_counts()
    top = sorted(frequent[frequent == frequent.max()].index)[0]
    return row | {"type": "text", "most_common": top, "most_common_n": int(frequent.max())}


def as_labels(column):
    """Return a column of codes as text, 2 and not 2.0, with its gaps."""
    texts = column.map(lambda value: f"{value:g}" if isinstance(value, (int, float)) else str(value))
    return texts.where(column.notna(), None)


def unreadable_numbers(table, columns):
    """Return the table with infinite values as gaps, and warnings on these and on numbers that are read as text."""
    import numpy as np
    import pandas as pd

    table, warnings = table.copy(), []
    for name in columns:
        column = table[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            infinite = np.isinf(column.to_numpy(dtype=float, na_value=np.nan))
            if infinite.any():
                table[name] = column.mask(infinite)
                warnings.append(f"{int(infinite.sum())} infinite values of {name} were counted as missing.")
            continue
        text = column.dropna().astype(str).str.strip()
        text = text[text != ""]
        numbers, commas = pd.to_numeric(text, errors="coerce").notna(), text.str.fullmatch(r"-?\d+,\d+")
        if len(text) and not pd.api.types.is_bool_dtype(column) and (numbers | commas).mean() > 0.5:
            example = text[commas].iloc[0] if commas.any() else text[~numbers].iloc[0] if (~numbers).any() else ""
            why = ", with a decimal comma" if commas.any() else ""
            if example:
                warnings.append(f"{name} is read as text because of values such as {example!r}{why}; most of it looks "
                                "like numbers. Correct them in the file for a mean.")  # fmt: skip
    return table, warnings


def describe_levels(rows, group_by):
    """Return the finding on one to three numbers in all groups, of each the highest mean first; none of more."""
    import pandas as pd

    told, values = [], []
    for name in dict.fromkeys(row["column"] for row in rows if row["type"] == "number"):
        own = [row for row in rows if row["column"] == name]
        if not 2 <= len(own) <= 8:
            return []
        numbers = all(pd.api.types.is_number(row[group_by]) for row in own)  # doses and days keep their order
        order = own if numbers else sorted(own, key=lambda row: -row["mean"])
        told.append(f"mean {name} is " + in_a_row(
            [f"{format_number(row['mean'])} (SD {format_number(row['sd'])}, n = {row['n']}) "
             f"{'at' if numbers else 'in'} {called_level(row[group_by], '' if numbers and at else group_by)}"
             for at, row in enumerate(order)]))  # fmt: skip
        for row in order:
            of = f"{name} {row[group_by]}" if len(told) > 1 else row[group_by]
            values += finding_values(**{f"mean {of}": row["mean"], f"sd {of}": row["sd"], f"n {of}": row["n"]})
    if not 1 <= len(told) <= 3:
        return []
    text = "; ".join(told)
    return [{"text": f"{text[0].upper()}{text[1:]}.", "values": values, "output": "summary"}]


def shares_of_levels(table, rows):
    """Return the findings on columns of a few texts: how many rows have each, the most frequent first."""
    findings = []
    for row in [row for row in rows if row["type"] == "text" and 2 <= row["distinct"] <= 12][:3]:
        column = table[row["column"]].dropna().astype(str)
        sizes = column[column.str.strip() != ""].value_counts()
        shares = {level: float(100 * size / row["n"]) for level, size in sizes.items()}
        parts = [
            f"{size} {called_level(level, row['column'])} ({shares[level]:.1f} %)" for level, size in sizes.items()
        ]
        values = finding_values(n=row["n"], **{f"n {level}": int(size) for level, size in sizes.items()},
                                **{f"% {level}": share for level, share in shares.items()})  # fmt: skip
        findings.append({"text": f"{row['column']} of {row['n']} rows: {in_a_row(parts)}.", "output": "summary",
                         "values": values})  # fmt: skip
    return findings


def count_names(rows, name, group_by, column):
    """Return the finding that counts whom a column names, each once, in all or in each group, and who comes again."""
    sizes = column.dropna().value_counts()
    several = int((sizes > 1).sum())
    values = finding_values(**{f"n {row[group_by]}" if group_by else "n": row["distinct"] for row in rows[:20]},
                            n_several=several)  # fmt: skip
    told = f"{len(sizes)} different {name} in {len(column)} rows, {several} of them with more than one"
    if group_by:
        each = [f"{row['distinct']} in {called_level(row[group_by], group_by)}"
                for row in sorted(rows, key=lambda row: -row["distinct"])[:20]]  # fmt: skip
        told = f"{in_a_row(each)} ({told}, each counted once in a group)"
    return {"text": f"{told}.", "output": "summary", "values": values}


@tool(
    name="summarize_table",
    title="Summarise the columns of a table",
    description=(
        "Describe every column (or those named), for the whole table or within each group: number of values, missing "
        "values, mean, standard deviation, quartiles and range of numbers, the most common value of text. Missing "
        "values are counted, never filled. Describes; tests nothing."
    ),
    domain="statistics",
    task_type="analysis",
    methods=("means, quartiles and counts; no test",),
    inputs={"table": "table: any table"},
    outputs={
        "summary": "table: one row a column (and group)",
        "counts": "table: how many rows each group has, where that is asked",
    },
    optional_outputs=("counts",),
    params={
        "columns": param("Columns to describe; empty for all", kind="columns", of="table", role="anything"),
        "group_by": param(
            "Describe within each level of this column", kind="column", of="table", role="split", distinct=MOST_GROUPS
        ),
        "categorical": param(
            "Numbers that stand for groups: counted, not averaged", kind="columns", of="table", role="as_groups"
        ),
        "count": param(
            "Say how many rows each level has, where a described column names every row",
            words=["true: how many|number of|counts? of|count the"],
        ),
    },
    checks=("tables_not_empty", "findings_match_tables"),
    keywords=(
        "describe",
        "summary",
        "overview",
        "mean",
        "median",
        "standard deviation",
        "quartiles",
        "missing values",
        "how many",
        "descriptive statistics",
        "average",
        "range",
        "table one",
        "per group",
    ),
    citations=(
        Citation(
            title="Data structures for statistical computing in Python",
            authors="McKinney W",
            year=2010,
            doi="10.25080/Majora-92bf1922-00a",
        ),
    ),
    packages=("pandas", "numpy"),
    seconds=1.0,
    example="What are the average bill length and body mass of each penguin species?",
    answers=["describe_table"],
)
def summarize_table(
    table,
    *,
    columns: list[str] = [],  # noqa: B006 - a plain default, never changed
    group_by: str = "",
    categorical: list[str] = [],  # noqa: B006 - a plain default, never changed
    count: bool = False,
):
    """Describe the columns of a table."""
    import pandas as pd

    table = plain_table(table)
    if len(table) == 0:
        raise ValueError("The table has no rows; expected at least one. Check the file or the filter before this step.")
    require_columns(table, [*columns, *categorical, *([group_by] if group_by else [])])
    for name in categorical:
        table[name] = as_labels(table[name])
    chosen = [name for name in (columns or table.columns) if name != group_by]
    if not chosen:
        raise ValueError("There is no column to describe besides the grouping one; name at least one other column.")
    table, warnings = unreadable_numbers(table, chosen)
    rows = []
    if group_by:
        groups = table.groupby(group_by, sort=True, observed=True)
        if groups.ngroups > MOST_GROUPS:
            raise ValueError(f"Column {group_by!r} has {groups.ngroups} values; expected at most {MOST_GROUPS} groups.")
        if groups.ngroups == 0:
            raise ValueError(f"Column {group_by!r} has no values at all; choose another grouping column.")
        lost = int(table[group_by].isna().sum())
        if lost:
            warnings.append(f"{lost} of {len(table)} rows have no value of {group_by} and are not in the summary.")
        for level, part in groups:
            rows += [{group_by: level} | describe_column(part[name], name) for name in chosen]
    else:
        rows = [describe_column(table[name], name) for name in chosen]
    order = [group_by] if group_by else []
    order += ["column", "type", "n", "missing", "distinct", "mean", "sd", "min", "q1", "median", "q3", "max",
              "most_common", "most_common_n"]  # fmt: skip
    frame = pd.DataFrame(rows)
    if group_by in ("column", "type", "n", "percent", "missing", "distinct", "mean", "sd", "min", "median", "max"):
        raise ValueError(f"The grouping column is called {group_by!r}, like a column of the summary; rename it first.")
    frame = frame[[name for name in order if name in frame]]
    incomplete = sorted({row["column"] for row in rows if row["missing"]})
    if incomplete:
        warnings.append(f"Columns with missing values, left out of their statistics: {', '.join(incomplete[:12])}.")
    findings = describe_levels(rows, group_by) if group_by else []
    counts = None
    once = all(row["distinct"] == row["n"] for row in rows)
    named = len(chosen) == 1 and rows[0]["type"] == "text" and table[chosen[0]].nunique() > 12
    if count and named and not once:  # who is asked for has several rows
        findings.insert(0, count_names(rows, chosen[0], group_by, table[chosen[0]]))
    elif count and not group_by and once and len(chosen) == 1:
        told = f"{rows[0]['n']} rows, each with {chosen[0]} of its own."
        findings.insert(0, {"text": told, "output": "summary", "values": finding_values(n=rows[0]["n"])})
    elif count and group_by and (once or len(chosen) > 3):  # each row is one of what is counted
        sizes = groups.size().sort_values(ascending=False)
        told = in_a_row([f"{size} in {called_level(level, group_by)}" for level, size in sizes.head(20).items()])
        values = finding_values(**{f"n {level}": int(size) for level, size in sizes.head(20).items()})
        of = f" of {in_a_row(chosen)}" if once else ""
        told = f"{told} ({int(sizes.sum())} rows{of})."
        counts = sizes.rename("n").rename_axis(group_by).reset_index().assign(percent=100 * sizes.values / sizes.sum())
        findings.insert(0, {"text": told, "output": "counts", "values": values})
    for row in [row for row in rows if row["type"] == "number"][:9]:
        where = {group_by: row[group_by], "column": row["column"]} if group_by else {"column": row["column"]}
        spread = f" (SD {format_number(row['sd'])})" if row["sd"] == row["sd"] else ""
        middle, low, high = (whole_or_short(row[key], 4) for key in ("median", "min", "max"))
        gone = f", {row['missing']} missing" if row["missing"] else ""
        findings.append(
            {"text": f"{row['column']}{f' in {group_by} {row[group_by]}' if group_by else ''}: mean "
                     f"{format_number(row['mean'], 4)}{spread}, median {middle}, range {low} to {high}, n = {row['n']}"
                     f"{gone}.",
             "values": finding_values(mean=row["mean"], sd=row["sd"], median=row["median"], min=row["min"],
                                      max=row["max"], n=row["n"], missing=row["missing"]),
             "output": "summary", "row": table_row(frame, **where)}
        )  # fmt: skip
    if columns and not group_by:
        findings += shares_of_levels(table, rows)
    shape = {
        "text": f"The table has {len(table)} rows and {table.shape[1]} columns; {len(incomplete)} of the "
                f"{len(chosen)} described columns have missing values.",
        "values": finding_values(n_rows=len(table), n_columns=table.shape[1], n_incomplete=len(incomplete),
                                 n_described=len(chosen)),
    }  # fmt: skip
    findings.insert(len(findings) if columns else 0, shape)  # of columns that were asked for their numbers come first
    return {"summary": frame, "counts": counts, "findings": findings, "warnings": warnings}


def correlate(x, y, method):
    """Return coefficient, 95 % limits and two-sided p-value of two complete columns.

    Limits by Fisher's z with the variance of Bonett and Wright for ranks; none below five values. Up to eight values
    Spearman's p-value counts all orders, as t, with which it would be 0 for four pairs in one order, does not fit.
    """
    import itertools
    import math

    import numpy as np
    from scipy import stats

    n = len(x)
    result = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[method](x, y)
    r, p = float(result.statistic), float(result.pvalue)
    if method == "spearman" and n <= 8:
        a, b = stats.rankdata(x) - (n + 1) / 2, stats.rankdata(y) - (n + 1) / 2
        every = np.abs(b[np.array(list(itertools.permutations(range(n))))] @ a)
        p = float((every >= abs(a @ b) - 1e-9).mean())
    elif method == "spearman" and n < 20:
        p = max(p, 2 / math.factorial(n))
    low = high = float("nan")
    if n >= 5 and abs(r) < 1:
        variance = {"pearson": 1 / (n - 3), "spearman": (1 + r**2 / 2) / (n - 3), "kendall": 0.437 / (n - 4)}[method]
        low, high = np.tanh(np.arctanh(r) + np.array([-1, 1]) * 1.959963985 * np.sqrt(variance))
    return max(-1.0, min(1.0, r)), float(low), float(high), p


def seen_from(n, pairs):
    """Return from which size on one of several correlations would have been found with 80 % power (Fisher's z)."""
    import math

    from scipy.stats import norm

    if n < 5:
        return ""
    size = math.tanh((norm.isf(0.025 / pairs) + norm.isf(0.2)) / math.sqrt(n - 3))
    return f"; one of {size:.2f} or more either way would have been found with 80 % power"


def correlation_pairs(table, x, y, columns):
    """Return the pairs of columns asked for: x with y, x with every other, or all pairs."""
    import pandas as pd

    # Row numbers measure nothing; a day or a dose that happens to count up does, so the name decides too.
    numbering = {"rownames", "row", "row_number", "rowid", "index", "id", "unnamed: 0", ""}
    usable = [
        name
        for name in table.columns
        if pd.api.types.is_numeric_dtype(table[name])
        and not pd.api.types.is_bool_dtype(table[name])
        and table[name].nunique() > 1
        and not (str(name).casefold() in numbering and (table[name].diff().iloc[1:] == 1).all())
    ]
    if x and y:
        if x == y:
            raise ValueError(f"x and y are both {x!r}; expected two different columns.")
        return [(x, y)]
    if x or y:
        anchor = x or y
        return [(anchor, other) for other in (columns or usable) if other != anchor]
    chosen = list(dict.fromkeys(columns)) or usable
    if len(chosen) < 2:
        raise ValueError(f"The table has {len(chosen)} numeric column(s) that vary; expected at least two.")
    if len(chosen) > 60:
        raise ValueError(f"{len(chosen)} columns give {len(chosen) * (len(chosen) - 1) // 2} pairs; name at most 60.")
    return [(a, b) for i, a in enumerate(chosen) for b in chosen[i + 1 :]]


def correlation_figure(rows, numbers):
    """Draw one pair as a scatter plot, several as a labelled matrix."""
    import numpy as np

    if len(rows) == 1:
        row = rows[0]
        both = numbers[[row["x"], row["y"]]].dropna()
        figure, axis = new_axes(width=5)
        axis.scatter(both[row["x"]], both[row["y"]], s=18, color=palette(1)[0], alpha=0.8, edgecolor="white")
        axis.set_xlabel(row["x"])
        axis.set_ylabel(row["y"])
        axis.set_title(f"{row['method']} r = {format_number(row['r'])}, n = {row['n']}", fontsize=10)
        return figure
    left = list(dict.fromkeys(row["x"] for row in rows))
    right = list(dict.fromkeys(row["y"] for row in rows))
    names = left if len(left) == 1 else list(dict.fromkeys(left + right))
    across = right if len(left) == 1 else names
    grid = np.full((len(names), len(across)), np.nan)
    for row in rows:
        for a, b in ((row["x"], row["y"]), (row["y"], row["x"])):
            if a in names and b in across:
                grid[names.index(a), across.index(b)] = row["r"]
    figure, axis = new_axes(width=2.6 + 0.55 * len(across), height=1.8 + 0.5 * len(names))
    image = axis.imshow(grid, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    if len(across) <= 14:
        for i, j in zip(*np.where(~np.isnan(grid)), strict=True):
            tint = "white" if abs(grid[i, j]) > 0.65 else "black"
            axis.text(j, i, f"{grid[i, j]:.2f}", ha="center", va="center", fontsize=8, color=tint)
    axis.set_xticks(range(len(across)), across, rotation=45, ha="right")
    axis.set_yticks(range(len(names)), names)
    figure.colorbar(image, ax=axis, label=f"{rows[0]['method']} correlation (no unit)")
    return figure


@tool(
    name="correlation",
    title="Correlation between measurements",
    description=(
        "How strongly two numeric columns move together, or each pair of several: Pearson (straight line), Spearman or "
        "Kendall (monotonic, by ranks). `auto` takes Pearson, but Spearman for all pairs when any column is strongly "
        "skewed (|skewness| > 1) or has values more than three interquartile ranges outside the quartiles. "
        "Two-sided p-values (Spearman's exact up to 8 rows), 95 % intervals, Benjamini-Hochberg over the pairs. "
        "With no column named, all numeric ones "
        "but row numbers. Rows missing either value are left "
        "out pair by pair; every row is taken as independent. Correlation is not causation."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "method=pearson => Pearson's correlation, because two measurements are set against each other",
        "method=spearman => Spearman's correlation, because ranks follow any steady rise",
        "method=kendall => Kendall's correlation, because ranks follow any steady rise",
        "Pearson's correlation, or Spearman's where a column is strongly skewed or has far outliers, "
        "because measurements are set against each other",
    ),
    complete=("x", "y"),
    inputs={"table": "table: numeric columns"},
    outputs={
        "correlations": "table: a row a pair: coefficient, interval, p-value, n",
        "correlation_plot": "figure: scatter of one pair, or the matrix",
        "correlation_table": "table: every point that is drawn, with its name, of one pair",
    },
    optional_outputs=("correlation_table",),
    points={"correlation_plot": Points(table="correlation_table", x="=x", y="=y")},
    params={
        "x": param(
            "First measurement; with y empty it is correlated with every other",
            kind="column",
            of="table",
            role="x",
            needed=True,
        ),
        "y": param("Second measurement", kind="column", of="table", role="y", needed=True),
        "columns": param(
            "Several measurements, every pair of them",
            kind="columns",
            of="table",
            role="measures",
            least=3,
            instead_of=["x", "y"],
        ),
        "method": param(
            "Which coefficient",
            choices=["auto", "pearson", "spearman", "kendall"],
            words=[
                "spearman: spearman|rank correlation|rank tests?\\b|non.?param\\w*|rank.?based|distribution.?free",
                "pearson: pearson|product.?moment",
                "kendall: kendall",
            ],
        ),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "correlations_in_range"),
    keywords=(
        "correlation",
        "correlate",
        "Pearson",
        "Spearman",
        "Kendall",
        "association",
        "relationship",
        "related to",
        "move together",
        "co-vary",
        "r value",
        "correlation matrix",
        "depend on",
    ),
    citations=(
        Citation(
            title="The proof and measurement of association between two things",
            authors="Spearman C",
            year=1904,
            doi="10.2307/1412159",
        ),
        Citation(
            title="Sample size requirements for estimating Pearson, Kendall and Spearman correlations",
            authors="Bonett DG, Wright TA",
            year=2000,
            doi="10.1007/BF02294183",
        ),
        Citation(
            title="Controlling the false discovery rate: a practical and powerful approach to multiple testing",
            authors="Benjamini Y, Hochberg Y",
            year=1995,
            doi="10.1111/j.2517-6161.1995.tb02031.x",
        ),
    ),
    next_steps=[
        NextStep(
            text="Adjust the correlation for known confounders (linear_regression) before reading it as an effect.",
            unless_tool="linear_regression",
            after="found",
        ),
    ],
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="Is flipper length correlated with body mass?",
    answers=["correlation"],
)
def correlation(
    table,
    *,
    x: str = "",
    y: str = "",
    columns: list[str] = [],  # noqa: B006 - a plain default, never changed
    method: str = "auto",
):
    """Correlate numeric columns."""
    import pandas as pd
    from scipy import stats

    table = plain_table(table)
    require_columns(table, [name for name in (x, y, *columns) if name])
    pairs = correlation_pairs(table, x, y, columns)
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    numbers = pd.DataFrame({name: numeric_values(table, name) for name in names})
    odd = []
    for name in names:
        column = numbers[name].dropna()
        q1, q3 = column.quantile([0.25, 0.75])
        far = ((column < q1 - 3 * (q3 - q1)) | (column > q3 + 3 * (q3 - q1))).any() and q3 > q1
        if far or abs(column.skew()) > 1:
            odd.append(name)
    warnings, rows = [], []
    used = ("spearman" if odd else "pearson") if method == "auto" else method
    if odd and method == "auto":
        warnings.append(f"Spearman was used because these are skewed or have extreme values: {', '.join(odd[:8])}.")
    if odd and used == "pearson":
        warnings.append(f"Pearson is sensitive to the extreme or skewed values of: {', '.join(odd[:8])}.")
    for a, b in pairs:
        both = numbers[[a, b]].dropna()
        if len(both) < 4 or both[a].nunique() < 2 or both[b].nunique() < 2:
            why = f"{len(both)} rows with both values" if len(both) < 4 else "a column that does not vary in those rows"
            warnings.append(f"{a} and {b} were not correlated: {why}.")
            continue
        r, low, high, p = correlate(both[a].to_numpy(), both[b].to_numpy(), used)
        other = "pearson" if used == "spearman" else "spearman"
        r_other, _, _, p_other = correlate(both[a].to_numpy(), both[b].to_numpy(), other)
        rows.append({"x": a, "y": b, "method": used, "n": len(both), "r": r, "lower_95": low, "upper_95": high,
                     "p_value": p, "missing": len(table) - len(both), f"{other}_r": r_other,
                     f"{other}_p": p_other})  # fmt: skip
    if not rows:
        raise ValueError("No pair has at least 4 rows with both values, both varying; " + " ".join(warnings))
    adjusted = stats.false_discovery_control([row["p_value"] for row in rows])
    for row, p in zip(rows, adjusted, strict=True):
        row["p_adj"] = max(float(p), row["p_value"])
    lost = max(row["missing"] for row in rows)
    if lost:
        warnings.append(f"Up to {lost} of {len(table)} rows were left out of a pair because a value is missing.")
    if min(row["n"] for row in rows) < 10:
        warnings.append(f"Only {min(row['n'] for row in rows)} rows: the coefficient is uncertain and p approximate.")
    several = len(rows) > 1
    figure = correlation_figure(rows, numbers)
    rows.sort(key=lambda row: (row["p_value"], -abs(row["r"])))
    symbol = {"pearson": "r", "spearman": "rho", "kendall": "tau-b"}[used]
    small = "" if (rows[0]["p_adj"] < 0.05 or not several) else seen_from(min(row["n"] for row in rows), len(rows))
    clear = sum(row["p_adj"] < 0.05 for row in rows)
    findings = []
    if several:
        named = ", ".join(f"{row['x']} and {row['y']} ({row['r']:+.2f})" for row in rows[:3] if row["p_adj"] < 0.05)
        told = f": {'' if clear <= 3 else 'most clearly '}{named}" if named else ""
        unseen = [f"{row['x']} and {row['y']} ({row['r']:+.2f}, adjusted {format_p(row['p_adj'])})"
                  for row in rows if row["p_adj"] >= 0.05]  # fmt: skip
        told += f"; not shown for {in_a_row(unseen)}" if unseen and len(rows) <= 3 else ""
        findings.append(
            {"text": f"{clear} of {len(rows)} pairs of columns are correlated at an adjusted p below 0.05 ({used})"
                     f"{told}{small}.",
             "values": finding_values(n_significant=clear, n_pairs=len(rows))}
        )  # fmt: skip
    for row in rows[:7]:
        p = row["p_adj"] if several else row["p_value"]
        sign = "rises" if row["r"] > 0 else "falls"
        words = f"{row['y']} {sign} as {row['x']} rises" if p < 0.05 else (
            f"No correlation of {row['x']} and {row['y']} was shown")  # fmt: skip
        unseen = "" if p < 0.05 or row["n"] < 5 else (
            f"; the data are compatible with {symbol} from {row['lower_95']:.2f} to {row['upper_95']:.2f}")  # fmt: skip
        interval = (
            f" (95 % CI {row['lower_95']:.2f} to {row['upper_95']:.2f})" if row["n"] >= 5 and row["r"] ** 2 < 1 else ""
        )
        findings.append(
            {"text": f"{words}: {used} {symbol} = {row['r']:.3f}{interval}, n = {row['n']}, "
                     f"{'adjusted ' if several else ''}{format_p(p)}{unseen}.",
             "values": finding_values(r=(row["r"], row["lower_95"], row["upper_95"]), p_value=row["p_value"],
                                      p_adj=row["p_adj"], n=row["n"]),
             "output": "correlations", "row": {"x": row["x"], "y": row["y"]}}
        )  # fmt: skip
    if not several:
        row, straight = rows[0], used == "spearman"
        r_other, p_other = (
            row["pearson_r" if straight else "spearman_r"],
            row["pearson_p" if straight else "spearman_p"],
        )
        told = "As a straight line (Pearson): r" if straight else "By ranks (Spearman): rho"
        findings.append(
            {"text": f"{told} = {r_other:.3f}, {format_p(p_other)}.", "output": "correlations",
             "values": finding_values(**({"pearson_r": r_other} if straight else {"spearman_r": r_other})),
             "row": {"x": row["x"], "y": row["y"]}}
        )  # fmt: skip
    frame = pd.DataFrame(rows).drop(columns="missing")
    points = None if several else drawn_rows(table, [rows[0]["x"], rows[0]["y"]])
    if points is not None:
        drawn = numbers[[rows[0]["x"], rows[0]["y"]]].notna().all(axis=1).to_numpy()
        points[list(numbers)] = numbers.to_numpy()
        points = points[drawn]
    return {"correlations": frame, "correlation_plot": figure, "correlation_table": points, "findings": findings,
            "warnings": warnings}  # fmt: skip


@tool(
    name="adjust_p_values",
    title="Correct p-values for multiple testing",
    description=(
        "Add a column of adjusted p-values: Benjamini-Hochberg (controls the share of false discoveries), Holm or "
        "Bonferroni (control the chance of any false positive). Rows without a p-value keep none and do not count as "
        "tests. The input must hold the p-values of all tests made, not only the small ones."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "method=benjamini_hochberg => Benjamini-Hochberg",
        "method=holm => Holm",
        "Bonferroni",
    ),
    inputs={"table": "table: a column of raw p-values"},
    outputs={"adjusted": "table: the table with p_adj and significant, in the same order"},
    params={
        "column": param("The column of raw p-values", kind="column", of="table", role="p_value"),
        "method": param(
            "Which correction",
            choices=["benjamini_hochberg", "bonferroni", "holm"],
            words=[
                "bonferroni: bonferroni",
                "holm: holm",
                "benjamini_hochberg: benjamini|hochberg|BH\\b|FDR\\b|false.discovery",
            ],
        ),
        "alpha": param(
            "Adjusted p-value below which a row counts as significant",
            minimum=0,
            maximum=1,
            decides="Adjusted p-value below",
        ),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "adjusted_rows_complete"),
    keywords=(
        "multiple testing",
        "FDR",
        "false discovery rate",
        "Benjamini-Hochberg",
        "Bonferroni",
        "Holm",
        "q-value",
        "adjusted p-value",
        "padj",
        "correction",
        "many tests",
    ),
    citations=(
        Citation(
            title="Controlling the false discovery rate: a practical and powerful approach to multiple testing",
            authors="Benjamini Y, Hochberg Y",
            year=1995,
            doi="10.1111/j.2517-6161.1995.tb02031.x",
        ),
        Citation(title="A simple sequentially rejective multiple test procedure", authors="Holm S", year=1979),
    ),
    packages=("statsmodels", "numpy", "pandas"),
    seconds=1.0,
    example="Which of these p-values stay significant after correction for multiple testing?",
    answers=["adjust_p_values"],
)
def adjust_p_values(table, *, column: str, method: str = "benjamini_hochberg", alpha: float = 0.05):
    """Add adjusted p-values to a table."""
    from statsmodels.stats.multitest import multipletests

    table = plain_table(table).copy()
    require_columns(table, [column])
    names = {"benjamini_hochberg": "fdr_bh", "bonferroni": "bonferroni", "holm": "holm"}
    if method not in names:
        raise ValueError(f"There is no method {method!r}; expected one of: {', '.join(names)}.")
    p = numeric_values(table, column)
    outside = p[(p < 0) | (p > 1)]
    if len(outside):
        raise ValueError(
            f"Column {column!r} holds {len(outside)} values outside 0 to 1, for example {outside.iloc[0]:g}; expected "
            "raw p-values. If they are -log10 values or statistics, convert them first."
        )
    warnings = []
    for name in ("p_adj", "significant"):
        if name in table and name != column:
            table = table.rename(columns={name: f"{name}_before"})
            warnings.append(f"The table already had a column {name}; it was kept as {name}_before.")
    if column == "p_adj":
        raise ValueError("The column chosen is 'p_adj', which reads as already adjusted; choose the raw p-values.")
    tested = p.notna()
    if not tested.all():
        warnings.append(f"{int((~tested).sum())} of {len(table)} rows have no p-value and were not counted as tests.")
    table["p_adj"] = float("nan")
    table.loc[tested, "p_adj"] = multipletests(p[tested], method=names[method])[1]
    table["significant"] = table["p_adj"] < alpha
    raw, kept = int((p < alpha).sum()), int(table["significant"].sum())
    if tested.sum() > 20 and p.max() < 0.1:
        warnings.append(f"The largest p-value is {p.max():.3g}: the table seems to hold only small ones, so the "
                        "correction is too mild. Correct over all tests made.")  # fmt: skip
    label = {"benjamini_hochberg": "Benjamini-Hochberg", "bonferroni": "Bonferroni", "holm": "Holm"}[method]
    findings = [
        {"text": f"{kept} of {int(tested.sum())} tests have a {label}-adjusted p-value below {alpha:g}; {raw} had a "
                 "raw p-value below it.",
         "values": finding_values(n_significant=kept, n_tests=int(tested.sum()), n_raw=raw), "output": "adjusted"}
    ]  # fmt: skip
    return {"adjusted": table, "findings": findings, "warnings": warnings}
