"""Which questions are offered for a table: those that its kind of data is asked first, of what is studied in it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(7)
N = 40


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


def offered(planner, tmp_path, columns, **more) -> list[str]:
    pd.DataFrame(columns).to_csv(tmp_path / "table.csv", index=False)
    return planner.suggest(profile_files([tmp_path / "table.csv"]), **more)


def test_two_states_of_one_measure_are_compared_in_pairs(planner, tmp_path):
    rest = RNG.gamma(3, 20, N).round(1)
    found = offered(planner, tmp_path, {
        "donor": [f"D{n:02}" for n in range(N)], "sex": ["f", "m"] * (N // 2), "age": RNG.integers(20, 70, N),
        "TNF_LPS_pg_ml": (rest * 4 + RNG.normal(0, 9, N)).round(1), "TNF_ctrl_pg_ml": rest,
    })  # fmt: skip
    assert found[0] == "Is TNF_LPS_pg_ml higher than TNF_ctrl_pg_ml?"
    assert len(found) == 3
    assert not any("age differ" in question for question in found)


def test_numbers_that_were_given_to_rows_are_not_asked_about(planner, tmp_path):
    found = offered(planner, tmp_path, {
        "tag": RNG.permutation(range(3000, 3000 + N)), "feed": ["new", "old"] * (N // 2),
        "milk_kg": RNG.normal(25, 4, N).round(1), "fat_pct": RNG.normal(4, 0.4, N).round(2),
    })  # fmt: skip
    assert len(found) == 3
    assert not any("tag" in question for question in found)
    assert found[0] == "Does milk_kg differ by feed?"


def test_the_factor_that_has_a_control_is_asked_about_before_sex_and_batch(planner, tmp_path):
    found = offered(planner, tmp_path, {
        "sex": RNG.choice(["f", "m"], N), "batch": RNG.choice(["b1", "b2", "b3"], N),
        "treatment": ["drug", "control"] * (N // 2), "weight_gain": RNG.normal(9, 2, N).round(1),
    })  # fmt: skip
    assert found[0] == "Does weight_gain differ by treatment?"


def test_how_a_plan_was_laid_out_is_no_question(planner, tmp_path):
    found = offered(planner, tmp_path, {
        "treatment": np.repeat(["TGFb", "ctrl"], N // 2), "repeat": ["r1", "r2", "r3", "r4"] * (N // 4),
        "Ct": RNG.normal(20, 1, N).round(2),
    })  # fmt: skip
    assert len(found) == 3
    assert not any("associated" in question for question in found)


def test_what_was_asked_is_not_offered_again(planner, tmp_path):
    columns = {
        "arm": ["a", "b"] * (N // 2), "height": RNG.normal(170, 8, N).round(1), "weight": RNG.normal(70, 8, N).round(1)
    }  # fmt: skip
    first = offered(planner, tmp_path, columns)
    again = offered(planner, tmp_path, columns, asked=[first[0].lower().rstrip("?")])
    assert first[0] not in again
    assert len(again) == 3
