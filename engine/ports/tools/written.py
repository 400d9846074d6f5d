"""Where tools that models wrote are kept."""

from __future__ import annotations

from typing import Protocol

from engine.domain.toolspec import WrittenRecord


class WrittenStore(Protocol):
    """Written tools and what became of them. Nothing is overwritten; durable when `save` returns."""

    def save(self, record: WrittenRecord) -> None:
        """Keep a tool in a new state."""
        ...

    def history(self) -> list[WrittenRecord]:
        """Return every state of every tool, oldest first."""
        ...
