"""The same stores without a disk: for tests, demonstrations and a look at data that should leave no trace.

They keep their promises to the letter (`tests/contract` runs on both kinds), so what works with these
works with the real ones. Values pass through the same JSON, because a store that hands back the very
object it was given would hide what is lost on the way to a disk.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Sequence
from typing import Literal

from engine.domain.encoding.sealing import SealHead, StoredRow, StoredRun, StoredSeal, at_rest, head_of, new_seal
from engine.domain.events import EngineEvent
from engine.domain.plan import TaskDag
from engine.domain.results import NodeResult, RunRecord
from engine.errors import IntegrityError, NotFoundError, SchemaTooNew, StorageError
from storage.runs import payloads
from storage.runs.payloads import Stored


class RunArchiveTwin:
    """The `RunArchive` in memory, of a store in memory."""

    def __init__(self, store: RunStoreTwin) -> None:
        self._store = store

    def turns(self, conversation: str) -> list[RunRecord]:
        """Return the runs of a conversation, oldest first. Those that cannot be read are left out."""
        return [
            run for run in reversed(self._store.runs(limit=len(self._store._runs))) if run.conversation == conversation
        ]

    def damaged_runs(self) -> dict[str, str]:
        """Return run id -> a sentence on why its state cannot be read, for the runs that `runs` leaves out."""
        with self._store._open():
            tried = {run_id: payloads.try_run(states[-1], run_id) for run_id, states in self._store._runs.items()}
        return {run_id: error for run_id, error in tried.items() if isinstance(error, str)}

    def cached_result(self, cache_key: str, doubted: Collection[str] = ()) -> tuple[str, NodeResult] | None:
        """Return (run id, result) of the newest succeeded node with this key in any run, or None.

        Of what `doubted` runs computed or took over only what was computed since is offered.
        """
        if not cache_key:
            return None
        replaced: set[tuple[str, str]] = set()
        with self._store._open():
            for run_id, node, status, key, stored in reversed(self._store._results):
                if key == cache_key and run_id in doubted:
                    return None
                if key == cache_key and status == "succeeded" and (run_id, node) not in replaced:
                    try:
                        return run_id, payloads.decode_result(stored, run_id, node)
                    except (IntegrityError, SchemaTooNew):
                        return None
                replaced.add((run_id, node))
        return None

    def stored(self, run_id: str) -> StoredRun:
        """Return everything stored of a run as it lies there."""
        with self._store._open():
            rows = [*self._store._rows(run_id), *self._store._events.get(run_id, [])]
            return StoredRun(run_id, rows, list(self._store._seals.get(run_id, [])))

    def seal(self, run_id: str) -> SealHead | None:
        """Return the newest seal of a run in short, or None while it has none."""
        with self._store._open():
            return head_of(self._store._seals.get(run_id, []))

    def hashes(self, run_ids: Collection[str]) -> tuple[set[str], set[str]]:
        """Return the SHA-256 sums that what is stored of these runs names, and those that all other runs name."""
        found: tuple[set[str], set[str]] = (set(), set())
        with self._store._open():
            for run_id in self._store._runs.keys() | self._store._plans.keys() | self._store._events.keys():
                for row in (*self._store._rows(run_id), *self._store._events.get(run_id, [])):
                    found[run_id not in run_ids].update(re.findall(r"[0-9a-f]{64}", row.payload))
        return found

    def delete_run(self, run_id: str) -> bool:
        """Remove everything stored of a run for good, its seals too; False when there was nothing."""
        with self._store._open():
            for part in (self._store._plans, self._store._events, self._store._seals):
                part.pop(run_id, None)
            # Their places stay taken: seals of other runs name rows by their place.
            self._store._results = [
                row if row[0] != run_id else ("", "", "", "", row[4]) for row in self._store._results
            ]
            return self._store._runs.pop(run_id, None) is not None


class RunStoreTwin:
    """The `RunStore` in memory."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._runs: dict[str, list[Stored]] = {}
        self._plans: dict[str, dict[int, Stored]] = {}
        self._results: list[tuple[str, str, str, str, Stored]] = []
        """(run id, node, status, cache key, result), oldest first."""
        self._events: dict[str, list[StoredRow]] = {}
        self._seals: dict[str, list[StoredSeal]] = {}
        self._closed = False
        self.archive = RunArchiveTwin(self)

    def create_run(self, run: RunRecord, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store a new run and its first events, all or nothing; return the events numbered."""
        stored = payloads.encode_run(run)
        with self._open():
            if run.run_id in self._runs:
                raise StorageError(f"Run {run.run_id} is stored already, so it cannot be created again.")
            numbered = self._append(events)
            self._runs[run.run_id] = [stored]
            self._seal({run.run_id})
            return numbered

    def update_run(self, run: RunRecord, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store a newer state of a run that exists and events on it, all or nothing; return the events numbered."""
        stored = payloads.encode_run(run)
        with self._open():
            if run.run_id not in self._runs:
                raise NotFoundError(f"There is no run {run.run_id}, so its state cannot be stored.")
            numbered = self._append(events)
            self._runs[run.run_id].append(stored)
            self._seal({run.run_id})
            return numbered

    def run(self, run_id: str) -> RunRecord | None:
        """Return a run's newest state, or None."""
        with self._open():
            states = self._runs.get(run_id)
            return payloads.decode_run(states[-1], run_id) if states else None

    def runs(self, *, user: str | None = None, limit: int = 200) -> list[RunRecord]:
        """Return runs, newest first; only `user`'s when given. Those that cannot be read are left out."""
        with self._open():
            newest = [payloads.try_run(states[-1], run_id) for run_id, states in self._runs.items()]
        readable = [run for run in reversed(newest) if isinstance(run, RunRecord)]
        wanted = [run for run in readable if user is None or run.user == user]
        wanted.sort(key=lambda run: run.created_at, reverse=True)
        return wanted[: max(limit, 0)]

    def save_plan(self, run_id: str, plan: TaskDag, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store a plan version and events on it, all or nothing; the same version again is an error."""
        stored = payloads.encode_plan(plan)
        with self._open():
            versions = self._plans.setdefault(run_id, {})
            if plan.version in versions:
                raise StorageError(f"Version {plan.version} of the plan of run {run_id} is stored already.")
            numbered = self._append(events)
            versions[plan.version] = stored
            self._seal({run_id})
            return numbered

    def plan(self, run_id: str, version: int | None = None) -> TaskDag | None:
        """Return a version of the run's plan, the newest by default, or None."""
        with self._open():
            versions = self._plans.get(run_id, {})
            wanted = max(versions, default=0) if version is None else version
            stored = versions.get(wanted)
        return payloads.decode_plan(stored, run_id) if stored else None

    def plan_versions(self, run_id: str) -> list[int]:
        """Return the stored versions, oldest first."""
        with self._open():
            return sorted(self._plans.get(run_id, {}))

    def save_result(self, run_id: str, result: NodeResult, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store the newest result of a node and events on it, all or nothing."""
        stored = payloads.encode_result(result)
        with self._open():
            numbered = self._append(events)
            self._results.append((run_id, result.node, result.status, result.cache_key, stored))
            self._seal({run_id})
            return numbered

    def results(self, run_id: str) -> dict[str, NodeResult]:
        """Return node id -> newest result, in the order the nodes first had one."""
        with self._open():
            newest = {node: stored for run, node, _, _, stored in self._results if run == run_id}
        return {node: payloads.decode_result(row, run_id, node) for node, row in newest.items()}

    def append_events(self, events: Sequence[EngineEvent]) -> list[EngineEvent]:
        """Number events (gapless per run, from 1) and return them numbered; all are stored or none."""
        with self._open():
            numbered = self._append(events)
            self._seal({event.run_id for event in events})
        return numbered

    def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EngineEvent]:
        """Return committed events with `seq` greater than `after`, in order."""
        first = max(after, 0)
        with self._open():
            rows = self._events.get(run_id, [])[first : first + max(limit, 0)]
        return [
            payloads.decode_event(
                Stored(str(row.columns["kind"]), int(row.columns["version"]), row.payload), run_id, seq
            )
            for seq, row in enumerate(rows, start=first + 1)
        ]

    def close(self) -> None:
        """Release the store; nothing may be called after it."""
        with self._lock:
            self._closed = True

    def _append(self, events: Sequence[EngineEvent]) -> list[EngineEvent]:
        """Number, chain and store events, all or none."""
        numbered: list[EngineEvent] = []
        made: dict[str, list[StoredRow]] = {}
        for event in events:
            rows = made.setdefault(event.run_id, list(self._events.get(event.run_id, [])))
            numbered.append(event.model_copy(update={"seq": len(rows) + 1}))
            rows.append(payloads.event_row(numbered[-1], rows[-1].chain if rows else ""))
        self._events.update(made)
        return numbered

    def _rows(self, run_id: str) -> list[StoredRow]:
        """Return states, plans and results of a run as rows."""
        states = [_row("run", place, row) for place, row in enumerate(self._runs.get(run_id, []))]
        plans = [_row("plan", version, row) for version, row in self._plans.get(run_id, {}).items()]
        results = [
            _row("result", place, row, node=node)
            for place, (run, node, _, _, row) in enumerate(self._results)
            if run == run_id
        ]
        return [*states, *plans, *results]

    def _seal(self, run_ids: set[str]) -> None:
        """Seal the runs that are at rest."""
        for run_id in run_ids:
            rows, seals = self._rows(run_id), self._seals.setdefault(run_id, [])
            if run_id not in self._runs or not at_rest(rows):
                continue
            events = self._events.get(run_id, [])
            made = new_seal(run_id, rows, seals, last_seq=len(events), chain=events[-1].chain if events else "")
            if made is not None:
                seals.append(made)

    def _open(self) -> threading.RLock:
        """Return the lock to hold, having made sure that the store is still open."""
        if self._closed:
            raise StorageError("The store was closed, so it cannot be read or written.")
        return self._lock


def _row(table: Literal["run", "plan", "result"], place: int, row: Stored, **columns: str) -> StoredRow:
    return StoredRow(table, place, {**columns, "kind": row.kind, "version": row.version}, row.payload)
