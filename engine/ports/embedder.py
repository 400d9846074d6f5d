"""What turns texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def name(self) -> str:
        """Model and the hash of its files, e.g. `all-MiniLM-L6-v2@8f3a12cd`: vectors of two names never mix."""
        ...

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 rows of length 1, shape (len(texts), dimensions). Thread-safe.

        Raises:
            ModelUnavailable: when the model cannot be loaded here; the message says why and what to do.
        """
        ...
