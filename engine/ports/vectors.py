"""Where vectors are kept and searched."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorHit:
    """A neighbour: `score` is the cosine similarity, -1 to 1."""

    id: str
    score: float


class VectorIndex(Protocol):
    """Named collections of unit vectors, rebuildable from the texts they stand for."""

    def search(
        self,
        collection: str,
        vector: Sequence[float],
        *,
        top: int,
        owners: Collection[str] = (),
        kinds: Collection[str] = (),
    ) -> list[VectorHit]:
        """Return the nearest rows by cosine, best first; empty for an unknown collection.

        With `owners` or `kinds` only rows of these. In a very large collection a row may be missed.
        """
        ...

    def ids(self, collection: str) -> list[str]:
        """Return the ids in the collection; empty for an unknown one."""
        ...

    def lacking(self, collection: str, ids: Sequence[str]) -> list[str]:
        """Return those of `ids` that the collection does not have, in the order asked."""
        ...

    def add(self, collection: str, ids: Sequence[str], vectors: np.ndarray, *, owner: str = "", kind: str = "") -> None:
        """Add rows of an owner and a kind, making the collection if needed; ids that it has already are passed over."""
        ...

    def fetch(self, collection: str, ids: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Return those of `ids` that the collection has, in the order asked, and their float32 rows."""
        ...

    def drop(self, collection: str) -> None:
        """Remove the collection if it is there."""
        ...


class VectorFile(Protocol):
    """Small matrices under names, a cache: what is not there can be made again."""

    def read(self, name: str) -> np.ndarray | None:
        """Return the float32 rows kept under a name, or None."""
        ...

    def write(self, name: str, rows: np.ndarray) -> None:
        """Keep rows under a name; never an error."""
        ...
