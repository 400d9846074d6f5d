"""Why apart: one curve of a table is read, fitted, put into rows and into words alike, alone or beside others."""

from __future__ import annotations

from engine.toolbox.pharmacology.fitting import estimate, lack_of_fit_p, nested_f_test, said_range, settled
from engine.toolbox.pharmacology.hormesis import (
    fit_brain_cousens,
    hump_row,
    hump_seen,
    log_dose_of_percent,
    log_dose_of_response,
    response_at,
)
from engine.toolbox.pharmacology.logistic_curves import fit_log_logistic, fit_log_logistic_counts
from engine.toolbox.registry import param
from engine.toolbox.statistics.proportions import counted_rows, event_rows
from engine.toolbox.tables.columns import (
    called_level,
    finding_values,
    format_number,
    format_p,
    in_a_row,
    left_open,
    numeric_values,
)

CURVE_COLUMNS = {
    "dose": param("Column of doses or concentrations", kind="column", of="table", role="dose"),
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
}
"""Where a dose-response table holds doses and responses, measured or counted."""
_LESS = (
    r"shorter|less|lower|smaller|fewer|weaker|reduc\w*|inhibit\w*|loss|lost|drop|decrease|mortality|dead|killed|killing"
)
LEVEL_WORDS = [
    "[EIL][CD]",
    "effective dose",
    "inhibitory concentration",
    rf"(?:per ?cent|%) (?:(?:of the )?(?:effect|maximum|kill|mortality|death)|{_LESS})\b",
    r"(?:cuts?|reduc\w*|lower\w*|decreas\w*|inhibit\w*|shorten\w*|suppress\w*|block\w*|kill\w*|slow\w*)\b"
    r"(?=[^.?!\d]*\d+ ?(?:%|per ?cent))[^.?!\d]{0,40}",
]
"""How people say which part of an effect they want the dose of: `EC10`, `10 % inhibition`, `cuts growth by 20 %`."""
CURVE_PARAMS = {
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
}
"""What every fit of dose-response curves can be told of its limits, doses and names."""


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


def with_hormesis(name, fit, x, y, lower, upper, model):
    """Return the curve of Brain and Cousens where it is asked for, else the fit with the p-value of a hump."""
    import numpy as np

    of, free = "" if name == "all" else f"{name}: ", 5 - (lower is not None) - (upper is not None)
    enough = len(np.unique(x)) >= free and len(y) > free
    if model == "brain_cousens" and not enough:
        raise ValueError(
            f"{of}{len(np.unique(x))} different doses in {len(y)} rows; the Brain-Cousens curve with {free} parameters "
            f"needs at least {free} doses and {free + 1} rows. Measure more doses or take the log-logistic curve."
        )
    if model == "log_logistic" or not enough or (model == "auto" and not hump_seen(fit, x, y)):
        return fit
    humped = fit_brain_cousens(fit, x, y, lower, upper)
    return {**fit, **humped} if model == "brain_cousens" else {**fit, "p_hormesis": humped["p_hormesis"]}


def dose_place(dose, x):
    """Return where a dose lies beside those tested: "below", "above" or "" (within), and the doses tested in words."""
    import numpy as np

    bottom, top = (float(np.exp(edge)) for edge in (x[np.isfinite(x)].min(), x[np.isfinite(x)].max()))
    place = "below" if dose < bottom * (1 - 1e-9) else "above" if dose > top * (1 + 1e-9) else ""
    return place, f"{format_number(bottom)} to {format_number(top)}"


def plateau_share(fit, x):
    """Return the part of the way to the fitted limit that the curve has gone at the highest dose."""
    start, end = fit["theta"][:2]
    return float((response_at(fit["theta"], x.max()) - start) / (end - start)) if end != start else float("nan")


def curve_remarks(name, fit, x, row, kind):
    """Return what a careful reader must know of one fitted curve."""
    import numpy as np

    of = "" if name == "all" else f"{name}: "
    remarks = []
    if row["p_effect"] > 0.05:
        remarks.append(f"{of}no effect of the dose is shown ({format_p(row['p_effect'])}); read no {kind} from this.")
    effect = not row["p_effect"] > 0.05
    place, tested = dose_place(row["dose"], x)
    if place and effect:
        remarks.append(
            f"{of}the {kind} of {format_number(row['dose'])} lies outside the doses tested ({tested}): it is "
            "extrapolated."
        )
    if effect and plateau_share(fit, x) < 0.8 and fit["cov"][1, 1] > 0:
        remarks.append(
            f"{of}the plateau is not reached: at the highest dose the curve has gone "
            f"{100 * plateau_share(fit, x):.0f} % of the way to its limit, which no point shows; every {kind[:2]} is a "
            "part of that way. Test higher doses, or hold the limit (lower, upper) where it is known."
        )
    if effect and not row["upper_95"] < 10 * row["lower_95"]:
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
    if len(fit["theta"]) == 4 and fit.get("p_hormesis", 1.0) < 0.01:
        remarks.append(
            f"{of}small doses change the response the other way (hormesis; Brain-Cousens curve against this one: "
            f"{format_p(fit['p_hormesis'])}); ask for the Brain-Cousens curve (model) to have it in the doses."
        )
    if len(fit["theta"]) == 5 and np.isfinite(x).all():
        remarks.append(f"{of}no row is without dose: what the stimulation is compared with lies beyond the doses.")
    return remarks


def curve_row(name, fit, x):
    """Return the row of one fitted curve."""
    import numpy as np

    start, end = fit["theta"][:2]
    humped = len(fit["theta"]) == 5

    def slope_of(theta):
        return float(np.log1p(np.exp(theta[3]))) if humped else theta[3]

    slope = estimate(fit, slope_of, log=True)
    return {
        "curve": name,
        "n": fit["n"],
        "doses": len(np.unique(x)),
        "direction": "rises" if end > start else "falls",
        "slope": float(np.exp(slope_of(fit["theta"]))),
        "slope_se": slope[1],
        "slope_lower_95": slope[2],
        "slope_upper_95": slope[3],
        "without_dose": start,
        "at_full_effect": end,
        "residual_sd": fit.get("sigma", float("nan")),
        "df": fit.get("free", fit["df"]),
        "p_value": fit["p_effect"],
        "p_lack_of_fit": fit["p_fit"],
        "model": "Brain-Cousens" if humped else "log-logistic",
        **hump_row(fit),
    }


def level_rows(name, fit, x, levels, at_response):
    """Return a row for each level of one curve, then one for a response; without limits where it is never reached."""
    start, end = fit["theta"][:2]
    wanted = [(f"{p:g} %", p, start + (end - start) * p / 100) for p in levels]
    if at_response is not None:
        wanted.append((f"response {at_response:g}", float("nan"), at_response))
    rows = []
    for effect, percent, response in wanted:

        def place(theta, p=percent, response=response):
            return log_dose_of_percent(theta, p) if p == p else log_dose_of_response(theta, response)

        row = {"curve": name, "effect": effect, "percent": percent, "response": response}
        if place(fit["theta"]) == place(fit["theta"]):
            dose, error, low, high = estimate(fit, place, log=True)
            where = {"below": "below the doses", "above": "above the doses"}.get(dose_place(dose, x)[0], "within")
            row |= {"dose": dose, "se": error, "lower_95": low, "upper_95": high, "tested": where}
        rows.append(row)
    return rows


def ratio_of_curves(known):
    """Return (the curve of the larger dose, ratio, its 95 % limits) of two curves, from their separate intervals.

    The limits of the difference of the logarithms are recovered from those of the two (Zou and Donner 2008).
    """
    import math

    (_, low), (name, high) = sorted(known, key=lambda item: item[1]["dose"])
    gap = math.log(high["dose"] / low["dose"])
    down = math.hypot(math.log(high["dose"] / high["lower_95"]), math.log(low["upper_95"] / low["dose"]))
    up = math.hypot(math.log(high["upper_95"] / high["dose"]), math.log(low["dose"] / low["lower_95"]))
    return name, tuple(math.exp(value) for value in (gap, gap - down, gap + up))


def doses_overview(curves, doses, said, level):
    """Return the finding on the dose of one level in several curves, also of those where it cannot be read; [] for one.

    Of more than eight only the lowest and the highest dose are told; the table has them all.
    """
    if len(curves) < 2:
        return []
    rows = doses[doses["effect"] == f"{level:g} %"].set_index("curve")
    flat = [c for c in curves if c["p_value"] > 0.05]
    fitted = [(c["curve"], rows.loc[c["curve"]]) for c in curves if c not in flat]
    known = [(name, row) for name, row in fitted if settled(row["lower_95"], row["upper_95"])]
    open_ = [name for name, row in fitted if not settled(row["lower_95"], row["upper_95"])]
    shown = known if len(known) <= 8 else [min(known, key=lambda item: item[1]["dose"]),
                                           max(known, key=lambda item: item[1]["dose"])]  # fmt: skip
    parts = [f"{format_number(row['dose'])} ({said_range(row['lower_95'], row['upper_95'])}) for "
             f"{called_level(name, said['group'])}" for name, row in shown]  # fmt: skip
    unit = f" in {said['unit']}" if said["unit"] else ""
    told = [f"is {in_a_row(parts)}"] if parts else []
    ratio = None
    if len(known) == len(curves) == 2:
        name, ratio = ratio_of_curves(known)
        told = [f"{told[0]}: {format_number(ratio[0])} times as high for {called_level(name, said['group'])} "
                f"({said_range(*ratio[1:])})"]  # fmt: skip
    if len(shown) < len(known):
        told = [f"is lowest of {len(known)} curves with {parts[0]} and highest with {parts[1]}"]
    if open_:
        told.append(f"is not settled by these doses for {in_a_row([called_level(n, said['group']) for n in open_])}")
    if flat:
        names = [f"{called_level(c['curve'], said['group'])} ({format_p(c['p_value'])})" for c in flat]
        told.append(f"cannot be read for {in_a_row(names)}, where no effect of {said['dose']} is shown")
    text = f"The {said['term']}{level:g} of {said['dose']} for {said['what']}{unit} {'; it '.join(told)}."
    values = [{"name": f"dose {name}", "value": float(row["dose"]), "low": float(row["lower_95"]),
               "high": float(row["upper_95"])} for name, row in shown]  # fmt: skip
    values += finding_values(ratio=ratio)
    return [{"text": text, "output": "doses", "values": values}]


def between_ends(x, y, what):
    """Return how far the responses at the highest dose may lie from those at the lowest, by Welch's interval.

    In words, as the end of a sentence on an effect that is not shown; "" with fewer than two values at an end.
    """
    from scipy import stats

    low, high = y[x == x.min()], y[x == x.max()]
    if min(len(low), len(high)) < 2 or max(low.std(), high.std()) == 0:
        return ""
    limits = stats.ttest_ind(high, low, equal_var=False).confidence_interval(0.95)
    top, bottom, least, most = (float(x) for x in (high.mean(), low.mean(), limits.low, limits.high))
    return (
        f"; at the highest dose {what} is {format_number(top)} against {format_number(bottom)} at the lowest, "
        f"difference {format_number(top - bottom)} ({said_range(least, most)})"
        f"{left_open(least, most)}"
    )


def level_finding(row, curve, said, x, shape):
    """Return the finding on the dose of one level: in words first, loudly where no such dose was tested.

    Args:
        row: a row of the doses with its pointer.
        curve: the row of its curve.
        said: what the response, the dose, the group, its unit and the kind of dose (EC) are called.
        x: the log doses of the curve.
        shape: True to tell the curve's limits and slope as well.
    """
    what, dose, group, unit, term = (said[key] for key in ("what", "dose", "group", "unit", "term"))
    tail = f" {unit}" if unit else ""
    who = "" if curve["curve"] == "all" else f" in {group} {curve['curve']}"
    by_response = row["percent"] != row["percent"]
    name = "" if by_response else f"{term}{row['percent']:g}"
    goal = f"{what} reaches {row['response']:g}"
    if not by_response:
        goal = "half" if row["percent"] == 50 else f"{row['percent']:g} %"
        goal += f" of the effect on {what} is reached"
    known = settled(row["lower_95"], row["upper_95"])
    limits = said_range(row["lower_95"], row["upper_95"], unit) if known else "not settled by these doses"
    limits += ", hardly settled" if known and row["upper_95"] > 10 * row["lower_95"] else ""
    place, tested = dose_place(row["dose"], x)
    if place:
        text = f"No dose tested ({dose} {tested}{tail}) is as {'high' if place == 'above' else 'low'} as that at which "
        text += f"{goal}{who}; the curve puts {name or 'it'} at about {format_number(row['dose'])}{tail} ({limits}"
        text += ", extrapolated"
    else:
        text = f"{goal[0].upper()}{goal[1:]}{who} at {dose} {format_number(row['dose'])}{tail} ({limits}"
        text += f"; {name}" if name else ""
    text += ")"
    if curve["p_value"] > 0.05:  # a number in front would be taken for a result
        text = f"No effect of {dose} on {what} is shown{who} ({format_p(curve['p_value'])}), so no {name or 'dose'} "
        text += f"can be read; the fitted curve would have it at {format_number(row['dose'])}{tail} ({limits})"
        text += said.get("ends", "")
    elif shape:
        text += f": {what} {curve['direction']} from {format_number(curve['without_dose'])} without dose to "
        text += f"{format_number(curve['at_full_effect'])}"
        text += f" with a slope (Hill) of {format_number(curve['slope'])}" if curve["model"] == "log-logistic" else ""
        text += f" (n = {curve['n']})"
    return {
        "text": f"{text}.",
        "output": "doses",
        "row": row["pointer"],
        "values": finding_values(dose=(row["dose"], row["lower_95"], row["upper_95"])),
    }
