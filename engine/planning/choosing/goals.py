"""What to plan for a question: the likeliest analysis, the one a person chose, or one for each level of a column."""

from __future__ import annotations

import re
from dataclasses import replace

from engine.domain.plan import texts_of
from engine.errors import PlanError
from engine.planning.binding.bind import bind, means_all
from engine.planning.binding.bound import Bound
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.choosing.coverage import nothing_called
from engine.planning.choosing.score import Candidate, can_be_done, unmet_by
from engine.planning.choosing.several import NOT_ALONE, AskedPart, listed, one_each, parts_of, requests_in
from engine.planning.choosing.subgroups import Each, apart, holds, of_one_level, relates, without
from engine.planning.naming.mention import SURE as SURE_NAMED
from engine.planning.reading.read import reread, within
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data, is_id
from engine.toolbox.analyses import ASIDE

SURE = 0.5
"""From this probability on no near analysis is put in the place of the likeliest."""
CLEAR = 0.65
"""From this probability on a plan is made without asking whether it is the one that was meant."""
HEARD = 0.06
"""An analysis that the data put in place of another must at least be this likely by the words."""
HEIR = 0.2
"""What is meant where the data do not meet an analysis is taken when it is at least this much as likely."""
NEAR = 0.4
"""A step that can be done is proposed instead of an analysis that cannot when it is at least this much as likely."""
POSSIBLE = 0.06
"""Below this nothing is planned."""
UNNAMED = 0.1
"""Nor is something below this where no word is of the data and something in them is missed by name."""
NAMED = 0.02
"""A step that is named beside another, or whose columns are all that is named, needs to be at least this likely."""
LIKELY = 0.35
"""Below this a wording is unlikely."""
LEAST = 0.01
"""And an analysis is not heard at all when the words themselves give it less."""
MOSTLY = 0.5
"""Columns are mostly not named where their mean strength is less; a guess counts nothing."""
TWO = 2
"""So many columns make a relation: a measure and a grouping, an event and the groups."""


def what_to_plan(catalogue: Catalogue, reading: Reading, data: Data, every: list[Candidate]) -> list[Candidate]:
    """Return what to plan: one analysis, or one for each request that is sure of another."""
    if not every:
        return []
    best = serving(likeliest(every, reading, data), every, reading, data)
    none = max((c.probability for c in every if not c.analysis.data), default=0.0)
    unnamed = not reading.mentions and not reading.genes
    lost = unnamed and (none > 0.5 * best.probability or best.probability < UNNAMED)
    if best.probability < POSSIBLE or (lost and best.analysis.data and nothing_called(reading, data)):
        return []  # `which unicorns fly`: no word is of these data, and the wording says little by itself
    reading.requests = requests_in(catalogue, reading, data)
    goals = one_each(catalogue, reading, data, best) if len(reading.requests) > 1 else [best]
    goals = [own for goal in goals for own in outcomes_apart(catalogue, goal, reading, data)]
    return [*goals, *_also(reading, goals, every)]


def outcomes_apart(catalogue: Catalogue, goal: Candidate, reading: Reading, data: Data) -> list[Candidate]:
    """Return the goal once for each of several outcomes, none of which explains another: `effect on LDL and on triglycerides`."""
    bound = goal.bound
    named = [name for name in reading.named() if reading.parts.get(name) == {"outcome"}]
    single = next((p for p in bound.spec.params if p.role in _OUTCOMES and p.kind == "column"), None) if bound else None
    if bound is None or single is None or bound.params.get(single.name) not in named:
        return [goal]
    if not {*named} <= {*bound.columns()} or not 2 <= len(named) <= MOST_OUTCOMES:
        return [goal]
    found: list[Candidate] = []
    for name in named:
        inner = reread(reading, [m for m in reading.mentions if m.column not in named or m.column == name], data)
        inner.used = reading.used
        own = bind(bound.spec, inner, data, needs=catalogue.analyses[goal.analysis.id].needs)
        if own.missing or own.params.get(single.name) != name:
            return [goal]
        found.append(replace(goal, bound=replace(own, told=f"outcome {name}")))
    return found


_OUTCOMES = frozenset({"outcome", "measure", "response", "count"})
MOST_OUTCOMES = 4


def likeliest(every: list[Candidate], reading: Reading, data: Data) -> Candidate:
    """Return what to plan: the likeliest, unless a near one can be done where it cannot, or brings it along."""
    best = every[0]
    if not best.feasible and max(best.wording, best.probability) < LIKELY:
        # Faint, and of data of another kind: `the trees of the border`.
        best = next((c for c in every if c.feasible), best)
    heir = next((c for c in every if c.analysis.id in best.analysis.instead and can_be_done(c)), None)
    # A column that is left over says nothing about the data: it may be the subgroups of the same analysis.
    data_differ = set(best.unmet) - {"nothing_left"}
    if data_differ and heir is not None and heir.probability >= HEIR * best.probability:
        # The data do not meet what it takes, and it says itself what is meant then.
        return replace(heir, probability=heir.probability + best.probability, instead_of=best.analysis.id)
    worded = max(every, key=lambda item: item.wording)
    able = next((c for c in every if c.bound is not None and not c.bound.missing and not c.unmet), None)
    if (
        not best.analysis.data
        and able
        and able.bound
        and able.bound.columns()
        and (not nothing_called(reading, data) or _named_by(able.bound, reading) > 1)
    ):
        return able  # the words are known to the data: asked about, not refused
    if not best.analysis.data and worded.analysis.data and worded.probability >= POSSIBLE:
        best = worded  # what is asked for is known: say what it lacks
    if (
        (best.analysis.data or len(able.bound.columns() if able and able.bound else []) > 1)
        and best.probability < SURE
        and able is not None
        and able.wording >= min(HEARD, 0.8 * best.wording)  # where all is faint, near counts
        and able.probability >= NEAR * best.probability
    ):
        best = able
    for other in every[1:3]:
        around = {practice.tool for practice in other.analysis.practice}
        if other.bound is not None:  # what makes the column that it groups by
            around |= {part.partition(":")[0] for p in other.bound.spec.params for part in p.made_by.split(",")}
        if (
            best.bound is not None
            and other.bound is not None
            and best.bound.spec.name in around
            and other.probability >= SURE * best.probability
        ):
            return other
    return best


def share_named(bound: Bound, reading: Reading, *, apart: bool = False) -> float:
    """Return how surely the columns of a step are named, in the mean of its parts; what the data filled counts nothing.

    Args:
        bound: the step.
        reading: the question.
        apart: without parts that mean all columns where none is named.
    """
    parts = [p for p in bound.spec.params if p.kind in ("column", "columns")]
    named = [texts_of(bound.params.get(p.name)) for p in parts if not (apart and means_all(p, bound))]
    shares = [sum(map(reading.strength, names)) / len(names) for names in named if names]
    return sum(shares) / len(shares) if shares else 1.0


def barely_meant(item: Candidate, reading: Reading, data: Data, *, unsure: bool, lost: int) -> bool:
    """Say whether an analysis is a guess: its wording is unlikely, and the question names hardly any of its columns.

    To offer it would ask a person about columns that nobody spoke of. Where none of them is named and words that name things answer to
    nothing in the data (so many are `lost`), a likely wording is one of another question too; one such word will do where the
    question names no data at all. A measure and a grouping that are all the data have are no guess among others.
    """
    columns = {*item.bound.columns()} if item.bound is not None else set[str]()
    only = len(columns) <= TWO and columns >= {c.name for c in data.columns() if not is_id(c)}
    if item.bound is None or not columns or only or reading.genes or item.bound.spec.name in reading.chosen:
        return False
    named = any((c := data.column(name)) and not is_id(c) for name in reading.columns())
    unlikely = unsure and (item.probability < LIKELY or item.wording < LEAST)
    if unlikely and share_named(item.bound, reading) < MOSTLY:
        return True
    of_other_data = (lost >= TWO and item.probability < CLEAR) if named else lost > 0
    return of_other_data and not share_named(item.bound, reading, apart=True)


def serving(best: Candidate, every: list[Candidate], reading: Reading, data: Data) -> Candidate:
    """Return, for an unlikely wording whose step takes columns nobody named, the step of just the columns that are named.

    Of those that are suggested for files the one that the columns fit best is it: a measure and a grouping are compared, whatever else a
    vague wording reminds of.
    """
    if best.probability >= LIKELY or best.bound is None or share_named(best.bound, reading) >= SURE_NAMED:
        return best
    named = {c.name for name in reading.columns() if (c := data.column(name)) and not is_id(c)}
    if len(named) < TWO or any(reading.strength(name) < SURE_NAMED for name in named):
        return best
    able = [c for c in every if can_be_done(c) and c.bound is not None and {*c.bound.columns()} == named]
    able = [c for c in able if c.analysis.suggests and c.probability >= NAMED]
    first = min(able, key=lambda c: (-c.bound.score if c.bound else 0.0, c.analysis.rank), default=best)
    return replace(first, probability=max(first.probability, best.probability))


def as_chosen(catalogue: Catalogue, analysis: str, every: list[Candidate], reading: Reading, data: Data) -> Candidate:
    """Return the analysis that a person has chosen, by the tool that fits best.

    Raises:
        PlanError: when there is none of that name.
    """
    if analysis not in catalogue.analyses:
        raise PlanError(f"There is no analysis called {analysis!r}.", advice="`biodesk analyses list` names them all.")
    own = catalogue.analyses[analysis]
    bounds = sorted(
        (bind(tool, reading, data, needs=own.needs) for tool in catalogue.registry if analysis in tool.answers),
        key=lambda b: (b.spec.name not in reading.chosen, len(unmet_by(b, reading, own)), -b.score),
    )
    share = next((c.wording for c in every if c.analysis.id == analysis), 0.0)
    return Candidate(own, share, 1.0, bounds[0] if bounds else None)


def parts_asked(catalogue: Catalogue, every: list[Candidate], reading: Reading, data: Data) -> list[AskedPart]:
    """Return the parts of a question that was only read so far; [] for one that asks for one thing."""
    reading.requests = requests_in(catalogue, reading, data)
    several = len(reading.requests) > 1 and bool(every)
    return parts_of(catalogue, reading, data, likeliest(every, reading, data)) if several else []


def items_may_be(catalogue: Catalogue, reading: Reading, data: Data) -> list[list[Candidate]]:
    """Return the analyses that each item of a list may ask for, none for one that says too little; [] without a list."""
    return [item.may_be if item.best is not None else [] for item in listed(catalogue, reading, data)]


def part_may_be(catalogue: Catalogue, part: AskedPart, reading: Reading, data: Data) -> list[Candidate]:
    """Return the analyses that a part of a question may ask for, likeliest first."""
    first, last = part.places[0].first, part.places[-1].last
    return catalogue.candidates(within(reading, part.places, data), data, first=first, last=last, whole=reading)


def chosen_each(
    catalogue: Catalogue, names: list[str], every: list[Candidate], reading: Reading, data: Data
) -> tuple[list[Candidate], list[str]]:
    """Return what is chosen for each part of a question, and a sentence on each part that is left aside.

    Raises:
        PlanError: when the question has not as many parts, or none is left.
    """
    items = listed(catalogue, reading, data)
    parts: list[tuple[str, Candidate | None, Reading]] = [(item.text, item.best, item.reading) for item in items] or [
        (part.text(reading), part.best, within(reading, part.places, data))
        for part in parts_asked(catalogue, every, reading, data)
    ]
    if len(parts) != len(names) or not any(name != ASIDE for name in names):
        message = f"{len(names)} analyses are chosen for a question of {max(1, len(parts))}."
        raise PlanError(message, advice="Choose one for each thing that is asked; at least one must be planned.")
    goals: list[Candidate] = []
    aside: list[str] = []
    for name, (text, best, said) in zip(names, parts, strict=True):
        if name == ASIDE:
            aside.append(f"{text!r} {NOT_ALONE if best is None else 'is left aside, as was chosen.'}")
            continue
        meant = best if best is not None and name == best.analysis.id else None
        goals.append(meant or as_chosen(catalogue, name, every, said, data))
        if items:
            reading.take(said)
    return [*goals, *([] if items else _also(reading, goals, every))], aside


def of_each(
    catalogue: Catalogue, each: Each, reading: Reading, data: Data, goals: list[Candidate], analysis: str
) -> tuple[Reading, list[Candidate]]:
    """Return what is asked of each level of a column, unless a step gives its results by them itself."""
    inner = without(reading, each, data)
    every = catalogue.candidates(of_one_level(inner, each, data), data)
    best = as_chosen(catalogue, analysis, every, inner, data) if analysis else likeliest(every, inner, data)
    first = goals[0]  # `each` alone turns nothing into another analysis, nor takes away a column that has its part
    same = best.analysis.id == first.analysis.id and not (first.bound and each.column in first.bound.columns())
    sure = analysis or (best.probability >= SURE and (each.surely or same))
    if best.bound is None or best.unmet or best.bound.missing or not sure:
        return reading, goals
    if not (each.surely and relates(best.bound)) and any(
        (holds(goal.bound, each.column) and (analysis or goal.probability >= SURE))
        or (goal.bound and each.column in goal.bound.columns() and goal.probability >= CLEAR)
        for goal in goals
    ):
        return reading, goals
    return inner, apart(best, each)


def _named_by(bound: Bound, reading: Reading) -> int:
    """Return how many columns of a step the question surely names."""
    return sum(reading.strength(name) >= SURE_NAMED for name in set(bound.columns()))


def _also(reading: Reading, goals: list[Candidate], every: list[Candidate]) -> list[Candidate]:
    """Return the steps that the question names beside what it asks: `... and a volcano plot`."""
    planned = {goal.bound.spec.name: goal.bound.spec for goal in goals if goal.bound is not None}
    known = {word.lower() for spec in planned.values() for word in (spec.title, *spec.keywords)}
    found: list[Candidate] = []
    for other in every:
        bound = other.bound
        if (
            bound is None
            or bound.spec.task_type != "visualization"
            or bound.spec.name in planned
            or bound.missing
            or other.unmet
            or other.wording < NAMED
        ):
            continue
        names = [
            re.escape(w) for w in (bound.spec.title, *bound.spec.keywords) if len(w) > 4 and w.lower() not in known
        ]
        if names and re.search(
            rf"(?:\band|\bplus|\+|,|&)\s+(?:an?\s+|the\s+)?(?:{'|'.join(names)})s?(?!\w)",
            reading.question,
            re.IGNORECASE,
        ):
            found.append(other)
    return found[:2]
