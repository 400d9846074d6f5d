"""The questions the graph store asks DuckDB. Each takes a connection, and a transaction where it matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from storage.graph.rows import unique

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

# The last state of each source, where that is one in force, in the order they were first imported.
_IN_FORCE = """
    SELECT number, source_id, version, payload, graph_version FROM (
        SELECT *, row_number() OVER (PARTITION BY number ORDER BY graph_version DESC) AS age FROM graph_sources
    ) WHERE age = 1 AND in_force ORDER BY number
"""


@dataclass(frozen=True, slots=True)
class GraphState:
    """The numbers to be handed out next, and the version."""

    version: int
    next_node: int
    next_edge: int
    next_source: int


def state(connection: Connection) -> GraphState:
    """Return the graph's state."""
    row = connection.execute("SELECT graph_version, next_node, next_edge, next_source FROM graph_state").fetchall()[0]
    return GraphState(*(int(value) for value in row))


def save_state(connection: Connection, new: GraphState) -> None:
    """Store the graph's state."""
    connection.execute(
        "UPDATE graph_state SET graph_version = ?, next_node = ?, next_edge = ?, next_source = ?",
        [new.version, new.next_node, new.next_edge, new.next_source],
    )


def next_version(connection: Connection) -> None:
    """Count a change."""
    connection.execute("UPDATE graph_state SET graph_version = graph_version + 1")


def source_number(connection: Connection, source_id: str) -> int:
    """Return the number of a source in force, or -1."""
    rows = connection.execute(f"SELECT number FROM ({_IN_FORCE}) WHERE source_id = ?", [source_id]).fetchall()  # noqa: S608 - constant
    return int(rows[0][0]) if rows else -1


def read_at(connection: Connection, source_id: str) -> int:
    """Return the graph's version at which a source in force was last read and compared or stored, or -1."""
    rows = connection.execute(f"SELECT graph_version FROM ({_IN_FORCE}) WHERE source_id = ?", [source_id]).fetchall()  # noqa: S608 - constant
    return int(rows[0][0]) if rows else -1


def numbers_in_force(connection: Connection) -> np.ndarray:
    """Return the numbers of the sources in force, in the order of `payloads_in_force`."""
    return np.array([row[0] for row in connection.execute(_IN_FORCE).fetchall()], dtype=np.int64)


def payloads_in_force(connection: Connection) -> list[tuple[int, str]]:
    """Return (version of the form, JSON) of every source in force, oldest first."""
    return [(int(row[2]), str(row[3])) for row in connection.execute(_IN_FORCE).fetchall()]


def nodes(connection: Connection) -> dict[str, np.ndarray]:
    """Return the columns node, node_id, name, node_type, named_by by ascending node number."""
    query = "SELECT node, node_id, name, node_type, named_by FROM graph_nodes ORDER BY node"
    return _columns(connection, query)


def all_edges(connection: Connection) -> dict[str, np.ndarray]:
    """Return every edge by ascending number."""
    found = _columns(connection, "SELECT edge, head, tail, edge_type, relation, confidence, source FROM graph_edges")
    # Rows come in the order they were written, which is that of their numbers; sorting is a mere precaution.
    if np.any(np.diff(found["edge"]) < 0):
        order = np.argsort(found["edge"], kind="stable")
        found = {name: column[order] for name, column in found.items()}
    return found


def relations(connection: Connection) -> list[str]:
    """Return the names of relations; the place in the list is their number."""
    rows = connection.execute("SELECT name FROM graph_relations ORDER BY relation").fetchall()
    return [str(row[0]) for row in rows]


def other_names(connection: Connection, where: np.ndarray) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Return the aliases and the external ids of the nodes that have some, by the node's place.

    Another name that a later source gives a node counts as an alias; its own id, which stands for a name where a
    source has none, does not.

    Args:
        connection: a connection.
        where: node number -> place.
    """
    rows = connection.execute(
        """
        SELECT m.node, n.name, n.node_id, m.name, m.aliases, m.xrefs
        FROM graph_mentions AS m JOIN graph_nodes AS n USING (node)
        WHERE (m.name <> n.name AND m.name <> n.node_id) OR len(m.aliases) > 0 OR len(m.xrefs) > 0
        ORDER BY m.node, m.source
        """
    ).fetchall()
    aliases: dict[int, list[str]] = {}
    xrefs: dict[int, list[str]] = {}
    for node, name, node_id, given, others, ids in rows:
        place = int(where[node])
        more = [text for text in (given, *others) if text not in (name, node_id)]
        if more:
            aliases[place] = unique([*aliases.get(place, []), *more])
        if ids:
            xrefs[place] = unique([*xrefs.get(place, []), *ids])
    return aliases, xrefs


def known(connection: Connection, ids: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the node number of each id (int32), -1 where there is none, and the codes of their types (uint8)."""
    import pyarrow as pa

    at = np.full(len(ids), -1, dtype=np.int32)
    types = np.zeros(len(ids), dtype=np.uint8)
    wanted = pa.table({"place": np.arange(len(ids)), "node_id": pa.array(ids, pa.string())})
    connection.register("wanted_nodes", wanted)
    try:
        found = _columns(connection, "SELECT place, node, node_type FROM wanted_nodes JOIN graph_nodes USING (node_id)")
    finally:
        connection.unregister("wanted_nodes")
    at[found["place"]] = found["node"]
    types[found["place"]] = found["node_type"]
    return at, types


def mentions_of(connection: Connection, number: int) -> dict[str, tuple[int, str, list[str], list[str]]]:
    """Return what a source says of each node: id -> (type code, name, aliases, external ids)."""
    rows = connection.execute(
        """
        SELECT n.node_id, m.node_type, m.name, m.aliases, m.xrefs
        FROM graph_mentions AS m JOIN graph_nodes AS n USING (node) WHERE m.source = ?
        """,
        [number],
    ).fetchall()
    return {str(row[0]): (int(row[1]), str(row[2]), list(row[3]), list(row[4])) for row in rows}


def mentioned_only_by(connection: Connection, source_id: str) -> list[str]:
    """Return the ids of the nodes that no source in force but this one mentions."""
    rows = connection.execute(
        """
        SELECT n.node_id FROM graph_mentions AS m JOIN graph_nodes AS n USING (node)
        GROUP BY n.node_id HAVING count(*) = 1 AND min(m.source) = ?
        """,
        [source_number(connection, source_id)],
    ).fetchall()
    return [str(row[0]) for row in rows]


def edges_of(connection: Connection, number: int) -> dict[str, np.ndarray]:
    """Return the columns head, tail, edge_type, relation, confidence of a source's edges by ascending number."""
    query = "SELECT head, tail, edge_type, relation, confidence FROM graph_edges WHERE source = ? ORDER BY edge"
    return _columns(connection, query, [number])


def held_only_by(connection: Connection, number: int) -> np.ndarray:
    """Return the nodes (int) that nobody mentions and that are in no edge but those of one source."""
    found = _columns(
        connection,
        """
        SELECT node FROM graph_nodes WHERE named_by = -1
        AND node NOT IN (SELECT head FROM graph_edges WHERE source <> ?)
        AND node NOT IN (SELECT tail FROM graph_edges WHERE source <> ?)
        """,
        [number, number],
    )
    return found["node"]


def edges(connection: Connection, keys: np.ndarray) -> list[tuple[Any, ...]]:
    """Return (head id, type code, tail id, relation, confidence, source id) of edges, in the order of the keys."""
    import pyarrow as pa

    wanted = pa.table({"place": np.arange(len(keys)), "edge": keys})
    connection.register("wanted_edges", wanted)
    try:
        return connection.execute(
            f"""
            SELECT h.node_id, e.edge_type, t.node_id, r.name, e.confidence, s.source_id
            FROM wanted_edges AS w JOIN graph_edges AS e USING (edge)
            JOIN graph_nodes AS h ON h.node = e.head JOIN graph_nodes AS t ON t.node = e.tail
            JOIN graph_relations AS r ON r.relation = e.relation
            JOIN ({_IN_FORCE}) AS s ON s.number = e.source
            ORDER BY w.place
            """  # noqa: S608 - constant
        ).fetchall()
    finally:
        connection.unregister("wanted_edges")


def _columns(connection: Connection, query: str, parameters: Sequence[object] = ()) -> dict[str, np.ndarray]:
    found = connection.execute(query, list(parameters)).fetchnumpy()
    return {name: np.asarray(column) for name, column in found.items()}
