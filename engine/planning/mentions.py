"""Which columns and levels the words of a question name: each with its words and a strength.

Levels are compared within their column, so that of `Gentoo penguin` and `Adelie penguin` the second word tells nothing. A bare
number or a single letter is a level only beside its column's name or unit, or in a row that only one column has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from engine.domain.profile import ColumnProfile
from engine.planning.names import UNITS, Name, alike, same_meaning
from engine.planning.numbers import CUT_AFTER
from engine.text.names import name_parts, name_pieces
from engine.text.negation import NEGATORS
from engine.text.numbers import CARDINALS, as_number
from engine.text.stopwords import STOP
from engine.text.times import time_unit
from engine.text.tokens import Token, tokens

SURE = 0.8
"""From this strength on a mention needs no confirmation."""
SURE_NAME = 0.97
"""From this strength on a name is a column's or level's own."""
LIKELY = 0.5
"""Below this a mention is not considered."""
_LONGEST = 6


class Mention(NamedTuple):
    """Words of the question that name a column, or a level of one."""

    column: str
    level: str
    """"" for the column itself."""
    first: int
    last: int
    """Token positions, both included."""
    strength: float
    file: str = ""
    rivals: tuple[str, ...] = ()
    """Other columns (or levels) that these words name as well."""
    negated: bool = False

    @property
    def width(self) -> int:
        """How many tokens it covers."""
        return self.last - self.first + 1


def column_mentions(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[Mention]:
    """Return every window of words that names a column, all candidates; overlaps are settled by the reader."""
    weights = Counter(part for column in columns for part in {*name_parts(column.name), *name_pieces(column.name)})
    spaced = _before_and_after([column.name for column in columns])
    names = [(Name(spaced.get(column.name, column.name), weights, units=True), column) for column in columns]
    found: dict[tuple[int, int], list[tuple[float, str]]] = {}
    literal = [m for column in columns for m in _literally(words, column.name, text)]
    for name, column in names:
        for first, last in _windows(words, text, max(2, min(_LONGEST, len(name.parts) + 2, max(len(name.whole), 2)))):
            window = words[first : last + 1]
            if any(word.text in _JOINS and word.text not in name.parts for word in window[1:-1]):
                continue  # `mother's age and weight` are two
            if len(window) == 1 and (
                window[0].text in STOP or (window[0].number is not None and name.text != window[0].text)
            ):
                continue
            strength = name.strength(window)
            if strength < SURE_NAME and len(window) == 1 and _whose(window[0], column):
                continue  # `white mothers` are whom it is about, not their age in `mother_age`
            if column.distinct == 1 and strength < SURE_NAME:
                continue  # the same in all rows: only meant where it is called by its name
            if strength >= LIKELY and not (len(window) == 1 and len(window[0].text) == 1 and strength < 1):
                found.setdefault((first, last), []).append((round(strength, 3), column.name))
    rest = [_best(first, last, able) for (first, last), able in found.items()]
    rest += _shared(words, rest, names)
    return literal + [m for m in rest if not any(m.first <= other.last and other.first <= m.last for other in literal)]


def _shared(
    words: Sequence[Token], found: Sequence[Mention], names: Sequence[tuple[Name, ColumnProfile]]
) -> list[Mention]:
    """Return what a second noun names together with the first one's beginning: the weight in `mother's age and weight`."""
    extra = []
    for mention in (m for m in found if m.width > 1 and m.strength >= SURE):
        at = mention.last + 2
        if at < len(words) and words[at - 1].text in _JOINS and words[at].text not in STOP:
            window = [*words[mention.first : mention.last], words[at]]
            able = [(round(name.strength(window), 3), column.name) for name, column in names]
            best = _best(at, at, able)
            if best.strength >= SURE and best.column != mention.column and not best.rivals:
                extra.append(best)
    return extra


_JOINS = frozenset({"and", "or"})


def _whose(word: Token, column: ColumnProfile) -> bool:
    """Say whether a word for persons is only whose measurement a column holds."""
    parts = name_parts(column.name)
    one = word.text.removesuffix("s")
    return word.text.endswith("s") and one in PERSONS | FAMILY and one in parts[:-1] and column.scale in _MEASURED


FAMILY = frozenset("mother father parent child baby infant newborn sibling".split())
_MEASURED = ("number", "count", "share")


def _before_and_after(names: Sequence[str]) -> dict[str, str]:
    """Return names such as `Prewt` and `Postwt` with their first part cut off, where both are there."""
    found = {name.lower(): re.fullmatch(r"(pre|post)([a-z]{2,})", name.lower()) for name in names}
    rests = Counter(match[2] for match in found.values() if match)
    return {name: f"{match[1]} {match[2]}" for name in names if (match := found[name.lower()]) and rests[match[2]] == 2}


def _literally(words: Sequence[Token], name: str, text: str, column: str = "") -> list[Mention]:
    """Return the places where a name of several parts stands as it is written in the file: `perim_ch_1`, `PT+CBT`."""
    if len(name_parts(name)) < 2:
        return []
    found = []
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
        inside = [at for at, w in enumerate(words) if match.start() <= w.start and w.end <= match.end()]
        if inside:
            found.append(Mention(column or name, "", inside[0], inside[-1], 1.0))
    return found


def _windows(words: Sequence[Token], text: str, longest: int) -> list[tuple[int, int]]:
    return [
        (first, last)
        for first in range(len(words))
        for last in range(first, min(first + longest, len(words)))
        if (words[last].text not in STOP or last == first or _is_letter(words[last], text))
        and words[first].text not in _LEADS
        and not _splits(words, first, last)
        and not re.search(r"[,;:.?!]\s", text[words[first].start : words[last].start])
    ]


def _is_letter(word: Token, text: str) -> bool:
    """Say whether a small word is a letter that tells things apart: `reader A`."""
    return word.end - word.start == 1 and word.start > 0 and text[word.start].isupper() and word.text != "i"


_LEADS = frozenset({"since", "until"})
"""What a name goes on with and never begins with: `time since diagnosis`."""


def _splits(words: Sequence[Token], first: int, last: int) -> bool:
    """Say whether a window cuts a word such as `EXON12` in two; `Wk12` is a time and may be cut."""
    before = first > 0 and words[first - 1].end == words[first].start
    after = last + 1 < len(words) and words[last + 1].start == words[last].end
    near = [
        words[first - 1].text if before else "",
        words[last + 1].text if after else "",
        words[first].text,
        words[last].text,
    ]
    return (before or after) and not any(time_unit(word) for word in near if word)


def _best(first: int, last: int, able: list[tuple[float, str]]) -> Mention:
    able.sort(key=lambda item: -item[0])
    strength, column = able[0]
    rivals = tuple(name for other, name in able[1:] if other >= strength - 0.08)
    return Mention(column, "", first, last, strength, rivals=rivals)


def level_mentions(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[Mention]:
    """Return every window of words that names a level of a column (numbers and single letters are left to the reader)."""
    found: list[Mention] = []
    for column in columns:
        levels = [level for level in (column.order or list(column.levels)) if level]
        if not levels or column.scale in ("identifier", "date") or len(levels) > 60:
            continue
        weights = Counter(part for level in levels for part in set(name_parts(level)))
        found += _explained(words, column, text)
        for level in levels:
            if as_number(level.strip().lstrip("+-#")) is not None or not level.strip():
                continue
            found += _level(words, column, level, Name(level, weights, units=False), weights, text)
        literal = [m._replace(level=level) for level in levels for m in _literally(words, level, text, column.name)]
        longest = [m for m in literal if not any(_inside(m, other) for other in literal)]
        found = [m for m in found if not any(m.first <= o.last and o.first <= m.last for o in longest)] + longest
    return [m for m in found if not _names_a_test(m, words)]


def _names_a_test(mention: Mention, words: Sequence[Token]) -> bool:
    """Say whether words have no more of a level than its initials and call a test: `Welch's test` means no WT."""
    own = [word.text for word in words[mention.first : mention.last + 1]]
    after = [word.text for word in words[mention.last + 1 : mention.last + 2]]
    initials = len(own) > 1 and "".join(word[0] for word in own) == mention.level.lower()
    return initials and "test" in (own[-1], *after)


def _inside(mention: Mention, other: Mention) -> bool:
    return other.width > mention.width and other.first <= mention.first and mention.last <= other.last


_SET_AGAINST = re.compile(
    r"\b(?P<a>[a-z]{3,})\s+(?:[a-z]+\s+)?(?:vs?\.?|versus|against|than|compared (?:with|to)|and|or)\s+(?:the\s+|in\s+)?(?P<b>[a-z]{3,})",
    re.IGNORECASE,
)


def beginnings(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[Mention]:
    """Return two words set against each other whose beginnings are levels of one column: `upstream` and `downstream` for up, down."""
    found = []
    for match in _SET_AGAINST.finditer(text):
        at = [n for n, w in enumerate(words) if w.start in (match.start("a"), match.start("b"))]
        if len(at) != 2 or words[at[0]].stem == words[at[1]].stem:
            continue
        for column in columns:
            levels = {level.lower(): level for level in column.levels if level.isalpha() and len(level) < 5}
            pair = [next((levels[v] for v in levels if words[n].text.startswith(v)), "") for n in at]
            if 2 <= len(column.levels) <= 4 and all(pair) and pair[0] != pair[1]:
                found += [Mention(column.name, level, n, n, 0.8) for n, level in zip(at, pair, strict=True)]
    return found


_CODED = re.compile(r"([\w.+-]+)\s*[=:]\s*([\w.+-]+)")
_CODED_SHORT = re.compile(r"(?<![A-Za-z0-9])(\d)[ _-]?([A-Za-z]+)(?![A-Za-z0-9])")
"""`sex_1m_2f`"""


def _explained(words: Sequence[Token], column: ColumnProfile, text: str) -> list[Mention]:
    """Return the words that a column's name says its codes stand for: `drug` in `grp(1=drug 2=plac)`."""
    pairs = [(a, b) if a in column.levels else (b, a) for a, b in _CODED.findall(column.name)]
    short = _CODED_SHORT.findall(column.name)
    pairs += short if {code for code, _ in short} == set(column.levels) else []
    meaning = {said: code for code, said in pairs if code in column.levels}
    weights = Counter(part for said in meaning for part in set(name_parts(said)))
    return [
        mention._replace(level=code)
        for said, code in meaning.items()
        for mention in _level(words, column, said, Name(said, weights, units=False), weights, text)
    ]


def _level(
    words: Sequence[Token], column: ColumnProfile, level: str, name: Name, weights: Counter[str], text: str
) -> list[Mention]:
    if not name.parts:
        return []
    if len(level.strip()) == 1:  # never a letter by itself, but `women` where the levels are F and M
        meant = [
            at
            for at, w in enumerate(words)
            if len(w.text) > 2
            and w.text not in STOP | {"number"}
            and same_meaning(w.text, level.strip().lower())
            and "-" not in text[w.end : w.end + 1]  # `non-inferior`
        ]
        written = rf"\b(?:of|in|for|and|or|vs\.?|versus|against|than|only|type|group)\s+(?P<l>{re.escape(level.strip())})(?![\w'-])"
        if not level.strip().isupper() or level.strip() in "AI":  # no article ends a phrase: `heavier than those on a.`
            written = rf"\b(?:of|in|for|vs\.?|versus|against|than|with|on|to|from|type|group)\s+(?P<l>{re.escape(level.strip())})(?=\s*(?:[,.;:?!)]|$)|\s+(?:and|or|vs|versus|against)\b)"
        starts = {match.start("l") for match in re.finditer(written, text)}  # `the fresh weight of S`
        others = "|".join(re.escape(other.strip()) for other in column.levels if other != level)
        against = rf"(?<![\w'-])(?:(?:{others})\s+(?:vs\.?|versus|against|than)\s+(?P<l>{re.escape(level.strip())})|(?P<m>{re.escape(level.strip())})\s+(?:vs\.?|versus|against)\s+(?:{others}))(?![\w'-])"
        starts |= {
            match.start("l" if match["l"] else "m") for match in re.finditer(against, text)
        }  # `B versus A, adjusted`
        meant += [at for at, w in enumerate(words) if w.start in starts]
        return [Mention(column.name, level, at, at, 0.85) for at in meant]
    found = []
    denied = level.strip().lower().split()[0] in NEGATORS
    distinctive = [part for part in name.parts if weights[part] == 1 and len(part) >= 4]
    for first, last in _windows(words, text, min(_LONGEST, len(name.parts) + 1) + 1):
        window = words[first : last + 1]
        strength = name.strength(window)
        if len(window) == 1:
            strength = _one_word(window[0], level, name, strength, distinctive, text)
        glued = len(window) > 1 and window[-1].end - window[0].start == sum(len(word.text) for word in window)
        if glued and len(level) <= 3 and not time_unit(window[0].text) and not level.lower().startswith(window[0].text):
            continue  # `DESeq2` and `DUSP1` are names of their own, not D2 and D1
        if len(window) > 2 and _names_two(window, level, column):
            continue  # `rescue and KO` are two levels, and not the one called KO+rescue
        if denied and not any(word.text in NEGATORS or word.text.removesuffix("s") in _NO for word in window):
            continue  # `the detected ones` are not those `not detected`
        if (
            denied
            and len(window) == 1
            and window[0].text.removesuffix("s") in _NEGATIVE
            and any(same_meaning("positive", part) for part in name.parts[1:])
        ):
            strength = 0.8  # `negatives` for `not detected`
        if strength >= 0.6:
            found.append(Mention(column.name, level, first, last, round(strength, 3)))
    return found


def _names_two(window: Sequence[Token], level: str, column: ColumnProfile) -> bool:
    """Say whether words joined by `and` end in another level of the column."""
    joined = any(word.text in ("and", "or", "vs", "versus", "against", "than") for word in window[1:-1])
    others = {other.strip().lower() for other in column.levels if other != level}
    return joined and (window[-1].text in others or window[0].text in others)


_NEGATIVE = frozenset("negative neg absent undetected".split())


_NAME_LONG = 3
"""A level of more words than this is a remark or an explanation rather than a name."""


_SEVERAL = re.compile(r"\b(?:both|all|two|three|four|five|[2-9])\s+(?:of\s+)?(?:the\s+|these\s+)?$", re.IGNORECASE)


def _one_word(token: Token, level: str, name: Name, strength: float, distinctive: Sequence[str], text: str) -> float:
    """Return how surely a single word names a level, 0 where the word has another meaning."""
    word, written = token.text, text[token.start : token.end]
    if word in STOP and word != level.lower():
        return 0.0
    if word in _PLAIN_WORDS and not re.search(r"[=:'\"]\s*$", text[: token.start]):
        return 0.0  # `no p-values` names no level
    if word.removesuffix("s") in PERSONS and word not in name.parts:
        return 0.0  # `the patients` are no sites called Case
    if word.endswith("s") and word not in name.parts and _SEVERAL.search(text[: token.start]):
        return 0.0  # `both arms` are all levels, not the one called treatment
    if word == "test" == level.lower() and (token.start == 0 or written.islower()):
        return 0.0  # `Test every feature`: a verb, not the rows of a level so called
    remark = len(name.parts) > _NAME_LONG
    if remark and STOP & set(name.parts):
        return 0.0  # of `largest trial, check with Anna` one word is not enough
    if strength < SURE and any(alike(word, part) >= 0.8 for part in distinctive):
        strength = 0.8
    if strength < SURE and len(word) > 5 and not remark and any(same_meaning(word, part) for part in name.parts):
        strength = 0.8  # `knockout` for `Nlrp3KO`
    if len(level) <= 3 and strength < 0.97 and not same_meaning(word, level.lower()):
        # `the Swedish plants` for SW: a name, not any word that begins so
        proper = token.start > 0 and written[0].isupper() and not written.isupper() and len(word) >= 5
        return 0.8 if proper and level.isupper() and len(level) > 1 and word.startswith(level.lower()) else 0.0
    if len(level) <= 2 and written != level and strength >= 0.97:
        return 0.0  # `no`, `an`, `OJ`: short names count as written only
    return strength


def numbered_mentions(
    words: Sequence[Token], columns: Sequence[ColumnProfile], named: Sequence[Mention], text: str
) -> list[Mention]:
    """Return numbers and letters that are levels because their column's name, unit or kind stands beside them.

    `month 4`, `group 1 vs group 2`, `stages I and IV`, `day 664 and day 1004`, `patient 9`, `the fourth period`.
    """
    by_name = {column.name: column for column in columns}
    after: dict[int, list[tuple[str, float]]] = {}
    for mention in named:
        if not mention.level:
            for name in (mention.column, *mention.rivals):
                after.setdefault(mention.last + 1, []).append((name, mention.strength))
    for at, token in enumerate(words):
        unit = time_unit(token.text)
        for column in columns if unit else ():
            if unit in (time_unit(part) for part in name_parts(column.name + " " + column.unit)):
                after.setdefault(at + 1, []).append((column.name, 0.75))
    for at, token in enumerate(words[:-1]):
        if token.text in PERSONS and words[at + 1].number is not None and len(ids := _ids(columns)) == 1:
            after.setdefault(at + 1, []).append((ids[0], 0.8))
    heads = {m.first for m in named if not m.level and m.strength >= SURE}
    ends = _ends(words, by_name, named, text)
    found = [*_before(words, by_name, named, text), *_runs(words, columns, heads), *_measured(words, columns)]
    found = [m for m in found if not any(e.first <= m.first <= e.last for e in ends)]
    found += [*ends, *_at_a_time(words, columns)]
    for start, able in after.items():
        for name, strength in able:
            column = by_name.get(name)
            if column is not None and (column.levels or column.scale in ("number", "count", "ordered", "code")):
                found += _numbers_from(words, start, column, strength, text, heads - {start})
    numbered = {c.name for c in columns if c.scale in ("code", "identifier")}  # `patients 65 and over` is no patient 65
    return [m for m in found if m.column not in numbered or not CUT_AFTER.match(text[words[m.last].end :])]


_MEANS = re.compile(
    r"(?<![\w.])(?P<code>-?\d{1,3})\s*(?:=|\bis\b|\bare\b|\bmeans?\b|\bstands? for\b)\s*(?:the\s+|an?\s+)?(?P<said>[A-Za-z][\w-]{2,})"
)


_IN_BRACKETS = (
    re.compile(r"(?P<said>[A-Za-z][\w-]{2,})\s*\(\s*(?P<code>-?\d{1,2})\s*\)"),
    re.compile(r"[(,]\s*(?P<code>\d{1,2})\s+(?P<said>[A-Za-z][\w-]{2,})\s*(?=[,)])"),
)
"""`benign (2)` and `(1 malignant, 2 benign)`: here the word itself is the level's name in this question."""


def codes_explained(
    words: Sequence[Token], columns: Sequence[ColumnProfile], named: Sequence[Mention], text: str
) -> list[Mention]:
    """Return the words that the question itself says codes stand for: `geno 1 is wild, 2 is mutant ... does the mutant`."""
    by_name = {column.name: column for column in columns}
    found: list[Mention] = []
    column = None
    matches = sorted((m for form in (_MEANS, *_IN_BRACKETS) for m in form.finditer(text)), key=lambda m: m.start())
    codes = {float(match["code"]) for match in matches}
    able = [
        c for c in columns if 2 <= len(c.levels) <= 6 and len(codes) > 1 and codes <= {as_number(v) for v in c.levels}
    ]
    only = able[0] if len(able) == 1 else None
    for match in matches:
        before = [m for m in named if not m.level and 0 <= match.start() - words[m.last].end < 25]
        column = by_name.get(before[-1].column) if before else column or only
        if column is not None and not any(as_number(v) == float(match["code"]) for v in column.levels):
            column = only
        level = next((v for v in column.levels if as_number(v) == float(match["code"])), None) if column else None
        said = [at for at, token in enumerate(words) if token.start == match.start("said")]
        if column is None or level is None or not said or words[said[0]].text in STOP:
            continue
        meaning = words[said[0]].stem
        found += [
            Mention(column.name, level, at, at, 0.9)
            for at, t in enumerate(words)
            if t.stem == meaning and (at != said[0] or match.re is not _MEANS)
        ]
    return found + _letters_explained(words, columns, text)


LETTERS = re.compile(
    r"(?<![\w.])(?P<code>[A-Za-z]{1,4}\d?)\s*=\s*(?:the\s+|an?\s+)?(?P<said>[A-Za-z][\w-]+(?:\s+[a-z][\w-]+){0,2})"
)
_LETTERS_AFTER = re.compile(r"(?P<said>[A-Za-z][\w-]+)\s+\((?P<code>[A-Z]{1,3}\d?)\)")


def letters_told(text: str, columns: Sequence[ColumnProfile]) -> dict[str, dict[str, str]]:
    """Return column -> level -> what the question says it stands for: `T = new drug, C = control`, `malignant (M)`.

    Two or more short levels of the only column that has them all; numbers are read by `codes_explained`.
    """
    told = {match["code"]: match["said"] for form in (LETTERS, _LETTERS_AFTER) for match in form.finditer(text)}
    able = [column for column in columns if len(told) > 1 and told.keys() <= column.levels.keys()]
    return {able[0].name: told} if len(able) == 1 else {}


def _letters_explained(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[Mention]:
    """Return the places of levels that the question explains, and of the words that only one of them stands for."""
    found = []
    for column, told in letters_told(text, columns).items():
        stems = {level: {t.stem for t in tokens(said) if t.text not in STOP} for level, said in told.items()}
        for at, word in enumerate(words):
            written = text[word.start : word.end]
            if written in told and re.match(r"\s*[=)]", text[word.end :]):
                found.append(Mention(column, written, at, at, 0.95))
            elif len(meant := [level for level, own in stems.items() if word.stem in own]) == 1:
                found.append(Mention(column, meant[0], at, at, 0.85))
    return found


_YES, _NO = (
    frozenset("1 yes true y positive pos present ja oui si".split()),
    frozenset("0 no false n negative neg absent nein non".split()),
)
_SET_APART = re.compile(
    r"\s*(?:vs\.?|versus|against|compared (?:with|to)|than|relative to)\s+(?:the\s+)?(?:non|no|without|not)\b",
    re.IGNORECASE,
)
"""`smoker vs non smoker`: what goes before it is the state itself."""
_WHOM = re.compile(
    r"\s+(?:ones?|only|alone|cases?|groups?|patients?|people|persons?|subjects?|women|men|animals?|mice|samples?|rows)\b",
    re.IGNORECASE,
)
_AMONG = re.compile(
    r"(?:\bonly|\bjust|\bin|\bamong|\bfor|\bwithin|\bof|\bthe|\ball|^|[,:;(])\s*(?:the\s+)?$", re.IGNORECASE
)
_LACKS = re.compile(rf"(?<!and )(?<!or )(?<!/)\b(?:{'|'.join(NEGATORS)})[\s-]+(?:any\s+|the\s+)?$", re.IGNORECASE)


def states_meant(
    words: Sequence[Token], columns: Sequence[ColumnProfile], named: Sequence[Mention], text: str
) -> list[Mention]:
    """Return columns of yes and no that are said for one of the two: `in the benign ones`, `smokers only`, `without diabetes`.

    A dose of which nothing was given counts, too: `without inhibitor`.
    """
    by_name = {column.name: column for column in columns}
    found = _nothing_given(words, columns)
    for mention in named:
        column = by_name.get(mention.column)
        levels = {level.strip().lower(): level for level in column.levels} if column is not None else {}
        yes = next((levels[level] for level in levels if level in _YES), None)
        no = next((levels[level] for level in levels if level in _NO), None)
        if column is None or mention.level or no is None or mention.strength < 0.7:
            continue
        start, end = words[mention.first].start, words[mention.last].end
        lacks = _LACKS.search(text[:start])
        if lacks and (column.scale == "binary" or column.role("dose") >= LIKELY):
            first = next(at for at, word in enumerate(words) if word.end > lacks.start())
            found.append(Mention(column.name, no, first, mention.last, 0.9))
        elif (
            yes is not None
            and column.scale == "binary"
            and (_SET_APART.match(text[end:]) or (_WHOM.match(text[end:]) and _AMONG.search(text[:start])))
        ):
            found.append(Mention(column.name, yes, mention.first, mention.last, 0.9))
    return found


_NOT_GIVEN = re.compile(
    r"un(?:treated|sprayed|dosed|fertili[sz]ed|exposed|stimulated|supplemented|inoculated|irrigated|amended|drugged|challenged)"
)


def _nothing_given(words: Sequence[Token], columns: Sequence[ColumnProfile]) -> list[Mention]:
    """Return `unsprayed` and `untreated` as the zero of the only dose, where no level is called so."""
    zeros = [(c.name, v) for c in columns if c.role("dose") >= LIKELY for v in c.levels if as_number(v) == 0]
    here = [at for at, word in enumerate(words) if _NOT_GIVEN.fullmatch(word.text)]
    called = {level.lower() for column in columns for level in column.levels}
    return [Mention(*zeros[0], at, at, 0.9) for at in here if len(zeros) == 1 and words[at].text not in called]


_PLAIN_WORDS = frozenset("no yes not none with without".split())
PERSONS = frozenset(
    "patient subject animal person people individual participant volunteer donor mouse rat plant sample nr no number id".split()
)
"""Words that stand before the number of a row."""


def _ids(columns: Sequence[ColumnProfile]) -> list[str]:
    return [c.name for c in columns if c.scale in ("code", "identifier") and c.distinct > FEW_CODES]


FEW_CODES = 6


def _at_a_time(words: Sequence[Token], columns: Sequence[ColumnProfile]) -> list[Mention]:
    """Return `at nine months` and `after 24 h` as the level of the only column in that unit that has it."""
    found = []
    for at, token in enumerate(words[1:-1], 1):
        unit = time_unit(words[at + 1].text) or {"h": "hour", "d": "day"}.get(words[at + 1].text, "")
        if token.number is None or not unit or words[at - 1].text not in _AT:
            continue
        able = {
            c.name: level
            for c in columns
            if unit in map(time_unit, name_parts(f"{c.name} {c.unit}"))
            or (unit == "hour" and name_parts(c.name)[-1] == "h")
            for level in c.levels
            if as_number(level) == token.number
        }
        if len(able) == 1:
            (name, level), *_ = able.items()
            found.append(Mention(name, level, at, at + 1, 0.9))
    return found


def _measured(words: Sequence[Token], columns: Sequence[ColumnProfile]) -> list[Mention]:
    """Return numbers with a unit that only one column has, as its level: `at 2 mg only`, `100 mM salt`."""
    units = {c.name: {piece.lower() for piece in re.split(r"[_\s()\[\]./,]+", f"{c.name} {c.unit}")} for c in columns}
    found = []
    for at, token in enumerate(words[:-1]):
        unit = words[at + 1].text
        if token.number is None or unit not in UNITS or time_unit(unit):
            continue
        able = {c.name: v for c in columns if unit in units[c.name] for v in c.levels if as_number(v) == token.number}
        if len(able) == 1:
            (name, level), *_ = able.items()
            found.append(Mention(name, level, at, at + 1, 0.9))
    return found


def _before(
    words: Sequence[Token], by_name: dict[str, ColumnProfile], named: Sequence[Mention], text: str
) -> list[Mention]:
    """Return numbers that stand before their column: `fourth period`, `second drug`, `after 4 weeks of exposure`."""
    found = []
    for mention in named:
        before = words[mention.first - 1] if mention.first else None
        if before is None or mention.level:
            continue
        number = 2.0 if before.text == "second" else before.number
        # `after 4 weeks of exposure`, but not `at four monthly visits`
        unit = time_unit(words[mention.first].text) and mention.first > 1 and words[mention.first - 2].text in _AT
        for name in (mention.column, *mention.rivals):
            column = by_name.get(name)
            level = (
                next((v for v in column.levels if as_number(v) == number), None)
                if column and number is not None
                else None
            )
            said = text[before.start : before.end].lower()
            if level is not None and (unit or not (said.isdigit() or said in CARDINALS)):  # `two flowcells` are both
                found.append(Mention(name, level, mention.first - 1, mention.first - 1, 0.85))
    return found


_HIGHEST, _LOWEST = (
    frozenset("highest top maximum maximal largest biggest strongest".split()),
    frozenset("lowest smallest minimum".split()),
)
_LAST, _FIRST = frozenset("last final latest".split()), frozenset("first 1 earliest initial".split())
_AT_THE = re.compile(
    r"(?:^|\b(?:at|on|in|with|for|by|from|to|than|of|and|between|versus|vs\.?|against|minus|only))\s*(?:the\s+|its\s+|their\s+)?$",
    re.IGNORECASE,
)
_SOUGHT = re.compile(
    r"\s*(?:that|which|where|at which|still|not|without|with (?:an?|no)|to (?:have|show|give))\b", re.IGNORECASE
)
"""What follows a dose that is looked for: `the lowest dose that works` names no rows."""


def _of_two(column: ColumnProfile, said: Token) -> str:
    """Return the level of two numbers that is called low or high: `low nutrient plants` where nutrient is 1 or 8."""
    values = sorted((number, level) for level in column.levels if (number := as_number(level)) is not None)
    two = len(values) == len(column.levels) == 2 and {number for number, _ in values} != {0.0, 1.0}
    return {"low": values[0][1], "high": values[-1][1]}.get(said.text, "") if two else ""


def _ends(
    words: Sequence[Token], by_name: dict[str, ColumnProfile], named: Sequence[Mention], text: str
) -> list[Mention]:
    """Return `at the highest dose` and `on the last day` as the level at that end of a column of doses or times."""
    found = []
    for mention in (m for m in named if not m.level and m.first and m.first == m.last):
        column, said = by_name.get(mention.column), words[mention.first - 1]
        if column is not None and (level := _of_two(column, said)):
            found.append(Mention(column.name, level, mention.first - 1, mention.last, 0.9))
        if column is None or not _AT_THE.search(text[: said.start]) or _SOUGHT.match(text[words[mention.last].end :]):
            continue
        dosed, timed = column.role("dose") >= LIKELY, column.role("time") >= LIKELY
        values = sorted((number, level) for level in column.levels if (number := as_number(level)) is not None)
        given = [level for number, level in values if number > 0] if dosed else [level for _, level in values]
        top, bottom = (_HIGHEST, _LOWEST) if dosed else (_LAST, _FIRST)
        if len(values) < len(column.levels) or len(given) < 2 or not (dosed or timed):
            continue
        if said.text in top | bottom:
            level = given[-1] if said.text in top else given[0]
            found.append(Mention(column.name, level, mention.first - 1, mention.last, 0.9))
    return found


_AT = frozenset(["after", "at", "in", "on", "until", "by"])
_BETWEEN = frozenset(
    ["and", "or", "vs", "versus", "to", "against", "than", "with", "the", "from", "until", "nr", "no", "number"]
)


def _numbers_from(
    words: Sequence[Token], start: int, column: ColumnProfile, strength: float, text: str, heads: set[int]
) -> list[Mention]:
    found: list[Mention] = []
    spelled = 0 < start < len(words) and text[words[start].start : words[start].end].isalpha()
    if spelled and "," in text[words[start - 1].end : words[start].start]:
        return []  # `178 bottles, thirteen values each`: so many of something else
    levels = {level.strip().lower(): level for level in column.levels}
    numeric = {as_number(level): level for level in column.levels if as_number(level) is not None}
    at = start
    while at < len(words) and at < start + 9:
        token = words[at]
        number = token.number
        if number is not None and found and at + 1 < len(words) and at + 1 in heads:
            break  # `(d21), 4 diets`: so many of another column
        level = numeric.get(number) if number is not None else None
        if level is None and (len(token.text) <= 4 and token.text in levels):
            written = text[token.start : token.end]
            level = levels[token.text] if written == levels[token.text] or len(token.text) > 1 else None
        if level is None and number is not None and not column.levels and column.scale in ("code", "identifier"):
            known = column.minimum is None or column.minimum <= number <= (column.maximum or number)
            level = f"{number:.12g}" if known else None
        if level is not None:
            found.append(Mention(column.name, level, at, at, min(0.95, max(0.8, strength))))
        elif token.text not in _BETWEEN:
            if found or at > start + 1:
                break
            return []
        at += 1
    return found


def _runs(words: Sequence[Token], columns: Sequence[ColumnProfile], heads: set[int]) -> list[Mention]:
    """Return numbers in a row (`95, 96 and 97`, `1 vs 2`) that are levels of one column and of no other.

    A number before the name of a column is no part of a row: `(d21), 4 diets`.
    """
    found: list[Mention] = []
    run: list[int] = []
    for at in range(len(words) + 1):
        token = words[at] if at < len(words) else None
        if token is not None and token.number is not None and at + 1 not in heads:
            run.append(at)
        elif run and (token is None or token.text not in ("and", "or", "vs", "versus", "to", "against")):
            if len(run) > 1 and run[-1] - run[0] <= 2 * len(run):
                values = [words[n].number for n in run]
                able = [
                    c for c in columns if c.levels and all(any(as_number(v) == x for v in c.levels) for x in values)
                ]
                if len(able) == 1 and len(set(values)) > 1:
                    level = {as_number(v): v for v in able[0].levels}
                    found += [Mention(able[0].name, level[words[n].number], n, n, 0.8) for n in run]
            run = []
    return found


def find(text: str, columns: Sequence[ColumnProfile]) -> list[Mention]:
    """Return the mentions in a short text, overlaps settled, the strongest of each place; for clauses and tests."""
    words = tokens(text)
    named = column_mentions(words, columns, text)
    every = [*named, *level_mentions(words, columns, text), *numbered_mentions(words, columns, named, text)]
    return cover(every)


BESIDE = 0.12
"""What a level gains that stands beside the name of its own column: `PCR positive`, `a positive rapid test`."""


def beside_own(mentions: Sequence[Mention]) -> list[Mention]:
    """Return the mentions with levels that several columns have drawn to the column that is named beside them."""
    named = [m for m in mentions if not m.level and m.strength >= LIKELY]
    columns = {(m.first, m.last): {o.column for o in mentions if (o.first, o.last) == (m.first, m.last) and o.level} for m in mentions if m.level}  # fmt: skip

    def near(m: Mention) -> bool:
        shared = m.level and len(columns[m.first, m.last]) > 1
        return bool(shared) and any(
            n.column == m.column and (n.last + 1 == m.first or m.last + 1 == n.first) for n in named
        )

    own = {(m.first, m.last): m.column for m in mentions if near(m)}
    drawn = [m._replace(strength=min(1.0, m.strength) + BESIDE) if near(m) else m for m in mentions]
    return [m for m in drawn if not m.level or own.get((m.first, m.last), m.column) == m.column]


POLAR = frozenset("positive negative pos neg yes present absent high low true false abnormal normal".split())
"""Words for the two ends of any column: beside the name of one they are its own."""


def of_neighbours(mentions: Sequence[Mention], words: Sequence[Token]) -> list[Mention]:
    """Return the mentions with what is said of the column beside it: `week 12 SBP` is one, `a positive culture` no positive test."""
    named = [m for m in mentions if not m.level and m.strength >= LIKELY]

    def beside(m: Mention) -> set[str]:
        return {n.column for n in named if n.last + 1 == m.first or m.last + 1 == n.first}

    kept = []
    for m in mentions:
        near = beside(m)
        polar = m.level and words[m.first].text in POLAR
        others = near | {n.column for n in named if m.first < n.first <= m.last} if polar else set()
        if others and m.column not in others:
            continue
        own = [name for name in near if m.width == 1 and words[m.first].text in name_parts(name)]
        if not m.level and m.strength < SURE and m.column not in near and len(own) == 1:
            m = m._replace(column=own[0], rivals=())
        kept.append(m)
    return kept


def undosed(mentions: Sequence[Mention], words: Sequence[Token], columns: Sequence[ColumnProfile]) -> list[Mention]:
    """Return the 0 of `0, 10 and 20 mg` as the level without any, where a column has doses and a placebo."""
    found = []
    for at, word in enumerate(words):
        if word.number != 0:
            continue
        for column in columns:
            beside = {m.level for m in mentions if m.column == column.name and at < m.first <= at + 3}
            without = [v for v in column.levels if v.strip().lower() in _WITHOUT]
            if len(without) == 1 and any(re.match(r"[\d.]+", v) for v in beside):
                found.append(Mention(column.name, without[0], at, at, 0.8))
    return found


_WITHOUT = frozenset("placebo control vehicle none untreated veh ctrl sham".split())


def cover(mentions: Sequence[Mention]) -> list[Mention]:
    """Return the mentions of the best cover: no word is used twice, strong and long mentions win."""
    ordered = sorted(mentions, key=lambda m: (m.last, m.first))
    best: list[tuple[float, list[Mention]]] = [(0.0, [])]
    ends: list[int] = []
    for mention in ordered:
        before = sum(1 for end in ends if end < mention.first)
        taken = best[before][0] + mention.strength * (1 + 0.35 * (mention.width - 1)) - 0.3, [*best[before][1], mention]
        ends.append(mention.last)
        best.append(max(best[-1], taken, key=lambda item: item[0]))
    return sorted(best[-1][1], key=lambda m: m.first)
