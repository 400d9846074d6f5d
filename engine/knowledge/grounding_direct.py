"""What the edges between a claim's two entities say of it.

A claim with a sign is grounded by an edge of that sign and contradicted by one of the opposite sign. Edges without a
sign (`binds`, `targets`, `regulates`, `interacts_with`) leave it open: they make the claim inferred, and `why` says
that the direction is not stated. What a drug does to a gene's expression is not what it does to the protein (statins
inhibit HMGCR and raise its expression), so expression of the same sign speaks for activity and neither contradicts
the other.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.findings import Grounding
from engine.domain.knowledge import OPPOSITE, SYMMETRIC, Edge, EdgeType, EvidenceEdge, Node
from engine.knowledge.claims import Statement
from engine.knowledge.claims_predicates import Sense
from engine.knowledge.graph.view import GraphView
from engine.knowledge.grounding_words import edge_evidence, edge_words, sources

_DENIED_BY: dict[EdgeType, frozenset[EdgeType]] = {
    **{kind: frozenset({opposite}) for kind, opposite in OPPOSITE.items()},
    EdgeType.EXPRESSED_IN: frozenset({EdgeType.ABSENT_IN}),
    EdgeType.PRESENTS: frozenset({EdgeType.ABSENT_IN}),
    EdgeType.ABSENT_IN: frozenset({EdgeType.EXPRESSED_IN, EdgeType.PRESENTS}),
    EdgeType.TREATS: frozenset({EdgeType.CONTRAINDICATED_FOR}),
    EdgeType.PALLIATES: frozenset({EdgeType.CONTRAINDICATED_FOR}),
    EdgeType.CONTRAINDICATED_FOR: frozenset({EdgeType.TREATS, EdgeType.PALLIATES}),
}
_NEARLY: dict[EdgeType, EdgeType] = {EdgeType.TREATS: EdgeType.PALLIATES, EdgeType.PALLIATES: EdgeType.TREATS}
"""Easing symptoms is not treating the disease, but speaks for it, and the other way round: inferred, not grounded."""
_UNSIGNED = (EdgeType.BINDS, EdgeType.TARGETS, EdgeType.REGULATES, EdgeType.INTERACTS_WITH)
_EXPRESSION_OF = {EdgeType.ACTIVATES: EdgeType.UPREGULATES, EdgeType.INHIBITS: EdgeType.DOWNREGULATES}


@dataclass(slots=True)
class Ruling:
    """A label with its reason and evidence, and the two entities it is about."""

    label: Grounding
    why: str
    evidence: list[EvidenceEdge]
    subject: Node | None = None
    object: Node | None = None


def direct_rulings(statement: Statement, view: GraphView) -> list[Ruling]:
    """Return what edges between any two of the namesakes say of the claim."""
    if statement.subject is None or statement.object is None:
        return []
    found = [
        _direct(statement, subject, object_, view)
        for subject in statement.subject.options[:4]
        for object_ in statement.object.options[:4]
        if subject.id != object_.id
    ]
    return [ruling for ruling in found if ruling is not None]


def _direct(statement: Statement, subject: Node, object_: Node, view: GraphView) -> Ruling | None:
    """Return what the edges between two nodes say of the claim, or None when they say nothing of it."""
    sense = statement.sense
    a, b = view.number(subject.id), view.number(object_.id)
    if sense is None or a < 0 or b < 0:
        return None
    edges = view.edges(view.rows_between(a, b))
    if not edges:
        return None
    meant = {sense.type, *sense.accepts}
    along = [e for e in edges if e.type in meant and (not sense.directed or _along(e, subject))]
    denying = frozenset() if sense.none else _denying(sense)
    against = [e for e in edges if e.type in denying and (not sense.directed or _along(e, subject))]
    turned = [e for e in edges if sense.directed and e.type in meant and e not in along]
    exact = [e for e in along if e.type == sense.type] or along
    if exact:
        said = edge_words(exact[0], subject, object_)
        if statement.negated:
            why = f"The text denies what is stated: {said} ({sources(exact, view)})."
            return Ruling(
                "contradicted", why, edge_evidence(exact, view, subject, object_, "opposite"), subject, object_
            )
        why = f"{_state(exact, view)} it: {said}."
        return Ruling("grounded", why, edge_evidence(exact, view, subject, object_, "edge"), subject, object_)
    if against:
        said = edge_words(against[0], subject, object_)
        if statement.negated:
            why = f"The text denies it, and {_state(against, view)} the opposite: {said}."
            return Ruling("grounded", why, edge_evidence(against, view, subject, object_, "edge"), subject, object_)
        why = f"{_state(against, view)} the opposite: {said}."
        return Ruling("contradicted", why, edge_evidence(against, view, subject, object_, "opposite"), subject, object_)
    unsigned = _unsigned(statement, subject, object_, edges, view)
    if unsigned is not None and unsigned.label == "inferred":
        return unsigned
    if turned and not statement.negated:
        why = f"{_state(turned, view)} it the other way round: {edge_words(turned[0], subject, object_)}."
        return Ruling("contradicted", why, edge_evidence(turned, view, subject, object_, "opposite"), subject, object_)
    return unsigned or _loosely(statement, subject, object_, edges, view)


def _state(edges: list[Edge], view: GraphView) -> str:
    """Return who states edges, with the verb: `Hetionet states`, `Hetionet and DisGeNET state`."""
    several = len({view.source_name(edge.origin) for edge in edges}) > 1
    return f"{sources(edges, view)} {'state' if several else 'states'}"


def _loosely(statement: Statement, subject: Node, object_: Node, edges: list[Edge], view: GraphView) -> Ruling | None:
    """Return what edges that do not state the claim itself still say of it."""
    sense = statement.sense
    if sense is None or statement.negated:
        return None
    nearly = [e for e in edges if e.type == _NEARLY.get(sense.type)]
    if nearly:
        why = f"{sources(nearly, view)} states something close: {edge_words(nearly[0], subject, object_)}."
        return Ruling("inferred", why, edge_evidence(nearly, view, subject, object_, "edge"), subject, object_)
    if sense.type is EdgeType.RELATED_TO or not sense.recognised:
        said = edge_words(edges[0], subject, object_)
        why = f"{sources(edges, view)} relates them: {said}."
        if sense.type is not EdgeType.RELATED_TO:
            why = f"The words do not say which relation is meant; {sources(edges, view)} states that {said}."
        return Ruling("grounded", why, edge_evidence(edges, view, subject, object_, "edge"), subject, object_)
    return None


def _denying(sense: Sense) -> frozenset[EdgeType]:
    """Return the types of edge that state the opposite; for a sign, the opposites of all that would state it."""
    if sense.type not in OPPOSITE:
        return _DENIED_BY.get(sense.type, frozenset())
    return frozenset(OPPOSITE[kind] for kind in (sense.type, *sense.accepts) if kind in OPPOSITE)


def _unsigned(statement: Statement, subject: Node, object_: Node, edges: list[Edge], view: GraphView) -> Ruling | None:
    """Return what edges without a sign, or of expression, say of a claim that one entity activates or inhibits."""
    sense = statement.sense
    if sense is None or sense.type not in _EXPRESSION_OF or statement.negated:
        return None
    kinds = {*_UNSIGNED, _EXPRESSION_OF[sense.type]}
    open_ = [e for e in edges if e.type in kinds]
    along = [e for e in open_ if _along(e, subject)]
    if not open_:
        return None
    said = edge_words((along or open_)[0], subject, object_)
    if not along:
        why = f"The graph states only the other way round that {said}."
        return Ruling("ungrounded", why, [], subject, object_)
    if along[0].type in _UNSIGNED:
        why = f"The graph states that {said} but not in which direction it acts."
    else:
        why = f"The graph states that {said}, which is about its expression and not its activity."
    return Ruling("inferred", why, edge_evidence(along, view, subject, object_, "edge"), subject, object_)


def _along(edge: Edge, subject: Node) -> bool:
    return edge.type in SYMMETRIC or edge.source == subject.id
