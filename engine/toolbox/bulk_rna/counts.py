"""Bulk RNA counts before any test: is every sample usable, on which scale do they compare, what separates them."""

from __future__ import annotations

from engine.domain.toolspec import Citation, Points, Repair
from engine.toolbox.bulk_rna.common import check_counts, gene_inference, match_samples, name_some
from engine.toolbox.registry import param, tool

DESEQ2 = Citation(
    title="Moderated estimation of fold change and dispersion for RNA-seq data with DESeq2",
    authors="Love MI, Huber W, Anders S",
    year=2014,
    doi="10.1186/s13059-014-0550-8",
)
PYDESEQ2 = Citation(
    title="PyDESeq2: a python package for bulk RNA-seq differential expression analysis",
    authors="Muzellec B, Teleńczuk M, Cabeli V, Andreux M",
    year=2023,
    doi="10.1093/bioinformatics/btad547",
)
SIZE_FACTORS = Citation(
    title="Differential expression analysis for sequence count data",
    authors="Anders S, Huber W",
    year=2010,
    doi="10.1186/gb-2010-11-10-r106",
)
EDGER = Citation(
    title="edgeR: a Bioconductor package for differential expression analysis of digital gene expression data",
    authors="Robinson MD, McCarthy DJ, Smyth GK",
    year=2010,
    doi="10.1093/bioinformatics/btp616",
)


@tool(
    name="count_qc",
    title="Quality of a count matrix",
    description=(
        "Describe each sample of a raw RNA-seq count matrix: library size (total reads), detected features, share of "
        "zeros and the share taken by the most abundant feature. A sample is called shallow when its log10 library "
        "size lies more than `outlier_mads` scaled median absolute deviations below the median of all samples."
    ),
    domain="transcriptomics",
    task_type="preprocessing",
    methods=("median and spread of the library sizes; no test",),
    inputs={"counts": "count_matrix: raw read counts, genes x samples", "samples": "sample_sheet: one row a sample"},
    optional_inputs=("samples",),
    outputs={"qc_table": "table: one row a sample", "library_plot": "figure: library sizes and detected features"},
    params={
        "outlier_mads": param(
            "How far below the median a library is called shallow", unit="MADs", minimum=1, maximum=20
        )
    },
    produces_for=("normalize_counts", "differential_expression"),
    checks=("tables_not_empty", "findings_match_tables"),
    keywords=(
        "quality control",
        "QC",
        "library size",
        "sequencing depth",
        "total reads",
        "detected genes",
        "read depth",
        "low quality sample",
        "outlier sample",
        "coverage",
        "RNA-seq",
        "zeros",
    ),
    packages=("numpy", "pandas", "matplotlib"),
    seconds=2,
    example="Are all samples of this RNA-seq experiment sequenced deeply enough?",
    answers=["count_qc"],
)
def count_qc(counts, samples, *, outlier_mads: float = 3.0):
    """Describe each sample of a raw count matrix."""
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    counts, warnings = check_counts(counts)
    if samples is not None:
        warnings += match_samples(counts.columns, samples)[1]
    values = counts.to_numpy()
    size = values.sum(axis=0)
    depth = np.log10(np.maximum(size, 1))
    middle = np.median(depth)
    spread = 1.4826 * np.median(np.abs(depth - middle))
    low = (depth < middle - outlier_mads * spread) & (spread > 0) | (size == 0)
    table = pd.DataFrame(
        {
            "sample": counts.columns,
            "library_size": size,
            "detected_features": (values > 0).sum(axis=0),
            "zero_fraction": (values == 0).mean(axis=0),
            "top_feature_share": values.max(axis=0) / np.maximum(size, 1),
            "low_depth": low,
        }
    )
    findings = [
        {
            "text": f"{len(table)} samples and {len(counts):,} features; library sizes run from {size.min():,} to "
            f"{size.max():,} reads (median {np.median(size):,.0f}): lowest {counts.columns[size.argmin()]}, "
            f"{100 * size.min() / max(np.median(size), 1):.0f} % of the median, "
            f"highest {counts.columns[size.argmax()]}; "
            f"{int(low.sum())} of them called shallow; "
            f"{int((values.sum(axis=1) > 0).sum()):,} features have a read in at least one sample.",
            "values": [
                {"name": "n_samples", "value": len(table), "unit": "samples"},
                {"name": "n_features", "value": len(counts), "unit": "features"},
                {"name": "smallest_library", "value": int(size.min()), "unit": "reads"},
                {"name": "largest_library", "value": int(size.max()), "unit": "reads"},
                {"name": "n_low_depth", "value": int(low.sum()), "unit": "samples"},
            ],
            "output": "qc_table",
        }
    ]
    for row in table[table["low_depth"]].head(5).itertuples():
        findings.append(
            {
                "text": f"Sample {row.sample} is shallow: {row.library_size:,} reads against a median of "
                f"{np.median(size):,.0f}.",
                "values": [{"name": "library_size", "value": int(row.library_size), "unit": "reads"}],
                "output": "qc_table",
                "row": {"sample": row.sample},
            }
        )
    if (size == 0).any():
        warnings.append(f"Samples without a single read: {name_some(table.loc[size == 0, 'sample'])}; leave them out.")
    elif size.max() / size.min() > 5:
        warnings.append(
            f"The largest library is {size.max() / size.min():.1f} times the smallest: weakly expressed genes are "
            "measured less well in the small ones."
        )
    crowded = table[table["top_feature_share"] > 0.25]
    if len(crowded):
        warnings.append(
            f"One feature takes more than a quarter of the reads in {name_some(crowded['sample'])} (rRNA, haemoglobin "
            "or adapter reads do this)."
        )
    if len(table) < 5:
        warnings.append(f"With {len(table)} samples a shallow library cannot be told reliably from the others.")

    figure = Figure(figsize=(max(6, 0.35 * len(table) + 3), 6), layout="constrained")
    for axis, (column, label) in zip(
        figure.subplots(2, 1, sharex=True),
        (("library_size", "Library size (million reads)"), ("detected_features", "Detected features (thousand)")),
        strict=True,
    ):
        scale = 1e6 if column == "library_size" else 1e3
        colours = np.where(low, "#D55E00", "#0072B2")
        axis.bar(np.arange(len(table)), table[column] / scale, color=colours)
        axis.axhline(table[column].median() / scale, color="0.4", linestyle="--", linewidth=1)
        axis.set_ylabel(label)
    axis.set_xticks(np.arange(len(table)), table["sample"], rotation=90, fontsize=8 if len(table) < 50 else 4)
    axis.set_xlabel("Sample (orange: shallow; dashed: median)")
    return {"qc_table": table, "library_plot": figure, "findings": findings, "warnings": warnings}


@tool(
    name="normalize_counts",
    title="Normalise counts for comparison and plotting",
    description=(
        "Put raw RNA-seq counts on a log2 scale on which samples compare, for principal components, heat maps and "
        "plots (never as input of a count-based test). `vst` is DESeq2's variance stabilising transformation, blind "
        "to the design, as PyDESeq2 computes it; `size_factors` is log2(count / size factor + 1) with median-of-ratios "
        "size factors; `log_cpm` is edgeR's log2 counts per million with a prior count of 2. Genes with fewer than "
        "`min_count` reads over all samples are left out."
    ),
    domain="transcriptomics",
    task_type="preprocessing",
    methods=(
        "method=vst => variance stabilising transformation of DESeq2; no test",
        "method=log_cpm => log2 counts per million, as edgeR computes them; no test",
        "log2 of counts over median-of-ratios size factors; no test",
    ),
    inputs={"counts": "count_matrix: raw read counts, genes x samples", "samples": "sample_sheet: one row a sample"},
    optional_inputs=("samples",),
    outputs={
        "expression": "expression_matrix: log2 values, genes x samples",
        "size_factors": "table: by what each sample was scaled",
    },
    params={
        "method": param(
            "Transformation",
            choices=("vst", "log_cpm", "size_factors"),
            words=[
                "vst: vst\\b|variance.?stabili",
                "log_cpm: (?:log.?)?cpm\\b|counts per million",
                "size_factors: size.?factors?",
            ],
        ),
        "min_count": param("Leave out genes with fewer reads over all samples", unit="reads", minimum=0, maximum=1e6),
    },
    produces_for=("sample_pca", "expression_heatmap", "gene_expression"),
    checks=("tables_not_empty", "findings_match_tables"),
    keywords=(
        "normalization",
        "normalise",
        "VST",
        "variance stabilizing transformation",
        "log transform",
        "CPM",
        "counts per million",
        "size factors",
        "scaling",
        "expression values",
        "library size correction",
    ),
    citations=(DESEQ2, PYDESEQ2, SIZE_FACTORS, EDGER),
    repairs=[
        Repair(
            pattern=r"dispersion|trend|all genes have|converg|nan",
            change={"method": "log_cpm"},
            why="the variance-stabilising fit failed, so log2 counts per million were used",
        ),
    ],
    packages=("pydeseq2", "numpy", "pandas"),
    seconds=15,
    example="Normalise the counts so that I can compare and plot samples.",
    answers=["normalize_counts"],
)
def normalize_counts(counts, samples, *, method: str = "vst", min_count: int = 10):
    """Put raw counts on a log2 scale on which samples compare."""
    import warnings as python_warnings

    import numpy as np
    import pandas as pd
    from pydeseq2.dds import DeseqDataSet

    counts, warnings = check_counts(counts)
    if samples is not None:
        sheet, notes = match_samples(counts.columns, samples)
        warnings += notes
        counts = counts[sheet.index]
    size = counts.sum(axis=0)
    if (size == 0).any():
        raise ValueError(
            f"Samples without a single read: {name_some(size.index[size == 0])}; "
            "they cannot be scaled: take them out of the count matrix."
        )
    total = len(counts)
    counts = counts[counts.sum(axis=1) >= max(min_count, 1)]
    if len(counts) < 2:
        raise ValueError(
            f"{len(counts)} of {total} features have at least {min_count} reads over all samples: "
            "expected at least 2; lower min_count."
        )
    if method == "log_cpm":
        scale = size / size.mean()
        prior = 2 * scale
        values = np.log2((counts + prior) / (size + 2 * prior) * 1e6)
    else:
        fewest = counts.shape[1] < 2
        if fewest:
            raise ValueError("The matrix has 1 sample: size factors compare samples, so at least 2 are needed.")
        zero_everywhere = not (counts > 0).all(axis=1).any()
        if zero_everywhere:
            warnings.append("Every gene has a zero in some sample: size factors come from positive counts (poscounts).")
        sheet = pd.DataFrame({"all": "a"}, index=counts.columns)
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore")
            data = DeseqDataSet(
                counts=counts.T,
                metadata=sheet,
                design="~1",
                size_factors_fit_type="poscounts" if zero_everywhere else "ratio",
                inference=gene_inference(),
                quiet=True,
            )
            data.fit_size_factors(fit_type=data.size_factors_fit_type)
            scale = pd.Series(np.asarray(data.obs["size_factors"]), index=counts.columns)
            if method == "vst":
                data.vst_fit_type = "parametric"
                data.vst_fit(use_design=False)
                if "vst_trend_coeffs" not in data.uns:
                    data.vst_fit_type = "mean"
                    warnings.append(
                        "The dispersion trend did not converge; the transformation uses the mean dispersion instead."
                    )
                values = pd.DataFrame(data.vst_transform().T, index=counts.index, columns=counts.columns)
            else:
                values = np.log2(counts / scale + 1)
    values.index.name = "feature"
    factors = pd.DataFrame(
        {"sample": counts.columns, "library_size": size.to_numpy(), "size_factor": scale.to_numpy(dtype=float)}
    )
    wording = {
        "vst": "variance stabilised (VST)",
        "log_cpm": "log2 counts per million",
        "size_factors": "log2 size-factor normalised",
    }
    findings = [
        {
            "text": f"{len(values):,} of {total:,} features (at least {min_count} reads over {len(factors)} samples) "
            f"were put on a {wording[method]} scale; samples were scaled by factors from {scale.min():.3f} to "
            f"{scale.max():.3f}.",
            "values": [
                {"name": "n_features", "value": len(values), "unit": "features"},
                {"name": "n_samples", "value": len(factors), "unit": "samples"},
                {"name": "smallest_size_factor", "value": float(scale.min())},
                {"name": "largest_size_factor", "value": float(scale.max())},
            ],
            "output": "size_factors",
        }
    ]
    if not np.isfinite(values.to_numpy()).all():
        raise ValueError("The transformation gave values that are not finite; use method='log_cpm' for these counts.")
    return {"expression": values, "size_factors": factors, "findings": findings, "warnings": warnings}


def tangled_columns(sheet, shares, shown):
    """Return findings on how far what was done is mixed with how it was measured; at most three.

    Of pairs of columns of which one is technical by its name (batch, plate, run), or which are both shown. Cramer's V
    of their table is 0 where the levels of one are spread evenly over those of the other, and 1 where one follows from
    the other, so that their effects cannot be told apart.

    Args:
        sheet: one row a sample.
        shares: columns in groups, with their number of levels and the shares of PC1 and PC2 that they account for.
        shown: the columns that the picture shows.
    """
    import itertools
    import re

    import numpy as np
    import pandas as pd

    technical = re.compile(r"batch|plate|lane|(^|[^a-z])(run|site|centre|center|day|plex|chip|slide)([^a-z]|$)", re.I)
    order = sorted(shares, key=lambda share: (technical.search(str(share[0])) is None, share[0] not in shown))
    found = []
    for (first, _, ours), (second, _, theirs) in itertools.combinations(order, 2):
        known = sheet[first].notna() & sheet[second].notna()
        table = pd.crosstab(sheet.loc[known, first].astype(str), sheet.loc[known, second].astype(str))
        named = technical.search(str(first)) is not None
        if min(table.shape) < 2 or not (named or (first in shown and second in shown)):
            continue
        counts = table.to_numpy(dtype=float)
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
        v = float(np.sqrt(((counts - expected) ** 2 / expected).sum() / counts.sum() / (min(table.shape) - 1)))
        cells = "; ".join(
            f"{level}: {', '.join(f'{int(n)} {name}' for name, n in row.items() if n)}"
            for level, row in table.head(6).iterrows()
        )
        verdict = (
            "one follows from the other, so their effects cannot be told apart" if v > 1 - 1e-9
            else "they are spread evenly" if v < 0.1
            else "they are partly mixed, so hold one constant when testing the other"
        )  # fmt: skip
        text = (
            f"{first} accounts for {100 * ours[0]:.0f} % of the variation along PC1 and {100 * ours[1]:.0f} % along "
            f"PC2, {second} for {100 * theirs[0]:.0f} % and {100 * theirs[1]:.0f} %; {verdict} (Cramer's V {v:.2f}; "
            f"samples of {first} by {second}: {cells})."
        )
        values = [
            {"name": f"eta_squared_pc1_{first}", "value": ours[0], "n": len(sheet)},
            {"name": f"eta_squared_pc2_{first}", "value": ours[1], "n": len(sheet)},
            {"name": f"cramers_v_{first}_{second}", "value": v},
        ]
        found.append({"text": text, "values": values, "output": "pca_table"})
    return found[:3]


@tool(
    name="sample_pca",
    title="Principal components of the samples",
    description=(
        "Show how samples resemble each other: principal component analysis of a log-scale expression matrix over its "
        "`n_top` most variable genes (centred, not scaled). Reports the variance each component explains, how much of "
        "PC1 and PC2 each column of the sample sheet accounts for (eta squared: between-group share of the sum of "
        "squares), which columns are mixed with each other (batch and treatment), and samples lying far from all "
        "others."
    ),
    domain="transcriptomics",
    task_type="analysis",
    methods=("principal components of the most variable genes; no test",),
    inputs={
        "expression": "expression_matrix: log2 values, genes x samples",
        "samples": "sample_sheet: one row a sample",
    },
    outputs={"pca_table": "table: scores of each sample with its sheet columns", "pca_plot": "figure: PC1 against PC2"},
    points={"pca_plot": Points(table="pca_table", x="PC1", y="PC2", colour="=color_by")},
    params={
        "color_by": param("Column that colours the points", kind="column", of="samples", role="group"),
        "shape_by": param("Column that shapes the points", kind="column", of="samples", role="batch"),
        "n_top": param("How many of the most variable genes to use", unit="genes", minimum=10, maximum=100000),
    },
    requires_tool=("normalize_counts",),
    checks=("tables_not_empty", "findings_match_tables"),
    keywords=(
        "PCA",
        "principal component analysis",
        "clustering of samples",
        "batch effect",
        "sample similarity",
        "outlier",
        "dimension reduction",
        "explained variance",
        "replicates",
        "exploratory",
    ),
    citations=(DESEQ2,),
    packages=("numpy", "pandas", "matplotlib"),
    seconds=2,
    example="Do the samples separate by treatment or by donor?",
    answers=["sample_pca"],
)
def sample_pca(expression, samples, *, color_by: str = "", shape_by: str = "", n_top: int = 500):
    """Show how samples resemble each other."""
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    expression = expression.copy()
    expression.columns = expression.columns.astype(str)
    sheet, warnings = match_samples(expression.columns, samples)
    for column in (color_by, shape_by):
        if column and column not in sheet:
            raise ValueError(f"The sample sheet has no column {column!r}; it has: {name_some(sheet.columns, 12)}.")
    values = expression[sheet.index].astype(float)
    # A blank, of which little was measured, would leave out all that is missing in it for every sample.
    empty = values.columns[values.isna().mean() > 0.5]
    if len(empty):
        warnings.append(f"Samples without a value for most features are left out: {name_some(empty, 6)}.")
        values, sheet = values.drop(columns=empty), sheet.drop(index=empty)
    if len(sheet) < 3:
        raise ValueError(f"{len(sheet)} samples are left: principal components need at least 3.")
    if values.isna().any().any():
        warnings.append(f"{int(values.isna().any(axis=1).sum())} genes with missing values are left out.")
        values = values.dropna()
    variance = values.var(axis=1)
    values = values[variance > 0]
    if len(values) < 2:
        raise ValueError(
            f"{len(values)} of {len(expression)} genes have a value in every sample and vary between them: at least 2 "
            "are needed."
        )
    numbers = values.to_numpy()
    if np.allclose(numbers, np.round(numbers)) and numbers.max() > 100:
        warnings.append("The values look like raw counts: normalise them first, or a few abundant genes decide all.")
    chosen = variance[values.index].sort_values(ascending=False, kind="stable").index[:n_top]
    centred = values.loc[chosen].to_numpy().T
    centred = centred - centred.mean(axis=0)
    u, singular, v = np.linalg.svd(centred, full_matrices=False)
    kept = min(len(sheet) - 1, len(chosen), 10)
    share = singular**2 / (singular**2).sum()
    # The sign of a component is arbitrary: fix it so that the same data always give the same picture.
    signs = np.sign(v[np.arange(len(v)), np.abs(v).round(9).argmax(axis=1)])
    scores = (u * singular * signs)[:, :kept]
    names = [f"PC{k + 1}" for k in range(kept)]
    table = pd.DataFrame(scores, columns=names)
    table.insert(0, "sample", list(sheet.index))
    for column in sheet.columns:
        table[column if column not in table else f"{column}_of_sheet"] = sheet[column].to_numpy()

    percent = [100 * float(part) for part in share]
    findings = [
        {
            "text": f"PC1 explains {percent[0]:.1f} % and PC2 {percent[1]:.1f} % of the variance of the {len(chosen)} "
            f"most variable genes over {len(sheet)} samples.",
            "values": [
                {"name": "variance_explained_pc1", "value": percent[0], "unit": "%"},
                {"name": "variance_explained_pc2", "value": percent[1], "unit": "%"},
                {"name": "n_genes", "value": len(chosen), "unit": "genes"},
                {"name": "n_samples", "value": len(sheet), "unit": "samples"},
            ],
            "output": "pca_table",
        }
    ]
    shares = []
    for column in sheet.columns:
        groups = sheet[column].astype(str).to_numpy()
        levels = np.unique(groups[sheet[column].notna().to_numpy()])
        if not 2 <= len(levels) <= len(sheet) / 2:
            continue
        known = sheet[column].notna().to_numpy()
        eta = []
        for score in scores[known, :2].T:
            around = score - score.mean()
            between = sum(
                around[groups[known] == level].sum() ** 2 / (groups[known] == level).sum() for level in levels
            )
            eta.append(float(between / (around**2).sum()))
        shares.append((column, len(levels), eta))
    for column, n_levels, eta in sorted(shares, key=lambda entry: -max(entry[2]))[:4]:
        findings.append(
            {
                "text": f"{column} ({n_levels} levels) accounts for {100 * eta[0]:.0f} % of the variation along PC1 "
                f"and {100 * eta[1]:.0f} % along PC2.",
                "values": [
                    {"name": f"eta_squared_pc1_{column}", "value": eta[0], "n": len(sheet)},
                    {"name": f"eta_squared_pc2_{column}", "value": eta[1], "n": len(sheet)},
                ],
                "output": "pca_table",
            }
        )
    if shares:
        warnings.append(
            "Eta squared grows with the number of levels and says nothing of significance: with few samples a column "
            "with many levels explains much by chance."
        )
    findings += tangled_columns(sheet, shares, (color_by, shape_by))
    asked = [entry for entry in shares if entry[0] in (color_by, shape_by)]
    far = np.sqrt((scores[:, :2] ** 2).sum(axis=1))
    limit = np.median(far) + 5 * 1.4826 * np.median(np.abs(far - np.median(far)))
    apart = [str(name) for name in table["sample"][far > limit]] if len(sheet) >= 5 else []
    if asked:
        asked.sort(key=lambda entry: -max(entry[2]))
        told = "; ".join(
            f"{column} accounts for {100 * eta[0]:.0f} % of what lies along PC1 and {100 * eta[1]:.0f} % along PC2"
            for column, _, eta in asked
        )
        alone = "no sample lies far from the others"
        if apart:
            alone = f"{name_some(apart, 3)} lie{'s' if len(apart) == 1 else ''} far from all others"
        columns = [column for column, _, _ in asked]
        clear = max(asked[0][2]) >= 0.5  # half of a component: less is what a few levels explain by chance
        lead = " more than by ".join(columns) if clear else " or ".join(columns)
        findings[0]["text"] = (
            f"The samples {'lie apart' if clear else 'do not lie clearly apart'} by {lead}: {told} (PC1 has "
            f"{percent[0]:.1f} % and PC2 {percent[1]:.1f} % of the variance of the {len(chosen)} most variable genes "
            f"over {len(sheet)} samples); {alone}."
        )
        findings[0]["values"] += [
            {"name": f"eta_squared_{axis}_{column}_told", "value": value, "n": len(sheet)}
            for column, _, eta in asked
            for axis, value in zip(("pc1", "pc2"), eta, strict=True)
        ]
    for position in np.flatnonzero(far > limit) if len(sheet) >= 5 else []:
        findings.append(
            {
                "text": f"Sample {table['sample'][position]} lies far from all others "
                f"(PC1 {scores[position, 0]:.1f}, PC2 {scores[position, 1]:.1f}).",
                "values": [
                    {"name": "PC1", "value": float(scores[position, 0])},
                    {"name": "PC2", "value": float(scores[position, 1])},
                ],
                "output": "pca_table",
                "row": {"sample": table["sample"][position]},
            }
        )
    findings = findings[:12]

    colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"]
    markers = ["o", "s", "^", "D", "v", "P", "X", "*", "<", ">"]
    figure = Figure(figsize=(7, 5.5), layout="constrained")
    axis = figure.subplots()
    colour_of = sheet[color_by].astype(str).to_numpy() if color_by else np.array([""] * len(sheet))
    shape_of = sheet[shape_by].astype(str).to_numpy() if shape_by else np.array([""] * len(sheet))
    for i, colour in enumerate(dict.fromkeys(colour_of)):
        for j, shape in enumerate(dict.fromkeys(shape_of)):
            at = (colour_of == colour) & (shape_of == shape)
            if at.any():
                label = ", ".join(part for part in (colour, shape) if part)
                axis.scatter(scores[at, 0], scores[at, 1], s=60, color=colours[i % len(colours)], label=label or None,
                             marker=markers[(j + i // len(colours)) % len(markers)], edgecolor="white")  # fmt: skip
    if len(sheet) <= 30:
        for position, name in enumerate(sheet.index):
            axis.annotate(name, scores[position, :2], xytext=(5, 4), textcoords="offset points", fontsize=7)
    axis.set_xlabel(f"PC1 ({percent[0]:.1f} % of variance)")
    axis.set_ylabel(f"PC2 ({percent[1]:.1f} % of variance)")
    if color_by or shape_by:
        title = " / ".join(part for part in (color_by, shape_by) if part)
        axis.legend(title=title, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return {"pca_table": table, "pca_plot": figure, "findings": findings, "warnings": warnings}
