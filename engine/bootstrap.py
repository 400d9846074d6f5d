"""The composition root: from settings to a working engine. The only place that names concrete adapters."""

from __future__ import annotations

import os
import platform
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from engine.adapters.process_sandbox import PRELOAD, PRELOAD_SINGLE_CELL, ProcessSandbox
from engine.adapters.system import RandomIds, SystemClock
from engine.adapters.warm_up import compiled_cache
from engine.agents.executor import Executor
from engine.agents.planner import Planner
from engine.errors import StorageError, UserError
from engine.orchestrator import Orchestrator
from engine.ports import ArtifactStore, Limits, RunStore, Sandbox
from engine.runtime.event_log import EventLog
from engine.runtime.queue import RunQueue
from engine.runtime.requests import RequestWatcher
from engine.settings import Settings
from engine.toolbox.registry import ToolRegistry, builtin_tools
from storage.artifacts import FileArtifacts
from storage.runs import DuckRunStore
from storage.workspace import Workspace


@dataclass(slots=True)
class Parts:
    """A built engine, taken apart again by `close`."""

    settings: Settings
    workspace: Workspace
    store: RunStore
    artifacts: ArtifactStore
    log: EventLog
    queue: RunQueue
    requests: RequestWatcher
    sandbox: Sandbox
    registry: ToolRegistry
    orchestrator: Orchestrator

    def close(self) -> None:
        """Stop the runs, write what waits and release the workspace."""
        self.requests.close()
        self.queue.close()
        self.log.close()
        self.sandbox.close()
        self.store.close()
        self.workspace.close()


def build(settings: Settings) -> Parts:
    """Open the workspace and connect everything.

    Raises:
        WorkspaceInUse: when another process holds the workspace.
        StorageError: when it cannot be read or written.
    """
    if settings.model != "offline":
        message = f"The model {settings.model!r} cannot be used: this version works with its built-in planner only."
        raise UserError(message, advice="Use --model offline or leave the setting out.")
    workspace = Workspace.open(settings.workspace)
    try:
        return _connect(settings, workspace)
    except BaseException:
        workspace.close()
        raise


def _connect(settings: Settings, workspace: Workspace) -> Parts:
    clock, registry = SystemClock(), builtin_tools()
    artifacts = FileArtifacts(workspace.artifacts)
    store = DuckRunStore(workspace.db_path)
    log = EventLog(store, clock)
    sandbox = make_sandbox(settings, workspace.runs)
    queue = RunQueue(workers=settings.parallel_runs, size=settings.queue_size)
    executor = Executor(
        registry=registry,
        sandbox=sandbox,
        artifacts=artifacts,
        store=store,
        log=log,
        clock=clock,
        scratch=workspace.runs,
        limits=Limits(seconds=settings.step_seconds, memory_mb=settings.step_memory_mb, file_mb=settings.step_file_mb),
        threads=os.cpu_count() or 1,
        reuse=settings.reuse_results,
        slots=threading.BoundedSemaphore(settings.parallel_steps),
    )
    orchestrator = Orchestrator(
        registry=registry,
        planner=Planner(registry),
        executor=executor,
        store=store,
        artifacts=artifacts,
        log=log,
        queue=queue,
        clock=clock,
        ids=RandomIds(),
        environment=environment(),
        parallel_steps=settings.parallel_steps,
    )
    orchestrator.mark_interrupted()
    return Parts(
        settings=settings,
        workspace=workspace,
        store=store,
        artifacts=artifacts,
        log=log,
        queue=queue,
        requests=RequestWatcher(workspace.folder, lambda run_id: orchestrator.cancel(run_id, user="another process")),
        sandbox=sandbox,
        registry=registry,
        orchestrator=orchestrator,
    )


def make_sandbox(settings: Settings, scratch: Path) -> Sandbox:
    """Return the sandbox the settings ask for."""
    wanted = {"auto": None, "bubblewrap": True, "plain": False}[settings.sandbox]
    if not settings.warm_workers:
        return ProcessSandbox(scratch, use_bubblewrap=wanted, preload=())
    # Compiled numba functions and the font list are the same for every workspace of this account.
    modules = PRELOAD + PRELOAD_SINGLE_CELL
    return ProcessSandbox(scratch, use_bubblewrap=wanted, preload=modules, cache=compiled_cache())


def environment() -> dict[str, str]:
    """Return what describes this machine in a provenance record. Nothing that names its user."""
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu_count": str(os.cpu_count() or 1),
    }


def workspace_holder(folder: Path) -> str:
    """Return a sentence on who holds the workspace or why it cannot be used, or ""."""
    try:
        Workspace.open(folder, read_only=True).close()
    except StorageError as err:
        return err.message
    return ""
