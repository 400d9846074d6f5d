"""Whose change, whose share, how many of each: the estimand is that of the words. The data are invented."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.domain.plan import TaskDag
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(11)


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("whose")


@pytest.fixture(scope="module")
def visits(folder):
    goats = [f"G{n:02d}" for n in range(36)]
    frame = pd.DataFrame({"goat": np.repeat(goats, 3), "day": np.tile([0, 7, 28], 36)})
    frame["feed"] = np.repeat(np.tile(["hay", "silage", "pellets"], 12), 3)
    frame["milk"] = (30 + 0.1 * frame["day"] + RNG.normal(0, 2, len(frame))).round(1)
    path = folder / "visits.csv"
    frame.to_csv(path, index=False)
    return profile_files([path])


@pytest.fixture(scope="module")
def lambs(folder):
    end = ["died"] * 9 + ["sold"] * 5 + [""] * 76
    frame = pd.DataFrame({"lamb": [f"L{n:03d}" for n in range(90)], "feed": np.tile(["A", "B", "C"], 30)})
    frame["left"] = RNG.permutation(end)
    frame["weight"] = RNG.normal(4, 0.6, 90).round(2)
    frame["breed"] = RNG.choice(["Merino", "Texel", "Dorper", "Suffolk", "Karakul", "Romney", "Zwartbles"], 90)
    path = folder / "lambs.csv"
    frame.to_csv(path, index=False)
    return profile_files([path])


def step(plan: TaskDag, tool: str) -> dict:
    found = [node for node in plan.nodes if node.tool == tool]
    assert found, [node.tool for node in plan.nodes]
    return found[0].params


@pytest.mark.parametrize(
    "question",
    [
        "Does milk change from day 0 to day 28, by feed?",
        "Did the change in milk from day 0 to day 28 differ between the feeds?",
    ],
)
def test_a_change_by_group_compares_the_changes(planner, visits, question):
    plan = planner.plan(question, visits).plan
    model = step(plan, "mixed_model")
    assert set(model["fixed"]) == {"day", "feed"}
    assert model["interaction"] is True
    assert model["subject"] == "goat"
    assert step(plan, "filter_rows")["condition"] == "`day` in [0, 28]"


def test_a_group_of_subjects_pairs_nothing(planner, visits):
    plan = planner.plan("Is milk higher on day 28 than on day 0?", visits).plan
    columns = [value for node in plan.nodes for value in node.params.values() if isinstance(value, str)]
    assert "feed" not in columns
    assert "goat" in columns


def test_empty_cells_of_a_column_of_ends_are_asked_about(planner, lambs):
    plan = planner.plan("How many died in each feed?", lambs).plan
    shares = step(plan, "proportion_test")
    assert (shares["event"], shares["event_value"], shares["group"]) == ("left", "died", "feed")
    assert shares["empty"] == "no event"
    assert any(asked.param == "empty" for asked in plan.open_questions)


def test_a_share_that_is_compared_is_of_all_rows(planner, lambs):
    plan = planner.plan("Is the share of Texel higher in feed A than in feed B?", lambs).plan
    assert [node.tool for node in plan.nodes] == ["proportion_test"]
    shares = step(plan, "proportion_test")
    assert (shares["event"], shares["event_value"], shares["group"]) == ("breed", "Texel", "feed")
    assert (shares["treated"], shares["control"]) == ("A", "B")


def test_a_comparison_without_a_pair_is_refused(planner, lambs):
    with pytest.raises(PlanError, match="Nothing can be paired"):
        planner.plan("paired test of weight between feed A and B, paired by lamb", lambs)
