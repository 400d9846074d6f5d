"""Stage 1: every tool gets a score for its text; the best go on.

The score of a tool for a question is a weighted sum of
  lexical    BM25F of the question's words and, at a lower weight, of the names of the methods the question is about;
  semantic   cosine with the question's vector, moved towards those methods and towards the best tools so far
             (pseudo-relevance feedback in the space of the vectors; Rocchio 1971);
  method     how sure it is that the question is about a method, for the tools known to do it;
and then, among the candidates, of the scores of the tools whose texts resemble it (cluster hypothesis; van Rijsbergen
1979). A question that one tool's description fits better than it fits any method is probably looking for that tool, so
methods and neighbours then count less. The weights were chosen on one half of the development questions and checked on
the other (benchmarks/bench_retrieval.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from engine.retrieval.evidence import NOTHING, SURE_WORDS, Evidence, weigh
from engine.retrieval.index import ToolIndex
from engine.retrieval.understanding import Understood
from engine.search.vectors import dots, spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What counts how much in a search."""

    lexical: float = 0.6
    lexical_short: float = 0.7
    """The same for a question of at most `short` words, whose vector says little."""
    short: int = 4
    program: float = 0.35
    doubt: float = 2.0
    """Power of a method's certainty: a question that shares one word with a method is hardly about it."""
    own_text: float = 0.5
    """Share of what a method gives its tools that depends on their own texts: a suite holds helpers too."""
    synonyms: float = 0.25
    towards_methods: float = 0.15
    feedback: float = 0.15
    feedback_tools: int = 10
    plain_from: float = 0.5
    plain_width: float = 0.3
    """From which cosine on, and by how much more surely, an everyday phrase of a method says what the question says."""
    plain_lead: float = 0.1
    """How much nearer the phrase must be than the method's own names: else the question knows the term."""
    plain_words: int = 2
    """A question of fewer words is a keyword."""
    plain_synonyms: float = 0.6
    plain_towards: float = 0.8
    plain_scenery: float = 0.3
    """What a question in everyday words loses of its own words' weight, which are not those of descriptions."""
    methods: int = 2
    least_method: float = 0.15
    method_semantic: float = 0.2
    neighbours: float = 0.7
    sharpness: int = 5
    """Power of the cosine between neighbours: the higher, the fewer of them count."""
    self_support: float = 0.3
    specific_from: float = -0.05
    specific_width: float = 0.2
    specific_methods: float = 0.4
    """What methods still count for a question that looks for one particular tool; neighbours count nothing then."""


WEIGHTS = Weights()
_SAMPLE = 29
"""Every how many tools one is looked at to know what is ordinary."""
_POOL = 1000
"""Tools that feedback looks at; the rest cannot rise into the candidates any more."""
_FAINT = 0.3


@dataclass(frozen=True, slots=True)
class MatchedMethod:
    """A method the question is about, and how surely, 0 to 1."""

    row: int
    weight: float
    plain: float = 0.0
    """How surely the question says in everyday words what the method is, 0 to 1."""


@dataclass(slots=True)
class Candidates:
    """What stage 1 found; all arrays are over all tools of the index."""

    rows: np.ndarray
    """The candidates, best first."""
    score: np.ndarray
    """0 to 1, the best candidate having 1."""
    lexical: np.ndarray
    semantic: np.ndarray | None
    program: np.ndarray
    methods: list[MatchedMethod] = field(default_factory=list)
    words: dict[str, float] = field(default_factory=dict)
    corrected: dict[str, str] = field(default_factory=dict)
    """Word as asked -> word it was taken for."""
    named: bool = False
    """The question is the name of a tool."""
    evidence: Evidence | None = None
    """How well anything fits at all; None when nothing was searched for."""
    notes: list[str] = field(default_factory=list)
    embed_seconds: float = 0.0
    search_seconds: float = 0.0


def search(
    index: ToolIndex, asked: Understood, *, count: int, vector: np.ndarray | None, weights: Weights = WEIGHTS
) -> Candidates:
    """Find the `count` best tools for a question; none when it has no word or meaning that any tool has.

    Args:
        index: the tools.
        asked: the question.
        count: how many at most.
        vector: the question's unit vector, or None to search by words alone.
        weights: what counts how much.
    """
    began = perf_counter()
    wanted = asked.words
    size = len(index)
    nothing = np.zeros(0, np.int64)
    found = Candidates(
        rows=nothing,
        score=np.zeros(size, np.float32),
        lexical=np.zeros(size, np.float32),
        semantic=None,
        program=np.zeros(size, np.float32),
        words=wanted,
        corrected=asked.corrected,
    )
    if size == 0:
        found.notes.append("There are no tools to search; import a catalogue with `biodesk tools import`.")
        return found
    if not wanted and not asked.unknown:
        found.notes.append(
            "The question has no word that could be searched for; say what you want to do with your data."
        )
        return found
    cosines = dots(index.vectors, vector) if index.vectors is not None and vector is not None else None
    direct = index.texts.bm25(wanted)
    found.evidence = weigh(index, asked, direct, cosines, vector)
    if found.evidence.nothing:
        found.notes.append(NOTHING)
        found.search_seconds = perf_counter() - began
        return found
    found.methods, trust = _methods(index, wanted, vector, cosines, weights)
    _score(index, found, direct, cosines, vector, trust, weights)
    _choose(index, found, count, trust, weights, direct)
    found.search_seconds = perf_counter() - began
    return found


def _methods(
    index: ToolIndex,
    wanted: dict[str, float],
    vector: np.ndarray | None,
    cosines: np.ndarray | None,
    weights: Weights,
) -> tuple[list[MatchedMethod], float]:
    """Return the methods the question is about, and how much they and neighbours are to be trusted, 0 to 1."""
    methods = index.methods
    by_words = methods.words.bm25(wanted)
    top = float(by_words.max(initial=0.0))
    # Share of the best method's score, held back when even the best shares little with the question.
    sure = by_words / top * min(1.0, top / SURE_WORDS) if top > 0 else by_words
    trust = 1.0
    plain = np.zeros(len(sure), np.float32)
    if methods.vectors is not None and vector is not None:
        named, near, _ = methods.nearness(vector)
        if len(wanted) >= weights.plain_words:
            lead = near - named > weights.plain_lead
            plain = np.clip((near - weights.plain_from) / weights.plain_width, 0, 1) * lead
        share = weights.method_semantic
        sure = np.maximum((1 - share) * sure + share * np.clip((named - 0.25) / 0.5, 0, 1), plain)
        if cosines is not None:
            lead = float(cosines.max()) - float((near if plain.any() else named).max())
            trust = 1 - min(1.0, max(0.0, (lead - weights.specific_from) / weights.specific_width))
    best = np.argsort(-sure, kind="stable")[: weights.methods]
    found = [MatchedMethod(int(row), float(sure[row]), float(plain[row])) for row in best]
    return [match for match in found if match.weight > weights.least_method], trust


def _score(
    index: ToolIndex,
    found: Candidates,
    direct: np.ndarray,
    cosines: np.ndarray | None,
    vector: np.ndarray | None,
    trust: float,
    weights: Weights,
) -> None:
    """Fill in the parts and their sum."""
    belief = weights.specific_methods + (1 - weights.specific_methods) * trust
    expanded: dict[str, float] = {}
    for match in found.methods:
        extra = (weights.synonyms * belief + weights.plain_synonyms * match.plain) * match.weight
        for word in index.methods.synonyms[match.row]:
            if word not in found.words and extra > 0:
                expanded[word] = max(expanded.get(word, 0.0), extra)
    plain = max((match.plain for match in found.methods), default=0.0)
    lexical = (1 - weights.plain_scenery * plain) * direct
    lexical = lexical + index.texts.bm25(expanded) if expanded else lexical
    found.lexical = lexical / max(float(lexical.max()), 1e-9)
    named = weights.program * belief * _known_for(index, found, weights)
    if cosines is None or vector is None or index.vectors is None:
        found.score = found.lexical + named
        return
    share = weights.lexical_short if len(found.words) <= weights.short else weights.lexical
    fixed = share * found.lexical + named
    nearness, target = _towards_methods(index, found.methods, cosines, vector, belief, weights)
    found.semantic = spread(nearness, _SAMPLE)
    found.score = fixed + (1 - share) * found.semantic
    pool = _top(found.score, _POOL)
    liked = pool[np.argsort(-found.score[pool], kind="stable")[: weights.feedback_tools]]
    centre = found.score[liked] @ index.vectors[liked]
    centre /= max(float(np.linalg.norm(centre)), 1e-9)
    target = target + weights.feedback * centre
    again = dots(index.vectors[pool], target / np.linalg.norm(target))
    low = float(np.median(nearness[::_SAMPLE]))
    found.semantic = found.semantic * 0.5
    found.semantic[pool] = np.clip((again - low) / max(float(again.max()) - low, 1e-9), 0, 1)
    found.score[pool] = fixed[pool] + (1 - share) * found.semantic[pool]


def _known_for(index: ToolIndex, found: Candidates, weights: Weights) -> np.ndarray:
    """Note which tools are known for the question's methods; return what that is worth, 0 to 1, for every tool."""
    worth = np.zeros(len(index), np.float32)
    similar = index.methods.similar
    for match in found.methods:
        known = index.tools_of(match.row)
        if not len(known):
            continue
        found.program[known] = np.maximum(found.program[known], match.weight)
        value = np.full(len(known), match.weight**weights.doubt, np.float32)
        if similar is not None:
            likeness = similar[match.row][known].astype(np.float32)
            fit = np.clip(likeness / max(float(likeness.max()), 1e-6), 0, 1)
            value *= 1 - weights.own_text + weights.own_text * fit
        worth[known] = np.maximum(worth[known], value)
    return worth


def _towards_methods(
    index: ToolIndex,
    matches: list[MatchedMethod],
    cosines: np.ndarray,
    vector: np.ndarray,
    belief: float,
    weights: Weights,
) -> tuple[np.ndarray, np.ndarray]:
    """Return cosines (up to a factor) with the question's vector moved towards its methods, and that vector.

    The cosines of all tools with all methods are known, so no tool's vector is touched.
    """
    methods = index.methods
    if methods.vectors is None or methods.similar is None or not matches:
        return cosines, vector
    moved = vector.astype(np.float32)
    nearness = cosines.copy()
    for match in matches:
        step = (weights.towards_methods * belief + weights.plain_towards * match.plain) * match.weight
        moved = moved + np.float32(step) * methods.vectors[methods.starts[match.row]]
        nearness += np.float32(step) * methods.similar[match.row]
    length = float(np.linalg.norm(moved))
    return nearness / np.float32(length), moved / length


def _choose(
    index: ToolIndex, found: Candidates, count: int, trust: float, weights: Weights, direct: np.ndarray
) -> None:
    """Pick the candidates, let alike tools support each other, and scale the scores to 0..1."""
    rows = _top(found.score, min(max(count, 50), len(index)))
    # A tool must have a word of the question, a vector near it, or a name known for what it asks for.
    meant = (direct[rows] > 0) | (found.program[rows] > 0)
    if found.semantic is not None and index.vectors is not None:
        meant |= found.semantic[rows] >= 0.5
    rows = rows[meant]
    if len(rows) == 0:
        found.notes.append(NOTHING)
        return
    share = weights.neighbours * trust
    if found.semantic is not None and index.vectors is not None and share > 0 and len(rows) > 1:
        near = index.vectors[rows]
        cosines = np.clip(dots(near, near.T), 0, 1)
        alike = cosines.copy()
        for _ in range(weights.sharpness - 1):  # five products are ten times faster than a power
            alike *= cosines
        np.fill_diagonal(alike, 0)
        own = found.score[rows]
        # A tool counts as one of its own neighbours, so that a lonely one does not take over what it hardly resembles.
        support = (alike @ own + weights.self_support * own) / (alike.sum(axis=1) + weights.self_support)
        found.score[rows] = (1 - share) * own + share * support
    order = np.argsort(-found.score[rows], kind="stable")[:count]
    found.score = np.clip(found.score / max(float(found.score[rows[order[0]]]), 1e-9), 0, 1)
    ranked = rows[order]
    # Likeness of meaning alone, and little of it, is no reason to be shown.
    shown = (direct[ranked] > 0) | (found.program[ranked] > 0) | (found.score[ranked] >= _FAINT)
    found.rows = ranked[shown]


def _top(scores: np.ndarray, count: int) -> np.ndarray:
    """Return the rows of the `count` highest scores, in no order."""
    if count >= len(scores):
        return np.arange(len(scores))
    return np.argpartition(-scores, count)[:count]
