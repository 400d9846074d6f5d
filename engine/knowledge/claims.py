"""Taking a text apart into statements: which two entities, which relation, asserted or denied.

A sentence is cut at its entities. What lies between two of them is a predicate, a list (`A, B and C`) or the seam
of two clauses (`..., and it also ...`). A clause with one entity takes the other from its neighbour, as `it` does.
A sentence without an entity is no statement unless it holds a number (see `grounding_findings`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from engine.domain.knowledge import EdgeType, Mention, Node, NodeType
from engine.knowledge.claims_clauses import Clause, clauses_of
from engine.knowledge.claims_context import Supposed, contrasted, mutant_form, supposed, without_asked_not
from engine.knowledge.claims_frames import hedged, negations, split_frame, split_tail, tail_denies
from engine.knowledge.claims_predicates import DRUGS, GENES, PLACES, Sense, denies
from engine.knowledge.claims_readings import kinds_of, options_for, readings_of, resolve, turned
from engine.knowledge.claims_sentences import Sentence, split_sentences


@dataclass(frozen=True, slots=True)
class Argument:
    """An entity of a statement: where it stands and which of its namesakes fit the relation, likeliest first."""

    mention: Mention
    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence says of one or two entities; `subject` and `object` are in the order the graph stores edges."""

    text: str
    mentions: tuple[Mention, ...]
    subject: Argument | None = None
    object: Argument | None = None
    sense: Sense | None = None
    negated: bool = False
    hedged: bool = False
    supposed: Supposed = ""
    """`asks` or `supposes` when the sentence is a question or a condition and asserts nothing."""
    mutant: str = ""
    """The mutant form that is spoken of, such as `ABL1 T315I`; edges are about the gene itself."""
    other: Statement | None = None
    """Another reading of the same words, where a name is of entities of different types."""


def statements(text: str, mentions: Sequence[Mention]) -> Iterator[tuple[Sentence, list[Statement]]]:
    """Yield each sentence with what it states; the list is empty for a sentence about no known entity."""
    previous: Statement | None = None
    position = 0
    for sentence in split_sentences(text, mentions):
        while position < len(mentions) and mentions[position].start < sentence.start:
            position += 1
        last = position
        while last < len(mentions) and mentions[last].end <= sentence.end:
            last += 1
        found = sentence_statements(sentence, list(mentions[position:last]), previous)
        position = last
        previous = found[-1] if found else previous
        yield sentence, found


_PRONOUN = re.compile(
    r"^\s*(?:(?:[\w-]+\s+){0,4}[\w-]+,\s*)?(?:it|they|this|these|both|the\s+(?:same\s+)?(?:drug|compound|agent|gene|protein|disease|condition|"
    r"disorder|tissue|molecule|substance|medicine))\b"
)
_CUE_LIKE = re.compile(
    r"(?:the\s+)?(?:adverse\s+)?(?:drug\s+)?(?:falls?|reactions?|adverse\s+(?:drug\s+)?(?:reactions?|effects?|events?)|effects?|"
    r"side\s+effects?|response|association|interaction|growth|increased|decreased|relapse|point|support|signaling|control|"
    r"weakness|disorders?|condition|localization|binding|protein\s+binding|secretion|transcription|gene\s+expression|"
    r"translation|pathogenesis|diseases?|drug\s+interaction|therapeutic\s+response|phase|development|cells?|membranes?|discomforts?|collapses?|dependence|metabolism|hosts?)$",
    re.IGNORECASE,
)


def sentence_statements(sentence: Sentence, mentions: list[Mention], previous: Statement | None) -> list[Statement]:
    """Return what one sentence states; `previous` is the statement before it, for a sentence that opens with `it`."""
    mentions = _without_doubles(sentence, mentions)
    mentions = _without_cue_words(sentence, mentions)
    if not mentions:
        return []
    mentions = mentions[:_MAX_MENTIONS]
    lower = without_asked_not(_plain(sentence.text))
    apart = contrasted(lower, mentions, sentence.start)
    if apart is None:
        found = _read(sentence, mentions, previous, lower)
    else:
        rest = [mention for number, mention in enumerate(mentions) if number != apart]
        found = _with_contrast(_read(sentence, rest, previous, lower), mentions[apart], sentence)
    return [_in_context(statement, sentence, mentions, lower) for statement in found]


def _in_context(made: Statement, sentence: Sentence, mentions: list[Mention], lower: str) -> Statement:
    """Note on a statement that its sentence asks or supposes it, or that it is about a mutant form."""
    asked = supposed(lower, made.mentions, mentions, sentence.start)
    # a variant of a gene that goes with a disease is what associates the gene with it
    genetic = made.sense is not None and made.sense.type in {EdgeType.ASSOCIATED_WITH, EdgeType.MARKER_OF}
    mutant = "" if genetic else mutant_form(sentence, made.mentions, mentions)
    if not asked and not mutant:
        return made
    other = replace(made.other, supposed=asked, mutant=mutant) if made.other is not None else None
    return replace(made, supposed=asked, mutant=mutant, hedged=made.hedged or bool(asked), other=other)


def _with_contrast(found: list[Statement], apart: Mention, sentence: Sentence) -> list[Statement]:
    """Add what `unlike A` says of A: the opposite of what is said of the entity it is set against."""
    kinds = set(kinds_of(apart))
    for made in found:
        alike = next((m for m in made.mentions if kinds & set(kinds_of(m))), None)
        if alike is None or made.subject is None or made.object is None or made.sense is None or made.sense.none:
            continue
        kind = next(k for k in kinds_of(apart) if k in kinds_of(alike))
        argument = Argument(apart, options_for(apart, kind))
        subject, object_ = (argument if a.mention is alike else a for a in (made.subject, made.object))
        both = tuple(apart if m is alike else m for m in made.mentions)
        opposite = Statement(
            sentence.text, both, subject, object_, made.sense, negated=not made.negated, hedged=made.hedged
        )
        return [*found, opposite]
    return found


def _read(sentence: Sentence, mentions: list[Mention], previous: Statement | None, lower: str) -> list[Statement]:
    """Return what a sentence states of some of its entities."""
    cuts = [(m.start - sentence.start, m.end - sentence.start) for m in mentions]
    head = lower[: cuts[0][0]]
    gaps = [lower[a[1] : b[0]] for a, b in pairwise(cuts)]
    tail = lower[cuts[-1][1] :]
    frame, lead, begin = split_frame(head)
    end, _ = split_tail(tail)
    flip = negations(frame, frame=True) + tail_denies(tail)
    unsure = hedged(head) or hedged(" ".join(gaps)) or hedged(tail)
    clauses = clauses_of([{n.type for n in (m.node, *m.alternatives)} for m in mentions], lead, gaps, end, head)
    if len(mentions) == 1:
        return [_single(sentence, mentions[0], clauses[0], previous, flip, lower, unsure=unsure)]
    found: list[Statement] = []
    for number, clause in enumerate(clauses):
        turns = flip if number == 0 or clause.elided else 0
        for one, two, words, denied in _pairs(clauses, number, mentions, found):
            made = _statement(sentence, one, two, words, turns + denied, unsure=unsure)
            if made is None and not (found or number + 1 < len(clauses)):
                made = Statement(sentence.text, (one, two), hedged=unsure)
            if made is not None:
                found.append(made)
    if found and all(not s.sense or not s.sense.recognised for s in found):
        found = [_with_whole_sentence(s, lower, begin, sentence, mentions) for s in found]
    return found or [Statement(sentence.text, tuple(mentions[:2]), hedged=unsure)]


_MAX_MENTIONS = 24
"""Entities of one sentence that are read; lists longer than this are tables, not claims."""


def _plain(text: str) -> str:
    """Return the text in lower case, of the same length, with plain apostrophes and no control characters."""
    lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text) if not text.isascii() else text.lower()
    return lower.translate(_PLAIN)


_PLAIN = {0x2019: "'", 0x2018: "'", 0x02BC: "'", 0x201C: '"', 0x201D: '"', 0x2011: "-", 0x2010: "-", 0x00A0: " ",
          **dict.fromkeys((*range(32), 127), " "), ord("@"): " "}  # fmt: skip
_APPOSITION = re.compile(r"\s*[,(\[=/-]?\s*(?:[\w.]+\s+){0,3}[\"'(\[:]*\s*$")


def _without_doubles(sentence: Sentence, mentions: list[Mention]) -> list[Mention]:
    """Merge `DHRS13 (Entrez gene 147015)` into one mention, with the identifier deciding which entity it is."""
    kept: list[Mention] = []
    for mention in mentions:
        before = kept[-1] if kept else None
        if before is not None:
            gap = sentence.text[before.end - sentence.start : mention.start - sentence.start]
            names = {n.id for n in (before.node, *before.alternatives)}
            same = names & {n.id for n in (mention.node, *mention.alternatives)}
            if same and _APPOSITION.fullmatch(gap) and not re.search(r"\b(?:and|or|with|to)\b", gap):
                node = mention.node if mention.why == "id" else before.node
                kept[-1] = before.model_copy(
                    update={"end": mention.end, "node": node, "text": before.text, "alternatives": before.alternatives
                            if node is before.node else []}
                )  # fmt: skip
                continue
        kept.append(mention)
    return kept


def _without_cue_words(sentence: Sentence, mentions: list[Mention]) -> list[Mention]:
    """Drop entities that are words of the predicate (`a fall in`, `adverse reactions`) where two others remain."""
    kept = [m for m in mentions if not _CUE_LIKE.match(m.text) or _named(sentence, m)]
    return kept if len(kept) >= 2 else mentions


def _named(sentence: Sentence, mention: Mention) -> bool:
    """Return True when a mention is in quotes or called a pathway, so that it is meant as a name."""
    start, end = mention.start - sentence.start, mention.end - sentence.start
    before, after = sentence.text[max(0, start - 12) : start], sentence.text[end : end + 9]
    if before.endswith(('"', "\u201c")) or "pathway " in before or after.startswith(" pathway"):
        return True
    placed = re.search(r"\b(?:in|to|at|inside|within|on) the $", before) is not None
    return placed and (after[:1] in {"", ".", ",", ";"} or after.startswith(" and "))


def _pairs(
    clauses: list[Clause], number: int, mentions: list[Mention], found: list[Statement]
) -> Iterator[tuple[Mention, Mention, str, int]]:
    """Yield the pairs of entities a clause relates: both mentions, the masked words, extra negations."""
    clause = clauses[number]
    if len(clause.groups) >= 2:
        yield from _within(clause, mentions)
        return
    group = clause.groups[0]
    others = _neighbours(clauses, number, mentions)
    if len(group) >= 2 and (not others or not clause.needs_subject):
        for other in group[1:]:
            yield mentions[group[0]], mentions[other], clause.masked(group[0], other), 0
        return
    for member in group:
        best: tuple[float, int] | None = None
        for rank, other in enumerate(others):
            words = clause.masked(other, member, inherited=other)
            sense = resolve(mentions[other], mentions[member], words)
            if sense is None:
                continue
            score = sense[1] - 0.01 * rank
            if best is None or score > best[0]:
                best = (score, other)
        if best is not None:
            clause.subject = best[1]
            words = clause.masked(best[1], member, inherited=best[1])
            if not _resolved_by_words(mentions, best[1], member, words) and number:
                words = clauses[number - 1].text + " " + words
            yield mentions[best[1]], mentions[member], words, clause.negative_members.get(member, 0)


def _resolved_by_words(mentions: list[Mention], one: int, two: int, words: str) -> bool:
    resolved = resolve(mentions[one], mentions[two], words)
    return resolved is not None and resolved[0].recognised


def _within(clause: Clause, mentions: list[Mention]) -> Iterator[tuple[Mention, Mention, str, int]]:
    groups = clause.groups
    chosen = (0, 1)
    if len(groups) > 2:
        scored: list[tuple[float, int, int]] = []
        for a in range(min(len(groups), 4)):
            for b in range(a + 1, min(len(groups), 5)):
                one, two = groups[a][0], groups[b][0]
                sense = resolve(mentions[one], mentions[two], clause.masked(one, two))
                if sense is not None:
                    weak = min(mentions[one].score, mentions[two].score)
                    scored.append((sense[1] + 0.5 * weak - 0.1 * (b - a) - 0.05 * a, a, b))
        if scored:
            _, *pair = max(scored)
            chosen = (pair[0], pair[1])
    for one in groups[chosen[0]]:
        for two in groups[chosen[1]]:
            turned = clause.negative_members.get(one, 0) + clause.negative_members.get(two, 0)
            yield mentions[one], mentions[two], clause.masked(one, two), turned


_CALLED: tuple[tuple[re.Pattern[str], frozenset[NodeType]], ...] = (
    (re.compile(r"\b(?:the|this|that)\s+(?:same\s+)?(?:drug|compound|agent|medicine|molecule|substance)\b"), DRUGS),
    (re.compile(r"\b(?:the|this|that)\s+(?:same\s+)?(?:gene|protein|transcript)\b"), GENES),
    (re.compile(r"\b(?:the|this|that)\s+(?:same\s+)?(?:disease|condition|disorder|cancer|illness)\b"),
     frozenset({NodeType.DISEASE})),
    (re.compile(r"\b(?:the|this|that)\s+(?:same\s+)?(?:tissue|organ)\b"), PLACES),
)  # fmt: skip
_LAST_NAMED = re.compile(r"\s*[,;]?\s*(?:and\s+|but\s+)?(?:which|who|the\s+latter)\b")


def _neighbours(clauses: list[Clause], number: int, mentions: list[Mention]) -> list[int]:
    """Return the mentions a clause with one entity may borrow, likeliest first.

    They are the subjects of the clauses before it (for `which`: what was named last), else that of the one after it;
    `the same drug` leaves only drugs.
    """
    before: list[int] = []
    for clause in reversed(clauses[:number]):
        borrowed = [] if clause.subject is None else [clause.subject]
        before += [*borrowed, *(group[0] for group in clause.groups)]
    words = clauses[number].text
    if before and _LAST_NAMED.match(words):
        before.insert(0, clauses[number - 1].groups[-1][-1])
    if not before:
        before = [clauses[number + 1].groups[0][0]] if number + 1 < len(clauses) else []
    for pattern, kinds in _CALLED:
        if pattern.search(words):
            before = [member for member in before if kinds & set(kinds_of(mentions[member]))] or before
    return list(dict.fromkeys(before))


def _statement(
    sentence: Sentence, one: Mention, two: Mention, words: str, turns: int, *, unsure: bool
) -> Statement | None:
    readings = readings_of(one, two, words)
    made: Statement | None = None
    for sense, _, first, second in reversed(readings):
        count = turns + negations(words) + denies(words, sense, first[0].type, second[0].type)
        negated = sense.none or count % 2 == 1
        subject, object_ = Argument(one, first), Argument(two, second)
        if turned(sense, first[0].type, second[0].type):
            subject, object_ = object_, subject
        made = Statement(sentence.text, (one, two), subject, object_, sense, negated, unsure, other=made)
    return made


def _with_whole_sentence(
    made: Statement, lower: str, begin: int, sentence: Sentence, mentions: list[Mention]
) -> Statement:
    """Look for the predicate in the whole sentence when the clause had none: `as a side effect of X, Y was noted`."""
    if made.subject is None or made.object is None or made.sense is None:
        return made
    one, two = made.mentions[:2]
    words = lower
    for mention in reversed(mentions):
        mark = "@1" if mention is one else "@2" if mention is two else "@x"
        words = words[: mention.start - sentence.start] + mark + words[mention.end - sentence.start :]
    words = words[begin:]
    resolved = resolve(one, two, words)
    if resolved is None or not resolved[0].recognised:
        return made
    again = _statement(sentence, one, two, words, 0, unsure=made.hedged)
    return replace(again, negated=made.negated) if again is not None else made


def _single(
    sentence: Sentence,
    mention: Mention,
    clause: Clause,
    previous: Statement | None,
    flip: int,
    lower: str,
    *,
    unsure: bool,
) -> Statement:
    """Return the statement of a sentence with one entity: about the entity before it when it opens with `it`."""
    if previous is not None and previous.subject is not None and _PRONOUN.match(lower):
        candidates = previous.mentions[:2]
        best: tuple[float, Statement] | None = None
        for rank, other in enumerate(candidates):
            if other.node.id == mention.node.id:
                continue
            words = "@1 " + clause.masked(-1, clause.groups[0][0])
            resolved = resolve(other, mention, words)
            made = _statement(sentence, other, mention, words, flip, unsure=unsure)
            if resolved and made and (best is None or resolved[1] - 0.01 * rank > best[0]):
                best = (resolved[1] - 0.01 * rank, made)
        if best is not None:
            return best[1]
    return Statement(sentence.text, (mention,), hedged=unsure)
