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


_OF_ROWS = re.compile(
    r"\b(?:visits?|measurements?|rows?|records?|observations?|readings?|occasions?|time|over|repeat\w*|how many|number of|counts?)\b",
    re.IGNORECASE,
)
"""Words for what there are several of in each subject; what is only counted is counted once each without a step."""
_SURELY = 0.9


def with_each_once(reading: Reading, data: Data) -> tuple[Reading, Data] | None:
    """Return question and data with one row a subject, where all that is named is the same in all of its rows.

    Is treatment related to sex, does age differ between the arms: of a table with several visits each patient counts once.
    """
    sheet = data.sheets[0] if len(data.sheets) == 1 else None
    item = sheet.repeated() if sheet is not None else None
    named = [name for name in reading.columns() if item is None or name != item.subject]
    apart = item is None or item.confidence < _SURELY or not {*named} <= {*item.between}
    if sheet is None or item is None or apart or len(named) < 2 or _OF_ROWS.search(reading.question):
        return None
    # By whichever number: of rows that agree in it the one that stands first in the table counts.
    able = [*map(sheet.column, (*sheet.structure.times, item.subject)), *sheet.columns]
    order = next((c.name for c in able if c is not None and c.kind in ("integer", "number") and not c.missing), "")
    if not order or reading.chosen:
        return None
    name, last = f"first of each {item.subject}", len(reading.words) - 1
    why = f"{' and '.join(map(repr, named[:3]))} are the same in all rows of one {item.subject!r}: each counts once."
    among = f"not is_missing(`{item.subject}`)"
    made = Made(name, f"if_else(is_first(`{order}`, {among}, `{item.subject}`), {name!r}, 'later')", why)
    column = ColumnProfile(name=name, kind="category", scale="binary", distinct=2, levels={name: 1, "later": 1})
    repeated = [other for other in sheet.structure.repeated if other.subject != item.subject]
    anew = data.seen(sheet, view(sheet, [*sheet.columns, column], repeated, made))
    seen = reread(reading, list(reading.mentions), anew)
    seen.restrictions.append(Restriction(name, "in", (name,), last, last, sure=True))
    return seen, anew


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
