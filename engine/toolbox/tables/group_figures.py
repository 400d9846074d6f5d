"""Boxes, violins, points and bars: a measurement by group, with the numbers drawn as a table. Shows, tests nothing."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    label_groups,
    level_labels,
    new_axes,
    order_levels,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.figures import split_groups
from engine.toolbox.tables.rows import table_row


@check("quartiles_ordered")
def quartiles_ordered(step: StepOutputs) -> Iterator[Issue]:
    """In a table of group summaries min <= q1 <= median <= q3 <= max, and the mean lies between min and max."""
    order = ["min", "q1", "median", "q3", "max"]
    for output, table in step.tables():
        if not {*order, "mean"} <= set(table.columns):
            continue
        sorted_rows = (table[order].diff(axis=1).iloc[:, 1:] >= -1e-9 * table[order].abs().max().max()).all(axis=1)
        slack = 1e-9 * table["mean"].abs() + 1e-300
        inside = (table["mean"] >= table["min"] - slack) & (table["mean"] <= table["max"] + slack)
        wrong = int((~(sorted_rows & inside)).sum())
        if wrong:
            message = f"{wrong} rows of {output} have quartiles out of order or a mean outside the range."
            yield Issue(code="quartiles_out_of_order", severity="error", message=message, where=output)


def crossed_groups(table, value, group, second):
    """Return (levels, label, numbers) of each group, or each combination of two, in natural order, and warnings."""
    groups, labels, warnings = split_groups(table, value, group, 40)
    if not second:
        return [((level,), label, x) for (level, x), label in zip(groups.items(), labels, strict=True)], warnings
    table, more = complete_rows(table, [value, group, second])
    told = level_labels(table[second])
    cells = []
    for label in order_levels(told):
        own, names, _ = split_groups(table[told == label], value, group, 40)
        level = table.loc[told == label, second].iloc[0]
        cells += [((first, level), f"{name}, {label}", x) for (first, x), name in zip(own.items(), names, strict=True)]
    if len(cells) > 40:
        raise ValueError(f"{group!r} and {second!r} have {len(cells)} combinations; at most 40 can be drawn.")
    place = {level: at for at, level in enumerate(groups)}
    return sorted(cells, key=lambda cell: place[cell[0][0]]), list(dict.fromkeys([*warnings, *more]))


@tool(
    name="box_plot",
    title="Box, violin or point plot of a measurement by group",
    description=(
        "Draw the distribution of a measurement in each group: boxes (median, quartiles, whiskers to 1.5 times the "
        "interquartile range, single values beside), violins, or points with the mean and its 95 % interval. With the "
        "numbers drawn as a table. Shows, tests nothing: use compare_groups to test."
    ),
    domain="visualisation",
    task_type="visualization",
    methods=("drawing with quartiles; no test",),
    complete=("value", "group", "color_by"),
    inputs={"table": "table: one row a measurement"},
    outputs={"box_plot": "figure: the distributions", "box_table": "table: n, mean, SD, quartiles of every group"},
    params={
        "value": param("The measured quantity", kind="column", of="table", role="measure"),
        "group": param("The column of groups", kind="column", of="table", role="group"),
        "color_by": param(
            "Second column of groups: side by side in each group, by colour", kind="column", of="table", role="split"
        ),
        "kind": param(
            "What to draw",
            choices=["box", "violin", "points"],
            words=[
                "violin: violin",
                "points: strip.?plots?|single points|dot.?plots?|jitter",
                "box: box.?(?:plots?|and.whisker)",
            ],
        ),
        "unit": param("Unit of the value, for the axis"),
    },
    checks=("tables_not_empty", "findings_match_tables", "quartiles_ordered"),
    keywords=(
        "boxplot",
        "box plot",
        "violin",
        "strip plot",
        "distribution by group",
        "plot groups",
        "visualise",
        "draw",
        "dot plot",
        "show the data",
        "jitter",
    ),
    packages=("matplotlib", "numpy", "pandas", "scipy"),
    seconds=2.0,
    example="Show flipper length by species as a box plot.",
    answers=["group_plot"],
)
def box_plot(table, *, value: str, group: str, color_by: str = "", kind: str = "box", unit: str = ""):
    """Draw a measurement by group, or by the combinations of two groups."""
    import numpy as np
    import pandas as pd
    from scipy import stats

    table = plain_table(table)
    by = [group, color_by] if color_by else [group]
    require_columns(table, [value, *by])
    if kind not in ("box", "violin", "points"):
        raise ValueError(f"There is no kind {kind!r} of plot; expected box, violin or points.")
    cells, warnings = crossed_groups(table, value, group, color_by)
    rows = []
    figure, axis = new_axes(width=max(4.2, min(16, 0.9 * len(cells) + 2.4)))
    seconds = list(dict.fromkeys(keys[-1] for keys, _, _ in cells))
    rng, colours = np.random.default_rng(0), palette(len(seconds))
    for i, (keys, _, x) in enumerate(cells):
        q1, median, q3 = np.percentile(x, [25, 50, 75])
        outside = int(((x < q1 - 1.5 * (q3 - q1)) | (x > q3 + 1.5 * (q3 - q1))).sum())
        sd = float(x.std(ddof=1)) if len(x) > 1 else float("nan")
        rows.append({**dict(zip(by, keys, strict=True)), "n": len(x), "mean": float(x.mean()), "sd": sd,
                     "min": float(x.min()), "q1": float(q1), "median": float(median), "q3": float(q3),
                     "max": float(x.max()), "outside_whiskers": outside})  # fmt: skip
        shown, colour = rng.permutation(x)[:500], colours[seconds.index(keys[-1])]
        if kind == "violin" and len(x) > 2 and np.ptp(x) > 0:
            parts = axis.violinplot([x], positions=[i], widths=0.8, showmedians=True)
            for body in parts["bodies"]:
                body.set_facecolor(colour)
        elif kind == "points":
            half = stats.t.ppf(0.975, len(x) - 1) * sd / np.sqrt(len(x)) if len(x) > 1 else 0.0
            axis.errorbar([i], [x.mean()], yerr=[half], fmt="_", color="black", capsize=6, markersize=18, zorder=4)
        else:
            axis.boxplot([x], positions=[i], widths=0.6, showfliers=False, medianprops={"color": "black"})
        if kind != "violin":
            where = i + rng.uniform(-0.16, 0.16, len(shown))
            axis.scatter(where, shown, s=14, color=colour, alpha=0.8, edgecolor="white", linewidth=0.4, zorder=3)
    labels = [label for _, label, _ in cells]
    axis.set_xlim(-0.6, len(cells) - 0.4)
    names = [f"{name}\nn = {row['n']}" for name, row in zip(labels, rows, strict=True)]
    label_groups(axis, names, list(range(len(cells))))
    axis.set_xlabel(", ".join(by))
    axis.set_ylabel(f"{value} ({unit})" if unit else value)
    if min(row["n"] for row in rows) < 5 and kind != "points":
        warnings.append("A group has fewer than 5 values, too few for a box or violin to mean much; prefer points.")
    ordered = sorted(zip(rows, labels, strict=True), key=lambda pair: pair[0]["median"])
    (low, lowest), (high, highest) = ordered[0], ordered[-1]
    findings = [
        {"text": f"Of {len(rows)} groups of {' and '.join(by)} ({sum(row['n'] for row in rows)} values), the median "
                 f"{value} is lowest in {lowest} ({format_number(low['median'])}) and highest in "
                 f"{highest} ({format_number(high['median'])}); this is a description, not a test.",
         "values": finding_values(n_groups=len(rows), n_values=sum(row["n"] for row in rows))}
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    findings += [
        {"text": f"{value} in {' and '.join(by)} {name}: median {format_number(row['median'])} (quartiles "
                 f"{format_number(row['q1'])} "
                 f"to {format_number(row['q3'])}), mean {format_number(row['mean'])}, n = {row['n']}.",
         "values": finding_values(median=row["median"], q1=row["q1"], q3=row["q3"], mean=row["mean"], n=row["n"]),
         "output": "box_table", "row": table_row(frame, **{name: row[name] for name in by})}
        for name, row in list(zip(labels, rows, strict=True))[:8]
    ]  # fmt: skip
    return {"box_plot": figure, "box_table": frame, "findings": findings, "warnings": warnings}


def bar_rows(table, category, value, aggregate):
    """Return the rows of the bar table, in natural order of the categories, and warnings."""
    import numpy as np
    from scipy import stats

    if len(table) == 0:
        raise ValueError("The table has no rows; expected at least one. Check the file or the filter before this step.")
    if not value:
        table, warnings = complete_rows(table, [category])
        labels = level_labels(table[category])
        counts = labels.value_counts()
        firsts = {label: table.loc[labels == label, category].iloc[0] for label in counts.index}
        return [{category: firsts[label], "n": int(counts[label]), "count": int(counts[label])}
                for label in order_levels(labels)], warnings  # fmt: skip
    groups, _, warnings = split_groups(table, value, category, 1000)
    rows = []
    for level, x in groups.items():
        row = {category: level, "n": len(x), aggregate: float({"mean": np.mean, "sum": np.sum, "median": np.median}[
            aggregate](x))}  # fmt: skip
        if aggregate == "mean" and len(x) > 1:
            half = float(stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x)))
            row |= {"sd": float(x.std(ddof=1)), "lower_95": row["mean"] - half, "upper_95": row["mean"] + half}
        rows.append(row)
    return rows, warnings


@tool(
    name="bar_plot",
    title="Bar plot of counts or of a measurement",
    description=(
        "Draw a bar for each category: the number of rows, or the mean (with its 95 % interval), sum or median of a "
        "measurement. With the numbers drawn as a table. When there are more than 40 categories the 40 tallest are "
        "drawn and the table holds all. Shows, tests nothing."
    ),
    domain="visualisation",
    task_type="visualization",
    methods=(
        "value => drawing of the {aggregate} of each group; no test",
        "drawing of counts; no test",
    ),
    inputs={"table": "table: a column of categories"},
    outputs={"bar_plot": "figure: the bars", "bar_table": "table: the height of every bar"},
    params={
        "category": param("The categories", kind="column", of="table", role="group"),
        "value": param("The measurement; empty to count rows", kind="column", of="table", role="measure"),
        "aggregate": param(
            "What the height is",
            choices=["mean", "sum", "median"],
            words=["median: medians?\\b", "sum: sums? (?:of|per|by|for)|summed", "mean: means?\\b|averages?\\b"],
        ),
        "unit": param("Unit of the value, for the axis"),
    },
    checks=("tables_not_empty", "findings_match_tables"),
    keywords=(
        "bar chart",
        "bar plot",
        "count per category",
        "how many per",
        "barplot",
        "totals",
        "column chart",
        "means",
    ),
    packages=("matplotlib", "numpy", "pandas", "scipy"),
    seconds=2.0,
    example="How many penguins of each species were measured?",
    answers=["group_plot"],
)
def bar_plot(table, *, category: str, value: str = "", aggregate: str = "mean", unit: str = ""):
    """Draw a bar for each category."""
    import pandas as pd

    table = plain_table(table)
    require_columns(table, [category, *([value] if value else [])])
    if aggregate not in ("mean", "sum", "median"):
        raise ValueError(f"There is no aggregate {aggregate!r}; expected mean, sum or median.")
    rows, warnings = bar_rows(table, category, value, aggregate)
    height = aggregate if value else "count"
    drawn = rows
    if len(rows) > 40:
        tallest = {id(row) for row in sorted(rows, key=lambda row: -row[height])[:40]}
        drawn = [row for row in rows if id(row) in tallest]
        warnings.append(f"Only the 40 tallest of {len(rows)} categories are drawn; the table holds all.")
    figure, axis = new_axes(width=max(4.2, min(16, 0.55 * len(drawn) + 2.4)))
    heights = [row[height] for row in drawn]
    axis.bar(range(len(drawn)), heights, color=palette(1)[0], width=0.7)
    if height == "mean":
        half = [row["upper_95"] - row["mean"] if "upper_95" in row else 0.0 for row in drawn]
        axis.errorbar(range(len(drawn)), heights, yerr=half, fmt="none", color="black", capsize=3)
        if min(row["n"] for row in rows) < 3:
            warnings.append("A category has fewer than 3 values: its mean has no useful interval.")
    axis.axhline(0, color="black", linewidth=0.8)
    label_groups(axis, [str(row[category]) for row in drawn], list(range(len(drawn))))
    axis.set_xlabel(category)
    named = f"{value} ({unit})" if unit else value
    axis.set_ylabel(
        "number of rows" if not value else f"mean {named}, 95 % CI" if height == "mean" else f"{height} {named}"
    )
    ordered = sorted(rows, key=lambda row: -row[height])
    total = sum(row["n"] for row in rows)
    what = "number of rows" if not value else f"{height} {value}"
    findings = [
        {"text": f"{len(rows)} categories of {category} from {total} rows; the {what} is highest in "
                 f"{ordered[0][category]} ({format_number(ordered[0][height])}) and lowest in {ordered[-1][category]} "
                 f"({format_number(ordered[-1][height])}).",
         "values": finding_values(n_categories=len(rows), n_rows=total)}
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    findings += [
        {"text": f"{category} {row[category]}: {what} {format_number(row[height], 4)}"
                 + (f" (95 % CI {format_number(row['lower_95'])} to {format_number(row['upper_95'])})"
                    if "lower_95" in row else "") + f", n = {row['n']}.",
         "values": finding_values(**{height: (row[height], row.get("lower_95"), row.get("upper_95")), "n": row["n"]}),
         "output": "bar_table", "row": table_row(frame, **{category: row[category]})}
        for row in ordered[:6]
    ]  # fmt: skip
    return {"bar_plot": figure, "bar_table": frame, "findings": findings, "warnings": warnings}
