"""Runs, plans, results and events in DuckDB: the record that survives a closed browser and a killed process.

Nothing is ever overwritten. A newer state of a run or a newer result of a step is a row with a higher
number, and the highest number is what holds now; so the record also says what was believed before.
Every change is one transaction, which also chains its events and, when the run is at rest after it, seals the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from engine.domain.encoding.sealing import (
    AT_REST,
    SealHead,
    StoredRow,
    StoredRun,
    StoredSeal,
    at_rest,
    head_of,
    new_seal,
)
from engine.domain.events import EngineEvent
from engine.domain.plan import TaskDag
from engine.domain.results import NodeResult, RunRecord
from engine.errors import IntegrityError, NotFoundError, SchemaTooNew, StorageError
from storage.database import Database
from storage.runs import payloads
from storage.runs.payloads import Stored

# Lists that are unnested go in four times faster than as many VALUES, and in one statement.
_INSERT_EVENTS = """
    INSERT INTO events
    SELECT unnest(?::VARCHAR[]), unnest(?::BIGINT[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]),
           unnest(?::INTEGER[]), unnest(?::JSON[]), unnest(?::VARCHAR[])
"""

_TABLES = {
    "run": ("runs", "number", "run_id, user_name, created_at, kind, version"),
    "plan": ("plans", "plan_version", "run_id, kind, version"),
    "result": ("results", "number", "run_id, node, status, cache_key, kind, version"),
    "event": ("events", "seq", "run_id, happened_at, kind, version"),
}
"""Kind of row -> its table, the column that orders it and the other columns."""

_Connection = duckdb.DuckDBPyConnection


@dataclass(slots=True)
class _Head:
    """Where a run stands: its last event's number and chain, and whether nobody works on it."""

    seq: int
    chain: str
    at_rest: bool


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
        self._change_lock = threading.Lock()
        self._heads: dict[str, _Head] = {}

    def create_run(self, run: RunRecord, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store a new run and its first events, all or nothing; return the events numbered."""

        def change(connection: _Connection) -> None:
            if _run_known(connection, run.run_id):
                raise StorageError(
                    f"Run {run.run_id} is stored already, so it cannot be created again.",
                    advice="Take a new run id, or store the newer state with update_run.",
                )
            self._insert_run(connection, run, stored)

        stored = payloads.encode_run(run)
        return self._change(run.run_id, change, events)

    def update_run(self, run: RunRecord, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store a newer state of a run that exists and events on it, all or nothing; return the events numbered."""

        def change(connection: _Connection) -> None:
            if not _run_known(connection, run.run_id):
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
        found = ((run_id, row) for run_id, row in self._newest(user, max(limit, 0)))
        return [record for run_id, row in found if isinstance(record := payloads.try_run(row, run_id), RunRecord)]

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
        tried = {run_id: payloads.try_run(row, run_id) for run_id, row in self._newest(None, None)}
        return {run_id: error for run_id, error in tried.items() if isinstance(error, str)}

    def _newest(self, user: str | None, limit: int | None) -> list[tuple[str, Stored]]:
        """Return (run id, newest state), newest run first."""
        rows = self._read(
            """
            SELECT run_id, kind, version, payload FROM (
                SELECT run_id, kind, version, payload, user_name, created_at, number,
                       min(number) OVER (PARTITION BY run_id) AS made,
                       max(number) OVER (PARTITION BY run_id) AS newest
                FROM runs
            )
            WHERE number = newest AND (?::VARCHAR IS NULL OR user_name = ?)
            ORDER BY created_at DESC, made DESC
            LIMIT ?
            """,
            [user, user, limit],
        )
        return [(str(run_id), Stored(*row)) for run_id, *row in rows]

    def save_plan(self, run_id: str, plan: TaskDag, events: Sequence[EngineEvent] = ()) -> list[EngineEvent]:
        """Store a plan version and events on it, all or nothing; the same version again is an error."""

        def change(connection: _Connection) -> None:
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

        def change(connection: _Connection) -> None:
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

    def cached_result(self, cache_key: str) -> tuple[str, NodeResult] | None:
        """Return (run id, result) of the newest succeeded node with this key in any run, or None.

        A success that a later result of the same node in the same run replaced is not offered: the later
        row is the correction. A step without a key is never found, nor one whose result cannot be read any more.
        """
        if not cache_key:
            return None
        rows = self._read(
            """
            WITH found AS (
                SELECT number, run_id, node, kind, version, payload FROM results
                WHERE cache_key = ? AND status = 'succeeded'
            )
            SELECT run_id, node, kind, version, payload FROM found
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
        run_id, node, *row = rows[0]
        try:
            return str(run_id), payloads.decode_result(Stored(*row), str(run_id), str(node))
        except (IntegrityError, SchemaTooNew):
            return None

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

    def stored(self, run_id: str) -> StoredRun:
        """Return everything stored of a run as it lies there, also what cannot be understood any more."""
        with self._db.reading() as connection:
            rows = [row for table in _TABLES for row in _rows(connection, table, run_id)]
            early = connection.execute("SELECT 1 FROM unsealed WHERE run_id = ? LIMIT 1", [run_id]).fetchall()
            return StoredRun(run_id, rows, _seals(connection, run_id), unsealed=bool(early))

    def seal(self, run_id: str) -> SealHead | None:
        """Return the newest seal of a run in short, or None while it has none."""
        with self._db.reading() as connection:
            return head_of(_seals(connection, run_id))

    def hashes(self, run_ids: Collection[str]) -> tuple[set[str], set[str]]:
        """Return the SHA-256 sums that what is stored of these runs names, and those that all other runs name."""
        own: set[str] = set()
        others: set[str] = set()
        for table, _, _ in _TABLES.values():
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
        with self._change_lock:
            self._heads.pop(run_id, None)
            with self._db.writing() as connection:
                known = _run_known(connection, run_id)
                for table in (*(name for name, _, _ in _TABLES.values()), "seals", "unsealed"):
                    connection.execute(f"DELETE FROM {table} WHERE run_id = ?", [run_id])  # noqa: S608 - names of our own
        return known

    def close(self) -> None:
        """Release the store; nothing may be called after it."""
        if self._owns:
            self._db.close()

    def _change(
        self, run_id: str, change: Callable[[_Connection], None], events: Sequence[EngineEvent]
    ) -> list[EngineEvent]:
        """Make a change to one run and store events with it, in one transaction."""
        return self._changed([run_id, *(event.run_id for event in events)], change, events)

    def _changed(
        self, run_ids: Iterable[str], change: Callable[[_Connection], None], events: Sequence[EngineEvent]
    ) -> list[EngineEvent]:
        touched = list(dict.fromkeys(run_ids))
        try:
            return self._once(touched, change, events)
        except duckdb.ConstraintException:
            # Another store on the same database numbered this run too: what is remembered here is old.
            return self._once(touched, change, events)

    def _once(
        self, touched: list[str], change: Callable[[_Connection], None], events: Sequence[EngineEvent]
    ) -> list[EngineEvent]:
        # Held until the heads are right again, which is later than the end of the transaction.
        with self._change_lock:
            try:
                with self._db.writing() as connection:
                    for run_id in touched:
                        if run_id not in self._heads:
                            self._heads[run_id] = _head(connection, run_id)
                    change(connection)
                    numbered = self._insert_events(connection, events)
                    for run_id in touched:
                        if self._heads[run_id].at_rest:
                            _seal(connection, run_id, self._heads[run_id])
            except BaseException:
                for run_id in touched:
                    self._heads.pop(run_id, None)
                raise
            return numbered

    def _insert_run(self, connection: _Connection, run: RunRecord, stored: Stored) -> None:
        connection.execute(
            "INSERT INTO runs (run_id, user_name, created_at, kind, version, payload) VALUES (?, ?, ?, ?, ?, ?)",
            [run.run_id, run.user, run.created_at, stored.kind, stored.version, stored.payload],
        )
        self._heads[run.run_id].at_rest = run.status in AT_REST

    def _insert_events(self, connection: _Connection, events: Sequence[EngineEvent]) -> list[EngineEvent]:
        """Store events with their numbers and chains, moving the heads of their runs on; return them numbered."""
        numbered: list[EngineEvent] = []
        rows: list[StoredRow] = []
        for event in events:
            head = self._heads[event.run_id]
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


def _run_known(connection: _Connection, run_id: str) -> bool:
    return bool(connection.execute("SELECT 1 FROM runs WHERE run_id = ? LIMIT 1", [run_id]).fetchall())


def _head(connection: _Connection, run_id: str) -> _Head:
    """Return where a run stands: the tables are asked once, then the store remembers."""
    last = connection.execute("SELECT max(seq), max_by(chain, seq) FROM events WHERE run_id = ?", [run_id]).fetchall()
    states = list(_rows(connection, "run", run_id))
    return _Head(int(last[0][0] or 0), str(last[0][1] or ""), bool(states) and at_rest(states))


def _rows(connection: _Connection, table: Any, run_id: str) -> Iterable[StoredRow]:
    """Yield the rows of a run in one of the tables, oldest first."""
    name, place, columns = _TABLES[table]
    chain = "chain" if table == "event" else "''"
    query = f"SELECT {place}, payload, {chain}, {columns} FROM {name} WHERE run_id = ? ORDER BY {place}"  # noqa: S608 - names of our own
    found = connection.execute(query, [run_id]).fetchall()
    for number, payload, link, *values in found:
        yield StoredRow(table, int(number), dict(zip(columns.split(", "), values, strict=True)), payload, link or "")


def _seals(connection: _Connection, run_id: str) -> list[StoredSeal]:
    rows = connection.execute(
        "SELECT number, digest, payload FROM seals WHERE run_id = ? ORDER BY number", [run_id]
    ).fetchall()
    return [StoredSeal(*row) for row in rows]


def _seal(connection: _Connection, run_id: str, head: _Head) -> None:
    """Seal what no seal of a run covers yet."""
    rows = [row for table in ("run", "plan", "result") for row in _rows(connection, table, run_id)]
    if connection.execute("SELECT 1 FROM unsealed WHERE run_id = ? LIMIT 1", [run_id]).fetchall():
        rows += [row for row in _rows(connection, "event", run_id) if not row.chain]
    made = new_seal(run_id, rows, _seals(connection, run_id), last_seq=head.seq, chain=head.chain)
    if made is not None:
        connection.execute("INSERT INTO seals VALUES (?, ?, ?, ?)", [run_id, made.number, made.digest, made.payload])


def _plan_exists(run_id: str, version: int) -> StorageError:
    return StorageError(
        f"Version {version} of the plan of run {run_id} is stored already and stays as it is.",
        advice="Store the changed plan with the next version number.",
    )
