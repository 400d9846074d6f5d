"""Trains the chooser from the example questions beside the tools and writes `engine/planning/data/chooser.npz`.

    python scripts/train_planner.py            # what `make planner` runs; three minutes
    python scripts/train_planner.py --judge    # only says how well unseen writers are understood

Every example enters masked and once more with its data partly unmasked or mistaken, as the reader will sometimes see
them. The temperatures are fitted on predictions for writers whom a model made for that did not see.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg, sparse  # noqa: TID253 - a script, run by hand

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.adapters.embedding import load_embedder
from engine.planning.choosing.choose import FILE, UNSEEN, weigh
from engine.planning.choosing.wording import spoken, vocabulary
from engine.text.tokens import tokens
from engine.toolbox.analyses import MARK, ExampleQuestion, all_examples, load_analyses, sources_hash

RIDGE_WORDS, RIDGE_VECTORS = 1.0, 0.4
RARE, RARE_PAIR = 3, 8
"""A stem and a pair of stems enter from so many texts on; an example counts twice."""
_MISTAKEN = {
    "num": "CNT",
    "cat": "BIN",
    "lev": "CAT",
    "unit": "CAT",
    "cnt": "NUM",
    "dose": "NUM",
    "time": "NUM",
    "bin": "CAT",
}


def noisy(text: str, chance: random.Random) -> str:
    """Return a wording as a reader may see it: some names not found, some taken for another kind."""

    def one(match: re.Match[str]) -> str:
        drawn = chance.random()
        kind = match[2]
        return kind.upper() if drawn < 0.45 else match[1] if drawn < 0.85 else _MISTAKEN.get(kind, kind.upper())

    return MARK.sub(one, text)


def ridge(rows: Any, labels: np.ndarray, classes: int, penalty: float) -> np.ndarray:
    """Return the weights (columns of rows x classes) of a ridge classifier; `rows` may be sparse."""
    targets = np.full((len(labels), classes), -1.0 / classes, dtype=np.float32)
    targets[np.arange(len(labels)), labels] = 1.0
    gram = rows.T @ rows
    gram = gram.toarray() if sparse.issparse(gram) else gram
    gram[np.diag_indices_from(gram)] += penalty
    return linalg.solve(gram, rows.T @ targets, assume_a="pos", overwrite_a=True, check_finite=False).astype(np.float32)


def tfidf(texts: Sequence[str], known: dict[str, int], idf: np.ndarray) -> sparse.csr_array:
    """Return the tf-idf rows of masked wordings."""
    rows = [weigh(text, known, idf) for text in texts]
    starts = np.cumsum([0, *(len(at) for at, _ in rows)])
    at, values = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    return sparse.csr_array((values.astype(np.float32), at, starts), shape=(len(texts), len(known)))


ASKING = 12
"""With so many analyses a word must occur before it counts as a word of questions in general."""
OWN = 4
"""In so many examples of an analysis a word must occur to belong to it."""


def asking_words() -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    """Return the stems that questions in general are made of, and for each analysis those that belong to it.

    Both come from the example questions: a word of asking occurs with many analyses and seldom names data.
    """
    where: dict[str, set[str]] = {}
    outside, inside = Counter[str](), Counter[str]()
    own: dict[str, Counter[str]] = {}
    for example in all_examples():
        words = {token.stem for token in tokens(MARK.sub(" ", example.text))}
        inside.update({token.stem for match in MARK.finditer(example.text) for token in tokens(match[1])})
        outside.update(words)
        own.setdefault(example.analysis, Counter()).update(words)
        for word in words:
            where.setdefault(word, set()).add(example.analysis)
    data = {word for word, times in inside.items() if times > 0.45 * (times + outside[word])}
    general = frozenset(word for word, found in where.items() if len(found) >= ASKING and word not in data)
    return general, {
        key: frozenset(w for w, n in words.items() if n >= OWN and w not in data) for key, words in own.items()
    }


class Trainer:
    """The examples as numbers."""

    def __init__(self) -> None:
        self.examples: list[ExampleQuestion] = list(all_examples())
        self.analyses = sorted(load_analyses())
        place = {name: at for at, name in enumerate(self.analyses)}
        self.labels = np.array([place[example.analysis] for example in self.examples])
        self.writers = np.array([example.writer for example in self.examples])
        chance = random.Random(20261122)  # noqa: S311 - noise for training, reproducible on purpose
        self.masked = [example.masked for example in self.examples]
        self.noisy = [noisy(example.text, chance) for example in self.examples]
        embedder = load_embedder("all-MiniLM-L6-v2")
        assert embedder is not None
        typed = embedder.embed([example.plain for example in self.examples])
        said = embedder.embed([spoken(text) for text in self.masked])
        self.vectors = np.hstack([typed, said]).astype(np.float32)

    def fit(self, chosen: np.ndarray) -> tuple[dict[str, int], np.ndarray, np.ndarray, np.ndarray]:
        """Return (vocabulary, idf, weights of words, weights of vectors) trained on some of the examples."""
        texts = [text for many in (self.masked, self.noisy) for text, use in zip(many, chosen, strict=True) if use]
        counts = vocabulary(texts)
        known = {
            name: at
            for at, name in enumerate(
                sorted(name for name, count in counts.items() if count >= (RARE_PAIR if " " in name else RARE))
            )
        }
        idf = np.array([np.log((1 + len(texts)) / (1 + counts[name])) + 1 for name in known], dtype=np.float32)
        labels = np.concatenate([self.labels[chosen]] * 2)
        words = ridge(tfidf(texts, known, idf), labels, len(self.analyses), RIDGE_WORDS)
        vectors = ridge(self.vectors[chosen], self.labels[chosen], len(self.analyses), RIDGE_VECTORS)
        return known, idf, words, vectors

    def unseen(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the scores of words and vectors for the writers left out, and their labels, by models without them."""
        held = np.isin(self.writers, list(UNSEEN))
        known, idf, by_words, by_vectors = self.fit(~held)
        words = tfidf([t for t, use in zip(self.noisy, held, strict=True) if use], known, idf) @ by_words
        vectors, labels = self.vectors[held] @ by_vectors, self.labels[held]
        for writer in sorted(UNSEEN):
            own = self.writers[held] == writer
            best = np.argsort(-(words + vectors)[own], axis=1)
            first = float((best[:, 0] == labels[own]).mean())
            three = float((best[:, :3] == labels[own][:, None]).any(axis=1).mean())
            alone = float((words[own].argmax(axis=1) == labels[own]).mean())
            told = f"first {first:.3f}  in three {three:.3f}  words alone {alone:.3f}"
            print(f"writer {writer:2d}  {own.sum():5d} questions  {told}", flush=True)
        return words, vectors, labels


def temperature(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the temperature that makes the probabilities of the true classes likeliest."""
    rows = np.arange(len(labels))

    def loss(value: float) -> float:
        shifted = (scores - scores.max(axis=1, keepdims=True)) / value
        return float((np.log(np.exp(shifted).sum(axis=1)) - shifted[rows, labels]).mean())

    return min((round(0.02 * 1.06**step, 4) for step in range(60)), key=loss)


def packed(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights as 8-bit integers and the scale of each column."""
    scale = np.maximum(np.abs(weights).max(axis=0), 1e-9) / 127
    return np.round(weights / scale).astype(np.int8), scale.astype(np.float32)


def main() -> int:
    """Train, say how well, and write the file."""
    trainer = Trainer()
    words, vectors, labels = trainer.unseen()
    both, alone = temperature(words + vectors, labels), temperature(words, labels)
    print(f"{len(trainer.examples)} examples of {len(trainer.analyses)} analyses; temperatures {both} and {alone}")
    if "--judge" in sys.argv:
        return 0
    known, idf, by_words, by_vectors = trainer.fit(np.ones(len(trainer.examples), dtype=bool))
    (word_values, word_scale), (vector_values, vector_scale) = packed(by_words), packed(by_vectors)
    target = Path(__file__).resolve().parents[1] / "engine" / "planning" / FILE
    general, own = asking_words()
    np.savez_compressed(
        target,
        general=" ".join(sorted(general)),
        own="\n".join(" ".join([key, *sorted(own.get(key, ()))]) for key in trainer.analyses),
        analyses="\n".join(trainer.analyses), features="\n".join(known), idf=idf.astype(np.float16),
        words=word_values, words_scale=word_scale, vectors=vector_values, vectors_scale=vector_scale,
        temperature=both, temperature_words=alone, sources=sources_hash(),
    )  # fmt: skip
    print(f"{target.name}: {len(known)} features, {target.stat().st_size / 1024:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
