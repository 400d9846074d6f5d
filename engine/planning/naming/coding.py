"""What a question says that codes stand for in yes and no: `both coded 1 = yes, 2 = no`, `(1 ill / 2 healthy)`, `2 is no`.

A 2 that means no turns every risk and every odds around; nothing in the file says so, only the person who asks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from engine.domain.profile import ColumnProfile
from engine.planning.naming.mention import ColumnMention
from engine.text.numbers import as_number
from engine.text.tokens import Token

_YES = (
    r"(?:yes|y|true|present|positive|exposed|ill|sick|diseased?|affected|infected|cases?|events?|treated|dead|died|happened|"
    r"occurred|users?)"
)
_NO = (
    r"(?:not?\b(?:[\s-]+(?:exposed|ill|sick|diseased|affected|infected|treated|an? event|an? case))?|n|false|absent|negative|"
    r"unexposed|healthy|well|unaffected|uninfected|controls?|none|never|untreated|alive|censored|non-?\w{3,})"
)
_CODE = r"(?<![\w.])-?\d{1,2}(?![\d.]*\d|\s*%)"
_IS = (
    r"(?:=|:|\bmeans?\b|\bmeaning\b|\bstands? for\b|\bfor\b|\bas\b|"
    r"\b(?:is|are|was|were)\b(?:\s+(?:coded|entered|recorded|scored))?(?:\s+(?:as|with|by))?|\bcoded(?:\s+as)?\b)"
)
_MEANT, _MEANS = (rf"(?:the\s+|an?\s+)?[\"'“]?(?:(?P<no{n}>{_NO})|(?P<yes{n}>{_YES}))(?!\w)[\"'”]?" for n in (1, 2))
_SAYS = re.compile(
    rf"(?P<code1>{_CODE})\s*(?P<is1>{_IS})?\s*{_MEANT}|\b{_MEANS}\s*(?P<is2>{_IS})?\s*(?P<code2>{_CODE})", re.IGNORECASE
)
_NEXT = re.compile(r"[\s,;/|&]*(?:(?:and|or|but|while)\s+)?", re.IGNORECASE)
_BEFORE = re.compile(
    r"[\s,;:(]*(?:(?:in|of)\s+)?(?:\b(?:both|all|each|they|which|where|with|codes?|columns?|variables?|of them)\b\s*)*"
    r"(?:\b(?:is|are|was|were)\b\s*)?(?:\b(?:coded|scored|recorded|entered|given)\b\s*)?(?:\b(?:as|with|by)\b\s*)?[:(\s]*$",
    re.IGNORECASE,
)
_LIST = re.compile(r"\s*(?:,|and|&|/|,\s*and|or)\s*", re.IGNORECASE)
_FOR = re.compile(r"\s*\)?\s*(?:for|in)\s+(?P<all>(?:both|all|each|every)\b\s*)?(?:of\s+)?(?:the\s+)?", re.IGNORECASE)
_ALL = re.compile(r"\b(?:both|all|each|every|they)\b", re.IGNORECASE)
_NEAR = 30
"""So many characters before the codes the column they belong to may stand."""


class Coding(NamedTuple):
    """What two codes stand for."""

    yes: str
    no: str


class StatedCoding(NamedTuple):
    """Statements that stand together, and the characters that hold them."""

    meant: dict[float, bool]
    start: int
    end: int


def _statements(text: str) -> list[StatedCoding]:
    """Return what is said of codes, statements of one breath together; a bare `2 no` counts only beside its opposite."""
    found: list[list[re.Match[str]]] = []
    for match in _SAYS.finditer(text):
        joined = found and _NEXT.fullmatch(text, found[-1][-1].end(), match.start())
        again = joined and float(match["code1"] or match["code2"]) in [
            float(m["code1"] or m["code2"]) for m in found[-1]
        ]
        if joined and not again:
            found[-1].append(match)
        else:
            found.append([match])
    said: list[StatedCoding] = []
    for block in found:
        meant = {float(m["code1"] or m["code2"]): bool(m["yes1"] or m["yes2"]) for m in block}
        told = all(m["is1"] or m["is2"] for m in block)
        if (told and len(set(meant.values())) == len(meant)) or set(meant.values()) == {True, False}:
            said.append(StatedCoding(meant, block[0].start(), block[-1].end()))
    return said


def _levels(column: ColumnProfile, meant: dict[float, bool]) -> Coding | None:
    """Return the levels that mean yes and no where the codes are those of the column."""
    codes = {level: as_number(level) for level in column.levels}
    if not 2 <= len(codes) <= 4 or not set(meant) <= set(codes.values()):
        return None
    told = {level: meant[code] for level, code in codes.items() if code in meant}
    left = [level for level in codes if level not in told]
    if len(told) == 1 and len(left) == 1:
        told[left[0]] = not next(iter(told.values()))
    yes, no = ([level for level, value in told.items() if value is wanted] for wanted in (True, False))
    return Coding(yes[0], no[0]) if len(yes) == len(no) == 1 else None


def codings(
    text: str, words: Sequence[Token], mentions: Sequence[ColumnMention], columns: Sequence[ColumnProfile]
) -> tuple[dict[str, Coding], list[tuple[int, int]]]:
    """Return column -> what its codes stand for, and the characters that say so.

    A statement belongs to the columns that stand right before it or follow it (`in both`); where none does, or it is said of
    all of them, to every column that is named and has these codes.
    """
    found: dict[str, Coding] = {}
    spans: list[tuple[int, int]] = []
    for said in _statements(text):
        able = {c.name: coding for c in columns if (coding := _levels(c, said.meant))}
        named = [m for m in mentions if not m.level and m.column in able]
        own, start = _belongs(text, words, named, said)
        everywhere = [m.column for m in named] or list(able)
        picked = {name: able[name] for name in own or everywhere}
        if picked:
            found |= {name: coding for name, coding in picked.items() if own or name not in found}
            spans.append((start, said.end))
    return found, spans


def _belongs(
    text: str, words: Sequence[Token], named: Sequence[ColumnMention], said: StatedCoding
) -> tuple[list[str], int]:
    """Return the columns beside a statement, none where it is said of all, and where the words that lead to it begin."""
    after = _FOR.match(text, said.end)
    if after and (listed := _run([m for m in named if words[m.first].start >= after.end()], words, text, after.end())):
        return listed, said.start
    before = [m for m in named if words[m.last].end <= said.start]
    near = words[before[-1].last].end if before else 0
    lead = _BEFORE.search(text, near, said.start)
    start = lead.start() if lead else said.start
    gap = text[near : said.start]
    everyone = (after and after["all"]) or _ALL.search(gap)
    if not before or everyone or len(gap) > _NEAR or re.search(r"[.?!;]", gap):
        return [], start
    found = [before[-1]]
    for mention in reversed(before[:-1]):
        if not _LIST.fullmatch(text, words[mention.last].end, words[found[-1].first].start):
            break
        found.append(mention)
    return [m.column for m in found], start


def _run(named: Sequence[ColumnMention], words: Sequence[Token], text: str, at: int) -> list[str]:
    """Return the columns listed from a place on."""
    found: list[str] = []
    for mention in named:
        start = words[mention.first].start
        if start != at and not (found and _LIST.fullmatch(text, at, start)):
            break
        found.append(mention.column)
        at = words[mention.last].end
    return found
