"""Paths in the graph as a space of choices: from an entity, step by step, to one of those that are looked for."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.discovery.tree.space import Choice
from engine.domain.knowledge import EDGE_CODE, EDGE_TYPES, NODE_CODE, SYMMETRIC, EdgeType, GraphPath, NodeType
from engine.knowledge.graph.queries import RECORDS, hub_penalty
from engine.knowledge.graph.view import GraphView

SHORTCUT = 0.8
"""What a path is worth for each two of its nodes, not neighbours in it, that are linked: it says less that is new."""
MOST_STEPS = 4
_NOT_PASSED = np.array(
    [NODE_CODE[kind] for kind in (*RECORDS, NodeType.ANATOMY, NodeType.SYMPTOM, NodeType.SIDE_EFFECT)]
)
"""Types that join nothing: sharing a tissue or a file supports no link."""
_NEGATIVE = (EdgeType.ABSENT_IN, EdgeType.CONTRAINDICATED_FOR)
_NEGATIVE_CODES = np.array([EDGE_CODE[kind] for kind in _NEGATIVE])

Way = tuple[int, ...]
"""Numbers of nodes, from the start on."""


@dataclass(slots=True)
class PathSpace:
    """Ways from one node to any of some others. Safe to use from several threads."""

    view: GraphView
    first: int
    goals: frozenset[int]
    most: int = MOST_STEPS
    """Steps of the longest way."""
    least: int = 2
    """Steps of the shortest: what is stated directly needs no search."""
    _away: np.ndarray = field(init=False)
    """Steps from each node to the nearest goal, more than `most` where there is none that near."""
    _types: frozenset[EdgeType] = field(init=False)

    def __post_init__(self) -> None:
        self._types = frozenset(kind for kind in EDGE_TYPES if kind not in _NEGATIVE)
        self._away = np.full(len(self.view.nodes), self.most + 1, dtype=np.int64)
        found, steps = self.view.reach_steps(sorted(self.goals), self.most, self._types)
        self._away[found] = steps

    def start(self) -> Way:
        """Return the way that has not left yet."""
        return (self.first,)

    def is_end(self, state: Way) -> bool:
        """Say whether a way has come to a goal."""
        return len(state) > 1 and state[-1] in self.goals

    def key(self, state: Way) -> str:
        """Return the ids of the nodes, so that a stored tree holds for another version of the graph that has them."""
        return ">".join(self.view.nodes.id(number) for number in state)

    def children(self, state: Way) -> Sequence[Choice[Way]]:
        """Return the steps that may still come to a goal; sure edges, specific nodes and near goals are promising."""
        if self.is_end(state) or len(state) > self.most:
            return []
        near = self.view.adjacent(state[-1], self._types)
        sure = self.view.edges.confidences(near.rows)
        left = self.most - len(state)  # steps after this one
        best: dict[int, tuple[float, int]] = {}
        for number, row, worth in zip(near.numbers.tolist(), near.rows.tolist(), sure.tolist(), strict=True):
            if worth > best.get(number, (0.0, 0))[0] and self._may(state, number, left):
                best[number] = (worth, row)
        numbers = np.array(list(best), dtype=np.int64)
        passed = hub_penalty(self.view.nodes.degrees[numbers])
        promise = np.where(np.isin(numbers, list(self.goals)), 1.0, passed * 0.5 ** self._away[numbers])
        return [
            Choice(
                (*state, number),
                best[number][0] * float(prior),
                self._step(best[number][1], number),
                self._name(number),
            )
            for number, prior in zip(best, promise.tolist(), strict=True)
        ]

    def value(self, state: Way) -> float:
        """Return what a way is worth: sure edges, specific nodes, few steps, nothing that a shorter way says."""
        sure = self.view.edges.confidences(np.array([self._surest(*pair) for pair in itertools.pairwise(state)]))
        inner = hub_penalty(self.view.nodes.degrees[np.array(state[1:-1], dtype=np.int64)])
        apart = [
            (a, b)
            for place, a in enumerate(state)
            for b in state[place + 2 :]
            if (a, b) != (state[0], state[-1]) and len(self.view.rows_between(a, b))
        ]
        return float(np.prod(sure) * np.prod(inner) * SHORTCUT ** len(apart))

    def told(self, state: Way) -> str:
        """Return a way in words."""
        steps = [self._step(self._surest(a, b), b) for a, b in itertools.pairwise(state)]
        return " ".join([self._name(self.first), *steps])

    def offered(self, state: Way) -> Sequence[Choice[Way]]:
        """Return the steps that may still come to a goal."""
        return self.children(state)

    def holds(self, state: Way) -> bool:
        """Say yes: what is offered follows an edge."""
        return True

    def path(self, state: Way) -> GraphPath:
        """Return a way with its surest edges."""
        rows = [self._surest(*pair) for pair in itertools.pairwise(state)]
        nodes = [self.view.nodes.node(number) for number in state]
        return GraphPath(nodes=nodes, edges=self.view.edges.full(rows), score=round(self.value(state), 6))

    def _step(self, row: int, number: int) -> str:
        """Return an edge and the node it leads to in words, pointing as it is stated."""
        kind = EDGE_TYPES[self.view.edges.codes[row]]
        link = f"-[{kind.value}]-"
        if kind not in SYMMETRIC:
            link = f"{link}>" if self.view.edges.tails[row] == number else f"<{link}"
        return f"{link} {self._name(number)}"

    def _name(self, number: int) -> str:
        return self.view.nodes.name(number)

    def _surest(self, a: int, b: int) -> int:
        rows = self.view.rows_between(a, b)
        rows = rows[~np.isin(self.view.edges.codes[rows], _NEGATIVE_CODES)]
        return int(rows[np.argmax(self.view.edges.confidences(rows))])

    def _may(self, state: Way, number: int, left: int) -> bool:
        if number in state:
            return False
        if number in self.goals:
            return len(state) >= self.least
        return bool(self._away[number] <= left) and self.view.nodes.types[number] not in _NOT_PASSED
