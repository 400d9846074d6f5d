"""What a text states: which two entities, which relation, asserted or denied.

The entities of a sentence are masked and each two of them are read by the trained models (see `model`); what is asked,
supposed, planned, or only stands side by side is no statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from engine.domain.knowledge import EdgeType, Mention, Node, NodeType
from engine.knowledge.claims.clauses import Clause, Parts, echo
from engine.knowledge.claims.features import FIRST, no_change
from engine.knowledge.claims.mentions import kinds_of, meant, mutant_form, options_for
from engine.knowledge.claims.model import Reading, model
from engine.knowledge.claims.relations import Sense, family, sense_of
from engine.text.sentences import Sentence, split_sentences

_MOST_MENTIONS = 24
"""Entities of one sentence that are read; lists longer than this are tables, not claims."""
_LEAST = 0.5
"""Least probability that two entities are related at all."""
_LEAST_MORE = 0.7
"""The same for a further pair of a clause that has one."""
_LEAST_PROCESS = 0.8
"""The same where one is a pathway or a process: their names are often words of the predicate."""
_RESERVE = 0.25
"""Probability of leaving it open from which on a claim is said with reserve."""
_LESS_LIKELY = 0.1
"""What a namesake further down the list is less likely to be meant."""
_EVERYDAY = 0.3
"""The same for a name that is an everyday word (`arm`, `growth`)."""
_AS_WELL = 0.3
"""Share of the likeliest relation's probability from which on another is meant as well."""
_PRONOUN = re.compile(
    r"\s*(?:(?:[\w-]+\s+){0,3}[\w-]+,\s*)?(?P<it>it|they|(?:the|this|that)\s+(?:same\s+)?(?:drug|compound|agent|gene|protein|disease|"
    r"condition|disorder|tissue|molecule|substance|medicine))\b(?!\s+(?:is|was|has\s+been|seems|appears|remains)\b[^.]*\b(?:that|whether|to)\b)",
    re.IGNORECASE,
)
_OPEN = "It leaves open whether they are related: a question, a plan, a condition or a guess."
_BESIDE = "It names them and states no relation between them."
_IT = re.compile(r"\b(?:it|them|this|that)\b", re.IGNORECASE)
_SHORT = 9
"""Words of a line on a label: `Indication: gout.`"""
_UNLIKE = re.compile(r"\b(?:unlike|in\s+contrast\s+(?:to|with)|contrary\s+to)\s+(?:the\s+)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence says of two entities; `subject` is the one that acts.

    `subject` and `object` are the namesakes that fit the relation, likeliest first.
    """

    text: str
    mentions: tuple[Mention, ...]
    """The two where they stand in the text; none of a statement that is no text."""
    subject: tuple[Node, ...]
    object: tuple[Node, ...]
    sense: Sense
    negated: bool = False
    hedged: bool = False
    """True when it is said with reserve, so that it might as well be a guess."""
    mutant: str = ""
    """The mutant form that is spoken of, such as `ABL1 T315I`; edges are about the gene itself."""


@dataclass(frozen=True, slots=True)
class Read:
    """A sentence with what it states; `open` says why it names two entities and states nothing of them."""

    sentence: Sentence
    statements: list[Statement]
    mentions: list[Mention]
    open: str = ""


def read_text(text: str, mentions: Sequence[Mention]) -> Iterator[Read]:
    """Yield each sentence with what it states."""
    previous: Statement | None = None
    before: Read | None = None
    position = 0
    for sentence in split_sentences(text, [(m.start, m.end) for m in mentions]):
        while position < len(mentions) and mentions[position].start < sentence.start:
            position += 1
        last = position
        while last < len(mentions) and mentions[last].end <= sentence.end:
            last += 1
        read = read_sentence(sentence, mentions[position:last], previous)
        if before is not None and len(before.mentions) == len(read.mentions) == 1 and _goes_on(before, read):
            whole = Sentence(text[before.sentence.start : sentence.end], before.sentence.start, sentence.end)
            read = read_sentence(whole, [*before.mentions, *read.mentions])
        position = last
        previous = read.statements[-1] if read.statements else previous
        before = read
        yield read


def _goes_on(before: Read, read: Read) -> bool:
    """Say whether a sentence about one entity goes on with the one before: `Nausea? Rosuvastatin does not cause it.`"""
    words = len(read.sentence.text.split())
    return before.sentence.text.endswith("?") and _IT.search(read.sentence.text) is not None or (
        ":" in read.sentence.text and words <= _SHORT
    )  # fmt: skip


def read_sentence(sentence: Sentence, mentions: Sequence[Mention], previous: Statement | None = None) -> Read:
    """Read one sentence; `previous` is the statement before it, for one that opens with `it`."""
    named = meant(sentence, mentions)[:_MOST_MENTIONS]
    text, start, found = sentence.text, sentence.start, named
    if previous is not None and named:
        text, found = _with_subject(sentence, named, previous)
        start = sentence.start
    if len(found) < 2:
        return Read(sentence, [], named)
    apart = _set_apart(text, found, start) if len(found) > 2 else None
    rest = [m for m in found if m is not apart]
    chosen, open_ = _chosen(Parts(text, rest, start), rest)
    statements = [s for pair in chosen for s in _statements(sentence, pair, rest)]
    statements += _echoes(Parts(text, rest, start), statements, rest)
    if apart is not None:
        statements += [_in_place(s, apart) for s in statements[:1] if _in_place(s, apart)]
    statements = [replace(s, mutant=_mutant(sentence, s, named)) for s in statements]
    return Read(sentence, statements, named, "" if statements else open_)


@dataclass(frozen=True, slots=True)
class _Pair:
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


def _chosen(parts: Parts, mentions: Sequence[Mention]) -> tuple[list[_Pair], str]:
    """Return the clauses that state something, in the order of the text, each gap used once; and why others do not."""
    couples = [_read(clause, mentions) for clause in parts.couples()]
    if couples and all(pair is not None and pair.p >= _LEAST for pair in couples):
        return [pair for pair in couples if pair is not None], ""
    ranked: list[tuple[float, Clause, _Pair]] = []
    for clause in parts.clauses():
        pair = _read(clause, mentions)
        if pair is not None:
            ranked.append((pair.p + clause.bonus, clause, pair))
    ranked.sort(key=lambda item: -item[0])
    used: set[int] = set()
    found: list[_Pair] = []
    for score, clause, pair in ranked:
        least = _LEAST_MORE if found and not clause.bonus else _LEAST
        if score >= least and used.isdisjoint(clause.gaps):
            used |= clause.gaps
            found.append(pair)
    found.sort(key=lambda pair: (pair.clause.first.members, pair.clause.second.members))
    related = any(pair.related >= _LEAST for _, _, pair in ranked)
    return found, _OPEN if related else _BESIDE


def _read(clause: Clause, mentions: Sequence[Mention]) -> _Pair | None:
    """Return the likeliest reading over the types that the names of both may be of, or None for no relation at all."""
    one, two = mentions[clause.first.members[0]], mentions[clause.second.members[0]]
    best: tuple[float, float, Reading, tuple[NodeType, NodeType], list[Reading]] | None = None
    for kind_one in _roles(one, two):
        for kind_two in _roles(two, one):
            readings = model().relation(clause.tokens, kind_one, kind_two)
            related = [r for r in readings if r.relation is not None]
            p = sum(r.p for r in related)
            rank = kinds_of(one).index(kind_one) + kinds_of(two).index(kind_two)
            score = p - _LESS_LIKELY * rank - _EVERYDAY * (min(one.score, two.score) < 0.5)
            if related and (best is None or score > best[0]):
                best = (score, p, related[0], (kind_one, kind_two), related[1:])
    if best is None:
        return None
    p, _, top, kinds, others = best
    second_acts = top.subject != FIRST
    kinds = _by_relation(top, kinds, (one, two))
    ends = kinds[::-1] if second_acts else kinds
    also = [r.relation for r in others if r.relation and r.subject == top.subject and r.p > _AS_WELL * top.p]
    stances = model().stance(clause.tokens)
    denied = stances["denied"] > stances["asserted"]
    claimed = p * (stances["asserted"] + stances["denied"])
    assert top.relation is not None
    sense = sense_of(top.relation, *ends, also, any_change=denied and no_change(clause.tokens))
    if family(kinds[0]) != family(kinds[1]) and "process" in map(family, kinds) and p < _LEAST_PROCESS:
        return None
    return _Pair(clause, sense, kinds, second_acts, denied, stances["unknown"] > _RESERVE, p, claimed)


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
    reading: Reading, kinds: tuple[NodeType, NodeType], mentions: tuple[Mention, Mention]
) -> tuple[NodeType, NodeType]:
    """Return the types with the side effect in place of the disease of that name where it is caused."""
    if reading.relation is not EdgeType.CAUSES or NodeType.DISEASE not in kinds:
        return kinds
    place = kinds.index(NodeType.DISEASE)
    signs = [k for k in kinds_of(mentions[place]) if k is NodeType.SIDE_EFFECT] or [NodeType.DISEASE]
    return (signs[0], kinds[1]) if place == 0 else (kinds[0], signs[0])


def _statements(sentence: Sentence, pair: _Pair, mentions: Sequence[Mention]) -> Iterator[Statement]:
    """Yield what a clause states of each entity of one group with each of the other."""
    first, second = pair.clause.first, pair.clause.second
    for a in first.members:
        for b in second.members:
            one, two = mentions[a], mentions[b]
            ends = (options_for(one, pair.kinds[0]), options_for(two, pair.kinds[1]))
            if not ends[0] or not ends[1] or one.node.id == two.node.id:
                continue
            subject, object_ = ends[::-1] if pair.second_acts else ends
            turned = (a in first.turned) + (b in second.turned)
            negated = pair.denied ^ (turned % 2 == 1)
            yield Statement(sentence.text, (one, two), subject, object_, pair.sense, negated, pair.hedged)


def _with_subject(
    sentence: Sentence, mentions: list[Mention], previous: Statement
) -> tuple[str, list[Mention]]:
    """Return the entities with the one that `it` at the beginning means, put where it stands."""
    first = mentions[0].start - sentence.start
    match = _PRONOUN.match(sentence.text[:first])
    if match is None or len(mentions) > 2:
        return sentence.text, mentions
    place = {"start": sentence.start + match.start("it"), "end": sentence.start + match.end("it")}
    one = previous.mentions[0]
    return sentence.text, [one.model_copy(update=place), *mentions]


def _set_apart(text: str, mentions: Sequence[Mention], start: int) -> Mention | None:
    """Return the entity that a sentence sets apart from the rest (`Unlike A, B binds C`), or None."""
    before = [0, *(m.end - start for m in mentions)]
    for number, mention in enumerate(mentions):
        if _UNLIKE.search(text[before[number] : mention.start - start]):
            return mention
    return None


def _in_place(made: Statement, mention: Mention, *, negated: bool | None = None) -> Statement | None:
    """Return a statement with another entity in place of the one of its kind; denied where the first is not."""
    for nodes, role in ((made.subject, "subject"), (made.object, "object")):
        kind = next((k for k in kinds_of(mention) if family(k) == family(nodes[0].type)), None)
        if kind is not None:
            turned = not made.negated if negated is None else negated
            other = made.mentions[1] if made.mentions[0].node.id in {n.id for n in nodes} else made.mentions[0]
            update = {role: options_for(mention, kind)}
            return replace(made, **update, mentions=(mention, other), negated=turned)
    return None


def _echoes(parts: Parts, made: Sequence[Statement], mentions: Sequence[Mention]) -> Iterator[Statement]:
    """Yield what `while B does not` says of B."""
    if not made:
        return
    for k, group in enumerate(parts.groups[1:], start=1):
        says = echo(parts.between[k + 1])
        mention = mentions[group.members[0]]
        if says is None or any(mention in s.mentions for s in made):
            continue
        one = _in_place(made[-1], mention, negated=says)
        if one is not None:
            yield one


def _mutant(sentence: Sentence, statement: Statement, mentions: Sequence[Mention]) -> str:
    # a variant of a gene that goes with a disease is what associates the gene with it
    if statement.sense.type in {EdgeType.ASSOCIATED_WITH, EdgeType.MARKER_OF}:
        return ""
    return next((form for m in statement.mentions if (form := mutant_form(sentence, m, mentions))), "")
