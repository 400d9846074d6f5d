"""Values below a limit: left out unless the question, or whoever tells its goals, counts them, and then told as such."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.catalogue import read_data
from engine.data.profiler import profile_files
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.planning.told.goals import ToldGoal, ToldPlan
from engine.toolbox.registry import builtin_tools


@pytest.fixture(scope="module")
def planner():
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def urine(tmp_path_factory):
    chance = np.random.default_rng(3)
    values = chance.lognormal(0, 1, 60).round(3)
    cells = [f"{v}" if v > 0.25 else "<0.25" for v in values]
    frame = pd.DataFrame({"patient": range(1, 61), "diabetes": ["yes", "no"] * 30, "NGAL_ng_ml": cells})
    path = tmp_path_factory.mktemp("urine") / "urine.csv"
    frame.to_csv(path, index=False)
    return profile_files([path]), values


def read_of(plan):
    return plan.datasets[0].read


@pytest.mark.parametrize(
    ("more", "counted"),
    [
        ("", None),
        (", don't throw away the ones below detection", "half"),
        (", and please do not drop values below the detection limit", "half"),
        (", values below LOD set to half the LOD", "half"),
        (", values below the limit of detection as the limit", "limit"),
        (", without those below detection", None),
        (", '<0.25' take as 0.25", "limit"),
        ("; <0.25 is set to 0.125", "half"),
        ("; <0.25 is set to 0.2", None),
    ],
)
def test_values_below_a_limit_count_where_the_question_says_so(planner, urine, more, counted):
    plan = planner.plan(f"Is NGAL higher in the diabetics{more}?", urine[0]).plan
    assert read_of(plan).get("beyond", {}).get("NGAL_ng_ml") == counted
    assert any(" read as half of it" in text for text in plan.warnings) == (counted == "half")
    assert any("biased upwards" in text for text in plan.warnings) == (counted is None)
    dataset = plan.datasets[0]
    frame, values = read_data(dataset.path, dataset.type, **read_of(plan)), urine[1]
    expected = {None: np.nan, "half": 0.125, "limit": 0.25}[counted]
    np.testing.assert_allclose(frame["NGAL_ng_ml"], np.where(values > 0.25, values, expected))


def test_a_telling_says_which_columns_count_and_how(planner, urine):
    goal = ToldGoal(tool="compare_groups", params={"value": "NGAL_ng_ml", "group": "diabetes"})
    told = ToldPlan(goals=[goal], limits={"NGAL_ng_ml": "limit"})
    assert read_of(planner.plan_told("NGAL", urine[0], told).plan)["beyond"] == {"NGAL_ng_ml": "limit"}
    with pytest.raises(PlanError, match="no cells below or above a limit") as caught:
        planner.plan_told("NGAL", urine[0], ToldPlan(goals=[goal], limits={"patient": "half"}))
    assert "NGAL_ng_ml" in caught.value.details["issues"][0]


def test_titres_are_numbers_and_one_above_the_highest_dilution_is_that(planner, tmp_path):
    titres = ["1:20", "1:40", "1:80", "1:160", "<1:20", ">1:2560"] * 8
    frame = pd.DataFrame({"id": range(48), "arm": ["a", "b", "b"] * 16, "NT50": titres, "age": range(30, 78)})
    frame.to_csv(tmp_path / "titres.csv", index=False)
    profile = profile_files([tmp_path / "titres.csv"])[0]
    column = profile.column("NT50")
    assert (column.scale, column.unit, column.minimum, column.maximum) == ("number", "titre", 20, 160)
    assert any("1:40 are read as 40" in text for text in column.notes)
    plan = planner.plan("is NT50 related to age, keep the ones below detection", [profile]).plan
    frame = read_data(plan.datasets[0].path, "table", **{k: v for k, v in read_of(plan).items() if k != "index_col"})
    assert frame["NT50"][:6].tolist() == [20, 40, 80, 160, 10, 2560]


def test_clock_times_are_no_titres(tmp_path):
    frame = pd.DataFrame({"id": range(12), "start": ["1:20", "2:40", "1:05"] * 4})
    frame.to_csv(tmp_path / "times.csv", index=False)
    assert profile_files([tmp_path / "times.csv"])[0].column("start").unit != "titre"


@pytest.mark.parametrize(
    ("question", "once"),
    [
        ("is weight higher in males, without the duplicate rows", True),
        ("drop duplicates, then: is weight higher in males?", True),
        ("is weight higher in males", False),
        ("is weight higher in males, were they measured in duplicate", False),
    ],
)
def test_repeated_rows_are_left_out_where_the_question_says_so(planner, tmp_path, question, once):
    chance = np.random.default_rng(7)
    frame = pd.DataFrame(
        {"mouse": range(40), "sex": ["male", "female"] * 20, "weight": chance.normal(20, 2, 40).round(2)}
    )
    pd.concat([frame, frame[:3]]).to_csv(tmp_path / "mice.csv", index=False)
    profiles = profile_files([tmp_path / "mice.csv"])
    plan = planner.plan(question, profiles).plan
    assert bool(read_of(plan).get("once")) == once
    assert not plan.not_answered
    assert any("3 rows the same as an earlier row in every column, left out." in text for text in plan.warnings) == once
    dataset = plan.datasets[0]
    assert len(read_data(dataset.path, dataset.type, **read_of(plan))) == (40 if once else 43)


def test_a_telling_names_the_files_of_which_repeated_rows_go(planner, tmp_path):
    frame = pd.DataFrame({"mouse": range(12), "sex": ["m", "f"] * 6, "weight": np.linspace(18, 25, 12)})
    pd.concat([frame, frame[:1]]).to_csv(tmp_path / "mice.csv", index=False)
    goal = ToldGoal(tool="compare_groups", params={"value": "weight", "group": "sex"})
    told = ToldPlan(goals=[goal], once=["mice.csv"])
    assert (
        read_of(planner.plan_told("weight by sex", profile_files([tmp_path / "mice.csv"]), told).plan)["once"] is True
    )


def test_groups_that_are_taken_together_have_no_part(planner, tmp_path):
    chance = np.random.default_rng(9)
    frame = pd.DataFrame({"person": range(60), "arm": ["new", "old"] * 30, "age": chance.integers(20, 80, 60),
                          "weight": chance.normal(70, 9, 60).round(1)})  # fmt: skip
    frame.to_csv(tmp_path / "persons.csv", index=False)
    profiles = profile_files([tmp_path / "persons.csv"])
    plan = planner.plan("is weight related to age, all arms together?", profiles).plan
    assert [node.tool for node in plan.nodes] == ["correlation"]
    assert not plan.not_answered
    assert not plan.open_questions
    apart = planner.plan("does weight differ between all arms?", profiles).plan
    assert apart.nodes[-1].params["group"] == "arm"
