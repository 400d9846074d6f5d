"""The commands `tools search|import` and `memory ...`: what they do, through `engine.api`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.cli.know import show as show
from engine.cli.know.graph import kg
from engine.cli.know.output import Counter, open_with, require_words
from engine.cli.say import emit
from engine.cli.show_words import counted
from engine.errors import UserError

__all__ = ["kg", "memory", "tools_catalogues", "tools_import", "tools_remove", "tools_search"]


def tools_search(options: argparse.Namespace) -> int:
    """Find tools."""
    require_words(options.query, "what a tool should do, in words")
    with open_with(options) as engine:
        found = engine.search_tools(
            options.query,
            top=options.top,
            data=[path for group in options.data for path in group],
            domains=options.domain,
            explain=options.explain,
        )
        notes = _unknown_domains(engine, options.domain)
    found = found.model_copy(update={"notes": [*found.notes, *notes]})
    document = found.model_dump(mode="json")
    if not options.explain:
        document.pop("considered")
    return emit(options, document, show.tool_search_text(found, explain=options.explain))


def _unknown_domains(engine: Any, asked: list[str]) -> list[str]:
    """Return a note on each field that no tool belongs to, as such a hint has no effect."""
    if not asked:
        return []
    known = {entry.domain for entry in engine.catalogue.entries() if entry.domain}
    folded = {domain.lower() for domain in known}
    some = ", ".join(sorted(known)[:20]) + (", ..." if len(known) > 20 else "")
    return [
        f"No tool is of the domain {domain[:60]!r}, so it had no effect; there are: {some}."
        for domain in dict.fromkeys(asked)
        if domain.lower() not in folded
    ]


def tools_import(options: argparse.Namespace) -> int:
    """Import a catalogue."""
    with open_with(options) as engine:
        done = engine.catalogue.import_catalogue(
            options.kind,
            Path(options.path),
            name=options.name,
            progress=Counter(options, "{:,} of {:,} texts embedded"),
        )
    return emit(options, done.model_dump(mode="json"), show.catalogue_import_text(done))


def tools_catalogues(options: argparse.Namespace) -> int:
    """List catalogues."""
    with open_with(options) as engine:
        known = engine.catalogue.catalogues()
    return emit(options, [info.model_dump(mode="json") for info in known], show.catalogues_text(known))


def tools_remove(options: argparse.Namespace) -> int:
    """Forget a catalogue."""
    with open_with(options) as engine:
        engine.catalogue.remove_catalogue(options.name)
    return emit(options, {"removed": options.name}, f"The catalogue {options.name} was removed.")


def memory(options: argparse.Namespace) -> int:
    """Do what `memory` was asked."""
    with open_with(options) as engine:
        return _MEMORY[options.action](engine, options)


def _episodes(engine: Any, options: argparse.Namespace) -> int:
    found = engine.memory.episodes(search=options.text, limit=options.limit)
    return emit(options, [e.model_dump(mode="json") for e in found], show.episodes_text(found))


def _recall(engine: Any, options: argparse.Namespace) -> int:
    found = engine.memory.recall(
        options.query,
        top=options.top,
        domains=options.domain,
        tools=options.tool,
        success=options.success,
        min_relevance=options.min_relevance,
        explain=options.explain,
    )
    return emit(options, show.recall_document(found), show.recall_text(found))


def _context(engine: Any, options: argparse.Namespace) -> int:
    told = engine.memory.context(options.query, budget=options.budget)
    document = {
        "query": options.query,
        "text": told.text,
        "tokens": told.tokens,
        "budget": options.budget or engine.settings.recall_tokens,
        "episodes": told.told,
        "notes": told.recall.notes,
    }
    nothing = "Nothing relevant is remembered, so the planner is told nothing."
    text = told.text or ("" if told.recall.episodes else nothing)
    return emit(options, document, "\n".join(filter(None, [text, *[f"Note: {n}" for n in told.recall.notes]])))


def _facts(engine: Any, options: argparse.Namespace) -> int:
    if options.near:
        found = engine.memory.facts_near(options.near)
        document = [view.model_dump(mode="json") for view in found]
        return emit(options, document, show.near_facts_text(found))
    found = engine.memory.facts(options.entity)
    return emit(options, [view.model_dump(mode="json") for view in found], show.facts_text(found))


def _add_fact(engine: Any, options: argparse.Namespace) -> int:
    source = options.source or engine.settings.user
    done = engine.memory.state(options.subject, options.predicate, options.object, source, options.confidence)
    fact = done.fact
    against = [view for view in engine.memory.facts(fact.subject) if view.fact.id == fact.id and view.contradicts]
    text = _stated(fact, done.before)
    for other in against[0].contradicts if against else []:
        stated = f"{other.subject} {other.predicate} {other.object}"
        text += f"\nIt contradicts {other.id}: {stated} ({other.source}). Both are kept."
    return emit(options, fact.model_dump(mode="json"), text)


def _stated(fact: Any, before: Any) -> str:
    """Return what became of a statement that its source may have made before."""
    if before is None:
        return f"Remembered as {fact.id}."
    if before == fact:
        return f"Already known as {fact.id}, with the same confidence ({fact.confidence:g}); nothing changed."
    text = f"Already known as {fact.id}."
    if before.confidence != fact.confidence:
        text += f" Its confidence went from {before.confidence:g} to {fact.confidence:g}."
    return text + (" It had been retracted and is held again." if before.retracted else "")


def _retract(engine: Any, options: argparse.Namespace) -> int:
    was_in_graph = engine.memory.fact(options.id).in_graph
    fact = engine.memory.retract(options.id)
    left = " It left the knowledge graph." if was_in_graph else ""
    text = f"{options.id} was retracted; it is kept and can be restored.{left}"
    return emit(options, fact.model_dump(mode="json"), text)


def _restore(engine: Any, options: argparse.Namespace) -> int:
    fact = engine.memory.restore(options.id)
    return emit(options, fact.model_dump(mode="json"), f"{options.id} is held again.")


def _pin(engine: Any, options: argparse.Namespace) -> int:
    if options.message is None:
        changed = engine.memory.pin(options.id, pinned=options.action == "pin")
        return emit(options, changed.model_dump(mode="json"), f"{options.id} was {options.action}ned.")
    message = getattr(engine.memory, f"{options.action}_message")(options.id, options.message)
    text = f"Message {options.message} of {options.id} was {options.action}ned."
    return emit(options, message.model_dump(mode="json"), text)


def _doubt(engine: Any, options: argparse.Namespace) -> int:
    wrong = options.action == "doubt"
    changed = engine.memory.doubt(options.id, wrong=wrong)
    said = "is marked as wrong and will not be recalled" if wrong else "may be recalled again"
    return emit(options, changed.model_dump(mode="json"), f"{changed.id} {said}.")


def _edit(engine: Any, options: argparse.Namespace) -> int:
    if options.lessons is None and options.result is None:
        raise UserError("Nothing to change was given.", advice="Give --lessons TEXT or --result TEXT.")
    episode = engine.memory.edit_episode(options.id, lessons=options.lessons, result_summary=options.result)
    return emit(options, episode.model_dump(mode="json"), f"{options.id} was changed.")


def _forget(engine: Any, options: argparse.Namespace) -> int:
    gone = engine.memory.remove(options.id)
    what_went = gone.model_dump(include={"messages", "conversations", "sources"})
    document = {"forgotten": gone.id, "kind": gone.kind, **what_went}
    text = f"The {gone.kind} {gone.id} was forgotten for good."
    if gone.messages:
        text += f" {counted(gone.messages, 'message')} went with it."
    if gone.sources:
        what = "What its run taught" if gone.kind == "episode" else "Its edge in"
        text += f" {what} the knowledge graph was taken back."
    return emit(options, document, text)


def _contradictions(engine: Any, options: argparse.Namespace) -> int:
    pairs = engine.memory.contradictions()
    document = [[one.model_dump(mode="json"), other.model_dump(mode="json")] for one, other in pairs]
    return emit(options, document, show.contradictions_text(pairs))


def _to_graph(engine: Any, options: argparse.Namespace) -> int:
    done = engine.memory.to_graph(options.ids)
    document = {"sent": done.sent, "skipped": done.skipped, "new": done.new, "opposed": list(done.opposed)}
    text = f"In the graph now: {counted(len(done.sent), 'fact')}, {len(done.new):,} of them new."
    lines = [text, *[f"  passed over: {reason}" for reason in done.skipped]]
    return emit(options, document, "\n".join([*lines, *[f"  warning: {against}" for against in done.opposed]]))


def _working(engine: Any, options: argparse.Namespace) -> int:
    if options.conversation:
        view = engine.memory.view(options.conversation)
        return emit(options, view.model_dump(mode="json"), show.working_text(view))
    talks = [{"id": name, "newest": at, "messages": n} for name, at, n in engine.memory.conversations()]
    return emit(options, talks, show.conversations_text(talks))


def _export(engine: Any, options: argparse.Namespace) -> int:
    done = engine.memory.export(Path(options.path))
    told = ", ".join(f"{count} {kind}" for kind, count in done.items())
    return emit(options, done, f"Written to {options.path}: {told}.")


def _import(engine: Any, options: argparse.Namespace) -> int:
    done = engine.memory.import_file(Path(options.path))
    if not (done.episodes or done.facts or done.messages or done.skipped):
        why = f" ({done.warnings[0]})" if done.warnings else ""
        raise UserError(
            f"{options.path} holds no episode, no fact and no message{why}.",
            advice="Give a file that `biodesk memory export` wrote.",
        )
    text = f"{done.episodes} episodes, {done.facts} facts and {done.messages} messages were read; "
    text += f"{done.skipped} were there already."
    return emit(options, done.model_dump(mode="json"), "\n".join([text, *[f"  note: {w}" for w in done.warnings]]))


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
    "doubt": _doubt,
    "trust": _doubt,
    "edit": _edit,
    "forget": _forget,
    "contradictions": _contradictions,
    "to-graph": _to_graph,
    "working": _working,
    "export": _export,
    "import": _import,
}
