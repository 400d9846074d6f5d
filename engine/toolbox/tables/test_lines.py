"""Lines over time against R's Orange and sleep data, counting by hand and scipy's intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from table_steps import check_issues, run_step

from engine.toolbox.tables.lines import calendar_order, line_plot

# R's data set `Orange` (Draper and Smith 1998): circumference (mm) of five trees at seven ages (days).
AGES = [118, 484, 664, 1004, 1231, 1372, 1582]
GIRTHS = [[30, 58, 87, 115, 120, 142, 145], [33, 69, 111, 156, 172, 203, 203], [30, 51, 75, 108, 115, 139, 140],
          [32, 62, 112, 167, 179, 209, 214], [30, 49, 81, 125, 142, 174, 177]]  # fmt: skip
ORANGE = pd.DataFrame(
    [(tree + 1, age, girth) for tree, row in enumerate(GIRTHS) for age, girth in zip(AGES, row, strict=True)],
    columns=["Tree", "age", "circumference"],
)
# R's data set `sleep` (Student 1908): extra hours of sleep of ten patients with two drugs.
SLEEP = pd.DataFrame({"extra": [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0, 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5,
                                1.6, 4.6, 3.4], "group": [1] * 10 + [2] * 10, "ID": [*range(1, 11)] * 2})  # fmt: skip
LONG = {"value": "circumference", "x": "age", "subject": "Tree"}


def test_means_of_the_orange_trees_and_their_intervals():
    table = line_plot(ORANGE, **LONG)["line_table"]
    for row, age in zip(table.itertuples(), AGES, strict=True):
        own = ORANGE.loc[ORANGE["age"] == age, "circumference"]
        low, high = stats.t.interval(0.95, 4, own.mean(), stats.sem(own))
        assert (row.at, row.n, row.mean) == (age, 5, pytest.approx(own.mean()))
        assert (row.lower_95, row.upper_95, row.sem) == pytest.approx((low, high, stats.sem(own)))


def test_change_of_two_paired_conditions_is_the_paired_t_of_rs_manual():
    # ?t.test on sleep, paired: mean difference 1.58, 95 percent interval 0.7001142 to 2.4598858
    result = line_plot(SLEEP, value="extra", x="group", subject="ID")
    row = result["change_table"].iloc[0]
    assert (row["change"], row["lower_95"], row["upper_95"]) == pytest.approx((1.58, 0.7001142, 2.4598858))
    assert (
        "rises from 0.750 at group 1 to 2.33 at 2 (change 1.58, 95 % CI 0.700 to 2.46" in result["findings"][0]["text"]
    )


def test_change_without_subjects_has_the_welch_interval_of_rs_manual():
    # ?t.test on sleep, unpaired (Welch): 95 percent interval -3.3654832 to 0.2054832 of group 1 minus group 2
    row = line_plot(SLEEP, value="extra", x="group")["change_table"].iloc[0]
    assert (row["lower_95"], row["upper_95"]) == pytest.approx((-0.2054832, 3.3654832))


def test_wide_and_long_form_draw_the_same_means():
    wide = pd.DataFrame(GIRTHS, columns=[f"age_{age}" for age in AGES]).assign(Tree=range(1, 6))
    ours = line_plot(wide, columns=[f"age_{age}" for age in AGES], subject="Tree")
    assert ours["line_table"]["mean"].tolist() == pytest.approx(
        line_plot(ORANGE, **LONG)["line_table"]["mean"].tolist()
    )
    assert ours["line_table"]["at"].tolist() == [f"age_{age}" for age in AGES]
    assert ours["findings"][0]["text"].startswith("Mean age rises")


def test_order_of_rows_and_scale_change_nothing_else():
    shuffled = ORANGE.sample(frac=1, random_state=2).assign(circumference=lambda t: 10 * t["circumference"])
    first, second = line_plot(ORANGE, **LONG)["line_table"], line_plot(shuffled, **LONG)["line_table"]
    assert (10 * first["mean"]).tolist() == pytest.approx(second["mean"].tolist())
    assert first["n"].tolist() == second["n"].tolist()


def test_rows_repeated_in_a_subject_are_averaged_before_the_interval():
    twice = pd.concat([ORANGE, ORANGE.assign(circumference=ORANGE["circumference"] + 2)])
    result = line_plot(twice, **LONG)
    assert result["line_table"]["n"].tolist() == [5] * 7
    assert result["line_table"]["mean"].tolist() == pytest.approx(
        [m + 1 for m in line_plot(ORANGE, **LONG)["line_table"]["mean"]]
    )
    assert any("averaged first" in text for text in result["warnings"])


def test_those_who_leave_are_said_and_do_not_enter_the_change():
    gone = ORANGE[~((ORANGE["Tree"].isin([2, 4])) & (ORANGE["age"] == 1582))]
    result = line_plot(gone, **LONG)
    row = result["change_table"].iloc[0]
    assert (row["n"], row["subjects_first"], row["subjects_last"]) == (3, 5, 3)
    assert row["change"] == pytest.approx(np.mean([145 - 30, 140 - 30, 177 - 30]))
    assert any("who is left" in text for text in result["warnings"])


def test_occasions_stand_in_the_order_of_time():
    assert calendar_order(["Apr", "Feb", "Jan", "Mar"]) == ["Jan", "Feb", "Mar", "Apr"]
    assert calendar_order(["post", "pre"]) == ["pre", "post"]
    table = pd.DataFrame({"visit": ["wk10", "wk2", "baseline"] * 4, "id": np.repeat(range(4), 3), "y": range(12)})
    assert line_plot(table, value="y", x="visit", subject="id")["line_table"]["at"].tolist() == [
        "baseline",
        "wk2",
        "wk10",
    ]
    dates = pd.DataFrame({"day": ["2024-03-01", "2024-01-01", "2024-02-01"], "y": [3, 1, 2]})
    assert line_plot(dates, value="y", x="day")["line_table"]["at"].tolist() == [
        "2024-01-01",
        "2024-02-01",
        "2024-03-01",
    ]


def test_groups_and_missing_values_are_counted():
    table = ORANGE.assign(site=np.where(ORANGE["Tree"] < 3, "north", "south"))
    table["circumference"] = table["circumference"].astype(float)
    table.loc[0, "circumference"] = np.nan
    result = line_plot(table, **LONG, group="site")
    assert set(result["change_table"]["group"]) == {"north", "south"}
    assert any("1 of 35 rows were left out" in text for text in result["warnings"])


BAD = {
    "no form": ({}, "Name one of these two forms"),
    "both forms": ({"value": "circumference", "x": "age", "columns": ["age", "Tree"]}, "Name one of these two forms"),
    "same twice": ({"value": "age", "x": "age"}, "serves twice"),
    "unknown": ({"value": "girth", "x": "age"}, "no column 'girth'"),
    "text measured": ({"value": "word", "x": "age"}, "not numbers"),
    "one point": ({"value": "circumference", "x": "same"}, "only one value"),
    "one column": ({"columns": ["age"]}, "at least two columns"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        line_plot(ORANGE.assign(word="a", same=1), **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("table", "params"),
    [(ORANGE, LONG | {"interval": "SEM"}), (SLEEP, {"value": "extra", "x": "group", "subject": "ID"}),
     (SLEEP, {"value": "extra", "x": "group", "show": "subjects"}),
     (ORANGE[ORANGE["Tree"] == 1], {"value": "circumference", "x": "age", "log": "both"}),
     (ORANGE, {"value": "circumference", "x": "age", "group": "Tree"})],
)  # fmt: skip
def test_step_runs_from_its_own_source_and_passes_its_checks(table, params, tmp_path):
    record, _, issues = run_step(line_plot, {"table": table}, params, tmp_path)
    assert issues == []
    assert not any("nan" in finding["text"].split() for finding in record["findings"])


def test_wrong_lines_are_caught(tmp_path):
    result = line_plot(ORANGE, **LONG)
    tables = {"line_table": result["line_table"], "change_table": result["change_table"]}
    checks = ["line_intervals_hold_means", "line_changes_match"]
    assert check_issues(checks, tables, tmp_path) == []
    wrong = tables | {"line_table": tables["line_table"].assign(upper_95=0.0)}
    assert check_issues(checks, wrong, tmp_path) == ["mean_outside_interval"]
    wrong = tables | {"change_table": tables["change_table"].assign(change=1.0)}
    assert check_issues(checks, wrong, tmp_path) == ["change_differs"]


def test_a_plain_question_plans_lines_of_the_trees(tmp_path):
    path = tmp_path / "trees.csv"
    ORANGE.assign(Tree=[f"tree{100 + t}" for t in ORANGE["Tree"]]).to_csv(path, index=False)
    planner = the_planner()
    plan = planner.plan("spaghetti plot of circumference by age", profile_files([path])).plan
    step = next(node for node in plan.nodes if node.tool == "line_plot")
    assert {key: step.params[key] for key in ("value", "x", "subject", "show")} == LONG | {"show": "both"}


def test_subjects_with_a_single_point_each_have_no_change_and_it_is_said(tmp_path):
    table = pd.DataFrame({"who": range(12), "day": [0, 1, 2] * 4, "x": [1.0, 2, 3, 2, 4, 3, 2, 5, 4, 6, 5, 4]})
    params = {"value": "x", "x": "day", "subject": "who"}
    record, tables, issues = run_step(line_plot, {"table": table}, params, tmp_path)
    assert not issues
    assert tables["change_table"]["change"].isna().all()
    assert "no change of x can be given" in record["findings"][0]["text"]
