"""Whether a source that was read again states just what is stored of it. Nothing here writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.domain.knowledge import GraphSource
from storage.graph import sql as graph_sql
from storage.graph.rows import Incoming, left_out

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection


def stated_before(connection: Connection, source: GraphSource, number: int, incoming: Incoming) -> list[str] | None:
    """Compare what was read with what is stored of a source.

    Args:
        connection: a connection with an open transaction.
        source: the source that was read.
        number: its number.
        incoming: what was read.

    Returns:
        None when storing it would change anything; otherwise what there is to warn of, as storing it would have.
    """
    if not _same_nodes(connection, number, incoming):
        return None
    at = _nodes_that_stay(connection, number, incoming)
    heads, tails = at[incoming.heads], at[incoming.tails]
    keep = (heads >= 0) & (tails >= 0)
    stored = graph_sql.edges_of(connection, number)
    if int(keep.sum()) != len(stored["head"]):
        return None
    known = {name: code for code, name in enumerate(graph_sql.relations(connection))}
    codes = np.array([known.get(name, -1) for name in incoming.relations], dtype=np.int32)
    relations = codes[incoming.relation_codes[keep]] if len(codes) else np.empty(0, np.int32)
    read = {
        "head": heads[keep],
        "tail": tails[keep],
        "edge_type": incoming.types[keep],
        "relation": relations,
        "confidence": incoming.confidences[keep],
    }
    # The same files are read in the same order, and edges are numbered in the order they were read.
    if not all(np.array_equal(stored[name], column) for name, column in read.items()):
        return None
    lost = len(keep) - int(keep.sum())
    if not lost:
        return []
    unknown = np.union1d(incoming.heads[heads < 0], incoming.tails[tails < 0])
    return [left_out(source, lost, [incoming.ids[place] for place in unknown])]


def _same_nodes(connection: Connection, number: int, incoming: Incoming) -> bool:
    stored = graph_sql.mentions_of(connection, number)
    if len(stored) != len(incoming.named):
        return False
    for place, node in incoming.named.items():
        if stored.get(incoming.ids[place]) != (node.type, node.name, node.aliases, node.xrefs):
            return False
    return True


def _nodes_that_stay(connection: Connection, number: int, incoming: Incoming) -> np.ndarray:
    """Return the node number of each id (int32), -1 for one that would be gone if the source were stored again.

    Those are the nodes whose namer was removed and that only edges of this source still hold.
    """
    at, _ = graph_sql.known(connection, incoming.ids)
    leaving = graph_sql.held_only_by(connection, number)
    if len(leaving):
        at[np.isin(at, leaving)] = -1
    return at
