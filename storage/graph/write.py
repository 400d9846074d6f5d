"""How a source's statements enter the database and leave it again. Everything here runs inside one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.domain.knowledge import GraphSource
from storage.graph import sql as graph_sql
from storage.graph.rows import Incoming, left_out, other_type

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

_NOBODY = -1
"""`named_by` of a node that only edges mention since the source that named it was removed."""
_LATER = 2**40
"""Added to a source's number where it has only the id for a name: every source with a name goes before it."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was stored."""

    number: int
    nodes_added: int
    edges_added: int
    warnings: list[str]


def replace(connection: Connection, source: GraphSource, incoming: Incoming) -> Written:
    """Store a source's statements in place of those it made before."""
    graph_sql.next_version(connection)
    number = graph_sql.source_number(connection, source.id)
    if number >= 0:
        take_back(connection, number)
    now = graph_sql.state(connection)
    if number < 0:
        number = now.next_source
        now = changed(now, next_source=number + 1)
    warnings: list[str] = []
    at, types = graph_sql.known(connection, incoming.ids)
    _warn_of_types(incoming, at, types, warnings)
    new = [place for place in incoming.named if at[place] < 0]
    at[new] = np.arange(now.next_node, now.next_node + len(new))
    _insert_nodes(connection, incoming, at, new, number)
    edges_added = _insert_edges(connection, source, incoming, at, now.next_edge, number, warnings)
    # A node is named anew when its first namer is gone, or came back with an older number than the next one's, or
    # had no better name for it than its id.
    _rename(connection, "n.named_by = -1 OR n.named_by > ? OR n.name = n.node_id", [number])
    graph_sql.save_state(
        connection,
        changed(now, next_node=now.next_node + len(new), next_edge=now.next_edge + edges_added),
    )
    return Written(number, len(new), edges_added, warnings)


def take_back(connection: Connection, number: int) -> None:
    """Remove a source's edges, and the nodes that nobody else mentions."""
    connection.execute("DELETE FROM graph_edges WHERE source = ?", [number])
    connection.execute("DELETE FROM graph_mentions WHERE source = ?", [number])
    connection.execute(
        """
        DELETE FROM graph_nodes WHERE named_by IN (?, -1)
        AND node NOT IN (SELECT node FROM graph_mentions)
        AND node NOT IN (SELECT head FROM graph_edges)
        AND node NOT IN (SELECT tail FROM graph_edges)
        """,
        [number],
    )
    _rename(connection, "n.named_by = ?", [number])
    connection.execute("UPDATE graph_nodes SET named_by = ? WHERE named_by = ?", [_NOBODY, number])


def _rename(connection: Connection, which: str, parameters: list[Any]) -> None:
    """Give nodes the type and name of the oldest source that mentions them, if it can be one with a name for them."""
    connection.execute(
        f"""
        UPDATE graph_nodes SET node_type = first.node_type, name = first.name, named_by = first.source
        FROM (
            SELECT node, arg_min(source, turn) AS source, arg_min(name, turn) AS name,
                   arg_min(node_type, turn) AS node_type
            FROM (
                SELECT m.*, m.source + CASE WHEN m.name = n.node_id THEN {_LATER} ELSE 0 END AS turn
                FROM graph_mentions AS m JOIN graph_nodes AS n USING (node) WHERE {which}
            ) GROUP BY node
        ) AS first
        WHERE graph_nodes.node = first.node AND graph_nodes.named_by <> first.source
        """,  # noqa: S608 - the conditions are written above
        parameters,
    )


def _warn_of_types(incoming: Incoming, at: np.ndarray, types: np.ndarray, warnings: list[str]) -> None:
    other = [place for place, node in incoming.named.items() if at[place] >= 0 and types[place] != node.type]
    if other:
        first = other[0]
        warnings.append(other_type(incoming.ids[first], int(types[first]), incoming.named[first].type, len(other)))


def _insert_nodes(connection: Connection, incoming: Incoming, at: np.ndarray, new: Sequence[int], number: int) -> None:
    import pyarrow as pa

    fresh = [incoming.named[place] for place in new]
    _insert(
        connection,
        "graph_nodes",
        {
            "node": at[new],
            "node_id": _strings([incoming.ids[place] for place in new]),
            "node_type": np.array([node.type for node in fresh], dtype=np.uint8),
            "name": _strings([node.name for node in fresh]),
            "named_by": np.full(len(new), number, dtype=np.int32),
        },
    )
    every = list(incoming.named.values())
    _insert(
        connection,
        "graph_mentions",
        {
            "node": at[list(incoming.named)],
            "source": np.full(len(every), number, dtype=np.int32),
            "node_type": np.array([node.type for node in every], dtype=np.uint8),
            "name": _strings([node.name for node in every]),
            "aliases": pa.array([node.aliases for node in every], pa.list_(pa.string())),
            "xrefs": pa.array([node.xrefs for node in every], pa.list_(pa.string())),
        },
    )


def _insert_edges(
    connection: Connection,
    source: GraphSource,
    incoming: Incoming,
    at: np.ndarray,
    first: int,
    number: int,
    warnings: list[str],
) -> int:
    heads, tails = at[incoming.heads], at[incoming.tails]
    keep = (heads >= 0) & (tails >= 0)
    kept = int(keep.sum())
    if kept < len(keep):
        unknown = np.union1d(incoming.heads[heads < 0], incoming.tails[tails < 0])
        warnings.append(left_out(source, len(keep) - kept, [incoming.ids[place] for place in unknown]))
    relations = _relation_numbers(connection, incoming.relations)
    _insert(
        connection,
        "graph_edges",
        {
            "edge": np.arange(first, first + kept),
            "head": heads[keep],
            "tail": tails[keep],
            "edge_type": incoming.types[keep],
            "relation": relations[incoming.relation_codes[keep]],
            "confidence": incoming.confidences[keep],
            "source": np.full(kept, number, dtype=np.int32),
        },
    )
    return kept


def _relation_numbers(connection: Connection, names: Sequence[str]) -> np.ndarray:
    """Return the numbers of relations by name, giving new ones to those that have none."""
    known = {name: number for number, name in enumerate(graph_sql.relations(connection))}
    new = [name for name in names if name not in known]
    numbers = range(len(known), len(known) + len(new))
    known.update(zip(new, numbers, strict=True))
    _insert(connection, "graph_relations", {"relation": np.array(numbers, dtype=np.int32), "name": _strings(new)})
    return np.array([known[name] for name in names], dtype=np.int32)


def _insert(connection: Connection, table: str, columns: Mapping[str, Any]) -> None:
    """Append columns of equal length to a table, whose columns stand in the same order."""
    if not len(next(iter(columns.values()))):
        return
    with _registered(connection, columns) as name:
        connection.execute(f"INSERT INTO {table} SELECT * FROM {name}")  # noqa: S608 - our names


@contextmanager
def _registered(connection: Connection, columns: Mapping[str, Any]) -> Iterator[str]:
    """Lend columns to DuckDB as a table and give its name."""
    import pyarrow as pa

    connection.register("incoming_rows", pa.table(dict(columns)))
    try:
        yield "incoming_rows"
    finally:
        connection.unregister("incoming_rows")


def _strings(values: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.string())
