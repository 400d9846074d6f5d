"""Writes down what ran on what, and what came out, so that others can check it without asking us.

One JSON document, sealed with the SHA-256 of its own canonical text: a change made by hand is found. The
seal shows alteration, not authorship; whoever wants the latter signs the file.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from engine.domain.encoding.hashing import sha256_value
from engine.domain.plan import DATA_PREFIX, TaskNode
from engine.domain.report import RunView
from engine.domain.results import NodeResult
from engine.domain.toolspec import ToolSpec
from engine.provenance.files import FORMAT, code_file, data_files, for_others
from engine.settings import local_account
from engine.toolbox.registry import ToolRegistry

VERSION = 1


def provenance(
    view: RunView, registry: ToolRegistry, *, files: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Return the provenance record of a run.

    Args:
        files: for an exported folder: path in it -> {"sha256", "bytes"} of every file beside the record.
    """
    record, plan = view.record, view.plan
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "made_by": {"name": "Biodesk", "version": biodesk_version()},
        "run": {
            "id": record.run_id,
            "name": record.name,
            # A name that somebody gave; the account that runs this machine is nobody's business.
            "user": "" if record.user == local_account() else record.user,
            "status": record.status,
            "created_at": record.created_at,
            "finished_at": record.finished_at,
            "parent": record.parent,
            "error": record.error,
            "usage": plain(record.usage),
            "report_sha256": record.report_sha256,
            "profiles_sha256": record.profiles_sha256,
        },
        "seal": plain(view.seal) if view.seal else None,
        "question": record.question,
        "route": plain(view.route) if view.route else None,
        "plan": _plan(view),
        "datasets": _datasets(view),
        "steps": [_step(view, node, view.results.get(node.id), registry) for node in (plan.nodes if plan else [])],
        # A step taken out of the plan after it ran keeps its result in the store, but is no part of this analysis.
        "findings": [
            plain(finding)
            for node in (plan.nodes if plan else [])
            if node.id in view.results
            for finding in view.results[node.id].findings
        ],
        "environment": {**record.environment, "sandbox": dict(view.sandbox)},
    }
    if files is not None:
        document["files"] = {path: dict(facts) for path, facts in sorted(files.items())}
    return seal(document)


def written(document: Mapping[str, Any]) -> str:
    """Return a record as the text of its file: the same content always has the same text."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def seal(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with the digest of its canonical content."""
    content = _finite({key: value for key, value in document.items() if key != "digest"})
    return {**content, "digest": f"sha256:{sha256_value(content)}"}


def _finite(value: Any) -> Any:
    """Return the value as JSON can hold it: an infinity or NaN among parameters becomes its name."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)


def plain(value: BaseModel) -> Any:
    """Return a value as plain JSON data, infinities and NaN as null."""
    return json.loads(value.model_dump_json())


def biodesk_version() -> str:
    """Return the installed version, or `source` when run from a checkout that was not installed."""
    try:
        return importlib.metadata.version("biodesk")
    except importlib.metadata.PackageNotFoundError:
        return "source"


def maker() -> str:
    """Return who made a document, for a person."""
    version = biodesk_version()
    return "Biodesk (source checkout)" if version == "source" else f"Biodesk {version}"


def _plan(view: RunView) -> dict[str, Any] | None:
    if view.plan is None:
        return None
    plan = for_others(view.plan)
    return {"version": view.plan.version, "versions": view.plan_versions, "sha256": sha256_value(plan), "content": plan}


def _datasets(view: RunView) -> list[dict[str, Any]]:
    names = data_files(view.plan)
    return [
        {
            "name": dataset.name,
            "path": f"data/{names[dataset.name]}",
            "sha256": dataset.sha256,
            "bytes": dataset.bytes,
            "type": dataset.type.value,
            "read": dataset.read,
        }
        for dataset in (view.plan.datasets if view.plan else [])
    ]


def _step(view: RunView, node: TaskNode, result: NodeResult | None, registry: ToolRegistry) -> dict[str, Any]:
    spec = registry.get(node.tool) if node.tool in registry else None
    step: dict[str, Any] = {
        "id": node.id,
        "name": node.name,
        "tool": node.tool,
        "status": result.status if result else "pending",
        "planned_params": node.params,
    }
    if result is None:
        return step
    data = plain(result)
    step |= {
        "error": result.error,
        "attempts": result.attempts,
        "params": data["params"],
        "defaults": _defaults(spec, result),
        "inputs": _inputs(view, node, result),
        "outputs": data["artifacts"],
        "code": {"sha256": result.code_sha256, "file": code_file(node.id) if result.code_sha256 else ""},
        "stdout_sha256": result.stdout_sha256,
        "stderr_sha256": result.stderr_sha256,
        "versions": result.versions,
        "computed_on": result.computed_on,
        "started_at": result.started_at,
        "finished_at": result.finished_at,
        "seconds": result.seconds,
        "overhead_seconds": result.overhead_seconds,
        "peak_memory_mb": result.peak_memory_mb,
        "cache": {"key": result.cache_key, "from_run": result.from_run},
        "verdict": data["verdict"],
        "warnings": result.warnings,
        "citations": [plain(citation) for citation in (spec.citations if spec else [])],
    }
    return step


def _defaults(spec: ToolSpec | None, result: NodeResult) -> dict[str, Any]:
    """Return the values of parameters nobody set, as today's catalogue has them."""
    if spec is None:
        return {}
    return {p.name: p.default for p in spec.params if p.name not in result.params and not p.required}


def _inputs(view: RunView, node: TaskNode, result: NodeResult) -> dict[str, dict[str, Any]]:
    inputs: dict[str, dict[str, Any]] = {}
    for name, ref in node.inputs.items():
        if name not in result.inputs:
            continue
        inputs[name] = {"from": ref, "sha256": result.inputs[name], "bytes": _input_bytes(view, ref)}
    for name in result.inputs.keys() - inputs.keys():
        inputs[name] = {"from": "", "sha256": result.inputs[name], "bytes": None}
    return inputs


def _input_bytes(view: RunView, ref: str) -> int | None:
    if ref.startswith(DATA_PREFIX):
        dataset = view.plan.dataset(ref.removeprefix(DATA_PREFIX)) if view.plan else None
        return dataset.bytes if dataset else None
    upstream, _, output = ref.partition(".")
    result = view.results.get(upstream)
    return next((a.bytes for a in result.artifacts if a.output == output), None) if result else None
