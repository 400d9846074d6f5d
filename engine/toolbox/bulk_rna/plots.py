"""Figures of bulk RNA results: they show the numbers of a table and compute no test of their own."""

from __future__ import annotations

from engine.domain.toolspec import Points
from engine.toolbox.bulk_rna.common import de_columns, match_samples, name_some
from engine.toolbox.bulk_rna.counts import DESEQ2
from engine.toolbox.genes import find_genes, symbols_of
from engine.toolbox.registry import param, tool


@tool(
    name="volcano_plot",
    title="Volcano plot",
    description=(
        "Plot the log2 fold change of every gene against its significance (-log10 adjusted p-value), colour those that "
        "pass both thresholds and name the best of them and any genes asked for."
    ),
    domain="visualisation",
    task_type="visualization",
    methods=("drawing; no test",),
    inputs={"de_table": "de_table: result of a differential expression analysis"},
    outputs={
        "volcano": "figure: fold change against significance",
        "volcano_table": "table: every gene that is drawn, the most significant first",
    },
    points={
        "volcano": Points(
            table="volcano_table",
            x="log2_fold_change",
            y="minus_log10_p_adj",
            label="symbol|feature",
            colour="direction",
            colours={"neither": "#9aa5a9", "higher": "#D55E00", "lower": "#0072B2"},
        )
    },
    params={
        "alpha": param("Adjusted p-value to stay below", minimum=0, maximum=1, decides="Adjusted p-value below"),
        "min_abs_lfc": param(
            "Smallest absolute log2 fold change to colour",
            unit="log2",
            minimum=0,
            maximum=20,
            decides="Fold change at least",
        ),
        "label_top": param("How many genes to name", unit="genes", minimum=0, maximum=100),
        "highlight": param("Genes (symbol or id) to name in any case", kind="texts", role="genes"),
    },
    requires_tool=("differential_expression",),
    checks=("tables_not_empty", "p_values_valid"),
    keywords=[
        "volcano",
        "significance plot",
        "fold change plot",
        "differential expression figure",
        "scatter",
        "DEG plot",
    ],
    packages=("matplotlib", "numpy", "pandas"),
    seconds=2,
    example="Show a volcano plot of the result.",
    answers=["volcano_plot"],
)
def volcano_plot(
    de_table,
    *,
    alpha: float = 0.05,
    min_abs_lfc: float = 1.0,
    label_top: int = 15,
    highlight: list[str] = [],  # noqa: B006 - never changed; the default is shown to users
):
    """Plot fold change against significance."""
    import numpy as np
    from matplotlib.figure import Figure

    table = de_columns(de_table)
    plotted = table.dropna(subset=["log2_fold_change", "p_adj"]).reset_index(drop=True)
    if plotted.empty:
        raise ValueError("No gene has both a fold change and an adjusted p-value: there is nothing to plot.")
    warnings = []
    if len(plotted) < len(table):
        warnings.append(f"{len(table) - len(plotted):,} genes without an adjusted p-value are not drawn.")
    lfc = plotted["log2_fold_change"].to_numpy()
    p_adj = plotted["p_adj"].to_numpy()
    if (p_adj == 0).any():
        warnings.append(f"{int((p_adj == 0).sum())} adjusted p-values of 0 are drawn at the smallest one above 0.")
    floor = p_adj[p_adj > 0].min() if (p_adj > 0).any() else 1e-300
    height = -np.log10(np.maximum(p_adj, floor))
    up = (p_adj < alpha) & (lfc >= min_abs_lfc) & (lfc > 0)
    down = (p_adj < alpha) & (lfc <= -min_abs_lfc) & (lfc < 0)
    figure = Figure(figsize=(7, 6), layout="constrained")
    axis = figure.subplots()
    rest = ~(up | down)
    axis.scatter(lfc[rest], height[rest], s=6, color="0.75", linewidth=0, rasterized=True)
    axis.scatter(lfc[up], height[up], s=9, color="#D55E00", linewidth=0, label=f"higher: {int(up.sum()):,}")
    axis.scatter(lfc[down], height[down], s=9, color="#0072B2", linewidth=0, label=f"lower: {int(down.sum()):,}")
    if alpha > 0:
        axis.axhline(-np.log10(alpha), color="0.4", linestyle="--", linewidth=0.8)
    for edge in {-min_abs_lfc, min_abs_lfc}:
        axis.axvline(edge, color="0.4", linestyle="--", linewidth=0.8)
    symbols = plotted["symbol"] if "symbol" in plotted else plotted["feature"]
    found, lost = find_genes(plotted["feature"], symbols, highlight)
    if lost:
        warnings.append(f"Not in the table, so not named: {name_some(lost, 10)}.")
    passing = np.flatnonzero(up | down)
    best = passing[np.lexsort((-np.abs(lfc[passing]), -height[passing]))][:label_top]
    reach = max(height.max(), 1e-9)
    taken = {-1: [], 1: []}
    for position in sorted({*best.tolist(), *found}, key=lambda at: -height[at]):
        side = 1 if lfc[position] > 0 else -1
        # Labels of one side are pushed down until they are clear of those already placed.
        level = height[position]
        while any(abs(level - other) < 0.028 * reach for other in taken[side]):
            level -= 0.01 * reach
        taken[side].append(level)
        symbol = symbols[position]
        axis.annotate(
            symbol if isinstance(symbol, str) else plotted["feature"][position],
            (lfc[position], height[position]),
            xytext=(lfc[position] + side * 0.02 * np.ptp(lfc), level),
            ha="left" if side > 0 else "right",
            va="center",
            fontsize=7,
            fontweight="bold" if position in found else "normal",
            arrowprops={"arrowstyle": "-", "color": "0.5", "linewidth": 0.5},
        )
    axis.set_xlabel("log2 fold change (right: higher in the treated group)")
    axis.set_ylabel("-log10 adjusted p-value")
    axis.legend(fontsize=8, loc="upper left")
    finding = {
        "text": f"{int(up.sum()):,} genes lie above and {int(down.sum()):,} below the thresholds (adjusted p "
        f"< {alpha:g}, absolute log2 fold change at least {min_abs_lfc:g}) out of {len(plotted):,} drawn.",
        "values": [
            {"name": "n_up", "value": int(up.sum()), "unit": "genes"},
            {"name": "n_down", "value": int(down.sum()), "unit": "genes"},
            {"name": "n_drawn", "value": len(plotted), "unit": "genes"},
        ],
        "output": "volcano",
    }
    kept = [
        name for name in ("feature", "symbol", "base_mean", "log2_fold_change", "p_value", "p_adj") if name in plotted
    ]
    sides = np.select([up, down], ["higher", "lower"], "neither")
    drawn = plotted[kept].assign(minus_log10_p_adj=height, direction=sides)
    drawn = drawn.sort_values("minus_log10_p_adj", ascending=False, kind="stable")
    return {"volcano": figure, "volcano_table": drawn, "findings": [finding], "warnings": warnings}


@tool(
    name="ma_plot",
    title="MA plot",
    description=(
        "Plot the log2 fold change of every gene against its mean normalised count (log scale), significant ones "
        "coloured: shows whether fold changes depend on abundance and whether the normalisation centres them on zero."
    ),
    domain="visualisation",
    task_type="visualization",
    methods=("drawing; no test",),
    inputs={"de_table": "de_table: result of a differential expression analysis"},
    outputs={"ma": "figure: fold change against mean count", "ma_table": "table: every gene that is drawn"},
    points={
        "ma": Points(
            table="ma_table",
            x="base_mean",
            y="log2_fold_change",
            label="symbol|feature",
            log="x",
            colour="significant",
            colours={"no": "#9aa5a9", "yes": "#0072B2"},
        )
    },
    params={"alpha": param("Adjusted p-value to stay below", minimum=0, maximum=1, decides="Adjusted p-value below")},
    requires_tool=("differential_expression",),
    checks=("tables_not_empty", "p_values_valid"),
    keywords=["MA plot", "mean average plot", "mean-difference plot", "base mean", "abundance", "fold change"],
    citations=(DESEQ2,),
    packages=("matplotlib", "numpy", "pandas"),
    seconds=2,
    example="Do fold changes depend on how strongly a gene is expressed?",
    answers=["ma_plot"],
)
def ma_plot(de_table, *, alpha: float = 0.05):
    """Plot fold change against mean count."""
    import numpy as np
    from matplotlib.figure import Figure

    table = de_columns(de_table, ("feature", "base_mean", "log2_fold_change", "p_adj"))
    table = table[(table["base_mean"] > 0) & table["log2_fold_change"].notna()]
    if table.empty:
        raise ValueError("No gene has a base mean above 0 and a fold change: there is nothing to plot.")
    passing = (table["p_adj"] < alpha).to_numpy()
    mean, lfc = table["base_mean"].to_numpy(), table["log2_fold_change"].to_numpy()
    median = float(np.median(lfc))
    figure = Figure(figsize=(7, 5), layout="constrained")
    axis = figure.subplots()
    axis.scatter(mean[~passing], lfc[~passing], s=5, color="0.7", linewidth=0, label="not significant", rasterized=True)
    label = f"adjusted p < {alpha:g}: {int(passing.sum()):,}"
    axis.scatter(mean[passing], lfc[passing], s=7, color="#0072B2", linewidth=0, label=label)
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_xlabel("Mean of normalised counts (reads, log scale)")
    axis.set_ylabel("log2 fold change (treated / control)")
    axis.legend(fontsize=8)
    finding = {
        "text": f"{int(passing.sum()):,} of {len(table):,} genes are significant at {100 * alpha:g} %; the median "
        f"log2 fold change of all genes is {median:+.3f}.",
        "values": [
            {"name": "n_significant", "value": int(passing.sum()), "unit": "genes"},
            {"name": "n_genes", "value": len(table), "unit": "genes"},
            {"name": "median_log2_fold_change", "value": median, "unit": "log2"},
        ],
        "output": "ma",
    }
    kept = [
        name for name in ("feature", "symbol", "base_mean", "log2_fold_change", "p_value", "p_adj") if name in table
    ]
    drawn = table[kept].assign(significant=np.where(passing, "yes", "no"))
    return {"ma": figure, "ma_table": drawn, "findings": [finding], "warnings": []}


@tool(
    name="expression_heatmap",
    title="Heat map of gene expression",
    description=(
        "Draw genes x samples as z-scores (each gene centred and scaled over the samples shown), genes clustered by "
        "correlation. Genes are those named, else the `top_n` most significant of a differential expression table, "
        "else the `top_n` most variable. With `group_by` the samples are ordered and marked by group."
    ),
    domain="visualisation",
    task_type="visualization",
    methods=("drawing of z-scores, genes clustered by correlation; no test",),
    inputs={
        "expression": "expression_matrix: log2 values, genes x samples",
        "samples": "sample_sheet: one row a sample",
        "de_table": "de_table: result that chooses the genes",
    },
    optional_inputs=("samples", "de_table"),
    outputs={"heatmap": "figure: z-scores", "heatmap_table": "table: the z-scores in the order drawn"},
    params={
        "genes": param("Genes (symbol or id) to show; empty: choose them", kind="texts", role="genes"),
        "top_n": param("How many genes to choose", unit="genes", minimum=2, maximum=200, decides="At most"),
        "group_by": param("Column that orders the samples", kind="column", of="samples", role="group"),
    },
    requires_tool=("normalize_counts",),
    checks=("tables_not_empty",),
    keywords=["heatmap", "heat map", "z-score", "clustering", "expression pattern", "top genes", "clustered heatmap"],
    packages=("scipy", "matplotlib", "numpy", "pandas"),
    seconds=3,
    example="Draw a heat map of the 30 most significant genes.",
    answers=["expression_heatmap"],
)
def expression_heatmap(
    expression,
    samples,
    de_table,
    *,
    genes: list[str] = [],  # noqa: B006 - never changed; the default is shown to users
    top_n: int = 30,
    group_by: str = "",
):
    """Draw genes x samples as z-scores."""
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch, Rectangle
    from scipy.cluster.hierarchy import leaves_list, linkage

    values = expression.astype(float).copy()
    values.index, values.columns = values.index.astype(str), values.columns.astype(str)
    warnings, groups = [], None
    if group_by and samples is None:
        raise ValueError(f"group_by is {group_by!r}, but no sample sheet was given: give one or leave group_by empty.")
    if samples is not None:
        sheet, warnings = match_samples(values.columns, samples)
        if group_by and group_by not in sheet:
            raise ValueError(f"The sample sheet has no column {group_by!r}; it has: {name_some(sheet.columns, 12)}.")
        values = values[sheet.index]
        if group_by:
            groups = sheet[group_by].astype(str).sort_values(kind="stable")
            values = values[groups.index]
    if values.shape[1] < 2:
        raise ValueError(f"{values.shape[1]} sample is left: a heat map compares at least 2.")
    symbols = pd.Series(symbols_of(expression), index=values.index, dtype=object)
    wanted, why = list(genes), "named"
    if not wanted and de_table is not None:
        table = de_columns(de_table).dropna(subset=["p_adj"]).sort_values("p_adj", kind="stable")
        wanted, why = [name for name in table["feature"] if name in values.index][:top_n], "most significant"
        if group_by:
            warnings.append(
                "The genes were chosen because they differ, so that the groups look distinct is no new evidence."
            )
        if not wanted:
            raise ValueError("No gene of the differential expression table is a row of the expression matrix.")
    if wanted:
        found, lost = find_genes(values.index, symbols, wanted)
        if lost:
            warnings.append(f"Not in the expression matrix: {name_some(lost, 10)}.")
        if not found:
            raise ValueError(f"None of the genes {name_some(wanted, 10)} is a row of the expression matrix.")
        values = values.iloc[list(found)]
    else:
        why = "most variable"
        values = values.loc[values.var(axis=1).sort_values(ascending=False, kind="stable").index[:top_n]]
    spread = values.std(axis=1, ddof=1)
    usable = (spread > 0) & (values.notna().mean(axis=1) >= 0.5)
    if not usable.all():
        warnings.append(f"Left out, being constant or mostly missing: {name_some(values.index[~usable], 10)}.")
    if values[usable].isna().any(axis=None):
        warnings.append("Missing values are drawn white; for the order of the rows they count as the row's mean.")
    values = values[usable]
    if values.empty:
        raise ValueError("No gene is left that varies between the samples: there is nothing to draw.")
    z = values.sub(values.mean(axis=1), axis=0).div(spread[usable], axis=0)
    if len(z) > 2 and z.shape[1] > 2:
        full = z.fillna(0).to_numpy()
        z = z.iloc[leaves_list(linkage(full, method="average", metric="correlation", optimal_ordering=True))]
    if groups is None and z.shape[1] > 2:
        z = z.iloc[:, leaves_list(linkage(z.fillna(0).to_numpy().T, method="average", optimal_ordering=True))]
    labels = [symbols[name] if isinstance(symbols[name], str) else name for name in z.index]

    figure = Figure(figsize=(max(5, 0.3 * z.shape[1] + 3), max(3.5, 0.2 * len(z) + 1.8)), layout="constrained")
    axis = figure.subplots()
    limit = min(3.0, float(np.nanmax(np.abs(z.to_numpy()))))
    image = axis.imshow(z, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
    axis.set_yticks(range(len(z)), labels, fontsize=7 if len(z) <= 60 else 4)
    axis.set_xticks(range(z.shape[1]), z.columns, rotation=90, fontsize=7 if z.shape[1] <= 60 else 4)
    axis.set_xlabel("Sample")
    axis.set_ylabel("Gene")
    figure.colorbar(image, ax=axis, label="z-score of log2 expression", shrink=0.6)
    if groups is not None:
        palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"]
        levels = list(dict.fromkeys(groups))
        colours = {level: palette[k % len(palette)] for k, level in enumerate(levels)}
        for position, level in enumerate(groups):
            strip = (position - 0.5, 1.005), 1, 0.02
            axis.add_patch(Rectangle(*strip, color=colours[level], transform=axis.get_xaxis_transform(), clip_on=False))
        handles = [Patch(color=colours[level], label=level) for level in levels]
        axis.legend(handles=handles, title=group_by, fontsize=7, loc="lower left", bbox_to_anchor=(0, 1.03), ncols=4)
    shown = z.reset_index(names="feature")
    if symbols[z.index].notna().any():
        shown.insert(1, "symbol", symbols[z.index].to_numpy())
    finding = {
        "text": f"{len(z)} {why} genes over {z.shape[1]} samples are drawn as z-scores.",
        "values": [
            {"name": "n_genes", "value": len(z), "unit": "genes"},
            {"name": "n_samples", "value": int(z.shape[1]), "unit": "samples"},
        ],
        "output": "heatmap_table",
    }
    return {"heatmap": figure, "heatmap_table": shown, "findings": [finding], "warnings": warnings}


@tool(
    name="gene_expression",
    title="Expression of chosen genes",
    description=(
        "Show the log-scale expression of named genes in every sample, by group: points with the group mean, a long "
        "table, and n, mean, standard deviation and median of each group. Descriptive: no test (use "
        "differential_expression for one)."
    ),
    domain="transcriptomics",
    task_type="visualization",
    methods=("drawing with means and medians of each group; no test",),
    inputs={
        "expression": "expression_matrix: log2 values, genes x samples",
        "samples": "sample_sheet: one row a sample",
    },
    outputs={
        "gene_table": "table: one row a gene and sample",
        "gene_plot": "figure: expression by group",
        "gene_summary": "table: one row a gene and group",
    },
    params={
        "genes": param("Genes (symbol or id) to show", kind="texts", role="genes"),
        "group_by": param("Column that groups the samples", kind="column", of="samples", role="group"),
    },
    requires_tool=("normalize_counts",),
    checks=("tables_not_empty", "findings_match_tables"),
    keywords=["expression level", "gene of interest", "marker", "dot plot", "strip plot", "per group", "single gene"],
    packages=("matplotlib", "numpy", "pandas"),
    seconds=2,
    example="How is KLF15 expressed with and without treatment?",
    answers=["gene_expression_of"],
)
def gene_expression(expression, samples, *, genes: list[str], group_by: str):
    """Show the expression of named genes by group."""
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    values = expression.astype(float).copy()
    values.index, values.columns = values.index.astype(str), values.columns.astype(str)
    sheet, warnings = match_samples(values.columns, samples)
    if group_by not in sheet:
        raise ValueError(f"The sample sheet has no column {group_by!r}; it has: {name_some(sheet.columns, 12)}.")
    without = sheet.index[sheet[group_by].isna()]
    if len(without):
        warnings.append(f"Left out, having no value of {group_by}: {name_some(without)}.")
        sheet = sheet.drop(index=without)
    if sheet.empty:
        raise ValueError(f"No sample has a value of {group_by!r}.")
    symbols = symbols_of(expression)
    found, lost = find_genes(values.index, symbols, genes)
    if lost:
        warnings.append(f"Not in the expression matrix: {name_some(lost, 10)}.")
    if not found:
        raise ValueError(
            f"None of the genes {name_some(genes, 10)} is a row of the expression matrix "
            f"(rows such as {name_some(values.index, 3)}): check the spelling or the kind of identifier."
        )
    if len(found) > 24:
        warnings.append(f"Only the first 24 of {len(found)} genes are drawn; the table holds all.")
    groups = sheet[group_by].astype(str)
    levels = sorted(groups.unique())
    parts = []
    for position in found:
        part = pd.DataFrame({"feature": values.index[position], "symbol": symbols[position], "sample": sheet.index})
        part["group"] = groups.to_numpy()
        part["expression"] = values.iloc[position][sheet.index].to_numpy()
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    if table["symbol"].isna().all():
        table = table.drop(columns="symbol")
    summary = (
        table.groupby(["feature", "group"], sort=False)["expression"]
        .agg(n="count", mean="mean", sd="std", median="median")
        .reset_index()
    )
    findings = []
    for position in list(found)[:9]:
        feature, label = values.index[position], symbols[position] or values.index[position]
        means = summary[summary["feature"] == feature].set_index("group")
        text = ", ".join(f"{level} {means['mean'][level]:.2f} (n = {means['n'][level]})" for level in levels)
        finding = {"text": f"Mean expression of {label} (input scale) by {group_by}: {text}.", "output": "gene_summary"}
        finding["values"] = [
            {"name": f"mean_{level}", "value": float(means["mean"][level]), "n": int(means["n"][level])}
            for level in levels
        ]
        findings.append(finding)
    overall = (
        f"{len(found)} of {len(set(genes))} genes asked for were found in {len(sheet)} samples of {len(levels)} groups."
    )
    findings.insert(
        0,
        {
            "text": overall,
            "values": [
                {"name": "n_found", "value": len(found), "unit": "genes"},
                {"name": "n_samples", "value": len(sheet), "unit": "samples"},
            ],
            "output": "gene_table",
        },
    )
    drawn = list(found)[:24]
    across = min(4, len(drawn))
    down = -(-len(drawn) // across)
    figure = Figure(figsize=(2.6 * across + 1, 2.8 * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"]
    for axis, position in zip(axes, drawn, strict=False):
        for k, level in enumerate(levels):
            points = values.iloc[position][groups.index[groups == level]].to_numpy()
            # A fixed spread, not a random one, so that the figure is the same every time.
            offset = np.linspace(-0.12, 0.12, len(points)) if len(points) > 1 else np.zeros(1)
            axis.scatter(k + offset, points, s=22, color=colours[k % len(colours)], zorder=3)
            axis.hlines(points.mean(), k - 0.25, k + 0.25, color="black", linewidth=1.5, zorder=4)
        axis.set_title(symbols[position] or values.index[position], fontsize=9)
        axis.set_xticks(range(len(levels)), levels, rotation=30 if len(levels) > 3 else 0, fontsize=8)
        axis.set_xlim(-0.6, len(levels) - 0.4)
    for axis in axes[len(drawn) :]:
        axis.set_visible(False)
    figure.supylabel("log2 expression (bar: mean)", fontsize=9)
    figure.supxlabel(group_by, fontsize=9)
    return {
        "gene_table": table,
        "gene_plot": figure,
        "gene_summary": summary,
        "findings": findings,
        "warnings": warnings,
    }
