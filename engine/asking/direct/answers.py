"""Answers that need no plan: what the last one says of itself, where a row went, what can be asked, what is known."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from engine.asking.conversation import runs_with_plans
from engine.asking.direct.known import asks_what_is_known, told_from_knowledge, told_what_can_be_done
from engine.asking.direct.last_answer import LastAnswer
from engine.asking.direct.whereabouts import Whereabouts, other_names
from engine.domain.profile import Profile
from engine.domain.report import Report
from engine.domain.results import RunRecord
from engine.knowledge.service import KnowledgeBase
from engine.memory.service import Memory
from engine.planning.planner import Planner
from engine.runs.records import RunRecords
from engine.toolbox.registry import ToolRegistry

_log = logging.getLogger(__name__)
_NO_FILES = "No data file came with the question, so nothing was computed: this is what the desk holds of it."


@dataclass(frozen=True, slots=True)
class DirectAnswers:
    """Answers questions from what is stored already."""

    records: RunRecords
    registry: ToolRegistry
    knowledge: KnowledgeBase
    memory: Memory
    planner: Planner

    def answer(self, record: RunRecord, profiles: list[Profile]) -> Report | None:
        """Return the answer to a question that asks for no computation, None when it needs a plan."""
        if (report := self._of_last_run(record, profiles)) is not None:
            return report
        if not record.data and (report := told_what_can_be_done(record.question, self.planner.offers)) is not None:
            return report
        # `Did we see a difference in weight?` asks to compute where there is a weight, not for another run's finding.
        known = asks_what_is_known(record.question) and not self.planner.is_of_data(record.question, profiles)
        return self._known(record.question, "") if known else None

    def instead_of_plan(self, record: RunRecord) -> Report | None:
        """Return what is known of a question without files that could not be planned, None when nothing is."""
        return None if record.data else self._known(record.question, _NO_FILES)

    def _of_last_run(self, record: RunRecord, profiles: list[Profile]) -> Report | None:
        conversation = "" if record.alone else record.conversation
        last = next(runs_with_plans(self.records.store, conversation, before=record.created_at), None)
        if last is None:
            return None
        run, plan = last
        results, artifacts = self.records.store.results(run.run_id), self.records.artifacts
        columns = [column for profile in profiles for column in profile.column_profiles]
        words = frozenset(name.lower() for c in columns for name in (c.name, *c.levels))
        answer = LastAnswer(plan, self.records.view(run).report, results, artifacts, self.registry, words)
        if (report := answer.told(record.question)) is not None or not results:
            return report
        other = other_names(self.knowledge.entities)
        return Whereabouts(plan, results, artifacts, self.registry, other, words).told(record.question)

    def _known(self, question: str, why: str) -> Report | None:
        """Return what graph, facts and memory say of a question; a fault of theirs changes nothing else."""
        try:
            return told_from_knowledge(question, self.knowledge, self.memory, why)
        except Exception as err:  # noqa: BLE001 - a border: the graph is a companion, never a condition of a run
            _log.warning("What is known of %r could not be looked up", question, exc_info=err)
            return None
