"""Testing predictions on data: planned by the ordinary planner, run as an ordinary run, its p-value kept.

What a verdict does with it is in `standings`: e-values of one hypothesis multiply, and over the tournament the false
discovery rate is controlled at `Bounds.alpha`, in each direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from engine.domain.discovery.hypotheses import ExecutedTest, Hypothesis, Prediction, Skipped, TournamentView
from engine.domain.plan import TaskDag
from engine.strategies.tournament.asking import RoundTable
from engine.strategies.tournament.standings import gathered, standings
from engine.strategies.tournament.tester import TestOutcome

BEST = 3
"""So many hypotheses are tested after each ranking, the best first."""
NO_PLAN = "The planner knows no test of it on these files."


def try_best(table: RoundTable) -> None:
    """Run the tests of the best hypotheses, where tests may run without being asked about."""
    if table.cast.tester is None or not table.ledger.state.bounds.run_tests:
        return
    view = table.ledger.view()
    best = [one.hypothesis for one in standings(view) if one.status == "competing"][:BEST]
    for hypothesis, number in open_tests(view):
        if hypothesis.id in best:
            run_test(table, hypothesis, number)


def open_tests(view: TournamentView) -> Iterator[tuple[Hypothesis, int]]:
    """Yield the predictions that have a question and were not tested yet, by their place in the hypothesis."""
    done = {(test.hypothesis, test.prediction) for test in view.tests}
    for one in view.hypotheses:
        for number, prediction in enumerate(one.predictions):
            if prediction.question and (one.id, number) not in done:
                yield one, number


def plan_of(table: RoundTable, hypothesis: Hypothesis, number: int) -> TaskDag | None:
    """Return the plan that would test a prediction, None when there is none."""
    prediction = hypothesis.predictions[number]
    given = table.ledger.state.aims.files
    # A prediction names files without their folders; they are found where the tournament has them.
    files = [file for file in given if Path(file).name in prediction.files] or prediction.files or given
    if table.cast.tester is None:
        return None
    return table.cast.tester.plan_test(prediction, files)


def run_test(table: RoundTable, hypothesis: Hypothesis, number: int) -> None:
    """Test one prediction and keep what came of it; nothing happens when it was tested already."""
    key = f"test {hypothesis.id} {number}"
    if table.ledger.has(key) or table.cast.tester is None:
        return
    prediction = hypothesis.predictions[number]
    told = {"hypothesis": hypothesis.id, "prediction": number, "at": table.ledger.now()}
    outcome = table.ask(
        "test", f"{hypothesis.id}, prediction {number + 1}", partial(_tested, table, hypothesis, number)
    )
    if isinstance(outcome, Skipped):
        table.ledger.keep(outcome, ExecutedTest(run="", why=outcome.why, **told), asked=key)
        return
    told |= {"why": outcome.why, "data": outcome.data}
    test = ExecutedTest(run=outcome.run, p=outcome.p, as_predicted=_way(prediction, outcome), **told)
    if test.p is not None:
        known = gathered([test], {hypothesis.id: hypothesis.id})[hypothesis.id]
        # An e-value of a p-value of 0 is infinite, which no file can hold.
        test = test.model_copy(update={"e_for": min(known.for_it, 1e12), "e_against": min(known.against, 1e12)})
    table.ledger.keep(test, asked=key)


def _tested(table: RoundTable, hypothesis: Hypothesis, number: int) -> TestOutcome:
    plan = plan_of(table, hypothesis, number)
    if plan is None or table.cast.tester is None:
        return TestOutcome(run="", why=NO_PLAN)
    return table.cast.tester.run(plan, hypothesis.predictions[number])


def _way(prediction: Prediction, outcome: TestOutcome) -> bool | None:
    return None if prediction.direction == "any" else outcome.as_predicted
