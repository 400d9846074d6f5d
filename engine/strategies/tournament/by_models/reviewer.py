"""A model reviews hypotheses; what the graph states already, or denies, it cannot review away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from engine.domain.base import Value
from engine.domain.discovery.hypotheses import Aims, Hypothesis, HypothesisReview, Reflection, Score
from engine.strategies.tournament.by_models import shown
from engine.strategies.tournament.by_models.questions import TournamentAsks, or_by_rules
from engine.strategies.tournament.by_rules.reviewer import RuleReviewer
from engine.strategies.tournament.roles import Guidance, Ideas, ItemFailed, Reviewed

Why = Annotated[str, Field(max_length=1_000)]
_KNOWN_NOVELTY = 3
"""Most novelty of what the graph states already."""
_STRICT: tuple[Reflection, ...] = ("already_explained", "disproved")
"""Verdicts of the graph that stand."""


class CriterionScore(Value):
    """A score and its reason."""

    score: Score
    why: Why = ""


class NumberedReview(Value):
    """The review of one hypothesis."""

    number: int = Field(ge=1)
    scientific_soundness: CriterionScore
    novelty: CriterionScore
    relevance: CriterionScore
    testability: CriterionScore
    clarity: CriterionScore
    potential_impact: CriterionScore
    summary: Why = ""
    advice: Why = ""
    concerns: Why = ""
    reflection: Reflection = "neutral"
    reflection_reason: Why = ""


class NumberedReviews(Value):
    """What the model answers."""

    reviews: list[NumberedReview] = Field(min_length=1)


@dataclass(slots=True)
class ModelReviewer:
    """Has hypotheses reviewed by the model of the role `judge`, several side by side in one question."""

    asks: TournamentAsks
    behind: RuleReviewer
    together: bool = True

    @or_by_rules
    def review(self, aims: Aims, guidance: Guidance, hypotheses: Ideas) -> Reviewed:
        """Return a review or a failure for each, in the same order; one left out by the model is asked for alone."""
        return self._by_model(aims, guidance, hypotheses, self.behind.review(aims, guidance, hypotheses))

    def _by_model(self, aims: Aims, guidance: Guidance, hypotheses: Ideas, rules: Reviewed) -> Reviewed:
        if not hypotheses:
            return []
        try:
            found = self._asked(aims, guidance, hypotheses, rules)
        except ItemFailed as failed:
            if len(hypotheses) == 1:
                return [failed]
            found = {}
        made: list[HypothesisReview | ItemFailed] = []
        for place, one in enumerate(hypotheses):
            if place in found:
                made.append(found[place])
            elif len(hypotheses) == 1:
                made.append(ItemFailed("The model did not review it."))
            else:
                made += self._by_model(aims, guidance, [one], [rules[place]])
        return made

    def _asked(self, aims: Aims, guidance: Guidance, hypotheses: Ideas, rules: Reviewed) -> dict[int, HypothesisReview]:
        checks = [review for review in rules if isinstance(review, HypothesisReview)]
        said = self.asks.ask(
            "judge",
            "review_hypotheses",
            NumberedReviews,
            "review hypotheses",
            goal=shown.cut(aims.goal),
            wishes=shown.wishes(aims),
            literature=shown.literature(aims, guidance),
            lessons=shown.lessons(guidance.meta_review),
            hypotheses=shown.numbered(hypotheses, checks),
            count=str(len(hypotheses)),
        )
        found: dict[int, HypothesisReview] = {}
        for review in said.value.reviews:
            place = review.number - 1
            if place < len(hypotheses) and place not in found:
                found[place] = _checked(hypotheses[place], review, said.model, rules[place])
        return found


def _checked(
    one: Hypothesis, review: NumberedReview, model: str, rule: HypothesisReview | ItemFailed
) -> HypothesisReview:
    """Return a model's review, with what the graph states or denies kept."""
    given: dict[str, CriterionScore] = {
        "scientific_soundness": review.scientific_soundness,
        "novelty": review.novelty,
        "relevance": review.relevance,
        "testability": review.testability,
        "clarity": review.clarity,
        "potential_impact": review.potential_impact,
    }
    scores = {name: item.score for name, item in given.items()}
    feedback = {name: item.why for name, item in given.items() if item.why}
    reflection, reason, concerns = review.reflection, review.reflection_reason, review.concerns
    if isinstance(rule, HypothesisReview):
        concerns = " ".join(text for text in (concerns, rule.concerns) if text)
        if rule.reflection in _STRICT:
            reflection, reason = rule.reflection, rule.reflection_reason
            scores["novelty"] = min(scores["novelty"], _KNOWN_NOVELTY)
            feedback["novelty"] = f"{feedback.get('novelty', '')} Checked: {rule.reflection_reason}".strip()
    return HypothesisReview(
        hypothesis=one.id,
        scores=scores,
        feedback=feedback,
        summary=review.summary,
        advice=review.advice,
        concerns=concerns,
        reflection=reflection,
        reflection_reason=reason,
        by=model,
    )
