"""Why apart: what modes of inhibition predict and how well each fits is arithmetic, told apart from what is said of it.

All work on natural logs of the constants, so none can become negative and a unit only shifts them.
"""

from __future__ import annotations

from engine.toolbox.pharmacology.fitting import fit_curve, nested_f_test


def inhibited_rate(theta, mode, s, i):
    """Return v = Vmax s / (Km (1 + i/Ki) + s (1 + i/Ki')), with a mode's own constants.

    Args:
        theta: logs of Vmax, Km, then Ki (competitive), Ki' (uncompetitive), both as one (non-competitive), or Ki and
            Ki' (mixed).
    """
    import numpy as np

    vmax, km, *inhibition = np.exp(np.clip(theta, -200, 200))
    free = i / inhibition[0] if mode in ("competitive", "non-competitive", "mixed") else 0.0
    bound = i / inhibition[-1] if mode in ("uncompetitive", "non-competitive", "mixed") else 0.0
    return vmax * s / (km * (1 + free) + s * (1 + bound))


def fit_modes(s, i, v):
    """Return mode -> fit by least squares of no inhibition and of every mode of it.

    Mixed inhibition also starts from what the modes it contains have found, so it cannot fit worse than they do.
    """
    import numpy as np

    top, middle = np.log(max(float(v.max()), 1e-300)), float(np.log(np.median(s)))
    level = float(np.log(np.median(i[i > 0])))
    starts = [np.array([top + up, middle + shift]) for up in (0.05, 0.7) for shift in (-1.5, 0.0, 1.5)]
    fits = {"none": fit_curve(lambda theta: inhibited_rate(theta, "none", s, i), starts, v)}
    bases = [fits["none"]["theta"], np.array([top + 0.1, middle - 1]), np.array([top + 0.3, middle])]
    for mode in ("competitive", "uncompetitive", "non-competitive"):
        starts = [np.append(base, level + shift) for base in bases for shift in (-1.5, 0.0, 1.5)]
        fits[mode] = fit_curve(lambda theta, mode=mode: inhibited_rate(theta, mode, s, i), starts, v)
    found = {mode: fits[mode]["theta"] for mode in ("competitive", "uncompetitive", "non-competitive")}
    far = 14.0  # a constant a million times larger than the others is as good as none
    starts = [
        np.append(found["competitive"], found["competitive"][2] + far),
        np.insert(found["uncompetitive"], 2, found["uncompetitive"][2] + far),
        *(np.append(theta, theta[2]) for theta in found.values()),
        *(np.append(base, [level + one, level + other]) for base in bases[1:] for one, other in ((-1, 1), (1, -1))),
    ]
    fits["mixed"] = fit_curve(lambda theta: inhibited_rate(theta, "mixed", s, i), starts, v)
    return fits


def model_rows(fits, i, v):
    """Return a row per mode, best AICc first: its fit, its weight, and the F test of mixed inhibition against it.

    `p_inhibition` is that of mixed inhibition against none, whatever the mode; `margin` is how far the best of the
    other modes lies above a mode in AICc (below zero for all but the best). AICc counts the residual variance as a
    parameter (Burnham and Anderson 2002). A constant beyond a million times the highest concentration is endless.
    """
    import numpy as np

    n, rows = len(v), []
    of_none = nested_f_test(fits["none"]["sse"], fits["none"]["df"], fits["mixed"]["sse"], fits["mixed"]["df"])[3]
    floor = n * (1e-8 * float(np.abs(v).max())) ** 2  # of what is exact to rounding, no fit is better than another
    for mode, fit in fits.items():
        k = len(fit["theta"]) + 1
        aicc = n * np.log(max(fit["sse"], floor) / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
        under = nested_f_test(fit["sse"], fit["df"], fits["mixed"]["sse"], fits["mixed"]["df"])
        constants = [float(value) for value in np.exp(np.clip(fit["theta"], -200, 200))]
        constants[2:] = [value if value < 1e6 * i.max() else np.inf for value in constants[2:]]
        rows.append(
            {
                "mode": mode,
                "parameters": k - 1,
                "n": n,
                "sse": fit["sse"],
                "df": fit["df"],
                "residual_sd": fit["sigma"],
                "aicc": float(aicc),
                "p_inhibition": of_none,
                "f_mixed": under[0],
                "df_1": under[1],
                "df_2": under[2],
                "p_value": under[3],
                "vmax": constants[0],
                "km": constants[1],
                "ki": constants[2] if mode in ("competitive", "non-competitive", "mixed") else np.nan,
                "ki_prime": constants[-1] if mode in ("uncompetitive", "non-competitive", "mixed") else np.nan,
            }
        )
    rows.sort(key=lambda row: (round(row["aicc"], 9), row["parameters"]))
    lowest = rows[0]["aicc"]
    total = sum(np.exp((lowest - row["aicc"]) / 2) for row in rows)
    for row in rows:
        row["delta_aicc"] = row["aicc"] - lowest
        row["weight"] = float(np.exp((lowest - row["aicc"]) / 2) / total)
        row["margin"] = min(other["aicc"] for other in rows if other is not row) - row["aicc"]
    return rows


def profile_limits(curve, theta, at, y, fit):
    """Return the 95 % limits of one parameter on its log scale by the profile of the sum of squares (F, 1 and df).

    The other parameters are fitted anew at every value tried. A side on which the fit never gets worse enough, even a
    hundred million-fold away, has no limit: -inf or inf.
    """
    import numpy as np
    from scipy import stats
    from scipy.optimize import brentq, least_squares

    if fit["sse"] <= len(y) * (1e-8 * float(np.abs(y).max())) ** 2:
        return float(theta[at]), float(theta[at])  # exact rates: nothing is left to be unsure of
    target = fit["sse"] * (1 + float(stats.f.ppf(0.95, 1, fit["df"])) / fit["df"])
    limits = []
    for sign in (-1, 1):
        known, rest = {0.0: fit["sse"] - target}, np.delete(theta, at)

        def worse(distance, sign=sign, known=known):
            nonlocal rest
            if distance not in known:
                held = theta[at] + sign * distance
                found = least_squares(
                    lambda free: curve(np.insert(free, at, held)) - y, rest, x_scale="jac", xtol=1e-10
                )
                rest, known[distance] = found.x, 2 * found.cost - target
            return known[distance]

        near, far = 0.0, 0.05
        while far < 19 and worse(far) < 0:
            near, far = far, 1.8 * far
        limits.append(theta[at] + sign * brentq(worse, near, far, xtol=1e-6) if far < 19 else sign * np.inf)
    return float(limits[0]), float(limits[1])


def constant_rows(mode, fit, s, i, v):
    """Return a row per constant of a mode with profile limits; for mixed inhibition also alpha, Ki' over Ki."""
    import numpy as np

    meanings = {
        "Vmax": "rate at endless substrate",
        "Km": "substrate at half of Vmax, without inhibitor",
        "Ki": "inhibitor with the free enzyme",
        "Ki'": "inhibitor with the enzyme that holds substrate",
        "alpha": "Ki' / Ki, endless for competitive, 1 for non-competitive, 0 for uncompetitive inhibition",
    }
    if mode == "non-competitive":
        meanings["Ki"] = "inhibitor with the enzyme, whether it holds substrate or not"
    own = {"none": [], "competitive": ["Ki"], "uncompetitive": ["Ki'"], "non-competitive": ["Ki"]}
    names = ["Vmax", "Km", *own.get(mode, ["Ki", "Ki'", "alpha"])]
    rows = []
    for at, name in enumerate(names):
        theta, least, most = np.array(fit["theta"]), 0.0, np.inf
        if name == "alpha":
            theta, least, most, at = np.append(theta[:3], theta[3] - theta[2]), 1e-6, 1e6, 3
        elif name.startswith("Ki"):
            most = 1e6 * i.max()
        value = float(np.exp(min(theta[at], 700)))
        if name == "alpha":
            theta[at] = max(theta[at], np.log(least))
        theta[at] = min(theta[at], np.log(most))  # one that ran off is as good as endless; limits are sought from there

        def curve(free, ratio=name == "alpha"):
            return inhibited_rate(np.append(free[:3], free[2] + free[3]) if ratio else free, mode, s, i)

        low, high = np.exp(profile_limits(curve, theta, at, v, fit))
        rows.append(
            {
                "mode": mode,
                "constant": name,
                "meaning": meanings[name],
                "value": np.inf if value > most else value if value > least else 0.0,
                "lower_95": float(low) if value > least else 0.0,
                "upper_95": float(high) if value < most else np.inf,
            }
        )
    return rows


def add_limits(rows, constants):
    """Put the limits of Ki and Ki' into the rows of the modes whose constants were given limits."""
    names = {"Ki": ["ki"], "Ki'": ["ki_prime"]}
    by_mode = {row["mode"]: row for row in rows}
    for constant in constants:
        for key in names.get(constant["constant"], []):
            limits = {f"{key}_lower_95": constant["lower_95"], f"{key}_upper_95": constant["upper_95"]}
            by_mode[constant["mode"]] |= limits
