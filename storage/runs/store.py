"""Runs, plans, results and events in DuckDB: the record that survives a closed browser and a killed process.

Nothing is ever overwritten. A newer state of a run or a newer result of a step is a row with a higher
number, and the highest number is what holds now; so the record also says what was believed before.
Every change is one transaction, which also chains its events and, when the run is at rest after it, seals the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb

from engine.domain.encoding.sealing import (
    AT_REST,
    StoredRow,
)
from engine.domain.events import EngineEvent
from engine.domain.plan import TaskDag
from engine.domain.results import NodeResult, RunRecord
from engine.errors import NotFoundError, StorageError
from storage.database import Database
from storage.runs import payloads, tables
from storage.runs.archive import DuckRunArchive, newest
from storage.runs.payloads import Stored
from storage.runs.tables import Connection

# Lists that are unnested go in four times faster than as many VALUES, and in one statement.
_INSERT_EVENTS = """
    INSERT INTO events
    SELECT unnest(?::VARCHAR[]), unnest(?::BIGINT[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]),
           unnest(?::INTEGER[]), unnest(?::JSON[]), unnest(?::VARCHAR[])
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
        self._heads = tables.Heads()
        self.archive = DuckRunArchive(self._db, self._heads)

    def create_run(self, run: RunRecord, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store a new run and its first events, all or nothing; return the events numbered."""

        def change(connection: Connection) -> None:
            if tables.run_known(connection, run.run_id):
                raise StorageError(
                    f"Run {run.run_id} is stored already, so it cannot be created again.",
                    advice="Take a new run id, or store the newer state with update_run.",
                )
            self._insert_run(connection, run, stored)

        stored = payloads.encode_run(run)
        return self._change(run.run_id, change, events)

    def update_run(self, run: RunRecord, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store a newer state of a run that exists and events on it, all or nothing; return the events numbered."""

        def change(connection: Connection) -> None:
            if not tables.run_known(connection, run.run_id):
                raise NotFoundError(
                    f"There is no run {run.run_id}, so its state cannot be stored.",
                    advice="List the runs to see their ids.",
                )
            self._insert_run(connection, run, stored)

        stored = payloads.encode_run(run)
        return self._change(run.run_id, change, events)

    def run(self, run_id: str) -> RunRecord | None:
        """Return a run's newest state, or None."""
        rows = self._read(
            "SELECT kind, version, payload FROM runs WHERE run_id = ? ORDER BY number DESC LIMIT 1", [run_id]
        )
        return payloads.decode_run(Stored(*rows[0]), run_id) if rows else None

    def runs(self, *, user: str | None = None, limit: int = 200) -> list[RunRecord]:
        """Return runs, newest first; only `user`'s when given. Those that cannot be read are left out."""
        found = ((run_id, row) for run_id, row in newest(self._db, user, max(limit, 0)))
        return [record for run_id, row in found if isinstance(record := payloads.try_run(row, run_id), RunRecord)]

    def save_plan(self, run_id: str, plan: TaskDag, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store a plan version and events on it, all or nothing; the same version again is an error."""

        def change(connection: Connection) -> None:
            connection.execute(
                "INSERT INTO plans VALUES (?, ?, ?, ?, ?)",
                [run_id, plan.version, stored.kind, stored.version, stored.payload],
            )

        stored = payloads.encode_plan(plan)
        try:
            return self._change(run_id, change, events)
        except duckdb.ConstraintException as error:
            raise _plan_exists(run_id, plan.version) from error

    def plan(self, run_id: str, version: int | None = None) -> TaskDag | None:
        """Return a version of the run's plan, the newest by default, or None."""
        rows = self._read(
            """
            SELECT kind, version, payload FROM plans
            WHERE run_id = ? AND (?::INTEGER IS NULL OR plan_version = ?)
            ORDER BY plan_version DESC LIMIT 1
            """,
            [run_id, version, version],
        )
        return payloads.decode_plan(Stored(*rows[0]), run_id) if rows else None

    def plan_versions(self, run_id: str) -> list[int]:
        """Return the stored versions, oldest first."""
        rows = self._read("SELECT plan_version FROM plans WHERE run_id = ? ORDER BY plan_version", [run_id])
        return [int(row[0]) for row in rows]

    def save_result(self, run_id: str, result: NodeResult, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store the newest result of a node and events on it, all or nothing. Durable when this returns."""

        def change(connection: Connection) -> None:
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

        stored = payloads.encode_result(result)
        return self._change(run_id, change, events)

    def results(self, run_id: str) -> dict[str, NodeResult]:
        """Return node id -> newest result, in the order the nodes first had one."""
        rows = self._read("SELECT node, kind, version, payload FROM results WHERE run_id = ? ORDER BY number", [run_id])
        newest = {str(node): Stored(*row) for node, *row in rows}
        return {node: payloads.decode_result(row, run_id, node) for node, row in newest.items()}

    def append_events(self, events: Sequence[EngineEvent]) -> list[EngineEvent]:
        """Number events (gapless per run, from 1), commit them in one transaction and return them numbered."""
        return self._changed(dict.fromkeys(event.run_id for event in events), lambda _: None, events) if events else []

    def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EngineEvent]:
        """Return committed events with `seq` greater than `after`, in order."""
        rows = self._read(
            "SELECT seq, kind, version, payload FROM events WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?",
            [run_id, after, max(limit, 0)],
        )
        return [payloads.decode_event(Stored(*row), run_id, int(seq)) for seq, *row in rows]

    def close(self) -> None:
        """Release the store; nothing may be called after it."""
        if self._owns:
            self._db.close()

    def _change(
        self, run_id: str, change: Callable[[Connection], None], events: Sequence[EngineEvent]
    ) -> list[EngineEvent]:
        """Make a change to one run and store events with it, in one transaction."""
        return self._changed([run_id, *(event.run_id for event in events)], change, events)

    def _changed(
        self, run_ids: Iterable[str], change: Callable[[Connection], None], events: Sequence[EngineEvent]
    ) -> list[EngineEvent]:
        touched = list(dict.fromkeys(run_ids))
        try:
            return self._once(touched, change, events)
        except duckdb.ConstraintException:
            # Another store on the same database numbered this run too: what is remembered here is old.
            return self._once(touched, change, events)

    def _once(
        self, touched: list[str], change: Callable[[Connection], None], events: Sequence[EngineEvent]
    ) -> list[EngineEvent]:
        # Held until the heads are right again, which is later than the end of the transaction.
        with self._heads.lock:
            try:
                with self._db.writing() as connection:
                    for run_id in touched:
                        if run_id not in self._heads.of:
                            self._heads.of[run_id] = tables.head(connection, run_id)
                    change(connection)
                    numbered = self._insert_events(connection, events)
                    for run_id in touched:
                        if self._heads.of[run_id].at_rest:
                            tables.seal(connection, run_id, self._heads.of[run_id])
            except BaseException:
                for run_id in touched:
                    self._heads.of.pop(run_id, None)
                raise
            return numbered

    def _insert_run(self, connection: Connection, run: RunRecord, stored: Stored) -> None:
        connection.execute(
            "INSERT INTO runs (run_id, user_name, created_at, kind, version, payload) VALUES (?, ?, ?, ?, ?, ?)",
            [run.run_id, run.user, run.created_at, stored.kind, stored.version, stored.payload],
        )
        self._heads.of[run.run_id].at_rest = run.status in AT_REST

    def _insert_events(self, connection: Connection, events: Sequence[EngineEvent]) -> list[EngineEvent]:
        """Store events with their numbers and chains, moving the heads of their runs on; return them numbered."""
        numbered: list[EngineEvent] = []
        rows: list[StoredRow] = []
        for event in events:
            head = self._heads.of[event.run_id]
            numbered.append(event.model_copy(update={"seq": head.seq + 1}))
            row = payloads.event_row(numbered[-1], head.chain)
            head.seq, head.chain = row.place, row.chain
            rows.append(row)
        if rows:
            columns = ("run_id", "happened_at", "kind", "version")
            run_ids, at, kinds, versions = ([row.columns[name] for row in rows] for name in columns)
            seqs, contents = [row.place for row in rows], [row.payload for row in rows]
            connection.execute(_INSERT_EVENTS, [run_ids, seqs, at, kinds, versions, contents, [r.chain for r in rows]])
        return numbered

    def _read(self, query: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        with self._db.reading() as connection:
            return connection.execute(query, parameters).fetchall()


def _plan_exists(run_id: str, version: int) -> StorageError:
    return StorageError(
        f"Version {version} of the plan of run {run_id} is stored already and stays as it is.",
        advice="Store the changed plan with the next version number.",
    )
