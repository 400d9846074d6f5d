"""Questions that came without a file: what stands in the question is enough for some, the others are told to bring data."""

from __future__ import annotations

import pytest
from plan_questions import the_planner

from engine.errors import PlanError
from engine.toolbox.analyses import load_analyses
from engine.toolbox.registry import builtin_tools


def step(question: str) -> dict[str, object]:
    plan = the_planner().plan(question, []).plan
    assert not any(asked.blocking for asked in plan.open_questions)
    (node,) = plan.nodes
    assert not node.inputs
    return node.params


def test_a_study_is_planned_from_the_numbers_of_the_question():
    params = step("How many sheep per group are needed to find a difference of 3 kg, SD 6, with a power of 90 %?")
    assert (params["difference"], params["sd"], params["power"]) == (3.0, 6.0, 0.9)


@pytest.mark.parametrize(
    ("question", "shares"),
    [
        ("Sample size for two proportions, 0.45 versus 0.35, power 0.8", (0.45, 0.35)),
        ("How many patients per arm for response rates of 40 % vs 25% with 80% power?", (0.4, 0.25)),
        ("What sample size shows a fall in mastitis from 15% to 9%, power 0.9?", (0.15, 0.09)),
        ("Sample size for two proportions of 0.6% against 0.2%, power 80%", (0.006, 0.002)),
    ],
)
def test_two_shares_are_read_whole(question, shares):
    params = step(question)
    assert (params["share_1"], params["share_2"]) == pytest.approx(shares)


@pytest.mark.parametrize(
    ("question", "second"),
    [
        ("Sample size for a difference of 5, SD 9, in a 3:1 allocation", 1 / 3),
        ("How many cows for a difference of 5, SD 9, randomised 1 to 2?", 2.0),
        ("Sample size of a case-control study, three controls for each case, 30% vs 18% exposed", 3.0),
    ],
)
def test_unequal_groups_are_heard(question, second):
    params = step(question)
    assert params["allocation"] == pytest.approx(second)


@pytest.mark.parametrize(
    "question",
    [
        "How many events for a hazard ratio of 0.6, power 0.8?",
        "Feeding is at 9:30; n per group for SD 4, difference 2?",
    ],
)
def test_no_other_ratio_makes_groups_unequal(question):
    assert step(question)["allocation"] == 1


@pytest.mark.parametrize(
    "question",
    ["Do the varieties differ in yield?", "Draw weight against length.", "Which genes differ between the arms?"],
)
def test_a_question_of_data_still_asks_for_them(question):
    with pytest.raises(PlanError, match="No data file") as refused:
        the_planner().plan(question, [])
    for has in ("sample sizes without a file", "no textbook", "Cox regression", "differential expression"):
        assert has in refused.value.advice


def test_every_field_says_in_eight_words_at_most_what_tools_carry_out():
    lines = the_planner().offers()
    analyses = load_analyses()
    able = {analyses[key].name for tool in builtin_tools() for key in tool.answers if key in analyses}
    assert len(lines) == len({line.partition(":")[0] for line in lines}) > 5
    for line in lines:
        names = line.partition(": ")[2]
        assert names
        assert len(names.split()) <= 8
        assert {name for name in able if name in names}
