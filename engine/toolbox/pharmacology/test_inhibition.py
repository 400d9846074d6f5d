"""Modes of inhibition against nlstools' data, known constants, and fits and profiles found another way."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_questions import profile_files, the_planner
from scipy import stats
from scipy.optimize import minimize, minimize_scalar
from table_steps import check_issues, run_step

from engine.toolbox.pharmacology.inhibition import enzyme_inhibition

# R package nlstools, dataset vmkmki (INRA UMR1233): two rates at each S and I; its 12 rows of S = 0 (rate 0) are added.
SUBSTRATE, INHIBITOR = [200, 100, 50, 25, 12.5], [0, 6.25, 12.5, 25, 50, 100]
RATES = """18.1 18.8 17.7 18.1 16.4 17.6 13.7 15.5 11 12.7 8.2 7.7 15.4 17.6 15.6 16.7 16.2 15.7 12.8 14.1 11.3 11.3
7.6 7.8 14.7 13.7 13.5 13.4 12.7 12.9 11.2 10.9 9.9 9.2 7.8 7.9 7.2 10.4 7.8 10.3 8.3 10.8 9.5 8.7 6 7.8 5.5 6.6
5.9 7.7 7.1 7.7 6.7 6.8 6.6 6.9 5.6 4.9 4.9 5.5"""
NAMES = {"substrate": "S", "inhibitor": "I", "rate": "v"}
MODES = {
    "competitive": (3.0, np.inf),
    "uncompetitive": (np.inf, 3.0),
    "non-competitive": (4.0, 4.0),
    "mixed": (2.0, 10.0),
    "none": (np.inf, np.inf),
}


def vmkmki():
    s, i = np.repeat(SUBSTRATE, 12), np.tile(np.repeat(INHIBITOR, 2), 5)
    empty = pd.DataFrame({"S": 0.0, "I": np.repeat(INHIBITOR, 2), "v": 0.0})
    return pd.concat([pd.DataFrame({"S": s, "I": i, "v": [float(x) for x in RATES.split()]}), empty], ignore_index=True)


def simulated(mode, noise=1.5, seed=0, levels=(0, 2, 5, 10)):
    ki, ki_prime = MODES[mode]
    s, i = (x.ravel() for x in np.meshgrid(np.repeat([1, 2, 5, 10, 20, 50.0], 2), levels))
    v = 100 * s / (8 * (1 + i / ki) + s * (1 + i / ki_prime))
    return pd.DataFrame({"S": s, "I": i, "v": v + noise * np.random.default_rng(seed).normal(size=len(s))})


def terms(mode, s, i, free):
    """Return s and the denominator of the rate by Km and the constants, apart from Vmax."""
    km, *k = np.exp(free)
    bare = {"none": (0, 0), "competitive": (1, 0), "uncompetitive": (0, 1)}.get(mode, (1, 1))
    return s / (km * (1 + (i / k[0] if bare[0] else 0)) + s * (1 + (i / k[-1] if bare[1] else 0)))


def sse_by_simplex(table, mode, hold=None):
    """Return the least sum of squares, Vmax solved for exactly and the rest by Nelder and Mead, and the constants."""
    s, i, v = table[table["S"] > 0].to_numpy().T
    number = {"none": 1, "mixed": 3}.get(mode, 2)

    def loss(free):
        free = free if hold is None else np.insert(free, hold[0], hold[1])
        shape = terms(mode, s, i, free)
        return ((v - shape * (shape @ v) / (shape @ shape)) ** 2).sum()

    size = number - (hold is not None)
    starts = [np.full(size, value) for value in (1.0, 3.0)] + [np.linspace(3, 1, size)]
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 8000, "maxfev": 8000}
    best = min((minimize(loss, x, method="Nelder-Mead", options=options) for x in starts), key=lambda f: f.fun)
    return best.fun, np.exp(best.x)


def modes(result):
    return result["models"].set_index("mode")


def test_nlstools_competitive_constants():
    # a public scipy script for the dataset's own example (nlstools::compet_mich) prints Vmax 18.05582006,
    # Km 15.21480513, Ki 22.2823522; it stops a little before the minimum
    row = modes(enzyme_inhibition(vmkmki(), **NAMES)).loc["competitive"]
    assert row[["vmax", "km", "ki"]].tolist() == pytest.approx([18.05582006, 15.21480513, 22.2823522], rel=5e-5)
    assert np.isnan(row["ki_prime"])


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_has_the_least_squares_of_another_search(mode):
    table = vmkmki()
    row = modes(enzyme_inhibition(table, **NAMES)).loc[mode]
    sse, constants = sse_by_simplex(table, mode)
    assert row["sse"] == pytest.approx(sse, rel=1e-6)
    if mode not in ("none", "mixed"):
        key = "ki_prime" if mode == "uncompetitive" else "ki"
        assert row[["km", key]].tolist() == pytest.approx(constants.tolist(), rel=1e-4)


def test_aicc_weights_and_f_tests_follow_their_formulas():
    table = modes(enzyme_inhibition(simulated("mixed"), **NAMES))
    n, k = table["n"], table["parameters"] + 1
    aicc = n * np.log(table["sse"] / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
    assert table["aicc"].tolist() == pytest.approx(aicc.tolist())
    weight = np.exp(-(aicc - aicc.min()) / 2)
    assert table["weight"].tolist() == pytest.approx((weight / weight.sum()).tolist())
    full, simple = table.loc["mixed"], table.loc["competitive"]
    f = (simple["sse"] - full["sse"]) / (full["sse"] / 44)  # 48 rates, 4 parameters
    assert simple["f_mixed"] == pytest.approx(f)
    assert simple["p_value"] == pytest.approx(stats.f.sf(f, 1, 44))
    f = (table.loc["none", "sse"] - full["sse"]) / 2 / (full["sse"] / 44)
    assert full["p_inhibition"] == pytest.approx(stats.f.sf(f, 2, 44))
    assert full["margin"] == pytest.approx(table["aicc"].nsmallest(2).iloc[1] - full["aicc"])


def test_profile_limits_are_where_the_sum_of_squares_says():
    table = simulated("competitive")
    result = enzyme_inhibition(table, **NAMES)
    row = result["constants"].set_index(["mode", "constant"]).loc[("competitive", "Ki")]
    sse, _ = sse_by_simplex(table, "competitive")
    target = sse * (1 + stats.f.ppf(0.95, 1, 45) / 45)
    for limit in (row["lower_95"], row["upper_95"]):
        assert sse_by_simplex(table, "competitive", hold=(1, np.log(limit)))[0] == pytest.approx(target, rel=1e-5)
    assert row["lower_95"] < 3 < row["upper_95"]


def test_alpha_has_its_own_profile():
    table = simulated("mixed", noise=3)
    row = enzyme_inhibition(table, **NAMES)["constants"].set_index(["mode", "constant"]).loc[("mixed", "alpha")]
    s, i, v = table.to_numpy().T

    def loss(free, ratio):
        shape = terms("mixed", s, i, [*free, free[1] + np.log(ratio)])
        return ((v - shape * (shape @ v) / (shape @ shape)) ** 2).sum()

    def least(ratio):
        return minimize(loss, [2.0, 1.0], args=(ratio,), method="Nelder-Mead", options={"xatol": 1e-8}).fun

    best = minimize_scalar(lambda log: least(np.exp(log)), bounds=(0, 4), method="bounded", options={"xatol": 1e-6})
    assert row["value"] == pytest.approx(np.exp(best.x), rel=1e-3)
    target = best.fun * (1 + stats.f.ppf(0.95, 1, 44) / 44)
    assert [least(row["lower_95"]), least(row["upper_95"])] == pytest.approx([target, target], rel=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_exact_rates_give_mode_and_constants_back(mode):
    result = enzyme_inhibition(simulated(mode, noise=0), **NAMES)
    row = result["models"].iloc[0]
    assert row["mode"] == mode
    assert row[["vmax", "km"]].tolist() == pytest.approx([100, 8], rel=1e-6)
    for key, value in zip(("ki", "ki_prime"), MODES[mode], strict=True):
        if np.isfinite(value):
            assert row[key] == pytest.approx(value, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "none"])
def test_noisy_rates_mostly_show_their_mode(mode):
    found, covered = [], []
    for seed in range(20):
        result = enzyme_inhibition(simulated(mode, seed=seed), **NAMES)
        found.append(result["models"].loc[0, "mode"] == mode)
        table = result["constants"].set_index(["mode", "constant"])
        key = (mode, "Ki'" if mode == "uncompetitive" else "Ki")
        if key in table.index:
            truth = 3.0 if mode == "uncompetitive" else MODES[mode][0]
            covered.append(table.loc[key, "lower_95"] < truth < table.loc[key, "upper_95"])
    assert np.mean(found) >= 0.75
    assert np.mean(covered) >= 0.85


@pytest.mark.slow
def test_alpha_says_how_far_a_simple_mode_is_from_mixed():
    for mode, low, high in (("competitive", 3, np.inf), ("uncompetitive", 0, 0.3), ("non-competitive", 0.5, 2)):
        result = enzyme_inhibition(simulated(mode, seed=1), **NAMES)
        row = result["constants"].set_index(["mode", "constant"]).loc[("mixed", "alpha")]
        assert low <= row["lower_95"] <= row["value"] <= row["upper_95"] <= high
        assert any(finding["text"].startswith("alpha in the mixed fit is") for finding in result["findings"])


def test_no_inhibition_is_said_and_no_constant_given():
    result = enzyme_inhibition(simulated("none", seed=4), **NAMES)
    assert result["findings"][0]["text"].startswith("No inhibition by I is shown")
    assert not any(finding["text"].startswith("Ki") for finding in result["findings"])
    assert set(result["constants"].query("mode == 'none'")["constant"]) == {"Vmax", "Km"}


def test_where_no_inhibition_is_shown_its_bound_is_told():
    table = simulated("none", seed=4)
    result = enzyme_inhibition(table, **NAMES)
    least = result["models"].set_index("mode").loc["non-competitive", "ki_lower_95"]
    # at the limit the sum of squares is worse by F(1, df) / df than at the best, by another optimiser
    held, best = (sse_by_simplex(table, "non-competitive", hold)[0] for hold in ((1, np.log(least)), None))
    assert held / best == pytest.approx(1 + stats.f.ppf(0.95, 1, 45) / 45, rel=1e-3)
    taken = 100 * 10 / (10 + least)
    assert f"would take at most {taken:.3g} % of the rate" in result["findings"][0]["text"]


@pytest.mark.slow
def test_the_sentence_says_how_sure_the_mode_is():
    sure = enzyme_inhibition(vmkmki(), **NAMES)["findings"][0]
    assert sure["text"].startswith("Inhibition by I is uncompetitive")
    assert "Ki' 72.0 (95 % CI 62.5 to 83.4)" in sure["text"]
    for noise, seed, words in ((12, 0, "cannot tell it from mixed or non-competitive"), (12, 2, "is not excluded")):
        unsure = enzyme_inhibition(simulated("non-competitive", noise=noise, seed=seed), **NAMES)
        close = unsure["models"].query("0 < delta_aicc < 2")["mode"].tolist()
        assert words in unsure["findings"][0]["text"]
        assert all(mode in unsure["findings"][0]["text"].partition("; but ")[2] for mode in close)
    overcome = enzyme_inhibition(simulated("competitive"), **NAMES, inhibitor_unit="uM")["findings"][0]["text"]
    assert "more S overcomes it" in overcome
    assert " uM (95 % CI" in overcome


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10**6), factors=st.tuples(*[st.floats(1e-5, 1e5)] * 3), mode=st.sampled_from(sorted(MODES)[:4])
)
def test_units_and_order_do_not_matter(seed, factors, mode):
    table = simulated(mode, seed=seed)
    plain = enzyme_inhibition(table, **NAMES)
    other = table.sample(frac=1, random_state=seed % 1000) * list(factors)
    scaled = enzyme_inhibition(other, **NAMES)
    one, two = modes(plain), modes(scaled)
    assert two["delta_aicc"].tolist() == pytest.approx(one["delta_aicc"].loc[two.index].tolist(), abs=2e-3)
    best = plain["models"].loc[0, "mode"]
    for key, factor in (("km", factors[0]), ("ki", factors[1]), ("ki_prime", factors[1]), ("vmax", factors[2])):
        assert two.loc[best, key] / factor == pytest.approx(one.loc[best, key], rel=1e-3, nan_ok=True)


@pytest.mark.slow
def test_groups_are_fitted_apart_and_a_hidden_one_is_said():
    both = pd.concat([simulated("competitive").assign(enzyme="WT"), simulated("mixed", seed=2).assign(enzyme="mutant")])
    result = enzyme_inhibition(both, **NAMES, group="enzyme")
    best = result["models"].groupby("curve")["mode"].first()
    assert best.to_dict() == {"WT": "competitive", "mutant": "mixed"}
    alone = enzyme_inhibition(simulated("competitive"), **NAMES)["models"]
    assert result["models"].query("curve == 'WT'")["sse"].tolist() == pytest.approx(alone["sse"].tolist())
    both["v"] *= np.where(both["enzyme"] == "WT", 1, 0.5)
    assert any("by enzyme" in text for text in enzyme_inhibition(both, **NAMES)["warnings"])


@pytest.mark.slow
def test_a_substrate_given_as_the_inhibitor_is_noticed():
    swapped = {"substrate": "I", "inhibitor": "S", "rate": "v", "substrate_unit": "nM"}
    for mode in ("competitive", "uncompetitive", "mixed"):
        table = simulated(mode, seed=1)
        right, wrong = enzyme_inhibition(table, **NAMES), enzyme_inhibition(table, **swapped)
        pd.testing.assert_frame_equal(right["models"], wrong["models"])
        assert "S was taken for the substrate" in wrong["warnings"][0]
    assert " nM (95 % CI" in wrong["findings"][0]["text"]


@pytest.mark.slow
def test_what_spoils_a_mode_is_said():
    def said(table, **more):
        return " ".join(enzyme_inhibition(table, **(NAMES | more))["warnings"])

    table = simulated("competitive", seed=1)
    assert said(table) == ""
    assert "without inhibitor" in said(table.query("I > 0"))
    assert "one inhibitor concentration beside 0" in said(simulated("competitive", levels=(0, 5)))
    assert "is above the fitted Km" in said(simulated("competitive", noise=0.2).query("S >= 10"))
    assert "12 rates without S" in said(vmkmki())
    assert "take this blank off" in said(vmkmki().assign(v=lambda t: t["v"] + 3))
    assert "it activates" in said(table.assign(v=lambda t: t["v"] * (1 + t["I"])))
    assert "below its inhibition constant" in said(simulated("competitive", noise=0.3, levels=(0, 0.5, 1, 2)))
    bent = simulated("competitive", noise=0.5).assign(v=lambda t: t["v"] / (1 + t["S"] / 30))
    assert "misses the rates more than replicates scatter" in said(bent)


BAD = {
    "one level": ({"inhibitor": "flat"}, "one concentration"),
    "few substrates": ({"substrate": "two"}, "at least 3"),
    "uncrossed": ({"inhibitor": "tied"}, "expected several at each"),
    "constant": ({"rate": "flat"}, "constant"),
    "negative": ({"inhibitor": "below"}, "negative values"),
    "words": ({"inhibitor": "word"}, "not numbers"),
    "same": ({"inhibitor": "S"}, "serves twice"),
    "absent": ({"rate": "vv"}, "no column 'vv'"),
    "short": ({"group": "row"}, "at least"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    table = simulated("mixed").assign(flat=3.0, word="low", two=lambda t: 1 + (t["S"] > 5), below=lambda t: t["I"] - 1)
    table["tied"], table["row"] = np.where(table["S"] == 50, 5, 0), np.arange(len(table)) % 12
    with pytest.raises(ValueError, match=r".") as error:
        enzyme_inhibition(table, **(NAMES | params))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["competitive", "mixed", "none", "group"])
def test_step_runs_from_its_own_source_and_passes_its_checks(case, tmp_path):
    params, table = dict(NAMES), simulated(case if case in MODES else "mixed", noise=4, seed=4)
    if case == "group":
        params["group"], table["strain"] = "strain", np.tile(["a", "b"], len(table) // 2)
    record, tables, issues = run_step(enzyme_inhibition, {"table": table}, params, tmp_path)
    assert issues == []
    assert all(finding["row"] for finding in record["findings"])
    assert not any("nan" in finding["text"].split() for finding in record["findings"])
    wrong = tables["models"].assign(sse=lambda t: t["sse"].where(t["mode"] != "mixed", 1e9))
    outputs = {"models": wrong, "constants": tables["constants"]}
    assert check_issues(["modes_are_ranked"], outputs, tmp_path) == ["modes_out_of_order"] * wrong["curve"].nunique()


def test_plain_questions_plan_it(tmp_path):
    planner = the_planner()
    simulated("competitive").set_axis(["S_uM", "I_uM", "v"], axis=1).to_csv(tmp_path / "one.csv", index=False)
    profile = profile_files([tmp_path / "one.csv"])
    for question in ("Is the inhibitor competitive, and what is its Ki?", "mode of inhibition and Ki"):
        (step,) = [node for node in planner.plan(question, profile).plan.nodes if node.tool == "enzyme_inhibition"]
        assert [step.params.get(key) for key in NAMES] == ["S_uM", "I_uM", "v"]
