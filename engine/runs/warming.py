"""Makes ready, beside the first question, what it will need; a program that closes waits for the part under way."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence

from engine.errors import EngineError

_PATIENCE = 30.0
"""Seconds that closing waits for the step under way; each takes a few."""


class Warming:
    """A thread that takes steps one after the other and stops between two of them when it is closed."""

    def __init__(self, steps: Sequence[Callable[[], object]]) -> None:
        """Keep the steps; nothing is started yet."""
        self._steps = steps
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin in the background and return at once; a second time does nothing."""
        if self._thread is None and not self._closed.is_set():
            self._thread = threading.Thread(target=self.run, name="warm-up", daemon=True)
            self._thread.start()

    def run(self) -> None:
        """Take all steps now."""
        for step in self._steps:
            if self._closed.is_set():
                return
            # What cannot be loaded says so when it is needed; the other parts are warmed all the same.
            with contextlib.suppress(EngineError):
                step()

    def close(self) -> None:
        """Take no further step and wait for the one under way."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE)
