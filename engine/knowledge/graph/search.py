"""Finding nodes by what a person types: an id, a name, an alias, the beginning of one, some of its words, or nearly.

The index of names is made when the first question comes. Names are compared without case, without hyphens inside
words and without other punctuation, so `il6` finds IL-6. The tools and files that finished runs add are indexed
apart, in milliseconds: a run makes a new version of the graph, but not a new index of the names in it.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from engine.domain.knowledge import NODE_CODE, NodeHit, NodeType
from engine.errors import NotFoundError
from engine.knowledge.graph.node_table import NamedNode
from engine.knowledge.graph.search_names import Names, Scores, normal
from engine.knowledge.graph.view import GraphView

_LONGEST = 300
"""Characters of a query that are looked at."""
_OF_RUNS = (NodeType.TOOL, NodeType.DATASET)
"""Types of nodes that finished runs add."""
_NAMES_KEPT = 2
"""Indexes of names that stay although no view in use has them: the next version of the graph may."""

_IDENTIFIER = re.compile(
    r"(?:GO|HP|DOID|MONDO|CL|UBERON|CHEBI|UMLS|MESH|ENTREZ|HGNC|NDFRT|DRUGBANK)[:_]\w+|ENS[A-Z]{0,4}[GTPE]\d{6,}|DB\d{5}|rs\d+",
    re.IGNORECASE,
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
    return _search(view, _index(view), text, types, min(top, 1000))


def require(view: GraphView, node_id: str) -> int:
    """Return the number of a node.

    Raises:
        NotFoundError: when there is no node of this id; the advice names what is near.
    """
    number = view.nodes.number(node_id)
    if number >= 0:
        return number
    near = [f"{hit.node.name} ({hit.node.id})" for hit in search(view, node_id, top=3)]
    raise NotFoundError(
        f"There is no node {node_id[:100]!r} in the knowledge graph.",
        advice=f"Near are: {', '.join(near)}." if near else "Search for it by name: `biodesk kg search TEXT`.",
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Some nodes of a view: their names, and their numbers in the view (int64) by their place among those names."""

    names: Names
    numbers: np.ndarray


@dataclass(frozen=True, slots=True)
class _ViewIndex:
    """What one view is searched by. It does not hold the view, so that it goes when the view goes."""

    parts: tuple[_Part, ...]
    most: float
    """Logarithm of the largest number of edges at a node, to weigh others by."""


def _search(view: GraphView, index: _ViewIndex, text: str, types: Collection[NodeType], top: int) -> list[NodeHit]:
    scores = _scores(index, text)
    codes = {NODE_CODE[kind] for kind in types}
    of = view.nodes.types
    found = [n for n in scores if not codes or int(of[n]) in codes]
    links = view.nodes.degrees[np.array(found, dtype=np.int64)]
    ranked = sorted(
        zip(found, links.tolist(), strict=True),
        key=lambda item: (-scores[item[0]][0] - 0.02 * np.log1p(item[1]) / index.most, item[0]),
    )
    return [_hit(view, number, *scores[number], degree) for number, degree in ranked[:top]]


def _scores(index: _ViewIndex, text: str) -> Scores:
    """Return every node of the view that fits, by number."""
    found: list[Scores] = [{} for _ in index.parts]
    query = normal(text)
    # An identifier is right or it is not: what only looks like it is something else.
    certain = not query or _IDENTIFIER.fullmatch(text.strip()) is not None
    for part, scores in zip(index.parts, found, strict=True):
        part.names.exact(scores, text)
        if not certain:
            part.names.begun(scores, query)
    if not certain:
        words = list(dict.fromkeys(query.split()))
        known = [any(p.names.knows(w, unfinished=w == words[-1]) for p in index.parts) for w in words]
        guessed = {word for word, is_known in zip(words, known, strict=True) if not is_known}
        if not guessed or not any(found):  # an exact name needs no guessing
            for part, scores in zip(index.parts, found, strict=True):
                part.names.by_words(scores, words, guessed)
    return {
        int(part.numbers[place]): score
        for part, scores in zip(index.parts, found, strict=True)
        for place, score in scores.items()
    }


def _hit(view: GraphView, number: int, score: float, key: str, degree: int) -> NodeHit:
    node = view.nodes.node(number)
    matched = node.id
    if key:
        names = [node.name, *node.aliases, *node.xrefs]
        matched = next((name for name in names if normal(name) == key), node.name)
    return NodeHit(node=node, score=round(min(score, 1.0), 4), matched=matched, degree=degree)


_indexes: WeakKeyDictionary[GraphView, _ViewIndex] = WeakKeyDictionary()
_names: OrderedDict[str, Names] = OrderedDict()
"""The indexes of names used last, by what `NodeTable.key` says of them."""
_guard = threading.Lock()
"""Held for an instant."""
_making = threading.Lock()
"""Held while an index is made, so that nobody makes it twice; views that have theirs are searched meanwhile."""


def _index(view: GraphView) -> _ViewIndex:
    """Return the view's index, making it when it is first asked for."""
    found = _made(view)
    if found is None:
        with _making:
            found = _made(view)
            if found is None:
                found = _make(view)
                with _guard:
                    _indexes[view] = found
    return found


def _made(view: GraphView) -> _ViewIndex | None:
    with _guard:
        return _indexes.get(view)


def _make(view: GraphView) -> _ViewIndex:
    most = float(np.log1p(view.nodes.degrees.max(initial=1)))
    of_runs = np.isin(view.nodes.types, [NODE_CODE[kind] for kind in _OF_RUNS])
    changing, lasting = np.flatnonzero(of_runs), np.flatnonzero(~of_runs)
    key = view.nodes.key(_OF_RUNS)
    names = _names.get(key)
    if names is None:
        names = Names(_without(view.nodes.named(), set(changing.tolist())))
    _names[key] = names
    _names.move_to_end(key)
    while len(_names) > _NAMES_KEPT:
        _names.popitem(last=False)
    return _ViewIndex((_Part(names, lasting), _Part(Names(view.nodes.named(changing.tolist())), changing)), most)


def _without(nodes: Iterable[NamedNode], numbers: set[int]) -> Iterable[NamedNode]:
    return (node for node in nodes if node.number not in numbers)
