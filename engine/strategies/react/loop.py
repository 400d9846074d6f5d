"""The loop of look-ups: choose one, make it, see what it found, until there is enough; at most twelve, never one twice.

Who chooses is a driver: by the words of the question here (`by_words`), by a model where there is one. Both have the
same tools, whose forms of arguments are JSON schemas (`Lookup.parameters`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from engine.domain.report import Report
from engine.strategies.react.answer.answer_report import told_report
from engine.strategies.react.lookup import Call, Lookup, LookupQuestion, Observation, Step

_log = logging.getLogger(__name__)
MOST_STEPS = 12
LINES = 15
"""An answer has at most so many sentences."""


class Driver(Protocol):
    """Chooses the next look-up."""

    def __call__(self, asked: LookupQuestion, lookups: Sequence[Lookup], steps: Sequence[Step]) -> Call | None:
        """Return the next look-up, None when what was found is enough."""
        ...


def by_words(asked: LookupQuestion, lookups: Sequence[Lookup], steps: Sequence[Step]) -> Call | None:
    """Return the first look-up that the question's words ask for and that was not made yet."""
    if steps and steps[-1].found.whole:
        return None
    made = [step.call for step in steps]
    for lookup in lookups:
        for arguments in lookup.asked(asked, steps):
            call = Call(tool=lookup.name, arguments=arguments.model_dump(mode="json"))
            if call not in made:
                return call
    return None


def looked_up(asked: LookupQuestion, lookups: Sequence[Lookup], driver: Driver = by_words) -> list[Step]:
    """Return the look-ups that were made for a question, in order."""
    known = {lookup.name: lookup for lookup in lookups}
    steps: list[Step] = []
    while (call := driver(asked, lookups, steps)) is not None:
        stopped = f"stopped after {MOST_STEPS} steps" if len(steps) == MOST_STEPS else ""
        if any(step.call == call for step in steps):
            stopped = f"stopped where {call.tool} was to be asked the same again"
        if stopped:
            limits = [f"The look-up was {stopped}: there may be more."]
            steps.append(Step(call=call, found=Observation(limitations=limits)))
            break
        steps.append(Step(call=call, found=_found(known.get(call.tool), call)))
    return steps


def _found(lookup: Lookup | None, call: Call) -> Observation:
    """Return what a look-up found; a fault of one (a damaged graph, say) never stops the others."""
    if lookup is None:
        return Observation(fault=f"There is no look-up called {call.tool!r}.")
    try:
        return lookup(call.arguments)
    except Exception as err:  # noqa: BLE001 - a border: what is stored is a companion, never a condition of a run
        _log.warning("%s could not be looked up", call, exc_info=err)
        return Observation(fault=f"{call.tool}: {err}")


def answered(question: str, steps: Sequence[Step], opening: str = "") -> Report | None:
    """Return the answer that look-ups give together, None when they found nothing and have nothing to say.

    Args:
        question: what was asked.
        steps: the look-ups.
        opening: what is said first where anything is, or "".
    """
    found = [step.found for step in steps]
    notes = [note for one in found for note in one.notes]
    lines = [line for one in found for line in one.lines]
    if not notes and not lines:
        return None
    limits = [limit for one in found for limit in one.limitations]
    if len(lines) > LINES:
        limits.append(f"{len(lines) - LINES} more sentences were found and are not shown.")
    report = told_report(
        question,
        [*([opening] if opening else []), *notes, *lines[:LINES]],
        [finding for one in found for finding in one.findings],
        list(dict.fromkeys(limits)),
        [figure for one in found for figure in one.figures],
    )
    cited = {citation.title: citation for one in found for citation in one.citations}
    return report.model_copy(update={"citations": list(cited.values())})
