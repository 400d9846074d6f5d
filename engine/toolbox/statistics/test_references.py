"""A reference level that is told, in each regression, against statsmodels' own coding (`Treatment(reference=...)`)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from plan_questions import profile_files, the_planner
from table_steps import run_step

from engine.toolbox.statistics.counts import count_regression
from engine.toolbox.statistics.linear import linear_regression
from engine.toolbox.statistics.logistic import logistic_regression
from engine.toolbox.statistics.mixed import mixed_model

RNG = np.random.default_rng(21)
N = 240
BREED = RNG.choice(["angus", "jersey", "salers"], N)
COWS = pd.DataFrame({
    "cow": np.repeat(np.arange(N // 4), 4), "breed": BREED, "grazed": RNG.integers(1, 3, N),
    "month": np.tile([0, 1, 2, 3], N // 4),
    "milk": RNG.normal(20, 3, N) + 4 * (BREED == "jersey"),
    "ticks": RNG.poisson(np.where(BREED == "salers", 4, 2)),
    "lame": np.where(RNG.random(N) < np.where(BREED == "angus", 0.5, 0.25), "yes", "no"),
})  # fmt: skip


def coefficients(tool, params, tmp_path):
    _, tables, issues = run_step(tool, {"table": COWS}, params, tmp_path)
    assert not issues
    return tables["coefficients"].set_index("term")


def test_linear_regression_compares_with_the_level_told(tmp_path):
    params = {"outcome": "milk", "predictors": ["breed", "grazed"], "references": ["breed=salers", "grazed=2"]}
    found = coefficients(linear_regression, params, tmp_path)
    fit = smf.ols("milk ~ C(breed, Treatment('salers')) + C(grazed, Treatment(2))", COWS).fit()
    assert found.loc["breed[jersey vs salers]", "estimate"] == pytest.approx(
        fit.params["C(breed, Treatment('salers'))[T.jersey]"]
    )
    assert found.loc["grazed[1 vs 2]", "estimate"] == pytest.approx(fit.params["C(grazed, Treatment(2))[T.1]"])


def test_logistic_and_count_regression_do_as_well(tmp_path):
    told = {"predictors": ["breed"], "references": ["breed=Jersey"]}
    found = coefficients(logistic_regression, {"outcome": "lame", **told}, tmp_path)
    fit = smf.logit("ill ~ C(breed, Treatment('jersey'))", COWS.assign(ill=(COWS["lame"] == "yes") * 1)).fit(disp=0)
    ratio = np.exp(fit.params["C(breed, Treatment('jersey'))[T.angus]"])
    assert found.loc["breed[angus vs jersey]", "odds_ratio"] == pytest.approx(ratio, rel=1e-4)
    found = coefficients(count_regression, {"count": "ticks", "model": "poisson", **told}, tmp_path)
    fit = smf.poisson("ticks ~ C(breed, Treatment('jersey'))", COWS).fit(disp=0)
    ratio = np.exp(fit.params["C(breed, Treatment('jersey'))[T.salers]"])
    assert found.loc["breed[salers vs jersey]", "rate_ratio"] == pytest.approx(ratio, rel=1e-4)


def test_a_mixed_model_does_as_well(tmp_path):
    params = {"outcome": "milk", "fixed": ["breed", "month"], "subject": "cow", "references": ["breed=salers"]}
    found = coefficients(mixed_model, params, tmp_path)
    fit = smf.mixedlm("milk ~ C(breed, Treatment('salers')) + month", COWS, groups="cow").fit(reml=True)
    assert found.loc["breed[angus vs salers]", "estimate"] == pytest.approx(
        fit.params["C(breed, Treatment('salers'))[T.angus]"], rel=1e-2
    )


@pytest.mark.parametrize(("told", "message"), [("breed=zebu", "no level 'zebu'"), ("herd=1", "names no column")])
def test_a_reference_that_is_not_there_is_refused_by_name(told, message):
    with pytest.raises(ValueError, match=message):
        linear_regression(COWS, outcome="milk", predictors=["breed"], references=[told])


@pytest.fixture(scope="module")
def cows(tmp_path_factory):
    path = tmp_path_factory.mktemp("references") / "cows.csv"
    COWS.assign(row=range(N), cow=lambda t: t["row"]).drop(columns=["row", "month"]).to_csv(path, index=False)
    return profile_files([path])


@pytest.mark.parametrize(
    ("question", "references"),
    [
        ("Poisson regression of ticks on breed, relative to jersey", ["breed=jersey"]),
        ("Logistic regression of lame on breed and milk, with salers as the reference group", ["breed=salers"]),
        ("Linear regression of milk on breed and ticks. The baseline level is salers.", ["breed=salers"]),
        ("Logistic regression: odds of lame with grazed and milk; grazed is 1 = yes, 2 = no", ["grazed=2"]),
        ("Poisson regression of ticks on breed and milk", None),
    ],
)
def test_words_say_what_the_reference_is(cows, question, references):
    plan = the_planner().plan(question, cows).plan
    (node,) = [node for node in plan.nodes if node.tool.endswith("_regression")]
    assert node.params.get("references") == references


@pytest.mark.parametrize(
    ("question", "adjusted"),
    [
        ("Poisson regression of ticks on breed, adjusted for milk", ["milk"]),
        ("Poisson regression of ticks on breed and milk", None),
    ],
)
def test_words_say_what_is_only_adjusted_for(cows, question, adjusted):
    plan = the_planner().plan(question, cows).plan
    (node,) = [node for node in plan.nodes if node.tool == "count_regression"]
    assert node.params.get("adjusted") == adjusted


@pytest.fixture(scope="module")
def growing(tmp_path_factory):
    path = tmp_path_factory.mktemp("slopes") / "pigs.csv"
    rows = [
        (f"P{k:02d}", "AB"[k % 2] * 2, week, round(20 + k % 5 + (5 + RNG.normal()) * week + RNG.normal(), 2))
        for k in range(24) for week in range(6)
    ]  # fmt: skip
    pd.DataFrame(rows, columns=["pig", "feed", "week", "weight"]).to_csv(path, index=False)
    return profile_files([path])


@pytest.mark.parametrize(
    ("question", "slope"),
    [
        ("Mixed model of weight on week and feed with a random slope for week by pig", "week"),
        ("Linear mixed model: weight by week and feed, random intercept and slope for each pig", "week"),
        ("Mixed model of weight on week and feed with a random intercept for pig", None),
    ],
)
def test_random_slopes_are_set_where_they_are_asked_for(growing, question, slope):
    plan = the_planner().plan(question, growing).plan
    (node,) = [node for node in plan.nodes if node.tool == "mixed_model"]
    assert node.params.get("random_slope") == slope


def test_a_level_alone_says_the_same_as_with_its_column(tmp_path):
    params = {"outcome": "milk", "predictors": ["breed", "grazed"]}
    (tmp_path / "a").mkdir()
    alone = coefficients(linear_regression, {**params, "control": "salers"}, tmp_path / "a")
    (tmp_path / "b").mkdir()
    named = coefficients(linear_regression, {**params, "references": ["breed=salers"]}, tmp_path / "b")
    assert "breed[jersey vs salers]" in alone.index
    pd.testing.assert_frame_equal(alone, named)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"control": "zebu"}, "0 columns of the model have a level 'zebu'"),
        ({"control": "salers", "references": ["breed=angus"]}, "by `references` and with 'salers' by `control`"),
    ],
)
def test_a_level_that_no_group_has_or_that_contradicts_is_refused(told, message):
    with pytest.raises(ValueError, match=message):
        linear_regression(COWS, outcome="milk", predictors=["breed"], **told)
