"""Taking a text apart into statements: which two entities, which relation, asserted or denied.

A sentence is cut at its entities. What lies between two of them is a predicate, a list (`A, B and C`) or the seam
of two clauses (`..., and it also ...`). A clause with one entity takes the other from its neighbour, as `it` does.
A sentence without an entity is no statement unless it holds a number (see `grounding_findings`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from engine.domain.knowledge import EdgeType, Mention, Node
from engine.knowledge.claims_asides import Span, without_asides
from engine.knowledge.claims_clauses import Clause, clauses_of, echoes
from engine.knowledge.claims_context import Supposed, contrasted, mutant_form, supposed, without_asked_not
from engine.knowledge.claims_denials import correction, frame_denials, verdict_on_clause
from engine.knowledge.claims_frames import (
    governing_of,
    hedged,
    negations,
    split_frame,
    split_tail,
    tail_denies,
    without_verdict,
)
from engine.knowledge.claims_mentions import (
    independent_at,
    meant_by,
    pronoun_at,
    setting,
    teller,
    without_cue_words,
    without_doubles,
)
from engine.knowledge.claims_pairs import pairs_of
from engine.knowledge.claims_predicates import Sense, denies
from engine.knowledge.claims_readings import kinds_of, options_for, readings_of, resolve, turned
from engine.text.sentences import Sentence, split_sentences


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
    for sentence in split_sentences(text, [(m.start, m.end) for m in mentions]):
        while position < len(mentions) and mentions[position].start < sentence.start:
            position += 1
        last = position
        while last < len(mentions) and mentions[last].end <= sentence.end:
            last += 1
        found = sentence_statements(sentence, list(mentions[position:last]), previous)
        position = last
        previous = found[-1] if found else previous
        yield sentence, found


def sentence_statements(sentence: Sentence, mentions: list[Mention], previous: Statement | None) -> list[Statement]:
    """Return what one sentence states; `previous` is the statement before it, for a sentence that opens with `it`."""
    mentions = without_cue_words(sentence, without_doubles(sentence, mentions))
    if not mentions:
        return []
    mentions = mentions[:_MAX_MENTIONS]
    lower = without_asked_not(_plain(sentence.text))
    cut = independent_at(lower, [m.start - sentence.start for m in mentions])
    if cut:
        left = Sentence(sentence.text[:cut], sentence.start, sentence.start + cut)
        right = Sentence(sentence.text[cut:], sentence.start + cut, sentence.end)
        halves = sentence_statements(left, [m for m in mentions if m.start < right.start], previous)
        halves += sentence_statements(right, [m for m in mentions if m.start >= right.start], halves[-1])
        return [s for s in halves if s.sense is not None] or halves
    cuts = [(m.start - sentence.start, m.end - sentence.start) for m in mentions]
    if teller(lower, cuts):
        mentions = mentions[1:]
    whole = _with_those_before(sentence, mentions, previous, lower)
    if setting(lower, cuts) and len(mentions) == len(cuts):
        rest = _with_those_before(sentence, mentions[1:], None, lower)
        if all(s.sense is not None and s.sense.recognised for s in rest):
            whole = rest
    return [_in_context(statement, sentence, mentions, lower) for statement in whole]


def _with_those_before(
    sentence: Sentence, mentions: list[Mention], previous: Statement | None, lower: str
) -> list[Statement]:
    """Read a sentence; `it` at its beginning is each entity of the one before in turn, and the best reading is kept."""
    cuts = [(m.start - sentence.start, m.end - sentence.start) for m in mentions]
    at = pronoun_at(lower, cuts[0][0], several=len(mentions) > 1) if previous is not None else None
    best: tuple[float, list[Statement]] | None = None
    if at is not None and previous is not None:
        earlier = [m for m in meant_by(lower[at[0] : at[1]], previous.mentions[:2]) if m.node.id != mentions[0].node.id]
        for rank, one in enumerate(earlier):
            found = _read(sentence, [one, *mentions], [at, *cuts], lower)
            score = sum(1.0 + s.sense.recognised for s in found if s.sense) - 0.1 * rank
            first = found[0]
            joined = (
                first.sense is not None and (first.sense.recognised or len(mentions) == 1) and one in first.mentions
            )
            if joined and (best is None or score > best[0]):
                best = (score, found)
    if best is not None:
        return best[1]
    apart = contrasted(lower, mentions, sentence.start)
    if apart is None:
        return _read(sentence, mentions, cuts, lower)
    rest = [number for number in range(len(mentions)) if number != apart]
    found = _read(sentence, [mentions[n] for n in rest], [cuts[n] for n in rest], lower)
    return _with_contrast(found, mentions[apart], sentence)


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
    for made in found:
        opposite = _in_place_of(made, apart, sentence)
        if opposite is not None and made.sense is not None and not made.sense.none:
            return [*found, replace(opposite, negated=not made.negated)]
    return found


def _in_place_of(made: Statement, mention: Mention, sentence: Sentence) -> Statement | None:
    """Return a statement with another entity in place of the one of its kind, or None when there is none."""
    kinds = set(kinds_of(mention))
    alike = next((m for m in made.mentions if kinds & set(kinds_of(m))), None)
    if alike is None or made.subject is None or made.object is None or made.sense is None:
        return None
    kind = next(k for k in kinds_of(mention) if k in kinds_of(alike))
    argument = Argument(mention, options_for(mention, kind))
    subject, object_ = (argument if a.mention is alike else a for a in (made.subject, made.object))
    both = tuple(mention if m is alike else m for m in made.mentions)
    return Statement(sentence.text, both, subject, object_, made.sense, made.negated, made.hedged)


def _read(sentence: Sentence, mentions: list[Mention], cuts: list[Span], lower: str) -> list[Statement]:
    """Return what a sentence states of some of its entities; `cuts` are where they (or `it`) stand in it."""
    unsure = hedged(lower[: cuts[0][0]]) or hedged(" ".join(lower[a[1] : b[0]] for a, b in pairwise(cuts)))
    unsure = unsure or hedged(lower[cuts[-1][1] :])
    tail = lower[cuts[-1][1] :]
    text = without_asides(lower, cuts, lambda shorter: _is_whole(shorter, cuts, mentions))
    head = text[: cuts[0][0]]
    frame, lead, begin = split_frame(head)
    end = without_verdict(split_tail(text[cuts[-1][1] :])[0])
    flip = frame_denials(frame) % 2 or int(tail_denies(tail))
    said, is_verdict = verdict_on_clause(governing_of(head), text[cuts[-1][1] :]) if begin else (0, False)
    if is_verdict:
        flip, end = frame_denials(frame) + said, ""
    gaps = [text[a[1] : b[0]] for a, b in pairwise(cuts)]
    if len(mentions) == 1:
        return [Statement(sentence.text, (mentions[0],), hedged=unsure)]
    clauses = clauses_of([set(kinds_of(m)) for m in mentions], lead, gaps, end, head)
    found: list[Statement] = []
    for number, clause in enumerate(clauses):
        turns = flip if number == 0 or clause.elided else 0
        echo = _echo(clause, mentions, found, sentence)
        if echo is not None:
            found.append(echo)
            continue
        for one, two, words, denied in pairs_of(clauses, number, mentions):
            made = _statement(sentence, one, two, words, turns + denied, unsure=unsure)
            if made is None and not (found or number + 1 < len(clauses)):
                made = Statement(sentence.text, (one, two), hedged=unsure)
            if made is not None:
                found.append(made)
    found += _corrections(sentence, found, tail)
    if found and all(not s.sense or not s.sense.recognised for s in found):
        whole = list(zip(mentions, cuts, strict=True))
        found = [_with_whole_sentence(s, text, begin, sentence, whole) for s in found]
    return found or [Statement(sentence.text, tuple(mentions[:2]), hedged=unsure)]


def _corrections(sentence: Sentence, found: list[Statement], tail: str) -> list[Statement]:
    """Return what `...; it lowers it` adds about the one pair of a sentence; it takes the place of `no effect`."""
    words = correction(tail)
    if words is None or len(found) != 1 or len(found[0].mentions) != 2 or found[0].sense is None:
        return []
    one, two = found[0].mentions
    made = _statement(sentence, one, two, words, 0, unsure=found[0].hedged)
    if made is None or made.sense is None or not made.sense.recognised:
        return []
    if (made.sense.type, made.negated) == (found[0].sense.type, found[0].negated):
        return []
    if found[0].sense.none:
        found.clear()
    return [made]


def _is_whole(text: str, cuts: list[Span], mentions: list[Mention]) -> bool:
    """Return True when a shortened sentence still says how some of its entities are related."""
    if len(mentions) == 1:
        return True
    head = split_frame(text[: cuts[0][0]])[1]
    gaps = [text[a[1] : b[0]] for a, b in pairwise(cuts)]
    clauses = clauses_of([set(kinds_of(m)) for m in mentions], head, gaps, text[cuts[-1][1] :], text[: cuts[0][0]])
    for number in range(len(clauses)):
        for one, two, words, _ in pairs_of(clauses, number, mentions):
            meant = resolve(one, two, words)
            if meant is not None and meant[0].recognised:
                return True
    return False


def _echo(clause: Clause, mentions: list[Mention], found: list[Statement], sentence: Sentence) -> Statement | None:
    """Return what `while B does not` says of B: what was said of A before, denied or not."""
    if not found or len(clause.groups) != 1 or len(clause.groups[0]) != 1:
        return None
    says = echoes(clause.text)
    if says is None:
        return None
    last = found[-1]
    made = _in_place_of(last, mentions[clause.groups[0][0]], sentence)
    if made is None:
        return None
    return replace(made, negated=says == "not" if says != "same" else last.negated)


_MAX_MENTIONS = 24
"""Entities of one sentence that are read; lists longer than this are tables, not claims."""


def _plain(text: str) -> str:
    """Return the text in lower case, of the same length, with plain apostrophes and no control characters."""
    lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text) if not text.isascii() else text.lower()
    return lower.translate(_PLAIN)


_PLAIN = {0x2019: "'", 0x2018: "'", 0x02BC: "'", 0x201C: '"', 0x201D: '"', 0x2011: "-", 0x2010: "-", 0x00A0: " ",
          **dict.fromkeys((*range(32), 127), " "), ord("@"): " "}  # fmt: skip


def _statement(
    sentence: Sentence, one: Mention, two: Mention, words: str, turns: int, *, unsure: bool
) -> Statement | None:
    readings = readings_of(one, two, words)
    made: Statement | None = None
    for sense, _, first, second in reversed(readings):
        count = turns + negations(words) + denies(words, sense, first[0].type, second[0].type)
        negated = turns % 2 == 0 if sense.none else count % 2 == 1
        subject, object_ = Argument(one, first), Argument(two, second)
        if turned(sense, first[0].type, second[0].type):
            subject, object_ = object_, subject
        made = Statement(sentence.text, (one, two), subject, object_, sense, negated, unsure, other=made)
    return made


def _with_whole_sentence(
    made: Statement, lower: str, begin: int, sentence: Sentence, mentions: list[tuple[Mention, Span]]
) -> Statement:
    """Look for the predicate in the whole sentence when the clause had none: `as a side effect of X, Y was noted`."""
    if made.subject is None or made.object is None or made.sense is None:
        return made
    one, two = made.mentions[:2]
    words = lower
    for mention, (start, stop) in reversed(mentions):
        mark = "@1" if mention is one else "@2" if mention is two else "@x"
        words = words[:start] + mark + words[stop:]
    words = words[begin:]
    resolved = resolve(one, two, words)
    if resolved is None or not resolved[0].recognised:
        return made
    again = _statement(sentence, one, two, words, 0, unsure=made.hedged)
    return replace(again, negated=made.negated) if again is not None else made
