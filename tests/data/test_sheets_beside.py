"""Workbooks whose rows and what belongs to them stand in two sheets."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from engine.data.kinds.table import read_table
from engine.data.profiler import profile_file

COWS = pd.DataFrame({"cow": [*range(7311, 7323)], "group": [1, 2] * 6, "barn": list("AABBAB") * 2})
MILK = pd.DataFrame(
    [{"cow": cow, "day": day, "milk": 20.0 + cow % 7 + day / 8} for cow in COWS["cow"] for day in (0, 7, 14)]
)


def workbook(folder: Path, **sheets: pd.DataFrame) -> Path:
    path = folder / "study.xlsx"
    with pd.ExcelWriter(path) as book:
        for name, frame in sheets.items():
            frame.to_excel(book, sheet_name=name, index=False)
    return path


@pytest.mark.parametrize("order", [("cows", "milk"), ("milk", "cows")])
def test_the_list_of_animals_stands_beside_their_measurements_whichever_comes_first(tmp_path: Path, order):
    sheets = {"cows": COWS, "milk": MILK}
    profile = profile_file(workbook(tmp_path, **{name: sheets[name] for name in order}))
    assert [column.name for column in profile.column_profiles] == ["cow", "day", "milk", "group", "barn"]
    assert profile.rows == 36
    assert profile.structure.repeated[0].subject == "cow"
    assert "group" in profile.structure.repeated[0].between
    assert "each row of the sheet 'milk' has what belongs to it from the sheet 'cows' by 'cow'" in profile.warnings[0]
    read = read_table(profile.path, **profile.types[0].read)
    expected = MILK.merge(COWS, on="cow")
    pd.testing.assert_frame_equal(read, expected)


def test_who_is_not_in_the_list_has_blanks_and_no_row_is_lost_or_doubled(tmp_path: Path):
    more = pd.concat([MILK, pd.DataFrame([{"cow": 99, "day": 0, "milk": 1.0}])], ignore_index=True)
    profile = profile_file(workbook(tmp_path, milk=more, cows=COWS))
    read = read_table(profile.path, **profile.types[0].read)
    assert len(read) == 37
    assert read.loc[read["cow"] == 99, "group"].isna().all()


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("a cow twice in the list", pd.concat([COWS, COWS.head(1)])),
        ("other cows", COWS.assign(cow=COWS["cow"] + 100)),
        ("nothing new", COWS[["cow"]].assign(day=0)),
        ("no common column", COWS.rename(columns={"cow": "animal"})),
    ],
)
def test_what_is_no_list_of_these_rows_is_left_and_said(tmp_path: Path, name: str, other: pd.DataFrame):
    profile = profile_file(workbook(tmp_path, milk=MILK, other=other))
    assert [column.name for column in profile.column_profiles] == ["cow", "day", "milk"], name
    assert "the sheet 'milk' is used, not 'other'" in profile.warnings[0]


def test_marks_of_missing_values_in_the_list_are_missing_for_the_step_as_for_the_profile(tmp_path: Path):
    ages = COWS.assign(age=[4, 5, 6, 7, 5, 4, 6, 5, 7, 4, 999, 999], parity=[1, 2, "n.d.", 3] * 3)
    profile = profile_file(workbook(tmp_path, milk=MILK, cows=ages))
    read = read_table(profile.path, **profile.types[0].read)
    for name, lost in (("age", 6), ("parity", 9)):
        column = profile.column(name)
        assert column is not None
        assert (column.missing, int(read[name].isna().sum())) == (lost, lost), name
        assert pd.to_numeric(read[name]).max() == column.maximum
