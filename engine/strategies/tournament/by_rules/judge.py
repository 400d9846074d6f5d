"""Compares two hypotheses by their evidence: which is better on most of what counts, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.domain.discovery.hypotheses import CRITERIA, MATCH_CRITERIA, Aims, Hypothesis, HypothesisReview, Match
from engine.strategies.tournament.bridges.patterns import DRUG, TREATS
from engine.strategies.tournament.bridges.placing import Placing
from engine.strategies.tournament.bridges.written import BUILT_IN
from engine.strategies.tournament.by_rules.reviewer import RuleReviewer
from engine.strategies.tournament.roles import Guidance, ItemFailed, Reviews
from engine.text.prose import listed

WEIGHTS = {
    "scientific_soundness": 0.28,
    "novelty": 0.16,
    "relevance": 0.16,
    "testability": 0.14,
    "clarity": 0.04,
    "potential_impact": 0.12,
    "feasibility": 0.10,
}
"""What each criterion counts; they add up to 1."""
_SLOPE = 1.2
"""Log odds of a point of the weighted mean: one point makes the better win about three times in four."""
_TIE, _LOW, _MEDIUM = 0.05, 0.1, 0.25
"""A smaller difference of points is a tie; distances of the score from a tie that are low and medium confidence."""
_TOLD = 3


@dataclass(slots=True)
class RuleJudge:
    """Compares without a model. It does not look at the order of the two."""

    placing: Placing
    reviewer: RuleReviewer
    deterministic: bool = True

    def judge(self, aims: Aims, guidance: Guidance, first: Hypothesis, second: Hypothesis, reviews: Reviews) -> Match:
        """Return the comparison.

        Raises:
            ItemFailed: for a hypothesis against itself.
        """
        if first.id and first.id == second.id:
            raise ItemFailed("A hypothesis cannot be compared with itself.")
        scores = [self._scores(aims, guidance, one, reviews) for one in (first, second)]
        points = [sum(WEIGHTS[name] * one[name] for name in MATCH_CRITERIA) for one in scores]
        difference = points[0] - points[1]
        score = 0.5 if abs(difference) < _TIE else 1 / (1 + math.exp(-_SLOPE * difference))
        sure = abs(score - 0.5)
        confidence: Literal["high", "medium", "low"] = "low" if sure < _LOW else "medium" if sure < _MEDIUM else "high"
        better = {name: _better(scores[0][name], scores[1][name]) for name in MATCH_CRITERIA}
        return Match(
            number=0,
            first=first.id,
            second=second.id,
            score=round(score, 4),
            weight=round(0.5 + sure, 4),
            confidence=confidence,
            criteria=better,
            reason=_reason(scores, difference),
            by=BUILT_IN,
        )

    def _scores(
        self, aims: Aims, guidance: Guidance, one: Hypothesis, reviews: Sequence[HypothesisReview]
    ) -> dict[str, float]:
        """Return the means of all reviews of a hypothesis by criterion, and its feasibility."""
        own = [review for review in reviews if review.hypothesis == one.id and one.id]
        if not own:
            own = [made for made in self.reviewer.review(aims, guidance, [one]) if isinstance(made, HypothesisReview)]
        means = {name: sum(review.scores[name] for review in own) / len(own) for name in CRITERIA}
        return {**means, "feasibility": float(self._feasibility(one))}

    def _feasibility(self, one: Hypothesis) -> int:
        """Return 1 to 10: data that can test it, and a drug that is in use already."""
        place, view = self.placing.place(one), self.placing.finder().view
        drugs = [n for n in place.entities if view.nodes.node_type(n) is DRUG]
        in_use = any(len(view.adjacent(drug, TREATS, "out")) for drug in drugs)
        return 4 + 3 * any(prediction.question for prediction in one.predictions) + 2 * in_use + bool(one.experiment)


def _better(one: float, other: float) -> str:
    return "equal" if math.isclose(one, other) else "first" if one > other else "second"


def _reason(scores: Sequence[dict[str, float]], difference: float) -> str:
    if abs(difference) < _TIE:
        return "The evidence does not tell them apart."
    winner, loser = (scores[0], scores[1]) if difference > 0 else (scores[1], scores[0])
    gains = sorted(MATCH_CRITERIA, key=lambda name: -WEIGHTS[name] * (winner[name] - loser[name]))

    def told(names: Sequence[str], one: dict[str, float], other: dict[str, float]) -> str:
        better = [name for name in names if one[name] > other[name]][:_TOLD]
        return listed([f"{name.replace('_', ' ')} ({one[name]:g} against {other[name]:g})" for name in better])

    which = "first" if difference > 0 else "second"
    but = told(gains[::-1], loser, winner)
    return f"The {which} is ahead on {told(gains, winner, loser)}{f', behind on {but}' if but else ''}."
