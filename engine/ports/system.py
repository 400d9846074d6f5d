"""What differs from one moment to the next: the time and new identifiers."""

from __future__ import annotations

from typing import Protocol


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
