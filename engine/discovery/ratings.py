"""Strengths from comparisons of two: Bradley-Terry with a judge's habits and earlier reviews, and how sure it is.

The log odds that the one shown first wins are `s_first - s_second + bias`. Strengths have a normal prior around
`weight * review`, whose variance and weight, like the bias, are fitted to the comparisons (empirical Bayes), so that a
judge that is often right spreads strengths and a review that says nothing counts for nothing. The posterior is taken as
normal with the mean and spread that expectation propagation finds: around the mode, strengths of who always wins are
too small and too sure.

Sources: Bradley RA, Terry ME (1952) Biometrika 39:324; Davidson RR, Beaver RJ (1977) Biometrics 33:693 for the order
effect; MacKay DJC (1992) Neural Computation 4:415 for the evidence; Minka TP (2001) UAI 17:362 and Kuss M, Rasmussen CE
(2005) J Mach Learn Res 6:1679 for expectation propagation and how true it is beside the mode.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ELO = 400 / math.log(10)
"""Elo points a unit of log odds."""
BASE = 1200.0
"""The Elo number of an average idea."""
VARIANCES = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Variances of the prior that are weighed against each other, in squared log odds."""
CHOOSING = 0.25
"""The smallest of them that counts when it is chosen what to compare next."""
UNLIKELY = 0.02
"""A variance with a smaller share of the evidence than this is not weighed."""
BIAS_VARIANCE = 2.0
"""Variance of the prior of the advantage of standing first, squared log odds."""
WEIGHT_VARIANCE = 1.0
"""Variance of the prior of the weight of reviews (standardised), relative to the strengths' spread."""
WEIGHT_MEAN = 0.3
"""Its expectation: reviews are believed a little before comparisons say how much they are worth."""
_X, _M = np.polynomial.hermite_e.hermegauss(16)
NODES: Floats = np.asarray(_X, dtype=np.float64)
MASSES: Floats = np.asarray(_M / _M.sum(), dtype=np.float64)
"""(16,) Gauss-Hermite nodes of a standard normal and their shares."""
TURNS, DAMPING, SETTLED = 8, 0.9, 1e-3
"""Most turns of expectation propagation, how far a factor moves in each, and what counts as no longer moving."""
DRAWS = 2_000
"""Draws from the posterior for the chances to be best."""
FIELD = -1
"""Stands for all the others in the place of the second: what is compared with them all at once."""


@dataclass(frozen=True, slots=True)
class Contest:
    """A comparison: places of the two in the list of ideas, and what the judge said."""

    first: int
    second: int
    """`FIELD` for an average one of the others; nobody then stood first."""
    score: float = 1.0
    """1 when the first won, 0 when the second did, 0.5 for a tie; in between for a judge that gives a chance."""
    weight: float = 1.0
    """How much the comparison counts: 1 for one call of a judge, less for one that says it is unsure."""


@dataclass(frozen=True, slots=True)
class SpreadPart:
    """The posterior for one variance of the prior: its share of the evidence, (n,) means, (n, n) covariance."""

    share: float
    mean: Floats
    covariance: Floats


@dataclass(frozen=True, slots=True)
class Ratings:
    """Strengths of ideas in log odds, and how sure they are."""

    mean: Floats
    """(n,)"""
    covariance: Floats
    """(n, n), of strengths around their mean: only differences are known."""
    bias: float
    """Log odds that standing first adds."""
    bias_sd: float
    review_weight: float
    """Log odds that one standard deviation of the reviews adds."""
    variance: float
    """Of the prior, squared log odds."""
    mixed: tuple[SpreadPart, ...] = ()
    """What is averaged. Intervals are of these: of one normal of the whole spread they would be too wide."""
    choosing: Ratings | None = None
    """The same around the mode, surer of itself: it chooses what to compare next, as it looks at the top sooner."""

    def elo(self) -> Floats:
        """Return the strengths in Elo units, an average idea at 1200."""
        return BASE + ELO * (self.mean - self.mean.mean())

    def interval(self, level: float = 0.9) -> Floats:
        """Return (n, 2): the limits of each strength against the average, in Elo units."""
        n = len(self.mean)
        return BASE + ELO * self.limits(np.eye(n) - 1 / n, level)

    def limits(self, contrasts: Floats, level: float = 0.9) -> Floats:
        """Return (m, 2): between which limits each of (m, n) weighted sums of strengths lies, in log odds."""
        from scipy.special import ndtr, ndtri

        parts = self.mixed or (SpreadPart(1.0, self.mean, self.covariance),)
        share = np.array([part.share for part in parts])
        centre = np.array([contrasts @ part.mean for part in parts])
        spread = np.array([((contrasts @ part.covariance) * contrasts).sum(axis=1) for part in parts])
        spread = np.sqrt(np.clip(spread, 1e-18, None))
        tails = np.array([[0.5 - level / 2], [0.5 + level / 2]])
        # Each limit of the mixture lies between the least and the greatest of its parts: halved until nothing is left.
        of_parts = centre + spread * ndtri(tails)[:, :, None]
        low, high = of_parts.min(axis=1), of_parts.max(axis=1)
        for _ in range(50):
            middle = (low + high) / 2
            below = np.einsum("k,skm->sm", share, ndtr((middle[:, None, :] - centre) / spread)) < tails
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(((low + high) / 2).T, dtype=np.float64)

    def difference(self, one: int, other: int) -> tuple[float, float]:
        """Return mean and standard deviation of the difference of two strengths, in log odds."""
        c = self.covariance
        return float(self.mean[one] - self.mean[other]), math.sqrt(
            max(0.0, c[one, one] + c[other, other] - 2 * c[one, other])
        )

    def draws(self, seed: int = 0, count: int = DRAWS) -> Floats:
        """Return (count, n) strengths drawn from the posterior; the same for the same seed."""
        values, vectors = np.linalg.eigh(self.covariance)
        # The symmetric root, which a difference in the last digit cannot turn about as it does eigenvectors.
        root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
        random = np.random.default_rng(seed).standard_normal((count, len(self.mean)))
        return self.mean + random @ root

    def chance_best(self, seed: int = 0) -> Floats:
        """Return (n,): the probability that each idea is the best."""
        best = self.draws(seed).argmax(axis=1)
        return np.bincount(best, minlength=len(self.mean)) / DRAWS

    def chance_top_two(self, seed: int = 0) -> Floats:
        """Return (n, n), symmetric: the probability that two ideas are the best two."""
        drawn = self.draws(seed)
        n = drawn.shape[1]
        best = np.argpartition(-drawn, 1, axis=1)[:, :2] if n > 1 else np.zeros((0, 2), dtype=int)
        chance = np.bincount(best[:, 0] * n + best[:, 1], minlength=n * n).reshape(n, n) / DRAWS
        return chance + chance.T

    def chance_top(self, k: int, seed: int = 0) -> Floats:
        """Return (n,): the probability that each idea is among the best k."""
        drawn = self.draws(seed)
        k = min(k, drawn.shape[1])
        top = np.argpartition(-drawn, k - 1, axis=1)[:, :k]
        return np.bincount(top.ravel(), minlength=drawn.shape[1]) / DRAWS


def rate(
    n: int,
    matches: Sequence[Contest],
    reviews: Sequence[float | None] | None = None,
    *,
    own_variance: Sequence[float] | None = None,
    parents: Sequence[Sequence[int]] | None = None,
) -> Ratings:
    """Return the strengths of n ideas after some matches; the order of the matches does not matter.

    Args:
        n: how many ideas there are, at least 1.
        matches: the comparisons.
        reviews: a score of each idea, higher is better, None where there is none; only differences count.
        own_variance: factor of the prior's variance of each idea's own part.
        parents: places of the ideas that each was made from, all of them before it. Its strength is the mean of theirs
            and a part of its own, so that what is known of parents is known, less surely, of their children.

    Raises:
        ValueError: when a match names an idea that does not exist, or one against itself, or a parent comes later.
    """
    for match in matches:
        if not (0 <= match.first < n and FIELD <= match.second < n) or match.first == match.second:
            message = f"A match of {match.first} against {match.second} cannot be among {n} ideas."
            raise ValueError(message)
    review = _standardised(n, reviews)
    inherited = _inherited(n, parents)
    design, score, weight = _design(n, matches, review)
    design[:, :n] = design[:, :n] @ inherited
    factor = np.ones(n) if own_variance is None else np.asarray(own_variance, dtype=float)
    modes: dict[float, _Fit] = {}
    for variance in VARIANCES:
        near = modes[max(modes)].centre if modes else None
        modes[variance] = _fit(design, score, weight, variance, factor, near)
    likely = [v for v, share in zip(VARIANCES, _shares(modes.values()), strict=True) if share >= UNLIKELY]
    to_strength = np.hstack([inherited, np.zeros((n, 1)), review[:, None]])
    broad = {variance: fit for variance, fit in modes.items() if variance >= CHOOSING}
    stated = _averaged({variance: _refined(design, score, weight, modes[variance]) for variance in likely}, to_strength)
    return replace(stated, choosing=_averaged(broad, to_strength))


def _averaged(fits: Mapping[float, _Fit], to_strength: Floats) -> Ratings:
    """Return the ratings over variances of the prior, each by its evidence: one alone would be too sure of itself."""
    share = _shares(fits.values())
    centres = np.array([fit.centre for fit in fits.values()])
    mean: Floats = share @ centres
    second = np.einsum("k,kij->ij", share, np.array([fit.covariance for fit in fits.values()]))
    second += np.einsum("k,ki,kj->ij", share, centres - mean, centres - mean)
    n = len(to_strength)
    turned = [to_strength @ fit.covariance @ to_strength.T for fit in fits.values()]
    return Ratings(
        mean=to_strength @ mean,
        covariance=to_strength @ second @ to_strength.T,
        bias=float(mean[n]),
        bias_sd=float(math.sqrt(max(0.0, second[n, n]))),
        review_weight=float(mean[n + 1]),
        variance=float(share @ np.array(list(fits))),
        mixed=tuple(map(SpreadPart, share.tolist(), centres @ to_strength.T, turned)),
    )


def _inherited(n: int, parents: Sequence[Sequence[int]] | None) -> Floats:
    """Return (n, n): the strength of each idea from the own parts of itself and its ancestors."""
    whole = np.eye(n)
    for child, of in enumerate(parents or []):
        if any(not 0 <= parent < child for parent in of):
            message = f"Idea {child} cannot be made from {list(of)}: parents come first."
            raise ValueError(message)
        for parent in of:
            whole[child] += whole[parent] / len(of)
    return whole


@dataclass(frozen=True, slots=True)
class _Fit:
    """A normal posterior for one variance of the prior: (k,) centre, (k, k) covariance, and the log of its evidence."""

    centre: Floats
    covariance: Floats
    evidence: float
    expected: Floats
    prior: Floats
    """(k,) mean and variance of the prior."""


def _shares(fits: Iterable[_Fit]) -> Floats:
    """Return what part of the evidence each fit has."""
    evidence = np.array([fit.evidence for fit in fits])
    share = np.exp(evidence - evidence.max())
    return np.asarray(share / share.sum(), dtype=np.float64)


def _design(n: int, matches: Sequence[Contest], review: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (m, n + 2): own strengths, bias, weight of the reviews; and the scores and weights of the matches."""
    design = np.zeros((len(matches), n + 2))
    rows = np.arange(len(matches))
    first = np.array([match.first for match in matches], dtype=int)
    second = np.array([match.second for match in matches], dtype=int)
    design[:, n] = second != FIELD
    design[rows[second != FIELD], second[second != FIELD]] = -1
    design[rows[second == FIELD], :n] = -1 / max(1, n - 1)
    design[rows, first] = 1
    design[:, n + 1] = design[:, :n] @ review
    return design, np.array([match.score for match in matches]), np.array([match.weight for match in matches])


def _fit(
    design: Floats, score: Floats, weight: Floats, variance: float, factor: Floats, near: Floats | None = None
) -> _Fit:
    """Return the posterior around its mode by Newton's method from what is `near` it, with the evidence of Laplace."""
    size = design.shape[1]
    prior = np.concatenate([variance * factor, [BIAS_VARIANCE, WEIGHT_VARIANCE * variance]])
    expected = np.zeros(size)
    expected[-1] = WEIGHT_MEAN * math.sqrt(variance)
    x, hessian = (expected if near is None else near).copy(), np.diag(1 / prior)
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(design @ x, -35, 35)))
        gradient = design.T @ (weight * (score - p)) - (x - expected) / prior
        hessian = (design.T * (weight * p * (1 - p))) @ design + np.diag(1 / prior)
        step = np.linalg.solve(hessian, gradient)
        x = x + step * min(1.0, 4.0 / max(1e-12, np.abs(step).max()))
        if np.abs(step).max() < 1e-10:
            break
    odds = np.clip(design @ x, -35, 35)
    likelihood = float((weight * (score * odds - np.log1p(np.exp(odds)))).sum())
    logdet = float(np.linalg.slogdet(hessian)[1])
    evidence = (
        likelihood - 0.5 * float(((x - expected) ** 2 / prior).sum()) - 0.5 * float(np.log(prior).sum()) - 0.5 * logdet
    )
    return _Fit(x, np.asarray(np.linalg.inv(hessian), dtype=np.float64), evidence, expected, prior)


def _refined(design: Floats, score: Floats, weight: Floats, start: _Fit) -> _Fit:
    """Return mean and covariance of the posterior by expectation propagation from its mode, all matches side by side.

    What a match says of its odds is replaced by a normal factor (precision, precision times mean) that has the moments
    of the true one beside all other factors; the moments are sums over `NODES`.
    """
    if not len(score):
        return start
    expected, prior = start.expected, start.prior
    odds = design @ start.centre
    p = 1 / (1 + np.exp(-np.clip(odds, -35, 35)))
    precision = weight * p * (1 - p)
    pull = precision * odds + weight * (score - p)
    turn = 0
    while True:
        turn += 1
        hessian = (design.T * precision) @ design + np.diag(1 / prior)
        covariance = np.linalg.inv(hessian)
        mean = covariance @ (expected / prior + design.T @ pull)
        variance = ((design @ covariance) * design).sum(axis=1)
        own = np.maximum(1 / variance - precision, 1e-9)
        centre = ((design @ mean) / variance - pull) / own
        at = centre[:, None] + NODES / np.sqrt(own)[:, None]
        log = weight[:, None] * (score[:, None] * at - np.logaddexp(0, at))
        mass = np.exp(log) * MASSES
        total = mass.sum(axis=1)
        mass /= total[:, None]
        moment = (mass * at).sum(axis=1)
        spread = (mass * (at - moment[:, None]) ** 2).sum(axis=1)
        sharper = np.maximum(1 / spread - own, 1e-9)
        pulled = moment / spread - centre * own
        moved = np.abs(sharper - precision).max() + np.abs(pulled - pull).max()
        if moved < SETTLED or turn == TURNS:
            break
        precision, pull = precision + DAMPING * (sharper - precision), pull + DAMPING * (pulled - pull)
    told = np.log(total) + 0.5 * np.log1p(precision / own)
    told += 0.5 * centre**2 * own - 0.5 * (centre * own + pull) ** 2 / (own + precision)
    evidence = float(told.sum()) - 0.5 * float(np.log(prior).sum()) - 0.5 * float(np.linalg.slogdet(hessian)[1])
    evidence += 0.5 * float(mean @ hessian @ mean) - 0.5 * float((expected**2 / prior).sum())
    return _Fit(mean, np.asarray(covariance, dtype=np.float64), evidence, expected, prior)


def _standardised(n: int, reviews: Sequence[float | None] | None) -> Floats:
    """Return reviews with mean 0 and standard deviation 1; who has none is average."""
    known = [value for value in reviews or [] if value is not None]
    if len(known) < 2 or np.std(known) == 0:
        return np.zeros(n)
    mean, sd = float(np.mean(known)), float(np.std(known))
    return np.array([0.0 if value is None else (value - mean) / sd for value in reviews or []])


def cannot_be_told_apart(
    ratings: Ratings, *, level: float = 0.9, among: Collection[int] | None = None
) -> list[list[int]]:
    """Return the ideas (or those `among` them) in order, in groups that may be equal to the first of each."""
    order = [int(at) for at in np.argsort(-ratings.mean, kind="stable") if among is None or int(at) in among]
    groups: list[list[int]] = []
    while order:
        weights = np.vstack([between(order[0], other, len(ratings.mean)) for other in order])
        below = ratings.limits(weights, level)[1:, 0] > 0
        size = 1 + (int(below.argmax()) if below.any() else len(below))
        groups.append(order[:size])
        order = order[size:]
    return groups


def between(one: int, other: int, n: int) -> Floats:
    """Return (1, n): the weights of the difference of two strengths."""
    weights = np.zeros((1, n))
    weights[0, one], weights[0, other] = 1, -1
    return weights
