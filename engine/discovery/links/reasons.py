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
    """Best first."""
    count: int
    """All paths of the metapaths that have a weight."""


def reasons(edges: TypedEdges, model: LinkModel, first: int, last: int, most: int = MOST_PATHS) -> LinkReasons:
    """Return what speaks for a link between two nodes.

    A metapath gives `weight * asinh(count / scale)`; each of its paths has its part of the count.

    Args:
        edges: the graph.
        model: of the relation.
        first: number of a node of the relation's first type.
        last: number of a node of its last type.
        most: paths that are named at most.
    """
    counts = PathCounts(edges, model.damping)
    row, column = int(edges.places[first]), int(edges.places[last])
    found: list[tuple[float, float, Metapath, tuple[int, ...]]] = []  # given, lost without it, kind, nodes
    total, number = 0.0, 0
    for path, scale, weight in zip(model.paths, model.scales, model.weights, strict=True):
        ways = counts.between(path, row, column)
        whole = sum(value for value, _ in ways)
        given = float(weight * np.arcsinh(whole / scale))
        total += given
        number += len(ways)
        for value, places in sorted(ways, reverse=True)[:most]:
            lost = given - float(weight * np.arcsinh(max(whole - value, 0.0) / scale))
            found.append((given * value / whole, lost, path, places))
    found.sort(key=lambda one: (-one[0], one[2], one[3]))
    prior = float(pair_prior(edges, model.relation, np.array([column]))[row, 0])
    score = total + model.prior_weight * prior
    left = score - found[0][1] if found else score
    chances = model.probability(np.array([score, left]))
    return LinkReasons(
        probability=float(chances[0]),
        prior=float(1 / (1 + np.exp(-prior))),
        without_best=float(chances[1]),
        paths=[
            ReasonPath(metapath=path, nodes=_numbers(edges, path, places), share=given / total)
            for given, _, path, places in found[:most]
        ],
        count=number,
    )


def _numbers(edges: TypedEdges, path: Metapath, places: tuple[int, ...]) -> tuple[int, ...]:
    kinds = [path[0].start, *(step.end for step in path)]
    return tuple(int(edges.members(kind)[place]) for kind, place in zip(kinds, places, strict=True))
