"""What a tournament asks others to do: each has a form of rules, and one of a model that rules stand behind.

A role that cannot do one item raises `ItemFailed`; the tournament notes it as skipped and goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.domain.base import Value
from engine.domain.discovery.hypotheses import (
    Aims,
    Evolution,
    Hypothesis,
    HypothesisReview,
    Match,
    MetaReview,
    Method,
    Standing,
)
from engine.errors import EngineError


class ItemFailed(EngineError):
    """One hypothesis, review or comparison could not be made."""

    code = "item_failed"


class Drafted(Value):
    """What a maker gives; the tournament adds id, time and round."""

    hypothesis: Hypothesis
    calls: int = 0
    """Calls of a model that it took."""


class Guidance(Value):
    """What makers and reviewers are told beside the goal."""

    plan: str = ""
    """Of the supervisor."""
    literature: str = ""
    """What a review of literature found, empty where there was none."""
    meta_review: MetaReview | None = None
    reviews: list[HypothesisReview] = []
    """All that there are."""
    avoid: list[str] = []
    """Texts of hypotheses that exist or were merged."""
    again: int = 0
    """So many times the judge was asked about the same two in the same order before."""


Ideas = Sequence[Hypothesis]
Reviews = Sequence[HypothesisReview]
Made = Sequence[Drafted | ItemFailed]
Reviewed = Sequence[HypothesisReview | ItemFailed]
Matches = Sequence[Match]
Standings = Sequence[Standing]


class Maker(Protocol):
    """Makes hypotheses in one mode."""

    method: Method

    def make(self, aims: Aims, guidance: Guidance, count: int, seed: int) -> Made:
        """Return up to `count` hypotheses, and a failure for each that could not be made."""
        ...


class Reviewer(Protocol):
    """Reviews hypotheses against evidence and the six criteria."""

    together: bool
    """Whether several are better reviewed side by side in one call, up to `Bounds.batch_review`."""

    def review(self, aims: Aims, guidance: Guidance, hypotheses: Ideas) -> Reviewed:
        """Return a review or a failure for each, in the same order."""
        ...


class Judge(Protocol):
    """Compares two."""

    deterministic: bool
    """Whether the same pair always gets the same answer; such pairs are not repeated."""

    def judge(self, aims: Aims, guidance: Guidance, first: Hypothesis, second: Hypothesis, reviews: Reviews) -> Match:
        """Return the comparison, `number` left at 0.

        Raises:
            ItemFailed: when it cannot be made.
        """
        ...


class Evolver(Protocol):
    """Rewrites hypotheses."""

    def evolve(self, aims: Aims, guidance: Guidance, parents: Ideas, how: Evolution, seed: int) -> Drafted:
        """Return a new hypothesis; its parents stay.

        Raises:
            ItemFailed: when it cannot be made, or would say what a parent says.
        """
        ...


class MetaReviewer(Protocol):
    """Reads all reviews and matches of a round."""

    def meta_review(
        self, aims: Aims, hypotheses: Ideas, reviews: Reviews, matches: Matches, standings: Standings, round_: int
    ) -> MetaReview:
        """Return what they say together, every field filled."""
        ...


class Supervisor(Protocol):
    """Plans how a goal is gone about."""

    def plan(self, aims: Aims) -> str:
        """Return the plan in plain sentences."""
        ...
