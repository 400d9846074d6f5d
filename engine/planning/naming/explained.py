"""What a question itself says that codes and letters stand for: `geno 1 is wild, 2 is mutant`, `T = new drug`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import permutations

from engine.domain.profile import ColumnProfile, Structure
from engine.planning.naming.mention import SURE, ColumnMention
from engine.text.numbers import as_number
from engine.text.stems import stem
from engine.text.stopwords import STOP
from engine.text.tokens import Token, tokens

_MEANS = re.compile(
    r"(?<![\w.])(?P<code>-?\d{1,3})\s*(?:=|\bis\b|\bare\b|\bmeans?\b|\bstands? for\b)\s*(?:the\s+|an?\s+)?(?P<said>[A-Za-z][\w-]{2,})(?P<more>(?: [A-Za-z][\w-]{2,}){0,2}(?=\s*(?:[,.;)]|$)))?"
)
_IN_BRACKETS = (
    re.compile(r"(?P<said>[A-Za-z][\w-]{2,})\s*\(\s*(?P<code>-?\d{1,2})\s*\)"),
    re.compile(
        r"(?:[(,:=]|\b(?:is|are|and|or))\s*(?P<code>\d{1,2})\s+(?P<said>[A-Za-z][\w-]{2,})\s*(?=[,).;]|$|\s(?:and|or)\s+\d)"
    ),
)
"""`benign (2)` and `(1 malignant, 2 benign)`: here the word itself is the level's name in this question."""
_SET_APART = re.compile(
    r"(?P<said>[A-Za-z][\w-]{2,})\s*\(\s*(?P<column>[A-Za-z][\w.]*)\s*(?:==?|:|is)?\s*(?P<code>-?\d{1,2})\s*\)(?P<between>[^().;:?!]{1,40}?)"
    r"\b(?P<other>[A-Za-z][\w-]{2,})\s*\(\s*(?:(?P=column)\s*(?:==?|:|is)?\s*)?(?P<code_2>-?\d{1,2})\s*\)"
)
"""`hay (feed=1) vs silage (2)`: two codes of a column with the words for them, set against each other."""


def codes_explained(
    words: Sequence[Token], columns: Sequence[ColumnProfile], named: Sequence[ColumnMention], text: str
) -> list[ColumnMention]:
    """Return the words that the question itself says codes stand for: `geno 1 is wild, 2 is mutant ... does the mutant`."""
    by_name = {column.name: column for column in columns}
    found = _set_apart(words, columns, text)
    column = None
    found_all = (m for form in (_MEANS, _IN_BRACKETS[0]) for m in form.finditer(text))
    matches = sorted([*found_all, *_lists_of_codes(text)], key=lambda m: m.start())
    more_than_one = Counter(stem for m in matches if m.re is _MEANS for stem in {*_stems(m["more"] or "")})
    codes = {float(match["code"]) for match in matches}
    able = [
        c for c in columns if 2 <= len(c.levels) <= 6 and len(codes) > 1 and codes <= {as_number(v) for v in c.levels}
    ]
    only = able[0] if len(able) == 1 else None
    for match in matches:
        before = [m for m in named if not m.level and 0 <= match.start() - words[m.last].end < 25]
        column = by_name.get(max(before, key=lambda m: m.last).column) if before else column or only
        if column is not None and not any(as_number(v) == float(match["code"]) for v in column.levels):
            column = only
        level = next((v for v in column.levels if as_number(v) == float(match["code"])), None) if column else None
        said = [at for at, token in enumerate(words) if token.start == match.start("said")]
        if column is None or level is None or not said or words[said[0]].text in STOP:
            continue
        more = _stems(match["more"] or "") if match.re is _MEANS else []
        meaning = {words[said[0]].stem, *(stem for stem in more if more_than_one[stem] == 1)} - _ANY_GROUP
        told = [at for at, t in enumerate(words) if match.start() <= t.start < match.end()]
        found += [
            ColumnMention(column.name, level, at, at, 0.9)
            for at, t in enumerate(words)
            if t.stem in meaning and (at not in told or match.re is not _MEANS)
        ]
    return found + _letters_explained(words, columns, text)


_ANY_GROUP = frozenset(
    map(
        stem, "group groups arm arms animals patients people subjects mice rats cases samples ones level levels".split()
    )
)


def _stems(text: str) -> list[str]:
    return [token.stem for token in tokens(text) if token.text not in STOP]


def _lists_of_codes(text: str) -> list[re.Match[str]]:
    """Return the codes with their words in brackets, or of a list of two or more: `is 1 hay, 2 silage, 3 straw`."""
    runs: list[list[re.Match[str]]] = []
    for match in _IN_BRACKETS[1].finditer(text):
        if runs and runs[-1][-1].end() == match.start():
            runs[-1].append(match)
        else:
            runs.append([match])
    return [match for run in runs if len(run) > 1 or run[0][0].startswith("(") for match in run]


def _set_apart(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[ColumnMention]:
    """Return two codes that stand in brackets behind the words for them, and these words wherever they stand."""
    found: list[ColumnMention] = []
    for match in _SET_APART.finditer(text):
        column = next((c for c in columns if c.name.lower() == match["column"].lower()), None)
        for said, code in (("said", "code"), ("other", "code_2")) if column is not None else ():
            level = next((v for v in column.levels if as_number(v) == float(match[code])), "") if column else ""
            meaning = {word.stem for word in words if word.start == match.start(said)}
            there = [n for n, w in enumerate(words) if w.stem in meaning or w.start == match.start(code)]
            found += [ColumnMention(column.name, level, n, n, 0.95) for n in there] if column and level else []
    return found


LETTERS = re.compile(
    r"(?<![\w.])(?P<code>[A-Za-z]{1,4}\d?)\s*=\s*(?:the\s+|an?\s+)?(?P<said>[A-Za-z][\w-]+(?:\s+[a-z][\w-]+){0,2})"
)
_LETTERS_AFTER = re.compile(r"(?P<said>[A-Za-z][\w-]+)\s+\((?P<code>[A-Z]{1,3}\d?)\)")


_CUT_TOLD = re.compile(
    r"\b(?P<said>[A-Za-z][\w-]*)\s*(?:=|is|means)\s*"
    r"(?:(?:[<>]=?|[≤≥]|at (?:least|most)|above|over|below|under|(?:more|less) than)\s*\d[\d.,]*|"
    r"\d[\d.,]*\s*(?:[A-Za-zµ%/]+\s+)?(?:or|and)\s+(?:more|above|over|higher|up|less|below|lower|under|fewer)\b)",
    re.IGNORECASE,
)


def without_cuts_told(mentions: Sequence[ColumnMention], words: Sequence[Token], text: str) -> list[ColumnMention]:
    """Return the mentions without words that are explained by a number: the positive of `positive = 20 or more` is no level."""
    told = {match.start("said") for match in _CUT_TOLD.finditer(text)}
    return [m for m in mentions if not (m.level and words[m.first].start in told)]


def letters_told(text: str, columns: Sequence[ColumnProfile]) -> dict[str, dict[str, str]]:
    """Return column -> level -> what the question says it stands for: `T = new drug, C = control`, `malignant (M)`.

    Two or more short levels of the only column that has them all; numbers are read by `codes_explained`.
    """
    told = {match["code"]: match["said"] for form in (LETTERS, _LETTERS_AFTER) for match in form.finditer(text)}
    able = [column for column in columns if len(told) > 1 and told.keys() <= column.levels.keys()]
    if able and told.keys() <= able[0].codes.keys():
        return {}  # a legend says it better than the last word before a bracket
    return {able[0].name: told} if len(able) == 1 else {}


def _letters_explained(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[ColumnMention]:
    """Return the places of levels that the question explains, and of the words that only one of them stands for."""
    found: list[ColumnMention] = []
    for column, told in letters_told(text, columns).items():
        stems = {level: {t.stem for t in tokens(said) if t.text not in STOP} for level, said in told.items()}
        for at, word in enumerate(words):
            written = text[word.start : word.end]
            if written in told and re.match(r"\s*[=)]", text[word.end :]):
                found.append(ColumnMention(column, written, at, at, 0.95))
            elif len(meant := [level for level, own in stems.items() if word.stem in own]) == 1:
                found.append(ColumnMention(column, meant[0], at, at, 0.85))
    return found


def without_ends_told(
    mentions: list[ColumnMention], words: list[Token], question: str, structure: Structure
) -> list[ColumnMention]:
    """Return the mentions without those that only tell where a course stands that is named before: `Columns Krea_T0 to T7`."""
    told = set[int]()
    for match in COLUMNS_TOLD.finditer(question):
        there = [m for m in mentions if match.start() <= words[m.first].start < match.end() and not m.level]
        for one, other in permutations([m for m in there if m.strength >= SURE], 2):
            between = question[words[one.last].end : words[other.first].start]
            course = next(
                ({*w.columns} for w in structure.wide if {one.column, other.column} <= {*w.columns}), set[str]()
            )
            named = any({m.column, *m.rivals} & course for m in mentions if m not in there)
            if named and len(course) > 2 and _UP_TO.fullmatch(between):
                told |= {at for at, word in enumerate(words) if match.start() <= word.start < match.end()}
    return [m for m in mentions if not told & {*range(m.first, m.last + 1)}]


COLUMNS_TOLD = re.compile(r"(?<=[.;?!] )columns?\b[^;?!]*?(?=[.;?!](?:\s|$)|$)", re.IGNORECASE)
"""A sentence that only tells in which columns something stands."""
_UP_TO = re.compile(r"\s*(?:to|through|until|till|bis|[-–]|\.\.\.?)\s*", re.IGNORECASE)


def counted_among(mentions: list[ColumnMention], words: list[Token], question: str) -> list[ColumnMention]:
    """Return the mentions with the column of a level whose number stands in a list of columns: `age, weight and number of women`."""
    columns = [m.first for m in mentions if not m.level]
    return [
        m._replace(level="")
        if m.level
        and _NUMBER_OF.search(question[: words[m.first].start])
        and sum(at < m.first for at in columns) >= _LISTED
        else m
        for m in mentions
    ]


_NUMBER_OF = re.compile(
    r"(?:,|\band)\s+(?:the\s+)?(?:numbers?|no\.?|share|percentage|proportion|%)\s+of\s+(?:the\s+)?$", re.IGNORECASE
)
_LISTED = 2
