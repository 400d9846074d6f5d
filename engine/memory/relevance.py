"""From signals to one relevance, and the gate that lets nothing through when nothing fits.

The weights and the gate were fitted on graded queries over past analyses (`benchmarks/bench_recall.py` prints what
they give): topics, paraphrases without shared words, bare identifiers, and questions near the topics on
which nothing is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal adds to an episode's score."""

    fingerprint: float = 0.7
    fingerprint_power: float = 1.3
    """Above 1, because sharing a tenth of a query's words happens by chance far more than a tenth as often as
    sharing all."""
    hub: float = 0.5
    """Share of a query's mean similarity to all episodes that is taken off: some queries are near everything."""
    without_vector: float = 0.23
    """What stands in for similarity where there is no vector: that of a nearly unrelated text."""
    entities: float = 0.2
    stranger: float = 0.08
    """Taken off when the query names identifiers and the episode mentions none of them."""
    tools: float = 0.08
    domains: float = 0.04
    kin_domains: float = 0.13
    kin_entities: float = 0.22
    """For belonging to the same line of work as the best hits."""
    age: float = 0.02
    """Most that age takes off, in the order of what passed only."""
    pin: float = 0.05
    """What a pin adds, in the order of what passed only."""


WEIGHTS = Weights()

GATE = 0.33
"""The score, in a memory of a hundred episodes, at which one in four episodes is worth telling of."""
STEEPNESS = 8.0
_LOGIT_AT_GATE = -1.0986
"""logit(0.25)."""
CHANCE_PER_DOUBLING = 0.025
"""How much nearer the best of unrelated episodes comes with every doubling of their number; 0.03 was measured from
28 to 110 episodes, and the growth levels off."""
HALF_LIFE_DAYS = 365.0


def base_score(
    fingerprint: np.ndarray,
    tools: np.ndarray,
    domains: np.ndarray,
    entities: np.ndarray,
    semantic: np.ndarray,
    *,
    mean_semantic: float,
    stranger: np.ndarray,
    weights: Weights = WEIGHTS,
) -> np.ndarray:
    """Return scores from signals (arrays of equal length, 0 to 1; `semantic` NaN where there is no vector)."""
    import numpy as np

    near = semantic - weights.hub * mean_semantic
    return (
        np.where(np.isnan(semantic), weights.without_vector, near)
        + weights.fingerprint * fingerprint**weights.fingerprint_power
        + weights.entities * entities
        + weights.tools * tools
        + weights.domains * domains
        - weights.stranger * stranger
    )


def relevance(score: np.ndarray, episodes: int) -> np.ndarray:
    """Return 0 to 1 for scores in a memory of so many episodes.

    The best of many unrelated episodes comes nearer by chance than the best of few, so a larger memory asks
    for a higher score; the logistic curve is 0.25 at the gate.
    """
    import numpy as np

    chance = float(np.clip(CHANCE_PER_DOUBLING * np.log2(max(episodes, 1) / 100), -0.06, 0.12))
    return 1.0 / (1.0 + np.exp(-(STEEPNESS * (score - GATE - chance) + _LOGIT_AT_GATE)))


def age_share(days: np.ndarray) -> np.ndarray:
    """Return 0 for now to 1 for long ago: half at a year; 0 where the age is not known."""
    import numpy as np

    known = np.nan_to_num(np.maximum(days, 0.0), nan=0.0)
    return 1.0 - 0.5 ** (known / HALF_LIFE_DAYS)
