"""Why apart: the fits of models with several rows a subject, as plain numbers that can be held against published ones.

Reading columns, choosing a family and wording the result are in `mixed`.
"""

from __future__ import annotations

from engine.toolbox.statistics.logistic import separated
from engine.toolbox.tables.columns import format_p


def standardised(design):
    """Return the design with centred columns of spread 1 after the intercept, and the matrix that turns back."""
    import numpy as np

    x = design.to_numpy(dtype=float)
    means, sizes = x.mean(axis=0), x.std(axis=0)
    means[0], sizes[0] = 0.0, 1.0
    back = np.diag(1 / sizes)
    back[0, 1:] = -means[1:] / sizes[1:]
    return (x - means) / sizes, back


def generalised_least_squares(y, x, z, groups, random, residual):
    """Return coefficients, their covariance, predicted random effects and the REML log-likelihood.

    Given the variances these are exact, also where a variance is 0 and a numerical Hessian does not exist.
    """
    import numpy as np

    index = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    n, p = x.shape
    information, score, log_det, weights = np.zeros((p, p)), np.zeros(p), 0.0, []
    for rows in index:
        v = z[rows] @ random @ z[rows].T + residual * np.eye(len(rows))
        w = np.linalg.inv(v)
        information += x[rows].T @ w @ x[rows]
        score += x[rows].T @ w @ y[rows]
        log_det += np.linalg.slogdet(v)[1]
        weights.append(w)
    covariance = np.linalg.inv(information)
    beta = covariance @ score
    left = y - x @ beta
    square = sum(left[rows] @ w @ left[rows] for rows, w in zip(index, weights, strict=True))
    effects = np.zeros((n, z.shape[1]))
    for rows, w in zip(index, weights, strict=True):
        effects[rows] = random @ z[rows].T @ w @ left[rows]
    log_det += np.linalg.slogdet(information)[1] + (n - p) * np.log(2 * np.pi)
    return beta, covariance, effects, float(-0.5 * (log_det + square))


def reml_deviance(products, n, root):
    """Return -2 log REML, up to a constant, and the residual variance that goes with it, for relative random effects.

    Only products of the columns within each subject enter, so a thousand rows cost as much as ten (Bates, Maechler,
    Bolker and Walker 2015, Journal of Statistical Software 67(1), section 3).

    Args:
        products: per subject x'x, x'z, z'z, x'y, z'y, and y'y of all.
        n: number of rows.
        root: lower triangle whose product with its transpose is the covariance of the random effects over the residual
            variance.
    """
    import numpy as np

    xx, xz, zz, xy, zy, yy = products
    inner = np.eye(root.shape[0]) + root.T @ zz @ root
    left = np.linalg.solve(inner, np.swapaxes(xz @ root, 1, 2))
    right = np.linalg.solve(inner, (zy @ root)[..., None])
    information = xx.sum(axis=0) - np.einsum("gpq,gqr->pr", xz @ root, left)
    score = xy.sum(axis=0) - np.einsum("gpq,gq->p", xz @ root, right[..., 0])
    square = yy - float((zy @ root * right[..., 0]).sum()) - float(score @ np.linalg.solve(information, score))
    residual = square / (n - xx.shape[1])
    if not residual > 0:
        return np.inf, 0.0
    log_det = float(np.linalg.slogdet(inner)[1].sum() + np.linalg.slogdet(information)[1])
    return (n - xx.shape[1]) * np.log(residual) + log_det, residual


def fit_variances(y, x, z, groups):
    """Return the REML covariance of the random effects and the residual variance, or raise ValueError.

    The residual variance is profiled out; the rest is searched from several starts, a variance of 0 among them, and the
    best end is taken: a likelihood with a second, lower top has misled gradient methods here.
    """
    import itertools

    import numpy as np
    from scipy.optimize import minimize

    index = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    products = (*(np.array([a[rows].T @ b[rows] for rows in index])
                  for a, b in ((x, x), (x, z), (z, z), (x, y), (z, y))), float(y @ y))  # fmt: skip
    size = z.shape[1]
    places = np.tril_indices(size)

    def lower(values):
        root = np.zeros((size, size))
        root[places] = values
        return root

    def deviance(values):
        return reml_deviance(products, len(y), lower(values))[0]

    diagonal = [n for n, (i, j) in enumerate(zip(*places, strict=True)) if i == j]
    ends = []
    for tries in itertools.product((0.05, 1.0, 6.0), repeat=size):
        start = np.zeros(len(places[0]))
        start[diagonal] = tries
        found = minimize(deviance, start, method="Nelder-Mead",
                         options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 4000})  # fmt: skip
        ends.append((float(found.fun), found.x))
    ends.append((deviance(np.zeros(len(places[0]))), np.zeros(len(places[0]))))
    best, values = min(ends, key=lambda end: end[0])
    root = lower(values)
    _, residual = reml_deviance(products, len(y), root)
    if not np.isfinite(best) or not residual > 1e-14 * float(y @ y) / len(y):
        kind = " with a random slope" if size > 1 else ""
        raise ValueError(
            f"The mixed model{kind} could not be fitted: its fixed effects leave no variance. Use fewer fixed effects, "
            "no random slope, or more subjects."
        )
    return residual * root @ root.T, float(residual)


def degrees_of_freedom(design, groups, sloped):
    """Return each column's between-within degrees of freedom.

    What is the same in all rows of a subject has as many as there are subjects, less what is estimated of them; what
    changes has as many as there are rows. Columns of the random slope (`sloped`) vary by subject and count subjects.
    """
    n, subjects = len(design), len(set(groups))
    inner = (design.groupby(groups).transform("std").fillna(0) > 1e-12 * design.abs().max()).any()
    rows = [term for term in design if inner[term] and term not in sloped]
    outer = [term for term in design if not inner[term]]
    found = {term: subjects - len(outer) for term in outer} | {term: subjects - len(sloped) for term in sloped}
    found |= {term: n - subjects - len(rows) - len(sloped) for term in rows}
    if min(found.values()) < 1:
        worst = min(found, key=lambda term: found[term])
        raise ValueError(
            f"{subjects} subjects with {n} rows are too few to estimate {worst!r}; use fewer fixed effects."
        )
    return [float(found[term]) for term in design]


def linear_mixed(y, design, groups, slope, sloped):
    """Fit a linear mixed model; return coefficients, covariance, degrees of freedom, components, fit and warnings."""
    import numpy as np
    from scipy import stats

    size = y.std()
    x, back = standardised(design)
    place = list(design.columns).index(slope) if slope else 0
    z = x[:, [0, place]] if slope else x[:, [0]]
    df = degrees_of_freedom(design, groups, sloped)
    random, residual = fit_variances(y / size, x, z, groups)
    beta, covariance, effects, log_likelihood = generalised_least_squares(y / size, x, z, groups, random, residual)
    # The REML likelihood depends on the units of outcome and design; turn it back to those of the data.
    log_likelihood -= (len(y) - x.shape[1]) * np.log(size) - np.linalg.slogdet(back)[1]
    icc = float(random[0, 0] / (random[0, 0] + residual))
    turn = back[np.ix_([0, place], [0, place])] if slope else np.eye(1)
    variances = size**2 * turn @ random @ turn.T
    rows = [{"component": "variance of subjects (intercept)", "value": float(variances[0, 0])}]
    if slope:
        spread = np.sqrt(variances[0, 0] * variances[1, 1])
        rows += [
            {"component": f"variance of subjects (slope of {slope})", "value": float(variances[1, 1])},
            {"component": "correlation of intercept and slope", "note": f"intercept where {slope} is 0",
             "value": float(np.clip(variances[0, 1] / spread, -1, 1)) if spread > 0 else float("nan")},
        ]  # fmt: skip
    note = "share of the variance left by the fixed effects" + (f", at the mean of {slope}" if slope else "")
    rows += [{"component": "variance of residuals", "value": float(size**2 * residual)},
             {"component": "ICC", "value": icc, "note": note},
             {"component": "REML log-likelihood", "value": log_likelihood}]  # fmt: skip
    warnings = []
    if min(np.linalg.eigvalsh(random)) < 1e-5 * (residual + np.trace(random)):
        warnings.append(
            "A variance of the random effects is at its limit (0, or a correlation of 1): " +
            ("consider leaving out the random slope." if slope else "rows of a subject are no more alike than others.")
        )  # fmt: skip
    expected = (x @ beta + (z * effects).sum(axis=1)) * size
    if 3 <= len(y) <= 5000:
        p = float(stats.shapiro(y - expected).pvalue)
        rows.append({"component": "normal residuals (Shapiro-Wilk p)", "value": p})
        if p < 0.01:
            warnings.append(f"The residuals depart from a normal distribution (Shapiro-Wilk {format_p(p)}).")
    return back @ beta * size, back @ covariance @ back.T * size**2, df, rows, expected, warnings


def no_finite_rates(x, y):
    """Say whether some combination of columns meets only counts of 0, so that a rate ratio is 0 or infinite."""
    import numpy as np
    from scipy.optimize import linprog

    zero, some = x[y == 0], x[y > 0]
    if not len(zero) or not len(some):
        return not len(some)
    result = linprog(zero.sum(axis=0), A_ub=zero, b_ub=np.zeros(len(zero)), A_eq=some, b_eq=np.zeros(len(some)),
                     bounds=(-1, 1), method="highs")  # fmt: skip
    return bool(result.status == 0 and -result.fun > 1e-6)


def estimating_equations(y, design, groups, family, exposure):
    """Fit generalised estimating equations; return as `linear_mixed` does."""
    import warnings

    import numpy as np
    from statsmodels.genmod import families
    from statsmodels.genmod.cov_struct import Exchangeable, Independence
    from statsmodels.genmod.generalized_estimating_equations import GEE

    x, back = standardised(design)
    if separated(x, y) if family == "binomial" else no_finite_rates(x, y):
        what = "the event from the other level" if family == "binomial" else "counts of 0 from all others"
        raise ValueError(
            f"The fixed effects separate {what} completely in some rows, so a ratio would be infinite. Leave out the "
            "interaction or the effect, or join levels."
        )
    kind = families.Binomial() if family == "binomial" else families.Poisson()
    subjects, notes, fit = len(set(groups)), [], None
    errors = "bias_reduced" if subjects < 40 else "robust"
    for structure in (Exchangeable(), Independence()):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                fit = GEE(y, x, groups, family=kind, cov_struct=structure, exposure=exposure).fit(
                    maxiter=200, cov_type=errors
                )
            except (np.linalg.LinAlgError, ValueError):
                continue
        if fit.converged and np.isfinite(fit.bse).all() and (fit.bse > 0).all():
            break
        fit = None
    if fit is None:
        raise ValueError(
            "The estimating equations did not converge; use fewer fixed effects or leave out the interaction."
        )
    together = isinstance(fit.model.cov_struct, Exchangeable)
    if not together:
        notes.append(
            "The exchangeable working correlation did not converge; independence was used, with robust errors."
        )
    correlation = float(fit.model.cov_struct.dep_params) if together else 0.0
    kind_of_errors = "robust, corrected for few subjects (Mancl and DeRouen)" if subjects < 40 else "robust (sandwich)"
    note = f"{'exchangeable' if together else 'independence'}; errors: {kind_of_errors}"
    rows = [{"component": "working correlation", "value": correlation, "note": note}]
    if family == "poisson":
        pearson = float(((y - fit.fittedvalues) ** 2 / fit.fittedvalues).sum() / (len(y) - x.shape[1]))
        rows.append({"component": "dispersion (Pearson)", "value": pearson, "note": "1 for Poisson counts"})
    covariance = back @ np.asarray(fit.cov_params()) @ back.T
    df = [float("inf")] * x.shape[1]
    return back @ np.asarray(fit.params), covariance, df, rows, np.asarray(fit.fittedvalues), notes
