"""Every signal of a query against all episodes, and the order that follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from engine.memory.cues import Cues, entity_key
from engine.memory.index import LENGTH_POWER, EpisodeIndex
from engine.memory.relevance import WEIGHTS, base_score, relevance

if TYPE_CHECKING:
    import numpy as np

PER_SIGNAL = 200
"""Candidates that each of words, names and similarity may bring."""
COMMON_SHARE = 0.01
COMMON_FROM = 2_000
"""In memories this large a fingerprint in more than `COMMON_SHARE` of the episodes scores but brings no candidate."""
PAIR_WORTH = 0.2
TRIPLE_WORTH = 0.13
"""What a shared pair or triple of words adds beside its words, by its rarity."""
LEADERS = 3
"""Best hits whose line of work counts for other episodes."""
LEADER_TEMPERATURE = 0.15
LEAST_LEADER = 0.02
RELATED_POOL = 200
"""Episodes looked at for belonging to the leaders' line of work."""


@dataclass(slots=True)
class Ranked:
    """Candidates with their signals; all arrays have the same length, best first by `relevance`."""

    rows: np.ndarray
    fingerprint: np.ndarray
    tools: np.ndarray
    domains: np.ndarray
    entities: np.ndarray
    semantic: np.ndarray
    """Cosine, NaN where there is no vector."""
    alone: np.ndarray
    """Relevance of each episode by itself."""
    relevance: np.ndarray
    """The same, raised for episodes of the same line of work as the best hits."""


def rank(index: EpisodeIndex, cues: Cues, vector: np.ndarray | None, *, success: bool | None = None) -> Ranked:
    """Return the candidates of every signal in the order of their relevance.

    Args:
        index: the episodes.
        cues: the query, understood.
        vector: the query's unit vector, or None to go by the other signals.
        success: only analyses that succeeded (True) or failed (False).
    """
    import numpy as np

    wanted = index.alive if success is None else index.alive & (index.success == success)
    words, rare_words = _word_scores(index, cues)
    entities = _entity_scores(index, cues)
    sources = [_best_of(rare_words, wanted)]
    if entities is not None:
        sources.append(_best_of(entities, wanted))
    if vector is not None:
        near = index.nearest.best(vector, PER_SIGNAL if success is None else 4 * PER_SIGNAL)
        sources.append(near[wanted[near]])
    rows = np.unique(np.concatenate(sources)).astype(np.int64)
    found = _signals(index, cues, vector, rows, words, entities)
    if not len(rows):
        return _ordered(index, found, found.scores)
    best, weights = _leaders(found.scores)
    leaders = rows[best]
    more = _same_entities(index, leaders, rows, wanted)
    if len(more):
        found = found.joined(_signals(index, cues, vector, more, words, entities))
    return _ordered(index, found, found.scores + _kinship(index, leaders, weights, found.rows))


@dataclass(slots=True)
class _Signals:
    """Signals of some rows, in arrays of equal length, and the score that follows from them."""

    rows: np.ndarray
    fingerprint: np.ndarray
    tools: np.ndarray
    domains: np.ndarray
    entities: np.ndarray
    semantic: np.ndarray
    scores: np.ndarray

    def joined(self, other: _Signals) -> _Signals:
        """Return the rows of both."""
        import numpy as np

        return _Signals(*(np.concatenate((getattr(self, f.name), getattr(other, f.name))) for f in fields(self)))


def _ordered(index: EpisodeIndex, found: _Signals, raised: np.ndarray) -> Ranked:
    import numpy as np

    fits = relevance(raised, index.living)
    order = np.argsort(-fits, kind="stable")
    return Ranked(
        rows=found.rows[order],
        fingerprint=found.fingerprint[order],
        tools=found.tools[order],
        domains=found.domains[order],
        entities=found.entities[order],
        semantic=found.semantic[order],
        alone=relevance(found.scores, index.living)[order],
        relevance=fits[order],
    )


def _word_scores(index: EpisodeIndex, cues: Cues) -> tuple[np.ndarray, np.ndarray]:
    """Return by row the share of the query's words (by rarity) that it has, from all words and from rare ones."""
    import numpy as np

    total = index.living
    scores = np.zeros(len(index), dtype=np.float32)
    if not len(cues.unigrams) or not total:
        return scores, scores
    common = COMMON_SHARE * total if total >= COMMON_FROM else float("inf")
    keys = np.concatenate((cues.unigrams, cues.pairs, cues.triples))
    found = index.text.find(keys)
    rarity = np.log1p((np.maximum(total - found.counts, 0) + 0.5) / (found.counts + 0.5))
    whole = max(1e-9, float(rarity[: len(cues.unigrams)].sum()))
    worth = np.repeat([1.0, PAIR_WORTH, TRIPLE_WORTH], [len(cues.unigrams), len(cues.pairs), len(cues.triples)])
    factors = worth * rarity * index.usual_words**LENGTH_POWER / whole
    rare = found.counts <= common
    found.add_up(factors * rare, scores)
    rare_scores = scores.copy()
    if not rare.all():
        found.add_up(factors * ~rare, scores)
    return np.minimum(scores * index.short, 1.0), rare_scores


def _entity_scores(index: EpisodeIndex, cues: Cues) -> np.ndarray | None:
    """Return by row the share of the query's entities that it has; None when the query names none."""
    # An identifier nobody remembers counts in the whole: an episode that has the rest has not all.
    names = {entity_key(name) for name in [*cues.identifiers, *cues.entities]} | set(cues.entities.values())
    if not names:
        return None
    return _share(index, names)


def _share(index: EpisodeIndex, keys: Iterable[int]) -> np.ndarray:
    """Return by row the share of the keys of names that it has."""
    import numpy as np

    chosen = np.array(sorted(set(keys)), dtype=np.uint64)
    return np.minimum(_sums(index, chosen, np.full(len(chosen), 1.0 / len(chosen), dtype=np.float32)), 1.0)


def _sums(index: EpisodeIndex, keys: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return by row the sum of factor x weight over the keys of names that it has, float32."""
    import numpy as np

    scores = np.zeros(len(index), dtype=np.float32)
    index.names.add_up(keys, factors, scores)
    return scores


def _best_of(scores: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the rows that are wanted and score above 0, the best `PER_SIGNAL` of them."""
    import numpy as np

    rows = np.flatnonzero((scores > 0) & wanted)
    if len(rows) > PER_SIGNAL:
        rows = rows[np.argpartition(scores[rows], -PER_SIGNAL)[-PER_SIGNAL:]]
    return rows


def _signals(
    index: EpisodeIndex,
    cues: Cues,
    vector: np.ndarray | None,
    rows: np.ndarray,
    words: np.ndarray,
    entities: np.ndarray | None,
) -> _Signals:
    import numpy as np

    nothing = np.zeros(len(rows), dtype=np.float32)
    tools = _share(index, cues.tools.values())[rows] if cues.tools else nothing
    domains = _share(index, cues.domains.values())[rows] if cues.domains else nothing
    named = entities[rows] if entities is not None else nothing
    semantic = np.full(len(rows), np.nan, dtype=np.float32)
    if vector is not None:
        semantic = index.nearest.scores(vector, rows)
    scores = base_score(
        words[rows],
        tools,
        domains,
        named,
        semantic,
        mean_semantic=index.nearest.mean_score(vector) if vector is not None else 0.0,
        stranger=_strangers(index, cues)[rows] if cues.identifiers else nothing,
    )
    return _Signals(rows, words[rows], tools, domains, named, semantic, scores)


def _strangers(index: EpisodeIndex, cues: Cues) -> np.ndarray:
    """Return by row 1 where none of the query's identifiers is mentioned, else 0."""
    import numpy as np

    keys = np.array(sorted(set(cues.identifiers.values())), dtype=np.uint64)
    seen = np.zeros(len(index), dtype=np.float32)
    index.text.add_up(keys, np.ones(len(keys), dtype=np.float32), seen)
    return (seen == 0).astype(np.float32)


def _leaders(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the best scores and how much each counts (summing to 1)."""
    import numpy as np

    best = np.argsort(-scores, kind="stable")[:LEADERS]
    weight = np.exp((scores[best] - scores[best[0]]) / LEADER_TEMPERATURE)
    return best, weight / weight.sum()


def _kinship(index: EpisodeIndex, leaders: np.ndarray, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return what each row gains for sharing domains and entities with the leaders (row numbers)."""
    import numpy as np

    gains = np.zeros(len(rows), dtype=np.float64)
    breadth = index.breadth[rows]
    for leader, weight in zip(leaders.tolist(), weights.tolist(), strict=True):
        if weight < LEAST_LEADER:
            continue
        domains = np.array(index.domains_of[leader], dtype=np.uint64)
        common = _sums(index, domains, np.ones(len(domains), dtype=np.float32))[rows]
        alike = common / np.maximum(1.0, len(domains) + breadth - common)
        entities = np.array(index.entities_of[leader], dtype=np.uint64)
        shared = np.minimum(1.0, _sums(index, entities, _rarity(index, entities))[rows])
        # Belonging to itself is no reason; its own rank stands.
        gains += weight * (rows != leader) * (WEIGHTS.kin_domains * alike + WEIGHTS.kin_entities * shared)
    return gains


def _rarity(index: EpisodeIndex, keys: np.ndarray) -> np.ndarray:
    """Return for each entity how much sharing it says, 0 to about 0.8 for one that two episodes have."""
    import numpy as np

    total = max(2, index.living)
    counts = index.names.counts(keys)
    return np.log1p((np.maximum(total - counts, 0) + 0.5) / (counts + 0.5)) / (1.28 * math.log1p(total))


def _same_entities(index: EpisodeIndex, leaders: np.ndarray, rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return rows outside `rows` that share an uncommon entity with the leaders, the newest of them."""
    import numpy as np

    keys = np.array(sorted({key for row in leaders.tolist() for key in index.entities_of[row]}), dtype=np.uint64)
    few = index.names.counts(keys) <= max(RELATED_POOL, COMMON_SHARE * index.living)
    found = index.names.rows(keys[few]).astype(np.int64)
    return np.setdiff1d(found[wanted[found]], rows, assume_unique=True)[-RELATED_POOL:]
