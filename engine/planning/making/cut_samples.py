"""Some of the samples of a matrix, or columns that are computed for them: the list of samples first, then the matrix to match.

What comes after sees the list and the matrix as steps make them, so that levels, pairs and batches are those of the samples used.
"""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from engine.data.columns.column import profile_column
from engine.data.matching import match_samples
from engine.data.structure.rows import look
from engine.domain.datatypes import MATRICES, DataType
from engine.domain.profile import TypeGuess
from engine.domain.toolspec import ToolSpec
from engine.errors import PlanError
from engine.planning.binding.bound import Bound
from engine.planning.making.builder import StepBuilder
from engine.planning.tables.as_tools import evaluate_expression
from engine.planning.tables.samples import index_of, matrix_of, sample_sheet, samples_column
from engine.planning.tables.sheets import Data, Made, Sheet
from engine.toolbox.registry import ToolRegistry

if TYPE_CHECKING:
    import pandas as pd


class Samples(NamedTuple):
    """What is to be done to the list of a matrix's samples before a step."""

    sheet: Sheet
    matrix: Sheet
    name: str
    """The column that names the samples."""
    made: tuple[Made, ...]
    rows: str
    """The condition that they meet, "" for all."""
    keeper: ToolSpec
    """The tool that gives the matrix and its list on."""

    @property
    def key(self) -> str:
        """What tells these samples from others."""
        return "\n".join([self.sheet.profile.path, self.rows, *(f"{m.column} = {m.expression}" for m in self.made)])


def lists_samples(spec: ToolSpec) -> bool:
    """Say whether a step takes the list of a matrix's samples."""
    return any(port.type is DataType.SAMPLE_SHEET for port in spec.inputs)


def samples_first(bound: Bound, rows: str, data: Data, registry: ToolRegistry) -> Samples | None:
    """Return what a step needs done to its samples first; None where it takes them as they are, or no step can do it.

    Args:
        bound: the step.
        rows: the condition that its samples meet, "" for all.
        data: the files.
        registry: the tools.

    Raises:
        PlanError: for rows of the matrix, its features, which no step leaves out.
    """
    port = next((p for p in bound.spec.inputs if p.type is DataType.SAMPLE_SHEET), None)
    sheet = bound.sheets.get(port.name) if port is not None else None
    profile = matrix_of(data)
    matrix = next((s for s in data.sheets if s.profile is profile), None)
    both = sheet is not None and sheet.profile.path == (profile.path if profile else "")  # one file is list and matrix
    if sheet is None or matrix is None or sheet.step or not (both or sample_sheet(data) is sheet):
        return None
    for row in bound.rows:
        if sheet.column(row.column) is None:
            raise PlanError(
                f"Rows are to be kept by {row.column!r}, which is no column of {sheet.name}, the list of the samples: no step leaves "
                f"out features of {matrix.name}.",
                advice="Leave them out of the file, or keep samples by a column of their list.",
            )
    used = {*bound.columns(), *(row.column for row in bound.rows)}
    made = tuple(m for m in sheet.made if m.column in used)
    able = [g for g in matrix.profile.types if g.type in MATRICES]
    # What may be read in several ways is cut in the one that the step takes; others are made of the surest.
    taken = {p.type for p in bound.spec.inputs}
    plain = [g for g in able if g.type is not DataType.ABUNDANCE_TABLE or g.type in taken]
    guess = next(iter(plain or able))
    keeper = next((t for t in registry if {p.type for p in t.inputs} == {guess.type, DataType.TABLE}
                   and {o.type for o in t.outputs} == {guess.type, DataType.SAMPLE_SHEET}), None)  # fmt: skip
    name = samples_column(data, sheet)
    if not (rows or made) or keeper is None or not name:
        return None
    return Samples(sheet, matrix, name, made, rows, keeper)


def cut(samples: Samples, bound: Bound, data: Data, builder: StepBuilder) -> Data:
    """Plan the steps that cut the list down and take the matrix to match; return the data as they are then."""
    sheet, name = samples.sheet, samples.name
    ref = builder.with_columns(sheet, DataType.TABLE, [m.column for m in samples.made])
    ref = ref or builder.use(sheet, DataType.TABLE)
    if samples.rows:
        step = next(t for t in builder.registry if any(p.role == "rows" for p in t.params))
        param = next(p.name for p in step.params if p.role == "rows")
        kept = builder.add(step, {param: samples.rows}, inputs={step.inputs[0].name: ref},
                           reasons=["The question is about these samples only."])  # fmt: skip
        ref = f"{kept}.{step.outputs[0].name}"
    keeper = samples.keeper
    of = next(p for p in keeper.inputs if p.type is DataType.TABLE)
    matrix = next(p for p in keeper.inputs if p is not of)
    role = next(p.name for p in keeper.params if p.role == "key")
    node = builder.add(keeper, {role: name}, inputs={matrix.name: builder.use(samples.matrix, matrix.type), of.name: ref},
                       reasons=["Matrix and list of samples are cut to match."])  # fmt: skip
    made = {out.type: f"{node}.{out.name}" for out in keeper.outputs}
    frame = _cut_down(samples)
    columns = [profile_column(c.name, frame[c.name]).model_copy(update={"corrected": c.corrected})
               for c in sheet.columns if c.name in frame]  # fmt: skip
    known = {column.name: column for column in sheet.columns}
    columns, structure = look(frame, columns)
    names = set(frame[name].dropna())
    guess = index_of(data, sheet)
    list_of = sheet.profile.model_copy(update={
        "column_profiles": [known[c.name].seen_anew(c) for c in columns], "structure": structure, "rows": len(frame),
        "types": [TypeGuess(type=DataType.SAMPLE_SHEET, confidence=1.0, read=guess.read)],
        "sample_ids": [*frame[name].dropna()],
        "details": {**sheet.profile.details, "ids": {}},
    })  # fmt: skip
    kept_ids = [s for s in samples.matrix.profile.sample_ids if s in names]
    of_matrix = samples.matrix.profile.model_copy(update={"sample_ids": kept_ids})
    apart = all(own is not sheet for own in data.sheets)  # the list stands in the file that is the matrix
    if apart:
        own_types = [g for g in of_matrix.types if g.type is matrix.type]
        of_matrix = of_matrix.model_copy(update={"types": own_types, "column_profiles": []})
    new = {
        id(sheet): Sheet(list_of, step=made[DataType.SAMPLE_SHEET], rows=frame),
        id(samples.matrix): replace(samples.matrix, profile=of_matrix, step=made[matrix.type]),
    }
    bound.sheets = {port: new.get(id(own), own) for port, own in bound.sheets.items()}
    bound.wired = {port: new.get(id(own), own) for port, own in bound.wired.items()}
    return Data([*(new.get(id(own), own) for own in data.sheets), *([new[id(sheet)]] if apart else [])])


def _cut_down(samples: Samples) -> pd.DataFrame:
    """Return the rows of the samples used, called as the matrix calls them, with the columns that are computed."""
    import pandas as pd

    called = match_samples(samples.matrix.profile, samples.sheet.profile).called
    frame = samples.sheet.frame()
    for made in samples.made:
        if made.column not in frame:
            frame = frame.assign(**{made.column: evaluate_expression(made.expression, frame)})
    if samples.rows:
        frame = frame[evaluate_expression(samples.rows, frame).fillna(False).astype(bool)]
    names = [None if pd.isna(one) else called.get(name := str(one).strip(), name) for one in frame[samples.name]]
    return frame.assign(**{samples.name: names})
