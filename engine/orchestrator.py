"""The way from question to report. Read this first.

    ask      a question and files become a run, which waits for its turn in the queue
    propose  look at the files -> choose the way -> recall -> find tools -> make a plan, or answer at once
    approve  the user has read (and perhaps changed) the plan
    run      its steps in the sandbox, each judged
    end      write the report -> check its claims -> remember -> say that it is over
    resume   after a kill or a cancel: what succeeded is kept, the rest runs

Each stage is an object with one method: `engine.strategies.proposing`, `engine.strategies.dag`, `engine.steps.ending`.
Every stage writes events (`engine.domain.events`) and stores its result before the next begins, so a run can be
watched from anywhere and picked up after any interruption. `_work` is the one border where errors of a run are turned
into its status.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.asking.edits import chosen_now
from engine.asking.plan_desk import Choices, PlanDesk
from engine.asking.router import require_question
from engine.domain.events import ErrorRaised, RunCancelled, RunInterrupted, RunQueued, RunResumed
from engine.domain.plan import TaskDag, WayOn
from engine.domain.report import Report
from engine.domain.results import DONE, FINAL, RunRecord, RunStatus
from engine.errors import EngineError, Interrupted, NotFoundError, PlanError, SandboxUnavailable, StorageError
from engine.ports.cancel import CancelToken
from engine.runs.locks import RunLocks
from engine.runs.queue import RunQueue
from engine.runs.records import RunRecords
from engine.steps.ending import Ending
from engine.strategies.dag import DagStrategy
from engine.strategies.proposing import Proposing

if TYPE_CHECKING:
    from engine.strategies.revising import Revising

Stage = Callable[[RunRecord, CancelToken], None]


@dataclass(slots=True)
class Orchestrator:
    """Leads runs from question to report. Methods may be called from any thread."""

    records: RunRecords
    queue: RunQueue
    locks: RunLocks
    """Held by whoever looks at a run in order to change its plan or to start it; the work on a run needs none."""
    plans: PlanDesk
    proposing: Proposing
    strategy: DagStrategy
    ending: Ending
    revising: Revising | None = None
    """Has models revise plans of which steps failed, where there are some."""

    # ==== the way ====

    def ask(
        self,
        question: str,
        data: Sequence[Path | str] = (),
        *,
        auto_approve: bool = False,
        strategy: str = "auto",
        changes: Mapping[str, str] | None = None,
        user: str = "",
        conversation: str = "",
        analysis: str = "",
        columns: Mapping[str, str] | None = None,
        chosen: Choices | None = None,
        alone: bool = False,
    ) -> str:
        """Start a run in the background and return its id; the plan appears as an event.

        Without `auto_approve` it stops at `awaiting_approval`, and `approve` lets it go on. A follow-up gives
        the `conversation` of the run it follows (see `RunRecord`); `alone` it takes over nothing from it. `analysis`
        and `columns` are as in `draft`, `chosen` (tool -> parameter -> value) as in `replan`.

        Raises:
            UserError: for an empty question, a strategy this version lacks, or an analysis or column that does
                not exist.
            LimitExceeded: when the queue is full.
        """
        require_question(question, analysis=analysis, strategy=strategy)
        paths = [Path(path) for path in data]
        if columns:  # remembered before the run is made, whose own look at the files then finds them
            self.plans.corrections.profile(paths, columns)
        record = self.records.new(
            question,
            paths,
            user=user,
            auto_approve=auto_approve,
            changes=dict(changes or {}),
            conversation=conversation,
            analysis=analysis,
            chosen=chosen_now({}, chosen or {}, self.plans.registry),
            alone=alone,
        )
        self.records.log.new_run(record)
        for told in self.ending.remembering.note_question(record):
            self.records.log.emit(told)
        self._enqueue(record, lambda record, cancel: self._from_question(record, cancel, strategy))
        return record.run_id

    def _from_question(self, record: RunRecord, cancel: CancelToken, strategy: str = "auto") -> None:
        record, proposed = self.proposing.propose(record, strategy)
        if isinstance(proposed, Report):
            self.ending.answer(record, proposed)
        elif cancel.cancelled:
            self.ending.end(record, "cancelled")
        elif record.auto_approve and not proposed.unanswered() and not self.plans.has_drafts(proposed):
            self._from_plan(self.plans.approved(record, proposed, user=record.user), cancel)
        else:
            self.records.update(record, status="awaiting_approval")

    def approve(self, run_id: str, *, user: str = "", further: bool = False) -> None:
        """Run the newest version of a plan that waits for approval; `further`: and what a model makes of it later.

        Raises:
            PlanError: when it does not wait (any more), does not fit, or a question that has no honest default is
                open.
        """
        with self.locks.of(run_id):
            record, plan = self.queue.let_go(run_id, self.plans.waiting)
            told = {"auto_approve": True} if further else {}
            self._enqueue(self.plans.approved(record, plan, user=user, status="queued", **told), self._from_plan)

    def _from_plan(self, record: RunRecord, cancel: CancelToken) -> None:
        record, status = self.strategy.run(record, cancel)
        self._require_open(cancel)
        while self.revising is not None and status in ("partial", "failed"):
            revised = self.revising.after_failure(record)
            if revised is None:
                break
            record, status = self.strategy.run(revised, cancel)
            self._require_open(cancel)
        self.ending.end(record, status)

    # ==== other ways in ====

    def start_plan(self, plan: TaskDag, *, user: str = "", parent: str = "", fresh_nodes: Sequence[str] = ()) -> str:
        """Run a plan as it stands and return the id of its run; see `PlanDesk.new_run`.

        Raises:
            PlanError: when the plan does not fit.
        """
        record = self.plans.new_run(plan, user=user, parent=parent, fresh_nodes=fresh_nodes)
        self._enqueue(record, self._from_plan)
        return record.run_id

    def rerun(self, run_id: str, *, user: str = "", from_node: str = "", fresh: bool = False) -> str:
        """Run a plan again as a new run; from a step on, or `fresh`, nothing is reused, before it all that can be."""
        plan = self.records.store.plan(run_id)
        if plan is None:
            raise NotFoundError(f"Run {run_id} has no plan to run again.")
        computed = {node.id for node in plan.nodes} if fresh else set()
        if from_node:
            if plan.node(from_node) is None:
                raise NotFoundError(f"Run {run_id} has no step {from_node!r}.")
            computed |= {from_node, *plan.descendants(from_node)}
        return self.start_plan(plan, user=user, parent=run_id, fresh_nodes=sorted(computed))

    def resume(self, run_id: str) -> None:
        """Go on with a run that was interrupted, cancelled or failed; steps that succeeded are not repeated."""
        with self.locks.of(run_id):
            record = self.queue.let_go(run_id, self._resumable)
            kept = [node for node, result in self.records.store.results(run_id).items() if result.status in DONE]
            resumed = RunResumed(run_id=run_id, kept=kept)
            fresh = {"error": "", "error_code": "", "advice": "", "ways_on": [], "finished_at": ""}
            record = self.records.update(record, resumed, status="queued", **fresh)
            if record.approved_version:
                self._enqueue(record, self._from_plan)
            elif self.records.store.plan(run_id) is not None:
                self.records.update(record, status="awaiting_approval")
            else:
                forced = record.route.strategy if record.route and record.route.method == "forced" else "auto"
                self._enqueue(record, lambda record, cancel: self._from_question(record, cancel, forced))

    def _resumable(self, run_id: str) -> RunRecord:
        record = self.records.stored(run_id)
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

    # ==== stopping ====

    def cancel(self, run_id: str, *, user: str = "") -> None:
        """Stop a run: its processes end within two seconds and what finished is kept."""
        record = self.records.stored(run_id)
        if record.status in FINAL:
            raise PlanError(f"Run {run_id} is already over ({record.status}).")
        self.records.log.emit(RunCancelled(run_id=run_id, by=user or self.records.user))
        if not self.queue.cancel(run_id):
            with self.locks.of(run_id):
                # Looked at again: meanwhile it may have ended by itself, or have been approved or resumed.
                record = self.records.stored(run_id)
                if not self.queue.cancel(run_id) and record.status not in FINAL:
                    self.ending.end(record, "cancelled")
        self.records.log.flush(run_id)

    def _require_open(self, cancel: CancelToken) -> None:
        """Tell a run that was stopped by closing Biodesk from one its user gave up.

        Raises:
            Interrupted: when Biodesk is being closed.
        """
        if cancel.cancelled and self.queue.closing:
            message = "Biodesk was closed while this run was at work. Steps that finished are kept."
            raise Interrupted(message, advice="Resume it to go on.")

    # ==== the border ====

    def _enqueue(self, record: RunRecord, stage: Stage) -> None:
        run_id = record.run_id
        self.records.log.emit(RunQueued(run_id=run_id, question=record.question, position=len(self.queue.active())))
        self.records.log.flush(run_id)
        try:
            self.queue.submit(run_id, lambda cancel: self._work(record, cancel, stage))
        except EngineError as err:
            # A run that somebody else is working on keeps the state that this work gives it.
            if err.details.get("kind") != "run":
                told = {"status": "interrupted", "error": err.message, "error_code": err.code}
                self.records.update(self.records.stored(run_id), **told)
            raise

    def _work(self, record: RunRecord, cancel: CancelToken, stage: Stage) -> None:
        run_id = record.run_id
        try:
            self._require_open(cancel)
            if cancel.cancelled:
                self.ending.end(self.records.stored(run_id), "cancelled")
                return
            stage(record, cancel)
            self.records.log.flush(run_id)
        except (StorageError, SandboxUnavailable, Interrupted) as err:
            # Not the analysis's fault: it can go on later.
            self._give_up(run_id, err, "interrupted")
        except EngineError as err:
            self._give_up(run_id, err, "failed")
        except Exception as err:  # noqa: BLE001 - a border: a run must come to an end whatever happened
            wrapped = EngineError(
                f"Biodesk itself failed ({type(err).__name__}: {err}).",
                advice="This is a defect of the program; the run's files are kept.",
                details={"traceback": traceback.format_exc(limit=-6)},
            )
            self._give_up(run_id, wrapped, "failed")

    def _give_up(self, run_id: str, err: EngineError, status: RunStatus) -> None:
        # When even this cannot be written (a full disk), the next start finds the run unfinished and
        # marks it interrupted, so swallowing the second error loses nothing; until then it is remembered here.
        ways_on = [WayOn.model_validate(way) for way in err.details.get("ways_on", [])]
        told = {"error": err.message, "error_code": err.code, "advice": err.advice, "ways_on": ways_on}
        record = self.records.stored(run_id)
        try:
            raised = ErrorRaised(run_id=run_id, code=err.code, message=err.message, advice=err.advice)
            if status == "interrupted":
                stopped = RunInterrupted(run_id=run_id, message=err.message)
                self.records.update(record, raised, stopped, **told, status=status)
            else:
                self.ending.end_in_any_case(self.records.update(record, raised, **told), status)
        except StorageError:
            self.records.keep_unwritten(record.model_copy(update={**told, "status": "interrupted"}))
