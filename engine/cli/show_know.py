"""What `tools search`, `memory` and `kg` print for people, and the JSON documents that differ from the plain values."""

from __future__ import annotations

import textwrap
from typing import Any

_WIDTH = 100


def _short(text: str, length: int = _WIDTH) -> str:
    return textwrap.shorten(" ".join(text.split()), width=length, placeholder="...")


# ==== tools ====


def tool_search_text(found: Any, *, explain: bool) -> str:
    """Return the tools found, best first; with `explain` every stage."""
    seconds = found.stages.seconds
    lines: list[str] = []
    for rank, tool in enumerate(found.tools, start=1):
        mark = "runs here" if tool.runnable else f"in {tool.catalogue}, not runnable here"
        lines += [
            f"{rank:>3}  {tool.name}  ({tool.score:.2f}; {mark})",
            f"     {_short(tool.description or tool.title)}",
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
        head = f"{info.name} is the same as before: {info.entries:,} tools, nothing to do."
    else:
        changes = f"{done.added:,} new, {done.changed:,} changed, {done.removed:,} gone"
        head = f"{info.name}: {info.entries:,} tools ({changes}) in {done.seconds:.1f} s."
    return "\n".join([head, *[f"  note: {text}" for text in done.warnings]])


def catalogues_text(known: list[Any]) -> str:
    """Return one line a catalogue."""
    if not known:
        return "No catalogue was imported. `biodesk tools import galaxy PATH` reads one."
    return "\n".join(f"{info.name:<20} {info.kind:<12} {info.entries:>7,} tools  {info.at[:16]}" for info in known)


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
        lines += [
            f"{episode.id}  {episode.at[:10]}  {mark}, quality {episode.quality:.2f}{pin}",
            f"    {_short(episode.task)}",
        ]
        if episode.lessons:
            lines.append(f"    lesson: {_short(episode.lessons)}")
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
    lines = [f"{episode.id}  relevance {item.score:.2f}  ({signals})", f"    {_short(episode.task)}", f"    {item.why}"]
    if episode.result_summary:
        lines.append(f"    result: {_short(episode.result_summary)}")
    if episode.lessons:
        lines.append(f"    lesson: {_short(episode.lessons)}")
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
    lines = [f"{view.tokens:,} of {view.budget:,} tokens ({kind}); {view.compressed_messages} messages compressed", ""]
    lines += [f"pinned {m.number} {m.role}: {_short(m.text)}" for m in view.pinned]
    lines += [
        f"summary of {s.first} to {s.last} (level {s.level}, {s.tokens_before} -> {s.tokens} tokens): {_short(s.text)}"
        for s in view.summaries
    ]
    lines += [f"{m.number} {m.role}: {_short(m.text)}" for m in view.messages]
    return "\n".join(lines)


def conversations_text(talks: list[dict[str, Any]]) -> str:
    """Return one line a conversation."""
    if not talks:
        return "No conversation is kept."
    return "\n".join(f"{talk['id']}  {talk['newest'][:16]}  {talk['messages']} messages" for talk in talks)


# ==== the graph ====


def stats_text(stats: Any) -> str:
    """Return the graph's size and sources."""
    lines = [f"{stats.nodes:,} entities, {stats.edges:,} relations (version {stats.version})", "", "Entities"]
    lines += [f"  {name:<20} {count:>10,}" for name, count in sorted(stats.nodes_by_type.items(), key=lambda i: -i[1])]
    lines += ["Relations"]
    lines += [f"  {name:<20} {count:>10,}" for name, count in sorted(stats.edges_by_type.items(), key=lambda i: -i[1])]
    return "\n".join([*lines, "Sources", sources_text(stats.sources)])


def sources_text(found: list[Any]) -> str:
    """Return one line a source."""
    if not found:
        return "  none"
    return "\n".join(
        f"  {s.id:<28} {s.name}: {s.nodes:,} entities, {s.edges:,} relations{f', {s.license}' if s.license else ''}"
        for s in found
    )


def taught_text(found: Any, source: str) -> str:
    """Return the entities that a source was the first to name and the relations it states; 200 of each at most."""
    lines = [f"{source}: {len(found.nodes):,} entities it was the first to name, {len(found.edges):,} relations"]
    if found.nodes:
        lines += ["", "Entities", *[f"  {n.id}  {n.name} ({n.type.value})" for n in found.nodes[:200]]]
        lines += [f"  and {len(found.nodes) - 200:,} more"] if len(found.nodes) > 200 else []
    if found.edges:
        lines += ["", "Relations", *[f"  {line}" for line in edges_text(found.edges[:200]).splitlines()]]
        lines += [f"  and {len(found.edges) - 200:,} more"] if len(found.edges) > 200 else []
    return "\n".join(lines)


def hits_text(hits: list[Any]) -> str:
    """Return found entities."""
    if not hits:
        return "Nothing of that name is in the graph."
    lines = []
    for hit in hits:
        matched = f", matched {hit.matched}" if hit.matched not in (hit.node.name, hit.node.id) else ""
        lines.append(f"{hit.node.id:<32} {hit.node.name} ({hit.node.type.value}, {hit.degree:,} relations{matched})")
    return "\n".join(lines)


def neighbourhood_text(found: Any) -> str:
    """Return a neighbourhood: the edges of the nearest nodes, then what was left out."""
    names = {node.id: node.name for node in found.nodes}
    lines = [f"{len(found.nodes)} of {found.reached:,} entities shown, {len(found.edges):,} relations among them", ""]
    ordered = sorted(found.nodes, key=lambda node: (found.hops.get(node.id, 0), -found.degrees.get(node.id, 0)))
    for node in ordered:
        hops, degree = found.hops.get(node.id, 0), found.degrees.get(node.id, 0)
        lines.append(f"  {hops}  {node.name} ({node.type.value}, {degree:,} relations)  {node.id}")
    lines += ["", "Relations"]
    for edge in found.edges[:200]:
        lines.append(
            f"  {names.get(edge.source, edge.source)} -[{edge.type.value}]-> {names.get(edge.target, edge.target)}"
        )
    if len(found.edges) > 200:
        lines.append(f"  and {len(found.edges) - 200:,} more")
    return "\n".join(lines)


def path_line(path: Any) -> str:
    """Return a path on one line, each edge pointing as it is stated."""
    parts = [path.nodes[0].name]
    for position, edge in enumerate(path.edges):
        forward = edge.source == path.nodes[position].id
        arrow = f"-[{edge.type.value}]->" if forward else f"<-[{edge.type.value}]-"
        parts += [arrow, path.nodes[position + 1].name]
    return " ".join(parts)


def paths_text(found: list[Any], a: str, b: str, longest: int) -> str:
    """Return paths, best supported first."""
    if not found:
        return f"No path of at most {longest} relations joins {a} and {b}."
    return "\n".join(f"{path.score:.3f}  {path_line(path)}" for path in found)


def edges_text(found: list[Any]) -> str:
    """Return stated relations with who states them."""
    if not found:
        return "The graph states nothing of the two together."
    return "\n".join(
        f"{e.source} -[{e.type.value}]-> {e.target}  "
        f"({e.relation or e.type.value}; {e.origin}, confidence {e.confidence:.2f})"
        for e in found
    )


def check_document(found: Any) -> dict[str, Any]:
    """Return a check as the JSON document of `kg check`."""
    claims = []
    for claim in found.claims:
        document = claim.model_dump(mode="json")
        document["entities"] = [
            {
                "id": m.node.id,
                "name": m.node.name,
                "type": m.node.type.value,
                "text": m.text,
                "start": m.start,
                "end": m.end,
                "alternatives": [node.id for node in m.alternatives],
                "why": m.why,
            }
            for m in claim.entities
        ]
        claims.append(document)
    return {"claims": claims, "score": found.score, "graph_version": found.graph_version, "seconds": found.seconds}


def check_text(found: Any) -> str:
    """Return each claim with its label and evidence."""
    if not found.claims:
        return "The text makes no claim that could be checked: no entity of the graph stands in a relation in it."
    lines: list[str] = []
    for claim in found.claims:
        lines += [f"{claim.label.upper():<13} {_short(claim.text, 160)}", f"              {claim.why}"]
        for item in claim.evidence[:6]:
            lines.append(f"              {item.edge}  ({item.source}, confidence {item.confidence:.2f})")
    return "\n".join([*lines, "", f"Score {found.score:.2f} (1 all grounded, -1 all contradicted)"])


def graph_import_text(done: Any) -> str:
    """Return what an import did."""
    if done.unchanged:
        head = f"{done.source.name} is the same as before, so nothing was done."
    else:
        added = f"{done.nodes_added:,} new entities, {done.edges_added:,} new relations"
        head = f"{done.source.name}: {added} in {done.seconds:.1f} s."
    return "\n".join([head, *[f"  note: {text}" for text in done.warnings]])


def preview_text(seen: Any) -> str:
    """Return the first nodes and edges of files."""
    lines = ["Entities"] + [f"  {node.id}  {node.name} ({node.type.value})" for node in seen.nodes]
    lines += ["Relations"] + [f"  {edge.source} -[{edge.type.value}]-> {edge.target}" for edge in seen.edges]
    return "\n".join([*lines, *[f"note: {text}" for text in seen.warnings]])


def public_sources_text(listed: list[dict[str, Any]]) -> str:
    """Return what can be fetched."""
    return "\n".join(
        f"{item['name']:<14} {item['title']}: {item['description']} ({item['license']})" for item in listed
    )


def enriched_text(found: list[Any]) -> str:
    """Return enriched neighbourhoods."""
    if not found:
        return "No neighbourhood of the graph holds at least two of these genes."
    return "\n".join(
        f"{item.p_adj:.1e}  {item.node.name} ({item.node.type.value}): "
        f"{item.overlap} of {item.size}, fold {item.fold_enrichment:.1f}"
        for item in found
    )
