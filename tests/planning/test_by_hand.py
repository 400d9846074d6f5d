"""What files can serve is listed with the columns for each part, and a choice from that list is what is planned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.api import open_engine
from engine.cli.main import main
from engine.errors import PlanError, UserError

QUESTION = "What is the zorbitude, in site b only?"


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with open_engine(workspace=tmp_path_factory.mktemp("w"), warm_workers=False, embedding_model="none") as opened:
        yield opened


@pytest.fixture(scope="module")
def birds(tmp_path_factory):
    rng = np.random.default_rng(8)
    n = 60
    table = pd.DataFrame({
        "ring": [f"r{k}" for k in range(n)], "site": ["a", "b", "c"] * (n // 3), "diet": rng.choice(["seed", "worm"], n),
        "mass": rng.normal(20, 2, n).round(2), "wing": rng.normal(70, 3, n).round(1), "bred": rng.choice(["yes", "no"], n),
    })  # fmt: skip
    path = tmp_path_factory.mktemp("data") / "birds.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def asked(engine, birds):
    run_id = engine.ask(QUESTION, [birds])
    engine.wait(run_id, 60)
    return run_id


def test_each_analysis_lists_the_columns_that_fit_each_part(engine, asked):
    found = {setup.analysis: setup for setup in engine.setups(asked)}
    parts = {part.param: part for part in found["compare_groups"].parts}
    assert parts["value"].columns == ["mass", "wing"]
    assert parts["group"].columns == ["site", "diet", "bred"]
    assert parts["value"].needed
    assert parts["group"].needed
    assert [part.param for part in found["logistic_regression"].parts if part.needed] == ["outcome", "predictors"]
    assert not {"log_rank", "sc_markers", "differential_expression"} & {*found}, "no file is of their kind"
    assert all(part.columns for setup in found.values() for part in setup.parts if part.needed)


def test_what_a_question_names_comes_first_and_is_filled_in(engine, birds):
    run_id = engine.ask("how strongly is wing related to mass, more or less, among birds on a diet of seeds?", [birds])
    engine.wait(run_id, 60)
    first = engine.setups(run_id)[0]
    named = [name for part in first.parts for name in part.named]
    assert {"wing", "mass"} <= {*named}


def test_a_choice_is_planned_on_the_rows_that_the_question_names(engine, birds, asked):
    setup = next(one for one in engine.setups(asked) if one.analysis == "compare_groups")
    assert not setup.ready({"value": ["wing"]})
    assert not setup.ready({"value": ["wing"], "group": ["wing"]})
    named = {"value": ["wing"], "group": ["diet"]}
    assert setup.ready(named)
    run_id = engine.ask(QUESTION, [birds], analysis=setup.analysis, chosen=setup.chosen(named))
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    view = engine.view(run_id)
    (goal,) = engine.briefs(view.plan, view.profiles)
    assert "Outcome: wing." in goal.sentence()
    assert "Groups: diet" in goal.sentence()
    assert "Rows: site is b; 20." in goal.sentence()


def test_a_part_that_is_left_empty_stays_empty(engine, birds):
    question = "share of bred in each diet, roughly speaking zorbitude"
    run_id = engine.ask(question, [birds])
    engine.wait(run_id, 60)
    setup = next(one for one in engine.setups(run_id) if one.analysis == "proportion_test")
    assert {part.param: part.named for part in setup.parts}["group"] == ["diet"]
    again = engine.ask(question, [birds], analysis=setup.analysis, chosen=setup.chosen({"event": ["bred"]}))
    engine.wait(again, 60)
    nodes = [n for n in engine.view(again).plan.nodes if n.tool == "proportion_test"]
    assert {node.params["event"] for node in nodes} == {"bred"}
    assert not any(node.params.get("group") for node in nodes)


def test_an_analysis_and_its_columns_are_set_on_the_command_line(birds, tmp_path, capsys):
    common = ["--data", str(birds), "--workspace", str(tmp_path / "w")]
    assert main(["plan", "Which unicorns fly?", *common]) == 2
    assert "--as ANALYSIS --set PART=COLUMN" in capsys.readouterr().err
    by_hand = ["--as", "linear_regression", "--set", "outcome=wing", "--set", "predictors=mass,diet"]
    assert main(["plan", QUESTION, *common, *by_hand]) == 0
    out = capsys.readouterr().out
    assert "outcome='wing', predictors=['mass', 'diet']" in out
    assert main(["plan", QUESTION, *common, "--as", "linear_regression", "--set", "wings=wing"]) == UserError.exit_code
    assert "Its parts are outcome, predictors" in capsys.readouterr().err
    assert main(["plan", QUESTION, *common, "--set", "outcome=wing"]) == UserError.exit_code
    assert "NODE.PARAM=VALUE" in capsys.readouterr().err
    assert main(["analyses", "show", "linear_regression"]) == 0
    assert "--as linear_regression --set PART=COLUMN" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("sets", "tool", "params"),
    [
        ({"value": "wing", "group": "site"}, "compare_groups", {"value": "wing", "group": "site"}),
        ({"value": "wing", "reference": "70.5"}, "compare_with_value", {"value": "wing", "reference": 70.5}),
    ],
)
def test_the_tool_that_takes_what_is_set_is_planned(engine, birds, sets, tool, params):
    plan = engine.plan(QUESTION, [birds], sets, analysis="compare_groups")
    (node,) = [node for node in plan.nodes if node.tool.startswith("compare")]
    assert node.tool == tool
    assert {name: node.params[name] for name in params} == params


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        ({"value": "weight", "group": "site"}, "No column is called 'weight'"),
        ({"value": "wing", "reference": "high"}, "reference"),
        ({"wings": "wing"}, "has no tool with wings"),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(engine, birds, sets, told):
    with pytest.raises(PlanError, match=told):
        engine.plan(QUESTION, [birds], sets, analysis="compare_groups")


def test_a_file_that_cannot_be_used_serves_no_analysis(engine, tmp_path):
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    run_id = engine.ask("is mass higher at site b?", [tmp_path / "empty.csv"])
    engine.wait(run_id, 60)
    assert engine.setups(run_id) == []


def test_two_columns_of_a_pair_are_chosen_without_a_column_that_names_the_rows(engine, birds):
    chosen = {"compare_columns_paired": {"first": "wing", "second": "mass"}}
    run_id = engine.ask("are wing and mass alike, paired?", [birds], analysis="compare_paired", chosen=chosen)
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    (node,) = [n for n in engine.view(run_id).plan.nodes if n.tool == "compare_columns_paired"]
    assert (node.params["first"], node.params["second"]) == ("wing", "mass")
