"""Why apart: what changed in those who were treated is no effect while the others changed as well.

The change of the others stands for what would have happened anyway. Rows of one unit (school, farm, patient) belong
together, so the errors are clustered by it; how the two sides moved before is looked at, because all rests on it.
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
    format_p,
    level_labels,
    likely_control,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    pick_level,
    plain_table,
    require_columns,
)


@check("double_differences_consistent")
def double_differences_consistent(step: StepOutputs) -> Iterator[Issue]:
    """Every estimate lies in its interval, which leaves out 0 where the p-value is below 0.05 and only there."""
    for _, row in step.table("effect").dropna(subset=["lower_95", "upper_95", "p_value"]).iterrows():
        if not row["lower_95"] <= row["estimate"] <= row["upper_95"]:
            message = f"{row['term']} ({row['estimate']}) lies outside its interval."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="effect")
        elif abs(row["p_value"] - 0.05) > 1e-9 and (row["p_value"] < 0.05) != (row["lower_95"] * row["upper_95"] > 0):
            message = f"{row['term']}: p = {row['p_value']:.3g}, but the interval says otherwise."
            yield Issue(code="interval_against_p", severity="error", message=message, where="effect")


def period_key(text):
    """Return what kind of period a label names and what it is ordered by, or None for words without an order.

    Read are numbers, ISO dates, quarters and months of years, months, and one word with a number (week 5). Keys of one
    kind are compared; that of a year alone comes before all in it.
    """
    import math
    import re

    plain = str(text).strip().casefold()
    months = "january february march april may june july august september october november december".split()
    if plain in ("pre", "before", "baseline", "pretest", "pre-test", "prior", "no", "false"):
        return "side", (-math.inf,)
    if plain in ("post", "after", "endline", "posttest", "post-test", "yes", "true"):
        return "side", (math.inf,)
    if re.fullmatch(r"[-+]?\d+(?:[.,]\d+)?", plain):
        return "number", (float(plain.replace(",", ".")),)
    date = re.fullmatch(r"(\d{4})-(\d\d)(?:-(\d\d)(?:[t ](\d\d):(\d\d)(?::(\d\d))?(?:\.0+)?)?)?", plain)
    if date and 1 <= int(date[2]) <= 12:
        return "date", tuple(int(part) for part in date.groups() if part)
    quarter = re.fullmatch(r"(\d{4})[\s/-]*q([1-4])|q([1-4])[\s/,-]*(\d{4})", plain)
    if quarter:
        return "quarter", (int(quarter[1] or quarter[4]), int(quarter[2] or quarter[3]))
    month = re.fullmatch(r"(?:(\d{4})[\s/-]*)?([a-z]{3,9})\.?(?:[\s/,-]*(\d{4}))?", plain)
    at = next((i for i, name in enumerate(months) if month and name.startswith(month[2].replace("sept", "sep"))), None)
    if month and at is not None and not (month[1] and month[3]):
        year = month[1] or month[3]
        return ("month of a year", (int(year), at)) if year else ("month", (at,))
    counted = re.fullmatch(r"([^\d-]*?)[\s_.-]*(\d+(?:\.\d+)?)\s*([^\d-]*)", plain)
    return (f"{counted[1]}#{counted[3]}", (float(counted[2]),)) if counted else None


def ordered_periods(labels):
    """Return the distinct labels from first to last, and their kind; it is "" where they are words without an order."""
    import itertools
    import math

    levels = order_levels(labels)
    keys = {level: period_key(level) for level in levels}
    sides = [level for level in levels if keys[level] and keys[level][0] == "side"]
    others = [level for level in levels if level not in sides]
    kinds = {keys[level][0] if keys[level] else "" for level in others}
    if len(levels) == 2 and len(sides) == 1 and kinds == {""}:  # baseline and harvest
        first = keys[sides[0]][1][0] < 0
        return (sides + others if first else others + sides), "side"
    if len(kinds) > 1 or "" in kinds or len({keys[level][1] for level in sides}) < len(sides):
        return levels, ""
    kind = kinds.pop() if kinds else "side"
    ordered = sorted(levels, key=lambda level: keys[level][1])
    places = (
        [int(keys[level][1][0]) for level in ordered if math.isfinite(keys[level][1][0])] if kind == "month" else []
    )
    gaps = [after - before > 1 for before, after in itertools.pairwise(places)]
    if places and sum(gaps) == 1 and places[0] == 0 and places[-1] == 11:
        return levels, ""  # November to February: which year a month is of is not said
    return ordered, kind


def periods_from(start, periods, kind, time):
    """Return the periods from a start on, or raise ValueError where that cannot be said."""
    same = [period for period in periods if period.casefold() == start.casefold()]
    if same and len(periods) == 2 and not kind:
        return set(same)
    if not kind:
        raise ValueError(f"The periods of {time!r} ({', '.join(periods[:8])}) are words without an order of their own, "
                         f"so none is known to follow {start!r}. Name the one before and the one after.")  # fmt: skip
    if same:
        return set(periods[periods.index(same[0]) :])
    found = period_key(start)
    of_year = found and found[0] == "number" and kind in ("date", "quarter", "month of a year")
    if not found or not (found[0] == kind or of_year or (found[0] == "number" and "#" in kind)):
        raise ValueError(f"The start {start!r} is no period of {time!r}; its periods are {', '.join(periods[:12])}.")
    return {period for period in periods if period_key(period)[1] >= found[1]}


def within_units(values, codes):
    """Return columns of numbers minus the mean of their unit: a model of these has an effect for every unit."""
    import numpy as np

    counts = np.bincount(codes)
    means = np.column_stack([np.bincount(codes, column) / counts for column in values.T])
    return values - means[codes]


def clustered_fit(y, design, clusters, absorbed):
    """Return the least-squares coefficients and their covariance, robust to any likeness within clusters.

    Args:
        y: the measurements.
        design: one column a term.
        clusters: the cluster of each row, counted from 0.
        absorbed: how many effects outside the clusters were taken out of `y` and `design` before.

    Returns:
        Coefficients and covariance, scaled by G/(G - 1) (N - 1)/(N - K) (Cameron and Miller 2015); G clusters, N rows,
        K terms.
    """
    import numpy as np

    inverse = np.linalg.pinv(design.T @ design)
    beta = inverse @ design.T @ y
    scores = np.zeros((clusters.max() + 1, design.shape[1]))
    np.add.at(scores, clusters, design * (y - design @ beta)[:, None])
    groups, n, k = len(scores), len(y), np.linalg.matrix_rank(design) + absorbed
    scale = groups / (groups - 1) * (n - 1) / max(n - k, 1)
    return beta, scale * inverse @ scores.T @ scores @ inverse


def coefficient_row(term, beta, variance, df):
    """Return estimate, standard error, 95 % interval and p-value of a coefficient by Student's t."""
    from scipy import stats

    se = float(max(variance, 0.0) ** 0.5)
    half = float(stats.t.ppf(0.975, df)) * se
    p_value = float(2 * stats.t.sf(abs(beta) / se, df)) if se > 0 else (1.0 if beta == 0 else 0.0)
    return {"term": term, "estimate": float(beta), "se": se, "lower_95": float(beta) - half,
            "upper_95": float(beta) + half, "df": df, "p_value": p_value}  # fmt: skip


def trend_before(y, treated, moment, codes):
    """Return the row of how much faster the treated moved than the others before, per unit of time, or None."""
    import numpy as np

    if len(np.unique(moment)) < 2:
        return None
    _, codes = np.unique(codes, return_inverse=True)
    _, places = np.unique(moment, return_inverse=True)
    periods = np.eye(places.max() + 1)[places][:, 1:]
    design = within_units(np.column_stack([treated * (moment - moment.mean()), periods]), codes)
    if np.ptp(design[:, 0]) == 0:
        return None
    beta, covariance = clustered_fit(within_units(y[:, None], codes)[:, 0], design, codes, 0)
    return coefficient_row("trend of the treated minus that of the others, before", beta[0], covariance[0, 0],
                           int(codes.max()))  # fmt: skip


def double_difference_figure(means, arms, periods, effect, y, time, cut):
    """Draw both groups over time, and where the treated would be had they changed as the others did."""
    figure, axis = new_axes(width=6.2, height=4.4)
    colours = palette(2)
    lines = {}
    for arm, colour in zip(arms, colours, strict=True):
        rows = {row["period"]: row for row in means if row["group"] == arm}
        at = [i for i, period in enumerate(periods) if period in rows]
        lines[arm] = {i: rows[periods[i]]["mean"] for i in at}
        error = [1.96 * rows[periods[i]]["se"] if rows[periods[i]]["se"] == rows[periods[i]]["se"] else 0 for i in at]
        axis.errorbar(at, list(lines[arm].values()), yerr=error, color=colour, marker="o", capsize=3, label=arm)
    later = [i for i in lines[arms[0]] if i >= cut]
    start = max((i for i in lines[arms[0]] if i < cut), default=None)
    if start is not None:
        own = [lines[arms[0]][i] - effect for i in later]
        axis.plot([start, *later], [lines[arms[0]][start], *own], color=colours[0], linestyle=":",
                  label=f"{arms[0]}, less the effect")  # fmt: skip
    axis.axvline(cut - 0.5, color="0.6", linestyle="--", linewidth=0.9)
    step = max(1, len(periods) // 12)
    axis.set_xticks(list(range(0, len(periods), step)), [periods[i] for i in range(0, len(periods), step)])
    axis.set_xlabel(time)
    axis.set_ylabel(f"mean of {y} (95 % CI)")
    axis.legend(frameon=False, fontsize=8)
    return figure


_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
PERIOD = (
    rf"(?:(?<!\w)(?:\d{{4}}-\d\d(?:-\d\d)?|\d{{4}}\s?-?Q[1-4]|Q[1-4][\s-]?\d{{4}}|{_MONTH}(?:\s+\d{{4}})?(?!\w)|"
    r"\d+(?:[.,]\d+)?)(?![\w%])(?!\s*(?:%|(?:more|less|fewer|kg|mg|g|ml|per|percent|points?|times|"
    r"(?:hour|day|week|month|quarter|year|lesson)s)\b)))"
)
"""How the first period of a treatment is written in a question: not `2 more`, nor `5 kg`."""


@tool(
    name="difference_in_differences",
    title="Difference in differences",
    description=(
        "Compare how a measurement changed in a treated group with how it changed in an untreated one over the same "
        "time: linear model with effects of units (or of the group, where units have no rows on both sides) and of "
        "periods, standard errors clustered by unit, interval by Student's t with clusters - 1 degrees of freedom; "
        "with several periods before, whether the groups moved alike (parallel trends)."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "unit => linear model of the change, errors clustered by {unit}, because a treated group is set "
        "against an untreated one before and after",
        "linear model of the change, because a treated group is set against an untreated one before and after",
    ),
    complete=("y", "group", "time", "unit"),
    answers=["difference_in_differences"],
    inputs={"table": "table: one row a unit and period"},
    outputs={
        "effect": "table: the difference in differences, and the trends before",
        "means": "table: mean of every group and period",
        "did_plot": "figure: both groups over time",
    },
    params={
        "y": param("The measurement", kind="column", of="table", role="measure"),
        "group": param("Column that tells the treated from the others", kind="column", of="table", role="group"),
        "time": param("Column of the periods", kind="column", of="table", role="period"),
        "unit": param("Column of the units with several rows, by which errors are clustered", kind="column",
                      of="table", role="panel_unit"),
        "treated": param("The group that was treated", kind="level", of="group", role="interest"),
        "control": param("The group that was not", kind="level", of="group", role="reference", otherwise="first"),
        "after": param("The period after, where there are two", kind="level", of="time", role="interest"),
        "before": param("The period before", kind="level", of="time", role="reference"),
        "start": param(
            "The first period in which the treated were treated, where there are several",
            role="onset",
            of="time",
            words=[
                rf"\b(?:start(?:s|ed|ing)?|beg[aiu]n\w*|introduced|came|launched|enacted|passed|since|as of|rolled out|"
                rf"onset|effective|in force|(?:law|policy|reform|program(?:me)?|ban)\s+(?:in|of|since|from)|"
                rf"(?:law|policy|reform|program(?:me)?|ban)(?=\s+\d{{4}}\b))"
                rf"(?:\s*[:=]|\s+(?:in|on|at|from|since|was|the|year|week|month|day|quarter|wave))*\s*(?P<value>{PERIOD})",
                rf"\bfrom\s+(?:(?:the|year|week|month|day|quarter|wave)\s+)*(?P<value>{PERIOD})\s+on(?:wards?)?\b",
            ],
        ),
        "alpha": param("P-value below which an effect is reported", minimum=1e-10, maximum=0.5),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "double_differences_consistent"),
    keywords=("difference in differences", "difference-in-differences", "diff-in-diff", "DiD", "parallel trends",
              "clustered standard errors", "natural experiment", "policy evaluation", "before-after control-impact",
              "BACI design", "two-way fixed effects", "controlled before-and-after study"),
    citations=(
        Citation(title="Minimum wages and employment: a case study of the fast-food industry in New Jersey and "
                       "Pennsylvania", authors="Card D, Krueger AB", year=1994),
        Citation(title="How much should we trust differences-in-differences estimates?",
                 authors="Bertrand M, Duflo E, Mullainathan S", year=2004, doi="10.1162/003355304772839588"),
        Citation(title="A practitioner's guide to cluster-robust inference", authors="Cameron AC, Miller DL",
                 year=2015, doi="10.3368/jhr.50.2.317"),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="Did wages rise more in the state with the new law than in the other, before against after?",
    next_steps=(
        NextStep(text="Everything rests on both groups moving alike without the treatment: look at the periods before, "
                      "and at what else changed at the same time."),
    ),
)  # fmt: skip
def difference_in_differences(
    table,
    *,
    y: str,
    group: str,
    time: str,
    unit: str = "",
    treated: str = "",
    control: str = "",
    after: str = "",
    before: str = "",
    start: str = "",
    alpha: float = 0.05,
):
    """Compare the change of a treated group with that of another."""
    import numpy as np
    import pandas as pd

    chosen = [name for name in (y, group, time, unit) if name]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
    table = plain_table(table)
    require_columns(table, chosen)
    table, warnings = complete_rows(table, chosen)
    arms = order_levels(level_labels(table[group]))
    treated = pick_level(treated, arms, group) if treated else ""
    control = pick_level(control, arms, group) if control else ""
    if treated == control and treated:
        raise ValueError(f"Treated and control are both {treated!r}; expected two different levels of {group!r}.")
    if not (treated and control):
        if len(arms) != 2:
            raise ValueError(f"Column {group!r} has {len(arms)} levels ({', '.join(arms[:8])}); expected two, or the "
                             "treated one and its control by name.")  # fmt: skip
        control = control or (next(x for x in arms if x != treated) if treated else likely_control(arms) or arms[0])
        treated = next(x for x in arms if x != control)
        warnings.append(f"Treated was taken to be {group} = {treated}; set treated and control for the other way.")
    labels = level_labels(table[time])
    periods, kind = ordered_periods(labels)
    if after or before:
        if not (after and before) and len(periods) == 2:
            after = after or next(x for x in periods if x != pick_level(before, periods, time))
            before = before or next(x for x in periods if x != pick_level(after, periods, time))
        if not (after and before):
            raise ValueError(f"Column {time!r} has {len(periods)} periods; name the one before and the one after.")
        periods = [pick_level(before, periods, time), pick_level(after, periods, time)]
        keys = [period_key(period) for period in periods]
        if kind and all(keys) and keys[0][1] > keys[1][1]:
            raise ValueError(f"{periods[0]!r} is named as the period before and {periods[1]!r} as the one after, but "
                             "it comes later. Exchange them.")  # fmt: skip
        if periods[0] == periods[1]:
            raise ValueError(f"Before and after are both {periods[0]!r}; expected two different periods of {time!r}.")
        later = {periods[1]}
    elif str(start).strip():
        start = str(start).strip()
        later = periods_from(start, periods, kind, time)
        periods.sort(key=lambda period: period in later)
    elif len(periods) == 2:
        import re

        if not kind or (set(periods) <= {"0", "1", "no", "yes", "false", "true"} and re.match("(?i)pre|before", time)):
            raise ValueError(f"Which of the two periods of {time!r} came first, {periods[0]!r} or {periods[1]!r}, "
                             "cannot be told from them; name the one before and the one after.")  # fmt: skip
        later = {periods[1]}
        warnings.append(f"Before was taken to be {time} = {periods[0]}, after {time} = {periods[1]}.")
    else:
        which = "say from which on the treated were treated (start), or name" if kind else "name"
        raise ValueError(f"Column {time!r} has {len(periods)} periods ({', '.join(periods[:8])}); {which} the one "
                         "before and the one after.")  # fmt: skip
    if not later or later >= set(periods):
        raise ValueError(f"All periods of {time!r} lie {'after' if later else 'before'} the start {start}; expected "
                         "some on both sides.")  # fmt: skip
    keep = labels.isin(periods) & level_labels(table[group]).isin([treated, control])
    table = table[keep].reset_index(drop=True)
    labels, sides = level_labels(table[time]), level_labels(table[group])
    values = numeric_values(table, y).to_numpy()
    is_treated = (sides == treated).to_numpy().astype(float)
    is_after = labels.isin(later).to_numpy().astype(float)
    cells = {(a, b): int(((is_treated == a) & (is_after == b)).sum()) for a in (0, 1) for b in (0, 1)}
    if not all(cells.values()):
        a, b = next(key for key, count in cells.items() if not count)
        raise ValueError(f"No row of {treated if a else control} lies {'after' if b else 'before'}: the change "
                         "cannot be compared.")  # fmt: skip
    who = level_labels(table[unit]) if unit else pd.Series([str(i) for i in range(len(table))])
    codes, names = pd.factorize(who)
    arm_of = pd.DataFrame({"code": codes, "arm": is_treated}).groupby("code")["arm"]
    if unit and (arm_of.nunique() > 1).any():
        turned = [str(names[code]) for code, n in arm_of.nunique().items() if n > 1]
        raise ValueError(f"{len(turned)} of {len(names)} {unit} change their {group} (for example {turned[0]}): this "
                         "compares units treated from one time on with units that never were. Is the group a column "
                         "of who was treated at all?")  # fmt: skip
    sizes = arm_of.first().value_counts().to_dict()
    few = min(sizes.get(0.0, 0), sizes.get(1.0, 0))
    if few < 2:
        side = treated if sizes.get(1.0, 0) < 2 else control
        raise ValueError(f"{side} has {few} {unit or 'row'}: with a single one, chance cannot be told from the "
                         "treatment. Expected at least two on each side.")  # fmt: skip
    both = pd.DataFrame({"code": codes, "after": is_after}).groupby("code")["after"].nunique() > 1
    _, places = np.unique([periods.index(label) for label in labels], return_inverse=True)
    steps = np.eye(places.max() + 1)[places][:, 1:]
    effect_of = is_treated * is_after
    panel = bool(unit) and both.mean() > 0.5
    if panel:
        design = within_units(np.column_stack([effect_of, steps]), codes)
        target = within_units(values[:, None], codes)[:, 0]
    else:
        design, target = np.column_stack([effect_of, np.ones(len(values)), is_treated, steps]), values
    beta, covariance = clustered_fit(target, design, codes, 0)
    df = len(names) - 1 if unit else len(values) - np.linalg.matrix_rank(design)
    row = coefficient_row("difference in differences", beta[0], covariance[0, 0], int(df))
    rows = [row]
    if panel and not both.all():
        warnings.append(f"{int((~both).sum())} of {len(both)} {unit} have rows on one side of the change only; the "
                        "effect rests on the others.")  # fmt: skip
    moments = np.array([periods.index(label) for label in labels], dtype=float)
    if pd.to_numeric(pd.Series(periods), errors="coerce").notna().all():
        moments = np.array([float(label) for label in labels])
    early = is_after == 0
    trend = trend_before(values[early], is_treated[early], moments[early], codes[early]) if panel else None
    rows += [trend] if trend else []
    means = [{"group": arm, "period": period, "after": int(period in later), "n": len(part),
              "mean": float(part.mean()), "sd": float(part.std(ddof=1)) if len(part) > 1 else float("nan"),
              "se": float(part.std(ddof=1) / len(part) ** 0.5) if len(part) > 1 else float("nan")}
             for arm in (treated, control) for period in periods
             if len(part := values[(sides == arm).to_numpy() & (labels == period).to_numpy()])]  # fmt: skip
    change = {arm: values[(is_treated == flag) & (is_after == 1)].mean()
              - values[(is_treated == flag) & (is_after == 0)].mean()
              for arm, flag in ((treated, 1), (control, 0))}  # fmt: skip
    moved = {arm: f"{'rose' if by > 0 else 'fell'} by {format_number(abs(by))}" if by else "did not change"
             for arm, by in change.items()}  # fmt: skip
    limits = f"95 % CI {format_number(row['lower_95'])} to {format_number(row['upper_95'])}"
    clear, more = row["p_value"] < alpha, "more" if row["estimate"] > 0 else "less"
    how = f"errors clustered by {len(names)} {unit}" if unit else "rows taken as independent"
    text = (f"{y} changed by {format_number(abs(row['estimate']))} {more} in {treated} than in {control}" if clear
            else f"The change of {y} is not shown to differ between {treated} and {control}")  # fmt: skip
    raw = change[treated] - change[control]
    same = abs(raw - row["estimate"]) <= 1e-6 * max(abs(raw), abs(row["estimate"]), float(np.ptp(values)))
    if not same:
        warnings.append(f"Not every {unit or 'group'} has its rows in every period, so the means before and after are "
                        f"of different ones: how much further they moved in {treated} ({format_number(raw)}) is no "
                        "difference in differences, which rests on changes within.")  # fmt: skip
    told = f"it {moved[treated]} in {treated} and {moved[control]} in {control}, " if same else ""
    text += (f": {told}difference in differences "
             f"{format_number(row['estimate'])} ({limits}; {how}), {format_p(row['p_value'])}.")  # fmt: skip
    if not clear:
        text += (
            f" Effects below {format_number(row['lower_95'])} or above {format_number(row['upper_95'])} would be at "
        )
        text += "odds with these data."
    findings = [{"text": text, "output": "effect", "row": {"term": row["term"]},
                 "values": finding_values(estimate=(row["estimate"], row["lower_95"], row["upper_95"]),
                                          p_value=row["p_value"])}]  # fmt: skip
    if trend:
        apart = trend["p_value"] < alpha
        findings.append({
            "text": f"Before, {treated} and {control} "
                    f"{'moved apart' if apart else 'are not shown to have moved apart'}: the trend of "
                    f"{treated} was {format_number(abs(trend['estimate']))} per "
                    f"{'unit' if kind == 'number' else 'period'} of {time} "
                    f"{'above' if trend['estimate'] > 0 else 'below'} that of {control} (95 % CI "
                    f"{format_number(trend['lower_95'])} to {format_number(trend['upper_95'])}), "
                    f"{format_p(trend['p_value'])}"
                    f"{': the effect is in doubt, because the groups did not run parallel.' if apart else '.'}",
            "output": "effect", "row": {"term": trend["term"]},
            "values": finding_values(estimate=(trend["estimate"], trend["lower_95"], trend["upper_95"]),
                                     p_value=trend["p_value"])})  # fmt: skip
    else:
        warnings.append(f"Whether {treated} and {control} moved alike before cannot be seen from these data; the "
                        "effect rests on it.")  # fmt: skip
    if unit and (len(names) < 30 or few < 5):
        warnings.append(f"There are few clusters ({len(names)} {unit}, {int(sizes.get(1.0, 0))} of them {treated}): "
                        "clustered errors are then too small, so take the interval for too narrow and p-values near "
                        f"{alpha:g} for no proof.")  # fmt: skip
    if not unit:
        warnings.append("No column of units was named: the rows are taken as independent. If schools, farms or "
                        "subjects have several rows, set unit.")  # fmt: skip
    cut = min(periods.index(period) for period in periods if period in later)
    return {"effect": pd.DataFrame(rows), "means": pd.DataFrame(means),
            "did_plot": double_difference_figure(means, (treated, control), periods, row["estimate"], y, time, cut),
            "findings": findings, "warnings": warnings}  # fmt: skip
