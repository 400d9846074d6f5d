"""The nodes of a graph without its edges: what they are called, of what type they are, who named them, how linked."""

from __future__ import annotations

import hashlib
import json
import zlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.domain.knowledge import NODE_CODE, NODE_TYPES, Node, NodeType
from engine.errors import NotFoundError
from engine.knowledge.graph.arrays import Arrays, Texts

_ARRAYS = (
    "id_data", "id_ends", "id_hashes", "id_order", "name_data", "name_ends", "other_data", "other_ends", "node_types",
    "named_by",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedNode:
    """All the names of a node, for search and linking."""

    number: int
    type: NodeType
    id: str
    name: str
    aliases: Sequence[str]
    xrefs: Sequence[str]


class NodeTable:
    """Nodes, numbered from 0. Thread-safe; never changes."""

    def __init__(self, kept: Arrays, sources: Sequence[str], bounds: np.ndarray) -> None:
        """Use the arrays of `engine.knowledge.graph.csr_build.build`.

        Args:
            kept: the arrays.
            sources: ids of sources, of which `named_by` counts places.
            bounds: where the edges of each node begin, and where those of the last end (one number more than nodes).
        """
        self._kept = {name: kept[name] for name in _ARRAYS}
        self._sources = list(sources)
        self._bounds = bounds
        self._ids = Texts(kept["id_data"], kept["id_ends"])
        self._names = Texts(kept["name_data"], kept["name_ends"])
        self._others = Texts(kept["other_data"], kept["other_ends"])
        self._hashes = kept["id_hashes"].data  # bisecting a memoryview is twenty times quicker than asking NumPy
        self._keys: dict[frozenset[NodeType], str] = {}
        self.types = kept["node_types"]
        """Codes of the nodes' types (uint8), not to be written to."""

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._ids)

    @cached_property
    def degrees(self) -> np.ndarray:
        """Numbers of edges of all nodes in both directions (int64)."""
        return np.diff(self._bounds).astype(np.int64)

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

    def check(self, number: int) -> int:
        """Return a node's number as it is.

        Raises:
            NotFoundError: when it is none.
        """
        if not 0 <= number < len(self._ids):
            raise NotFoundError(
                f"The graph has {len(self._ids):,} nodes, numbered from 0; there is none with the number {number}.",
                advice="Take numbers from `nodes.number(ID)` of the same graph.",
            )
        return number

    def id(self, number: int) -> str:
        """Return a node's id."""
        return self._ids[self.check(number)]

    def name(self, number: int) -> str:
        """Return a node's name, without its other attributes."""
        return self._names[self.check(number)]

    def node(self, number: int) -> Node:
        """Return a node with all its attributes."""
        aliases, xrefs = self._other_names(self.check(number))
        namer = int(self._kept["named_by"][number])
        return Node(
            id=self._ids[number],
            type=NODE_TYPES[self.types[number]],
            name=self._names[number],
            aliases=aliases,
            xrefs=xrefs,
            source=self._sources[namer] if namer >= 0 else "",
        )

    def node_type(self, number: int) -> NodeType:
        """Return a node's type, without its other attributes."""
        return NODE_TYPES[self.types[self.check(number)]]

    def degree(self, number: int) -> int:
        """Return the number of edges at a node, in both directions."""
        return int(self._bounds[self.check(number) + 1]) - int(self._bounds[number])

    def named(self, numbers: Iterable[int] | None = None) -> Iterator[NamedNode]:
        """Yield nodes with their names: those given, or all, which is much quicker than one by one."""
        if numbers is not None:
            yield from map(self._named, numbers)
            return
        types = [NODE_TYPES[code] for code in self.types.tolist()]
        for number, (kind, node_id, name, others) in enumerate(
            zip(types, self._ids, self._names, self._others, strict=True)
        ):
            aliases, xrefs = json.loads(others) if others else ([], [])
            yield NamedNode(number=number, type=kind, id=node_id, name=name, aliases=aliases, xrefs=xrefs)

    def key(self, leaving_out: Collection[NodeType] = ()) -> str:
        """Return a hash of all ids, types, names, aliases and external ids, in the order of the nodes.

        Two graphs of one key have the same nodes in the same order, apart from those of the types left out. It is
        taken over the stored bytes, so it costs milliseconds where reading every name costs a good part of a second.
        """
        wanted = frozenset(leaving_out)
        if wanted not in self._keys:
            self._keys[wanted] = self._hash_without(wanted)
        return self._keys[wanted]

    def apart(self) -> NodeTable:
        """Return the same nodes in memory of their own, some 100 bytes each, so that neither file nor edges are held.

        What outlives a version of the graph works on that.
        """
        copies = {name: array.copy() for name, array in self._kept.items()}
        for array in copies.values():
            array.flags.writeable = False
        return NodeTable(copies, self._sources, self._bounds.copy())

    def _named(self, number: int) -> NamedNode:
        aliases, xrefs = self._other_names(self.check(number))
        kind = NODE_TYPES[self.types[number]]
        name = self._names[number]
        return NamedNode(number=number, type=kind, id=self._ids[number], name=name, aliases=aliases, xrefs=xrefs)

    def _hash_without(self, leaving_out: Collection[NodeType]) -> str:
        keep = ~np.isin(self.types, [NODE_CODE[kind] for kind in leaving_out])
        digest = hashlib.blake2b(self.types[keep].tobytes(), digest_size=16)
        edges = np.flatnonzero(np.diff(keep, prepend=False, append=False)).tolist()
        runs = list(zip(edges[::2], edges[1::2], strict=True))
        for name in ("id", "name", "other"):
            data, ends = self._kept[f"{name}_data"], self._kept[f"{name}_ends"]
            digest.update(np.diff(ends)[keep].tobytes())
            for first, last in runs:
                digest.update(data[int(ends[first]) : int(ends[last])].data)
        return digest.hexdigest()

    def _other_names(self, number: int) -> tuple[list[str], list[str]]:
        packed = self._others.encoded(number)
        if not packed:
            return [], []
        aliases, xrefs = json.loads(packed)
        return aliases, xrefs
