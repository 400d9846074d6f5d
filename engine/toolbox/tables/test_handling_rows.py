"""Rows in order and levels summarised, against Python's own sorting, pandas and R's warpbreaks and women."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_steps import check_issues, run_step

from engine.toolbox.tables.handling import filter_rows

# R's data set `women` (The World Almanac and Book of Facts, 1975): height in inches, weight in pounds.
WOMEN = pd.DataFrame({"height": range(58, 73), "weight": [115, 117, 120, 123, 126, 129, 132, 135, 139, 142, 146, 150,
                                                          154, 159, 164]})  # fmt: skip
# R's data set `InsectSprays` (Beall 1942, Biometrika 32:243): insects left on plots after one of six sprays.
SPRAYS = {"A": [10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13], "B": [11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13],
          "C": [0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4], "D": [3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4],
          "E": [3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4], "F": [11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13]}  # fmt: skip
INSECTS = pd.DataFrame(
    [(spray, count) for spray, counts in SPRAYS.items() for count in counts], columns=["spray", "count"]
)
BIRDS = pd.DataFrame({"ring": ["a1", "b2", "c3", "d4", "e5"], "mass": [20.5, None, 31.0, 18.0, 31.0],
                      "caught": ["2021-05-01", "2019-12-31", "2020-02-02", None, "2022-01-15"],
                      "nest": ["n1", "n1", "n2", None, "n2"]})  # fmt: skip


def rings(**params) -> list[str]:
    return filter_rows(BIRDS, **params)["filtered"]["ring"].tolist()


def test_three_heaviest_and_lightest_women():
    heavy = filter_rows(WOMEN, sort_by="weight", top_n=3)["filtered"]
    assert heavy.values.tolist() == [[72, 164], [71, 159], [70, 154]]
    light = filter_rows(WOMEN, sort_by="weight", order="ascending", top_n=2)["filtered"]
    assert light["weight"].tolist() == [115, 117]


def test_condition_comes_before_the_order():
    result = filter_rows(WOMEN, condition="height < 62", sort_by="weight", top_n=2)
    assert result["filtered"]["weight"].tolist() == [123, 120]
    assert [finding["values"][0]["value"] for finding in result["findings"]] == [4, 2]


def test_rows_without_a_value_are_left_out_of_a_top_and_stand_last_otherwise():
    assert rings(sort_by="mass", top_n=4) == ["c3", "e5", "a1", "d4"]
    result = filter_rows(BIRDS, sort_by="mass")
    assert result["filtered"]["ring"].tolist() == ["c3", "e5", "a1", "d4", "b2"]
    assert "1 of 5 rows have no mass and stand last" in result["warnings"][0]


def test_ties_at_the_end_of_a_top_are_announced():
    result = filter_rows(BIRDS, sort_by="mass", top_n=1)
    assert result["filtered"]["ring"].tolist() == ["c3"]
    assert any("1 further rows have the same mass" in warning for warning in result["warnings"])
    assert not any("same mass" in warning for warning in filter_rows(BIRDS, sort_by="mass", top_n=2)["warnings"])


def test_more_rows_wanted_than_there_are():
    result = filter_rows(BIRDS, sort_by="mass", top_n=10)
    assert len(result["filtered"]) == 4
    assert any("Only 4 rows" in warning for warning in result["warnings"])


def test_dates_year_first_are_in_order_and_others_are_refused():
    assert rings(sort_by="caught", order="ascending", top_n=2) == ["b2", "c3"]
    with pytest.raises(ValueError, match="year first"):
        filter_rows(pd.DataFrame({"d": ["1/2/2020", "15/1/2019"]}), sort_by="d")


def test_numbers_written_as_text_are_ordered_as_numbers():
    table = pd.DataFrame({"x": ["9", "10", "100"], "y": ["b", "A", "c"]}, dtype=object)
    assert filter_rows(table, sort_by="x")["filtered"]["x"].tolist() == ["100", "10", "9"]
    assert filter_rows(table, sort_by="y", order="ascending")["filtered"]["y"].tolist() == ["A", "b", "c"]
    with pytest.raises(ValueError, match="not numbers"):
        filter_rows(pd.DataFrame({"x": ["9", "10", "n.d."]}), sort_by="x")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=1, max_size=20), st.integers(1, 8), st.booleans())
def test_top_rows_are_those_of_sorting_by_hand(values, top, rising):
    known = [value for value in values if value is not None]
    table = pd.DataFrame({"x": pd.Series(values, dtype="float64"), "row": range(len(values))})
    order = "ascending" if rising else "descending"
    if not known:
        with pytest.raises(ValueError, match="no values"):
            filter_rows(table, sort_by="x", order=order, top_n=top)
        return
    kept = filter_rows(table, sort_by="x", order=order, top_n=top)["filtered"]
    assert kept["x"].tolist() == sorted(known, reverse=not rising)[:top]
    assert all(values[row] == x for row, x in zip(kept["row"], kept["x"], strict=True))


def test_sprays_with_more_than_ten_insects_on_average():
    # means of InsectSprays in R: A 14.5, B 15.33, C 2.083, D 4.917, E 3.5, F 16.67
    result = filter_rows(INSECTS, condition="count > 10", by="spray", aggregate="mean", sort_by="count")
    table = result["filtered"]
    assert table["spray"].tolist() == ["F", "B", "A"]
    assert table["count"].tolist() == pytest.approx([16 + 2 / 3, 15 + 1 / 3, 14.5])
    assert table["rows"].tolist() == [12, 12, 12]
    assert "3 of 6 levels of spray, by their mean," in result["findings"][0]["text"]


@pytest.mark.parametrize(
    ("aggregate", "condition", "levels"),
    [("sum", "count >= 174", ["A", "B", "F"]), ("max", "count == 12", ["D"]), ("min", "count == 0", ["C"]),
     ("median", "count < 3", ["C"]), ("count", "rows == 12 and count == 12", list("ABCDEF"))],
)  # fmt: skip
def test_every_summary_is_that_of_the_level(aggregate, condition, levels):
    assert (
        filter_rows(INSECTS, condition=condition, by="spray", aggregate=aggregate)["filtered"]["spray"].tolist()
        == levels
    )


def test_rows_without_a_level_are_left_out_of_the_summary_and_counted():
    result = filter_rows(BIRDS, condition="mass > 20", by="nest", aggregate="mean")
    assert result["filtered"]["nest"].tolist() == ["n1", "n2"]
    assert result["filtered"]["mass"].tolist() == [20.5, 31.0]
    assert "1 of 5 rows have no nest" in result["warnings"][0]


def test_condition_on_what_has_no_summary_is_refused():
    with pytest.raises(ValueError, match="is no column"):
        filter_rows(BIRDS, condition="ring == 'a1'", by="nest", aggregate="mean")


@pytest.mark.parametrize(
    ("params", "words"),
    [({}, "at least one"), ({"top_n": 3, "condition": "mass > 1"}, "give sort_by"),
     ({"condition": "mass > 1", "aggregate": "mean"}, "give `by`"), ({"condition": "mass > 1", "by": "nest"}, "need to know how"),
     ({"sort_by": "wings"}, "wings"), ({"sort_by": "mass", "order": "down"}, "no order")],
)  # fmt: skip
def test_what_is_missing_is_said(params, words):
    with pytest.raises(ValueError, match=words):
        filter_rows(BIRDS, **params)


@pytest.mark.parametrize(
    ("table", "params"),
    [(BIRDS, {"sort_by": "mass", "top_n": 3}), (BIRDS, {"sort_by": "caught", "order": "ascending"}),
     (INSECTS, {"by": "spray", "aggregate": "mean", "condition": "count > 10", "sort_by": "count"})],
)  # fmt: skip
def test_step_runs_from_its_own_source_and_passes_its_checks(table, params, tmp_path):
    record, _, issues = run_step(filter_rows, {"table": table}, params, tmp_path)
    assert not issues
    assert record["findings"][-1]["text"].count("order from") == 1


def test_leaving_out_the_only_value_of_a_column_keeps_the_empty_ones_and_passes_its_check(tmp_path):
    birds = BIRDS.assign(note=[None, "lame", None, None, "lame"])
    params = {"condition": "(`note` not in ['lame'] or is_missing(`note`))"}
    assert filter_rows(birds, **params)["filtered"]["ring"].tolist() == ["a1", "c3", "d4"]
    record, _, issues = run_step(filter_rows, {"table": birds}, params, tmp_path)
    assert not issues
    assert "note is not lame" in record["findings"][0]["text"]


def test_rows_out_of_order_or_too_many_are_caught(tmp_path):
    checks, params = ("filtered_rows_in_order",), {"sort_by": "mass", "top_n": 3}
    good = filter_rows(BIRDS, **params)["filtered"]
    assert check_issues(checks, {"filtered": good}, tmp_path, params=params) == []
    assert check_issues(checks, {"filtered": good.iloc[::-1]}, tmp_path, params=params) == ["order_broken"]
    more = pd.concat([good, good.tail(1)])
    assert check_issues(checks, {"filtered": more}, tmp_path, params=params) == ["too_many_rows"]
