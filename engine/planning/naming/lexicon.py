"""How surely one word means another: the same stem, a synonym, a beginning, a short form or a slip of the pen."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from importlib import resources

from engine.text.numbers import as_number
from engine.text.slips import misspelt
from engine.text.stems import stem
from engine.text.stopwords import STOP

UNITS = frozenset(
    (
        "mm cm m km um nm mg g kg ug ng ml l dl ul mmol mol umol nmol pg iu u h hr hrs min s sec ms days day "
        "d weeks week months month years year yr yrs pct percent bpm mmhg hg kpa c k ha od au per lb lbs oz "
        "in inch o oo hours hour wk wks mo seconds minutes ppm ppb iu mv hz cfu rpm"
    ).split()
)


@functools.cache
def synonyms(files: tuple[str, ...] = ("synonyms.tsv", "trade.tsv")) -> dict[str, list[frozenset[str]]]:
    """Return word -> groups of words that mean about the same; phrases are written in one, `packedcellvolume`."""
    groups: dict[str, list[frozenset[str]]] = {}
    for file in files:
        text = resources.files("engine.planning").joinpath("data", file).read_text("utf-8").replace(" ", "")
        for line in text.splitlines():
            words = frozenset(line.split("\t")) - {""}
            for word in words:
                groups.setdefault(word, []).append(words)
    return groups


@functools.lru_cache(maxsize=50_000)
def in_terms(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return words with those that are a term of the lexicon written in one: `shoot`, `freshweight`."""
    found: list[str] = []
    at = 0
    while at < len(words):
        size = next(
            (n for n in range(LONGEST, 1, -1) if at + n <= len(words) and is_term("".join(words[at : at + n]))), 1
        )
        found.append("".join(words[at : at + size]))
        at += size
    return tuple(found)


LONGEST = 5
"""A term of the lexicon has at most so many words."""


def is_term(term: str) -> bool:
    """Say whether words written in one are a term of the lexicon."""
    return term in synonyms() or (term.endswith("s") and term[:-1] in synonyms())


def alike(word: str, part: str) -> float:
    """Return how surely a word of the question means a part of a name, 0 to 1. Both in lower case."""
    if word == part or stem(word) == stem(part):
        return 1.0
    if word[0].isdigit() or part[0].isdigit():
        same = as_number(word) is not None and as_number(word) == as_number(part)
        return 1.0 if same or (_YEAR.fullmatch(word) and len(part) == 2 and word.endswith(part)) else 0.0
    if word in STOP or len(word) < 2:
        return 0.0
    if (word not in UNITS or word in _SPELT_OUT) and same_meaning(word, part):
        return 0.85
    if len(part) > BEGINS and any(len(o) >= CUT and part.startswith(o) for o in meanings(word)):
        return 0.75  # dialysis for `Dialysebeginn`
    if any(letter.isdigit() for letter in word + part):
        return 0.0  # EXON12 is not EXON1
    if len(word) < 3 or len(part) < 2:
        return 0.0
    return _spelt_alike(word, part)


_YEAR = re.compile(r"(?:19|20)\d\d")
"""`2004` is the year of `wall_04`."""
_SPELT_OUT = frozenset("hour hours day days week weeks month months year years".split())
"""Units of time as words of their own: `per month` finds `mes`."""


def _spelt_alike(word: str, part: str) -> float:
    """Return how surely one of two words is a beginning, an end, a relative or a slip of the other, 0 to 1."""
    if part in _WHOLE and word.startswith(part):
        return 0.0  # an agent has no age
    if len(part) >= 3 and len(word) >= 4 and (word.startswith(part) or part.startswith(word)):
        return 0.85 if min(len(word), len(part)) >= 4 or word.startswith(part) else 0.6
    if len(word) >= 4 and len(part) <= len(word) + 3 and part.endswith(word):
        return 0.7  # grade of tgrade
    if len(part) >= 4 and _same_root(word, part):
        return 0.75
    if len(word) >= 5 and len(part) >= 5 and misspelt(word, part):
        return 0.8
    if 3 <= len(part) <= 5 and len(word) >= 2 * len(part) - 1 and skeleton(word, part):
        return 0.6
    return 0.0


_WHOLE = frozenset(
    "age sex day arm eye ear lab leg pen net bed gas ion oil egg cat cow hen pot plot site ward pain fat".split()
)
"""Short names that are words already, and no beginning of longer ones."""


def same_meaning(word: str, part: str) -> bool:
    """Say whether a word and a part of a name are everyday synonyms."""
    groups = _groups(word)
    forms = {part, part.removesuffix("s")}
    forms |= {f"{form[:-1]}o" for form in forms if form.endswith("a")}  # `vacunada` of a cow is `vacunado`
    if any(forms & group for group in groups):
        return True
    # `photother` for light therapy; `female` is no short form of females, which stands beside men for the sex
    return len(part) >= CUT and any(
        other.startswith(part) and other.removesuffix("s") != part for group in groups for other in group
    )


def _groups(word: str) -> Sequence[frozenset[str]]:
    return synonyms().get(word) or (synonyms().get(word[:-1]) if word.endswith("s") else None) or ()


@functools.lru_cache(maxsize=5_000)
def meanings(word: str) -> frozenset[str]:
    """Return the words that mean about the same as one."""
    return frozenset[str]().union(*_groups(word))


CUT = 6
"""From so many letters on the beginning of a term stands for it."""
BEGINS = 8
"""Longer words may begin with a term of several letters: German compounds."""
_DERIVED = re.compile(r"(?:ic|ical|y|ies|ia|ity|ous|osis|otic|es|etic|ance|ant|ent|ency|ancy|ion|ive|ism|ist|al|e)$")
"""Endings by which nouns and adjectives of one word differ: `atopic` and `atopy`, `anaemic` and `anaemia`."""


def _same_root(word: str, part: str) -> bool:
    shared = next((at for at, (a, b) in enumerate(zip(word, part, strict=False)) if a != b), min(len(word), len(part)))
    if shared >= 5 and shared >= 0.6 * max(len(word), len(part)):
        return True
    root = _DERIVED.sub("", word)
    return len(word) >= 5 and len(root) >= 4 and root == _DERIVED.sub("", part)


def skeleton(word: str, part: str) -> bool:
    """Say whether a short part has the consonants of a word in order: trt for treatment, wght for weight."""
    if word[0] != part[0] or any(letter in "aeiou" for letter in part[1:]):
        return False
    letters = iter(word)
    consonants = [letter for letter in word if letter not in "aeiou"]
    return all(letter in letters for letter in part) and (
        part[-1] == consonants[-1] or word.replace("y", "").startswith(part) or "".join(consonants).startswith(part)
    )


@functools.lru_cache(maxsize=5_000)
def compound(part: str) -> tuple[str, ...]:
    """Return the two words a part is grown together of, as in `bodyweight`, `bwt` or `Behandlungsgruppe`; else the part itself."""
    known = synonyms(("synonyms.tsv",))
    if _WEIGHT.fullmatch(part):
        return (part[:-2], part[-2:])
    if len(part) < 8 or not part.isalpha() or part in known:
        return (part,)
    for at in range(4, len(part) - 3):
        head, tail = part[:at], part[at:]
        if tail in known and any(form in known for form in (head, *(head.removesuffix(e) for e in _LINKS))):
            return (head, tail)
    return (part,)


_WEIGHT = re.compile(r"[^\Waeiou\d_]{1,2}wt")
"""`bwt`, `lwt`: whose weight it is by a letter."""
_LINKS = ("s", "n", "en", "es", "e")
"""What German puts between the words of a compound (Fugenelemente)."""
