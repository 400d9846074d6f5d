"""How much is needed: the dose with half (or any part) of an effect, from a fitted curve and not the nearest dose.

Untreated controls stay in the fit as dose 0. Counts of dead among exposed are fitted as counts, because 1 of 2 and 50
of 100 are not equally sure.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.pharmacology.fitting import (
    CURVE_HELPERS,
    colour_of,
    estimate,
    finish_axes,
    hidden_groups,
    lack_of_fit_p,
    nested_f_test,
    said_range,
    settled,
    split_curves,
)
from engine.toolbox.pharmacology.logistic_curves import (
    LOGISTIC_HELPERS,
    draw_log_doses,
    fit_log_logistic,
    fit_log_logistic_counts,
    log_dose_at,
    log_dose_for,
    log_doses,
    log_logistic,
)
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.proportions import counted_rows, event_rows
from engine.toolbox.tables.columns import finding_values, format_number, format_p, new_axes, numeric_values
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


def response_columns(table, response, events, total):
    """Return responses and totals (None for a measurement), what the response is called, and warnings.

    A column with two states, or counted events of a total, become shares with their totals.
    """
    import numpy as np

    if bool(events) != bool(total) or bool(response) == bool(events):
        raise ValueError(
            "Expected either one column of responses, or two columns of counts: events (such as dead) and the total "
            "they are part of. Name one of these two forms."
        )
    if events:
        part, whole = counted_rows(table, events, total)
        part, whole = part.to_numpy(), whole.to_numpy()
        return part, whole, f"share of {events}", []
    if table[response].nunique() == 2 and len(table) > 8:
        happened, what, notes = event_rows(table[response], response, "")
        return happened.to_numpy(dtype=float), np.ones(len(table)), f"share with {what}", notes
    return numeric_values(table, response).to_numpy(), None, response, []


def fit_one_curve(name, x, y, whole, lower, upper):
    """Fit one curve and return it with what tests say of it, refusing data that cannot settle a curve."""
    import numpy as np

    doses = np.unique(x)
    positive = int(np.isfinite(doses).sum())
    of = "" if name == "all" else f"{name}: "
    if whole is not None:
        keep = whole > 0
        x, y, whole = x[keep], y[keep], whole[keep]
        share = np.array([y[x == dose].sum() / whole[x == dose].sum() for dose in np.unique(x)])
        if positive < 3:
            raise ValueError(f"{of}{positive} different doses above 0; a curve of counts needs at least 3.")
        if not ((share > 0) & (share < 1))[np.isfinite(np.unique(x))].any():
            raise ValueError(
                f"{of}at no dose did some but not all respond, so the slope and the half-way dose are not settled; "
                "doses between the highest without and the lowest with full effect are needed."
            )
        fit = fit_log_logistic_counts(x, y, whole)
        null = float(y.sum() / whole.sum())
        flat = 2 * sum(
            count * np.log(count / (size * p))
            for count, size, p in [
                *zip(y, whole, [null] * len(y), strict=True),
                *zip(whole - y, whole, [1 - null] * len(y), strict=True),
            ]
            if count > 0
        )
        from scipy.stats import chi2

        scale = max(1.0, fit["pearson"] / fit["free"]) if fit["df"] else 1.0
        p_effect = float(chi2.sf(max(0.0, flat - fit["deviance"]) / scale, 2 if fit["corrected"] else 1))
        return {**fit, "p_effect": p_effect}, x
    free = 4 - (lower is not None) - (upper is not None)
    if len(doses) < free or len(y) <= free or positive < 3:
        raise ValueError(
            f"{of}{len(doses)} different doses in {len(y)} rows; a curve with {free} parameters needs at least "
            f"{free} doses (3 of them above 0) and {free + 1} rows. Measure more doses or hold a limit (lower, upper)."
        )
    if np.ptp(y) == 0:
        raise ValueError(f"{of}the response is {y[0]:g} at every dose; there is no effect to fit a curve to.")
    fit = fit_log_logistic(x, y, lower, upper)
    sse = float(((y - y.mean()) ** 2).sum())
    p_effect = nested_f_test(sse, len(y) - 1, fit["sse"], fit["df"])[3] if free > 1 else float("nan")
    return {**fit, "p_effect": p_effect, "p_fit": lack_of_fit_p(x, y, fit["sse"], fit["df"])}, x


def curve_remarks(name, fit, x, row, kind):
    """Return what a careful reader must know of one fitted curve."""
    import numpy as np

    of = "" if name == "all" else f"{name}: "
    remarks = []
    top, bottom = (float(np.exp(x[np.isfinite(x)].max())), float(np.exp(x[np.isfinite(x)].min())))
    if row["p_effect"] > 0.05:
        remarks.append(f"{of}no effect of the dose is shown ({format_p(row['p_effect'])}); read no {kind} from this.")
    if not bottom <= row["dose"] <= top:
        remarks.append(
            f"{of}the {kind} of {format_number(row['dose'])} lies outside the doses tested "
            f"({format_number(bottom)} to {format_number(top)}): it is extrapolated."
        )
    if not row["upper_95"] < 10 * row["lower_95"]:
        remarks.append(
            f"{of}these doses hardly settle the {kind}: its interval is wider than tenfold, because a plateau is not "
            "reached, the points scatter, or too few doses lie on the slope."
        )
    if fit["p_fit"] == fit["p_fit"] and fit["p_fit"] < 0.05:
        more = " Errors were widened by the heterogeneity factor." if "deviance" in fit and fit["df"] else ""
        remarks.append(f"{of}the curve misses the points more than chance explains ({format_p(fit['p_fit'])}).{more}")
    if fit.get("corrected"):
        remarks.append(
            f"{of}{100 * fit['theta'][0]:.1f} % respond without dose; the {kind} is of the effect above that (Abbott)."
        )
    if len(np.unique(x)) == 4 and "deviance" not in fit:
        remarks.append(f"{of}4 doses for 4 parameters: the curve passes through the means and cannot be checked.")
    return remarks


@tool(
    name="dose_response",
    title="Dose-response curve",
    description=(
        "Fits the four- or three-parameter log-logistic curve (4PL, Hill) by least squares, or a two-limit curve to "
        "counts by maximum likelihood, and gives EC50, IC50, ED50 or LD50 and doses of other levels with 95 % "
        "intervals (delta method on log dose), slope and plateaus; one curve or one per group. Untreated controls are "
        "kept as dose 0."
    ),
    domain="pharmacology",
    task_type="analysis",
    inputs={"table": "table: one row a dose and response"},
    outputs={
        "curves": "table: slope, plateaus and fit of every curve",
        "doses": "table: dose of every asked level with its interval",
        "dose_plot": "figure: points and fitted curves",
    },
    params={
        "dose": param("Column of doses or concentrations", kind="column", of="table", role="over"),
        "response": param(
            "Column of the response, measured or yes/no", kind="column", of="table", role="measure", needed=True
        ),
        "events": param(
            "Column of counted events (dead, germinated), when the table is tallied",
            kind="column",
            of="table",
            role="part",
            instead_of=["response"],
        ),
        "total": param(
            "Column of totals that the events are part of",
            kind="column",
            of="table",
            role="total",
            instead_of=["response"],
        ),
        "group": param("Column that tells curves apart; empty for one curve", kind="column", of="table", role="split"),
        "level": param(
            "Part of the effect whose dose is asked for first, percent",
            minimum=0.1,
            maximum=99.9,
            words=["[EIL][CD]", "effective dose", "inhibitory concentration"],
        ),
        "at_response": param(
            "Response whose dose is asked for, in its own unit", words=["(?:reach(?:es|ing)?|response of|rise of)"]
        ),
        "lower": param(
            "Value at which the lower limit is held; empty to fit it",
            words=["(?:lower limit|bottom|lower plateau|lower asymptote)(?: (?:at|to|is|=))*"],
        ),
        "upper": param(
            "Value at which the upper limit is held; empty to fit it",
            words=["(?:upper limit|top|upper plateau|upper asymptote)(?: (?:at|to|is|=))*"],
        ),
        "three_parameters": param("Hold the lower limit at 0", words=["true: (?:three|3)[- ]?param|3.?PL|LL\\.3"]),
        "dose_scale": param(
            "Whether the doses are logarithms",
            choices=["auto", "plain", "log10", "ln"],
            words=["log10: log10 (?:dose|conc)"],
        ),
        "term": param(
            "What the dose is called",
            choices=["EC", "IC", "ED", "LD", "LC"],
            words=[
                "IC: p?IC ?\\d|inhibit",
                "LD: LD ?\\d|lethal dose",
                "LC: LC ?\\d|lethal conc",
                "ED: ED ?\\d|effective dose",
            ],
        ),
        "unit": param("Unit of the dose, for text and axis"),
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
    helpers=(
        *CURVE_HELPERS,
        *LOGISTIC_HELPERS,
        counted_rows,
        event_rows,
        response_columns,
        fit_one_curve,
        curve_remarks,
    ),
    answers=["dose_response"],
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
    at_response: float | None = None,
    lower: float | None = None,
    upper: float | None = None,
    three_parameters: bool = False,
    dose_scale: str = "auto",
    term: str = "EC",
    unit: str = "",
):
    """Fit log-logistic curves and read doses from them.

    The curve is y = start + (end - start) / (1 + (e / dose)^b), start being the response at dose 0, with log e and
    log b as parameters (Ritz et al. 2015). EDp is the dose with p percent of the way from start to end.

    Args:
        level: percent of the whole effect; 10 and 90 are given beside it.
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
    levels = sorted({10.0, 50.0, 90.0, float(level)})
    fits, span, curve_rows, dose_rows, residuals = {}, {}, [], [], np.zeros(len(y))
    for name in names:
        here = (labels == name).to_numpy()
        fit, own = fit_one_curve(name, x[here], y[here], None if whole is None else whole[here], lower, upper)
        fits[name], span[name] = fit, (own.min(), own.max())
        fitted = log_logistic(fit["theta"], x[here])
        residuals[here] = (y[here] if whole is None else y[here] / np.maximum(whole[here], 1)) - fitted
        start, end, _, log_slope = fit["theta"]
        slope = estimate(fit, lambda theta: theta[3], log=True)
        curve_rows.append(
            {
                "curve": name,
                "n": fit["n"],
                "doses": len(np.unique(own)),
                "direction": "rises" if end > start else "falls",
                "slope": float(np.exp(log_slope)),
                "slope_se": slope[1],
                "slope_lower_95": slope[2],
                "slope_upper_95": slope[3],
                "without_dose": start,
                "at_full_effect": end,
                "residual_sd": fit.get("sigma", float("nan")),
                "df": fit.get("free", fit["df"]),
                "p_value": fit["p_effect"],
                "p_lack_of_fit": fit["p_fit"],
            }
        )
        for percent in levels:
            value, error, low, high = estimate(fit, lambda theta, p=percent: log_dose_at(theta, p), log=True)
            dose_rows.append(
                {
                    "curve": name,
                    "effect": f"{percent:g} %",
                    "percent": percent,
                    "response": start + (end - start) * percent / 100,
                    "dose": value,
                    "se": error,
                    "lower_95": low,
                    "upper_95": high,
                }
            )
        if at_response is not None:
            row = {"curve": name, "effect": f"response {at_response:g}", "response": at_response}
            if log_dose_for(fit["theta"], at_response) == log_dose_for(fit["theta"], at_response):
                value, error, low, high = estimate(fit, lambda theta: log_dose_for(theta, at_response), log=True)
                row |= {"dose": value, "se": error, "lower_95": low, "upper_95": high}
            else:
                warnings.append(f"The curve of {name} never reaches a response of {at_response:g}.")
            dose_rows.append(row)
    curves, doses = pd.DataFrame(curve_rows), pd.DataFrame(dose_rows)
    findings = []
    if not group:
        warnings += hidden_groups(table, {dose, response, events, total}, residuals)
    tail = f" {unit}" if unit else ""
    asked = [f"{level:g} %"] if at_response is None else [f"response {at_response:g}", f"{level:g} %"]
    for curve_row in curve_rows[:8]:
        name = curve_row["curve"]
        rows = doses[doses["curve"] == name].set_index("effect")
        main = {**rows.loc[f"{level:g} %"].to_dict(), "p_effect": curve_row["p_value"]}
        warnings += curve_remarks(name, fits[name], x[(labels == name).to_numpy()], main, f"{term}{level:g}")
        for effect in asked:
            row = rows.loc[effect]
            if row["dose"] != row["dose"]:
                continue
            who = "" if name == "all" else f" in {group} {name}"
            known = settled(row["lower_95"], row["upper_95"])
            goal = (
                f"{what} reaches {at_response:g}"
                if effect.startswith("response")
                else (
                    f"half of the effect on {what} is reached"
                    if level == 50
                    else f"{level:g} % of the effect on {what} is reached"
                )
            )
            text = f"{goal[0].upper()}{goal[1:]}{who} at {dose} {format_number(row['dose'])}{tail} ("
            text += f"{said_range(row['lower_95'], row['upper_95'], unit)}" if known else "not settled by these doses"
            text += "" if effect.startswith("response") else f"; {term}{level:g}"
            text += (
                f"): {what} {curve_row['direction']} from {format_number(curve_row['without_dose'])} without dose to "
                f"{format_number(curve_row['at_full_effect'])} with slope {format_number(curve_row['slope'])} "
                f"(n = {curve_row['n']})."
            )
            findings.append(
                {
                    "text": text,
                    "output": "doses",
                    "row": table_row(doses, curve=name, effect=effect),
                    "values": finding_values(dose=(row["dose"], row["lower_95"], row["upper_95"])),
                }
            )
    if whole is not None:
        y = y / np.maximum(whole, 1)
    figure, axis = new_axes(width=6.4)
    colours = colour_of(names)
    where = draw_log_doses(axis, x, {name: fits[name]["theta"] for name in names}, span, colours, lambda name: name)
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
        half = float(np.exp(fits[name]["theta"][2]))
        if axis.get_xlim()[0] < half < axis.get_xlim()[1]:
            axis.axvline(half, color=colours[name][0], linestyle=":", linewidth=0.9)
    finish_axes(axis, f"{dose} ({unit + ', ' if unit else ''}log scale; dotted: half-way)", what, names, group)
    return {"curves": curves, "doses": doses, "dose_plot": figure, "findings": findings, "warnings": warnings}
