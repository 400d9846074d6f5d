"""The inner loops of the vector search in Numba. Imported by `engine.memory.kernels` alone, in the background."""

from __future__ import annotations

import numba  # noqa: TID253 - this module is imported inside a function
import numpy as np
from numba import types  # noqa: TID253
from numba.extending import intrinsic  # noqa: TID253

_I1, _U2, _I8, _U8, _F4 = types.int8, types.uint16, types.int64, types.uint64, types.float32
_BLOCK = 1024
"""Rows whose sums stay in the nearest cache while the signs are read column by column."""


@intrinsic
def _ones(_typing, _value):
    """Count the bits that are set in an unsigned 64-bit number, by the machine's own instruction."""
    return types.uint64(types.uint64), lambda _context, builder, _signature, given: builder.ctpop(given[0])


@numba.njit([_I8(_U8[:, ::1], _U8[::1], _I8, _I8, _U2[::1], _I8[::1])], cache=True, nogil=True)
def promising(signs, own, rows, top, far, chosen):
    """Write the positions of at least the `top` rows that differ in the fewest signs; return how many they are.

    `signs` has a row for each word of signs; `far` gets the distances of the first `rows` rows, and `chosen`, as long,
    the positions in ascending order.
    """
    words = len(own)
    counts = np.zeros(64 * words + 1, dtype=np.int64)
    block = np.empty(_BLOCK, dtype=np.uint64)
    for start in range(0, rows, _BLOCK):
        size = min(_BLOCK, rows - start)
        block[:] = 0
        for word in range(words):
            mine = own[word]
            theirs = signs[word, start : start + size]
            for place in range(size):
                block[place] += _ones(theirs[place] ^ mine)  # pyright: ignore[reportCallIssue]
        for place in range(size):
            far[start + place] = block[place]
            counts[block[place]] += 1
    bound, within = 0, counts[0]
    while within < top and bound < 64 * words:
        bound += 1
        within += counts[bound]
    count = 0
    for row in range(rows):
        chosen[count] = row
        count += far[row] <= bound
    return count


@numba.njit(
    [
        types.void(_F4[:, ::1], _I8[::1], _F4[::1], _F4[::1]),
        types.void(_I1[:, ::1], _I8[::1], _F4[::1], _F4[::1]),
    ],
    cache=True,
    nogil=True,
    fastmath=True,
)
def products(matrix, rows, vector, found):
    """Write the product of each of the given rows of a matrix with a vector; no row is copied."""
    for place in range(len(rows)):
        row = matrix[rows[place]]
        total = np.float32(0.0)
        for at in range(len(vector)):
            total += np.float32(row[at]) * vector[at]
        found[place] = total
