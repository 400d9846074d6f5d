"""How surely a stretch of text names an entity: by case, by what kind of name it is, and by the words beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from engine.domain.knowledge import NodeType
from engine.knowledge.linking.guards import ACRONYMS, is_bare, is_of_a_person, is_of_a_thing
from engine.knowledge.linking.words import ENGLISH, EVERYDAY

_GENE_CONTEXT = re.compile(
    r"\b(genes?|m?rnas?|transcripts?|express\w*|proteins?|messages?|products?|alleles?|variants?|mutat\w+|promoter|locus"
    r"|interact\w*|regulat\w*|upregulat\w*|downregulat\w*|bind\w*|encod\w+|pathway|knock\w*|overexpress\w*|levels?)\b",
    re.IGNORECASE,
)
_SWALLOWS = re.compile(r"(?:cellular\s+)?response\s+to\s", re.IGNORECASE)
_AFTER_EFFECT = re.compile(
    r"\b(?:express\w*|increas\w*|decreas\w*|induc\w*|repress\w*|reduc\w*|elevat\w*|up|down|levels?|rises?|falls?|drops?|"
    r"\w*regulat\w*|changes?|transcripts?|mrna|message)\s+in\s+$",
    re.IGNORECASE,
)
"""`increased expression in response to clozapine` names clozapine, not the process `response to clozapine`."""
_SPAN_BREAKS = re.compile(r"[,;:()\[\]!?\"\u201c\u201d]|\.\s|\n\s*\n")

_GENES = frozenset({NodeType.GENE, NodeType.PROTEIN})
_PLURAL = re.compile(r"[A-Z]{2,}s")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_DISEASE_WORDS = re.compile(
    r"\b(?:patients?|treat\w*|therap\w*|onset|diagnos\w*|sufferers?|people|children|women|men|prognos\w*|relaps\w*|flares?|"
    r"associat\w*|disease|severe|early|risk|symptoms?|cure[sd]?|prescribed|drugs?|progression|remission|cases?)\b",
    re.IGNORECASE,
)
_NO_DISEASE_NEXT = re.compile(
    r"\s+(?:[A-Z][a-z]|doses?\b|pressures?\b|values?\b|data\b|spectr|analys|scans?\b|\d)|[-/]\w|\s?[(\[]|\s*="
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A name of an entity."""

    number: int
    type: NodeType
    name: str
    how: str
    """symbol, name or alias, with `variant of` before it for a rephrased form."""
    plain: bool
    """True for a name of several words or a long one; False for a symbol, whose case matters."""
    rule: str = ""
    """What is asked of a name the graph does not have itself: `written` (the same capitals), `context`, `greek`."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A stretch of text and the entities it names."""

    start: int
    end: int
    entries: tuple[Entry, ...]
    score: float
    exact: bool


def judge(text: str, start: int, end: int, entries: tuple[Entry, ...]) -> Hit | None:
    """Return the hit that a match of folded tokens is in the text as written, or None."""
    if (start and text[start - 1].isalnum()) or (end < len(text) and text[end].isalnum()):
        return None
    words = text[start:end]
    if is_bare(text, start, end, words) or is_of_a_person(text, start, words):
        return None
    if _SWALLOWS.match(words) and _AFTER_EFFECT.search(text[max(0, start - 40) : start]):
        return None
    if len(words) > 3:
        breaks = _SPAN_BREAKS.findall(words)
        if breaks:
            entries = tuple(e for e in entries if all(mark.strip() in e.name for mark in breaks))
    if text[end : end + 1] in {")", "]"} and all(e.name.endswith(text[end]) for e in entries) and entries:
        end += 1
        words = text[start:end]
    scored = [(score, e) for e in entries if (score := _entry_score(text, start, end, words, e)) > 0]
    if not scored:
        return None
    best = max(score for score, _ in scored)
    return Hit(start, end, tuple(e for _, e in scored), best, any(e.name == words for _, e in scored))


def _entry_score(text: str, start: int, end: int, words: str, entry: Entry) -> float:
    """Return how surely `words` name the entry, 0 when they do not."""
    if (entry.rule or not entry.plain) and _is_other_thing(text, start, end, words):
        return 0.0
    if entry.rule:
        return _RULES[entry.rule](text, start, end, words, entry)
    if entry.plain:
        return _name_score(words, entry)
    if re.match(r"-\d", text[end : end + 2]):  # HOXA-1 is not HOXA
        return 0.0
    if " " in words and not re.fullmatch(r"[A-Za-z]+ \d+[A-Za-z]?", words):
        return 0.0
    if words == entry.name:
        if len(words) == 1:
            return 0.6 if _gene_words(text, start, end) else 0.0
        if words.lower() in ENGLISH:
            return _capital_word_score(text, start, end, words)
        return 0.9 if len(words) == 2 else 1.0
    return _other_case_score(text, start, end, words)


def _is_other_thing(text: str, start: int, end: int, words: str) -> bool:
    if len(words) > 8:
        return False
    lower = words.lower()
    return is_of_a_thing(text, start, end, words, common=lower in ACRONYMS or lower in ENGLISH)


def _other_case_score(text: str, start: int, end: int, words: str) -> float:
    """Return the score of a symbol in other capitals than its own: `Tp53`, `mTOR`, `egfr`."""
    if words.lower() in ENGLISH or len(words) < 3:
        return 0.0
    if not words.isascii():  # a Greek letter spelt out in the name: TNF\u03b1
        return 0.9
    if not words.isalpha():  # `p53` is long enough, `a1` is not
        if len(words) <= 3 and words.islower():
            return 0.8 if len(words) == 3 and words[1:].isdigit() else 0.0
        return 0.9
    if words.isupper():
        return 0.8
    if _PLURAL.fullmatch(words):  # MAPs and CARs are several of something
        return 0.0
    if _INNER_CAPITAL.search(words) and len(words) > 3:  # no English word is written like mTOR or ApoE
        return 0.85
    return 0.6 if _gene_words(text, start, end) else 0.0


def _written_score(text: str, start: int, end: int, words: str, entry: Entry) -> float:
    """Return the score of an alias such as `AIDS`, `iNOS`, `PKC\u03b1`, whose capitals must be those of the table."""
    if " " in words and entry.name.isascii():
        return 0.0
    if re.match(r"-\d", text[end : end + 2]):
        return 0.0
    wanted, given = _first_letters(entry.name), _first_letters(words)
    if wanted != given and not (len(given) > 2 and given.isupper() and len(words) > 3):
        return 0.0
    if words.lower() in ENGLISH and entry.type in _GENES:
        return _capital_word_score(text, start, end, words)
    return 0.85


def _first_letters(words: str) -> str:
    found = re.search(r"[A-Za-z]+", words)
    return found.group() if found else ""


def _context_score(text: str, start: int, end: int, words: str, entry: Entry) -> float:
    """Return the score of `MS` or `RA` as a disease: only with words about a disease beside it."""
    if words != entry.name or text[max(0, start - 1) : start] in {"-", "/", "("} or _NO_DISEASE_NEXT.match(text, end):
        return 0.0
    near = text[max(0, start - 40) : start] + " | " + text[end : end + 40]
    return 0.6 if _DISEASE_WORDS.search(near) else 0.0


def _greek_score(text: str, start: int, end: int, words: str, entry: Entry) -> float:
    """Return the score of a symbol whose last letter is written as a Greek one: `HNF4\u03b1`, `Ppar-gamma`."""
    return 0.85 if words[0].isupper() and (not words.isascii() or words[1:2] != " ") else 0.0


_RULES: dict[str, Callable[[str, int, int, str, Entry], float]] = {
    "written": _written_score,
    "context": _context_score,
    "greek": _greek_score,
}


def _name_score(words: str, entry: Entry) -> float:
    if len(words) <= 3 and words != entry.name and not (words.isdigit() or len(words) == 3):
        return 0.0
    lower = words.lower()
    if lower in ENGLISH and words.islower() and entry.name.isupper():  # all is not ALL
        return 0.0
    if lower in EVERYDAY or (lower in ENGLISH and words != entry.name):
        return 0.3
    if entry.name.isupper() and len(words) <= 5 and words.islower():
        return 0.3
    base = 0.8 if entry.how.startswith("variant") else 0.95 if entry.how == "name" else 0.9
    return base if " " in words or len(words) > 3 else base - 0.1


def _gene_words(text: str, start: int, end: int) -> bool:
    return _GENE_CONTEXT.search(text[max(0, start - 40) : start] + " | " + text[end : end + 40]) is not None


def _capital_word_score(text: str, start: int, end: int, words: str) -> float:
    """Return the score of `SET`, `CAT`, `IMPACT` as written: no entity in text set in capitals or in `CAT scan`."""
    if not words.isupper():
        return 0.6 if _gene_words(text, start, end) else 0.0
    before = re.search(r"([A-Za-z]{2,})\W*$", text[max(0, start - 30) : start])
    after = re.match(r"\W*([A-Za-z]{2,})", text[end : end + 30])
    shouted = [m.group(1).isupper() and m.group(1).lower() in ENGLISH for m in (before, after) if m]
    if any(shouted) or (after and after.group(1).lower() in {"scan", "scans", "imaging", "equivalent", "factor"}):
        return 0.0
    return 0.9 if _gene_words(text, start, end) else 0.7
