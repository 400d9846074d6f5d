"""Does a curve lie elsewhere than another: curves of groups fitted together, tested, and the ratio of their doses.

Two EC50s written beside each other are no comparison: the ratio has its own interval, and it is one number only where
the curves are parallel on the log axis, which is tested first.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.pharmacology.dose_curves import (
    CURVE_COLUMNS,
    CURVE_PARAMS,
    LEVEL_WORDS,
    curve_remarks,
    response_columns,
)
from engine.toolbox.pharmacology.fitting import (
    colour_of,
    finish_axes,
    said_range,
    settled,
    split_curves,
)
from engine.toolbox.pharmacology.joint_curves import (
    held_limits,
    joint_curve_rows,
    joint_data,
    joint_remarks,
    nested_fits,
    potency_rows,
    single_fits,
    test_rows,
    unpack_curves,
)
from engine.toolbox.pharmacology.logistic_curves import draw_log_doses, log_dose_at, log_doses
from engine.toolbox.pharmacology.potency_order import nearest_pair, potency_order
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    format_p,
    left_open,
    likely_control,
    new_axes,
    pick_level,
)
from engine.toolbox.tables.rows import table_row


@check("dose_ratios_match")
def dose_ratios_match(step: StepOutputs) -> Iterator[Issue]:
    """A ratio is that of its two doses, lies within its interval, and is one over its relative potency."""
    table = step.table("potency").dropna(subset=["ratio"])
    apart = (table["dose"] / table["dose_reference"] / table["ratio"] - 1).abs() > 1e-6
    if (apart | ((table["ratio"] * table["relative_potency"] - 1).abs() > 1e-6)).any():
        message = "A ratio of doses is not that of its doses, or its relative potency is not one over it."
        yield Issue(code="dose_ratio_differs", severity="error", message=message, where="potency")
    known = table.dropna(subset=["lower_95", "upper_95"])
    if ((known["ratio"] < known["lower_95"] * (1 - 1e-9)) | (known["ratio"] > known["upper_95"] * (1 + 1e-9))).any():
        message = "A ratio of doses lies outside its own interval."
        yield Issue(code="interval_without_estimate", severity="error", message=message, where="potency")


def likely_reference(names):
    """Return the one group that reads like what others are compared with (control, standard, parental), or ""."""
    import re

    usual = r"(?i)(reference|standard|std|parent(al)?|susceptible|sensitive|originator|lab(oratory)?)([ _-].*)?"
    found = [name for name in names if re.fullmatch(usual, name)]
    return likely_control(names) or (found[0] if len(found) == 1 else "")


def chosen_curves(labels, names, treated, control, levels, group):
    """Return the groups to compare, the reference among them ("" for none), and warnings."""
    control = pick_level(control, names, group) if control else ""
    treated = pick_level(treated, names, group) if treated else ""
    if treated and treated == control:
        raise ValueError(f"Both groups to compare are {treated!r}; expected two different levels of {group!r}.")
    wanted = [pick_level(level, names, group) for level in levels]
    wanted = wanted or ([treated, control] if treated and control else names)
    chosen = [name for name in names if name in wanted or name == control]
    left = [name for name in names if name not in chosen]
    if len(chosen) < 2:
        raise ValueError(
            f"Column {group!r} leaves {len(chosen)} group to compare ({', '.join(chosen)}); expected at least 2. "
            "Choose another column or more of its levels."
        )
    notes = [f"Only {', '.join(chosen)} are compared; left out: {', '.join(left[:8])}."] if left else []
    return chosen, control or likely_reference(chosen), notes


def compared_pairs(names, control, treated):
    """Return the pairs (group, reference): each against the reference, else all of them."""
    import itertools

    if control:
        return [(name, control) for name in names if name != control]
    if treated:
        return [(treated, name) for name in names if name != treated]
    return [(later, first) for first, later in itertools.combinations(names, 2)]


def ratio_finding(row, potency, said):
    """Return the finding on one ratio of doses: which group needs more, how many times, how sure.

    Args:
        said: what dose, response and groups are called, the term (EC), the unit, and how many pairs there are.
    """
    one, other = (
        f"{said['group']} {name}" if name.replace(".", "").isdigit() else name
        for name in row["comparison"].split(" vs ", 1)
    )
    dose, kind, tail = said["dose"], f"{said['term']}{row['percent']:g}", f" {said['unit']}" if said["unit"] else ""
    part = "half" if row["percent"] == 50 else f"{row['percent']:g} %"
    goal = f"{part} of the effect on {said['what']}"
    doses = f"{kind} {format_number(row['dose'])} against {format_number(row['dose_reference'])}{tail}"
    p_said = format_p(row["p_value"]) + (f", adjusted {format_p(row['p_adj'])}" if said["pairs"] > 1 else "")
    limits = said_range(row["lower_95"], row["upper_95"])
    flat = [name for name in row["comparison"].split(" vs ", 1) if name in said["flat"]]
    if flat:
        shown = ", ".join(f"{name} ({format_p(said['flat'][name])})" for name in flat)
        text = f"No effect of {dose} is shown in {shown}, so there is no {kind} to compare between {one} and {other}"
    elif not settled(row["lower_95"], row["upper_95"]):
        text = f"The doses do not settle how {one} compares with {other} in {dose} for {goal} ({doses})"
    elif not row["p_adj"] < 0.05:
        text = (
            f"No difference in {kind} is shown between {one} and {other}: {one} needs {format_number(row['ratio'])} "
            f"times the {dose} of {other} for {goal} ({doses}; ratio {limits}; {p_said})"
            f"{left_open(row['lower_95'], row['upper_95'], ratio=True)}"
        )
    else:
        more = row["ratio"] > 1
        text = (
            f"{one} needs {'more' if more else 'less'} {dose} than {other} for {goal}: {doses}, "
            f"{format_number(row['ratio'])} times as much ({limits}, {p_said}), a relative potency of "
            f"{format_number(row['relative_potency'])} ({said_range(row['potency_lower_95'], row['potency_upper_95'])})"
        )
    if row["extrapolated"] and not flat:
        text += f". Beware: {kind} of {row['extrapolated']} lies outside the doses tested and is extrapolated"
    how = "one slope and the same limits assumed for all" if row["model"].startswith("par") else "each curve for itself"
    return {
        "text": f"{text}." if flat else f"{text}; {how}.",
        "output": "potency",
        "row": table_row(potency, comparison=row["comparison"], model=row["model"], percent=row["percent"]),
        "values": finding_values(
            ratio=(row["ratio"], row["lower_95"], row["upper_95"]),
            relative_potency=(row["relative_potency"], row["potency_lower_95"], row["potency_upper_95"]),
            p_value=row["p_value"],
            p_adj=row["p_adj"],
        ),
    }


def test_finding(row, tests, text):
    """Return the finding on one test of nested fits."""
    df = f"{row['df1']:g}" + (f", {row['df2']:g}" if row["df2"] == row["df2"] else "")
    name = "chi-squared" if row["test"] == "likelihood ratio" else "F"
    return {
        "text": f"{text} ({name}({df}) = {format_number(row['statistic'])}; {format_p(row['p_value'])}).",
        "output": "tests",
        "row": table_row(tests, question=row["question"]),
        "values": finding_values(statistic=row["statistic"], p_value=row["p_value"]),
    }


def order_finding(halves, own, main, ed_test, tests, said):
    """Return the finding on all groups by the dose for half of their effect, and whether they are shown to differ."""
    order, numbers = potency_order(halves, own, said["flat"], said["unit"])
    kind = f"{said['term']}50"
    if said["flat"] or ed_test is None:
        text, finding = f"{kind}: {order}.", {"output": "curves"}
    else:
        verdict = "differs" if ed_test["p_value"] < 0.05 else "is not shown to differ"
        finding = test_finding(ed_test, tests, f"The {kind} {verdict} between the {len(halves)} groups: {order}")
        text, numbers = finding["text"], numbers + finding["values"]
    pair = nearest_pair([row for row in halves if row["curve"] not in said["flat"]], main.to_dict("records"))
    if pair is not None and not pair["p_adj"] < 0.05:
        one, other = pair["comparison"].split(" vs ", 1)
        sure = f" (adjusted {format_p(pair['p_adj'])})" if pair["p_adj"] == pair["p_adj"] else ""
        left = left_open(pair["lower_95"], pair["upper_95"], ratio=True)
        text = f"{text.removesuffix('.')}; {one} and {other} are not shown to differ{sure}{left}."
    return {**finding, "text": text, "values": numbers}


def shape_finding(tests, kind, term):
    """Return the finding on whether the curves are parallel, and what follows for the ratio; None without the test."""
    rows = {row["question"].partition(" (")[0]: row for row in tests.to_dict("records")}
    row = rows.get("parallel") or rows.get("same slope")
    if row is None:
        return None
    if not row["p_value"] < 0.05:
        what = "limits or slopes" if row["question"].startswith("parallel") else "slopes"
        close = "" if row["p_value"] >= 0.1 else ", though the test comes near it"
        text = (
            f"There is no clear sign of different {what}{close}; this does not show that they are equal. Only if they "
        )
        return test_finding(row, tests, text + "are does one ratio of doses hold at every level")
    slope, limits = (rows.get(key, {"p_value": float("nan")})["p_value"] for key in ("same slope", "same limits"))
    parts = [
        f"{'their' if p_value < 0.05 else 'there is no clear sign of different'} {name}"
        f"{' differ' if p_value < 0.05 else ''} ({format_p(p_value)})"
        for name, p_value in (("slopes", slope), ("limits", limits))
        if p_value == p_value and row is not rows.get("same slope")
    ]
    text = f"The curves are not parallel{': ' if parts else ''}{' and '.join(parts)}. "
    if limits < 0.05:
        text += f"{kind} is then another response in each group: its ratio tells where the curves lie, not which doses "
        text += "do the same"
    else:
        text += f"The ratio depends on the level: the table potency has it at {term}10, {term}50 and {term}90"
    return test_finding(row, tests, text)


@tool(
    name="compare_dose_response",
    title="Comparison of dose-response curves",
    description=(
        "Fits log-logistic curves of several groups together (measured responses by least squares, counts by maximum "
        "likelihood) and tests whether one curve serves all, whether the ED50s, slopes or limits are the same (extra "
        "sum of squares F, likelihood ratio) and whether the curves are parallel; gives the ratio of doses and the "
        "relative potency of each group with 95 % intervals (delta method on the log ratio, and Fieller's)."
    ),
    domain="pharmacology",
    task_type="analysis",
    methods=(
        "events => log-logistic curves by maximum likelihood and likelihood ratio tests of what they "
        "share, because the response is counts out of totals",
        "log-logistic curves by least squares and extra-sum-of-squares F tests of what they share, because "
        "curves of several groups are compared",
    ),
    complete=("dose", "response", "group", "not events"),
    inputs={"table": "table: one row a dose and response"},
    outputs={
        "potency": "table: ratios of doses and relative potencies, from parallel and from separate curves",
        "tests": "table: tests of what the curves have in common",
        "curves": "table: slope, limits and ED50 of every curve",
        "curves_plot": "figure: points and curves of the groups",
    },
    params={
        **CURVE_COLUMNS,
        "group": param("Column whose groups have the curves", kind="column", of="table", role="group"),
        "treated": param("The group compared; empty for all", kind="level", of="group", role="interest"),
        "control": param(
            "The group the others are compared with (standard, wild type); empty to recognise it or take all pairs",
            kind="level",
            of="group",
            role="reference",
        ),
        "levels": param("Only these groups; empty for all", kind="texts", role="levels", of="group"),
        "level": param(
            "Part of the effect at which doses are compared, percent",
            minimum=0.1,
            maximum=99.9,
            words=LEVEL_WORDS,
        ),
        **CURVE_PARAMS,
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "dose_ratios_match"),
    leads={
        "n_groups": r"\b(?:same|identical|one) (?:within|curve)|"
        r"curves?\b[^.?!]*\b(?:the same|identical|coincide)\b"
    },
    keywords=(
        "relative potency",
        "potency ratio",
        "dose ratio",
        "EC50 shift",
        "IC50 shift",
        "fold shift",
        "resistance ratio",
        "resistance factor",
        "selectivity index",
        "parallel line assay",
        "parallelism",
        "extra sum-of-squares F test",
        "shared EC50",
        "compare EC50",
        "EDcomp",
        "compParm",
        "bioassay",
        "rightward shift",
        "Fieller",
    ),
    citations=(
        Citation(
            title="Dose-Response Analysis Using R",
            authors="Ritz C, Baty F, Streibig JC, Gerhard D",
            year=2015,
            doi="10.1371/journal.pone.0146021",
        ),
        Citation(
            title="Relative potency in nonsimilar dose-response curves",
            authors="Ritz C, Cedergreen N, Jensen JE, Streibig JC",
            year=2006,
        ),
        Citation(title="Statistical Method in Biological Assay", authors="Finney DJ", year=1978),
        Citation(title="Nonlinear regression analysis and its applications", authors="Bates DM, Watts DG", year=1988),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=5.0,
    example="Does the resistant biotype need more herbicide than the susceptible one, and how many times?",
    next_steps=(
        NextStep(
            text="Repeat the assay on another day: how far the ratio moves between days is not in its interval here.",
        ),
    ),
    answers=["compare_dose_response"],
)
def compare_dose_response(
    table,
    *,
    dose: str,
    group: str,
    response: str = "",
    events: str = "",
    total: str = "",
    treated: str = "",
    control: str = "",
    levels: list[str] = [],  # noqa: B006 - a plain default, never changed
    level: float = 50.0,
    lower: float | None = None,
    upper: float | None = None,
    three_parameters: bool = False,
    dose_scale: str = "auto",
    term: str = "EC",
    unit: str = "",
):
    """Compare log-logistic curves of groups by joint fits (Ritz et al. 2015) and their doses by ratios.

    `ratio` is the dose of the first group over that of the second for the same part of each one's effect; the relative
    potency is one over it. Where limits and slope may be the same in all groups (p of parallelism at least 0.05) the
    ratio of parallel curves answers, else that of separate curves, at 10, 50 and 90 percent too.

    Raises:
        ValueError: for fewer than two groups, too few doses, or columns of the wrong kind.
    """
    import numpy as np
    import pandas as pd

    lower = 0.0 if three_parameters and lower is None else lower
    if lower is not None and upper is not None and lower >= upper:
        raise ValueError(f"The lower limit {lower:g} is not below the upper one {upper:g}; give them the other way.")
    used = [dose, *([response] if response else []), *([events, total] if events or total else [])]
    table, labels, names, warnings = split_curves(table, [name for name in used if name], group)
    x, _, notes = log_doses(table, dose, dose_scale)
    y, whole, what, more = response_columns(table, response, events, total)
    names, control, left = chosen_curves(labels, names, treated, control, levels, group)
    data, names, untreated = joint_data(x, y, whole, labels.to_numpy(), names)
    warnings += [*notes, *more, *left]
    if len(names) < 2:
        raise ValueError(f"{len(names)} group of {group!r} has doses above 0; a comparison needs two curves.")
    if untreated:
        warnings.append(f"{', '.join(untreated)} has dose 0 only: untreated, and the start of every curve.")
        control = "" if control in untreated else control
    singles, own = single_fits(data, names, lower, upper)
    counts = whole is not None
    if counts and (lower is not None or upper is not None):
        warnings.append("Shares lie between 0 and 1; the limits given are not used.")
    held, opposite = held_limits(singles, counts, lower, upper)
    flat = [name for name in names if singles[name]["p_effect"] > 0.05]
    rows = np.array([singles[name]["theta"] for name in names])
    fits = nested_fits(data, rows, held, counts or bool(untreated))
    kind, tail = f"{term}{level:g}", f" {unit}" if unit else ""
    tests = pd.DataFrame(test_rows(fits, f"{term}50"))
    by_question = {row["question"].partition(" (")[0]: row for row in tests.to_dict("records")}
    shape = by_question.get("parallel") or by_question.get("same slope")
    parallel = shape is not None and shape["p_value"] >= 0.05 and not flat
    percents = list(dict.fromkeys([float(level), 10.0, 50.0, 90.0]))
    pairs = compared_pairs(names, control, pick_level(treated, names, group) if treated else "")
    potency = pd.DataFrame(potency_rows(fits, own, pairs[:66], percents, parallel))
    curves = pd.DataFrame(joint_curve_rows(fits["apart"], singles, own, names, float(level)))
    main = potency[(potency["model"] == ("parallel curves" if parallel else "separate curves"))]
    said = {"dose": dose, "what": what, "group": group, "term": term, "unit": unit, "pairs": len(pairs)}
    said |= {"flat": {name: singles[name]["p_effect"] for name in flat}}
    findings = []
    ed_test = by_question.get(f"same {term}50, if parallel" if parallel else f"same {term}50")
    if len(names) > 2 and not opposite and len(flat) < len(names):
        halves = joint_curve_rows(fits["apart"], singles, own, names, 50.0)
        findings.append(order_finding(halves, own, main[main["percent"] == 50], ed_test, tests, said))
    first = main[main["percent"] == level]
    order = first.assign(rank=first["p_value"].fillna(2)).sort_values("rank", kind="stable")
    findings += [ratio_finding(row, potency, said) for row in order.head(8).to_dict("records") if not opposite]
    shape_said = None if flat or opposite else shape_finding(tests, kind, term)
    findings += [shape_said] if shape_said else []
    steeper = by_question.get("same slope", {"p_value": 1.0})["p_value"] < 0.05
    if steeper and not (parallel or flat or opposite) and len(pairs) <= 3:
        findings += [ratio_finding(row, potency, said) for row in main[main["percent"] != level].to_dict("records")]
    same = by_question["one curve for all"]
    verdict = (
        "One curve does not serve all groups"
        if same["p_value"] < 0.05
        else "There is no clear sign that groups need own curves"
    )
    if opposite:
        verdict = f"The curve of {', '.join(opposite)} goes the other way than the rest, so no doses are set in ratio; "
        verdict += "one curve for all is tested"
    whole = test_finding(same, tests, verdict)
    findings.append(whole | {"values": [*whole["values"], *finding_values(n_groups=len(names))]})
    if len(pairs) > 8:
        warnings.append(f"{len(pairs)} pairs were compared; the other {len(pairs) - 8} are in the table potency.")
    for row in curves.head(8).to_dict("records"):
        name = row["curve"]
        one = singles[name] | ({"p_fit": float("nan"), "corrected": False} if counts else {})  # said of all, below
        warnings += curve_remarks(name, one, own[name], row | {"p_effect": row["p_value"]}, kind)
    warnings += joint_remarks(table.loc[data["use"]], data, fits["apart"], singles, {group, *used})
    figure, axis = new_axes(width=6.4)
    colours, drawn = colour_of(names), fits["parallel" if parallel and "parallel" in fits else "apart"]
    thetas = dict(zip(names, unpack_curves(drawn["theta"], drawn["plan"]), strict=True))
    span = {name: (own[name].min(), own[name].max()) for name in names}
    where = draw_log_doses(axis, data["x"], thetas, span, colours, lambda name: name)
    height = data["y"] if not counts else data["y"] / data["whole"]
    for i, name in enumerate(names):
        here = data["codes"] == i
        shown = pd.DataFrame({"x": where[here], "y": height[here]})
        if counts and data["whole"].max() == 1:
            shown = shown.groupby("x", as_index=False)["y"].mean()
        colour, marker = colours[name]
        axis.plot(shown["x"], shown["y"], marker, color=colour, markersize=5, alpha=0.75, markeredgecolor="white")
        half = float(np.exp(log_dose_at(thetas[name], level)))
        if axis.get_xlim()[0] < half < axis.get_xlim()[1]:
            axis.axvline(half, color=colour, linestyle=":", linewidth=0.9)
    finish_axes(axis, f"{dose} ({tail.strip() + ', ' if tail else ''}log scale; dotted: {kind})", what, names, group)
    return {
        "potency": potency,
        "tests": tests,
        "curves": curves,
        "curves_plot": figure,
        "findings": findings,
        "warnings": list(dict.fromkeys(warnings)),
    }
