"""How well and how fast a tournament finds the best ideas with a judge that is often wrong, beside Elo on random pairs.

    python benchmarks/bench_tournament.py [--rounds 300] [--seed 0]

Truth is drawn from a normal distribution; the judge is a Bradley-Terry judge of a stated accuracy on random pairs. The
seed system's Elo (K = 24, whole numbers, random pairs) judges the same worlds in the same run. Real judges have errors
that go together: the figures are upper bounds, the differences are what can be claimed. Weights were chosen on the
worlds of seed 0; `--seed` gives worlds that no choice has seen.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402
from tournament_room import (  # noqa: E402  # pyright: ignore[reportMissingImports]
    Killed,
    Simulated,
    cast_of,
    played,
    table_of,
)

from benchmarks.measuring import arguments, at_least, report, summary, target  # noqa: E402
from benchmarks.simulated_judge import BETA, World, elo, ours, update  # noqa: E402
from engine.discovery.falsification import simulated  # noqa: E402
from engine.discovery.pairing import next_pairs  # noqa: E402
from engine.discovery.ratings import Contest, between, rate  # noqa: E402
from engine.domain.discovery.hypotheses import Bounds  # noqa: E402
from engine.strategies.tournament.loop import play  # noqa: E402
from engine.strategies.tournament.running import complete  # noqa: E402
from storage.hypotheses.twin import HypothesesTwin  # noqa: E402

Targets = list[dict[str, Any]]
Seeds = Sequence[int]
"""One for each world that is drawn."""
APART = 1_000_000
"""So far are the worlds of two seeds apart, so that they share none."""
MEASURES = ("tau", "top1", "top3", "regret")


def means(seeds: Seeds, run: Callable[[int], dict[str, float]]) -> dict[str, float]:
    """Return the mean of each measure over worlds."""
    found = [run(seed) for seed in seeds]
    return {name: statistics.fmean(one[name] for one in found) for name in found[0]}


def both(
    seeds: Seeds, budget: int, *, full_rank: bool = False, **world: Any
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the measures of ours and of Elo on the same worlds."""

    def run(seed: int) -> dict[str, float]:
        mine = World(seed=seed, **world)
        return mine.scored(ours(mine, budget, full_rank=full_rank)[0].mean)

    def other(seed: int) -> dict[str, float]:
        same = World(seed=seed, **world)
        return same.scored(elo(same, budget)[0])

    return means(seeds, run), means(seeds, other)


def quality(seeds: Seeds, rows: list[str]) -> Iterator[dict[str, Any]]:
    """T1 to T5 and T12: order and best at a budget."""
    plans: list[tuple[str, dict[str, Any], int, bool, dict[str, float]]] = [
        ("T1 n=16 .75 3n, whole order", {"n": 16}, 48, True, {"tau": 0.57}),
        ("T1-2 n=16 .75 3n", {"n": 16}, 48, False, {"tau": 0.53, "top1": 0.50, "top3": 0.80, "regret": 0.16}),
        ("T3 n=16 .85 3n", {"n": 16, "accuracy": 0.85}, 48, False, {"tau": 0.68, "top1": 0.66}),
        ("T3 n=16 .85 3n, whole order", {"n": 16, "accuracy": 0.85}, 48, True, {"tau": 0.72}),
        ("T4 n=32 .85 3n", {"n": 32, "accuracy": 0.85}, 96, False, {"tau": 0.68, "top1": 0.62}),
        ("T5 n=8 .75 3n", {"n": 8}, 24, False, {"tau": 0.55, "top1": 0.58}),
        ("T12 15 % by a coin", {"n": 16, "careless": 0.15}, 48, False, {"top1": 0.42}),
        ("T12 intransitive", {"n": 16, "intransitive": 0.5}, 48, False, {"top1": 0.42}),
    ]
    for name, world, budget, full_rank, wanted in plans:
        mine, base = both(seeds, budget, full_rank=full_rank, **world)
        rows.append(f"{name}: " + ", ".join(f"{m} {mine[m]:.3f} (Elo {base[m]:.3f})" for m in MEASURES))
        for measure, limit in wanted.items():
            made = target if measure == "regret" else at_least
            yield made(f"{name}: {measure}", mine[measure], limit)
        if name.startswith("T12"):
            yield at_least(f"{name}: tau beyond Elo's", mine["tau"] - base["tau"], -0.02)


def efficiency(seeds: Seeds, rows: list[str]) -> Iterator[dict[str, Any]]:
    """T6: comparisons until the order, or the best, is as good as wanted, against those that Elo needs."""
    n = 16
    grid = tuple(range(4, 12 * n + 1, 4))

    def curve(run: Callable[[World], dict[int, np.ndarray]], measure: str) -> dict[int, float]:
        found: dict[int, list[float]] = {number: [] for number in grid}
        for seed in seeds:
            world = World(n, 0.85, seed=seed)
            for number, strengths in run(world).items():
                found[number].append(world.scored(strengths)[measure])
        return {number: statistics.fmean(values) for number, values in found.items() if values}

    def reached(known: dict[int, float], wanted: float) -> float:
        return next((number for number in grid if known.get(number, 0) >= wanted), math.inf) / n

    mine = reached(curve(lambda w: ours(w, 5 * n, full_rank=True, at=grid)[2], "tau"), 0.7)
    base = reached(curve(lambda w: elo(w, 12 * n, at=grid)[1], "tau"), 0.7)
    best = reached(curve(lambda w: ours(w, 5 * n, at=grid)[2], "top1"), 0.6)
    other = reached(curve(lambda w: elo(w, 12 * n, at=grid)[1], "top1"), 0.6)
    other = other if math.isfinite(other) else 12.0
    rows.append(
        f"T6 tau .7 after {mine:g}n (Elo {base:g}n); best found in 60 % after {best:g}n (Elo {other:g}n or more)"
    )
    yield target("T6 comparisons for tau .7, share of Elo's", mine / base, 0.60)
    yield target("T6 comparisons for the best in 60 %, share of Elo's", best / other, 0.25)


def coverage(seeds: Seeds) -> Iterator[dict[str, Any]]:
    """T7: who plays how often."""
    unplayed = spread = repeats = frozen = 0
    for seed in seeds:
        for n in (5, 8, 16):
            made = ours(World(n, seed=seed), n)[1]
            half = np.bincount([at for m in made[: math.ceil(n / 2)] for at in (m.first, m.second)], minlength=n)
            games = np.bincount([at for m in made for at in (m.first, m.second)], minlength=n)
            unplayed += int((half == 0).sum() > n % 2)
            spread = max(spread, int(games.max() - games.min()))
            repeats += len(made) - len({frozenset((m.first, m.second)) for m in made})
        played_ = ours(World(8, seed=seed, frozen=True), 28)[1]
        frozen += len(played_) - len({frozenset((m.first, m.second)) for m in played_})
    yield target("T7 tournaments with somebody unplayed after n/2", unplayed, 0)
    yield target("T7 most minus fewest matches while exploring", spread, 1)
    yield target("T7 repeated pairs while exploring", repeats, 0)
    yield target("T7 repeated pairs with a judge that always says the same", frozen, 0)


def invariance(seeds: Seeds, rows: list[str]) -> Iterator[dict[str, Any]]:
    """T8: the same results in another order."""
    worst, changed = 0.0, 0
    for seed in seeds:
        world, draw = World(16, seed=seed), np.random.default_rng(seed)
        pairs = [tuple(int(p) for p in draw.choice(16, 2, replace=False)) for _ in range(16)]
        made = [Contest(a, b, world.judge(a, b)) for a, b in pairs]
        again = [made[int(at)] for at in draw.permutation(len(made))]
        worst = max(worst, float(np.abs(rate(16, made).mean - rate(16, again).mean).max()))
        leaders = []
        for order in (made, again):
            numbers = np.full(16, 1200.0)
            for one in order:
                update(numbers, one.first, one.second, one.score)
            leaders.append(int(numbers.argmax()))
        changed += leaders[0] != leaders[1]
    rows.append(f"T8 Elo names another winner in {changed / len(seeds):.0%} of replays in another order")
    yield target("T8 largest difference of a strength", worst, 1e-6)


def calibration(seeds: Seeds, rows: list[str]) -> Iterator[dict[str, Any]]:
    """T9: whether stated chances and intervals are true."""
    for accuracy in (0.75, 0.85):
        claimed: list[float] = []
        right: list[float] = []
        used: list[int] = []
        for seed in seeds:
            world = World(16, accuracy, seed=seed)

            def enough(ratings: Any, made: int) -> bool:
                return made >= 16 and ratings.chance_best(made).max() >= 0.8

            ratings, made, _ = ours(world, 12 * 16, stop=enough)
            chance = ratings.chance_best(len(made))
            if chance.max() >= 0.8:
                claimed.append(float(chance.max()))
                right.append(float(chance.argmax() == world.worth.argmax()))
                used.append(len(made))
        realised, said = statistics.fmean(right), statistics.fmean(claimed)
        rows.append(
            f"T9 n=16 {accuracy}: stopped in {len(right) / len(seeds):.0%} after {statistics.fmean(used) / 16:.1f}n, "
            f"right {realised:.2f}, claimed {said:.2f}"
        )
        yield at_least(f"T9 {accuracy}: right when it stops at .8", realised, 0.80)
        yield target(f"T9 {accuracy}: claimed against realised", abs(said - realised), 0.10)
    for accuracy in BETA:
        inside: list[float] = []
        for seed in seeds:
            world = World(16, accuracy, seed=seed)
            ratings = ours(world, 48)[0]
            pairs = np.array([between(one, other, 16)[0] for one, other in itertools.combinations(range(16), 2)])
            truth = BETA[accuracy] * pairs @ world.worth
            low, high = ratings.limits(pairs).T
            inside += ((low <= truth) & (truth <= high)).astype(float).tolist()
        share = statistics.fmean(inside)
        yield at_least(f"T9 {accuracy}: 90 % intervals of differences that hold the truth", share, 0.84)
        yield target(f"T9 {accuracy}: 90 % intervals of differences that hold the truth", share, 0.95)


def bias_and_reviews(seeds: Seeds, rows: list[str]) -> Iterator[dict[str, Any]]:
    """T10 and T11: a judge that prefers the first, and reviews that say something or nothing."""
    found: list[tuple[float, float]] = []
    for seed in seeds:
        world = World(16, seed=seed, bias=2.0)
        ratings = ours(world, 64, full_rank=True)[0]
        found.append((world.scored(ratings.mean)["tau"], ratings.bias))
    yield at_least("T10 tau with a bias of .88, 64 calls", statistics.fmean(tau for tau, _ in found), 0.48)
    yield target("T10 distance of the stated bias from 2.0", abs(statistics.fmean(b for _, b in found) - 2.0), 0.5)
    cold, base = both(seeds, 16, n=16)
    warm, _ = both(seeds, 16, n=16, review=0.5)
    rows.append(f"T11 n=16 1n: tau {cold['tau']:.3f} cold, {warm['tau']:.3f} with reviews, Elo {base['tau']:.3f}")
    yield at_least("T11 tau with reviews of rho .5, 1n", warm["tau"], 0.44)
    cold, _ = both(seeds, 48, n=16)
    useless, _ = both(seeds, 48, n=16, review=0.0)
    yield target("T11 tau lost by useless reviews, 3n", cold["tau"] - useless["tau"], 0.02)


def latency(rounds: int) -> tuple[list[dict[str, Any]], Targets]:
    """T13: the next batch of 128, and a fit of 1,000 comparisons of 64."""
    rows: list[dict[str, Any]] = []
    goals: Targets = []
    for name, n, count in (("next batch, n = 128", 128, 384), ("fit of 1,000 comparisons, n = 64", 64, 1000)):
        world = World(n)
        draw = np.random.default_rng(0)
        pairs = [tuple(int(p) for p in draw.choice(n, 2, replace=False)) for _ in range(count)]
        made = [Contest(a, b, world.judge(a, b)) for a, b in pairs]
        ratings = rate(n, made)
        times: list[float] = []
        for _ in range(min(rounds, 30)):
            began = time.perf_counter()
            if n == 128:
                next_pairs(ratings, made, 32)
            else:
                rate(n, made)
            times.append(1000 * (time.perf_counter() - began))
        rows.append(summary(name, times, unit="ms", digits=2))
        goals.append(target(f"T13 {name}", rows[-1]["p50"], 50, unit=" ms"))
    return rows, goals


def loop() -> Iterator[dict[str, Any]]:
    """T14 to T16: kills at every call, calls counted, and a run again with what was asked kept."""
    bounds = Bounds(hypotheses=6, iterations=1, evolve=2, concurrency=1, stop_at=1.0)
    whole = Simulated()
    expected = complete(played(cast_of(whole), bounds).ledger.view())
    repeated = different = 0
    for kill_at in range(1, len(whole.calls)):
        store, first = HypothesesTwin(), Simulated(kill_at=kill_at)
        with contextlib.suppress(Killed):
            played(cast_of(first), bounds, store=store)
        second = Simulated(calls=list(first.calls))
        table = table_of(cast_of(second), bounds, store=store)
        play(table)
        repeated += len(second.calls) - len(set(second.calls))
        different += complete(table.ledger.view()).standings != expected.standings
    yield target(f"T14 calls repeated after a kill at each of {len(whole.calls) - 1} calls", repeated, 0)
    yield target("T14 standings that differ after a kill", different, 0)
    yield target("T15 calls reported minus calls made", abs(expected.tournament.calls - len(whole.calls)), 0)
    maker = Remembering()
    first_time = played(cast_of(Simulated(), makers=[maker]), bounds)
    asked = len(maker.calls)
    second_time = played(cast_of(Simulated(), makers=[maker]), bounds)
    distinct = [
        len({one.text for one in table.ledger.view().hypotheses if not one.round})
        for table in (first_time, second_time)
    ]
    yield target("T16 distinct hypotheses missing when answers come from a cache", distinct[0] - distinct[1], 0)
    yield target("T16 calls of the maker when all its answers are in the cache", len(maker.calls) - asked, 0)


class Remembering(Simulated):
    """A maker whose answers are kept under what it was asked, as a cache of model calls keeps them."""

    def __post_init__(self) -> None:
        self.kept: dict[tuple[int, int], Any] = {}

    def make(self, aims: Any, guidance: Any, count: int, seed: int) -> Any:
        """Return the answer that was given before, else a new one."""
        if (count, seed) not in self.kept:
            self.kept[count, seed] = super().make(aims, guidance, count, seed)
        return self.kept[count, seed]


def tests(seeds: Seeds, rows: list[str]) -> Iterator[dict[str, Any]]:
    """The error rate of executed tests under no effect, and their power, beside a plain p < 0.05."""
    for name, effects, number in (("no effect", [0.0] * 10, 3), ("3 of 10 true", [0.0] * 7 + [3.0] * 3, 3)):
        rate_, power = simulated(effects, number, trials=max(len(seeds), 300), seed=seeds[0])
        plain, plain_power = plain_rule(effects, number, max(len(seeds), 300), seeds[0])
        rows.append(
            f"tests, {name}: false discoveries {rate_:.3f} (p < 0.05: {plain:.3f}), "
            f"power {power:.2f} (p < 0.05: {plain_power:.2f})"
        )
        yield target(f"tests, {name}: false discovery rate", rate_, 0.1)


def plain_rule(effects: list[float], number: int, trials: int, seed: int) -> tuple[float, float]:
    """Return false discovery rate and power of calling supported what any of its tests shows at p < 0.05."""
    draw = np.random.default_rng(seed)
    truth = np.asarray(effects) > 0
    false: list[float] = []
    power: list[float] = []
    for _ in range(trials):
        z = draw.standard_normal((len(effects), number)) + np.asarray(effects)[:, None]
        found = (z > 1.96).any(axis=1)
        false.append(float((found & ~truth).sum() / max(1, found.sum())))
        power.append(float((found & truth).sum() / max(1, truth.sum())))
    return statistics.fmean(false), statistics.fmean(power)


def main() -> None:
    """Measure and report."""
    options = arguments(__doc__ or "", rounds=300, draws=True)
    trials, first = options.rounds, options.seed * APART
    seeds = range(first, first + trials)
    notes: list[str] = []
    rows, goals = latency(trials)
    stages = (
        lambda: quality(seeds, notes), lambda: efficiency(seeds, notes),
        lambda: coverage(seeds[: max(1, trials // 10)]),
        lambda: invariance(seeds, notes), lambda: calibration(seeds, notes),
        lambda: bias_and_reviews(seeds, notes), loop, lambda: tests(seeds, notes),
    )  # fmt: skip
    for stage in stages:
        began = time.perf_counter()
        goals += list(stage())
        print(f"({time.perf_counter() - began:.0f} s)", file=sys.stderr, flush=True)
    report("tournament", rows, goals, notes, trials=trials, seed=options.seed)


if __name__ == "__main__":
    main()
