"""Time until an event: survival curves, tests of groups, and the effect of several variables.

Follow-up ends before the event for some; methods that drop those rows or treat them as events are wrong,
the ones here are not. What each method assumes is checked and reported beside its result.
"""

from __future__ import annotations

from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.registry import param, tool
from engine.toolbox.survival.data import (
    MOST_GROUPS,
    survival_curve,
    survival_data,
    survival_groups,
    time_at_half,
)
from engine.toolbox.survival.drawing import draw_survival
from engine.toolbox.survival.horizon import unit_of_times
from engine.toolbox.survival.landmark import LANDMARK, LANDMARK_UNIT, from_landmark
from engine.toolbox.survival.moments import AT, AT_UNIT, asked_moments, point_findings, survival_points
from engine.toolbox.tables.columns import (
    called_level,
    format_number,
    format_p,
    in_a_row,
    left_open,
    likely_control,
    pick_level,
)
from engine.toolbox.tables.rows import table_row

_CHECKS = ("tables_not_empty", "p_values_valid", "findings_match_tables")
_PACKAGES = ("lifelines", "pandas", "numpy", "scipy")
_TIME = param("column of follow-up times", kind="column", of="survival", role="time")
_EVENT = param("column that says whether the event happened", kind="column", of="survival", role="event")
_EVENT_VALUE = param(
    "the level of the event column that means that it happened (others are censored)",
    kind="level",
    of="event",
    role="event",
)
_LIFELINES = Citation(
    title="lifelines: survival analysis in Python", authors="Davidson-Pilon C", year=2019, doi="10.21105/joss.01317"
)
_ANDERSON = Citation(
    title="Analysis of survival by tumor response",
    authors="Anderson JR, Cain KC, Gelber RD",
    year=1983,
    doi="10.1200/JCO.1983.1.11.710",
)


def describe_medians(rows, group, unit, since, end):
    """Return the finding on the medians of all groups until an `end`, longest first: of many the two at each side.

    Groups that are numbered stay in their order.
    """
    known = sorted((row for row in rows if row["median"] == row["median"]), key=lambda row: -row["median"])
    if len(known) <= 4 and all(called_level(row["group"], group) == f"{group} {row['group']}" for row in known):
        known = [row for row in rows if row in known]
    never = [row["group"] for row in rows if row["median"] != row["median"]]
    if not known:
        return []
    shown = known if len(known) <= 4 else [known[0], known[1], known[-2], known[-1]]
    parts = []
    for row in shown:
        low, high = (f"{row[key]:g}" if row[key] == row[key] else "not reached" for key in ("lower_95", "upper_95"))
        interval = "" if low == high == "not reached" else f"95 % interval {low} to {high}, "
        parts.append(f"{row['median']:g}{unit} with {called_level(row['group'], group)} ({interval}n = {row['n']})")
    left = f"; not reached with {', '.join(called_level(name, group) for name in never[:6])}" if never else ""
    ends = f", of {len(known)} groups the longest two and the shortest two" if len(shown) < len(known) else ""
    values = [
        {"name": f"median {row['group']}", "value": row["median"], "low": row["lower_95"], "high": row["upper_95"],
         "n": row["n"]}
        for row in shown
    ]  # fmt: skip
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if parts[:-1] else parts[0]
    counted = f" ({sum(row['events'] for row in rows)} events, {end})"
    text = f"Median survival{since} was {listed}{left}{ends}{counted}."
    return [{"text": text, "values": values, "output": "km_table"}]


@tool(
    name="kaplan_meier",
    title="Kaplan-Meier survival curves",
    description=(
        "Estimate the probability of being free of the event over time (Kaplan-Meier), overall or "
        "per group, with median "
        "survival, 95 % intervals (Greenwood variance on the log-log scale, or the log scale as R "
        "does by default), median "
        "follow-up (reverse Kaplan-Meier) and numbers at risk. The median is the first time at which "
        "survival is 0.5 or less; "
        "groups are described here and tested by log_rank. A landmark leaves out who had the event or "
        "was lost before it."
    ),
    domain="clinical",
    task_type="analysis",
    methods=("Kaplan-Meier curves; no test",),
    complete=("time", "event", "group", "after landmark"),
    inputs={"survival": "survival_table: one row per subject"},
    outputs={
        "km_table": "table: n, events and median per group",
        "curve_table": "table: the curves",
        "km_plot": "figure: curves with numbers at risk",
        "survival_at": "table: survival at the times asked for",
    },
    optional_outputs=("survival_at",),
    params={
        "time": _TIME,
        "event": _EVENT,
        "event_value": _EVENT_VALUE,
        "group": param(
            "column of groups to draw separately",
            kind="column",
            of="survival",
            role="group_optional",
            distinct=MOST_GROUPS,
        ),
        "time_unit": param("unit of the times, for labels (days, months)", role="time_unit"),
        "interval": param("scale of the confidence interval", choices=("log-log", "log")),
        "at_times": param(
            "times at which to report survival, such as 365", kind="texts", role="times", decides="Read at"
        ),
        "at": AT,
        "at_unit": AT_UNIT,
        "landmark": LANDMARK,
        "landmark_unit": LANDMARK_UNIT,
    },
    produces_for=("log_rank", "cox_regression"),
    checks=_CHECKS,
    keywords=(
        "survival",
        "Kaplan-Meier",
        "KM curve",
        "median survival",
        "overall survival",
        "progression free",
        "time to event",
        "censored",
        "follow-up",
        "five-year survival",
        "prognosis",
        "mortality",
        "lifespan",
        "landmark analysis",
    ),
    citations=(
        Citation(
            title="Nonparametric estimation from incomplete observations",
            authors="Kaplan EL, Meier P",
            year=1958,
            doi="10.1080/01621459.1958.10501452",
        ),
        _ANDERSON,
        _LIFELINES,
    ),
    next_steps=[
        NextStep(
            text=(
                "Fit a Cox model (cox_regression) with {param:group} and the known prognostic factors: the curves "
                "compare groups without adjusting for anything."
            ),
            unless_tool="cox_regression",
            needs_param="group",
        ),
    ],
    packages=_PACKAGES,
    seconds=3,
    example="What is the median survival of men and women?",
    answers=["kaplan_meier"],
    shows={
        "survival_at": [],
        "km_table": ["group", "n", "events", "median", "lower_95", "upper_95", "median_follow_up"],
        "km_plot": [],
    },
)
def kaplan_meier(
    survival,
    *,
    time: str,
    event: str,
    event_value: str = "1",
    group: str = "",
    time_unit: str = "",
    interval: str = "log-log",
    at_times: list[str] = [],  # noqa: B006 - a plain default, never changed
    at: float | None = None,
    at_unit: str = "",
    landmark: float | None = None,
    landmark_unit: str = "",
):
    """Estimate survival curves and medians."""
    import pandas as pd

    data, chosen, warnings = survival_data(survival, time, event, event_value, [group] if group else [])
    time_unit = unit_of_times(time, time_unit)
    data, start, notes = from_landmark(data, landmark, landmark_unit, time, time_unit)
    warnings += notes
    if group:
        labels, groups = survival_groups(data, group)
    else:
        labels, groups = pd.Series("all", index=data.index), ["all"]
    curves, rows = {}, []
    for name in groups:
        part = data[labels == name]
        curve = survival_curve(part["time"].to_numpy(), part["event"].to_numpy(), interval)
        follow = survival_curve(part["time"].to_numpy(), 1 - part["event"].to_numpy(), interval)
        if start is not None:
            curve["time"] = curve["time"].clip(lower=start)  # nobody leaves before the landmark: the curve begins there
        curves[name] = curve
        rows.append(
            {
                "group": name,
                "n": len(part),
                "events": int(part["event"].sum()),
                "censored": int(len(part) - part["event"].sum()),
                "median": time_at_half(curve["time"], curve["survival"]),
                "lower_95": time_at_half(curve["time"], curve["lower_95"]),
                "upper_95": time_at_half(curve["time"], curve["upper_95"]),
                "median_follow_up": time_at_half(follow["time"], follow["survival"]),
            }
        )
    table = pd.DataFrame(rows)
    unit = f" {time_unit}" if time_unit else ""
    where = f" by {group}" if group else ""
    since = f", of those still followed at {start:g}{unit}" if start is not None else ""
    findings = describe_medians(rows, group, unit, since, f"{event} = {chosen}") if group else []
    overall = [
        {
            "text": (
                f"{len(data)} subjects{where}: {int(data['event'].sum())} had the event ({event} = "
                f"{chosen}), {int((1 - data['event']).sum())} were censored; the longest time is "
                f"{format_number(data['time'].max())}{unit}."
            ),
            "values": [
                {"name": "n_subjects", "value": len(data), "unit": "subjects"},
                {"name": "n_events", "value": int(data["event"].sum()), "unit": "events", "n": len(data)},
            ],
            "output": "km_table",
        }
    ]
    for row in rows[:8]:
        who = f"{group} = {row['group']}" if group else "All subjects"
        counted = f"n={row['n']}, {row['events']} events"
        if row["median"] == row["median"]:
            high = f"{row['upper_95']:g}" if row["upper_95"] == row["upper_95"] else "not reached"
            low = f"{row['lower_95']:g}" if row["lower_95"] == row["lower_95"] else "not reached"
            text = f"{who}: median survival {row['median']:g}{unit}{since} (95 % interval {low} to {high}; {counted})."
        else:
            lowest = curves[row["group"]]["survival"].min()
            text = f"{who}: median survival was not reached; survival stays at {lowest:.2f} or above ({counted})."
        finding = {
            "text": text,
            "values": [{"name": "events", "value": row["events"], "n": row["n"]}],
            "output": "km_table",
            "row": table_row(table, group=row["group"]),
        }
        if row["median"] == row["median"]:
            finding["values"].insert(
                0,
                {
                    "name": "median",
                    "value": row["median"],
                    "unit": time_unit,
                    "low": row["lower_95"],
                    "high": row["upper_95"],
                    "n": row["n"],
                },
            )
        findings.append(finding)
    medians = findings[:1]
    findings.insert(1, overall[0])  # the first says the median, of all groups or of all subjects
    few = [f"{row['group']} ({row['events']})" for row in rows if row["events"] < 5]
    if few:
        warnings.append(f"Fewer than 5 events in: {', '.join(few)}; those curves are very unsure.")
    if not time_unit:
        warnings.append(f"The unit of {time} is not known; times are in the unit of the table.")
    curve_table = pd.concat([curve.assign(group=name) for name, curve in curves.items()], ignore_index=True)
    curve_table = curve_table[["group", *[column for column in curve_table if column != "group"]]]

    wanted, notes, as_said = asked_moments(at, at_unit, at_times, time, time_unit)
    warnings += notes
    own = at_unit.removesuffix("s") if at == 1 else at_unit
    other = at is not None and at_unit not in ("", time_unit)
    said = {wanted[0]: f"{at:g} {own} ({wanted[0]:g}{unit})"} if other else as_said
    survival_at, notes = survival_points(curves, data["time"], labels, wanted, start, unit)
    warnings += notes
    findings = (
        point_findings(survival_at, group, unit, since, medians, said) + findings
    )  # a moment that was asked for is the answer
    return {
        "km_table": table,
        "curve_table": curve_table,
        "km_plot": draw_survival(curves, time_unit, start),
        "survival_at": survival_at,
        "findings": findings,
        "warnings": warnings,
    }


def expected_events(times, events, labels, groups):
    """Return the events each group would have if all shared one survival curve (the log-rank expectation)."""
    import numpy as np

    times, events, labels = np.asarray(times), np.asarray(events), np.asarray(labels)
    expected = dict.fromkeys(groups, 0.0)
    for moment in np.unique(times[events == 1]):
        at_risk = times >= moment
        deaths = events[times == moment].sum()
        for name in groups:
            expected[name] += deaths * (at_risk & (labels == name)).sum() / at_risk.sum()
    return expected


def half_time(data):
    """Return when half of the subjects had the event by the Kaplan-Meier estimate, NaN where fewer did."""
    curve = survival_curve(data["time"], data["event"], "log-log")
    return time_at_half(curve["time"], curve["survival"])


def left_at(data, moment):
    """Return the share that had no event by a moment, by the Kaplan-Meier estimate."""
    curve = survival_curve(data["time"], data["event"], "log-log")
    return float(curve.loc[curve["time"] <= moment, "survival"].min())


def largest_ratio(pairs):
    """Return the largest ratio of hazards, either way round, that intervals of all pairs at once (Bonferroni) hold."""
    import numpy as np
    from scipy.stats import norm

    known = pairs.dropna(subset=["hazard_ratio", "lower_95", "upper_95"])
    if known.empty:
        return None
    centre, half = np.log(known["hazard_ratio"]), np.log(known["upper_95"] / known["lower_95"]) / 2
    wider = norm.isf(0.025 / len(known)) / norm.isf(0.025)
    return float(np.exp((centre.abs() + wider * half).max()))


def told_halves(halves, left, moment, group, unit):
    """Return in words when half of each group had the event, and how many were left of those that never came so far."""
    reached = [f"{at:g} {unit}".rstrip() + f" with {called_level(name, group)}"
               for name, at in halves.items() if at == at]  # fmt: skip
    never = [f"{100 * left[name]:.0f} % with {called_level(name, group)}" for name, at in halves.items() if at != at]
    still = f"{in_a_row(never)} had not by {moment:g} {unit}".rstrip() if never else ""
    half = f"half had the event by {in_a_row(reached)}" if reached else ""
    return "".join(f"{part}; " for part in (half, still) if part)


def peto_ratio(times, events, first):
    """Return the hazard ratio of the `first` against the others and its 95 % limits by Peto's one step.

    Observed minus expected events over their hypergeometric variance is the log of it (Yusuf et al. 1985, Prog
    Cardiovasc Dis 27:335); their square over it is the log-rank chi-square. Not a number without any variance.
    """
    import numpy as np

    times, events, first = np.asarray(times), np.asarray(events), np.asarray(first)
    excess, variance = 0.0, 0.0
    for moment in np.unique(times[events == 1]):
        at_risk, died = times >= moment, (times == moment) & (events == 1)
        n, share, deaths = at_risk.sum(), first[at_risk].mean(), died.sum()
        excess += (died & first).sum() - deaths * share
        variance += deaths * share * (1 - share) * (n - deaths) / max(n - 1, 1)
    if variance <= 0:
        return float("nan"), float("nan"), float("nan")
    return tuple(float(np.exp(excess / variance + z / variance**0.5)) for z in (0, -1.959964, 1.959964))


def told_sides(groups, treated, control, column):
    """Return ([the group that is told of], the one it is told against): those given, else a control, as in a Cox model.

    Raises ValueError for a level that no row has, and for two sides that are one.
    """
    first = [pick_level(treated, groups, column)] if treated else []
    reference = pick_level(control, groups, column) if control else ""
    if first and first[0] == reference:
        raise ValueError(f"{treated!r} cannot be compared with itself; name two groups of {column!r}.")
    others = [name for name in groups if name not in first]
    return first, reference or likely_control(others) or others[0]


@tool(
    name="log_rank",
    title="Log-rank test of survival between groups",
    description=(
        "Test whether survival differs between groups (log-rank, two-sided, chi-square with groups - "
        "1 degrees of freedom), "
        "with observed and expected events per group; with more than two groups also every pair, Holm-adjusted. Most "
        "powerful when hazards are proportional; crossing curves can hide a difference. A landmark leaves out who had "
        "the event or was lost before it."
    ),
    domain="clinical",
    task_type="analysis",
    methods=(
        "event:2|3 => log-rank test, because times are censored",
        "log-rank test, because the outcome is the time to an event",
    ),
    complete=("time", "event", "group", "after landmark"),
    inputs={"survival": "survival_table: one row per subject"},
    outputs={
        "test_table": "table: overall test and pairs, each pair with the hazard ratio of its first group (Peto)",
        "observed_expected": "table: events per group against expectation",
    },
    params={
        "time": _TIME,
        "event": _EVENT,
        "event_value": _EVENT_VALUE,
        "group": param(
            "column of the groups compared",
            kind="column",
            of="survival",
            role="group",
            otherwise="first",
            distinct=MOST_GROUPS,
        ),
        "treated": param(
            "The group whose hazard is told against the others; empty for the one that is no control",
            kind="level",
            of="group",
        ),
        "control": param("The group it is told against", kind="level", of="group"),
        "landmark": LANDMARK,
        "landmark_unit": LANDMARK_UNIT,
    },
    requires_tool=("kaplan_meier",),
    checks=_CHECKS,
    keywords=(
        "log-rank",
        "non-parametric",
        "logrank",
        "Mantel-Cox",
        "compare survival",
        "prolong survival",
        "survival difference",
        "difference between curves",
        "treatment effect on survival",
        "landmark analysis",
    ),
    citations=(
        Citation(
            title="Evaluation of survival data and two new rank order statistics arising in its consideration",
            authors="Mantel N",
            year=1966,
        ),
        _ANDERSON,
        _LIFELINES,
    ),
    next_steps=[
        NextStep(
            text=(
                "Fit a Cox model (cox_regression) with {param:group} and the known prognostic factors: the curves "
                "compare groups without adjusting for anything."
            ),
            unless_tool="cox_regression",
            needs_param="group",
        ),
    ],
    packages=_PACKAGES,
    seconds=2,
    example="Do men and women differ in survival?",
    answers=["log_rank"],
)
def log_rank(
    survival,
    *,
    time: str,
    event: str,
    group: str,
    event_value: str = "1",
    treated: str = "",
    control: str = "",
    landmark: float | None = None,
    landmark_unit: str = "",
):
    """Compare survival between groups with the log-rank test."""
    import itertools

    import pandas as pd
    from lifelines.statistics import logrank_test, multivariate_logrank_test
    from statsmodels.stats.multitest import multipletests

    data, chosen, warnings = survival_data(survival, time, event, event_value, [group])
    unit = unit_of_times(time, "")
    data, start, notes = from_landmark(data, landmark, landmark_unit, time, unit)
    warnings += notes
    labels, groups = survival_groups(data, group)
    if len(groups) < 2:
        message = (
            f"The column {group!r} has one group ({groups[0]}) among the {len(data)} complete rows; a "
            "comparison needs at least two."
        )
        raise ValueError(message)
    first, reference = told_sides(groups, treated, control, group)
    groups = [*first, *(name for name in groups if name not in (*first, reference)), reference]
    expected = expected_events(data["time"], data["event"], labels, groups)
    counts = pd.DataFrame(
        [
            {
                "group": name,
                "n": int((labels == name).sum()),
                "observed": int(data.loc[labels == name, "event"].sum()),
                "expected": float(expected[name]),
            }
            for name in groups
        ]
    )
    counts["observed_over_expected"] = counts["observed"] / counts["expected"]

    def row(name, result, members, degrees):
        part = labels.isin(members)
        pair = (data.loc[part, "time"], data.loc[part, "event"], labels[part] == members[0])
        ratio, low, high = peto_ratio(*pair) if degrees == 1 else (float("nan"),) * 3
        return {
            "comparison": name,
            "statistic": float(result.test_statistic),
            "df": degrees,
            "p_value": float(result.p_value),
            "hazard_ratio": ratio,
            "lower_95": low,
            "upper_95": high,
            "n": int(part.sum()),
            "events": int(data.loc[part, "event"].sum()),
        }

    overall = multivariate_logrank_test(data["time"], labels.astype(str), data["event"])
    name = f"{groups[0]} vs {groups[1]}" if len(groups) == 2 else f"overall ({len(groups)} groups)"
    rows = [row(name, overall, groups, len(groups) - 1)]
    if len(groups) > 2:
        for first, second in itertools.combinations(groups, 2):
            one, two = data[labels == first], data[labels == second]
            if one["event"].sum() + two["event"].sum() == 0:
                warnings.append(f"{first} and {second} have no event between them and were not compared.")
                continue
            rows.append(
                row(
                    f"{first} vs {second}",
                    logrank_test(one["time"], two["time"], one["event"], two["event"]),
                    [first, second],
                    1,
                )
            )
    table = pd.DataFrame(rows)
    table["p_adj"] = table["p_value"]
    if len(table) > 1:
        table.loc[1:, "p_adj"] = multipletests(table["p_value"].iloc[1:], method="holm")[1]
    sizes = ["hazard_ratio", "lower_95", "upper_95"]
    table = table[["comparison", "statistic", "df", "p_value", "p_adj", *sizes, "n", "events"]]

    few = [f"{item.group} ({item.observed})" for item in counts.itertuples() if item.observed < 5]
    if few:
        warnings.append(f"Fewer than 5 events in: {', '.join(few)}; the test's p-value is approximate.")
    warnings.append("The log-rank test weighs all times alike; when curves cross, a difference can go unseen.")
    # A ratio of a handful of events is no statement, so such groups are named only when there are no two others.
    solid = counts[counts["observed"] >= 5] if (counts["observed"] >= 5).sum() >= 2 else counts
    worst = solid.sort_values("observed_over_expected", ascending=False)
    since = f"; of those still followed at {start:g} {unit}".rstrip() if start is not None else ""
    clear = rows[0]["p_value"] < 0.05
    verdict = "differs" if clear else "is not shown to differ"
    longest, shortest = worst["group"].iloc[-1], worst["group"].iloc[0]
    ends = (called_level(name, group) for name in (longest, shortest))
    order = ", longest with {} and shortest with {} by events against expectation".format(*ends)
    all_named = f" ({', '.join(called_level(name, group) for name in groups)})" if len(groups) <= 6 else ""
    named = order if clear else all_named
    said = f"Survival {verdict} between the {len(groups)} groups of {group}{named}: "
    size, low, high = (rows[0][key] for key in ("hazard_ratio", "lower_95", "upper_95"))
    one, other = (called_level(name, group) for name in groups[:2])
    change = f"{abs(100 * (size - 1)):.3g} % {'higher' if size > 1 else 'lower'}" if size < 3 else (
        f"{format_number(size)} times as high")  # fmt: skip
    hazard = ""
    if len(groups) == 2:
        apart = f"is {'longer' if longest == groups[0] else 'shorter'} with {one} than with {other}"
        said = f"Survival {apart if clear else f'is not shown to differ between {one} and {other}'}: "
    if size == size:
        sides = [end if end.startswith(f"{group} ") and "=" not in end else name
                 for end, name in zip((one, other), groups, strict=False)]  # fmt: skip
        hazard = (
            f"hazard {change}, hazard ratio of {sides[0]} against {sides[1]} {format_number(size)} (95 % CI "
            f"{format_number(low)} to {format_number(high)}, Peto), "
        )
    unseen = left_open(low, high, ratio=True) if not clear else ""
    if len(groups) > 2 and not clear and (reach := largest_ratio(table.iloc[1:])):
        unseen = f"; the data are compatible with hazard ratios of up to {format_number(reach)} between two of them"
    halves = {name: half_time(data[labels == name]) for name in groups} if len(groups) <= 4 and start is None else {}
    moment = min((data.loc[labels == name, "time"].max() for name in halves), default=0.0)
    left = {name: left_at(data[labels == name], moment) for name in halves}
    halved = told_halves(halves, left, moment, group, unit)
    pairs = {tuple(item["comparison"].split(" vs ")) for item in table.iloc[1:].to_dict("records")
             if item["p_adj"] < 0.05}  # fmt: skip
    apart = [f"{called_level(a, group)} differs from {called_level(b, group)}" for a, b in pairs]
    several = f"; {in_a_row(apart)} (Holm)" if 0 < len(pairs) <= 3 else ""
    findings = [
        {
            "text": (
                f"{said}{halved}{hazard}log-rank {format_p(rows[0]['p_value'])}{several} "
                f"(n = {len(data)}, {int(data['event'].sum())} events, {event} = {chosen}{since}){unseen}."
            ),
            "values": [
                {"name": "statistic", "value": rows[0]["statistic"], "n": rows[0]["n"]},
                {"name": "p_value", "value": rows[0]["p_value"]},
                *([{"name": "hazard_ratio", "value": size, "low": low, "high": high}] if hazard else []),
                *({"name": f"median {name}", "value": at} for name, at in halves.items() if at == at),
            ],
            "output": "test_table",
            "row": table_row(table, comparison=rows[0]["comparison"]),
        },
        {
            "text": (
                f"Events came most above expectation in {group} = {worst['group'].iloc[0]} "
                f"({worst['observed'].iloc[0]} observed, {worst['expected'].iloc[0]:.1f} expected; "
                f"shorter survival) and most below in {group} = {worst['group'].iloc[-1]} "
                f"({worst['observed'].iloc[-1]} observed, {worst['expected'].iloc[-1]:.1f} expected; "
                "longer survival)."
            ),
            "values": [
                {"name": "observed", "value": int(worst["observed"].iloc[0]), "unit": "events"},
                {"name": "expected", "value": float(worst["expected"].iloc[0]), "unit": "events"},
            ],
            "output": "observed_expected",
            "row": table_row(counts, group=worst["group"].iloc[0]),
        },
    ]
    for record in table.iloc[1:].sort_values("p_value").head(5).to_dict("records"):
        pair = " vs ".join(called_level(name, group) for name in record["comparison"].split(" vs "))
        findings.append(
            {
                "text": (
                    f"{pair}: chi-square {record['statistic']:.2f}, "
                    f"{format_p(record['p_value'])}, Holm-adjusted {format_p(record['p_adj'])} "
                    f"(n={record['n']}, {record['events']} events)."
                ),
                "values": [{"name": key, "value": record[key]} for key in ("statistic", "p_value", "p_adj")],
                "output": "test_table",
                "row": table_row(table, comparison=record["comparison"]),
            }
        )
    return {"test_table": table, "observed_expected": counts, "findings": findings, "warnings": warnings}
