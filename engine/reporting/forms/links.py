"""Finds, for every number in a finding's sentence, where a reader can check it.

A number is linked only when its value, at the digits shown, is one the finding carries, one in the row it
points to, or a setting of its step. A number that fits none stays plain: a wrong link would be worse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from engine.domain.findings import Finding
from engine.reporting.numbers import parse_number

_NUMBER = re.compile(
    r"(?<![\w.,])(?<![A-Za-z]-)"  # not inside an identifier such as ENSG000001, v1.2 or HLA-2
    r"(?P<sign>[-−+]?)(?P<body>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-−+]?\d+)?)"
    r"(?![\w])(?P<percent>\s?%)?"
)


class Piece(NamedTuple):
    """A stretch of a sentence; `target` is an anchor when it is a number that can be looked up."""

    text: str
    target: str = ""
    column: str = ""
    """The column of the row at `target` whose cell holds the number, where there is one."""
    named: tuple[str, str] = ("", "")
    """Name of the finding's value that it is, and which of it: `value`, `lower_95`, `upper_95` or `n`."""


class LinkPlaces(NamedTuple):
    """Where the numbers of a finding can be looked up."""

    values: str
    """Anchor of the row (or table) that shows the finding."""
    settings: str = ""
    """Anchor of the step's method paragraph."""


def linked(
    finding: Finding,
    places: LinkPlaces,
    cells: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Piece]:
    """Return the finding's sentence in pieces, its numbers with the anchors that show them."""
    shown = list(_numbers_of(finding))
    given = [value for value in _flat((settings or {}).values()) if value is not None]
    pieces: list[Piece] = []
    end = 0
    for match in _NUMBER.finditer(finding.text):
        target, column = "", ""
        if places.values and not _is_level(match, finding, given):
            column = _column(match, finding, cells or {})
            target = places.values if column or _fits(match, shown) else ""
        if not target and places.settings and _fits(match, _plain_numbers(given), exact=True):
            target = places.settings
        if target:
            stop = match.end("body")
            number = Piece(finding.text[match.start() : stop], target, column, _named(match, finding))
            pieces += [Piece(finding.text[end : match.start()]), number]
            end = stop
    pieces.append(Piece(finding.text[end:]))
    return [piece for piece in pieces if piece.text]


def _is_level(match: re.Match[str], finding: Finding, given: Iterable[Any]) -> bool:
    """Say whether a number is the name of a group or an event, as in `cens = 1` or `dose 2`, and so no result."""
    before = re.search(r"([^\s(,;:=][^(,;:=]*?)\s*(==?)?\s*$", match.string[: match.start()])
    if before is None:
        return False
    names = {name for name in (*given, *finding.row) if isinstance(name, str) and name}
    if not any(re.search(rf"(?<!\w){re.escape(name)}$", before[1]) for name in names):
        return False
    levels = {str(value) for value in (*given, *finding.row.values())}
    return before[2] is not None or match["sign"] + match["body"] in levels


def _named(match: re.Match[str], finding: Finding) -> tuple[str, str]:
    """Return the value of the finding that a number is; two values that fit are told apart by no guess."""
    parts = [
        (value.name, part)
        for value in finding.values
        for part, number in (("value", value.value), ("lower_95", value.low), ("upper_95", value.high), ("n", value.n))
        if _fits(match, _plain_numbers([number]))
    ]
    return parts[0] if len(parts) == 1 else ("", "")


def _column(match: re.Match[str], finding: Finding, cells: Mapping[str, str]) -> str:
    """Return the column whose cell holds the number: of the values the finding names, then any other, a key last."""
    numbers = {name: number for name, text in cells.items() if (number := parse_number(text)) is not None}
    named = [value.name for value in finding.values if value.name in numbers]
    rest = [name for name in numbers if name not in named]
    for name in (*named, *sorted(rest, key=lambda name: name in finding.row)):
        if _fits(match, [numbers[name]]):
            return name
    return ""


def _numbers_of(finding: Finding) -> Iterable[float]:
    for value in finding.values:
        yield from _plain_numbers((value.value, value.low, value.high, value.n))


def _plain_numbers(values: Iterable[Any]) -> Iterable[float]:
    for value in values:
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield float(value)


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from value
        else:
            yield value


def _fits(match: re.Match[str], candidates: Iterable[float], *, exact: bool = False) -> bool:
    """Say whether the number as written is one of the candidates, rounded to the digits shown."""
    body = match["body"].replace(",", "").replace("−", "-")
    number = float(body) * (-1 if match["sign"] in ("-", "−") else 1)
    mantissa, _, exponent = body.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    half = 0.5 * 10.0 ** (int(exponent or 0) - decimals)
    for candidate in candidates:
        for scale in (1.0, 100.0) if match["percent"] else (1.0,):
            value = candidate * scale
            if not match["sign"]:  # "lower by 3.7" states the size of -3.7
                value = abs(value)
            # A small whole number is a count: 2 must not be taken for 1.7 rounded.
            whole = decimals == 0 and not exponent and abs(number) < 10
            tolerance = 1e-9 * max(1.0, abs(number)) if exact or whole else half * 1.000001
            if abs(value - number) <= tolerance:
                return True
    return False
