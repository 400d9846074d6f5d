"""What a community is made of: the shares of its taxa, and which of them lead."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation
from engine.toolbox.bulk_rna.common import name_some
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.microbiome.diversity import RANK_WORDS, RANKS
from engine.toolbox.microbiome.taxa import (
    levels_shown,
    samples_and_groups,
    shares_of,
)
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import called_level, finding_values, in_a_row, new_axes, palette


@check("shares_add_up")
def shares_add_up(step: StepOutputs) -> Iterator[Issue]:
    """The mean shares of all taxa of a group add up to 100 percent."""
    table = step.table("composition")
    keys = [table["group"].fillna("")] if "group" in table else [table["taxon"].map(lambda _: "")]
    for level, total in table.groupby(keys[0])["mean_percent"].sum().items():
        if abs(total - 100) > 0.01:
            message = f"The shares{f' of {level}' if level else ''} add up to {total:g} %."
            yield Issue(code="shares_lost", severity="error", message=message, where="composition")


def percent(value):
    """Return a percentage with the digits that tell neighbours apart: `20.3 %`, `0.65 %`."""
    return f"{value:.1f} %" if value >= 1 else f"{value:.2g} %" if value > 0 else "0 %"


def taxa_named(names, wanted):
    """Return the taxa that are asked for, whatever the capitals or signs between words, and those not found."""
    import re

    plain = {re.sub(r"[^a-z0-9]+", " ", str(name).lower()).strip(): name for name in names}
    found, lost = [], []
    for one in wanted:
        key = re.sub(r"[^a-z0-9]+", " ", str(one).lower()).strip()
        hit = plain.get(key) or next((name for text, name in plain.items() if text.startswith(f"{key} ")), None)
        (found if hit is not None else lost).append(hit if hit is not None else one)
    return list(dict.fromkeys(found)), lost


def bars_of_taxa(shares, groups, levels, leading, group, noun):
    """Draw every sample as a bar of the shares of the leading taxa, group by group, with their means at the right."""
    import numpy as np

    rest = 100 * (1 - shares.loc[leading].sum(axis=0))
    blocks = (
        [(level, shares.columns[[g == level for g in groups]]) for level in levels]
        if levels
        else [("", shares.columns)]
    )
    order = [s for _, own in blocks for s in sorted(own, key=lambda s: -float(shares.loc[leading[0], s]))]
    figure, axis = new_axes(width=max(5.5, min(16, 0.2 * len(order) + 0.5 * len(blocks) + 3.6)), height=4.6)
    places, at, marks = {}, 0.0, []
    for level, own in blocks:
        start = at
        for sample in order:
            if sample in set(own):
                places[sample] = at
                at += 1
        marks.append((level, own, (start + at - 1) / 2))
        at += 0.8
    means = {}
    if levels:
        at += 1.4
        for level, _, _ in marks:
            means[level] = at
            at += 3.0
    colours = [*palette(len(leading)), "0.85"]
    parts = [*[(taxon, 100 * shares.loc[taxon]) for taxon in leading], ("all others", rest)]
    floor = np.zeros(len(order))
    floors = dict.fromkeys(means, 0.0)
    for (taxon, values), colour in zip(parts, colours, strict=True):
        heights = values[order].to_numpy()
        axis.bar([places[s] for s in order], heights, bottom=floor, width=0.92, color=colour, label=str(taxon))
        floor += heights
        for level, own, _ in marks:
            if level in means:
                mean = float(values[list(own)].mean())
                axis.bar([means[level]], [mean], bottom=[floors[level]], width=2.2, color=colour)
                floors[level] += mean
    ticks = [(middle, f"{level}\nn = {len(own)}") for level, own, middle in marks if levels]
    ticks += [(place, f"mean\n{level}") for level, place in means.items()]
    axis.set_xticks([place for place, _ in ticks], [text for _, text in ticks])
    axis.set_ylim(0, 100)
    axis.set_ylabel("share of the sample (%)")
    axis.set_xlabel(group or "samples")
    handles, labels = axis.get_legend_handles_labels()
    axis.legend(
        handles[::-1], labels[::-1], frameon=False, fontsize=8, title=noun, loc="center left", bbox_to_anchor=(1.0, 0.5)
    )
    return figure


@tool(
    name="community_composition",
    title="Composition of communities",
    description=(
        "Gives the relative abundance of every taxon (its share of the total of each sample), the mean over the "
        "samples "
        "of each group, the most abundant taxa of each group, and in how many samples each taxon is the first; draws "
        "the samples as stacked bars."
    ),
    domain="microbiome",
    task_type="analysis",
    methods=("relative abundances, share of the total of each sample, as means over samples; no test",),
    complete=("group",),
    inputs={
        "taxa": "abundance_table: counts or shares, taxa x samples",
        "samples": "sample_sheet: one row a sample",
    },
    optional_inputs=("samples",),
    outputs={
        "composition": "table: mean share of every taxon in each group, its place, and in how many samples it is first",
        "shares": "table: share of every taxon in each sample, percent",
        "composition_plot": "figure: stacked bars of the samples",
    },
    params={
        "group": param("Column with the groups to describe", kind="column", of="samples", role="group_optional"),
        "most": param(
            "How many of the most abundant taxa of each group are named",
            minimum=1,
            maximum=50,
            words=[
                "top",
                "most (?:abund[ae]nt|common|frequent|numerous|dominant|prevalent|important)",
                "(?:(?:main|dominant|leading|largest|major) )?(?:taxa|genera|species|phyla|families|otus)",
            ],
        ),
        "of_interest": param("Taxa to tell of whatever their place", kind="texts", role="genes"),
        "rank": param(
            "Rank at which taxa are summed first; rows as they stand by default", choices=RANKS, words=RANK_WORDS
        ),
    },
    answers=["community_composition"],
    checks=("tables_not_empty", "findings_match_tables", "shares_add_up"),
    keywords=["relative abundance", "community composition", "stacked bars", "most abundant taxa", "dominant genus"],
    citations=[
        Citation(
            title="Microbiome datasets are compositional: and this is not optional",
            authors="Gloor GB, Macklaim JM, Pawlowsky-Glahn V, Egozcue JJ",
            year=2017,
            doi="10.3389/fmicb.2017.02224",
        ),
    ],
    packages=("numpy", "pandas", "matplotlib"),
    shows={"composition": ["group", "place", "taxon", "mean_percent", "median_percent", "n_first", "n_found", "n"]},
    seconds=3,
    example="Which phyla make up the flora of each farm?",
)
def community_composition(
    taxa, samples, *, group: str = "", most: int = 5, of_interest: list[str] = [],  # noqa: B006 - never changed
    rank: str = "as_given",
):  # fmt: skip
    """Describe what communities are made of."""
    import pandas as pd

    frame, sheet, noun, warnings = samples_and_groups(taxa, samples, group, "", rank)
    shares = shares_of(frame)
    groups = list(sheet.loc[list(frame.columns), group]) if sheet is not None and group else [""] * frame.shape[1]
    levels = levels_shown(groups) if group else []
    highest = shares.max(axis=0)
    first = (shares == highest) & (highest > 0)
    rows = []
    for level in levels or [""]:
        own = shares.columns[[g == level for g in groups]]
        table = pd.DataFrame(
            {
                "group": level, "taxon": list(shares.index), "mean_percent": 100 * shares[own].mean(axis=1).to_numpy(),
                "median_percent": 100 * shares[own].median(axis=1).to_numpy(),
                "sd_percent": 100 * shares[own].std(axis=1, ddof=1).to_numpy(),
                "n_first": first[own].sum(axis=1).to_numpy(), "n_found": (shares[own] > 0).sum(axis=1).to_numpy(),
                "n": len(own),
            }
        ).sort_values("mean_percent", ascending=False, kind="stable", ignore_index=True)  # fmt: skip
        table.insert(1, "place", range(1, len(table) + 1))
        rows.append(table)
    composition = pd.concat(rows, ignore_index=True).sort_values("place", kind="stable", ignore_index=True)
    sizes = {table["group"][0]: int(table["n"][0]) for table in rows}
    wanted, lost = taxa_named(shares.index, of_interest)
    if lost:
        warnings.append(f"Not among the {noun}: {name_some(lost, 10)}.")
    parts, values = [], []
    for table in rows:
        level = called_level(table["group"][0], group) if group else ""
        named = [f"{row.taxon} {percent(row.mean_percent)}" for row in table.head(most).itertuples()]
        parts.append(f"{level}: {', '.join(named)}" if group else in_a_row(named))
        if len(table) > most and table["mean_percent"][most] > table["mean_percent"][most - 1] - 0.2:
            near = table.iloc[most]
            parts[-1] += f" (close behind: {near['taxon']} {near['mean_percent']:.2f} %)"
        values += [
            {
                "name": f"mean_percent {row.taxon}{f' {level}' if group else ''}",
                "value": float(row.mean_percent),
                "unit": "%",
            }
            for row in table.head(most).itertuples()
        ]
    leads = []
    for taxon in wanted:
        at = composition[composition["taxon"] == taxon]
        told = [
            f"{row.n_first} of {row.n} {called_level(row.group, group) if group else ''}".strip()
            for row in at.itertuples()
        ]
        leads.append(f"{taxon} is number one in {in_a_row(told)} samples")
        values += [
            {"name": f"n_first {taxon}{f' {row.group}' if group else ''}", "value": int(row.n_first), "unit": "samples"}
            for row in at.itertuples()
        ]
    how_many = in_a_row([str(n) for n in sizes.values()])
    begin = "; ".join(parts) if group else f"The most abundant {noun} are {parts[0]}"
    text = (
        f"{begin}{''.join(f'; {lead}' for lead in leads)} (mean share of the total of each sample; {how_many} samples)."
    )
    findings = [{"text": text[0].upper() + text[1:], "values": values, "output": "composition"}]
    for table in rows:
        level = table["group"][0]
        ahead = table[table["n_first"] > 0].sort_values(["n_first", "mean_percent"], ascending=False)
        counted = [f"{row.taxon} in {row.n_first}" for row in ahead.head(6).itertuples()]
        where = f" with {called_level(level, group)}" if group else ""
        findings.append(
            {
                "text": f"Number one in the {sizes[level]} samples{where}: {', '.join(counted)}"
                f"{f', others in {int(ahead.n_first[6:].sum())}' if len(ahead) > 6 else ''}.",
                "values": finding_values(n=sizes[level]),
                "output": "composition",
            }
        )
    for taxon in wanted:
        for row in composition[composition["taxon"] == taxon].itertuples():
            where = f" with {called_level(row.group, group)}" if group else ""
            at = {"taxon": taxon} | ({"group": row.group} if group else {})
            findings.append(
                {
                    "text": f"{taxon}{where} has a mean share of {percent(row.mean_percent)} (place {row.place}); "
                    f"it is found in {row.n_found} of {row.n} samples and number one in {row.n_first}.",
                    "values": finding_values(mean_percent=row.mean_percent, n_first=row.n_first, n_found=row.n_found),
                    "output": "composition",
                    "row": at,
                }
            )
    tied = int((first.sum(axis=0) > 1).sum())
    if tied:
        warnings.append(f"In {tied} samples several {noun} share the first place, and each counts.")
    often = list(shares.mean(axis=1).sort_values(ascending=False, kind="stable").index[:8])
    named = [*wanted, *(taxon for table in rows for taxon in table["taxon"].head(most)), *often]
    leading = list(dict.fromkeys(named))[:14]
    if not group:
        composition = composition.drop(columns="group")
    each = (100 * shares).T
    each.index.name = "sample"
    return {
        "composition": composition, "shares": each.reset_index(),
        "composition_plot": bars_of_taxa(shares, groups, levels, leading, group, noun),
        "findings": findings, "warnings": warnings,
    }  # fmt: skip
