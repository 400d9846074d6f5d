"""A step's result from an earlier run, taken over where code, parameters, data and packages are the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from engine.domain.encoding.sealing import alterations
from engine.domain.events import ArtifactSaved, NodeFinished, NodeVerdict
from engine.domain.plan import TaskNode
from engine.domain.results import Artifact, NodeResult
from engine.domain.toolspec import Repair
from engine.runs.records import RunRecords


def reused(
    run_id: str, node: TaskNode, key: str, spent: Sequence[Repair], records: RunRecords, doubted: Collection[str] = ()
) -> NodeResult | None:
    """Return the stored result of a step with this key as this run's own, said in its events; None when there is none.

    Args:
        run_id: the run that takes it over.
        node: its step.
        key: see `engine.toolbox.script.cache_key`.
        spent: the repairs that led to these parameters.
        records: where it is looked for.
        doubted: runs that are marked as wrong: nothing of them is taken over.
    """
    hit = records.store.archive.cached_result(key, doubted)
    if hit is None or not all(records.artifacts.verify(item.sha256) == item.sha256 for item in hit[1].artifacts):
        return None  # what was stored is gone or was changed: the step runs again
    origin, old = hit
    if alterations(records.store.archive.stored(origin)):
        return None  # a new seal must not be put on a record whose own is broken
    result = _as_own(node, origin, old, spent)
    saved = [ArtifactSaved(run_id=run_id, node=node.id, artifact=artifact) for artifact in result.artifacts]
    judged = [NodeVerdict(run_id=run_id, node=node.id, verdict=result.verdict)] if result.verdict else []
    finished = NodeFinished(run_id=run_id, node=node.id, status="cached", seconds=0.0)
    records.log.with_result(run_id, result, *saved, *judged, finished)
    return result


def _as_own(node: TaskNode, origin: str, old: NodeResult, spent: Sequence[Repair]) -> NodeResult:
    """Return a result under the name of another step."""
    artifacts = [a.model_copy(update={"name": _artifact_name(node.id, a), "node": node.id}) for a in old.artifacts]
    names = {a.name: b.name for a, b in zip(old.artifacts, artifacts, strict=True)}
    findings = [
        f.model_copy(
            update={"id": f"{node.id}_f{number}", "node": node.id, "artifact": names.get(f.artifact, f.artifact)}
        )
        for number, f in enumerate(old.findings, start=1)
    ]
    stated = [warning for warning in old.warnings if not warning.startswith(repaired(old.node, ""))]
    return old.model_copy(
        update={
            "node": node.id,
            "status": "cached",
            "warnings": [*(repaired(node.id, f"{fix.why}.") for fix in spent), *stated],
            "from_run": old.from_run or origin,
            "artifacts": artifacts,
            "findings": findings,
            "attempts": 1 + len(spent),
        }
    )


def repaired(node: str, why: str) -> str:
    """Return the sentence on a repair that a step needed."""
    return f"Step {node} was repaired: {why}"


def _artifact_name(node_id: str, artifact: Artifact) -> str:
    return f"{node_id}_{artifact.name.removeprefix(artifact.node + '_')}"
