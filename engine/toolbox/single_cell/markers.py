"""Which genes set groups of cells apart, and where chosen genes are expressed.

Both read log-normalised values wherever the file keeps them, never scaled ones: on those, means, shares of
cells and fold changes have no meaning.
"""

from __future__ import annotations

from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.registry import param, tool
from engine.toolbox.single_cell.values import (
    SCANPY,
    SINGLE_CELL_CHECKS,
    SINGLE_CELL_PACKAGES,
    cell_labels,
    draw_dots,
    gene_symbols_of,
    group_profiles,
    log_values,
    ordered_labels,
    p_text,
)
from engine.toolbox.tables.rows import table_row


def locate_genes(genes, names, symbols):
    """Return (positions, labels, missing): genes found by name or symbol, exact case first, then any case."""
    names, symbols = [str(name) for name in names], [str(symbol) for symbol in symbols]
    places = {}
    for fold in (str, str.upper):
        for texts in (names, symbols):
            for position, text in enumerate(texts):
                places.setdefault(fold(text), position)
    positions, labels, missing = [], [], []
    for gene in dict.fromkeys(str(gene).strip() for gene in genes):
        position = places.get(gene, places.get(gene.upper()))
        if position is None:
            missing.append(gene)
        elif position not in positions:
            positions.append(position)
            labels.append(symbols[position])
    return positions, labels, missing


@tool(
    name="sc_markers",
    title="Marker genes of cell groups",
    description=(
        "Rank the genes that are higher in each group of cells than in the rest (or than in one reference group), by "
        "Wilcoxon rank-sum or Welch t-test on log-normalised values (raw when X is scaled), "
        "two-sided, Benjamini-Hochberg "
        "adjusted within each group over all genes. Groups found by clustering the same genes make p-values too small: "
        "they rank markers and are not evidence that clusters differ."
    ),
    domain="single-cell",
    task_type="analysis",
    methods=(
        "method=t-test => Welch's t test for each gene and group, Benjamini-Hochberg adjusted; it ranks "
        "markers, because cells are no replicates",
        "Wilcoxon rank-sum test for each gene and group, Benjamini-Hochberg adjusted; it ranks markers, "
        "because cells are no replicates",
    ),
    inputs={"adata": "anndata: cells with group labels"},
    outputs={
        "markers": "table: top genes per group with share of cells in and out of the group",
        "markers_plot": "figure: dot plot of the leading genes",
    },
    params={
        "group_by": param(
            "column of the groups",
            kind="column",
            of="adata",
            role="label",
            made_by="sc_annotate:cell_type,sc_cluster:cluster",
        ),
        "method": param(
            "test",
            choices=("wilcoxon", "t-test"),
            words=["t-test: t.?tests?\\b", "wilcoxon: wilcoxon|rank.?sum|mann.?whitney"],
        ),
        "top_n": param("genes reported per group", unit="genes", minimum=1, maximum=5000),
        "groups": param("only these groups (all when empty)", kind="texts", role="levels", of="group_by"),
        "reference": param("the group to compare with, or 'rest' for all other cells", role="against", of="group_by"),
        "tie_correct": param(
            "correct the Wilcoxon variance for ties; off is the common default and conservative",
            words=["true: correct\\w* (?:for )?(?:the )?ties|ties? correct"],
        ),
    },
    requires_tool=("sc_normalize",),
    produces_for=("sc_annotate",),
    checks=SINGLE_CELL_CHECKS,
    keywords=(
        "marker genes",
        "cluster markers",
        "differentially expressed between clusters",
        "rank genes groups",
        "find markers",
        "cell type signature",
        "wilcoxon",
        "single cell",
        "which genes define",
        "FindAllMarkers",
    ),
    citations=(
        SCANPY,
        Citation(
            title="Bias, robustness and scalability in single-cell differential expression analysis",
            authors="Soneson C, Robinson MD",
            year=2018,
            doi="10.1038/nmeth.4612",
        ),
    ),
    next_steps=[
        NextStep(
            text=(
                "To compare conditions, sum cells per sample (sc_pseudobulk_de): the p-values of markers treat cells"
                " as replicates and cannot carry a claim about donors or animals."
            ),
            unless_tool="sc_pseudobulk_de",
        ),
    ],
    packages=SINGLE_CELL_PACKAGES,
    seconds=8,
    example="Which genes mark each cluster of cells?",
    answers=["sc_markers"],
)
def sc_markers(
    adata,
    *,
    group_by: str = "cluster",
    method: str = "wilcoxon",
    top_n: int = 10,
    groups: list[str] = [],  # noqa: B006 - a plain default, never changed
    reference: str = "rest",
    tie_correct: bool = False,
):
    """Test every gene in each group against the rest and list the leading ones."""
    import pandas as pd
    import scanpy as sc

    values, source, warnings = log_values(adata)
    labels, notes = cell_labels(adata, group_by, "groups of cells")
    warnings += notes
    keep = labels.notna().to_numpy()
    values, labels = values[keep].copy(), labels[keep]
    sizes = labels.value_counts()
    known = ordered_labels(labels)
    for asked in [*groups, *([] if reference == "rest" else [reference])]:
        if str(asked) not in known:
            message = f"The column {group_by!r} has no group {asked!r}; its groups are {', '.join(known)}."
            raise ValueError(message)
    wanted = [name for name in (dict.fromkeys(map(str, groups)) or known) if name != reference]
    small = [name for name in wanted if sizes[name] < 3]
    wanted = [name for name in wanted if sizes[name] >= 3]
    if small:
        warnings.append(f"Groups with fewer than 3 cells were not tested: {', '.join(small)}.")
    others = len(labels) - max((sizes[name] for name in wanted), default=0)
    if (
        not wanted
        or len(known) < 2
        or (reference == "rest" and others < 3)
        or (reference != "rest" and sizes[reference] < 3)
    ):
        message = (
            f"The column {group_by!r} has {len(known)} group(s) "
            f"({', '.join(f'{name}: {sizes[name]} cells' for name in known[:8])}); a marker test needs a "
            "group of at least 3 cells and at least 3 cells to compare it with."
        )
        raise ValueError(message)
    values.obs["group"] = pd.Categorical(labels, categories=known)
    sc.tl.rank_genes_groups(
        values,
        "group",
        groups=wanted,
        reference=reference,
        method=method,
        tie_correct=tie_correct and method == "wilcoxon",
        use_raw=False,
        pts=True,
    )
    result = values.uns["rank_genes_groups"]
    symbols = dict(zip(values.var_names, gene_symbols_of(values.var_names, values.var), strict=True))
    inside = result["pts"]
    frames = []
    for name in wanted:
        genes = pd.Index(result["names"][name])
        outside = result["pts_rest"][name] if reference == "rest" else inside[reference]
        frame = pd.DataFrame(
            {
                "group": name,
                "gene": genes,
                "rank": range(1, len(genes) + 1),
                "score": result["scores"][name].astype(float),
                "log2_fold_change": result["logfoldchanges"][name].astype(float),
                "p_value": result["pvals"][name].astype(float),
                "p_adj": result["pvals_adj"][name].astype(float),
                "pct_in": 100 * inside[name].reindex(genes).to_numpy(dtype=float),
                "pct_out": 100 * outside.reindex(genes).to_numpy(dtype=float),
            }
        )
        if any(symbols[gene] != gene for gene in genes[:50]):
            frame.insert(2, "symbol", [symbols[gene] for gene in genes])
        frames.append(frame)
    # An adjusted value must not fall below its raw one, which rounding in the last digit could do.
    complete = pd.concat(frames, ignore_index=True)
    complete["p_adj"] = complete[["p_adj", "p_value"]].max(axis=1)
    table = complete[complete["rank"] <= top_n].reset_index(drop=True)

    compared = "all other cells" if reference == "rest" else f"{reference} (n={sizes[reference]} cells)"
    significant = complete[(complete["p_adj"] < 0.05) & (complete["score"] > 0)].groupby("group").size()
    counts = [int(significant.get(name, 0)) for name in wanted]
    findings = [
        {
            "text": (
                f"{len(wanted)} groups of {group_by} ({len(labels)} cells, {values.n_vars} genes, "
                f"{source}) were compared with {compared}; {min(counts)} to {max(counts)} genes per group "
                "are higher at an adjusted p below 0.05."
            ),
            "values": [
                {"name": "n_groups", "value": len(wanted), "unit": "groups"},
                {"name": "n_genes_tested", "value": int(values.n_vars), "unit": "genes"},
                {"name": "n_cells", "value": len(labels), "unit": "cells"},
            ],
            "output": "markers",
        }
    ]
    for name in wanted[:9]:
        rows = table[table["group"] == name]
        first = rows.iloc[0]
        if first["score"] <= 0:
            warnings.append(f"No gene is higher in {name} than in {compared}.")
            continue
        shown = rows["symbol" if "symbol" in rows else "gene"].fillna("").tolist()[:5]
        # Without any cell on the other side the fold change only reflects a small constant.
        fold = f"log2 fold change {first['log2_fold_change']:.1f}, " if first["pct_out"] > 0 else ""
        lead = f"Leading markers of {name} (n={sizes[name]} cells) are {', '.join(shown)}"
        side = f"higher in {name}"
        if first["p_adj"] >= 0.05:
            lead = f"No gene is significantly higher in {name} (n={sizes[name]} cells)"
            side = "not significant"
        findings.append(
            {
                "text": (
                    f"{lead}; {shown[0]} is found in {first['pct_in']:.0f} % of its cells and {first['pct_out']:.0f} % "
                    f"of {compared} ({side}, {fold}adjusted p {p_text(first['p_adj'])})."
                ),
                "values": [
                    {"name": "pct_in", "value": float(first["pct_in"]), "unit": "%", "n": int(sizes[name])},
                    {"name": "pct_out", "value": float(first["pct_out"]), "unit": "%"},
                    {"name": "p_adj", "value": float(first["p_adj"])},
                ],
                "output": "markers",
                "row": table_row(table, group=name, gene=first["gene"]),
                "asserts": {"subject": str(shown[0]), "relation": "marker_of", "object": str(name)}
                if first["p_adj"] < 0.05
                else None,
            }
        )
    warnings.append(
        "The tests take cells as independent; if groups come from clustering these same cells, or cells "
        "from few donors, the p-values are too small and serve to rank genes only."
    )
    if ((table["pct_out"] == 0) | (table["pct_in"] == 0)).any():
        warnings.append(
            "Fold changes of genes found in no cell of one side are only a floor effect of a small added "
            "constant; use the shares of cells."
        )
    per_group = max(1, min(4, 40 // len(wanted)))
    leading = (
        list(dict.fromkeys(table.loc[(table["rank"] <= per_group) & (table["score"] > 0), "gene"]))[:60]
        or table["gene"].head(10).tolist()
    )
    means, shares = group_profiles(values[:, leading].X, labels.to_numpy(), known)
    figure = draw_dots(means, shares, known, [symbols[gene] for gene in leading], group_by)
    return {"markers": table, "markers_plot": figure, "findings": findings, "warnings": warnings}


@tool(
    name="sc_gene_expression",
    title="Expression of genes across cell groups",
    description=(
        "Show chosen genes across groups of cells: mean log-normalised expression and the share of cells in which the "
        "gene was found, as a table and a dot plot. Descriptive: nothing is tested."
    ),
    domain="single-cell",
    task_type="visualization",
    methods=("drawing with means and shares of cells; no test",),
    inputs={"adata": "anndata: cells with group labels"},
    outputs={"gene_table": "table: mean and share of cells per gene and group", "gene_plot": "figure: dot plot"},
    params={
        "genes": param("gene names", kind="texts", role="genes"),
        "group_by": param(
            "column of the groups", kind="column", of="adata", role="label", made_by="sc_annotate:cell_type"
        ),
    },
    requires_tool=("sc_normalize",),
    checks=SINGLE_CELL_CHECKS,
    keywords=(
        "gene expression",
        "dot plot",
        "dotplot",
        "where is the gene expressed",
        "which cells express",
        "feature plot",
        "violin",
        "single cell",
    ),
    citations=(SCANPY,),
    packages=SINGLE_CELL_PACKAGES,
    seconds=3,
    example="Which cell types express CD3E and MS4A1?",
    answers=["sc_gene_expression"],
)
def sc_gene_expression(adata, *, genes: list[str], group_by: str):
    """Tabulate and draw genes across groups of cells."""
    import numpy as np
    import pandas as pd

    values, source, warnings = log_values(adata)
    labels, notes = cell_labels(adata, group_by, "groups of cells")
    warnings += notes
    positions, shown, missing = locate_genes(genes, values.var_names, gene_symbols_of(values.var_names, values.var))
    if not positions:
        message = (
            f"None of the genes {', '.join(map(repr, genes[:5]))} is among the {values.n_vars} genes of "
            f"the file (such as {', '.join(values.var_names[:3])}); check the spelling and the kind of "
            "name."
        )
        raise ValueError(message)
    if missing:
        warnings.append(f"Not in the file and left out: {', '.join(missing[:20])}.")
    groups, keep = ordered_labels(labels), labels.notna().to_numpy()
    means, shares = group_profiles(values.X[keep][:, positions], labels[keep].to_numpy(), groups)
    sizes = labels.value_counts()
    table = pd.DataFrame(
        [
            {
                "gene": gene,
                "group": group,
                "n_cells": int(sizes[group]),
                "mean_expression": float(means[row, column]),
                "percent_expressing": float(100 * shares[row, column]),
            }
            for column, gene in enumerate(shown)
            for row, group in enumerate(groups)
        ]
    )
    findings = [
        {
            "text": (
                f"{len(shown)} genes were summarised over {len(groups)} groups of {group_by} "
                f"({int(keep.sum())} cells, {source})."
            ),
            "values": [
                {"name": "n_genes", "value": len(shown), "unit": "genes"},
                {"name": "n_groups", "value": len(groups), "n": int(keep.sum())},
            ],
            "output": "gene_table",
        }
    ]
    for column, gene in list(enumerate(shown))[:8]:
        best = int(np.argmax(means[:, column]))
        if means[best, column] <= 0:
            warnings.append(f"{gene} was found in no cell.")
            continue
        findings.append(
            {
                "text": (
                    f"{gene} is highest in {groups[best]}: found in {100 * shares[best, column]:.0f} % of "
                    f"{sizes[groups[best]]} cells, mean log expression {means[best, column]:.2f}."
                ),
                "values": [
                    {
                        "name": "mean_expression",
                        "value": float(means[best, column]),
                        "unit": "log(1 + normalised count)",
                        "n": int(sizes[groups[best]]),
                    },
                    {"name": "percent_expressing", "value": float(100 * shares[best, column]), "unit": "%"},
                ],
                "output": "gene_table",
                "row": table_row(table, gene=gene, group=groups[best]),
            }
        )
    figure = draw_dots(means, shares, groups, shown, group_by)
    return {"gene_table": table, "gene_plot": figure, "findings": findings, "warnings": warnings}
