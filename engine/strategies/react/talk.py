"""Look-ups in the conversation: what its last answer says of itself, where a row of it went, and what can be asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.asking.conversation import runs_with_plans
from engine.domain.base import Value
from engine.domain.report import Report
from engine.planning.telling.offers import WHAT
from engine.runs.records import RunRecords
from engine.strategies.react.answer.last_answer import LastAnswer
from engine.strategies.react.answer.whereabouts import Whereabouts
from engine.strategies.react.lookup import Lookup, LookupQuestion, Nothing, Observation
from engine.toolbox.registry import ToolRegistry

_ABLE = re.compile(
    r"\bwhat(?: all| else)? (?:can|could) (?:you|i|it|this|the desk|biodesk)(?: all)? "
    r"(?:do|ask|offer|analy[sz]e|compute|answer)\b|"
    r"\b(?:what|which) (?:(?:kinds?|types?|sorts?) of )?(?:analys[ei]s|questions|tests|methods|things) "
    r"(?:can|could|do) (?:you|i|it|this|the desk|biodesk)\b|\bwhat are you (?:able|good|capable)\b",
    re.IGNORECASE,
)
"""What asks for what the desk can do."""


class OfAnswer(Value):
    """What is asked of the last answer."""

    question: str


@dataclass(frozen=True, slots=True)
class Talk:
    """What a conversation and the desk say of themselves."""

    records: RunRecords
    registry: ToolRegistry
    other_names: Callable[[str], Sequence[str]]
    """Other names of what a name means."""
    offers: Callable[[], Sequence[str]]
    """What can be computed from files, a line for each field."""

    def __call__(self, asked: LookupQuestion) -> list[Lookup]:
        """Return the look-ups there are for a question."""
        about = Lookup(
            "last_answer",
            "What the last answer of this conversation says of itself (is it significant, how big, which ones), and "
            "what became of a row that is missing in it.",
            OfAnswer,
            lambda taken: _seen(self._of_last(asked, taken.question)),
            lambda of, steps: [] if steps or self._last(of) is None else [OfAnswer(question=of.question)],
        )
        able = Lookup(
            "what_can_be_asked",
            "What the desk can compute, by field.",
            Nothing,
            lambda _: Observation(lines=[WHAT, *(f"From files, {line}." for line in self.offers())], whole=True),
            lambda of, _: [Nothing()] if not of.profiles and _ABLE.search(of.question) else [],
        )
        return [about, able]

    def _last(self, asked: LookupQuestion) -> Any:
        return next(runs_with_plans(self.records.store, asked.conversation, before=asked.before), None)

    def _of_last(self, asked: LookupQuestion, question: str) -> Report | None:
        last = self._last(asked)
        if last is None:
            return None
        run, plan = last
        results, artifacts = self.records.store.results(run.run_id), self.records.artifacts
        columns = [column for profile in asked.profiles for column in profile.column_profiles]
        words = frozenset(name.lower() for c in columns for name in (c.name, *c.levels))
        answer = LastAnswer(plan, self.records.view(run).report, results, artifacts, self.registry, words)
        if (report := answer.told(question)) is not None or not results:
            return report
        return Whereabouts(plan, results, artifacts, self.registry, self.other_names, words).told(question)


def _seen(report: Report | None) -> Observation:
    if report is None:
        return Observation()
    return Observation(lines=report.summary, findings=report.findings, figures=report.figures, whole=True)
