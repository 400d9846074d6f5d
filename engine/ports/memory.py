"""Where past analyses and remembered statements are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.domain.memory import Episode, Fact


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
