"""How many cells of each type there are, and whether a condition changes it.

The replicate is the sample: a share per sample is one observation, however many cells stand behind it.
"""

from __future__ import annotations

from engine.domain.toolspec import Citation
from engine.toolbox.registry import param, tool
from engine.toolbox.single_cell.values import (
    SINGLE_CELL_CHECKS,
    cell_labels,
    ordered_labels,
    p_text,
)
from engine.toolbox.tables.rows import table_row


def compare_shares(wide, conditions, paired):
    """Test one cell type's share per sample between conditions, on logits; return (name, statistic, p)."""
    import numpy as np
    from scipy import stats

    samples = [wide.loc[wide["condition"] == name, "logit"].to_numpy(dtype=float) for name in conditions]
    if paired:
        both = wide.pivot(index="sample", columns="condition", values="logit").dropna()
        outcome = stats.ttest_rel(both[conditions[0]], both[conditions[1]])
        return "paired t-test of logit shares", float(outcome.statistic), float(outcome.pvalue)
    if all(np.ptp(values) == 0 for values in samples):
        return "not testable (no variation)", float("nan"), float("nan")
    if len(conditions) == 2:
        outcome = stats.ttest_ind(samples[0], samples[1], equal_var=False)
        return "Welch t-test of logit shares", float(outcome.statistic), float(outcome.pvalue)
    outcome = stats.f_oneway(*samples)
    return "ANOVA of logit shares", float(outcome.statistic), float(outcome.pvalue)


@tool(
    name="sc_composition",
    title="Cell-type composition",
    description=(
        "Count cells per type (or cluster), as shares of each sample or condition. With a sample "
        "column and at least two "
        "samples per condition, each type's share is compared between conditions with samples as "
        "replicates (Welch t-test "
        "on logits, two-sided; paired when the same samples occur in both conditions; ANOVA for more than two), "
        "Benjamini-Hochberg adjusted. Shares sum to one: when one type rises others fall."
    ),
    domain="single-cell",
    task_type="analysis",
    methods=(
        "sample_key and condition => Welch's t test on logits of shares (paired where at least two samples "
        "are in both conditions, ANOVA for more than two), Benjamini-Hochberg adjusted, because samples "
        "and not cells are the replicates",
        "shares of cells; no test",
    ),
    inputs={"adata": "anndata: cells with type labels"},
    outputs={
        "composition": "table: cells and share per type and sample",
        "composition_test": "table: share compared between conditions, when samples give replicates",
        "composition_plot": "figure: stacked shares",
    },
    optional_outputs=("composition_test",),
    params={
        "group_by": param(
            "column of cell types or clusters", kind="column", of="adata", role="label", made_by="sc_annotate:cell_type"
        ),
        "condition": param("column of conditions to compare", kind="column", of="adata", role="split"),
        "sample_key": param("column of biological samples (donor, mouse)", kind="column", of="adata", role="pair"),
    },
    checks=SINGLE_CELL_CHECKS,
    keywords=(
        "composition",
        "proportions",
        "cell type abundance",
        "fraction of cells",
        "differential abundance",
        "how many cells",
        "more T cells",
        "single cell",
        "expansion",
        "depletion",
    ),
    citations=(
        Citation(
            title="propeller: testing for differences in cell type proportions in single cell data",
            authors="Phipson B, Sim CB, Porrello ER, Hewitt AW, Powell J, Oshlack A",
            year=2022,
            doi="10.1093/bioinformatics/btac582",
        ),
    ),
    packages=("anndata", "pandas", "scipy", "statsmodels"),
    seconds=3,
    example="Do the proportions of cell types differ between patients and controls?",
    answers=["sc_composition"],
)
def sc_composition(adata, *, group_by: str, condition: str = "", sample_key: str = ""):
    """Count cells per type and compare the shares between conditions, samples as replicates."""
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure
    from statsmodels.stats.multitest import multipletests

    cells, warnings = pd.DataFrame(index=adata.obs_names), []
    for key, column, purpose in (
        ("group", group_by, "cell types"),
        ("condition", condition, "conditions"),
        ("sample", sample_key, "samples"),
    ):
        cells[key] = "all"
        if column:
            cells[key], notes = cell_labels(adata, column, purpose)
            warnings += notes
    cells = cells.dropna()
    if cells.empty:
        message = (
            f"No cell has values in all of {', '.join(name for name in (group_by, condition, sample_key) if name)}."
        )
        raise ValueError(message)
    groups, conditions = ordered_labels(cells["group"]), ordered_labels(cells["condition"])
    counted = (
        cells.groupby(["sample", "condition"])["group"]
        .value_counts()
        .unstack(fill_value=0)
        .reindex(columns=groups, fill_value=0)
    )
    long = counted.stack().rename("n_cells").reset_index().rename(columns={"level_2": "group"})
    long["n_total"] = long.groupby(["sample", "condition"])["n_cells"].transform("sum")
    long["percent"] = 100 * long["n_cells"] / long["n_total"]
    long["logit"] = np.log((long["n_cells"] + 0.5) / (long["n_total"] - long["n_cells"] + 0.5))
    order = [
        "group",
        *(["condition"] if condition else []),
        *(["sample"] if sample_key else []),
        "n_cells",
        "n_total",
        "percent",
    ]
    table = long[order].sort_values(order[:-3], kind="stable").reset_index(drop=True)

    units = long.drop_duplicates(["sample", "condition"])
    per_condition = units["condition"].value_counts()
    replicated = bool(condition and sample_key and len(conditions) > 1)
    lone = [name for name in conditions if per_condition[name] < 2]
    test = None
    if replicated and len(conditions) - len(lone) >= 2:
        if lone:
            warnings.append(f"Conditions with a single sample were not tested: {', '.join(lone)}.")
        tested = [name for name in conditions if name not in lone]
        part = long[long["condition"].isin(tested)]
        pairs = units[units["condition"].isin(tested)].groupby("sample")["condition"].nunique()
        paired = len(tested) == 2 and bool((pairs == 2).sum() >= 2)
        if paired:
            part = part[part["sample"].isin(pairs.index[pairs == 2])]
            warnings.append(
                f"{int((pairs == 2).sum())} samples occur in both conditions, so they were compared in "
                "pairs" + (f"; {int((pairs < 2).sum())} others were left out." if (pairs < 2).any() else ".")
            )
        rows = []
        for name in groups:
            wide = part[part["group"] == name]
            means = wide.groupby("condition")["percent"].mean()
            method, statistic, p_value = compare_shares(wide, tested, paired)
            row = {"group": name, "test": method, "n_samples": len(wide), "comparison": " vs ".join(tested)}
            row |= {f"mean_percent_{level}": float(means[level]) for level in tested}
            if len(tested) == 2:
                row["difference"] = float(means[tested[0]] - means[tested[1]])
            rows.append(row | {"statistic": statistic, "p_value": p_value})
        test = pd.DataFrame(rows)
        valid = test["p_value"].notna()
        test["p_adj"] = np.nan
        if valid.any():
            test.loc[valid, "p_adj"] = multipletests(test.loc[valid, "p_value"], method="fdr_bh")[1]
        test = test.sort_values("p_value", kind="stable", na_position="last").reset_index(drop=True)
        if per_condition[tested].min() < 3:
            warnings.append(
                f"A condition has only {int(per_condition[tested].min())} samples: small differences cannot be seen."
            )
        warnings.append("Shares are compositional: a rise of one type lowers the shares of all others.")
    elif condition:
        per_level = ", ".join(f"{name}: {per_condition[name]}" for name in conditions)
        warnings.append(
            "Conditions were not tested: that needs at least 2 samples in each of 2 conditions "
            f"({per_level}{'' if sample_key else '; no sample column was given'}). "
            "Cells are not replicates, so a test on cells would mislead."
        )

    total = cells["group"].value_counts()
    findings = [
        {
            "text": (
                f"{len(cells)} cells fall into {len(groups)} groups of {group_by}; the largest is "
                f"{total.index[0]} with {total.iloc[0]} cells ({100 * total.iloc[0] / len(cells):.1f} %)."
            ),
            "values": [
                {"name": "n_cells_total", "value": len(cells), "unit": "cells"},
                {"name": "n_groups", "value": len(groups)},
            ],
            "output": "composition",
        }
    ]
    if test is not None:
        significant = test[test["p_adj"] < 0.05]
        findings.append(
            {
                "text": (
                    f"{len(significant)} of {int(test['p_value'].notna().sum())} groups differ in share "
                    f"between {test['comparison'].iloc[0]} at an adjusted p below 0.05 "
                    f"({test['test'].iloc[0]}, "
                    f"{', '.join(f'{int(per_condition[name])} samples {name}' for name in tested)})."
                ),
                "values": [{"name": "n_significant", "value": len(significant), "n": int(per_condition[tested].sum())}],
                "output": "composition_test",
            }
        )
        for row in test[test["p_value"].notna()].head(4).to_dict("records"):
            text = f"{row['group']}: " + ", ".join(f"{row[f'mean_percent_{name}']:.1f} % in {name}" for name in tested)
            if len(tested) == 2:
                text += f" ({'higher' if row['difference'] > 0 else 'lower'} in {tested[0]} than in {tested[1]})"
            findings.append(
                {
                    "text": f"{text}, p {p_text(row['p_value'])}, adjusted {p_text(row['p_adj'])}.",
                    "values": [
                        {"name": key, "value": row[key], "unit": unit}
                        for key, unit in (("difference", "percentage points"), ("p_value", ""), ("p_adj", ""))
                        if key in row
                    ],
                    "output": "composition_test",
                    "row": table_row(test, group=row["group"]),
                }
            )
    shares = long.assign(
        bar=long["condition"].str.cat(long["sample"], sep=" / ")
        if condition and sample_key
        else (long["condition"] if condition else long["sample"])
    )
    shares = shares.pivot(index="bar", columns="group", values="percent")[groups]
    palette = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"]
    figure = Figure(figsize=(2.5 + 0.35 * len(shares) + 2, 4), layout="constrained")
    axes = figure.subplots()
    base = np.zeros(len(shares))
    for number, name in enumerate(groups):
        axes.bar(
            range(len(shares)),
            shares[name],
            bottom=base,
            color=palette[number % 8],
            label=name,
            edgecolor="white",
            linewidth=0.4,
            hatch=["", "//", "..", "xx"][(number // 8) % 4],
        )
        base += shares[name].to_numpy()
    axes.set_xticks(range(len(shares)), shares.index, rotation=90, fontsize=8)
    axes.set_ylabel("share of cells (%)")
    figure.legend(loc="outside right upper", fontsize=7, frameon=False, title=group_by)
    return {
        "composition": table,
        "composition_test": test,
        "composition_plot": figure,
        "findings": findings,
        "warnings": warnings,
    }
