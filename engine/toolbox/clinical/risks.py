"""Why all four together: a risk that doubles from 1 to 2 in a million and one from 20 to 40 % have the same ratio.

The ratio says how strong, the difference and the number needed say how much it matters; none stands without its
interval, and none is made finite by a correction that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.groups import group_contrasts
from engine.toolbox.statistics.proportions import (
    compare_two_shares,
    share_row,
    tally_shares,
)
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    left_open,
    likely_control,
    new_axes,
    order_levels,
    palette,
    plain_table,
)

MOST_GROUPS = 12
"""So many groups are compared."""


@check("risk_measures_consistent")
def risk_measures_consistent(step: StepOutputs) -> Iterator[Issue]:
    """Every estimate lies in its interval, and ratio and difference of a comparison point the same way."""
    table = step.table("measures")
    bounded = table.dropna(subset=["estimate", "lower_95", "upper_95"])
    slack = 1e-9 * bounded["estimate"].abs().clip(upper=1e300) + 1e-12
    wrong = bounded[
        (bounded["lower_95"] > bounded["estimate"] + slack) | (bounded["upper_95"] < bounded["estimate"] - slack)
    ]
    if len(wrong):
        message = f"{wrong['measure'].iloc[0]} {wrong['estimate'].iloc[0]} lies outside its own interval."
        yield Issue(code="interval_without_estimate", severity="error", message=message, where="measures")
    plain = table[table["correction"].fillna("none") == "none"]
    for name, rows in plain.groupby("comparison"):
        by = rows.set_index("measure")["estimate"].to_dict()
        gap, ratio = by.get("risk difference"), by.get("risk ratio")
        if gap is not None and ratio is not None and ratio == ratio and gap * (ratio - 1) < -1e-9:
            message = f"{name}: risk ratio {ratio} and risk difference {gap} point in opposite directions."
            yield Issue(code="risks_disagree", severity="error", message=message, where="measures")


def unexposed_level(levels):
    """Return the level that reads like `not exposed`: a control, or another level denied (unvaccinated, no helmet)."""
    import re

    denied = [
        level for level in levels
        if any(re.fullmatch(rf"(?:un|non|not|no|without|never)[\s_-]*{re.escape(other)}s?", level, re.IGNORECASE)
               for other in levels)
    ]  # fmt: skip
    return likely_control(levels) or (denied[0] if len(denied) == 1 else "")


def sampled_by_outcome(column, outcome):
    """Say how a yes/no column shows that subjects were chosen by it: `named` (case, control), `balanced`, or ""."""
    import re
    from collections import Counter

    counts = Counter(str(label).strip().casefold() for label in column.dropna())
    named = len(counts) == 2 and all(re.fullmatch(r"cases?|controls?", label) for label in counts)
    if named or re.search(r"case[\\W_]*(?:control|referent)", str(outcome), re.IGNORECASE):
        return "named"
    sizes = list(counts.values())
    return "balanced" if len(sizes) == 2 and sizes[0] == sizes[1] >= 20 else ""


def log_interval(estimate, variance):
    """Return the 95 % interval of a ratio from the variance of its logarithm."""
    import math

    half = 1.959963984540054 * math.sqrt(variance)
    return estimate * math.exp(-half), estimate * math.exp(half)


def odds_ratio_row(first, second, added):
    """Return the odds ratio of two groups: Woolf's interval, or the exact one where a count is 0.

    Args:
        first: row with `events` and `total`.
        second: the row it is compared with.
        added: what is added to each of the four counts (0, or 0.5 after Haldane and Anscombe).
    """
    import math

    from scipy.stats import contingency

    counts = [
        [first["events"], first["total"] - first["events"]],
        [second["events"], second["total"] - second["events"]],
    ]
    (a, b), (c, d) = [[count + added for count in pair] for pair in counts]
    row = {"measure": "odds ratio", "estimate": a * d / (b * c) if b * c else math.inf if a * d else math.nan}
    if min(a, b, c, d) > 0:
        low, high = log_interval(row["estimate"], 1 / a + 1 / b + 1 / c + 1 / d)
        return row | {"lower_95": low, "upper_95": high, "method": "Woolf's interval"}
    if row["estimate"] != row["estimate"]:
        return row | {"method": "none: both groups have only events, or none"}
    limits = contingency.odds_ratio(counts, kind="conditional").confidence_interval(0.95)
    return row | {"lower_95": float(limits.low), "upper_95": float(limits.high), "method": "exact conditional interval"}


def risk_ratio_row(first, second, added):
    """Return the risk ratio of two groups with Katz's interval; none where a group has no event."""
    import math

    (a, n), (c, m) = [(row["events"] + added, row["total"] + 2 * added) for row in (first, second)]
    row = {"measure": "risk ratio", "estimate": (a / n) / (c / m) if c else math.inf if a else math.nan}
    if not a or not c:
        return row | {"method": "no interval: a group has no event"}
    low, high = log_interval(row["estimate"], 1 / a - 1 / n + 1 / c - 1 / m)
    return row | {"lower_95": low, "upper_95": high, "method": "Katz's log interval"}


def number_needed(difference, low, high):
    """Return the number needed for one event more or fewer (1 / |difference|) and its interval in words.

    Args:
        difference: risk of the group of interest minus that of the reference, as shares.
        low: lower limit of its 95 % interval.
        high: upper limit.

    Returns:
        A row; limits are numbers only where the interval of the difference leaves out 0. Where it does not, the
        interval of the number runs through infinity (Altman 1998) and stands in `note`.
    """
    import math

    row = {"measure": "number needed", "estimate": 1 / abs(difference) if difference else math.inf}
    side = {True: "one event more", False: "one event fewer"}
    row["method"] = f"1 / risk difference: {side[difference > 0]}" if difference else "1 / risk difference"
    if low > 0 or high < 0:
        ends = sorted(1 / abs(limit) for limit in (low, high))
        return row | {"lower_95": ends[0], "upper_95": ends[1], "note": ""}
    parts = [f"{format_number(1 / abs(limit))} for {side[limit > 0]}" for limit in (low, high) if limit]
    return row | {"note": " through infinity to ".join(parts) or "infinite"}


def compared_risks(first, second, added, case_control):
    """Return the rows of all measures of one comparison: first against second."""
    tested = compare_two_shares(first, second)
    rows = [odds_ratio_row(first, second, added)]
    if not case_control:
        gap = {"measure": "risk difference", "estimate": tested["difference"], "lower_95": tested["lower_95"],
               "upper_95": tested["upper_95"], "method": "Newcombe's interval from Wilson's"}  # fmt: skip
        needed = number_needed(gap["estimate"], gap["lower_95"], gap["upper_95"])
        rows = [risk_ratio_row(first, second, added), gap, needed, *rows]
    for row in rows:
        ratio = row["measure"] in ("risk ratio", "odds ratio")
        row["correction"] = f"{added:g} added to every count" if added and ratio else "none"
        row |= {"comparison": tested["comparison"], "p_value": tested["p_value"], "test": tested["test"]}
    return rows


def risk_figure(risks, measures, what, group):
    """Draw the risk of every group, beside the ratios with their intervals on a logarithmic axis."""
    import math

    ratios = [row for row in measures if row["measure"] in ("risk ratio", "odds ratio")
              and row["estimate"] > 0 and math.isfinite(row["estimate"])]  # fmt: skip
    height = max(3.4, min(12, 0.45 * max(len(risks), len(ratios)) + 1.8))
    figure, axes = new_axes(width=10 if ratios else 5.4, height=height, panels=2 if ratios else 1)
    left, right = axes if ratios else (axes, None)
    colours = palette(2)
    for place, row in enumerate(reversed(risks)):
        low, high = row["share"] - row["lower_95"], row["upper_95"] - row["share"]
        left.errorbar([100 * row["share"]], [place], xerr=[[100 * max(low, 0)], [100 * max(high, 0)]], fmt="o",
                      color=colours[0], capsize=4)  # fmt: skip
    names = [f"{row['group']}\n{row['events']} of {row['total']}" for row in reversed(risks)]
    left.set_yticks(range(len(risks)), names)
    left.set_ylim(-0.6, len(risks) - 0.4)
    left.set_xlim(left=0)
    left.set_xlabel(f"{what} (%, 95 % CI)")
    left.set_ylabel(group)
    if right is None:
        return figure
    right.set_xscale("log")
    for place, row in enumerate(reversed(ratios)):
        low, high = row.get("lower_95", math.nan), row.get("upper_95", math.nan)
        if low > 0 and math.isfinite(high):
            right.plot([low, high], [place, place], color=colours[0], linewidth=1.4)
        right.scatter([row["estimate"]], [place], color=colours[0], marker="s" if "risk" in row["measure"] else "D")
    right.axvline(1, color="0.5", linestyle="--", linewidth=0.9)
    right.set_yticks(range(len(ratios)), [f"{row['measure']}\n{row['comparison'][:34]}" for row in reversed(ratios)])
    right.set_ylim(-0.6, len(ratios) - 0.4)
    limits = [x for row in ratios for x in (row["estimate"], row.get("lower_95"), row.get("upper_95"))
              if x and 0 < x < math.inf]  # fmt: skip
    right.set_xlim(min(0.5, 0.8 * min(limits)), max(2, 1.25 * max(limits)))
    ticks = [x for x in (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000)
             if right.get_xlim()[0] <= x <= right.get_xlim()[1]]  # fmt: skip
    right.set_xticks(ticks, [f"{x:g}" for x in ticks])
    right.minorticks_off()
    right.set_xlabel("ratio (log scale, 95 % CI)")
    return figure


def risk_findings(first, second, rows, what, alpha, group="", asked="auto"):
    """Return the findings of one comparison, first the measure that is asked for (the risk ratio for auto)."""
    import math

    by = {row["measure"]: row for row in rows}
    one, other = (called_level(row["group"], group) for row in (first, second))
    pair = f"{first['group']} vs {second['group']}"

    def interval(row, scale=1.0):
        low, high = row.get("lower_95", math.nan), row.get("upper_95", math.nan)
        if low != low:
            return "no 95 % interval"
        return f"95 % CI {format_number(scale * low)} to {format_number(scale * high)}"

    def finding(row, text):
        return {"text": text, "output": "measures",
                "row": {"comparison": pair, "measure": row["measure"]},
                "values": finding_values(estimate=(row["estimate"] if math.isfinite(row["estimate"]) else None,
                                                   row.get("lower_95"), row.get("upper_95")),
                                         p_value=row["p_value"])}  # fmt: skip

    odds = by["odds ratio"]
    shares = " against ".join(
        f"{100 * row['share']:.1f} % ({row['events']} of {row['total']})" for row in (first, second)
    )
    clear = odds["p_value"] < alpha
    tail = f"{format_p(odds['p_value'])}, {odds['test']}"
    higher = "higher" if first["share"] > second["share"] else "lower"
    if "risk ratio" not in by:
        start = (f"The odds of {what} are {higher} in {one} than in {other}" if clear
                 else f"The odds of {what} are not shown to differ between {one} and {other}")  # fmt: skip
        return [finding(odds, f"{start}: odds ratio {format_number(odds['estimate'])} ({interval(odds)}); {tail}.")]
    ratio, gap, needed = by["risk ratio"], by["risk difference"], by["number needed"]
    start = (f"The risk of {what} is {higher} in {one} than in {other}" if clear
             else f"The risk of {what} is not shown to differ between {one} and {other}")  # fmt: skip
    more = "more" if gap["estimate"] > 0 else "fewer"
    open_ends = left_open(ratio.get("lower_95"), ratio.get("upper_95"), ratio=True)
    every = (f"; one event {more} for every {math.ceil(needed['estimate'] - 1e-9)} in {one}" if "lower_95" in needed
             else "" if clear else open_ends)  # fmt: skip
    sizes = {
        "odds ratio": (odds, f"odds ratio {format_number(odds['estimate'])} ({interval(odds)})"),
        "risk difference": (gap, f"difference {format_number(100 * gap['estimate'])} percentage points "
                                 f"({interval(gap, 100)})"),
    }  # fmt: skip
    main, size = sizes.get(asked, (ratio, f"risk ratio {format_number(ratio['estimate'])} ({interval(ratio)})"))
    found = [
        finding(main, f"{start}: {shares}, {size}, {tail}{every}."),
        finding(ratio, f"{pair}: risk ratio {format_number(ratio['estimate'])} ({interval(ratio)})."),
        finding(gap, f"{pair}: risk difference {format_number(100 * gap['estimate'])} percentage points "
                     f"({interval(gap, 100)})."),
        finding(odds, f"{pair}: odds ratio {format_number(odds['estimate'])} ({interval(odds)})."),
    ]  # fmt: skip
    found = [found[0], *(item for item in found[1:] if item["row"] != found[0]["row"])]
    if "lower_95" in needed:
        found.insert(2, finding(needed, f"For every {math.ceil(needed['estimate'] - 1e-9)} in {one} "
                                        f"instead of {other} there is one event {more} (number needed "
                                        f"{format_number(needed['estimate'])}; {interval(needed)})."))  # fmt: skip
    elif needed["estimate"] < math.inf:
        found.insert(2, finding(needed, f"The number needed is {format_number(needed['estimate'])} for one event "
                                        f"{more}, "
                                        f"but its 95 % interval runs from {needed['note']}: no difference is not "
                                        "excluded."))  # fmt: skip
    return found


LED_BY = param(
    "What leads the answer; auto takes the risk ratio, or the odds ratio of cases and controls",
    choices=["auto", "odds ratio", "risk ratio", "risk difference"],
    words=[
        "risk ratio: (?:risk ratio|relative risk|(?-i:RR)\\b)",
        "odds ratio: odds|(?-i:OR)\\b",
        "risk difference: (?:absolute )?risk (?:difference|reduction)|(?-i:A?RD|ARR)\\b|percentage points?",
    ],
)


@tool(
    name="risk_measures",
    title="Risk ratio, odds ratio, risk difference and number needed to treat",
    description=(
        "Compare the risk of an event between the exposed and the unexposed (treated and control): risk ratio with "
        "Katz's log interval, odds ratio with Woolf's (the exact conditional one where a count is 0), risk difference "
        "with Newcombe's interval from Wilson's, number needed to treat with Altman's interval, and the chi-square or "
        "Fisher's exact test. From a column of groups and a yes/no column, or from counts of events and totals per "
        "group. Nothing is added to zero counts unless `haldane` is set. In a case-control study only the odds ratio."
    ),
    domain="clinical",
    task_type="analysis",
    methods=(
        "design=case_control => odds ratio, and a chi-square test (Fisher's exact test where an expected "
        "count is below 5), because subjects were chosen by the outcome",
        "design=cohort => risk ratio, odds ratio and risk difference, and a chi-square test (Fisher's "
        "exact test where an expected count is below 5), because groups are compared by a yes/no outcome",
        "risk ratio, odds ratio and risk difference (only the odds ratio where subjects were chosen by the "
        "outcome), and a chi-square test (Fisher's exact test where an expected count is below 5), because "
        "groups are compared by a yes/no outcome",
    ),
    complete=("exposure", "outcome", "not events"),
    answers=["risk_measures"],
    inputs={"table": "table: one row a subject, or rows of events and totals"},
    outputs={
        "measures": "table: every measure of every comparison with its interval and method",
        "risks": "table: events, total and risk of every group",
        "risk_plot": "figure: risks and ratios with intervals",
    },
    params={
        "exposure": param("Column of the groups: exposed or not, treatment", kind="column", of="table",
                          role="group", distinct=MOST_GROUPS),
        "outcome": param("Yes/no column, a row a subject", kind="column", of="table", role="outcome", needed=True),
        "event_value": param("The level that is the event; empty to recognise it", kind="level", of="outcome",
                             role="event"),
        "events": param("Column of counted events, when the table is tallied", kind="column", of="table", role="part",
                        instead_of=["outcome", "event_value"]),
        "total": param("Column of totals that the events are part of", kind="column", of="table", role="total",
                       instead_of=["outcome", "event_value"]),
        "exposed": param("The group whose risk is asked for", kind="level", of="exposure", role="interest"),
        "reference": param("The group it is compared with", kind="level", of="exposure", role="reference"),
        "design": param("How subjects were found; case_control gives the odds ratio only; auto by the names of the "
                        "outcome", choices=["auto", "cohort", "case_control"],
                        words=["cohort: cohort|prospective|followed up",
                               "case_control: case.?control|cases and (?:their )?(?:matched )?controls"]),
        "measure": LED_BY,
        "haldane": param("Add 0.5 to every count for the ratios (Haldane and Anscombe)",
                         words=["true: haldane|anscombe|add(?:ing|ed)? (?:a half|0[.,]5)"]),
        "alpha": param("P-value below which a difference is reported", minimum=1e-10, maximum=0.5),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "shares_match_counts",
            "risk_measures_consistent"),
    keywords=("risk ratio", "relative risk", "odds ratio", "risk difference", "absolute risk reduction",
              "number needed to treat", "number needed to harm", "NNT", "NNH", "attack rate", "2x2 table",
              "two by two table", "epitools", "attributable risk", "crude odds ratio", "RR", "exposed",
              "unexposed", "case-control"),
    citations=(
        Citation(title="Obtaining confidence intervals for the risk ratio in cohort studies",
                 authors="Katz D, Baptista J, Azen SP, Pike MC", year=1978, doi="10.2307/2530610"),
        Citation(title="On estimating the relation between blood group and disease", authors="Woolf B", year=1955,
                 doi="10.1111/j.1469-1809.1955.tb01348.x"),
        Citation(title="Interval estimation for the difference between independent proportions: comparison of eleven "
                       "methods", authors="Newcombe RG", year=1998,
                 doi="10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I"),
        Citation(title="Confidence intervals for the number needed to treat", authors="Altman DG", year=1998,
                 doi="10.1136/bmj.317.7168.1309"),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="How many must be vaccinated to avoid one infection, and what is the relative risk?",
    next_steps=(
        NextStep(text="These are crude measures: if the groups of {param:exposure} differ in age, sex or site, compare "
                      "them again with these as predictors (logistic_regression).",
                 unless_tool="logistic_regression"),
    ),
)  # fmt: skip
def risk_measures(
    table,
    *,
    exposure: str,
    outcome: str = "",
    event_value: str = "",
    events: str = "",
    total: str = "",
    exposed: str = "",
    reference: str = "",
    design: str = "auto",
    haldane: bool = False,
    measure: str = "auto",
    alpha: float = 0.05,
):
    """Compare the risk of an event between groups; `measure` is the one that is told first."""
    import pandas as pd

    if design not in ("auto", "cohort", "case_control"):
        raise ValueError(f"There is no design {design!r}; expected auto, cohort or case_control.")
    sums, what, warnings = tally_shares(table, outcome, event_value, events, total, exposure)
    chosen_by = sampled_by_outcome(plain_table(table)[outcome], outcome) if outcome and design == "auto" else ""
    turned = outcome and design == "auto" and sampled_by_outcome(plain_table(table)[exposure], exposure) == "named"
    if chosen_by == "named" or turned:
        design = "case_control"
        warnings.append(f"{exposure if turned else outcome} holds cases and controls, so only the odds ratio is given"
                        + (", which is the same whichever column is the outcome" if turned else "")
                        + "; set design to cohort if nobody was chosen by it.")  # fmt: skip
    elif chosen_by == "balanced":
        warnings.append("Exactly as many subjects have the event as have not. If cases and controls were chosen, "
                        "risks, their ratio and the number needed mean nothing: set design to "
                        "case_control.")  # fmt: skip
    levels = order_levels(sums.index)
    if len(levels) < 2:
        raise ValueError(f"Column {exposure!r} has the single level {levels[0]!r}; expected at least two groups.")
    if len(levels) > MOST_GROUPS:
        raise ValueError(
            f"Column {exposure!r} has {len(levels)} different values; expected at most {MOST_GROUPS} groups. Is it a "
            "measurement or an id?"
        )
    if not sums["events"].sum() or (sums["events"] == sums["total"]).all():
        raise ValueError(
            f"{'No subject has' if not sums['events'].sum() else 'Every subject has'} {what}: no risk can be compared."
        )
    if not exposed and not reference:
        reference = unexposed_level(levels) or levels[0]
        warnings.append(f"Every group is compared with {exposure} = {reference}; set reference for another.")
    rows = {level: share_row(level, *sums.loc[level, ["events", "total"]]) for level in levels}
    added, case_control = (0.5 if haldane else 0.0), design == "case_control"
    pairs = group_contrasts(levels, exposure, exposed, reference)
    found = {pair: compared_risks(rows[pair[0]], rows[pair[1]], added, case_control) for pair in pairs}
    order = ["comparison", "measure", "estimate", "lower_95", "upper_95", "method", "correction", "note", "p_value",
             "test"]  # fmt: skip
    measures = pd.DataFrame([row for part in found.values() for row in part]).reindex(columns=order)
    findings = []
    for (first, second), part in list(found.items())[:4]:
        findings += risk_findings(rows[first], rows[second], part, what, alpha, exposure, measure)
    zero = any(row["events"] in (0, row["total"]) for row in rows.values())
    if zero and not haldane:
        warnings.append("A count is 0, so a ratio is 0 or infinite: read the risk difference, or set haldane to add "
                        "0.5 "
                        "to every count for the ratios.")  # fmt: skip
    if haldane:
        warnings.append("0.5 was added to every count for the risk ratio and the odds ratio" + (
            "." if zero else ", though no count is 0: they are pulled towards 1 without need."))  # fmt: skip
    if case_control:
        warnings.append("Cases and controls were chosen by their outcome, so risks, their ratio and their difference "
                        "say nothing of the population; the odds ratio is near the risk ratio only for rare "
                        "events.")  # fmt: skip
    elif any(row["share"] > 0.1 for row in rows.values()):
        warnings.append("The event is not rare (above 10 %): the odds ratio is further from 1 than the risk ratio "
                        "and is "
                        "not to be read as one.")  # fmt: skip
    if len(pairs) > 1:
        warnings.append(f"P-values and intervals of {len(pairs)} comparisons are not adjusted for their number.")
    shown = list(rows.values())
    return {
        "measures": measures,
        "risks": pd.DataFrame(shown),
        "risk_plot": risk_figure(shown, measures.to_dict("records"), what, exposure),
        "findings": findings,
        "warnings": warnings,
    }
