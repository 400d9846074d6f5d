"""Why apart: a share that may be worse by so many percentage points needs the test of a share, not of a mean."""

from __future__ import annotations

from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics import equivalence as _equivalence  # noqa: F401 - registers its check
from engine.toolbox.statistics.equivalence import equivalence_test, margin_figure
from engine.toolbox.statistics.groups import group_contrasts
from engine.toolbox.statistics.proportions import (
    share_row,
    tally_shares,
)
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    format_p,
    likely_control,
    order_levels,
)


def unwanted_event(what):
    """Say whether an event is one that nobody wants, by its name: death, infection, relapse; None where that is open.

    Getting rid of something bad is good (infection cleared). A name that speaks of neither says nothing, nor does one
    that speaks of both: weight lost may be what was hoped for, or what was feared.

    Args:
        what: the event in words, `infection = yes`, where a level that speaks for itself goes first.
    """
    import re

    rid = r"clear|reliev|relief|resol[uv]|eradicat|\bcure|prevent|avoid|recover"
    good = rf"{rid}|\bheal(?!th)|surviv|success|respon[ds]|remission|germinat|hatch|improv|protect|alive|achiev"
    bad = (r"dea(?:d|th)|die[sd]?\b|mortal|fail|infect|relaps|recur|complic|advers|bleed|haemorr|hemorr|stroke|infarct|"
           r"readmi|revis|\bill\b|sick|disease|pneumon|reject|fractur|\bfalls?\b|graft loss|miscarr|abort|leak|sepsis|"
           r"dehisc|pain|nausea|vomit|thromb|embol|toxic|\breaction")  # fmt: skip
    what = what.replace("_", " ").casefold()
    for part in (what.rpartition("= ")[2], what):
        denied = re.search(r"\b(?:no|not|non|without|never|free)\b|free\b|= (?:n|0|false|none)$", part)
        hopes = re.search(good, part) is not None
        harms = re.search(bad, part) is not None and not re.search(rid, part)
        if hopes != harms and not re.search(r"\bun(?:heal|cure|resol|cl)", what):
            return harms != (denied is not None)
    return None


def score_of_difference(first, second, gap):
    """Return the score statistic that the first share minus the second is `gap` (Farrington and Manning).

    The shares are those likeliest under that difference, in closed form; the variance has the factor N/(N - 1) of
    Miettinen and Nurminen.
    """
    import math

    e, n, f, m = first["events"], first["total"], second["events"], second["total"]
    p, q, ratio = e / n, f / m, m / n
    a = 1 + ratio
    b = -(1 + ratio + p + ratio * q + gap * (ratio + 2))
    c = gap**2 + gap * (2 * p + ratio + 1) + p + ratio * q
    d = -p * gap * (1 + gap)
    v = b**3 / (3 * a) ** 3 - b * c / (6 * a**2) + d / (2 * a)
    u = math.copysign(math.sqrt(max(0.0, b**2 / (3 * a) ** 2 - c / (3 * a))), v)
    w = (math.pi + math.acos(max(-1.0, min(1.0, v / u**3 if u else 0.0)))) / 3
    one = min(max(2 * u * math.cos(w) - b / (3 * a), 0.0), 1.0)
    two = min(max(one - gap, 0.0), 1.0)
    variance = (one * (1 - one) / n + two * (1 - two) / m) * (n + m) / (n + m - 1)
    distance = p - q - gap
    return distance / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, distance) if distance else 0.0


def margin_tests(first, second, margin, alpha):
    """Return difference, limits and both one-sided p-values of two shares by the score statistic.

    Args:
        first: row with `events` and `total`.
        second: the row it is compared with.
        margin: the difference that does not matter, as a share.
        alpha: error of each one-sided test; the interval has a confidence of 1 - 2 alpha.
    """
    from scipy.optimize import brentq
    from scipy.stats import norm

    gap, bound = first["share"] - second["share"], float(norm.isf(alpha))

    def limit(sign):
        def beyond(x):
            return score_of_difference(first, second, x) + sign * bound

        end = sign * (1 - 1e-9)
        return end if sign * gap >= 1 or sign * beyond(end) > 0 else brentq(beyond, gap, end, xtol=1e-12)

    return {"difference": gap, "lower": float(limit(-1)), "upper": float(limit(1)),
            "p_lower": float(norm.sf(score_of_difference(first, second, -margin))),
            "p_upper": float(norm.cdf(score_of_difference(first, second, margin)))}  # fmt: skip


@tool(
    name="share_equivalence",
    title="Equivalence and non-inferiority of two shares",
    description=(
        "Test whether the share of an event (cured, germinated, infected) in one group is alike that in another within "
        "a margin of percentage points, or not worse by more than it: score tests of Farrington and Manning with "
        "Miettinen and Nurminen's interval of the difference. The margin is said, never taken from the data."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "score tests of Farrington and Manning, because two shares are to be alike within a margin",
    ),
    complete=("outcome", "group", "not events"),
    answers=["equivalence_test"],
    inputs={"table": "table: one row a subject, or rows of events and totals"},
    outputs={
        "equivalence": "table: difference of the shares, interval, margins, one-sided tests and the verdict",
        "margin_plot": "figure: the interval between the margins",
    },
    params={
        "outcome": param("Yes/no column, a row a subject", kind="column", of="table", role="outcome", needed=True),
        "event_value": param("The level that is the event; empty to recognise it", kind="level", of="outcome",
                             role="event"),
        "events": param("Column of counted events, when the table is tallied", kind="column", of="table", role="part",
                        instead_of=["outcome", "event_value"]),
        "total": param("Column of totals that the events are part of", kind="column", of="table", role="total",
                       instead_of=["outcome", "event_value"]),
        "group": param("Column of the two groups", kind="column", of="table", role="group"),
        "treated": param("The group that is compared (the new one)", kind="level", of="group", role="interest"),
        "control": param("The group it is compared with (the standard)", kind="level", of="group", role="reference",
                         otherwise="first"),
        "margin": param(
            "The difference that would not matter, as a share: say it in the question, for example `within 5 points`",
            unit="share",
            words=[*next(p.words for p in equivalence_test.tool_spec.params if p.name == "margin"),
                   r"(?:lag|behind)(?: by)?"],
        ),
        "kind": param(
            "Both margins, or one: not lower (the event is good), not higher (the event is bad); not_worse decides by "
            "the name of the event",
            choices=["equivalence", "not_lower", "not_higher", "not_worse"],
            words=["not_worse: non.?inferior\\w*|not? (?:worse|wors|inferior)|as good as|\\bNI\\b",
                   "not_lower: not? (?:lower|less|fewer)|(?:not|must not|may)\\s+(?:fall|lag|be behind)|behind|lag",
                   "not_higher: (?:not|no) (?:higher|more|greater) (?!or less)"],
        ),
        "alpha": param("Error of each one-sided test", minimum=1e-10, maximum=0.4),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "equivalence_as_its_interval"),
    keywords=("non-inferiority of proportions", "equivalence of proportions", "Farrington-Manning",
              "Miettinen-Nurminen", "risk difference margin", "not worse cure rate"),
    citations=(
        Citation(title="Test statistics and sample size formulae for comparative binomial trials with null hypothesis "
                       "of non-zero risk difference or non-unity relative risk", authors="Farrington CP, Manning G",
                 year=1990, doi="10.1002/sim.4780091208"),
        Citation(title="Comparative analysis of two rates", authors="Miettinen O, Nurminen M", year=1985,
                 doi="10.1002/sim.4780040211"),
    ),
    packages=("scipy", "pandas"),
    seconds=2.0,
    example="Is the short course no worse than the long one for cure, with a margin of 10 percentage points?",
    next_steps=(
        NextStep(text="In a non-inferiority trial test those who kept to the protocol as well: who leaves the "
                      "treatment makes the groups alike."),
    ),
)  # fmt: skip
def share_equivalence(
    table,
    *,
    group: str,
    margin: float,
    outcome: str = "",
    event_value: str = "",
    events: str = "",
    total: str = "",
    treated: str = "",
    control: str = "",
    kind: str = "equivalence",
    alpha: float = 0.05,
):
    """Test whether two shares are alike within a margin, or one not worse than the other."""
    import pandas as pd

    if kind not in ("equivalence", "not_lower", "not_higher", "not_worse"):
        raise ValueError(f"There is no kind {kind!r}; expected equivalence, not_lower, not_higher or not_worse.")
    margin = margin / 100 if margin >= 1 else margin
    if not 0 < margin < 1:
        raise ValueError(f"The margin is {margin:g}; expected a share between 0 and 1, such as 0.1 for 10 points.")
    sums, what, warnings = tally_shares(table, outcome, event_value, events, total, group)
    levels = order_levels(sums.index)
    if len(levels) < 2 or (len(levels) > 2 and not treated):
        raise ValueError(
            f"Column {group!r} has {len(levels)} groups ({', '.join(levels[:8])}); name the two to compare."
        )
    if not treated and not control:
        control = likely_control(levels) or levels[0]
        warnings.append(f"{control} was taken for the standard; name the groups if it is the other way round.")
    first, second = (share_row(level, *sums.loc[level, ["events", "total"]])
                     for level in group_contrasts(levels, group, treated, control)[0])  # fmt: skip
    if min(first["total"], second["total"]) < 5:
        raise ValueError(f"Only {min(first['total'], second['total'])} subjects in a group; expected at least 5.")
    if kind == "not_worse":
        unwanted = unwanted_event(what)
        if unwanted is None:
            raise ValueError(f"Whether the event ({what}) is good or bad cannot be told from its name. "
                             "Set kind to not_lower if it is good, or to not_higher if it is bad (in a "
                             "question: not lower by more than the margin, or not higher).")  # fmt: skip
        kind = "not_higher" if unwanted else "not_lower"
        good = "bad" if kind == "not_higher" else "good"
        warnings.append(f"The event ({what}) was taken to be {good}; choose the kind "
                        f"{'not_lower' if good == 'bad' else 'not_higher'} if it is not.")  # fmt: skip
    tests = margin_tests(first, second, margin, alpha)
    p_value = {"equivalence": max(tests["p_lower"], tests["p_upper"]), "not_lower": tests["p_lower"],
               "not_higher": tests["p_upper"]}[kind]  # fmt: skip
    inside = {"equivalence": tests["lower"] > -margin and tests["upper"] < margin,
              "not_lower": tests["lower"] > -margin, "not_higher": tests["upper"] < margin}[kind]  # fmt: skip
    row = {"comparison": f"{first['group']} vs {second['group']}", "test": "score tests of two shares",
           "kind": kind.replace("_", " "), "events_1": first["events"], "n_1": first["total"],
           "events_2": second["events"], "n_2": second["total"], "share_1": first["share"], "share_2": second["share"],
           **tests, "confidence": 1 - 2 * alpha, "margin_low": -margin, "margin_high": margin, "p_value": p_value,
           "shown": int(inside)}  # fmt: skip
    names, points = (first["group"], second["group"]), format_number(100 * margin)
    claim = {"equivalence": f"{what} is alike in {names[0]} and {names[1]} within {points} percentage points",
             "not_lower": f"{what} is not rarer in {names[0]} than in {names[1]} by {points} percentage points or more",
             "not_higher": f"{what} is not more frequent in {names[0]} than in {names[1]} by {points} percentage "
                           "points or more"}[kind]  # fmt: skip
    shares = " against ".join(f"{100 * part['share']:.1f} % ({part['events']} of {part['total']})"
                              for part in (first, second))  # fmt: skip
    text = (f"{claim if inside else f'It is not shown that {claim}'}: {shares}, difference "
            f"{format_number(100 * tests['difference'])} percentage points ({100 * (1 - 2 * alpha):g} % CI "
            f"{format_number(100 * tests['lower'])} to {format_number(100 * tests['upper'])}), {format_p(p_value)} "
            "(score test).")  # fmt: skip
    findings = [{"text": text, "output": "equivalence", "row": {"comparison": row["comparison"]},
                 "values": finding_values(difference=(tests["difference"], tests["lower"], tests["upper"]),
                                          p_value=p_value)}]  # fmt: skip
    worst = tests["lower"] if kind == "not_lower" else tests["upper"]
    beyond = {"equivalence": max(abs(tests["lower"]), abs(tests["upper"])), "not_lower": -worst, "not_higher": worst}
    if not inside:
        findings.append({"text": f"A difference of {format_number(100 * max(beyond[kind], 0.0))} percentage points in "
                                 f"the wrong direction is still possible, more than the margin of {points}.",
                         "output": "equivalence", "row": {"comparison": row["comparison"]},
                         "values": finding_values(margin=margin)})  # fmt: skip
    figure_row = row | {key: 100 * row[key] for key in ("difference", "lower", "upper", "margin_low", "margin_high")}
    return {"equivalence": pd.DataFrame([row]), "findings": findings, "warnings": warnings,
            "margin_plot": margin_figure(figure_row, f"percentage points, {names[0]} minus {names[1]}",
                                         lambda x: x)}  # fmt: skip
