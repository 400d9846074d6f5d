"""Why apart: standards are read from a table, fitted and read backwards by the same few functions, each testable."""

from __future__ import annotations

from engine.toolbox.pharmacology.fitting import derivatives, fit_curve
from engine.toolbox.pharmacology.logistic_curves import fit_log_logistic, log_logistic
from engine.toolbox.tables.columns import format_number, level_labels, numeric_values


def calibration_parts(table, concentration, signal, sample):
    """Return standards (x, y), unknowns (sample, y) and warnings; unknown is what has a signal and no concentration."""
    import pandas as pd

    text = table[concentration].astype(str).str.strip()
    words = text.str.fullmatch(r"(?i)unknowns?|unk|samples?|\?|-|na|n/a|n\.a\.|none|nan|<na>|")
    blank = table[concentration].isna() | words
    y = numeric_values(table, signal)
    warnings = []
    if y.isna().any():
        warnings.append(f"{int(y.isna().sum())} of {len(table)} rows were left out because {signal} is missing.")
    known = ~blank & y.notna()
    if not known.any():
        raise ValueError(
            f"No row has both a concentration ({concentration!r}) and a signal ({signal!r}); expected "
            "standards. Choose other columns."
        )
    x = numeric_values(table[known], concentration)
    if (x < 0).any():
        raise ValueError(
            f"Column {concentration!r} holds negative values, for example {x.min():g}; expected "
            "concentrations of 0 or more."
        )
    if not sample:
        sample = next(
            (
                str(name)
                for name in table.columns
                if str(name).casefold() in ("sample", "sample_id", "sample id", "sampleid", "name", "id", "unknown")
            ),
            "",
        )
        warnings += [f"Samples are told apart by column {sample}."] if sample and (blank & y.notna()).any() else []
    names = level_labels(table[sample]) if sample else pd.Series([None] * len(table), index=table.index, dtype=object)
    rows = blank & y.notna()
    free = [f"row {int(i) + 1}" for i in table.index[rows]]
    label = [name or other for name, other in zip(names[rows], free, strict=True)]
    unknown = pd.DataFrame({"sample": label, "signal": y[rows]}, index=table.index[rows])
    return x.to_numpy(), y[known].to_numpy(), unknown, warnings


def standard_fit(x, y, model):
    """Return a fitted standard curve: its function, whether x is a logarithm, and the fit; refuse poor x."""
    import numpy as np

    logs = model in ("4PL", "log-linear")
    levels = len(np.unique(x))
    positive = x > 0
    if model == "4PL":
        if levels < 5 or len(y) < 6:
            raise ValueError(
                f"{levels} different standards in {len(y)} rows; a four-parameter curve needs at least 5 "
                "standards and 6 rows. Take the straight line, or measure more standards."
            )
        with np.errstate(divide="ignore"):
            at = np.log(x)
        fit = fit_log_logistic(at, y)
        return {**fit, "model": model, "logs": logs, "function": log_logistic, "at": at, "y": y}
    keep = positive if model == "log-linear" else np.ones(len(x), dtype=bool)
    at = np.log(x[keep]) if model == "log-linear" else x
    if len(np.unique(at)) < 3:
        raise ValueError(f"{len(np.unique(at))} different standards; a standard curve needs at least 3. Measure more.")
    slope, intercept = np.polyfit(at, y[keep], 1)

    def line(theta, where):
        return theta[0] + theta[1] * where

    fit = fit_curve(lambda theta: line(theta, at), [np.array([intercept, slope])], y[keep])
    return {**fit, "model": model, "logs": logs, "function": line, "at": at, "y": y[keep]}


def chosen_fit(x, y, model, signal=""):
    """Return the fit of the asked model, or where it is `auto` the one that describes the standards best, and why.

    A signal called Ct or Cq is that of a PCR, a line on log concentration whatever the scatter of a few standards says.
    """
    import re

    import numpy as np

    if model != "auto":
        return standard_fit(x, y, model), ""
    if re.fullmatch(r"(?i)c[tqp]([\s_.-].*)?", signal) and len(np.unique(x[x > 0])) > 2:
        return standard_fit(x, y, "log-linear"), f"{signal} was taken for cycles of a PCR: a line on log concentration."
    fits, positive = [], x[x > 0]
    wide = len(positive) > 0 and positive.max() / positive.min() > 50
    for name in ("linear", "4PL", *(["log-linear"] if wide and (x > 0).all() else [])):
        try:
            fit = standard_fit(x, y, name)
        except ValueError:
            continue
        k, n = len(fit["theta"]) + 1, len(fit["y"])
        if n - k - 1 > 0 and np.isfinite(fit["cov"]).all():
            fits.append((n * np.log(max(fit["sse"], 1e-300) / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1), fit))
    if not fits:
        return standard_fit(x, y, "linear"), "The straight line was taken: there are too few standards for a curve."
    best = min(fits, key=lambda item: item[0])[1]
    return best, f"The {best['model']} curve was taken because it describes the standards best (AICc)."


def inverse_read(fit, signal, repeats=1):
    """Return concentration and its 95 % limits for the mean signal of some repeats; NaN where the curve never has it.

    The error is that of the signal (the standards' residual) and of the curve, carried back through its slope.
    """
    import numpy as np
    from scipy import stats

    theta = fit["theta"]
    if fit["model"] == "4PL":
        start, end, middle, log_slope = theta
        part = (signal - start) / (end - start)
        if not 0 < part < 1:
            return float("nan"), float("nan"), float("nan")
        at = middle + np.log(part / (1 - part)) / np.exp(log_slope)
    else:
        at = (signal - theta[0]) / theta[1]
    slope = float(derivatives(lambda place: fit["function"](theta, place[0]), [at])[0, 0])
    curve = derivatives(lambda values: fit["function"](values, at), theta)[0]
    variance = fit["sigma"] ** 2 / repeats + float(curve @ fit["cov"] @ curve)
    half = float(stats.t.ppf(0.975, fit["df"])) * variance**0.5 / abs(slope)
    low, high = at - half, at + half
    if fit["logs"]:
        with np.errstate(over="ignore"):
            return float(np.exp(at)), float(np.exp(low)), float(np.exp(high))
    return float(at), float(low), float(high)


def pcr_efficiency(fit, concentration, r2):
    """Return the efficiency of a PCR from its dilution series, in percent with 95 % limits, and what to say of it.

    A column of dilution factors (10, 100, 1000) rises where the amount falls: its slope has the other sign.
    """
    import re

    import numpy as np
    from scipy import stats

    if fit["model"] != "log-linear":
        return {}, []
    slope, error = fit["theta"][1], float(fit["cov"][1, 1] ** 0.5)
    notes, factors = [], slope > 0 and re.search(r"(?i)dilut|fold|factor", concentration)
    if factors:
        slope = -slope
        notes.append(f"{concentration} was taken for dilution factors: the signal rises with them, as Ct does.")
    if slope >= 0:
        return {}, []
    half = float(stats.t.ppf(0.975, fit["df"])) * error
    least, value, most = (
        100 * float(np.expm1(-1 / part)) if part < 0 else np.nan for part in (slope - half, slope, slope + half)
    )
    if not 90 <= value <= 110:
        notes.append(f"If this is a PCR, its efficiency of {value:.0f} % lies outside the usual 90 to 110 %.")
    if r2 < 0.98:
        notes.append(f"R2 is {r2:.3f}; for a dilution series of a PCR at least 0.98 is usual.")
    return {"efficiency_percent": value, "efficiency_lower_95": least, "efficiency_upper_95": most}, notes


def dilution_remarks(samples):
    """Return the warning that dilutions of one sample disagree, as where something in it disturbs the assay."""
    known = samples[samples["range"] == "within"]
    odd = []
    for name, part in known.groupby("sample", sort=False):
        low, high = part["concentration"].min(), part["concentration"].max()
        if len(part) > 1 and low > 0 and high > 1.25 * low:
            odd.append(f"{name} ({format_number(low)} to {format_number(high)})")
    if not odd:
        return []
    return [
        f"Dilutions of one sample differ by more than 25 % in: {', '.join(odd[:8])}; its matrix may disturb the assay, "
        "so trust the higher dilutions more."
    ]


def standard_rows(fit, x, y):
    """Return a row per standard: signal, spread, concentration read back and recovery in percent."""
    import numpy as np
    import pandas as pd

    rows = []
    for level in np.unique(x):
        signal = y[x == level]
        mean = float(signal.mean())
        read = inverse_read(fit, mean, len(signal))[0]
        rows.append(
            {
                "concentration": float(level),
                "n": len(signal),
                "signal": mean,
                "cv_percent": 100 * float(signal.std(ddof=1)) / abs(mean) if len(signal) > 1 and mean else np.nan,
                "read_back": read,
                "recovery_percent": 100 * read / level if level > 0 else np.nan,
            }
        )
    return pd.DataFrame(rows)
