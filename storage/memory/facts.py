"""Remembered statements in DuckDB.

Nothing is overwritten: a fact that was retracted or pinned is a newer row under the same id, and only
forgetting, which a person asks for, removes rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.domain.memory import Fact
from storage.database import Database
from storage.memory import remembered


class DuckFacts:
    """The `FactStore` on disk."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def save(self, facts: Sequence[Fact]) -> None:
        """Store new facts or newer states, in one transaction."""
        if not facts:
            return
        rows = [remembered.encode(fact, f"fact {fact.id}") for fact in facts]
        kind, version = remembered.FORMS[Fact]
        with self._db.writing() as connection:
            found = connection.execute("SELECT coalesce(max(number), 0) FROM facts").fetchall()
            first = int(found[0][0]) + 1
            remembered.insert(
                connection,
                "facts",
                {
                    "number": ("BIGINT", range(first, first + len(rows))),
                    "fact_id": ("VARCHAR", [fact.id for fact in facts]),
                    "kind": ("VARCHAR", [kind] * len(rows)),
                    "version": ("INTEGER", [version] * len(rows)),
                    "payload": ("JSON", rows),
                },
            )

    def fact(self, fact_id: str) -> Fact | None:
        """Return the newest state, or None."""
        with self._db.reading() as connection:
            rows = connection.execute(
                "SELECT version, payload FROM facts WHERE fact_id = ? ORDER BY number DESC LIMIT 1", [fact_id]
            ).fetchall()
        return remembered.decode(Fact, *rows[0]) if rows else None

    def facts(self) -> list[Fact]:
        """Return all, retracted ones too, in the order they were first stored."""
        with self._db.reading() as connection:
            rows = connection.execute("SELECT fact_id, version, payload FROM facts ORDER BY number").fetchall()
        newest = {str(fact_id): (version, payload) for fact_id, version, payload in rows}
        return [remembered.decode(Fact, *row) for row in newest.values()]

    def forget(self, fact_id: str) -> bool:
        """Remove it for good; False when it was not there."""
        with self._db.writing() as connection:
            return bool(connection.execute("DELETE FROM facts WHERE fact_id = ? RETURNING 1", [fact_id]).fetchall())
