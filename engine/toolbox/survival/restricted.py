"""Why apart: where curves cross no hazard ratio tells the truth, but the time lived up to a moment still does.

The mean of the time to an event cannot be known when some are still followed; its mean up to a moment that all groups
reach can, and it is said in days or months, which everybody understands.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.group_tests import holm_adjust
from engine.toolbox.statistics.groups import group_contrasts
from engine.toolbox.survival.data import MOST_GROUPS, survival_curve, survival_data, survival_groups
from engine.toolbox.survival.horizon import TIME_UNITS, UNIT_WORDS, horizon_in_unit, unit_of_times
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    left_open,
    new_axes,
    palette,
    which_differ,
)
from engine.toolbox.tables.rows import table_row


@check("restricted_means_consistent")
def restricted_means_consistent(step: StepOutputs) -> Iterator[Issue]:
    """A restricted mean lies between 0 and tau and in its interval; differences and ratios are those of their row."""
    for _, row in step.table("means").iterrows():
        if not -1e-9 <= row["rmst"] <= row["tau"] * (1 + 1e-9) or not row["lower_95"] <= row["rmst"] <= row["upper_95"]:
            message = (
                f"{row['group']}: a mean of {row['rmst']} up to {row['tau']} cannot be, or is outside its interval."
            )
            yield Issue(code="restricted_mean_outside", severity="error", message=message, where="means")
    if "comparison" not in step.files:
        return
    for _, row in step.table("comparison").iterrows():
        apart = abs(row["difference"] - (row["rmst_1"] - row["rmst_2"])) > 1e-6 * max(1.0, abs(row["rmst_1"]))
        ratio = (
            row["ratio"] == row["ratio"] and abs(row["ratio"] * row["rmst_2"] - row["rmst_1"]) > 1e-6 * row["rmst_1"]
        )
        if apart or ratio or not row["lower_95"] <= row["difference"] <= row["upper_95"]:
            message = (
                f"{row['comparison']}: the difference or ratio is not that of its two means, or outside its interval."
            )
            yield Issue(code="restricted_difference_differs", severity="error", message=message, where="comparison")


def restricted_mean(curve, tau):
    """Return (mean time up to tau, its standard error): area under the curve, Greenwood variance.

    Both are in the unit of the times. Tian, Zhao and Wei (2014) and R's survRM2 use the same plug-in variance.
    """
    import numpy as np

    use = curve[curve["time"] < tau]
    edges = np.append(use["time"].to_numpy(dtype=float), tau)
    areas = np.diff(edges) * use["survival"].to_numpy(dtype=float)
    deaths, risk = use["events"].to_numpy(dtype=float), use["at_risk"].to_numpy(dtype=float)
    after = np.cumsum(areas[::-1])[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where((deaths > 0) & (risk > deaths), after**2 * deaths / (risk * (risk - deaths)), 0.0)
    return float(areas.sum()), float(np.sqrt(terms.sum()))


def settle_tau(data, labels, groups, tau, asked):
    """Return (tau, warnings); a tau that a group's curve does not reach raises ValueError."""
    reach = {}
    for name in groups:
        part = data[labels == name]
        last = float(part["time"].max())
        # A curve that has come down to 0 is known for ever after.
        reach[name] = float("inf") if part.loc[part["time"] == last, "event"].all() else last
    shortest = min(float(data.loc[labels == name, "time"].max()) for name in groups)
    if tau is None:
        return shortest, [f"The question names no time up to which the mean is taken; it is {shortest:g}, the smallest "
                          "last follow-up of a group. Name a time that means something to you."]  # fmt: skip
    if tau <= 0:
        raise ValueError(f"The mean is asked up to {asked}; expected a time above 0.")
    short = min(reach, key=lambda name: reach[name])
    if tau > reach[short] * (1 + 1e-9):
        raise ValueError(
            f"The mean is asked up to {asked}, but nobody of {short} was followed beyond {reach[short]:g}; choose at "
            f"most {shortest:g}."
        )
    return tau, []


def mean_contrast(first, second, one, two):
    """Return the row of two restricted means: difference (normal), ratio (log scale), both with 95 % intervals."""
    import math

    from scipy.stats import norm

    z = 1.959963984540054
    gap, error = one[0] - two[0], math.hypot(one[1], two[1])
    p_value = float(2 * norm.sf(abs(gap) / error)) if error > 0 else float("nan")
    row = {"comparison": f"{first} vs {second}", "rmst_1": one[0], "rmst_2": two[0], "difference": gap, "se": error,
           "lower_95": gap - z * error, "upper_95": gap + z * error, "p_value": p_value}  # fmt: skip
    row |= dict.fromkeys(("ratio", "ratio_lower_95", "ratio_upper_95"), float("nan"))
    if one[0] > 0 and two[0] > 0:
        spread = z * math.hypot(one[1] / one[0], two[1] / two[0])
        row |= {"ratio": one[0] / two[0], "ratio_lower_95": one[0] / two[0] * math.exp(-spread),
                "ratio_upper_95": one[0] / two[0] * math.exp(spread)}  # fmt: skip
    return row


def all_means_finding(means, compared, group, when, after, ended):
    """Return the finding on the restricted means of more than two groups: whether they differ, the ends, the pairs.

    The test of all together is Wald's: independent estimates against their precision-weighted mean, chi-squared with
    groups - 1 degrees of freedom. [] where a mean has no error (no event) or where not all pairs are compared.

    Args:
        means: group -> restricted mean and its standard error.
        compared: the rows of the pairs, with adjusted p-values.
        group: the column of groups.
        when: the moment, in words.
        after: the unit as it stands behind a number.
        ended: the event, in words.
    """
    from scipy import stats

    if len(compared) != len(means) * (len(means) - 1) // 2 or not all(error > 0 for _, error in means.values()):
        return []
    weights = {name: error**-2 for name, (_, error) in means.items()}
    centre = sum(weights[name] * mean for name, (mean, _) in means.items()) / sum(weights.values())
    statistic = sum(weights[name] * (mean - centre) ** 2 for name, (mean, _) in means.items())
    p_value = float(stats.chi2.sf(statistic, len(means) - 1))
    order = sorted(means, key=lambda name: -means[name][0])
    ends = [f"{called_level(name, group)} ({format_number(means[name][0])}{after})" for name in (order[0], order[-1])]
    pairs = [row | dict(zip(("group_1", "group_2"), row["comparison"].split(" vs ", 1), strict=True))
             for row in compared]  # fmt: skip
    verdict = (f"differs between the {len(means)} groups of {group}, longest with {ends[0]} and shortest with {ends[1]}"
               if p_value < 0.05 else f"is not shown to differ between the {len(means)} groups of {group}, from "
               f"{ends[1]} to {ends[0]}")  # fmt: skip
    return [{
        "text": f"Within the first {when}, the mean time without the event ({ended}) {verdict}: Wald test of all "
                f"together, {format_p(p_value)}; {which_differ(pairs, group)} at an adjusted p below 0.05 (Holm).",
        "values": finding_values(**{f"rmst {name}": means[name][0] for name in (order[0], order[-1])},
                                 statistic=statistic, p_value=p_value),
        "output": "means",
    }]  # fmt: skip


def draw_restricted(curves, tau, unit):
    """Return a figure of survival curves with the area up to tau that is the mean."""
    figure, axis = new_axes(width=6.4)
    for (name, curve), colour, style in zip(
        curves.items(), palette(len(curves)), ["-", "--", "-.", ":"] * 3, strict=False
    ):
        axis.step(curve["time"], curve["survival"], where="post", color=colour, linestyle=style, label=name)
        use = curve[curve["time"] < tau]
        edges, heights = [*use["time"], tau], [*use["survival"], use["survival"].iloc[-1]]
        axis.fill_between(edges, heights, step="post", color=colour, alpha=0.12, linewidth=0)
    axis.axvline(tau, color="0.4", linestyle="--", linewidth=0.9)
    axis.annotate(f" tau = {tau:g}", (tau, 1.0), fontsize=8, color="0.3", va="bottom", ha="center")
    axis.set_ylim(0, 1.06)
    axis.set_xlim(left=0)
    axis.set_ylabel("share still event-free (area = mean)")
    axis.set_xlabel(f"time ({unit})" if unit else "time (unit of the table)")
    axis.legend(frameon=False, fontsize=8)
    return figure


@tool(
    name="restricted_mean_survival",
    title="Restricted mean survival time (RMST)",
    description=(
        "Estimate the mean time without the event up to a moment tau (area under the Kaplan-Meier curve) in each "
        "group, and the difference and ratio between groups with 95 % intervals (Greenwood plug-in variance, normal; "
        "ratio on the log scale). Needs no proportional hazards, so it fits curves that cross. Tau is the time named, "
        "else the smallest last follow-up of a group. More than two groups: every pair, p-values adjusted by Holm."
    ),
    domain="clinical",
    task_type="analysis",
    methods=(
        "group => difference and ratio of restricted mean survival times with a z test, because times are "
        "censored and hazards need not be proportional",
        "restricted mean survival time, because times are censored",
    ),
    complete=("time", "event", "group"),
    answers=["restricted_mean_survival"],
    shows={
        "means": ["group", "n", "events", "rmst", "lower_95", "upper_95", "time_lost", "at_risk_at_tau"],
        "comparison": ["comparison", "difference", "lower_95", "upper_95", "ratio", "p_value", "p_adj"],
        "rmst_plot": [],
    },
    inputs={"survival": "survival_table: one row per subject"},
    outputs={
        "means": "table: restricted mean and time lost of every group",
        "comparison": "table: differences and ratios",
        "rmst_plot": "figure: curves with the area up to tau",
    },
    optional_outputs=("comparison",),
    params={
        "time": param("Column of follow-up times", kind="column", of="survival", role="time"),
        "event": param("Column that says whether the event happened", kind="column", of="survival", role="event"),
        "event_value": param("The level of the event column that means that it happened", kind="level", of="event",
                             role="event"),
        "group": param("Column of groups to compare; empty for one mean", kind="column", of="survival",
                       role="group", distinct=MOST_GROUPS),
        "treated": param("The group to compare", kind="level", of="group", role="interest"),
        "control": param("The group it is compared with", kind="level", of="group", role="reference",
                         otherwise="first"),
        "tau": param(
            "Time up to which the mean is taken; empty for the smallest last follow-up", minimum=0,
            words=["tau", "up to", "until", "till", "within(?: the)?(?: first)?", "first", "inside", "by day", "to",
                   "at", "rmst", "cut at", "(?:years?|months?|weeks?|days?|mo)"],
        ),
        "tau_unit": param("Unit of tau, where it differs from the column's", choices=TIME_UNITS, words=UNIT_WORDS,
                          of="tau", role="unit_of"),
        "time_unit": param("Unit of the times (days, months); empty to read it from the column's name",
                           role="time_unit"),
        "alpha": param("P-value below which a difference is reported", minimum=1e-10, maximum=0.5),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "restricted_means_consistent"),
    keywords=(
        "restricted mean survival", "RMST", "mean survival time", "area under the survival curve", "months gained",
        "life years gained", "crossing curves", "non-proportional hazards", "survRM2", "life expectancy",
    ),
    citations=(
        Citation(title="Moving beyond the hazard ratio in quantifying the between-group difference in survival "
                       "analysis",
                 authors="Uno H, Claggett B, Tian L, et al.", year=2014, doi="10.1200/JCO.2014.55.2208"),
        Citation(title="Restricted mean survival time: an alternative to the hazard ratio for the design and "
                       "analysis of randomized trials with a time-to-event outcome",
                 authors="Royston P, Parmar MKB", year=2013, doi="10.1186/1471-2288-13-152"),
    ),
    packages=("lifelines", "pandas", "numpy", "scipy"),
    seconds=3,
    example="How many months longer do patients on the new drug live within the first 3 years?",
    next_steps=(
        NextStep(text="If {param:group} was not assigned at random, compare again with the known prognostic factors "
                      "(cox_regression).", needs_param="group", unless_tool="cox_regression"),
    ),
)  # fmt: skip
def restricted_mean_survival(
    survival,
    *,
    time: str,
    event: str,
    event_value: str = "1",
    group: str = "",
    treated: str = "",
    control: str = "",
    tau: float | None = None,
    tau_unit: str = "",
    time_unit: str = "",
    alpha: float = 0.05,
):
    """Compare the mean time without the event up to a moment."""
    import pandas as pd

    if (treated or control) and not group:
        raise ValueError("A group to compare was named, but no column of groups; name the group column too.")
    data, chosen, warnings = survival_data(survival, time, event, event_value, [group] if group else [])
    labels, groups = survival_groups(data, group) if group else (pd.Series("all", index=data.index), ["all"])
    if len(groups) == 1 and group:
        warnings.append(f"{group} has the single level {groups[0]}: there is no second group to compare with.")
    pairs = group_contrasts(groups, group, treated, control) if len(groups) > 1 else []
    if treated and control and pairs:
        groups = [name for name in groups if name in pairs[0]]
    unit = unit_of_times(time, time_unit)
    asked = f"{tau:g} {tau_unit}".strip() if tau is not None else ""
    notes: list[str] = []
    if tau is not None:
        tau, notes = horizon_in_unit(tau, tau_unit, unit, time)
    tau, more = settle_tau(data, labels, groups, tau, asked)
    warnings += notes + more
    curves, means, rows = {}, {}, []
    for name in groups:
        part = data[labels == name]
        curves[name] = curve = survival_curve(part["time"].to_numpy(), part["event"].to_numpy(), "log-log")
        mean, error = means[name] = restricted_mean(curve, tau)
        low, high = max(0.0, mean - 1.959963984540054 * error), min(tau, mean + 1.959963984540054 * error)
        early = (part["time"] <= tau) & (part["event"] == 1)
        rows.append(
            {"group": name, "n": len(part), "events": int(early.sum()), "tau": tau, "rmst": mean, "se": error,
             "lower_95": low, "upper_95": high, "time_lost": tau - mean,
             "at_risk_at_tau": int((part["time"] >= tau).sum())}
        )  # fmt: skip
    table = pd.DataFrame(rows)
    when = f"{tau:g} {unit}" if unit else f"time {tau:g}"
    after = f" {unit}" if unit else ""
    compared = [mean_contrast(first, second, means[first], means[second]) for first, second in pairs]
    if len(compared) > 1:
        compared = holm_adjust(compared)
        warnings.append(f"The p-values of {len(compared)} pairs are adjusted by Holm; their intervals are not.")
    comparison = pd.DataFrame(compared) if compared else None
    findings = (
        all_means_finding(means, compared, group, when, after, f"{event} = {chosen}") if len(compared) > 1 else []
    )
    for row in sorted(compared, key=lambda row: row["p_value"])[:6]:
        first, second = row["comparison"].split(" vs ", 1)
        p_value = row.get("p_adj", row["p_value"])
        first, second = called_level(first, group), called_level(second, group)
        if p_value < alpha:
            claim = f"{'longer' if row['difference'] > 0 else 'shorter'} with {first} than with {second}"
        else:
            claim = f"not shown to differ between {first} and {second}"
        unseen = "" if p_value < alpha else left_open(row["lower_95"], row["upper_95"], unit=unit)
        ratio = (f"; ratio {format_number(row['ratio'])} (95 % interval {format_number(row['ratio_lower_95'])} to "
                 f"{format_number(row['ratio_upper_95'])})") if row["ratio"] == row["ratio"] else ""  # fmt: skip
        adjusted = f", adjusted {format_p(row['p_adj'])}" if "p_adj" in row else ""
        findings.append(
            {"text": f"Within the first {when}, the mean time without the event ({event} = {chosen}) is {claim}: "
                     f"{format_number(row['rmst_1'])} against {format_number(row['rmst_2'])}{after}, difference "
                     f"{format_number(row['difference'])}{after} (95 % interval {format_number(row['lower_95'])} to "
                     f"{format_number(row['upper_95'])}, {format_p(row['p_value'])}{adjusted}){ratio}{unseen}.",
             "values": finding_values(difference=(row["difference"], row["lower_95"], row["upper_95"]),
                                      ratio=(row["ratio"], row["ratio_lower_95"], row["ratio_upper_95"]),
                                      p_value=row["p_value"], p_adj=row.get("p_adj")),
             "output": "comparison", "row": table_row(comparison, comparison=row["comparison"])}
        )  # fmt: skip
    findings += [
        {"text": f"{f'{group} = ' if group else ''}{row['group'] if group else 'All subjects'}: on average "
                 f"{format_number(row['rmst'])} of the first {when} without the event (95 % interval "
                 f"{format_number(row['lower_95'])} to {format_number(row['upper_95'])}; n = {row['n']}, "
                 f"{row['events']} events by then, {row['at_risk_at_tau']} still followed).",
         "values": finding_values(rmst=(row["rmst"], row["lower_95"], row["upper_95"]), n=row["n"],
                                  events=row["events"]),
         "output": "means", "row": table_row(table, group=row["group"])}
        for row in rows[:8]
    ]  # fmt: skip
    few = [f"{row['group']} ({row['at_risk_at_tau']})" for row in rows if row["at_risk_at_tau"] < 5]
    if few:
        warnings.append(
            f"Fewer than 5 subjects are still followed at {tau:g} in: {', '.join(few)}; a smaller tau is surer."
        )
    small = [f"{row['group']} ({row['events']})" for row in rows if row["events"] < 5]
    if small:
        warnings.append(f"Fewer than 5 events up to {tau:g} in: {', '.join(small)}; the interval is approximate.")
    if not unit:
        warnings.append(f"The unit of {time} is not known; means are in the unit of the table.")
    return {
        "means": table,
        "comparison": comparison,
        "rmst_plot": draw_restricted(curves, tau, unit),
        "findings": findings,
        "warnings": warnings,
    }
