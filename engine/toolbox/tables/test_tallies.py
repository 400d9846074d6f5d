"""Counts out of totals as rows of yes and no, by hand; models of them are held against a grouped one in `statistics`."""

from __future__ import annotations

import pandas as pd
import pytest

from engine.toolbox.tables.tallies import one_row_each

TRAYS = pd.DataFrame(
    {"tray": ["a", "b", "c", "d"], "warm": [0, 1, 0, 1], "sprouted": [2, 0, 3, None], "seeds": [3, 2, 3, 4]}
)


def test_each_of_the_counted_has_a_row_and_the_others_of_its_row_beside_it():
    result = one_row_each(TRAYS, part="sprouted", total="seeds", row="tray_no")
    rows = result["rows"]
    assert list(rows["sprouted"]) == ["yes", "yes", "no", "no", "no", "yes", "yes", "yes"]
    assert list(rows["tray"]) == list("aaabbccc")
    assert list(rows["tray_no"]) == [1, 1, 1, 2, 2, 3, 3, 3]
    assert "seeds" not in rows
    assert result["warnings"] == ["1 rows without sprouted or seeds were left out."]
    assert "8 counted in 3 rows" in result["findings"][0]["text"]


@pytest.mark.parametrize(
    ("change", "said"),
    [({"sprouted": [4, 0, 3, 1]}, "Row 1 holds sprouted"), ({"sprouted": [1.5, 0, 3, 1]}, "whole number"),
     ({"sprouted": [-1, 0, 3, 1]}, "from 0 to seeds"), ({"sprouted": ["x", 0, 3, 1]}, "not numbers"),
     ({"seeds": [400_000, 2, 300_000, 4]}, "at most 500,000"), ({"table_row": [1, 2, 3, 4]}, "is a column already")],
)  # fmt: skip
def test_what_is_no_count_out_of_a_total_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        one_row_each(TRAYS.assign(**change), part="sprouted", total="seeds")
