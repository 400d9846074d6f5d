"""Questions about what surrounds a node: neighbourhoods, common neighbours, subgraphs, and how large the graph is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.domain.knowledge import (
    EDGE_TYPES,
    NODE_CODE,
    NODE_TYPES,
    EdgeType,
    GraphStats,
    Neighbourhood,
    NodeHit,
    NodeType,
)
from engine.errors import LimitExceeded, UserError
from engine.knowledge.graph.search import require
from engine.knowledge.graph.traverse import no_such_type
from engine.knowledge.graph.view import GraphView
from engine.ports.graph import GraphStore

if TYPE_CHECKING:
    import networkx

MOST_HOPS = 6
MOST_NODES = 5000
"""The largest neighbourhood or subgraph that is written out."""
MOST_EDGES = 2000
"""Edges that a neighbourhood shows at most; the most certain ones are kept."""
RECORDS = (NodeType.DATASET, NodeType.TOOL, NodeType.PROTOCOL, NodeType.PUBLICATION, NodeType.DOMAIN)
"""What work on data leaves behind. A run links every gene it found to its file: that joins no two genes."""
WEAK_WORTH = 0.1
"""What a node in between is worth beside another when sharing it says little."""
_MOST_LOOKED_AT = 2_000_000
_INNER = 0.5
"""What every node in between costs a path: what follows from two statements is less certain than one."""
_HUB = 20
"""A node of up to so many edges is no hub."""
_DAMPING = 0.4
"""How strongly a hub lowers a path: Himmelstein and Baranzini (PLoS Comput Biol 2015) found 0.4 for Hetionet."""


def neighbourhood(
    view: GraphView,
    seeds: Sequence[str],
    hops: int = 1,
    edge_types: Collection[EdgeType] | None = None,
    node_types: Collection[NodeType] | None = None,
    limit: int = 150,
) -> Neighbourhood:
    """Return what is around some nodes.

    Args:
        view: the graph.
        seeds: ids of the nodes in the middle.
        hops: steps to go, 1 to 6.
        edge_types: edges to walk; all when None.
        node_types: kinds of nodes wanted; all when None. Others appear only where they join a wanted one to
            the seeds.
        limit: how many nodes at most. Near ones go before far ones, each step keeping some room, and among
            those of a step the best connected go first; what did not fit is counted by type.

    Returns:
        The nodes shown and the edges among them. `reached` and `reached_by_type` count all that there are with
        the seeds, as `nodes` holds them.

    Raises:
        NotFoundError: when a seed is no node; the advice names what is near.
        UserError: for hops or a limit that cannot be.
    """
    began = time.perf_counter()
    _check("hops", hops, 1, MOST_HOPS)
    _check("limit", limit, 1, MOST_NODES)
    wanted_types = as_types(edge_types, EdgeType)
    kinds = as_types(node_types, NodeType)
    middle = list(dict.fromkeys(require(view, seed) for seed in seeds))
    found, steps = view.reach_steps(middle, hops, wanted_types)
    codes = view.nodes.types[found]
    wanted = steps > 0
    if kinds is not None:
        wanted &= np.isin(codes, [NODE_CODE[kind] for kind in kinds])
    reached = Counter(codes[wanted | (steps == 0)].tolist())
    chosen = _choose(view, middle, found, steps, wanted, limit, wanted_types)
    numbers = np.array(list(chosen), dtype=np.int64)
    nodes = [view.nodes.node(number) for number in chosen]
    ids = [node.id for node in nodes]
    return Neighbourhood(
        seeds=[view.nodes.node(number).id for number in middle],
        nodes=nodes,
        hops=dict(zip(ids, chosen.values(), strict=True)),
        degrees=dict(zip(ids, view.nodes.degrees[numbers].tolist(), strict=True)),
        edges=view.edges.full(_rows_among(view, numbers, wanted_types)),
        reached=sum(reached.values()),
        reached_by_type={NODE_TYPES[code]: count for code, count in reached.most_common()},
        seconds=round(time.perf_counter() - began, 6),
    )


def common_neighbours(
    view: GraphView, a: str, b: str, edge_types: Collection[EdgeType] | None = None, top: int = 50
) -> list[NodeHit]:
    """Return the nodes linked to both of two nodes, the most telling first.

    The score is the product of the best confidence on either side, lowered for hubs, and for files and tools
    that join what is none; `matched` says how the node is linked, e.g. `binds / associated_with`.

    Raises:
        NotFoundError: when one of them is no node.
    """
    ends = [require(view, a), require(view, b)]
    sides = [_strongest(view, end, as_types(edge_types, EdgeType)) for end in ends]
    shared = [number for number in sides[0] if number in sides[1] and number not in ends]
    links = dict(zip(shared, view.nodes.degrees[np.array(shared, dtype=np.int64)].tolist(), strict=True))
    scores = {n: sides[0][n][0] * sides[1][n][0] * float(hub_penalty(np.array([links[n]]))[0]) for n in shared}
    if not any(view.nodes.node_type(end) in RECORDS for end in ends):
        scores = {n: score * (WEAK_WORTH if view.nodes.node_type(n) in RECORDS else 1.0) for n, score in scores.items()}
    ranked = sorted(shared, key=lambda number: (-scores[number], number))[: max(top, 0)]
    return [
        NodeHit(
            node=view.nodes.node(number),
            score=round(scores[number], 6),
            matched=" / ".join(EDGE_TYPES[side[number][1]].value for side in sides),
            degree=links[number],
        )
        for number in ranked
    ]


def subgraph(view: GraphView, ids: Sequence[str]) -> networkx.MultiDiGraph[str]:
    """Return nodes and all edges among them as a NetworkX graph.

    Nodes carry name, type and degree; edges carry type, relation, origin and confidence, with the type as key
    (and a number behind it where a type occurs twice).

    Raises:
        NotFoundError: when an id is no node.
        LimitExceeded: for more than 5,000 nodes.
    """
    import networkx as nx

    if len(ids) > MOST_NODES:
        raise LimitExceeded(
            f"A subgraph of {len(ids):,} nodes was asked for; at most {MOST_NODES:,} can be drawn.",
            advice="Take the best connected ones.",
            details={"kind": "subgraph_nodes", "value": len(ids), "limit": MOST_NODES},
        )
    numbers = list(dict.fromkeys(require(view, node_id) for node_id in ids))
    graph: Any = nx.MultiDiGraph()
    for number in numbers:
        node = view.nodes.node(number)
        graph.add_node(node.id, name=node.name, type=node.type.value, degree=view.nodes.degree(number))
    rows = _rows_among(view, np.array(numbers, dtype=np.int64), None, most=0)
    for edge in view.edges.full(rows):
        key, times = edge.type.value, 1
        while graph.has_edge(edge.source, edge.target, key):
            times += 1
            key = f"{edge.type.value} {times}"
        about = {"relation": edge.relation, "origin": edge.origin, "confidence": edge.confidence}
        graph.add_edge(edge.source, edge.target, key=key, type=edge.type.value, **about)
    return graph


def statistics(view: GraphView, store: GraphStore) -> GraphStats:
    """Return how large the graph is and of what."""
    kinds = np.bincount(view.nodes.types, minlength=len(NODE_TYPES))
    links = np.bincount(view.edges.codes, minlength=len(EDGE_TYPES))
    return GraphStats(
        nodes=len(view.nodes),
        edges=len(view.edges),
        nodes_by_type={NODE_TYPES[i]: int(kinds[i]) for i in np.argsort(-kinds, kind="stable") if kinds[i]},
        edges_by_type={EDGE_TYPES[i]: int(links[i]) for i in np.argsort(-links, kind="stable") if links[i]},
        sources=store.sources(),
        version=view.version,
    )


def hub_penalty(links: np.ndarray) -> np.ndarray:
    """Return the factors for passing nodes of so many edges: 0.5 up to 20, then 0.5 (20 / edges) ^ 0.4."""
    return _INNER * np.minimum(1.0, _HUB / np.maximum(links, 1)) ** _DAMPING


def _choose(
    view: GraphView,
    seeds: list[int],
    found: np.ndarray,
    steps: np.ndarray,
    wanted: np.ndarray,
    limit: int,
    edge_types: Collection[EdgeType] | None,
) -> dict[int, int]:
    """Return the nodes to show, with their distances; every one is joined to the seeds by others shown."""
    chosen = dict.fromkeys(seeds[:limit], 0)
    shown = np.zeros(len(view.nodes), dtype=bool)
    shown[list(chosen)] = True
    distance = np.full(len(view.nodes), -1, dtype=np.int16)
    distance[found] = steps
    last = int(steps.max(initial=0))
    links = view.nodes.degrees[found]
    for step in range(1, last + 1):
        # Each step may fill its share of what is left, so that near nodes do not crowd out all far ones.
        room = len(chosen) + (limit - len(chosen)) // (last - step + 1)
        level = np.flatnonzero(wanted & (steps == step))
        level = level[np.lexsort((found[level], -links[level]))]
        for number in found[level].tolist():
            if len(chosen) >= room:
                break
            way = {} if shown[number] else _way_back(view, number, step, shown, distance, edge_types)
            if len(chosen) + len(way) <= limit:
                chosen.update(way)
                shown[list(way)] = True
    return chosen


def _way_back(
    view: GraphView,
    number: int,
    step: int,
    shown: np.ndarray,
    distance: np.ndarray,
    edge_types: Collection[EdgeType] | None,
) -> dict[int, int]:
    """Return a node and what must be shown with it so that it hangs together with what is shown."""
    way = {number: step}
    while step > 1:
        near = view.adjacent(number, edge_types).numbers
        before = near[distance[near] == step - 1]
        if shown[before].any():
            break
        number = int(before[np.argmax(view.nodes.degrees[before])])
        step -= 1
        way[number] = step
    return way


def _rows_among(
    view: GraphView, numbers: np.ndarray, edge_types: Collection[EdgeType] | None, most: int = MOST_EDGES
) -> np.ndarray:
    """Return the rows of the edges among nodes, ascending; with `most` above 0 only that many, the most certain."""
    if not len(numbers):
        return np.empty(0, dtype=np.int64)
    inside = np.zeros(len(view.nodes), dtype=bool)
    inside[numbers] = True
    rows: list[np.ndarray] = []
    links = view.nodes.degrees[numbers]
    # In parts, so that hubs with all their edges need not stand in memory at once.
    parts = np.split(numbers, np.flatnonzero(np.diff(np.cumsum(links) // _MOST_LOOKED_AT)) + 1)
    for part in parts:
        _, near, found = view.adjacent_many(part, edge_types)
        rows.append(found[inside[near]])
    every = np.unique(np.concatenate(rows))
    if 0 < most < len(every):
        every = np.sort(every[np.argsort(-view.edges.confidences(every), kind="stable")[:most]])
    return every


def _strongest(view: GraphView, number: int, edge_types: Collection[EdgeType] | None) -> dict[int, tuple[float, int]]:
    """Return neighbour -> the confidence and type code of the most certain edge to it."""
    adjacent = view.adjacent(number, edge_types)
    worth = view.edges.confidences(adjacent.rows)
    order = np.argsort(worth, kind="stable")  # the best one comes last and stays
    numbers, types = adjacent.numbers[order].tolist(), adjacent.types[order].tolist()
    return dict(zip(numbers, zip(worth[order].tolist(), types, strict=True), strict=True))


def as_types(given: Collection[Any] | None, kind: type[NodeType] | type[EdgeType]) -> set[Any] | None:
    """Return types as such; an empty collection means all, as None does."""
    if not given:
        return None
    values = [given] if isinstance(given, str) else list(given)
    known = {member.value: member for member in kind}
    unknown = [str(value) for value in values if value not in known]
    if unknown:
        raise no_such_type(unknown[0], kind)
    return {known[value] for value in values}


def _check(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UserError(f"{what} cannot be {value}.", advice=f"Give a number from {least} to {most:,}.")
