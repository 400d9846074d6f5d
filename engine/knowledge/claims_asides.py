"""What stands in a sentence beside its claim: brackets, insertions between commas, remarks after it, denied foils.

Such words are replaced by blanks, so that positions stay and no negation or direction in them reaches the claim.
Text comes in lower case; `cuts` are the spans of its entities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice, pairwise

from engine.knowledge.claims_directions import DOWN_ALL, DOWN_ANY, UP_ALL
from engine.knowledge.claims_frames import negations

Span = tuple[int, int]

_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_INSERTED = re.compile(r"(?:,|\s[\u2013\u2014-]\s|\u2014)(?P<aside>[^,;:\u2014]*)(?=,|\s[\u2013\u2014-]\s|\u2014)")
_BARE = re.compile(r"[\s,;:\u2013\u2014-]*(?:(?:and|or|but|of|in|the|a|an|to|with|by|for|from|on|at)\b[\s,]*)*")
_REMARK = re.compile(
    r"[,;:]|\s[\u2013\u2014-]\s|\u2014|\b(?:although|though|albeit|even\s+(?:if|though|when)|if\s+only|but)\b"
)
_OF_THE_PAIR = re.compile(
    r"\b(?:not|n't|cannot|never|no\s+longer|fail(?:s|ed)?\s+to)\s+(?:[\w-]+\s+){0,3}(?:it|them|one\s+another|each\s+other|there)\b|"
    r"^\W*(?:(?:and|but|yet|in\s+contrast|by\s+contrast|however|though|of\s+course|on\s+the\s+other\s+hand)\W+)*"
    r"(?:(?:is|are|was|were|does|did|has|have|had|could|can)(?:\s+not|n't)|cannot|never|no\s+longer|fails?|failed)\b"
)
_ADJUNCT = re.compile(
    r"(?<!\bis)(?<!\bare)(?<!\bwas)(?<!\bwere)(?<!\bbe)\s+(?:without(?!\s+(?:\w+\s+)?(?:effect|influence|impact|change|success|"
    r"result|benefit)\b)|with\s+(?:no|little)|for\s+no)\s+(?:[\w-]+\s+){0,3}?[\w-]+(?=\s*(?:[.,;]|$))"
)
_NO_REASON = re.compile(
    r"\bfor\s+no\s+(?:\w+\s+){0,2}?(?:reasons?|purpose)\b|\bin\s+no\s+time\b|\bno\s+end\b|\bnot\s+(?:un)?surprisingly\b|"
    r"\bno\s+(?:more\s+and\s+no\s+less|less\s+and\s+no\s+more)\b|\bnever\s+mind\b|\bnot\s+to\s+(?:mention|speak\s+of)\b"
)
_FOIL = re.compile(
    r"\b(?:rather\s+than|instead\s+of|far\s+from|as\s+opposed\s+to)\s+(?:\w+ly\s+)?[\w-]+ing\s+(?:the\s+)?$"
)
_TAKEN_UP = re.compile(r"\b(?:it|them|its|their|the\s+(?:gene|protein|disease|drug|condition|latter|same))\b")


def without_asides(lower: str, cuts: Sequence[Span], complete: Callable[[str], bool]) -> str:
    """Return a sentence, of the same length, with all that is not its claim blanked.

    `complete` tells whether a shortened sentence still says how its entities relate; a remark is only what can be
    left out.
    """
    text = _without_brackets(lower, cuts)
    text = _blank_all(text, _NO_REASON, cuts)
    text = _without_foil(text, cuts)
    for begin, end in reversed([(a[1], b[0]) for a, b in pairwise(cuts)]):
        text = _without_insertion(text, begin, end)
    return _without_remark(text, cuts[-1][1], complete) if cuts else text


def _blank(text: str, begin: int, end: int) -> str:
    return text[:begin] + " " * (end - begin) + text[end:]


def _touches(begin: int, end: int, cuts: Sequence[Span]) -> bool:
    return any(begin < stop and start < end for start, stop in cuts)


def _blank_all(text: str, pattern: re.Pattern[str], cuts: Sequence[Span]) -> str:
    for match in pattern.finditer(text):
        if not _touches(*match.span(), cuts):
            text = _blank(text, *match.span())
    return text


def _without_brackets(text: str, cuts: Sequence[Span]) -> str:
    return _blank_all(text, _BRACKETS, cuts) if "(" in text or "[" in text else text


def _without_foil(text: str, cuts: Sequence[Span]) -> str:
    """Blank `rather than inducing` before an entity that is taken up again (`Rather than inducing A, B lowers it`)."""
    for number, (start, _) in enumerate(cuts):
        before = cuts[number - 1][1] if number else 0
        match = _FOIL.search(text[before:start])
        if match is not None and _TAKEN_UP.search(text[cuts[-1][1] :]):
            return _blank(text, before + match.start(), start)
    return text


def _turns(words: str) -> bool:
    """Return True when words could change polarity or direction."""
    return bool(negations(words) or DOWN_ALL.search(words) or DOWN_ANY.search(words) or UP_ALL.search(words))


def _without_insertion(text: str, begin: int, end: int) -> str:
    """Blank what stands between two commas of a gap, when it could turn the claim and the rest says something."""
    at = begin
    while match := _INSERTED.search(text, at, end):
        at = match.end("aside")
        around = text[begin : match.start()] + text[at:end]
        if _turns(match.group("aside")) and not _BARE.fullmatch(around):
            text = _blank(text, match.start(), at + 1 if text[at] == "," else at)
    return text


_ANOTHER_SUBJECT = re.compile(
    r"\W*(?:and|but|while|whereas|though|although|yet|so|as|because|since|unless)\s+(?:the|all|our|their|we|they|some|most)\b"
)
_MAX_REMARKS = 8
"""Places where a remark may begin that are tried; a sentence with more is no prose."""


def _without_remark(text: str, begin: int, complete: Callable[[str], bool]) -> str:
    """Blank what follows the last entity and could turn the claim, when the claim is whole without it."""
    text = text[:begin] + _ADJUNCT.sub(lambda m: " " * len(m.group()), text[begin:])
    for match in islice(_REMARK.finditer(text, begin), _MAX_REMARKS):
        rest = text[match.start() :]
        if not (_turns(rest) or _ANOTHER_SUBJECT.match(rest)) or _OF_THE_PAIR.search(rest.strip(" ,;:.")):
            continue
        if complete(text[: match.start()]):
            return _blank(text, match.start(), len(text))
    return text
