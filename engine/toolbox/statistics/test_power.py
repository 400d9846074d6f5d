"""Power and sample size against R's power.t.test, power.prop.test and pwr as documented, statsmodels, and Schoenfeld's formula."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from statsmodels.stats.power import FTestAnovaPower, TTestIndPower, TTestPower
from table_steps import check_issues, run_step

from engine.toolbox.statistics.power import power_sample_size
from engine.toolbox.statistics.sample_size import planned_power, smallest_effect, smallest_number

PILOT = pd.DataFrame({"diet": ["a", "b"] * 6, "gain": [10.0, 20, 12, 21, 11, 19, 9, 22, 8, 18, 10, 20]})


def test_two_means_match_power_t_test():
    # ?power.t.test: n = 20, delta = 1, sd = 1: power 0.8689528; power .90, delta 1: n 22.02110
    assert planned_power("two_means", 1, 20, 0.05) == pytest.approx(0.8689528, abs=1e-6)
    assert smallest_number("two_means", 1, 0.9, 0.05) == pytest.approx(22.02110, abs=5e-5)


def test_proportions_match_power_prop_test():
    # ?power.prop.test: n = 50, p1 = .50, p2 = .75: power 0.740; power .90: n = 76.7
    assert planned_power("proportions", (0.5, 0.75), 50, 0.05) == pytest.approx(0.740, abs=5e-4)
    assert smallest_number("proportions", (0.5, 0.75), 0.9, 0.05) == pytest.approx(76.7, abs=0.05)


def test_correlation_matches_pwr():
    # pwr.r.test: r = 0.3, n = 50: power 0.5715558; r = 0.3, power 0.8: n 84.07364
    assert planned_power("correlation", 0.3, 50, 0.05) == pytest.approx(0.5715558, abs=1e-6)
    assert smallest_number("correlation", 0.3, 0.8, 0.05) == pytest.approx(84.07364, abs=1e-4)


@pytest.mark.parametrize(("effect", "n", "alpha"), [(0.2, 60, 0.1), (0.5, 12, 0.05), (1.3, 5, 0.01), (-0.7, 20, 0.05)])
def test_t_tests_agree_with_statsmodels(effect, n, alpha):
    one = TTestPower().power(abs(effect), n, alpha)
    two = TTestIndPower().power(abs(effect), n, alpha)
    assert planned_power("paired", effect, n, alpha) == pytest.approx(one, abs=1e-6)
    assert planned_power("two_means", effect, n, alpha) == pytest.approx(two, abs=1e-6)


def test_several_groups_match_power_anova_test_and_statsmodels(tmp_path):
    # R's power.anova.test, its help's example as recalled: groups 4, between.var 1, within.var 3, power .80: n 11.92613,
    # where f^2 = (k - 1) / k * between / within; the independent check is statsmodels below
    assert smallest_number("anova", (0.5, 4), 0.8, 0.05) == pytest.approx(11.92613, abs=1e-4)
    for f, k, n in ((0.25, 5, 39), (0.4, 3, 12), (0.1, 2, 60)):
        other = FTestAnovaPower().power(f, n * k, 0.05, k_groups=k)
        assert planned_power("anova", (f, k), n, 0.05) == pytest.approx(other, abs=1e-6)
    # Two groups: f is d / 2
    assert planned_power("anova", (0.3, 2), 40, 0.05) == pytest.approx(planned_power("two_means", 0.6, 40, 0.05))
    record, tables, issues = run_step(
        power_sample_size, {"table": PILOT}, {"design": "anova", "effect_size": 0.5, "groups": 4}, tmp_path
    )
    assert not issues
    assert tables["plan"].loc[0, ["n", "total"]].tolist() == [12, 48]
    assert "a difference among 4 groups of f = 0.500" in record["findings"][0]["text"]
    found, k = smallest_effect("anova", 12, 0.8, 0.05, 4)
    assert planned_power("anova", (found, k), 12, 0.05) == pytest.approx(0.8)


@pytest.mark.parametrize(("margin", "shift", "n"), [(0.5, 0.0, 60), (0.4, 0.1, 110), (1.0, 0.0, 12)])
def test_equivalence_and_non_inferiority_have_the_power_of_simulated_trials(margin, shift, n):
    rng, runs, alpha = np.random.default_rng(6), 40_000, 0.05
    gap = rng.normal(shift, (2 / n) ** 0.5, runs)
    error = np.sqrt(rng.chisquare(2 * n - 2, runs) / (2 * n - 2) * 2 / n)
    limit = stats.t.isf(alpha, 2 * n - 2) * error
    slack = 4 * 0.5 / runs**0.5
    both = np.mean((gap - limit > -margin) & (gap + limit < margin))
    assert planned_power("equivalence", (margin, shift), n, alpha) == pytest.approx(both, abs=slack)
    assert planned_power("non_inferiority", (margin, shift), n, alpha) == pytest.approx(
        np.mean(gap + limit < margin), abs=slack
    )


def test_an_equivalence_trial_is_planned_from_margin_and_sd(tmp_path):
    record, tables, issues = run_step(power_sample_size, {"table": PILOT}, {"margin": 5.0, "sd": 10.0}, tmp_path)
    assert not issues
    row = tables["plan"].iloc[0]
    # Chow, Shao and Wang's normal formula, 2 (z_alpha + z_beta/2)^2 / (margin / SD)^2, lies just below
    normal = 2 * (stats.norm.ppf(0.95) + stats.norm.ppf(0.9)) ** 2 / 0.25
    assert normal <= row["n_exact"] <= normal + 1.5
    assert (row["design"], row["margin"]) == ("equivalence", 5.0)
    assert "to show two groups to be alike within 5.00 (SD 10.0)" in record["findings"][0]["text"]
    assert "alpha of each one-sided test" in record["findings"][0]["text"]
    apart = power_sample_size(margin=5, sd=10, difference=1)["plan"].iloc[0]
    assert apart["n"] > row["n"]
    one = power_sample_size(design="non_inferiority", margin=5, sd=10)["plan"].iloc[0]
    assert one["n_exact"] == pytest.approx(
        2 * (stats.norm.ppf(0.95) + stats.norm.ppf(0.8)) ** 2 / 0.25, abs=1
    )  # one-sided test of two means


def test_clusters_need_more_subjects_by_the_design_effect(tmp_path):
    params = {"difference": 5.0, "sd": 10.0, "cluster_size": 20.0, "icc": 0.05}
    record, tables, issues = run_step(power_sample_size, {"table": PILOT}, params, tmp_path)
    assert not issues
    row = tables["plan"].iloc[0]
    assert row["design_effect"] == pytest.approx(1 + 19 * 0.05)
    assert row["n"] == math.ceil(1.95 * smallest_number("two_means", 0.5, 0.8, 0.05))
    assert row["clusters_per_group"] == math.ceil(row["n"] / 20)
    assert any("clusters per group" in finding["text"] for finding in record["findings"])
    assert not any("taken to be independent" in text for text in record["warnings"])
    back = power_sample_size(**params, n=int(row["n"]))["plan"].iloc[0]
    assert back["power"] == pytest.approx(0.8, abs=5e-3)


def test_subjects_of_a_survival_study_are_not_its_events():
    all_of_them = power_sample_size(hazard_ratio=0.6, n_total=200, event_share=0.5)
    events = power_sample_size(hazard_ratio=0.6, n=100)
    assert all_of_them["plan"].loc[0, ["n", "total"]].tolist() == [100, 200]
    assert all_of_them["plan"].loc[0, "power"] == events["plan"].loc[0, "power"]
    assert any("number of events" in text for text in events["warnings"])
    assert any("best case" in text for text in power_sample_size(hazard_ratio=0.6, n_total=200)["warnings"])


def test_the_smallest_change_of_a_high_share_is_a_fall():
    share, other = smallest_effect("proportions", 40, 0.8, 0.05, 0.95)
    assert other < share
    assert planned_power("proportions", (share, other), 40, 0.05) == pytest.approx(0.8)


def test_events_are_schoenfelds():
    wanted = 4 * (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 / math.log(0.7) ** 2
    assert smallest_number("survival", 0.7, 0.8, 0.05) == pytest.approx(wanted)
    row = power_sample_size(hazard_ratio=0.7, event_share=0.4, dropout=0.1)["plan"].iloc[0]
    assert (row["n"], row["total"], row["enrol"]) == (247, 618, 687)


@pytest.mark.parametrize(
    ("design", "effect", "n"),
    [("two_means", 0.6, 20), ("paired", 0.5, 15), ("correlation", 0.4, 40), ("survival", 0.6, 120)],
)
def test_smallest_effect_has_the_power_it_was_asked_for(design, effect, n):
    power = planned_power(design, effect, n, 0.05)
    assert smallest_effect(design, n, power, 0.05) == pytest.approx(effect, rel=1e-5)
    _, other = smallest_effect("proportions", 80, 0.8, 0.05, 0.3)
    assert planned_power("proportions", (0.3, other), 80, 0.05) == pytest.approx(0.8)


def test_what_is_asked_follows_from_what_is_given():
    assert power_sample_size(difference=5, sd=10)["plan"].loc[0, ["asked", "n"]].tolist() == ["number", 64]
    short = power_sample_size(effect_size=1, n=15)
    assert "too few" in short["findings"][0]["text"]
    assert "17 subjects per group" in short["findings"][1]["text"]
    assert power_sample_size(n=12)["plan"].loc[0, "asked"] == "smallest effect"
    assert power_sample_size(n_total=18)["plan"].loc[0, "n"] == 9


def test_pilot_gives_the_spread_within_groups_and_nothing_else(tmp_path):
    params = {"measure": "gain", "group": "diet", "difference": 2.0}
    record, tables, issues = run_step(power_sample_size, {"table": PILOT}, params, tmp_path)
    assert not issues
    pooled = math.sqrt(PILOT.groupby("diet")["gain"].var().mean())
    assert tables["plan"].loc[0, "sd"] == pytest.approx(pooled)
    assert tables["plan"].loc[0, "n"] == math.ceil(smallest_number("two_means", 2 / pooled, 0.8, 0.05))
    assert any("taken from 12 values" in text for text in record["warnings"])
    change = power_sample_size(PILOT, measure="gain", group="diet", relative_change=0.2)["plan"].loc[0, "difference"]
    assert change == pytest.approx(0.2 * PILOT["gain"].mean())


@pytest.mark.parametrize("effect", [0.3, 0.8])
def test_scale_does_not_matter_and_power_rises_with_n(effect):
    rows = [power_sample_size(difference=effect * s, sd=s)["plan"].loc[0, "n"] for s in (0.01, 1, 300)]
    assert len(set(rows)) == 1
    powers = [planned_power("two_means", effect, n, 0.05) for n in range(3, 60)]
    assert np.all(np.diff(powers) > 0)


BAD = {
    "nothing": ({}, "name the effect that would matter"),
    "no sd": ({"difference": 5}, "without the spread"),
    "zero": ({"effect_size": 0}, "cannot be planned"),
    "same shares": ({"share_1": 0.3, "share_2": 0.3}, "two different ones"),
    "two designs": ({"effect_size": 0.3, "hazard_ratio": 0.5}, "several designs"),
    "no mean": ({"relative_change": 0.2}, "a percent of"),
    "no first share": ({"design": "proportions", "n": 50}, "first group"),
    "hr 1": ({"hazard_ratio": 1}, "cannot be planned"),
    "margin without sd": ({"margin": 2}, "without the spread"),
    "margin too small": ({"margin": 2, "sd": 5, "difference": 3}, "does not reach beyond"),
    "half a cluster": ({"effect_size": 0.5, "icc": 0.1}, "give cluster_size and icc"),
    "clusters of events": ({"hazard_ratio": 0.5, "icc": 0.1, "cluster_size": 5}, "not planned in clusters"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        power_sample_size(**params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_wrong_tables_are_caught(tmp_path):
    result = power_sample_size(effect_size=0.5)
    tables = {"plan": result["plan"], "curve": result["curve"]}
    checks = ["power_between_zero_and_one"]
    assert check_issues(checks, tables, tmp_path) == []
    assert check_issues(checks, tables | {"plan": result["plan"].assign(power=1.2)}, tmp_path) == ["power_range"]
    assert check_issues(checks, tables | {"plan": result["plan"].assign(n=6.5)}, tmp_path) == ["whole_subjects"]
    assert check_issues(checks, tables | {"curve": result["curve"].iloc[::-1]}, tmp_path) == ["power_falls"]


@pytest.mark.parametrize(
    ("question", "params"),
    [
        ("how many cows per group to see 2 litres difference, SD 4", {"difference": 2, "sd": 4}),
        ("sample size two proportions 20% vs 30%", {"share_1": 0.2, "share_2": 0.3, "design": "proportions"}),
        ("How many quadrats must I sample so that a correlation of 0.35 would be noticed with 90 % certainty?",
         {"correlation": 0.35, "power": 0.9}),
        ("power with 15 plots each, sd 0.8, diff 0.5?", {"n": 15, "sd": 0.8, "difference": 0.5}),
        ("How many cows do I need to see a 20 % drop in milk? The ethics committee wants a number",
         {"measure": "milk", "relative_change": 0.2}),
    ],
)  # fmt: skip
def test_a_plain_question_plans_it_with_its_numbers(question, params, tmp_path):
    path = tmp_path / "cows.csv"
    milk = np.random.default_rng(2).normal(25, 4, 40).round(1)
    pd.DataFrame({"cow": range(40), "feed": ["a", "b"] * 20, "milk": milk}).to_csv(path, index=False)
    planner = the_planner()
    node = planner.plan(question, profile_files([path])).plan.nodes[-1]
    assert node.tool == "power_sample_size"
    assert {key: node.params[key] for key in params} == params


@pytest.mark.parametrize(("n", "ratio"), [(20, 2.0), (45, 0.5), (12, 3.0)])
def test_two_unequal_groups_have_the_power_of_statsmodels(n, ratio):
    other = TTestIndPower().power(0.6, n, 0.05, ratio=ratio)
    assert planned_power("two_means", 0.6, n, 0.05, ratio) == pytest.approx(other, abs=1e-6)
    # a one-sided test of the margin is the one-sided t-test of a difference as large
    one_sided = TTestIndPower().power(0.6, n, 0.05, ratio=ratio, alternative="larger")
    assert planned_power("non_inferiority", (0.6, 0.0), n, 0.05, ratio) == pytest.approx(one_sided, abs=1e-6)


def test_a_case_control_study_with_more_controls_takes_the_size_of_the_hand_formula(tmp_path):
    params = {"share_1": 0.45, "share_2": 0.3, "allocation": 3.0, "power": 0.9}
    record, tables, issues = run_step(power_sample_size, {"table": PILOT}, params, tmp_path)
    assert not issues
    # Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions, unequal groups without correction
    middle = (0.45 + 3 * 0.3) / 4
    root = 1.959964 * (4 / 3 * middle * (1 - middle)) ** 0.5 + 1.281552 * (0.45 * 0.55 + 0.3 * 0.7 / 3) ** 0.5
    wanted = (root / 0.15) ** 2
    row = tables["plan"].iloc[0]
    assert row["n_exact"] == pytest.approx(wanted, rel=1e-5)
    assert (row["n"], row["n_second"]) == (math.ceil(wanted), math.ceil(3 * wanted))
    assert row["total"] == row["n"] + row["n_second"]
    assert "in the first group and" in record["findings"][0]["text"]


def test_events_of_an_unequal_trial_are_schoenfelds():
    z = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2
    assert smallest_number("survival", 0.7, 0.8, 0.05, 2.0) == pytest.approx(z / (math.log(0.7) ** 2 * 2 / 9))


def test_unequal_groups_are_refused_where_there_are_not_two():
    with pytest.raises(ValueError, match="two groups"):
        power_sample_size(correlation=0.4, allocation=2)
