"""Holm and Bonferroni over many columns, Firth's likelihood where it is asked for, counts as rows, ends of a factor."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.toolbox.statistics.logistic import firth_rows, logistic_regression
from engine.toolbox.statistics.mixed import mixed_model
from engine.toolbox.statistics.screening import compare_columns
from engine.toolbox.tables.tallies import one_row_each

DRAW = np.random.default_rng(9)


@pytest.fixture(scope="module")
def table():
    shift = np.repeat([0, 1], 20)
    return pd.DataFrame({"herd": np.repeat(["A", "B"], 20), **{
        f"m{k}": DRAW.normal(0, 1, 40) + shift * size for k, size in enumerate([0.0, 0.4, 0.8, 1.2])}})  # fmt: skip


def test_holm_is_the_largest_so_far_of_p_times_the_tests_that_are_left(table):
    found = compare_columns(table, group="herd", correction="holm")["screening"].sort_values("p_value")
    p = found["p_value"].to_numpy()
    by_hand = np.minimum(1.0, np.maximum.accumulate(p * np.arange(len(p), 0, -1)))
    assert found["p_adj"].to_numpy() == pytest.approx(by_hand)


def test_bonferroni_is_p_times_the_number_of_tests(table):
    found = compare_columns(table, group="herd", correction="bonferroni")["screening"]
    assert found["p_adj"].to_numpy() == pytest.approx(np.minimum(1, 4 * found["p_value"].to_numpy()))


@pytest.mark.parametrize("correction", ["holm", "bonferroni"])
def test_the_sentence_names_the_correction(correction):
    shift = np.repeat([0, 1], 30)
    wide = pd.DataFrame(
        {"herd": np.repeat(["A", "B"], 30), **{f"m{k}": DRAW.normal(0, 1, 60) + shift for k in range(8)}}
    )
    text = compare_columns(wide, group="herd", correction=correction)["findings"][0]["text"]
    assert f"family-wise error ({correction.capitalize()})" in text


def test_firth_is_used_where_it_is_asked_for_though_nothing_is_separated():
    x = DRAW.normal(0, 1, 60)
    event = (DRAW.random(60) < 1 / (1 + np.exp(2 - x))).astype(int)
    data = pd.DataFrame({"x": x, "ill": event})
    plain = logistic_regression(data, outcome="ill", predictors=["x"], event_value="1")["coefficients"]
    asked = logistic_regression(data, outcome="ill", predictors=["x"], event_value="1", penalised=True)
    fitted, _ = firth_rows(np.column_stack([np.ones(60), x]), event.astype(float))
    own = asked["coefficients"].set_index("term").loc["x"]
    assert own["coef"] == pytest.approx(fitted[1]["coef"], abs=1e-6)
    assert own["p_value"] == pytest.approx(fitted[1]["p_value"], abs=1e-6)
    assert set(asked["coefficients"]["method"]) == {"Firth"}
    assert abs(own["coef"]) < abs(plain.set_index("term").loc["x", "coef"]), "the penalty draws towards none"
    assert not any("separate" in text for text in asked["warnings"])


def test_a_factor_that_matters_names_where_it_is_highest_and_lowest():
    pens = np.repeat(np.arange(24), 10)
    feed = np.array(["barley", "maize", "oats"])[pens % 3]
    chance = np.select([feed == "barley", feed == "maize"], [0.2, 0.5], 0.8)
    data = pd.DataFrame({"pen": pens, "feed": feed, "weight": DRAW.normal(0, 1, 240),
                         "sick": np.where(DRAW.random(240) < chance, "yes", "no")})  # fmt: skip
    result = mixed_model(
        data, outcome="sick", fixed=["feed", "weight"], subject="pen", event_value="yes", adjusted=["weight"]
    )
    text = next(f["text"] for f in result["findings"] if "feed is associated" in f["text"])
    assert "highest in oats" in text
    assert "lowest in barley" in text


def test_the_odds_are_those_of_a_grouped_binomial_model():
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    draw = np.random.default_rng(4)
    table = pd.DataFrame({"warm": np.tile([0, 1], 20), "seeds": draw.integers(8, 30, 40)})
    table["sprouted"] = draw.binomial(table["seeds"], np.where(table["warm"] == 1, 0.7, 0.45))
    grouped = GLM(table[["sprouted", "seeds"]].assign(no=table["seeds"] - table["sprouted"])[["sprouted", "no"]],
                  np.column_stack([np.ones(40), table["warm"]]), family=Binomial()).fit()  # fmt: skip
    rows = one_row_each(table, part="sprouted", total="seeds")["rows"]
    fitted = logistic_regression(rows, outcome="sprouted", predictors=["warm"], event_value="yes")["coefficients"]
    own = fitted[fitted["term"] == "warm"].iloc[0]
    assert own["coef"] == pytest.approx(grouped.params.iloc[1], rel=1e-5)
    assert own["se"] == pytest.approx(grouped.bse.iloc[1], rel=1e-4)
