"""Changing a plan by words: the right step, the right kind, a new version, and a sentence for each difference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.asking.edits import changes_between, parse_value, set_params, settled_by_hand
from engine.domain.plan import OpenQuestion, TaskDag, TaskNode
from engine.domain.toolspec import ParamSpec
from engine.errors import PlanError
from engine.toolbox.registry import builtin_tools
from engine.toolbox.typecheck import param_problem

REGISTRY = builtin_tools()


def a_plan() -> TaskDag:
    survival = {"time": "time", "event": "status", "event_value": "1"}
    return TaskDag(
        question="q",
        nodes=[
            TaskNode(id="n1", name="KM", tool="kaplan_meier", params={**survival, "group": "arm"}),
            TaskNode(id="n2", name="Cox", tool="cox_regression", params={**survival, "covariates": ["arm"]}),
        ],
        open_questions=[
            OpenQuestion(id="q1", text="Which?", why="", node="n1", param="event_value", also=["n2"], proposed="1"),
            OpenQuestion(id="q2", text="Unit?", why="", node="n1", param="time_unit"),
        ],
    )


def test_a_change_makes_a_new_version_and_leaves_the_old_plan_alone():
    old = a_plan()
    new = set_params(old, {"n2.penalizer": "0.5"}, REGISTRY)
    assert (old.version, new.version) == (1, 2)
    assert new.node("n2").params["penalizer"] == 0.5
    assert "penalizer" not in old.node("n2").params
    assert new.node("n1") == old.node("n1")


def test_without_changes_the_plan_stays_the_same_version():
    plan = a_plan()
    assert set_params(plan, {}, REGISTRY) is plan


def test_an_answer_to_a_question_reaches_every_step_it_concerns_and_closes_the_question():
    new = set_params(a_plan(), {"n1.event_value": "2"}, REGISTRY)
    assert [node.params["event_value"] for node in new.nodes] == ["2", "2"]
    assert [question.id for question in new.open_questions] == ["q2"]


def test_levels_that_change_their_places_take_the_name_along_and_the_reason_goes():
    node = TaskNode(
        id="n1",
        name="Compare: drug against placebo",
        tool="compare_groups",
        params={"value": "weight", "group": "arm", "treated": "drug", "control": "placebo"},
        reasons=["'drug' is compared with 'placebo', which is named like a control.", "Adjusted by Holm."],
    )
    old = TaskDag(question="q", nodes=[node])
    turned = node.model_copy(update={"params": {**node.params, "treated": "placebo", "control": "drug"}})
    (made,) = settled_by_hand(old, old.model_copy(update={"nodes": [turned]})).nodes
    assert (made.name, made.reasons) == ("Compare: placebo against drug", ["Adjusted by Holm."])
    (swapped,) = set_params(old, {"n1.control": "drug"}, REGISTRY).nodes  # the other side gives way
    assert (swapped.params["treated"], swapped.params["control"]) == ("placebo", "drug")
    assert (swapped.name, swapped.reasons) == ("Compare: placebo against drug", ["Adjusted by Holm."])
    (cleared,) = set_params(old, {"n1.treated": "", "n1.control": ""}, REGISTRY).nodes
    assert (cleared.name, cleared.reasons) == ("Compare", ["Adjusted by Holm."])


def test_a_change_of_one_of_several_steps_leaves_the_question_open():
    new = set_params(a_plan(), {"n2.event_value": "2"}, REGISTRY)
    assert [node.params["event_value"] for node in new.nodes] == ["1", "2"]
    assert [question.id for question in new.open_questions] == ["q1", "q2"]


def test_a_step_may_be_named_by_its_tool_and_the_question_is_closed_too():
    new = set_params(a_plan(), {"kaplan_meier.time_unit": "days"}, REGISTRY)
    assert new.node("n1").params["time_unit"] == "days"
    assert [question.id for question in new.open_questions] == ["q1"]


@pytest.mark.parametrize(
    ("key", "value", "message", "advice"),
    [
        ("n9.group", "x", "'n9.group' does not name a parameter", "n1 (kaplan_meier), n2 (cox_regression)"),
        ("group", "x", "'group' does not name a parameter", "NODE.PARAM=VALUE"),
        ("n1.grup", "x", "no parameter 'grup'", "group"),
        ("n2.penalizer", "much", "penalizer must be a number, not 'much'", ""),
        ("n2.penalizer", "-1", "penalizer must be at least 0, not -1", ""),
        ("n2.penalizer", "nan", "penalizer must be a number, not nan", ""),
        ("n1.interval", "wald", "interval must be one of log-log, log, not 'wald'", ""),
    ],
)
def test_a_change_that_does_not_fit_says_what_would(key, value, message, advice):
    with pytest.raises(PlanError) as caught:
        set_params(a_plan(), {key: value}, REGISTRY)
    assert message in caught.value.message
    assert advice in caught.value.advice


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("integer", " 12 ", 12),
        ("integer", "1e3", 1000),
        ("integer", "1.5", 1.5),
        ("number", "1e-3", 0.001),
        ("boolean", "Yes", True),
        ("boolean", "FALSE", False),
        ("boolean", "maybe", "maybe"),
        ("columns", "age, tumour size", ["age", "tumour size"]),
        ("columns", '["age, years", "sex"]', ["age, years", "sex"]),
        ("columns", "", []),
        ("texts", "[broken", "[broken"),
        ("level", "1", "1"),
        ("text", " log ", "log"),
    ],
)
def test_text_is_read_as_the_kind_of_its_parameter(kind, text, value):
    read = parse_value(ParamSpec(name="p", kind=kind, description=""), text)
    assert read == value
    assert type(read) is type(value)


@given(st.sampled_from(["integer", "number", "boolean", "columns", "texts", "text"]), st.text() | st.floats().map(str))
def test_any_text_is_read_or_refused_and_never_an_error(kind, text):
    param = ParamSpec(name="p", kind=kind, description="")
    assert isinstance(param_problem(param, parse_value(param, text)), str)


@given(st.integers(-(10**12), 10**12))
def test_whole_numbers_survive_being_written_and_read(number):
    assert parse_value(ParamSpec(name="p", kind="integer", description=""), str(number)) == number


def test_each_difference_between_two_versions_is_one_sentence():
    old = a_plan()
    changed = old.nodes[1].model_copy(
        update={
            "tool": "log_rank",
            "inputs": {"survival": "data:b.csv"},
            "params": {**old.nodes[1].params, "time": "t2"},
        }
    )
    added = TaskNode(id="n3", name="X", tool="box_plot")
    new = old.model_copy(update={"nodes": [changed, added]})
    assert changes_between(old, new) == [
        "Step n1 (kaplan_meier) was removed.",
        "Step n3 (box_plot) was added.",
        "Step n2 uses log_rank instead of cox_regression.",
        "Step n2: time is 't2' instead of 'time'.",
        "Step n2: survival comes from data:b.csv instead of nothing.",
    ]


def test_equal_versions_differ_in_nothing():
    assert changes_between(a_plan(), a_plan()) == []


def a_model(**params):
    node = TaskNode(
        id="n1",
        name="Cox",
        tool="cox_regression",
        params={"time": "days", "event": "died", "covariates": ["stage", "age"], **params},
    )
    return TaskDag(question="q", nodes=[node])


@pytest.mark.parametrize(
    ("change", "references", "control"),
    [
        ({"n1.references": '["stage=III"]'}, ["stage=III"], ""),  # what was changed last holds
        ({"n1.control": "III"}, [], "III"),
        ({"n1.covariates": '["age"]'}, [], ""),  # what is not in the model is compared with nothing
        ({"n1.penalizer": "0.1"}, ["stage=I"], "I"),
    ],
)
def test_a_base_that_is_said_in_two_ways_is_changed_in_both(change, references, control):
    plan = a_model(references=["stage=I"], control="I")
    (changed,) = set_params(plan, change, REGISTRY).nodes
    assert (changed.params["references"], changed.params["control"]) == (references, control)


def test_a_base_that_was_set_by_hand_outlives_the_next_change():
    plan = set_params(a_model(), {"n1.control": "III"}, REGISTRY)
    (changed,) = set_params(plan, {"n1.penalizer": "0.1"}, REGISTRY).nodes
    assert changed.params["control"] == "III"
