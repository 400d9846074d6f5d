"""The data as each told goal sees them: the files, or one table made of what stands apart where it names columns of both.

The joining step and its conditions are those of questions that rules read (`engine.planning.making.joined`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from engine.data.catalogue import KINDS
from engine.domain.datatypes import DataType
from engine.domain.plan import listed
from engine.errors import PlanError
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.making.assemble import Making
from engine.planning.making.features import beside_samples, features_named
from engine.planning.making.joined import joined, one_lists_the_other
from engine.planning.making.plates import plate_of, unfolded
from engine.planning.tables.sheets import Data, Sheet
from engine.planning.told.computed import named_in, with_columns
from engine.planning.told.goals import ToldGoal, ToldPlan


def seen_by(told: ToldPlan, data: Data, catalogue: Catalogue, made: Making) -> tuple[ToldPlan, list[Data]]:
    """Return the goals, and the data that each is about; steps that make one table of what stands apart are planned.

    Raises:
        PlanError: when a goal takes one table and names columns of files that do not belong together, or a formula
            cannot be computed; `details["issues"]` says each thing that is wrong.
    """
    apart = _Apart(told, data, catalogue, made)
    tables = [apart.table({*_named(goal, catalogue)}, goal.tool) for goal in told.goals]
    if apart.issues:
        raise PlanError(apart.issues[0], details={"issues": apart.issues})
    alone = [column for column in told.columns if apart.table({column.name}, "") is None]
    files = _serving(with_columns(data, alone), told.goals, catalogue)
    ready = dict[str, Data]()
    for one in filter(None, tables):
        if one.key not in ready:
            reading, table = made.reading, one.make()
            made.reading = reading
            here = [c for c in told.columns if all(map(table.column, apart.of_files({c.name})))]
            ready[one.key] = _serving(with_columns(table, here), told.goals, catalogue)
    own = [ready[one.key] if one else files for one in tables]
    goals = [
        goal.model_copy(update={"files": {}}) if one else goal for goal, one in zip(told.goals, tables, strict=True)
    ]
    return told.model_copy(update={"goals": goals}), own


class _Table(NamedTuple):
    """One table that is made of what stands apart."""

    key: str
    make: Callable[[], Data]


class _Apart:
    """What the goals of a telling name that stands in no one table: two files, a plate and its layout, a matrix."""

    def __init__(self, told: ToldPlan, data: Data, catalogue: Catalogue, made: Making) -> None:
        self.issues = list[str]()
        self._formulas = {column.name: column.formula for column in told.columns}
        self._data, self._catalogue, self._made = data, catalogue, made
        self._plate = plate_of(data)
        every = [name for goal in told.goals for name in self._leaves({*_named(goal, catalogue)})]
        self._features = features_named(every, data)

    def table(self, names: set[str], tool: str) -> _Table | None:
        """Return the table that has all columns of these names, None where one file has them or none is made."""
        leaves, own = {*self._leaves(names)}, self.of_files(names)
        plate, features = self._plate, self._features
        if plate is not None:
            if any(n == plate.value or plate.layout.column(n) for n in leaves):
                return _Table("plate", lambda: unfolded(self._catalogue, plate, self._made)[1])
            return None
        if features is not None and leaves & {*features.names}:
            return _Table("features", lambda: beside_samples(features, self._made.builder))
        if (pair := _both(own, self._data)) is None:
            return None
        if (lists := one_lists_the_other(Data([*pair]))) is None:
            self.issues += [_apart(tool, own, pair)] if tool else []
            return None
        key = "\n".join(sheet.profile.path for sheet in pair)
        return _Table(key, lambda: joined(self._catalogue, *lists, self._made)[1])

    def of_files(self, names: Iterable[str]) -> set[str]:
        """Return the columns of files among names, and those that computed columns among them are made of."""
        return {name for name in self._leaves(names) if self._data.column(name) is not None}

    def _leaves(self, names: Iterable[str]) -> Iterator[str]:
        """Yield names, of those of computed columns what stands in their formulas (words of formulas, too)."""
        waiting, left = [*names], dict(self._formulas)
        while waiting:
            name = waiting.pop()
            if (formula := left.pop(name, None)) is not None:
                waiting += named_in(formula)
            elif name not in self._formulas:
                yield name


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


def _both(names: Iterable[str], data: Data) -> tuple[Sheet, Sheet] | None:
    """Return the two files that hold columns together of which no file has all, None where one does."""
    if any(all(map(sheet.column, names)) for sheet in data.sheets):
        return None
    able = (
        pair for pair in itertools.combinations(data.sheets, 2) if all(any(s.column(n) for s in pair) for n in names)
    )
    return next(able, None)


def _apart(tool: str, names: Iterable[str], pair: tuple[Sheet, Sheet]) -> str:
    own = [f"{', '.join(repr(n) for n in sorted(names) if sheet.column(n))} of {sheet.name}" for sheet in pair]
    return (
        f"{tool} takes one table, but {' and '.join(own)} are named, and these files cannot be joined: no column of "
        "one lists, each once, what a column of the same name in the other names."
    )
