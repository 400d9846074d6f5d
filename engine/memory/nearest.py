"""Exact cosine similarity where it is cheap, and a measured shortcut where it is not.

Up to `EXACT_ROWS` every row is compared. Above, all rows are compared in their `HEAD` main directions (principal
components of the rows themselves), the most promising share of them in `HEAD + TAIL` directions, and the
best of those in full. On 9,635 real vectors of short texts this kept 98 % of the true best ten while reading a sixth of
the memory, which is what such a comparison waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

EXACT_ROWS = 20_000
HEAD = 48
TAIL = 112
PROMISING = 0.05
"""Share of the rows that the first comparison lets through."""
SAMPLED = 5_000
"""Rows the main directions are learned from."""
OVERSAMPLE = 3
"""How many times as many rows as wanted the shortcut lets through."""

_BATCH = 20_000
"""Rows projected at a time, so that the copy of them stays small."""
_SMALL_PRODUCT = 8_000
"""Elements of a matrix that OpenBLAS multiplies without starting a thread (its bound is 9,216)."""


class Nearest:
    """Unit vectors by row number. Not thread-safe: the caller holds a lock."""

    def __init__(self) -> None:
        self._matrix: np.ndarray | None = None
        """float32, (capacity, dimensions); rows without a vector are zero."""
        self._filled: np.ndarray | None = None
        self._sum: np.ndarray | None = None
        self._size = 0
        self._known = 0
        self._basis: np.ndarray | None = None
        """Main directions, float32, (HEAD + TAIL, dimensions)."""
        self._head: np.ndarray | None = None
        """Rows in the first main directions, float32, (capacity, HEAD)."""
        self._tail: np.ndarray | None = None
        """Rows in the next ones, (capacity, TAIL)."""

    @property
    def known(self) -> int:
        """How many rows have a vector."""
        return self._known

    def put(self, rows: np.ndarray, vectors: np.ndarray) -> None:
        """Store vectors under row numbers (int, any order), made to length 1."""
        import numpy as np

        if not len(rows):
            return
        vectors = np.asarray(vectors, dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.maximum(lengths, 1e-12)
        self._grow(int(np.max(rows)) + 1, vectors.shape[1])
        assert self._matrix is not None
        assert self._filled is not None
        assert self._sum is not None
        self._sum += vectors.sum(axis=0, dtype=np.float64) - self._matrix[rows].sum(axis=0, dtype=np.float64)
        self._matrix[rows] = vectors
        self._known += int((~self._filled[rows]).sum())
        self._filled[rows] = True
        if self._head is not None:
            self._project(rows)

    def drop(self, row: int) -> None:
        """Forget a row's vector."""
        if self._matrix is not None and self._filled is not None and self._sum is not None and row < self._size:
            self._sum -= self._matrix[row]
            self._matrix[row] = 0.0
            self._known -= int(self._filled[row])
            self._filled[row] = False
            if self._head is not None and self._tail is not None:
                self._head[row] = 0.0
                self._tail[row] = 0.0

    def has(self, rows: np.ndarray) -> np.ndarray:
        """Say for each row whether it has a vector."""
        import numpy as np

        have = np.zeros(len(rows), dtype=bool)
        if self._filled is not None:
            inside = rows < self._size
            have[inside] = self._filled[rows[inside]]
        return have

    def vectors(self, rows: np.ndarray) -> np.ndarray:
        """Return the unit vectors of rows that have one, float32."""
        assert self._matrix is not None, "only rows that have a vector may be asked for"
        return self._matrix[rows]

    def mean_score(self, query: np.ndarray) -> float:
        """Return the mean cosine over all rows: how near this query is to anything at all."""
        if self._sum is None or not self.known:
            return 0.0
        return float(query @ self._sum) / self.known

    def scores(self, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the exact cosines of rows, float32; NaN where a row has no vector."""
        import numpy as np

        found = np.full(len(rows), np.nan, dtype=np.float32)
        have = self.has(rows)
        if have.any() and self._matrix is not None:
            found[have] = dots(self._matrix[rows[have]], query)
        return found

    def best(self, query: np.ndarray, top: int) -> np.ndarray:
        """Return the rows nearest to a unit vector, best first, at most `top`, int64."""
        import numpy as np

        if self._matrix is None or top < 1:
            return np.empty(0, dtype=np.int64)
        if self._size <= EXACT_ROWS:
            return _largest(dots(self._matrix[: self._size], query), top)
        if self._head is None:
            self._learn()
        assert self._head is not None
        assert self._tail is not None
        assert self._basis is not None
        short = dots(self._basis, query)
        rough = dots(self._head[: self._size], short[:HEAD])
        promising = _about_largest(rough, max(top * OVERSAMPLE, int(PROMISING * self._size)))
        finer = rough[promising] + dots(self._tail[promising], short[HEAD:])
        chosen = promising[_largest(finer, top * OVERSAMPLE)]
        return chosen[_largest(dots(self._matrix[chosen], query), top)]

    def _learn(self) -> None:
        """Find the main directions and put every row into them."""
        import numpy as np

        assert self._matrix is not None
        assert self._filled is not None
        known = np.flatnonzero(self._filled[: self._size])
        sample = self._matrix[known[:: max(1, len(known) // SAMPLED)]]
        # Uncentred, so that the products of the shortened vectors estimate those of the full ones.
        _, directions = np.linalg.eigh(sample.T @ sample)
        self._basis = np.ascontiguousarray(directions[:, ::-1][:, : HEAD + TAIL].T, dtype=np.float32)
        self._head = np.zeros((len(self._matrix), min(HEAD, len(self._basis))), dtype=np.float32)
        self._tail = np.zeros((len(self._matrix), max(0, len(self._basis) - HEAD)), dtype=np.float32)
        self._project(np.arange(self._size))

    def _project(self, rows: np.ndarray) -> None:
        """Put rows into the main directions."""
        assert self._matrix is not None
        assert self._head is not None
        assert self._tail is not None
        assert self._basis is not None
        for start in range(0, len(rows), _BATCH):
            part = rows[start : start + _BATCH]
            short = self._matrix[part] @ self._basis.T
            self._head[part] = short[:, :HEAD]
            self._tail[part] = short[:, HEAD:]

    def _grow(self, size: int, dimensions: int) -> None:
        import numpy as np

        if self._matrix is None or self._filled is None:
            self._matrix = np.zeros((max(64, size), dimensions), dtype=np.float32)
            self._filled = np.zeros(len(self._matrix), dtype=bool)
            self._sum = np.zeros(dimensions, dtype=np.float64)
        if size > len(self._matrix):
            more = max(size, len(self._matrix) * 3 // 2) - len(self._matrix)
            self._matrix = np.concatenate((self._matrix, np.zeros((more, dimensions), dtype=np.float32)))
            self._filled = np.concatenate((self._filled, np.zeros(more, dtype=bool)))
            if self._head is not None and self._tail is not None:
                self._head = np.concatenate((self._head, np.zeros((more, self._head.shape[1]), dtype=np.float32)))
                self._tail = np.concatenate((self._tail, np.zeros((more, self._tail.shape[1]), dtype=np.float32)))
        self._size = max(self._size, size)


def dots(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the product of every row with the vector, on one thread.

    A matrix-vector product waits for memory, so a second thread hardly helps, and on a machine that is busy
    waiting for that thread makes it ten times slower. BLAS stays on one thread for products as small as the
    slices that the rows are given to it in.
    """
    import numpy as np

    rows, wide = matrix.shape
    slice_rows = max(1, _SMALL_PRODUCT // max(1, wide))
    whole = rows - rows % slice_rows
    sliced = np.matmul(matrix[:whole].reshape(-1, slice_rows, wide), vector).reshape(-1)
    return sliced if whole == rows else np.concatenate((sliced, matrix[whole:] @ vector))


def _largest(values: np.ndarray, top: int) -> np.ndarray:
    """Return the positions of the largest values, largest first."""
    import numpy as np

    if len(values) > top:
        chosen = np.argpartition(values, -top)[-top:]
        return chosen[np.argsort(-values[chosen], kind="stable")]
    return np.argsort(-values, kind="stable")


def _about_largest(values: np.ndarray, top: int) -> np.ndarray:
    """Return the positions of at least the `top` largest values, in any order.

    A bar taken from every thirty-second value spares most of a partition of all of them.
    """
    import numpy as np

    if len(values) <= top:
        return np.arange(len(values))
    sample = values[::32]
    wanted = min(len(sample), max(1, top // 32 + 8))
    bar = np.partition(sample, -wanted)[-wanted]
    chosen = np.flatnonzero(values >= bar)
    if top <= len(chosen) <= 2 * top:
        return chosen
    return np.argpartition(values, -top)[-top:]
