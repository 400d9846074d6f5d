"""Why each figure brings a table: a picture cannot be checked, the numbers it shows can.

Figures for looking at data, without tests. Every one says how many values it shows and how many it could not.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Points
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    complete_rows,
    drawn_rows,
    finding_values,
    format_number,
    level_labels,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    plain_table,
    require_columns,
)


@check("histogram_counts_match")
def histogram_counts_match(step: StepOutputs) -> Iterator[Issue]:
    """The counts of a histogram add up to the number of values its finding names, in bins that touch."""
    table = step.table("histogram_table") if "histogram_table" in step.files else None
    if table is None or not {"count", "bin_start", "bin_end"} <= set(table.columns):
        return
    named = [v["value"] for f in step.findings for v in f.get("values", []) if v.get("name") == "n_values"]
    total = int(table["count"].sum())
    if named and total != named[0]:
        message = f"The bins hold {total} values, but the finding says {named[0]}."
        yield Issue(code="histogram_total", severity="error", message=message, where="histogram_table")
    if (table["bin_end"] <= table["bin_start"]).any():
        message = "A bin of the histogram ends before it starts."
        yield Issue(code="histogram_bins", severity="error", message=message, where="histogram_table")


def split_groups(table, value, group, limit):
    """Return original level -> numbers for every group in natural order, its labels, and warnings."""
    table, warnings = complete_rows(table, [value, group] if group else [value])
    numbers = numeric_values(table, value)
    if not group:
        return {"all": numbers.to_numpy()}, ["all"], warnings
    labels = level_labels(table[group])
    levels = order_levels(labels)
    if len(levels) > limit:
        raise ValueError(
            f"Column {group!r} has {len(levels)} different values; at most {limit} groups can be drawn. Choose a "
            f"column "
            "of groups, or scatter_plot for two measurements."
        )
    originals = {label: table.loc[labels == label, group].iloc[0] for label in levels}
    return {originals[label]: numbers[labels == label].to_numpy() for label in levels}, levels, warnings


def colour_points(figure, axis, x, y, column, name):
    """Draw points coloured by a column: groups by colour and marker, many numbers by a scale."""
    import pandas as pd

    if column is None:
        axis.scatter(x, y, s=18, color=palette(1)[0], alpha=0.75, edgecolor="white", linewidth=0.4)
        return []
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > 8:
        drawn = axis.scatter(x, y, s=18, c=column.astype(float), cmap="viridis", alpha=0.85)
        figure.colorbar(drawn, ax=axis, label=name)
        return []
    labels = level_labels(column).fillna("missing")
    levels = order_levels(labels)
    notes = []
    if len(levels) > 8:
        frequent = set(labels.value_counts().index[:7])
        labels = labels.where(labels.isin(frequent), "other")
        notes.append(f"{name} has {len(levels)} values; the 7 most frequent have a colour, the rest are 'other'.")
        levels = [level for level in levels if level in frequent] + ["other"]
    for level, colour, marker in zip(levels, palette(len(levels)), "os^Dv<>P", strict=False):
        here = (labels == level).to_numpy()
        axis.scatter(x[here], y[here], s=20, color=colour, marker=marker, alpha=0.8, edgecolor="white", linewidth=0.3,
                     label=f"{level} ({int(here.sum())})")  # fmt: skip
    axis.legend(title=name, frameon=False, fontsize=8, bbox_to_anchor=(1.01, 1), loc="upper left")
    return notes


@tool(
    name="scatter_plot",
    title="Scatter plot of two measurements",
    description=(
        "Draw one measurement against another, a point a row, optionally coloured by a third column and on logarithmic "
        "axes (values of zero or below cannot be drawn there and are counted). Shows, tests nothing: use correlation "
        "or linear_regression to test."
    ),
    domain="visualisation",
    task_type="visualization",
    methods=("drawing; no test",),
    complete=("x", "y"),
    inputs={"table": "table: two numeric columns"},
    outputs={"scatter": "figure: the points", "scatter_table": "table: every point that is drawn, with its name"},
    points={"scatter": Points(table="scatter_table", x="=x", y="=y", colour="=color_by", log="log")},
    params={
        "x": param("Measurement along the axis", kind="column", of="table", role="x"),
        "y": param("Measurement up the axis", kind="column", of="table", role="y"),
        "color_by": param("Column that colours the points", kind="column", of="table", role="split"),
        "log": param(
            "Which axes are logarithmic",
            choices=["none", "x", "y", "both"],
            words=["both: log.?log|both axes", "x: log(?:arithmic)? (?:dose|x|conc)", "y: log(?:arithmic)? y"],
        ),
    },
    checks=("findings_match_tables",),
    keywords=(
        "scatter",
        "scatterplot",
        "plot against",
        "x versus y",
        "points",
        "relationship",
        "visualise",
        "xy plot",
        "dot",
    ),
    packages=("matplotlib", "pandas", "numpy"),
    seconds=2.0,
    example="Plot body mass against flipper length, coloured by species.",
    answers=["scatter_plot"],
)
def scatter_plot(table, *, x: str, y: str, color_by: str = "", log: str = "none"):
    """Draw one measurement against another."""
    import numpy as np
    from scipy import stats

    table = plain_table(table)
    require_columns(table, [x, y, *([color_by] if color_by else [])])
    if log not in ("none", "x", "y", "both"):
        raise ValueError(f"There is no axis {log!r}; expected none, x, y or both.")
    shown = list(dict.fromkeys([x, y, *([color_by] if color_by else [])]))
    named = drawn_rows(table, shown)
    named, rows = named[named.columns[0]], len(table)
    table, warnings = complete_rows(table.assign(**{named.name: named}), [x, y])
    across, up = numeric_values(table, x), numeric_values(table, y)
    drawable = np.ones(len(table), dtype=bool)
    for name, values, on in ((x, across, log in ("x", "both")), (y, up, log in ("y", "both"))):
        if on:
            drawable &= (values > 0).to_numpy()
            if (values <= 0).any():
                warnings.append(f"{int((values <= 0).sum())} values of {name} are zero or below and cannot be drawn "
                                f"on a "
                                "logarithmic axis.")  # fmt: skip
    if not drawable.any():
        raise ValueError(f"No row has values of {x!r} and {y!r} that a logarithmic axis can show; use log none.")
    points = table.loc[drawable, [named.name, *shown]].reset_index(drop=True)
    points[x], points[y] = across, up = across[drawable].to_numpy(), up[drawable].to_numpy()
    figure, axis = new_axes(width=6.4, height=4.6)
    colour = table.loc[drawable, color_by].reset_index(drop=True) if color_by else None
    warnings += colour_points(figure, axis, across, up, colour, color_by)
    for on, scale in ((log in ("x", "both"), axis.set_xscale), (log in ("y", "both"), axis.set_yscale)):
        if on:
            scale("log")
    axis.set_xlabel(x + (" (log scale)" if log in ("x", "both") else ""))
    axis.set_ylabel(y + (" (log scale)" if log in ("y", "both") else ""))
    axis.set_title(f"n = {len(across)}", fontsize=10)
    together, told = {}, ""
    if len(across) >= 4 and len(set(across)) > 1 and len(set(up)) > 1:
        together = {"pearson_r": float(stats.pearsonr(across, up).statistic),
                    "spearman_rho": float(stats.spearmanr(across, up).statistic)}  # fmt: skip
        told = f"; Pearson's r {together['pearson_r']:.3f}, Spearman's rho {together['spearman_rho']:.3f}"
    begin = f"{len(across)} rows are drawn" if len(across) == rows else (
        f"{len(across)} of {rows} rows are drawn (the others have no value of one of the two that can be "
        "drawn)")  # fmt: skip
    findings = [
        {"text": f"{begin}: {x} from {format_number(across.min())} to "
                 f"{format_number(across.max())}, "
                 f"{y} from {format_number(up.min())} to {format_number(up.max())}{told}.",
         "values": finding_values(**together, n=len(across), x_min=float(across.min()), x_max=float(across.max()),
                                  y_min=float(up.min()), y_max=float(up.max())), "output": "scatter"}
    ]  # fmt: skip
    return {"scatter": figure, "scatter_table": points, "findings": findings, "warnings": warnings}


@tool(
    name="histogram",
    title="Histogram of a measurement",
    description=(
        "Draw how the values of a numeric column are distributed, in bins of equal width, optionally one outline a "
        "group. The last bin includes its upper end. With the counts as a table. Shows, tests nothing."
    ),
    domain="visualisation",
    task_type="visualization",
    methods=(
        "drawing; no test",
    ),
    complete=("column", "group_by"),
    inputs={"table": "table: a numeric column"},
    outputs={"histogram": "figure: the counts", "histogram_table": "table: bins and counts"},
    params={
        "column": param("The measurement", kind="column", of="table", role="measure"),
        "group_by": param("One outline for each level of this column", kind="column", of="table", role='split'),
        "bins": param("Number of bins", minimum=2, maximum=500, words=['bins?']),
    },
    checks=("tables_not_empty", "findings_match_tables", "histogram_counts_match"),
    keywords=("histogram", "distribution", "frequency", "spread", "skewed", "bell curve", "density", "how are values "
              "distributed"),
    packages=("matplotlib", "numpy", "pandas"),
    seconds=2.0,
    example="What does the distribution of body mass look like?",
    answers=['distribution_plot'],
)  # fmt: skip
def histogram(table, *, column: str, group_by: str = "", bins: int = 30):
    """Draw the distribution of a measurement."""
    import numpy as np
    import pandas as pd

    table = plain_table(table)
    require_columns(table, [column, *([group_by] if group_by else [])])
    groups, labels, warnings = split_groups(table, column, group_by, 8)
    values = np.concatenate(list(groups.values()))
    edges = np.histogram_bin_edges(values, bins=bins)
    figure, axis = new_axes()
    rows = []
    for (level, x), label, colour in zip(groups.items(), labels, palette(len(groups)), strict=True):
        counts, _ = np.histogram(x, bins=edges)
        axis.stairs(counts, edges, color=colour, fill=not group_by, label=f"{label} (n = {len(x)})", linewidth=1.6)
        rows += [
            ({group_by: level} if group_by else {})
            | {"bin_start": float(edges[i]), "bin_end": float(edges[i + 1]), "count": int(counts[i])}
            for i in range(len(counts))
        ]
    axis.set_xlabel(column)
    axis.set_ylabel(f"number of values (of {len(values)})")
    if group_by:
        axis.legend(title=group_by, frameon=False, fontsize=8)
    skew = float(pd.Series(values).skew()) if len(values) > 2 else float("nan")
    shape = "about symmetric" if abs(skew) <= 0.5 else "skewed to high values" if skew > 0 else "skewed to low values"
    known = f", {shape} (skewness {skew:.2f})" if skew == skew else ""
    zeros = int((values == 0).sum())
    none = f"; {zeros} ({100 * zeros / len(values):.1f} %) are 0" if zeros > 0.02 * len(values) else ""
    findings = [
        {"text": f"{len(values)} values of {column}: median {format_number(np.median(values))}, range "
                 f"{format_number(values.min())} to {format_number(values.max())}{known}{none}.",
         "values": finding_values(n_values=len(values), median=float(np.median(values)), minimum=float(values.min()),
                                  maximum=float(values.max()), skewness=skew, n_zero=zeros,
                                  share_zero=zeros / len(values)), "output": "histogram_table"}
    ]  # fmt: skip
    return {"histogram": figure, "histogram_table": pd.DataFrame(rows), "findings": findings, "warnings": warnings}
