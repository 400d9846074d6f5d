"""Which entities found in a sentence are meant as such: no doubles, no words of the predicate, no idioms."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.domain.knowledge import Mention, NodeType
from engine.knowledge.claims_predicates import DRUGS, GENES, PLACES
from engine.knowledge.claims_readings import kinds_of
from engine.text.sentences import Sentence

_CUE_LIKE = re.compile(
    r"(?:the\s+)?(?:adverse\s+)?(?:drug\s+)?(?:falls?|reactions?|adverse\s+(?:drug\s+)?(?:reactions?|effects?|events?)|effects?|"
    r"side\s+effects?|response|association|interaction|growth|increased|decreased|relapse|point|support|signaling|control|"
    r"weakness|disorders?|condition|localization|binding|protein\s+binding|secretion|transcription|gene\s+expression|"
    r"translation|pathogenesis|diseases?|drug\s+interaction|therapeutic\s+response|phase|development|cells?|membranes?|discomforts?|collapses?|dependence|metabolism|hosts?)$",
    re.IGNORECASE,
)


_APPOSITION = re.compile(r"\s*[,(\[=/-]?\s*(?:[\w.]+\s+){0,3}[\"'(\[:]*\s*$")


def without_doubles(sentence: Sentence, mentions: list[Mention]) -> list[Mention]:
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


def without_cue_words(sentence: Sentence, mentions: list[Mention]) -> list[Mention]:
    """Drop entities that are words of the predicate (`a fall in`, `adverse reactions`) where two others remain."""
    mentions = [m for m in mentions if not _in_idiom(sentence, m)]
    kept = [m for m in mentions if not (_CUE_LIKE.match(m.text) or m.node.type in _NO_PARTY) or _named(sentence, m)]
    return kept if len(kept) >= 2 else mentions


def _named(sentence: Sentence, mention: Mention) -> bool:
    """Return True when a mention is in quotes or called a pathway, so that it is meant as a name."""
    start, end = mention.start - sentence.start, mention.end - sentence.start
    before, after = sentence.text[max(0, start - 12) : start], sentence.text[end : end + 9]
    if before.endswith(('"', "\u201c")) or "pathway " in before or after.startswith(" pathway"):
        return True
    placed = re.search(r"\b(?:in|to|at|inside|within|on) the $", before) is not None
    return placed and (after[:1] in {"", ".", ",", ";"} or after.startswith(" and "))


_NO_PARTY = frozenset({NodeType.DOMAIN, NodeType.TOOL})
"""Kinds of entity that take no part in a biological relation."""
_IDIOMS = re.compile(
    r"\bif\s+(?:my\s+)?memory\s+serves\b|\b(?:from|to\s+my)\s+memory\b|\bby\s+heart\b|\bat\s+heart\b|\bheart\s+of\s+the\s+matter\b|"
    r"\bon\s+the\s+(?:one|other)\s+hand\b|\bin\s+the\s+long\s+run\b|\bhand\s+in\s+hand\b|\bin\s+(?:the\s+)?light\s+of\b|"
    r"\bkeep\s+(?:an\s+eye|in\s+mind)\b|\bbear\s+in\s+mind\b|\bin\s+this\s+vein\b|\bback\s+to\s+back\b|\brule\s+of\s+thumb\b|"
    r"\bstress(?:es|ed)?\s+(?:\w+\s+){0,2}that\b|\bnothing\s+to\s+lose\b|\b(?:sheer|bad|good)\s+luck\b",
    re.IGNORECASE,
)


def _in_idiom(sentence: Sentence, mention: Mention) -> bool:
    start, end = mention.start - sentence.start, mention.end - sentence.start
    near = sentence.text[max(0, start - 24) : end + 24]
    at = min(24, start)
    return any(m.start() <= at and m.end() >= at + end - start for m in _IDIOMS.finditer(near))


_TOLD = re.compile(
    r"\b(?:sa(?:y|ys|id)|show(?:s|n|ed|ing)?|not(?:e|es|ed|ing)|report(?:s|ed|ing)?|found|finds?|finding|suggest\w*|stat(?:e|es|ed)|"
    r"claim\w*|conclud\w*|demonstrat\w*|reveal\w*|indicat\w*|confirm\w*|establish\w*|observ\w*|writes?|wrote|hold|holds|"
    r"believ\w*|argu\w*|agree\w*|mention\w*|know|knows|knew|known|learn\w*|see|sees|saw|seen|hear|heard|tell|tells|told|"
    r"think|thinks|thought|explain\w*|remark\w*|add|adds|added|fact|evidence|doubt\w*|clear|hypothes\w*|propos\w*|"
    r"record\w*|view|idea|notion|recall\w*|remind\w*|stress\w*|point(?:s|ed)?\s+out|prov(?:e|es|ed|en)|surprising|likely|true)"
    r"\b(?:[^.;@]*?)\bthat\s+(?:[\w'-]+[\s,]+){0,8}?$"
)
_CONTEXT = re.compile(
    r"^\W*(?:in|among|amongst|within|as\s+(?:for|to)|regarding|concerning|since|although|though|whereas|despite|at|given|for|"
    r"leaving|setting)\b"
)
_ASIDE = re.compile(r"^\s+(?:aside|apart|notwithstanding)\s*,")
_NAMED_NEXT = re.compile(
    r"(?:[\s,;:\u2013\u2014-]|\b(?:and|but|while|whereas|whilst|yet|although|though|so|then|plus|however|nevertheless|nonetheless|"
    r"instead|conversely|meanwhile|still|by\s+contrast|in\s+contrast|on\s+the\s+other\s+hand|the|a|an|human|both|neither|either|gene|protein|drug|"
    r"compound|expression\s+of|levels\s+of|only|even|also|in\s+turn|moreover|furthermore|in\s+addition|likewise)\b)*"
)
_FRAME_NEXT = re.compile(r"[^.]*\b(?:that\s+|:\s*|,\s*)(?:the\s+)?$")
_BY_PRONOUN = re.compile(
    r"\b(?:it|its|they|their|which|who)\b(?!\s+(?:is|was|has\s+been|turns?|seems?|appears?)\b[^.]*\bthat\b)"
)


def independent_at(lower: str, starts: Sequence[int]) -> int:
    """Return where the second statement of a sentence begins, or 0: `A binds B; we also report that C treats D`.

    Only a semicolon parts them, and only when the second names its own subject; otherwise it may borrow the first's.
    """
    for match in re.finditer(";", lower):
        right = [start for start in starts if start >= match.end()]
        if len(right) < 2 or len(right) == len(starts) or any(s < match.start() < e for s, e in _quoted(lower)):
            continue
        between = lower[match.end() : right[0]]
        if _NAMED_NEXT.fullmatch(between) or (_FRAME_NEXT.match(between) and not _BY_PRONOUN.search(between)):
            return match.end()
    return 0


def _quoted(lower: str) -> list[tuple[int, int]]:
    return [m.span() for m in re.finditer(r"\([^()]*\)", lower)]


def teller(lower: str, cuts: Sequence[tuple[int, int]]) -> bool:
    """Return True when the first entity only belongs to who tells it: `the asthma group noted that A binds B`."""
    return len(cuts) > 2 and _TOLD.search(lower[cuts[0][1] : cuts[1][0]]) is not None


def setting(lower: str, cuts: Sequence[tuple[int, int]]) -> bool:
    """Return True when the first entity may be but the setting of the rest: `In mice with asthma, A binds B`."""
    if len(cuts) < 3:
        return False
    head, gap = lower[: cuts[0][0]], lower[cuts[0][1] : cuts[1][0]]
    parts = re.match(r"[^,;:]*[,;:]", gap)
    if parts is None or ("," in head and not _CONTEXT.match(head[head.rindex(",") + 1 :])):
        return False
    rest = gap[parts.end() :]
    opens = _ASIDE.match(gap) or (_CONTEXT.match(head) and head.strip())
    named = _NAMED_NEXT.fullmatch(rest) or (_FRAME_NEXT.match(rest) and not _BY_PRONOUN.search(rest))
    return bool(opens and named and not _SHARED.match(lower[cuts[1][1] :]))


_SHARED = re.compile(r"\s*(?:,|and|or|&)\s")
_PRONOUN = re.compile(
    r"^\s*(?:(?:[\w-]+\s+){0,4}[\w-]+,\s*)?(?P<it>it|they|this|these|both|(?:the|this|that)\s+(?:same\s+)?(?:drug|compound|agent|gene|"
    r"protein|disease|condition|disorder|tissue|molecule|substance|medicine))\b"
)
_EXPLETIVE = re.compile(
    r"\b(?:that|whether|how)\b|^\s*(?:is|was|has\s+been|seems|appears|turns\s+out)\s+[\w\s]*\bto\b|[,:;]\s*$"
)
_CALLED: tuple[tuple[re.Pattern[str], frozenset[NodeType]], ...] = (
    (re.compile(r"\b(?:drug|compound|agent|medicine|molecule|substance)\b"), DRUGS),
    (re.compile(r"\b(?:gene|protein|transcript)\b"), GENES),
    (re.compile(r"\b(?:disease|condition|disorder|cancer|illness)\b"), frozenset({NodeType.DISEASE})),
    (re.compile(r"\b(?:tissue|organ)\b"), PLACES),
)


def pronoun_at(lower: str, first: int, *, several: bool) -> tuple[int, int] | None:
    """Return where a sentence opens with `it` or `the drug` for an entity of the one before, or None.

    `first` is where its own first entity stands. With `several` entities of its own it needs no other, so the
    pronoun must plainly be the subject of the words up to the first.
    """
    match = _PRONOUN.match(lower[:first])
    if match is None:
        return None
    if several and (match.group("it") in {"this", "these", "both"} or _EXPLETIVE.search(lower[match.end() : first])):
        return None
    return match.span("it")


def meant_by(pronoun: str, mentions: Sequence[Mention]) -> list[Mention]:
    """Return the entities a pronoun may mean: `the drug` leaves only drugs."""
    for pattern, kinds in _CALLED:
        if pattern.search(pronoun):
            return [m for m in mentions if kinds & set(kinds_of(m))]
    return list(mentions)
