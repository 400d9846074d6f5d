"""One step for each level where a question asks so, and what is said where a plan does not do it as asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.domain.plan import TaskDag
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def herd(tmp_path_factory):
    n = 120
    table = pd.DataFrame(
        {
            "goat": range(1, n + 1),
            "diet": ["hay", "mixed", "silage"] * (n // 3),
            "sex": ["female", "male"] * (n // 2),
            "farm": ["Alm", "Berg", "Tal", "Alm"] * (n // 4),
            "age": RNG.integers(2, 11, n),
            "weight": RNG.normal(60, 8, n).round(1),
            "days": RNG.integers(20, 900, n),
            "died": RNG.integers(0, 2, n),
        }
    )
    path = tmp_path_factory.mktemp("herd") / "goats.csv"
    table.to_csv(path, index=False)
    return profile_files([path])


def steps(plan: TaskDag, tool: str) -> list[dict]:
    return [node.params for node in plan.nodes if node.tool == tool]


def conditions(plan: TaskDag) -> list[str]:
    return [params["condition"] for params in steps(plan, "filter_rows")]


BOTH = ["`sex` in ['female']", "`sex` in ['male']"]


@pytest.mark.parametrize(
    "question",
    [
        "Does weight differ between the diets, separately for each sex?",
        "Does weight differ between the diets for males and females separately?",
        "does weight differ between the diets, seperately for male and female",
        "split by sex: does weight differ between the diets",
        "Does weight differ between the diets within each sex?",
    ],
)
def test_each_level_has_a_step_of_its_own(planner, herd, question):
    plan = planner.plan(question, herd).plan
    assert conditions(plan) == BOTH
    asked = steps(plan, "compare_groups")
    assert [(p["value"], p["group"]) for p in asked] == [("weight", "diet")] * 2
    assert plan.not_answered == []
    names = [node.name for node in plan.nodes if node.tool == "compare_groups"]
    assert ["female" in names[0], "male" in names[1]] == [True, True]
    for node in plan.nodes:
        if node.tool == "compare_groups":
            (reads,) = node.inputs.values()
            assert reads.partition(".")[0] in {other.id for other in plan.nodes if other.tool == "filter_rows"}


def test_only_the_levels_that_are_named(planner, herd):
    plan = planner.plan("Is weight related to age, separately for Alm and Tal?", herd).plan
    assert conditions(plan) == ["`farm` in ['Alm']", "`farm` in ['Tal']"]


def test_a_contrast_stays_one_of_its_levels(planner, herd):
    plan = planner.plan("is weight higher in females than in males, separately for each farm?", herd).plan
    assert len(conditions(plan)) == 3
    assert {(p["group"], p["treated"], p["control"]) for p in steps(plan, "compare_groups")} == {
        ("sex", "female", "male")
    }


@pytest.mark.parametrize(
    "question",
    [
        "mean weight separately for each sex",
        "Kaplan-Meier of days with died, separately for each sex",
        "How many goats of each sex are there on each farm?",
        "Does weight differ between the sexes?",
    ],
)
def test_what_a_step_gives_by_group_itself_is_one_step(planner, herd, question):
    assert conditions(planner.plan(question, herd).plan) == []


@pytest.mark.parametrize("words", ["also by sex", "and by sex?", "split it by sex", "separately for each sex please"])
def test_a_follow_up_takes_the_rows_apart(planner, herd, words):
    first = planner.plan("Is weight related to age?", herd).plan
    plan = planner.plan(words, herd, previous=first).plan
    assert conditions(plan) == BOTH
    assert [(p["x"], p["y"]) for p in steps(plan, "correlation")] == [("weight", "age")] * 2
    assert "one step for each level of sex" in plan.follows


def test_a_follow_up_on_the_log_scale_computes_it_first(planner, herd):
    first = planner.plan("Does weight differ between the diets?", herd).plan
    plan = planner.plan("use a log scale", herd, previous=first).plan
    assert steps(plan, "derive_column")[0]["expression"] == "log10(`weight`)"
    assert steps(plan, "compare_groups")[0]["value"] == steps(plan, "derive_column")[0]["name"]


def test_a_measure_named_by_its_logarithm_is_compared(planner, herd):
    for question in ("compare log10 weight between the diets", "does log10(weight) differ between the diets?"):
        plan = planner.plan(question, herd).plan
        made = steps(plan, "derive_column")[0]
        assert made["expression"] == "log10(`weight`)"
        assert steps(plan, "compare_groups")[0]["value"] == made["name"]
    assert not steps(planner.plan("log10 of weight as a new column", herd).plan, "compare_groups")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("one-sided t test: does weight differ between the sexes?", "two-sided"),
        ("Does weight differ between the sexes? 99 % confidence interval", "95 %"),
        ("Does weight differ between the diets, with bootstrap", "no step of this plan"),
        ("bayesian t test of weight by sex", "no step of this plan"),
        ("Is weight related to age? remove outliers first", "nothing is left out by itself"),
        ("Does weight differ between the sexes after multiple imputation", "left out instead"),
        ("quadratic regression of weight on age", "no step of this plan"),
    ],
)
def test_what_is_not_done_as_asked_is_said(planner, herd, words, told):
    assert any(told in line for line in planner.plan(words, herd).plan.not_answered)


@pytest.mark.parametrize(
    ("words", "tool", "setting"),
    [
        ("Does weight differ between the diets? non-parametric", "compare_groups", {"test": "ranks"}),
        ("nonparametric correlation of weight and age", "correlation", {"method": "spearman"}),
        ("robust regression of weight on age", "linear_regression", {"robust_se": True}),
    ],
)
def test_what_a_setting_does_is_not_said_to_be_missing(planner, herd, words, tool, setting):
    plan = planner.plan(words, herd).plan
    assert setting.items() <= steps(plan, tool)[0].items()
    assert plan.not_answered == []


def test_what_a_step_is_about_is_not_said_to_be_missing(planner, herd):
    assert planner.plan("Are there outliers in weight?", herd).plan.not_answered == []


def test_a_follow_up_that_asks_for_what_no_step_does_is_refused_by_name(planner, herd):
    first = planner.plan("Does weight differ between the diets?", herd).plan
    with pytest.raises(PlanError, match="'drop the outliers': nothing is left out by itself"):
        planner.plan("drop the outliers", herd, previous=first)


@pytest.mark.parametrize("words", ["use a non-parametric test", "without Berg", "same but with Holm"])
def test_what_follows_on_steps_for_each_level_keeps_them(planner, herd, words):
    first = planner.plan("Does weight differ between the diets, separately for each sex?", herd).plan
    plan = planner.plan(words, herd, previous=first).plan
    asked = steps(plan, "compare_groups")
    assert [(p["value"], p["group"]) for p in asked] == [("weight", "diet")] * 2
    assert ["female" in conditions(plan)[0], "male" in conditions(plan)[1]] == [True, True]


def test_a_picture_and_a_summary_of_what_was_compared(planner, herd):
    first = planner.plan("Does weight differ between the diets?", herd).plan
    (box,) = steps(planner.plan("and as a boxplot", herd, previous=first).plan, "box_plot")
    assert (box["value"], box["group"]) == ("weight", "diet")
    plan = planner.plan("give me the means", herd, previous=first).plan
    assert plan.nodes[-1].params["columns"] == ["weight"]
    assert plan.nodes[-1].params["group_by"] == "diet"


@pytest.mark.parametrize(
    "question",
    ["Do the animals separate by diet or by sex?", "I wonder whether the rows separate by diet"],
)
def test_rows_that_lie_apart_are_not_taken_apart(planner, herd, question):
    plan = planner.plan(question, herd, analysis="dimension_reduction").plan
    assert "filter_rows" not in [node.tool for node in plan.nodes]
    assert any("diet" in map(str, node.params.values()) for node in plan.nodes)  # coloured by it
