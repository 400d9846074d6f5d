"""Which groups gained or lost more of a measure: its change over the occasions that stand in columns beside each other."""

from __future__ import annotations

import re

from engine.domain.profile import WideMeasure
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.reading import Reading
from engine.planning.reading.rows import more_in
from engine.planning.tables.sheets import Data, Sheet, is_group

NEAR = 25
"""So many characters may lie between a measure and the word that says that it changes."""
_CHANGED = re.compile(
    r"\b(?:gain\w*|los[et]\w*|put(?:s|ting)? on|chang\w+|improv\w+|increas\w+|decreas\w+|drop(?:ped|s)?|f[ae]ll(?:en|s)?|r[io]se(?:s|n)?|"
    r"declin\w+|reduc\w+|gr[eo]w(?:s|n|th)?|g[eo]t(?:ting|s)? (?:\w+ ){0,2}?(?:better|worse)|recover\w*|respond\w*)\b",
    re.IGNORECASE,
)
_PACE = re.compile(
    r"\b(?:faster|slower|quicker|quickest|fastest|better|worse|rates?|slopes?|curves?|courses?|per (?:day|week|month|year)|"
    r"over (?:the )?(?:whole )?(?:time|days|weeks|months|years|visits|occasions|season|study|trial))\b",
    re.IGNORECASE,
)
"""Of more than two occasions such words ask for all of them."""
_SPAN = re.compile(
    r"(?<![\w.])(\d+)\s*(?:-|–|to|until|till|and|bis|und)\s*(?:(?:day|week|month|year|visit|tag)s?\s+)?(\d+)(?![\w.])",
    re.IGNORECASE,
)


def change_asked(reading: Reading, data: Data) -> tuple[str, str] | None:
    """Return (name, expression) of the change of a measure of which the question asks what groups `gained` or `lost` more.

    The measure is the one whose columns are named, else the only one of several occasions where no other measure is named; the
    change is from the first to the last of the occasions that are named, else of all.
    """
    rows = {reading.words[at].start for row in reading.restrictions if row.why for at in range(row.first, row.last + 1)}
    every = _CHANGED.finditer(reading.question)
    said = next((m for m in every if m.start() not in rows), None)  # `exclude the drop outs`
    for sheet in data.sheets if said else ():
        groups = {c.column for c in reading.contrasts} | more_in(reading.question, reading.words, reading.mentions)
        groups |= {
            n
            for n in reading.named()
            if (c := sheet.column(n)) and is_group(c) and (reading.is_a(n, "cause", "by") or _which(reading, n))
        }
        course = _course_meant(reading, sheet)
        if said is not None and course is not None and groups - set(course.columns):
            named = [name for name in course.columns if name in reading.named()]
            if len(course.columns) > 2 and len(named) != 2 and _PACE.search(reading.question):
                continue  # how fast is a slope over all occasions
            if _from_elsewhere(reading.question, course):
                continue  # `gain 0-56` where 0 is the weight at birth, in a column of its own
            first, *_, last = named if len(named) > 1 else course.columns
            start, end = _stretch(reading, course, said)
            reading.mark_text(start, end, "column", f"{last} - {first}")
            return f"{last} - {first}", f"`{last}` - `{first}`"
    return None


def _from_elsewhere(question: str, course: WideMeasure) -> bool:
    """Say whether two occasions are named of which only one has a column of this measure."""
    here = {number for label in course.labels for number in re.findall(r"\d+", label)}
    return any(len({*match.groups()} & here) == 1 for match in _SPAN.finditer(question))


def _which(reading: Reading, column: str) -> bool:
    """Say whether it is asked which of its levels: `which feed gains most`."""
    first = next(m.first for m in reading.mentions if m.column == column)
    return first > 0 and reading.words[first - 1].text in ("which", "what", "whose")


def _course_meant(reading: Reading, sheet: Sheet) -> WideMeasure | None:
    courses = [w for w in sheet.structure.wide if w.ordered and len(w.columns) > 1]
    named = {*reading.columns()}
    meant = [course for course in courses if named & {*course.columns}]
    others = [
        c for name in named if (c := sheet.column(name)) and c.scale in ("number", "count")
        and not reading.is_a(name, "adjust", "by", "subject") and name not in reading.restricted()
    ]  # fmt: skip
    able = meant or ([] if others else courses)
    return able[0] if len(able) == 1 else None


def _stretch(reading: Reading, course: WideMeasure, said: re.Match[str]) -> tuple[int, int]:
    """Return the characters that name measure and change; no other column may stand between them."""
    words = reading.words
    verb = next(at for at, word in enumerate(words) if word.end > said.start())

    def beside(m: ColumnMention) -> bool:
        low, high = sorted((m.first, verb))
        between = any(o.column not in course.columns and low < o.first < high for o in reading.mentions)
        gap = words[m.first].start - said.end() if m.first > verb else said.start() - words[m.last].end
        return m.column in course.columns and not between and gap <= NEAR

    own = [m for m in reading.mentions if beside(m)]
    start = min([said.start(), *(words[m.first].start for m in own)])
    return start, max([said.end(), *(words[m.last].end for m in own)])
