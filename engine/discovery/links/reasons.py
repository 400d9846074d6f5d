"""What speaks for one pair: its best paths, and what its probability would be without the best of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.discovery.links.counts import PathCounts
from engine.discovery.links.model import LinkModel, pair_prior
from engine.discovery.links.typed import Metapath, TypedEdges

MOST_PATHS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonPath:
    """A path that supports a link."""

    metapath: Metapath
    nodes: tuple[int, ...]
    """Numbers of its nodes, from one end of the pair to the other."""
    share: float
    """What it gives of all that paths give this pair, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkReasons:
    """Why a pair is probable."""

    probability: float
    prior: float
    """The probability by the degrees of both ends alone, in a graph whose edges are shuffled."""
    without_best: float
    """The probability without the best path."""
    paths: list[ReasonPath]
    """Best first; along the same nodes there is one, by the edges that give most."""
    count: int
    """All paths of the metapaths that have a weight."""


def reasons(edges: TypedEdges, model: LinkModel, first: int, last: int, most: int = MOST_PATHS) -> LinkReasons:
    """Return what speaks for a link between two nodes.

    A metapath gives `weight * asinh(count / scale)`; each of its paths has its part of the
    count. Paths along the same nodes over edges of several types are one.

    Args:
        edges: the graph.
        model: of the relation.
        first: number of a node of the relation's first type.
        last: number of a node of its last type.
        most: paths that are named at most.
    """
    counts = PathCounts(edges, model.damping)
    row, column = int(edges.places[first]), int(edges.places[last])
    ways: dict[tuple[int, ...], dict[Metapath, float]] = {}  # nodes -> what each kind of path along them counts
    wholes: dict[Metapath, float] = {}
    for path in model.paths:
        for value, places in counts.between(path, row, column):
            ways.setdefault(_numbers(edges, path, places), {})[path] = value
            wholes[path] = wholes.get(path, 0.0) + value

    def given(path: Metapath, count: float) -> float:
        place = model.paths.index(path)
        return float(model.weights[place] * np.arcsinh(max(count, 0.0) / model.scales[place]))

    parts = {path: given(path, whole) for path, whole in wholes.items()}
    worth = {nodes: sum(parts[path] * v / wholes[path] for path, v in kinds.items()) for nodes, kinds in ways.items()}
    best = sorted(worth, key=lambda nodes: (-worth[nodes], nodes))[:most]
    total = sum(parts.values())
    prior = float(pair_prior(edges, model.relation, np.array([column]))[row, 0])
    score = total + model.prior_weight * prior
    lost = sum(parts[path] - given(path, wholes[path] - v) for path, v in ways[best[0]].items()) if best else 0.0
    chances = model.probability(np.array([score, score - lost]))
    return LinkReasons(
        probability=float(chances[0]),
        prior=float(1 / (1 + np.exp(-prior))),
        without_best=float(chances[1]),
        paths=[
            ReasonPath(metapath=max(ways[nodes], key=lambda path: parts[path]), nodes=nodes, share=worth[nodes] / total)
            for nodes in best
        ],
        count=len(ways),
    )


def _numbers(edges: TypedEdges, path: Metapath, places: tuple[int, ...]) -> tuple[int, ...]:
    kinds = [path[0].start, *(step.end for step in path)]
    return tuple(int(edges.members(kind)[place]) for kind, place in zip(kinds, places, strict=True))
