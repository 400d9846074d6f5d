"""Comparing what a run's findings state, as data, with the graph; their sentences are not read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from engine.domain.findings import Finding
from engine.domain.knowledge import Claim, EdgeType, Mention, Node, NodeType
from engine.knowledge.claims.relations import possible, sense_of
from engine.knowledge.claims.statements import Statement
from engine.knowledge.graph.view import GraphView
from engine.knowledge.grounding.check import claim_of
from engine.knowledge.grounding.paths import PathFinder
from engine.knowledge.lookup import EntityLookup

_MOST_NAMESAKES = 3
"""Nodes that one name may mean; a name of more says too little."""


def check_findings(findings: Sequence[Finding], view: GraphView, lookup: EntityLookup) -> dict[str, Claim]:
    """Return finding id -> what the graph says of what it asserts.

    Left out are findings that assert nothing and those of whose entities the graph does not know both, or knows them
    as kinds between which there is no such relation: a level called `treated` is no entity.
    """
    stated = [(finding, finding.asserts) for finding in findings if finding.asserts is not None]
    if not stated:
        return {}
    named = {name for _, asserts in stated for name in (asserts.subject, asserts.object)}
    known = {
        text: [view.nodes.node(n) for node in nodes if (n := view.nodes.number(node.id)) >= 0]
        for text, nodes in lookup.fitting(named, types=_SPOKEN_OF).items()
        if len(nodes) <= _MOST_NAMESAKES
    }
    finder = PathFinder(view)
    found: dict[str, Claim] = {}
    for finding, asserts in stated:
        kind = EdgeType(asserts.relation)
        ends = _fit(kind, known.get(asserts.subject, []), known.get(asserts.object, []))
        if ends is not None:
            sense = sense_of(kind, ends[0][0].type, ends[1][0].type)
            statement = Statement(finding.text, (), *ends, sense, negated=asserts.sign < 0)
            claim = claim_of(statement, finder)
            found[finding.id] = claim.model_copy(update={"entities": [_named(ends[0][0]), _named(ends[1][0])]})
    return found


def _named(node: Node) -> Mention:
    """Return an entity that stands in the data and at no place of a text."""
    return Mention(start=0, end=0, text=node.name, node=node, score=1.0)


_SPOKEN_OF: Collection[NodeType] = frozenset(
    kind for kind in NodeType if any(possible(kind, other) or possible(other, kind) for other in NodeType)
)


def _fit(
    kind: EdgeType, subjects: Sequence[Node], objects: Sequence[Node]
) -> tuple[tuple[Node, ...], tuple[Node, ...]] | None:
    """Return the nodes between whose types there is such a relation, or None."""
    pairs = [(s, o) for s in subjects for o in objects if kind in possible(s.type, o.type)]
    if not pairs:
        return None
    return tuple({s.id: s for s, _ in pairs}.values()), tuple({o.id: o for _, o in pairs}.values())
