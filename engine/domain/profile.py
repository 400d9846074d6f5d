"""What a look at a file found: what it can serve as, its shape, its columns and what is wrong."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from engine.domain.base import Value
from engine.domain.datatypes import MATRICES, DataType
from engine.domain.encoding.hashing import sha256_value

ColumnKind = Literal["integer", "number", "category", "boolean", "text", "identifier", "date"]
Role = Literal[
    "id",
    "group",
    "time",
    "event",
    "count",
    "covariate",
    "pair",
    "batch",
    "measure",
    "gene",
    "dose",
    "p_value",
    "outcome",
]
Scale = Literal["number", "count", "share", "binary", "category", "ordered", "code", "identifier", "date", "text"]
"""What the values of a column are, whatever it is called: `number` a measurement, `count` whole numbers from 0 on
that count something, `share` between 0 and 1 or percent, `binary` two states, `category` names without an order,
`ordered` names or few numbers with one (doses, stages, Wk0 < Wk12), `code` numbers that only name something (patient
17, centre 3), `identifier` a different text in (nearly) every row, `date`, `text` free words."""


class RoleGuess(Value):
    """A part a column could play in an analysis."""

    role: Role
    confidence: float
    why: str = ""


class ColumnProfile(Value):
    """One column of a table (or one `obs` column of single-cell data)."""

    name: str
    kind: ColumnKind
    missing: int = 0
    distinct: int = 0
    levels: dict[str, int] = {}
    """Level -> rows, most frequent first; filled when there are at most 30 distinct values."""
    minimum: float | None = None
    maximum: float | None = None
    roles: list[RoleGuess] = []
    scale: Scale = "text"
    unit: str = ""
    """The unit that the column's name or a units row states, as written."""
    order: list[str] = []
    """The levels from lowest to highest, for `ordered` columns and for two states with a natural first (no, yes)."""
    notes: list[str] = []
    """What was found in the values beyond that: cells such as `n.d.` or `<0.1` and how they are read, codes,
    outliers."""
    words_among_numbers: bool = False
    """Numbers but for words that are no accidents (`BLQ`, `Undetermined`): tools that know such words can read it."""
    label: str = ""
    """What a legend calls the column, in words."""
    codes: dict[str, str] = {}
    """Level -> what it stands for, where a legend says so."""
    corrected: str = ""
    """What a person said this column is, when that differs from what was found."""

    def seen_anew(self, seen: ColumnProfile) -> ColumnProfile:
        """Return the column as its values are judged again: what a person or a legend says of it is not in its rows."""
        if self.corrected:
            return self
        return seen.model_copy(update={name: getattr(self, name) for name in ("unit", "notes", "label", "codes")})

    def role(self, role: Role) -> float:
        """Return the confidence that this column plays `role`, 0 when it was not guessed."""
        return max((guess.confidence for guess in self.roles if guess.role == role), default=0.0)


class Repeated(Value):
    """Several rows of one subject: the rows are not independent."""

    subject: str
    """The column that names the subject, litter, site or plot."""
    subjects: int
    within: list[str] = []
    """Columns that change within a subject and tell its rows apart (time, condition, dose), the best first."""
    between: list[str] = []
    """Columns that are the same in all rows of a subject (its group, sex, baseline)."""
    complete: bool = False
    """True when every subject has exactly one row for each level of the first column of `within`."""
    confidence: float = 1.0
    why: str = ""
    restarts_in: str = ""
    """The column in each of whose levels the numbers of the subjects start anew, so that both together name one."""


class WideMeasure(Value):
    """One measurement written as several columns, one a time or condition (`bdi.pre`, `bdi.2m`, `bdi.4m`)."""

    name: str
    """What is measured: the common part of the names."""
    columns: list[str]
    """In their order, earliest or lowest first."""
    labels: list[str]
    """What tells them apart: `pre`, `2m`, `4m`."""
    ordered: bool = False


class Structure(Value):
    """What the rows of a table are, found from its values."""

    unit: str = "row"
    """What one row is, in words: `one patient`, `one measurement of a tree`."""
    repeated: list[Repeated] = []
    """Subjects with several rows, the most certain first."""
    nested: list[tuple[str, str]] = []
    """(inner, outer): every level of inner lies within one level of outer."""
    crossed: list[tuple[str, str]] = []
    """Pairs of category columns of which every combination occurs."""
    wide: list[WideMeasure] = []
    same_quantity: list[tuple[str, str]] = []
    """Two columns that hold the same quantity, obtained in two ways (told and measured, method A and B)."""
    part_of: dict[str, str] = {}
    """A count -> the total it is a part of (positive of tested, dead of exposed)."""
    compositions: list[list[str]] = []
    """Columns that add up to a constant, or are counts of parts of one whole."""
    times: list[str] = []
    """Columns that are a time or an occasion."""
    survival: dict[str, str] = {}
    """`time`, `event` and `event_value`, also `start` for start-stop data, when the table holds times to an event."""
    dated: dict[str, str] = {}
    """`entry` and `exit`, two dates, where times to an event are given so, with `event` and `event_value`, or `came`,
    the date on which it did (or the day, with `until`, the last day that the others were seen)."""
    begins: dict[str, str] = {}
    """A state that subjects came into while they were watched -> the time at which they did."""
    units: dict[str, str] = {}
    """A column of numbers -> the column that gives the unit of each of them, where there are several."""
    doses: list[str] = []
    """Columns that are doses or concentrations, also log-spaced or with a zero group."""

    def of_several_measures(self, names: Collection[str]) -> bool:
        """Say whether columns are all of occasions and not of one measurement: a pressure and hours a night."""
        own = [next((w.name for w in self.wide if w.ordered and name in w.columns), "") for name in names]
        return all(own) and len({*own}) > 1


class TypeGuess(Value):
    """A type the file can serve as, and how to read it as that type."""

    type: DataType
    confidence: float
    read: dict[str, Any] = {}
    """Options of the reader of its kind (`engine/data/kinds/`): separator, encoding, decimal, index column..."""


class Profile(Value):
    """A file, looked at: the whole that the planner knows of the user's data."""

    path: str
    name: str
    """The file's name without folders: how plans and questions refer to it."""
    format: str
    bytes: int
    sha256: str
    types: list[TypeGuess]
    """Best first. Empty when the file cannot be used; `warnings` then says why."""
    rows: int | None = None
    columns: int | None = None
    looked_at: int | None = None
    """How many rows, the first ones, were looked at when that was not all; None for all. What is said of values,
    missing cells and levels then holds for these."""
    rows_estimated: bool = False
    """True when `rows` was not counted to the end of the file."""
    summary: str
    warnings: list[str] = []
    column_profiles: list[ColumnProfile] = []
    """Columns of a table, of a sample sheet, or of `obs`; for a matrix only its non-sample columns."""
    head: dict[str, list[str]] = {}
    """The first rows as they are read: column -> cells, at most 30 columns of 6 rows, long cells cut."""
    sample_ids: list[str] = []
    """Sample (or cell) names, at most 5,000: a matrix's columns, a sample sheet's row names."""
    feature_ids: list[str] = []
    """The first 200 feature names of a matrix, or of `var`."""
    feature_kind: str | None = None
    """`ensembl`, `symbol`, `entrez`, or None when the features are not recognisable genes."""
    organism: str | None = None
    """`human` or `mouse` where the identifiers say so."""
    details: dict[str, Any] = {}
    structure: Structure = Structure()
    others: list[Profile] = []
    """Of a workbook with several tables: the same file read for each of its other sheets."""

    @property
    def called(self) -> list[str]:
        """What a question may call the data as a whole: the file, and the sheet where it has several with tables."""
        sheet = self.best.read.get("sheet", "") if self.best is not None and self.others else ""
        return [self.name, *([str(sheet)] if sheet else [])]

    def warnings_as(self, used: Collection[DataType]) -> list[str]:
        """Return the warnings that hold where the file is read as these types: library sizes are of a matrix only."""
        of_matrix: list[str] = self.details.get("of_matrix", []) if not {*MATRICES} & {*used} else []
        return [warning for warning in self.warnings if warning not in of_matrix]

    @property
    def columns_sha256(self) -> str:
        """A hash of the columns' names, whatever their order: the same for files of one form. Empty without columns."""
        names = [column.name for column in self.column_profiles]
        # A matrix has its samples as columns, and these tell two matrices apart.
        names += self.sample_ids if len(names) != self.columns else []
        return sha256_value(sorted(names)) if names else ""

    @property
    def extent(self) -> str:
        """What the numbers of the columns hold for, in words, when that is not the whole file; else empty."""
        return f"counted in the first {self.looked_at:,} rows" if self.looked_at is not None else ""

    @property
    def rows_text(self) -> str:
        """The number of rows in words: `1,200`, `about 1,200` when it was not counted; empty when there are none."""
        return "" if self.rows is None else f"{'about ' if self.rows_estimated else ''}{self.rows:,}"

    @property
    def best(self) -> TypeGuess | None:
        """The most likely type, or None for a file that cannot be used."""
        return self.types[0] if self.types else None

    def serves_as(self, wanted: DataType) -> TypeGuess | None:
        """Return how this file can serve as `wanted`, or None."""
        return next((guess for guess in self.types if guess.type == wanted), None)

    def column(self, name: str) -> ColumnProfile | None:
        """Return the profile of the column called `name`, or None."""
        return next((column for column in self.column_profiles if column.name == name), None)
