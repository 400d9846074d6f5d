"""Fits what recall weighs its measures by, and prints how well weights do on laboratories they were not fitted on.

    python -m benchmarks.fit_recall [--write]

Fitted on the questions of `recall_data` that are not marked as unseen, each asked with and without hints, of the whole
memory and of parts of it. A question whose records are all taken out has no answer: so every question is also one that
memory cannot answer, and how a question is put says nothing of whether it can. `--write` keeps the weights.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import recall_data  # noqa: E402
from engine.adapters.embedding import load_embedder  # noqa: E402
from engine.domain.memory import Episode  # noqa: E402
from engine.memory.episodes import relevance  # noqa: E402
from engine.memory.episodes.index import FAILED, SUCCEEDED, EpisodeIndex  # noqa: E402
from engine.memory.episodes.measures import Measured, measured  # noqa: E402
from engine.memory.episodes.reading import read  # noqa: E402
from engine.memory.episodes.relevance import RelevanceModel, of_the_best  # noqa: E402
from engine.memory.episodes.vectors import meaning_texts  # noqa: E402
from engine.search.confidence import Confidence  # noqa: E402

WEIGHTS = ROOT / "engine" / "memory" / "episodes" / "relevance.json"
MEANINGS = ("cosine", "standing")
RIDGE_ORDER, RIDGE_ANSWERS = 5.0, 3.0
SILENT = 0.8
"""Share of the unanswerable questions on which recall keeps silent at its usual least relevance."""
USUAL_LEAST = 0.25


@dataclass(frozen=True, slots=True)
class Case:
    """A question put to a memory."""

    lab: str
    query: recall_data.Query
    whole: bool
    """Whether it was put to all that the laboratory remembers."""
    hints: bool
    found: Measured
    grades: np.ndarray
    """Of the candidates."""
    ideal: tuple[int, ...]
    """Grades of all records that are relevant, highest first; empty when there is no answer."""

    @property
    def answered(self) -> bool:
        return bool(self.ideal)


class Vectors:
    """Vectors by text, made once."""

    def __init__(self) -> None:
        embedder = load_embedder("all-MiniLM-L6-v2")
        assert embedder is not None
        self._embedder = embedder
        self._known: dict[str, np.ndarray] = {}

    def of(self, texts: Sequence[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(new), 256):
            part = new[start : start + 256]
            self._known.update(zip(part, self._embedder.embed(part), strict=True))
        return np.array([self._known[text] for text in texts])


def built(episodes: Sequence[Episode], vectors: Vectors | None) -> EpisodeIndex:
    """Return an index of episodes, with the vectors of episodes and words."""
    index = EpisodeIndex()
    index.add(episodes)
    if vectors is not None:
        both = vectors.of([text for episode in episodes for text in meaning_texts(episode)])
        index.put_vectors(episodes, both[0::2] + both[1::2])
        words = index.vocabulary.lacking_vectors(1_000_000)
        matrix = vectors.of([word.text for word in words])
        matrix[[word.is_identifier for word in words]] = 0.0
        index.vocabulary.put_vectors(matrix)
    return index


def ask(index: EpisodeIndex, query: recall_data.Query, vectors: Vectors | None, *, hints: bool) -> Measured:
    """Return the measures of a question."""
    given = {"tools": query.tools, "domains": query.domains} if hints else {}
    asked = read(query.text, index.known, **given)
    if vectors is None:
        return measured(index, asked, None, {}, (SUCCEEDED, FAILED))
    new = [
        word for word in asked.words.values() if not word.is_identifier and not index.vocabulary.has_vector(word.form)
    ]
    made = vectors.of([query.text, *(word.text for word in new)])
    return measured(index, asked, made[0], {w.form: v for w, v in zip(new, made[1:], strict=True)}, (SUCCEEDED, FAILED))


def cases(lab: recall_data.Lab, vectors: Vectors | None, draw: np.random.Generator) -> list[Case]:
    """Return the questions of a laboratory, put to all of its memory and to parts of it."""
    found = []
    whole = built(lab.episodes, vectors)
    for query in lab.queries:
        others = [episode for episode in lab.episodes if episode.id not in query.grades]
        size = int(draw.choice([8, 20, 40]))
        few = [others[place] for place in draw.permutation(len(others))[:size]]
        relevant = [episode for episode in lab.episodes if episode.id in query.grades]
        memories = [(lab.episodes, whole)]
        if query.half != recall_data.UNSEEN:
            memories += [(few, None)] + ([(others, None), ([*few, *relevant], None)] if relevant else [])
        for episodes, index in memories:
            index = index or built(episodes, vectors)
            ideal = tuple(sorted((query.grades[e.id] for e in episodes if e.id in query.grades), reverse=True))
            for hints in (True, False):
                measures = ask(index, query, vectors, hints=hints)
                grades = np.array([query.grades.get(index.at(row).id, 0) for row in measures.rows.tolist()])
                found.append(Case(lab.name, query, episodes is lab.episodes, hints, measures, grades, ideal))
    return found


def fit(given: Sequence[Case], *, vectors: bool) -> RelevanceModel:
    """Return the model fitted on cases."""
    names = [name for name in relevance.ORDER if vectors or name not in MEANINGS]
    order = fit_order([case for case in given if case.answered], names)
    answers = fit_answers(given, order)
    shut = RelevanceModel(order, answers)
    # Of banks whose author did not know the code.
    asked = [case for case in given if not case.answered and case.whole and case.query.bank != "own"]
    empty = [shut.relevance(case.found).max() for case in asked]
    bar = logit(float(np.quantile(empty, SILENT)))
    bias = answers.bias - bar + logit(USUAL_LEAST)
    return RelevanceModel(order, Confidence(answers.weights, round(float(bias), 6)))


def fit_order(given: Sequence[Case], names: list[str]) -> Confidence:
    """Fit which candidate is meant: each question counts the same, its records by their gain."""
    values, outcomes, shares = [], [], []
    for case in given:
        gain = (2.0**case.grades - 1) / 7
        if not gain.any():
            continue
        rows = [
            dict(zip(names, row, strict=True)) for row in zip(*(case.found.measures[n] for n in names), strict=True)
        ]
        values += [*rows, *rows]
        outcomes += [np.ones(len(gain)), np.zeros(len(gain))]
        shares += [gain / gain.sum(), (1 - gain) / max(1e-9, (1 - gain).sum())]
    outcome, share = np.concatenate(outcomes).tolist(), np.concatenate(shares)
    return Confidence.fit(values, outcome, ridge=RIDGE_ORDER, share=share)


def fit_answers(given: Sequence[Case], order: Confidence) -> Confidence:
    """Fit whether the best candidates answer; both outcomes count the same in all."""
    model = RelevanceModel(order, order)
    rows = [of_the_best(case.found, model.scores(case.found.measures)) for case in given]
    outcome = np.array([float(case.answered) for case in given])
    # The questions as they were put count as much as all that were made of them.
    share = np.array([1.0 if case.whole else 0.5 for case in given])
    for value in (0.0, 1.0):
        share[outcome == value] /= share[outcome == value].sum() / (len(given) / 2)
    return Confidence.fit(rows, outcome.tolist(), ridge=RIDGE_ANSWERS, share=share)


def logit(probability: float) -> float:
    return float(np.log(probability / (1 - probability)))


def mark(case: Case, model: RelevanceModel, least: float) -> float:
    """Return nDCG@5 of what passes."""
    fits = model.relevance(case.found)
    order = [place for place in np.argsort(-fits, kind="stable") if fits[place] >= least][:5]
    best = sum((2**grade - 1) / np.log2(place + 2) for place, grade in enumerate(case.ideal[:5]))
    return float(sum((2 ** case.grades[at] - 1) / np.log2(place + 2) for place, at in enumerate(order)) / best)


def line(name: str, given: Sequence[tuple[Case, RelevanceModel]]) -> str:
    """Return how well models do on cases."""
    told = [mark(case, model, USUAL_LEAST) for case, model in given if case.answered]
    opened = [mark(case, model, 0.0) for case, model in given if case.answered]
    empty = [model.relevance(case.found).max() < USUAL_LEAST for case, model in given if not case.answered]
    return (
        f"{name}: nDCG@5 told {np.mean(told):.3f}, gate open {np.mean(opened):.3f}, silent {sum(empty)} of {len(empty)}"
    )


def main() -> None:
    weights = {}
    for way, vectors in (("vectors", Vectors()), ("words", None)):
        draw = np.random.default_rng(5)
        every = [case for lab in recall_data.labs() for case in cases(lab, vectors, draw)]
        seen = [case for case in every if case.query.half != recall_data.UNSEEN]
        crossed = []
        for lab in dict.fromkeys(case.lab for case in seen):
            model = fit([case for case in seen if case.lab != lab], vectors=vectors is not None)
            crossed += [(case, model) for case in seen if case.lab == lab]
        for hints in (True, False):
            for bank in ("own", "same", "labs"):
                here = [(c, m) for c, m in crossed if c.whole and c.hints == hints and c.query.bank == bank]
                print(line(f"{way}, {'hints' if hints else 'no hints'}, {bank}, by laboratories left out", here))
            parts = [(c, m) for c, m in crossed if not c.whole and c.hints == hints]
            print(line(f"{way}, {'hints' if hints else 'no hints'}, parts of memories", parts))
        model = fit(seen, vectors=vectors is not None)
        weights[way] = {"order": asdict(model.order), "answers": asdict(model.answers)}
    print(json.dumps(weights, indent=1))
    if "--write" in sys.argv:
        WEIGHTS.write_text(json.dumps(weights, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
