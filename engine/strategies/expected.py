"""What a plan will ask of models, before it runs: which calls for sure, which only when something goes wrong.

What a call takes is the mean of earlier calls for the same purpose in this workspace; without any, the prompt as far as
it is known by now, and an assumed answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.agents.coder import DEEPER, REPAIRS
from engine.agents.describe import files_text, tool_text
from engine.agents.mender import MOST_REPAIRS
from engine.agents.prompt_files import load_prompt
from engine.agents.reader import ROUNDS, SHOWN
from engine.domain.models import ExpectedCalls, ModelCall, ModelEstimate
from engine.domain.plan import TaskDag
from engine.domain.profile import Profile
from engine.models.roster import Target
from engine.models.service import Models
from engine.ports.models.chat import Role
from engine.settings import Settings
from engine.text.token_cost import estimate_tokens
from engine.toolbox.registry import ToolRegistry

FINDINGS = 60
"""Tokens that the findings and caveats of one step are taken to have."""
TOOL = 350
"""Tokens of a tool as the reader is shown it."""
SENT = 20
"""So many earlier calls at most are looked at for a purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A kind of call: how many for sure, how many at most, and what one takes where none is known."""

    role: Role
    purpose: str
    calls: int
    most: int
    reads: Callable[[], int]
    writes: int


@dataclass(frozen=True, slots=True)
class Expecting:
    """Says what plans will ask of models."""

    models: Models
    settings: Settings
    registry: ToolRegistry

    def of(self, plan: TaskDag, profiles: Sequence[Profile] = ()) -> ModelEstimate | None:
        """Return what a plan will ask, or None when there is no model to be asked."""
        kinds = [kind for kind in self._kinds(plan, profiles) if kind.most and self.models.has(kind.role)]
        if not kinds:
            return None
        past = self.models.calls()
        return ModelEstimate(parts=[self._part(kind, past) for kind in kinds])

    def _kinds(self, plan: TaskDag, profiles: Sequence[Profile]) -> list[_Kind]:
        told, again = self.settings, self.settings.model_revisions
        written = sum(self.registry.is_aside(node.tool) for node in plan.nodes)
        own = len(plan.nodes) - written
        files = estimate_tokens(files_text(profiles, levels=told.model_levels))
        steps = sum(estimate_tokens(json.dumps(node.params, ensure_ascii=False)) + FINDINGS for node in plan.nodes)
        reports = told.model_report and self.models.has("reasoning") and self.models.has("judge")
        repairs = told.model_repairs and self.models.has("coder")
        tools = [self.registry.get(node.tool) for node in plan.nodes if node.tool in self.registry]
        longest = max((estimate_tokens(tool_text(spec)) for spec in tools), default=0)
        return [
            _Kind(role="reasoning", purpose="put the answer in words", calls=int(reports),
                  most=3 * (1 + again) * reports, reads=lambda: _prompt("write_answer") + steps, writes=250),
            _Kind(role="judge", purpose="review the result", calls=int(reports), most=(1 + again) * reports,
                  reads=lambda: _prompt("review_run") + files + 2 * steps, writes=300),
            _Kind(role="coder", purpose="mend a failed step", calls=0, most=MOST_REPAIRS * own * repairs,
                  reads=lambda: _prompt("mend_step") + longest + FINDINGS, writes=200),
            _Kind(role="coder", purpose="write code for a step", calls=0,
                  most=(REPAIRS + DEEPER) * written * repairs,
                  reads=lambda: _prompt("write_code") + files + steps, writes=1200),
            _Kind(role="reasoning", purpose="read the question", calls=0,
                  most=ROUNDS * again * told.model_plans,
                  reads=lambda: _prompt("read_question") + files + SHOWN * TOOL, writes=800),
        ]  # fmt: skip

    def _part(self, kind: _Kind, past: Sequence[ModelCall]) -> ExpectedCalls:
        target: Target = self.models.roster[kind.role][0]
        same = [
            call for call in past if call.purpose == kind.purpose and call.outcome == "answered" and not call.cached
        ]
        same = same[:SENT]
        if same:
            reads = round(sum(call.prompt_tokens for call in same) / len(same))
            writes = round(sum(call.completion_tokens for call in same) / len(same))
        else:
            reads, writes = kind.reads(), kind.writes
        return ExpectedCalls(
            role=kind.role,
            model=target.name,
            purpose=kind.purpose,
            calls=kind.calls,
            most=kind.most,
            prompt_tokens=reads,
            completion_tokens=writes,
            usd=target.usd(reads, writes),
            from_calls=len(same),
        )


def _prompt(name: str) -> int:
    prompt = load_prompt(name)
    return estimate_tokens(prompt.system + prompt.user)
