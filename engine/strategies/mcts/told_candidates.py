"""Candidates as an answer: sentences and findings that name paths, sources, what speaks against, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence

from engine.domain.discovery.candidates import CandidateTable, LinkCandidate
from engine.domain.findings import Finding, FindingValue
from engine.domain.knowledge import GraphPath, Node
from engine.domain.report import Report
from engine.domain.toolspec import Citation
from engine.knowledge.service import KnowledgeBase
from engine.strategies.react.answer.answer_report import told_report
from engine.text.prose import listed

NAMED = 8
"""Known links that are named."""


def candidates_report(question: str, table: CandidateTable, knowledge: KnowledgeBase) -> Report:
    """Return the answer that a table of candidates is."""
    verb, kind = table.relation.value.replace("_", " "), table.sought.value.replace("_", " ")
    names = [node.name for node in table.known]
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    known = listed([*names[:NAMED], *more]) if names else "none"
    if table.candidates:
        best = listed([f"{one.node.name} ({one.probability:.0%})" for one in table.candidates[:3]])
        first = f"Of {table.scored:,} {kind}s, paths join best to {table.of.name} ('{verb}'): {best}."
    else:
        first = f"No {kind} is joined to {table.of.name} by paths that count for '{verb}'."
    summary = [first, f"Stated in the graph already, so no candidates: {known}."]
    paths = [way.path for one in table.candidates for way in one.paths]
    return _with_sources(
        told_report(
            question,
            [*summary, *(_sentence(place, one) for place, one in enumerate(table.candidates, 1))],
            [_finding(place, one) for place, one in enumerate(table.candidates, 1)],
            [*table.limits, _holds(knowledge)],
        ),
        paths,
        knowledge,
    )


def paths_report(
    question: str, ends: tuple[Node, Node], stated: Sequence[str], paths: Sequence[GraphPath], knowledge: KnowledgeBase
) -> Report:
    """Return the answer that the best paths between two entities are."""
    first, last = (node.name for node in ends)
    if not paths and not stated:
        lines = [f"The graph joins {first} and {last} by no path of at most 4 steps that means something."]
    else:
        lines = [*stated] or [f"The graph states nothing of {first} and {last} directly."]
        lines += [f"A way from one to the other: {path.line} ({_origins([path], knowledge)})." for path in paths]
    limits = ["A path is what the graph states step by step; that the whole follows from it is a hypothesis."]
    return _with_sources(told_report(question, lines, (), [*limits, _holds(knowledge)]), paths, knowledge)


def _sentence(place: int, one: LinkCandidate) -> str:
    ways = "; ".join(f"{way.path.line} ({way.share:.0%})" for way in one.paths)
    against = f" Against it: {' '.join(one.against)}" if one.against else " The graph states nothing against it."
    beside = f" {' '.join(one.beside)}" if one.beside else ""
    return (
        f"{place}. {one.node.name}: probability {one.probability:.3f} (degrees alone {one.prior:.3f}; without its best "
        f"path {one.without_best:.3f}), by {one.count:,} path{'s' if one.count > 1 else ''}, the best {ways}."
        f"{against}{beside}"
    )


def _finding(place: int, one: LinkCandidate) -> Finding:
    values = [("probability", one.probability), ("by_degrees", one.prior), ("without_best_path", one.without_best)]
    return Finding(
        id=f"candidate_{place}",
        node="",
        text=f"{one.node.name}: {one.paths[0].path.line}." if one.paths else one.node.name,
        values=[FindingValue(name=name, value=value) for name, value in values],
        evidence=[edge.origin for way in one.paths for edge in way.path.edges],
    )


def _holds(knowledge: KnowledgeBase) -> str:
    stats = knowledge.reading.stats()
    return f"The graph holds {stats.edges:,} statements; what is not in it may still be true."


def _origins(paths: Sequence[GraphPath], knowledge: KnowledgeBase) -> str:
    names = {source.id: source.name for source in knowledge.reading.stats().sources}
    return ", ".join(dict.fromkeys(names.get(edge.origin, edge.origin) for path in paths for edge in path.edges))


def _with_sources(report: Report, paths: Sequence[GraphPath], knowledge: KnowledgeBase) -> Report:
    used = {edge.origin for path in paths for edge in path.edges}
    cited = [
        Citation(title=source.name, url=source.url)
        for source in knowledge.reading.stats().sources
        if source.id in used and source.url
    ]
    return report.model_copy(update={"citations": cited})
