"""What looks like an entity and is none: names of people, acronyms of things, bare words, months."""

from __future__ import annotations

import re

_TITLE = re.compile(
    r"\b(?:Dr|Drs|Mr|Mrs|Ms|Miss|Mx|Prof|Professor|Doctor|Sir|Dame)\b\.?\s+(?:[A-Z][\w'\u2019-]*\.?\s+){0,2}$"
)
_BARE_WORDS = "disease diseases disorder disorders syndrome syndromes illness illnesses statistics"
_BARE = frozenset(_BARE_WORDS.split())
"""Words that say what kind of thing is spoken of; alone they name nothing, in quotes or as a pathway they do."""
_QUOTES = '"\u201c\u201d\u2018'
_PATHWAY_NEXT = re.compile(r"[\"\u201d\u2019]?\s*(?:signal?ling\s+)?pathway", re.IGNORECASE)
_PHRASES = {
    "mass": re.compile(r"[\s-]+(?:spec\b|spectr|cytomet|balance|media\b|transfer|produc|action\b)"),
    "masses": re.compile(r"[\s-]+(?:spectr)"),
}
"""Words that are part of another thing's name when these follow."""

_ACRONYM_WORDS = """
    ace apc arc atm cad camp cope gif gem impact kit large mal map max mice nhs nps pam pc pole rest sct sds set spr
    star sts tank trap was
"""
ACRONYMS = frozenset(_ACRONYM_WORDS.split())
"""Symbols of genes that are as often an acronym or a word of something else."""
_THINGS = re.compile(
    r"\s+(?:APIs?|fluorochromes?|fluorophores?|questionnaires?|websites?|web|servers?|software|aligners?|spectrometers?|"
    r"grants?|consortium|committee|agency|conference|Excel|Word|Office|Hospital|machines?|checklists?)\b"
)
_LOOSE_THINGS = re.compile(
    r"\s+(?:groups?|stud(?:y|ies)|trials?|cohorts?|projects?|program(?:me)?s?|scans?|databases?|packages?|scales?|surveys?|position|"
    r"signs?|scores?|tools?|teams?|methods?|algorithms?|guidelines?|criteria|awards?|statements?|gates?|values?|operators?|keys?|"
    r"buttons?|commands?|files?|formats?|standards?|institute|society|meetings?|contents|box|gels?|buffers?|samples?|channels?|"
    r"stain(?:s|ing)?|antibod(?:y|ies))\b|-(?:conjugated|labell?ed|tagged|Cy\d)|\s*\(allophycocyanin\)|\s+conjugates?\b"
)
_DETERMINER = re.compile(r"\b(?:the|a|an|our|this|your|my|their|its|his|her)\s+$", re.IGNORECASE)
_MOLECULAR = re.compile(
    r"\b(?:genes?|m?rnas?|transcripts?|express\w*|proteins?|alleles?|variants?|mutat\w+|promoter|locus|interact\w*|\w*regulat\w*|"
    r"bind\w*|encod\w+|pathway|knock\w*|overexpress\w*|levels?|receptors?|kinases?|enzymes?|inhibit\w*|\w*phosphor\w*|activ\w+|"
    r"signal\w*|cleav\w+|delet\w+|repress\w*|induc\w*|target\w*|associat\w*|cells?|tumou?rs?|cancers?|disease|increas\w*|decreas\w*|"
    r"reduc\w*|complex|truncat\w*|loss|subunit|domain|ligand|oncogene|suppressor|product|function|sequenc\w*)\b",
    re.IGNORECASE,
)
_MONTHS = re.compile(r"(?:sept|march|oct|dec|nov)\.?\s*\d{1,2}", re.IGNORECASE)


def is_of_a_person(text: str, start: int, words: str) -> bool:
    """Say whether words stand where a person's name does: `Dr. Max Lung`."""
    if not (words[0].isupper() and words[1:2].islower()):
        return False
    return _TITLE.search(text[max(0, start - 48) : start]) is not None


def is_bare(text: str, start: int, end: int, words: str) -> bool:
    """Say whether words are only a kind of thing (`the disease`), or a piece of another name (`mass spectrometry`)."""
    if len(words) > 10:
        return False
    lower = words.lower()
    phrase = _PHRASES.get(lower)
    if phrase is not None and phrase.match(text, end):
        return True
    if lower not in _BARE:
        return False
    before, after = text[max(0, start - 9) : start], text[end : end + 24]
    if before[-1:] and before[-1:] in _QUOTES:
        return False
    if _PATHWAY_NEXT.match(after) or before.lower().endswith("pathway "):
        return False
    opens = not before.strip() or before.rstrip()[-1:] in ".!?:;"
    return not (words[0].isupper() and not opens)


def is_of_a_thing(text: str, start: int, end: int, words: str, *, common: bool) -> bool:
    """Say whether a symbol is an acronym of something else: `REST API`, `the WAS group`, `the TANK was filled`.

    Args:
        text: the whole text.
        start: where the symbol begins.
        end: where it ends.
        words: the symbol as written.
        common: True for a symbol that is as often a word or another acronym.
    """
    if not words.isalpha():
        dated = words[0] in "SMODNsmodn" and _MONTHS.fullmatch(words) is not None
        return dated and not (words[:2].isupper() and " " not in words)
    if text[end : end + 1] == " " and _THINGS.match(text, end):
        return True
    if not common:
        return False
    if _LOOSE_THINGS.match(text, end):
        return True
    near = text[max(0, start - 40) : start], text[end : end + 40]
    return _DETERMINER.search(near[0]) is not None and _MOLECULAR.search(near[0] + " | " + near[1]) is None
