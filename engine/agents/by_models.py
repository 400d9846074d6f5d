"""The layer of models as agents see it: each call counted for its run, stopped with it, and told in its events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.agents.asks import Answer, ModelAnswer
from engine.domain.events import AgentFinished, AgentStarted
from engine.models.scope import Scope
from engine.models.service import Models
from engine.ports.models.chat import ChatMessage, Role


@dataclass(frozen=True, slots=True)
class ByModels:
    """Asks the models of a workspace."""

    models: Models
    scope: Callable[[str], Scope]
    """Run id -> whom its calls are counted for; "" for a question that is no run."""
    reuse: bool = True
    """Whether answers are kept for the same question; they go with their run, so not where there is none to go with."""

    def ask(
        self, role: Role, system: str, user: str, answer: type[Answer], *, purpose: str, run_id: str = ""
    ) -> ModelAnswer[Answer]:
        """Return an answer of a type; see `Asks`."""
        messages = [ChatMessage(role="system", content=system), ChatMessage(role="user", content=user)]
        scope, answered = self.scope(run_id), False
        scope.tell(AgentStarted(run_id=run_id, agent=purpose, role=role))
        try:
            given = self.models.ask(role, messages, purpose=purpose, schema=answer, scope=scope, reuse=self.reuse)
            answered = True
        finally:
            scope.tell(AgentFinished(run_id=run_id, agent=purpose, role=role, answered=answered))
        return ModelAnswer(value=given.data, model=given.model)
