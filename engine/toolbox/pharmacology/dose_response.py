"""How much is needed: the dose with half (or any part) of an effect, from a fitted curve and not the nearest dose.

Untreated controls stay in the fit as dose 0. Counts of dead among exposed are fitted as counts, because 1 of 2 and 50
of 100 are not equally sure.
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
    between_ends,
    curve_remarks,
    curve_row,
    doses_overview,
    fit_one_curve,
    level_finding,
    level_rows,
    response_columns,
    with_hormesis,
)
from engine.toolbox.pharmacology.fitting import colour_of, finish_axes, hidden_groups, split_curves
from engine.toolbox.pharmacology.hormesis import hump_finding, log_dose_of_percent, response_at
from engine.toolbox.pharmacology.logistic_curves import draw_log_doses, log_doses
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import new_axes
from engine.toolbox.tables.rows import table_row


@check("doses_rise_with_effect")
def doses_rise_with_effect(step: StepOutputs) -> Iterator[Issue]:
    """Within a curve a larger part of the effect needs a larger dose, and each dose lies within its interval."""
    table = step.table("doses")
    for curve, rows in table.dropna(subset=["percent"]).groupby("curve"):
        if not rows.sort_values("percent")["dose"].is_monotonic_increasing:
            message = f"Curve {curve}: the doses do not rise with the part of the effect."
            yield Issue(code="doses_out_of_order", severity="error", message=message, where="doses")
    known = table.dropna(subset=["dose", "lower_95", "upper_95"])
    if ((known["dose"] < known["lower_95"] * (1 - 1e-9)) | (known["dose"] > known["upper_95"] * (1 + 1e-9))).any():
        message = "A dose lies outside its own interval."
        yield Issue(code="interval_without_estimate", severity="error", message=message, where="doses")


@tool(
    name="dose_response",
    title="Dose-response curve",
    description=(
        "Fits the four- or three-parameter log-logistic curve (4PL, Hill) by least squares, or a two-limit curve to "
        "counts by maximum likelihood, and gives EC50, IC50, ED50 or LD50 and doses of other levels with 95 % "
        "intervals (delta method on log dose), slope and plateaus; one curve or one per group. Untreated controls are "
        "kept as dose 0. Stimulation by small doses (hormesis) is tested and, where asked for, fitted (Brain-Cousens)."
    ),
    domain="pharmacology",
    task_type="analysis",
    methods=(
        "events => two-limit log-logistic curve by maximum likelihood, because the response is counts out of totals",
        "model=brain_cousens => Brain-Cousens curve with stimulation by small doses",
        "three_parameters => three-parameter log-logistic curve by least squares, because the response is "
        "measured over doses",
        "four-parameter log-logistic curve by least squares, because the response is measured over doses",
    ),
    complete=("dose", "response", "group", "not events"),
    inputs={"table": "table: one row a dose and response"},
    outputs={
        "curves": "table: slope, plateaus and fit of every curve",
        "doses": "table: dose of every asked level with its interval",
        "dose_plot": "figure: points and fitted curves",
    },
    params={
        **CURVE_COLUMNS,
        "group": param("Column that tells curves apart; empty for one curve", kind="column", of="table", role="split"),
        "level": param(
            "Part of the effect whose dose is asked for first, percent",
            minimum=0.1,
            maximum=99.9,
            words=LEVEL_WORDS,
        ),
        "second_level": param(
            "Another part of the effect whose dose is asked for, percent",
            minimum=0.1,
            maximum=99.9,
            words=[r"[EIL][CD] ?\d+(?:\.\d+)?\W{0,3}(?:and|&|or)? *(?:[EIL][CD])"],
        ),
        "third_level": param(
            "A third part of the effect, percent",
            minimum=0.1,
            maximum=99.9,
            words=[r"(?:[EIL][CD] ?\d+(?:\.\d+)?\W{0,3}(?:and|&|or)? *){2}(?:[EIL][CD])"],
        ),
        "at_response": param(
            "Response whose dose is asked for, in its own unit", words=["(?:reach(?:es|ing)?|response of|rise of)"]
        ),
        **CURVE_PARAMS,
        "model": param(
            "Curve; auto takes the log-logistic one and tells of stimulation by small doses",
            choices=["auto", "log_logistic", "brain_cousens"],
            words=["brain_cousens: brain.?cousens|horme(?:sis|tic)|stimulat\\w+ (?:at|by) (?:low|small)"],
        ),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "doses_rise_with_effect"),
    keywords=(
        "EC50",
        "IC50",
        "ED50",
        "LD50",
        "LC50",
        "EC10",
        "IC90",
        "half maximal effective concentration",
        "Hill slope",
        "four-parameter logistic",
        "three-parameter logistic",
        "4PL",
        "3PL",
        "log-logistic",
        "dose-response curve",
        "concentration-response curve",
        "potency",
        "lethal dose",
        "probit analysis",
        "inhibition curve",
        "Emax model",
        "hormesis",
        "Brain-Cousens",
    ),
    citations=(
        Citation(
            title="Dose-Response Analysis Using R",
            authors="Ritz C, Baty F, Streibig JC, Gerhard D",
            year=2015,
            doi="10.1371/journal.pone.0146021",
        ),
        Citation(
            title="A method of computing the effectiveness of an insecticide",
            authors="Abbott WS",
            year=1925,
            doi="10.1093/jee/18.2.265a",
        ),
        Citation(title="Probit Analysis", authors="Finney DJ", year=1971),
        Citation(
            title="An equation to describe dose responses where there is stimulation of growth at low doses",
            authors="Brain P, Cousens R",
            year=1989,
            doi="10.1111/j.1365-3180.1989.tb00845.x",
        ),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=3.0,
    example="At which concentration is half of the root growth lost?",
    next_steps=(
        NextStep(
            text="Test whether the curves of {param:group} differ (compare_dose_response) before calling one more "
            "potent.",
            needs_param="group",
        ),
    ),
    answers=["dose_response"],
    shows={"doses": ["curve", "effect", "dose", "lower_95", "upper_95", "response", "tested"], "dose_plot": []},
)
def dose_response(
    table,
    *,
    dose: str,
    response: str = "",
    events: str = "",
    total: str = "",
    group: str = "",
    level: float = 50.0,
    second_level: float | None = None,
    third_level: float | None = None,
    at_response: float | None = None,
    lower: float | None = None,
    upper: float | None = None,
    three_parameters: bool = False,
    dose_scale: str = "auto",
    term: str = "EC",
    unit: str = "",
    model: str = "auto",
):
    """Fit log-logistic curves and read doses from them.

    The curve is y = start + (end - start) / (1 + (e / dose)^b), start being the response at dose 0, with log e and
    log b as parameters (Ritz et al. 2015). EDp is the dose with p percent of the way from start to end.

    With model brain_cousens the curve has a hump (Brain and Cousens 1989) and EDp lies behind it.

    Args:
        level: percent of the whole effect; 10, 50 and 90 are given beside it.
        at_response: a response in its own unit (a share for counts).

    Raises:
        ValueError: for too few doses, a constant response, or columns of the wrong kind.
    """
    import numpy as np
    import pandas as pd

    if three_parameters and lower is None:
        lower = 0.0
    if lower is not None and upper is not None and lower >= upper:
        raise ValueError(f"The lower limit {lower:g} is not below the upper one {upper:g}; give them the other way.")
    used = [dose, *([response] if response else []), *([events, total] if events or total else [])]
    table, labels, names, warnings = split_curves(table, [name for name in used if name], group)
    x, _, notes = log_doses(table, dose, dose_scale)
    y, whole, what, more = response_columns(table, response, events, total)
    warnings += [*notes, *more]
    if whole is not None and (lower is not None or upper is not None):
        warnings.append("Shares lie between 0 and 1; the limits given are not used.")
    if whole is not None and model == "brain_cousens":
        raise ValueError(
            "The Brain-Cousens curve is for a measured response, and these are counts or yes/no; take the log-logistic "
            "curve."
        )
    asked = list(dict.fromkeys(float(p) for p in (level, second_level, third_level) if p is not None))
    levels = sorted({10.0, 50.0, 90.0, *asked})
    fits, span, curve_rows, dose_rows, residuals = {}, {}, [], [], np.zeros(len(y))
    for name in names:
        here = (labels == name).to_numpy()
        fit, own = fit_one_curve(name, x[here], y[here], None if whole is None else whole[here], lower, upper)
        if whole is None:
            fit = with_hormesis(name, fit, own, y[here], lower, upper, model)
        fits[name], span[name] = fit, (own.min(), own.max())
        fitted = response_at(fit["theta"], x[here])
        residuals[here] = (y[here] if whole is None else y[here] / np.maximum(whole[here], 1)) - fitted
        curve_rows.append(curve_row(name, fit, own))
        dose_rows += level_rows(name, fit, own, levels, at_response)
        if at_response is not None and "dose" not in dose_rows[-1]:
            warnings.append(f"The curve of {name} never reaches a response of {at_response:g}.")
    curves, doses = pd.DataFrame(curve_rows), pd.DataFrame(dose_rows)
    # What is asked for first, of all curves; what is given beside it after that.
    doses = doses.sort_values("percent", key=lambda p: ~p.isin([*asked, np.nan]), kind="stable", ignore_index=True)
    findings = []
    if not group:
        warnings += hidden_groups(table, {dose, response, events, total}, residuals)
    said = {"what": what, "dose": dose, "group": group, "unit": unit, "term": term}
    effects = [*([] if at_response is None else [f"response {at_response:g}"]), *(f"{p:g} %" for p in asked)]
    for row in curve_rows[:8]:
        name, own = row["curve"], x[(labels == row["curve"]).to_numpy()]
        mine = doses[doses["curve"] == name].set_index("effect")
        main = {**mine.loc[f"{level:g} %"].to_dict(), "p_effect": row["p_value"]}
        warnings += curve_remarks(name, fits[name], own, main, f"{term}{level:g}")
        reached = [effect for effect in effects if mine.loc[effect, "dose"] == mine.loc[effect, "dose"]]
        for effect in reached[:1] if row["p_value"] > 0.05 else reached:
            told = {**mine.loc[effect].to_dict(), "pointer": table_row(doses, curve=name, effect=effect)}
            seen = {"ends": between_ends(own, y[(labels == name).to_numpy()], what)} if whole is None else {}
            findings.append(level_finding(told, row, said | seen, own, effect == reached[0]))
        hump = hump_finding(row, curves, what, dose, unit)
        findings += [hump] if hump else []
    findings[:0] = doses_overview(curve_rows, doses, said, level)
    if whole is not None:
        y = y / np.maximum(whole, 1)
    figure, axis = new_axes(width=6.4)
    colours = colour_of(names)
    thetas = {name: fits[name]["theta"] for name in names}
    where = draw_log_doses(axis, x, thetas, span, colours, lambda name: name, response_at)
    pooled = whole is not None and whole.max() == 1
    for name in names:
        here = (labels == name).to_numpy()
        shown = pd.DataFrame({"x": where[here], "y": y[here]})
        if pooled:
            shown = shown.groupby("x", as_index=False)["y"].mean()
        axis.plot(
            shown["x"],
            shown["y"],
            colours[name][1],
            color=colours[name][0],
            markersize=5,
            alpha=0.75,
            markeredgecolor="white",
            markeredgewidth=0.4,
        )
        half = float(np.exp(log_dose_of_percent(thetas[name], 50)))
        if axis.get_xlim()[0] < half < axis.get_xlim()[1]:
            axis.axvline(half, color=colours[name][0], linestyle=":", linewidth=0.9)
    finish_axes(axis, f"{dose} ({unit + ', ' if unit else ''}log scale; dotted: half-way)", what, names, group)
    return {"curves": curves, "doses": doses, "dose_plot": figure, "findings": findings, "warnings": warnings}
