"""A language model, where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """A message to or from a language model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """A model's answer: `data` holds the parsed object when a schema was asked for."""

    text: str
    data: Any = None
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatModel(Protocol):
    """A language model. Implementations come with the providers; tests use a scripted one."""

    @property
    def name(self) -> str:
        """Provider and model."""
        ...

    @property
    def max_input_tokens(self) -> int:
        """How much it can read at once."""
        ...

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        role: Literal["reasoning", "coder", "fast"] = "reasoning",
        schema: dict[str, Any] | None = None,
    ) -> ChatReply:
        """Answer; with `schema` (JSON Schema) `data` is an object that satisfies it.

        Raises:
            ModelUnavailable: when no answer could be had.
        """
        ...

    def count_tokens(self, text: str) -> int | None:
        """Return the exact number of tokens, or None when this model's tokenizer is not known here."""
        ...
