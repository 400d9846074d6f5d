"""Two files of which one lists what the rows of the other name: joined where a question is about both, and only there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

COWS = pd.DataFrame(
    {
        "cow": [f"K{at}" for at in range(7311, 7341)],
        "treatment": ["control", "drug", "drug plus"] * 10,
        "barn": list("AB") * 15,
    }
)
MILK = pd.DataFrame([{"cow": cow, "day": day} for cow in COWS["cow"] for day in (0, 7, 14)])
MILK["milk_kg"] = np.random.default_rng(4).normal(25, 4, len(MILK)).round(2)


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


def plan(planner: Planner, folder: Path, question: str, **tables: pd.DataFrame):
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    return planner.plan(question, profile_files([folder / f"{name}.csv" for name in tables])).plan


@pytest.mark.parametrize("order", [("milk", "cows"), ("cows", "milk")])
def test_a_group_that_stands_in_the_other_file_is_joined_to_the_measurements(tmp_path, planner, order):
    tables = {"milk": MILK, "cows": COWS}
    made = plan(planner, tmp_path, "is milk_kg different between the treatments", **{n: tables[n] for n in order})
    join, test = made.nodes[0], made.nodes[-1]
    assert (join.tool, join.params["left_on"], join.params["right_on"]) == ("join_tables", "cow", "cow")
    assert join.inputs == {"left": "data:milk.csv", "right": "data:cows.csv"}
    assert "lists what the rows of milk.csv name in 'cow'" in join.reasons[0]
    assert {"milk_kg", "treatment"} <= {str(value) for value in test.params.values()} | {
        str(one) for value in test.params.values() if isinstance(value, list) for one in value
    }
    assert list(test.inputs.values()) == [f"{join.id}.joined"]


def test_what_one_file_answers_is_not_joined(tmp_path, planner):
    made = plan(planner, tmp_path, "how many rows have each treatment", milk=MILK, cows=COWS)
    assert "join_tables" not in [node.tool for node in made.nodes]


@pytest.mark.parametrize(
    "cows",
    [pd.concat([COWS, COWS.head(3)]), COWS.assign(cow=COWS["cow"] + "x"), COWS.rename(columns={"cow": "animal"})],
    ids=["a cow twice", "other cows", "no common column"],
)
def test_without_a_list_of_the_same_names_nothing_is_joined_unasked(tmp_path, planner, cows):
    from engine.errors import PlanError

    try:
        made = plan(planner, tmp_path, "is milk_kg different between the treatments", milk=MILK, cows=cows)
    except PlanError:
        return
    assert "join_tables" not in [node.tool for node in made.nodes]


def test_a_matrix_and_its_samples_are_no_rows_and_list(tmp_path, planner):
    rng = np.random.default_rng(0)
    names = [f"S{at}" for at in range(1, 9)]
    counts = pd.DataFrame(rng.poisson(200, (300, 8)), columns=names)
    counts.insert(0, "gene", [f"GENE{at}" for at in range(300)])
    sheet = pd.DataFrame({"sample": names, "condition": ["treated", "control"] * 4})
    made = plan(planner, tmp_path, "which genes differ between treated and control", counts=counts, samples=sheet)
    assert "join_tables" not in [node.tool for node in made.nodes]
