"""Tournaments of hypotheses, without a disk."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from engine.domain.discovery.hypotheses import Item, Tournament, key_of
from storage.hypotheses.forms import encode, unknown


class HypothesesTwin:
    """The `HypothesisStore` in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tournaments: dict[str, Tournament] = {}
        self._items: dict[str, dict[tuple[type, str], Item]] = {}

    def keep(self, tournament: Tournament, items: Sequence[Item] = ()) -> list[Item]:
        """Store how far a tournament is with items of it; return those that are new."""
        encode(tournament, f"tournament {tournament.id}")
        with self._lock:
            before = self._tournaments.get(tournament.id)
            if before is not None and before.user != tournament.user:
                raise unknown(tournament.id)
            new = self._new(tournament.id, items)
            self._tournaments[tournament.id] = tournament
            return new

    def add(self, tournament_id: str, user: str, items: Sequence[Item]) -> list[Item]:
        """Store items beside what goes on; return those that are new."""
        with self._lock:
            before = self._tournaments.get(tournament_id)
            if before is None or before.user != user:
                raise unknown(tournament_id)
            return self._new(tournament_id, items)

    def tournament(self, tournament_id: str, user: str | None = None) -> Tournament | None:
        """Return a tournament as it stands, or None."""
        with self._lock:
            found = self._tournaments.get(tournament_id)
        return found if found is not None and user in (None, found.user) else None

    def tournaments(self, user: str | None = None) -> list[Tournament]:
        """Return tournaments, newest first."""
        with self._lock:
            return [one for one in reversed(self._tournaments.values()) if user in (None, one.user)]

    def items(self, tournament_id: str, *, after: int = 0) -> list[tuple[int, Item]]:
        """Return items with their numbers greater than `after`, in order."""
        with self._lock:
            return list(enumerate(self._items.get(tournament_id, {}).values(), start=1))[after:]

    def _new(self, tournament_id: str, items: Sequence[Item]) -> list[Item]:
        for item in items:
            encode(item, f"item {key_of(item)[:60]}")
        there = self._items.setdefault(tournament_id, {})
        new: list[Item] = []
        for item in items:
            if (type(item), key_of(item)) not in there:
                there[type(item), key_of(item)] = item
                new.append(item)
        return new
