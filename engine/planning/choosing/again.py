"""The same asked again of other rows: `is it up in wt at 1 h, and is it still up at 6 h?`, `and does it hold within Col only`.

The second sentence names a level and nothing else, and points back with a pronoun. It is no analysis of its own: the first is
carried out once for each.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from engine.planning.binding.bound import Bound
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.choosing.goals import CLEAR, likeliest
from engine.planning.choosing.score import Candidate
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.declared import mark_declared, without_pooled
from engine.planning.reading.read import reread
from engine.planning.reading.reading import Reading, Request, Restriction
from engine.planning.tables.sheets import Data

_BACK = re.compile(
    r"\b(?:it|this|that|they|them|the same|same|(?:hold|true|apply|applies)\b[^,;]{0,12}\b(?:for|in|at|within)|what about|how about)\b",
    re.IGNORECASE,
)


_AND_THERE = re.compile(
    r"[,;?.]\s*and\s+(?:(?:also|already|still|then|again)\s+)*(?P<at>at|on|after|in|for|within|with|by)\s+[^,;?.]*[?.!\s]*$",
    re.IGNORECASE,
)
"""`is it higher at day 5, and at day 1?`, without a verb of its own."""


class Again(NamedTuple):
    """One column whose levels say of which rows the same is asked, sentence after sentence."""

    column: str
    rows: tuple[tuple[str, ...], ...]
    """The levels that each sentence names; () for all rows."""
    first: Request
    later: Request
    mentions: tuple[ColumnMention, ...]


def asked_again(reading: Reading) -> Again | None:
    """Return what of two sentences the second asks again of other rows, None where it asks for something else."""
    requests = reading.requests if len(reading.requests) == 2 else _and_there(reading)
    if len(requests) != 2:
        return None
    first, later = requests
    levels = {(m.column, m.first - 1) for m in reading.mentions if m.level}
    # The `day` of `day 5` is of its level.
    named = [m for m in reading.mentions if m.level or (m.column, m.last) not in levels]
    own = [m for m in named if later.first <= m.first <= later.last]
    said = reading.question[reading.words[later.first].start : reading.words[later.last].end]
    column = own[0].column if own and all(m.level for m in own) else ""
    every = [m for m in named if m.column == column]
    before = [m for m in every if m.first < later.first]
    other = [r for r in reading.restrictions if later.first <= r.first <= later.last and r.column != column]
    if (
        not column
        or len({m.column for m in own}) > 1
        or other
        or not (_BACK.search(said) or _AND_THERE.search(reading.question))
        or any(not m.level for m in before)
        or any(c.column == column and c.explicit for c in reading.contrasts)
        or any(gene[1] >= later.first for gene in reading.genes)
    ):
        return None
    rows = tuple(tuple(dict.fromkeys(m.level for m in part)) for part in (before, own))
    return Again(column, rows, first, later, tuple(every)) if rows[0] != rows[1] else None


def _and_there(reading: Reading) -> list[Request]:
    """Return a question and what it asks behind it of other rows as two requests, [] where it does not."""
    said = _AND_THERE.search(reading.question)
    later = [n for n, word in enumerate(reading.words) if said and word.start >= said.start("at")]
    if said is None or not later or len(reading.requests) != 1 or later[0] < 2:
        return []
    return [Request(0, later[0] - 2), Request(later[0], later[-1])]


def of_again(
    catalogue: Catalogue, again: Again, reading: Reading, data: Data
) -> tuple[Reading, list[Candidate]] | None:
    """Return the question without its second sentence, and what it asks once for each sentence's rows; None where that is unsure."""
    start, end = reading.words[again.later.first].start, reading.words[again.later.last].end
    inner = catalogue.read(reading.question[:start] + " " * (end - start) + reading.question[end:], data)
    made = {made.column for sheet in data.sheets for made in sheet.made}
    if own := [m for m in reading.mentions if m.column in made and m.last < again.later.first]:  # no word calls it so
        rest = [m for m in inner.mentions if not any(m.first <= o.last and o.first <= m.last for o in own)]
        inner = reread(inner, [*rest, *own], data)
    inner.chosen = reading.chosen
    mark_declared(inner, data)
    without_pooled(inner, data)
    inner.mentions[:] = [m for m in inner.mentions if m.column != again.column]
    # Rows of one day are of other subjects each, rows of all days are not: what fits is judged on the rows of the first.
    inner.restrictions[:] = [r for r in inner.restrictions if r.column != again.column] + _rows(again, again.rows[0])
    every = catalogue.candidates(inner, data)
    best = likeliest(every, inner, data) if every else None
    if best is None or best.bound is None or best.unmet or best.bound.missing or best.probability < CLEAR:
        return None
    if again.column in best.bound.columns():
        return None
    for mention in again.mentions:
        reading.mark(mention.first, mention.last, "restriction", f"{again.column} = {mention.level}")
    reading.mark(again.later.first, again.later.last, "asked")
    reading.take(inner)
    inner.question, inner.words, inner.used = reading.question, reading.words, reading.used
    return inner, [replace(best, bound=_kept(best.bound, again, levels)) for levels in again.rows]


def _rows(again: Again, levels: tuple[str, ...]) -> list[Restriction]:
    place = again.mentions[0]
    return [Restriction(again.column, "in", levels, place.first, place.last, sure=True)] if levels else []


def _kept(bound: Bound, again: Again, levels: tuple[str, ...]) -> Bound:
    others = [item for item in bound.rows if item.column != again.column]
    told = f"{again.column} = {', '.join(levels)}" if levels else "all rows"
    reasons = [*bound.reasons, "The same is asked of other rows: a step for each."]
    return replace(
        bound, params=dict(bound.params), rows=[*others, *_rows(again, levels)], reasons=reasons, missing=list(bound.missing),
        questions=list(bound.questions), told=told,
    )  # fmt: skip
