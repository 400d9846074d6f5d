"""Units of time as columns and questions write them, in English, German, French and Spanish."""

from __future__ import annotations

from collections.abc import Sequence

from engine.text.numbers import as_number

_WRITTEN = {
    "second": "s sec second seconds",
    "minute": "min mins minute minutes",
    "hour": "h hr hrs hour hours heure heures stunde stunden hora horas",
    "day": "d day days tag tage j jour jours dia dias",
    "week": "w wk wks week weeks wo woche wochen semaine semaines semana semanas",
    "month": "m mo mon mth mths mnth mnths month months monat monate mois mes meses",
    "year": "y yr yrs year years jahr jahre ans anos",
    "visit": "v visit visits",
}
UNITS_OF_TIME = {word: unit for unit, words in _WRITTEN.items() for word in words.split()}
"""Word or abbreviation without accents -> unit; a visit orders as one."""
_SINCE = {"hour": "hpi hpf hpt hpa", "day": "dpi dpf dpt dpa dap dai", "week": "wpi wpf wpt"}
UNITS_OF_TIME |= {word: unit for unit, words in _SINCE.items() for word in words.split()}
"""How columns of hours, days and weeks since infection, treatment, planting or the like are called."""
_DAYS: dict[str, float] = {
    "second": 1 / 86400,
    "minute": 1 / 1440,
    "hour": 1 / 24,
    "day": 1,
    "week": 7,
    "month": 30.4,
    "year": 365,
}
DAYS = {word: _DAYS[unit] for word, unit in UNITS_OF_TIME.items() if unit in _DAYS} | {"an": 365.0, "ano": 365.0}
"""Word or abbreviation of a unit of time -> how many days it is; `an` is a year beside a number only."""


def timed(words: Sequence[str]) -> str:
    """Return the one form of a point in time (`week12`) for `wk 12`, `12 week`, `w12` as parts, or ""."""
    if len(words) != 2:
        return ""
    for unit, number in (words, words[::-1]):
        if as_number(number) is not None and unit in UNITS_OF_TIME:
            return f"{UNITS_OF_TIME[unit]}{as_number(number):g}"
    return ""


def time_unit(word: str) -> str:
    """Return the unit of time that a word or abbreviation of at least two letters names, or ""."""
    return UNITS_OF_TIME.get(word, "") if len(word) > 1 else ""
