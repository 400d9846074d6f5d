"""Search trees on disk: a row a state of a search or what was said in it, and a row an end that it looked at."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import TypeAdapter

from engine.domain.discovery.search_tree import SearchAdvice, SearchTree
from storage.database import Database
from storage.tools.catalogues import decode, encode

SEARCH_TREE, SEARCH_ADVICE, VERSION = "search_tree", "search_advice", 1
_TREES, _ADVICE = TypeAdapter(list[SearchTree]), TypeAdapter(list[SearchAdvice])


class DuckSearchTrees:
    """The `SearchTrees` on disk."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def save(self, tree: SearchTree) -> None:
        """Keep a search in its newest state."""
        self._add(tree.id, tree.run_id, SEARCH_TREE, encode(tree, f"search {tree.id!r}"))

    def tree(self, tree_id: str) -> SearchTree | None:
        """Return a search, None when there is none of the id."""
        found = self._newest("tree_id = ?", tree_id)
        return found[-1] if found else None

    def of_run(self, run_id: str) -> list[SearchTree]:
        """Return the searches of a run, oldest first."""
        newest = {tree.id: tree for tree in self._newest("run_id = ?", run_id)}
        return list(newest.values())

    def looked_at(self, tree_id: str, values: Mapping[str, float]) -> None:
        """Keep what ends are worth."""
        with self._db.writing() as connection:
            added = "INSERT INTO search_ends SELECT ?, unnest(?::VARCHAR[]), unnest(?::DOUBLE[])"
            connection.execute(added, [tree_id, list(values), list(values.values())])

    def values(self, tree_id: str) -> dict[str, float]:
        """Return key -> value of the ends that a search looked at."""
        with self._db.reading() as connection:
            asked = "SELECT key, value FROM search_ends WHERE tree_id = ?"
            return {str(key): float(value) for key, value in connection.execute(asked, [tree_id]).fetchall()}

    def forget(self, run_id: str) -> None:
        """Remove the searches of a run with all their ends."""
        with self._db.writing() as connection:
            gone = "SELECT tree_id FROM search_trees WHERE run_id = ?"
            connection.execute(f"DELETE FROM search_ends WHERE tree_id IN ({gone})", [run_id])  # noqa: S608 - no text
            connection.execute("DELETE FROM search_trees WHERE run_id = ?", [run_id])

    def advised(self, tree_id: str, run_id: str, advice: SearchAdvice) -> None:
        """Keep what somebody said in a search."""
        self._add(tree_id, run_id, SEARCH_ADVICE, encode(advice, f"what was said in search {tree_id!r}"))

    def advice(self, tree_id: str) -> list[SearchAdvice]:
        """Return what was said in a search, oldest first."""
        return decode(SEARCH_ADVICE, self._rows("tree_id = ?", tree_id, SEARCH_ADVICE), _ADVICE)

    def _add(self, tree_id: str, run_id: str, kind: str, payload: str) -> None:
        with self._db.writing() as connection:
            found = connection.execute("SELECT coalesce(max(number), 0) FROM search_trees").fetchall()
            row = [int(found[0][0]) + 1, tree_id, run_id, kind, VERSION, payload]
            connection.execute("INSERT INTO search_trees VALUES (?, ?, ?, ?, ?, ?)", row)

    def _newest(self, where: str, value: str) -> list[SearchTree]:
        return decode(SEARCH_TREE, self._rows(where, value, SEARCH_TREE), _TREES)

    def _rows(self, where: str, value: str, kind: str) -> list[tuple[int, str]]:
        asked = f"SELECT version, payload FROM search_trees WHERE {where} AND kind = ? ORDER BY number"  # noqa: S608 - no text of others
        with self._db.reading() as connection:
            return connection.execute(asked, [value, kind]).fetchall()
