"""Maps, factors and clusters against scikit-learn, likelihood maximised another way, closed forms and data without any."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.distance import pdist, squareform
from table_steps import run_step

from engine.toolbox.learning.cluster_methods import gap_statistic, tried_cuts, without_groups
from engine.toolbox.learning.clusters import cluster_samples
from engine.toolbox.learning.components import principal_component_analysis
from engine.toolbox.learning.maps import (
    classical_scaling,
    common_factors,
    kept_distances,
    kept_neighbours,
    metric_scaling,
    principal_components,
    varimax,
)

LOADINGS = np.array([[0.9, 0], [0.8, 0], [0.7, 0], [0, 0.8], [0, 0.7], [0, 0.6]])
"""What two factors give to six measurements of unit variance."""


def exact_sample(n=200):
    """Return rows whose correlations are exactly those of the two factors."""
    truth = LOADINGS @ LOADINGS.T
    np.fill_diagonal(truth, 1)
    plain = np.random.default_rng(3).normal(size=(n, 6))
    plain -= plain.mean(axis=0)
    white = np.linalg.solve(np.linalg.cholesky(np.cov(plain.T)), plain.T).T
    return pd.DataFrame(white @ np.linalg.cholesky(truth).T, columns=list("abcdef"))


def blobs(gap, n=40, shape=4):
    rng = np.random.default_rng(4)
    values = rng.normal(size=(3 * n, shape)) + gap * np.repeat(np.eye(3, shape), n, axis=0)
    return pd.DataFrame(values, columns=list("abcd")[:shape])


def evenly(n=150, columns=2, seed=3):
    return pd.DataFrame(np.random.default_rng(seed).random((n, columns)), columns=list("abcdef")[:columns])


def test_factors_that_were_put_in_come_out():
    result = principal_component_analysis(exact_sample(), method="factor", factors=2)
    table = result["factors"].set_index("measure")
    assert table[["F1", "F2"]].to_numpy() == pytest.approx(LOADINGS, abs=1e-3)
    assert table["uniqueness"].tolist() == pytest.approx((1 - (LOADINGS**2).sum(axis=1)).tolist(), abs=1e-3)
    fit = result["fit"].set_index("map").loc["all factors"]
    assert fit["df"] == 4  # ((6 - 2)^2 - (6 + 2)) / 2
    assert fit["chi_squared"] == pytest.approx(0, abs=1e-3)
    by_chance = principal_component_analysis(exact_sample(), method="factor")
    assert "2 factors (as many as rise above shuffled data)" in by_chance["findings"][0]["text"]


@pytest.mark.slow
def test_factors_are_those_of_the_likelihood_maximised_another_way():
    """Deviance of one factor in the iris measures, minimised over 4 loadings and 4 uniquenesses by BFGS."""
    from sklearn.datasets import load_iris

    values = load_iris().data
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    seen, p = np.corrcoef(values.T), 4

    def deviance(free):
        implied = np.outer(free[:p], free[:p]) + np.diag(np.exp(free[p:]))
        logdet = np.linalg.slogdet(implied)[1]
        return logdet + np.trace(np.linalg.solve(implied, seen)) - np.linalg.slogdet(seen)[1] - p

    best = minimize(deviance, [0.8, -0.3, 0.9, 0.9, -1, -0.5, -2, -2], method="BFGS", options={"gtol": 1e-8})
    loadings, unique, _, misfit, freedom = common_factors(values, 1)
    assert freedom == 2
    factor = len(values) - 1 - (2 * p + 5) / 6 - 2 / 3
    assert misfit == pytest.approx(factor * best.fun, rel=2e-3)
    assert np.abs(loadings[:, 0]) == pytest.approx(np.abs(best.x[:p]), abs=5e-3)
    assert unique == pytest.approx(np.exp(best.x[p:]), abs=5e-3)


def test_varimax_is_the_best_of_all_turns_of_two_axes():
    rng = np.random.default_rng(1)
    loadings = rng.normal(size=(8, 2))
    scaled = loadings / np.sqrt((loadings**2).sum(axis=1, keepdims=True))

    def simplicity(turn):
        return ((scaled @ turn) ** 2).var(axis=0).sum()

    angles = np.linspace(0, np.pi / 2, 20001)
    best = max(simplicity(np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])) for a in angles)
    assert simplicity(varimax(loadings)) == pytest.approx(best, rel=1e-6)


def test_classical_scaling_gives_back_a_plane_and_is_pca_for_its_distances():
    plane = np.random.default_rng(2).normal(size=(30, 2))
    assert pdist(classical_scaling(squareform(pdist(plane)))) == pytest.approx(pdist(plane))
    result = principal_component_analysis(blobs(3), method="classical_mds")
    places = result["scores"]
    assert places["classical MDS 1"].abs().tolist() == pytest.approx(places["PC1"].abs().tolist(), abs=1e-8)
    assert places["classical MDS 2"].abs().tolist() == pytest.approx(places["PC2"].abs().tolist(), abs=1e-8)


def test_metric_scaling_has_no_more_stress_than_that_of_scikit_learn():
    from sklearn.manifold import smacof

    distances = squareform(pdist(blobs(2, 15).to_numpy()))
    mine = metric_scaling(distances, classical_scaling(distances))
    other, _ = smacof(distances, n_components=2, init=classical_scaling(distances), n_init=1, max_iter=500, eps=1e-10,
                      normalized_stress=False)  # fmt: skip
    stress = [((squareform(pdist(points)) - distances) ** 2).sum() for points in (mine, other)]
    assert stress[0] <= stress[1] * 1.001


def test_what_a_map_kept_is_counted_as_by_hand():
    values = np.random.default_rng(1).normal(size=(30, 3))
    points = values[:, :2]
    k, kept = kept_neighbours(values, points)
    near = [[set(np.argsort(np.where(np.arange(30) == i, np.inf, row))[:k]) for i, row in enumerate(squareform(pdist(x)))]
            for x in (values, points)]  # fmt: skip
    assert k == 6
    assert kept == pytest.approx(np.mean([len(a & b) / k for a, b in zip(*near, strict=True)]))
    assert kept_distances(values, values) == pytest.approx((1.0, 0.0))


def test_tsne_keeps_neighbours_and_says_what_it_does_not_keep(tmp_path):
    record, tables, issues = run_step(
        principal_component_analysis, {"table": blobs(8)}, {"method": "tsne", "scaled": True}, tmp_path
    )
    assert issues == []
    fit = tables["fit"].set_index("map")
    assert fit.loc["t-SNE", "neighbours_kept"] > fit.loc["two principal components", "neighbours_kept"]
    assert {"t-SNE 1", "t-SNE 2"} <= set(tables["scores"])
    assert "distances between them" in " ".join(record["warnings"])
    noise = principal_component_analysis(pd.DataFrame(np.random.default_rng(1).normal(size=(100, 6))).add_prefix("x"),
                                         method="tsne")  # fmt: skip
    assert "clumps on the t-SNE map would be made by the method" in " ".join(noise["warnings"])


@pytest.mark.parametrize("method", ["mds", "factor"])
def test_other_maps_run_from_their_own_source(method, tmp_path):
    record, tables, issues = run_step(principal_component_analysis, {"table": exact_sample(60)}, {"method": method},
                                      tmp_path)  # fmt: skip
    assert issues == []
    assert len(tables["scores"]) == 60
    assert len(record["findings"][0]["values"]) >= 1


@pytest.mark.parametrize(("table", "params", "words"), [
    (exact_sample()[["a", "b"]], {"method": "factor"}, "at least three"),
    (exact_sample(), {"method": "factor", "factors": 5}, "expected at most 3"),
    (exact_sample().head(6), {"method": "factor"}, "more rows than"),
])  # fmt: skip
def test_factors_that_cannot_be_found_are_refused(table, params, words):
    with pytest.raises(ValueError, match=words):
        principal_component_analysis(table, **params)


QUICK = {"resamples": 25, "most": 5}


@pytest.mark.parametrize(
    "method", ["kmeans", *(pytest.param(method, marks=pytest.mark.slow) for method in ("hierarchical", "mixture"))]
)
def test_three_clouds_are_found_and_noise_has_no_groups(method, tmp_path):
    from sklearn.metrics import adjusted_rand_score

    record, tables, issues = run_step(cluster_samples, {"table": blobs(8)}, {"method": method, **QUICK}, tmp_path)
    assert issues == []
    assert adjusted_rand_score(np.repeat([0, 1, 2], 40), tables["members"]["cluster"]) == 1
    assert tables["clusters"]["stability"].min() > 0.9
    assert "fall into 3 groups" in record["findings"][0]["text"]
    for noise in (evenly(), evenly(columns=4, seed=1), blobs(0)):
        found = cluster_samples(noise, method=method, **QUICK)
        assert found["findings"][0]["text"].startswith("No clear groups")
        assert len(found["findings"]) == 1


@pytest.mark.slow
def test_noise_is_seldom_taken_for_groups():
    calls = sum("fall into" in cluster_samples(evenly(60, 2, seed), resamples=20, most=3)["findings"][0]["text"]
                for seed in range(20))  # fmt: skip
    assert calls <= 3  # 1 expected at 5 %


def test_hierarchical_groups_are_scipys_and_the_mixture_scikit_learns():
    from scipy.cluster.hierarchy import fcluster, linkage
    from sklearn.metrics import adjusted_rand_score
    from sklearn.mixture import GaussianMixture

    table = blobs(3)
    values = ((table - table.mean()) / table.std(ddof=1)).to_numpy()
    by_value = np.lexsort(values.round(9).T)  # starts are drawn among the rows as the tool sorts them
    ward = cluster_samples(table, method="hierarchical", k=3, resamples=10)
    assert adjusted_rand_score(fcluster(linkage(values, "ward"), 3, "maxclust"), ward["members"]["cluster"]) == 1
    mixed = cluster_samples(table, method="mixture", resamples=10, most=4)["choice"].set_index("k")
    for k in (1, 2, 3, 4):
        plain = GaussianMixture(k, reg_covar=1e-3, random_state=1).fit(values[by_value])
        assert mixed.loc[k, "bic"] == pytest.approx(plain.bic(values))


def test_gap_statistic_by_hand():
    """Expected and seen log of the within-cluster sums of squares (KMeans' inertia), Tibshirani's rule."""
    from sklearn.cluster import KMeans

    table = blobs(6)
    values = ((table - table.mean()) / table.std(ddof=1)).to_numpy()
    rng = np.random.default_rng(1)
    others = [without_groups(values, "even", rng) for _ in range(10)]
    gaps, best = gap_statistic(tried_cuts(values, [1, 2, 3, 4], "kmeans", 1),
                               [tried_cuts(other, [1, 2, 3, 4], "kmeans", 1) for other in others])  # fmt: skip

    def log_spread(x, k):
        return np.log(KMeans(k, n_init=3, random_state=1).fit(x).inertia_)

    for k in (1, 2, 3, 4):
        logs = [log_spread(other, k) for other in others]
        assert gaps[k][0] == pytest.approx(np.mean(logs) - log_spread(values, k))
        assert gaps[k][1] == pytest.approx(np.std(logs) * np.sqrt(1.1))
    assert best == 3


def test_what_tells_the_groups_apart_is_the_share_between_them():
    table = blobs(8)
    found = cluster_samples(table, k=3, resamples=10)
    rows, cluster = found["differences"].set_index("measure"), found["members"]["cluster"]
    for name in table:
        between = table[name].groupby(cluster).transform("mean").var(ddof=0)
        assert rows.loc[name, "share_between"] == pytest.approx(between / table[name].var(ddof=0))
    assert rows.index[-1] == "d"  # the only column without groups


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(st.floats(0.01, 100), st.integers(0, 99))
def test_unit_and_row_order_do_not_change_the_groups(factor, seed):
    from sklearn.metrics import adjusted_rand_score

    table = blobs(8, 15).rename_axis(None)
    order = np.random.default_rng(seed).permutation(len(table))
    plain = cluster_samples(table, resamples=10, most=4)["members"]["cluster"].to_numpy()
    moved = cluster_samples((table * factor).iloc[order], resamples=10, most=4)["members"]["cluster"].to_numpy()
    assert adjusted_rand_score(plain[order], moved) == 1


def test_components_of_two_columns_keep_their_sign_whatever_the_rounding():
    values = np.random.default_rng(4).normal(size=(40, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
    values = (values - values.mean(axis=0)) / values.std(axis=0)  # loadings of 0.707 each, -0.707 and 0.707
    for seed in range(20):  # the order of rows changes the rounding, as another machine does
        _, loadings, _ = principal_components(np.random.default_rng(seed).permutation(values))
        assert np.sign(loadings).tolist() == [[1, 1], [1, -1]]
