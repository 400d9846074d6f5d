"""Why apart: groups that differ in age, ward or department are compared within each, and the strata then combined.

A crude table can point the other way than every one of its strata (Simpson's paradox). So crude and adjusted measures
stand side by side, and whether one measure may stand for all strata is tested and said.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.clinical.risks import (
    LED_BY,
    log_interval,
    odds_ratio_row,
    risk_ratio_row,
    sampled_by_outcome,
    unexposed_level,
)
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.groups import group_contrasts
from engine.toolbox.statistics.proportions import (
    compare_two_shares,
    counted_rows,
    event_rows,
    share_row,
)
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    format_p,
    level_labels,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    plain_table,
    require_columns,
)

MOST_STRATA = 200
"""So many strata are combined."""


@check("common_measure_amid_strata")
def common_measure_amid_strata(step: StepOutputs) -> Iterator[Issue]:
    """A common measure is a weighted mean of those of the strata, so it lies between them, and within its interval."""
    common, strata = step.table("common"), step.table("strata")
    for _, row in common.iterrows():
        slack = 1e-9 * max(1.0, abs(row["adjusted"]))
        bounded = row["lower_95"] == row["lower_95"]
        if bounded and not row["lower_95"] - slack <= row["adjusted"] <= row["upper_95"] + slack:
            message = f"The adjusted {row['measure']} ({row['adjusted']}) lies outside its interval."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="common")
        rows = strata["in_odds" if row["measure"] == "odds ratio" else "used"] == 1
        own = strata.loc[rows, row["measure"].replace(" ", "_")].dropna()
        if len(own) and not own.min() - slack <= row["adjusted"] <= own.max() + slack:
            message = f"The adjusted {row['measure']} ({row['adjusted']}) lies beyond that of every stratum."
            yield Issue(code="common_beyond_strata", severity="error", message=message, where="common")


def stratum_counts(table, exposure, stratum, outcome, event_value, events, total, count):
    """Return events and total of every stratum and group, the event in words, and warnings.

    Either `outcome` is a yes/no column (a row a subject, or `count` subjects a row), or `events` and `total` count.
    """
    import pandas as pd

    if bool(events) != bool(total) or bool(outcome) == bool(events):
        raise ValueError(
            "Expected either one yes/no column, or two columns of counts: events and the total they are part of. Name "
            "one of these two forms."
        )
    if count and events:
        raise ValueError(f"{count!r} says how many subjects a row of a yes/no column stands for; leave it out where "
                         "events and totals are counted.")  # fmt: skip
    chosen = [name for name in (exposure, stratum, outcome, events, total, count) if name]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
    table = plain_table(table)
    require_columns(table, chosen)
    table, warnings = complete_rows(table, chosen)
    frame = pd.DataFrame({"stratum": level_labels(table[stratum]), "group": level_labels(table[exposure])})
    if outcome:
        happened, what, notes = event_rows(table[outcome], outcome, event_value)
        warnings += notes
        number = numeric_values(table, count) if count else pd.Series(1.0, index=table.index)
        if (number < 0).any() or ((number - number.round()).abs() > 1e-6).any():
            raise ValueError(f"Column {count!r} holds negative or fractional values; expected whole numbers of "
                             "subjects.")  # fmt: skip
        frame["events"], frame["total"] = happened.astype(float) * number, number
        if count:
            warnings.append(f"Each row stands for as many subjects as {count} says: {int(number.sum()):,} in all.")
    else:
        frame["events"], frame["total"] = counted_rows(table, events, total)
        what = f"{events} among {total}"
    return frame.groupby(["stratum", "group"], sort=False)[["events", "total"]].sum().astype(int), what, warnings


def mantel_haenszel(cells):
    """Return the common measures of 2x2 tables and the tests over them.

    Args:
        cells: array of strata x 4: events and total of the exposed, events and total of the unexposed. Strata with
            events only or none weigh in the risk measures; they say nothing of odds, and homogeneity leaves them out.

    Returns:
        measure -> (estimate, lower and upper 95 % limit), NaN where it is not defined, and the tests
        `association` (Cochran, Mantel and Haenszel, no continuity correction) and `homogeneity` (Breslow and Day, with
        Tarone's correction) as (chi-squared, degrees of freedom, p-value); `smallest` is Mantel and Fleiss's number,
        from 5 on which the first test holds. Variances: Robins, Breslow and Greenland for the odds ratio, Greenland
        and Robins for the risk ratio and the risk difference.
    """
    import math

    import numpy as np
    from scipy.stats import chi2

    a, n1, c, n0 = np.asarray(cells, dtype=float).T
    b, d, n = n1 - a, n0 - c, n1 + n0
    m1, nan = a + c, math.nan
    found = {}
    up, down = (a * d / n).sum(), (b * c / n).sum()
    ratio = up / down if down else math.inf if up else nan
    if up > 0 and down > 0:
        p, q, r, s = (a + d) / n, (b + c) / n, a * d / n, b * c / n
        variance = ((p * r).sum() / (2 * up**2) + (p * s + q * r).sum() / (2 * up * down)
                    + (q * s).sum() / (2 * down**2))  # fmt: skip
        found["odds ratio"] = (ratio, *log_interval(ratio, variance))
    else:
        found["odds ratio"] = (ratio, nan, nan)
    first, second = (a * n0 / n).sum(), (c * n1 / n).sum()
    risk = first / second if second else math.inf if first else nan
    if first > 0 and second > 0:
        variance = ((m1 * n1 * n0 - a * c * n) / n**2).sum() / (first * second)
        found["risk ratio"] = (risk, *log_interval(risk, variance))
    else:
        found["risk ratio"] = (risk, nan, nan)
    weight = (n1 * n0 / n).sum()
    gap = (first - second) / weight
    spread = math.sqrt(((a * b * n0**3 + c * d * n1**3) / (n1 * n0 * n**2)).sum()) / weight
    found["risk difference"] = (gap, gap - 1.959963984540054 * spread, gap + 1.959963984540054 * spread)
    expected = n1 * m1 / n
    variance = np.where(n > 1, n1 * n0 * m1 * (n - m1) / (n**2 * np.maximum(n - 1, 1)), 0.0)
    statistic = (a - expected).sum() ** 2 / variance.sum()
    association = (float(statistic), 1, float(chi2.sf(statistic, 1)))
    low, high = np.maximum(0, m1 - n0), np.minimum(m1, n1)
    smallest = float(min((expected - low).sum(), (high - expected).sum()))
    homogeneity = None
    both = (m1 > 0) & (m1 < n)
    if both.sum() > 1 and up > 0 and down > 0:
        a, n1, n0, m1, expected = (part[both] for part in (a, n1, n0, m1, expected))
        middle = n0 - m1 + ratio * (n1 + m1)
        root = np.sqrt(np.maximum(0, middle**2 - 4 * (ratio - 1) * ratio * n1 * m1))
        fitted = expected if abs(ratio - 1) < 1e-9 else (middle - root) / (2 * (ratio - 1))
        inverse = 1 / (1 / fitted + 1 / (m1 - fitted) + 1 / (n1 - fitted) + 1 / (n0 - m1 + fitted))
        tarone = (a - fitted).sum() ** 2 / inverse.sum()
        statistic = max(0.0, float(((a - fitted) ** 2 / inverse).sum() - tarone))
        homogeneity = (statistic, len(a) - 1, float(chi2.sf(statistic, len(a) - 1)))
    return {"measures": {key: tuple(map(float, value)) for key, value in found.items()}, "association": association,
            "homogeneity": homogeneity, "smallest": smallest}  # fmt: skip


def crude_measures(first, second):
    """Return measure -> (estimate, lower, upper) of one 2x2 table: Woolf's, Katz's and Newcombe's intervals."""
    import math

    odds, risk, gap = (
        odds_ratio_row(first, second, 0),
        risk_ratio_row(first, second, 0),
        compare_two_shares(first, second),
    )
    return {
        "odds ratio": (odds["estimate"], odds.get("lower_95", math.nan), odds.get("upper_95", math.nan)),
        "risk ratio": (risk["estimate"], risk.get("lower_95", math.nan), risk.get("upper_95", math.nan)),
        "risk difference": (gap["difference"], gap["lower_95"], gap["upper_95"]),
    }


def strata_figure(rows, crude, common, measure, title):
    """Draw the measure of every stratum with its interval, and below them the crude and the adjusted one."""
    import math

    key = measure.replace(" ", "_")
    lines = [(f"{row['stratum'][:30]}\n{row['exposed_events']}/{row['exposed_total']} vs "
              f"{row['unexposed_events']}/{row['unexposed_total']}", row[key], row[f"{key}_lower_95"],
              row[f"{key}_upper_95"], 0) for row in rows
             if row["in_odds" if measure == "odds ratio" else "used"]]  # fmt: skip
    lines += [("crude", *crude, 1), ("adjusted", *common, 2)]
    ratio = measure != "risk difference"
    figure, axis = new_axes(width=6.6, height=max(3.4, min(16, 0.48 * len(lines) + 1.4)))
    scale, shown, none = (1.0, [], 1.0) if ratio else (100.0, [], 0.0)
    if ratio:
        axis.set_xscale("log")
    for place, (_, estimate, low, high, kind) in enumerate(reversed(lines)):
        drawn = [
            scale * x for x in (estimate, low, high) if x is not None and math.isfinite(x) and (not ratio or x > 0)
        ]
        shown += drawn
        colour = palette(3)[kind]
        if len(drawn) == 3:
            axis.plot(drawn[1:], [place, place], color=colour, linewidth=1.6)
        if drawn and math.isfinite(estimate) and (not ratio or estimate > 0):
            axis.scatter([scale * estimate], [place], color=colour, marker="sDD"[kind], s=(30, 44, 60)[kind], zorder=3)
    axis.axvline(none, color="0.5", linestyle="--", linewidth=0.9)
    axis.axhline(1.5, color="0.8", linewidth=0.8)
    axis.set_yticks(range(len(lines)), [line[0] for line in reversed(lines)], fontsize=8)
    axis.set_ylim(-0.6, len(lines) - 0.4)
    if ratio and shown:
        axis.set_xlim(max(min(0.5, 0.8 * min(shown)), 0.001), min(max(2, 1.25 * max(shown)), 1000))
        ticks = [x for x in (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000)
                 if axis.get_xlim()[0] <= x <= axis.get_xlim()[1]]  # fmt: skip
        axis.set_xticks(ticks, [f"{x:g}" for x in ticks])
        axis.minorticks_off()
    axis.set_xlabel(f"{measure} ({'log scale' if ratio else 'percentage points'}, 95 % CI)")
    axis.set_title(title, fontsize=10)
    return figure


@tool(
    name="stratified_risks",
    title="Mantel-Haenszel analysis of stratified 2x2 tables",
    description=(
        "Compare the risk or the odds of an event between two groups within the strata of another column (age band, "
        "centre, department), and over them all: Mantel-Haenszel common odds ratio (Robins, Breslow and Greenland's "
        "variance), risk ratio and risk difference (Greenland and Robins's), the Cochran-Mantel-Haenszel test, the "
        "Breslow-Day test with Tarone's correction that the odds ratios are alike, and the crude measures beside the "
        "adjusted ones. From a row a subject, from rows with a number of subjects, or from events and totals."
    ),
    domain="clinical",
    task_type="analysis",
    methods=(
        "Cochran-Mantel-Haenszel test with Mantel-Haenszel measures, because two groups are compared by a "
        "yes/no outcome within the strata of {stratum}",
    ),
    complete=("exposure", "stratum", "outcome", "not events", "not count"),
    answers=["stratified_risks"],
    inputs={"table": "table: one row a subject, or counts per stratum and group"},
    outputs={
        "common": "table: crude and adjusted measures with intervals",
        "strata": "table: counts and measures of every stratum",
        "tests": "table: Cochran-Mantel-Haenszel and Breslow-Day",
        "forest_plot": "figure: strata, crude and adjusted",
    },
    params={
        "exposure": param("Column of the two groups: exposed or not, treatment", kind="column", of="table",
                          role="group"),
        "stratum": param("Column of the strata within which they are compared", kind="column", of="table",
                         role="stratum", distinct=MOST_STRATA),
        "outcome": param("Yes/no column", kind="column", of="table", role="outcome", needed=True),
        "event_value": param("The level that is the event; empty to recognise it", kind="level", of="outcome",
                             role="event"),
        "events": param("Column of counted events, when the table is tallied", kind="column", of="table", role="part",
                        instead_of=["outcome", "event_value"]),
        "total": param("Column of totals that the events are part of", kind="column", of="table", role="total",
                       instead_of=["outcome", "event_value"]),
        "count": param("Column of how many subjects a row stands for", kind="column", of="table", role="count",
                       called="freq(uency|uencies)?|counts?|n|heads?|number|subjects?"),
        "exposed": param("The group whose risk is asked for", kind="level", of="exposure", role="interest"),
        "reference": param("The group it is compared with", kind="level", of="exposure", role="reference"),
        "measure": LED_BY,
        "design": param("How subjects were found; case_control gives the odds ratio only",
                        choices=["auto", "cohort", "case_control"],
                        words=["cohort: cohort|prospective|followed up",
                               "case_control: case.?control|cases and (?:their )?(?:matched )?controls"]),
        "alpha": param("P-value below which a difference is reported", minimum=1e-10, maximum=0.5),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "common_measure_amid_strata"),
    keywords=("Mantel-Haenszel", "Cochran-Mantel-Haenszel", "CMH test", "stratified analysis", "stratified 2x2 tables",
              "common odds ratio", "pooled odds ratio", "Breslow-Day", "Tarone", "homogeneity of odds ratios",
              "Simpson's paradox", "mantelhaen.test", "stratum-specific", "crude and adjusted"),
    citations=(
        Citation(title="Statistical aspects of the analysis of data from retrospective studies of disease",
                 authors="Mantel N, Haenszel W", year=1959, doi="10.1093/jnci/22.4.719"),
        Citation(title="Estimation of a common effect parameter from sparse follow-up data",
                 authors="Greenland S, Robins JM", year=1985, doi="10.2307/2530643"),
        Citation(title="Estimators of the Mantel-Haenszel variance consistent in both sparse data and large-strata "
                       "limiting models", authors="Robins J, Breslow N, Greenland S", year=1986, doi="10.2307/2531052"),
        Citation(title="On heterogeneity tests based on efficient scores", authors="Tarone RE", year=1985,
                 doi="10.1093/biomet/72.1.91"),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="What is the Mantel-Haenszel odds ratio of infection for the catheter, stratified by ward?",
    next_steps=(
        NextStep(text="To hold numbers such as age constant too, or several columns at once, use them as predictors "
                      "(logistic_regression).", unless_tool="logistic_regression"),
    ),
)  # fmt: skip
def stratified_risks(
    table,
    *,
    exposure: str,
    stratum: str,
    outcome: str = "",
    event_value: str = "",
    events: str = "",
    total: str = "",
    count: str = "",
    exposed: str = "",
    reference: str = "",
    measure: str = "auto",
    design: str = "auto",
    alpha: float = 0.05,
):
    """Compare the risk of an event between two groups within strata and over them."""
    import math

    import pandas as pd

    if design not in ("auto", "cohort", "case_control"):
        raise ValueError(f"There is no design {design!r}; expected auto, cohort or case_control.")
    if measure not in ("auto", "odds ratio", "risk ratio", "risk difference"):
        raise ValueError(f"There is no measure {measure!r}; expected auto, odds ratio, risk ratio or risk difference.")
    sums, what, warnings = stratum_counts(table, exposure, stratum, outcome, event_value, events, total, count)
    levels = order_levels(sums.index.get_level_values("group"))
    names = order_levels(sums.index.get_level_values("stratum"))
    if len(levels) < 2:
        raise ValueError(f"Column {exposure!r} has the single level {levels[0]!r}; expected two groups.")
    if len(names) < 2:
        raise ValueError(
            f"Column {stratum!r} has the single level {names[0]!r}: there are no strata to compare within."
        )
    if len(names) > MOST_STRATA:
        raise ValueError(f"Column {stratum!r} has {len(names)} different values; expected at most {MOST_STRATA} "
                         "strata. Is it a measurement or an id?")  # fmt: skip
    if not exposed and not reference and len(levels) == 2:
        reference = unexposed_level(levels) or levels[0]
        warnings.append(f"Compared with {exposure} = {reference}; set reference for the other group.")
    pairs = group_contrasts(levels, exposure, exposed, reference)
    if len(pairs) > 1:
        raise ValueError(f"Column {exposure!r} has {len(levels)} groups ({', '.join(levels[:8])}); 2x2 tables compare "
                         "two. Name the group of interest and its reference.")  # fmt: skip
    if design == "auto" and outcome:
        sides = [(sampled_by_outcome(level_labels(plain_table(table)[name]), name), name)
                 for name in (outcome, exposure)]  # fmt: skip
        named = [name for found, name in sides if found == "named"]
        design = "case_control" if named else "cohort"
        if named:
            warnings.append(f"{named[0]} holds cases and controls, so only the odds ratio is given; set design to "
                            "cohort if nobody was chosen by it.")  # fmt: skip
    first, second = pairs[0]
    rows, cells, crude_cells, lacking, one_sided = [], [], [0, 0, 0, 0], [], []
    for name in names:
        four = [int(sums["events" if i % 2 == 0 else "total"].get((name, first if i < 2 else second), 0))
                for i in range(4)]  # fmt: skip
        a, n1, c, n0 = four
        crude_cells = [x + y for x, y in zip(crude_cells, four, strict=True)]
        both = min(n1, n0) > 0
        row = {"stratum": name, "exposed_events": a, "exposed_total": n1, "unexposed_events": c,
               "unexposed_total": n0, "used": int(both), "in_odds": int(both and 0 < a + c < n1 + n0)}  # fmt: skip
        own = crude_measures(share_row(first, a, n1), share_row(second, c, n0)) if both else {}
        for key in ("odds ratio", "risk ratio", "risk difference"):
            parts = own.get(key, (math.nan,) * 3)
            row |= dict(zip([key.replace(" ", "_") + tail for tail in ("", "_lower_95", "_upper_95")], parts,
                            strict=True))  # fmt: skip
        rows.append(row)
        if both:
            cells.append(four)
            one_sided += [] if row["in_odds"] else [name]
        elif max(n1, n0):
            lacking.append(f"{name} (only {first if n1 else second})")
    counting = sum(row["in_odds"] for row in rows)
    if not counting:
        raise ValueError(f"No stratum of {stratum!r} has both groups and both outcomes: {exposure!r} cannot be "
                         f"compared within {stratum!r}. Choose another column of strata.")  # fmt: skip
    if lacking:
        warnings.append(f"{len(lacking)} of {len(names)} strata lack a group and are left out: "
                        f"{', '.join(lacking[:8])}.")  # fmt: skip
    if one_sided:
        also = "" if design == "case_control" else "; the risk ratio and the risk difference take them in"
        warnings.append(f"{len(one_sided)} of {len(names)} strata say nothing of the odds ratio and of its tests, for "
                        f"they have events only or none: {', '.join(one_sided[:8])}{also}.")  # fmt: skip
    shares = share_row(first, *crude_cells[:2]), share_row(second, *crude_cells[2:])
    crude = crude_measures(*shares)
    fitted = mantel_haenszel(cells)
    order = ["odds ratio"] if design == "case_control" else ["risk ratio", "risk difference", "odds ratio"]
    lead = order[0] if measure == "auto" or measure not in order else measure
    if measure not in ("auto", *order):
        warnings.append(f"A {measure} means nothing where cases and controls were chosen; the odds ratio is given.")
    order = [lead, *(key for key in order if key != lead)]
    chi, _, p_value = fitted["association"]
    methods = {"odds ratio": "Mantel-Haenszel; Robins, Breslow and Greenland's variance",
               "risk ratio": "Mantel-Haenszel; Greenland and Robins's variance",
               "risk difference": "Mantel-Haenszel; Greenland and Robins's variance"}  # fmt: skip
    common = []
    for key in order:
        estimate, low, high = fitted["measures"][key]
        before = crude[key][0]
        change = 100 * (before / estimate - 1) if key != "risk difference" and estimate > 0 else math.nan
        common.append({"measure": key, "adjusted": estimate, "lower_95": low, "upper_95": high, "crude": before,
                       "crude_lower_95": crude[key][1], "crude_upper_95": crude[key][2], "crude_off_percent": change,
                       "strata": counting if key == "odds ratio" else len(cells), "p_value": p_value,
                       "method": methods[key]})  # fmt: skip
    tests = [{"test": "Cochran-Mantel-Haenszel", "asks": "is there any association within strata",
              "chi_squared": chi, "df": 1, "p_value": p_value}]  # fmt: skip
    if fitted["homogeneity"]:
        tests.append(dict(zip(("test", "asks", "chi_squared", "df", "p_value"),
                              ("Breslow-Day with Tarone's correction", "do the odds ratios of the strata differ",
                               *fitted["homogeneity"]), strict=True)))  # fmt: skip
    scale, unit = (100, " percentage points") if lead == "risk difference" else (1, "")

    def told(estimate, low, high):
        limits = (f"95 % CI {format_number(scale * low)} to {format_number(scale * high)}" if low == low
                  else "no interval: a sum over the strata is 0")  # fmt: skip
        return f"{format_number(scale * estimate)}{unit} ({limits})"

    estimate, low, high = fitted["measures"][lead]
    quantity = "odds" if lead == "odds ratio" else "risk"
    none, clear = (0.0 if lead == "risk difference" else 1.0), p_value < alpha
    side = "higher" if estimate > none else "lower"
    verb = "are" if quantity == "odds" else "is"
    where = f"Within strata of {stratum}, the {quantity} of {what} {verb}"
    start = (f"{where} {side} in {first} than in {second}" if clear
             else f"{where} not shown to differ between {first} and {second}")  # fmt: skip
    text = (f"{start}: common {lead} {told(estimate, low, high)}, Mantel-Haenszel over {common[0]['strata']} strata; "
            f"{format_p(p_value)}, Cochran-Mantel-Haenszel test.")  # fmt: skip
    if not clear and low == low:
        text += (f" Values of the {lead} below {format_number(scale * low)} or above {format_number(scale * high)}"
                 f"{unit} would be at odds with these data.")  # fmt: skip

    def finding(text, key, row, **values):
        return {"text": text, "output": key, "row": row, "values": finding_values(**values)}

    findings = [finding(text, "common", {"measure": lead}, adjusted=(estimate, low, high), p_value=p_value)]
    before, change = crude[lead], common[0]["crude_off_percent"]
    turned = (before[0] - none) * (estimate - none) < 0 and math.isfinite(before[0])

    def has_moved(key):
        one, other = crude[key][0], fitted["measures"][key][0]
        if key == "risk difference":
            return abs(one - other) > 0.02
        return abs(math.log(max(one, 1e-9) / max(other, 1e-9))) > math.log(1.1)

    moved = has_moved(lead)
    size = "" if change != change else f", {abs(change):.0f} % {'too high' if change > 0 else 'too low'}"
    # The odds ratio of a whole is no average of those of its parts: it differs from them where nothing confounds, too.
    if lead == "odds ratio" and moved and not turned and design == "case_control":
        verdict = (f"differs{size}: {stratum} may confound it, but odds ratios differ from those within strata even "
                   "without confounding; the adjusted one holds within strata")  # fmt: skip
    elif lead == "odds ratio" and moved and not (has_moved("risk ratio") or has_moved("risk difference")):
        verdict = (f"differs{size}, though the risk ratio and the risk difference hardly do: odds ratios are no "
                   f"averages of their strata and differ even without confounding, so {stratum} is not shown to "
                   "confound")  # fmt: skip
    elif turned and moved:
        verdict = (f"points the other way{size}: {stratum} confounds the comparison (Simpson's paradox), and only the "
                   "adjusted one may be read")  # fmt: skip
    elif moved:
        verdict = f"is confounded by {stratum}{size}; the adjusted one is to be read"
    else:
        verdict = f"is nearly the same, so {stratum} confounds little"
    findings.append(finding(f"The crude {lead}, {told(*before)}, {verdict}.", "common", {"measure": lead},
                            crude=before))  # fmt: skip
    if fitted["homogeneity"]:
        differ, p_alike = fitted["homogeneity"][2] < alpha, fitted["homogeneity"][2]
        extremes = sorted((row for row in rows if row["in_odds"]), key=lambda row: row["odds_ratio"])
        ends = (f"from {format_number(extremes[0]['odds_ratio'])} in {extremes[0]['stratum']} to "
                f"{format_number(extremes[-1]['odds_ratio'])} in {extremes[-1]['stratum']}")  # fmt: skip
        says = (f"The odds ratios differ between the strata ({ends}): the common one is an average of unlike effects; "
                "read the strata one by one" if differ else f"The odds ratios ({ends}) are not shown to differ between "
                "the strata")  # fmt: skip
        findings.append(finding(f"{says} (Breslow-Day test with Tarone's correction, {format_p(p_alike)}).", "tests",
                                {"test": tests[1]["test"]}, p_value=p_alike))  # fmt: skip
    for row in common[1:]:
        factor, ends = (100, " percentage points") if row["measure"] == "risk difference" else (1, "")
        limits = (f"95 % CI {format_number(factor * row['lower_95'])} to {format_number(factor * row['upper_95'])}"
                  if row["lower_95"] == row["lower_95"] else "no interval")  # fmt: skip
        findings.append(finding(
            f"The common {row['measure']} is {format_number(factor * row['adjusted'])}{ends} ({limits}); crude "
            f"{format_number(factor * row['crude'])}{ends}.", "common", {"measure": row["measure"]},
            adjusted=(row["adjusted"], row["lower_95"], row["upper_95"])))  # fmt: skip
    if fitted["smallest"] < 5:
        warnings.append(f"The strata are sparse (Mantel and Fleiss's number is {fitted['smallest']:.1f}, below 5): the "
                        "p-value of the Cochran-Mantel-Haenszel test is approximate.")  # fmt: skip
    if (
        fitted["homogeneity"]
        and min(row["exposed_total"] + row["unexposed_total"] for row in rows if row["in_odds"]) < 10
    ):
        warnings.append("Some strata have fewer than ten subjects: the Breslow-Day test has little to go by.")
    return {
        "common": pd.DataFrame(common),
        "strata": pd.DataFrame(rows),
        "tests": pd.DataFrame(tests),
        "forest_plot": strata_figure(rows, crude[lead], (estimate, low, high), lead, f"{first} vs {second}: {what}"),
        "findings": findings,
        "warnings": warnings,
    }
