"""How well and how fast tools are found, beside BM25 alone and the embedding model alone on the very same texts.

    python benchmarks/bench_retrieval.py [--rounds 3]

Quality needs the development catalogues beside the project (../shared/data/tool_catalogues); without them only the
times are measured, on made-up descriptions. See `retrieval_questions.py` for the questions. Embedding about 9,600 texts
takes about a minute.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks.measuring import arguments, report, summary, target  # noqa: E402
from benchmarks.retrieval_questions import (  # noqa: E402
    DATA,
    TASKS,
    Bm25,
    Question,
    bank,
    bank_marks,
    by_suite,
    labelled_entries,
    names_in_bank,
    questions,
    recall_and_ndcg,
    without_labels,
)
from engine.adapters.embedding import load_embedder  # noqa: E402
from engine.domain.retrieval import CatalogueEntry  # noqa: E402
from engine.errors import ModelUnavailable  # noqa: E402
from engine.ports.embedder import Embedder  # noqa: E402
from engine.retrieval.hybrid import HybridRetriever  # noqa: E402
from engine.retrieval.indexes.index import ToolIndex, entry_text, method_texts  # noqa: E402

TOOLS = 20_000
GOAL = 1.2
ROUGH = Path(__file__).with_name("retrieval_rough.tsv")
OFF_TOPIC = Path(__file__).with_name("retrieval_off_topic.txt")
Ranker = Callable[[str], Sequence[int]]


def rankers(entries: list[CatalogueEntry], embedder: Embedder | None, vectors: np.ndarray | None) -> dict[str, Ranker]:
    """Return what is compared, by name."""
    bm25 = Bm25([entry_text(entry) for entry in entries])
    found: dict[str, Ranker] = {"BM25": lambda query: np.argsort(-bm25.scores(query), kind="stable")[:200].tolist()}
    methods = None
    if embedder is not None and vectors is not None:
        found["MiniLM"] = lambda query: np.argsort(-(vectors @ embedder.embed([query])[0]), kind="stable")[
            :200
        ].tolist()
        methods = embedder.embed(method_texts())
    for candidates in (50, 200):
        retriever = HybridRetriever(
            ToolIndex.build(entries, vectors, methods),
            embed_query=(lambda query: embedder.embed([query])[0]) if embedder is not None else None,
        )
        found[f"Biodesk, {candidates} candidates"] = _ranker(retriever, candidates)
    return found


def _ranker(retriever: HybridRetriever, candidates: int) -> Ranker:
    rows = retriever.index.rows

    def rank(query: str) -> list[int]:
        return [rows[tool.name] for tool in retriever.search(query, candidates=candidates).tools]

    return rank


def quality(
    entries: list[CatalogueEntry], kinds: dict[str, list[Question]], compared: dict[str, Ranker]
) -> list[dict[str, Any]]:
    """Return a row for each kind of question: recall@15 and nDCG@15 by tool and by suite."""
    keys = {(entry.catalogue, entry.suite or entry.name) for entry in entries}
    numbers = {key: place for place, key in enumerate(sorted(keys))}
    suites = [numbers[entry.catalogue, entry.suite or entry.name] for entry in entries]
    rows: list[dict[str, Any]] = []
    for kind, asked in kinds.items():
        for name, rank in compared.items():
            figures = []
            for query, relevant in asked:
                ranking = list(rank(query))[:15]
                of_tools = recall_and_ndcg(ranking, relevant)
                figures.append([*of_tools, *recall_and_ndcg(*by_suite(ranking, relevant, suites))])
            mean = np.mean(figures, axis=0)
            labels = ("recall", "ndcg", "suite_recall", "suite_ndcg")
            values = {label: round(float(value), 4) for label, value in zip(labels, mean, strict=True)}
            rows.append({"questions": kind, "n": len(asked), "how": name, **values})
            print(f"{kind:28}{len(asked):>5} {name:26}" + "".join(f"{value:>8.3f}" for value in mean), flush=True)
    return rows


def ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the targets: what the better baseline has of ours, at most 1 / GOAL."""
    found = []
    for kind in dict.fromkeys(row["questions"] for row in rows):
        for figure in ("recall", "ndcg"):
            values = {row["how"]: row[figure] for row in rows if row["questions"] == kind}
            best = max(value for how, value in values.items() if not how.startswith("Biodesk"))
            ours = max(values["Biodesk, 200 candidates"], 1e-9)
            found.append(target(f"{kind}, {figure}@15: better baseline / ours", best / ours, round(1 / GOAL, 3)))
    return found


def outsiders_bank(retriever: HybridRetriever) -> list[dict[str, Any]]:
    """Return recall@15, nDCG@10 and how well `match` tells needs that a tool serves from others, by half of the bank.

    The match is fitted on the odd half among others; the even half was never looked at.
    """
    rows: list[dict[str, Any]] = []
    names = {entry.name: names_in_bank(entry) for entry in retriever.index.entries}
    for half in ("odd", "even"):
        found: dict[str, list[tuple[float, ...]]] = {}
        for need in (need for need in bank() if need["half"] == half):
            answer = retriever.search(need["query"], top=60)
            if need["relevant"]:
                marks = bank_marks(need, [names[tool.name] for tool in answer.tools])
                for kind in (need["kind"], "all"):
                    found.setdefault(kind, []).append((*marks, float(answer.match == "good")))
            else:
                found.setdefault("nothing serves", []).append((0.0, 0.0, float(answer.match == "good")))
        for kind, marks in found.items():
            recall, ndcg, good = np.mean(marks, axis=0)
            labels = {"bank": half, "questions": kind, "n": len(marks)}
            rows.append({**labels, "recall": round(recall, 4), "ndcg10": round(ndcg, 4), "good": round(good, 4)})
            print(
                f"bank, {half:5}{kind:18}{len(marks):>5}{recall:>8.3f}{ndcg:>8.3f}   called good {good:.3f}", flush=True
            )
    return rows


def understanding(retriever: HybridRetriever) -> list[dict[str, Any]]:
    """Return how badly written questions are understood, and how many questions of no sense are told apart.

    `retrieval_rough.tsv` holds typing errors, other languages, abbreviations, formats and letters, each with a pattern
    of names of which one should be among the first five; `retrieval_off_topic.txt` what no tool has to do with, its
    first fifty lines seen by `fit_match`.
    """
    lines = [line.split("\t") for line in ROUGH.read_text(encoding="utf-8").splitlines()]
    hits = [
        any(re.search(wanted, tool.name, re.IGNORECASE) for tool in retriever.search(query, top=5).tools)
        for query, wanted in lines
    ]
    strange = OFF_TOPIC.read_text(encoding="utf-8").splitlines()
    told = [retriever.search(query).match != "good" for query in strange]
    wrongly = [retriever.search(line.split("\t")[0]).match != "good" for line in TASKS.read_text("utf-8").splitlines()]
    return [
        target("badly written questions without a fitting tool in the first five", 1 - float(np.mean(hits)), 0.1),
        target("questions of no sense taken for a good match, held out", 1 - float(np.mean(told[50:])), 0.1),
        target("tasks of users said to match weakly", float(np.mean(wrongly)), 0.05),
    ]


def padded(entries: list[CatalogueEntry], vectors: np.ndarray) -> tuple[list[CatalogueEntry], np.ndarray]:
    """Return `TOOLS` tools: the real ones and copies with shuffled words and slightly turned vectors."""
    draw, noise = random.Random(1), np.random.default_rng(1)
    rows = [draw.randrange(len(entries)) for _ in range(max(0, TOOLS - len(entries)))]
    copies = []
    for place, row in enumerate(rows):
        said = entries[row].description.split()[:60]
        draw.shuffle(said)
        copies.append(
            entries[row].model_copy(update={"name": f"copy_{place}", "description": " ".join(said) or "tool"})
        )
    turned = vectors[rows] + 0.03 * noise.standard_normal((len(rows), vectors.shape[1]), dtype=np.float32)
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    return [*entries, *copies][:TOOLS], np.vstack([vectors, turned]).astype(np.float32)[:TOOLS]


def times(
    entries: list[CatalogueEntry], vectors: np.ndarray, embedder: Embedder | None, rounds: int
) -> dict[str, list]:
    """Return milliseconds of each stage at `TOOLS` tools."""
    entries, vectors = padded(entries, vectors)
    width = vectors.shape[1]
    draw = np.random.default_rng(2)
    methods = draw.standard_normal((len(method_texts()), width), np.float32)
    if embedder is not None:
        methods = embedder.embed(method_texts())
    began = time.perf_counter()
    index = ToolIndex.build(entries, vectors, methods)
    retriever = HybridRetriever(
        index,
        embed_query=(lambda query: embedder.embed([query])[0])
        if embedder is not None
        else (lambda _query: draw.standard_normal(width, dtype=np.float32)),
    )
    retriever.warm()
    spent: dict[str, list] = {"build": [(time.perf_counter() - began) * 1000]}
    asked = [line.split("\t")[0] for line in TASKS.read_text(encoding="utf-8").splitlines()]
    for candidates in (50, 200):
        retriever.search(asked[0], candidates=candidates)
        for query in asked * rounds:
            for stage, seconds in retriever.search(query, candidates=candidates).stages.seconds.items():
                spent.setdefault(f"{stage} {candidates}", []).append(seconds * 1000)
            spent.setdefault(f"beyond {candidates}", []).append(
                spent[f"total {candidates}"][-1] - spent[f"embed {candidates}"][-1]
            )
    return spent


def main() -> None:
    """Measure, compare, report."""
    options = arguments(__doc__ or "", rounds=3)
    notes: list[str] = []
    embedder = load_embedder("all-MiniLM-L6-v2")
    try:
        width = len(embedder.embed(["ready"])[0]) if embedder is not None else 384
    except ModelUnavailable as err:
        embedder, width = None, 384
        notes.append(f"The embedding model is missing ({err.message}): words and links only.")
    rows: list[dict[str, Any]] = []
    told: list[dict[str, Any]] = []
    served: list[dict[str, Any]] = []
    if DATA.is_dir():
        labelled = labelled_entries()
        entries = [without_labels(entry) for entry in labelled]
        vectors = embedder.embed([entry_text(entry) for entry in entries]) if embedder is not None else None
        print(f"{'':60}{'R@15':>8}{'nDCG':>8}{'suite R':>8}{'nDCG':>8}")
        rows = quality(entries, questions(labelled), rankers(entries, embedder, vectors))
        if embedder is not None and vectors is not None:
            index = ToolIndex.build(entries, vectors, embedder.embed(method_texts()))
            told = understanding(HybridRetriever(index, embed_query=lambda query: embedder.embed([query])[0]))
            vectors_of_all = embedder.embed([entry_text(entry) for entry in labelled])
            whole = ToolIndex.build(labelled, vectors_of_all, embedder.embed(method_texts()))
            served = outsiders_bank(HybridRetriever(whole, embed_query=lambda query: embedder.embed([query])[0]))
    else:
        notes.append(f"{DATA} is not there: quality was not measured, and the times are for made-up descriptions.")
        entries = [CatalogueEntry(name=f"tool_{row}", description=text) for row, text in enumerate(method_texts())]
        vectors = embedder.embed([entry_text(entry) for entry in entries]) if embedder is not None else None
    if vectors is None:
        vectors = np.random.default_rng(0).standard_normal((len(entries), width), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    spent = times(entries, vectors, embedder, options.rounds)
    table = [summary(f"{name} at {TOOLS:,} tools", values, unit="ms", digits=2) for name, values in spent.items()]
    p50 = {name: float(np.median(values)) for name, values in spent.items()}
    goals = [
        target("search, top 50, p50", p50["search 50"], 5, unit=" ms"),
        target("search with the query's embedding, p50", p50["search 50"] + p50["embed 50"], 20, unit=" ms"),
        target("expansion, p50", p50["expand 200"], 10, unit=" ms"),
        *(ratios(rows) if embedder is not None else []),
        *told,
    ]
    report("retrieval", table, goals, notes, quality=rows, bank=served, tools=TOOLS)


if __name__ == "__main__":
    main()
