"""What the engine needs from outside, as protocols.

Implemented in `storage` and `engine.adapters`, chosen in `engine.bootstrap`, tested once per port in
`tests/contract` for every implementation, the in-memory ones included.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from engine.domain.events import EngineEvent
from engine.domain.knowledge import Edge, EdgeRows, GraphImport, GraphSource, NodeRows
from engine.domain.memory import Episode, Fact, Message, Summary
from engine.domain.plan import TaskDag
from engine.domain.profile import Profile
from engine.domain.results import ExecResult, NodeResult, RunRecord
from engine.domain.retrieval import CatalogueEntry, CatalogueInfo
from engine.domain.sealing import SealHead, StoredRun

if TYPE_CHECKING:
    import numpy as np


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

    def size(self, sha256: str) -> int:
        """Return the bytes that the content takes, 0 when it is not stored."""
        ...

    def remove(self, sha256: str) -> int:
        """Remove the content for good and return the bytes that are free then, 0 when it was not there."""
        ...


class RunStore(Protocol):
    """Runs, their plans, results and events. Append-only: a correction is a new record; only a whole run can go.

    All methods may be called from any thread.
    """

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

    def turns(self, conversation: str) -> list[RunRecord]:
        """Return the runs of a conversation, oldest first. Those that cannot be read are left out."""
        ...

    def damaged_runs(self) -> dict[str, str]:
        """Return run id -> a sentence on why its state cannot be read, for the runs that `runs` leaves out."""
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

    def cached_result(self, cache_key: str) -> tuple[str, NodeResult] | None:
        """Return (run id, result) of the newest succeeded node with this key in any run, or None."""
        ...

    def append_events(self, events: Sequence[EngineEvent]) -> list[EngineEvent]:
        """Number events (gapless per run, from 1), commit them in one transaction and return them numbered."""
        ...

    def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EngineEvent]:
        """Return committed events with `seq` greater than `after`, in order."""
        ...

    def stored(self, run_id: str) -> StoredRun:
        """Return everything stored of a run as it lies there, also what cannot be understood any more.

        Every change that leaves a run at rest (`engine.domain.sealing`) is sealed in the same transaction.
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

    def add(self, collection: str, ids: Sequence[str], vectors: np.ndarray) -> None:
        """Add rows to a collection, making it if needed; ids that it has already are passed over."""
        ...

    def fetch(self, collection: str, ids: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Return those of `ids` that the collection has, in the order asked, and their float32 rows."""
        ...

    def drop(self, collection: str) -> None:
        """Remove the collection if it is there."""
        ...


class VectorFile(Protocol):
    """Small matrices under names, a cache: what is not there can be made again."""

    def read(self, name: str) -> np.ndarray | None:
        """Return the float32 rows kept under a name, or None."""
        ...

    def write(self, name: str, rows: np.ndarray) -> None:
        """Keep rows under a name; never an error."""
        ...


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


# ==== models ====


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def name(self) -> str:
        """Model and the hash of its files, e.g. `all-MiniLM-L6-v2@8f3a12cd`: vectors of two names never mix."""
        ...

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 rows of length 1, shape (len(texts), dimensions). Thread-safe.

        Raises:
            ModelUnavailable: when the model cannot be loaded here; the message says why and what to do.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """A message to or from a language model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """A model's answer: `data` holds the parsed object when a schema was asked for."""

    text: str
    data: Any = None
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatModel(Protocol):
    """A language model. Implementations come with the providers; tests use a scripted one."""

    @property
    def name(self) -> str:
        """Provider and model."""
        ...

    @property
    def max_input_tokens(self) -> int:
        """How much it can read at once."""
        ...

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        role: Literal["reasoning", "coder", "fast"] = "reasoning",
        schema: dict[str, Any] | None = None,
    ) -> ChatReply:
        """Answer; with `schema` (JSON Schema) `data` is an object that satisfies it.

        Raises:
            ModelUnavailable: when no answer could be had.
        """
        ...

    def count_tokens(self, text: str) -> int | None:
        """Return the exact number of tokens, or None when this model's tokenizer is not known here."""
        ...


# ==== knowledge ====


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphColumns:
    """The whole graph as columns, for building traversal arrays. Removed sources are left out.

    Node `i` is `ids[i]`; edges name nodes by these positions and types by their codes in `engine.domain.knowledge`.
    `edge_keys` are what `GraphStore.edges` takes.
    """

    version: int
    ids: list[str]
    names: list[str]
    node_types: np.ndarray
    """uint8."""
    aliases: dict[int, list[str]]
    """Only nodes that have some."""
    xrefs: dict[int, list[str]]
    sources: np.ndarray
    """int32."""
    targets: np.ndarray
    """int32."""
    edge_types: np.ndarray
    """uint8."""
    confidences: np.ndarray
    """float32."""
    edge_keys: np.ndarray
    """int64."""
    named_by: np.ndarray
    """int32: for each node the position in `origins` of the first source that named it; -1 when it is gone."""
    edge_relations: np.ndarray
    """int32: positions in `relations`."""
    edge_origins: np.ndarray
    """int32: positions in `origins`."""
    relations: list[str]
    origins: list[GraphSource]
    """The sources in force."""


class GraphStore(Protocol):
    """The knowledge graph's truth. All methods may be called from any thread."""

    def version(self) -> int:
        """Return a number that grows with every change."""
        ...

    def add(
        self,
        source: GraphSource,
        batches: Iterable[NodeRows | EdgeRows],
        *,
        progress: Callable[[int, int], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> GraphImport:
        """Store everything of a source in one transaction; all of it is there afterwards, or nothing.

        The same source id with the same file hashes again is not read, and says `unchanged`, unless another source
        was added, replaced or removed since: then it is read again, as it may find nodes that were not there, and
        is `unchanged` when it states the same (the version stays too). With other hashes it replaces what that
        source had said. A node that exists gains aliases and xrefs and keeps its type and name, unless it had only
        its id for a name. Edges to ids that no node has are left out and counted in a warning. `progress` is called
        with (nodes read, edges read) so far; iterating `batches` may raise DataError, which undoes everything.
        """
        ...

    def remove_source(self, source_id: str) -> None:
        """Take back what a source stated: its edges, and nodes nobody else mentions.

        Raises:
            NotFoundError: when there is no such source.
        """
        ...

    def sources(self) -> list[GraphSource]:
        """Return the sources that are in force, oldest first."""
        ...

    def removed_sources(self) -> list[str]:
        """Return the ids of the sources that were taken back and not stored again since, in order of removal."""
        ...

    def mentioned_only_by(self, source_id: str) -> list[str]:
        """Return the ids of the nodes that no other source mentions, in no order; none for an unknown source."""
        ...

    def columns(self) -> GraphColumns:
        """Return the whole graph."""
        ...

    def edges(self, keys: Sequence[int]) -> list[Edge]:
        """Return edges by key, in the order given."""
        ...


# ==== files ====


class Profiler(Protocol):
    """Looks at files, which may hold anything: damaged, bottomless, made to do harm. Thread-safe."""

    def look(self, paths: Sequence[Path]) -> list[Profile]:
        """Profile files in the order given; one that cannot be used has no types and one sentence on why.

        Raises:
            DataError: for the first path that leads to nothing that can be read.
            SandboxUnavailable: when the machinery broke, whatever the files hold.
        """
        ...

    def correct(self, profile: Profile, said: Mapping[str, str]) -> Profile:
        """Return the profile of a file with columns as a person says they are (column -> words).

        Raises:
            PlanError: for an unknown column, scale or role.
            DataError: when the file can no longer be read.
            SandboxUnavailable: when the machinery broke.
        """
        ...

    def warm(self) -> None:
        """Start what makes the first look fast; returns when it is ready. Safe to call twice."""
        ...

    def close(self) -> None:
        """End everything this profiler started."""
        ...


# ==== tools that can be found ====


class CatalogueStore(Protocol):
    """Imported catalogues of tools."""

    def replace(self, info: CatalogueInfo, entries: Sequence[CatalogueEntry]) -> None:
        """Make the catalogue of this name hold exactly these entries, in one transaction."""
        ...

    def catalogues(self) -> list[CatalogueInfo]:
        """Return the imported catalogues by name."""
        ...

    def entries(self) -> list[CatalogueEntry]:
        """Return every imported entry, by catalogue and name."""
        ...

    def remove(self, name: str) -> None:
        """Forget a catalogue.

        Raises:
            NotFoundError: when there is none of this name.
        """
        ...


class CorrectionStore(Protocol):
    """What people said columns are, by the SHA-256 of the file. Durable when `save` returns."""

    def save(self, sha256: str, said: Mapping[str, str]) -> None:
        """Remember column -> what it is, all or none; an empty text takes a correction back."""
        ...

    def of(self, sha256: str) -> dict[str, str]:
        """Return column -> what it was said to be; empty for an unknown file."""
        ...


# ==== memory ====


class EpisodeStore(Protocol):
    """Past analyses. Append-only: a change is a newer record; forgetting removes all records of an id."""

    def save(self, episodes: Sequence[Episode]) -> None:
        """Store new episodes or newer states, in one transaction."""
        ...

    def episode(self, episode_id: str) -> Episode | None:
        """Return the newest state, or None."""
        ...

    def episodes(self) -> list[Episode]:
        """Return all, oldest first."""
        ...

    def forget(self, episode_id: str) -> bool:
        """Remove it for good; False when it was not there."""
        ...


class FactStore(Protocol):
    """Remembered statements, by the same rules as `EpisodeStore`."""

    def save(self, facts: Sequence[Fact]) -> None:
        """Store new facts or newer states, in one transaction."""
        ...

    def fact(self, fact_id: str) -> Fact | None:
        """Return the newest state, or None."""
        ...

    def facts(self) -> list[Fact]:
        """Return all, retracted ones too, oldest first."""
        ...

    def forget(self, fact_id: str) -> bool:
        """Remove it for good; False when it was not there."""
        ...


class ConversationStore(Protocol):
    """Conversations: messages, and the summaries that working memory made of the older ones."""

    def append(self, conversation: str, message: Message) -> Message:
        """Store a message under the conversation's next number and return it numbered."""
        ...

    def extend(self, conversation: str, messages: Sequence[Message]) -> list[Message]:
        """Append many messages in one transaction and return them numbered."""
        ...

    def update(self, conversation: str, message: Message) -> None:
        """Store a newer state of a message (pinned or not).

        Raises:
            NotFoundError: when the conversation has no message of this number.
        """
        ...

    def messages(self, conversation: str) -> list[Message]:
        """Return them in order; empty for an unknown conversation."""
        ...

    def save_summaries(self, conversation: str, summaries: Sequence[Summary]) -> None:
        """Make these the conversation's summaries."""
        ...

    def summaries(self, conversation: str) -> list[Summary]:
        """Return the summaries, oldest first."""
        ...

    def conversations(self) -> list[tuple[str, str, int]]:
        """Return (id, time of the newest message, number of messages), newest first."""
        ...

    def titles(self) -> dict[str, str]:
        """Return conversation -> what a person called it; those that nobody named are absent."""
        ...

    def name(self, conversation: str, title: str) -> None:
        """Call a conversation so; an empty title takes the name back."""
        ...

    def forget(self, conversation: str) -> bool:
        """Remove a conversation for good, its name too; False when it was not there."""
        ...
