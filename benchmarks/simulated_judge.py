"""Ideas of known worth, a judge that is often wrong, and two ways to their order: ours, and Elo on random pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from engine.discovery.pairing import batch_size, next_pairs
from engine.discovery.ratings import Contest, Ratings, rate

BETA = {0.65: 0.59, 0.75: 1.18, 0.85: 2.37}
"""Share of random pairs that a judge gets right -> log odds that one standard deviation of worth adds."""
K = 24


@dataclass
class World:
    """Ideas and their judge."""

    n: int
    accuracy: float = 0.75
    seed: int = 0
    bias: float = 0.0
    """Log odds that standing first adds."""
    careless: float = 0.0
    """Share of answers that are drawn by a coin."""
    intransitive: float = 0.0
    """Standard deviation of what is particular to a pair, in units of worth."""
    frozen: bool = False
    """Whether a pair always gets the same answer."""
    review: float | None = None
    """Correlation of reviews with worth; None for no reviews."""
    worth: np.ndarray = field(init=False)
    reviews: list[float] | None = field(init=False)

    def __post_init__(self) -> None:
        self._draw = np.random.default_rng(self.seed)
        self.worth = self._draw.standard_normal(self.n)
        noise = self._draw.standard_normal(self.n)
        rho = self.review
        self.reviews = None if rho is None else list(rho * self.worth + np.sqrt(1 - rho**2) * noise)
        apart = self._draw.standard_normal((self.n, self.n)) * self.intransitive
        self._apart = apart - apart.T
        self._said: dict[frozenset[int], int] = {}

    def judge(self, first: int, second: int) -> float:
        """Return 1 when the first wins, else 0."""
        pair = frozenset((first, second))
        if self.frozen and pair in self._said:
            return float(self._said[pair] == first)
        odds = BETA[self.accuracy] * (self.worth[first] - self.worth[second] + self._apart[first, second]) + self.bias
        chance = 0.5 if self._draw.random() < self.careless else 1 / (1 + np.exp(-odds))
        won = self._draw.random() < chance
        self._said[pair] = first if won else second
        return float(won)

    def scored(self, strengths: np.ndarray) -> dict[str, float]:
        """Return how good an order is: Kendall's tau, whether the best is first or in the first three, and the regret.

        The regret is what the chosen one lacks to the best, as a share of what an average one lacks.
        """
        from scipy.stats import kendalltau

        order = np.argsort(-strengths, kind="stable")
        best = self.worth.max()
        return {
            "tau": float(kendalltau(strengths, self.worth).statistic),
            "top1": float(order[0] == self.worth.argmax()),
            "top3": float(self.worth.argmax() in order[:3]),
            "regret": float((best - self.worth[order[0]]) / (best - self.worth.mean())),
        }


def ours(
    world: World,
    budget: int,
    *,
    full_rank: bool = False,
    at: tuple[int, ...] = (),
    stop: Callable[[Ratings, int], bool] | None = None,
) -> tuple[Ratings, list[Contest], dict[int, np.ndarray]]:
    """Compare in batches as a tournament does.

    Args:
        world: the ideas and the judge.
        budget: most comparisons.
        full_rank: whether the whole order is wanted.
        at: numbers of comparisons at which the strengths are kept on the way.
        stop: says from the ratings and the comparisons made whether it is enough.

    Returns:
        The ratings, the comparisons, and the strengths kept on the way.
    """
    made: list[Contest] = []
    ratings, kept = rate(world.n, made, world.reviews), dict[int, np.ndarray]()
    while len(made) < budget and not (stop is not None and stop(ratings, len(made))):
        size = min(batch_size(world.n, len(made), full_rank=full_rank), budget - len(made))
        pairs = next_pairs(ratings, made, size, seed=world.seed, full_rank=full_rank, repeat=not world.frozen)
        if not pairs:
            break
        made += [Contest(first, second, world.judge(first, second)) for first, second in pairs]
        ratings = rate(world.n, made, world.reviews)
        kept |= {number: ratings.mean for number in at if number not in kept and len(made) >= number}
    return ratings, made, kept


def elo(world: World, budget: int, at: tuple[int, ...] = ()) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Rate by Elo with whole numbers on pairs drawn at random; return the numbers, and those kept on the way."""
    draw = np.random.default_rng((world.seed, 1))
    kept, numbers = dict[int, np.ndarray](), np.full(world.n, 1200.0)
    for made in range(1, budget + 1):
        first, second = (int(place) for place in draw.choice(world.n, 2, replace=False))
        update(numbers, first, second, world.judge(first, second))
        if made in at:
            kept[made] = numbers.copy()
    return numbers, kept


def update(numbers: np.ndarray, first: int, second: int, won: float) -> None:
    """Change two Elo numbers after a comparison."""
    expected = 1 / (1 + 10 ** ((numbers[second] - numbers[first]) / 400))
    numbers[first] = int(numbers[first] + K * (won - expected))
    numbers[second] = int(numbers[second] - K * (won - expected))
