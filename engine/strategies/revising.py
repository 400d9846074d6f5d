"""What comes after a plan that failed in part, or whose result a review holds to be wrong: a model reads anew.

The revised plan meets every check that a first plan meets. Where the run approves itself and something failed, it goes
on with the revised plan; in every other case the revised plan is a run of its own that waits for approval, beside the
report of this one: which of two answers stands is decided by a person.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.agents.reader import QuestionReader
from engine.asking.edits import changes_between
from engine.asking.plan_desk import PlanDesk
from engine.domain.events import PlanEdited, PlanRevised, WarningRaised
from engine.domain.plan import TaskDag
from engine.domain.report import Doubt, Report, RunView
from engine.domain.results import DONE, NodeResult, RunRecord
from engine.errors import ModelUnavailable, PlanError
from engine.strategies.revised_plan import beside, new_steps

if TYPE_CHECKING:
    from engine.steps.mending import Mending

BY = "the rules, for a run that approves itself"


@dataclass(frozen=True, slots=True)
class Revising:
    """Revises plans that ran."""

    reader: QuestionReader | None
    plans: PlanDesk
    most: int
    """Times that the plan of a question is read anew at most."""
    mending: Mending | None = None
    """Writes code anew where a person has to read it before it runs; how often, the coder knows."""

    def after_failure(self, record: RunRecord) -> RunRecord | None:
        """Have the plan of a run revised whose steps failed; return the run where it goes on with it, else None."""
        view = self.plans.records.view(record)
        failed = [result for result in view.results.values() if result.status == "failed"]
        failed = [result for result in failed if view.plan and view.plan.node(result.node)]
        of_step = {
            result.node: f"Step {result.node} ({result.tool}) failed: {result.error.strip()}" for result in failed
        }
        why = [*of_step.values()]
        anew = self._with_code_anew(view, failed)
        if anew is not None:
            self._as_a_run(view, anew, why)
            return None
        done = {node for node, result in view.results.items() if result.status in DONE}
        plan = self._revised(view, why, of_step, self._doubted_before(record), done)
        if plan is None:
            return None
        if not record.auto_approve or plan.unanswered() or self.plans.has_drafts(plan):
            self._as_a_run(view, plan, why)
            return None
        return self._going_on(view, plan, why)

    def after_review(self, record: RunRecord, report: Report) -> None:
        """Have a plan revised whose result a review holds to be wrong; the revised one waits for approval."""
        if self._waits(record.run_id):
            return  # what failed has led to another plan already, which this result is not of
        view = self.plans.records.view(record)
        wrong = [doubt for doubt in report.doubts if doubt.kind == "wrong"]
        why = [f"A reviewer holds: {doubt.text}" for doubt in wrong]
        of_step = {doubt.node: text for doubt, text in zip(wrong, why, strict=True) if doubt.node}
        doubts = [*map(_told, report.doubts), *self._doubted_before(record)]
        # What it holds to be wrong must not lead the next report: only what is read anew stands in the new plan.
        plan = self._revised(view, why, of_step, doubts, ())
        if plan is not None:
            self._as_a_run(view, plan, why)

    def _doubted_before(self, record: RunRecord) -> list[str]:
        """Return what reviewers doubted of the results that led to a plan made anew: why it was made stays known."""
        found = list[str]()
        while record.revisions and record.parent:
            record = self.plans.records.stored(record.parent)
            report = self.plans.records.view(record).report
            # Ids of steps are those of the plan then.
            found += [_told(doubt.model_copy(update={"node": ""})) for doubt in (report.doubts if report else ())]
        return found

    def _waits(self, run_id: str) -> bool:
        """Say whether a plan made of this run's waits beside it."""
        events = self.plans.records.store.events(run_id, limit=1_000_000)
        return any(isinstance(event, PlanRevised) and event.run != run_id for event in events)

    def _revised(
        self,
        view: RunView,
        why: Sequence[str],
        of_step: Mapping[str, str],
        doubts: Sequence[str],
        kept: Collection[str],
    ) -> TaskDag | None:
        """Return another plan that can run or asks a person, or None; what stands in its way is told in the run.

        Args:
            view: the run.
            why: what failed or is held to be wrong.
            of_step: step -> the sentence of these that is about it.
            doubts: what reviewers held against this result and those before it.
            kept: steps whose answers stay also where the model leaves them out.
        """
        run_id, ran = view.record.run_id, view.plan
        if self.reader is None or not why or ran is None or view.record.revisions >= self.most:
            return None
        try:
            read = self.reader.revise(ran, view.profiles, why, doubts=doubts, run_id=run_id).plan
            plan = beside(ran, read, kept)
            dropped = [node for node in ran.nodes if node.id in of_step and plan.node(node.id) is None]
            if new_steps(ran, plan):
                dropped = []  # another way to answer may stand in its place
            elif not dropped:
                raise PlanError("The model reads the question as before.")
            if not plan.unanswered():
                self.plans.require_runnable(plan)
        except (PlanError, ModelUnavailable) as err:
            self._tell(run_id, f"The plan was not revised by a model: {err.message}")
            return None
        told = [f"A model revised this plan after another had run. {text}" for text in why]
        # A note of the plan, no limit of its result: it is about the result before.
        lacks = [f"Left out of the revised plan: {node.name}. {of_step[node.id]}" for node in dropped]
        return plan.model_copy(update={"notes": [*told, *plan.notes], "warnings": [*lacks, *plan.warnings]})

    def _with_code_anew(self, view: RunView, failed: Sequence[NodeResult]) -> TaskDag | None:
        """Return the plan with other code in the place of code that failed, for a person to read; None without any."""
        plan, run_id = view.plan, view.record.run_id
        if self.mending is None or plan is None:
            return None
        tools = dict[str, str]()
        for result in failed:
            if not self.mending.shelf.has(result.tool):
                continue
            try:
                tool = self.mending.anew(self._versions(view.record, result.node), plan.question, run_id)
            except (PlanError, ModelUnavailable) as err:
                self._tell(run_id, f"The code of step {result.node} was not written anew: {err.message}")
                continue
            tools |= {result.node: tool.name} if tool is not None else {}
        if not tools:
            return None
        nodes = [
            node.model_copy(update={"tool": tools[node.id], "tools_needed": [tools[node.id]]})
            if node.id in tools
            else node
            for node in plan.nodes
        ]
        told = f"The code of {', '.join(tools)} failed and was written anew: read it before it runs."
        return plan.model_copy(update={"nodes": nodes, "warnings": [told, *plan.warnings]})

    def _versions(self, record: RunRecord, node_id: str) -> list[tuple[str, str]]:
        """Return the code of a step that failed in this run and those it comes from, the newest last, each with why."""
        assert self.mending is not None
        found = list[tuple[str, str]]()
        while True:
            result = self.plans.records.store.results(record.run_id).get(node_id)
            if result is None or result.status != "failed" or not self.mending.shelf.has(result.tool):
                return found[::-1]
            found.append((result.tool, result.error))
            if not record.parent:
                return found[::-1]
            record = self.plans.records.stored(record.parent)

    def _tell(self, run_id: str, message: str) -> None:
        self.plans.records.log.emit(WarningRaised(run_id=run_id, message=message))

    def _going_on(self, view: RunView, plan: TaskDag, why: list[str]) -> RunRecord:
        """Store a revised plan as the run's newest and let it run."""
        records, record, ran = self.plans.records, view.record, view.plan
        assert ran is not None
        number, run_id = record.revisions + 1, record.run_id
        plan = plan.model_copy(update={"version": max(view.plan_versions) + 1})
        changes = [*why, *changes_between(ran, plan)]
        records.log.emit(PlanRevised(run_id=run_id, why=why, number=number, run=run_id))
        records.log.with_plan(run_id, plan, PlanEdited(run_id=run_id, plan=plan, changes=changes, by="model"))
        return self.plans.approved(records.stored(run_id), plan, user=BY, revisions=number)

    def _as_a_run(self, view: RunView, plan: TaskDag, why: list[str]) -> None:
        """Make a revised plan a run that waits for approval."""
        record = view.record
        number = record.revisions + 1
        made = self.plans.new_run(
            plan, user=record.user, parent=record.run_id, run_now=False, before=view.plan, revisions=number
        )
        self.plans.records.log.emit(PlanRevised(run_id=record.run_id, why=why, number=number, run=made.run_id))


def _told(doubt: Doubt) -> str:
    """Return what a reviewer holds against a result as the reader of the question is told it."""
    step = f" (step {doubt.node})" if doubt.node else ""
    said = "holds it to be wrong" if doubt.kind == "wrong" else "doubts it"
    return f"A reviewer of the result {said}{step}: {doubt.text}"
