"""Why apart: planning needs numbers that no data hold: what difference would matter, and how sure one wants to be.

The numbers come from the words; a pilot table may give the standard deviation. What is asked follows from what is
given: with an effect and no number of subjects their number, with both the power, with the number alone the smallest
effect that can be found. The effect seen in a pilot is never taken as the effect to plan for.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.sample_size import planned_power, smallest_effect, smallest_number
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    level_labels,
    new_axes,
    numeric_values,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row


@check("power_between_zero_and_one")
def power_between_zero_and_one(step: StepOutputs) -> Iterator[Issue]:
    """Every power is a share, numbers of subjects are whole and positive, and power does not fall with more of them."""
    plan, curve = step.table("plan"), step.table("curve")
    for output, table in (("plan", plan), ("curve", curve)):
        if ((table["power"] < 0) | (table["power"] > 1)).any():
            yield Issue(code="power_range", severity="error", message="A power lies outside 0 to 1.", where=output)
    if (plan["n"] != plan["n"].round()).any() or (plan["n"] < 2).any():
        yield Issue(code="whole_subjects", severity="error", message="A number of subjects is no whole number "
                                                                     "from 2 on.",
                    where="plan")  # fmt: skip
    # Of very few subjects equivalence is at times shown by a small SD found by chance, less often with more of them.
    if (curve.loc[curve["power"] > 0.1, "power"].diff().dropna() < -1e-6).any():
        yield Issue(code="power_falls", severity="error", message="Power falls with more subjects.", where="curve")


def pilot_spread(table, measure, group):
    """Return the SD (pooled within groups where there are groups), the mean of all values, n, and warnings."""
    table = plain_table(table)
    require_columns(table, [measure, *([group] if group else [])])
    table, warnings = complete_rows(table, [measure, *([group] if group else [])])
    values = numeric_values(table, measure)
    labels = level_labels(table[group]) if group else values * 0
    groups = [part for _, part in values.groupby(labels) if len(part) > 1]
    df = sum(len(part) - 1 for part in groups)
    if df < 2 or len(groups) > 40:
        raise ValueError(
            f"Column {measure!r} has too few values a group for a standard deviation; name the SD instead."
        )
    sd = (sum((len(part) - 1) * part.var(ddof=1) for part in groups) / df) ** 0.5
    if not sd > 0:
        raise ValueError(f"Column {measure!r} does not vary within the groups of the pilot; name the SD instead.")
    if df < 20:
        warnings.append(f"The standard deviation rests on {len(values)} pilot values and may well be too small; "
                        f"plan with "
                        "a larger one too.")  # fmt: skip
    return float(sd), float(values.mean()), len(values), warnings


def planned_design(design, given):
    """Return the design that the numbers given belong to; two kinds at once are refused where no design is named.

    Args:
        design: what the user named, or `auto`.
        given: the parameters by name, None where they were not given.
    """
    there = {name for name, value in given.items() if value is not None}
    needed = {"two_means": {"effect_size", "difference", "relative_change"}, "correlation": {"correlation"},
              "survival": {"hazard_ratio"}, "equivalence": {"margin"}}  # fmt: skip
    kinds = [name for name, numbers in needed.items() if there & numbers]
    kinds += ["proportions"] if {"share_1", "share_2"} <= there else []
    if design != "auto":
        return design
    if kinds == ["two_means", "equivalence"]:  # a margin, and the difference that is there in truth
        return "equivalence"
    if len(kinds) > 1:
        raise ValueError(f"The numbers belong to several designs ({', '.join(kinds)}); name the design.")
    return kinds[0] if kinds else "proportions" if "share_1" in there else "two_means"


def effect_of(design, given, sd):
    """Return the effect in the form `planned_power` takes, None where it is asked for, and what it is said with.

    Differences and margins are divided by the standard deviation.
    """

    def in_sd(number, name):
        if not sd:
            raise ValueError(f"A {name} of {number:g} says nothing without the spread; name the standard deviation "
                             "(SD 12), or a pilot column to take it from.")  # fmt: skip
        return abs(number) / sd

    d, change, margin = given["effect_size"], given["difference"], given["margin"]
    if design in ("two_means", "paired"):
        return d if d is not None or change is None else in_sd(change, "difference")
    if design in ("equivalence", "non_inferiority"):
        shift = in_sd(change, "difference") if change else 0.0
        wanted = in_sd(margin, "margin") if margin is not None else d
        if wanted is not None and not wanted > shift:
            raise ValueError(f"The margin of {format_number(wanted)} SDs does not reach beyond the true difference "
                             f"of {format_number(shift)} SDs: no number of subjects can show it.")  # fmt: skip
        return (wanted, shift) if wanted is not None else None
    if design == "anova":
        return (d, given["groups"]) if d is not None else None
    if design == "proportions":
        shares = (given["share_1"], given["share_2"])
        return shares if None not in shares else None
    return given["correlation"] if design == "correlation" else given["hazard_ratio"]


def effect_words(design, effect, sd):
    """Return an effect in words, in the unit of the measurement where the standard deviation is known."""
    if design in ("equivalence", "non_inferiority"):
        margin, shift = effect
        size = f"{format_number(margin * sd)} (SD {format_number(sd)})" if sd else f"{format_number(margin)} SD"
        what = "two groups to be alike within" if design == "equivalence" else "one group not to be worse by more than"
        return f"{what} {size}" + (f" where they differ by {format_number(shift)} SD in truth" if shift else "")
    if design == "anova":
        return f"a difference among {effect[1]} groups of f = {format_number(effect[0])}"
    if design == "proportions":
        return f"{100 * effect[0]:.3g} % against {100 * effect[1]:.3g} %"
    if design in ("two_means", "paired") and sd:
        return f"a difference of {format_number(effect * sd)} (SD {format_number(sd)}, {format_number(effect)} SDs)"
    start = {"two_means": "a difference of", "paired": "a mean change of", "correlation": "a correlation of",
             "survival": "a hazard ratio of"}[design]  # fmt: skip
    end = {"two_means": " SD", "paired": " SDs of the differences"}.get(design, "")
    return f"{start} {format_number(effect)}{end}"


def power_figure(curve, unit, power, n):
    """Draw power against the number of subjects, with the power wanted and the number planned."""
    figure, axis = new_axes()
    axis.plot(curve["n"], 100 * curve["power"], color=palette(1)[0])
    axis.axhline(100 * power, color="0.5", linestyle="--", linewidth=0.9)
    axis.axvline(n, color=palette(2)[1], linewidth=1.2)
    axis.set_ylim(0, 102)
    axis.set_xlim(left=0)
    axis.set_xlabel(f"{unit} (line: {n})")
    axis.set_ylabel("power (%)")
    return figure


_NO_PERCENT = r"(?=[\s=:of]*\d+(?:[.,]\d+)?(?![\d.,]*\s*(?:%|per\s?cent)))"
_PERCENT = r"(?=[\s=:of]*\d+(?:[.,]\d+)?\s*(?:%|per\s?cent))"
_CHANGE = (
    r"(?:differences?|diff|delta|drop(?!.?out)|fall|rise|gain|change|increase|decrease|reduction|advantage|improvement)"
)
_MORE = (
    r"(?:differences?|more|less|better|worse|higher|lower|shorter|longer|heavier|lighter|faster|drop(?!.?out)|rise|gain|"
    r"apart)"
)
_CASE = r"(?:cases?|patients?|exposed|treated|animals?|subjects?)"
_UNLIKE = r"(?:vs\.?|versus|against|to|instead of)"
_WORD = rf"(?!(?:and|but|{_UNLIKE})\b)[a-z-]+"
_GROUP = rf"(?:with|in|under|on|for|among|after|of)\s+(?:{_WORD}\s+){{0,3}}?{_WORD}"
_JOIN = rf"(?:\s*[,;]\s*(?:(?:and|but)\s+)?|\s+(?:and|but|{_UNLIKE})\s+)"
_NO_SHARE = r"(?!\s*(?:power|alpha|chance|certainty|significance|drop|loss|lost|attrition|more|less|higher|lower))"
"""`30 % with usual care, 20 % hoped for` are two shares; `20 % drop-out` and `80 % power` are none."""


@tool(
    name="power_sample_size",
    title="Power and sample size",
    description=(
        "Compute how many subjects a study needs, what power a number of subjects has, or the smallest effect it "
        "can find: "
        "two means and paired measurements (noncentral t), several groups (noncentral F), equivalence and "
        "non-inferiority of two means (one-sided t-tests), two proportions (normal approximation), a correlation "
        "(Fisher's z), survival by the number of events (Schoenfeld). Otherwise two-sided; groups of one size, or two "
        "in a given ratio; for subjects in clusters by the design effect. "
        "The numbers come from the question; a pilot column may give the "
        "standard deviation. With allowance for dropout and a power curve."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "formulas of power for the design that is named; no test",
    ),
    answers=["power_sample_size"],
    inputs={"table": "table: a pilot, for the standard deviation"},
    optional_inputs=("table",),
    outputs={
        "plan": "table: design, effect, number of subjects, power",
        "curve": "table: power for different numbers of subjects",
        "power_plot": "figure: power against the number of subjects",
    },
    params={
        "design": param(
            "What will be compared; auto by the numbers given",
            choices=["auto", "two_means", "paired", "proportions", "correlation", "survival", "anova", "equivalence",
                     "non_inferiority"],
            words=["non_inferiority: non.?inferior\\w*", "equivalence: bio.?equivalen\\w*|equivalen\\w*|\\bTOST\\b",
                   "anova: anova|analysis of variance|(?:three|four|five|six|several) groups",
                   "paired: paired|before.{1,5}after|cross-?over|pre.{1,5}post|within.subjects?",
                   "correlation: correlat\\w*", "survival: log.?rank|hazard|surviv\\w*|number of events",
                   "proportions: proportions|two shares|percentages"],
        ),
        "difference": param(
            "Smallest difference of means that matters, in the unit of the measurement",
            words=[_CHANGE + r"(?:\s+of)?(?:\s+(?:about|only|at least))?" + _NO_PERCENT,
                   r"(?:see|find|detect|notice|overlook)" + _NO_PERCENT,
                   r"(?:[a-z°]+\s+){0,2}" + _MORE + r"(?!\s*(?:=|of|to|:|is)?\s*\d)"],
        ),
        "relative_change": param(
            "The same as a share of the pilot's mean", unit="share", minimum=0, maximum=1,
            words=[_CHANGE + r"(?:\s+of)?" + _PERCENT, r"(?:%|per\s?cent)\s*" + _MORE],
        ),
        "sd": param(
            "Standard deviation within a group (paired: of the differences)", minimum=0,
            words=[r"(?:sds?|s\.d\.|standard deviation|spread|scatter)(?:\s+of)?(?:\s+(?:the\s+)?differences?)?"
                   r"(?=[\s=:ofis]*\d)"],
        ),
        "effect_size": param(
            "Difference divided by the standard deviation (Cohen's d; Cohen's f for anova)",
            words=[r"(?:cohen'?s )?d(?=\s*(?:=|of|is)?\s*\d)", r"effect(?: size)?(?: of)?(?=[\s=:ofd]*\d)",
                   r"(?:sds?|standard deviations?)(?!\s*(?:=|of|is|:)?\s*\d)"],
        ),
        "correlation": param(
            "Correlation that should be noticed", minimum=-1, maximum=1,
            words=[r"(?<!class )(?<!cluster )correlation(?: coefficient)?(?: of)?", r"r(?=\s*=\s*)"],
        ),
        "hazard_ratio": param("Hazard ratio that should be noticed", minimum=0, words=["hazard ratio", "hr"]),
        "share_1": param(
            "Share in the first group", unit="share", minimum=0, maximum=1,
            words=[rf"(?:%|per\s?cent)?\s*{_UNLIKE}\s*(?:\d*\.\d+(?!\d)|\d+(?:,\d+)?(?=\s*(?:%|per\s?cent)))",
                   rf"(?:%|per\s?cent)\s+{_GROUP}(?={_JOIN}\d+(?:[.,]\d+)?\s*(?:%|per\s?cent){_NO_SHARE})"],
        ),
        "share_2": param(
            "Share in the second group", unit="share", minimum=0, maximum=1,
            words=[rf"(?<=\d)\s*(?:%|per\s?cent)?\s*{_UNLIKE}",
                   rf"(?:%|per\s?cent)\s+{_GROUP}{_JOIN}(?=\d+(?:[.,]\d+)?\s*(?:%|per\s?cent){_NO_SHARE})"],
        ),
        "n": param(
            "Subjects a group (pairs, subjects or events where there is one group)", minimum=2,
            words=[r"(?:[a-z]+\s+)?(?:per|in each|in every|in both|a|each|on each|on every)\s+"
                   r"(?:groups?|arms?|treatments?|variety|diet|side|feed|pill|one|arm)\b(?!\s*(?:=|of|to|:|is)?\s*\d)",
                   r"(?:[a-z]+\s+)?(?:pairs|each|apiece|events)\b(?!\s*(?:=|of|to|:|is)?\s*\d)",
                   r"n(?=\s*=\s*\d)"],
        ),
        "allocation": param(
            "Subjects in the second of two groups for each one in the first", unit="ratio", minimum=0.01, maximum=100,
            words=[r"allocat\w*", r"randomi[sz]\w*", r"(?:group|arm|sample) ratio",
                   r"(?:controls?|unexposed|untreated|placebos?)\s+(?:per|(?:for|to)\s+(?:each|every|one|an?)|each)\s+"
                   + _CASE],
        ),
        "n_total": param(
            "Subjects in all groups together", minimum=3,
            words=[r"(?:with only|only have|have only|can only "
                   r"get|only|with|have)(?=\s+\d+(?![\d.,]*\s*(?:%|per\s?cent|\.)))"],
        ),
        "power": param(
            "Chance wanted to find the effect", unit="share", minimum=0.05, maximum=0.9999,
            words=["power", r"(?:%|per\s?cent)\s*(?:power|certainty|chance|probability)"],
        ),
        "alpha": param("P-value below which an effect counts as found", minimum=1e-10, maximum=0.5),
        "dropout": param(
            "Share of subjects expected to be lost", unit="share", minimum=0, maximum=0.95,
            words=[r"(?:%|per\s?cent)\s*(?:for\s+)?(?:loss(?:es)?|lost|drop.?outs?|attrition|who drop)",
                   r"(?:drop.?outs?|loss|attrition)(?: of)?" + _PERCENT],
        ),
        "event_share": param(
            "Share of subjects who will have the event (survival)", unit="share", minimum=0.001, maximum=1,
            words=[r"(?:%|per\s?cent)\s*(?:will\s+)?(?:die|events?|relapse)", "event rate"],
        ),
        "margin": param(
            "Equivalence and non-inferiority: the difference that would not matter, in the unit of the measurement",
            minimum=0, words=["(?:equivalence |non.?inferiority )?margins?(?: of| is| =)?"],
        ),
        "groups": param("Number of groups (anova)", minimum=2, maximum=100),
        "cluster_size": param(
            "Subjects in each cluster (cage, class, practice), where clusters are assigned as a whole", minimum=1,
            words=[r"(?:cluster|class|litter|cage|herd) size(?: of)?",
                   r"(?:[a-z]+\s+)?(?:per|in each|in every) (?:cluster|class|litter|cage|herd|village|practice|ward)"],
        ),
        "icc": param(
            "Correlation of two subjects of one cluster", minimum=0, maximum=1,
            words=[r"icc(?: of)?", r"intra.?(?:class|cluster) correlation(?: coefficient)?(?: of)?"],
        ),
        "measure": param("Pilot measurement, for its SD", kind="column", of="table", role="measure"),
        "group": param("Groups of the pilot", kind="column", of="table", role="group_optional"),
    },
    checks=("tables_not_empty", "findings_match_tables", "power_between_zero_and_one"),
    keywords=(
        "sample size", "power analysis", "how many subjects", "how many animals", "number of replicates",
        "power.t.test",
        "pwr", "G*Power", "statistical power", "smallest detectable difference", "minimum detectable effect",
        "ethics committee", "power curve", "number of events", "Schoenfeld",
    ),
    citations=(
        Citation(title="Statistical Power Analysis for the Behavioral Sciences", authors="Cohen J", year=1988,
                 doi="10.4324/9780203771587"),
        Citation(title="Sample-size formula for the proportional-hazards regression model", authors="Schoenfeld DA",
                 year=1983, doi="10.2307/2531021"),
        Citation(title="A special case of a bivariate non-central t-distribution", authors="Owen DB", year=1965,
                 doi="10.1093/biomet/52.3-4.437"),
        Citation(title="Randomization by cluster: sample size requirements and analysis",
                 authors="Donner A, Birkett N, Buck C", year=1981, doi="10.1093/oxfordjournals.aje.a113261"),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="How many cows per group do I need to see a difference of 2 litres, SD 4, power 0.8?",
    next_steps=(
        NextStep(text="Plan again with an effect a third smaller and an SD a third larger: if the answer "
                      "frightens, the study "
                      "rests on optimism."),
    ),
)  # fmt: skip
def power_sample_size(
    table=None,
    *,
    design: str = "auto",
    difference: float | None = None,
    relative_change: float | None = None,
    sd: float | None = None,
    effect_size: float | None = None,
    correlation: float | None = None,
    hazard_ratio: float | None = None,
    share_1: float | None = None,
    share_2: float | None = None,
    n: int | None = None,
    allocation: float = 1.0,
    n_total: int | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    dropout: float = 0.0,
    event_share: float | None = None,
    margin: float | None = None,
    groups: int = 3,
    cluster_size: float | None = None,
    icc: float | None = None,
    measure: str = "",
    group: str = "",
):
    """Plan the number of subjects, or say what a number of subjects can find."""
    import math

    import numpy as np
    import pandas as pd

    warnings = []
    given = {"effect_size": effect_size, "difference": difference, "relative_change": relative_change, "margin": margin,
             "correlation": correlation, "hazard_ratio": hazard_ratio, "share_1": share_1, "share_2": share_2,
             "groups": groups}  # fmt: skip
    design = planned_design(design, given)
    if (cluster_size is None) != (icc is None):
        raise ValueError("Clusters need both the number of subjects in each and the correlation within a cluster "
                         "(ICC); give cluster_size and icc, or neither.")  # fmt: skip
    if cluster_size is not None and design in ("correlation", "survival", "paired"):
        raise ValueError(f"The design {design} is not planned in clusters; leave out cluster_size and icc.")
    inflation = 1 + (cluster_size - 1) * icc if cluster_size is not None else 1.0
    means = design in ("two_means", "paired", "equivalence", "non_inferiority")
    if means and measure and sd is None and table is not None:
        sd, mean, pilot_n, notes = pilot_spread(table, measure, group)
        warnings += [*notes, f"The SD {format_number(sd)} was taken from {pilot_n} values of {measure} in the pilot."]
        if design == "paired":
            warnings.append("A paired design needs the SD of the differences; that of single values is usually larger.")
        if relative_change is not None and difference is None:
            difference = relative_change * abs(mean)
            warnings.append(
                f"A change of {100 * relative_change:g} % was taken of the pilot's mean {format_number(mean)}."
            )
    if means and relative_change is not None and difference is None and effect_size is None:
        raise ValueError("A change in percent needs the mean it is a percent of; name the difference in the unit "
                         "of the "
                         "measurement, or the pilot column.")  # fmt: skip
    if allocation != 1 and design in ("paired", "correlation", "anova"):
        raise ValueError(f"Unequal groups ({allocation:g} for each one) are planned for two groups, not for the design "
                         f"{design}; leave out allocation.")  # fmt: skip
    effect = effect_of(design, given | {"difference": difference}, sd)
    groups_of = {"two_means": 2, "proportions": 2, "equivalence": 2, "non_inferiority": 2, "anova": groups}
    several = groups_of.get(design, 1)
    if n is None and n_total is not None and design == "survival":
        n = math.floor(n_total * (event_share or 1) + 1e-9)
        warnings.append(f"Of {n_total} subjects {n} were taken to have the event" + (
            "." if event_share else ": all, which is the best case; give the share who will have it."))  # fmt: skip
    elif n is not None and design == "survival":
        warnings.append(f"{n} was taken for the number of events in both groups together, not of subjects.")
    elif n is None and n_total is not None:
        n = n_total // several if allocation == 1 else math.floor(n_total / (1 + allocation) + 1e-9)
        if several > 1:
            where = f"each of {several} groups" if allocation == 1 else "the first group"
            warnings.append(f"{n_total} subjects were taken as all there are: {n} in {where}.")
    if effect is None and n is None:
        raise ValueError(
            "To plan a study, name the effect that would matter (difference and SD, two percentages, a "
            "correlation or a "
            "hazard ratio), or the number of subjects there are."
        )
    if effect is None and design == "proportions" and share_1 is None:
        raise ValueError("To find the smallest difference of two shares, name the share expected in the first group.")
    least = {"correlation": 4}.get(design, 2)
    if n is not None and n < least:
        raise ValueError(f"{n} subjects a group are too few to compute a power; expected at least {least}.")
    if n is not None and allocation != 1 and n * allocation < 1.5:
        raise ValueError(
            f"{n} subjects with {allocation:g} in the second group for each leave too few there; take more."
        )
    if n is not None and n < 1.5 * inflation and cluster_size is not None:
        raise ValueError(f"{n} subjects a group count for fewer than 2 in such clusters; expected more clusters.")
    for value, name, bad in (
        (effect_size, "effect", 0),
        (correlation, "correlation", 0),
        (hazard_ratio, "hazard ratio", 1),
    ):
        if (
            value == bad
            or (name == "hazard ratio" and value == 0)
            or (name == "correlation" and value and abs(value) == 1)
        ):
            raise ValueError(f"The {name} {value:g} cannot be planned for; name one that would matter.")
    if design == "proportions" and effect and (share_1 == share_2 or not all(0 < p < 1 for p in effect)):
        raise ValueError(f"The shares {share_1:g} and {share_2:g} cannot be planned for; expected two different ones "
                         "between 0 and 1.")  # fmt: skip
    asked = "power" if effect is not None and n is not None else "effect" if effect is None else "n"
    exact = float("nan")
    if asked == "n":
        exact = inflation * smallest_number(design, effect, power, alpha, allocation)
        n = max(least, math.ceil(exact - 1e-9))
    elif asked == "effect":
        shift = abs(difference) / sd if difference and sd else 0.0
        effect = smallest_effect(design, n / inflation, power, alpha,
                                 {"proportions": share_1, "anova": groups}.get(design, shift), allocation)  # fmt: skip
    reached = planned_power(design, effect, n / inflation, alpha, allocation)
    unit = {"paired": "pairs", "correlation": "subjects", "survival": "events in both groups together"}.get(
        design, "subjects per group" if allocation == 1 else "subjects in the first group")  # fmt: skip
    unequal = allocation != 1 and design != "survival"
    second = math.ceil((exact if asked == "n" and exact > least else n) * allocation - 1e-9)
    total = n + second if unequal else n * several
    if design == "survival" and event_share:
        total = math.ceil(n / event_share)
    enrol = (
        sum(math.ceil(size / (1 - dropout) - 1e-9) for size in ([n, second] if unequal else [n] * several))
        if design != "survival"
        else math.ceil(total / (1 - dropout) - 1e-9)
    )
    what = effect_words(design, effect, sd if means else None)
    one_sided = design in ("equivalence", "non_inferiority")
    tail = f"{'alpha of each one-sided test' if one_sided else 'two-sided alpha'} {alpha:g}"
    verb = "show" if one_sided else "find"
    if asked == "n":
        more = f" and {second} in the second" if unequal else ""
        text = (f"{n} {unit}{more} are needed ({total} "
                f"{'subjects ' if design != 'survival' or event_share else 'events '}in all) "
                f"to {verb} {what} with a power of {100 * power:.3g} %, {tail}.")  # fmt: skip
    elif asked == "power":
        verdict = "enough" if reached >= power else "too few"
        text = (f"With {n} {unit} the chance to {verb} {what} is {100 * reached:.1f} % ({tail}): {verdict} for a "
                f"power of "
                f"{100 * power:.3g} %.")  # fmt: skip
    else:
        smallest = "margin shown" if one_sided else "effect found"
        text = f"With {n} {unit} the smallest {smallest} with a power of {100 * power:.3g} % is {what} ({tail})."
    row = {"design": design.replace("_", " "),
           "asked": {"n": "number", "power": "power", "effect": "smallest effect"}[asked],
           "n": n, "n_means": unit, "n_exact": exact, "total": total, "enrol": enrol, "power": reached, "alpha": alpha,
           "effect": effect[1] if design == "proportions" else effect[0] if isinstance(effect, tuple) else effect,
           "against": effect[0] if design == "proportions" else None,
           "n_second": second if unequal else None, "allocation": allocation if allocation != 1 else None,
           "groups": groups if design == "anova" else None, "sd": sd if means else None,
           "design_effect": inflation if cluster_size is not None else None,
           "clusters_per_group": math.ceil(n / cluster_size - 1e-9) if cluster_size is not None else None}  # fmt: skip
    if means and sd:
        row["margin" if one_sided else "difference"] = row["effect"] * sd
    plan = pd.DataFrame([{key: value for key, value in row.items() if value is not None}])
    findings = [{"text": text, "values": finding_values(n=n, power=reached, effect=row["effect"], total=total),
                 "output": "plan", "row": table_row(plan, design=row["design"])}]  # fmt: skip
    if design == "survival" and allocation != 1:
        warnings.append(f"The second group is taken to have {allocation:g} subjects, and about as many times the "
                        "events, for each of the first.")  # fmt: skip
    if cluster_size is not None:
        findings.append({
            "text": f"Clusters of {cluster_size:g} with a correlation of {icc:g} within them make every subject count "
                    f"for less (design effect {format_number(inflation)}): {n} subjects in "
                    f"{row['clusters_per_group']} clusters per group.",
            "values": finding_values(design_effect=inflation, clusters_per_group=row["clusters_per_group"]),
            "output": "plan", "row": table_row(plan, design=row["design"])})  # fmt: skip
        if row["clusters_per_group"] < 15:
            warnings.append(f"With {row['clusters_per_group']} clusters per group the analysis has few degrees of "
                            "freedom; add a cluster or two per group, and never take a single one.")  # fmt: skip
    if dropout:
        in_each = f", {enrol // 2} a group" if unit == "subjects per group" and not unequal and enrol % 2 == 0 else ""
        findings.append({
            "text": f"Allowing for {100 * dropout:g} % lost, {enrol} subjects should be enrolled in all{in_each}.",
            "values": finding_values(enrol=enrol, **({"per_group": enrol // 2} if in_each else {})), "output": "plan",
            "row": table_row(plan, design=row["design"])})  # fmt: skip
    if asked == "power" and reached < power:
        wanted = math.ceil(inflation * smallest_number(design, effect, power, alpha, allocation) - 1e-9)
        findings.append({"text": f"For a power of {100 * power:.3g} % it would take {wanted} {unit}.",
                         "values": finding_values(n_needed=wanted)})  # fmt: skip
    first = math.ceil((least + (design == "correlation")) * inflation)
    steps = np.unique(np.round(np.linspace(first, max(3 * n, first + 10), 40)).astype(int))
    curve = pd.DataFrame(
        {"n": steps, "power": [planned_power(design, effect, x / inflation, alpha, allocation) for x in steps]}
    )
    if design == "survival" and not event_share:
        warnings.append("Only events count for survival: more subjects are needed than events; name the share "
                        "who will have "
                        "the event.")  # fmt: skip
    if design == "proportions" and n * min(min(p, 1 - p) for p in effect) < 5:
        warnings.append("Fewer than 5 events are expected in a group: the normal approximation is rough here.")
    if asked == "power" and measure:
        warnings.append("Power computed for an effect that was seen in the same data adds nothing to its p-value.")
    if cluster_size is None:
        warnings.append("Subjects are taken to be independent; animals of one cage or patients of one clinic count for "
                        "less (cluster_size, icc).")  # fmt: skip
    return {"plan": plan, "curve": curve, "power_plot": power_figure(curve, unit, power, n), "findings": findings,
            "warnings": warnings}  # fmt: skip
