"""Which columns the words of a question name, whole, in part or together with what stands beside them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from itertools import product

from engine.domain.profile import ColumnProfile
from engine.planning.naming.lexicon import same_meaning
from engine.planning.naming.mention import FAMILY, LIKELY, LONGEST, NO, PERSONS, SURE, SURE_NAME, YES, ColumnMention
from engine.planning.naming.names import INITIALS, Name
from engine.planning.naming.numbers import CUT_AFTER
from engine.text.names import name_parts, name_pieces
from engine.text.negation import NEGATORS
from engine.text.stems import stem
from engine.text.stopwords import STOP
from engine.text.times import time_unit
from engine.text.tokens import Token


def column_mentions(words: Sequence[Token], columns: Sequence[ColumnProfile], text: str) -> list[ColumnMention]:
    """Return every window of words that names a column, all candidates; overlaps are settled by the reader."""
    called = [(name, column) for column in columns for name in (column.name, column.label) if name]
    weights = Counter(part for name, _ in called for part in {*name_parts(name), *name_pieces(name)})
    spaced = _before_and_after([column.name for column in columns])
    names = [(Name(spaced.get(name, name), weights, units=True), column) for name, column in called]
    whole = {name.whole for name, _ in names if len(name.whole) > 2}
    found: dict[tuple[int, int], dict[str, float]] = {}
    literal = [m for column in columns for m in literally(words, column.name, text)]
    for name, column in names:
        for first, last in windows(words, text, max(2, min(LONGEST, len(name.parts) + 2, max(len(name.whole), 2)))):
            window = words[first : last + 1]
            if any(word.text in _JOINS and word.text not in name.parts for word in window[1:-1]):
                continue  # `mother's age and weight` are two
            if len(window) == 1 and window[0].text in NEGATORS and window[0].text not in name.parts:
                continue  # `without` is no name for NO3
            if len(window) == 1 and (_no_name(window[0], name, text) or _groups_of(words, first, name)):
                continue
            if window[-1].number is not None and CUT_AFTER.match(text, window[-1].end):
                continue  # `score 3 or more` is no score of day 3
            strength = name.strength(window)
            others = whole - {name.whole} if strength == INITIALS else set[str]()
            if strength < SURE_NAME and (
                _of_state(window, column)
                or (len(window) == 1 and _whose(window[0], column))
                or _named_otherwise(window, others)
            ):
                continue  # `white mothers` are whom it is about, not their age in `mother_age`
            if column.distinct == 1 and strength < SURE_NAME:
                continue  # the same in all rows: only meant where it is called by its name
            if strength >= LIKELY and not (len(window) == 1 and len(window[0].text) == 1 and strength < 1):
                able = found.setdefault((first, last), {})
                able[column.name] = max(able.get(column.name, 0.0), round(strength, 3))
    rest = [_best(words[a : b + 1], a, b, [(s, name) for name, s in able.items()]) for (a, b), able in found.items()]
    rest += _shared(words, rest, names)
    rest += _grown(words, rest, columns, text)
    return literal + [m for m in rest if not any(m.first <= other.last and other.first <= m.last for other in literal)]


def _no_name(word: Token, name: Name, text: str) -> bool:
    """Say whether a word by itself cannot name a column: `lower` compares, and is no column `low`."""
    if word.text in name.whole and _as_letter(word, name, text):
        return False
    compares = any(word.text in (f"{part}er", f"{part}est") for part in (*name.parts, name.whole))
    joins = word.text in _SET_AGAINST and word.text != name.whole  # no points against
    return compares or joins or word.text in STOP or (word.number is not None and name.text != word.text)


def _groups_of(words: Sequence[Token], at: int, name: Name) -> bool:
    """Say whether a word only says that what follows makes groups: the `groups of sex` are no group size."""
    behind = words[at + 1].text if at + 1 < len(words) else ""
    return words[at].stem == "group" and behind == "of" and stem(name.whole) != "group"


_SET_AGAINST = frozenset({"against", "versus"})


def _as_letter(word: Token, name: Name, text: str) -> bool:
    """Say whether a small word is the letter that a column is called by, written large within a sentence: `A by class`."""
    return name.text == text[word.start : word.end] and _is_letter(word, text)


def _named_otherwise(window: Sequence[Token], others: Set[str]) -> bool:
    """Say whether one of some words is another column's name: a `block design` beside `block` is no bulk density BD."""
    return len(window) > 1 and any(word.text in others for word in window)


def _shared(
    words: Sequence[Token], found: Sequence[ColumnMention], names: Sequence[tuple[Name, ColumnProfile]]
) -> list[ColumnMention]:
    """Return what a second noun names together with the first one's beginning: the weight in `mother's age and weight`."""
    extra: list[ColumnMention] = []
    for mention in (m for m in found if m.width > 1 and m.strength >= SURE):
        at = mention.last + 2
        if at < len(words) and words[at - 1].text in _JOINS and words[at].text not in STOP:
            window = [*words[mention.first : mention.last], words[at]]
            able = [(round(name.strength(window), 3), column.name) for name, column in names]
            best = _best([], at, at, able)
            if best.strength >= SURE and best.column != mention.column and not best.rivals:
                extra.append(best)
    return extra


def _grown(
    words: Sequence[Token], found: Sequence[ColumnMention], columns: Sequence[ColumnProfile], text: str
) -> list[ColumnMention]:
    """Return two words whose beginnings make up a name: `the genotype of the mother` of `motgen`."""
    named, extra = {m.column for m in found if m.strength >= SURE}, list[ColumnMention]()
    for column in columns:
        name = column.name.lower()
        for cut in range(_PIECE, len(name) - _PIECE + 1) if name.isalpha() and column.name not in named else ():
            ends = [_begun(words, piece) for piece in (name[:cut], name[cut:])]
            near = [sorted(two) for two in product(ends[0], ends[1]) if _together_or_of(*two, words)]
            near = [two for two in near if not _PAUSE.search(text[words[two[0]].end : words[two[1]].start])]
            if near:
                first, last = min(near, key=lambda two: two[1] - two[0])
                extra.append(ColumnMention(column.name, "", first, last, _OF_PIECES))
    return extra


def _together_or_of(first: int, second: int, words: Sequence[Token]) -> bool:
    """Say whether the words of two pieces stand as in the name, or turned round with an `of`: `mother genotype`, `genotype of the mother`."""
    if first < second:
        return {w.text for w in words[first + 1 : second]} <= {"s"}
    return 0 < first - second <= LONGEST and words[second + 1].text == "of"


def _begun(words: Sequence[Token], piece: str) -> list[int]:
    """Return where words stand that begin with a piece of a name."""
    return [at for at, w in enumerate(words) if w.text.startswith(piece) and w.text not in STOP]


_PIECE, _OF_PIECES = 3, 0.8
_PAUSE = re.compile(r"[,;:.?!]")
_JOINS = frozenset({"and", "or"})


def _whose(word: Token, column: ColumnProfile) -> bool:
    """Say whether a word for persons is only whose measurement a column holds."""
    parts = name_parts(column.name)
    one = word.text.removesuffix("s")
    return word.text.endswith("s") and one in PERSONS | FAMILY and one in parts[:-1] and column.scale in _MEASURED


def _of_state(window: Sequence[Token], column: ColumnProfile) -> bool:
    """Say whether words say no more of a state than that it holds or when: `at start` is not the transplant of `Tx_vorher`."""
    said = [word.text for word in window if word.text not in STOP]
    state = column.scale == "binary"
    return all(text in YES | NO or (state and same_meaning(text, "before")) for text in said)


_MEASURED = ("number", "count", "share")


def _before_and_after(names: Sequence[str]) -> dict[str, str]:
    """Return names such as `Prewt` and `Postwt` with their first part cut off, where both are there."""
    found = {name.lower(): re.fullmatch(r"(pre|post)([a-z]{2,})", name.lower()) for name in names}
    rests = Counter(match[2] for match in found.values() if match)
    return {name: f"{match[1]} {match[2]}" for name in names if (match := found[name.lower()]) and rests[match[2]] == 2}


def literally(words: Sequence[Token], name: str, text: str, column: str = "") -> list[ColumnMention]:
    """Return the places where a name of several parts stands as it is written in the file: `perim_ch_1`, `PT+CBT`."""
    if len(name_parts(name)) < 2:
        return []
    found: list[ColumnMention] = []
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
        inside = [at for at, w in enumerate(words) if match.start() <= w.start and w.end <= match.end()]
        if inside:
            found.append(ColumnMention(column or name, "", inside[0], inside[-1], 1.0))
    return found


def windows(words: Sequence[Token], text: str, longest: int) -> list[tuple[int, int]]:
    """Return (first, last) of every run of words that may be a name of at most so many words."""
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


def _best(window: Sequence[Token], first: int, last: int, able: list[tuple[float, str]]) -> ColumnMention:
    able.sort(key=lambda item: -item[0])
    said = "".join(word.text for word in window)
    called = [name for _, name in able if said == "".join(name_parts(name))]
    if len(called) == 1:
        return ColumnMention(called[0], "", first, last, 1.0)  # not `Price` for Weight_price beside a Price
    strength, column = able[0]
    rivals = tuple(name for other, name in able[1:] if other >= strength - 0.08)
    return ColumnMention(column, "", first, last, strength, rivals=rivals)
