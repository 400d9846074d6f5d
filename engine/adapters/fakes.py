"""Ports without a machine behind them: for tests, documentation and demonstrations."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from engine.domain.results import ExecResult
from engine.errors import SandboxUnavailable
from engine.ports import CancelToken, Job, OutputSink, SandboxReport

ASPECTS = ("network", "filesystem", "home", "environment", "memory", "processes", "users")


class FrozenClock:
    """A clock that moves only when told."""

    def __init__(self, start: str = "2026-11-21T08:00:00.000Z") -> None:
        self._now = datetime.fromisoformat(start.replace("Z", "+00:00")).astimezone(UTC)
        self._elapsed = 0.0

    def now(self) -> str:
        """Return the frozen time."""
        return self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        """Return the seconds it was moved."""
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Move the time forward.

        Raises:
            ValueError: when `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError(f"A clock cannot go back: {seconds} s. Give 0 or more.")
        self._now += timedelta(seconds=seconds)
        self._elapsed += seconds


class CountingIds:
    """Identifiers that count: `run_000001`, `run_000002`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def new(self, prefix: str) -> str:
        """Return the next one."""
        with self._lock:
            self._count += 1
            return f"{prefix}_{self._count:06d}"


class EchoSandbox:
    """Runs nothing: every job succeeds and prints its own code. `jobs` holds what it was given."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self._closed = False

    def run(self, job: Job, *, on_output: OutputSink, cancel: CancelToken) -> ExecResult:
        """Return the code as the output.

        Raises:
            SandboxUnavailable: after `close`, or when the job's folder is not there.
        """
        if self._closed:
            raise SandboxUnavailable("The sandbox was closed.", advice="Make a new one.")
        if cancel.cancelled:
            return ExecResult(status="cancelled", error="it was cancelled before it began")
        if not job.workdir.is_dir():
            raise SandboxUnavailable(
                f"The folder of step {job.id} cannot be used: {job.workdir} is not a folder.", advice="Make it first."
            )
        self.jobs.append(job)
        if job.code:
            on_output("stdout", job.code)
        return ExecResult(status="ok", exit_code=0, stdout=job.code)

    def warm(self) -> None:
        """Do nothing: it is always ready."""

    def report(self) -> SandboxReport:
        """Say that nothing is isolated, for nothing is run."""
        return SandboxReport(
            kind="echo",
            available=not self._closed,
            warm=True,
            isolation=dict.fromkeys(ASPECTS, False),
            missing=("This sandbox runs no code at all.",),
        )

    def close(self) -> None:
        """Take no more jobs."""
        self._closed = True
