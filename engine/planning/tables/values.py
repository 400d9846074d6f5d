"""Reads the rows of a file as the planner needs them: texts and numbers, the `obs` columns of single-cell data."""

# The stubs of pandas and h5py give wide unions for plain indexing, which these functions narrow by what they read.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportReturnType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.domain.profile import Profile

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def load_rows(profile: Profile) -> pd.DataFrame:
    """Return a table's rows, or the `obs` columns of a single-cell file."""
    if profile.format == "h5ad":
        return _read_obs(Path(profile.path))
    from engine.domain.datatypes import TABULAR, DataType
    from engine.toolbox.io import read_data

    guess = next((g for g in profile.types if g.type in TABULAR), profile.types[0])
    read = {key: value for key, value in guess.read.items() if key not in ("index_col", "transpose", "header")}
    kind = DataType.TABLE if guess.type in TABULAR else guess.type
    return read_data(profile.path, kind.value, **read)


def _read_obs(path: Path) -> pd.DataFrame:
    import h5py
    import numpy as np
    import pandas as pd

    def text(values: np.ndarray) -> list[str]:
        return [value.decode() if isinstance(value, bytes) else str(value) for value in values]

    columns: dict[str, object] = {}
    with h5py.File(path) as file:
        obs = file["obs"]
        if isinstance(obs, h5py.Dataset):  # scanpy before 0.7 stored obs as one compound array
            rows = obs[:]
            for name in rows.dtype.names or ():
                values = rows[name]
                columns[name] = text(values) if values.dtype.kind in "OS" else values
            return pd.DataFrame(columns)
        for name in obs:
            if name in ("_index", "__categories") or name == obs.attrs.get("_index"):
                continue
            item = obs[name]
            if isinstance(item, h5py.Group) and "codes" in item and "categories" in item:
                names = np.array([*text(item["categories"][:]), ""], dtype=object)
                codes = item["codes"][:]
                columns[name] = pd.Series(names[codes]).where(codes >= 0)
            elif isinstance(item, h5py.Dataset) and item.ndim == 1:
                values = item[:]
                columns[name] = pd.Series(text(values) if values.dtype.kind in "OS" else values)
    return pd.DataFrame(columns)
