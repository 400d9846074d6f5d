"""Indirect support: paths of two or three edges that a biologist accepts in place of the edge itself.

Each kind of claim has its own list of paths (`METAPATHS`), after the metapaths of Himmelstein et al. 2017 (eLife
6:e26726) that carry meaning for it. None passes through an anatomy, a side effect or a symptom.

How much is enough: three independent ways round of one kind, or fewer when even that is more than chance gives. Chance
links each neighbour of the subject to the object with the share of all nodes of the object's type that it is linked
to (and the same from the object's side; the larger sum counts), so a promiscuous middle is expected. Fewer than three
count when a Poisson variable of that mean reaches them with probability at most `CHANCE`.
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
from engine.knowledge.view import GraphView

ENOUGH = 3
"""Ways round of one kind that are enough without asking what chance gives."""
CHANCE = 0.001
"""Largest probability that chance alone shares as many neighbours, for fewer ways round than `ENOUGH`."""
SMALL_PATHWAY = 30
"""Genes of a pathway that still says something about each of its members."""
HUB_SHARE = 0.1
HUB_LEAST = 50
"""A node in the middle is a hub when it is linked to more than this many nodes, and more than `HUB_SHARE` of all of
them, on one side of the path."""

_TARGET = frozenset({EdgeType.BINDS, EdgeType.TARGETS, EdgeType.INHIBITS, EdgeType.ACTIVATES})
_ASSOCIATED = frozenset({EdgeType.ASSOCIATED_WITH})
_UP, _DOWN = frozenset({EdgeType.UPREGULATES}), frozenset({EdgeType.DOWNREGULATES})
_ALIKE = frozenset({EdgeType.RESEMBLES})
_TREATS = frozenset({EdgeType.TREATS})
_HELPS = frozenset({EdgeType.TREATS, EdgeType.PALLIATES})
_MEMBER = frozenset({EdgeType.INCLUDES})
_PARTNER = frozenset({EdgeType.INTERACTS_WITH})
_ROLE = frozenset({EdgeType.INVOLVED_IN, EdgeType.HAS_FUNCTION, EdgeType.LOCATED_IN})
_INVOLVED = frozenset({EdgeType.INVOLVED_IN})
_REGULATES = frozenset({EdgeType.REGULATES})
_COVARIES = frozenset({EdgeType.COVARIES_WITH})
_CAUSES = frozenset({EdgeType.CAUSES})
_GENE, _DRUG, _DISEASE = NodeType.GENE, NodeType.DRUG, NodeType.DISEASE


@dataclass(frozen=True, slots=True)
class Metapath:
    """A kind of path from a claim's subject to its object; `steps` are the edges, `through` the nodes between them."""

    name: str
    steps: tuple[frozenset[EdgeType], ...]
    through: tuple[NodeType, ...]
    says: str
    """Why it speaks for the claim, with {s}, {o} and {n}."""
    small: int = 0
    """Largest number of links the first node between may have on its second edge; 0 for any."""
    sign: EdgeType | None = None
    """The sign of the claim: the last edge may be of this type or of none, but not of the opposite type."""


@dataclass(frozen=True, slots=True)
class Support:
    """What was found of one metapath."""

    metapath: Metapath
    count: int
    paths: list[tuple[int, ...]]
    """Node numbers from subject to object; the least connected middles first."""
    enough: bool
    hubs_only: bool = False


def _via(name: str, first: frozenset[EdgeType], middle: NodeType, second: frozenset[EdgeType], says: str) -> Metapath:
    return Metapath(name, (first, second), (middle,), says)


_CLASSMATES = (_MEMBER, _MEMBER)
_DRUG_DISEASE = (
    _via("target-disease", _TARGET, _GENE, _ASSOCIATED, "{n} genes that {s} binds are associated with {o}"),
    _via("similar-drug-disease", _ALIKE, _DRUG, _HELPS, "{n} drugs that resemble {s} treat {o}"),
    _via("drug-similar-disease", _TREATS, _DISEASE, _ALIKE, "{s} treats {n} diseases that resemble {o}"),
    Metapath("class-member-disease", (*_CLASSMATES, _HELPS), (NodeType.DRUG_CLASS, _DRUG),
             "{n} other members of a class of {s} treat {o}", small=40),
)  # fmt: skip
METAPATHS: dict[tuple[EdgeType, NodeType, NodeType], tuple[Metapath, ...]] = {
    (EdgeType.TREATS, _DRUG, _DISEASE): _DRUG_DISEASE,
    (EdgeType.PALLIATES, _DRUG, _DISEASE): _DRUG_DISEASE,
    (EdgeType.TREATS, NodeType.DRUG_CLASS, _DISEASE): (
        _via("class-disease", _MEMBER, _DRUG, _HELPS, "{n} drugs of the class {s} treat {o}"),
    ),
    (EdgeType.BINDS, NodeType.DRUG_CLASS, _GENE): (
        _via("class-target", _MEMBER, _DRUG, _TARGET, "{n} drugs of the class {s} bind {o}"),
    ),
    (EdgeType.BINDS, _DRUG, _GENE): (
        _via("similar-drug-target", _ALIKE, _DRUG, _TARGET, "{n} drugs that resemble {s} bind {o}"),
        Metapath("class-member-target", (*_CLASSMATES, _TARGET), (NodeType.DRUG_CLASS, _DRUG),
                 "{n} other members of a class of {s} bind {o}", small=40),
    ),
    (EdgeType.UPREGULATES, _DRUG, _GENE): (
        _via("similar-drug-expression", _ALIKE, _DRUG, _UP, "{n} drugs that resemble {s} raise {o}"),
    ),
    (EdgeType.DOWNREGULATES, _DRUG, _GENE): (
        _via("similar-drug-expression", _ALIKE, _DRUG, _DOWN, "{n} drugs that resemble {s} lower {o}"),
    ),
    (EdgeType.UPREGULATES, NodeType.DRUG_CLASS, _GENE): (
        _via("class-expression", _MEMBER, _DRUG, _UP, "{n} drugs of the class {s} raise {o}"),
    ),
    (EdgeType.DOWNREGULATES, NodeType.DRUG_CLASS, _GENE): (
        _via("class-expression", _MEMBER, _DRUG, _DOWN, "{n} drugs of the class {s} lower {o}"),
    ),
    (EdgeType.UPREGULATES, _DISEASE, _GENE): (
        _via("similar-disease-expression", _ALIKE, _DISEASE, _UP, "{o} is raised in {n} diseases that resemble {s}"),
    ),
    (EdgeType.DOWNREGULATES, _DISEASE, _GENE): (
        _via("similar-disease-expression", _ALIKE, _DISEASE, _DOWN, "{o} is lowered in {n} diseases that resemble {s}"),
    ),
    (EdgeType.ASSOCIATED_WITH, _GENE, _DISEASE): (
        _via("gene-interactor-disease", _PARTNER, _GENE, _ASSOCIATED, "{n} interactors of {s} are associated with {o}"),
        Metapath("gene-pathway-disease", (_INVOLVED, _INVOLVED, _ASSOCIATED), (NodeType.PATHWAY, _GENE),
                 "{s} shares a small pathway with genes associated with {o}, in {n} ways", small=SMALL_PATHWAY),
        _via("gene-similar-disease", _ASSOCIATED, _DISEASE, _ALIKE,
             "{s} is associated with {n} diseases that resemble {o}"),
        _via("target-of-treatment", _TARGET, _DRUG, _TREATS, "{n} drugs that treat {o} bind {s}"),
        _via("gene-regulation-disease", _REGULATES, _GENE, _ASSOCIATED,
             "{n} genes that regulate {s} or that it regulates are associated with {o}"),
    ),
    (EdgeType.INTERACTS_WITH, _GENE, _GENE): (
        _via("shared-interactor", _PARTNER, _GENE, _PARTNER, "{s} and {o} share {n} interactors"),
        Metapath("shared-pathway", (_INVOLVED, _INVOLVED), (NodeType.PATHWAY,), "{s} and {o} share {n} small pathways",
                 small=SMALL_PATHWAY),
    ),
    (EdgeType.COVARIES_WITH, _GENE, _GENE): (
        _via("shared-covariation", _COVARIES, _GENE, _COVARIES, "{n} genes covary with both {s} and {o}"),
        _via("shared-regulation", _REGULATES, _GENE, _REGULATES, "{n} genes are in regulation with both {s} and {o}"),
    ),
    (EdgeType.REGULATES, _GENE, _GENE): (
        _via("regulation-chain", _REGULATES, _GENE, _REGULATES, "{n} genes stand between {s} and {o} in regulation"),
    ),
    (EdgeType.RESEMBLES, _DRUG, _DRUG): (
        _via("shared-target", _TARGET, _GENE, _TARGET, "{s} and {o} bind {n} genes in common"),
        _via("shared-analogue", _ALIKE, _DRUG, _ALIKE, "{n} drugs resemble both {s} and {o}"),
        _via("shared-class", _MEMBER, NodeType.DRUG_CLASS, _MEMBER, "{s} and {o} are in {n} classes together"),
    ),
    (EdgeType.RESEMBLES, _DISEASE, _DISEASE): (
        _via("shared-gene", _ASSOCIATED, _GENE, _ASSOCIATED, "{n} genes are associated with both {s} and {o}"),
        _via("shared-likeness", _ALIKE, _DISEASE, _ALIKE, "{n} diseases resemble both {s} and {o}"),
        _via("shared-treatment", _TREATS, _DRUG, _TREATS, "{n} drugs treat both {s} and {o}"),
    ),
    (EdgeType.CAUSES, _DRUG, NodeType.SIDE_EFFECT): (
        _via("similar-drug-side-effect", _ALIKE, _DRUG, _CAUSES, "{n} drugs that resemble {s} cause {o}"),
    ),
    (EdgeType.CAUSES, NodeType.DRUG_CLASS, NodeType.SIDE_EFFECT): (
        _via("class-side-effect", _MEMBER, _DRUG, _CAUSES, "{n} drugs of the class {s} cause {o}"),
    ),
    (EdgeType.PRESENTS, _DISEASE, NodeType.SYMPTOM): (
        _via("similar-disease-symptom", _ALIKE, _DISEASE, frozenset({EdgeType.PRESENTS}),
             "{n} diseases that resemble {s} present {o}"),
    ),
    (EdgeType.LOCATED_IN, _DISEASE, NodeType.ANATOMY): (
        _via("similar-disease-location", _ALIKE, _DISEASE, frozenset({EdgeType.LOCATED_IN}),
             "{n} diseases that resemble {s} are located in {o}"),
    ),
    (EdgeType.INCLUDES, NodeType.DRUG_CLASS, _DRUG): (
        _via("class-similar-drug", _MEMBER, _DRUG, _ALIKE, "{n} members of the class {s} resemble {o}"),
    ),
    (EdgeType.INVOLVED_IN, _GENE, NodeType.PATHWAY): (
        _via("interactor-pathway", _PARTNER, _GENE, _ROLE, "{n} interactors of {s} belong to {o}"),
    ),
    (EdgeType.INVOLVED_IN, _GENE, NodeType.GO_TERM): (
        _via("interactor-function", _PARTNER, _GENE, _ROLE, "{n} interactors of {s} are annotated with {o}"),
    ),
    (EdgeType.RELATED_TO, _DRUG, NodeType.PATHWAY): (
        _via("drug-pathway", _TARGET, _GENE, _ROLE, "{s} binds {n} genes of {o}"),
    ),
    (EdgeType.RELATED_TO, _DRUG, NodeType.GO_TERM): (
        _via("drug-process", _TARGET, _GENE, _ROLE, "{s} binds {n} genes of {o}"),
    ),
    (EdgeType.RELATED_TO, NodeType.DRUG_CLASS, NodeType.PATHWAY): (
        Metapath("class-target-pathway", (_MEMBER, _TARGET, _ROLE), (_DRUG, _GENE),
                 "drugs of the class {s} bind genes of {o}, in {n} ways"),
    ),
    (EdgeType.RELATED_TO, _DISEASE, NodeType.PATHWAY): (
        _via("disease-gene-pathway", _ASSOCIATED, _GENE, _ROLE, "{n} genes associated with {s} belong to {o}"),
    ),
    (EdgeType.RELATED_TO, _DISEASE, NodeType.GO_TERM): (
        _via("disease-gene-process", _ASSOCIATED, _GENE, _ROLE, "{n} genes associated with {s} belong to {o}"),
    ),
}  # fmt: skip
"""Claim (edge type, subject's type, object's type) -> what speaks for it indirectly. Proteins count as genes."""
_REVERSAL = (
    _via("signature-reversal", _UP, _GENE, _DOWN, "{s} raises or lowers {n} genes that {o} moves the other way"),
    _via("signature-reversal", _DOWN, _GENE, _UP, "{s} raises or lowers {n} genes that {o} moves the other way"),
)
_SAME_AS: dict[EdgeType, EdgeType] = {
    EdgeType.TARGETS: EdgeType.BINDS,
    EdgeType.ACTIVATES: EdgeType.REGULATES,
    EdgeType.INHIBITS: EdgeType.REGULATES,
    EdgeType.HAS_FUNCTION: EdgeType.INVOLVED_IN,
    EdgeType.PART_OF: EdgeType.INVOLVED_IN,
}


@dataclass(slots=True)
class PathFinder:
    """Finds indirect support in one graph; neighbours are remembered, so use one for a whole text."""

    view: GraphView
    _near: dict[tuple[int, frozenset[EdgeType], NodeType], np.ndarray] = field(default_factory=dict)
    _degrees: dict[tuple[int, frozenset[EdgeType]], int] = field(default_factory=dict)
    _counts: Counter[int] = field(default_factory=Counter)

    def support(self, kind: EdgeType, subject: int, object_: int) -> list[Support]:
        """Return what there is of each metapath for a claim, the best supported first; empty when there is nothing."""
        ends = (_as_gene(self.view.node_type(subject)), _as_gene(self.view.node_type(object_)))
        acts = kind in {EdgeType.ACTIVATES, EdgeType.INHIBITS}
        if acts and ends[1] is _GENE and ends[0] in {_DRUG, NodeType.DRUG_CLASS}:
            paths = tuple(_signed(path, kind) for path in METAPATHS.get((EdgeType.BINDS, *ends), ()))
        else:
            paths = METAPATHS.get((_SAME_AS.get(kind, kind), *ends), ())
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
            types = self.view.type_codes()
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
            self._counts.update({int(c): int(n) for c, n in zip(*np.unique(self.view.type_codes(), return_counts=True),
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
        return sum(self._links(int(m), kinds) for m in middles) / self._size(self.view.node_type(end))

    def _three(self, path: Metapath, subject: int, object_: int) -> Support:
        last = self._last(path, object_)
        paths: list[tuple[int, ...]] = []
        for middle in self.near(subject, path.steps[0], path.through[0]):
            if path.small and self._links(int(middle), path.steps[1]) > path.small:
                continue
            beyond = np.intersect1d(self.near(int(middle), path.steps[1], path.through[1]), last)
            paths += [(subject, int(middle), int(b), object_) for b in beyond if b not in (subject, object_)]
        return self._weigh(path, paths, chance=math.inf)

    def _reversal(self, subject: int, object_: int) -> Support:
        halves = [self._two(path, subject, object_) for path in _REVERSAL]
        return self._weigh(_REVERSAL[0], [p for half in halves for p in half.paths], chance=math.inf)

    def _links(self, number: int, kinds: frozenset[EdgeType]) -> int:
        key = (number, kinds)
        found = self._degrees.get(key)
        if found is None:
            found = self._degrees[key] = len(np.unique(self.view.adjacent(number, kinds).numbers))
        return found

    def _weigh(self, path: Metapath, paths: list[tuple[int, ...]], chance: float) -> Support:
        """Decide whether paths are enough, and order them: through the least connected nodes first."""
        if not paths:
            return Support(path, 0, [], enough=False)
        hubs = [any(self._is_hub(path, p, at) for at in range(1, len(p) - 1)) for p in paths]
        ordered = [
            p for _, p in sorted(zip(hubs, paths, strict=True), key=lambda pair: (pair[0], self._spread(pair[1])))
        ]
        enough = len(paths) >= ENOUGH or at_least(len(paths), chance) <= CHANCE
        return Support(path, len(paths), ordered, enough=enough and not all(hubs), hubs_only=all(hubs))

    def _spread(self, path: tuple[int, ...]) -> int:
        return sum(self.view.degree(number) for number in path[1:-1])

    def _is_hub(self, path: Metapath, numbers: tuple[int, ...], at: int) -> bool:
        for step, end in ((path.steps[at - 1], numbers[at - 1]), (path.steps[at], numbers[at + 1])):
            limit = max(HUB_LEAST, HUB_SHARE * self._size(self.view.node_type(end)))
            if self._links(numbers[at], step) > limit:
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
