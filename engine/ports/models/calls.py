"""Where it is kept what calls of models cost, and answers that proved right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from engine.domain.models import ModelCall, ModelTotals

Whose = Literal["run", "conversation", "day"]
"""What calls are added up by; a `day` is one user's within a day (UTC)."""


class ModelCallStore(Protocol):
    """Keeps calls and answers. Durable when a method returns; safe for many threads."""

    def add(self, call: ModelCall) -> None:
        """Keep a call."""
        ...

    def totals(self, whose: Whose, key: str, *, user: str = "") -> ModelTotals:
        """Return what calls add up to, of a run or conversation by its id, or of a user's day (`2026-11-24`)."""
        ...

    def calls(self, run_id: str = "", *, limit: int = 1000) -> Sequence[ModelCall]:
        """Return calls, newest first, of one run when it is named."""
        ...

    def answer(self, key: str) -> Mapping[str, Any] | None:
        """Return the answer that was kept under this key."""
        ...

    def keep_answer(self, key: str, answer: Mapping[str, Any], *, run_id: str = "") -> None:
        """Keep an answer, with the run that it was made in; the first under a key stays."""
        ...

    def forget_answers(self, run_id: str | None = None) -> int:
        """Remove the answers that a run made, or all; returns how many. What they cost stays counted."""
        ...
