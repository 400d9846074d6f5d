"""Words of a question or of a column's name, cut and brought to one form, so that both can be compared.

`week twelve`, `Wk12`, `w12` and `the twelfth week` all give the tokens `week`, `12`; `β-catenin` gives `beta`, `catenin`;
`flipperLength_mm` gives `flipper`, `length`, `mm`. The stems are Snowball's (Porter 2001).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Token(NamedTuple):
    """A word or number: its text in lower case, its stem, and where it stands in the original text."""

    text: str
    stem: str
    start: int
    end: int

    @property
    def number(self) -> float | None:
        """The number this token is, or None."""
        return as_number(self.text)


_GREEK = {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "κ": "kappa", "λ": "lambda", "σ": "sigma",
          "τ": "tau", "ω": "omega", "µ": "u", "μ": "u", "π": "pi", "χ": "chi", "ρ": "rho", "ß": "ss"}  # fmt: skip
_ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ORDINALS = ["zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"]  # fmt: skip
_NUMBERS = {word: str(value) for value, word in enumerate(_ONES)} | {
    word: str(20 + 10 * at) for at, word in enumerate(_TENS)
}
CARDINALS = frozenset(_NUMBERS)
_NUMBERS |= {"hundred": "100", "thousand": "1000"}
_ORDINAL_NUMBERS = {word: str(value) for value, word in enumerate(_ORDINALS)} | {"thirtieth": "30"}
_TIME_UNITS = {"w": "week", "wk": "week", "wks": "week", "week": "week", "weeks": "week", "wo": "week", "woche": "week",
               "d": "day", "day": "day", "days": "day", "tag": "day", "m": "month", "mo": "month", "mon": "month", "mth": "month",
               "month": "month", "months": "month", "monat": "month", "y": "year", "yr": "year", "yrs": "year", "year": "year",
               "years": "year", "jahr": "year", "h": "hour", "hr": "hour", "hrs": "hour", "hour": "hour", "hours": "hour",
               "min": "minute", "mins": "minute", "minute": "minute", "minutes": "minute", "s": "second", "sec": "second",
               "v": "visit", "visit": "visit", "visits": "visit",
               "j": "day", "jour": "day", "jours": "day", "tage": "day", "dia": "day", "dias": "day", "semaine": "week",
               "semaines": "week", "wochen": "week", "semana": "week", "semanas": "week", "mois": "month", "monate": "month",
               "mes": "month", "meses": "month", "jahre": "year", "ans": "year", "anos": "year", "heure": "hour",
               "heures": "hour", "stunde": "hour", "stunden": "hour", "hora": "hour", "horas": "hour"}  # fmt: skip
_PIECE = re.compile(r"\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?|[^\W\d_]+", re.UNICODE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@functools.cache
def _snowball() -> object:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


@functools.lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; short words and numbers stay as they are."""
    if len(word) <= 3 or word[0].isdigit():
        return word
    return _snowball().stemWord(word)  # type: ignore[attr-defined]


def plain(text: str) -> str:
    """Return text in lower case with Greek letters written out and accents taken off; its length may change."""
    text = "".join(_GREEK.get(letter, letter) for letter in text.lower())
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def as_number(text: str) -> float | None:
    """Return the number a token writes, with a decimal point or comma, else None."""
    if not text or not text[0].isdigit():
        return None
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+", text):
        text = text.replace(",", "")
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def tokens(text: str) -> list[Token]:
    """Return the words and numbers of a sentence; number words become digits, `12th` and `twelfth` become `12`."""
    found: list[Token] = []
    for match in _PIECE.finditer(text):
        word = plain(match.group(0))
        if word in ("st", "nd", "rd", "th") and found and found[-1].end == match.start() and found[-1].text.isdigit():
            found[-1] = found[-1]._replace(end=match.end())
            continue
        if word == "s" and match.start() and text[match.start() - 1] in "'’":
            continue
        ordinal = _ORDINAL_NUMBERS.get(word) if word != "second" else None
        word = _NUMBERS.get(word) or ordinal or word
        found.append(Token(word, stem(word), match.start(), match.end()))
    return found


def one_slip_away(word: str, known: Iterable[str], shortest: int = 6) -> list[str]:
    """Return the known words of so many letters at least that are one slip of the pen away: `betwen`, `seperate`."""
    from rapidfuzz.distance import DamerauLevenshtein

    if len(word) < shortest:
        return []
    return sorted(w for w in known if len(w) >= shortest and DamerauLevenshtein.distance(w, word, score_cutoff=1) <= 1)


def name_pieces(name: str) -> list[str]:
    """Return the lower-case pieces of a name that signs and blanks set apart: `hba1c`, `pre` of `HbA1c_pre`."""
    return re.findall(r"[^\W_]+", plain(name))


def name_parts(name: str) -> list[str]:
    """Return the lower-case parts of a column's name or a level: cut at signs, digits and changes of case."""
    spaced = _CAMEL.sub(" ", name)
    return [_NUMBERS.get(word, word) for word in (plain(piece) for piece in _PIECE.findall(spaced))]


def timed(words: Sequence[str]) -> str:
    """Return the one form of a point in time (`week12`) for `wk 12`, `12 week`, `w12` as parts, or ""."""
    if len(words) != 2:
        return ""
    first, second = words
    if as_number(second) is not None and first in _TIME_UNITS:
        return f"{_TIME_UNITS[first]}{as_number(second):g}"
    if as_number(first) is not None and second in _TIME_UNITS:
        return f"{_TIME_UNITS[second]}{as_number(first):g}"
    return ""


def time_unit(word: str) -> str:
    """Return the unit of time that a word or abbreviation of at least two letters names, or ""."""
    return _TIME_UNITS.get(word, "") if len(word) > 1 else ""
