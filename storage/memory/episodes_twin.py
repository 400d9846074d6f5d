"""Past analyses without a disk: for tests, demonstrations and a look that should leave no trace."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from engine.domain.memory import Episode
from storage.memory.episodes import VERSION, decode, encode


class EpisodesTwin:
    """The `EpisodeStore` in memory; values pass through the same JSON as on their way to a disk."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._states: dict[str, list[str]] = {}

    def save(self, episodes: Sequence[Episode]) -> None:
        """Store new episodes or newer states, all of them or none."""
        rows = [(episode.id, encode(episode)) for episode in episodes]
        with self._lock:
            for episode_id, row in rows:
                self._states.setdefault(episode_id, []).append(row)

    def episode(self, episode_id: str) -> Episode | None:
        """Return the newest state, or None."""
        with self._lock:
            states = self._states.get(episode_id)
            return decode(VERSION, states[-1]) if states else None

    def episodes(self) -> list[Episode]:
        """Return all, in the order they were first stored."""
        with self._lock:
            newest = [states[-1] for states in self._states.values()]
        return [decode(VERSION, row) for row in newest]

    def forget(self, episode_id: str) -> bool:
        """Remove every state of it for good; False when it was not there."""
        with self._lock:
            return self._states.pop(episode_id, None) is not None
