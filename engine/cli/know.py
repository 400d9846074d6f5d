"""The commands `tools search|import`, `memory ...` and `kg ...`: what they do, through `engine.api`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.cli import show_know as show
from engine.errors import UserError


def _engine(options: argparse.Namespace) -> Any:
    from engine.api import open_engine

    return open_engine(workspace=options.workspace, user=options.user, model=options.model)


def _emit(options: argparse.Namespace, document: Any, text: str) -> int:
    print(json.dumps(document, ensure_ascii=False, default=str) if options.json else text)
    return 0


class _Counter:
    """Progress on standard error: at most two lines a second, none when quiet."""

    def __init__(self, options: argparse.Namespace, what: str) -> None:
        self._quiet = options.quiet
        self._what = what
        self._last = 0.0

    def __call__(self, first: int, second: int) -> None:
        now = time.monotonic()
        if not self._quiet and now - self._last > 0.5:
            self._last = now
            print("  " + self._what.format(first, second), file=sys.stderr, flush=True)


def tools_search(options: argparse.Namespace) -> int:
    """Find tools."""
    with _engine(options) as engine:
        found = engine.search_tools(
            options.query,
            top=options.top,
            data=[path for group in options.data for path in group],
            domains=options.domain,
            explain=options.explain,
        )
    document = found.model_dump(mode="json")
    if not options.explain:
        document.pop("considered")
    return _emit(options, document, show.tool_search_text(found, explain=options.explain))


def tools_import(options: argparse.Namespace) -> int:
    """Import a catalogue."""
    with _engine(options) as engine:
        done = engine.catalogue.import_catalogue(
            options.kind,
            Path(options.path),
            name=options.name,
            progress=_Counter(options, "{:,} of {:,} texts embedded"),
        )
    return _emit(options, done.model_dump(mode="json"), show.catalogue_import_text(done))


def tools_catalogues(options: argparse.Namespace) -> int:
    """List catalogues."""
    with _engine(options) as engine:
        known = engine.catalogue.catalogues()
    return _emit(options, [info.model_dump(mode="json") for info in known], show.catalogues_text(known))


def tools_remove(options: argparse.Namespace) -> int:
    """Forget a catalogue."""
    with _engine(options) as engine:
        engine.catalogue.remove_catalogue(options.name)
    return _emit(options, {"removed": options.name}, f"The catalogue {options.name} was removed.")


def memory(options: argparse.Namespace) -> int:
    """Do what `memory` was asked."""
    with _engine(options) as engine:
        return _MEMORY[options.action](engine.memory, options)


def _episodes(memory: Any, options: argparse.Namespace) -> int:
    found = memory.episodic.episodes(search=options.text, limit=options.limit)
    return _emit(options, [e.model_dump(mode="json") for e in found], show.episodes_text(found))


def _recall(memory: Any, options: argparse.Namespace) -> int:
    found = memory.recall(
        options.query,
        top=options.top,
        domains=options.domain,
        tools=options.tool,
        success=options.success,
        min_relevance=options.min_relevance,
        explain=options.explain,
    )
    return _emit(options, show.recall_document(found), show.recall_text(found))


def _context(memory: Any, options: argparse.Namespace) -> int:
    told = memory.context(options.query, budget=options.budget)
    document = {
        "query": options.query,
        "text": told.text,
        "tokens": told.tokens,
        "budget": options.budget or memory.settings.recall_tokens,
        "episodes": [item.episode.id for item in told.recall.episodes],
    }
    return _emit(options, document, told.text or "Nothing relevant is remembered, so the planner is told nothing.")


def _facts(memory: Any, options: argparse.Namespace) -> int:
    found = memory.facts(options.entity)
    return _emit(options, [view.model_dump(mode="json") for view in found], show.facts_text(found))


def _add_fact(memory: Any, options: argparse.Namespace) -> int:
    source = options.source or memory.settings.user
    fact = memory.semantic.add(options.subject, options.predicate, options.object, source, options.confidence)
    against = [view for view in memory.facts(fact.subject) if view.fact.id == fact.id and view.contradicts]
    text = f"Remembered as {fact.id}."
    for other in against[0].contradicts if against else []:
        stated = f"{other.subject} {other.predicate} {other.object}"
        text += f"\nIt contradicts {other.id}: {stated} ({other.source}). Both are kept."
    return _emit(options, fact.model_dump(mode="json"), text)


def _retract(memory: Any, options: argparse.Namespace) -> int:
    was_in_graph = memory.semantic.fact(options.id).in_graph
    fact = memory.retract(options.id)
    left = " It left the knowledge graph." if was_in_graph else ""
    text = f"{options.id} was retracted; it is kept and can be restored.{left}"
    return _emit(options, fact.model_dump(mode="json"), text)


def _restore(memory: Any, options: argparse.Namespace) -> int:
    fact = memory.semantic.restore(options.id)
    return _emit(options, fact.model_dump(mode="json"), f"{options.id} is held again.")


def _pin(memory: Any, options: argparse.Namespace) -> int:
    episode = getattr(memory.episodic, options.action)(options.id)
    return _emit(options, episode.model_dump(mode="json"), f"{options.id} was {options.action}ned.")


def _edit(memory: Any, options: argparse.Namespace) -> int:
    if options.lessons is None and options.result is None:
        raise UserError("Nothing to change was given.", advice="Give --lessons TEXT or --result TEXT.")
    episode = memory.episodic.edit(options.id, lessons=options.lessons, result_summary=options.result)
    return _emit(options, episode.model_dump(mode="json"), f"{options.id} was changed.")


def _forget(memory: Any, options: argparse.Namespace) -> int:
    kind = memory.forget(options.id)
    return _emit(options, {"forgotten": options.id, "kind": kind}, f"The {kind} {options.id} was forgotten for good.")


def _contradictions(memory: Any, options: argparse.Namespace) -> int:
    pairs = memory.semantic.contradictions()
    document = [[one.model_dump(mode="json"), other.model_dump(mode="json")] for one, other in pairs]
    return _emit(options, document, show.contradictions_text(pairs))


def _to_graph(memory: Any, options: argparse.Namespace) -> int:
    done = memory.to_graph(options.ids)
    document = {"sent": done.sent, "skipped": done.skipped}
    text = f"{len(done.sent)} facts are in the graph now."
    return _emit(options, document, "\n".join([text, *[f"  passed over: {reason}" for reason in done.skipped]]))


def _working(memory: Any, options: argparse.Namespace) -> int:
    if options.conversation:
        view = memory.view(options.conversation)
        return _emit(options, view.model_dump(mode="json"), show.working_text(view))
    talks = [{"id": name, "newest": at, "messages": n} for name, at, n in memory.conversation_store.conversations()]
    return _emit(options, talks, show.conversations_text(talks))


def _export(memory: Any, options: argparse.Namespace) -> int:
    done = memory.export(Path(options.path))
    told = ", ".join(f"{count} {kind}" for kind, count in done.items())
    return _emit(options, done, f"Written to {options.path}: {told}.")


def _import(memory: Any, options: argparse.Namespace) -> int:
    done = memory.import_file(Path(options.path))
    text = f"{done.episodes} episodes, {done.facts} facts and {done.messages} messages were read; "
    text += f"{done.skipped} were there already."
    return _emit(options, done.model_dump(mode="json"), "\n".join([text, *[f"  note: {w}" for w in done.warnings]]))


_MEMORY: dict[str, Callable[[Any, argparse.Namespace], int]] = {
    "episodes": _episodes,
    "recall": _recall,
    "context": _context,
    "facts": _facts,
    "add-fact": _add_fact,
    "retract": _retract,
    "restore": _restore,
    "pin": _pin,
    "unpin": _pin,
    "edit": _edit,
    "forget": _forget,
    "contradictions": _contradictions,
    "to-graph": _to_graph,
    "working": _working,
    "export": _export,
    "import": _import,
}


def kg(options: argparse.Namespace) -> int:
    """Do what `kg` was asked."""
    if options.action == "fetch" and not options.name:
        from engine.api import public_sources

        listed = public_sources()
        return _emit(options, listed, show.public_sources_text(listed))
    if options.action == "import" and options.preview:
        from engine.api import preview_graph_files

        seen = preview_graph_files(options.format, [Path(path) for path in options.paths])
        return _emit(options, seen.model_dump(mode="json"), show.preview_text(seen))
    with _engine(options) as engine:
        return _KG[options.action](engine.knowledge, options)


def _stats(graph: Any, options: argparse.Namespace) -> int:
    stats = graph.stats()
    return _emit(options, stats.model_dump(mode="json"), show.stats_text(stats))


def _search(graph: Any, options: argparse.Namespace) -> int:
    hits = graph.search(options.text, types=_types(options.types), top=options.top)
    return _emit(options, [hit.model_dump(mode="json") for hit in hits], show.hits_text(hits))


def _neighbors(graph: Any, options: argparse.Namespace) -> int:
    found = graph.neighbours(
        options.id,
        hops=options.hops,
        node_types=_types(options.types),
        edge_types=_edges(options.edges),
        limit=options.limit,
    )
    return _emit(options, found.model_dump(mode="json"), show.neighbourhood_text(found))


def _path(graph: Any, options: argparse.Namespace) -> int:
    if options.shortest:
        one = graph.shortest_path(options.a, options.b, max_hops=options.max_hops)
        found = [one] if one else []
    else:
        found = graph.paths(options.a, options.b, max_hops=options.max_hops, top=options.top)
    document = {"from": options.a, "to": options.b, "paths": [path.model_dump(mode="json") for path in found]}
    return _emit(options, document, show.paths_text(found, options.a, options.b, options.max_hops))


def _edges_between(graph: Any, options: argparse.Namespace) -> int:
    found = graph.edges_between(options.a, options.b)
    return _emit(options, [edge.model_dump(mode="json") for edge in found], show.edges_text(found))


def _check(graph: Any, options: argparse.Namespace) -> int:
    text = sys.stdin.read() if options.text == "-" else options.text
    if not text.strip():
        raise UserError("There is no text to check.", advice="Give a sentence, or - and the text on standard input.")
    found = graph.check(text)
    return _emit(options, show.check_document(found), show.check_text(found))


def _import_graph(graph: Any, options: argparse.Namespace) -> int:
    done = graph.import_files(
        options.format,
        [Path(path) for path in options.paths],
        name=options.name,
        progress=_Counter(options, "{:,} nodes and {:,} edges read"),
    )
    return _emit(options, done.model_dump(mode="json"), show.graph_import_text(done))


def _fetch(graph: Any, options: argparse.Namespace) -> int:
    folder = Path(options.to) if options.to else graph.folder.parent / "downloads" / options.name
    counter = _Counter(options, "{:,} of {:,} bytes")
    files = graph.fetch(options.name, folder, progress=lambda _name, got, of: counter(got, of))
    if options.bring:
        done = graph.import_fetched(options.name, files, progress=_Counter(options, "{:,} nodes and {:,} edges read"))
        return _emit(options, done.model_dump(mode="json"), show.graph_import_text(done))
    return _emit(options, {"files": [str(file) for file in files]}, "\n".join(str(file) for file in files))


def _sources(graph: Any, options: argparse.Namespace) -> int:
    found = graph.stats().sources
    return _emit(options, [source.model_dump(mode="json") for source in found], show.sources_text(found))


def _taught(graph: Any, options: argparse.Namespace) -> int:
    found = graph.taught(options.source)
    document = {
        "source": options.source,
        "nodes": [node.model_dump(mode="json") for node in found.nodes],
        "edges": [edge.model_dump(mode="json") for edge in found.edges],
    }
    return _emit(options, document, show.taught_text(found, options.source))


def _remove(graph: Any, options: argparse.Namespace) -> int:
    graph.remove(options.source)
    return _emit(options, {"removed": options.source}, f"What {options.source} stated was taken back.")


def _enrich(graph: Any, options: argparse.Namespace) -> int:
    from engine.api import EdgeType

    extra = {"edge_types": [EdgeType(name) for name in options.edges]} if options.edges else {}
    found = graph.enrich(options.genes, **extra)[: options.top]
    return _emit(options, [item.model_dump(mode="json") for item in found], show.enriched_text(found))


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
        raise UserError(f"{name!r} is not a {what}.", advice=f"It can be: {known}.") from None


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
}
