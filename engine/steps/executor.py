"""Runs one step: inputs to the sandbox, outputs to the store, the critic's word, and again when a rule can repair it.

What a sandboxed step leaves behind is not trusted: names are checked, JSON is validated, sizes are those
of the files found.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from engine.domain.datatypes import DataType
from engine.domain.events import (
    ArtifactSaved,
    NodeFailed,
    NodeFinished,
    NodeOutput,
    NodeProgress,
    NodeRetried,
    NodeStarted,
    NodeVerdict,
    WarningRaised,
)
from engine.domain.findings import Finding
from engine.domain.plan import DATA_PREFIX, TaskDag, TaskNode
from engine.domain.results import Artifact, ExecResult, NodeResult
from engine.domain.sealing import alterations
from engine.domain.toolspec import Repair, ToolSpec
from engine.errors import DataError, IntegrityError, SandboxUnavailable, StorageError
from engine.ports.artifacts import ArtifactStore
from engine.ports.cancel import CancelToken
from engine.ports.runs import RunStore
from engine.ports.sandbox import Job, Limits, Sandbox
from engine.ports.system import Clock
from engine.runs.event_log import EventLog
from engine.steps.critic import judge
from engine.steps.repairs import repair
from engine.steps.result_file import MOST_NAME, is_plain_file, read_result
from engine.toolbox.figures import read_figure
from engine.toolbox.large_tables import ROW_BYTES, longest_row_is_short
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.script import STORED_READ, StepInput, cache_key, step_script
from engine.trees import LEFTOVER, excess, remove_tree

OUTPUT_CHUNK = 8_000
"""Characters of stdout or stderr that one event may carry."""
_SLOT_SECONDS = 0.1
"""How often a step that waits for a free slot looks whether it was cancelled."""


@dataclass(slots=True)
class _Input:
    name: str
    sha256: str
    source: Path
    step: StepInput


@dataclass(slots=True)
class Executor:
    """Runs steps of any run, one after the other or side by side; keeps nothing of a step once it is over."""

    registry: ToolRegistry
    sandbox: Sandbox
    artifacts: ArtifactStore
    store: RunStore
    log: EventLog
    clock: Clock
    scratch: Path
    limits: Limits = field(default_factory=Limits)
    threads: int = 1
    reuse: bool = True
    slots: threading.Semaphore | None = None
    """How many steps may be in the sandbox at once, over all runs; None: as many as ask."""

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
            SandboxUnavailable: when this machine could not run code, twice.
            StorageError: when results could not be written; the run can be resumed.
        """
        spec = self.registry.get(node.tool)
        inputs = self._inputs(plan, node, spec, results)
        versions = package_versions(spec.packages)
        params = dict(node.params)
        spent: list[Repair] = []
        attempt = 1
        while True:
            started = self.clock.now()
            key = cache_key(spec, params, {i.name: (i.sha256, i.step) for i in inputs}, versions)
            cached = None if fresh else self._cached(run_id, node, key, spent)
            if cached is not None:
                return cached
            self.log.emit(NodeStarted(run_id=run_id, node=node.id, attempt=attempt))
            base = NodeResult(
                node=node.id,
                tool=node.tool,
                status="running",
                attempts=attempt,
                cache_key=key,
                started_at=started,
                params=params,
                inputs={item.name: item.sha256 for item in inputs},
                versions=versions,
            )
            result = self._attempt(run_id, plan, node, spec, inputs, base, cancel)
            fix = None
            if result.status == "failed" and not cancel.cancelled:
                fix = repair(spec, result.error, params, spent)
            if fix is None:
                return self._finish(run_id, result, spent)
            spent.append(fix)
            params.update(fix.change)
            attempt += 1
            why = f"{result.error} So {fix.why}."
            self.log.emit(NodeRetried(run_id=run_id, node=node.id, attempt=attempt, why=why, changed=fix.change))

    def _inputs(self, plan: TaskDag, node: TaskNode, spec: ToolSpec, results: Mapping[str, NodeResult]) -> list[_Input]:
        found: list[_Input] = []
        for port in spec.inputs:
            ref = node.inputs.get(port.name)
            if ref is None:
                continue
            if ref.startswith(DATA_PREFIX):
                dataset = plan.dataset(ref.removeprefix(DATA_PREFIX))
                assert dataset is not None
                source = self.artifacts.path(dataset.sha256)
                path = _input_path(_safe_name(dataset.path), port.name, found)
                step = StepInput(path=path, type=dataset.type, read=dataset.read)
                found.append(_Input(port.name, dataset.sha256, source, step))
            else:
                upstream, _, output = ref.partition(".")
                artifact = next((a for a in results[upstream].artifacts if a.output == output), None)
                if artifact is None:
                    if port.optional:
                        continue
                    message = f"Step {upstream} gave no {output}, which step {node.id} needs."
                    raise DataError(message)
                kind = next(o.type for o in self.registry.get(results[upstream].tool).outputs if o.name == output)
                path = _input_path(artifact.name, port.name, found)
                step = StepInput(path=path, type=kind, read=STORED_READ.get(kind, {}))
                found.append(_Input(port.name, artifact.sha256, self.artifacts.path(artifact.sha256), step))
        return found

    def _cached(self, run_id: str, node: TaskNode, key: str, spent: list[Repair]) -> NodeResult | None:
        if not self.reuse:
            return None
        hit = self.store.cached_result(key)
        if hit is None or not all(self.artifacts.verify(item.sha256) == item.sha256 for item in hit[1].artifacts):
            return None  # what was stored is gone or was changed: the step runs again
        origin, old = hit
        if alterations(self.store.stored(origin)):
            return None  # a new seal must not be put on a record whose own is broken
        artifacts = [a.model_copy(update={"name": _artifact_name(node.id, a), "node": node.id}) for a in old.artifacts]
        names = {a.name: b.name for a, b in zip(old.artifacts, artifacts, strict=True)}
        findings = [
            f.model_copy(
                update={
                    "id": f"{node.id}_f{number}",
                    "node": node.id,
                    "artifact": names.get(f.artifact, f.artifact),
                }
            )
            for number, f in enumerate(old.findings, start=1)
        ]
        stated = [warning for warning in old.warnings if not warning.startswith(_repaired(old.node, ""))]
        result = old.model_copy(
            update={
                "node": node.id,
                "status": "cached",
                "warnings": [*(_repaired(node.id, f"{fix.why}.") for fix in spent), *stated],
                "from_run": old.from_run or origin,
                "artifacts": artifacts,
                "findings": findings,
                "attempts": 1 + len(spent),
            }
        )
        saved = [ArtifactSaved(run_id=run_id, node=node.id, artifact=artifact) for artifact in artifacts]
        judged = [NodeVerdict(run_id=run_id, node=node.id, verdict=result.verdict)] if result.verdict else []
        finished = NodeFinished(run_id=run_id, node=node.id, status="cached", seconds=0.0)
        self.log.with_result(run_id, result, *saved, *judged, finished)
        return result

    def _attempt(
        self,
        run_id: str,
        plan: TaskDag,
        node: TaskNode,
        spec: ToolSpec,
        inputs: list[_Input],
        base: NodeResult,
        cancel: CancelToken,
    ) -> NodeResult:
        code = step_script(spec, {item.name: item.step for item in inputs}, base.params)
        workdir = self.scratch / run_id / f"{node.id}_{base.attempts}"
        remove_tree(workdir, self.scratch / LEFTOVER)
        try:
            try:
                (workdir / "inputs").mkdir(parents=True)
                for item in inputs:
                    # A copy, not a link: code in the sandbox must not be able to change what is stored.
                    shutil.copyfile(item.source, workdir / item.step.path)
                    self._require_unchanged(node, item, workdir / item.step.path)
            except OSError as err:
                message = f"Inputs of step {node.id} could not be copied: {err.strerror or err}."
                raise StorageError(message, advice="Free some disk space, then resume the run.") from err
            outcome = self._sandboxed(run_id, node, code, workdir, cancel)
            self._say_left(run_id, node, outcome.left)
            base = base.model_copy(
                update={
                    "seconds": outcome.seconds,
                    "overhead_seconds": outcome.overhead_seconds,
                    "peak_memory_mb": outcome.peak_memory_mb,
                    "code_sha256": self.artifacts.put_bytes(code.encode()),
                    "stdout_sha256": self.artifacts.put_bytes(outcome.stdout.encode()) if outcome.stdout else "",
                    "stderr_sha256": self.artifacts.put_bytes(outcome.stderr.encode()) if outcome.stderr else "",
                }
            )
            if not outcome.ok:
                status = "cancelled" if outcome.status == "cancelled" else "failed"
                return base.model_copy(update={"status": status, "error": explain_failure(outcome, self.limits)})
            given = sum(item.source.stat().st_size for item in inputs)
            return self._collect(run_id, node, spec, base, workdir, given)
        finally:
            self._say_left(run_id, node, remove_tree(workdir, self.scratch / LEFTOVER))
            with contextlib.suppress(OSError):
                workdir.parent.rmdir()

    def _say_left(self, run_id: str, node: TaskNode, left: str) -> None:
        if left:
            self.log.emit(WarningRaised(run_id=run_id, node=node.id, message=left))

    @staticmethod
    def _require_unchanged(node: TaskNode, item: _Input, copy: Path) -> None:
        # The record will say that the step read exactly these bytes, so that is made sure of.
        with copy.open("rb") as handle:
            found = hashlib.file_digest(handle, "sha256").hexdigest()
        if found != item.sha256:
            message = (
                f"Input {item.name!r} of step {node.id} is not what was stored: its SHA-256 is {found[:12]}..., "
                f"{item.sha256[:12]}... was recorded."
            )
            advice = f"Remove {item.source} and run the analysis again from the original data."
            raise IntegrityError(message, advice=advice)

    def _sandboxed(self, run_id: str, node: TaskNode, code: str, workdir: Path, cancel: CancelToken) -> ExecResult:
        def show(stream: Literal["stdout", "stderr"], text: str) -> None:
            for start in range(0, len(text), OUTPUT_CHUNK):
                chunk = text[start : start + OUTPUT_CHUNK]
                self.log.emit(NodeOutput(run_id=run_id, node=node.id, stream=stream, text=chunk))

        job = Job(id=f"{run_id}-{node.id}", code=code, workdir=workdir, limits=self.limits, threads=self.threads)
        try:
            with self._slot(cancel):
                return self.sandbox.run(job, on_output=show, cancel=cancel)
        except SandboxUnavailable as err:
            if cancel.cancelled:
                return ExecResult(status="cancelled", error="Stopped.")
            message = f"The sandbox failed ({err.message}); trying once more."
            self.log.emit(NodeProgress(run_id=run_id, node=node.id, message=message))
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

    def _collect(
        self, run_id: str, node: TaskNode, spec: ToolSpec, base: NodeResult, workdir: Path, given: int
    ) -> NodeResult:
        def failed(error: str) -> NodeResult:
            return base.model_copy(update={"status": "failed", "error": error})

        most = (self.limits.disk_mb << 20) + given
        over = excess([workdir], most_bytes=most, most_files=self.limits.files)
        if over:
            return failed(f"The step's files are not kept: {over}.")
        folder = workdir / "outputs"
        stated = read_result(folder)
        if isinstance(stated, str):
            return failed(f"The step's result cannot be used: {stated}")
        artifacts: list[Artifact] = []
        left_out: dict[str, str] = {}
        for output, facts in stated.outputs.items():
            port, path = spec.output(output), folder / facts.file
            if port is None or _safe_name(facts.file) != facts.file or not is_plain_file(path):
                return failed(f"The step's output {output!r} is not the file it says ({facts.file[:200]!r}).")
            if len(facts.file) > MOST_NAME:
                return failed(f"The name of the step's output {output!r} has more than {MOST_NAME} characters.")
            if any(artifact.name == f"{node.id}_{facts.file}" for artifact in artifacts):
                return failed(f"The step gave the same file ({facts.file!r}) as two of its outputs.")
            if port.type is DataType.FIGURE:
                problem = _figure_problem(path)
                if problem:
                    left_out[output] = f"The figure {facts.file} was left out: {problem}."
                    continue
            elif path.suffix == ".csv" and path.stat().st_size > ROW_BYTES and not longest_row_is_short(path):
                return failed(f"The step's output {output!r} has a row of more than {ROW_BYTES >> 20} MB.")
            artifact = Artifact(
                name=f"{node.id}_{facts.file}",
                output=output,
                type=port.type.value,
                sha256=self.artifacts.put_file(path),
                bytes=path.stat().st_size,
                node=node.id,
                rows=facts.rows,
                columns=facts.columns,
            )
            artifacts.append(artifact)
            self.log.emit(ArtifactSaved(run_id=run_id, node=node.id, artifact=artifact))
            if facts.drawing and port.type is DataType.FIGURE:
                named = facts.drawing == f"{output}.svg" and f"{node.id}_{output}.svg" not in {
                    a.name for a in artifacts
                }
                problem = _figure_problem(folder / facts.drawing) if named else "it is not the file it says"
                if problem:
                    left_out[f"{output}.svg"] = f"The drawing of figure {facts.file} was left out: {problem}."
                    continue
                drawing = self._drawing(folder / facts.drawing, artifact)
                artifacts.append(drawing)
                self.log.emit(ArtifactSaved(run_id=run_id, node=node.id, artifact=drawing))
        warnings = [*left_out.values(), *stated.warnings]
        names = {artifact.output: artifact.name for artifact in artifacts}
        findings = [
            Finding(
                id=f"{node.id}_f{number}",
                node=node.id,
                text=found.text,
                values=found.values,
                artifact=names.get(found.output, ""),
                row=found.row,
                evidence=[names[found.output]] if found.output in names else [],
            )
            for number, found in enumerate(stated.findings, start=1)
        ]
        verdict = judge(
            spec,
            params=base.params,
            files={a.output: self._named_copy(folder, a) for a in artifacts if spec.output(a.output)},
            findings=[found.model_dump() for found in stated.findings],
            warnings=warnings,
            left_out=left_out,
        )
        self.log.emit(NodeVerdict(run_id=run_id, node=node.id, verdict=verdict))
        return base.model_copy(
            update={
                "status": "succeeded" if verdict.passed else "failed",
                "error": "" if verdict.passed else f"The result did not pass its checks: {verdict.retry_guidance}",
                "computed_on": stated.computed_on,
                "artifacts": artifacts,
                "findings": findings if verdict.passed else [],
                "warnings": warnings,
                "verdict": verdict,
            }
        )

    def _drawing(self, path: Path, figure: Artifact) -> Artifact:
        """Store the SVG of a figure beside it."""
        sha256, size = self.artifacts.put_file(path), path.stat().st_size
        facts = {"name": f"{figure.node}_{path.name}", "output": path.name, "type": "svg", "sha256": sha256}
        return figure.model_copy(update={**facts, "bytes": size, "rows": None, "columns": []})

    @staticmethod
    def _named_copy(folder: Path, artifact: Artifact) -> Path:
        # Checks read the scratch file: it has the suffix that says how, and the store has the same bytes.
        return folder / artifact.name.removeprefix(f"{artifact.node}_")

    def _finish(self, run_id: str, result: NodeResult, spent: list[Repair]) -> NodeResult:
        repaired = [_repaired(result.node, f"{fix.why}.") for fix in spent]
        result = result.model_copy(update={"finished_at": self.clock.now(), "warnings": [*repaired, *result.warnings]})
        told = [WarningRaised(run_id=run_id, node=result.node, message=message) for message in result.warnings]
        if result.status == "succeeded":
            end = NodeFinished(run_id=run_id, node=result.node, status="succeeded", seconds=result.seconds)
        else:
            end = NodeFailed(run_id=run_id, node=result.node, error=result.error, seconds=result.seconds)
        self.log.with_result(run_id, result, *told, end)
        return result


def _repaired(node: str, why: str) -> str:
    return f"Step {node} was repaired: {why}"


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
    message = re.sub(r"^(ValueError|KeyError|TypeError|RuntimeError): ", "", outcome.error.strip())
    return message or "It failed without saying why."


def package_versions(packages: list[str]) -> dict[str, str]:
    """Return distribution -> installed version; a package that is not installed is left out."""
    versions: dict[str, str] = {}
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions


def _figure_problem(path: Path) -> str:
    if path.suffix not in (".png", ".svg") or not is_plain_file(path):
        return "it is neither a PNG nor an SVG"
    return read_figure(path)[1]


def _artifact_name(node_id: str, artifact: Artifact) -> str:
    return f"{node_id}_{artifact.name.removeprefix(artifact.node + '_')}"


def _input_path(name: str, port: str, others: list[_Input]) -> str:
    """Return where an input is put; files of the same name from different folders must not replace each other."""
    path, number = f"inputs/{name}", 1
    while any(path.lower() == other.step.path.lower() for other in others):
        path, number = f"inputs/{port}_{'' if number == 1 else number}{name}", number + 1
    return path


def _safe_name(path: str) -> str:
    """Return a file name that stays in its folder and suits every platform, keeping the suffix."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", Path(path).name).lstrip(".") or "file"
