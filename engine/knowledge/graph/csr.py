"""The knowledge graph as memory-mapped arrays: what is walked over, searched and drawn.

Every edge stands twice, at its source and at its target (a symmetric edge or a loop as one kind of entry),
sorted by node and, within a node, by type and direction. So the edges of a node, of one type or of all, are
a slice. Attributes are kept by row, a row being an edge's place in the store's order. The arrays are made
from the store once per version of the graph and kept in a folder beside it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import zlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from engine.domain.knowledge import EDGE_TYPES, Edge, EdgeType, Node, NodeType
from engine.errors import NotFoundError
from engine.knowledge.graph import arrays, kernels
from engine.knowledge.graph.arrays import Arrays
from engine.knowledge.graph.csr_build import build
from engine.knowledge.graph.node_table import NodesApart, NodeTable
from engine.knowledge.graph.traverse import Slots, Walker
from engine.knowledge.graph.view import FAR, Adjacent, Direction, NamedNode, NodeLookup
from engine.ports.graph import GraphStore

_log = logging.getLogger(__name__)

_FORM = 1
"""Counted up whenever the arrays mean something else, so that old caches are made again."""


def open_graph(store: GraphStore, folder: Path) -> CsrGraph:
    """Return the newest version of a graph: from the arrays kept in `folder`, or made anew and kept there.

    A cache is used only when it belongs to this version of these sources and is undamaged. When it cannot be
    written, the graph works from memory, and the next start makes it again.

    Args:
        store: the graph's truth.
        folder: holds one folder per version; older versions are removed.
    """
    version = store.version()
    about = _about(store, version)
    kept = arrays.load(folder / str(version), about)
    if kept is None:
        columns = store.columns()
        if columns.version != version:  # it was changed in between; what was read is what counts
            version = columns.version
            about = _about(store, version)
        made = build(columns)
        del columns
        kept = _keep(folder / str(version), made, about) or made
    arrays.remove_others(folder / str(version))
    kernels.load_soon()
    return CsrGraph(kept, version)


def _about(store: GraphStore, version: int) -> dict[str, Any]:
    """Return what a cache must have been made of: another database may have reached the same version."""
    made_of = [source.model_dump_json() for source in store.sources()]
    return {"form": _FORM, "version": version, "sources": hashlib.sha256("\n".join(made_of).encode()).hexdigest()}


def _keep(folder: Path, made: Arrays, about: dict[str, Any]) -> Arrays | None:
    """Write the arrays and return them mapped, or None when that cannot be done."""
    try:
        arrays.save(folder, made, about)
    except OSError as error:
        _log.warning("The graph's arrays cannot be kept in %s (%s); they are made again at each start.", folder, error)
        return None
    return arrays.load(folder, about)


class CsrGraph:
    """A `GraphView` over arrays. Thread-safe; never changes."""

    def __init__(self, kept: Arrays, version: int) -> None:
        """Use arrays made by `engine.knowledge.graph.csr_build.build`."""
        for array in kept.values():
            array.flags.writeable = False
        self._version = version
        self._kept = kept
        self._hashes = kept["id_hashes"].data  # bisecting a memoryview is twenty times quicker than asking NumPy
        self._offsets = kept["offsets"]
        self._near = kept["near"]
        self._half = kept["half_rows"]
        self._slots = Slots(kept["edge_codes"].tolist())
        about: dict[str, Any] = json.loads(bytes(kept["about"]))
        self._relations: list[str] = about["relations"]
        self._origins: list[dict[str, str]] = about["origins"]
        self._nodes = NodeTable(kept, [origin["id"] for origin in self._origins])
        self._ids = self._nodes.ids
        self._walker = Walker(self._offsets, self._near, self._slots, len(self._ids))
        self._name_keys: dict[frozenset[NodeType], str] = {}
        self._loops: dict[int, list[int]] = {}
        for number, row in kept["loops"].tolist():
            self._loops.setdefault(number, []).append(row)

    # ==== what a GraphView offers ====

    @property
    def version(self) -> int:
        """The graph's version (see `GraphStore.version`)."""
        return self._version

    @property
    def node_count(self) -> int:
        """Nodes."""
        return len(self._ids)

    @property
    def edge_count(self) -> int:
        """Edges; parallel edges of different types or sources count each."""
        return len(self._kept["edge_types"])

    def number(self, node_id: str) -> int:
        """Return the node's number, or -1 when there is no such node."""
        try:
            wanted = node_id.encode("utf-8")
        except UnicodeEncodeError:
            return -1
        code = zlib.crc32(wanted)
        place = bisect_left(self._hashes, code)
        while place < len(self._hashes) and self._hashes[place] == code:
            number = int(self._kept["id_order"][place])
            if self._ids.encoded(number) == wanted:
                return number
            place += 1
        return -1

    def node(self, number: int) -> Node:
        """Return a node with all its attributes."""
        self._check(number)
        return self._nodes.node(number)

    def node_type(self, number: int) -> NodeType:
        """Return a node's type, without its other attributes."""
        self._check(number)
        return self._nodes.node_type(number)

    def type_codes(self) -> np.ndarray:
        """Return the codes of all nodes' types (uint8), not to be written to."""
        return self._nodes.types

    def named_nodes(self, numbers: Iterable[int] | None = None) -> Iterator[NamedNode]:
        """Yield nodes with their names: all, or those given."""
        return self._nodes.named_nodes() if numbers is None else self._nodes.some_named(numbers)

    def nodes_apart(self) -> NodeLookup:
        """Return the nodes without the edges, in memory of their own."""
        return NodesApart(self._nodes, self.degrees)

    def names_key(self, leaving_out: Collection[NodeType] = ()) -> str:
        """Return a hash of everything that nodes are called, but those of some types (see `NodeTable.key`)."""
        wanted = frozenset(leaving_out)
        if wanted not in self._name_keys:
            self._name_keys[wanted] = self._nodes.key(wanted)
        return self._name_keys[wanted]

    def adjacent(
        self, number: int, edge_types: Collection[EdgeType] | None = None, direction: Direction = "both"
    ) -> Adjacent:
        """Return the edges at a node; all types when `edge_types` is None.

        A symmetric edge is found in every direction from both its ends, an edge from a node to itself once.
        """
        self._check(number)
        base = number * self._slots.count
        spans = zip(*(side.tolist() for side in self._slots.spans(edge_types, direction)), strict=True)
        slices = [slice(int(self._offsets[base + low]), int(self._offsets[base + high])) for low, high in spans]
        if len(slices) == 1:
            near, rows = self._near[slices[0]], self._half[slices[0]]
        elif slices:
            near = np.concatenate([self._near[part] for part in slices])
            rows = np.concatenate([self._half[part] for part in slices])
        else:
            near, rows = self._near[:0], self._half[:0]
        types = self._kept["edge_types"][rows]
        if direction == "in" and number in self._loops:
            extra = [r for r in self._loops[number] if edge_types is None or self._edge_type(r) in edge_types]
            near = np.concatenate([near, np.full(len(extra), number, dtype=np.int32)])
            rows = np.concatenate([rows, np.array(extra, dtype=rows.dtype)])
            types = self._kept["edge_types"][rows]
        return Adjacent(numbers=near, types=types, rows=rows.astype(np.int64))

    def degree(self, number: int) -> int:
        """Return the number of edges at a node, in both directions."""
        self._check(number)
        base = number * self._slots.count
        return int(self._offsets[base + self._slots.count]) - int(self._offsets[base])

    def rows_between(self, a: int, b: int) -> np.ndarray:
        """Return the rows (int64) of all edges between two nodes, in either direction."""
        if self.degree(b) < self.degree(a):
            a, b = b, a
        self._check(b)
        base = a * self._slots.count
        part = slice(int(self._offsets[base]), int(self._offsets[base + self._slots.count]))
        return np.sort(self._half[part][self._near[part] == b]).astype(np.int64)

    def edges(self, rows: Sequence[int] | np.ndarray) -> list[Edge]:
        """Return edges in full: types, relation, origin, confidence."""
        wanted = np.asarray(rows, dtype=np.int64)
        if len(wanted) and (wanted.min() < 0 or wanted.max() >= self.edge_count):
            raise NotFoundError(f"The graph has the edges 0 to {self.edge_count - 1:,}; one beyond was asked for.")
        columns = [
            self._kept[name][wanted].tolist()
            for name in ("heads", "edge_types", "tails", "relations", "confidences", "origins")
        ]
        ids: dict[int, str] = {}
        found: list[Edge] = []
        for head, code, tail, relation, confidence, origin in zip(*columns, strict=True):
            for number in (head, tail):
                if number not in ids:
                    ids[number] = self._ids[number]
            stated_by = self._origins[origin]
            found.append(
                Edge(
                    source=ids[head],
                    type=EDGE_TYPES[code],
                    target=ids[tail],
                    relation=self._relations[relation],
                    origin=stated_by["id"],
                    confidence=round(confidence, 6),
                    at=stated_by["at"],
                    license=stated_by["license"],
                )
            )
        return found

    def source_name(self, origin: str) -> str:
        """Return a source's name for people, or the id itself when it is not known."""
        return self._source_names.get(origin, origin)

    # ==== walks and whole columns ====

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
            self._check(next(int(seed) for seed in seeds if not 0 <= int(seed) < len(self._ids)))
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
        self._check(a)
        self._check(b)
        return self._walker.shortest(a, b, edge_types, direction, max_hops)

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

    def confidences(self, rows: np.ndarray) -> np.ndarray:
        """Return the confidences of edges (float64)."""
        return self._kept["confidences"][rows].astype(np.float64)

    @property
    def degrees(self) -> np.ndarray:
        """Numbers of edges of all nodes in both directions (int64)."""
        return self._degrees

    @cached_property
    def _degrees(self) -> np.ndarray:
        if not self._slots.count:
            return np.zeros(self.node_count, dtype=np.int64)
        return np.diff(self._offsets[:: self._slots.count]).astype(np.int64)

    @property
    def heads(self) -> np.ndarray:
        """Source of every edge, by row (int32)."""
        return self._kept["heads"]

    @property
    def tails(self) -> np.ndarray:
        """Target of every edge, by row (int32)."""
        return self._kept["tails"]

    @property
    def edge_codes(self) -> np.ndarray:
        """Type of every edge, by row (uint8 codes)."""
        return self._kept["edge_types"]

    def of_origin(self, source_id: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes that a source was the first to name, and the rows of the edges it states."""
        place = next((place for place, origin in enumerate(self._origins) if origin["id"] == source_id), None)
        if place is None:
            raise NotFoundError(f"The knowledge graph has no source {source_id!r}.")
        return np.flatnonzero(self._kept["named_by"] == place), np.flatnonzero(self._kept["origins"] == place)

    def warm(self) -> bool:
        """Load the compiled loops now instead of in the background; False where they cannot be had."""
        return kernels.load()

    @cached_property
    def _source_names(self) -> dict[str, str]:
        return {origin["id"]: origin["name"] for origin in self._origins}

    def _edge_type(self, row: int) -> EdgeType:
        return EDGE_TYPES[self._kept["edge_types"][row]]

    def _check(self, number: int) -> None:
        if not 0 <= number < len(self._ids):
            raise NotFoundError(
                f"The graph has {len(self._ids):,} nodes, numbered from 0; there is none with the number {number}.",
                advice="Take numbers from `number(ID)` of the same graph.",
            )
