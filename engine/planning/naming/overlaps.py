"""Which of several readings of the same words is taken, and what stands beside a name."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from engine.domain.profile import ColumnProfile
from engine.planning.naming.columns import column_mentions
from engine.planning.naming.levels import level_mentions
from engine.planning.naming.mention import LIKELY, SURE, ColumnMention
from engine.planning.naming.numbered import numbered_mentions
from engine.text.names import name_parts
from engine.text.times import timed
from engine.text.tokens import Token, tokens


def find(text: str, columns: Sequence[ColumnProfile]) -> list[ColumnMention]:
    """Return the mentions in a short text, overlaps settled, the strongest of each place; for clauses and tests."""
    words = tokens(text)
    named = column_mentions(words, columns, text)
    every = [*named, *level_mentions(words, columns, text), *numbered_mentions(words, columns, named, text)]
    return cover(every)


BESIDE = 0.12
"""What a level gains that stands beside the name of its own column: `PCR positive`, `a positive rapid test`."""


def beside_own(mentions: Sequence[ColumnMention]) -> list[ColumnMention]:
    """Return the mentions with levels that several columns have drawn to the column that is named beside them."""
    named = [m for m in mentions if not m.level and m.strength >= LIKELY]
    columns = {(m.first, m.last): {o.column for o in mentions if (o.first, o.last) == (m.first, m.last) and o.level} for m in mentions if m.level}  # fmt: skip

    def near(m: ColumnMention) -> bool:
        shared = m.level and len(columns[m.first, m.last]) > 1
        return bool(shared) and any(
            n.column == m.column and (n.last + 1 == m.first or m.last + 1 == n.first) for n in named
        )

    own = {(m.first, m.last): m.column for m in mentions if near(m)}
    drawn = [m._replace(strength=min(1.0, m.strength) + BESIDE) if near(m) else m for m in mentions]
    return [m for m in drawn if not m.level or own.get((m.first, m.last), m.column) == m.column]


POLAR = frozenset("positive negative pos neg yes present absent high low true false abnormal normal".split())
"""Words for the two ends of any column: beside the name of one they are its own."""


def of_neighbours(mentions: Sequence[ColumnMention], words: Sequence[Token]) -> list[ColumnMention]:
    """Return the mentions with what is said of the column beside it: `week 12 SBP` is one, `a positive culture` no positive test."""
    named = [m for m in mentions if not m.level and m.strength >= LIKELY]

    def beside(m: ColumnMention) -> set[str]:
        return {n.column for n in named if n.last + 1 == m.first or m.last + 1 == n.first}

    kept: list[ColumnMention] = []
    for m in mentions:
        near = beside(m)
        polar = m.level and words[m.first].text in POLAR
        others = near | {n.column for n in named if m.first < n.first <= m.last} if polar else set[str]()
        if (others and m.column not in others) or any(_says_more(n, m, words) for n in mentions):
            continue
        own = [name for name in near if m.width == 1 and words[m.first].text in name_parts(name)]
        if not m.level and m.strength < SURE and m.column not in near and len(own) == 1:
            m = m._replace(column=own[0], rivals=())
        kept.append(m)
    return kept


def _says_more(one: ColumnMention, m: ColumnMention, words: Sequence[Token]) -> bool:
    """Say whether a word beside another is of its level: the `hauls` of `valid hauls` are no `invalid haul`."""
    first, last = sorted((one, m), key=lambda n: n.first)
    touch = first.last + 1 == last.first and words[first.last].end + 1 == words[last.first].start
    other_level = one.column == m.column and one.level and m.level and one.level != m.level
    return touch and bool(other_level) and one.strength > m.strength + BESIDE


def cover(mentions: Sequence[ColumnMention]) -> list[ColumnMention]:
    """Return the mentions of the best cover: no word is used twice, strong and long mentions win."""
    ordered = sorted(mentions, key=lambda m: (m.last, m.first))
    best: list[tuple[float, list[ColumnMention]]] = [(0.0, [])]
    ends: list[int] = []
    for mention in ordered:
        before = sum(1 for end in ends if end < mention.first)
        taken = best[before][0] + mention.strength * (1 + 0.35 * (mention.width - 1)) - 0.3, [*best[before][1], mention]
        ends.append(mention.last)
        best.append(max(best[-1], taken, key=lambda item: item[0]))
    return sorted(best[-1][1], key=lambda m: m.first)


def in_one_row(
    mentions: Sequence[ColumnMention], columns: Sequence[ColumnProfile], words: Sequence[Token]
) -> list[ColumnMention]:
    """Return the mentions with levels in a row as of one column, that of the last (`mothers of strain A B I or J`).

    Words side by side that each name one column are one name of it.
    """
    levels = {column.name: column.levels for column in columns}
    found = list(mentions)
    for at in range(len(found) - 2, -1, -1):
        one, after = found[at], found[at + 1]
        if one.level and after.level and one.last + 1 == after.first and one.level in levels.get(after.column, ()):
            found[at] = one._replace(column=after.column)
        elif one.column == after.column and not (one.level or after.level) and _touch(one, after, words):
            found[at : at + 2] = [one._replace(last=after.last, strength=max(one.strength, after.strength))]
    return found


def _touch(one: ColumnMention, after: ColumnMention, words: Sequence[Token]) -> bool:
    """Say whether only a blank stands between two mentions."""
    return one.last + 1 == after.first and words[after.first].start - words[one.last].end == 1


def at_its_own_time(mentions: list[ColumnMention], words: Sequence[Token]) -> list[ColumnMention]:
    """Return the mentions without a time that only says which moment a column before it is of: `cures at day 21` of `cure_d21`."""
    gone: set[int] = set()
    for one in (m for m in mentions if not m.level):
        parts = name_parts(one.column)
        own = {timed(pair) for pair in pairwise(parts)} - {""}
        for at, other in enumerate(mentions):
            between = [word.text for word in words[one.last + 1 : other.first]]
            said = timed([word.text for word in words[other.first : other.last + 1]])
            if (
                not other.level
                and other.column != one.column
                and between in (["at"], ["on"], ["after"])
                and said in own
            ):
                gone.add(at)
    return [m for at, m in enumerate(mentions) if at not in gone]
