"""Indirect support: paths of two or three edges that a biologist accepts in place of the edge itself.

Each kind of claim has its own list of paths (`grounding_metapaths`).

How much is enough: three independent ways round of one kind, or fewer when even that is more than chance gives. Chance
links each neighbour of the subject to the object with the share of all nodes of the object's type that it is linked
to (and the same from the object's side; the larger sum counts), so a promiscuous middle is expected. Fewer than three
count when a Poisson variable of that mean reaches them with probability at most `CHANCE`. Kinds that chance alone makes
often (`strict`) need three and a probability of at most `CHANCE_OF_MANY`.
Ways round that all pass a hub (linked to more than a tenth of all nodes of an end's type) are not enough.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from engine.domain.knowledge import NODE_CODE, OPPOSITE, EdgeType, NodeType
from engine.knowledge.graph.view import GraphView
from engine.knowledge.grounding.metapaths import METAPATHS, REVERSAL, SAME_AS, Metapath

ENOUGH = 3
"""Ways round of one kind that are enough without asking what chance gives."""
CHANCE = 0.001
"""Largest probability that chance alone shares as many neighbours, for fewer ways round than `ENOUGH`."""
CHANCE_OF_MANY = 0.01
"""The same for `ENOUGH` or more ways round of a kind that chance makes often (a target's interactors)."""
HUB_SHARE = 0.1
HUB_LEAST = 50
"""A node in the middle is a hub when it is linked to more than this many nodes, and more than `HUB_SHARE` of all of
them, on one side of the path."""

_GENE, _DRUG, _DISEASE = NodeType.GENE, NodeType.DRUG, NodeType.DISEASE


@dataclass(frozen=True, slots=True)
class Support:
    """What was found of one metapath."""

    metapath: Metapath
    count: int
    paths: list[tuple[int, ...]]
    """Node numbers from subject to object; the least connected middles first."""
    enough: bool
    hubs_only: bool = False


@dataclass(slots=True)
class PathFinder:
    """Finds indirect support in one graph; neighbours are remembered, so use one for a whole text."""

    view: GraphView
    _near: dict[tuple[int, frozenset[EdgeType], NodeType], np.ndarray] = field(default_factory=dict)
    _degrees: dict[tuple[int, frozenset[EdgeType]], int] = field(default_factory=dict)
    _counts: Counter[int] = field(default_factory=Counter)

    def support(self, kind: EdgeType, subject: int, object_: int) -> list[Support]:
        """Return what there is of each metapath for a claim, the best supported first; empty when there is nothing."""
        ends = (_as_gene(self.view.nodes.node_type(subject)), _as_gene(self.view.nodes.node_type(object_)))
        acts = kind in {EdgeType.ACTIVATES, EdgeType.INHIBITS}
        if acts and ends[1] is _GENE and ends[0] in {_DRUG, NodeType.DRUG_CLASS}:
            paths = tuple(_signed(path, kind) for path in METAPATHS.get((EdgeType.BINDS, *ends), ()))
        else:
            paths = METAPATHS.get((SAME_AS.get(kind, kind), *ends), ())
        found = [self._one(path, subject, object_) for path in paths]
        if kind in {EdgeType.TREATS, EdgeType.PALLIATES} and ends == (_DRUG, _DISEASE):
            found.append(self._reversal(subject, object_))
        kept = [support for support in found if support.count]
        return sorted(kept, key=lambda s: (not s.enough, -s.count))

    def near(self, number: int, kinds: frozenset[EdgeType], through: NodeType) -> np.ndarray:
        """Return the distinct neighbours (sorted int32) of one type over edges of some types."""
        key = (number, kinds, through)
        found = self._near.get(key)
        if found is None:
            types = self.view.nodes.types
            numbers = np.unique(self.view.adjacent(number, kinds).numbers)
            codes = [NODE_CODE[through]] + ([NODE_CODE[NodeType.PROTEIN]] if through is _GENE else [])
            found = self._near[key] = numbers[np.isin(types[numbers], codes)]
        return found

    def _last(self, path: Metapath, object_: int) -> np.ndarray:
        """Return the nodes a path may reach the object from; those known to act the other way are left out."""
        found = self.near(object_, path.steps[-1], path.through[-1])
        if path.sign is None:
            return found
        against = self.near(object_, frozenset({OPPOSITE[path.sign]}), path.through[-1])
        agreeing = self.near(object_, frozenset({path.sign}), path.through[-1])
        return np.setdiff1d(found, np.setdiff1d(against, agreeing))

    def _size(self, kind: NodeType) -> int:
        if not self._counts:
            self._counts.update({int(c): int(n) for c, n in zip(*np.unique(self.view.nodes.types, return_counts=True),
                                                                strict=True)})  # fmt: skip
        return max(1, self._counts[NODE_CODE[kind]])

    def _one(self, path: Metapath, subject: int, object_: int) -> Support:
        return self._two(path, subject, object_) if len(path.steps) == 2 else self._three(path, subject, object_)

    def _two(self, path: Metapath, subject: int, object_: int) -> Support:
        left = self.near(subject, path.steps[0], path.through[0])
        right = self._last(path, object_)
        middles = [int(m) for m in np.intersect1d(left, right) if m not in (subject, object_)]
        if path.small:
            middles = [m for m in middles if self._links(m, path.steps[1]) <= path.small]
        chance = math.inf
        if 0 < len(middles) < ENOUGH:
            chance = max(self._expected(left, path.steps[1], object_), self._expected(right, path.steps[0], subject))
        return self._weigh(path, [(subject, m, object_) for m in middles], chance)

    def _expected(self, middles: np.ndarray, kinds: frozenset[EdgeType], end: int) -> float:
        """Return how many of some nodes are linked to a random node of the type of `end`."""
        return sum(self._links(int(m), kinds) for m in middles) / self._size(self.view.nodes.node_type(end))

    def _three(self, path: Metapath, subject: int, object_: int) -> Support:
        last = self._last(path, object_)
        paths: list[tuple[int, ...]] = []
        for middle in self.near(subject, path.steps[0], path.through[0]):
            if path.small and self._links(int(middle), path.steps[1]) > path.small:
                continue
            beyond = np.intersect1d(self.near(int(middle), path.steps[1], path.through[1]), last)
            paths += [(subject, int(middle), int(b), object_) for b in beyond if b not in (subject, object_)]
        return self._weigh(path, paths, self._expected_of_three(path, subject, last) if path.strict else math.inf)

    def _expected_of_three(self, path: Metapath, subject: int, last: np.ndarray) -> float:
        """Return how many ways round there would be if the second edges led to random nodes."""
        first = self.near(subject, path.steps[0], path.through[0])
        links = sum(len(self.near(int(middle), path.steps[1], path.through[1])) for middle in first)
        return links * len(last) / self._size(path.through[1])

    def _reversal(self, subject: int, object_: int) -> Support:
        halves = [self._two(path, subject, object_) for path in REVERSAL]
        hubs = [self._has_hub(half.metapath, p) for half in halves for p in half.paths]
        return self._weigh(REVERSAL[0], [p for half in halves for p in half.paths], math.inf, hubs)

    def _links(self, number: int, kinds: frozenset[EdgeType]) -> int:
        key = (number, kinds)
        found = self._degrees.get(key)
        if found is None:
            found = self._degrees[key] = len(np.unique(self.view.adjacent(number, kinds).numbers))
        return found

    def _weigh(
        self, path: Metapath, paths: list[tuple[int, ...]], chance: float, hubs: list[bool] | None = None
    ) -> Support:
        """Decide whether paths are enough, and order them: through the least connected nodes first."""
        if not paths:
            return Support(path, 0, [], enough=False)
        hubs = hubs or [self._has_hub(path, p) for p in paths]
        ordered = [
            p for _, p in sorted(zip(hubs, paths, strict=True), key=lambda pair: (pair[0], self._spread(pair[1])))
        ]
        unlikely = at_least(len(paths), chance)
        if path.strict:
            enough = len(paths) >= ENOUGH and unlikely <= CHANCE_OF_MANY
        else:
            enough = len(paths) >= ENOUGH or unlikely <= CHANCE
        return Support(path, len(paths), ordered, enough=enough and not all(hubs), hubs_only=all(hubs))

    def _has_hub(self, path: Metapath, numbers: tuple[int, ...]) -> bool:
        return any(self._is_hub(path, numbers, at) for at in range(1, len(numbers) - 1))

    def _spread(self, path: tuple[int, ...]) -> int:
        return sum(self.view.nodes.degree(number) for number in path[1:-1])

    def _is_hub(self, path: Metapath, numbers: tuple[int, ...], at: int) -> bool:
        for step, end in ((path.steps[at - 1], numbers[at - 1]), (path.steps[at], numbers[at + 1])):
            limit = max(HUB_LEAST, HUB_SHARE * self._size(self.view.nodes.node_type(end)))
            if len(self.near(numbers[at], step, _as_gene(self.view.nodes.node_type(end)))) > limit:
                return True
        return False


def at_least(count: int, mean: float) -> float:
    """Return the probability that a Poisson variable of this mean is `count` or more."""
    if math.isinf(mean):
        return 1.0
    term = total = math.exp(-mean)
    for k in range(1, count):
        term *= mean / k
        total += term
    return max(0.0, 1.0 - total) if count else 1.0


def rows_of(view: GraphView, a: int, b: int, kinds: Collection[EdgeType]) -> list[int]:
    """Return the rows of the edges of some types between two nodes."""
    found = view.adjacent(a, kinds)
    return [int(row) for row in found.rows[found.numbers == b]]


def path_rows(view: GraphView, path: tuple[int, ...], steps: Iterable[frozenset[EdgeType]]) -> list[int]:
    """Return one row for each edge of a path."""
    rows: list[int] = []
    for (a, b), kinds in zip(pairwise(path), steps, strict=True):
        rows += rows_of(view, a, b, kinds)[:1]
    return rows


def _signed(path: Metapath, sign: EdgeType) -> Metapath:
    """Return a path of binding as one for a claim of activation or inhibition."""
    return replace(path, sign=sign, says=f"{path.says}, none of which is known to act the other way")


def _as_gene(kind: NodeType) -> NodeType:
    return _GENE if kind is NodeType.PROTEIN else kind
