"""What a look at a file's content found."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from engine.data.columns.genes import GeneIds, describe
from engine.data.source import Frame, TableSource, plural
from engine.domain.datatypes import DataType
from engine.domain.profile import ColumnProfile, Role, Structure, TypeGuess

_NO_GENES = GeneIds(None)


@dataclass
class Found:
    """The fields of a `Profile` that follow from the content; those of the same name mean the same."""

    format: str
    types: list[TypeGuess] = field(default_factory=list)
    summary: str = ""
    warnings: list[str] = field(default_factory=list)
    rows: int | None = None
    feature_ids: list[str] = field(default_factory=list)
    genes: GeneIds = _NO_GENES
    details: dict[str, Any] = field(default_factory=dict)
    columns: int | None = None
    column_profiles: list[ColumnProfile] = field(default_factory=list)
    sample_ids: list[str] = field(default_factory=list)
    structure: Structure = field(default_factory=Structure)
    head: dict[str, list[str]] = field(default_factory=dict)
    looked_at: int | None = None
    rows_estimated: bool = False
    others: list[Found] = field(default_factory=list)
    """What the other sheets of a workbook are."""

    def facts(self) -> dict[str, Any]:
        """Return the fields as a `Profile` takes them."""
        own = {item.name: getattr(self, item.name) for item in fields(Found) if item.name not in ("genes", "others")}
        return own | {
            "warnings": list(dict.fromkeys(self.warnings)),
            "feature_kind": self.genes.kind,
            "organism": self.genes.organism,
        }


class TableFound(Found):
    """What was found in a table so far: the kinds of data that are asked whether it serves as them fill it in."""

    def __init__(self, name: str, source: TableSource) -> None:
        super().__init__(
            source.format,
            warnings=list(source.warnings),
            details=dict(source.details),
        )
        self.name = name
        self.source = source
        self.read = dict(source.read)
        """The options that read it again as a plain table."""

    def count(self, noun: str) -> str:
        """Return the number of rows in words: `12 genes`, `about 1,200 genes` where it was estimated."""
        return ("about " if self.source.sampled else "") + plural(self.source.rows, noun)

    @property
    def note(self) -> str:
        """What its genes are, in brackets, where that is known."""
        return f" ({describe(self.genes)})" if describe(self.genes) else ""

    def first_column(self, frame: Frame) -> list[str] | None:
        """Return the first column as it is written, where that is known."""
        text = self.source.first_column
        return text if text is not None and len(text) == len(frame) else None


def best(columns: list[ColumnProfile], role: Role) -> ColumnProfile | None:
    """Return the column that most likely plays `role`, or None."""
    found = [column for column in columns if column.role(role) > 0]
    return max(found, key=lambda column: column.role(role)) if found else None


def guess(kind: DataType, confidence: float) -> list[TypeGuess]:
    """Return that a file is of one kind, read without options."""
    return [TypeGuess(type=kind, confidence=confidence)]
