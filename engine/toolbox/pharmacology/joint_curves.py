"""Why apart: curves of several groups are compared by fitting them together, with parameters of their own or in common.

A joint fit holds one number for a parameter that the groups share and one for each group otherwise. Two nested fits
are compared by the extra sum of squares (F), for counts by the likelihood ratio, which becomes an F test as well where
the counts scatter more than binomial ones.
"""

from __future__ import annotations

from engine.toolbox.pharmacology.dose_curves import dose_place, fit_one_curve
from engine.toolbox.pharmacology.fitting import (
    derivatives,
    estimate,
    fit_curve,
    inverse_or_nan,
    nested_f_test,
    shifting_column,
)
from engine.toolbox.pharmacology.logistic_curves import deviance_residuals, log_dose_at, log_logistic, logistic_starts
from engine.toolbox.statistics.group_tests import holm_adjust
from engine.toolbox.tables.columns import format_number, format_p


def unpack_curves(theta, plan):
    """Return the four parameters of every group, a row each, from the parameters of a joint fit.

    Args:
        plan: groups (how many), own (parameters that each group has for itself), held (parameter -> value), and
            logit (True where the response without dose is a logit, as for counts).
    """
    import numpy as np
    from scipy.special import expit

    rows, at = np.empty((plan["groups"], 4)), 0
    for i in range(4):
        if i in plan["held"]:
            rows[:, i] = plan["held"][i]
            continue
        size = plan["groups"] if i in plan["own"] else 1
        part = np.asarray(theta[at : at + size], dtype=float)
        rows[:, i] = expit(part) if plan["logit"] and i == 0 else part
        at += size
    return rows


def pack_curves(rows, plan):
    """Return parameters of a joint fit near those of single curves: their means where they are shared."""
    import numpy as np
    from scipy.special import logit

    parts = []
    for i in range(4):
        if i not in plan["held"]:
            column = logit(np.clip(rows[:, i], 1e-4, 1 - 1e-4)) if plan["logit"] and i == 0 else rows[:, i]
            parts.append(column if i in plan["own"] else [np.mean(column)])
    return np.concatenate(parts)


def inverse_by_parts(matrix):
    """Return the inverse of a matrix of information, group by group: one unsettled curve leaves the others theirs."""
    import numpy as np
    from scipy.sparse.csgraph import connected_components

    inverse = np.zeros(matrix.shape)
    parts = connected_components(np.nan_to_num(matrix) != 0, directed=False)[1]
    for part in np.unique(parts):
        at = np.ix_(parts == part, parts == part)
        inverse[at] = inverse_or_nan(matrix[at])
    return inverse


def joint_fit(data, plan, starts):
    """Fit the curves of all groups together, by least squares or, for counts, by maximum likelihood.

    Args:
        data: x (natural-log doses), y (responses or events), whole (totals or None), codes (the group of each row).
        starts: arrays of the four parameters of every group.

    Returns:
        theta, cov, df (None: normal quantiles), loss (residual sum of squares or deviance), size (parameters), free
        (rows beyond them), scale (what the loss is divided by in tests; heterogeneity for counts), plan.
    """
    import numpy as np
    from scipy.optimize import least_squares
    from scipy.stats import chi2

    x, y, whole, codes = data["x"], data["y"], data["whole"], data["codes"]

    def curve(theta):
        return log_logistic(unpack_curves(theta, plan)[codes].T, x)

    packed = [pack_curves(rows, plan) for rows in starts]
    if whole is None:
        fit = fit_curve(curve, packed, y)
        slopes = derivatives(curve, fit["theta"])
        more = {"loss": fit["sse"], "size": len(fit["theta"]), "free": fit["df"], "scale": fit["sigma"] ** 2}
        more["cov"] = inverse_by_parts(slopes.T @ slopes) * more["scale"]
        return {**fit, **more, "plan": plan}

    def shares(theta):
        return np.clip(curve(theta), 1e-12, 1 - 1e-12)

    tight = {"x_scale": "jac", "xtol": 1e-12, "ftol": 1e-14, "gtol": 1e-14}
    found = [least_squares(lambda t: deviance_residuals(shares(t), y, whole), start, **tight) for start in packed]
    best = min(found, key=lambda item: item.cost)
    slopes, p = derivatives(shares, best.x), shares(best.x)
    covariance = inverse_by_parts(slopes.T @ (slopes * (whole / (p * (1 - p)))[:, None]))
    places = np.unique(np.column_stack([codes, x]), axis=0, return_inverse=True)[1].ravel()
    few = (whole < 5).mean() > 0.5  # rows of single subjects say nothing of the fit; their sums by dose do
    at = places if few else np.arange(len(y))
    seen, size, middle = (np.bincount(at, weights=part) for part in (y, whole, p * whole))
    pearson = float(((seen - middle) ** 2 / np.maximum(middle * (1 - middle / size), 1e-9)).sum())
    free = len(seen) - len(best.x)
    p_fit = float(chi2.sf(pearson, free)) if free > 0 else float("nan")
    wide = p_fit < 0.05
    return {
        "theta": best.x,
        "cov": covariance * (pearson / free if wide else 1.0),
        "df": free if wide else None,
        "loss": float(2 * best.cost),
        "size": len(best.x),
        "free": free,
        "scale": pearson / free if wide else 1.0,
        "p_fit": p_fit,
        "plan": plan,
    }


def nested_test(simple, full):
    """Return the test of a joint fit against one with more parameters: its name, statistic, degrees of freedom, p."""
    from scipy import stats

    extra = full["size"] - simple["size"]
    row = {"loss_simple": simple["loss"], "loss_full": full["loss"], "df1": extra}
    if not full["plan"]["counts"]:
        f, _, free, p_value = nested_f_test(simple["loss"], simple["free"], full["loss"], full["free"])
        return {"test": "F (extra sum of squares)", "statistic": f, **row, "df2": free, "p_value": p_value}
    change = max(0.0, simple["loss"] - full["loss"])
    if full["df"] is None:
        p_value = float(stats.chi2.sf(change, extra))
        return {"test": "likelihood ratio", "statistic": change, **row, "df2": float("nan"), "p_value": p_value}
    f = change / extra / full["scale"]
    p_value = float(stats.f.sf(f, extra, full["free"]))
    return {"test": "F (deviance over heterogeneity)", "statistic": f, **row, "df2": full["free"], "p_value": p_value}


def nested_fits(data, rows, held, one_start):
    """Return the joint fits by name: all parameters apart, then with one or more of them in common.

    Args:
        rows: the four parameters of every group's own fit.
        held: parameter -> value that is not fitted.
        one_start: True where the groups have one response without dose (the same controls; counts).
    """
    import numpy as np

    counts = data["whole"] is not None
    able = [i for i in range(4) if i not in held and not (one_start and i == 0)]
    together = {
        "apart": (),
        "same ED50": (2,),
        "same slope": (3,),
        "same limits": (0, 1),
        "parallel": (0, 1, 3),
        "one curve": (0, 1, 2, 3),
    }
    starts = [rows, np.tile(rows.mean(axis=0), (len(rows), 1)), *(np.tile(row, (len(rows), 1)) for row in rows[:6])]
    whole = data["y"] if data["whole"] is None else data["y"] / data["whole"]
    pooled = [np.tile(start, (len(rows), 1)) for start in logistic_starts(data["x"], whole)[::4]]
    fits = {}
    for name, shared in together.items():
        common = [i for i in able if i in shared]
        if shared and not common:
            continue
        plan = {"groups": len(rows), "own": [i for i in able if i not in common], "held": held}
        plan |= {"logit": counts and 0 not in held, "counts": counts}
        if any(other["plan"]["own"] == plan["own"] for other in fits.values()):
            fits[name] = next(other for other in fits.values() if other["plan"]["own"] == plan["own"])
            continue
        fits[name] = joint_fit(data, plan, [*starts, *(pooled if len(common) > 1 else [])])
        starts.append(unpack_curves(fits[name]["theta"], plan))
    again = joint_fit(data, fits["apart"]["plan"], starts)  # a nested fit may lead to a better start
    fits["apart"] = again if again["loss"] < fits["apart"]["loss"] else fits["apart"]
    return fits


def fieller_limits(first, second, covariance, quantile):
    """Return Fieller's limits of first / second, both positive; NaN where the second may be zero."""
    import numpy as np

    ratio, (va, vb, vab) = first / second, (covariance[0, 0], covariance[1, 1], covariance[0, 1])
    g = quantile**2 * vb / second**2
    root = va - 2 * ratio * vab + ratio**2 * vb - g * (va - vab**2 / vb)
    if not (g < 1 and root >= 0):
        return float("nan"), float("nan")
    middle, half = ratio - g * vab / vb, quantile / abs(second) * np.sqrt(root)
    return max(0.0, float((middle - half) / (1 - g))), float((middle + half) / (1 - g))


def dose_ratio(fit, one, other, percent):
    """Return the ratio of two groups' doses at a part of the effect: limits on the log scale, Fieller's, and p."""
    import numpy as np
    from scipy import stats

    def logs(theta):
        rows = unpack_curves(theta, fit["plan"])
        return np.array([log_dose_at(rows[one], percent), log_dose_at(rows[other], percent)])

    known = abs(np.subtract(*logs(fit["theta"]))) < 30  # else a flat curve, whose doses are no number at all
    ratio, error, low, high = estimate(fit, lambda theta: float(np.subtract(*logs(theta))), log=True)
    ratio, error, low, high = (value if known else float("nan") for value in (ratio, error, low, high))
    tail = stats.norm if fit["df"] is None else stats.t(fit["df"])
    slopes, doses = derivatives(logs, fit["theta"]), np.exp(np.clip(logs(fit["theta"]), -300, 300))
    used = np.nonzero(np.abs(slopes).sum(axis=0))[0]
    covariance = slopes[:, used] @ fit["cov"][np.ix_(used, used)] @ slopes[:, used].T * np.outer(doses, doses)
    limits = fieller_limits(doses[0], doses[1], covariance, float(tail.ppf(0.975)))
    fieller = limits if known else (float("nan"), float("nan"))
    p_value = float(2 * tail.sf(abs(np.log(ratio)) * ratio / error)) if error > 0 else float("nan")
    return {
        "dose": float(doses[0]),
        "dose_reference": float(doses[1]),
        "ratio": ratio,
        "lower_95": low,
        "upper_95": high,
        "fieller_lower_95": fieller[0],
        "fieller_upper_95": fieller[1],
        "relative_potency": 1 / ratio,
        "potency_lower_95": 1 / high if high > 0 else float("nan"),
        "potency_upper_95": 1 / low if low > 0 else float("nan"),
        "p_value": p_value,
    }


def potency_rows(fits, own, pairs, percents, parallel):
    """Return a row for each pair and part of the effect, p-values adjusted by Holm over pairs within such a part.

    Args:
        own: group -> its log doses; a dose outside them is told as extrapolated.
    """
    names = list(own)
    rows = []
    wanted = [("parallel curves", "parallel", percents[:1])] if parallel else []
    for model, key, parts in [*wanted, ("separate curves", "apart", percents)]:
        for percent in parts:
            block = []
            for one, other in pairs:
                head = {"comparison": f"{one} vs {other}", "model": model, "percent": percent}
                row = head | dose_ratio(fits[key], names.index(one), names.index(other), percent)
                both = ((one, "dose"), (other, "dose_reference"))
                out = [name for name, part in both if dose_place(row[part], own[name])[0]]
                block.append(row | {"extrapolated": " and ".join(out)})
            holm_adjust([row for row in block if row["p_value"] == row["p_value"]])
            rows += [row | {"p_adj": row.get("p_adj", float("nan"))} for row in block]
    return rows


def joint_data(x, y, whole, labels, names):
    """Return the rows of the groups as the joint fit takes them, and which groups are controls of all others.

    A group that has only dose 0 has no curve: its rows are untreated controls of every curve.
    """
    import numpy as np

    only_none = [name for name in names if not np.isfinite(x[labels == name]).any()]
    curves = [name for name in names if name not in only_none]
    codes = np.array([curves.index(label) if label in curves else 0 for label in labels], dtype=int)
    use = np.isin(labels, names) & (np.ones(len(x), dtype=bool) if whole is None else whole > 0)
    data = {"x": x[use], "y": y[use], "whole": None if whole is None else whole[use], "codes": codes[use]}
    return data | {"common": np.isin(labels, only_none)[use], "use": use}, curves, only_none


def single_fits(data, names, lower, upper):
    """Return each group's own fit and its log doses, with the common controls in every one."""
    fits, own = {}, {}
    for i, name in enumerate(names):
        here = (data["codes"] == i) | data["common"]
        whole = None if data["whole"] is None else data["whole"][here]
        fits[name], own[name] = fit_one_curve(name, data["x"][here], data["y"][here], whole, lower, upper)
    return fits, own


def held_limits(fits, counts, lower, upper):
    """Return the parameters that are held, by the direction of most curves, and the curves that go the other way."""
    able = {name: fit for name, fit in fits.items() if not fit["p_effect"] > 0.05} or fits
    falls = {name: bool(fit["theta"][0] > fit["theta"][1]) for name, fit in able.items()}
    falling = 2 * sum(falls.values()) > len(falls)
    held = {}
    if counts:
        held = {1: 0.0 if falling else 1.0}
        if not any(fit["corrected"] for fit in fits.values()):
            held[0] = 1.0 if falling else 0.0
    else:
        held |= {} if lower is None else {1 if falling else 0: lower}
        held |= {} if upper is None else {0 if falling else 1: upper}
    return held, [name for name, falls_too in falls.items() if falls_too != falling]


def test_rows(fits, kind):
    """Return a row for each question that nested fits answer."""
    asked = [
        ("one curve for all", "one curve", "apart"),
        (f"same {kind}", "same ED50", "apart"),
        ("same slope", "same slope", "apart"),
        ("same limits", "same limits", "apart"),
        ("parallel (same limits and slope)", "parallel", "apart"),
        (f"same {kind}, if parallel", "one curve", "parallel"),
    ]
    rows, done = [], []
    for question, simple, full in asked:
        if simple not in fits or full not in fits or fits[simple]["size"] >= fits[full]["size"]:
            continue
        if (fits[simple]["size"], id(fits[simple])) not in done or full != "apart":  # parallel may be the same slope
            rows.append({"question": question, **nested_test(fits[simple], fits[full])})
        done.append((fits[simple]["size"], id(fits[simple])))
    return rows


def joint_curve_rows(fit, singles, own, names, percent):
    """Return a row per group of the joint fit with all parameters apart; the scatter is that of all groups."""
    import numpy as np

    rows = []
    for i, name in enumerate(names):
        theta = unpack_curves(fit["theta"], fit["plan"])[i]

        def part(theta, at, i=i):
            return unpack_curves(theta, fit["plan"])[i][at]

        def place(theta, i=i):
            return log_dose_at(unpack_curves(theta, fit["plan"])[i], percent)

        slope = estimate(fit, lambda theta, part=part: part(theta, 3), log=True)
        dose = estimate(fit, place, log=True)
        rows.append(
            {
                "curve": name,
                "n": singles[name]["n"],
                "doses": len(np.unique(own[name])),
                "direction": "rises" if theta[1] > theta[0] else "falls",
                "slope": slope[0],
                "slope_lower_95": slope[2],
                "slope_upper_95": slope[3],
                "without_dose": theta[0],
                "at_full_effect": theta[1],
                "percent": percent,
                "dose": dose[0],
                "lower_95": dose[2],
                "upper_95": dose[3],
                "tested": {"": "within"}.get(dose_place(dose[0], own[name])[0], "outside the doses"),
                "p_value": singles[name]["p_effect"],
                "p_lack_of_fit": singles[name]["p_fit"],
            }
        )
    return rows


def joint_remarks(table, data, fit, singles, used):
    """Return what a careful reader must know of the joint fit: who shares a start, whose scatter, which rows cling."""
    import numpy as np
    from scipy.stats import chi2_contingency

    x, y, whole, codes = data["x"], data["y"], data["whole"], data["codes"]
    fitted = log_logistic(unpack_curves(fit["theta"], fit["plan"])[codes].T, x)
    remarks, none = [], ~np.isfinite(x)
    if whole is not None and fit["plan"]["logit"]:
        share = 100 * unpack_curves(fit["theta"], fit["plan"])[0, 0]
        remarks.append(
            f"{share:.1f} % respond without dose, which is taken to be one share for all groups; the doses are of the "
            "effect above that (Abbott)."
        )
        seen = [(y[none & (codes == i)].sum(), whole[none & (codes == i)].sum()) for i in range(len(singles))]
        sums = np.array([[k, n - k] for k, n in seen if n > 0])
        if len(sums) > 1 and sums.sum(axis=0).all() and chi2_contingency(sums, correction=False).pvalue < 0.05:
            remarks.append("The untreated differ between the groups: their rows may not be of one experiment.")
    if whole is not None and fit["df"] is not None:
        remarks.append(
            f"The counts scatter more than chance (heterogeneity factor {fit['scale']:.1f}): intervals are widened by "
            "it and the tests are F tests."
        )
    sds = [one["sigma"] for one in singles.values() if one.get("sigma", 0) > 0]
    if sds and max(sds) > 3 * min(sds):
        remarks.append(
            f"The scatter about the curves differs between groups (SD {format_number(min(sds))} to "
            f"{format_number(max(sds))}); the joint fit takes one for all, so p-values are rough."
        )
    seen = y if whole is None else y / whole
    clinging = shifting_column(table, used, seen - fitted)
    if clinging:
        remarks.append(
            f"The rows lie above or below their curve by {clinging[1]} ({format_p(clinging[0])}): rows of one "
            f"{clinging[1]} are no independent replicates, so p-values may be wrong; a curve for each and a comparison "
            "of their doses is safer."
        )
    return remarks
