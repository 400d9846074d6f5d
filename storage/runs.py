"""Runs, plans, results and events in DuckDB: the record that survives a closed browser and a killed process.

Nothing is ever overwritten. A newer state of a run or a newer result of a step is a row with a higher
number, and the highest number is what holds now; so the record also says what was believed before.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from engine.domain.events import EngineEvent
from engine.domain.plan import TaskDag
from engine.domain.results import NodeResult, RunRecord
from engine.errors import NotFoundError, StorageError
from storage import payloads
from storage.database import Database

# Lists that are unnested go in four times faster than as many VALUES, and in one statement.
_INSERT_EVENTS = """
    INSERT INTO events
    SELECT unnest(?::VARCHAR[]), unnest(?::BIGINT[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]),
           unnest(?::INTEGER[]), unnest(?::JSON[])
"""


class DuckRunStore:
    """The `RunStore` on disk."""

    def __init__(self, source: Path | Database, *, read_only: bool = False) -> None:
        """Open the store.

        Args:
            source: the database file, or an open database shared with other stores (then closing the
                store leaves it open).
            read_only: open the file without the right to change it; ignored for an open database.
        """
        self._owns = not isinstance(source, Database)
        self._db = source if isinstance(source, Database) else Database(source, read_only=read_only)
        self._append_lock = threading.Lock()
        self._last_seq: dict[str, int] = {}

    def create_run(self, run: RunRecord) -> None:
        """Store a new run."""
        stored = payloads.encode_run(run)
        with self._db.writing() as connection:
            if _run_known(connection, run.run_id):
                raise StorageError(
                    f"Run {run.run_id} is stored already, so it cannot be created again.",
                    advice="Take a new run id, or store the newer state with update_run.",
                )
            _insert_run(connection, run, stored)

    def update_run(self, run: RunRecord) -> None:
        """Store a newer state of a run that exists."""
        stored = payloads.encode_run(run)
        with self._db.writing() as connection:
            if not _run_known(connection, run.run_id):
                raise NotFoundError(
                    f"There is no run {run.run_id}, so its state cannot be stored.",
                    advice="List the runs to see their ids.",
                )
            _insert_run(connection, run, stored)

    def run(self, run_id: str) -> RunRecord | None:
        """Return a run's newest state, or None."""
        rows = self._read("SELECT version, payload FROM runs WHERE run_id = ? ORDER BY number DESC LIMIT 1", [run_id])
        return payloads.decode_run(*rows[0]) if rows else None

    def runs(self, *, user: str | None = None, limit: int = 200) -> list[RunRecord]:
        """Return runs, newest first; only `user`'s when given."""
        rows = self._read(
            """
            SELECT version, payload FROM (
                SELECT version, payload, user_name, created_at, number,
                       min(number) OVER (PARTITION BY run_id) AS made,
                       max(number) OVER (PARTITION BY run_id) AS newest
                FROM runs
            )
            WHERE number = newest AND (?::VARCHAR IS NULL OR user_name = ?)
            ORDER BY created_at DESC, made DESC
            LIMIT ?
            """,
            [user, user, max(limit, 0)],
        )
        return [payloads.decode_run(*row) for row in rows]

    def save_plan(self, run_id: str, plan: TaskDag) -> None:
        """Store a plan version; the same version again replaces nothing and is an error."""
        stored = payloads.encode_plan(plan)
        try:
            with self._db.writing() as connection:
                connection.execute(
                    "INSERT INTO plans VALUES (?, ?, ?, ?, ?)",
                    [run_id, plan.version, stored.kind, stored.version, stored.payload],
                )
        except duckdb.ConstraintException as error:
            raise _plan_exists(run_id, plan.version) from error

    def plan(self, run_id: str, version: int | None = None) -> TaskDag | None:
        """Return a version of the run's plan, the newest by default, or None."""
        rows = self._read(
            """
            SELECT version, payload FROM plans
            WHERE run_id = ? AND (?::INTEGER IS NULL OR plan_version = ?)
            ORDER BY plan_version DESC LIMIT 1
            """,
            [run_id, version, version],
        )
        return payloads.decode_plan(*rows[0]) if rows else None

    def plan_versions(self, run_id: str) -> list[int]:
        """Return the stored versions, oldest first."""
        rows = self._read("SELECT plan_version FROM plans WHERE run_id = ? ORDER BY plan_version", [run_id])
        return [int(row[0]) for row in rows]

    def save_result(self, run_id: str, result: NodeResult) -> None:
        """Store the newest result of a node in a run. Durable when this returns."""
        stored = payloads.encode_result(result)
        with self._db.writing() as connection:
            connection.execute(
                """
                INSERT INTO results (run_id, node, status, cache_key, kind, version, payload)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    run_id,
                    result.node,
                    result.status,
                    result.cache_key,
                    stored.kind,
                    stored.version,
                    stored.payload,
                ],
            )

    def results(self, run_id: str) -> dict[str, NodeResult]:
        """Return node id -> newest result, in the order the nodes first had one."""
        rows = self._read("SELECT node, version, payload FROM results WHERE run_id = ? ORDER BY number", [run_id])
        newest = {str(node): (version, payload) for node, version, payload in rows}
        return {node: payloads.decode_result(*row) for node, row in newest.items()}

    def cached_result(self, cache_key: str) -> tuple[str, NodeResult] | None:
        """Return (run id, result) of the newest succeeded node with this key in any run, or None.

        A success that a later result of the same node in the same run replaced is not offered: the later
        row is the correction. A step without a key is never found.
        """
        if not cache_key:
            return None
        rows = self._read(
            """
            WITH found AS (
                SELECT number, run_id, node, version, payload FROM results
                WHERE cache_key = ? AND status = 'succeeded'
            )
            SELECT run_id, version, payload FROM found
            WHERE NOT EXISTS (
                SELECT 1 FROM results AS later
                WHERE later.run_id = found.run_id AND later.node = found.node AND later.number > found.number
            )
            ORDER BY number DESC LIMIT 1
            """,
            [cache_key],
        )
        if not rows:
            return None
        run_id, version, payload = rows[0]
        return str(run_id), payloads.decode_result(version, payload)

    def append_events(self, events: Sequence[EngineEvent]) -> list[EngineEvent]:
        """Number events (gapless per run, from 1), commit them in one transaction and return them numbered."""
        if not events:
            return []
        try:
            return self._append(events)
        except duckdb.ConstraintException:
            # Another store on the same database numbered this run too: what is remembered here is old.
            return self._append(events)

    def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EngineEvent]:
        """Return committed events with `seq` greater than `after`, in order."""
        rows = self._read(
            "SELECT version, payload FROM events WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?",
            [run_id, after, max(limit, 0)],
        )
        return [payloads.decode_event(*row) for row in rows]

    def close(self) -> None:
        """Release the store; nothing may be called after it."""
        if self._owns:
            self._db.close()

    def _append(self, events: Sequence[EngineEvent]) -> list[EngineEvent]:
        # Held until the counters are right again, which is later than the end of the transaction.
        with self._append_lock:
            last: dict[str, int] = {}
            try:
                with self._db.writing() as connection:
                    last = {run_id: self._last(connection, run_id) for run_id in {e.run_id for e in events}}
                    numbered = _number(events, last)
                    _insert_events(connection, numbered)
            except BaseException:
                for run_id in last:
                    self._last_seq.pop(run_id, None)
                raise
            self._last_seq.update(last)
            return numbered

    def _last(self, connection: duckdb.DuckDBPyConnection, run_id: str) -> int:
        """Return the number of a run's last event: the table is asked once, then this store counts."""
        if run_id in self._last_seq:
            return self._last_seq[run_id]
        rows = connection.execute("SELECT coalesce(max(seq), 0) FROM events WHERE run_id = ?", [run_id]).fetchall()
        return int(rows[0][0])

    def _read(self, query: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        with self._db.reading() as connection:
            return connection.execute(query, parameters).fetchall()


def _run_known(connection: duckdb.DuckDBPyConnection, run_id: str) -> bool:
    return bool(connection.execute("SELECT 1 FROM runs WHERE run_id = ? LIMIT 1", [run_id]).fetchall())


def _insert_run(connection: duckdb.DuckDBPyConnection, run: RunRecord, stored: payloads.Stored) -> None:
    connection.execute(
        "INSERT INTO runs (run_id, user_name, created_at, kind, version, payload) VALUES (?, ?, ?, ?, ?, ?)",
        [run.run_id, run.user, run.created_at, stored.kind, stored.version, stored.payload],
    )


def _number(events: Sequence[EngineEvent], last: dict[str, int]) -> list[EngineEvent]:
    """Return the events with their numbers, moving `last` (run id -> last number) on."""
    numbered: list[EngineEvent] = []
    for event in events:
        last[event.run_id] += 1
        numbered.append(event.model_copy(update={"seq": last[event.run_id]}))
    return numbered


def _insert_events(connection: duckdb.DuckDBPyConnection, events: list[EngineEvent]) -> None:
    stored = [payloads.encode_event(event) for event in events]
    connection.execute(
        _INSERT_EVENTS,
        [
            [event.run_id for event in events],
            [event.seq for event in events],
            [event.at for event in events],
            [row.kind for row in stored],
            [row.version for row in stored],
            [row.payload for row in stored],
        ],
    )


def _plan_exists(run_id: str, version: int) -> StorageError:
    return StorageError(
        f"Version {version} of the plan of run {run_id} is stored already and stays as it is.",
        advice="Store the changed plan with the next version number.",
    )
