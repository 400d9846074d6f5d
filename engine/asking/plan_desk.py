"""Plans before they run: made without a run, planned again, edited by hand, made a run of, approved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from engine.asking.choices import goes_alone, others_kept, set_for_goal
from engine.asking.corrections import Corrections
from engine.asking.edits import (
    changes_between,
    chosen_now,
    kept_by_hand,
    of_rows,
    parts_chosen,
    require_columns,
    settled_by_hand,
    sides_apart,
)
from engine.asking.proposed_plan import PlanMaker
from engine.asking.router import by_name, require_analysis, require_question
from engine.asking.same_rows import same_rows, without_replaced
from engine.data.columns.asked_sheet import of_read_sheets
from engine.domain.events import PlanApproved, PlanEdited, PlanProposed
from engine.domain.plan import TaskDag
from engine.domain.profile import Profile
from engine.domain.results import Issue, RunRecord
from engine.errors import DataError, PlanError
from engine.runs.inputs import keep_inputs
from engine.runs.locks import RunLocks
from engine.runs.queue import RunQueue
from engine.runs.records import RunRecords
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.typecheck import check_plan

Choices = Mapping[str, Mapping[str, Any]]
"""Tool -> parameter -> value."""


@dataclass(frozen=True, slots=True)
class PlanDesk:
    """Where plans lie until they run. Methods may be called from any thread."""

    records: RunRecords
    queue: RunQueue
    locks: RunLocks
    corrections: Corrections
    maker: PlanMaker
    registry: ToolRegistry

    def draft(
        self,
        question: str,
        data: Sequence[Path | str] = (),
        changes: Mapping[str, str] | None = None,
        *,
        analysis: str = "",
        columns: Mapping[str, str] | None = None,
        conversation: str = "",
        user: str = "",
    ) -> tuple[TaskDag, list[Profile]]:
        """Return the plan for a question and the profiles of the files it was made from, without making a run.

        Args:
            question: what is asked.
            data: the files.
            changes: `NODE.PARAM` -> value as text; with `analysis` also the name of a parameter that it takes.
            analysis: the id of the analysis to plan as (see `analyses`); "" to have it chosen.
            columns: column -> what it is, remembered for these files (see `correct_column`).
            conversation: the conversation whose last plan the question follows.
            user: who asks, whose settings of the past may be proposed.

        Raises:
            UserError: for an empty question, or an analysis or column that does not exist.
            PlanError: when it cannot be planned; the message says what is missing.
        """
        require_question(question, analysis=analysis)
        profiles = self.maker.asked(
            self.corrections.profile([Path(path) for path in data], columns), question, conversation
        )
        of_steps = {key: text for key, text in (changes or {}).items() if "." in key or not analysis}
        parts = {key: text for key, text in (changes or {}).items() if key not in of_steps}
        chosen = parts_chosen(analysis, parts, self.registry) if parts else None
        made = self.maker.make(
            question, profiles, of_steps, analysis=analysis, conversation=conversation, chosen=chosen,
            user=user or self.records.user,
        )  # fmt: skip
        require_columns(made.plan, parts, profiles, self.registry)
        return made.plan, of_read_sheets(profiles, made.plan.datasets)

    def replan(
        self, run_id: str, *, analysis: str = "", chosen: Choices | None = None, alone: bool = False, goal: str = ""
    ) -> TaskDag:
        """Plan the question of a run that waits for approval again and store the plan as its newest version.

        It is planned as `analysis` when given, with the parameters in `chosen` (tool -> parameter -> value) and all
        that were chosen before, `alone` without what it took over from the question before, and always with what
        people said of its columns meanwhile. Other settings that were changed by hand stay where their step is still
        there. With several goals, what is chosen for the step `goal` changes no other goal.

        Raises:
            PlanError: when the run does not wait (any more), or the question cannot be planned so.
            UserError: for an analysis that does not exist.
        """
        require_analysis(analysis)
        with self.locks.of(run_id):
            record, old = self.queue.let_go(run_id, self.waiting)
            other = bool(analysis) and analysis != record.analysis
            before = of_rows(record.chosen) if other else record.chosen
            node = old.node(goal)
            values = (chosen or {}).get(node.tool, {}) if node is not None else {}
            own = goes_alone(old, goal, self.registry, values)  # and what is kept for a tool would go to all its steps
            picked = before if own else chosen_now(before, chosen or {}, self.registry)
            analysis = analysis or record.analysis
            if picked and not analysis and len(old.analysis) == 1 and not old.told:
                analysis = old.analysis[0].id  # another column is chosen for what was proposed, not something else
            profiles = self.corrections.profile([Path(path) for path in record.data])
            profiles = of_read_sheets(self.maker.asked_by(record, profiles), old.datasets)
            record = record.model_copy(
                update={
                    "analysis": analysis,
                    "alone": alone or record.alone,
                    "chosen": picked,
                    "profiles_sha256": self.records.keep_profiles(profiles),
                }
            )
            plan = self._with_choice(record, old, profiles, goal, chosen or {})
            plan = plan.model_copy(update={"version": old.version + 1})
            keep_inputs(plan, self.records.artifacts)
            changes = ["The question was planned again.", *changes_between(old, plan)]
            self.records.log.with_plan(run_id, plan, PlanEdited(run_id=run_id, plan=plan, changes=changes))
            self.records.update(record)
            return plan

    def _with_choice(
        self, record: RunRecord, old: TaskDag, profiles: list[Profile], goal: str, fresh: Choices
    ) -> TaskDag:
        """Return the plan of a question made again with what was chosen, the other goals as they were."""
        node = old.node(goal)
        values = fresh.get(node.tool, {}) if node is not None else {}
        if goes_alone(old, goal, self.registry, values):
            return set_for_goal(old, goal, values, self.registry)
        made = self.maker.for_run(record, profiles, old.told).plan
        if made.told:  # who read it, and what is to be known of that, is still true
            notes, warnings = (
                dict.fromkeys([*new, *was]) for new, was in ((made.notes, old.notes), (made.warnings, old.warnings))
            )
            made = made.model_copy(update={"notes": [*notes], "warnings": [*warnings]})
        plan = kept_by_hand(old, made, record.chosen, self.registry)
        kept = others_kept(old, plan, goal, values, self.registry) if values else plan
        plan = kept or set_for_goal(old, goal, values, self.registry)
        plan = same_rows(old, plan, fresh, self.registry, profiles) if fresh else plan
        return without_replaced(self.records.store.plan(record.run_id, 1) or old, plan, record.chosen)

    def edit(self, run_id: str, plan: TaskDag, *, user: str = "") -> tuple[str, list[Issue]]:
        """Store an edited plan; a run that already started gets a successor waiting for approval.

        The version that the edit started from is `plan.base`, or `plan.version` where that is 0.

        Returns:
            The id of the run that holds the edited plan, and what does not fit yet.

        Raises:
            PlanError: when a newer version was stored meanwhile, which this edit would silently replace.
        """
        with self.locks.of(run_id):
            record, old = self.records.stored(run_id), self.records.store.plan(run_id)
            if old is None:
                raise PlanError(f"Run {run_id} has no plan to change.", advice="Wait until its question is planned.")
            edited = settled_by_hand(old, sides_apart(old, plan, self.registry))
            changes = changes_between(old, edited)
            changed = bool(changes) or edited.open_questions != old.open_questions
            if record.status == "awaiting_approval":
                _require_newest(run_id, plan, old)
                if changed:
                    edited = edited.model_copy(update={"version": old.version + 1, "base": 0})
                    told = PlanEdited(run_id=run_id, plan=edited, changes=changes)
                    self.records.log.with_plan(run_id, edited, told)
                return run_id, check_plan(edited, self.registry)
        successor = self.new_run(edited, user=user, parent=run_id, run_now=False, before=old if changed else None)
        return successor.run_id, check_plan(edited, self.registry)

    def new_run(
        self,
        plan: TaskDag,
        *,
        user: str = "",
        parent: str = "",
        fresh_nodes: Sequence[str] = (),
        run_now: bool = True,
        before: TaskDag | None = None,
        revisions: int = 0,
    ) -> RunRecord:
        """Make a run of a plan as it stands and store both; it is approved, or waits for that when not `run_now`.

        Args:
            plan: what runs.
            user: who starts it.
            parent: the run it comes from.
            fresh_nodes: steps whose earlier results are not reused.
            run_now: False to wait for approval.
            before: the plan that `plan` is an edit of; it becomes version 1, so that the edit is known as one.
            revisions: how often a model has revised it; then the edit is the model's.

        Raises:
            PlanError: when the plan does not fit.
        """
        proposed = [before, plan] if before is not None else [plan]
        versions = [p.model_copy(update={"version": n, "base": 0}) for n, p in enumerate(proposed, start=1)]
        plan = versions[-1]
        if run_now:
            self.require_runnable(plan)
        keep_inputs(plan, self.records.artifacts)
        record = self.records.new(
            plan.question,
            [Path(dataset.path) for dataset in plan.datasets],
            user=user,
            parent=parent,
            fresh_nodes=list(fresh_nodes),
            revisions=revisions,
            route=by_name(plan.question, "dag"),
            profiles_sha256=self._profiles_kept(plan, parent),
            approved_version=plan.version if run_now else 0,
            status="queued" if run_now else "awaiting_approval",
        )
        # The plan first: a run found after a kill must have the plan that it was made of.
        run_id, log = record.run_id, self.records.log
        log.with_plan(run_id, versions[0], PlanProposed(run_id=run_id, plan=versions[0]))
        for old, new in pairwise(versions):
            changes = changes_between(old, new)
            by = "model" if revisions else "person"
            log.with_plan(run_id, new, PlanEdited(run_id=run_id, plan=new, changes=changes, by=by))
        log.new_run(record, *([PlanApproved(run_id=run_id, version=plan.version, by=record.user)] if run_now else []))
        return record

    def _profiles_kept(self, plan: TaskDag, parent: str) -> str:
        """Return where the profiles of a plan's files are kept, so that its report tells codes as any other does.

        "" where the files can no longer be looked at: the steps say what is wrong with them.
        """
        if parent:
            return self.records.stored(parent).profiles_sha256
        try:
            profiles = self.corrections.profile([Path(dataset.path) for dataset in plan.datasets])
        except DataError:
            return ""
        asked = self.maker.asked(profiles, plan.question)
        return self.records.keep_profiles(of_read_sheets(asked, plan.datasets))

    def waiting(self, run_id: str) -> tuple[RunRecord, TaskDag]:
        """Return a run that waits for approval, and its newest plan.

        Raises:
            PlanError: when it does not wait (any more).
        """
        record, plan = self.records.stored(run_id), self.records.store.plan(run_id)
        if record.status == "awaiting_approval" and plan is not None:
            return record, plan
        if record.approved_version:
            raise PlanError(
                f"The plan of run {run_id} was approved already; its status is {record.status}.",
                advice="Open the run to see how it stands.",
            )
        raise PlanError(f"Run {run_id} has no plan waiting for approval; its status is {record.status}.")

    def approved(self, record: RunRecord, plan: TaskDag, *, user: str = "", **changes: Any) -> RunRecord:
        """Store that a plan may run and return the run's record.

        Raises:
            PlanError: when it does not fit, or a question that has no honest default is open.
        """
        self.require_runnable(plan)
        told = PlanApproved(run_id=record.run_id, version=plan.version, by=user or self.records.user)
        return self.records.update(record, told, approved_version=plan.version, **changes)

    def has_drafts(self, plan: TaskDag) -> bool:
        """Say whether a plan has code of a model that nobody has approved: a person looks at it before it runs."""
        return any(self.registry.is_aside(node.tool) for node in plan.nodes)

    def require_runnable(self, plan: TaskDag) -> None:
        """Refuse a plan that cannot run.

        Raises:
            PlanError: when it has no steps or something in it does not fit.
        """
        problems = [issue for issue in check_plan(plan, self.registry) if issue.severity == "error"]
        if not plan.nodes:
            raise PlanError("The plan has no steps.")
        if problems:
            details = {"issues": [issue.model_dump() for issue in problems]}
            more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
            advice = "Answer the plan's open questions or change the step, then run it again."
            raise PlanError(problems[0].message + more, advice=advice, details=details)


def _require_newest(run_id: str, plan: TaskDag, stored: TaskDag) -> None:
    """Refuse an edit of a version that is not the newest: storing it would silently undo the edit before it.

    Raises:
        PlanError: when a newer version is stored.
    """
    base = plan.base or plan.version
    if base < stored.version:
        raise PlanError(
            f"The plan of run {run_id} was changed meanwhile: this edit started from version {base}, "
            f"and version {stored.version} is stored.",
            advice=f"Open version {stored.version} and make the change there.",
            details={"run_id": run_id, "base": base, "stored": stored.version},
        )
