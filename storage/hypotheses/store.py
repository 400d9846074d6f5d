"""Tournaments of hypotheses in DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.domain.discovery.hypotheses import Item, Tournament, key_of
from storage.database import Database
from storage.hypotheses.forms import KINDS, NAMES, TOURNAMENT, VERSION, decode, encode, unknown

if TYPE_CHECKING:
    import duckdb


class DuckHypotheses:
    """The `HypothesisStore` on disk."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def keep(self, tournament: Tournament, items: Sequence[Item] = ()) -> list[Item]:
        """Store how far a tournament is with items of it; return those that are new."""
        payload = encode(tournament, f"tournament {tournament.id}")
        with self._db.writing() as connection:
            owner = _owner(connection, tournament.id)
            if owner not in (None, tournament.user):
                raise unknown(tournament.id)
            if owner is None:
                found = connection.execute("SELECT coalesce(max(number), 0) FROM tournaments").fetchall()
                row = [int(found[0][0]) + 1, tournament.id, tournament.user, TOURNAMENT, VERSION, payload]
                connection.execute("INSERT INTO tournaments VALUES (?, ?, ?, ?, ?, ?)", row)
            else:
                update = "UPDATE tournaments SET payload = ?, version = ? WHERE tournament = ?"
                connection.execute(update, [payload, VERSION, tournament.id])
            return _insert(connection, tournament.id, items)

    def add(self, tournament_id: str, user: str, items: Sequence[Item]) -> list[Item]:
        """Store items beside what goes on; return those that are new."""
        with self._db.writing() as connection:
            if _owner(connection, tournament_id) != user:
                raise unknown(tournament_id)
            return _insert(connection, tournament_id, items)

    def tournament(self, tournament_id: str, user: str | None = None) -> Tournament | None:
        """Return a tournament as it stands, or None."""
        query = "SELECT version, payload FROM tournaments WHERE tournament = ? AND (user_name = ? OR ?)"
        with self._db.reading() as connection:
            rows = connection.execute(query, [tournament_id, user or "", user is None]).fetchall()
        return decode(Tournament, int(rows[0][0]), str(rows[0][1]), TOURNAMENT) if rows else None

    def tournaments(self, user: str | None = None) -> list[Tournament]:
        """Return tournaments, newest first."""
        query = "SELECT version, payload FROM tournaments WHERE user_name = ? OR ? ORDER BY number DESC"
        with self._db.reading() as connection:
            rows = connection.execute(query, [user or "", user is None]).fetchall()
        return [decode(Tournament, int(version), str(payload), TOURNAMENT) for version, payload in rows]

    def items(self, tournament_id: str, *, after: int = 0) -> list[tuple[int, Item]]:
        """Return items with their numbers greater than `after`, in order."""
        query = """
            SELECT number, kind, version, payload FROM tournament_items
            WHERE tournament = ? AND number > ? ORDER BY number
        """
        with self._db.reading() as connection:
            rows = connection.execute(query, [tournament_id, after]).fetchall()
        return [(int(n), decode(KINDS[kind], int(version), str(text), kind)) for n, kind, version, text in rows]


def _owner(connection: duckdb.DuckDBPyConnection, tournament_id: str) -> str | None:
    rows = connection.execute("SELECT user_name FROM tournaments WHERE tournament = ?", [tournament_id]).fetchall()
    return str(rows[0][0]) if rows else None


def _insert(connection: duckdb.DuckDBPyConnection, tournament_id: str, items: Sequence[Item]) -> list[Item]:
    if not items:
        return []
    where = [tournament_id]
    last = connection.execute("SELECT coalesce(max(number), 0) FROM tournament_items WHERE tournament = ?", where)
    number = int(last.fetchall()[0][0])
    keys = [key_of(item) for item in items]
    query = "SELECT kind, item_key FROM tournament_items WHERE tournament = ? AND item_key IN (SELECT unnest(?))"
    there = {(str(kind), str(key)) for kind, key in connection.execute(query, [tournament_id, keys]).fetchall()}
    new: list[Item] = []
    for item, key in zip(items, keys, strict=True):
        kind = NAMES[type(item)]
        if (kind, key) in there:
            continue
        there.add((kind, key))
        new.append(item)
        row = [tournament_id, number + len(new), kind, key, VERSION, encode(item, f"{kind} {key[:60]}")]
        connection.execute("INSERT INTO tournament_items VALUES (?, ?, ?, ?, ?, ?)", row)
    return new
