"""Why apart: what small doses stimulate and large ones stop needs a curve with a hump, and doses read behind it.

The curve is that of Brain and Cousens (1989): y = end + (start - end + f dose) / (1 + (dose / e)^b). Its parameters
are, in this order: response without dose, response at endless dose, log e, log(b - 1), and f e (in the unit of the
response). With b above 1 it ends at its limit; with f = 0 it is the log-logistic curve.
"""

from __future__ import annotations

from engine.toolbox.pharmacology.fitting import estimate, lack_of_fit_p, nested_f_test
from engine.toolbox.pharmacology.logistic_curves import fit_with_limits, log_dose_at, log_dose_for, log_logistic
from engine.toolbox.tables.columns import finding_values, format_number, format_p
from engine.toolbox.tables.rows import table_row


def brain_cousens(theta, log_dose):
    """Return the response at natural-log doses (-inf is no dose)."""
    import numpy as np
    from scipy.special import expit

    start, end, middle, steepness, lift = theta
    slope = 1 + np.exp(np.minimum(steepness, 30.0))
    z = np.asarray(log_dose, dtype=float) - middle
    return end + (start - end) * expit(-slope * z) + lift * np.exp(z - np.logaddexp(0, slope * z))


def response_at(theta, log_dose):
    """Return the response of either curve; five parameters are those of Brain and Cousens."""
    return brain_cousens(theta, log_dose) if len(theta) == 5 else log_logistic(theta, log_dose)


def peak_log_dose(theta):
    """Return the natural log of the dose at the top of the hump (the root of the derivative), NaN without one."""
    import numpy as np
    from scipy.optimize import brentq
    from scipy.special import expit

    start, end, middle, steepness, lift = theta
    slope = 1 + np.exp(np.minimum(steepness, 30.0))
    if not (start - end) * lift > 0:
        return float("nan")

    def change(z):
        reached = slope * expit(slope * z)
        return lift / (start - end) * (1 - reached) - reached * np.exp(-z)

    if not change(-60) > 0 > change(60):
        return float("nan")
    return middle + float(brentq(change, -60, 60, xtol=1e-13))


def log_dose_behind(theta, response):
    """Return the natural log of the dose at which the curve, behind its hump, has a response; NaN without one."""
    import numpy as np
    from scipy.optimize import brentq

    top = peak_log_dose(theta)
    low, high = (top if top == top else theta[2] - 500), theta[2] + 5000
    gaps = [float(brain_cousens(theta, place)) - response for place in (low, high)]
    if not np.sign(gaps[0]) * np.sign(gaps[1]) < 0:
        return float("nan")
    return float(brentq(lambda place: float(brain_cousens(theta, place)) - response, low, high, xtol=1e-13))


def log_dose_of_percent(theta, percent):
    """Return the natural log of the dose with a part of the way from no dose to the limit, of either curve."""
    if len(theta) == 4:
        return log_dose_at(theta, percent)
    return log_dose_behind(theta, theta[0] + (theta[1] - theta[0]) * percent / 100)


def log_dose_of_response(theta, response):
    """Return the natural log of the dose at which either curve has a response; NaN where it never has it."""
    return log_dose_for(theta, response) if len(theta) == 4 else log_dose_behind(theta, response)


def hump_seen(plain, x, y):
    """Say whether the mean at some dose lies beyond that of the lowest one, against the direction of the effect."""
    import numpy as np

    means = np.array([y[x == dose].mean() for dose in np.unique(x)])
    return bool((((means - means[0])[1:] * np.sign(plain["theta"][0] - plain["theta"][1])) > 0).any())


def fit_brain_cousens(plain, x, y, lower=None, upper=None):
    """Fit the curve by least squares from the log-logistic fit `plain` of the same points.

    Returns:
        the fit, with p_hormesis, the extra sum of squares of the hump (1 where the hump points with the effect).
    """
    import numpy as np

    start, end, middle, _ = plain["theta"]
    starts = [
        np.array([start, end, middle - back, steepness, part * (start - end)])
        for back in (0.0, 1.5, 3.5)
        for steepness in (-1.0, 0.5)
        for part in (0.2, 1.5)
    ]
    fit = fit_with_limits(lambda theta: brain_cousens(theta, x), starts, y, lower, upper)
    p_value = nested_f_test(plain["sse"], plain["df"], fit["sse"], fit["df"])[3]
    humped = (fit["theta"][0] - fit["theta"][1]) * fit["theta"][4] > 0
    return {**fit, "p_hormesis": p_value if humped else 1.0, "p_fit": lack_of_fit_p(x, y, fit["sse"], fit["df"])}


def hump_row(fit):
    """Return the columns that a fitted hump adds to the row of its curve."""
    import numpy as np

    tested = {"p_hormesis": fit["p_hormesis"]} if "p_hormesis" in fit else {}
    if len(fit["theta"]) == 4:
        return tested
    names = ("peak_dose", "peak_lower_95", "peak_upper_95", "peak_response", "stimulation_percent")
    names = (*names, "stimulation_lower_95", "stimulation_upper_95", "back_to_control")
    row = dict.fromkeys(names, float("nan")) | tested
    if np.isnan(peak_log_dose(fit["theta"])):
        return row

    def part(theta):
        top = float(brain_cousens(theta, peak_log_dose(theta)))
        return 100 * (top / theta[0] - 1) if theta[0] > 0 else float("nan")

    row["peak_dose"], _, row["peak_lower_95"], row["peak_upper_95"] = estimate(fit, peak_log_dose, log=True)
    row["peak_response"] = float(brain_cousens(fit["theta"], np.log(row["peak_dose"])))
    if fit["theta"][0] > 0:
        row["stimulation_percent"], _, *limits = estimate(fit, part)
        row["stimulation_lower_95"], row["stimulation_upper_95"] = limits
    row["back_to_control"] = float(np.exp(log_dose_behind(fit["theta"], fit["theta"][0])))
    return row


def hump_finding(row, curves, what, dose, unit):
    """Return the finding on the stimulation by small doses of one curve, or None where the curve has no hump."""
    if not row.get("peak_dose", float("nan")) > 0:
        return None
    who = "" if row["curve"] == "all" else f" in {row['curve']}"
    tail = f" {unit}" if unit else ""
    shown = row["p_hormesis"] < 0.05
    text = f"Small doses {'stimulate' if shown else 'are not shown to stimulate'}{who}: the curve of {what} goes from "
    text += f"{format_number(row['without_dose'])} without dose to {format_number(row['peak_response'])} at {dose} "
    text += f"{format_number(row['peak_dose'])}{tail}"
    if row["stimulation_percent"] == row["stimulation_percent"]:
        way = "above" if row["stimulation_percent"] > 0 else "below"
        text += f", {format_number(abs(row['stimulation_percent']))} % {way} that without dose"
        limits = sorted(
            abs(row[key]) if way == "below" else row[key] for key in ("stimulation_lower_95", "stimulation_upper_95")
        )
        if all(limit == limit for limit in limits) and (way == "above" or row["stimulation_upper_95"] < 0):
            text += f" (95 % CI {format_number(limits[0])} to {format_number(limits[1])} %)"
    text += f", and is back at that without dose at {format_number(row['back_to_control'])}{tail}"
    return {
        "text": f"{text} (against a curve without stimulation: {format_p(row['p_hormesis'])}).",
        "output": "curves",
        "row": table_row(curves, curve=row["curve"]),
        "values": finding_values(
            stimulation_percent=(
                row["stimulation_percent"],
                row["stimulation_lower_95"],
                row["stimulation_upper_95"],
            ),
            peak_dose=(row["peak_dose"], row["peak_lower_95"], row["peak_upper_95"]),
            peak_response=row["peak_response"],
            p_hormesis=row["p_hormesis"],
        ),
    }
