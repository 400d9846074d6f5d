"""Graded questions over past analyses, and the rankings that recall is compared with.

Four banks: the twelve questions that came with the records of ../shared/data/recall_dev.jsonl (`given`), those written
for tuning (`own`, recall_queries.tsv), and two by an author who did not know the code: a hundred over the same records
(`same`, recall_same.jsonl) and fifty over the eighty records of each of three invented laboratories (`labs`,
recall_labs.jsonl). Of the last two the questions marked `even` are for scoring only: no weight was fitted on them and
nobody looked at them while recall was written.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.domain.memory import Episode

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT.parent / "shared" / "data" / "recall_dev.jsonl"
_HERE = Path(__file__).parent
OWN, SAME, LABS = (_HERE / name for name in ("recall_queries.tsv", "recall_same.jsonl", "recall_labs.jsonl"))
UNSEEN = "even"


@dataclass(frozen=True, slots=True)
class Query:
    """A question and what is relevant to it; nothing is when the kind is `empty`."""

    kind: str
    text: str
    grades: dict[str, int]
    bank: str
    half: str = "odd"
    tools: tuple[str, ...] = ()
    """Tools and fields that whoever asks thinks of."""
    domains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lab:
    """What a laboratory remembers, and questions to it."""

    name: str
    episodes: list[Episode]
    queries: list[Query]


def labs() -> list[Lab]:
    """Return the laboratories: that of the shared records, where they are, and the three invented ones."""
    found = []
    if RECORDS.is_file():
        records = _lines(RECORDS)
        queries = [*_queries(records, "given"), *_own(), *_queries(_lines(SAME), "same")]
        found.append(Lab("shared", list(_episodes(records)), queries))
    records = _lines(LABS)
    for name in sorted({record["lab"] for record in records}):
        here = [record for record in records if record["lab"] == name]
        found.append(Lab(name, list(_episodes(here)), list(_queries(here, "labs"))))
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _episodes(records: list[dict[str, Any]]) -> Iterator[Episode]:
    for record in records:
        if record["kind"] == "episode":
            yield Episode.model_validate({name: v for name, v in record.items() if name not in ("kind", "lab")})


def _queries(records: list[dict[str, Any]], bank: str) -> Iterator[Query]:
    for record in records:
        if record["kind"] != "episode":
            grades = {item["id"]: item["grade"] for item in record["relevant"]}
            hints = tuple(record["tools_hint"]), tuple(record["domains"])
            yield Query(record["type"], record["query"], grades, bank, record.get("half", "odd"), *hints)


def _own() -> Iterator[Query]:
    for line in OWN.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            kind, text, relevant = line.split("\t")
            grades = {f"ep{n}": int(grade) for n, grade in (item.split(":") for item in relevant.split())}
            yield Query(kind, text, grades, "own")


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
