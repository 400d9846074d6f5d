"""What a job prints: kept within bounds, and shown live at a pace a screen can follow.

A job may print a gigabyte; neither the engine's memory nor the event log may grow with it.
"""

from __future__ import annotations

import codecs
from typing import Literal

from engine.ports.sandbox import OutputSink

KEPT_BYTES = 1 << 20
CHUNK_BYTES = 8 * 1024
BACKLOG_BYTES = 64 * 1024
PAUSE_SECONDS = 0.1


class Capture:
    """Keeps the beginning and the end of a stream."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._half = kept_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail += data
        if len(self._tail) > 2 * self._half:  # cut rarely: moving the tail for each read would be quadratic
            self._cut()

    def _cut(self) -> None:
        excess = len(self._tail) - self._half
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess

    @property
    def truncated(self) -> bool:
        """True when bytes were left out."""
        return self._dropped > 0 or len(self._tail) > self._half

    def text(self) -> str:
        """Return what was kept as text, with a line that says how much is missing where."""
        self._cut()
        if not self._dropped:
            return bytes(self._head + self._tail).decode("utf-8", errors="replace")
        head, tail = (bytes(part).decode("utf-8", errors="replace") for part in (self._head, self._tail))
        return f"{head}\n[... {self._dropped:,} bytes left out ...]\n{tail}"


class LiveOutput:
    """Passes one stream on in chunks of at most 8 KiB, about ten a second; skips what it cannot keep up with."""

    def __init__(self, name: Literal["stdout", "stderr"], sink: OutputSink) -> None:
        self._name: Literal["stdout", "stderr"] = name
        self._sink = sink
        self._waiting = bytearray()
        self._skipped = 0
        self._next = 0.0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self._waiting += data
        excess = len(self._waiting) - BACKLOG_BYTES
        if excess > 0:
            del self._waiting[:excess]
            self._skipped += excess

    def due(self, now: float) -> float | None:
        """Return in how many seconds something is to be passed on, or None when nothing waits."""
        return max(0.0, self._next - now) if self._waiting else None

    def flush(self, now: float, *, everything: bool = False) -> None:
        """Pass on what is due; all that waits when `everything`."""
        while self._waiting and (everything or now >= self._next):
            note = f"[... {self._skipped:,} bytes not shown live ...]\n" if self._skipped else ""
            if note:
                self._decoder.reset()
                self._skipped = 0
            piece = bytes(self._waiting[: CHUNK_BYTES - len(note)])
            del self._waiting[: len(piece)]
            self._next = now + PAUSE_SECONDS
            text = note + self._decoder.decode(piece)
            if text:
                self._sink(self._name, text)
        if everything:
            rest = self._decoder.decode(b"", final=True)
            if rest:
                self._sink(self._name, rest)
