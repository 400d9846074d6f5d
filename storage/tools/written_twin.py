"""Tools that models wrote, without a disk."""

from __future__ import annotations

import threading

from engine.domain.toolspec import WrittenRecord


class WrittenTwin:
    """The `WrittenStore` in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: list[WrittenRecord] = []

    def save(self, record: WrittenRecord) -> None:
        """Keep a tool in a new state."""
        with self._lock:
            self._records.append(record)

    def history(self) -> list[WrittenRecord]:
        """Return every state of every tool, oldest first."""
        with self._lock:
            return list(self._records)
