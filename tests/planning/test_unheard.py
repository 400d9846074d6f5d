"""What a plan that leaves nothing open may have overheard: numbers, times and words, and nothing where all has a part."""

from __future__ import annotations

import pytest
from growth_data import write_growth

from engine.data.profiler import profile_file
from engine.domain.plan import Chosen, Dataset, Span, TaskDag, TaskNode
from engine.domain.profile import ColumnProfile, Profile, RoleGuess
from engine.planning.making.finish import doubts_of
from engine.planning.planner import Planner
from engine.planning.told.unheard import surely_heard, unheard
from engine.toolbox.registry import builtin_tools

TOOLS = list(builtin_tools())


@pytest.fixture(scope="module")
def growth(tmp_path_factory):
    return [profile_file(write_growth(tmp_path_factory.mktemp("unheard") / "growth.csv"))]


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("Does the treatment raise growth by 15 %?", "15"),
        ("Is growth different between treated and control after 14 days?", "14"),
    ],
)
def test_a_number_without_a_part_is_heard_of(growth, question, number):
    plan = Planner(builtin_tools()).plan(question, growth).plan
    assert unheard(plan, growth, TOOLS) == [f"The number {number} has no part in the plan."]


@pytest.mark.parametrize(
    "question",
    [
        "Is growth different between treated and control?",
        "Is growth different between treated and control for plants above 45 cm in height?",
        "Does growth correlate with height by spearman at alpha 0.01?",
        "Does growth in growth.csv correlate with height?",
    ],
)
def test_where_all_has_its_part_nothing_is_heard_of(growth, question):
    plan = Planner(builtin_tools()).plan(question, growth).plan
    assert doubts_of(plan) == 0
    assert unheard(plan, growth, TOOLS) == []


def test_names_with_numbers_are_no_numbers():
    plan = TaskDag(question="Is IL6 higher at COVID-19 in week2?", nodes=[])
    assert unheard(plan, [], []) == ["The number 19 has no part in the plan."]
    spans = [Span(text="COVID-19", start=17, end=25, taken_as="level", value="disease = COVID-19")]
    assert unheard(plan.model_copy(update={"understood": spans}), [], []) == []
    files = [Dataset(name="run 7.csv", path="/x", sha256="0", type="table")]
    assert unheard(TaskDag(question="What is in run 7.csv?", datasets=files), [], []) == []


def timed(*names: str) -> Profile:
    roles = [RoleGuess(role="time", confidence=0.9, why="named so")]
    columns = [ColumnProfile(name=name, kind="number", roles=roles) for name in names]
    return Profile(
        path="/x.csv", name="x.csv", format="csv", bytes=1, sha256="0", types=[], summary="", column_profiles=columns
    )


def test_one_of_two_possible_times_is_heard_of_unless_it_is_named():
    node = TaskNode(id="n1", name="Survival", tool="cox_regression", params={"time": "os_months"})
    plan = TaskDag(question="Does the drug prolong survival?", nodes=[node])
    assert unheard(plan, [timed("os_months", "pfs_months")], []) == [
        "The time could be 'pfs_months' as well as 'os_months'."
    ]
    assert unheard(plan, [timed("os_months")], []) == []
    named = [Span(text="overall", start=0, end=7, taken_as="column", value="os_months")]
    assert unheard(plan.model_copy(update={"understood": named}), [timed("os_months", "pfs_months")], []) == []


def test_a_word_passed_over_that_names_something_of_the_data_or_a_method_is_heard_of(growth):
    def passed_over(text: str) -> list[str]:
        spans = [Span(text=text, start=0, end=len(text), taken_as="unused")]
        return unheard(TaskDag(question=text, understood=spans), growth, TOOLS)

    assert passed_over("heights") == ["'heights' is passed over and names something of the data."]
    assert passed_over("treated") == ["'treated' is passed over and names something of the data."]
    assert passed_over("spearman") == ["'spearman' is passed over and names something of a method."]
    assert passed_over("kindly") == []


def level(column: str, name: str) -> Span:
    return Span(text=name, start=0, end=1, taken_as="level", value=f"{column} = {name}")


def stepped(tool: str, *spans: Span, **params: object) -> TaskDag:
    return TaskDag(question="q", nodes=[TaskNode(id="n1", name="n1", tool=tool, params=params)], understood=list(spans))


def test_another_value_of_a_column_than_the_question_names_is_heard_of():
    survival = {"time": "days", "event": "donor", "group": "outcome"}
    told = "The question names 'living' of 'donor', and a step takes 'deceased' of it."
    assert unheard(stepped("log_rank", level("donor", "living"), **survival, event_value="deceased"), [], TOOLS) == [
        told
    ]
    assert unheard(stepped("log_rank", level("donor", "living"), **survival, event_value="living"), [], TOOLS) == []
    levels = {"working": 9, "lost": 5, "died": 4}
    outcome = timed("days").model_copy(
        update={"column_profiles": [ColumnProfile(name="outcome", kind="text", levels=levels, distinct=3)]}
    )
    ends = [level("outcome", "lost"), level("outcome", "died")]
    died = {"time": "days", "event": "outcome", "event_value": "died", "group": "donor"}
    told = "The question names 'lost' of 'outcome', and a step takes 'died' of it."
    assert unheard(stepped("log_rank", *ends, **died), [outcome], TOOLS) == [told]
    assert unheard(stepped("log_rank", *ends, **died), [], TOOLS) == [], "of two values the other is what is left"
    sides = {"value": "growth", "group": "diet", "treated": "rich", "control": "plain"}
    assert unheard(stepped("compare_groups", level("diet", "plain"), **sides), [], TOOLS) == []


def test_names_that_a_step_takes_for_numbers_are_heard_of():
    names = [level("compound", "A"), level("compound", "B")]
    told = "The question names 'A', 'B' of 'compound', whose values a step takes for numbers."
    assert unheard(stepped("dose_response", *names, dose="compound", response="alive"), [], TOOLS) == [told]
    assert unheard(stepped("dose_response", *names, dose="amount", group="compound", response="alive"), [], TOOLS) == []


def test_rows_of_one_value_whose_column_is_gone_on_with_are_heard_of():
    kept = TaskNode(id="n1", name="n1", tool="filter_rows", params={"condition": "`quick` in ['invalid']"})
    given = {"inputs": {"table": "n1.rows"}, "params": {"test": "quick", "outcome": "pcr"}}
    goes_on = TaskNode(id="n2", name="n2", tool="diagnostic_accuracy", **given)
    plan = TaskDag(question="q", nodes=[kept, goes_on])
    assert unheard(plan, [], TOOLS) == [
        "Only rows with 'invalid' in 'quick' are kept, and a step goes on with that column."
    ]
    other = goes_on.model_copy(update={"params": {"test": "slow", "outcome": "pcr"}})
    assert unheard(plan.model_copy(update={"nodes": [kept, other]}), [], TOOLS) == []


def test_a_summary_that_no_step_makes_is_heard_of():
    median = Span(text="median", start=0, end=6, taken_as="method", value="aggregate = median")
    told = "'median' is to be computed of something, which no step does."
    assert unheard(stepped("summarize_table", median, columns=["seen"]), [], TOOLS) == [told]
    assert unheard(stepped("filter_rows", median, aggregate="median"), [], TOOLS) == []


def of_words(*spans, sure=0.97):
    understood = [Span(text=text, start=0, end=1, taken_as=taken) for text, taken in spans]
    return TaskDag(question="q", understood=understood, analysis=[Chosen(id="compare_groups", probability=sure)])


@pytest.mark.parametrize(
    ("plan", "sure"),
    [
        (of_words(("growth", "column"), ("in", "filler"), ("the", "filler"), ("plants", "filler")), True),
        (of_words(("growth", "column"), ("plants", "filler"), ("biggest", "filler")), False),
        (of_words(("growth", "column"), ("phloem", "unused")), False),
        (of_words(("growth", "column"), sure=0.7), False),
    ],
)
def test_a_plan_is_surely_heard_where_its_analysis_is_sure_and_no_word_that_says_something_is_passed_over(plan, sure):
    assert surely_heard(plan) == sure
