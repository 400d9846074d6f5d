"""A word for what is measured that the data call otherwise: `more spores` where `conidia_per_ml` is the only measurement.

Also what an effect is asked of that the question does not say: `does the vaccine work` where infection is all the data have beside it.
"""

from __future__ import annotations

import re

from engine.domain.datatypes import MATRICES
from engine.planning.choosing.coverage import amount_of, named_things, unexplained
from engine.planning.formulas.sides import SHARE
from engine.planning.naming.mention import SURE, ColumnMention
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import NUMBERS, Data, Sheet, is_id
from engine.text.names import name_parts

_RATE = re.compile(
    r"(?:compliance|adherence|coverage|uptake|(?:sero)?(?:positivity|prevalence)|germination|mortality|success|emergence|survival)$"
)
"""What is called so of a count out of a total is their share."""


def with_only_measure(reading: Reading, data: Data) -> Reading | None:
    """Return the reading with an unknown thing whose amount is asked for as the only measurement; None without one.

    The data hold one measurement that is neither a time, a dose nor a number of rows, and the question names none.
    """
    if (of_total := _share_of_total(reading, data)) is not None:
        return of_total
    if any(sheet.profile.best and sheet.profile.best.type in MATRICES for sheet in data.sheets):
        return None  # what is measured of the samples stands in the matrix
    names = [name for sheet in data.sheets for name in measures_of(sheet)]
    if len(names) != 1 or any(_measured(data, m) for m in reading.mentions):
        return None
    places = named_things(reading, unexplained(reading, [], [], data.called()))
    share = any(names[0] in sheet.structure.part_of for sheet in data.sheets)
    rates = [at for at in places if share and _RATE.match(reading.words[at].text)]
    said = rates or [at for at in places if amount_of(reading, at)] or _unsaid(reading)
    if len(said) != 1:
        return None
    return reread(reading, [*reading.mentions, ColumnMention(names[0], "", said[0], said[0], SURE)], data)


_DIFFERENCE = re.compile(
    r"\b(?:difference|means?|averages?|medians?)\b(?=\s+(?:between|of|in|for|by|per)\b)", re.IGNORECASE
)
_CUT = re.compile(
    r"\b\w+\s+(?=(?:under|below|over|above|less than|more than|at least|at most)\s+\d[\d.,]*(?!\s*(?:\d|%|hours?|days?|weeks?|months?|years?|h\b|d\b|min)))",
    re.IGNORECASE,
)


def _unsaid(reading: Reading) -> list[int]:
    """Return the word that stands for a measurement which is not named: `the difference between groups`, `how many are under 85`."""
    cut = _CUT.search(reading.question)
    said = cut or (_DIFFERENCE.search(reading.question) if reading.mentions else None)
    at = [n for n, word in enumerate(reading.words) if said is not None and word.start == said.start()]
    after = reading.words[at[0] + 2] if cut and at and at[0] + 2 < len(reading.words) else None
    return [] if after is not None and any(m.first <= at[0] + 2 <= m.last for m in reading.mentions) else at


WORKS = re.compile(
    r"\b(?:do|does|did)\b[^.?!;]{0,40}?\b(?:works?|helps?|do (?:anything|something)|make (?:a|any) difference|have (?:an|any) effect)(?=\s*(?:[.?!;]|$|(?:or|in|for)\b))"
    r"|\b(?:do|does|did)\b[^.?!;]{0,40}?\b(?:better|worse)\b(?=\s*(?:[.?!;]|$|(?:on|with|under|in|than|after)\b))",
    re.IGNORECASE,
)
"""Asks of an effect without saying on what."""
_ENDS = frozenset("outcome outcomes result results response status endpoint".split())
"""What a column of outcomes is called that says nothing else."""


def with_only_outcome(reading: Reading, data: Data) -> Reading | None:
    """Return the reading with the one column that can be an outcome where an effect is asked of and not said on what; None otherwise.

    It is what is left of the table beside what is named, whom the rows are of and when; or what is called an outcome.
    """
    asked = WORKS.search(reading.question)
    if asked is None or len(data.sheets) != 1 or not reading.mentions:
        return None
    (sheet,) = data.sheets
    structure, named = sheet.structure, {*reading.columns()}
    # What follows a subject to its end is asked of by itself, and an outcome that is named is no other one.
    if structure.survival or any(reading.parts.get(name) == {"outcome"} for name in named):
        return None
    apart = {*structure.times, *structure.doses, *(item.subject for item in structure.repeated)}
    left = [c.name for c in sheet.columns if not is_id(c) and c.name not in apart and c.distinct > 1]
    able = [name for name in left if name not in named]
    able = able if len(able) == 1 else [name for name in left if _ENDS & {*name_parts(name)}]
    if len(able) != 1 or able[0] in named:
        return None
    at = max(n for n, word in enumerate(reading.words) if word.end <= asked.end())
    found = reread(reading, [*reading.mentions, ColumnMention(able[0], "", at, at, SURE)], data)
    found.parts[able[0]] = {"outcome"}
    return found


_LIVES = re.compile(
    r"\b(?:lives?|lived|living longer|(?:die|dies|died) (?:sooner|earlier|later|younger|faster)|(?:survive|survives|survived|last|lasts|lasted) (?:for )?(?:longer|shorter)|"
    r"how long (?:\w+ ){0,4}(?:survive|survives|survived|last|lasts|lasted))\b",
    re.IGNORECASE,
)
_LIFE = re.compile(
    r"life ?spans?|longevity|life (?:time|days|length)|(?:days|time|age|hours|weeks) (?:lived|at death|to death|until death)"
)
"""What a length of life is called."""
_UNTIL_DEATH = re.compile(
    r"\b(?:time|it|hours?|days?)\W+(?:is\s+)?(?:un)?(?:til|to)\s+(?:the\s+)?(?:death|dying|they die)\b", re.IGNORECASE
)


def with_length_of_life(reading: Reading, data: Data) -> Reading | None:
    """Return the reading with the length of life where it is asked who lives longer and nobody is said to live still; None otherwise."""
    said = _LIVES.search(reading.question)
    if said is None or any(sheet.structure.survival for sheet in data.sheets):
        return None
    until = _UNTIL_DEATH.search(reading.question) is not None
    names = [c.name for sheet in data.sheets for c in sheet.columns if c.scale in NUMBERS and not is_id(c)
             and (_LIFE.fullmatch(called := " ".join(name_parts(c.name))) or (until and called == "time"))]  # fmt: skip
    if len(names) != 1:
        return None
    if names[0] in reading.columns():
        reading.parts[names[0]], reading.lived = {"outcome"}, True
        return reading
    at = [n for n, word in enumerate(reading.words) if said.start() <= word.start and word.end <= said.end()]
    others = [m for m in reading.mentions if not {*at} & {*range(m.first, m.last + 1)}]
    found = reread(reading, [*others, ColumnMention(names[0], "", at[0], at[-1], SURE)], data)
    found.parts[names[0]] = {"outcome"}
    found.lived = True
    return found


def _share_of_total(reading: Reading, data: Data) -> Reading | None:
    """Return the reading with the only count out of a total that is named: `share of positive samples` of n_pos of n_samples."""
    said = SHARE.search(reading.question)
    named = {m.column for m in reading.mentions}
    for sheet in data.sheets:
        parts = sheet.structure.part_of
        for total in {*parts.values()} & named if said else ():
            own = [part for part, whole in parts.items() if whole == total]
            at = [n for n, word in enumerate(reading.words) if said and word.end > said.start()]
            if len(own) == 1 and own[0] not in named and at and not named & {*parts}:
                # The positive ones are those of the count, not of some column of yes and no.
                kept = [m for m in reading.mentions if not (m.level and reading.words[m.first].text == "positive")]
                return reread(reading, [*kept, ColumnMention(own[0], "", at[0], at[0], SURE)], data)
    return None


def _measured(data: Data, mention: ColumnMention) -> bool:
    return any(mention.column in _numbers(sheet) for sheet in data.sheets)


def _numbers(sheet: Sheet) -> list[str]:
    return [c.name for c in sheet.columns if c.scale in NUMBERS and not is_id(c)]


def measures_of(sheet: Sheet) -> list[str]:
    """Return the columns of measurements that are neither times, doses nor totals."""
    # What others are a part of is measured with them: performed of opportunities.
    apart = {*sheet.structure.times, *sheet.structure.doses, *sheet.structure.part_of.values()}
    return [name for name in _numbers(sheet) if name not in apart]
