"""Equivalence against statsmodels' TOST, Student's sleep data by hand, and what must hold for any margin."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind, ttost_paired
from table_steps import check_issues, run_step

from engine.toolbox.statistics.equivalence import equivalence_test

RNG = np.random.default_rng(5)
EXAM = pd.DataFrame(
    {"course": ["online", "classroom"] * 30, "score": RNG.normal(70, 4, 60).round(1), "student": range(60)}
)
# Student (1908): extra hours of sleep under two drugs.
SLEEP = pd.DataFrame({"drug 1": [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
                      "drug 2": [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]})  # fmt: skip


def alike(**params):
    return equivalence_test(EXAM, **({"value": "score", "group": "course", "margin": 3.0} | params))


def parts(table=EXAM):
    return (table.loc[table["course"] == name, "score"].to_numpy() for name in ("online", "classroom"))


def test_two_groups_match_statsmodels(tmp_path):
    params = {"value": "score", "group": "course", "margin": 3.0, "treated": "online", "control": "classroom"}
    record, tables, issues = run_step(equivalence_test, {"table": EXAM}, params, tmp_path)
    row = tables["equivalence"].iloc[0]
    p, low, high = ttost_ind(*parts(), -3, 3, usevar="unequal")
    assert not issues
    assert (row["p_value"], row["p_lower"], row["p_upper"]) == pytest.approx((p, low[1], high[1]))
    other = stats.ttest_ind(*parts(), equal_var=False).confidence_interval(0.9)
    assert (row["lower"], row["upper"]) == pytest.approx((other.low, other.high))
    assert ("are alike within -3.00 to 3.00" in record["findings"][0]["text"]) == bool(row["shown"])


def test_paired_columns_match_statsmodels_and_students_t():
    row = equivalence_test(SLEEP, first="drug 1", second="drug 2", margin=2.0)["equivalence"].iloc[0]
    p, low, high = ttost_paired(SLEEP["drug 1"].to_numpy(), SLEEP["drug 2"].to_numpy(), -2, 2)
    assert (row["p_value"], row["p_lower"], row["p_upper"]) == pytest.approx((p, low[1], high[1]))
    assert row["p_difference"] == pytest.approx(0.002833, abs=5e-7)  # R: t.test(extra ~ group, sleep, paired)
    assert row["difference"] / row["se"] == pytest.approx(-4.0621, abs=5e-5)


def test_long_pairs_are_the_same_as_wide_ones():
    long = SLEEP.assign(patient=range(10)).melt("patient", var_name="drug", value_name="extra")
    params = {
        "value": "extra",
        "group": "drug",
        "pair": "patient",
        "treated": "drug 1",
        "control": "drug 2",
        "margin": 2.0,
    }
    wide = equivalence_test(SLEEP, first="drug 1", second="drug 2", margin=2.0)["equivalence"].iloc[0]
    row = equivalence_test(long.iloc[:-1], **params)
    assert any("lack one of the two" in text for text in row["warnings"])
    assert equivalence_test(long, **params)["equivalence"].loc[0, "p_value"] == pytest.approx(wide["p_value"])


def test_bioequivalence_works_on_logarithms():
    for margin in (80, 125, 1.25, 0.8):
        row = alike(margin=margin, margin_is="ratio", treated="online", control="classroom")["equivalence"].iloc[0]
        assert row["margin_high"] == pytest.approx(math.log(1.25))
        a, b = (np.log(part) for part in parts())
        assert row["p_value"] == pytest.approx(ttost_ind(a, b, -math.log(1.25), math.log(1.25), usevar="unequal")[0])
    result = alike(margin=80, margin_is="ratio", treated="online", control="classroom")
    assert "mean ratio" in result["findings"][0]["text"]
    row, (a, b) = result["equivalence"].iloc[0], parts()
    assert (row["mean_1"], row["mean_2"]) == pytest.approx((a.mean(), b.mean()))  # not those of the logarithms
    assert row["ratio"] == pytest.approx(stats.gmean(a) / stats.gmean(b))
    assert (row["ratio_lower"], row["ratio_upper"]) == pytest.approx((math.exp(row["lower"]), math.exp(row["upper"])))
    assert next(v for v in result["findings"][0]["values"] if v["name"] == "ratio")["low"] == row["ratio_lower"]


def test_percent_is_of_the_reference_and_one_margin_is_one_test():
    row = alike(margin=5, margin_is="percent", treated="online", control="classroom")["equivalence"].iloc[0]
    assert row["margin_high"] == pytest.approx(0.05 * row["mean_2"])
    lower = alike(kind="not_lower", treated="online", control="classroom")["equivalence"].iloc[0]
    assert lower["p_value"] == lower["p_lower"]
    higher = alike(kind="not_higher", treated="online", control="classroom")["equivalence"].iloc[0]
    assert higher["p_value"] == higher["p_upper"]


def test_swap_mirrors_scale_carries_and_a_wider_margin_is_easier():
    one = alike(treated="online", control="classroom")["equivalence"].iloc[0]
    two = alike(treated="classroom", control="online")["equivalence"].iloc[0]
    assert (two["difference"], two["p_value"]) == pytest.approx((-one["difference"], one["p_value"]))
    scaled = equivalence_test(
        EXAM.iloc[::-1].assign(score=EXAM["score"] * 100), value="score", group="course", margin=300
    )
    assert scaled["equivalence"].loc[0, "p_value"] == pytest.approx(one["p_value"])
    p_values = [alike(margin=m)["equivalence"].loc[0, "p_value"] for m in (0.5, 1, 2, 4, 8)]
    assert p_values == sorted(p_values, reverse=True)


def test_no_difference_is_not_called_alike_where_data_are_few():
    result = equivalence_test(EXAM.head(8), value="score", group="course", margin=0.5)
    assert result["equivalence"].loc[0, "shown"] == 0
    assert "It is not shown that" in result["findings"][0]["text"]


BAD = {
    "no form": ({"value": ""}, "Expected either"),
    "no group": ({"group": ""}, "no column of groups"),
    "margin": ({"margin": 0.0}, "above 0"),
    "ratio": ({"margin": 20.0, "margin_is": "ratio"}, "is no ratio"),
    "same": ({"group": "score"}, "serves twice"),
    "many groups": ({"group": "three"}, "name the two to compare"),
    "one group": ({"group": "one"}, "expected two to compare"),
    "few": ({"rows": 4}, "expected at least 3"),
    "constant": ({"value": "same"}, "do not vary"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = dict(BAD[case][0]), BAD[case][1]
    table = EXAM.assign(three=["a", "b", "c"] * 20, one="x", same=1.0).head(params.pop("rows", 60))
    with pytest.raises(ValueError, match=r".") as error:
        equivalence_test(table, **({"value": "score", "group": "course", "margin": 3.0} | params))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_wrong_verdict_is_caught(tmp_path):
    frame, checks = alike()["equivalence"], ["equivalence_as_its_interval"]
    assert check_issues(checks, {"equivalence": frame}, tmp_path) == []
    wrong = {"equivalence": frame.assign(shown=1 - frame["shown"])}
    assert check_issues(checks, wrong, tmp_path) == ["verdict_differs"]


@pytest.fixture(scope="module")
def planner():
    return the_planner()


def test_a_plain_question_plans_it_with_its_margin_and_none_is_asked(planner, tmp_path):
    path = tmp_path / "exam.csv"
    EXAM.to_csv(path, index=False)
    profiles = profile_files([path])
    question = "Can I show that the score of online and classroom students is practically the same, within 3 points?"
    node = planner.plan(question, profiles).plan.nodes[-1]
    assert node.tool == "equivalence_test"
    assert (node.params["value"], node.params["group"], node.params["margin"]) == ("score", "course", 3.0)
    plan = planner.plan("is online as good as classroom in score, equivalence", profiles).plan
    (asked,) = [question for question in plan.open_questions if question.param == "margin"]
    assert asked.blocking
    assert "difference that would not matter" in asked.text
