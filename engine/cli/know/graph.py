"""The commands `kg ...`: what they do, through `engine.api`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.cli.know import show_candidates
from engine.cli.know import show_graph as show
from engine.cli.know.output import Counter, open_with, require_words
from engine.cli.say import emit, say
from engine.errors import UserError


def kg(options: argparse.Namespace) -> int:
    """Do what `kg` was asked."""
    if options.action == "fetch" and not options.name:
        from engine.api import public_sources

        listed = public_sources()
        return emit(options, listed, show.public_sources_text(listed))
    if options.action == "import" and options.preview:
        from engine.api import preview_graph_files

        _starter_wanted(options)
        seen = preview_graph_files(options.format, [Path(path) for path in options.paths], options.organism)
        return emit(options, seen.model_dump(mode="json"), show.preview_text(seen))
    with open_with(options) as engine:
        return _KG[options.action](engine.knowledge, options)


def _stats(graph: Any, options: argparse.Namespace) -> int:
    stats = graph.stats()
    return emit(options, stats.model_dump(mode="json"), show.stats_text(stats))


def _search(graph: Any, options: argparse.Namespace) -> int:
    require_words(options.text, "a name, an alias or an identifier, or a part of one")
    hits = graph.search(options.text, types=_types(options.types), top=options.top)
    return emit(options, [hit.model_dump(mode="json") for hit in hits], show.hits_text(hits))


def _neighbors(graph: Any, options: argparse.Namespace) -> int:
    found = graph.neighbours(
        options.id,
        hops=options.hops,
        node_types=_types(options.types),
        edge_types=_edges(options.edges),
        limit=options.limit,
    )
    return emit(options, found.model_dump(mode="json"), show.neighbourhood_text(found))


def _path(graph: Any, options: argparse.Namespace) -> int:
    a, b = graph.node(options.a), graph.node(options.b)
    if a.id == b.id:
        message = f"{_short(options.a)} and {_short(options.b)} are the same entity, {a.name}."
        raise UserError(message, advice="Give two different ones; `biodesk kg neighbors` shows what is around one.")
    if options.shortest:
        one = graph.shortest_path(a.id, b.id, max_hops=options.max_hops)
        found = [one] if one else []
    else:
        found = graph.paths(a.id, b.id, max_hops=options.max_hops, top=options.top)
    document = {"from": options.a, "to": options.b, "paths": [path.model_dump(mode="json") for path in found]}
    return emit(options, document, show.paths_text(found, options.a, options.b, options.max_hops))


def _candidates(graph: Any, options: argparse.Namespace) -> int:
    require_words(options.of, "an entity, by id or name")
    (sought,) = _types([options.sought])
    relation = next(iter(_edges([options.relation])), None) if options.relation else None
    found = graph.candidates(sought, options.of, relation=relation, top=options.top)
    return emit(options, found.model_dump(mode="json"), show_candidates.candidates_text(found))


def _edges_between(graph: Any, options: argparse.Namespace) -> int:
    found = graph.edges_between(options.a, options.b)
    names = {key: graph.node(key).name for key in {key for edge in found for key in (edge.source, edge.target)}}
    document = [edge.model_dump(mode="json") | {"source_name": names[edge.source], "target_name": names[edge.target]}
                for edge in found]  # fmt: skip
    return emit(options, document, show.edges_text(found, names))


def _check(graph: Any, options: argparse.Namespace) -> int:
    text = _standard_input() if options.text == "-" else options.text
    if not text.strip():
        raise UserError("There is no text to check.", advice="Give a sentence, or - and the text on standard input.")
    found = graph.check(text)
    return emit(options, show.check_document(found), show.check_text(found))


def _standard_input() -> str:
    """Return what stands on the standard input.

    Raises:
        UserError: when it is not UTF-8 text.
    """
    raw = getattr(sys.stdin, "buffer", None)
    if raw is None:  # a text stream in its place
        return sys.stdin.read()
    data = raw.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"The standard input is not UTF-8 text: line {line:,} has the byte 0x{data[error.start]:02x}."
        raise UserError(message, advice="Save the text as UTF-8 and give it again.") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        message = f"The standard input is not text: line {line:,} has a zero byte."
        raise UserError(message, advice="Give plain text in UTF-8.")
    return text


def _short(text: str) -> str:
    """Return what was typed as a message repeats it."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def _starter_wanted(options: argparse.Namespace) -> bool:
    """Say whether the starter graph is meant, which is no file.

    Raises:
        UserError: when files or a preview are asked for with it.
    """
    if options.format.strip().lower() != "starter":
        return False
    if options.paths or options.preview or options.name:
        message = "The starter graph comes with Biodesk: it takes no file, no name and no preview."
        raise UserError(message, advice="`biodesk kg import starter` loads it, `biodesk kg taught starter` shows it.")
    return True


def _import_graph(graph: Any, options: argparse.Namespace) -> int:
    if _starter_wanted(options):
        done = graph.restore_starter()
        return emit(options, done.model_dump(mode="json"), show.graph_import_text(done))
    done = graph.import_files(
        options.format,
        [Path(path) for path in options.paths],
        name=options.name,
        organism=options.organism,
        even_so=options.even_so,
        progress=Counter(options, "{:,} nodes and {:,} edges read"),
    )
    return emit(options, done.model_dump(mode="json"), show.graph_import_text(done))


def _fetch(graph: Any, options: argparse.Namespace) -> int:
    folder = Path(options.to) if options.to else None
    counter = Counter(options, "{}")

    def progress(name: str, got: int, of: int) -> None:
        counter(f"{name}: {got:,} of {of:,} bytes" if of else f"{name}: {got:,} bytes", 0)

    files = graph.fetch(options.name, folder, progress=progress, again=options.again)
    if options.bring:
        done = graph.import_fetched(
            options.name, files, even_so=options.even_so, progress=Counter(options, "{:,} nodes and {:,} edges read")
        )
        return emit(options, done.model_dump(mode="json"), show.graph_import_text(done))
    return emit(options, {"files": [str(file) for file in files]}, "\n".join(str(file) for file in files))


def _sources(graph: Any, options: argparse.Namespace) -> int:
    found = graph.stats().sources
    return emit(options, [source.model_dump(mode="json") for source in found], show.sources_text(found))


def _taught(graph: Any, options: argparse.Namespace) -> int:
    found = graph.taught(options.source)
    document = {
        "source": options.source,
        "nodes": [node.model_dump(mode="json") for node in found.nodes],
        "edges": [edge.model_dump(mode="json") for edge in found.edges],
    }
    return emit(options, document, show.taught_text(found, options.source))


def _remove(graph: Any, options: argparse.Namespace) -> int:
    graph.remove(options.source)
    text = f"What {options.source} stated was taken back."
    if options.source == "starter":
        text += " It stays away; `biodesk kg import starter` brings it back."
    return emit(options, {"removed": options.source}, text)


def _enrich(graph: Any, options: argparse.Namespace) -> int:
    extra: dict[str, Any] = {"edge_types": _edges(options.edges)} if options.edges else {}
    notes = _unknown(graph, options.genes, "genes")
    if options.background:
        extra["background"] = _genes_in(Path(options.background))
        notes += _unknown(graph, extra["background"], "genes of the background")
    found = graph.enrich(options.genes, **extra)[: options.top]
    if options.json and not options.quiet:
        for note in notes:
            say(note, to=sys.stderr)
    return emit(
        options,
        [item.model_dump(mode="json") for item in found],
        "\n".join([show.enriched_text(found), *[f"  note: {note}" for note in notes]]),
    )


def _unknown(graph: Any, genes: list[str], what: str) -> list[str]:
    """Return a note on the genes that the graph does not know, none when it knows all."""
    unknown = graph.unknown_genes(genes)
    some = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
    verb = "is" if len(unknown) == 1 else "are"
    note = f"{len(unknown):,} of the {len(genes):,} {what} {verb} not in the graph and left out: {some}."
    return [note] if unknown else []


def _genes_in(path: Path) -> list[str]:
    """Return the genes of a file: in lines, or separated by blanks, commas or semicolons.

    Raises:
        UserError: when it cannot be read or holds none.
    """
    try:
        genes = re.split(r"[\s,;]+", path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.", advice="Check the path.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text.", advice="Give a text file with one gene in each line.") from error
    found = list(dict.fromkeys(gene for gene in genes if gene))
    if not found:
        raise UserError(f"{path} holds no gene.", advice="Give a text file with one gene in each line.")
    return found


def _types(names: list[str]) -> list[Any]:
    from engine.api import NodeType

    return [_one_of(NodeType, name, "node type") for name in names]


def _edges(names: list[str]) -> list[Any]:
    from engine.api import EdgeType

    return [_one_of(EdgeType, name, "edge type") for name in names]


def _one_of(kinds: Any, name: str, what: str) -> Any:
    try:
        return kinds(name.strip().lower().replace(" ", "_").replace("-", "_"))
    except ValueError:
        known = ", ".join(kind.value for kind in kinds)
        raise UserError(f"{_short(name)!r} is no {what}.", advice=f"It can be: {known}.") from None


_KG: dict[str, Callable[[Any, argparse.Namespace], int]] = {
    "stats": _stats,
    "search": _search,
    "neighbors": _neighbors,
    "path": _path,
    "edges": _edges_between,
    "check": _check,
    "import": _import_graph,
    "fetch": _fetch,
    "sources": _sources,
    "taught": _taught,
    "remove": _remove,
    "enrich": _enrich,
    "candidates": _candidates,
}
