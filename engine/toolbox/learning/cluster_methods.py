"""Cutting rows into groups in three ways, and what the same way finds where there are none.

Two kinds of data without groups are set beside the real ones: one cloud of the same correlations, and rows spread
evenly over the box of the principal components (the reference of the gap statistic). Groups count only where both
show less.
"""

from __future__ import annotations

from engine.toolbox.learning.maps import principal_components


def cut(values, k, way, seed):
    """Return (cluster of every row, 0 to k - 1; Bayesian information criterion, NaN without a model)."""
    from sklearn.cluster import AgglomerativeClustering, KMeans
    from sklearn.mixture import GaussianMixture

    if way == "hierarchical":
        return AgglomerativeClustering(k, linkage="ward").fit(values).labels_, float("nan")
    if way == "mixture":
        shape = "full" if len(values) >= 10 * values.shape[1] else "diag"
        model = GaussianMixture(k, covariance_type=shape, reg_covar=1e-3, random_state=seed).fit(values)
        return model.predict(values), float(model.bic(values))
    return KMeans(k, n_init=3, random_state=seed).fit(values).labels_, float("nan")


def shared_part(one, other):
    """Return the Jaccard overlap of two sets of rows."""
    return (one & other).sum() / max((one | other).sum(), 1)


def silhouette_of(values, labels):
    """Return the mean silhouette, of 1,000 rows where there are more; -1 for a single cluster."""
    from sklearn.metrics import silhouette_score

    few = len(set(labels.tolist())) < 2
    return -1.0 if few else float(silhouette_score(values, labels, sample_size=min(1000, len(values)), random_state=1))


def within_spread(values, labels):
    """Return the log of the summed squared distances of the rows from the means of their clusters."""
    import numpy as np

    total = sum(((values[labels == c] - values[labels == c].mean(axis=0)) ** 2).sum() for c in np.unique(labels))
    return float(np.log(max(total, 1e-300)))


def tried_cuts(values, counts, way, seed):
    """Return k -> (silhouette, log within-cluster spread, BIC, labels) for every number of groups, 1 included."""
    import numpy as np

    found = {}
    for k in counts:
        labels, bic = cut(values, k, way, seed) if k > 1 or way == "mixture" else (np.zeros(len(values), int), np.nan)
        height = silhouette_of(values, labels) if k > 1 else float("nan")
        found[k] = (height, within_spread(values, labels), bic, labels)
    return found


def best_count(found, way):
    """Return (best number of groups above 1, how clear they are): largest silhouette, or lowest BIC and its fall."""
    many = [k for k in found if k > 1]
    if way == "mixture":
        best = min(many, key=lambda k: found[k][2])
        return best, found[1][2] - found[best][2]
    best = max(many, key=lambda k: found[k][0])
    return best, found[best][0]


def without_groups(values, kind, rng):
    """Return data of the same shape without groups: one cloud, or rows spread evenly over the box of the components."""
    import numpy as np

    if kind == "cloud":
        centre = np.zeros(values.shape[1])
        return rng.multivariate_normal(centre, np.cov(values.T), len(values), check_valid="ignore")
    scores, loadings, _ = principal_components(values)
    return rng.uniform(scores.min(axis=0), scores.max(axis=0), scores.shape) @ loadings.T


def gap_statistic(found, evenly):
    """Return (k -> (gap, its error), number of groups by Tibshirani's rule): spread against that of evenly spread rows.

    The rule takes the smallest number whose gap is not less than the next one's by more than its error.
    """
    from itertools import pairwise

    import numpy as np

    gaps = {}
    for k in found:
        logs = np.array([other[k][1] for other in evenly])
        gaps[k] = (float(logs.mean() - found[k][1]), float(logs.std() * np.sqrt(1 + 1 / len(logs))))
    ks = sorted(gaps)
    rule = [k for k, after in pairwise(ks) if gaps[k][0] >= gaps[after][0] - gaps[after][1]]
    return gaps, (rule or ks[-1:])[0]


def stabilities(values, labels, k, way, seed, resamples):
    """Return for every cluster 1 to k the mean Jaccard overlap with its likest one in resamples (Hennig 2007).

    A resample holds the different rows of a bootstrap sample, some 63 in 100: copies would make groups of their own.
    """
    import numpy as np

    rng, overlaps = np.random.default_rng(seed), []
    for _ in range(resamples):
        take = np.unique(rng.integers(0, len(values), len(values)))
        if len(take) <= k:
            continue
        again, own = cut(values[take], k, way, seed)[0], labels[take]
        overlaps.append([max(shared_part(own == c, again == d) for d in range(k)) for c in range(1, k + 1)])
    return np.mean(overlaps, axis=0) if overlaps else np.zeros(k)


def telling_measures(frame, labels):
    """Return a table of what tells the clusters apart: share of variance between them, and means in SD, best first."""
    import pandas as pd

    scaled = (frame - frame.mean()) / frame.std(ddof=0)
    means = scaled.groupby(labels).mean()
    sizes = pd.Series(labels).value_counts().sort_index()
    share = (means**2).mul(sizes, axis=0).sum() / len(frame)
    result = means.T.set_axis([f"mean_sd_{c}" for c in means.index], axis=1)
    result.insert(0, "share_between", share)
    result.insert(0, "measure", list(frame.columns))
    return result.sort_values("share_between", ascending=False, ignore_index=True)
