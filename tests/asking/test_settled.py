"""What a question, the data or a user decided is marked in the plan, and memory leaves it alone."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.asking.edits import set_params, settled_by_hand
from engine.data.profiler import profile_files
from engine.domain.plan import TaskDag, TaskNode
from engine.domain.profile import ColumnProfile, Profile, TypeGuess
from engine.planning.naming import numbers
from engine.planning.planner import Planner
from engine.planning.reading.read import read
from engine.planning.reading.settings import settings_said
from engine.planning.tables.sheets import Data
from engine.toolbox.registry import builtin_tools

REGISTRY = builtin_tools()
ADJUST = "Adjust the column pvalue for multiple testing"


@pytest.fixture(scope="module")
def planner():
    return Planner(REGISTRY)


@pytest.fixture(scope="module")
def pvalues(tmp_path_factory):
    path = tmp_path_factory.mktemp("settled") / "tests.csv"
    values = [0.0001 * (n + 1) ** 2 for n in range(60)]
    pd.DataFrame({"marker": [f"m{n}" for n in range(60)], "pvalue": values}).to_csv(path, index=False)
    return path


def node_of(tool: str, **params) -> TaskNode:
    spec = REGISTRY.get(tool)
    return TaskNode(id="n1", name=tool, tool=tool, params={p.name: p.default for p in spec.params} | params)


EXAMPLES = [spec.example for spec in REGISTRY]


def said(tool: str, question: str, columns: tuple[str, ...] = (), **params) -> dict:
    """Return what the words say of a tool's settings; `params` are settled already."""
    profiles = [ColumnProfile(name=name, kind="number", scale="number", distinct=50) for name in columns]
    guess = TypeGuess(type="table", confidence=0.9)
    profile = Profile(path="/t.csv", name="t.csv", format="csv", bytes=1, sha256="0" * 64, types=[guess], summary="",
                      column_profiles=profiles)  # fmt: skip
    return settings_said(REGISTRY.get(tool), read(question, Data.of([profile])), params)


# ==== what the planner marks ====


@pytest.mark.parametrize(
    ("question", "method", "alpha", "settled"),
    [
        (ADJUST, "benjamini_hochberg", 0.05, set()),
        (f"{ADJUST} with Benjamini-Hochberg at FDR 0.05", "benjamini_hochberg", 0.05, {"method", "alpha"}),
        (f"{ADJUST} with BH", "benjamini_hochberg", 0.05, {"method"}),
        (f"{ADJUST} with Bonferroni", "bonferroni", 0.05, {"method"}),
        (f"{ADJUST} by the method of Holm, alpha 0.01", "holm", 0.01, {"method", "alpha"}),
        (f"{ADJUST}, at five percent FDR", "benjamini_hochberg", 0.05, {"method", "alpha"}),
    ],
)
def test_the_plan_says_what_the_question_decided_also_where_it_is_the_default(
    planner, pvalues, question, method, alpha, settled
):
    plan = planner.plan(question, profile_files([pvalues])).plan
    (node,) = plan.nodes
    assert (node.params["method"], node.params["alpha"]) == (method, alpha)
    assert {name for name, who in node.settled.items() if who == "plan"} == settled | {"column"}


def test_what_the_data_decide_is_marked_and_what_nobody_decided_is_not(planner, growth_csv):
    plan = planner.plan("Is growth higher in treated than in control?", profile_files([growth_csv])).plan
    (node,) = plan.nodes
    assert {"value", "group", "treated", "control"} <= set(node.settled)
    assert "test" not in node.settled


@pytest.mark.parametrize(
    ("words_of", "test"),
    [
        ("with a t-test", "welch_t"),
        ("with an unpaired t test", "welch_t"),
        ("by Mann-Whitney", "mann_whitney"),
        ("with Student's t", "student_t"),
    ],
)
def test_a_test_that_is_named_is_the_test_that_is_planned(planner, growth_csv, words_of, test):
    question = f"Is growth higher in treated than in control, {words_of}?"
    (node,) = planner.plan(question, profile_files([growth_csv])).plan.nodes
    assert node.params["test"] == test
    assert node.settled["test"] == "plan"


@pytest.mark.parametrize(
    ("tool", "question", "name", "value"),
    [
        ("histogram", "Draw a histogram of growth with 50 bins", "bins", 50),
        ("differential_expression", "Which genes change? Shrink the fold changes", "shrink", True),
        ("differential_expression", "Which genes change, without shrinkage?", "shrink", False),
        ("anova", "Two-way ANOVA of yield by dose and strain without interaction", "interaction", False),
        ("anova", "Do dose and strain interact?", "interaction", True),
        ("bar_plot", "Bar chart of the median growth per treatment", "aggregate", "median"),
        ("linear_regression", "Regress growth on height with robust standard errors", "robust_se", True),
        ("cox_regression", "Cox regression with a penalty of 0.1", "penalizer", 0.1),
        ("sc_markers", "Markers of each cluster by the Wilcoxon test", "method", "wilcoxon"),
        ("box_plot", "Box plot of growth by treatment", "kind", "box"),
        ("gsea_preranked", "GSEA with permutations = 5000", "permutations", 5000),
        ("sc_cluster", "Cluster the cells at resolution 0.4", "resolution", 0.4),
    ],
)
def test_a_setting_that_the_words_name_is_settled_and_set(tool, question, name, value):
    assert said(tool, question)[name] == value


def test_what_is_settled_is_not_read_again():
    assert "bins" not in said("histogram", "histogram with 50 bins", bins=20)


def test_a_number_a_tool_does_not_take_is_not_set_and_thresholds_are_read_once():
    assert "bins" not in said("histogram", "histogram with 1 bins")
    assert "bins" not in said("histogram", "histogram with 12.5 bins")
    found = said("volcano_plot", "at FDR 0.2 and log2FC > 2")
    assert (found["alpha"], found["min_abs_lfc"]) == (0.2, 2.0)


@pytest.mark.parametrize(
    ("tool", "question", "columns", "name"),
    [
        ("bar_plot", "Bar chart of the median income by region", ("median_income", "region"), "aggregate"),
        ("bar_plot", "Bar chart of total cholesterol by sex", ("chol", "sex"), "aggregate"),
        ("differential_expression", "Which genes change in shrinking tumours?", (), "shrink"),
        ("linear_regression", "Is there a robust relation of a and b?", ("a", "b"), "robust_se"),
    ],
)
def test_a_word_that_means_something_else_is_no_setting(tool, question, columns, name):
    assert name not in said(tool, question, columns)


def test_a_number_beside_a_column_of_that_name_is_no_setting():
    assert said("sc_cluster", "cells with resolution 2")["resolution"] == 2
    assert "resolution" not in said("sc_cluster", "cells with resolution 2", ("Resolution",))


@settings(max_examples=300)
@given(spec=st.sampled_from(list(REGISTRY)), question=st.text(max_size=60) | st.sampled_from(EXAMPLES))
def test_any_words_give_values_that_any_tool_takes(spec, question):
    taken(spec, question)


def test_a_tools_own_example_gives_values_that_it_takes():
    for spec in REGISTRY:
        taken(spec, spec.example)


def taken(spec, question: str) -> None:
    """Make sure that whatever a question says of a tool's settings is what they may be."""
    from engine.toolbox.typecheck import param_problem

    for name, value in said(spec.name, question).items():
        param = spec.param(name)
        assert param is not None
        assert not param_problem(param, value)


@pytest.mark.parametrize(
    ("question", "alpha"),
    [
        ("at five percent FDR", 0.05),
        ("FDR of 5 per cent", 0.05),
        ("0.05 FDR", 0.05),
        ("at the ten percent level", 0.1),
        ("a p-value two-sided, FDR 0.1", 0.1),
        ("5 FDR", None),
        ("one level", None),
        ("the 0.5 level", None),
    ],
)
def test_thresholds_in_words_and_behind_the_number(question, alpha):
    said = numbers.significance(question)
    assert (said and said.value) == alpha


# ==== what users decide ====


def a_plan() -> TaskDag:
    reasons = ["Why it is here.", "alpha = 0.01 from memory: alice set it in a run.", "alpha is a threshold."]
    node = TaskNode(
        id="n1", name="Adjust", tool="adjust_p_values", params={"column": "pvalue", "alpha": 0.01},
        settled={"alpha": "memory", "column": "plan"}, reasons=reasons,
    )  # fmt: skip
    return TaskDag(question="q", nodes=[node])


def test_a_value_set_in_words_is_settled_and_memory_is_no_reason_for_it_any_more():
    node = set_params(a_plan(), {"n1.alpha": "0.1"}, REGISTRY).node("n1")
    assert node.settled == {"alpha": "set", "column": "plan"}
    assert node.reasons == ["Why it is here.", "alpha is a threshold."]


def test_a_value_changed_by_hand_is_settled_and_what_was_not_changed_keeps_its_mark():
    old = a_plan()
    node = old.nodes[0].model_copy(update={"params": {**old.nodes[0].params, "method": "holm"}})
    made = settled_by_hand(old, old.model_copy(update={"nodes": [node]})).node("n1")
    assert made.settled == {"alpha": "memory", "column": "plan", "method": "edit"}
    assert made.reasons == old.nodes[0].reasons


def test_a_new_step_and_one_with_another_tool_are_taken_as_they_are():
    old = a_plan()
    other = TaskNode(id="n1", name="Histogram", tool="histogram", params={"column": "pvalue", "bins": 9})
    new = TaskNode(id="n2", name="Histogram", tool="histogram", params={"column": "pvalue"})
    made = settled_by_hand(old, old.model_copy(update={"nodes": [other, new]}))
    assert [node.settled for node in made.nodes] == [{}, {}]


def test_a_plan_written_before_there_were_marks_is_read():
    stored = a_plan().model_dump(mode="json")
    del stored["base"], stored["nodes"][0]["settled"]
    assert TaskDag.model_validate(stored).nodes[0].settled == {}


# ==== from one run to the next plan ====


@pytest.fixture
def taught(open_engine, pvalues):
    """An engine on whose workspace alice had p-values adjusted, and changed both settings first."""
    engine = open_engine(embedding_model="none", user="alice")
    run_id = engine.ask(ADJUST, [pvalues])
    engine.wait(run_id, 120)
    plan = engine.view(run_id).plan
    (node,) = plan.nodes
    node = node.model_copy(update={"params": {**node.params, "method": "bonferroni", "alpha": 0.01}})
    engine.edit_plan(run_id, plan.model_copy(update={"nodes": [node]}))
    engine.approve(run_id)
    assert engine.wait(run_id, 120).status == "succeeded"
    return engine, run_id


def test_what_the_question_says_wins_over_what_somebody_set_before(taught, pvalues):
    engine, run_id = taught
    (free,) = engine.plan(ADJUST, [pvalues]).nodes
    assert (free.params["method"], free.params["alpha"]) == ("bonferroni", 0.01)
    assert free.settled == {"column": "plan", "method": "memory", "alpha": "memory"}
    told = [reason for reason in free.reasons if "from memory" in reason]
    assert len(told) == 2
    assert all("you set it" in reason and run_id not in reason for reason in told)

    (worded,) = engine.plan(f"{ADJUST} with Benjamini-Hochberg at FDR 0.05", [pvalues]).nodes
    assert (worded.params["method"], worded.params["alpha"]) == ("benjamini_hochberg", 0.05)
    assert not [reason for reason in worded.reasons if "from memory" in reason]

    (half,) = engine.plan(f"{ADJUST} with Benjamini-Hochberg", [pvalues]).nodes
    assert (half.params["method"], half.params["alpha"]) == ("benjamini_hochberg", 0.01)


def test_what_is_set_with_the_question_wins_and_no_reason_says_otherwise(taught, pvalues):
    engine, _ = taught
    made = engine.plan(ADJUST, [pvalues], {"adjust_p_values.alpha": "0.05"})
    (node,) = made.nodes
    assert (node.params["method"], node.params["alpha"]) == ("bonferroni", 0.05)
    assert node.settled["alpha"] == "set"
    assert not [reason for reason in node.reasons if reason.startswith("alpha = ")]
    assert engine.check_plan(made) == []


@pytest.mark.slow
def test_an_edit_of_a_finished_run_is_remembered_as_one(taught):
    engine, first = taught
    plan = engine.view(first).plan
    second, _ = engine.edit_plan(first, engine.set_params(plan, {"n1.method": "holm"}))
    engine.approve(second)
    assert engine.wait(second, 120).status == "succeeded"
    episode = next(e for e in engine.memory.episodes() if e.run_id == second)
    assert episode.edits == ["Step n1: method is 'holm' instead of 'bonferroni'."]
    assert episode.steps[0].changed == {"method": "edit", "alpha": "edit"}  # alpha was alice's in the run before
    assert engine.view(second).plan_versions == [1, 2]
