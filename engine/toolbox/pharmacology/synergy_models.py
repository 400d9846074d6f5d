"""Why apart: what two drugs should do together is arithmetic of what each does alone, apart from what is said of it.

Effects are shares of what untreated wells show (0 nothing, 1 all of it is lost). Wells are kept as means of cells
(dose pairs), because every reference is a function of these means and resampling needs to work it out again quickly.
"""

from __future__ import annotations

from engine.toolbox.pharmacology.fitting import nested_f_test
from engine.toolbox.statistics.group_tests import holm_adjust


def reading_of(y, a, b, name, reading):
    """Return "survival" or "effect" for a response (by its name, else by how it goes with the doses), and notes."""
    import re

    import numpy as np
    from scipy.stats import rankdata, spearmanr

    if reading != "auto":
        return reading, []
    falls = float(spearmanr(rankdata(a) + rankdata(b), y).statistic) < 0 if np.ptp(y) > 0 else True
    text = str(name).casefold().replace("_", " ")
    lost = re.search(r"inhib|kill|dead|death|mortal|effect|cytotox|apopto|damage|fraction affected", text)
    left = re.search(
        r"viab|surviv|alive|living|growth|prolif|confluen|biomass|\bod ?\d*\b|absorb|lumin|atp|weight", text
    )
    found = "effect" if lost else "survival" if left else "survival" if falls else "effect"
    if (found == "survival") == falls:
        return found, []
    way = "falls" if falls else "rises"
    return found, [f"{name} {way} with the doses but was read as {found} by its name; set reading if it is not."]


def effects_of(y, control, plates, name, reading, scale):
    """Return effects (share lost against untreated wells of the same plate), and the sentence that says how.

    An effect that untreated wells show too is taken off as Abbott does: (f - f0) / (1 - f0).
    """
    import numpy as np

    base = float(np.median(y[control])) if control.any() else float("nan")
    if scale == "auto" and reading == "survival" and control.any():
        scale = "fraction" if 0.8 < base < 1.25 else "percent" if 80 < base < 125 else "raw"
    elif scale == "auto":
        scale = "fraction" if y.max() <= 1.5 else "percent" if y.max() <= 150 else "raw"
    if scale == "raw" and (reading == "effect" or not control.any()):
        needed = "untreated rows (both doses 0)" if reading == "survival" else "a percentage or a share"
        raise ValueError(
            f"Column {name!r} goes up to {y.max():g}, which is neither percent nor a share; expected {needed}. "
            "Add them or choose a column in percent."
        )
    kept = y / (100 if scale == "percent" else 1)
    kept = kept if reading == "survival" else 1 - kept
    groups = plates if all(control[plates == plate].any() for plate in np.unique(plates)) else np.zeros(len(y))
    for plate in np.unique(groups) if control.any() else []:
        own = groups == plate
        untreated = float(kept[own & control].mean())
        if not untreated > 0:
            raise ValueError(
                f"Untreated rows (both doses 0) show no {name} at all or full effect; expected some to be left. Look "
                "at these rows, or say what a high value means (reading)."
            )
        kept[own] = kept[own] / untreated
    unit = "" if control.any() and reading == "survival" else {"percent": " in percent"}.get(scale, " as a share")
    wells = f"{int(control.sum())} untreated well{'s' if control.sum() > 1 else ''}"
    against = f"the {wells} (mean {y[control].mean():.3g})" if control.any() else "100 % left, as no well is untreated"
    what = "what is left" if reading == "survival" else "what is lost"
    return 1 - kept, f"{name} was read as {what}{unit}; the effect is what is lost against {against}."


def dose_cells(a, b):
    """Return the dose pairs that there are, where single doses and untreated stand among them, and each row's place."""
    import numpy as np

    pairs, place, n = np.unique(np.column_stack([a, b]), axis=0, return_inverse=True, return_counts=True)
    at = {tuple(pair): k for k, pair in enumerate(pairs)}
    both = np.nonzero((pairs > 0).all(axis=1))[0]
    cells = {
        "a": pairs[:, 0],
        "b": pairs[:, 1],
        "n": n,
        "pair": both,
        "one_a": np.array([at.get((pairs[k, 0], 0.0), -1) for k in both]),
        "one_b": np.array([at.get((0.0, pairs[k, 1]), -1) for k in both]),
        "only_a": np.nonzero((pairs[:, 0] > 0) & (pairs[:, 1] == 0))[0],
        "only_b": np.nonzero((pairs[:, 1] > 0) & (pairs[:, 0] == 0))[0],
        "control": at.get((0.0, 0.0), -1),
    }
    return cells, place.ravel()


def fit_single(dose, f, n, start=None):
    """Fit f = E / (1 + (D50 / dose)^h) to mean effects of n wells; E is at most 1, no effect without dose.

    Returns:
        E, log D50, log h, and the sum of squares of the means, weighted by n.
    """
    import numpy as np
    from scipy.optimize import least_squares
    from scipy.special import expit

    x, root = np.log(dose), np.sqrt(n)

    def left(theta):
        return root * (theta[0] * expit(np.exp(min(theta[2], 30.0)) * (x - theta[1])) - f)

    top = float(np.clip(f.max(), 0.05, 0.98))
    starts = [[e, m, h] for e in (top, 0.98) for m in np.quantile(x, [0.25, 0.6, 0.95]) for h in (0.0, 1.0)]
    best = None
    for guess in starts if start is None else [np.minimum(start, [0.999999, np.inf, np.inf])]:
        found = least_squares(
            left, guess, bounds=([-1, -np.inf, -np.inf], [1, np.inf, np.inf]), x_scale="jac", xtol=1e-12, ftol=1e-13,
            gtol=1e-13, max_nfev=300 if start is None else 60,
        )  # fmt: skip
        best = found if best is None or found.cost < best.cost else best
    return best.x, float(2 * best.cost)


def fit_singles(f, cells, within, df_within):
    """Return the curve of each drug alone ("a", "b"), or why there is none, as text.

    Args:
        within: sum of squares of wells around the means of their cells, and its degrees of freedom.
    """
    fits = {}
    for drug in ("a", "b"):
        own = cells[f"only_{drug}"]
        dose, means, n = cells[drug][own], f[own], cells["n"][own]
        if len(own) < 4:
            fits[drug] = f"it was given alone at {len(own)} doses, and a curve needs 4"
            continue
        theta, sse = fit_single(dose, means, n)
        none = float((n * means**2).sum())
        exact = sse + within <= 1e-12 * max(none, 1e-300)
        p = (
            0.0
            if exact
            else nested_f_test(none + within, len(own) + df_within, sse + within, len(own) + df_within - 3)[3]
        )
        if theta[0] <= 0 or none == 0 or not p < 0.05:
            fits[drug] = "alone it shows no effect"
        else:
            fits[drug] = {
                "theta": theta,
                "sse": sse,
                "df": len(own) - 3,
                "span": (float(dose.min()), float(dose.max())),
            }

    return fits


def log_dose_alone(theta, f):
    """Return the log dose at which a drug alone has an effect between 0 and its largest; none is enough for more."""
    import numpy as np

    with np.errstate(divide="ignore"):
        return theta[1] + np.log(f / np.maximum(theta[0] - f, 0.0)) / np.exp(min(theta[2], 30.0))


def loewe_load(theta_a, theta_b, a, b, f):
    """Return a / A(f) + b / B(f): the combination index where f is what a and b do together (1 is additive)."""
    import numpy as np

    with np.errstate(over="ignore"):
        return np.exp(np.log(a) - log_dose_alone(theta_a, f)) + np.exp(np.log(b) - log_dose_alone(theta_b, f))


def loewe_effect(theta_a, theta_b, a, b):
    """Return the effect f that Loewe additivity expects, a / A(f) + b / B(f) = 1, by bisection; NaN without one.

    There is none where doses would have to do more than the weaker drug alone can do at any dose.
    """
    import numpy as np

    top = min(theta_a[0], theta_b[0])
    low, high = np.full(len(a), 1e-12 * top), np.full(len(a), top * (1 - 1e-12))
    known = loewe_load(theta_a, theta_b, a, b, high) < 1
    for _ in range(60):
        middle = (low + high) / 2
        above = loewe_load(theta_a, theta_b, a, b, middle) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(known, (low + high) / 2, np.nan)


def synergy_numbers(f, cells, curves):
    """Return excess over Bliss, HSA and Loewe and the log combination index, a row each, for every dose pair.

    Args:
        f: mean effects of the cells.
        curves: the fitted parameters of both drugs alone, or None where Loewe is not defined.
    """
    import numpy as np

    together = f[cells["pair"]]
    alone = [np.where(cells[key] >= 0, f[cells[key]], np.nan) for key in ("one_a", "one_b")]
    bliss = together - (alone[0] + alone[1] - alone[0] * alone[1])
    hsa = together - np.maximum(*alone)
    loewe, index = np.full((2, len(together)), np.nan)
    if curves is not None:
        a, b = cells["a"][cells["pair"]], cells["b"][cells["pair"]]
        loewe = together - loewe_effect(*curves, a, b)
        inside = (together > 0) & (together < min(curves[0][0], curves[1][0]))
        if inside.any():
            index[inside] = np.log(loewe_load(*curves, a[inside], b[inside], together[inside]))
    return np.round([bliss, hsa, loewe, index], 12)  # rounding errors are no excess


def refitted(f, cells, curves):
    """Return both drugs' curves fitted to new means, from the curves they had."""
    if curves is None:
        return None
    return tuple(
        fit_single(cells[drug][own], f[own], cells["n"][own], start=theta)[0]
        for drug, own, theta in zip("ab", (cells["only_a"], cells["only_b"]), curves, strict=True)
    )


def plate_numbers(f, place, cells, plates, curves):
    """Return the numbers of every plate by itself, None unless three or more plates hold every dose pair each."""
    import numpy as np

    names = np.unique(plates)
    counts = [np.bincount(place[plates == plate], minlength=len(cells["n"])) for plate in names]
    if len(names) < 3 or min(count.min() for count in counts) == 0:
        return None
    found = []
    for plate, count in zip(names, counts, strict=True):
        own = plates == plate
        means = np.bincount(place[own], weights=f[own], minlength=len(count)) / count
        found.append(synergy_numbers(means, cells, refitted(means, cells, curves)))
    return np.array(found)


def resampled_numbers(f, place, cells, curves, fits, exact_control, resamples, seed):
    """Return the numbers of resampled wells, their degrees of freedom and where scatter comes from; None without any.

    Deviations of wells from the mean of their cell, widened to what single wells scatter, are drawn anew for every
    well. Where no dose pair was repeated, normal deviations take their place, as large as single drugs scatter around
    their curves. Untreated wells are drawn too, unless they are all the same by definition.
    """
    import numpy as np

    rng, n, control = np.random.default_rng(seed), cells["n"], cells["control"]
    means = np.bincount(place, weights=f) / n
    moving = np.ones(len(f), dtype=bool) if control < 0 or not exact_control else place != control
    repeated = moving & (n[place] > 1)
    df = int((n[np.unique(place[repeated])] - 1).sum()) if repeated.any() else 0
    if df >= 3:
        source = "wells"
        size = np.sqrt(n[place[repeated]] / (n[place[repeated]] - 1))
        pool = np.sort((f - means[place])[repeated] * size)
    else:
        known = [fit for fit in fits.values() if not isinstance(fit, str)]
        df, source = sum(fit["df"] for fit in known), "curves"
        if df < 3:
            return None, 0, ""
        pool = rng.normal(0, np.sqrt(sum(fit["sse"] for fit in known) / df), 4000)
    found = []
    for _ in range(resamples):
        deviation = np.where(moving, rng.choice(pool, len(f)), 0.0)
        drawn = means + np.bincount(place, weights=deviation) / n
        if control >= 0:
            drawn = 1 - (1 - drawn) / (1 - drawn[control])
        found.append(synergy_numbers(drawn, cells, refitted(drawn, cells, curves)))
    return np.array(found), df, source


def judged(values, draws, df, plates):
    """Return estimate, 95 % limits and two-sided p of every value (t, on the standard error of the draws)."""
    import warnings as quiet

    import numpy as np
    from scipy import stats

    if draws is None:
        return np.array([values, *np.full((3, len(values)), np.nan)])
    with quiet.catch_warnings(), np.errstate(all="ignore"):
        quiet.simplefilter("ignore")  # of pairs for which nothing is known
        error = np.nanstd(draws, axis=0, ddof=1) / (len(draws) ** 0.5 if plates else 1)
        known = (np.isfinite(draws).mean(axis=0) > 0.8) & (error > 1e-12)
        half = np.where(known, stats.t.ppf(0.975, df) * error, np.nan)
        p = np.where(known, 2 * stats.t.sf(np.abs(values) / error, df), np.nan)
    return np.array([values, values - half, values + half, p])


def mean_judged(values, draws, which, df, plates):
    """Return the mean over chosen pairs with its limits and p."""
    import numpy as np

    over = None
    if draws is not None:
        chosen = draws[:, which]
        known = np.isfinite(chosen)
        over = np.where(known, chosen, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        over = np.where(known.any(axis=1), over, np.nan)[:, None]
    return judged(np.array([values[which].mean()]), over, df, plates)[:, 0]


def measured(f, a, b, plates, exact_control, resamples, seed):
    """Return what one curve shows: cells, single-agent curves, excess of every pair and the draws for its intervals."""
    import numpy as np

    cells, place = dose_cells(a, b)
    means = np.bincount(place, weights=f) / cells["n"]
    within = float(((f - means[place]) ** 2).sum())
    fits = fit_singles(means, cells, within, len(f) - len(cells["n"]))
    lacking = {drug: fit for drug, fit in fits.items() if isinstance(fit, str)}
    curves = None if lacking else tuple(fits[drug]["theta"] for drug in "ab")
    values, source = synergy_numbers(means, cells, curves), "plates"
    draws = plate_numbers(f, place, cells, plates, curves)
    if draws is not None:
        values, df = draws.mean(axis=0), len(draws) - 1
    else:
        draws, df, source = resampled_numbers(f, place, cells, curves, fits, exact_control, resamples, seed)
    found = {"cells": cells, "place": place, "means": means, "fits": fits, "lacking": lacking, "curves": curves}
    return found | {"values": values, "draws": draws, "df": df, "source": source}


def pair_columns(found):
    """Return the columns of the table of dose pairs, effects in percent of what untreated wells show."""
    import numpy as np

    cells, means, values, draws = (found[key] for key in ("cells", "means", "values", "draws"))
    pair = cells["pair"]
    columns = {
        "dose_a": cells["a"][pair],
        "dose_b": cells["b"][pair],
        "n": cells["n"][pair],
        "effect": 100 * means[pair],
    }
    for key in ("one_a", "one_b"):
        columns[f"effect_{key[-1]}"] = 100 * np.where(cells[key] >= 0, means[cells[key]], np.nan)
    for k, name in enumerate(("bliss", "hsa", "loewe")):
        _, low, high, p = judged(
            values[k], None if draws is None else draws[:, k], found["df"], found["source"] == "plates"
        )
        rows = [{"p_value": one} for one in p]
        holm_adjust([row for row in rows if row["p_value"] == row["p_value"]])
        columns |= {
            f"{name}_expected": 100 * (means[pair] - values[k]),
            f"{name}_excess": 100 * values[k],
            f"{name}_lower_95": 100 * low,
            f"{name}_upper_95": 100 * high,
            f"{name}_p_adj": np.array([row.get("p_adj", np.nan) for row in rows], dtype=float),
        }
    return columns | {"combination_index": np.exp(values[3])}


def summary_rows(found, columns):
    """Return a row for Bliss, HSA and Loewe: the mean excess over all pairs for which it is known.

    The combination index is a geometric mean over pairs with 10 to 90 % of the largest effect that the weaker drug has
    alone; outside, the doses of equal effect are as good as unknown.
    """
    import numpy as np

    values, draws, plates, rows = found["values"], found["draws"], found["source"] == "plates", []
    for k, name in enumerate(("bliss", "hsa", "loewe")):
        which = np.isfinite(values[k])
        if not which.any():
            continue
        mean = mean_judged(values[k], None if draws is None else draws[:, k], which, found["df"], plates)
        shown = columns[f"{name}_p_adj"] < 0.05
        row = {
            "model": {"bliss": "Bliss", "hsa": "HSA", "loewe": "Loewe"}[name],
            "pairs": int(which.sum()),
            **dict(zip(("mean_excess", "lower_95", "upper_95"), (100 * mean[:3]).tolist(), strict=True)),
            "p_value": float(mean[3]),
            "pairs_above": int((shown & (values[k] > 0)).sum()),
            "pairs_below": int((shown & (values[k] < 0)).sum()),
            "interval_from": found["source"] or "none",
        }
        if name == "loewe":
            part = columns["effect"] / 100 / min(theta[0] for theta in found["curves"])
            inside = np.isfinite(values[3]) & (part > 0.1) & (part < 0.9)
            if inside.any():
                index = mean_judged(values[3], None if draws is None else draws[:, 3], inside, found["df"], plates)
                names = ("combination_index", "index_lower_95", "index_upper_95")
                row |= dict(zip(names, np.exp(index[:3]).tolist(), strict=True))
        rows.append(row)
    return rows
