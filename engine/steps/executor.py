"""Runs one step: inputs to the sandbox, outputs to the store and the critic, and again when a rule can repair it."""

from __future__ import annotations

import contextlib
import importlib.metadata
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.domain.events import (
    NodeFailed,
    NodeFinished,
    NodeOutput,
    NodeProgress,
    NodeRetried,
    NodeStarted,
    WarningRaised,
)
from engine.domain.plan import TaskDag, TaskNode
from engine.domain.results import ExecResult, NodeResult
from engine.domain.toolspec import Repair, ToolSpec
from engine.errors import ModelUnavailable, PlanError, SandboxUnavailable
from engine.ports.cancel import CancelToken
from engine.ports.sandbox import Job, Limits, Sandbox
from engine.runs.records import RunRecords
from engine.steps.repairs import Failure, repair
from engine.steps.reuse import repaired, reused
from engine.steps.step_inputs import Given, copy_into, given_to
from engine.steps.step_outputs import Collector
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.script import cache_key, step_script
from engine.trees import LEFTOVER, remove_tree

if TYPE_CHECKING:
    from engine.steps.mending import Mending

OUTPUT_CHUNK = 8_000
"""Characters of stdout or stderr that one event may carry."""
_SLOT_SECONDS = 0.1
"""How often a step that waits for a free slot looks whether it was cancelled."""


@dataclass(slots=True)
class Executor:
    """Runs steps of any run, one after the other or side by side; keeps nothing of a step once it is over."""

    registry: ToolRegistry
    sandbox: Sandbox
    records: RunRecords
    scratch: Path
    limits: Limits = field(default_factory=Limits)
    threads: int = 1
    reuse: bool = True
    doubted: Callable[[], Collection[str]] = tuple
    """Says which runs are marked as wrong: nothing of them is reused."""
    slots: threading.Semaphore | None = None
    """How many steps may be in the sandbox at once, over all runs; None: as many as ask."""
    mending: Mending | None = None
    """Has models look at steps that no declared repair helps, where there are some."""

    def run(
        self,
        run_id: str,
        plan: TaskDag,
        node: TaskNode,
        results: Mapping[str, NodeResult],
        cancel: CancelToken,
        *,
        fresh: bool = False,
    ) -> NodeResult:
        """Run a step (or take its result from the cache), store what it gave and say what happened.

        Raises:
            DataError: when an earlier step did not give what this one needs.
            SandboxUnavailable: when this machine could not run code, twice.
            StorageError: when results could not be written; the run can be resumed.
        """
        spec = self.registry.get(node.tool)
        given = given_to(plan, node, spec, results, self.registry, self.records.artifacts)
        params = dict(node.params)
        spent: list[Repair] = []
        failed: list[Failure] = []
        while True:
            versions = package_versions(spec.packages)
            attempt, started = 1 + len(spent), self.records.clock.now()
            key = cache_key(spec, params, {i.name: (i.sha256, i.step) for i in given}, versions)
            if self.reuse and not fresh and (known := self._known(run_id, node, key, spent)) is not None:
                return known
            self.records.log.emit(NodeStarted(run_id=run_id, node=node.id, attempt=attempt))
            base = NodeResult(
                node=node.id,
                tool=spec.name,
                status="running",
                attempts=attempt,
                cache_key=key,
                started_at=started,
                params=params,
                inputs={item.name: item.sha256 for item in given},
                versions=versions,
            )
            result = self._attempt(run_id, node, spec, given, base, cancel)
            again = None
            if result.status == "failed" and not cancel.cancelled:
                failed.append(Failure(spec, result.error))
                again = self._again(run_id, plan.question, node, result, failed, spent)
            if again is None:
                return self._finish(run_id, result, spent)
            spec, fix = again
            spent.append(fix)
            params.update(fix.change)
            changed = fix.change or {"code": spec.name}
            why = f"{result.error} So {fix.why}."
            self.records.log.emit(
                NodeRetried(
                    run_id=run_id, node=node.id, attempt=attempt + 1, why=why, changed=changed, lesson=fix.lesson
                )
            )

    def _known(self, run_id: str, node: TaskNode, key: str, spent: Sequence[Repair]) -> NodeResult | None:
        return reused(run_id, node, key, spent, self.records, self.doubted())

    def _again(
        self, run_id: str, question: str, node: TaskNode, result: NodeResult, failed: list[Failure], spent: list[Repair]
    ) -> tuple[ToolSpec, Repair] | None:
        """Return what to try next with a step that failed: a declared repair, else what models think of."""
        spec = failed[-1].spec
        if (fix := repair(spec, result.error, result.params, spent)) is not None:
            return spec, fix
        if self.mending is None:
            return None
        try:
            return self.mending.again(run_id, question, node, result, failed, spent)
        except (ModelUnavailable, PlanError) as err:
            self._warn(run_id, node, f"No model could mend step {node.id}: {err.message}")
            return None

    def _attempt(
        self,
        run_id: str,
        node: TaskNode,
        spec: ToolSpec,
        given: Sequence[Given],
        base: NodeResult,
        cancel: CancelToken,
    ) -> NodeResult:
        code = step_script(spec, {item.name: item.step for item in given}, base.params)
        workdir = self.scratch / run_id / f"{node.id}_{base.attempts}"
        remove_tree(workdir, self.scratch / LEFTOVER)
        try:
            copy_into(workdir, given, node)
            outcome = self._sandboxed(run_id, node, code, workdir, cancel)
            self._warn(run_id, node, outcome.left)
            base = base.model_copy(
                update={
                    "seconds": outcome.seconds,
                    "overhead_seconds": outcome.overhead_seconds,
                    "peak_memory_mb": outcome.peak_memory_mb,
                    "code_sha256": self._kept(code),
                    "stdout_sha256": self._kept(outcome.stdout),
                    "stderr_sha256": self._kept(outcome.stderr),
                }
            )
            if not outcome.ok:
                status = "cancelled" if outcome.status == "cancelled" else "failed"
                return base.model_copy(update={"status": status, "error": explain_failure(outcome, self.limits)})
            size = sum(item.source.stat().st_size for item in given)
            return Collector(self.records, self.limits).collect(run_id, spec, base, workdir, size)
        finally:
            self._warn(run_id, node, remove_tree(workdir, self.scratch / LEFTOVER))
            with contextlib.suppress(OSError):
                workdir.parent.rmdir()

    def _kept(self, text: str) -> str:
        """Store a text and return its hash, "" for none."""
        return self.records.artifacts.put_bytes(text.encode()) if text else ""

    def _warn(self, run_id: str, node: TaskNode, message: str) -> None:
        if message:
            self.records.log.emit(WarningRaised(run_id=run_id, node=node.id, message=message))

    def _sandboxed(self, run_id: str, node: TaskNode, code: str, workdir: Path, cancel: CancelToken) -> ExecResult:
        emit = self.records.log.emit

        def show(stream: Literal["stdout", "stderr"], text: str) -> None:
            for start in range(0, len(text), OUTPUT_CHUNK):
                chunk = text[start : start + OUTPUT_CHUNK]
                emit(NodeOutput(run_id=run_id, node=node.id, stream=stream, text=chunk))

        job = Job(id=f"{run_id}-{node.id}", code=code, workdir=workdir, limits=self.limits, threads=self.threads)
        try:
            with self._slot(cancel):
                return self.sandbox.run(job, on_output=show, cancel=cancel)
        except SandboxUnavailable as err:
            if cancel.cancelled:
                return ExecResult(status="cancelled", error="Stopped.")
            message = f"The sandbox failed ({err.message}); trying once more."
            emit(NodeProgress(run_id=run_id, node=node.id, message=message))
            with self._slot(cancel):
                return self.sandbox.run(job, on_output=show, cancel=cancel)

    @contextlib.contextmanager
    def _slot(self, cancel: CancelToken) -> Iterator[None]:
        """Wait for a free place among the steps at work; a cancelled step goes on at once, to be refused."""
        held = self.slots is None
        while not held and not cancel.cancelled:
            held = self.slots is not None and self.slots.acquire(timeout=_SLOT_SECONDS)
        try:
            yield
        finally:
            if held and self.slots is not None:
                self.slots.release()

    def _finish(self, run_id: str, result: NodeResult, spent: list[Repair]) -> NodeResult:
        warnings = [*(repaired(result.node, f"{fix.why}.") for fix in spent), *result.warnings]
        result = result.model_copy(update={"finished_at": self.records.clock.now(), "warnings": warnings})
        told = [WarningRaised(run_id=run_id, node=result.node, message=message) for message in result.warnings]
        if result.status == "succeeded":
            end = NodeFinished(run_id=run_id, node=result.node, status="succeeded", seconds=result.seconds)
        else:
            end = NodeFailed(run_id=run_id, node=result.node, error=result.error, seconds=result.seconds)
        self.records.log.with_result(run_id, result, *told, end)
        return result


def explain_failure(outcome: ExecResult, limits: Limits) -> str:
    """Return one sentence on why code did not run to its end, for a biologist."""
    if outcome.status == "timeout":
        return f"It took longer than the limit of {limits.seconds:g} s (setting step_seconds)."
    if outcome.status == "memory":
        return f"It needed more memory than the limit of {limits.memory_mb} MB (setting step_memory_mb)."
    if outcome.status == "disk":
        return f"It was stopped because of what it wrote: {outcome.error} (setting step_disk_mb)."
    if outcome.status == "cancelled":
        return "Stopped before it finished."
    if outcome.status == "killed":
        return f"The process that ran it ended unexpectedly ({outcome.error or 'killed'})."
    if missing := re.fullmatch(r"KeyError: (.+)", outcome.error.strip()):
        return f"It looked for {missing[1]}, which is not there."
    message = re.sub(r"^(ValueError|TypeError|RuntimeError): ", "", outcome.error.strip())
    return message or "It failed without saying why."


def package_versions(packages: list[str]) -> dict[str, str]:
    """Return distribution -> installed version; a package that is not installed is left out."""
    versions: dict[str, str] = {}
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions
