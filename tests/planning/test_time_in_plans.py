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


@pytest.fixture(scope="module")
def pigs(tmp_path_factory):
    """Weights of 48 pigs of 8 pens at five weeks side by side; a pen has one feed."""
    rng = np.random.default_rng(4)
    pen = np.repeat(np.arange(1, 9), 6)
    gain = 2.6 + 0.3 * (pen > 4) + rng.normal(0, 0.2, 48)
    table = {"tag": [f"P{n}" for n in range(48)], "Pen no.": pen, "Feed (1=std, 2=new)": 1 + (pen > 4)}
    table |= {f"BW wk{week} (kg)": (8 + week * gain + rng.normal(0, 0.4, 48)).round(1) for week in (0, 2, 4, 6, 8)}
    path = tmp_path_factory.mktemp("pigs") / "pigs.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    return profile_files([path])


WEIGHTS = [f"BW wk{week} (kg)" for week in (0, 2, 4, 6, 8)]


@pytest.mark.parametrize("question", ["are the pigs heavier in week 6 with the new feed", "weight at week 6 by feed?"])
def test_an_occasion_that_is_named_is_the_one_that_is_compared(planner, pigs, question) -> None:
    model = step(planner.plan(question, pigs, analysis="mixed_model").plan, "mixed_model")
    assert model["outcome"] == "BW wk6 (kg)"


@pytest.mark.parametrize(
    "question", ["do they gain weight faster on the new feed", "do the pigs grow better on the new feed"]
)
def test_growth_is_of_all_occasions_and_how_fast_depends_on_the_group(planner, pigs, question) -> None:
    plan = planner.plan(question, pigs).plan
    model = step(plan, "mixed_model")
    assert (model["columns"], model["interaction"]) == (WEIGHTS, True)
    assert any("same in all rows of one 'Pen no.'" in warning for warning in plan.warnings)


def test_a_measurement_named_without_an_occasion_is_asked_about(planner, pigs) -> None:
    plan = planner.plan("does weight differ by feed", pigs, analysis="compare_groups").plan
    assert [q.param for q in plan.open_questions if q.blocking] == ["value"]
    assert plan.not_answered == []
