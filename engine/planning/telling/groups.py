"""Which groups a step compares, and which is set against which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from engine.domain.plan import texts_of
from engine.domain.profile import ColumnProfile
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.tables.as_tools import likely_control, order_levels
from engine.text.codes import in_words

SHOWN_LEVELS = 6
GROUPED = frozenset({"group", "group_optional", "condition", "factors", "split", "ordered", "category"})
"""Roles of columns whose levels are told with their rows."""
COMPARED = ("group", "condition")
"""Roles of columns whose levels are set against each other."""
NAMED = ("category", "binary", "ordered", "code")
"""Scales of columns whose values make groups."""
MANY = 40


class Groups(NamedTuple):
    """The groups of one column that a step compares."""

    levels: list[str]
    reference: str
    """The level that the others are set against; empty where none is."""


def compared_levels(spec: ToolSpec, params: Mapping[str, Any], column: str) -> tuple[str, ...]:
    """Return the levels of the column of a parameter that a step keeps to; empty for all."""
    own = {p.role: params.get(p.name) for p in spec.params if p.of == column and p.role in _SIDES}
    if levels := own.get("levels"):
        return tuple(map(str, levels))
    both = (own.get("interest"), own.get("reference"))
    return tuple(map(str, both)) if all(both) and both[0] != both[1] else ()


_SIDES = ("interest", "reference", "levels")


def groups_of(spec: ToolSpec, params: Mapping[str, Any], param: ParamSpec, found: Sequence[str]) -> Groups:
    """Return the groups of a column of groups.

    Args:
        spec: the tool.
        params: the step's parameters with the tool's defaults.
        param: the parameter that names the column.
        found: the levels that the rows have, in their natural order.
    """
    kept = compared_levels(spec, params, param.name)
    levels = [level for level in kept or found if level in found]
    side = reference_param(spec, param)
    interest = next((p for p in spec.params if p.of == param.name and p.role == "interest"), None)
    told = str(params.get(side.name) or "") if side is not None else ""
    against = str(params.get(interest.name) or "") if interest is not None else ""
    otherwise = side.otherwise if side is not None else param.otherwise
    if not told and against in levels and len(levels) == 2:
        told = next(level for level in levels if level != against)
    if not told and len(levels) == 2:
        told = usual_reference(levels, otherwise)
    return Groups(levels, told if told in levels else "")


def reference_param(spec: ToolSpec, param: ParamSpec) -> ParamSpec | None:
    """Return the parameter for the level that the levels of a column are set against."""
    return next((p for p in spec.params if p.kind == "level" and p.of == param.name and p.role == "reference"), None)


def usual_reference(levels: Sequence[str], otherwise: str) -> str:
    """Return the level that a tool takes as the reference where none is named."""
    if not otherwise or not levels:
        return ""
    return likely_control(list(levels)) or (levels[0] if otherwise == "first" else levels[-1])


def sides_in_words(groups: Groups, counts: Mapping[str, int] | None, known: Mapping[str, str] | None = None) -> str:
    """Return groups in words: `drug (60) against placebo (30)`, `male (1; n = 145) against female (2; n = 83)`.

    Args:
        groups: the levels, and which of them the others are set against.
        counts: level -> rows; None where they are not known.
        known: level -> what it stands for.
    """

    def told(level: str) -> str:
        number = "" if counts is None else f"{counts.get(level, 0):,}"
        return in_words(level, known, f"n = {number}" if number and level in (known or {}) else number)

    others = [level for level in groups.levels if level != groups.reference]
    shown = ", ".join(map(told, others[:SHOWN_LEVELS]))
    shown += f" and {len(others) - SHOWN_LEVELS} more" if len(others) > SHOWN_LEVELS else ""
    if not groups.reference:
        return shown
    return f"{shown}{', each' if len(others) > 1 else ''} against {told(groups.reference)}"


def natural(column: ColumnProfile, counts: Mapping[str, int] | None) -> list[str]:
    """Return the levels of a column as a tool orders them: those of the rows used, else those of the file."""
    found = list(counts) if counts is not None else order_levels(list(column.levels))
    return found if len(found) <= MANY else []


def factors_of(
    spec: ToolSpec, params: Mapping[str, Any], columns: Mapping[str, ColumnProfile]
) -> dict[str, ColumnProfile]:
    """Return the explaining columns that a model takes as groups: names, numbers told to be such, or of two values."""
    names = [name for p in spec.params if p.role in _EXPLAIN for name in texts_of(params.get(p.name))]
    found = {name: columns[name] for name in names if name in columns and columns[name].levels}
    groups = {name for name, column in found.items() if named_groups(spec, params, column)}
    return {name: column for name, column in found.items() if name in groups or len(column.levels) == 2}


def named_groups(spec: ToolSpec, params: Mapping[str, Any], column: ColumnProfile) -> bool:
    """Say whether a model takes a column as names; what else has two values is a number, and the lower its reference."""
    as_groups = [name for p in spec.params if p.role == "as_groups" for name in texts_of(params.get(p.name))]
    return column.name in as_groups or column.kind in ("category", "boolean", "text")


_EXPLAIN = ("predictors", "covariates", "factors")
