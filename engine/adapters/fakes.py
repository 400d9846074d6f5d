"""Ports without a machine behind them: for tests, documentation and demonstrations."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

import numpy as np

from engine.domain.results import ExecResult
from engine.errors import ModelCancelled, ModelUnavailable, SandboxUnavailable
from engine.ports.cancel import CancelToken
from engine.ports.models.chat import ChatMessage, ChatReply, ChatRequest, TextPiece
from engine.ports.sandbox import Job, OutputSink, SandboxReport

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


class HashEmbedder:
    """Counts words by their hash: texts that share words have similar vectors. The same on every machine.

    `embedded` holds every text it was given, so that a test can see what was embedded twice.
    """

    def __init__(self, dimensions: int = 256) -> None:
        self.dimensions = dimensions
        self.name = f"words-{dimensions}@fake"
        self.embedded: list[str] = []
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 rows of length 1, shape (len(texts), dimensions)."""
        with self._lock:
            self.embedded.extend(texts)
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float64)
        for row, text in enumerate(texts):
            # A text without a word still needs a direction.
            for word in re.findall(r"\w+", text.lower()) or [""]:
                vectors[row, self._place(word)] += 1.0
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    def _place(self, word: str) -> int:
        digest = blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
        return int.from_bytes(digest, "little") % self.dimensions


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedCall:
    """What a scripted model was asked."""

    messages: tuple[ChatMessage, ...]
    schema: dict[str, Any] | None


Scripted = str | dict[str, Any] | list[Any] | ChatReply | Exception | Callable[[Sequence[ChatMessage]], Any]


class ScriptedModel:
    """Answers from a list, in its order, and keeps what it was asked in `asked`. A `ChatProvider`.

    An answer is a text, an object (for a question with a schema), a whole `ChatReply`, an exception to raise (the
    `partial` of a `ModelUnavailable` comes first where it is streamed), or a function of the messages that returns
    one of these.
    """

    def __init__(
        self,
        replies: Iterable[Scripted] = (),
        *,
        name: str = "scripted/model",
    ) -> None:
        """Take the answers; a token is a word."""
        self.name = name
        self.asked: list[ScriptedCall] = []
        self._replies = list(replies)
        self._lock = threading.Lock()

    def stream(self, request: ChatRequest, *, cancel: CancelToken | None = None) -> Iterator[TextPiece | ChatReply]:
        """Yield the next answer word by word, then whole.

        Raises:
            ModelCancelled: when `cancel` was called; `partial` holds what was yielded before.
            ModelUnavailable: when the list is used up.
        """
        reply = self._next(request.messages, request.schema)
        whole = reply if isinstance(reply, ChatReply) else None
        if not isinstance(reply, Exception | ChatReply):
            whole = self._said(reply, request.messages)
        said = ""
        for piece in re.findall(r"\s*\S+|\s+$", whole.text if whole else getattr(reply, "partial", "")):
            if cancel is not None and cancel.cancelled:
                raise ModelCancelled(f"The model {self.name} was stopped.", partial=said)
            said += piece
            yield TextPiece(piece)
        if isinstance(reply, Exception):
            raise reply
        assert whole is not None
        yield whole

    def _next(self, messages: Sequence[ChatMessage], schema: dict[str, Any] | None) -> Any:
        with self._lock:
            self.asked.append(ScriptedCall(messages=tuple(messages), schema=schema))
            if not self._replies:
                raise ModelUnavailable(
                    f"The scripted model {self.name} has no answer left for question {len(self.asked)}.",
                    advice="Give it another answer.",
                )
            reply = self._replies.pop(0)
        return reply(messages) if callable(reply) else reply

    def _said(self, reply: Any, messages: Sequence[ChatMessage]) -> ChatReply:
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        prompt = sum(len(message.content.split()) for message in messages)
        return ChatReply(text=text, prompt_tokens=prompt, completion_tokens=len(text.split()))
