"""Two files that are joined first, and what is asked of the table that this makes."""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import functools
import re
from dataclasses import replace
from typing import NamedTuple

from engine.data.catalogue import KINDS
from engine.domain.datatypes import DataType
from engine.domain.plan import TaskDag, texts_of
from engine.domain.toolspec import ToolSpec
from engine.errors import PlanError
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.choosing.goals import likeliest
from engine.planning.choosing.score import Candidate
from engine.planning.choosing.several import HALF, one_each, requests_in
from engine.planning.formulas.views import with_joined
from engine.planning.making.assemble import Assembler, Making
from engine.planning.naming.mention import SURE_NAME
from engine.planning.reading.read import reread, within
from engine.planning.reading.reading import Reading, Request
from engine.planning.tables.sheets import Data
from engine.planning.telling.near import near
from engine.text import prose
from engine.text.names import in_one

FOUND = 0.9
"""A file lists what another names when it has so many of its names."""
SOME = 0.2
"""So many will do where a person says that the names are the same in both."""


class First(NamedTuple):
    """A request to join two files, and what is asked after it."""

    goal: Candidate
    request: Request
    rest: list[Request]


def joins(spec: ToolSpec) -> bool:
    """Say whether a step joins two tables on a key of each."""
    return len({p.of for p in spec.params if p.role == "key" and p.required}) > 1 and any(
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


_SAME_KEY = re.compile(
    r"\b(?:the same|in both|link\w*|match\w*|join\w*|merg\w*|key|identical|belong\w* together)\b", re.IGNORECASE
)


def one_lists_the_other(data: Data, question: str = "") -> tuple[Data, list[str]] | None:
    """Return two files, that with the rows first, and the column of each that names the same, None where there is none.

    One must list what the rows of the other name: each of its names once, nearly all names of the other among them, or
    nearly all of its own among those of the other (a questionnaire that a part of a cohort answered). A matrix has its
    samples as columns and is never joined. Where the `question` says that a column is the same in both, some shared
    names will do.
    """
    told = in_one(question) if _SAME_KEY.search(question) else ""
    sheets = [sheet for sheet in data.sheets if not sheet.made and KINDS[sheet.profile.types[0].type].records]
    if len(sheets) != 2 or len(data.sheets) != 2:
        return None
    for rows, listed in (sheets, sheets[::-1]):
        # Rows are read only where each name may stand once.
        for name in [c.name for c in listed.columns[:3] if c.distinct + c.missing == listed.profile.rows]:
            own = next((column.name for column in rows.columns if in_one(column.name) == in_one(name)), "")
            if not own or len(rows.frame()) < len(listed.frame()):
                continue
            names, wanted = (
                sheet.frame()[key].dropna().astype(str).str.strip() for sheet, key in ((listed, name), (rows, own))
            )
            shared = max(wanted.isin({*names}).mean(), names.isin({*wanted}).mean()) if len(wanted) else 0.0
            least = SOME if in_one(own) in told else FOUND
            if names.is_unique and shared >= least:
                return Data([rows, listed]), [own, name]
    return None


def spans(reading: Reading, data: Data) -> bool:
    """Say whether a question names columns that only the first of two files has and columns that only the second has."""
    sides = [{column.name for column in sheet.columns} for sheet in data.sheets]
    named = {mention.column for mention in reading.mentions}
    return bool(named & (sides[0] - sides[1])) and bool(named & (sides[1] - sides[0]))


def require_all_named(reading: Reading, data: Data, plan: TaskDag) -> None:
    """Refuse a plan on one of two files where a column that only the other has is surely named and nothing uses it."""
    sides = [{column.name for column in sheet.columns} for sheet in data.sheets]
    used = " ".join(text for node in plan.nodes for value in node.params.values() for text in texts_of(value))
    for sheet, own, others in zip(data.sheets, sides, sides[::-1], strict=True):
        named = [m.column for m in reading.mentions if not m.level and m.strength >= SURE_NAME]
        if left := [name for name in dict.fromkeys(named) if name in own - others and name not in used]:
            raise PlanError(
                f"The question is about columns of two files, and {prose.listed(left)} of {sheet.name} would be left out.",
                advice="Say which column is the same in both files (`id is the same in both`), or ask of one file.",
            )


def joined(catalogue: Catalogue, data: Data, keys: list[str], made: Making) -> tuple[Reading, Data]:
    """Plan the step that joins two files; returns the question as read on the table that this makes, and that."""
    spec = next(tool for tool in catalogue.registry if joins(tool))
    sides = [port.name for port in spec.inputs]
    by = {param.of: param.name for param in spec.params if param.role == "key"}
    rows, listed = data.sheets
    why = f"{listed.name} lists what the rows of {rows.name} name in {keys[0]!r}, and the question is about both."
    node = made.builder.add(
        spec,
        {by[side]: key for side, key in zip(sides, keys, strict=True)},
        inputs={side: made.builder.use(sheet, DataType.TABLE) for side, sheet in zip(sides, data.sheets, strict=True)},
        reasons=[why],
    )
    output = next(out.name for out in spec.outputs if out.type is DataType.TABLE)
    return _seen_joined(catalogue, data, keys, f"{node}.{output}", made)


def _seen_joined(catalogue: Catalogue, data: Data, keys: list[str], step: str, made: Making) -> tuple[Reading, Data]:
    """Let a plan go on from the table that a step makes of two files; returns the question as read on it, and that."""
    return seen_made(catalogue, with_joined(data, keys, step), made)


def seen_made(catalogue: Catalogue, data: Data, made: Making) -> tuple[Reading, Data]:
    """Let a plan go on from a table that a step makes; returns the question as read on it, and that."""
    reading = catalogue.read(made.reading.question, data)
    made.reading, made.data, made.builder.data = reading, data, data
    made.near = functools.partial(near, reading, data, catalogue.embed)
    return reading, data


def on_the_joined(catalogue: Catalogue, assembler: Assembler, first: First, made: Making) -> list[Candidate]:
    """Plan what is asked after two files were joined, on the table that this makes; returns what was asked."""
    bound = first.goal.bound
    node = next(n for n in made.builder.nodes if bound is not None and n.tool == bound.spec.name)
    spec = catalogue.registry.get(node.tool)
    keys = [str(node.params[p.name]) for p in spec.params if p.role == "key"]
    output = next(out.name for out in spec.outputs if out.type is DataType.TABLE)
    reading, data = _seen_joined(catalogue, made.data, keys, f"{node.id}.{output}", made)
    reading.mark(first.request.first, first.request.last, "method", spec.title)
    mentions = [m for m in reading.mentions if m.first > first.request.last]
    rest = replace(reread(reading, mentions, data), requests=first.rest, used=reading.used)
    every = catalogue.candidates(rest, data, first=first.rest[0].first, last=first.rest[-1].last)
    goals = one_each(catalogue, rest, data, every[0]) if len(first.rest) > 1 else [likeliest(every, rest, data)]
    assembler.answer_all(goals, made)
    return goals
