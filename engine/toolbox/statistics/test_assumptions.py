"""Checks of assumptions against scipy, statsmodels and R's documented Bartlett test, and the advice they lead to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from plan_questions import profile_files, the_planner
from scipy import stats
from statsmodels.stats.diagnostic import het_breuschpagan, linear_reset
from table_steps import check_issues, run_step

from engine.toolbox.statistics.assumptions import assumption_checks

RNG = np.random.default_rng(4)
X = RNG.uniform(0, 10, 80)
ROWS = pd.DataFrame({"arm": ["a", "b"] * 40, "x": X, "near": 3 + 2 * X + RNG.normal(0, 1, 80), "skewed": RNG.lognormal(0, 1, 80),
                     "fan": 3 + 2 * X + RNG.normal(0, 1, 80) * X, "bent": X**2 + RNG.normal(0, 1, 80),
                     "wide": RNG.normal(0, 1, 80) * np.tile([1, 6], 40)})  # fmt: skip
# R's InsectSprays (Beall 1942).
SPRAYS = pd.DataFrame({"spray": list("A" * 12 + "B" * 12 + "C" * 12 + "D" * 12 + "E" * 12 + "F" * 12), "count": [
    10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13, 11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13, 0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1,
    4, 3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4, 3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4, 11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13]})  # fmt: skip


def checks(measure, **params):
    return assumption_checks(ROWS, measure=measure, **params)["checks"].set_index("check")


def said(measure, **params):
    return assumption_checks(ROWS, measure=measure, **params)["findings"][0]["text"]


def test_insect_sprays_match_rs_bartlett_test(tmp_path):
    # ?bartlett.test: InsectSprays, K-squared = 25.96, df = 5, p = 9.085e-05
    record, tables, issues = run_step(
        assumption_checks, {"table": SPRAYS}, {"measure": "count", "group": "spray"}, tmp_path
    )
    row = tables["checks"].set_index("check").loc["equal variances (Bartlett, for normal values)"]
    assert not issues
    assert row["statistic"] == pytest.approx(25.96, abs=5e-3)
    assert row["p_value"] == pytest.approx(9.085e-05, abs=5e-9)
    assert "the variances differ" in record["findings"][0]["text"]


def test_groups_match_scipy():
    table = assumption_checks(ROWS, measure="near", group="arm")["checks"]
    one, two = (ROWS.loc[ROWS["arm"] == arm, "near"] for arm in "ab")
    assert table.loc[0, "statistic"] == pytest.approx(stats.shapiro(one).statistic)
    rows = table.set_index("check")["p_value"]
    assert rows["equal variances (Brown-Forsythe)"] == pytest.approx(stats.levene(one, two, center="median").pvalue)
    assert rows["equal variances (Levene)"] == pytest.approx(stats.levene(one, two, center="mean").pvalue)


def test_residuals_match_statsmodels():
    for measure in ("fan", "bent", "near"):
        fit = sm.OLS(ROWS[measure], sm.add_constant(ROWS[["x"]])).fit()
        rows = checks(measure, predictors=["x"])
        scatter = het_breuschpagan(fit.resid, fit.model.exog)
        assert rows.loc["constant scatter (Breusch-Pagan)", ["statistic", "p_value"]].tolist() == pytest.approx(
            scatter[:2]
        )
        reset = linear_reset(fit, power=3, use_f=True)
        assert rows.loc["straight line (RESET)", "statistic"] == pytest.approx(float(reset.fvalue), rel=1e-6)
        cook = fit.get_influence().cooks_distance[0].max()
        assert rows.loc["largest Cook's distance", "statistic"] == pytest.approx(cook)


def test_advice_says_what_to_do_next():
    assert "A t-test may be used" in said("x", group="arm") or "departs" in said("x", group="arm")
    few = assumption_checks(ROWS.head(40), measure="skewed", group="arm")["findings"][0]["text"]
    assert "Take a rank test (Mann-Whitney); logarithms would bring the values near normal" in few
    assert "Take Welch's t-test" in said("wide", group="arm") or "departs" in said("wide", group="arm")
    assert "the variances differ" in said("wide", group="arm")
    assert "scatter is not constant" in said("fan", predictors=["x"])
    assert "the relation bends" in said("bent", predictors=["x"])
    assert "shows no clear departure" in said("near", predictors=["x"])


def test_a_grouping_among_predictors_is_a_group_and_order_does_not_matter():
    one = assumption_checks(ROWS, measure="near", predictors=["arm"])["checks"]
    two = assumption_checks(ROWS.iloc[::-1].assign(near=ROWS["near"] * 100), measure="near", group="arm")["checks"]
    assert two["statistic"].tolist() == pytest.approx(one["statistic"].tolist())


def test_gaps_and_small_groups_are_said():
    table = ROWS.head(12).assign(near=lambda t: t["near"].where(t.index > 0))
    result = assumption_checks(table, measure="near", group="arm")
    assert any("1 of 12 rows were left out" in text for text in result["warnings"])
    assert any("no proof of a normal distribution" in text for text in result["warnings"])


BAD = {
    "constant": ({"measure": "same"}, "that vary"),
    "itself": ({"measure": "x", "predictors": ["x"]}, "different columns"),
    "text": ({"measure": "arm"}, "not numbers"),
    "exact": ({"measure": "double", "predictors": ["x"]}, "exactly"),
    "many groups": ({"measure": "x", "group": "id"}, "at most 40"),
    "few": ({"measure": "near", "predictors": ["x"], "rows": 4}, "too few"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = dict(BAD[case][0]), BAD[case][1]
    table = ROWS.assign(same=1.0, double=lambda t: 2 * t["x"], id=range(80)).head(params.pop("rows", 80))
    with pytest.raises(ValueError, match=r".") as error:
        assumption_checks(table, **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_result_against_its_p_value_is_caught(tmp_path):
    frame = assumption_checks(ROWS, measure="near", group="arm")["checks"]
    assert check_issues(["assumption_results_follow"], {"checks": frame}, tmp_path) == []
    wrong = {"checks": frame.assign(result="departs", p_value=0.5)}
    assert "result_differs" in check_issues(["assumption_results_follow"], wrong, tmp_path)


@pytest.mark.parametrize(
    "question",
    ["Levene and Shapiro for near by arm", "May I use a t-test for near in the two arms, or is it too crooked?"],
)
def test_a_plain_question_plans_the_checks(question, tmp_path):
    path = tmp_path / "rows.csv"
    ROWS.round(3).to_csv(path, index=False)
    planner = the_planner()
    node = planner.plan(question, profile_files([path])).plan.nodes[-1]
    assert node.tool == "assumption_checks"
    assert node.params["measure"] == "near"
    assert "arm" in (node.params.get("group"), *node.params.get("predictors", []))
