"""The vector index without a disk, in plain arithmetic: slow, and plainly right."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Sequence

import numpy as np

from engine.errors import StorageError
from engine.ports.vectors import VectorHit


class VectorsTwin:
    """The `VectorIndex` in memory, in plain arithmetic: slow, and plainly right."""

    def __init__(self) -> None:
        self._adding = threading.Lock()
        self._collections: dict[str, dict[str, list[float]]] = {}
        self._marks: dict[tuple[str, str], tuple[str, str]] = {}
        """Owner and kind by collection and id."""

    def search(
        self,
        collection: str,
        vector: Sequence[float],
        *,
        top: int,
        owners: Collection[str] = (),
        kinds: Collection[str] = (),
    ) -> list[VectorHit]:
        """Return the nearest rows by cosine, best first; empty for an unknown collection."""
        query = _unit(collection, vector)
        hits: list[VectorHit] = []
        for name, row in self._collections.get(collection, {}).items():
            if len(row) != len(query):
                raise StorageError(
                    f"The collection {collection} holds vectors of {len(row)} numbers, the query has {len(query)}."
                )
            owner, kind = self._marks[collection, name]
            if (owners and owner not in owners) or (kinds and kind not in kinds):
                continue
            score = math.fsum(a * b for a, b in zip(row, query, strict=True))
            hits.append(VectorHit(id=name, score=min(1.0, max(-1.0, score))))
        hits.sort(key=lambda hit: (-hit.score, hit.id))
        return hits[: max(top, 0)]

    def ids(self, collection: str) -> list[str]:
        """Return the ids in the collection, in the order they were given; empty for an unknown one."""
        return list(self._collections.get(collection, {}))

    def lacking(self, collection: str, ids: Sequence[str]) -> list[str]:
        """Return those of `ids` that the collection does not have, in the order asked."""
        known = self._collections.get(collection, {})
        return [name for name in ids if name not in known]

    def add(self, collection: str, ids: Sequence[str], vectors: np.ndarray, *, owner: str = "", kind: str = "") -> None:
        """Add rows to a collection, making it if needed; ids that it has already are passed over."""
        if len(ids) != len(vectors) or len({len(v) for v in vectors}) > 1:
            raise StorageError(f"The vectors for {collection} cannot be used: ids and vectors do not pair up.")
        known = self._collections.get(collection, {})
        rows = {
            name: _unit(collection, [float(number) for number in vector])
            for name, vector in reversed(list(zip(ids, vectors, strict=True)))
        }
        width = len(next(iter(known.values()))) if known else None
        fresh = {name: rows[name] for name in dict.fromkeys(ids) if name not in known}
        if width is not None and any(len(row) != width for row in fresh.values()):
            raise StorageError(
                f"The collection {collection} holds vectors of {width} numbers, but the rows to add have "
                f"{len(next(iter(fresh.values())))}."
            )
        if fresh:
            with self._adding:  # on what is there by then: another thread may have added rows
                self._collections[collection] = {**self._collections.get(collection, {}), **fresh}
            self._marks.update({(collection, name): (owner, kind) for name in fresh})

    def fetch(self, collection: str, ids: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Return those of `ids` that the collection has, in the order asked, and their float32 rows."""
        known = self._collections.get(collection, {})
        found = [name for name in ids if name in known]
        if not found:
            return [], np.empty((0, 0), dtype=np.float32)
        return found, np.array([known[name] for name in found], dtype=np.float32)

    def drop(self, collection: str) -> None:
        """Remove the collection if it is there."""
        self._collections.pop(collection, None)


def _unit(collection: str, vector: Sequence[float]) -> list[float]:
    length = math.sqrt(math.fsum(number * number for number in vector))
    if not math.isfinite(length) or length == 0:
        raise StorageError(f"The vectors for {collection} cannot be used: one is zero or not finite.")
    return [number / length for number in vector]
