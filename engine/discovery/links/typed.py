"""A typed graph as a matrix for each kind of step, and the kinds of ways (metapaths) from one type to another."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

LONGEST = 3
"""Steps of the longest metapath: those of four made predictions on Hetionet no better, fold by fold, and slower."""


@dataclass(frozen=True, slots=True, order=True)
class MetaStep:
    """A step from a node of one type to one of another, over edges of one type (types by their codes)."""

    start: int
    edge: int
    end: int
    back: bool = False
    """Against the direction of the edges; always False where the edges have none or the types tell it."""


Metapath = tuple[MetaStep, ...]


def turned(path: Metapath, symmetric: frozenset[int]) -> Metapath:
    """Return a way walked from its other end; `symmetric` are the codes of edge types without a direction."""
    return tuple(
        MetaStep(
            step.end, step.edge, step.start, step.start == step.end and step.edge not in symmetric and not step.back
        )
        for step in reversed(path)
    )


@dataclass(frozen=True)
class TypedEdges:
    """A graph in arrays: nodes are numbers with a type each, edges join two of them (see `GraphView`)."""

    node_types: np.ndarray
    """uint8, one a node."""
    heads: np.ndarray
    tails: np.ndarray
    codes: np.ndarray
    """The edges' ends (node numbers) and types, of equal length."""
    weights: np.ndarray
    """Confidences of the edges, 0 to 1."""
    symmetric: frozenset[int] = frozenset()
    """Codes of edge types without a direction."""
    _matrices: dict[MetaStep, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def places(self) -> np.ndarray:
        """Position of each node among those of its type (int64)."""
        places = np.zeros(len(self.node_types), dtype=np.int64)
        for kind in np.unique(self.node_types):
            members = self.members(int(kind))
            places[members] = np.arange(len(members))
        return places

    def members(self, kind: int) -> np.ndarray:
        """Return the numbers of the nodes of a type, ascending."""
        return np.flatnonzero(self.node_types == kind)

    @cached_property
    def steps(self) -> list[MetaStep]:
        """All kinds of steps that some edge allows, in both directions."""
        kinds = np.stack([self.node_types[self.heads], self.codes, self.node_types[self.tails]])
        found: set[MetaStep] = set()
        for head, code, tail in np.unique(kinds, axis=1).T.tolist():
            found.add(MetaStep(head, code, tail))
            found.add(MetaStep(tail, code, head, back=head == tail and code not in self.symmetric))
        return sorted(found)

    def matrix(self, step: MetaStep) -> Any:
        """Return the weights of a step's edges, nodes of its start by nodes of its end, as a sparse matrix.

        Of parallel edges the surest counts; edges from a node to itself are left out.
        """
        if step not in self._matrices:
            self._matrices[step] = self._made(step)
        return self._matrices[step]

    def without(self, heads: np.ndarray, tails: np.ndarray, code: int) -> TypedEdges:
        """Return the graph without the edges of a type between pairs of nodes, in whichever direction they stand."""
        size = len(self.node_types)
        gone = np.concatenate([heads * size + tails, tails * size + heads])
        keys = self.heads.astype(np.int64) * size + self.tails
        keep = ~((self.codes == code) & np.isin(keys, gone))
        other = replace(
            self,
            heads=self.heads[keep],
            tails=self.tails[keep],
            codes=self.codes[keep],
            weights=self.weights[keep],
            _matrices={step: made for step, made in self._matrices.items() if step.edge != code},
        )
        other.__dict__["places"] = self.places
        return other

    def _made(self, step: MetaStep) -> Any:
        from scipy.sparse import coo_array

        starts, ends = self.node_types[self.heads], self.node_types[self.tails]
        of_type = (self.codes == step.edge) & (self.heads != self.tails)
        along = of_type & (starts == step.start) & (ends == step.end) & (not step.back)
        # Between two types an edge is the step whichever way it was stored; within one only if it has no direction.
        either = step.start != step.end or step.edge in self.symmetric
        against = of_type & (ends == step.start) & (starts == step.end) & (either or step.back)
        rows = self.places[np.concatenate([self.heads[along], self.tails[against]])]
        columns = self.places[np.concatenate([self.tails[along], self.heads[against]])]
        weights = np.concatenate([self.weights[along], self.weights[against]]).astype(np.float64)
        order = np.lexsort((-weights, columns, rows))
        rows, columns, weights = rows[order], columns[order], weights[order]
        first = np.r_[True, (np.diff(rows) != 0) | (np.diff(columns) != 0)][: len(rows)]
        shape = (int((self.node_types == step.start).sum()), int((self.node_types == step.end).sum()))
        return coo_array((weights[first], (rows[first], columns[first])), shape=shape).tocsr()


def metapaths(
    edges: TypedEdges, start: int, end: int, *, inner: Collection[int] | None = None, longest: int = LONGEST
) -> list[Metapath]:
    """Return the kinds of ways of two or more steps from a type to another that the graph's steps allow.

    Args:
        edges: the graph.
        start: code of the type to begin at.
        end: code of the type to end at.
        inner: codes of the types that may be passed; all when None.
        longest: most steps, at most 3.
    """

    def ways(path: Metapath) -> Iterator[Metapath]:
        if len(path) > 1 and path[-1].end == end:
            yield path
        here = path[-1].end if path else start
        if len(path) == longest or not (path == () or inner is None or here in inner):
            return
        for step in edges.steps:
            if step.start == here:
                yield from ways((*path, step))

    return [*ways(())]
