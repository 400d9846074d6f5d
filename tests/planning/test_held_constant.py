"""What is to be held constant is held: the analysis that can do so is planned, however the question says it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools


@pytest.fixture(scope="module")
def mice(tmp_path_factory):
    rng, n = np.random.default_rng(6), 60
    days = np.minimum(rng.geometric(0.15, n) + 1, 14)
    path = tmp_path_factory.mktemp("held") / "mice.csv"
    pd.DataFrame(
        {"mouse": [f"m{at}" for at in range(n)], "grp": np.repeat(["vehicle", "KX10", "KX30"], 20),
         "sex": ["male", "female"] * 30, "age_weeks": rng.integers(6, 20, n), "days": days, "died": (days < 14).astype(int)}
    ).to_csv(path, index=False)  # fmt: skip
    return profile_files([path])


@pytest.mark.parametrize(
    ("question", "held"),
    [
        ("did KX30 mice live longer than vehicle, adjusted for sex", ["sex"]),
        ("did KX30 mice live longer than vehicle? males and females differ so correct for that", ["sex"]),
        ("do KX30 mice survive longer than vehicle mice? sex matters, so please adjust for it", ["sex"]),
        ("survival of KX30 against vehicle controlled for sex and age", ["sex", "age_weeks"]),
    ],
)
def test_survival_is_adjusted_for_what_the_question_holds_constant(mice, question: str, held: list[str]):
    plan = Planner(builtin_tools()).plan(question, mice).plan
    (node,) = [node for node in plan.nodes if node.tool == "cox_regression"]
    assert node.params["covariates"] == ["grp", *held]
    assert node.params["adjusted"] == held
    assert [choice.id for choice in plan.analysis] == ["cox_regression"]
    assert not any(question.blocking for question in plan.open_questions)


def test_without_anything_held_the_curves_are_compared(mice):
    plan = Planner(builtin_tools()).plan("did KX30 mice live longer than vehicle?", mice).plan
    assert [choice.id for choice in plan.analysis] == ["log_rank"]


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    rng, n = np.random.default_rng(1), 60
    path = tmp_path_factory.mktemp("held") / "trial.csv"
    pd.DataFrame(
        {"pid": range(n), "arm": ["control", "drug"] * 30, "age": rng.integers(30, 80, n), "sex": rng.choice(["m", "f"], n),
         "pain": rng.normal(5, 1, n).round(1), "days": rng.integers(5, 300, n), "died": rng.integers(0, 2, n)}
    ).to_csv(path, index=False)  # fmt: skip
    return profile_files([path])


@pytest.mark.parametrize(
    ("question", "held"),
    [
        ("is pain lower with the drug, control for age", ["age"]),
        ("pain by arm controlling for age", ["age"]),
        ("pain drug vs control, controlled for sex", ["sex"]),
        ("pain in drug against control, corrected for age and sex", ["age", "sex"]),
        ("is pain lower in the drug arm accounting for age?", ["age"]),
    ],
)
def test_to_control_for_something_is_no_control_group(trial, question: str, held: list[str]):
    plan = Planner(builtin_tools()).plan(question, trial).plan
    (node,) = [node for node in plan.nodes if node.tool == "linear_regression"]
    assert (node.params["outcome"], node.params["predictors"]) == ("pain", ["arm", *held])
    assert node.params["adjusted"] == held
    assert not plan.open_questions


@pytest.mark.parametrize(
    "question", ["compare pain between drug and control for women", "is pain lower in drug than in control for women"]
)
def test_a_control_group_stays_one(trial, question: str):
    plan = Planner(builtin_tools()).plan(question, trial).plan
    (node,) = [node for node in plan.nodes if node.tool == "compare_groups"]
    assert (node.params["treated"], node.params["control"]) == ("drug", "control")
    assert any(n.params.get("condition") == "`sex` in ['f']" for n in plan.nodes)
