"""Why apart: a share says nothing without the number it was counted among.

Every share carries events, total and a Wilson interval, which stays honest near 0 and 1; small expected counts get the
exact test, and the table says which test was taken and why.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.contingency import independence_tests
from engine.toolbox.statistics.group_tests import holm_adjust
from engine.toolbox.statistics.groups import group_contrasts
from engine.toolbox.tables.columns import (
    called_level,
    complete_rows,
    finding_values,
    format_number,
    format_p,
    label_groups,
    left_open,
    level_labels,
    likely_control,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    pick_level,
    plain_table,
    require_columns,
    which_differ,
)
from engine.toolbox.tables.rows import table_row

MOST_GROUPS = 20
"""So many groups are compared."""


@check("shares_match_counts")
def shares_match_counts(step: StepOutputs) -> Iterator[Issue]:
    """Every share is its events over its total, and lies within its interval and between 0 and 1."""
    for output, table in step.tables():
        if not {"events", "total", "share", "lower_95", "upper_95"} <= set(table.columns):
            continue
        for _, row in table.iterrows():
            if not 0 <= row["events"] <= row["total"] or abs(row["share"] * row["total"] - row["events"]) > 1e-6:
                message = f"A share of {row['share']} is not {row['events']} events of {row['total']}."
                yield Issue(code="share_differs", severity="error", message=message, where=output)
            elif not 0 <= row["lower_95"] <= row["share"] <= row["upper_95"] <= 1:
                message = f"The share {row['share']} lies outside its interval {row['lower_95']} to {row['upper_95']}."
                yield Issue(code="share_outside_interval", severity="error", message=message, where=output)


@check("share_differences_match")
def share_differences_match(step: StepOutputs) -> Iterator[Issue]:
    """A difference is share_1 - share_2 of its own row, within its interval; a risk ratio is their quotient."""
    table = step.table("tests") if "tests" in step.files else None
    if table is None:
        return
    for _, row in table.dropna(subset=["difference"]).iterrows():
        quotient = row["risk_ratio"] * row["share_2"] if row["risk_ratio"] < float("inf") else row["share_1"]
        if abs(row["difference"] - (row["share_1"] - row["share_2"])) > 1e-9 or abs(quotient - row["share_1"]) > 1e-9:
            message = f"{row['comparison']}: the difference or the risk ratio is not that of the two shares."
            yield Issue(code="share_difference_differs", severity="error", message=message, where="tests")
        elif not row["lower_95"] <= row["difference"] + 1e-12 or not row["upper_95"] >= row["difference"] - 1e-12:
            message = f"{row['comparison']}: the 95 % interval does not contain the difference {row['difference']}."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="tests")


def wilson_interval(events, total, z=1.959963984540054):
    """Return Wilson's interval of a share, 95 % unless another normal quantile is given."""
    import math

    centre = (events + z**2 / 2) / (total + z**2)
    half = z / (total + z**2) * math.sqrt(events * (total - events) / total + z**2 / 4)
    return (0.0 if events == 0 else centre - half), (1.0 if events == total else centre + half)


def event_rows(column, name, event_value):
    """Return where a yes/no column holds the event, the event in words, and warnings."""
    labels = level_labels(column)
    levels = order_levels(labels)
    if event_value:
        level = pick_level(event_value, levels, name)
        others = [other for other in levels if other != level]
        notes = [f"Every value of {name} other than {level} counts as no event: {', '.join(others[:8])}."]
        return labels == level, f"{name} = {level}", notes if len(others) > 1 else []
    if len(levels) > 2:
        shown = ", ".join(levels[:8]) + (", ..." if len(levels) > 8 else "")
        raise ValueError(
            f"Column {name!r} has {len(levels)} different values ({shown}); expected two, or event_value to say which "
            "of them is the event."
        )
    control = likely_control(levels)
    level = next((other for other in levels if other != control), "") if control else levels[-1]
    what = f"{name} = {level}" if level else f"{name} other than {control}"
    return labels == level, what, [f"The event was taken to be {what}; set event_value for the other level."]


def counted_rows(table, events, total):
    """Return the events and totals of every row as floats; what cannot be a part of a total raises ValueError."""
    part, whole = numeric_values(table, events), numeric_values(table, total)
    for name, column in ((events, part), (total, whole)):
        if (column < 0).any() or ((column - column.round()).abs() > 1e-6).any():
            raise ValueError(f"Column {name!r} holds negative or fractional values; expected counts (whole numbers).")
    if (part > whole).any():
        row = int((part > whole).to_numpy().argmax())
        raise ValueError(
            f"{int((part > whole).sum())} rows have more events ({events!r}) than their total ({total!r}), for example "
            f"{part.iloc[row]:g} of {whole.iloc[row]:g}. Is {total!r} the number without the event? Then add both."
        )
    return part.round(), whole.round()


def uneven_rows(frame):
    """Return the p-value of the test that the rows summed in a group have one share, or None where none is summed."""
    from scipy.stats import chi2

    frame = frame[frame["total"] > 0]
    sums = frame.groupby("group")[["events", "total"]].transform("sum")
    share = sums["events"] / sums["total"]
    use = (share > 0) & (share < 1)
    free = int(use.sum()) - frame.loc[use, "group"].nunique()
    if free < 1:
        return None
    expected = (share * frame["total"])[use]
    return float(chi2.sf(((frame["events"][use] - expected) ** 2 / (expected * (1 - share[use]))).sum(), free))


def tally_shares(table, event, event_value, events, total, group, empty="unknown"):
    """Return events and total of every group, the event in words, and warnings.

    Either `event` is a yes/no column with a row a subject, or `events` and `total` are counts. An empty cell of `event`
    leaves its row out, or says that nothing happened.
    """
    import pandas as pd

    if bool(events) != bool(total) or bool(event) == bool(events):
        raise ValueError(
            "Expected either one yes/no column with a row a subject, or two columns of counts: events and the total "
            "they are part of. Name one of these two forms."
        )
    chosen = [name for name in (event, events, total, group) if name]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
    table = plain_table(table)
    require_columns(table, chosen)
    blank = table[event].isna() | (table[event].astype(str).str.strip() == "") if event else None
    nothing = event and event_value and empty == "no event"
    table, warnings = complete_rows(table, [name for name in chosen if not (nothing and name == event)])
    if nothing and blank.any():
        warnings.append(f"{int(blank.sum())} rows with an empty cell in {event} were counted as without the event.")
    if len(table) == 0:
        raise ValueError("The table has no rows; expected at least one. Choose another file.")
    frame = pd.DataFrame({"group": level_labels(table[group]) if group else pd.Series("all", index=table.index)})
    if event:
        happened, what, notes = event_rows(table[event], event, event_value)
        warnings += notes
        frame["events"], frame["total"] = happened.astype(float), 1.0
    else:
        frame["events"], frame["total"] = counted_rows(table, events, total)
        what = f"{events} among {total}"
        p_uneven = uneven_rows(frame)
        if p_uneven is not None:
            warnings.append("Several rows of a group were added up, as if every subject in them were independent.")
        if p_uneven is not None and p_uneven < 0.05:
            warnings.append(
                f"The rows added up differ in their share more than chance explains ({format_p(p_uneven)}): intervals "
                "and p-values are too optimistic. A model with the row as subject would allow for it."
            )
    sums = frame.groupby("group", sort=False)[["events", "total"]].sum().astype(int)
    empty = sums.index[sums["total"] == 0]
    if len(empty) == len(sums):
        raise ValueError(f"Every total in {total!r} is 0; expected subjects that were counted. Choose another column.")
    if len(empty):
        warnings.append(f"Left out because their total is 0: {', '.join(empty)}.")
    return sums.drop(index=empty), what, warnings


def share_row(group, events, total):
    """Return the row of one group: events, total, share and its interval."""
    low, high = wilson_interval(events, total)
    return {"group": group, "events": int(events), "total": int(total), "share": events / total, "lower_95": low,
            "upper_95": high}  # fmt: skip


def compare_two_shares(first, second):
    """Return the test row of two groups: difference (Newcombe), risk ratio (Katz) and the test that fits the counts."""
    import math

    from scipy import stats

    (e1, n1, p1, l1, u1), (e2, n2, p2, l2, u2) = (
        [row[key] for key in ("events", "total", "share", "lower_95", "upper_95")] for row in (first, second)
    )
    gap, counts, pooled = p1 - p2, [[e1, n1 - e1], [e2, n2 - e2]], (e1 + e2) / (n1 + n2)
    smallest = min(n1, n2) * min(pooled, 1 - pooled)
    row = {"comparison": f"{first['group']} vs {second['group']}"}
    if smallest < 5:
        row |= {"test": "Fisher's exact test", "p_value": float(stats.fisher_exact(counts).pvalue),
                "why": f"the smallest expected count is {smallest:.2g}, below 5"}  # fmt: skip
    else:
        plain = stats.chi2_contingency(counts, correction=False)
        row |= {"test": "chi-square test without correction", "statistic": float(plain.statistic), "df": 1,
                "p_value": float(plain.pvalue), "why": f"expected counts are at least {smallest:.3g}"}  # fmt: skip
    row |= {"share_1": p1, "share_2": p2, "difference": gap, "lower_95": gap - math.hypot(p1 - l1, u2 - p2),
            "upper_95": gap + math.hypot(u1 - p1, p2 - l2)}  # fmt: skip
    row["risk_ratio"] = p1 / p2 if p2 else (math.inf if p1 else math.nan)
    if e1 and e2:
        half = 1.959963984540054 * math.sqrt(1 / e1 - 1 / n1 + 1 / e2 - 1 / n2)
        row["rr_lower_95"], row["rr_upper_95"] = (row["risk_ratio"] * math.exp(side * half) for side in (-1, 1))
    return row


def overall_share_test(rows, seed):
    """Return the test row that all groups have one share."""
    import numpy as np

    counts = np.array([[row["events"], row["total"] - row["events"]] for row in rows], dtype=float)
    if (counts.sum(axis=0) == 0).any():
        return {"comparison": "all groups", "test": "none", "p_value": 1.0, "why": "every share is the same, 0 or 1"}
    tests, expected, sparse = independence_tests(counts, seed)
    low = f"{int((expected < 5).sum())} of {expected.size} expected counts are below 5"
    kept = {key: tests[0][key] for key in ("test", "statistic", "df", "p_value") if key in tests[0]}
    return {"comparison": "all groups", **kept, "why": low + (", or one below 1" if sparse else "")}


def against_value(row, value):
    """Return the test row of one group's share against a fixed one."""
    from scipy import stats

    p_value = float(stats.binomtest(row["events"], row["total"], value).pvalue)
    return {"comparison": f"{row['group']} against the value {value:g}", "test": "exact binomial test",
            "p_value": p_value, "why": "exact for any number of subjects", "share_1": row["share"], "share_2": value,
            "difference": row["share"] - value, "lower_95": row["lower_95"] - value,
            "upper_95": row["upper_95"] - value, "risk_ratio": row["share"] / value if value else float("nan"),
            }  # fmt: skip


def share_figure(rows, what, group, value=None, joined=False):
    """Draw every group's share with its interval, and the share it is compared with."""
    import numpy as np

    figure, axis = new_axes(width=max(4.0, min(14, 0.8 * len(rows) + 2.5)))
    share, low, high = (100 * np.array([row[key] for row in rows]) for key in ("share", "lower_95", "upper_95"))
    limits = [np.maximum(share - low, 0), np.maximum(high - share, 0)]
    axis.errorbar(range(len(rows)), share, yerr=limits, fmt="o-" if joined else "o", color=palette(1)[0], capsize=4)
    if value is not None:
        axis.axhline(100 * value, color="0.5", linestyle="--", linewidth=0.9)
    label_groups(axis, [f"{row['group']} (n = {row['total']})" for row in rows])
    axis.set_xlim(-0.6, len(rows) - 0.4)
    axis.set_ylim(bottom=0)
    axis.set_xlabel(group)
    axis.set_ylabel(f"{what} (%, 95 % CI)")
    return figure


def share_pairs(pairs, shares, group):
    """Return in words which pairs of groups differ, and the largest difference that intervals of all pairs leave open.

    Newcombe's intervals, at Bonferroni's level, so that they hold for all pairs at once.
    """
    import math

    from scipy.stats import norm

    by, z = {str(item["group"]): item for item in shares}, float(norm.isf(0.025 / len(pairs)))
    rows, reach = [], 0.0
    for pair in pairs:
        first, second = pair["comparison"].split(" vs ")
        rows.append(pair | {"group_1": first, "group_2": second})
        ends = [(by[name]["share"], *wilson_interval(by[name]["events"], by[name]["total"], z))
                for name in (first, second)]  # fmt: skip
        (p1, l1, u1), (p2, l2, u2) = ends
        low, high = p1 - p2 - math.hypot(p1 - l1, u2 - p2), p1 - p2 + math.hypot(u1 - p1, p2 - l2)
        reach = max(reach, abs(low), abs(high))
    return which_differ(rows, group), reach


def share_test_finding(row, what, alpha, shares, group, pairs=()):
    """Return the finding of one row of the tests table; that on all groups names their shares, the highest first."""
    import math

    def counted_share(item):
        return f"{100 * item['share']:.1f} % ({item['events']:,} of {item['total']:,})"

    p = row.get("p_adj", row["p_value"])
    tail = f"{row['test']}, {format_p(row['p_value'])}" + (f", adjusted {format_p(p)}" if "p_adj" in row else "")
    if "difference" not in row:
        verdict = "differs between the groups" if p < alpha else "is not shown to differ between the groups"
        order = sorted(shares, key=lambda item: -item["share"])
        ends = order if len(order) <= 4 else [order[0], order[-1]]
        known = [f"{counted_share(item)} in {called_level(item['group'], group)}" for item in ends]
        told = f"{', '.join(known[:-1])} and {known[-1]}" if len(order) <= 4 else f"from {known[0]} to {known[-1]}"
        differ, reach = share_pairs(pairs, shares, group)
        excluded = (f"; the data are compatible with differences of up to {100 * reach:.1f} percentage points between "
                    "two of them" if p >= alpha else "")  # fmt: skip
        return {"text": f"The share of {what} {verdict}: {told}; {tail}; {differ} at a Holm-adjusted p below 0.05"
                        f"{excluded}.",
                "values": finding_values(**{f"share {item['group']}": item["share"] for item in ends},
                                         p_value=row["p_value"], statistic=row.get("statistic"),
                                         largest_not_excluded=reach if p >= alpha else None),
                "output": "tests", "row": {"comparison": row["comparison"]}}  # fmt: skip
    verdict = ("higher" if row["difference"] > 0 else "lower") if p < alpha else "not shown to differ"
    ratio = ""
    if "rr_lower_95" in row:
        ratio = (f", risk ratio {format_number(row['risk_ratio'])} (95 % CI {format_number(row['rr_lower_95'])} to "
                 f"{format_number(row['rr_upper_95'])})")  # fmt: skip
    one, _, other = row["comparison"].partition(" vs ")
    fixed = one.partition(" against the value ")[0]
    where = f" in {called_level(fixed, group)}" if group else ""
    start = (
        f"The share of {what}{where} is {verdict} {'from' if 'not' in verdict else 'than'} {100 * row['share_2']:g} %"
    )
    if {one, other} <= {str(item["group"]) for item in shares}:
        joined = "between {} and {}" if verdict == "not shown to differ" else "in {} than in {}"
        ends = joined.format(called_level(one, group), called_level(other, group))
        start = f"The share of {what} is {verdict} {ends}"
    counted = {str(item["group"]): counted_share(item) for item in shares}
    first = counted.get(one, f"{100 * row['share_1']:.1f} %")
    second = counted.get(other, f"{100 * row['share_2']:.1f} %")
    text = (
        f"{start}: {first} against {second}, difference {100 * row['difference']:.1f} percentage points (95 % CI "
        f"{100 * row['lower_95']:.1f} to {100 * row['upper_95']:.1f}){ratio}, {tail}"
        f"{left_open(100 * row['lower_95'], 100 * row['upper_95'], unit='points') if p >= alpha else ''}."
    )
    known = row["risk_ratio"] if math.isfinite(row["risk_ratio"]) else None
    return {"text": text, "output": "tests", "row": {"comparison": row["comparison"]},
            "values": finding_values(difference=(row["difference"], row["lower_95"], row["upper_95"]),
                                     risk_ratio=(known, row.get("rr_lower_95"), row.get("rr_upper_95")),
                                     p_value=row["p_value"], p_adj=row.get("p_adj"))}  # fmt: skip


@tool(
    name="proportion_test",
    title="Shares: against a value or between groups",
    description=(
        "Estimate the share of subjects with an event, with Wilson's 95 % interval, and test it: one share against a "
        "fixed value by the exact binomial test; two groups by the chi-square test without correction, or Fisher's "
        "exact test when an expected count is below 5, with the difference (Newcombe's interval) and the risk ratio; "
        "more groups by one overall test (random tables with a fixed seed when counts are small) and pairwise tests "
        "adjusted by Holm. From a yes/no column, or from columns of events and totals. Two-sided; subjects are "
        "independent."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "value and not group => exact binomial test, because one share is set against a fixed value",
        "group:2 => chi-square test (uncorrected), or Fisher's exact test where an expected count is below "
        "5, because two groups are compared by a yes/no outcome",
        "group => chi-square test over all groups (random tables where counts are small), then pairs "
        "adjusted by Holm, because groups are compared by a yes/no outcome",
        "share with Wilson's interval; no test",
    ),
    complete=("event", "group", "not events"),
    answers=["proportion_test"],
    shows={"shares": [], "share_plot": []},
    inputs={"table": "table: one row a subject, or rows of events and totals"},
    outputs={
        "shares": "table: events, total, share and interval of every group",
        "tests": "table: comparisons with difference, risk ratio, test and why that test",
        "share_plot": "figure: shares with their intervals",
    },
    optional_outputs=("tests",),
    params={
        "event": param("Yes/no column, a row a subject", kind="column", of="table", role="outcome", needed=True),
        "event_value": param(
            "The level that is the event; empty to recognise it", kind="level", of="event", role="event"
        ),
        "events": param(
            "Column of counted events, when the table is tallied",
            kind="column",
            of="table",
            role="part",
            instead_of=["event", "event_value"],
        ),
        "total": param(
            "Column of totals that the events are part of",
            kind="column",
            of="table",
            role="total",
            instead_of=["event", "event_value"],
        ),
        "group": param(
            "Column of groups to compare; empty for one share",
            kind="column",
            of="table",
            role="group_optional",
            distinct=MOST_GROUPS,
        ),
        "empty": param(
            "What an empty cell of the yes/no column says: nothing is known, or no event happened",
            choices=("unknown", "no event"),
            role="empty_event",
            words=[
                r"no event: (?:empty|blank)(?: cells?)? (?:means?|is|are|=|counts? as|stands? for) "
                r"(?:no\b|not|none|nothing|0)",
                r"unknown: (?:empty|blank)(?: cells?)? (?:means?|is|are|=|counts? as|stands? for) (?:unknown|missing)",
            ],
        ),
        "treated": param("The group to compare", kind="level", of="group", role="interest"),
        "control": param(
            "The group it is compared with", kind="level", of="group", role="reference", otherwise="first"
        ),
        "value": param(
            "The share it is compared with, between 0 and 1",
            minimum=0,
            maximum=1,
            unit="share",
            words=[
                "equal to",
                "differs? from",
                "above",
                "more than",
                "less than",
                "against",
                r"\s*(?:%|per\s?cent)(?!\s*(?:CI|conf|level|limit))",
            ],
        ),
        "alpha": param("P-value below which a difference is reported", minimum=1e-10, maximum=0.5),
        "seed": param("Seed of the random tables", minimum=0),
    },
    checks=(
        "tables_not_empty",
        "p_values_valid",
        "findings_match_tables",
        "shares_match_counts",
        "share_differences_match",
    ),
    keywords=(
        "proportion",
        "share",
        "percentage",
        "fraction of",
        "rate of success",
        "binomial test",
        "prevalence",
        "how many percent",
        "response rate",
        "risk ratio",
        "relative risk",
        "risk difference",
        "two proportions",
        "germination rate",
        "mortality",
        "Wilson interval",
        "different from 50 %",
        "survival fraction",
    ),
    citations=(
        Citation(
            title="Probable inference, the law of succession, and statistical inference",
            authors="Wilson EB",
            year=1927,
            doi="10.1080/01621459.1927.10502953",
        ),
        Citation(
            title="Interval estimation for the difference between independent proportions: comparison of eleven "
            "methods",
            authors="Newcombe RG",
            year=1998,
            doi="10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I",
        ),
        Citation(title="A simple sequentially rejective multiple test procedure", authors="Holm S", year=1979),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="Is the share of infected plants higher in the inoculated plot than in the control plot?",
    next_steps=(
        NextStep(
            text="If the groups of {param:group} differ in age, sex or site, compare them again with these as "
            "predictors (logistic_regression).",
            needs_param="group",
            unless_tool="logistic_regression",
        ),
    ),
)
def proportion_test(
    table,
    *,
    event: str = "",
    event_value: str = "",
    events: str = "",
    total: str = "",
    group: str = "",
    treated: str = "",
    control: str = "",
    value: float | None = None,
    empty: str = "unknown",
    alpha: float = 0.05,
    seed: int = 1,
):
    """Estimate shares and compare them with a value or between groups."""
    import pandas as pd

    if value is not None and not 0 <= value <= 1:
        raise ValueError(f"The share to compare with is {value:g}; expected 0 to 1. Write 25 % as 0.25.")
    if (treated or control) and not group:
        raise ValueError("A group to compare was named, but no column of groups; name the group column too.")
    sums, what, warnings = tally_shares(table, event, event_value, events, total, group, empty)
    levels = order_levels(sums.index)
    if len(levels) > MOST_GROUPS:
        raise ValueError(
            f"Column {group!r} has {len(levels)} different values; expected at most {MOST_GROUPS} groups. Is it a "
            "measurement or an id?"
        )
    rows = {level: share_row(level, *sums.loc[level, ["events", "total"]]) for level in levels}
    if group and len(levels) == 1:
        warnings.append(f"{group} has the single level {levels[0]}: there is no second group to compare with.")
    tests = [against_value(row, value) for row in rows.values()] if value is not None else []
    tests = holm_adjust(tests) if len(tests) > 1 else tests
    pairs = group_contrasts(levels, group, treated, control) if len(levels) > 1 else []
    compared = [compare_two_shares(rows[first], rows[second]) for first, second in pairs]
    if len(compared) > 1:
        tests = [overall_share_test(list(rows.values()), seed), *tests, *holm_adjust(compared)]
        warnings.append(f"The p-values of {len(compared)} pairs are adjusted by Holm; their intervals are not.")
    else:
        tests += compared
    if any(row["risk_ratio"] == float("inf") or row["risk_ratio"] == 0 for row in compared):
        warnings.append("A group has no event: its risk ratio has no interval; read the difference.")
    shares = pd.DataFrame(list(rows.values()))
    findings = [
        {"text": f"The share of {what} is {100 * row['share']:.1f} %{' in ' + str(row['group']) if group else ''} "
                 f"({row['events']} of {row['total']}; 95 % CI {100 * row['lower_95']:.1f} to "
                 f"{100 * row['upper_95']:.1f} %).",
         "values": finding_values(share=(row["share"], row["lower_95"], row["upper_95"]), events=row["events"],
                                  total=row["total"]),
         "output": "shares", "row": table_row(shares, group=row["group"])}
        for row in list(rows.values())[:6]
    ]  # fmt: skip
    shown = sorted(tests, key=lambda row: (row["comparison"] != "all groups", row["p_value"]))[:6]
    wanted = ["comparison", "test", "why", "statistic", "df", "p_value", "p_adj", "share_1", "share_2", "difference",
              "lower_95", "upper_95", "risk_ratio", "rr_lower_95", "rr_upper_95"]  # fmt: skip
    return {
        "shares": shares,
        "tests": pd.DataFrame(tests).reindex(columns=wanted) if tests else None,
        "share_plot": share_figure(list(rows.values()), what, group, value),
        "findings": [share_test_finding(row, what, alpha, list(rows.values()), group, compared) for row in shown]
        + findings,
        "warnings": warnings,
    }
