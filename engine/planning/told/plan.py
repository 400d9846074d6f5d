"""From goals that were told to a plan: the same binding, guards, practice, coverage and check as for goals that were read here."""

# pandas' types are unknown here (docs/adr/0008).
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from engine.domain.plan import TaskDag
from engine.domain.profile import Profile
from engine.domain.toolspec import ToolSpec
from engine.errors import PlanError
from engine.planning.binding.bind import bind
from engine.planning.binding.conditions import holds, in_words
from engine.planning.binding.rows import condition
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.choosing.score import Candidate
from engine.planning.making.assemble import Assembler
from engine.planning.making.finish import finished
from engine.planning.naming.mention import ColumnMention
from engine.planning.reading.reading import Choices, Reading, Request, Restriction
from engine.planning.tables.sheets import Data
from engine.planning.telling.near import near
from engine.planning.told.check import level_text, require_told, with_analyses, without_misfits
from engine.planning.told.goals import ToldGoal, ToldPlan
from engine.planning.told.together import seen_by
from engine.text.tokens import Token, tokens
from engine.toolbox.analyses import Analysis
from engine.toolbox.tables.handling import condition_in_words
from engine.toolbox.written import WRITTEN


def plan_told(
    question: str,
    profiles: list[Profile],
    data: Data,
    told: ToldPlan,
    catalogue: Catalogue,
    assembler: Assembler,
    chosen: Choices,
    *,
    last: bool = False,
) -> TaskDag:
    """Return the plan of goals that were told.

    Args:
        question: what was asked; words of it that no goal quotes are shown as left aside.
        profiles: the files.
        data: the same, as the planner sees them.
        told: the goals.
        catalogue: what can be asked and done.
        assembler: adds the steps.
        chosen: tool -> parameter -> value that a person chose in place of what was told.
        last: whether nothing can be put right any more: settings that do not fit are left out then, and the plan says so.

    Raises:
        PlanError: where a goal does not fit catalogue or data; `details["issues"]` says each thing that is wrong.
    """
    told, left = without_misfits(told, catalogue) if last else (told, [])
    told = with_analyses(told, catalogue)
    # Bound without the question's words: whoever told the goals has read them, and a second reading would contradict.
    silent = replace(_silent([]), chosen=chosen)
    made = assembler.begin(silent, data, functools.partial(near, silent, data, catalogue.embed))
    told, seen = seen_by(told, data, catalogue, made)
    require_told(told, question, seen, catalogue)
    if not told.goals:
        raise PlanError(" ".join(told.not_answered))
    every = [
        (_candidate(_as_chosen(goal, chosen, catalogue), own, catalogue), own)
        for goal, own in zip(told.goals, seen, strict=True)
    ]
    goals = [goal for goal, _ in every]
    _told_apart(every)
    if unfit := list(_unfit(goals)):
        raise PlanError(f"The goals that were told do not fit: {unfit[0]}", details={"issues": unfit})
    for _, several in itertools.groupby(every, lambda pair: id(pair[1])):
        together = list(several)
        made.data = made.builder.data = own = together[0][1]
        made.near = functools.partial(near, silent, own, catalogue.embed)
        assembler.answer_all([goal for goal, _ in together], made)
    made.not_answered += told.not_answered
    made.warnings += left
    made.reading = _as_quoted(question, told)
    plan = finished(catalogue, goals, goals, made, profiles, told=True)
    return plan.model_copy(update={"told": told.model_dump(mode="json", exclude_defaults=True)})


def _as_chosen(goal: ToldGoal, chosen: Choices, catalogue: Catalogue) -> ToldGoal:
    """Return a goal with what a person chose for its step; levels of a column that is another now are forgotten."""
    spec = catalogue.registry.get(goal.tool)
    own = {
        name: value for name, value in chosen.get(goal.tool, {}).items() if not isinstance(value, Mapping)
    }  # else of rows
    # A condition in place of the rows that the goal had is all of it; beside a condition of the goal its rows stay.
    instead = any(
        param.role == "rows" and param.name in own and not goal.params.get(param.name) for param in spec.params
    )
    other = {name for name, value in own.items() if value != goal.params.get(name)}
    lost = {param.name for param in spec.params if param.of in other}
    kept = {name: value for name, value in goal.params.items() if name not in lost}
    return goal.model_copy(update={"params": {**kept, **own}, "rows": [] if instead else goal.rows})


def _candidate(goal: ToldGoal, data: Data, catalogue: Catalogue) -> Candidate:
    spec = catalogue.registry.get(goal.tool)
    analysis = catalogue.analyses.get(goal.analysis) or _of_its_own(spec)
    given = {name: value for name, value in goal.params.items() if spec.param(name)}
    columns = {param.name for param in spec.params if param.kind in ("column", "columns")}
    named = [n for key in columns & {*given} for n in (given[key] if isinstance(given[key], list) else [given[key]])]
    reading = _silent(name for name in named if name)
    bound = bind(spec, reading, data, given=given, needs=analysis.needs)
    bound.wired = {name: sheet for name, file in goal.files.items() for sheet in data.sheets if sheet.name == file}
    bound.sheets |= bound.wired
    bound.exact = True
    bound.rows = [
        Restriction(row.column, row.op, tuple(map(level_text, row.values)), 0, -1, sure=True) for row in goal.rows
    ]
    bound.reasons += [goal.why] if goal.why else []
    unmet = tuple(name for name in (*analysis.when, *spec.when) if not name.startswith(("said:", "not_said:")))
    unmet = tuple(name for name in unmet if not holds(name, bound, reading))
    return Candidate(analysis, 1.0, 1.0, bound, unmet=unmet)


def _told_apart(every: Sequence[tuple[Candidate, Data]]) -> None:
    """Say of goals that differ by their rows only which rows each is about."""
    bounds = [(goal.bound, data) for goal, data in every if goal.bound is not None]
    for bound, data in bounds:
        if any(
            b is not bound and (b.spec, b.params) == (bound.spec, bound.params) and b.rows != bound.rows
            for b, _ in bounds
        ):
            bound.told = condition_in_words(condition(bound.rows, data)) or "all rows"


def _of_its_own(spec: ToolSpec) -> Analysis:
    """Return the analysis that a tool carries out which was written for one question and answers none of the known ones."""
    return Analysis(id=WRITTEN, field=spec.domain, asks=spec.title, family=WRITTEN, title=spec.title.lower())


def _unfit(goals: Iterable[Candidate]) -> Iterable[str]:
    """Yield what data do not meet that an analysis or its tool takes: a mean of a yes/no outcome, independent rows of repeated subjects."""
    for goal in goals:
        if goal.unmet:
            meant = (
                f" Where they do not, {' or '.join(goal.analysis.instead)} is meant." if goal.analysis.instead else ""
            )
            conditions = " ".join(f"{name.replace('_', ' ')}: {in_words(name)}" for name in goal.unmet)
            yield f"The data do not meet what {goal.analysis.id} takes: {conditions}{meant}"


def _silent(columns: Iterable[str]) -> Reading:
    """Return a reading that names columns, each by a word without letters, and says nothing else."""
    names = list(dict.fromkeys(columns))
    mentions = [ColumnMention(name, "", at, at, 1.0) for at, name in enumerate(names)]
    return Reading("", [Token("", "", 0, 0)] * len(names), mentions)


def _as_quoted(question: str, told: ToldPlan) -> Reading:
    """Return the question with what its words were taken for; all of it asks, so that no word is passed over in silence."""
    reading = Reading(question, tokens(question), [])
    reading.requests = [Request(0, len(reading.words) - 1)]
    for item in sorted(told.words, key=lambda quoted: -len(quoted.words)):
        start = question.lower().find(item.words.lower())
        if start >= 0:
            reading.mark_text(start, start + len(item.words), item.means, item.value)
    return reading
