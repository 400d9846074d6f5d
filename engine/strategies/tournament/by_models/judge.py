"""A model compares two hypotheses; what names no winner or contradicts itself goes back, and is none at last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field, field_validator, model_validator

from engine.domain.base import Value
from engine.domain.discovery.hypotheses import MATCH_CRITERIA, Aims, Chance, Hypothesis, Match
from engine.strategies.tournament.by_models import shown
from engine.strategies.tournament.by_models.questions import TournamentAsks, or_by_rules
from engine.strategies.tournament.roles import Guidance, Judge, Reviews

WEIGHTS: dict[str, float] = {"high": 1.0, "medium": 0.7, "low": 0.4}
"""What a comparison counts by how sure the judge says to be."""
_OF_TIE = 0.1
"""So far from a half the chance may be in a tie."""


class JudgedPair(Value):
    """What the model answers."""

    winner: Literal["first", "second", "tie"]
    chance: Chance = Field(description="That an expert panel would prefer the first.")
    confidence: Literal["high", "medium", "low"] = "low"
    criteria: dict[str, str] = {}
    reason: str = Field(min_length=1, max_length=2_000)

    @field_validator("winner", mode="before")
    @classmethod
    def _plain(cls, said: object) -> object:
        return said.strip().casefold() if isinstance(said, str) else said

    @model_validator(mode="after")
    def _one_opinion(self) -> JudgedPair:
        """Let a judge that contradicts itself say it again."""
        if not _agrees(self.winner, self.chance):
            raise ValueError(f"{self.winner} wins, with a chance of {self.chance:g} for the first: one is wrong.")
        return self


@dataclass(slots=True)
class ModelJudge:
    """Has two compared by the model of the role `judge`, in the order in which they are given."""

    asks: TournamentAsks
    behind: Judge
    deterministic: bool = False

    @or_by_rules
    def judge(self, aims: Aims, guidance: Guidance, first: Hypothesis, second: Hypothesis, reviews: Reviews) -> Match:
        """Return the comparison.

        Raises:
            ItemFailed: when the model names no winner, contradicts itself, or gives no answer that fits.
        """
        said = self.asks.ask(
            "judge",
            "compare_hypotheses",
            JudgedPair,
            "compare two hypotheses",
            goal=shown.cut(aims.goal),
            wishes=shown.wishes(aims),
            lessons=shown.lessons(guidance.meta_review),
            first=shown.hypothesis(first, reviews),
            second=shown.hypothesis(second, reviews),
            # A comparison that is repeated is a question of its own: a kept answer would count twice and tell nothing.
            number=str(guidance.again + 1),
        )
        answer = said.value
        return Match(
            number=0,
            first=first.id,
            second=second.id,
            score=0.5 if answer.winner == "tie" else answer.chance,
            weight=WEIGHTS[answer.confidence],
            confidence=answer.confidence,
            criteria={name: said for name, said in answer.criteria.items() if name in MATCH_CRITERIA},
            reason=answer.reason,
            by=said.model,
        )


def _agrees(winner: str, chance: float) -> bool:
    if winner == "tie":
        return abs(chance - 0.5) <= _OF_TIE
    return chance > 0.5 if winner == "first" else chance < 0.5
