"""Enzyme kinetics against R's nls on Puromycin (Treloar 1974; Bates and Watts 1988, appendix A1.3)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from scipy.optimize import curve_fit
from table_steps import check_issues, run_step

from engine.toolbox.pharmacology.enzymes import enzyme_kinetics

TREATED = [76, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200]
UNTREATED = [67, 51, 84, 86, 98, 115, 131, 124, 144, 158, 160]
STEPS = [0.02, 0.02, 0.06, 0.06, 0.11, 0.11, 0.22, 0.22, 0.56, 0.56, 1.1, 1.1]


def puromycin():
    return pd.DataFrame(
        {"conc": STEPS + STEPS[:11], "rate": TREATED + UNTREATED, "state": ["treated"] * 12 + ["untreated"] * 11}
    )


def test_puromycin_has_rs_constants():
    # ?Puromycin: nls(rate ~ SSmicmen(conc, Vm, K)): treated Vm 212.7 (6.947), K 0.0641 (0.008281), residual 10.93 on
    # 10 df; untreated Vm 160.3 (6.480), K 0.0477 (0.007782), residual 9.773 on 9 df
    table = enzyme_kinetics(puromycin(), substrate="conc", rate="rate", group="state")["constants"].set_index("curve")
    one, two = table.loc["treated"], table.loc["untreated"]
    assert (one["vmax"], one["km"]) == (pytest.approx(212.7, abs=0.05), pytest.approx(0.0641, abs=5e-5))
    assert (two["vmax"], two["km"]) == (pytest.approx(160.3, abs=0.05), pytest.approx(0.0477, abs=5e-5))
    assert (one["vmax_se"], one["km_se"]) == (pytest.approx(6.947, abs=2e-3), pytest.approx(0.008281, abs=2e-6))
    assert (two["vmax_se"], two["km_se"]) == (pytest.approx(6.480, abs=2e-3), pytest.approx(0.007782, abs=2e-6))
    assert (one["residual_sd"], one["df"]) == (pytest.approx(10.93, abs=5e-3), 10)
    assert (two["residual_sd"], two["df"]) == (pytest.approx(9.773, abs=5e-4), 9)


def test_two_groups_are_compared_by_ratios():
    result = enzyme_kinetics(puromycin(), substrate="conc", rate="rate", group="state")
    ratios = result["ratios"].set_index("constant")
    assert ratios.loc["Vmax", "ratio"] == pytest.approx(160.28 / 212.68, abs=1e-4)
    width = np.log(ratios.loc["Vmax", "upper_95"] / ratios.loc["Vmax", "ratio"])
    error = np.hypot(6.947 / 212.68, 6.480 / 160.28)
    assert 1.95 * error < width < 2.2 * error  # t between 9 and 19 degrees of freedom
    assert ratios.loc["Vmax", "p_value"] < 0.001 < 0.05 < ratios.loc["Km", "p_value"]
    assert any("Km is not shown to differ" in item["text"] for item in result["findings"])


def test_exact_rates_give_their_constants_back():
    s = np.array([0, 1, 2, 5, 10, 20, 50])
    result = enzyme_kinetics(pd.DataFrame({"s": s, "v": 30 * s / (4 + s)}), substrate="s", rate="v", enzyme=0.5)
    row = result["constants"].iloc[0]
    assert row[["km", "vmax", "kcat", "vmax_per_km"]].tolist() == pytest.approx([4, 30, 60, 7.5])
    assert "kcat" in result["findings"][0]["text"]


def test_order_units_and_labels_do_not_matter():
    table = puromycin()
    plain = enzyme_kinetics(table, substrate="conc", rate="rate", group="state")["constants"]
    other = table.sample(frac=1, random_state=1).assign(
        conc=lambda t: t["conc"] * 1000, rate=lambda t: t["rate"] / 60, state=lambda t: t["state"].str.upper()
    )
    scaled = enzyme_kinetics(other, substrate="conc", rate="rate", group="state")["constants"]
    assert (scaled["km"] / 1000).tolist() == pytest.approx(plain["km"].tolist(), rel=1e-6)
    assert (scaled["vmax_upper_95"] * 60).tolist() == pytest.approx(plain["vmax_upper_95"].tolist(), rel=1e-5)


def test_mixed_groups_low_substrate_and_inhibition_are_said():
    mixed = enzyme_kinetics(puromycin(), substrate="conc", rate="rate")
    assert any("by state" in text for text in mixed["warnings"])
    s = np.repeat([0.1, 0.2, 0.4, 0.8], 2)
    low = pd.DataFrame({"s": s, "v": 10 * s / (5 + s) * np.tile([1.02, 0.98], 4)})
    assert any("below Km" in text for text in enzyme_kinetics(low, substrate="s", rate="v")["warnings"])
    s = np.array([1, 2, 5, 10, 20, 50, 100.0])
    bent = pd.DataFrame({"s": s, "v": 30 * s / (4 + s + s**2 / 20)})
    assert any(
        "falls again" in text
        for text in enzyme_kinetics(bent, substrate="s", rate="v", model="michaelis_menten")["warnings"]
    )
    gaps = puromycin()
    gaps.loc[2, "rate"] = np.nan
    assert any("1 of 23 rows" in t for t in enzyme_kinetics(gaps, substrate="conc", rate="rate")["warnings"])


BAD = {
    "few": ({"substrate": "two"}, "at least 3 concentrations"),
    "constant": ({"rate": "flat"}, "constant"),
    "negative": ({"substrate": "below"}, "negative values"),
    "words": ({"rate": "state"}, "not numbers"),
    "same": ({"rate": "conc"}, "serves twice"),
    "many": ({"group": "row"}, "at least 3"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    table = puromycin().assign(flat=3.0, below=lambda t: t["conc"] - 1, two=lambda t: (t["conc"] > 0.1) * 1.0)
    table["row"] = range(len(table))
    with pytest.raises(ValueError, match=r".") as error:
        enzyme_kinetics(table, **({"substrate": "conc", "rate": "rate"} | params))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("params", [{}, {"group": "state"}, {"enzyme": 2.0, "substrate_unit": "ppm"}])
def test_step_runs_from_its_own_source_and_passes_its_checks(params, tmp_path):
    given = {"substrate": "conc", "rate": "rate"} | params
    _, tables, issues = run_step(enzyme_kinetics, {"table": puromycin()}, given, tmp_path)
    assert issues == []
    assert ("ratios" in tables) == ("group" in params)
    wrong = tables["constants"].assign(km=99.0)
    assert check_issues(["rates_below_vmax"], {"constants": wrong}, tmp_path) == ["constant_outside_interval"]


def test_plain_questions_plan_it(tmp_path):

    planner = the_planner()
    puromycin().to_csv(tmp_path / "enzyme.csv", index=False)
    profile = profile_files([tmp_path / "enzyme.csv"])
    for question, group in (
        ("Km and Vmax from rate at each conc, for each state", "state"),
        ("Michaelis-Menten fit of rate against conc", None),
    ):
        (step,) = [n for n in planner.plan(question, profile).plan.nodes if n.tool == "enzyme_kinetics"]
        assert (step.params["substrate"], step.params["rate"], step.params.get("group")) == ("conc", "rate", group)


def slowed(ki, seed=4, sd=0.15, name="S"):
    """Return rates of Vmax 20 and Km 3 with the substrate's own Ki, in duplicate."""
    s = np.repeat([0.5, 1, 2, 4, 8, 16, 32, 64.0], 2)
    v = 20 * s / (3 + s + s * s / ki) + np.random.default_rng(seed).normal(0, sd, len(s))
    return pd.DataFrame({name: s, "v": v})


def test_a_rate_that_falls_at_high_substrate_gets_haldanes_curve(tmp_path):
    table = slowed(25)
    record, tables, issues = run_step(enzyme_kinetics, {"table": table}, {"substrate": "S", "rate": "v"}, tmp_path)
    assert not issues
    s, v = table["S"].to_numpy(), table["v"].to_numpy()

    def haldane(s, top, half, ki):
        return top * s / (half + s + s * s / ki)

    known, _ = curve_fit(haldane, s, v, [20, 3, 30])  # scipy's own least squares
    row = tables["constants"].iloc[0]
    assert row[["vmax", "km", "ki"]].tolist() == pytest.approx(known.tolist(), rel=1e-4)
    assert row["optimum"] == pytest.approx(np.sqrt(known[1] * known[2]), rel=1e-4)
    plain, _ = curve_fit(lambda s, top, half: top * s / (half + s), s, v, [15, 2])
    apart = [((v - f) ** 2).sum() for f in (plain[0] * s / (plain[1] + s), haldane(s, *known))]
    expected = stats.f.sf((apart[0] - apart[1]) / (apart[1] / 13), 1, 13)
    assert row["p_substrate_inhibition"] == pytest.approx(expected, rel=1e-3)
    assert "Ki of the substrate is" in record["findings"][0]["text"]
    assert "too much substrate slows it" in record["findings"][0]["text"]


def test_without_inhibition_the_plain_curve_stays_and_says_so():
    result = enzyme_kinetics(slowed(np.inf), substrate="S", rate="v")
    assert "ki" not in result["constants"]
    assert "no clear sign of substrate inhibition (p = " in result["findings"][0]["text"]
    told = enzyme_kinetics(slowed(25), substrate="S", rate="v", model="michaelis_menten")
    assert "ki" not in told["constants"]
    assert any("which this curve leaves out" in text for text in told["warnings"])
    with pytest.raises(ValueError, match="needs 5 different substrate concentrations"):
        enzyme_kinetics(slowed(25).query("S < 5"), substrate="S", rate="v", model="substrate_inhibition")
