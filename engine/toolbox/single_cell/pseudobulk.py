"""What a condition changes in the expression of cells, with samples as replicates.

Cells of one donor are not independent. A test on cells finds hundreds of false genes; so raw counts are
summed per sample and cell type and those sums are tested, as bulk samples would be.
"""

from __future__ import annotations

from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.bulk_rna.common import changed_by, gene_inference
from engine.toolbox.registry import param, tool
from engine.toolbox.single_cell.values import (
    SINGLE_CELL_CHECKS,
    cell_labels,
    find_counts,
    gene_symbols_of,
    matrix_kind,
    ordered_labels,
    p_text,
)
from engine.toolbox.tables.rows import table_row


def pseudobulk_units(adata, counts, names, *, condition, levels, sample_key, cell_type_key, covariates, labels, types):
    """Sum raw counts per sample, condition and cell type; return (counts units x genes, sheet of the units)."""
    import numpy as np
    import pandas as pd
    from scipy import sparse

    cells = pd.DataFrame({"sample": labels["sample"], "condition": labels["condition"], "cell_type": types})
    for covariate in covariates:
        cells[covariate] = adata.obs[covariate].to_numpy()
    used = (
        cells[["sample", "condition", "cell_type"]].notna().all(axis=1).to_numpy()
        & cells["condition"].isin(levels).to_numpy()
    )
    cells = cells[used]
    keys = cells[["sample", "condition", "cell_type"]].agg("\x1f".join, axis=1)
    codes, units = pd.factorize(keys, sort=True)
    member = sparse.csr_matrix((np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(len(units), len(codes)))
    sums = np.round((member @ sparse.csr_matrix(counts)[np.flatnonzero(used)].astype("float64")).toarray()).astype(int)
    sheet = cells.groupby(keys, sort=True)[["sample", "condition", "cell_type"]].first()
    sheet["n_cells"] = np.bincount(codes, minlength=len(units))
    for covariate in covariates:
        distinct = cells.groupby(keys, sort=True)[covariate].nunique(dropna=False)
        if (distinct > 1).any():
            sample = sheet.loc[distinct.idxmax(), "sample"]
            message = (
                f"The covariate {covariate!r} differs between cells of sample {sample!r}; a covariate of "
                "a pseudobulk test must be one value per sample."
            )
            raise ValueError(message)
        sheet[covariate] = cells.groupby(keys, sort=True)[covariate].first()
        if sheet[covariate].isna().any():
            message = (
                f"The covariate {covariate!r} is missing for sample "
                f"{sheet.loc[sheet[covariate].isna(), 'sample'].iloc[0]!r}; fill it or leave the "
                "covariate out."
            )
            raise ValueError(message)
    sheet.index = [f"unit{number}" for number in range(len(sheet))]
    return pd.DataFrame(sums, index=sheet.index, columns=[str(name) for name in names]), sheet


def pseudobulk_design(sheet, *, paired, covariates):
    """Return (factors for the model, formula, rank-deficient?); donors and text are categories, numbers are scaled."""
    import numpy as np
    import pandas as pd

    factors, terms = pd.DataFrame(index=sheet.index), []
    if paired:
        factors["sample"] = pd.Categorical([f"s{code}" for code in pd.factorize(sheet["sample"], sort=True)[0]])
        terms.append("sample")
    for number, covariate in enumerate(covariates, start=1):
        column = sheet[covariate]
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        coded = (
            numeric
            and column.nunique() <= 5
            and np.allclose(column, np.round(column))
            and column.nunique() <= len(column) / 2
        )
        if numeric and not coded:
            spread = float(column.std()) or 1.0
            factors[f"covariate{number}"] = (column - column.mean()).astype(float) / spread
        else:
            factors[f"covariate{number}"] = pd.Categorical(column.astype(str))
        terms.append(f"covariate{number}")
    factors["condition"] = pd.Categorical(sheet["role"], categories=["control", "treated"])
    design = pd.get_dummies(factors, drop_first=True).astype(float)
    design.insert(0, "intercept", 1.0)
    deficient = np.linalg.matrix_rank(design.to_numpy()) < design.shape[1]
    return factors, "~" + " + ".join([*terms, "condition"]), bool(deficient), len(sheet) - design.shape[1]


def fit_pseudobulk(counts, factors, formula, alpha):
    """Fit PyDESeq2 on one cell type; return its results, treated against control."""
    import contextlib
    import io
    import warnings as python_warnings

    from pydeseq2.dds import DeseqDataSet
    from pydeseq2.ds import DeseqStats

    inference = gene_inference(1)
    quiet = contextlib.redirect_stdout(io.StringIO())
    with python_warnings.catch_warnings(), quiet:
        python_warnings.simplefilter("ignore")
        data = DeseqDataSet(counts=counts, metadata=factors, design=formula, inference=inference, quiet=True)
        data.deseq2()
        stats = DeseqStats(
            data, contrast=["condition", "treated", "control"], alpha=alpha, inference=inference, quiet=True
        )
        stats.summary()
    return stats.results_df


@tool(
    name="sc_pseudobulk_de",
    title="Differential expression between conditions in single cells (pseudobulk)",
    description=(
        "Compare two conditions with samples (donors, mice), not cells, as replicates: raw counts "
        "are summed per sample "
        "and cell type and tested with DESeq2 (PyDESeq2, Wald test, two-sided), log2 fold change treated over control. "
        "When the same sample id occurs in both conditions the test is paired by it. Each cell type is adjusted "
        "separately (Benjamini-Hochberg). Needs raw counts and at least two samples per condition."
    ),
    domain="single-cell",
    task_type="analysis",
    methods=(
        "counts summed by {sample_key}, then the DESeq2 Wald test (paired where a {sample_key} is in both "
        "conditions), because samples and not cells are the replicates",
    ),
    inputs={"adata": "anndata: cells with raw counts, sample and condition columns"},
    outputs={
        "de_table": "de_table: one row per gene and cell type",
        "pseudobulk_table": "table: the summed units and whether each was used",
    },
    params={
        "condition": param("column of the conditions", kind="column", of="adata", role="group"),
        "treated": param("the condition of interest", kind="level", of="condition", role="interest"),
        "control": param("the condition compared with", kind="level", of="condition", role="reference"),
        "sample_key": param(
            "column of the biological samples (donor, mouse)", kind="column", of="adata", role="subject"
        ),
        "cell_type_key": param(
            "column of cell types; empty sums all cells of a sample",
            kind="column",
            of="adata",
            role="label",
            made_by="sc_annotate:cell_type",
        ),
        "covariates": param(
            "columns to adjust for, one value per sample (batch, sex)", kind="columns", of="adata", role="held"
        ),
        "alpha": param(
            "false discovery rate for the counts reported",
            minimum=0.0001,
            maximum=0.5,
            decides="Adjusted p-value below",
        ),
        "min_cells": param("fewest cells a summed unit must have", unit="cells", minimum=1),
    },
    requires_tool=("sc_qc",),
    produces_for=("volcano_plot", "select_genes", "rank_genes"),
    checks=SINGLE_CELL_CHECKS,
    keywords=(
        "pseudobulk",
        "differential expression",
        "condition",
        "treated versus control",
        "stimulated",
        "disease versus healthy",
        "donors",
        "replicates",
        "DESeq2",
        "single cell",
        "per cell type",
        "aggregate counts",
    ),
    citations=(
        Citation(
            title="Confronting false discoveries in single-cell differential expression",
            authors="Squair JW, Gautier M, Kathe C, et al.",
            year=2021,
            doi="10.1038/s41467-021-25960-2",
        ),
        Citation(
            title="PyDESeq2: a python package for bulk RNA-seq differential expression analysis",
            authors="Muzellec B, Telenczuk M, Cabeli V, Andreux M",
            year=2023,
            doi="10.1093/bioinformatics/btad547",
        ),
    ),
    next_steps=[
        NextStep(
            text=(
                "Confirm {rows} by RT-qPCR in samples that were not part of this experiment ({param:treated} against"
                " {param:control})."
            ),
            needs_param="treated",
            after="found",
        ),
        NextStep(
            text="Confirm {rows} by RT-qPCR in samples that were not part of this experiment.",
            unless_param="treated",
            after="found",
        ),
        NextStep(
            text=(
                "If donor, batch or sex was recorded, run {name} again with it among the covariates: it is not "
                "accounted for here."
            ),
            unless_param="covariates",
        ),
    ],
    packages=("pydeseq2", "anndata", "numpy", "scipy"),
    seconds=20,
    example="Which genes change with treatment in each cell type, with donors as replicates?",
    answers=["sc_pseudobulk"],
)
def sc_pseudobulk_de(
    adata,
    *,
    condition: str,
    treated: str,
    control: str,
    sample_key: str,
    cell_type_key: str = "",
    covariates: list[str] = [],  # noqa: B006 - a plain default, never changed
    alpha: float = 0.05,
    min_cells: int = 10,
):
    """Sum counts per sample and cell type and test treated against control with DESeq2."""
    import numpy as np
    import pandas as pd

    counts, names, where = find_counts(adata)
    if counts is None:
        message = (
            f"A pseudobulk test needs raw counts, but X holds {matrix_kind(adata.X)} values and neither "
            "layers['counts'] nor raw has counts; give the file with raw counts."
        )
        raise ValueError(message)
    warnings, labels = [], {}
    for key, column, purpose in (("condition", condition, "conditions"), ("sample", sample_key, "biological samples")):
        labels[key], notes = cell_labels(adata, column, purpose)
        warnings += notes
    types = pd.Series("all cells", index=adata.obs_names, dtype=object)
    if cell_type_key:
        types, notes = cell_labels(adata, cell_type_key, "cell types")
        warnings += notes
    treated, control = str(treated), str(control)
    known = ordered_labels(labels["condition"])
    for level in (treated, control):
        if level not in known:
            message = f"The column {condition!r} has no level {level!r}; its levels are {', '.join(known)}."
            raise ValueError(message)
    if treated == control:
        message = f"Treated and control are both {treated!r}; choose two different levels of {condition!r}."
        raise ValueError(message)
    for covariate in covariates:
        if covariate not in adata.obs:
            message = (
                f"The cells have no column {covariate!r} to adjust for; columns: "
                f"{', '.join(map(str, adata.obs.columns[:30]))}."
            )
            raise ValueError(message)
    covariates = [name for name in covariates if name not in (condition, sample_key)]
    left_out = [name for name in known if name not in (treated, control)]
    if left_out:
        warnings.append(f"Cells of other levels of {condition} were left out: {', '.join(left_out)}.")
    per_level = {
        level: labels["sample"][labels["condition"] == level].dropna().nunique() for level in (treated, control)
    }
    if min(per_level.values()) < 2:
        message = (
            f"{treated!r} has {per_level[treated]} and {control!r} has {per_level[control]} sample(s) "
            f"in {sample_key!r}; at least 2 of "
            "each are needed. Cells of one sample are not replicates: they share its donor, handling "
            "and batch, so more cells "
            "cannot replace more samples. Add samples, or describe the groups with sc_markers "
            "without testing conditions."
        )
        raise ValueError(message)
    sums, sheet = pseudobulk_units(
        adata,
        counts,
        names,
        condition=condition,
        levels=[treated, control],
        sample_key=sample_key,
        cell_type_key=cell_type_key,
        covariates=covariates,
        labels=labels,
        types=types,
    )
    sheet["role"] = np.where(sheet["condition"] == treated, "treated", "control")
    sheet["total_counts"] = sums.sum(axis=1)
    in_both = sheet.groupby("sample")["condition"].nunique().eq(2)
    paired = bool(in_both.sum() >= 2)
    sheet["used"], sheet["reason"] = True, ""
    few = sheet["n_cells"] < min_cells
    sheet.loc[few, ["used", "reason"]] = [False, f"fewer than {min_cells} cells"]
    if few.any():
        warnings.append(f"{int(few.sum())} of {len(sheet)} sums of fewer than {min_cells} cells were left out.")
    if paired:
        warnings.append(
            f"{int(in_both.sum())} samples of {sample_key} occur in both conditions, so the test is "
            f"paired: {sample_key} is part of the model."
        )
        single = sheet["used"] & ~sheet.groupby(["cell_type", "sample"])["used"].transform("sum").eq(2)
        sheet.loc[single, ["used", "reason"]] = [False, "no partner in the other condition"]
        if single.any():
            warnings.append(
                f"{int(single.sum())} sums without a partner in the other condition were left out of the paired test."
            )
    elif in_both.any():
        warnings.append(f"The sample {in_both.idxmax()!r} occurs in both conditions and was treated as two samples.")

    symbols = gene_symbols_of(sums.columns, adata.raw.var if where == "raw" else adata.var)
    mapped = any(a != b for a, b in zip(symbols, sums.columns, strict=True))
    tables, overall, skipped = [], [], []
    for cell_type in ordered_labels(sheet["cell_type"]):
        units = sheet[(sheet["cell_type"] == cell_type) & sheet["used"]]
        sizes = units["role"].value_counts()
        n_treated, n_control = int(sizes.get("treated", 0)), int(sizes.get("control", 0))
        if min(n_treated, n_control) < 2:
            skipped.append(f"{cell_type} ({n_treated} {treated}, {n_control} {control})")
            continue
        factors, formula, deficient, free = pseudobulk_design(units, paired=paired, covariates=covariates)
        if deficient or free < 1:
            adjusted = " and ".join([*([sample_key] if paired else []), *covariates])
            message = (
                f"In {cell_type}, the effect of {condition!r} cannot be told from {adjusted}: they are "
                f"confounded or leave no degrees of freedom ({len(units)} samples). Drop a covariate."
            )
            if not cell_type_key:
                raise ValueError(message)
            skipped.append(f"{cell_type} ({condition} confounded with {adjusted}, or too few samples)")
            continue
        chosen = sums.loc[units.index]
        chosen = chosen.loc[:, chosen.sum(axis=0) >= 10]
        if chosen.shape[1] < 10:
            skipped.append(f"{cell_type} (only {chosen.shape[1]} genes with 10 counts)")
            continue
        fitted = fit_pseudobulk(chosen, factors, formula, alpha)
        table = pd.DataFrame(
            {
                "feature": fitted.index.astype(str),
                "cell_type": cell_type,
                "base_mean": fitted["baseMean"].to_numpy(dtype=float),
                "log2_fold_change": fitted["log2FoldChange"].to_numpy(dtype=float),
                "lfc_se": fitted["lfcSE"].to_numpy(dtype=float),
                "stat": fitted["stat"].to_numpy(dtype=float),
                "p_value": fitted["pvalue"].to_numpy(dtype=float),
                "p_adj": fitted["padj"].to_numpy(dtype=float),
            }
        )
        hit = table[table["p_adj"] < alpha]
        overall.append(
            (
                cell_type,
                n_treated,
                n_control,
                len(table),
                int((hit["log2_fold_change"] > 0).sum()),
                int((hit["log2_fold_change"] < 0).sum()),
            )
        )
        tables.append(table)
    if skipped:
        warnings.append(f"Not tested for lack of samples or genes: {'; '.join(skipped)}.")
    if not tables:
        message = (
            f"No cell type has at least 2 samples of {treated!r} and of {control!r} with {min_cells} "
            f"cells each, free of confounding: {'; '.join(skipped)}. Lower min_cells, drop covariates, or "
            "add samples; cells are not replicates."
        )
        raise ValueError(message)
    result = pd.concat(tables, ignore_index=True)
    if mapped:
        result.insert(1, "symbol", result["feature"].map(dict(zip(sums.columns, symbols, strict=True))))
    result = result.sort_values(["p_adj", "p_value"], kind="stable", na_position="last").reset_index(drop=True)
    smallest = min(min(row[1], row[2]) for row in overall)
    if smallest < 3:
        warnings.append(
            f"Some comparisons rest on {smallest} samples per condition; estimates of variance from so few are unsure."
        )
    if len(overall) > 1:
        warnings.append(f"p_adj holds within each of the {len(overall)} cell types, not across them.")
    blank = int(result["p_value"].isna().sum())
    if blank:
        warnings.append(f"{blank} genes have no p-value (an outlying sample, by Cook's distance, or no counts).")

    total = sum(row[4] + row[5] for row in overall)
    design = f"paired by {sample_key}" if paired else "unpaired"
    findings = [
        {
            "text": (
                f"{total} gene tests in {len(overall)} "
                f"{'cell types' if cell_type_key else 'sum of all cells'} have an adjusted p below "
                f"{alpha:g}, {treated} against {control}, samples as replicates "
                f"({design}{', adjusted for ' + ', '.join(covariates) if covariates else ''})."
            ),
            "values": [
                {"name": "n_significant", "value": total, "unit": "genes"},
                {"name": "n_cell_types", "value": len(overall)},
            ],
            "output": "de_table",
        }
    ]
    for cell_type, n_treated, n_control, tested, up, down in sorted(overall, key=lambda row: -(row[4] + row[5]))[:4]:
        findings.append(
            {
                "text": (
                    f"{cell_type}: {up} genes are higher and {down} lower in {treated} (n={n_treated} "
                    f"samples) than in {control} (n={n_control}), of {tested} genes tested."
                ),
                "values": [
                    {"name": "n_up", "value": up, "unit": "genes", "n": n_treated + n_control},
                    {"name": "n_down", "value": down, "unit": "genes"},
                ],
                "output": "de_table",
            }
        )
    for row in result[result["p_adj"] < alpha].head(5).to_dict("records"):
        label = row["symbol"] if mapped and row["symbol"] == row["symbol"] else row["feature"]
        direction = "higher" if row["log2_fold_change"] > 0 else "lower"
        findings.append(
            {
                "text": (
                    f"{label} is {direction} in {treated} than in {control} in {row['cell_type']}: log2 "
                    f"fold change {row['log2_fold_change']:.2f}, adjusted p {p_text(row['p_adj'])}."
                ),
                "values": [
                    {
                        "name": "log2_fold_change",
                        "value": row["log2_fold_change"],
                        "low": row["log2_fold_change"] - 1.96 * row["lfc_se"],
                        "high": row["log2_fold_change"] + 1.96 * row["lfc_se"],
                    },
                    {"name": "p_adj", "value": row["p_adj"]},
                ],
                "output": "de_table",
                "row": table_row(result, feature=row["feature"], cell_type=row["cell_type"]),
                "asserts": changed_by(treated, row),
            }
        )
    units = (
        sheet.drop(columns="role")
        .rename(columns={"sample": sample_key} if sample_key not in sheet.columns else {})
        .reset_index(drop=True)
    )
    return {"de_table": result, "pseudobulk_table": units, "findings": findings, "warnings": warnings}
