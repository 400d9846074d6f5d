"""A graph held in memory, built from nodes and edges: for tests, small subgraphs and graphs without a store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from engine.domain.knowledge import (
    EDGE_CODE,
    NODE_CODE,
    NODE_TYPES,
    SYMMETRIC,
    Edge,
    EdgeType,
    GraphSource,
    Node,
    NodeType,
)
from engine.errors import DataError
from engine.knowledge.graph.view import Adjacent, Direction, NamedNode

_SYMMETRIC_CODES = np.array(sorted(EDGE_CODE[kind] for kind in SYMMETRIC), dtype=np.uint8)


class GraphTwin:
    """A `GraphView` over lists of nodes and edges.

    The neighbours of all nodes are kept in compressed sparse rows (one array of half-edges sorted by node),
    so building costs a sort and a look-up costs a slice. The first node of an id is the one that is kept.
    """

    def __init__(
        self, nodes: Iterable[Node], edges: Iterable[Edge], sources: Iterable[GraphSource] = (), *, version: int = 1
    ) -> None:
        """Build the graph.

        Raises:
            DataError: when an edge names a node that is not among the nodes.
        """
        self._numbers: dict[str, int] = {}
        self._nodes: list[Node] = []
        for node in nodes:
            if self._numbers.setdefault(node.id, len(self._nodes)) == len(self._nodes):
                self._nodes.append(node)
        self._edges: list[Edge] = list(edges)
        self._source_names = {source.id: source.name for source in sources}
        self._version = version
        self._type_codes = np.array([NODE_CODE[node.type] for node in self._nodes], dtype=np.uint8)
        self._type_codes.flags.writeable = False
        self._fill()

    def _fill(self) -> None:
        count = len(self._edges)
        heads = np.fromiter((self._end(edge, edge.source) for edge in self._edges), dtype=np.int32, count=count)
        tails = np.fromiter((self._end(edge, edge.target) for edge in self._edges), dtype=np.int32, count=count)
        types = np.fromiter((EDGE_CODE[edge.type] for edge in self._edges), dtype=np.uint8, count=count)
        rows = np.arange(count, dtype=np.int64)
        loops = heads == tails  # a loop is one half-edge, not two
        at = np.concatenate([heads, tails[~loops]])
        order = np.argsort(at, kind="stable")
        self._offsets = np.zeros(len(self._nodes) + 1, dtype=np.int64)
        np.cumsum(np.bincount(at, minlength=len(self._nodes)), out=self._offsets[1:])
        self._to = np.concatenate([tails, heads[~loops]])[order].astype(np.int32)
        self._types = np.concatenate([types, types[~loops]])[order]
        self._rows = np.concatenate([rows, rows[~loops]])[order]
        outward = np.concatenate([np.ones(count, dtype=bool), np.zeros(count - int(loops.sum()), dtype=bool)])[order]
        either = np.isin(self._types, _SYMMETRIC_CODES) | (self._to == at[order])
        self._out = outward | either
        self._in = ~outward | either

    def _end(self, edge: Edge, node_id: str) -> int:
        number = self._numbers.get(node_id)
        if number is None:
            message = f"The edge {edge.source} -[{edge.type}]- {edge.target} names {node_id}, which is not a node."
            raise DataError(message, advice="Add the node, or leave the edge out.")
        return number

    @property
    def version(self) -> int:
        """The version given when it was built."""
        return self._version

    @property
    def node_count(self) -> int:
        """Nodes."""
        return len(self._nodes)

    @property
    def edge_count(self) -> int:
        """Edges."""
        return len(self._edges)

    def number(self, node_id: str) -> int:
        """Return the node's number, or -1 when there is no such node."""
        return self._numbers.get(node_id, -1)

    def node(self, number: int) -> Node:
        """Return a node with all its attributes."""
        return self._nodes[number]

    def node_type(self, number: int) -> NodeType:
        """Return a node's type."""
        return NODE_TYPES[self._type_codes[number]]

    def type_codes(self) -> np.ndarray:
        """Return the codes of all nodes' types (uint8), read-only."""
        return self._type_codes

    def named_nodes(self) -> Iterator[NamedNode]:
        """Yield every node with its names."""
        for number, node in enumerate(self._nodes):
            yield NamedNode(
                number=number, type=node.type, id=node.id, name=node.name, aliases=node.aliases, xrefs=node.xrefs
            )

    def adjacent(
        self, number: int, edge_types: Collection[EdgeType] | None = None, direction: Direction = "both"
    ) -> Adjacent:
        """Return the edges at a node; symmetric edges are found in every direction from both ends."""
        span = slice(int(self._offsets[number]), int(self._offsets[number + 1]))
        keep = np.ones(span.stop - span.start, dtype=bool)
        if edge_types is not None:
            codes = np.array([EDGE_CODE[kind] for kind in edge_types], dtype=np.uint8)
            keep &= np.isin(self._types[span], codes)
        if direction == "out":
            keep &= self._out[span]
        elif direction == "in":
            keep &= self._in[span]
        return Adjacent(numbers=self._to[span][keep], types=self._types[span][keep], rows=self._rows[span][keep])

    def degree(self, number: int) -> int:
        """Return the number of edges at a node, in both directions."""
        return int(self._offsets[number + 1] - self._offsets[number])

    def rows_between(self, a: int, b: int) -> np.ndarray:
        """Return the rows of all edges between two nodes, in either direction."""
        if self.degree(b) < self.degree(a):
            a, b = b, a
        span = slice(int(self._offsets[a]), int(self._offsets[a + 1]))
        return np.sort(self._rows[span][self._to[span] == b])

    def edges(self, rows: Sequence[int] | np.ndarray) -> list[Edge]:
        """Return edges in full."""
        return [self._edges[int(row)] for row in rows]

    def source_name(self, origin: str) -> str:
        """Return a source's name for people, or the id itself when it is not known."""
        return self._source_names.get(origin, origin)
