"""Runs an approved plan: each step when what it waits for has succeeded, a failed one stopping only its descendants."""

from __future__ import annotations

import threading

from engine.domain.events import NodeFailed, NodeSkipped
from engine.domain.plan import TaskDag
from engine.domain.results import NodeResult
from engine.errors import DataError
from engine.ports.cancel import CancelToken
from engine.runs.scheduler import run_graph
from engine.steps.executor import Executor

DONE = frozenset({"succeeded", "cached"})


def run_dag(
    run_id: str,
    plan: TaskDag,
    executor: Executor,
    *,
    earlier: dict[str, NodeResult],
    workers: int,
    cancel: CancelToken,
    fresh: frozenset[str] = frozenset(),
) -> dict[str, NodeResult]:
    """Run what is left of a plan and return every node's result.

    Args:
        run_id: the run, whose events and results are written as they come.
        plan: an approved plan without errors.
        executor: runs one step.
        earlier: results from before an interruption; succeeded ones are kept, others run again.
        workers: steps that may run side by side.
        cancel: stops the running steps and starts no more.
        fresh: steps that run even when an earlier result could be reused.
    """
    results = {node: result for node, result in earlier.items() if result.status in DONE}
    lock = threading.Lock()

    def work(node_id: str) -> bool:
        node = plan.node(node_id)
        assert node is not None
        with lock:
            known = dict(results)
        try:
            result = executor.run(run_id, plan, node, known, cancel, fresh=node_id in fresh)
        except DataError as err:
            result = NodeResult(node=node_id, tool=node.tool, status="failed", error=err.message)
            executor.log.with_result(run_id, result, NodeFailed(run_id=run_id, node=node_id, error=err.message))
        with lock:
            results[node_id] = result
        return result.status in DONE

    def skip(node_id: str, because: str) -> None:
        node = plan.node(node_id)
        assert node is not None
        error = f"Not run: it needs step {because}, which did not succeed."
        result = NodeResult(node=node_id, tool=node.tool, status="skipped", error=error)
        executor.log.with_result(run_id, result, NodeSkipped(run_id=run_id, node=node_id, because=because))
        with lock:
            results[node_id] = result

    ordered = sorted(plan.order(), key=lambda node: -node.priority)
    run_graph(
        [node.id for node in ordered],
        {node.id: node.upstream() for node in plan.nodes},
        work,
        workers=workers,
        cancel=cancel,
        finished=frozenset(results),
        on_skip=skip,
    )
    return results
