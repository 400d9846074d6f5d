"""A word for what is measured that the data call otherwise: `more spores` where `conidia_per_ml` is the only measurement."""

from __future__ import annotations

import re

from engine.domain.datatypes import MATRICES
from engine.planning.choosing.coverage import amount_of, named_things, unexplained
from engine.planning.formulas.sides import SHARE
from engine.planning.naming.mention import SURE, ColumnMention
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import NUMBERS, Data, Sheet, is_id

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
    said = rates or [at for at in places if amount_of(reading, at)]
    if len(said) != 1:
        return None
    return reread(reading, [*reading.mentions, ColumnMention(names[0], "", said[0], said[0], SURE)], data)


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
