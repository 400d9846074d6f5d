"""What a question in a conversation takes over from the plan before it.

A follow-up says little by itself: which rows (`and for the women only`), another setting (`use FDR 1 %`), what is held constant
(`same but adjusted for age`), another measure (`the same for weight`), what comes next (`which pathways?`), a picture (`plot that by
dose`). The question before is written anew with it, so that its plan is made, checked and explained like that of any other
question; where the analysis stays, so do the columns and levels its steps took. Where both say something of one thing, the
follow-up holds. A question that says all it needs takes over nothing.

    words   by which words a question goes on, in general language
    turn    what the steps before took, and what the follow-up says of rows, settings and columns
    anew    the question before, written anew: the ways to plan it
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from engine.domain.plan import TaskDag, TaskNode, listed, texts_of
from engine.errors import PlanError
from engine.planning.choosing.ways import is_about, ways_said
from engine.planning.followups.anew import Try, compared_anew, other_form, whole_again, with_more
from engine.planning.followups.changes import let_go, none_new, other_side, rows_and_more, settings_of
from engine.planning.followups.onward import coming_next, depending, holding, tested
from engine.planning.followups.rewriting import overridden, swapped, with_column
from engine.planning.followups.turn import HELD, Judge, Kept, Turn, columns_of, in_words, rows_in_own_words, told
from engine.planning.followups.words import (
    ADDED,
    CLAUSE,
    DEPENDS,
    NOT_ADJUSTED,
    OUTRIGHT,
    said_anew,
    stands_alone,
)
from engine.planning.reading.reading import Reading, Restriction
from engine.planning.reading.settings import settings_said
from engine.planning.tables.sheets import Data, is_group
from engine.toolbox.registry import ToolRegistry


class FollowUp(NamedTuple):
    """A question that goes on from a plan."""

    tries: list[Try]
    """The likeliest first."""
    settings: dict[tuple[str, str], Any]
    """(Tool, parameter) -> the value that it says."""
    named: frozenset[str]
    """The columns it names."""
    rows: list[Restriction]
    """The rows it keeps or leaves out."""
    held: list[str]
    """The columns it holds constant."""
    same: Kept
    """What must be as it was, where only rows or settings change."""
    answered_by: frozenset[str] = frozenset()
    """The tools that answer the plan before."""
    before: Mapping[str, bool] = {}
    """Column of which the question before names values -> whether rows of some are kept or left out."""

    def is_done(self, plan: TaskDag, one: Try, *, chosen: bool) -> bool:
        """Say whether a plan really does what is said to be new: keeps the rows, holds the columns, has the settings.

        Where a person has chosen the analysis, its steps need not be those before.
        """
        values = [value for node in plan.nodes for value in node.params.values()]
        texts = " ".join(value for value in values if isinstance(value, str))
        lists = [{*listed(value)} for value in values if isinstance(value, list)]
        kept = all(_is_kept(row, texts) or {*row.values} in lists for row in self.rows) and one.holds in texts
        kept = kept and all(self._about_rows(plan, node) for node in plan.nodes if node.tool in self.answered_by)
        kept = kept and not any(f"`{name}`" in texts for name in one.lifted)
        others = [name for name in self.before if name not in one.lifted and f"`{name}`" not in one.holds]
        kept = kept and all((f"`{name}`" in texts) == self.before[name] for name in others)
        constant = {*self.held} <= {item for value in values for item in texts_of(value)}
        tools = {node.tool for node in plan.nodes}
        if one.holds and not tools & self.answered_by:
            return False  # the logarithm alone is no answer
        if not one.analysis and not self.held and len(self.answered_by) > 1 and not self.answered_by <= tools:
            return False  # of two analyses before, one is missing
        as_before = one.chosen or ({} if one.holds else self.same)
        stays = chosen or all(
            any(node.tool == tool and node.params.get(name) == value for node in plan.nodes)
            for tool, params in as_before.items()
            for name, value in params.items()
        )
        return bool(kept and constant and stays) and (
            not self.settings or any(tool in tools for tool, _ in self.settings)
        )

    def _about_rows(self, plan: TaskDag, node: TaskNode) -> bool:
        """Say whether the rows reach a step: it or a step before it keeps them."""
        way = [step for step in plan.nodes if step is node or node.id in plan.descendants(step.id)]
        values = [value for step in way for value in step.params.values()]
        texts = " ".join(value for value in values if isinstance(value, str))
        lists = [{*texts_of(value)} for value in values]
        return all(
            (f"`{row.column}`" in texts and not _kept_still(row, texts)) or {*row.values} in lists for row in self.rows
        )


def _is_kept(row: Restriction, conditions: str) -> bool:
    """Say whether conditions are about a column, and name each of its values that are kept."""
    return f"`{row.column}`" in conditions and (row.op != "in" or all(value in conditions for value in row.values))


def _kept_still(row: Restriction, conditions: str) -> bool:
    """Say whether conditions name a value among those kept that is to be left out."""
    kept = re.findall(rf"`{re.escape(row.column)}` in \[([^\]]*)\]", conditions) if row.op == "not in" else []
    return any(value in row.values for text in kept for value in re.findall(r"[^\s,'\"][^,'\"]*", text))


def follow_up(
    question: str, own: Reading, base: Reading, judge: Judge, before: TaskDag, data: Data, registry: ToolRegistry
) -> FollowUp | None:
    """Return how a question goes on from the plan before it, or None when it stands by itself.

    Args:
        question: what is asked.
        own: its reading.
        base: the reading of the question before.
        judge: returns what a text may ask for by itself, likeliest first, and its reading.
        before: the plan before it.
        data: the files.
        registry: the tools.

    Raises:
        PlanError: when it goes on, and nothing in it is found that the plan before could do otherwise.
    """
    specs = {node.tool: registry.get(node.tool) for node in before.nodes if node.tool in registry}
    own.restrictions += other_side(own, base)
    fresh = replace(own, used=dict(own.used))  # judging notes what other tools would take the words for
    used = {item for node in before.nodes for value in node.params.values() for item in texts_of(value)}
    measured = any(not is_group(column) for name in own.named() if (column := data.column(name)) is not None)
    again = DEPENDS.search(question) and not measured  # `is the effect the same in men and women`
    if not before.nodes or (not again and stands_alone(question, own, judge(question)[0], specs, used)):
        return None
    turn = Turn(question, own, fresh, base, before, data, specs, judge)
    if tries := with_more(turn) or compared_anew(turn) or whole_again(turn):
        tools = frozenset(node.tool for node in turn.answering())
        return FollowUp(tries, {}, frozenset(own.columns()), [], [], {}, tools, turn.restricted())
    if tries := depending(turn) or tested(turn):
        return FollowUp(tries, dict(tries[0].settings), frozenset(own.columns()), [], [], {}, before=turn.restricted())
    return _changed(turn, registry)


def _changed(turn: Turn, registry: ToolRegistry) -> FollowUp:
    """Return the plan before with other rows, settings or columns, or what comes next.

    Raises:
        PlanError: when nothing in the follow-up is found that the plan before could do otherwise.
    """
    question, own, base = turn.question, turn.own, turn.base
    settings = settings_of(turn)
    rows, more = rows_and_more(turn, settings)
    against = [c for c in own.contrasts if c.explicit or c.column not in {row.column for row in rows}]
    held, free = _held_and_freed(turn, alone=not (rows or settings))
    if settings and not (rows or held or free or against or more):
        none_new(turn, settings)
    kept, gone = turn.taken(rows)
    new = told(turn.specs, against, rows, settings, held, free)
    merged = _merged(
        turn, rows, held, [*free, *gone], only_rows=bool(rows) and not (settings or held or against or more)
    )
    tries: list[Try] = []
    change = swapped(turn)
    if change is not None:
        old, column, anew = change
        new_kept = with_column(kept, old, column) if kept else {}
        keys: list[tuple[str, Kept]] = [(turn.last, new_kept), (turn.last, {}), ("", {})]
        tries += [
            Try(anew, key, turn.kept, f"{column} in place of {old}", chosen=chosen) for key, chosen in _once(keys)
        ]
    elif more and not free:
        tries += coming_next(turn, merged, {tool for tool, _ in settings})
    same: Kept = {}
    if new:
        if gone:
            new += f"; {' and '.join(gone)} has one value there and explains nothing"
        if not (held or free or against or more or change or _one_row_each(turn, rows)):
            same = kept
        tries += _as_before(turn, merged, new, held, free, same)
    if same and (without := _said_by_the_others(turn, rows)):
        tries.append(
            Try(f"{overridden(base, own, free).rstrip(' .?!;,')}, {without}", turn.last, turn.kept, new, chosen=same)
        )
    if not tries or OUTRIGHT.search(question):
        tries = other_form(turn) + tries
    if not tries:
        raise _nothing_new(turn, registry)
    return FollowUp(
        tries,
        settings,
        frozenset(own.columns()),
        rows if new else [],
        held,
        same,
        frozenset(node.tool for node in turn.answering()),
        turn.restricted(),
    )


def _held_and_freed(turn: Turn, *, alone: bool) -> tuple[list[str], list[str]]:
    """Return the columns that are to be held constant, and those that are not to be any more.

    Raises:
        PlanError: when nothing is taken back, or, where a follow-up says nothing else (`alone`), all is held already.
    """
    held, free = _held(turn), [name for name in let_go(turn) if turn.is_held(name)]
    message = ""
    if alone and held and all(map(turn.is_held, held)):
        message = f"{', '.join(held)} is held constant in the plan before already."
    elif NOT_ADJUSTED.search(turn.question) and not free:
        message = f"Nothing that {turn.question!r} could take back is held constant in the plan before."
    if message:
        raise PlanError(message, advice=f"It was read as going on from {turn.kept}.")
    return held, free


def _held(turn: Turn) -> list[str]:
    """Return the columns that a follow-up wants held constant."""
    own = turn.own
    held = [name for name, parts in own.parts.items() if "adjust" in parts]
    held += [name for name in own.named() if ADDED.search(turn.question) and name not in held]
    return [name for name in held if name not in let_go(turn)]


def _merged(
    turn: Turn, rows: Sequence[Restriction], held: Sequence[str], free: Sequence[str], *, only_rows: bool
) -> str:
    """Return the question before with what the follow-up says."""
    said = said_anew(turn.question)
    if only_rows:  # rows and nothing else: said as surely as can be
        said = ", ".join(rows_in_own_words(turn, row) for row in rows)
    elif let_go(turn):
        said = ", ".join(f"with {way.group()}" for way, _ in ways_said(turn.question))
    elif ADDED.search(turn.question) and turn.own.named():
        said = f"adjusted for {' and '.join(held)}"
    text = overridden(turn.base, turn.own, free).rstrip(" .?!;,")
    return f"{text}{', ' if CLAUSE.match(said) else '; '}{said}" if said else text


def _as_before(
    turn: Turn, merged: str, new: str, held: Sequence[str], free: Sequence[str], same: Kept
) -> list[Try]:  # fmt: skip
    """Return the ways to plan the question before with what is new: as the analysis before where it can, else as its words say."""
    last = turn.last
    # What is held constant may need another analysis than the one before, and may not be needed by the one that stays.
    able = any(last in spec.answers and any(p.role in HELD for p in spec.params) for spec in turn.specs.values())
    groups = ", ".join([merged, *map(in_words, turn.rows_of_groups())])  # another analysis is of the same groups
    keys = [*holding(turn, held, turn.judge(merged)[0]), "", last] if (held or free) and not able else [last, ""]
    if (free and next(ways_said(turn.question), None)) or _one_row_each(turn, turn.own.restrictions):
        keys = ["", last]
    ways = [(key, chosen) for key in keys for chosen in ((same if key == last else {}), Kept())]
    return [
        Try(merged if key == last or turn.own.contrasts else groups, key, turn.kept, new, chosen=chosen)
        for key, chosen in _once(ways)
    ]


def _one_row_each(turn: Turn, rows: Sequence[Restriction]) -> bool:
    """Say whether rows leave one of each subject of which the analysis before takes several: those of one day."""
    single = {row.column for row in rows if row.op == "in" and len(row.values) == 1}
    subjects = columns_of(("subject",), turn.answering(), turn.specs)
    repeated = [item for sheet in turn.data.sheets for item in sheet.structure.repeated]
    return any(r.subject in subjects and r.complete and r.within and {*r.within} <= single for r in repeated)


def _once(ways: Sequence[tuple[str, Kept]]) -> list[tuple[str, Kept]]:
    return [way for at, way in enumerate(ways) if way not in ways[:at]]


def _said_by_the_others(turn: Turn, rows: Sequence[Restriction]) -> str:
    """Return rows by what is left out: the same rows, read more surely."""
    if len(rows) != 1 or rows[0].op != "in" or (column := turn.data.column(rows[0].column)) is None:
        return ""
    others = [level for level in column.levels if level not in rows[0].values]
    return f"without {column.name} {' and '.join(others)}"


def _nothing_new(turn: Turn, registry: ToolRegistry) -> PlanError:
    """Return the error for a follow-up in which nothing is found that could be done otherwise."""
    question, own = turn.question, turn.own
    steps = ", ".join(dict.fromkeys(node.name for node in turn.before.nodes))
    going = f"It was read as going on from {turn.kept}."
    ways = [*ways_said(question)]
    answering = [turn.specs[node.tool] for node in turn.answering()]
    if ways and all(is_about(way, answering) for _, way in ways):
        message = f"The plan before is {ways[0][0].group()!r} already; its steps are: {steps}."
    elif ways:
        message = " ".join(f"{said.group()!r}: {way.says}." for said, way in ways)
        held, measured = turn.held(), next(iter(turn.outcomes()), "the measure")
        elsewhere = any(settings_said(spec, turn.own, {}) for spec in registry)
        if held and elsewhere:
            said = " and ".join(held)
            advice = (
                f"With {said} held constant no step can. Say 'without the adjustment for {said}, {said_anew(question)}' to have it "
                "without, or keep the model."
            )
            return PlanError(message, advice=f"{going} {advice}")
        if ways[0][1].ask:
            return PlanError(message, advice=f"{going} {ways[0][1].ask.format(measure=measured)}")
    elif own.alpha is not None or own.min_lfc is not None or own.top is not None:
        message = f"No step of the plan before has a setting for what {question!r} says; its steps are: {steps}."
    elif own.named():
        message = f"What is to be done with {', '.join(own.named())} in {question!r} was not understood."
    else:
        message = f"Nothing in {question!r} is a column, a value, a setting or an analysis that was found here."
    names = ", ".join(column.name for column in turn.data.columns()[:12])
    advice = f"{going} Say which rows (a column and its value), which setting or which analysis is meant; the columns are {names}."
    return PlanError(message, advice=advice)
