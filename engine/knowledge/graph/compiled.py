"""The inner loops of graph traversal in Numba. Imported by `engine.knowledge.graph.kernels` alone, in the background.

Offsets are those of `engine.knowledge.graph.view`: the edges of node `n` in slot `s` are
`near[offsets[n * slots + s] : offsets[n * slots + s + 1]]`. `low` and `high` give ranges of slots.
"""

from __future__ import annotations

import numba  # noqa: TID253 - this module is imported inside a function
import numpy as np
from numba import types  # noqa: TID253

_I2, _I4, _I8 = types.int16, types.int32, types.int64
_NUMBERS = types.Array(_I4, 1, "C", readonly=True)
"""An array that is only read, as memory-mapped ones are."""

_FEW = 64
"""Fewer than one node in this many are sorted; more are read off the marks."""


@numba.njit([types.void(_I8, _I2[::1], _I4[::1], _I2[::1])], cache=True, nogil=True)
def _hand_over(count, steps, queue, distances):
    """Put the nodes reached into ascending order, with their distances, and clear the marks."""
    nodes = len(steps)
    if count * _FEW < nodes:
        queue[:count].sort()
        for place in range(count):
            distances[place] = steps[queue[place]]
            steps[queue[place]] = -1
    else:
        place = 0
        for node in range(nodes):
            if steps[node] >= 0:
                queue[place] = node
                distances[place] = steps[node]
                steps[node] = -1
                place += 1


@numba.njit([_I8(_I4[::1], _I2[::1], _I4[::1])], cache=True, nogil=True)
def _begin(seeds, steps, queue):
    """Put the seeds into the queue, each once; return how many they are, or -1 when one is no node."""
    for seed in seeds:
        if seed < 0 or seed >= len(steps):
            return np.int64(-1)
    count = np.int64(0)
    for seed in seeds:
        if steps[seed] < 0:
            steps[seed] = 0
            queue[count] = seed
            count += 1
    return count


@numba.njit(
    [_I8(_NUMBERS, _NUMBERS, _I8, _I4[::1], _NUMBERS, _NUMBERS, _I8, _I2[::1], _I4[::1], _I2[::1])],
    cache=True,
    nogil=True,
)
def walk(offsets, near, slots, seeds, low, high, hops, steps, queue, distances):
    """Walk breadth first; return how many nodes were reached, or -1 when a seed is no node.

    `queue` gets the nodes in ascending order and `distances` theirs; `steps` holds -1 before and after.
    """
    count = _begin(seeds, steps, queue)
    if count < 0:
        return count
    begin = 0
    for hop in range(1, hops + 1):
        end = count
        for place in range(begin, end):
            base = np.int64(queue[place]) * slots
            for span in range(len(low)):
                for edge in range(offsets[base + low[span]], offsets[base + high[span]]):
                    node = near[edge]
                    if steps[node] < 0:
                        steps[node] = hop
                        queue[count] = node
                        count += 1
        if count == end:
            break
        begin = end
    _hand_over(count, steps, queue, distances)
    return count


@numba.njit(
    [types.UniTuple(_I8, 2)(_NUMBERS, _NUMBERS, _I8, _NUMBERS, _NUMBERS, _I8, _I8, _I4[::1], _I4[::1], _I4[::1])],
    cache=True,
    nogil=True,
)
def _expand(offsets, near, slots, low, high, begin, end, mine, theirs, queue):
    """Take one step on one side; return the queue's new end and the node where the sides meet, or -1."""
    count = end
    for place in range(begin, end):
        base = np.int64(queue[place]) * slots
        for span in range(len(low)):
            for edge in range(offsets[base + low[span]], offsets[base + high[span]]):
                node = near[edge]
                if mine[node] < 0:
                    mine[node] = queue[place]
                    queue[count] = node
                    count += 1
                    if theirs[node] >= 0:
                        return count, np.int64(node)
    return count, np.int64(-1)


@numba.njit(
    [
        _I8(
            _NUMBERS, _NUMBERS, _I8, _I8, _I8, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, _I8,
            _I4[::1], _I4[::1], _I4[::1], _I4[::1], _I4[::1],
        )
    ],
    cache=True,
    nogil=True,
)  # fmt: skip
def shortest(offsets, near, slots, a, b, low, high, back_low, back_high, most, from_a, from_b, queue_a, queue_b, found):
    """Search from both ends, the smaller side first; return the number of steps, or -1.

    `from_a` and `from_b` hold -1 before and after; `found` gets the nodes of the path.
    """
    from_a[a] = a
    from_b[b] = b
    queue_a[0] = a
    queue_b[0] = b
    begin_a, end_a, begin_b, end_b = np.int64(0), np.int64(1), np.int64(0), np.int64(1)
    meeting = np.int64(-1)
    depth = 0
    while meeting < 0 and depth < most and begin_a < end_a and begin_b < end_b:
        depth += 1
        if end_a - begin_a <= end_b - begin_b:
            count, meeting = _expand(offsets, near, slots, low, high, begin_a, end_a, from_a, from_b, queue_a)
            begin_a, end_a = end_a, count
        else:
            count, meeting = _expand(offsets, near, slots, back_low, back_high, begin_b, end_b, from_b, from_a, queue_b)
            begin_b, end_b = end_b, count
    length = np.int64(-1)
    if meeting >= 0:
        length = np.int64(0)
        node = np.int32(meeting)
        while node != a:
            node = from_a[node]
            length += 1
        node = np.int32(meeting)
        for place in range(length, -1, -1):
            found[place] = node
            node = from_a[node]
        node = np.int32(meeting)
        while node != b:
            node = from_b[node]
            length += 1
            found[length] = node
    for place in range(end_a):
        from_a[queue_a[place]] = -1
    for place in range(end_b):
        from_b[queue_b[place]] = -1
    return length
