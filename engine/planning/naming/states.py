"""Columns of yes and no, and doses, that are said for one of their levels: `without diabetes`, `unsprayed`, `0, 10 and 20 mg`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.domain.profile import ColumnProfile
from engine.planning.naming.mention import LIKELY, NO, YES, ColumnMention
from engine.text.names import name_parts
from engine.text.negation import NEGATORS
from engine.text.numbers import as_number
from engine.text.tokens import Token

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
_THOSE = re.compile(
    r"(?:^\W*(?:(?:and|but|now|ok)\s+)?(?:only|just)|\b(?:exclud\w+|exclude|omit|drop|remove|ignore|leav(?:e|ing) out))\s+"
    r"(?:the|all|(?:(?:the|all)\s+)?(?:ones|those|patients|pts|people|persons|subjects|animals|mice|rows|cases|everybody|everyone|anybody|anyone|all|days|dates|weeks|visits|samples|plots|sites)\s+"
    r"(?:with|who (?:have|has|had)|that (?:have|has|had))(?:\s+(?:an?|any|the|some))?)\s+$",
    re.IGNORECASE,
)
"""`only the anaemics`, `exclude those with oedema`: whose rows are kept or left out."""
_FROM = re.compile(r"\s+(?:from|as|column|variable|term|effect|covariate|adjust\w*)\b", re.IGNORECASE)
"""What follows a column that is dropped itself."""
_LACKS = re.compile(
    rf"(?:(?<!and )(?<!or )(?<!/)|(?<=^and )|(?<=^but ))\b(?:{'|'.join(NEGATORS)})[\s-]+(?:any\s+|the\s+)?$",
    re.IGNORECASE,
)


NAMED, KIN = 0.7, 0.6
"""How surely a column must be named for one of its states; people may be called by a word that is only its kin: `the anaemics`."""


def states_meant(
    words: Sequence[Token], columns: Sequence[ColumnProfile], named: Sequence[ColumnMention], text: str
) -> list[ColumnMention]:
    """Return columns of yes and no that are said for one of the two: `in the benign ones`, `smokers only`, `without diabetes`.

    A dose of which nothing was given counts, too: `without inhibitor`.
    """
    by_name = {column.name: column for column in columns}
    found = [*_nothing_given(words, columns), *_not_alive(words, columns)]
    for mention in named:
        column = by_name.get(mention.column)
        levels = {level.strip().lower(): level for level in column.levels} if column is not None else {}
        yes = next((levels[level] for level in levels if level in YES), None)
        no = next((levels[level] for level in levels if level in NO), None)
        if column is None or mention.level or (no is None and not (yes is not None and _marks_some(column))):
            continue
        start, end = words[mention.first].start, words[mention.last].end
        if mention.last + 1 < len(words) and words[mention.last + 1].text in levels:
            continue  # `without oedema yes` names its state itself
        those = _THOSE.search(text[:start]) is not None and not _FROM.match(text[end:])
        if mention.strength < (KIN if those else NAMED):
            continue
        # A name such as `oedema y/n` takes the `without` before it for its own `n`.
        starts = [words[at].start for at in range(mention.first, mention.last + 1)]
        lacks = next((said for at in starts if (said := _LACKS.search(text[:at]))), None)
        if no is None:  # `without flood` leaves out the rows that it marks: those without have no value
            if lacks or those:
                found.append(ColumnMention(column.name, yes or "", mention.first, mention.last, 0.9))
        elif lacks and (column.scale == "binary" or column.role("dose") >= LIKELY):
            first = next(at for at, word in enumerate(words) if word.end > lacks.start())
            found.append(ColumnMention(column.name, no, first, mention.last, 0.9))
        elif (
            yes is not None
            and column.scale == "binary"
            and (_SET_APART.match(text[end:]) or (_WHOM.match(text[end:]) and _AMONG.search(text[:start])) or those)
        ):
            found.append(ColumnMention(column.name, yes, mention.first, mention.last, 0.9))
    return found


def _marks_some(column: ColumnProfile) -> bool:
    """Say whether a column holds a mark in some rows and nothing in the others."""
    return len(column.levels) == 1 and column.missing > 0


_ALIVE = frozenset("alive living survived surviving survives lebt lebend vivant vivo".split())
_DEAD = frozenset("dead die died dies dying death deaths mortality perished".split())


def _not_alive(words: Sequence[Token], columns: Sequence[ColumnProfile]) -> list[ColumnMention]:
    """Return `dead` and `died` as the no of the only column that is called alive, where none is called dead."""
    if any(_DEAD & _parts(column) for column in columns):
        return []
    levels = {column.name: {level.strip().lower(): level for level in column.levels}
              for column in columns if _ALIVE & _parts(column)}  # fmt: skip
    no = [(name, own[level]) for name, own in levels.items() for level in own if level in NO]
    at = [n for n, word in enumerate(words) if word.text in _DEAD] if len(levels) == len(no) == 1 else []
    return [ColumnMention(*no[0], n, n, 0.9) for n in at]


_NOT_GIVEN = re.compile(
    r"un(?:treated|sprayed|dosed|fertili[sz]ed|exposed|stimulated|supplemented|inoculated|irrigated|amended|drugged|challenged)"
)


def _nothing_given(words: Sequence[Token], columns: Sequence[ColumnProfile]) -> list[ColumnMention]:
    """Return `unsprayed`, `untreated` and `no drug` as the zero of the only dose or the only placebo, where no level is called so."""
    zeros = [(c.name, v) for c in columns if c.role("dose") >= LIKELY or _GIVEN & _parts(c)
             for v in c.levels if as_number(v) == 0 and c.scale == "ordered"]  # fmt: skip
    zeros = zeros or [(c.name, v) for c in columns for v in c.levels if v.strip().lower() in _WITHOUT]
    if len(zeros) != 1:
        return []
    called = {level.lower() for column in columns for level in column.levels}
    given = _GIVEN.union(*(_parts(c) for c in columns if c.name == zeros[0][0]))
    found = [(at, at) for at, word in enumerate(words) if _NOT_GIVEN.fullmatch(word.text) and word.text not in called]
    for at, word in enumerate(words[:-1]):
        last = at + 1 + (words[at + 1].text in ("any", "the"))
        if word.text in _NONE and last < len(words) and words[last].text in given and word.text not in called:
            found.append((at, last))
    return [ColumnMention(*zeros[0], first, last, 0.9) for first, last in found]


def _parts(column: ColumnProfile) -> set[str]:
    return {part.lower() for part in name_parts(column.name)}


_NONE = frozenset("no without ohne kein keine sin sans".split())
_GIVEN = frozenset(
    "drug drugs antibiotic antibiotics compound dose treatment inhibitor toxin fertiliser fertilizer".split()
)
"""What stands for whatever was given in doses; so does a part of the name of their column."""


def undosed(
    mentions: Sequence[ColumnMention], words: Sequence[Token], columns: Sequence[ColumnProfile]
) -> list[ColumnMention]:
    """Return the 0 of `0, 10 and 20 mg` as the level without any, where a column has doses and a placebo."""
    found: list[ColumnMention] = []
    for at, word in enumerate(words):
        if word.number != 0:
            continue
        for column in columns:
            beside = {m.level for m in mentions if m.column == column.name and at < m.first <= at + 3}
            without = [v for v in column.levels if v.strip().lower() in _WITHOUT]
            if len(without) == 1 and any(re.match(r"[\d.]+", v) for v in beside):
                found.append(ColumnMention(column.name, without[0], at, at, 0.8))
    return found


_WITHOUT = frozenset("placebo control vehicle none untreated veh ctrl sham".split())
