"""What queries need of any graph view, done over arrays where the view has them and step by step where not."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from engine.domain.knowledge import EdgeType
from engine.knowledge.graph.csr import CsrGraph
from engine.knowledge.graph.view import Direction, GraphView


def steps_from(
    view: GraphView,
    seeds: Sequence[int],
    hops: int,
    edge_types: Collection[EdgeType] | None = None,
    direction: Direction = "both",
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of all nodes within `hops` steps of the seeds, ascending, and their distances."""
    if isinstance(view, CsrGraph):
        return view.reach_steps(seeds, hops, edge_types, direction)
    distances = dict.fromkeys(seeds, 0)
    edge = list(distances)
    for hop in range(1, hops + 1):
        fresh: list[int] = []
        for number in edge:
            for neighbour in view.adjacent(number, edge_types, direction).numbers.tolist():
                if neighbour not in distances:
                    distances[neighbour] = hop
                    fresh.append(neighbour)
        edge = fresh
    found = np.array(sorted(distances), dtype=np.int32)
    return found, np.array([distances[number] for number in found.tolist()], dtype=np.int16)


def shortest(
    view: GraphView,
    a: int,
    b: int,
    max_hops: int,
    edge_types: Collection[EdgeType] | None = None,
    direction: Direction = "both",
) -> list[int] | None:
    """Return the numbers of the nodes on a path with the fewest edges, or None when there is none that short."""
    if isinstance(view, CsrGraph):
        return view.shortest(a, b, edge_types, direction, max_hops)
    parents = {a: a}
    edge = [a]
    for _ in range(max_hops):
        if b in parents:
            break
        fresh: list[int] = []
        for number in edge:
            for neighbour in view.adjacent(number, edge_types, direction).numbers.tolist():
                if neighbour not in parents:
                    parents[neighbour] = number
                    fresh.append(neighbour)
        edge = fresh
    if b not in parents:
        return None
    path = [b]
    while path[-1] != a:
        path.append(parents[path[-1]])
    return path[::-1]


def edges_at(
    view: GraphView, numbers: np.ndarray, edge_types: Collection[EdgeType] | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the edges at many nodes: position in `numbers`, node at the other end, row."""
    if isinstance(view, CsrGraph):
        return view.adjacent_many(numbers, edge_types)
    nothing = np.empty(0, dtype=np.int64)
    owners, near, rows = [nothing], [nothing], [nothing]
    for place, number in enumerate(numbers.tolist()):
        found = view.adjacent(number, edge_types)
        owners.append(np.full(len(found), place, dtype=np.int64))
        near.append(found.numbers)
        rows.append(found.rows)
    return np.concatenate(owners), np.concatenate(near), np.concatenate(rows)


def confidences(view: GraphView, rows: np.ndarray) -> np.ndarray:
    """Return the confidences of edges."""
    if isinstance(view, CsrGraph):
        return view.confidences(rows).astype(np.float64)
    return np.array([edge.confidence for edge in view.edges(rows)], dtype=np.float64)


def degrees(view: GraphView, numbers: np.ndarray) -> np.ndarray:
    """Return the degrees of nodes."""
    if isinstance(view, CsrGraph):
        return view.degrees[numbers]
    return np.array([view.degree(int(number)) for number in numbers], dtype=np.int64)
