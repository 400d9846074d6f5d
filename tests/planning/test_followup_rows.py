"""Rows that a follow-up keeps or leaves out reach every step that answers, or the follow-up is refused. The data are invented."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.domain.plan import TaskDag
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def algae(tmp_path_factory):
    doses = np.repeat([0.0, 0.3, 1, 3, 10, 30], 4)
    rows = [
        (strain, dose, f"R{k % 4 + 1}", 100 / (1 + dose / half) + RNG.normal(0, 3))
        for strain, half in (("wild", 4.0), ("mutant", 1.0))
        for k, dose in enumerate(doses)
    ]
    path = tmp_path_factory.mktemp("algae") / "algae.csv"
    pd.DataFrame(rows, columns=["strain", "copper_uM", "Rack#", "growth"]).round(2).to_csv(path, index=False)
    return profile_files([path])


def conditions(plan: TaskDag, tool: str) -> list[str]:
    """Return the conditions on the way to each step of a tool, "" where it reads the file as it is."""
    return [
        "; ".join(
            str(step.params["condition"])
            for step in plan.nodes
            if step.tool == "filter_rows" and node.id in plan.descendants(step.id)
        )
        for node in plan.nodes
        if node.tool == tool
    ]


TWO = "Is mutant more sensitive to copper than wild? What is the EC50 of each strain?"


@pytest.mark.parametrize(
    ("question", "condition"),
    [("and just rack R3", "`Rack#` in ['R3']"), ("leave out Rack# R1 please", "`Rack#` not in ['R1']")],
)
def test_rows_reach_each_of_two_answers(planner, algae, question, condition):
    first = planner.plan(TWO, algae).plan
    answers = [n.tool for n in first.nodes if "dose_response" in n.tool]
    assert len(answers) > 1
    plan = planner.plan(question, algae, previous=first).plan
    assert [n.tool for n in plan.nodes if n.tool in answers] == answers
    assert all(conditions(plan, tool) == [condition] for tool in answers)
    onward = planner.plan("with EC80", algae, previous=plan).plan
    assert all(conditions(onward, tool) == [condition] for tool in answers)


def test_a_sign_that_ends_a_name_is_read_with_it(planner, algae):
    plan = planner.plan("Does growth differ between the strains, only Rack# R2?", algae).plan
    assert conditions(plan, "compare_groups") == ["`Rack#` in ['R2']"]


def test_what_was_to_be_left_out_is_never_kept(planner, algae):
    first = planner.plan("only rack R3", algae, previous=planner.plan(TWO, algae).plan).plan
    try:
        plan = planner.plan("without R1", algae, previous=first).plan
    except PlanError:
        return  # nothing is left out of R3 by that: said, not done half
    kept = [text for node in plan.nodes for text in conditions(plan, node.tool)]
    assert not any(re.search(r"(?<!not )in \[[^\]]*'R1'", text) for text in kept)


# ==== states of yes and no, and groups that are not named ====


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    n = 120
    table = pd.DataFrame(
        {
            "stay": range(1, n + 1),
            "programme": ["as planned", "sham"] * (n // 2),
            "smoker y/n": RNG.choice(["yes", "no"], n),
            "relapse": RNG.integers(0, 2, n),
            "weight_kg": RNG.normal(70, 9, n).round(1),
        }
    )
    path = tmp_path_factory.mktemp("ward") / "ward.csv"
    table.to_csv(path, index=False)
    return profile_files([path])


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("and without the smokers", "`smoker y/n` in ['no']"),
        ("but without smokers", "`smoker y/n` in ['no']"),
        ("and only the smokers", "`smoker y/n` in ['yes']"),
        ("exclude the smokers", "`smoker y/n` not in ['yes']"),
    ],
)
@pytest.mark.parametrize(
    "asked", ["Does weight differ between the programmes?", "Is relapse rarer in sham? Compare weight by programme."]
)
def test_who_has_a_state_is_left_out_and_nothing_is_put_in_place(planner, ward, asked, question, condition):
    first = planner.plan(asked, ward).plan
    plan = planner.plan(question, ward, previous=first).plan
    answers = [node.tool for node in first.nodes]
    assert [node.tool for node in plan.nodes if node.tool != "filter_rows"] == answers
    assert all(conditions(plan, tool) == [condition] for tool in answers)
    assert [n.params for n in plan.nodes if n.tool in answers] == [n.params for n in first.nodes]


def test_every_group_is_of_the_column_that_holds_a_control(planner, ward):
    plan = planner.plan("how many had a relapse in every group, and is it different?", ward).plan
    test = next(node.params for node in plan.nodes if node.tool == "proportion_test")
    assert (test["event"], test["group"]) == ("relapse", "programme")


def test_what_is_held_constant_comes_to_the_rows_of_a_coded_column(planner, tmp_path):
    rng = np.random.default_rng(4)
    n = 120
    table = pd.DataFrame({
        "pat": [f"{k:03d}" for k in range(n)], "sex (1=m,2=w)": rng.integers(1, 3, n), "age": rng.integers(40, 90, n),
        "arm": rng.choice(["call", "usual"], n), "days": rng.integers(20, 700, n), "dead": rng.integers(0, 2, n),
    })  # fmt: skip
    table.to_csv(tmp_path / "trial.csv", index=False)
    files = profile_files([tmp_path / "trial.csv"])
    first = planner.plan("Does survival differ by arm?", files).plan
    women = planner.plan("and for the women only", files, previous=first).plan
    plan = planner.plan("adjusted for age", files, previous=women).plan
    keeps, model = plan.nodes[0], plan.nodes[-1]
    assert keeps.params["condition"] == "`sex (1=m,2=w)` in [2]"
    assert model.tool == "cox_regression"
    assert {*model.params["covariates"]} == {"arm", "age"}
    assert plan.descendants(keeps.id) >= {model.id}


@pytest.mark.parametrize(
    "question", ["how many died in each arm", "how many patients died", "cumulative incidence of death by arm"]
)
def test_one_kind_of_end_has_none_that_competes_with_it(planner, tmp_path, question):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"pat": range(100, 190), "arm": rng.choice(["call", "usual"], 90),
                          "days": rng.integers(20, 700, 90), "died": rng.integers(0, 2, 90)})  # fmt: skip
    table.to_csv(tmp_path / "ends.csv", index=False)
    plan = planner.plan(question, profile_files([tmp_path / "ends.csv"])).plan
    assert "competing_risks" not in {node.tool for node in plan.nodes}


# ==== a mark that only some rows have, and a value beside the name of its column ====


@pytest.fixture(scope="module")
def brooks(tmp_path_factory):
    n = 48
    table = pd.DataFrame(
        {
            "bottle": [f"B{k}" for k in range(n)],
            "side": ["us", "ds"] * (n // 2),
            "week": (["May"] * 2 + ["July"] * 2) * (n // 4),
            "NO2_mg_l": RNG.normal(6, 1, n).round(2),
            "spill": ["y" if k % 9 == 0 else None for k in range(n)],
            "class": RNG.choice(["I", "II", "III"], n),
        }
    )
    path = tmp_path_factory.mktemp("brooks") / "brooks.csv"
    table.to_csv(path, index=False)
    return profile_files([path])


@pytest.mark.parametrize(
    "question",
    [
        "leave out the spill = y rows",
        "without spill samples",
        "drop the rows with spill y",
        "drop the samples with spill",
        "kick out rows where spill is y",
        "no spill please",
        "spill = y should not be in there",
    ],
)
def test_rows_that_carry_a_mark_are_left_out(planner, brooks, question):
    first = planner.plan("Is NO2_mg_l higher ds than us?", brooks).plan
    plan = planner.plan(question, brooks, previous=first).plan
    (condition,) = conditions(plan, "compare_groups")
    assert condition == "(`spill` not in ['y'] or is_missing(`spill`))"
    assert "without spill = y" in plan.follows


def test_a_value_that_is_left_out_may_be_set_equal_to_its_column(planner, brooks):
    plan = planner.plan("Does NO2_mg_l differ between ds and us, exclude class = III?", brooks).plan
    assert conditions(plan, "compare_groups") == ["`class` not in ['III']"]


@pytest.mark.parametrize(
    "question",
    ["same but for class 2 and 3", "only class 2 and 3", "class 2 or higher only", "only class II and above"],
)
def test_a_number_names_a_roman_numeral(planner, brooks, question):
    first = planner.plan("Is NO2_mg_l higher ds than us?", brooks).plan
    plan = planner.plan(question, brooks, previous=first).plan
    assert conditions(plan, "compare_groups") == ["`class` in ['II', 'III']"]
