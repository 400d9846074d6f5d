"""Every signal of a query against all episodes, and the order that follows from them."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from engine.memory.cues import Cues, entity_key
from engine.memory.index import LENGTH_POWER, EpisodeIndex
from engine.memory.postings import Totals, distinct
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

    wanted = _wanted(index, success=success)
    asked = _Asked(index, cues, vector)
    sources = [_best_of(asked.rare_words, wanted)]
    if asked.entities is not None:
        sources.append(_best_of(asked.entities, wanted))
    near, cosines = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    if vector is not None:
        near, cosines = index.nearest.search(vector, PER_SIGNAL if success is None else 4 * PER_SIGNAL)
        if wanted is not None:
            near, cosines = near[wanted[near]], cosines[wanted[near]]
        sources.append(near)
    rows = distinct(np.concatenate(sources).astype(np.int64))
    found = asked.signals(rows, near, cosines)
    if not len(rows):
        return _ordered(index, found, found.scores)
    best, weights = _leaders(found.scores)
    kin = _Kin(index, rows[best].tolist(), weights.tolist())
    more = kin.with_same_entities(rows, wanted)
    if len(more):
        found = found.joined(asked.signals(more, near[:0], cosines[:0]))
    return _ordered(index, found, found.scores + kin.gains(found.rows))


def _wanted(index: EpisodeIndex, *, success: bool | None) -> np.ndarray | None:
    """Return by row whether it may be recalled; None where all may."""
    if success is not None:
        return index.alive & (index.success == success)
    return None if index.living == len(index) else index.alive


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
        alone=relevance(found.scores[order], index.living),
        relevance=fits[order],
    )


class _Asked:
    """A query, looked up in the index.

    Only rows that bring a candidate are summed up over all postings; everything else is asked of a few hundred
    candidates, so that the time hardly grows with the memory.
    """

    def __init__(self, index: EpisodeIndex, cues: Cues, vector: np.ndarray | None) -> None:
        import numpy as np

        self._index = index
        self._vector = vector
        self._hub = index.nearest.mean_score(vector) if vector is not None else 0.0
        words = np.concatenate((cues.unigrams, cues.pairs, cues.triples))
        self._words = index.text.find(words)
        self._factors, common = _word_factors(index, cues, self._words.counts)
        self.rare_words = self._words.totals(np.where(common, 0.0, self._factors))
        self._common_factors = np.where(common, self._factors, 0.0)
        self._identifiers = _which(words, cues.identifiers.values()) if cues.identifiers else None
        """Which of the words are identifiers; None when the query has none."""
        self._asked_words = common if self._identifiers is None else common | self._identifiers
        names, (entities, self._tools, self._domains) = _shares(
            # An identifier nobody remembers counts in the whole: an episode that has the rest has not all.
            {entity_key(name) for name in [*cues.identifiers, *cues.entities]} | set(cues.entities.values()),
            set(cues.tools.values()),
            set(cues.domains.values()),
        )
        self._names = index.names.find(names)
        self._asked_names = (self._tools > 0) | (self._domains > 0)
        self.entities = self._names.totals(entities) if entities.any() else None
        """Shares of the query's entities, not yet cut at 1; None when the query names none."""

    def signals(self, rows: np.ndarray, near: np.ndarray, cosines: np.ndarray) -> _Signals:
        """Return the signals of distinct ascending rows, `near` among them, whose cosines are known."""
        import numpy as np

        stranger = tools = domains = entities = np.zeros(len(rows), dtype=np.float32)
        words = self.rare_words.at(rows)
        if self._asked_words.any():
            hits = self._words.among(rows, self._asked_words)
            words += hits.sums(self._common_factors)
            if self._identifiers is not None:
                stranger = np.ones(len(rows), dtype=np.float32)
                stranger[hits.places[self._identifiers[hits.keys]]] = 0.0
        words = np.minimum(words * self._index.short[rows], 1.0)
        if self._asked_names.any():
            hits = self._names.among(rows, self._asked_names)
            tools, domains = (np.minimum(hits.sums(part), 1.0) for part in (self._tools, self._domains))
        if self.entities is not None:
            entities = np.minimum(self.entities.at(rows), 1.0)
        semantic = self._cosines(rows, near, cosines)
        scores = base_score(words, tools, domains, entities, semantic, mean_semantic=self._hub, stranger=stranger)
        return _Signals(rows, words, tools, domains, entities, semantic, scores)

    def _cosines(self, rows: np.ndarray, near: np.ndarray, cosines: np.ndarray) -> np.ndarray:
        import numpy as np

        if self._vector is None:
            return np.full(len(rows), np.nan, dtype=np.float32)
        if not len(near):
            return self._index.nearest.scores(self._vector, rows)
        found = np.empty(len(rows), dtype=np.float32)
        others = np.ones(len(rows), dtype=bool)
        places = np.searchsorted(rows, near)
        found[places] = cosines
        others[places] = False
        found[others] = self._index.nearest.scores(self._vector, rows[others])
        return found


def _shares(*kinds: set[int]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return all keys of some kinds of names and, for each kind, what each key counts: together they make 1."""
    import numpy as np

    keys = np.array([key for kind in kinds for key in sorted(kind)], dtype=np.uint64)
    factors, start = np.zeros((len(kinds), len(keys))), 0
    for number, kind in enumerate(kinds):
        factors[number, start : start + len(kind)] = 1.0 / max(1, len(kind))
        start += len(kind)
    return keys, list(factors)


def _which(keys: np.ndarray, chosen: Collection[int]) -> np.ndarray:
    """Return for each key whether it is one of those chosen."""
    import numpy as np

    wanted = set(chosen)
    return np.fromiter((key in wanted for key in keys.tolist()), dtype=bool, count=len(keys))


def _word_factors(index: EpisodeIndex, cues: Cues, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what each word, pair and triple of the query counts, and which are too common to bring candidates."""
    import numpy as np

    total = index.living
    rarity = np.log1p((np.maximum(total - counts, 0) + 0.5) / (counts + 0.5))
    whole = max(1e-9, float(rarity[: len(cues.unigrams)].sum()))
    worth = np.repeat([1.0, PAIR_WORTH, TRIPLE_WORTH], [len(cues.unigrams), len(cues.pairs), len(cues.triples)])
    common = COMMON_SHARE * total if total >= COMMON_FROM else float("inf")
    return worth * rarity * (index.usual_words**LENGTH_POWER / whole), counts > common


def _best_of(scored: Totals, wanted: np.ndarray | None) -> np.ndarray:
    """Return the rows that are wanted, the best `PER_SIGNAL` of them."""
    import numpy as np

    rows, sums = scored.rows, scored.sums
    if wanted is not None:
        keep = wanted[rows]
        rows, sums = rows[keep], sums[keep]
    return rows[np.argpartition(sums, -PER_SIGNAL)[-PER_SIGNAL:]] if len(rows) > PER_SIGNAL else rows


def _leaders(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the best scores and how much each counts (summing to 1)."""
    import numpy as np

    best = np.argsort(-scores, kind="stable")[:LEADERS]
    weight = np.exp((scores[best] - scores[best[0]]) / LEADER_TEMPERATURE)
    return best, weight / weight.sum()


class _Kin:
    """The line of work of the best hits: their domains and entities, looked up once for all of them."""

    def __init__(self, index: EpisodeIndex, leaders: list[int], weights: list[float]) -> None:
        import numpy as np

        self._index = index
        self._leaders = list(zip(leaders, weights, strict=True))
        entities = sorted({key for row in leaders for key in index.entities_of[row]})
        domains = sorted({key for row in leaders for key in index.domains_of[row]} - set(entities))
        self._place = {key: place for place, key in enumerate([*entities, *domains])}
        self._found = index.names.find(np.array([*entities, *domains], dtype=np.uint64))
        self._rarity = _rarity(index, self._found.counts)
        few = self._found.counts <= max(RELATED_POOL, COMMON_SHARE * index.living)
        few[len(entities) :] = False
        self._few_have = few

    def with_same_entities(self, rows: np.ndarray, wanted: np.ndarray | None) -> np.ndarray:
        """Return rows outside `rows` (ascending) that share an uncommon entity with the leaders, the newest of them."""
        import numpy as np

        found = self._found.rows(self._few_have).astype(np.int64)
        if wanted is not None:
            found = found[wanted[found]]
        there = rows.take(np.searchsorted(rows, found), mode="clip") == found
        return found[~there][-RELATED_POOL:]

    def gains(self, rows: np.ndarray) -> np.ndarray:
        """Return what each row gains for sharing domains and entities with the leaders."""
        import numpy as np

        gains = np.zeros(len(rows), dtype=np.float64)
        breadth = self._index.breadth[rows]
        hits = self._found.among(rows)
        for leader, weight in self._leaders:
            if weight < LEAST_LEADER:
                continue
            domains = self._only(self._index.domains_of[leader])
            common = hits.sums(domains)
            alike = common / np.maximum(1.0, domains.sum() + breadth - common)
            shared = np.minimum(1.0, hits.sums(self._only(self._index.entities_of[leader]) * self._rarity))
            # Belonging to itself is no reason; its own rank stands.
            gains += weight * (rows != leader) * (WEIGHTS.kin_domains * alike + WEIGHTS.kin_entities * shared)
        return gains

    def _only(self, keys: Collection[int]) -> np.ndarray:
        """Return 1 at the places of keys and 0 elsewhere."""
        import numpy as np

        chosen = np.zeros(len(self._place), dtype=np.float64)
        chosen[[self._place[key] for key in keys]] = 1.0
        return chosen


def _rarity(index: EpisodeIndex, counts: np.ndarray) -> np.ndarray:
    """Return for each entity how much sharing it says, 0 to about 0.8 for one that two episodes have."""
    import numpy as np

    total = max(2, index.living)
    return np.log1p((np.maximum(total - counts, 0) + 0.5) / (counts + 0.5)) / (1.28 * math.log1p(total))
