"""What linking, grounding and tool expansion need of a graph, so that they work on any implementation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from engine.domain.knowledge import Edge, EdgeType, Node, NodeType

Direction = Literal["out", "in", "both"]
FAR = 30_000
"""More steps than any walk takes, and what an int16 holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjacent:
    """Edges at one node, in three arrays of equal length, in a stable order."""

    numbers: np.ndarray
    """int32: the node at the other end."""
    types: np.ndarray
    """uint8: codes of `engine.domain.knowledge.EDGE_TYPES`."""
    rows: np.ndarray
    """int64: what `GraphView.edges` takes."""

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self.numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedNode:
    """All the names of a node, for search and linking."""

    number: int
    type: NodeType
    id: str
    name: str
    aliases: Sequence[str]
    xrefs: Sequence[str]


class NodeLookup(Protocol):
    """The nodes of a graph, which may outlive it."""

    def node(self, number: int) -> Node:
        """Return a node with all its attributes."""
        ...

    def node_type(self, number: int) -> NodeType:
        """Return a node's type, without its other attributes."""
        ...

    def degree(self, number: int) -> int:
        """Return the number of edges at a node, in both directions."""
        ...


class GraphView(NodeLookup, Protocol):
    """A graph to read. Nodes are numbered from 0. Thread-safe; a view never changes, a newer graph is a new view."""

    @property
    def version(self) -> int:
        """The graph's version (see `GraphStore.version`)."""
        ...

    @property
    def node_count(self) -> int:
        """Nodes."""
        ...

    @property
    def edge_count(self) -> int:
        """Edges; parallel edges of different types or sources count each."""
        ...

    def number(self, node_id: str) -> int:
        """Return the node's number, or -1 when there is no such node."""
        ...

    def type_codes(self) -> np.ndarray:
        """Return the codes of all nodes' types (uint8), not to be written to."""
        ...

    @property
    def degrees(self) -> np.ndarray:
        """Numbers of edges of all nodes in both directions (int64)."""
        ...

    @property
    def heads(self) -> np.ndarray:
        """Source of every edge, by row (int32)."""
        ...

    @property
    def tails(self) -> np.ndarray:
        """Target of every edge, by row (int32)."""
        ...

    @property
    def edge_codes(self) -> np.ndarray:
        """Type of every edge, by row (uint8 codes)."""
        ...

    def named_nodes(self, numbers: Iterable[int] | None = None) -> Iterator[NamedNode]:
        """Yield nodes with their names: all, or those given."""
        ...

    def names_key(self, leaving_out: Collection[NodeType] = ()) -> str:
        """Return a hash of everything that nodes are called and their order, but those of some types."""
        ...

    def nodes_apart(self) -> NodeLookup:
        """Return the nodes without the edges, so that this view need not stay for them."""
        ...

    def adjacent(
        self, number: int, edge_types: Collection[EdgeType] | None = None, direction: Direction = "both"
    ) -> Adjacent:
        """Return the edges at a node; all types when `edge_types` is None.

        A symmetric edge (see `SYMMETRIC`) is found in every direction from both its ends.
        """
        ...

    def rows_between(self, a: int, b: int) -> np.ndarray:
        """Return the rows (int64) of all edges between two nodes, in either direction."""
        ...

    def adjacent_many(
        self, numbers: np.ndarray, edge_types: Collection[EdgeType] | None = None, direction: Direction = "both"
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the edges at many nodes: position in `numbers`, node at the other end, row; loops inward left out."""
        ...

    def reach_steps(
        self,
        seeds: Sequence[int] | np.ndarray,
        hops: int = 2,
        edge_types: Collection[EdgeType] | None = None,
        direction: Direction = "both",
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of all nodes within `hops` steps of the seeds (int32, ascending) and their distances."""
        ...

    def shortest(
        self,
        a: int,
        b: int,
        edge_types: Collection[EdgeType] | None = None,
        direction: Direction = "both",
        max_hops: int = FAR,
    ) -> list[int] | None:
        """Return the numbers of the nodes on a path with the fewest edges, or None when there is none that short."""
        ...

    def confidences(self, rows: np.ndarray) -> np.ndarray:
        """Return the confidences of edges (float64)."""
        ...

    def of_origin(self, source_id: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes that a source was the first to name, and the rows of the edges it states.

        Raises:
            NotFoundError: when the graph has no such source.
        """
        ...

    def edges(self, rows: Sequence[int] | np.ndarray) -> list[Edge]:
        """Return edges in full: types, relation, origin, confidence."""
        ...

    def source_name(self, origin: str) -> str:
        """Return a source's name for people, or the id itself when it is not known."""
        ...
