"""Workbooks with several tables: the sheet that a question speaks of is the one that is planned on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.columns.asked_sheet import of_asked_sheets, of_sheet
from engine.data.profiler import profile_files


@pytest.fixture
def battery(tmp_path):
    """A battery of tests of behaviour: simulated, a sheet a test, animals in all of them."""
    rng = np.random.default_rng(3)
    mice = np.arange(201, 231)
    groups = np.where(mice % 2, "KO", "WT")
    rotarod = pd.DataFrame(
        {"mouse": np.tile(mice, 3), "day": np.repeat([1, 2, 3], 30), "T1": rng.integers(20, 200, 90)}
    )
    field = pd.DataFrame(
        {"mouse": mice, "box": mice % 4, "GT": groups, "center_time_s": rng.normal(80, 9, 30).round(1), "rearings": 70}
    )
    maze = pd.DataFrame(
        {"mouse": np.repeat(mice, 20), "day": 1, "trial": 2, "latency_s": rng.normal(40, 9, 600), "path_cm": 1000}
    )
    path = tmp_path / "battery.xlsx"
    with pd.ExcelWriter(path) as book:
        for title, sheet in (("rotarod", rotarod), ("open field", field), ("MWM", maze)):
            sheet.to_excel(book, sheet_name=title, index=False)
    return path


def test_every_sheet_with_a_table_is_looked_at_however_short(battery):
    (profile,) = profile_files([battery])
    assert [one.best.read["sheet"] for one in (profile, *profile.others)] == ["rotarod", "open field", "MWM"]
    assert {one.sha256 for one in profile.others} == {profile.sha256}
    assert any("is used, not 'MWM'" in warning for warning in profile.warnings)


@pytest.mark.parametrize(
    ("question", "sheet"),
    [
        ("do the KO fall earlier from the rotarod? 3 trials a day", "rotarod"),
        ("is center time different between GT", "open field"),
        ("what about the Open Field", "open field"),
        ("latency by day", "MWM"),
        ("anything strange?", "rotarod"),
        ("which mouse is best", "rotarod"),
    ],
)
def test_the_sheet_that_is_asked_about_is_used(battery, question, sheet):
    (profile,) = of_asked_sheets(profile_files([battery]), question)
    assert profile.best.read["sheet"] == sheet
    assert {one.best.read["sheet"] for one in profile.others} == {"rotarod", "open field", "MWM"} - {sheet}


def test_a_follow_up_stays_on_its_sheet_unless_it_speaks_of_another(battery):
    (profile,) = profile_files([battery])
    kept = {profile.sha256: "MWM"}
    for question, sheet in (("and without mouse 203?", "MWM"), ("and the rearings?", "open field")):
        (asked,) = of_asked_sheets([profile], question, kept)
        assert asked.best.read["sheet"] == sheet
    assert of_sheet(profile, "no such sheet") == profile


def test_a_run_is_on_the_sheet_that_was_asked_for(battery, open_engine):
    engine = open_engine(starter_knowledge=False, embedding_model="none")
    plan, profiles = engine.draft("Does center_time_s differ by GT?", [battery])
    assert [node.tool for node in plan.nodes] == ["compare_groups"]
    assert plan.datasets[0].read["sheet"] == profiles[0].best.read["sheet"] == "open field"
    assert "15 KO" in (said := engine.briefs(plan)[0].model_dump_json()) or "15" in said
    engine.correct_column(battery, "rearings", "ignore")
    again = engine.draft("Does center_time_s differ by GT?", [battery])[1][0]
    assert again.column("rearings").corrected == "ignore"
    assert [(r.role, r.confidence) for r in again.column("mouse").roles] == [("id", 0.7)], "of this sheet's rows"


@pytest.fixture
def tumours(tmp_path):
    """Volumes and ends of simulated mice in two sheets, and a third that says what `Rx A` and `end_code 1` are."""
    rng = np.random.default_rng(8)
    mice, arm = [f"m{k:02d}" for k in range(32)], np.repeat(["A", "B"], 16)
    volumes = pd.DataFrame({"mouse": mice, "Rx": arm, "d8": rng.integers(20, 60, 32), "d12": rng.integers(60, 200, 32)})
    ends = pd.DataFrame({"mouse": mice, "Rx": arm, "day_end": rng.integers(18, 44, 32), "end_code": [0, 1, 1, 2] * 8})
    legend = [("key", "what"), ("Rx A", "vehicle"), ("Rx B", "antibody"), ("end_code 0", "alive at the end"), ("end_code 1", "dead"),
              ("end_code 2", "removed, wound"), ("day_end", "day it left the study")]  # fmt: skip
    path = tmp_path / "exp.xlsx"
    with pd.ExcelWriter(path) as book:
        volumes.to_excel(book, sheet_name="volumes", index=False)
        ends.to_excel(book, sheet_name="surv", index=False)
        pd.DataFrame(legend[1:], columns=legend[0]).to_excel(book, sheet_name="key", index=False)
    return path


@pytest.mark.parametrize(
    ("question", "sheet"),
    [("survival curves of the two arms", "surv"), ("median survival by Rx", "surv"), ("d12 by Rx", "volumes")],
)
def test_the_sheet_of_ends_is_used_where_survival_is_asked(tumours, question, sheet):
    (profile,) = of_asked_sheets(profile_files([tumours]), question)
    assert profile.best.read["sheet"] == sheet


def test_cells_with_a_column_and_its_code_explain_the_codes(tumours):
    profile = of_sheet(profile_files([tumours])[0], "surv")
    codes = {column.name: column.codes for column in profile.column_profiles if column.codes}
    assert codes["Rx"] == {"A": "vehicle", "B": "antibody"}
    assert codes["end_code"]["1"] == "dead"
    assert (profile.structure.survival["time"], profile.structure.survival["event"]) == ("day_end", "end_code")
