"""Restricted means against survRM2's published example and lifelines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from table_steps import check_issues, classic, run_step

from engine.toolbox.survival.data import survival_curve
from engine.toolbox.survival.restricted import restricted_mean, restricted_mean_survival


def test_primary_biliary_cirrhosis_matches_survrm2():
    # survRM2's vignette, rmst2(time, status, arm, tau = 10): Mayo Clinic PBC trial, 312 patients, years
    trial = classic("pbc.csv").dropna(subset=["trt"])
    trial = trial.assign(years=trial["time"] / 365.25, arm=trial["trt"].map({1: "D-penicillamine", 2: "placebo"}))
    result = restricted_mean_survival(trial, time="years", event="status", event_value="2", group="arm", tau=10)
    means = result["means"].set_index("group")
    columns = ["rmst", "se", "lower_95", "upper_95"]
    assert means.loc["D-penicillamine", columns].tolist() == pytest.approx([7.146, 0.283, 6.592, 7.701], abs=6e-4)
    assert means.loc["placebo", columns].tolist() == pytest.approx([7.283, 0.295, 6.704, 7.863], abs=6e-4)
    row = result["comparison"].iloc[0]
    assert row["comparison"] == "D-penicillamine vs placebo"
    assert row[["difference", "lower_95", "upper_95"]].tolist() == pytest.approx([-0.137, -0.939, 0.665], abs=5e-4)
    assert row[["ratio", "ratio_lower_95", "ratio_upper_95"]].tolist() == pytest.approx([0.981, 0.878, 1.096], abs=5e-4)
    assert row["p_value"] == pytest.approx(0.738, abs=5e-4)
    assert "not shown to differ" in result["findings"][0]["text"]


def test_area_is_lifelines_and_the_plain_mean_without_censoring():
    from lifelines import KaplanMeierFitter
    from lifelines.utils import restricted_mean_survival_time

    rng = np.random.default_rng(2)
    times, events = rng.exponential(10, 80).round(1) + 0.1, rng.integers(0, 2, 80)
    mean, _ = restricted_mean(survival_curve(times, events, "log"), 12.0)
    assert mean == pytest.approx(restricted_mean_survival_time(KaplanMeierFitter().fit(times, events), t=12.0))
    mean, error = restricted_mean(survival_curve(times, np.ones(80), "log"), 12.0)
    capped = np.minimum(times, 12)
    assert mean == pytest.approx(capped.mean())
    assert error == pytest.approx(capped.std() / np.sqrt(80), rel=1e-9)


def flies(n=90, seed=4):
    rng = np.random.default_rng(seed)
    food = rng.choice(["sugar", "protein"], n)
    days = rng.exponential(np.where(food == "sugar", 30, 15)).round() + 1
    return pd.DataFrame({"days": days.clip(max=40), "dead": np.where(days <= 40, "yes", "no"), "food": food})


NAMES = {"time": "days", "event": "dead", "event_value": "yes", "group": "food"}


def test_groups_named_set_the_sign_and_scale_follows_the_unit():
    one = restricted_mean_survival(flies(), **NAMES, treated="sugar", control="protein", tau=40)["comparison"].iloc[0]
    two = restricted_mean_survival(flies(), **NAMES, treated="protein", control="sugar", tau=40)["comparison"].iloc[0]
    assert one["difference"] > 5
    assert two["difference"] == pytest.approx(-one["difference"])
    assert two["p_value"] == pytest.approx(one["p_value"])
    hours = flies().assign(hours=flies()["days"] * 24).drop(columns="days")
    named = NAMES | {"time": "hours"}
    three = restricted_mean_survival(hours, **named, treated="sugar", control="protein", tau=960)["comparison"].iloc[0]
    assert three["difference"] == pytest.approx(24 * one["difference"])
    assert three["ratio"] == pytest.approx(one["ratio"])
    mixed = restricted_mean_survival(flies().sample(frac=1, random_state=2), **NAMES, tau=40)["means"]
    pd.testing.assert_frame_equal(mixed, restricted_mean_survival(flies(), **NAMES, tau=40)["means"])


def test_tau_is_the_smallest_last_follow_up_where_none_is_named():
    table = flies()
    table.loc[table["food"] == "protein", "days"] = table["days"].clip(upper=33)
    result = restricted_mean_survival(table, **NAMES)
    assert result["means"]["tau"].tolist() == [33, 33]
    assert any("names no time" in text for text in result["warnings"])


def test_weeks_are_turned_into_the_days_of_the_column():
    result = restricted_mean_survival(flies(), **NAMES, tau=2, tau_unit="weeks")
    assert result["means"]["tau"].iloc[0] == 14
    assert any("2 weeks are 14 days" in text for text in result["warnings"])


def test_three_groups_are_compared_in_pairs_with_holms_adjustment():
    table = pd.concat([flies(), flies(60, 9).assign(food="yeast")])
    comparison = restricted_mean_survival(table, **NAMES, tau=30)["comparison"]
    assert len(comparison) == 3
    assert (comparison["p_adj"] >= comparison["p_value"]).all()
    assert restricted_mean_survival(table, time="days", event="dead", event_value="yes", tau=30)["comparison"] is None


def test_of_three_groups_the_test_of_all_comes_before_the_pairs():
    table = pd.concat([flies(), flies(60, 9).assign(food="yeast")])
    result = restricted_mean_survival(table, **NAMES, tau=30)
    means = result["means"].set_index("group")
    # the same hypothesis by contrasts against the first group: (C m)' (C V C')^-1 (C m)
    contrast = np.array([[1.0, -1, 0], [1, 0, -1]])
    apart = contrast @ means["rmst"].to_numpy()
    spread = contrast @ np.diag(means["se"] ** 2) @ contrast.T
    expected = stats.chi2.sf(apart @ np.linalg.solve(spread, apart), 2)
    first = result["findings"][0]
    assert {value["name"]: value["value"] for value in first["values"]}["p_value"] == pytest.approx(expected)
    assert f"longest with {means['rmst'].idxmax()} (" in first["text"]
    assert f"shortest with {means['rmst'].idxmin()} (" in first["text"]


BAD = {
    "too late": ({"tau": 60}, "nobody of"),
    "zero": ({"tau": 0}, "above 0"),
    "unknown group": ({"treated": "honey", "control": "sugar"}, "no level 'honey'"),
    "no group column": ({"group": "", "treated": "sugar"}, "no column of groups"),
    "event": ({"event_value": "eaten"}, "no level 'eaten'"),
    "time": ({"time": "food", "group": ""}, "not numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        restricted_mean_survival(flies(), **NAMES | params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("params", [{"group": ""}, {"tau": 30.0}])
def test_step_runs_from_its_own_source_and_passes_its_checks(params, tmp_path):
    record, _, issues = run_step(restricted_mean_survival, {"survival": flies()}, NAMES | params, tmp_path)
    assert issues == []
    assert "on average" in record["findings"][-1]["text"]


def test_wrong_means_and_differences_are_caught(tmp_path):
    result = restricted_mean_survival(flies(), **NAMES, tau=30)
    tables = {"means": result["means"], "comparison": result["comparison"]}
    name = ["restricted_means_consistent"]
    assert check_issues(name, tables, tmp_path) == []
    assert check_issues(name, tables | {"means": result["means"].assign(rmst=31.0)}, tmp_path)
    assert check_issues(name, tables | {"comparison": result["comparison"].assign(difference=99.0)}, tmp_path)


def test_a_plain_question_plans_it_with_the_right_columns(tmp_path):
    from plan_questions import profile_files, the_planner

    path = tmp_path / "flies.csv"
    flies().to_csv(path, index=False)
    planner = the_planner()
    question = "Restricted mean survival up to 30 days, protein vs sugar food"
    node = planner.plan(question, profile_files([path])).plan.nodes[-1]
    expected = {"time": "days", "event": "dead", "event_value": "yes", "group": "food", "treated": "protein",
                "control": "sugar", "tau": 30.0}  # fmt: skip
    assert node.tool == "restricted_mean_survival"
    assert {key: node.params[key] for key in expected} == expected
