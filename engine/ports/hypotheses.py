"""Where tournaments of hypotheses are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.domain.discovery.hypotheses import Item, Tournament


class HypothesisStore(Protocol):
    """Tournaments, and the items each is made of. Methods may be called from any thread.

    How far a tournament is, is replaced; its items only grow. An item is kept once under its key
    (`engine.domain.discovery.hypotheses.key_of`) among those of its kind, the first one, so that nothing is done twice.
    """

    def keep(self, tournament: Tournament, items: Sequence[Item] = ()) -> list[Item]:
        """Store how far a tournament is with items of it, all or nothing; durable when this returns.

        Returns:
            The items that were not there before.

        Raises:
            NotFoundError: when a tournament of this id belongs to another user.
            StorageError: when an item cannot be stored.
        """
        ...

    def add(self, tournament_id: str, user: str, items: Sequence[Item]) -> list[Item]:
        """Store items beside what goes on in a tournament of this user; return those that were not there before.

        Raises:
            NotFoundError: when there is no such tournament, or it belongs to another user.
            StorageError: when an item cannot be stored.
        """
        ...

    def tournament(self, tournament_id: str, user: str | None = None) -> Tournament | None:
        """Return a tournament as it stands; None when there is none, or none of this user when one is named."""
        ...

    def tournaments(self, user: str | None = None) -> list[Tournament]:
        """Return tournaments, newest first; only those of `user` when one is named."""
        ...

    def items(self, tournament_id: str, *, after: int = 0) -> list[tuple[int, Item]]:
        """Return items with their numbers (from 1, gapless) greater than `after`, in the order they came."""
        ...
