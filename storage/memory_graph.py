"""The `GraphStore` without a disk: for tests and for graphs that should leave no trace.

Plain dictionaries, and slow where the real one is quick: `tests/contract` holds the two against each other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.domain.knowledge import EDGE_TYPES, Edge, EdgeRows, GraphImport, GraphSource, NodeRows
from engine.errors import NotFoundError, StorageError
from engine.ports import CancelToken, GraphColumns
from storage.graph_rows import Incoming, Named, Progress, collect, left_out, no_source, other_type, unique

_Stated = tuple[str, int, str, str, float]
"""Head id, type code, tail id, relation, confidence."""


@dataclass(slots=True)
class _Source:
    """What a source states."""

    source: GraphSource
    mentions: dict[str, Named] = field(default_factory=dict)
    edges: dict[int, _Stated] = field(default_factory=dict)


class MemoryGraphStore:
    """The `GraphStore` in memory."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._version = 0
        self._next_edge = 0
        self._next_source = 0
        self._removed: dict[str, None] = {}
        """Ids of the sources that were taken back, in that order."""
        self._sources: dict[int, _Source] = {}
        """By number; a lower number was there first."""
        self._nodes: dict[str, Named] = {}
        """Every node with its type and name, in the order they came; aliases and xrefs are in the mentions."""

    def version(self) -> int:
        """Return a number that grows with every change."""
        with self._lock:
            return self._version

    def add(
        self,
        source: GraphSource,
        batches: Iterable[NodeRows | EdgeRows],
        *,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> GraphImport:
        """Store everything of a source; all of it is there afterwards, or nothing."""
        if not source.id:
            raise StorageError(f"{source.name or 'A source'} cannot be stored without an id.")
        with self._lock:
            known = next((kept.source for kept in self._sources.values() if kept.source.id == source.id), None)
        if known is not None and source.files and known.files == source.files:
            return GraphImport(source=known, nodes_read=0, edges_read=0, nodes_added=0, edges_added=0, unchanged=True)
        incoming = collect(source, batches, progress, cancel)
        with self._lock:
            return self._store(source, incoming)

    def remove_source(self, source_id: str) -> None:
        """Take back what a source stated: its edges, and nodes nobody else mentions.

        Raises:
            NotFoundError: when there is no such source.
        """
        with self._lock:
            if self._take_back(source_id) < 0:
                raise no_source(source_id, [source.id for source in self.sources()])
            self._removed[source_id] = None
            self._version += 1

    def sources(self) -> list[GraphSource]:
        """Return the sources that are in force, oldest first."""
        with self._lock:
            return [self._sources[number].source for number in sorted(self._sources)]

    def removed_sources(self) -> list[str]:
        """Return the ids of the sources that were taken back and not stored again since, in order of removal."""
        with self._lock:
            return list(self._removed)

    def columns(self) -> GraphColumns:
        """Return the whole graph."""
        with self._lock:
            numbers = sorted(self._sources)
            place = {node_id: position for position, node_id in enumerate(self._nodes)}
            edges = sorted(
                (key, *stated, origin)
                for origin, number in enumerate(numbers)
                for key, stated in self._sources[number].edges.items()
            )
            relations = {name: code for code, name in enumerate(dict.fromkeys(edge[4] for edge in edges))}
            aliases = {place[node_id]: self._other_names(node_id) for node_id in self._nodes}
            xrefs = {
                place[node_id]: unique(text for _, node in self._mentions(node_id) for text in node.xrefs)
                for node_id in self._nodes
            }
            return GraphColumns(
                version=self._version,
                ids=list(self._nodes),
                names=[node.name for node in self._nodes.values()],
                node_types=np.array([node.type for node in self._nodes.values()], dtype=np.uint8),
                aliases={number: names for number, names in aliases.items() if names},
                xrefs={number: ids for number, ids in xrefs.items() if ids},
                sources=np.array([place[edge[1]] for edge in edges], dtype=np.int32),
                targets=np.array([place[edge[3]] for edge in edges], dtype=np.int32),
                edge_types=np.array([edge[2] for edge in edges], dtype=np.uint8),
                confidences=np.array([edge[5] for edge in edges], dtype=np.float32),
                edge_keys=np.array([edge[0] for edge in edges], dtype=np.int64),
                named_by=np.array([self._namer(node_id, numbers) for node_id in self._nodes], dtype=np.int32),
                edge_relations=np.array([relations[edge[4]] for edge in edges], dtype=np.int32),
                edge_origins=np.array([edge[6] for edge in edges], dtype=np.int32),
                relations=list(relations),
                origins=self.sources(),
            )

    def edges(self, keys: Sequence[int]) -> list[Edge]:
        """Return edges by key, in the order given.

        Raises:
            NotFoundError: when a key names no edge, most often because its source was removed since.
        """
        with self._lock:
            found: list[Edge] = []
            for key in keys:
                kept = next((kept for kept in self._sources.values() if int(key) in kept.edges), None)
                if kept is not None:
                    found.append(_edge(kept.source, kept.edges[int(key)]))
        if len(found) < len(keys):
            raise NotFoundError(
                f"{len(keys) - len(found)} of {len(keys)} edges are not in the knowledge graph any more.",
                advice="The graph was changed in between: ask again.",
            )
        return found

    def _store(self, source: GraphSource, incoming: Incoming) -> GraphImport:
        number = self._take_back(source.id)
        self._removed.pop(source.id, None)
        if number < 0:
            number, self._next_source = self._next_source, self._next_source + 1
        self._version += 1
        warnings = list(incoming.warnings)
        mentions = {incoming.ids[place]: node for place, node in incoming.named.items()}
        other = [key for key, node in mentions.items() if key in self._nodes and self._nodes[key].type != node.type]
        if other:
            warnings.append(other_type(other[0], self._nodes[other[0]].type, mentions[other[0]].type, len(other)))
        before = len(self._nodes)
        for node_id, node in mentions.items():
            self._nodes.setdefault(node_id, node)
        kept = _Source(source, mentions)
        self._sources[number] = kept
        unknown: dict[int, str] = {}
        for place in range(len(incoming.heads)):
            ends = [int(incoming.heads[place]), int(incoming.tails[place])]
            missing = {end: incoming.ids[end] for end in ends if incoming.ids[end] not in self._nodes}
            unknown.update(missing)
            if missing:
                continue
            kept.edges[self._next_edge] = (
                incoming.ids[ends[0]],
                int(incoming.types[place]),
                incoming.ids[ends[1]],
                incoming.relations[int(incoming.relation_codes[place])],
                float(incoming.confidences[place]),
            )
            self._next_edge += 1
        if len(kept.edges) < len(incoming.heads):
            dropped = len(incoming.heads) - len(kept.edges)
            warnings.append(left_out(source, dropped, [unknown[place] for place in sorted(unknown)]))
        self._name_nodes()
        added = len(self._nodes) - before
        kept.source = source.model_copy(update={"nodes": added, "edges": len(kept.edges), "state": "complete"})
        return GraphImport(
            source=kept.source,
            nodes_read=incoming.nodes_read,
            edges_read=incoming.edges_read,
            nodes_added=added,
            edges_added=len(kept.edges),
            warnings=warnings,
            seconds=round(time.monotonic() - incoming.started, 3),
        )

    def _take_back(self, source_id: str) -> int:
        """Remove a source's statements and return its number, -1 when there is no such source."""
        number = next((number for number, kept in self._sources.items() if kept.source.id == source_id), -1)
        if number < 0:
            return -1
        del self._sources[number]
        touched = {end for kept in self._sources.values() for stated in kept.edges.values() for end in stated[0:3:2]}
        self._nodes = {
            node_id: node for node_id, node in self._nodes.items() if node_id in touched or self._mentions(node_id)
        }
        self._name_nodes()
        return number

    def _name_nodes(self) -> None:
        """Give every node the type and name of the oldest source that mentions it."""
        for node_id in self._nodes:
            mentions = self._mentions(node_id)
            if mentions:
                self._nodes[node_id] = mentions[0][1]

    def _mentions(self, node_id: str) -> list[tuple[int, Named]]:
        """Return what is said of a node, the oldest source first."""
        return [
            (number, self._sources[number].mentions[node_id])
            for number in sorted(self._sources)
            if node_id in self._sources[number].mentions
        ]

    def _other_names(self, node_id: str) -> list[str]:
        name = self._nodes[node_id].name
        given = [text for _, node in self._mentions(node_id) for text in (node.name, *node.aliases)]
        return unique(text for text in given if text != name)

    def _namer(self, node_id: str, numbers: list[int]) -> int:
        mentions = self._mentions(node_id)
        return numbers.index(mentions[0][0]) if mentions else -1


def _edge(source: GraphSource, stated: _Stated) -> Edge:
    head, code, tail, relation, confidence = stated
    return Edge(
        source=head,
        type=EDGE_TYPES[code],
        target=tail,
        relation=relation,
        origin=source.id,
        confidence=round(confidence, 6),
        at=source.at,
        license=source.license,
    )
