"""What rows are about, what is done with them next, and letters that a legend explains are no columns, occasions or levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.errors import PlanError


@pytest.fixture(scope="module")
def herd(tmp_path_factory):
    draw, folder = np.random.default_rng(6), tmp_path_factory.mktemp("herd")
    names = [f"H{k:03d}" for k in range(58)] + ["H003", "H004"]  # two stand there twice
    table = pd.DataFrame({"id_cow": names, "herd": draw.choice(["a", "b", "c"], 60), "vacunada": draw.choice(["si", "no"], 60),
                          "mastitis": draw.choice(["si", "no"], 60), "visit": draw.choice(["V1", "V2"], 60),
                          "milk_kg": draw.normal(25, 4, 60).round(1)})  # fmt: skip
    table.to_csv(folder / "cows.csv", index=False)
    return profile_files([folder / "cows.csv"])


def test_a_list_of_what_rows_are_about_is_checked_whole(herd):
    plan = the_planner().plan("check my cow list for mistakes before I send it", herd).plan
    (missing,) = [node for node in plan.nodes if node.tool == "missing_values"]
    assert {"herd", "mastitis", "milk_kg"} <= set(missing.params["columns"])
    assert not plan.not_answered


def test_a_word_of_another_language_and_gender_finds_its_column(herd):
    plan = the_planner().plan("what percentage of the cows got mastitis, vaccinated and not vaccinated?", herd).plan
    params = plan.nodes[-1].params
    assert (params["event"], params["group"]) == ("mastitis", "vacunada")
    assert not plan.not_answered


@pytest.mark.parametrize("when", ["before the stats", "before I fit the model", "before the analysis"])
def test_what_is_done_next_is_no_occasion(when, herd):
    with pytest.raises(PlanError, match="does not say which rows"):
        the_planner().plan(f"any cows I must throw out {when}?", herd)


def test_a_letter_that_a_legend_explains_stands_for_nothing_else(tmp_path):
    draw = np.random.default_rng(7)
    table = pd.DataFrame({"isolate": [f"ISO{k:03d}" for k in range(60)], "source": draw.choice(["H", "R", "W"], 60),
                          "mic": draw.lognormal(0, 1, 60).round(2)})  # fmt: skip
    with pd.ExcelWriter(tmp_path / "mic.xlsx") as book:
        table.to_excel(book, sheet_name="MIC", index=False)
        key = [["source", "H", "hospital"], ["source", "R", "river"], ["source", "W", "wastewater"]]
        pd.DataFrame(key).to_excel(book, sheet_name="key", index=False, header=False)
    profiles = profile_files([tmp_path / "mic.xlsx"])
    with pytest.raises(PlanError):
        the_planner().plan("which isolates are resistant", profiles)
    rows = the_planner().plan("keep the isolates from the river only", profiles).plan.nodes[0].params["condition"]
    assert "'R'" in rows
