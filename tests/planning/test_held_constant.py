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
