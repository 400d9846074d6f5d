"""The way from question to report. Read this first.

    ask      a question and files become a run, which waits for its turn in the queue
    propose  profile the files -> choose the strategy -> recall -> find tools -> make a plan -> show it
    approve  the user has read (and perhaps changed) the plan
    execute  run its steps in the sandbox -> judge each -> write the report -> check its claims -> remember
    resume   after a kill or a cancel: what succeeded is kept, the rest runs

Every stage writes events (`engine.domain.events`) and stores its result before the next begins, so a run
can be watched from anywhere and picked up after any interruption. `_work` is the one border where errors
of a run are turned into its status.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from engine.asking.choices import goes_alone, others_kept, set_for_goal
from engine.asking.corrections import Corrections
from engine.asking.edits import changes_between, chosen_now, kept_by_hand, settled_by_hand, sides_apart
from engine.asking.known import asks_what_is_known, told_from_knowledge, told_what_can_be_done
from engine.asking.last_answer import LastAnswer
from engine.asking.proposal import Proposal, propose
from engine.asking.whereabouts import Whereabouts, other_names
from engine.domain.events import (
    ClaimChecked,
    EngineEvent,
    ErrorRaised,
    PlanApproved,
    PlanEdited,
    PlanProposed,
    ReportReady,
    RouteChosen,
    RunCancelled,
    RunFinished,
    RunInterrupted,
    RunQueued,
    RunResumed,
    RunStarted,
    WarningRaised,
)
from engine.domain.hashing import canonical_json
from engine.domain.plan import TaskDag, WayOn
from engine.domain.profile import Profile
from engine.domain.report import Report
from engine.domain.results import FINAL, Issue, NodeResult, Route, RunRecord, RunStatus, Usage
from engine.domain.run_view import RunView
from engine.errors import (
    EngineError,
    IntegrityError,
    Interrupted,
    NotFoundError,
    PlanError,
    SandboxUnavailable,
    SchemaTooNew,
    StorageError,
)
from engine.knowledge.service import KnowledgeBase
from engine.memory.service import Memory
from engine.planning.followups import takes_back
from engine.planning.planner import Choices, Planner
from engine.ports.artifacts import ArtifactStore
from engine.ports.cancel import CancelToken
from engine.ports.runs import RunStore
from engine.ports.system import Clock, IdSource
from engine.retrieval.service import ToolFinder
from engine.routing.router import route
from engine.runs.deleting import Deleting
from engine.runs.event_log import EventLog
from engine.runs.gather import gather
from engine.runs.inputs import keep_inputs
from engine.runs.leftovers import ended_unsaid, unfinished
from engine.runs.locks import RunLocks
from engine.runs.queue import RunQueue
from engine.steps.executor import Executor
from engine.steps.grounder import ground_claims, ground_findings
from engine.steps.remember import Remembering
from engine.steps.synthesizer import synthesize
from engine.strategies.dag import DONE, run_dag
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.typecheck import check_plan
from engine.trees import LEFTOVER, remove_tree

_log = logging.getLogger(__name__)
_NO_FILES = "No data file came with the question, so nothing was computed: this is what the desk holds of it."
_SETTLE_SECONDS = 10.0
"""How long a next stage waits for the last one to let go of its run: writing a report takes a moment."""


@dataclass(slots=True)
class Orchestrator:
    """Leads runs from question to report."""

    registry: ToolRegistry
    planner: Planner
    executor: Executor
    store: RunStore
    artifacts: ArtifactStore
    log: EventLog
    queue: RunQueue
    clock: Clock
    ids: IdSource
    environment: Mapping[str, str]
    parallel_steps: int
    memory: Memory
    knowledge: KnowledgeBase
    finder: ToolFinder
    remembering: Remembering
    corrections: Corrections
    _unwritten: dict[str, RunRecord] = field(default_factory=dict)
    """States of runs that the disk had no room for: what is true of them until the next start."""
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _locks: RunLocks = field(default_factory=RunLocks)
    """Held by whoever looks at a run in order to change its plan or to start it; the work on a run needs none."""

    # ==== from question to plan ====

    def ask(
        self,
        question: str,
        data: Sequence[Path],
        *,
        user: str,
        auto_approve: bool = False,
        strategy: str = "auto",
        changes: Mapping[str, str] | None = None,
        conversation: str = "",
        analysis: str = "",
        chosen: Mapping[str, Mapping[str, Any]] | None = None,
        alone: bool = False,
    ) -> str:
        """Start a run and return its id; the plan appears as an event."""
        route(question, [], forced=strategy)
        record = self._new_run(
            question,
            data,
            user=user,
            auto_approve=auto_approve,
            changes=changes,
            conversation=conversation,
            analysis=analysis,
            chosen=chosen,
            alone=alone,
        )
        self.log.new_run(record)
        self._note_question(record)

        def work(cancel: CancelToken) -> None:
            self._work(record.run_id, cancel, lambda: self._propose(record.run_id, cancel, strategy))

        self._enqueue(record, work)
        return record.run_id

    def start_plan(
        self,
        plan: TaskDag,
        *,
        user: str,
        parent: str = "",
        fresh_nodes: Sequence[str] = (),
        run_now: bool = True,
        before: TaskDag | None = None,
    ) -> str:
        """Make a run of a plan as it stands; it runs at once, or waits for approval when not `run_now`.

        Args:
            plan: what runs.
            user: who starts it.
            parent: the run it comes from.
            fresh_nodes: steps whose earlier results are not reused.
            run_now: False to wait for approval.
            before: the plan that `plan` is an edit of; it becomes version 1, so that the edit is known as one.

        Raises:
            PlanError: when the plan does not fit.
        """
        proposed = [before, plan] if before is not None else [plan]
        versions = [p.model_copy(update={"version": n, "base": 0}) for n, p in enumerate(proposed, start=1)]
        plan = versions[-1]
        if run_now:
            self._require_runnable(plan)
        keep_inputs(plan, self.artifacts)
        record = self._new_run(plan.question, [Path(d.path) for d in plan.datasets], user=user, parent=parent)
        record = record.model_copy(
            update={
                "fresh_nodes": list(fresh_nodes),
                "route": route(plan.question, [], forced="dag"),
                "profiles_sha256": self._profiles_of(parent),
                "approved_version": plan.version if run_now else 0,
                "status": "queued" if run_now else "awaiting_approval",
            }
        )
        # The plan first: a run found after a kill must have the plan that it was made of.
        self.log.with_plan(record.run_id, versions[0], PlanProposed(run_id=record.run_id, plan=versions[0]))
        for old, new in pairwise(versions):
            edited = PlanEdited(run_id=record.run_id, plan=new, changes=changes_between(old, new))
            self.log.with_plan(record.run_id, new, edited)
        if not run_now:
            self.log.new_run(record)
            return record.run_id
        self.log.new_run(record, PlanApproved(run_id=record.run_id, version=plan.version, by=user))
        self._enqueue(record, lambda cancel: self._work(record.run_id, cancel, lambda: self._execute(record, cancel)))
        return record.run_id

    def draft(
        self,
        question: str,
        data: Sequence[Path],
        changes: Mapping[str, str] | None = None,
        *,
        analysis: str = "",
        columns: Mapping[str, str] | None = None,
        conversation: str = "",
        user: str = "",
    ) -> tuple[TaskDag, list[Profile]]:
        """Return the plan for a question, and the profiles it was made from, without making a run."""
        profiles = self.corrections.profile(data, columns)
        chosen = route(question, profiles, forced="auto")
        plans = self._plans(question, conversation)
        proposal = self._proposal(question, profiles, chosen, changes or {}, analysis=analysis, plans=plans, user=user)
        return proposal.plan, profiles

    def replan(
        self,
        run_id: str,
        *,
        analysis: str = "",
        chosen: Mapping[str, Mapping[str, Any]] | None = None,
        alone: bool = False,
        goal: str = "",
    ) -> TaskDag:
        """Plan the question of a run that waits for approval again and store the plan as its newest version.

        It is planned as `analysis` when given, with the parameters in `chosen` (tool -> parameter -> value) and all
        that were chosen before, `alone` without what it took over from the question before, and always with what
        people said of its columns meanwhile. Other settings that were
        changed by hand stay where their step is still there. With several goals, what is chosen for the step `goal`
        changes no other goal.

        Raises:
            PlanError: when the run does not wait (any more), or the question cannot be planned so.
        """
        with self._locks.of(run_id):
            self._require_waiting(run_id)
            self._require_let_go(run_id)
            record, old = self._require_waiting(run_id)  # again: it may have been cancelled meanwhile
            before = {} if analysis and analysis != record.analysis else record.chosen
            own = goes_alone(old, goal, self.registry)  # and what is kept for a tool would go to all its steps
            picked = before if own else chosen_now(before, chosen or {}, self.registry)
            analysis = analysis or record.analysis
            if picked and not analysis and len(old.analysis) == 1:
                analysis = old.analysis[0].id  # another column is chosen for what was proposed, not something else
            profiles = self.corrections.profile([Path(path) for path in record.data])
            way = route(record.question, profiles, forced="auto")
            update = {
                "analysis": analysis,
                "alone": alone or record.alone,
                "chosen": picked,
                "route": way,
                "profiles_sha256": self._kept(profiles),
            }
            record = record.model_copy(update=update)
            plan = self._with_choice(record, way, old, profiles, goal, chosen or {})
            plan = plan.model_copy(update={"version": old.version + 1})
            keep_inputs(plan, self.artifacts)
            changes = ["The question was planned again.", *changes_between(old, plan)]
            self.log.with_plan(run_id, plan, PlanEdited(run_id=run_id, plan=plan, changes=changes))
            self._update(record)
            return plan

    def _with_choice(
        self, record: RunRecord, way: Route, old: TaskDag, profiles: list[Profile], goal: str, fresh: Choices
    ) -> TaskDag:
        """Return the plan of a question made again with what was chosen, the other goals as they were."""
        node = old.node(goal)
        values = fresh.get(node.tool, {}) if node is not None else {}
        if goes_alone(old, goal, self.registry):
            return set_for_goal(old, goal, values, self.registry)
        plan = kept_by_hand(old, self._proposal_of(record, profiles, way).plan, record.chosen, self.registry)
        kept = others_kept(old, plan, goal, values, self.registry) if values else plan
        return kept or set_for_goal(old, goal, values, self.registry)

    def _plans(self, question: str, conversation: str, before: str = "") -> list[TaskDag]:
        """Return the newest plan of a conversation, with those before it where a question takes a step back."""
        planned = self._planned(conversation, before)
        return [plan for _, plan in (planned if takes_back(question) else itertools.islice(planned, 1))]

    def _planned(self, conversation: str, before: str = "") -> Iterator[tuple[RunRecord, TaskDag]]:
        """Yield the runs of a conversation that have a plan, newest first; made before a time when one is given."""
        if not conversation:
            return
        for run in self.store.runs(limit=1000):
            if run.conversation == conversation and (not before or run.created_at < before):
                with suppress(IntegrityError, SchemaTooNew):  # a damaged run must not stop the next question
                    if (plan := self.store.plan(run.run_id)) is not None:
                        yield run, plan

    def _proposal(
        self,
        question: str,
        profiles: list[Profile],
        chosen: Route,
        changes: Mapping[str, str],
        *,
        analysis: str,
        plans: Sequence[TaskDag],
        picked: Mapping[str, Mapping[str, Any]] | None = None,
        user: str,
    ) -> Proposal:
        return propose(
            question,
            profiles,
            chosen,
            changes,
            planner=self.planner,
            memory=self.memory,
            finder=self.finder,
            registry=self.registry,
            analysis=analysis,
            plans=plans,
            picked=picked,
            user=user,
        )

    def edit_plan(self, run_id: str, plan: TaskDag, *, user: str) -> tuple[str, list[Issue]]:
        """Store an edited plan; a run that already started gets a successor waiting for approval.

        The version that the edit started from is `plan.base`, or `plan.version` where that is 0.

        Returns:
            The id of the run that holds the edited plan, and what does not fit yet.

        Raises:
            PlanError: when a newer version was stored meanwhile, which this edit would silently replace.
        """
        with self._locks.of(run_id):
            record, old = self._record(run_id), self.store.plan(run_id)
            if old is None:
                raise PlanError(f"Run {run_id} has no plan to change.", advice="Wait until its question is planned.")
            edited = settled_by_hand(old, sides_apart(old, plan, self.registry))
            changes = changes_between(old, edited)
            changed = bool(changes) or edited.open_questions != old.open_questions
            if record.status == "awaiting_approval":
                _require_newest(run_id, plan, old)
                if changed:
                    edited = edited.model_copy(update={"version": old.version + 1, "base": 0})
                    self.log.with_plan(run_id, edited, PlanEdited(run_id=run_id, plan=edited, changes=changes))
                return run_id, check_plan(edited, self.registry)
        successor = self.start_plan(edited, user=user, parent=run_id, run_now=False, before=old if changed else None)
        return successor, check_plan(edited, self.registry)

    def approve(self, run_id: str, *, user: str) -> None:
        """Run the newest version of a plan that waits for approval.

        Raises:
            PlanError: when it does not wait (any more), does not fit, or a question that has no honest default is
                open.
        """
        with self._locks.of(run_id):
            self._require_waiting(run_id)
            self._require_let_go(run_id)
            record, plan = self._require_waiting(run_id)  # again: it may have been cancelled meanwhile
            self._require_runnable(plan)
            approved = PlanApproved(run_id=run_id, version=plan.version, by=user)
            record = self._update(record, approved, status="queued", approved_version=plan.version)
            self._enqueue(record, lambda cancel: self._work(run_id, cancel, lambda: self._execute(record, cancel)))

    def _require_waiting(self, run_id: str) -> tuple[RunRecord, TaskDag]:
        record, plan = self._record(run_id), self.store.plan(run_id)
        if record.status == "awaiting_approval" and plan is not None:
            return record, plan
        if record.approved_version:
            raise PlanError(
                f"The plan of run {run_id} was approved already; its status is {record.status}.",
                advice="Open the run to see how it stands.",
            )
        raise PlanError(f"Run {run_id} has no plan waiting for approval; its status is {record.status}.")

    def _require_let_go(self, run_id: str) -> None:
        """Wait until the last stage has let go of a run.

        Raises:
            PlanError: when it does not.
        """
        if not self.queue.wait(run_id, _SETTLE_SECONDS):
            raise PlanError(f"Run {run_id} is being worked on.", advice="Wait for it to stop, or cancel it.")

    def _propose(self, run_id: str, cancel: CancelToken, strategy: str) -> None:
        record = self._update(self._record(run_id), status="planning")
        profiles = self.corrections.profile([Path(path) for path in record.data])
        chosen = route(record.question, profiles, forced=strategy)
        told = RouteChosen(run_id=run_id, route=chosen)
        record = self._update(record, told, route=chosen, profiles_sha256=self._kept(profiles))
        if (report := self._told(record, profiles)) is not None:
            self._tell(record, report)
            return
        try:
            proposal = self._proposal_of(record, profiles, chosen)
        except PlanError as err:
            known = None if record.data else self._known(record.question, _NO_FILES)
            if known is None:
                raise
            _log.info("Run %s is answered from what is known: %s", run_id, err.message)
            self._tell(record, known)
            return
        for event in proposal.events(run_id):
            self.log.emit(event)
        plan = proposal.plan.model_copy(update={"version": 1})
        keep_inputs(plan, self.artifacts)
        self.log.with_plan(run_id, plan, PlanProposed(run_id=run_id, plan=plan))
        if cancel.cancelled:
            self._finish(record, "cancelled")
        elif record.auto_approve and not any(q.blocking and not plan.answers(q) for q in plan.open_questions):
            self._require_runnable(plan)
            approved = PlanApproved(run_id=run_id, version=1, by=record.user)
            record = self._update(record, approved, approved_version=1)
            self._execute(record, cancel)
        else:
            self._update(record, status="awaiting_approval")

    def _told(self, record: RunRecord, profiles: list[Profile]) -> Report | None:
        """Return the answer to what needs no plan: what the last one says, where a row went, what is known already."""
        planned = self._planned("" if record.alone else record.conversation, before=record.created_at)
        for before, plan in itertools.islice(planned, 1):
            results = self.store.results(before.run_id)
            columns = [column for profile in profiles for column in profile.column_profiles]
            said = frozenset(name.lower() for c in columns for name in (c.name, *c.levels))
            answer = LastAnswer(plan, self._gathered(before).report, results, self.artifacts, self.registry, said)
            if (report := answer.told(record.question)) is not None:
                return report
            other = other_names(self.knowledge)
            places = Whereabouts(plan, results, self.artifacts, self.registry, other, said)
            if results and (report := places.told(record.question)) is not None:
                return report
        if not record.data and (report := told_what_can_be_done(record.question, self.planner.offers)) is not None:
            return report
        # `Did we see a difference in weight?` asks to compute where there is a weight, not for another run's finding.
        known = asks_what_is_known(record.question) and not self.planner.is_of_data(record.question, profiles)
        return self._known(record.question, "") if known else None

    def _known(self, question: str, why: str) -> Report | None:
        """Return what graph, facts and memory say of a question; a fault of theirs changes nothing else."""
        try:
            return told_from_knowledge(question, self.knowledge, self.memory, why)
        except Exception as err:  # noqa: BLE001 - a border: the graph is a companion, never a condition of a run
            _log.warning("What is known of %r could not be looked up", question, exc_info=err)
            return None

    def _tell(self, record: RunRecord, report: Report) -> None:
        """End a run that needs no plan with its answer."""
        sha256 = self.artifacts.put_bytes(report.model_dump_json().encode())
        record = record.model_copy(
            update={"status": "succeeded", "finished_at": self.clock.now(), "report_sha256": sha256}
        )
        self.log.emit(ReportReady(run_id=record.run_id, sha256=sha256, title=report.title))
        self.log.flush(record.run_id)
        self._remember(record)
        self._update(record, RunFinished(run_id=record.run_id, status="succeeded", usage=record.usage))

    def _kept(self, profiles: list[Profile]) -> str:
        """Store profiles as an artifact and return its hash."""
        payload = canonical_json([profile.model_dump(mode="json") for profile in profiles]).encode()
        return self.artifacts.put_bytes(payload)

    def _proposal_of(self, record: RunRecord, profiles: list[Profile], chosen: Route) -> Proposal:
        conversation = "" if record.alone else record.conversation
        return self._proposal(
            record.question,
            profiles,
            chosen,
            record.changes,
            analysis=record.analysis,
            plans=self._plans(record.question, conversation, before=record.created_at),
            picked=record.chosen,
            user=record.user,
        )

    # ==== from plan to report ====

    def cancel(self, run_id: str, *, user: str) -> None:
        """Stop a run: its processes end within two seconds and what finished is kept."""
        record = self._record(run_id)
        if record.status in FINAL:
            raise PlanError(f"Run {run_id} is already over ({record.status}).")
        self.log.emit(RunCancelled(run_id=run_id, by=user))
        if not self.queue.cancel(run_id):
            with self._locks.of(run_id):
                # Looked at again: meanwhile it may have ended by itself, or have been approved or resumed.
                record = self._record(run_id)
                if not self.queue.cancel(run_id) and record.status not in FINAL:
                    self._finish(record, "cancelled")
        self.log.flush(run_id)

    def resume(self, run_id: str, *, user: str) -> None:
        """Go on with a run that was interrupted, cancelled or failed; steps that succeeded are not repeated."""
        with self._locks.of(run_id):
            self._require_resumable(run_id)
            self._require_let_go(run_id)
            record = self._require_resumable(run_id)  # again: it may have come to another end meanwhile
            kept = [node for node, result in self.store.results(run_id).items() if result.status in DONE]
            resumed = RunResumed(run_id=run_id, kept=kept)
            fresh = {"error": "", "error_code": "", "advice": "", "ways_on": [], "finished_at": ""}
            record = self._update(record, resumed, status="queued", **fresh)
            if record.approved_version:
                stage = lambda cancel: lambda: self._execute(record, cancel)  # noqa: E731 - two stages, one shape
            elif self.store.plan(run_id) is not None:
                self._update(record, status="awaiting_approval")
                return
            else:
                stage = lambda cancel: lambda: self._propose(run_id, cancel, "auto")  # noqa: E731
            self._enqueue(record, lambda cancel: self._work(run_id, cancel, stage(cancel)))

    def _require_resumable(self, run_id: str) -> RunRecord:
        record = self._record(run_id)
        if record.status in ("queued", "planning", "running") and run_id in self.queue.active():
            raise PlanError(f"Run {run_id} is being worked on; there is nothing to resume.")
        if record.status == "awaiting_approval":
            raise PlanError(
                f"Run {run_id} waits for its plan to be approved; there is nothing to resume.",
                advice="Approve the plan, then it runs.",
            )
        if record.status == "succeeded":
            raise PlanError(f"Run {run_id} succeeded; there is nothing to resume.")
        return record

    def rerun(self, run_id: str, *, user: str, from_node: str = "", fresh: bool = False) -> str:
        """Run a plan again as a new run; from a step on, or `fresh`, nothing is reused, before it all that can be."""
        plan = self.store.plan(run_id)
        if plan is None:
            raise NotFoundError(f"Run {run_id} has no plan to run again.")
        computed = sorted(node.id for node in plan.nodes) if fresh else []
        if from_node:
            if plan.node(from_node) is None:
                raise NotFoundError(f"Run {run_id} has no step {from_node!r}.")
            computed = sorted({*computed, from_node, *plan.descendants(from_node)})
        return self.start_plan(plan, user=user, parent=run_id, fresh_nodes=computed)

    def delete(self, run_ids: Sequence[str], deleting: Deleting) -> int:
        """Remove runs for good and return the bytes that are free then; nothing may be at work meanwhile.

        Raises:
            NotFoundError: when there is no such run.
            PlanError: while a run is at work: it may be taking over results of those that are to go.
        """
        with ExitStack() as held:
            for run_id in sorted(run_ids):
                held.enter_context(self._locks.of(run_id))
                self._record(run_id)
            if active := self.queue.active():
                message = f"Nothing can be deleted while a run is at work ({', '.join(active[:3])})."
                raise PlanError(message, advice="Wait for its end or stop it, then delete.")
            self.log.flush()
            return deleting.delete(run_ids)

    def mark_interrupted(self) -> list[str]:
        """Mark the runs a killed process left unfinished; called once, when the workspace is opened."""
        runs = self.store.runs(limit=1_000_000)
        left = unfinished(runs, self.store)
        for record in left:
            message = "Biodesk stopped while this run was at work. Steps that finished are kept."
            told = RunInterrupted(run_id=record.run_id, message=message)
            self._update(record, told, status="interrupted", error=message, error_code="interrupted")
            # What the killed process was working with: copies of data and half-written results.
            scratch = self.executor.scratch
            kept = remove_tree(scratch / record.run_id, scratch / LEFTOVER)
            if kept:
                self.log.emit(WarningRaised(run_id=record.run_id, message=kept))
        for record in ended_unsaid(runs, self.store):
            self.log.emit(RunFinished(run_id=record.run_id, status=record.status, usage=record.usage))
        self.log.flush()
        return [record.run_id for record in left]

    def _execute(self, record: RunRecord, cancel: CancelToken) -> None:
        run_id = record.run_id
        plan = self.store.plan(run_id, record.approved_version)
        assert plan is not None
        keep_inputs(plan, self.artifacts)
        isolation = self.executor.sandbox.report()
        missing = {f"missing_{number}": text for number, text in enumerate(isolation.missing, start=1)}
        started = RunStarted(run_id=run_id, nodes=len(plan.nodes))
        sandbox = {"kind": isolation.kind, **missing}
        record = self._update(self._record(run_id), started, status="running", sandbox=sandbox)
        results = run_dag(
            run_id,
            plan,
            self.executor,
            earlier=self.store.results(run_id),
            workers=self.parallel_steps,
            cancel=cancel,
            fresh=frozenset(record.fresh_nodes),
        )
        self._require_open(cancel)
        status = "cancelled" if cancel.cancelled else overall_status(plan, results)
        self._finish(record, status)

    def _require_open(self, cancel: CancelToken) -> None:
        """Tell a run that was stopped by closing Biodesk from one its user gave up.

        Raises:
            Interrupted: when Biodesk is being closed.
        """
        if cancel.cancelled and self.queue.closing:
            message = "Biodesk was closed while this run was at work. Steps that finished are kept."
            raise Interrupted(message, advice="Resume it to go on.")

    def _finish(self, record: RunRecord, status: RunStatus, *, report: bool = True) -> None:
        """End a run: write its report, remember it, and only then say that it is over.

        Killed before that, it is found unfinished and can be resumed, which repeats nothing but its end.
        """
        run_id = record.run_id
        results = self.store.results(run_id).values()
        seconds = sum(result.seconds for result in results if result.status != "cached")
        usage = Usage(seconds=round(seconds, 3))
        record = record.model_copy(update={"status": status, "finished_at": self.clock.now(), "usage": usage})
        if report and self.store.plan(run_id) is not None:
            view = self._gathered(record)
            made = self._checked(view, synthesize(view, self.registry, self.artifacts))
            sha256 = self.artifacts.put_bytes(made.model_dump_json().encode())
            record = record.model_copy(update={"report_sha256": sha256})
            self.log.emit(ReportReady(run_id=run_id, sha256=sha256, title=made.title))
            self.log.flush(run_id)
            self._remember(record)
        self._update(record, RunFinished(run_id=run_id, status=status, usage=usage))

    def _checked(self, view: RunView, report: Report) -> Report:
        """Check the report against its tables and the graph; a fault of the graph must not cost the report."""
        run_id = view.record.run_id
        report = ground_findings(report, view, self.artifacts)
        for finding in report.findings:
            told = ClaimChecked(run_id=run_id, claim=finding.text, label=finding.grounding, evidence=finding.evidence)
            self.log.emit(told)
        try:
            checked = ground_claims(report, lambda text, findings: self.knowledge.check(text, findings=findings))
        except Exception as err:  # noqa: BLE001 - a border: the numbers are right whether or not they can be looked up
            _log.warning("The claims of run %s could not be checked", run_id, exc_info=err)
            message = f"The report's claims could not be checked against the knowledge graph: {err}"
            self.log.emit(WarningRaised(run_id=run_id, message=message))
            return report
        for claim in checked.claims.claims if checked.claims else []:
            evidence = [item.edge for item in claim.evidence][:5]
            self.log.emit(ClaimChecked(run_id=run_id, claim=claim.text, label=claim.label, evidence=evidence))
        return checked

    def _note_question(self, record: RunRecord) -> None:
        """Put the question into its conversation; a run must start whether or not that can be stored."""
        try:
            self.memory.working.add(record.conversation, "user", record.question, run_id=record.run_id)
        except EngineError as err:
            _log.warning("The question of run %s could not be kept in its conversation: %s", record.run_id, err)

    def _remember(self, record: RunRecord) -> None:
        """Keep the run as an episode and learn from it; neither may cost the run its end."""
        try:
            self.remembering.remember(self._gathered(record), self.store.events(record.run_id, limit=1_000_000))
            self.finder.forget_usage()
        except Exception as err:  # noqa: BLE001 - a border: the numbers are right whether or not they can be looked up
            _log.warning("Run %s could not be remembered", record.run_id, exc_info=err)
            message = f"This run could not be remembered: {err}"
            self.log.emit(WarningRaised(run_id=record.run_id, message=message))

    def _work(self, run_id: str, cancel: CancelToken, stage: Any) -> None:
        try:
            self._require_open(cancel)
            if cancel.cancelled:
                self._finish(self._record(run_id), "cancelled")
                return
            stage()
            self.log.flush(run_id)
        except (StorageError, SandboxUnavailable, Interrupted) as err:
            # Not the analysis's fault: it can go on later.
            self._give_up(run_id, err, "interrupted")
        except EngineError as err:
            self._give_up(run_id, err, "failed")
        except Exception as err:  # noqa: BLE001 - a border: the numbers are right whether or not they can be looked up
            detail = traceback.format_exc(limit=-6)
            wrapped = EngineError(
                f"Biodesk itself failed ({type(err).__name__}: {err}).",
                advice="This is a defect of the program; the run's files are kept.",
                details={"traceback": detail},
            )
            self._give_up(run_id, wrapped, "failed")

    def _give_up(self, run_id: str, err: EngineError, status: RunStatus) -> None:
        # When even this cannot be written (a full disk), the next start finds the run unfinished and
        # marks it interrupted, so swallowing the second error loses nothing; until then it is remembered here.
        ways_on = [WayOn.model_validate(way) for way in err.details.get("ways_on", [])]
        told = {"error": err.message, "error_code": err.code, "advice": err.advice, "ways_on": ways_on}
        record = self._record(run_id)
        try:
            raised = ErrorRaised(run_id=run_id, code=err.code, message=err.message, advice=err.advice)
            if status == "interrupted":
                stopped = RunInterrupted(run_id=run_id, message=err.message)
                self._update(record, raised, stopped, **told, status=status)
            else:
                record = self._update(record, raised, **told)
                self._finish_or_log(record, status)
        except StorageError:
            with self._guard:
                self._unwritten[run_id] = record.model_copy(update={**told, "status": "interrupted"})

    def _finish_or_log(self, record: RunRecord, status: RunStatus) -> None:
        try:
            self._finish(record, status)
        except StorageError:
            raise
        except Exception:  # noqa: BLE001 - a report that cannot be written must not leave the run without an end
            _log.exception("The report on run %s could not be written", record.run_id)
            self._finish(record, status, report=False)

    # ==== what is known of a run ====

    def view(self, run_id: str) -> RunView:
        """Return everything known of a run."""
        return self._gathered(self.record(run_id))

    def _gathered(self, record: RunRecord) -> RunView:
        return gather(record, self.store, self.artifacts)

    def record(self, run_id: str) -> RunRecord:
        """Return a run's newest state, also one that could not be written.

        Raises:
            NotFoundError: when there is no such run.
        """
        with self._guard:
            unwritten = self._unwritten.get(run_id)
        return unwritten or self._record(run_id)

    def _record(self, run_id: str) -> RunRecord:
        record = self.store.run(run_id)
        if record is None:
            raise NotFoundError(f"There is no run {run_id!r}.", advice="`biodesk runs` lists them.")
        return record

    def _profiles_of(self, run_id: str) -> str:
        record = self.store.run(run_id) if run_id else None
        return record.profiles_sha256 if record else ""

    def _new_run(
        self,
        question: str,
        data: Sequence[Path],
        *,
        user: str,
        auto_approve: bool = False,
        parent: str = "",
        changes: Mapping[str, str] | None = None,
        conversation: str = "",
        analysis: str = "",
        chosen: Mapping[str, Mapping[str, Any]] | None = None,
        alone: bool = False,
    ) -> RunRecord:
        run_id = self.ids.new("run")
        inherited = self._record(parent).conversation if parent else ""
        return RunRecord(
            run_id=run_id,
            conversation=conversation or inherited or run_id,
            user=user,
            question=question.strip(),
            status="queued",
            created_at=self.clock.now(),
            parent=parent,
            auto_approve=auto_approve,
            data=[str(Path(os.path.expanduser(path)).absolute()) for path in data],  # noqa: PTH111
            changes=dict(changes or {}),
            analysis=analysis,
            chosen=chosen_now({}, chosen or {}, self.registry),
            alone=alone,
            environment=dict(self.environment),
        )

    def _enqueue(self, record: RunRecord, work: Any) -> None:
        queued = RunQueued(run_id=record.run_id, question=record.question, position=len(self.queue.active()))
        self.log.emit(queued)
        self.log.flush(record.run_id)
        try:
            self.queue.submit(record.run_id, work)
        except EngineError as err:
            # A run that somebody else is working on keeps the state that this work gives it.
            if err.details.get("kind") != "run":
                self._update(self._record(record.run_id), status="interrupted", error=err.message, error_code=err.code)
            raise

    def _update(self, record: RunRecord, *events: EngineEvent, **changes: Any) -> RunRecord:
        """Store a newer state of a run together with the events that tell of it."""
        record = record.model_copy(update=changes)
        self.log.with_run(record, *events)
        with self._guard:
            self._unwritten.pop(record.run_id, None)
        return record

    def _require_runnable(self, plan: TaskDag) -> None:
        problems = [issue for issue in check_plan(plan, self.registry) if issue.severity == "error"]
        if not plan.nodes:
            raise PlanError("The plan has no steps.")
        if problems:
            details = {"issues": [issue.model_dump() for issue in problems]}
            more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
            advice = "Answer the plan's open questions or change the step, then run it again."
            raise PlanError(problems[0].message + more, advice=advice, details=details)


def overall_status(plan: TaskDag, results: Mapping[str, NodeResult]) -> RunStatus:
    """Return `succeeded` when every step did, `partial` when some did, else `failed`."""
    done = [node.id for node in plan.nodes if node.id in results and results[node.id].status in DONE]
    if len(done) == len(plan.nodes):
        return "succeeded"
    return "partial" if done else "failed"


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
