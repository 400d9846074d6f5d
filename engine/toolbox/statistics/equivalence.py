"""Why apart: that no difference was found does not show that there is none; being alike needs a margin and a test.

Two one-sided tests: the difference is shown to be above the lower and below the upper margin. The margin is what the
user says does not matter; it is never taken from the data.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.groups import group_contrasts, group_samples
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    format_p,
    likely_control,
    new_axes,
    numeric_values,
    palette,
    plain_table,
    require_columns,
)


@check("equivalence_as_its_interval")
def equivalence_as_its_interval(step: StepOutputs) -> Iterator[Issue]:
    """What is called shown is so by the interval: it lies within the margins exactly when p is below alpha."""
    for _, row in step.table("equivalence").iterrows():
        inside = row["lower"] > row["margin_low"] and (
            row["kind"] != "equivalence" or row["upper"] < row["margin_high"]
        )
        if row["kind"] == "not higher":
            inside = row["upper"] < row["margin_high"]
        if inside != bool(row["shown"]):
            message = f"{row['comparison']}: the verdict does not follow from the interval and the margins."
            yield Issue(code="verdict_differs", severity="error", message=message, where="equivalence")
        if not row["lower"] <= row["difference"] <= row["upper"]:
            message = f"{row['comparison']}: the interval does not contain the difference."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="equivalence")


def difference_and_error(first, second, paired):
    """Return the mean difference first minus second, its standard error and degrees of freedom (Welch, or paired)."""
    import numpy as np

    if paired:
        d = np.asarray(first) - np.asarray(second)
        error, df = d.std(ddof=1) / len(d) ** 0.5, len(d) - 1.0
        difference = float(d.mean())
    else:
        a, b = np.var(first, ddof=1) / len(first), np.var(second, ddof=1) / len(second)
        error, difference = (a + b) ** 0.5, float(np.mean(first) - np.mean(second))
        df = (a + b) ** 2 / (a**2 / (len(first) - 1) + b**2 / (len(second) - 1)) if a + b > 0 else 0.0
    if not error > 0:
        raise ValueError(
            "The values do not vary at all, so there is no error to judge a difference by; check the columns."
        )
    return difference, float(error), float(df)


def margin_limits(margin, margin_is, reference):
    """Return the lower and upper margin of the difference; a percentage is one of the reference group's mean."""
    import math

    if not margin > 0:
        raise ValueError(f"The margin is {margin:g}; expected a number above 0: the difference that would not matter.")
    if margin_is == "ratio":
        limit = 100 / margin if 50 <= margin < 100 else margin / 100 if margin > 100 else margin
        limit = 1 / limit if limit < 1 else limit
        if not 1 < limit <= 3:
            raise ValueError(f"The margin {margin:g} is no ratio; write 1.25, or 80 for 80-125 %.")
        return -math.log(limit), math.log(limit)
    if margin_is == "percent":
        margin = margin / 100 * abs(reference)
    return -margin, margin


def margin_figure(row, what, back):
    """Draw the difference with its interval between the margins."""
    figure, axis = new_axes(width=6.4, height=2.4)
    low, high = back(row["margin_low"]), back(row["margin_high"])
    axis.axvspan(low, high, color="0.92", zorder=0)
    for limit in (low, high):
        axis.axvline(limit, color="0.4", linestyle="--", linewidth=0.9)
    axis.axvline(back(0.0), color="0.7", linewidth=0.8)
    axis.plot([back(row["lower"]), back(row["upper"])], [0, 0], color=palette(1)[0], linewidth=2.5)
    axis.scatter([back(row["difference"])], [0], s=50, color=palette(1)[0], zorder=3)
    axis.set_yticks([0], [row["comparison"]])
    axis.set_ylim(-1, 1)
    axis.set_xlabel(f"{what} ({100 * row['confidence']:g} % CI; grey: what does not matter)")
    return figure


@tool(
    name="equivalence_test",
    title="Equivalence test (TOST)",
    description=(
        "Test whether two groups, or two columns of the same subjects, are alike within a margin: two one-sided "
        "t-tests "
        "(Schuirmann), Welch for independent groups, with the 90 % interval to set against the margins; or "
        "non-inferiority "
        "with one margin. The margin is in the unit of the measurement, a percentage of the reference mean, or a ratio "
        "(80-125 %, on logarithms). A difference that is not significant is not yet equivalence."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "first => paired two one-sided t tests (TOST), because both columns are of the same subjects",
        "pair => paired two one-sided t tests (TOST), because rows of one {pair} belong together",
        "Welch's two one-sided t tests (TOST), because two independent groups are to be alike within a margin",
    ),
    complete=("value", "group", "pair", "first", "second"),
    matched="pair",
    answers=["equivalence_test"],
    inputs={"table": "table: measurements of two groups, or two columns a subject"},
    outputs={
        "equivalence": "table: difference, interval, margins, both one-sided tests and the verdict",
        "margin_plot": "figure: the interval between the margins",
    },
    params={
        "value": param("The measurement", kind="column", of="table", role="measure", needed=True),
        "group": param("Column of the two groups", kind="column", of="table", role="group", needed=True),
        "treated": param("The group that is compared (the new one)", kind="level", of="group", role="interest"),
        "control": param("The group it is compared with (the standard)", kind="level", of="group", role="reference",
                         otherwise="first"),
        "pair": param("Column of subjects that have a value in both groups", kind="column", of="table", role="pair"),
        "first": param("Measurement of one column, when both stand in columns", kind="column", of="table",
                       role="measure_a", instead_of=["value", "group", "treated", "control", "pair"]),
        "second": param("Measurement it is compared with", kind="column", of="table", role="measure_b",
                        instead_of=["value", "group", "treated", "control", "pair"]),
        "margin": param(
            "The difference that would not matter: say it in the question, for example `within 2`",
            words=["margins?(?: of| is| was| =)?", "within", "inside(?: of)?", "bounds?(?: are| is| of)?(?: plus "
                "minus)?", "delta",
                   r"limits?(?: of)?", r"(?:not )?(?:more|less|worse|further) than", r"at most", r"equivalence limits?",
                   r"plus.?(?:or.?)?minus", r"(?=[±]\s*\d)[±]", r"(?=80\s*(?:-|–|to)\s*125)", r"up to", r"give or take",
                   r"(?:[a-z]+\s+){0,2}(?:apart|or more|more or less|more or fewer|margin|does? not matter)"],
        ),
        "margin_is": param(
            "What the margin is", choices=["absolute", "percent", "ratio"],
            words=[r"ratio: bioequiv\w*|80\s*(?:-|–|to)\s*125", r"percent: (?<=\d)\s*(?:%|per\s?cent)(?!age point)"],
        ),
        "kind": param(
            "Both margins, or one: not lower (high values are good) or not higher (low values are good)",
            choices=["equivalence", "not_lower", "not_higher"],
            words=["not_higher: (?:not|no) (?:higher|heavier|longer|more) than (?=.*\\bmore than)|"
                   "(?:not|no) (?:higher|more|greater|longer) by|"
                   "(?:lower|less|fewer|smaller|shorter)\\s+(?:\\w+\\s+){0,3}(?:is|are|means?)\\s+(?:better|good|best)",
                   "not_lower: non.?inferior\\w*|not? (?:worse|inferior|lower)"],
        ),
        "alpha": param("Error of each one-sided test", minimum=1e-10, maximum=0.4),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "equivalence_as_its_interval"),
    keywords=("equivalence test", "TOST", "two one-sided tests", "practically the same", "non-inferiority",
              "noninferiority",
              "bioequivalence", "80-125", "equivalent within", "as good as", "alike within a margin", "not worse than"),
    citations=(
        Citation(title="A comparison of the two one-sided tests procedure and the power approach for assessing "
                       "the equivalence "
                       "of average bioavailability", authors="Schuirmann DJ", year=1987, doi="10.1007/BF01068419"),
        Citation(title="Equivalence tests: a practical primer for t tests, correlations, and "
                       "meta-analyses", authors="Lakens D",
                 year=2017, doi="10.1177/1948550617697177"),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="Is the exam score of online and classroom students the same within 3 points?",
    next_steps=(
        NextStep(text="Say where the margin of {param:margin} comes from and that it was chosen before the data "
                      "were seen; a "
                      "margin chosen afterwards shows nothing."),
    ),
)  # fmt: skip
def equivalence_test(
    table,
    *,
    margin: float,
    value: str = "",
    group: str = "",
    treated: str = "",
    control: str = "",
    pair: str = "",
    first: str = "",
    second: str = "",
    margin_is: str = "absolute",
    kind: str = "equivalence",
    alpha: float = 0.05,
):
    """Test whether two groups, or two columns, are alike within a margin."""
    import math

    import numpy as np
    import pandas as pd
    from scipy import stats

    table = plain_table(table)
    if bool(first) != bool(second) or bool(first) == bool(value):
        raise ValueError("Expected either a measurement and a column of groups, or two columns of the same subjects.")
    if value and not group:
        raise ValueError(f"For {value!r} no column of groups is named; name it, or two columns of the same subjects.")
    chosen = [name for name in (value, group, pair, first, second) if name]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
    require_columns(table, chosen)
    if first:
        table, warnings = complete_rows(table, [first, second])
        one, two = numeric_values(table, first).to_numpy(), numeric_values(table, second).to_numpy()
        names, what, paired = (first, second), "", True
    else:
        samples, warnings, _ = group_samples(table, value, group, pair)
        levels = list(samples)
        if len(levels) < 2:
            raise ValueError(
                f"Column {group!r} has {len(levels)} groups with at least 2 values; expected two to compare."
            )
        if len(levels) > 2 and not treated:
            raise ValueError(
                f"Column {group!r} has {len(levels)} groups ({', '.join(levels[:8])}); name the two to compare."
            )
        names = group_contrasts(levels, group, treated, control)[0]
        one, two = (np.asarray(samples[level], dtype=float) for level in names)
        what, paired = value, bool(pair)
        if paired:
            both = ~(np.isnan(one) | np.isnan(two))
            if not both.all():
                warnings.append(
                    f"{int((~both).sum())} of {len(both)} values of {pair} lack one of the two and were left out."
                )
            one, two = one[both], two[both]
        if not likely_control(levels) and not treated and kind != "equivalence":
            warnings.append(f"{names[1]} was taken for the standard; name the groups if it is the other way round.")
    if min(len(one), len(two)) < 3:
        raise ValueError(
            f"Only {min(len(one), len(two))} {'pairs' if paired else 'values in a group'}; expected at least 3."
        )
    if margin_is == "ratio":
        if min(one.min(), two.min()) <= 0:
            raise ValueError(
                "A ratio needs values above 0, and some are not; take a margin in the unit of the measurement."
            )
        plain_means = one.mean(), two.mean()
        one, two = np.log(one), np.log(two)
    difference, error, df = difference_and_error(one, two, paired)
    low, high = margin_limits(margin, margin_is, two.mean())
    half = stats.t.ppf(1 - alpha, df) * error
    p_low, p_high = (float(stats.t.sf(t, df)) for t in ((difference - low) / error, (high - difference) / error))
    p_value = {"equivalence": max(p_low, p_high), "not_lower": p_low, "not_higher": p_high}[kind]
    p_difference = float(2 * stats.t.sf(abs(difference) / error, df))
    row = {"comparison": f"{names[0]} vs {names[1]}",
           "test": ("paired" if paired else "Welch") + " two one-sided t-tests",
           "kind": kind.replace("_", " "), "n_1": len(one), "n_2": len(two), "mean_1": one.mean(), "mean_2": two.mean(),
           "difference": difference, "se": error, "df": df, "confidence": 1 - 2 * alpha, "lower": difference - half,
           "upper": difference + half, "margin_low": low, "margin_high": high, "p_lower": p_low, "p_upper": p_high,
           "p_value": p_value, "shown": int(p_value < alpha), "p_difference": p_difference}  # fmt: skip
    if margin_is == "ratio":  # the test is on logarithms; means and ratios are said in the unit of the columns
        row |= {"mean_1": plain_means[0], "mean_2": plain_means[1], "ratio": math.exp(difference),
                "ratio_lower": math.exp(difference - half), "ratio_upper": math.exp(difference + half)}  # fmt: skip
    back, unit = (math.exp, "ratio") if margin_is == "ratio" else (lambda x: x, "difference")
    subject = f"{what} in {names[0]} and {names[1]}" if what else f"{names[0]} and {names[1]}"
    shown = p_value < alpha
    limits = {"equivalence": f"{format_number(back(low))} to {format_number(back(high))}",
              "not_lower": f"more than {format_number(abs(back(low)))}",
              "not_higher": f"more than {format_number(back(high))}"}[kind]  # fmt: skip
    if margin_is == "ratio" and kind != "equivalence":
        side, limit = ("below", low) if kind == "not_lower" else ("above", high)
        limits = f"a ratio {side} {format_number(back(limit))}"
    if kind == "equivalence":
        start = (
            f"{subject} are alike within {limits}"
            if shown
            else f"It is not shown that {subject} are alike within {limits}"
        )
    else:
        side = "lower" if kind == "not_lower" else "higher"
        start = (f"{names[0]} is not {side} than {names[1]} by {limits}" if shown else
                 f"It is not shown that {names[0]} is not {side} than {names[1]} by {limits}")  # fmt: skip
    text = (
        f"{start}: mean {unit} {format_number(back(difference))} ({100 * (1 - 2 * alpha):g} % CI "
        f"{format_number(back(row['lower']))} to {format_number(back(row['upper']))}), {format_p(p_value)} "
        f"({row['test']}, "
        f"{f'{len(one)} pairs' if paired else f'n = {len(one)} and {len(two)}'})."
    )
    if not shown and p_difference >= 0.05:
        more = "Nor is a difference shown: the data are too few or too scattered to tell."
    elif shown and p_difference < 0.05:
        more = (
            "There is a difference, but it lies within what does not matter."
            if kind == "equivalence"
            else "That there is a difference is clear; only one side of it was tested against the margin."
        )
    elif shown:
        more = "A difference is not shown either."
    else:
        more = f"There is a difference ({names[0]} {'higher' if difference > 0 else 'lower'})."
    findings = [
        {"text": text, "output": "equivalence", "row": {"comparison": row["comparison"]},
         "values": finding_values(difference=(difference, row["lower"], row["upper"]), margin_low=low, margin_high=high,
                                  p_value=p_value,
                                  ratio=(row.get("ratio"), row.get("ratio_lower"), row.get("ratio_upper")))},
        {"text": f"{more} Ordinary test of a difference: {format_p(p_difference)}.", "output": "equivalence",
         "row": {"comparison": row["comparison"]}, "values": finding_values(p_difference=p_difference)},
    ]  # fmt: skip
    if margin_is == "percent":
        warnings.append(f"The margin of {margin:g} % was taken of the mean of {names[1]}, {format_number(two.mean())}.")
    if kind == "not_lower":
        warnings.append("High values were taken to be good; choose the kind not_higher where low values are.")
    if min(len(one), len(two)) < 15:
        warnings.append("With few values the t-tests lean on a normal distribution; check it with assumption_checks.")
    return {"equivalence": pd.DataFrame([row]), "findings": findings, "warnings": warnings,
            "margin_plot": margin_figure(row, f"{unit} {names[0]} {'/' if margin_is == 'ratio' else 'minus'} "
                                              f"{names[1]}", back)}  # fmt: skip
