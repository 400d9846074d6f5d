"""What the words of a question say: one value for all fields, made by `read`, used by everything after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from engine.domain.plan import Span, Taken
from engine.planning.naming.coding import Coding
from engine.planning.naming.mention import ColumnMention
from engine.planning.naming.numbers import StatedNumber
from engine.text.numbers import as_number
from engine.text.tokens import Token

Part = Literal["outcome", "cause", "adjust", "by", "subject", "over", "exposure"]
"""What grammar makes of a column: what is measured, what may change it, what is held constant, what splits the rows, what repeats,
along which the rest is followed (`over time`), what counts are out of."""


_IS = frozenset("is are was were equals".split())
"""What may stand between a column and the level that rows are kept for: `where sex is female`."""


class Restriction(NamedTuple):
    """Rows to keep or to leave out."""

    column: str
    op: Literal["in", "not in", ">", ">=", "<", "<=", "between", "not between"]
    values: tuple[str, ...]
    first: int
    last: int
    sure: bool
    """False where the words could also name a group to compare (`in women`)."""
    out: bool = False
    """True of a number where the words name the rows that go (`exclude those over 60`): rows without a value stay."""
    whole: str = ""
    """The column of subjects of whom all rows go or stay where one of them has a value."""
    why: str = ""
    """What the plan says of it, where the words name no value but what a remark says."""
    either: bool = False
    """True where a row that meets it or the one before it is meant: `below 70 or fewer than 10000`."""

    def holds(self, level: str) -> bool:
        """Say whether a level meets it; what is no number meets every cut."""
        if self.op in ("in", "not in"):
            return (level in self.values) == (self.op == "in")
        value, (low, *high) = as_number(level), map(float, self.values)
        if value is None:
            return True
        if self.op in ("between", "not between"):
            return (low <= value <= high[0]) == (self.op == "between")
        return {">": value > low, ">=": value >= low, "<": value < low, "<=": value <= low}[self.op]


CUTS = (">", ">=", "<", "<=")
TURNED: dict[str, Literal["not in", ">", ">=", "<", "<=", "between", "not between"]] = {
    "in": "not in", ">": "<=", ">=": "<", "<": ">=", "<=": ">", "between": "not between"
}  # fmt: skip
"""What rows are kept by where those that meet it go."""


class Contrast(NamedTuple):
    """Two or more levels of one column that are set against each other."""

    column: str
    levels: tuple[str, ...]
    """In the order of the question; of two set against each other the first is the one of interest."""
    explicit: bool
    """True for `A versus B`, `higher in A than in B`, which fix the direction."""


class Request(NamedTuple):
    """A stretch of the question that asks for something: its tokens."""

    first: int
    last: int


Choices = Mapping[str, Mapping[str, Any]]
"""Tool -> parameter -> the value that a person chose for it."""


@dataclass(slots=True)
class Reading:
    """A question, read."""

    question: str
    words: list[Token]
    mentions: list[ColumnMention]
    """Columns and levels, no word used twice, in order."""
    masked: str = ""
    """The question with the kinds of data in place of the words that name them."""
    parts: dict[str, set[Part]] = field(default_factory=dict)
    """Column -> what grammar makes of it."""
    restrictions: list[Restriction] = field(default_factory=list)
    contrasts: list[Contrast] = field(default_factory=list)
    genes: list[tuple[str, int, int]] = field(default_factory=list)
    alpha: StatedNumber | None = None
    min_lfc: StatedNumber | None = None
    top: StatedNumber | None = None
    direction: str = ""
    paired: bool | None = None
    """True and False where the question says so."""
    asides: list[tuple[int, int]] = field(default_factory=list)
    """Stretches (from character, to) that say how the data are written and ask nothing."""
    every: bool = False
    """True for `which factors`, `all variables`: columns are not named but meant."""
    requests: list[Request] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """A sentence on each request that cannot be planned."""
    coding: dict[str, Coding] = field(default_factory=dict)
    """Column -> which of its codes the question says to mean yes and no."""
    ranges: dict[str, list[str]] = field(default_factory=dict)
    """Column -> the levels of a range of which the question names the ends."""
    spared: list[ColumnMention] = field(default_factory=list)
    """Levels named where rows are said to be left out or counted: their rows alone are never meant."""
    unclear: list[str] = field(default_factory=list)
    """Of rows named by remarks: what may be meant, where that could be two things."""
    nested: set[str] = field(default_factory=set[str])
    """Columns that are said to be nested in each other."""
    counted_for: set[str] = field(default_factory=set[str])
    """Columns that number things and only say what is counted for: `seeds per pod`."""
    shares: set[str] = field(default_factory=set)
    """Columns of one of whose levels the share is compared, however many levels they have."""
    explained: set[int] = field(default_factory=set)
    """The tokens that say so: they ask for nothing."""
    lived: bool = False
    """True where `lives longer` is asked of a length of life that is known of all, which needs no times to an event."""
    at: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Column -> the values at which something is to be expected."""
    chosen: Choices = field(default_factory=dict[str, Mapping[str, Any]])
    """The columns, levels and values that a person chose; they go before all words."""
    used: dict[int, tuple[Taken, str, float]] = field(default_factory=dict)
    """Token -> what it was taken for, so far."""

    def asking(self) -> str:
        """Return the question without what only says how the data are written."""
        text = list(self.question)
        for start, end in self.asides:
            text[start:end] = " " * (end - start)
        return " ".join("".join(text).split())

    def columns(self) -> list[str]:
        """Return the columns named, or one of whose levels is, in order, each once."""
        return list(dict.fromkeys(mention.column for mention in self.mentions))

    def named(self) -> list[str]:
        """Return the columns named themselves, in order."""
        # `month 4`, `7 dpi` and `3 to 7 dpi` name levels, not the column
        own = {(m.column, m.first - 1) for m in self.mentions if m.level}
        own |= {(m.column, m.last + 1) for m in self.mentions if m.level and self.words[m.last].number is not None}
        own |= {(r.column, r.last + 1) for r in self.restrictions if self.words[r.last].number is not None}
        own |= {(r.column, r.first - 2) for r in self.restrictions if r.sure and self.words[r.first - 1].text in _IS}
        return list(dict.fromkeys(m.column for m in self.mentions if not m.level and (m.column, m.last) not in own))

    def coded(self, column: str, levels: Iterable[str]) -> tuple[Coding | None, bool]:
        """Return what the codes of a column stand for, and whether that was said of it and not of others coded alike."""
        if column in self.coding:
            return self.coding[column], True
        alike = {coding for coding in self.coding.values() if {*coding} == {*levels}}
        return (alike.pop(), False) if len(alike) == 1 else (None, False)

    def strength(self, column: str) -> float:
        """Return how surely a column is named, 0 when it is not."""
        return max((m.strength for m in self.mentions if m.column == column), default=0.0)

    def levels(self, column: str) -> list[str]:
        """Return the levels of a column that are named, in order, with those between the ends of a range."""
        if column in self.ranges:
            return self.ranges[column]
        own = [r for r in self.restrictions if r.column == column]
        out = {value for r in own if r.op == "not in" for value in r.values}
        cuts = [r for r in own if r.op not in ("in", "not in")]  # `from day 2 on` names no day to compare
        named = [
            m.level
            for m in self.mentions
            if m.column == column
            and m.level not in ("", *out)
            and not any(r.first <= m.first <= r.last or not r.holds(m.level) for r in cuts)
        ]
        return list(dict.fromkeys(named))

    def levels_named(self) -> list[str]:
        """Return the columns of which a level is named."""
        return list(dict.fromkeys(m.column for m in self.mentions if m.level))

    def is_a(self, column: str, *parts: Part) -> bool:
        """Say whether grammar makes one of these of a column."""
        return bool(self.parts.get(column, set()).intersection(parts))

    def restricted(self) -> set[str]:
        """Return the columns that surely restrict the rows."""
        return {item.column for item in self.restrictions if item.sure}

    def mark(self, first: int, last: int, taken: Taken, value: str = "", strength: float = 1.0) -> None:
        """Note what tokens were taken for; what is marked already stays."""
        for at in range(first, last + 1):
            self.used.setdefault(at, (taken, value, strength))

    def mark_text(self, start: int, end: int, taken: Taken, value: str = "", strength: float = 1.0) -> None:
        """Note what the tokens that begin between two characters were taken for."""
        for at, token in enumerate(self.words):
            if start <= token.start < end:
                self.used.setdefault(at, (taken, value, strength))

    def take(self, other: Reading) -> None:
        """Note what another reading, of the same text with some of it blank, took its tokens for."""
        places = {token.start: at for at, token in enumerate(self.words)}
        for at, taken in other.used.items():
            if (own := places.get(other.words[at].start)) is not None:
                self.used.setdefault(own, taken)

    def spans(self, fillers: Iterable[int] = ()) -> list[Span]:
        """Return the question cut into spans, neighbours of one meaning together."""
        filler = set(fillers)
        found: list[Span] = []
        last: tuple[Taken, str, float] | None = None
        for at, token in enumerate(self.words):
            taken = self.used.get(at, ("filler" if at in filler else "unused", "", 1.0))
            if found and taken == last and at - 1 in self.used and at in self.used:
                text = self.question[found[-1].start : token.end]
                found[-1] = found[-1].model_copy(update={"text": text, "end": token.end})
            else:
                found.append(
                    Span(text=self.question[token.start : token.end], start=token.start, end=token.end,
                         taken_as=taken[0], value=taken[1], strength=round(taken[2], 2))
                )  # fmt: skip
            last = taken
        return found
