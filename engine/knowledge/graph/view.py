"""What linking, grounding and tool expansion need of a graph, so that they work on any implementation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from engine.domain.knowledge import Edge, EdgeType, Node, NodeType

Direction = Literal["out", "in", "both"]


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


class GraphView(Protocol):
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

    def node(self, number: int) -> Node:
        """Return a node with all its attributes."""
        ...

    def node_type(self, number: int) -> NodeType:
        """Return a node's type, without its other attributes."""
        ...

    def type_codes(self) -> np.ndarray:
        """Return the codes of all nodes' types (uint8), not to be written to."""
        ...

    def named_nodes(self) -> Iterator[NamedNode]:
        """Yield every node with its names."""
        ...

    def adjacent(
        self, number: int, edge_types: Collection[EdgeType] | None = None, direction: Direction = "both"
    ) -> Adjacent:
        """Return the edges at a node; all types when `edge_types` is None.

        A symmetric edge (see `SYMMETRIC`) is found in every direction from both its ends.
        """
        ...

    def degree(self, number: int) -> int:
        """Return the number of edges at a node, in both directions."""
        ...

    def rows_between(self, a: int, b: int) -> np.ndarray:
        """Return the rows (int64) of all edges between two nodes, in either direction."""
        ...

    def edges(self, rows: Sequence[int] | np.ndarray) -> list[Edge]:
        """Return edges in full: types, relation, origin, confidence."""
        ...

    def source_name(self, origin: str) -> str:
        """Return a source's name for people, or the id itself when it is not known."""
        ...
