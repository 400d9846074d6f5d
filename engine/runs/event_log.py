"""Events on their way into the store.

A single-row commit costs as much as a batch of a hundred, so events wait up to 50 ms for company and are
committed together. Readers see only what is committed: a page can never show an event that a power cut
would take back. What an event tells of (a result, a plan, a run's new state) is stored with it in one
transaction, so a kill can never part them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from engine.domain.events import EVENT, EngineEvent, WarningRaised
from engine.domain.plan import TaskDag
from engine.domain.results import NodeResult, RunRecord
from engine.errors import EngineError, StorageError
from engine.ports.runs import RunStore
from engine.ports.system import Clock

FLUSH_SECONDS = 0.05
RETRY_SECONDS = 0.5
"""How long events that the disk refused wait before they are tried again."""
BATCH = 500
MOST_WAITING = 20_000
"""A run that talks faster than the disk writes is made to wait instead of filling the memory."""


class EventLog:
    """Collects events from any thread and commits them in order."""

    def __init__(self, store: RunStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._waiting: list[EngineEvent] = []
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._failures: dict[str, EngineError] = {}
        """Run -> what went wrong with its events and it was not told yet."""
        self._lost: dict[str, tuple[int, str]] = {}
        """Run -> how many of its events can never be stored, and why; said in its events once that is possible."""
        self._stuck = False
        """True while the store refuses what waits."""
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name="event-log", daemon=True)
        self._thread.start()

    def emit(self, event: EngineEvent) -> None:
        """Put an event in line; it is committed within about 50 ms.

        Raises:
            StorageError: when events of its run could not be committed; they wait until the store can take them.
        """
        stamped = self._stamped(event)
        with self._changed:
            while len(self._waiting) >= MOST_WAITING and not self._closed and not self._stuck:
                self._changed.wait(timeout=1.0)
            if len(self._waiting) >= MOST_WAITING:
                self._lose(event.run_id, 1, StorageError("Too many events wait for a store that refuses them."))
            else:
                self._waiting.append(stamped)
            self._changed.notify_all()
            self._raise_failure(event.run_id)

    def flush(self, run_id: str = "") -> None:
        """Return when everything emitted so far is committed, of one run when it is named.

        Raises:
            StorageError: when it could not be.
        """
        self._commit()
        with self._changed:
            for failed in [run_id] if run_id else list(self._failures):
                self._raise_failure(failed)

    def new_run(self, run: RunRecord, *events: EngineEvent) -> None:
        """Store a new run and its first events in one transaction."""
        self._together(run.run_id, events, lambda told: self._store.create_run(run, told))

    def with_run(self, run: RunRecord, *events: EngineEvent) -> None:
        """Store a newer state of a run and events on it in one transaction."""
        self._together(run.run_id, events, lambda told: self._store.update_run(run, told))

    def with_plan(self, run_id: str, plan: TaskDag, *events: EngineEvent) -> None:
        """Store a plan version and events on it in one transaction."""
        self._together(run_id, events, lambda told: self._store.save_plan(run_id, plan, told))

    def with_result(self, run_id: str, result: NodeResult, *events: EngineEvent) -> None:
        """Store a step's result and events on it in one transaction."""
        self._together(run_id, events, lambda told: self._store.save_result(run_id, result, told))

    def close(self) -> None:
        """Commit what waits and stop. Safe to call twice."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self._thread.join(timeout=10)

    def _together(
        self, run_id: str, events: Sequence[EngineEvent], save: Callable[[Sequence[EngineEvent]], object]
    ) -> None:
        """Save something with the run's events that wait and those that tell of it, all or nothing.

        Raises:
            StorageError: when that was not possible; what waited goes on waiting.
        """
        with self._writing:
            with self._changed:
                mine = [event for event in self._waiting if event.run_id == run_id]
            mine = self._readable(run_id, mine)
            save([*self._losses(run_id), *mine, *map(self._stamped, events)])
            self._done(run_id, mine)

    def _stamped(self, event: EngineEvent) -> EngineEvent:
        return event.model_copy(update={"at": self._clock.now()})

    def _raise_failure(self, run_id: str) -> None:
        failure = self._failures.pop(run_id, None)
        if failure is not None:
            raise failure

    def _loop(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed and not self._waiting:
                    return
                closed, stuck = self._closed, self._stuck
            if not closed:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed, RETRY_SECONDS if stuck else FLUSH_SECONDS)
            self._commit()
            if closed:
                return

    def _commit(self) -> None:
        # One writer at a time, taking the whole line each time: the order in is the order out.
        with self._writing:
            refused: set[str] = set()
            while True:
                with self._changed:
                    batch = [event for event in self._waiting if event.run_id not in refused][:BATCH]
                if not batch:
                    break
                if self._tried(batch) is None:
                    self._done("", batch)
                    continue
                # One run's events must not hold back another's.
                for run_id in dict.fromkeys(event.run_id for event in batch):
                    mine = self._readable(run_id, [event for event in batch if event.run_id == run_id])
                    failure = self._tried([*self._losses(run_id), *mine])
                    if failure is None:
                        self._done(run_id, mine)
                    else:
                        refused.add(run_id)
                        with self._changed:
                            self._failures[run_id] = failure
            with self._changed:
                self._stuck = bool(refused)
                self._changed.notify_all()

    def _tried(self, events: Sequence[EngineEvent]) -> EngineError | None:
        """Store events; return what went wrong, or None."""
        try:
            self._store.append_events(events)
        except EngineError as err:
            return err
        except Exception as err:  # noqa: BLE001 - a thread that dies silently would lose every later event
            return StorageError(f"Events could not be stored: {err}")
        return None

    def _done(self, run_id: str, stored: Sequence[EngineEvent]) -> None:
        """Take stored events from the line."""
        gone = {id(event) for event in stored}
        with self._changed:
            self._waiting = [event for event in self._waiting if id(event) not in gone]
            self._lost.pop(run_id, None)
            self._failures.pop(run_id, None)
            self._changed.notify_all()

    def _readable(self, run_id: str, events: Sequence[EngineEvent]) -> list[EngineEvent]:
        """Return the events that can be stored at all; the others would be refused for ever and are given up."""
        sound: list[EngineEvent] = []
        for event in events:
            try:
                EVENT.validate_json(event.model_dump_json())
            except ValueError as err:
                with self._changed:
                    self._waiting = [other for other in self._waiting if other is not event]
                    self._lose(run_id, 1, StorageError(f"An event ({event.kind}) has no form that can be read: {err}"))
            else:
                sound.append(event)
        return sound

    def _lose(self, run_id: str, count: int, why: EngineError) -> None:
        self._lost[run_id] = (self._lost.get(run_id, (0, ""))[0] + count, why.message)
        self._failures[run_id] = why

    def _losses(self, run_id: str) -> list[EngineEvent]:
        """Return the event that says what was lost of a run, if anything was."""
        if run_id not in self._lost:
            return []
        count, why = self._lost[run_id]
        message = f"{count} event{'s' if count > 1 else ''} of this run could not be stored: {why}"
        return [self._stamped(WarningRaised(run_id=run_id, message=message))]
