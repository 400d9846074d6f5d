"""Holds what a model wrote against what was computed: a number that no cited finding has is not let through."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.domain.findings import Finding

_NUMBER = re.compile(r"(?<![\w.])[-−+]?(?:[1-9]\d{0,2}(?:[,\u202f ]\d{3})+(?!\d)|\d+)(?:[.,]\d+)?(?:[eE][-−+]?\d+)?")
_NAME = re.compile(r"(?<![\w.,])(?!\d+[eE][-−+]?\d)\w*(?:\d[A-Za-z]|[A-Za-z]\d)[\w-]*")
"""A word of letters and digits: a name (`13C6-Glucose`, `D21`), if it stands so elsewhere."""
_SMALL_WORDS = 2.0
"""Whole numbers up to this are also words: `one of the two groups`."""


def numbers_in(text: str) -> Iterator[tuple[str, float, int]]:
    """Yield the numbers of a sentence: as written, their value, and how many digits stand behind the point."""
    for match in _NUMBER.finditer(text):
        written = match[0]
        plain = re.sub(r"(?<=\d)[,\u202f ](?=\d{3}(?:\D|$))", "", written).replace("−", "-").replace(",", ".")
        mantissa = re.split("[eE]", plain)[0]
        yield written, float(plain), len(mantissa.partition(".")[2])


def unfounded(text: str, findings: Iterable[Finding], *more: str) -> list[str]:
    """Return the numbers of a sentence that neither findings nor further texts have, as they are written.

    A number is had when it is that of a finding, rounded to the digits that are written, as it is, as a percentage or
    without its sign (`29 % lower` for a difference of -0.29).
    """
    findings = list(findings)
    named = {name[0] for other in [*more, *(finding.text for finding in findings)] for name in _NAME.finditer(other)}
    text = _NAME.sub(lambda name: "" if name[0] in named else name[0], text)
    # `day 21` may be said of `D21` in the question.
    known = [value for other in more for _, value, _ in numbers_in(re.sub(r"(?<=[A-Za-z])(?=\d)", " ", other))]
    for finding in findings:
        known += [value for _, value, _ in numbers_in(finding.text)]
        for item in finding.values:
            own = (item.value, item.low, item.high, item.n)
            known += [float(n) for n in own if isinstance(n, int | float) and not isinstance(n, bool)]
    known += [100 * value for value in known]
    return [
        written
        for written, value, digits in numbers_in(text)
        if not (digits == 0 and 0 <= value <= _SMALL_WORDS)
        and not any(_rounds_to(abs(other), abs(value), written, digits) for other in known)
    ]


def _rounds_to(exact: float, value: float, written: str, digits: int) -> bool:
    if "e" in written.lower():  # a p of 1.23e-8 written as 1.2e-8
        return value != 0 and abs(exact - value) <= 0.5 * 10 ** (_exponent(value) - digits) * (1 + 1e-9)
    return abs(exact - value) <= 0.5 * 10**-digits * (1 + 1e-9)


def _exponent(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])
