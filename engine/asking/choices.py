"""What a person chose for one goal of a plan: planned again with it, and the other goals stay as they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.asking.edits import settled_by_hand, sides_apart
from engine.domain.plan import TaskDag, TaskNode
from engine.planning.telling.goals import goals_of
from engine.toolbox.analyses import load_analyses
from engine.toolbox.registry import ToolRegistry


def goes_alone(plan: TaskDag, goal: str, registry: ToolRegistry, values: Mapping[str, Any] | None = None) -> bool:
    """Say whether a choice for a goal is set in its own steps alone: planned again it would go to all of its tool.

    Of one request that several steps of a tool answer it is so for what sets them apart: each has its own outcome.
    """
    node = plan.node(goal)
    if node is None:
        return False
    twins = [other for _, other in goals_of(plan, registry, load_analyses()) if other.tool == node.tool]
    apart = any(twin.params.get(name) != node.params.get(name) for twin in twins for name in values or {})
    return apart or any(other.tool == node.tool for other in _others(plan, goal, registry))


def others_kept(
    old: TaskDag, new: TaskDag, goal: str, values: Mapping[str, Any], registry: ToolRegistry
) -> TaskDag | None:
    """Return the plan made again with the other goals of the old one; None where it leads to other goals."""
    kept: dict[str, TaskNode] = {}
    if not _others(old, goal, registry):
        return new
    for other in _others(old, goal, registry):
        for node in (other, *_upstream(old, other)):
            made = new.node(node.id)
            if made is None or made.tool != node.tool:
                return None
            kept[node.id] = node
    made = new.node(goal)
    shared = [node for node in _upstream(new, made) if node.id in kept] if made is not None else []
    if (
        made is None
        or any((made.params.get(name) or None) != (value or None) for name, value in values.items())
        or any(node.params != kept[node.id].params for node in shared)
    ):
        return None
    return new.model_copy(update={"nodes": [kept.get(node.id, node) for node in new.nodes]})


def set_for_goal(plan: TaskDag, goal: str, values: Mapping[str, Any], registry: ToolRegistry) -> TaskDag:
    """Return the plan with parameters of one goal's step set, and of the steps beside it on the same columns.

    A step beside it takes another column where it has the same one, and another level or setting where it has the same
    one of that name.
    """
    node = plan.node(goal)
    assert node is not None
    busy = {goal} | {n.id for other in _others(plan, goal, registry) for n in (other, *_upstream(plan, other))}
    renamed = {old: values[name] for name, old in _columns(node, registry).items() if name in values}
    own = {*_columns(node, registry).values()}
    nodes = []
    for step in plan.nodes:
        beside = step.id not in busy and {*_columns(step, registry).values()} <= own
        alike = {k: v for k, v in values.items() if k in step.params and step.params[k] == node.params.get(k)}
        fresh = values if step.id == goal else alike | _renamed(step, renamed, registry) if beside else {}
        nodes.append(_with(step, fresh, registry) if fresh else step)
    left = [q for q in plan.open_questions if q.node != goal or q.param not in values]
    made = plan.model_copy(update={"nodes": nodes, "open_questions": left})
    return settled_by_hand(plan, sides_apart(plan, made, registry))


def _others(plan: TaskDag, goal: str, registry: ToolRegistry) -> list[TaskNode]:
    """Return the steps that answer something else; those of one request, such as one for each sex, change together."""
    goals = goals_of(plan, registry, load_analyses())
    own = {key for key, node in goals if node.id == goal}
    return [node for key, node in goals if key not in own]


def _upstream(plan: TaskDag, node: TaskNode) -> list[TaskNode]:
    return [other for other in plan.nodes if node.id in plan.descendants(other.id)]


def _columns(step: TaskNode, registry: ToolRegistry) -> dict[str, str]:
    names = [p.name for p in registry.get(step.tool).params if p.kind == "column"]
    return {name: str(step.params[name]) for name in names if step.params.get(name)}


def _renamed(step: TaskNode, renamed: Mapping[str, Any], registry: ToolRegistry) -> dict[str, Any]:
    return {name: renamed[old] for name, old in _columns(step, registry).items() if old in renamed}


def _with(step: TaskNode, values: Mapping[str, Any], registry: ToolRegistry) -> TaskNode:
    """Return a step with parameters set; levels of a column that is another now go."""
    params = {**step.params, **values}
    for param in registry.get(step.tool).params:
        if (
            param.kind in ("level", "texts")
            and param.of in values
            and param.name not in values
            and param.name in params
        ):
            params[param.name] = param.default
    return step.model_copy(update={"params": params})
