"""What a check says to its reader: relations in words, sources, and the evidence listed with a claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from engine.domain.knowledge import SYMMETRIC, Edge, EdgeType, EvidenceEdge, Node, NodeType
from engine.knowledge.claims.relations import Sense
from engine.knowledge.graph.view import GraphView
from engine.knowledge.grounding.paths import Support, path_rows
from engine.text.prose import listed

_MAX_PATHS = 3
"""Paths shown with an inferred claim."""
_MAX_EDGES = 5


def says(support: Support, subject: Node, object_: Node, view: GraphView) -> str:
    """Return what indirect support there is, in words."""
    if support.count == 1:
        between = " and ".join(view.nodes.node(number).name for number in support.paths[0][1:-1])
        return f"a single path joins {subject.name} and {object_.name}, through {between}"
    return support.metapath.says.format(s=subject.name, o=object_.name, n=support.count)


_VERBS: dict[EdgeType, str] = {
    EdgeType.INTERACTS_WITH: "interacts with",
    EdgeType.ASSOCIATED_WITH: "is associated with",
    EdgeType.EXPRESSED_IN: "is expressed in",
    EdgeType.INVOLVED_IN: "is involved in",
    EdgeType.HAS_FUNCTION: "has the function",
    EdgeType.LOCATED_IN: "is located in",
    EdgeType.COVARIES_WITH: "covaries with",
    EdgeType.RELATED_TO: "affects",
    EdgeType.ABSENT_IN: "is absent in",
    EdgeType.CONTRAINDICATED_FOR: "is contraindicated for",
    EdgeType.SUBCLASS_OF: "is a kind of",
    EdgeType.PART_OF: "is part of",
    EdgeType.MARKER_OF: "is a marker of",
    EdgeType.PALLIATES: "eases the symptoms of",
    EdgeType.PRESENTS: "presents with",
    EdgeType.UPREGULATES: "raises the expression of",
    EdgeType.DOWNREGULATES: "lowers the expression of",
}
_PLACED = {EdgeType.UPREGULATES: "is over-expressed in", EdgeType.DOWNREGULATES: "is under-expressed in"}


def _verb(kind: EdgeType) -> str:
    return _VERBS.get(kind, kind.value.replace("_", " "))


def relation_words(kind: EdgeType, source: Node, target: Node) -> str:
    """Return a relation in words: `simvastatin binds HMGCR`, `HRH3 is under-expressed in midbrain`."""
    if kind in _PLACED and source.type in {NodeType.ANATOMY, NodeType.CELL_TYPE, NodeType.DISEASE}:
        return f"{target.name} {_PLACED[kind]} {source.name}"
    return f"{source.name} {_verb(kind)} {target.name}"


def claim_words(sense: Sense, subject: Node, object_: Node) -> str:
    """Return what a claim states, in words; of a change in no direction: `the expression of Y changes with X`."""
    if sense.any_change:
        return f"the expression of {object_.name} changes with {subject.name}"
    return relation_words(sense.type, subject, object_)


def edge_words(edge: Edge, subject: Node, object_: Node) -> str:
    """Return an edge between two nodes in words."""
    source, target = (subject, object_) if edge.source == subject.id else (object_, subject)
    return relation_words(edge.type, source, target)


def sources(edges: Sequence[Edge], view: GraphView) -> str:
    """Return the names of those who state the edges."""
    return listed(list(dict.fromkeys(view.edges.source_name(edge.origin) or "The graph" for edge in edges)))


def _arrow(edge: Edge, names: dict[str, str]) -> str:
    head = "-" if edge.type in SYMMETRIC else "->"
    return f"{names.get(edge.source, edge.source)} -[{edge.type.value}]{head} {names.get(edge.target, edge.target)}"


def edge_evidence(
    edges: list[Edge], view: GraphView, subject: Node, object_: Node, kind: Literal["edge", "opposite"]
) -> list[EvidenceEdge]:
    """Return edges as evidence; `kind` is `edge` or `opposite`."""
    names = {subject.id: subject.name, object_.id: object_.name}
    return [
        EvidenceEdge(
            edge=_arrow(edge, names),
            source=view.edges.source_name(edge.origin),
            confidence=edge.confidence,
            kind=kind,
        )
        for edge in edges[:_MAX_EDGES]
    ]


def path_evidence(supports: list[Support], view: GraphView) -> list[EvidenceEdge]:
    """Return the edges of the best paths, those of one path under one number."""
    evidence: list[EvidenceEdge] = []
    shown = 0
    for support in supports:
        for path in support.paths[: _MAX_PATHS - shown]:
            shown += 1
            names = {node.id: node.name for node in (view.nodes.node(number) for number in path)}
            steps = support.metapath.steps
            if support.metapath.name == "signature-reversal":
                both = frozenset({EdgeType.UPREGULATES, EdgeType.DOWNREGULATES})
                steps = (both, both)
            evidence += [
                EvidenceEdge(edge=_arrow(e, names), source=view.edges.source_name(e.origin), confidence=e.confidence,
                             kind="path", path=shown)
                for e in view.edges.full(path_rows(view, path, steps))
            ]  # fmt: skip
        if shown >= _MAX_PATHS:
            break
    return evidence
