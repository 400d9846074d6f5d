"""Checking a text against the graph and a run's findings: every claim labelled, with its evidence.

grounded       an edge (or a finding) states it
contradicted   the opposite is stated for the same pair and the claim is not; or an edge states what the claim denies
inferred       no such edge, but enough indirect paths (see `grounding_paths`)
ungrounded     everything else, claims about entities the graph does not know included

A claim with a sign (inhibits, activates, raises, lowers) is grounded by edges of the same sign only; see
`grounding_direct`. A sentence that asks or supposes, or that names a mutant form, is said to do so in `why`.
A denied claim that no edge speaks about is ungrounded: a missing edge is no evidence of absence. Hedges
(`may`, `it is believed that`) are noted and change nothing. A model may split the text and name predicates; the
label is always found here, from edges.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from engine.domain.findings import Finding, Grounding
from engine.domain.knowledge import Claim, ClaimCheck, EdgeType, Mention
from engine.knowledge.claims import Statement, statements
from engine.knowledge.claims_directions import direction
from engine.knowledge.claims_predicates import asserts_relation
from engine.knowledge.graph.view import GraphView
from engine.knowledge.grounding_direct import Ruling, direct_rulings
from engine.knowledge.grounding_findings import FindingMatch, Number, match_findings, numbers
from engine.knowledge.grounding_paths import PathFinder, Support
from engine.knowledge.grounding_words import (
    edge_words,
    finding_evidence,
    path_evidence,
    relation_words,
    says,
)
from engine.knowledge.linking import UNKNOWN_ID, EntityLinker
from engine.ports.chat import ChatModel
from engine.text.sentences import Sentence

SCORES: dict[Grounding, float] = {"grounded": 1.0, "inferred": 0.5, "ungrounded": 0.0, "contradicted": -1.0}
_SUPPOSED = {
    "": "",
    "asks": "The sentence asks this and does not assert it. ",
    "supposes": "The sentence only supposes this and does not assert it. ",
}


@dataclass(slots=True)
class _Context:
    view: GraphView
    finder: PathFinder
    findings: Sequence[Finding]


def check_text(
    text: str,
    view: GraphView,
    linker: EntityLinker,
    *,
    findings: Sequence[Finding] = (),
    model: ChatModel | None = None,
) -> ClaimCheck:
    """Label every claim of a text.

    `findings` are a run's: they ground numbers and directions. With `model`, sentences are read by it where its
    answers are usable, and by rule where they are not. Any text is accepted; an empty one has no claims.
    """
    started = time.perf_counter()
    mentions = linker.link(text)
    read = list(statements(text, mentions))
    if model is not None:
        from engine.knowledge.grounding_model import reread

        read = reread(read, linker, model)
    context = _Context(view, PathFinder(view), findings)
    starts = [mention.start for mention in mentions]
    claims: list[Claim] = []
    for sentence, stated in read:
        wanted = _numbers_of(sentence, mentions, starts)
        if not stated:
            claims += _number_claim(sentence, wanted, context)
        for statement in stated:
            claim = _claim(sentence, statement, wanted, context)
            if claim is not None:
                claims.append(claim)
    score = sum(SCORES[claim.label] for claim in claims) / len(claims) if claims else 0.0
    seconds = time.perf_counter() - started
    return ClaimCheck(claims=claims, score=score, graph_version=view.version, seconds=seconds)


def _numbers_of(sentence: Sentence, mentions: Sequence[Mention], starts: Sequence[int]) -> list[Number]:
    """Return the numbers of a sentence that are not part of an entity's name."""
    if not any(c.isdigit() for c in sentence.text):
        return []
    inside = mentions[bisect_left(starts, sentence.start) : bisect_left(starts, sentence.end)]
    return numbers(sentence.text, [(m.start - sentence.start, m.end - sentence.start) for m in inside])


def _number_claim(sentence: Sentence, wanted: Sequence[Number], context: _Context) -> list[Claim]:
    """Return the claim of a sentence about no entity, when it holds numbers."""
    if not wanted:
        return []
    change = direction(sentence.text.lower(), weak=False)
    match = match_findings(sentence.text, wanted, (), context.findings, change)
    label, why = _numbers_label(match, len(wanted))
    return [Claim(text=sentence.text, label=label, evidence=finding_evidence(match.stated), why=why)]


def _numbers_label(match: FindingMatch, count: int) -> tuple[Grounding, str]:
    if not match.missing:
        ids = ", ".join(finding.id for finding in match.stated)
        return "grounded", f"{'The number is' if count == 1 else 'The numbers are'} stated by {ids}."
    listed = ", ".join(match.missing[:4])
    return "ungrounded", f"No finding states {listed}."


def _claim(sentence: Sentence, statement: Statement, wanted: Sequence[Number], context: _Context) -> Claim | None:
    """Return the labelled claim, or None when the sentence says nothing that can be checked."""
    if statement.sense is None and len(statement.mentions) == 1 and not _asserts(statement, wanted):
        return None
    ruling = _by_graph(statement, context)
    if context.findings:
        ruling = _with_findings(sentence, statement, wanted, ruling, context)
    return Claim(
        text=statement.text,
        label=ruling.label,
        entities=list(statement.mentions),
        predicate=statement.sense.type.value if statement.sense else "",
        subject=ruling.subject.id if ruling.subject else "",
        object=ruling.object.id if ruling.object else "",
        negated=statement.negated,
        hedged=statement.hedged,
        evidence=ruling.evidence,
        why=_SUPPOSED[statement.supposed] + ruling.why,
    )


def _asserts(statement: Statement, wanted: Sequence[Number]) -> bool:
    """Return True when a sentence about one entity claims something: a relation to what is unknown, a number."""
    return bool(wanted) or asserts_relation(statement.text.lower())


def _by_graph(statement: Statement, context: _Context) -> Ruling:
    sense = statement.sense
    if statement.subject is None or statement.object is None or sense is None:
        return _unreadable(statement)
    unknown = [m for m in statement.mentions if m.why == UNKNOWN_ID]
    if unknown:
        return Ruling("ungrounded", f"The graph has no entity {unknown[0].text}.", [],
                       statement.subject.options[0], statement.object.options[0])  # fmt: skip
    if statement.mutant:
        why = f"The sentence is about {statement.mutant}; the graph speaks of the gene without that change."
        return Ruling("ungrounded", why, [], statement.subject.options[0], statement.object.options[0])
    for reading in (statement, statement.other):
        if reading is None or (reading is not statement and (reading.sense is None or not reading.sense.recognised)):
            continue  # another reading counts only when the words support it
        rulings = direct_rulings(reading, context.view)
        if rulings:
            order = {"grounded": 0, "contradicted": 1, "inferred": 2, "ungrounded": 3}
            return min(rulings, key=lambda r: order[r.label])
    return _indirect(statement, context)


def _unreadable(statement: Statement) -> Ruling:
    names = [mention.node.name for mention in statement.mentions]
    if len(names) == 1:
        why = f"Only {names[0]} is known to the graph here, so there is no relation to look up."
    else:
        why = f"The graph has no kind of relation between {names[0]} and {names[1]} that this sentence could mean."
    return Ruling("ungrounded", why, [], statement.mentions[0].node if statement.mentions else None)


def _indirect(statement: Statement, context: _Context) -> Ruling:
    sense, subject, object_ = statement.sense, statement.subject, statement.object
    if sense is None or subject is None or object_ is None:
        return _unreadable(statement)
    first = (subject.options[0], object_.options[0])
    names = relation_words(sense.type, *first)
    assumed = "" if sense.recognised else " The relation was assumed from the kinds of entities."
    if statement.negated:
        why = f"The text denies that {names}; the graph has no such edge, which proves nothing either way."
        return Ruling("ungrounded", why, [], *first)
    weak: Support | None = None
    for s in subject.options[:3]:
        for o in object_.options[:3]:
            a, b = context.view.number(s.id), context.view.number(o.id)
            supports = context.finder.support(sense.type, a, b) if a >= 0 and b >= 0 and a != b else []
            enough = [support for support in supports if support.enough]
            if enough:
                why = f"No edge states it, but {says(enough[0], s, o, context.view)}.{assumed}"
                return Ruling("inferred", why, path_evidence(enough, context.view), s, o)
            weak = weak or (supports[0] if supports else None)
    if weak is not None:
        hub = " of which all pass a hub" if weak.hubs_only else ""
        why = f"No edge states that {names}; {says(weak, *first, context.view)}{hub}, which is too little.{assumed}"
        return Ruling("ungrounded", why, [], *first)
    other = _other_relation(statement, context.view)
    why = f"Neither an edge nor an accepted path states that {names}{other}.{assumed}"
    return Ruling("ungrounded", why, [], *first)


def _other_relation(statement: Statement, view: GraphView) -> str:
    """Return what the graph does state of the pair, to be added to a sentence, or an empty string."""
    if statement.subject is None or statement.object is None:
        return ""
    for s in statement.subject.options[:3]:
        for o in statement.object.options[:3]:
            a, b = view.number(s.id), view.number(o.id)
            edges = view.edges(view.rows_between(a, b)) if a >= 0 and b >= 0 and a != b else []
            if edges:
                return f"; what the graph states is that {edge_words(edges[0], s, o)}"
    return ""


def _with_findings(
    sentence: Sentence, statement: Statement, wanted: Sequence[Number], ruling: Ruling, context: _Context
) -> Ruling:
    """Let findings speak: one that states the opposite contradicts, one that states the claim or numbers grounds."""
    change = _claimed_change(statement)
    names = [[m.text, m.node.name, *m.node.aliases] for m in statement.mentions]
    match = match_findings(sentence.text, wanted, names, context.findings, change)
    if match.opposes and not match.agrees:
        why = f"Finding {match.opposes[0].id} says the opposite: {match.opposes[0].text}"
        evidence = finding_evidence(match.opposes) + ruling.evidence
        return Ruling("contradicted", why, evidence, ruling.subject, ruling.object)
    speaking = match.agrees or (match.stated if not match.missing else [])
    if not speaking:
        return ruling
    evidence = ruling.evidence + finding_evidence(speaking)
    if ruling.label == "grounded" or (ruling.label == "contradicted" and not match.agrees):
        return Ruling(ruling.label, ruling.why, evidence, ruling.subject, ruling.object)
    why = f"Finding {speaking[0].id} states it: {speaking[0].text}"
    return Ruling("grounded", why, evidence, ruling.subject, ruling.object)


def _claimed_change(statement: Statement) -> int:
    sense = statement.sense
    change = 0
    if sense is not None and not sense.none and sense.type in {EdgeType.UPREGULATES, EdgeType.DOWNREGULATES}:
        change = 1 if sense.type is EdgeType.UPREGULATES else -1
    elif sense is None:
        change = direction(statement.text.lower(), weak=False)
    return -change if statement.negated else change
