"""A fast model's opinion on how a task is to be answered, asked where examples leave doubt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field

from engine.agents.asks import Asks
from engine.agents.prompt_files import load_prompt
from engine.domain.base import Value
from engine.domain.results import Route, Strategy
from engine.errors import ModelUnavailable


class ChosenWay(Value):
    """What the model answers."""

    strategy: Strategy
    confidence: float = Field(ge=0, le=1)
    why: str


@dataclass(frozen=True, slots=True)
class RouteOpinion:
    """Asks the model of the role `fast`; without an answer the examples' guess stands."""

    models: Asks

    def __call__(self, question: str, ways: Mapping[Strategy, str], guess: Route) -> Route | None:
        """Return the route that the model takes for right, None when it gives none."""
        system, user = load_prompt("route_task").filled(
            question=question,
            ways="\n".join(f"{name}: {says}" for name, says in ways.items()),
            guess=f"{guess.strategy} ({guess.confidence:.0%})",
        )
        try:
            said = self.models.ask("fast", system, user, ChosenWay, purpose="choose the strategy")
        except ModelUnavailable:
            return None
        way = said.value
        reasons = [f"{said.model}: {way.why}", *guess.reasons]
        told = {"strategy": way.strategy, "confidence": round(way.confidence, 2), "method": "model", "reasons": reasons}
        return guess.model_copy(update=told)
