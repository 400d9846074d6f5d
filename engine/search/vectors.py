"""Unit vectors by row, compared exactly.

A product of a matrix with one vector waits for memory: 1 ms for 20,000 rows of 384 numbers, 5 to 8 for 100,000, where
LanceDB takes 4 and 8 through its index for the nearest few and as long again for the vectors of others (docs/adr/0026).
So what needs the cosines of all is kept here; LanceDB keeps what must outlive the process, and searches the rest.
"""

from __future__ import annotations

import numpy as np

_SMALL_PRODUCT, _SMALL_PRODUCTS = 8_000, 250_000
"""Multiplications that OpenBLAS does without starting a thread, with a vector and with a matrix (its bounds are 9,216
and 262,144)."""


class Vectors:
    """Vectors of length 1 by row number. Not thread-safe while it grows."""

    def __init__(self) -> None:
        self._matrix: np.ndarray | None = None
        """float32, (capacity, dimensions); rows without a vector are zero."""
        self._filled = np.zeros(0, bool)

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has, 0 before the first."""
        return 0 if self._matrix is None else self._matrix.shape[1]

    def put(self, rows: np.ndarray, vectors: np.ndarray) -> None:
        """Store vectors, shape (rows, dimensions), under row numbers in any order, made to length 1.

        Raises:
            ValueError: when their width is not that of the vectors before.
        """
        if not len(rows):
            return
        vectors = np.asarray(vectors, np.float32)
        if self._matrix is not None and vectors.shape[1] != self._matrix.shape[1]:
            raise ValueError(f"Vectors of {vectors.shape[1]} numbers among those of {self._matrix.shape[1]}.")
        self._grow(int(np.max(rows)) + 1, vectors.shape[1])
        assert self._matrix is not None
        self._matrix[rows] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        self._filled[rows] = True

    def has(self, rows: np.ndarray) -> np.ndarray:
        """Say for each row whether it has a vector."""
        return (rows < len(self._filled)) & self._filled.take(rows, mode="clip") if len(self._filled) else rows < 0

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the vectors of rows that have one, float32 (rows, dimensions)."""
        assert self._matrix is not None, "only rows that have a vector may be asked for"
        return self._matrix[rows]

    def cosines(self, vector: np.ndarray, size: int) -> np.ndarray:
        """Return the cosine of each of `size` rows with a unit vector, float32; NaN where a row has none."""
        found = np.full(size, np.nan, np.float32)
        if self._matrix is not None:
            known = min(size, len(self._matrix))
            found[:known] = dots(self._matrix[:known], vector)
            found[:known][~self._filled[:known]] = np.nan
        return found

    def _grow(self, size: int, dimensions: int) -> None:
        if self._matrix is None:
            self._matrix = np.zeros((size, dimensions), np.float32)
            self._filled = np.zeros(size, bool)
        elif size > len(self._matrix):
            more = max(size, len(self._matrix) * 3 // 2, 64) - len(self._matrix)
            self._matrix = np.concatenate((self._matrix, np.zeros((more, dimensions), np.float32)))
            self._filled = np.concatenate((self._filled, np.zeros(more, bool)))


def dots(matrix: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the product of every row with a vector, or with every column of a matrix, on one thread.

    A second thread hardly helps, and on a machine busy with the steps of a run waiting for it takes ten times as long.
    BLAS stays on one thread for products as small as the slices that the rows are given to it in.
    """
    rows, wide = matrix.shape
    slice_rows = max(1, (_SMALL_PRODUCT if other.ndim == 1 else _SMALL_PRODUCTS) // max(1, other.size))
    whole = rows - rows % slice_rows
    sliced = np.matmul(matrix[:whole].reshape(-1, slice_rows, wide), other).reshape(whole, *other.shape[1:])
    return sliced if whole == rows else np.concatenate((sliced, matrix[whole:] @ other))


def spread(cosines: np.ndarray, every: int = 1) -> np.ndarray:
    """Return cosines as 0 (an ordinary document: the median) to 1 (the nearest).

    Args:
        cosines: of all documents with a question.
        every: how many documents one is looked at for, to know what is ordinary.
    """
    low = float(np.median(cosines[::every]))
    return np.clip((cosines - low) / max(float(cosines.max()) - low, 1e-9), 0, 1)


def best(scores: np.ndarray, count: int) -> np.ndarray:
    """Return the places of the `count` highest scores, best first, equal ones in their order."""
    if count < len(scores):
        bar = np.partition(scores, len(scores) - count)[len(scores) - count] if count > 0 else np.inf
        chosen = np.flatnonzero(scores >= bar)
    else:
        chosen = np.arange(len(scores))
    return chosen[np.argsort(-scores[chosen], kind="stable")][: max(0, count)]
