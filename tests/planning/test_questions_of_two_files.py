"""Two files: what is asked after joining them is planned on the joined table, and a step of one file takes that file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Trees with their site and treatment, and their measurements in a second file."""
    folder = tmp_path_factory.mktemp("two")
    trees = [f"T{k:02d}" for k in range(48)]
    pd.DataFrame(
        {"tree": trees, "site": RNG.choice(["north", "south"], 48), "fertiliser": RNG.choice(["none", "npk"], 48)}
    ).to_csv(folder / "trees.csv", index=False)
    pd.DataFrame(
        {"tree": trees, "height": RNG.normal(12, 2, 48).round(2), "girth": RNG.normal(60, 9, 48).round(1)}
    ).to_csv(folder / "sizes.csv", index=False)
    return profile_files([folder / "trees.csv", folder / "sizes.csv"])


@pytest.mark.parametrize(
    ("question", "value", "group"),
    [
        ("Join the two tables, then compare height between the sites", "height", "site"),
        ("Merge both files by tree and test whether girth differs between north and south", "girth", "site"),
        ("Please join the files on tree. Then compare height between the fertiliser groups.", "height", "fertiliser"),
    ],
)
def test_what_follows_a_join_is_planned_on_the_joined_table(files, question, value, group):
    plan = the_planner().plan(question, files).plan
    join, compare = plan.nodes
    assert {join.params["left_on"], join.params["right_on"]} == {"tree"}
    assert compare.inputs == {"table": f"{join.id}.joined"}
    assert (compare.params["value"], compare.params["group"]) == (value, group)
    assert not plan.not_answered
    assert [chosen.id for chosen in plan.analysis] == ["join_tables", "compare_groups"]


def test_a_join_alone_needs_no_key_in_the_words(files):
    (join,) = the_planner().plan("Join the two tables.", files).plan.nodes
    assert {join.params["left_on"], join.params["right_on"]} == {"tree"}


def test_a_step_takes_the_file_that_holds_its_columns(files):
    plan = the_planner().plan("Regress height on girth", files).plan
    assert plan.nodes[-1].inputs == {"table": "data:sizes.csv"}
