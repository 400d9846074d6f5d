"""Makes text shorter and keeps what a later question will need.

The shorter text is made of sentences of the longer one, unchanged: those that carry numbers,
named things, decisions, questions and answers. Nothing is rephrased, so nothing can be invented. Sentences are
taken greedily by what they add per token to what is covered already, the usual approximation to the best cover
under a budget (Khuller, Moss and Naor 1999, doi:10.1016/S0020-0190(99)00031-9).
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.memory.working.tokens import TokenCounter, cut_to_tokens
from engine.text import sentences

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?%?")
NAMED = re.compile(
    r"\b(?:[A-Za-z]+[-_]?\d[\w.-]*\w|[A-Z][A-Z0-9]{1,}(?:-[A-Z0-9]+)*|[a-z]+[A-Z]\w*|\w+:\d+|[\w-]+\.[a-z][a-z0-9]{1,4}"
    r"|\w+_\w+|(?<=[a-z,] )[A-Z][a-z]{2,})\b"
)
_DECISION = re.compile(
    r"\b(?:decid\w*|chos\w+|choose|agree[ds]?|use[ds]?|using|keep|kept|exclud\w+|remov\w+|drop\w*|set|must|never|always"
    r"|prefer\w*|threshold|cut-?off|instead|because|therefore|conclu\w+|found|result\w*|significant\w*|failed|error"
    r"|important|remember|note|want\w*|need\w*|only)\b",
    re.IGNORECASE,
)
FILLER = re.compile(
    r"^(?:ok(?:ay)?|thanks?|thank you|sure|great|hello|hi|hey|good|fine|yes please|no problem|you're welcome|perfect|"
    r"sounds good|got it|well)\b[^\d]{0,40}$",
    re.IGNORECASE,
)
TURNING = re.compile(
    r"\b(?:no|not|never|none|nothing|nobody|nor|neither|cannot|without|except|excluding|unless|only|if|until|but|however"
    r"|although|instead|rather|avoid\w*|exclud\w*|stop|fail\w*|lack\w*|un(?:til|less)|nicht|kein\w*|ohne|nur|aber|ne|pas|sans|sauf)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
"""Words by which what follows, or what went before, means something else: a sentence with one is told whole or not."""
_QUESTION_MARKS = ("?", "\uff1f")
_IDEOGRAPHS = 0x2E80
"""From this sign on, scripts are written without blanks between words."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text with who said it: a message, or a line of an earlier summary."""

    speaker: str
    """`user`, `assistant`, `system`, or "" when unknown."""
    text: str


@dataclass(slots=True)
class _Sentence:
    place: int
    passage: int
    text: str
    weight: float
    terms: frozenset[str]
    tokens: int = 0


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, in order, each as it stands there; a line ends one, too."""
    return [sentence.text for line in text.splitlines() for sentence in sentences.split_sentences(line)]


def numbers_in(text: str) -> set[str]:
    """Return the numbers a text states, without thousands separators."""
    return {found.group().replace(",", "").lstrip("+").rstrip("%") for found in _NUMBER.finditer(text)}


def passages_of(summary: str) -> list[Passage]:
    """Return the passages of an earlier summary: a line each, with its speaker where it names one."""
    passages: list[Passage] = []
    for line in summary.splitlines():
        speaker, colon, rest = line.partition(": ")
        known = bool(colon) and speaker in ("user", "assistant", "system")
        passages.append(Passage(speaker if known else "", rest if known else line))
    return passages


def extract(passages: Sequence[Passage], limit: int, counter: TokenCounter) -> str:
    """Return the most telling sentences of the passages, in their order, in at most `limit` tokens.

    Sentences are copied as they are; where not even one fits, the best of those that no word turns (`not`, `only`,
    `unless`) is cut between words and ends with an ellipsis. The result is one line a passage, `speaker: sentences`,
    and "" when nothing fits.
    """
    if limit <= 0:
        return ""
    sentences = _weighed(passages)
    for sentence in sentences:
        sentence.tokens = counter.measure(sentence.text) + 1
    chosen = _choose(sentences, passages, limit, counter)
    text = _written(chosen, passages)
    while chosen and counter.measure(text) > limit:
        # What whole lines cost differs a little from the sum over their sentences.
        chosen.remove(min(chosen, key=lambda sentence: (sentence.weight, -sentence.place)))
        text = _written(chosen, passages)
    if chosen or not sentences:
        return text
    harmless = [sentence for sentence in sentences if not TURNING.search(sentence.text)]
    best = max(harmless, key=lambda sentence: (sentence.weight, -sentence.place), default=None)
    return _cut_sentence(best.text, limit, counter) if best else ""


def _weighed(passages: Sequence[Passage]) -> list[_Sentence]:
    sentences: list[_Sentence] = []
    asked = False
    for number, passage in enumerate(passages):
        for place, text in enumerate(split_sentences(passage.text)):
            numbers = numbers_in(text)
            named = {found.group().casefold() for found in NAMED.finditer(text)}
            weight = 0.5 + min(len(numbers), 4) * 0.5 + min(len(named), 4) * 0.4
            weight += min(len(_DECISION.findall(text)), 3) * 0.7
            if text.endswith(_QUESTION_MARKS):
                weight += 1.0
            if place == 0:
                weight += 1.2 if asked else 0.4  # an answer begins where the message after a question does
            if passage.speaker == "user":
                weight += 0.8  # what was asked for cannot be worked out again
            if FILLER.match(text):
                weight = 0.05
            terms = frozenset(named | {f"#{value}" for value in numbers})
            sentences.append(_Sentence(len(sentences), number, text, weight, terms))
        asked = passage.text.rstrip().endswith(_QUESTION_MARKS)
    return sentences


def _choose(
    sentences: list[_Sentence], passages: Sequence[Passage], limit: int, counter: TokenCounter
) -> list[_Sentence]:
    """Take sentences greedily by gain per token; gains only fall, so a heap of old gains is enough."""
    covered: set[str] = set()
    said: set[str] = set()
    taken: set[int] = set()
    begun: set[int] = set()
    left = limit

    def gain(sentence: _Sentence) -> float:
        fresh = len(sentence.terms - covered)
        return (sentence.weight + 0.8 * min(fresh, 8)) / math.sqrt(4 + sentence.tokens)

    heap = [(-gain(sentence), sentence.place) for sentence in sentences]
    heapq.heapify(heap)
    while heap and left > 0:
        _, place = heapq.heappop(heap)
        sentence = sentences[place]
        now = -gain(sentence)
        if heap and (now, place) > heap[0]:
            heapq.heappush(heap, (now, place))
            continue
        speaker = passages[sentence.passage].speaker
        lead = counter.count(f"{speaker}: ") if speaker and sentence.passage not in begun else 0
        once = sentence.text.casefold()
        if once in said or sentence.tokens + lead > left:
            continue
        said.add(once)
        left -= sentence.tokens + lead
        taken.add(place)
        begun.add(sentence.passage)
        covered |= sentence.terms
    return [sentence for sentence in sentences if sentence.place in taken]


def _written(chosen: list[_Sentence], passages: Sequence[Passage]) -> str:
    lines: dict[int, list[str]] = {}
    for sentence in chosen:
        lines.setdefault(sentence.passage, []).append(sentence.text)
    return "\n".join(
        f"{passages[number].speaker}: {' '.join(texts)}" if passages[number].speaker else " ".join(texts)
        for number, texts in lines.items()
    )


def _cut_sentence(text: str, limit: int, counter: TokenCounter) -> str:
    """Return the beginning of a sentence, cut between words (between signs where a script has no blanks)."""
    room = limit - counter.count(" ...")
    head = cut_to_tokens(text, room, counter)
    # Half a number or half a name would say something else.
    while head and len(head) < len(text) and _joined(head[-1], text[len(head)]):
        head = head[:-1]
    head = head.rstrip()
    return f"{head} ..." if head and counter.measure(f"{head} ...") <= limit else ""


def _joined(left: str, right: str) -> bool:
    """Say whether a cut between two neighbouring signs would split a word or a number."""
    return not left.isspace() and not right.isspace() and ord(left) < _IDEOGRAPHS and ord(right) < _IDEOGRAPHS
