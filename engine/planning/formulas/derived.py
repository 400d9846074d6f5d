"""Named quantities that are computed from others (body mass index from weight and height), with their units.

What there is stands in `derived.tsv` beside the tool that computes columns. A quantity is written `name=words[units]`; the units
are those the formula takes and factors for others (`kg|g*0.001`), `unit?` is assumed where none is stated, `?` needs none and
`=` only the same as the others have.
"""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import NamedTuple

from engine.domain.profile import ColumnProfile
from engine.planning.naming.overlaps import find
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, is_number
from engine.text.letters import plain
from engine.text.tokens import tokens

_TOLD = 0.75
"""From this strength on a column's name is taken for the words of a quantity."""


class Part(NamedTuple):
    """A quantity that a formula needs."""

    name: str
    words: tuple[str, ...]
    units: dict[str, float]
    """Unit -> factor to the one of the formula; empty where none is needed."""
    assumed: bool
    same: bool


class Derived(NamedTuple):
    """A quantity with a name and a formula."""

    name: str
    words: re.Pattern[str]
    parts: tuple[Part, ...]
    formula: str


@functools.cache
def known_quantities() -> tuple[Derived, ...]:
    """Return the quantities of `derived.tsv`."""
    text = resources.files("engine.toolbox.tables").joinpath("derived.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines()[1:] if line.strip()]
    return tuple(
        Derived(name, re.compile(rf"(?<!\w)(?:{words})(?!\w)"), tuple(map(_part, quantities.split("; "))), formula)
        for name, words, quantities, formula, _ in rows
    )


def _part(text: str) -> Part:
    match = re.fullmatch(r"(\w+)=([^\[]+)\[([^\]]*)\]", text)
    if match is None:
        raise ValueError(f"{text!r} in derived.tsv is no quantity; expected name=words[units].")
    units = {}
    for unit in match[3].split("|") if match[3] not in ("=", "?") else ():
        name, _, factor = unit.rstrip("?").partition("*")
        units[_plain_unit(name)] = float(factor or 1)
    return Part(match[1], tuple(match[2].split("|")), units, "?" in match[3], match[3] == "=")


def _plain_unit(unit: str) -> str:
    return plain(re.sub(r"[\s_]", "", unit))


def quantity(reading: Reading, data: Data) -> tuple[tuple[str, str] | None, str]:
    """Return (name, expression) of a named quantity that a question asks for, or None and what stands against it."""
    text = re.sub(r"[-_]", " ", reading.question.lower())
    for item in known_quantities():
        match = item.words.search(text)
        if match is not None and not _is_column(reading, *match.span()):
            found, problem = _bound(item, reading, data)
            if found is not None:
                reading.mark_text(*match.span(), "asked", found[0])
            return found, problem
    return None, ""


def _is_column(reading: Reading, start: int, end: int) -> bool:
    """Say whether these characters name a column that the data have."""
    words = reading.words
    return any(
        words[m.first].start <= start and words[m.last].end >= end and m.strength >= 0.85 and not m.level
        for m in reading.mentions
    )


def _bound(item: Derived, reading: Reading, data: Data) -> tuple[tuple[str, str] | None, str]:
    terms: dict[str, str] = {}
    taken: dict[str, str] = {}
    """Column -> its unit, of those that must have one unit."""
    for part in item.parts:
        column, problem = _column(part, reading, data)
        if column is None:
            return None, f"{item.name} needs {part.name}: {problem}"
        unit, quoted = _plain_unit(_unit(column, reading)), f"`{column.name}`"
        if any(quoted in term for term in terms.values()):
            return None, f"{item.name} needs {part.name} in a column of its own."
        if part.same:
            taken[column.name] = unit
        if part.units and unit not in part.units and (unit or not part.assumed):
            what = f"{unit!r}, which is none of those known" if unit else "not known"
            say = f"say it as in `{column.name} in {next(iter(part.units))}` ({', '.join(part.units)})."
            return None, f"{item.name} needs the unit of {column.name!r}, which is {what}; {say}"
        factor = part.units.get(unit, 1.0)
        terms[part.name] = quoted if factor == 1 else f"({quoted} * {factor:.10g})"
    if len(set(taken.values())) > 1:
        units = ", ".join(f"{name} in {unit or 'an unknown unit'}" for name, unit in taken.items())
        return None, f"{item.name} needs columns of one unit, not {units}."
    expression = re.sub(rf"\b(?:{'|'.join(terms)})\b", lambda match: terms[match[0]], item.formula)
    return (item.name, expression), ""


def _column(part: Part, reading: Reading, data: Data) -> tuple[ColumnProfile | None, str]:
    """Return the column that holds a quantity: one the question names before others; several that fit equally are none."""
    able = [column for column in data.columns() if is_number(column)]
    named = [column for column in able if column.name in reading.named()]
    for columns in (named, able):
        for words in part.words:
            hits = [
                m
                for m in find(words, columns)
                if m.width == len(tokens(words)) and not m.level and (m.strength >= _TOLD or m.rivals)
            ]
            if hits and hits[0].rivals:
                return (
                    None,
                    f"{hits[0].column!r} and {', '.join(map(repr, hits[0].rivals[:3]))} could be it. Name the one that is meant.",
                )
            if hits:
                return next(column for column in columns if column.name == hits[0].column), ""
    return None, f"no column is called {' or '.join(part.words[:2])}."


def _unit(column: ColumnProfile, reading: Reading) -> str:
    """Return the unit of a column: the one the question gives it (`weight in kg`), else the one the data state."""
    for mention in reading.mentions:
        if mention.column == column.name and not mention.level:
            after = reading.question[reading.words[mention.last].end :]
            if said := re.match(r"\s*(?:\(?\s*in\s+|\(\s*|\[\s*)([^\W\d_][\w/^]*)", after):
                return said[1]
    return column.unit
