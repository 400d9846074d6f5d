"""Vectors in LanceDB, searched exactly.

What lies here can always be made again from the texts it stands for, so a damaged collection is replaced,
never repaired. A query never sees an approximate index: measured on catalogues of this size, a matrix in
memory is both faster than LanceDB's own scan and misses nothing. Only a collection too large to be kept in
memory is scanned by LanceDB, still exactly.
"""

from __future__ import annotations

import shutil
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import StorageError
from engine.ports.vectors import VectorHit
from storage import faults
from storage.vectors.rows import check_width, failed, gather, nearest, table_name, unit_matrix, unit_rows

KEPT_IN_MEMORY = 50_000
"""Collections of up to this many rows are searched in a matrix; at 384 numbers a row that is 77 MB."""


_MAX_PARTS = 64
"""Every `add` leaves a part of its own on disk; more of them are joined into one."""

_ASKED_BY_NAME = 200
"""Up to this many rows are asked for by id; for more, reading everything once is faster."""


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
        self._closed = False
        self._connection: Any = None
        self._rows: dict[str, _Rows | None] = {}
        """Collections read so far; None for one too large to keep."""
        self._known: dict[str, set[str]] = {}
        """The ids of collections that were added to."""

    def replace(self, collection: str, ids: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        """Make the collection hold exactly these rows."""
        if not len(ids):
            self.drop(collection)
            return
        rows = _Rows(list(ids), unit_rows(collection, ids, vectors))
        with self._lock:
            self._require_open()
            self._forget(collection)
            try:
                self._write(table_name(collection), rows)
            except OSError as error:
                raise faults.from_os(error, self.folder, f"the vectors of {collection}") from error
            except (RuntimeError, ValueError) as error:
                raise failed(self.folder, collection, "stored", error) from error
            self._keep(collection, rows)

    def search(self, collection: str, vector: Sequence[float], *, top: int) -> list[VectorHit]:
        """Return the nearest rows by cosine, best first; empty for an unknown collection.

        Rows of equal similarity come in the order of their ids.
        """
        query = unit_rows(collection, ["the query"], [vector])[0]
        with self._lock:
            rows = self._load(collection)
            if rows is None and top > 0:
                # Under the lock, because joining parts removes the files that a scan reads.
                table = self._table(collection)
                return [] if table is None else self._scan(collection, table, query, top)
        if rows is None or top < 1:
            return []
        check_width(collection, rows.matrix.shape[1], len(query))
        return nearest(rows.ids, rows.matrix, query, top)

    def ids(self, collection: str) -> list[str]:
        """Return the ids in the collection, in the order they were given; empty for an unknown one."""
        with self._lock:
            rows = self._load(collection)
            if rows is not None:
                return list(rows.ids)
            table = self._table(collection)
        return [] if table is None else self._column(collection, table)

    def add(self, collection: str, ids: Sequence[str], vectors: np.ndarray) -> None:
        """Add rows to a collection, making it if needed; ids that it has already are passed over.

        One commit: a process killed in the middle leaves the collection as it was.
        """
        matrix = unit_matrix(collection, ids, vectors) if len(ids) else np.empty((0, 0), dtype=np.float32)
        with self._lock:
            self._require_open()
            table = self._table(collection)
            known = self._ids_known(collection, table)
            first: dict[str, int] = {}
            for row, name in enumerate(ids):
                if name not in known:
                    first.setdefault(name, row)
            if not first:
                return
            rows = _Rows(list(first), matrix[list(first.values())])
            if table is not None:
                check_width(collection, table.schema.field("vector").type.list_size, matrix.shape[1], "rows to add")
            try:
                if table is None:
                    self._write(table_name(collection), rows)
                else:
                    table.add(_columns(rows))
                    self._join_parts(table)
            except OSError as error:
                self._forget(collection)
                raise faults.from_os(error, self.folder, f"the vectors of {collection}") from error
            except (RuntimeError, ValueError) as error:
                self._forget(collection)
                raise failed(self.folder, collection, "stored", error) from error
            known.update(first)
            self._rows.pop(collection, None)

    def fetch(self, collection: str, ids: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Return those of `ids` that the collection has, in the order asked, and their float32 rows.

        The rows have shape (number found, width), with width 0 when nothing was found. What is read is not
        kept in memory.
        """
        with self._lock:
            rows = self._rows.get(collection)
            if rows is not None:
                place = {name: row for row, name in enumerate(rows.ids)}
                found = [name for name in ids if name in place]
                return found, rows.matrix[[place[name] for name in found]]
            table = self._table(collection) if len(ids) else None
            if table is None:
                return [], np.empty((0, 0), dtype=np.float32)
            try:
                wanted = table.search().select(["id", "vector"])
                if len(ids) <= _ASKED_BY_NAME:
                    quoted = ", ".join("'" + name.replace("'", "''") + "'" for name in dict.fromkeys(ids))
                    wanted = wanted.where(f"id IN ({quoted})")
                return gather(ids, wanted.to_batches())
            except (RuntimeError, ValueError, OSError, KeyError) as error:
                raise failed(self.folder, collection, "read", error) from error

    def drop(self, collection: str) -> None:
        """Remove the collection if it is there."""
        with self._lock:
            self._forget(collection)
            place = self._place(table_name(collection))
            try:
                if place.is_dir():
                    shutil.rmtree(place)
            except OSError as error:
                raise faults.from_os(error, self.folder, f"the removal of the vectors of {collection}") from error

    def close(self) -> None:
        """Store nothing more, once a write under way has finished: who makes vectors beside the program then ends."""
        with self._lock:
            self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise StorageError(f"The vectors in {self.folder} were closed, so nothing can be stored in them.")

    def _write(self, name: str, rows: _Rows) -> None:
        """Store the rows in one step: a reader finds the old collection or the new one."""
        if self.folder.exists() and not self.folder.is_dir():
            self.folder.unlink()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = _columns(rows)
        table = None
        if self._place(name).exists():
            try:
                table = self._connect().create_table(name, data, mode="overwrite")
            except (RuntimeError, ValueError, OSError):
                # Too damaged to be written over; it is only a copy, so it goes.
                shutil.rmtree(self._place(name), ignore_errors=True)
        if table is None:
            table = self._connect(anew=True).create_table(name, data, mode="create")
        _tidy(table)

    def _join_parts(self, table: Any) -> None:
        if table.stats()["fragment_stats"]["num_fragments"] > _MAX_PARTS:
            _tidy(table)

    def _ids_known(self, collection: str, table: Any) -> set[str]:
        """Return the collection's ids, read once."""
        if table is None:
            self._forget(collection)
        if collection not in self._known:
            self._known[collection] = set() if table is None else set(self._column(collection, table))
        return self._known[collection]

    def _forget(self, collection: str) -> None:
        """Let go of what is in memory of a collection."""
        self._rows.pop(collection, None)
        self._known.pop(collection, None)

    def _connect(self, *, anew: bool = False) -> Any:
        import lancedb

        if self._connection is None or anew:
            self._connection = lancedb.connect(str(self.folder))
        return self._connection

    def _place(self, name: str) -> Path:
        return self.folder / f"{name}.lance"

    def _table(self, collection: str) -> Any:
        """Return LanceDB's table, or None for an unknown collection."""
        name = table_name(collection)
        if not self._place(name).is_dir():
            return None
        try:
            return self._connect().open_table(name)
        except (RuntimeError, ValueError, OSError) as error:
            raise failed(self.folder, collection, "read", error) from error

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
            raise failed(self.folder, collection, "read", error) from error
        self._rows[collection] = _Rows(ids, flat.reshape(len(ids), -1))
        return self._rows[collection]

    def _keep(self, collection: str, rows: _Rows) -> None:
        self._rows[collection] = rows if len(rows.ids) <= self._kept_in_memory else None

    def _column(self, collection: str, table: Any) -> list[str]:
        try:
            rows = table.search().select(["id"]).limit(table.count_rows()).to_arrow()
            return rows["id"].to_pylist()
        except (RuntimeError, ValueError, OSError) as error:
            raise failed(self.folder, collection, "read", error) from error

    def _scan(self, collection: str, table: Any, query: np.ndarray, top: int) -> list[VectorHit]:
        check_width(collection, table.schema.field("vector").type.list_size, len(query))
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
            raise failed(self.folder, collection, "searched", error) from error
        pairs = zip(found["id"].to_pylist(), found["_distance"].to_pylist(), strict=True)
        hits = [VectorHit(id=name, score=1.0 - distance) for name, distance in pairs]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def _columns(rows: _Rows) -> Any:
    """Return the rows as LanceDB stores them."""
    import pyarrow as pa

    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.matrix.reshape(-1)), rows.matrix.shape[1])
    return pa.table({"id": pa.array(rows.ids, pa.string()), "vector": vectors})


def _tidy(table: Any) -> None:
    """Join the parts of a table and remove those that nothing refers to any more."""
    with warnings.catch_warnings():
        # It warns of readers of older versions; there are none, the workspace has one process.
        warnings.simplefilter("ignore")
        table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)
