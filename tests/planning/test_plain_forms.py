"""Questions of five words, changes over occasions by group, and stays. The data are invented."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.domain.plan import TaskDag
from engine.domain.profile import Profile
from engine.planning.choosing.forms import plain_form
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(12)


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def ward(tmp_path_factory) -> list[Profile]:
    arm = RNG.permutation(np.repeat(["Standard", "New"], 60))
    frame = pd.DataFrame(
        {
            "Pat.No": range(1, 121), "Arm": arm, "sex": RNG.choice(["m", "f"], 120), "age": RNG.normal(62, 9, 120).round(),
            "pain_before": RNG.normal(6, 1.3, 120).round(1), "pain_after": RNG.normal(4, 1.3, 120).round(1),
            "LOS days": RNG.gamma(3, 3, 120).round(1), "died": (RNG.random(120) < 0.3).astype(int),
        }
    )  # fmt: skip
    path = tmp_path_factory.mktemp("ward") / "ward.csv"
    frame.to_csv(path, index=False)
    return profile_files([path])


def only(plan: TaskDag, tool: str) -> dict:
    assert not [q for q in plan.open_questions if q.blocking]
    return next(node.params for node in plan.nodes if node.tool == tool)


@pytest.mark.parametrize(
    "question", ["how many died in each arm", "pls tell me what percentage died per arm", "number of died by arm"]
)
def test_how_many_in_each_group_is_counted_without_a_question(planner, ward, question) -> None:
    params = only(planner.plan(question, ward).plan, "proportion_test")
    assert (params["event"], params["event_value"], params["group"]) == ("died", "1", "Arm")


@pytest.mark.parametrize("question", ["did pain drop more with the New", "which arm improved most in pain"])
def test_who_changed_more_compares_the_change(planner, ward, question) -> None:
    plan = planner.plan(question, ward).plan
    assert only(plan, "derive_column")["expression"] == "`pain_after` - `pain_before`"
    assert only(plan, "compare_groups")["group"] == "Arm"
    assert all(node.tool != "filter_rows" for node in plan.nodes)  # to drop is not to leave out


def test_a_level_that_has_more_is_compared_and_held_constant_beside(planner, ward) -> None:
    params = only(
        planner.plan("did pain decrease more in women after adjusting for age", ward).plan, "linear_regression"
    )
    assert params["predictors"] == ["sex", "age"]


def test_growth_over_the_weeks_is_of_all_weeks(planner, tmp_path) -> None:
    weights = {f"wt_wk{week}": RNG.normal(40 + 6 * week, 3, 40).round(1) for week in (0, 4, 8, 12)}
    path = tmp_path / "calves.csv"
    pd.DataFrame({"calf": range(1, 41), "feed": ["ctrl", "probio"] * 20, **weights}).to_csv(path, index=False)
    plan = planner.plan("growth over the weeks per feed", profile_files([path])).plan
    assert all(node.tool != "derive_column" for node in plan.nodes)
    plan = planner.plan("do probio calves gain more than ctrl", profile_files([path])).plan
    assert only(plan, "derive_column")["expression"] == "`wt_wk12` - `wt_wk0`"


def test_rows_are_still_dropped_where_somebody_says_so(planner, ward) -> None:
    plan = planner.plan("drop the women and compare age between the arms", ward).plan
    assert next(node for node in plan.nodes if node.tool == "filter_rows").params["condition"] == "`sex` not in ['f']"


@pytest.mark.parametrize(
    ("question", "tool"),
    [("what is the median LOS in each arm", "summarize_table"), ("which arm has the longest LOS", "compare_groups")],
)
def test_a_stay_is_a_measure(planner, ward, question, tool) -> None:
    params = only(planner.plan(question, ward).plan, tool)
    assert "LOS days" in (params.get("value"), *params.get("columns", ()))


def test_an_interaction_is_asked_for_by_what_an_effect_depends_on(planner, ward) -> None:
    params = only(planner.plan("does the effect of arm on LOS depend on sex?", ward).plan, "anova")
    assert (params["factors"], params["interaction"]) == (["Arm", "sex"], True)


@pytest.mark.parametrize(
    "masked",
    [
        "is NUM higher in LEV because NUM fell",
        "how many UNIT do I need to see BIN in each CAT",
        "does NUM differ between the CAT when LEV is left out",
        "is BIN more common in LEV after LEV and before TIME",
        "can NUM tell BIN from the others",
    ],
)
def test_what_says_more_than_a_form_is_none(masked) -> None:
    assert plain_form(masked) == ""


@pytest.mark.parametrize(
    ("masked", "stands_for"),
    [
        ("Is the END rate higher in LEV?", "does survival differ between the CAT"),
        ("is BIN more common in LEV than in LEV", "does the proportion with BIN differ between the CAT"),
        ("Could you please show me the mean NUM per CAT", "what is the mean and median of NUM in each CAT"),
        ("Only in LEV: is NUM lower in LEV?", "does NUM differ between the CAT"),
    ],
)
def test_a_whole_wording_has_one_form(masked, stands_for) -> None:
    assert plain_form(masked) == stands_for
