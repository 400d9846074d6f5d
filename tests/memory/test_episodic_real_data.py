"""Recall on what invented laboratories remember: better than BM25 and than vectors alone, silent, and no slower for it."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from benchmarks import recall_data
from engine.adapters.embedding import load_embedder
from engine.errors import ModelUnavailable
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.episodes.recalling import Recalling
from storage.memory.episodes_twin import EpisodesTwin

LABS = [lab for lab in recall_data.labs() if lab.name != "shared"]


def told(memory: Recalling, query: recall_data.Query, least: float = 0.25) -> list[str]:
    found = memory.recall(query.text, domains=query.domains, tools=query.tools, min_relevance=least)
    return [item.episode.id for item in found.episodes]


def test_every_question_is_about_records_that_are_there() -> None:
    assert [len(lab.episodes) for lab in LABS] == [80, 80, 80]
    for lab in LABS:
        ids = {episode.id for episode in lab.episodes}
        assert len(lab.queries) == 50
        for query in lab.queries:
            assert set(query.grades) <= ids
            assert bool(query.grades) == (query.kind != "empty")


def test_identifiers_tools_and_names_are_found_without_any_model() -> None:
    marks: list[float] = []
    silent: list[bool] = []
    for lab in LABS:
        memory = Recalling(EpisodicMemory(EpisodesTwin()))
        memory.memory.add(*lab.episodes)
        for query in lab.queries:
            if query.kind in ("exact", "tool", "entity"):
                marks.append(recall_data.ndcg(told(memory, query), query.grades))
            elif query.kind == "empty":
                silent.append(not told(memory, query))
    assert statistics.mean(marks) > 0.85
    assert statistics.mean(silent) > 0.65


@pytest.mark.slow
def test_with_vectors_it_ranks_better_than_bm25_and_than_vectors_and_knows_when_to_be_silent() -> None:
    embedder = load_embedder("all-MiniLM-L6-v2")
    assert embedder is not None
    marks: dict[str, list[float]] = {"bm25": [], "vectors": [], "recall": []}
    silent: list[bool] = []
    for lab in LABS:
        texts = [recall_data.everything(episode) for episode in lab.episodes]
        try:
            matrix = embedder.embed(texts)
        except ModelUnavailable as error:
            pytest.skip(error.message)
        memory = Recalling(EpisodicMemory(EpisodesTwin()), embed=embedder.embed)
        memory.memory.add(*lab.episodes)
        bm25 = recall_data.Bm25(texts)
        for query in lab.queries:
            if not query.grades:
                silent.append(not told(memory, query))
                continue
            scores = {"bm25": bm25.scores(query.text), "vectors": matrix @ embedder.embed([query.text])[0]}
            for name, values in scores.items():
                best = [lab.episodes[at].id for at in np.argsort(-values)[:5]]
                marks[name].append(recall_data.ndcg(best, query.grades))
            marks["recall"].append(recall_data.ndcg(told(memory, query, 0.0), query.grades))
    means = {name: statistics.mean(values) for name, values in marks.items()}
    assert means["recall"] > 1.05 * max(means["bm25"], means["vectors"]), means
    assert statistics.mean(silent) > 0.65
