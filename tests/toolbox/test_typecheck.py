"""A plan that does not fit the catalogue is refused with the step, what is wrong and what would fit."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.catalogue import accepts
from engine.domain.datatypes import DataType
from engine.domain.plan import Dataset, OpenQuestion, TaskDag, TaskNode
from engine.domain.toolspec import ParamSpec
from engine.toolbox.registry import builtin_tools
from engine.toolbox.typecheck import check_plan, offered_type, param_problem

REGISTRY = builtin_tools()
DATA = [
    Dataset(name="t.csv", path="/t.csv", sha256="0" * 64, type=DataType.TABLE),
    Dataset(name="counts.csv", path="/counts.csv", sha256="1" * 64, type=DataType.COUNT_MATRIX),
    Dataset(name="sheet.csv", path="/sheet.csv", sha256="2" * 64, type=DataType.SAMPLE_SHEET),
]


def step(node_id: str = "n1", tool: str = "filter_rows", **fields) -> TaskNode:
    usual = {"inputs": {"table": "data:t.csv"}, "params": {"condition": "x > 1"}}
    return TaskNode(id=node_id, name=node_id, tool=tool, **{**usual, **fields})


def plan_of(*nodes: TaskNode, **fields) -> TaskDag:
    return TaskDag(question="q", datasets=DATA, nodes=list(nodes), **fields)


def issues_of(*nodes: TaskNode, **fields) -> list[tuple[str, str]]:
    return [(issue.code, issue.where) for issue in check_plan(plan_of(*nodes, **fields), REGISTRY)]


def test_a_plan_that_fits_has_no_issues():
    second = step("n2", inputs={"table": "n1.filtered"})
    assert issues_of(step(), second) == []


@pytest.mark.parametrize(
    ("node", "code", "words"),
    [
        (step(tool="filter_row"), "unknown_tool", "filter_rows"),
        (step(inputs={"tabel": "data:t.csv"}), "unknown_input", "no input 'tabel' (table)"),
        (step(inputs={}), "missing_input", "input 'table' (table) is not connected"),
        (step(inputs={"table": "data:other.csv"}), "unknown_reference", "'data:other.csv'"),
        (step(inputs={"table": "n9.filtered"}), "unknown_reference", "'n9.filtered'"),
        (step(inputs={"table": "t.csv"}), "unknown_reference", "'t.csv'"),
        (
            step(inputs={"table": "data:counts.csv"}),
            "type_mismatch",
            "takes table, but data:counts.csv is count_matrix",
        ),
        (
            step(params={"condition": "x", "conditon": "y"}),
            "unknown_param",
            "no parameter 'conditon' (it has condition, sort_by",
        ),
        (step(tool="histogram", params={}), "missing_param", "parameter 'column' is needed"),
        (step(tool="histogram", params={"column": ""}), "missing_param", "parameter 'column' is needed"),
        (step(params={"condition": 3}), "bad_param", "condition must be a text, not 3"),
        (step(depends_on=["n7"]), "unknown_step", "waits for 'n7'"),
        (step(inputs={"table": "n1.filtered"}), "cycle", "circle"),
    ],
)
def test_each_misfit_is_named_with_what_was_found(node, code, words):
    found = [issue for issue in check_plan(plan_of(node), REGISTRY) if issue.code == code]
    assert len(found) == 1
    assert words in found[0].message
    assert found[0].severity == "error"
    assert found[0].where in ("n1", "")


def test_an_output_of_another_type_does_not_fit():
    first = step("n1", "normalize_counts", inputs={"counts": "data:counts.csv"}, params={})
    second = step("n2", inputs={"table": "n1.expression"})
    assert issues_of(first, second) == [("type_mismatch", "n2")]


def test_normalised_values_do_not_pass_as_counts():
    first = step("n1", "normalize_counts", inputs={"counts": "data:counts.csv"}, params={})
    second = step("n2", "count_qc", inputs={"counts": "n1.expression"}, params={})
    assert issues_of(first, second) == [("type_mismatch", "n2")]


def test_two_steps_or_data_sets_of_one_name_are_refused():
    twice = TaskDag(question="q", datasets=[DATA[0], DATA[0]], nodes=[step(), step()])
    codes = {issue.code for issue in check_plan(twice, REGISTRY)}
    assert {"duplicate_id", "duplicate_dataset"} <= codes


def test_a_question_without_an_honest_default_stops_the_plan_until_it_is_answered():
    question = OpenQuestion(id="q1", text="Which one?", why="", node="n1", param="condition", blocking=True)
    assert issues_of(step(), open_questions=[question]) == []
    assert ("open_question", "n1") in issues_of(step(params={}), open_questions=[question])


def test_what_is_only_proposed_to_a_blocking_question_is_no_answer():
    question = OpenQuestion(
        id="q1", text="Which one?", why="", node="n1", param="condition", proposed="dex", blocking=True
    )
    proposed = step(params={"condition": "dex"}, settled={"condition": "plan"})
    assert issues_of(proposed, open_questions=[question]) == [("open_question", "n1")]
    chosen = step(params={"condition": "dex"}, settled={"condition": "edit"})
    assert issues_of(chosen, open_questions=[question]) == []
    other = step(params={"condition": "cell"}, settled={"condition": "plan"})
    assert issues_of(other, open_questions=[question]) == []


def test_a_question_with_a_default_does_not_stop_the_plan():
    question = OpenQuestion(id="q1", text="Which one?", why="", node="n1", param="other", proposed="a")
    assert issues_of(step(), open_questions=[question]) == []


def test_every_tool_of_the_catalogue_fits_when_its_own_inputs_are_given():
    kinds = {port.type for spec in REGISTRY for port in spec.inputs}
    data = [Dataset(name=kind.value, path=f"/{kind.value}", sha256="3" * 64, type=kind) for kind in kinds]
    sample = {"columns": ["a"], "texts": ["a"], "integer": 5, "number": 0.5, "boolean": True}
    for spec in REGISTRY:
        params = {p.name: p.choices[0] if p.choices else sample.get(p.kind, p.name) for p in spec.params if p.required}
        inputs = {port.name: f"data:{port.type.value}" for port in spec.inputs}
        node = TaskNode(id="n1", name="n", tool=spec.name, inputs=inputs, params=params)
        assert check_plan(TaskDag(question="q", datasets=data, nodes=[node]), REGISTRY) == [], spec.name


def test_every_default_of_the_catalogue_is_a_value_its_own_parameter_accepts():
    problems = [
        (spec.name, param_problem(param, param.default))
        for spec in REGISTRY
        for param in spec.params
        if not param.required and param.default not in (None, "", []) and param_problem(param, param.default)
    ]
    assert problems == []


def test_what_a_reference_offers_is_the_type_of_the_data_or_output():
    plan = plan_of(step("n1", "normalize_counts", inputs={"counts": "data:counts.csv"}, params={}))
    assert offered_type(plan, "data:counts.csv", REGISTRY) is DataType.COUNT_MATRIX
    assert offered_type(plan, "n1.expression", REGISTRY) is DataType.EXPRESSION_MATRIX
    for nowhere in ("data:x", "n1", "n1.", "n1.nothing", "n2.expression", ""):
        assert offered_type(plan, nowhere, REGISTRY) is None


@given(st.sampled_from(DataType), st.sampled_from(DataType))
def test_only_a_plain_table_takes_other_types_and_times_come_from_kept_rows(wanted, offered):
    if accepts(wanted, offered) and wanted is not offered:
        assert wanted is DataType.TABLE or (wanted, offered) == (DataType.SURVIVAL_TABLE, DataType.TABLE)
    assert accepts(wanted, wanted)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=5,
)
KINDS = ["integer", "number", "boolean", "text", "choice", "column", "columns", "level", "texts"]


@given(st.sampled_from(KINDS), anything)
def test_a_value_is_judged_without_an_error_and_only_the_right_kind_passes(kind, value):
    param = ParamSpec(
        name="p", kind=kind, description="d", minimum=-2.0, maximum=3.0, choices=["a"] if kind == "choice" else []
    )
    problem = param_problem(param, value)
    if problem:
        assert problem.startswith("p must be ")
        return
    if kind in ("integer", "number"):
        assert math.isfinite(value)
        assert -2 <= value <= 3
        assert kind == "number" or value == int(value)
        assert not isinstance(value, bool)
    elif kind == "boolean":
        assert value is True or value is False
    elif kind in ("columns", "texts"):
        assert isinstance(value, list)
        assert all(isinstance(item, str) for item in value)
    else:
        assert isinstance(value, str)
        assert kind != "choice" or value == "a"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-1, "at least 0, not -1"),
        (2, "at most 1, not 2"),
        (float("nan"), "a number, not nan"),
        ("0.5", "a number, not '0.5'"),
    ],
)
def test_a_number_outside_its_bounds_is_named_with_the_bound(value, words):
    assert words in param_problem(ParamSpec(name="alpha", kind="number", description="", minimum=0, maximum=1), value)
