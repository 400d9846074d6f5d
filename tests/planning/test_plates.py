"""A plate with wells in columns and its layout: what is asked of growth is planned on the table that both make."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.planning.told.goals import ToldGoal, ToldPlan, ToldRows


@pytest.fixture
def files(tmp_path):
    random, minutes = np.random.default_rng(1), np.arange(0, 600, 15)
    plate, rows = {"Time_min": minutes}, []
    for at in range(24):
        strain, dose = ("wt", "mut", "blank")[at % 3], "" if at % 3 == 2 else (0, 2, 4, 8)[at // 6]
        well, rate = f"{'ABCD'[at // 6]}{1 + at % 6}", 0.02 if strain == "wt" else 0.015
        growth = 0.0 if strain == "blank" else np.minimum(0.02 * np.exp(rate * minutes), 1.2)
        plate[well] = 0.09 + growth + random.normal(0, 0.002, len(minutes))
        rows.append((well, strain, dose))
    pd.DataFrame(plate).to_csv(tmp_path / "growth_OD600.csv", index=False)
    pd.DataFrame(rows, columns=["well", "strain", "drug_mg"]).to_csv(tmp_path / "layout.csv", index=False)
    return profile_files([tmp_path / "growth_OD600.csv", tmp_path / "layout.csv"])


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("growth rate of mut vs wt, no drug", "`drug_mg` in [0]"),
        ("growth rate of mut vs wt without the drug", "`drug_mg` in [0]"),
        ("growth rate of each strain", ""),
    ],
)
def test_growth_is_planned_on_the_plate_with_its_layout(files, question, condition):
    plan = the_planner().plan(question, files).plan
    made, *kept, answer = plan.order()
    assert (made.tool, answer.tool) == ("unfold_plate", "growth_rate")
    assert [node.params["condition"] for node in kept] == ([condition] if condition else [])
    assert {key: answer.params[key] for key in ("time", "density", "group")} == {
        "time": "Time_min", "density": "OD600", "group": "strain",
    }  # fmt: skip


def test_what_is_asked_of_the_layout_alone_counts_wells_and_no_readings(files):
    plan = the_planner().plan("how many wells per strain", files).plan
    assert [dataset.name for dataset in plan.datasets] == ["layout.csv"]


def test_a_reader_is_told_of_the_table_and_may_name_its_columns(files):
    told = the_planner().told_together(files)
    assert "'OD600'" in told
    assert "'strain'" in told
    params = {"time": "Time_min", "density": "OD600", "group": "strain", "well": "well"}
    goal = ToldGoal(tool="growth_rate", params=params, rows=[ToldRows(column="drug_mg", values=["0"])])
    plan = the_planner().plan_told("what does the mutation cost", files, ToldPlan(goals=[goal])).plan
    assert [node.tool for node in plan.order()] == ["unfold_plate", "filter_rows", "growth_rate"]
    assert the_planner().told_together(files[:1]) == ""
