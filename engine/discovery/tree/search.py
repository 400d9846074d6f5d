"""Monte Carlo tree search: from what was found so far to the choice that is tried next, again and again.

Each simulation goes down the tree by PUCT (value so far, plus the prior where visits are few), adds one state, and goes
on from there, mostly by the largest prior, else by chance weighed by priors, to an end, which is looked at once in all.
What is known to be explored to its last end is not entered again. Everything depends on the space, the ways and the
seed, never on time: a search that is begun again with the ends that were looked at before does the same and looks at
none of them twice.

Sources: Kocsis L, Szepesvari C (2006) ECML 282 (UCT); Rosin CD (2011) Ann Math Artif Intell 61:203 (PUCT); Coulom R
(2007) ICGA J 30:198 (progressive widening); Chaslot G et al (2008) CG 60 (virtual loss); Childs BE et al (2008) CIG 389
(transpositions).
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Generic

from engine.discovery.tree.space import Choice, SearchBudget, SearchWays, Space, Spending, Spent, State

_REPEATS = 20
"""After so many simulations without a new end, for every one that was new, what is left is not worth the time."""
_WORTH_TELLING_S = 0.02
"""Work that is told of at once, so that a kill loses no more of it: keeping it takes some 3 ms on a disk."""


@dataclass(slots=True)
class SearchNode(Generic[State]):
    """A state of the tree; choices in another order that lead to it share it."""

    state: State
    key: str
    end: bool
    choices: list[tuple[Choice[State], SearchNode[State]]] | None = None
    """By prior, largest first; None until it was visited."""
    visits: int = 0
    total: float = 0.0
    """Sum of the values that simulations through it came to."""
    best: float = 0.0
    pending: int = 0
    """Simulations under way through it."""
    done: bool = False
    """Nothing below it is left to look at."""

    @property
    def mean(self) -> float:
        """The mean value, 0 without a visit."""
        return self.total / self.visits if self.visits else 0.0


@dataclass(slots=True)
class TreeSearch(Generic[State]):
    """A search in a space. Not for several threads at once; `run` may be called again to go on."""

    space: Space[State]
    ways: SearchWays = field(default_factory=SearchWays)
    known: Mapping[str, float] = field(default_factory=dict)
    """Key -> value of ends that were looked at before."""
    looked_at: Callable[[Mapping[str, float]], None] | None = None
    """Told of new ends, key -> value, before anything is made of them: those of a batch together, but each that takes
    long before the next is looked at."""
    together: Callable[[Sequence[State]], object] | None = None
    """Told of the new ends of a batch before any is looked at, so that one question can be put about all of them."""
    spending: Spending = Spent
    workers: Executor | None = None
    """Looks at the ends of one batch side by side."""
    simulations: int = 0
    evaluations: int = 0
    """Ends that this search looked at itself."""
    best: State | None = None
    best_value: float = -1.0
    root: SearchNode[State] = field(init=False)
    _nodes: dict[str, SearchNode[State]] = field(default_factory=dict)
    _values: dict[str, float] = field(default_factory=dict)
    _ends: dict[str, State] = field(default_factory=dict)
    _open: dict[str, Sequence[Choice[State]]] = field(default_factory=dict)
    """Key -> choices of states that chance went through."""

    def __post_init__(self) -> None:
        self.root = self._node(self.space.start())

    def run(self, budget: SearchBudget, *, go_on: Callable[[], bool] = lambda: True) -> State | None:
        """Search until the budget is spent or nothing is left, and return the best end so far, None when none was met.

        Args:
            budget: counted from this call on, apart from calls and dollars.
            go_on: asked between batches; False stops.
        """
        began, first, looked = time.monotonic(), self.simulations, self.evaluations
        fruitless = 0

        def within() -> bool:
            spent = self.spending()
            used = (
                (budget.simulations, self.simulations - first),
                (budget.evaluations, self.evaluations - looked),
                (budget.seconds, time.monotonic() - began),
                (budget.calls, spent.calls),
                (budget.dollars, spent.dollars),
            )
            return all(limit is None or value < limit for limit, value in used)

        while within() and go_on() and not self.root.done and fruitless <= _REPEATS * (len(self._values) + 10):
            size = self.ways.parallel
            if budget.simulations is not None:
                size = min(size, budget.simulations - (self.simulations - first))
            if budget.evaluations is not None:
                size = min(size, budget.evaluations - (self.evaluations - looked))
            before = len(self._values)
            self._batch(size)
            fruitless = 0 if len(self._values) > before else fruitless + size
        return self.best

    def ends(self, most: int) -> list[tuple[float, State]]:
        """Return the best ends that were looked at, best first, with their values."""
        ranked = sorted(self._values, key=lambda key: (-self._values[key], key))[:most]
        return [(self._values[key], self._ends[key]) for key in ranked]

    def _batch(self, size: int) -> None:
        """Choose ends, look at the new ones together, and pass their values up, in the order they were chosen."""
        chosen: list[tuple[list[SearchNode[State]], State | None]] = []
        for _ in range(size):
            if self.root.done:
                break
            way = self._down()
            for node in way:
                node.pending += 1
            chance = random.Random(f"{self.ways.seed}/{self.simulations}")  # noqa: S311 - nothing to be kept secret
            chosen.append((way, self._to_an_end(way[-1], chance)))
            self.simulations += 1
        self._look_at([end for _, end in chosen if end is not None])
        for way, end in chosen:
            self._up(way, end)

    def _down(self) -> list[SearchNode[State]]:
        """Return the nodes from the root to one that is new, an end, or leads nowhere."""
        way = [self.root]
        while way[-1].choices and not way[-1].done:
            way.append(self._chosen(way[-1]))
        node = way[-1]
        if node.choices is None and not node.end and node.visits + node.pending > 0:
            self._expand(node)
            if node.choices:
                way.append(self._chosen(node))
        return way

    def _chosen(self, node: SearchNode[State]) -> SearchNode[State]:
        assert node.choices
        factor, power = self.ways.widening
        width = max(1, math.ceil(factor * max(1, node.visits + node.pending) ** power))
        left = [pair for pair in node.choices if not pair[1].done] or node.choices
        left = left[:width]
        spread = sum(choice.prior for choice, _ in left) or 1.0
        around = math.sqrt(node.visits + node.pending + 1)
        scale = self.best_value if self.best_value > 0 else 1.0  # so that exploring weighs the same whatever values are

        def promise(pair: tuple[Choice[State], SearchNode[State]]) -> float:
            choice, child = pair
            tried = child.visits + child.pending
            mean = child.total / tried if tried else node.mean
            worth = self.ways.best_share * (child.best if tried else node.mean) + (1 - self.ways.best_share) * mean
            return worth / scale + self.ways.exploration * choice.prior / spread * around / (1 + tried)

        return max(left, key=promise)[1]

    def _expand(self, node: SearchNode[State]) -> None:
        """Add a state's choices: of those that lead to one state the most promising."""
        found = sorted(self._choices(node.state, node.key), key=lambda choice: -choice.prior)
        pairs: dict[str, tuple[Choice[State], SearchNode[State]]] = {}
        for choice in found:
            child = self._node(choice.state)
            pairs.setdefault(child.key, (choice, child))
        node.choices = list(pairs.values())

    def _to_an_end(self, node: SearchNode[State], chance: random.Random) -> State | None:
        """Go straight on or by chance, weighed by priors; return the end that is reached, None where there is none."""
        state, key = node.state, node.key
        while not self.space.is_end(state):
            choices = self._choices(state, key)
            choices = [c for c in choices if not ((n := self._nodes.get(self.space.key(c.state))) and n.done)]
            if not choices:
                return None
            if chance.random() < self.ways.straight:
                state = max(choices, key=lambda choice: choice.prior).state
            else:
                state = chance.choices(choices, weights=[choice.prior for choice in choices])[0].state
            key = self.space.key(state)
        return state

    def _look_at(self, ends: Sequence[State]) -> None:
        fresh = {key: end for end in ends if (key := self.space.key(end)) not in self._values}
        found = self._looked({key: end for key, end in fresh.items() if key not in self.known})
        for key, end in fresh.items():
            value = self._values[key] = found[key] if key in found else self.known[key]
            self._ends[key] = end
            if value > self.best_value:
                self.best, self.best_value = end, value

    def _looked(self, new: Mapping[str, State]) -> Mapping[str, float]:
        """Return the values of ends nobody has looked at."""
        if new and self.together is not None:
            self.together(list(new.values()))
        run = self.workers.map if self.workers is not None else map
        found: dict[str, float] = {}
        untold: dict[str, float] = {}
        since = time.monotonic()
        for number, (key, value) in enumerate(zip(new, run(self.space.value, new.values()), strict=True), 1):
            found[key] = untold[key] = value
            if number == len(new) or time.monotonic() - since >= _WORTH_TELLING_S:
                if self.looked_at is not None:
                    self.looked_at(untold)
                untold, since = {}, time.monotonic()
        self.evaluations += len(found)
        return found

    def _up(self, way: list[SearchNode[State]], end: State | None) -> None:
        """Pass a value up the nodes it was reached by."""
        value = 0.0 if end is None else self._values[self.space.key(end)]
        for node in reversed(way):
            node.pending -= 1
            node.visits += 1
            node.total += value
            node.best = max(node.best, value)
            node.done = node.done or self._is_done(node, end)

    def _is_done(self, node: SearchNode[State], end: State | None) -> bool:
        if node.end:
            return True
        if node.choices is not None:
            return all(child.done for _, child in node.choices)
        return end is None and not self._choices(node.state, node.key)

    def _node(self, state: State) -> SearchNode[State]:
        key = self.space.key(state)
        if key not in self._nodes:
            self._nodes[key] = SearchNode(state, key, self.space.is_end(state))
        return self._nodes[key]

    def _choices(self, state: State, key: str) -> Sequence[Choice[State]]:
        if key not in self._open:
            self._open[key] = self.space.children(state)
        return self._open[key]
