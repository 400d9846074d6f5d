"""The knowledge graph's truth in DuckDB.

Nodes and edges have numbers that are handed out once and never again. What every source says of a node is
kept beside the node itself, so that a source can be taken back and the graph is then as if it had never
been there. An edge is one statement of one source: two sources that agree are two rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from pydantic import ValidationError

from engine.domain.knowledge import EDGE_TYPES, Edge, EdgeRows, GraphImport, GraphSource, NodeRows
from engine.errors import IntegrityError, NotFoundError, SchemaTooNew, StorageError
from engine.ports.cancel import CancelToken
from engine.ports.graph import GraphColumns
from storage.database import Database
from storage.graph import sql as graph_sql
from storage.graph import write as graph_write
from storage.graph.rows import Progress, check_cancelled, collect, no_source, unchanged
from storage.graph.same import stated_before

if TYPE_CHECKING:
    import duckdb

_KIND, _VERSION = "graph_source", 1

# A source that comes back gets a new number, so it is its id whose last state counts.
_REMOVED = """
    SELECT source_id FROM (
        SELECT *, row_number() OVER (PARTITION BY source_id ORDER BY graph_version DESC) AS age FROM graph_sources
    ) WHERE age = 1 AND NOT in_force ORDER BY graph_version
"""


class DuckGraphStore:
    """The `GraphStore` on disk."""

    def __init__(self, database: Database) -> None:
        """Use an open database; closing it is its owner's business."""
        self._db = database

    def version(self) -> int:
        """Return a number that grows with every change."""
        with self._db.reading() as connection:
            return graph_sql.state(connection).version

    def add(
        self,
        source: GraphSource,
        batches: Iterable[NodeRows | EdgeRows],
        *,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> GraphImport:
        """Store everything of a source in one transaction; all of it is there afterwards, or nothing.

        The same files are read again only when another source changed in between, as what they say may now find
        nodes it did not find then; when nothing comes of it the version stays and the answer is `unchanged`.

        Raises:
            DataError: for rows that cannot be stored; so does whatever the batches raise.
            Interrupted: when it was cancelled; nothing is stored then.
            StorageError: when the source has no id, or the database cannot be written.
        """
        if not source.id:
            raise StorageError(f"{source.name or 'A source'} cannot be stored without an id.")
        with self._db.reading() as connection:
            known = self._same_files(connection, source)
            if known is not None and graph_sql.read_at(connection, source.id) == graph_sql.state(connection).version:
                return unchanged(known)
        incoming = collect(source, batches, progress, cancel)
        with self._db.writing() as connection:
            known = self._same_files(connection, source)
            if known is not None:
                number = graph_sql.source_number(connection, source.id)
                warnings = stated_before(connection, source, number, incoming)
                if warnings is not None:
                    self._record(connection, number, known, in_force=True)  # it was read at this version
                    check_cancelled(source, cancel)
                    return unchanged(known, incoming, warnings)
            written = graph_write.replace(connection, source, incoming)
            stored = source.model_copy(
                update={"nodes": written.nodes_added, "edges": written.edges_added, "state": "complete"}
            )
            self._record(connection, written.number, stored, in_force=True)
            # The last moment at which nothing has happened yet.
            check_cancelled(source, cancel)
        return GraphImport(
            source=stored,
            nodes_read=incoming.nodes_read,
            edges_read=incoming.edges_read,
            nodes_added=written.nodes_added,
            edges_added=written.edges_added,
            warnings=[*incoming.warnings, *written.warnings],
            seconds=round(time.monotonic() - incoming.started, 3),
        )

    def remove_source(self, source_id: str) -> None:
        """Take back what a source stated: its edges, and nodes nobody else mentions.

        Raises:
            NotFoundError: when there is no such source.
        """
        with self._db.writing() as connection:
            known = {source.id: source for source in self._in_force(connection)}
            if source_id not in known:
                raise no_source(source_id, list(known))
            old = known[source_id]
            number = graph_sql.source_number(connection, source_id)
            graph_sql.next_version(connection)
            graph_write.take_back(connection, number)
            self._record(connection, number, old.model_copy(update={"state": "removed"}), in_force=False)

    def sources(self) -> list[GraphSource]:
        """Return the sources that are in force, oldest first."""
        with self._db.reading() as connection:
            return self._in_force(connection)

    def removed_sources(self) -> list[str]:
        """Return the ids of the sources that were taken back and not stored again since, in order of removal."""
        with self._db.reading() as connection:
            rows = connection.execute(_REMOVED).fetchall()
        return [str(row[0]) for row in rows]

    def mentioned_only_by(self, source_id: str) -> list[str]:
        """Return the ids of the nodes that no other source mentions, in no order; none for an unknown source."""
        with self._db.reading() as connection:
            connection.begin()
            try:
                return graph_sql.mentioned_only_by(connection, source_id)
            finally:
                connection.rollback()

    def columns(self) -> GraphColumns:
        """Return the whole graph, as it was at one moment."""
        with self._db.reading() as connection:
            connection.begin()  # one snapshot for all the queries
            try:
                return self._columns(connection)
            finally:
                connection.rollback()

    def edges(self, keys: Sequence[int]) -> list[Edge]:
        """Return edges by key, in the order given.

        Raises:
            NotFoundError: when a key names no edge, most often because its source was removed since.
        """
        wanted = np.asarray(keys, dtype=np.int64)
        if not len(wanted):
            return []
        with self._db.reading() as connection:
            connection.begin()
            try:
                sources = {source.id: source for source in self._in_force(connection)}
                rows = graph_sql.edges(connection, wanted)
            finally:
                connection.rollback()
        if len(rows) < len(wanted):
            raise NotFoundError(
                f"{len(wanted) - len(rows)} of {len(wanted)} edges are not in the knowledge graph any more.",
                advice="The graph was changed in between: ask again.",
            )
        return [_edge(row, sources) for row in rows]

    def _columns(self, connection: duckdb.DuckDBPyConnection) -> GraphColumns:
        state = graph_sql.state(connection)
        numbers = graph_sql.numbers_in_force(connection)
        place = np.full(state.next_source + 1, -1, dtype=np.int32)  # the last one is that of "nobody", -1
        place[numbers] = np.arange(len(numbers))
        nodes = graph_sql.nodes(connection)
        edges = graph_sql.all_edges(connection)
        where = np.full(state.next_node, -1, dtype=np.int32)
        where[nodes["node"]] = np.arange(len(nodes["node"]))
        aliases, xrefs = graph_sql.other_names(connection, where)
        return GraphColumns(
            version=state.version,
            ids=nodes["node_id"].tolist(),
            names=nodes["name"].tolist(),
            node_types=nodes["node_type"],
            aliases=aliases,
            xrefs=xrefs,
            sources=where[edges["head"]],
            targets=where[edges["tail"]],
            edge_types=edges["edge_type"],
            confidences=edges["confidence"],
            edge_keys=edges["edge"],
            named_by=place[nodes["named_by"]],
            edge_relations=edges["relation"],
            edge_origins=place[edges["source"]],
            relations=graph_sql.relations(connection),
            origins=self._in_force(connection),
        )

    def _same_files(self, connection: duckdb.DuckDBPyConnection, source: GraphSource) -> GraphSource | None:
        """Return the source as it is stored, if it has files and they are the same."""
        known = next((old for old in self._in_force(connection) if old.id == source.id), None)
        return known if known is not None and source.files and known.files == source.files else None

    def _in_force(self, connection: duckdb.DuckDBPyConnection) -> list[GraphSource]:
        return [_decode(version, payload) for version, payload in graph_sql.payloads_in_force(connection)]

    def _record(
        self, connection: duckdb.DuckDBPyConnection, number: int, source: GraphSource, *, in_force: bool
    ) -> None:
        """Write a source's newest state."""
        connection.execute(
            "INSERT INTO graph_sources VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                graph_sql.state(connection).version,
                number,
                source.id,
                in_force,
                _KIND,
                _VERSION,
                _encode(source),
            ],
        )


def _encode(source: GraphSource) -> str:
    try:
        payload = source.model_dump_json()
        GraphSource.model_validate_json(payload)
    except ValueError as error:
        raise StorageError(
            f"The record of {source.id!r} cannot be stored: it holds a value that has no JSON form.",
            advice="Use plain text and finite numbers.",
        ) from error
    return payload


def _decode(version: int, payload: str) -> GraphSource:
    if version > _VERSION:
        raise SchemaTooNew(
            f"A stored source of the knowledge graph has form {version}, but this version of Biodesk reads forms up "
            f"to {_VERSION}.",
            advice="Update Biodesk, or give another folder with --workspace.",
        )
    try:
        return GraphSource.model_validate_json(payload)
    except ValidationError as error:
        raise IntegrityError(
            f"A stored source of the knowledge graph cannot be read back; it begins with {payload[:80]!r}.",
            advice="Put back a copy of the workspace's database from a backup; the artifacts are intact.",
        ) from error


def _edge(row: tuple, sources: dict[str, GraphSource]) -> Edge:
    head, code, tail, relation, confidence, origin = row
    source = sources.get(origin)
    return Edge(
        source=head,
        type=EDGE_TYPES[code],
        target=tail,
        relation=relation,
        origin=origin,
        confidence=round(float(confidence), 6),
        at=source.at if source else "",
        license=source.license if source else "",
    )
