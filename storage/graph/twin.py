"""The `GraphStore` without a disk: for tests and for graphs that should leave no trace.

Plain dictionaries, and slow where the real one is quick: `tests/contract` holds the two against each other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field

import numpy as np

from engine.domain.knowledge import EDGE_TYPES, Edge, EdgeRows, GraphImport, GraphSource, NodeRows
from engine.errors import NotFoundError, StorageError
from engine.ports.cancel import CancelToken
from engine.ports.graph import GraphColumns
from storage.graph.rows import (
    Incoming,
    Named,
    Progress,
    collect,
    left_out,
    no_source,
    other_type,
    unchanged,
    unique,
)

_Stated = tuple[str, int, str, str, float]
"""Head id, type code, tail id, relation, confidence."""


@dataclass(slots=True)
class _Source:
    """What a source states."""

    source: GraphSource
    mentions: dict[str, Named] = field(default_factory=dict)
    edges: dict[int, _Stated] = field(default_factory=dict)
    read_at: int = -1
    """The graph's version when it was last read."""


class GraphStoreTwin:
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
            kept = self._same_files(source)
            if kept is not None and kept.read_at == self._version:
                return unchanged(kept.source)
        incoming = collect(source, batches, progress, cancel)
        with self._lock:
            kept = self._same_files(source)
            return self._store(source, incoming) if kept is None else self._compared(kept, source, incoming)

    def _same_files(self, source: GraphSource) -> _Source | None:
        """Return the source as it is stored, if it has files and they are the same."""
        kept = next((kept for kept in self._sources.values() if kept.source.id == source.id), None)
        return kept if kept is not None and source.files and kept.source.files == source.files else None

    def _compared(self, kept: _Source, source: GraphSource, incoming: Incoming) -> GraphImport:
        """Store a source again, and undo that when nothing came of it."""
        before = {name: copy(value) for name, value in vars(self).items() if name != "_lock"}
        done = self._store(source, incoming)
        again = next(other for other in self._sources.values() if other.source.id == source.id)
        if again.mentions != kept.mentions or list(again.edges.values()) != list(kept.edges.values()):
            return done
        vars(self).update(before)
        kept.read_at = self._version
        # Warnings of reading come first and are the same; those of other types are for what is stored.
        lost = [text for text in done.warnings[len(incoming.warnings) :] if " left out: " in text]
        return unchanged(kept.source, incoming, lost)

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

    def mentioned_only_by(self, source_id: str) -> list[str]:
        """Return the ids of the nodes that no other source mentions, in no order; none for an unknown source."""
        with self._lock:
            kept = next((kept for kept in self._sources.values() if kept.source.id == source_id), None)
            return [node_id for node_id in kept.mentions if len(self._mentions(node_id)) == 1] if kept else []

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
        kept = _Source(source, mentions, read_at=self._version)
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
        """Give every node the type and name of the oldest source that has a name for it, else that mentions it."""
        for node_id in self._nodes:
            mentions = self._mentions(node_id)
            if mentions:
                self._nodes[node_id] = min(mentions, key=lambda said: said[1].name == node_id)[1]

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
        return unique(text for text in given if text not in (name, node_id))

    def _namer(self, node_id: str, numbers: list[int]) -> int:
        mentions = self._mentions(node_id)
        return numbers.index(min(mentions, key=lambda said: said[1].name == node_id)[0]) if mentions else -1


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
