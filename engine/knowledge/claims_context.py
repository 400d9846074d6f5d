"""What stands around a claim and changes what it says: a question, a condition, a mutant form, `unlike`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from engine.domain.knowledge import Mention, NodeType
from engine.text.sentences import Sentence

Supposed = Literal["", "asks", "supposes"]

_QUESTION = re.compile(r"\?[\s\"')\]\u201d]*$")
_ASKS = re.compile(
    r"\b(?:whether|(?:ask|wonder|test|see|check|know|determin|investigat)\w*\s+if)\b(?!\s+or\s+not)[^,;:]*$"
)
_SUPPOSES = re.compile(
    r"(?<!as )\bif\b(?!\s+(?:not|any|anything)\b)[^,;:]*$|"
    r"\b(?:suppos(?:e|ing)|assum(?:e|ing)|imagine|unless|in\s+case|provided\s+that)\b[^,;:]*$|"
    r"^\s*(?:had|were|should)\s+(?:the\s+)?$"
)
_ASKED_FIRST = re.compile(
    r"^\W*(?:do|does|did|is|are|was|were|can|could|has|have|had|will|would|should|may|might|what|which|who|why|how|when|where|[a-z]+n't)\b"
)
_NOT_ASKED = re.compile(r"^\s*(?:do|does|did|is|are|was|were|ca|could|has|have|had|would|wo|should)(n't)\b")

_ACIDS = "Ala|Arg|Asn|Asp|Cys|Gln|Glu|Gly|His|Ile|Leu|Lys|Met|Phe|Pro|Ser|Thr|Trp|Tyr|Val"
_CHANGE = (
    r"(?:p\.)?(?:[ACDEFGHIKLMNPQRSTVWY]\d{1,4}(?:[ACDEFGHIKLMNPQRSTVWYX*]|fs|del|dup)|"
    rf"(?:{_ACIDS})\d{{1,4}}(?:{_ACIDS}|Ter|fs|del|dup))"
)
_MUTANT = r"(?:mutants?|mutated|mutations?|variants?|substitutions?|forms?)"
_CHANGE_AFTER = re.compile(
    r"[\s(:/-]{0,2}(?:(?:gene|protein|kinase|domain|receptor|carrying|bearing|harbou?ring|with|the|mutant|mutation|variant)"
    rf"[\s(]+){{0,4}}({_CHANGE})(?![A-Za-z0-9])"
)
_CHANGE_BEFORE = re.compile(
    rf"(?<![A-Za-z0-9])({_CHANGE})(?:[\s-]+{_MUTANT})?(?:\s+(?:of|in))?(?:\s+(?:the|a|an))?[\s-]+$"
)
_MUTANT_BEFORE = re.compile(
    r"\b(?:mutants?|mutated)\s+(?:(?:forms?\s+)?of\s+|version\s+of\s+)?(?:the\s+)?$", re.IGNORECASE
)
_MUTANT_AFTER = re.compile(r"[\s-]+(?:mutants?|mutated)\b", re.IGNORECASE)

_UNLIKE = re.compile(r"\b(?:unlike|in\s+contrast\s+(?:to|with)|as\s+opposed\s+to|contrary\s+to)\s+(?:the\s+)?$")


def supposed(lower: str, mentions: Sequence[Mention], others: Sequence[Mention], start: int) -> Supposed:
    """Return `asks` or `supposes` for a statement that its sentence does not assert, otherwise an empty string.

    `lower` is the sentence in lower case, `start` where it begins in the text, `mentions` the entities of the
    statement and `others` those of the whole sentence.
    """
    if _is_question(lower):
        return "asks"
    inside = [m.start for m in mentions if m.start >= start]
    if not inside:
        return ""
    before = max((m.end for m in others if m.end <= min(inside)), default=start)
    for begin in {start, before} if min(inside) == min(m.start for m in others) else {before}:
        words = lower[begin - start : min(inside) - start]
        if _ASKS.search(words):
            return "asks"
        if _SUPPOSES.search(words):
            return "supposes"
    return ""


def _is_question(lower: str) -> bool:
    """Return True for `Does A bind B?`; `A binds B???` is a doubtful statement."""
    end = _QUESTION.search(lower)
    return end is not None and (not lower.endswith("??") or _ASKED_FIRST.match(lower) is not None)


def without_asked_not(lower: str) -> str:
    """Return a sentence, of the same length, without the `n't` of a question such as `Doesn't X bind Y?`."""
    match = _NOT_ASKED.match(lower) if _is_question(lower) else None
    return lower if match is None else f"{lower[: match.start(1)]}   {lower[match.end(1) :]}"


def mutant_form(sentence: Sentence, mentions: Sequence[Mention], others: Sequence[Mention]) -> str:
    """Return the mutant of a gene that a statement is about (`ABL1 T315I`, `mutant ABL1`), or an empty string."""
    for mention in mentions:
        if mention.node.type not in {NodeType.GENE, NodeType.PROTEIN} or mention.start < sentence.start:
            continue
        left, right = sentence.text[: mention.start - sentence.start], sentence.text[mention.end - sentence.start :]
        for match, offset in ((_CHANGE_AFTER.match(right), len(sentence.text) - len(right)),
                              (_CHANGE_BEFORE.search(left), 0)):  # fmt: skip
            if match is None:
                continue
            at = sentence.start + offset + match.start(1)
            if not any(other.start <= at < other.end for other in others):  # C4A may be a gene of its own
                return f"{mention.node.name} {match.group(1)}"
        if _MUTANT_BEFORE.search(left) or _MUTANT_AFTER.match(right):
            return f"mutant {mention.node.name}"
    return ""


def contrasted(lower: str, mentions: Sequence[Mention], start: int) -> int | None:
    """Return which entity a sentence sets apart from the rest (`Unlike A, B binds C`), or None."""
    if len(mentions) < 3:
        return None
    for number, mention in enumerate(mentions):
        before = mentions[number - 1].end - start if number else 0
        if _UNLIKE.search(lower[before : mention.start - start]):
            return number
    return None
