"""Turns a run's events into the few lines a person wants to follow: what is being done, since when, how it went."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pages.parts.words import counted, seconds_between, shortened

if TYPE_CHECKING:
    from engine.api import EngineEvent, TaskDag

StepState = Literal["running", "complete", "error"]
LOG_CHARACTERS = 4_000


@dataclass(slots=True)
class Line:
    """One line of the activity."""

    key: str
    label: str
    state: StepState = "running"
    started: str = ""
    seconds: float | None = None
    """None while it runs."""
    notes: list[str] = field(default_factory=list)
    log: str = ""


@dataclass(slots=True)
class Activity:
    """What has happened so far, read from events one after the other."""

    lines: dict[str, Line] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """Step id -> its name in the newest plan."""
    total: int = 0
    last_seq: int = 0
    stopping: bool = False
    finished: bool = False
    error: str = ""
    advice: str = ""
    _statuses: dict[str, str] = field(default_factory=dict)
    _waiting: str = ""
    _worked: float = 0.0
    """Seconds of computing that are over: of a run that was stopped and resumed each stretch, not what lay between."""
    _asked_at: str = ""
    _working_at: str = ""
    """Since when it is planned or waits in line, and since when it computes; "" while neither: somebody reads."""
    _last_at: str = ""

    def read(self, events: Iterable[EngineEvent]) -> Activity:
        """Take in events; those already read are passed over."""
        for event in events:
            if event.seq > self.last_seq:
                self.last_seq = event.seq
                handler = getattr(self, f"_on_{event.kind}", None)
                if handler is not None:
                    handler(event)
                self._last_at = event.at
        return self

    @property
    def current(self) -> str:
        """What is being done now, in words."""
        if self.stopping and not self.finished:
            return "Stopping"
        running = [line.label for line in self.lines.values() if line.state == "running"]
        if not running and self.all_over:
            return "Writing the report"
        return " and ".join(running[-2:]) if running else "Getting ready"

    @property
    def done(self) -> int:
        """How many steps have a result."""
        return sum(status in ("succeeded", "cached") for status in self._statuses.values())

    @property
    def all_over(self) -> bool:
        """True when every step has ended, well or not."""
        return bool(self.names) and all(self._statuses.get(node, "running") != "running" for node in self.names)

    @property
    def share(self) -> float:
        """How much of the run is done, from 0 to 1: what comes after its last step counts as a step, too."""
        return 1.0 if self.finished else min(self.done, self.total) / (self.total + 1)

    @property
    def elapsed(self) -> float:
        """Seconds of computing, or since it was handed over while that has not begun; reading a plan is neither."""
        if self._asked_at:
            return seconds_between(self._asked_at)
        return self._worked + (seconds_between(self._working_at) if self._working_at else 0.0)

    def statuses(self) -> dict[str, str]:
        """Return step id -> state, for steps that have begun."""
        return dict(self._statuses)

    def _name(self, node_id: str) -> str:
        return self.names.get(node_id, node_id)

    def _open(self, key: str, label: str, at: str) -> Line:
        self.lines[key] = Line(key=key, label=label, started=at)
        return self.lines[key]

    def _close(self, key: str, at: str, *, state: StepState = "complete", seconds: float | None = None) -> None:
        line = self.lines.get(key)
        if line is not None and line.state == "running":
            line.state = state
            line.seconds = seconds if seconds is not None else seconds_between(line.started, at)

    def _rest(self, at: str) -> None:
        if self._working_at:
            self._worked += seconds_between(self._working_at, at)
        self._asked_at = self._working_at = ""

    def _on_run_queued(self, event: Any) -> None:
        self._rest(event.at)
        self._asked_at = event.at
        idle = "Starting" if self.names else "Looking at the files"
        line = self._open(f"line_{event.seq}", "Waiting in line" if event.position else idle, event.at)
        self._waiting = line.key
        if event.position:
            line.notes.append(f"{counted(event.position, 'other run')} stood before it.")

    def _on_route_chosen(self, event: Any) -> None:
        # The queue says nothing when a run's turn comes; the time until the route is known is spent on the files.
        self._relabel_wait("Looking at the files")
        self._close(self._waiting, event.at)
        self._open("plan", "Making a plan", event.at)

    def _on_agent_started(self, event: Any) -> None:
        self._open(f"agent_{event.agent}", f"Asking a model to {event.agent}", event.at)

    def _on_agent_finished(self, event: Any) -> None:
        self._close(f"agent_{event.agent}", event.at, state="complete" if event.answered else "error")

    def _on_run_started(self, event: Any) -> None:
        self._rest(event.at)
        self._working_at = event.at
        self._drop_wait(event.at)

    def _relabel_wait(self, label: str) -> None:
        if self._waiting in self.lines:
            self.lines[self._waiting].label = label

    def _drop_wait(self, at: str) -> None:
        self._close(self._waiting, at)
        line = self.lines.get(self._waiting)
        if line is not None and not line.notes and (line.seconds or 0) < 1:
            del self.lines[self._waiting]

    def _on_memory_recalled(self, event: Any) -> None:
        if "plan" in self.lines:
            found = counted(len(event.episodes), "similar analysis").replace("analysiss", "analyses")
            self.lines["plan"].notes.append(f"Memory: {found} remembered.")

    def _on_tools_retrieved(self, event: Any) -> None:
        if "plan" in self.lines:
            self.lines["plan"].notes.append(f"Tools considered: {', '.join(event.tools[:15])}.")
            if event.stages:
                stages = ", ".join(f"{name} {count}" for name, count in event.stages.items())
                self.lines["plan"].notes.append(f"Catalogue search ({event.method}): {stages}.")

    def _on_plan_proposed(self, event: Any) -> None:
        self._rest(event.at)
        self._close("plan", event.at)
        self._learn(event.plan)

    def _on_plan_edited(self, event: Any) -> None:
        self._learn(event.plan)
        line = self._open(f"edit_{event.seq}", f"Plan changed to version {event.plan.version}", event.at)
        line.notes += event.changes
        self._close(line.key, event.at, seconds=0.0)

    def _on_plan_revised(self, event: Any) -> None:
        goes_on = "" if event.run == event.run_id else f"; it waits as run {event.run}"
        line = self._open(f"revised_{event.seq}", f"A model revised the plan{goes_on}", event.at)
        line.notes += event.why
        self._close(line.key, event.at, seconds=0.0)

    def _on_talk_shortened(self, event: Any) -> None:
        line = self._open(f"shortened_{event.seq}", "Old turns of the conversation", event.at)
        line.notes.append(event.says)
        self._close(line.key, event.at, seconds=0.0)

    def _on_report_revised(self, event: Any) -> None:
        line = self._open(f"reworded_{event.seq}", "The plain words are written anew", event.at)
        line.notes += event.why
        self._close(line.key, event.at, seconds=0.0)

    def _on_plan_approved(self, event: Any) -> None:
        line = self._open(f"approved_{event.seq}", f"Plan version {event.version} approved by {event.by}", event.at)
        self._close(line.key, event.at, seconds=0.0)

    def _learn(self, plan: TaskDag) -> None:
        self.names = {node.id: node.name for node in plan.nodes}
        self.total = len(plan.nodes)

    def _on_run_resumed(self, event: Any) -> None:
        self.stopping = self.finished = False
        self.error = self.advice = ""
        self._statuses = {node: status for node, status in self._statuses.items() if status in ("succeeded", "cached")}
        line = self._open(f"resumed_{event.seq}", "Resumed", event.at)
        line.notes.append(f"{counted(len(event.kept), 'finished step')} kept.")
        self._close(line.key, event.at, seconds=0.0)

    def _on_node_started(self, event: Any) -> None:
        self._statuses[event.node] = "running"
        old = self.lines.pop(event.node, None)
        line = self._open(event.node, self._name(event.node), event.at)
        if old is not None and event.attempt > 1:
            line.notes, line.log = old.notes, old.log

    def _on_node_output(self, event: Any) -> None:
        if event.node in self.lines:
            line = self.lines[event.node]
            line.log = (line.log + event.text)[-LOG_CHARACTERS:]

    def _on_node_progress(self, event: Any) -> None:
        if event.node in self.lines:
            self.lines[event.node].notes.append(event.message)

    def _on_node_retried(self, event: Any) -> None:
        if event.node in self.lines:
            changed = ", ".join(f"{name} = {value!r}" for name, value in event.changed.items())
            self.lines[event.node].notes.append(
                f"Attempt {event.attempt}: {event.why} Changed: {changed or 'nothing'}."
            )

    def _on_warning(self, event: Any) -> None:
        if event.node in self.lines:
            self.lines[event.node].notes.append(event.message)

    def _on_node_finished(self, event: Any) -> None:
        if event.node not in self.lines:
            self._open(event.node, self._name(event.node), event.at)
        if event.status == "cached":
            self.lines[event.node].notes.append("Taken from an earlier run: same code, parameters, data and versions.")
        self._close(event.node, event.at, seconds=event.seconds)
        self._statuses[event.node] = event.status

    def _on_node_failed(self, event: Any) -> None:
        if event.node not in self.lines:
            self._open(event.node, self._name(event.node), event.at)
        self.lines[event.node].notes.append(event.error)
        self._close(event.node, event.at, state="error", seconds=event.seconds)
        self._statuses[event.node] = "cancelled" if self.stopping else "failed"

    def _on_node_skipped(self, event: Any) -> None:
        self._statuses[event.node] = "skipped"
        line = self._open(event.node, self._name(event.node), event.at)
        line.notes.append(f"Not run: it needs {self._name(event.because)}, which did not succeed.")
        self._close(event.node, event.at, state="error", seconds=0.0)

    def _on_error(self, event: Any) -> None:
        self.error, self.advice = event.message, event.advice
        self._rest(event.at)
        for key in list(self.lines):
            self._close(key, event.at, state="error")

    def _on_run_cancelled(self, event: Any) -> None:
        self.stopping = True

    def _on_run_interrupted(self, event: Any) -> None:
        self.error = self.error or event.message
        # Of a program that was killed the next start says so, be it a night later: work ended at the last sign of it.
        self._rest(self._last_at or event.at)
        for key in list(self.lines):
            self._close(key, self._last_at or event.at, state="error")

    def _on_run_finished(self, event: Any) -> None:
        self.finished = True
        self._rest(event.at)
        for key in list(self.lines):
            self._close(key, event.at, state="error" if self.stopping else "complete")


def headline(activity: Activity) -> str:
    """Return progress in one line: steps done of all, and what is being done."""
    progress = f"Step {min(activity.done + 1, activity.total)} of {activity.total}: " if activity.total else ""
    if activity.all_over or not any(line.key in activity.names for line in activity.lines.values()):
        progress = ""
    return progress + shortened(activity.current, 100)
