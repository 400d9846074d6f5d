"""What is wrong with goals that were told: every name and value is held against the catalogue and the data."""

# pandas' types are unknown here (docs/adr/0008).
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine.data.columns.asked_sheet import of_sheet, sheets_of
from engine.domain.datatypes import DataType
from engine.domain.profile import ColumnProfile, Profile
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.errors import PlanError
from engine.planning.binding.rows import takes_rows
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.tables.limits import Counted, of_limits, with_limits
from engine.planning.tables.sheets import Data
from engine.planning.told.goals import ToldGoal, ToldPlan, ToldRows
from engine.text.numbers import as_number
from engine.toolbox.typecheck import param_problem
from engine.toolbox.written import WRITTEN

SHOWN = 12
"""So many names are listed where one is wrong."""
_HAS = "; it has "


def of_told_sheets(profiles: Sequence[Profile], sheets: Mapping[str, str]) -> list[Profile]:
    """Return profiles of files, of each workbook as that of the sheet that was told for it.

    Raises:
        PlanError: for a file or a sheet that does not exist; `details["issues"]` says each.
    """
    known = {profile.name: profile for profile in profiles}
    issues = [f"There is no file {name!r}.{_near(name, known)}" for name in sheets if name not in known]
    issues += [
        f"{name!r} has no sheet {sheet!r} with a table.{_near(sheet, sheets_of(known[name]))}"
        for name, sheet in sheets.items()
        if name in known and sheet not in sheets_of(known[name])
    ]
    if issues:
        raise PlanError(f"The goals that were told do not fit: {issues[0]}", details={"issues": issues})
    return [of_sheet(profile, sheets.get(profile.name, "")) for profile in profiles]


def with_limits_told(data: Data, limits: Mapping[str, Counted]) -> Data:
    """Return the data with cells beyond a limit read as it was told.

    Raises:
        PlanError: for a column that has no such cells; `details["issues"]` says each.
    """
    able = of_limits(data)
    issues = [
        f"Column {name!r} has no cells below or above a limit.{_near(name, able)}"
        for name in limits
        if name not in able
    ]
    if issues:
        raise PlanError(f"What was told does not fit: {issues[0]}", details={"issues": issues})
    return with_limits(data, limits) if limits else data


def without_misfits(told: ToldPlan, catalogue: Catalogue) -> tuple[ToldPlan, list[str]]:
    """Return the goals without settings that their tools have not or do not take so, and a sentence for each.

    What names columns, levels, rows or a formula decides what is answered, and is never given up: of a setting that a
    tool has not, only a number or a yes or no is none of these for sure.
    """
    goals, left = list[ToldGoal](), list[str]()
    for goal in told.goals:
        spec = catalogue.registry.get(goal.tool) if goal.tool in catalogue.registry else None
        misfits = {name: value for name, value in goal.params.items() if spec and _misfits(spec.param(name), value)}
        kept = {name: value for name, value in goal.params.items() if name not in misfits}
        goals.append(goal.model_copy(update={"params": kept}))
        left += [f"The reader of the question wanted {name} = {value!r} for {goal.tool}, which it does not take; it is left out."
                 for name, value in misfits.items()]  # fmt: skip
    return told.model_copy(update={"goals": goals}), left


def _misfits(param: ParamSpec | None, value: Any) -> bool:
    if param is None:
        return isinstance(value, int | float)
    setting = param.kind not in ("column", "columns", "level") and not (param.role or param.of or param.required)
    return setting and value not in (None, "", []) and bool(param_problem(param, value))


def with_analyses(told: ToldPlan, catalogue: Catalogue) -> ToldPlan:
    """Return the goals with the first analysis that a tool answers where none is named: what the tool is there for."""
    goals = list[ToldGoal]()
    for goal in told.goals:
        first = next(iter(catalogue.registry.get(goal.tool).answers), "") if goal.tool in catalogue.registry else ""
        named = goal.analysis or (first if first in catalogue.analyses else "")
        goals.append(goal.model_copy(update={"analysis": named}))
    return told.model_copy(update={"goals": goals})


def require_told(told: ToldPlan, question: str, seen: Sequence[Data], catalogue: Catalogue) -> None:
    """Refuse goals that name what is not there.

    Args:
        told: the goals.
        question: what was asked, whose words they quote.
        seen: the data that each goal is about, with the columns that are to be computed.
        catalogue: what can be asked and done.

    Raises:
        PlanError: its `details["issues"]` has a sentence for each thing that is wrong.
    """
    issues = [issue for goal, data in zip(told.goals, seen, strict=True) for issue in _of_goal(goal, data, catalogue)]
    if not told.goals and not told.not_answered:
        issues.append("There is no goal and nothing that is said not to be answered; give one or the other.")
    said = " ".join(question.split()).lower()
    for item in told.words:
        if " ".join(item.words.split()).lower() not in said:
            issues.append(f"The words {item.words!r} do not stand in the question; quote it as it is.")
    if issues:
        message = f"The goals that were told do not fit: {issues[0]}"
        raise PlanError(message, details={"issues": issues})


def _of_goal(goal: ToldGoal, data: Data, catalogue: Catalogue) -> Iterator[str]:
    if goal.tool not in catalogue.registry:
        yield f"There is no tool {goal.tool!r}.{_near(goal.tool, [spec.name for spec in catalogue.registry])}"
        return
    spec = catalogue.registry.get(goal.tool)
    if not spec.runnable:
        yield f"The tool {goal.tool!r} cannot be run here."
    yield from _of_analysis(goal, spec, catalogue)
    yield from _of_files(goal, spec, data)
    for name, value in goal.params.items():
        param = spec.param(name)
        if param is None:
            yield f"{goal.tool} has no parameter {name!r} (it has {', '.join(p.name for p in spec.params)})."
        elif value not in (None, "", []):
            yield from _of_value(param, value, goal, spec, data)
            yield from _of_computed(param, value, spec, data)
    for row in goal.rows:
        yield from _of_rows(row, data)


def _of_computed(param: ParamSpec, value: Any, spec: ToolSpec, data: Data) -> Iterator[str]:
    """Yield computed columns that are given to an input which takes a file as it is."""
    port = spec.input(param.of) if param.of and param.kind in ("column", "columns") else None
    if port is None or takes_rows(port.type) or port.type is DataType.SAMPLE_SHEET:
        return
    made = {item.column for sheet in data.sheets for item in sheet.made}
    for name in made & {*map(str, value if isinstance(value, list) else [value])}:
        yield f"{spec.name} takes its {port.name} as the file has it: the computed column {name!r} cannot be given to it."


def _of_analysis(goal: ToldGoal, spec: ToolSpec, catalogue: Catalogue) -> Iterator[str]:
    if goal.analysis in ("", WRITTEN) and WRITTEN in spec.answers:
        return
    if goal.analysis not in catalogue.analyses:
        yield f"There is no analysis {goal.analysis!r}.{_near(goal.analysis, catalogue.analyses)}"
    elif goal.analysis not in spec.answers:
        able = [other.name for other in catalogue.registry if goal.analysis in other.answers]
        yield f"{goal.tool} does not answer {goal.analysis!r}; {', '.join(able) or 'no tool'} does."


def _of_files(goal: ToldGoal, spec: ToolSpec, data: Data) -> Iterator[str]:
    for name, file in goal.files.items():
        if spec.input(name) is None:
            yield f"{goal.tool} has no input {name!r} (it has {', '.join(port.name for port in spec.inputs)})."
        elif all(sheet.name != file for sheet in data.sheets):
            yield f"There is no file {file!r}.{_near(file, [sheet.name for sheet in data.sheets])}"


def _of_value(param: ParamSpec, value: Any, goal: ToldGoal, spec: ToolSpec, data: Data) -> Iterator[str]:
    where = f"{spec.name}, parameter {param.name}"
    if problem := param_problem(param, value):
        yield f"{where}: {problem}"
    elif param.kind in ("column", "columns"):
        known = [column.name for column in data.columns()]
        makes = any(part for part in param.made_by.split(",") if part)
        if WRITTEN in spec.answers:  # code gets the file whole, also the column that names the rows of a matrix
            known += [
                name for sheet in data.sheets if not sheet.step for name in map(str, sheet.frame()) if name not in known
            ]
        for name in [value] if isinstance(value, str) else value:
            if name not in known and not makes:
                yield f"{where}: there is no column {name!r}.{_near(name, known)}"
    elif param.kind == "level" or param.role == "levels":
        column = data.column(str(goal.params.get(param.of) or ""))
        for level in [value] if isinstance(value, str) else value:
            yield from _of_level(level, column, data, where)


def _of_rows(row: ToldRows, data: Data) -> Iterator[str]:
    column = data.column(row.column)
    if column is None:
        yield f"Rows: there is no column {row.column!r}.{_near(row.column, [c.name for c in data.columns()])}"
    elif row.op in ("in", "not in"):
        for level in row.values:
            yield from _of_level(level_text(level), column, data, f"Rows of {row.column}")
    elif len(row.values) != (2 if row.op == "between" else 1) or any(as_number(str(v)) is None for v in row.values):
        wanted = "two numbers" if row.op == "between" else "one number"
        yield f"Rows of {row.column}: {row.op!r} takes {wanted}, not {row.values}."


def _of_level(level: str, column: ColumnProfile | None, data: Data, where: str) -> Iterator[str]:
    if column is None:
        return
    known = list(column.levels)
    if not known and (sheet := data.home([column.name])) is not None:
        known = [level_text(value) for value in sheet.frame()[column.name].dropna().unique()]
    number = as_number(level)
    if not known or level in known or (number is not None and any(as_number(item) == number for item in known)):
        return
    shown = ", ".join(map(repr, known[:SHOWN])) + (", ..." if len(known) > SHOWN else "")
    yield f"{where}: {column.name!r} has no value {level!r}{_HAS}{shown}."


def without_values(issue: str) -> str:
    """Return what is wrong without the list of values that a column has, which may have to stay on the machine."""
    return issue.partition(_HAS)[0]


def level_text(value: object) -> str:
    """Return a value as levels are written: `2` for 2.0."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _near(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names[:SHOWN]
    return f" Is one of these meant: {', '.join(map(repr, close))}?" if close else ""
