"""What an agent needs of the models: a question to one role, and a value of a type as the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

from engine.ports.models.chat import Role

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer(Generic[Answer]):
    """An answer that fits its type, and who gave it."""

    value: Answer
    model: str
    """Provider and model."""


class Asks(Protocol):
    """The models, as an agent sees them. Budget, fallbacks, retries, caching and accounting are behind it."""

    def ask(
        self, role: Role, system: str, user: str, answer: type[Answer], *, purpose: str, run_id: str = ""
    ) -> ModelAnswer[Answer]:
        """Return an answer of a type.

        Args:
            role: which of the configured models.
            system: what it is to do.
            user: the material.
            answer: the type; what does not fit it is sent back to the model, and refused when it never fits.
            purpose: what the call is for, in a few words, as the user reads it in the account of calls.
            run_id: the run that it counts for.

        Raises:
            ModelUnavailable: when there is no answer of the type: no model, no budget, or nothing that fits.
        """
        ...
