"""Profiles against Phoenix WinNonlin's output for R's Theoph and Indometh, exact exponentials and sums by hand.

WinNonlin's numbers (linear up, log down; dose 320 mg) are those published with NonCompart's validation
(github.com/asancpt/NonCompart-tests); the data are R's datasets (Boeckmann, Sheiner and Beal 1994; Kwan et al. 1976).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from table_steps import check_issues, run_step

from engine.toolbox.pharmacology.pharmacokinetics import pharmacokinetics

PROFILES = {
    "1": (
        [0, 0.25, 0.57, 1.12, 2.02, 3.82, 5.1, 7.03, 9.05, 12.12, 24.37],
        [0.74, 2.84, 6.57, 10.5, 9.66, 8.58, 8.36, 7.47, 6.89, 5.94, 3.28],
    ),
    "2": (
        [0, 0.27, 0.52, 1, 1.92, 3.5, 5.02, 7.03, 9, 12, 24.3],
        [0, 1.72, 7.91, 8.31, 8.33, 6.85, 6.08, 5.4, 4.55, 3.01, 0.9],
    ),
    "6": (
        [0, 0.27, 0.58, 1.15, 2.03, 3.57, 5, 7, 9.22, 12.1, 23.85],
        [0, 1.29, 3.08, 6.44, 6.32, 5.53, 4.94, 4.02, 3.46, 2.78, 0.92],
    ),
    "10": (
        [0, 0.37, 0.77, 1.02, 2.05, 3.55, 5.05, 7.08, 9.38, 12.1, 23.7],
        [0.24, 2.89, 5.22, 6.41, 7.83, 10.21, 9.18, 8.02, 7.14, 5.68, 2.42],
    ),
}
WINNONLIN = {  # AUClast, AUCINF_obs, HL_Lambda_z, CL_F_obs, Vz_F_obs
    "1": (147.234748, 214.923632, 14.304378, 1.488901, 30.726232),
    "2": (88.731275, 97.377935, 6.659342, 3.286165, 31.571502),
    "6": (71.697015, 82.175883, 7.894998, 3.894087, 44.353935),
    "10": (135.576070, 167.860031, 9.246916, 1.906350, 25.431626),
}
NAMES = {"time": "Time", "concentration": "conc", "subject": "Subject"}


def theoph():
    return pd.concat(
        [pd.DataFrame({"Subject": who, "Time": t, "conc": c, "Dose": 320.0}) for who, (t, c) in PROFILES.items()],
        ignore_index=True,
    )


@pytest.mark.parametrize("who", WINNONLIN)
def test_theophylline_has_winnonlins_parameters(who):
    row = pharmacokinetics(theoph(), **NAMES, dose_column="Dose")["subjects"].set_index("profile").loc[who]
    found = row[["auc_last", "auc_inf", "half_life", "clearance", "volume_z"]].tolist()
    assert found == pytest.approx(WINNONLIN[who], rel=2e-6)
    t, c = PROFILES[who]
    assert (row["cmax"], row["tmax"]) == (max(c), t[int(np.argmax(c))])


def test_the_half_life_says_its_points():
    table = pharmacokinetics(theoph(), **NAMES)["subjects"].set_index("profile")
    assert table.loc["6", ["terminal_points", "terminal_from", "terminal_to"]].tolist() == [7, 2.03, 23.85]
    assert table.loc["1", "terminal_points"] == 3


def test_a_bolus_keeps_its_peak_in_the_terminal_line():
    # Indometh subjects 1 and 4: WinNonlin's HL_Lambda_z 4.378127 and 1.521910, the latter from all 11 points
    t = [0.25, 0.5, 0.75, 1, 1.25, 2, 3, 4, 5, 6, 8]
    one = [1.5, 0.94, 0.78, 0.48, 0.37, 0.19, 0.12, 0.11, 0.08, 0.07, 0.05]
    four = [1.85, 1.39, 1.02, 0.89, 0.59, 0.4, 0.16, 0.11, 0.1, 0.07, 0.07]
    table = pd.DataFrame({"who": ["a"] * 11 + ["b"] * 11, "t": t + t, "c": one + four})
    result = pharmacokinetics(table, time="t", concentration="c", subject="who", route="iv_bolus", dose=25)
    assert result["subjects"]["half_life"].tolist() == pytest.approx([4.378127, 1.521910], rel=2e-6)
    assert any("extrapolated back" in text for text in result["warnings"])


def test_an_exponential_gives_its_constants_back():
    t = np.array([0, 1, 2, 4, 8, 12.0])
    table = pd.DataFrame({"t": t, "c": 10 * np.exp(-0.3 * t)})
    row = pharmacokinetics(table, time="t", concentration="c", route="iv_bolus", dose=100)["subjects"].iloc[0]
    assert row[["auc_inf", "half_life", "mrt", "clearance", "volume_z"]].tolist() == pytest.approx(
        [10 / 0.3, np.log(2) / 0.3, 1 / 0.3, 3.0, 10.0]
    )
    assert row["auc_last"] == pytest.approx(10 / 0.3 * (1 - np.exp(-3.6)))


def test_the_linear_rule_is_numpys_trapezoid():
    table = pharmacokinetics(theoph(), **NAMES, auc_rule="linear")["subjects"].set_index("profile")
    for who, (t, c) in PROFILES.items():
        t, c, row = np.array(t), np.array(c), table.loc[who]
        assert row["auc_last"] == pytest.approx(np.trapezoid(c, t))
        assert row["auc_inf"] == pytest.approx(np.trapezoid(c, t) + c[-1] / row["lambda_z"])
        moment = np.trapezoid(t * c, t) + c[-1] * t[-1] / row["lambda_z"] + c[-1] / row["lambda_z"] ** 2
        assert row["mrt"] == pytest.approx(moment / row["auc_inf"])
        assert row["half_life"] == pytest.approx(WINNONLIN[who][2], rel=2e-6)  # the rule is of the area only


def test_a_sample_before_a_bolus_does_not_pull_the_area_down():
    t = np.array([0.5, 1, 2, 4, 8, 12.0])
    table = pd.DataFrame({"t": t, "c": 10 * np.exp(-0.3 * t)})
    before = pd.concat([pd.DataFrame({"t": [0.0], "c": [0.0]}), table])
    for given in (table, before, before.replace({"c": {0.0: "BLQ"}})):
        result = pharmacokinetics(given, time="t", concentration="c", route="iv_bolus", dose=100)
        assert result["subjects"].loc[0, ["auc_inf", "volume_z"]].tolist() == pytest.approx([10 / 0.3, 10.0])
    assert any("before the bolus" in text for text in result["warnings"])


def test_doses_per_kg_and_zeros_between_are_said():
    per_kg = theoph().rename(columns={"Dose": "dose_mg_per_kg"})
    found = pharmacokinetics(per_kg, **NAMES)["findings"]
    assert any(item["text"].startswith("Clearance per kg (CL/F)") for item in found)
    weights = theoph().assign(Wt=70.0, Dose=lambda t: np.where(t["Subject"] == "1", 4.0, 4.4))
    said = pharmacokinetics(weights, **NAMES, dose_column="Dose")["warnings"]
    assert any("If Dose is per kg" in text and "Wt was not used" in text for text in said)
    gap = theoph()
    gap.loc[7, "conc"] = 0
    assert any("0 lies between higher ones" in text for text in pharmacokinetics(gap, **NAMES)["warnings"])


def test_subjects_are_summarised_by_geometric_means():
    result = pharmacokinetics(theoph(), **NAMES, dose=320)
    row = result["summary"].set_index("parameter").loc["auc_inf"]
    logs = np.log([WINNONLIN[who][1] for who in WINNONLIN])
    half = 3.1824463 * logs.std(ddof=1) / 2  # t of 3 degrees of freedom, four subjects
    assert row["geometric_mean"] == pytest.approx(np.exp(logs.mean()), rel=1e-6)
    assert row["upper_95"] == pytest.approx(np.exp(logs.mean() + half), rel=1e-6)
    assert row["cv_percent"] == pytest.approx(100 * np.sqrt(np.expm1(logs.var(ddof=1))), rel=1e-6)
    assert result["findings"][1]["text"].startswith(f"AUC to infinity: geometric mean {np.exp(logs.mean()):.0f}")


def test_order_units_and_names_do_not_matter():
    plain = pharmacokinetics(theoph(), **NAMES, dose=320)["subjects"].set_index("profile")
    other = (
        theoph().sample(frac=1, random_state=5).assign(Time=lambda t: t["Time"] * 60, conc=lambda t: t["conc"] * 1000)
    )
    scaled = pharmacokinetics(other, **NAMES, dose=320)["subjects"].set_index("profile").loc[plain.index]
    assert (scaled["auc_inf"] / 60000).tolist() == pytest.approx(plain["auc_inf"].tolist())
    assert (scaled["half_life"] / 60).tolist() == pytest.approx(plain["half_life"].tolist())


def test_subjects_and_doses_are_found_where_none_is_named():
    plain = pharmacokinetics(theoph(), **NAMES, dose_column="Dose")["subjects"]
    for given in ({}, {"group": "Subject"}, {"subject": "Dose", "group": "Subject"}):
        found = pharmacokinetics(theoph(), time="Time", concentration="conc", **given)
        assert found["subjects"]["clearance"].tolist() == pytest.approx(plain["clearance"].tolist())
        assert found["subjects"]["profile"].tolist() == list(PROFILES)
        assert any("taken from column Dose" in text for text in found["warnings"])


def test_values_below_quantification_and_gaps_are_said():
    table = theoph().astype({"conc": object})
    table.loc[table["conc"] == 0, "conc"] = "BLQ"
    late = pd.DataFrame([{"Subject": "2", "Time": 36.0, "conc": "<0.5"}, {"Subject": "2", "Time": -1.0, "conc": 0}])
    result = pharmacokinetics(pd.concat([table, late]), **NAMES, dose=320)
    row = result["subjects"].set_index("profile").loc["2"]
    assert row[["auc_last", "half_life"]].tolist() == pytest.approx([88.731275, 6.659342], rel=2e-6)
    said = " ".join(result["warnings"])
    assert "3 concentrations below quantification" in said
    assert "1 samples taken before the dose" in said
    assert "More than 20 % of the area" in said
    cut = theoph()
    cut.loc[4, "conc"] = np.nan
    assert any("1 of 44 rows" in text for text in pharmacokinetics(cut, **NAMES)["warnings"])
    undosed = pharmacokinetics(cut.drop(columns="Dose"), **NAMES)
    assert any("No dose is given" in text for text in undosed["warnings"])


def test_short_profiles_are_left_out_and_named():
    table = pd.concat([theoph(), pd.DataFrame({"Subject": "x", "Time": [0, 1], "conc": [0, 3.0]})])
    assert any(text.startswith("x: fewer than 3") for text in pharmacokinetics(table, **NAMES)["warnings"])


BAD = {
    "negative": ({"concentration": "below"}, "negative concentrations"),
    "words": ({"concentration": "word"}, "not numbers"),
    "same": ({"concentration": "Time"}, "serves twice"),
    "dose": ({"dose_column": "changing"}, "the dose changes"),
    "empty": ({"concentration": "zero"}, "No subject has"),
    "route": ({"route": "nasal"}, "no route"),
    "rule": ({"auc_rule": "simpson"}, "no rule"),
    "absent": ({"time": "Tim"}, "did you mean 'Time'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    table = theoph().assign(below=lambda t: t["conc"] - 5, word="high", zero=0.0, changing=lambda t: t["Time"] + 1)
    with pytest.raises(ValueError, match=r".") as error:
        pharmacokinetics(table, **(NAMES | params))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "params", [{}, {"dose": 320.0, "time_unit": "h", "concentration_unit": "mg/L"}, {"group": "arm"}]
)
def test_step_runs_from_its_own_source_and_passes_its_checks(params, tmp_path):
    table = theoph().assign(arm=lambda t: np.where(t["Subject"].isin(["1", "2"]), "fed", "fasted"))
    record, tables, issues = run_step(pharmacokinetics, {"table": table}, NAMES | params, tmp_path)
    assert issues == []
    assert not any("nan" in finding["text"].split() for finding in record["findings"])
    wrong = tables["subjects"].assign(auc_inf=1.0)
    assert check_issues(["exposure_adds_up"], {"subjects": wrong}, tmp_path) == ["exposure_differs"]


def test_a_single_profile_can_be_analysed(tmp_path):
    table = theoph().query("Subject == '1'")
    given = {"time": "Time", "concentration": "conc"}
    record, _, issues = run_step(pharmacokinetics, {"table": table}, given, tmp_path)
    assert issues == []
    assert any("from the last 3 samples (9.05 to 24.4)" in finding["text"] for finding in record["findings"])


def test_plain_questions_plan_it(tmp_path):

    planner = the_planner()
    theoph().assign(Subject=lambda t: "S" + t["Subject"]).to_csv(tmp_path / "theo.csv", index=False)
    profile = profile_files([tmp_path / "theo.csv"])
    for question in (
        "AUC, Cmax and half-life from conc against Time of each Subject",
        "What is the half-life of the drug?",
    ):
        (step,) = planner.plan(question, profile).plan.nodes
        assert (step.tool, step.params["time"], step.params["concentration"]) == ("pharmacokinetics", "Time", "conc")


def injected(at_zero):
    """Return two profiles 12 exp(-0.4 t) from 0.5 h on, by hand, with what stands at time 0."""
    t = np.array([0.5, 1, 2, 4, 6, 8])
    rows = [(who, hour, f"{12 * np.exp(-0.4 * hour):.9f}") for who in ("r1", "r2") for hour in t]
    rows += [(who, 0.0, at_zero) for who in ("r1", "r2")]
    return pd.DataFrame(rows, columns=["rat", "time_h", "cp_ng_ml"]).sort_values(["rat", "time_h"])


@pytest.mark.parametrize("at_zero", ["0", None, "BDL", "below the limit of quantification"])
def test_a_bolus_begins_where_its_line_meets_time_0_whatever_stands_there(at_zero):
    result = pharmacokinetics(injected(at_zero), time="time_h", concentration="cp_ng_ml", subject="rat",
                              route="iv_bolus", dose=1)  # fmt: skip
    assert result["subjects"]["auc_inf"].tolist() == pytest.approx([30, 30], rel=1e-6)  # 12 / 0.4
    assert any("extrapolated back" in text for text in result["warnings"])
    assert result["findings"][1]["text"].startswith("AUC to infinity: geometric mean 30.0 ng/ml x h (95 % CI")


def test_profiles_that_fall_from_their_first_sample_raise_the_question_of_a_vein():
    asked = {"time": "time_h", "concentration": "cp_ng_ml", "subject": "rat"}
    assert any("set route to iv_bolus" in text for text in pharmacokinetics(injected("0"), **asked)["warnings"])
    oral = pharmacokinetics(theoph(), **NAMES)["warnings"]
    assert not any("iv_bolus" in text for text in oral)


def test_what_has_no_concentration_is_counted_by_its_place():
    table = theoph()
    table.loc[[0, 1, 5, 10], "conc"] = np.nan
    said = " ".join(pharmacokinetics(table, **NAMES)["warnings"])
    assert "4 samples without a concentration" in said
    assert "2 before the first, 1 after the last, 1 between measured ones" in said


def test_the_half_life_of_several_says_from_which_samples():
    result = pharmacokinetics(theoph(), **NAMES, time_unit="h")
    own = result["subjects"]["terminal_points"]
    text = next(f["text"] for f in result["findings"] if f["text"].startswith("Half-life"))
    assert f"each from its last {int(own.min())} to {int(own.max())} measured samples (" in text


@pytest.mark.slow
@pytest.mark.parametrize("crossover", [True, False])
def test_exposures_of_two_groups_are_compared_as_ratios(crossover, tmp_path):
    times, rng = np.array([0, 0.5, 1, 2, 4, 8, 12, 24]), np.random.default_rng(4)
    rows, areas = [], {}
    for number in range(12):
        for meal in (
            ("fasted", "fed") if crossover and number < 6 else (("fasted", "fed")[number % 2],) * (not crossover)
        ):
            rate, size = 0.2 * np.exp(rng.normal(0, 0.1)), (1.5 if meal == "fed" else 1) * np.exp(rng.normal(0, 0.1))
            curve = 10 * size * (np.exp(-rate * times) - np.exp(-1.5 * times))
            rows += [(f"s{number}", meal, t, c) for t, c in zip(times, curve, strict=True)]
    table = pd.DataFrame(rows, columns=["subject", "meal", "time_h", "conc"])
    given = {"time": "time_h", "concentration": "conc", "subject": "subject", "group": "meal"}
    record, tables, issues = run_step(pharmacokinetics, {"table": table}, given, tmp_path)
    assert not issues
    for row in tables["subjects"].to_dict("records"):
        areas.setdefault(row["group"], {})[row["subject"]] = np.log(row["auc_inf"])
    fed, fasted = (np.array(list(areas[meal].values())) for meal in ("fed", "fasted"))
    test = stats.ttest_rel(fed, fasted) if crossover else stats.ttest_ind(fed, fasted, equal_var=False)
    limits = test.confidence_interval(0.95)
    row = tables["ratios"].set_index("parameter").loc["auc_inf"]
    expected = np.exp([fed.mean() - fasted.mean(), limits.low, limits.high])
    assert row[["ratio", "lower_95", "upper_95"]].tolist() == pytest.approx(list(expected), rel=1e-4)
    assert record["findings"][0]["text"].startswith("AUC to infinity is higher in fed than in fasted: geometric mean")
