"""Predictions tested as runs: which p-value is taken, which way an effect points, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from growth_data import write_growth
from scipy.stats import ttest_ind
from tournament_room import Simulated, cast_of, idea, played, table_of

from engine.api import open_engine
from engine.domain.discovery.hypotheses import Aims, Bounds, Prediction
from engine.domain.findings import Finding, FindingValue
from engine.domain.plan import TaskDag
from engine.errors import ModelTimedOut
from engine.strategies.tournament.executing import p_value, points_up
from engine.strategies.tournament.roles import ItemFailed
from engine.strategies.tournament.running import complete
from engine.strategies.tournament.stages.testing import NO_PLAN, plan_of
from engine.strategies.tournament.tester import TestOutcome

ADJUSTED = "Adjusted mean weight is 0.911 lower in fed (5.24) than in starved (6.16): difference -0.911, p = 7.6e-7."
LEVELS = "slope is higher in smoker = yes than in smoker = no: mean -0.288 (n = 39) against -0.637 (n = 57)."
MORE = "growth is higher in treated than in control: mean 6.59 (n = 12) against 5.31, p = 0.0011 (Welch's t-test)."


def finding(text: str = "", **values: float | str | None) -> Finding:
    return Finding(id="f", node="n", text=text, values=[FindingValue(name=k, value=v) for k, v in values.items()])


@pytest.mark.parametrize(
    ("values", "p"),
    [
        ({"difference": 3.0, "p_value": 0.04, "p_adj": 0.2}, 0.04),
        ({"p_adj": 0.2}, 0.2),
        ({"p_value": "< 0.001"}, None),
        ({"p_value": 1.5}, None),
        ({"p_value": None, "p_adj": 0.3}, 0.3),
        ({"p_value": True}, None),
        ({}, None),
    ],
)
def test_the_p_value_is_that_of_the_finding(values: dict[str, float | str | None], p: float | None) -> None:
    assert p_value(finding(**values)) == p


@pytest.mark.parametrize(
    ("text", "question", "up"),
    [
        (MORE, "Is growth higher in treated than in control?", True),
        # Less in control than in treated: what is named first has less.
        (MORE, "Is growth lower in control than in treated?", False),
        (MORE, "Does growth differ in treated plants?", True),
        (MORE, "Does growth differ in control plants?", False),
        (MORE, "Does growth differ?", None),
        ("x is lower in A than in B (p = 0.2).", "Is x more in a than in b?", False),
        ("nothing is compared", "Is it?", None),
        (ADJUSTED, "Is weight lower in fed than in starved fish, adjusted for length?", False),
        (ADJUSTED, "Is weight higher in starved than in fed fish?", True),
        (LEVELS, "Is slope higher in people with smoker yes than no?", True),
        (LEVELS, "Is slope lower with smoker no than yes?", False),
    ],
)
def test_the_way_of_an_effect_is_read_from_both_sentences(text: str, question: str, up: bool | None) -> None:
    assert points_up(finding(text, difference=1.0), question) is up


def test_without_groups_the_sign_of_a_slope_says_it() -> None:
    assert points_up(finding("it grows with age", slope=0.2), "Does it grow with age?") is True
    assert points_up(finding("it falls", correlation=-0.2), "Does it?") is False
    assert points_up(finding("flat", slope=0.0), "Does it?") is None


class Lab:
    """A tester that finds what the prediction says it will."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def plan_test(self, prediction: Prediction, files: object) -> TaskDag | None:
        if "impossible" in prediction.question:
            return None
        return TaskDag(question=prediction.question, nodes=[], datasets=[])

    def run(self, plan: TaskDag, prediction: Prediction) -> TestOutcome:
        self.ran.append(plan.question)
        if "breaks" in plan.question:
            raise ItemFailed("The run failed.")
        return TestOutcome(run="run_1", p=float(plan.question.split()[-1]), as_predicted=prediction.direction == "more")


def predicting(question: str, direction: str = "more") -> type[Simulated]:
    class Predicts(Simulated):
        def make(self, aims, guidance, count, seed):
            told = Prediction.model_validate(
                {"says": "s", "contradicted_by": "c", "question": question, "direction": direction}
            )
            made = super().make(aims, guidance, count, seed)
            return [
                one.model_copy(update={"hypothesis": one.hypothesis.model_copy(update={"predictions": [told]})})
                for one in made
            ]

    return Predicts


@pytest.mark.parametrize(
    ("question", "direction", "verdict", "why"),
    [
        ("Is it so with p of 0.0001", "more", "supported", ""),
        ("Is it so with p of 0.0001", "less", "refuted", ""),
        ("Is it so with p of 0.0001", "any", "supported", ""),
        ("Is it so with p of 0.9", "any", "untested", ""),
        ("It is impossible", "more", "untestable_here", NO_PLAN),
        ("It breaks", "more", "untestable_here", "The run failed."),
    ],
)
def test_tests_run_where_they_may_and_give_verdicts(question: str, direction: str, verdict: str, why: str) -> None:
    lab = Lab()
    bounds = Bounds(hypotheses=3, iterations=0, concurrency=1, run_tests=True)
    cast = cast_of(predicting(question, direction)(), tester=lab)
    view = complete(played(cast, bounds).ledger.view())
    assert {one.verdict for one in view.standings} == {verdict}
    assert [one.why for one in view.tests] == [why] * 3
    assert len(lab.ran) == (0 if why == NO_PLAN else 3)
    waits = played(cast, bounds.model_copy(update={"run_tests": False})).ledger.view()
    assert waits.tests == []


@pytest.mark.parametrize(
    ("named", "asked"),
    [([], ["/data/a.csv", "/data/b.csv"]), (["b.csv"], ["/data/b.csv"]), (["/else/c.csv"], ["/else/c.csv"])],
)
def test_the_files_of_a_prediction_are_found_where_the_tournament_has_them(named: list[str], asked: list[str]) -> None:
    class Sees(Lab):
        def plan_test(self, prediction: Prediction, files: object) -> TaskDag | None:
            seen.append(files)
            return None

    seen: list[object] = []
    aims = Aims(goal="Why?", files=["/data/a.csv", "/data/b.csv"])
    told = Prediction(says="s", contradicted_by="c", question="Is it so?", files=named)
    table = table_of(cast_of(Simulated(), tester=Sees()), aims=aims)
    assert plan_of(table, idea("It is so.").model_copy(update={"predictions": [told]}), 0) is None
    assert seen == [asked]


def test_a_tester_that_times_out_is_left_out() -> None:
    class Late(Lab):
        def run(self, plan: TaskDag, prediction: Prediction) -> TestOutcome:
            raise ModelTimedOut("Too late.")

    bounds = Bounds(hypotheses=2, iterations=0, concurrency=1, run_tests=True)
    view = played(cast_of(predicting("Is it 0.1")(), tester=Late()), bounds).ledger.view()
    assert view.tournament.status == "finished"
    assert {one.why for one in view.tests} == {"Too late."}


@pytest.mark.parametrize(("direction", "as_predicted"), [("more", True), ("less", False)])
def test_a_prediction_is_planned_run_and_read_like_any_question(
    direction: str, as_predicted: bool, tmp_path: Path
) -> None:
    data = write_growth(tmp_path / "growth.csv")
    settings = {"embedding_model": "none", "starter_knowledge": False, "warm_workers": False}
    with open_engine(workspace=tmp_path / "ws", **settings) as engine:
        tester = engine._parts.tournaments.cast_of("", None).tester
        assert tester is not None
        told = {"says": "s", "contradicted_by": "c", "direction": direction}
        prediction = Prediction.model_validate({**told, "question": "Is growth higher in treated than in control?"})
        plan = tester.plan_test(prediction, [str(data)])
        assert plan is not None
        outcome = tester.run(plan, prediction)
        table = pd.read_csv(data)
        groups = [table.loc[table["treatment"] == name, "growth"] for name in ("treated", "control")]
        assert outcome.p == pytest.approx(ttest_ind(*groups, equal_var=False).pvalue, rel=1e-6)
        assert outcome.as_predicted is as_predicted
        unknown = Prediction.model_validate({**told, "question": "Is the moon made of cheese in zzq?"})
        assert tester.plan_test(unknown, [str(data)]) is None
