"""What is chosen of one part of a plan leaves the others: the groups and rows stay, notices go with what they speak of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.api import open_engine

QUESTION = "Is survival longer with new than with old?"
KEPT = "`arm` in ['new', 'old']"


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with open_engine(workspace=tmp_path_factory.mktemp("ws"), warm_workers=False, embedding_model="none") as opened:
        yield opened


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    rng = np.random.default_rng(3)
    arm = np.repeat(["new", "old", "none"], 30)
    table = pd.DataFrame({
        "patient": [f"P{n:02}" for n in range(90)],
        "arm": arm,
        "sex": rng.choice(["f", "m"], 90),
        "months": np.round(rng.exponential(np.where(arm == "new", 20, 10)) + 0.1, 1),
        "status": rng.choice(["dead", "alive"], 90, p=[0.7, 0.3]),
        "weight_kg": np.round(rng.normal(70, 9, 90), 1),
        "height_cm": np.round(rng.normal(170, 9, 90), 1),
    })  # fmt: skip
    path = tmp_path_factory.mktemp("data") / "trial.csv"
    table.to_csv(path, index=False)
    return path


def planned(engine, question, path, **more):
    run_id = engine.ask(question, [path], **more)
    record = engine.wait(run_id, 60)
    assert record.status == "awaiting_approval", record.error
    view = engine.view(run_id)
    return run_id, view, engine.briefs(view.plan, view.profiles)[0]


def conditions(plan) -> list[str]:
    return [node.params["condition"] for node in plan.nodes if node.params.get("condition")]


def test_adjusting_keeps_the_groups_that_were_asked_about(engine, trial):
    run_id, view, goal = planned(engine, QUESTION, trial, analysis="log_rank")
    assert conditions(view.plan) == [KEPT]
    other = next(other for other in goal.others if other.adjusting)
    plan = engine.replan(run_id, analysis=other.analysis, chosen={other.tool: other.adjusted(["sex"])})
    assert conditions(plan) == [KEPT]
    assert not [issue for issue in engine.check_plan(plan) if issue.severity == "error"]
    told = engine.briefs(plan, view.profiles)[0]
    assert "new (30) against old (30)" in told.sentence()  # of 90 rows
    # Once more chosen, the rows are still those; dropped, they are all, and they can be taken back.
    plan = engine.replan(run_id, chosen={other.tool: other.adjusted(["sex", "weight_kg"])}, goal=told.node)
    assert conditions(plan) == [KEPT]
    assert conditions(engine.replan(run_id, chosen={"filter_rows": {"condition": {KEPT: ""}}})) == []
    (again,) = engine.rows_dropped(run_id).values()
    assert conditions(engine.replan(run_id, chosen=again)) == [KEPT]
    assert engine.check_plan(plan) == []


def test_levels_that_a_test_keeps_to_hold_for_a_model_that_takes_all(engine, trial):
    run_id, view, goal = planned(engine, "Is weight_kg higher in new than in old?", trial)
    assert view.plan.node(goal.node).params["levels"] == ["new", "old"]
    chosen = {"linear_regression": {"outcome": "weight_kg", "predictors": ["arm", "sex"]}}
    assert conditions(engine.replan(run_id, analysis="linear_regression", chosen=chosen)) == [KEPT]


@pytest.mark.parametrize(("arms", "kept"), [(["new", "old", "none"], ["`arm` in [1, 2]"]), (["new", "old"], [])])
def test_groups_of_codes_are_kept_as_numbers_and_only_where_there_are_others(engine, trial, tmp_path, arms, kept):
    table = pd.read_csv(trial, keep_default_na=False)
    table["arm"] = np.repeat(range(1, len(arms) + 1), len(table) // len(arms))
    legend = pd.DataFrame({"variable": "arm", "code": range(1, len(arms) + 1), "meaning": arms})
    with pd.ExcelWriter(tmp_path / "coded.xlsx") as book:
        table.to_excel(book, sheet_name="data", index=False)
        legend.to_excel(book, sheet_name="codes", index=False)
    run_id, _, goal = planned(engine, "Is weight_kg higher in new than in old?", tmp_path / "coded.xlsx")
    other = next(other for other in goal.others if other.adjusting)
    plan = engine.replan(run_id, analysis=other.analysis, chosen={other.tool: other.adjusted(["sex"])})
    assert conditions(plan) == kept
    engine.approve(run_id)
    assert engine.wait(run_id, 90).status == "succeeded"


def test_no_notice_speaks_of_a_column_that_a_person_replaced(engine, trial):
    run_id, view, goal = planned(engine, "Does weight_kg differ by sex?", trial)
    assert view.plan.not_answered == []
    plan = engine.replan(run_id, chosen={goal.tool: {"value": "height_cm"}}, goal=goal.node)
    assert plan.node(goal.node).params["value"] == "height_cm"
    assert plan.not_answered == []
    plan = engine.replan(run_id, chosen={goal.tool: {"group": "arm"}}, goal=goal.node)
    assert plan.not_answered == []
