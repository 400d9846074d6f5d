"""Named curves against R's documented nls fits (Puromycin, DNase) and curves whose parameters are known."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from table_steps import check_issues, run_step

from engine.toolbox.statistics.curves import curve_meanings, curve_value, nonlinear_fit

# Treloar (1974), as in R's Puromycin, treated cells.
PUROMYCIN = pd.DataFrame({"conc": np.repeat([0.02, 0.06, 0.11, 0.22, 0.56, 1.10], 2),
                          "rate": [76, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200]})  # fmt: skip
# R's DNase, run 1 (Davidian and Giltinan 1995), concentration as its logarithm.
DNASE = pd.DataFrame(
    {"log_conc": np.log(np.repeat([0.04882812, 0.1953125, 0.390625, 0.78125, 1.5625, 3.125, 6.25, 12.5], 2)),
     "density": [0.017, 0.018, 0.121, 0.124, 0.206, 0.215, 0.377, 0.374, 0.614, 0.609, 1.019, 1.001, 1.334, 1.364, 1.730,
                 1.710]}
)  # fmt: skip
KNOWN = {"exponential": (80.0, -0.12), "exponential_floor": (5.0, 60.0, 0.3), "saturating": (30.0, 0.25),
         "hyperbola": (40.0, 3.0), "power": (2.5, 0.7), "logistic": (100.0, 0.6, 8.0), "gompertz": (100.0, 0.4, 6.0),
         "von_bertalanffy": (70.0, 0.2, -0.5)}  # fmt: skip


def known(name, noise=0.0):
    x = np.linspace(0.5, 20, 40)
    y = curve_value(name, x, KNOWN[name])
    return pd.DataFrame({"x": x, "y": y + noise * np.random.default_rng(1).normal(0, 1, 40)})


def test_puromycin_matches_nls(tmp_path):
    # ?nls: Vm 212.7 (SE 6.947), K 0.06412 (SE 0.008281), residual standard error 10.93 on 10 degrees of freedom
    record, tables, issues = run_step(
        nonlinear_fit, {"table": PUROMYCIN}, {"x": "conc", "y": "rate", "model": "hyperbola"}, tmp_path
    )
    rows = tables["parameters"].set_index("parameter")
    assert not issues
    assert (rows.loc["a", "estimate"], rows.loc["b", "estimate"]) == pytest.approx((212.7, 0.06412), rel=5e-4)
    assert (rows.loc["a", "se"], rows.loc["b", "se"]) == pytest.approx((6.947, 0.008281), rel=5e-4)
    used = tables["curves"].query("used == 1").iloc[0]
    assert (used["residual_sd"], used["df"]) == (pytest.approx(10.93, abs=5e-3), 10)
    assert "plateau" in record["findings"][0]["text"]


def test_dnase_matches_the_self_starting_logistic():
    # ?SSlogis / nls examples: Asym 2.34518 (0.07815), xmid 1.48309 (0.08135), scal 1.04146, residual SE 0.01919 on 13 df
    result = nonlinear_fit(DNASE, x="log_conc", y="density", model="logistic")
    rows = result["parameters"].set_index("parameter")
    assert rows.loc[["a", "m"], "estimate"].tolist() == pytest.approx([2.34518, 1.48309], abs=2e-5)
    assert rows.loc[["a", "m"], "se"].tolist() == pytest.approx([0.07815, 0.08135], abs=2e-5)
    assert 1 / rows.loc["k", "estimate"] == pytest.approx(1.04146, abs=2e-5)
    assert result["curves"].query("used == 1")["residual_sd"].iloc[0] == pytest.approx(0.01919, abs=5e-6)


def test_misra_matches_the_values_certified_by_nist():
    # NIST StRD, Misra1a (1978), y = b1 (1 - exp(-b2 x)): b1 238.94212918 (SE 2.7070075241), b2 5.5015643181E-04 (SE
    # 7.2668688436E-06), residual SD 0.10187876330; recalled, and confirmed by the sum of squares being smallest there
    x = [77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0]
    y = [10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78]
    for unit in (1.0, 1e-12, 1e12):
        table = pd.DataFrame({"x": x, "y": [value * unit for value in y]})
        result = nonlinear_fit(table, x="x", y="y", model="saturating")
        rows = result["parameters"].set_index("parameter")
        assert rows.loc[["a", "b"], "estimate"].tolist() == pytest.approx(
            [238.94212918 * unit, 5.5015643181e-4], rel=1e-6
        )
        assert rows.loc[["a", "b"], "se"].tolist() == pytest.approx([2.7070075241 * unit, 7.2668688436e-6], rel=1e-4)
        assert result["curves"].query("used == 1")["residual_sd"].iloc[0] == pytest.approx(
            0.1018787633 * unit, rel=1e-6
        )

    def squares(a, b):
        return sum((v - a * (1 - math.exp(-b * t))) ** 2 for t, v in zip(x, y, strict=True))

    best = squares(238.94212918, 5.5015643181e-4)
    assert best == pytest.approx(12 * 0.1018787633**2)
    near = [(1 + p * 1e-4, 1 + q * 1e-4) for p in (-1, 0, 1) for q in (-1, 0, 1)]
    assert all(squares(238.94212918 * p, 5.5015643181e-4 * q) >= best - 1e-9 for p, q in near)


@pytest.mark.parametrize("name", KNOWN)
def test_a_curve_with_known_parameters_is_found_again(name):
    result = nonlinear_fit(known(name, 0.01), x="x", y="y", model=name)
    rows = result["parameters"][result["parameters"]["parameter"] != "ln 2 / rate"]
    assert rows["estimate"].tolist() == pytest.approx(KNOWN[name], rel=0.02, abs=0.02)
    assert result["curves"].iloc[0]["curve"] == name


def test_order_and_scale_carry_through():
    table = known("exponential", 0.5)
    one = nonlinear_fit(table, x="x", y="y", model="exponential")["parameters"]
    turned = (table.iloc[::-1] * [60, 1000]).reset_index(drop=True)
    two = nonlinear_fit(turned, x="x", y="y", model="exponential")["parameters"]
    assert two["estimate"].tolist() == pytest.approx((one["estimate"] * [1000, 1 / 60, 60]).tolist(), rel=1e-4)
    half = one.set_index("parameter").loc["ln 2 / rate"]
    rate = one.set_index("parameter").loc["b"]
    assert half["estimate"] == pytest.approx(math.log(2) / -rate["estimate"])
    assert half["upper_95"] == pytest.approx(math.log(2) / -rate["upper_95"])


def test_groups_get_curves_of_their_own_and_gaps_are_said():
    table = pd.concat([known("saturating", 0.2).assign(g="a"), known("saturating", 0.2).assign(g="b", y=lambda t: 2 * t["y"]),
                       pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 3.0], "g": "c"})])  # fmt: skip
    table.iloc[0, 1] = np.nan
    result = nonlinear_fit(table, x="x", y="y", group="g", model="saturating")
    plateaus = result["parameters"].query("parameter == 'a'").set_index("group")["estimate"]
    assert plateaus["b"] == pytest.approx(2 * plateaus["a"], rel=0.02)
    assert any("1 of 82 rows were left out" in text for text in result["warnings"])
    assert any("g c: 2 points" in text for text in result["warnings"])


def test_a_worse_curve_and_a_plateau_beyond_the_data_are_warned_of():
    result = nonlinear_fit(known("logistic", 0.5), x="x", y="y", model="exponential")
    assert any("logistic fits clearly better" in text for text in result["warnings"])
    rising = pd.DataFrame({"x": np.arange(1, 9), "y": np.arange(1, 9) * 1.0 - 0.01 * np.arange(1, 9) ** 2})
    assert any(
        "beyond the data" in text for text in nonlinear_fit(rising, x="x", y="y", model="saturating")["warnings"]
    )


BAD = {
    "same": ({"x": "x", "y": "x"}, "serves twice"),
    "few": ({"x": "few", "y": "y"}, "cannot carry a curve"),
    "flat": ({"x": "x", "y": "flat"}, "cannot carry a curve"),
    "text": ({"x": "name", "y": "y"}, "not numbers"),
    "zero": ({"x": "zero", "y": "y", "model": "power"}, "power law needs positive"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    table = known("power").assign(few=1.0, flat=2.0, name="abc", zero=lambda t: t["x"] - 0.5)
    with pytest.raises(ValueError, match=r".") as error:
        nonlinear_fit(table, **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_wrong_tables_are_caught(tmp_path):
    result = nonlinear_fit(PUROMYCIN, x="conc", y="rate")
    tables = {"parameters": result["parameters"], "curves": result["curves"]}
    checks = ["curve_parameters_in_intervals"]
    assert check_issues(checks, tables, tmp_path) == []
    wrong = tables | {"parameters": result["parameters"].assign(lower_95=1e6)}
    assert "interval_without_estimate" in check_issues(checks, wrong, tmp_path)
    assert "no_best_curve" in check_issues(
        checks, tables | {"curves": result["curves"].assign(delta_AICc=1.0)}, tmp_path
    )
    assert set(curve_meanings()) == set(KNOWN)


@pytest.mark.parametrize(
    ("question", "model"),
    [("fit a saturating curve to photosynthesis by light, where is the plateau?", "saturating"),
     ("power law photosynthesis = a * light^b, exponent?", "power")],
)  # fmt: skip
def test_a_plain_question_plans_the_curve(question, model, tmp_path):
    path = tmp_path / "leaves.csv"
    table = known("hyperbola", 0.3).rename(columns={"x": "light", "y": "photosynthesis"})
    table.assign(day=range(40), leaf="a").to_csv(path, index=False)
    planner = the_planner()
    node = planner.plan(question, profile_files([path])).plan.nodes[-1]
    assert node.tool == "nonlinear_fit"
    assert (node.params["x"], node.params["y"], node.params["model"]) == ("light", "photosynthesis", model)
