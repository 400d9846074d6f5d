"""Expected values against statsmodels' own predictions, and values that no model has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from table_steps import run_step

from engine.toolbox.statistics.linear import linear_regression
from engine.toolbox.statistics.logistic import logistic_regression

DRAW = np.random.default_rng(11)
N = 160
PLANTS = pd.DataFrame({"water": DRAW.uniform(2, 20, N).round(1), "soil": DRAW.choice(["clay", "sand", "peat"], N)})
PLANTS["height"] = (
    10 + 1.5 * PLANTS["water"] + PLANTS["soil"].map({"clay": 0, "sand": -4, "peat": 3}) + DRAW.normal(0, 3, N)
)
PLANTS["flowers"] = np.where(DRAW.random(N) < 1 / (1 + np.exp(4 - 0.4 * PLANTS["water"])), "yes", "no")


def test_means_and_single_values_are_those_of_statsmodels(tmp_path):
    result = linear_regression(PLANTS, outcome="height", predictors=["water", "soil"], at=["water=12", "soil=sand"])
    theirs = (
        smf.ols("height ~ water + soil", PLANTS).fit().get_prediction(pd.DataFrame({"water": [12], "soil": ["sand"]}))
    )
    row, other = result["expected"].iloc[0], theirs.summary_frame().iloc[0]
    names = {"expected": "mean", "lower_95": "mean_ci_lower", "upper_95": "mean_ci_upper",
             "new_lower_95": "obs_ci_lower", "new_upper_95": "obs_ci_upper"}  # fmt: skip
    for ours, named in names.items():
        assert row[ours] == pytest.approx(other[named], rel=1e-9), ours
    params = {"outcome": "height", "predictors": ["water", "soil"], "at": ["water=12", "soil=sand"]}
    record, tables, issues = run_step(linear_regression, {"table": PLANTS}, params, tmp_path)
    assert issues == []
    assert tables["expected"].iloc[0]["expected"] == pytest.approx(row["expected"], rel=1e-6)
    assert record["findings"][0]["text"].startswith("At water 12, soil sand height is expected to be ")


def test_chances_are_those_of_statsmodels_for_each_level_that_is_not_named():
    result = logistic_regression(
        PLANTS, outcome="flowers", predictors=["water", "soil"], event_value="yes", at=["water=12"]
    )
    data = PLANTS.assign(event=(PLANTS["flowers"] == "yes").astype(int))
    fit = smf.logit("event ~ water + soil", data).fit(disp=0)
    levels = ["clay", "peat", "sand"]
    theirs = fit.get_prediction(pd.DataFrame({"water": [12.0] * 3, "soil": levels})).summary_frame()
    ours = result["expected"].set_index("at").loc[[f"water 12, soil {level}" for level in levels]]
    np.testing.assert_allclose(ours["expected"], theirs["predicted"], rtol=1e-6)
    np.testing.assert_allclose(ours["lower_95"], theirs["ci_lower"], rtol=1e-4)
    np.testing.assert_allclose(ours["upper_95"], theirs["ci_upper"], rtol=1e-4)
    assert ours["new_lower_95"].isna().all()
    assert "the chance of flowers = yes is expected to be " in result["findings"][0]["text"]


def test_predictors_that_are_not_named_are_averaged_over_the_data():
    result = linear_regression(PLANTS, outcome="height", predictors=["water", "soil"], at=["soil=peat"])
    fit = smf.ols("height ~ water + soil", PLANTS).fit()
    assert result["expected"]["expected"].tolist() == [pytest.approx(fit.predict(PLANTS.assign(soil="peat")).mean())]
    assert "averaged over water" in result["findings"][0]["text"]


def test_several_values_have_a_row_each_and_what_lies_beyond_the_data_is_said():
    result = linear_regression(PLANTS, outcome="height", predictors=["water"], per=5.0, at=["water=5", "water=40"])
    fit = smf.ols("height ~ water", PLANTS).fit()
    np.testing.assert_allclose(result["expected"]["expected"], fit.predict(pd.DataFrame({"water": [5, 40]})), rtol=1e-9)
    assert [w for w in result["warnings"] if "lies outside the data" in w and w.startswith("water 40")]


@pytest.mark.parametrize(
    ("at", "says"),
    [
        ("shade=1", "names no predictor with its value"),
        ("water", "names no predictor with its value"),
        ("water=much", "water is a number; 'much' is none"),
        ("soil=loam", "soil has no level 'loam'; it has"),
    ],
)
def test_values_that_no_model_has_are_refused(at, says):
    with pytest.raises(ValueError, match=says):
        linear_regression(PLANTS, outcome="height", predictors=["water", "soil"], at=[at])
