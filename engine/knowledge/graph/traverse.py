"""Walking over traversal arrays: with the compiled loops where they are ready.

Until then, and without Numba, a walk begins in plain Python, which is the quickest for a few hundred edges, and goes on
in NumPy from where it meets more of them.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np

from engine.domain.knowledge import EDGE_CODE, SYMMETRIC, EdgeType, NodeType
from engine.errors import UserError
from engine.knowledge.graph import kernels

Direction = Literal["out", "in", "both"]
Spans = tuple[np.ndarray, np.ndarray]
"""Ranges of slots, as int32 arrays of first and past-the-last."""
Ranges = list[tuple[int, int]]
"""The same for plain Python."""
_LITTLE = 150
"""Edges up to which a step of a walk is quicker in plain Python than in NumPy."""
_DENSE = 16
"""From one edge in so many nodes on, marking the nodes reached is quicker than sorting them."""


class Slots:
    """Where the edges of a type and direction stand within a node's.

    A node's half-edges are ordered by slot: first the directed types outward, then the symmetric types, then
    the directed types inward. So what leaves a node, what enters it and both together are one range each.
    """

    def __init__(self, codes: Collection[int]) -> None:
        """Lay out the types, given by their codes, that a graph has."""
        alike = {EDGE_CODE[kind] for kind in SYMMETRIC}
        directed = sorted(code for code in codes if code not in alike)
        symmetric = sorted(code for code in codes if code in alike)
        self.count = 2 * len(directed) + len(symmetric)
        self.codes = np.array([*directed, *symmetric, *directed], dtype=np.uint8)
        self._out = {code: place for place, code in enumerate([*directed, *symmetric])}
        self._in = {code: len(directed) + place for place, code in enumerate([*symmetric, *directed])}
        self._whole: dict[Direction, tuple[int, int]] = {
            "out": (0, len(self._out)),
            "in": (len(directed), self.count),
            "both": (0, self.count),
        }
        self._known: dict[tuple[frozenset[EdgeType] | None, Direction], Spans] = {}
        self._ranges: dict[tuple[frozenset[EdgeType] | None, Direction], Ranges] = {}

    def outward(self) -> np.ndarray:
        """Return code -> slot for the edge's source (uint8 codes index it)."""
        return self._table(self._out)

    def inward(self) -> np.ndarray:
        """Return code -> slot for the edge's target."""
        return self._table(self._in)

    def spans(self, edge_types: Collection[EdgeType] | None, direction: Direction) -> Spans:
        """Return the fewest ranges of slots that hold these types in this direction.

        Raises:
            UserError: for what is no type of edge.
        """
        key = (None if edge_types is None else frozenset(edge_types), direction)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._find(key[0], direction)
        return known

    def ranges(self, edge_types: Collection[EdgeType] | None, direction: Direction) -> Ranges:
        """Return the same as pairs of plain numbers."""
        key = (None if edge_types is None else frozenset(edge_types), direction)
        known = self._ranges.get(key)
        if known is None:
            low, high = self.spans(edge_types, direction)
            known = self._ranges[key] = list(zip(low.tolist(), high.tolist(), strict=True))
        return known

    def _find(self, edge_types: frozenset[EdgeType] | None, direction: Direction) -> Spans:
        if edge_types is None:
            low, high = self._whole[direction]
            return _frozen([low], [high]) if high > low else _frozen([], [])
        for given in edge_types:
            if given not in EDGE_CODE:
                raise no_such_type(given, EdgeType)
        codes = {EDGE_CODE[kind] for kind in edge_types}
        tables = {"out": [self._out], "in": [self._in], "both": [self._out, self._in]}[direction]
        places = sorted({table[code] for table in tables for code in codes if code in table})
        low = [place for place in places if place - 1 not in places]
        high = [place + 1 for place in places if place + 1 not in places]
        return _frozen(low, high)

    def _table(self, slots: dict[int, int]) -> np.ndarray:
        table = np.zeros(256, dtype=np.int64)
        table[list(slots)] = list(slots.values())
        return table


class Walker:
    """Breadth-first walks over one graph's arrays. Thread-safe: each thread has its own marks."""

    def __init__(self, offsets: np.ndarray, near: np.ndarray, slots: Slots, nodes: int) -> None:
        self._offsets = offsets
        self._near = near
        self._slots = slots
        self._nodes = nodes
        self._scratch = threading.local()
        # Plain Python reads numbers off memoryviews several times as quickly as off arrays.
        self._ends, self._ids = offsets.data, near.data
        # The compiled loops are for offsets of 32 bits; a graph of a thousand million edges does without them.
        self._compiled = offsets.dtype == np.int32

    def reach(
        self,
        seeds: Sequence[int] | np.ndarray,
        hops: int,
        edge_types: Collection[EdgeType] | None,
        direction: Direction,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the nodes (int32, ascending) within so many steps of the seeds, and their distances (int16).

        None when a seed is not the number of a node.
        """
        ready = self._kernels()
        if ready is None:
            given = seeds.tolist() if isinstance(seeds, np.ndarray) else seeds
            plain = [operator.index(seed) for seed in given]
            fits = not plain or (min(plain) >= 0 and max(plain) < self._nodes)
            return self._walk(plain, hops, self._slots.ranges(edge_types, direction)) if fits else None
        low, high = self._slots.spans(edge_types, direction)
        start = _starts(seeds, self._nodes)
        if start is None:
            return None
        queue, far = self._room("queue", np.int32), self._room("far", np.int16)
        count = ready.walk(
            self._offsets, self._near, self._slots.count, start, low, high, hops,
            self._room("steps", np.int16), queue, far,
        )  # fmt: skip
        return (queue[:count].copy(), far[:count].copy()) if count >= 0 else None

    def shortest(
        self, a: int, b: int, edge_types: Collection[EdgeType] | None, direction: Direction, most: int
    ) -> list[int] | None:
        """Return the nodes of a path with the fewest steps, at most `most`, or None."""
        if a == b:
            return [a]
        backward: Direction = {"out": "in", "in": "out", "both": "both"}[direction]  # type: ignore[assignment]
        ready, slots = self._kernels(), self._slots
        if ready is None:
            return self._search(a, b, (slots.ranges(edge_types, direction), slots.ranges(edge_types, backward)), most)
        ahead, back = slots.spans(edge_types, direction), slots.spans(edge_types, backward)
        from_a, from_b = self._room("from_a", np.int32), self._room("from_b", np.int32)
        queue_a, queue_b = self._room("queue", np.int32), self._room("queue_b", np.int32)
        found = self._room("found", np.int32)
        steps = ready.shortest(
            self._offsets, self._near, slots.count, a, b, *ahead, *back, most,
            from_a, from_b, queue_a, queue_b, found,
        )  # fmt: skip
        return found[: steps + 1].tolist() if steps >= 0 else None

    def _kernels(self) -> kernels.Kernels | None:
        return kernels.loaded() if self._compiled else None

    def gather(self, numbers: np.ndarray, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Return, for the edges of many nodes in a range of slots, the position in `numbers` and in the edge arrays."""
        base = numbers.astype(np.int64) * self._slots.count
        starts = self._offsets[base + low].astype(np.int64)
        lengths = self._offsets[base + high] - starts
        owners = np.repeat(np.arange(len(numbers)), lengths)
        before = np.cumsum(lengths) - lengths
        return owners, np.arange(len(owners)) + (starts - before)[owners]

    def _walk(self, seeds: list[int], hops: int, spans: Ranges) -> tuple[np.ndarray, np.ndarray]:
        """The walk without compiled loops: in plain Python up to the step that has many edges to look at."""
        steps = dict.fromkeys(seeds, 0)
        edge = list(steps)
        for hop in range(1, hops + 1):
            if len(edge) > _LITTLE:
                return self._walk_far(steps, hop, hops, spans)
            near = self._slices(edge, spans)
            if sum(map(len, near)) > _LITTLE:
                return self._walk_far(steps, hop, hops, spans, np.frombuffer(b"".join(near), dtype=np.int32))
            edge = [number for part in near for number in part.tolist() if number not in steps]
            if not edge:
                break
            steps.update(dict.fromkeys(edge, hop))
            edge = list(dict.fromkeys(edge))
        found = np.array(sorted(steps.items()), dtype=np.int32).reshape(-1, 2)
        return found[:, 0].copy(), found[:, 1].astype(np.int16)

    def _walk_far(
        self, known: dict[int, int], begin: int, hops: int, spans: Ranges, near: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Go on in NumPy from step `begin`, whose edges lead to `near`; numbers and steps are sorted as one number."""
        keys = np.array([number << 16 | step for number, step in known.items()], dtype=np.int64)
        edge = np.array([number for number, step in known.items() if step == begin - 1], dtype=np.int64)
        for hop in range(begin, hops + 1):
            if near is None:
                parts = [self._near[self.gather(edge, low, high)[1]] for low, high in spans]
                near = np.concatenate([self._near[:0], *parts])
            if len(near) * _DENSE > self._nodes:
                near = self._each_once(near)
            keys = np.sort(np.concatenate([keys, near.astype(np.int64) << 16 | hop]))
            numbers = keys >> 16
            first = np.ones(len(keys), dtype=bool)
            np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
            keys, numbers, near = keys[first], numbers[first], None
            edge = numbers[keys & 0xFFFF == hop]
            if not len(edge):
                break
        return (keys >> 16).astype(np.int32), (keys & 0xFFFF).astype(np.int16)

    def _each_once(self, numbers: np.ndarray) -> np.ndarray:
        there = np.zeros(self._nodes, dtype=bool)
        there[numbers] = True
        return np.flatnonzero(there)

    def _search(self, a: int, b: int, ranges: tuple[Ranges, Ranges], most: int) -> list[int] | None:
        """The bidirectional search in plain Python, node for node the one of the compiled loop."""
        parents: tuple[dict[int, int], dict[int, int]] = ({a: a}, {b: b})
        edges = [[a], [b]]
        for _ in range(most):
            if not edges[0] or not edges[1]:
                return None
            side = 0 if len(edges[0]) <= len(edges[1]) else 1
            edges[side], meeting = self._further(edges[side], ranges[side], parents[side], parents[1 - side])
            if meeting >= 0:
                return _join(parents, meeting, a, b)
        return None

    def _further(
        self, edge: list[int], ranges: Ranges, mine: dict[int, int], theirs: dict[int, int]
    ) -> tuple[list[int], int]:
        """Take one step from every node of one side; return the nodes new to it and where the sides meet, or -1."""
        count, ends, ids = self._slots.count, self._ends, self._ids
        fresh: list[int] = []
        for node in edge:
            for low, high in ranges:
                for near in ids[ends[node * count + low] : ends[node * count + high]]:
                    if near not in mine:
                        mine[near] = node
                        fresh.append(near)
                        if near in theirs:
                            return fresh, near
        return fresh, -1

    def _slices(self, nodes: list[int], spans: Ranges) -> list[memoryview]:
        """Return where the edges of nodes lead, an entry for each node and range that has any."""
        count, ends, ids = self._slots.count, self._ends, self._ids
        bounds = [(ends[node * count + low], ends[node * count + high]) for node in nodes for low, high in spans]
        return [ids[low:high] for low, high in bounds if low != high]

    def _room(self, name: str, kind: type) -> np.ndarray:
        """Return this thread's array of that name: one number a node, -1 when first asked for."""
        room = getattr(self._scratch, name, None)
        if room is None:
            room = np.full(self._nodes, -1, dtype=kind)
            setattr(self._scratch, name, room)
        return room


def no_such_type(given: object, kind: type[NodeType] | type[EdgeType]) -> UserError:
    """Return the error for what is no type of node or edge."""
    what = "node" if kind is NodeType else "edge"
    known = ", ".join(member.value for member in kind)
    return UserError(f"{str(given)[:100]!r} is not a type of {what}.", advice=f"There are: {known}.")


def _starts(seeds: Sequence[int] | np.ndarray, nodes: int) -> np.ndarray | None:
    """Return seeds as int32, or None when one is too large for that; NumPy itself would wrap it to another node."""
    if isinstance(seeds, np.ndarray) and seeds.dtype.kind in "iu":
        fits = np.can_cast(seeds.dtype, np.int32) or not len(seeds) or (seeds.min() >= 0 and seeds.max() < nodes)
        return seeds.astype(np.int32) if fits else None
    try:
        return np.array([operator.index(seed) for seed in seeds], dtype=np.int32)
    except OverflowError:
        return None


def _join(parents: tuple[dict[int, int], dict[int, int]], meeting: int, a: int, b: int) -> list[int]:
    path = [meeting]
    while path[-1] != a:
        path.append(parents[0][path[-1]])
    path.reverse()
    while path[-1] != b:
        path.append(parents[1][path[-1]])
    return path


def _frozen(low: list[int], high: list[int]) -> Spans:
    spans = np.array(low, dtype=np.int32), np.array(high, dtype=np.int32)
    for side in spans:
        side.flags.writeable = False
    return spans
