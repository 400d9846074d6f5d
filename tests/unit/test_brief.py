"""What a plan says of itself before it runs, and that a part chosen by hand goes before the words of the question."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.api import open_engine
from engine.planning.brief import kept_rows

ROWS = "pid,sex,age,arm,days,status,ferritin\n" + "\n".join(
    f"{i},{'fm'[i % 2]},{40 + i * 7 % 31},{'drug' if i % 3 else 'placebo'},{30 + i * 37 % 400},{1 + (i * 5 % 3 > 0)},{20 + i * 13 % 90}.5"
    for i in range(1, 91)
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with open_engine(workspace=tmp_path_factory.mktemp("w"), warm_workers=False, embedding_model="none") as opened:
        yield opened


@pytest.fixture
def table(tmp_path) -> Path:
    (tmp_path / "ward.csv").write_text(ROWS)
    return tmp_path / "ward.csv"


def told(engine, question: str, table: Path) -> dict[str, str]:
    (goal,) = engine.briefs(engine.plan(question, [table]))
    return {part.label: part.words for part in goal.parts}


def test_each_part_is_named_with_its_groups_counted(engine, table):
    parts = told(engine, "Does survival differ between drug and placebo?", table)
    assert parts["Time"] == "days"
    assert parts["Groups"] == "arm: drug (60), placebo (30)"
    assert parts["Adjusted for"] == "nothing"
    assert parts["Event is"] == "not known yet"  # of 1 and 2 either may be it, and nothing in the file says so


def test_a_setting_that_words_decided_can_be_picked(engine, table):
    (goal,) = engine.briefs(engine.plan("Is ferritin different between the arms, with Welch's test?", [table]))
    (part,) = [part for part in goal.parts if part.words == "welch_t"]
    assert (part.param, part.value, part.node) == ("test", "welch_t", goal.node)


def test_a_refusal_names_columns_that_ask_again_with_a_click(engine, table):
    run_id = engine.ask("Show correlations", [table])
    record = engine.wait(run_id, 60)
    assert record.status == "failed"
    (way,) = record.ways_on
    assert (way.analysis, way.several) == ("correlation", True)
    assert {"age", "ferritin"} <= {*way.columns}
    again = engine.ask(
        record.question, [table], analysis=way.analysis, chosen={way.tool: {way.param: ["age", "ferritin"]}}
    )
    assert engine.wait(again, 60).status == "awaiting_approval"
    assert [node.params[way.param] for node in engine.view(again).plan.nodes] == [["age", "ferritin"]]


def test_the_event_of_ones_and_twos_is_asked_before_anything_runs(engine, table):
    plan = engine.plan("Does the share of status differ between drug and placebo?", [table])
    assert [(asked.choices, asked.blocking) for asked in plan.open_questions] == [(["2", "1"], True)]
    assert [issue.code for issue in engine.check_plan(plan)] == ["open_question"]


def test_counts_are_left_out_where_rows_are_and_the_rows_are_said(engine, table):
    parts = told(engine, "Is ferritin different between the arms in women only?", table)
    assert parts["Rows"] == "sex is f"
    assert parts["Groups"] == "arm: drug, placebo"
    assert parts["Outcome"] == "ferritin"


def test_what_is_only_described_has_no_outcome(engine, table):
    assert told(engine, "Draw a histogram of ferritin", table)["Measured"] == "ferritin"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("`sex` in ['f'] and `age` > 60", "sex is f and age > 60"),
        ("`arm` not in ['a', 'b']", "arm is not a or b"),
        ("`two words` == 3", "two words == 3"),
    ],
)
def test_conditions_in_words(condition, words):
    assert kept_rows(condition) == words


def test_a_chosen_column_goes_before_the_words_and_stays_when_planned_again(engine, table):
    run_id = engine.ask("Is ferritin different between the arms?", [table])
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    (goal,) = engine.briefs(engine.view(run_id).plan)
    group = next(part for part in goal.parts if part.label == "Groups")
    assert "sex" in group.candidates
    plan = engine.replan(run_id, chosen={goal.tool: {group.param: "sex"}})
    (again,) = engine.briefs(plan)
    part = next(part for part in again.parts if part.param == group.param)
    assert (part.words, part.by_hand) == ("sex: f (45), m (45)", True)
    assert again.analysis == goal.analysis
    assert not any("drug" in str(value) for node in plan.nodes for value in node.params.values())
    assert not any("drug" in reason for node in plan.nodes for reason in node.reasons)
    plan = engine.replan(run_id, chosen={goal.tool: {"value": "age"}})
    node = next(node for node in plan.nodes if node.tool == goal.tool)
    assert (node.params["group"], node.params["value"]) == ("sex", "age")
    assert engine.record(run_id).chosen == {goal.tool: {"group": "sex", "value": "age"}}
    engine.cancel(run_id)


def test_a_setting_changed_by_hand_stays_when_a_column_is_chosen(engine, table):
    run_id = engine.ask("Is ferritin different between the arms?", [table])
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    plan = engine.view(run_id).plan
    node = next(node for node in plan.nodes if node.tool == "compare_groups")
    changed = node.model_copy(update={"params": {**node.params, "test": "mann_whitney"}})
    engine.edit_plan(run_id, plan.model_copy(update={"nodes": [changed if n.id == node.id else n for n in plan.nodes]}))
    plan = engine.replan(run_id, chosen={"compare_groups": {"group": "sex"}})
    node = next(node for node in plan.nodes if node.tool == "compare_groups")
    assert (node.params["test"], node.params["group"]) == ("mann_whitney", "sex")
    assert node.settled["test"] == node.settled["group"] == "edit"
    engine.cancel(run_id)


def test_a_reason_that_speaks_of_what_was_changed_away_is_dropped(engine, table):
    run_id = engine.ask("Is ferritin different between the arms?", [table])
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    plan = engine.view(run_id).plan
    node = next(node for node in plan.nodes if node.tool == "compare_groups")
    assert any("drug" in reason for reason in node.reasons)
    changed = node.model_copy(update={"params": {"value": "ferritin", "group": "sex"}})
    engine.edit_plan(run_id, plan.model_copy(update={"nodes": [changed if n.id == node.id else n for n in plan.nodes]}))
    edited = engine.view(run_id).plan.node(node.id)
    assert not any("drug" in reason for reason in edited.reasons)
    engine.cancel(run_id)
