"""Plans as choices: every end is the planner's own plan, what cannot be planned is worth nothing, the best one runs."""

from __future__ import annotations

import pytest

from engine.adapters.fakes import FrozenClock
from engine.asking.router import require_question
from engine.data.service import LocalProfiler
from engine.discovery.tree.search import TreeSearch
from engine.discovery.tree.space import SearchBudget
from engine.domain.plan import Chosen, OpenQuestion, TaskDag, TaskNode
from engine.domain.results import RunRecord
from engine.errors import PlanError, UserError
from engine.planning.planner import Planner
from engine.retrieval.usage import UsageHistory
from engine.strategies.mcts.kept_search import KeptSearches
from engine.strategies.mcts.plan_space import PlanSpace
from engine.strategies.mcts.strategy import SearchStrategy
from engine.toolbox.registry import builtin_tools
from engine.toolbox.typecheck import check_plan
from storage.runs.search_trees_twin import SearchTreesTwin

WEIGHED = {"right": 0.6, "refused": 0.3, "near": 0.25, "far": 0.001}


def planned(analysis, chosen):
    """A plan that asks two things; the second answer of `near` takes a request away, and `right` warns unless asked well."""
    if analysis == "refused":
        raise PlanError("It does not fit.")
    unit = chosen.get("tool", {}).get("unit", "a")
    asked = [
        OpenQuestion(id=f"n1.{p}", text="", why="", node="n1", param=p, choices=["a", "b", "c"], proposed="a")
        for p in ("unit", "kind")
    ]
    warnings = [] if unit == "b" else ["doubtful"] * 4
    node = TaskNode(id="n1", name="step", tool="tool", params=chosen.get("tool", {}))
    return TaskDag(question="q", nodes=[node], open_questions=asked, warnings=warnings)


def test_the_analysis_and_answers_of_the_best_plan_are_found_and_no_plan_is_made_twice():
    made = []

    def plan(analysis, chosen):
        made.append((analysis, str(chosen)))
        return planned(analysis, chosen)

    space = PlanSpace([WEIGHED], plan)
    search = TreeSearch(space)
    search.run(SearchBudget())
    assert search.root.done
    assert search.best.analysis == "right"
    assert search.best.by_tool()["tool"]["unit"] == "b"
    assert len(made) == len(set(made)) == space.planned
    assert space.made(search.best).nodes[0].params["unit"] == "b"
    assert not any(analysis == "far" for analysis, _ in made)


def test_what_the_planner_refuses_is_an_end_that_is_worth_nothing():
    space = PlanSpace([WEIGHED], planned)
    (refused,) = [choice.state for choice in space.children(space.start()) if choice.state.analysis == "refused"]
    assert space.is_end(refused)
    assert space.value(refused) == 0
    assert space.children(refused) == []


def test_what_is_settled_in_another_order_is_the_same_plan():
    space = PlanSpace([WEIGHED], planned)
    one = next(choice.state for choice in space.children(space.start()))
    for _ in range(2):
        one = space.children(one)[1].state
    turned = type(one)(one.analysis, one.chosen[::-1])
    assert space.key(turned) == space.key(one)
    assert space.value(turned) == space.value(one)


def planned_parts(analysis, chosen):
    """A plan of the parts that are not left aside; the likeliest analysis of the second one cannot be planned."""
    names = analysis.split("+")
    if names[1] == "refused":
        raise PlanError("It does not fit.")
    kept = [name for name in names if name != "-"]
    return TaskDag(
        question="q",
        nodes=[TaskNode(id=f"n{at}", name=name, tool=name) for at, name in enumerate(kept)],
        analysis=[Chosen(id=name, probability=1.0) for name in kept],
        not_answered=["left aside"] * names.count("-"),
    )


def test_each_part_of_a_question_gets_an_analysis_and_one_that_cannot_be_planned_another_or_none():
    space = PlanSpace([{"a": 0.9}, {"refused": 0.6, "b": 0.5}, {"c": 0.4}], planned_parts)
    search = TreeSearch(space)
    search.run(SearchBudget())
    assert search.root.done
    assert search.best.analysis == "a+b+c"
    values = {state.analysis: value for value, state in search.ends(100)}
    assert len(values) == 2 * 3 * 2 - 1
    assert "-+-+-" not in values
    assert all(values[name] == 0 for name in values if "refused" in name)
    assert values["a+b+c"] > values["a+b+-"] > values["a+-+-"] > 0
    without = TreeSearch(PlanSpace([{"a": 0.9}, {"refused": 0.6}], planned_parts))
    assert without.run(SearchBudget()).analysis == "a+-"


def test_of_two_plans_alike_the_one_whose_tools_did_well_before_is_worth_more():
    past = UsageHistory(runs={"left": 4, "right": 4}, successes={"right": 4})
    space = PlanSpace(
        [{"left": 0.5, "right": 0.5}],
        lambda analysis, chosen: TaskDag(question="q", nodes=[TaskNode(id="n", name=analysis, tool=analysis)]),
        past=lambda plan: past.share([node.tool for node in plan.nodes]),
    )
    assert TreeSearch(space).run(SearchBudget()).analysis == "right"
    assert past.share(["new"]) == 0.5


@pytest.fixture(scope="module")
def planner():
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def otters(tmp_path_factory):
    table = tmp_path_factory.mktemp("otters") / "otters.csv"
    rows = [f"o{n},{'mf'[n % 2]},{10 + n * 37 % 29},{20 + n * 17 % 13},{'xyz'[n % 3]}" for n in range(48)]
    table.write_text("\n".join(["otter,sex,weight,length,pond", *rows]) + "\n")
    return LocalProfiler().look([table])


TWO = "Does weight differ between the sexes, and is weight correlated with length?"


def test_a_question_of_two_parts_is_searched_part_by_part_and_loses_none(otters, planner):
    asked = planner.asked(TWO, otters)
    assert [next(iter(weighed)) for weighed in asked] == ["compare_groups", "correlation"]
    strategy = SearchStrategy(None, KeptSearches(SearchTreesTwin(), FrozenClock()), planner)  # type: ignore[arg-type]
    record = RunRecord(run_id="run_2", question=TWO, user="me", status="planning", created_at="2026-01-01")
    best = strategy.best_plan(record, otters)
    plan = planner.plan(TWO, otters, analysis=best.analysis, chosen=best.chosen).plan
    own = planner.plan(TWO, otters).plan
    assert [chosen.id for chosen in plan.analysis] == [chosen.id for chosen in own.analysis]
    assert [(node.tool, node.params) for node in plan.nodes] == [(node.tool, node.params) for node in own.nodes]


LIST = "(a) Does weight differ between the sexes? (b) Is weight correlated with length? (c) And so on?"


def test_the_items_of_a_list_are_chosen_one_by_one_and_one_that_says_too_little_is_named(otters, planner):
    asked = planner.asked(LIST, otters)
    assert [next(iter(weighed), "") for weighed in asked] == ["compare_groups", "correlation", ""]
    strategy = SearchStrategy(None, KeptSearches(SearchTreesTwin(), FrozenClock()), planner)  # type: ignore[arg-type]
    record = RunRecord(run_id="run_3", question=LIST, user="me", status="planning", created_at="2026-01-01")
    best = strategy.best_plan(record, otters)
    assert best.analysis == "compare_groups+correlation+-"
    plan = planner.plan(LIST, otters, analysis=best.analysis, chosen=best.chosen).plan
    own = planner.plan(LIST, otters).plan
    assert [(node.tool, node.params) for node in plan.nodes] == [(node.tool, node.params) for node in own.nodes]
    assert plan.not_answered == own.not_answered
    assert "(c) And so on?" in plan.not_answered[0]
    other = planner.plan(LIST, otters, analysis="-+scatter_plot+-", chosen={"scatter_plot": {"y": "length"}}).plan
    assert [(node.tool, node.params["y"]) for node in other.nodes] == [("scatter_plot", "length")]
    assert "left aside, as was chosen" in other.not_answered[0]


def test_parts_are_planned_as_chosen_and_what_is_left_aside_is_said(otters, planner):
    plan = planner.plan(TWO, otters, analysis="-+scatter_plot").plan
    assert [chosen.id for chosen in plan.analysis] == ["scatter_plot"]
    assert {"weight", "length"} <= {str(value) for value in plan.nodes[-1].params.values()}
    assert any("Does weight differ between the sexes" in text and "left aside" in text for text in plan.not_answered)
    for wrong in ("correlation+correlation+correlation", "-+-"):
        with pytest.raises(PlanError, match="analyses are chosen for a question of 2"):
            planner.plan(TWO, otters, analysis=wrong)
    require_question(TWO, analysis="-+scatter_plot")
    with pytest.raises(UserError, match="no analysis called 'scatter_plt'"):
        require_question(TWO, analysis="correlation+scatter_plt")


def test_the_best_plan_on_a_real_table_type_checks_and_its_search_is_kept(otters, planner):
    profiles = otters
    trees = SearchTreesTwin()
    strategy = SearchStrategy(None, KeptSearches(trees, FrozenClock()), planner)  # type: ignore[arg-type]
    record = RunRecord(
        run_id="run_1",
        question="Does weight differ between the sexes?",
        user="me",
        status="planning",
        created_at="2026-01-01",
    )
    best = strategy.best_plan(record, profiles)
    assert best is not None
    plan = planner.plan(record.question, profiles, analysis=best.analysis, chosen=best.chosen).plan
    check_plan(plan, builtin_tools())
    assert [chosen.id for chosen in plan.analysis] == [best.analysis]
    assert plan.nodes[-1].params.get("value") == "weight"
    (tree,) = trees.of_run("run_1")
    assert (tree.space, tree.state, tree.goal) == ("plans", "complete", record.question)
    assert tree.view.choices[0].why.startswith("as ")


def test_without_a_usable_file_there_is_no_best_plan(planner):
    strategy = SearchStrategy(None, KeptSearches(SearchTreesTwin(), FrozenClock()), planner)  # type: ignore[arg-type]
    record = RunRecord(
        run_id="run_1", question="Does weight differ?", user="me", status="planning", created_at="2026-01-01"
    )
    assert strategy.best_plan(record, []) is None
