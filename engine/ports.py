"""What the engine needs from outside, as protocols.

Implemented in `storage` and `engine.adapters`, chosen in `engine.bootstrap`, tested once per port in
`tests/contract` for every implementation, the in-memory ones included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from engine.domain.events import EngineEvent
from engine.domain.plan import TaskDag
from engine.domain.results import ExecResult, NodeResult, RunRecord


class Clock(Protocol):
    """The time."""

    def now(self) -> str:
        """Return the UTC time as ISO 8601 with milliseconds, e.g. `2026-11-21T08:00:00.123Z`."""
        ...

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start, never going back."""
        ...


class IdSource(Protocol):
    """New identifiers."""

    def new(self, prefix: str) -> str:
        """Return an identifier that sorts by time and was never given before, e.g. `run_20261121_080000_a1b2c3`."""
        ...


class ArtifactStore(Protocol):
    """Immutable files named by the SHA-256 of their content."""

    def put_bytes(self, data: bytes) -> str:
        """Store `data` durably and return its SHA-256; storing the same bytes twice is one file."""
        ...

    def put_file(self, path: Path) -> str:
        """Store a copy of the file durably (written, synced, renamed) and return its SHA-256."""
        ...

    def path(self, sha256: str) -> Path:
        """Return where the content lies, read-only.

        Raises:
            NotFoundError: when it was never stored.
        """
        ...

    def has(self, sha256: str) -> bool:
        """Say whether the content is stored."""
        ...

    def verify(self, sha256: str) -> str:
        """Re-hash the stored file and return the hash found, or "" when the file is missing."""
        ...


class RunStore(Protocol):
    """Runs, their plans, results and events. Append-only: a correction is a new record.

    All methods may be called from any thread.
    """

    def create_run(self, run: RunRecord) -> None:
        """Store a new run."""
        ...

    def update_run(self, run: RunRecord) -> None:
        """Store a newer state of a run that exists."""
        ...

    def run(self, run_id: str) -> RunRecord | None:
        """Return a run's newest state, or None."""
        ...

    def runs(self, *, user: str | None = None, limit: int = 200) -> list[RunRecord]:
        """Return runs, newest first; only `user`'s when given."""
        ...

    def save_plan(self, run_id: str, plan: TaskDag) -> None:
        """Store a plan version; the same version again replaces nothing and is an error."""
        ...

    def plan(self, run_id: str, version: int | None = None) -> TaskDag | None:
        """Return a version of the run's plan, the newest by default, or None."""
        ...

    def plan_versions(self, run_id: str) -> list[int]:
        """Return the stored versions, oldest first."""
        ...

    def save_result(self, run_id: str, result: NodeResult) -> None:
        """Store the newest result of a node in a run. Durable when this returns."""
        ...

    def results(self, run_id: str) -> dict[str, NodeResult]:
        """Return node id -> newest result."""
        ...

    def cached_result(self, cache_key: str) -> tuple[str, NodeResult] | None:
        """Return (run id, result) of the newest succeeded node with this key in any run, or None."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorHit:
    """A neighbour: `score` is the cosine similarity, -1 to 1."""

    id: str
    score: float


class VectorIndex(Protocol):
    """Named collections of unit vectors, rebuildable from the texts they stand for."""

    def replace(self, collection: str, ids: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        """Make the collection hold exactly these rows."""
        ...

    def search(self, collection: str, vector: Sequence[float], *, top: int) -> list[VectorHit]:
        """Return the nearest rows by cosine, best first; empty for an unknown collection."""
        ...

    def ids(self, collection: str) -> list[str]:
        """Return the ids in the collection; empty for an unknown one."""
        ...

    def drop(self, collection: str) -> None:
        """Remove the collection if it is there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a job may use."""

    seconds: float = 600.0
    memory_mb: int = 8192
    file_mb: int = 4096
    """The largest file it may write."""
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
    """network, filesystem, home, environment, memory, processes, users -> whether it is really isolated."""
    missing: tuple[str, ...] = ()
    """One sentence each: what this platform does not offer and what would give it."""


OutputSink = Callable[[Literal["stdout", "stderr"], str], None]


class CancelToken(Protocol):
    """Says whether a job is to stop, and tells those that wait for it."""

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        ...

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` once when cancelled (at once if it already is); return a function that unregisters."""
        ...


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
