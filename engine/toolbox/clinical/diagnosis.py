"""What a test tells at its own cut-point, against a truth.

A predictive value holds only where the condition is as frequent as here, which is said beside the numbers. What a
marker could tell over all cut-points is another question (`roc.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.proportions import event_rows, wilson_interval
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    level_labels,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    plain_table,
    require_columns,
)


@check("accuracy_in_interval")
def accuracy_in_interval(step: StepOutputs) -> Iterator[Issue]:
    """Every estimate lies in its interval; shares and areas lie between 0 and 1."""
    for output, table in step.tables():
        names = {"estimate": ("lower_95", "upper_95"), "auc": ("lower_95", "upper_95")}
        for name, (low, high) in names.items():
            if not {name, low, high} <= set(table.columns):
                continue
            known = table.dropna(subset=[name, low, high])
            slack = 1e-9 * known[name].abs().clip(upper=1e300) + 1e-12
            if ((known[low] > known[name] + slack) | (known[high] < known[name] - slack)).any():
                message = f"An estimate in {output} lies outside its own interval."
                yield Issue(code="interval_without_estimate", severity="error", message=message, where=output)
        for name in {"auc", "sensitivity", "specificity"} & set(table.columns):
            if ((table[name] < 0) | (table[name] > 1)).any():
                message = f"A value of {name} in {output} lies outside 0 to 1."
                yield Issue(code="share_out_of_range", severity="error", message=message, where=output)


def exact_interval(count, among):
    """Return Clopper and Pearson's exact 95 % interval of a share."""
    from scipy.stats import beta

    low = float(beta.ppf(0.025, count, among - count + 1)) if count else 0.0
    return low, float(beta.ppf(0.975, count + 1, among - count)) if count < among else 1.0


def accuracy_shares(hits, misses, alarms, clear, interval="wilson"):
    """Return the rows of the shares of a 2 x 2 table of test and truth, each with Wilson's or the exact interval."""
    limits, called = {"wilson": (wilson_interval, "Wilson's interval"),
                      "exact": (exact_interval, "Clopper and Pearson's exact interval")}[interval]  # fmt: skip
    counted = [
        ("sensitivity", hits, hits + misses, "positive among those with the condition"),
        ("specificity", clear, clear + alarms, "negative among those without"),
        ("positive predictive value", hits, hits + alarms, "with the condition among the positive"),
        ("negative predictive value", clear, clear + misses, "without the condition among the negative"),
        ("accuracy", hits + clear, hits + misses + alarms + clear, "right answers among all"),
        ("prevalence", hits + misses, hits + misses + alarms + clear, "with the condition among all"),
    ]
    rows = []
    for name, count, among, text in counted:
        low, high = limits(count, among) if among else (float("nan"), float("nan"))
        rows.append({"measure": name, "estimate": count / among if among else float("nan"), "lower_95": low,
                     "upper_95": high, "count": count, "total": among,
                     "method": f"{text}; {called}" if among else f"{text}: nobody"})  # fmt: skip
    return rows


def likelihood_ratio(name, sick, n_sick, well, n_well):
    """Return the row of a likelihood ratio: share among the sick over that among the well, Simel's log interval."""
    import math

    ratio = (sick / n_sick) / (well / n_well) if well else math.inf if sick else math.nan
    row = {"measure": name, "estimate": ratio}
    if not sick or not well:
        return row | {"method": "no interval: a count is 0"}
    half = 1.959963984540054 * math.sqrt(1 / sick - 1 / n_sick + 1 / well - 1 / n_well)
    return row | {"lower_95": ratio * math.exp(-half), "upper_95": ratio * math.exp(half), "method": "log interval"}


def values_elsewhere(positive, negative, prevalence):
    """Return the predictive values where the condition has another prevalence, by Bayes from the likelihood ratios."""
    import math

    odds = prevalence / (1 - prevalence)

    def share(ratio):
        return 1.0 if ratio == math.inf else ratio * odds / (1 + ratio * odds)

    rows = []
    for name, row, turned in (("positive", positive, False), ("negative", negative, True)):
        limits = [row["estimate"], row.get("lower_95", math.nan), row.get("upper_95", math.nan)]
        value, low, high = [1 - share(x) if turned else share(x) for x in limits]
        rows.append({"measure": f"{name} predictive value at prevalence {prevalence:g}", "estimate": value,
                     "lower_95": high if turned else low, "upper_95": low if turned else high,
                     "method": "Bayes from the likelihood ratio and its interval"})  # fmt: skip
    return rows


def sick_and_values(table, columns, outcome, event_value, least):
    """Return the complete rows, where the condition is present, its name, and warnings."""
    table = plain_table(table)
    if len({outcome, *columns}) < 1 + len(columns):
        raise ValueError(
            f"The same column serves twice ({', '.join([outcome, *columns])}); expected different columns."
        )
    require_columns(table, [outcome, *columns])
    table, warnings = complete_rows(table, [outcome, *columns])
    if len(table) == 0:
        raise ValueError(
            "The table has no rows; expected subjects with and without the condition. Choose another file."
        )
    sick, what, notes = event_rows(table[outcome], outcome, event_value)
    sick = sick.to_numpy(dtype=bool)
    if min(sick.sum(), (~sick).sum()) < least:
        raise ValueError(
            f"{sick.sum()} subjects have {what} and {(~sick).sum()} have not; expected at least {least} of each."
        )
    return table, sick, what, warnings + notes


OUTCOME = param("Yes/no column: the condition, by the truth or reference", kind="column", of="table", role="outcome")
EVENT_VALUE = param("The level that means that the condition is present; empty to recognise it", kind="level",
                     of="outcome", role="event")  # fmt: skip


def with_results(table, columns):
    """Return the rows with a result in every column, and a warning: an invalid test is no negative one."""
    import re

    void = re.compile(
        r"(?:invalid|void|indeterminate|inconclusive|equivocal|uninterpretable|unclear|uncertain|failed|failure|error|"
        r"contaminated|unknown|not (?:done|tested|determined|interpretable)|no result|ung(?:ü|ue)ltig|unklar|fraglich|"
        r"nicht (?:auswertbar|beurteilbar|verwertbar|bestimmt)|fehlgeschlagen|invalide|ind[ée]termin(?:é|e|ado|ada)|"
        r"non interpr[ée]table|ininterpr[ée]table|inv[áa]lid[oa]|dudos[oa]|no (?:v[áa]lid[oa]|concluyente))",
        re.IGNORECASE,
    )
    warnings = []
    for name in columns:
        labels = level_labels(table[name]).astype(str).str.strip()
        without = labels.map(lambda label: bool(void.fullmatch(label)))
        if without.any() and not without.all():
            found = ", ".join(sorted(labels[without].unique()))
            warnings.append(f"{int(without.sum())} rows have no result in {name} ({found}) and are left out; tests "
                            "that often fail are worse than these shares say.")  # fmt: skip
            table = table[~without.to_numpy()]
    return table, warnings


def positive_rows(table, test, positive, cut_point, rule):
    """Return where a test is positive, the rule in words, and warnings: a level, or a number beyond a cut-point."""
    import pandas as pd

    labels = level_labels(table[test])
    levels = order_levels(labels)
    numeric = pd.to_numeric(labels, errors="coerce").notna().all() and not pd.api.types.is_bool_dtype(table[test])
    if cut_point is not None and not numeric:
        found, what, notes = event_rows(table[test], test, positive)
        note = f"The cut-point {cut_point:g} was not used: {test} holds no numbers."
        return found.to_numpy(dtype=bool), what, [note, *notes]
    if cut_point is None:
        if numeric and len(levels) > 2 and not positive:
            raise ValueError(
                f"Column {test!r} holds numbers; name the cut-point from which on they count as positive "
                "(cut_point), or "
                "take roc_curve to look for one."
            )
        happened, what, notes = event_rows(table[test], test, positive)
        return happened.to_numpy(dtype=bool), what, [note.replace("event_value", "positive") for note in notes]
    values = numeric_values(table, test).to_numpy()
    found = {">=": values >= cut_point, ">": values > cut_point, "<=": values <= cut_point, "<": values < cut_point}
    return found[rule], f"{test} {rule} {cut_point:g}", []


def accuracy_figure(rows, test, what):
    """Draw the shares of a diagnostic test with their intervals."""
    shown = [row for row in rows if row.get("total") and row["measure"] != "prevalence"][::-1]
    figure, axis = new_axes(width=6.6, height=0.5 * len(shown) + 1.5)
    for place, row in enumerate(shown):
        low, high = row["estimate"] - row["lower_95"], row["upper_95"] - row["estimate"]
        axis.errorbar([100 * row["estimate"]], [place], xerr=[[100 * max(low, 0)], [100 * max(high, 0)]], fmt="o",
                      color=palette(1)[0], capsize=4)  # fmt: skip
    axis.set_yticks(range(len(shown)), [f"{row['measure']}\n{row['count']} of {row['total']}" for row in shown])
    axis.set_xlim(0, 102)
    axis.set_ylim(-0.6, len(shown) - 0.4)
    axis.set_xlabel("% (95 % CI)")
    axis.set_title(f"{test} against {what}", fontsize=10)
    return figure


_SHARES, _PPV, _NPV = (
    r"(?:sensitivit|specificit)",
    r"(?:\bPPV\b|positive predictive)",
    r"(?:\bNPV\b|negative predictive)",
)


@tool(
    name="diagnostic_accuracy",
    title="Accuracy of a diagnostic test",
    description=(
        "How often a test is right, against a truth or reference: sensitivity, specificity, positive and negative "
        "predictive value, accuracy with Wilson's (or exact) 95 % intervals, likelihood ratios with log intervals, and "
        "the counts behind them. The test is a yes/no column, or a number with a cut-point fixed beforehand. "
        "Predictive values can be given for another prevalence too."
    ),
    domain="clinical",
    task_type="analysis",
    methods=(
        "interval=exact => sensitivity, specificity and predictive values with exact intervals; no test",
        "sensitivity, specificity and predictive values with Wilson intervals; no test",
    ),
    complete=("test", "outcome"),
    answers=["diagnostic_accuracy"],
    inputs={"table": "table: one row a subject, with test and truth"},
    outputs={
        "accuracy": "table: every measure with its interval",
        "counts": "table: test against truth",
        "accuracy_plot": "figure: the shares with their intervals",
    },
    params={
        "test": param("Column of the test: yes/no, or a number", kind="column", of="table", role="verdict",
                      called=r"(.* )?(test|strip|stick|kit|rapid|quick|screen\w*|alert|score|index)( .*)?"),
        "outcome": OUTCOME,
        "event_value": EVENT_VALUE,
        "positive": param("The level of the test that is positive; empty to recognise it", kind="level", of="test",
                          role="positive"),
        "cut_point": param(
            "The number from which on the test is positive",
            role="cut_point",
            words=["(?:cut.?(?:off|point)?|threshold)(?:\\s+(?:of|at|is|fixed|value))*"],
        ),
        "rule": param(
            "Which side of the cut-point is positive",
            choices=[">=", ">", "<=", "<"],
            words=["<: (?:below|under|less than)\\s+(?:a |the )?(?:cut|threshold)",
                   ">: (?:above|over|more than)\\s+(?:a |the )?(?:cut|threshold)"],
        ),
        "prevalence": param(
            "Prevalence, as a share, for which predictive values are given too",
            minimum=1e-9,
            maximum=1 - 1e-9,
            unit="share",
            words=["prevalence(?:\\s+(?:of|is|at|was|about|around|roughly|some))*",
                   "(?:in|out of|per)\\s+(?:every\\s+)?\\d[\\d.,]*\\s+(?:\\w+\\s+){0,3}?"
                   "(?:have|has|had|carry|carries|are|is|suffer)"],
        ),
        "interval": param("How intervals of shares are computed", choices=["wilson", "exact"],
                          words=["exact: exact|clopper"]),
    },
    checks=("tables_not_empty", "findings_match_tables", "accuracy_in_interval"),
    keywords=("sensitivity", "specificity", "predictive value", "PPV", "NPV", "likelihood ratio", "diagnostic test",
              "test accuracy", "false positive", "false negative", "rapid test", "gold standard", "reference test",
              "missed cases", "false alarms", "confusion matrix", "prevalence", "screening test"),
    citations=(
        Citation(title="Diagnostic tests 1: sensitivity and specificity", authors="Altman DG, Bland JM", year=1994,
                 doi="10.1136/bmj.308.6943.1552"),
        Citation(title="Diagnostic tests 2: predictive values", authors="Altman DG, Bland JM", year=1994,
                 doi="10.1136/bmj.309.6947.102"),
        Citation(title="Likelihood ratios with confidence: sample size estimation for diagnostic test studies",
                 authors="Simel DL, Samsa GP, Matchar DB", year=1991, doi="10.1016/0895-4356(91)90128-V"),
        Citation(title="Probable inference, the law of succession, and statistical inference", authors="Wilson EB",
                 year=1927, doi="10.1080/01621459.1927.10502953"),
        Citation(title="The use of confidence or fiducial limits illustrated in the case of the binomial",
                 authors="Clopper CJ, Pearson ES", year=1934, doi="10.1093/biomet/26.4.404"),
    ),
    packages=("numpy", "scipy", "pandas"),
    seconds=2.0,
    example="How many of the infected cows does the milk test miss, and how far can a positive result be trusted?",
    next_steps=(
        NextStep(text="If {param:outcome} was found out only for those with a positive test, sensitivity is too high "
                      "(verification bias): ask how the others were judged."),
    ),
    leads={
        "positive predictive value": rf"(?s)^(?!.*{_SHARES}|.*{_NPV}).*{_PPV}",
        "negative predictive value": rf"(?s)^(?!.*{_SHARES}|.*{_PPV}).*{_NPV}",
        "prevalence": rf"(?s)^(?=.*{_SHARES})(?=.*(?:{_PPV}|{_NPV}|predictive value))|^(?=.*{_PPV})(?=.*{_NPV})",
        "positive likelihood ratio": r"likelihood ratio",
    },
)  # fmt: skip
def diagnostic_accuracy(
    table,
    *,
    test: str,
    outcome: str,
    event_value: str = "",
    positive: str = "",
    cut_point: float | None = None,
    rule: str = ">=",
    prevalence: float | None = None,
    interval: str = "wilson",
):
    """Judge a test against the truth."""
    import math
    import re

    import pandas as pd

    if prevalence is not None and not 0 < prevalence < 1:
        raise ValueError(f"The prevalence is {prevalence:g}; expected a share between 0 and 1. Write 5 % as 0.05.")
    if interval not in ("wilson", "exact"):
        raise ValueError(f"There is no interval {interval!r}; expected wilson or exact.")
    if rule not in (">=", ">", "<=", "<"):
        raise ValueError(f"There is no rule {rule!r}; expected >=, >, <= or <.")
    require_columns(table, [test, outcome])
    table, void = with_results(plain_table(table), [test, outcome])
    table, sick, what, warnings = sick_and_values(table, [test], outcome, event_value, 1)
    warnings += void
    found, positive_is, notes = positive_rows(table, test, positive, cut_point, rule)
    hits, misses = int((found & sick).sum()), int((~found & sick).sum())
    alarms, clear = int((found & ~sick).sum()), int((~found & ~sick).sum())
    warnings += notes
    rows = accuracy_shares(hits, misses, alarms, clear, interval)
    up = likelihood_ratio("positive likelihood ratio", hits, hits + misses, alarms, alarms + clear)
    down = likelihood_ratio("negative likelihood ratio", misses, hits + misses, clear, alarms + clear)
    rows = [*rows[:4], up, down, *rows[4:]]
    elsewhere = values_elsewhere(up, down, prevalence) if prevalence is not None else []
    by = {row["measure"]: row for row in rows}

    def percent(row):
        if row["estimate"] != row["estimate"]:
            return "not known (nobody)"
        text = f"{100 * row['estimate']:.1f} %"
        low, high = row.get("lower_95", math.nan), row.get("upper_95", math.nan)
        return text + (f" (95 % CI {100 * low:.1f} to {100 * high:.1f})" if low == low else " (no interval)")

    def finding(name, text):
        row = by[name]
        known = row["estimate"] if math.isfinite(row["estimate"]) else None
        return {"text": text, "output": "accuracy", "row": {"measure": name},
                "values": finding_values(estimate=(known, row.get("lower_95"), row.get("upper_95")))}  # fmt: skip

    def multiplies(row, result, odds):
        if row["estimate"] != row["estimate"]:
            return f"No test was {result}, so what such a result says of {what} is not known."
        if row["estimate"] == math.inf:
            return f"A {result} test was found only in those with {what}, so its likelihood ratio is infinite here."
        if "lower_95" not in row:
            return f"A {result} test was found only in those without {what}, so its likelihood ratio is 0 here."
        return (f"A {result} test multiplies {odds} by {format_number(row['estimate'])} (95 % CI "
                f"{format_number(row['lower_95'])} to {format_number(row['upper_95'])}).")  # fmt: skip

    both = {
        "text": f"The test ({positive_is}) finds {hits} of {hits + misses} with {what}: sensitivity "
                f"{percent(by['sensitivity'])}; it is negative in {clear} of {clear + alarms} without: specificity "
                f"{percent(by['specificity'])}.",
        "values": finding_values(**{name: (by[name]["estimate"], by[name].get("lower_95"), by[name].get("upper_95"))
                                    for name in ("sensitivity", "specificity")}),
        "output": "accuracy",
    }  # fmt: skip
    findings = [
        both,
        finding("sensitivity", f"The test ({positive_is}) finds {hits} of {hits + misses} with {what} and misses "
                               f"{misses}: "
                               f"sensitivity {percent(by['sensitivity'])}."),
        finding("specificity", f"It is negative in {clear} of {clear + alarms} without it, with {alarms} false alarms: "
                               f"specificity {percent(by['specificity'])}."),
        finding("positive predictive value", f"Of {hits + alarms} positive tests {hits} are right: positive predictive "
                                             f"value {percent(by['positive predictive value'])}."),
        finding("negative predictive value", f"Of {misses + clear} negative tests {clear} are right: negative "
                                             "predictive "
                                             f"value {percent(by['negative predictive value'])}."),
        finding("positive likelihood ratio", multiplies(up, "positive", f"the odds of {what}")),
        finding("negative likelihood ratio", multiplies(down, "negative", "them")),
    ]  # fmt: skip
    shares = ("sensitivity", "specificity", "positive predictive value", "negative predictive value", "prevalence")
    findings.append(
        {"text": f"The test ({positive_is}) has " + ", ".join(f"{name} {percent(by[name])}" for name in shares[:3])
                 + f" and {shares[3]} {percent(by[shares[3]])}, where {percent(by['prevalence'])} have {what}.",
         "values": finding_values(**{name: (by[name]["estimate"], by[name].get("lower_95"), by[name].get("upper_95"))
                                     for name in shares}),
         "output": "accuracy"}
    )  # fmt: skip
    if elsewhere:
        by |= {row["measure"]: row for row in elsewhere}
        good, bad = elsewhere
        findings.append(finding(good["measure"], f"Where {100 * prevalence:g} % have the condition, a positive test "
                                                 "is right "
                                f"in {percent(good)}, a negative one in {percent(bad)}."))  # fmt: skip
    if cut_point is None:
        suspect = re.compile(r"test|strip|stick|kit|rapid|quick|screen|alert|score", re.IGNORECASE)
        turned = bool(suspect.search(outcome)) and not suspect.search(test)
        warnings.insert(0, f"{test} was judged as the test and {outcome} as the truth"
                        + (", though their names suggest the reverse" if turned else "")
                        + ". If it is the other way round, sensitivity and positive predictive value change places, "
                          "and "
                        "so do specificity and negative predictive value.")  # fmt: skip
    share = by["prevalence"]["estimate"]
    warnings.append(f"The predictive values hold where {100 * share:.0f} % have the condition, as in these rows; if "
                    "cases and "
                    "others were chosen apart, they mean nothing: give the prevalence.")  # fmt: skip
    if min(hits + misses, alarms + clear) < 30:
        few = "with" if hits + misses <= alarms + clear else "without"
        warnings.append(
            f"Only {min(hits + misses, alarms + clear)} subjects {few} the condition: the intervals are wide."
        )
    if not found.any() or found.all():
        warnings.append(
            f"The test is {'always' if found.all() else 'never'} positive here ({positive_is}): it tells nobody apart."
        )
    order = ["measure", "estimate", "lower_95", "upper_95", "count", "total", "method"]
    return {
        "accuracy": pd.DataFrame([*rows, *elsewhere]).reindex(columns=order),
        "counts": pd.DataFrame({"test": ["positive", "negative", "all"],
                                "with_condition": [hits, misses, hits + misses],
                                "without_condition": [alarms, clear, alarms + clear],
                                "all": [hits + alarms, misses + clear, len(table)]}),
        "accuracy_plot": accuracy_figure(rows, positive_is, what),
        "findings": findings,
        "warnings": warnings,
    }  # fmt: skip
