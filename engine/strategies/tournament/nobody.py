"""Roles where there is nobody to fill them: hypotheses of people then stand by their votes and by tests alone."""

from __future__ import annotations

from collections.abc import Sequence

from engine.domain.hypotheses import Aims, Hypothesis, HypothesisReview, Match
from engine.strategies.tournament.roles import Guidance, ItemFailed

_WHY = "There is neither a model nor a knowledge graph to judge by; votes of people and tests on data count."


class NobodyJudges:
    """A judge and reviewer that says why there is none."""

    deterministic = True
    together = True

    def review(
        self, aims: Aims, guidance: Guidance, hypotheses: Sequence[Hypothesis]
    ) -> Sequence[HypothesisReview | ItemFailed]:
        """Return for each why it is not reviewed."""
        return [ItemFailed(_WHY) for _ in hypotheses]

    def judge(
        self, aims: Aims, guidance: Guidance, first: Hypothesis, second: Hypothesis, reviews: Sequence[HypothesisReview]
    ) -> Match:
        """Say that nobody can compare.

        Raises:
            ItemFailed: always.
        """
        raise ItemFailed(_WHY)
