"""Searching the real catalogues, where they are at hand: better than plain BM25 on the same texts, without any model."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from engine.domain.retrieval import CatalogueEntry
from engine.retrieval.catalogues.read import READERS
from engine.retrieval.hybrid import HybridRetriever
from engine.retrieval.indexes.index import ToolIndex, entry_text, spec_entry
from engine.toolbox.registry import builtin_tools

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "tool_catalogues"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the development data are not beside the project")


@pytest.fixture(scope="module")
def labelled() -> list[CatalogueEntry]:
    files = {"galaxy": "galaxy_tools.tsv", "biomni": "biomni_tools.json", "tooluniverse": "tooluniverse_tools.jsonl.gz"}
    return [
        entry.model_copy(update={"name": f"{kind}:{entry.name}", "catalogue": kind})
        for kind, file in files.items()
        for entry in READERS[kind](DATA / file)
    ]


@pytest.fixture(scope="module")
def plain(labelled: list[CatalogueEntry]) -> list[CatalogueEntry]:
    """The same without the labels that the questions are made of."""
    return [
        entry.model_copy(
            update={"operations": [], "keywords": [word for word in entry.keywords if word not in entry.operations]}
        )
        for entry in labelled
    ]


@pytest.fixture(scope="module")
def searcher(plain: list[CatalogueEntry]) -> HybridRetriever:
    built_in = [spec_entry(spec) for spec in builtin_tools()]
    return HybridRetriever(ToolIndex.build([*plain, *built_in], None))


def bm25(texts: list[str]) -> dict[str, dict[int, float]]:
    """Return token -> row -> score, k1 1.2 and b 0.75."""
    documents = [Counter(re.findall(r"[a-z0-9]+", text.lower())) for text in texts]
    average = sum(sum(document.values()) for document in documents) / len(documents)
    postings: dict[str, dict[int, float]] = {}
    for row, document in enumerate(documents):
        norm = 1.2 * (0.25 + 0.75 * sum(document.values()) / average)
        for token, count in document.items():
            postings.setdefault(token, {})[row] = count * 2.2 / (count + norm)
    for rows in postings.values():
        idf = math.log(1 + (len(texts) - len(rows) + 0.5) / (len(rows) + 0.5))
        for row in rows:
            rows[row] *= idf
    return postings


def recall(ranking: list[str], relevant: set[str]) -> float:
    return len(relevant.intersection(ranking[:15])) / len(relevant)


def test_operations_are_found_better_than_by_bm25(
    labelled: list[CatalogueEntry], plain: list[CatalogueEntry], searcher: HybridRetriever
) -> None:
    relevant: dict[str, set[str]] = {}
    for entry in labelled:
        for operation in entry.operations if entry.catalogue == "galaxy" else ():
            relevant.setdefault(operation, set()).add(entry.name)
    asked = sorted(relevant)[::2]
    assert len(asked) > 100
    postings = bm25([entry_text(entry) for entry in plain])
    ours, theirs = [], []
    for operation in asked:
        total: Counter[int] = Counter()
        for token in re.findall(r"[a-z0-9]+", operation.lower()):
            total.update(postings.get(token, {}))
        theirs.append(recall([plain[row].name for row, _ in total.most_common(15)], relevant[operation]))
        ours.append(recall([tool.name for tool in searcher.search(operation).tools], relevant[operation]))
    assert np.mean(ours) > 1.2 * np.mean(theirs)


@pytest.mark.parametrize(
    ("question", "acceptable"),
    [
        ("trim adapters of my reads", "trimmomatic|cutadapt|fastp|trim|adapter|porechop|atropos"),
        (
            "which taxa are in my metagenome, who is there",
            "kraken|metaphlan|centrifuge|kaiju|bracken|mgnify|sourmash|motus|taxo",
        ),
        ("dock a ligand into a protein", "dock|vina|smina|gnina|diffdock"),
        ("wich drugs interact with drug", "drug|interaction"),
        ("search pubmed for papers", "pubmed|literature|paper|scholar|europepmc|article"),
        ("multiple sequence alignment", "mafft|clustal|muscle|msa|align|coffee|famsa"),
    ],
)
def test_ordinary_questions_lead_to_what_people_use(searcher: HybridRetriever, question: str, acceptable: str) -> None:
    found = [tool.name for tool in searcher.search(question).tools]
    assert len(found) == 15
    assert sum(bool(re.search(acceptable, name, re.IGNORECASE)) for name in found[:8]) >= 4, found


def test_preparation_of_single_cells_comes_with_clustering(searcher: HybridRetriever) -> None:
    found = searcher.search("cluster the cells of my scRNA-seq data", data_types=["anndata"])
    because = " ".join(tool.because_of for tool in found.tools)
    assert "usually comes before single-cell clustering" in because
    assert found.tools[0].runnable
    assert found.stages.search <= 200


def test_a_hundred_questions_in_a_row_leave_nothing_behind(searcher: HybridRetriever) -> None:
    first = searcher.search("call variants").model_dump(exclude={"stages"})
    for number in range(100):
        searcher.search(f"question {number} about gene {number}")
    assert searcher.search("call variants").model_dump(exclude={"stages"}) == first
