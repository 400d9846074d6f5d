"""The mender: a model says why a step failed, and which setting that nobody chose would let it run.

It comes after the repairs that the tool declares. What question, data or a person decided it cannot change, so that a
mended step answers what it answered before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from engine.agents.asks import Asks
from engine.agents.describe import columns_text, tool_text
from engine.agents.prompt_files import load_prompt
from engine.domain.base import Value
from engine.domain.plan import TaskNode, texts_of
from engine.domain.profile import Profile
from engine.domain.toolspec import ParamSpec, Repair, ToolSpec
from engine.toolbox.typecheck import param_problem

MOST_REPAIRS = 3


class Reflection(Value):
    """What the model answers."""

    summary: str
    root_cause: str
    change: dict[str, Any] = {}
    confidence: float = Field(default=0.5, ge=0, le=1)
    lesson: str = ""


@dataclass(frozen=True, slots=True)
class StepMender:
    """Has failed steps looked at by the model of the role `coder`."""

    models: Asks
    looked_at: Callable[[str], Sequence[Profile]] = lambda _: ()
    """Run id -> its files as they were looked at."""
    levels: bool = True
    """Whether values of groups may leave the machine."""

    def repair(
        self,
        run_id: str,
        question: str,
        node: TaskNode,
        spec: ToolSpec,
        params: Mapping[str, Any],
        error: str,
        spent: Sequence[Repair],
        lessons: Sequence[str] = (),
    ) -> Repair | None:
        """Return a change of free parameters that was not tried yet and fits the tool, or None.

        Args:
            run_id: the run that the call is counted for.
            question: what the step helps to answer.
            node: the step, with who settled which parameter.
            spec: its tool.
            params: its parameters as they are now.
            error: why it failed.
            spent: the repairs that were tried.
            lessons: what earlier repairs of steps of this tool taught.

        Raises:
            ModelUnavailable: when no model gave an answer.
        """
        free = [param for param in spec.params if param.name not in node.settled and _is_setting(param)]
        if not free or sum(not fix.pattern for fix in spent) >= MOST_REPAIRS:
            return None
        named = {text for value in params.values() for text in texts_of(value)}
        tried = "\n".join(json.dumps(fix.change, ensure_ascii=False) for fix in spent)
        system, user = load_prompt("mend_step").filled(
            question=question,
            tool=tool_text(spec),
            params=json.dumps(dict(params), ensure_ascii=False),
            columns=columns_text(self.looked_at(run_id), named, levels=self.levels),
            free=", ".join(param.name for param in free),
            error=error,
            tried=tried,
            lessons="\n".join(lessons),
        )
        asked = self.models.ask("coder", system, user, Reflection, purpose="mend a failed step", run_id=run_id)
        change = _fitting(asked.value.change, free, params)
        if not change or any(fix.change == change for fix in spent):
            return None
        why = f"{asked.model} takes as the cause: {asked.value.root_cause.rstrip('.')}"
        return Repair(pattern="", change=change, why=why, lesson=asked.value.lesson.strip())


def _is_setting(param: ParamSpec) -> bool:
    """Say whether a parameter is how a step works; what names data, or is off until named, is what the step answers."""
    return param.kind in ("choice", "integer", "number", "boolean") and param.default not in (None, "")


def _fitting(change: Mapping[str, Any], free: Sequence[ParamSpec], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a change if all of it is free, fits and is new, else {}."""
    known = {param.name: param for param in free}
    if any(name not in known or param_problem(known[name], value) for name, value in change.items()):
        return {}
    return dict(change) if any(params.get(name) != value for name, value in change.items()) else {}
