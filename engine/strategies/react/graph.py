"""Look-ups in the knowledge graph: what a text names, what is stated of it, and what the graph holds at all.

Each sentence says where it is from. What is not there is said to be not there; nothing is made up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.domain.base import Value
from engine.domain.knowledge import Edge, GraphSource, Node, NodeType
from engine.domain.toolspec import Citation
from engine.knowledge.service import KnowledgeBase
from engine.strategies.react.lookup import Lookup, LookupQuestion, Observation, Step
from engine.strategies.react.wording import is_of_own_data, named_in

NAMES_SHOWN, LINES, MOST_NAMED = 8, 12, 3

LEAST_LINK = 0.5
"""How surely words must name an entity."""

_OWN_TYPES = (NodeType.TOOL, NodeType.DATASET, NodeType.PROTOCOL, NodeType.DOMAIN)
"""Types of what the desk itself made known: no knowledge of biology."""


class TextArgument(Value):
    """A text that names entities."""

    text: str


class EntityPair(Value):
    """Two entities, by id or name."""

    first: str
    second: str


class OneEntity(Value):
    """An entity, by id or name."""

    entity: str
    kinds: list[NodeType] = []
    """Only what is stated of it with these; empty for all."""
    lines: int = LINES
    """At most so many sentences, one a relation, those with most entities first."""


@dataclass(frozen=True, slots=True)
class GraphLookups:
    """Look-ups in a graph."""

    knowledge: KnowledgeBase
    is_asked: Callable[[LookupQuestion], bool]
    """Whether a question asks for what is known."""

    def __call__(self, asked: LookupQuestion) -> list[Lookup]:
        """Return the look-ups there are for a question."""
        return [
            Lookup("find_entities", "Entities of the graph that a text names.", TextArgument, self._named, self._texts),
            Lookup("statements_between", "What is stated of two entities together.", EntityPair, self._both, _pairs),
            Lookup("statements_of", "What is stated of an entity, by relation.", OneEntity, self._of, _ones),
        ]

    def _texts(self, asked: LookupQuestion, steps: Sequence[Step]) -> Iterable[Value]:
        return (
            [TextArgument(text=asked.question)] if self.is_asked(asked) and not is_of_own_data(asked.question) else []
        )

    def _named(self, taken: TextArgument) -> Observation:
        linked = self.knowledge.entities.link(taken.text)
        found = {m.node.id: m.node for m in linked if m.score >= LEAST_LINK and m.node.type not in _OWN_TYPES}
        return Observation(entities=list(found.values())[:MOST_NAMED])

    def _both(self, taken: EntityPair) -> Observation:
        first, second = self.knowledge.entities.node(taken.first), self.knowledge.entities.node(taken.second)
        edges = self.knowledge.reading.edges_between(first.id, second.id)
        names, sources = {first.id: first.name, second.id: second.name}, self._sources()
        told = [f"{names[e.source]} {_verb(e.type.value)} {names[e.target]} ({_called(e, sources)})." for e in edges]
        nothing = [f"The graph states nothing of {first.name} and {second.name} together."]
        return self._seen(list(dict.fromkeys(told)) or nothing, edges, sources)

    def _of(self, taken: OneEntity) -> Observation:
        node, wanted = self.knowledge.entities.node(taken.entity), {*taken.kinds}
        around = self.knowledge.reading.neighbours(node.id, hops=1, limit=150)
        others = {other.id: other for other in around.nodes}
        groups = _grouped(node, around.edges, others, wanted)
        sources = self._sources()
        lines = [*_sentences(node, groups, others, sources)][: taken.lines]
        if not groups:
            kinds = " or ".join(kind.value.replace("_", " ") for kind in sorted(wanted))
            kind = node.type.value.replace("_", " ")
            lines = [
                f"The graph has {node.name} ({kind}) and states nothing of it{f' with a {kinds}' if kinds else ''}."
            ]
        return self._seen(lines, [edge for edges in groups.values() for edge in edges], sources)

    def _seen(self, lines: list[str], edges: Iterable[Edge], sources: dict[str, GraphSource]) -> Observation:
        used = {edge.origin: sources[edge.origin] for edge in edges if edge.origin in sources}
        cited = [Citation(title=source.name, url=source.url) for source in used.values() if source.url]
        return Observation(lines=lines, limitations=[self._holds()], citations=cited)

    def _sources(self) -> dict[str, GraphSource]:
        return {source.id: source for source in self.knowledge.reading.stats().sources}

    def _holds(self) -> str:
        stats = self.knowledge.reading.stats()
        many = len(stats.sources)
        held = f"{stats.edges:,} statements from {many} {'source' if many == 1 else 'sources'}"
        return f"The graph holds {held}; what is not in it may still be true."


def _pairs(asked: LookupQuestion, steps: Sequence[Step]) -> Iterator[EntityPair]:
    if len(named := named_in(steps)) > 1:
        yield EntityPair(first=named[0].id, second=named[1].id)


def _ones(asked: LookupQuestion, steps: Sequence[Step]) -> Iterator[OneEntity]:
    wanted = [kind for kind in NodeType if re.search(rf"\b{kind.value.replace('_', ' ')}s?\b", asked.question, re.I)]
    named = named_in(steps)
    for node in named:
        kinds = [kind for kind in wanted if kind != node.type]
        yield OneEntity(entity=node.id, kinds=kinds, lines=LINES // len(named))


def _grouped(
    node: Node, edges: Iterable[Edge], others: dict[str, Node], wanted: set[NodeType]
) -> dict[tuple[str, bool], list[Edge]]:
    """Return (relation, whether it goes out) -> the edges of a node, those with what the desk made known left out."""
    groups: dict[tuple[str, bool], list[Edge]] = {}
    for edge in edges:
        out = edge.source == node.id
        other = others.get(edge.target if out else edge.source) if out or edge.target == node.id else None
        if other is not None and other.type not in _OWN_TYPES and (not wanted or other.type in wanted):
            groups.setdefault((edge.type.value, out), []).append(edge)
    return groups


def _sentences(
    node: Node, groups: dict[tuple[str, bool], list[Edge]], others: dict[str, Node], sources: dict[str, GraphSource]
) -> Iterator[str]:
    for (kind, out), edges in sorted(groups.items(), key=lambda item: -len(item[1])):
        names = list(dict.fromkeys(others[e.target if out else e.source].name for e in edges))
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        from_ = ", ".join(dict.fromkeys(_called(edge, sources) for edge in edges))
        subject = f"{node.name} {_verb(kind)}" if out else f"What {_verb(kind)} {node.name}"
        yield f"{subject}: {', '.join(names[:NAMES_SHOWN])}{more} (source: {from_})."


def _verb(kind: str) -> str:
    words = kind.replace("_", " ")
    verb = words.split()[0]  # `treats`, `has function`, but `is subclass of`
    return words if verb.endswith("s") and not verb.endswith("ss") else f"is {words}"


def _called(edge: Edge, sources: dict[str, GraphSource]) -> str:
    return (sources[edge.origin].name if edge.origin in sources else edge.origin) or "unnamed source"
