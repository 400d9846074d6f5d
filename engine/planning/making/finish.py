"""The plan with what it leaves open: what no part of it answers to is shown, asked or refused, and the whole must type-check."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.data.matching import cross_check
from engine.domain.datatypes import DataType
from engine.domain.plan import Alternative, Chosen, TaskDag
from engine.domain.profile import Profile
from engine.errors import PlanError
from engine.planning.binding.conditions import members, repetition
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.choosing.coverage import doubts, leaves_what_is_asked, not_held, things, unexplained
from engine.planning.choosing.goals import CLEAR, HEARD, LEAST, LIKELY, barely_meant
from engine.planning.choosing.score import Candidate
from engine.planning.choosing.ways import not_done
from engine.planning.making.assemble import Making
from engine.planning.naming.hints import names_only_whom
from engine.planning.reading.settings import cut_by_setting
from engine.planning.tables.sheets import EVERY_ROW, is_id
from engine.planning.telling.lacking import why_not
from engine.planning.telling.refusals import alternatives_of, did_you_mean, says, too_little
from engine.text.codes import meanings
from engine.text.numbers import as_number
from engine.toolbox.typecheck import check_plan

FEW_LEVELS = 12
"""A column of so many levels may be of times that its name does not tell."""
FAR = 4.0
"""Or from `LIKELY` on, when it is so many times the next one's: what is left is spread over many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProposal:
    """A plan and the tools that were considered for it, best first."""

    plan: TaskDag
    retrieved: list[str]


def finished(
    catalogue: Catalogue, goals: list[Candidate], every: list[Candidate], made: Making, profiles: list[Profile], *, told: bool
) -> TaskDag:  # fmt: skip
    """Return the plan with its questions, warnings, alternatives and what it does not answer.

    Args:
        catalogue: what can be asked and done.
        goals: what was to be planned.
        every: all that the question may ask for.
        made: the steps.
        profiles: the files.
        told: whether a person has chosen the analysis.

    Raises:
        PlanError: when there is no step, the steps do not fit together, or the words are too far from what they would answer.
    """
    reading, nodes = made.reading, made.builder.nodes
    if not nodes:
        raise PlanError(" ".join(made.not_answered) or "The question leads to no step.")
    answered = [goal for goal in goals if goal.bound in made.bounds] or goals
    done = [key for node in nodes for key in catalogue.registry.get(node.tool).answers]
    left = unexplained(reading, done, made.bounds, [name for p in profiles for name in p.called])
    made.questions += doubts(reading, left)
    alternatives = alternatives_of(every, {goal.analysis.id for goal in answered})
    first = answered[0]
    alone = len(answered) == 1 and not told
    asks = any(question.blocking for question in made.questions)
    leaves = bool(profiles) and leaves_what_is_asked(reading, left, asks=asks)
    unsure = alone and (leaves or _unsure(first, every, made, catalogue))
    lost = len(things(reading, left))
    put = _put_for_repeats(first, every) or (
        _all_named(first, made) and any(_in_place(first, c) for c in every if c.wording >= LIKELY)
    )
    guessed = unsure or (alone and _faint(first, first.wording, every) and not put)
    if alone and profiles and barely_meant(first, reading, made.data, unsure=guessed, lost=lost):
        raise too_little(reading, made.data, every)
    if unsure:
        made.questions.insert(0, did_you_mean(first, alternatives))
        own = Alternative(id=first.analysis.id, probability=round(first.probability, 3), says=says(first))
        alternatives = [own, *alternatives[:2]]
    apart = [goal for goal in answered if goal.bound and goal.bound.told and goal.analysis.id == first.analysis.id]
    if len(apart) > 1 and apart[0].bound and apart[0].bound.spec.task_type == "analysis":
        each = "outcome" if apart[0].bound.told.startswith("outcome ") else "level"
        made.warnings.append(
            f"The same is tested {len(apart)} times, once for each {each}; these p-values are not adjusted for that."
        )
    made.not_answered += [
        f"{name!r} is named in the question and has no part in this plan." for name in _without_part(made)
    ]
    made.not_answered += not_held(reading, left)
    levels = {
        as_number(level) for column in made.data.columns() if column.distinct <= FEW_LEVELS for level in column.levels
    }
    made.not_answered += not_done(reading, map(catalogue.registry.get, dict.fromkeys(n.tool for n in nodes)), levels)
    fillers = [at for at in range(len(reading.words)) if at not in reading.used and at not in left]
    plan = TaskDag(
        question=reading.question, datasets=made.builder.used_datasets(), nodes=nodes, open_questions=made.questions,
        warnings=list(dict.fromkeys([*made.warnings, *_about_data(made, profiles)])), notes=made.notes,
        understood=reading.spans(fillers), alternatives=alternatives, not_answered=list(dict.fromkeys(made.not_answered)),
        analysis=[Chosen(id=g.analysis.id, probability=round(g.probability, 3)) for g in answered],
    )  # fmt: skip
    problems = [i for i in check_plan(plan, catalogue.registry) if i.severity == "error" and i.code != "open_question"]
    if problems:
        message = f"The plan does not fit together: {problems[0].message}"
        raise PlanError(message, details={"issues": [p.model_dump() for p in problems]})
    return plan


def _unsure(first: Candidate, every: list[Candidate], made: Making, catalogue: Catalogue) -> bool:
    """Say whether another analysis may be meant than the one that is planned."""
    own_tool = first.bound.spec.name if first.bound else ""
    around = {node.tool for node in made.builder.nodes} - {own_tool}
    beside = {key for name in around for key in catalogue.registry.get(name).answers}
    if _put_for_repeats(first, every):
        return bool(first.unmet) or bool(first.left)
    own = _one_question(first, every) | beside
    heard = sum(c.wording for c in every if c.analysis.id in own)
    doubted = _faint(first, heard, every) or bool(first.unmet) or bool(first.left) or _overruled(first, every)
    return doubted or not _leads(first, every, own)


def _without_part(made: Making) -> list[str]:
    """Return the columns that are named and have no part in any step, also not in a column that a step makes."""
    taken = {name for bound in made.bounds for name in (*bound.columns(), *(row.column for row in bound.rows))}
    sheets = [bound.sheet for bound in made.bounds if bound.sheet]
    computed = [m.expression for sheet in sheets for m in sheet.made if m.column in taken]
    taken |= {name for expression in computed for name in re.findall(r"`([^`]+)`", expression)}
    reading = made.reading
    taken |= {m.column for m in reading.mentions if not m.level and names_only_whom(m, reading.words)}
    cut = {at for bound in made.bounds for at in cut_by_setting(bound.spec, reading)}
    taken |= {m.column for m in reading.mentions if cut.intersection(range(m.first, m.last + 1))}
    # What numbers every row is who is asked about: `the heaviest goats`; a few rows may stand there twice.
    taken |= {c.name for s in sheets for c in s.columns if is_id(c) and c.distinct >= EVERY_ROW * (s.profile.rows or 1)}
    # Nor does a subject that is only said to be whom it is about: `do male rats find it quicker`.
    whom = {item.subject for s in sheets for item in s.structure.repeated if not reading.parts.get(item.subject)}
    return list(dict.fromkeys(name for bound in made.bounds for name in bound.unused if name not in taken | whom))


def _about_data(made: Making, profiles: list[Profile]) -> list[str]:
    """Return the warnings of the files that are used, and why others are not."""
    used: dict[str, set[DataType]] = {}
    for dataset in made.builder.used_datasets():
        used.setdefault(dataset.path, set()).add(dataset.type)
    own = [text for profile in profiles if profile.path in used for text in profile.warnings_as(used[profile.path])]
    apart = [profile for profile in profiles if profile.path not in used and not profile.details.get("explains")]
    unused = [f"{profile.name} was not used: {why_not(profile)}" for profile in apart]
    own = [text for text in own if not _settled(made, text)]
    return [*cross_check([profile for profile in profiles if profile.path in used]), *own, *unused]


def _settled(made: Making, warning: str) -> bool:
    """Say whether a warning asks what a code means of which question or legend tell it."""
    if "say which" not in warning:
        return False
    told = [(b.of_role("event"), meanings(b.sheet.columns, made.reading.question)) for b in made.bounds if b.sheet]
    return any(repr(name) in warning and name in known for names, known in told for name in names)


def _leads(first: Candidate, every: list[Candidate], own: set[str]) -> bool:
    """Say whether what a plan does is clearly likelier than all others together, or stands far above each of them.

    A plan does more than its answer: a test of survival curves brings the curves along.
    """
    share = sum(c.probability for c in every if c.analysis.id in own)
    if first.instead_of:
        share = max(share, first.probability)
        own = own | {first.instead_of}
    second = max((c.probability for c in every if c.analysis.id not in own), default=0.0)
    return share >= CLEAR or (share >= LIKELY and share >= FAR * second)


def _one_question(first: Candidate, every: list[Candidate]) -> set[str]:
    """Return the analyses that answer the question of a plan by other means: which one it is, is no matter of what is meant.

    They take the same columns, and either say that they are alike (a share by groups, tested or as a table), or are put in the
    place of one that is heard and that the data do not meet: it is part of what is heard then.
    """
    heard = max(every, key=lambda c: c.wording)
    heirs = {*heard.analysis.instead} if heard.wording >= LIKELY and _in_place(first, heard) else set[str]()
    means = {*first.analysis.alike, *heirs}
    own = {first.analysis.id, *(c.analysis.id for c in every if c.analysis.id in means and _same_columns(first, c))}
    return own | ({heard.analysis.id} if heirs else set())


def _in_place(first: Candidate, heard: Candidate) -> bool:
    """Say whether an analysis is what is heard, done as the data need it: of the same columns, and who is measured repeatedly."""
    if first.bound is None or heard.bound is None or not heard.unmet or first.unmet:
        return False
    more = {*first.bound.columns()} - {*heard.bound.columns()}
    subjects = {item.subject for item in first.bound.sheet.structure.repeated} if first.bound.sheet else set[str]()
    same = more <= subjects or heard.unmet == ("nothing_left",)
    return first.analysis.id in heard.analysis.instead and same


def _all_named(first: Candidate, made: Making) -> bool:
    """Say whether the question names all that a step takes beside the follow-up and whose rows belong together."""
    sheet = first.bound.sheet if first.bound else None
    if first.bound is None or sheet is None:
        return False
    known = {*sheet.structure.survival.values(), *(item.subject for item in sheet.structure.repeated)}
    return {*first.bound.columns()} - known <= {*made.reading.named()}


def _same_columns(first: Candidate, other: Candidate) -> bool:
    if first.bound is None or other.bound is None or other.bound.missing or other.unmet:
        return False
    return {*first.bound.columns()} == {*other.bound.columns()}


def _put_for_repeats(first: Candidate, every: list[Candidate]) -> bool:
    """Say whether what is clearly asked for is planned as is right for subjects that surely have several rows each."""
    heard = next((c for c in every if c.analysis.id == first.instead_of), None)
    if heard is None or heard.wording < PLAIN or heard.unmet != ("independent",) or heard.bound is None:
        return False
    found = repetition(heard.bound)
    return found is not None and found.confidence >= SURELY and heard.probability == max(c.probability for c in every)


PLAIN, SURELY = 0.8, 0.95
"""How likely the words alone make what is asked for, and how sure it is that rows repeat subjects."""


def _faint(first: Candidate, wording: float, every: list[Candidate]) -> bool:
    """Say whether hardly a word asks for an analysis, and none that asks for what it stands in the place of."""
    return wording < LEAST and not _named_otherwise(first, every)


def _named_otherwise(first: Candidate, every: list[Candidate]) -> bool:
    """Say whether words of the question, not the data, put an analysis in the place of one that is heard: `is MX1 up with ifn`."""
    return any(
        other.wording >= HEARD
        and first.analysis.id in other.analysis.instead
        and bool(other.unmet)
        and all(name.startswith("not_said:") or name in ("one_change", "nothing_held") for name in other.unmet)
        for other in every
    )


def _overruled(first: Candidate, every: list[Candidate]) -> bool:
    """Say whether the words ask for another analysis that is left only because members of one herd or ward may be alike."""
    worded = max(every, key=lambda c: c.wording)
    alike = worded.bound is not None and worded.unmet == ("independent",) and members(worded.bound)
    return alike and worded.wording > first.wording and worded.analysis.id != first.analysis.id


def doubts_of(plan: TaskDag) -> int:
    """Return how much of a question a plan leaves open or out."""
    return sum(2 if q.blocking else 1 for q in plan.open_questions if q.required) + 2 * len(plan.not_answered)
