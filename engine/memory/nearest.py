"""Exact cosine similarity where it is cheap, and a measured shortcut where it is not.

Up to `EXACT_ROWS` every row is compared. Above, all rows are compared by the signs of their numbers after a random
rotation (a Hamming distance, Charikar 2002, doi 10.1145/509907.509965), the most promising share of them in
`SHORT` principal components of a byte each, and the best of those in full. Signs take a thirty-second of the memory
of the vectors and bytes a quarter, and fetching memory is what such a comparison waits for. On 9,635 real vectors of
short texts 4 % of the rows, chosen by signs, held 99 % of the true best ten; the larger the memory, the smaller the
share that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.memory import kernels

if TYPE_CHECKING:
    import numpy as np

EXACT_ROWS = 20_000
SHORT = 256
LEAST_PROMISING = 2_000
PROMISING = 0.02
"""Share of the rows that the first comparison lets through, and how many at least: the fewer the rows, the larger the
share that holds the nearest."""
SAMPLED = 5_000
"""Rows the main directions are learned from."""
OVERSAMPLE = 2
"""How many times as many rows as wanted the shortcut lets through."""

_WORD = 64
"""Signs that are compared at once."""
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
        """Main directions, float32, (SHORT, dimensions)."""
        self._short: np.ndarray | None = None
        """Rows in the main directions, int8, (capacity, SHORT): in bytes a row is fetched in few steps."""
        self._scale = 1.0
        """What a number is multiplied with to become a byte."""
        self._mean: np.ndarray | None = None
        self._rotation: np.ndarray | None = None
        """Random orthogonal directions, (dimensions, bits)."""
        self._turns: np.ndarray | None = None
        """The same the other way round, to be multiplied row by row."""
        self._signs: np.ndarray | None = None
        """Signs of the rotated rows, uint64, (bits / 64, capacity): column by column, to be read in one go."""

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
        self.prepare(self._size)
        assert self._matrix is not None
        assert self._filled is not None
        assert self._sum is not None
        self._sum += vectors.sum(axis=0, dtype=np.float64) - self._matrix[rows].sum(axis=0, dtype=np.float64)
        self._matrix[rows] = vectors
        self._known += int((~self._filled[rows]).sum())
        self._filled[rows] = True
        if self._short is not None:
            self._project(rows)

    def drop(self, row: int) -> None:
        """Forget a row's vector."""
        if self._matrix is not None and self._filled is not None and self._sum is not None and row < self._size:
            self._sum -= self._matrix[row]
            self._matrix[row] = 0.0
            self._known -= int(self._filled[row])
            self._filled[row] = False
            if self._short is not None:
                self._short[row] = 0

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
            found[have] = _products(self._matrix, rows[have], query)
        return found

    def best(self, query: np.ndarray, top: int) -> np.ndarray:
        """Return the rows nearest to a unit vector, best first, at most `top`, int64."""
        return self.search(query, top)[0]

    def search(self, query: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows nearest to a unit vector, best first, at most `top`, int64, and their cosines.

        Cosines are float32, NaN for a row without a vector, which comes only when there are too few others.
        """
        import numpy as np

        if self._matrix is None or self._filled is None or top < 1:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        if self._size <= EXACT_ROWS or self._matrix.shape[1] < _WORD:
            cosines = dots(self._matrix[: self._size], query)
            chosen = _largest(cosines, top)
            cosines = cosines[chosen]
        else:
            rows = self._promising(query, top * OVERSAMPLE)
            cosines = _products(self._matrix, rows, query)
            best = _largest(cosines, top)
            chosen, cosines = rows[best], cosines[best]
        cosines[~self._filled[chosen]] = np.nan
        return chosen, cosines

    def prepare(self, rows: int) -> None:
        """Say how many rows there will be, so that what a search of so many needs is there in time."""
        if rows > EXACT_ROWS:
            kernels.load_soon()

    def _promising(self, query: np.ndarray, top: int) -> np.ndarray:
        """Return `top` rows among which the nearest almost surely are."""
        import numpy as np

        if self._short is None:
            self._learn()
        assert self._signs is not None
        assert self._short is not None
        assert self._basis is not None
        assert self._turns is not None
        # The same as `_signs_of`, but on one thread.
        own = np.packbits(dots(self._turns, query - self._mean) > 0).view(np.uint64)
        most = max(top, LEAST_PROMISING, int(PROMISING * self._size))
        compiled = kernels.loaded()
        if compiled is not None:
            far = np.empty(self._size, dtype=np.uint16)
            rows = np.empty(self._size, dtype=np.int64)
            rows = rows[: compiled.promising(self._signs, own, self._size, most, far, rows)]
        else:
            rows = _about_nearest(self._distances(own), most)
        return rows[_top(_products(self._short, rows, dots(self._basis, query)), top)]

    def _distances(self, own: np.ndarray) -> np.ndarray:
        """Return for each row in how many signs it differs from those given, uint16."""
        import numpy as np

        assert self._signs is not None
        far = np.zeros(self._size, dtype=np.uint16)
        differing, count = np.empty(self._size, dtype=np.uint64), np.empty(self._size, dtype=np.uint8)
        # Three words differ in 192 signs at most, so bytes hold the sums, and adding bytes takes next to no time.
        for start in range(0, len(own), 3):
            some = np.zeros(self._size, dtype=np.uint8)
            for word, column in zip(own[start : start + 3], self._signs[start : start + 3], strict=True):
                np.bitwise_xor(column[: self._size], word, out=differing)
                some += np.bitwise_count(differing, out=count)
            far += some
        return far

    def _signs_of(self, vectors: np.ndarray) -> np.ndarray:
        """Return the signs of rotated vectors, uint64, (bits / 64, vectors)."""
        import numpy as np

        assert self._rotation is not None
        turned = (vectors - self._mean) @ self._rotation > 0
        return np.packbits(turned, axis=1).view(np.uint64).T

    def _learn(self) -> None:
        """Find the main directions and put every row into them and into signs."""
        import numpy as np

        assert self._matrix is not None
        assert self._filled is not None
        known = np.flatnonzero(self._filled[: self._size])
        sample = self._matrix[known[:: max(1, len(known) // SAMPLED)]]
        # Uncentred, so that the products of the shortened vectors estimate those of the full ones.
        _, directions = np.linalg.eigh(sample.T @ sample)
        self._basis = np.ascontiguousarray(directions[:, ::-1][:, :SHORT].T, dtype=np.float32)
        # Centred, because signs say nothing where all rows lie on one side.
        self._mean = sample.mean(axis=0)
        wide = self._matrix.shape[1]
        turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((wide, wide)))
        self._rotation = np.ascontiguousarray(turn[:, : wide - wide % _WORD], dtype=np.float32)
        self._turns = np.ascontiguousarray(self._rotation.T)
        self._scale = 127.0 / max(1e-12, float(np.abs(sample @ self._basis.T).max()))
        self._short = np.zeros((len(self._matrix), len(self._basis)), dtype=np.int8)
        self._signs = np.zeros((self._rotation.shape[1] // _WORD, len(self._matrix)), dtype=np.uint64)
        self._project(np.arange(self._size))

    def _project(self, rows: np.ndarray) -> None:
        """Put rows into the main directions and into signs."""
        import numpy as np

        assert self._matrix is not None
        assert self._short is not None
        assert self._signs is not None
        assert self._basis is not None
        for start in range(0, len(rows), _BATCH):
            part = rows[start : start + _BATCH]
            vectors = self._matrix[part]
            # The order of the products is all that is asked of them, so the scale is never taken off again.
            self._short[part] = np.clip(np.rint(vectors @ self._basis.T * self._scale), -127, 127)
            self._signs[:, part] = self._signs_of(vectors)

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
            if self._short is not None and self._signs is not None:
                self._short = np.concatenate((self._short, np.zeros((more, self._short.shape[1]), dtype=np.int8)))
                self._signs = np.concatenate((self._signs, np.zeros((len(self._signs), more), np.uint64)), axis=1)
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

    chosen = _top(values, top)
    return chosen[np.argsort(-values[chosen], kind="stable")]


def _top(values: np.ndarray, top: int) -> np.ndarray:
    """Return the positions of the largest values, in no order."""
    import numpy as np

    return np.argpartition(values, -top)[-top:] if len(values) > top else np.arange(len(values))


def _products(matrix: np.ndarray, rows: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the product of some rows of a matrix with a vector, float32."""
    import numpy as np

    compiled = kernels.loaded()
    if compiled is None or vector.dtype != np.float32:
        return dots(matrix.take(rows, axis=0).astype(np.float32, copy=False), vector)
    found = np.empty(len(rows), dtype=np.float32)
    compiled.products(matrix, np.ascontiguousarray(rows, dtype=np.int64), np.ascontiguousarray(vector), found)
    return found


def _about_nearest(far: np.ndarray, top: int) -> np.ndarray:
    """Return the positions of at least the `top` smallest distances (small whole numbers), in order of position."""
    import numpy as np

    within = np.cumsum(np.bincount(far))
    return np.flatnonzero(far <= np.searchsorted(within, min(top, len(far))))
