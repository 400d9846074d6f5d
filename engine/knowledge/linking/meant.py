"""Which entities found in a sentence are meant as such: no doubles, words of the predicate, idioms; and mutants."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.domain.knowledge import Mention, NodeType
from engine.text.sentences import Sentence

_PREDICATE_WORDS = re.compile(
    r"(?:the\s+)?(?:adverse\s+)?(?:drug\s+)?(?:falls?|reactions?|adverse\s+(?:drug\s+)?(?:reactions?|effects?|events?)|effects?|"
    r"side\s+effects?|response|association|interaction|growth|increased|decreased|relapse|point|support|signaling|control|"
    r"weakness|disorders?|condition|localization|binding|protein\s+binding|secretion|transcription|gene\s+expression|"
    r"translation|pathogenesis|diseases?|drug\s+interaction|therapeutic\s+response|phase|development|cells?|membranes?|discomforts?|collapses?|dependence|metabolism|hosts?)$",
    re.IGNORECASE,
)
_IDIOMS = re.compile(
    r"\bif\s+(?:my\s+)?memory\s+serves\b|\bfrom\s+memory\b|\bby\s+heart\b|\bat\s+heart\b|\bon\s+the\s+(?:one|other)\s+hand\b|"
    r"\bin\s+the\s+long\s+run\b|\bhand\s+in\s+hand\b|\bin\s+(?:the\s+)?light\s+of\b|\bkeep\s+an\s+eye\b|"
    r"\bin\s+this\s+vein\b|\brule\s+of\s+thumb\b|\bstress(?:es|ed)?\s+(?:\w+\s+){0,2}that\b",
    re.IGNORECASE,
)
_BESIDE = re.compile(r"\s*[,(\[=/-]?\s*(?:[\w.]+\s+){0,3}[\"'(\[:]*\s*$")
_NO_PARTY = frozenset({NodeType.DOMAIN, NodeType.TOOL, NodeType.DATASET})

_ACIDS = "Ala|Arg|Asn|Asp|Cys|Gln|Glu|Gly|His|Ile|Leu|Lys|Met|Phe|Pro|Ser|Thr|Trp|Tyr|Val"
_CHANGE = (
    r"(?:p\.)?(?:[ACDEFGHIKLMNPQRSTVWY]\d{1,4}(?:[ACDEFGHIKLMNPQRSTVWYX*]|fs|del|dup)|"
    rf"(?:{_ACIDS})\d{{1,4}}(?:{_ACIDS}|Ter|fs|del|dup))"
)
_CHANGE_AFTER = re.compile(
    r"[\s(:/-]{0,2}(?:(?:gene|protein|kinase|receptor|carrying|bearing|harbou?ring|with|the|mutant|mutation|variant)"
    rf"[\s(]+){{0,4}}({_CHANGE})(?![A-Za-z0-9])"
)
_CHANGE_BEFORE = re.compile(
    rf"(?<![A-Za-z0-9])({_CHANGE})(?:[\s-]+(?:mutants?|mutated|mutations?|variants?|forms?))?(?:\s+(?:of|in))?(?:\s+(?:the|a|an))?[\s-]+$"
)
_MUTANT_BEFORE = re.compile(r"\b(?:mutants?|mutated)\s+(?:(?:forms?|version)\s+of\s+)?(?:the\s+)?$", re.IGNORECASE)
_MUTANT_AFTER = re.compile(r"[\s-]+(?:mutants?|mutated)\b", re.IGNORECASE)


def meant(sentence: Sentence, mentions: Sequence[Mention]) -> list[Mention]:
    """Return the entities of a sentence that may take part in a claim; `DHRS13 (Entrez gene 147015)` is one."""
    mentions = [m for m in _without_doubles(sentence, mentions) if not _in_idiom(sentence, m)]
    kept = [
        m for m in mentions if _named(sentence, m) or not (_PREDICATE_WORDS.match(m.text) or m.node.type in _NO_PARTY)
    ]
    return kept if len(kept) >= 2 else mentions


def mutant_form(sentence: Sentence, mention: Mention, others: Sequence[Mention]) -> str:
    """Return the mutant of a gene that is spoken of (`ABL1 T315I`, `mutant ABL1`), or an empty string."""
    if mention.node.type not in {NodeType.GENE, NodeType.PROTEIN} or mention.start < sentence.start:
        return ""
    left, right = sentence.text[: mention.start - sentence.start], sentence.text[mention.end - sentence.start :]
    for match, offset in (
        (_CHANGE_AFTER.match(right), len(sentence.text) - len(right)),
        (_CHANGE_BEFORE.search(left), 0),
    ):
        if match is not None:
            at = sentence.start + offset + match.start(1)
            if not any(other.start <= at < other.end for other in others):  # C4A may be a gene of its own
                return f"{mention.node.name} {match.group(1)}"
    return f"mutant {mention.node.name}" if _MUTANT_BEFORE.search(left) or _MUTANT_AFTER.match(right) else ""


def _without_doubles(sentence: Sentence, mentions: Sequence[Mention]) -> list[Mention]:
    kept: list[Mention] = []
    for mention in mentions:
        before = kept[-1] if kept else None
        if before is not None and _same(before, mention):
            gap = sentence.text[before.end - sentence.start : mention.start - sentence.start]
            if _BESIDE.fullmatch(gap) and not re.search(r"\b(?:and|or|with|to)\b", gap):
                by_id = mention.why == "id"
                kept[-1] = before.model_copy(
                    update={"end": mention.end, "node": mention.node if by_id else before.node,
                            "alternatives": [] if by_id else before.alternatives}
                )  # fmt: skip
                continue
        kept.append(mention)
    return kept


def _same(one: Mention, two: Mention) -> bool:
    names = {n.id for n in (one.node, *one.alternatives)}
    return not names.isdisjoint(n.id for n in (two.node, *two.alternatives))


def _named(sentence: Sentence, mention: Mention) -> bool:
    """Say whether a mention is in quotes, called a pathway or a place, so that it is meant as a name."""
    start, end = mention.start - sentence.start, mention.end - sentence.start
    before, after = sentence.text[max(0, start - 12) : start], sentence.text[end : end + 9]
    if before.endswith(('"', "\u201c")) or "pathway " in before or after.startswith(" pathway"):
        return True
    placed = re.search(r"\b(?:in|to|at|inside|within|on) the $", before) is not None
    return placed and (after[:1] in {"", ".", ",", ";"} or after.startswith(" and "))


def _in_idiom(sentence: Sentence, mention: Mention) -> bool:
    start, end = mention.start - sentence.start, mention.end - sentence.start
    near = sentence.text[max(0, start - 24) : end + 24]
    at = min(24, start)
    return any(m.start() <= at and m.end() >= at + end - start for m in _IDIOMS.finditer(near))
