"""Imports that go on while whoever asked for them looks at something else, one at a time.

An import runs in a thread of its own, so that it outlives the page that started it. What became of it is kept until
it is dismissed or the next one starts.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from engine.errors import EngineError, Interrupted, LimitExceeded, NotFoundError
from engine.ports.cancel import CancelToken
from engine.runs.cancel import CancelSource
from engine.runs.errands import Errands

Tell = Callable[[str, int, int], None]
"""Called by an import with the name of the step it is in and two counts, whose meaning depends on the step."""
Work = Callable[[Tell, CancelToken], Any]

_log = logging.getLogger(__name__)
_PATIENCE = 10.0
"""Seconds to wait at the end for an import that was told to stop."""


@dataclass(frozen=True, slots=True)
class ImportState:
    """An import at one moment."""

    id: str
    kind: str
    """What it changes: `graph` or `catalogue`."""
    title: str
    """What is imported, as its user calls it."""
    status: Literal["running", "stopping", "done", "stopped", "failed"] = "running"
    step: str = "reading"
    counts: tuple[int, int] = (0, 0)
    """How far the step is: entities and relations read, or descriptions done and to do."""
    seconds: float = 0.0
    """Since it was started, until now or its end."""
    outcome: Any = None
    """What the import returned; None unless it is `done`."""
    asked_to_stop: bool = False
    """True when somebody wished it to stop, also when that came too late."""
    error: EngineError | None = None
    """Why it did not work, when it `failed`."""

    @property
    def active(self) -> bool:
        """True until it has come to an end."""
        return self.status in ("running", "stopping")


@dataclass(slots=True)
class _ImportJob:
    state: ImportState
    started: float
    cancel: CancelSource = field(default_factory=CancelSource)
    ended: threading.Event = field(default_factory=threading.Event)


class ImportRunner:
    """Works on one import at a time. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._errands = Errands("biodesk-import", patience=_PATIENCE)
        self._job: _ImportJob | None = None
        self._closed = False

    def start(self, kind: str, title: str, work: Work) -> ImportState:
        """Begin an import and return at once.

        Args:
            kind: what it changes.
            title: what is imported, as its user calls it.
            work: does it. It is given a function to tell its steps to and a token that says when to stop; when it
                was stopped it raises `Interrupted` and must have left everything as it was.

        Raises:
            LimitExceeded: when another import is going on, or everything is being closed.
        """
        with self._lock:
            if self._closed:
                raise LimitExceeded(f"{title} cannot be imported: Biodesk is being closed.", advice="Start it again.")
            before = self._job
            if before is not None and before.state.active:
                raise LimitExceeded(
                    f"{title} was not imported: the import of {before.state.title} is still going on.",
                    advice="Wait until it is finished, or stop it; one import runs at a time.",
                    details={"kind": "import", "value": before.state.title, "limit": 1},
                )
            job = _ImportJob(ImportState(id=uuid.uuid4().hex[:12], kind=kind, title=title), time.monotonic())
            self._job = job
            # With the lock held: whoever closes at this moment then finds an import to stop.
            self._errands.add(lambda: self._run(job, work))
            return job.state

    def state(self) -> ImportState | None:
        """Return the import that is going on, or the last one unless it was dismissed."""
        with self._lock:
            job = self._job
            return _aged(job) if job is not None else None

    def stop(self, import_id: str) -> ImportState:
        """Tell an import to stop; one that has come to its end stays as it is.

        Raises:
            NotFoundError: when there is no such import any more.
        """
        with self._lock:
            job = self._of(import_id)
            if job.state.status == "running":
                job.state = replace(job.state, status="stopping", asked_to_stop=True)
            state = _aged(job)
        job.cancel.cancel()  # without the lock: what it calls may ask for the state
        return state

    def dismiss(self, import_id: str) -> None:
        """Forget what became of an import; nothing happens while it is going on, or when it is forgotten already."""
        with self._lock:
            if self._job is not None and self._job.state.id == import_id and not self._job.state.active:
                self._job = None

    def wait(self, seconds: float | None = None) -> ImportState | None:
        """Wait until nothing is imported any more or the time is over; return what `state` returns then."""
        with self._lock:
            job = self._job
        if job is not None:
            job.ended.wait(seconds)
        return self.state()

    def close(self) -> None:
        """Stop what is going on, wait for it a while, and start nothing more."""
        with self._lock:
            self._closed = True
            job = self._job
        if job is not None:
            job.cancel.cancel()
        if not self._errands.close() and job is not None:
            _log.warning("The import of %s did not stop within %g seconds.", job.state.title, _PATIENCE)

    def _of(self, import_id: str) -> _ImportJob:
        if self._job is None or self._job.state.id != import_id:
            raise NotFoundError(
                "This import is not known any more.", advice="Another one was started since, or it was dismissed."
            )
        return self._job

    def _run(self, job: _ImportJob, work: Work) -> None:
        def tell(step: str, first: int = 0, second: int = 0) -> None:
            with self._lock:
                job.state = replace(job.state, step=step, counts=(first, second))

        try:
            ended: dict[str, Any] = {"status": "done", "outcome": work(tell, job.cancel)}
        except Interrupted as err:
            # Only a wish to stop is "stopped"; an import that was interrupted by something else has failed.
            ended = {"status": "stopped"} if job.cancel.cancelled else {"status": "failed", "error": err}
        except EngineError as err:
            ended = {"status": "failed", "error": err}
        except Exception as err:  # noqa: BLE001 - the thread's border: it is told where the import is shown
            _log.exception("The import of %s failed", job.state.title)
            ended = {"status": "failed", "error": _defect(job.state.title, err)}
        with self._lock:
            job.state = replace(_aged(job), **ended)
        job.ended.set()


def _aged(job: _ImportJob) -> ImportState:
    """Return the state with the seconds until now; those of an import that has ended do not grow."""
    return replace(job.state, seconds=time.monotonic() - job.started) if job.state.active else job.state


def _defect(title: str, err: Exception) -> EngineError:
    return EngineError(
        f"{title} could not be imported ({type(err).__name__}: {err}).",
        advice="This is a defect of the program; nothing that was there before was changed. The log has the details.",
    )
