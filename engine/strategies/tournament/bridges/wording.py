"""Statements of the graph as sentences that say neither more nor less than it does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from engine.domain.discovery.hypotheses import EvidenceItem
from engine.domain.knowledge import OPPOSITE, Edge, EdgeType, NodeType
from engine.knowledge.graph.queries import hub_penalty
from engine.knowledge.graph.view import GraphView
from engine.knowledge.grounding.words import relation_words
from engine.strategies.tournament.bridges.patterns import Edges
from engine.text.prose import listed

_STEP = 0.85
"""What every statement after the first leaves of a path: what follows from several is less certain than one."""
_CHOICE = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")
_SIGNED = frozenset({EdgeType.ACTIVATES, EdgeType.INHIBITS})


def statement(view: GraphView, edge: Edge) -> str:
    """Return an edge as a clause without a full stop."""
    head, tail = (view.nodes.node(view.nodes.number(node)) for node in (edge.source, edge.target))
    if edge.type is EdgeType.INCLUDES:
        return f"{tail.name} belongs to the class {head.name}"
    return relation_words(edge.type, head, tail)


def edges_of(view: GraphView, way: Sequence[int], kinds: Sequence[Edges]) -> list[Edge]:
    """Return an edge of each step of a path: one that says in which direction, then the most certain."""
    found: list[Edge] = []
    for (a, b), wanted in zip(pairwise(way), kinds, strict=True):
        edges = [edge for edge in view.edges.full(view.rows_between(a, b)) if edge.type in wanted]
        found.append(max(edges, key=lambda edge: (edge.type in _SIGNED, edge.confidence)))
    return found


def chain(view: GraphView, edges: Iterable[Edge]) -> str:
    """Return statements as one clause: `a binds b and b is associated with c`."""
    return listed(list(dict.fromkeys(statement(view, edge) for edge in edges)))


def evidence_of(
    view: GraphView, way: Sequence[int], edges: Sequence[Edge], *, worth: float = 1.0, against: bool = False
) -> EvidenceItem:
    """Return a path as evidence: its statements, who makes them, and a strength that hubs and length lower.

    Args:
        view: the graph.
        way: numbers of its nodes.
        edges: its statements.
        worth: what a path of its kind is worth, 0 to 1.
        against: whether it speaks against the hypothesis.
    """
    inner = np.array([view.nodes.degree(number) for number in way[1:-1]], dtype=float)
    certain = min(edge.confidence for edge in edges)  # no surer than its weakest statement; length counts below
    specific = float(np.prod(2 * hub_penalty(inner)))  # 1 up to 20 edges
    return EvidenceItem(
        kind="path",
        says=f"{opened(chain(view, edges))}.",
        speaks="against" if against else "for",
        nodes=[view.nodes.id(number) for number in way],
        edges=[edge.type.value for edge in edges],
        source=listed(list(dict.fromkeys(view.edges.source_name(e.origin) or "unnamed source" for e in edges))),
        strength=round(min(1.0, worth * certain * specific**0.5 * _STEP ** max(0, len(edges) - 1)), 4),
    )


def turns_round(edges: Sequence[Edge]) -> bool:
    """Say whether two edges of a path act on one node in opposite directions: one drug blocks what another drives."""
    return any(
        OPPOSITE.get(one.type) is other.type and one.target == other.target
        for place, one in enumerate(edges)
        for other in edges[place + 1 :]
        if one.type in _SIGNED
    )


def opened(sentence: str) -> str:
    """Return a sentence with a capital, unless its first word has capitals or digits of its own (`mTOR`, `p53`)."""
    first = sentence.split(" ", 1)[0]
    own = first != first.lower() or any(c.isdigit() for c in first)
    return sentence if own else sentence[:1].upper() + sentence[1:]


def filled(template: str, view: GraphView, way: Sequence[int], *, genes: bool = False) -> str:
    """Return a template with the names of a path's ends (s, o) and of the first, last and middle one between (v, w, m).

    Args:
        template: the text; of `[one|other]` the second is taken where nothing lies between.
        view: the graph.
        way: the path.
        genes: whether only genes count as what lies between.
    """
    inner = [n for n in way[1:-1] if not genes or view.nodes.node_type(n) in (NodeType.GENE, NodeType.PROTEIN)]
    s, o, *names = (view.nodes.node(number).name for number in (way[0], way[-1], *inner))
    text = _CHOICE.sub(lambda match: match[1] if names else match[2], template)
    return text.format(
        s=s, o=o, v=names[0] if names else "", w=names[-1] if names else "", m=names[len(names) // 2] if names else ""
    )
