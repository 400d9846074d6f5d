"""Finding nodes by what a person types: an id, a name, an alias, the beginning of one, some of its words, or nearly.

The index is made when the first question comes and kept as long as its view. Names are compared without
case, without hyphens inside words and without other punctuation, so `il6` finds IL-6.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable
from weakref import WeakKeyDictionary

import numpy as np

from engine.domain.knowledge import NODE_CODE, NodeHit, NodeType
from engine.errors import NotFoundError
from engine.knowledge.view import GraphView
from engine.knowledge.walks import degrees

_ID, _XREF, _NAME, _ALIAS = range(4)
_WORTH = (1.0, 0.99, 0.98, 0.95)
"""Score of an exact match with an id, an external id, a name, an alias."""
_LONGEST = 300
"""Characters of a query that are looked at."""
_KEPT = 400
"""Candidates each way of matching may bring."""
_ALIKE = 0.74
"""How alike a mistyped word must be to one of the graph's (1 - edits / length): two letters of eight."""

_IDENTIFIER = re.compile(
    r"(?:GO|HP|DOID|MONDO|CL|UBERON|CHEBI|UMLS|MESH|ENTREZ|HGNC|NDFRT|DRUGBANK)[:_]\w+|ENS[A-Z]{0,4}[GTPE]\d{6,}|DB\d{5}|rs\d+",
    re.IGNORECASE,
)
_PUNCTUATION = re.compile(r"[^\w]+|_+")
_APOSTROPHE = re.compile(r"(?<=\w)['’ʼ](?=\w)")
_HYPHEN = re.compile(r"(?<=\w)[-‐‑–−](?=\w)")
_GREEK = str.maketrans(
    {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "κ": "kappa", "λ": "lambda", "ω": "omega"}
)


def search(view: GraphView, text: str, *, types: Collection[NodeType] = (), top: int = 20) -> list[NodeHit]:
    """Return the nodes that a text may mean, best first.

    Args:
        view: the graph.
        text: an id, a name or part of one; typing errors are forgiven.
        types: only nodes of these types; all when empty.
        top: how many at most.
    """
    text = text.strip()[:_LONGEST]
    if not text or top < 1:
        return []
    return _index(view).search(text, types, min(top, 1000))


def require(view: GraphView, node_id: str) -> int:
    """Return the number of a node.

    Raises:
        NotFoundError: when there is no node of this id; the advice names what is near.
    """
    number = view.number(node_id)
    if number >= 0:
        return number
    near = [f"{hit.node.name} ({hit.node.id})" for hit in search(view, node_id, top=3)]
    raise NotFoundError(
        f"There is no node {node_id[:100]!r} in the knowledge graph.",
        advice=f"Near are: {', '.join(near)}." if near else "Search for it by name: `biodesk kg search TEXT`.",
    )


def normal(text: str) -> str:
    """Return a name as it is compared."""
    if text.isascii() and text.isalnum():
        return text.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_GREEK)
    return _PUNCTUATION.sub(" ", _HYPHEN.sub("", _APOSTROPHE.sub("", text.casefold()))).strip()


class _Index:
    """Names of one view, by their normal form ("key")."""

    def __init__(self, view: GraphView) -> None:
        self.view = view
        owners: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self.ids: dict[str, int] = {}
        """Ids as they are, without case, and what stands after `::` in them."""
        for node in view.named_nodes():
            self.ids.setdefault(node.id.casefold(), node.number)
            local = node.id.rpartition("::")[2].casefold()
            if not local.isdigit():
                self.ids.setdefault(local, node.number)
            owners[normal(node.name)].append((_NAME, node.number))
            for alias in node.aliases:
                owners[normal(alias)].append((_ALIAS, node.number))
            for xref in node.xrefs:
                owners[normal(xref)].append((_XREF, node.number))
        owners.pop("", None)
        self.keys = sorted(owners)
        self.owners = [owners[key] for key in self.keys]
        self.place = {key: place for place, key in enumerate(self.keys)}
        self.lengths = np.array([len(key) for key in self.keys], dtype=np.float64)
        words: defaultdict[str, list[int]] = defaultdict(list)
        for place, key in enumerate(self.keys):
            for word in dict.fromkeys(key.split()):
                words[word].append(place)
        self.vocabulary = sorted(words)
        self.postings = {word: np.array(words[word], dtype=np.int32) for word in self.vocabulary}
        self.by_length: defaultdict[int, list[str]] = defaultdict(list)
        for word in self.vocabulary:
            self.by_length[len(word)].append(word)
        codes = view.type_codes()
        self.types = codes
        self.most = float(np.log1p(degrees(view, np.arange(view.node_count)).max(initial=1)))

    def search(self, text: str, types: Collection[NodeType], top: int) -> list[NodeHit]:
        """Return hits, best first."""
        scores: dict[int, tuple[float, int]] = {}
        """Node -> best score and the place of the key that gave it, -1 for its id."""
        number = self.ids.get(text.casefold())
        if number is not None:
            scores[number] = (1.0, -1)
        query = normal(text)
        for key in dict.fromkeys([query, query.replace(" ", "")]):
            if key in self.place:
                self._take(scores, [self.place[key]], [1.0], exact=True)
        # An identifier is right or it is not: what only looks like it is something else.
        if query and not _IDENTIFIER.fullmatch(text.strip()):
            self._prefix(scores, query)
            self._words(scores, query.split(), certain=bool(scores))
        codes = {NODE_CODE[kind] for kind in types}
        found = [n for n in scores if not codes or int(self.types[n]) in codes]
        links = degrees(self.view, np.array(found, dtype=np.int64))
        ranked = sorted(
            zip(found, links.tolist(), strict=True),
            key=lambda item: (-scores[item[0]][0] - 0.02 * np.log1p(item[1]) / self.most, item[0]),
        )
        return [self._hit(number, *scores[number], degree) for number, degree in ranked[:top]]

    def _take(
        self, scores: dict[int, tuple[float, int]], places: Iterable[int], values: Iterable[float], *, exact: bool
    ) -> None:
        for place, value in zip(places, values, strict=True):
            for kind, number in self.owners[place]:
                score = _WORTH[kind] if exact else value * _WORTH[kind]
                if number not in scores or scores[number][0] < score:
                    scores[number] = (score, place)

    def _prefix(self, scores: dict[int, tuple[float, int]], query: str) -> None:
        """Names that begin with the query; the more of the name it is, the better."""
        first = bisect_left(self.keys, query)
        last = bisect_left(self.keys, query + "\U0010ffff", lo=first)
        places = np.arange(first, last)
        if len(places) > _KEPT:
            places = places[np.argsort(self.lengths[places], kind="stable")[:_KEPT]]
        self._take(scores, places.tolist(), (0.75 + 0.2 * len(query) / self.lengths[places]).tolist(), exact=False)

    def _words(self, scores: dict[int, tuple[float, int]], words: list[str], *, certain: bool) -> None:
        """Names that have all the words, the last one perhaps only begun; unknown words stand for those alike."""
        ways: list[tuple[float, np.ndarray]] = []
        for place, word in enumerate(dict.fromkeys(words)):
            known = self.postings.get(word)
            begun = self._begun(word) if place == len(words) - 1 and len(word) > 1 else None
            if known is None and begun is None:
                if certain:
                    return  # an exact name needs no guessing
                near = self._alike(word)
                if not near:
                    return
                known = np.unique(np.concatenate([self.postings[other] for other, _ in near]))
                ways.append((max(value for _, value in near), known))
            else:
                ways.append((1.0, begun if begun is not None else known))  # type: ignore[arg-type]
        places = ways[0][1]
        for _, other in ways[1:]:
            places = np.intersect1d(places, other, assume_unique=True)
        share = np.minimum(1.0, len(" ".join(words)) / self.lengths[places])
        values = (0.5 + 0.35 * share) * min(value for value, _ in ways)
        best = np.argsort(-values, kind="stable")[:_KEPT]
        self._take(scores, places[best].tolist(), values[best].tolist(), exact=False)

    def _begun(self, word: str) -> np.ndarray | None:
        """Return the places of names with a word that begins so."""
        first = bisect_left(self.vocabulary, word)
        last = bisect_left(self.vocabulary, word + "\U0010ffff", lo=first)
        found = [self.postings[other] for other in self.vocabulary[first : min(last, first + _KEPT)]]
        return np.unique(np.concatenate(found)) if found else None

    def _alike(self, word: str) -> list[tuple[str, float]]:
        """Return the graph's words most like this one, and how alike they are."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        if len(word) < 3:
            return []
        most = max(1, len(word) // 4)
        lengths = range(len(word) - most, len(word) + most + 1)
        choices = [other for length in lengths for other in self.by_length.get(length, ())]
        found = process.extract(word, choices, scorer=OSA.normalized_similarity, score_cutoff=_ALIKE, limit=5)
        return [(other, float(value)) for other, value, _ in found]

    def _hit(self, number: int, score: float, place: int, degree: int) -> NodeHit:
        node = self.view.node(number)
        matched = node.id
        if place >= 0:
            key = self.keys[place]
            names = [node.name, *node.aliases, *node.xrefs]
            matched = next((name for name in names if normal(name) == key), node.name)
        return NodeHit(node=node, score=round(min(score, 1.0), 4), matched=matched, degree=degree)


_indexes: WeakKeyDictionary[GraphView, _Index] = WeakKeyDictionary()
_guard = threading.Lock()


def _index(view: GraphView) -> _Index:
    """Return the view's index, making it when it is first asked for."""
    with _guard:
        found = _indexes.get(view)
        if found is None:
            found = _indexes[view] = _Index(view)
        return found
