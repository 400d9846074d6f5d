"""Other analyses that the columns of a goal could be given to: as another test, or to adjust for more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.domain.brief import Other
from engine.domain.plan import TaskNode, texts_of
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.binding.bound import Bound
from engine.planning.binding.conditions import holds
from engine.planning.binding.slots import slot_of
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Sheet
from engine.toolbox.analyses import Analysis
from engine.toolbox.registry import ToolRegistry

MOST = 4
ABLE = 0.6
"""How well a column must fit its part in another analysis."""
_PARTS = (
    frozenset({"measure", "outcome", "response", "count", "y"}),
    frozenset({"group", "group_optional", "condition", "predictors", "covariates", "factors"}),
)
"""Roles that one column may play by turns, whichever tool it is given to; every other role stands for itself."""
_HOLDS = ("predictors", "covariates", "held")


def others_of(
    analysis: Analysis, node: TaskNode, spec: ToolSpec, sheet: Sheet | None, registry: ToolRegistry,
    analyses: Mapping[str, Analysis],
) -> list[Other]:  # fmt: skip
    """Return analyses of the same family, or meant in its place, whose tool can take the columns of a step, the nearest first.

    Args:
        analysis: what the step answers.
        node: the step.
        spec: its tool.
        sheet: the table its columns are of; None where that is not known.
        registry: the tools.
        analyses: every analysis.
    """
    if sheet is None:
        return []
    family = [other.id for other in analyses.values() if other.family == analysis.family]
    found: list[Other] = []
    for key in dict.fromkeys([*analysis.instead, *family]):
        tool = next((t for t in registry if key in t.answers and t.runnable), None)
        if key == analysis.id or tool is None or tool.name == spec.name or key not in analyses:
            continue
        params = _taken(node, spec, tool, sheet)
        if params is not None and _fit_for(analyses[key], tool, params, sheet):
            holding = [p for p in tool.params if p.role in _HOLDS and p.kind == "columns"]
            adjusting = next((p.name for p in holding), "")
            found.append(
                Other(analysis=key, title=analyses[key].name, tool=tool.name, params=params, adjusting=adjusting)
            )
    return found[:MOST]


def _fit_for(analysis: Analysis, tool: ToolSpec, params: Mapping[str, Any], sheet: Sheet) -> bool:
    """Say whether an analysis and its tool are meant for such data, whatever the question says."""
    port = next(p.of for p in tool.params if p.kind in ("column", "columns"))
    bound = Bound(tool, sheets={port: sheet}, params=dict(params))
    unsaid = [name for name in (*analysis.when, *tool.when) if "said:" not in name]
    nothing_said = Reading(question="", words=[], mentions=[])
    return all(map(bound.of_role, analysis.needs)) and all(holds(name, bound, nothing_said) for name in unsaid)


def _taken(node: TaskNode, spec: ToolSpec, tool: ToolSpec, sheet: Sheet) -> dict[str, Any] | None:
    """Return the parameters of another tool that take every column of a step; None where one finds no place there.

    A column that would not fit its part there has none, and neither has a tool that needs a column more.
    """
    params: dict[str, Any] = {}
    for own in spec.params:
        value = node.params.get(own.name)
        if own.kind not in ("column", "columns") or not value:
            continue
        for name in texts_of(value):
            place = next((p for p in tool.params if _same_part(own, p) and _fits(p, name, params, sheet)), None)
            if place is None:
                return None
            params[place.name] = [*params.get(place.name, []), name] if place.kind == "columns" else name
    asked = [p for p in tool.params if p.kind in ("column", "columns") and (p.required or p.needed)]
    lacking = [p for p in asked if not params.get(p.name)]
    return params if params and not lacking else None


def _same_part(one: ParamSpec, other: ParamSpec) -> bool:
    return other.kind in ("column", "columns") and (
        one.role == other.role or any(one.role in part and other.role in part for part in _PARTS)
    )


def _fits(param: ParamSpec, name: str, params: Mapping[str, Any], sheet: Sheet) -> bool:
    column = sheet.column(name)
    free = param.kind == "columns" or not params.get(param.name)
    return free and column is not None and slot_of(param.role).fits(column, sheet) >= ABLE
