"""Which two ideas to compare next: first what tells most of all, then what tells most about the top.

The information of a comparison is about `log(1 + variance of the difference x p (1 - p))` (the gain of a normal
posterior under one logistic observation). While every idea is explored, pairs are taken by it alone, ideas with fewest
matches first; then it is weighed by the chance that the two are the best two. Pairs of one batch share no idea, so
that they can be judged side by side.

Sources: MacKay DJC (1992) Neural Computation 4:590 (information-based selection of data); Russo D (2016) COLT 49:1417
(sampling the best two to find the best).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import permutations

import numpy as np

from engine.discovery.ratings import Contest, Ratings, between

EXPLORED = 1.0
"""Matches, as multiples of the ideas, in which all are explored."""
TOP = 3
"""The best so many count as the top."""


def next_pairs(
    ratings: Ratings,
    matches: Sequence[Contest],
    size: int,
    *,
    open_to: Collection[int] | None = None,
    alike: Sequence[int] | None = None,
    repeat: bool = True,
    seed: int = 0,
    full_rank: bool = False,
) -> list[tuple[int, int]]:
    """Return up to `size` pairs to compare, each idea at most once, the one to be shown first at random.

    Args:
        ratings: the strengths after `matches`.
        matches: the comparisons so far.
        size: pairs that are judged side by side.
        open_to: the ideas that compete; all by default.
        alike: cluster of each idea: of two near equal pairs the one of two clusters is taken.
        repeat: whether a pair may be compared again; with a judge that always says the same it may not.
        seed: of the order within a pair; with the matches' number it is the same after a restart.
        full_rank: whether the order of all matters; else the top is what is asked for once all are explored.
    """
    ratings = ratings.choosing or ratings
    able = np.array(sorted(set(range(len(ratings.mean))) if open_to is None else set(open_to)), dtype=int)
    if len(able) < 2:
        return []
    played = Counter(frozenset((match.first, match.second)) for match in matches)
    games = np.bincount([at for match in matches for at in (match.first, match.second)], minlength=len(ratings.mean))
    first, second = (able[side] for side in np.triu_indices(len(able), 1))
    gain = _information(ratings, first, second)
    times = np.array([played[frozenset(pair)] for pair in zip(first.tolist(), second.tolist(), strict=True)])
    gain = gain / (1 + times) if repeat else np.where(times > 0, 0.0, gain)
    if alike is not None:
        clusters = np.asarray(alike)
        gain = gain * np.where(clusters[first] == clusters[second], 0.9, 1.0)
    exploring = full_rank or len(matches) < EXPLORED * len(able)
    if not exploring:
        gain = gain * (ratings.chance_top_two(seed=len(matches))[first, second] + 1e-6)
    # Who has played least goes first while all are explored, so that nobody is left out by a batch.
    behind = games[first] + games[second] if exploring and not full_rank else np.zeros_like(first)
    if full_rank:
        behind = np.where(games[able].min() == 0, games[first] + games[second], 0)
    order = np.lexsort((second, first, -gain, behind))
    fresh = bool(((times == 0) & (gain > 0)).any())
    random, taken, chosen = np.random.default_rng((seed, len(matches))), set[int](), list[tuple[int, int]]()
    for at in order:
        one, other = int(first[at]), int(second[at])
        # A pair that met waits while all are explored: who is left over goes first in the next batch.
        again = exploring and fresh and times[at] > 0
        if gain[at] > 0 and not again and one not in taken and other not in taken:
            chosen.append((one, other) if random.random() < 0.5 else (other, one))
            taken |= {one, other}
        if len(chosen) == size:
            break
    if exploring and not full_rank and len(chosen) < size:
        new = times == 0
        pairs = zip(first[new].tolist(), second[new].tolist(), strict=True)
        unmet = {frozenset(pair): worth for pair, worth in zip(pairs, gain[new].tolist(), strict=True)}
        left = [at for at in able.tolist() if at not in taken]
        chosen = _with_all(chosen, left, unmet)[:size]
    return chosen


def _with_all(
    chosen: list[tuple[int, int]], left: list[int], unmet: Mapping[frozenset[int], float]
) -> list[tuple[int, int]]:
    """Return a batch in which two who are left over, having met already, change partners with a pair of it.

    What is taken in turn by its gain alone can leave two over who could both have played; they would then stay behind
    while all are explored. Of the exchanges that make two new pairs, that of most gain is made.
    """
    chosen, left = list(chosen), list(left)
    while True:
        exchanges = [
            (unmet[frozenset((a, one))] + unmet[frozenset((other, b))], at, (a, one), (other, b))
            for at, (a, b) in enumerate(chosen)
            for one, other in permutations(left, 2)
            if frozenset((a, one)) in unmet and frozenset((other, b)) in unmet
        ]
        if not exchanges:
            return chosen
        _, at, new, further = max(exchanges)
        chosen[at] = new
        chosen.append(further)
        left = [name for name in left if name not in (new[1], further[0])]


def batch_size(n: int, matches: int, *, full_rank: bool = False) -> int:
    """Return how many pairs to judge side by side: n/2 while all are explored, then n/4, which costs the top little."""
    exploring = full_rank or matches < EXPLORED * n
    return max(1, n // 2 if exploring else n // 4)


def _information(ratings: Ratings, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    c, diagonal = ratings.covariance, np.diag(ratings.covariance)
    variance = np.clip(diagonal[first] + diagonal[second] - 2 * c[first, second], 0, None)
    odds = ratings.mean[first] - ratings.mean[second]
    p = 1 / (1 + np.exp(-np.clip(odds, -35, 35)))
    return np.log1p(variance * p * (1 - p))


def comparisons_wanted(ratings: Ratings, one: int, other: int, *, level: float = 0.9) -> int:
    """Return about how many more comparisons of two ideas would tell them apart, at most 999.

    Each adds p (1 - p) to the precision of their difference, which must reach the square of quantile over difference.
    """
    from scipy.special import ndtri

    low, high = ratings.limits(between(one, other, len(ratings.mean)), level)[0]
    if low > 0 or high < 0:
        return 0
    mean, sd = ratings.difference(one, other)
    p = 1 / (1 + np.exp(-mean))
    needed = (ndtri(0.5 + level / 2) / max(abs(mean), 1e-6)) ** 2 - 1 / sd**2
    return int(np.clip(np.ceil(needed / (p * (1 - p))), 1, 999))
