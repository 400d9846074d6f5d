"""Arithmetic and faults of vector collections that do not depend on where the vectors lie."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.domain.encoding.hashing import sha256_text
from engine.errors import IntegrityError, StorageError
from storage import faults

if TYPE_CHECKING:
    import pyarrow as pa


def unit_matrix(collection: str, ids: Sequence[str], vectors: Sequence[Sequence[float]] | np.ndarray) -> np.ndarray:
    """Return the vectors as float32 rows of length 1, having refused what has no direction or does not fit.

    Raises:
        StorageError: when ids and vectors do not pair up, or a vector is not usable.
    """
    if len(ids) != len(vectors):
        raise _bad(collection, f"{len(ids)} ids came with {len(vectors)} vectors")
    widths = {len(vector) for vector in vectors}
    if len(widths) > 1 or 0 in widths:
        raise _bad(collection, f"the vectors have {sorted(widths)} numbers instead of all the same")
    matrix = np.asarray(vectors, dtype=np.float32).reshape(len(ids), -1)
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
    wrong = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
    if len(wrong):
        raise _bad(collection, f"the vector of {ids[int(wrong[0])]!r} is zero or not finite")
    return (matrix / lengths[:, None]).astype(np.float32)


def gather(wanted: Sequence[str], batches: Iterable[pa.RecordBatch]) -> tuple[list[str], np.ndarray]:
    """Return the rows of the wanted ids that are among the batches, in the order wanted.

    Args:
        wanted: ids; one that comes twice is returned twice.
        batches: columns `id` and `vector`, in any order, read once, so that a large collection is never in memory.

    Returns:
        The ids found and float32 (number found, width); width 0 when nothing was found.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    is_in: Any = pc.is_in  # pyright: ignore[reportAttributeAccessIssue] - made at import time
    values = pa.array(list(dict.fromkeys(wanted)), pa.string())
    ids: list[str] = []
    parts: list[np.ndarray] = []
    for batch in batches:
        hits = batch.filter(is_in(batch["id"], values))
        if hits.num_rows:
            ids.extend(hits["id"].to_pylist())
            parts.append(hits["vector"].flatten().to_numpy(zero_copy_only=False).reshape(hits.num_rows, -1))
    place = {name: row for row, name in enumerate(ids)}
    found = [name for name in wanted if name in place]
    if not parts:
        return [], np.empty((0, 0), dtype=np.float32)
    return found, np.concatenate(parts)[[place[name] for name in found]].astype(np.float32, copy=False)


def check_width(collection: str, stored: int, given: int, what: str = "query") -> None:
    """Refuse vectors of another width than the collection's.

    Raises:
        StorageError: when the widths differ.
    """
    if stored != given:
        have = "have" if what.startswith("rows") else "has"
        raise StorageError(
            f"The collection {collection} holds vectors of {stored} numbers, but the {what} {have} {given}: they "
            "come from different embedding models.",
            advice="Rebuild the collection with the model in use.",
        )


def table_name(collection: str) -> str:
    """Return a name LanceDB and every file system accept, different for every collection."""
    readable = re.sub(r"[^A-Za-z0-9]+", "_", collection)[:40].strip("_") or "collection"
    return f"{readable}-{sha256_text(collection)[:16]}"


def _bad(collection: str, what: str) -> StorageError:
    return StorageError(
        f"The vectors for {collection} cannot be used: {what}.", advice="Embed the texts again, then store them."
    )


def failed(folder: Path, collection: str, done: str, error: Exception) -> StorageError:
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
