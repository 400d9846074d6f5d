"""Does a provenance record agree with itself?

A hash proves a file is unchanged; it does not prove that the step which claims to have read it did. These
rules follow every reference of the plan through the recorded inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.domain.encoding.hashing import sha256_value
from engine.domain.plan import DATA_PREFIX
from engine.domain.results import DONE


def inconsistencies(document: dict[str, Any]) -> list[str]:
    """Return one sentence for each way in which a provenance record contradicts itself."""
    return [*_plan(document), *_steps(document), *_findings(document)]


def _plan(document: dict[str, Any]) -> Iterator[str]:
    plan = document["plan"]
    if plan is None:
        return
    if plan["sha256"] != sha256_value(plan["content"]):
        yield "The recorded plan does not have its recorded SHA-256."
    kept = {dataset["name"]: dataset["sha256"] for dataset in document["datasets"]}
    for dataset in plan["content"]["datasets"]:
        if kept.get(dataset["name"]) != dataset["sha256"]:
            yield f"Data {dataset['name']} has another SHA-256 in the plan than among the datasets."
    nodes = {node["id"]: node for node in plan["content"]["nodes"]}
    for step in document["steps"]:
        node = nodes.pop(step["id"], None)
        if node is None:
            yield f"Step {step['id']} was recorded but is not in the plan."
        elif step["tool"] != node["tool"]:
            yield f"Step {step['id']} used tool {step['tool']}, but the plan says {node['tool']}."
        else:
            yield from _params(step, node)
    for missing in nodes:
        yield f"Step {missing} of the plan is not in the record."


def _params(step: dict[str, Any], node: dict[str, Any]) -> Iterator[str]:
    if step["status"] not in DONE or step.get("attempts", 1) > 1:
        return  # a repair may change a parameter; the change is among the step's warnings
    for name, planned in node["params"].items():
        used = step["params"].get(name)
        if used != planned:
            yield f"Step {step['id']} ran with {name} = {used!r}, but the plan says {planned!r}."


def _steps(document: dict[str, Any]) -> Iterator[str]:
    data = {dataset["name"]: dataset["sha256"] for dataset in document["datasets"]}
    steps = {step["id"]: step for step in document["steps"]}
    planned = {node["id"]: node for node in (document["plan"] or {"content": {"nodes": []}})["content"]["nodes"]}
    for step in document["steps"]:
        if step["status"] not in DONE:
            continue
        if not step["code"]["sha256"]:
            yield f"Step {step['id']} has a result but no recorded code."
        for name, source in step["inputs"].items():
            yield from _input(step["id"], name, source, data, steps)
            ref = planned.get(step["id"], {}).get("inputs", {}).get(name)
            if ref != source["from"]:
                yield f"Step {step['id']} read {name} from {source['from']!r}, but the plan says {ref!r}."


def _input(
    step: str, name: str, source: dict[str, Any], data: dict[str, str], steps: dict[str, dict[str, Any]]
) -> Iterator[str]:
    ref = source["from"]
    if ref.startswith(DATA_PREFIX):
        expected = data.get(ref.removeprefix(DATA_PREFIX))
        if expected is None:
            yield f"Step {step} read {ref}, which is not among the datasets."
    else:
        upstream, _, output = ref.partition(".")
        origin = steps.get(upstream, {})
        expected = next((a["sha256"] for a in origin.get("outputs", []) if a["output"] == output), None)
        if expected is None:
            yield f"Step {step} read {name} from {ref!r}, which no step gave."
        elif origin.get("status") not in DONE:
            yield f"Step {step} read {ref}, but step {upstream} did not succeed."
    if expected is not None and expected != source["sha256"]:
        yield (
            f"Step {step} read {name} with SHA-256 {source['sha256'][:12]}..., but {ref} has {expected[:12]}...: "
            "it ran on other data."
        )


def _findings(document: dict[str, Any]) -> Iterator[str]:
    outputs = {artifact["name"] for step in document["steps"] for artifact in step.get("outputs", [])}
    steps = {step["id"] for step in document["steps"]}
    for finding in document["findings"]:
        if finding["node"] not in steps:
            yield f"Finding {finding['id']} belongs to step {finding['node']}, which is not in the record."
        if finding["artifact"] and finding["artifact"] not in outputs:
            yield f"Finding {finding['id']} points to {finding['artifact']}, which no step made."
