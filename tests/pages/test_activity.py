"""A run's events as lines to follow."""

from __future__ import annotations

from engine.domain.events import (
    AgentFinished,
    AgentStarted,
    ErrorRaised,
    NodeFailed,
    NodeFinished,
    NodeOutput,
    NodeRetried,
    NodeSkipped,
    NodeStarted,
    PlanApproved,
    PlanEdited,
    PlanProposed,
    RouteChosen,
    RunCancelled,
    RunFinished,
    RunInterrupted,
    RunQueued,
    RunResumed,
    RunStarted,
)
from engine.domain.plan import TaskDag, TaskNode
from engine.domain.results import Route, Usage
from pages.running.activity import Activity, headline

PLAN = TaskDag(
    question="q",
    nodes=[
        TaskNode(id="n1", name="Survival curves", tool="kaplan_meier"),
        TaskNode(id="n2", name="Cox regression", tool="cox_regression"),
    ],
)
ROUTE = Route(strategy="dag", confidence=0.9, method="heuristic")


def at(second: int) -> str:
    return f"2026-11-21T08:00:{second:02d}.000Z"


def numbered(*events):
    return [e.model_copy(update={"seq": k, "at": at(k)}) for k, e in enumerate(events, start=1)]


def proposed():
    return (
        RunQueued(run_id="r", question="q"),
        RouteChosen(run_id="r", route=ROUTE),
        PlanProposed(run_id="r", plan=PLAN),
    )


def running():
    return (
        *proposed(),
        PlanApproved(run_id="r", version=1, by="me"),
        RunQueued(run_id="r", question="q"),
        RunStarted(run_id="r", nodes=2),
        NodeStarted(run_id="r", node="n1"),
    )


def test_waiting_files_and_plan_are_named_while_they_last():
    activity = Activity().read(numbered(RunQueued(run_id="r", question="q")))
    assert headline(activity) == "Looking at the files"
    activity = Activity().read(numbered(RunQueued(run_id="r", question="q", position=3)))
    assert headline(activity) == "Waiting in line"
    activity = Activity().read(numbered(*proposed()[:2]))
    assert headline(activity) == "Making a plan"
    assert [line.label for line in activity.lines.values()] == ["Looking at the files", "Making a plan"]


def test_running_step_is_named_with_its_place():
    activity = Activity().read(numbered(*running()))
    assert headline(activity) == "Step 1 of 2: Survival curves"
    assert activity.statuses() == {"n1": "running"}


def test_the_bar_is_not_full_before_the_run_has_ended():
    ends = [NodeFinished(run_id="r", node=node, status="succeeded", seconds=1.0) for node in ("n1", "n2")]
    events = numbered(*running(), *ends, RunFinished(run_id="r", status="succeeded", usage=Usage()))
    activity = Activity().read(events[:-2])
    assert headline(activity).startswith("Step 2 of 2: ")
    assert activity.share == 1 / 3
    activity.read(events[:-1])
    assert headline(activity) == "Writing the report"
    assert activity.share == 2 / 3
    assert activity.read(events).share == 1


def test_step_output_and_time_are_kept():
    events = numbered(
        *running(),
        NodeOutput(run_id="r", node="n1", stream="stdout", text="fitting\n"),
        NodeFinished(run_id="r", node="n1", status="succeeded", seconds=1.5),
    )
    activity = Activity().read(events)
    line = activity.lines["n1"]
    assert (line.state, line.seconds, line.log) == ("complete", 1.5, "fitting\n")
    assert activity.done == 1


def test_reading_again_changes_nothing():
    events = numbered(*running(), NodeOutput(run_id="r", node="n1", stream="stdout", text="once\n"))
    activity = Activity().read(events)
    activity.read(events)
    assert activity.lines["n1"].log == "once\n"


def test_retry_says_why_and_what_changed():
    events = numbered(
        *running(),
        NodeRetried(run_id="r", node="n1", attempt=2, why="It did not converge.", changed={"penalizer": 0.1}),
        NodeStarted(run_id="r", node="n1", attempt=2),
    )
    notes = Activity().read(events).lines["n1"].notes
    assert notes == ["Attempt 2: It did not converge. Changed: penalizer = 0.1."]


def test_failed_and_skipped_steps_say_why():
    events = numbered(
        *running(),
        NodeFailed(run_id="r", node="n1", error="Column 'os' is not there.", seconds=0.2),
        NodeSkipped(run_id="r", node="n2", because="n1"),
        RunFinished(run_id="r", status="failed", usage=Usage()),
    )
    activity = Activity().read(events)
    assert activity.statuses() == {"n1": "failed", "n2": "skipped"}
    assert activity.lines["n1"].notes == ["Column 'os' is not there."]
    assert "needs Survival curves" in activity.lines["n2"].notes[0]
    assert activity.finished


def test_stopping_is_said_until_it_is_over():
    activity = Activity().read(numbered(*running(), RunCancelled(run_id="r", by="me")))
    assert activity.stopping
    assert "Stopping" in headline(activity)


def test_resumed_run_is_no_longer_stopping():
    events = numbered(
        *running(),
        RunCancelled(run_id="r", by="me"),
        RunFinished(run_id="r", status="cancelled", usage=Usage()),
        RunResumed(run_id="r", kept=["n1"]),
    )
    activity = Activity().read(events)
    assert not activity.stopping
    assert not activity.finished


def test_error_keeps_its_advice():
    events = numbered(
        *proposed()[:1], ErrorRaised(run_id="r", code="bad_data", message="No file.", advice="Attach one.")
    )
    activity = Activity().read(events)
    assert (activity.error, activity.advice) == ("No file.", "Attach one.")
    assert all(line.state == "error" for line in activity.lines.values())


def test_edited_plan_gives_the_steps_their_new_names():
    renamed = PLAN.model_copy(update={"version": 2, "nodes": [PLAN.nodes[1]]})
    activity = Activity().read(
        numbered(*proposed(), PlanEdited(run_id="r", plan=renamed, changes=["Step n1 was removed."]))
    )
    assert activity.total == 1
    assert activity.lines["edit_4"].notes == ["Step n1 was removed."]


def timed(*pairs):
    """Return events with their seconds."""
    return [event.model_copy(update={"seq": k, "at": at(second)}) for k, (second, event) in enumerate(pairs, start=1)]


def test_the_clock_counts_work_and_not_how_long_the_plan_was_read():
    queued, started = RunQueued(run_id="r", question="q"), RunStarted(run_id="r", nodes=2)
    proposal = timed((0, queued), (1, RouteChosen(run_id="r", route=ROUTE)), (3, PlanProposed(run_id="r", plan=PLAN)))
    activity = Activity().read(proposal)
    assert activity.elapsed == 0  # it waits for a person
    ended = RunFinished(run_id="r", status="succeeded", usage=Usage())
    later = timed(*[(0, queued)] * 3, (50, queued), (51, started), (55, ended))[3:]
    assert activity.read(later).elapsed == 4


def test_the_clock_of_a_resumed_run_leaves_out_what_lay_between():
    queued, started = RunQueued(run_id="r", question="q"), RunStarted(run_id="r", nodes=2)
    node = NodeStarted(run_id="r", node="n1")
    killed = RunInterrupted(run_id="r", message="stopped")
    events = timed((0, queued), (1, started), (2, node), (7, NodeOutput(run_id="r", node="n1", stream="stdout", text="x")),
                   (40, killed))  # fmt: skip
    activity = Activity().read(events)
    assert activity.elapsed == 6  # to the last sign of life, not to the next start of the program
    assert activity.lines["n1"].seconds == 5
    more = timed(*[(0, queued)] * 5, (45, RunResumed(run_id="r", kept=[])), (45, queued), (46, started),
                 (48, RunFinished(run_id="r", status="succeeded", usage=Usage())))[5:]  # fmt: skip
    assert activity.read(more).elapsed == 8


def test_while_a_model_is_asked_it_is_said_what_for():
    asked = AgentStarted(run_id="r", agent="read the question", role="reasoning")
    activity = Activity().read(
        numbered(RunQueued(run_id="r", question="q"), RouteChosen(run_id="r", route=ROUTE), asked)
    )
    assert "Asking a model to read the question" in activity.current
    over = AgentFinished(run_id="r", agent="read the question", role="reasoning", answered=False)
    activity.read([over.model_copy(update={"seq": 9, "at": at(9)})])
    assert "Asking" not in activity.current
    assert activity.lines["agent_read the question"].state == "error"
