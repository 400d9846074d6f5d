"""Why the order is the message: in a table sorted by likeness a block of one colour is seen, in file order it is not.

Columns are standardised first, so that none decides by its unit; distance and linkage are named, because both change
the tree.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    finding_values,
    level_labels,
    numeric_values,
    order_levels,
    palette,
    plain_table,
    require_columns,
)


@check("heatmap_orders_complete")
def heatmap_orders_complete(step: StepOutputs) -> Iterator[Issue]:
    """The rows and columns of the drawn matrix are each there once, in the order of their tables."""
    rows, columns, drawn = step.table("row_order"), step.table("column_order"), step.table("heatmap_table")
    if list(drawn.columns[1:]) != [str(name) for name in columns["column"]] or len(drawn) != len(rows):
        message = "The drawn matrix does not have the rows and columns of the orders beside it."
        yield Issue(code="order_differs", severity="error", message=message, where="heatmap_table")
    if rows["position"].tolist() != list(range(1, len(rows) + 1)):
        message = "The positions of the rows do not count up from 1."
        yield Issue(code="positions_broken", severity="error", message=message, where="row_order")


def heatmap_columns(table, columns, label, annotate):
    """Return the numeric matrix of a table without gaps, and warnings on what was left out."""
    import pandas as pd

    warnings = []
    if columns:
        numbers = pd.DataFrame({name: numeric_values(table, name) for name in dict.fromkeys(columns)})
    else:
        counting = ("id", "row", "rownames", "index", "unnamed: 0", "nr", "no", "")
        usable = [name for name in table.columns if name not in (label, annotate)
                  and pd.api.types.is_numeric_dtype(table[name]) and not pd.api.types.is_bool_dtype(table[name])
                  and str(name).casefold() not in counting and table[name].notna().any()]  # fmt: skip
        numbers = table[usable].astype(float)
        sparse = [name for name in usable if numbers[name].isna().mean() > 0.3]
        if sparse:
            warnings.append(f"Left out, having more than 30 % missing values: {', '.join(sparse[:8])}.")
            numbers = numbers.drop(columns=sparse)
    flat = [name for name in numbers if numbers[name].nunique() < 2]
    if flat:
        warnings.append(f"Left out, being the same in every row: {', '.join(flat[:8])}.")
        numbers = numbers.drop(columns=flat)
    kept = numbers.dropna()
    if len(kept) < len(numbers):
        gaps = numbers.isna().sum()
        named = ", ".join(f"{name} ({int(count)})" for name, count in gaps[gaps > 0].items())
        warnings.append(
            f"{len(numbers) - len(kept)} of {len(numbers)} rows were left out because a value is missing: {named}."
        )
    kept = kept.loc[:, kept.nunique() > 1]
    if kept.shape[1] < 2 or len(kept) < 3:
        raise ValueError(
            f"{len(kept)} complete rows and {kept.shape[1]} columns that vary are left; a clustered heat map needs at "
            f"least 3 "
            "rows and 2 columns. Name columns with fewer gaps."
        )
    if len(kept) > 2000 or kept.shape[1] > 500:
        raise ValueError(
            f"{len(kept)} rows and {kept.shape[1]} columns are too many to draw; at most 2000 rows and 500 columns. "
            f"Filter "
            "the rows or name columns first."
        )
    return kept, warnings


def standardise(numbers, scale):
    """Return values as z-scores of each column or row (SD with n - 1), or as they are; no spread gives 0."""
    if scale == "none":
        return numbers
    if scale == "row":
        spread = numbers.std(axis=1, ddof=1)
        return numbers.sub(numbers.mean(axis=1), axis=0).div(spread.where(spread > 0, 1.0), axis=0)
    return (numbers - numbers.mean()) / numbers.std(ddof=1)


def tree_of(values, linkage, distance):
    """Return the tree of the rows (leaves in optimal order), their distances and the cophenetic correlation."""
    import numpy as np
    from scipy.cluster.hierarchy import cophenet
    from scipy.cluster.hierarchy import linkage as link
    from scipy.spatial.distance import pdist

    if distance == "correlation":
        flat = np.ptp(values, axis=1) == 0
        if flat.any():
            raise ValueError(f"{int(flat.sum())} rows or columns have the same value throughout, so they correlate "
                             f"with "
                             "nothing; use distance euclidean.")  # fmt: skip
    gaps = np.clip(pdist(values, distance), 0, None)
    tree = link(gaps, method=linkage, optimal_ordering=len(values) <= 600)
    faithful = float(cophenet(tree, gaps)[0]) if len(values) > 2 and np.ptp(gaps) > 0 else float("nan")
    return tree, gaps, faithful


def neighbour_share(gaps, groups):
    """Return in how many rows the nearest other row is of the same group, how many by chance, and of how many rows."""
    import numpy as np
    from scipy.spatial.distance import squareform

    full = squareform(gaps)
    np.fill_diagonal(full, np.inf)
    known = np.array([group is not None for group in groups])
    full = full[np.ix_(known, known)]
    labels = np.array([group for group in groups if group is not None], dtype=object)
    n = len(labels)
    if n < 3:
        return 0, 0.0, n
    same = int((labels[full.argmin(axis=1)] == labels).sum())
    counts = np.unique(labels.astype(str), return_counts=True)[1]
    return same, float((counts * (counts - 1)).sum() / (n - 1)), n


def heatmap_figure(z, trees, names, strip, title, bar_label):
    """Draw the matrix with a tree above and at its left, and a strip of groups."""
    import numpy as np
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from scipy.cluster.hierarchy import dendrogram

    rows, columns = z.shape
    width, height = min(16, max(5.5, 0.3 * columns + 3.2)), min(18, max(4.0, 0.18 * rows + 2.2))
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(
        2, 3, gridspec_kw={"width_ratios": [1.0, 0.16, 5], "height_ratios": [0.9, 0.75 * height]}, squeeze=False
    )
    for axis in (*grid[0][:2], grid[0][2], *grid[1][:2]):
        axis.axis("off")
    body = grid[1][2]
    for axis, tree, side in ((grid[0][2], trees[1], "top"), (grid[1][0], trees[0], "left")):
        dendrogram(tree, ax=axis, orientation=side, no_labels=True, color_threshold=0, above_threshold_color="0.3")
        axis.axis("off")
    grid[1][0].invert_yaxis()
    limit = min(3.0, float(np.abs(z.to_numpy()).max())) if z.to_numpy().min() < 0 else float(z.to_numpy().max())
    low = -limit if z.to_numpy().min() < 0 else float(z.to_numpy().min())
    image = body.imshow(
        z, aspect="auto", cmap="RdBu_r" if low < 0 else "viridis", vmin=low, vmax=limit, interpolation="nearest"
    )
    body.set_xticks(
        range(columns), [str(name)[:24] for name in z.columns], rotation=90, fontsize=8 if columns <= 40 else 5
    )
    body.yaxis.tick_right()
    body.set_yticks(
        range(rows) if rows <= 80 else [], [str(name)[:24] for name in names] if rows <= 80 else [], fontsize=7
    )
    body.tick_params(length=0)
    if strip is not None:
        levels = order_levels(strip)
        colours = dict(zip(levels, palette(len(levels)), strict=True)) | {None: "0.85"}
        grid[1][1].axis("on")
        from matplotlib.colors import ListedColormap

        codes = np.array([[([*levels, None]).index(level)] for level in strip])
        grid[1][1].imshow(codes, aspect="auto", vmin=-0.5,
                          cmap=ListedColormap([colours[level] for level in [*levels, None]]),
                          vmax=len(levels) + 0.5, interpolation="nearest")  # fmt: skip
        grid[1][1].set_xticks([])
        grid[1][1].set_yticks([])
        handles = [Patch(color=colours[level], label=level) for level in levels]
        figure.legend(handles=handles, title=title, fontsize=7, title_fontsize=8, loc="outside lower left",
                      ncols=min(6, len(levels)), frameon=False)  # fmt: skip
    figure.colorbar(image, ax=body, label=bar_label, shrink=0.6, pad=0.02)
    return figure


@tool(
    name="clustered_heatmap",
    title="Clustered heat map of a table",
    description=(
        "Draw rows x numeric columns as colours, columns standardised (z-scores), with rows and columns ordered by "
        "hierarchical clustering and the trees at the sides; the linkage (average unless said) and the distance "
        "(Euclidean or 1 - correlation) are named. A strip shows the groups of the rows, and whether like rows are of "
        "one group is counted against chance. Describes; how many groups there are is asked of cluster_samples."
    ),
    domain="visualisation",
    task_type="visualization",
    methods=(
        "drawing with {linkage} linkage of {distance} distances; no test",
    ),
    inputs={"table": "table: rows with several numeric columns"},
    outputs={
        "heatmap": "figure: the matrix in the order of the trees",
        "heatmap_table": "table: the values drawn, in that order",
        "row_order": "table: position of every row, its group",
        "column_order": "table: position, mean and SD of every column",
    },
    params={
        "columns": param("Columns to draw; empty for all numeric ones", kind="columns", of="table", role="measures"),
        "annotate": param("Groups of the rows, drawn as a strip", kind="column", of="table", role="split"),
        "label": param("Column that names the rows; empty for a column of different texts", kind="column", of="table",
                       role="id"),
        "scale": param("What is standardised", choices=["column", "row", "none"],
                       words=["row: rows? (?:z.?scored?|scaled|standardi[sz]ed)|scaled? (?:by|per) row|z.?scores? "
                              "(?:per|by) row",
                              "none: not? (?:scaled?|scaling|standardi[sz]ed)|unscaled|raw values"]),
        "linkage": param("How the distance of two clusters is counted", choices=["average", "complete", "ward",
            "single"],
                         words=["ward: ward", "complete: complete linkage", "single: single linkage",
                             "average: average linkage|upgma"]),
        "distance": param("Distance of two rows or columns", choices=["euclidean", "correlation"],
                          words=["correlation: correlation distance|pearson distance|1 ?- ?(?:r|cor)"]),
    },
    answers=["clustered_heatmap"],
    checks=("tables_not_empty", "findings_match_tables", "heatmap_orders_complete"),
    keywords=("heat map", "heatmap", "clustered heatmap", "pheatmap", "clustermap", "dendrogram", "colour map",
        "ordered by similarity",
              "hierarchical clustering", "Ward linkage", "average linkage", "red-blue", "tile plot", "colour matrix"),
    citations=(
        Citation(
            title="Cluster analysis and display of genome-wide expression patterns",
            authors="Eisen MB, Spellman PT, Brown PO, Botstein D",
            year=1998,
            doi="10.1073/pnas.95.25.14863",
        ),
        Citation(
            title="Fast optimal leaf ordering for hierarchical clustering",
            authors="Bar-Joseph Z, Gifford DK, Jaakkola TS",
            year=2001,
            doi="10.1093/bioinformatics/17.suppl_1.S22",
        ),
    ),
    packages=("scipy", "numpy", "pandas", "matplotlib"),
    seconds=4.0,
    example="Draw a clustered heat map of all metabolites, with the diet of each mouse as a strip.",
    next_steps=(
        NextStep(text="A tree is drawn for any data, also where there are no groups; ask how many clusters there are "
                      "and whether they are stable.", unless_tool="cluster_samples"),
    ),
)  # fmt: skip
def clustered_heatmap(
    table,
    *,
    columns: list[str] = [],  # noqa: B006 - a plain default, never changed
    annotate: str = "",
    label: str = "",
    scale: str = "column",
    linkage: str = "average",
    distance: str = "euclidean",
):
    """Draw a table as a heat map with rows and columns ordered by likeness (Eisen and others 1998).

    Columns are clustered by the values drawn as well. Distances are in standard deviations, without a unit.

    Raises:
        ValueError: when fewer than 3 complete rows or 2 varying columns are left, or more than can be drawn.
    """
    import numpy as np
    import pandas as pd
    from scipy.cluster.hierarchy import leaves_list
    from scipy.spatial.distance import squareform

    table = plain_table(table)
    require_columns(table, [*columns, *(name for name in (annotate, label) if name)])
    for name, value, allowed in (("scale", scale, ("column", "row", "none")), ("distance", distance, (
        "euclidean", "correlation")),
                                 ("linkage", linkage, ("average", "complete", "ward", "single"))):  # fmt: skip
        if value not in allowed:
            raise ValueError(f"There is no {name} {value!r}; expected {', '.join(allowed)}.")
    if linkage == "ward" and distance == "correlation":
        raise ValueError("Ward's linkage needs Euclidean distances; use distance euclidean, or linkage average.")
    numbers, warnings = heatmap_columns(table, columns, label, annotate)
    if not label:
        label = next((str(n) for n in table.columns if n not in (annotate, *numbers.columns) and table[n].notna().all()
                      and table[n].is_unique and not pd.api.types.is_float_dtype(table[n])), "")  # fmt: skip
    names = (
        level_labels(table[label])
        if label
        else pd.Series([f"row {n + 1}" for n in range(len(table))], index=table.index)
    )
    names = names.fillna("(no name)").loc[numbers.index]
    z = standardise(numbers, scale)
    row_tree, row_gaps, row_fit = tree_of(z.to_numpy(), linkage, distance)
    column_tree, _, column_fit = tree_of(z.to_numpy().T, linkage, distance)
    order, across = leaves_list(row_tree), leaves_list(column_tree)
    strip = level_labels(table[annotate]).loc[numbers.index] if annotate else None
    if strip is not None and strip.nunique() > 20:
        raise ValueError(
            f"Column {annotate!r} has {strip.nunique()} values; at most 20 groups can have a colour. Choose another."
        )
    drawn = z.iloc[order, across]
    shown = strip.iloc[order].tolist() if strip is not None else None
    unit = {"column": "z-score of each column", "row": "z-score of each row", "none": "value"}[scale]
    figure = heatmap_figure(drawn, (row_tree, column_tree), names.iloc[order].tolist(), shown, annotate, unit)

    wide = numbers.corr().to_numpy().copy()
    np.fill_diagonal(wide, np.nan)
    first, second = np.unravel_index(np.nanargmax(wide), wide.shape)
    a, b = sorted((int(first), int(second)))
    apart = squareform(row_gaps)
    np.fill_diagonal(apart, np.inf)
    i, j = sorted(np.unravel_index(apart.argmin(), apart.shape))
    fits = " and ".join(f"{fit:.2f} ({what})" for fit, what in ((row_fit, "rows"), (column_fit, "columns"))
                        if fit == fit)  # fmt: skip
    faithful = f"; the trees keep the distances with a cophenetic correlation of {fits}" if fits else ""
    findings = [
        {"text": f"{len(z)} rows and {z.shape[1]} columns are drawn ({unit}), ordered by hierarchical clustering with "
                 f"{linkage} linkage on {'Euclidean' if distance == 'euclidean' else 'correlation'} "
                 f"distances{faithful}.",
         "values": finding_values(n_rows=len(z), n_columns=z.shape[1], cophenetic_rows=row_fit,
                                  cophenetic_columns=column_fit)},
        {"text": f"The columns most alike are {numbers.columns[a]} and {numbers.columns[b]} (correlation "
                 f"{wide[a, b]:.2f}); the rows most alike are {names.iloc[i]} and {names.iloc[j]}.",
         "values": finding_values(correlation=float(wide[a, b]))},
    ]  # fmt: skip
    if strip is not None:
        same, chance, n = neighbour_share(row_gaps, strip.tolist())
        verdict = (
            "so rows of one group lie together"
            if same > 1.3 * chance and same - chance >= 3
            else "so the groups are mixed"
        )
        findings.insert(
            0,
            {"text": f"In {same} of {n} rows the most similar other row is of the same {annotate}, where chance would "
                     f"give {chance:.1f}, {verdict}.",
             "values": finding_values(same_group=same, expected_by_chance=chance, n=n)},
        )  # fmt: skip
    if row_fit == row_fit and row_fit < 0.6:
        warnings.append(f"The tree of the rows keeps their distances poorly (cophenetic correlation {row_fit:.2f}); "
                        f"read blocks of "
                        "colour rather than single branches.")  # fmt: skip
    clipped = int((drawn.abs() > 3).sum().sum()) if scale != "none" else 0
    if clipped:
        warnings.append(f"{clipped} values beyond 3 SD are drawn in the darkest colour.")
    row_order = pd.DataFrame({"position": range(1, len(z) + 1),
                              "row": [list(table.index).index(at) + 1 for at in drawn.index],
                              "name": names.iloc[order].tolist()})  # fmt: skip
    if strip is not None:
        row_order["group"] = shown
    column_order = pd.DataFrame({"position": range(1, z.shape[1] + 1), "column": [str(n) for n in drawn.columns],
                                 "mean": [float(numbers[n].mean()) for n in drawn.columns],
                                 "sd": [float(numbers[n].std(ddof=1)) for n in drawn.columns]})  # fmt: skip
    matrix = drawn.reset_index(drop=True)
    matrix.insert(0, "name" if "name" not in matrix else "row name", names.iloc[order].tolist())
    return {"heatmap": figure, "heatmap_table": matrix, "row_order": row_order, "column_order": column_order,
            "findings": findings, "warnings": warnings}  # fmt: skip
