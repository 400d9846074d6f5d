"""Reads which rows come first: `the ten heaviest birds`, `which 3 plots have the lowest yield`, `more than 20 ticks on average`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from engine.domain.plan import OpenQuestion
from engine.domain.profile import ColumnProfile
from engine.errors import PlanError
from engine.planning.binding.bound import Bound
from engine.planning.naming.numbers import top_n
from engine.planning.reading.reading import Reading, Restriction
from engine.planning.tables.sheets import Data, is_number
from engine.text.numbers import as_number
from engine.text.tokens import tokens

_HIGH = (r"highest|largest|biggest|greatest|heaviest|longest|tallest|oldest|thickest|hottest|warmest|fastest|strongest|widest|deepest|latest|"
         r"top|most|maximum|maximal|largest|richest|busiest|newest|best")  # fmt: skip
_LOW = (r"lowest|smallest|least|fewest|lightest|shortest|youngest|thinnest|coldest|coolest|slowest|weakest|narrowest|shallowest|earliest|"
        r"bottom|minimum|minimal|poorest|worst")  # fmt: skip
_SUPERLATIVE = re.compile(rf"(?<!\bat )\b(?:(?P<high>{_HIGH})|(?P<low>{_LOW}))\b", re.IGNORECASE)
_SORTED = re.compile(
    r"\b(?:sort(?:ed)?|order(?:ed)?|rank(?:ed)?|arrange[d]?)\b|\bin (?:ascending|descending|increasing|decreasing) order\b|"
    r"\b(?:highest|largest|biggest|heaviest|longest|oldest|latest|lowest|smallest|lightest|shortest|youngest|earliest)\s+first\b", re.IGNORECASE,
)  # fmt: skip
_RISING = re.compile(r"\b(?:ascending|increasing|(?:lowest|smallest|lightest|shortest|youngest|earliest)\s+first|(?:low|small|short|light)\w* to|from (?:the )?(?:low|small|short|light|young)\w*)\b", re.IGNORECASE)  # fmt: skip
_MANY = re.compile(
    r"\b(?:which|what|the|list|show|give me|name|find|who are)\s+(?:me\s+)?(?:the\s+)?(?P<n>(?!me\b|the\b)\w+)\s+(?!%|percent|years?\b|kg\b|cm\b)[a-z]+",
    re.IGNORECASE,
)
_NUMBERED = re.compile(rf"\b(?:{_HIGH}|{_LOW}|first)\s+(?P<n>\w+)\s+[a-z]", re.IGNORECASE)
_ONE = re.compile(
    rf"\b(?:which|what|who)\s+(?:(?!are\b)\w+\s+){{0,3}}?(?:is|was|has|had)\s+(?:the\s+)?(?:\w+\s+){{0,1}}?(?:{_HIGH}|{_LOW})\b",
    re.IGNORECASE,
)
_AGGREGATE = (
    ("mean", r"\bon average\b|\baverages?\b|\bmean\b"),
    ("median", r"\bmedian\b"),
    ("sum", r"\bin total\b|\btotal\b|\baltogether\b"),
)
_MORE = re.compile(
    r"\b(?P<w>more than|over|above|at least|less than|fewer than|under|below|at most)\s+(?P<n>\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_SIGN = {
    "more than": ">",
    "over": ">",
    "above": ">",
    "at least": ">=",
    "less than": "<",
    "fewer than": "<",
    "under": "<",
    "below": "<",
    "at most": "<=",
}


class Order(NamedTuple):
    """The rows that come first."""

    sort_by: str
    order: str
    top: int
    """How many; 0 for all."""
    unsure: str = ""
    """The word whose direction depends on what the column measures (`best`)."""


def order_said(reading: Reading, data: Data) -> Order | None:
    """Return the order that a question asks for, or None; `sort_by` is "" where no column is named for it."""
    text = reading.question
    said, superlative = _SORTED.search(text), _SUPERLATIVE.search(text)
    count = how_many(reading)
    if said is None and superlative is None:
        return None
    if said is not None:
        column = _nearest(reading, data, said.start())
        order = "ascending" if _RISING.search(text) else "descending"
        return Order(column, order, count)
    assert superlative is not None
    column = _nearest(reading, data, superlative.start())
    low = superlative["low"] is not None
    word = superlative[0].lower()
    profile = data.column(column)
    if profile is not None and _turned(word, profile):
        low = not low
    if not count and _ONE.search(text):
        count = 1
    unsure = word if word in ("best", "worst", "poorest") else ""
    return Order(column, "ascending" if low else "descending", count, unsure)


def _turned(word: str, column: ColumnProfile) -> bool:
    """Say whether the word counts the other way: the oldest is born first, the fastest needs the least time."""
    years = column.scale == "date" or ((column.minimum or 0) >= 1800 and (column.maximum or 0) <= 2200)
    if word in ("oldest", "youngest"):
        return years
    return word in ("fastest", "slowest") and (
        column.role("time") >= 0.5 or column.unit.lower() in ("s", "sec", "ms", "min", "h")
    )


def how_many(reading: Reading) -> int:
    """Return how many rows are asked for (`the ten heaviest`, `which 3 plots`), or 0."""
    said = reading.top or top_n(reading.question)
    if said is not None:
        return int(said.value)
    for match in (*_NUMBERED.finditer(reading.question), *_MANY.finditer(reading.question)):
        spelt = tokens(match["n"])
        value = as_number(spelt[0].text) if len(spelt) == 1 else None
        if value and float(value).is_integer():
            return int(value)
    return 0


def _nearest(reading: Reading, data: Data, at: int) -> str:
    """Return the number or date column named at a place of the question, else the next one behind it, else before it."""
    words = reading.words
    able = [
        m for m in reading.mentions
        if not m.level and m.strength >= 0.5 and (c := data.column(m.column)) and (is_number(c) or c.scale == "date")
    ]  # fmt: skip
    told = [
        m
        for m in able
        if re.search(r"\b(?:by|according to|in terms of)\s+(?:the\s+)?$", reading.question[: words[m.first].start])
    ]
    if told and words[told[-1].last].end > at:
        return told[-1].column
    behind = [m for m in able if words[m.last].end > at]
    return behind[0].column if behind else able[-1].column if able else ""


class SummaryBy(NamedTuple):
    """Levels that are summarised before rows are chosen."""

    by: str
    aggregate: str
    rows: tuple[Restriction, ...]
    """Conditions on the summary beyond those that the reading has."""


def summary_said(reading: Reading, data: Data, rows: Sequence[Restriction]) -> SummaryBy | None:
    """Return what is summarised where a question chooses groups by a summary: `which broods have on average more than 20 ticks`."""
    found = next((name for name, pattern in _AGGREGATE if re.search(pattern, reading.question, re.IGNORECASE)), "")
    groups = [m for m in reading.mentions if not m.level and (c := data.column(m.column)) and _groups(c)]
    if (
        not found
        or not groups
        or not re.search(r"\b(?:which|what|whose|list|show|name|find)\b", reading.question, re.IGNORECASE)
    ):
        return None
    by = groups[0]
    extra = []
    if match := _MORE.search(reading.question):
        column = _nearest(reading, data, match.start())
        if column and not any(item.column == column for item in rows):
            at = [n for n, token in enumerate(reading.words) if match.start() <= token.start < match.end("n")]
            extra = [Restriction(column, _SIGN[match["w"].lower()], (match["n"],), at[0], at[-1], True)]  # type: ignore[arg-type]
    return SummaryBy(by.column, found, tuple(extra))


def _groups(column: ColumnProfile) -> bool:
    """Say whether several rows share a level of a column."""
    return column.scale in ("category", "code", "ordered", "binary", "identifier", "text")


def fill_order(bound: Bound, reading: Reading, data: Data) -> None:
    """Settle by which column rows are put in order, how many are kept and what is summarised first, from the words.

    Raises:
        PlanError: when some rows are asked for but not by which column, or a summary of some rows only.
    """
    names = {p.role: p.name for p in bound.spec.params if p.role in ("sort", "by")}
    if "sort" not in names or not reading.question:  # without words what was told stands
        return
    for name in (*names.values(), "order", "top_n", "aggregate"):
        bound.params.pop(name, None)
    order = order_said(reading, data)
    if order is not None and not order.sort_by and (order.top or not bound.rows):
        able = ", ".join(c.name for c in data.columns() if is_number(c))
        message = "The question asks for the first rows, but not in the order of which column."
        raise PlanError(message, advice=f"Name the column; the numbers are in {able}.")
    if order is not None and order.sort_by:
        bound.params |= {names["sort"]: order.sort_by, "order": order.order} | (
            {"top_n": order.top} if order.top else {}
        )
        for match in (_SUPERLATIVE.search(reading.question), _SORTED.search(reading.question)):
            if match:
                reading.mark_text(*match.span(), "asked", f"{order.order} {order.sort_by}")
        if order.unsure:
            text = (
                f"Is the {order.unsure} the {'highest' if order.order == 'descending' else 'lowest'} {order.sort_by}?"
            )
            bound.questions.append(
                OpenQuestion(id="order", text=text, why="What is good depends on what is measured.", param="order",
                             proposed=order.order, choices=["descending", "ascending"])
            )  # fmt: skip
    summary = summary_said(reading, data, bound.rows) if "by" in names else None
    if summary is None or not (summary.rows or bound.rows or order):
        return
    about = {item.column for item in (*summary.rows, *bound.rows)} | ({order.sort_by} if order else set[str]())
    others = sorted(name for name in about if not (c := data.column(name)) or not is_number(c) or name == summary.by)
    if others or len({item.column for item in bound.rows}) > 1:
        message = f"The question chooses levels of {summary.by!r} by a summary and rows by {', '.join(others) or 'another column'} at once."
        raise PlanError(message, advice="Ask in two steps: keep the rows first, then choose by the summary.")
    bound.rows += summary.rows
    bound.params |= {names["by"]: summary.by, "aggregate": summary.aggregate}
