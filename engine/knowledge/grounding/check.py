"""Checking a text against the graph: every claim labelled, with what speaks for it and against it.

grounded       an edge states it
contradicted   the opposite is stated for the same pair and not the claim; or an edge states what the claim denies
inferred       no such edge, but one that nearly says it, or enough indirect paths (see `paths`)
ungrounded     everything else, claims about entities the graph does not know included

A claim with a sign (inhibits, activates, raises, lowers) is grounded by edges of the same sign only; see `direct`.
A denied claim that no edge speaks about is ungrounded: a missing edge is no evidence of absence. A sentence that asks,
supposes, plans, or only lists its entities is no claim and gets no label.
The label is always found here, from edges.
"""

from __future__ import annotations

import time

from engine.domain.findings import Grounding
from engine.domain.knowledge import Claim, ClaimCheck, Unclaimed
from engine.knowledge.claims.statements import Statement, read_text
from engine.knowledge.graph.view import GraphView
from engine.knowledge.grounding.direct import Ruling, direct_rulings
from engine.knowledge.grounding.paths import PathFinder, Support
from engine.knowledge.grounding.told import ReadsClaims, held
from engine.knowledge.grounding.words import claim_words, edge_words, path_evidence, says
from engine.knowledge.linking.linker import UNKNOWN_ID, EntityLinker

SCORES: dict[Grounding, float] = {"grounded": 1.0, "inferred": 0.5, "ungrounded": 0.0, "contradicted": -1.0}


def check_text(
    text: str, view: GraphView, linker: EntityLinker, reads: ReadsClaims = lambda text, names: None
) -> ClaimCheck:
    """Label every claim of a text. Any text is accepted; an empty one has no claims.

    Args:
        text: what is checked.
        view: the graph.
        linker: finds the entities of the text.
        reads: reads the claims in the place of the trained models, or returns None to leave it to them.
    """
    started = time.perf_counter()
    mentions = linker.link(text)
    told = reads(text, [mention.text for mention in mentions])
    if told is None:
        read = list(read_text(text, mentions))
        statements = [statement for one in read for statement in one.statements]
        unclaimed = [Unclaimed(text=one.sentence.text, why=one.open) for one in read if one.open and not one.statements]
    else:
        statements, unclaimed = held(text, mentions, told[0])
    finder = PathFinder(view)
    claims = [claim_of(statement, finder) for statement in statements]
    score = sum(SCORES[claim.label] * _weight(claim) for claim in claims) / len(claims) if claims else 0.0
    seconds = time.perf_counter() - started
    return ClaimCheck(
        claims=claims,
        unclaimed=unclaimed,
        score=score,
        read_by=told[1] if told else "",
        graph_version=view.version,
        seconds=seconds,
    )


def _weight(claim: Claim) -> float:
    """Return what a label is worth: the confidence of the surest that states it; paths count in full."""
    stated = [item.confidence for item in claim.evidence if item.kind != "path"]
    return max(stated) if stated else 1.0


def claim_of(statement: Statement, finder: PathFinder) -> Claim:
    """Return a statement with its label and what speaks for and against it."""
    ruling = rule(statement, finder)
    return Claim(
        text=statement.text,
        label=ruling.label,
        entities=list(statement.mentions),
        predicate=statement.sense.type.value,
        subject=ruling.subject.id,
        object=ruling.object.id,
        negated=statement.negated,
        hedged=statement.hedged,
        evidence=ruling.evidence,
        why=ruling.why,
    )


def rule(statement: Statement, finder: PathFinder) -> Ruling:
    """Return what the graph says of a statement."""
    first = (statement.subject[0], statement.object[0])
    unknown = [m for m in statement.mentions if m.why == UNKNOWN_ID]
    if unknown:
        return Ruling("ungrounded", f"The graph has no entity {unknown[0].text}.", [], *first)
    if statement.mutant:
        why = f"The sentence is about {statement.mutant}; the graph speaks of the gene without that change."
        return Ruling("ungrounded", why, [], *first)
    rulings = direct_rulings(statement, finder.view)
    if rulings:
        order = {"grounded": 0, "contradicted": 1, "inferred": 2, "ungrounded": 3}
        return min(rulings, key=lambda r: order[r.label])
    return _indirect(statement, finder)


def _indirect(statement: Statement, finder: PathFinder) -> Ruling:
    kind, view = statement.sense.type, finder.view
    first = (statement.subject[0], statement.object[0])
    names = claim_words(statement.sense, *first)
    if statement.negated:
        why = f"The text denies that {names}; the graph has no such edge, which proves nothing either way."
        return Ruling("ungrounded", why, [], *first)
    weak: Support | None = None
    for s in statement.subject[:3]:
        for o in statement.object[:3]:
            a, b = view.nodes.number(s.id), view.nodes.number(o.id)
            supports = finder.support(kind, a, b) if a >= 0 and b >= 0 and a != b else []
            enough = [support for support in supports if support.enough]
            if enough:
                why = f"No edge states it, but {says(enough[0], s, o, view)}."
                return Ruling("inferred", why, path_evidence(enough, view), s, o)
            weak = weak or (supports[0] if supports else None)
    if weak is not None:
        hub = " of which all pass a hub" if weak.hubs_only else ""
        why = f"No edge states that {names}; {says(weak, *first, view)}{hub}, which is too little."
        return Ruling("ungrounded", why, [], *first)
    why = f"Neither an edge nor an accepted path states that {names}{_other_relation(statement, view)}."
    return Ruling("ungrounded", why, [], *first)


def _other_relation(statement: Statement, view: GraphView) -> str:
    """Return what the graph does state of the pair, to be added to a sentence, or an empty string."""
    for s in statement.subject[:3]:
        for o in statement.object[:3]:
            a, b = view.nodes.number(s.id), view.nodes.number(o.id)
            edges = view.edges.full(view.rows_between(a, b)) if a >= 0 and b >= 0 and a != b else []
            if edges:
                return f"; what the graph states is that {edge_words(edges[0], s, o)}"
    return ""
