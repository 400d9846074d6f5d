"""Which taxa differ between groups, by logarithms of ratios: shares of one whole cannot all rise."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation
from engine.toolbox.bulk_rna.common import name_some
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.microbiome.community import percent, taxa_named
from engine.toolbox.microbiome.diversity import RANK_WORDS, RANKS
from engine.toolbox.microbiome.taxa import (
    clr_of,
    pseudocount_of,
    samples_compared,
    shares_of,
)
from engine.toolbox.microbiome.units import benjamini_hochberg, compared, counted_units
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import called_level, finding_values, format_p, in_a_row, new_axes, palette


@check("ratios_inside_intervals")
def ratios_inside_intervals(step: StepOutputs) -> Iterator[Issue]:
    """Each log ratio lies inside its interval, and a taxon stands once for each pair of groups."""
    table = step.table("differences")
    known = table.dropna(subset=["log2_ratio", "lower_95", "upper_95"])
    if ((known["log2_ratio"] < known["lower_95"]) | (known["log2_ratio"] > known["upper_95"])).any():
        message = "A log2 ratio does not lie inside its 95 % interval."
        yield Issue(code="interval_without_estimate", severity="error", message=message, where="differences")
    if table.duplicated(["taxon", "group_1", "group_2"]).any():
        message = "A taxon stands twice for one pair of groups."
        yield Issue(code="taxon_repeated", severity="error", message=message, where="differences")


def ratios_figure(table, significant, first, second, noun):
    """Draw the log2 ratios of the taxa that differ, or of the clearest, with their intervals."""
    shown = table[significant] if significant.any() else table
    shown = shown.head(30).sort_values("log2_ratio")
    figure, axis = new_axes(width=6.4, height=max(2.8, 0.26 * len(shown) + 1.3))
    colours = palette(2)
    for place, (at, row) in enumerate(shown.iterrows()):
        colour = colours[0] if row["log2_ratio"] > 0 else colours[1]
        axis.plot([row["lower_95"], row["upper_95"]], [place, place], color=colour, linewidth=1.6)
        axis.scatter([row["log2_ratio"]], [place], s=34, zorder=3, edgecolor=colour,
                     facecolor=colour if significant[at] else "white")  # fmt: skip
    axis.axvline(0, color="0.6", linewidth=0.9)
    axis.set_yticks(range(len(shown)), [str(taxon) for taxon in shown["taxon"]], fontsize=8)
    axis.set_xlabel(f"log2 ratio, {first} to {second} (centred log ratios, 95 % CI)")
    axis.set_ylabel(noun)
    return figure


@tool(
    name="differential_abundance",
    title="Differential abundance of taxa",
    description=(
        "Finds taxa whose abundance relative to the others differs between groups of samples: centred log ratios "
        "(after a "
        "pseudocount that is stated), for each taxon Welch's t test, a paired t test, or a mixed model with a random "
        "intercept where several samples share a cage, litter, site or subject; Benjamini-Hochberg over the taxa that "
        "are found in enough samples. The log2 ratio is of the first group to the second."
    ),
    domain="microbiome",
    task_type="analysis",
    methods=(
        "unit => centred log ratios and for each taxon a mixed model with a random intercept for {unit} (paired t test "
        "where "
        "each has one sample in both groups), Benjamini-Hochberg adjusted, because counts of taxa are shares of a "
        "whole "
        "and samples of one {unit} are alike",
        "group:3 => centred log ratios and Welch's analysis of variance for each taxon, Benjamini-Hochberg adjusted, "
        "because "
        "counts of taxa are shares of a whole",
        "centred log ratios and Welch's t test for each taxon, Benjamini-Hochberg adjusted, because counts of taxa are "
        "shares of a whole",
    ),
    complete=("group", "unit"),
    inputs={
        "taxa": "abundance_table: counts or shares, taxa x samples",
        "samples": "sample_sheet: one row a sample",
    },
    outputs={
        "differences": "table: one row a tested taxon, best first: mean shares, log2 ratio with its interval, p-values",
        "ratios_plot": "figure: log2 ratios of the taxa that differ",
    },
    params={
        "group": param("Column with the groups to compare", kind="column", of="samples", role="group", required=True),
        "treated": param("Level of interest; empty for all levels", kind="level", of="group", role="interest"),
        "control": param("Level it is compared with", kind="level", of="group", role="reference"),
        "unit": param(
            "Column that says which samples belong together (cage, litter, site, subject)",
            kind="column",
            of="samples",
            role="cluster",
        ),
        "alpha": param(
            "False discovery rate at which a taxon counts as different",
            minimum=1e-10,
            maximum=0.5,
            decides="Adjusted p-value below",
        ),
        "min_prevalence": param(
            "Share of the samples in which a taxon must be found to be tested",
            unit="share",
            minimum=0,
            maximum=1,
            words=["prevalence", "of (?:the )?samples"],
        ),
        "pseudocount": param(
            "Added to every value before logarithms; 0: half a read, or half the smallest share", minimum=0
        ),
        "of_interest": param("Taxa to tell of whatever their rank", kind="texts", role="genes"),
        "direction": param("Which changes the first sentence tells of", choices=("both", "up", "down")),
        "rank": param(
            "Rank at which taxa are summed first; rows as they stand by default", choices=RANKS, words=RANK_WORDS
        ),
    },
    answers=["differential_abundance"],
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "ratios_inside_intervals"),
    keywords=[
        "differential abundance",
        "centred log ratio",
        "CLR",
        "compositional data",
        "which taxa differ",
        "ALDEx2",
        "ANCOM",
    ],
    citations=[
        Citation(
            title="Microbiome datasets are compositional: and this is not optional",
            authors="Gloor GB, Macklaim JM, Pawlowsky-Glahn V, Egozcue JJ",
            year=2017,
            doi="10.3389/fmicb.2017.02224",
        ),
        Citation(
            title="Controlling the false discovery rate: a practical and powerful approach to multiple testing",
            authors="Benjamini Y, Hochberg Y",
            year=1995,
            doi="10.1111/j.2517-6161.1995.tb02031.x",
        ),
    ],
    packages=("numpy", "scipy", "pandas", "matplotlib"),
    shows={
        "differences": [
            "taxon",
            "log2_ratio",
            "p_value",
            "p_adj",
            "lower_95",
            "upper_95",
            "group_1",
            "mean_percent_1",
            "group_2",
            "mean_percent_2",
        ]
    },
    seconds=4,
    example="Which genera differ between the diets, with the cage taken into account?",
)
def differential_abundance(
    taxa, samples, *, group: str, treated: str = "", control: str = "", unit: str = "", alpha: float = 0.05,
    min_prevalence: float = 0.1, pseudocount: float = 0.0,
    of_interest: list[str] = [],  # noqa: B006 - never changed; the default is shown to users
    direction: str = "both", rank: str = "as_given",
):  # fmt: skip
    """Compare the abundance of every taxon between groups of samples."""
    import numpy as np
    import pandas as pd

    made = samples_compared(taxa, samples, group, unit, treated, control, rank)
    frame, sheet, levels, noun, warnings = made
    if len(frame) < 3:
        raise ValueError(f"The table has {len(frame)} {noun}: ratios to the others need at least 3.")
    added, told = pseudocount_of(frame, pseudocount)
    least = max(2, int(np.ceil(min_prevalence * frame.shape[1] - 1e-9)))
    found_in = (frame > 0).sum(axis=1)
    tested = list(frame.index[found_in >= least])
    if not tested:
        raise ValueError(f"No taxon is found in {least} of {frame.shape[1]} samples; lower min_prevalence.")
    ratios = clr_of(frame, added).loc[tested]
    shares = 100 * shares_of(frame).loc[tested]
    result = compared(ratios.T, sheet[group], levels, sheet[unit] if unit else None, unit)
    warnings += result["notes"]
    adjusted = benjamini_hochberg(result["overall"])
    means = {level: shares.loc[:, (sheet[group] == level).to_numpy()].mean(axis=1).to_numpy() for level in levels}
    several = len(levels) > 2
    parts = []
    for pair in result["pairs"]:
        part = pd.DataFrame(
            {
                "taxon": tested, "group_1": pair["group_1"], "group_2": pair["group_2"],
                "mean_percent_1": means[pair["group_1"]], "mean_percent_2": means[pair["group_2"]],
                "found_in": found_in[tested].to_numpy(), "log2_ratio": pair["difference"], "lower_95": pair["lower_95"],
                "upper_95": pair["upper_95"], "statistic": pair["statistic"], "df": pair["df"],
            }
        )  # fmt: skip
        if several:
            part["p_pair"] = pair["p_adj"]
        part["p_value"], part["p_adj"] = result["overall"], adjusted
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(_size=-table["log2_ratio"].abs()).sort_values(
        ["p_adj", "p_value", "_size", "taxon"], ignore_index=True
    )
    table = table.drop(columns="_size")
    significant = table["p_adj"] < alpha
    n_found = int(table.loc[significant, "taxon"].nunique())
    by = f"{result['test']} on centred log ratios; {counted_units(result, unit)}"
    level = f"at a false discovery rate of {100 * alpha:g} %"
    told_ratios = []
    if several:
        named = [called_level(one, group) for one in levels]
        text = f"{n_found} of {len(tested)} tested {noun} differ between {in_a_row(named)} {level}"
        told_taxa = []
        for taxon in list(dict.fromkeys(table.loc[significant, "taxon"]))[:8]:
            place = tested.index(taxon)
            high, low = (
                choose(levels, key=lambda one, place=place: float(result["means"][one][place])) for choose in (max, min)
            )
            told_taxa.append(
                f"{taxon} (highest with {called_level(high, group)}, lowest with {called_level(low, group)})"
            )
        text += f": {', '.join(told_taxa)}" if told_taxa else ""
    else:
        first, second = (called_level(one, group) for one in levels)
        sides = {
            "higher": table[significant & (table["log2_ratio"] > 0)],
            "lower": table[significant & (table["log2_ratio"] < 0)],
        }
        text = f"{n_found} of {len(tested)} tested {noun} differ between {first} and {second} {level}"
        shown = {"up": ["higher"], "down": ["lower"]}.get(direction, ["higher", "lower"])
        for word in shown:
            rows = sides[word].sort_values("log2_ratio", ascending=word == "lower")
            told_ratios += [(row.taxon, row.log2_ratio) for row in rows.head(8).itertuples()]
            names = [f"{row.taxon} ({row.log2_ratio:+.1f})" for row in rows.head(8).itertuples()]
            more = f" and {len(rows) - 8} more" if len(rows) > 8 else ""
            text += f"; {word} with {first}: {', '.join(names)}{more}" if names else ""
        text += " (log2 ratio in brackets)" if n_found else ""
    if not n_found:
        best = table.iloc[0]
        text += f"; the clearest is {best['taxon']} (adjusted {format_p(float(best['p_adj']))})"
    values = finding_values(n_significant=n_found, n_tested=len(tested), alpha=alpha)
    values += [{"name": f"log2_ratio {taxon}", "value": float(ratio)} for taxon, ratio in told_ratios]
    findings = [{"text": f"{text} ({by}).", "values": values, "output": "differences"}]
    wanted, lost = taxa_named(tested, of_interest)
    if lost:
        warnings.append(f"Not among the tested {noun}: {name_some(lost, 10)}.")
    if several:
        of_note = table[table["taxon"].isin(wanted)]
    else:
        of_note = table[significant | table["taxon"].isin(wanted)].head(20)
    for row in of_note.itertuples():
        one, other = called_level(row.group_1, group), called_level(row.group_2, group)
        judged = row.p_adj < alpha and (not several or row.p_pair < 0.05)
        verb = f"is {'higher' if row.log2_ratio > 0 else 'lower'} with {one} than with {other}" if judged else (
            f"is not shown to differ between {one} and {other}")  # fmt: skip
        findings.append(
            {
                "text": f"{row.taxon} {verb}: log2 ratio {row.log2_ratio:+.2f} (95 % CI {row.lower_95:+.2f} to "
                f"{row.upper_95:+.2f}, adjusted {format_p(float(row.p_adj))}); mean share "
                f"{percent(row.mean_percent_1)} "
                f"against {percent(row.mean_percent_2)}.",
                "values": finding_values(
                    log2_ratio=(row.log2_ratio, row.lower_95, row.upper_95), mean_percent_1=row.mean_percent_1,
                    mean_percent_2=row.mean_percent_2, p_adj=row.p_adj,
                ),
                "output": "differences",
                "row": {"taxon": row.taxon, "group_1": row.group_1, "group_2": row.group_2},
            }
        )  # fmt: skip
    if wanted:  # what is asked about by name comes first
        named = [finding for finding in findings[1:] if finding["row"]["taxon"] in wanted]
        findings = [*named, findings[0], *(finding for finding in findings[1:] if finding not in named)]
    dropped = len(frame) - len(tested)
    warnings.append(
        f"Tested are {noun} found in at least {least} of {frame.shape[1]} samples ({dropped} others are not); {told} "
        f"before "
        "logarithms."
    )
    warnings.append(
        "Shares add up to a whole, so a ratio is relative to the geometric mean of all taxa of a sample: where one "
        "grows much, "
        "others fall without having changed; absolute numbers need another measurement (qPCR, spike-in)."
    )
    first, second = (called_level(one, group) for one in (table["group_1"][0], table["group_2"][0]))
    drawn = table[(table["group_1"] == table["group_1"][0]) & (table["group_2"] == table["group_2"][0])]
    return {
        "differences": table, "ratios_plot": ratios_figure(drawn, significant[drawn.index], first, second, noun),
        "findings": findings, "warnings": warnings,
    }  # fmt: skip
