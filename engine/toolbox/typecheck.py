"""What makes a plan fit the catalogue: checked before it is shown, after every edit and before it runs."""

from __future__ import annotations

import math
from typing import Any

from engine.data.catalogue import accepts
from engine.domain.datatypes import DataType
from engine.domain.plan import DATA_PREFIX, TaskDag, TaskNode
from engine.domain.results import Issue
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.errors import NotFoundError
from engine.toolbox.registry import ToolRegistry


def check_plan(plan: TaskDag, registry: ToolRegistry) -> list[Issue]:
    """Return every misfit, an `error` for each that would stop the plan from running."""
    issues: list[Issue] = []
    ids = [node.id for node in plan.nodes]
    for node_id in {node_id for node_id in ids if ids.count(node_id) > 1}:
        issues.append(_error("duplicate_id", f"Two steps are called {node_id!r}; give one another id.", node_id))
    names = [dataset.name for dataset in plan.datasets]
    for name in {name for name in names if names.count(name) > 1}:
        issues.append(_error("duplicate_dataset", f"Two datasets are called {name!r}; give one another name.", name))
    try:
        plan.order()
    except ValueError as err:
        issues.append(_error("cycle", str(err), ""))
    # A required value that is asked is one problem, not two.
    waits = plan.unanswered()
    asked = {(node, question.param) for question in waits for node in (question.node, *question.also)}
    for node in plan.nodes:
        issues.extend(_check_node(plan, node, registry, {param for at, param in asked if at == node.id}))
    return [*issues, *(_error("open_question", question.text, question.node) for question in waits)]


def _check_node(plan: TaskDag, node: TaskNode, registry: ToolRegistry, asked: set[str]) -> list[Issue]:
    try:
        spec = registry.get(node.tool)
    except NotFoundError as err:
        return [_error("unknown_tool", f"Step {node.id}: {err.message} {err.advice}", node.id)]
    if not spec.runnable:
        return [_error("not_runnable", f"Step {node.id}: {node.tool!r} is described but cannot be run here.", node.id)]
    issues: list[Issue] = []
    for upstream in node.depends_on:
        if plan.node(upstream) is None:
            issues.append(
                _error("unknown_step", f"Step {node.id} waits for {upstream!r}, which is not there.", node.id)
            )
    for name in node.inputs:
        if spec.input(name) is None:
            known = ", ".join(port.name for port in spec.inputs)
            issues.append(
                _error("unknown_input", f"Step {node.id}: {node.tool} has no input {name!r} ({known}).", node.id)
            )
    for port in spec.inputs:
        ref = node.inputs.get(port.name)
        if ref is None:
            if not port.optional:
                message = f"Step {node.id}: input {port.name!r} ({port.type.value}) is not connected."
                issues.append(_error("missing_input", message, node.id))
            continue
        issues.extend(_check_reference(plan, node, port.name, port.type, ref, registry))
    issues.extend(_check_params(node, spec, asked))
    return issues


def _check_reference(
    plan: TaskDag, node: TaskNode, name: str, wanted: DataType, ref: str, registry: ToolRegistry
) -> list[Issue]:
    offered = offered_type(plan, ref, registry)
    if offered is None:
        message = f"Step {node.id}: input {name!r} refers to {ref!r}, which is neither a dataset nor a step's output."
        return [_error("unknown_reference", message, node.id)]
    if not accepts(wanted, offered):
        message = f"Step {node.id}: input {name!r} takes {wanted.value}, but {ref} is {offered.value}."
        return [_error("type_mismatch", message, node.id)]
    return []


def offered_type(plan: TaskDag, ref: str, registry: ToolRegistry) -> DataType | None:
    """Return the type of `data:NAME` or `NODE.OUTPUT`, or None when it leads nowhere."""
    if ref.startswith(DATA_PREFIX):
        dataset = plan.dataset(ref.removeprefix(DATA_PREFIX))
        return dataset.type if dataset else None
    node_id, _, output = ref.partition(".")
    node = plan.node(node_id)
    if node is None or node.tool not in registry:
        return None
    port = registry.get(node.tool).output(output)
    return port.type if port else None


def _check_params(node: TaskNode, spec: ToolSpec, asked: set[str]) -> list[Issue]:
    issues: list[Issue] = []
    for name in node.params:
        if spec.param(name) is None:
            known = ", ".join(param.name for param in spec.params) or "none"
            message = f"Step {node.id}: {node.tool} has no parameter {name!r} (it has {known})."
            issues.append(_error("unknown_param", message, node.id))
    for param in spec.params:
        value = node.params.get(param.name)
        if value in (None, "", []):
            if param.required and param.name not in asked:
                message = f"Step {node.id}: parameter {param.name!r} is needed: {param.description}."
                issues.append(_error("missing_param", message.replace("..", "."), node.id))
            continue
        problem = param_problem(param, value)
        if problem:
            issues.append(_error("bad_param", f"Step {node.id}: {problem}", node.id))
        other = spec.other_side(param.name) if param.role == "interest" else None
        if other is not None and value == node.params.get(other.name):
            message = f"Step {node.id}: {param.name} and {other.name} are both {value!r}, which is nothing to compare."
            issues.append(_error("same_level", message, node.id))
    return issues


def param_problem(param: ParamSpec, value: Any) -> str:
    """Return what is wrong with a value for a parameter, or ""."""
    kind = param.kind
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "boolean":
        return "" if isinstance(value, bool) else f"{param.name} must be true or false, not {value!r}."
    if kind in ("integer", "number"):
        if not number or not math.isfinite(value) or (kind == "integer" and value != int(value)):
            expected = "a whole number" if kind == "integer" else "a number"
            return f"{param.name} must be {expected}, not {value!r}."
        if param.minimum is not None and value < param.minimum:
            return f"{param.name} must be at least {param.minimum:g}, not {value!r}."
        if param.maximum is not None and value > param.maximum:
            return f"{param.name} must be at most {param.maximum:g}, not {value!r}."
        return ""
    if kind in ("columns", "texts"):
        good = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return "" if good else f"{param.name} must be a list of texts, not {value!r}."
    if not isinstance(value, str):
        return f"{param.name} must be a text, not {value!r}."
    if kind == "choice" and value not in param.choices:
        return f"{param.name} must be one of {', '.join(param.choices)}, not {value!r}."
    return ""


def _error(code: str, message: str, where: str) -> Issue:
    return Issue(code=code, severity="error", message=message, where=where)
