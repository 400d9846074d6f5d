"""Where a hypothesis stands in the graph: what it speaks of, whether that is stated already, which evidence is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from engine.domain.discovery.hypotheses import EvidenceItem, Hypothesis
from engine.domain.knowledge import Edge
from engine.knowledge.graph.view import GraphView
from engine.knowledge.service import KnowledgeBase
from engine.strategies.tournament.bridges.goal import LEAST_LINK
from engine.strategies.tournament.bridges.ideas import IdeaFinder, LinkIdea
from engine.strategies.tournament.bridges.patterns import KINDS, LinkKind, proper
from engine.strategies.tournament.bridges.wording import chain

_READ = 4_000
"""Characters of a hypothesis that are read for what it names."""


@dataclass(frozen=True, slots=True)
class GraphPlace:
    """A hypothesis in the graph."""

    entities: tuple[int, ...] = ()
    """Numbers of what it speaks of, subject and object first."""
    kind: LinkKind | None = None
    """What a hypothesis on these two claims, None where no pattern is known for them."""
    idea: LinkIdea | None = None
    """What patterns say of the two."""
    known: str = ""
    """The statement that says it already."""
    true: tuple[EvidenceItem, ...] = ()
    """Evidence whose paths are in the graph, or that is no path."""
    untrue: tuple[EvidenceItem, ...] = ()

    def speaking(self, which: str) -> list[EvidenceItem]:
        """Return the true evidence `for` or `against` it."""
        return [item for item in self.true if item.speaks == which]


@dataclass(slots=True)
class Placing:
    """Places hypotheses in the newest graph; what was placed is kept for as long as the graph is the same."""

    knowledge: KnowledgeBase
    _finder: IdeaFinder | None = None
    _kept: dict[str, GraphPlace] = field(default_factory=dict)

    def finder(self) -> IdeaFinder:
        """Return the finder of the newest graph."""
        view = self.knowledge.graph.view()
        if self._finder is None or self._finder.view.version != view.version:
            self._finder, self._kept = IdeaFinder(view), {}
        return self._finder

    def place(self, one: Hypothesis) -> GraphPlace:
        """Return where a hypothesis stands."""
        finder = self.finder()
        key = f"{finder.view.version}:{one.model_dump_json(exclude={'id', 'at', 'round'})}"
        if key not in self._kept:
            self._kept[key] = self._placed(one, finder)
        return self._kept[key]

    def _placed(self, one: Hypothesis, finder: IdeaFinder) -> GraphPlace:
        view = finder.view
        entities = tuple(self.entities(one, view))
        true = tuple(item for item in one.support if is_true(item, view))
        untrue = tuple(item for item in one.support if item not in true)
        pair = _pair(view, entities)
        if pair is None:
            return GraphPlace(entities, true=true, untrue=untrue)
        kind = KINDS.get((view.nodes.node_type(pair[0]), view.nodes.node_type(pair[1])))
        idea = finder.one(*pair) if kind is not None else None
        edges = view.edges.full(view.rows_between(*pair))
        stated = [edge for edge in edges if kind is not None and edge.type in kind.known]
        rest = tuple(number for number in entities if number not in pair)
        known = chain(view, stated[:1]) if stated and not _is_of_mechanism(one) else ""
        return GraphPlace((*pair, *rest), kind, idea, known, true, untrue)

    def entities(self, one: Hypothesis, view: GraphView) -> list[int]:
        """Return what a hypothesis speaks of: what its maker said, or else what its text names."""
        given = [view.nodes.number(entity) for entity in one.entities]
        if any(number >= 0 for number in given):
            return list(dict.fromkeys(number for number in given if number >= 0))
        mentions = self.knowledge.entities.link(one.text[:_READ])
        linked = [view.nodes.number(m.node.id) for m in mentions if m.score >= LEAST_LINK]
        return list(dict.fromkeys(number for number in linked if number >= 0))


def is_true(item: EvidenceItem, view: GraphView) -> bool:
    """Say whether a path is in the graph, edge by edge; what is no path is not judged here."""
    return item.kind != "path" or bool(edges_in(item, view))


def edges_in(item: EvidenceItem, view: GraphView) -> list[Edge]:
    """Return the edges of a path, empty when one of them is not in the graph."""
    numbers = [view.nodes.number(node) for node in item.nodes]
    if len(numbers) != len(item.edges) + 1 or len(numbers) < 2 or min(numbers) < 0:
        return []
    found: list[Edge] = []
    for (a, b), kind in zip(pairwise(numbers), item.edges, strict=True):
        fitting = [edge for edge in view.edges.full(view.rows_between(a, b)) if edge.type == kind]
        if not fitting:
            return []
        found.append(fitting[0])
    return found


def _pair(view: GraphView, entities: Sequence[int]) -> tuple[int, int] | None:
    """Return subject and object: the first two for which a claim is known, in the order that it names them."""
    pairs = [(a, b) for place, a in enumerate(entities) for b in entities[place + 1 :]]
    for a, b in pairs:
        types = view.nodes.node_type(a), view.nodes.node_type(b)
        if types in KINDS:
            return a, b
        if not proper(*types):
            return b, a
    return None


def _is_of_mechanism(one: Hypothesis) -> bool:
    """Say whether a hypothesis speaks of what lies between two things: that these are linked may then be known."""
    return " through " in one.text.partition(":")[0] or one.text.startswith("The ")
