"""The folder of vectors is only a copy: without it memory is as it was."""

from __future__ import annotations

import shutil
from pathlib import Path

from engine.adapters.fakes import CountingIds, FrozenClock, HashEmbedder
from engine.bootstrap import make_memory
from engine.domain.memory import Episode
from engine.knowledge.service import open_knowledge
from engine.memory.service import Memory
from engine.retrieval.indexes.embedding_cache import CachedEmbeddings
from engine.settings import Settings
from storage.database import Database
from storage.graph.store import DuckGraphStore
from storage.vectors.store import LanceVectors


def opened(folder: Path, database: Database) -> Memory:
    clock = FrozenClock()
    knowledge = open_knowledge(DuckGraphStore(database), folder / "graph", clock, starter_wanted=False)
    embeddings = CachedEmbeddings(HashEmbedder(), LanceVectors(folder / "vectors"), owner="ada")
    return make_memory(Settings(), database, embeddings, knowledge, clock, CountingIds())


def told(memory: Memory) -> list[object]:
    recalled = memory.recalling.recall("lupus cells clustered", min_relevance=0.0)
    near = memory.statements.near("raised in sepsis")
    return [[(e.episode.id, e.score) for e in recalled.episodes], [(v.fact.id, v.likeness) for v in near]]


def test_memory_whose_vectors_were_deleted_recalls_the_same(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.duckdb")
    memory = opened(tmp_path, database)
    for name, task in (("ep1", "lupus cells clustered"), ("ep2", "reefs bleached by heat")):
        memory.episodic.add(Episode(id=name, at="2026-01-01T00:00:00Z", task=task))
    memory.semantic.state("IL-6", "is_raised_in", "sepsis", "ada")
    before = told(memory)
    assert all(before)
    shutil.rmtree(tmp_path / "vectors")
    assert told(opened(tmp_path, database)) == before
    assert (tmp_path / "vectors").is_dir()
    database.close()
