"""How probable an edge is by the degrees of its ends alone: what a graph with shuffled edges would hold.

Shuffling keeps every node's degree and loses what the edges meant. The share of shuffled graphs in which two nodes are
joined is, while no node has most of the edges, near the closed form `uv / sqrt((uv)^2 + (m - u - v + 1)^2)` for
degrees u and v among m edges.

Source: Zietz M, Himmelstein DS et al (2024) GigaScience 13:giae001 (the edge prior and its closed form).
"""

from __future__ import annotations

import numpy as np

SMALLEST = 0.5
"""Added to both degrees: a node that has no edge yet may get one."""


def edge_prior(u: np.ndarray, v: np.ndarray, edges: int) -> np.ndarray:
    """Return the probabilities of edges between nodes of degrees u and v, among so many edges of the type."""
    both = np.asarray(u, dtype=np.float64) * v
    rest = np.maximum(edges - np.asarray(u, dtype=np.float64) - v + 1, 0)
    return both / np.maximum(np.sqrt(both**2 + rest**2), 1e-12)


def prior_log_odds(u: np.ndarray, v: np.ndarray, edges: int) -> np.ndarray:
    """Return the log odds of the prior, with half an edge more at both ends."""
    chance = np.clip(edge_prior(np.asarray(u) + SMALLEST, np.asarray(v) + SMALLEST, edges + 1), 1e-9, 1 - 1e-9)
    return np.log(chance / (1 - chance))
