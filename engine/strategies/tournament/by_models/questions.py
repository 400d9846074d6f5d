"""Questions of a tournament to models: counted, and told apart by what their failure means."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from pydantic import ValidationError

from engine.agents.asks import Answer, Asks, ModelAnswer
from engine.agents.prompt_files import load_prompt
from engine.errors import AnswerInvalid, BrokenAnswer, BudgetSpent, ModelCancelled, ModelRefused, ModelUnavailable
from engine.ports.models.chat import Role
from engine.strategies.tournament.roles import ItemFailed

Given = TypeVar("Given")
Own = TypeVar("Own", bound="HasBehind")
Asked = ParamSpec("Asked")
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


class HasBehind(Protocol):
    """A role with the one behind it, which has the same methods."""

    @property
    def behind(self) -> object:
        """Who does it where no model can be asked."""
        ...


def or_by_rules(by_model: Callable[Concatenate[Own, Asked], Given]) -> Callable[Concatenate[Own, Asked], Given]:
    """Let a role do what its method says, or the one behind it do the same where no model can be asked.

    What ends a tournament (a budget that is spent, somebody who stopped it) is raised.
    """

    @wraps(by_model)
    def asked(role: Own, *args: Asked.args, **named: Asked.kwargs) -> Given:
        try:
            return by_model(role, *args, **named)
        except ENDS:
            raise
        except ModelUnavailable:
            return getattr(role.behind, by_model.__name__)(*args, **named)

    return asked
