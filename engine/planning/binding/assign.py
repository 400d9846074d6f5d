"""Gives named columns to the parameters of a tool: depth first over all assignments, the best score wins.

A column adds what it fits the part, times how surely it is named, more or less what grammar says; a required part without a column
and a surely named column without a part cost. What no word names is taken from the structure of the data where it offers one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from engine.data.structure.scales import two_states as yes_and_no
from engine.data.structure.scales import unit_of
from engine.domain.profile import ColumnProfile
from engine.domain.toolspec import ParamSpec
from engine.planning.binding.slots import slot_of
from engine.planning.naming.mention import SURE, SURE_NAME
from engine.planning.reading.contrast import control_level, has_control
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import (
    EVERY_ROW,
    FEW,
    Sheet,
    cases_and_controls,
    is_group,
    is_id,
    is_number,
    numbers_things,
    was_given,
)
from engine.text.names import name_parts, name_pieces

MISSING = 2.0
"""What a required column costs that is not there."""
UNUSED = 0.9
"""What a named column costs that nothing takes, times its strength."""
PAIRED = 0.5
"""What speaks for two columns that the data know as two of one quantity, where two such are to be compared."""
_COMPARES = frozenset({"group", "group_optional", "condition", "factors", "split", "ordered"})
_HAPPENS = frozenset({"outcome", "event", "category"})
_EXPLAINS = frozenset({"predictors", "covariates", "factors"})
_MOST = 7
"""At most so many named columns, the surest, are weighed for parts of one column each."""


def two_states(sheet: Sheet, name: str) -> bool:
    """Say whether a column has two states."""
    column = sheet.column(name)
    return column is not None and column.scale == "binary"


def called(param: ParamSpec, name: str) -> bool:
    """Say whether a column has one of the names that are conventional for a parameter."""
    forms = (" ".join(cut(name)) for cut in (name_parts, name_pieces))
    return bool(param.called) and any(re.fullmatch(param.called, form) for form in forms)


def as_left(column: ColumnProfile, reading: Reading) -> ColumnProfile:
    """Return a column without the levels whose rows are left out: two states where only two are left."""
    out = {v for r in reading.restrictions if r.column == column.name and r.op == "not in" for v in r.values}
    if column.scale != "category" or not out & {*column.levels}:
        return column
    levels = {level: count for level, count in column.levels.items() if level not in out}
    return column.model_copy(update={"levels": levels, "scale": "binary" if len(levels) == 2 else column.scale})


AT_MOST = 4
"""Numbers of so few values were chosen, not measured."""
_MODELLED = frozenset("outcome measure response count y".split())
"""What a model explains."""
_EXPLAINED = frozenset(
    "group group_optional outcome count measure measures response wide y x measure_a measure_b anything".split()
)
CALLED = 0.4
"""What speaks for a column that is called as such columns conventionally are."""
_TO = re.compile(r"to|through|thru|till|until|up to|-|–|—|\.{2,3}|…|:", re.IGNORECASE)
_THROUGH = re.compile(r"^\s*(?:[a-z]+\s+)?(?:through|thru)\s+(?:the\s+)?$", re.IGNORECASE)
_NUMBERED = re.compile(r"(.*?)(\d+)")
_PLACES = frozenset("group group_optional category split factors predictors covariates outcome".split())
"""Parts that several levels of a column are needed for."""
MANY = 40
"""More columns than this are not named one by one."""
_COURSE = re.compile(
    r"\b(?:over (?:the )?(?:time|course|whole|weeks|months|days|visits)|course|trend|trajector\w*|all|every|each|curves?|profiles?)\b",
    re.IGNORECASE,
)
"""What two named occasions are only the ends of."""
_COMPARED = re.compile(
    r"\b(?:than|differ\w*|compar\w*|versus|vs|against|more|less|fewer|better|worse|as \w+ as|\w{3,}(?<!numb)(?<!oth)er)\b",
    re.IGNORECASE,
)
_LAST = re.compile(r"(?:[\s_.-]*\d{1,4}|[\s_.-]+[A-Za-z])$")


def _states(levels: list[str]) -> bool:
    """Say whether levels tell whether something happened: yes and no, or 1 and 0."""
    return bool(yes_and_no(levels)) or {*levels} == {"0", "1"}


def _holding(param: ParamSpec, sheet: Sheet) -> set[str]:
    """Return the columns with a level by which the column of a parameter is known."""
    mark = re.compile(param.holds, re.IGNORECASE)
    return {c.name for c in sheet.columns if any(mark.fullmatch(level.strip()) for level in c.levels)}


_MEASURED = frozenset({"measure", "outcome", "response", "y"})


def _whole(sheet: Sheet, reading: Reading) -> set[str]:
    """Return columns whose words name all occasions of one measurement alike: the weight of `do they gain weight faster`.

    No occasion was said, so none of them is meant by itself.
    """
    families = [{*wide.columns} for wide in sheet.structure.wide if wide.ordered and len(wide.columns) > 2]
    named = [(m.column, {m.column, *m.rivals}) for m in reading.mentions if not m.level]
    return {column for column, alike in named for own in families if column in own and len(own & alike) > 1}


def _may_be_occasions(columns: Sequence[ColumnProfile]) -> bool:
    """Say whether columns could hold one measurement at several occasions: an event and a vitamin cannot.

    They share a word of their names or a unit, or the range of one reaches into that of every other.
    """
    if set[str].intersection(*({*name_parts(c.name)} for c in columns)) if columns else True:
        return True
    if len({c.unit for c in columns}) == 1 and columns[0].unit:
        return True
    ends = [(c.minimum, c.maximum) for c in columns if c.minimum is not None and c.maximum is not None]
    return max(low for low, _ in ends) < min(high for _, high in ends) if len(ends) == len(columns) else True


class Assignment:
    """Depth first over the assignments of named columns to parameters."""

    def __init__(
        self, params: Sequence[ParamSpec], sheet: Sheet, reading: Reading, *, taken: set[str], cuts: bool = False
    ) -> None:
        self.params, self.sheet, self.reading, self.taken = list(params), sheet, reading, taken
        self.needed = {p.name for p in params if (p.required or p.needed or p.instead_of) and not p.made_by}
        self.of_two_levels = False
        """Whether the step compares two levels of its groups."""
        sure = {r.column for r in reading.restrictions if r.sure and not (cuts and r.op not in ("in", "not in"))}
        contrasted = {c.column for c in reading.contrasts}
        named = [c for c in reading.columns() if sheet.column(c) and c not in taken]
        maybe = {
            r.column
            for r in reading.restrictions
            if r.op == "in" and len(r.values) == 1 and not two_states(sheet, r.column)
        }
        numeric = {r.column for r in reading.restrictions if r.op not in ("in", "not in") and not cuts}
        cut = [r for r in reading.restrictions if r.op not in ("in", "not in")]
        apart = [m.column for m in reading.mentions
                 if not any(r.first <= m.first <= r.last for r in cut if r.column == m.column)]  # fmt: skip
        self.cut = {r.column for r in cut} if cuts else set[str]()
        """Columns that the question cuts, where the step has a cut-point of its own."""
        once = numeric - {*apart}  # `women over 60, adjusted for age` names it again
        left = {r.column for r in reading.restrictions if r.op == "not in" and reading.levels(r.column)}
        loose = ((sure | maybe) - set(reading.named()) - left | once) - contrasted
        self.kept = {r.column for r in reading.restrictions if r.op == "in"} - contrasted
        self.alone = {r.column for r in reading.restrictions if r.sure and r.op == "in" and len(r.values) == 1}
        self.free = [c for c in named if c not in loose][:MANY]
        self.few = sorted(sorted(self.free, key=lambda c: -reading.strength(c))[:_MOST], key=self.free.index)
        self.singles = sorted(
            (p for p in params if p.kind == "column" and p.role), key=lambda p: (p.name not in self.needed,)
        )
        many = [p for p in params if p.kind == "columns" and p.role and p.role != "strata"]
        self.many = sorted(many, key=lambda p: p.role != "wide")  # the occasions first, then what may explain them
        self.coded = [n for n in self.free if reading.parts.get(n) == {"outcome"} and n in reading.coding]
        """What the question says to have happened, in codes."""
        self.whole = _whole(sheet, reading)
        self.marked = {p.name: names for p in params if p.holds and (names := _holding(p, sheet))}
        self.best = float("-inf")
        self.chosen: dict[str, Any] = {}
        self.guessed: set[str] = set()
        self._gains: dict[tuple[str, str], float] = {}

    def run(self) -> None:
        """Find the best assignment."""
        self._next(0, {}, set(self.taken), 0.0)

    def _gain(self, param: ParamSpec, name: str) -> float:
        """Return what a named column adds in a parameter; below zero when it does not fit."""
        key = (param.name, name)
        if key not in self._gains:
            self._gains[key] = self._weigh(param, name)
        return self._gains[key]

    def _weigh(self, param: ParamSpec, name: str) -> float:
        slot, own = slot_of(param.role), self.sheet.column(name)
        column = as_left(own, self.reading) if own is not None else None
        fits = slot.fits(column, self.sheet) if column else 0.0
        if column and column.levels and param.role == "outcome" and name in self.reading.shares:
            fits = 1.0  # one of its levels against all others makes two states
        if fits <= 0 or self._ruled_out(param, name) or self._not_meant(param, name, fits):
            return -1.0
        earlier = next((m.first for m in self.reading.mentions if m.column == name), 0)
        return fits * (self.reading.strength(name) + self._grammar(param, name, column)) - 0.002 * earlier

    def _not_meant(self, param: ParamSpec, name: str, fits: float) -> bool:
        """Say whether a column that could play a part has not been named for it."""
        reading, slot, strength = self.reading, slot_of(param.role), self.reading.strength(name)
        if name in self.whole and param.kind == "column" and param.role in _MEASURED and not slot.pairs:
            return True
        if (
            param.called
            and not called(param, name)
            and name not in self.cut
            and (strength < SURE_NAME or name not in reading.named())
        ):
            return True
        natural = slot.natural(self.sheet) if slot.natural else []
        told = param.role in ("time", "event") and strength >= SURE_NAME and name in reading.named()
        told = told or (
            param.role == "event"
            and strength >= SURE
            and reading.parts.get(name) == {"outcome"}
            and two_states(self.sheet, name)
        )
        if natural and name not in natural and fits < 0.8 and not told:
            return True  # what the structure of the data offers is surer than a word
        if (
            name not in reading.named()
            and not self._contrasted(name)
            and not (reading.shares and reading.parts.get(name) == {"cause"})  # `is the share of A higher with B`
            and param.role in ("split", "group_optional", "factors")
            # One of two states names the comparison with the other, except for `is it synergistic in HCT`.
            and (not two_states(self.sheet, name) or (param.role != "factors" and self._only_there(name)))
        ):
            return True  # one level named restricts the rows, it does not compare
        unpaired = param.role == "pair" and param.name not in self.needed
        if unpaired and self._is_of_a_cause(name, apart=True):
            return True  # a pot of one isolate pairs no two
        return unpaired and not (reading.paired or reading.is_a(name, "subject"))  # pairs are where somebody says so

    def _grammar(self, param: ParamSpec, name: str, column: ColumnProfile | None) -> float:
        """Return what the sentence says for a column in a part, below zero where it speaks against it."""
        reading, slot, contrasted = self.reading, slot_of(param.role), self._contrasted(name)
        grammar = 0.45 * reading.is_a(name, *slot.wants) - 0.45 * reading.is_a(name, *slot.shuns)
        grammar += CALLED * called(param, name)
        chosen_by_it = column is not None and cases_and_controls(column)
        compares = param.role in ("group", "condition", "ordered", "covariates", "predictors", "factors")
        if contrasted and compares and not chosen_by_it:
            set_apart = any(c.column == name and c.explicit for c in reading.contrasts) or not two_states(
                self.sheet, name
            )
            grammar += 0.5 if set_apart else 0.2
        if contrasted and name in reading.named() and param.role in ("outcome", "response"):
            grammar += 0.3  # `status was judged good or poor`
        if not contrasted and name in reading.restricted() and name not in reading.named():
            grammar -= 0.8
        one = reading.levels(name)
        if (
            not contrasted
            and len(one) == 1
            and not control_level(one)
            and not any(r.column == name and r.op != "not in" for r in reading.restrictions)
            and param.role in ("outcome", "response", "event", "category")
        ):
            grammar += 0.3  # the state whose share or odds are asked for
        levels = list(column.levels) if column else []
        happens = yes_and_no(levels) or chosen_by_it
        if param.role in _HAPPENS and len(levels) == 2 and control_level(levels) and not happens:
            grammar -= 0.4  # placebo and drug is what was done, not what happened
        grammar -= 0.8 * self._exchanged(param, name)
        level_only = name not in reading.named() and not contrasted and not two_states(self.sheet, name)
        if level_only and param.role in ("group", "predictors", "covariates"):
            grammar -= 0.25
        if name in self.kept and param.role in ("group", "condition") and self._other_group(name):
            grammar -= 0.6  # `by salt in the mutant` compares by salt
        return grammar

    def _contrasted(self, name: str) -> bool:
        """Say whether levels of a column are set against each other."""
        return any(c.column == name for c in self.reading.contrasts)

    def _exchanged(self, param: ParamSpec, name: str) -> bool:
        """Say whether a state would be compared by, or what is set apart would happen: `the cured share of the short and the long course`."""
        if param.role not in ("group", "condition", *_HAPPENS):
            return False
        states = [n for n in self.free if (c := self.sheet.column(n)) and _states(list(c.levels))]
        apart = [c.column for c in self.reading.contrasts if c.column not in states
                 and not ((own := self.sheet.column(c.column)) and cases_and_controls(own))]  # fmt: skip
        return bool(states and apart) and name in (apart if param.role in _HAPPENS else states)

    def _explains(self, param: ParamSpec) -> bool:
        """Say whether a parameter is what a model explains."""
        return param.role in ("outcome", "measure", "count", "response") and any(
            p.role == "predictors" for p in self.params
        )

    def _ruled_out(self, param: ParamSpec, name: str) -> bool:
        """Say whether what is said of a column keeps it from a part that it would fit."""
        reading, column = self.reading, self.sheet.column(name)
        marked = any(name in names if mark != param.name else name not in names for mark, names in self.marked.items())
        if marked or self._is_of_an_arm(param, name):
            return True
        if column and param.role in _EXPLAINS and (
            name in reading.nested | reading.counted_for or (numbers_things(column) and not reading.is_a(name, "adjust", "by"))
        ):  # fmt: skip
            # `which wards have fewer falls` asks about the wards, not about their numbers; what is nested belongs together
            return True
        if param.role == "predictors" and param.name not in self.needed and not reading.parts.get(name):
            # Where none is named all predict: one vague word leaves out no other, several make a list.
            return reading.strength(name) < SURE and sum(reading.strength(n) < SURE for n in self.free) == 1
        subjects = {item.subject for item in self.sheet.structure.repeated}
        if (param.role == "predictors" and self._is_of_a_cause(name)) or self._runs_along(param, name):
            return True  # coverslips of one genotype each cannot stand beside it
        many = column is not None and column.distinct > FEW
        if param.role == "group" and name in subjects and (many or self._is_unit(name) or self._keeps_together()):
            return True  # whose rows belong together is no group to compare
        explains = self._explains(param)
        if explains and reading.parts.get(name) == {"cause"} and name not in self.kept:
            return True  # `how much for 5 units of BMI` asks what goes up with it
        if explains and self.coded and name not in self.coded:
            return True  # whose yes and no is told is explained, and nothing beside it
        if param.role in _HAPPENS and column and was_given(column) and not reading.is_a(name, "outcome"):
            return True  # the drug did not happen to those with the disease
        ends = param.role in ("time", "event") and any(p.role == "event" for p in self.params)
        if (ends or param.role in _EXPLAINED) and reading.parts.get(name) == {"adjust"}:
            return True  # what is only held constant is neither compared nor explained, and no follow-up
        alone = self._is_compared_by(param, name) or self._of_one_level(param, name) or self._goes_along(param, name)
        return alone or self._is_whom(param, name)

    def _goes_along(self, param: ParamSpec, name: str) -> bool:
        """Say whether a measurement is one that another goes with, and no second occasion of it."""
        column = self.sheet.column(name)
        cause = self.reading.parts.get(name) == {"cause"} and column is not None and is_number(column)
        return param.role == "wide" and cause

    def _of_one_level(self, param: ParamSpec, name: str) -> bool:
        """Say whether all rows surely have one level of a column: `only with bean extract` leaves nothing to compare it with."""
        own = [r for r in self.reading.restrictions if r.column == name and r.sure]
        alone = any(r.op == "in" and len(r.values) == 1 for r in own) and not self.reading.is_a(name, "by", "cause")
        return alone and param.role in _PLACES

    def _is_compared_by(self, param: ParamSpec, name: str) -> bool:
        """Say whether levels of a column are set against each other, which therefore is no second measurement."""
        apart = any(c.column == name and c.explicit for c in self.reading.contrasts)
        return apart and param.role in ("measure_a", "measure_b")

    def _is_of_an_arm(self, param: ParamSpec, name: str) -> bool:
        """Say whether a column counts in an arm of studies, whose effect it makes up and does not explain."""
        counts = {*self.sheet.structure.part_of, *self.sheet.structure.part_of.values()}
        return param.role == "predictors" and param.most == 1 and name in counts

    def _keeps_together(self) -> bool:
        """Say whether the step has a part for what rows belong together by."""
        return any(p.role == "cluster" for p in self.params)

    def _is_unit(self, name: str) -> bool:
        """Say whether the words make of a column what rows are of, and nothing else."""
        return self.reading.parts.get(name) == {"subject"}

    def _runs_along(self, param: ParamSpec, name: str) -> bool:
        """Say whether a curve runs along a column, which therefore is not what it measures: a dose."""
        if not any(p.role == "dose" for p in self.params) or param.role not in _MODELLED:
            return False
        column = self.sheet.column(name)
        set_by_hand = column is not None and column.scale == "ordered" and column.distinct <= AT_MOST
        return name in self.sheet.structure.doses or set_by_hand  # nor what was set to three temperatures

    def _is_of_a_cause(self, name: str, *, apart: bool = False) -> bool:
        """Say whether a column names subjects of which each is of one level of another column that is named, or set `apart`."""
        of = {other for item in self.sheet.structure.repeated if item.subject == name for other in item.between}
        named = [c.column for c in self.reading.contrasts] if apart else self.reading.columns()
        return bool(of & ({*named} - {name}))

    def _is_whom(self, param: ParamSpec, name: str) -> bool:
        """Say whether a column only says which rows are meant, where a part would make more of it."""
        reading = self.reading
        gone = self._only_left_out(name)
        about = gone or (name in self.kept and param.role in ("covariates", "held"))
        if param.role in ("covariates", "held", "predictors") and about and not reading.is_a(name, "adjust"):
            return True  # `in the wild type` is about those rows, it holds nothing constant
        if param.role in ("anything", "measures") and name in self.kept and name not in reading.named():
            return True  # `the median time of the ill` asks for no median of being ill
        if param.role == "measures" and reading.levels(name) and (
            name not in reading.named() or self._contrasted(name)
        ):  # fmt: skip
            return True  # nor does `at 1 h` ask for the hours, and two sizes of cells are compared, not measured
        if param.role == "held" and name not in reading.named() and not reading.is_a(name, "adjust"):
            return True  # a level that is named is compared or kept, never held constant
        if name not in self.alone or self._contrasted(name) or reading.is_a(name, "by"):
            return False  # of others more than one group is left
        happens = param.role in _HAPPENS and not reading.is_a(name, "outcome")
        return happens or param.role in _COMPARES | _EXPLAINS | {"response"}

    def _only_left_out(self, name: str) -> bool:
        """Say whether rows of a level go and the column is hardly named beside it: `the worse apnoeas ... leave out the central ones`."""
        said = max((m.strength for m in self.reading.mentions if m.column == name and not m.level), default=0.0)
        return said < SURE and any(r.column == name and r.op == "not in" for r in self.reading.restrictions)

    def _only_there(self, name: str) -> bool:
        """Say whether the one state that is named is where something is asked of, with nothing compared."""
        return name in self.kept and not _COMPARED.search(self.reading.question)

    def _next(self, at: int, chosen: dict[str, Any], used: set[str], total: float) -> None:
        if at == len(self.singles):
            self._finish(dict(chosen), set(used), total)
            return
        param = self.singles[at]
        needed = param.name in self.needed
        for name in self.few:
            if name not in used and (gain := self._gain(param, name)) > 0:
                said = needed or (param.role == "exposure" and self.reading.is_a(name, "exposure", "by"))
                found = {**chosen, param.name: name}
                self._next(at + 1, found, used | {name}, total + gain * (1.0 if said else 0.75))
        natural = self._natural(param, used) if needed or param.called else ""
        if natural:
            self._next(at + 1, {**chosen, f"{param.name}*": natural}, used | {natural}, total + 0.35)
        else:
            self._next(at + 1, chosen, used, total - (MISSING if needed else 0.0))

    def _natural(self, param: ParamSpec, used: set[str]) -> str:
        """Return the column that the data offer for a parameter that no word fills, or ""."""
        slot = slot_of(param.role)
        if self.coded and self._explains(param):
            return ""
        if len(own := self.marked.get(param.name, set()) - used) == 1:
            return next(iter(own))
        if param.called:
            able = self._called_so(param)
            if len(able) == 1 and able[0] not in used:
                return able[0]
        if param.name not in self.needed:
            return ""
        if slot.pairs:
            halves = [pair for pair in self.sheet.structure.same_quantity if (pair[0] in used) != (pair[1] in used)]
            others = [pair[1] if pair[0] in used else pair[0] for pair in halves]
            # Before and after of one measurement go before another measurement that was taken after.
            mine = {name for pair in halves for name in pair} & used
            courses = [{*wide.columns} for wide in self.sheet.structure.wide if wide.ordered and len(wide.columns) == 2]
            kin = {name for course in courses if course & mine for name in course} - used
            if len(kin) == 1 and not kin & {*others}:
                return kin.pop()
            if len(set(others)) == 1:
                return others[0]
        offered = slot.natural(self.sheet) if slot.natural else []
        free = next((name for name in offered if name not in used and self.sheet.column(name)), "")
        return free or (self._only_one(param, used) if slot.only else "")

    def _only_one(self, param: ParamSpec, used: set[str]) -> str:
        """Return the column that fits a parameter if no other does; of groups, the one with a control among them."""
        fits = slot_of(param.role).fits
        explained = {name for name, parts in self.reading.parts.items() if parts == {"outcome"} and name in self.free}
        if param.role in _MODELLED and explained - used:
            return ""  # what is to be explained is named, and nothing else takes its place
        compares = param.role in _MODELLED and any(p.role == "group" for p in self.params)
        aside = {
            c.name for c in self.sheet.columns if compares and "age" in name_parts(c.name)
        }  # who does better is not older
        ends = self.sheet.structure.survival.values() if param.role in _COMPARES else ()
        able = [c for c in self.sheet.columns if fits(c, self.sheet) >= 0.65 and c.name not in (*used, *ends, *aside)
                and not self._ruled_out(param, c.name) and self.reading.parts.get(c.name) != {"adjust"} and c.name not in self.alone]  # fmt: skip
        if param.called:  # what is conventionally called alike is not what merely fits
            able = [column for column in able if called(param, column.name)]
        if len(able) > 1 and param.role == "group" and self.of_two_levels:
            # What was done to samples has a control; their sex, site or batch has none.
            able = [column for column in able if has_control(column.levels)]
        # What is left of a table of which all else is named needs no better sign, were it a time (`is A better than B`).
        named = {*self.reading.columns()}
        left = [c for c in self.sheet.columns if c.name not in named and not is_id(c)]
        alone = (
            len(left) == 1 and not param.called and not any(is_number(c) for c in self.sheet.columns if c.name in named)
        )
        able = able or [c for c in left if alone and c.name not in used and fits(c, self.sheet) > 0]
        return able[0].name if len(able) == 1 else ""

    def _called_so(self, param: ParamSpec) -> list[str]:
        """Return the columns that fit a parameter and have one of its conventional names."""
        fits, traits = slot_of(param.role).fits, set[str]()
        if param.role == "exposure" and any(
            p.role == "count" for p in self.params
        ):  # the area of a pond is none that each of its hauls was taken from
            traits = {name for item in self.sheet.structure.repeated for name in item.between}
        able = [c.name for c in self.sheet.columns if called(param, c.name) and fits(c, self.sheet) > 0]
        return [name for name in able if name not in traits]

    def _finish(self, chosen: dict[str, Any], used: set[str], total: float) -> None:
        for param in self.many:
            gains = {name: self._gain(param, name) for name in self.free if name not in used}
            picked, guessed = self._several(param, gains, chosen, used)
            if len(picked) >= max(1, param.least):
                chosen[param.name + ("*" if guessed else "")] = picked
                used |= set(picked)
                total += sum(0.8 * max(0.12, gains.get(name, 0.15)) for name in picked[:4])
            elif param.name in self.needed:
                total -= MISSING
        total += self._matched(chosen)
        unused = [n for n in self.free if n not in used and self._counts(n)]
        total -= sum(
            UNUSED * (max(0.0, self.reading.strength(n) - 0.45) / 0.55) for n in unused
        )  # a vague match hardly
        if total > self.best:
            self.best = total
            self.chosen = {key.rstrip("*"): value for key, value in chosen.items()}
            self.guessed = {key.rstrip("*") for key in chosen if key.endswith("*")}

    def _several(
        self, param: ParamSpec, gains: Mapping[str, float], chosen: Mapping[str, Any], used: set[str]
    ) -> tuple[list[str], bool]:
        """Return the columns for a parameter that takes several, and whether no word names one of them."""
        slot = slot_of(param.role)
        picked = [name for name, gain in gains.items() if gain > 0.12]
        picked = list(dict.fromkeys(name for one in picked for name in self._with_replicates(one, slot, used)))
        picked += [name for name in self._between(picked) if name not in (*picked, *used)]
        picked = [name for name in picked if self._like_the_pair(name, chosen) and not self._made_of(name, chosen)]
        measured = [name for name in picked if not self._whom(name)]
        # `check my cow list` is about every column of the list; how many broods there are is asked of broods with several rows.
        picked = measured or [name for name in picked if param.required or not self._each_its_row(name)]
        if param.most:
            best = sorted(picked, key=lambda n: -gains.get(n, 0.0))[: param.most]  # those of a range are not named
            picked = [name for name in picked if name in best]
        guessed = False
        if param.called and len(picked) < max(1, param.least):
            own = self._called_so(param)
            if len(own) >= max(1, param.least) and set(picked) <= set(own):
                picked, guessed = own, not picked
        kin = [f for f in (slot.families(self.sheet) if slot.families else []) if set(picked) & set(f)]
        if param.role == "wide" and len(kin) > 1:  # occasions are of one measurement: that which is named first
            kin = [min(kin, key=lambda f: min(m.first for m in self.reading.mentions if m.column in f))] if any(
                m.column in f for f in kin for m in self.reading.mentions) else kin[:1]  # fmt: skip
            picked = [name for name in picked if name in kin[0]]
        if (
            param.role == "wide"
            and not kin
            and not _may_be_occasions([c for n in picked if (c := self.sheet.column(n))])
        ):
            picked = []
        if (
            slot.natural is not None
            and not (slot.families and any(self.reading.parts.get(n) == {"adjust"} for n in self.free))
            and (family := kin[0] if len(kin) == 1 else slot.natural(self.sheet))
            and (set(picked) & set(family) or param.name in self.needed)
        ):
            own = [name for name in family if name in picked and name in self.reading.named()]
            several = len(own) > 1 and not _COURSE.search(self.reading.question)
            picked, guessed = own if several else list(family), not set(picked) & set(family)
        takes_all = param.role in ("predictors", "covariates", "measures", "anything") and not param.most
        if self.reading.every and not picked and takes_all:
            picked, guessed = self._all(slot, used), True
            if len(picked) > MANY and not param.required:
                picked = []  # left empty, the step takes all
        return picked, guessed

    def _made_of(self, name: str, chosen: Mapping[str, Any]) -> bool:
        """Say whether a column is computed from what it would explain: `cases / pyrs` is no cause of cases."""
        made = next((made for made in self.sheet.made if made.column == name), None)
        explained = [chosen.get(p.name) or chosen.get(f"{p.name}*") for p in self.singles if p.role in _MODELLED]
        return made is not None and any(f"`{other}`" in made.expression for other in explained)

    def _like_the_pair(self, name: str, chosen: Mapping[str, Any]) -> bool:
        """Say whether a column could hold what a chosen pair of columns holds: a height is no further reading of a weight."""
        pair = [chosen.get(p.name) or chosen.get(f"{p.name}*") for p in self.singles if slot_of(p.role).pairs]
        columns = [column for other in [name, *pair] if other and (column := self.sheet.column(other))]
        return len(columns) < 2 or len({column.unit for column in columns if column.unit}) < 2

    def _matched(self, chosen: dict[str, Any]) -> float:
        """Return what speaks for two columns that are to hold one quantity, or against them."""
        pair = [chosen.get(p.name) or chosen.get(f"{p.name}*") for p in self.singles if slot_of(p.role).pairs]
        names = [str(name) for name in pair if name]
        if len(names) != 2:
            return 0.0
        if {*names} in [{*pair} for pair in self.sheet.structure.same_quantity]:
            return PAIRED
        if set(names) & {*self.sheet.structure.doses, *self.sheet.structure.times}:
            return -MISSING  # a dose is no second reading of a length
        first, second = (self.sheet.column(name) for name in names)
        if self.sheet.structure.of_several_measures(names) or len({unit_of(name) for name in names} - {""}) > 1:
            return -2 * MISSING  # rather none than hours taken from a pressure
        return -MISSING if first and second and is_number(first) != is_number(second) else 0.0

    def _counts(self, name: str) -> bool:
        """Say whether a named column that nothing takes speaks against the assignment."""
        column = self.sheet.column(name)
        if (column is not None and is_id(column)) or self._only_left_out(name) or name in self.reading.counted_for:
            return False  # `the patients` are whom the rows are about
        return name in self.reading.named() or self._contrasted(name)

    def _other_group(self, name: str) -> bool:
        """Say whether another column is named by which groups could be told apart."""
        others = {*self.reading.named()} - {name, *self.kept, *self.sheet.structure.survival.values()}
        others = [other for other in others if not self.reading.is_a(other, "outcome", "subject", "adjust")]
        return any(is_group(column) for other in others if (column := self.sheet.column(other)) is not None)

    def _with_replicates(self, name: str, slot: Any, used: set[str]) -> list[str]:
        """Return a column with those that the same words name and that differ by a last number or letter: WT_1, WT_2."""
        base = _LAST.sub("", name)
        words = next((m for m in self.reading.mentions if m.column == name and not m.level), None)
        if words is None or base == name:
            return [name]
        alike = {name, *words.rivals}
        family = [c.name for c in self.sheet.columns if _LAST.sub("", c.name) == base]
        if self.reading.strength(name) < 1 and sum(other in alike for other in family) > 2:
            alike |= set(family)  # `the genes` are gene1 to gene200
        return [c.name for c in self.sheet.columns if c.name in alike and _LAST.sub("", c.name) == base
                and c.name not in used and slot.fits(c, self.sheet) > 0]  # fmt: skip

    def _between(self, picked: list[str]) -> list[str]:
        """Return the columns that a range of two named ones takes in: `x1 to x6`, in the file's order `head through belly`."""
        named = [m for m in self.reading.mentions if not m.level and m.column in picked]
        found: list[str] = []
        for one, other in pairwise(named):
            gap = self.reading.question[self.reading.words[one.last].end : self.reading.words[other.first].start]
            if _THROUGH.search(gap):
                order = [c.name for c in self.sheet.columns]
                inside = order[order.index(one.column) + 1 : order.index(other.column)]
                found += [name for name in inside if (c := self.sheet.column(name)) and is_number(c) and not is_id(c)]
                continue
            ends = [_NUMBERED.fullmatch(name) for name in (one.column, other.column)]
            if not _TO.fullmatch(gap.strip()) or not (ends[0] and ends[1]) or ends[0][1] != ends[1][1]:
                continue
            low, high = sorted(int(end[2]) for end in ends if end)
            for column in self.sheet.columns:
                match = _NUMBERED.fullmatch(column.name)
                if match and match[1] == ends[0][1] and low < int(match[2]) < high:
                    found.append(column.name)
        return found

    def _whom(self, name: str) -> bool:
        """Say whether a named column is whom the question is about (`the dogs`) and not a column that is meant."""
        column = self.sheet.column(name)
        written = len(name_parts(name)) > 1 and self.reading.strength(name) == 1.0
        return column is not None and is_id(column) and not written

    def _each_its_row(self, name: str) -> bool:
        column = self.sheet.column(name)
        return column is not None and column.distinct >= EVERY_ROW * (self.sheet.profile.rows or 1)

    def _all(self, slot: Any, used: set[str]) -> list[str]:
        able = [c.name for c in self.sheet.columns if c.name not in used and c.distinct > 1]
        return [name for name in able if slot.fits(self.sheet.column(name), self.sheet) >= 0.6]
