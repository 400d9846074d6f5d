"""Two people (or two tabs) at one run at the same moment: one of them acts, the other is told, nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from companions import made_orchestrator
from growth_data import table_plan

from engine.adapters.fakes import EchoSandbox
from engine.asking.edits import set_params
from engine.domain.events import EngineEvent
from engine.domain.results import RunRecord, RunStatus
from engine.errors import EngineError, LimitExceeded, PlanError
from engine.orchestrator import Orchestrator
from engine.runs.locks import RunLocks
from engine.strategies.dag import DagStrategy
from engine.toolbox.registry import builtin_tools
from storage.runs.artifacts_twin import ArtifactsTwin
from storage.runs.twin import RunStoreTwin

REGISTRY = builtin_tools()
MEETING = 1.0
"""Seconds that one of two callers waits for the other where both could go on before; alone it then goes on."""


class Watched(RunStoreTwin):
    """A store that keeps the states a run went through."""

    def __init__(self) -> None:
        super().__init__()
        self.states: list[str] = []

    def update_run(self, run: RunRecord, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        self.states.append(run.status)
        return super().update_run(run, events)


@dataclass
class Desk:
    """An orchestrator on in-memory stores whose runs end at once, and a run of it that waits for approval."""

    orchestrator: Orchestrator
    store: Watched
    run_id: str

    def kinds(self) -> list[str]:
        self.orchestrator.records.log.flush()
        return [event.kind for event in self.store.events(self.run_id)]

    def record(self) -> RunRecord:
        assert self.orchestrator.queue.wait(self.run_id, 60)
        return self.orchestrator.records.newest(self.run_id)


@pytest.fixture
def desk(tmp_path, growth_csv, monkeypatch):
    store = Watched()
    orchestrator = made_orchestrator(tmp_path, EchoSandbox(), store, ArtifactsTwin())

    def ends_at_once(self: DagStrategy, record: RunRecord, cancel: Any) -> tuple[RunRecord, RunStatus]:
        return self.records.update(self.records.stored(record.run_id), status="running"), "succeeded"

    monkeypatch.setattr(DagStrategy, "run", ends_at_once)
    run_id = orchestrator.plans.new_run(table_plan(growth_csv), user="alice", run_now=False).run_id
    store.states.clear()
    yield Desk(orchestrator, store, run_id)
    orchestrator.queue.close()
    orchestrator.records.log.close()


def meet(owner: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two callers of a method wait for each other in it, so that both have looked before either acts."""
    barrier, real = threading.Barrier(2), getattr(owner, method)

    def met(*args: Any, **more: Any) -> Any:
        with suppress(threading.BrokenBarrierError):
            barrier.wait(MEETING)
        return real(*args, **more)

    monkeypatch.setattr(owner, method, met)


def at_once(*actions: Callable[[], object]) -> list[EngineError | None]:
    """Do things in threads of their own and return what each raised."""
    raised: list[EngineError | None] = [None] * len(actions)

    def do(number: int) -> None:
        try:
            actions[number]()
        except EngineError as err:
            raised[number] = err

    threads = [threading.Thread(target=do, args=(number,)) for number in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return raised


def test_a_plan_approved_twice_at_once_runs_once(desk, monkeypatch):
    meet(desk.orchestrator.queue, "wait", monkeypatch)
    raised = at_once(*[lambda: desk.orchestrator.approve(desk.run_id, user="alice")] * 2)
    record = desk.record()
    assert [type(err) for err in raised if err] == [PlanError]
    assert "was approved already" in next(err.message for err in raised if err)
    assert (record.status, record.error, record.error_code) == ("succeeded", "", "")
    assert desk.store.states == ["queued", "running", "succeeded"]
    assert desk.kinds().count("plan_approved") == 1


def test_a_run_resumed_twice_at_once_goes_on_once(desk, monkeypatch):
    orchestrator = desk.orchestrator
    orchestrator.records.store.update_run(
        orchestrator.records.newest(desk.run_id).model_copy(update={"status": "interrupted", "approved_version": 1})
    )
    desk.store.states.clear()
    meet(desk.store, "results", monkeypatch)
    raised = at_once(*[lambda: orchestrator.resume(desk.run_id)] * 2)
    record = desk.record()
    assert [type(err) for err in raised if err] == [PlanError]
    assert (record.status, record.error) == ("succeeded", "")
    assert desk.store.states == ["queued", "running", "succeeded"]
    assert desk.kinds().count("run_resumed") == 1


def test_approved_and_cancelled_at_once_it_comes_to_one_end(desk, monkeypatch):
    orchestrator = desk.orchestrator
    meet(orchestrator.queue, "wait", monkeypatch)
    at_once(
        lambda: orchestrator.approve(desk.run_id, user="alice"),
        lambda: orchestrator.cancel(desk.run_id, user="bob"),
    )
    assert desk.record().status in ("succeeded", "cancelled")
    assert desk.kinds().count("run_finished") == 1
    assert desk.kinds()[-1] == "run_finished"


def test_a_run_that_does_not_let_go_is_not_touched(desk, monkeypatch):
    monkeypatch.setattr(desk.orchestrator.queue, "wait", lambda run_id, timeout=None: False)
    before = desk.orchestrator.records.newest(desk.run_id)
    with pytest.raises(PlanError, match="is being worked on"):
        desk.orchestrator.approve(desk.run_id, user="alice")
    assert desk.orchestrator.records.newest(desk.run_id) == before
    assert "plan_approved" not in desk.kinds()


def test_what_is_refused_because_it_is_at_work_keeps_the_state_of_that_work(desk):
    orchestrator = desk.orchestrator
    go = threading.Event()
    orchestrator.queue.submit(desk.run_id, lambda cancel: go.wait(60))
    record = orchestrator.records.newest(desk.run_id)
    with pytest.raises(LimitExceeded, match="already being worked on"):
        orchestrator._enqueue(record, lambda record, cancel: None)
    assert orchestrator.records.newest(desk.run_id) == record
    go.set()


# ==== edits ====


def edit(desk: Desk, key: str, value: str) -> Any:
    return set_params(desk.orchestrator.records.store.plan(desk.run_id), {key: value}, REGISTRY)


def test_of_two_edits_of_one_version_the_second_is_refused_and_the_first_stays(desk):
    first, second = edit(desk, "n4.condition", "height > 50"), edit(desk, "n2.condition", "ratio > 0.2")
    desk.orchestrator.plans.edit(desk.run_id, first, user="alice")
    with pytest.raises(PlanError, match="started from version 1, and version 2 is stored") as refused:
        desk.orchestrator.plans.edit(desk.run_id, second, user="bob")
    assert "Open version 2" in refused.value.advice
    stored = desk.store.plan(desk.run_id)
    assert (stored.version, stored.base) == (2, 0)
    assert stored.node("n4").params["condition"] == "height > 50"
    assert stored.node("n2").params["condition"] == "ratio > 0.1"


def test_an_edit_by_hand_of_an_old_version_is_refused_too(desk):
    stale = desk.store.plan(desk.run_id)
    changed = stale.model_copy(update={"nodes": [n for n in stale.nodes if n.id != "n5"]})
    desk.orchestrator.plans.edit(desk.run_id, edit(desk, "n4.condition", "height > 50"), user="alice")
    with pytest.raises(PlanError, match="was changed meanwhile"):
        desk.orchestrator.plans.edit(desk.run_id, changed, user="bob")


def test_of_two_edits_at_once_one_is_stored_and_the_other_is_told_why_not(desk, monkeypatch):
    edits = [edit(desk, "n4.condition", "height > 50"), edit(desk, "n2.condition", "ratio > 0.2")]
    meet(desk.store, "save_plan", monkeypatch)
    raised = at_once(*[lambda p=p: desk.orchestrator.plans.edit(desk.run_id, p, user="alice") for p in edits])
    assert [type(err) for err in raised if err] == [PlanError]
    assert desk.store.plan_versions(desk.run_id) == [1, 2]


def test_one_edit_after_the_other_each_from_the_newest_version_is_no_conflict(desk):
    for number in range(3):
        desk.orchestrator.plans.edit(desk.run_id, edit(desk, "n4.condition", f"height > {number}"), user="alice")
    assert desk.store.plan(desk.run_id).node("n4").params["condition"] == "height > 2"
    assert desk.store.plan_versions(desk.run_id) == [1, 2, 3, 4]


def test_an_edit_is_marked_as_the_users_and_nothing_else_is(desk):
    desk.orchestrator.plans.edit(desk.run_id, edit(desk, "n4.condition", "height > 50"), user="alice")
    stored = desk.store.plan(desk.run_id)
    assert {node.id: node.settled for node in stored.nodes if node.settled} == {"n4": {"condition": "edit"}}


def test_an_edit_of_a_run_that_is_over_is_known_as_an_edit(desk):
    orchestrator = desk.orchestrator
    orchestrator.approve(desk.run_id, user="alice")
    assert desk.record().status == "succeeded"
    second, _ = orchestrator.plans.edit(desk.run_id, edit(desk, "n4.condition", "height > 50"), user="bob")
    events = {event.kind: event for event in desk.store.events(second)}
    assert events["plan_proposed"].plan.node("n4").params["condition"] == "height > 45"
    assert events["plan_edited"].changes == ["Step n4: condition is 'height > 50' instead of 'height > 45'."]
    assert desk.store.plan_versions(second) == [1, 2]
    assert desk.store.plan(second).node("n4").settled == {"condition": "edit"}


def test_a_copy_without_changes_has_one_version_and_no_edit(desk):
    desk.orchestrator.approve(desk.run_id, user="alice")
    desk.record()
    copy, _ = desk.orchestrator.plans.edit(desk.run_id, desk.store.plan(desk.run_id), user="alice")
    assert desk.store.plan_versions(copy) == [1]
    assert "plan_edited" not in [event.kind for event in desk.store.events(copy)]


# ==== the locks themselves ====


def test_a_lock_is_held_by_one_and_gone_when_nobody_wants_it():
    locks, inside, most = RunLocks(), [], []

    def work(run: str) -> None:
        for _ in range(200):
            with locks.of(run):
                inside.append(run)
                most.append(inside.count(run))
                inside.remove(run)

    threads = [threading.Thread(target=work, args=(run,)) for run in "aabb"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert max(most) == 1
    assert len(most) == 800
    assert len(locks) == 0


def test_a_lock_is_given_back_after_an_error():
    locks = RunLocks()
    with pytest.raises(ValueError, match="no"), locks.of("a"):
        raise ValueError("no")
    with locks.of("a"):
        assert len(locks) == 1
    assert len(locks) == 0
