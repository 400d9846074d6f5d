"""What the words of a follow-up change: rows, settings, what is let go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from engine.domain.plan import TaskNode, texts_of
from engine.domain.toolspec import ParamSpec
from engine.errors import PlanError
from engine.planning.binding.fills import marked
from engine.planning.followups.onward import coming_next
from engine.planning.followups.rewriting import overridden
from engine.planning.followups.turn import Turn
from engine.planning.followups.words import (
    ADDED,
    ADDS,
    BARE,
    JOINED,
    LIMIT,
    NOT_ADJUSTED,
    OTHER_SIDE,
    PICTURE,
    SHORT,
    asking,
)
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.reading import CUTS, TURNED, Reading, Restriction
from engine.planning.reading.settings import settings_said
from engine.planning.tables.sheets import is_group
from engine.text.prose import listed


def rows_and_more(turn: Turn, settings: Mapping[tuple[str, str], Any]) -> tuple[list[Restriction], bool]:
    """Return the rows that a follow-up keeps or leaves out, and whether it asks for something beside."""
    question, own = turn.question, turn.own
    more = bool(asking(turn.fresh)) and not (ADDED.search(question) and own.named())
    cuts = [row for row in own.restrictions if row.sure and row.op not in ("in", "not in")]
    if cuts and not PICTURE.search(question) and {*own.named()} <= {row.column for row in cuts}:
        more = more and len(own.words) > SHORT  # `the ones older than 50 years` asks for nothing more
    rows = rows_said(turn, more=more)
    alone = rows_said(turn, more=False) if more and not rows and not ADDS.search(question) else []
    if alone and not coming_next(turn, overridden(turn.base, own, []), {tool for tool, _ in settings}):
        rows, more = alone, False  # `I meant week 4`: nothing else in it asks for anything
    before = {row.column for row in turn.rows()}  # of these columns they take the place of those before
    own.restrictions += [row for row in rows if row.column in before and row not in own.restrictions]
    return rows, more


def rows_said(turn: Turn, *, more: bool) -> list[Restriction]:
    """Return the rows that a follow-up keeps or leaves out; `more` where it asks for something beside."""
    own = turn.own
    found = [row for row in own.restrictions if row.sure or not more]  # `the risk of low weight` keeps no rows
    return found or _numbers_alone(turn) or ([] if more or own.contrasts else _levels_alone(turn))


def _numbers_alone(turn: Turn) -> list[Restriction]:
    """Return the rows of a number that is a value of one column alone: `without 2007 data`."""
    own, data = turn.own, turn.data
    if own.mentions or not own.words:
        return []
    place = (0, len(own.words) - 1)
    if (bare := BARE.search(turn.question)) is not None:
        having = [c.name for c in data.columns() if is_group(c) and bare["n"] in c.levels]
        op = "not in" if bare["without"] else "in"
        return [Restriction(having[0], op, (bare["n"],), *place, sure=True)] if len(having) == 1 else []
    return []


def other_side(own: Reading, base: Reading) -> list[Restriction]:
    """Return the rows on the other side of the number at which the question before cut: `and in the younger ones?`."""
    cuts = [row for row in base.restrictions if row.op in CUTS]
    said = OTHER_SIDE.search(own.question)
    if len(cuts) != 1 or said is None or own.restrictions or re.search(r"\d", own.question):
        return []
    (row,) = cuts
    upper = row.op in (">", ">=")
    if said["less" if not upper else "more"]:  # `the older ones` after `65 and over` are the same
        return []
    return [row._replace(op=TURNED[row.op], first=0, last=len(own.words) - 1)]


def _levels_alone(turn: Turn) -> list[Restriction]:
    """Return the rows of the levels of one column that are named and nothing else is: `can you also test the females`."""
    own = turn.own
    named = [m for m in own.mentions if m.level]
    if not named or len({m.column for m in named}) > 1 or own.named() or _singled_out(turn):
        return []
    values = tuple(dict.fromkeys(m.level for m in named))
    return [Restriction(named[0].column, "in", values, named[0].first, named[-1].last, sure=True)]


def settings_of(turn: Turn) -> dict[tuple[str, str], Any]:
    """Return (tool, parameter) -> what the follow-up says of the settings of the steps before."""
    found: dict[tuple[str, str], Any] = {}
    for spec in turn.specs.values():
        if any(param.role == "rows" for param in spec.params):
            continue  # a step that only keeps the rows of another: `which is lowest` sorts none
        texts = {param.name: None for param in spec.params if param.kind == "text"}
        for name, value in settings_said(spec, turn.fresh, texts).items():
            found[spec.name, name] = value
    return {**_threshold(turn), **_marked(turn), **found}


def none_new(turn: Turn, settings: Mapping[tuple[str, str], Any]) -> None:
    """Refuse settings that all steps of the plan before have already, in a line.

    Raises:
        PlanError: when they have.
    """
    steps = [
        (node, name, value)
        for (tool, name), value in settings.items()
        for node in turn.before.nodes
        if node.tool == tool
    ]
    if steps and all(node.params.get(name) == value for node, name, value in steps):
        said = listed(list(dict.fromkeys(f"{name} = {value} ({node.name})" for node, name, value in steps)))
        raise PlanError(f"The plan before has {said} already.", advice=f"It was read as going on from {turn.kept}.")


def _marked(turn: Turn) -> dict[tuple[str, str], Any]:
    """Return the levels that a follow-up singles out (`use ACTB as the reference`), with those before where it adds."""
    found: dict[tuple[str, str], Any] = {}
    adds = ADDS.search(turn.question) is not None
    for node, param, said in _singled_out(turn):
        before = texts_of(node.params.get(param.name)) if adds else []
        if before or not adds:  # to what a step recognises by itself nothing can be added
            found[node.tool, param.name] = list(dict.fromkeys([*before, *(m.level for m in said)]))
    return found


def _singled_out(turn: Turn) -> list[tuple[TaskNode, ParamSpec, list[ColumnMention]]]:
    return [
        (node, param, said)
        for node in turn.answering()
        for param in turn.specs[node.tool].params
        if param.role == "marked" and (said := marked(param, node.params.get(param.of), turn.own))
    ]


def _threshold(turn: Turn) -> dict[tuple[str, str], Any]:
    """Return the significance that a follow-up names as a bare threshold (`with threshold 0.01`), for the tools that have one."""
    said, own = LIMIT.search(turn.question), turn.fresh
    if said is None or own.alpha is not None or own.named():
        return {}
    text = said["n"].replace(",", ".")
    value = float(text.rstrip(" %")) / (100 if "%" in text else 1)
    if not 0 < value < 0.5:
        return {}
    own.mark_text(said.start(), said.end(), "threshold", f"{value:g}")
    return {(spec.name, "alpha"): value for spec in turn.specs.values() if spec.param("alpha") is not None}


def let_go(turn: Turn) -> list[str]:
    """Return the columns that are no longer to be held constant: those named, all where none is."""
    named = turn.own.named()
    if NOT_ADJUSTED.search(turn.question):
        return named or turn.held()
    return named if named and JOINED.search(turn.question) and all(map(turn.is_held, named)) else []
