"""What a text states: which two entities, which relation, asserted or denied.

The entities of a sentence are masked and each two of them are read by the trained models (see `model`); what is asked,
supposed, planned, or only stands side by side is no statement.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from engine.domain.knowledge import EdgeType, Mention, Node
from engine.knowledge.claims.clauses import SentenceParts
from engine.knowledge.claims.pairs import Pair, pairs_of
from engine.knowledge.claims.relations import Sense, family, kinds_of, options_for
from engine.knowledge.linking.meant import meant, mutant_form
from engine.text.sentences import Sentence, split_sentences

_MOST_MENTIONS = 24
"""Entities of one sentence that are read; lists longer than this are tables, not claims."""
_PRONOUN = re.compile(
    r"\s*(?:(?:[\w-]+\s+){0,3}[\w-]+,\s*)?(?P<it>it|they|(?:the|this|that)\s+(?:same\s+)?(?:drug|compound|agent|gene|protein|disease|"
    r"condition|disorder|tissue|molecule|substance|medicine))\b(?!\s+(?:is|was|has\s+been|seems|appears|remains)\b[^.]*\b(?:that|whether|to)\b)",
    re.IGNORECASE,
)
_OPEN = "It leaves open whether they are related: a question, a plan, a condition or a guess."
_BESIDE = "It names them and states no relation between them."
_IT = re.compile(r"\b(?:it|them|this|that)\b", re.IGNORECASE)
_ASKS = re.compile(r"(?:do|does|did|is|are|was|were|can|has|have)\s+", re.IGNORECASE)
_ANSWER = re.compile(
    r"(?:(?:in|by|for)(?:\s+\w+){1,3},\s+)?(?:(?:yes|(no))\b(?:,?\s+(?:it|they)\s+\w+(?:n't|\s+not)?)?|"
    r"(?:it|they)\s+(?:do|does|did|is|are|was|were|can|has|have)(n't|\s+not)?)\W*$",
    re.IGNORECASE,
)
_SHORT = 9
"""Words of a line on a label: `Indication: gout.`"""
_SUPPOSED = re.compile(
    r"\W*(?:(?:the|our|main|primary|secondary|specific|working|null|open|research|study)\s+)*"
    r"(?:aims?|objectives?|goals?|purpose|hypothes[ie]s|questions?|plans?|ideas?|to[ -]?do|next(?:\s+steps?)?)\b"
    r"(?:\s+\(?\w{1,2}\)?)?\s*(?:[:–—]|-\s)|whether\b(?!.*(?:[,;:]|\bor not\b))|whether,",
    re.IGNORECASE,
)
"""What heads a line that is planned, asked or supposed: `Aim 2: A in B`, `Whether A treats B is not known`."""
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
    previous: Mention | None = None
    before: Read | None = None
    starts = [m.start for m in mentions]
    for sentence in split_sentences(text, [(m.start, m.end) for m in mentions]):
        inside = mentions[bisect_left(starts, sentence.start) : bisect_left(starts, sentence.end)]
        read = read_sentence(sentence, inside, previous)
        if before is not None and len(before.mentions) == len(read.mentions) == 1 and _goes_on(before, read):
            whole = Sentence(text[before.sentence.start : sentence.end], before.sentence.start, sentence.end)
            read = read_sentence(whole, [*before.mentions, *read.mentions])
        elif before is not None and before.sentence.text.endswith("?") and not read.mentions:
            read = _answered(before, read)
        spoken_of = read.statements[-1].mentions if read.statements else read.mentions
        previous = spoken_of[0] if spoken_of else previous
        before = read
        yield read


def _answered(before: Read, read: Read) -> Read:
    """Return what `Does A raise B? Yes.` states, else the second sentence as it is."""
    asked, asks, answer = before.sentence, _ASKS.match(before.sentence.text), _ANSWER.match(read.sentence.text)
    if not asks or not answer:
        return read
    told = Sentence(f"{asked.text[asks.end() : -1]}.", asked.start + asks.end(), asked.end)
    whole = Sentence(f"{asked.text} {read.sentence.text}", asked.start, read.sentence.end)
    made = read_sentence(told, before.mentions).statements
    made = [replace(s, text=whole.text, negated=s.negated != bool(answer[1] or answer[2])) for s in made]
    return Read(whole, made, before.mentions, "" if made else before.open)


def _goes_on(before: Read, read: Read) -> bool:
    """Say whether a sentence about one entity goes on with the one before: `Nausea? The drug does not cause it`."""
    text = read.sentence.text
    asked = before.sentence.text.endswith("?") and _IT.search(text) is not None
    return asked or (":" in text and len(text.split()) <= _SHORT)


def read_sentence(sentence: Sentence, mentions: Sequence[Mention], previous: Mention | None = None) -> Read:
    """Read one sentence; `previous` is what was spoken of before, for one that opens with `it`."""
    named = meant(sentence, mentions)[:_MOST_MENTIONS]
    text, start = sentence.text, sentence.start
    found = _with_subject(sentence, named, previous) if previous is not None and named else named
    if len(found) < 2 or _SUPPOSED.match(text):
        return Read(sentence, [], named, _OPEN if len(found) > 1 else "")
    apart = _set_apart(text, found, start) if len(found) > 2 else None
    rest = [m for m in found if m is not apart]
    parts = SentenceParts(text, rest, start)
    pairs, related = pairs_of(parts, rest)
    statements = [s for pair in pairs for s in _statements(sentence, pair, rest)]
    statements += _echoes(parts, statements, rest)
    if apart is not None:
        statements += [opposite for s in statements[:1] if (opposite := _in_place(s, apart)) is not None]
    statements = [replace(s, mutant=_mutant(sentence, s, named)) for s in statements]
    return Read(sentence, statements, named, "" if statements else _OPEN if related else _BESIDE)


def _statements(sentence: Sentence, pair: Pair, mentions: Sequence[Mention]) -> Iterator[Statement]:
    """Yield what a clause states of each entity of one group with each of the other."""
    first, second = pair.clause.first, pair.clause.second
    for n, a in enumerate(first.members):
        for b in [second.members[n]] if pair.clause.in_order else second.members:
            one, two = mentions[a], mentions[b]
            ends = (options_for(one, pair.kinds[0]), options_for(two, pair.kinds[1]))
            if not ends[0] or not ends[1] or one.node.id == two.node.id:
                continue
            subject, object_ = ends[::-1] if pair.second_acts else ends
            turned = (a in first.turned) + (b in second.turned)
            negated = pair.denied ^ (turned % 2 == 1)
            yield Statement(sentence.text, (one, two), subject, object_, pair.sense, negated, pair.hedged)


def _with_subject(sentence: Sentence, mentions: list[Mention], previous: Mention) -> list[Mention]:
    """Return the entities with the one that `it` at the beginning means, put where it stands."""
    match = _PRONOUN.match(sentence.text[: mentions[0].start - sentence.start])
    if match is None or len(mentions) > 2 or previous.node.id == mentions[0].node.id:
        return mentions
    place = {"start": sentence.start + match.start("it"), "end": sentence.start + match.end("it")}
    return [previous.model_copy(update=place), *mentions]


def _set_apart(text: str, mentions: Sequence[Mention], start: int) -> Mention | None:
    """Return the entity that a sentence sets apart from the rest (`Unlike A, B binds C`), or None."""
    ends = [0, *(m.end - start for m in mentions)]
    return next((m for k, m in enumerate(mentions) if _UNLIKE.search(text[ends[k] : m.start - start])), None)


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


def _echoes(parts: SentenceParts, made: Sequence[Statement], mentions: Sequence[Mention]) -> Iterator[Statement]:
    """Yield what `while B does not` says of B."""
    for number, denied in parts.echoes() if made else ():
        if not any(mentions[number] in s.mentions for s in made):
            one = _in_place(made[-1], mentions[number], negated=denied)
            yield from [one] if one is not None else []


def _mutant(sentence: Sentence, statement: Statement, mentions: Sequence[Mention]) -> str:
    if statement.sense.type in {EdgeType.ASSOCIATED_WITH, EdgeType.MARKER_OF}:
        return ""  # a variant of a gene that goes with a disease is what associates the gene with it
    return next((form for m in statement.mentions if (form := mutant_form(sentence, m, mentions))), "")
