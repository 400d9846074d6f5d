"""Why apart: pooling has one mean for all studies; here the mean changes with something that differs between studies.

Sources: Berkey et al. (1995) Stat Med 14, 395; Knapp and Hartung (2003) Stat Med 22, 2693; Viechtbauer (2010) J Stat
Softw 36(3), whose definitions of R2 and of I2 that is left these are.
"""

from __future__ import annotations

from engine.toolbox.statistics.pooling import restricted_likelihood
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    format_p,
    level_labels,
    likely_control,
    new_axes,
    order_levels,
    palette,
)


def moderator_column(column):
    """Return a moderator as numbers (more than two of them) or as labels, missing values kept, and warnings."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column) and column.nunique() > 2:
        return column.astype(float), []
    labels = level_labels(column).where(column.notna())
    if labels.nunique() < 2:
        raise ValueError(f"Moderator {column.name!r} is the same in all studies; choose one that differs.")
    if labels.nunique() > 6:
        raise ValueError(
            f"Moderator {column.name!r} has {labels.nunique()} groups; expected a number or 2 to 6 groups."
        )
    return labels, []


def weighted_fit(y, v, design, tau2):
    """Return coefficients, their covariance and residual squares of a regression weighted by 1 / (v + tau2)."""
    import numpy as np

    w = 1 / (v + tau2)
    covariance = np.linalg.inv(design.T @ (w[:, None] * design))
    beta = covariance @ (design.T @ (w * y))
    return beta, covariance, float((w * (y - design @ beta) ** 2).sum())


def residual_tau2(y, v, design):
    """Return the variance between studies that a design leaves, by restricted likelihood, 0 or more.

    The best of a grid is refined, because few studies can have several maxima.
    """
    import numpy as np
    from scipy.optimize import minimize_scalar

    unit = float(v.mean())
    y, v = y / unit**0.5, v / unit

    def loss(tau2):
        _, covariance, q = weighted_fit(y, v, design, tau2)
        return float(np.log(v + tau2).sum() - np.linalg.slogdet(covariance)[1] + q) / 2

    top = 4 * float(y.var(ddof=1) + v.max())
    grid = np.array([0.0, *np.geomspace(1e-6 * top, top, 120)])
    best = int(np.argmin([loss(tau2) for tau2 in grid]))
    low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-12 * top})
    return float(found.x) * unit if found.fun < loss(0.0) else 0.0


def moderator_tables(y, v, values, name, effect, log, test):
    """Return the tables of a meta-regression on one moderator, its bubble plot and its finding.

    Args:
        y: effects of the studies (logarithms of ratios where `log`).
        v: their variances.
        values: the moderator of each study, numbers or labels; studies without one are left out.
        name: what the moderator is called.
        effect: what the effect is called.
        log: whether effects are logarithms of ratios.
        test: `knapp_hartung` (t, errors scaled by the scatter) or `normal`.
    """
    import numpy as np
    import pandas as pd
    from scipy import stats

    here = values.notna().to_numpy()
    y, v, values = y[here], v[here], values[here]
    numeric = values.dtype.kind == "f"
    if numeric:
        terms, blocks = [name], [values.to_numpy()]
    else:
        levels = order_levels(values)
        first = likely_control(levels) or levels[0]
        others = [level for level in levels if level != first]
        terms = [f"{name}: {level} vs {first}" for level in others]
        blocks = [(values == level).to_numpy(dtype=float) for level in others]
    design = np.column_stack([np.ones(len(y)), *blocks])
    k, p = design.shape
    if k < p + 2 or np.linalg.matrix_rank(design) < p:
        raise ValueError(f"{k} studies with {name!r} are too few for a meta-regression; expected at least {p + 2}.")
    before, tau2 = restricted_likelihood(y, v), residual_tau2(y, v, design)
    beta, covariance, q = weighted_fit(y, v, design, tau2)
    scale, df = (q / (k - p), k - p) if test == "knapp_hartung" else (1.0, float("inf"))
    covariance = covariance * scale
    law = stats.t(df) if test == "knapp_hartung" else stats.norm()
    rows = []
    for i, term in enumerate(["intercept", *terms]):
        se = float(np.sqrt(covariance[i, i]))
        rows.append({"term": term, "estimate": float(beta[i]), "se": se, "lower_95": beta[i] - law.ppf(0.975) * se,
                     "upper_95": beta[i] + law.ppf(0.975) * se, "statistic": beta[i] / se,
                     "df": df if test == "knapp_hartung" else float("nan"),
                     "p_value": float(2 * law.sf(abs(beta[i] / se)))})  # fmt: skip
        if log:
            rows[-1] |= {"ratio": np.exp(beta[i]), "ratio_lower_95": np.exp(rows[-1]["lower_95"]),
                         "ratio_upper_95": np.exp(rows[-1]["upper_95"])}  # fmt: skip
    joint = float(beta[1:] @ np.linalg.solve(covariance[1:, 1:], beta[1:]))
    p_joint = float(stats.f.sf(joint / (p - 1), p - 1, k - p) if df < float("inf") else stats.chi2.sf(joint, p - 1))
    w = np.diag(1 / v)
    typical = (k - p) / float(np.trace(w - w @ design @ np.linalg.inv(design.T @ w @ design) @ design.T @ w))
    left = weighted_fit(y, v, design, 0.0)[2]
    share = max(0.0, 100 * (1 - tau2 / before)) if before > 0 else float("nan")
    residual = {"studies": k, "tau2": tau2, "tau2_without_moderator": before, "R2": share,
                "I2_left": 100 * tau2 / (tau2 + typical), "H2_left": tau2 / typical + 1, "QE": left, "df": k - p,
                "p_value": float(stats.chi2.sf(left, k - p)), "QM": joint, "QM_df": p - 1,
                "p_moderator": p_joint}  # fmt: skip
    row, table = rows[1], pd.DataFrame(rows)
    clear = p_joint < 0.05
    verdict = "changes" if numeric else "differs"
    start = (f"The effect {verdict} with {name}" if clear
             else f"There is no clear sign that the effect {verdict} with {name}")  # fmt: skip
    number, shown = (
        ("log ratio " if log else ""),
        [format_number(row[key]) for key in ("estimate", "lower_95", "upper_95")],
    )
    step = (
        f"{number}slope {shown[0]} per unit"
        if numeric
        else f"{number}difference {row['term'].partition(': ')[2]} {shown[0]}"
    )
    how = "Knapp-Hartung" if test == "knapp_hartung" else "normal"
    accounts = f"it accounts for {share:.1f} % of the variance between studies (R2), and " if share == share else ""
    text = (
        f"{start}: {step} (95 % CI {shown[1]} to {shown[2]}), {format_p(p_joint)} ({how} test, REML, {k} studies); "
        f"{accounts}I2 left is {residual['I2_left']:.1f} % ({format_p(residual['p_value'])} for what is left)."
    )
    finding = {"text": text, "values": finding_values(estimate=(row["estimate"], row["lower_95"], row["upper_95"])),
               "output": "moderator", "row": {"term": row["term"]}}  # fmt: skip
    plot = bubble_figure(y, v + tau2, values, name, effect, design, beta, covariance, law, log)
    return {"moderator": table, "residual": pd.DataFrame([residual])}, plot, [finding]


def bubble_figure(y, v, values, name, effect, design, beta, covariance, law, log):
    """Draw the studies over the moderator, areas by weight, with the fitted mean and its 95 % interval."""
    import numpy as np

    figure, axis = new_axes(width=6.0)
    back = np.exp if log else (lambda x: x)
    numeric, colour = values.dtype.kind == "f", palette(2)
    if numeric:
        x = values.to_numpy()
        grid = np.column_stack([np.ones(100), np.linspace(x.min(), x.max(), 100)])
        at = grid[:, 1]
    else:
        levels = order_levels(values)
        x = np.array([levels.index(label) for label in values], dtype=float)
        grid = np.array([design[np.flatnonzero(x == i)[0]] for i in range(len(levels))])
        at = np.arange(len(levels), dtype=float)
        axis.set_xticks(at, levels)
    axis.scatter(x, back(y), s=20 + 380 * (1 / v) / (1 / v).max(), color=colour[0], alpha=0.55, edgecolor="white")
    mean, half = grid @ beta, law.ppf(0.975) * np.sqrt(np.einsum("ij,jk,ik->i", grid, covariance, grid))
    if numeric:
        axis.plot(at, back(mean), color=colour[1])
        axis.fill_between(at, back(mean - half), back(mean + half), color=colour[1], alpha=0.15)
    else:
        axis.errorbar(at, back(mean), yerr=[back(mean) - back(mean - half), back(mean + half) - back(mean)],
                      color=colour[1], marker="D", linestyle="none", capsize=4)  # fmt: skip
    if log:
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.yaxis.set_minor_formatter(lambda value, _: "")
    axis.axhline(float(back(np.float64(0.0))), color="0.6", linewidth=0.9, linestyle="--")
    axis.set_xlabel(name)
    axis.set_ylabel(f"{effect}; area by weight")
    return figure
