"""Negative binomial fits of DESeq2's model carried to the optimum, so that every machine ends at the same numbers.

PyDESeq2 stops its optimisers where the loss changes little, one gene at a time. Where they stop then depends on the
rounding of the linear algebra library (its kernel is chosen by the processor): at a dispersion of 1e-8 the loss is
rounded to 1e-7, which sent about a hundred well-measured genes of the airway experiment away from there and thousands
not. A line search that rounding breaks off falls back to a grid, for the maximum a posteriori without the prior. Here
all genes are fitted together, to a tolerance far below what is shown. The model, its penalties and bounds are those of
PyDESeq2.

Every function is a helper in the sense of `engine.toolbox.registry.tool`.
"""

from __future__ import annotations


def solve_together(matrix, right):
    """Solve symmetric positive definite systems, one a gene.

    Args:
        matrix: p x p x genes.
        right: p x k x genes.

    Returns:
        The solutions (p x k x genes) and the pivots (p x genes), whose product is the determinant.
    """
    import numpy as np

    matrix, right = matrix.copy(), right.copy()
    size = len(matrix)
    for k in range(size - 1):
        factor = (matrix[k + 1 :, k] / matrix[k, k])[:, None]
        matrix[k + 1 :] -= factor * matrix[k]
        right[k + 1 :] -= factor * right[k]
    for k in reversed(range(size)):
        right[k] = (right[k] - (matrix[k, k + 1 :, None] * right[k + 1 :]).sum(axis=0)) / matrix[k, k]
    return right, matrix[np.arange(size), np.arange(size)]


def stirling_rest(z):
    """Return log gamma less Stirling's formula, and its slope: differences of two keep their digits for any z > 0."""
    import numpy as np
    from scipy.special import digamma, gammaln

    inverse = 1 / z
    square = inverse * inverse
    rest = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    slope = -square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    near = z < 20
    if near.any():
        few = z[near]
        rest[near] = gammaln(few) - (few - 0.5) * np.log(few) + few - 0.5 * np.log(2 * np.pi)
        slope[near] = digamma(few) - np.log(few) + 0.5 / few
    return rest, slope


def dispersion_loss(log_dispersion, counts, mu, design, adjusted):
    """Return the negative log-likelihood of the dispersions, one a gene, and its slope in the log dispersion.

    Written in differences, because log gamma of 1e8 and of 1e8 + 5 have no digits in common with their difference.

    Args:
        counts: samples x genes; `mu` likewise.
        adjusted: whether Cox and Reid's adjustment for the fitted coefficients is added.
    """
    import numpy as np

    alpha = np.exp(log_dispersion)
    size = 1 / alpha
    rest, rest_slope = stirling_rest(size + counts)
    own_rest, own_slope = stirling_rest(size)
    apart = np.log1p(alpha * (mu - counts) / (1 + alpha * counts))
    loss = (size + counts) * apart + 0.5 * np.log1p(alpha * counts) - rest + own_rest
    slope = (mu - counts) / (1 + alpha * mu) - size * apart + 0.5 * alpha * counts / (1 + alpha * counts)
    slope += size * (rest_slope - own_slope)
    loss, slope = loss.sum(axis=0), slope.sum(axis=0)
    if adjusted:
        columns = design.shape[1]
        squares = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1).T
        weight = mu / (1 + mu * alpha)
        information = (squares @ weight).reshape(columns, columns, -1)
        change = (squares @ (-alpha * weight * weight)).reshape(columns, columns, -1)
        solved, pivots = solve_together(information, change)
        loss += 0.5 * np.log(np.abs(pivots)).sum(axis=0)
        slope += 0.5 * np.trace(solved)
    return loss, slope


def fit_dispersions(counts, design, mu, lowest, highest, centre, variance=None, adjusted=True):
    """Return the dispersion of each gene with the highest (posterior) likelihood between the bounds.

    A grid over the whole range finds the lowest valley, Chandrupatla's method its bottom; a likelihood that falls all
    the way ends at the bound itself. A gene that varies less than Poisson counts, so that its moments estimate is at
    the lower bound, keeps it: DESeq2's search begins there and gains less than its tolerance by a step.

    Args:
        centre: the moments estimate of each gene; the prior's centre when `variance` (of the log dispersion) is given.
    """
    import numpy as np

    def judged(log_dispersion, genes):
        loss, slope = dispersion_loss(log_dispersion, counts[:, genes], mu[:, genes], design, adjusted)
        if variance is not None:
            away = log_dispersion - np.log(centre[genes])
            loss, slope = loss + away**2 / (2 * variance), slope + away / variance
        return loss, slope

    result = np.array(centre, dtype=float)
    moved = np.flatnonzero(result > lowest) if variance is None else np.arange(len(result))
    counts, mu, centre = counts[:, moved], mu[:, moved], result[moved]
    every = np.arange(len(moved))
    grid = np.linspace(np.log(lowest), np.log(highest), 33)
    values = [judged(np.full(len(every), point), every) for point in grid]
    losses = np.nan_to_num(np.array([loss for loss, _ in values]), nan=np.inf)
    slopes = np.array([slope for _, slope in values])
    best = losses.argmin(axis=0)
    slope = slopes[best, every]
    found = grid[best].copy()
    other = np.clip(np.where(slope > 0, best - 1, best + 1), 0, len(grid) - 1)
    inside = (other != best) & (slope != 0)
    left = every[inside]
    a, b = grid[other[inside]], grid[best[inside]]
    fa, fb = slopes[other[inside], left], slope[inside]
    c, fc, part = a.copy(), fa.copy(), np.full(len(left), 0.5)
    for _ in range(80):
        if not len(left):
            break
        x = a + part * (b - a)
        fx = judged(x, left)[1]
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        found[left] = np.where(np.abs(fa) < np.abs(fb), a, b)
        width = np.abs(b - a)
        going = (width > 1e-12) & (fa != 0)
        with np.errstate(all="ignore"):
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            part = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
            good = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(part)
            least = np.minimum(5e-13 / width, 0.5)
        part = np.clip(np.where(good, part, 0.5), least, 1 - least)
        left, a, b, c, fa, fb, fc, part = (each[going] for each in (left, a, b, c, fa, fb, fc, part))
    result[moved] = np.exp(found)
    return result


def fit_coefficients(counts, size_factors, design, dispersions, least_mean, tolerance=1e-10, rounds=1000):
    """Return the coefficients (natural log) of each gene's model, its means, leverages and whether it settled.

    Iteratively reweighted least squares as in DESeq2, all genes at once, until no coefficient moves by `tolerance`.
    """
    import numpy as np

    columns = design.shape[1]
    squares = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1).T
    ridge = 1e-6 * np.eye(columns)[:, :, None]
    scale = size_factors[:, None]
    beta = np.linalg.lstsq(design, np.log(counts / scale + 0.1), rcond=None)[0]
    left = np.arange(counts.shape[1])
    for turn in range(rounds):
        if not len(left):
            break
        seen = counts[:, left]
        mu = np.maximum(scale * np.exp(design @ beta[:, left]), least_mean)
        weight = mu / (1 + mu * dispersions[left])
        working = np.log(mu / scale) + (seen - mu) / mu
        normal = (squares @ weight).reshape(columns, columns, -1) + ridge
        new = solve_together(normal, (design.T @ (weight * working))[:, None])[0][:, 0]
        moved = np.abs(new - beta[:, left]).max(axis=0)
        # Between means held at the least and free ones the steps of a few genes go to and fro: half steps settle them.
        beta[:, left] = new if turn < rounds / 2 else (new + beta[:, left]) / 2
        left = left[(moved > tolerance) & (np.abs(new) <= 30).all(axis=0)]
    settled = (np.abs(beta) <= 30).all(axis=0)
    settled[left] = False
    mu = scale * np.exp(design @ beta)
    weight = np.maximum(mu, least_mean)
    weight = weight / (1 + weight * dispersions)
    normal = (squares @ weight).reshape(columns, columns, -1) + ridge
    right = np.broadcast_to(design.T[:, :, None], (columns, *weight.shape))
    leverage = weight * (design.T[:, :, None] * solve_together(normal, right)[0]).sum(axis=0)
    return beta, mu, leverage, settled


def shrink_coefficients(beta, counts, design, size, offset, wide, narrow, shrunk):
    """Return the coefficients at the top of apeGLM's posterior, and the inverse Hessian of each gene, begun near it.

    Args:
        beta: genes x coefficients, where an optimiser stopped; taken on by Newton's method.
        counts: samples x genes.
        size: 1 / dispersion of each gene.
        wide: standard deviation of the normal prior of the other coefficients.
        narrow: scale of the Cauchy prior of the coefficient `shrunk`.
    """
    import numpy as np

    columns = design.shape[1]
    squares = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1).T
    beta = beta.T.copy()
    others = np.arange(columns) != shrunk
    for turn in range(101):
        mean = np.exp(design @ beta + offset[:, None])
        slope = -(design.T @ (counts - (counts + size) * mean / (size + mean)))
        slope[others] += beta[others] / wide**2
        spread = narrow**2 + beta[shrunk] ** 2
        slope[shrunk] += 2 * beta[shrunk] / spread
        hessian = (squares @ ((counts + size) * size * mean / (size + mean) ** 2)).reshape(columns, columns, -1)
        hessian[others, others] += 1 / wide**2
        curvature = 2 * (narrow**2 - beta[shrunk] ** 2) / spread**2
        if turn == 100:
            break
        normal = hessian.copy()
        normal[shrunk, shrunk] += np.maximum(curvature, 0)
        step = np.clip(solve_together(normal, slope[:, None])[0][:, 0], -1, 1)
        beta -= step
        if np.abs(step).max(initial=0) < 1e-11:
            turn = 100
            break
    hessian[shrunk, shrunk] += curvature
    return beta.T, np.linalg.inv(hessian.transpose(2, 0, 1))


def wald_of_coefficients(design, dispersions, beta, mu, ridge, contrast, null):
    """Return Wald's p-value, statistic and standard error of a contrast for each gene (two-sided, natural log).

    Args:
        null: the absolute coefficient to exceed; 0 for the usual test.
    """
    import numpy as np
    from scipy.special import ndtr

    columns = design.shape[1]
    squares = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1).T
    information = (squares @ (mu / (1 + mu * dispersions))).reshape(columns, columns, -1)
    right = np.broadcast_to(contrast[:, None, None], (columns, 1, information.shape[2]))
    weights = solve_together(information + ridge[:, :, None], right)[0][:, 0]
    error = np.sqrt(np.einsum("ig,ijg,jg->g", weights, information, weights))
    statistic = (np.sign(beta) * np.fmax((np.abs(beta) - null) / error[:, None], 0)) @ contrast
    return 2 * ndtr(-np.abs(statistic)), statistic, error


def fit_trend(inverse_means, dispersions, start):
    """Return the two coefficients of the dispersion trend (a0 + a1 / mean) of a gamma model, by Fisher scoring."""
    import numpy as np

    design = np.column_stack([np.ones(len(inverse_means)), inverse_means])

    def loss(coefficients):
        fitted = design @ coefficients
        return np.mean(dispersions / fitted + np.log(fitted)) if (fitted > 0).all() else np.inf

    best, lowest = np.asarray(start, dtype=float), loss(start)
    for _ in range(500):
        fitted = design @ best
        weighted = design / fitted[:, None]
        step = np.linalg.solve(weighted.T @ weighted, weighted.T @ (dispersions / fitted - 1))
        for _ in range(30):
            if loss(best + step) <= lowest + 1e-14 * abs(lowest):
                break
            step = step / 2
        best, lowest = best + step, loss(best + step)
        if (np.abs(step) <= 1e-13 * np.abs(best)).all():
            break
    return best
