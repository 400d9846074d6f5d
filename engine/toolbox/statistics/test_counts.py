"""Count regression against R's documented fits, Bliss and Fisher's mites, closed forms and direct maximisation."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from table_steps import check_issues, run_step

from engine.toolbox.statistics.counts import best_dispersion, count_regression, expected_zeros, fit_counts
from engine.toolbox.statistics.linear import variance_inflation

# R's ?glm, Dobson (1990): a randomised controlled trial.
DOBSON = pd.DataFrame(
    {"n": [18, 17, 15, 20, 10, 20, 25, 13, 12], "outcome": [1, 2, 3] * 3, "treatment": np.repeat([1, 2, 3], 3)}
)
# R's `warpbreaks` (Tukey 1977), the letters so that R's reference levels come first.
WARPBREAKS = pd.DataFrame(
    {
        "breaks": [26, 30, 54, 25, 70, 52, 51, 26, 67, 18, 21, 29, 17, 12, 18, 35, 30, 36, 36, 21, 24, 18, 10, 43, 28,
                   15, 26, 27, 14, 29, 19, 29, 31, 41, 20, 44, 42, 26, 19, 16, 39, 28, 21, 39, 29, 20, 21, 24, 17, 13,
                   15, 15, 16, 28],
        "wool": ["A"] * 27 + ["B"] * 27,
        "tension": (["1L"] * 9 + ["2M"] * 9 + ["3H"] * 9) * 2,
    }
)  # fmt: skip
# Bliss and Fisher (1953) Biometrics 9:176: European red mites on 150 apple leaves.
MITES = np.repeat(range(8), [70, 38, 17, 10, 9, 3, 2, 1])
# Boice and Monson (1977): breast cancers and woman-years with and without repeated fluoroscopy.
FLUOROSCOPY = pd.DataFrame({"cases": [15, 41], "years": [19017, 28010], "exposed": ["no", "yes"]})


def terms(result):
    return result["coefficients"].set_index("term")


def diagnostic(result, words):
    table = result["diagnostics"]
    found = table[table["check"].str.contains(words, regex=False)]
    assert len(found) == 1
    return found.iloc[0]


def simulated(n=400, alpha=0.8, seed=3):
    rng = np.random.default_rng(seed)
    x, site = rng.normal(size=n), rng.integers(0, 3, n)
    mean = np.exp(1 + 0.4 * x + 0.3 * (site == 2))
    y = rng.poisson(mean * rng.gamma(1 / alpha, alpha, n)) if alpha else rng.poisson(mean)
    return pd.DataFrame({"y": y, "x": x, "site": np.array(["a", "b", "c"])[site]})


def test_dobsons_trial_matches_rs_manual():
    # R: glm(counts ~ outcome + treatment, poisson): 3.045 (0.1709), -0.4543 (0.2022), -0.2930 (0.1927), treatment 0
    # (0.2000); residual deviance 5.1291 on 4 df, AIC 56.76; null deviance 10.5814
    result = count_regression(
        DOBSON, count="n", predictors=["outcome", "treatment"], categorical=["outcome", "treatment"]
    )
    table = terms(result)
    assert table["coef"].tolist() == pytest.approx([3.045, -0.4543, -0.2930, 0, 0], abs=6e-4)
    assert table["se"].tolist() == pytest.approx([0.1709, 0.2022, 0.1927, 0.2, 0.2], abs=6e-5)
    assert table.loc["outcome[2 vs 1]", "p_value"] == pytest.approx(0.0246, abs=5e-5)
    assert diagnostic(result, "deviance")["value"] == pytest.approx(5.1291, abs=5e-5)
    assert diagnostic(result, "AIC")["value"] == pytest.approx(56.76, abs=5e-3)
    assert diagnostic(result, "test of the model")["value"] == pytest.approx(10.5814 - 5.1291, abs=1e-4)
    outcome = result["factor_tests"].set_index("factor").loc["outcome"]
    assert (outcome["statistic"], outcome["df"]) == pytest.approx((5.4523, 2), abs=1e-4)  # R: anova, Deviance 5.4523
    assert any(finding["text"].startswith("Poisson model") for finding in result["findings"])


def test_warpbreaks_are_overdispersed_and_match_r():
    # R: glm(breaks ~ wool + tension, poisson): 3.69196 (0.04541), -0.20599 (0.05157), -0.32132 (0.06027), -0.51849
    # (0.06396); deviance 210.39; MASS::glm.nb on the same: 2 log-likelihood -398.764, theta 9.944, AIC 408.76
    poisson = count_regression(WARPBREAKS, count="breaks", predictors=["wool", "tension"], model="poisson")
    assert terms(poisson)["coef"].tolist() == pytest.approx([3.69196, -0.20599, -0.32132, -0.51849], abs=6e-6)
    assert terms(poisson)["se"].tolist() == pytest.approx([0.04541, 0.05157, 0.06027, 0.06396], abs=6e-6)
    assert diagnostic(poisson, "deviance")["value"] == pytest.approx(210.39, abs=5e-3)
    assert any("4.3 times as much" in text for text in poisson["warnings"])
    chosen = count_regression(WARPBREAKS, count="breaks", predictors=["wool", "tension"])
    assert any(finding["text"].startswith("Negative binomial model") for finding in chosen["findings"])
    assert 2 * diagnostic(chosen, "log-likelihood")["value"] == pytest.approx(-398.764, abs=5e-4)
    assert diagnostic(chosen, "dispersion alpha")["value"] == pytest.approx(1 / 9.944, abs=5e-5)
    assert diagnostic(chosen, "AIC")["value"] == pytest.approx(408.76, abs=5e-3)
    assert not any("times as much" in text for text in chosen["warnings"])


def test_mites_have_bliss_and_fishers_k():
    # k = 1.02459 by maximum likelihood, mean 1.14667; expected zeros 69.49 of 150
    table = pd.DataFrame({"mites": np.tile(MITES, 2), "side": np.repeat(["left", "right"], len(MITES))})
    result = count_regression(table, count="mites", predictors=["side"])
    assert 1 / diagnostic(result, "dispersion alpha")["value"] == pytest.approx(1.02459, abs=5e-5)
    assert math.exp(terms(result).loc["Intercept", "coef"]) == pytest.approx(1.14667, abs=5e-6)
    assert terms(result)["rate_ratio"].iloc[1] == pytest.approx(1)
    assert diagnostic(result, "zeros observed")["value"] == 140
    assert diagnostic(result, "zeros expected")["value"] == pytest.approx(2 * 69.49, abs=0.02)


def test_person_years_give_the_published_rate_ratio():
    # Rothman and Greenland, Modern Epidemiology: rate ratio 1.86, 95 % CI 1.03 to 3.35; standard error in closed form
    table = pd.concat([FLUOROSCOPY] * 2).assign(
        cases=[10, 20, 5, 21], years=[12000, 14010, 7017, 14000]
    )  # split strata: only the sums per group decide a saturated Poisson fit
    result = count_regression(table, count="cases", predictors=["exposed"], exposure="years", model="poisson")
    ratio = terms(result).loc["exposed[yes vs no]"]
    assert ratio["rate_ratio"] == pytest.approx(41 / 28010 / (15 / 19017))
    assert ratio["rate_ratio"] == pytest.approx(1.86, abs=5e-3)
    assert (ratio["lower_95"], ratio["upper_95"]) == pytest.approx((1.03, 3.35), abs=5e-3)
    assert ratio["se"] == pytest.approx(math.sqrt(1 / 41 + 1 / 15))
    assert (
        "Rate of cases is 85.6 % higher in exposed = yes than in exposed = no: 1.46 against 0.789 per 1,000 years"
        in result["findings"][0]["text"]
    )


def test_negative_binomial_is_the_maximum_of_the_likelihood():
    from scipy.optimize import minimize
    from scipy.stats import nbinom

    table = simulated(200)
    x = np.column_stack([np.ones(len(table)), table["x"]])

    def loss(parameters):
        mu, size = np.exp(x @ parameters[:2]), np.exp(-parameters[2])
        return -nbinom.logpmf(table["y"], size, size / (size + mu)).sum()

    best = minimize(loss, [1.0, 0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    result = count_regression(table, count="y", predictors=["x"], model="negative_binomial")
    assert terms(result)["coef"].tolist() == pytest.approx(best.x[:2], abs=1e-5)
    assert diagnostic(result, "dispersion alpha")["value"] == pytest.approx(math.exp(best.x[2]), rel=1e-4)
    assert diagnostic(result, "log-likelihood")["value"] == pytest.approx(-best.fun, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.8])
def test_factor_test_is_the_gain_of_likelihood_over_the_model_without_it(alpha):
    table = simulated(300, alpha)
    result = count_regression(table, count="y", predictors=["x", "site"])
    without = count_regression(table, count="y", predictors=["x"])
    gain = 2 * (diagnostic(result, "log-likelihood")["value"] - diagnostic(without, "log-likelihood")["value"])
    row = result["factor_tests"].iloc[0]
    assert (row["factor"], row["df"]) == ("site", 2)
    assert row["statistic"] == pytest.approx(gain, abs=1e-5)
    assert row["p_value"] == pytest.approx(math.exp(-gain / 2), rel=1e-4)  # two degrees of freedom
    assert without["factor_tests"] is None


@pytest.mark.slow
def test_auto_keeps_poisson_for_poisson_counts_and_not_for_others():
    kept = [
        diagnostic(count_regression(simulated(150, 0, seed), count="y", predictors=["x", "site"]), "dispersion alpha")[
            "value"
        ]
        for seed in range(20)
    ]
    # At the 5 % level 20 draws hold one overdispersed on average; four or more come by chance once in 60.
    assert sum(value > 0 for value in kept) <= 3
    assert diagnostic(count_regression(simulated(), count="y", predictors=["x"]), "dispersion alpha")["value"] > 0


def test_exposure_is_an_offset():
    table = simulated(100, 0).assign(hours=np.tile([1.0, 2.0, 5.0, 10.0], 25))
    once = count_regression(table, count="y", predictors=["x"], exposure="hours", model="poisson")
    minutes = table.assign(hours=table["hours"] * 60)
    again = count_regression(minutes, count="y", predictors=["x"], exposure="hours", model="poisson")
    assert terms(again).loc["x", "rate_ratio"] == pytest.approx(terms(once).loc["x", "rate_ratio"])
    shift = terms(once).loc["Intercept", "coef"] - terms(again).loc["Intercept", "coef"]
    assert shift == pytest.approx(math.log(60))


def test_clustered_errors_are_the_sandwich_by_hand():
    table = simulated(120, 0).assign(animal=np.repeat(range(40), 3))
    result = count_regression(table, count="y", predictors=["x", "site"], cluster="animal", model="poisson")
    x = np.column_stack([np.ones(120), table["x"], table["site"] == "b", table["site"] == "c"]).astype(float)
    beta = terms(result)["coef"].to_numpy()
    mu = np.exp(x @ beta)
    assert np.allclose(x.T @ (table["y"] - mu), 0, atol=1e-5)
    bread = np.linalg.inv((x * mu[:, None]).T @ x)
    scores = (x * (table["y"] - mu).to_numpy()[:, None]).reshape(40, 3, 4).sum(axis=1)
    robust = bread @ scores.T @ scores @ bread * 40 / 39 * 119 / 116
    assert terms(result)["se"].tolist() == pytest.approx(np.sqrt(np.diag(robust)), rel=1e-6)
    wald = beta[2:] @ np.linalg.inv(robust[2:, 2:]) @ beta[2:]
    assert result["factor_tests"]["statistic"].tolist() == pytest.approx([wald], rel=1e-6)
    assert result["factor_tests"]["test"].tolist() == ["Wald test with robust errors"]
    assert diagnostic(result, "clusters")["value"] == 40
    few = count_regression(table.assign(animal=table["animal"] % 10), count="y", predictors=["x"], cluster="animal")
    assert any("Only 10 clusters" in text for text in few["warnings"])


def test_copied_rows_do_not_make_clustered_errors_smaller():
    table = simulated(60, 0).assign(animal=range(60))
    once = count_regression(table, count="y", predictors=["x"], cluster="animal", model="poisson")
    thrice = count_regression(pd.concat([table] * 3), count="y", predictors=["x"], cluster="animal", model="poisson")
    naive = count_regression(pd.concat([table] * 3), count="y", predictors=["x"], model="poisson")
    assert terms(thrice).loc["x", "se"] == pytest.approx(terms(once).loc["x", "se"], rel=0.02)
    assert terms(naive).loc["x", "se"] < 0.7 * terms(thrice).loc["x", "se"]


def test_expected_zeros_in_closed_form_and_excess_is_warned_of():
    assert expected_zeros(np.array([1.0, 2.0]), 0)[0] == pytest.approx(math.exp(-1) + math.exp(-2))
    assert expected_zeros(np.array([3.0]), 1.0) == pytest.approx((0.25, math.sqrt(0.1875)))
    table = simulated(200, 0)
    empty = table.assign(y=np.where(np.arange(200) % 2, table["y"] + 5, 0))
    result = count_regression(empty, count="y", predictors=["x"], model="poisson")
    assert any("zeros against" in text for text in result["warnings"])
    plain = count_regression(table, count="y", predictors=["x"], model="poisson")
    assert not any("zeros against" in text for text in plain["warnings"])


def test_control_like_level_is_the_reference():
    table = simulated().replace({"site": {"a": "treated", "b": "control", "c": "other"}})
    assert list(terms(count_regression(table, count="y", predictors=["site"])).index) == [
        "Intercept", "site[other vs control]", "site[treated vs control]"]  # fmt: skip


def test_missing_rows_are_counted():
    table = simulated().assign(hours=1.0)
    table.loc[:4, "hours"] = np.nan
    result = count_regression(table, count="y", predictors=["x"], exposure="hours")
    assert any("5 of 400 rows" in text and "hours (5)" in text for text in result["warnings"])
    assert diagnostic(result, "rows")["value"] == 395


PLAIN = pd.DataFrame({"y": [1, 2, 0, 4, 3, 2], "g": list("aaabbb"), "x": [1.0, 2, 3, 4, 5, 6]})
BAD = {
    "fractions": (PLAIN.assign(y=PLAIN["y"] + 0.5), {"predictors": ["g"]}, "whole numbers"),
    "negative": (PLAIN.assign(y=-PLAIN["y"]), {"predictors": ["g"]}, "negative"),
    "only zeros": (PLAIN.assign(y=0), {"predictors": ["g"]}, "Every count"),
    "zero exposure": (PLAIN.assign(t=[0, 1, 1, 1, 1, 1]), {"predictors": ["g"], "exposure": "t"}, "must be positive"),
    "a group of zeros": (PLAIN.assign(y=[0, 0, 0, 4, 3, 2]), {"predictors": ["g"]}, "g = a is 0 (3 rows)"),
    "separated by a number": (PLAIN.assign(y=[0, 0, 0, 4, 3, 2], x=[1, 1, 1, 2, 2, 2]), {"predictors": ["x"]},
                              "only zeros apart"),
    "used twice": (PLAIN, {"predictors": ["g"], "exposure": "g"}, "serves twice"),
    "count as predictor": (PLAIN, {"predictors": ["y"]}, "both the outcome and a predictor"),
    "no predictor": (PLAIN, {"predictors": []}, "at least one column"),
    "no such column": (PLAIN, {"predictors": ["xx"]}, "did you mean 'x'"),
    "too few clusters": (PLAIN, {"predictors": ["x"], "cluster": "g"}, "names 2 clusters"),
    "no overdispersion": (PLAIN.assign(y=2), {"predictors": ["x"], "model": "negative_binomial"}, "no overdispersion"),
    "empty": (PLAIN.iloc[:0], {"predictors": ["g"]}, "no rows"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    table, params, words = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        count_regression(table, count="y", **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_repair_fits_the_failure_it_names():
    table, params, _ = BAD["no overdispersion"]
    with pytest.raises(ValueError) as error:
        count_regression(table, count="y", **params)
    (repair,) = count_regression.tool_spec.repairs
    assert re.search(repair.pattern, str(error.value))
    assert count_regression(table, count="y", **(params | repair.change))["findings"]


def test_dispersion_of_poisson_counts_is_at_the_edge():
    design = pd.DataFrame({"Intercept": np.ones(6)})
    alpha, height = best_dispersion(pd.Series([2.0] * 6), design, np.zeros(6))
    assert alpha < 1e-4
    assert height == pytest.approx(fit_counts(pd.Series([2.0] * 6), design, np.zeros(6)).llf, abs=1e-3)


STEPS = {
    "overdispersed": (WARPBREAKS, {"count": "breaks", "predictors": ["wool", "tension"]}),
    "rates": (simulated(80, 0).assign(t=2.0), {"count": "y", "predictors": ["x"], "exposure": "t"}),
    "clusters": (simulated(120).assign(id=np.repeat(range(30), 4)),
                 {"count": "y", "predictors": ["x", "site"], "cluster": "id"}),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_step_runs_from_its_own_source_and_passes_its_checks(name, tmp_path):
    table, params = STEPS[name]
    record, _, issues = run_step(count_regression, {"table": table}, params, tmp_path)
    assert issues == []
    assert 2 <= len(record["findings"]) <= 10
    assert count_regression.tool_spec.answers == ["count_regression"]


def test_wrong_rate_ratios_are_caught(tmp_path):
    table = count_regression(WARPBREAKS, count="breaks", predictors=["wool"])["coefficients"]
    name = ["rate_ratios_match"]
    assert check_issues(name, {"coefficients": table}, tmp_path) == []
    assert "rate_ratio_differs" in check_issues(name, {"coefficients": table.assign(coef=-table["coef"])}, tmp_path)
    assert "standard_error" in check_issues(name, {"coefficients": table.assign(se=0.0)}, tmp_path)
    assert "interval_without_estimate" in check_issues(name, {"coefficients": table.assign(upper_95=0.0)}, tmp_path)


def test_the_first_sentence_is_about_the_predictor_named_first():
    """Simulated: age matters little and noise a lot, yet age is what is asked about, of counts and of a yes/no."""
    from engine.toolbox.statistics.logistic import logistic_regression

    rng = np.random.default_rng(4)
    table = pd.DataFrame({"age": rng.normal(50, 9, 300), "noise": rng.normal(0, 1, 300)})
    table["falls"] = rng.poisson(np.exp(0.3 + 0.01 * table["age"] + 0.8 * table["noise"]))
    table["ill"] = np.where(rng.random(300) < 1 / (1 + np.exp(-1.5 * table["noise"])), "yes", "no")
    for first in (
        count_regression(table, count="falls", predictors=["age", "noise"], adjusted=["noise"])["findings"][0],
        logistic_regression(table, outcome="ill", predictors=["age", "noise"], event_value="yes", adjusted=["noise"])[
            "findings"
        ][0],
    ):
        assert first["row"] == {"term": "age"}
        assert "95 % CI" in first["text"]


def test_of_equal_inflation_factors_the_first_is_named_whatever_the_rounding():
    design = pd.DataFrame(
        {"Intercept": 1.0} | {f"spray[{k}]": np.repeat(np.arange(6) == k, 12) * 1.0 for k in range(1, 6)}
    )
    for seed in range(20):  # the order of rows changes the rounding, as another machine does
        mixed = design.sample(frac=1, random_state=seed)
        assert variance_inflation(mixed) == (pytest.approx(5 / 3), "spray[1]")
