"""Stage 1: every tool gets a score for its text; the best go on.

The score of a tool for a question is a weighted sum of
  lexical    BM25F of the question's words and, at a lower weight, of the names of the methods the question is about;
  semantic   cosine with the question's vector, moved towards the best tools so far (pseudo-relevance feedback in the
             space of the vectors; Rocchio 1971) and, for a question in everyday words, towards the method it means;
  method     how sure it is that the question is about a method, for the tools known to do it;
and then, among the candidates, of the scores of the tools whose texts resemble it (cluster hypothesis; van Rijsbergen
1979). A question that one tool's description fits better than it fits any method is probably looking for that tool, so
methods and neighbours then count less. Each weight left out costs something on the development questions; what cost
nothing is gone (docs/adr/0026).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.retrieval.evidence import NOTHING, SURE_WORDS, Evidence, weigh
from engine.retrieval.indexes.index import Nearness, ToolIndex
from engine.retrieval.understanding import Understood
from engine.search.vectors import best, dots, spread


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchWeights:
    """What counts how much in a search."""

    lexical: float = 0.7
    program: float = 0.35
    doubt: float = 2.0
    """Power of a method's certainty: a question that shares one word with a method is hardly about it."""
    synonyms: float = 0.25
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
    neighbours: float = 0.6
    sharpness: int = 5
    """Power of the cosine between neighbours: the higher, the fewer of them count."""
    self_support: float = 0.3
    specific_from: float = -0.05
    specific_width: float = 0.2
    specific_methods: float = 0.4
    """What methods still count for a question that looks for one particular tool; neighbours count nothing then."""


WEIGHTS = SearchWeights()
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


def search(
    index: ToolIndex, asked: Understood, *, count: int, vector: np.ndarray | None, weights: SearchWeights = WEIGHTS
) -> Candidates:
    """Find the `count` best tools for a question; none when it has no word or meaning that any tool has.

    Args:
        index: the tools.
        asked: the question.
        count: how many at most.
        vector: the question's unit vector, or None to search by words alone.
        weights: what counts how much.
    """
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
    near = None if cosines is None or vector is None else index.methods.nearness(vector)
    found.evidence = weigh(index, asked, direct, cosines, near)
    if found.evidence.nothing:
        found.notes.append(NOTHING)
        return found
    found.methods, trust = _methods(index, wanted, near, cosines, weights)
    belief = weights.specific_methods + (1 - weights.specific_methods) * trust
    known = weights.program * belief * _known_for(index, found, weights)
    found.lexical = _by_words(index, found, direct, belief, weights)
    found.score = known + found.lexical
    if cosines is not None and vector is not None:
        fixed = known + weights.lexical * found.lexical
        found.semantic = _by_meaning(index, found, fixed, cosines, vector, weights)
        found.score = fixed + (1 - weights.lexical) * found.semantic
    _choose(index, found, count, weights.neighbours * trust, weights, direct)
    return found


def _methods(
    index: ToolIndex,
    wanted: dict[str, float],
    near: Nearness | None,
    cosines: np.ndarray | None,
    weights: SearchWeights,
) -> tuple[list[MatchedMethod], float]:
    """Return the methods the question is about, and how much they and neighbours are to be trusted, 0 to 1."""
    methods = index.methods
    by_words = methods.words.bm25(wanted)
    top = float(by_words.max(initial=0.0))
    # Share of the best method's score, held back when even the best shares little with the question.
    sure = by_words / top * min(1.0, top / SURE_WORDS) if top > 0 else by_words
    plain, trust = np.zeros(len(sure), np.float32), 1.0
    if cosines is not None and near is not None:
        if len(wanted) >= weights.plain_words:
            untold = near.all_texts - near.names > weights.plain_lead
            plain = np.clip((near.all_texts - weights.plain_from) / weights.plain_width, 0, 1) * untold
        sure = np.maximum(sure, plain)
        lead = float(cosines.max()) - float((near.all_texts if plain.any() else near.names).max())
        trust = 1 - min(1.0, max(0.0, (lead - weights.specific_from) / weights.specific_width))
    found = [MatchedMethod(int(row), float(sure[row]), float(plain[row])) for row in best(sure, weights.methods)]
    return [match for match in found if match.weight > weights.least_method], trust


def _by_words(
    index: ToolIndex, found: Candidates, direct: np.ndarray, belief: float, weights: SearchWeights
) -> np.ndarray:
    """Return lexical scores, 0 to 1, with the names of the question's methods as more words."""
    expanded: dict[str, float] = {}
    for match in found.methods:
        extra = (weights.synonyms * belief + weights.plain_synonyms * match.plain) * match.weight
        for word in index.methods.synonyms[match.row] - found.words.keys():
            expanded[word] = max(expanded.get(word, 0.0), extra)
    plain = max((match.plain for match in found.methods), default=0.0)
    lexical = (1 - weights.plain_scenery * plain) * direct + index.texts.bm25(expanded)
    return lexical / max(float(lexical.max()), 1e-9)


def _known_for(index: ToolIndex, found: Candidates, weights: SearchWeights) -> np.ndarray:
    """Note which tools are known for the question's methods; return what that is worth, 0 to 1, for every tool."""
    worth = np.zeros(len(index), np.float32)
    for match in found.methods:
        known = index.tools_of(match.row)
        found.program[known] = np.maximum(found.program[known], match.weight)
        worth[known] = np.maximum(worth[known], match.weight**weights.doubt)
    return worth


def _by_meaning(
    index: ToolIndex,
    found: Candidates,
    fixed: np.ndarray,
    cosines: np.ndarray,
    vector: np.ndarray,
    weights: SearchWeights,
) -> np.ndarray:
    """Return how near each tool is to what the question means, 0 (an ordinary tool) to 1 (the nearest).

    `fixed` is what the tools' scores have besides.
    """
    assert index.vectors is not None
    methods, target = index.methods, vector
    for match in found.methods:
        if match.plain > 0 and methods.vectors is not None:
            step = weights.plain_towards * match.plain * match.weight
            target = target + np.float32(step) * methods.vectors[methods.starts[match.row]]
    if target is not vector:
        target = target / np.linalg.norm(target)
        cosines = dots(index.vectors, target)
    semantic = spread(cosines, _SAMPLE)
    score = fixed + (1 - weights.lexical) * semantic
    pool = best(score, _POOL)
    liked = pool[: weights.feedback_tools]
    centre = score[liked] @ index.vectors[liked]
    target = target + weights.feedback * centre / max(float(np.linalg.norm(centre)), 1e-9)
    again = dots(index.vectors[pool], target / np.linalg.norm(target))
    low = float(np.median(cosines[::_SAMPLE]))
    semantic *= 0.5
    semantic[pool] = np.clip((again - low) / max(float(again.max()) - low, 1e-9), 0, 1)
    return semantic


def _choose(
    index: ToolIndex, found: Candidates, count: int, share: float, weights: SearchWeights, direct: np.ndarray
) -> None:
    """Pick the candidates, let alike tools support each other (by `share`), and scale the scores to 0..1."""
    rows = best(found.score, max(count, 50))
    # A tool must have a word of the question, a vector near it, or a name known for what it asks for.
    meant = (direct[rows] > 0) | (found.program[rows] > 0)
    if found.semantic is not None:
        meant |= found.semantic[rows] >= 0.5
    rows = rows[meant]
    if len(rows) == 0:
        found.notes.append(NOTHING)
        return
    if index.vectors is not None and found.semantic is not None and share > 0:
        near = index.vectors[rows]
        alike = np.clip(dots(near, near.T), 0, 1) ** weights.sharpness
        np.fill_diagonal(alike, 0)
        own = found.score[rows]
        # A tool counts as one of its own neighbours, so that a lonely one does not take over what it hardly resembles.
        support = (alike @ own + weights.self_support * own) / (alike.sum(axis=1) + weights.self_support)
        found.score[rows] = (1 - share) * own + share * support
    ranked = rows[best(found.score[rows], count)]
    found.score = np.clip(found.score / max(float(found.score[ranked[0]]), 1e-9), 0, 1)
    # Likeness of meaning alone, and little of it, is no reason to be shown.
    shown = (direct[ranked] > 0) | (found.program[ranked] > 0) | (found.score[ranked] >= _FAINT)
    found.rows = ranked[shown]
