"""Numbers as texts write them: digits with a point or comma, cardinals and ordinals in words."""

from __future__ import annotations

import re

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_UNDER_HUNDRED = {word: str(value) for value, word in enumerate(_ONES.split())} | {
    word: str(20 + 10 * at) for at, word in enumerate(_TENS.split())
}
CARDINALS = frozenset(_UNDER_HUNDRED)
"""The words for 0 to 20 and the tens below 100."""
NUMBER_WORDS = _UNDER_HUNDRED | {"hundred": "100", "thousand": "1000"}
"""Word -> its number in digits."""
ORDINALS = {word: str(value) for value, word in enumerate(_ORDINALS.split())} | {"thirtieth": "30"}
"""Ordinal -> its number in digits."""
del ORDINALS["second"]  # is a unit of time at least as often


def as_number(text: str) -> float | None:
    """Return the number a text writes, with a decimal point or comma, else None."""
    if not text or not text[0].isdigit():
        return None
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+", text):
        text = text.replace(",", "")
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None
