"""Reads the rows of a file as the planner needs them: texts and numbers, the `obs` columns of single-cell data."""

# pandas has no stubs of its own.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.data.catalogue import BINARIES, TABULAR, read_data
from engine.data.columns.column import profile_column
from engine.data.structure.problems import LEFT_OUT, REPEATED
from engine.data.structure.rows import look
from engine.domain.profile import Profile

if TYPE_CHECKING:
    import pandas as pd


def load_rows(profile: Profile) -> pd.DataFrame:
    """Return a table's rows, or the `obs` columns of a single-cell file."""
    binary = next((binary for binary in BINARIES if binary.format == profile.format), None)
    if binary is not None:
        return binary.rows(Path(profile.path), whole=True)
    guess = next((g for g in profile.types if g.type in TABULAR), profile.types[0])
    read = {key: value for key, value in guess.read.items() if key not in ("index_col", "transpose", "header")}
    return read_data(profile.path, guess.type, **read)


def read_anew(profile: Profile, **options: Any) -> Profile:
    """Return the profile of a table that is read with further options of `read_table`; warnings stay."""
    types = [guess.model_copy(update={"read": {**guess.read, **options}}) for guess in profile.types]
    read = profile.model_copy(update={"types": types})
    frame = load_rows(read)
    known = {column.name: column for column in profile.column_profiles}
    columns, structure = look(frame, [profile_column(name, frame[name]) for name in known if name in frame])
    seen = [known[column.name].seen_anew(column) for column in columns]
    return read.model_copy(update={"column_profiles": seen, "structure": structure, "rows": len(frame)})


def with_repeats(profile: Profile) -> Profile:
    """Return the profile of a file read with the rows that repeat an earlier one; the same where none was left out."""
    if not any(LEFT_OUT in text for text in profile.warnings):
        return profile
    warnings = [text.replace(LEFT_OUT, REPEATED) for text in profile.warnings]
    return read_anew(profile, once=False).model_copy(update={"warnings": warnings})


def without_repeats(profile: Profile) -> Profile:
    """Return the profile of a file read without rows that repeat an earlier one in every column; the same where there are none."""
    if not any(REPEATED in text for text in profile.warnings):
        return profile
    warnings = [text.replace(REPEATED, LEFT_OUT) for text in profile.warnings]
    return read_anew(profile, once=True).model_copy(update={"warnings": warnings})
