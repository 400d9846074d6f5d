"""Plates with wells in columns: the table of readings that a layout makes of one, by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from engine.toolbox.tables.plates import holds_medium, unfold_plate

PLATE = pd.DataFrame({
    "min": [0, 10], "A1": [0.11, 0.21], "A2": [0.12, 0.42], "B1": [0.10, 0.10], "B2": [0.10, 0.12], "B3": [0.1, 0.9],
    "temp": [37.0, 37.1],
})  # fmt: skip
LAYOUT = pd.DataFrame(
    {"well": ["A1", "A2", "B1", "B2", "B3", "H12"], "what": ["wt", "ko", "blank", "blank", "blank", "wt"]}
)


def test_readings_stand_beside_their_layout_and_the_median_blank_of_their_time_is_taken_off():
    result = unfold_plate(PLATE, LAYOUT, well="well", value="OD")
    long = result["readings"].set_index(["well", "min"])
    assert set(result["readings"]["well"]) == {"A1", "A2"}
    assert long.loc[("A1", 0), "OD"] == pytest.approx(0.01)
    assert long.loc[("A2", 10), "OD"] == pytest.approx(0.30), "one grown blank of three does not count"
    assert long.loc[("A2", 10), "what"] == "ko"
    assert long["temp"].tolist() == [37.0, 37.1, 37.0, 37.1]
    assert any("median of 3 blank wells" in text for text in result["warnings"])
    assert any("H12" in text for text in result["warnings"])


def test_without_blanks_readings_stay_as_they_are():
    result = unfold_plate(PLATE, LAYOUT.replace("blank", "wt"), well="well")
    assert sorted(result["readings"]["reading"]) == sorted(PLATE[["A1", "A2", "B1", "B2", "B3"]].to_numpy().ravel())


@pytest.mark.parametrize(
    ("layout", "given", "says"),
    [
        (pd.concat([LAYOUT, LAYOUT[:1]]), {"well": "well"}, "stands twice"),
        (LAYOUT.assign(well=list("uvwxyz")), {"well": "well"}, "No column of the plate is a well"),
        (LAYOUT, {"well": "well", "value": "what"}, "is a column already"),
        (LAYOUT, {"well": "place"}, "place"),
    ],
)
def test_what_is_no_plate_is_a_sentence(layout, given, says):
    with pytest.raises(ValueError, match=says):
        unfold_plate(PLATE, layout, **given)


@pytest.mark.parametrize(
    ("names", "medium"),
    [
        (["wt", "blank", "Blank 2", "medium only", "no cells"], [False, True, True, True, True]),
        (["low", "medium", "high", "blank"], [False, False, False, True]),
        (["rich medium", "minimal", None, "broth"], [False, False, False, True]),
    ],
)
def test_a_dose_called_medium_and_what_something_grows_in_are_no_blanks(names, medium):
    assert holds_medium(pd.Series(names, dtype=object)).tolist() == medium
