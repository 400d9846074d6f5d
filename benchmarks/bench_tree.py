"""The tree search beside random, greedy and exhaustive search, at equal cost, where the best value is known.

    python benchmarks/bench_tree.py [--rounds N]

What costs is looking at an end. Exhaustive search looks at all of them and so knows the best; the others may look at a
tenth of that. Random draws ends evenly among the choices of each state, greedy takes the largest prior first and then
the next ends in that order (depth first). Problems: plans as choices of an analysis and answers to what it asks, worth
what the parts are worth and how two of them fit (simulated, because real plans cost seconds each); the same for
questions of several parts, each of which may be left aside; ways between two
entities of the starter graph, and of Hetionet's sample where it is at hand, worth what `PathSpace` says.
"""

from __future__ import annotations

import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_graph import hetionet_folder
from benchmarks.measuring import arguments, report, summary
from engine.discovery.tree.search import TreeSearch
from engine.discovery.tree.space import Choice, SearchBudget, SearchWays, Space
from engine.domain.knowledge import NODE_CODE, GraphSource, NodeType
from engine.knowledge.graph.csr import open_graph
from engine.knowledge.graph.view import GraphView
from engine.knowledge.importers.read import open_import
from engine.knowledge.sources import starter
from engine.strategies.mcts.path_space import PathSpace
from storage.database import Database
from storage.graph.store import DuckGraphStore

SHARE = 0.1
FEWEST, MOST = 50, 60_000
"""Ends of the path problems that are taken."""


class SimulatedPlans:
    """An analysis, then answers to what it asks; priors know half of what each is worth by itself, nothing of pairs."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.questions = [chance.randint(3, 5) for _ in range(6)]
        self.answers = [[chance.randint(2, 5) for _ in range(count)] for count in self.questions]
        self.fit = sorted((chance.random() for _ in range(6)), reverse=True)
        self.worth = {(a, q, v): chance.random() for a in range(6) for q in range(5) for v in range(5)}
        self.pairs = {
            (a, q, v, w): chance.random() for a in range(6) for q in range(4) for v in range(5) for w in range(5)
        }
        self.noise = {key: chance.random() for key in [*self.worth, *((a,) for a in range(6))]}

    def start(self) -> tuple[int, ...]:
        return ()

    def is_end(self, state: tuple[int, ...]) -> bool:
        return bool(state) and len(state) == 1 + self.questions[state[0]]

    def key(self, state: tuple[int, ...]) -> str:
        return ",".join(map(str, state))

    def children(self, state: tuple[int, ...]) -> list[Choice[tuple[int, ...]]]:
        if not state:
            return [Choice((a,), 0.1 + (self.fit[a] + self.noise[(a,)]) / 2) for a in range(6)]
        if self.is_end(state):
            return []
        a, q = state[0], len(state) - 1
        return [
            Choice((*state, v), 0.1 + (self.worth[a, q, v] + self.noise[a, q, v]) / 2)
            for v in range(self.answers[a][q])
        ]

    def value(self, state: tuple[int, ...]) -> float:
        a, chosen = state[0], state[1:]
        single = statistics.fmean(self.worth[a, q, v] for q, v in enumerate(chosen))
        pairs = statistics.fmean(self.pairs[a, q, v, w] for q, (v, w) in enumerate(itertools.pairwise(chosen)))
        return 0.3 * self.fit[a] + 0.4 * single + 0.3 * pairs


class SimulatedParts:
    """Parts of a question, each one of four analyses or left aside (4), then answers; priors know half of what each is
    worth by itself, nothing of how an answer suits an analysis."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.seed, self.parts = seed, chance.randint(2, 3)
        self.answers = [chance.randint(2, 4) for _ in range(chance.randint(2, 4))]

    def _drawn(self, *key: object) -> float:
        return random.Random(f"{self.seed}/{key}").random()

    def start(self) -> tuple[int, ...]:
        return ()

    def is_end(self, state: tuple[int, ...]) -> bool:
        return len(state) == self.parts + len(self.answers)

    def key(self, state: tuple[int, ...]) -> str:
        return ",".join(map(str, state))

    def children(self, state: tuple[int, ...]) -> list[Choice[tuple[int, ...]]]:
        if self.is_end(state):
            return []
        at = len(state)
        offered = range(4) if at < self.parts else range(self.answers[at - self.parts])
        found = [Choice((*state, v), 0.1 + (self._drawn(at, v) + self._drawn("noise", at, v)) / 2) for v in offered]
        aside = at < self.parts and not (at + 1 == self.parts and set(state) <= {4})
        return [*found, Choice((*state, 4), 0.1)] if aside else found

    def value(self, state: tuple[int, ...]) -> float:
        chosen, answers = state[: self.parts], list(enumerate(state[self.parts :], self.parts))
        fit = statistics.fmean(self._drawn(at, v) if v < 4 else 0.0 for at, v in enumerate(chosen))
        covered = statistics.fmean(v < 4 for v in chosen)
        single = statistics.fmean(self._drawn(at, v) for at, v in answers)
        suits = statistics.fmean(self._drawn("suits", a, at, v) for a in enumerate(chosen) for at, v in answers)
        return 0.4 * fit + 0.25 * covered + 0.2 * single + 0.15 * suits


def main() -> None:
    """Measure and report."""
    options = arguments(__doc__ or "", rounds=20)
    rows: list[dict[str, Any]] = []
    targets: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="biodesk-bench-") as folder:
        problems: dict[str, Iterator[Space[Any]]] = {"plans": (SimulatedPlans(seed) for seed in range(options.rounds))}
        problems["plans of several parts"] = (SimulatedParts(seed) for seed in range(options.rounds))
        problems["ways, starter graph"] = _ways(_starter(Path(folder)), options.rounds)
        if (sample := hetionet_folder()) is not None:
            problems["ways, Hetionet sample"] = _ways(_hetionet(Path(folder), sample), options.rounds)
        for name, spaces in problems.items():
            _measure(name, spaces, rows, targets)
    report("tree", rows, targets, share=SHARE)


def _measure(
    name: str, spaces: Iterator[Space[Any]], rows: list[dict[str, Any]], targets: list[dict[str, Any]]
) -> None:
    found: dict[str, list[float]] = {"tree search": [], "greedy": [], "random": []}
    sizes: list[float] = []
    seconds: list[float] = []
    for seed, space in enumerate(spaces):
        ends = [space.value(end) for end in _depth_first(space)]
        optimum, budget = max(ends), max(1, int(len(ends) * SHARE))
        sizes.append(len(ends))
        began = time.perf_counter()
        search = TreeSearch(space, SearchWays(seed=seed))
        search.run(SearchBudget(simulations=None, evaluations=budget))
        seconds.append((time.perf_counter() - began) * 1000 / max(1, search.simulations))
        found["tree search"].append(search.best_value / optimum)
        greedy = [space.value(end) for end, _ in zip(_depth_first(space), range(budget), strict=False)]
        found["greedy"].append(max(greedy) / optimum)
        found["random"].append(_random(space, budget, seed) / optimum)
    rows.append(summary(f"{name}: ends", sizes, unit="", digits=0))
    rows.append(summary(f"{name}: tree search, a simulation", seconds, unit="ms", digits=2))
    for way, shares in found.items():
        rows.append(summary(f"{name}: share of the best value, {way}", shares, unit="", digits=3))
    mean = statistics.fmean(found["tree search"])
    others = {way: statistics.fmean(shares) for way, shares in found.items() if way != "tree search"}
    targets.append(_at_least(f"{name}: mean share of the best value", mean, 0.95))
    for way, share in others.items():
        targets.append(_at_least(f"{name}: mean share beside {way}", mean, share))


def _at_least(name: str, value: float, least: float) -> dict[str, Any]:
    short = round(max(least - value, 0.0), 3)
    label = f"{name} {value:.3f} against {least:.3f}, shortfall"
    return {"name": label, "value": short, "limit": 0, "unit": "", "met": bool(value >= least)}


def _depth_first(space: Space[Any]) -> Iterator[Any]:
    """Yield all ends, at each state the largest prior first, each once."""
    stack, seen = [space.start()], set()
    while stack:
        state = stack.pop()
        if space.is_end(state):
            if (key := space.key(state)) not in seen:
                seen.add(key)
                yield state
            continue
        stack += [choice.state for choice in sorted(space.children(state), key=lambda choice: choice.prior)]


def _random(space: Space[Any], budget: int, seed: int) -> float:
    """Return the best of as many different ends, drawn evenly choice by choice."""
    chance, seen, best = random.Random(seed), set(), 0.0
    for _ in range(budget * 50):
        state = space.start()
        while not space.is_end(state) and (choices := space.children(state)):
            state = chance.choice(choices).state
        if space.is_end(state) and (key := space.key(state)) not in seen:
            seen.add(key)
            best = max(best, space.value(state))
        if len(seen) == budget:
            break
    return best


def _ways(view: GraphView, wanted: int) -> Iterator[PathSpace]:
    """Yield pairs of drugs, genes or diseases that fifty to some ten thousand ways of at most 4 steps join."""
    chance, met = np.random.default_rng(71), 0
    kinds = [NODE_CODE[kind] for kind in (NodeType.DRUG, NodeType.GENE, NodeType.DISEASE)]
    linked = np.flatnonzero(np.isin(view.nodes.types, kinds) & (view.nodes.degrees > 8))
    for _ in range(5000):
        first, last = chance.choice(linked, 2, replace=False).tolist()
        space = PathSpace(view, first, frozenset({last}))
        count = sum(1 for _, _ in zip(_depth_first(space), range(MOST + 1), strict=False))
        if FEWEST <= count <= MOST:
            met += 1
            yield space
        if met == wanted:
            return


def _stored(here: Path, name: str, fill: Callable[[DuckGraphStore], object]) -> GraphView:
    database = Database(here / f"{name}.duckdb")
    store = DuckGraphStore(database)
    fill(store)
    view = open_graph(store, here / name)
    database.close()
    return view


def _starter(here: Path) -> GraphView:
    source: GraphSource = starter.starter_source()
    return _stored(here, "starter", lambda store: store.add(source, starter.starter_batches()))


def _hetionet(here: Path, folder: Path) -> GraphView:
    source, batches, _ = open_import("hetionet", [folder / "nodes.tsv.gz", folder / "edges.sif.gz"])
    return _stored(here, "hetionet", lambda store: store.add(source, batches))


if __name__ == "__main__":
    main()
