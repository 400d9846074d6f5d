"""Cuts a question into what it asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from engine.planning.naming.lexicon import UNITS
from engine.planning.reading.reading import Reading, Request
from engine.text.stopwords import STOP
from engine.text.tokens import Token

_ASKS = re.compile(
    r"^\W*(?:\(?[ivx\d]+[.)]\s*)?(?:please|pls|kindly|and|then|also|now|so|but|or|i\.e\.|first(?:ly)?|second(?:ly)?|third(?:ly)?|next|last(?:ly)?|finally)?\W*(?:to\s+)?(?:which|what|who|whose|whom|how|when|where|why|is|are|was|were|"
    r"do|does|did|can|could|will|would|should|has|have|had|may(?=\s+(?:i|we|you|it|the|this|that|there)\b)|might|any|show|draw|plot|make|give|list|tell|find|compare|test|check|fit|"
    r"compute|calculate|estimate|work|run|perform|describe|summari[sz]e|count|add|join|merge|keep|filter|sort|rank|predict|model|analy[sz]e|"
    r"get|need|want|know|say|(?:an?|the|one)\s+(?:[\w-]+\s+)?(?:test|figure|plot|graph|table|chart|model|summary|list|ratio|correlation|estimate)\s+(?:of|for|with|adjusted)|whether|if|i need|i want|we need|we want|i would|i'd|we would|let|look|see|report|convert|adjust|read|put|print|quantify|determine|"
    r"identify|explore|visuali[sz]e|cluster|annotate|normali[sz]e|correlate|regress)\b",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"(?<=[.?!;])\s+|\n+|\s*;\s*|(?<=\S)\s+(?=\(?(?:ii|iii|iv|[2-9]|b|c)\)\s)|(?<!er)(?<!ore)(?<!ess)(?<!rse)(?<!\bis)(?<!\bare)(?<!\bwas)(?<!\bwere),?\s+\b(?:and then|then|after that|finally|afterwards)\b\s*|"
    r",?\s+and\s+(?=(?:also\s+)?(?:plot|draw|show|list|test|check|work out|compute|calculate|give|compare|fit|tell|say|make|add|run|find|estimate|"
    r"which|whether|how|what|is|are|do|does|did)\b)",
    re.IGNORECASE,
)
_HOLDS = re.compile(
    r"\W*(?:(?:please|pls|and|also|then)\s+)*(?:adjust|correct|control|account|allow)\s+(?:also\s+|it\s+)?for\b",
    re.IGNORECASE,
)
"""A sentence that says what the one before it is adjusted for."""
PAIRED = re.compile(
    r"\b(paired|pairs of|matched|crossover|cross-over|before and after|vor(?:her)? und nach(?:her)?|pre.? ?(?:and|vs\.?|versus) ?post|repeated measures?|"
    r"(?:the )?same (?:\w+ )?(?:donor|patient|subject|individual|animal|mouse|mice|person|people|cell line|tree|plot|driver|bird)s?|"
    r"within (?:each |the same )?(?:donor|patient|subject|individual|animal|person)|(?:each|every) (?:\w+ ){0,2}(?:took|got|had|received) both)\b",
    re.IGNORECASE,
)
"""What says that rows belong together in pairs; a clause of nothing else asks for nothing."""
_ONE_OF_TWO = re.compile(
    r"(?:^|\bknow |\bsee |\btell me |\bask )\W*(?:which|what)\s+(?!is\b|are\b|was\b|were\b)[\w-]+(?:\s+[\w-]+)?\s*$",
    re.IGNORECASE,
)
"""`which cultivar` that `and which date gives more` follows asks by itself for nothing."""
_SAYS_WHICH = re.compile(r"\W*(?:which|what)\b", re.IGNORECASE)
SHORT = 3
"""A further request has at least so many words: `and how many` belongs to what stands before it."""


def requests_of(question: str, words: list[Token]) -> list[Request]:
    """Return the stretches of the question that ask for something; the whole where none stands out."""
    pieces: list[tuple[int, int]] = []
    at = 0
    for match in _CUT.finditer(question):
        if match.start() > at:
            pieces.append((at, match.start()))
        at = match.end()
    pieces.append((at, len(question)))
    for n in range(len(pieces) - 1, 0, -1):
        if _ONE_OF_TWO.search(question[slice(*pieces[n - 1])]) and _SAYS_WHICH.match(question[slice(*pieces[n])]):
            pieces[n - 1 : n + 1] = [(pieces[n - 1][0], pieces[n][1])]
    found: list[Request] = []
    for start, end in pieces:
        inside = [n for n, token in enumerate(words) if start <= token.start < end]
        listed = (
            re.match(r"\W*\(?(?:[a-c]|i{1,3}|[1-4])\)\s", question[start:end]) is not None
            or "(a)" in question[start:end]
        )
        if (
            len(inside) >= (SHORT if found else 2)
            and not (found and (_HOLDS.match(question[start:end]) or _tells_how([words[n].text for n in inside])))
            and (
                listed
                or _ASKS.search(question[start:end])
                or _ASKS.search(question[start:end].partition(":")[2])
                or question[start:end].rstrip().endswith("?")
            )
        ):
            found.append(Request(inside[0], inside[-1]))
    return found or [Request(0, max(0, len(words) - 1))]


def _tells_how(words: list[str]) -> bool:
    """Say whether words only name what is told of every result: `give fold change with CI`."""
    rest = [word for word in words if word not in {*_OF_RESULTS, *STOP, *UNITS} and not word.isdigit()]
    return not rest and any(word in _OF_RESULTS for word in words)


_OF_RESULTS = frozenset(
    "give report show tell provide add include state want need please pls fold change changes fc logfc effect effects size sizes estimate estimates "
    "ci cis confidence interval intervals limits limit p pval pvalue value values hazard odds risk rate ratio ratios hr rr coefficient coefficients standard "
    "error errors se statistic statistics exact".split()
)


def asks_nothing(remarks: str) -> bool:
    """Say whether no sentence of a text asks for something: `only the first of each, some are in there twice`."""
    return "?" not in remarks and not any(_ASKS.search(piece) for piece in _CUT.split(remarks))


_MARK = re.compile(r"(?<![\w(])\(?(?P<mark>[a-f]|iii|ii|iv|i|[1-6])\)\s+(?=\S)")
_MARKS = ("abcdef", ("i", "ii", "iii", "iv"), "123456")


def items_alone(question: str) -> list[str]:
    """Return the question once for each item of its list `(a) ... (b) ...`, the other items blank; none where it has no list.

    What stands before the first item is said for all; characters keep their places.
    """
    found = list(_MARK.finditer(question))
    marks = [match["mark"] for match in found]
    if len(found) < 2 or not any(marks == list(row[: len(marks)]) for row in _MARKS):
        return []
    ends = [*(match.start() for match in found[1:]), len(question)]
    start = found[0].start()
    return [
        question[:start] + " " * (match.start() - start) + question[match.start() : end] + " " * (len(question) - end)
        for match, end in zip(found, ends, strict=True)
    ]


_JOINS = frozenset({"and", "plus", "then", "&", "+", "also"})
_ADDS = re.compile(r"[+;]|,\W*(?:and|then|plus|also)\b|\b(?:and|plus) (?:then|also)\b|^\W*plus\b", re.IGNORECASE)
"""What adds a further request; a comma or an `and` alone mostly lists columns."""
CUTS = 5
"""At most so many places are judged, those where words add a request first."""


class Cut(NamedTuple):
    """A place where one request may be two."""

    left: Request
    right: Request
    clear: bool
    """Whether the words there add a request rather than a column."""


def cuts(reading: Reading, request: Request, named: Sequence[int]) -> list[Cut]:
    """Return the places where a request may be two: where words add one, or at an `and` between names of data.

    Args:
        reading: the question.
        request: the stretch of it that may be two.
        named: the tokens where a column is named, other than whom the rows are about.
    """
    words, found = reading.words, list[Cut]()
    paired = [match.span() for match in PAIRED.finditer(reading.question)]
    for at in range(request.first + 1, request.last + 1):
        join = words[at].text.lower() in _JOINS
        between = reading.question[words[at - 1].end : words[at].start]
        left, right = Request(request.first, at - 1), Request(at + join, request.last)
        here = reading.question[words[at - 1].end : words[min(at + join, request.last)].end]
        clear = _ADDS.search(here) is not None
        names = [any(half.first <= n <= half.last for n in named) for half in (left, right)]
        strong = clear and "," not in between
        listed = right.first in named  # `a, b and c, coloured by d`
        halves = [{*range(half.first, half.last + 1)} for half in (left, right)]
        said = [half - reading.explained - {*named} for half in halves if half & reading.explained]
        if not all(any(words[n].text not in STOP for n in half) for half in said):
            continue  # `..., both are coded 1 = yes, 2 = no` asks for nothing
        if any(_only_pairs(half, words, paired) for half in (left, right)):
            continue  # `...; each donor got both treatments`
        if (strong or (all(names) and (clear or (join and not listed)))) and min(
            left.last - left.first, right.last - right.first
        ) >= 1:
            found.append(Cut(left, right, clear))
    return sorted(found, key=lambda cut: not cut.clear)[:CUTS]


def _only_pairs(half: Request, words: Sequence[Token], paired: Sequence[tuple[int, int]]) -> bool:
    """Say whether a half of a request says that rows are paired and at most one word of content beside it."""
    own = words[half.first : half.last + 1]
    rest = [w for w in own if w.text not in STOP and not any(a <= w.start and w.end <= b for a, b in paired)]
    return len(rest) <= 1 and any(own[0].start <= a and b <= own[-1].end for a, b in paired)
