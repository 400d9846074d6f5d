"""Several moments that a question names for one curve: `alive at 90 and 180 days`, `at 1, 2 and 5 years`."""

from __future__ import annotations

import re

from engine.domain.profile import ColumnProfile
from engine.planning.binding.bound import Bound
from engine.planning.reading.reading import Reading
from engine.text.names import name_parts
from engine.text.numbers import as_number
from engine.text.times import DAYS, time_unit

_UNIT = r"(?:days?|d|weeks?|wks?|months?|mnths?|mths?|mo|years?|yrs?|y)\b"
_BEFORE = r"(?:(?:at|by|after|until|past|within|to)\s+)?(?:(?:the\s+)?(?:day|week|month|year)s?\s+)?"
_NUMBER = r"\d+(?:\.\d+)?"
_MOMENTS = re.compile(
    rf"(?P<unit>\b(?:day|week|month|year)s?\s+)?(?<![\w.=<>])(?P<list>{_NUMBER}(?:[\s-]*{_UNIT})?(?:\s*(?:,|,?\s*and|&|or|/)\s*{_BEFORE}{_NUMBER}(?:[\s-]*{_UNIT})?)+)",
    re.IGNORECASE,
)
_SINGLE = frozenset({"at", "at_unit"})
"""How a step calls its single moment and the unit of it."""
_ONE = re.compile(rf"({_NUMBER})[\s-]*({_UNIT})?", re.IGNORECASE)


def moments_told(bound: Bound, reading: Reading) -> None:
    """Fill the moments at which a curve is read, where the question names two or more with a unit of time.

    Of two lists (`3 and 6 months (90 and 180 days)`) the one in the unit of the column is taken, else the first.
    """
    param = next((p for p in bound.spec.params if p.role == "times"), None)
    time = next(iter(bound.of_role("time")), "")
    column = bound.sheet.column(time) if bound.sheet and time else None
    if param is None or column is None or bound.params.get(param.name):
        return
    own = {time_unit(part.lower()) for part in name_parts(f"{column.name} {column.unit} {column.label}")} - {""}
    found: list[tuple[bool, list[str], re.Match[str]]] = []
    for said in _MOMENTS.finditer(reading.question):
        one = [(number, time_unit(unit.lower())) for number, unit in _ONE.findall(said["list"])]
        units = {unit for _, unit in one} - {""} or {time_unit((said["unit"] or "").strip().lower())} - {""}
        last = next((unit for _, unit in reversed(one) if unit), next(iter(units), ""))
        texts = [f"{number} {unit or last}s" for number, unit in one]
        if last and not _of_something_else(said, reading) and _was_watched(texts, own, column):
            found.append((last in own, texts, said))
    if not found:
        return
    _, texts, said = max(found, key=lambda item: item[0])
    bound.params[param.name] = [one.split()[0] if time_unit(one.split()[1]) in own else one for one in texts]
    for name in _SINGLE:  # a list takes the place of a single moment and its unit
        bound.params.pop(name, None)
    reading.mark_text(*said.span(), "number", f"{param.name} = {', '.join(texts)}")


_BEFORE_OTHERS = re.compile(
    r"\b(?:between|from|aged?|ages|older than|younger than|over|under|above|below|every)\s*$", re.IGNORECASE
)
_AFTER_OTHERS = re.compile(
    r"\s*(?:old\b|of age\b|since\b|after (?:diagnosis|the diagnosis|birth)\b|of (?:follow|treatment|therapy)|apart\b|each\b|intervals?\b)",
    re.IGNORECASE,
)


def _of_something_else(said: re.Match[str], reading: Reading) -> bool:
    """Say whether numbers with a unit of time are no moments of the curve: an age, a span, rows that are kept by them."""
    text = reading.question
    at = {n for n, word in enumerate(reading.words) if said.start() <= word.start < said.end()}
    kept = any(at & {*range(row.first, row.last + 1)} for row in reading.restrictions)
    return kept or bool(_BEFORE_OTHERS.search(text[: said.start()]) or _AFTER_OTHERS.match(text, said.end()))


def _was_watched(texts: list[str], own: set[str], column: ColumnProfile) -> bool:
    """Say whether somebody was watched for about so long, as far as the unit of the times is known."""
    unit = next((one for one in own if one in DAYS), "")
    if column.maximum is None or not unit:
        return True
    days = [(as_number(number) or 0.0) * DAYS.get(time_unit(of), 0.0) for number, of in map(str.split, texts)]
    return max(days) <= MOST * column.maximum * DAYS[unit]


MOST = 2
"""A moment is at most so many times the longest time."""
