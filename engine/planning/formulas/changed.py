"""Which groups gained or lost more of a measure: its change over the occasions that stand in columns beside each other."""

from __future__ import annotations

import re

from engine.domain.profile import WideMeasure
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.reading import Reading
from engine.planning.reading.rows import more_in
from engine.planning.tables.sheets import Data, Sheet, is_group
from engine.text.times import DAYS, UNITS_OF_TIME

NEAR = 25
"""So many characters may lie between a measure and the word that says that it changes."""
_CHANGED = re.compile(
    r"(?<!\bno )\b(?:gain\w*|los[et]\w*|put(?:s|ting)? on|chang\w+|improv\w+|increas\w+|decreas\w+|drop(?:ped|s)?|f[ae]ll(?:en|s)?|r[io]se(?:s|n)?|"
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
    rows |= {reading.words[at].start for m in reading.mentions if m.level for at in range(m.first, m.last + 1)}
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


_GAIN = re.compile(
    r"\b(?:(?:average\s+)?(?P<every>daily|weekly|monthly)\s+(?:(?:live\s*)?weight\s+|body\s*weight\s+)?(?:gains?|growth|loss)|(?-i:ADG)|"
    r"(?:gain\w*|grew|grow\w*|put(?:s|ting)? on|lost|lose\w*|loss)\b[^.;?!]{0,25}?\bper\s+(?P<per>day|week|month))\b",
    re.IGNORECASE,
)
_IN_GRAMS = re.compile(r"\b(?:in\s+)?(?:g|gr|grams?)\s*(?:/|per)\s*(?:d|day)\b|\bin\s+g(?:rams?)?\b", re.IGNORECASE)
_UNIT_SAID = re.compile(r"\s*\(?(?:in\s+)?k?(?:g|grams?)\s*(?:/|per)\s*(?:d|day|week)\)?", re.IGNORECASE)
GROWS = re.compile(
    r"\b(?:grow|gain|develop)\w*\s+(?P<way>faster|better|quicker|more|slower|worse|less)\b", re.IGNORECASE
)
"""Beside a gain that is told, such words compare it."""
GAIN = "gain"
"""What the column is called; all occasions of its course are parts of it."""
_EACH = {"daily": "day", "weekly": "week", "monthly": "month"}


def gain_asked(reading: Reading, data: Data) -> tuple[str, str] | None:
    """Return (name, expression) of what is gained in each day or week of a course: `daily gain from birth to week 8`.

    It is the difference of the occasions that are named, else of the first and the last, over the time between them as their
    names tell it.
    """
    said = _GAIN.search(reading.question)
    for sheet in data.sheets if said else ():
        course = _course_meant(reading, sheet) or _only_weight(sheet)
        days = [_days(label) for label in course.labels] if course is not None else []
        if said is None or course is None or len([day for day in days if day is not None]) < len(days):
            continue
        times = {name: day for name, day in zip(course.columns, days, strict=True) if day is not None}
        named = [name for name in course.columns if name in reading.named() or _told_at(reading.question, times[name])]
        first, last = (named[0], named[-1]) if len(named) > 1 else (course.columns[0], (named or course.columns)[-1])
        if times[last] <= times[first]:
            continue
        unit = _EACH.get((said["every"] or "").lower(), (said["per"] or "day").lower())
        grams = _IN_GRAMS.search(reading.question) and re.search(r"(?i)(?<![a-z])kg(?![a-z])", last)
        steps = (times[last] - times[first]) / DAYS[unit] / (1000 if grams else 1)
        start, end = _stretch(reading, course, said)
        unit_said = _UNIT_SAID.match(reading.question, end)
        end = unit_said.end() if unit_said else end
        reading.mark_text(start, end, "column", f"({last} - {first}) per {unit}")
        name = {"day": "daily", "week": "weekly", "month": "monthly"}[unit]
        return f"{name} {GAIN}{' in g' if grams else ''}", f"(`{last}` - `{first}`) / {steps:.12g}"
    return None


def _only_weight(sheet: Sheet) -> WideMeasure | None:
    """Return the only course of a weight."""
    heavy = re.compile(r"(?i)(?<![a-z])(?:k?g|weight|wt|bw|gew|gewicht|poids|peso)(?![a-z])")
    found = [w for w in sheet.structure.wide if w.ordered and heavy.search(w.columns[0])]
    return found[0] if len(found) == 1 else None


def _days(label: str) -> float | None:
    """Return how many days into a course an occasion is, by its label: 56 of `w8`; None where it says none."""
    match = re.fullmatch(r"(?P<a>[a-z]*?)[ _.-]*(?P<n>\d+)[ _.-]*(?P<b>[a-z]*)", label.strip(), re.IGNORECASE)
    unit = UNITS_OF_TIME.get((match["a"] or match["b"]).lower(), "") if match else ""
    if match and float(match["n"]) == 0:
        return 0.0
    return float(match["n"]) * DAYS[unit] if match and unit in DAYS else None


def _told_at(question: str, days: float) -> bool:
    """Say whether an occasion is named by its time: `week 8`, `8 weeks`, `birth`."""
    if not days:
        return re.search(r"\bbirth\b|\bbaseline\b|\bstart\b", question, re.IGNORECASE) is not None
    found = re.finditer(r"\b(?:(?P<a>[a-z]+)\s*(?P<n>\d+)|(?P<m>\d+)\s*(?P<b>[a-z]+))\b", question, re.IGNORECASE)
    return any(
        float(match["n"] or match["m"]) * DAYS.get((match["a"] or match["b"]).lower(), 0.0) == days for match in found
    )


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
