"""From a single-cell file to values worth clustering: quality control, normalisation, variable genes.

Files arrive in every state, from raw counts to scaled values with an embedding. Each step takes what is
there, passes on what is already done, and says so, because redoing a step on the wrong matrix is silent.
"""

from __future__ import annotations

from engine.domain.toolspec import Citation
from engine.toolbox.registry import param, tool
from engine.toolbox.single_cell.values import (
    SCANPY,
    SINGLE_CELL_CHECKS,
    SINGLE_CELL_PACKAGES,
    cell_labels,
    find_counts,
    gene_symbols_of,
    log_values,
    matrix_kind,
)
from engine.toolbox.tables.rows import table_row


@tool(
    name="sc_qc",
    title="Single-cell quality control",
    description=(
        "Count molecules, genes and the mitochondrial share per cell of a single-cell RNA-seq file, remove cells "
        "with too few genes or too much mitochondrial RNA and genes found in too few cells. Needs raw counts (in X, "
        "layers['counts'] or raw); when the file holds only normalised or scaled values nothing is removed and a "
        "warning says so. Doublets and ambient RNA are not looked for."
    ),
    domain="single-cell",
    task_type="preprocessing",
    methods=("counts, genes and mitochondrial share of each cell; no test",),
    inputs={"adata": "anndata: cells x genes"},
    outputs={
        "adata": "anndata: the cells and genes kept, with total_counts, n_genes_by_counts, pct_counts_mt in obs",
        "qc_table": "table: what each criterion removed",
        "qc_plot": "figure: distributions with the thresholds",
    },
    params={
        "min_genes": param(
            "fewest genes a cell must have",
            unit="genes",
            minimum=0,
            maximum=20000,
            words=["min(?:imum)? genes", "genes per cell"],
        ),
        "min_cells": param("fewest cells a gene must be found in", unit="cells", minimum=0),
        "max_mito_percent": param(
            "highest share of mitochondrial counts in a cell",
            unit="%",
            minimum=0,
            maximum=100,
            words=["%\\s*mito\\w*", "mito\\w*(?: percent)?"],
        ),
    },
    produces_for=("sc_normalize",),
    checks=SINGLE_CELL_CHECKS,
    keywords=(
        "single cell",
        "scRNA-seq",
        "10x",
        "quality control",
        "filter cells",
        "mitochondrial",
        "low quality cells",
        "dead cells",
        "empty droplets",
        "UMI",
        "barcodes",
        "h5ad",
        "anndata",
        "scanpy",
        "preprocess",
    ),
    citations=(
        SCANPY,
        Citation(
            title="Current best practices in single-cell RNA-seq analysis: a tutorial",
            authors="Luecken MD, Theis FJ",
            year=2019,
            doi="10.15252/msb.20188746",
        ),
    ),
    packages=SINGLE_CELL_PACKAGES,
    seconds=5,
    example="Which cells of my single-cell data are of poor quality?",
    answers=["sc_qc"],
)
def sc_qc(adata, *, min_genes: int = 200, min_cells: int = 3, max_mito_percent: float = 20.0):
    """Remove poor cells and rare genes, judged on raw counts."""
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure
    from scipy import sparse

    warnings = []
    counts, names, where = find_counts(adata)
    n_cells, n_genes = adata.n_obs, adata.n_vars
    judged = counts is not None
    if judged:
        matrix, var = sparse.csr_matrix(counts), adata.raw.var if where == "raw" else adata.var
        if matrix.data.size and matrix.data.min() < 0:
            message = (
                "The counts contain negative numbers; raw counts must be zero or more. Give the matrix "
                "before normalisation."
            )
            raise ValueError(message)
    else:
        source = adata.raw if adata.raw is not None and matrix_kind(adata.raw.X) != "scaled" else adata
        matrix, names, var = sparse.csr_matrix(source.X), source.var_names, source.var
        state = {"scaled": "scaled", "log": "log-normalised", "linear": "normalised"}[matrix_kind(adata.X)]
        warnings.append(
            f"X holds {state} values and the file has no raw counts, so no cell or gene was removed: the thresholds "
            "(genes per cell, cells per gene, mitochondrial share) apply to raw counts."
        )
    found = matrix.copy()
    found.data = (found.data > 0).astype("float64")
    metrics = pd.DataFrame(index=adata.obs_names)
    metrics["n_genes_by_counts"] = np.asarray(found.sum(axis=1)).ravel().astype(int)
    metrics["total_counts"] = np.asarray(matrix.sum(axis=1)).ravel() if judged else np.nan
    mito = np.array([name.upper().startswith("MT-") for name in gene_symbols_of(names, var)])
    known = next((c for c in ("pct_counts_mt", "percent_mito", "percent.mt") if c in adata.obs), "")
    if judged and mito.any():
        total = np.maximum(metrics["total_counts"].to_numpy(dtype=float), 1)
        metrics["pct_counts_mt"] = 100 * np.asarray(matrix[:, mito].sum(axis=1)).ravel() / total
    elif judged:
        warnings.append(
            "No mitochondrial gene (name starting with MT- or mt-) is in the file: cells could not be "
            "judged by their mitochondrial share."
        )
    if not judged and known:
        share = pd.to_numeric(adata.obs[known], errors="coerce").to_numpy(dtype=float)
        # Some files store a fraction, others a percentage; a fraction never exceeds 1.
        metrics["pct_counts_mt"] = share * (100 if np.nanmax(share) <= 1 else 1)

    few = metrics["n_genes_by_counts"].to_numpy() < min_genes
    dying = np.zeros(n_cells, dtype=bool)
    if "pct_counts_mt" in metrics:
        dying = metrics["pct_counts_mt"].to_numpy() > max_mito_percent
    keep = ~(few | dying) if judged else np.ones(n_cells, dtype=bool)
    if not keep.any():
        message = (
            f"No cell passes: the median cell has {metrics['n_genes_by_counts'].median():.0f} genes (min_genes is "
            f"{min_genes}) and {metrics.get('pct_counts_mt', pd.Series([0.0])).median():.1f} % mitochondrial counts "
            f"(max_mito_percent is "
            f"{max_mito_percent:g}). Lower min_genes or raise max_mito_percent."
        )
        raise ValueError(message)
    if judged and keep.mean() < 0.5:
        warnings.append(f"Only {keep.sum()} of {n_cells} cells passed; check that the thresholds suit this assay.")
    kept = adata[keep].copy()
    rare = np.zeros(n_genes, dtype=bool)
    if judged:
        per_gene = pd.Series(np.asarray(found[keep].sum(axis=0)).ravel(), index=names)
        rare = per_gene[~per_gene.index.duplicated()].reindex(adata.var_names).fillna(0).to_numpy() < min_cells
        if rare.all():
            message = f"No gene is found in at least {min_cells} cells; lower min_cells."
            raise ValueError(message)
        kept = kept[:, ~rare].copy()
    for column in metrics:
        if metrics[column].notna().any():
            kept.obs[column] = metrics.loc[kept.obs_names, column]

    rows = [
        ("genes per cell", f"at least {min_genes}", few),
        ("mitochondrial counts (%)", f"at most {max_mito_percent:g}", dying),
    ]
    table = pd.DataFrame(
        [
            {
                "criterion": name,
                "threshold": limit,
                "failing": int(mask.sum()),
                "removed": int(mask.sum()) if judged else 0,
                "of": n_cells,
                "unit": "cells",
            }
            for name, limit, mask in rows
            if name != "mitochondrial counts (%)" or "pct_counts_mt" in metrics
        ]
        + [
            {
                "criterion": "cells per gene",
                "threshold": f"at least {min_cells}",
                "failing": int(rare.sum()),
                "removed": int(rare.sum()),
                "of": n_genes,
                "unit": "genes",
            },
            {
                "criterion": "kept cells",
                "threshold": "",
                "failing": 0,
                "removed": n_cells - kept.n_obs,
                "of": n_cells,
                "unit": "cells",
            },
            {
                "criterion": "kept genes",
                "threshold": "",
                "failing": 0,
                "removed": n_genes - kept.n_vars,
                "of": n_genes,
                "unit": "genes",
            },
        ]
    )
    warnings.append("Doublets (two cells in one droplet) and ambient RNA were not looked for.")

    panels = [
        (column, label, limit)
        for column, label, limit in (
            ("total_counts", "molecules per cell", None),
            ("n_genes_by_counts", "genes per cell", min_genes),
            ("pct_counts_mt", "mitochondrial counts (%)", max_mito_percent),
        )
        if column in metrics and metrics[column].notna().any()
    ]
    figure = Figure(figsize=(3.6 * len(panels), 3), layout="constrained")
    for axes, (column, label, limit) in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True):
        axes.hist(metrics[column].dropna(), bins=50, color="#0072B2")
        if limit is not None and judged:
            axes.axvline(limit, color="#D55E00", linestyle="--", label=f"threshold {limit:g}")
            axes.legend(frameon=False, fontsize=8)
        axes.set_xlabel(label)
        axes.set_ylabel("cells")

    after = kept.obs
    text = (
        f"{kept.n_obs} of {n_cells} cells and {kept.n_vars} of {n_genes} genes were kept; the median kept "
        f"cell has {after['n_genes_by_counts'].median():.0f} genes"
    )
    values = [
        {"name": "cells_kept", "value": int(kept.n_obs), "unit": "cells", "n": n_cells},
        {"name": "genes_kept", "value": int(kept.n_vars), "unit": "genes", "n": n_genes},
        {"name": "median_genes", "value": float(after["n_genes_by_counts"].median()), "unit": "genes"},
    ]
    if judged:
        text += f" and {after['total_counts'].median():.0f} molecules"
        values.append({"name": "median_counts", "value": float(after["total_counts"].median()), "unit": "molecules"})
    findings = [{"text": text + ".", "values": values, "output": "qc_table"}]
    for row in table[table["removed"] > 0].to_dict("records")[:3]:
        if row["criterion"].startswith("kept"):
            continue
        findings.append(
            {
                "text": (
                    f"{row['removed']} of {row['of']} {row['unit']} were removed by the criterion "
                    f"'{row['criterion']}: {row['threshold']}'."
                ),
                "values": [{"name": "removed", "value": int(row["removed"]), "unit": row["unit"], "n": int(row["of"])}],
                "output": "qc_table",
                "row": {"criterion": row["criterion"]},
            }
        )
    return {"adata": kept, "qc_table": table, "qc_plot": figure, "findings": findings, "warnings": warnings}


@tool(
    name="sc_normalize",
    title="Normalise single-cell counts",
    description=(
        "Scale every cell to the same number of molecules and take log(1 + x); the raw counts are kept in "
        "layers['counts']. Values that are already log-normalised pass through with a warning; scaled values are "
        "rebuilt from raw counts when the file has them, else passed through and later steps use raw."
    ),
    domain="single-cell",
    task_type="preprocessing",
    methods=("same number of molecules for each cell, then log(1 + x); no test",),
    inputs={"adata": "anndata: cells x genes"},
    outputs={"adata": "anndata: X log-normalised, counts in layers['counts']"},
    params={"target_sum": param("molecules per cell after scaling", unit="molecules", minimum=1)},
    requires_tool=("sc_qc",),
    produces_for=("sc_highly_variable",),
    checks=("findings_match_tables",),
    keywords=(
        "normalise",
        "normalize",
        "log1p",
        "library size",
        "CP10K",
        "size factor",
        "single cell",
        "scRNA-seq",
        "sequencing depth",
        "scanpy",
    ),
    citations=(SCANPY,),
    packages=SINGLE_CELL_PACKAGES,
    seconds=3,
    example="Normalise my single-cell counts",
)
def sc_normalize(adata, *, target_sum: float = 10000):
    """Normalise to `target_sum` per cell and take log(1 + x)."""
    import numpy as np
    import scanpy as sc

    warnings = []
    kind = matrix_kind(adata.X)
    raw_kind = matrix_kind(adata.raw.X) if adata.raw is not None else ""
    counts, _, where = find_counts(adata)
    if kind == "log" or (counts is None and (kind == "linear" or raw_kind == "log")):
        result = adata.copy()
        text = "The values were already log-normalised and pass unchanged."
        if kind == "linear":
            sc.pp.log1p(result)
            text = "The values were already normalised; only their logarithm, log(1 + x), was taken."
        elif kind == "scaled":
            text = (
                "X holds scaled values and passes unchanged; steps that need expression use the "
                "log-normalised values in raw."
            )
        warnings.append(text + f" The target of {target_sum:g} per cell was not applied.")
        finding = {
            "text": f"{text} ({adata.n_obs} cells, {adata.n_vars} genes.)",
            "values": [{"name": "n_cells", "value": int(adata.n_obs), "unit": "cells"}],
        }
        return {"adata": result, "findings": [finding], "warnings": warnings}
    if counts is None:
        message = (
            "X holds scaled values and the file has neither raw counts nor log-normalised values in raw, "
            "so it cannot be normalised; give the file before scaling."
        )
        raise ValueError(message)
    if where == "raw":
        result = adata.raw.to_adata()
        for key in adata.obsm:
            result.obsm[key] = adata.obsm[key]
        warnings.append(
            f"The values were rebuilt from the raw counts in raw ({result.n_vars} genes; X had {adata.n_vars})."
        )
    else:
        result = adata.copy()
        if where != "X":
            warnings.append(f"X ({kind} values) was replaced by the normalised counts of {where}.")
        result.X = counts.copy()
    result.X = result.X.astype("float32")
    result.layers["counts"] = result.X.copy()
    depth = np.asarray(result.X.sum(axis=1)).ravel()
    if (depth == 0).any():
        warnings.append(f"{int((depth == 0).sum())} cells have no molecule at all and were removed.")
        result, depth = result[depth > 0].copy(), depth[depth > 0]
    sc.pp.normalize_total(result, target_sum=target_sum)
    result.uns.pop("log1p", None)
    sc.pp.log1p(result)
    low, high = (float(value) for value in np.quantile(depth, [0.05, 0.95]))
    finding = {
        "text": (
            f"{result.n_obs} cells were scaled to {target_sum:g} molecules each and logged; before, the "
            f"middle 90 % of cells had {low:.0f} to {high:.0f} (median {np.median(depth):.0f})."
        ),
        "values": [
            {
                "name": "median_counts",
                "value": float(np.median(depth)),
                "unit": "molecules",
                "low": low,
                "high": high,
                "n": int(result.n_obs),
            }
        ],
    }
    return {"adata": result, "findings": [finding], "warnings": warnings}


@tool(
    name="sc_highly_variable",
    title="Highly variable genes",
    description=(
        "Mark the genes that vary most between cells beyond what their mean predicts (binned normalised dispersion of "
        "log-normalised values), optionally within batches. All genes stay in the file; the mark is "
        "var['highly_variable']."
    ),
    domain="single-cell",
    task_type="preprocessing",
    methods=("variation beyond what the mean predicts; no test",),
    inputs={"adata": "anndata: log-normalised cells x genes"},
    outputs={
        "adata": "anndata: with var['highly_variable']",
        "hvg_table": "table: mean, dispersion and rank of every gene",
        "hvg_plot": "figure: dispersion against mean",
    },
    params={
        "n_top_genes": param(
            "number of genes to mark",
            unit="genes",
            minimum=10,
            maximum=20000,
            words=["(?:highly )?variable genes", "hvgs?"],
        ),
        "batch_key": param(
            "column of batches; genes variable in most batches are preferred", kind="column", of="adata", role="batch"
        ),
    },
    requires_tool=("sc_normalize",),
    produces_for=("sc_embed",),
    checks=SINGLE_CELL_CHECKS,
    keywords=("highly variable genes", "HVG", "feature selection", "dispersion", "variable features", "single cell"),
    citations=(
        SCANPY,
        Citation(
            title="Spatial reconstruction of single-cell gene expression data",
            authors="Satija R, Farrell JA, Gennert D, Schier AF, Regev A",
            year=2015,
            doi="10.1038/nbt.3192",
        ),
    ),
    packages=SINGLE_CELL_PACKAGES,
    seconds=3,
    example="Which genes vary most between my cells?",
    answers=[],
)
def sc_highly_variable(adata, *, n_top_genes: int = 2000, batch_key: str = ""):
    """Rank genes by normalised dispersion and mark the top."""
    import numpy as np
    import scanpy as sc
    from matplotlib.figure import Figure

    values, source, warnings = log_values(adata)
    shared = [name for name in adata.var_names if name in values.var_names]
    values = values[:, shared].copy()
    wanted = min(n_top_genes, values.n_vars)
    if wanted < n_top_genes:
        warnings.append(f"The file has {values.n_vars} genes, fewer than the {n_top_genes} asked for: all are marked.")
    batches = None
    if batch_key:
        labels, notes = cell_labels(adata, batch_key, "batches")
        if notes:
            message = (
                f"{int(labels.isna().sum())} cells have no value in the batch column {batch_key!r}; fill "
                "it or leave batch_key empty."
            )
            raise ValueError(message)
        values.obs["batch"] = labels.astype("category")
        batches = "batch"
        small = [label for label, size in labels.value_counts().items() if size < 10]
        if small:
            warnings.append(f"Batches with fewer than 10 cells: {', '.join(small[:5])}.")
    sc.pp.highly_variable_genes(values, n_top_genes=wanted, batch_key=batches, flavor="seurat")
    table = values.var[["means", "dispersions", "dispersions_norm", "highly_variable"]].copy()
    if wanted == values.n_vars:
        table["highly_variable"] = True
    table.columns = ["mean", "dispersion", "normalized_dispersion", "highly_variable"]
    result = adata.copy()
    mark = table["highly_variable"].reindex(adata.var_names)
    result.var["highly_variable"] = mark.eq(True).to_numpy()
    for column, name in (
        ("mean", "means"),
        ("dispersion", "dispersions"),
        ("normalized_dispersion", "dispersions_norm"),
    ):
        result.var[name] = table[column].reindex(adata.var_names).to_numpy(dtype=float)
    table = (
        table.rename_axis("gene")
        .reset_index()
        .sort_values(["highly_variable", "normalized_dispersion"], ascending=False, kind="stable", na_position="last")
    )
    table["rank"] = range(1, len(table) + 1)
    table = table.reset_index(drop=True)

    figure = Figure(figsize=(5.5, 4), layout="constrained")
    axes = figure.subplots()
    for flag, colour, label in ((False, "#BBBBBB", "other"), (True, "#0072B2", "highly variable")):
        part = table[table["highly_variable"] == flag]
        axes.scatter(
            part["mean"], part["normalized_dispersion"], s=5, c=colour, label=f"{label} ({len(part)})", linewidths=0
        )
    axes.set_xlabel("mean expression (log-normalised)")
    axes.set_ylabel("normalised dispersion")
    axes.legend(frameon=False)

    chosen = int(result.var["highly_variable"].sum())
    top = table["gene"].head(10).tolist()
    findings = [
        {
            "text": (
                f"{chosen} of {len(table)} genes were marked highly variable, from {source} of "
                f"{adata.n_obs} cells; the most variable are {', '.join(top)}."
            ),
            "values": [{"name": "n_highly_variable", "value": chosen, "unit": "genes", "n": len(table)}],
            "output": "hvg_table",
        }
    ]
    if len(table) and np.isfinite(table["normalized_dispersion"].iloc[0]):
        first = table.iloc[0]
        findings.append(
            {
                "text": (
                    f"{first['gene']} varies most: normalised dispersion "
                    f"{first['normalized_dispersion']:.2f} at a mean log expression of "
                    f"{first['mean']:.2f}."
                ),
                "values": [{"name": "normalized_dispersion", "value": float(first["normalized_dispersion"])}],
                "output": "hvg_table",
                "row": table_row(table, gene=first["gene"]),
            }
        )
    return {"adata": result, "hvg_table": table, "hvg_plot": figure, "findings": findings, "warnings": warnings}
