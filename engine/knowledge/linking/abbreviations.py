"""Abbreviations a text defines for itself: `rheumatoid arthritis (RA)` makes `RA` that disease in all of the text.

Whether a short form fits a long one is decided as by Schwartz and Hearst (2003, Pacific Symposium on Biocomputing
8:451): its characters occur in the long form in their order, the first at the beginning.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace

from engine.knowledge.linking.guards import is_of_a_thing
from engine.knowledge.linking.scores import Entry, Hit

_INTRODUCED = (
    r"(?:hereafter|henceforth|abbreviated(?:\s+(?:as|to))?|or|also|called|termed|known\s+as|referred\s+to\s+as)"
)
_SHORT = r"([A-Za-z][\w-]{1,9})"
_OPENS = re.compile(r"[(\[]")
_INSIDE = re.compile(
    rf"\s*(?:{_INTRODUCED},?\s+)?[\"'\u201c\u2018]?{_SHORT}[\"'\u201d\u2019]?\s*(?:[,;][^()\[\]]*)?[)\]]"
)
_SAID = re.compile(r",?\s+(?:hereafter|henceforth|abbreviated(?:\s+as)?)\s+([A-Z][A-Za-z0-9-]{1,9})\b")
_SHORT_BEFORE = re.compile(rf"(?<![\w-]){_SHORT}\s?$")
_MODIFIERS = re.compile(
    r"\b(?:(?:metastatic|advanced|early|late|adult|childhood|pediatric|paediatric|active|severe|established|recurrent|human|mouse|"
    r"murine|recombinant|sporadic|familial|primary|localized)\s+)$",
    re.IGNORECASE,
)
_NO_MOLECULE = re.compile(
    r"(?:graphy|scopy|metry|tomy|ing|ment|ness|analysis|analyses|test|tests|medium|media|failure|study|studies|trial|score|scale|index|"
    r"ratio|rate|pressure|volume|group|groups|method|algorithm|model|models|cells|patients|atrium|ventricle|artery|valve|vein|count|"
    r"time|dose|level|average|deviation|error|network|learning|imaging|database|hospital|university|institute|unit|range|"
    r"interval|care|infection|injury|syndrome|disease|disorder|software|platform|interface|standard|program|programme|registry)",
    re.IGNORECASE,
)
WHY = "abbreviation defined in the text"


@dataclass(frozen=True, slots=True)
class _Definition:
    place: int
    """Where it stands in the text."""
    entries: tuple[Entry, ...]
    """What it means; nothing when it means something that is no entity."""


def with_abbreviations(text: str, hits: list[Hit]) -> list[Hit]:
    """Return the hits with every defined short form as what the text defined it to be."""
    defined = _definitions(text, hits)
    if not defined:
        return hits
    added: list[Hit] = []
    replaced: set[tuple[int, int]] = set()
    shorts = "|".join(re.escape(short) for short in sorted(defined, key=len, reverse=True))
    for found in re.finditer(rf"(?<![\w-])({shorts})(s?)(?!\w)", text):
        known = defined[found.group(1)]
        place = bisect_right([d.place for d in known], found.start())
        meant = known[max(0, place - 1)]
        replaced |= {found.span(), found.span(1)}
        if meant.entries and not is_of_a_thing(text, *found.span(1), found.group(1), common=False):
            added.append(Hit(found.start(), found.end(), meant.entries, 0.9, exact=True))
    return [hit for hit in hits if (hit.start, hit.end) not in replaced] + added


def _definitions(text: str, hits: list[Hit]) -> dict[str, list[_Definition]]:
    after, before = _candidates(text)
    defined: defaultdict[str, list[_Definition]] = defaultdict(list)
    if not after and not before:
        return defined
    by_end, by_start = _longest(hits)
    for place, short in after:
        hit = by_end.get(place)
        if hit is not None and _means(text, short, hit):
            defined[short].append(_Definition(place, _as_defined(hit)))
        elif _no_entity(text[max(0, place - 90) : place], short, hit):
            defined[short].append(_Definition(place, ()))
    for start, place, short in before:
        hit = by_start.get(place)
        if hit is not None and text[hit.end : hit.end + 1] in {")", "]"} and _means(text, short, hit):
            defined[short].append(_Definition(start, _as_defined(hit)))
    for definitions in defined.values():
        definitions.sort(key=lambda d: d.place)
    return defined


def _longest(hits: list[Hit]) -> tuple[dict[int, Hit], dict[int, Hit]]:
    """Return end -> the longest hit that ends there, and start -> the longest that starts there."""
    by_end: dict[int, Hit] = {}
    by_start: dict[int, Hit] = {}
    for hit in hits:
        if hit.end not in by_end or by_end[hit.end].start > hit.start:
            by_end[hit.end] = hit
        if hit.start not in by_start or by_start[hit.start].end < hit.end:
            by_start[hit.start] = hit
    return by_end, by_start


def _candidates(text: str) -> tuple[list[tuple[int, str]], list[tuple[int, int, str]]]:
    """Return (end of the long form, short form) of `long (short)`, and (start, start of the long form, short form)."""
    after: list[tuple[int, str]] = []
    before: list[tuple[int, int, str]] = []
    for bracket in _OPENS.finditer(text):
        place = bracket.start()
        inside = _INSIDE.match(text, place + 1)
        if inside is not None:
            after.append((place - 1 if text[max(0, place - 1) : place].isspace() else place, inside.group(1)))
            continue
        ahead = _SHORT_BEFORE.search(text[max(0, place - 14) : place])
        if ahead is not None:
            before.append((place, place + 1, ahead.group(1)))
    if "hereafter" in text or "henceforth" in text or "abbreviated" in text:
        after.extend((found.start(), found.group(1)) for found in _SAID.finditer(text))
    capital = re.compile(r"[A-Z]").search
    return [a for a in after if capital(a[1])], [b for b in before if capital(b[2])]


def _as_defined(hit: Hit) -> tuple[Entry, ...]:
    return tuple(replace(entry, how=WHY) for entry in hit.entries)


def _means(text: str, short: str, hit: Hit) -> bool:
    long = text[hit.start : hit.end]
    if not any(c.isupper() for c in short) or len(long) < 5 or len(long) < len(short) * 1.6:
        return False
    if fits(short, long):
        return True
    more = _MODIFIERS.search(text[max(0, hit.start - 16) : hit.start])
    return more is not None and fits(short, more.group() + long)


def fits(short: str, long: str) -> bool:
    """Say whether a short form's characters occur in a long form in order, its first at the very beginning."""
    letters = [c for c in short.lower() if c.isalnum()]
    spelt = long.lower()
    if not letters or not spelt.startswith(letters[0]):
        return False
    place = len(spelt)
    for letter in reversed(letters[1:]):
        place = spelt.rfind(letter, 1, place)
        if place < 1:
            return False
    return True


def _no_entity(before: str, short: str, hit: Hit | None) -> bool:
    """Say whether the words before a bracket spell the short form out as something that is no gene, drug or disease.

    Only the last word can tell: `epidermal growth factor receptor (EGFR)` is a gene though the graph may not know the
    name, `computed axial tomography (CAT)` is none.
    """
    if hit is not None or not short.isupper():
        return False
    words = re.split(r"\s+", re.split(r"[.;:()\[\]]", before)[-1].strip())
    if not words or not re.search(rf"(?:{_NO_MOLECULE.pattern})$", words[-1], re.IGNORECASE):
        return False
    most = min(len(short) + 5, 2 * len(short))
    return any(fits(short, " ".join(words[-count:])) for count in range(1, min(most, len(words)) + 1))
