"""Levels that repeat their column's name or are written with dots are one; times and ends of one beginning go together."""

from __future__ import annotations

import numpy as np
import pandas as pd
from plan_questions import profile_files, the_planner

DRAW = np.random.default_rng(8)
N = 80


def profiled(folder, table):
    table.to_csv(folder / "a.csv", index=False)
    return profile_files([folder / "a.csv"])


def test_a_level_that_repeats_its_column_is_the_bare_one(tmp_path):
    table = pd.DataFrame(
        {"Arm": ["A", "B", "Arm A", "arm B"] * 20, "type": ["Armenia", "A", "B", "C"] * 20, "x": range(N)}
    )
    (profile,) = profiled(tmp_path, table)
    assert profile.column("Arm").levels == {"A": 40, "B": 40}
    assert set(profile.column("type").levels) == {"Armenia", "A", "B", "C"}


def test_initials_with_dots_are_the_same_without(tmp_path):
    (profile,) = profiled(
        tmp_path, pd.DataFrame({"route": ["i.v.", "iv", "p.o.", "i.v."] * 20, "dose": [1.5, 2, 3, 4] * 20})
    )
    assert profile.column("route").levels == {"i.v.": 60, "p.o.": 20}


def trial(folder):
    table = pd.DataFrame({
        "Pat": [f"P{k:03d}" for k in range(N)], "Arm": DRAW.choice(["A", "B"], N), "Age_y": DRAW.integers(40, 80, N),
        "PFS_mo": DRAW.uniform(1, 30, N).round(1), "PFS_ev": DRAW.integers(0, 2, N), "OS_mo": DRAW.uniform(2, 34, N).round(1),
        "OS_ev": DRAW.integers(0, 2, N),
    })  # fmt: skip
    return profiled(folder, table)


def test_each_time_goes_with_the_end_of_its_own_beginning(tmp_path):
    profiles = trial(tmp_path)
    assert profiles[0].structure.survival == {"time": "PFS_mo", "event": "PFS_ev", "event_value": "1"}
    for said, pair in (
        ("progression-free survival", ("PFS_mo", "PFS_ev")),
        ("overall survival", ("OS_mo", "OS_ev")),
        ("OS", ("OS_mo", "OS_ev")),
    ):
        plan = the_planner().plan(f"Is {said} different between the arms?", profiles).plan
        node = next(node for node in plan.nodes if node.tool == "log_rank")
        assert (node.params["time"], node.params["event"]) == pair


def test_points_of_a_terminal_slope_leave_no_rows_out(tmp_path):
    table = pd.DataFrame({
        "rat": [f"R{k}" for k in range(1, 7) for _ in range(9)], "route": ["iv"] * 54, "dose_mg_kg": [2] * 54,
        "time_h": [0.25, 0.5, 1, 2, 4, 6, 8, 12, 24] * 6, "conc_ng_mL": [round(900 * np.exp(-0.3 * t), 1) for t in [0.25, 0.5, 1, 2, 4, 6, 8, 12, 24]] * 6,
    })  # fmt: skip
    profiles = profiled(tmp_path, table)
    asked = "terminal half life, clearance and Vz of the rats, AUC to infinity{}"
    plan = the_planner().plan(asked.format(" (points from 4h on for the slope)"), profiles).plan
    assert not any("time_h" in str(node.params.get("condition", "")) for node in plan.nodes)
    assert any("points of a slope" in text for text in plan.not_answered)
