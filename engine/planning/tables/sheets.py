"""The data as the planner sees them: each file with its columns and structure, and the values when a decision needs them."""

# pandas has no stubs of its own.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.data.catalogue import accepts
from engine.data.structure.scales import HINTS
from engine.domain.datatypes import DataType
from engine.domain.profile import ColumnProfile, Profile, Repeated, Structure, TypeGuess
from engine.text.names import name_parts

if TYPE_CHECKING:
    import pandas as pd

LEAST_CONFIDENCE = 0.3
"""A file the profiler believes in less is not used for a type unless it is all there is."""
NUMBERS = ("number", "count", "share")
FEW = 12
"""So many different numbers still make groups."""


def usable(profile: Profile) -> list[TypeGuess]:
    """Return the types a file may be used as."""
    return [guess for guess in profile.types if guess.confidence >= LEAST_CONFIDENCE] or profile.types[:1]


def is_number(column: ColumnProfile) -> bool:
    """Say whether a column can be calculated with; codes and ids cannot, whatever their digits."""
    numeric = column.kind in ("integer", "number")
    return numeric and column.scale in (*NUMBERS, "ordered", "binary")


def cases_and_controls(column: ColumnProfile) -> bool:
    """Say whether levels, or what they stand for, tell who had the outcome, in a study that chose its subjects by it."""
    told = (column.codes.get(level, level) for level in column.levels)
    return {level.strip().lower().rstrip("s") for level in told} == {"case", "control"}


def was_given(column: ColumnProfile) -> bool:
    """Say whether a column tells what was done to the subjects: a treatment's name, or a placebo among its levels."""
    named = [part for part in name_parts(column.name) if not part.isdigit() and part not in _NAMELESS]
    sham = {re.sub(r"\W", "", level.lower()) for level in column.levels} & _NOT_GIVEN
    return is_group(column) and (bool(sham) or (bool(named) and {*named} <= HINTS["given"]))


_NAMELESS = frozenset({"study", "trial", "group", "code", "name", "assigned", "type", "the"})
_NOT_GIVEN = frozenset({"placebo", "sham", "vehicle", "untreated", "mock"})


def is_group(column: ColumnProfile) -> bool:
    """Say whether a column's values are a few groups: names, yes or no, codes, or few ordered numbers."""
    if column.scale in ("category", "binary", "ordered"):
        return 2 <= column.distinct <= 60
    apart = (
        column.scale != "number" or max(column.levels.values(), default=0) > 1
    )  # of few rows each has its own number
    return column.scale in ("code", *NUMBERS) and bool(column.levels) and 2 <= column.distinct <= FEW and apart


MANY = 30
"""A model takes codes with more levels than this for nothing but names."""


EVERY_ROW = 0.95
"""A column that names rows differs in such a share of them; a few may stand there twice."""


def is_id(column: ColumnProfile) -> bool:
    """Say whether a column only names rows or subjects: never an outcome, never a predictor."""
    if column.scale in ("number", "count", "ordered") and column.kind == "integer":
        nouns = [[part for part in name_parts(name) if part not in _NUMBERED] for name in (column.name, column.label)]
        one = any(len(noun) == 1 and noun[0] in THINGS for noun in nouns)
        return (
            column.minimum or 0
        ) >= 1 and one  # `piglet` 1 to 17 in every litter, `lance` that a legend calls haul number
    if column.scale == "code" and column.role("batch") >= 0.5 and column.distinct <= MANY:
        return False  # centres and plates are adjusted for, as groups
    return column.scale in ("identifier", "code") and (column.scale == "identifier" or column.distinct > FEW)


def numbers_things(column: ColumnProfile) -> bool:
    """Say whether a column numbers what was observed (`ward` 1 to 6, `plot_no`): whom the rows are about."""
    parts = [part for part in name_parts(column.name) if part not in _NUMBERED and not part.isdigit()]
    counted = column.scale in ("count", "number")  # `cores` counts them, `core` numbers them
    things = {part if counted else part.removesuffix("s") for part in parts[-1:]} & THINGS  # a plant date is no plant
    numbered = column.scale == "code" or (column.levels and all(map(_LABELLED.fullmatch, column.levels)))
    return is_id(column) or (bool(numbered) and bool(things))


_LABELLED = re.compile(r"[A-Za-z]{0,2}[ _.-]?\d{1,4}")
"""`c1`, `r 2`"""


THINGS = frozenset(
    "patient subject animal person individual participant volunteer donor sample specimen mouse rat dog cat cow calf sheep "
    "lamb goat pig piglet sow horse chick bird fish pup litter cage pen tank nest herd flock colony hive tree plant leaf pot "
    "plot quadrat transect trap net ward bed clinic practice family household twin eye tooth slide section field well plate "
    "pod ear spike core crypt nodule "
    "dish tube vial culture neuron axon islet organoid spheroid replicate rep case haul tow dive stay admission cell tray embryo dam ewe".split()
)
"""Nouns of general language for what is observed one by one."""
_NUMBERED = frozenset("no nr num number id".split())


class Made(NamedTuple):
    """A column that a step makes: its name, its formula and why it is needed."""

    column: str
    expression: str
    why: str
    happened: bool = False
    """Whether the level of it that a question names is what happened: it keeps no rows."""


@dataclass(slots=True)
class Sheet:
    """One file, perhaps with columns that steps would make of it."""

    profile: Profile
    made: tuple[Made, ...] = ()
    step: str = ""
    """The output of a step that the rows come from, where they are no file's."""
    rows: pd.DataFrame | None = None
    """The rows once they are read, see `frame`."""
    files: tuple[str, ...] = ()
    """What other files are called whose rows are in it."""

    @property
    def name(self) -> str:
        """The file's name."""
        return self.profile.name

    @property
    def columns(self) -> list[ColumnProfile]:
        """Its columns."""
        return self.profile.column_profiles

    @property
    def structure(self) -> Structure:
        """What its rows are."""
        return self.profile.structure

    def column(self, name: str) -> ColumnProfile | None:
        """Return a column, or None."""
        return self.profile.column(name)

    def serves(self, wanted: DataType) -> TypeGuess | None:
        """Return how the file serves as a type; as a table anything tabular does."""
        able = [guess for guess in usable(self.profile) if guess.type == wanted]
        if not able and wanted is DataType.TABLE:
            able = [guess for guess in usable(self.profile) if accepts(wanted, guess.type)]
        return able[0] if able else None

    def repeated(self, *, by: str = "") -> Repeated | None:
        """Return the surest repetition of subjects, of the subject column `by` if that is given."""
        found = [item for item in self.structure.repeated if not by or item.subject == by]
        return found[0] if found else None

    def frame(self) -> pd.DataFrame:
        """Return the rows, read once."""
        if self.rows is None:
            from engine.planning.tables.values import load_rows

            self.rows = load_rows(self.profile)
        return self.rows


@dataclass(slots=True)
class Data:
    """All files of a question."""

    sheets: list[Sheet] = field(default_factory=list)

    @classmethod
    def of(cls, profiles: Iterable[Profile]) -> Data:
        """Make it from the profiles of usable files."""
        return cls([Sheet(profile) for profile in profiles if profile.types])

    def again(self, profile: Profile) -> Profile:
        """Return the profile of the same file as it is here, where the question changed how it is read."""
        return next((sheet.profile for sheet in self.sheets if sheet.profile.path == profile.path), profile)

    def seen(self, sheet: Sheet, shown: Sheet) -> Data:
        """Return the data with one of the files seen otherwise."""
        return Data([shown if one is sheet else one for one in self.sheets])

    def types(self) -> set[DataType]:
        """Return every type some file serves as."""
        return {guess.type for sheet in self.sheets for guess in usable(sheet.profile)}

    def serving(self, wanted: DataType) -> list[Sheet]:
        """Return the files that serve as a type: those of exactly this type first, the most certain first."""
        able = [(sheet.serves(wanted), sheet) for sheet in self.sheets]
        good = [(guess, sheet) for guess, sheet in able if guess is not None]
        good.sort(key=lambda item: (item[0].type != wanted, -item[0].confidence))
        return [sheet for _, sheet in good]

    def called(self) -> list[str]:
        """Return what a question may call the files as a whole, and their sheets."""
        return [name for sheet in self.sheets for name in (*sheet.profile.called, *sheet.files)]

    def columns(self) -> list[ColumnProfile]:
        """Return the columns of all files, those of the first file first."""
        seen: dict[str, ColumnProfile] = {}
        for sheet in self.sheets:
            for column in sheet.columns:
                seen.setdefault(column.name, column)
        return list(seen.values())

    def column(self, name: str) -> ColumnProfile | None:
        """Return a column of any file, or None."""
        return next((column for sheet in self.sheets if (column := sheet.column(name))), None)

    def home(self, names: Sequence[str]) -> Sheet | None:
        """Return the file that holds most of these columns."""
        if not self.sheets:
            return None
        return max(self.sheets, key=lambda sheet: sum(sheet.column(name) is not None for name in names))


_FREQUENCY = frozenset("freq freqs frequency frequencies n".split())
"""What a column is called that says how often each combination of the others came: a table of counts written as a list."""
_CROSSED = 0.5
"""Such a share of all combinations is listed; the others did not come."""


def listed_counts(sheet: Sheet) -> str:
    """Return the column of a list of combinations that says how often each came, "" where there is none.

    Every combination of the other columns, all of them groups, stands there once: its rows are not what was observed.
    """
    counts = [c for c in sheet.columns if {*name_parts(c.name)} <= _FREQUENCY and c.kind == "integer"]
    groups = [c for c in sheet.columns if c not in counts]
    if len(counts) != 1 or len(groups) < 2 or (counts[0].minimum or 0) < 0 or not all(map(is_group, groups)):
        return ""
    frame: Any = sheet.frame()
    every = math.prod(c.distinct for c in groups)
    once = not bool(frame.duplicated([c.name for c in groups]).any())
    return counts[0].name if once and len(frame) >= _CROSSED * every else ""
