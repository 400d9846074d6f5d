"""Dissimilarity between communities: do groups of samples differ as a whole, and how do samples lie to each other."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, Points
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.microbiome.diversity import RANK_WORDS, RANKS
from engine.toolbox.microbiome.taxa import (
    beside_samples,
    clr_of,
    levels_shown,
    pseudocount_of,
    samples_compared,
    shares_of,
    small_samples,
    taxa_table,
    with_reads,
)
from engine.toolbox.microbiome.units import counted_units, how_units_lie
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    in_a_row,
    new_axes,
    palette,
)

METRICS = ("bray_curtis", "jaccard", "aitchison")
METRIC_WORDS = ("bray_curtis: bray", "jaccard: jaccard", "aitchison: aitchison|euclid\\w+ .{0,12}(?:clr|log.?ratio)")
BRAY = Citation(
    title="An ordination of the upland forest communities of southern Wisconsin", authors="Bray JR, Curtis JT",
    year=1957, doi="10.2307/1942268",
)  # fmt: skip


@check("variance_shared_out")
def variance_shared_out(step: StepOutputs) -> Iterator[Issue]:
    """The share of the variation that groups account for lies between 0 and 1, and the sums of squares add up."""
    table = step.table("permanova").set_index("source")
    parts = float(table.loc["groups", "sum_of_squares"] + table.loc["residual", "sum_of_squares"])
    total = float(table.loc["total", "sum_of_squares"])
    if not 0 <= float(table.loc["groups", "r_squared"]) <= 1 or abs(parts - total) > 1e-6 * max(1.0, total):
        message = "The variation between groups and within them does not add up to the whole."
        yield Issue(code="variation_lost", severity="error", message=message, where="permanova")


def bray_curtis(values):
    """Return the Bray-Curtis dissimilarities of samples x taxa: summed differences over summed totals."""
    import numpy as np

    totals = values.sum(axis=1)
    result = np.array([np.abs(values - row).sum(axis=1) / (totals + row.sum()) for row in values])
    return (result + result.T) / 2


def dissimilarities(frame, metric):
    """Return the matrix of dissimilarities between samples.

    Bray-Curtis of relative abundances is half the sum of their differences; Jaccard is of presence; Aitchison's
    distance is Euclidean between centred log ratios (base e).
    """
    import numpy as np

    if metric == "aitchison":
        values = clr_of(frame, pseudocount_of(frame, 0.0)[0]).to_numpy().T * np.log(2)
        return np.sqrt(np.maximum(((values[:, None, :] - values[None, :, :]) ** 2).sum(axis=2), 0.0))
    if metric == "jaccard":
        found = (frame.to_numpy().T > 0).astype(float)
        shared = found @ found.T
        either = found.sum(axis=1)[:, None] + found.sum(axis=1)[None, :] - shared
        return 1 - shared / np.maximum(either, 1)
    return bray_curtis(shares_of(frame).to_numpy().T)


def sums_of_squares(squares, member):
    """Return the sum of squares within groups of a matrix of squared distances; `member` is samples x groups.

    Anderson (2001, Austral Ecology 26): the squared distances of each group, added up and divided by its size.
    """
    sizes = member.sum(axis=0)
    inner = (member * (squares @ member)).sum(axis=0) / 2
    return float((inner / sizes).sum())


def pseudo_f(squares, codes, k):
    """Return the pseudo-F of groups (codes 0 to k - 1) and the sums of squares between, within and in all."""
    import numpy as np

    n = len(codes)
    total = float(squares.sum() / 2 / n)
    within = sums_of_squares(squares, np.eye(k)[codes])
    between = total - within
    return (between / (k - 1)) / (within / (n - k)) if within > 0 else np.inf, between, within, total


def shuffled(codes, units, design, rng):
    """Return the groups of samples in a random order that could as well have been, had groups no effect.

    Where units lie in one group each, whole units change places; where groups differ within units, samples do so within
    their unit.
    """
    import numpy as np

    if design == "none":
        return rng.permutation(codes)
    names, of_unit = np.unique(units, return_inverse=True)
    if design == "between":
        own = np.array([codes[of_unit == place][0] for place in range(len(names))])
        return rng.permutation(own)[of_unit]
    result = codes.copy()
    for place in range(len(names)):
        at = np.flatnonzero(of_unit == place)
        result[at] = codes[rng.permutation(at)]
    return result


def distances_to_centres(squares, codes, k):
    """Return the distance of each sample to the centre of its group (Anderson 2006, Biometrics 62)."""
    import numpy as np

    result = np.zeros(len(codes))
    for group in range(k):
        at = np.flatnonzero(codes == group)
        own = squares[np.ix_(at, at)]
        result[at] = np.sqrt(np.abs(own.mean(axis=1) - own.sum() / (2 * len(at) ** 2)))
    return result


def spread_f(distances, codes, k):
    """Return the F of an analysis of variance of distances to the centres of groups."""
    import numpy as np

    groups = [distances[codes == group] for group in range(k)]
    grand = distances.mean()
    between = sum(len(x) * (x.mean() - grand) ** 2 for x in groups) / (k - 1)
    within = sum(((x - x.mean()) ** 2).sum() for x in groups) / (len(distances) - k)
    return float(between / within) if within > 0 else float(np.inf)


def principal_coordinates(distances):
    """Return the coordinates of samples whose distances come nearest to these, and each axis' share of the variance.

    Gower's (1966) double centring; axes with negative eigenvalues are left out, and shares are of the positive ones.
    The sign of an axis is arbitrary and is set so that its largest entry is positive.
    """
    import numpy as np

    n = len(distances)
    centre = np.eye(n) - np.ones((n, n)) / n
    values, vectors = np.linalg.eigh(centre @ (-0.5 * distances**2) @ centre)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    kept = values > 1e-10 * max(values[0], 1e-300)
    values, vectors = values[kept], vectors[:, kept]
    # Rounded: of two that differ in rounding only the first decides the sign, on every machine.
    signs = np.sign(vectors[np.abs(vectors).round(9).argmax(axis=0), np.arange(vectors.shape[1])])
    return vectors * np.sqrt(values) * signs, values / values.sum()


def map_figure(points, shares, groups, levels, group, name):
    """Draw samples on the first two axes, in the colours of their groups with the centre of each."""
    figure, axis = new_axes(width=6.2, height=4.8)
    for level, colour in zip(levels or [""], palette(max(1, len(levels))), strict=True):
        own = points[[not levels or g == level for g in groups]]
        axis.scatter(
            own[:, 0], own[:, 1], s=34, color=colour, edgecolor="white", linewidth=0.5, label=str(level) or None
        )
        if levels:
            centre = own.mean(axis=0)
            for point in own:
                axis.plot(
                    [centre[0], point[0]], [centre[1], point[1]], color=colour, linewidth=0.5, alpha=0.5, zorder=1
                )
            axis.scatter(
                [centre[0]], [centre[1]], s=110, marker="X", color=colour, edgecolor="black", linewidth=0.7, zorder=4
            )
    if levels:
        axis.legend(frameon=False, title=group, fontsize=8)
    axis.set_xlabel(f"PCo1 ({100 * shares[0]:.1f} %)")
    axis.set_ylabel(f"PCo2 ({100 * shares[1]:.1f} %)" if len(shares) > 1 else "PCo2")
    axis.set_title(f"principal coordinates, {name}", fontsize=10)
    return figure


def called_metric(metric):
    """Return what a dissimilarity is called in sentences."""
    return {
        "bray_curtis": "Bray-Curtis dissimilarity of relative abundances",
        "jaccard": "Jaccard dissimilarity of presence",
        "aitchison": "Aitchison distance",
    }[metric]  # fmt: skip


@tool(
    name="permanova",
    title="PERMANOVA of communities",
    description=(
        "Tests whether communities differ between groups of samples as a whole: permutational analysis of variance of "
        "Bray-Curtis dissimilarities of relative abundances. Where several samples share a cage, litter, site or "
        "subject, "
        "whole units are permuted, or samples within their unit where groups differ within it. Whether groups differ "
        "in "
        "their spread is tested beside it, because that can look like a difference in place."
    ),
    domain="microbiome",
    task_type="analysis",
    methods=(
        "unit => permutational analysis of variance (PERMANOVA), {permutations} permutations that keep each {unit} "
        "together, "
        "because communities are compared as a whole and samples of one {unit} are alike",
        "permutational analysis of variance (PERMANOVA), {permutations} permutations, because communities are compared "
        "as a whole",
    ),
    complete=("group", "unit"),
    inputs={
        "taxa": "abundance_table: counts or shares, taxa x samples",
        "samples": "sample_sheet: one row a sample",
    },
    outputs={
        "permanova": "table: sums of squares, pseudo-F, share of the variation, p-value",
        "dispersion": "table: mean distance to the centre of each group",
        "map": "table: principal coordinates of the samples",
        "community_map": "figure: samples on the first two principal coordinates",
    },
    points={"community_map": Points(table="map", x="PCo1", y="PCo2", label="sample", colour="=group")},
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
        "metric": param("Dissimilarity", choices=METRICS, words=METRIC_WORDS),
        "permutations": param("How many permutations", minimum=99, maximum=99999, words=["perm\\w*"]),
        "seed": param("Random seed", minimum=0),
        "rank": param(
            "Rank at which taxa are summed first; rows as they stand by default", choices=RANKS, words=RANK_WORDS
        ),
    },
    answers=["permanova"],
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "variance_shared_out"),
    keywords=["PERMANOVA", "adonis", "Bray-Curtis", "beta diversity", "betadisper", "community structure"],
    citations=[
        Citation(
            title="A new method for non-parametric multivariate analysis of variance",
            authors="Anderson MJ",
            year=2001,
            doi="10.1111/j.1442-9993.2001.01070.pp.x",
        ),
        Citation(
            title="Distance-based tests for homogeneity of multivariate dispersions",
            authors="Anderson MJ",
            year=2006,
            doi="10.1111/j.1541-0420.2005.00440.x",
        ),
        BRAY,
    ],
    packages=("numpy", "pandas", "matplotlib"),
    shows={"permanova": ["source", "df", "sum_of_squares", "r_squared", "pseudo_f", "p_value"]},
    seconds=5,
    example="Do the communities of the two soils differ as a whole?",
)
def permanova(
    taxa, samples, *, group: str, treated: str = "", control: str = "", unit: str = "", metric: str = "bray_curtis",
    permutations: int = 999, seed: int = 0, rank: str = "as_given",
):  # fmt: skip
    """Test whether communities differ between groups of samples."""
    import math

    import numpy as np
    import pandas as pd

    made = samples_compared(taxa, samples, group, unit, treated, control, rank)
    frame, sheet, levels, _, warnings = made
    labels = sheet[group].to_numpy()
    codes = np.array([levels.index(label) for label in labels])
    units = sheet[unit].to_numpy().astype(str) if unit else np.array([])
    design = how_units_lie(labels, units if unit else None)
    k = len(levels)
    counts = {level: int((labels == level).sum()) for level in levels}
    of_units = {level: len({*units[labels == level]}) if design != "none" else counts[level] for level in levels}
    small = [f"{level} has {n}" for level, n in of_units.items() if n < 2]
    if small:
        what = "samples" if design == "none" else f"different values of {unit}"
        raise ValueError(f"Each group needs at least 2 {what}: {', '.join(small)}. Choose other groups.")
    distances = dissimilarities(frame, metric)
    squares = distances**2
    f, between, within, total = pseudo_f(squares, codes, k)
    if not total > 0:
        raise ValueError("All samples are alike in every taxon: there is no variation to share out.")
    away = distances_to_centres(squares, codes, k)
    spread = spread_f(away, codes, k)
    rng = np.random.default_rng(seed)
    above, wider = 1, 1
    for _ in range(permutations):
        order = shuffled(codes, units, design, rng)
        above += pseudo_f(squares, order, k)[0] >= f * (1 - 1e-12)
        wider += spread_f(away, order, k) >= spread * (1 - 1e-12)
    p, p_spread = above / (permutations + 1), wider / (permutations + 1)
    n = len(codes)
    table = pd.DataFrame(
        [
            {"source": "groups", "df": k - 1, "sum_of_squares": between, "r_squared": between / total,
             "pseudo_f": f, "p_value": p},
            {"source": "residual", "df": n - k, "sum_of_squares": within, "r_squared": within / total},
            {"source": "total", "df": n - 1, "sum_of_squares": total, "r_squared": 1.0},
        ]
    )  # fmt: skip
    name = called_metric(metric)
    result = {"design": design, "samples": counts, "units": of_units}
    how = {
        "none": f"{permutations} permutations",
        "between": f"{permutations} permutations of each {unit} as a whole",
    }.get(design, f"{permutations} permutations within {unit}")
    verb = "differ" if p < 0.05 else "are not shown to differ"
    named = in_a_row([called_level(level, group) for level in levels])
    text = (
        f"The communities {verb} as a whole between {named}: {group} accounts for {100 * between / total:.1f} % of the "
        f"variation (PERMANOVA, pseudo-F {format_number(f)}, {format_p(p)}; {name}; {how}; "
        f"{counted_units(result, unit)})."
    )
    values = finding_values(r_squared=between / total, pseudo_f=f, p_value=p)
    findings = [{"text": text, "values": values, "output": "permanova", "row": {"source": "groups"}}]
    means = {level: float(away[labels == level].mean()) for level in levels}
    dispersion = pd.DataFrame(
        [{"group": level, "n": counts[level], "mean_distance_to_centre": means[level]} for level in levels]
    )
    dispersion["f"], dispersion["p_value"] = spread, p_spread
    told = ", ".join(f"{called_level(level, group)} {format_number(mean)}" for level, mean in means.items())
    verb = "differ" if p_spread < 0.05 else "are not shown to differ"
    findings.append(
        {
            "text": f"The groups {verb} in their spread, the mean distance of samples to the centre of their group: "
            f"{told} (F {format_number(spread)}, {format_p(p_spread)} by permutation).",
            "values": finding_values(f=spread, p_value_spread=p_spread, **{f"mean {k}": v for k, v in means.items()}),
            "output": "dispersion",
        }
    )
    if p < 0.05 and p_spread < 0.05:
        warnings.append(
            "The groups also differ in their spread, so a part of the difference may be that one group varies more and "
            "not that it lies elsewhere; see the map."
        )
    if design == "between":
        sizes = [*of_units.values()]
        possible = math.factorial(sum(sizes)) // math.prod(math.factorial(size) for size in sizes)
        if possible < 200:
            warnings.append(
                f"Whole units of {unit} can be dealt out to the groups in only {possible} ways, so the p-value cannot "
                f"fall below about {1 / possible:.2g}."
            )
        uneven = {int((units == one).sum()) for one in {*units}}
        if len(uneven) > 1:
            warnings.append(
                f"The values of {unit} have unequal numbers of samples; the permutation test is then approximate."
            )
    points, shares = principal_coordinates(distances)
    drawn = pd.DataFrame(
        points[:, : min(5, points.shape[1])], columns=[f"PCo{i + 1}" for i in range(min(5, points.shape[1]))]
    )
    drawn.insert(0, "sample", list(frame.columns))
    drawn.insert(1, group, labels)
    if "PCo2" not in drawn:
        drawn["PCo2"] = 0.0
    figure = map_figure(drawn[["PCo1", "PCo2"]].to_numpy(), shares, labels, levels, group, name)
    return {
        "permanova": table, "dispersion": dispersion, "map": drawn, "community_map": figure, "findings": findings,
        "warnings": warnings,
    }  # fmt: skip


@tool(
    name="ordination",
    title="Ordination of communities (PCoA)",
    description=(
        "Draws samples by how alike their communities are: principal coordinates (PCoA) of Bray-Curtis dissimilarities "
        "of "
        "relative abundances, with the share of the variance on each axis, coloured by a column of the sample sheet."
    ),
    domain="microbiome",
    task_type="visualization",
    methods=("principal coordinates of the dissimilarities between samples; no test",),
    inputs={
        "taxa": "abundance_table: counts or shares, taxa x samples",
        "samples": "sample_sheet: one row a sample",
    },
    optional_inputs=("samples",),
    outputs={
        "map": "table: principal coordinates of the samples",
        "axes": "table: share of the variance on each axis",
        "community_map": "figure: samples on the first two principal coordinates",
    },
    points={"community_map": Points(table="map", x="PCo1", y="PCo2", label="sample", colour="=group")},
    params={
        "group": param("Column that colours the samples", kind="column", of="samples", role="group"),
        "metric": param("Dissimilarity", choices=METRICS, words=METRIC_WORDS),
        "rank": param(
            "Rank at which taxa are summed first; rows as they stand by default", choices=RANKS, words=RANK_WORDS
        ),
    },
    answers=["ordination"],
    checks=("tables_not_empty", "findings_match_tables"),
    keywords=["PCoA", "principal coordinates", "ordination of communities", "beta diversity plot"],
    citations=[
        Citation(
            title="Some distance properties of latent root and vector methods used in multivariate analysis",
            authors="Gower JC",
            year=1966,
            doi="10.1093/biomet/53.3-4.325",
        ),
        BRAY,
    ],
    packages=("numpy", "pandas", "matplotlib"),
    seconds=3,
    example="PCoA of the gut communities, coloured by diet.",
)
def ordination(taxa, samples, *, group: str = "", metric: str = "bray_curtis", rank: str = "as_given"):
    """Draw samples by how alike their communities are."""
    import numpy as np
    import pandas as pd

    frame, _, warnings = taxa_table(taxa, rank)
    if group and samples is None:
        raise ValueError(f"Groups are asked for ({group!r}), and there is no list of the samples; add one.")
    sheet = None
    if samples is not None:
        frame, sheet, notes = beside_samples(frame, samples, [group])
        warnings += notes
    frame, notes = with_reads(frame)
    warnings += [*notes, *small_samples(frame)]
    if frame.shape[1] < 3:
        raise ValueError(f"{frame.shape[1]} samples are left: an ordination needs at least 3.")
    distances = dissimilarities(frame, metric)
    if not distances.max() > 0:
        raise ValueError("All samples are alike in every taxon: there is nothing to lay out.")
    points, shares = principal_coordinates(distances)
    kept = min(5, points.shape[1])
    drawn = pd.DataFrame(points[:, :kept], columns=[f"PCo{i + 1}" for i in range(kept)])
    drawn.insert(0, "sample", list(frame.columns))
    if "PCo2" not in drawn:
        drawn["PCo2"] = 0.0
    labels = list(sheet.loc[list(frame.columns), group]) if sheet is not None and group else []
    levels = levels_shown(labels) if group else []
    if group:
        drawn.insert(1, group, labels)
    axes = pd.DataFrame({"axis": [f"PCo{i + 1}" for i in range(len(shares))], "percent": 100 * shares})
    name = called_metric(metric)
    second = f" and PCo2 {100 * shares[1]:.1f} %" if len(shares) > 1 else ""
    told = ""
    if len(levels) > 1:
        squares, codes = distances**2, np.array([levels.index(label) for label in labels])
        _, between, _, total = pseudo_f(squares, codes, len(levels))
        told = f"; {group} accounts for {100 * between / total:.1f} % of the variation between samples (not tested)"
    text = f"PCo1 shows {100 * shares[0]:.1f} %{second} of the variation between {len(drawn)} samples ({name}){told}."
    values = finding_values(percent_pco1=100 * shares[0], percent_pco2=100 * shares[1] if len(shares) > 1 else None)
    figure = map_figure(drawn[["PCo1", "PCo2"]].to_numpy(), shares, labels, levels, group, name)
    finding = {"text": text, "values": values, "output": "axes"}
    return {"map": drawn, "axes": axes, "community_map": figure, "findings": [finding], "warnings": warnings}
