"""Runs code that is not trusted as a process on this machine, as tightly as this machine allows, in milliseconds.

A worker that imported the scientific libraries once is kept ready, and each job is a fork of it inside walls of its
own. What the walls are made of is found out and not assumed: bubblewrap and namespaces, else Landlock, else limits;
`report` runs hostile code to say which of them hold here.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine.adapters.sandbox import selftest
from engine.adapters.sandbox.cgroup import ControlGroups
from engine.adapters.sandbox.foundation import Foundation
from engine.adapters.sandbox.lease import WorkerGone
from engine.adapters.sandbox.session import Session, SetupFailed
from engine.adapters.sandbox.view import JobFolder, Places
from engine.adapters.sandbox.worker import Hello, Worker, WorkerPlan, find_bubblewrap, isolation_order
from engine.domain.results import ExecResult
from engine.errors import SandboxUnavailable
from engine.ports.cancel import CancelToken
from engine.ports.sandbox import Job, OutputSink, SandboxReport
from engine.trees import leftovers, remove_tree, retry_leftovers

PRELOAD = (
    "numpy", "numpy.random", "pandas", "scipy.stats", "scipy.sparse", "matplotlib.pyplot", "statsmodels.api", "sklearn",
    "anndata", "scanpy", "pydeseq2.dds", "pydeseq2.ds", "gseapy", "lifelines", "threadpoolctl",
)  # fmt: skip
PRELOAD_SINGLE_CELL = ("umap", "pynndescent")
"""Worth adding with a lasting `cache`: what they compile at import takes a quarter of a minute the first time."""
START_SECONDS = 20.0
WARM_SECONDS = 180.0
MOST_RESTARTS = 3


class ProcessSandbox:
    """The `Sandbox` of this machine.

    Args:
        scratch_root: The folder under which every job's `workdir` lies; hidden from jobs but for their own. Made when
            the first job needs it.
        use_bubblewrap: Whether to use it; None uses it where it works.
        preload: Modules a warm worker imports; missing ones are left out. Empty: every job starts cold.
        readable: Further paths every job may read.
        hidden: Folders no job may read, wherever they lie: the workspace, which may lie below a path that is readable.
        cache: Where a worker's compiled functions and font list are kept, readable but never writable for jobs;
            a folder that several workspaces of this user share spares each making its own. None: in `scratch_root`.
        warm_wait: How many seconds a job waits for a worker that is still importing before it starts cold.
        isolations: Which of `namespaces` and `landlock` may be used; None for both. For tests and for `doctor`.
        control_groups: Whether control groups may be used.
    """

    def __init__(
        self,
        scratch_root: Path,
        *,
        use_bubblewrap: bool | None = None,
        preload: Sequence[str] = PRELOAD,
        readable: Sequence[Path] = (),
        hidden: Sequence[Path] = (),
        cache: Path | None = None,
        warm_wait: float = 30.0,
        isolations: Sequence[str] | None = None,
        control_groups: bool = True,
    ) -> None:
        if os.name != "posix":
            raise SandboxUnavailable(
                f"Steps cannot be run as processes on {sys.platform}: it has no fork.",
                advice="Run Biodesk on Linux, macOS or in the Windows Subsystem for Linux.",
            )
        shown = tuple(str(path.resolve()) for path in readable)
        concealed = tuple(str(path.resolve()) for path in hidden)
        self._places = Places(scratch_root.resolve(), shown, cache.resolve() if cache else None, concealed)
        self._use_bubblewrap = use_bubblewrap
        self._preload = tuple(preload)
        self._warm_wait = warm_wait
        self._isolations = isolation_order(isolations)
        self._groups_allowed = control_groups
        self._lock = threading.RLock()
        self._foundation: Foundation | None = None
        self._groups: ControlGroups | None = None
        self._warm_worker: Worker | None = None
        self._cold_workers: set[Worker] = set()
        self._lost = 0
        self._report: SandboxReport | None = None
        self._closed = False

    # --- the port -------------------------------------------------------------------------------------------------

    def run(self, job: Job, *, on_output: OutputSink, cancel: CancelToken) -> ExecResult:
        """Run a job to its end, a limit or its cancellation; see `Sandbox.run`.

        Raises:
            SandboxUnavailable: when the machinery broke, whatever the code was.
        """
        started = time.monotonic()
        result = self._run(job, on_output, cancel, started)
        spent = max(0.0, time.monotonic() - started - result.seconds)  # with the cleaning up
        return result.model_copy(update={"overhead_seconds": round(spent, 6)})

    def _run(self, job: Job, on_output: OutputSink, cancel: CancelToken, started: float) -> ExecResult:
        if cancel.cancelled:
            return ExecResult(status="cancelled", error="it was cancelled before it began")
        job = replace(job, workdir=self._workdir(job))
        worker = self._warm_for_job(job)
        if worker is not None:
            try:
                result = self._run_in(worker, job, on_output, cancel, started)
            except (WorkerGone, SetupFailed):
                self._drop_if_dead(worker)  # nothing of the job ran: a fresh worker may take it
            except SandboxUnavailable:
                self._drop_if_dead(worker)
                raise
            else:
                self._lost = 0
                return result
        return self._run_cold(job, on_output, cancel, started)

    def warm(self) -> None:
        """Start the warm worker and wait until it is ready; does nothing where there is none.

        Raises:
            SandboxUnavailable: when no process can be started here.
        """
        worker = self._ensure_warm()
        if worker is not None and worker.wait_ready(WARM_SECONDS) is None:
            self._drop_if_dead(worker)

    def report(self) -> SandboxReport:
        """Say what is isolated here: found out by running hostile code, once it met what steps will get."""
        found = self._found()
        with contextlib.suppress(SandboxUnavailable):
            worker = self._ensure_warm() if self._report is None else None
            if worker is not None:
                worker.wait_ready(self._warm_wait)
        with self._lock:
            report = self._report
            if report is None:
                report = selftest.examine(self, self._places, found, groups=self._control_groups().available)
                self._report = report if report.warm or not self.should_be_warm else None
        missing = report.missing
        if self._lost >= MOST_RESTARTS:
            missing = (*missing, "The warm worker kept ending and is no longer restarted: every step starts cold.")
        left = leftovers(self._places.leftover)
        if left:
            missing = (*missing, f"Folders of steps that could not be deleted: {left}, in {self._places.leftover}.")
        return replace(report, warm=self.is_warm, missing=missing)

    def close(self) -> None:
        """Kill everything this sandbox started."""
        with self._lock:
            self._closed = True
            workers = [*self._cold_workers, *([self._warm_worker] if self._warm_worker else [])]
            self._warm_worker = None
            self._cold_workers.clear()
        for worker in workers:
            worker.close()
        if self._groups is not None:
            self._groups.close()

    # --- more -----------------------------------------------------------------------------------------------------

    @property
    def is_warm(self) -> bool:
        """True when a worker is ready now."""
        worker = self._warm_worker
        return worker is not None and worker.ready.is_set() and worker.alive

    @property
    def should_be_warm(self) -> bool:
        """True where steps are forks of a warm worker once it has imported what it imports."""
        return bool(self._preload) and self._found().can_be_warm and self._lost < MOST_RESTARTS

    @property
    def hello(self) -> Hello | None:
        """What the warm worker said about itself, once it is ready."""
        worker = self._warm_worker
        return worker.hello if worker is not None else None

    # --- finding out ----------------------------------------------------------------------------------------------

    def _control_groups(self) -> ControlGroups:
        with self._lock:
            if self._groups is None:
                self._groups = ControlGroups(allowed=self._groups_allowed)
            return self._groups

    def _found(self) -> Foundation:
        with self._lock:
            if self._foundation is None:
                try:
                    self._places.make()
                except OSError as error:
                    raise SandboxUnavailable(
                        f"Steps cannot be run: no folder for them can be made in {self._places.scratch} "
                        f"({error.strerror}).",
                        advice="Give a folder you may write to with --workspace.",
                    ) from error
                self._clear_leftovers()
                self._foundation = self._find_out()
            return self._foundation

    def _find_out(self) -> Foundation:
        bubblewrap = self._use_bubblewrap is not False and find_bubblewrap() is not None
        problems = [] if bubblewrap or not self._use_bubblewrap else ["bubblewrap cannot make namespaces here"]
        worker = self._start(WorkerPlan(places=self._places, bubblewrap=bubblewrap, isolations=self._isolations))
        hello = worker.wait_ready(START_SECONDS)
        worker.close()
        if hello is None:
            if bubblewrap and self._use_bubblewrap is None:
                self._use_bubblewrap = False
                return self._find_out()
            raise SandboxUnavailable(
                "The process that runs steps started and ended again without a word.",
                advice="Run `biodesk doctor` to see what works on this machine.",
                details={"log": worker.log_tail()},
            )
        problems += [hello.problem] if hello.problem else []
        isolation = "bubblewrap" if bubblewrap and hello.isolation == "none" else hello.isolation
        return Foundation(bubblewrap, isolation, "; ".join(problems), hello.landlock)

    def _clear_leftovers(self) -> None:
        """Delete the private folders of jobs of an engine that was killed."""
        for folder in (self._places.base / "jobs").iterdir():
            owner = folder.name.split("-")[0]
            if owner.isdigit() and not _is_running(int(owner)):
                remove_tree(folder, self._places.leftover)
        retry_leftovers(self._places.leftover)

    # --- workers --------------------------------------------------------------------------------------------------

    def _start(self, plan: WorkerPlan) -> Worker:
        if self._closed:
            raise SandboxUnavailable("The sandbox was closed.", advice="Start Biodesk again.")
        return Worker(plan, self._control_groups(), threads=os.cpu_count() or 1)

    def _ensure_warm(self) -> Worker | None:
        """Return the warm worker, started now if need be; None where there is none to have."""
        found = self._found()
        with self._lock:
            if self._warm_worker is not None and not self._warm_worker.alive:
                self._drop_if_dead(self._warm_worker)
            if self._warm_worker is None and self.should_be_warm:
                self._warm_worker = self._start(
                    WorkerPlan(
                        places=self._places,
                        bubblewrap=found.bubblewrap,
                        isolations=found.asked_of_worker,
                        preload=self._preload,
                        spares=2,
                    )
                )
            return self._warm_worker

    def _warm_for_job(self, job: Job) -> Worker | None:
        if not job.workdir.is_relative_to(self._places.scratch):
            self._found()
            return None  # the warm worker sees the rest of the machine read-only
        worker = self._ensure_warm()
        if worker is None or worker.wait_ready(self._warm_wait) is None:
            return None
        return worker if worker.as_asked else None

    def _drop_if_dead(self, worker: Worker) -> None:
        # The process may be a moment from being collected: it is dead when its work is.
        deadline = time.monotonic() + 0.5
        while worker.alive and time.monotonic() < deadline:
            time.sleep(0.01)
        with self._lock:
            if worker.alive or worker is not self._warm_worker:
                return
            self._warm_worker = None
            self._lost += 1
        worker.close()

    # --- jobs -----------------------------------------------------------------------------------------------------

    def _workdir(self, job: Job) -> Path:
        try:
            workdir = job.workdir.resolve(strict=True)
            if not workdir.is_dir():
                raise NotADirectoryError(str(workdir))
        except OSError as error:
            raise SandboxUnavailable(
                f"The folder of step {job.id} cannot be used: {error}.",
                advice="Check that the workspace's disk is there and has room.",
            ) from error
        return workdir

    def _run_cold(self, job: Job, on_output: OutputSink, cancel: CancelToken, started: float) -> ExecResult:
        found = self._found()
        folder = self._job_folder(job)
        try:
            plan = WorkerPlan(
                places=self._places,
                bubblewrap=found.bubblewrap,
                isolations=found.asked_of_worker,
                view=folder.view() if found.isolation == "bubblewrap" else None,
                writable=(str(job.workdir),),
            )
            worker = self._start(plan)
            with self._lock:
                self._cold_workers.add(worker)
            try:
                if worker.wait_ready(START_SECONDS) is None:
                    raise WorkerGone(worker.log_tail() or "it did not become ready")
                if not worker.as_asked:
                    raise SetupFailed(worker.hello.problem if worker.hello else "its walls could not be made")
                result = self._session(worker, job, folder, on_output, cancel).execute(started)
            except (WorkerGone, SetupFailed) as error:
                raise SandboxUnavailable(
                    f"Step {job.id} could not be started: {error}.",
                    advice="Run `biodesk doctor` to see what works on this machine.",
                    details={"job": job.id},
                ) from error
            finally:
                with self._lock:
                    self._cold_workers.discard(worker)
                worker.close()
        finally:
            left = folder.remove()
        return result.model_copy(update={"left": left})

    def _run_in(
        self, worker: Worker, job: Job, on_output: OutputSink, cancel: CancelToken, started: float
    ) -> ExecResult:
        folder = self._job_folder(job)
        try:
            result = self._session(worker, job, folder, on_output, cancel).execute(started)
        finally:
            left = folder.remove()
            worker.refill()
        return result.model_copy(update={"left": left})

    def _session(
        self, worker: Worker, job: Job, folder: JobFolder, on_output: OutputSink, cancel: CancelToken
    ) -> Session:
        return Session(job=job, folder=folder, worker=worker, on_output=on_output, cancel=cancel)

    def _job_folder(self, job: Job) -> JobFolder:
        folder = JobFolder(self._places, job)
        try:
            folder.make(f"{os.getpid()}-{secrets.token_hex(8)}")
        except OSError as error:
            with contextlib.suppress(OSError, AttributeError):
                folder.remove()
            raise SandboxUnavailable(
                f"No private folder could be made for step {job.id}: {error}.",
                advice="Check that the workspace's disk is there and has room.",
            ) from error
        return folder


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
