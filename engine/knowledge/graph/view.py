"""A version of the knowledge graph to read: nodes, edges, and how one gets from node to node.

Every edge stands twice, at its source and at its target (a symmetric edge or a loop as one kind of entry),
sorted by node and, within a node, by type and direction. So the edges of a node, of one type or of all, are
a slice. Attributes are kept by row, a row being an edge's place in the store's order.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.domain.knowledge import EDGE_TYPES, EdgeType
from engine.errors import NotFoundError
from engine.knowledge.graph.arrays import Arrays
from engine.knowledge.graph.edge_table import EdgeTable
from engine.knowledge.graph.node_table import NodeTable
from engine.knowledge.graph.traverse import Direction, Slots, Walker

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
    """int64: what `EdgeTable.full` takes."""

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self.numbers)


class GraphView:
    """A graph to read. Thread-safe; it never changes, a newer graph is a new view."""

    def __init__(self, kept: Arrays, version: int) -> None:
        """Use arrays made by `engine.knowledge.graph.csr_build.build`."""
        for array in kept.values():
            array.flags.writeable = False
        self.version = version
        """The graph's version (see `GraphStore.version`)."""
        self._named_by = kept["named_by"]
        self._offsets = kept["offsets"]
        self._near = kept["near"]
        self._half = kept["half_rows"]
        self._slots = Slots(kept["edge_codes"].tolist())
        about: dict[str, Any] = json.loads(bytes(kept["about"]))
        self._sources: list[str] = [origin["id"] for origin in about["origins"]]
        width = self._slots.count
        bounds = self._offsets[::width] if width else np.zeros(len(kept["node_types"]) + 1, dtype=np.int32)
        self.nodes = NodeTable(kept, self._sources, bounds)
        self.edges = EdgeTable(kept, self.nodes, about["relations"], about["origins"])
        self._walker = Walker(self._offsets, self._near, self._slots, len(self.nodes))
        self._loops: dict[int, list[int]] = {}
        for number, row in kept["loops"].tolist():
            self._loops.setdefault(number, []).append(row)

    def adjacent(
        self, number: int, edge_types: Collection[EdgeType] | None = None, direction: Direction = "both"
    ) -> Adjacent:
        """Return the edges at a node; all types when `edge_types` is None.

        A symmetric edge (see `SYMMETRIC`) is found in every direction from both its ends, one from a node to itself
        once.
        """
        base = self.nodes.check(number) * self._slots.count
        spans = zip(*(side.tolist() for side in self._slots.spans(edge_types, direction)), strict=True)
        slices = [slice(int(self._offsets[base + low]), int(self._offsets[base + high])) for low, high in spans]
        if len(slices) == 1:
            near, rows = self._near[slices[0]], self._half[slices[0]]
        elif slices:
            near = np.concatenate([self._near[part] for part in slices])
            rows = np.concatenate([self._half[part] for part in slices])
        else:
            near, rows = self._near[:0], self._half[:0]
        if direction == "in" and number in self._loops:
            codes = self.edges.codes
            extra = [r for r in self._loops[number] if edge_types is None or EDGE_TYPES[codes[r]] in edge_types]
            near = np.concatenate([near, np.full(len(extra), number, dtype=np.int32)])
            rows = np.concatenate([rows, np.array(extra, dtype=rows.dtype)])
        return Adjacent(numbers=near, types=self.edges.codes[rows], rows=rows.astype(np.int64))

    def adjacent_many(
        self, numbers: np.ndarray, edge_types: Collection[EdgeType] | None = None, direction: Direction = "both"
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the edges at many nodes: position in `numbers`, node at the other end, row; loops inward left out."""
        parts = []
        for low, high in zip(*(side.tolist() for side in self._slots.spans(edge_types, direction)), strict=True):
            owners, places = self._walker.gather(np.asarray(numbers), low, high)
            parts.append((owners, self._near[places], self._half[places].astype(np.int64)))
        if not parts:
            nothing = np.empty(0, dtype=np.int64)
            return nothing, nothing.astype(np.int32), nothing
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))  # type: ignore[return-value]

    def rows_between(self, a: int, b: int) -> np.ndarray:
        """Return the rows (int64) of all edges between two nodes, in either direction."""
        if self.nodes.degree(b) < self.nodes.degree(a):
            a, b = b, a
        base = a * self._slots.count
        part = slice(int(self._offsets[base]), int(self._offsets[base + self._slots.count]))
        return np.sort(self._half[part][self._near[part] == b]).astype(np.int64)

    def reach(
        self,
        seeds: Sequence[int] | np.ndarray,
        hops: int = 2,
        edge_types: Collection[EdgeType] | None = None,
        direction: Direction = "both",
    ) -> np.ndarray:
        """Return the numbers (int32, ascending) of all nodes within `hops` steps of the seeds, seeds included."""
        return self.reach_steps(seeds, hops, edge_types, direction)[0]

    def reach_steps(
        self,
        seeds: Sequence[int] | np.ndarray,
        hops: int = 2,
        edge_types: Collection[EdgeType] | None = None,
        direction: Direction = "both",
    ) -> tuple[np.ndarray, np.ndarray]:
        """Like `reach`, with each node's distance (int16) from the nearest seed as a second array."""
        found = self._walker.reach(seeds, min(max(hops, 0), FAR), edge_types, direction)
        if found is None:
            self.nodes.check(next(int(seed) for seed in seeds if not 0 <= int(seed) < len(self.nodes)))
        return found or (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int16))

    def shortest(
        self,
        a: int,
        b: int,
        edge_types: Collection[EdgeType] | None = None,
        direction: Direction = "both",
        max_hops: int = FAR,
    ) -> list[int] | None:
        """Return the numbers of the nodes on a path with the fewest edges, or None when there is none that short."""
        return self._walker.shortest(self.nodes.check(a), self.nodes.check(b), edge_types, direction, max_hops)

    def of_origin(self, source_id: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes that a source was the first to name, and the rows of the edges it states.

        Raises:
            NotFoundError: when the graph has no such source.
        """
        if source_id not in self._sources:
            raise NotFoundError(f"The knowledge graph has no source {source_id!r}.")
        named = self._named_by == self._sources.index(source_id)
        return np.flatnonzero(named), self.edges.of_origin(source_id)
