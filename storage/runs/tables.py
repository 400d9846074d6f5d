"""The tables of runs: their rows in the order they came, where a run stands, and its seals."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import duckdb

from engine.domain.encoding.sealing import StoredRow, StoredSeal, at_rest, new_seal

TABLES = {
    "run": ("runs", "number", "run_id, user_name, created_at, kind, version"),
    "plan": ("plans", "plan_version", "run_id, kind, version"),
    "result": ("results", "number", "run_id, node, status, cache_key, kind, version"),
    "event": ("events", "seq", "run_id, happened_at, kind, version"),
}
"""Kind of row -> its table, the column that orders it and the other columns."""

Connection = duckdb.DuckDBPyConnection


@dataclass(slots=True)
class Head:
    """Where a run stands: its last event's number and chain, and whether nobody works on it."""

    seq: int
    chain: str
    at_rest: bool


@dataclass(slots=True)
class Heads:
    """Where the runs of a database stand, which is asked once; `lock` is held by whoever changes a run."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    of: dict[str, Head] = field(default_factory=dict)


def run_known(connection: Connection, run_id: str) -> bool:
    """Say whether a run is stored."""
    return bool(connection.execute("SELECT 1 FROM runs WHERE run_id = ? LIMIT 1", [run_id]).fetchall())


def head(connection: Connection, run_id: str) -> Head:
    """Return where a run stands: the tables are asked once, then the store remembers."""
    last = connection.execute("SELECT max(seq), max_by(chain, seq) FROM events WHERE run_id = ?", [run_id]).fetchall()
    states = list(rows_of(connection, "run", run_id))
    return Head(int(last[0][0] or 0), str(last[0][1] or ""), bool(states) and at_rest(states))


def rows_of(connection: Connection, table: Any, run_id: str) -> Iterable[StoredRow]:
    """Yield the rows of a run in one of the tables, oldest first."""
    name, place, columns = TABLES[table]
    chain = "chain" if table == "event" else "''"
    query = f"SELECT {place}, payload, {chain}, {columns} FROM {name} WHERE run_id = ? ORDER BY {place}"  # noqa: S608 - names of our own
    found = connection.execute(query, [run_id]).fetchall()
    for number, payload, link, *values in found:
        yield StoredRow(table, int(number), dict(zip(columns.split(", "), values, strict=True)), payload, link or "")


def seals_of(connection: Connection, run_id: str) -> list[StoredSeal]:
    """Return the seals of a run, oldest first."""
    rows = connection.execute(
        "SELECT number, digest, payload FROM seals WHERE run_id = ? ORDER BY number", [run_id]
    ).fetchall()
    return [StoredSeal(*row) for row in rows]


def seal(connection: Connection, run_id: str, head: Head) -> None:
    """Seal what no seal of a run covers yet."""
    rows = [row for table in ("run", "plan", "result") for row in rows_of(connection, table, run_id)]
    if connection.execute("SELECT 1 FROM unsealed WHERE run_id = ? LIMIT 1", [run_id]).fetchall():
        rows += [row for row in rows_of(connection, "event", run_id) if not row.chain]
    made = new_seal(run_id, rows, seals_of(connection, run_id), last_seq=head.seq, chain=head.chain)
    if made is not None:
        connection.execute("INSERT INTO seals VALUES (?, ?, ?, ?)", [run_id, made.number, made.digest, made.payload])
