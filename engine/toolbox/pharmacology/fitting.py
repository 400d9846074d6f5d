"""Why one file: every curve of this field is fitted, given intervals and drawn in the same way.

Least squares from several starts, standard errors from the curve's own derivatives, intervals by the delta method:
on the log scale for what cannot be negative (a dose, a constant), so that an interval never reaches below zero.
The functions travel with the tools that list them as helpers.
"""

from __future__ import annotations

from engine.toolbox.tables.columns import (
    complete_rows,
    format_number,
    format_p,
    level_labels,
    numeric_values,
    order_levels,
    palette,
    plain_table,
    require_columns,
)


def derivatives(function, theta):
    """Return the matrix of derivatives of a function's values by its parameters (central differences)."""
    import numpy as np

    theta = np.asarray(theta, dtype=float)
    columns = []
    for i in range(len(theta)):
        step = np.zeros(len(theta))
        step[i] = 6e-6 * max(abs(theta[i]), 1e-3)
        change = np.atleast_1d(function(theta + step)) - np.atleast_1d(function(theta - step))
        columns.append(change / (2 * step[i]))
    return np.array(columns).T.reshape(-1, len(theta))


def inverse_or_nan(matrix):
    """Return the inverse of a matrix of information, NaN everywhere when the data do not settle a parameter."""
    import numpy as np

    size = np.sqrt(np.diag(matrix))
    if not np.all(np.isfinite(matrix)) or (size <= 0).any():
        return np.full(matrix.shape, np.nan)
    scaled = matrix / np.outer(size, size)
    if np.linalg.cond(scaled) > 1e12:
        return np.full(matrix.shape, np.nan)
    return np.linalg.inv(scaled) / np.outer(size, size)


def fit_curve(curve, starts, y):
    """Fit `curve(theta)` to y by least squares, from each of the starts; return the best.

    Returns:
        theta, its covariance (NaN where the data do not settle it), sse, degrees of freedom, sigma, and n.

    Raises:
        ValueError: when no start leads to a fit.
    """
    import numpy as np
    from scipy.optimize import least_squares

    y, best = np.asarray(y, dtype=float), None
    for start in starts:
        try:
            with np.errstate(all="ignore"):
                found = least_squares(
                    lambda theta: curve(theta) - y,
                    start,
                    x_scale="jac",
                    max_nfev=400,
                    xtol=1e-12,
                    ftol=1e-14,
                    gtol=1e-14,
                )
        except (ValueError, np.linalg.LinAlgError):
            continue
        if np.isfinite(found.cost) and (best is None or found.cost < best.cost * (1 - 1e-9)):
            best = found
    if best is None:
        raise ValueError("No curve could be fitted to these values; look at them in a scatter plot first.")
    df, sse = len(y) - len(best.x), float(2 * best.cost)
    sigma2 = sse / df if df > 0 else float("nan")
    slopes = derivatives(curve, best.x)
    covariance = inverse_or_nan(slopes.T @ slopes) * sigma2
    return {"theta": best.x, "cov": covariance, "sse": sse, "df": df, "sigma": sigma2**0.5, "n": len(y)}


def estimate(fit, function, log=False):
    """Return estimate, standard error and 95 % limits of a function of the fitted parameters (delta method).

    Args:
        function: from the parameters to a number.
        log: True when the function returns the logarithm; estimate, error and limits are then of the number itself.
    """
    import numpy as np
    from scipy import stats

    value = float(function(fit["theta"]))
    slopes = derivatives(function, fit["theta"])[0]
    used = np.nonzero(slopes)[0]
    error = float(max(slopes[used] @ fit["cov"][np.ix_(used, used)] @ slopes[used], 0) ** 0.5)
    quantile = float(stats.norm.ppf(0.975) if fit["df"] is None else stats.t.ppf(0.975, fit["df"]))
    low, high = value - quantile * error, value + quantile * error
    if not log:
        return value, error, low, high
    with np.errstate(over="ignore"):
        return float(np.exp(value)), float(np.exp(value) * error), float(np.exp(low)), float(np.exp(high))


def settled(low, high):
    """Say whether limits settle a positive number: both are there and no more than 1000-fold apart."""
    return bool(low == low and high == high and low > 0 and high < 1000 * low)


def nested_f_test(simple_sse, simple_df, full_sse, full_df):
    """Return F, its degrees of freedom and p of the extra sum of squares of the simpler of two nested fits."""
    from scipy import stats

    extra = simple_df - full_df
    if extra < 1 or full_df < 1 or full_sse <= 0:
        return float("nan"), extra, full_df, float("nan")
    f = max(0.0, (simple_sse - full_sse) / extra / (full_sse / full_df))
    return float(f), extra, full_df, float(stats.f.sf(f, extra, full_df))


def lack_of_fit_p(x, y, sse, df):
    """Return the p-value that a fit leaves more than the scatter of replicates, NaN without replicates."""
    import pandas as pd

    groups = pd.Series(list(y)).groupby(list(x))
    pure = float(groups.transform(lambda part: (part - part.mean()) ** 2).sum())
    free = len(y) - groups.ngroups
    return nested_f_test(sse, df, pure, free)[3] if free > 0 and pure > 1e-12 * max(sse, 1e-300) else float("nan")


def split_curves(table, columns, group, limit=24):
    """Return the complete rows, the label of each row's curve ("all" without a group), the curves, and warnings."""
    import pandas as pd

    chosen = [name for name in [*columns, group] if name]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
    table = plain_table(table)
    require_columns(table, chosen)
    table, warnings = complete_rows(table, chosen)
    labels = level_labels(table[group]) if group else pd.Series("all", index=table.index, dtype=object)
    curves = order_levels(labels)
    if len(curves) > limit:
        raise ValueError(
            f"Column {group!r} has {len(curves)} different values; at most {limit} curves can be fitted. Choose a "
            "column of groups."
        )
    return table, labels, curves, warnings


def positive_column(table, name, what):
    """Return a column of numbers that cannot be negative."""
    values = numeric_values(table, name)
    if (values < 0).any():
        raise ValueError(
            f"Column {name!r} holds {int((values < 0).sum())} negative values, for example {values.min():g}; expected "
            f"{what}, 0 or more. Correct these values or choose another column."
        )
    return values


def shifting_column(table, used, residuals):
    """Return p-value, name and levels of the column of groups by which residuals lie most apart; None without one."""
    import numpy as np
    from scipy import stats

    residuals = np.asarray(residuals, dtype=float)
    found = []
    for name in table.columns:
        if str(name) in used or not all(isinstance(value, str) for value in table[name].dropna()):
            continue
        labels = level_labels(table[name])
        levels = order_levels(labels)
        parts = [residuals[(labels == level).to_numpy()] for level in levels] if 2 <= len(levels) <= 8 else []
        if parts and min(len(part) for part in parts) > 1 and np.ptp(residuals) > 0:
            p_value = float(stats.f_oneway(*parts).pvalue)
            if p_value < 0.001:
                found.append((p_value, name, levels))
    return min(found, key=lambda item: item[0]) if found else None


def hidden_groups(table, used, residuals):
    """Return a warning for a column of groups left out of the fit that explains what the curve does not."""
    found = shifting_column(table, used, residuals)
    if found is None:
        return []
    p_value, name, levels = found
    return [
        f"The rows lie above or below this one curve by {name} ({', '.join(levels[:6])}; {format_p(p_value)}): one "
        f"curve for all mixes them. Ask again with a curve for each {name}."
    ]


def separating_column(table, keys, used):
    """Return the column that tells apart the rows that share all of `keys` (a subject, a well), "" when there is none.

    It has few values, and with it no two rows share their keys.
    """
    if not table.duplicated(keys).any():
        return ""
    able = []
    for name in table.columns:
        column = table[name]
        if name in used or column.isna().any() or not 2 <= column.nunique() <= len(table) / 3:
            continue
        if not table.duplicated([*keys, name]).any():
            able.append((column.nunique(), str(name)))
    return min(able)[1] if able else ""


def said_range(low, high, unit=""):
    """Return limits as text, "not bounded" where there is none."""
    if low != low or high != high:
        return "interval not available"
    text = " to ".join(format_number(limit) if abs(limit) < 1e12 else "infinity" for limit in (low, high))
    return f"95 % CI {text}{' ' + unit if unit else ''}"


def colour_of(curves):
    """Return curve -> (colour, marker) for up to many curves."""
    return dict(
        zip(curves, zip(palette(len(curves)), "os^Dv<>PX*" * (1 + len(curves) // 10), strict=False), strict=False)
    )


def finish_axes(axis, x_name, y_name, curves, title):
    """Name the axes and add a legend where there are several curves."""
    axis.set_xlabel(x_name)
    axis.set_ylabel(y_name)
    if len(curves) > 1:
        axis.legend(title=title or None, frameon=False, fontsize=8, bbox_to_anchor=(1.01, 1), loc="upper left")
