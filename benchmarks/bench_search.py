"""How fast the shared search answers, and what LanceDB takes to search the same vectors where it keeps them.

    python benchmarks/bench_search.py [--rounds 100]

Documents have 40 words whose frequencies fall as in text, three names of two groups, an owner, a kind and a vector of
384 numbers, near one of 400 centres; a question has twelve words, two names, a vector and a filter. LanceDB is asked
for the nearest 50 of a kind in three ways: all rows compared, through its index, and the latter with the vectors of 50
more rows, which is what recall would need of it (the best by words have to be compared too). Which share of the true
nearest 15 the index finds is printed, and the memory that the matrix takes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks.measuring import arguments, report, summary, target  # noqa: E402
from engine.ports.vectors import VectorHit  # noqa: E402
from engine.search.index import Document, FieldWeight, Query, ScoreWeights, SearchIndex  # noqa: E402
from engine.search.vectors import best  # noqa: E402
from storage.vectors.store import LanceVectors  # noqa: E402

SIZES = {200: 10.0, 2_000: 10.0, 20_000: 10.0, 100_000: 60.0}
"""Documents -> the most milliseconds that a question may take, p95."""
DIMENSIONS, VOCABULARY = 384, 20_000
LEAST_INDEXED = 2_000
"""Rows below which there is no index to measure: all are compared."""
WEIGHTS = ScoreWeights(words=0.5, vector=0.4, names={"tool": 0.05, "entity": 0.05})


def documents(count: int, draw: np.random.Generator) -> list[Document]:
    """Return made-up documents."""
    share = 1.0 / (20 + np.arange(VOCABULARY))
    words = draw.choice(VOCABULARY, size=(count, 40), p=share / share.sum()).astype(str)
    names = draw.integers(0, 8_000, size=(count, 3)).astype(str)
    return [
        Document(
            id=f"d{row}",
            words={"title": words[row, :8].tolist(), "text": words[row, 8:].tolist()},
            names={"tool": names[row, :1].tolist(), "entity": names[row, 1:].tolist()},
            owner=f"owner {row % 7}",
            kind=f"kind {row % 3}",
        )
        for row in range(count)
    ]


def timed(rounds: int, ask: Callable[[int], object]) -> list[float]:
    """Return milliseconds of each round, after one that is not counted."""
    ask(0)
    spent: list[float] = []
    for place in range(rounds):
        began = time.perf_counter()
        ask(place)
        spent.append((time.perf_counter() - began) * 1000)
    return spent


def measured(count: int, rounds: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return rows and targets for so many documents."""
    draw = np.random.default_rng(1)
    made = documents(count, draw)
    centres = draw.standard_normal((400, DIMENSIONS), np.float32)
    vectors = centres[draw.integers(0, 400, count)] + draw.standard_normal((count, DIMENSIONS), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    began = time.perf_counter()
    index = SearchIndex({"title": FieldWeight(2.0, 0.4), "text": FieldWeight(1.0, 0.6)})
    index.add(made)
    index.put_vectors([document.id for document in made], vectors)
    build = (time.perf_counter() - began) * 1000
    asked = [made[row] for row in draw.integers(0, count, rounds)]

    def query(place: int) -> Query:
        like = asked[place]
        words = [*like.words["title"], *like.words["text"][:4]]
        names = {group: dict.fromkeys(found, 1.0) for group, found in like.names.items()}
        vector = vectors[index.row(like.id)]
        return Query(words=dict.fromkeys(words, 1.0), names=names, vector=vector, kinds=[like.kind])

    def added(place: int) -> None:
        index.add([asked[place]])

    spent = {"search": timed(rounds, lambda place: index.search(query(place), top=15, weights=WEIGHTS))}
    spent["cosines alone"] = timed(rounds, lambda place: index.vectors.cosines(vectors[place], index.size))
    spent["add one"] = timed(rounds, added)
    with tempfile.TemporaryDirectory() as folder:
        ids = np.array([document.id for document in made])
        exact = _kept(Path(folder) / "exact", ids, vectors, exact_rows=count)
        indexed = _kept(Path(folder) / "indexed", ids, vectors, exact_rows=LEAST_INDEXED - 1)

        def nearest(kept: LanceVectors, place: int) -> list[VectorHit]:
            return kept.search("all", vectors[place].tolist(), top=50, kinds=["kind 1"])

        def needed(place: int) -> None:
            nearest(indexed, place)
            indexed.fetch("all", ids[place : place + 50].tolist())

        few = min(rounds, 30)
        spent["LanceDB, exact"] = timed(few, lambda place: nearest(exact, place))
        spent["LanceDB, index"] = timed(few, lambda place: nearest(indexed, place))
        spent["LanceDB, index, and 50 vectors"] = timed(few, needed)
        found = [
            len({hit.id for hit in indexed.search("all", vectors[place].tolist(), top=15)}.intersection(ids[near])) / 15
            for place in range(20)
            for near in [best(vectors @ vectors[place], 15)]
        ]
    rows = [summary(f"{name}, {count:,} documents", values, unit="ms", digits=2) for name, values in spent.items()]
    rows.append(summary(f"build, {count:,} documents", [build], unit="ms"))
    rows.append(summary(f"the matrix in memory, {count:,} documents", [vectors.nbytes / 1e6], unit="MB"))
    rows.append(summary(f"LanceDB, true nearest 15 found, {count:,} documents", found, unit="", digits=3))
    goal = target(f"search of {count:,} documents, p95", rows[0]["p95"], SIZES[count], unit=" ms")
    return rows, [goal]


def _kept(folder: Path, ids: np.ndarray, vectors: np.ndarray, *, exact_rows: int) -> LanceVectors:
    kept = LanceVectors(folder, exact_rows=exact_rows)
    for kind in range(3):
        kept.add("all", ids[kind::3].tolist(), vectors[kind::3], kind=f"kind {kind}")
    return kept


def main() -> None:
    """Measure and report."""
    options = arguments(__doc__ or "", rounds=100)
    found = [measured(count, options.rounds) for count in SIZES]
    report("search", [row for rows, _ in found for row in rows], [goal for _, goals in found for goal in goals])


if __name__ == "__main__":
    main()
