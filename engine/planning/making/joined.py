"""Two files that are joined first, and what is asked of the table that this makes."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import NamedTuple

from engine.domain.datatypes import DataType
from engine.domain.toolspec import ToolSpec
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.choosing.goals import likeliest
from engine.planning.choosing.score import Candidate
from engine.planning.choosing.several import HALF, one_each, requests_in
from engine.planning.formulas.views import with_joined
from engine.planning.making.assemble import Assembler, Making
from engine.planning.reading.read import interpret, within
from engine.planning.reading.reading import Reading, Request
from engine.planning.tables.sheets import Data
from engine.planning.telling.near import near


class First(NamedTuple):
    """A request to join two files, and what is asked after it."""

    goal: Candidate
    request: Request
    rest: list[Request]


def joins(spec: ToolSpec) -> bool:
    """Say whether a step joins two tables on a key of each."""
    return len({p.of for p in spec.params if p.role == "key"}) > 1 and any(
        o.type is DataType.TABLE for o in spec.outputs
    )


def joins_first(catalogue: Catalogue, reading: Reading, data: Data) -> First | None:
    """Return the request to join two files that stands before what else is asked, None where there is none."""
    tables = [sheet for sheet in data.sheets if sheet.serves(DataType.TABLE)]
    if len(tables) != 2 or len(data.sheets) != 2:
        return None
    start = reading.requests[0].first
    before = [Request(0, start - 1)] if start > 1 else []
    pieces = [*before, *requests_in(catalogue, reading, data)]
    if len(pieces) < 2:
        return None
    own = catalogue.candidates(within(reading, pieces[0], data), data, first=pieces[0].first,
        last=pieces[0].last,
    )  # fmt: skip
    goal = max(own, key=lambda item: item.wording, default=None)
    if goal is None or goal.bound is None or goal.wording < HALF or not joins(goal.bound.spec):
        return None
    return First(goal, pieces[0], pieces[1:])


def on_the_joined(catalogue: Catalogue, assembler: Assembler, first: First, made: Making) -> list[Candidate]:
    """Plan what is asked after two files were joined, on the table that this makes; returns what was asked."""
    bound = first.goal.bound
    node = next(n for n in made.builder.nodes if bound is not None and n.tool == bound.spec.name)
    spec = catalogue.registry.get(node.tool)
    keys = [str(node.params[p.name]) for p in spec.params if p.role == "key"]
    output = next(out.name for out in spec.outputs if out.type is DataType.TABLE)
    data = with_joined(made.data, keys, f"{node.id}.{output}")
    reading = catalogue.read(made.reading.question, data)
    reading.mark(first.request.first, first.request.last, "method", spec.title)
    made.reading, made.data, made.builder.data = reading, data, data
    made.near = functools.partial(near, reading, data, catalogue.embed)
    mentions = [m for m in reading.mentions if m.first > first.request.last]
    rest = replace(interpret(reading.question, reading.words, mentions, data), requests=first.rest, used=reading.used)
    rest = replace(rest, coding=reading.coding, explained=reading.explained, chosen=reading.chosen)
    every = catalogue.candidates(rest, data, first=first.rest[0].first, last=first.rest[-1].last)
    goals = one_each(catalogue, rest, data, every[0]) if len(first.rest) > 1 else [likeliest(every, rest, data)]
    assembler.answer_all(goals, made)
    return goals
