"""Growth rates against R's SSlogis on a chick of ChickWeight, exact curves and formulas by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from scipy.optimize import curve_fit
from table_steps import check_issues, run_step

from engine.toolbox.pharmacology.growth import growth_rate

HOURS = np.arange(0, 24.5, 0.5)
# R datasets::ChickWeight, chick 1 (Crowder and Hand 1990)
CHICK = pd.DataFrame({"Time": [*range(0, 21, 2), 21], "weight": [42, 51, 59, 64, 76, 93, 106, 125, 149, 171, 199, 205]})


def plate(rates=((("wt", 0.9), 3), (("mut", 0.6), 3)), seed=1, noise=0.01):
    """Return a long plate: exponential growth after 3 h of lag up to a plateau of 1.2."""
    rng, rows = np.random.default_rng(seed), []
    for (strain, rate), n in rates:
        for i in range(n):
            mine = rate * (1 + rng.normal(0, 0.03))
            od = np.minimum(0.02 * np.exp(mine * np.maximum(HOURS - 3, 0)), 1.2) * np.exp(
                rng.normal(0, noise, len(HOURS))
            )
            rows += [(strain, f"{i + 1}", h, value) for h, value in zip(HOURS, od, strict=True)]
    return pd.DataFrame(rows, columns=["strain", "replicate", "hours", "OD600"])


LONG = {"time": "hours", "density": "OD600", "group": "strain", "well": "replicate"}


def test_the_first_sentence_says_rate_and_doubling_with_their_units():
    hours = np.arange(0, 9, 0.5)
    frame = pd.DataFrame({"hours": hours, "od": 0.01 * np.exp(0.3 * hours)})
    text = growth_rate(frame, time="hours", density="od")["findings"][0]["text"]
    assert text.startswith("The culture grows at a rate of 0.300 per hour (")
    assert f"doubling in {np.log(2) / 0.3:.2f} hours" in text


def test_logistic_curve_is_rs():
    # nls(weight ~ SSlogis(Time, Asym, xmid, scal)) of ?SSlogis: 937.02, 35.222, 11.405, r being 1 / scal; the standard
    # error is that of scipy's curve_fit with R's parameters
    result = growth_rate(CHICK, time="Time", density="weight", method="logistic")
    row = result["wells"].iloc[0]
    assert row["plateau"] == pytest.approx(937.03, abs=0.2)
    assert row["midpoint"] == pytest.approx(35.223, abs=5e-3)
    assert 1 / row["rate"] == pytest.approx(11.405, abs=1e-3)
    found, covariance = curve_fit(
        lambda t, a, x, s: a / (1 + np.exp((x - t) / s)), CHICK["Time"], CHICK["weight"], [400, 25, 10]
    )
    assert row["rate_se"] / row["rate"] == pytest.approx(covariance[2, 2] ** 0.5 / found[2], rel=1e-4)
    assert any("do not settle" in text for text in result["warnings"])


def test_an_exact_culture_gives_its_rate_lag_and_plateau():
    result = growth_rate(plate(((("wt", 0.9), 1),), noise=0.0).query("strain == 'wt'"), **LONG)
    row = result["wells"].iloc[0]
    table = plate(((("wt", 0.9), 1),), noise=0.0)
    steps = np.diff(np.log(table["OD600"].to_numpy())) / 0.5
    assert row["rate"] == pytest.approx(steps.max(), rel=1e-6)
    assert row["doubling_time"] == pytest.approx(np.log(2) / steps.max(), rel=1e-6)
    assert row["lag"] == pytest.approx(3, abs=1e-6)
    assert row["plateau"] == pytest.approx(1.2)


def test_a_dose_called_medium_is_no_blank():
    table = plate(((("low", 0.9), 3), (("medium", 0.7), 3), (("high", 0.5), 3)))
    result = growth_rate(table, **LONG)
    assert set(result["rates"]["group"]) == {"low", "medium", "high"}
    assert not any("Wells of medium" in text for text in result["warnings"])


def test_noise_near_the_medium_is_not_the_steepest_stretch():
    random = np.random.default_rng(4)
    od = np.minimum(0.001 * np.exp(0.5 * HOURS), 1.0) + random.normal(0, 0.004, len(HOURS))
    result = growth_rate(pd.DataFrame({"hours": HOURS, "od": od}), time="hours", density="od")
    assert result["wells"]["rate"].iloc[0] == pytest.approx(0.5, rel=0.08)
    assert result["wells"]["from"].iloc[0] >= 4
    assert any("within the noise" in text for text in result["warnings"])


def test_one_exponential_is_the_line_of_logs():
    table = plate(((("wt", 0.3), 1),), noise=0.05).query("hours >= 3 and OD600 < 1")
    row = growth_rate(table, time="hours", density="OD600", method="exponential")["wells"].iloc[0]
    line = stats.linregress(table["hours"], np.log(table["OD600"]))
    assert (row["rate"], row["rate_se"]) == (pytest.approx(line.slope), pytest.approx(line.stderr))


def test_groups_are_means_of_cultures_and_compared_by_welch():
    result = growth_rate(plate(), **LONG)
    wells = result["wells"]
    wt, mutant = (wells.loc[wells["group"] == name, "rate"] for name in ("wt", "mut"))
    row = result["rates"].set_index("group").loc["wt"]
    half = stats.t.ppf(0.975, 2) * wt.std() / 3**0.5
    assert (row["rate"], row["upper_95"]) == (pytest.approx(wt.mean()), pytest.approx(wt.mean() + half))
    test = result["comparisons"].iloc[0]
    assert test["comparison"] == "mut vs wt"
    assert test["p_value"] == pytest.approx(stats.ttest_ind(mutant, wt, equal_var=False).pvalue)
    assert "mut grows slower than wt" in result["findings"][0]["text"]


def test_of_three_groups_the_fastest_is_named_first():
    rates = [(("slow", 0.4), 4), (("middle", 0.6), 4), (("quick", 0.9), 4)]
    result = growth_rate(plate(rates), **LONG)
    first, wells = result["findings"][0], result["wells"]
    means = wells.groupby("group")["rate"].mean()
    assert first["text"].startswith("quick (")
    assert "and slow (" in first["text"]
    assert {v["name"]: v["value"] for v in first["values"]}["rate quick"] == pytest.approx(means["quick"])
    parts = [group["rate"] for _, group in wells.groupby("group")]
    welch = stats.f_oneway(*parts, equal_var=False).pvalue
    assert first["values"][-1]["value"] == pytest.approx(welch)
    assert "3 of 3 pairs" in first["text"]


def test_wide_and_long_plates_agree():
    table = plate()
    wide = (
        table.assign(name=table["strain"] + "_" + table["replicate"])
        .pivot(index="hours", columns="name", values="OD600")
        .reset_index()
    )
    columns = [name for name in wide.columns if name != "hours"]
    one = growth_rate(wide, time="hours", wells=columns)
    two = growth_rate(table, **LONG)
    assert one["rates"]["rate"].tolist() == pytest.approx(two["rates"]["rate"].tolist())
    assert one["rates"]["cultures"].tolist() == [3, 3]
    assert any("count as replicates" in text for text in one["warnings"])


def test_order_and_units_do_not_matter():
    table = plate()
    plain = growth_rate(table, **LONG)["rates"]
    other = table.sample(frac=1, random_state=2).assign(hours=lambda t: t["hours"] * 60, OD600=lambda t: t["OD600"] * 7)
    scaled = growth_rate(other, **LONG)["rates"].set_index("group").loc[plain["group"]]
    assert (scaled["rate"] * 60).tolist() == pytest.approx(plain["rate"].tolist())
    assert (scaled["lag"] / 60).tolist() == pytest.approx(plain["lag"].tolist())


def test_blank_gaps_and_single_cultures_are_said():
    table = plate(((("wt", 0.9), 1), (("mut", 0.5), 1)))
    table.loc[5, "OD600"] = np.nan
    table["OD600"] += 0.09
    table.loc[8, "OD600"] = 0.05
    result = growth_rate(table, **LONG, blank=0.09)
    said = " ".join(result["warnings"])
    assert "1 of 98 rows" in said
    assert "1 of 97 readings are not above 0 after the blank" in said
    assert "one culture has no replicate" in said
    assert result["comparisons"] is None
    found = growth_rate(plate(), time="hours", density="OD600", group="strain")
    assert any("replicate was taken" in text for text in found["warnings"])
    assert found["rates"]["cultures"].tolist() == [3, 3]
    averaged = growth_rate(plate().drop(columns="replicate"), time="hours", density="OD600", group="strain")
    assert any("averaged first" in text for text in averaged["warnings"])


def test_lags_and_plateaus_are_compared_over_cultures():
    table = plate()
    late = table["strain"] == "mut"
    noise = np.exp(np.random.default_rng(8).normal(0, 0.02, int(late.sum())))
    table.loc[late, "OD600"] = np.minimum(table.loc[late, "OD600"], 0.6) * noise
    result = growth_rate(table, **LONG)
    wells, tests = result["wells"], result["comparisons"].set_index("measure")
    for measure in ("rate", "lag", "plateau"):
        one, two = (wells.loc[wells["group"] == name, measure].dropna() for name in ("mut", "wt"))
        welch = stats.ttest_ind(one, two, equal_var=False)
        assert tests.loc[measure, "p_value"] == pytest.approx(welch.pvalue)
        assert tests.loc[measure, "lower_95"] == pytest.approx(welch.confidence_interval(0.95).low)
    assert any("mut ends at a lower density than wt" in finding["text"] for finding in result["findings"])
    row = result["rates"].set_index("group").loc["wt"]
    assert row["doubling_lower_95"] == pytest.approx(np.log(2) / row["upper_95"])
    assert row["doubling_lower_95"] < row["doubling_time"] < row["doubling_upper_95"]


def test_the_logistic_lag_is_where_the_tangent_reaches_zero():
    t = np.arange(0, 20, 0.5)
    table = pd.DataFrame({"hours": t, "OD600": 1.5 / (1 + np.exp(-0.8 * (t - 7)))})
    row = growth_rate(table, time="hours", density="OD600", method="logistic")["wells"].iloc[0]
    step = 1e-5  # the tangent at the midpoint, by differences
    slope = 1.5 * (1 / (1 + np.exp(-0.8 * step)) - 1 / (1 + np.exp(0.8 * step))) / (2 * step)
    assert row["lag"] == pytest.approx(7 - 0.75 / slope, rel=1e-5)


def test_wells_of_medium_are_taken_off_and_a_missing_blank_is_said():
    table = plate().assign(OD600=lambda t: t["OD600"] + 0.08)
    medium = table[(table["strain"] == "wt") & (table["replicate"] == "1")].assign(strain="blank", OD600=0.08)
    result = growth_rate(pd.concat([table, medium]), **LONG)
    given = growth_rate(table, **LONG, blank=0.08)
    assert result["rates"]["rate"].tolist() == pytest.approx(given["rates"]["rate"].tolist())
    assert "blank" not in result["rates"]["group"].tolist()
    only = growth_rate(
        pd.concat([table, medium]), **LONG, levels=["wt"]
    )  # the medium counts, though it is not asked for
    assert only["rates"]["rate"].tolist() == pytest.approx(result["rates"].query("group == 'wt'")["rate"].tolist())
    assert any("0.0800, was taken off" in text for text in result["warnings"])
    assert any("no blank was taken off" in text for text in growth_rate(table, **LONG)["warnings"])
    assert not any("no blank was taken off" in text for text in given["warnings"])


def test_cultures_that_do_not_grow_are_named():
    rng = np.random.default_rng(6)
    still = pd.DataFrame(
        {"strain": "dead", "replicate": "1", "hours": HOURS, "OD600": rng.normal(0.02, 0.001, len(HOURS))}
    )
    result = growth_rate(pd.concat([plate(), still]), **LONG)
    assert any("never doubled (dead, 1)" in text for text in result["warnings"])
    assert any("no clear line" in text for text in result["warnings"])


BAD = {
    "no density": ({"density": ""}, "one of these two forms"),
    "same": ({"density": "hours"}, "serves twice"),
    "words": ({"density": "strain", "group": ""}, "not numbers"),
    "method": ({"method": "spline"}, "no method"),
    "all below the blank": ({"blank": 9.0}, "No culture has"),
    "few": ({"points": 50}, "No culture has"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        growth_rate(plate(), **(LONG | params))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("method", ["steepest", "logistic", "exponential"])
def test_step_runs_from_its_own_source_and_passes_its_checks(method, tmp_path):
    record, tables, issues = run_step(growth_rate, {"table": plate()}, LONG | {"method": method}, tmp_path)
    assert issues == []
    assert not any("nan" in finding["text"].split() for finding in record["findings"])
    wrong = tables["wells"].assign(doubling_time=1.0)
    assert check_issues(["doubling_times_match"], {"wells": wrong}, tmp_path) == ["doubling_time_differs"]


def test_plain_questions_plan_it(tmp_path):

    planner = the_planner()
    plate().to_csv(tmp_path / "plate.csv", index=False)
    plan = planner.plan(
        "growth rate and lag of each strain from OD600 against hours", profile_files([tmp_path / "plate.csv"])
    ).plan
    (step,) = [node for node in plan.nodes if node.tool == "growth_rate"]
    assert [step.params.get(key) for key in ("time", "density", "group")] == ["hours", "OD600", "strain"]
