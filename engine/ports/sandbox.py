"""What runs the code of steps, which is not trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from engine.domain.results import ExecResult
from engine.ports.cancel import CancelToken


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a job may use."""

    seconds: float = 600.0
    memory_mb: int = 8192
    file_mb: int = 4096
    """The largest file it may write."""
    disk_mb: int = 16384
    """What all files it leaves or keeps at one time may have together."""
    files: int = 100_000
    """How many files and folders it may have at one time."""
    processes: int = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Code to run in a sandbox.

    `workdir` is an existing folder: the job's current directory and the only place it may write.
    """

    id: str
    code: str
    workdir: Path
    limits: Limits = field(default_factory=Limits)
    readable: tuple[Path, ...] = ()
    """Files or folders outside `workdir` the job may read (inputs are linked into `workdir` by the caller)."""
    threads: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxReport:
    """What a sandbox is on this machine, for `doctor` and the provenance record."""

    kind: str
    """`process+bubblewrap`, `process`, `docker`..."""
    available: bool
    warm: bool
    isolation: dict[str, bool]
    """network, filesystem, home, workspace, environment, memory, processes, users, kernel -> is it really isolated."""
    missing: tuple[str, ...] = ()
    """One sentence each: what this platform does not offer and what would give it."""


OutputSink = Callable[[Literal["stdout", "stderr"], str], None]


class Sandbox(Protocol):
    """Runs code that is not trusted."""

    def run(self, job: Job, *, on_output: OutputSink, cancel: CancelToken) -> ExecResult:
        """Run a job to its end, a limit or its cancellation; kill its whole process tree in every case.

        Thread-safe: several jobs run side by side. Code that fails is a result.

        Raises:
            SandboxUnavailable: when the machinery broke, whatever the code was.
        """
        ...

    def warm(self) -> None:
        """Start what makes the first job fast; returns when it is ready. Safe to call twice."""
        ...

    def report(self) -> SandboxReport:
        """Say what is isolated here, tested and not assumed."""
        ...

    def close(self) -> None:
        """Kill everything this sandbox started."""
        ...
