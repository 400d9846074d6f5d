"""Questions with known answers for measuring retrieval, from the development catalogues beside the project.

Three kinds: names of EDAM operations (the Galaxy tools labelled with them are relevant; the labels are taken out of the
texts), keywords of nf-core modules (the keywords are taken out of the texts) and `retrieval_tasks.tsv`: tasks in the
words of users, some in bad English, each with a pattern of the names of tools that a biologist would accept, written
before any ranking was looked at. With EDAM's own table (`EDAM.tsv` of the package edam-ontology; name it in the
environment variable EDAM_TSV) the definitions of the operations are a fourth kind.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.domain.retrieval import CatalogueEntry
from engine.retrieval.catalogues.read import READERS

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "tool_catalogues"
FILES = {
    "galaxy": "galaxy_tools.tsv",
    "nf-core": "nfcore_modules_meta.tar.gz",
    "tooluniverse": "tooluniverse_tools.jsonl.gz",
    "biomni": "biomni_tools.json",
}
BANK = Path(__file__).with_name("tools_bank.jsonl")
TASKS = Path(__file__).with_name("retrieval_tasks.tsv")
Question = tuple[str, frozenset[int]]


def labelled_entries() -> list[CatalogueEntry]:
    """Read the four catalogues; names that come twice get their catalogue in front."""
    entries: list[CatalogueEntry] = []
    taken: set[str] = set()
    for kind, file in FILES.items():
        for entry in READERS[kind](DATA / file):
            name = entry.name if entry.name not in taken else f"{kind}:{entry.name}"
            taken.add(name)
            entries.append(entry.model_copy(update={"name": name, "catalogue": kind}))
    return entries


def without_labels(entry: CatalogueEntry) -> CatalogueEntry:
    """Return the entry as it would be without what the questions are made of."""
    kept = [] if entry.catalogue == "nf-core" else [word for word in entry.keywords if word not in entry.operations]
    return entry.model_copy(update={"operations": [], "keywords": kept})


def questions(entries: Sequence[CatalogueEntry]) -> dict[str, list[Question]]:
    """Return kind -> questions, each with the rows of the relevant tools; `entries` still have their labels."""
    operations: dict[str, set[int]] = defaultdict(set)
    keywords: dict[str, set[int]] = defaultdict(set)
    for row, entry in enumerate(entries):
        for operation in entry.operations if entry.catalogue == "galaxy" else ():
            operations[operation].add(row)
        for keyword in entry.keywords if entry.catalogue == "nf-core" else ():
            keywords[keyword.lower()].add(row)
    kinds = {
        "EDAM operation names": _sorted(operations),
        "nf-core keywords": [(word, rows) for word, rows in _sorted(keywords) if 4 <= len(rows) <= 60][::3],
        "tasks of users": _tasks(entries),
    }
    definitions = _definitions()
    if definitions:
        defined = [(definitions[name], rows) for name, rows in _sorted(operations) if name in definitions]
        kinds["EDAM operation definitions"] = [
            (text, rows) for text, rows in defined if len({entries[row].suite for row in rows}) > 1
        ]
    return kinds


def bank() -> list[dict[str, Any]]:
    """Return the needs of `tools_bank.jsonl`: id, half, kind, query, relevant and partial (names in lower case).

    An outside author wrote them from the catalogues alone. The even half is for measuring only: whoever works on the
    search does not read it.
    """
    return [json.loads(line) for line in BANK.read_text(encoding="utf-8").splitlines()]


def names_in_bank(entry: CatalogueEntry) -> set[str]:
    """Return what the bank calls a tool: for Galaxy its suite, else its name."""
    if entry.catalogue == "galaxy":
        return {entry.suite.lower()}
    name = entry.name.removeprefix(f"{entry.catalogue}:").lower()
    return {name, name.replace("/", "_")}


def bank_marks(need: dict[str, Any], ranking: Sequence[set[str]]) -> tuple[float, float]:
    """Return recall@15 (of at most 15) and nDCG@10 of a ranking, each tool or suite counted where it first comes.

    Tools that serve partly are passed over, neither hit nor miss.
    """
    relevant, partial = set(need["relevant"]), set(need["partial"])
    hits: dict[frozenset[str], bool] = {}
    for names in ranking:
        found = names & relevant
        if found or not names & partial:
            hits.setdefault(frozenset(found or names), bool(found))
    marks = list(hits.values())
    gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(marks[:10]) if hit)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
    return sum(marks[:15]) / min(15, len(relevant)), gain / ideal


def _sorted(groups: dict[str, set[int]]) -> list[Question]:
    return [(text, frozenset(rows)) for text, rows in sorted(groups.items())]


def _tasks(entries: Sequence[CatalogueEntry]) -> list[Question]:
    found: list[Question] = []
    for line in TASKS.read_text(encoding="utf-8").splitlines():
        task, pattern = line.split("\t")
        wanted = re.compile(pattern, re.IGNORECASE)
        found.append((task, frozenset(row for row, entry in enumerate(entries) if wanted.search(entry.name))))
    return found


def _definitions() -> dict[str, str]:
    path = Path(os.environ.get("EDAM_TSV", ""))
    if not path.is_file():
        return {}
    csv.field_size_limit(10_000_000)
    with path.open(encoding="utf-8", newline="") as file:
        rows: list[dict[str, str]] = list(csv.DictReader(file, delimiter="\t"))
        return {
            row["Preferred Label"]: str(row["Definitions"]).split("|")[0]
            for row in rows
            if "/operation_" in row["Class ID"] and row["Definitions"] and row["Obsolete"] != "TRUE"
        }


class Bm25:
    """BM25 (k1 1.2, b 0.75) over lower-case runs of letters and digits: what the search is compared with."""

    def __init__(self, texts: Sequence[str]) -> None:
        import scipy.sparse as sparse

        documents = [Counter(self.tokens(text)) for text in texts]
        lengths = np.array([sum(document.values()) for document in documents], float)
        self._columns: dict[str, int] = {}
        rows, columns, values = [], [], []
        for row, document in enumerate(documents):
            norm = 1.2 * (1 - 0.75 + 0.75 * lengths[row] / lengths.mean())
            for token, count in document.items():
                rows.append(row)
                columns.append(self._columns.setdefault(token, len(self._columns)))
                values.append(count * 2.2 / (count + norm))
        matrix = sparse.csc_matrix((values, (rows, columns)), shape=(len(texts), len(self._columns)))
        frequency = np.diff(matrix.indptr)
        self._idf = np.log1p((len(texts) - frequency + 0.5) / (frequency + 0.5))
        self._starts, self._rows, self._values = np.asarray(matrix.indptr), matrix.indices, np.asarray(matrix.data)
        self._size = len(texts)

    @staticmethod
    def tokens(text: str) -> list[str]:
        """Return the tokens of a text."""
        return re.findall(r"[a-z0-9]+", text.lower())

    def scores(self, query: str) -> np.ndarray:
        """Return every text's score."""
        total = np.zeros(self._size)
        for token, count in Counter(self.tokens(query)).items():
            column = self._columns.get(token)
            if column is not None:
                part = slice(self._starts[column], self._starts[column + 1])
                total[self._rows[part]] += count * self._idf[column] * self._values[part]
        return total


def recall_and_ndcg(ranking: Sequence[int], relevant: frozenset[int], top: int = 15) -> tuple[float, float]:
    """Return recall and nDCG (binary gains) of the first `top` tools."""
    hits = [row in relevant for row in ranking[:top]]
    gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits) if hit)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(top, len(relevant))))
    return sum(hits) / len(relevant), gain / ideal


def by_suite(
    ranking: Sequence[int], relevant: frozenset[int], suites: Sequence[int]
) -> tuple[list[int], frozenset[int]]:
    """Return the ranking and the relevant tools as suites, each once, where it first comes."""
    return list(dict.fromkeys(suites[row] for row in ranking)), frozenset(suites[row] for row in relevant)
