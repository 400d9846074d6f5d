"""Which two entities of a sentence are said to be related, and how: the clauses as the trained models read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.domain.knowledge import EdgeType, Mention, NodeType
from engine.knowledge.claims.clauses import Clause, SentenceParts
from engine.knowledge.claims.features import FIRST, no_change, without_loss
from engine.knowledge.claims.model import RelationReading, model
from engine.knowledge.claims.relations import Sense, family, kinds_of, sense_of

LEAST = 0.4
"""Least probability that a clause claims something."""
_LEAST_MORE = 0.7
"""The same for a further pair of a clause that has one."""
_LEAST_PROCESS = 0.8
"""Least probability of a relation with a pathway or a process: their names are often words of the predicate."""
_RESERVE = 0.25
"""Probability of leaving it open from which on a claim is said with reserve."""
_LESS_LIKELY = 0.1
"""What a namesake further down the list is less likely to be meant."""
_EVERYDAY, _EVERYDAY_SCORE = 0.3, 0.5
"""The same for a name that is an everyday word (`arm`, `growth`), which linking scores below this."""
_AS_WELL = 0.3
"""Share of the likeliest relation's probability from which on another is meant as well."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A clause as it is read: relation, which of the two acts, the types of the two, and whether it is denied."""

    clause: Clause
    sense: Sense
    kinds: tuple[NodeType, NodeType]
    second_acts: bool
    denied: bool
    hedged: bool
    related: float
    """How likely the two are related at all, asserted or not."""
    p: float
    """How likely the clause claims so."""


def pairs_of(parts: SentenceParts, mentions: Sequence[Mention]) -> tuple[list[Pair], bool]:
    """Return the clauses that claim something, in the order of the text, each gap used once.

    Returns:
        The pairs, and whether any two entities are related at all, claimed or left open.
    """
    couples = [_read(clause, mentions) for clause in parts.couples()]
    if couples and all(pair is not None and pair.p >= LEAST for pair in couples):
        return [pair for pair in couples if pair is not None], True
    read = [pair for clause in parts.clauses() if (pair := _read(clause, mentions)) is not None]
    used: set[int] = set()
    found: list[Pair] = []
    for pair in sorted(read, key=lambda pair: -pair.p - pair.clause.bonus):
        apart = not pair.clause.gaps.isdisjoint(range(1, 100))
        least = LEAST if (apart and (not found or pair.clause.bonus)) or len(parts.groups) == 1 else _LEAST_MORE
        if pair.p + pair.clause.bonus >= least and used.isdisjoint(pair.clause.gaps):
            used |= pair.clause.gaps
            found.append(pair)
    found.sort(key=lambda pair: (pair.clause.first.members, pair.clause.second.members))
    return found, any(pair.related >= LEAST for pair in read)


def _read(clause: Clause, mentions: Sequence[Mention]) -> Pair | None:
    """Return the likeliest reading over the types that the names of both may be of, or None for no relation at all."""
    one, two = mentions[clause.first.members[0]], mentions[clause.second.members[0]]
    found = list(_readings(clause, one, two))
    if not found:
        return None
    related, kinds, readings = max(found, key=lambda reading: reading[0])
    top = readings[0]
    second_acts = top.subject != FIRST
    kinds = _by_relation(top, kinds, (one, two))
    if family(kinds[0]) != family(kinds[1]) and "process" in map(family, kinds) and related < _LEAST_PROCESS:
        return None
    also = [r.relation for r in readings[1:] if r.subject == top.subject and r.p > _AS_WELL * top.p]
    tokens, _ = without_loss(clause.tokens, *map(family, kinds))
    stances = model().stance(tokens)
    denied = stances["denied"] > stances["asserted"]
    subject, object_ = kinds[::-1] if second_acts else kinds
    unmoved = denied and no_change(tokens)
    sense = sense_of(top.relation, subject, object_, also, any_change=unmoved)
    claimed = related * (stances["asserted"] + stances["denied"])
    return Pair(clause, sense, kinds, second_acts, denied, stances["unknown"] > _RESERVE, related, claimed)


def _readings(
    clause: Clause, one: Mention, two: Mention
) -> Iterator[tuple[float, tuple[NodeType, NodeType], list[RelationReading]]]:
    """Yield how likely the two are related when taken as of two types, the types, and relations, likeliest first."""
    unlikely = _EVERYDAY * (min(one.score, two.score) < _EVERYDAY_SCORE)
    for a in _roles(one, two):
        for b in _roles(two, one):
            readings = model().relation(clause.tokens, a, b)
            if readings:
                rank = kinds_of(one).index(a) + kinds_of(two).index(b)
                yield sum(r.p for r in readings) - _LESS_LIKELY * rank - unlikely, (a, b), readings


def _roles(mention: Mention, other: Mention) -> list[NodeType]:
    """Return the types that a mention is read as, one for each family; a disease is also what a sign of its name is."""
    found: dict[str, NodeType] = {}
    for kind in kinds_of(mention):
        if family(kind):
            found.setdefault(family(kind), kind)
    if "disease" in found and family(other.node.type) == "drug":
        found.pop("sign", None)
    return list(found.values())[:3]


def _by_relation(
    reading: RelationReading, kinds: tuple[NodeType, NodeType], mentions: tuple[Mention, Mention]
) -> tuple[NodeType, NodeType]:
    """Return the types with the side effect in place of the disease of that name where it is caused."""
    if reading.relation is not EdgeType.CAUSES:
        return kinds
    side = [NodeType.SIDE_EFFECT in kinds_of(m) and k is NodeType.DISEASE for k, m in zip(kinds, mentions, strict=True)]
    return NodeType.SIDE_EFFECT if side[0] else kinds[0], NodeType.SIDE_EFFECT if side[1] else kinds[1]
