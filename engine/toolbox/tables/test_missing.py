"""Missing values against R's airquality and naniar's own test of Little's statistic, scipy, and counting by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from table_steps import check_issues, run_step

from engine.toolbox.tables.missing import dropout_rows, little_test, missing_cells, missing_values

# R's data set `airquality` (Chambers and others 1983), New York 1973-05-01 to 09-30: Ozone, Solar.R, Wind, Temp of 153 days.
AIR = """
41,190,7.4,67 36,118,8,72 12,149,12.6,74 18,313,11.5,62 ,,14.3,56 28,,14.9,66 23,299,8.6,65 19,99,13.8,59 8,19,20.1,61
,194,8.6,69 7,,6.9,74 16,256,9.7,69 11,290,9.2,66 14,274,10.9,68 18,65,13.2,58 14,334,11.5,64 34,307,12,66
6,78,18.4,57 30,322,11.5,68 11,44,9.7,62 1,8,9.7,59 11,320,16.6,73 4,25,9.7,61 32,92,12,61 ,66,16.6,57 ,266,14.9,58
,,8,57 23,13,12,67 45,252,14.9,81 115,223,5.7,79 37,279,7.4,76 ,286,8.6,78 ,287,9.7,74 ,242,16.1,67 ,186,9.2,84
,220,8.6,85 ,264,14.3,79 29,127,9.7,82 ,273,6.9,87 71,291,13.8,90 39,323,11.5,87 ,259,10.9,93 ,250,9.2,92 23,148,8,82
,332,13.8,80 ,322,11.5,79 21,191,14.9,77 37,284,20.7,72 20,37,9.2,65 12,120,11.5,73 13,137,10.3,76 ,150,6.3,77
,59,1.7,76 ,91,4.6,76 ,250,6.3,76 ,135,8,75 ,127,8,78 ,47,10.3,73 ,98,11.5,80 ,31,14.9,77 ,138,8,83 135,269,4.1,84
49,248,9.2,85 32,236,9.2,81 ,101,10.9,84 64,175,4.6,83 40,314,10.9,83 77,276,5.1,88 97,267,6.3,92 97,272,5.7,92
85,175,7.4,89 ,139,8.6,82 10,264,14.3,73 27,175,14.9,81 ,291,14.9,91 7,48,14.3,80 48,260,6.9,81 35,274,10.3,82
61,285,6.3,84 79,187,5.1,87 63,220,11.5,85 16,7,6.9,74 ,258,9.7,81 ,295,11.5,82 80,294,8.6,86 108,223,8,85
20,81,8.6,82 52,82,12,86 82,213,7.4,88 50,275,7.4,86 64,253,7.4,83 59,254,9.2,81 39,83,6.9,81 9,24,13.8,81
16,77,7.4,82 78,,6.9,86 35,,7.4,85 66,,4.6,87 122,255,4,89 89,229,10.3,90 110,207,8,90 ,222,8.6,92 ,137,11.5,86
44,192,11.5,86 28,273,11.5,82 65,157,9.7,80 ,64,11.5,79 22,71,10.3,77 59,51,6.3,79 23,115,7.4,76 31,244,10.9,78
44,190,10.3,78 21,259,15.5,77 9,36,14.3,72 ,255,12.6,75 45,212,9.7,79 168,238,3.4,81 73,215,8,86 ,153,5.7,88
76,203,9.7,97 118,225,2.3,94 84,237,6.3,96 85,188,6.3,94 96,167,6.9,91 78,197,5.1,92 73,183,2.8,93 91,189,4.6,93
47,95,7.4,87 32,92,15.5,84 20,252,10.9,80 23,220,10.3,78 21,230,10.9,75 24,259,9.7,73 44,236,14.9,81 21,259,15.5,76
28,238,6.3,77 9,24,10.9,71 13,112,11.5,71 46,237,6.9,78 18,224,13.8,67 13,27,10.3,76 24,238,10.3,68 16,201,8,82
13,238,12.6,64 23,14,9.2,71 36,139,10.3,81 7,49,10.3,69 14,20,16.6,63 30,193,6.9,70 ,145,13.2,77 14,191,14.3,75
18,131,8,76 20,223,11.5,68
"""


def air():
    rows = [[float(v) if v else np.nan for v in day.split(",")] for day in AIR.split()]
    table = pd.DataFrame(rows, columns=["Ozone", "Solar.R", "Wind", "Temp"])
    days = pd.date_range("1973-05-01", periods=153)
    return table.assign(Month=days.month, Day=days.day)


def test_littles_test_is_that_of_naniars_own_test():
    # naniar, tests/testthat/test-mcar-test.R: 35.1061288689702 on 14 df, p 0.00141778113856683, 4 patterns
    # (its EM stops at 1e-4, ours at 1e-9, hence the tolerance)
    found = little_test(air().astype(float))
    assert found["statistic"] == pytest.approx(35.10613, abs=2e-4)
    assert (found["df"], found["patterns"]) == (14, 4)
    assert found["p_value"] == pytest.approx(0.00141778, rel=1e-4)


def test_littles_statistic_does_not_depend_on_units_or_order():
    table = air().astype(float)
    other = (table * [2, 0.1, 5, 1, 3, 7] + 4).iloc[::-1, ::-1]
    assert little_test(other)["statistic"] == pytest.approx(little_test(table)["statistic"], rel=1e-6)
    assert little_test(table.dropna()) is None
    assert little_test(table[["Ozone"]]) is None


def test_counts_and_patterns_of_airquality_are_rs():
    # summary(airquality): NA's 37 of Ozone, 7 of Solar.R; mice::md.pattern(airquality): 111, 35, 5 and 2 rows
    result = missing_values(air())
    counts = result["missing_table"].set_index("column")["missing"]
    assert (counts["Ozone"], counts["Solar.R"], counts.sum()) == (37, 7, 44)
    assert result["patterns"]["rows"].tolist() == [111, 35, 5, 2]
    assert result["patterns"]["missing_columns"].tolist()[1:] == ["Ozone", "Solar.R", "Ozone + Solar.R"]
    assert result["pairs"].loc[0, "both_missing"] == 2
    assert result["pairs"].loc[0, "expected_by_chance"] == pytest.approx(37 * 7 / 153)
    assert "37 of 153 values (24.2 %)" in result["findings"][0]["text"]


def test_gaps_that_go_with_a_group_are_found_by_the_chi_square_of_counts():
    result = missing_values(air(), columns=["Ozone"], group="Month")
    row = result["associations"].set_index("tested").loc["Ozone by Month"]
    table = air()
    expected = stats.chi2_contingency(pd.crosstab(table["Month"], table["Ozone"].isna()), correction=False)
    assert row["p_value"] == pytest.approx(expected.pvalue)
    assert (row["highest_level"], row["highest_percent"]) == ("6", 70)
    june = result["by_group"].query("group == '6' and column == 'Ozone'").iloc[0]
    assert (june["rows"], june["missing"]) == (30, 21)


def test_gaps_against_a_number_are_the_rank_test():
    result = missing_values(air(), columns=["Ozone", "Temp"])
    row = result["associations"].iloc[0]
    gone = air()["Ozone"].isna()
    assert row["p_value"] == pytest.approx(stats.mannwhitneyu(air()["Temp"][gone], air()["Temp"][~gone]).pvalue)
    assert any("not shown to be missing where Temp" in finding["text"] for finding in result["findings"])


def test_words_and_lone_codes_are_missing_and_others_not():
    assert missing_cells(pd.Series(["1", "n.d.", " ", None, "?"]))[0].tolist() == [False, True, True, True, True]
    assert missing_cells(pd.Series([5.0, 7, -99, 6]))[0].tolist() == [False, False, True, False]
    assert not missing_cells(pd.Series([-12.0, -9, 3, 30]))[0].any()  # degrees
    assert not missing_cells(pd.Series([5.0, 7, -99, 6]), codes=False)[0].any()
    result = missing_values(pd.DataFrame({"crp": [5.0, 7, -99, 6], "x": [1, 2, 3, 4]}))
    assert result["missing_table"]["missing"].tolist() == [1, 0]
    assert "1 cells that read -99" in result["warnings"][0]


def test_dropout_tells_who_left_from_who_came_back():
    there = pd.DataFrame({"a": [1, 1, 1, 1], "b": [1, 1, 0, 1], "c": [1, 0, 1, 0]}).astype(bool)
    rows = dropout_rows(there)
    assert [row["present"] for row in rows] == [4, 3, 2]
    assert [row["left_for_good"] for row in rows] == [0, 0, 2]
    assert [row["missing_but_back_later"] for row in rows] == [0, 1, 0]


def test_dropout_is_the_same_from_wide_and_long_tables():
    wide = pd.DataFrame(
        {"id": list("pqrs"), "pain_0": [4.0, 5, 6, 3], "pain_4": [3.0, 5, 4, None], "pain_8": [2.0, 3, None, None]}
    )
    long = wide.melt("id", var_name="visit", value_name="pain").dropna()
    ours = missing_values(wide)["dropout"]
    other = missing_values(long, subject="id", occasion="visit")["dropout"]
    assert ours["present"].tolist() == other["present"].tolist() == [4, 3, 2]
    items = pd.DataFrame({f"item{n}": [1.0, 2, None if n == 3 else 4] for n in range(1, 5)})
    assert missing_values(items)["dropout"] is None  # questions of a questionnaire are no visits


def test_nothing_missing_is_said_and_gives_no_optional_tables():
    result = missing_values(pd.DataFrame({"a": [1, 2, 3], "b": list("xyz")}))
    assert "No value is missing" in result["findings"][0]["text"]
    assert all(result[name] is None for name in ("by_group", "pairs", "associations", "mcar_test", "dropout"))


@pytest.mark.parametrize(
    ("table", "params", "words"),
    [(pd.DataFrame({"a": [1]}), {}, "at least two"), (air(), {"columns": ["ozon"]}, "did you mean 'Ozone'"),
     (air()[["Month"]], {"group": "Month"}, "besides the grouping"),
     (pd.DataFrame({"g": range(99), "x": 1}), {"group": "g"}, "at most 60")],
)  # fmt: skip
def test_bad_input_gives_one_clear_sentence(table, params, words):
    with pytest.raises(ValueError, match=words):
        missing_values(table, **params)


@pytest.mark.parametrize("params", [{}, {"group": "Month"}, {"columns": ["Ozone", "Temp", "Wind"]}])
def test_step_runs_from_its_own_source_and_passes_its_checks(params, tmp_path):
    _, tables, issues = run_step(missing_values, {"table": air()}, params, tmp_path)
    assert issues == []
    assert (tables["associations"]["p_adj"] >= tables["associations"]["p_value"]).all()


def test_lost_values_are_caught(tmp_path):
    result = missing_values(air())
    tables = {"missing_table": result["missing_table"], "patterns": result["patterns"]}
    assert check_issues(["missing_counts_add_up"], tables, tmp_path) == []
    wrong = tables | {"missing_table": tables["missing_table"].assign(missing=0)}
    assert "missing_lost" in check_issues(["missing_counts_add_up"], wrong, tmp_path)


def test_a_plain_question_plans_the_gaps_of_the_column(tmp_path):
    path = tmp_path / "air.csv"
    air().to_csv(path, index=False)
    planner = the_planner()
    plan = planner.plan(
        "How many ozone values are missing, and is ozone blank mostly when temp is high?", profile_files([path])
    ).plan
    step = next(node for node in plan.nodes if node.tool == "missing_values")
    assert step.params["columns"] == ["Ozone", "Temp"]
