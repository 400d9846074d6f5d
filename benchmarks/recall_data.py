"""Graded queries over past analyses, and the rankings that recall is compared with."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.domain.memory import Episode

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT.parent / "shared" / "data" / "recall_dev.jsonl"
OWN = Path(__file__).with_name("recall_queries.tsv")


@dataclass(frozen=True, slots=True)
class Query:
    """A query and what is relevant to it; nothing is when the kind is `empty`."""

    kind: str
    text: str
    grades: dict[str, int]
    given: bool
    """True for the queries that came with the records."""


def load() -> tuple[list[Episode], list[Query]]:
    """Return the records and all queries."""
    episodes: list[Episode] = []
    queries: list[Query] = []
    for line in RECORDS.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry.pop("kind") == "episode":
            episodes.append(Episode.model_validate(entry))
        else:
            grades = {item["id"]: item["grade"] for item in entry["relevant"]}
            queries.append(Query(entry["type"], entry["query"], grades, given=True))
    for line in OWN.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            kind, text, relevant = line.split("\t")
            grades = {f"ep{n}": int(grade) for n, grade in (item.split(":") for item in relevant.split())}
            queries.append(Query(kind, text, grades, given=False))
    return episodes, queries


def ndcg(found: list[str], grades: dict[str, int], depth: int = 5) -> float:
    """Return the normalised discounted cumulative gain at `depth`, with gains 2**grade - 1."""

    def gain(values: list[int]) -> float:
        return sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(values[:depth]))

    return gain([grades.get(name, 0) for name in found]) / gain(sorted(grades.values(), reverse=True))


def everything(episode: Episode) -> str:
    """Return all that an episode says."""
    lists = (episode.tools, episode.domains, episode.entities)
    listed = " ".join(name for names in lists for name in names)
    return f"{episode.task} {listed} {episode.result_summary} {episode.lessons} {episode.plan_summary}"


class Bm25:
    """Okapi BM25 (Robertson and Walker 1994), k1 1.2 and b 0.75, over the whole text."""

    def __init__(self, texts: list[str]) -> None:
        self._docs = [Counter(_tokens(text)) for text in texts]
        self._lengths = np.array([sum(doc.values()) for doc in self._docs])
        self._frequency = Counter(word for doc in self._docs for word in doc)

    def scores(self, query: str) -> np.ndarray:
        """Return a score for every text."""
        total = len(self._docs)
        norm = 1.2 * (0.25 + 0.75 * self._lengths / self._lengths.mean())
        scores = np.zeros(total)
        for word in _tokens(query):
            known = self._frequency[word]
            rarity = math.log1p((total - known + 0.5) / (known + 0.5))
            counts = np.array([doc[word] for doc in self._docs])
            scores += rarity * counts * 2.2 / (counts + norm)
        return scores


def _tokens(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())
