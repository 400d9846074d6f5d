"""How tables are shown: what decides comes first, p-values are whole, names are found, units are only said when known."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from engine.domain.findings import Finding, FindingValue
from engine.domain.results import Artifact
from pages.parts.tables import is_p, named_rows, number_columns, reading_order, show_frame, units_of
from pages.parts.words import p_text


def test_what_decides_stands_first():
    frame = pd.DataFrame(
        {
            "feature": ["a"], "base_mean": [9.0], "log2_fold_change": [1.0], "lfc_se": [0.1], "stat": [10.0],
            "p_value": [1e-9], "p_adj": [1e-8], "symbol": ["A"],
        }
    )  # fmt: skip
    found = reading_order(frame)
    assert found[:4] == ["feature", "log2_fold_change", "p_value", "p_adj"]
    assert sorted(found) == sorted(frame.columns)


def test_the_effect_is_the_one_its_interval_is_of():
    cox = pd.DataFrame(
        {"term": ["x"], "n": [90], "coef": [-0.34], "se": [0.1], "hazard_ratio": [0.71], "lower_95": [0.55],
         "upper_95": [0.91], "p_value": [0.007]}
    )  # fmt: skip
    assert reading_order(cox)[:5] == ["term", "hazard_ratio", "p_value", "lower_95", "upper_95"]
    odd = pd.DataFrame({"group": ["x"], "n": [4.0], "tau": [2.0], "lower_95": [1.5], "upper_95": [2.5]})
    assert reading_order(odd)[:4] == ["group", "tau", "lower_95", "upper_95"]


def test_data_without_a_result_stays_as_it_is():
    data = pd.DataFrame({"mass": [1.0], "name": ["a"], "estimate": [3]})
    assert reading_order(data) == ["mass", "name", "estimate"]
    pressure = pd.DataFrame({"name": ["a", "b"], "p": [101.3, 99.8], "t": [20, 21]})
    assert not is_p("p", pressure["p"])
    assert reading_order(pressure) == ["name", "p", "t"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "< 1e-300"), (5e-324, "< 1e-300"), (1.23e-8, "1.2e-8"), (0.0496, "0.0496"), (0.05, "0.05"), (1.0, "1"),
     (math.nan, "n/a")],
)  # fmt: skip
def test_a_p_value_is_never_nothing(value, text):
    assert p_text(value) == text


def test_rows_are_found_by_parts_of_names_and_only_by_names():
    frame = pd.DataFrame({"symbol": ["DUSP1", "MAOA", "(x)", None], "p_value": [0.1, 0.2, 0.3, 0.4]})
    assert named_rows(frame, " dusp ,maoa,").symbol.tolist() == ["DUSP1", "MAOA"]
    assert named_rows(frame, "(X").symbol.tolist() == ["(x)"]
    assert named_rows(frame, "0.1").empty
    assert len(named_rows(frame, " , ")) == 4
    assert named_rows(pd.DataFrame({"n": [12, 3]}), "2").n.tolist() == [12]


def table(rows):
    return Artifact(name="t.csv", output="t", type="table", sha256="a" * 64, bytes=1, rows=rows)


def said(row, unit, name="median"):
    values = [FindingValue(name=name, value=1.0, unit=unit)]
    return Finding(id="f", node="n", text="", values=values, artifact="t.csv", row=row)


def test_a_unit_heads_a_column_only_when_every_row_has_it():
    days = [said({"g": "a"}, "days"), said({"g": "b"}, "days")]
    assert units_of(days, table(2)) == {"median": "days"}
    assert units_of(days, table(3)) == {}
    assert units_of([days[0], said({"g": "b"}, "weeks")], table(2)) == {}
    assert units_of([said({"g": "a"}, "")], table(1)) == {}
    columns = number_columns(pd.DataFrame({"median": [1.0], "n": [3]}), {"median": "days"})
    assert columns["median"]["label"] == "median (days)"
    assert columns["n"]["label"] is None


def test_small_numbers_beside_large_ones_are_not_cut_to_nothing():
    wide = number_columns(pd.DataFrame({"dose": [0.0003, 12000.0], "mass": [5700.0, 1200.0]}))
    assert wide["dose"]["type_config"]["format"] == "%.6g"
    assert wide["mass"]["type_config"]["format"] == "localized"


def test_texts_that_do_not_tell_rows_apart_stand_behind_the_numbers():
    pairs = pd.DataFrame(
        {"comparison": ["a minus b", "a minus c"], "test": ["Welch's t-test, Games-Howell adjusted"] * 2,
         "group_1": ["a", "a"], "group_2": ["b", "c"], "difference": [1.0, 2.0], "lower_95": [0.5, 1.5],
         "upper_95": [1.5, 2.5], "p_value": [0.01, 0.02]}
    )  # fmt: skip
    found = reading_order(pairs)
    assert found[:5] == ["comparison", "difference", "p_value", "lower_95", "upper_95"]
    assert sorted(found) == sorted(pairs.columns)
    by_group = pairs.rename(columns={"group_1": "site"}).assign(comparison="a minus b", test=["t" * 30, "u" * 30])
    assert reading_order(by_group)[:3] == ["comparison", "test", "difference"]  # the test tells its rows apart
    by_week = pd.DataFrame({"week": [0, 4], "difference": [1.0, 2.0], "p_value": [0.01, 0.02]})
    assert reading_order(by_week) == ["week", "difference", "p_value"]  # a number that names a row
    means = pd.DataFrame(
        {"factor": ["arm", "arm"], "level": [1, 2], "n": [55, 65], "mean": [46.3, 41.2], "lower_95": [43.8, 38.9],
         "upper_95": [48.7, 43.4]}
    )  # fmt: skip
    assert reading_order(means)[:3] == ["factor", "level", "mean"]
    assert reading_order(means.assign(level=1, n=60))[:2] == ["factor", "mean"]  # nothing tells its rows apart


def test_a_p_value_that_was_not_computed_is_sorted_behind_all_others(monkeypatch):
    shown = []
    monkeypatch.setattr("streamlit.dataframe", lambda data, **_: shown.append(data))
    frame = pd.DataFrame({"term": ["a", "b"], "estimate": [None, 2.0], "p_value": [math.nan, 0.2]})
    show_frame(frame, key="k", alt="t")
    assert shown[0].data["p_value"].tolist() == [math.inf, 0.2]
    assert ">n/a</td>" in shown[0].to_html()
    assert "inf" not in shown[0].to_html().lower()
    assert shown[0].data["estimate"].isna().tolist() == [True, False]
    assert frame["p_value"].isna().tolist() == [True, False]
