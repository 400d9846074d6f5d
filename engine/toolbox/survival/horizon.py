"""Moments that people name in a unit of their own: `within 3 years` where the column counts days."""

from __future__ import annotations

TIME_UNITS = ("", "days", "weeks", "months", "years")
NOT_TOLD = r"(?<!= )(?<![=.,])"
"""`1 month = 30.4 days` tells no moment."""
UNIT_WORDS = [
    rf"{unit}s: {NOT_TOLD}\d[\d.,]*[\s-]*(?:{unit}s?|{short})\b"
    for unit, short in (("day", "d"), ("week", "wks?"), ("month", "mo|mths?"), ("year", "yrs?|y"))
]
"""What people say for the unit of a moment, as a parameter's `words`."""


def unit_of_times(column, told):
    """Return days, weeks, months, years or "" for a column: as told, else as its name says (os_months, days)."""
    import re

    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", f"{told or column}").casefold())
    for unit, shorts in (("days", "day days d tage jours dias"), ("weeks", "week weeks wk wks wochen semaines semanas"),
                         ("months", "month months mo mos mon mth mths monate mois meses"),
                         ("years", "year years yr yrs jahre ans anos")):  # fmt: skip
        if any(word in shorts.split() for word in words):
            return unit
    return told


def horizon_in_unit(value, said, unit, column):
    """Return (a moment in the unit of the column, warnings): 3 years are 36 months or 1096 days.

    Raises:
        ValueError: where it is said in a unit and that of the column is not known.
    """
    days = {"days": 1.0, "weeks": 7.0, "months": 365.25 / 12, "years": 365.25}
    if not said or said == unit:
        return float(value), []
    if unit not in days:
        raise ValueError(
            f"{value:g} {said} cannot be found among the times: the unit of {column!r} is not known. "
            "Set time_unit to days, weeks, months or years."
        )
    moment = float(value) * days[said] / days[unit]
    return moment, [f"{value:g} {said} are {moment:g} {unit}, the unit of {column}."]
