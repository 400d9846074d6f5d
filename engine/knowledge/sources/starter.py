"""The starter graph: textbook facts that ship with Biodesk, so that a first question meets a graph that is not empty.

Written for this project from general knowledge of the field and kept in `data/starter_nodes.tsv` and one
`data/starter_edges_<theme>.tsv` a theme. Every edge says `starter` as its relation and carries no reference, because
none was looked up. Identifiers follow Hetionet's (`Gene::7157`, `Compound::DB00619`, `Disease::DOID:1612`) wherever
they were verified, so that an import of Hetionet joins these nodes instead of doubling them; others are
`prefix:words-of-the-name`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.resources import files

from engine.domain.knowledge import EdgeRows, EdgeType, GraphSource, NodeRows, NodeType

SOURCE_ID = "starter"
RELATION = "starter"
CONFIDENCE = 0.7
THEMES = (
    "cell_types",
    "tissues",
    "processes",
    "transcription_factors",
    "signalling",
    "drugs",
    "diseases",
    "domains",
)
"""What there are files of edges about, in the order in which they are given."""

_NODES_FILE = "starter_nodes.tsv"
_NODE_COLUMNS = ("id", "type", "name", "aliases", "xrefs")
_EDGE_COLUMNS = ("source", "type", "target", "source_name", "target_name")


def starter_source() -> GraphSource:
    """Return the source that the starter graph's edges name, with the SHA-256 of its files."""
    names = [_NODES_FILE, *(_edges_file(theme) for theme in THEMES)]
    return GraphSource(
        id=SOURCE_ID,
        name="Starter knowledge (curated, textbook)",
        kind="starter",
        license="Apache-2.0",
        files={name: hashlib.sha256(_read(name)).hexdigest() for name in names},
        confidence=CONFIDENCE,
    )


def starter_batches() -> Iterator[NodeRows | EdgeRows]:
    """Yield all nodes, then the edges of one theme after another; every edge's ends are among the nodes."""
    nodes = NodeRows()
    for node_id, kind, name, aliases, xrefs in _rows(_NODES_FILE, _NODE_COLUMNS):
        nodes.add(node_id, NodeType(kind), name, _listed(aliases), _listed(xrefs))
    yield nodes
    for theme in THEMES:
        edges = EdgeRows()
        for source, kind, target, _source_name, _target_name in _rows(_edges_file(theme), _EDGE_COLUMNS):
            edges.add(source, EdgeType(kind), target, RELATION)
        yield edges


def _edges_file(theme: str) -> str:
    return f"starter_edges_{theme}.tsv"


def _read(name: str) -> bytes:
    return files("engine.knowledge").joinpath("data", name).read_bytes()


def _rows(name: str, columns: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield the fields of a table's rows; the names of an edge's ends are there for its readers."""
    header, *lines = _read(name).decode("utf-8").splitlines()
    if tuple(header.split("\t")) != columns:
        message = f"{name} has the columns {header!r}; expected {', '.join(columns)}"
        raise ValueError(message)
    for number, line in enumerate(lines, start=2):
        fields = line.split("\t")
        if len(fields) != len(columns):
            message = f"{name} line {number} has {len(fields)} fields; expected {len(columns)}"
            raise ValueError(message)
        yield fields


def _listed(field: str) -> list[str]:
    return field.split("|") if field else []
