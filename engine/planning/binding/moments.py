"""Several moments that a question names for one curve: `alive at 90 and 180 days`, `at 1, 2 and 5 years`."""

from __future__ import annotations

import re

from engine.planning.binding.bound import Bound
from engine.planning.reading.reading import Reading
from engine.text.names import name_parts
from engine.text.numbers import as_number
from engine.text.times import time_unit

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
        if last:
            texts = [f"{number} {unit or last}s" for number, unit in one]
            found.append((last in own, texts, said))
    if not found or len({*(at for _, at, _ in found for at in at)}) < 2:
        return
    _, texts, said = max(found, key=lambda item: item[0])
    if (
        column.maximum is not None
        and own
        and max(as_number(one.split()[0]) or 0 for one in texts) > 40 * column.maximum
    ):
        return
    bound.params[param.name] = [one.split()[0] if time_unit(one.split()[1]) in own else one for one in texts]
    # A list takes the place of a single moment and its unit.
    units = {p.of: p.name for p in bound.spec.params if p.role == "unit_of" and p.of in bound.params}
    for name in [part for pair in units.items() for part in pair if part in _SINGLE]:
        bound.params.pop(name, None)
    reading.mark_text(*said.span(), "number", f"{param.name} = {', '.join(texts)}")
