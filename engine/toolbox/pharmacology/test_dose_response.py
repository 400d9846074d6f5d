"""Dose-response against the R package drc (Ritz et al. 2015), Dobson's beetles and formulas by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from table_steps import check_issues, run_step

from engine.toolbox.pharmacology.dose_response import dose_response

# drc::ryegrass (Inderjit et al. 2002): root length of perennial ryegrass (cm) under ferulic acid (mM).
ROOT = """0: 7.58 8 8.328571429 7.25 7.375 7.9625; 0.94: 8.355555556 6.914285714 7.75; 1.88: 6.871428571 6.45
5.922222222; 3.75: 1.925 2.885714286 4.233333333; 7.5: 1.1875 0.857142857 1.057142857; 15: 0.6875 0.525 0.825;
30: 0.25 0.22 0.44"""
# Bliss (1935) as in Dobson, An Introduction to Generalized Linear Models: beetles killed by carbon disulphide.
BEETLES = pd.DataFrame(
    {
        "log10_dose": [1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839],
        "exposed": [59, 60, 62, 56, 63, 59, 62, 60],
        "killed": [6, 13, 18, 28, 52, 53, 61, 60],
    }
)


# drc::lettuce (van Ewijk and Hoekstra 1993): weight of lettuce (g) under isobutyl alcohol (mg/l)
LETTUCE = pd.DataFrame(
    {
        "conc": np.repeat([0, 0.32, 1, 3.2, 10, 32, 100], 2),
        "weight": [1.126, 0.833, 1.096, 1.106, 1.163, 1.336, 0.985, 0.754, 0.716, 0.683, 0.56, 0.488, 0.375, 0.344],
    }
)


def ryegrass():
    rows = [
        (float(dose), float(value))
        for part in ROOT.replace("\n", " ").split(";")
        for dose, values in [part.split(":")]
        for value in values.split()
    ]
    return pd.DataFrame(rows, columns=["conc", "rootl"])


def level_row(result, percent, curve="all"):
    table = result["doses"]
    return table[(table["curve"] == curve) & (table["percent"] == percent)].iloc[0]


def test_ryegrass_has_drcs_parameters():
    # summary(drm(rootl ~ conc, fct = LL.4())): b 2.98222, c 0.48141, d 7.79296, e 3.05795; residual SE 0.5196 on 20 df
    result = dose_response(ryegrass(), dose="conc", response="rootl")
    row = result["curves"].iloc[0]
    assert row["slope"] == pytest.approx(2.98222, abs=2e-5)
    assert row["at_full_effect"] == pytest.approx(0.48141, abs=2e-5)
    assert row["without_dose"] == pytest.approx(7.79296, abs=2e-5)
    assert (row["residual_sd"], row["df"]) == (pytest.approx(0.5196, abs=5e-5), 20)
    assert row["p_lack_of_fit"] == pytest.approx(0.8665, abs=1e-4)  # modelFit(): F = 0.2411, p = 0.8665
    half = level_row(result, 50)
    assert half["dose"] == pytest.approx(3.05795, abs=2e-5)
    assert half["se"] == pytest.approx(0.18573, rel=2e-3)  # drc takes the observed, this the expected information
    assert level_row(result, 10)["dose"] == pytest.approx(1.46371, abs=2e-5)  # ED(): e:1:10
    assert level_row(result, 90)["dose"] == pytest.approx(6.38864, abs=5e-5)
    assert "falls" in result["findings"][0]["text"]
    assert result["warnings"] == []


def test_interval_is_that_of_the_delta_method_on_the_log():
    half = level_row(dose_response(ryegrass(), dose="conc", response="rootl"), 50)
    width = 2.0859634 * half["se"] / half["dose"]  # t of 20 degrees of freedom
    assert np.log(half["upper_95"] / half["dose"]) == pytest.approx(width, rel=1e-6)
    assert np.log(half["dose"] / half["lower_95"]) == pytest.approx(width, rel=1e-6)


def test_three_parameters_are_drcs():
    # summary(drm(rootl ~ conc, fct = LL.3())): b 2.47033, d 7.85543, e 3.26336; residual SE 0.5615802 on 21 df
    result = dose_response(ryegrass(), dose="conc", response="rootl", three_parameters=True)
    row = result["curves"].iloc[0]
    assert (row["slope"], row["without_dose"]) == pytest.approx((2.47033, 7.85543), abs=2e-5)
    assert (row["at_full_effect"], row["residual_sd"]) == pytest.approx((0, 0.5615802), abs=1e-6)
    assert level_row(result, 50)["dose"] == pytest.approx(3.26336, abs=2e-5)


def test_beetles_have_dobsons_line():
    # Dobson, table 7.2 ff.: logit = -60.72 + 34.27 log10 dose, standard error 2.91, deviance 11.23 on 6 df
    result = dose_response(BEETLES, dose="log10_dose", events="killed", total="exposed")
    row, half = result["curves"].iloc[0], level_row(result, 50)
    assert row["slope"] * np.log(10) == pytest.approx(34.27, abs=5e-3)
    assert row["slope_se"] * np.log(10) == pytest.approx(2.91, abs=5e-3)
    assert np.log10(half["dose"]) == pytest.approx(60.717 / 34.270, abs=1e-4)
    assert any("log10" in text for text in result["warnings"])
    # the same animals a row each
    rows = [(x, ok) for x, n, k in BEETLES.to_numpy() for ok in ["yes"] * int(k) + ["no"] * int(n - k)]
    single = dose_response(pd.DataFrame(rows, columns=["log10_dose", "dead"]), dose="log10_dose", response="dead")
    again = level_row(single, 50)
    assert again[["dose", "lower_95", "upper_95"]].tolist() == pytest.approx(
        half[["dose", "lower_95", "upper_95"]].tolist(), rel=1e-6
    )
    alive = BEETLES.assign(killed=BEETLES["exposed"] - BEETLES["killed"])
    assert level_row(dose_response(alive, dose="log10_dose", events="killed", total="exposed"), 50)["dose"] == (
        pytest.approx(half["dose"], rel=1e-6)
    )


def test_control_mortality_is_estimated_and_counts_that_scatter_widen():
    x, n = np.array([0, 1, 2, 4, 8, 16]), 100000
    share = 0.1 + 0.9 * np.array([0, *(1 / (1 + (3 / x[1:]) ** 2))])
    table = pd.DataFrame({"dose": x, "dead": np.round(share * n), "n": n})
    result = dose_response(table, dose="dose", events="dead", total="n", term="LD")
    assert level_row(result, 50)["dose"] == pytest.approx(3, rel=2e-3)
    assert result["curves"].loc[0, "without_dose"] == pytest.approx(0.1, rel=2e-2)
    assert any("Abbott" in text for text in result["warnings"])
    wild = pd.DataFrame({"dose": [1, 2, 4, 8, 16, 32], "dead": [2, 30, 10, 40, 20, 48], "n": 50})
    rough = dose_response(wild, dose="dose", events="dead", total="n")
    assert any("heterogeneity" in text for text in rough["warnings"])


def test_a_response_is_turned_into_its_dose():
    result = dose_response(ryegrass(), dose="conc", response="rootl", at_response=2.0)
    row = result["doses"].set_index("effect").loc["response 2"]
    curve = result["curves"].iloc[0]
    c, d, b = curve["at_full_effect"], curve["without_dose"], curve["slope"]
    e = level_row(result, 50)["dose"]
    assert c + (d - c) / (1 + (row["dose"] / e) ** b) == pytest.approx(2.0)
    never = dose_response(ryegrass(), dose="conc", response="rootl", at_response=99.0)
    assert any("never reaches" in text for text in never["warnings"])


def test_rows_units_and_names_do_not_matter():
    table = ryegrass()
    plain = level_row(dose_response(table, dose="conc", response="rootl"), 50)
    mixed = level_row(dose_response(table.sample(frac=1, random_state=3), dose="conc", response="rootl"), 50)
    assert mixed["dose"] == pytest.approx(plain["dose"], rel=1e-6)
    scaled = dose_response(
        table.assign(conc=table["conc"] * 1e-6, rootl=100 - table["rootl"] * 10), dose="conc", response="rootl"
    )
    assert level_row(scaled, 50)["dose"] * 1e6 == pytest.approx(plain["dose"], rel=1e-5)
    assert level_row(scaled, 50)["upper_95"] * 1e6 == pytest.approx(plain["upper_95"], rel=1e-4)
    logs = table[table["conc"] > 0].assign(logdose=lambda t: np.log10(t["conc"]) - 6)
    both = dose_response(logs, dose="logdose", response="rootl"), dose_response(logs, dose="conc", response="rootl")
    assert level_row(both[0], 50)["dose"] * 1e6 == pytest.approx(level_row(both[1], 50)["dose"], rel=1e-5)


def test_groups_have_curves_of_their_own_and_mixing_them_is_said():
    table = ryegrass()
    two = pd.concat([table.assign(biotype="wild"), table.assign(conc=table["conc"] * 4, biotype="resistant")])
    result = dose_response(two, dose="conc", response="rootl", group="biotype")
    ratio = level_row(result, 50, "resistant")["dose"] / level_row(result, 50, "wild")["dose"]
    assert ratio == pytest.approx(4, rel=1e-5)
    mixed = dose_response(two, dose="conc", response="rootl")
    assert any("by biotype" in text for text in mixed["warnings"])


def test_what_is_not_settled_is_said():
    table = ryegrass()
    low = dose_response(table[table["conc"] < 4], dose="conc", response="rootl")
    assert any("settle" in text or "extrapolated" in text for text in low["warnings"])
    rng = np.random.default_rng(4)
    flat = pd.DataFrame({"dose": np.repeat([0, 1, 3, 10, 30, 100], 4), "y": rng.normal(10, 1, 24)})
    assert any("no effect" in text for text in dose_response(flat, dose="dose", response="y")["warnings"])


def test_missing_values_are_counted():
    table = ryegrass()
    table.loc[[3, 9], "rootl"] = np.nan
    result = dose_response(table, dose="conc", response="rootl")
    assert any("2 of 24 rows" in text for text in result["warnings"])


# ==== stimulation by small doses ====


def test_lettuce_has_drcs_hormesis():
    # drc's manual page of BC.4: b 1.282812, d 0.967302, residual standard error 0.1117922 on 10 df, ED50 35.023 with
    # standard error 15.427 (its optimiser stops at 1e-4 of the parameters; errors there by the observed information)
    result = dose_response(LETTUCE, dose="conc", response="weight", model="brain_cousens", three_parameters=True)
    row, half = result["curves"].iloc[0], level_row(result, 50)
    assert (row["slope"], row["without_dose"]) == pytest.approx((1.282812, 0.967302), rel=2e-4)
    assert row["residual_sd"] == pytest.approx(0.1117922, abs=1e-7)
    assert row["df"] == 10
    assert half["dose"] == pytest.approx(35.023, rel=1e-3)
    assert half["se"] == pytest.approx(15.427, rel=0.05)
    # modelFit() of BC.5 there: RSS 0.118842 on 9 df, lack of fit p = 0.3527
    five = dose_response(LETTUCE, dose="conc", response="weight", model="brain_cousens")["curves"].iloc[0]
    assert five["residual_sd"] ** 2 * 9 == pytest.approx(0.118842, abs=1e-6)
    assert five["p_lack_of_fit"] == pytest.approx(0.3527, abs=1e-4)
    # summary() of BC.5 on ryegrass: b 2.75688, c 0.41515, d 7.74173, residual standard error 0.528689 on 19 df
    grass = dose_response(ryegrass(), dose="conc", response="rootl", model="brain_cousens")["curves"].iloc[0]
    found = (grass["slope"], grass["at_full_effect"], grass["without_dose"])
    assert found == pytest.approx((2.75688, 0.41515, 7.74173), rel=2e-5)
    assert (grass["residual_sd"], grass["df"]) == (pytest.approx(0.528689, abs=1e-6), 19)


def test_the_hump_is_that_of_the_curve():
    # top and return to the control by a grid over the fitted curve, in drc's own parameters
    result = dose_response(LETTUCE, dose="conc", response="weight", model="brain_cousens", three_parameters=True)
    row = result["curves"].iloc[0]
    x = np.geomspace(1e-3, 1e3, 400001)
    y = (0.967177 + 1.624528 * x) / (1 + (x / 0.845934) ** 1.282718)
    assert row["peak_dose"] == pytest.approx(x[y.argmax()], rel=1e-3)
    assert row["peak_response"] == pytest.approx(y.max(), rel=1e-4)
    assert row["stimulation_percent"] == pytest.approx(100 * (y.max() / 0.967177 - 1), rel=1e-3)
    behind = x > row["peak_dose"]
    assert row["back_to_control"] == pytest.approx(x[behind][np.abs(y[behind] - 0.967177).argmin()], rel=1e-3)
    assert "Small doses stimulate" in result["findings"][-1]["text"]
    f = (0.2422227693308703 - 0.1117921**2 * 10) / 0.1117921**2  # residual sum of squares of the plain curve
    plain = dose_response(LETTUCE, dose="conc", response="weight", three_parameters=True)["curves"].iloc[0]
    assert plain["residual_sd"] ** 2 * 11 == pytest.approx(0.2422227693308703, rel=1e-6)
    assert row["p_hormesis"] == pytest.approx(stats.f.sf(f, 1, 10), rel=1e-3)


def test_a_clear_hump_is_told_and_none_is_made_up():
    rng = np.random.default_rng(2)
    x = np.repeat([0, 0.1, 0.3, 1, 3, 10, 30, 100], 4)
    y = (10 + 8 * x) / (1 + (x / 4) ** 3) + rng.normal(0, 0.3, len(x))
    table = pd.DataFrame({"dose": x, "y": y, "loss": 100 - 10 * y})
    for response in ("y", "loss"):
        result = dose_response(table, dose="dose", response=response)
        assert any("hormesis" in text for text in result["warnings"])
        assert result["curves"].loc[0, "model"] == "log-logistic"
    humped = dose_response(table, dose="dose", response="y", model="brain_cousens")
    half = level_row(humped, 50)
    assert half["dose"] > humped["curves"].loc[0, "peak_dose"]
    end = humped["curves"].loc[0, "at_full_effect"]
    assert (half["response"] - end) == pytest.approx((humped["curves"].loc[0, "without_dose"] - end) / 2)
    assert not any("hormesis" in text for text in dose_response(ryegrass(), dose="conc", response="rootl")["warnings"])


def test_several_levels_are_each_told():
    result = dose_response(ryegrass(), dose="conc", response="rootl", level=5.0, second_level=50.0, third_level=95.0)
    texts = [finding["text"] for finding in result["findings"]]
    assert [part in text for part, text in zip(("EC5)", "EC50)", "EC95)"), texts, strict=True)] == [True] * 3
    curve, half = result["curves"].iloc[0], level_row(result, 50)["dose"]
    assert level_row(result, 95)["dose"] == pytest.approx(half * 19 ** (1 / curve["slope"]), rel=1e-6)


def test_a_dose_that_was_not_tested_is_no_proud_number():
    rng = np.random.default_rng(5)
    x = np.repeat([0, 1, 2, 4, 8], 4)
    far = pd.DataFrame({"dose": x, "y": 10 / (1 + (x / 30) ** 1.5) + rng.normal(0, 0.1, 20)})
    result = dose_response(far, dose="dose", response="y", lower=0.0, term="IC")
    assert result["findings"][0]["text"].startswith("No dose tested (dose 1.00 to 8.00) is as high as that")
    assert any("plateau is not reached" in text for text in result["warnings"]) is False  # the limit is held
    assert "above" in level_row(result, 50)["tested"]
    free = dose_response(far, dose="dose", response="y")
    assert any("settle" in text or "plateau is not reached" in text for text in free["warnings"])
    flat = pd.DataFrame({"dose": np.repeat([0, 1, 3, 10, 30, 100], 4), "y": rng.normal(10, 1, 24)})
    assert dose_response(flat, dose="dose", response="y")["findings"][0]["text"].startswith("No effect of dose")


BAD = {
    "hormesis of few doses": ({"dose": "four", "model": "brain_cousens"}, "the Brain-Cousens curve"),
    "no response": ({"response": ""}, "one of these two forms"),
    "same column": ({"response": "conc"}, "serves twice"),
    "words": ({"response": "word"}, "not numbers"),
    "constant": ({"response": "flat"}, "no effect"),
    "negative": ({"dose": "below", "dose_scale": "plain"}, "below zero"),
    "two doses": ({"dose": "few"}, "different doses"),
    "limits": ({"lower": 5.0, "upper": 1.0}, "not below"),
    "absent": ({"dose": "concc"}, "did you mean 'conc'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    table = ryegrass().assign(flat=1.0, below=lambda t: t["conc"] - 1, few=lambda t: (t["conc"] > 1) * 1.0)
    table["word"] = [f"w{n}" for n in range(len(table))]
    table["four"] = table["conc"].clip(upper=3.75)
    with pytest.raises(ValueError, match=r".") as error:
        dose_response(table, **({"dose": "conc", "response": "rootl"} | params))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_counts_that_are_all_or_nothing_are_refused():
    table = pd.DataFrame({"dose": [1, 2, 4, 8], "dead": [0, 0, 20, 20], "n": 20})
    with pytest.raises(ValueError, match="some but not all"):
        dose_response(table, dose="dose", events="dead", total="n")


def test_hormesis_of_counts_is_refused():
    with pytest.raises(ValueError, match="for a measured response"):
        dose_response(BEETLES, dose="log10_dose", events="killed", total="exposed", model="brain_cousens")


@pytest.mark.parametrize("form", ["measured", "counted", "groups", "hormesis"])
def test_step_runs_from_its_own_source_and_passes_its_checks(form, tmp_path):
    table, params = ryegrass(), {"dose": "conc", "response": "rootl", "unit": "mM", "at_response": 3.0}
    if form == "counted":
        table, params = BEETLES, {"dose": "log10_dose", "events": "killed", "total": "exposed", "term": "LD"}
    if form == "groups":
        table = pd.concat([table.assign(lot=1), table.assign(lot=2, conc=table["conc"] * 2)])
        params = {"dose": "conc", "response": "rootl", "group": "lot", "level": 20.0}
    if form == "hormesis":
        table, params = LETTUCE, {"dose": "conc", "response": "weight", "model": "brain_cousens", "at_response": 1.1}
    record, _, issues = run_step(dose_response, {"table": table}, params, tmp_path)
    assert issues == []
    assert not any("nan" in finding["text"].split() for finding in record["findings"])


def test_wrong_doses_are_caught(tmp_path):
    result = dose_response(ryegrass(), dose="conc", response="rootl")
    wrong = result["doses"].assign(dose=result["doses"]["dose"].to_numpy()[::-1])
    assert "doses_out_of_order" in check_issues(["doses_rise_with_effect"], {"doses": wrong}, tmp_path)


def test_plain_questions_plan_it(tmp_path):

    planner = the_planner()
    ryegrass().to_csv(tmp_path / "roots.csv", index=False)
    plan = planner.plan("IC50 of conc for rootl with 95% limits", profile_files([tmp_path / "roots.csv"])).plan
    (step,) = [node for node in plan.nodes if node.tool == "dose_response"]
    assert (step.params["dose"], step.params["response"]) == ("conc", "rootl")
    assert step.params["term"] == "IC"
    plan = planner.plan("EC10, EC50 and EC90 of conc for rootl", profile_files([tmp_path / "roots.csv"])).plan
    (step,) = [node for node in plan.nodes if node.tool == "dose_response"]
    assert [step.params[key] for key in ("level", "second_level", "third_level")] == [10, 50, 90]
    dead = BEETLES.assign(dose=np.round(10 ** BEETLES["log10_dose"], 1))[["dose", "exposed", "killed"]]
    dead.to_csv(tmp_path / "beetles.csv", index=False)
    plan = planner.plan("LD50 of dose, killed out of exposed", profile_files([tmp_path / "beetles.csv"])).plan
    (step,) = [node for node in plan.nodes if node.tool == "dose_response"]
    assert [step.params.get(key) for key in ("dose", "events", "total")] == ["dose", "killed", "exposed"]


def test_all_curves_are_told_of_first():
    table = ryegrass()
    two = pd.concat([table.assign(biotype="wild"), table.assign(conc=table["conc"] * 4, biotype="resistant")])
    result = dose_response(two, dose="conc", response="rootl", group="biotype")
    first = {value["name"]: value["value"] for value in result["findings"][0]["values"]}
    for biotype in ("wild", "resistant"):
        assert first[f"dose {biotype}"] == pytest.approx(level_row(result, 50, biotype)["dose"])
        assert f"for {biotype}" in result["findings"][0]["text"]
    assert ": 4.00 times as high for resistant (95 % CI " in result["findings"][0]["text"]
    (ratio,) = (value for value in result["findings"][0]["values"] if value["name"] == "ratio")
    # On logarithms the intervals are symmetric, so that of the difference is that of independent errors.
    half = np.hypot(*(np.log(level_row(result, 50, name)["upper_95"] / level_row(result, 50, name)["dose"])
                      for name in ("wild", "resistant")))  # fmt: skip
    assert (ratio["value"], ratio["low"], ratio["high"]) == pytest.approx(
        (4, 4 / np.exp(half), 4 * np.exp(half)), rel=1e-4
    )
