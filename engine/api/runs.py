"""Calls about runs: started, watched, stopped, looked at, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.api.calls import Calls, passed_on
from engine.api.without_workspace import profile_paths
from engine.domain.events import EngineEvent
from engine.domain.plan import TaskDag
from engine.domain.report import RunView
from engine.domain.results import Artifact, RunRecord
from engine.errors import DataError
from engine.orchestrator import Orchestrator
from engine.ports.artifacts import ArtifactStore
from engine.ports.runs import RunArchive, RunStore
from engine.ports.search_trees import SearchTrees
from engine.reporting.forms.contents import image_bytes
from engine.runs.deleting import Deleting
from engine.runs.queue import RunQueue
from engine.runs.records import RunRecords


class RunCalls(Calls):
    """Runs of a workspace."""

    @property
    def user(self) -> str:
        """Who runs are attributed to unless told otherwise."""
        return self._parts.records.user

    ask = passed_on(Orchestrator.ask, "orchestrator")
    approve = passed_on(Orchestrator.approve, "orchestrator")
    cancel = passed_on(Orchestrator.cancel, "orchestrator")
    resume = passed_on(Orchestrator.resume, "orchestrator")
    rerun = passed_on(Orchestrator.rerun, "orchestrator")
    active = passed_on(RunQueue.active, "beside.queue")
    runs = passed_on(RunStore.runs, "records.store")
    damaged_runs = passed_on(RunArchive.damaged_runs, "records.store.archive")
    record = passed_on(RunRecords.newest, "records")
    search_trees = passed_on(SearchTrees.of_run, "trees")
    artifact = passed_on(ArtifactStore.path, "records.artifacts")
    space = passed_on(Deleting.space, "beside.deleting")
    delete_runs = passed_on(Deleting.delete, "beside.deleting")

    def run_plan(self, plan: TaskDag, data: Sequence[Path | str] = (), *, user: str = "") -> str:
        """Run a plan as it stands; `data` replaces the plan's files of the same name.

        Raises:
            PlanError: when it does not fit.
        """
        return self._parts.orchestrator.start_plan(with_data(plan, data), user=user)

    def wait(self, run_id: str, timeout: float | None = None) -> RunRecord:
        """Wait until a run is no longer worked on (done or awaiting approval) and return its record."""
        self._parts.beside.queue.wait(run_id, timeout)
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
        same = profile.sha256 == old.sha256  # what the question said of its rows and columns still holds
        guess = profile.serves_as(old.type)
        if guess is None and not same:
            reason = profile.warnings[0] if profile.warnings else profile.summary
            raise DataError(f"{profile.name} cannot serve as {old.type.value}: {reason}")
        read = old.read if same or guess is None else guess.read
        update = {"path": profile.path, "sha256": profile.sha256, "bytes": profile.bytes, "read": read}
        replaced[old.name] = old.model_copy(update=update)
    return plan.model_copy(update={"datasets": list(replaced.values())})
