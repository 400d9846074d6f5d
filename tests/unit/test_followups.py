"""Questions that go on from the plan before: what they change, what they take over, and what is asked instead of guessed.

The data are invented; expected is what a person reads from the two questions together.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.domain.plan import TaskDag
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.profiling.profiler import profile_files
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(11)
FIRST = "Does weight differ between the diets?"


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def goats(tmp_path_factory):
    n = 120
    table = pd.DataFrame(
        {
            "goat": range(1, n + 1),
            "diet": ["hay", "mixed", "silage"] * (n // 3),
            "sex": ["female", "male"] * (n // 2),
            "farm": ["Alm", "Berg", "Tal", "Alm"] * (n // 4),
            "age": RNG.integers(2, 11, n),
            "weight": RNG.normal(60, 8, n).round(1),
            "height": RNG.normal(70, 5, n).round(1),
        }
    )
    path = tmp_path_factory.mktemp("goats") / "goats.csv"
    table.to_csv(path, index=False)
    return profile_files([path])


@pytest.fixture(scope="module")
def first(planner, goats) -> TaskDag:
    return planner.plan(FIRST, goats).plan


def step(plan: TaskDag, tool: str) -> dict:
    return next(node.params for node in plan.nodes if node.tool == tool)


def tools(plan: TaskDag) -> list[str]:
    return [node.tool for node in plan.nodes]


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("and in the males", "`sex` in ['male']"),
        ("only females please", "`sex` in ['female']"),
        ("ok now without Berg", "`farm` not in ['Berg']"),
        ("repeat, only age over 5", "`age` > 5"),
        ("without goat 12", "`goat` not in [12]"),
        ("the ones older than 5 years", "`age` > 5"),
        ("can you also test the females", "`sex` in ['female']"),
        ("in the goats of Alm and Tal", "`farm` not in ['Berg']"),  # the same rows
    ],
)
def test_rows_are_kept_or_left_out_of_the_analysis_before(planner, goats, first, question, condition):
    plan = planner.plan(question, goats, previous=first).plan
    assert step(plan, "filter_rows")["condition"] == condition
    assert (step(plan, "compare_groups")["value"], step(plan, "compare_groups")["group"]) == ("weight", "diet")
    assert FIRST in plan.follows
    assert plan.not_answered == []


def test_rows_of_the_same_column_take_the_place_of_those_before(planner, goats, first):
    females = planner.plan("only females", goats, previous=first).plan
    males = planner.plan("and in the males", goats, previous=females).plan
    assert step(males, "filter_rows")["condition"] == "`sex` in ['male']"


def test_rows_of_another_column_are_added(planner, goats, first):
    females = planner.plan("only females", goats, previous=first).plan
    both = planner.plan("and without Berg", goats, previous=females).plan
    condition = step(both, "filter_rows")["condition"]
    assert "`sex` in ['female']" in condition
    assert "`farm` not in ['Berg']" in condition


def test_a_setting_is_changed_and_nothing_else(planner, goats, first):
    plan = planner.plan("with welch instead", goats, previous=first).plan
    before, after = step(first, "compare_groups"), step(plan, "compare_groups")
    assert after == {**before, "test": after["test"]}
    assert "welch" in str(after["test"])


def test_another_measure_takes_the_place_of_the_one_before(planner, goats, first):
    plan = planner.plan("the same for height instead of weight", goats, previous=first).plan
    assert step(plan, "compare_groups")["value"] == "height"
    assert plan.question == "Does height differ between the diets?"


def test_what_is_held_constant_leads_to_an_analysis_that_can(planner, goats, first):
    plan = planner.plan("same but adjusted for age", goats, previous=first).plan
    node = next(node for node in plan.nodes if "age" in str(node.params))
    assert {"diet", "age"} <= {*node.params["predictors"]}
    assert node.params["outcome"] == "weight"


def test_a_picture_points_to_what_was_measured(planner, goats, first):
    plan = planner.plan("plot that by sex", goats, previous=first).plan
    params = plan.nodes[-1].params
    assert {"weight", "sex"} <= {*params.values()}
    assert "diet" not in params.values()
    assert builtin_tools().get(plan.nodes[-1].tool).task_type == "visualization"


@pytest.mark.parametrize("question", ["and for the toddlers only", "use FDR 1 %", "without the adjustment for sex"])
def test_what_is_not_found_is_refused_and_the_analysis_not_repeated(planner, goats, first, question):
    with pytest.raises(PlanError) as refused:
        planner.plan(question, goats, previous=first)
    assert refused.value.advice


@pytest.mark.parametrize("question", ["Is height correlated with age?", "Does height differ between the sexes?"])
def test_a_question_that_says_all_it_needs_takes_over_nothing(planner, goats, first, question):
    alone = planner.plan(question, goats).plan
    plan = planner.plan(question, goats, previous=first).plan
    assert plan.nodes == alone.nodes
    assert plan.follows == ""


def test_what_a_person_set_before_stays_set(planner, goats, first):
    def by_hand(node):
        if node.tool != "compare_groups":
            return node
        return node.model_copy(update={"params": {**node.params, "test": "kruskal"}, "settled": {"test": "edit"}})

    edited = first.model_copy(update={"nodes": [by_hand(node) for node in first.nodes]})
    plan = planner.plan("only females", goats, previous=edited).plan
    assert step(plan, "compare_groups")["test"] == "kruskal"
    told = planner.plan("only females, with welch", goats, previous=edited).plan
    assert "welch" in str(step(told, "compare_groups")["test"])


def test_the_analysis_that_a_person_chooses_is_planned_with_what_was_asked_before(planner, goats, first):
    plan = planner.plan("only females", goats, previous=first, analysis="group_plot").plan
    assert step(plan, "filter_rows")["condition"] == "`sex` in ['female']"
    assert [chosen.id for chosen in plan.analysis] == ["group_plot"]


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counts")
    samples = [f"S{k}" for k in range(1, 9)]
    genes = pd.Index([f"GENE{k}" for k in range(60)], name="gene")
    pd.DataFrame(RNG.poisson(50, (60, 8)), index=genes, columns=pd.Index(samples)).to_csv(folder / "counts.csv")
    arms = pd.DataFrame({"sample": samples, "arm": ["drug", "control"] * 4})
    arms.to_csv(folder / "samples.csv", index=False)
    return profile_files([folder / "counts.csv", folder / "samples.csv"])


def test_a_step_of_the_plan_before_is_changed_and_the_others_stay(planner, counts):
    before = planner.plan("Which genes change between drug and control?", counts).plan
    plan = planner.plan("only top 10 genes in the heatmap", counts, previous=before).plan
    assert tools(plan) == tools(before)
    assert step(plan, "expression_heatmap")["top_n"] == 10
    strict = planner.plan("please with threshold 0.01 instead of 0.05", counts, previous=before).plan
    assert tools(strict) == tools(before)
    assert step(strict, "differential_expression")["alpha"] == 0.01


def test_rows_that_no_step_can_keep_are_refused(planner, counts):
    before = planner.plan("Which genes change between drug and control?", counts).plan
    with pytest.raises(PlanError):
        planner.plan("repeat with only the control samples", counts, previous=before)


def test_samples_of_a_matrix_are_refused_by_name(planner, counts):
    before = planner.plan("Which genes change between drug and control?", counts).plan
    with pytest.raises(PlanError, match="S3"):
        planner.plan("leave out S3, it is an outlier", counts, previous=before)


# ==== what could be asked ====


def test_suggestions_plan_as_they_stand(planner, goats):
    offered = planner.suggest(goats)
    assert len(offered) == 3
    for question in offered:
        plan = planner.plan(question, goats).plan
        assert not any(q.required or q.blocking for q in plan.open_questions)
        assert plan.not_answered == []


def test_suggestions_after_an_answer_go_on_from_it(planner, goats, first):
    offered = planner.suggest(goats, first)
    assert len(offered) == 3
    for question in offered:
        plan = planner.plan(question, goats, previous=first).plan
        assert plan.follows
        assert not any(q.required or q.blocking for q in plan.open_questions)


SMALL = {
    "one measure": {"length": RNG.normal(5, 1, 40).round(2)},
    "two measures": {"length": RNG.normal(5, 1, 40).round(2), "width": RNG.normal(3, 1, 40).round(2)},
    "a group and a measure": {"strain": ["Ler", "Col"] * 20, "yield": RNG.normal(5, 1, 40).round(2)},
    "ends": {"months": RNG.integers(1, 60, 40), "dead": [0, 1] * 20, "arm": ["a"] * 20 + ["b"] * 20},
    "animals over time": {
        "goat": [f"g{n // 5}" for n in range(40)], "day": [0, 1, 2, 3, 4] * 8, "weight": RNG.normal(60, 8, 40).round(1)
    },
}  # fmt: skip
"""Tables as small as they come."""


@pytest.mark.parametrize("columns", SMALL.values(), ids=SMALL)
def test_three_questions_are_offered_for_a_simple_table_and_after_its_answer(planner, tmp_path, columns):
    pd.DataFrame(columns).to_csv(tmp_path / "table.csv", index=False)
    profiles = profile_files([tmp_path / "table.csv"])
    offered = planner.suggest(profiles)
    assert len({*offered}) == 3
    before = planner.plan(offered[0], profiles).plan
    onward = planner.suggest(profiles, before)
    assert len({*onward}) == 3
    assert offered[0] not in onward
    for question in onward:
        plan = planner.plan(question, profiles, previous=before).plan
        assert not any(q.required or q.blocking for q in plan.open_questions)


def test_nothing_is_suggested_for_files_that_cannot_be_used(planner, tmp_path):
    (tmp_path / "note.bin").write_bytes(bytes(range(256)))
    assert planner.suggest(profile_files([tmp_path / "note.bin"])) == []
