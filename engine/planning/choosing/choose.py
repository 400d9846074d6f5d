"""Which analyses a wording asks for, with probabilities: two small linear models trained on example questions.

One reads stems and pairs of stems of the masked wording, the other its embedding; either works without the other. They are
ridge classifiers (Hoerl and Kennard 1970; one column a class), their summed scores are turned into probabilities by a
temperature (Guo et al. 2017) that was fitted on writers the models had not seen. `make planner` makes the file from the
example questions beside the tools; `scripts/train_planner.py` says how.
"""

from __future__ import annotations

import functools
import logging
import math
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import resources
from typing import NamedTuple

import numpy as np

from engine.errors import ModelUnavailable
from engine.planning.choosing.wording import features, spoken, stems

_LOG = logging.getLogger(__name__)
SHIFT = 1.15
"""How much less sure than on the writers of the examples: people at work word their questions less clearly."""
FILE = "data/chooser.npz"
UNSEEN = frozenset({3, 9, 17, 20, 24, 26, 34, 38})
"""Writers who are left out when the temperatures are fitted, so that these are of people the models have not met."""
Embed = Callable[[Sequence[str]], np.ndarray]


class ChooserModel(NamedTuple):
    """The trained file, unpacked."""

    analyses: list[str]
    vocabulary: dict[str, int]
    idf: np.ndarray
    """One number a feature."""
    words: np.ndarray
    """(features, analyses)"""
    vectors: np.ndarray
    """(2 x 384, analyses): for the embeddings of the wording as typed and as masked."""
    temperature: float
    temperature_words: float
    """The same when there are no embeddings."""
    general: frozenset[str]
    """Stems that questions in general are made of."""
    own: dict[str, frozenset[str]]
    """Analysis -> stems that belong to asking for it."""
    sources: str
    """SHA-256 of the example files it was trained on."""


@functools.cache
def model() -> ChooserModel:
    """Return the trained model that ships with Biodesk."""
    with resources.files("engine.planning").joinpath(FILE).open("rb") as handle:
        stored = np.load(handle, allow_pickle=False)
        names = str(stored["features"]).split("\n")
        return ChooserModel(
            analyses=str(stored["analyses"]).split("\n"),
            vocabulary={name: at for at, name in enumerate(names)},
            idf=stored["idf"].astype(np.float32),
            words=stored["words"].astype(np.float32) * stored["words_scale"],
            vectors=stored["vectors"].astype(np.float32) * stored["vectors_scale"],
            temperature=float(stored["temperature"]),
            temperature_words=float(stored["temperature_words"]),
            general=frozenset(str(stored["general"]).split()),
            own={key: frozenset(words) for key, *words in (line.split() for line in str(stored["own"]).split("\n"))},
            sources=str(stored["sources"]),
        )


def weigh(masked: str, vocabulary: dict[str, int], idf: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (positions, values) of a wording's features: tf-idf of unit length."""
    counts = Counter(feature for feature in features(stems(masked)) if feature in vocabulary)
    if not counts:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    at = np.array([vocabulary[feature] for feature in counts], dtype=np.int64)
    values = np.array([1.0 + math.log(count) for count in counts.values()], dtype=np.float32) * idf[at]
    return at, values / np.linalg.norm(values)


class Wording(NamedTuple):
    """A wording to be judged: as typed and with its data masked."""

    text: str
    masked: str


def probabilities(wordings: Sequence[Wording], embed: Embed | None) -> list[dict[str, float]]:
    """Return, for each wording, analysis -> probability; they sum to 1.

    Args:
        wordings: what is judged; all in one call, so that the embedder runs once.
        embed: texts to unit vectors, or None to judge by the words alone.
    """
    if not wordings:
        return []
    m = model()
    scores = np.zeros((len(wordings), len(m.analyses)), dtype=np.float32)
    for row, wording in enumerate(wordings):
        for text in (wording.masked, wording.text):  # a name the reader took wrongly still speaks for itself
            at, values = weigh(text, m.vocabulary, m.idf)
            if len(at):
                scores[row] += 0.5 * (values @ m.words[at])
    temperature = m.temperature_words
    vectors = vectors_of([*(w.text for w in wordings), *(spoken(w.masked) for w in wordings)], embed)
    if vectors is not None:
        scores += np.hstack([vectors[: len(wordings)], vectors[len(wordings) :]]) @ m.vectors
        temperature = m.temperature
    weights = np.exp((scores - scores.max(axis=1, keepdims=True)) / (temperature * SHIFT))
    shares = weights / weights.sum(axis=1, keepdims=True)
    return [dict(zip(m.analyses, map(float, row), strict=True)) for row in shares]


def vectors_of(texts: Sequence[str], embed: Embed | None) -> np.ndarray | None:
    """Return the unit vectors of texts, or None where the embedding model is not there."""
    try:
        return embed(texts) if embed is not None else None
    except ModelUnavailable as err:
        _LOG.info("planning by words alone: %s", err)
        return None
