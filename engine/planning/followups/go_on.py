"""The plan of a question that goes on from the one before: each way to understand it is planned until one leaves nothing open."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from engine.domain.plan import Alternative, OpenQuestion, TaskDag
from engine.errors import PlanError
from engine.planning.choosing.catalogue import Catalogue
from engine.planning.choosing.score import Candidate
from engine.planning.choosing.several import NOT_ALONE
from engine.planning.choosing.spelling import spelled
from engine.planning.followups.follow import FollowUp, Try, follow_up
from engine.planning.followups.keeping import choices, sides_set, with_what_was_set
from engine.planning.making.finish import PlanProposal, doubts_of
from engine.planning.reading.reading import Choices, Reading
from engine.planning.tables.sheets import Data

PlanIt = Callable[[str, str, Choices], PlanProposal]
"""Plans a whole question as an analysis ("" for the likeliest), with what a person chose."""


def go_on(
    question: str, before: TaskDag, data: Data, catalogue: Catalogue, plan_it: PlanIt, *, analysis: str, chosen: Choices
) -> PlanProposal | None:
    """Return the plan of a question that goes on from a plan, None when it stands by itself.

    Args:
        question: what is asked.
        before: the last plan of the conversation.
        data: the files.
        catalogue: what can be asked and done.
        plan_it: plans the question that a follow-up makes.
        analysis: the analysis that a person has chosen, or "".
        chosen: tool -> parameter -> value that a person chose for it.

    Raises:
        PlanError: when it goes on, and neither with the question before nor by itself can be planned.
    """
    question = put.text if (put := spelled(question, data)) else question
    own, base = catalogue.read(question, data), catalogue.read(before.question, data)

    def judge(text: str) -> tuple[list[Candidate], Reading]:
        reading = own if text == question else catalogue.read(text, data)
        return catalogue.candidates(reading, data), reading

    said = follow_up(question, own, base, judge, before, data, catalogue.registry)
    if said is None:
        return None
    best: PlanProposal | None = None
    failed: PlanError | None = None
    for one in said.tries:
        try:
            made = _tried(one, said, question, before, catalogue, plan_it, analysis, chosen)
        except PlanError as err:
            failed = err if failed is None or not failed.advice else failed
            continue
        if best is None or doubts_of(made.plan) < doubts_of(best.plan):
            best = made
        if not doubts_of(made.plan):
            break
    if best is None and failed is not None:
        raise failed
    return _still_open(catalogue, best, before) if best is not None else None


def _tried(
    one: Try, said: FollowUp, question: str, before: TaskDag, catalogue: Catalogue, plan_it: PlanIt, analysis: str,
    chosen: Choices,
) -> PlanProposal:  # fmt: skip
    """Return the plan of one way to understand a follow-up.

    Raises:
        PlanError: when it cannot be planned, or the plan does not do what is said to be new.
    """
    key = analysis or one.analysis
    made = plan_it(one.question, key, choices(one, chosen))
    if (turned := sides_set(made.plan, before, said, one, catalogue.registry)) is not None:
        made = plan_it(one.question, key, choices(turned, chosen))
    if one.analysis and not any(one.analysis in catalogue.registry.get(n.tool).answers for n in made.plan.nodes):
        raise PlanError(" ".join(made.plan.not_answered))
    if not said.is_done(made.plan, one, chosen=bool(analysis)):
        raise PlanError(
            f"What {question!r} changes ({one.new}) cannot be done in the analysis before.",
            advice=f"It was read as going on from {one.kept}. Ask it as a whole question, or say it otherwise.",
        )
    taken = f"Taken over: {one.kept}. New: {one.new}{_in_place(catalogue, made.plan, before, said)}."
    plan = with_what_was_set(made.plan, before, said, catalogue.registry).model_copy(update={"follows": taken})
    if not analysis and not (one.sure and _settled(one, plan, before, plan_it, chosen)):
        others = [*(other.analysis for other in said.tries), *(c.id for c in before.analysis)]
        plan = _asked(catalogue, plan, one, others)
    return replace(made, plan=plan)


def _in_place(catalogue: Catalogue, plan: TaskDag, before: TaskDag, said: FollowUp) -> str:
    """Return which analysis stands in the place of which, where the one before could hold no column constant."""
    now, then = ([catalogue.analyses[c.id].name for c in one.analysis] for one in (plan, before))
    return f" ({', '.join(now)} in place of {', '.join(then)})" if said.held and not {*now} & {*then} else ""


def _settled(one: Try, plan: TaskDag, before: TaskDag, plan_it: PlanIt, chosen: Choices) -> bool:
    """Say whether nothing is left of the question which analysis the plan before meant.

    What it still asked is not settled by going on from it, unless the words now say it themselves.
    """
    if one.analysis not in {q.proposed for q in before.open_questions if q.id == "analysis" and q.blocking}:
        return True
    plain = plan_it(one.question, "", choices(one, chosen)).plan
    same = [c.id for c in plan.analysis] == [c.id for c in plain.analysis]
    return same and not any(q.id == "analysis" for q in plain.open_questions)


def _still_open(catalogue: Catalogue, made: PlanProposal, before: TaskDag) -> PlanProposal:
    """Return a follow-up's plan that still says which requests of the question before nothing has answered."""
    answered = {key for node in made.plan.nodes for key in catalogue.registry.get(node.tool).answers}
    other = tuple(f"{a.name.capitalize()}: " for a in catalogue.analyses.values() if a.id not in answered)
    lost = [text for text in before.not_answered if text.startswith(other) or text.endswith(NOT_ALONE)]
    return replace(
        made, plan=made.plan.model_copy(update={"not_answered": list(dict.fromkeys([*made.plan.not_answered, *lost]))})
    )


def _asked(catalogue: Catalogue, plan: TaskDag, one: Try, others: Iterable[str]) -> TaskDag:
    """Return the plan with the question whether this is how the follow-up is meant, and what else could be."""
    keys = list(dict.fromkeys([one.analysis, *filter(None, others)]))[:3]
    says = {key: f"{catalogue.analyses[key].name.capitalize()}: {catalogue.analyses[key].asks}" for key in keys}
    why = "The words go on from the question before and hardly say with what."
    question = OpenQuestion(
        id="analysis", text=f"Is this what is meant? {says[one.analysis]}.", why=why, choices=keys, proposed=one.analysis,
        blocking=True,
    )  # fmt: skip
    choices = [Alternative(id=key, probability=0.0, says=text) for key, text in says.items()]
    return plan.model_copy(update={"open_questions": [question, *plan.open_questions], "alternatives": choices})
