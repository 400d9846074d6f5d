"""Work that nobody waits for, one piece after the other in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from engine.errors import EngineError

_log = logging.getLogger(__name__)


class Errands:
    """A line of work; closing drops what stands in it and waits for what is under way. Thread-safe."""

    def __init__(self, name: str, *, patience: float) -> None:
        """Keep the line's name; `patience` is how many seconds closing waits for the piece under way."""
        self._name = name
        self._patience = patience
        self._lock = threading.Lock()
        self._line: deque[Callable[[], object]] = deque()
        self._thread: threading.Thread | None = None
        self._busy = self._closed = False

    def add(self, *pieces: Callable[[], object]) -> bool:
        """Put pieces of work in line and return at once; False when the line is closed."""
        with self._lock:
            if self._closed:
                return False
            self._line.extend(pieces)
            if not self._busy and self._line:
                self._busy = True
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            return True

    def close(self) -> bool:
        """Take up nothing more and wait for the piece under way; False when it does not end."""
        with self._lock:
            self._closed = True
            self._line.clear()
            thread = self._thread
        if thread is None:
            return True
        thread.join(self._patience)
        return not thread.is_alive()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._line:
                    self._busy = False
                    return
                piece = self._line.popleft()
            try:
                piece()
            except EngineError as err:
                # What does not work says so where it is needed; the other pieces are done all the same.
                _log.info("%s: %s", self._name, err.message)
            except Exception:  # noqa: BLE001 - the thread's border: a defect in one piece must not end the others
                _log.exception("%s failed", self._name)
