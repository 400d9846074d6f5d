"""Which hypotheses say nearly the same: by meaning where texts can be embedded, by words where not.

Two that speak of different things are not the same, however alike their sentences: those that were read from the graph
are worded by one template, and `simvastatin could be of use` is not `lovastatin could be of use`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np

from engine.domain.discovery.hypotheses import Hypothesis

Embed = Callable[[Sequence[str]], np.ndarray]
"""Texts -> rows of length 1, as `Embedder.embed`."""
_READ = 4_000
"""Characters of a hypothesis that are compared."""
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_DIFFERENT = 0.5
"""What is left of the likeness of two texts that speak of different things."""


def alike(hypotheses: Sequence[Hypothesis], embed: Embed | None, threshold: float) -> list[int]:
    """Return the cluster of each hypothesis, counted from 0 in the order of their first members.

    Every two of a cluster are at least `threshold` similar (complete linkage), so that no chain of small steps brings
    two ideas together.

    Args:
        hypotheses: what is compared.
        embed: gives unit vectors of texts; None where there is no embedder.
        threshold: similarity, 0 to 1, from which two say nearly the same.
    """
    similar = similarities(hypotheses, embed)
    members: list[list[int]] = []
    cluster: list[int] = []
    for place in range(len(hypotheses)):
        fitting = [n for n, group in enumerate(members) if min(similar[place, group]) >= threshold]
        chosen = max(fitting, key=lambda n: float(similar[place, members[n]].mean()), default=len(members))
        if chosen == len(members):
            members.append([])
        members[chosen].append(place)
        cluster.append(chosen)
    return cluster


def duplicates(hypotheses: Sequence[Hypothesis], embed: Embed | None, threshold: float) -> dict[str, str]:
    """Return the id of each that says what an earlier one says -> the id of that one."""
    first: dict[int, str] = {}
    found: dict[str, str] = {}
    for one, cluster in zip(hypotheses, alike(hypotheses, embed, threshold), strict=True):
        if cluster in first:
            found[one.id] = first[cluster]
        else:
            first[cluster] = one.id
    return found


def similarities(hypotheses: Sequence[Hypothesis], embed: Embed | None) -> np.ndarray:
    """Return how similar each two are, (n, n) from 0 to 1, 1 for a hypothesis with itself."""
    n = len(hypotheses)
    if not n:
        return np.zeros((0, 0))
    texts = [one.text[:_READ] for one in hypotheses]
    if embed is not None:
        vectors = np.asarray(embed(texts), dtype=float)
        text = np.clip(vectors @ vectors.T, 0.0, 1.0)
    else:
        text = _by_words(texts)
    speaks_of = [frozenset(one.entities[:2]) for one in hypotheses]
    for a in range(n):
        for b in range(a):
            if speaks_of[a] and speaks_of[b] and speaks_of[a] != speaks_of[b]:
                text[a, b] *= _DIFFERENT
                text[b, a] = text[a, b]
    np.fill_diagonal(text, 1.0)
    return text


def _by_words(texts: Sequence[str]) -> np.ndarray:
    """Return the cosines of the texts' words, each weighed less the more texts have it."""
    counted = [Counter(word.casefold() for word in _WORD.findall(text)) for text in texts]
    within = Counter(word for words in counted for word in words)
    n = len(texts)
    weights = {word: 1.0 + np.log(n / times) for word, times in within.items()}
    norms = [sqrt(sum((weights[w] * k) ** 2 for w, k in words.items())) for words in counted]
    found = np.zeros((n, n))
    for a in range(n):
        for b in range(a + 1):
            shared = counted[a].keys() & counted[b].keys()
            dot = sum(counted[a][w] * counted[b][w] * weights[w] ** 2 for w in shared)
            found[a, b] = found[b, a] = dot / (norms[a] * norms[b]) if norms[a] and norms[b] else 0.0
    return np.clip(found, 0.0, 1.0)
