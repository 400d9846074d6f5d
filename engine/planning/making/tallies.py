"""Counts out of totals where a yes or no is modelled: each of the counted gets a row first, and the question is of these."""

# Most methods of pandas carry no types of what they return, which is all that these rules would find here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, NamedTuple

from engine.data.catalogue import KINDS
from engine.data.structure.rows import look
from engine.domain.datatypes import DataType
from engine.domain.plan import TaskDag, texts_of
from engine.domain.profile import Repeated, TypeGuess
from engine.domain.toolspec import ToolSpec
from engine.planning.binding.conditions import EXPLAINED
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.choosing.score import Candidate, can_be_done
from engine.planning.making.assemble import Making
from engine.planning.making.joined import seen_made
from engine.planning.reading.reading import Reading
from engine.planning.tables.as_tools import each_counted
from engine.planning.tables.sheets import Data, Sheet, is_id, listed_counts

MOST = 200_000
"""More are not given a row each."""
ROW = "table_row"
"""What the column is called that numbers the rows of the file."""
_MODELS = frozenset(
    {"outcome", "predictors", "covariates", "fixed", "factors", "count", "response", "measure", "wide", "measures"}
)
"""The parts in which a count out of a total, or the total, is taken for a measurement."""


class Tally(NamedTuple):
    """A count and the total of which it is a part."""

    sheet: Sheet
    part: str
    total: str


def tally_of(reading: Reading, data: Data) -> Tally | None:
    """Return the count out of a total that a question is about, None where there is none or several may be meant."""
    if len(data.sheets) != 1 or not KINDS[(sheet := data.sheets[0]).profile.types[0].type].records or sheet.made:
        return None
    named = {*reading.named()}
    pairs = [
        *sheet.structure.part_of.items()
    ]  # several, such as those of two arms, are set against each other as they are
    pairs = _told(reading, sheet) or pairs
    if len(pairs) != 1 or pairs[0][0] not in named or any(column.name == ROW for column in sheet.columns):
        return None
    ((part, total),) = pairs
    counted = sheet.frame()[total].sum()
    return Tally(sheet, part, total) if 0 < counted <= MOST else None


_OUT_OF = re.compile(r"\s*(?:out\s+of|of|/)\s+(?:the\s+|its\s+|their\s+)?", re.IGNORECASE)


def _told(reading: Reading, sheet: Sheet) -> list[tuple[str, str]]:
    """Return the count and total that the question names as such (`n_sprouted out of n_seeds`), where the values agree."""
    found: list[tuple[str, str]] = []
    for one, other in pairwise(m for m in reading.mentions if not m.level):
        gap = reading.question[reading.words[one.last].end : reading.words[other.first].start]
        columns = [c for m in (one, other) if (c := sheet.column(m.column)) and c.kind == "integer" and not is_id(c)]
        if len(columns) != 2 or one.column == other.column or not _OUT_OF.fullmatch(gap):
            continue
        part, total = (sheet.frame()[c.name] for c in columns)
        if columns[1].distinct > 1 and bool(
            ((part >= 0) & (part <= total) & (total > 0) | part.isna() | total.isna()).all()
        ):
            found.append((one.column, other.column))
    return found


def tallied(reading: Reading, data: Data) -> Tally | None:
    """Return the column that says how often each combination of the others came, None where there is none or it is asked about."""
    if len(data.sheets) != 1 or (sheet := data.sheets[0]).made or not KINDS[sheet.profile.types[0].type].records:
        return None
    name = listed_counts(sheet)
    if not name or name in reading.named() or not 0 < sheet.frame()[name].sum() <= MOST:
        return None
    return Tally(sheet, name, name)


def takes_tally(plan: TaskDag, name: str, catalogue: Catalogue) -> bool:
    """Say whether a step of a plan takes the column for how often each row counts."""
    tallies = {(t.name, p.name) for t in catalogue.registry for p in t.params if p.role == "tally"}
    return any(node.params.get(param) == name for node in plan.nodes for tool, param in tallies if tool == node.tool)


def takes_for_measured(plan: TaskDag, found: Tally, tools: dict[str, ToolSpec]) -> bool:
    """Say whether a plan models the count or its total by itself, not as a part of it."""
    for node in plan.nodes:
        roles = {p.name: p.role for p in tools[node.tool].params}
        taken = {
            roles[name]
            for name, value in node.params.items()
            if name in roles and {*texts_of(value)} & {found.part, found.total}
        }
        if taken & _MODELS and not taken & {"part", "total", "exposure"}:
            return True
    return False


def counted_singly(catalogue: Catalogue, found: Tally, made: Making) -> tuple[Reading, Data]:
    """Plan the step that gives each of the counted a row; returns the question as read on the table that this makes, and that."""
    why = f"{found.part} counts a part of {found.total}: each of the counted is a yes or a no, and those of one row belong together."
    frame, node, output = _rows_planned(catalogue, found, made, why)
    columns, structure = look(frame)
    # Whose rows belonged together before still do; the rows of the file keep theirs together where nothing else does.
    between = [c.name for c in columns if c.name not in (found.part, ROW)]
    own = Repeated(subject=ROW, subjects=int(frame[ROW].nunique()), within=[found.part], between=between,
                   why=f"each row of the file is a group of {found.total}")  # fmt: skip
    repeated = found.sheet.structure.repeated or [own]
    unit = f"one of the {found.total} counted"
    structure = structure.model_copy(update={"repeated": repeated, "unit": unit, "survival": {}, "dated": {}})
    update = {"column_profiles": columns, "structure": structure, "rows": len(frame),
              "types": [TypeGuess(type=DataType.TABLE, confidence=1.0)]}  # fmt: skip
    seen = found.sheet.profile.model_copy(update=update)
    before = made.reading
    reading, data = seen_made(catalogue, Data([Sheet(seen, step=f"{node}.{output}", rows=frame)]), made)
    reading.parts[found.part] = {"outcome"}
    reading.shares.add(found.part)
    for m in before.mentions:
        if m.column == found.total:  # what it is out of is no column any more, and nothing that the plan lacks
            start, end = before.words[m.first].start, before.words[m.last].end
            reading.asides.append((_out_of(before.question, start), end))
            reading.mark_text(start, end, "column", found.total)
    return reading, data


def each_of_the_listed(catalogue: Catalogue, found: Tally, made: Making) -> tuple[Reading, Data]:
    """Plan the step that gives each of the listed a row; returns the question as read on the table that this makes, and that."""
    why = f"{found.part} says how often each combination came: each of them gets a row of its own."
    frame, node, output = _rows_planned(catalogue, found, made, why)
    shown = [c for c in look(frame)[0] if c.name not in (found.part, ROW)]
    structure = found.sheet.structure.model_copy(update={"repeated": [], "unit": "row"})
    update = {"column_profiles": shown, "structure": structure, "rows": len(frame),
              "types": [TypeGuess(type=DataType.TABLE, confidence=1.0)]}  # fmt: skip
    seen = found.sheet.profile.model_copy(update=update)
    return seen_made(catalogue, Data([Sheet(seen, step=f"{node}.{output}", rows=frame)]), made)


def _rows_planned(catalogue: Catalogue, found: Tally, made: Making, why: str) -> tuple[Any, str, str]:
    """Plan the step; return the table that it makes, its id and the name of its output."""
    spec = next(tool for tool in catalogue.registry if any(p.role == "each_part" for p in tool.params))
    names = {p.role: p.name for p in spec.params}
    free = next(p.name for p in spec.params if not p.role)
    node = made.builder.add(
        spec,
        {names["each_part"]: found.part, names["each_total"]: found.total, free: ROW},
        inputs={spec.inputs[0].name: made.builder.use(found.sheet, DataType.TABLE)},
        reasons=[why],
    )
    output = next(out.name for out in spec.outputs if out.type is DataType.TABLE)
    return each_counted(found.sheet.frame(), found.part, found.total, ROW), node, output


def explaining(part: str, every: list[Candidate]) -> list[Candidate]:
    """Return the analyses that explain the yes or no and keep together what is of one row, likeliest first."""
    able = [c for c in every if can_be_done(c) and c.bound is not None and part in c.bound.of_role(*EXPLAINED)]
    return [c for c in able if c.bound is not None and c.bound.of_role("subject", "cluster")]


def _out_of(question: str, start: int) -> int:
    """Return where `out of` begins before a character, the character itself where nothing says so."""
    said = re.search(r"\b(?:out )?of\s+(?:the\s+)?$", question[:start], re.IGNORECASE)
    return said.start() if said else start
