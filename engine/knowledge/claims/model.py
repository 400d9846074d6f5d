"""The trained models that read masked clauses: which relation with whom acting, and whether it is asserted.

Both are softmax regressions over stems and pairs of stems (see `features`). The relation's has one set of weights for
both orders of a pair, so that `A inhibits B` is learnt with `B is inhibited by A`, and its answers are limited to what
can hold between the two types. `scripts/train_claims.py` fits them from the sentences in `data/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from engine.domain.knowledge import SYMMETRIC, EdgeType, NodeType
from engine.knowledge.claims.features import FIRST, SECOND, relation_features, stance_features, without_loss
from engine.knowledge.claims.relations import COLUMN, OPPOSITE, family, possible

FILE = Path(__file__).parent / "data" / "models.npz"
STANCES = ("asserted", "denied", "unknown", "none")


@dataclass(frozen=True, slots=True)
class RelationReading:
    """A relation that a clause may state of its two entities, with its probability."""

    relation: EdgeType
    subject: str
    """The mask of the entity that acts."""
    p: float


@dataclass(frozen=True, slots=True)
class Softmax:
    """A linear model over named features; the last row of `weights` (features + 1 x classes) is the bias."""

    columns: dict[str, int]
    weights: np.ndarray

    def logits(self, features: Iterable[str]) -> np.ndarray:
        """Return one number for each class."""
        found = sorted({self.columns[f] for f in features if f in self.columns})
        return self.weights[found].sum(axis=0) / np.sqrt(max(1, len(found))) + self.weights[-1]


@dataclass(frozen=True, slots=True)
class ClaimModels:
    """Both models."""

    relations: Softmax
    stances: Softmax

    def relation(self, tokens: Sequence[str], first: NodeType, second: NodeType) -> list[RelationReading]:
        """Return how `@1` and `@2` may be related, likeliest first; what is missing to 1 is that they are not."""
        one, two = family(first), family(second)
        tokens, lost = without_loss(tokens, one, two)
        there = self.relations.logits(relation_features(tokens, FIRST, f"{one}>{two}"))
        back = self.relations.logits(relation_features(tokens, SECOND, f"{two}>{one}"))
        found = {(kind, FIRST): there[COLUMN[kind]] for kind in possible(first, second)}
        found |= {(kind, SECOND): back[COLUMN[kind]] for kind in possible(second, first)}
        none = (there[-1] + back[-1]) / 2
        most = max(none, *found.values(), none)
        weights = {key: float(np.exp(value - most)) for key, value in found.items()}
        total = sum(weights.values()) + float(np.exp(none - most))
        for kind, _ in found:
            if kind in SYMMETRIC and (kind, FIRST) in weights and (kind, SECOND) in weights:
                weights[kind, FIRST] += weights.pop((kind, SECOND))
        turned = {key: OPPOSITE.get(key[0], key[0]) if key[1] == lost else key[0] for key in weights}
        readings = [RelationReading(turned[key], key[1], weight / total) for key, weight in weights.items()]
        return sorted(readings, key=lambda reading: -reading.p)

    def stance(self, tokens: Sequence[str]) -> dict[str, float]:
        """Return how likely a clause asserts, denies, leaves open, or says nothing of what stands in it."""
        logits = self.stances.logits(stance_features(tokens))
        p = np.exp(logits - logits.max())
        return dict(zip(STANCES, (p / p.sum()).tolist(), strict=True))


@cache
def model() -> ClaimModels:
    """Return the trained models."""
    with np.load(FILE, allow_pickle=False) as stored:
        loaded = [
            Softmax(
                {feature: k for k, feature in enumerate(str(stored[f"{name}_names"]).split("\n"))},
                stored[f"{name}_weights"].astype(np.float32) * stored[f"{name}_scale"],
            )
            for name in ("relation", "stance")
        ]
    return ClaimModels(*loaded)
