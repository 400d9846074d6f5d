"""Standard curves against R's nls on DNase, Miller and Miller's fluorescein and exact dilutions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from scipy.optimize import curve_fit
from table_steps import check_issues, run_step

from engine.toolbox.pharmacology.calibration import standard_curve

# R datasets::DNase, run 1 (Davidian and Giltinan 1995): an ELISA of recombinant DNase in rat serum
CONC = np.repeat([0.04882812, 0.1953125, 0.390625, 0.78125, 1.5625, 3.125, 6.25, 12.5], 2)
OD = [0.017, 0.018, 0.121, 0.124, 0.206, 0.215, 0.377, 0.374, 0.614, 0.609, 1.019, 1.001, 1.334, 1.364, 1.73, 1.71]
# Miller and Miller, Statistics and Chemometrics for Analytical Chemistry, example 5.3.1: fluorescence of fluorescein
FLUORESCEIN = pd.DataFrame({"pg": [0, 2, 4, 6, 8, 10, 12.0], "light": [2.1, 5.0, 9.0, 12.6, 17.3, 21.0, 24.7]})
NAMES = {"concentration": "conc", "signal": "OD"}


def plate():
    samples = pd.DataFrame(
        {
            "conc": np.nan,
            "OD": [0.50, 0.52, 1.20, 1.24, 2.9, 0.001],
            "sample": ["serum 1", "serum 1", "serum 2", "serum 2", "serum 3", "serum 4"],
        }
    )
    return pd.concat([pd.DataFrame({"conc": CONC, "OD": OD, "sample": "std"}), samples], ignore_index=True)


def test_dnase_has_rs_four_parameters():
    # nls(density ~ SSfpl(log(conc), A, B, xmid, scal)) of ?DNase: A -0.0079, B 2.377, xmid 1.507, scal 1.0626
    row = standard_curve(plate(), **NAMES, model="4PL")["curve"].iloc[0]
    found = [row["signal_without"], row["signal_at_most"], np.log(row["half_way"]), 1 / row["slope"]]
    assert found == pytest.approx([-0.0079, 2.377, 1.507, 1.0626], abs=5e-4)
    again, _ = curve_fit(lambda x, a, b, m, s: a + (b - a) / (1 + np.exp((m - np.log(x)) / s)), CONC, OD, [0, 2, 1, 1])
    assert found == pytest.approx(again.tolist(), rel=1e-4)


def test_unknowns_are_the_curve_read_backwards():
    result = standard_curve(plate(), **NAMES, sample="sample", model="4PL", unit="ng/ml")
    curve, table = result["curve"].iloc[0], result["unknowns"].set_index("sample")
    read = table.loc["serum 1", "read"]
    height = (curve["signal_at_most"] - curve["signal_without"]) / (1 + (curve["half_way"] / read) ** curve["slope"])
    assert curve["signal_without"] + height == pytest.approx(0.51)
    assert table.loc["serum 1", "lower_95"] < read < table.loc["serum 1", "upper_95"]
    assert table["range"].tolist() == ["within", "within", "above", "below"]
    assert np.isnan(table.loc["serum 3", "concentration"])
    assert any("serum 3 (above), serum 4 (below)" in text for text in result["warnings"])


def test_fluorescein_has_millers_line_and_limits():
    # slope 1.93, intercept 1.52; signals 2.9, 13.5 and 23.0 read 0.72, 6.21 and 11.13 with standard errors 0.26, 0.24
    # and 0.26, limits 0.72 +- 0.68, 6.21 +- 0.62 and 11.13 +- 0.68 (t = 2.57)
    unknowns = pd.DataFrame({"pg": np.nan, "light": [2.9, 13.5, 23.0], "name": ["a", "b", "c"]})
    result = standard_curve(
        pd.concat([FLUORESCEIN, unknowns]), concentration="pg", signal="light", sample="name", model="linear"
    )
    row = result["curve"].iloc[0]
    assert (row["slope"], row["intercept"]) == (pytest.approx(1.93, abs=5e-3), pytest.approx(1.52, abs=5e-3))
    assert row["residual_sd"] == pytest.approx(0.4329, abs=1e-4)  # from rounded residuals
    table = result["unknowns"].set_index("sample")
    # 0.72 lies below the lowest standard above 0, so only the two others are read
    assert table.loc["a", "range"] == "below"
    assert table.loc[["b", "c"], "read"].tolist() == pytest.approx([6.21, 11.13], abs=5e-3)
    half = (table["upper_95"] - table["read"]).loc[["b", "c"]]
    assert half.tolist() == pytest.approx([0.62, 0.68], abs=1.5e-2)


def test_a_qpcr_dilution_has_its_efficiency():
    copies = np.repeat([1e2, 1e3, 1e4, 1e5, 1e6], 2)
    table = pd.DataFrame({"copies": copies, "Ct": 40 - np.log(copies) / np.log(1.95) + np.tile([0.05, -0.05], 5)})
    row = standard_curve(table, concentration="copies", signal="Ct", model="log-linear")["curve"].iloc[0]
    assert row["efficiency_percent"] == pytest.approx(95, abs=1e-6)
    assert row["slope"] == pytest.approx(-1 / np.log10(1.95), rel=1e-6)


def test_the_interval_of_the_efficiency_is_that_of_the_line():
    rng = np.random.default_rng(3)
    copies = np.repeat([1e2, 1e3, 1e4, 1e5, 1e6], 3)
    table = pd.DataFrame({"copies": copies, "Ct": 40 - np.log2(copies) + rng.normal(0, 0.15, 15)})
    result = standard_curve(table, concentration="copies", signal="Ct")
    row = result["curve"].iloc[0]
    line = stats.linregress(np.log10(copies), table["Ct"])
    half = stats.t.ppf(0.975, 13) * line.stderr
    limits = [100 * (10 ** (-1 / slope) - 1) for slope in (line.slope - half, line.slope + half)]
    assert row["model"] == "log-linear"
    assert row["efficiency_percent"] == pytest.approx(100 * (10 ** (-1 / line.slope) - 1))
    assert row[["efficiency_lower_95", "efficiency_upper_95"]].tolist() == pytest.approx(limits)
    assert row["r2"] == pytest.approx(line.rvalue**2)
    assert not any("no unknown sample" in text for text in result["warnings"])
    folds = table.assign(dilution=1e6 / table["copies"])
    other = standard_curve(folds, concentration="dilution", signal="Ct")["curve"].iloc[0]
    assert other["efficiency_percent"] == pytest.approx(row["efficiency_percent"])
    assert other["efficiency_upper_95"] == pytest.approx(row["efficiency_upper_95"])


def test_dilutions_of_a_sample_that_disagree_are_named(tmp_path):
    extra = pd.DataFrame({"conc": np.nan, "OD": [1.2, 0.5], "sample": "serum 9", "fold": [10.0, 100.0]})
    table = pd.concat([plate().assign(fold=1.0), extra], ignore_index=True)
    given = NAMES | {"sample": "sample", "dilution": "fold", "model": "4PL"}
    record, tables, issues = run_step(standard_curve, {"table": table}, given, tmp_path)
    assert issues == []
    rows = tables["unknowns"].query("sample == 'serum 9'")
    assert len(rows) == 2
    assert rows["concentration"].max() > 1.25 * rows["concentration"].min()
    assert any("differ by more than 25 % in: serum 9" in text for text in record["warnings"])


def test_the_curve_is_chosen_by_how_it_fits():
    assert standard_curve(plate(), **NAMES)["curve"].loc[0, "model"] == "4PL"
    straight = standard_curve(FLUORESCEIN, concentration="pg", signal="light")
    assert straight["curve"].loc[0, "model"] == "linear"
    assert any("no unknown sample" in text for text in straight["warnings"])


def test_dilutions_are_multiplied_and_repeats_averaged():
    table = plate().assign(fold=lambda t: np.where(t["sample"] == "serum 2", 20.0, 1.0))
    result = standard_curve(table, **NAMES, sample="sample", dilution="fold")["unknowns"].set_index("sample")
    assert result.loc["serum 2", "concentration"] == pytest.approx(20 * result.loc["serum 2", "read"])
    assert result.loc["serum 1", ["n", "signal"]].tolist() == pytest.approx([2, 0.51])


def test_order_and_units_do_not_matter():
    plain = standard_curve(plate(), **NAMES, sample="sample")["unknowns"].set_index("sample")
    other = plate().sample(frac=1, random_state=3).assign(conc=lambda t: t["conc"] * 1000)
    scaled = standard_curve(other, **NAMES, sample="sample")["unknowns"].set_index("sample").loc[plain.index]
    assert (scaled["upper_95"] / 1000)[:2].tolist() == pytest.approx(plain["upper_95"][:2].tolist(), rel=1e-5)


def test_words_for_unknown_and_gaps_are_understood():
    table = plate().astype({"conc": object})
    table.loc[table["conc"].isna(), "conc"] = "unknown"
    table.loc[0, "OD"] = np.nan
    result = standard_curve(table, **NAMES, sample="sample")
    assert len(result["unknowns"]) == 4
    assert any("1 of 22 rows" in text for text in result["warnings"])


BAD = {
    "few": ({"concentration": "few"}, "at least 3"),
    "flat": ({"signal": "flat"}, "for every standard"),
    "words": ({"signal": "sample"}, "not numbers"),
    "same": ({"signal": "conc"}, "serves twice"),
    "negative": ({"concentration": "below"}, "negative"),
    "none": ({"concentration": "empty"}, "No row has both"),
    "model": ({"model": "spline"}, "no curve"),
    "text": ({"concentration": "sample"}, "not numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    table = plate().assign(flat=1.0, below=lambda t: t["conc"] - 1, few=lambda t: (t["conc"] > 1) * 1.0, empty=np.nan)
    with pytest.raises(ValueError, match=r".") as error:
        standard_curve(table, **(NAMES | params))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("model", ["auto", "4PL", "linear", "log-linear"])
def test_step_runs_from_its_own_source_and_passes_its_checks(model, tmp_path):
    given = NAMES | {"sample": "sample", "model": model}
    record, tables, issues = run_step(standard_curve, {"table": plate()}, given, tmp_path)
    assert issues == []
    assert not any("nan" in finding["text"].split() for finding in record["findings"])
    wrong = {"standards": tables["standards"], "unknowns": tables["unknowns"].assign(read=99.0)}
    assert "unknown_outside_range" in check_issues(["unknowns_within_range"], wrong, tmp_path)


def test_plain_questions_plan_it(tmp_path):

    planner = the_planner()
    plate().to_csv(tmp_path / "elisa.csv", index=False)
    plan = planner.plan(
        "ELISA: read the concentrations of the unknown sera off the standard curve of OD and conc",
        profile_files([tmp_path / "elisa.csv"]),
    ).plan
    (step,) = [node for node in plan.nodes if node.tool == "standard_curve"]
    assert (step.params["concentration"], step.params["signal"]) == ("conc", "OD")
