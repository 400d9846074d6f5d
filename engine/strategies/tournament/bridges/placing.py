"""Where a hypothesis stands in the graph: what it speaks of, whether that is stated already, which evidence is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from engine.domain.discovery.hypotheses import EvidenceItem, Hypothesis
from engine.domain.knowledge import Edge, Mention
from engine.knowledge.graph.view import GraphView
from engine.knowledge.service import KnowledgeBase
from engine.strategies.tournament.bridges.asserted import (
    READ,
    LinkInGraph,
    in_graph,
    read_links,
    says_little_else,
    weighed,
)
from engine.strategies.tournament.bridges.goal import LEAST_LINK
from engine.strategies.tournament.bridges.ideas import IdeaFinder, LinkIdea
from engine.strategies.tournament.bridges.patterns import KINDS, LinkKind, proper
from engine.strategies.tournament.bridges.written import BUILT_IN
from engine.text.prose import listed


@dataclass(frozen=True, slots=True)
class GraphPlace:
    """A hypothesis in the graph."""

    entities: tuple[int, ...] = ()
    """Numbers of what it speaks of, subject and object first where it links two."""
    links: tuple[LinkInGraph, ...] = ()
    """What it asserts."""
    unread: str = ""
    """Why the graph cannot be asked whether it states that, "" where it can."""
    whole: bool = False
    """Whether it asserts one link and says nothing beyond."""
    kind: LinkKind | None = None
    """What a hypothesis on its subject and object claims, None where no pattern is known for it."""
    idea: LinkIdea | None = None
    """What patterns say of the two."""
    true: tuple[EvidenceItem, ...] = ()
    """Evidence whose paths are in the graph, or that is no path."""
    untrue: tuple[EvidenceItem, ...] = ()

    @property
    def stated(self) -> str:
        """What edges state already of what it asserts, in words."""
        return listed(list(dict.fromkeys(link.stated for link in self.links if link.stated)))

    @property
    def known(self) -> str:
        """The statement that says already all that it says."""
        return self.stated if self.whole else ""

    @property
    def opposed(self) -> str:
        """Why it is not so, where edges state the opposite of a link that it asserts."""
        return next((link.opposed for link in self.links if link.opposed), "")

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
        mentions = [m for m in self.knowledge.entities.link(one.text[:READ]) if m.score >= LEAST_LINK]
        # What rules make says in words what no edge can say, or says itself what it asserts: it is not read.
        ours = one.by == BUILT_IN and not one.asserts
        asserted = one.asserts if one.asserts or ours else read_links(one.text, self.knowledge)
        support = one.support if ours else weighed(one.support, asserted, self.knowledge)
        true = tuple(item for item in support if is_true(item, view))
        links = tuple(in_graph(link, view) for link in asserted)
        entities = self._entities(one, mentions, view)
        pair, kind = _claimed(links[0], view) if links else _pair(view, entities) if ours else (None, None)
        steps = [view.nodes.number(name) for link in asserted for name in (link.subject, *link.through, link.object)]
        return GraphPlace(
            entities=tuple(dict.fromkeys(n for n in (*(pair or ()), *entities, *steps) if n >= 0)),
            links=links,
            unread="" if ours else _unread(links),
            whole=len(links) == 1 and not links[0].link.through and _says_no_more(one, links[0], mentions),
            kind=kind,
            idea=finder.one(*pair) if pair is not None and kind is not None else None,
            true=true,
            untrue=tuple(item for item in support if item not in true),
        )

    def _entities(self, one: Hypothesis, mentions: Sequence[Mention], view: GraphView) -> list[int]:
        """Return what a hypothesis speaks of: what its maker said, or else what its text names."""
        given = [view.nodes.number(entity) for entity in one.entities]
        if any(number >= 0 for number in given):
            return given
        return [view.nodes.number(mention.node.id) for mention in mentions]


def _claimed(one: LinkInGraph, view: GraphView) -> tuple[tuple[int, int] | None, LinkKind | None]:
    """Return subject and object of a link, and the kind of hypothesis that claims it, None for another relation."""
    if not one.known:
        return None, None
    a, b = one.subject, one.object
    if not proper(view.nodes.node_type(a), view.nodes.node_type(b)):
        a, b = b, a
    kind = KINDS.get((view.nodes.node_type(a), view.nodes.node_type(b)))
    fits = kind is not None and one.link.relation in kind.claims and not one.link.denied
    return (a, b), kind if fits else None


def _unread(links: Sequence[LinkInGraph]) -> str:
    if not links:
        return "what it claims was not read with confidence"
    missing = [
        name
        for one in links
        for name, number in ((one.link.subject, one.subject), (one.link.object, one.object))
        if number < 0
    ]
    return f"the graph has no {listed(list(dict.fromkeys(missing)))}" if missing else ""


def _says_no_more(one: Hypothesis, link: LinkInGraph, mentions: Sequence[Mention]) -> bool:
    """Say whether a text names nothing beside the two that it links, and says little else of them.

    What rules word is known to claim the link and no more, with a reason that names what lies between.
    """
    ends = {link.link.subject, link.link.object}
    named = {mention.node.id for mention in mentions}
    return one.by == BUILT_IN or (named <= ends and says_little_else(one.text, mentions))


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


def _pair(view: GraphView, entities: Sequence[int]) -> tuple[tuple[int, int] | None, LinkKind | None]:
    """Return the first two entities between which paths of a known kind are looked for, and that kind."""
    for place, a in enumerate(entities):
        for b in entities[place + 1 :] if a >= 0 else ():
            one, other = view.nodes.node_type(a), view.nodes.node_type(b)
            if b >= 0 and (one, other) in KINDS:
                return (a, b), KINDS[one, other]
            if b >= 0 and not proper(one, other):
                return (b, a), KINDS.get((other, one))
    return None, None
