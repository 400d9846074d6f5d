"""One way in for every format: what a file is, what it would add, and its nodes and edges in batches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from engine.domain.base import Value
from engine.domain.knowledge import Edge, EdgeRows, GraphSource, Node, NodeRows, NodeType
from engine.errors import DataError, UserError
from engine.knowledge.importers.formats import FORMATS, detect, format_named
from engine.knowledge.importers.reading.batches import Batches, ImportReading
from engine.knowledge.importers.reading.format import FormatInfo
from engine.knowledge.importers.reading.ids import Resolve, is_number, normal_organism, slug
from engine.knowledge.importers.reading.text import check_readable, numbered_lines, shown

__all__ = ["FORMATS", "FormatInfo", "ImportPreview", "detect", "format_named", "open_import", "preview"]

PREVIEW_ROWS = 200_000
"""Rows a preview reads at most; a smaller file's counts are exact."""


LONGEST_ID = 1_000
LONGEST_NAME = 10_000
"""Characters an id or symbol, and a name, alias or identifier elsewhere, may have; the longest real ones are of
chemicals and have a few thousand."""


class ImportPreview(Value):
    """The first rows of what an import would add."""

    format: str
    source: GraphSource
    nodes: list[Node]
    edges: list[Edge]
    nodes_read: int
    edges_read: int
    complete: bool
    """True when the files were read to their end, so the counts are exact; else they are what was looked at."""
    warnings: list[str] = []


def open_import(
    format: str,
    paths: Sequence[Path | str],
    *,
    name: str | None = None,
    organism: str = "human",
    resolve: Resolve | None = None,
    license: str | None = None,
    url: str | None = None,
) -> tuple[GraphSource, Iterator[NodeRows | EdgeRows], list[str]]:
    """Open files of knowledge.

    Args:
        format: A name in `FORMATS`, or `auto`.
        paths: The files; order does not matter.
        name: What the source is called; by default after its files or ontology. The source's id follows from
            the format and the name, so that a newer release under the same name replaces the older one.
        organism: Whose genes they are where the file does not say.
        resolve: Finds nodes that exist, so that this import attaches to them.
        license: The terms, where they are known better than by the format.
        url: Where the files came from.

    Returns:
        The source with the files' hashes, the batches (read as they are taken), and the warnings, which are
        complete after the last batch.

    Raises:
        DataError: now for files that cannot be opened, later for lines that do not fit.
        UserError: for an unknown format.
    """
    files = [Path(path) for path in paths]
    if not files:
        raise UserError("No file was given to import.", advice="Name at least one file.")
    for path in files:
        check_readable(path)
    info = format_named(detect(files) if format.strip().lower() in ("", "auto") else format)
    reading = ImportReading(paths=files, organism=organism, resolve=resolve)
    source = _source(info, reading, name, license, url)
    return source, _checked(info, reading), reading.warnings


def preview(
    format: str,
    paths: Sequence[Path | str],
    rows: int = 20,
    *,
    name: str | None = None,
    organism: str = "human",
    resolve: Resolve | None = None,
) -> ImportPreview:
    """Return the first nodes and edges of an import, and counts; errors as in `open_import`."""
    source, batches, warnings = open_import(format, paths, name=name, organism=organism, resolve=resolve)
    nodes: list[Node] = []
    edges: list[Edge] = []
    seen = [0, 0]
    complete = True
    for batch in batches:
        if isinstance(batch, NodeRows):
            seen[0] += len(batch)
            nodes.extend(_nodes(batch, rows - len(nodes), source.id))
        else:
            seen[1] += len(batch)
            edges.extend(_edges(batch, rows - len(edges), source))
        if sum(seen) >= PREVIEW_ROWS and len(edges) >= rows:
            complete = False
            break
    return ImportPreview(
        format=source.kind,
        source=source,
        nodes=nodes,
        edges=edges,
        nodes_read=seen[0],
        edges_read=seen[1],
        complete=complete,
        warnings=list(warnings),
    )


def _nodes(batch: NodeRows, count: int, source: str) -> list[Node]:
    return [
        Node(
            id=batch.ids[at],
            type=batch.types[at],
            name=batch.names[at],
            aliases=batch.aliases[at],
            xrefs=batch.xrefs[at],
            source=source,
        )
        for at in range(min(max(count, 0), len(batch)))
    ]


def _edges(batch: EdgeRows, count: int, source: GraphSource) -> list[Edge]:
    found: list[Edge] = []
    for at in range(min(max(count, 0), len(batch))):
        confidence = batch.confidences[at]
        found.append(
            Edge(
                source=batch.sources[at],
                type=batch.types[at],
                target=batch.targets[at],
                relation=batch.relations[at],
                origin=source.id,
                confidence=source.confidence if confidence is None else confidence,
                license=source.license,
            )
        )
    return found


def _checked(info: FormatInfo, reading: ImportReading) -> Batches:
    rows = 0
    for batch in info.read(reading):
        rows += len(batch)
        _refuse_endless(batch, reading.paths)
        if isinstance(batch, NodeRows):
            _name_no_gene_by_number(batch)
        yield batch
    if not rows:
        names = ", ".join(path.name for path in reading.paths)
        message = f"{names}: no node and no edge was found in what was read as {info.title}."
        raise DataError(message, advice="Check that the format is right.")
    reading.finish()


def _refuse_endless(batch: NodeRows | EdgeRows, paths: list[Path]) -> None:
    """Refuse a batch with an id or a name that no database has; it would become an entity without a word.

    Raises:
        DataError: naming the file and the line.
    """
    if isinstance(batch, NodeRows):
        others = chain(batch.names, *(filter(None, batch.aliases)), *(filter(None, batch.xrefs)))
        columns = (("id", batch.ids, LONGEST_ID), ("name", others, LONGEST_NAME))
    else:
        columns = (("id", batch.sources, LONGEST_ID), ("id", batch.targets, LONGEST_ID))
    for what, texts, longest in columns:
        text = max(texts, key=len, default="")
        if len(text) > longest:
            # The reader may have put a prefix before it or changed its capitals: its middle is what the file has.
            path, line = _place_of(text[100:400], paths)
            where = f"{path.name}, line {line:,}" if line else path.name
            message = f"{where}: the {what} {shown(text, 40)} has {len(text):,} characters, where at most {longest:,} "
            raise DataError(f"{message}were expected.", advice="Correct the line and import again.")


def _place_of(text: str, paths: list[Path]) -> tuple[Path, int]:
    """Return the file and the line that hold a text; line 0 where it is written otherwise."""
    wanted = text.casefold()
    for path in paths:
        for number, line in numbered_lines(path, longest=None):
            if wanted in line.casefold():
                return path, number
    return paths[0], 0


def _name_no_gene_by_number(batch: NodeRows) -> None:
    """Take bare numbers from the names of genes, in place; a gene without another name is called by its id.

    A text is full of numbers (`in 1956 patients`), which would all be claims about genes otherwise.
    """
    for at, type in enumerate(batch.types):
        if type is NodeType.GENE or type is NodeType.PROTEIN:
            if is_number(batch.names[at]):
                batch.names[at] = batch.ids[at]
            if any(map(is_number, batch.aliases[at])):
                batch.aliases[at] = [alias for alias in batch.aliases[at] if not is_number(alias)]


def _source(
    info: FormatInfo, reading: ImportReading, name: str | None, license: str | None, url: str | None
) -> GraphSource:
    files: dict[str, str] = {}
    fetched: dict[str, str] = {}
    for path in reading.paths:
        digest = sha256_file(path)
        known = f"{path.parent.name}/{path.name}" if path.name in files else path.name
        files[known] = digest
        fetched = fetched or _fetched(path, digest)
    default, own_license = info.called(reading.paths, " + ".join(_stem(path) for path in reading.paths))
    title = (name or "").strip() or default
    organism = normal_organism(reading.organism)
    suffix = "" if organism == "human" else f":{slug(organism)}"
    return GraphSource(
        id=f"{info.name}:{slug(title if name else default.partition(' (')[0])}{suffix}",
        name=title,
        kind=info.name,
        license=license or fetched.get("license") or own_license or info.license,
        url=url or fetched.get("url") or info.url,
        files=files,
    )


def _stem(path: Path) -> str:
    name = path.name
    for ending in (".gz", *sorted({extension for info in FORMATS.values() for extension in info.extensions})):
        name = name.removesuffix(ending)
    return name or path.name


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises:
        DataError: when it cannot be read.
    """
    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror or error}.") from error


def _fetched(path: Path, digest: str) -> dict[str, str]:
    """Return what `fetch` noted beside a file, if the file is still the one it fetched."""
    try:
        note = json.loads(path.with_name(f"{path.name}.origin.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(note, dict) or note.get("sha256") != digest:
        return {}
    return {key: value for key, value in note.items() if isinstance(value, str)}
