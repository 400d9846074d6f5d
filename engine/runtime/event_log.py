"""Events on their way into the store.

A single-row commit costs as much as a batch of a hundred, so events wait up to 50 ms for company and are
committed together. Readers see only what is committed: a page can never show an event that a power cut
would take back.
"""

from __future__ import annotations

import threading

from engine.domain.events import EngineEvent
from engine.errors import EngineError, StorageError
from engine.ports import Clock, RunStore

FLUSH_SECONDS = 0.05
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
        self._failure: EngineError | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name="event-log", daemon=True)
        self._thread.start()

    def emit(self, event: EngineEvent) -> None:
        """Put an event in line; it is committed within about 50 ms.

        Raises:
            StorageError: when earlier events could not be committed.
        """
        stamped = event.model_copy(update={"at": self._clock.now()})
        with self._changed:
            self._raise_failure()
            while len(self._waiting) >= MOST_WAITING and not self._closed and self._failure is None:
                self._changed.wait(timeout=1.0)
            self._waiting.append(stamped)
            self._changed.notify_all()

    def flush(self) -> None:
        """Return when everything emitted so far is committed.

        Raises:
            StorageError: when it could not be.
        """
        self._commit()
        with self._changed:
            self._raise_failure()

    def close(self) -> None:
        """Commit what waits and stop. Safe to call twice."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self._thread.join(timeout=10)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _loop(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed and not self._waiting:
                    return
                closed = self._closed
            if not closed:
                threading.Event().wait(FLUSH_SECONDS)
            self._commit()
            if closed:
                return

    def _commit(self) -> None:
        # One writer at a time, taking the whole line each time: the order in is the order out.
        with self._writing:
            while True:
                with self._changed:
                    batch = self._waiting[:BATCH]
                if not batch:
                    return
                try:
                    self._store.append_events(batch)
                except EngineError as err:
                    self._fail(err)
                    return
                except Exception as err:  # noqa: BLE001 - a thread that dies silently would lose every later event
                    self._fail(StorageError(f"Events could not be stored: {err}"))
                    return
                with self._changed:
                    del self._waiting[: len(batch)]
                    self._changed.notify_all()

    def _fail(self, err: EngineError) -> None:
        # What could not be written is dropped: keeping it would only repeat the failure, and the
        # run is about to be told (and marked interrupted, so that it can be resumed).
        with self._changed:
            self._failure = err
            self._waiting.clear()
            self._changed.notify_all()
