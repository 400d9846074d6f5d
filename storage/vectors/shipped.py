"""Vectors of the texts that ship with Biodesk, kept once an account for all its workspaces.

Only texts of the program itself are given here, never a user's. What is missing or damaged is made again.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

import numpy as np


class ShippedVectors:
    """The `VectorFile` in a folder of the account's cache."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> np.ndarray | None:
        """Return the rows kept under a name, or None when there are none that can be read."""
        try:
            rows = np.load(self._place(name), allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        sound = rows.ndim == 2 and rows.dtype == np.float32 and bool(np.isfinite(rows).all())
        return rows if sound else None

    def write(self, name: str, rows: np.ndarray) -> None:
        """Keep rows under a name; a folder that cannot be written only costs the next workspace some seconds."""
        place = self._place(name)
        passing = place.with_name(f"{place.name}.{os.getpid()}.part")
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with passing.open("wb") as file:
                np.save(file, rows)
            passing.replace(place)

    def _place(self, name: str) -> Path:
        return self._folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.npy"
