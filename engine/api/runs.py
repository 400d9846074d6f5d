"""Calls about runs: started, watched, stopped, looked at, deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.api.calls import Calls, passed_on
from engine.api.without_workspace import profile_paths
from engine.asking.edits import chosen_now
from engine.domain.events import EngineEvent
from engine.domain.plan import TaskDag
from engine.domain.results import Artifact, RunRecord
from engine.domain.run_view import RunView
from engine.errors import (
    DataError,
    UserError,
)
from engine.orchestrator import Orchestrator
from engine.ports.artifacts import ArtifactStore
from engine.ports.runs import RunStore
from engine.reporting.contents import image_bytes
from engine.runs.deleting import Deleting
from engine.runs.queue import RunQueue
from engine.runs.records import RunRecords
from engine.toolbox.analyses import load_analyses


class RunCalls(Calls):
    """Runs of a workspace."""

    @property
    def user(self) -> str:
        """Who runs are attributed to unless told otherwise."""
        return self._parts.settings.user

    resume = passed_on(Orchestrator.resume, "orchestrator")
    active = passed_on(RunQueue.active, "queue")
    runs = passed_on(RunStore.runs, "records.store")
    damaged_runs = passed_on(RunStore.damaged_runs, "records.store")
    record = passed_on(RunRecords.newest, "records")
    artifact = passed_on(ArtifactStore.path, "records.artifacts")
    space = passed_on(Deleting.space, "deleting")
    delete_runs = passed_on(Deleting.delete, "deleting")

    def ask(
        self,
        question: str,
        data: Sequence[Path | str] = (),
        *,
        auto_approve: bool = False,
        strategy: str = "auto",
        changes: Mapping[str, str] | None = None,
        user: str | None = None,
        conversation: str = "",
        analysis: str = "",
        columns: Mapping[str, str] | None = None,
        chosen: Mapping[str, Mapping[str, Any]] | None = None,
        alone: bool = False,
    ) -> str:
        """Start a run in the background and return its id.

        Without `auto_approve` it stops at `awaiting_approval`, and `approve` lets it go on. A follow-up gives
        the `conversation` of the run it follows (see `RunRecord`); `alone` it takes over nothing from it. `analysis`
        and `columns` are as in `draft`, `chosen` (tool -> parameter -> value) as in `replan`.

        Raises:
            UserError: for an empty question, a strategy this version lacks, or an analysis or column that does
                not exist.
            LimitExceeded: when the queue is full.
        """
        require_words(question)
        require_analysis(analysis)
        paths = [Path(path) for path in data]
        if columns:  # remembered before the run is made, whose own look at the files then finds them
            self._parts.corrections.profile(paths, columns)
        return self._parts.orchestrator.ask(
            question,
            paths,
            analysis=analysis,
            user=user or self.user,
            auto_approve=auto_approve,
            strategy=strategy,
            changes=dict(changes or {}),
            conversation=conversation,
            chosen=chosen_now({}, chosen or {}, self._parts.registry),
            alone=alone,
        )

    def run_plan(self, plan: TaskDag, data: Sequence[Path | str] = (), *, user: str | None = None) -> str:
        """Run a plan as it stands; `data` replaces the plan's files of the same name.

        Raises:
            PlanError: when it does not fit.
        """
        return self._parts.orchestrator.start_plan(with_data(plan, data), user=user or self.user)

    def approve(self, run_id: str) -> None:
        """Let a run that waits for approval go on."""
        self._parts.orchestrator.approve(run_id, user=self.user)

    def cancel(self, run_id: str) -> None:
        """Stop a run; what finished is kept."""
        self._parts.orchestrator.cancel(run_id, user=self.user)

    def rerun(self, run_id: str, *, from_node: str = "", fresh: bool = False) -> str:
        """Run the same plan again as a new run and return its id; `fresh` takes no step's result from the store."""
        return self._parts.orchestrator.rerun(run_id, user=self.user, from_node=from_node, fresh=fresh)

    def wait(self, run_id: str, timeout: float | None = None) -> RunRecord:
        """Wait until a run is no longer worked on (done or awaiting approval) and return its record."""
        self._parts.queue.wait(run_id, timeout)
        return self.record(run_id)

    def has_run(self, run_id: str) -> bool:
        """Say whether there is such a run."""
        return self._parts.records.store.run(run_id) is not None

    def view(self, run_id: str) -> RunView:
        """Return everything known of a run: record, plan, results, profiles, report."""
        return self._parts.records.view(self.record(run_id))

    def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EngineEvent]:
        """Return a run's events with `seq` greater than `after`."""
        self.record(run_id)
        return self._parts.records.store.events(run_id, after=after, limit=limit)

    def figure(self, artifact: Artifact) -> bytes | None:
        """Return a figure's PNG or SVG; None when it is gone or nothing to be shown."""
        return image_bytes(artifact, self._parts.records.artifacts)


def with_data(plan: TaskDag, data: Sequence[Path | str]) -> TaskDag:
    """Return the plan with its files replaced by those given that have the same name.

    Raises:
        DataError: for a file the plan has no dataset for, or one that cannot serve as what the plan needs.
    """
    replaced = {dataset.name: dataset for dataset in plan.datasets}
    for profile in profile_paths(data):
        old = replaced.get(profile.name)
        if old is None:
            known = ", ".join(replaced) or "none"
            raise DataError(f"The plan uses no file called {profile.name!r}.", advice=f"Its files are: {known}.")
        guess = profile.serves_as(old.type)
        if guess is None:
            reason = profile.warnings[0] if profile.warnings else profile.summary
            raise DataError(f"{profile.name} cannot serve as {old.type.value}: {reason}")
        update = {"path": profile.path, "sha256": profile.sha256, "bytes": profile.bytes, "read": guess.read}
        replaced[old.name] = old.model_copy(update=update)
    return plan.model_copy(update={"datasets": list(replaced.values())})


def require_words(question: str) -> None:
    """Refuse a question without a letter or a digit.

    Raises:
        UserError: for such a question.
    """
    if not any(character.isalnum() for character in question):
        raise UserError("The question is empty.", advice="Ask in a sentence what you want to know of the data.")


def require_analysis(analysis: str) -> None:
    """Refuse an analysis that does not exist.

    Raises:
        UserError: when there is none of this id.
    """
    if not analysis or analysis in load_analyses():
        return
    import difflib

    close = ", ".join(difflib.get_close_matches(analysis, load_analyses(), n=3, cutoff=0.4))
    advice = f"Did you mean {close}?" if close else "`biodesk analyses` lists them."
    raise UserError(f"There is no analysis called {analysis[:100]!r}.", advice=advice)
