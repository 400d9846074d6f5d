"""From a question and the profiles of its data to a plan: recall, the search for tools, the planner, what was set."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from engine.asking.conversation import plans_before
from engine.asking.domains import domains_of
from engine.asking.edits import set_params
from engine.asking.from_memory import apply_recall
from engine.data.columns.asked_sheet import of_asked_sheets
from engine.domain.events import EngineEvent, MemoryRecalled, ToolsRetrieved, WarningRaised
from engine.domain.memory import EpisodicContext
from engine.domain.plan import TaskDag
from engine.domain.profile import Profile
from engine.domain.results import RunRecord
from engine.domain.retrieval import ToolSearch
from engine.memory.service import Memory
from engine.planning.planner import Planner
from engine.planning.told.goals import ToldPlan
from engine.ports.runs import RunStore
from engine.retrieval.service import ToolFinder
from engine.toolbox.registry import ToolRegistry

if TYPE_CHECKING:
    from engine.agents.reader import QuestionReader

_log = logging.getLogger(__name__)
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedPlan:
    """A plan and what went into it."""

    plan: TaskDag
    considered: list[str]
    """The planner's own ranking of the built-in tools."""
    recalled: EpisodicContext | None
    found: ToolSearch | None
    faults: list[str]

    def events(self, run_id: str) -> Iterator[EngineEvent]:
        """Yield what a follower of the run should know of it."""
        for fault in self.faults:
            yield WarningRaised(run_id=run_id, message=fault)
        if self.recalled is not None:
            recall = self.recalled.recall
            yield MemoryRecalled(
                run_id=run_id,
                episodes=[item.episode.id for item in recall.episodes],
                scores=[round(item.score, 3) for item in recall.episodes],
                tokens=self.recalled.tokens,
                seconds=recall.seconds,
                notes=recall.notes,
            )
        if self.found is None:
            yield ToolsRetrieved(run_id=run_id, tools=self.considered, seconds=0.0)
            return
        stages = self.found.stages
        yield ToolsRetrieved(
            run_id=run_id,
            tools=[tool.name for tool in self.found.tools],
            seconds=stages.seconds.get("total", 0.0),
            stages={"search": stages.search, "expand": stages.expand, "rerank": stages.rerank},
            method=self.found.method,
            notes=self.found.notes,
        )


@dataclass(frozen=True, slots=True)
class PlanMaker:
    """Makes plans of questions, with what memory and the catalogues of tools give to them."""

    planner: Planner
    memory: Memory
    """Past analyses."""
    finder: ToolFinder
    """Searches the catalogues."""
    registry: ToolRegistry
    """The tools that can run."""
    store: RunStore
    """The runs of a conversation, which a follow-up may refer to."""
    reader: QuestionReader | None = None
    """Has a model read what the rules cannot, where there is one."""

    def asked(self, profiles: list[Profile], question: str, conversation: str = "", before: str = "") -> list[Profile]:
        """Return profiles of files, of a workbook that of the sheet the question, or the plan it follows, speaks of."""
        if not any(profile.others for profile in profiles):
            return profiles
        plans = plans_before(self.store, question, conversation, before)
        kept = {data.sha256: data.read.get("sheet", "") for plan in plans[:1] for data in plan.datasets}
        return of_asked_sheets(profiles, question, kept)

    def asked_by(self, record: RunRecord, profiles: list[Profile]) -> list[Profile]:
        """Return profiles as a run asks for them; see `asked`."""
        return self.asked(profiles, record.question, "" if record.alone else record.conversation, record.created_at)

    def for_run(
        self, record: RunRecord, profiles: list[Profile], told: Mapping[str, Any] | None = None
    ) -> ProposedPlan:
        """Make the plan of a run's question as its record asks for it; see `make`."""
        return self.make(
            record.question,
            profiles,
            record.changes,
            analysis=record.analysis,
            conversation="" if record.alone else record.conversation,
            before=record.created_at,
            chosen=record.chosen,
            user=record.user,
            run_id=record.run_id,
            told=told,
        )

    def make(
        self,
        question: str,
        profiles: list[Profile],
        changes: Mapping[str, str],
        *,
        analysis: str = "",
        conversation: str = "",
        before: str = "",
        chosen: Mapping[str, Mapping[str, Any]] | None = None,
        user: str = "",
        run_id: str = "",
        told: Mapping[str, Any] | None = None,
    ) -> ProposedPlan:
        """Recall what fits the question, find tools for it and make a plan that says what it took from memory.

        Neither memory nor the search may cost the plan: what fails is a warning, and the plan is made without it.

        Args:
            question: what is asked.
            profiles: what the files can serve as.
            changes: `NODE.PARAM` -> value as text, set with the question; it is set before memory is asked, which
                leaves alone what is settled.
            analysis: the id of the analysis to plan as; "" to let the planner choose.
            conversation: the conversation whose plans the question may follow; "" for none.
            before: the time from which on its plans do not count, ISO 8601; "" to count all.
            chosen: tool -> parameter -> value that a person chose in place of what was proposed.
            run_id: the run that calls of models are counted for; "" for a plan that is only looked at.
            user: who asks; only what the same user settled is taken from memory.
            told: what a model read from the question before (`TaskDag.told`), which stands unless an analysis is given.

        Raises:
            PlanError: when the question cannot be planned, or a change does not fit.
            DataError: when none of the files can be used.
        """
        faults: list[str] = []
        kinds = {guess.type.value for profile in profiles for guess in profile.types}
        domains = domains_of(question, profiles)
        recalled = _unless_it_fails(
            lambda: self.memory.recalling.context(question, domains=domains),
            "Past analyses could not be recalled",
            faults,
        )
        found = _unless_it_fails(
            lambda: self.finder.search(question, data_types=kinds, domains=domains),
            "The catalogues could not be searched",
            faults,
        )
        plans = plans_before(self.store, question, conversation, before)
        by_rules = functools.partial(
            self.planner.plan,
            question,
            profiles,
            found=found,
            analysis=analysis,
            previous=next(iter(plans), None),
            chosen=chosen,
            earlier=plans[1:],
        )
        if told and not analysis:
            made = self.planner.plan_told(question, profiles, ToldPlan.model_validate(told), chosen)
        elif self.reader is None or analysis or chosen:  # what a person chose needs no second reader
            made = by_rules()
        else:
            near = [tool.name for tool in found.tools if tool.runnable] if found else []
            made = self.reader.unless_sure(by_rules, question, profiles, near, next(iter(plans), None), faults, run_id)
        asked = set_params(made.plan, changes, self.registry)
        plan = _unless_it_fails(
            lambda: apply_recall(asked, recalled.recall, self.registry, profiles, user=user) if recalled else None,
            "What past analyses teach could not be used",
            faults,
        )
        plan = (plan or asked).model_copy(update={"base": 0})
        return ProposedPlan(plan=plan, considered=made.retrieved, recalled=recalled, found=found, faults=faults)


def _unless_it_fails(action: Callable[[], _Made | None], what: str, faults: list[str]) -> _Made | None:
    """Return what an action makes, or None with a sentence among the faults."""
    try:
        return action()
    except Exception as err:  # noqa: BLE001 - a border: memory and search are companions, never conditions of a run
        _log.warning("%s", what, exc_info=err)
        faults.append(f"{what}, so the plan is made without: {err}")
        return None
