"""Workbooks whose first sheet explains the second, and records of subjects that hold more numbers than groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files

RNG = np.random.default_rng(4)


def cohort(rows: int = 640) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Pat.-Nr.": [f"K{1000 + n}" for n in range(rows)], "Geschlecht": RNG.choice(["w", "m"], rows),
            "Alter": RNG.normal(60, 9, rows).round(), "Rauchen": RNG.choice([0, 1, 2], rows),
            "Packungsjahre": RNG.gamma(2, 8, rows).round(), "BMI": RNG.normal(26, 4, rows).round(1),
            "RR syst.": RNG.normal(130, 15, rows).round(), "Diabetes": RNG.choice(["ja", "nein"], rows),
            "Nachbeob. (Monate)": RNG.exponential(60, rows).round(1), "verstorben": RNG.choice(["ja", "nein"], rows),
        }
    )  # fmt: skip


@pytest.fixture
def workbook(tmp_path):
    path = tmp_path / "cohort.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame(
            {"Variable": ["Rauchen"] * 3, "Code": [0, 1, 2], "Bedeutung": ["nie", "ehemals", "aktuell"]}
        ).to_excel(book, sheet_name="Legende", index=False)
        cohort().to_excel(book, sheet_name="Daten", index=False, startrow=2)
    return path


def test_a_sheet_that_explains_another_is_passed_over_and_said(workbook) -> None:
    (profile,) = profile_files([workbook])
    assert (profile.rows, profile.best.read["sheet"]) == (640, "Daten")
    assert any("'Legende'" in warning for warning in profile.warnings)


def test_a_first_sheet_of_some_size_stays_the_one_that_is_used(tmp_path) -> None:
    path = tmp_path / "two.xlsx"
    with pd.ExcelWriter(path) as book:
        cohort(80).to_excel(book, sheet_name="A", index=False)
        cohort(640).to_excel(book, sheet_name="B", index=False)
    (profile,) = profile_files([path])
    assert profile.best.read["sheet"] == "A"


def test_records_of_subjects_are_no_matrix_of_features(tmp_path) -> None:
    path = tmp_path / "cohort.csv"
    cohort().to_csv(path, index=False)
    (profile,) = profile_files([path])
    assert "expression_matrix" not in {guess.type.value for guess in profile.types}
    assert profile.structure.survival == {"time": "Nachbeob. (Monate)", "event": "verstorben", "event_value": "ja"}
