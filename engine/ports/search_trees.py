"""Where search trees are kept, so that a search goes on where it was killed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from engine.domain.discovery.search_tree import SearchAdvice, SearchTree


class SearchTrees(Protocol):
    """Searches and the ends they looked at. All methods may be called from any thread."""

    def save(self, tree: SearchTree) -> None:
        """Keep a search in its newest state."""
        ...

    def tree(self, tree_id: str) -> SearchTree | None:
        """Return a search, None when there is none of the id."""
        ...

    def of_run(self, run_id: str) -> list[SearchTree]:
        """Return the searches of a run, oldest first."""
        ...

    def looked_at(self, tree_id: str, values: Mapping[str, float]) -> None:
        """Keep what ends are worth (key -> value), all or none, before anything is made of them."""
        ...

    def values(self, tree_id: str) -> dict[str, float]:
        """Return key -> value of the ends that a search looked at."""
        ...

    def advised(self, tree_id: str, run_id: str, advice: SearchAdvice) -> None:
        """Keep what somebody said in a search, before anything is made of it."""
        ...

    def advice(self, tree_id: str) -> list[SearchAdvice]:
        """Return what was said in a search, oldest first."""
        ...

    def forget(self, run_id: str) -> None:
        """Remove the searches of a run with all their ends."""
        ...
