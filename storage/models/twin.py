"""Calls of language models and their answers, without a disk."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from engine.domain.models import ModelCall, ModelTotals
from engine.ports.models.calls import Whose


class ModelCallsTwin:
    """The `ModelCallStore` in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[ModelCall] = []
        self._answers: dict[str, tuple[str, str]] = {}

    def add(self, call: ModelCall) -> None:
        """Keep a call."""
        with self._lock:
            self._calls.append(call)

    def totals(self, whose: Whose, key: str, *, user: str = "") -> ModelTotals:
        """Return what calls add up to."""
        totals = ModelTotals()
        for call in self.calls(limit=len(self._calls)):
            found = {"run": call.run_id, "conversation": call.conversation, "day": call.at[:10]}[whose]
            if found == key and (whose != "day" or call.user == user):
                totals = totals.plus(call)
        return totals

    def calls(self, run_id: str = "", *, limit: int = 1000) -> Sequence[ModelCall]:
        """Return calls, newest first, of one run when it is named."""
        with self._lock:
            return [call for call in reversed(self._calls) if run_id in ("", call.run_id)][:limit]

    def answer(self, key: str) -> Mapping[str, Any] | None:
        """Return the answer that was kept under this key."""
        with self._lock:
            found = self._answers.get(key)
        return json.loads(found[1]) if found else None

    def keep_answer(self, key: str, answer: Mapping[str, Any], *, run_id: str = "") -> None:
        """Keep an answer, with the run that it was made in; the first under a key stays."""
        with self._lock:
            self._answers.setdefault(key, (run_id, json.dumps(answer)))

    def forget_answers(self, run_id: str | None = None) -> int:
        """Remove the answers that a run made, or all; returns how many."""
        with self._lock:
            gone = [key for key, (made_in, _) in self._answers.items() if run_id in (None, made_in)]
            for key in gone:
                del self._answers[key]
        return len(gone)
