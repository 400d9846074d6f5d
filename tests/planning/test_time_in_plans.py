"""Time in questions: followed over time in groups, and one time alone. The data are invented."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.domain.plan import TaskDag
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(8)


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


def followed(tmp_path_factory, clock: str):
    """Write lengths of 20 larvae of two lines at five times; `clock` is what the column of times is called."""
    rows = [
        (f"larva{n}", ("albino", "tabby")[n % 2], time, 3 + 0.02 * time * (1 + n % 2) + RNG.normal(0, 0.2))
        for n in range(20)
        for time in (0, 6, 12, 24, 48)
    ]
    path = tmp_path_factory.mktemp("larvae") / "larvae.csv"
    pd.DataFrame(rows, columns=["larva", "line", clock, "length_mm"]).round(3).to_csv(path, index=False)
    return profile_files([path])


@pytest.fixture(scope="module", params=["hpf", "hours", "time"])
def larvae(request, tmp_path_factory):
    return request.param, followed(tmp_path_factory, request.param)


def step(plan: TaskDag, tool: str) -> dict:
    return next(node.params for node in plan.nodes if node.tool == tool)


@pytest.mark.parametrize(
    "question",
    [
        "Does length over time depend on the line?",
        "Does length differ between albino and tabby over time?",
        "Does the rise of length over time differ between the two lines?",
    ],
)
def test_over_time_in_groups_lets_the_course_differ(planner, larvae, question):
    clock, data = larvae
    model = step(planner.plan(question, data, analysis="mixed_model").plan, "mixed_model")
    assert {*model["fixed"]} == {"line", clock}
    assert model["interaction"] is True


def test_a_time_alone_asks_for_no_interaction(planner, larvae):
    clock, data = larvae
    model = step(planner.plan("Does length change over time?", data, analysis="mixed_model").plan, "mixed_model")
    assert model["fixed"] == [clock]
    assert model["interaction"] is False


@pytest.mark.parametrize("question", ["at 48 h only", "and only 48 h", "just the 48 hours please"])
def test_one_time_is_kept_and_compared_as_the_rows_then_are(planner, larvae, question):
    clock, data = larvae
    first = planner.plan(
        "Does the rise of length over time differ between the two lines?", data, analysis="mixed_model"
    ).plan
    plan = planner.plan(question, data, previous=first).plan
    assert step(plan, "filter_rows")["condition"] == f"`{clock}` in [48]"
    assert step(plan, "compare_groups")["group"] == "line"  # one row of each larva


def test_a_time_that_no_row_has_is_not_kept(planner, larvae):
    _, data = larvae
    first = planner.plan("Does length differ between albino and tabby over time?", data).plan
    with pytest.raises(PlanError):
        planner.plan("at 30 h only", data, previous=first)
