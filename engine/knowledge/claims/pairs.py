"""Which two entities of a sentence are said to be related, and how: the clauses as the trained models read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.domain.knowledge import EdgeType, Mention, NodeType
from engine.knowledge.claims.clauses import Clause, SentenceParts
from engine.knowledge.claims.features import FIRST, SECOND, no_change, without_litotes, without_loss
from engine.knowledge.claims.model import STANCES, RelationReading, model
from engine.knowledge.claims.relations import Sense, family, kinds_of, sense_of
from engine.text.stems import stem

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
_TRUTH = frozenset(map(stem, "true case correct right fact false wrong untrue mistaken refute disprove deny".split()))
"""What makes of a denied denial an assertion; that there is no evidence for one does not."""
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
    """Return the clauses that claim something, in order, each gap used once; and whether any two are related at all."""
    for clauses in (parts.couples(), parts.shared()):
        apart = [_read(clause, mentions) for clause in clauses]
        if apart and all(pair is not None and pair.p >= LEAST for pair in apart):
            return [pair for pair in apart if pair is not None], True
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
    words = without_litotes(clause.tokens)
    found = list(_readings(words, one, two))
    if not found:
        return None
    related, kinds, readings = max(found, key=lambda reading: reading[0])
    top = readings[0]
    second_acts = top.subject != FIRST
    if top.relation is EdgeType.CAUSES:  # what is caused is the side effect, not the disease, of that name
        side = NodeType.SIDE_EFFECT
        a, b = (k is NodeType.DISEASE and side in kinds_of(m) for k, m in zip(kinds, (one, two), strict=True))
        kinds = (side if a else kinds[0], side if b else kinds[1])
    if family(kinds[0]) != family(kinds[1]) and "process" in map(family, kinds) and related < _LEAST_PROCESS:
        return None
    also = [r.relation for r in readings[1:] if r.subject == top.subject and r.p > _AS_WELL * top.p]
    tokens, _ = without_loss(words, *map(family, kinds))
    stances = _stance(tokens)
    denied = stances["denied"] > stances["asserted"]
    subject, object_ = kinds[::-1] if second_acts else kinds
    unmoved = denied and no_change(tokens)
    sense = sense_of(top.relation, subject, object_, also, any_change=unmoved)
    claimed = related * (stances["asserted"] + stances["denied"])
    return Pair(clause, sense, kinds, second_acts, denied, stances["unknown"] > _RESERVE, related, claimed)


def _stance(tokens: list[str]) -> dict[str, float]:
    """Return how likely a clause asserts, denies or leaves open; `it is not so that A does not` is read in parts."""
    first, last = sorted((tokens.index(FIRST), tokens.index(SECOND)))
    at = next((place for place in range(first - 1, 0, -1) if tokens[place] == "that"), 0)
    if at:
        frame = [*tokens[: at + 1], FIRST, "inhibit", SECOND, *tokens[last + 1 :]]
        parts = (model().stance(part)["denied"] for part in (frame, tokens[at + 1 : last + 1]))
        if min(parts) > LEAST:
            return {**dict.fromkeys(STANCES, 0.0), "unknown" if _TRUTH.isdisjoint(frame) else "asserted": 1.0}
    return model().stance(tokens)


def _readings(
    words: Sequence[str], one: Mention, two: Mention
) -> Iterator[tuple[float, tuple[NodeType, NodeType], list[RelationReading]]]:
    """Yield how likely the two are related when taken as of two types, the types, and relations, likeliest first."""
    unlikely = _EVERYDAY * (min(one.score, two.score) < _EVERYDAY_SCORE)
    for a in _roles(one, two):
        for b in _roles(two, one):
            readings = model().relation(words, a, b)
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
