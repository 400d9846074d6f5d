"""Facts and conversations without a disk, for tests and for a look that should leave no trace.

Values pass through the same JSON as on disk: a store that hands back the very object it was given would hide
what is lost on the way.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from engine.domain.memory import Fact
from storage.memory import remembered


class FactsTwin:
    """The `FactStore` in memory."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._facts: dict[str, str] = {}

    def save(self, facts: Sequence[Fact]) -> None:
        """Store new facts or newer states, all or none."""
        rows = {fact.id: remembered.encode(fact, f"fact {fact.id}") for fact in facts}
        with self._lock:
            self._facts.update(rows)

    def fact(self, fact_id: str) -> Fact | None:
        """Return the newest state, or None."""
        with self._lock:
            payload = self._facts.get(fact_id)
        return remembered.decode(Fact, 1, payload) if payload is not None else None

    def facts(self) -> list[Fact]:
        """Return all, retracted ones too, in the order they were first stored."""
        with self._lock:
            rows = list(self._facts.values())
        return [remembered.decode(Fact, 1, row) for row in rows]

    def forget(self, fact_id: str) -> bool:
        """Remove it for good; False when it was not there."""
        with self._lock:
            return self._facts.pop(fact_id, None) is not None
