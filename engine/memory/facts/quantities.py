"""Numbers as facts state them: with units, bounds and ranges, and to the digits that were written.

`3.2` and `3.24` agree, because the second rounds to the first; `3.2` and `3.3` do not. `5 mg` and `5000 ug` are the
same. `< 0.05` agrees with `0.03`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache

_UNITS: dict[str, tuple[str, str]] = {
    "kg": ("g", "1e3"), "g": ("g", "1"), "mg": ("g", "1e-3"), "ug": ("g", "1e-6"), "ng": ("g", "1e-9"),
    "pg": ("g", "1e-12"), "kda": ("da", "1e3"), "da": ("da", "1"),
    "m": ("m", "1"), "pm": ("m", "1e-12"), "mm": ("m", "1e-3"),
    "cm": ("m", "1e-2"), "um": ("m", "1e-6"), "nm": ("m", "1e-9"), "km": ("m", "1e3"),
    "l": ("l", "1"), "ml": ("l", "1e-3"), "ul": ("l", "1e-6"),
    "bp": ("bp", "1"), "kb": ("bp", "1e3"), "mb": ("bp", "1e6"), "gb": ("bp", "1e9"), "nt": ("bp", "1"),
    "s": ("s", "1"), "sec": ("s", "1"), "seconds": ("s", "1"), "second": ("s", "1"), "ms": ("s", "1e-3"),
    "min": ("s", "60"), "minutes": ("s", "60"), "minute": ("s", "60"), "h": ("s", "3600"), "hours": ("s", "3600"),
    "hour": ("s", "3600"), "d": ("s", "86400"), "day": ("s", "86400"), "days": ("s", "86400"),
    "week": ("s", "604800"), "weeks": ("s", "604800"), "months": ("month", "1"), "month": ("month", "1"),
    "years": ("month", "12"), "year": ("month", "12"), "%": ("%", "1"), "percent": ("%", "1"),
}  # fmt: skip
"""Unit, without case -> the unit it is converted to and how many of those it is. Without case molar and metre are
one; their prefixes mean the same, and nothing is both a length and a concentration."""

_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?"
_UNIT = r"(?:%|[a-z][a-z0-9/%^*.]{0,19}(?: (?:cells|genes|samples|patients|reads|reads per cell))?)"
_FORM = re.compile(
    rf"(?P<bound><=|>=|<|>|=|~|about |approximately |at least |at most )?\s*(?P<first>{_NUMBER})"
    rf"(?:\s*(?:±|\+/-)\s*(?P<error>{_NUMBER})|\s+to\s+(?P<last>{_NUMBER}))?\s*(?P<unit>{_UNIT})?"
)
_LOWER, _UPPER = (">", ">=", "at least"), ("<", "<=", "at most")
_MOST_DIGITS = 60


@dataclass(frozen=True, slots=True)
class Quantity:
    """From `low` to `high` of a unit; None is no bound. `step` is the value of the last digit written."""

    low: Decimal | None
    high: Decimal | None
    step: Decimal
    unit: str


@lru_cache(maxsize=65_536)
def parse_quantity(text: str) -> Quantity | None:
    """Return the quantity a whole text is, or None when it is anything else (`3 patients died`, `5KIR`)."""
    folded = text.strip().casefold().replace("\u2212", "-").replace("\u2264", "<=").replace("\u2265", ">=")
    if not folded or len(folded) > _MOST_DIGITS:
        return None
    found = _FORM.fullmatch(folded)
    if found is None or _is_name(found):
        return None
    unit, factor = _converted(found["unit"] or "")
    try:
        numbers = [Decimal(found[part].replace(",", "")) for part in ("first", "error", "last") if found[part]]
    except InvalidOperation:
        return None
    if any(abs(number.adjusted()) > 300 for number in numbers if number):
        return None
    steps = [Decimal(1).scaleb(int(number.as_tuple().exponent)) for number in numbers]
    return _bounded(found, [number * factor for number in numbers], max(steps) * factor, unit)


def _bounded(found: re.Match[str], numbers: list[Decimal], step: Decimal, unit: str) -> Quantity:
    low = high = numbers[0]
    if found["error"]:
        low, high = low - abs(numbers[1]), high + abs(numbers[1])
    elif found["last"]:
        low, high = sorted((low, numbers[1]))
    bound = (found["bound"] or "").strip()
    if bound in _LOWER:
        return Quantity(low, None, step, unit)
    if bound in _UPPER:
        return Quantity(None, high, step, unit)
    return Quantity(low, high, step, unit)


def _is_name(found: re.Match[str]) -> bool:
    """Say whether letters after a number make it a name: `5kir`, `14q`, `5 ht`; `5 mg` and `5 cells` are none."""
    unit = found["unit"]
    if not unit or unit in _UNITS:
        return False
    return found.string[found.start("unit") - 1].isdigit() or (len(unit) < 4 and unit.isalpha())


def _converted(unit: str) -> tuple[str, Decimal]:
    base, factor = _UNITS.get(unit, (unit, "1"))
    return base, Decimal(factor)


def agree(a: Quantity, b: Quantity) -> bool | None:
    """Say whether two quantities can be the same thing to the digits written; None when units do not compare."""
    if a.unit != b.unit:
        return None
    bounds = None in (a.low, a.high, b.low, b.high)
    slack = Decimal(0) if bounds else max(a.step, b.step) / 2  # a bound is not a rounded number
    apart_one = a.low is not None and b.high is not None and a.low - b.high > slack
    apart_other = b.low is not None and a.high is not None and b.low - a.high > slack
    return not (apart_one or apart_other)


def canonical(quantity: Quantity) -> str:
    """Return one spelling for equal quantities: `5 mg` and `0.005 g` give the same; it parses to an equal one."""
    low = "" if quantity.low is None else _plain(quantity.low)
    high = "" if quantity.high is None else _plain(quantity.high)
    if quantity.low is None:
        number = f"<{high}"
    elif quantity.high is None:
        number = f">{low}"
    else:
        number = low if low == high else f"{low} to {high}"
    return f"{number} {quantity.unit}".strip()


def _plain(number: Decimal) -> str:
    """Return a number with the digits it was written with, as those say how exact it is."""
    return f"{number:E}".lower() if abs(number.adjusted()) > 15 else f"{number:f}"
