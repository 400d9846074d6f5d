"""Small whole numbers that name subjects in each of several groups: one subject or several, by values, by words or asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools
from engine.toolbox.typecheck import check_plan

TOOLS = builtin_tools()
GROWS = "Does area_mm2 rise faster over the days in the drug arm?"


@pytest.fixture(scope="module")
def rats() -> pd.DataFrame:
    """Rats 1 to 7 in both arms, on five days each; `sex` is of the number, `breeder` of the rat of one arm."""
    rng = np.random.default_rng(31)
    rows = [
        {"arm": arm, "rat": rat, "day": day, "area_mm2": round(40 + 3 * day * (arm == "drug") + rng.normal(), 2)}
        | {"sex": "FM"[rat % 2], "breeder": "KLMKMLL"[(rat + (arm == "drug") * (rat > 2)) % 7]}
        for arm in ("drug", "vehicle") for rat in range(1, 8) for day in (1, 3, 5, 7, 9)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def planned(table, question, folder):
    table.to_csv(folder / "rats.csv", index=False)
    plan = Planner(TOOLS).plan(question, profile_files([folder / "rats.csv"])).plan
    return plan, next(node for node in plan.nodes if node.tool == "mixed_model")


def test_one_number_in_both_arms_is_asked_about(rats, tmp_path):
    plan, model = planned(rats.drop(columns=["sex", "breeder"]), GROWS, tmp_path)
    asked = next(q for q in plan.open_questions if q.param == "nested_in")
    assert (asked.blocking, asked.node, asked.choices, asked.proposed) == (True, model.id, ["arm", "rat"], "arm")
    assert [i.code for i in check_plan(plan, TOOLS)] == ["open_question"]
    same = [n.model_copy(update={"params": {**n.params, "nested_in": "rat"}}) for n in plan.nodes]
    assert not check_plan(plan.model_copy(update={"nodes": same}), TOOLS)


def test_words_say_whether_they_are_the_same(rats, tmp_path):
    bare = rats.drop(columns=["sex", "breeder"])
    plan, model = planned(bare, GROWS + " Each arm had different rats.", tmp_path)
    assert not plan.open_questions
    assert model.params["nested_in"] == "arm"
    plan, model = planned(bare, GROWS + " It is a crossover.", tmp_path)
    assert not plan.open_questions
    assert "nested_in" not in model.params


def test_what_is_the_same_for_a_number_in_both_arms_speaks_for_one_subject(rats, tmp_path):
    plan, model = planned(rats.drop(columns="breeder"), GROWS, tmp_path)
    assert not plan.open_questions
    assert "nested_in" not in model.params
    assert model.params["subject"] == "rat"


def test_what_differs_between_the_arms_within_a_number_speaks_for_several(rats, tmp_path):
    plan, model = planned(rats.drop(columns="sex"), GROWS, tmp_path)
    assert not plan.open_questions
    assert model.params["subject"] == "arm / rat"


@pytest.mark.parametrize(
    "question",
    [
        "are there more foci per cell in the ko than wt? 4 coverslips each",
        "Poisson regression of foci on genotype and coverslip",
    ],
)
def test_units_of_one_group_each_are_clusters_and_no_second_cause(tmp_path, question):
    rng, rows = np.random.default_rng(4), []
    for at, genotype in enumerate(["wt"] * 4 + ["ko"] * 4):
        rows += [(f"{genotype}_{at}", genotype, cell, rng.poisson(6 + 7 * (genotype == "ko"))) for cell in range(1, 31)]
    pd.DataFrame(rows, columns=["coverslip", "genotype", "cell", "foci"]).to_csv(tmp_path / "foci.csv", index=False)
    plan = Planner(builtin_tools()).plan(question, profile_files([tmp_path / "foci.csv"])).plan
    params = max(plan.nodes, key=lambda node: node.priority).params
    assert (params.get("predictors") or params.get("fixed")) == ["genotype"]
    assert (params.get("cluster") or params.get("subject")) == "coverslip"


def test_whose_rows_they_are_is_not_left_out_of_a_plan(tmp_path):
    rng = np.random.default_rng(8)
    rows = [(f"r{at}", "enr" if at % 2 else "ctl", day, rng.normal(40, 9)) for at in range(20) for day in range(1, 6)]
    pd.DataFrame(rows, columns=["rat", "grp", "day", "lat_s"]).to_csv(tmp_path / "maze.csv", index=False)
    profiles = profile_files([tmp_path / "maze.csv"])
    plan = Planner(builtin_tools()).plan("is lat_s lower in enr rats than in ctl rats on day 5", profiles).plan
    assert not any("'rat'" in text for text in plan.not_answered)
