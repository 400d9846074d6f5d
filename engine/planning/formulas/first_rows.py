"""Only the first row of each subject: `first isolate per patient only`, `the earliest visit of each child`.

A step says of each row whether it comes first in time among the rows that are kept otherwise; the others are left out.
"""

from __future__ import annotations

import re

from engine.domain.profile import ColumnProfile
from engine.planning.binding.rows import condition
from engine.planning.formulas.views import view
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading, Restriction
from engine.planning.tables.sheets import Data, Made, Sheet

_FIRST = re.compile(
    r"\b(?:first|earliest|initial)\s+(?:[\w-]+\s+){0,3}?(?:per|(?:of|from|for|in)\s+(?:each|every))\s+$", re.IGNORECASE
)
"""What stands before the subject."""


def with_first_rows(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data with only the first row of each subject kept, None where the question asks for no such thing."""
    for sheet in data.sheets:
        subjects, times = {item.subject for item in sheet.structure.repeated}, sheet.structure.times
        for mention in reading.mentions:
            said = _FIRST.search(reading.question[: reading.words[mention.first].start])
            if not said or mention.level or mention.column not in subjects:
                continue
            first = next(at for at, word in enumerate(reading.words) if word.start >= said.start())
            if len(times) == 1:
                return _seen(reading, data, sheet, mention.column, (first, mention.last))
            reading.unclear.append(
                f"{reading.question[said.start() : reading.words[mention.last].end]!r} keeps rows, and "
                + (
                    f"{' and '.join(map(repr, times[:3]))} could say which comes first"
                    if times
                    else "no column says which comes first"
                )
            )
    return None


def _seen(reading: Reading, data: Data, sheet: Sheet, subject: str, place: tuple[int, int]) -> tuple[Reading, Data]:
    name, order = f"first of each {subject}", sheet.structure.times[0]  # its level is called so too, and told alone
    kept = [r for r in reading.restrictions if r.sure and sheet.column(r.column) is not None and r.column != subject]
    among = condition(kept, data) or f"not is_missing(`{subject}`)"
    why = f"Of each {subject!r} only the row that is first by {order!r} is kept, as the question says."
    made = Made(name, f"if_else(is_first(`{order}`, {among}, `{subject}`), {name!r}, 'later')", why)
    column = ColumnProfile(name=name, kind="category", scale="binary", distinct=2, levels={name: 1, "later": 1})
    repeated = [item for item in sheet.structure.repeated if item.subject != subject]
    shown = view(sheet, [*sheet.columns, column], repeated, made)
    anew = data.seen(sheet, shown)
    mentions = [m for m in reading.mentions if m.column != subject and not place[0] <= m.first <= place[1]]
    seen = reread(reading, [*mentions, ColumnMention(name, name, *place, 1.0)], anew)
    seen.restrictions = [r for r in seen.restrictions if r.column != name]
    seen.restrictions.append(Restriction(name, "in", (name,), *place, sure=True))
    return seen, anew
