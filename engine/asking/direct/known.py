"""What the desk knows of what a question names: graph, facts, past analyses, and what can be asked at all.

Each sentence says where it is from. What is not there is said to be not there; nothing is made up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from engine.asking.direct.answer_report import told_report
from engine.domain.knowledge import Edge, Mention, Node, NodeType
from engine.domain.report import Report
from engine.knowledge.reading import GraphReading
from engine.knowledge.service import KnowledgeBase
from engine.memory.service import Memory
from engine.planning.telling.offers import WHAT
from engine.text.sentences import first_sentence

_KNOWN = re.compile(
    r"\b(?:what(?:'s| is| do (?:we|you))? (?:is )?(?:already )?kno\w+|tell me (?:something )?(?:about|of)|literature|"
    r"papers?|publications?|pubmed|published|who (?:has )?(?:found|shown|described)|prior knowledge|knowledge graph|"
    r"have we (?:seen|found|done|analy[sz]ed)|did we (?:find|see|do)|remember\w*|earlier analys[ie]s)\b",
    re.IGNORECASE,
)
"""What asks for knowledge and not for a computation."""

_LITERATURE = re.compile(
    r"\b(?:literature|papers?|publications?|pubmed|published|articles?|reviews?|citations?)\b", re.I
)

_OWN = re.compile(
    r"\b(?:my|our|this|these|the|attached|uploaded) (?:\w+ )?(?:data|dataset|file|files|table|samples|sheet)\b", re.I
)

NAMES_SHOWN, LINES, PAST = 8, 12, 3

LEAST_LINK = 0.5
"""How surely words must name an entity."""


def asks_what_is_known(question: str) -> bool:
    """Say whether the words ask for knowledge or past analyses; with data they name, they may still ask to compute."""
    return _KNOWN.search(question) is not None


_ABLE = re.compile(
    r"\bwhat(?: all| else)? (?:can|could) (?:you|i|it|this|the desk|biodesk)(?: all)? "
    r"(?:do|ask|offer|analy[sz]e|compute|answer)\b|"
    r"\b(?:what|which) (?:(?:kinds?|types?|sorts?) of )?(?:analys[ei]s|questions|tests|methods|things) "
    r"(?:can|could|do) (?:you|i|it|this|the desk|biodesk)\b|\bwhat are you (?:able|good|capable)\b",
    re.IGNORECASE,
)
"""What asks for what the desk can do."""


def told_what_can_be_done(question: str, able: Callable[[], Sequence[str]]) -> Report | None:
    """Return what the desk can do, a line for each field that `able` gives, where a question asks for just that."""
    if _ABLE.search(question) is None:
        return None
    return told_report(question, [WHAT, *(f"From files, {line}." for line in able())])


def told_from_knowledge(question: str, knowledge: KnowledgeBase, memory: Memory, why: str) -> Report | None:
    """Return what graph, facts and past analyses say of what a question names; None when they say nothing of it.

    Args:
        question: what is asked.
        knowledge: the graph.
        memory: facts and past analyses.
        why: why nothing is computed, a sentence to begin with, or "".
    """
    if not asks_what_is_known(question) and _OWN.search(question):
        return None
    graph, named = knowledge.reading, _named(knowledge.entities.link(question))
    lines = [*_both(named, graph), *(line for node in named for line in _of(node, question, graph))]
    lines += _facts(named, memory)
    past = _past(question, memory) if asks_what_is_known(question) or named else []
    literature = bool(_LITERATURE.search(question))
    if not lines and not past and not literature:
        return None
    opening = [why] if why else []
    if literature:
        opening.append(
            "This version searches no literature: it tells what its knowledge graph, facts and past analyses hold."
        )
    if not lines and not past:
        opening.append(_holds(graph))
    summary = [*opening, *lines[:LINES], *past]
    return told_report(question, summary, limitations=[_origin(graph)] if lines else [])


def _named(mentions: Sequence[Mention]) -> list[Node]:
    found = {m.node.id: m.node for m in mentions if m.score >= LEAST_LINK and m.node.type not in _OWN_TYPES}
    return list(found.values())[:3]


_OWN_TYPES = (NodeType.TOOL, NodeType.DATASET, NodeType.PROTOCOL, NodeType.DOMAIN)
"""Types of what the desk itself made known: no knowledge of biology."""


def _both(named: Sequence[Node], graph: GraphReading) -> list[str]:
    """Return what is stated of the first two entities together."""
    if len(named) < 2:
        return []
    first, second = named[:2]
    edges = graph.edges_between(first.id, second.id)
    names, sources = {first.id: first.name, second.id: second.name}, _sources(graph)
    told = [f"{names[e.source]} {_verb(e.type.value)} {names[e.target]} ({sources(e)})." for e in edges]
    return list(dict.fromkeys(told)) or [f"The graph states nothing of {first.name} and {second.name} together."]


def _of(node: Node, question: str, graph: GraphReading) -> Iterator[str]:
    """Yield what is stated of an entity, one line for each relation."""
    around = graph.neighbours(node.id, hops=1, limit=150)
    others = {other.id: other for other in around.nodes}
    wanted = {kind for kind in NodeType if re.search(rf"\b{kind.value.replace('_', ' ')}s?\b", question, re.I)} - {
        node.type
    }
    groups: dict[tuple[str, bool], list[Edge]] = {}
    for edge in around.edges:
        out = edge.source == node.id
        if (out or edge.target == node.id) and (other := others.get(edge.target if out else edge.source)) is not None:
            if (wanted and other.type not in wanted) or other.type in _OWN_TYPES:
                continue
            groups.setdefault((edge.type.value, out), []).append(edge)
    sources = _sources(graph)
    for (kind, out), edges in sorted(groups.items(), key=lambda item: -len(item[1])):
        names = list(dict.fromkeys(others[e.target if out else e.source].name for e in edges))
        listed = ", ".join(names[:NAMES_SHOWN]) + (
            f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        )
        from_ = ", ".join(dict.fromkeys(map(sources, edges)))
        subject = f"{node.name} {_verb(kind)}" if out else f"What {_verb(kind)} {node.name}"
        yield f"{subject}: {listed} (source: {from_})."
    if not groups:
        kinds = " or ".join(kind.value.replace("_", " ") for kind in sorted(wanted))
        kind = node.type.value.replace("_", " ")
        yield f"The graph has {node.name} ({kind}) and states nothing of it{f' with a {kinds}' if kinds else ''}."


def _verb(kind: str) -> str:
    words = kind.replace("_", " ")
    verb = words.split()[0]  # `treats`, `has function`, but `is subclass of`
    return words if verb.endswith("s") and not verb.endswith("ss") else f"is {words}"


def _sources(graph: GraphReading) -> Callable[[Edge], str]:
    names = {source.id: source.name for source in graph.stats().sources}
    return lambda edge: names.get(edge.origin, edge.origin) or "unnamed source"


def _facts(named: Sequence[Node], memory: Memory) -> list[str]:
    views = {view.fact.id: view for node in named for view in memory.statements.about(node.name)[:3]}
    return [
        f"Remembered: {v.fact.subject} {v.fact.predicate} {v.fact.object} (source: {', '.join(v.sources[:3])}; "
        f"support {v.support:.2f}{'; contradicted by another fact' if v.contradicts else ''})."
        for v in views.values()
    ]


def _past(question: str, memory: Memory) -> list[str]:
    recalled = memory.recalling.recall(question, top=PAST).episodes
    return [
        f"Past analysis of {item.episode.at[:10]} ({item.episode.run_id or item.episode.id}), "
        f'"{item.episode.task}": {first_sentence(item.episode.result_summary) or "no result is kept of it."}'
        for item in recalled
    ]


def _holds(graph: GraphReading) -> str:
    stats = graph.stats()
    if not stats.nodes:
        return "The knowledge graph is empty, and no fact or past analysis fits the question."
    names = ", ".join(source.name for source in stats.sources[:3])
    held = f"the knowledge graph ({stats.nodes:,} entities from {names})"
    return f"Nothing the question names is in {held}, the facts or past analyses."


def _origin(graph: GraphReading) -> str:
    stats = graph.stats()
    many = len(stats.sources)
    held = f"{stats.edges:,} statements from {many} {'source' if many == 1 else 'sources'}"
    return f"The graph holds {held}; what is not in it may still be true."
