"""How much of a pattern leads from where one stands to every other node, and how much would by chance.

The amount is the degree-weighted path count of Himmelstein and Baranzini (PLoS Comput Biol 2015): every edge of a path
is worth (edges of its kind at one end x at the other) ^ -0.4. Chance is the same amount averaged over all nodes of the
start's type: what is reached from everywhere, because it has many edges, is expected, so hubs gain nothing by it.
Processes of many genes, and the genes that move or break down most drugs, join nothing and are not passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.domain.knowledge import EDGE_CODE, NODE_CODE, NODE_TYPES, NodeType
from engine.knowledge.graph.view import GraphView
from engine.knowledge.grounding.metapaths import SMALL_PATHWAY
from engine.strategies.tournament.bridges.patterns import INVOLVED, PATHWAY, TARGET, TERM, BridgePattern, Edges

_DAMPING = 0.4
_ENOUGH = 3.0
"""At so many times the amount expected by chance a path is worth half of what it could be."""
_REPEATED = 0.6
"""What every further path leaves of the doubt."""
_HANDLES_DRUGS = re.compile(
    r"CYP(?:1[AB]|2[A-J]|3A)\d+\S*|UGT(?:1A|2B)\d+|ABC(?:B1|B11|C[1-6]|G2)|SLC(?:22A\d+|47A\d|O\d\w+)|ALB|ORM[12]|"
    r"SULT1\w+|NAT[12]|TPMT"
)
"""Symbols of enzymes, carriers and transporters that meet drugs of every kind (the families of ADME panels)."""
_BEAM = 40
"""Ways that are followed back at most."""


@dataclass(frozen=True, slots=True)
class PatternReach:
    """What a pattern reaches from a start; arrays by node number."""

    amount: np.ndarray
    expected: np.ndarray
    count: np.ndarray
    """Paths, each as one."""
    weight: float

    def strength(self) -> np.ndarray:
        """Return what the paths to each node are worth, 0 to 1: many, and more than chance would lead there."""
        with np.errstate(divide="ignore", invalid="ignore"):
            lift = np.where(self.expected > 0, self.amount / self.expected, 0.0)
        above = np.clip(lift - 1, 0, None)
        return self.weight * above / (above + _ENOUGH) * (1 - _REPEATED ** np.minimum(self.count, 50))

    def lift(self, number: int) -> float:
        """Return how many times more leads to a node than chance would; 0 where nothing does."""
        return float(self.amount[number] / self.expected[number]) if self.expected[number] > 0 else 0.0


@dataclass(slots=True)
class GraphWalks:
    """Walks over one version of a graph. Arrays by kind of edge are made once."""

    view: GraphView
    _links: dict[Edges, tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=dict)
    _chance: dict[tuple[str, tuple[NodeType, ...]], np.ndarray] = field(default_factory=dict)
    _mute: dict[bool, np.ndarray] = field(default_factory=dict)

    def reached(self, start: Sequence[int], pattern: BridgePattern) -> PatternReach:
        """Return what a pattern reaches from some nodes of its first type; they themselves are left out."""
        begin = np.zeros(len(self.view.nodes))
        begin[list(start)] = 1.0 / max(1, len(start))
        amount, count = self._walk(begin, pattern, list(start))
        key = (pattern.name, pattern.nodes)
        if key not in self._chance:
            alike = (self.view.nodes.types == NODE_CODE[pattern.nodes[0]]).astype(float)
            self._chance[key] = self._walk(alike / max(1.0, alike.sum()), pattern, [])[0]
        return PatternReach(amount, self._chance[key], count, pattern.weight)

    def ways(self, start: Sequence[int], end: int, pattern: BridgePattern, top: int = 3) -> list[tuple[int, ...]]:
        """Return the best paths of a pattern from a start to a node, as numbers of nodes, best first."""
        last = len(pattern.edges)
        if self.view.nodes.node_type(end) is not pattern.nodes[last] or self._saying_little(pattern, last)[end]:
            return []
        wanted = set(start)
        found: list[tuple[float, tuple[int, ...]]] = [(1.0, (end,))]
        back = list(zip(pattern.edges[::-1], pattern.nodes[-2::-1], strict=True))
        for place, (kinds, kind) in enumerate(back, start=1):
            mute = self._saying_little(pattern, len(back) - place)
            longer = [
                (worth * step, (near, *way))
                for worth, way in found
                for near, step in self._near(way[0], kinds, kind)
                if near not in way and (near in wanted if place == len(back) else not mute[near])
            ]
            width = _BEAM * 20 if place < len(back) else top
            found = sorted(longer, key=lambda item: (-item[0], item[1]))[:width]
        return [way for _, way in found]

    def _near(self, number: int, kinds: Edges, kind: NodeType) -> Iterator[tuple[int, float]]:
        near = self.view.adjacent(number, kinds)
        degree = self._made(kinds)[2]
        for other in dict.fromkeys(near.numbers.tolist()):
            if NODE_TYPES[self.view.nodes.types[other]] is kind:
                yield other, float((degree[number] * degree[other]) ** -_DAMPING)

    def _walk(self, begin: np.ndarray, pattern: BridgePattern, leaving_out: list[int]) -> tuple[np.ndarray, np.ndarray]:
        amount, count, n = begin, (begin > 0).astype(float), len(begin)
        for place, (kinds, kind) in enumerate(zip(pattern.edges, pattern.nodes[1:], strict=True), start=1):
            heads, tails, degree = self._made(kinds)
            worth = (degree[heads] * degree[tails]) ** -_DAMPING if len(heads) else np.empty(0)
            amount = np.bincount(tails, amount[heads] * worth, n) + np.bincount(heads, amount[tails] * worth, n)
            count = np.bincount(tails, count[heads], n) + np.bincount(heads, count[tails], n)
            other = (self.view.nodes.types != NODE_CODE[kind]) | self._saying_little(pattern, place)
            for values in (amount, count):
                values[other] = 0.0
                values[leaving_out] = 0.0
        return amount, count

    def _saying_little(self, pattern: BridgePattern, place: int) -> np.ndarray:
        """Return which nodes must not stand at a place of a pattern."""
        n, inner = len(self.view.nodes), 0 < place < len(pattern.nodes) - 1
        if inner and pattern.nodes[place] in (PATHWAY, TERM):
            if True not in self._mute:
                self._mute[True] = self._made(INVOLVED)[2] > SMALL_PATHWAY
            return self._mute[True]
        if pattern.nodes[place] is NodeType.GENE and TARGET in pattern.edges[max(0, place - 1) : place + 1]:
            return self.handling_drugs()
        return np.zeros(n, dtype=bool)

    def handling_drugs(self) -> np.ndarray:
        """Return which nodes (bool) are genes that move or break down drugs of every kind."""
        if False not in self._mute:
            mute = np.zeros(len(self.view.nodes), dtype=bool)
            genes = np.flatnonzero(self.view.nodes.types == NODE_CODE[NodeType.GENE]).tolist()
            mute[[g.number for g in self.view.nodes.named(genes) if _HANDLES_DRUGS.fullmatch(g.name)]] = True
            self._mute[False] = mute
        return self._mute[False]

    def _made(self, kinds: Edges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return both ends of the edges of some kinds, each pair once, and how many each node has."""
        if kinds not in self._links:
            edges, n = self.view.edges, len(self.view.nodes)
            rows = np.flatnonzero(np.isin(edges.codes, [EDGE_CODE[kind] for kind in kinds]))
            heads, tails = edges.heads[rows].astype(np.int64), edges.tails[rows].astype(np.int64)
            pairs = np.unique(np.minimum(heads, tails) * n + np.maximum(heads, tails)) if len(rows) else heads
            heads, tails = pairs // max(1, n), pairs % max(1, n)
            keep = heads != tails
            heads, tails = heads[keep], tails[keep]
            degree = (np.bincount(heads, minlength=n) + np.bincount(tails, minlength=n)).astype(float)
            self._links[kinds] = (heads, tails, degree)
        return self._links[kinds]
