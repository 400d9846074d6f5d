"""Legends that tell parts of names (`V2` is day 90), ranges of columns, and codes in a column of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import with_codes

from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools


@pytest.fixture(scope="module")
def dogs(tmp_path_factory):
    draw = np.random.default_rng(2)
    start = draw.normal(1.8, 0.15, 60).round(2)
    table = pd.DataFrame({
        "DogID": [f"D{n}" for n in range(60)], "Sex": draw.choice(["MN", "FS", "M", "F"], 60), "Tx": ["pimo", "plac"] * 30,
        "BW kg": draw.uniform(3, 15, 60).round(1), "LVIDDN V0": start, "LVIDDN V1": (start - 0.03).round(2),
        "LVIDDN V2": (start - draw.normal(0.06, 0.05, 60)).round(2), "HR V0": draw.integers(90, 170, 60),
        "HR V2": draw.integers(80, 170, 60),
    })  # fmt: skip
    rows = [("Tx", "pimo", "pimobendan 0.25 mg/kg BID"), ("Tx", "plac", "placebo"), ("HR", None, "heart rate, bpm"),
            ("LVIDDN", None, "left ventricular internal diameter in diastole, normalised"), ("V0", None, "baseline"),
            ("V1", None, "day 30"), ("V2", None, "day 90"), ("Sex", "MN/FS", "male neutered / female spayed")]  # fmt: skip
    return with_codes(table, rows, tmp_path_factory.mktemp("dogs") / "dogs.xlsx")


def test_parts_of_names_tell_what_is_measured_and_when(dogs):
    (profile,) = dogs
    assert {profile.column(name).label for name in ("HR V0", "HR V2")} == {"heart rate"}
    occasions = {wide.columns[0]: wide.labels for wide in profile.structure.wide}
    assert occasions["LVIDDN V0"] == ["baseline", "day 30", "day 90"]
    assert occasions["HR V0"] == ["baseline", "day 90"]
    assert (profile.column("Tx").label, profile.column("Sex").label) == ("", ""), "a code names no column"


def test_a_question_in_the_words_of_the_legend_is_planned(dogs):
    plan = Planner(builtin_tools()).plan(
        "Is the left ventricle (LVIDDN) smaller at day 90 under pimobendan than under placebo? Please correct for each dog's "
        "baseline value.", dogs, analysis="linear_regression",
    ).plan  # fmt: skip
    model = next(node.params for node in plan.nodes if node.tool == "linear_regression")
    assert (model["outcome"], model["predictors"]) == ("LVIDDN V2", ["Tx", "LVIDDN V0"])
    assert model["references"] == ["Tx=plac"]
    plan = Planner(builtin_tools()).plan("do heavier dogs have a lower heart rate at baseline", dogs).plan
    assert {plan.nodes[-1].params["x"], plan.nodes[-1].params["y"]} == {"BW kg", "HR V0"}


def test_a_range_of_columns_is_coded_alike(tmp_path):
    draw = np.random.default_rng(3)
    foods = ("chicken", "tiramisu", "rice_salad", "tap_water")
    table = pd.DataFrame({"ID": range(1, 121), "ill": draw.integers(1, 3, 120)}
                         | {food: draw.choice([1, 2, 9], 120, p=[0.5, 0.45, 0.05]) for food in foods})  # fmt: skip
    rows = [("ill", 1, "yes (case)"), ("ill", 2, "no"), ("exposures (chicken ... tap_water)", 1, "ate/drank"),
            ("exposures (chicken ... tap_water)", 2, "did not"), ("exposures (chicken ... tap_water)", 9, "unknown")]  # fmt: skip
    profiles = with_codes(table, rows, tmp_path / "list.xlsx")
    for food in foods:
        assert profiles[0].column(food).codes == {"1": "ate/drank", "2": "did not"}
        assert set(profiles[0].column(food).levels) == {"1", "2"}, "9 is unknown"
    question = "risk ratio of being ill for tiramisu eaters against non-eaters, without 9"
    risk = Planner(builtin_tools()).plan(question, profiles).plan.nodes[-1].params
    assert (risk["exposure"], risk["exposed"], risk["reference"]) == ("tiramisu", "1", "2"), (
        "who did not is the reference"
    )
    assert (risk["outcome"], risk["event_value"]) == ("ill", "1"), "the non of non-eaters is no `no`"
