"""What the edges between a claim's two entities say of it.

A claim with a sign is grounded by an edge of that sign and contradicted by one of the opposite sign. Edges without a
sign (`binds`, `targets`, `regulates`, `interacts_with`) leave it open: they make the claim inferred, and `why` says
that the direction is not stated. What a drug does to a gene's expression is not what it does to the protein (statins
inhibit HMGCR and raise its expression), so expression of the same sign speaks for activity and neither contradicts
the other.

Where sources disagree the surer side decides, a tie goes to the claim, and the other side is shown with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.findings import Grounding
from engine.domain.knowledge import OPPOSITE, SYMMETRIC, Edge, EdgeType, EvidenceEdge, Node
from engine.knowledge.claims.relations import Sense
from engine.knowledge.claims.statements import Statement
from engine.knowledge.graph.view import GraphView
from engine.knowledge.grounding.words import edge_evidence, edge_words, sources

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
_WEAK = 0.5
"""A claim that only edges of a lower confidence state is said to rest on little."""


@dataclass(slots=True)
class Ruling:
    """A label with its reason and evidence, and the two entities it is about."""

    label: Grounding
    why: str
    evidence: list[EvidenceEdge]
    subject: Node
    object: Node


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two nodes, the edges between them, and who knows them."""

    subject: Node
    object: Node
    edges: list[Edge]
    view: GraphView

    def words(self, edges: list[Edge]) -> str:
        return edge_words(edges[0], self.subject, self.object)

    def ruling(self, label: Grounding, why: str, for_: list[Edge], against: list[Edge] | None = None) -> Ruling:
        """Return a label with the edges for it and, marked as opposite, those against it."""
        evidence = edge_evidence(for_, self.view, self.subject, self.object, "edge")
        evidence += edge_evidence(against or [], self.view, self.subject, self.object, "opposite")
        return Ruling(label, why, evidence, self.subject, self.object)


def direct_rulings(statement: Statement, view: GraphView) -> list[Ruling]:
    """Return what edges between any two of the namesakes say of the claim."""
    found: list[Ruling] = []
    for subject in statement.subject[:4]:
        for object_ in statement.object[:4]:
            a, b = view.nodes.number(subject.id), view.nodes.number(object_.id)
            edges = view.edges.full(view.rows_between(a, b)) if a >= 0 and b >= 0 and a != b else []
            ruling = _direct(statement, _Pair(subject, object_, edges, view)) if edges else None
            if ruling is not None:
                found.append(ruling)
    return found


def opposed(edge: Edge, view: GraphView) -> str:
    """Return a sentence about the edges that state the opposite of one that is in the graph, "" when none does."""
    a, b = view.nodes.number(edge.source), view.nodes.number(edge.target)
    denying = _denying(Sense(edge.type))
    rows = view.rows_between(a, b) if a >= 0 and b >= 0 and denying else []
    same = (edge.source, edge.target)
    against = [e for e in view.edges.full(rows) if e.type in denying and (e.source, e.target) == same]
    if not against:
        return ""
    pair = _Pair(view.nodes.node(a), view.nodes.node(b), against, view)
    surest = max(item.confidence for item in against)
    return (
        f"{pair.words([edge])} (confidence {edge.confidence:g}): {_state(against, view)} the opposite, that "
        f"{pair.words(against)} (confidence {surest:g})."
    )


def _direct(statement: Statement, pair: _Pair) -> Ruling | None:
    """Return what the edges between two nodes say of the claim, or None when they say nothing of it."""
    sense = statement.sense
    meant, denying = {sense.type, *sense.accepts}, frozenset() if sense.any_change else _denying(sense)
    along = [e for e in pair.edges if e.type in meant and (not sense.directed or _along(e, pair.subject))]
    against = [e for e in pair.edges if e.type in denying and (not sense.directed or _along(e, pair.subject))]
    exact = sorted(along, key=lambda e: (-e.confidence, e.type != sense.type))
    against.sort(key=lambda e: -e.confidence)
    if statement.negated:
        return _denied(pair, exact, against)
    if exact and (not against or exact[0].confidence >= against[0].confidence):
        return pair.ruling("grounded", _stated(pair, exact, against), exact, against)
    if against:
        why = f"{_state(against, pair.view)} the opposite: {pair.words(against)}."
        if exact:
            why += f" With less confidence, {sources(exact, pair.view)} states it ({exact[0].confidence:g})."
        return pair.ruling("contradicted", why, exact, against)
    unsigned = _unsigned(sense, pair)
    if unsigned is not None and unsigned.label == "inferred":
        return unsigned
    turned = [e for e in pair.edges if sense.directed and e.type in meant]
    if turned:
        why = f"{_state(turned, pair.view)} it the other way round: {pair.words(turned)}."
        return pair.ruling("contradicted", why, [], turned)
    return unsigned or _loosely(sense, pair)


def _denied(pair: _Pair, stated: list[Edge], against: list[Edge]) -> Ruling | None:
    """Return what edges say of a denial: those that state what it denies contradict it, their opposites ground it."""
    if stated and (not against or stated[0].confidence >= against[0].confidence):
        why = f"The text denies what is stated: {pair.words(stated)} ({sources(stated, pair.view)})."
        return pair.ruling("contradicted", why, against, stated)
    if against:
        why = f"The text denies it, and {_state(against, pair.view)} the opposite: {pair.words(against)}."
        return pair.ruling("grounded", why, against, stated)
    return None


def _stated(pair: _Pair, exact: list[Edge], against: list[Edge]) -> str:
    why = f"{_state(exact, pair.view)} it: {pair.words(exact)}."
    if exact[0].confidence < _WEAK:
        why += f" This rests on little: its confidence is {exact[0].confidence:g}."
    if against:
        why += f" Against it, {_state(against, pair.view)} that {pair.words(against)} ({against[0].confidence:g})."
    return why


def _state(edges: list[Edge], view: GraphView) -> str:
    """Return who states edges, with the verb: `Hetionet states`, `Hetionet and DisGeNET state`."""
    several = len({view.edges.source_name(edge.origin) for edge in edges}) > 1
    return f"{sources(edges, view)} {'state' if several else 'states'}"


def _loosely(sense: Sense, pair: _Pair) -> Ruling | None:
    """Return what edges that do not state the claim itself still say of it."""
    nearly = [e for e in pair.edges if e.type == _NEARLY.get(sense.type)]
    if nearly:
        why = f"{sources(nearly, pair.view)} states something close: {pair.words(nearly)}."
        return pair.ruling("inferred", why, nearly)
    if sense.type is EdgeType.RELATED_TO:
        return pair.ruling(
            "grounded", f"{sources(pair.edges, pair.view)} relates them: {pair.words(pair.edges)}.", pair.edges
        )
    return None


def _denying(sense: Sense) -> frozenset[EdgeType]:
    """Return the types of edge that state the opposite; for a sign, the opposites of all that would state it."""
    if sense.type not in OPPOSITE:
        return _DENIED_BY.get(sense.type, frozenset())
    return frozenset(OPPOSITE[kind] for kind in (sense.type, *sense.accepts) if kind in OPPOSITE)


def _unsigned(sense: Sense, pair: _Pair) -> Ruling | None:
    """Return what edges without a sign, or of expression, say of a claim that one entity activates or inhibits."""
    if sense.type not in _EXPRESSION_OF:
        return None
    open_ = [e for e in pair.edges if e.type in {*_UNSIGNED, _EXPRESSION_OF[sense.type]}]
    along = [e for e in open_ if _along(e, pair.subject)]
    if not open_:
        return None
    if not along:
        return pair.ruling("ungrounded", f"The graph states only the other way round that {pair.words(open_)}.", [])
    if along[0].type in _UNSIGNED:
        why = f"The graph states that {pair.words(along)} but not in which direction it acts."
    else:
        why = f"The graph states that {pair.words(along)}, which is about its expression and not its activity."
    return pair.ruling("inferred", why, along)


def _along(edge: Edge, subject: Node) -> bool:
    return edge.type in SYMMETRIC or edge.source == subject.id
