"""Changes to a plan: by `NODE.PARAM=VALUE` texts and by hand, each making a new version with a list of what changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.domain.plan import TaskDag, TaskNode
from engine.domain.toolspec import ParamSpec
from engine.errors import PlanError
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.typecheck import param_problem


def set_params(plan: TaskDag, changes: Mapping[str, str], registry: ToolRegistry) -> TaskDag:
    """Return a new version with parameters set from texts.

    Args:
        plan: the plan to change.
        changes: `NODE.PARAM` -> value as text; NODE is a step's id or the name of its tool.
        registry: knows the parameters' kinds.

    Raises:
        PlanError: for a step or parameter that is not there, or a value that does not fit.
    """
    if not changes:
        return plan
    nodes = {node.id: node for node in plan.nodes}
    answered: set[tuple[str, str]] = set()
    for key, text in changes.items():
        target, dot, name = key.rpartition(".")
        shared = {other for q in plan.open_questions if (q.node, q.param) == (target, name) for other in q.also}
        matching = [node for node in nodes.values() if target in (node.id, node.tool) or node.id in shared]
        if not dot or not matching:
            steps = ", ".join(f"{node.id} ({node.tool})" for node in plan.nodes)
            message = f"{key!r} does not name a parameter of a step."
            raise PlanError(message, advice=f"Write NODE.PARAM=VALUE, where NODE is one of: {steps}.")
        for node in matching:
            param = registry.get(node.tool).param(name)
            if param is None:
                known = ", ".join(p.name for p in registry.get(node.tool).params) or "none"
                message = f"Step {node.id} ({node.tool}) has no parameter {name!r}."
                raise PlanError(message, advice=f"Its parameters are: {known}.")
            value = parse_value(param, text)
            problem = param_problem(param, value) if value not in (None, "", []) else ""
            if problem:
                raise PlanError(f"Step {node.id}: {problem}")
            nodes[node.id] = node.model_copy(update={"params": {**node.params, name: value}})
            answered.add((node.id, name))
    left = [q for q in plan.open_questions if (q.node, q.param) not in answered]
    update = {"version": plan.version + 1, "nodes": [nodes[node.id] for node in plan.nodes], "open_questions": left}
    return plan.model_copy(update=update)


def parse_value(param: ParamSpec, text: str) -> Any:
    """Read a parameter's value from text; what cannot be read is returned as text, for the check to refuse."""
    text = text.strip()
    if param.kind in ("columns", "texts"):
        if text.startswith("["):
            try:
                return json.loads(text)
            except ValueError:
                return text
        return [part.strip() for part in text.split(",") if part.strip()]
    if param.kind == "boolean":
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower(), text)
    if param.kind in ("integer", "number"):
        try:
            number = float(text)
        except ValueError:
            return text
        return int(number) if param.kind == "integer" and number.is_integer() else number
    return text


def changes_between(old: TaskDag, new: TaskDag) -> list[str]:
    """Return one sentence for each difference between two versions of a plan."""
    before = {node.id: node for node in old.nodes}
    after = {node.id: node for node in new.nodes}
    sentences = [f"Step {node} ({before[node].tool}) was removed." for node in before if node not in after]
    sentences += [f"Step {node} ({after[node].tool}) was added." for node in after if node not in before]
    for node_id in before:
        if node_id in after:
            sentences += _node_changes(before[node_id], after[node_id])
    return sentences


def _node_changes(old: TaskNode, new: TaskNode) -> list[str]:
    sentences: list[str] = []
    if old.tool != new.tool:
        sentences.append(f"Step {new.id} uses {new.tool} instead of {old.tool}.")
    for name in sorted({*old.params, *new.params}):
        if old.params.get(name) != new.params.get(name):
            sentences.append(f"Step {new.id}: {name} is {new.params.get(name)!r} instead of {old.params.get(name)!r}.")
    for name in sorted({*old.inputs, *new.inputs}):
        if old.inputs.get(name) != new.inputs.get(name):
            was, now = old.inputs.get(name, "nothing"), new.inputs.get(name, "nothing")
            sentences.append(f"Step {new.id}: {name} comes from {now} instead of {was}.")
    return sentences
