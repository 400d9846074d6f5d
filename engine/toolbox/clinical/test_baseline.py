"""Table 1 against R's tableone on the Mayo Clinic trial (its vignette), Yang and Dalton by hand, and scipy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from table_steps import check_issues, classic, run_step

from engine.toolbox.clinical.baseline import mean_smd, share_smd, table_one, told_measures


def people(n=60, seed=3):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "patient": [f"P{i}" for i in range(n)],
            "arm": ["drug", "placebo"] * (n // 2),
            "age": rng.normal(60, 10, n).round(1),
            "crp": rng.lognormal(1, 1.3, n).round(2),
            "sex": rng.choice(["f", "m"], n),
            "stage": rng.integers(1, 4, n),
            "smoker": rng.choice(["yes", "no"], n),
        }
    )


# R package tableone, vignette `introduction`: CreateTableOne(strata = "trt", data = pbc), print(smd = TRUE); the same
# differences are in the shares and counts that it prints.
VIGNETTE = {"time": 0.017, "status": 0.054, "age": 0.270, "sex": 0.111, "ascites": 0.089, "hepato": 0.207,
            "spiders": 0.016, "edema": 0.058, "bili": 0.171, "chol": 0.038, "albumin": 0.018, "stage": 0.246}  # fmt: skip


def test_mayo_trial_has_the_differences_of_rs_vignette():
    balance = table_one(classic("pbc.csv"), group="trt")["balance"].set_index("characteristic")["smd"]
    assert balance[list(VIGNETTE)].to_dict() == pytest.approx(VIGNETTE, abs=6e-4)


def test_mayo_trial_prints_as_in_rs_vignette():
    result = table_one(classic("pbc.csv"), group="trt", columns=["age", "hepato", "bili", "edema"])
    printed = result["table_one"].set_index("characteristic")
    assert list(printed.columns) == ["1 (n = 158)", "2 (n = 154)", "all (n = 312)", "SMD"]
    assert printed.loc["age, mean (SD)"].tolist()[:2] == ["51.4 (11.0)", "48.6 (9.96)"]
    assert printed.loc["hepato = 1, n (%)"].tolist()[:2] == ["73 (46.2)", "87 (56.5)"]
    assert printed.loc["    0.5"].tolist()[:2] == ["16 (10.1)", "13 (8.4)"]
    numbers = result["characteristics"].query("characteristic == 'bili' and group == '1'").iloc[0]
    assert numbers[["median", "q1", "q3"]].tolist() == pytest.approx([1.4, 0.8, 3.2])
    assert any("106 of 418 rows" in text for text in result["warnings"])


def test_counts_alone_give_the_published_differences():
    # The counts that the vignette prints: women 137 of 158 and 139 of 154; edema 132, 16, 10 and 131, 13, 10.
    assert share_smd([21, 137], [15, 139]) == pytest.approx(0.111, abs=5e-4)
    assert share_smd([132, 16, 10], [131, 13, 10]) == pytest.approx(0.058, abs=5e-4)
    p, q = 137 / 158, 139 / 154
    assert share_smd([21, 137], [15, 139]) == pytest.approx((q - p) / np.sqrt((p * (1 - p) + q * (1 - q)) / 2))


def test_difference_of_levels_does_not_depend_on_which_is_left_out():
    first, second = [10, 30, 5, 0], [20, 15, 12, 0]
    wanted = share_smd(first, second)
    assert share_smd(first[::-1], second[::-1]) == pytest.approx(wanted)
    assert share_smd(first[:3], second[:3]) == pytest.approx(wanted)  # a level that nobody has
    assert share_smd([10, 0], [0, 10]) != share_smd([10, 0], [0, 10])  # no level in common: no finite distance
    assert share_smd([5, 5], [10, 10]) == 0


def test_difference_of_means_is_free_of_units():
    first, second = np.array([1.0, 2, 4, 7]), np.array([2.0, 5, 6, 9])
    assert mean_smd(first, second) == pytest.approx(-2 / np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 2))
    assert mean_smd(100 * first + 3, 100 * second + 3) == pytest.approx(mean_smd(first, second))
    assert mean_smd(first[:1], second) != mean_smd(first[:1], second)


def test_order_of_rows_and_names_of_groups_change_nothing():
    table = people()
    wanted = table_one(table, group="arm")["balance"]["smd"]
    shuffled = table.sample(frac=1, random_state=1).assign(arm=lambda t: t["arm"].map({"drug": "z", "placebo": "a"}))
    again = table_one(shuffled.drop(columns="patient"), group="arm")["balance"]["smd"]
    assert again.tolist() == pytest.approx(wanted.tolist())


def test_columns_are_described_by_what_they_hold():
    result = table_one(people(), group="arm")
    kinds = result["balance"].set_index("characteristic")["type"].to_dict()
    assert kinds == {"age": "mean (SD)", "crp": "median [Q1, Q3]", "sex": "category", "stage": "category",
                     "smoker": "category"}  # fmt: skip
    assert any("patient (60 different texts)" in text for text in result["warnings"])
    assert any("All columns were described" in text for text in result["warnings"])
    assert "smoker = yes, n (%)" in result["table_one"]["characteristic"].tolist()
    means = table_one(people(), group="arm", numbers="mean", columns=["crp", "stage"], categories=["stage"])
    assert means["balance"]["type"].tolist() == ["mean (SD)", "category"]


def test_p_values_come_only_when_asked_for():
    table = people()
    assert "p_value" not in table_one(table, group="arm")["balance"]
    tested = table_one(table, group="arm", p_values=True)["balance"].set_index("characteristic")
    a, b = (table.loc[table["arm"] == arm] for arm in ("drug", "placebo"))
    assert tested.loc["age", "p_value"] == pytest.approx(stats.ttest_ind(a["age"], b["age"], equal_var=False).pvalue)
    assert tested.loc["crp", "p_value"] == pytest.approx(stats.mannwhitneyu(a["crp"], b["crp"]).pvalue)
    crossed = pd.crosstab(table["arm"], table["stage"])
    assert tested.loc["stage", "p_value"] == pytest.approx(stats.chi2_contingency(crossed, correction=False).pvalue)
    three = table.assign(arm=["a", "b", "c"] * 20)
    parts = [three.loc[three["arm"] == arm, "age"] for arm in "abc"]
    p = table_one(three, group="arm", p_values=True)["balance"].set_index("characteristic").loc["age", "p_value"]
    assert p == pytest.approx(stats.f_oneway(*parts, equal_var=False).pvalue)


def test_of_three_groups_the_pair_furthest_apart_counts():
    table = pd.DataFrame({"g": list("abc") * 10, "x": np.tile([0.0, 1.0, 5.0], 10) + np.repeat(np.arange(10), 3)})
    row = table_one(table, group="g")["balance"].iloc[0]
    assert row["pair"] == "c vs a"
    assert row["smd"] == pytest.approx(5 / np.arange(10).std(ddof=1))


def test_missing_values_are_counted_per_group():
    table = people()
    table.loc[[0, 2, 5], "age"] = None
    table.loc[7, "sex"] = " "
    result = table_one(table, group="arm", columns=["age", "sex"])
    printed = result["table_one"].set_index("characteristic")
    assert printed.loc["    age: missing, n"].tolist()[:3] == ["1", "2", "3"]
    assert any("age (3), sex (1)" in text for text in result["warnings"])


def test_no_group_describes_all_subjects():
    result = table_one(people())
    assert result["balance"] is None
    assert result["balance_plot"] is None
    assert list(result["table_one"].columns) == ["characteristic", "all (n = 60)"]


BAD = {
    "no rows": (people().iloc[:0], {"group": "arm"}, "no rows"),
    "unknown": (people(), {"group": "ars"}, "did you mean 'arm'"),
    "nothing left": (people()[["patient", "arm"]], {"group": "arm"}, "No column can be described"),
    "an id": (people(), {"group": "patient"}, "at most 10 groups"),
    "kind": (people(), {"group": "arm", "numbers": "mode"}, "auto, mean or median"),
    "called all": (people().assign(arm=["all", "some"] * 30), {"group": "arm"}, "rename it"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    table, params, words = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        table_one(table, **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


GAPS = people().assign(never=None, same=1, when=pd.Timestamp("2024-01-01")).replace({"sex": {"f": None}})
STEPS = {
    "two arms": (people(), {"group": "arm", "p_values": True}),
    "one group": (people().assign(arm="drug"), {"group": "arm"}),
    "no group": (people(), {}),
    "gaps": (GAPS, {"group": "arm", "p_values": True}),
    "numbers name the groups": (people().assign(arm=[0, 1] * 30), {"group": "arm", "numbers": "median"}),
    "tiny groups": (people(4), {"group": "arm", "p_values": True}),
}


@pytest.mark.parametrize("name", STEPS)
def test_step_runs_from_its_own_source_and_passes_its_checks(name, tmp_path):
    table, params = STEPS[name]
    record, _, issues = run_step(table_one, {"table": table}, params, tmp_path)
    assert issues == []
    assert not any(" nan" in finding["text"] for finding in record["findings"])


def test_lost_subjects_are_caught(tmp_path):
    frame = table_one(people(), group="arm")["characteristics"]
    checks = ["baseline_counts_add_up"]
    assert check_issues(checks, {"characteristics": frame}, tmp_path) == []
    wrong = frame.assign(count=frame["count"] + (frame["level"] == "m"))
    assert "baseline_counts" in check_issues(checks, {"characteristics": wrong}, tmp_path)
    wrong = frame.assign(missing=frame["missing"] + (frame["characteristic"] == "age"))
    assert "baseline_counts" in check_issues(checks, {"characteristics": wrong}, tmp_path)


@pytest.mark.parametrize(
    "question", ["Table 1 by arm: age, sex, smoker", "baseline characteristics of age, sex and smoker by arm"]
)
def test_a_plain_question_plans_it_with_its_columns(question, tmp_path):

    people().to_csv(tmp_path / "trial.csv", index=False)
    planner = the_planner()
    (step,) = planner.plan(question, profile_files([tmp_path / "trial.csv"])).plan.nodes
    assert step.tool == "table_one"
    assert step.params["group"] == "arm"
    assert step.params["columns"] == ["age", "sex", "smoker"]
    assert not step.params["p_values"]


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        ("mean (SD) age, BMI; median (IQR) crp and length of stay", {"age": "mean", "BMI": "mean", "crp": "median", "length_of_stay": "median"}),
        ("age as mean and crp as a median please, the rest as it is", {"age": "mean", "crp": "median"}),
        ("by ward, medians of crp, means of age", {"crp": "median", "age": "mean"}),
        ("nothing of the kind", {}),
    ],
)  # fmt: skip
def test_what_gets_a_mean_and_what_a_median_is_read_from_words(text, ways):
    assert told_measures(text, ["age", "BMI", "crp", "length_of_stay", "ward"]) == ways


def test_named_and_skewed_numbers_are_described_each_in_its_way(tmp_path):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"arm": ["a", "b"] * 40, "age": rng.normal(60, 9, 80), "height": rng.normal(170, 8, 80),
                          "crp": rng.lognormal(1, 1.2, 80)})  # fmt: skip
    record, tables, issues = run_step(
        table_one, {"table": table}, {"group": "arm", "each": "median age, mean height"}, tmp_path
    )
    assert not issues
    assert tables["table_one"]["characteristic"].tolist() == [
        "age, median [Q1, Q3]",
        "height, mean (SD)",
        "crp, median [Q1, Q3]",
    ]
    said = record["findings"][-1]["text"]
    assert "age (as asked)" in said
    assert "crp (skewed)" in said
    assert "mean (SD): height (as asked)" in said


def test_a_question_with_both_words_hands_them_over(tmp_path):
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"arm": rng.choice(["drug", "placebo"], 60), "age": rng.normal(50, 9, 60).round(1),
                          "ferritin": rng.lognormal(4, 1, 60).round(1)})  # fmt: skip
    table.to_csv(tmp_path / "trial.csv", index=False)
    question = "baseline table by arm, age as mean and ferritin as median"
    (step,) = the_planner().plan(question, profile_files([tmp_path / "trial.csv"])).plan.nodes
    assert step.tool == "table_one"
    assert told_measures(step.params["each"], ["age", "ferritin"]) == {"age": "mean", "ferritin": "median"}
