"""Sample sheets."""

from __future__ import annotations

from engine.data.columns.column import profile_column, row_numbers
from engine.data.found import TableFound, best
from engine.data.kind import Kind, write_named_rows
from engine.data.kinds.table import read_table
from engine.data.schema import Field, Schema
from engine.data.source import Frame
from engine.data.structure.roles import words
from engine.data.structure.rows import look
from engine.domain.datatypes import DataType
from engine.domain.profile import TypeGuess

_SCHEMA = Schema(
    fields=(Field(name="sample", meaning="a sample's name", kind="text",
                  pattern=r"samples?|sampleid|samplename|library"),),
    index="sample",
)  # fmt: skip


def _sample_sheet(table: TableFound, frame: Frame) -> list[TypeGuess]:
    """Offer the table as a sample sheet: a column that names the rows and one that groups them."""
    columns = table.column_profiles
    first = str(frame.columns[0]) if len(frame.columns) else ""
    if columns and first not in {c.name for c in columns} and first:
        columns = look(frame, [profile_column(first, frame[first]), *columns])[0]
    group, identity = best(columns, "group"), best(columns, "id")
    if group is None or identity is None or len(frame) < 2 or len(frame) > 20_000 or len(columns) > 80:
        return []
    leading = [c for c in columns if c.role("id") >= 0.8]
    identity = leading[0] if leading else identity
    if (identity.kind == "integer" or row_numbers(frame[identity.name])) and not any(
        map(_SCHEMA.field("sample").called, words(identity.name))
    ):
        confidence = 0.35
    else:
        measures = sum(c.kind == "number" for c in columns)
        confidence = 0.5 + 0.45 * group.role("group") - 0.05 * max(0, measures - 3)
    if any(c.role("gene") > 0.8 for c in columns) or table.genes.kind:
        confidence = min(confidence, 0.3)
    if confidence < 0.2:
        return []
    if not table.sample_ids:
        first_texts = table.first_column(frame) if identity.name == frame.columns[0] else None
        table.sample_ids = (first_texts or frame[identity.name].astype(str).str.strip().tolist())[:5000]
    read = table.read | {"index_col": identity.name}
    return [TypeGuess(type=DataType.SAMPLE_SHEET, confidence=round(confidence, 2), read=read)]


def _summary(table: TableFound) -> str:
    group = best(table.column_profiles, "group")
    levels = ", ".join(f"{level} {count}" for level, count in list(group.levels.items())[:6]) if group else ""
    grouped = f", grouped by {group.name!r} ({levels})" if group else ""
    return f"A sample sheet of {table.count('sample')}{grouped}"


SAMPLE_SHEET = Kind(
    type=DataType.SAMPLE_SHEET, words="a sample sheet (one row a sample, with the groups to compare)", records=True,
    general=1, schema=_SCHEMA, read=read_table, write=write_named_rows, stored={"index_col": 0},
    in_table=_sample_sheet, summary=_summary,
)  # fmt: skip
