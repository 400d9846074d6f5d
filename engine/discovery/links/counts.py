"""Degree-weighted path counts (DWPC): how many paths of a kind join two nodes, each lowered by the degrees it passes.

A path's weight is the product of its edges' confidences and, for every edge, of the degrees of both its ends, among
edges of that type, to the power of minus the damping. So a way through a gene that two drugs bind counts for much and
one through a gene that all bind for little. Only paths count, which pass no node twice: a drug that is told to treat
a disease is no reason, by way of itself, that it treats it.

Sources: Himmelstein DS, Baranzini SE (2015) PLoS Comput Biol 11:e1004259; Himmelstein DS et al (2017) eLife 6:e26726.
Here the counts of all pairs of a metapath come as one product of sparse matrices, from the right, with the walks that
meet a node twice taken off exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from engine.discovery.links.typed import Metapath, MetaStep, TypedEdges

DAMPING = 0.5
"""As in Himmelstein et al (2017); 0.4 in their paper of 2015."""
_NOTHING = 1e-14
"""What rounding leaves where all walks were taken off."""


class PathCounts:
    """The degree-weighted path counts of a graph, metapath by metapath."""

    def __init__(self, edges: TypedEdges, damping: float = DAMPING) -> None:
        """Take a graph; a damping of 0 counts paths as they are."""
        self._edges = edges
        self._damping = damping
        self._damped: dict[MetaStep, Any] = {}

    def all(self, paths: Iterable[Metapath], columns: np.ndarray | None = None) -> Iterator[tuple[Metapath, Any]]:
        """Yield the counts of each metapath, a sparse matrix: nodes of its first type by nodes of its last.

        Metapaths of one ending share their products, so they come ordered by it. A node is never counted with itself
        right; whoever asks within one type leaves the diagonal out.

        Args:
            paths: the metapaths, of two or three steps, all with the same last type.
            columns: places, among the nodes of the last type, of the ends that are counted; all when None.
        """
        kept: list[tuple[Metapath, Any]] = []  # products of endings, each one step longer than the one before
        for path in sorted(paths, key=lambda path: path[::-1]):
            while kept and (len(kept) >= len(path) or path[-len(kept) :] != kept[-1][0]):
                kept.pop()
            for length in range(len(kept) + 1, len(path) + 1):
                step = self.damped(path[-length])
                kept.append((path[-length:], step @ kept[-1][1] if kept else _cut(step, columns)))
            yield path, self._without_repeats(path, kept[-1][1], columns)

    def between(self, path: Metapath, row: int, column: int) -> list[tuple[float, tuple[int, ...]]]:
        """Return the paths of a metapath between two nodes: weight, and the places of its nodes in their types."""
        kinds = [path[0].start, *(step.end for step in path)]
        ways = [(1.0, (row,))]
        for place, step in enumerate(path, 1):
            matrix, reached = self.damped(step), []
            for weight, nodes in ways:
                part = slice(matrix.indptr[nodes[-1]], matrix.indptr[nodes[-1] + 1])
                near, worth = matrix.indices[part], matrix.data[part]
                if place == len(path):
                    there = near == column
                    near, worth = near[there], worth[there]
                reached += [
                    (weight * value, (*nodes, other))
                    for other, value in zip(near.tolist(), worth.tolist(), strict=True)
                    if not any(kind == step.end and node == other for kind, node in zip(kinds, nodes, strict=False))
                    and (place == len(path) or (step.end, other) != (kinds[-1], column))
                ]
            ways = reached
        return ways

    def damped(self, step: MetaStep) -> Any:
        """Return the matrix of a step with every edge lowered by the degrees of its ends."""
        if step not in self._damped:
            matrix = self._edges.matrix(step)
            coo = matrix.tocoo()
            rows, columns = coo.coords
            lowered = coo.data.copy()
            for place, size in ((rows, matrix.shape[0]), (columns, matrix.shape[1])):
                lowered *= np.bincount(place, minlength=size)[place] ** -self._damping if len(place) else 1.0
            coo.data = lowered
            self._damped[step] = coo.tocsr()
        return self._damped[step]

    def _without_repeats(self, path: Metapath, product: Any, columns: np.ndarray | None) -> Any:
        """Return a product without the walks that meet a node twice, ends apart."""
        kinds = [path[0].start, *(step.end for step in path)]
        if len(path) == 2 or not (kinds[0] == kinds[2] or kinds[1] == kinds[3]):
            return product
        first, second, third = (self.damped(step) for step in path)
        if kinds[0] == kinds[2]:
            product = product - _cut(_diagonal(_there_and_back(first, second)) @ third, columns)
        if kinds[1] == kinds[3]:
            product = product - _cut(first @ _diagonal(_there_and_back(second, third)), columns)
        if kinds[0] == kinds[2] and kinds[1] == kinds[3]:  # taken off twice
            product = product + _cut(first * second.T * third, columns)
        product.data[product.data < _NOTHING] = 0.0
        product.eliminate_zeros()
        return product


def _there_and_back(there: Any, back: Any) -> np.ndarray:
    """Return the diagonal of the product of two matrices."""
    return np.asarray((there * back.T).sum(axis=1)).ravel()


def _diagonal(values: np.ndarray) -> Any:
    from scipy.sparse import diags_array

    return diags_array(values).tocsr()


def _cut(matrix: Any, columns: np.ndarray | None) -> Any:
    return matrix if columns is None else matrix[:, columns]
