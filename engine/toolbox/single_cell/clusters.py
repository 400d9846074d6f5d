"""Where cells lie and which belong together: principal components, neighbours, UMAP and clusters.

A picture of clusters convinces whether or not they are real, so the clusters come with how far apart they
are and how much another random seed would change them.
"""

from __future__ import annotations

from engine.domain.toolspec import Citation, NextStep, Points
from engine.toolbox.registry import param, tool
from engine.toolbox.single_cell.values import (
    SCANPY,
    SINGLE_CELL_CHECKS,
    SINGLE_CELL_PACKAGES,
    draw_cells,
    log_values,
    matrix_kind,
    ordered_labels,
)
from engine.toolbox.tables.rows import table_row


@tool(
    name="sc_embed",
    title="PCA, neighbours and UMAP of cells",
    description=(
        "Compute principal components (of the highly variable genes when marked), the nearest-neighbour graph and a "
        "two-dimensional UMAP of the cells, drawn in the colours of a column. Distances between far groups on a UMAP "
        "and their sizes mean little; no batch correction is done."
    ),
    domain="single-cell",
    task_type="analysis",
    methods=("principal components, neighbours and UMAP; no test",),
    inputs={"adata": "anndata: log-normalised cells x genes"},
    outputs={
        "adata": "anndata: with X_pca, neighbours and X_umap",
        "umap_plot": "figure: the cells",
        "umap_table": "table: coordinates per cell",
    },
    points={"umap_plot": Points(table="umap_table", x="UMAP1", y="UMAP2", colour="=color_by")},
    params={
        "n_pcs": param("number of principal components", minimum=2, maximum=200, words=["pcs", "principal components"]),
        "n_neighbors": param("neighbours per cell", unit="cells", minimum=2, maximum=200, words=["neighbou?rs"]),
        "color_by": param("column of the cells to colour by", kind="column", of="adata", role="label"),
        "seed": param("random seed"),
    },
    requires_tool=("sc_highly_variable",),
    produces_for=("sc_cluster",),
    checks=SINGLE_CELL_CHECKS,
    keywords=(
        "UMAP",
        "PCA",
        "embedding",
        "dimensionality reduction",
        "tSNE",
        "neighbours",
        "visualise cells",
        "plot cells",
        "single cell",
        "manifold",
    ),
    citations=(
        SCANPY,
        Citation(
            title="UMAP: Uniform Manifold Approximation and Projection for Dimension Reduction",
            authors="McInnes L, Healy J, Melville J",
            year=2018,
            doi="10.48550/arXiv.1802.03426",
        ),
    ),
    packages=(*SINGLE_CELL_PACKAGES, "scikit-learn", "umap-learn", "numba"),
    seconds=12,
    example="Show my cells on a UMAP",
    answers=["sc_embed"],
)
def sc_embed(adata, *, n_pcs: int = 50, n_neighbors: int = 15, color_by: str = "", seed: int = 0):
    """Embed the cells: PCA, neighbour graph, UMAP."""
    import numpy as np
    import pandas as pd
    import scanpy as sc
    from matplotlib.figure import Figure

    if adata.n_obs < 10:
        message = f"The file has {adata.n_obs} cells; an embedding needs at least 10."
        raise ValueError(message)
    if color_by and color_by not in adata.obs:
        message = (
            f"The cells have no column {color_by!r} to colour by; columns: "
            f"{', '.join(map(str, adata.obs.columns[:30]))}."
        )
        raise ValueError(message)
    result, warnings = adata.copy(), []
    kind = matrix_kind(adata.X)
    work = result
    if kind in ("counts", "linear"):
        work, _, warnings = log_values(adata)
        if "highly_variable" in adata.var:
            work.var["highly_variable"] = adata.var["highly_variable"].reindex(work.var_names).eq(True).to_numpy()
    marked = bool("highly_variable" in work.var and work.var["highly_variable"].sum() >= 3)
    used = int(work.var["highly_variable"].sum()) if marked else work.n_vars
    if not marked and used > 5000:
        warnings.append(
            f"No highly variable genes are marked, so all {used} genes were used; noise of rare genes may "
            "blur the groups."
        )
    components = max(2, min(n_pcs, work.n_obs - 1, used - 1))
    neighbors = min(n_neighbors, work.n_obs - 1)
    if components < n_pcs or neighbors < n_neighbors:
        warnings.append(
            f"{work.n_obs} cells and {used} genes allow {components} components and {neighbors} neighbours."
        )
    had = [key for key in ("X_pca", "X_umap") if key in adata.obsm]
    sc.pp.pca(work, n_comps=components, mask_var="highly_variable" if marked else None, random_state=seed)
    if work is not result:
        result.obsm["X_pca"], result.uns["pca"] = work.obsm["X_pca"], work.uns["pca"]
    sc.pp.neighbors(result, n_neighbors=neighbors, use_rep="X_pca", random_state=seed)
    sc.tl.umap(result, random_state=seed)
    if had:
        warnings.append("The embedding that the file came with was replaced by one computed here.")

    points = np.asarray(result.obsm["X_umap"])
    table = pd.DataFrame({"cell": result.obs_names.astype(str), "UMAP1": points[:, 0], "UMAP2": points[:, 1]})
    labels = None
    if color_by:
        column = result.obs[color_by]
        numeric = (
            pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column) and column.nunique() > 12
        )
        labels = column.to_numpy(dtype=float) if numeric else column.astype(str).to_numpy()
        if color_by not in table:
            table[color_by] = labels
    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.subplots()
    draw_cells(axes, points, labels, color_by or f"{result.n_obs} cells")
    axes.set_xlabel("UMAP 1 (no unit)")
    axes.set_ylabel("UMAP 2 (no unit)")

    ratio = np.asarray(work.uns["pca"]["variance_ratio"], dtype=float)
    what = "highly variable genes" if marked else "genes"
    finding = {
        "text": (
            f"{result.n_obs} cells were embedded from {components} principal components of {used} {what}; "
            f"the components hold {100 * ratio.sum():.1f} % of their variance, the first "
            f"{100 * ratio[0]:.1f} %."
        ),
        "values": [
            {"name": "variance_explained", "value": float(100 * ratio.sum()), "unit": "%", "n": int(result.n_obs)},
            {"name": "variance_pc1", "value": float(100 * ratio[0]), "unit": "%"},
            {"name": "n_genes", "value": used, "unit": "genes"},
        ],
        "output": "umap_table",
    }
    warnings.append("On a UMAP neither the distance between groups nor their area can be read as a measure.")
    return {"adata": result, "umap_plot": figure, "umap_table": table, "findings": [finding], "warnings": warnings}


@tool(
    name="sc_cluster",
    title="Cluster cells",
    description=(
        "Group cells by Leiden community detection on the neighbour graph; labels in obs['cluster'], 0 the largest. "
        "Reports each cluster's size, its separation (mean silhouette on the principal components) "
        "and how well two other "
        "random seeds agree (adjusted Rand index). The number of clusters follows from the "
        "resolution, not from biology."
    ),
    domain="single-cell",
    task_type="analysis",
    methods=("Leiden clusters of the neighbour graph; no test",),
    inputs={"adata": "anndata: with a neighbour graph"},
    outputs={
        "adata": "anndata: with obs['cluster']",
        "cluster_table": "table: size and separation of each cluster",
        "cluster_plot": "figure: the cells coloured by cluster",
    },
    params={
        "resolution": param(
            "higher gives more clusters", minimum=0.01, maximum=10, words=["resolution"], decides="Resolution"
        ),
        "seed": param("random seed"),
    },
    requires_tool=("sc_embed",),
    produces_for=("sc_markers", "sc_annotate", "sc_composition"),
    checks=SINGLE_CELL_CHECKS,
    keywords=(
        "cluster",
        "Leiden",
        "Louvain",
        "cell populations",
        "subpopulations",
        "communities",
        "cell types",
        "groups of cells",
        "single cell",
        "unsupervised",
    ),
    citations=(
        Citation(
            title="From Louvain to Leiden: guaranteeing well-connected communities",
            authors="Traag VA, Waltman L, van Eck NJ",
            year=2019,
            doi="10.1038/s41598-019-41695-z",
        ),
        SCANPY,
    ),
    next_steps=[
        NextStep(
            text=(
                "Cluster again at half and at twice the resolution of {param:resolution} and keep conclusions that "
                "hold at each."
            ),
        ),
    ],
    packages=(*SINGLE_CELL_PACKAGES, "igraph", "scikit-learn"),
    seconds=4,
    example="How many groups of cells are in my data?",
    answers=["sc_cluster"],
)
def sc_cluster(adata, *, resolution: float = 1.0, seed: int = 0):
    """Find communities of cells with the Leiden algorithm."""
    import numpy as np
    import pandas as pd
    import scanpy as sc
    from matplotlib.figure import Figure
    from sklearn.metrics import adjusted_rand_score, silhouette_samples

    result, warnings = adata.copy(), []
    if "cluster" in adata.obs:
        warnings.append("The labels in obs['cluster'] were replaced.")
    if "X_pca" not in result.obsm or "neighbors" not in result.uns or "connectivities" not in result.obsp:
        values, _, warnings_of_values = log_values(adata)
        sc.pp.pca(values, n_comps=max(2, min(50, values.n_obs - 1, values.n_vars - 1)), random_state=seed)
        result.obsm["X_pca"] = values.obsm["X_pca"]
        sc.pp.neighbors(result, n_neighbors=min(15, result.n_obs - 1), use_rep="X_pca", random_state=seed)
        warnings += [
            *warnings_of_values,
            ("The file had no neighbour graph; one was computed from 50 principal components of all genes."),
        ]

    def leiden(run_seed, key):
        sc.tl.leiden(
            result,
            resolution=resolution,
            random_state=run_seed,
            flavor="igraph",
            n_iterations=2,
            directed=False,
            key_added=key,
        )
        return result.obs[key].astype(str)

    labels = leiden(seed, "cluster")
    by_size = {name: str(rank) for rank, name in enumerate(labels.value_counts(sort=True).index)}
    labels = labels.map(by_size)
    result.obs["cluster"] = pd.Categorical(labels, categories=list(by_size.values()))
    agreement = float(np.mean([adjusted_rand_score(labels, leiden(seed + extra, "_other")) for extra in (1, 2)]))
    del result.obs["_other"]
    result.uns.pop("_other", None)
    clusters = ordered_labels(labels)
    sizes = labels.value_counts()
    # The silhouette is quadratic in the number of cells, so large files are judged on a seeded sample.
    chosen = np.arange(result.n_obs)
    if result.n_obs > 4000:
        chosen = np.sort(np.random.default_rng(seed).choice(result.n_obs, 4000, replace=False))
    sampled, width = labels.iloc[chosen], None
    if 1 < sampled.nunique() < len(sampled):
        width = pd.Series(silhouette_samples(np.asarray(result.obsm["X_pca"])[chosen], sampled), index=sampled.index)
    table = pd.DataFrame({"cluster": clusters})
    table["n_cells"] = [int(sizes[name]) for name in clusters]
    table["percent"] = 100 * table["n_cells"] / result.n_obs
    table["mean_silhouette"] = [
        float(width[sampled == name].mean()) if width is not None else np.nan for name in clusters
    ]

    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.subplots()
    basis = "X_umap" if "X_umap" in result.obsm else "X_pca"
    draw_cells(
        axes,
        np.asarray(result.obsm[basis])[:, :2],
        labels.to_numpy(),
        f"{len(clusters)} clusters, resolution {resolution:g}",
    )
    for axis, set_label in ((1, axes.set_xlabel), (2, axes.set_ylabel)):
        set_label(f"{'UMAP' if basis == 'X_umap' else 'PC'} {axis} (no unit)")

    if len(clusters) == 1:
        warnings.append("All cells fell into one cluster; raise the resolution if you expect several populations.")
    tiny = [name for name in clusters if sizes[name] < 10]
    if tiny:
        warnings.append(f"Clusters with fewer than 10 cells: {', '.join(tiny[:10])}.")
    if agreement < 0.8:
        warnings.append(
            f"Other random seeds give different clusters (mean adjusted Rand index {agreement:.2f}; 1 is "
            "identical): read borders with care."
        )
    weak = table.loc[table["mean_silhouette"] < 0, "cluster"].tolist()
    if weak:
        warnings.append(f"Overlap with other clusters (negative mean silhouette): {', '.join(weak)}.")
    largest = table.iloc[table["n_cells"].idxmax()]
    findings = [
        {
            "text": (
                f"{result.n_obs} cells form {len(clusters)} clusters of {sizes.min()} to {sizes.max()} "
                f"cells at resolution {resolution:g}; other random seeds agree with an adjusted Rand "
                f"index of {agreement:.2f}."
            ),
            "values": [
                {"name": "n_clusters", "value": len(clusters), "unit": "clusters", "n": int(result.n_obs)},
                {"name": "seed_agreement", "value": agreement},
            ],
            "output": "cluster_table",
        },
        {
            "text": (
                f"The largest cluster, {largest['cluster']}, holds {largest['n_cells']} cells "
                f"({largest['percent']:.1f} %)."
            ),
            "values": [
                {"name": "n_cells", "value": int(largest["n_cells"]), "unit": "cells", "n": int(result.n_obs)},
                {"name": "percent", "value": float(largest["percent"]), "unit": "%"},
            ],
            "output": "cluster_table",
            "row": table_row(table, cluster=largest["cluster"]),
        },
    ]
    return {"adata": result, "cluster_table": table, "cluster_plot": figure, "findings": findings, "warnings": warnings}
