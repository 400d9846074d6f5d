"""Questions of a tournament to models: counted, and told apart by what their failure means."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import ValidationError

from engine.agents.asks import Answer, Asks, ModelAnswer
from engine.agents.prompt_files import load_prompt
from engine.errors import AnswerInvalid, BrokenAnswer, BudgetSpent, ModelCancelled, ModelRefused, ModelUnavailable
from engine.ports.models.chat import Role
from engine.strategies.tournament.roles import ItemFailed

Given = TypeVar("Given")
ENDS = (BudgetSpent, ModelCancelled)
"""What ends a tournament and not only one item."""
_OF_THE_ITEM = (AnswerInvalid, BrokenAnswer, ModelRefused)
"""What another item may be spared."""


@dataclass(slots=True)
class TournamentAsks:
    """The models as a tournament asks them. May be used from several threads."""

    models: Asks
    run_id: str = ""
    """The tournament that calls count for."""
    calls: int = 0
    """Questions asked so far; the account of calls has the tries of each."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, role: Role, prompt: str, answer: type[Answer], purpose: str, **values: str) -> ModelAnswer[Answer]:
        """Return an answer of a type.

        Raises:
            ItemFailed: when there is an answer that does not fit, or the model declines.
            ModelUnavailable: when nobody can be asked, or a budget is spent.
        """
        system, user = load_prompt(prompt).filled(**values)
        try:
            return self.put(role, system, user, answer, purpose)
        except _OF_THE_ITEM as err:
            raise ItemFailed(f"To {purpose}, the model gave no answer that fits: {err.message}") from err
        except ValidationError as err:
            raise ItemFailed(f"To {purpose}, the model gave no answer that fits.") from err

    def put(self, role: Role, system: str, user: str, answer: type[Answer], purpose: str) -> ModelAnswer[Answer]:
        """Return an answer of a type to a question in its final form; failures come as they are."""
        with self._lock:
            self.calls += 1
        return self.models.ask(role, system, user, answer, purpose=purpose, run_id=self.run_id)


@dataclass(frozen=True, slots=True)
class AsksOfTournament:
    """The models of a tournament as agents of the house ask them (`Asks`): what they ask is counted for it, too."""

    asks: TournamentAsks

    def ask(
        self, role: Role, system: str, user: str, answer: type[Answer], *, purpose: str, run_id: str = ""
    ) -> ModelAnswer[Answer]:
        """Return an answer of a type; see `Asks`. The tournament stands in the place of a run."""
        return self.asks.put(role, system, user, answer, purpose)


def or_by_rules(by_model: Callable[[], Given], by_rules: Callable[[], Given]) -> Given:
    """Return what a model gives, or what rules do where none can be asked.

    Raises:
        ItemFailed: when the item cannot be made.
        ModelUnavailable: when a budget is spent or somebody stopped it.
    """
    try:
        return by_model()
    except ENDS:
        raise
    except ModelUnavailable:
        return by_rules()
