"""What is measured of a question and an episode: words, meaning and names, each by itself.

Words meet exactly or nearly: each word of the question is compared with each of the episode, by its meaning and by its
spelling, and counts as much as the nearest is like it. So `lamp` is half covered by `light poles`, a slip of the pen
nearly whole. What stays uncovered tells what neither a shared name nor the nearness of two whole texts tells: that
everyday words are missing means that somebody told it in other words, that a technical term is, that it is not there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from engine.memory.episodes.index import EpisodeIndex
from engine.memory.episodes.reading import DOMAIN, ENTITY, TOOL, Question, spelling
from engine.search.index import Query, ScoreWeights
from engine.search.vectors import best, dots
from engine.text.stopwords import technicality

MOST_CANDIDATES = 50
_ROUGH = ScoreWeights(words=1.0, vector=1.0, names={ENTITY: 0.5, TOOL: 0.3, DOMAIN: 0.2})
"""Brings candidates only; what they are worth is the model's to say."""
_BACKGROUND, _USUAL_MEAN, _USUAL_SPREAD = 20.0, 0.1, 0.1
"""Unrelated texts that every memory is taken to have besides its own, and their cosines with a question: in a memory of
three episodes, too, it can be told whether the nearest is near."""
_LEAST_SPELLING = 0.8
"""Likeness of two words from which it counts, from 0 there to 1 for equal ones (Jaro and Winkler 1990)."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The candidates for a question and what was measured of them; arrays of equal length."""

    rows: np.ndarray
    """In the search engine, int64."""
    measures: Mapping[str, np.ndarray]
    """`words` and `coverage` (share of the question's words that are there, by what they weigh in the texts and by
    rarity), `near` (the same with like words counted in part), `missing` (how much of its rare technical words is not
    even nearly there, summed), `strangest` (the same of the one that is missing most), `cosine` (0 without a vector),
    `standing` (standard deviations above the cosine of an ordinary episode), `entities`, `tools` and `domains` (share
    of the question's)."""
    technical: float
    """Share of the question's words, by rarity, that are not everyday English, 0 to 1."""
    length: float
    """Logarithm of one more than the number of the question's words."""
    hinted: bool
    """Whether whoever asks named tools or fields, which many episodes have, answers or not."""


def measured(
    index: EpisodeIndex,
    asked: Question,
    vector: np.ndarray | None,
    new_words: Mapping[str, np.ndarray],
    kinds: Collection[str],
) -> Measured:
    """Return the best candidates for a question and their measures.

    Args:
        index: the episodes.
        asked: the question, read.
        vector: its unit vector, or None to go by words and names alone.
        new_words: unit vectors of those of its words that no episode has, by form; without a vector when missing.
        kinds: kinds of episodes to look at.
    """
    weights = dict.fromkeys(asked.words, 1.0)
    names = {group: dict.fromkeys(found, 1.0) for group, found in asked.names.items()}
    parts = index.search.parts(Query(words=weights, names=names, vector=vector, kinds=kinds))
    scores = parts.scores(_ROUGH)
    rows = best(scores, MOST_CANDIDATES)
    rows = rows[np.isfinite(scores[rows])]
    covered, technical = _coverage(index, asked, new_words if vector is not None else None, rows)
    nothing = np.zeros(len(rows), np.float32)
    found = {
        "words": np.minimum(1.0, parts.words[rows] / (parts.whole or 1.0)),
        **covered,
        "entities": parts.names[ENTITY][rows],
        "tools": parts.names[TOOL][rows],
        "domains": parts.names[DOMAIN][rows],
        "cosine": nothing,
        "standing": nothing,
    }
    if parts.cosine is not None:
        found["cosine"] = np.nan_to_num(parts.cosine[rows])
        found["standing"] = _standing(parts.cosine[parts.allowed], parts.cosine[rows])
    return Measured(rows, found, technical, float(np.log1p(len(asked.words))), asked.hinted)


def _standing(everyone: np.ndarray, cosines: np.ndarray) -> np.ndarray:
    """Return how many standard deviations cosines are above the mean of all; 0 where one is missing."""
    known = everyone[~np.isnan(everyone)]
    count = len(known) + _BACKGROUND
    mean = (known.sum() + _BACKGROUND * _USUAL_MEAN) / count
    spread = np.sqrt((((known - mean) ** 2).sum() + _BACKGROUND * _USUAL_SPREAD**2) / count)
    return np.nan_to_num((cosines - mean) / spread)


def _coverage(
    index: EpisodeIndex, asked: Question, new_words: Mapping[str, np.ndarray] | None, rows: np.ndarray
) -> tuple[dict[str, np.ndarray], float]:
    """Return `coverage`, `near`, `missing` and `strangest` of each row, and how technical the question is."""
    nearest = np.zeros((len(asked.words), len(rows)), np.float32)
    there = np.zeros((len(asked.words), len(rows)), bool)
    listed = [index.words_of(row) for row in rows.tolist()]
    filled = np.array([len(numbers) > 0 for numbers in listed], bool)
    if asked.words and filled.any():
        starts = np.cumsum([0, *(len(numbers) for numbers in listed)])[:-1]
        numbers, places = np.unique(np.concatenate(listed), return_inverse=True)
        same = np.array([[index.vocabulary.number(form)] for form in asked.words]) == numbers
        likeness = np.maximum(_likeness(index, asked, new_words, numbers), same)
        nearest[:, filled] = np.maximum.reduceat(likeness[:, places], starts[filled], axis=1)
        there[:, filled] = np.logical_or.reduceat(same[:, places], starts[filled], axis=1)
    rarity = _rarity(index, asked)
    whole = max(1e-9, float(rarity.sum()))
    wanted = rarity * np.array([technicality(word.text.lower()) for word in asked.words.values()], np.float32)
    missing = wanted[:, None] * (1 - nearest)
    found = {
        "coverage": rarity @ there / whole,
        "near": rarity @ nearest / whole,
        "missing": missing.sum(axis=0),
        "strangest": missing.max(axis=0, initial=0.0),
    }
    return found, float(wanted.sum()) / whole


def _rarity(index: EpisodeIndex, asked: Question) -> np.ndarray:
    """Return how rare each word of the question is, 1 for one that no episode has.

    Counted among the unrelated texts too: else a name that the only episode has would be as common as can be.
    """
    episodes = index.search.size + _BACKGROUND  # as its counts do, with what was removed
    having = np.array([index.search.words.count(form) for form in asked.words], np.float32)
    rarity = np.log1p((episodes - having + 0.5) / (having + 0.5))
    return rarity / np.log1p((episodes + 0.5) / 0.5)


def _likeness(
    index: EpisodeIndex, asked: Question, new_words: Mapping[str, np.ndarray] | None, numbers: np.ndarray
) -> np.ndarray:
    """Return how like each word of the question is to each of the words of some numbers but itself, 0 to 1."""
    from rapidfuzz import process
    from rapidfuzz.distance import JaroWinkler

    mine = [spelling(word) or "\0" for word in asked.words.values()]  # like no word, not even an empty one
    theirs = index.vocabulary.spellings(numbers)
    alike = process.cdist(mine, theirs, scorer=JaroWinkler.normalized_similarity, score_cutoff=_LEAST_SPELLING)
    found = np.clip((alike - _LEAST_SPELLING) / (1 - _LEAST_SPELLING), 0, 1).astype(np.float32)
    if new_words is not None:
        np.maximum(found, _meanings(index, asked, new_words, numbers), out=found)
    return found


def _meanings(
    index: EpisodeIndex, asked: Question, new_words: Mapping[str, np.ndarray], numbers: np.ndarray
) -> np.ndarray:
    """Return the cosines of the question's words with those of some numbers; 0 where either has no vector."""
    vectors = index.vocabulary.vectors
    found = np.zeros((len(asked.words), len(numbers)), np.float32)
    have = np.flatnonzero(vectors.has(numbers))
    if not len(have):
        return found
    matrix = vectors.of(numbers[have])
    mine = np.zeros((len(asked.words), matrix.shape[1]), np.float32)
    for at, form in enumerate(asked.words):
        number = index.vocabulary.number(form)
        if number >= 0 and vectors.has(np.array([number]))[0]:
            mine[at] = vectors.of(np.array([number]))[0]
        elif form in new_words:
            mine[at] = new_words[form]
    found[:, have] = [dots(matrix, vector) for vector in mine]  # a product of two matrices would wait for threads
    return np.clip(found, 0, 1)
