"""Models that give answers in turn and keep what they were asked."""

from __future__ import annotations

from typing import Any

from engine.agents.asks import ModelAnswer
from engine.errors import ModelUnavailable


class Scripted:
    """Takes the place of the models; without a further answer there is none."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers, self.asked, self.roles = list(answers), list[str](), list[str]()

    def ask(self, role, system, user, answer, *, purpose, run_id=""):
        self.asked.append(user)
        self.roles.append(role)
        if len(self.asked) > len(self.answers):
            raise ModelUnavailable("there is no further answer")
        return ModelAnswer(value=answer.model_validate(self.answers[len(self.asked) - 1]), model="scripted/one")
