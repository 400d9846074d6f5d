"""Named curves against R's documented nls fits (Puromycin, DNase) and curves whose parameters are known."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy.stats import norm
from table_steps import check_issues, run_step

from engine.toolbox.statistics.curves import curve_meanings, curve_value, nonlinear_fit
from engine.toolbox.statistics.own_curves import formula_value, read_formula

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


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_a_curve_with_known_parameters_is_found_again(name):
    result = nonlinear_fit(known(name, 0.01), x="x", y="y", model=name)
    rows = result["parameters"][result["parameters"]["parameter"] != "ln 2 / rate"]
    assert rows["estimate"].tolist() == pytest.approx(KNOWN[name], rel=0.02, abs=0.02)
    assert result["curves"].iloc[0]["curve"] == name


@pytest.mark.slow
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


# ==== formulas that the user writes ====

# NIST StRD, certified to eleven digits; the estimates are recalled, and the residual SD follows from data and estimates.
RAT42 = ([9, 14, 21, 28, 42, 57, 63, 70, 79], [8.93, 10.80, 18.59, 22.33, 39.35, 56.11, 61.73, 64.62, 67.08])
BOX_BOD = ([1, 2, 3, 5, 7, 10], [109, 149, 149, 191, 213, 224])
KOWALIK = ([4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625],
           [0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246])  # fmt: skip
CERTIFIED = {
    "Rat42": (RAT42, "b1 / (1 + exp(b2 - b3*x))", [72.462237576, 2.6180768402, 0.067359200066],
              [1.7340283401, 0.088295217536, 0.0034465663627], 1.1587725499),
    "BoxBOD": (BOX_BOD, "y = b1 (1 - exp(-b2 x))", [213.80940889, 0.54723748542], [12.354515176, 0.10455993237],
               17.088072423),
    "MGH09": (KOWALIK, "b1*(x^2 + x*b2)/(x^2 + x*b3 + b4)",
              [0.19280693458, 0.19128232873, 0.12305650693, 0.13606233068],
              [0.011435312227, 0.19633220911, 0.080842031232, 0.090025542308], 0.0066279236551),
}  # fmt: skip


@pytest.mark.parametrize("name", CERTIFIED)
def test_formulas_reach_the_values_certified_by_nist_without_starting_values(name):
    (x, y), formula, estimates, errors, spread = CERTIFIED[name]
    result = nonlinear_fit(pd.DataFrame({"x": x, "y": y}), x="x", y="y", formula=formula)
    rows = result["parameters"]
    assert rows["estimate"].tolist() == pytest.approx(estimates, rel=2e-6)
    assert rows["se"].tolist() == pytest.approx(errors, rel=2e-4)
    assert result["curves"].query("used == 1")["residual_sd"].iloc[0] == pytest.approx(spread, rel=1e-6)


def test_a_formula_may_name_its_column_and_carries_on_by_group(tmp_path):
    two = pd.concat([PUROMYCIN.assign(state="treated"), PUROMYCIN.assign(state="other", rate=PUROMYCIN["rate"] / 2)])
    params = {"x": "conc", "y": "rate", "group": "state", "formula": "rate = Vm*conc/(K + conc)"}
    record, tables, issues = run_step(nonlinear_fit, {"table": two}, params, tmp_path)
    assert not issues
    rows = tables["parameters"].set_index(["group", "parameter"])["estimate"]
    assert rows["treated"].to_dict() == pytest.approx({"Vm": 212.7, "K": 0.06412}, rel=5e-4)
    assert rows["other"].to_dict() == pytest.approx({"Vm": 212.7 / 2, "K": 0.06412}, rel=5e-4)
    assert "follows the formula rate = Vm*conc/(K + conc) with Vm = 106 (95 % CI" in record["findings"][0]["text"]


@pytest.mark.parametrize("formula", ["a(1-exp(-bx))", "a (1 - exp(-b t))", "y = a·(1 − e^(−b·x))", "a*(1-exp(-b*X))"])
def test_products_may_go_without_a_sign_as_people_write_them(formula):
    result = nonlinear_fit(known("saturating", noise=0.3), x="x", y="y", formula=formula)
    named = nonlinear_fit(known("saturating", noise=0.3), x="x", y="y", model="saturating")
    rows = named["parameters"].query("parameter != 'ln 2 / rate'")
    assert result["parameters"]["estimate"].tolist() == pytest.approx(rows["estimate"].tolist(), rel=1e-6)


def test_a_straight_formula_agrees_with_least_squares():
    frame = known("power", noise=1.0)
    result = nonlinear_fit(frame, x="x", y="y", formula="p0 + p1*x + p2*ln(x)")
    design = np.column_stack([np.ones(40), frame["x"], np.log(frame["x"])])
    expected = np.linalg.lstsq(design, frame["y"], rcond=None)[0]
    assert result["parameters"]["estimate"].tolist() == pytest.approx(expected.tolist(), rel=1e-6)


def read(formula, column, **values):
    tree, across, letters = read_formula(formula, column, [column, "signal"])
    assert set(letters) | {across} == set(values)
    return float(formula_value(tree, values))


def test_products_without_a_sign_below_a_line_and_in_an_exponent_belong_together():
    # The values are those of the formulas as a textbook prints them, by math.exp.
    bell = read("h*exp(-(x-c)^2/2w^2)", "x", h=3, c=1, w=2.0, x=2.5)
    assert bell == pytest.approx(3 * math.exp(-(1.5**2) / (2 * 2.0**2)))
    for formula in ("n0*e^-rt", "n0 e^(-rt)", "n0/e^rt"):
        assert read(formula, "t", n0=5, r=0.3, t=4) == pytest.approx(5 * math.exp(-1.2))
    assert read("a*exp(-x/2u)", "x", a=1, u=3.0, x=4) == pytest.approx(math.exp(-4 / 6))
    assert read("g*x^-2b", "x", g=7, b=0.5, x=4) == pytest.approx(7 / 4)


def test_a_column_is_not_cut_into_a_product():
    assert read("c + a*exp(-dt/tau)", "dt", c=1, a=2, dt=3, tau=4) == pytest.approx(1 + 2 * math.exp(-3 / 4))


def test_a_named_parameter_set_runs_by_the_bell_curve_of_scipy():
    x = np.linspace(-6, 9, 40)
    table = pd.DataFrame({"x": x, "y": 4 * norm.pdf(x, 1.5, 2.2)})
    parameters = nonlinear_fit(table, x="x", y="y", formula="h*exp(-(x-c)^2/2w^2)")["parameters"]
    found = parameters.set_index("parameter")["estimate"].abs()
    assert found[["h", "c", "w"]].tolist() == pytest.approx([4 * norm.pdf(0, 0, 2.2), 1.5, 2.2], rel=1e-6)


UNREADABLE = {
    "below the line": ("a*x/b x", "leaves open what / divides by: only b"),
    "half of what": ("1/2(a + b*x)", "only 2, or the whole product"),
    "cut off": ("a*(1 - exp(-b*x)", "cannot be read"),
    "a call": ("__import__('os').system('id')*x", "no function|nothing that can be fitted"),
    "an attribute": ("a.real*x", "'a.real'"),
    "piecewise": ("a*x if x > 3 else b", "cannot be read"),
    "no x": ("a*exp(-b*z)", "does not contain 'x' or x"),
    "no parameter": ("exp(x)", "0 parameters"),
    "product without a sign": ("top(1 - b*x)", "'top' .* is no function"),
    "another column": ("a*x + b*other", "column 'other' beside"),
    "not determined": ("a*b*x", "do not determine a and b"),
    "a power of a power": ("9**9**9**9*a*x", "cannot be fitted"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_formula_that_cannot_be_fitted_is_refused_by_name(case):
    formula, words = UNREADABLE[case]
    table = pd.DataFrame({"x": [1.0, 2, 3, 4, 5], "y": [2.0, 4.1, 5.9, 8.2, 9.9], "other": [3, 1, 4, 1, 5]})
    with pytest.raises(ValueError, match=words) as error:
        nonlinear_fit(table, x="x", y="y", formula=formula)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("question", "formula"),
    [
        ("fit yield = A*(1 - exp(-r*hours)) and tell me A and r", "A*(1 - exp(-r*hours))"),
        ("least squares of yield on hours with the formula p*hours^q + s please", "p*hours^q + s"),
        ("fit yield = s / (1 + r hours) by least squares", "s / (1 + r hours)"),
        ("exponential decay of yield (10^6 cells/mL) over hours, with R^2", None),
        ("exponential decay of yield over hours; difference = seen - fitted", None),
        ("my own equation for yield over hours is Ymax*hours/(h + hours)", "Ymax*hours/(h + hours)"),
    ],
)
def test_a_formula_in_a_question_goes_to_the_fit_as_it_is_written(question, formula, tmp_path):
    hours = np.arange(1, 25)
    frame = pd.DataFrame({"hours": hours, "yield": 40 * (1 - np.exp(-0.2 * hours)) + np.sin(hours), "batch_no": hours})
    frame.to_csv(tmp_path / "reactor.csv", index=False)
    (step,) = the_planner().plan(question, profile_files([tmp_path / "reactor.csv"])).plan.nodes
    assert step.tool == "nonlinear_fit"
    assert (step.params["x"], step.params["y"], step.params.get("formula") or None) == ("hours", "yield", formula)
