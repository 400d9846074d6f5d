"""A reader names the sheet of a workbook that a question is about: its columns are shown, planned and kept."""

from __future__ import annotations

import pandas as pd
import pytest
from scripted import Scripted

from engine.agents.reader import QuestionReader
from engine.data.columns.asked_sheet import of_read_sheets
from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.planning.told.goals import ToldPlan
from engine.toolbox.registry import builtin_tools

QUESTION = "Is there a difference?"
ON_MAZE = {
    "sheets": {"tests.xlsx": "maze"},
    "goals": [
        {"analysis": "compare_groups", "tool": "compare_groups", "params": {"value": "latency_s", "group": "drug"}}
    ],
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    path = tmp_path_factory.mktemp("sheets") / "tests.xlsx"
    rotarod = {"mouse": range(24), "strain": ["a", "b"] * 12, "fall_s": [60 + 3 * (n % 7) for n in range(24)]}
    maze = {"mouse": range(24), "drug": ["none", "low"] * 12, "latency_s": [20.5 + n % 9 for n in range(24)]}
    with pd.ExcelWriter(path) as writer:
        for title, sheet in (("rotarod", rotarod), ("maze", maze)):
            pd.DataFrame(sheet).to_excel(writer, sheet_name=title, index=False)
    return profile_files([path])


def read(book, *answers):
    models, registry = Scripted(*answers), builtin_tools()
    reader = QuestionReader(models, Planner(registry), registry)
    return models, reader.plan(QUESTION, book, ["compare_groups"]).plan


def test_a_sheet_that_is_told_is_the_one_that_is_planned_and_stays_it(book):
    _, plan = read(book, ON_MAZE)
    assert plan.datasets[0].read["sheet"] == "maze"
    again = Planner(builtin_tools()).plan_told(QUESTION, book, ToldPlan.model_validate(plan.told)).plan
    assert again.datasets == plan.datasets
    (seen,) = of_read_sheets(book, plan.datasets)
    assert [column.name for column in seen.column_profiles] == ["mouse", "drug", "latency_s"]


def test_a_sheet_named_alone_is_shown_and_what_is_given_next_is_about_it(book):
    models, plan = read(book, {"sheets": ON_MAZE["sheets"]}, {"goals": ON_MAZE["goals"]})
    assert '"none" (12)' not in models.asked[0]
    assert '"none" (12)' in models.asked[1]
    assert plan.datasets[0].read["sheet"] == "maze"
    assert plan.told["sheets"] == ON_MAZE["sheets"]


def test_a_sheet_that_does_not_exist_goes_back_with_those_that_do(book):
    models, _ = read(book, ON_MAZE | {"sheets": {"tests.xlsx": "maize"}}, ON_MAZE)
    assert "'tests.xlsx' has no sheet 'maize' with a table. Is one of these meant: 'maze'?" in models.asked[1]
    models, _ = read(book, ON_MAZE | {"sheets": {"test.xlsx": "maze"}}, ON_MAZE)
    assert "There is no file 'test.xlsx'. Is one of these meant: 'tests.xlsx'?" in models.asked[1]
