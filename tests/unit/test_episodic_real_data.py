"""Recall on records of real analyses, where they are at hand: better than BM25 and than vectors alone, and silent."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import numpy as np
import pytest

from benchmarks import recall_data
from engine.adapters.embedding import load_embedder
from engine.errors import ModelUnavailable
from engine.memory.episodes.memory import EpisodicMemory
from storage.memory.episodes_twin import EpisodesTwin

pytestmark = pytest.mark.skipif(
    not recall_data.RECORDS.is_file(), reason="the development data are not beside the project"
)
KINDS = ("topic", "paraphrase", "entity")


def told(memory: EpisodicMemory, text: str) -> list[str]:
    return [item.episode.id for item in memory.recall(text).episodes]


def test_every_record_is_an_episode() -> None:
    episodes, queries = recall_data.load()
    assert len(episodes) == 110
    assert sum(query.given for query in queries) == 12
    raw = json.loads(Path(recall_data.RECORDS).read_text(encoding="utf-8").splitlines()[0])
    assert episodes[0].lessons == raw["lessons"]
    ids = {episode.id for episode in episodes}
    assert all(set(query.grades) <= ids for query in queries if not query.given)


def test_identifiers_and_topics_are_found_without_any_model() -> None:
    episodes, queries = recall_data.load()
    memory = EpisodicMemory(EpisodesTwin())
    memory.add_many(episodes)
    marks = {
        kind: statistics.mean(recall_data.ndcg(told(memory, q.text), q.grades) for q in queries if q.kind == kind)
        for kind in KINDS
    }
    assert marks["entity"] > 0.9
    assert marks["topic"] > 0.7
    silent = [told(memory, q.text) == [] for q in queries if q.kind == "empty"]
    assert statistics.mean(silent) > 0.85


def test_with_vectors_it_ranks_better_than_bm25_and_than_vectors_and_knows_when_to_be_silent() -> None:
    episodes, queries = recall_data.load()
    embedder = load_embedder("all-MiniLM-L6-v2")
    assert embedder is not None
    texts = [recall_data.everything(episode) for episode in episodes]
    try:
        matrix = embedder.embed(texts)
    except ModelUnavailable as error:
        pytest.skip(error.message)
    asked = dict(zip((q.text for q in queries), embedder.embed([q.text for q in queries]), strict=True))
    memory = EpisodicMemory(EpisodesTwin(), embed=embedder.embed, embed_query=asked.__getitem__)
    memory.add_many(episodes)
    bm25 = recall_data.Bm25(texts)
    ids = [episode.id for episode in episodes]
    marks: dict[str, list[float]] = {"bm25": [], "vectors": [], "told": []}
    for query in queries:
        if query.kind != "empty":
            for name, scores in (("bm25", bm25.scores(query.text)), ("vectors", matrix @ asked[query.text])):
                marks[name].append(recall_data.ndcg([ids[at] for at in np.argsort(-scores)[:5]], query.grades))
            marks["told"].append(recall_data.ndcg(told(memory, query.text), query.grades))
    means = {name: statistics.mean(values) for name, values in marks.items()}
    assert means["told"] > 1.1 * max(means["bm25"], means["vectors"])
    silent = [told(memory, q.text) == [] for q in queries if q.kind == "empty"]
    assert statistics.mean(silent) > 0.85
    assert all(told(memory, q.text) == [] for q in queries if q.kind == "empty" and q.given)
    assert all(told(memory, q.text) for q in queries if q.kind != "empty" and q.given)
