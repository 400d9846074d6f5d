"""The names of nodes, made ready to be found: exactly, by their beginning, by some of their words, or nearly.

Nothing here depends on edges, so one index serves every version of a graph whose nodes are called the same.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable

import numpy as np

from engine.knowledge.graph.node_table import NamedNode
from engine.search.postings import Postings
from engine.search.spelling import Spelling
from engine.text.letters import plain

_XREF, _NAME, _ALIAS = range(3)
_WORTH = (0.99, 0.98, 0.95)
"""Score of an exact match with an external id, a name, an alias; with an id it is 1."""
_KEPT = 400
"""Candidates each way of matching may bring."""
_ALIKE = 0.74
"""How alike a mistyped word must be to one of the graph's (1 - edits / length): two letters of eight."""
_GUESSES = 5
"""Words that one mistyped word may stand for."""

_PUNCTUATION = re.compile(r"[\W_]+")
_APOSTROPHE = re.compile(r"(?<=\w)['’ʼ](?=\w)")
_HYPHEN = re.compile(r"(?<=\w)[-‐‑–−](?=\w)")

Scores = dict[int, tuple[float, str]]
"""Node -> its best score and the normal form of the name that gave it, "" for its id."""


def normal(text: str) -> str:
    """Return a name as it is compared."""
    if text.isascii() and text.isalnum():
        return text.lower()
    return _PUNCTUATION.sub(" ", _HYPHEN.sub("", _APOSTROPHE.sub("", plain(text, micro=False)))).strip()


class Names:
    """Names of some nodes by their normal form ("key"). Nodes are known by their place among those given.

    Thread-safe; never changes.
    """

    def __init__(self, nodes: Iterable[NamedNode]) -> None:
        """Read every name once."""
        owners: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._ids: dict[str, int] = {}
        """Ids as they are, without case, and what stands after `::` in them."""
        for node, named in enumerate(nodes):
            self._ids.setdefault(named.id.casefold(), node)
            local = named.id.rpartition("::")[2].casefold()
            if not local.isdigit():
                self._ids.setdefault(local, node)
            owners[normal(named.name)].append((_NAME, node))
            for alias in named.aliases:
                owners[normal(alias)].append((_ALIAS, node))
            for xref in named.xrefs:
                owners[normal(xref)].append((_XREF, node))
        owners.pop("", None)
        self._keys = sorted(owners)
        self._owners = [owners[key] for key in self._keys]
        self._places = {key: place for place, key in enumerate(self._keys)}
        self._lengths = np.array([len(key) for key in self._keys], dtype=np.float64)
        self._words = Postings()
        for place, key in enumerate(self._keys):
            self._words.add(place, dict.fromkeys(key.split(), 1.0))
        self._vocabulary = sorted(self._words)
        self._spelling = Spelling({word: self._words.count(word) for word in self._vocabulary})

    def exact(self, scores: Scores, text: str) -> None:
        """Nodes with this id, external id, name or alias."""
        node = self._ids.get(text.casefold())
        if node is not None:
            scores[node] = (1.0, "")
        query = normal(text)
        for key in dict.fromkeys([query, query.replace(" ", "")]):
            if key in self._places:
                self._take(scores, [self._places[key]], [1.0], exact=True)

    def begun(self, scores: Scores, query: str) -> None:
        """Names that begin with the query, which is in normal form; the more of the name it is, the better."""
        first, last = _span(self._keys, query)
        places = np.arange(first, last)
        if len(places) > _KEPT:
            places = places[np.argsort(self._lengths[places], kind="stable")[:_KEPT]]
        self._take(scores, places.tolist(), (0.75 + 0.2 * len(query) / self._lengths[places]).tolist(), exact=False)

    def knows(self, word: str, *, unfinished: bool) -> bool:
        """Say whether a name has this word, or with `unfinished` one that begins so."""
        if word in self._words:
            return True
        first, last = _span(self._vocabulary, word)
        return unfinished and len(word) > 1 and first < last

    def by_words(self, scores: Scores, words: list[str], guessed: Collection[str]) -> None:
        """Names that have all the words, the last one perhaps only begun; `guessed` ones stand for those alike."""
        ways: list[tuple[float, np.ndarray]] = []
        for place, word in enumerate(words):
            if word in guessed:
                near = self._alike(word)
                if not near:
                    return
                alike = np.unique(np.concatenate([self._words.rows(other) for other, _ in near]))
                ways.append((max(value for _, value in near), alike))
                continue
            found = self._beginning(word) if place == len(words) - 1 and len(word) > 1 else self._words.rows(word)
            ways.append((1.0, found))
        places = ways[0][1]
        for _, other in ways[1:]:
            places = np.intersect1d(places, other, assume_unique=True)
        share = np.minimum(1.0, len(" ".join(words)) / self._lengths[places])
        values = (0.5 + 0.35 * share) * min(value for value, _ in ways)
        best = np.argsort(-values, kind="stable")[:_KEPT]
        self._take(scores, places[best].tolist(), values[best].tolist(), exact=False)

    def _take(self, scores: Scores, places: Iterable[int], values: Iterable[float], *, exact: bool) -> None:
        for place, value in zip(places, values, strict=True):
            for kind, node in self._owners[place]:
                score = _WORTH[kind] if exact else value * _WORTH[kind]
                if node not in scores or scores[node][0] < score:
                    scores[node] = (score, self._keys[place])

    def _beginning(self, word: str) -> np.ndarray:
        """Return the places of names with a word that begins so."""
        first, last = _span(self._vocabulary, word)
        found = [self._words.rows(other) for other in self._vocabulary[first : min(last, first + _KEPT)]]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int32)

    def _alike(self, word: str) -> list[tuple[str, float]]:
        """Return the words most like this one, and how alike they are."""
        if len(word) < 3:
            return []
        near = self._spelling.near(word, max(1, len(word) // 4), most=_KEPT)
        alike = [(other, 1 - edits / max(len(word), len(other))) for other, edits in near]
        return sorted((hit for hit in alike if hit[1] >= _ALIKE), key=lambda hit: -hit[1])[:_GUESSES]


def _span(ordered: list[str], start: str) -> tuple[int, int]:
    """Return the first of the texts that begin so, and the first after them."""
    first = bisect_left(ordered, start)
    return first, bisect_left(ordered, start + "\U0010ffff", lo=first)
