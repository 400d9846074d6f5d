"""What lies stored of all runs in DuckDB: found across them, looked at as it lies there, and removed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from engine.domain.encoding.sealing import SealHead, StoredRun, head_of
from engine.domain.results import NodeResult, RunRecord
from engine.errors import IntegrityError, SchemaTooNew
from storage.database import Database
from storage.runs import payloads, tables
from storage.runs.payloads import Stored


class DuckRunArchive:
    """The `RunArchive` on disk; `heads` says where the runs stand whose rows it removes."""

    def __init__(self, database: Database, heads: tables.Heads) -> None:
        self._db = database
        self._heads = heads

    def turns(self, conversation: str) -> list[RunRecord]:
        """Return the runs of a conversation, oldest first. Those that cannot be read are left out."""
        rows = self._read(
            """
            SELECT run_id, max_by(kind, number), max_by(version, number), max_by(payload, number), min(number) AS made
            FROM runs
            -- The text is looked through first: to read every row as JSON takes many times as long.
            WHERE contains(payload::VARCHAR, ?) AND json_extract_string(payload, '$.conversation') = ?
            GROUP BY run_id ORDER BY min(created_at), made
            """,
            [conversation, conversation],
        )
        tried = (payloads.try_run(Stored(*row[:3]), str(run_id)) for run_id, *row in rows)
        return [record for record in tried if isinstance(record, RunRecord)]

    def damaged_runs(self) -> dict[str, str]:
        """Return run id -> a sentence on why its state cannot be read, for the runs that `runs` leaves out."""
        tried = {run_id: payloads.try_run(row, run_id) for run_id, row in newest(self._db, None, None)}
        return {run_id: error for run_id, error in tried.items() if isinstance(error, str)}

    def cached_result(self, cache_key: str, doubted: Collection[str] = ()) -> tuple[str, NodeResult] | None:
        """Return (run id, result) of the newest succeeded node with this key in any run, or None.

        A success that a later result of the same node in the same run replaced is not offered: the later
        row is the correction. A step without a key is never found, nor one whose result cannot be read any more.
        Of what `doubted` runs computed or took over only what was computed since is offered.
        """
        if not cache_key:
            return None
        rows = self._read(
            """
            WITH found AS (
                SELECT number, run_id, node, kind, version, payload FROM results
                WHERE cache_key = ? AND status = 'succeeded' AND number > (
                    SELECT coalesce(max(number), 0) FROM results
                    WHERE cache_key = ? AND list_contains(?::VARCHAR[], run_id)
                )
            )
            SELECT run_id, node, kind, version, payload FROM found
            WHERE NOT EXISTS (
                SELECT 1 FROM results AS later
                WHERE later.run_id = found.run_id AND later.node = found.node AND later.number > found.number
            )
            ORDER BY number DESC LIMIT 1
            """,
            [cache_key, cache_key, list(doubted)],
        )
        if not rows:
            return None
        run_id, node, *row = rows[0]
        try:
            return str(run_id), payloads.decode_result(Stored(*row), str(run_id), str(node))
        except (IntegrityError, SchemaTooNew):
            return None

    def stored(self, run_id: str) -> StoredRun:
        """Return everything stored of a run as it lies there, also what cannot be understood any more."""
        with self._db.reading() as connection:
            rows = [row for table in tables.TABLES for row in tables.rows_of(connection, table, run_id)]
            early = connection.execute("SELECT 1 FROM unsealed WHERE run_id = ? LIMIT 1", [run_id]).fetchall()
            return StoredRun(run_id, rows, tables.seals_of(connection, run_id), unsealed=bool(early))

    def seal(self, run_id: str) -> SealHead | None:
        """Return the newest seal of a run in short, or None while it has none."""
        with self._db.reading() as connection:
            return head_of(tables.seals_of(connection, run_id))

    def hashes(self, run_ids: Collection[str]) -> tuple[set[str], set[str]]:
        """Return the SHA-256 sums that what is stored of these runs names, and those that all other runs name."""
        own: set[str] = set()
        others: set[str] = set()
        for table, _, _ in tables.TABLES.values():
            rows = self._read(
                f"SELECT DISTINCT run_id IN (SELECT unnest(?::VARCHAR[])), unnest(regexp_extract_all(payload::VARCHAR, "  # noqa: S608 - names of our own
                f"'[0-9a-f]{{64}}')) FROM {table}",
                [[*run_ids]],
            )
            for mine, sha256 in rows:
                (own if mine else others).add(str(sha256))
        return own, others

    def delete_run(self, run_id: str) -> bool:
        """Remove everything stored of a run for good, its seals too; False when there was nothing."""
        with self._heads.lock:
            self._heads.of.pop(run_id, None)
            with self._db.writing() as connection:
                known = tables.run_known(connection, run_id)
                for table in (*(name for name, _, _ in tables.TABLES.values()), "seals", "unsealed"):
                    connection.execute(f"DELETE FROM {table} WHERE run_id = ?", [run_id])  # noqa: S608 - names of our own
        return known

    def _read(self, query: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        with self._db.reading() as connection:
            return connection.execute(query, parameters).fetchall()


def newest(database: Database, user: str | None, limit: int | None) -> list[tuple[str, Stored]]:
    """Return (run id, newest state), newest run first."""
    query = """
        SELECT run_id, kind, version, payload FROM (
            SELECT run_id, kind, version, payload, user_name, created_at, number,
                   min(number) OVER (PARTITION BY run_id) AS made,
                   max(number) OVER (PARTITION BY run_id) AS newest
            FROM runs
        )
        WHERE number = newest AND (?::VARCHAR IS NULL OR user_name = ?)
        ORDER BY created_at DESC, made DESC
        LIMIT ?
    """
    with database.reading() as connection:
        rows = connection.execute(query, [user, user, limit]).fetchall()
    return [(str(run_id), Stored(*row)) for run_id, *row in rows]
