"""Claims that somebody else has read from a text, held against the text: names and words must stand there.

What holds becomes a statement like one that the trained models read, so the same code finds what the graph says of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from engine.domain.knowledge import EdgeType, Mention, ToldClaim, Unclaimed
from engine.knowledge.claims.relations import sense_of
from engine.knowledge.claims.statements import Statement
from engine.knowledge.linking.meant import mutant_form
from engine.text.sentences import Sentence

ReadsClaims = Callable[[str, Sequence[str]], "tuple[Sequence[ToldClaim], str] | None"]
"""Given a text and the names in it, returns its claims and who read them."""


def held(text: str, mentions: Sequence[Mention], told: Sequence[ToldClaim]) -> tuple[list[Statement], list[Unclaimed]]:
    """Return the claims that the text holds as statements, each once, and what of the others does not hold."""
    statements: dict[tuple[object, ...], Statement] = {}
    left: list[Unclaimed] = []
    for claim in told:
        statement = _statement(text, mentions, claim)
        if statement is None:
            why = f"A model reads {claim.says} here, and the text has not these words with both names."
            left.append(Unclaimed(text=claim.quote, why=why))
            continue
        ends = statement.subject[0].id, statement.object[0].id
        statements.setdefault((*ends, statement.sense.type, statement.negated, statement.text), statement)
    return [*statements.values()], left


def _statement(text: str, mentions: Sequence[Mention], claim: ToldClaim) -> Statement | None:
    words = claim.quote.split()
    place = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    if place is None:
        return None
    inside = [m for m in mentions if place.start() <= m.start and m.end <= place.end()]
    one = next((m for m in inside if m.text.casefold() == claim.subject.casefold()), None)
    two = next((m for m in inside if m.text.casefold() == claim.object.casefold() and m is not one), None)
    if one is None or two is None or one.node.id == two.node.id:
        return None
    sentence = Sentence(place[0], place.start(), place.end())
    mutants = (mutant_form(sentence, m, [other for other in inside if other is not m]) for m in (one, two))
    return Statement(
        text=place[0],
        mentions=(one, two) if one.start < two.start else (two, one),
        subject=(one.node, *one.alternatives),
        object=(two.node, *two.alternatives),
        sense=sense_of(EdgeType(claim.relation), one.node.type, two.node.type),
        negated=claim.denied,
        hedged=claim.hedged,
        mutant=next(filter(None, mutants), ""),
    )
