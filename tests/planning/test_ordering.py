"""Which rows come first, read from questions people ask of lists."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.errors import PlanError
from engine.planning.binding.bind import bind
from engine.planning.binding.bound import Bound
from engine.planning.binding.ordering import order_said
from engine.planning.binding.rows import condition
from engine.planning.guards.case import Case
from engine.planning.guards.run import run_guards
from engine.planning.reading.read import read
from engine.planning.tables.sheets import Data
from engine.toolbox.tables.handling import filter_rows


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Data:
    rows = range(60)
    table = pd.DataFrame(
        {
            "ring": [f"R{i:03d}" for i in rows],
            "nest": [f"N{i // 5}" for i in rows],
            "sex": [("male", "female")[i % 2] for i in rows],
            "mass_g": [15 + (i * 7 % 60) / 10 for i in rows],
            "wing_mm": [60 + (i * 11 % 60) / 5 for i in rows],
            "age": [1 + (i * 13 % 60) / 4 for i in rows],
            "birth_year": [1950 + i for i in rows],
            "ticks": [i * 17 % 23 for i in rows],
            "sprint": [10 + (i * 19 % 60) / 10 for i in rows],
        }
    )
    path = tmp_path_factory.mktemp("order") / "birds.csv"
    table.to_csv(path, index=False)
    return Data.of(profile_files([path]))


def planned(question: str, files: Data) -> tuple[Bound, dict[str, Any]]:
    reading = read(question, files)
    case = Case(bind(filter_rows.tool_spec, reading, files), reading, files)
    run_guards(["rows_named"], case)
    return case.bound, {**case.bound.params, "condition": condition(case.bound.rows, files)}


@pytest.mark.parametrize(
    ("question", "sort_by", "order", "top"),
    [
        ("list the ten heaviest birds", "mass_g", "descending", 10),
        ("show me the 4 lightest birds", "mass_g", "ascending", 4),
        ("which 3 birds have the lowest mass?", "mass_g", "ascending", 3),
        ("which three birds have the longest wing?", "wing_mm", "descending", 3),
        ("who are the five oldest, by age?", "age", "descending", 5),
        ("top 10 birds by wing", "wing_mm", "descending", 10),
        ("sort the birds by wing, longest first", "wing_mm", "descending", 0),
        ("all birds in ascending order of mass", "mass_g", "ascending", 0),
        ("order the table by ticks", "ticks", "descending", 0),
        ("which bird has the most ticks?", "ticks", "descending", 1),
        ("the bottom 5 in mass", "mass_g", "ascending", 5),
        ("the five oldest by birth year", "birth_year", "ascending", 5),
        ("the five youngest by birth year", "birth_year", "descending", 5),
    ],
)
def test_order_and_how_many(question, sort_by, order, top, files):
    found = order_said(read(question, files), files)
    assert found is not None
    assert (found.sort_by, found.order, found.top) == (sort_by, order, top)


@pytest.mark.parametrize(
    "question",
    ["birds with at least 20 ticks", "only females", "birds with at most 3 ticks", "keep birds with mass above 17"],
)
def test_conditions_are_no_order(question, files):
    assert order_said(read(question, files), files) is None


def test_condition_and_order_together(files):
    _, params = planned("list the three heaviest females", files)
    assert (params["sort_by"], params["top_n"], params["condition"]) == ("mass_g", 3, "`sex` in ['female']")


def test_a_column_in_a_condition_is_not_sorted_by(files):
    _, params = planned("only females with mass above 17", files)
    assert "sort_by" not in params
    assert "`mass_g` > 17" in params["condition"]


def test_levels_with_a_large_mean(files):
    _, params = planned("which nests have on average more than 20 ticks?", files)
    assert (params["by"], params["aggregate"], params["condition"]) == ("nest", "mean", "`ticks` > 20")
    _, params = planned("which three nests have the highest average mass?", files)
    assert (params["by"], params["aggregate"], params["sort_by"], params["top_n"]) == ("nest", "mean", "mass_g", 3)


def test_summary_of_some_rows_only_is_refused_not_mixed(files):
    with pytest.raises(PlanError, match="at once"):
        planned("which nests have on average more than 20 ticks in females only?", files)


def test_what_best_means_is_asked(files):
    bound, params = planned("give me the best five by sprint", files)
    assert (params["sort_by"], params["top_n"]) == ("sprint", 5)
    assert [question.param for question in bound.questions] == ["order"]


@pytest.mark.parametrize("question", ["give me some rows", "list the ten", "the top 5 please"])
def test_rows_that_are_not_named_are_refused(question, files):
    with pytest.raises(PlanError):
        planned(question, files)
