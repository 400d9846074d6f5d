"""Reads the rows of a file as the planner needs them: texts and numbers, the `obs` columns of single-cell data."""

# pandas has no stubs of its own.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.data.catalogue import BINARIES, TABULAR, read_data
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
