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
    if (curve["power"].diff().dropna() < -1e-6).any():
        yield Issue(code="power_falls", severity="error", message="Power falls with more subjects.", where="curve")


def planned_power(design, effect, n, alpha):
    """Return the two-sided power of a design: n subjects a group (pairs, subjects or events where there is one group).

    `effect` is Cohen's d (difference / SD), a correlation, a hazard ratio, or two shares.
    """
    import numpy as np
    from scipy import stats

    z = stats.norm.isf(alpha / 2)
    if design in ("two_means", "paired"):
        pairs = design == "paired"
        df, shift = (n - 1, effect * n**0.5) if pairs else (2 * n - 2, effect * (n / 2) ** 0.5)
        limit = stats.t.isf(alpha / 2, df)
        near = stats.nct.sf(limit, df, abs(shift))
        far = stats.nct.cdf(-limit, df, abs(shift))
        return float(min(1.0, near + (far if far == far else 0.0)))
    if design == "proportions":
        p1, p2 = effect
        middle = (p1 + p2) / 2
        spread = (p1 * (1 - p1) + p2 * (1 - p2)) ** 0.5
        return float(stats.norm.cdf((n**0.5 * abs(p1 - p2) - z * (2 * middle * (1 - middle)) ** 0.5) / spread))
    if design == "correlation":
        t = stats.t.isf(alpha / 2, n - 2)
        limit = np.arctanh((t**2 / (t**2 + n - 2)) ** 0.5)
        shift = np.arctanh(abs(effect)) + abs(effect) / (2 * (n - 1))
        return float(
            stats.norm.cdf((shift - limit) * (n - 3) ** 0.5) + stats.norm.cdf((-shift - limit) * (n - 3) ** 0.5)
        )
    return float(stats.norm.cdf(abs(np.log(effect)) * (n / 4) ** 0.5 - z))


def smallest_number(design, effect, power, alpha):
    """Return the exact (fractional) number a group that reaches the power."""
    from scipy.optimize import brentq

    low = {"two_means": 1.5, "paired": 1.5, "correlation": 3.5}.get(design, 1.0)
    if planned_power(design, effect, low, alpha) >= power:
        return low
    high = 4.0
    while planned_power(design, effect, high, alpha) < power:
        high *= 2
        if high > 1e7:
            raise ValueError("More than 10 million subjects would be needed; the effect is too small to plan for.")
    return float(brentq(lambda n: planned_power(design, effect, n, alpha) - power, low, high, xtol=1e-9))


def smallest_effect(design, n, power, alpha, share=None):
    """Return the smallest effect that n subjects a group find with the power: d, r, a hazard ratio, the other share."""
    from scipy.optimize import brentq

    if design == "proportions":
        top = 1 - 1e-9
        if planned_power(design, (share, top), n, alpha) < power:
            raise ValueError(f"{n} subjects a group cannot find any rise from a share of {share:g} with this power.")
        return share, float(brentq(lambda p: planned_power(design, (share, p), n, alpha) - power, share + 1e-9, top))
    if design == "survival":
        from math import exp

        return exp(-brentq(lambda x: planned_power(design, exp(x), n, alpha) - power, 1e-9, 50))
    high = 0.999999 if design == "correlation" else 100.0
    if planned_power(design, high, n, alpha) < power:
        raise ValueError(f"{n} subjects are too few to find any effect with this power; take more.")
    return float(brentq(lambda x: planned_power(design, x, n, alpha) - power, 1e-9, high, xtol=1e-12))


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


def planned_design(design, effect_size, difference, change, correlation, hazard_ratio, share_1, share_2):
    """Return the design that the numbers given belong to; two kinds at once are refused where no design is named."""
    given = {
        "two_means": effect_size is not None or difference is not None or change is not None,
        "correlation": correlation is not None,
        "survival": hazard_ratio is not None,
        "proportions": share_1 is not None and share_2 is not None,
    }
    kinds = [name for name, there in given.items() if there]
    if design != "auto":
        return design
    if len(kinds) > 1:
        raise ValueError(f"The numbers belong to several designs ({', '.join(kinds)}); name the design.")
    return kinds[0] if kinds else "proportions" if share_1 is not None else "two_means"


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
_CHANGE = r"(?:differences?|diff|delta|drop|fall|rise|gain|change|increase|decrease|reduction|advantage|improvement)"
_MORE = (
    r"(?:differences?|more|less|better|worse|higher|lower|shorter|longer|heavier|lighter|faster|drop|rise|gain|apart)"
)
_UNLIKE = r"(?:vs\.?|versus|against|to|instead of)"


@tool(
    name="power_sample_size",
    title="Power and sample size",
    description=(
        "Compute how many subjects a study needs, what power a number of subjects has, or the smallest effect it "
        "can find: "
        "two means and paired measurements (noncentral t), two proportions (normal approximation), a correlation "
        "(Fisher's "
        "z), survival by the number of events (Schoenfeld). Two-sided, groups of one size. The numbers come from the "
        "question; a pilot column may give the standard deviation. With allowance for dropout and a power curve."
    ),
    domain="statistics",
    task_type="analysis",
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
            choices=["auto", "two_means", "paired", "proportions", "correlation", "survival"],
            words=["paired: paired|before.{1,5}after|cross-?over|pre.{1,5}post|within.subjects?",
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
            "Difference divided by the standard deviation (Cohen's d)",
            words=[r"(?:cohen'?s )?d(?=\s*(?:=|of|is)?\s*\d)", r"effect(?: size)?(?: of)?(?=[\s=:ofd]*\d)",
                   r"(?:sds?|standard deviations?)(?!\s*(?:=|of|is|:)?\s*\d)"],
        ),
        "correlation": param(
            "Correlation that should be noticed", minimum=-1, maximum=1,
            words=[r"correlation(?: coefficient)?(?: of)?", r"r(?=\s*=\s*)"],
        ),
        "hazard_ratio": param("Hazard ratio that should be noticed", minimum=0, words=["hazard ratio", "hr"]),
        "share_1": param(
            "Share in the first group", unit="share", minimum=0, maximum=1,
            words=[rf"(?:%|per\s?cent)?\s*{_UNLIKE}\s*(?:\d*\.\d+|\d+(?:,\d+)?(?=\s*(?:%|per\s?cent)))"],
        ),
        "share_2": param(
            "Share in the second group", unit="share", minimum=0, maximum=1,
            words=[rf"(?<=\d)\s*(?:%|per\s?cent)?\s*{_UNLIKE}"],
        ),
        "n": param(
            "Subjects a group (pairs, subjects or events where there is one group)", minimum=2,
            words=[r"(?:[a-z]+\s+)?(?:per|in each|in every|in both|a|each|on each|on every)\s+"
                   r"(?:groups?|arms?|treatments?|variety|diet|side|feed|pill|one|arm)\b(?!\s*(?:=|of|to|:|is)?\s*\d)",
                   r"(?:[a-z]+\s+)?(?:pairs|each|apiece|events)\b(?!\s*(?:=|of|to|:|is)?\s*\d)",
                   r"n(?=\s*=\s*\d)"],
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
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="How many cows per group do I need to see a difference of 2 litres, SD 4, power 0.8?",
    next_steps=(
        NextStep(text="Plan again with an effect a third smaller and an SD a third larger: if the answer "
                      "frightens, the study "
                      "rests on optimism."),
    ),
    helpers=(plain_table, require_columns, numeric_values, level_labels, complete_rows, format_number, finding_values,
             palette, new_axes, planned_power, smallest_number, smallest_effect, pilot_spread, planned_design,
             power_figure, table_row),
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
    n_total: int | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    dropout: float = 0.0,
    event_share: float | None = None,
    measure: str = "",
    group: str = "",
):
    """Plan the number of subjects, or say what a number of subjects can find."""
    import math

    import numpy as np
    import pandas as pd

    warnings = []
    design = planned_design(
        design, effect_size, difference, relative_change, correlation, hazard_ratio, share_1, share_2
    )
    means = design in ("two_means", "paired")
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
    if means and effect_size is None and difference is not None:
        if not sd:
            raise ValueError(f"A difference of {difference:g} says nothing without the spread; name the standard "
                             f"deviation "
                             "(SD 12), or a pilot column to take it from.")  # fmt: skip
        effect_size = abs(difference) / sd
    effect = {"two_means": effect_size, "paired": effect_size, "correlation": correlation, "survival": hazard_ratio,
              "proportions": (share_1, share_2) if share_1 is not None and share_2 is not None else None,
              }[design]  # fmt: skip
    two = design in ("two_means", "proportions")
    if n is None and n_total is not None:
        n = n_total // 2 if two else n_total
        if two and n_total:
            warnings.append(f"{n_total} subjects were taken as all there are: {n} in each of two groups.")
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
        exact = smallest_number(design, effect, power, alpha)
        n = max(least, math.ceil(exact - 1e-9))
    elif asked == "effect":
        effect = smallest_effect(design, n, power, alpha, share_1)
    reached = planned_power(design, effect, n, alpha)
    unit = {"two_means": "subjects per group", "proportions": "subjects per group", "paired": "pairs",
            "correlation": "subjects", "survival": "events in both groups together"}[design]  # fmt: skip
    groups = 2 if two else 1
    total = n * groups
    if design == "survival" and event_share:
        total = math.ceil(n / event_share)
    enrol = (
        math.ceil(n / (1 - dropout) - 1e-9) * groups
        if design != "survival"
        else math.ceil(total / (1 - dropout) - 1e-9)
    )
    what = {
        "two_means": lambda: f"a difference of {format_number(effect)} SD",
        "paired": lambda: f"a mean change of {format_number(effect)} SDs of the differences",
        "correlation": lambda: f"a correlation of {format_number(effect)}",
        "survival": lambda: f"a hazard ratio of {format_number(effect)}",
        "proportions": lambda: f"{100 * effect[0]:.3g} % against {100 * effect[1]:.3g} %",
    }[design]()
    if means and sd:
        what = f"a difference of {format_number(effect * sd)} (SD {format_number(sd)}, {format_number(effect)} SDs)"
    tail = f"two-sided alpha {alpha:g}"
    if asked == "n":
        text = (f"{n} {unit} are needed ({total} "
                f"{'subjects ' if design != 'survival' or event_share else 'events '}in all) "
                f"to find {what} with a power of {100 * power:.3g} %, {tail}.")  # fmt: skip
    elif asked == "power":
        verdict = "enough" if reached >= power else "too few"
        text = (f"With {n} {unit} the chance to find {what} is {100 * reached:.1f} % ({tail}): {verdict} for a "
                f"power of "
                f"{100 * power:.3g} %.")  # fmt: skip
    else:
        text = f"With {n} {unit} the smallest effect found with a power of {100 * power:.3g} % is {what} ({tail})."
    row = {"design": design.replace("_", " "),
           "asked": {"n": "number", "power": "power", "effect": "smallest effect"}[asked],
           "n": n, "n_means": unit, "n_exact": exact, "total": total, "enrol": enrol, "power": reached, "alpha": alpha,
           "effect": effect[1] if design == "proportions" else effect,
           "against": effect[0] if design == "proportions" else None,
           "difference": effect * sd if means and sd else None, "sd": sd if means else None}  # fmt: skip
    plan = pd.DataFrame([{key: value for key, value in row.items() if value is not None}])
    findings = [{"text": text, "values": finding_values(n=n, power=reached, effect=row["effect"], total=total),
                 "output": "plan", "row": table_row(plan, design=row["design"])}]  # fmt: skip
    if dropout:
        findings.append({
            "text": f"Allowing for {100 * dropout:g} % lost, {enrol} subjects should be enrolled in all.",
            "values": finding_values(enrol=enrol), "output": "plan",
            "row": table_row(plan, design=row["design"])})  # fmt: skip
    if asked == "power" and reached < power:
        wanted = math.ceil(smallest_number(design, effect, power, alpha) - 1e-9)
        findings.append({"text": f"For a power of {100 * power:.3g} % it would take {wanted} {unit}.",
                         "values": finding_values(n_needed=wanted)})  # fmt: skip
    steps = np.unique(np.round(np.linspace(least + (design == "correlation"), max(3 * n, 12), 40)).astype(int))
    curve = pd.DataFrame({"n": steps, "power": [planned_power(design, effect, int(x), alpha) for x in steps]})
    if design == "survival" and not event_share:
        warnings.append("Only events count for survival: more subjects are needed than events; name the share "
                        "who will have "
                        "the event.")  # fmt: skip
    if design == "proportions" and n * min(min(p, 1 - p) for p in effect) < 5:
        warnings.append("Fewer than 5 events are expected in a group: the normal approximation is rough here.")
    if asked == "power" and measure:
        warnings.append("Power computed for an effect that was seen in the same data adds nothing to its p-value.")
    warnings.append(
        "Subjects are taken to be independent; animals of one cage or patients of one clinic count for less."
    )
    return {"plan": plan, "curve": curve, "power_plot": power_figure(curve, unit, power, n), "findings": findings,
            "warnings": warnings}  # fmt: skip
