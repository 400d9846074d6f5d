"""Diversity within samples: how many taxa there are, and how evenly they share a sample."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.microbiome.taxa import (
    are_counts,
    levels_compared,
    samples_and_groups,
    shares_of,
)
from engine.toolbox.microbiome.units import compared, counted_units
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    in_a_row,
    label_groups,
    new_axes,
    palette,
    which_differ,
)
from engine.toolbox.tables.wording import high_to_low

RANK_WORDS = (
    "phylum: phyl(?:um|a)\\b",
    "class: (?:at )?(?:the )?(?:taxonomic )?class (?:level|rank)|classes of (?:bacteria|fungi)",
    "order: (?:at )?(?:the )?order (?:level|rank)|orders of (?:bacteria|fungi)",
    "family: famil(?:y|ies)\\b",
    "genus: gen(?:us|era)\\b",
    "species: species level|at (?:the )?level of species",
)
RANKS = ("as_given", "kingdom", "phylum", "class", "order", "family", "genus", "species")


@check("diversity_within_bounds")
def diversity_within_bounds(step: StepOutputs) -> Iterator[Issue]:
    """No index is below 0, Simpson's lies below 1, and Shannon's is at most the logarithm of the taxa found."""
    import numpy as np

    table = step.table("diversity")
    if (table[["shannon", "simpson", "richness"]] < -1e-9).any(axis=None) or (table["simpson"] >= 1).any():
        message = "An index of diversity lies outside its bounds."
        yield Issue(code="index_out_of_bounds", severity="error", message=message, where="diversity")
    if (table["shannon"] > np.log(table["richness"]) + 1e-9).any():
        message = "A Shannon index is larger than the logarithm of the number of taxa found."
        yield Issue(code="index_out_of_bounds", severity="error", message=message, where="diversity")


def diversity_of(frame):
    """Return the indices of diversity of every sample: Shannon (natural log), Simpson, richness, evenness and Chao1.

    Chao1 is the bias-corrected form, S + F1 (F1 - 1) / (2 (F2 + 1)) of F1 taxa met once and F2 met twice; it is left
    out where the values are no counts.
    """
    import numpy as np
    import pandas as pd

    shares = shares_of(frame).to_numpy()
    with np.errstate(all="ignore"):
        shannon = -np.where(shares > 0, shares * np.log(np.where(shares > 0, shares, 1.0)), 0.0).sum(axis=0)
    square = (shares**2).sum(axis=0)
    richness = (frame.to_numpy() > 0).sum(axis=0)
    with np.errstate(all="ignore"):
        evenness = np.where(richness > 1, shannon / np.log(richness), np.nan)
    table = pd.DataFrame(
        {"sample": list(frame.columns), "total": frame.sum(axis=0).to_numpy(), "shannon": np.maximum(shannon, 0.0),
         "simpson": 1 - square, "inverse_simpson": 1 / square, "richness": richness, "evenness": evenness}
    )  # fmt: skip
    if are_counts(frame):
        once, twice = ((frame.to_numpy() == n).sum(axis=0) for n in (1, 2))
        table["chao1"] = richness + once * (once - 1) / (2 * (twice + 1))
    return table


def called_index(index):
    """Return what an index is called in sentences."""
    return {
        "shannon": "Shannon diversity", "simpson": "Simpson diversity (1 - D)",
        "inverse_simpson": "inverse Simpson diversity",
        "richness": "observed richness", "chao1": "Chao1 richness", "evenness": "evenness (Pielou)",
    }[index]  # fmt: skip


def decimals_of(value):
    """Return how many decimals three digits of a number take: 2 for 2.96, 1 for 55.3."""
    return len(format_number(float(value)).partition(".")[2])


def told_difference(row, name, group, result, unit):
    """Return the sentence on one index of two groups, with its direction in words."""
    first, second = (called_level(row[key], group) for key in ("group_1", "group_2"))
    places = max(decimals_of(row["mean_1"]), decimals_of(row["mean_2"]))
    gap, low, high = (f"{row[key]:.{places}f}" for key in ("difference", "lower_95", "upper_95"))
    size = (
        f"difference {gap}, 95 % CI {low} to {high}, {format_p(row['p_value'])}; {counted_units(result, unit)}; "
        f"{result['test']}"
    )
    means = f"{format_number(row['mean_1'])} with {first} against {format_number(row['mean_2'])} with {second}"
    begin = f"{name[0].upper()}{name[1:]}"
    if row["p_value"] < 0.05:
        word = "higher" if row["difference"] > 0 else "lower"
        return f"{begin} is {word} with {first} than with {second}: {means} ({size})."
    return f"{begin} is not shown to differ by {group}: {means} ({size})."


def told_groups(pairs, p, means, name, group, result, unit):
    """Return the sentence on one index of several groups."""
    differ = "differs" if p < 0.05 else "is not shown to differ"
    which = f"; {which_differ(pairs, group)}" if p < 0.05 else ""
    return (
        f"{name[0].upper()}{name[1:]} {differ} by {group}: {high_to_low(means, group)} "
        f"({result['test']}, {format_p(p)}; {counted_units(result, unit)}){which}."
    )


def diversity_figure(table, index, name, group, unit, levels):
    """Draw the index of every sample by group, with the means of the units where samples share them."""
    import numpy as np

    if not group:
        figure, axis = new_axes(width=max(4.5, min(14, 0.28 * len(table) + 2)))
        shown = table.sort_values(index, ascending=False)
        axis.bar(range(len(shown)), shown[index], color=palette(1)[0], width=0.75)
        axis.set_xticks(range(len(shown)), shown["sample"].astype(str), rotation=90, fontsize=7)
        axis.set_ylabel(name)
        return figure
    figure, axis = new_axes(width=max(4.2, min(12, 1.3 * len(levels) + 2.2)))
    rng = np.random.default_rng(0)
    for place, (level, colour) in enumerate(zip(levels, palette(len(levels)), strict=True)):
        rows = table[table[group] == level]
        axis.boxplot([rows[index]], positions=[place], widths=0.6, showfliers=False, medianprops={"color": "black"})
        spread = place + rng.uniform(-0.16, 0.16, len(rows))
        axis.scatter(spread, rows[index], s=18, color=colour, edgecolor="white", linewidth=0.4, zorder=3)
        if unit:
            means = rows.groupby(unit)[index].mean()
            axis.scatter(np.full(len(means), place + 0.38), means, s=34, marker="D", facecolor="none", edgecolor=colour,
                         zorder=3, label=f"mean of each {unit}" if place == 0 else None)  # fmt: skip
    if unit:
        axis.legend(frameon=False, fontsize=8)
    label_groups(
        axis, [f"{level}\nn = {int((table[group] == level).sum())}" for level in levels], list(range(len(levels)))
    )
    axis.set_xlabel(group)
    axis.set_ylabel(name)
    return figure


@tool(
    name="alpha_diversity",
    title="Diversity within samples",
    description=(
        "Computes how diverse each sample of a table of taxa is: Shannon (natural logarithm), Simpson (1 - D) and its "
        "inverse, observed richness, Pielou's evenness and, of counts, Chao1; compares the groups of a sample sheet by "
        "Welch's test, or where several samples share a cage, litter, site or subject by a mixed model with a random "
        "intercept for it. All samples are used as they are, without rarefaction."
    ),
    domain="microbiome",
    task_type="analysis",
    methods=(
        "not group => {index} of every sample; no test",
        "unit and group:2 => mixed model with a random intercept for {unit} (paired t test where each has one sample "
        "in "
        "both groups), because samples of one {unit} are alike",
        "unit => mixed model with a random intercept for {unit}, because samples of one {unit} are alike",
        "group:2 => Welch's t test of the indices, because two groups of independent samples are compared",
        "Welch's analysis of variance of the indices with Holm's pairs, because groups of independent samples are "
        "compared",
    ),
    complete=("group", "unit"),
    inputs={
        "taxa": "abundance_table: counts or shares, taxa x samples",
        "samples": "sample_sheet: one row a sample",
    },
    optional_inputs=("samples",),
    outputs={
        "diversity": "table: the indices of every sample",
        "groups": "table: mean and spread of every index in each group",
        "comparison": "table: differences between groups with their intervals",
        "diversity_plot": "figure: the index that is asked for, by group",
    },
    optional_outputs=("groups", "comparison"),
    params={
        "group": param("Column with the groups to compare", kind="column", of="samples", role="group"),
        "treated": param("Level of interest; empty for all levels", kind="level", of="group", role="interest"),
        "control": param("Level it is compared with", kind="level", of="group", role="reference"),
        "unit": param(
            "Column that says which samples belong together (cage, litter, site, subject)",
            kind="column",
            of="samples",
            role="cluster",
        ),
        "index": param(
            "The index that leads",
            choices=("shannon", "simpson", "inverse_simpson", "richness", "chao1", "evenness"),
            words=[
                "inverse_simpson: inv(?:erse|\\.)?[ _-]?simpson|simpson reciprocal|1/D\\b",
                "shannon: shann?on|H['’]|H prime",
                "chao1: chao",
                "simpson: simpson|gini",
                "evenness: even(?:ness|ly)?\\b|pielou|equitab",
                "richness: rich\\w*|poor\\w*|(?:how many|number of|fewer|more|less|count of)(?: different)? "
                "(?:kinds|sorts|"
                "species|genera|taxa|otus|asvs|families|bugs|bacteria|microbes)|observed "
                "(?:otus|asvs|taxa|species|features)",
            ],
        ),
        "rank": param(
            "Rank at which taxa are summed first; rows as they stand by default", choices=RANKS, words=RANK_WORDS
        ),
    },
    answers=["alpha_diversity"],
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "diversity_within_bounds"),
    keywords=[
        "alpha diversity",
        "Shannon index",
        "Simpson index",
        "Chao1",
        "species richness",
        "Pielou",
        "diversity within samples",
    ],
    citations=[
        Citation(
            title="A mathematical theory of communication",
            authors="Shannon CE",
            year=1948,
            doi="10.1002/j.1538-7305.1948.tb01338.x",
        ),
        Citation(title="Measurement of diversity", authors="Simpson EH", year=1949, doi="10.1038/163688a0"),
        Citation(
            title="Estimating the number of species: a review",
            authors="Chao A, Chiu CH",
            year=2016,
            doi="10.1002/9780470015902.a0026329",
        ),
    ],
    packages=("numpy", "scipy", "pandas", "matplotlib"),
    shows={
        "comparison": [
            "index",
            "difference",
            "p_value",
            "p_adj",
            "lower_95",
            "upper_95",
            "group_1",
            "mean_1",
            "group_2",
            "mean_2",
        ],
        "groups": ["index", "group", "n", "units", "mean", "sd", "median"],
    },
    seconds=3,
    example="Is the Shannon diversity higher with the fibre diet?",
)
def alpha_diversity(
    taxa, samples, *, group: str = "", treated: str = "", control: str = "", unit: str = "", index: str = "shannon",
    rank: str = "as_given",
):  # fmt: skip
    """Compute the diversity of every sample and compare groups of samples."""
    import pandas as pd

    frame, sheet, _, warnings = samples_and_groups(taxa, samples, group, unit, rank)
    counts = are_counts(frame)
    if index == "chao1" and not counts:
        raise ValueError("Chao1 is estimated from taxa that were met once and twice, and these values are no counts; "
                         "ask for the observed richness or the Shannon index.")  # fmt: skip
    table = diversity_of(frame)
    indices = [
        name for name in ("shannon", "simpson", "inverse_simpson", "richness", "chao1", "evenness") if name in table
    ]
    indices = [index, *(name for name in indices if name != index)]
    if not counts:
        warnings.append("The values are no counts: Chao1 is left out, and richness counts what is above 0.")
    name, findings, outputs = called_index(index), [], {}
    levels = []
    if sheet is not None:
        sheet = sheet.loc[list(frame.columns)]
        for place, column in enumerate(dict.fromkeys(c for c in (group, unit) if c)):
            table.insert(1 + place, column, sheet[column].to_numpy())
    if not group:
        mean, spread = float(table[index].mean()), float(table[index].std(ddof=1)) if len(table) > 1 else float("nan")
        ends = table.sort_values(index)[["sample", index]].to_numpy()
        text = (
            f"{name[0].upper()}{name[1:]} is {format_number(mean)} on average over {len(table)} samples (SD "
            f"{format_number(spread)}), from {format_number(float(ends[0][1]))} in {ends[0][0]} to "
            f"{format_number(float(ends[-1][1]))} in {ends[-1][0]}."
        )
        findings.append(
            {"text": text, "values": finding_values(mean=mean, sd=spread, n=len(table)), "output": "diversity"}
        )
    else:
        levels, notes = levels_compared(table[group], group, treated, control)
        warnings += notes
        if len(levels) < 2:
            raise ValueError(f"All samples have one value of {group!r} ({in_a_row(levels)}): nothing to compare.")
        table = table[table[group].isin(levels)].reset_index(drop=True)
        kept = table.dropna(subset=indices)
        if len(kept) < len(table):
            warnings.append("Evenness is not known of a sample with a single taxon; such samples are left out.")
        result = compared(kept[indices], kept[group], levels, kept[unit] if unit else None, unit)
        warnings += result["notes"]
        rows, pairs = [], result["pairs"]
        for place, key in enumerate(indices):
            for pair in pairs:
                row = {"index": key, "group_1": pair["group_1"], "group_2": pair["group_2"]}
                for side in ("1", "2"):
                    row[f"mean_{side}"] = float(result["means"][pair[f"group_{side}"]][place])
                row |= {
                    k: float(pair[k][place])
                    for k in ("difference", "lower_95", "upper_95", "statistic", "df", "p_value", "p_adj")
                }
                rows.append(row | {"test": result["test"]})
        outputs["comparison"] = pd.DataFrame(rows)
        outputs["groups"] = pd.DataFrame(
            [
                {"index": key, "group": level, "n": len(own), "units": own[unit].nunique() if unit else None,
                 "mean": float(own[key].mean()), "sd": float(own[key].std(ddof=1)), "median": float(own[key].median())}
                for key in indices for level in levels for own in [table[table[group] == level]]
            ]
        )  # fmt: skip
        if not unit:
            outputs["groups"] = outputs["groups"].drop(columns="units")
        for place, key in enumerate(indices):
            own = [row for row in rows if row["index"] == key]
            p = float(result["overall"][place])
            if len(levels) == 2:
                row = own[0]
                text = told_difference(row, called_index(key), group, result, unit)
                values = finding_values(
                    difference=(row["difference"], row["lower_95"], row["upper_95"]), mean_1=row["mean_1"],
                    mean_2=row["mean_2"], p_value=row["p_value"],
                )  # fmt: skip
                at = {"index": key, "group_1": row["group_1"], "group_2": row["group_2"]}
                findings.append({"text": text, "values": values, "output": "comparison", "row": at})
            else:
                means = {level: float(result["means"][level][place]) for level in levels}
                text = told_groups(own, p, means, called_index(key), group, result, unit)
                values = finding_values(p_overall=p, **{f"mean {level}": mean for level, mean in means.items()})
                findings.append({"text": text, "values": values, "output": "comparison"})
    if counts and float(table["total"].max()) > 10 * float(table["total"].min()):
        warnings.append(
            "The samples differ more than tenfold in their reads: richness and Chao1 grow with the reads, Shannon and "
            "Simpson hardly do."
        )
    outputs["diversity"] = table
    outputs["diversity_plot"] = diversity_figure(table, index, name, group, unit, levels)
    return {**outputs, "findings": findings, "warnings": warnings}
