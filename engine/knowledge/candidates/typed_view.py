"""A view of the graph as the typed edges that link prediction counts paths in."""

from __future__ import annotations

import numpy as np

from engine.discovery.links.typed import TypedEdges
from engine.domain.knowledge import EDGE_CODE, NODE_CODE, NODE_TYPES, SYMMETRIC, EdgeType
from engine.knowledge.graph.queries import RECORDS
from engine.knowledge.graph.view import GraphView

INNER: tuple[int, ...] = tuple(NODE_CODE[kind] for kind in NODE_TYPES if kind not in RECORDS)
"""Codes of the types that paths may pass: a file that two genes were found in joins nothing."""
_UNTOLD = (EdgeType.ABSENT_IN, EdgeType.CONTRAINDICATED_FOR)
"""Statements that something is not so, which no path may pass."""


def typed_edges(view: GraphView) -> TypedEdges:
    """Return a graph's edges by type, without those that state a negative."""
    edges = view.edges
    rows = np.flatnonzero(~np.isin(edges.codes, [EDGE_CODE[kind] for kind in _UNTOLD]))
    return TypedEdges(
        node_types=np.asarray(view.nodes.types),
        heads=edges.heads[rows].astype(np.int64),
        tails=edges.tails[rows].astype(np.int64),
        codes=edges.codes[rows],
        weights=edges.confidences(rows),
        symmetric=frozenset(EDGE_CODE[kind] for kind in SYMMETRIC),
    )
