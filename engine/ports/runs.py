"""Where runs are kept, with their plans, results and events."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from engine.domain.encoding.sealing import SealHead, StoredRun
from engine.domain.events import EngineEvent
from engine.domain.plan import TaskDag
from engine.domain.results import NodeResult, RunRecord


class RunArchive(Protocol):
    """What lies stored of all runs: found across them, looked at as it lies there, and removed."""

    def turns(self, conversation: str) -> list[RunRecord]:
        """Return the runs of a conversation, oldest first. Those that cannot be read are left out."""
        ...

    def damaged_runs(self) -> dict[str, str]:
        """Return run id -> a sentence on why its state cannot be read, for the runs that `runs` leaves out."""
        ...

    def cached_result(self, cache_key: str, doubted: Collection[str] = ()) -> tuple[str, NodeResult] | None:
        """Return (run id, result) of the newest succeeded node with this key in any run, or None.

        Args:
            cache_key: see `engine.toolbox.script.cache_key`.
            doubted: runs that are marked as wrong: what they computed or took over is not offered, only what was
                computed since.
        """
        ...

    def stored(self, run_id: str) -> StoredRun:
        """Return everything stored of a run as it lies there, also what cannot be understood any more.

        Every change that leaves a run at rest (`engine.domain.encoding.sealing`) is sealed in the same transaction.
        """
        ...

    def seal(self, run_id: str) -> SealHead | None:
        """Return the newest seal of a run in short, or None while it has none."""
        ...

    def hashes(self, run_ids: Collection[str]) -> tuple[set[str], set[str]]:
        """Return the SHA-256 sums that what is stored of these runs names, and those that all other runs name."""
        ...

    def delete_run(self, run_id: str) -> bool:
        """Remove everything stored of a run for good, its seals too; False when there was nothing."""
        ...


class RunStore(Protocol):
    """Runs, their plans, results and events. Append-only: a correction is a new record; only a whole run can go.

    All methods may be called from any thread.
    """

    @property
    def archive(self) -> RunArchive:
        """The same records, looked at beyond one run."""
        ...

    def create_run(self, run: RunRecord, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store a new run and its first events, all or nothing; return the events numbered."""
        ...

    def update_run(self, run: RunRecord, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store a newer state of a run that exists and events on it, all or nothing; return the events numbered."""
        ...

    def run(self, run_id: str) -> RunRecord | None:
        """Return a run's newest state, or None."""
        ...

    def runs(self, *, user: str | None = None, limit: int = 200) -> list[RunRecord]:
        """Return runs, newest first; only `user`'s when given. Those that cannot be read are left out."""
        ...

    def save_plan(self, run_id: str, plan: TaskDag, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store a plan version and events on it, all or nothing; the same version again is an error."""
        ...

    def plan(self, run_id: str, version: int | None = None) -> TaskDag | None:
        """Return a version of the run's plan, the newest by default, or None."""
        ...

    def plan_versions(self, run_id: str) -> list[int]:
        """Return the stored versions, oldest first."""
        ...

    def save_result(self, run_id: str, result: NodeResult, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store the newest result of a node and events on it, all or nothing. Durable when this returns."""
        ...

    def results(self, run_id: str) -> dict[str, NodeResult]:
        """Return node id -> newest result."""
        ...

    def append_events(self, events: Sequence[EngineEvent]) -> list[EngineEvent]:
        """Number events (gapless per run, from 1), commit them in one transaction and return them numbered."""
        ...

    def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EngineEvent]:
        """Return committed events with `seq` greater than `after`, in order."""
        ...

    def close(self) -> None:
        """Release the store; nothing may be called after it."""
        ...
