"""Goals that somebody else read from a question: what fits becomes the plan that rules would bind, what does not is named."""

from __future__ import annotations

import pytest
from growth_data import write_growth

from engine.data.profiler import profile_file
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.planning.told.goals import ToldColumn, ToldGoal, ToldPlan, ToldRows, ToldWords
from engine.toolbox.registry import builtin_tools

QUESTION = "Wachsen die behandelten Pflanzen unter 55 cm schneller?"
GOAL = ToldGoal(
    analysis="compare_groups",
    tool="compare_groups",
    params={"value": "growth", "group": "treatment", "treated": "treated", "control": "control"},
    rows=[ToldRows(column="height", op="<", values=[55])],
)


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    profile = profile_file(write_growth(tmp_path_factory.mktemp("told") / "growth.csv"))
    planner = Planner(builtin_tools())
    return lambda told, question=QUESTION: planner.plan_told(question, [profile], told).plan


def changed(**values):
    return ToldPlan(goals=[GOAL.model_copy(update=values)])


def test_told_goals_are_bound_with_rows_first(planned):
    plan = planned(ToldPlan(goals=[GOAL]))
    rows, answer = (
        next(n for n in plan.nodes if n.tool == "filter_rows"),
        next(n for n in plan.nodes if n.priority == 2),
    )
    assert rows.params["condition"] == "`height` < 55"
    assert answer.inputs == {"table": f"{rows.id}.filtered"}
    assert {key: answer.params[key] for key in GOAL.params} == GOAL.params
    assert [chosen.id for chosen in plan.analysis] == ["compare_groups"]
    assert not plan.unanswered()


def test_words_that_no_goal_quotes_are_shown_as_left_aside(planned):
    quoted = [ToldWords(words="unter 55 cm", means="restriction", value="height < 55")]
    plan = planned(ToldPlan(goals=[GOAL], words=quoted))
    taken = {span.text: span.taken_as for span in plan.understood}
    assert taken["unter 55 cm"] == "restriction"
    assert taken["Pflanzen"] == "unused"
    (asked,) = [question for question in plan.open_questions if question.id == "unused_words"]
    assert "'Pflanzen'" in asked.text
    assert "'cm'" not in asked.text


def test_a_column_that_is_computed_is_made_before_it_is_used(planned):
    tall = ToldColumn(name="tall", formula="if_else(`height` > 50, 'tall', 'short')")
    goal = ToldGoal(
        analysis="compare_groups",
        tool="compare_groups",
        params={"value": "growth", "group": "tall", "treated": "tall", "control": "short"},
    )
    plan = planned(ToldPlan(goals=[goal], columns=[tall]))
    made, answer = plan.order()[0], next(n for n in plan.nodes if n.priority == 2)
    assert made.params == {"name": "tall", "expression": tall.formula}
    assert answer.inputs["table"] == f"{made.id}.derived"


def test_a_column_computed_from_a_computed_column_stands_on_its_own(planned):
    rate = ToldColumn(name="rate", formula="growth / `height`")
    fast = ToldColumn(name="fast", formula="if_else(rate > 0.2, 'rate', 'no') ")
    goal = ToldGoal(
        analysis="compare_groups",
        tool="compare_groups",
        params={"value": "growth", "group": "fast", "treated": "rate", "control": "no"},
    )
    plan = planned(ToldPlan(goals=[goal], columns=[rate, fast]))
    (made,) = [node for node in plan.nodes if node.tool == "derive_column"]
    assert made.params["expression"] == "if_else((growth / `height`) > 0.2, 'rate', 'no') "


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (changed(analysis="compare_survival"), "There is no analysis 'compare_survival'"),
        (changed(tool="t_test"), "There is no tool 't_test'"),
        (changed(tool="correlation"), "correlation does not answer 'compare_groups'; "),
        (changed(params={"outcome": "growth"}), "has no parameter 'outcome'"),
        (changed(params={"value": "grwth"}), "there is no column 'grwth'. Is one of these meant: 'growth'"),
        (changed(params={**GOAL.params, "treated": "Treated"}), "has no value 'Treated'; it has "),
        (changed(params={**GOAL.params, "test": "anova2"}), "must be one of auto"),
        (changed(params={**GOAL.params, "value": ["growth"]}), "must be a text"),
        (changed(rows=[ToldRows(column="site", values=["a"])]), "Rows: there is no column 'site'"),
        (changed(rows=[ToldRows(column="treatment", values=["mock"])]), "has no value 'mock'"),
        (changed(rows=[ToldRows(column="height", op="<", values=["tall"])]), "takes one number"),
        (changed(rows=[ToldRows(column="height", op="between", values=[3])]), "takes two numbers"),
        (ToldPlan(goals=[GOAL], words=[ToldWords(words="Blumen", means="filler")]), "do not stand in the question"),
        (ToldPlan(goals=[GOAL], columns=[ToldColumn(name="x", formula="growth +")]), "cannot be computed"),
        (ToldPlan(goals=[GOAL], columns=[ToldColumn(name="x", formula="__import__('os') + growth")]), "cannot be computed"),
        (ToldPlan(), "There is no goal"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(planned, told, says):
    with pytest.raises(PlanError) as raised:
        planned(told)
    assert any(says in issue for issue in raised.value.details["issues"])


def test_an_analysis_that_the_data_do_not_meet_is_sent_back(tmp_path):
    rows = "\n".join(f"{rat},{day},{rat % 2},{rat + day}" for rat in range(1, 11) for day in range(4))
    path = tmp_path / "rats.csv"
    path.write_text(f"rat,day,drug,weight\n{rows}\n")
    told = ToldPlan(
        goals=[ToldGoal(analysis="compare_groups", tool="compare_groups", params={"value": "weight", "group": "drug"})]
    )
    with pytest.raises(PlanError) as raised:
        Planner(builtin_tools()).plan_told("Does the drug change weight?", [profile_file(path)], told)
    (issue,) = raised.value.details["issues"]
    assert "independent" in issue
    assert "mixed_model" in issue


def test_nothing_to_answer_is_said_in_the_words_that_were_told(planned):
    with pytest.raises(PlanError, match="No file holds sequences"):
        planned(ToldPlan(not_answered=["No file holds sequences."]))
