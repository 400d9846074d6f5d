"""Says how a new column is computed: by arithmetic with columns' names or words, or as a named quantity (body mass index).

What can be read in two ways (`a minus b divided by c`) or stands beside something that is no column is not read at all: a wrong
formula is worse than none.
"""

from __future__ import annotations

import re

from engine.planning.binding.rows import condition
from engine.planning.formulas.arithmetic import TwoWays
from engine.planning.formulas.derived import quantity
from engine.planning.formulas.expressions import expressions
from engine.planning.formulas.terms import pieces
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data
from engine.text.letters import plain
from engine.text.names import one_word

_GENERIC = frozenset(
    "it this that column variable new col var field value please which with from for of as to a the an named called in is".split()
)
_CALLED = re.compile(
    r"\b(?:call|name|label|calling|naming|called|named|labelled)\s+(?:(?:it|this|that|the (?:new )?(?:column|variable|result))\s+)?"
    r"(?:[\"'`“]([^\"'`”]+)[\"'`”]|([A-Za-z]\w*))|"
    r"\bnew (?:column|variable|col|var|field)s?\b\s*[:,]?\s*(?:[\"'`“]([^\"'`”]+)[\"'`”]|([A-Za-z]\w*)(?=\s*(?:$|[.,;?!:=]|as\b|from\b|with\b|that is|which is|equal)))|"
    r"([A-Za-z]\w*)\s*(?:=(?!=)|<-|:=)(?=\s*[(`\w])",
    re.IGNORECASE,
)  # fmt: skip


def said_name(reading: Reading, data: Data) -> str:
    """Return what the question calls the new column (`call it x`, `new column x`, `x = ...`), or ""."""
    for match in _CALLED.finditer(reading.question):
        name = next(part for part in match.groups() if part).strip(" .,;")
        if plain(name) not in _GENERIC and data.column(name) is None:
            for said in (match, *re.finditer(rf"\b{re.escape(name)}\b", reading.question)):
                reading.mark_text(*said.span(), "asked", name)
            return name
    return ""


def propose(reading: Reading, data: Data) -> tuple[tuple[str, str] | None, str]:
    """Return (name, expression) of the new column asked for, or None and why there is none; marks the words it used."""
    names = [column.name for column in data.columns()]
    if re.search(r"\b(?:revers\w+|turned round|other way round)\b", reading.question, re.IGNORECASE):
        return (
            None,
            "Items that are reversed need their largest value; write the formula, for example `(6 - item3) + item4`.",
        )
    known, problem = quantity(reading, data)
    try:
        cut = pieces(reading, data)
        found = expressions(cut, names)
    except TwoWays as two:
        return (known, "") if known else (None, str(two))
    best = found[0].node if found else None
    if (known or problem) and (best is None or len(best.columns) < 2):
        return ((_free(said_name(reading, data) or known[0], names), known[1]), "") if known else (None, problem)
    if best is None:
        flag = _flag(reading, data)
        return ((_free(said_name(reading, data) or flag[0], names), flag[1]), "") if flag else (None, "")
    reading.mark_text(cut[found[0].first].start, cut[found[0].last - 1].end, "asked", best.text)
    return (_free(said_name(reading, data) or best.name[:60], names), best.text), ""


_FLAGS = re.compile(
    r"\b(?:flag|mark|indicator|binary|yes|no|true|false|dummy|says?|whether|high|low)\b|\b[01] (?:if|when|for|otherwise)\b",
    re.IGNORECASE,
)


def _flag(reading: Reading, data: Data) -> tuple[str, str] | None:
    """Return a column that says whether a condition holds: `yes if age is over 65`."""
    rows = [item for item in reading.restrictions if item.op not in ("in", "not in")]
    if not rows or len(rows) < len(reading.restrictions) or not _FLAGS.search(reading.question):
        return None
    words = {">": "above", ">=": "at_least", "<": "below", "<=": "at_most", "between": "between"}
    name = "_and_".join(one_word("_".join([item.column, words[item.op], *item.values])) for item in rows)
    return name, condition(rows, data)


def formula(reading: Reading, data: Data) -> tuple[str, str] | None:
    """Return (name, expression) of the new column that a question asks for, or None when it does not say how."""
    return propose(reading, data)[0]


def _free(name: str, names: list[str]) -> str:
    """Return the name, with a number behind it when a column has it already."""
    number = 2
    free = name
    while free in names:
        free, number = f"{name}_{number}", number + 1
    return free
