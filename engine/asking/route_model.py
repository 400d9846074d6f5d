"""How likely each strategy is for a wording, and which fields of biology it is of: linear models over example tasks.

Each example of `data/routes.tsv` is a task somebody could give, with the strategy that serves it, its field and the
style it is written in. Two multinomial logistic regressions were fitted to them: one over words, shape and the sentence
vector, one over words and shape alone, for where no vectors are. Their temperatures (Guo et al. 2017) were fitted on
styles that the models had not seen. `make router` makes the file; `scripts/train_router.py` says how.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import NamedTuple

import numpy as np

from engine.domain.encoding.hashing import sha256_text
from engine.planning.choosing.choose import Embed, vectors_of
from engine.planning.choosing.wording import features, stems

EXAMPLES, FILE = "data/routes.tsv", "data/routes.npz"
_FILE_NAME = re.compile(r"\b[\w-]+\.[A-Za-z][A-Za-z0-9]{1,5}(?:\.gz)?\b")
_SHORTER, _LONGEST, _MARKS = 6, 6, 3
"""Words in a step of length, the last such step, and so many marks that part a list count."""


class ExampleTask(NamedTuple):
    """A task with the strategy that serves it."""

    strategy: str
    field: str
    """The field of biology, "" for any."""
    style: str
    """How it is written: what is fitted is tried on a style left out."""
    task: str


class Weights(NamedTuple):
    """A linear model of the strategies."""

    words: np.ndarray
    """(features, strategies)"""
    vectors: np.ndarray
    """(384, strategies); zeros where it reads no vectors."""
    bias: np.ndarray
    temperature: float


class RouteModel(NamedTuple):
    """The trained file, unpacked."""

    strategies: list[str]
    fields: list[str]
    vocabulary: dict[str, int]
    idf: np.ndarray
    both: Weights
    alone: Weights
    """For where there are no vectors."""
    of_field: np.ndarray
    """(385, fields): for the sentence vector and 1."""
    sources: str
    """SHA-256 of the examples it was trained on."""


class Shares(NamedTuple):
    """What a wording is likely to ask for; both sum to 1."""

    strategies: dict[str, float]
    fields: dict[str, float]
    """Empty where there are no vectors; "" is no field in particular."""


def examples() -> Iterator[ExampleTask]:
    """Yield the example tasks."""
    _, *lines = _example_text().splitlines()
    for line in lines:
        yield ExampleTask(*line.split("\t"))


def sources_hash() -> str:
    """Return the SHA-256 of the examples."""
    return sha256_text(_example_text())


def _example_text() -> str:
    return resources.files("engine.asking").joinpath(EXAMPLES).read_text(encoding="utf-8")


@functools.cache
def model() -> RouteModel:
    """Return the trained model that ships with Biodesk."""
    with resources.files("engine.asking").joinpath(FILE).open("rb") as handle:
        stored = np.load(handle, allow_pickle=False)

        def weights(name: str) -> Weights:
            parts = (stored[f"{name}_{part}"].astype(np.float32) for part in ("words", "vectors", "bias"))
            return Weights(*parts, temperature=float(stored[f"{name}_temperature"]))

        names = str(stored["features"]).split("\n")
        return RouteModel(
            strategies=str(stored["strategies"]).split("\n"),
            fields=str(stored["fields"]).split("\n"),
            vocabulary={name: at for at, name in enumerate(names)},
            idf=stored["idf"].astype(np.float32),
            both=weights("both"),
            alone=weights("alone"),
            of_field=stored["of_field"].astype(np.float32),
            sources=str(stored["sources"]),
        )


def described(task: str) -> list[str]:
    """Return what a task is made of: its stems and their pairs, how it begins and ends, and its shape.

    A file's name counts as a file, whatever it is called; the shape is length, whether it asks, and how much it lists.
    """
    words = stems(_FILE_NAME.sub(" FILE ", task))
    if not words:
        return []
    ends = [f"^{words[0]}", f"^{' '.join(words[:2])}", f"{words[-1]}$"]
    marks = sum(map(task.count, ",;:"))
    shape = [f"#{min(len(words) // _SHORTER, _LONGEST)}", f"?{'?' in task}", f",{min(marks, _MARKS)}"]
    return [*features(words), *ends, *shape]


def weigh(task: str, vocabulary: dict[str, int], idf: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (positions, values) of a task's features: tf-idf of unit length."""
    counts = Counter(name for name in described(task) if name in vocabulary)
    at = np.array([vocabulary[name] for name in counts], dtype=np.int64)
    values = np.array([1.0 + math.log(count) for count in counts.values()], dtype=np.float32) * idf[at]
    return at, values / max(float(np.linalg.norm(values)), 1e-9)


def shares(task: str, embed: Embed | None) -> Shares:
    """Return how likely each strategy and each field is for a task, by its wording alone."""
    m = model()
    vectors = vectors_of([task], embed)
    weights = m.alone if vectors is None else m.both
    at, values = weigh(task, m.vocabulary, m.idf)
    scores = values @ weights.words[at] + weights.bias
    if vectors is None:
        return Shares(_of(m.strategies, scores / weights.temperature), {})
    scores = scores + vectors[0] @ weights.vectors
    of_field = np.append(vectors[0], 1.0) @ m.of_field
    return Shares(_of(m.strategies, scores / weights.temperature), _of(m.fields, of_field))


def _of(names: Sequence[str], scores: np.ndarray) -> dict[str, float]:
    """Return the probabilities of scores on the logit scale."""
    raised = np.exp(scores - scores.max())
    return dict(zip(names, map(float, raised / raised.sum()), strict=True))
