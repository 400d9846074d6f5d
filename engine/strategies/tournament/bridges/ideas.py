"""Links that the graph does not state and its patterns speak for: found, ranked, and with the paths they rest on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from engine.domain.knowledge import NodeType
from engine.knowledge.graph.paths import best_paths
from engine.knowledge.graph.view import GraphView
from engine.strategies.tournament.bridges.patterns import (
    CELL,
    CLASS,
    DISEASE,
    DRUG,
    EITHER,
    GENE,
    KINDS,
    PATHWAY,
    TERM,
    BridgePattern,
    LinkKind,
    between,
    proper,
)
from engine.strategies.tournament.bridges.walks import GraphWalks, PatternReach
from engine.strategies.tournament.bridges.wording import edges_of, turns_round

_LOOKED_AT = 80
"""Best candidates of an anchor that are worked out in full."""
_WAYS, _KINDS = 2, 3
"""Paths of each pattern, and patterns, that a hypothesis rests on."""
_HOPS = 4
_OTHER = 0.3
"""Steps and worth of a path that no pattern describes."""
_BIOLOGY = frozenset({GENE, DRUG, DISEASE, PATHWAY, TERM, CELL, CLASS})
_DOUBT = 0.7
"""What every path that speaks against it leaves of an idea."""


@dataclass(frozen=True, slots=True)
class PatternWay:
    """A path in the graph: numbers of its nodes, from subject to object, and the pattern that it follows."""

    pattern: BridgePattern
    nodes: tuple[int, ...]
    lift: float = 0.0
    """How many times more leads from one end to the other by the pattern than chance would."""


@dataclass(frozen=True, slots=True)
class LinkIdea:
    """A link that is not stated."""

    subject: int
    object: int
    strength: float
    """0 to 1."""
    ways: tuple[PatternWay, ...]
    """The best first, of different patterns."""
    against: tuple[PatternWay, ...] = ()

    @property
    def lead(self) -> PatternWay:
        """The path that it is worded by."""
        return self.ways[0]

    @property
    def via(self) -> tuple[int, ...]:
        """What lies on its leading path."""
        return self.lead.nodes[1:-1]


@dataclass(slots=True)
class IdeaFinder:
    """Finds ideas in one version of a graph."""

    view: GraphView
    walks: GraphWalks = field(init=False)

    def __post_init__(self) -> None:
        self.walks = GraphWalks(self.view)

    def for_anchor(self, anchor: int, wanted: NodeType, leaving_out: Collection[int] = ()) -> list[LinkIdea]:
        """Return ideas that join a node with others of a type, best first; what is an edge already is left out."""
        first = self.view.nodes.node_type(anchor)
        forward = proper(first, wanted)
        patterns = between(first, wanted)
        reached = [self.walks.reached([anchor], pattern) for pattern in patterns]
        strength = self._together(reached)
        kind = KINDS.get((first, wanted) if forward else (wanted, first))
        if kind is None or not len(strength):
            return []
        strength[[*self.known(anchor, kind), *leaving_out, anchor]] = 0.0
        best = np.argsort(-strength, kind="stable")[:_LOOKED_AT]
        found = [
            self._idea(anchor, int(other), float(strength[other]), patterns, reached, forward=forward)
            for other in best
            if strength[other] > 0
        ]
        return sorted((idea for idea in found if idea.ways), key=lambda idea: -idea.strength)

    def between_two(self, first: int, second: int) -> list[LinkIdea]:
        """Return ideas on what joins two nodes, each through other nodes, best first."""
        kinds = self.view.nodes.node_type(first), self.view.nodes.node_type(second)
        if not proper(*kinds):
            first, second = second, first
            kinds = kinds[::-1]
        found: list[LinkIdea] = []
        for pattern in between(*kinds):
            reached = self.walks.reached([first], pattern)
            worth = float(reached.strength()[second])
            for nodes in self.walks.ways([first], second, pattern, 8) if worth > 0 else ():
                way = PatternWay(pattern, nodes, reached.lift(second))
                if not turns_round(edges_of(self.view, nodes, pattern.edges)):
                    found.append(LinkIdea(first, second, worth / len(pattern.edges), (way,)))
        return sorted(found, key=lambda idea: -idea.strength)

    def by_any_path(self, first: int, second: int, most: int) -> list[LinkIdea]:
        """Return ideas on what joins two nodes by the best supported paths of any kind that pass biology only."""
        kinds = self.view.nodes.node_type(first), self.view.nodes.node_type(second)
        if not proper(*kinds):
            first, second = second, first
        if (self.view.nodes.node_type(first), self.view.nodes.node_type(second)) not in KINDS:
            return []
        ends = self.view.nodes.id(first), self.view.nodes.id(second)
        found: list[LinkIdea] = []
        for path in best_paths(self.view, *ends, max_hops=_HOPS, top=4 * most):
            nodes = tuple(self.view.nodes.number(node.id) for node in path.nodes)
            inner = {node.type for node in path.nodes[1:-1]}
            quiet = self.walks.handling_drugs()[list(nodes[1:-1])].any()
            if inner and inner <= _BIOLOGY and not quiet and not turns_round(path.edges):
                edges = tuple(frozenset({edge.type}) for edge in path.edges)
                types = tuple(node.type for node in path.nodes)
                pattern = BridgePattern("path of another kind", types, edges, _OTHER, "it would go by way of {v}")
                found.append(LinkIdea(first, second, _OTHER * path.score, (PatternWay(pattern, nodes),)))
        return found[:most]

    def one(self, subject: int, object_: int) -> LinkIdea | None:
        """Return all that patterns say of a pair, None when they say nothing."""
        patterns = between(self.view.nodes.node_type(subject), self.view.nodes.node_type(object_))
        reached = [self.walks.reached([subject], pattern) for pattern in patterns]
        strength = float(self._together(reached)[object_]) if reached else 0.0
        found = self._idea(subject, object_, strength, patterns, reached, forward=True) if strength > 0 else None
        return found if found is not None and found.ways else None

    def known(self, anchor: int, kind: LinkKind) -> list[int]:
        """Return the nodes that are linked to one already by what a kind of hypothesis claims."""
        return self.view.adjacent(anchor, kind.known).numbers.tolist()

    def opposing(self, subject: int, object_: int) -> tuple[PatternWay, ...]:
        """Return the paths by which a drug would do harm in a disease: both move a gene the same way."""
        types = self.view.nodes.node_type(subject), self.view.nodes.node_type(object_)
        if types != (DRUG, DISEASE):
            return ()
        found: list[PatternWay] = []
        for kind in EITHER:
            wanted = frozenset({kind})
            genes = [set(self.view.adjacent(end, wanted, "out").numbers.tolist()) for end in (subject, object_)]
            shared = sorted(genes[0] & genes[1], key=self.view.nodes.degree)[:_WAYS]
            pattern = BridgePattern(
                "moves it as the disease does", (DRUG, NodeType.GENE, DISEASE), (wanted, wanted), 0.5, ""
            )
            found += [PatternWay(pattern, (subject, gene, object_)) for gene in shared]
        return tuple(found)

    def _together(self, reached: Iterable[PatternReach]) -> np.ndarray:
        doubt = np.ones(len(self.view.nodes))
        for one in reached:
            doubt *= 1 - one.strength()
        return 1 - doubt

    def _idea(
        self,
        anchor: int,
        other: int,
        strength: float,
        patterns: list[BridgePattern],
        reached: list[PatternReach],
        *,
        forward: bool,
    ) -> LinkIdea:
        scored = sorted(
            ((float(one.strength()[other]), place) for place, one in enumerate(reached)), key=lambda item: -item[0]
        )
        ways = [
            self._way(patterns[place], nodes, reached[place].lift(other), forward=forward)
            for worth, place in scored[:_KINDS]
            if worth > 0
            for nodes in self.walks.ways([anchor], other, patterns[place], _WAYS)
        ]
        subject, object_ = (anchor, other) if forward else (other, anchor)
        turned = [way for way in ways if turns_round(edges_of(self.view, way.nodes, way.pattern.edges))]
        against = (*turned, *self.opposing(subject, object_))
        ways = [way for way in ways if way not in turned]
        return LinkIdea(subject, object_, strength * _DOUBT ** len(against), tuple(ways), against)

    def _way(self, pattern: BridgePattern, nodes: tuple[int, ...], lift: float, *, forward: bool) -> PatternWay:
        if forward:
            return PatternWay(pattern, nodes, lift)
        return PatternWay(pattern.turned(), nodes[::-1], lift)


def spread(ideas: Iterable[LinkIdea]) -> Iterator[LinkIdea]:
    """Yield ideas in their order, those that rest on what others before rest on later, so that none crowds out all."""
    late: list[LinkIdea] = []
    used: set[int] = set()
    for idea in ideas:
        rests_on = {number for way in idea.ways for number in way.nodes[1:-1]}
        if used & rests_on:
            late.append(idea)
        else:
            used |= rests_on
            yield idea
    if late:
        yield from spread(late)
