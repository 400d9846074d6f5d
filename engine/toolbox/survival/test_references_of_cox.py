"""A reference level that is told, in a Cox model, against lifelines on columns coded by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from plan_questions import profile_files, the_planner
from table_steps import run_step

from engine.toolbox.survival.regression import cox_regression


def test_cox_regression_compares_with_the_level_told(tmp_path):
    rng = np.random.default_rng(8)
    breed = rng.choice(["angus", "jersey", "salers"], 240)
    days = rng.exponential(np.where(breed == "angus", 50, 100))
    data = pd.DataFrame({"breed": breed, "days": days, "culled": rng.integers(0, 2, 240)})
    params = {"time": "days", "event": "culled", "covariates": ["breed"], "references": ["breed=salers"]}
    _, tables, issues = run_step(cox_regression, {"survival": data}, params, tmp_path)
    assert not issues
    dummies = pd.DataFrame({level: (level == breed) * 1.0 for level in ("angus", "jersey")})
    fit = CoxPHFitter().fit(dummies.join(data[["days", "culled"]]), "days", "culled")
    found = tables["cox_table"].set_index("term")["coef"]
    assert found["breed: angus vs salers"] == pytest.approx(fit.params_["angus"], rel=1e-4)
    assert found["breed: jersey vs salers"] == pytest.approx(fit.params_["jersey"], rel=1e-4)


def test_per_units_are_of_what_is_asked_about_and_not_of_what_is_adjusted_for():
    rng = np.random.default_rng(9)
    score, age = rng.integers(0, 10, 200), rng.normal(60, 8, 200)
    data = pd.DataFrame(
        {"score": score, "age": age, "days": rng.exponential(100 + 10 * score), "died": rng.integers(0, 2, 200)}
    )
    given = {"time": "days", "event": "died", "covariates": ["score", "age"], "adjusted": ["age"]}
    one, two = (cox_regression(data, **given, per=per)["cox_table"].set_index("term")["coef"] for per in (1.0, 2.0))
    assert two["score"] == pytest.approx(2 * one["score"], rel=1e-6)
    assert two["age"] == pytest.approx(one["age"], rel=1e-6)
    both = cox_regression(data, **{**given, "adjusted": []}, per=2.0)["cox_table"].set_index("term")["coef"]
    assert both["age"] == pytest.approx(2 * one["age"], rel=1e-6)


@pytest.fixture(scope="module")
def calves(tmp_path_factory):
    rng, n = np.random.default_rng(3), 160
    table = pd.DataFrame({
        "animal": [f"c{k}" for k in range(n)], "sex": rng.choice(["female", "male"], n), "weight": rng.normal(40, 4, n).round(1),
        "vaccine": rng.choice(["no", "yes"], n), "days": rng.exponential(200, n).round() + 1, "died": rng.integers(0, 2, n),
    })  # fmt: skip
    path = tmp_path_factory.mktemp("calves") / "calves.csv"
    table.to_csv(path, index=False)
    return profile_files([path])


@pytest.mark.parametrize(
    ("question", "covariates", "kept"),
    [
        ("Is the hazard of dying higher in males, adjusted for weight?", ["sex", "weight"], ""),
        ("Does the vaccine lower the hazard of dying in males?", ["vaccine"], "`sex` in ['male']"),
    ],
)
def test_more_in_one_of_two_states_compares_it_with_the_other(calves, question, covariates, kept):
    plan = the_planner().plan(question, calves).plan
    node = next(node for node in plan.nodes if node.tool == "cox_regression")
    rows = [node.params["condition"] for node in plan.nodes if node.tool == "filter_rows"]
    assert (node.params["covariates"], rows) == (covariates, [kept] * bool(kept))
    assert node.params.get("references", []) == (["sex=female"] if "sex" in covariates else [])
