"""Why apart: the log-logistic curve serves dose-response, its comparison and calibration alike.

Parameters of a curve are, in this order: response without dose, response at endless dose, natural log of the dose
half-way between (ED50), natural log of the slope (drc's |b|, the Hill slope without its sign).
"""

from __future__ import annotations

from engine.toolbox.pharmacology.fitting import derivatives, fit_curve, inverse_or_nan
from engine.toolbox.tables.columns import numeric_values


def log_doses(table, name, scale):
    """Return natural logs of the doses (-inf for dose 0), what was taken for a logarithm, and warnings.

    Args:
        scale: plain, log10, ln, or auto (by the column's name and by values below zero).
    """
    import re

    import numpy as np

    values = numeric_values(table, name).to_numpy()
    told = scale
    if scale == "auto":
        named = re.match(r"(log10|log|ln|lg)(?=[\W_]|dose|conc|mol|$)", str(name).strip(), re.IGNORECASE)
        scale = "plain"
        if named:
            scale = "ln" if named[1].casefold() == "ln" else "log10"
        elif (values < 0).any():
            scale = "log10"
    if scale == "plain":
        if (values < 0).any():
            raise ValueError(
                f"Column {name!r} holds {int((values < 0).sum())} doses below zero; expected doses of 0 or more, or "
                "dose_scale log10 when these are logarithms."
            )
        with np.errstate(divide="ignore"):
            return np.log(values), "plain", []
    notes = (
        [f"{name} was taken to hold {scale} of the dose; results are doses, not logarithms."] if told == "auto" else []
    )
    return values * (1 if scale == "ln" else np.log(10)), scale, notes


def log_logistic(theta, log_dose):
    """Return the response at natural-log doses (-inf is no dose)."""
    import numpy as np
    from scipy.special import expit

    start, end, middle, log_slope = theta
    return start + (end - start) * expit(np.exp(np.minimum(log_slope, 30.0)) * (log_dose - middle))


def logistic_starts(log_dose, y):
    """Return starting values for the four parameters, from the ends of the data and several middles and slopes."""
    import numpy as np

    order = np.argsort(log_dose, kind="stable")
    few = max(1, len(y) // 8)
    first, last = float(np.mean(y[order[:few]])), float(np.mean(y[order[-few:]]))
    finite = log_dose[np.isfinite(log_dose)]
    middles = np.quantile(np.unique(finite), [0.25, 0.5, 0.75])
    return [np.array([first, last, middle, slope]) for middle in middles for slope in (-0.5, 0.3, 1.2)]


def fit_with_limits(curve, starts, y, lower=None, upper=None):
    """Fit `curve(theta)`, whose first two parameters are its limits, by least squares; hold a limit at a value.

    Args:
        starts: starting values of all parameters.

    Returns:
        the fit with all parameters; a limit that is held has no variance.
    """
    import numpy as np

    size, fits = len(starts[0]), []
    for falling in (False, True):
        held = {}
        if lower is not None:
            held[1 if falling else 0] = lower
        if upper is not None:
            held[0 if falling else 1] = upper
        free = [i for i in range(size) if i not in held]

        def whole(theta, held=held, free=free):
            full = np.empty(size)
            full[free] = theta
            for i, value in held.items():
                full[i] = value
            return full

        fit = fit_curve(lambda theta, whole=whole: curve(whole(theta)), [s[free] for s in starts], y)
        covariance = np.zeros((size, size))
        covariance[np.ix_(free, free)] = fit["cov"]
        fits.append({**fit, "theta": whole(fit["theta"]), "cov": covariance})
        if not held:
            break
    return min(fits, key=lambda fit: fit["sse"])


def fit_log_logistic(log_dose, y, lower=None, upper=None):
    """Fit the curve by least squares; `lower` and `upper` hold a limit at a value."""
    return fit_with_limits(lambda theta: log_logistic(theta, log_dose), logistic_starts(log_dose, y), y, lower, upper)


def deviance_residuals(expected, events, total):
    """Return signed roots of what each binomial count adds to the deviance; their squares sum to it."""
    import numpy as np
    from scipy.special import xlogy

    share = events / total
    parts = xlogy(events, share) - events * np.log(expected)
    parts += xlogy(total - events, 1 - share) - (total - events) * np.log1p(-expected)
    return np.sign(share - expected) * np.sqrt(2 * np.maximum(parts, 0))


def fit_log_logistic_counts(log_dose, events, total):
    """Fit a curve from 0 to 1 (or 1 to 0) to counts by maximum likelihood (binomial).

    The share without dose is estimated where untreated subjects show it (Abbott's correction), else held.

    Returns:
        a fit like that of `fit_log_logistic`, with deviance, Pearson's chi-squared and its p-value; where that is
        below 0.05 the errors are widened by the heterogeneity factor (Finney) and df is the residual one, else None.
    """
    import numpy as np
    from scipy.optimize import least_squares
    from scipy.special import expit, logit
    from scipy.stats import chi2

    share = events / total
    finite = np.isfinite(log_dose)
    falling = float(np.polyfit(log_dose[finite], share[finite], 1, w=np.sqrt(total[finite]))[0]) < 0
    at_zero = share[~finite]
    free_start = bool(len(at_zero)) and (bool((at_zero < 1).any()) if falling else bool((at_zero > 0).any()))
    end, fixed_start = (0.0, 1.0) if falling else (1.0, 0.0)

    def whole(theta):
        start = expit(theta[0]) if free_start else fixed_start
        return np.array([start, end, theta[-2], theta[-1]])

    def shares(theta):
        return np.clip(log_logistic(whole(theta), log_dose), 1e-12, 1 - 1e-12)

    best = None
    base = float(np.clip((events[~finite].sum() + 0.5) / (total[~finite].sum() + 1), 0.01, 0.99)) if free_start else 0.5
    for middle in np.quantile(np.unique(log_dose[finite]), [0.25, 0.5, 0.75]):
        for slope in (0.0, 1.0, 2.0):
            start = ([float(logit(base))] if free_start else []) + [middle, slope]
            found = least_squares(
                lambda theta: deviance_residuals(shares(theta), events, total),
                start,
                x_scale="jac",
                xtol=1e-12,
                ftol=1e-14,
                gtol=1e-14,
            )
            best = found if best is None or found.cost < best.cost else best
    p = shares(best.x)
    slopes = derivatives(shares, best.x)
    weights = total / (p * (1 - p))
    covariance = inverse_or_nan(slopes.T @ (slopes * weights[:, None]))
    doses, places = np.unique(log_dose, return_inverse=True)
    sums = [np.bincount(places, weights=part) for part in (events, total)]
    few = (total < 5).mean() > 0.5  # rows of single subjects say nothing of the fit; their sums by dose do
    seen, size = sums if few else (events, total)
    expected = np.clip(log_logistic(whole(best.x), doses if few else log_dose), 1e-12, 1 - 1e-12)
    pearson = float(((seen - size * expected) ** 2 / (size * expected * (1 - expected))).sum())
    free = len(seen) - len(best.x)
    p_fit = float(chi2.sf(pearson, free)) if free > 0 else float("nan")
    wide = p_fit < 0.05
    if wide:
        covariance = covariance * (pearson / free)
    full = np.zeros((4, 4))
    if free_start:
        change = p_start = expit(best.x[0])
        scale = np.diag([p_start * (1 - change), 1.0, 1.0])
        full[np.ix_([0, 2, 3], [0, 2, 3])] = scale @ covariance @ scale
    else:
        full[2:, 2:] = covariance
    return {
        "theta": whole(best.x),
        "cov": full,
        "df": free if wide else None,
        "sse": float(2 * best.cost),
        "n": int(total.sum()),
        "deviance": float(2 * best.cost),
        "pearson": pearson,
        "free": free,
        "p_fit": p_fit,
        "corrected": free_start,
    }


def log_dose_at(theta, percent):
    """Return the natural log of the dose with `percent` of the whole effect."""
    import math

    return theta[2] + math.log(percent / (100 - percent)) / math.exp(theta[3])


def log_dose_for(theta, response):
    """Return the natural log of the dose at which the curve has a response; NaN where it never has it."""
    import numpy as np

    start, end, middle, log_slope = theta
    part = (response - start) / (end - start) if end != start else np.nan
    return middle + np.log(part / (1 - part)) / np.exp(log_slope) if 0 < part < 1 else float("nan")


def draw_log_doses(axis, log_dose, theta_of, span, colours, label, curve_of=log_logistic):
    """Draw fitted curves on a log axis of dose; values without dose stand at the left under the tick 0.

    Args:
        log_dose: all natural-log doses, -inf for none.
        theta_of: curve -> parameters.
        span: curve -> (lowest, highest) log dose that it was fitted to.
        curve_of: parameters, log doses -> responses.

    Returns:
        where doses are to be drawn, as plain numbers.
    """
    import numpy as np
    from matplotlib.ticker import FixedLocator, NullLocator

    log_dose = np.asarray(log_dose, dtype=float)
    steps = np.unique(log_dose[np.isfinite(log_dose)])
    gap = float(np.clip(np.median(np.diff(steps)) if len(steps) > 1 else 1.0, 0.7, 2.3))
    left = steps[0] - 1.5 * gap
    none = not np.isfinite(log_dose).all()
    for curve, theta in theta_of.items():
        low, high = span[curve]
        grid = np.linspace(left + 0.5 * gap if none and low == -np.inf else low, high, 200)
        axis.plot(np.exp(grid), curve_of(theta, grid), color=colours[curve][0], linewidth=1.6, label=label(curve))
        if none and low == -np.inf:
            axis.plot(
                np.exp([left - 0.2 * gap, left + 0.2 * gap]), [theta[0]] * 2, color=colours[curve][0], linewidth=1.6
            )
    axis.set_xscale("log")
    right = steps[-1] + 0.4 * gap
    axis.set_xlim(np.exp(left - 0.4 * gap if none else steps[0] - 0.4 * gap), np.exp(right))
    decades = [10.0**k for k in range(-15, 16) if steps[0] - 0.4 * gap <= k * np.log(10) <= right]
    ticks = decades if len(decades) > 1 else [float(np.exp(step)) for step in (steps if len(steps) < 8 else steps[::2])]
    names = [f"{tick:.3g}" for tick in ticks]
    axis.xaxis.set_major_locator(FixedLocator([*([float(np.exp(left))] if none else []), *ticks]))
    axis.set_xticklabels([*(["0"] if none else []), *names])
    axis.xaxis.set_minor_locator(NullLocator())
    return np.exp(np.where(np.isfinite(log_dose), log_dose, left))
