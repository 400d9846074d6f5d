"""Episodic recall: how well it ranks beside BM25 and MiniLM, whether it keeps silent, and how fast it is.

    python benchmarks/bench_recall.py [--rounds 300]

Quality: nDCG@5 over graded questions on past analyses (whose, says `recall_data.py`), by bank and half; BM25 and
MiniLM rank the same texts. `told` counts what the relevance gate lets through at its default, so a wrong silence costs
its whole question. The halves called `even` are for scoring only.
Speed: synthetic episodes with vectors, everything except the question's own embedding.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks import recall_data, synthetic_episodes  # noqa: E402
from benchmarks.measuring import arguments, report, summary, target  # noqa: E402
from engine.adapters.embedding import load_embedder  # noqa: E402
from engine.domain.memory import Episode  # noqa: E402
from engine.errors import ModelUnavailable  # noqa: E402
from engine.memory.episodes.index import FAILED, SUCCEEDED, EpisodeIndex  # noqa: E402
from engine.memory.episodes.measures import measured  # noqa: E402
from engine.memory.episodes.memory import EpisodicMemory  # noqa: E402
from engine.memory.episodes.reading import read  # noqa: E402
from engine.memory.episodes.recalling import Recalling  # noqa: E402
from engine.memory.episodes.relevance import models  # noqa: E402
from storage.memory.episodes_twin import EpisodesTwin  # noqa: E402

LIMITS_MS = {20_000: 10.0, 100_000: 60.0}
LEAST_NDCG, LEAST_SILENT = 0.75, 0.8
Way = Callable[[recall_data.Query], list[str]]


def quality() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Return rows of nDCG@5, targets and notes."""
    embedder = load_embedder("all-MiniLM-L6-v2")
    assert embedder is not None
    marks: dict[tuple[str, str], list[tuple[str, float | None, bool]]] = {}
    """(bank and half, way) -> for each question its type, mark (None where there is no answer) and silence."""
    try:
        for lab in recall_data.labs():
            for name, way in ways(lab, embedder.embed).items():
                for query in lab.queries:
                    found = way(query)
                    mark = recall_data.ndcg(found, query.grades) if query.grades else None
                    for group in (f"{query.bank} {query.half}", f"outside {query.half}"):
                        if query.bank in ("same", "labs") or not group.startswith("outside"):
                            marks.setdefault((group, name), []).append((query.kind, mark, not found))
    except ModelUnavailable as error:
        return [], [], [f"Quality was not measured: {error.message}"]
    rows = [row(f"{group}: {name}", found) for (group, name), found in sorted(marks.items())]
    unseen = marks[f"outside {recall_data.UNSEEN}", "recall, told"]
    ndcg = statistics.mean(mark for _, mark, _ in unseen if mark is not None)
    silent = statistics.mean(silence for _, mark, silence in unseen if mark is None)
    goals = [
        target("unseen questions: nDCG@5 wanted against reached, its ratio", LEAST_NDCG / ndcg, 1.0),
        target("unseen questions: silence wanted against reached, its ratio", LEAST_SILENT / max(silent, 1e-9), 1.0),
    ]
    return rows, goals, []


def ways(lab: recall_data.Lab, embed: Callable[[list[str]], np.ndarray]) -> dict[str, Way]:
    """Return ways to rank what a laboratory remembers."""
    texts = [recall_data.everything(episode) for episode in lab.episodes]
    ids = [episode.id for episode in lab.episodes]
    matrix, bm25 = embed(texts), recall_data.Bm25(texts)
    memory = Recalling(EpisodicMemory(EpisodesTwin()), embed)  # pyright: ignore[reportArgumentType]
    words = Recalling(EpisodicMemory(EpisodesTwin()))
    for made in (memory, words):
        made.memory.add(*lab.episodes)

    def told(made: Recalling, query: recall_data.Query, least: float = 0.25, *, hints: bool = True) -> list[str]:
        tools, domains = (query.tools, query.domains) if hints else ((), ())
        found = made.recall(query.text, min_relevance=least, tools=tools, domains=domains)
        return [item.episode.id for item in found.episodes]

    def best(scores: np.ndarray) -> list[str]:
        return [ids[at] for at in np.argsort(-scores)[:5]]

    return {
        "BM25": lambda query: best(bm25.scores(query.text)),
        "MiniLM": lambda query: best(matrix @ embed([query.text])[0]),
        "recall, gate open": lambda query: told(memory, query, 0.0),
        "recall, told": lambda query: told(memory, query),
        "recall without hints, told": lambda query: told(memory, query, hints=False),
        "recall without vectors, told": lambda query: told(words, query),
    }


def row(name: str, found: list[tuple[str, float | None, bool]]) -> dict[str, Any]:
    """Return a line of the report: the mean of nDCG@5, by type of question, and silence where there is no answer."""
    kinds = sorted({kind for kind, mark, _ in found if mark is not None})
    of = {kind: [mark for own, mark, _ in found if own == kind and mark is not None] for kind in kinds}
    parts = " ".join(f"{kind} {statistics.mean(marks):.2f} ({len(marks)})" for kind, marks in of.items())
    silent = [silence for _, mark, silence in found if mark is None]
    every = [mark for marks in of.values() for mark in marks]
    unit = f"nDCG@5 ({parts}; silent on {sum(silent)} of {len(silent)} without an answer)"
    return {"name": name, "unit": unit, "n": len(every)} | dict.fromkeys(
        ("p50", "p95", "min"), round(statistics.mean(every), 3)
    )


def speed(size: int, rounds: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Return rows of times, targets and notes for a memory of `size` episodes."""
    episodes = list(synthetic_episodes.episodes(size))
    vectors = synthetic_episodes.vectors(size)
    index = EpisodeIndex()
    started = time.perf_counter()
    index.add(episodes)
    built = time.perf_counter() - started
    index.put_vectors(episodes, vectors)
    draw = np.random.default_rng(11)
    words = len(index.vocabulary.lacking_vectors(10_000_000))
    index.vocabulary.put_vectors(draw.standard_normal((words, vectors.shape[1]), dtype=np.float32))
    times = []
    for turn in range(rounds + 20):
        query = _query(episodes[int(draw.integers(size))])
        vector = vectors[int(draw.integers(size))] + 0.03 * draw.standard_normal(vectors.shape[1]).astype(np.float32)
        vector /= np.linalg.norm(vector)
        started = time.perf_counter()
        found = measured(index, read(query, index.known), vector, {}, (SUCCEEDED, FAILED))
        models()["vectors"].relevance(found)
        if turn >= 20:
            times.append((time.perf_counter() - started) * 1e3)
    added = []
    for number in range(100):
        started = time.perf_counter()
        index.add([episodes[number].model_copy(update={"id": f"new{number}"})])
        added.append((time.perf_counter() - started) * 1e3)
    rows = [
        summary(f"{size:,} episodes: a query", times, unit="ms", digits=2),
        summary(f"{size:,} episodes: build", [built], unit="s", digits=2),
        summary(f"{size:,} episodes: add one", added, unit="ms", digits=2),
    ]
    return rows, [target(f"{size:,} episodes: query p95", rows[0]["p95"], LIMITS_MS[size], unit=" ms")], []


def _query(episode: Episode) -> str:
    return " ".join([*episode.task.split()[:8], *episode.result_summary.split()[:3]])


def main() -> None:
    options = arguments(__doc__ or "", rounds=300)
    rows, goals, notes = quality()
    for size in LIMITS_MS:
        more_rows, more_goals, more_notes = speed(size, options.rounds)
        rows, goals, notes = rows + more_rows, goals + more_goals, notes + more_notes
    report("recall", rows, goals, notes)


if __name__ == "__main__":
    main()
