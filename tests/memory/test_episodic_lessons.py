"""From a run to what is remembered of it: every field from its source, and sentences that teach."""

from __future__ import annotations

from typing import Any

import pytest

from engine.domain.datatypes import DataType
from engine.domain.events import NodeRetried
from engine.domain.findings import Finding, FindingValue
from engine.domain.plan import Dataset, TaskDag, TaskNode
from engine.domain.profile import ColumnProfile, Profile
from engine.domain.report import Report
from engine.domain.results import Issue, NodeResult, Route, RunRecord, Verdict
from engine.memory.episodes.lessons import episode_of, lessons, lessons_of, quality, repair_sentences
from storage.memory.episodes_twin import EpisodesTwin

NODES = [
    TaskNode(id="n2", name="Fit the model", tool="cox_regression", domain="clinical", inputs={"table": "n1.table"},
             params={"group": "arm", "alpha": 0.05, "odd": {"a": 1}, "nan": float("nan"), "many": ("x", 2)}),
    TaskNode(id="n1", name="Read the table", tool="read_table", inputs={"table": "data:patients.csv"}),
]  # fmt: skip
PLAN = TaskDag(
    question="Does TP53 status matter?",
    nodes=NODES,
    datasets=[Dataset(name="patients.csv", path="/x/patients.csv", sha256="0", type=DataType.SURVIVAL_TABLE)],
)
PROFILE = Profile(
    path="/x/patients.csv", name="patients.csv", format="csv", bytes=1, sha256="0", types=[], summary="",
    column_profiles=[ColumnProfile(name="arm", kind="category", levels={"drug A": 3, "1": 2})],
)  # fmt: skip


def record(**fields: Any) -> RunRecord:
    given = {"run_id": "run_7", "user": "ana", "question": "Does TP53 status matter for rs12345?", "status": "succeeded",
             "created_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:10:00Z"}  # fmt: skip
    return RunRecord.model_validate({**given, **fields})


def result(node: str, status: str = "succeeded", **fields: Any) -> NodeResult:
    tool = next(n.tool for n in NODES if n.id == node)
    return NodeResult.model_validate({"node": node, "tool": tool, "status": status, **fields})


def verdict(mark: float, *issues: Issue) -> Verdict:
    return Verdict(passed=True, quality=mark, issues=list(issues))


GOOD = {
    "n1": result("n1", verdict=verdict(0.9)),
    "n2": result(
        "n2",
        verdict=verdict(0.7, Issue(code="caveat", severity="warning", message="Hazards are not proportional")),
        findings=[
            Finding(id="f1", node="n2", text="MDM2 rises", row={"gene": "MDM2", "p": 0.1, "term": "12"},
                    values=[FindingValue(name="hr", value=0.7)])
        ],
    ),
}  # fmt: skip


def made(results: dict[str, NodeResult] | None = None, **options: Any) -> Any:
    run = options.pop("run", record())
    report = Report(title="T", question="Q", summary=["Arm matters (HR 0.7)", "n = 40."], findings=[], methods=[],
                    figures=[], tables=[], limitations=[], next_steps=[], citations=[])  # fmt: skip
    return episode_of(
        run, PLAN, GOOD if results is None else results, options.pop("report", report), [PROFILE], **options
    )


def test_every_field_comes_from_the_run() -> None:
    route = Route(strategy="dag", confidence=1, method="heuristic", domains=["survival"])
    episode = made(run=record(route=route), edits=["alpha was changed"], repairs=["n2: a ridge penalty was added"],
                   changed={("n2", "alpha"): "edit", ("n9", "x"): "repair"})  # fmt: skip
    assert episode.id == "episode_run_7"
    assert episode.at == "2026-01-01T00:10:00Z"
    assert episode.task == "Does TP53 status matter for rs12345?"
    assert episode.plan_summary == "1) Read the table; 2) Fit the model."
    assert episode.tools == ["read_table", "cox_regression"]
    assert episode.domains == ["survival", "clinical"]
    assert episode.entities == ["TP53", "rs12345", "MDM2", "arm", "patients.csv"]
    assert episode.result_summary == "Arm matters (HR 0.7). n = 40."
    assert episode.success
    assert episode.quality == 0.8
    assert episode.data_types == ["survival_table"]
    assert episode.data_names == ["patients.csv"]
    assert (episode.run_id, episode.user, episode.strategy, episode.source) == ("run_7", "ana", "dag", "run")
    assert episode.lessons == (
        "n2: a ridge penalty was added. The user changed the plan: alpha was changed. Hazards are not proportional."
    )
    read, fit = episode.steps
    assert read.inputs == {"table": "data:patients.csv"}
    assert fit.params == {"group": "arm", "alpha": 0.05, "odd": "{'a': 1}", "nan": "nan", "many": ["x", "2"]}
    assert fit.changed == {"alpha": "edit"}
    assert read.changed == {}


def test_an_episode_of_a_run_can_be_stored() -> None:
    store = EpisodesTwin()
    store.save([made()])
    assert store.episodes() == [made()]


def test_a_failure_teaches_what_failed_and_what_it_cost() -> None:
    guidance = Verdict(passed=False, quality=0.2, retry_guidance="Give at least ten events")
    results = {
        "n1": result("n1", "failed", error="DataError: no column 'os'\nlong trace", verdict=guidance),
        "n2": result("n2", "skipped"),
    }
    episode = made(results, report=None, run=record(status="failed", error="The analysis failed."))
    assert episode.lessons == (
        "read_table failed on patients.csv: DataError: no column 'os'. "
        "Before read_table is tried again: Give at least ten events. Because of that, cox_regression did not run."
    )
    assert not episode.success
    assert episode.quality == 0.0
    assert episode.result_summary == "The analysis failed."
    assert [step.status for step in episode.steps] == ["failed", "skipped"]
    assert episode.steps[0].error == "DataError: no column 'os'"


def test_a_run_that_went_as_planned_teaches_nothing() -> None:
    results = {"n1": result("n1"), "n2": result("n2", "cached", verdict=verdict(1.0))}
    assert lessons(NODES, results) == []
    assert quality(NODES, results) == 1.0


def test_what_was_asked_and_not_answered_counts_against_a_run() -> None:
    nodes = [NODES[0].model_copy(update={"priority": 2}), NODES[1]]
    prepared = {"n1": result("n1", verdict=verdict(1.0)), "n2": result("n2", "failed")}
    assert quality(nodes, GOOD) == 0.8
    assert quality(nodes, GOOD, not_answered=1) == 0.4  # one of two requests
    assert quality(nodes, prepared) == 0.0  # the table was read, and the question has no answer
    lacking = PLAN.model_copy(update={"nodes": nodes, "not_answered": ["Dose response: no column of doses."]})
    assert episode_of(record(status="partial"), lacking, GOOD, None, []).quality == 0.4


def test_a_run_that_stopped_before_any_step() -> None:
    episode = made({}, report=None, run=record(status="failed", error="No disk left\nx", finished_at=""))
    assert episode.lessons == "The analysis stopped: No disk left."
    assert episode.at == "2026-01-01T00:00:00Z"
    assert [step.status for step in episode.steps] == ["pending", "pending"]
    empty = episode_of(record(), TaskDag(question="q"), {}, None, [])
    assert (empty.plan_summary, empty.quality, empty.steps) == ("", 0.0, [])


def test_a_plan_in_a_circle_is_remembered_as_written() -> None:
    nodes = [TaskNode(id=a, name=a, tool="t", depends_on=[b]) for a, b in (("x", "y"), ("y", "x"))]
    assert episode_of(record(), TaskDag(question="q", nodes=nodes), {}, None, []).plan_summary == "1) x; 2) y."


def test_repairs_say_what_was_changed_and_why() -> None:
    events = [
        NodeRetried(run_id="r", node="n2", attempt=2, why="the fit did not converge", changed={"penalizer": 0.1}),
        NodeRetried(run_id="r", node="n1", attempt=2, why="the sandbox broke"),
    ]
    assert repair_sentences(events, PLAN) == ["cox_regression ran with penalizer = 0.1: the fit did not converge."]


@pytest.mark.parametrize("count", [1, 3, 200])
def test_long_results_are_cut_between_sentences(count: int) -> None:
    findings = [Finding(id=f"f{n}", node="n1", text=f"Finding number {n} is this") for n in range(count)]
    summary = made({"n1": result("n1", findings=findings)}, report=None).result_summary
    assert summary.startswith("Finding number 0 is this.")
    assert summary.endswith("is this.")
    assert len(summary) <= 760


def test_what_a_model_took_from_a_repair_is_kept_where_the_repair_helped() -> None:
    told = [
        NodeRetried(run_id="r", node=node, attempt=2, why="w", changed={"x": 1}, lesson=lesson)
        for node, lesson in (("n2", "Few events need a penalty"), ("n2", ""), ("n1", "Look for a sheet"))
    ]
    failed = GOOD | {"n1": result("n1", "failed", error="no")}
    episode = made(failed, learned=lessons_of(told))
    assert {step.tool: step.lessons for step in episode.steps} == {
        "cox_regression": ["Few events need a penalty"],
        "read_table": [],
    }
    assert "Few events need a penalty." in episode.lessons
    assert "sheet" not in episode.lessons
    store = EpisodesTwin()
    store.save([episode])
    assert store.episodes() == [episode]
