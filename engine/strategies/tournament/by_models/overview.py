"""A model plans a tournament and sums its rounds up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from engine.domain.base import Value
from engine.domain.discovery.hypotheses import Aims, MetaReview
from engine.errors import UserError
from engine.strategies.tournament.bridges.at_hand import DataAtHand
from engine.strategies.tournament.by_models import shown
from engine.strategies.tournament.by_models.questions import TournamentAsks, or_by_rules
from engine.strategies.tournament.roles import Ideas, Matches, MetaReviewer, Reviews, Standings, Supervisor

_MOST_HYPOTHESES, _MOST_REASONS = 30, 40
Lines = Annotated[list[Annotated[str, Field(min_length=1, max_length=1_000)]], Field(min_length=1, max_length=6)]


class RoundLessons(Value):
    """What a round teaches; no list is empty."""

    summary: str = Field(min_length=1, max_length=3_000)
    strengths: Lines
    weaknesses: Lines
    recurring_themes: Lines
    gaps: Lines
    recommendations: Lines


class PlanInWords(Value):
    """How a goal is gone about."""

    plan: str = Field(min_length=1, max_length=4_000)


@dataclass(frozen=True, slots=True)
class ModelMetaReviewer:
    """Has a round summed up by the model of the role `reasoning`."""

    asks: TournamentAsks
    behind: MetaReviewer

    @or_by_rules
    def meta_review(
        self, aims: Aims, hypotheses: Ideas, reviews: Reviews, matches: Matches, standings: Standings, round_: int
    ) -> MetaReview:
        """Return what they say together, every field filled.

        Raises:
            ItemFailed: when the model gives no answer that fits.
        """
        counted = self.behind.meta_review(aims, hypotheses, reviews, matches, standings, round_)
        order = {standing.hypothesis: place for place, standing in enumerate(standings)}
        best = sorted(hypotheses, key=lambda one: order.get(one.id, len(order)))[:_MOST_HYPOTHESES]

        said = self.asks.ask(
            "reasoning",
            "sum_up_round",
            RoundLessons,
            "sum a round up",
            goal=shown.cut(aims.goal),
            hypotheses=shown.numbered(best, reviews),
            matches="\n".join(
                f"first {match.first}, second {match.second}: {shown.cut(match.reason)}"
                for match in matches[-_MOST_REASONS:]
                if match.reason
            ),
            counted="\n".join([counted.summary, *counted.weaknesses, *counted.recurring_themes, *counted.gaps]),
        )
        return MetaReview(round=round_, by=said.model, **said.value.model_dump())


@dataclass(frozen=True, slots=True)
class ModelSupervisor:
    """Has the plan written by the model of the role `reasoning`."""

    asks: TournamentAsks
    at_hand: Callable[[Aims], DataAtHand]
    behind: Supervisor

    @or_by_rules
    def plan(self, aims: Aims) -> str:
        """Return the plan in plain sentences.

        Raises:
            UserError: when no model can be asked and the graph does not know what the goal names.
            ItemFailed: when the model gives no answer that fits.
        """
        try:
            understood = self.behind.plan(aims)
        except UserError as unclear:  # a model may know what the graph does not
            understood = unclear.message
        said = self.asks.ask(
            "reasoning",
            "plan_hypotheses",
            PlanInWords,
            "plan how hypotheses are looked for",
            goal=shown.cut(aims.goal),
            wishes=shown.wishes(aims),
            seeds="\n".join(map(shown.cut, aims.seeds)),
            files=shown.files(self.at_hand(aims)),
            understood=understood,
        )
        return said.value.plan.strip()
