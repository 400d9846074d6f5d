"""A model of one relation of a graph: how probable a link between two nodes is by the paths that join them.

A logistic model over degree-weighted path counts, one a metapath, and the log odds of the degrees alone. What it is
fitted to are known links, hidden in turn: the links of a fold are taken out of the graph, paths and degrees are counted
without them, and pairs that are not linked are drawn beside them. So no link is seen in its own features, nor in the
degree of its ends, and the folds that are left out tell how good the model is and set its probabilities right.

Source of the design: Himmelstein DS et al (2017) eLife 6:e26726. Hiding fold by fold, the shared products and the
calibration on what was left out are this module's own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.discovery.links.calibration import Calibration, LinkQuality, calibrate, quality_of
from engine.discovery.links.counts import DAMPING, PathCounts
from engine.discovery.links.logistic import fit_nonnegative
from engine.discovery.links.prior import prior_log_odds
from engine.discovery.links.typed import Metapath, MetaStep, TypedEdges, metapaths, turned

FOLDS = 5
LEAST_LINKS = 20
"""Fewer known links teach nothing."""
MOST_LINKS = 3000
"""Known links that are learned from at most, drawn by chance."""
MOST_COLUMNS = 400
"""Ends of the last type that are counted for while learning, drawn by chance among those with links."""
UNLINKED = 20_000
"""Pairs without a link that are drawn beside them, over all folds."""
PENALTIES = (100.0, 1000.0)
"""Penalties of the weights of standardised features that are tried."""
LEAST_SEEN = 5
"""A metapath that joins fewer hidden links teaches nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkModel:
    """A fitted model of one relation between two types."""

    relation: MetaStep
    damping: float
    paths: list[Metapath]
    """The metapaths that have a weight."""
    scales: np.ndarray
    """Mean counts by which each metapath's are divided, one a metapath."""
    weights: np.ndarray
    """Log odds per unit of `asinh(count / scale)`."""
    prior_weight: float
    intercept: float
    calibration: Calibration
    penalty: float
    quality: LinkQuality = field(repr=False)

    def scores(self, edges: TypedEdges, columns: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of all pairs: what the paths say, and what the degrees of both ends say.

        Args:
            edges: the graph.
            columns: places, among the nodes of the last type, of those that are wanted; all when None.

        Returns:
            Two matrices, nodes of the first type by those of the last, whose sum `probability` takes. A pair that is
            linked already is scored as well, with its own link counted in its degrees.
        """
        degrees = self.prior_weight * pair_prior(edges, self.relation, columns)
        paths = np.zeros(degrees.shape)
        at = {path: (weight, scale) for path, weight, scale in zip(self.paths, self.weights, self.scales, strict=True)}
        for path, counts in PathCounts(edges, self.damping).all(self.paths, columns):
            weight, scale = at[path]
            some = counts.tocoo()
            paths[some.coords] += weight * np.arcsinh(some.data / scale)
        return paths, degrees

    def turned(self, edges: TypedEdges) -> LinkModel:
        """Return the same model asked from the other end: its first type is this one's last."""
        (relation,) = turned((self.relation,), edges.symmetric)
        return replace(self, relation=relation, paths=[turned(path, edges.symmetric) for path in self.paths])

    def probability(self, score: np.ndarray) -> np.ndarray:
        """Return the probability that pairs of these scores are links that the graph was not told of.

        It is the share of hidden links among pairs of such a score, at the density that known links have among all
        pairs. What share of all true links a graph lacks nobody knows, so it is no chance that a link is real.
        """
        return 1 / (1 + np.exp(-self.calibration(score + self.intercept)))


@dataclass(slots=True)
class _Sample:
    """Pairs that are learned from: rows of features, whether linked, weights, and the fold each is of."""

    features: np.ndarray
    linked: np.ndarray
    weights: np.ndarray
    folds: np.ndarray


def fit_links(
    edges: TypedEdges,
    relation: MetaStep,
    *,
    inner: Collection[int] | None = None,
    damping: float = DAMPING,
    seed: int = 0,
) -> LinkModel | None:
    """Fit a model of a relation to a graph's known links; None when there are fewer than 20 of them.

    Args:
        edges: the graph.
        relation: the step that the links are.
        inner: codes of the node types that paths may pass; all when None.
        damping: how strongly degrees lower a path.
        seed: of every draw.
    """
    from threadpoolctl import threadpool_limits

    chance = np.random.default_rng(seed)
    heads, tails = edges.matrix(relation).nonzero()
    columns = np.unique(tails)
    if len(columns) > MOST_COLUMNS:
        columns = np.sort(chance.choice(columns, MOST_COLUMNS, replace=False))
    known = np.stack([heads, tails])[:, np.isin(tails, columns)]
    if known.shape[1] < LEAST_LINKS:
        return None
    known = known[:, chance.permutation(known.shape[1])[:MOST_LINKS]]
    # One end's type may have nodes that no link was ever known of; unlinked pairs are drawn among all of them.
    everywhere = columns if len(columns) == MOST_COLUMNS else np.arange(edges.matrix(relation).shape[1])
    paths = metapaths(edges, relation.start, relation.end, inner=inner)
    with threadpool_limits(1):  # of so small a product threads wait for each other, computing all the while
        sample = _sampled(edges, relation, paths, known, everywhere, damping, chance)
        return _fitted(relation, paths, sample, damping)


def _sampled(
    edges: TypedEdges,
    relation: MetaStep,
    paths: Sequence[Metapath],
    known: np.ndarray,
    columns: np.ndarray,
    damping: float,
    chance: np.random.Generator,
) -> _Sample:
    """Count paths of hidden links and of unlinked pairs, fold by fold."""
    known_links = int(edges.matrix(relation).nnz)
    linked = _linked(edges, relation, columns)
    free = linked.size - int(linked.sum())
    first, last = edges.members(relation.start), edges.members(relation.end)
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # features, linked, weights
    for fold in range(FOLDS):
        hidden = known[:, fold::FOLDS]
        unlinked = _drawn(linked, UNLINKED // FOLDS, chance)
        rows = np.concatenate([hidden[0], unlinked[0]])
        places = np.concatenate([np.searchsorted(columns, hidden[1]), unlinked[1]])
        left = edges.without(first[hidden[0]], last[hidden[1]], relation.edge)
        prior = pair_prior(left, relation, columns)[rows, places]
        counts = {
            path: np.asarray(made[rows, places]).ravel() for path, made in PathCounts(left, damping).all(paths, columns)
        }
        features = np.stack([prior, *(counts[path] for path in paths)], axis=1)
        share = known.shape[1] / known_links  # of the links only some may be learned from
        weight = np.r_[np.ones(hidden.shape[1]), np.full(unlinked.shape[1], share * free / UNLINKED)]
        parts.append((features, np.r_[np.ones(hidden.shape[1]), np.zeros(unlinked.shape[1])], weight))
    folds = np.repeat(np.arange(FOLDS), [len(part[1]) for part in parts])
    features, labels, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Sample(features, labels, weights, folds)


def _fitted(relation: MetaStep, paths: list[Metapath], sample: _Sample, damping: float) -> LinkModel:
    """Choose the penalty by what was left out, fit to all, and set the probabilities right."""
    counts = sample.features[:, 1:]
    scales = np.average(counts, axis=0, weights=sample.weights)
    seen = (counts[sample.linked > 0] > 0).sum(axis=0) >= LEAST_SEEN
    seen &= scales > 0
    paths = [path for path, there in zip(paths, seen, strict=True) if there]
    scales = scales[seen]
    features = np.column_stack([sample.features[:, 0], np.arcsinh(counts[:, seen] / scales)])
    middle, spread = features.mean(axis=0), features.std(axis=0)
    spread[spread == 0] = 1.0
    standard = (features - middle) / spread
    tried = {penalty: _left_out(standard, sample, penalty) for penalty in PENALTIES}
    penalty = min(tried, key=lambda one: _loss(tried[one], sample))
    weights, intercept = fit_nonnegative(standard, sample.linked, sample.weights, penalty)
    calibration = calibrate(tried[penalty], sample.linked, sample.weights)
    weights = weights / spread
    used = weights[1:] > 0
    return LinkModel(
        relation=relation,
        damping=damping,
        paths=[path for path, kept in zip(paths, used, strict=True) if kept],
        scales=scales[used],
        weights=weights[1:][used],
        prior_weight=float(weights[0]),
        intercept=float(intercept - weights @ middle),
        calibration=calibration,
        penalty=penalty,
        quality=quality_of(calibration(tried[penalty]), sample.features[:, 0], sample.linked, sample.weights),
    )


def _left_out(standard: np.ndarray, sample: _Sample, penalty: float) -> np.ndarray:
    """Return the log odds of every pair by a model that did not see its fold."""
    told = np.empty(len(standard))
    for fold in range(FOLDS):
        out = sample.folds == fold
        weights, intercept = fit_nonnegative(standard[~out], sample.linked[~out], sample.weights[~out], penalty)
        told[out] = standard[out] @ weights + intercept
    return told


def _loss(log_odds: np.ndarray, sample: _Sample) -> float:
    signs = np.where(sample.linked > 0, 1.0, -1.0)
    return float(np.average(np.logaddexp(0, -signs * log_odds), weights=sample.weights))


def pair_prior(edges: TypedEdges, relation: MetaStep, columns: np.ndarray | None) -> np.ndarray:
    """Return the log odds of a link by the degrees of its ends, for all pairs."""
    matrix = edges.matrix(relation)
    firsts = np.bincount(matrix.nonzero()[0], minlength=matrix.shape[0])
    lasts = np.bincount(matrix.nonzero()[1], minlength=matrix.shape[1])
    lasts = lasts if columns is None else lasts[columns]
    return prior_log_odds(firsts[:, None], lasts[None, :], matrix.nnz)


def _linked(edges: TypedEdges, relation: MetaStep, columns: np.ndarray) -> np.ndarray:
    """Return which pairs are linked, or are a node and itself (bool, nodes of the first type by columns)."""
    linked = edges.matrix(relation)[:, columns].toarray() > 0
    if relation.start == relation.end:
        linked[columns, np.arange(len(columns))] = True
    return linked


def _drawn(linked: np.ndarray, count: int, chance: np.random.Generator) -> np.ndarray:
    """Return pairs that are not linked, drawn evenly, as two rows of places."""
    drawn = np.empty((2, 0), dtype=np.int64)
    while drawn.shape[1] < count:
        some = np.stack([chance.integers(0, side, 2 * count) for side in linked.shape])
        drawn = np.concatenate([drawn, some[:, ~linked[some[0], some[1]]]], axis=1)
    return drawn[:, :count]
