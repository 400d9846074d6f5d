"""What `tools search` and `memory` print for people, and the JSON documents that differ from the plain values.

What `kg` prints is in `show_graph` and can be had from here too.
"""

from __future__ import annotations

from typing import Any

from engine.cli.know.show_graph import (
    check_document,
    check_text,
    edges_text,
    enriched_text,
    graph_import_text,
    hits_text,
    neighbourhood_text,
    paths_text,
    preview_text,
    public_sources_text,
    sources_text,
    stats_text,
    taught_text,
)
from engine.cli.show_words import counted, short

__all__ = [
    "catalogue_import_text",
    "catalogues_text",
    "check_document",
    "check_text",
    "contradictions_text",
    "conversations_text",
    "edges_text",
    "enriched_text",
    "episodes_text",
    "facts_text",
    "graph_import_text",
    "hits_text",
    "near_facts_text",
    "neighbourhood_text",
    "paths_text",
    "preview_text",
    "public_sources_text",
    "recall_document",
    "recall_text",
    "sources_text",
    "stats_text",
    "taught_text",
    "tool_search_text",
    "working_text",
]

# ==== tools ====


def tool_search_text(found: Any, *, explain: bool) -> str:
    """Return the tools found, best first; with `explain` every stage."""
    seconds = found.stages.seconds
    lines: list[str] = ["Nothing in the catalogues matches well; this is the nearest:"] if found.match == "weak" else []
    for rank, tool in enumerate(found.tools, start=1):
        mark = "runs here" if tool.runnable else f"in {tool.catalogue}, not runnable here"
        lines += [
            f"{rank:>3}  {tool.name}  ({tool.score:.2f}; {mark})",
            f"     {short(tool.description or tool.title)}",
        ]
        lines.append(f"     {tool.why}")
        if explain:
            parts = ", ".join(f"{name} {value:.2f}" for name, value in tool.parts.items())
            lines.append(f"     entered by {tool.entered}{f', {tool.because_of}' if tool.because_of else ''}; {parts}")
    if not found.tools:
        lines.append("No tool fits.")
    stages = found.stages
    lines += ["", f"search {stages.search}, expand {stages.expand}, rerank {stages.rerank} ({found.method})"]
    if explain:
        lines.append("  " + ", ".join(f"{name} {1000 * value:.1f} ms" for name, value in seconds.items()))
        lines.append("  weights: " + ", ".join(f"{name} {value:g}" for name, value in found.weights.items()))
        told = ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in found.evidence.items())
        lines.append(f"  match: {found.match} ({told})")
        shown = {tool.name for tool in found.tools}
        rest = [tool for tool in found.considered if tool.name not in shown]
        lines += ["", f"Also considered ({len(rest)}):"] if rest else []
        lines += [
            f"  {t.name} ({t.score:.2f}; {t.entered}{f', {t.because_of}' if t.because_of else ''})" for t in rest[:60]
        ]
    lines += [f"Note: {note}" for note in found.notes]
    return "\n".join(lines)


def catalogue_import_text(done: Any) -> str:
    """Return what an import of a catalogue did."""
    info = done.catalogue
    if done.unchanged:
        head = f"{info.name} is the same as before: {counted(info.entries, 'tool')}, nothing to do."
    else:
        changes = f"{done.added:,} new, {done.changed:,} changed, {done.removed:,} gone"
        head = f"{info.name}: {counted(info.entries, 'tool')} ({changes}) in {done.seconds:.1f} s."
    return "\n".join([head, *[f"  note: {text}" for text in done.warnings]])


def catalogues_text(known: list[Any]) -> str:
    """Return one line a catalogue."""
    if not known:
        return "No catalogue was imported. `biodesk tools import galaxy PATH` reads one."
    return "\n".join(
        f"{info.name:<20} {info.kind:<12} {counted(info.entries, 'tool'):>13}  {info.at[:16]}" for info in known
    )


# ==== memory ====


def recall_document(found: Any) -> dict[str, Any]:
    """Return a recall as the JSON document of `memory recall`."""
    document = {
        "query": found.query,
        "episodes": [_recalled(item) for item in found.episodes],
        "seconds": found.seconds,
        "considered": found.considered,
        "notes": found.notes,
    }
    if found.below:
        document["below"] = [_recalled(item) for item in found.below]
    return document


def _recalled(item: Any) -> dict[str, Any]:
    episode = item.episode
    return {
        "id": episode.id,
        "score": item.score,
        "order": item.order,
        "signals": item.signals.model_dump(),
        "task": episode.task,
        "result_summary": episode.result_summary,
        "lessons": episode.lessons,
        "success": episode.success,
        "why": item.why,
        "at": episode.at,
        "tools": episode.tools,
        "run_id": episode.run_id,
    }


def episodes_text(found: list[Any]) -> str:
    """Return past analyses, two lines each."""
    if not found:
        return (
            "No past analysis is remembered. Each finished run becomes one; `biodesk memory import PATH` reads others."
        )
    lines = []
    for episode in found:
        mark = "done" if episode.success else "failed"
        pin = ", pinned" if episode.pinned else ""
        pin += f", asked by {episode.user}" if episode.user else ""
        lines += [
            f"{episode.id}  {episode.at[:10]}  {mark}, quality {episode.quality:.2f}{pin}",
            f"    {short(episode.task)}",
        ]
        if episode.lessons:
            lines.append(f"    lesson: {short(episode.lessons)}")
    return "\n".join(lines)


def recall_text(found: Any) -> str:
    """Return the episodes that fit, with their signals."""
    lines: list[str] = []
    for item in found.episodes:
        lines += _recalled_lines(item)
    if not found.episodes:
        lines.append("Nothing relevant is remembered.")
    if found.below:
        lines += ["", "Below the relevance gate:"]
        for item in found.below:
            lines += _recalled_lines(item)
    lines += [f"Note: {note}" for note in found.notes]
    lines.append(f"({found.considered} considered in {1000 * found.seconds:.0f} ms)")
    return "\n".join(lines)


def _recalled_lines(item: Any) -> list[str]:
    signals = ", ".join(f"{name} {value:.2f}" for name, value in item.signals.model_dump().items() if value)
    episode = item.episode
    lines = [f"{episode.id}  relevance {item.score:.2f}  ({signals})", f"    {short(episode.task)}", f"    {item.why}"]
    if episode.result_summary:
        lines.append(f"    result: {short(episode.result_summary)}")
    if episode.lessons:
        lines.append(f"    lesson: {short(episode.lessons)}")
    return lines


def facts_text(found: list[Any]) -> str:
    """Return facts with their support."""
    if not found:
        return "No fact is remembered about that. `biodesk memory add-fact SUBJECT PREDICATE OBJECT` adds one."
    lines = []
    for view in found:
        fact = view.fact
        mark = " (retracted)" if fact.retracted else ""
        lines.append(f"{fact.id}  {fact.subject} {fact.predicate} {fact.object}{mark}")
        lines.append(
            f"    support {view.support:.2f} from {', '.join(view.sources)}{'; in the graph' if fact.in_graph else ''}"
        )
        lines += [f"    against it {c.id}: {c.subject} {c.predicate} {c.object} ({c.source})" for c in view.contradicts]
    return "\n".join(lines)


def near_facts_text(found: list[Any]) -> str:
    """Return facts that are near in meaning, each with how near."""
    if not found:
        return "No fact is near that in meaning."
    lines = [f"{view.likeness:.2f}  {line}" for view in found for line in facts_text([view]).splitlines()[:1]]
    return "\n".join(["Near in meaning, 1 is the same; whether one answers is for you to say:", *lines])


def contradictions_text(pairs: list[Any]) -> str:
    """Return facts that deny each other, side by side."""
    if not pairs:
        return "No two facts deny each other."
    lines = []
    for one, other in pairs:
        for view in (one, other):
            fact = view.fact
            support = f"support {view.support:.2f}, {', '.join(view.sources)}"
            lines.append(f"{fact.id}  {fact.subject} {fact.predicate} {fact.object}  ({support})")
        lines.append("")
    return "\n".join(lines).rstrip()


def working_text(view: Any) -> str:
    """Return a conversation as a model would see it."""
    kind = "counted" if view.exact else "estimated"
    compressed = counted(view.compressed_messages, "message")
    lines = [f"{view.tokens:,} of {view.budget:,} tokens ({kind}); {compressed} compressed", ""]
    lines += [f"pinned {m.number} {m.role}: {short(m.text)}" for m in view.pinned]
    lines += [
        f"summary of {s.first} to {s.last} (level {s.level}, {s.tokens_before} -> {s.tokens} tokens): {short(s.text)}"
        for s in view.summaries
    ]
    lines += [f"{m.number} {m.role}: {short(m.text)}" for m in view.messages]
    return "\n".join(lines)


def conversations_text(talks: list[dict[str, Any]]) -> str:
    """Return one line a conversation."""
    if not talks:
        return "No conversation is kept."
    return "\n".join(f"{talk['id']}  {talk['newest'][:16]}  {counted(talk['messages'], 'message')}" for talk in talks)
