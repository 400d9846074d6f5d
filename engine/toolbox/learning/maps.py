"""Axes and maps of many measurements: principal components, factors, and maps that keep distances or neighbours.

A map in two dimensions always bends something. How much of the neighbours and distances it kept is counted, beside
the same count for the first two principal components.
"""

from __future__ import annotations

from engine.toolbox.learning.leaks import named_like_id
from engine.toolbox.tables.columns import numeric_values, require_columns


def measured_rows(table, measures, skip):
    """Return (complete rows of numeric measures, their rows in the table, warnings); ids and constants are left out."""
    import numpy as np
    import pandas as pd

    named = list(dict.fromkeys(measures))
    require_columns(table, named)
    warnings, kept = [], {}
    for name in named or [str(column) for column in table.columns if column not in skip]:
        if not named and not pd.api.types.is_numeric_dtype(table[name]):
            continue
        if not named and (pd.api.types.is_bool_dtype(table[name]) or named_like_id(name)):
            warnings.append(f"{name} is no measurement and was left out.")
            continue
        kept[name] = numeric_values(table, name)
    frame = pd.DataFrame(kept, index=table.index)
    sparse = [name for name in frame if frame[name].notna().mean() < 0.7] if not named else []
    if sparse:
        warnings.append(f"More than 30 % empty and left out: {', '.join(sparse[:8])}.")
        frame = frame.drop(columns=sparse)
    full = frame.notna().all(axis=1).to_numpy()
    if not full.all():
        gaps = ", ".join(f"{name} ({n})" for name, n in frame.isna().sum().items() if n)
        warnings.append(f"{int((~full).sum())} of {len(full)} rows were left out because a value is missing: {gaps}.")
    frame = frame[full]
    constant = [name for name in frame if frame[name].nunique() < 2]
    if constant:
        warnings.append(f"The same in every row and left out: {', '.join(constant[:8])}.")
    frame = frame.drop(columns=constant)
    if frame.shape[1] < 2:
        raise ValueError(f"Only {frame.shape[1]} measurement(s) that vary are left; expected at least two columns of "
                         "numbers.")  # fmt: skip
    if len(frame) < 6:
        raise ValueError(f"Only {len(frame)} rows have a value in all {frame.shape[1]} measurements; expected at "
                         f"least 6. "
                         "Leave out columns with many gaps.")  # fmt: skip
    return frame, np.flatnonzero(full), warnings


def principal_components(values):
    """Return (scores, loadings, variances) by singular value decomposition; the largest loading of each is positive."""
    import numpy as np

    u, s, vt = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    # Rounded: of two that differ in rounding only the first decides the sign, on every machine.
    sign = np.sign(vt[np.arange(len(vt)), np.abs(vt).round(9).argmax(axis=1)])
    return u * s * sign, (vt * sign[:, None]).T, s**2 / (len(values) - 1)


def classical_scaling(distances):
    """Return two coordinates of every row by classical scaling (Torgerson): axes of the centred squared distances."""
    import numpy as np

    n = len(distances)
    centre = np.eye(n) - 1 / n
    sizes, axes = np.linalg.eigh(-centre @ distances**2 @ centre / 2)
    axes = axes[:, ::-1][:, :2]
    sign = np.sign(axes[np.abs(axes).round(9).argmax(axis=0), np.arange(axes.shape[1])])
    return axes * np.sqrt(np.maximum(sizes[::-1][:2], 0)) * sign


def metric_scaling(distances, start, rounds=500):
    """Return two coordinates of every row whose distances come closest to those given (SMACOF), from a start.

    Each round is a Guttman transform, which never raises the stress; it ends when that falls by less than 1e-9 parts.
    """
    import numpy as np
    from scipy.spatial.distance import pdist, squareform

    points, before = start, np.inf
    for _ in range(rounds):
        shown = squareform(pdist(points))
        stress = ((shown - distances) ** 2).sum()
        if before - stress <= 1e-9 * stress:
            break
        before = stress
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(shown > 0, distances / shown, 0.0)
        points = (np.diag(ratio.sum(axis=1)) - ratio) @ points / len(points)
    return points


def map_points(values, method, perplexity, seed):
    """Return two coordinates of every row on a map that keeps distances (MDS) or neighbours (t-SNE, UMAP)."""
    import warnings

    from scipy.spatial.distance import pdist, squareform
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        if method in ("classical_mds", "mds"):
            distances = squareform(pdist(values))
            start = classical_scaling(distances)
            return start if method == "classical_mds" else metric_scaling(distances, start)
        if method == "tsne":
            from sklearn.manifold import TSNE

            near = min(perplexity, (len(values) - 1) / 3)
            return TSNE(2, perplexity=near, init="pca", random_state=seed, n_jobs=1).fit_transform(values)
        try:
            from umap import UMAP
        except ImportError:
            message = "UMAP is not installed here (package umap-learn); use t-SNE (method = tsne) or install it."
            raise ValueError(message) from None
        return UMAP(n_neighbors=min(15, len(values) - 1), random_state=seed, n_jobs=1).fit_transform(values)


def kept_neighbours(values, points):
    """Return the share of each row's ten nearest (at most a fifth of the rows) that are its nearest on the map too."""
    import numpy as np
    from sklearn.neighbors import NearestNeighbors

    k = max(2, min(10, len(values) // 5))
    true, shown = (NearestNeighbors(n_neighbors=k).fit(x).kneighbors(return_distance=False) for x in (values, points))
    return k, float(np.mean([len(set(a) & set(b)) for a, b in zip(true, shown, strict=True)]) / k)


def kept_distances(values, points):
    """Return (Spearman correlation of all distances with those on the map, Kruskal's stress-1 of the map)."""
    import numpy as np
    from scipy.spatial.distance import pdist
    from scipy.stats import spearmanr

    true, shown = pdist(values), pdist(points)
    return float(spearmanr(true, shown).statistic), float(np.sqrt(((true - shown) ** 2).sum() / (shown**2).sum()))


def varimax(loadings, rounds=500):
    """Return the orthogonal rotation that makes squared loadings as unequal as possible, rows scaled to length 1."""
    import numpy as np

    length = np.sqrt((loadings**2).sum(axis=1, keepdims=True))
    scaled, turn, before = loadings / np.maximum(length, 1e-12), np.eye(loadings.shape[1]), 0.0
    for _ in range(rounds):
        turned = scaled @ turn
        u, s, vt = np.linalg.svd(scaled.T @ (turned**3 - turned * (turned**2).mean(axis=0)))
        turn = u @ vt
        if s.sum() <= before * (1 + 1e-10):
            break
        before = s.sum()
    return turn


def common_factors(values, number):
    """Return (loadings turned by varimax, uniquenesses, scores, chi-squared, degrees of freedom) by maximum likelihood.

    The values are standardised. Scores are Thomson's (regression); chi-squared of the fit has Bartlett's factor.
    """
    import warnings

    import numpy as np
    from sklearn.decomposition import FactorAnalysis

    n, p = values.shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # slow convergence where a measurement is explained in full, said elsewhere
        model = FactorAnalysis(number, svd_method="lapack", tol=1e-10, max_iter=20000).fit(values)
    unique = np.maximum(model.noise_variance_, 1e-6)
    plain = model.components_.T
    loadings = plain @ varimax(plain) if number > 1 else plain
    loadings = loadings[:, np.argsort(-(loadings**2).sum(axis=0))]
    loadings = loadings * np.where(loadings.sum(axis=0) < 0, -1, 1)
    weights = np.linalg.solve(np.eye(number) + (loadings.T / unique) @ loadings, loadings.T / unique)
    scale = values.std(axis=0)
    implied = (loadings @ loadings.T + np.diag(unique)) / np.outer(scale, scale)
    seen = np.corrcoef(values.T)
    misfit = np.linalg.slogdet(implied)[1] - np.linalg.slogdet(seen)[1] + np.trace(np.linalg.solve(implied, seen)) - p
    freedom = ((p - number) ** 2 - p - number) // 2
    return (loadings / scale[:, None], unique / scale**2, (values - values.mean(axis=0)) @ weights.T,
            float((n - 1 - (2 * p + 5) / 6 - 2 * number / 3) * misfit), int(freedom))  # fmt: skip
