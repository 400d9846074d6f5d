"""What a look at a file found: what it can serve as, its shape, its columns and what is wrong."""

from __future__ import annotations

from typing import Any, Literal

from engine.domain.base import Value
from engine.domain.datatypes import DataType

ColumnKind = Literal["integer", "number", "category", "boolean", "text", "identifier", "date"]
Role = Literal["id", "group", "time", "event", "count", "covariate", "pair", "batch", "measure", "gene"]


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

    def role(self, role: Role) -> float:
        """Return the confidence that this column plays `role`, 0 when it was not guessed."""
        return max((guess.confidence for guess in self.roles if guess.role == role), default=0.0)


class TypeGuess(Value):
    """A type the file can serve as, and how to read it as that type."""

    type: DataType
    confidence: float
    read: dict[str, Any] = {}
    """Options for `engine.toolbox.io.read_<type>`: separator, encoding, decimal, index column..."""


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
    summary: str
    warnings: list[str] = []
    column_profiles: list[ColumnProfile] = []
    """Columns of a table, of a sample sheet, or of `obs`; for a matrix only its non-sample columns."""
    sample_ids: list[str] = []
    """Sample (or cell) names, at most 5,000: a matrix's columns, a sample sheet's row names."""
    feature_ids: list[str] = []
    """The first 200 feature names of a matrix, or of `var`."""
    feature_kind: str | None = None
    """`ensembl`, `symbol`, `entrez`, or None when the features are not recognisable genes."""
    organism: str | None = None
    """`human` or `mouse` where the identifiers say so."""
    details: dict[str, Any] = {}

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
