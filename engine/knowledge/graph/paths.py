"""Ways between two nodes: the shortest, and those that are best supported.

A best supported path is one whose edges are certain and whose inner nodes are specific. Its score is the
product of the edges' confidences and of a penalty for every inner node, larger for one of many edges: the idea of the
degree-weighted path count (Himmelstein and Baranzini, PLoS Comput Biol 2015): that two genes are expressed
in the liver, or cause nausea, joins nothing, and no more does that both were found in one file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from engine.domain.knowledge import NODE_CODE, SYMMETRIC, Edge, EdgeType, GraphPath, NodeType
from engine.errors import UserError
from engine.knowledge.graph.queries import RECORDS, WEAK_WORTH, as_types, hub_penalty
from engine.knowledge.graph.search import require
from engine.knowledge.graph.traverse import Direction
from engine.knowledge.graph.view import GraphView

MOST_HOPS = 6
_VOLUME = 150_000
"""Edges that are looked at for one more step; the nodes that promise most go first."""
_WAYS = 4
"""Ways kept to each node on either side."""
_JOINTS = 200
"""Meeting points that are worked out in full for each length."""
_WEAK = (NodeType.ANATOMY, NodeType.SYMPTOM, NodeType.SIDE_EFFECT)
"""Sharing only these (or records, between two entities that are none) supports nothing, and one of them among others
makes a path worth a tenth (`WEAK_WORTH`)."""


@dataclass(slots=True)
class _Level:
    """The ends of all ways of one length from one side, in arrays of equal length."""

    numbers: np.ndarray
    scores: np.ndarray
    """Without the penalty of the end itself."""
    before: np.ndarray
    """Position in the level before."""
    rows: np.ndarray
    """The edge that led here."""


def shortest_path(
    view: GraphView,
    a: str,
    b: str,
    *,
    max_hops: int = 6,
    edge_types: Collection[EdgeType] | None = None,
    direction: Direction = "both",
) -> GraphPath | None:
    """Return a path with the fewest edges, or None when there is none of at most `max_hops`.

    Of several edges between two nodes of the path the most certain is shown that points the way asked for.

    Raises:
        NotFoundError: when one of them is no node; the advice names what is near.
    """
    kinds = as_types(edge_types, EdgeType)
    ends = (require(view, a), require(view, b))
    numbers = view.shortest(*ends, kinds, direction, max(max_hops, 0))
    if numbers is None:
        return None
    rows = [_best_row(view, *pair, kinds, direction) for pair in pairwise(numbers)]
    return _path(view, numbers, rows, _weak(view, ends))


def best_paths(
    view: GraphView,
    a: str,
    b: str,
    max_hops: int = 4,
    top: int = 5,
    edge_types: Collection[EdgeType] | None = None,
) -> list[GraphPath]:
    """Return the best supported paths between two nodes, best first, each sequence of nodes once.

    Edges count in both directions. A path whose inner nodes are all anatomies, symptoms, side effects, or files
    and tools (unless it joins such) is no support and is left out. Around hubs the search looks at the most
    promising 150,000 edges per step.

    Raises:
        NotFoundError: when one of them is no node; the advice names what is near.
        UserError: for more than 6 hops.
    """
    if not 1 <= max_hops <= MOST_HOPS:
        raise UserError(f"A path of {max_hops} steps cannot be searched.", advice=f"Give 1 to {MOST_HOPS}.")
    ends = (require(view, a), require(view, b))
    if ends[0] == ends[1] or top < 1:
        return []
    kinds = as_types(edge_types, EdgeType)
    weak = _weak(view, ends)
    found: dict[tuple[int, ...], tuple[float, list[int]]] = {}
    sides = tuple([_start(end)] for end in ends)
    direct = _best_row(view, *ends, kinds)
    if direct >= 0:
        found[ends] = (float(view.edges.confidences(np.array([direct]))[0]), [direct])
    for length in range(2, max_hops + 1):
        steps = (length - length // 2, length // 2)
        for side, wanted in zip(sides, steps, strict=True):
            while len(side) <= wanted:
                side.append(_further(view, side[-1], ends, kinds, weak))
        for score, numbers, rows in _joined(view, sides[0][: steps[0] + 1], sides[1][: steps[1] + 1], weak):
            found.setdefault(numbers, (score, rows))
    good = {numbers: way for numbers, way in found.items() if _supports(view, numbers, weak)}
    ranked = sorted(good, key=lambda numbers: (-good[numbers][0], len(numbers), numbers))[:top]
    return [_path(view, list(numbers), good[numbers][1], weak) for numbers in ranked]


def _weak(view: GraphView, ends: tuple[int, int]) -> np.ndarray:
    """Return the codes of the types that support little between these two; files and tools do join files and tools."""
    records = not any(view.nodes.node_type(end) in RECORDS for end in ends)
    return np.array([NODE_CODE[kind] for kind in (*_WEAK, *(RECORDS if records else ()))])


def _start(number: int) -> _Level:
    none = np.array([-1], dtype=np.int64)
    return _Level(np.array([number], dtype=np.int64), np.ones(1), none, none)


def _further(
    view: GraphView,
    level: _Level,
    ends: tuple[int, int],
    edge_types: Collection[EdgeType] | None,
    weak: np.ndarray,
) -> _Level:
    """Take one step from every end of a level."""
    links = view.nodes.degrees[level.numbers]
    inner = np.where(level.before >= 0, _passing(view, level.numbers, weak), 1.0)  # a path may start at a hub
    order = np.argsort(-level.scores * inner, kind="stable")
    within = np.cumsum(links[order]) <= max(_VOLUME, int(links[order[:1]].sum()))
    order = order[within]
    owners, near, rows = view.adjacent_many(level.numbers[order], edge_types)
    before = order[owners]
    keep = (near != ends[0]) & (near != ends[1])
    before, near, rows = before[keep], near[keep].astype(np.int64), rows[keep]
    scores = level.scores[before] * inner[before] * view.edges.confidences(rows)
    # Of parallel edges the best; then of all ways to a node the best few.
    order = np.lexsort((rows, -scores, before, near))
    same = np.r_[False, (near[order][1:] == near[order][:-1]) & (before[order][1:] == before[order][:-1])]
    order = order[~same[: len(order)]]
    order = order[np.lexsort((before[order], -scores[order], near[order]))]
    order = order[_rank_in_group(near[order]) < _WAYS]
    return _Level(near[order], scores[order], before[order], rows[order])


def _rank_in_group(sorted_numbers: np.ndarray) -> np.ndarray:
    """Return 0, 1, 2... for each run of equal numbers."""
    places = np.arange(len(sorted_numbers))
    starts = np.r_[True, sorted_numbers[1:] != sorted_numbers[:-1]][: len(sorted_numbers)]
    return places - np.maximum.accumulate(np.where(starts, places, 0))


def _joined(
    view: GraphView, left: list[_Level], right: list[_Level], weak: np.ndarray
) -> Iterator[tuple[float, tuple[int, ...], list[int]]]:
    """Yield (score, nodes, rows) of the paths where ways from both sides meet, at the most promising nodes."""
    a, b = left[-1], right[-1]
    # Each level is sorted by node, its best way first.
    meeting, first_a, first_b = np.intersect1d(a.numbers, b.numbers, return_indices=True)
    if not len(meeting):
        return
    penalty = _passing(view, meeting, weak)
    best = a.scores[first_a] * b.scores[first_b] * penalty
    for joint in np.argsort(-best, kind="stable")[:_JOINTS].tolist():
        for place_a in _run(a.numbers, int(first_a[joint])):
            for place_b in _run(b.numbers, int(first_b[joint])):
                numbers_a, rows_a = _trace(left, place_a)
                numbers_b, rows_b = _trace(right, place_b)
                numbers = (*numbers_a, *numbers_b[::-1][1:])
                if len(set(numbers)) == len(numbers):
                    score = float(a.scores[place_a] * b.scores[place_b] * penalty[joint])
                    yield score, numbers, [*rows_a, *rows_b[::-1]]


def _passing(view: GraphView, numbers: np.ndarray, weak: np.ndarray) -> np.ndarray:
    """Return the factors for having nodes in between."""
    little = np.isin(view.nodes.types[numbers], weak)
    return hub_penalty(view.nodes.degrees[numbers]) * np.where(little, WEAK_WORTH, 1.0)


def _run(numbers: np.ndarray, first: int) -> range:
    last = first
    while last < len(numbers) and numbers[last] == numbers[first]:
        last += 1
    return range(first, last)


def _trace(levels: list[_Level], place: int) -> tuple[list[int], list[int]]:
    """Return the nodes from a side's start to one of its ends, and the rows between them."""
    numbers: list[int] = []
    rows: list[int] = []
    for level in reversed(levels):
        numbers.append(int(level.numbers[place]))
        if level.before[place] >= 0:
            rows.append(int(level.rows[place]))
        place = int(level.before[place])
    return numbers[::-1], rows[::-1]


def _supports(view: GraphView, numbers: tuple[int, ...], weak: np.ndarray) -> bool:
    """Say whether a path has an inner node that means something, or none at all."""
    inner = view.nodes.types[list(numbers[1:-1])]
    return not len(inner) or not np.isin(inner, weak).all()


def _best_row(
    view: GraphView,
    a: int,
    b: int,
    edge_types: Collection[EdgeType] | None = None,
    direction: Direction = "both",
) -> int:
    """Return the row of the most certain edge between two nodes, `out` being from `a` to `b`, or -1."""
    rows = view.rows_between(a, b)
    if len(rows) and (edge_types is not None or direction != "both"):
        heads = {"out": (a,), "in": (b,), "both": (a, b)}[direction]
        ids = {view.nodes.node(number).id for number in heads}

        def fits(edge: Edge) -> bool:
            points = edge.source in ids or edge.type in SYMMETRIC
            return points and (edge_types is None or edge.type in edge_types)

        rows = rows[[fits(edge) for edge in view.edges.full(rows)]]
    return int(rows[np.argmax(view.edges.confidences(rows))]) if len(rows) else -1


def _path(view: GraphView, numbers: list[int], rows: list[int], weak: np.ndarray) -> GraphPath:
    edges = view.edges.full(rows)
    score = float(np.prod([edge.confidence for edge in edges]))
    score *= float(np.prod(_passing(view, np.array(numbers[1:-1], dtype=np.int64), weak)))
    return GraphPath(nodes=[view.nodes.node(number) for number in numbers], edges=edges, score=round(score, 6))
