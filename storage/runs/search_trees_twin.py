"""Search trees without a disk."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from engine.domain.discovery.search_tree import SearchAdvice, SearchTree


class SearchTreesTwin:
    """The `SearchTrees` in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._trees: dict[str, SearchTree] = {}
        self._ends: dict[str, dict[str, float]] = {}
        self._advice: dict[str, list[SearchAdvice]] = {}

    def save(self, tree: SearchTree) -> None:
        """Keep a search in its newest state."""
        with self._lock:
            self._trees[tree.id] = tree

    def tree(self, tree_id: str) -> SearchTree | None:
        """Return a search, None when there is none of the id."""
        return self._trees.get(tree_id)

    def of_run(self, run_id: str) -> list[SearchTree]:
        """Return the searches of a run, oldest first."""
        with self._lock:
            return [tree for tree in self._trees.values() if tree.run_id == run_id]

    def looked_at(self, tree_id: str, values: Mapping[str, float]) -> None:
        """Keep what ends are worth."""
        with self._lock:
            self._ends.setdefault(tree_id, {}).update(values)

    def values(self, tree_id: str) -> dict[str, float]:
        """Return key -> value of the ends that a search looked at."""
        with self._lock:
            return dict(self._ends.get(tree_id, {}))

    def advised(self, tree_id: str, run_id: str, advice: SearchAdvice) -> None:
        """Keep what somebody said in a search."""
        with self._lock:
            self._advice.setdefault(tree_id, []).append(advice)

    def advice(self, tree_id: str) -> list[SearchAdvice]:
        """Return what was said in a search, oldest first."""
        with self._lock:
            return list(self._advice.get(tree_id, []))

    def forget(self, run_id: str) -> None:
        """Remove the searches of a run with all their ends."""
        with self._lock:
            gone = [tree.id for tree in self._trees.values() if tree.run_id == run_id]
            for tree_id in gone:
                del self._trees[tree_id]
                self._ends.pop(tree_id, None)
                self._advice.pop(tree_id, None)
