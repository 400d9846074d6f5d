"""Rows that decide a comparison, found again by leaving each out with scipy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from table_steps import run_step

from engine.toolbox.statistics.groups import compare_groups
from engine.toolbox.tables.handling import filter_rows

LOW = [4.1, 4.6, 5.0, 5.2, 5.9, 6.1, 4.8, 5.5]
HIGH = [5.9, 6.2, 6.6, 7.1, 6.0, 6.9, 7.3, 6.4]


def frame(low, high, ids="calf"):
    rows = [("hay", x) for x in low] + [("silage", x) for x in high]
    return pd.DataFrame([(f"c{i}", *row) for i, row in enumerate(rows, start=1)], columns=[ids, "feed", "gain"])


def said(table, **params):
    return [text for text in compare_groups(table, value="gain", group="feed", **params)["warnings"] if "single rows" in text]  # fmt: skip


def test_a_clear_difference_hangs_on_no_row():
    assert said(frame(LOW, HIGH), test="welch_t") == []


def test_the_row_that_hides_a_difference_is_named():
    low = [*LOW, 14.0]
    assert (
        stats.ttest_ind(low, HIGH, equal_var=False).pvalue > 0.05 > stats.ttest_ind(LOW, HIGH, equal_var=False).pvalue
    )
    (text,) = said(frame(low, HIGH), test="welch_t")
    assert "without calf c9 (hay, gain 14.0) the difference is clear" in text


def test_each_row_named_is_one_that_turns_it_and_no_other():
    rng = np.random.default_rng(14)
    low, high = rng.normal(10, 2, 12), rng.normal(11.55, 2, 12)
    table = frame(low, high)
    base = stats.ttest_ind(low, high).pvalue < 0.05
    turning = {f"c{i + 1}" for i in range(12) if (stats.ttest_ind(np.delete(low, i), high).pvalue < 0.05) != base}
    turning |= {f"c{i + 13}" for i in range(12) if (stats.ttest_ind(low, np.delete(high, i)).pvalue < 0.05) != base}
    (text,) = said(table, test="student_t")
    named = {name.strip("(") for name in text.split() if name.strip("(").startswith("c") and name[1:2].isdigit()}
    assert named <= turning
    assert len(named) == min(3, len(turning)) > 0


def test_a_slip_of_the_decimal_point_is_named():
    table = frame([*LOW[:-1], 550.0], HIGH)
    texts = compare_groups(table, value="gain", group="feed")["warnings"]
    assert any("calf c8 has gain 550" in text and "110 times the median" in text for text in texts)
    spread = frame([1.0, 3, 10, 30, 100, 300], [2.0, 6, 20, 60, 200, 600])  # doses of a dilution are no slips
    assert not any(
        "times the median" in text for text in compare_groups(spread, value="gain", group="feed")["warnings"]
    )


def test_pairs_are_named_by_their_subject():
    before = [10.1, 11.2, 9.8, 12.0, 10.7, 11.5]
    gain = [0.9, 1.1, 0.7, 1.3, 0.8, -3.5]
    table = pd.DataFrame({"dog": [*"abcdef"] * 2, "feed": ["before"] * 6 + ["after"] * 6,
                          "gain": before + [b + g for b, g in zip(before, gain, strict=True)]})  # fmt: skip
    (text,) = said(table, pair="dog", test="paired_t")
    assert "without f (gain" in text
    assert "the difference is clear" in text


def test_rows_without_a_name_are_counted_as_in_the_table():
    table = frame([*LOW, 14.0], HIGH).drop(columns="calf")
    table.loc[0, "gain"] = None
    assert "without row 9 of the table that is compared (hay" in said(table, test="welch_t")[0]


def test_after_a_filter_the_number_is_of_the_rows_left_and_says_so():
    table = pd.concat([frame(HIGH, []).assign(feed="grass"), frame([*LOW, 14.0], HIGH)]).drop(columns="calf")
    kept = filter_rows(table.reset_index(drop=True), condition="feed != 'grass'")["filtered"]
    assert kept["gain"].tolist().index(14.0) == 8
    assert "without row 9 of the table that is compared (hay, gain 14.0)" in said(kept, test="welch_t")[0]


@pytest.mark.parametrize("groups", [2, 3])
def test_the_step_ships_what_it_needs(groups, tmp_path):
    table = frame([*LOW, 14.0], HIGH)
    if groups == 3:
        table = pd.concat([table, frame(HIGH, LOW).assign(calf=lambda t: "x" + t["calf"], feed="grass")])
    _, _, issues = run_step(compare_groups, {"table": table}, {"value": "gain", "group": "feed"}, tmp_path)
    assert issues == []
