"""What type of cell a cluster is, by textbook markers, and "unknown" when they do not tell.

A label that is wrong is worse than none: a type is named only when its markers are clearly on in the cluster
and no other type's are nearly as much.
"""

from __future__ import annotations

from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.registry import param, tool
from engine.toolbox.single_cell.values import (
    SINGLE_CELL_CHECKS,
    SINGLE_CELL_PACKAGES,
    cell_labels,
    draw_cells,
    gene_symbols_of,
    group_profiles,
    log_values,
    ordered_labels,
)
from engine.toolbox.tables.rows import table_row


def textbook_markers():
    """Return (markers per cell type, broader type of some), human symbols of immune and common tissue cells."""
    markers = {
        "T cell": "CD3D CD3E CD3G CD2 TRAC CD5 CD6",
        "CD4 T cell": "CD3D CD3E CD4 IL7R CCR7 LEF1 TCF7 CD40LG",
        "CD8 T cell": "CD3D CD3E CD8A CD8B GZMK",
        "regulatory T cell": "CD3D FOXP3 IL2RA CTLA4 IKZF2 RTKN2",
        "NK cell": "NKG7 GNLY KLRD1 KLRF1 NCAM1 SPON2 PRF1 GZMB FGFBP2 SH2D1B",
        "B cell": "CD79A CD79B MS4A1 CD19 BANK1 CD22 PAX5 TCL1A",
        "plasma cell": "MZB1 JCHAIN SDC1 DERL3 TNFRSF17 XBP1",
        "monocyte": "LYZ CST3 FCN1 AIF1 TYROBP SERPINA1 LST1",
        "CD14 monocyte": "CD14 S100A8 S100A9 S100A12 VCAN FCN1 LYZ",
        "CD16 monocyte": "FCGR3A MS4A7 CDKN1C LST1 RHOC LILRB2 IFITM3",
        "macrophage": "CD68 C1QA C1QB C1QC MRC1 CD163 MARCO",
        "dendritic cell": "FCER1A CLEC10A CD1C CLEC9A BATF3 HLA-DQA1",
        "plasmacytoid dendritic cell": "LILRA4 CLEC4C IL3RA SERPINF1 ITM2C TCF4 GZMB",
        "mast cell": "TPSAB1 TPSB2 CPA3 MS4A2 HDC KIT",
        "neutrophil": "CSF3R CXCR2 FCGR3B CMTM2 S100A12 CXCR1",
        "platelet": "PPBP PF4 GNG11 ITGA2B TUBB1 GP9 CAVIN2",
        "erythroid cell": "HBB HBA1 HBA2 ALAS2 GYPA AHSP",
        "haematopoietic progenitor": "CD34 SPINK2 PRSS57 CYTL1 GATA2 SOX4 EGFL7",
        "epithelial cell": "EPCAM KRT8 KRT18 KRT19 CDH1 CLDN4",
        "keratinocyte": "KRT5 KRT14 KRT1 KRT10 DSP",
        "endothelial cell": "PECAM1 VWF CDH5 CLDN5 KDR ERG",
        "fibroblast": "COL1A1 COL1A2 DCN LUM PDGFRA COL3A1",
        "smooth muscle cell": "ACTA2 MYH11 TAGLN CNN1 DES",
        "pericyte": "RGS5 PDGFRB NOTCH3 KCNJ8 CSPG4",
        "hepatocyte": "ALB APOA1 TTR TF CYP3A4 APOC3",
        "neuron": "RBFOX3 SNAP25 SYT1 MAP2 STMN2 TUBB3",
        "astrocyte": "GFAP AQP4 SLC1A3 ALDH1L1 GJA1",
        "oligodendrocyte": "MBP PLP1 MOG MAG MOBP",
        "oligodendrocyte precursor": "PDGFRA CSPG4 OLIG1 OLIG2 VCAN",
        "microglia": "P2RY12 TMEM119 CX3CR1 SALL1 CSF1R",
        "cardiomyocyte": "TNNT2 MYH6 MYH7 ACTC1 NPPA",
        "skeletal muscle cell": "ACTA1 MYH2 CKM TNNT3 MYL1",
        "adipocyte": "ADIPOQ PLIN1 LEP LPL CIDEC",
        "pancreatic beta cell": "INS IAPP MAFA NKX6-1 SLC2A2",
        "pancreatic alpha cell": "GCG ARX TTR IRX2 LOXL4",
        "pancreatic acinar cell": "PRSS1 CPA1 CELA3A PNLIP CTRB1",
        "alveolar type 1 cell": "AGER PDPN CAV1 HOPX RTKN2",
        "alveolar type 2 cell": "SFTPC SFTPB SFTPA1 ABCA3 LAMP3",
        "ciliated cell": "FOXJ1 TPPP3 RSPH1 CCDC39 DNAH5",
        "proximal tubule cell": "LRP2 CUBN SLC34A1 SLC5A2 ALDOB",
        "melanocyte": "MLANA PMEL TYR DCT TYRP1",
    }
    broader = {
        "CD4 T cell": "T cell",
        "CD8 T cell": "T cell",
        "regulatory T cell": "T cell",
        "CD14 monocyte": "monocyte",
        "CD16 monocyte": "monocyte",
        "plasma cell": "B cell",
        "keratinocyte": "epithelial cell",
        "alveolar type 1 cell": "epithelial cell",
        "alveolar type 2 cell": "epithelial cell",
        "ciliated cell": "epithelial cell",
        "proximal tubule cell": "epithelial cell",
    }
    return {name: text.split() for name, text in markers.items()}, broader


def score_types(means, shares, spread, measured, places):
    """Return (score, markers on) per group and type.

    A marker's strength in a group is where its mean lies between the group with the lowest (0) and the highest
    (1) mean. A range below one standard deviation of the gene over all cells is not stretched to 1: groups that
    differ by chance stay near 0. A type's score is the mean strength of its measured markers; a marker is "on"
    when found in at least 20 % of the group's cells.
    """
    import numpy as np
    import pandas as pd

    low, high = means.min(axis=0), means.max(axis=0)
    strength = (means - low) / np.maximum.reduce([high - low, spread, np.full(len(spread), 0.2)])
    scores = {name: strength[:, [places[gene] for gene in genes]].mean(axis=1) for name, genes in measured.items()}
    on = {name: (shares[:, [places[gene] for gene in genes]] >= 0.2).sum(axis=1) for name, genes in measured.items()}
    return pd.DataFrame(scores), pd.DataFrame(on)


def name_group(scores, on, broader, min_score, min_margin):
    """Return (type, score, runner-up, its score, reason) of one group; "unknown" unless one type stands out."""
    possible = scores[on >= 2].sort_values(ascending=False, kind="stable")
    if possible.empty:
        return "unknown", float(scores.max()), "", float("nan"), "no type has two markers on in 20 % of the cells"
    best, score = possible.index[0], float(possible.iloc[0])
    if score < min_score:
        return "unknown", score, best, score, f"the best type, {best}, scores {score:.2f}, below {min_score:g}"
    parent = broader.get(best, best)
    # A broader type shares markers with the narrower ones under it, so it is no rival of theirs.
    rivals = possible.drop(best)
    family = [name for name in rivals.index if broader.get(name, name) == parent]
    strangers = rivals.drop(family)
    siblings = rivals[[name for name in family if name != parent]]
    second, second_score = (strangers.index[0], float(strangers.iloc[0])) if len(strangers) else ("", float("nan"))
    if len(strangers) and score - second_score < min_margin:
        return "unknown", score, second, second_score, f"{best} and {second} score alike"
    # Narrow types of one family share much of their biology, so the choice among them must be twice as clear.
    close_sibling = len(siblings) and score - float(siblings.iloc[0]) < 2 * min_margin
    if best != parent and close_sibling:
        return (
            parent,
            score,
            str(siblings.index[0]),
            float(siblings.iloc[0]),
            f"{best} and {siblings.index[0]} score alike, so the broader type is named",
        )
    return best, score, second, second_score, "its markers are on and no other type is close"


@tool(
    name="sc_annotate",
    title="Name cell types by marker genes",
    description=(
        "Name each cluster by marker genes: the built-in textbook markers of immune and common tissue cells (human "
        "symbols, mouse by capitalisation) or your own gene sets. A type is named when its markers "
        "are on, its score is "
        "high enough and no other type is close; otherwise the cluster stays 'unknown', or gets the broader type. "
        "The labels go to obs['cell_type']. Scores compare clusters with each other, so a file of "
        "one cell type stays unknown."
    ),
    domain="single-cell",
    task_type="annotation",
    methods=("scores of marker genes for each cluster; no test",),
    inputs={
        "adata": "anndata: cells with cluster labels",
        "marker_sets": "gene_set_library: cell type -> marker genes, instead of the built-in ones",
    },
    optional_inputs=("marker_sets",),
    optional_outputs=("types_plot",),
    outputs={
        "adata": "anndata: with obs['cell_type']",
        "annotation_table": "table: type, score and evidence per cluster",
        "types_plot": "figure: the cells coloured by type",
        "annotation_plot": "figure: scores of the leading types",
    },
    params={
        "group_by": param("column of the clusters", kind="column", of="adata", role="", made_by="sc_cluster:cluster"),
        "min_score": param("lowest score that names a type (0 to 1)", minimum=0, maximum=1),
        "min_margin": param(
            "how far ahead of the next type the best must be (twice that among subtypes)", minimum=0, maximum=1
        ),
        "compare_with": param("column of known labels to compare with", kind="column", of="adata", role=""),
    },
    requires_tool=("sc_cluster",),
    produces_for=("sc_composition", "sc_pseudobulk_de"),
    checks=SINGLE_CELL_CHECKS,
    keywords=(
        "annotate",
        "cell type",
        "label clusters",
        "identify cells",
        "marker based annotation",
        "T cells",
        "B cells",
        "monocytes",
        "NK",
        "PBMC",
        "immune",
        "single cell",
        "cell identity",
    ),
    citations=(
        Citation(
            title=(
                "Tutorial: guidelines for annotating single-cell transcriptomic maps using automated and manual methods"
            ),
            authors="Clarke ZA, Andrews TS, Atif J, et al.",
            year=2021,
            doi="10.1038/s41596-021-00534-0",
        ),
    ),
    next_steps=[
        NextStep(
            text="Check the cell type labels against markers known for this tissue, above all those marked unknown.",
        ),
    ],
    packages=SINGLE_CELL_PACKAGES,
    seconds=4,
    example="Which cell types are in my data?",
    answers=["sc_annotate"],
    shows={"annotation_table": ["group", "n_cells", "cell_type", "score", "runner_up", "markers"], "types_plot": []},
)
def sc_annotate(
    adata,
    marker_sets=None,
    *,
    group_by: str = "cluster",
    min_score: float = 0.5,
    min_margin: float = 0.1,
    compare_with: str = "",
):
    """Score cell types per cluster and name those that stand out."""
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    values, _, warnings = log_values(adata)
    labels, notes = cell_labels(adata, group_by, "clusters")
    warnings += notes
    groups = ordered_labels(labels)
    markers, broader = (dict(marker_sets), {}) if marker_sets else textbook_markers()
    symbols = gene_symbols_of(values.var_names, values.var)
    found = {}
    for position, symbol in enumerate(symbols):
        found.setdefault(str(symbol).upper(), position)
    measured = {
        name: [gene for gene in dict.fromkeys(genes) if str(gene).upper() in found] for name, genes in markers.items()
    }
    # With few of its markers in the file (a small panel) a type would win or lose by one gene.
    measured = {name: genes for name, genes in measured.items() if len(genes) >= max(2, len(set(markers[name])) / 3)}
    if not measured:
        message = (
            f"No cell type has at least 2 markers, and a third of them, among the {values.n_vars} "
            "genes of the file (such as "
            f"{', '.join(map(str, symbols[:3]))}); check that genes are human or mouse symbols or Ensembl "
            "ids, or give your own marker sets."
        )
        raise ValueError(message)
    absent = [name for name in markers if name not in measured]
    if absent:
        shown = ", ".join(absent[:12]) + (f" and {len(absent) - 12} more" if len(absent) > 12 else "")
        warnings.append(
            f"Types with fewer than 2, or a third, of their markers in the file could not be recognised: {shown}."
        )
    if len(groups) == 1:
        warnings.append("There is a single cluster, so nothing can be compared: it stays unknown.")
    genes = sorted({gene for chosen in measured.values() for gene in chosen})
    places = {gene: number for number, gene in enumerate(genes)}
    keep = labels.notna().to_numpy()
    matrix = values.X[:, [found[str(gene).upper()] for gene in genes]]
    means, shares = group_profiles(matrix[keep], labels[keep].to_numpy(), groups)
    spread = np.sqrt(np.maximum(matrix[keep].power(2).mean(axis=0) - np.square(matrix[keep].mean(axis=0)), 0))
    scores, on = score_types(means, shares, np.asarray(spread).ravel(), measured, places)
    scores.index = on.index = groups

    sizes, rows = labels.value_counts(), []
    for number, group in enumerate(groups):
        name, score, runner, runner_score, reason = name_group(
            scores.loc[group], on.loc[group], broader, min_score, min_margin
        )
        evidence = measured.get(name, [])
        seen = sorted(evidence, key=lambda gene: -shares[number, places[gene]])
        rows.append(
            {
                "group": group,
                "n_cells": int(sizes[group]),
                "cell_type": name,
                "score": score,
                "runner_up": runner,
                "runner_up_score": runner_score,
                "markers": "; ".join(f"{gene} {100 * shares[number, places[gene]]:.0f} %" for gene in seen[:6]),
                "reason": reason,
            }
        )
    table = pd.DataFrame(rows)
    result = adata.copy()
    if "cell_type" in result.obs:
        result.obs["cell_type_before"] = result.obs["cell_type"]
        warnings.append("The labels the file had in obs['cell_type'] were kept as obs['cell_type_before'].")
    assigned = labels.map(dict(zip(table["group"], table["cell_type"], strict=True))).fillna("unknown")
    result.obs["cell_type"] = pd.Categorical(assigned)

    unknown = table[table["cell_type"] == "unknown"]
    sizes = assigned[assigned != "unknown"].value_counts()
    kinds = [f"{name} ({number} cells)" for name, number in sizes.items()]
    findings = [
        {
            "text": (
                f"{len(groups) - len(unknown)} of {len(groups)} clusters "
                f"({int((assigned != 'unknown').sum())} of {len(assigned)} cells) were named by their "
                f"markers{': ' + ', '.join(kinds) if kinds else ''}."
            ),
            "values": [
                {"name": "n_named", "value": len(groups) - len(unknown), "unit": "clusters", "n": len(groups)},
                {
                    "name": "n_cells_named",
                    "value": int((assigned != "unknown").sum()),
                    "unit": "cells",
                    "n": len(assigned),
                },
                *({"name": f"n_cells {name}", "value": int(number)} for name, number in sizes.items()),
            ],
            "output": "annotation_table",
        }
    ]
    for row in (
        table[table["cell_type"] != "unknown"].sort_values("n_cells", ascending=False).head(8).to_dict("records")
    ):
        following = f", next {row['runner_up']} {row['runner_up_score']:.2f}" if row["runner_up"] else ""
        findings.append(
            {
                "text": (
                    f"Cluster {row['group']} (n={row['n_cells']} cells) is {row['cell_type']}: score "
                    f"{row['score']:.2f}{following}; found in its cells: {row['markers']}."
                ),
                "values": [{"name": "score", "value": row["score"], "n": row["n_cells"]}],
                "output": "annotation_table",
                "row": table_row(table, group=row["group"]),
            }
        )
    if len(unknown):
        warnings.append(f"Left unknown: {'; '.join(f'{row.group} ({row.reason})' for row in unknown.itertuples())}.")
    warnings.append(
        "Labels from markers are a suggestion; states such as activation or division and rare types need "
        "an expert's look."
    )
    if compare_with:
        from sklearn.metrics import adjusted_rand_score

        known, _ = cell_labels(adata, compare_with, "known labels")
        both = known.notna()
        agreement = float(adjusted_rand_score(known[both].astype(str), assigned[both].astype(str)))
        majority = pd.crosstab(assigned[both], known[both])
        findings.append(
            {
                "text": (
                    f"Against {compare_with} ({int(both.sum())} cells) the adjusted Rand index is "
                    f"{agreement:.2f}; most common known label: "
                )
                + ", ".join(
                    f"{name} -> {majority.loc[name].idxmax()} "
                    f"({100 * majority.loc[name].max() / majority.loc[name].sum():.0f} %)"
                    for name in majority.index[:6]
                )
                + ".",
                "values": [{"name": "adjusted_rand_index", "value": agreement, "n": int(both.sum())}],
            }
        )

    leading = scores.max().sort_values(ascending=False).head(14).index.tolist()
    figure = Figure(figsize=(3 + 0.35 * len(leading), 2 + 0.3 * len(groups)), layout="constrained")
    axes = figure.subplots()
    drawn = axes.imshow(scores[leading], cmap="viridis", vmin=0, vmax=1, aspect="auto")
    for number, row in enumerate(rows):
        if row["cell_type"] in leading:
            axes.text(
                leading.index(row["cell_type"]), number, "x", ha="center", va="center", color="white", weight="bold"
            )
    axes.set_xticks(range(len(leading)), leading, rotation=90, fontsize=8)
    axes.set_yticks(range(len(groups)), [f"{row['group']}: {row['cell_type']}" for row in rows], fontsize=8)
    axes.set_ylabel(group_by)
    figure.colorbar(drawn, ax=axes, label="marker score (x: type named)")
    basis = next((name for name in ("X_umap", "X_pca") if name in result.obsm), "")
    placed = Figure(figsize=(6, 5), layout="constrained") if basis else None
    if placed is not None:
        axes = placed.subplots()
        draw_cells(axes, np.asarray(result.obsm[basis])[:, :2], assigned.astype(str).to_numpy(), "cell types")
        axes.set_xlabel(f"{'UMAP' if basis == 'X_umap' else 'PC'} 1 (no unit)")
        axes.set_ylabel(f"{'UMAP' if basis == 'X_umap' else 'PC'} 2 (no unit)")
    return {
        "adata": result,
        "types_plot": placed,
        "annotation_table": table,
        "annotation_plot": figure,
        "findings": findings,
        "warnings": warnings,
    }
