"""What all reviews and matches of a round say together, and how a goal is gone about: counted, not composed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.domain.discovery.hypotheses import (
    CRITERIA,
    Aims,
    Hypothesis,
    HypothesisReview,
    MetaReview,
)
from engine.errors import UserError
from engine.knowledge.service import KnowledgeBase
from engine.strategies.tournament.bridges.at_hand import ChangedGene, DataAtHand
from engine.strategies.tournament.bridges.goal import GoalRead, read_goal, unknown_exclusions
from engine.strategies.tournament.bridges.patterns import between
from engine.strategies.tournament.bridges.placing import Placing
from engine.strategies.tournament.bridges.written import BUILT_IN
from engine.strategies.tournament.by_rules.reviewer import ADVICE
from engine.strategies.tournament.roles import Ideas, Matches, Reviews, Standings
from engine.text.prose import listed

_STRONG, _WEAK = 7.0, 5.0
"""Means of a criterion from which it is a strength, and up to which it is a weakness."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class RuleMetaReviewer:
    """Sums a round up without a model."""

    placing: Placing

    def meta_review(
        self, aims: Aims, hypotheses: Ideas, reviews: Reviews, matches: Matches, standings: Standings, round_: int
    ) -> MetaReview:
        """Return what they say together, every field filled."""
        means = _means(reviews)
        themes = self._themes(hypotheses)
        gaps = self._gaps(aims, hypotheses)
        worst = min(means, key=lambda name: means[name], default="")
        texts = {one.id: one.text for one in hypotheses}
        best = texts.get(standings[0].hypothesis, "") if standings else ""
        ties = sum(match.confidence == "low" for match in matches)
        return MetaReview(
            round=round_,
            summary=f"Hypotheses: {len(hypotheses)}, reviews: {len(reviews)}, comparisons: {len(matches)}, close ones: "
            f"{ties}. {f'Ahead is: {best}' if best else 'None is ahead yet.'}",
            strengths=[_told(name, mean) for name, mean in means.items() if mean >= _STRONG] or ["None stands out."],
            weaknesses=[_told(name, mean) for name, mean in means.items() if mean <= _WEAK]
            or (
                [f"No criterion is low; the lowest: {_told(worst, means[worst])}"]
                if worst
                else ["There are no reviews yet."]
            ),
            recurring_themes=themes or ["No entity is in more than one hypothesis beside those of the goal."],
            gaps=gaps or ["Each entity of the goal is in at least one hypothesis."],
            recommendations=[ADVICE[worst]] if worst else ["Review the hypotheses first."],
            by=BUILT_IN,
        )

    def _themes(self, hypotheses: Sequence[Hypothesis]) -> list[str]:
        view = self.placing.finder().view
        counted = Counter(number for one in hypotheses for number in self.placing.place(one).entities)
        return [
            f"{view.nodes.node(number).name} is in {times} hypotheses."
            for number, times in counted.most_common(_SHOWN)
            if times > 1
        ]

    def _gaps(self, aims: Aims, hypotheses: Sequence[Hypothesis]) -> list[str]:
        try:
            named = read_goal(aims, self.placing.knowledge).named
        except UserError as unclear:
            return [unclear.message]
        view = self.placing.finder().view
        told = {view.nodes.id(n) for one in hypotheses for n in self.placing.place(one).entities}
        untested = sum(not any(p.question for p in one.predictions) for one in hypotheses)
        gaps = [f"No hypothesis speaks of {node.name}." for node in named if node.id not in told]
        if untested:
            gaps.append(f"No data at hand can test {untested} of the {len(hypotheses)}.")
        return gaps


@dataclass(frozen=True, slots=True)
class RuleSupervisor:
    """Says how a goal is gone about without a model."""

    knowledge: KnowledgeBase
    changed: Callable[[Aims], Sequence[ChangedGene]]
    at_hand: Callable[[Aims], DataAtHand]

    def plan(self, aims: Aims) -> str:
        """Return the plan in plain sentences.

        Raises:
            UserError: when the goal names nothing that the graph knows, or what may be several things; it asks.
        """
        asked = read_goal(aims, self.knowledge)
        sentences = [
            f"The goal names {listed([f'{node.name} ({_kind(node.type)})' for node in asked.named])}.",
            _sought(asked),
        ]
        if asked.of is not None:
            sentences.append(f"Of the drugs only those are taken that the graph states to help in {asked.of.name}.")
        if asked.left_out:
            names = list(self.knowledge.entities.names(sorted(asked.left_out)).values())
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            sentences.append(f"Left out, as the constraints say: {', '.join(names[:_SHOWN])}{more}.")
        unread = unknown_exclusions(aims, self.knowledge)
        if unread:
            sentences.append(f"Nothing that the graph knows is named in {listed(unread)}, so that leaves nothing out.")
        genes, files = self.changed(aims), self.at_hand(aims).profiles
        if genes:
            sentences.append(f"{len(genes)} genes that your finished runs found changed are used.")
        sentences.append(
            f"Predictions can be tested on {listed([one.name for one in files])} where a gene of them is measured."
            if files
            else "No data came with the goal, so predictions are stated and not tested."
        )
        given = {"preferences": aims.preferences, "attributes": aims.attributes, "literature": aims.literature}
        kept = [name for name, text in given.items() if text]
        if kept:
            sentences.append(f"By rules alone, {listed(kept)} are kept and not read.")
        return " ".join(sentences)


def _sought(asked: GoalRead) -> str:
    if not asked.sought:
        pairs = [f"{a.name} and {b.name}" for a, b in asked.pairs]
        return f"What could join {listed(pairs)} is looked for along typed paths of the knowledge graph."
    names = sorted({p.name for node in asked.named for kind in asked.sought for p in between(node.type, kind)})
    kinds = listed([_kind(kind) + "s" for kind in asked.sought])
    return (
        f"Sought are {kinds} that no statement of the graph links to it yet and that {len(names)} kinds of path reach: "
        f"{', '.join(names)}. Each is weighed against chance, so that many links alone gain nothing."
    )


def _kind(kind: str) -> str:
    return str(kind).replace("go_term", "process").replace("_", " ")


def _means(reviews: Sequence[HypothesisReview]) -> dict[str, float]:
    return {name: sum(r.scores[name] for r in reviews) / len(reviews) for name in CRITERIA} if reviews else {}


def _told(name: str, mean: float) -> str:
    return f"{name.replace('_', ' ')} is {mean:.1f} of 10 on average."
