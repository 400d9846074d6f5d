"""Each subject's own slope against scipy's regression, and their comparison against Welch's tests of others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from table_steps import run_step

from engine.toolbox.statistics.mixed import mixed_model
from engine.toolbox.statistics.slopes import subject_slopes
from engine.toolbox.statistics.test_mixed import TEETH

# R's `Orange` (Draper & Smith 1998): circumference (mm) of five trees at seven ages (days).
AGES = [118, 484, 664, 1004, 1231, 1372, 1582]
GIRTHS = {"1": [30, 58, 87, 115, 120, 142, 145], "2": [33, 69, 111, 156, 172, 203, 203],
          "3": [30, 51, 75, 108, 115, 139, 140], "4": [32, 62, 112, 167, 179, 209, 214],
          "5": [30, 49, 81, 125, 142, 174, 177]}  # fmt: skip
ORANGE = pd.DataFrame(
    [(f"tree {tree}", age, girth) for tree, girths in GIRTHS.items() for age, girth in zip(AGES, girths, strict=True)],
    columns=["Tree", "age", "circumference"],
)


def own_slopes(data, subject="Subject", y="distance", x="age"):
    return {name: stats.linregress(part[x], part[y]) for name, part in data.groupby(subject)}


def test_orange_trees_have_scipys_lines(tmp_path):
    params = {"outcome": "circumference", "fixed": ["age"], "subject": "Tree"}
    _, tables, issues = run_step(mixed_model, {"table": ORANGE}, params, tmp_path)
    assert not issues
    slopes = tables["slopes"].set_index("subject")
    for tree, line in own_slopes(ORANGE, "Tree", "circumference").items():
        row = slopes.loc[tree]
        assert row[["intercept", "slope", "se", "r2"]].tolist() == pytest.approx(
            [line.intercept, line.slope, line.stderr, line.rvalue**2]
        )
    assert set(slopes["over"]) == {"age"}
    assert "group" not in slopes
    assert "slope_comparison" not in tables


def test_boys_and_girls_slopes_are_compared_by_welch(tmp_path):
    params = {"outcome": "distance", "fixed": ["Sex", "age"], "subject": "Subject", "interaction": True}
    record, tables, issues = run_step(mixed_model, {"table": TEETH}, params, tmp_path)
    assert not issues
    lines = own_slopes(TEETH)
    sex = TEETH.drop_duplicates("Subject").set_index("Subject")["Sex"]
    boys, girls = ([lines[name].slope for name in sex.index[sex == level]] for level in ("male", "female"))
    reference = stats.ttest_ind(boys, girls, equal_var=False)
    row = tables["slope_comparison"].iloc[0]
    assert (row["comparison"], row["n_1"], row["n_2"]) == ("male vs female", 16, 11)
    assert (row["statistic"], row["df"]) == pytest.approx((reference.statistic, reference.df))
    assert row["lower_95"] == pytest.approx(reference.confidence_interval().low)
    # Complete data: the difference of mean slopes is the model's interaction, 0.3048 (Pinheiro & Bates, fm2Orth)
    term = tables["coefficients"].set_index("term").loc["Sex[male vs female]:age", "estimate"]
    assert row["difference"] == pytest.approx(term, rel=1e-5)
    assert "distance rises in both: by 0.784 per unit of age in male (95 % CI " in record["findings"][0]["text"]
    assert "; 0.305 per unit of age faster in male than in female (95 % CI " in record["findings"][0]["text"]
    assert "interaction" in record["findings"][1]["text"]


@pytest.mark.slow
def test_three_groups_are_compared_by_welchs_anova_and_games_howell(tmp_path):
    from statsmodels.stats.oneway import anova_oneway

    children = {name: "abc"[i % 3] for i, name in enumerate(TEETH["Subject"].unique())}
    data = TEETH.assign(centre=TEETH["Subject"].map(children))
    params = {"outcome": "distance", "fixed": ["age", "centre"], "subject": "Subject"}
    record, tables, issues = run_step(mixed_model, {"table": data}, params, tmp_path)
    assert not issues
    lines = own_slopes(data)
    samples = [[lines[name].slope for name, centre in children.items() if centre == level] for level in "abc"]
    reference = anova_oneway(samples, use_var="unequal")
    row, *others = [row for _, row in tables["slope_comparison"].iterrows()]
    assert (row["statistic"], row["p_value"]) == pytest.approx((reference.statistic, reference.pvalue))
    games = stats.tukey_hsd(*samples, equal_var=False)
    assert {other["comparison"] for other in others} == {"b vs a", "c vs a", "c vs b"}
    found = {other["comparison"]: other["p_adj"] for other in others}
    assert found["c vs a"] == pytest.approx(games.pvalue[2, 0], rel=1e-4)
    assert any("is not shown to change at different rates by centre" in f["text"] for f in record["findings"])


def test_subjects_with_few_rows_say_so_by_what_is_missing():
    x, y = np.array([0, 1, 2, 0, 3, 5, 5, 1.0]), np.array([1, 3, 2, 4, 1, 2, 3, 7.0])
    rows = pd.DataFrame(subject_slopes(y, x, np.array(list("aaabbccd")), None)).set_index("subject")
    assert rows.loc["b", "slope"] == pytest.approx(-1)
    assert rows["slope"].isna().tolist() == [False, False, True, True]  # c has one time only, d one row
    assert rows["se"].isna().tolist() == [False, True, True, True]
    assert rows["n"].tolist() == [3, 2, 2, 1]


@pytest.mark.slow
def test_nothing_that_changes_within_subjects_gives_no_slopes():
    data = TEETH.assign(height=TEETH["Subject"].str[6:].astype(float))
    result = mixed_model(data, outcome="distance", fixed=["height", "Sex"], subject="Subject")
    assert result["slopes"] is None
    assert result["slope_comparison"] is None
    flat = TEETH.assign(
        distance=lambda d: d["age"] * 0.5 + d["Subject"].str[6:].astype(int) + (d["age"] % 4 == 0) * 0.1
    )
    same = mixed_model(flat, outcome="distance", fixed=["age", "Sex"], subject="Subject")
    assert same["slope_comparison"] is None  # every child has the same slope, so there is no spread to compare by
    assert same["slopes"]["slope"].nunique() >= 1


@pytest.mark.slow
def test_occasions_in_columns_have_slopes_over_their_numbers(tmp_path):
    wide = TEETH.pivot_table(index=["Subject", "Sex"], columns="age", values="distance", observed=True).reset_index()
    ages = [name for name in wide.columns if isinstance(name, (int, float))]
    wide = wide.rename(columns={age: f"distance year {age:g}" for age in ages})
    params = {"columns": [f"distance year {age:g}" for age in ages], "fixed": ["Sex"], "interaction": True}
    record, tables, issues = run_step(mixed_model, {"table": wide}, params, tmp_path)
    assert not issues
    long = {"outcome": "distance", "fixed": ["Sex", "age"], "subject": "Subject", "interaction": True}
    reference = run_step(mixed_model, {"table": TEETH}, long, tmp_path)[1]["slope_comparison"].iloc[0]
    row = tables["slope_comparison"].iloc[0]
    assert abs(row["difference"]) == pytest.approx(abs(reference["difference"]))
    assert row["p_value"] == pytest.approx(reference["p_value"])
    assert "distance rises" in record["findings"][0]["text"]
    assert " per year in" in record["findings"][0]["text"]
