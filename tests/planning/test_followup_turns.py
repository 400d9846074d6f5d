"""What a person types next: adjust, another group beside those compared, a picture, is it significant. The data are invented."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.domain.plan import TaskDag
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(21)
LIVED = "Did the rats on LQ7 survive longer than sham?"
HEAVY = "Does weight differ between LQ7 and sham?"


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def rats(tmp_path_factory):
    n = 120
    table = pd.DataFrame(
        {
            "rat": [f"r{k}" for k in range(n)],
            "arm": ["sham", "LQ3", "LQ7"] * (n // 3),
            "sex": RNG.choice(["female", "male"], n),
            "week": RNG.choice([1, 2, 3], n),
            "age": RNG.integers(20, 60, n),
            "weight": RNG.normal(300, 30, n).round(1),
            "days": RNG.integers(5, 90, n),
            "died": RNG.integers(0, 2, n),
        }
    )
    path = tmp_path_factory.mktemp("rats") / "rats.csv"
    table.to_csv(path, index=False)
    return profile_files([path])


def kept(plan: TaskDag) -> str:
    return "; ".join(str(node.params.get("condition")) for node in plan.nodes if node.tool == "filter_rows")


def step(plan: TaskDag, tool: str) -> dict:
    return next(node.params for node in plan.nodes if node.tool == tool)


@pytest.mark.parametrize(
    ("first", "question", "tool", "holds"),
    [
        (LIVED, "adjust for sex", "cox_regression", {"arm", "sex"}),
        (LIVED, "can you correct that for age", "cox_regression", {"arm", "age"}),
        (LIVED, "what happens if you correct for age and sex", "cox_regression", {"arm", "age", "sex"}),
        (HEAVY, "add age to the model", "linear_regression", {"arm", "age"}),
    ],
)
def test_a_model_of_the_same_groups_takes_the_place_of_a_test(planner, rats, first, question, tool, holds):
    before = planner.plan(first, rats).plan
    plan = planner.plan(question, rats, previous=before).plan
    assert kept(plan) == "`arm` in ['LQ7', 'sham']"
    params = step(plan, tool)
    assert {*(params.get("covariates") or params.get("predictors"))} == holds
    assert " in place of " in plan.follows


@pytest.mark.parametrize(
    "question", ["also with LQ3", "and LQ3 too", "include LQ3 as well", "add the LQ3 rats", "and now with LQ3 in it"]
)
@pytest.mark.parametrize(("first", "tool"), [(LIVED, "log_rank"), (HEAVY, "compare_groups")])
def test_a_further_group_stands_beside_those_that_were_compared(planner, rats, first, tool, question):
    before = planner.plan(first, rats).plan
    plan = planner.plan(question, rats, previous=before).plan
    assert step(plan, tool)["group"] == "arm"
    assert kept(plan) == ""  # all three
    assert not step(plan, tool).get("treated")
    assert "LQ3 beside" in plan.follows


def test_other_rows_stay_when_a_group_is_added(planner, rats):
    before = planner.plan(HEAVY + " Only females.", rats).plan
    plan = planner.plan("plus LQ3 please", rats, previous=before).plan
    assert kept(plan) == "`sex` in ['female']"


def test_whether_an_effect_depends_on_a_column_is_an_interaction(planner, rats):
    before = planner.plan("Does weight differ between the arms?", rats).plan
    for question in ("does it depend on sex?", "is the difference the same in males and females?"):
        plan = planner.plan(question, rats, previous=before).plan
        node = next(node for node in plan.nodes if "interaction" in node.params)
        assert node.params["interaction"] is True
        assert {"arm", "sex"} <= {item for value in node.params.values() if isinstance(value, list) for item in value}


def test_an_interaction_that_no_step_takes_is_refused_by_name_with_the_way(planner, rats):
    before = planner.plan(LIVED, rats).plan
    with pytest.raises(PlanError) as refused:
        planner.plan("is it different for males and females?", rats, previous=before)
    assert "interaction" in refused.value.message
    assert "separately for each sex" in refused.value.advice


@pytest.mark.parametrize("question", ["plot the curves by arm", "plot the survival curves", "show me the curves"])
def test_a_picture_keeps_the_rows_that_a_question_kept(planner, rats, question):
    before = planner.plan("Does survival differ between the arms?", rats).plan
    fewer = planner.plan("only females", rats, previous=before).plan
    plan = planner.plan(question, rats, previous=fewer).plan
    assert kept(plan) == "`sex` in ['female']"
    assert step(plan, "kaplan_meier")["group"] == "arm"
    assert plan.follows


@pytest.mark.parametrize(
    ("first", "tool"),
    [
        ("Show Kaplan-Meier curves of the arms, only females", "log_rank"),
        ("Draw a boxplot of weight by arm, only females", "compare_groups"),
        ("Mean weight by arm, only females", "compare_groups"),
    ],
)
def test_what_was_only_shown_is_tested_when_somebody_asks_whether_it_is_significant(planner, rats, first, tool):
    before = planner.plan(first, rats).plan
    for question in ("is that significant?", "so is this difference real?"):
        plan = planner.plan(question, rats, previous=before).plan
        assert step(plan, tool)["group"] == "arm"
        assert kept(plan) == "`sex` in ['female']"


@pytest.mark.parametrize("question", ["i meant week 3", "and in week 3, how is it?", "no, I meant week 3 only"])
def test_another_value_takes_the_place_of_the_one_before(planner, rats, question):
    before = planner.plan("Does weight differ between the arms in week 1?", rats).plan
    plan = planner.plan(question, rats, previous=before).plan
    assert kept(plan) == "`week` in [3]"


def test_what_is_taken_back_is_told_by_what_was_new(planner, rats):
    long = (
        "Is there any difference at all in the weight of the animals between the arms that were compared in this study?"
    )
    first = planner.plan(long, rats).plan
    females = planner.plan("only females", rats, previous=first).plan
    older = planner.plan("only age over 30", rats, previous=females, earlier=[first]).plan
    back = planner.plan("undo that", rats, previous=older, earlier=[females, first]).plan
    taken, _, as_before = back.follows.partition(" As before it: ")
    assert taken == "Taken back: only age > 30."
    assert "only sex = female" in as_before


@pytest.mark.parametrize(
    "question", ["the values are not normal, take a nonparametric test", "use a rank test instead"]
)
def test_a_test_by_ranks_takes_the_place_of_the_one_before(planner, rats, question):
    before = planner.plan(HEAVY, rats).plan
    plan = planner.plan(question, rats, previous=before).plan
    assert step(plan, "compare_groups")["test"] == "ranks"


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    n = 30
    table = pd.DataFrame(
        {
            "donor": [f"D{k:02d}" for k in range(n)],
            "IL9_rest": RNG.normal(30, 5, n).round(1),
            "IL9_PHA": RNG.normal(60, 9, n).round(1),
        }
    )
    path = tmp_path_factory.mktemp("twins") / "twins.csv"
    table.to_csv(path, index=False)
    return profile_files([path])


@pytest.mark.parametrize(("question", "test"), [("use a rank test", "wilcoxon"), ("use a t-test", "paired_t")])
def test_another_test_of_pairs_is_no_second_analysis(planner, twins, question, test):
    before = planner.plan("is IL9 higher with PHA than at rest, pairs", twins).plan
    plan = planner.plan(question, twins, previous=before).plan
    assert [node.tool for node in plan.nodes] == [node.tool for node in before.nodes]
    assert plan.nodes[-1].params["test"] == test
    with pytest.raises(PlanError, match=f"test = {test} .*already"):
        planner.plan(question, twins, previous=plan)


def test_a_name_left_out_behind_what_is_kept_is_not_kept(planner, rats):
    plan = planner.plan("Does weight differ between the arms, only females, without r7?", rats).plan
    assert kept(plan) == "`sex` in ['female'] and `rat` not in ['r7']"


@pytest.fixture(scope="module")
def rehab(tmp_path_factory):
    draw = np.random.default_rng(12)
    start = draw.normal(50, 12, 44)
    table = pd.DataFrame({"Patient": [f"P{k:02d}" for k in range(44)], "group": ["rehab", "usual care"] * 22, "sex": draw.choice(["M", "F"], 44),
                          "KCCQ_0": start.round(1), "KCCQ_12wk": (start + draw.normal(7, 6, 44)).round(1)})  # fmt: skip
    path = tmp_path_factory.mktemp("rehab") / "rehab.csv"
    table.to_csv(path, index=False)
    return profile_files([path])


@pytest.mark.parametrize("words", ["adjust for the baseline score", "adjust for KCCQ_0"])
def test_a_change_is_adjusted_for_where_it_began(words, planner, rehab):
    """The first value stands in the change itself, and was dropped without a word, or the groups became the outcome."""
    changed = "did the kccq improve more with rehab than with usual care"
    for plan in (
        planner.plan(f"{changed}, {words}", rehab).plan,
        planner.plan(words, rehab, previous=planner.plan(changed, rehab).plan).plan,
    ):
        model = plan.nodes[-1]
        assert model.tool == "linear_regression"
        assert model.params["outcome"] == "KCCQ_12wk - KCCQ_0"
        assert (model.params["predictors"], model.params["adjusted"]) == (["group", "KCCQ_0"], ["KCCQ_0"])
