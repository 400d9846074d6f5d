"""Plans a tool no field knows, from its description alone: inputs by type, parameters by kind, role and words.

This is what makes a newly added tool plannable without touching the planner.
"""

from __future__ import annotations

from typing import Any

from engine.agents.planning import words
from engine.agents.planning.columns import find_columns, find_levels, is_categorical, is_numeric, with_role
from engine.agents.planning.context import Context
from engine.domain.plan import OpenQuestion
from engine.domain.profile import ColumnProfile
from engine.domain.toolspec import ParamSpec, ToolSpec


def plan_generic(ctx: Context, tool: str) -> None:
    """Add a tool with every parameter that words or data settle; the rest become open questions.

    Raises:
        PlanError: when an input cannot be made from the files.
    """
    spec = ctx.builder.registry.get(tool)
    columns = _columns(ctx, spec)
    taken: set[str] = set()
    params: dict[str, Any] = {}
    for param in spec.params:
        value = _bind(ctx, param, columns, taken, params)
        if value not in (None, "", []):
            params[param.name] = value
            taken |= {value} if isinstance(value, str) else set(value) if isinstance(value, list) else set()
    node = ctx.builder.add(tool, params, reasons=["The tool's own description fits the question best."])
    for param in spec.params:
        if param.required and param.name not in params:
            choices = [c.name for c in columns] if param.kind in ("column", "columns") else param.choices
            question = OpenQuestion(
                id=param.name,
                text=f"{param.name}: {param.description}",
                why="Neither the question nor the data settles it.",
                param=param.name,
                choices=choices,
                blocking=True,
            )
            ctx.ask(node, [question])


def _columns(ctx: Context, spec: ToolSpec) -> list[ColumnProfile]:
    wanted = {port.type for port in spec.inputs}
    for profile in ctx.profiles:
        if any(guess.type in wanted for guess in profile.types):
            return profile.column_profiles
    return ctx.profiles[0].column_profiles if ctx.profiles else []


def _bind(ctx: Context, param: ParamSpec, columns: list[ColumnProfile], taken: set[str], params: dict[str, Any]) -> Any:
    named = [m.name for m in find_columns(ctx.question, columns) if m.strength >= 0.55 and m.name not in taken]
    by_name = {column.name: column for column in columns}
    if param.kind == "column":
        fitting = [n for n in named if _fits(by_name[n], param.role)]
        if fitting:
            return fitting[0]
        able = [c.name for c in with_role(columns, param.role) if c.name not in taken] if param.role else []
        return able[0] if param.required and len(able) == 1 else None
    if param.kind == "columns":
        return named
    if param.kind == "level":
        column = by_name.get(str(params.get(param.of, "")))
        levels = [level for level, _ in find_levels(ctx.question, column)] if column else []
        return next((level for level in levels if level not in taken), None)
    if param.kind == "choice":
        return next((c for c in param.choices if c.replace("_", " ").lower() in ctx.question.lower()), None)
    if param.kind in ("integer", "number"):
        number = words.named_number(ctx.question, param.name.replace("_", r"[\s_]"))
        if number is None and param.name == "alpha":
            number = ctx.alpha
        return int(number) if number is not None and param.kind == "integer" else number
    if param.kind == "texts" and param.name == "genes":
        return ctx.genes(columns)
    return None


def _fits(column: ColumnProfile, role: str) -> bool:
    if role in ("group", "pair", "batch"):
        return is_categorical(column)
    if role in ("measure", "time", "covariate"):
        return is_numeric(column)
    return True
