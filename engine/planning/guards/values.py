"""Guards of values: several units in one column, codes for missing values, cells left empty, keys that no two files share."""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re

from engine.data.columns.column import level_text
from engine.domain.plan import OpenQuestion
from engine.errors import PlanError
from engine.planning.binding.conditions import rows_left
from engine.planning.guards.case import Case, guard
from engine.planning.reading.contrast import control_of
from engine.planning.tables.sheets import Sheet, is_number
from engine.text.names import name_parts
from engine.text.times import time_unit

_MISSING_CODES = (-9.0, -99.0, -999.0, -9999.0, 9999.0)


def one_unit(case: Case) -> None:
    """Refuse a column whose values are of several units, unless rows of one are kept or the step tells them apart."""
    sheet = case.bound.sheet
    for name in [name for name in case.bound.columns() if sheet and name in sheet.structure.units]:
        assert sheet is not None
        units, frame = sheet.structure.units[name], sheet.frame()
        if units in case.bound.columns() or name not in frame or units not in frame:
            continue
        frame = rows_left(case.bound).dropna(subset=[name])
        apart = [one for one in case.bound.of_role("split") if one in frame]
        counts = frame[units].dropna().value_counts()
        if len(counts) < 2 or (apart and frame.groupby(apart[0])[units].nunique().max() == 1):
            continue
        shown = ", ".join(f"{count:,} in {unit}" for unit, count in counts.items())
        message = f"{name!r} holds values of {len(counts)} units, as {units!r} says: {shown}. Taken together they mean nothing."
        advice = (
            f"Convert them to one unit in the file, or keep one, for example: only rows with {units} {counts.index[0]}."
        )
        raise PlanError(message, advice=advice, details={"choices": [str(unit) for unit in counts.index]})


def as_level(value: object) -> str:
    """Return a cell as the text of its level, "" where it is missing."""
    return "" if value is None or value != value else level_text(value)


@guard
def missing_codes(case: Case) -> None:
    """Refuse a measurement with -99, -999 or the like in it: a code for a missing value would enter as a number."""
    for name in case.bound.columns():
        column = case.bound.sheet.column(name) if case.bound.sheet else None
        if (
            column is None
            or column.kind not in ("integer", "number")
            or column.minimum is None
            or column.scale in ("code", "binary")
        ):
            continue
        for code in (column.minimum, column.maximum):
            others = column.levels and sum(float(v) < 0 for v in column.levels if _number(v)) > 1
            if code in _MISSING_CODES and not others and (code < 0 and _alone(case, name, code)):
                message = f"{name!r} holds {code:g}, which looks like a code for a missing value and would enter the analysis as a number."
                raise PlanError(
                    message, advice=f"Leave these cells of {name!r} empty, or keep only rows with other values."
                )


def _number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(?:\.\d+)?", text) is not None


def _alone(case: Case, name: str, code: float) -> bool:
    """Say whether no other value of a column is near the code: -99 among values from 80 on, not among -120 to 50."""
    if case.bound.sheet is None:
        return False
    rest = [float(value) for value in case.bound.sheet.frame()[name].dropna() if float(value) != code]
    return bool(rest) and min(rest) > code / 2


@guard
def other_unit(case: Case) -> None:
    """Refuse a conversion that names no unit but the measurement's own (`how much kg` of a column in kg)."""
    from engine.toolbox.tables.units import metric_unit, plain_unit, unit_in_name

    bound = case.bound
    column = next(iter(bound.of_role("measure")), "")
    wanted, known = (str(bound.params.get(name) or "auto") for name in ("to_unit", "from_unit"))
    stated = unit_in_name(column, "" if wanted in ("auto", known) else wanted)[0]
    # Of `yield_kg in g` the name says what it is in, so the question says what it is wanted in.
    if wanted in ("auto", known) and known != "auto" and stated and plain_unit(stated) != plain_unit(known):
        wanted, known = known, "auto"
        bound.params |= {"to_unit": wanted, "from_unit": known}
    own = stated if known == "auto" else known
    if column and own and (not metric_unit(own) if wanted == "auto" else plain_unit(wanted) == plain_unit(own)):
        message = f"{column!r} is in {own} already, and no other unit is named."
        advice = "Say the unit it is wanted in, and `from ...` where it is in another than its name says."
        raise PlanError(message, advice=advice)


@guard
def unit_of_moment(case: Case) -> None:
    """Ask for the unit of the times where a moment is told in one and nothing says theirs: `at 2 years` of a column `FU`."""
    bound, params = case.bound, case.bound.params
    unit = next((p for p in bound.spec.params if p.role == "time_unit"), None)
    said = next((p for p in bound.spec.params if p.role == "unit_of" and params.get(p.name)), None)
    moments = next((params[p.name] for p in bound.spec.params if p.role == "times" and params.get(p.name)), [])
    units = [one.split()[-1] for one in moments if " " in one] or ([params[said.name]] if said else [])
    name = next(iter(bound.of_role("time")), "")
    column = bound.sheet.column(name) if bound.sheet and name else None
    if unit is None or not units or column is None or params.get(unit.name):
        return
    told = [time_unit(part.lower()) for part in name_parts(f"{column.name} {column.unit} {column.label}")]
    known = next((one for one in told if one in _SPANS), "")
    if known:
        params[unit.name] = f"{known}s"
        return
    bound.questions.append(
        OpenQuestion(
            id=unit.name, param=unit.name, choices=[f"{one}s" for one in _SPANS], blocking=True,
            text=f"In which unit does {name!r} count?",
            why=f"The question names a moment in {units[0]}, and neither the name nor a legend says the unit of {name!r}.",
        )
    )  # fmt: skip


_SPANS = ("day", "week", "month", "year")


@guard
def key_shared(case: Case) -> None:
    """Find the column by which two files are joined: of the same name, and one that names rows."""
    if len(case.data.sheets) < 2:
        raise PlanError("Joining needs two files, and one was given.", advice="Add the second file.")
    left, right = case.data.sheets[:2]
    shared = [c.name for c in left.columns if right.column(c.name)]
    named = [name for name in case.reading.columns() if name in shared]
    keys = sorted(shared, key=lambda n: -(left.column(n).role("id") + (left.column(n).scale in ("identifier", "code"))))  # type: ignore[union-attr]
    key = (named or keys or [""])[0]
    params = [p.name for p in case.bound.spec.params if p.role == "key"]
    if key:
        case.bound.params |= dict.fromkeys(params, key)
        return
    for a in left.columns:
        for b in right.columns:
            if (a.levels and set(a.levels) == set(b.levels)) or _same_values(case, a.name, b.name):
                case.bound.params |= dict(zip(params, (a.name, b.name), strict=True))
                case.bound.reasons.append(f"{a.name!r} and {b.name!r} hold the same values.")
                return
    message = f"{left.name} and {right.name} have no column of the same name or values to join on."
    raise PlanError(message, advice="Give the key column the same name in both files.")


def _same_values(case: Case, left: str, right: str) -> bool:
    first, second = case.data.sheets[0].frame(), case.data.sheets[1].frame()
    if left not in first or right not in second:
        return False
    a, b = set(first[left].dropna().astype(str)), set(second[right].dropna().astype(str))
    return len(a) > 3 and len(a & b) >= 0.8 * min(len(a), len(b))


@guard
def empty_events(case: Case) -> None:
    """Take empty cells as `nothing happened` where a column names ends and most rows have none, and ask.

    A column of exits or complications is filled where something happened; to leave the others out would make 6 deaths of
    32 calves 6 of 8. A column that has a level of its own for nothing (no, none, alive) knows the difference.
    """
    bound, sheet = case.bound, case.bound.sheet
    param = next((p for p in bound.spec.params if p.role == "empty_event"), None)
    name = next(iter(bound.of_role("outcome")), "")
    column = sheet.column(name) if sheet and name else None
    if param is None or column is None or sheet is None or param.name in case.reading.chosen.get(bound.spec.name, {}):
        return
    texts = column.kind not in ("integer", "number") and bool(column.levels)
    if not texts or bound.params.get(param.name) not in (None, param.default) or not sheet.profile.rows:
        return
    if column.missing <= sheet.profile.rows / 2 or control_of(column, list(column.levels)):
        return
    bound.params[param.name] = "no event"
    bound.questions.append(
        OpenQuestion(
            id=param.name, param=param.name, choices=list(param.choices), proposed="no event",
            text=f"Does an empty cell of {name!r} say that nothing happened (no event), or is it not known there (unknown)?",
            why=f"{column.missing} of {sheet.profile.rows} cells are empty, and no level of its own says that nothing happened.",
        )
    )  # fmt: skip


@guard
def no_cut_of_the_outcome(case: Case) -> None:
    """Leave out the measurement that a yes or no was cut from: the birth weight explains no low birth weight."""
    bound, sheet = case.bound, case.bound.sheet
    param = next((p for p in bound.spec.params if p.role == "predictors" and p.kind == "columns"), None)
    outcome = next(iter(bound.of_role("outcome", "event")), "")
    if sheet is None or param is None or (column := sheet.column(outcome)) is None or column.distinct != 2:
        return
    own = list(bound.params.get(param.name) or [])
    cut = [name for name in own if _cut_from(sheet, outcome, name)]
    if cut and len(cut) < len(own):
        bound.params[param.name] = [name for name in own if name not in cut]
        case.warnings.append(
            f"{outcome!r} is {cut[0]!r} cut in two, which explains nothing of it: {cut[0]!r} is left out."
        )


_ENOUGH = 20


def _cut_from(sheet: Sheet, outcome: str, name: str) -> bool:
    """Say whether all values of a measurement on one side of an outcome lie beyond all on the other."""
    column, frame = sheet.column(name), sheet.frame()
    if column is None or not is_number(column) or column.distinct < _ENOUGH or not {outcome, name} <= {*frame}:
        return False
    sides = [part.dropna() for _, part in frame.groupby(outcome)[name]]
    ends = sorted((part.min(), part.max(), len(part)) for part in sides if len(part))
    return len(ends) == 2 and min(n for *_, n in ends) >= _ENOUGH and ends[0][1] < ends[1][0]
