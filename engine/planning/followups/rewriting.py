"""The words of the question before with parts of it cut, replaced or overridden."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from engine.domain.plan import listed, texts_of
from engine.planning.followups.turn import Kept, Turn
from engine.planning.followups.words import (
    BARELY,
    INSTEAD,
    SAME_FOR,
    SOME_ROWS,
    asking,
)
from engine.planning.reading.reading import Reading, Restriction


def overridden(base: Reading, own: Reading, free: Sequence[str]) -> str:
    """Return the question before without what the follow-up says otherwise, and without `free`: not held, not run along."""
    again = {row.column for row in own.restrictions if row.op != "not in"}
    spans = [with_name(base, row) for row in base.restrictions if row.column in again and row.op != "not in"]
    spans += [
        (m.first, m.last)
        for m in base.mentions
        if m.column in free and not m.level and base.is_a(m.column, "adjust", "over")
    ]
    other = {contrast.column for contrast in own.contrasts}
    spans += [with_name(base, row) for row in base.restrictions if row.column in other - again and row.sure]
    inside = {at for first, last in spans for at in range(first, last + 1)}
    exact = [
        (base.words[m.first].start, base.words[m.last].end)
        for m in base.mentions
        if m.level and m.column in other and m.first not in inside
    ]
    for new, old in ((own.alpha, base.alpha), (own.min_lfc, base.min_lfc), (own.top, base.top)):
        if new is not None and old is not None:
            exact.append((old.start, old.end))
    return re.sub(r",?\s*with as the reference", "", cut(base, spans, exact))


def with_name(base: Reading, row: Restriction) -> tuple[int, int]:
    """Return the tokens of rows with the name of their column where it stands beside: `day 14`."""
    names = [(m.first, m.last) for m in base.mentions if m.column == row.column and not m.level]
    beside = [(first, last) for first, last in names if last == row.first - 1 or first == row.last + 1]
    return min([row.first, *(first for first, _ in beside)]), max([row.last, *(last for _, last in beside)])


def cut(base: Reading, spans: Iterable[tuple[int, int]], exact: Iterable[tuple[int, int]] = ()) -> str:
    """Return a question without stretches of tokens, each with the small words that belong to it, and of characters."""
    text = base.question
    gone = [_around(text, base.words[first].start, base.words[last].end) for first, last in spans]
    for start, end in sorted([*gone, *exact], reverse=True):
        text = text[:start] + " " + text[end:]
    return re.sub(r"\s+([,;.?!])", r"\1", " ".join(text.split()))


_BEFORE = re.compile(
    r"(?:[,;]?\s*\b(?:and|but|for|in|among|within|only|just|without|the|of|with|on|at|by|over|per|each|every|those|who|that|are|were|is|all|from|"
    r"separat\w*|split\w*|adjust\w*|correct\w*|controll\w*|account\w*)\s*)+$",
    re.I,
)
_AFTER = re.compile(r"^\s*(?:only|alone|ones?|separately)\b", re.I)


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a stretch with the small words that belong to it."""
    before, after = _BEFORE.search(text[:start]), _AFTER.match(text[end:])
    return (before.start() if before else start), end + (after.end() if after else 0)


def swapped(turn: Turn) -> tuple[str, str, str] | None:
    """Return (column before, column now, the question before with it) where a follow-up puts one column in place of another."""
    own, base, data = turn.own, turn.base, turn.data
    told = [
        name
        for name in own.named()
        if name not in {row.column for row in own.restrictions} and not own.is_a(name, "adjust", "by")
    ]
    known = [name for name in told if base.strength(name)]
    fresh = [name for name in told if name not in known]
    barely = BARELY.search(own.question) and not SOME_ROWS.search(own.question) and not asking(turn.fresh)
    said = SAME_FOR.search(own.question) or INSTEAD.search(own.question) or barely
    if len(fresh) != 1 or not said or own.restrictions:
        return None
    column = data.column(fresh[0])
    explained = [name for name in turn.outcomes() if base.strength(name)]
    used = {item for node in turn.before.nodes for value in node.params.values() for item in texts_of(value)}
    alike = [
        name
        for name in [*explained, *(name for name in base.named() if name in used)]
        if column is not None
        and (old := data.column(name)) is not None
        and (old.kind == "text") == (column.kind == "text")
    ]
    old = (known or alike or [""])[0]
    spots = [m for m in base.mentions if m.column == old and not m.level]
    if not spots:
        return None
    text = base.question
    for m in sorted(spots, key=lambda m: -m.first):
        text = text[: base.words[m.first].start] + fresh[0] + text[base.words[m.last].end :]
    new = re.escape(fresh[0])
    text = re.sub(rf"\b(?:[\w-]+ \({new}\)|{new}(?:\s+{new})+)", lambda _: fresh[0], text)  # it was said in two ways
    return old, fresh[0], text


def with_column(kept: Kept, old: str, new: str) -> Kept:
    """Return what was taken over with one column in the place of another."""

    def put(value: Any) -> Any:
        if isinstance(value, list):
            return [new if item == old else item for item in listed(value)]
        return new if value == old else value

    return {tool: {name: put(value) for name, value in params.items()} for tool, params in kept.items()}
