"""A choice of one part of a plan changes no other: the rows stay, and no notice speaks of what was replaced."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine.data.catalogue import accepts
from engine.domain.plan import TaskDag, TaskNode, texts_of
from engine.domain.profile import ColumnProfile, Profile
from engine.planning.telling.goals import goals_of
from engine.planning.telling.groups import COMPARED, compared_levels
from engine.toolbox.analyses import load_analyses
from engine.toolbox.registry import ToolRegistry

Choices = Mapping[str, Mapping[str, Any]]
"""Tool -> parameter -> value."""


def same_rows(
    old: TaskDag, new: TaskDag, chosen: Choices, registry: ToolRegistry, profiles: Sequence[Profile]
) -> TaskDag:
    """Return a plan that was made again with something chosen, on the rows of the plan before.

    The question or a person settled these, and another analysis may have no place for it: a model of several columns
    takes every group. What was chosen of rows now is taken as chosen.

    Args:
        old: the plan before.
        new: the plan made again.
        chosen: what was chosen now.
        registry: the tools of both.
        profiles: of the data: they know which levels are numbers, and whether a column has others.
    """
    asked, now = (goals_of(plan, registry, load_analyses()) for plan in (old, new))
    if len(asked) != 1 or len(now) != 1:  # conditions of one goal are none of another
        return new
    (_, was), (_, goal) = asked[0], now[0]
    anew = {
        text: condition
        for values in chosen.values()
        for told in values.values()
        if isinstance(told, Mapping)
        for text, condition in told.items()
    }
    columns = {column.name: column for profile in profiles for column in profile.column_profiles}
    decided = {name for text in _conditions(new, goal, goal, registry, columns) for name in _columns_in(text)}
    every = {_in_groups(name, [*column.levels], columns) for name, column in columns.items()}
    kept = (anew.get(text, text) for text in _conditions(old, was, goal, registry, columns))
    for text in dict.fromkeys([*kept, *anew.values()]):
        if text and text not in every and not _columns_in(text) & decided:
            new = _with_condition(new, goal.id, text, registry)
    return new


def without_replaced(first: TaskDag, new: TaskDag, chosen: Choices) -> TaskDag:
    """Return a plan without the notices on columns that a person put others in the place of.

    Args:
        first: the plan as it was proposed.
        new: the plan made again.
        chosen: what people chose.
    """
    proposed = {
        text for node in first.nodes for name in chosen.get(node.tool, {}) for text in texts_of(node.params.get(name))
    }
    replaced = proposed - {text for node in new.nodes for text in _texts(node)}
    left = [text for text in new.not_answered if not any(text.startswith(f"{name!r} is named ") for name in replaced)]
    return new.model_copy(update={"not_answered": left})


def _conditions(
    plan: TaskDag, node: TaskNode, still: TaskNode, registry: ToolRegistry, columns: Mapping[str, ColumnProfile]
) -> Iterator[str]:
    """Yield what rows a step takes, as conditions: those of the steps before it, and the groups that it keeps to.

    Groups of a column that the step `still` leaves out go with their column.
    """
    for before in plan.nodes:
        if node.id in plan.descendants(before.id):
            rows = (param.name for param in registry.get(before.tool).params if param.role == "rows")
            yield from (str(before.params[name]) for name in rows if before.params.get(name))
    spec = registry.get(node.tool)
    for param in spec.params:
        column = node.params.get(param.name)
        if param.role in COMPARED and column in _texts(still):
            levels = compared_levels(spec, node.params, param.name)
            yield from [_in_groups(str(column), levels, columns)] if levels else []


def _in_groups(column: str, levels: Iterable[str], columns: Mapping[str, ColumnProfile]) -> str:
    """Return the condition of rows in some groups, always in one order; codes are numbers where their column is."""
    number = column in columns and columns[column].kind in ("integer", "number")
    return f"`{column}` in [{', '.join(level if number else repr(level) for level in sorted(levels))}]"


def _columns_in(condition: str) -> set[str]:
    return {*re.findall(r"`([^`]+)`", condition)}


def _texts(node: TaskNode) -> set[str]:
    return {text for value in node.params.values() for text in texts_of(value)}


def _with_condition(plan: TaskDag, goal: str, condition: str, registry: ToolRegistry) -> TaskDag:
    """Return the plan with a step that keeps the rows of a condition before a goal and all that reads its table."""
    node = plan.node(goal)
    assert node is not None
    spec = registry.get(node.tool)
    port = next((spec.input(p.of) for p in spec.params if p.kind in ("column", "columns") and p.of), None)
    ref = node.inputs.get(port.name, "") if port else ""
    able = (
        (tool, param, tool.inputs[0], tool.outputs[0])
        for tool in registry
        for param in tool.params
        if param.role == "rows" and len(tool.inputs) == 1 and tool.runnable
    )
    found = next((each for each in able if port and accepts(port.type, each[3].type)), None)
    if found is None or not ref:
        return plan
    tool, param, takes, gives = found
    number = next(n for n in range(1, len(plan.nodes) + 2) if plan.node(f"rows{n}") is None)
    keeps = TaskNode(
        id=f"rows{number}", name=tool.title, tool=tool.name, domain=tool.domain, task_type=tool.task_type,
        inputs={takes.name: ref}, params={param.name: condition}, settled={param.name: "plan"},
    )  # fmt: skip
    reads = f"{keeps.id}.{gives.name}"
    nodes = [
        other.model_copy(update={"inputs": {name: reads if at == ref else at for name, at in other.inputs.items()}})
        for other in plan.nodes
    ]
    return plan.model_copy(update={"nodes": [keeps, *nodes]})
