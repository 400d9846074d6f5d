"""Trains what chooses the strategy from `engine/asking/data/routes.tsv` and writes `routes.npz` beside it.

python scripts/train_router.py            # what `make router` runs; half a minute
python scripts/train_router.py --judge    # only says how well styles that were left out are understood
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, sparse  # noqa: TID253 - a script, run by hand
from sklearn.linear_model import LogisticRegression  # noqa: TID253

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.adapters.embedding import load_embedder
from engine.asking.route_model import FILE, described, examples, sources_hash, weigh

RARE = 2
"""A feature enters from so many tasks on."""
WORDS, VECTORS = 1.4, 0.9
"""How much words and vectors count before the penalty, chosen on styles left out."""
SOFT, SOFT_FIELDS = 20.0, 10.0
"""Inverse penalties of the logistic regressions of strategies and of fields."""


class Trainer:
    """The examples as numbers."""

    def __init__(self) -> None:
        found = list(examples())
        self.tasks = [example.task for example in found]
        self.strategies = sorted({example.strategy for example in found})
        self.fields = sorted({example.field for example in found})
        self.labels = np.array([self.strategies.index(example.strategy) for example in found])
        self.of_field = np.array([self.fields.index(example.field) for example in found])
        self.styles = np.array([example.style for example in found])
        embedder = load_embedder("all-MiniLM-L6-v2")
        assert embedder is not None
        self.vectors = embedder.embed(self.tasks)

    def vocabulary(self, chosen: np.ndarray) -> tuple[dict[str, int], np.ndarray]:
        """Return feature -> column, and the rarity of each, over some of the tasks."""
        counts = Counter(name for at in np.flatnonzero(chosen) for name in set(described(self.tasks[at])))
        known = {name: at for at, name in enumerate(sorted(name for name, n in counts.items() if n >= RARE))}
        rarity = [np.log((1 + chosen.sum()) / (1 + counts[name])) + 1 for name in known]
        return known, np.array(rarity, dtype=np.float32)

    def rows(self, known: dict[str, int], idf: np.ndarray, *, vectors: bool) -> sparse.csr_array:
        """Return what the models read of every task: words (tasks x features), then its vector."""
        weighed = [weigh(task, known, idf) for task in self.tasks]
        starts = np.cumsum([0, *(len(at) for at, _ in weighed)])
        at, values = (np.concatenate(parts) for parts in zip(*weighed, strict=True))
        words = sparse.csr_array((values * WORDS, at, starts), shape=(len(self.tasks), len(known)))
        return sparse.csr_array(sparse.hstack([words, self.vectors * (VECTORS if vectors else 0.0)]))

    def unseen(self, *, vectors: bool) -> np.ndarray:
        """Return the scores of every task by a model that has not seen its style."""
        scores = np.zeros((len(self.tasks), len(self.strategies)))
        for style in sorted(set(self.styles)):
            held = self.styles == style
            known, idf = self.vocabulary(~held)
            rows = self.rows(known, idf, vectors=vectors)
            scores[held] = fitted(rows[~held], self.labels[~held], SOFT).decision_function(rows[held])
            right = float((scores[held].argmax(axis=1) == self.labels[held]).mean())
            print(f"{style:8s} left out  {held.sum():4d} tasks  right {right:.3f}", flush=True)
        return scores


def fitted(rows: Any, labels: np.ndarray, soft: float) -> LogisticRegression:
    """Return a multinomial logistic regression."""
    return LogisticRegression(C=soft, max_iter=3000).fit(rows, labels)


def temperature(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return what scores are divided by to make the true strategies likeliest."""

    def loss(value: float) -> float:
        shifted = (scores - scores.max(axis=1, keepdims=True)) / value
        return float((np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels]).mean())

    found: Any = optimize.minimize_scalar(loss, bounds=(0.2, 5.0), method="bounded")
    return float(found.x)


def main() -> int:
    """Train, say how well, and write the file."""
    trainer = Trainer()
    known, idf = trainer.vocabulary(np.ones(len(trainer.tasks), dtype=bool))
    stored: dict[str, Any] = {}
    for name, vectors in (("both", True), ("alone", False)):
        scores = trainer.unseen(vectors=vectors)
        warmth = temperature(scores, trainer.labels)
        sure = np.exp(scores / warmth) / np.exp(scores / warmth).sum(axis=1, keepdims=True)
        right = sure.argmax(axis=1) == trainer.labels
        clear = sure.max(axis=1) >= 0.75
        told = f"from 0.75 on {right[clear].mean():.3f} of {clear.mean():.2f}; temperature {warmth:.2f}"
        print(f"{name}: right {right.mean():.3f}; {told}")
        made = fitted(trainer.rows(known, idf, vectors=vectors), trainer.labels, SOFT)
        words, rest = made.coef_[:, : len(known)].T * WORDS, made.coef_[:, len(known) :].T * VECTORS
        parts = {"words": words, "vectors": rest, "bias": made.intercept_}
        stored |= {f"{name}_{part}": values.astype(np.float16) for part, values in parts.items()}
        stored[f"{name}_temperature"] = warmth
    if "--judge" in sys.argv:
        return 0
    of_field = fitted(trainer.vectors, trainer.of_field, SOFT_FIELDS)
    target = Path(__file__).resolve().parents[1] / "engine" / "asking" / FILE
    np.savez_compressed(
        target, strategies="\n".join(trainer.strategies), fields="\n".join(trainer.fields), features="\n".join(known),
        idf=idf.astype(np.float16), of_field=np.vstack([of_field.coef_.T, of_field.intercept_]).astype(np.float16),
        sources=sources_hash(), **stored,
    )  # fmt: skip
    print(f"{target.name}: {len(trainer.tasks)} tasks, {len(known)} features, {target.stat().st_size / 1024:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
