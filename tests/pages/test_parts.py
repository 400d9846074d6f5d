"""The parts of pages that decide something: graph layers, parameter values, table rows, differences between runs."""

from __future__ import annotations

import pandas as pd
import pytest

from engine.domain.datatypes import DataType
from engine.domain.findings import Finding, FindingValue
from engine.domain.plan import Chosen, Dataset, TaskDag, TaskNode
from engine.domain.report import RunView
from engine.domain.results import NodeResult, RunRecord
from engine.domain.toolspec import ParamSpec
from pages.parts.drawing import levels_of
from pages.parts.tables import number_columns, rows_shown_by
from pages.running.params import with_value
from pages.running.plan import answering_step
from pages.running.runs import matching
from pages.trust.compare import changed_findings, differences


def node(node_id: str, *reads: str, **params) -> TaskNode:
    inputs = {f"in{k}": ref for k, ref in enumerate(reads)}
    return TaskNode(id=node_id, name=node_id.upper(), tool="tool", inputs=inputs, params=params)


# ==== graph ====


def test_steps_stand_right_of_everything_they_need():
    plan = TaskDag(question="q", nodes=[node("c", "a.x", "b.y"), node("b", "a.x"), node("a", "data:f.csv")])
    assert levels_of(plan) == {"a": 0, "b": 1, "c": 2}


def test_circle_in_a_draft_is_drawn_not_fatal():
    plan = TaskDag(question="q", nodes=[node("a", "b.x"), node("b", "a.x")])
    assert set(levels_of(plan)) == {"a", "b"}


def test_a_run_opens_on_the_step_that_answers_not_on_quality_control_or_a_picture():
    from types import SimpleNamespace

    tools = [
        SimpleNamespace(name="qc", answers=["quality"], task_type="analysis"),
        SimpleNamespace(name="test", answers=["differential"], task_type="analysis"),
        SimpleNamespace(name="volcano", answers=["volcano"], task_type="visualization"),
    ]
    engine = SimpleNamespace(tools=lambda: tools)
    nodes = [node(n, *r).model_copy(update={"tool": t, "priority": p})
             for n, r, t, p in (("a", ["data:f"], "qc", 0), ("b", ["data:f"], "test", 1), ("c", ["b.x"], "volcano", 2))]  # fmt: skip
    asked = [Chosen(id=name, probability=1.0) for name in ("volcano", "differential")]
    plan = TaskDag(question="q", nodes=nodes, analysis=asked)
    assert answering_step(engine, plan) == "b"
    assert answering_step(engine, plan.model_copy(update={"analysis": asked[:1]})) == "c"
    assert answering_step(engine, plan.model_copy(update={"analysis": []})) == ""


# ==== parameters ====

ALPHA = ParamSpec(name="alpha", kind="number", description="d", default=0.05)
GENES = ParamSpec(name="genes", kind="texts", description="d", default=[])


def test_default_that_was_never_written_stays_unwritten():
    assert with_value({}, ALPHA, 0.05) == {}
    assert with_value({}, GENES, []) == {}


def test_changed_value_is_written_and_can_go_back():
    assert with_value({}, ALPHA, 0.01) == {"alpha": 0.01}
    assert with_value({"alpha": 0.01}, ALPHA, 0.05) == {"alpha": 0.05}
    assert with_value({"alpha": 0.01}, ALPHA, None) == {}


def test_equal_value_gives_the_same_parameters():
    params = {"alpha": 0.01}
    assert with_value(params, ALPHA, 0.01) is params


# ==== tables ====


def test_finding_row_is_found_by_number_and_text():
    frame = pd.DataFrame({"term": ["age", "horTh"], "hazard_ratio": [1.0000000001, 0.7]})
    assert rows_shown_by(frame, {"term": "horTh"})["hazard_ratio"].tolist() == [0.7]
    assert rows_shown_by(frame, {"hazard_ratio": 1.0})["term"].tolist() == ["age"]
    assert rows_shown_by(frame, {"nothing": 1}).empty


def test_missing_value_selects_the_row_without_one():
    frame = pd.DataFrame({"group": ["a", None], "n": [1, 2]})
    assert rows_shown_by(frame, {"group": None})["n"].tolist() == [2]


def test_p_values_and_counts_have_their_own_format():
    frame = pd.DataFrame({"p_adj": [1.2e-8], "n": [3], "base_mean": [12345.6], "coef": [0.1234567], "gene": ["TP53"]})
    formats = {name: column["type_config"]["format"] for name, column in number_columns(frame).items()}
    assert formats == {"p_adj": "%.2g", "n": "localized", "base_mean": "%.1f", "coef": "%.4g"}


# ==== the list of runs ====


def record(run_id: str, status: str = "succeeded", question: str = "q", **more) -> RunRecord:
    return RunRecord(
        run_id=run_id, user="me", question=question, status=status, created_at="2026-11-21T08:00:00Z", **more
    )


def test_runs_are_found_by_question_file_and_state():
    runs = [
        record("run_1", question="Survival of mice?", data=["/x/mice.csv"]),
        record("run_2", "planning"),
        record("run_3", "failed"),
    ]
    assert [r.run_id for r in matching(runs, "MICE.csv", "")] == ["run_1"]
    assert [r.run_id for r in matching(runs, "", "running")] == ["run_2"]
    assert [r.run_id for r in matching(runs, "run_3", "failed")] == ["run_3"]
    assert matching(runs, "mice", "failed") == []


# ==== comparing runs ====


def view(run_id: str, ratio: float, *, alpha: float = 0.05, sha: str = "a" * 64, version: str = "1.0") -> RunView:
    plan = TaskDag(
        question="q",
        datasets=[Dataset(name="d.csv", path="d.csv", sha256=sha, type=DataType.TABLE)],
        nodes=[node("n1", "data:d.csv", alpha=alpha)],
    )
    finding = Finding(id="f1", node="n1", text="t", row={"term": "x"}, values=[FindingValue(name="ratio", value=ratio)])
    result = NodeResult(node="n1", tool="tool", status="succeeded", findings=[finding], versions={"lifelines": version})
    return RunView(record=record(run_id), plan=plan, results={"n1": result})


def test_same_runs_differ_in_nothing():
    assert differences(view("a", 0.7), view("b", 0.7)) == []
    assert changed_findings(view("a", 0.7), view("b", 0.7)) == []


@pytest.mark.parametrize(
    ("changed", "what"), [({"alpha": 0.01}, "Setting"), ({"sha": "b" * 64}, "Data"), ({"version": "1.1"}, "Version")]
)
def test_each_kind_of_difference_is_named(changed, what):
    (row,) = differences(view("a", 0.7), view("b", 0.7, **changed))
    assert row["What"] == what
    assert row["First run"] != row["Second run"]


def test_changed_number_of_a_finding_is_shown_with_both_values():
    (row,) = changed_findings(view("a", 0.7), view("b", 0.8))
    assert (row["Step"], row["Number"], row["First run"], row["Second run"]) == ("N1", "ratio", "0.7", "0.8")


def test_removed_step_is_named():
    second = view("b", 0.7)
    assert second.plan is not None
    second = second.model_copy(update={"plan": second.plan.model_copy(update={"nodes": []}), "results": {}})
    rows = differences(view("a", 0.7), second)
    assert {"What": "Step", "Of": "N1", "First run": "present", "Second run": "absent"} in rows
