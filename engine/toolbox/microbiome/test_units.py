"""Comparisons of many values at once beside scipy, statsmodels and the t test of the units' means."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.oneway import anova_oneway

from engine.toolbox.microbiome.units import (
    benjamini_hochberg,
    compared,
    counted_units,
    holm,
    how_units_lie,
    random_intercepts,
)

RNG = np.random.default_rng(8)
CAGES = np.repeat([f"c{n}" for n in range(10)], 3)
DIET = np.where(np.repeat(np.arange(10), 3) < 5, "hay", "oats")


def caged(shift=0.0, between=1.0, items=4):
    y = RNG.normal(0, 1, (30, items)) + np.repeat(RNG.normal(0, between, (10, items)), 3, axis=0)
    return y + shift * (DIET == "hay")[:, None]


def test_how_samples_share_units_is_told_from_the_data():
    assert how_units_lie(DIET, None) == "none"
    assert how_units_lie(DIET, CAGES) == "between"
    assert how_units_lie(["a", "b"] * 4, np.repeat(list("wxyz"), 2)) == "paired"
    assert how_units_lie(["a", "b"] * 6, np.repeat(list("xyz"), 4)) == "within"
    assert how_units_lie(["a", "b"] * 2, list("wxyz")) == "none", "a unit of its own for each sample"


def test_two_groups_are_compared_by_welch():
    y, labels = RNG.normal(0, 1, (20, 3)), np.array(["a"] * 8 + ["b"] * 12)
    found = compared(y, labels, ["a", "b"], None, "")["pairs"][0]
    theirs = stats.ttest_ind(y[:8], y[8:], equal_var=False)
    assert found["p_value"] == pytest.approx(theirs.pvalue)
    assert found["lower_95"] == pytest.approx(theirs.confidence_interval().low)


def test_several_groups_are_compared_by_welchs_f():
    y, labels = RNG.normal(0, 1, 24), np.repeat(["a", "b", "c"], 8)
    found = compared(y[:, None], labels, ["a", "b", "c"], None, "")
    theirs = anova_oneway([y[labels == level] for level in "abc"], use_var="unequal")
    assert found["overall"][0] == pytest.approx(theirs.pvalue)
    raw = [pair["p_value"][0] for pair in found["pairs"]]
    assert [pair["p_adj"][0] for pair in found["pairs"]] == pytest.approx(multipletests(raw, method="holm")[1])


def test_pairs_are_compared_by_their_differences_and_odd_ones_are_told():
    labels, units = np.array(["a", "b"] * 6 + ["a"]), [*np.repeat(list("uvwxyz"), 2), "q"]
    y = RNG.normal(0, 1, (13, 2)) + np.array([{"q": 9}.get(u, ord(u)) for u in units])[:, None]
    found = compared(y, labels, ["a", "b"], units, "donor")
    theirs = stats.ttest_rel(y[:12:2], y[1:12:2])
    assert found["pairs"][0]["p_value"] == pytest.approx(theirs.pvalue)
    assert "1 samples without a partner" in found["notes"][0]
    assert "paired by donor" in found["test"]


def test_the_mixed_model_is_that_of_statsmodels():
    for shift, between in ((0.0, 1.0), (1.5, 0.6)):
        y = caged(shift, between, 3)
        design = np.column_stack([DIET == "hay", DIET == "oats"]).astype(float)
        beta, covariance, share = random_intercepts(y, design, CAGES)
        for item in range(3):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = MixedLM(y[:, item], design, CAGES).fit(reml=True)
            assert beta[:, item] == pytest.approx(theirs.fe_params, abs=1e-4)
            assert np.sqrt(np.diag(covariance[item])) == pytest.approx(theirs.bse_fe, rel=2e-3)
            variance = float(np.asarray(theirs.cov_re)[0, 0])
            assert share[item] == pytest.approx(variance / (variance + theirs.scale), abs=3e-3)


def test_unequal_cages_and_groups_within_cages_agree_with_statsmodels_too():
    keep = np.delete(np.arange(30), [0, 4, 17, 29])
    y = caged(1.0, 1.2, 1)[keep]
    within = np.array(["f", "m", "f"] * 10)[keep]
    design = np.column_stack([within == "f", within == "m"]).astype(float)
    beta, covariance, _ = random_intercepts(y, design, CAGES[keep])
    theirs = MixedLM(y[:, 0], design, CAGES[keep]).fit(reml=True)
    assert beta[:, 0] == pytest.approx(theirs.fe_params, abs=1e-4)
    assert np.sqrt(np.diag(covariance[0])) == pytest.approx(theirs.bse_fe, rel=2e-3)
    found = compared(y, within, ["f", "m"], CAGES[keep], "cage")
    assert found["pairs"][0]["df"][0] == len(keep) - 10 - 1


def test_of_equal_cages_the_model_is_the_t_test_of_their_means():
    y = caged(1.0, 2.0, 6)
    found = compared(y, DIET, ["hay", "oats"], CAGES, "cage")
    means = pd.DataFrame(y).groupby(CAGES).mean()
    hay = pd.Series(DIET).groupby(CAGES).first() == "hay"
    theirs = stats.ttest_ind(means[hay], means[~hay])
    assert found["pairs"][0]["p_value"] == pytest.approx(theirs.pvalue, rel=1e-4)
    assert found["pairs"][0]["lower_95"] == pytest.approx(theirs.confidence_interval().low, rel=1e-3, abs=1e-4)
    assert found["units"] == {"hay": 5, "oats": 5}
    assert counted_units(found, "Cage") == "5 cages each, 30 samples"


def test_without_an_effect_one_in_twenty_is_found_though_cages_differ_much():
    """Taken as independent, the mice of a cage would give a difference in about a third of such data."""
    y = np.repeat(np.random.default_rng(2).normal(0, 1, (10, 3000)), 3, axis=0)
    y += np.random.default_rng(3).normal(0, 1, y.shape)
    p = compared(y, DIET, ["hay", "oats"], CAGES, "cage")["overall"]
    assert 0.03 < float((p < 0.05).mean()) < 0.06
    assert float((compared(y, DIET, ["hay", "oats"], None, "")["overall"] < 0.05).mean()) > 0.15


def test_several_groups_of_cages_have_one_overall_p():
    three = np.repeat(np.repeat(["a", "b", "c"], [4, 3, 3]), 3)
    y = caged(0, 2.0, 2)
    found = compared(y, three, ["a", "b", "c"], CAGES, "cage")
    means = pd.DataFrame(y).groupby(CAGES).mean()
    groups = pd.Series(three).groupby(CAGES).first()
    theirs = stats.f_oneway(*(means[groups == level] for level in "abc"))
    assert found["overall"] == pytest.approx(theirs.pvalue, rel=1e-3)


def test_adjusted_p_values_are_those_of_statsmodels():
    p = RNG.uniform(0, 0.2, 15)
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1])
    with_gap = np.insert(p, 4, np.nan)
    assert np.delete(benjamini_hochberg(with_gap), 4) == pytest.approx(multipletests(p, method="fdr_bh")[1])
    assert holm(p[:, None])[:, 0] == pytest.approx(multipletests(p, method="holm")[1])


def test_a_group_of_one_cage_is_refused_by_name():
    labels = np.where(CAGES == "c0", "hay", "oats")
    with pytest.raises(ValueError, match="hay has 1"):
        compared(caged(), labels, ["hay", "oats"], CAGES, "cage")
