"""Vectors in LanceDB, searched where they are kept.

What lies here can always be made again from the texts it stands for, so a damaged collection is replaced, never
repaired. Up to `EXACT_ROWS` a query is compared with every row; a larger collection gets an index of neighbourhoods
(IVF_FLAT), of which the nearest are compared exactly, together with rows that came after it was made. Measured by
`python -m benchmarks search` and told in docs/adr/0026, with what is kept in memory beside it.
"""

from __future__ import annotations

import shutil
import threading
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import StorageError
from engine.ports.vectors import VectorHit
from storage import faults
from storage.vectors.rows import check_width, failed, gather, table_name, unit_matrix

EXACT_ROWS = 5_000
"""Up to this many rows all are compared; the index is not slower from 2,000 on, and three times as fast at 20,000."""
_PROBES = 40
"""Neighbourhoods of an index that are compared: of 200,000 rows the true nearest fifty were found among them."""
_UNINDEXED = 0.2
"""Share of rows that may have come after an index before it is made anew."""

_MAX_PARTS = 64
"""Every `add` leaves a part of its own on disk; more of them are joined into one."""

_ASKED_BY_NAME = 200
"""Up to this many rows are asked for by id; for more, reading everything once is faster."""

_INDEX = "vector_idx"


class LanceVectors:
    """The `VectorIndex` on disk. LanceDB is imported and the folder opened when first needed."""

    def __init__(self, folder: Path, *, exact_rows: int = EXACT_ROWS) -> None:
        self.folder = folder
        self._exact_rows = exact_rows
        self._lock = threading.RLock()
        self._closed = False
        self._connection: Any = None
        self._known: dict[str, set[str]] = {}
        """The ids of collections that were added to."""

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

        Rows of equal similarity come in the order of their ids.
        """
        query = unit_matrix(collection, ["the query"], [vector])[0]
        # Under the lock, because joining parts removes the files that a scan reads.
        with self._lock:
            table = self._table(collection) if top > 0 else None
            return [] if table is None else self._scan(collection, table, query, top, _condition(owners, kinds))

    def ids(self, collection: str) -> list[str]:
        """Return the ids in the collection, in the order they were given; empty for an unknown one."""
        with self._lock:
            table = self._table(collection)
        return [] if table is None else self._column(collection, table)

    def lacking(self, collection: str, ids: Sequence[str]) -> list[str]:
        """Return those of `ids` that the collection does not have, in the order asked."""
        with self._lock:
            known = self._ids_known(collection, self._table(collection))
            return [name for name in ids if name not in known]

    def add(self, collection: str, ids: Sequence[str], vectors: np.ndarray, *, owner: str = "", kind: str = "") -> None:
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
            rows = _columns(list(first), matrix[list(first.values())], owner, kind)
            if table is not None:
                check_width(collection, table.schema.field("vector").type.list_size, matrix.shape[1], "rows to add")
            with self._storing(collection):
                if table is None:
                    self._create(table_name(collection), rows)
                else:
                    if "owner" not in table.schema.names:  # a collection of an older version
                        table.add_columns({"owner": "''", "kind": "''"})
                    table.add(rows)
                    self._join_parts(table)
            known.update(first)

    def fetch(self, collection: str, ids: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Return those of `ids` that the collection has, in the order asked, and their float32 rows.

        The rows have shape (number found, width), with width 0 when nothing was found. What is read is not
        kept in memory.
        """
        with self._lock:
            table = self._table(collection) if len(ids) else None
            if table is None:
                return [], np.empty((0, 0), dtype=np.float32)
            try:
                wanted = table.search().select(["id", "vector"])
                if len(ids) <= _ASKED_BY_NAME:
                    wanted = wanted.where(_among("id", ids))
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

    @contextmanager
    def _storing(self, collection: str) -> Iterator[None]:
        """Say in this project's errors what LanceDB could not store, and read what is there anew after that."""
        try:
            yield
        except OSError as error:
            self._forget(collection)
            raise faults.from_os(error, self.folder, f"the vectors of {collection}") from error
        except (RuntimeError, ValueError) as error:
            self._forget(collection)
            raise failed(self.folder, collection, "stored", error) from error

    def _create(self, name: str, rows: Any) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            self.folder.unlink()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._index(self._connect(anew=True).create_table(name, rows))

    def _join_parts(self, table: Any) -> None:
        if table.stats()["fragment_stats"]["num_fragments"] > _MAX_PARTS:
            _tidy(table)
        self._index(table)

    def _index(self, table: Any) -> None:
        """Make the index of a large table, or make it anew when many rows came after it."""
        rows = table.count_rows()
        if rows <= self._exact_rows:
            return
        made = table.index_stats(_INDEX) if any(index.name == _INDEX for index in table.list_indices()) else None
        if made is None or made.num_unindexed_rows > _UNINDEXED * rows:
            from lancedb.index import IvfFlat

            table.create_index("vector", config=IvfFlat(distance_type="cosine"), name=_INDEX, replace=True)

    def _ids_known(self, collection: str, table: Any) -> set[str]:
        """Return the collection's ids, read once."""
        if table is None:
            self._forget(collection)
        if collection not in self._known:
            self._known[collection] = set() if table is None else set(self._column(collection, table))
        return self._known[collection]

    def _forget(self, collection: str) -> None:
        """Let go of what is in memory of a collection."""
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

    def _column(self, collection: str, table: Any) -> list[str]:
        try:
            rows = table.search().select(["id"]).limit(table.count_rows()).to_arrow()
            return rows["id"].to_pylist()
        except (RuntimeError, ValueError, OSError) as error:
            raise failed(self.folder, collection, "read", error) from error

    def _scan(self, collection: str, table: Any, query: np.ndarray, top: int, condition: str) -> list[VectorHit]:
        check_width(collection, table.schema.field("vector").type.list_size, len(query))
        try:
            search = table.search(query, vector_column_name="vector").distance_type("cosine").nprobes(_PROBES)
            if condition:
                search = search.where(condition, prefilter=True)
            found = search.limit(top).select(["id", "_distance"]).to_arrow()
        except (RuntimeError, ValueError, OSError) as error:
            raise failed(self.folder, collection, "read", error) from error
        pairs = zip(found["id"].to_pylist(), found["_distance"].to_pylist(), strict=True)
        hits = [VectorHit(id=name, score=1.0 - distance) for name, distance in pairs]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def _columns(ids: Sequence[str], matrix: np.ndarray, owner: str, kind: str) -> Any:
    """Return rows as LanceDB stores them."""
    import pyarrow as pa

    vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), matrix.shape[1])
    names = {name: pa.array([value] * len(ids), pa.string()) for name, value in (("owner", owner), ("kind", kind))}
    return pa.table({"id": pa.array(list(ids), pa.string()), "vector": vectors, **names})


def _condition(owners: Collection[str], kinds: Collection[str]) -> str:
    """Return the filter of a search in SQL, "" for none."""
    wanted = (("owner", owners), ("kind", kinds))
    return " AND ".join(_among(column, names) for column, names in wanted if names)


def _among(column: str, names: Iterable[str]) -> str:
    quoted = ", ".join("'" + name.replace("'", "''") + "'" for name in dict.fromkeys(names))
    return f"{column} IN ({quoted})"


def _tidy(table: Any) -> None:
    """Join the parts of a table and remove those that nothing refers to any more."""
    with warnings.catch_warnings():
        # It warns of readers of older versions; there are none, the workspace has one process.
        warnings.simplefilter("ignore")
        table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)
