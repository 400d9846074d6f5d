"""The records of runs: what state each is in, stored together with the events that tell of it, and read as one view."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack

from engine.domain.encoding.plain_json import json_text
from engine.domain.events import EngineEvent, ReportReady
from engine.domain.profile import Profile
from engine.domain.report import Report, RunView
from engine.domain.results import Route, RunRecord, RunStatus
from engine.errors import NotFoundError
from engine.ports.artifacts import ArtifactStore
from engine.ports.runs import RunStore
from engine.ports.system import Clock, IdSource
from engine.runs.event_log import EventLog
from engine.runs.gather import gather


class RunFacts(TypedDict, total=False):
    """What can be told of a new run besides its question, files and user; see `RunRecord`."""

    conversation: str
    parent: str
    auto_approve: bool
    changes: dict[str, str]
    analysis: str
    chosen: dict[str, dict[str, Any]]
    alone: bool
    fresh_nodes: list[str]
    revisions: int
    approved_version: int
    route: Route
    profiles_sha256: str
    status: RunStatus


@dataclass(slots=True)
class RunRecords:
    """Makes, changes and reads the records of runs. Methods may be called from any thread."""

    store: RunStore
    artifacts: ArtifactStore
    log: EventLog
    clock: Clock
    ids: IdSource
    environment: Mapping[str, str]
    """What describes this machine, for the records of new runs."""
    user: str = ""
    """Who runs are attributed to unless told otherwise."""
    _unwritten: dict[str, RunRecord] = field(default_factory=dict, init=False)
    """States of runs that the disk had no room for: what is true of them until the next start."""
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False)

    def new(self, question: str, data: Sequence[Path], *, user: str = "", **facts: Unpack[RunFacts]) -> RunRecord:
        """Return the record of a new run, not stored yet; it goes on in its parent's conversation, if it has one."""
        run_id, parent = self.ids.new("run"), facts.get("parent")
        inherited = self.stored(parent).conversation if parent else ""
        own = {
            "run_id": run_id,
            "user": user or self.user,
            "question": question.strip(),
            "created_at": self.clock.now(),
            "data": [str(Path(os.path.expanduser(path)).absolute()) for path in data],  # noqa: PTH111
            "environment": dict(self.environment),
            "status": "queued",
        }
        conversation = facts.get("conversation") or inherited or run_id
        return RunRecord.model_validate({**own, **facts, "conversation": conversation})

    def newest(self, run_id: str) -> RunRecord:
        """Return a run's newest state, also one that could not be written.

        Raises:
            NotFoundError: when there is no such run.
        """
        with self._guard:
            unwritten = self._unwritten.get(run_id)
        return unwritten or self.stored(run_id)

    def stored(self, run_id: str) -> RunRecord:
        """Return a run's state as it is stored.

        Raises:
            NotFoundError: when there is no such run.
        """
        record = self.store.run(run_id)
        if record is None:
            raise NotFoundError(f"There is no run {run_id!r}.", advice="`biodesk runs` lists them.")
        return record

    def view(self, record: RunRecord) -> RunView:
        """Return a run with everything that is stored beside its record."""
        return gather(record, self.store, self.artifacts)

    def update(self, record: RunRecord, *events: EngineEvent, **changes: Any) -> RunRecord:
        """Store a newer state of a run together with the events that tell of it, and return it."""
        record = record.model_copy(update=changes)
        self.log.with_run(record, *events)
        with self._guard:
            self._unwritten.pop(record.run_id, None)
        return record

    def keep_unwritten(self, record: RunRecord) -> None:
        """Remember until the next start a state that the disk had no room for."""
        with self._guard:
            self._unwritten[record.run_id] = record

    def keep_profiles(self, profiles: Sequence[Profile]) -> str:
        """Store profiles as an artifact and return its hash."""
        return self.artifacts.put_bytes(json_text([one.model_dump(mode="json") for one in profiles]).encode())

    def with_report(self, record: RunRecord, report: Report) -> RunRecord:
        """Store a report, say so in the run's events and return the record that names it, not stored yet."""
        sha256 = self.artifacts.put_bytes(report.model_dump_json().encode())
        self.log.emit(ReportReady(run_id=record.run_id, sha256=sha256, title=report.title))
        self.log.flush(record.run_id)
        return record.model_copy(update={"report_sha256": sha256})
