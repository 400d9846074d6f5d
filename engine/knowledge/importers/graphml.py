"""GraphML, read as a stream: nodes and edges with their `data`, keys by their `attr.name`.

http://graphml.graphdrawing.org/. A document type or an entity declaration is refused: GraphML needs neither, and
entities that expand into each other or read other files are how XML does harm.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from engine.errors import DataError
from engine.knowledge.importers.generic import Builder, edge_of, node_of
from engine.knowledge.importers.reading.batches import Batches, ImportReading
from engine.knowledge.importers.reading.format import Beginning, FormatInfo
from engine.knowledge.importers.reading.text import bad_line, damaged, open_bytes

_BLOCK = 1 << 16
_MAX_TEXT = 1 << 20
"""Longest value of one attribute, in characters."""


class _GraphmlReader:
    """Handlers of the XML parser; finished elements wait in `found`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: list[tuple[str, int, dict[str, str], dict[str, Any]]] = []
        self.graphs = 0
        self.directed = True
        """What the graph says of edges that do not say themselves."""
        self._keys: dict[str, str] = {}
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
        self._open: list[tuple[str, int, dict[str, str], dict[str, Any]]] = []
        self._key: str | None = None
        self._default_of: tuple[str, str] | None = None
        self._text: list[str] = []
        self._length = 0
        parser = self.parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def _refuse(self, *_: object) -> None:
        problem = "a document type or entity is declared, which GraphML does not need and Biodesk does not read."
        raise bad_line(self.path, self.line, problem, "Remove the DOCTYPE and import again.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if not self.graphs and tag not in ("graphml", "key", "desc", "default", "graph", "data"):
            raise bad_line(self.path, self.line, f"<{tag}> is no element of GraphML.", "Choose a .graphml file.")
        self._text.clear()
        self._length = 0
        if tag == "graph":
            self.graphs += 1
            self.directed = attributes.get("edgedefault") != "undirected"
        elif tag == "key":
            name = attributes.get("attr.name") or attributes.get("id", "")
            self._keys[attributes.get("id", "")] = name
            self._default_of = attributes.get("for", "all"), name
        elif tag in ("node", "edge"):
            for needed in ("id",) if tag == "node" else ("source", "target"):
                if not attributes.get(needed):
                    raise bad_line(self.path, self.line, f"<{tag}> has no attribute {needed!r}.")
            attributes.setdefault("directed", "true" if self.directed else "false")
            self._open.append((tag, self.line, attributes, {}))
        elif tag == "data":
            key = attributes.get("key", "")
            self._key = self._keys.get(key, key)

    def _characters(self, text: str) -> None:
        self._length += len(text)
        if self._length > _MAX_TEXT:
            raise bad_line(self.path, self.line, f"a value is longer than {_MAX_TEXT:,} characters.")
        self._text.append(text)

    def _end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        value = "".join(self._text).strip()
        if tag == "default" and self._default_of is not None:
            scope, name = self._default_of
            for kind in ("node", "edge"):
                if scope in (kind, "all"):
                    self._defaults[kind][name] = value
        elif tag == "data" and self._key is not None:
            if self._open:
                self._open[-1][3][self._key] = value
            self._key = None
        elif tag in ("node", "edge") and self._open:
            kind, line, attributes, data = self._open.pop()
            self.found.append((kind, line, attributes, {**self._defaults[kind], **data}))
        self._text.clear()
        self._length = 0


def read(reading: ImportReading) -> Batches:
    """Yield nodes and edges as they come.

    Raises:
        DataError: for XML that is not well formed, is not GraphML or declares entities; names the line.
    """
    builder = Builder(reading)
    for path in reading.paths:
        for kind, line, attributes, data in _elements(path):
            if kind == "node":
                node_of(builder, attributes["id"], data)
            else:
                ends = attributes["source"], attributes["target"]
                edge_of(builder, path, line, ends, data, directed=attributes["directed"] != "false")
            yield from builder.full()
    yield from builder.rest()


def _elements(path: Path) -> Iterator[tuple[str, int, dict[str, str], dict[str, Any]]]:
    reader = _GraphmlReader(path)
    with open_bytes(path) as handle:
        while True:
            try:
                block = handle.read(_BLOCK)
            except (OSError, EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise damaged(path, reader.line, error) from error
            try:
                reader.parser.Parse(block, not block)
            except expat.ExpatError as error:
                what = expat.errors.messages.get(error.code, "not well formed")
                problem = f"this is not well-formed XML ({what})."
                raise bad_line(path, error.lineno, problem, "The file may be cut short.") from error
            except (ValueError, LookupError) as error:  # an encoding that the parser does not know
                raise bad_line(path, reader.line, f"the XML cannot be read: {error}.") from error
            yield from reader.found
            reader.found.clear()
            if not block:
                break
    if not reader.graphs:
        raise DataError(f"{path.name} has no <graph>: it is no GraphML.", advice="Choose a .graphml file.")


def _looks(beginning: Beginning) -> bool:
    marked = beginning.ends(".graphml") or any("<graphml" in line for line in beginning.lines)
    return marked and beginning.first.startswith("<")


FORMAT = FormatInfo(
    name="graphml",
    title="GraphML",
    description="A graph as NetworkX, Cytoscape, yEd or igraph save it.",
    extensions=(".graphml", ".xml"),
    read=read,
    looks=_looks,
    order=4,
)
