"""One lock for each run, for as long as somebody holds it or waits for it."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager


class RunLocks:
    """Lets one caller at a time look at a run and act on what it saw; different runs do not wait for each other."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: dict[str, tuple[threading.Lock, int]] = {}
        """Run -> its lock and how many hold it or wait for it; a run nobody is at has none."""

    @contextmanager
    def of(self, run_id: str) -> Generator[None, None, None]:
        """Hold the run's lock. Not to be entered twice by one thread."""
        with self._guard:
            lock, users = self._held.get(run_id, (threading.Lock(), 0))
            self._held[run_id] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._held.pop(run_id)
                if users > 1:
                    self._held[run_id] = (lock, users - 1)

    def __len__(self) -> int:
        """Return how many runs are held or waited for."""
        return len(self._held)
