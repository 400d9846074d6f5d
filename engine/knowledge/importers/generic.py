"""Graphs in general forms: tables of nodes and edges, GraphML, and NetworkX's node-link JSON.

`Builder` gives nodes and edges their types: what is not named as a type of this graph becomes `related_to`, with the
file's own word as the relation, and is counted. A node whose type is neither given nor visible in its id is left out.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from engine.domain.knowledge import SYMMETRIC, EdgeRows, EdgeType, NodeRows, NodeType
from engine.errors import DataError
from engine.knowledge.importers.reading.batches import BATCH, Batches, ImportReading
from engine.knowledge.importers.reading.format import Beginning, FormatInfo
from engine.knowledge.importers.reading.ids import is_number, type_of_id, xref
from engine.knowledge.importers.reading.kinds import edge_type, node_type
from engine.knowledge.importers.reading.tables import Table, listed
from engine.knowledge.importers.reading.text import bad_line, shown

NODE_COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("id", "node_id", "identifier"),
    "type": ("type", "kind", "node_type", "category"),
    "name": ("name", "node_name", "label", "title"),
    "aliases": ("aliases", "alias", "synonyms"),
    "xrefs": ("xrefs", "xref", "external_ids", "equivalent_identifiers"),
}
EDGE_COLUMNS: dict[str, tuple[str, ...]] = {
    "source": ("source", "source_id", "subject", "head", "from", "start_id"),
    "type": ("type", "edge_type", "predicate", "relationship", "interaction", "relation", "metaedge", "label"),
    "target": ("target", "target_id", "object", "tail", "to", "end_id"),
    "relation": ("relation", "original_relation", "display_relation"),
    "confidence": ("confidence",),
}


class Builder:
    """Collects nodes and edges of a general form and hands them on in batches."""

    def __init__(self, reading: ImportReading) -> None:
        self._reading = reading
        self._genes = reading.genes()
        self._ids: dict[str, str] = {}
        self.nodes = NodeRows()
        self.edges = EdgeRows()

    def node(self, id: str, type_word: str, name: str, aliases: list[str], xrefs: list[str]) -> None:
        """Add a node; one of an unknown type is left out and counted."""
        type = node_type(type_word) if type_word else None
        type = type or type_of_id(id)
        if type is None:
            what = f"the type {shown(type_word)}" if type_word else "no type"
            self._reading.count(f"nodes with {what} were left out, as the graph has no such type", id)
            return
        known = [text for text in (xref(text) for text in [id, *xrefs]) if text]
        # An id without a prefix is the file's own: `C3` may be its third gene, and not the gene of that symbol.
        wanted = dict.fromkeys([id, *known] if ":" in id else known)
        found = self._ids.get(id) or self._genes.existing(wanted, type) or self._by_symbol(id, type, name) or id
        self._ids[id] = found
        own = [text for text in (xref(text) for text in xrefs) if text]
        self.nodes.add(found, type, name or id, aliases, own)

    def _by_symbol(self, id: str, type: NodeType, name: str) -> str | None:
        """Return the gene that exists under the id, where the file knows the gene by no other name than its id."""
        if type is not NodeType.GENE or ":" in id or is_number(id) or name.casefold() not in ("", id.casefold()):
            return None
        found = self._genes.of_symbol(id)
        if found is not None:
            self._reading.count("ids are symbols of genes that the graph has; they are taken for those genes", id)
        return found

    def edge(
        self,
        source: str,
        type_word: str,
        target: str,
        relation: str,
        confidence: float | None,
        *,
        directed: bool = True,
    ) -> None:
        """Add an edge; one of an unknown type becomes `related_to` and is counted.

        One that the file says has no direction is read as it is written, and counted where its type has one.
        """
        type = edge_type(type_word)
        if type is None:
            relation = relation or type_word
            if type_word:
                self._reading.count(
                    "edges have a type that the graph does not know; they are `related_to`", shown(type_word)
                )
            type = EdgeType.RELATED_TO
        if not directed and type not in SYMMETRIC:
            what = "edges have no direction in the file, but are of a type that has one; their first end is the source"
            self._reading.count(what, f"{source} {type_word} {target}")
        self.edges.add(self._at(source), type, self._at(target), relation or type_word, confidence)

    def _at(self, node: str) -> str:
        found = self._ids.get(node)
        if found is None:  # not among the nodes given: perhaps in the graph, by this id or as an xref
            type = type_of_id(node)
            found = self._ids[node] = (self._genes.existing([node], type) if type else None) or node
        return found

    def full(self) -> Batches:
        """Yield what is collected once it fills a batch."""
        if len(self.nodes) >= BATCH or len(self.edges) >= BATCH:
            yield from self.rest()

    def rest(self) -> Batches:
        """Yield what is collected."""
        if len(self.nodes):
            yield self.nodes
            self.nodes = NodeRows()
        if len(self.edges):
            yield self.edges
            self.edges = EdgeRows()


def confidence_of(path: Path, line: int, value: Any) -> float | None:
    """Return a confidence, None for an empty one.

    Raises:
        DataError: for anything but a number from 0 to 1.
    """
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number <= 1:
        problem = f"the confidence is {shown(str(value))}; a number from 0 to 1 was expected."
        raise bad_line(path, line, problem)
    return number


def part_of(keys: list[str]) -> str:
    """Return `edges`, `nodes` or "" for a table by its columns (see `column_key`)."""
    columns = set(keys)
    if columns & set(EDGE_COLUMNS["source"]) and columns & set(EDGE_COLUMNS["target"]):
        return "edges"
    return "nodes" if columns & set(NODE_COLUMNS["id"]) else ""


def read(reading: ImportReading) -> Batches:
    """Yield the nodes of all tables of nodes, then the edges of all tables of edges.

    Raises:
        DataError: for a table of neither, a row that does not fit; names the line.
    """
    tables = [(path, part_of(Table(path).keys)) for path in reading.paths]
    for path, part in tables:
        if not part:
            header = ", ".join(Table(path).header[:12])
            message = (
                f"{path.name}, line 1: the columns are {header}; `id, type, name` (nodes) or "
                "`source, type, target` (edges) were expected."
            )
            raise DataError(message[:600], advice="Rename the columns so.")
    if all(part == "edges" for _, part in tables):
        reading.warnings.append("Only edges were given: those count whose nodes are in the graph already.")
    builder = Builder(reading)
    for path, part in tables:
        if part == "nodes":
            yield from _nodes(Table(path), builder)
    for path, part in tables:
        if part == "edges":
            yield from _edges(Table(path), builder)


def _nodes(table: Table, builder: Builder) -> Batches:
    at = {what: table.column(*names) for what, names in NODE_COLUMNS.items()}
    for number, row in table.rows():
        value = {what: row[place].strip() if place >= 0 else "" for what, place in at.items()}
        if not value["id"]:
            raise bad_line(table.path, number, "the id is missing.")
        aliases, xrefs = listed(value["aliases"]), listed(value["xrefs"])
        builder.node(value["id"], value["type"], value["name"], aliases, xrefs)
        yield from builder.full()
    yield from builder.rest()


def _edges(table: Table, builder: Builder) -> Batches:
    at = {what: table.column(*names) for what, names in EDGE_COLUMNS.items()}
    for number, row in table.rows():
        value = {what: row[place].strip() if place >= 0 else "" for what, place in at.items()}
        if not value["source"] or not value["target"]:
            raise bad_line(table.path, number, f"the {'target' if value['source'] else 'source'} is missing.")
        confidence = None
        if at["confidence"] >= 0:
            confidence = confidence_of(table.path, number, value["confidence"])
        builder.edge(value["source"], value["type"], value["target"], value["relation"], confidence)
        yield from builder.full()
    yield from builder.rest()


def node_of(builder: Builder, id: str, attributes: dict[str, Any]) -> None:
    """Add a node of GraphML or node-link JSON from its attributes."""
    text = {key.lower(): value for key, value in attributes.items()}
    type = str(_first(text, ("type", "kind", "node_type", "category", "labels")) or "")
    name = str(_first(text, ("name", "label", "title")) or "")
    builder.node(id, type, name, _list(_first(text, ("aliases", "synonyms"))), _list(_first(text, ("xrefs", "xref"))))


def edge_of(
    builder: Builder,
    path: Path,
    line: int,
    ends: tuple[str, str],
    attributes: dict[str, Any],
    *,
    directed: bool = True,
) -> None:
    """Add an edge of GraphML or node-link JSON from its attributes; `directed` is what the file says of it."""
    text = {key.lower(): value for key, value in attributes.items()}
    type = str(_first(text, ("type", "edge_type", "predicate", "interaction", "relation", "metaedge", "label")) or "")
    relation = str(_first(text, ("relation",)) or "")
    confidence = confidence_of(path, line, _first(text, ("confidence",)))
    builder.edge(ends[0], type, ends[1], relation, confidence, directed=directed)


def _first(attributes: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((attributes[name] for name in names if attributes.get(name) not in (None, "")), None)


def _list(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(item) for item in value if item not in (None, "")]
    return listed(str(value)) if value not in (None, "") else []


def _looks(beginning: Beginning) -> bool:
    part = part_of(beginning.keys)
    return part == "edges" or (part == "nodes" and bool({"type", "kind", "name", "node_type"} & set(beginning.keys)))


FORMAT = FormatInfo(
    name="tables",
    title="Tables of nodes and edges",
    description="Nodes: id, type, name, aliases, xrefs. Edges: source, type, target, relation, confidence.",
    extensions=(".tsv", ".csv"),
    files="a table of nodes, one of edges, or both",
    read=read,
    looks=_looks,
    order=8,
    also=("nodes", "edges", "tsv", "csv"),
)
