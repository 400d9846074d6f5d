"""Makes hypotheses from the graph: what patterns speak for and no edge states, and where statements disagree."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.domain.discovery.hypotheses import Aims, Hypothesis, Method
from engine.domain.knowledge import NodeType
from engine.errors import UserError
from engine.knowledge.service import KnowledgeBase
from engine.strategies.tournament.bridges.at_hand import ChangedGene, DataAtHand
from engine.strategies.tournament.bridges.contradictions import contradictions
from engine.strategies.tournament.bridges.goal import GoalRead, read_goal
from engine.strategies.tournament.bridges.ideas import IdeaFinder, LinkIdea, spread
from engine.strategies.tournament.bridges.own_results import from_own_results
from engine.strategies.tournament.bridges.written import IdeaWriter
from engine.strategies.tournament.roles import Drafted, Guidance, ItemFailed, Made

Groups = list[tuple[float, list[Hypothesis]]]
"""Hypotheses of one kind, the best first, with what the best is worth."""
_CONTRADICTIONS = 4
"""At most one in so many is about statements that disagree."""
_SPARE = 3
"""Made of each kind, as a multiple of what is asked for, as some will be left out."""


@dataclass(slots=True)
class GraphMaker:
    """Makes hypotheses without a model."""

    knowledge: KnowledgeBase
    changed: Callable[[Aims], Sequence[ChangedGene]]
    """Genes that the user's finished runs found changed."""
    at_hand: Callable[[Aims], DataAtHand]
    """What the files of a tournament can test."""
    method: Method = "graph"

    def make(self, aims: Aims, guidance: Guidance, count: int, seed: int) -> Made:
        """Return up to `count` hypotheses; where there are fewer, the last item says so and why."""
        try:
            asked = read_goal(aims, self.knowledge)
        except UserError as refused:
            return [ItemFailed(refused.message, advice=refused.advice, details=refused.details)]
        made = list(_distinct(self._candidates(aims, asked, count, seed), guidance.avoid, count))
        drafts: list[Drafted | ItemFailed] = [Drafted(hypothesis=one) for one in made]
        if len(made) < count:
            names = ", ".join(node.name for node in asked.named)
            drafts.append(
                ItemFailed(
                    f"Hypotheses that the graph gives for this goal: {len(made)}, {count - len(made)} too few.",
                    advice=f"Ask more widely than for {names}, or import a larger graph.",
                )
            )
        return drafts

    def _candidates(self, aims: Aims, asked: GoalRead, count: int, seed: int) -> Iterator[Hypothesis]:
        view = self.knowledge.graph.view()
        finder, writer = IdeaFinder(view), IdeaWriter(view, self.at_hand(aims))
        out = {view.nodes.number(node) for node in asked.left_out} - {-1}
        unfit = {view.nodes.number(node) for node in asked.unfit} if asked.unfit else set[int]()
        named = [view.nodes.number(node.id) for node in asked.named]
        groups: Groups = []
        own = [gene for gene in self.changed(aims) if gene.name]
        if own:
            groups.append((1.0, from_own_results(self.knowledge, finder, writer, own, named, count * _SPARE)))
        for first, second in asked.pairs:
            ideas = finder.between_two(view.nodes.number(first.id), view.nodes.number(second.id))
            groups.append(_group(ideas, writer.mechanism, count, seed))
        for anchor in named:
            for wanted in asked.sought:
                groups.append(_group(finder.for_anchor(anchor, wanted, out | unfit), writer.link, count, seed))
        if asked.pairs and sum(len(items) for _, items in groups) < count:  # paths of other kinds, if there are any
            for first, second in asked.pairs:
                ideas = finder.by_any_path(view.nodes.number(first.id), view.nodes.number(second.id), count)
                groups.append(_group(ideas, writer.mechanism, count, seed))
        against = contradictions(view, named) if asked.pairs or NodeType.GENE in asked.sought else []
        fitting = [one for one in against if not asked.pairs or len(set(one.nodes) & set(named)) > 1]
        groups.append((0.0, [writer.contradiction(one) for one in fitting[: max(1, count // _CONTRADICTIONS)]]))
        for one in _in_turn(groups):
            if not {view.nodes.id(number) for number in out} & set(one.entities):
                yield one


def _group(
    ideas: Iterable[LinkIdea], write: Callable[[LinkIdea], Hypothesis], count: int, seed: int
) -> tuple[float, list[Hypothesis]]:
    """Return the hypotheses of a kind, ideas of equal strength in an order that the seed gives."""

    def place(idea: LinkIdea) -> tuple[float, str]:
        key = f"{seed}:{idea.subject}:{idea.object}"
        return -round(idea.strength, 3), hashlib.blake2b(key.encode(), digest_size=4).hexdigest()

    ordered = sorted(ideas, key=place)
    best = [idea for idea, _ in zip(spread(ordered), range(count * _SPARE), strict=False)]
    return (best[0].strength if best else 0.0), [write(idea) for idea in best]


def _in_turn(groups: Groups) -> Iterator[Hypothesis]:
    """Yield the first of each kind, the kind with the best first, then the second of each, and so on."""
    kinds = [items for _, items in sorted(groups, key=lambda group: -group[0])]
    for place in range(max((len(items) for items in kinds), default=0)):
        for items in kinds:
            if place < len(items):
                yield items[place]


def _distinct(made: Iterable[Hypothesis], avoid: Sequence[str], count: int) -> Iterator[Hypothesis]:
    """Yield hypotheses, each idea once, and none whose text is to be avoided."""
    seen: set[object] = {text.casefold().strip() for text in avoid}
    given = 0
    for one in made:
        idea = (frozenset(one.entities[:2]), tuple(one.entities[2:]))
        if given < count and one.text.casefold() not in seen and idea not in seen:
            seen |= {idea, one.text.casefold()}
            given += 1
            yield one
