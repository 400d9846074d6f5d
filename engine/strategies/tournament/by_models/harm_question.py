"""A model is asked whether a text asks for harm, beside the rules."""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.base import Value
from engine.errors import ModelUnavailable
from engine.strategies.tournament.by_models import shown
from engine.strategies.tournament.by_models.questions import ENDS, TournamentAsks
from engine.strategies.tournament.roles import ItemFailed


class AskedForHarm(Value):
    """What the model answers."""

    harmful: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class ModelHarmReader:
    """Asks the model of the role `judge`. Without an answer the rules alone decide."""

    asks: TournamentAsks

    def __call__(self, text: str) -> str:
        """Return why a text asks for harm, "" when it does not or nobody could be asked."""
        try:
            said = self.asks.ask("judge", "ask_for_harm", AskedForHarm, "look for harm", text=shown.cut(text)).value
        except ENDS:
            raise
        except (ModelUnavailable, ItemFailed):
            return ""
        return (said.why.strip() or "A model reads it as asking for harm.") if said.harmful else ""
