"""The nodes of a graph without its edges: what they are called, of what type they are and who named them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from engine.domain.knowledge import NODE_CODE, NODE_TYPES, Node, NodeType
from engine.knowledge.graph.arrays import Arrays, Texts
from engine.knowledge.graph.view import NamedNode

_ARRAYS = ("id_data", "id_ends", "name_data", "name_ends", "other_data", "other_ends", "node_types", "named_by")


class NodeTable:
    """Nodes by number. Thread-safe; never changes."""

    def __init__(self, kept: Arrays, sources: Sequence[str]) -> None:
        """Use the arrays of `engine.knowledge.graph.csr_build.build`; `named_by` counts places in `sources`."""
        self._kept = {name: kept[name] for name in _ARRAYS}
        self._sources = list(sources)
        self.ids = Texts(kept["id_data"], kept["id_ends"])
        self._names = Texts(kept["name_data"], kept["name_ends"])
        self._others = Texts(kept["other_data"], kept["other_ends"])
        self.types = kept["node_types"]
        """Codes of the nodes' types (uint8)."""

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.ids)

    def apart(self) -> NodeTable:
        """Return the same nodes in memory of their own, so that neither file nor graph is held."""
        copies = {name: array.copy() for name, array in self._kept.items()}
        for array in copies.values():
            array.flags.writeable = False
        return NodeTable(copies, self._sources)

    def node(self, number: int) -> Node:
        """Return a node with all its attributes."""
        aliases, xrefs = self._other_names(number)
        namer = int(self._kept["named_by"][number])
        return Node(
            id=self.ids[number],
            type=self.node_type(number),
            name=self._names[number],
            aliases=aliases,
            xrefs=xrefs,
            source=self._sources[namer] if namer >= 0 else "",
        )

    def node_type(self, number: int) -> NodeType:
        """Return a node's type."""
        return NODE_TYPES[self.types[number]]

    def named_nodes(self) -> Iterator[NamedNode]:
        """Yield every node with its names; much quicker than one by one."""
        types = [NODE_TYPES[code] for code in self.types.tolist()]
        for number, (kind, node_id, name, others) in enumerate(
            zip(types, self.ids, self._names, self._others, strict=True)
        ):
            aliases, xrefs = json.loads(others) if others else ([], [])
            yield NamedNode(number=number, type=kind, id=node_id, name=name, aliases=aliases, xrefs=xrefs)

    def some_named(self, numbers: Iterable[int]) -> Iterator[NamedNode]:
        """Yield some nodes with their names."""
        for number in numbers:
            aliases, xrefs = self._other_names(number)
            yield NamedNode(
                number=number,
                type=self.node_type(number),
                id=self.ids[number],
                name=self._names[number],
                aliases=aliases,
                xrefs=xrefs,
            )

    def key(self, leaving_out: Collection[NodeType] = ()) -> str:
        """Return a hash of all ids, types, names, aliases and external ids, in the order of the nodes.

        Two graphs of one key have the same nodes in the same order, apart from those of the types left out. It is
        taken over the stored bytes, so it costs milliseconds where reading every name costs a good part of a second.
        """
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


class NodesApart:
    """Nodes and their numbers of edges in memory of their own: what outlives a version of the graph works on.

    It needs no file and no graph to stay, so that the version with all its edges can go. Some 100 bytes a node.
    """

    def __init__(self, nodes: NodeTable, degrees: np.ndarray) -> None:
        """Copy what is needed; `degrees` holds the number of edges of each node."""
        self._nodes = nodes.apart()
        self._degrees = degrees.astype(np.int32)

    def node(self, number: int) -> Node:
        """Return a node with all its attributes."""
        return self._nodes.node(number)

    def node_type(self, number: int) -> NodeType:
        """Return a node's type."""
        return self._nodes.node_type(number)

    def degree(self, number: int) -> int:
        """Return the number of edges at a node, in both directions."""
        return int(self._degrees[number])
