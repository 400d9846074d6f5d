"""Partial correlation against Yule's recursion, the inverse correlation matrix and the t of a regression."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from plan_questions import profile_files, the_planner
from table_steps import check_issues, run_step

from engine.toolbox.statistics.partial import partial_correlation

RNG = np.random.default_rng(3)
LENGTH = RNG.normal(30, 5, 60)
FISH = pd.DataFrame({"mercury": LENGTH * 0.02 + RNG.normal(0, 0.1, 60), "age": LENGTH / 6 + RNG.normal(0, 1, 60),
                     "length": LENGTH, "depth": RNG.normal(10, 3, 60), "lake": RNG.choice(["A", "B", "C"], 60)})  # fmt: skip


def partial_row(table, held, **params):
    return partial_correlation(table, x="mercury", y="age", held=held, **params)["partial"].iloc[0]


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_one_held_column_follows_yules_formula(method):
    r = FISH[["mercury", "age", "length"]].corr(method=method).to_numpy()
    expected = (r[0, 1] - r[0, 2] * r[1, 2]) / math.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2))  # Yule 1907
    assert partial_row(FISH, ["length"], method=method)["r"] == pytest.approx(expected)


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_two_held_columns_follow_the_inverse_matrix_as_ppcor_does(method):
    names = ["mercury", "age", "length", "depth"]
    inverse = np.linalg.inv(FISH[names].corr(method=method).to_numpy())
    row = partial_row(FISH, ["length", "depth"], method=method)
    assert row["r"] == pytest.approx(-inverse[0, 1] / math.sqrt(inverse[0, 0] * inverse[1, 1]))
    assert row["t"] == pytest.approx(row["r"] * math.sqrt((60 - 2 - 2) / (1 - row["r"] ** 2)))


def test_t_and_p_are_those_of_the_regression_with_a_group_held(tmp_path):
    params = {"x": "mercury", "y": "age", "held": ["length", "lake"]}
    record, tables, issues = run_step(partial_correlation, {"table": FISH}, params, tmp_path)
    design = pd.get_dummies(FISH[["mercury", "length", "lake"]], columns=["lake"], drop_first=True, dtype=float)
    fit = sm.OLS(FISH["age"], sm.add_constant(design)).fit()
    row = tables["partial"].set_index("correlation").loc["partial"]
    assert not issues
    assert (row["t"], row["p_value"], row["df"]) == pytest.approx((fit.tvalues["mercury"], fit.pvalues["mercury"], 55))
    assert row["lower_95"] == pytest.approx(
        math.tanh(math.atanh(row["r"]) - 1.959964 / math.sqrt(60 - 3 - 3)), abs=1e-6
    )
    assert "With length, lake held constant mercury and age" in record["findings"][0]["text"]


def test_a_common_cause_explains_the_correlation_away():
    text = partial_correlation(FISH, x="mercury", y="age", held=["length"])["findings"][0]["text"]
    assert "not shown to go together any more" in text


def test_order_scale_and_swap_change_nothing():
    one = partial_row(FISH, ["length", "lake"])
    moved = FISH.iloc[::-1].assign(mercury=lambda t: 5 + 1000 * t["mercury"], length=lambda t: t["length"] / 10)
    assert partial_row(moved, ["lake", "length"])["r"] == pytest.approx(one["r"])
    swapped = partial_correlation(FISH, x="age", y="mercury", held=["length", "lake"])["partial"].iloc[0]
    assert swapped["r"] == pytest.approx(one["r"])
    assert partial_row(FISH.assign(mercury=-FISH["mercury"]), ["length", "lake"])["r"] == pytest.approx(-one["r"])


def test_gaps_and_doubled_columns_are_said():
    table = FISH.assign(twice=FISH["length"] * 2)
    table.loc[3, "length"] = None
    result = partial_correlation(table, x="mercury", y="age", held=["length", "twice"])
    assert result["partial"].loc[0, ["n", "held"]].tolist() == [59, 1]
    assert any("1 of 60 rows were left out" in text for text in result["warnings"])
    assert any("says the same twice" in text for text in result["warnings"])


BAD = {
    "nothing held": ({"held": []}, "hold constant"),
    "held twice": ({"held": ["age"]}, "different columns"),
    "determined": ({"held": ["double"]}, "fully determined"),
    "constant": ({"held": ["depth"], "x": "same"}, "same value"),
    "few": ({"held": ["length"], "rows": 5}, "too few"),
    "unknown": ({"held": ["lenght"]}, "did you mean 'length'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = dict(BAD[case][0]), BAD[case][1]
    table = FISH.assign(double=FISH["mercury"] * 2 + 1, same=1.0).head(params.pop("rows", 60))
    with pytest.raises(ValueError, match=r".") as error:
        partial_correlation(table, **({"x": "mercury", "y": "age"} | params))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_wrong_interval_is_caught(tmp_path):
    frame = partial_correlation(FISH, x="mercury", y="age", held=["length"])["partial"]
    assert check_issues(["correlations_in_their_intervals"], {"partial": frame}, tmp_path) == []
    wrong = {"partial": frame.assign(lower_95=0.99)}
    assert "correlation_outside_interval" in check_issues(["correlations_in_their_intervals"], wrong, tmp_path)


def test_a_plain_question_plans_it_with_what_is_held(tmp_path):
    path = tmp_path / "fish.csv"
    FISH.round(3).to_csv(path, index=False)
    planner = the_planner()
    question = "Do mercury and age still go together with length held constant?"
    node = planner.plan(question, profile_files([path])).plan.nodes[-1]
    assert node.tool == "partial_correlation"
    assert (node.params["x"], node.params["y"], node.params["held"]) == ("mercury", "age", ["length"])


def test_codes_held_constant_are_groups_where_named_so():
    """With codes as groups it is the correlation of what is left of both after their group means."""
    rng = np.random.default_rng(9)
    site = rng.integers(1, 5, 150)
    shift = np.array([0.0, 9.0, -4.0, 3.0])[site - 1]
    table = pd.DataFrame({"site": site, "ldh": shift + rng.normal(0, 1, 150), "crp": 2 * shift + rng.normal(0, 1, 150)})
    asked = {"x": "ldh", "y": "crp", "held": ["site"]}
    left = table[["ldh", "crp"]] - table.groupby("site")[["ldh", "crp"]].transform("mean")
    found = partial_correlation(table, **asked, categorical=["site"])["partial"]["r"][0]
    assert found == pytest.approx(left["ldh"].corr(left["crp"]))
    assert abs(partial_correlation(table, **asked)["partial"]["r"][0]) > 0.8
