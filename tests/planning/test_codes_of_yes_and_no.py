"""What a question says that codes stand for decides which level is of interest, and whose risk of what is asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.planning.reading.read import read
from engine.planning.tables.sheets import Data

RNG = np.random.default_rng(11)
N = 160


@pytest.fixture(scope="module")
def cows(tmp_path_factory):
    """Cows of which 1 and 2 say whether they had twins and retained the placenta, 0 and 1 whether they were old."""
    path = tmp_path_factory.mktemp("codes") / "cows.csv"
    frame = {
        "cow": range(1, N + 1), "twins": RNG.integers(1, 3, N), "retained": RNG.integers(1, 3, N),
        "old": RNG.integers(0, 2, N), "milk": RNG.normal(30, 4, N).round(1),
    }  # fmt: skip
    pd.DataFrame(frame).to_csv(path, index=False)
    return profile_files([path])


def of_interest(question: str, profiles) -> dict[str, str]:
    plan = the_planner().plan(question, profiles).plan
    (node,) = plan.nodes
    return {key: node.params[key] for key in ("exposure", "outcome", "exposed", "reference", "event_value")}


@pytest.mark.parametrize(
    "question",
    [
        "Risk ratio of retained by twins. Both columns are coded 1 = yes, 2 = no.",
        "Relative risk of retained in twins; 1=present 2=absent",
        "relative risk of retained by twins, where twins and retained are 1 yes / 2 no",
        "Relative risk of retained by twins (twins: 1 = exposed, 2 = unexposed; retained: 1 = ill, 2 = healthy).",
        "What is the risk ratio of retained for twins? 2 is no in both.",
        "Risk ratio of retained by twins, yes is coded 1 and no is coded 2",
    ],
)
def test_the_level_that_is_said_to_mean_yes_is_of_interest(question, cows):
    assert of_interest(question, cows) == {
        "exposure": "twins", "outcome": "retained", "exposed": "1", "reference": "2", "event_value": "1"
    }  # fmt: skip


def test_each_column_may_be_coded_its_own_way(cows):
    found = of_interest("Risk ratio of retained by old: retained 1 yes, 2 no; old 0 = yes, 1 = no", cows)
    assert (found["event_value"], found["exposed"], found["reference"]) == ("1", "0", "1")


def test_a_code_told_of_one_column_is_proposed_for_another_and_asked(cows):
    plan = the_planner().plan("risk ratio of retained with twins (1 yes / 2 no)", cows).plan
    assert plan.nodes[0].params["exposed"] == plan.nodes[0].params["event_value"] == "1"
    assert [asked.param for asked in plan.open_questions] == ["event_value"]


def test_numbers_beside_such_words_are_no_codes(cows):
    data = Data.of(cows)
    for question in (
        "Which of the 2 treated groups gave more milk?",
        "Is there no effect of twins after week 2? No, 1 case.",
    ):
        assert not read(question, data).coding


@pytest.mark.parametrize(
    "question",
    [
        "relative risk of retained for the twins group",
        "relative risk for twins animals of getting retained",
        "Risk ratio of retained among twins",
        "risk ratio for twins of retained",
    ],
)
def test_what_stands_after_the_risk_of_is_the_outcome(question, cows):
    found = of_interest(question, cows)
    assert (found["outcome"], found["exposure"]) == ("retained", "twins")
