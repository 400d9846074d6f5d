"""Fits what says whether a question is answered by any tool at all, and prints what it is worth on questions left out.

    python -m benchmarks.fit_match

Writes engine/retrieval/data/match.json. Every question is measured in the catalogues as they are and without labels, as
a catalogue of somebody's own may be. Fitted on a part of the names of operations, the tasks and badly written questions
of this folder, the odd half of `tools_bank.jsonl` (by an outside author), `retrieval_match.tsv` and the first fifty of
`retrieval_off_topic.txt`; the even half of the bank and the other off-topic questions are never looked at. Needs the
development catalogues.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks.retrieval_questions import TASKS, bank, labelled_entries, without_labels  # noqa: E402
from benchmarks.retrieval_questions import questions as labelled_questions  # noqa: E402
from engine.adapters.embedding import load_embedder  # noqa: E402
from engine.retrieval.evidence import GOOD, NONE, weigh  # noqa: E402
from engine.retrieval.indexes.index import ToolIndex, entry_text, method_texts  # noqa: E402
from engine.retrieval.understanding import understand  # noqa: E402
from engine.search.confidence import Confidence  # noqa: E402
from engine.search.vectors import dots  # noqa: E402

MODEL = ROOT / "engine" / "retrieval" / "data" / "match.json"
FOLDS, RIDGE = 5, 2.0
WORDS = ("share", "method_words", "elsewhere_words", "unknown")
"""The measures that need no vector."""


def questions(named: list[str]) -> list[tuple[str, bool]]:
    """Return questions and whether a tool answers them, each source in turn so that folds have some of each.

    Args:
        named: names of operations and keywords, for which there are tools.
    """
    folder = TASKS.parent
    lines = [line.split("\t") for line in (folder / "retrieval_match.tsv").read_text("utf-8").splitlines()]
    found = [(text, label == "1") for label, text in lines]
    for name in ("retrieval_tasks.tsv", "retrieval_rough.tsv"):
        found += [(line.split("\t")[0], True) for line in (folder / name).read_text("utf-8").splitlines()]
    found += [(line, False) for line in (folder / "retrieval_off_topic.txt").read_text("utf-8").splitlines()[:50]]
    found += [(text, True) for text in named[::6]]
    return found + [(need["query"], bool(need["relevant"])) for need in bank() if need["half"] == "odd"]


def measured(index: ToolIndex, query: str, embed: Callable[[str], np.ndarray]) -> dict[str, float]:
    """Return the measures of a question."""
    asked = understand(index, query)
    assert index.vectors is not None
    vector = embed(asked.text)
    return weigh(
        index, asked, index.texts.bm25(asked.words), dots(index.vectors, vector), index.methods.nearness(vector)
    ).measures


def shares(found: np.ndarray, answered: np.ndarray) -> str:
    """Return in words how many of each kind are told right."""
    good, none = found >= GOOD, found < NONE
    return (
        f"answerable called good {good[answered].mean():.3f}, none {none[answered].mean():.3f}; "
        f"nonsense not called good {(~good)[~answered].mean():.3f}, none {none[~answered].mean():.3f}"
    )


def main() -> None:
    """Measure, fit, check on questions left out, write."""
    embedder = load_embedder("all-MiniLM-L6-v2")
    assert embedder is not None
    embed = embedder.embed
    labelled = labelled_entries()
    kinds = labelled_questions(labelled)
    asked = questions([text for kind in ("EDAM operation names", "nf-core keywords") for text, _ in kinds[kind]])
    rows: list[dict[str, float]] = []
    for entries in (labelled, [without_labels(entry) for entry in labelled]):
        vectors = embedder.embed([entry_text(entry) for entry in entries])
        index = ToolIndex.build(entries, vectors, embedder.embed(method_texts()))
        rows += [measured(index, query, lambda text: embed([text])[0]) for query, _ in asked]
    fold_of = np.tile(np.arange(len(asked)) % FOLDS, 2)
    answered = np.tile([label for _, label in asked], 2)
    models: dict[str, Confidence] = {}
    for name, keys in (("vectors", list(rows[0])), ("words", WORDS)):
        kept = [{key: row[key] for key in keys} for row in rows]
        left_out = np.zeros(len(kept))
        for fold in range(FOLDS):
            rest, out = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
            model = Confidence.fit([kept[place] for place in rest], answered[rest].tolist(), ridge=RIDGE)
            left_out[out] = [model.probability(kept[place]) for place in out]
        models[name] = Confidence.fit(kept, answered.tolist(), ridge=RIDGE)
        print(f"{name}: {len(asked)} questions; left out: {shares(left_out, answered)}")
        for place in np.argsort(np.where(answered, left_out, 1 - left_out))[:12].tolist():
            print(f"   {left_out[place]:.2f} {answered[place]} {asked[place % len(asked)][0]}")
    MODEL.write_text(json.dumps({name: asdict(model) for name, model in models.items()}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
