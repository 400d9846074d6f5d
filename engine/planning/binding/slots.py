"""The parts that columns can play in a step, and which columns can play them.

A tool's parameter names its part as `role`; here stands, once for all tools, what column fits it, what grammar speaks for it
and what to take when no word names one. Ids and codes are never measured, never compared, never predict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.data.structure.scales import two_states
from engine.domain.profile import ColumnProfile
from engine.planning.naming.hints import MEASURED_AS
from engine.planning.reading.reading import Part
from engine.planning.tables.sheets import Sheet, cases_and_controls, is_group, is_id, is_number
from engine.text.names import name_parts

Fits = Callable[[ColumnProfile, Sheet], float]


@dataclass(frozen=True, slots=True)
class Slot:
    """A part: how well a column fits (0 not at all, 1 fully), the grammar for and against it, and its natural filler."""

    fits: Fits
    wants: frozenset[Part] = frozenset()
    shuns: frozenset[Part] = frozenset()
    natural: Callable[[Sheet], list[str]] | None = None
    """The columns that the structure of the data offers for it when the words name none, best first."""
    families: Callable[[Sheet], list[list[str]]] | None = None
    """Columns that belong together: one of them named means all."""
    pairs: bool = False
    """True when it and another part of the step are two columns of one quantity: one of them named brings the other."""
    only: bool = False
    """True when the only column that fits may be taken though no word names it."""


def _measure(column: ColumnProfile, sheet: Sheet) -> float:
    if column.words_among_numbers:
        return 0.6
    if not is_number(column) or (column.name in sheet.structure.survival.values() and column.scale == "binary"):
        return 0.0
    if column.scale == "binary":
        return 0.0
    if column.scale == "ordered" and is_id(column):
        return 0.0  # the number of a neuron in its animal
    if column.name in sheet.structure.times:
        return 0.0 if sheet.structure.repeated else 0.4
    if column.name in sheet.structure.doses:
        return 0.45
    return 0.7 if column.scale == "ordered" else 1.0


def _any_number(column: ColumnProfile, sheet: Sheet) -> float:
    return 0.0 if is_id(column) or not is_number(column) else 0.5 if column.scale == "binary" else 1.0


def _occasion(column: ColumnProfile, sheet: Sheet) -> float:
    """Return how well a column holds what was measured at one occasion: a time or a dose is none of it."""
    along = column.name in (*sheet.structure.times, *sheet.structure.doses)
    return 0.0 if along else _any_number(column, sheet)


def _rating(column: ColumnProfile, sheet: Sheet) -> float:
    return 0.0 if is_id(column) or column.distinct <= 1 else 1.0


def _group(column: ColumnProfile, sheet: Sheet) -> float:
    if not is_group(column):
        return 0.0
    if cases_and_controls(column):
        return 0.5  # by which rows were chosen: what is asked of it goes before it
    if column.scale in ("category", "binary"):
        return 1.0 if column.distinct <= 30 else 0.5
    if column.scale == "ordered":
        return 0.9 if column.distinct <= FEW_LEVELS else 0.4
    return 0.7 if column.scale == "code" else 0.35


FEW_LEVELS = 12


def _ordered(column: ColumnProfile, sheet: Sheet) -> float:
    if column.name in sheet.structure.doses:
        return 1.0
    other = 0.45 if column.distinct > 2 else 0.0
    return (
        {"ordered": 1.0, "count": 0.4, "number": 0.4, "category": other}.get(column.scale, 0.0)
        if is_group(column)
        else 0.0
    )


def _binary(column: ColumnProfile, sheet: Sheet) -> float:
    if column.scale == "binary":
        return 1.0
    return 0.25 if column.scale == "category" and 2 < column.distinct <= 6 else 0.0


def _count(column: ColumnProfile, sheet: Sheet) -> float:
    if (sheet.structure.repeated and column.name in sheet.structure.times) or is_id(column):
        return 0.0
    if column.name in sheet.structure.doses:
        return 0.0  # it was set, not counted
    if column.scale == "count":
        return 1.0
    weighed = column.unit or (MEASURED_AS | {"age"}) & {*name_parts(column.name)}  # in whole grams, or years
    whole = column.kind == "integer" and not weighed and column.distinct > 2
    return 0.3 if whole and is_number(column) and (column.minimum or 0) >= 0 else 0.0


def _response(column: ColumnProfile, sheet: Sheet) -> float:
    # What is the same in all rows of a subject (its arm, its diet) cannot be what a model of its repeated rows explains.
    if sheet.structure.repeated and column.name in sheet.structure.repeated[0].between:
        return 0.0
    if column.name in sheet.structure.part_of.values():
        return 0.0  # out of how many is no outcome
    # Of several names none is what happened: a model has no such outcome.
    return max(_measure(column, sheet), 0.75 * (column.scale == "binary"), _count(column, sheet))


def _predictor(column: ColumnProfile, sheet: Sheet) -> float:
    if column.scale in ("identifier", "date", "text") or is_id(column):
        return 0.0
    if column.kind == "category" and 2 * column.missing > (sheet.profile.rows or 0):
        return 0.0  # a remark on a few rows: a model would be left with these
    return 0.8 if column.scale == "code" else 1.0


def _subject(column: ColumnProfile, sheet: Sheet) -> float:
    if sheet.repeated(by=column.name) is not None:
        return 1.0
    if any(column.name in item.between for item in sheet.structure.repeated):
        return 0.0  # what is the same in all rows of a subject is a group of subjects, and pairs nothing
    return (
        0.5
        if column.scale in ("code", "identifier")
        else 0.15
        if column.scale in ("category", "ordered") and column.distinct > 3 and not is_number(column)
        else 0.0
    )


def _cluster(column: ColumnProfile, sheet: Sheet) -> float:
    return 1.0 if sheet.repeated(by=column.name) is not None else 0.0


def _time(column: ColumnProfile, sheet: Sheet) -> float:
    if column.name == sheet.structure.survival.get("time"):
        return 1.0
    return 0.8 if column.role("time") >= 0.5 and column.kind in ("integer", "number") else 0.0


def _event(column: ColumnProfile, sheet: Sheet) -> float:
    if column.name == sheet.structure.survival.get("event"):
        return 1.0
    if sheet.structure.survival.get("event") and not two_states(list(column.levels)):
        return 0.0  # the data have their event, and these are an arm's or a sex's levels
    return max(column.role("event"), 0.4 if column.scale == "binary" else 0.0)


def _over(column: ColumnProfile, sheet: Sheet) -> float:
    if column.name in sheet.structure.times or column.name in sheet.structure.doses:
        return 1.0
    return 0.7 if column.scale == "ordered" else 0.6 if is_number(column) else 0.3 if is_group(column) else 0.0


def _dose(column: ColumnProfile, sheet: Sheet) -> float:
    """Return how well a column holds the amounts along which a curve is fitted: names are none."""
    numbers = column.kind in ("integer", "number") or column.words_among_numbers
    return _over(column, sheet) if numbers else 0.0


def _clock(column: ColumnProfile, sheet: Sheet) -> float:
    """Return how well a column holds the times along which something grows: no dose is one."""
    return 0.0 if column.name in sheet.structure.doses else _over(column, sheet)


def _within(column: ColumnProfile, sheet: Sheet) -> float:
    varies = {name for item in sheet.structure.repeated for name in item.within}
    if column.name in sheet.structure.survival.values():
        return 0.0  # how long each was watched is no occasion
    return (1.0 if column.name in varies else 0.25) if is_group(column) or column.name in sheet.structure.times else 0.0


def panel_units(sheet: Sheet) -> list[str]:
    """Return the columns whose values come again in every period: subjects, and what lies in a group and crosses others."""
    crossed = {name for pair in sheet.structure.crossed for name in pair}
    return list(dict.fromkeys([*_subjects(sheet), *(i for i, _ in sheet.structure.nested if i in crossed)]))


def _panel_unit(column: ColumnProfile, sheet: Sheet) -> float:
    inner = any(column.name == name for name, _ in sheet.structure.nested)
    return 1.0 if column.name in panel_units(sheet) else 0.6 if inner else 0.0


def _period(column: ColumnProfile, sheet: Sheet) -> float:
    """Return how well a column tells periods: units come again in it; it is neither they nor the group they lie in."""
    units = panel_units(sheet)
    outer = {name for inner, name in sheet.structure.nested if inner in units}
    if is_id(column) or column.name in {*units, *outer, *(n for r in sheet.structure.repeated for n in r.between)}:
        return 0.0
    runs = {*_withins(sheet), *(n for pair in sheet.structure.crossed if set(pair) & set(units) for n in pair)}
    if column.name in runs and (is_group(column) or column.name in sheet.structure.times):
        return 1.0
    return 0.3 if is_group(column) or column.name in sheet.structure.times else 0.0


def _periods(sheet: Sheet) -> list[str]:
    """Return the columns of periods, those first that are known to be times or have an order."""
    able = [c for c in sheet.columns if _period(c, sheet) >= 1]
    able.sort(key=lambda c: (c.name not in sheet.structure.times, c.scale != "ordered"))
    return [c.name for c in able]


def _key(column: ColumnProfile, sheet: Sheet) -> float:
    return max(column.role("id"), {"identifier": 0.9, "code": 0.7}.get(column.scale, 0.2))


def _role(name: str) -> Fits:
    return lambda column, sheet: value if (value := column.role(name)) >= 0.3 else 0.0  # type: ignore[arg-type]


def _p_value(column: ColumnProfile, sheet: Sheet) -> float:
    within = column.kind in ("integer", "number") and (column.minimum or 0) >= 0 and (column.maximum or 2) <= 1
    return max(column.role("p_value"), 0.7 if within else 0.0)


def _anything(column: ColumnProfile, sheet: Sheet) -> float:
    return 0.0 if column.distinct <= 1 else 0.6 if is_id(column) else 1.0


def _subjects(sheet: Sheet) -> list[str]:
    return [item.subject for item in sheet.structure.repeated]


def _withins(sheet: Sheet) -> list[str]:
    watched = {*sheet.structure.survival.values()}
    return [name for item in sheet.structure.repeated[:1] for name in item.within if name not in watched]


def _survival(key: str) -> Callable[[Sheet], list[str]]:
    return lambda sheet: [sheet.structure.survival[key]] if sheet.structure.survival.get(key) else []


def _same(sheet: Sheet, at: int) -> list[str]:
    """Return the first or second of two columns that hold the same quantity, where only two do."""
    return [pair[at] for pair in sheet.structure.same_quantity] if len(sheet.structure.same_quantity) == 1 else []


def _parts(*names: Part) -> frozenset[Part]:
    return frozenset(names)


_OUTCOME: frozenset[Part] = _parts("outcome")
_CAUSE: frozenset[Part] = _parts("cause", "by", "over")
_HELD: frozenset[Part] = _parts("adjust")
_SUBJECT: frozenset[Part] = _parts("subject")


def _only_course(sheet: Sheet) -> list[str]:
    """Return the columns of the only measurement at several occasions; of one called by a letter nobody says that it is meant."""
    found = sheet.structure.wide
    return found[0].columns if len(found) == 1 and len(found[0].name) > 1 else []


SLOTS: dict[str, Slot] = {
    "measure": Slot(_measure, _OUTCOME, _CAUSE | _HELD | _SUBJECT, only=True),
    "y": Slot(_any_number, _OUTCOME, _parts("cause", "over", "by")),
    "x": Slot(_any_number, _parts("cause", "over"), _OUTCOME),
    "over": Slot(_over, _parts("over", "cause"), _OUTCOME, natural=lambda s: [*s.structure.times, *s.structure.doses]),
    "dose": Slot(_dose, _parts("over", "cause"), _OUTCOME, natural=lambda s: [*s.structure.doses, *s.structure.times]),
    "clock": Slot(_clock, _parts("over", "cause"), _OUTCOME, natural=lambda s: s.structure.times),
    "outcome": Slot(_binary, _OUTCOME, _CAUSE | _HELD),
    "count": Slot(_count, _OUTCOME, _CAUSE, only=True),
    "group": Slot(_group, _CAUSE, _OUTCOME | _HELD | _SUBJECT, only=True),
    "group_optional": Slot(_group, _CAUSE, _OUTCOME | _HELD | _SUBJECT),
    "response": Slot(_response, _OUTCOME, _CAUSE | _HELD | _SUBJECT, only=True),
    "tally": Slot(lambda c, s: 0.0),
    "sort": Slot(lambda c, s: 0.0),  # filled by the words of order, see `engine.planning.binding.ordering`
    "by": Slot(lambda c, s: 0.0),
    "key": Slot(_key),
    "category": Slot(_group, _OUTCOME | _CAUSE, _HELD | _SUBJECT),
    "split": Slot(_group, _CAUSE, _OUTCOME | _SUBJECT),
    "condition": Slot(_within, _CAUSE, _OUTCOME | _SUBJECT, natural=_withins),
    "period": Slot(_period, _parts("over", "by"), _OUTCOME | _SUBJECT, natural=_periods),
    "panel_unit": Slot(_panel_unit, _parts("subject", "by"), _OUTCOME, natural=panel_units),
    "ordered": Slot(_ordered, _CAUSE, _OUTCOME, natural=lambda s: s.structure.doses),
    "factors": Slot(_group, _CAUSE, _OUTCOME | _SUBJECT),
    "predictors": Slot(_predictor, _CAUSE | _HELD, _OUTCOME | _parts("subject", "exposure")),
    "covariates": Slot(_predictor, _CAUSE | _HELD, _parts("subject")),
    "held": Slot(_predictor, _HELD, _OUTCOME | _SUBJECT),
    "strata": Slot(_group, frozenset()),
    "stratum": Slot(_group, _HELD | _parts("by", "over", "subject"), _OUTCOME),  # what rows are compared within
    "subject": Slot(_subject, _parts("subject", "by"), _OUTCOME, natural=_subjects),
    "cluster": Slot(_cluster, _parts("subject", "by"), _OUTCOME, natural=_subjects),
    "pair": Slot(_subject, _parts("subject"), _OUTCOME | _parts("cause", "by")),
    "time": Slot(_time, _parts("over"), natural=_survival("time")),
    "event": Slot(_event, _OUTCOME, _CAUSE, natural=_survival("event")),
    "start": Slot(lambda c, s: float(c.name == s.structure.survival.get("start")), natural=_survival("start")),
    "random_slope": Slot(lambda c, s: 0.0),  # where the question asks for slopes of the subjects' own
    "within_each": Slot(lambda c, s: 0.0),  # a factor, where the question says `within each` of it
    "nested_in": Slot(lambda c, s: 0.0),  # where the question says that subjects are nested in it
    "since": Slot(lambda c, s: 0.0),  # the time at which a state began, see `engine.planning.binding.bind`
    "exposure": Slot(_any_number, _parts("exposure", "by"), _OUTCOME),  # `falls per bed day`
    "part": Slot(lambda c, s: 1.0 if c.name in s.structure.part_of else 0.0, _OUTCOME),
    "total": Slot(
        lambda c, s: 1.0 if c.name in s.structure.part_of.values() else 0.0,
        _parts("exposure"),
        natural=lambda s: list(dict.fromkeys(s.structure.part_of.values())),
    ),
    "batch": Slot(_role("batch"), _HELD, _OUTCOME),
    "gene": Slot(_role("gene")),
    "p_value": Slot(_p_value, only=True),
    "id": Slot(_key),
    "well": Slot(_key),
    "each_part": Slot(lambda c, s: 0.0),  # a count out of a `each_total`, where a model needs a row each
    "each_total": Slot(lambda c, s: 0.0),
    "anything": Slot(_anything, _OUTCOME, _CAUSE),
    "verdict": Slot(_rating, _OUTCOME, _CAUSE),
    "measures": Slot(_any_number, _OUTCOME, _CAUSE),
    "wide": Slot(
        _occasion,
        natural=_only_course,
        families=lambda s: [w.columns for w in s.structure.wide],
    ),
    "measure_a": Slot(_any_number, _OUTCOME, natural=lambda s: _same(s, 0), pairs=True),
    "measure_b": Slot(_any_number, _OUTCOME, natural=lambda s: _same(s, 1), pairs=True),
    "rating_a": Slot(_rating, _OUTCOME, natural=lambda s: _same(s, 0), pairs=True),
    "rating_b": Slot(_rating, _OUTCOME, natural=lambda s: _same(s, 1), pairs=True),
    "label": Slot(_group, _CAUSE),
    "as_groups": Slot(
        lambda c, s: 0.0
    ),  # numbers among the predictors that only count, see `engine.planning.binding.bind`
    "": Slot(lambda column, sheet: 0.5),
}
"""Role of a parameter -> slot."""


def slot_of(role: str) -> Slot:
    """Return the slot of a parameter's role; an unknown role takes anything that is named."""
    return SLOTS.get(role, SLOTS[""])
