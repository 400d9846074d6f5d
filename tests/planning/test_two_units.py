"""A column whose unit changes from row to row is not taken for one measurement; invented data, counts known by design."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_file, profile_files
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    rng, n = np.random.default_rng(5), 60
    path = tmp_path_factory.mktemp("units") / "clinic.csv"
    pd.DataFrame(
        {"visit": range(n), "ward": ["north", "south"] * 30, "years": rng.integers(20, 80, n),
         "creatinine": rng.normal(90, 12, n).round(1), "unit": ["umol/L"] * 48 + ["mg/dL"] * 12,
         "body_mass": rng.normal(72, 9, n).round(1), "mass_unit": ["kg", "kg", "lb"] * 20}
    ).to_csv(path, index=False)  # fmt: skip
    return profile_file(path)


def planned(question, profile):
    return Planner(builtin_tools()).plan(question, [profile]).plan


def test_the_profile_says_which_number_has_which_units(clinic):
    assert clinic.structure.units == {"creatinine": "unit", "body_mass": "mass_unit"}
    assert any("48 in umol/L, 12 in mg/dL" in warning for warning in clinic.warnings)


@pytest.mark.parametrize(
    ("question", "counts"),
    [("Does creatinine differ between the wards?", "48 in umol/L, 12 in mg/dL"),
     ("is body_mass correlated with years", "40 in kg, 20 in lb"),
     ("mean creatinine per ward", "48 in umol/L, 12 in mg/dL")],
)  # fmt: skip
def test_an_analysis_over_two_units_is_refused_with_their_counts(clinic, question, counts):
    with pytest.raises(PlanError) as refused:
        planned(question, clinic)
    assert counts in str(refused.value)


@pytest.mark.parametrize(
    "question",
    ["Does creatinine differ between the wards, only rows with unit umol/L?", "Does creatinine differ by unit?",
     "Are years different in north and south wards?"],
)  # fmt: skip
def test_one_unit_or_another_column_is_analysed(clinic, question):
    assert planned(question, clinic).nodes


def test_units_that_go_with_a_name_of_the_row_are_no_two_units_of_what_is_kept(tmp_path):
    rng = np.random.default_rng(6)
    pd.DataFrame(
        {"assay": ["sodium", "weight"] * 40, "result": rng.normal(100, 20, 80).round(1), "unit": ["mmol/L", "kg"] * 40,
         "arm": ["drug", "drug", "sham", "sham"] * 20}
    ).to_csv(tmp_path / "long.csv", index=False)  # fmt: skip
    profile = profile_file(tmp_path / "long.csv")
    with pytest.raises(PlanError, match="2 units"):
        planned("Does result differ between drug and sham?", profile)
    assert planned("Does result differ between drug and sham, for sodium only?", profile).nodes


def test_letters_beside_a_number_are_no_units(tmp_path):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"dose": rng.normal(5, 1, 40), "sex": ["M", "F"] * 20, "blood": ["A", "B", "O", "A"] * 10})
    frame.to_csv(tmp_path / "people.csv", index=False)
    assert profile_file(tmp_path / "people.csv").structure.units == {}


@pytest.mark.parametrize(
    ("question", "tools", "to"),
    [
        ("yield in T3 better than T1? how much kg", ["compare_groups"], None),
        ("yield_kg in g please", ["convert_units"], "g"),
        ("convert yield_kg to lb", ["convert_units"], "lb"),
        ("convert weight_lb to metric", ["convert_units"], "auto"),
        ("convert yield_kg to kg", None, None),
        ("convert yield_kg", None, None),
    ],
)
def test_a_conversion_is_planned_to_another_unit_only(tmp_path, question, tools, to):
    """A step that could only fail had made the answer beside it a partial result."""
    rows = {"weight_lb": [90.0 + at for at in range(20)], "yield_kg": [9.5 + at / 10 for at in range(20)]}
    pd.DataFrame({"plot": range(20), **rows, "trt": ["T1", "T3"] * 10}).to_csv(tmp_path / "plots.csv", index=False)
    profiles = profile_files([tmp_path / "plots.csv"])
    planner = Planner(builtin_tools())
    if tools is None:
        with pytest.raises(PlanError, match="'yield_kg' is in kg already, and no other unit is named"):
            planner.plan(question, profiles)
        return
    plan = planner.plan(question, profiles).plan
    assert [node.tool for node in plan.nodes] == tools
    assert plan.nodes[0].params.get("to_unit") == to


def test_a_place_that_reads_like_a_unit_is_a_group(tmp_path):
    rng, n = np.random.default_rng(4), 40
    pd.DataFrame(
        {"stream": rng.choice(list("ABCD"), n), "pos": ["us", "ds"] * 20, "NO3_mg_l": rng.normal(9, 2, n).round(1)}
    ).to_csv(tmp_path / "water.csv", index=False)
    assert profile_file(tmp_path / "water.csv").structure.units == {}


def test_units_that_nothing_calls_so_differ_in_the_size_of_values(tmp_path):
    rng, n = np.random.default_rng(4), 40
    amount = np.where(np.arange(n) % 2, rng.normal(90, 9, n), rng.normal(1, 0.1, n)).round(2)
    frame = pd.DataFrame({"who": [f"p{at}" for at in range(n)], "crea": amount, "as": ["mg/dL", "umol/L"] * 20})
    frame.to_csv(tmp_path / "crea.csv", index=False)
    assert profile_file(tmp_path / "crea.csv").structure.units == {"crea": "as"}
