"""Vectors in LanceDB, searched exactly.

What lies here can always be made again from the texts it stands for, so a damaged collection is replaced,
never repaired. A query never sees an approximate index: measured on catalogues of this size, a matrix in
memory is both faster than LanceDB's own scan and misses nothing. Only a collection too large to be kept in
memory is scanned by LanceDB, still exactly.
"""

from __future__ import annotations

import re
import shutil
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from engine.domain.hashing import sha256_text
from engine.errors import IntegrityError, StorageError
from engine.ports import VectorHit
from storage import faults

KEPT_IN_MEMORY = 50_000
"""Collections of up to this many rows are searched in a matrix; at 384 numbers a row that is 77 MB."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """A collection in memory: unit vectors, one a row."""

    ids: list[str]
    matrix: np.ndarray


class LanceVectors:
    """The `VectorIndex` on disk. LanceDB is imported and the folder opened when first needed."""

    def __init__(self, folder: Path, *, kept_in_memory: int = KEPT_IN_MEMORY) -> None:
        self.folder = folder
        self._kept_in_memory = kept_in_memory
        self._lock = threading.RLock()
        self._connection: Any = None
        self._rows: dict[str, _Rows | None] = {}
        """Collections read so far; None for one too large to keep."""

    def replace(self, collection: str, ids: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        """Make the collection hold exactly these rows."""
        if not len(ids):
            self.drop(collection)
            return
        rows = _Rows(list(ids), unit_rows(collection, ids, vectors))
        with self._lock:
            self._rows.pop(collection, None)
            try:
                self._write(_table_name(collection), rows)
            except OSError as error:
                raise faults.from_os(error, self.folder, f"the vectors of {collection}") from error
            except (RuntimeError, ValueError) as error:
                raise _failed(self.folder, collection, "stored", error) from error
            self._keep(collection, rows)

    def search(self, collection: str, vector: Sequence[float], *, top: int) -> list[VectorHit]:
        """Return the nearest rows by cosine, best first; empty for an unknown collection.

        Rows of equal similarity come in the order of their ids.
        """
        query = unit_rows(collection, ["the query"], [vector])[0]
        with self._lock:
            rows = self._load(collection)
            table = self._table(collection) if rows is None else None
        if top < 1:
            return []
        if rows is not None:
            _check_width(collection, rows.matrix.shape[1], len(query))
            return nearest(rows.ids, rows.matrix, query, top)
        return [] if table is None else self._scan(collection, table, query, top)

    def ids(self, collection: str) -> list[str]:
        """Return the ids in the collection, in the order they were given; empty for an unknown one."""
        with self._lock:
            rows = self._load(collection)
            if rows is not None:
                return list(rows.ids)
            table = self._table(collection)
        return [] if table is None else self._column(collection, table)

    def drop(self, collection: str) -> None:
        """Remove the collection if it is there."""
        with self._lock:
            self._rows.pop(collection, None)
            place = self._place(_table_name(collection))
            try:
                if place.is_dir():
                    shutil.rmtree(place)
            except OSError as error:
                raise faults.from_os(error, self.folder, f"the removal of the vectors of {collection}") from error

    def _write(self, name: str, rows: _Rows) -> None:
        """Store the rows in one step: a reader finds the old collection or the new one."""
        import pyarrow as pa

        if self.folder.exists() and not self.folder.is_dir():
            self.folder.unlink()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        width = rows.matrix.shape[1]
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.matrix.reshape(-1)), width)
        data = pa.table({"id": pa.array(rows.ids, pa.string()), "vector": vectors})
        table = None
        if self._place(name).exists():
            try:
                table = self._connect().create_table(name, data, mode="overwrite")
            except (RuntimeError, ValueError, OSError):
                # Too damaged to be written over; it is only a copy, so it goes.
                shutil.rmtree(self._place(name), ignore_errors=True)
        if table is None:
            table = self._connect(anew=True).create_table(name, data, mode="create")
        with warnings.catch_warnings():
            # It warns of readers of older versions; there are none, the workspace has one process.
            warnings.simplefilter("ignore")
            table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)

    def _connect(self, *, anew: bool = False) -> Any:
        import lancedb

        if self._connection is None or anew:
            self._connection = lancedb.connect(str(self.folder))
        return self._connection

    def _place(self, name: str) -> Path:
        return self.folder / f"{name}.lance"

    def _table(self, collection: str) -> Any:
        """Return LanceDB's table, or None for an unknown collection."""
        name = _table_name(collection)
        if not self._place(name).is_dir():
            return None
        try:
            return self._connect().open_table(name)
        except (RuntimeError, ValueError, OSError) as error:
            raise _failed(self.folder, collection, "read", error) from error

    def _load(self, collection: str) -> _Rows | None:
        """Return the collection from memory, reading it first when it is small enough to keep."""
        if collection in self._rows:
            return self._rows[collection]
        table = self._table(collection)
        if table is None:
            return None
        try:
            if table.count_rows() > self._kept_in_memory:
                self._rows[collection] = None
                return None
            data = table.to_arrow()
            ids = data["id"].to_pylist()
            flat = data["vector"].combine_chunks().flatten().to_numpy()
        except (RuntimeError, ValueError, OSError, KeyError) as error:
            raise _failed(self.folder, collection, "read", error) from error
        self._rows[collection] = _Rows(ids, flat.reshape(len(ids), -1))
        return self._rows[collection]

    def _keep(self, collection: str, rows: _Rows) -> None:
        self._rows[collection] = rows if len(rows.ids) <= self._kept_in_memory else None

    def _column(self, collection: str, table: Any) -> list[str]:
        try:
            rows = table.search().select(["id"]).limit(table.count_rows()).to_arrow()
            return rows["id"].to_pylist()
        except (RuntimeError, ValueError, OSError) as error:
            raise _failed(self.folder, collection, "read", error) from error

    def _scan(self, collection: str, table: Any, query: np.ndarray, top: int) -> list[VectorHit]:
        _check_width(collection, table.schema.field("vector").type.list_size, len(query))
        try:
            found = (
                table.search(query, vector_column_name="vector")
                .distance_type("cosine")
                .bypass_vector_index()
                .limit(top)
                .select(["id", "_distance"])
                .to_arrow()
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise _failed(self.folder, collection, "searched", error) from error
        pairs = zip(found["id"].to_pylist(), found["_distance"].to_pylist(), strict=True)
        hits = [VectorHit(id=name, score=1.0 - distance) for name, distance in pairs]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def unit_rows(collection: str, ids: Sequence[str], vectors: Sequence[Sequence[float]]) -> np.ndarray:
    """Return the vectors as rows of length 1, having refused what has no direction or does not fit.

    Raises:
        StorageError: when ids and vectors do not pair up, an id comes twice, or a vector is not usable.
    """
    if len(ids) != len(vectors):
        raise _bad(collection, f"{len(ids)} ids came with {len(vectors)} vectors")
    if len(set(ids)) != len(ids):
        twice = next(name for name in ids if list(ids).count(name) > 1)
        raise _bad(collection, f"the id {twice!r} came more than once")
    widths = {len(vector) for vector in vectors}
    if len(widths) > 1 or 0 in widths:
        raise _bad(collection, f"the vectors have {sorted(widths)} numbers instead of all the same")
    matrix = np.asarray(vectors, dtype=np.float32).reshape(len(ids), -1)
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
    wrong = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
    if len(wrong):
        raise _bad(collection, f"the vector of {ids[int(wrong[0])]!r} is zero or not finite")
    return (matrix / lengths[:, None]).astype(np.float32)


def nearest(ids: Sequence[str], matrix: np.ndarray, query: np.ndarray, top: int) -> list[VectorHit]:
    """Return the `top` rows most similar to `query`, ties in the order of their ids."""
    scores = np.clip(matrix @ query, -1.0, 1.0)
    count = min(top, len(ids))
    # All rows as good as the last one wanted are candidates, so that a tie is not broken by chance.
    bar = np.partition(scores, len(ids) - count)[len(ids) - count]
    candidates = [(-float(scores[row]), ids[row]) for row in np.flatnonzero(scores >= bar).tolist()]
    return [VectorHit(id=name, score=-score) for score, name in sorted(candidates)[:count]]


def _check_width(collection: str, stored: int, asked: int) -> None:
    if stored != asked:
        raise StorageError(
            f"The collection {collection} holds vectors of {stored} numbers, but the query has {asked}: they come "
            "from different embedding models.",
            advice="Rebuild the collection with the model in use.",
        )


def _table_name(collection: str) -> str:
    """Return a name LanceDB and every file system accept, different for every collection."""
    readable = re.sub(r"[^A-Za-z0-9]+", "_", collection)[:40].strip("_") or "collection"
    return f"{readable}-{sha256_text(collection)[:16]}"


def _bad(collection: str, what: str) -> StorageError:
    return StorageError(
        f"The vectors for {collection} cannot be used: {what}.", advice="Embed the texts again, then store them."
    )


def _failed(folder: Path, collection: str, done: str, error: Exception) -> StorageError:
    """Return the error for LanceDB's own: damage for reading, for writing whatever it said."""
    text = str(error)
    if "No space left" in text or "os error 28" in text:
        return faults.disk_full(folder, f"the vectors of {collection}")
    first = text.strip().splitlines()[0][:200] if text.strip() else type(error).__name__
    kind = StorageError if done == "stored" else IntegrityError
    return kind(
        f"The vectors of {collection} in {folder} cannot be {done} ({first}).",
        advice="They are only a copy: rebuild the index, or remove the folder and start again.",
    )
