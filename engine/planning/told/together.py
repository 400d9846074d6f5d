"""The data as each told goal sees them: the files, or two of them joined where it names columns of both.

The joining step and its conditions are those of questions that rules read (`engine.planning.making.joined`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace

from engine.data.catalogue import KINDS
from engine.domain.datatypes import DataType
from engine.domain.plan import listed
from engine.errors import PlanError
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.making.assemble import Making
from engine.planning.making.joined import joined, one_lists_the_other
from engine.planning.making.plates import plate_of, unfolded
from engine.planning.tables.sheets import Data, Sheet
from engine.planning.told.computed import named_in, with_columns
from engine.planning.told.goals import ToldGoal, ToldPlan


def seen_by(told: ToldPlan, data: Data, catalogue: Catalogue, made: Making) -> tuple[ToldPlan, list[Data]]:
    """Return the goals, and the data that each is about; steps that join files are planned.

    Raises:
        PlanError: when a goal takes one table and names columns of files that do not belong together, or a formula
            cannot be computed; `details["issues"]` says each thing that is wrong.
    """
    formulas = {column.name: column.formula for column in told.columns}
    pairs, issues = list[tuple[Sheet, Sheet] | None](), list[str]()
    plate = plate_of(data)
    for goal in told.goals:
        named = {*_named(goal, catalogue)}
        names = _of_files(named, formulas, data)
        of_layout = plate is not None and any(n == plate.value or plate.layout.column(n) for n in (*named, *names))
        pairs.append(pair := (plate.plate, plate.layout) if plate and of_layout else _both(names, data))
        if pair and plate is None and one_lists_the_other(Data([*pair])) is None:
            issues.append(_apart(goal, names, pair))
    if issues:
        raise PlanError(issues[0], details={"issues": issues})
    apart = {plate.value, *(c.name for c in plate.layout.columns)} if plate else set[str]()
    alone = [
        column for column in told.columns
        if not _both(_of_files({column.name}, formulas, data), data) and not apart & {*named_in(column.formula)}
    ]  # fmt: skip
    files = _serving(with_columns(data, alone), told.goals, catalogue)
    tables = dict[str, Data]()
    for first, second in {_key(pair): pair for pair in pairs if pair}.values():
        reading, both = made.reading, Data([first, second])
        if plate is not None:
            _, table = unfolded(catalogue, plate, made)
        else:
            lists = one_lists_the_other(both)
            assert lists is not None
            _, table = joined(catalogue, *lists, made)
        made.reading = reading
        here = [c for c in told.columns if all(map(table.column, _of_files({c.name}, formulas, data)))]
        tables[_key((first, second))] = _serving(with_columns(table, here), told.goals, catalogue)
    goals = [
        goal.model_copy(update={"files": {}}) if pair else goal for goal, pair in zip(told.goals, pairs, strict=True)
    ]
    seen = [tables[_key(pair)] if pair else files for pair in pairs]
    return told.model_copy(update={"goals": goals}), seen


def _serving(data: Data, goals: Iterable[ToldGoal], catalogue: Catalogue) -> Data:
    """Return the data where a table serves as what a goal takes, which says itself which columns make it that.

    Of times to an event these are time and event, also where the event is a column that is computed first.
    """
    for goal in goals:
        if goal.tool not in catalogue.registry:
            continue
        spec = catalogue.registry.get(goal.tool)
        for port in spec.inputs:
            if DataType.TABLE not in KINDS[port.type].takes or data.serving(port.type):
                continue
            needed = [param.name for param in spec.params if param.kind == "column" and param.required]
            columns = [str(goal.params.get(name, "")) for name in needed]
            home = data.home(columns)
            guess = home.serves(DataType.TABLE) if home is not None else None
            if home is None or guess is None or not all(map(home.column, columns)):
                continue
            types = [*home.profile.types, guess.model_copy(update={"type": port.type})]
            shown = replace(home, profile=home.profile.model_copy(update={"types": types}))
            data = Data([shown if sheet is home else sheet for sheet in data.sheets])
    return data


def _named(goal: ToldGoal, catalogue: Catalogue) -> Iterable[str]:
    """Yield the columns that a goal takes from its one table; of a tool with more inputs each has its own."""
    spec = catalogue.registry.get(goal.tool) if goal.tool in catalogue.registry else None
    if spec is None or len(spec.inputs) != 1:
        return
    for param in spec.params:
        if param.kind in ("column", "columns"):
            yield from (str(name) for name in listed(goal.params.get(param.name)) if name)
    yield from (row.column for row in goal.rows)


def _of_files(names: set[str], formulas: Mapping[str, str], data: Data) -> set[str]:
    """Return the columns of files among names, and those that computed columns among them are made of."""
    found, waiting = set[str](), [*names]
    left = dict(formulas)
    while waiting:
        name = waiting.pop()
        if (formula := left.pop(name, None)) is not None:
            waiting += named_in(formula)
        elif name not in formulas and data.column(name) is not None:
            found.add(name)
    return found


def _both(names: Iterable[str], data: Data) -> tuple[Sheet, Sheet] | None:
    """Return the two files that hold columns together of which no file has all, None where one does."""
    if any(all(map(sheet.column, names)) for sheet in data.sheets):
        return None
    able = (
        pair for pair in itertools.combinations(data.sheets, 2) if all(any(s.column(n) for s in pair) for n in names)
    )
    return next(able, None)


def _key(pair: tuple[Sheet, Sheet]) -> str:
    return "\n".join(sheet.profile.path for sheet in pair)


def _apart(goal: ToldGoal, names: Iterable[str], pair: tuple[Sheet, Sheet]) -> str:
    own = [f"{', '.join(repr(n) for n in sorted(names) if sheet.column(n))} of {sheet.name}" for sheet in pair]
    return (
        f"{goal.tool} takes one table, but {' and '.join(own)} are named, and these files cannot be joined: no column of "
        "one lists, each once, what a column of the same name in the other names."
    )
