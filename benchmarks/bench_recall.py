"""Episodic recall: how well it ranks beside BM25 and MiniLM, whether it keeps silent, and how fast it is.

    python benchmarks/bench_recall.py [--rounds 300]

Quality: nDCG@5 over graded queries on the past analyses of ../shared/data/recall_dev.jsonl (skipped where it is
absent), the twelve that came with them and those of recall_queries.tsv; BM25 and MiniLM rank the same texts.
`told` counts what the relevance gate lets through at its default, so a wrong silence costs its whole query.
Speed: synthetic episodes with vectors, every signal except the query's own embedding, and how many of the true
nearest fifty the vector search keeps at 100,000.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from engine.memory.cues import understand  # noqa: E402
from engine.memory.index import EpisodeIndex  # noqa: E402
from engine.memory.signals import PER_SIGNAL, rank  # noqa: E402

from benchmarks import recall_data, synthetic_episodes  # noqa: E402
from benchmarks.measuring import arguments, report, summary, target  # noqa: E402
from engine.adapters.embedding import load_embedder  # noqa: E402
from engine.domain.memory import Episode  # noqa: E402
from engine.errors import ModelUnavailable  # noqa: E402
from engine.memory import kernels  # noqa: E402
from engine.memory.episodes.memory import EpisodicMemory  # noqa: E402
from storage.memory.episodes_twin import EpisodesTwin  # noqa: E402

SIZES = (10_000, 100_000)
LIMIT_MS = 5.0
KINDS = ("topic", "paraphrase", "entity")


def quality() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Return rows of nDCG@5, targets and notes."""
    if not recall_data.RECORDS.is_file():
        return [], [], ["Quality was not measured: the development data are not beside the project."]
    episodes, queries = recall_data.load()
    embedder = load_embedder("all-MiniLM-L6-v2")
    assert embedder is not None
    texts = [recall_data.everything(episode) for episode in episodes]
    try:
        matrix = embedder.embed(texts)
    except ModelUnavailable as error:
        return [], [], [f"Quality was not measured: {error.message}"]
    bm25 = recall_data.Bm25(texts)
    memory = EpisodicMemory(EpisodesTwin(), embed=embedder.embed)
    lexical = EpisodicMemory(EpisodesTwin())
    for made in (memory, lexical):
        made.add_many(episodes)
    ids = [episode.id for episode in episodes]

    def ranked(scores: np.ndarray) -> list[str]:
        return [ids[at] for at in np.argsort(-scores)[:5]]

    def told(made: EpisodicMemory, text: str, least: float = 0.25) -> list[str]:
        return [item.episode.id for item in made.recall(text, min_relevance=least).episodes]

    ways = {
        "BM25": lambda text: ranked(bm25.scores(text)),
        "MiniLM": lambda text: ranked(matrix @ embedder.embed([text])[0]),
        "recall, gate open": lambda text: told(memory, text, 0.0),
        "recall, told": lambda text: told(memory, text),
        "recall without vectors, told": lambda text: told(lexical, text),
    }
    rows: list[dict[str, Any]] = []
    for group, members in (("given", [q for q in queries if q.given]), ("own", [q for q in queries if not q.given])):
        for name, way in ways.items():
            marks = {
                kind: [recall_data.ndcg(way(q.text), q.grades) for q in members if q.kind == kind] for kind in KINDS
            }
            silent = [not way(q.text) for q in members if q.kind == "empty"]
            everything = [mark for kind in KINDS for mark in marks[kind]]
            parts = " ".join(f"{kind} {statistics.mean(marks[kind]):.3f}" for kind in KINDS)
            mean = round(statistics.mean(everything), 3)
            said = f"nDCG@5 ({parts}; silent on {sum(silent)} of {len(silent)} without an answer)"
            row = {"name": f"{group}: {name}", "unit": said, "n": len(everything)}
            rows.append(row | dict.fromkeys(("p50", "p95", "min"), mean))
    best = {row["name"]: row["p50"] for row in rows}
    goals = [
        target(f"{group}: nDCG@5 of the better of BM25 and MiniLM against recall, told, its ratio",
               max(best[f"{group}: BM25"], best[f"{group}: MiniLM"]) / best[f"{group}: recall, told"], 1.0)
        for group in ("given", "own")
    ]  # fmt: skip
    return rows, goals, []


def speed(size: int, rounds: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Return rows of times, targets and notes for a memory of `size` episodes."""
    # In a program they are loaded in the background while the index is built.
    kernels.load()
    episodes = list(synthetic_episodes.episodes(size))
    vectors = synthetic_episodes.vectors(size)
    started = time.perf_counter()
    index = EpisodeIndex()
    index.add(episodes)
    built = time.perf_counter() - started
    started = time.perf_counter()
    index.nearest.put(np.arange(size), vectors)
    index.nearest.best(vectors[0], 10)
    placed = time.perf_counter() - started
    draw = np.random.default_rng(11)
    times, kept = [], []
    for turn in range(rounds + 20):
        near = int(draw.integers(size))
        query = _query(episodes[int(draw.integers(size))])
        vector = vectors[near] + 0.03 * draw.standard_normal(vectors.shape[1]).astype(np.float32)
        vector /= np.linalg.norm(vector)
        started = time.perf_counter()
        rank(index, understand(query, index.known), vector)
        if turn >= 20:
            times.append((time.perf_counter() - started) * 1e3)
        if turn < 60:
            truth = np.argpartition(-(vectors @ vector), 50)[:50]
            kept.append(float(np.isin(truth, index.nearest.best(vector, PER_SIGNAL)).mean()))
    added = []
    for number in range(100):
        started = time.perf_counter()
        index.add([episodes[number].model_copy(update={"id": f"new{number}"})])
        added.append((time.perf_counter() - started) * 1e3)
    rows = [
        summary(f"{size:,} episodes: a query", times, unit="ms", digits=2),
        summary(f"{size:,} episodes: build", [built], unit="s", digits=2),
        summary(f"{size:,} episodes: place vectors", [placed], unit="s", digits=2),
        summary(f"{size:,} episodes: add one", added, unit="ms", digits=2),
    ]
    note = f"{size:,} episodes: the vector search keeps {np.mean(kept):.3f} of the true nearest 50."
    return rows, [target(f"{size:,} episodes: query p95", rows[0]["p95"], LIMIT_MS, unit=" ms")], [note]


def _query(episode: Episode) -> str:
    return " ".join([*episode.task.split()[:8], *episode.result_summary.split()[:3]])


def main() -> None:
    options = arguments(__doc__ or "", rounds=300)
    rows, goals, notes = quality()
    for size in SIZES:
        more_rows, more_goals, more_notes = speed(size, options.rounds)
        rows, goals, notes = rows + more_rows, goals + more_goals, notes + more_notes
    report("recall", rows, goals, notes)


if __name__ == "__main__":
    main()
