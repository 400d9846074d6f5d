"""Ideas of the graph as hypotheses: a sentence that can be wrong, its mechanism, its evidence and its test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.domain.discovery.hypotheses import AssertedLink, EvidenceItem, Hypothesis, Prediction
from engine.domain.knowledge import EdgeType, NodeType
from engine.knowledge.graph.view import GraphView
from engine.strategies.tournament.bridges.asserted import LinkInGraph
from engine.strategies.tournament.bridges.at_hand import DataAtHand
from engine.strategies.tournament.bridges.contradictions import Contradiction
from engine.strategies.tournament.bridges.ideas import LinkIdea, PatternWay
from engine.strategies.tournament.bridges.patterns import DISEASE, KINDS, LinkKind
from engine.strategies.tournament.bridges.wording import chain, edges_of, evidence_of, filled, opened

BUILT_IN = "built-in"
_SAY_NO = {EdgeType.CONTRAINDICATED_FOR, EdgeType.ABSENT_IN}
_GENES = (NodeType.GENE, NodeType.PROTEIN)


@dataclass(frozen=True, slots=True)
class IdeaWriter:
    """Writes ideas of one graph down."""

    view: GraphView
    at_hand: DataAtHand

    def link(self, idea: LinkIdea) -> Hypothesis:
        """Return the hypothesis that a link exists."""
        kind = self._kind(idea)
        claim = filled(kind.claim, self.view, idea.lead.nodes)
        means = filled(idea.lead.pattern.means, self.view, idea.lead.nodes)
        return self._written(idea, opened(f"{claim}: {means}."), kind)

    def mechanism(self, idea: LinkIdea) -> Hypothesis:
        """Return the hypothesis that a link works through what lies between."""
        kind = self._kind(idea)
        joint = filled("{v}" if len(idea.lead.nodes) < 4 else "{v} and {w}", self.view, idea.lead.nodes)
        claim = (
            "{s} affects {o} through " if kind is not KINDS[DISEASE, DISEASE] else "{s} and {o} go together through "
        )
        means = filled(idea.lead.pattern.means, self.view, idea.lead.nodes)
        text = opened(f"{filled(claim, self.view, idea.lead.nodes)}{joint}: {means}.")
        return self._written(idea, text, kind, through=idea.via)

    def contradiction(self, one: Contradiction) -> Hypothesis:
        """Return the hypothesis that would resolve statements that disagree."""
        paths = [PatternWay(way.pattern, way.nodes) for way in one.ways]
        said = [chain(self.view, edges_of(self.view, way.nodes, way.pattern.edges)) for way in paths]
        predictions = [Prediction(says=one.prediction, contradicted_by=one.contradicted)]
        predictions += self.own_test(one.nodes[:1], one.prediction)
        return Hypothesis(
            id="",
            text=one.text,
            explanation=f"The graph states that {'; and that '.join(said)}. {one.why}",
            experiment=one.experiment,
            method="graph",
            support=[self.evidence(way) for way in paths],
            predictions=predictions,
            entities=[self.view.nodes.id(number) for number in one.nodes],
            by=BUILT_IN,
        )

    def evidence(self, way: PatternWay, *, against: bool = False) -> EvidenceItem:
        """Return a path as evidence."""
        edges = edges_of(self.view, way.nodes, way.pattern.edges)
        return evidence_of(self.view, way.nodes, edges, worth=way.pattern.weight, against=against)

    def steps(self, links: Iterable[LinkInGraph]) -> list[EvidenceItem]:
        """Return what edges state of the steps of a mechanism; each is worth its share of the way."""
        found: list[EvidenceItem] = []
        for link in links:
            steps = [] if link.link.denied or link.opposed else link.link.steps[1:]
            for a, b in (map(self.view.nodes.number, step) for step in steps):
                between = self.view.edges.full(self.view.rows_between(a, b)) if min(a, b) >= 0 and a != b else []
                kinds = {edge.type for edge in between} - _SAY_NO
                if kinds:
                    edges = edges_of(self.view, (a, b), [frozenset(kinds)])
                    found.append(evidence_of(self.view, (a, b), edges, worth=1 / len(steps)))
        return list({item.says: item for item in found}.values())

    def predictions(self, kind: LinkKind, nodes: Sequence[int]) -> list[Prediction]:
        """Return what must be seen, at first what an experiment would show, then what files at hand could."""
        says = opened(filled(kind.prediction, self.view, nodes, genes=True))
        contradicted = opened(filled(kind.contradicted, self.view, nodes, genes=True))
        return [Prediction(says=says, contradicted_by=contradicted), *self.own_test(nodes, says)]

    def own_test(self, nodes: Sequence[int], says: str, made: Iterable[Prediction] = ()) -> list[Prediction]:
        """Return a prediction that files at hand can test, on a gene among some nodes.

        None where none is measured, and none on a gene that a question of those `made` names already: the same
        data would count twice.
        """
        asked = {word for one in made for word in re.findall(r"[\w-]+", one.question.casefold())}
        names = [self.view.nodes.node(n).name for n in nodes if self.view.nodes.node_type(n) in _GENES]
        names = [name for name in names if name.casefold() not in asked]
        test = self.at_hand.test_of(names) if names else None
        if test is None:
            return []
        question, files = test
        gene = next((name for name in names if name.casefold() in question.casefold()), names[0])
        return [
            Prediction(
                says=f"{gene} differs between the groups in your data, as it would if this holds: {says}",
                contradicted_by=f"{gene} does not differ between the groups, with samples enough to see it.",
                question=question,
                files=files,
            )
        ]

    def _kind(self, idea: LinkIdea) -> LinkKind:
        types = self.view.nodes.node_type(idea.subject), self.view.nodes.node_type(idea.object)
        return KINDS[types]

    def asserted(self, kind: LinkKind, subject: int, object_: int, through: Sequence[int] = ()) -> AssertedLink:
        """Return what a hypothesis of a kind asserts."""
        a, b, *via = map(self.view.nodes.id, (subject, object_, *through))
        return AssertedLink(subject=a, relation=kind.relation, object=b, through=via)

    def _written(self, idea: LinkIdea, text: str, kind: LinkKind, through: Sequence[int] = ()) -> Hypothesis:
        nodes = idea.lead.nodes
        support = [self.evidence(way) for way in idea.ways] + [self.evidence(w, against=True) for w in idea.against]
        told = [item.says.removesuffix(".") for item in support if item.speaks == "for"]
        against = [item.says.removesuffix(".") for item in support if item.speaks == "against"]
        explanation = f"The graph states: {'; '.join(told)}."
        if idea.lead.lift > 0:
            explanation += (
                f" Weighted by degree, there is {idea.lead.lift:.1f} times as much of such paths between the two "
                f"({idea.lead.pattern.name}) as chance would leave."
            )
        if against:
            explanation += f" Against it: {'; '.join(against)}."
        return Hypothesis(
            id="",
            text=text,
            explanation=explanation,
            experiment=opened(filled(kind.experiment, self.view, nodes, genes=True)),
            method="graph",
            support=support,
            predictions=self.predictions(kind, nodes),
            entities=[self.view.nodes.id(number) for number in (idea.subject, idea.object, *idea.via)],
            asserts=[self.asserted(kind, idea.subject, idea.object, through)],
            by=BUILT_IN,
        )
