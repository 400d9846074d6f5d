"""Dissimilarities beside scikit-bio's documented ones, PERMANOVA worked by hand, and what must be refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform
from taxa_steps import mice, run_taxa

from engine.toolbox.microbiome.distances import (
    bray_curtis,
    dissimilarities,
    distances_to_centres,
    ordination,
    permanova,
    principal_coordinates,
    pseudo_f,
    shuffled,
)

COUNTS, SHEET = mice()
SKBIO = np.array(
    [[23, 64, 14, 0, 0, 3, 1], [0, 3, 35, 42, 0, 12, 1], [0, 5, 5, 0, 40, 40, 0],
     [44, 35, 9, 0, 1, 0, 0], [0, 2, 8, 0, 35, 45, 1], [0, 0, 25, 35, 0, 19, 0]], dtype=float
)  # fmt: skip
"""The table of the introduction to scikit-bio's diversity, six samples of seven taxa."""


def test_bray_curtis_is_that_of_scikit_bios_introduction():
    distances = bray_curtis(SKBIO)
    assert distances[0] == pytest.approx([0, 0.78787879, 0.86666667, 0.30927835, 0.85714286, 0.81521739], abs=5e-9)
    assert distances[4] == pytest.approx([0.85714286, 0.75, 0.09392265, 0.87777778, 0, 0.68235294], abs=5e-9)


def test_other_dissimilarities_are_scipys():
    frame = pd.DataFrame(SKBIO.T)
    assert dissimilarities(frame, "jaccard") == pytest.approx(squareform(pdist(SKBIO > 0, "jaccard")))
    logs = np.log(SKBIO + 0.5)
    clr = logs - logs.mean(axis=1, keepdims=True)
    assert dissimilarities(frame, "aitchison") == pytest.approx(squareform(pdist(clr)))
    shares = SKBIO / SKBIO.sum(axis=1, keepdims=True)
    assert dissimilarities(frame, "bray_curtis") == pytest.approx(squareform(pdist(shares, "braycurtis")))


def test_pseudo_f_by_hand():
    """In all (1 + 1 + 16 + 9 + 4 + 9) / 4 = 10, within 1 / 2 + 9 / 2 = 5, so F = (5 / 1) / (5 / 2) = 2."""
    distances = np.array([[0, 1, 1, 4], [1, 0, 3, 2], [1, 3, 0, 3], [4, 2, 3, 0]], dtype=float)
    f, between, within, total = pseudo_f(distances**2, np.array([0, 0, 1, 1]), 2)
    assert (f, between, within, total) == (2, 5, 5, 10)


def test_of_one_measurement_it_is_the_f_of_an_analysis_of_variance():
    from scipy import stats

    x = np.random.default_rng(1).normal(0, 1, 15)
    codes = np.repeat([0, 1, 2], 5)
    f = pseudo_f((x[:, None] - x[None, :]) ** 2, codes, 3)[0]
    assert f == pytest.approx(stats.f_oneway(x[:5], x[5:10], x[10:]).statistic)
    away = distances_to_centres((x[:, None] - x[None, :]) ** 2, codes, 3)
    assert away[:5] == pytest.approx(np.abs(x[:5] - x[:5].mean()))


def test_principal_coordinates_give_the_distances_back():
    points = np.random.default_rng(2).normal(0, 1, (8, 3))
    distances = squareform(pdist(points))
    found, shares = principal_coordinates(distances)
    assert found.shape[1] == 3
    assert squareform(pdist(found)) == pytest.approx(distances)
    centred = points - points.mean(axis=0)
    singular = np.linalg.svd(centred)[1] ** 2
    assert shares == pytest.approx(singular / singular.sum())


def test_cages_stay_together_and_samples_stay_in_their_block():
    rng, codes = np.random.default_rng(0), np.repeat([0, 1], 6)
    cages = np.repeat(list("abcd"), 3)
    for _ in range(50):
        order = shuffled(codes, cages, "between", rng)
        assert all(len({*order[cages == cage]}) == 1 for cage in "abcd")
        assert sorted(order) == sorted(codes)
    blocks, inner = np.resize(list("xyz"), 12), np.tile([0, 0, 0, 1, 1, 1], 2)
    for _ in range(50):
        order = shuffled(inner, blocks, "within", rng)
        assert all(sorted(order[blocks == b]) == sorted(inner[blocks == b]) for b in "xyz")


def test_p_is_even_where_nothing_differs_though_cages_do():
    """Mice permuted one by one would find a difference in far more than one of twenty such data."""
    found = []
    for seed in range(60):
        counts, sheet = mice(taxa=6, seed=100 + seed)
        quiet = counts.drop(index=["G0", "G1"])
        params = {"group": "diet", "permutations": 99}
        found.append(
            [float(permanova(quiet, sheet, unit=unit, **params)["permanova"]["p_value"][0]) for unit in ("cage", "")]
        )
    held, loose = (np.array(found) <= 0.05).mean(axis=0)
    assert held <= 0.15
    assert loose > held


def test_a_difference_that_was_put_in_is_found_and_the_step_holds(tmp_path):
    params = {"group": "diet", "unit": "cage", "permutations": 199}
    record, tables, said = run_taxa(permanova, {"taxa": COUNTS, "samples": SHEET}, params, tmp_path)
    assert not said
    row = tables["permanova"].set_index("source").loc["groups"]
    assert row["p_value"] < 0.1
    assert 0 < row["r_squared"] < 1
    text = record["findings"][0]["text"]
    assert "199 permutations of each cage as a whole; 4 cages each, 24 samples" in text
    assert "spread" in record["findings"][1]["text"]
    assert any("only 70 ways" in warning for warning in record["warnings"])


def test_the_same_seed_gives_the_same_p():
    params = {"group": "diet", "permutations": 199}
    first, again = (permanova(COUNTS, SHEET, **params)["permanova"]["p_value"][0] for _ in range(2))
    assert first == again


def test_spread_that_differs_is_a_caveat():
    chance = np.random.default_rng(4)
    base = chance.uniform(50, 200, 15)[:, None]
    spread = np.where((SHEET["diet"] == "oats").to_numpy(), 1.6, 0.15)
    counts = pd.DataFrame(chance.poisson(base * np.exp(chance.normal(0, 1, (15, 24)) * spread)), columns=SHEET.index)
    counts.index = [f"G{n}" for n in range(15)]
    result = permanova(counts, SHEET, group="diet")
    assert "differ in their spread" in result["findings"][1]["text"]
    assert float(result["dispersion"]["p_value"][0]) < 0.05
    if float(result["permanova"]["p_value"][0]) < 0.05:
        assert any("also differ in their spread" in warning for warning in result["warnings"])


def test_the_map_holds_with_groups_and_without(tmp_path):
    for name, inputs, params in (
        ("groups", {"taxa": COUNTS, "samples": SHEET}, {"group": "diet"}),
        ("alone", {"taxa": COUNTS}, {"metric": "aitchison"}),
    ):
        folder = tmp_path / name
        folder.mkdir()
        record, tables, said = run_taxa(ordination, inputs, params, folder)
        assert not said
        assert record["findings"][0]["text"].startswith("PCo1 shows ")
        assert tables["axes"]["percent"].sum() == pytest.approx(100)


@pytest.mark.parametrize(
    ("tool", "taxa", "samples", "params", "says"),
    [
        (permanova, COUNTS, SHEET, {"group": "breed"}, "breed"),
        (permanova, COUNTS, SHEET.assign(diet="hay"), {"group": "diet"}, "nothing to compare"),
        (permanova, COUNTS, SHEET.iloc[[0, *range(12, 20)]], {"group": "diet"}, "oats has 1"),
        (permanova, COUNTS.iloc[:1] + 1, SHEET, {"group": "diet"}, "no variation"),
        (permanova, -COUNTS, SHEET, {"group": "diet"}, "negative values"),
        (ordination, COUNTS.iloc[:, :2], None, {}, "at least 3"),
        (ordination, COUNTS.iloc[:1] + 1, None, {}, "alike in every taxon"),
        (ordination, COUNTS, None, {"group": "diet"}, "no list of the samples"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_a_sentence(tool, taxa, samples, params, says):
    with pytest.raises(ValueError, match=says):
        tool(taxa, samples, **params)
