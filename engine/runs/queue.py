"""Runs in background threads, a few at a time, the rest in a bounded line."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from engine.errors import LimitExceeded, PlanError
from engine.ports.cancel import CancelToken
from engine.runs.cancel import CancelSource

Work = Callable[[CancelSource], None]
Seen = TypeVar("Seen")

_log = logging.getLogger(__name__)
_SETTLE_SECONDS = 10.0
"""How long a next stage waits for the last one to let go of its run: writing a report takes a moment."""


@dataclass(slots=True)
class _Ticket:
    run_id: str
    work: Work
    cancel: CancelSource = field(default_factory=CancelSource)
    done: threading.Event = field(default_factory=threading.Event)


class RunQueue:
    """Works on runs in order. `work` must handle its own errors: what it raises is only logged."""

    def __init__(self, *, workers: int, size: int) -> None:
        self._size = size
        self._lock = threading.Condition()
        self._line: deque[_Ticket] = deque()
        self._tickets: dict[str, _Ticket] = {}
        self._closed = False
        self._threads = [
            threading.Thread(target=self._loop, name=f"run-worker-{number}", daemon=True) for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, run_id: str, work: Work) -> int:
        """Put a run in line and return how many stand before it.

        Raises:
            LimitExceeded: when the line is full or this run is already being worked on.
        """
        with self._lock:
            if run_id in self._tickets:
                message = f"Run {run_id} is already being worked on."
                raise LimitExceeded(message, details={"kind": "run", "value": run_id, "limit": 1})
            if len(self._line) >= self._size:
                message = f"{len(self._line)} runs are already waiting, which is the limit."
                advice = "Wait for one to finish or cancel one."
                raise LimitExceeded(
                    message,
                    advice=advice,
                    details={"kind": "queue", "value": len(self._line), "limit": self._size},
                )
            ticket = _Ticket(run_id, work)
            self._tickets[run_id] = ticket
            self._line.append(ticket)
            self._lock.notify()
            return len(self._line) - 1

    def cancel(self, run_id: str) -> bool:
        """Tell a run to stop; False when it is neither waiting nor running here."""
        with self._lock:
            ticket = self._tickets.get(run_id)
        if ticket is None:
            return False
        ticket.cancel.cancel()
        return True

    def token(self, run_id: str) -> CancelToken | None:
        """Return what tells the work on a run to stop; None for a run that is not active."""
        with self._lock:
            ticket = self._tickets.get(run_id)
        return ticket.cancel if ticket is not None else None

    def active(self) -> list[str]:
        """Return the runs that wait or run, oldest first."""
        with self._lock:
            return list(self._tickets)

    def wait(self, run_id: str, timeout: float | None = None) -> bool:
        """Wait until a run is no longer active; False when the time ran out."""
        with self._lock:
            ticket = self._tickets.get(run_id)
        return True if ticket is None else ticket.done.wait(timeout)

    def let_go(self, run_id: str, look: Callable[[str], Seen]) -> Seen:
        """Look at a run in order to change it, once the last work on it has let go of it; return what is seen then.

        Args:
            run_id: the run.
            look: returns what is needed of the run, or raises when the run cannot be changed so. It is called twice:
                before waiting, and again, as the run may have come to another state meanwhile.

        Raises:
            PlanError: when the work does not let go of it.
        """
        look(run_id)
        if not self.wait(run_id, _SETTLE_SECONDS):
            raise PlanError(f"Run {run_id} is being worked on.", advice="Wait for it to stop, or cancel it.")
        return look(run_id)

    @property
    def closing(self) -> bool:
        """True once the queue is being closed: what is cancelled then was interrupted, not given up."""
        return self._closed

    def close(self) -> None:
        """Cancel everything and wait for the threads."""
        with self._lock:
            self._closed = True
            tickets = list(self._tickets.values())
            self._lock.notify_all()
        for ticket in tickets:
            ticket.cancel.cancel()
        for thread in self._threads:
            thread.join(timeout=5)

    def _loop(self) -> None:
        while True:
            with self._lock:
                while not self._line and not self._closed:
                    self._lock.wait()
                if not self._line:
                    return
                ticket = self._line.popleft()
            try:
                ticket.work(ticket.cancel)
            except Exception:  # noqa: BLE001 - logged with its traceback
                # A dead thread would leave every later run waiting for ever.
                _log.exception("The work on run %s ended with an error it should have handled", ticket.run_id)
            finally:
                with self._lock:
                    del self._tickets[ticket.run_id]
                ticket.done.set()
