"""Tests of predictions as ordinary runs: planned by the ordinary planner, run in the sandbox, read from its answer.

The p-value is that of the finding that answers the question. Which way the effect points is read from the sentence of
that finding, `higher in A than in B`, beside the order in which the question names the two; where no two are compared,
from the sign of a slope or a correlation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.domain.discovery.hypotheses import Prediction
from engine.domain.findings import Finding
from engine.domain.plan import TaskDag
from engine.domain.report import RunView
from engine.errors import UserError
from engine.reporting.answers import answering, answers_of
from engine.strategies.tournament.roles import ItemFailed
from engine.strategies.tournament.tester import TestOutcome
from engine.text.letters import plain
from engine.toolbox.registry import ToolRegistry

_P = ("p_value", "p", "p_adj")
"""Names of the value that is taken, the first that there is."""
_SIGNED = ("slope", "correlation", "r", "rho", "tau", "coefficient", "log2_fold_change", "effect", "change")
_COMPARED = re.compile(
    r"\b(higher|greater|larger|more|longer|faster|lower|smaller|less|fewer|shorter|slower)\b.{0,40}?"
    r"\bin (.{1,60}?) than (?:in )?([^:,;(]{1,60})",
    re.IGNORECASE,
)
_BESIDE_NAME = re.compile(r"\s*\([^()]*\)\s*$")
"""A value told behind the name of a group."""
_UP = frozenset("higher greater larger more longer faster".split())


@dataclass(frozen=True, slots=True)
class TestsByRuns:
    """The `Tester` that asks the desk itself."""

    __test__ = False

    draft: Callable[[str, Sequence[Path]], TaskDag]
    """Question and files -> plan; raises a `UserError` where there is none."""
    start: Callable[[TaskDag], str]
    """Runs a plan and returns the id of its run."""
    finished: Callable[[str], RunView]
    """Waits until a run is over and returns it."""
    registry: ToolRegistry

    def plan_test(self, prediction: Prediction, files: Sequence[str]) -> TaskDag | None:
        """Return the plan that would test it, None when the question or the data allow none."""
        try:
            plan = self.draft(prediction.question, [Path(file) for file in files])
        except UserError:
            return None
        return None if plan.unanswered() else plan

    def run(self, plan: TaskDag, prediction: Prediction) -> TestOutcome:
        """Run a plan and return what it says.

        Raises:
            ItemFailed: when the run did not come to an end.
        """
        run_id = self.start(plan)
        view = self.finished(run_id)
        if view.record.status not in ("succeeded", "partial"):
            raise ItemFailed(view.record.error or f"Run {run_id} is {view.record.status}.", details={"run": run_id})
        return outcome_of(view, prediction, self.registry)


def outcome_of(view: RunView, prediction: Prediction, registry: ToolRegistry) -> TestOutcome:
    """Return what a run says of a prediction."""
    run_id = view.record.run_id
    data = sorted({dataset.sha256 for dataset in view.plan.datasets}) if view.plan is not None else []
    for node, result in answering(view, registry):
        told = answers_of(view, [(node, result)], registry)[0].finding
        finding = next((one for one in result.findings if one.id == told), None)
        p = p_value(finding) if finding is not None else None
        if finding is None or p is None:
            continue
        if prediction.direction == "any":
            return TestOutcome(run=run_id, p=p, data=data)
        up = points_up(finding, view.record.question)
        if up is None:
            return TestOutcome(run=run_id, why="The run does not say which way the effect points.")
        return TestOutcome(run=run_id, p=p, as_predicted=up == (prediction.direction == "more"), data=data)
    return TestOutcome(run=run_id, why="The answer of the run has no p-value.")


def p_value(finding: Finding) -> float | None:
    """Return the p-value of a finding, None when it has none."""
    known = {value.name: value.value for value in finding.values}
    for name in _P:
        value = known.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
    return None


def points_up(finding: Finding, question: str) -> bool | None:
    """Return whether what is asked about is more in what the question names first, or rises; None when unknown."""
    found = _COMPARED.search(finding.text)
    if found is None:
        known = {value.name: value.value for value in finding.values}
        value = next((known[name] for name in _SIGNED if isinstance(known.get(name), int | float)), None)
        return None if value is None or value == 0 else float(value) > 0
    up = found[1].lower() in _UP
    asked = plain(question)
    first, second = (_place(asked, name) for name in (found[2], found[3]))
    if first is None and second is None:
        return None
    swapped = first is None or (second is not None and second < first)
    return up != swapped


def _place(text: str, name: str) -> int | None:
    """Return where a text names a group; of `statin = yes (1.2)` the group is that, or else `yes`."""
    name = _BESIDE_NAME.sub("", name).strip()
    for form in (name, name.rpartition(" = ")[2]):
        if found := re.search(rf"(?<!\w){re.escape(plain(form))}(?!\w)", text):
            return found.start()
    return None
