"""What a matrix measures as columns of its list of samples: a question about one protein by arm and visit is one of a table."""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from engine.data.catalogue import read_data
from engine.data.matching import match_samples
from engine.data.structure.rows import look
from engine.domain.datatypes import MATRICES, DataType
from engine.domain.profile import TypeGuess
from engine.domain.toolspec import ToolSpec
from engine.errors import PlanError
from engine.planning.making.builder import StepBuilder
from engine.planning.tables.as_tools import features_called
from engine.planning.tables.samples import matrix_of, sample_sheet, samples_column
from engine.planning.tables.sheets import Data, Sheet

if TYPE_CHECKING:
    import pandas as pd

MOST = 12
"""A table of more features than this is a matrix."""


class Features(NamedTuple):
    """Features of a matrix that are named, with the files they come from."""

    names: tuple[str, ...]
    matrix: Sheet
    sheet: Sheet
    sample: str
    """The column of the list that names the samples."""


def stands_beside(spec: ToolSpec) -> bool:
    """Say whether a step puts features of a matrix beside its samples."""
    return any(p.role == "as_columns" for p in spec.params)


def features_named(names: Iterable[str], data: Data) -> Features | None:
    """Return what of names are features of the matrix, None where there is no matrix with a list of its samples, or none is."""
    profile = matrix_of(data)
    matrix = next((s for s in data.sheets if s.profile is profile), None)
    wanted = [name for name in dict.fromkeys(names) if data.column(name) is None]
    if matrix is None or not wanted or (sheet := _list_of_samples(data)) is None:
        return None
    found = features_called(_values(matrix), wanted)
    sample = samples_column(data, sheet)
    return Features(tuple(found), matrix, sheet, sample) if 0 < len(found) <= MOST and sample else None


def told_of_features(data: Data) -> str:
    """Return what table a matrix and the list of its samples make, in a sentence; "" where they are not there."""
    profile = matrix_of(data)
    if profile is None or _list_of_samples(data) is None:
        return ""
    log = " (log2 counts per million)" if profile.best and profile.best.type is DataType.COUNT_MATRIX else ""
    return (
        f"Features of {profile.name}, up to {MOST}, may be named by a goal that takes one table, as columns{log} beside those of "
        "the list of its samples: they are put into one table first, one row a sample."
    )


def beside_samples(found: Features, builder: StepBuilder) -> Data:
    """Plan the step that puts features beside the samples; return the one table that it makes."""
    spec = next(tool for tool in builder.registry if stands_beside(tool))
    own = {p.role: p.name for p in spec.params}
    port = next(p for p in spec.inputs if p.type is DataType.TABLE)
    why = f"The question is about {', '.join(map(repr, found.names))} of {found.matrix.name}, sample by sample."
    builder.about("", "")
    params = {own["as_columns"]: [*found.names], own["key"]: found.sample}
    node = builder.add(spec, params, inputs={port.name: builder.use(found.sheet, DataType.TABLE)}, reasons=[why])
    values = _values(found.matrix)
    called = match_samples(found.matrix.profile, found.sheet.profile).called
    frame = found.sheet.frame().copy()
    keys = [called.get(str(one).strip(), str(one).strip()) for one in frame[found.sample]]
    places = features_called(values, found.names)
    samples = {str(column).strip(): at for at, column in enumerate(values.columns)}
    frame = frame[[key in samples for key in keys]]
    at = [samples[key] for key in keys if key in samples]
    frame = frame.assign(**{name: values.iloc[row].to_numpy()[at] for name, row in places.items()})
    known = {column.name: column for column in found.sheet.columns}
    profiles, structure = look(frame)
    update = {
        "column_profiles": [known.get(column.name, column).seen_anew(column) for column in profiles],
        "structure": structure, "rows": len(frame), "types": [TypeGuess(type=DataType.TABLE, confidence=1.0)],
    }  # fmt: skip
    output = next(out.name for out in spec.outputs if out.type is DataType.TABLE)
    return Data([Sheet(found.sheet.profile.model_copy(update=update), step=f"{node}.{output}", rows=frame)])


def _list_of_samples(data: Data) -> Sheet | None:
    """Return the list of the matrix' samples; a table of something else beside a matrix is none."""
    with contextlib.suppress(PlanError):
        return sample_sheet(data)
    return None


def _values(matrix: Sheet) -> pd.DataFrame:
    guess = next(g for g in matrix.profile.types if g.type in MATRICES)
    return read_data(matrix.profile.path, guess.type, **guess.read)
