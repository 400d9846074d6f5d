"""Runs an approved plan: each step when what it waits for has succeeded, a failed one stopping only its descendants."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from engine.domain.events import NodeFailed, NodeSkipped, PlanEdited, RunStarted
from engine.domain.plan import TaskDag, TaskNode
from engine.domain.results import DONE, NodeResult, RunRecord, RunStatus
from engine.errors import DataError
from engine.ports.cancel import CancelToken
from engine.runs.inputs import keep_inputs
from engine.runs.records import RunRecords
from engine.runs.scheduler import run_graph
from engine.steps.executor import Executor
from engine.toolbox.shelf import Shelf


@dataclass(slots=True)
class DagStrategy:
    """The plan of steps, carried out as their inputs become ready."""

    records: RunRecords
    executor: Executor
    workers: int
    """Steps that may run side by side."""
    shelf: Shelf | None = None
    """Learns which written tools worked."""

    def run(self, record: RunRecord, cancel: CancelToken) -> tuple[RunRecord, RunStatus]:
        """Run what is left of a run's approved plan; return its record as it is now and how it came out.

        Raises:
            DataError: when a file of the plan is gone.
            SandboxUnavailable: when this machine cannot run code.
            StorageError: when results cannot be written.
        """
        run_id = record.run_id
        plan = self.records.store.plan(run_id, record.approved_version)
        assert plan is not None
        keep_inputs(plan, self.records.artifacts)
        isolation = self.executor.sandbox.report()
        missing = {f"missing_{number}": text for number, text in enumerate(isolation.missing, start=1)}
        started = RunStarted(run_id=run_id, nodes=len(plan.nodes))
        sandbox = {"kind": isolation.kind, **missing}
        record = self.records.update(self.records.stored(run_id), started, status="running", sandbox=sandbox)
        results = self._run_steps(record, plan, cancel)
        if self.shelf is not None:
            record = self._with_code_as_it_ran(record, plan, results, self.shelf)
        return record, "cancelled" if cancel.cancelled else overall_status(plan, results)

    def _with_code_as_it_ran(
        self, record: RunRecord, plan: TaskDag, results: Mapping[str, NodeResult], shelf: Shelf
    ) -> RunRecord:
        """Note which written tools worked; where code was written anew, store the plan as it ran as a new version."""
        changes, nodes = list[str](), list[TaskNode]()
        for node in plan.nodes:
            result = results.get(node.id)
            if result is not None and result.status == "succeeded" and result.verdict is not None:
                shelf.worked(result.tool, record.run_id, result.verdict.quality)
            if result is not None and result.tool != node.tool and shelf.has(result.tool):
                changes.append(f"{node.id} ran as {result.tool}: the code of {node.tool} failed and was written anew")
                node = node.model_copy(update={"tool": result.tool, "tools_needed": [result.tool]})
            nodes.append(node)
        if not changes:
            return record
        version = max(self.records.store.plan_versions(record.run_id)) + 1
        ran = plan.model_copy(update={"nodes": nodes, "version": version, "base": 0})
        told = PlanEdited(run_id=record.run_id, plan=ran, changes=changes, by="model")
        self.records.log.with_plan(record.run_id, ran, told)
        return self.records.update(self.records.stored(record.run_id), approved_version=version)

    def _run_steps(self, record: RunRecord, plan: TaskDag, cancel: CancelToken) -> dict[str, NodeResult]:
        """Return every step's result: those that succeeded before an interruption are kept, the others run."""
        run_id, log = record.run_id, self.records.log
        earlier = self.records.store.results(run_id)
        results = {node: result for node, result in earlier.items() if result.status in DONE}
        lock = threading.Lock()

        def work(node_id: str) -> bool:
            node = plan.node(node_id)
            assert node is not None
            with lock:
                known = dict(results)
            try:
                result = self.executor.run(run_id, plan, node, known, cancel, fresh=node_id in record.fresh_nodes)
            except DataError as err:
                result = NodeResult(node=node_id, tool=node.tool, status="failed", error=err.message)
                log.with_result(run_id, result, NodeFailed(run_id=run_id, node=node_id, error=err.message))
            with lock:
                results[node_id] = result
            return result.status in DONE

        def skip(node_id: str, because: str) -> None:
            node = plan.node(node_id)
            assert node is not None
            error = f"Not run: it needs step {because}, which did not succeed."
            result = NodeResult(node=node_id, tool=node.tool, status="skipped", error=error)
            log.with_result(run_id, result, NodeSkipped(run_id=run_id, node=node_id, because=because))
            with lock:
                results[node_id] = result

        run_graph(
            [node.id for node in sorted(plan.order(), key=lambda node: -node.priority)],
            {node.id: node.upstream() for node in plan.nodes},
            work,
            workers=self.workers,
            cancel=cancel,
            finished=frozenset(results),
            on_skip=skip,
        )
        return results


def overall_status(plan: TaskDag, results: Mapping[str, NodeResult]) -> RunStatus:
    """Return `succeeded` when every step did, `partial` when some did, else `failed`."""
    done = [node.id for node in plan.nodes if node.id in results and results[node.id].status in DONE]
    if len(done) == len(plan.nodes):
        return "succeeded"
    return "partial" if done else "failed"
