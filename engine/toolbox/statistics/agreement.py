"""Why not a correlation: two thermometers 3 degrees apart correlate perfectly and cannot replace each other.

Agreement of measurements is how far one may lie from the other (limits of agreement) and how much of the spread is
between subjects (ICC, its form named); of categories it is what goes beyond chance (kappa).
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.limits import difference_figure, limits_of_agreement, repeated_limits
from engine.toolbox.statistics.reliability import (
    fleiss_row,
    intraclass_rows,
    kappa_row,
    share_of_agreement,
)
from engine.toolbox.statistics.trend import natural_order
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    format_p,
    level_labels,
    new_axes,
    numeric_values,
    order_levels,
    pick_level,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.wording import in_size


@check("agreement_in_interval")
def agreement_in_interval(step: StepOutputs) -> Iterator[Issue]:
    """Every estimate lies in its interval, coefficients are at most 1, and the bias lies between the limits."""
    table = step.table("agreement")
    bounded = table.dropna(subset=["estimate", "lower_95", "upper_95"])
    slack = 1e-9 * bounded["estimate"].abs() + 1e-12
    wrong = bounded[
        (bounded["lower_95"] > bounded["estimate"] + slack) | (bounded["upper_95"] < bounded["estimate"] - slack)
    ]
    if len(wrong):
        message = f"{wrong['measure'].iloc[0]} {wrong['estimate'].iloc[0]} lies outside its own interval."
        yield Issue(code="interval_without_estimate", severity="error", message=message, where="agreement")
    coefficients = table[table["measure"].str.contains("ICC|kappa")]
    if (coefficients["estimate"] > 1 + 1e-9).any():
        message = "A coefficient of agreement is above 1."
        yield Issue(code="agreement_above_one", severity="error", message=message, where="agreement")
    for pair, rows in table.groupby("pair"):
        by = rows.set_index("measure")["estimate"].to_dict()
        if "bias" in by and not by["lower limit"] - 1e-9 <= by["bias"] <= by["upper limit"] + 1e-9:
            message = f"{pair}: the bias does not lie between the limits of agreement."
            yield Issue(code="bias_outside_limits", severity="error", message=message, where="agreement")


def ratings_table(table, wide, value, rater, subject):
    """Return one row a subject and one column a rater, the subjects' labels (or None), and warnings.

    Args:
        table: the table.
        wide: the columns of the raters, where each has one.
        value: the column of ratings, where all stand in one.
        rater: the column that names rater, method or occasion of a row.
        subject: the column that names what was rated.
    """
    import pandas as pd

    table = plain_table(table)
    if bool(wide) == bool(value) or (value and not (rater and subject)):
        raise ValueError(
            "Expected either the columns of two raters or methods (first, second), or a column of values with one that "
            "names the rater and one that names the subject. Name one of these two forms."
        )
    chosen = [name for name in (*wide, value, rater, subject) if name]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
    require_columns(table, chosen)
    if wide:
        if len(wide) < 2:
            raise ValueError("Agreement needs two raters or methods; name the second column too.")
        kept, warnings = complete_rows(table, wide)
        return kept[wide], level_labels(kept[subject]) if subject else None, warnings
    table, warnings = complete_rows(table, [value, rater, subject])
    raters, subjects = level_labels(table[rater]), level_labels(table[subject])
    names = order_levels(raters)
    if not 2 <= len(names) <= 12:
        raise ValueError(f"Column {rater!r} names {len(names)} raters; expected 2 to 12.")
    twice = pd.DataFrame({"s": subjects, "r": raters}).duplicated(keep=False)
    if twice.any():
        at = int(twice.to_numpy().argmax())
        raise ValueError(
            f"{int(twice.sum())} rows repeat a {subject} of one {rater}, for example {subjects.iloc[at]} of "
            f"{raters.iloc[at]}; expected one value each. Average repeated readings first, or name the visit as well."
        )
    frame = pd.DataFrame({"s": subjects, "r": raters, "v": table[value]}).pivot(index="s", columns="r", values="v")
    whole = frame[names].dropna()
    if len(whole) < len(frame):
        warnings.append(f"{len(frame) - len(whole)} of {len(frame)} {subject} without a value of every {rater} are "
                        "left out.")  # fmt: skip
    whole.columns = [str(name) for name in names]
    return whole.reset_index(drop=True), None, warnings


def unnamed_subjects(table, used):
    """Return the column that may name subjects with several rows, where none was named, and its number of values."""
    import pandas as pd

    for name in table.columns:
        column = table[name].dropna()
        distinct = column.nunique()
        texts = not pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_datetime64_any_dtype(column)
        named = str(name).casefold() in ("id", "subject", "patient", "participant", "person", "animal", "donor", "case")
        if name not in used and (texts or named) and 5 <= distinct <= 0.6 * len(column):
            return str(name), distinct
    return "", 0


def kind_of_ratings(ratings, order):
    """Return what the columns hold (`measurements`, `ordered`, `categories`) and the levels from lowest to highest."""
    import pandas as pd

    labels = pd.concat([level_labels(ratings[name]) for name in ratings], ignore_index=True)
    levels = order_levels(labels)
    numbers = pd.to_numeric(pd.Series(levels), errors="coerce")
    if order:
        ordered = list(dict.fromkeys(pick_level(level, levels, ratings.columns[0]) for level in order))
        left = [level for level in levels if level not in ordered]
        if left:
            raise ValueError(f"The order does not name {', '.join(left[:8])}; name every level from lowest to highest.")
        return "ordered", ordered
    if numbers.notna().all() and not (len(levels) <= 7 and (numbers % 1 == 0).all() and len(ratings) > len(levels)):
        return "measurements", levels
    if len(levels) < 3:
        return "categories", levels
    try:
        natural, _ = natural_order(levels)
    except ValueError:
        natural = None
    return ("ordered", natural) if natural else ("categories", levels)


def crosstab_figure(counts, levels, first, second):
    """Draw how often each level of one rater met each level of the other."""
    figure, axis = new_axes(width=max(4.4, 0.7 * len(levels) + 2.6), height=max(3.8, 0.6 * len(levels) + 2))
    axis.imshow(counts, cmap="Blues", aspect="auto", vmin=0)
    for i in range(len(levels)):
        for j in range(len(levels)):
            colour = "white" if counts[i, j] > 0.6 * counts.max() else "black"
            axis.text(j, i, f"{counts[i, j]:g}", ha="center", va="center", color=colour)
    short = [level[:18] for level in levels]
    axis.set_xticks(range(len(levels)), short, rotation=40 if sum(map(len, short)) > 40 else 0)
    axis.set_yticks(range(len(levels)), short)
    axis.set_xlabel(second)
    axis.set_ylabel(first)
    return figure


def two_units(ratings):
    """Return warnings where the ratio of two methods falls into two kinds far apart; raise where these are two units.

    Of two kinds (1.05 in most rows and 18 in the others) the ratios within each differ by less than half of what lies
    between them on the log scale. They are two units if they lie apart by a power of ten or a factor between common
    units, with five rows and a tenth of all in each; else a method may fail in some rows. Whole numbers of few values
    are scores, whose ratios mean nothing.

    Raises:
        ValueError: with the rows of each kind and the factor between them.
    """
    import itertools
    import math

    import numpy as np

    # lb in kg, ng/ml in nmol/l of vitamin D, inches in cm, feet in m, kcal in kJ, psi in kPa, kPa in mmHg, months,
    # mmol/l of glucose, hours, ounces in g, mmol/l of cholesterol, umol/l of urate, minutes, umol/l of creatinine,
    # pounds in g
    factors = (
        2.2046,
        2.496,
        2.54,
        3.2808,
        4.184,
        6.8948,
        7.5006,
        12,
        18.016,
        24,
        28.35,
        38.67,
        59.48,
        60,
        88.42,
        453.59,
    )
    found = []
    for one, other in itertools.combinations(ratings.columns, 2):
        pair = ratings[[one, other]].astype(float)
        scores = (pair % 1 == 0).all(axis=None) and len(np.unique(pair)) <= 20
        if (pair <= 0).any(axis=None) or scores:
            continue
        ratio = np.sort(np.log(pair[one] / pair[other]).to_numpy())
        cut = int(np.argmax(np.diff(ratio))) + 1
        low, high = ratio[:cut], ratio[cut:]
        gap, few = high[0] - low[-1], min(len(low), len(high))
        spread = max(np.ptp(low), np.ptp(high))
        if few < max(3, len(ratio) / 20) or spread >= gap / 2:
            continue
        apart = float(np.median(high) - np.median(low))
        tens = round(apart / math.log(10))
        ten = tens >= 1 and spread < math.log(2) and abs(apart - tens * math.log(10)) < math.log(1.1)
        known = any(abs(apart - math.log(factor)) < math.log(1.05) for factor in factors)
        said = (f"{one} divided by {other} is near {math.exp(np.median(low)):.3g} in {len(low)} rows and near "
                f"{math.exp(np.median(high)):.3g} in {len(high)}: two units in one column")  # fmt: skip
        if (ten or known) and few >= max(5, len(ratio) / 10):
            raise ValueError(f"{said}? Convert them first.")
        if gap > math.log(4):
            found.append(f"{said}, or a method that fails in some rows? Look at these rows: one bias and one pair of "
                         "limits do not describe both.")  # fmt: skip
    return found


def agreement_finding(row, text):
    """Return the finding of one row of the agreement table."""
    known = {key: row.get(key) for key in ("estimate", "lower_95", "upper_95")}
    return {"text": text, "output": "agreement", "row": {"pair": row["pair"], "measure": row["measure"]},
            "values": finding_values(estimate=tuple(known.values()))}  # fmt: skip


def no_bias(gaps, subjects):
    """Return the p-value of no bias: a t-test of the differences, of subjects with several rows of their means."""
    import numpy as np
    import pandas as pd
    from scipy import stats

    gaps = gaps if subjects is None else pd.Series(gaps).groupby(np.asarray(subjects)).mean().to_numpy()
    return float(stats.ttest_1samp(gaps, 0).pvalue) if np.ptp(gaps) > 0 else float("nan")


def bias_findings(a, b, rows, p_value, unit, equal, n):
    """Return the finding on bias and limits together, the answer, and the one on how sure the limits are.

    Args:
        a: the first method.
        b: the second, which is taken off the first.
        rows: those of bias, lower and upper limit.
        p_value: of no bias, not a number where every difference is the same.
        unit: with its blank, "" without one.
        equal: in how many of whole numbers the two agree exactly, None for others.
        n: of how many.
    """
    bias, low, high = rows
    size, interval = in_size(*(bias[key] for key in ("estimate", "lower_95", "upper_95")))
    p_said = f", {format_p(p_value)}" if p_value == p_value else ""
    if bias["lower_95"] > 0 or bias["upper_95"] < 0:
        way = "higher" if bias["estimate"] > 0 else "lower"
        start = f"{a} reads {size}{unit} {way} than {b} on average ({interval}{p_said})"
    else:
        shown = f"{format_number(bias['lower_95'])} to {format_number(bias['upper_95'])}"
        start = (f"{a} is not shown to read higher or lower than {b} ({format_number(bias['estimate'])}{unit} on "
                 f"average, 95 % CI {shown}{p_said})")  # fmt: skip
    ends = [format_number(row["estimate"]) for row in (low, high)]
    same = f"; they are equal in {equal} of {n}" if equal is not None else ""
    apart = f"between {ends[0]} and {ends[1]}{unit} apart ({a} minus {b}, 95 % limits of agreement)"
    said = agreement_finding(bias, f"{start}; single readings lie {apart}{same}.")
    more = {"lower limit": low["estimate"], "upper limit": high["estimate"], "p_value": p_value, "n_equal": equal}
    said["values"] += finding_values(**more)
    sure = [f"{end} (95 % CI {format_number(row['lower_95'])} to {format_number(row['upper_95'])})"
            for end, row in zip(ends, (low, high), strict=True)]  # fmt: skip
    # Its numbers stand behind a colon, where none is taken for a level that a question names.
    text = (f"Limits of agreement of {a} and {b}: a single reading of {a} lies from {sure[0]} to {sure[1]}{unit} off "
            f"{b} in about 95 % of cases.")  # fmt: skip
    return [said, agreement_finding(low, text)]


def rater_mean(name, x):
    """Return the row of one rater's mean with its 95 % interval (t)."""
    from scipy import stats

    half = float(stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / len(x) ** 0.5)
    return {"pair": name, "measure": "mean", "estimate": float(x.mean()), "lower_95": float(x.mean()) - half,
            "upper_95": float(x.mean()) + half, "method": "mean of the readings"}  # fmt: skip


def measured_agreement(ratings, subjects, unit, icc=""):
    """Return table rows, findings, warnings and figure of two or more methods that measure.

    `icc` is the intraclass correlation asked for, as (2,1) or (3,k); its finding then comes first. `subjects`
    holds the label of every row's subject where subjects have several rows, else None.
    """
    import itertools

    import numpy as np

    names = list(ratings)
    values = {name: numeric_values(ratings, name).to_numpy() for name in names}
    if all(np.ptp(x) == 0 for x in values.values()):
        raise ValueError(f"Every value of {', '.join(names)} is the same; expected subjects that differ.")
    said = f" {unit}" if unit else ""
    rows, findings, warnings, drawn = [], [], [], []
    for a, b in itertools.combinations(names, 2):
        own, notes = (limits_of_agreement(values[a], values[b]) if subjects is None
                      else repeated_limits(values[a], values[b], subjects))  # fmt: skip
        own = [{"pair": f"{a} vs {b}"} | row for row in own]
        rows, warnings = rows + own, warnings + [note if len(names) == 2 else f"{a} vs {b}: {note}" for note in notes]
        drawn.append(((a, b), values[a], values[b], own))
        gaps = values[a] - values[b]
        equal = int((gaps == 0).sum()) if ((values[a] % 1 == 0) & (values[b] % 1 == 0)).all() else None
        findings += bias_findings(a, b, own[:3], no_bias(gaps, subjects), said, equal, len(gaps))
    rows += [rater_mean(name, x) for name, x in values.items()]
    told = ", ".join(f"{name} {format_number(float(x.mean()))} (SD {format_number(float(x.std(ddof=1)))})"
                     for name, x in list(values.items())[:12])  # fmt: skip
    findings.append({"text": f"Means of {len(ratings)} readings{said and f' in{said}'}: {told}.",
                     "values": finding_values(**{str(name): float(x.mean()) for name, x in list(values.items())[:12]}),
                     "output": "agreement"})  # fmt: skip
    if subjects is not None:
        warnings.append(f"{len(ratings)} rows are of {subjects.nunique()} subjects, so intervals rest on the subjects; "
                        "an ICC would take every row for a subject of its own and is not given: average the rows of a "
                        "subject first for one.")  # fmt: skip
        return rows, findings, warnings, difference_figure(drawn[:3], unit)
    matrix = np.column_stack([values[name] for name in names])
    iccs = [{"pair": "all"} | row for row in intraclass_rows(matrix)]
    if iccs:
        best = iccs[0]
        place = 0 if len(names) > 2 else len(findings)  # one number of all raters before each pair of them
        findings.insert(place, agreement_finding(best, f"{best['measure']} ({best['method']}) is "
                                                       f"{best['estimate']:.2f} (95 % CI "
                        f"{best['lower_95']:.2f} to {best['upper_95']:.2f}): that share of the variance lies between "
                        "subjects; consistency without the bias, ICC(3,1), is "
                        f"{iccs[1]['estimate']:.2f}."))  # fmt: skip
        within = float(np.sqrt(matrix.var(axis=1, ddof=1).mean()))
        spread = {"pair": "all", "measure": "within-subject SD", "estimate": within,
                  "method": "root of the mean variance within subjects (standard error of measurement)"}  # fmt: skip
        repeat = {"pair": "all", "measure": "repeatability coefficient",
                  "estimate": 1.959963984540054 * 2**0.5 * within,
                  "method": "1.96 sqrt(2) within-subject SD: two readings differ by less in 95 % of cases"}  # fmt: skip
        rows += [*iccs, spread, repeat]
        if icc:
            wanted = "ICC" + icc.replace("k)", f"{len(names)})")
            row = next(row for row in iccs if row["measure"] == wanted)
            # The finding of the usual form stays where it is the one that was asked for, and moves to the front.
            findings = [one for one in findings if one.get("row", {}).get("measure") != wanted]
            text = (f"{wanted}, {row['method']}, of {', '.join(names)} is {row['estimate']:.2f} (95 % CI "
                    f"{row['lower_95']:.2f} to {row['upper_95']:.2f}; {len(ratings)} subjects).")  # fmt: skip
            findings.insert(0, agreement_finding(row, text))
        warnings.append("An ICC depends on how different the subjects are; whether the limits of agreement are narrow "
                        "enough is a question of use, not of statistics.")  # fmt: skip
    return rows, findings, warnings, difference_figure(drawn[:3], unit)


def rated_agreement(ratings, levels, ordered):
    """Return table rows, findings, warnings, cross-table and figure of two or more raters of categories."""
    import itertools

    import numpy as np
    import pandas as pd

    if len(levels) > 20:
        raise ValueError(f"The raters use {len(levels)} different levels; expected at most 20. Are these measurements?")
    if len(levels) < 2:
        raise ValueError(f"Both raters always say {levels[0]!r}; agreement beyond chance needs two levels.")
    labels = {name: level_labels(ratings[name]) for name in ratings}
    rows, findings, warnings, tables = [], [], [], []
    for a, b in itertools.combinations(ratings, 2):
        place = {level: number for number, level in enumerate(levels)}
        counts = np.zeros((len(levels), len(levels)))
        np.add.at(counts, (labels[a].map(place).to_numpy(dtype=int), labels[b].map(place).to_numpy(dtype=int)), 1)
        tables.append(((a, b), counts))
        schemes = ("linear", "quadratic", "none") if ordered else ("none",)
        own = [{"pair": f"{a} vs {b}"} | kappa_row(counts, weights) for weights in schemes]
        own.append({"pair": f"{a} vs {b}"} | share_of_agreement(np.trace(counts), counts.sum()))
        rows += own
        first, alike = own[0], own[-1]
        percent = f"{100 * alike['estimate']:.0f} % of {counts.sum():g}"
        if "estimate" not in first:
            findings.append(
                agreement_finding(alike, f"{a} and {b} rate {percent} subjects alike; kappa is not defined.")
            )
            continue
        beyond = ("more often than by chance" if first["lower_95"] > 0 else "less often than by chance"
                  if first["upper_95"] < 0 else "not shown to be more often than by chance")  # fmt: skip
        apart, most = counts - np.diag(np.diag(counts)), ""
        if apart.max() > 0:
            i, j = np.unravel_index(int(apart.argmax()), apart.shape)
            most = (
                f" They disagree most often where {a} says {levels[i]} and {b} {levels[j]} ({apart[i, j]:g} subjects)."
            )
        named = first["measure"][0].upper() + first["measure"][1:]
        text = (f"{named} of {a} and {b} is {first['estimate']:.2f} (95 % CI {first['lower_95']:.2f} to "
                f"{first['upper_95']:.2f}): they rate {percent} subjects alike, {beyond}.{most}")  # fmt: skip
        findings.append(agreement_finding(first, text))
        if ordered and "lower_95" in own[2]:
            plain = own[2]
            text = (f"Every disagreement counted the same: kappa {plain['estimate']:.2f} (95 % CI "
                    f"{plain['lower_95']:.2f} to {plain['upper_95']:.2f}).")  # fmt: skip
            findings.append(agreement_finding(plain, text))
        if alike["estimate"] == 1:
            warnings.append(f"{a} and {b} never disagree here, so the interval of kappa has no width; with more "
                            "subjects it would have: read that of the share rated alike.")  # fmt: skip
        margins = counts.sum(axis=0) + counts.sum(axis=1)
        if margins.max() > 0.8 * margins.sum():
            warnings.append(f"{a} and {b} give {levels[int(margins.argmax())]} in most cases: kappa is then low even "
                            "when they nearly always agree; read the share rated alike beside it.")  # fmt: skip
    if len(labels) > 2:
        of = fleiss_row(np.column_stack([sum((x == level).to_numpy(dtype=float) for x in labels.values())
                                         for level in levels]))  # fmt: skip
        rows.append(of)
        if "lower_95" in of:
            verdict = ("agree more often than by chance" if of["lower_95"] > 0 else
                       "agree less often than by chance" if of["upper_95"] < 0 else
                       "are not shown to agree more often than by chance")  # fmt: skip
            text = (f"The {len(labels)} raters together {verdict}: Fleiss' kappa {of['estimate']:.2f} (95 % CI "
                    f"{of['lower_95']:.2f} to {of['upper_95']:.2f}), every disagreement counted the same.")  # fmt: skip
            findings.insert(0, agreement_finding(of, text))
    if ordered:
        warnings.append(f"The levels are taken in the order {' < '.join(levels)}; a disagreement counts the more the "
                        "further apart it is (linear weights).")  # fmt: skip
    elif len(levels) > 2:
        warnings.append("Every disagreement counts the same; if the levels have an order, give it (order) for a "
                        "weighted "
                        "kappa.")  # fmt: skip
    if len(ratings) < 30:
        warnings.append(f"With {len(ratings)} subjects the interval of kappa is rough.")
    long = [{"pair": f"{a} vs {b}", "first": levels[i], "second": levels[j], "n": int(counts[i, j])}
            for (a, b), counts in tables for i in range(len(levels)) for j in range(len(levels))]  # fmt: skip
    (a, b), counts = tables[0]
    return rows, findings, warnings, pd.DataFrame(long), crosstab_figure(counts, levels, a, b)


@tool(
    name="agreement",
    title="Agreement of two methods or raters",
    description=(
        "Do two methods, raters or occasions give the same for the same subjects? Measurements: bias, limits of "
        "agreement and their 95 % intervals (Bland and Altman; between and within subjects where a subject has several "
        "pairs), the slope of the differences, the intraclass correlations of Shrout and Fleiss, each form named, "
        "within-subject SD. Categories: Cohen's kappa, for ordered ones weighted (linear and quadratic), with the "
        "share rated alike. Which of them is chosen by the columns. One column a rater, or one column of values with a "
        "column of raters and one of subjects; more than two raters in pairs, with one ICC or Fleiss' kappa over all."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "kind=measurements => limits of agreement (Bland and Altman) and intraclass correlations, because "
        "the same subjects are measured twice",
        "kind=ordered => weighted kappa, because the same subjects are rated twice in ordered categories",
        "kind=categories => Cohen's kappa, because the same subjects are rated twice",
        "limits of agreement and intraclass correlations for measurements, or kappa for categories, "
        "because the same subjects are measured or rated twice",
    ),
    answers=["agreement"],
    complete=("first", "second", "further", "not value"),
    inputs={"table": "table: one row a subject, or a row a rating"},
    outputs={
        "agreement": "table: every measure with its interval and method",
        "counts": "table: how often each level met each",
        "agreement_plot": "figure: differences against means, or the cross-table",
    },
    optional_outputs=("counts",),
    params={
        "first": param("Column of the first method or rater", kind="column", of="table", role="rating_a", needed=True),
        "second": param("Column of the second, subtracted from the first", kind="column", of="table",
                        role="rating_b", needed=True),
        "further": param("Columns of further raters", kind="columns", of="table", role="measures"),
        "value": param("Column of all values, where raters stand in rows", kind="column", of="table", role="anything",
                       instead_of=["first", "second", "further"]),
        "rater": param("Column that names rater, method or occasion", kind="column", of="table", role="condition",
                       instead_of=["first", "second", "further"]),
        "subject": param("Column that names what was rated, where raters stand in rows or a subject has several rows",
                         kind="column", of="table", role="subject"),
        "kind": param(
            "What the columns hold; auto decides by their values",
            choices=["auto", "measurements", "ordered", "categories"],
            words=["ordered: weighted (?:cohen'?s )?kappa|quadratic weights|linear weights",
                   "measurements: bland.?(?:and |& )?altman|limits of agreement|ICC\\b|intra.?class",
                   "categories: (?:un|not )weighted kappa|(?:exactly|only) (?:\\w+ ){0,3}(?:same|identical|equal)"],
        ),
        "icc": param(
            "Intraclass correlation to report first, empty for the limits of agreement first",
            choices=["", "(2,1)", "(3,1)", "(1,1)", "(2,k)", "(3,k)", "(1,k)"],
            words=[*(rf"({form},{many}): ICC\s*[(_ ]?\s*{form}\s*,?\s*{many}"
                     for form in (1, 2, 3) for many in ("1", "k")),
                   "(3,1): (?:ICC|intra.?class)[^.?!]{0,40}consistency|consistency[^.?!]{0,20}(?:ICC|intra.?class)",
                   "(2,k): (?:ICC|intra.?class)[^.?!]{0,40}(?:mean|average) of",
                   "(2,1): ICC\\b|intra.?class"],
        ),
        "order": param("Levels from lowest to highest, for categories with an order", kind="texts", role=""),
        "unit": param("Unit of the measurements, for the axes"),
    },
    checks=("tables_not_empty", "findings_match_tables", "agreement_in_interval"),
    keywords=("agreement", "Bland-Altman", "limits of agreement", "method comparison", "ICC",
              "intraclass correlation", "Cohen's kappa", "weighted kappa", "inter-rater", "inter-rater reliability",
              "intra-rater", "test-retest", "repeatability", "interchangeable", "two raters", "two observers",
              "measurement error", "in place of"),
    citations=(
        Citation(title="Statistical methods for assessing agreement between two methods of clinical measurement",
                 authors="Bland JM, Altman DG", year=1986, doi="10.1016/S0140-6736(86)90837-8"),
        Citation(title="Measuring agreement in method comparison studies", authors="Bland JM, Altman DG", year=1999,
                 doi="10.1177/096228029900800204"),
        Citation(title="Agreement between methods of measurement with multiple observations per individual",
                 authors="Bland JM, Altman DG", year=2007, doi="10.1080/10543400701329422"),
        Citation(title="Confidence interval estimation for the Bland-Altman limits of agreement with multiple "
                       "observations per individual", authors="Zou GY", year=2013, doi="10.1177/0962280211402548"),
        Citation(title="Intraclass correlations: uses in assessing rater reliability", authors="Shrout PE, Fleiss JL",
                 year=1979, doi="10.1037/0033-2909.86.2.420"),
        Citation(title="A coefficient of agreement for nominal scales", authors="Cohen J", year=1960,
                 doi="10.1177/001316446002000104"),
        Citation(title="Large sample standard errors of kappa and weighted kappa",
                 authors="Fleiss JL, Cohen J, Everitt BS", year=1969, doi="10.1037/h0028106"),
        Citation(title="Measuring nominal scale agreement among many raters", authors="Fleiss JL", year=1971,
                 doi="10.1037/h0031619"),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="Can the ear thermometer replace the rectal one?",
    next_steps=(
        NextStep(text="Set beforehand how far apart two readings may be for your purpose, and compare it with the "
                      "outer ends of the limits of agreement."),
    ),
)  # fmt: skip
def agreement(
    table,
    *,
    first: str = "",
    second: str = "",
    further: list[str] = [],  # noqa: B006 - a plain default, never changed
    value: str = "",
    rater: str = "",
    subject: str = "",
    kind: str = "auto",
    icc: str = "",
    order: list[str] = [],  # noqa: B006 - a plain default, never changed
    unit: str = "",
):
    """Compare what two or more methods or raters give for the same subjects."""
    import pandas as pd

    if kind not in ("auto", "measurements", "ordered", "categories"):
        raise ValueError(f"There is no kind {kind!r}; expected auto, measurements, ordered or categories.")
    wide = [name for name in (first, second, *further) if name]
    ratings, subjects, warnings = ratings_table(table, wide, value, rater, subject)
    if len(ratings) < 3:
        raise ValueError(f"Only {len(ratings)} subjects have a value of every rater; expected at least 3.")
    found, levels = kind_of_ratings(ratings, order)
    numeric = pd.to_numeric(pd.Series(levels), errors="coerce").notna().all()
    if kind == "ordered" and found == "categories":
        if len(levels) > 2:
            raise ValueError(
                f"The names of the levels do not say which is lowest: {', '.join(levels[:10])}. Give order."
            )
        kind = "categories"
    if kind == "measurements" and not numeric:
        warnings.append("The columns hold categories, so kappa takes the place of limits of agreement and ICC.")
    chosen = found if kind == "auto" or (kind == "measurements" and not numeric) else kind
    repeats = int(subjects.dropna().duplicated().sum()) if subjects is not None else 0
    several = repeats > 0 and chosen == "measurements" and subjects.notna().all() and subjects.nunique() > 2
    if repeats and not several:
        warnings.append(f"{repeats} rows repeat a value of {subject}, yet every row was taken as a subject of its own: "
                        "intervals are too narrow, and limits hold for these subjects only.")  # fmt: skip
    maybe, distinct = unnamed_subjects(plain_table(table), wide) if wide and not subject else ("", 0)
    if maybe and chosen == "measurements":
        warnings.append(f"{maybe} has {distinct} values in {len(table)} rows. If rows of one {maybe} are of one "
                        "subject, name it (subject): taken as independent they make intervals too narrow.")  # fmt: skip
    counts = None
    if chosen == "measurements":
        warnings += two_units(ratings)
        rows, findings, notes, figure = measured_agreement(ratings, subjects if several else None, unit, icc)
    else:
        rows, findings, notes, counts, figure = rated_agreement(ratings, levels, chosen == "ordered")
    frame = pd.DataFrame(rows).assign(n=len(ratings))
    columns = ["pair", "measure", "estimate", "lower_95", "upper_95", "n", "method"]
    return {
        "agreement": frame.reindex(columns=columns),
        "counts": counts,
        "agreement_plot": figure,
        "findings": findings,
        "warnings": warnings + notes,
    }
