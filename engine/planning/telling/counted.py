"""How many rows a step of a plan will use, and in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from engine.domain.plan import TaskDag, TaskNode
from engine.domain.profile import ColumnProfile
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.planning.tables.sheets import Sheet
from engine.planning.telling.groups import COMPARED, compared_levels, factors_of
from engine.planning.telling.rows_used import Change, Used, changes_before, columns_of, rows_used
from engine.text.names import name_parts
from engine.text.times import time_unit
from engine.toolbox.registry import ToolRegistry


class CountAsked(NamedTuple):
    """What a tool declares of the rows it uses (`ToolSpec.complete`): names of its parameters."""

    columns: list[str]
    never: list[str]
    """Where one of these is set the rows cannot be known."""
    times: str
    """Each row stands for as many as this column says."""
    after: str
    """Only rows whose time is later than this."""


def asked_of(spec: ToolSpec) -> CountAsked:
    """Return the declaration, read."""
    split = [(name.rpartition(" ")[0], name.rpartition(" ")[2]) for name in spec.complete]

    def of(sign: str) -> list[str]:
        return [name for before, name in split if before == sign]

    return CountAsked([*of(""), *of("times")], of("not"), *(next(iter(of(sign)), "") for sign in ("times", "after")))


def rows_of(
    plan: TaskDag, node: TaskNode, spec: ToolSpec, registry: ToolRegistry, params: Mapping[str, Any],
    named: Mapping[str, str], sheet_of: Callable[[ParamSpec], Sheet | None],
) -> Used | None:  # fmt: skip
    """Count the rows that a step will use; None where that cannot be known before it runs.

    Args:
        plan: the plan.
        node: the step.
        spec: its tool.
        registry: the tools, which say what the steps before do to rows.
        params: the step's parameters, with the tool's defaults.
        named: parameter -> the one column that it names.
        sheet_of: finds the table whose columns a parameter names.
    """
    asked = asked_of(spec)
    first = next((p for p in spec.params if p.kind in ("column", "columns") and params[p.name]), None)
    sheet = sheet_of(first) if first else None
    if first is None or sheet is None or any(params[name] for name in asked.never):
        return None
    changes = changes_before(plan, node, first.of, registry)
    known = {column.name: column for column in sheet.columns}
    if changes is None or (not asked.columns and any(known[n].missing for n in named.values() if n in known)):
        return None
    if asked.after and params[asked.after] is not None:
        later = _later(asked.after, spec, params, named, known)
        if later is None:
            return None
        changes = [*changes, later]
    groups = {column: compared_levels(spec, params, name) for name, column in named.items()
              if column in known and known[column].levels}  # fmt: skip
    groups |= {name: () for name in factors_of(spec, params, known) if name not in groups}
    matched = named.get(spec.matched, "")
    sides = [named[p.name] for p in spec.params if p.name in named and p.role in COMPARED]
    compared = next((name for name in sides if name in groups), "")
    pairs = (matched, compared) if matched and compared else None
    needed = list(columns_of(node, spec, asked.columns))
    return rows_used(sheet.profile, changes, needed, groups, pairs, named.get(asked.times, ""))


def _later(
    after: str, spec: ToolSpec, params: Mapping[str, Any], named: Mapping[str, str], known: Mapping[str, ColumnProfile]
) -> Change | None:
    """Return that only the rows later than a moment count; None where the moment is told in another unit than the times."""
    time = next((known[named[p.name]] for p in spec.params if p.role == "time" and named.get(p.name) in known), None)
    said = next((str(params[p.name] or "") for p in spec.params if p.role == "unit_of" and p.of == after), "")
    if time is None or (said and time_unit(said) not in map(time_unit, [*name_parts(time.name), time.unit.lower()])):
        return None
    return Change(f"`{time.name}` > {params[after]}")


def number_said(used: Used, subject: str, *, pairs: bool) -> str:
    """Return how many rows there are, and how many more are left out for what they lack.

    Args:
        used: the rows, counted.
        subject: the column that says which rows belong together.
        pairs: True where two rows of each subject are compared.
    """
    number = f"{used.rows:,}" + (f" in {used.lines:,} lines of counts" if used.lines is not None else "")
    if used.matched is not None:
        number = f"{used.matched:,} {'pairs' if pairs else 'complete sets'}, one for each {subject}"
    left = [f"{used.lacking:,} more without a value in {' or '.join(used.lack[:4])}"] if used.lacking else []
    left += [f"{used.alone:,} more without a partner"] if used.alone else []
    return number + (f" ({', '.join(left)})" if left else "")
