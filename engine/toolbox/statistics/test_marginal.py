"""Marginal means and contrasts against emmeans' documented output, statsmodels' contrasts and closed forms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from table_steps import run_step
from test_statistics import WARPBREAKS

from engine.toolbox.statistics.anova import anova
from engine.toolbox.statistics.counts import count_regression
from engine.toolbox.statistics.linear import linear_regression
from engine.toolbox.statistics.logistic import logistic_regression
from engine.toolbox.statistics.mixed import mixed_model
from engine.toolbox.statistics.test_mixed import TEETH, clinic
from engine.toolbox.tables.columns import format_p

# R's emmeans::pigs: leucine by source and percentage of protein; its cell means are printed in the vignette "basics".
CELLS = {
    ("fish", 9): [27.8, 23.7], ("fish", 12): [31.5, 28.5, 32.8], ("fish", 15): [34.0, 28.3],
    ("fish", 18): [30.6, 32.7, 33.7], ("soy", 9): [39.3, 34.8, 29.8], ("soy", 12): [39.8, 40.0, 39.1],
    ("soy", 15): [38.5, 39.2, 40.0], ("soy", 18): [42.9], ("skim", 9): [40.6, 31.0, 34.6],
    ("skim", 12): [42.9, 50.1, 37.4], ("skim", 15): [59.5, 41.4], ("skim", 18): [59.8],
}  # fmt: skip
PIGS = pd.DataFrame([(*key, x) for key, values in CELLS.items() for x in values], columns=["source", "percent", "conc"])
PIGS["log_conc"] = np.log(PIGS["conc"])


def mean_of(result, factor, level, within=None):
    table = result["marginal_means"]
    rows = table[(table["factor"] == factor) & (table["level"] == level) & (table["within"] == (within or ""))]
    assert len(rows) == 1
    return rows.iloc[0]


def contrast(result, name):
    return result["contrasts"].set_index("comparison").loc[name]


# ==== linear models, against emmeans ====


@pytest.mark.parametrize("fit", ["linear", "anova"])
def test_pigs_match_the_emmeans_vignettes(fit):
    # emmeans(lm(log(conc) ~ source + factor(percent), pigs), "source"), man page of `lsmeans`: fish 3.39 0.0367 23
    # 3.32 3.47; soy 3.67 0.0374 3.59 3.74; skim 3.80 0.0394 3.72 3.88. Vignette "comparisons", pairs(): fish - soy
    # -0.273 0.0529 23 -5.153 0.0001; fish - skim -0.402 0.0542 -7.428 <.0001; soy - skim -0.130 0.0530 -2.442 0.0570;
    # vignette "confidence-intervals": percent12 - percent9 0.1796 0.0561 23 3.202
    result = (
        linear_regression(PIGS, outcome="log_conc", predictors=["source", "percent"], categorical=["percent"])
        if fit == "linear" else
        anova(PIGS, value="log_conc", factors=["source", "percent"], interaction=False)
    )  # fmt: skip
    for level, mean, se, low, high in (("fish", 3.39, 0.0367, 3.32, 3.47), ("soy", 3.67, 0.0374, 3.59, 3.74),
                                       ("skim", 3.80, 0.0394, 3.72, 3.88)):  # fmt: skip
        row = mean_of(result, "source", level)
        assert row[["mean", "lower_95", "upper_95"]].tolist() == pytest.approx([mean, low, high], abs=5e-3)
        assert (row["se"], row["df"]) == (pytest.approx(se, abs=5e-5), 23)
    for name, sign, estimate, se, t, p in (
        ("soy vs fish", 1, 0.2728, 0.0529, 5.153, 0.0001), ("skim vs fish", 1, 0.4023, 0.0542, 7.428, 0.00005),
        ("soy vs skim", -1, 0.1295, 0.0530, 2.442, 0.0570),
    ):  # fmt: skip
        row = contrast(result, f"source: {name}")
        assert (sign * row["estimate"], row["se"]) == pytest.approx((estimate, se), abs=5.1e-5)
        assert sign * row["statistic"] == pytest.approx(t, abs=5e-4)
        assert row["p_adj"] == pytest.approx(p, abs=5.1e-5)
        assert row["adjustment"] == "Tukey (3 levels)"
    assert contrast(result, "percent: 12 vs 9")["statistic"] == pytest.approx(3.202, abs=5e-4)


def test_pigs_with_a_covariate_match_emmeans():
    # pairs(emmeans(lm(conc ~ source + percent, pigs), ~ source)): fish - soy -9.48 2.27 25 -4.182 0.0009; fish - skim
    # -15.62 2.34 -6.672 <.0001; soy - skim -6.14 2.30 -2.668 0.0341
    result = linear_regression(PIGS, outcome="conc", predictors=["source", "percent"])
    for name, estimate, se, t, p in (("soy vs fish", 9.48, 2.27, 4.182, 0.0009), ("soy vs skim", -6.14, 2.30, -2.668,
                                     0.0341), ("skim vs fish", 15.62, 2.34, 6.672, 0.00001)):  # fmt: skip
        row = contrast(result, f"source: {name}")
        assert (row["estimate"], row["se"]) == pytest.approx((estimate, se), abs=5e-3)
        assert (row["statistic"], row["df"]) == (pytest.approx(t, abs=5e-4), 25)
        assert row["p_adj"] == pytest.approx(p, abs=5e-5)
    assert mean_of(result, "source", "fish")["held"] == "percent = 12.93 (mean)"
    assert set(result["contrasts"]["factor"]) == {"source"}
    ancova = anova(PIGS, value="conc", factors=["source", "percent"], continuous=["percent"], interaction=False)
    assert contrast(ancova, "source: soy vs fish")["estimate"] == pytest.approx(9.478475, abs=1e-6)
    assert mean_of(ancova, "source", "skim")["mean"] == pytest.approx(mean_of(result, "source", "skim")["mean"])


@pytest.mark.parametrize("fit", ["linear", "anova"])
def test_warpbreaks_with_an_interaction_match_emmeans(fit):
    # warp.lm <- lm(breaks ~ wool * tension): emmeans(warp.lm, ~ wool * tension) as Lenth printed it
    # (stats.stackexchange.com/q/369532): A L 44.55556 3.646761 48 37.22325 51.88786; B M 28.77778 21.44547 36.11008;
    # the first level of summary(warp.lm): woolB -16.333 5.157 -3.167 0.002677. lsmeans of tension: L 36.38889 2.57865
    # 31.20417 41.57361 (rstudio-pubs 225525)
    result = (
        linear_regression(WARPBREAKS, outcome="breaks", predictors=["wool", "tension"], interaction=True)
        if fit == "linear" else anova(WARPBREAKS, value="breaks", factors=["wool", "tension"])
    )  # fmt: skip
    for wool, tension, mean, low, high in (("A", "L", 44.55556, 37.22325, 51.88786), ("B", "M", 28.77778, 21.44547,
                                           36.11008)):  # fmt: skip
        row = mean_of(result, "wool", wool, f"tension = {tension}")
        assert row[["mean", "se", "lower_95", "upper_95"]].tolist() == pytest.approx(
            [mean, 3.646761, low, high], abs=6e-6
        )
        assert row["n"] == 9
    slack = mean_of(result, "tension", "L")
    expected = [36.38889, 2.57865, 31.20417, 41.57361]
    assert slack[["mean", "se", "lower_95", "upper_95"]].tolist() == pytest.approx(expected, abs=6e-6)
    simple = contrast(result, "wool: B vs A (tension = L)")
    assert simple[["estimate", "se", "statistic"]].tolist() == pytest.approx([-16.333, 5.157, -3.167], abs=5e-4)
    assert simple["p_value"] == pytest.approx(0.002677, abs=5e-7)
    assert simple["adjustment"] == "none (one comparison)"
    said = " ".join(finding["text"] for finding in result["findings"])
    # R: anova(warp.lm): wool:tension F 4.1891, p 0.02104
    assert "F(2, 48) = 4.189, p = 0.021" in said
    assert "lower in B than in A where tension = L: 28.2 against 44.6, difference 16.3" in said


def test_one_factor_is_tukeys_test_of_scipy():
    groups = [PIGS.loc[PIGS["source"] == name, "conc"] for name in ("fish", "skim", "soy")]
    reference = stats.tukey_hsd(*groups)
    result = linear_regression(PIGS, outcome="conc", predictors=["source"])
    row = contrast(result, "source: soy vs skim")
    assert row["p_adj"] == pytest.approx(reference.pvalue[2, 1], rel=1e-5)
    assert row["lower_95"] == pytest.approx(reference.confidence_interval().low[2, 1], rel=1e-5)
    assert mean_of(result, "source", "soy")["mean"] == pytest.approx(groups[2].mean())


def test_robust_errors_reach_the_contrasts():
    result = linear_regression(PIGS, outcome="conc", predictors=["source", "percent"], robust_se=True)
    fit = smf.ols("conc ~ C(source) + percent", PIGS).fit(cov_type="HC3", use_t=True)
    test = fit.t_test([[0, -1, 1, 0]])
    row = contrast(result, "source: soy vs skim")
    assert (row["estimate"], row["se"]) == pytest.approx((test.effect[0], test.sd[0, 0]))


def test_tables_pass_their_checks_when_run_as_a_step(tmp_path):
    params = {"outcome": "breaks", "predictors": ["wool", "tension"], "interaction": True}
    record, tables, issues = run_step(linear_regression, {"table": WARPBREAKS}, params, tmp_path)
    assert not issues
    assert record["findings"][0]["row"] == {"check": "interaction of wool and tension (F test)"}
    assert tables["contrasts"]["comparison"].is_unique


def test_an_interaction_without_a_second_predictor_or_a_full_table_is_repaired():
    import re

    (repair,) = linear_regression.tool_spec.repairs
    empty = WARPBREAKS[(WARPBREAKS["wool"] == "A") | (WARPBREAKS["tension"] == "L")]
    for data, predictors in ((WARPBREAKS, ["wool"]), (empty, ["wool", "tension"])):
        with pytest.raises(ValueError) as error:
            linear_regression(data, outcome="breaks", predictors=predictors, interaction=True)
        assert re.search(repair.pattern, str(error.value))


def test_no_factor_or_too_many_levels_give_no_tables():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {"y": rng.normal(size=60), "x": rng.normal(size=60), "plate": np.tile([f"p{i}" for i in range(13)], 5)[:60]}
    )
    for predictors in (["x"], ["plate", "x"]):
        result = linear_regression(data, outcome="y", predictors=predictors)
        assert result["marginal_means"] is None
        assert result["contrasts"] is None


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.floats(0.01, 100), st.floats(-50, 50), st.integers(0, 10**6))
def test_units_order_and_names_change_no_test(scale, shift, seed):
    other = PIGS.sample(frac=1, random_state=seed).assign(conc=lambda d: d["conc"] * scale + shift)
    other["source"] = other["source"].replace({"fish": "z", "soy": "y", "skim": "x"})
    one = linear_regression(PIGS, outcome="conc", predictors=["source", "percent"])
    two = linear_regression(other, outcome="conc", predictors=["source", "percent"])
    first, second = contrast(one, "source: soy vs fish"), contrast(two, "source: z vs y")
    assert second["estimate"] == pytest.approx(-first["estimate"] * scale)
    assert second["p_adj"] == pytest.approx(first["p_adj"], rel=1e-4)
    mean = mean_of(one, "source", "soy")["mean"]
    assert mean_of(two, "source", "y")["mean"] == pytest.approx(mean * scale + shift)


# ==== probabilities, rates, and models with subjects ====


def test_logistic_contrasts_are_those_of_statsmodels(tmp_path):
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"drug": rng.choice(["a", "b", "c"], 150), "sex": rng.choice(["f", "m"], 150),
                         "age": rng.normal(50, 10, 150)})  # fmt: skip
    chance = 1 / (1 + np.exp(-((data["drug"] == "b") * 1.2 + (data["sex"] == "m") - 0.5)))
    data["ill"] = np.where(rng.random(150) < chance, "yes", "no")
    params = {"outcome": "ill", "predictors": ["drug", "sex", "age"]}
    record, tables, issues = run_step(logistic_regression, {"table": data}, params, tmp_path)
    assert not issues
    fit = smf.glm(
        "y ~ C(drug) + C(sex) + age", data.assign(y=(data["ill"] == "yes") * 1), family=sm.families.Binomial()
    ).fit()
    rows = np.array(
        [[1, 0, 0, 0.5, data["age"].mean()], [1, 1, 0, 0.5, data["age"].mean()], [1, 0, 1, 0.5, data["age"].mean()]]
    )
    link = fit.t_test(rows)
    means = tables["marginal_means"].query("factor == 'drug'")
    for column, values in (
        ("mean", link.effect),
        ("lower_95", link.conf_int()[:, 0]),
        ("upper_95", link.conf_int()[:, 1]),
    ):
        assert means[column].tolist() == pytest.approx((1 / (1 + np.exp(-values))).tolist(), rel=1e-5)
    row = tables["contrasts"].set_index("comparison").loc["drug: c vs b"]
    pair = fit.t_test([rows[2] - rows[1]])
    assert (row["estimate"], row["se"]) == pytest.approx((pair.effect[0], pair.sd[0, 0]), rel=1e-5)
    z = abs(pair.effect[0] / pair.sd[0, 0]) * np.sqrt(2)
    assert row["p_adj"] == pytest.approx(stats.studentized_range.sf(z, 3, np.inf), rel=1e-4)
    assert row["effect"] == pytest.approx(np.exp(pair.effect[0]), rel=1e-5)
    assert record["findings"][0]["text"].startswith("Adjusted probability of ill = yes")


def test_one_factor_gives_the_observed_share_and_woolfs_interval():
    data = pd.DataFrame({"exposed": ["yes"] * 30 + ["no"] * 40, "ill": [1] * 18 + [0] * 12 + [1] * 10 + [0] * 30})
    result = logistic_regression(data, outcome="ill", predictors=["exposed"])
    assert mean_of(result, "exposed", "yes")["mean"] == pytest.approx(18 / 30)
    row = contrast(result, "exposed: yes vs no")
    half = 1.959964 * np.sqrt(1 / 18 + 1 / 12 + 1 / 10 + 1 / 30)
    assert row["effect"] == pytest.approx(18 * 30 / (12 * 10))
    assert row["lower_95"] == pytest.approx(4.5 * np.exp(-half), rel=1e-5)
    assert "higher in exposed = yes than in exposed = no: 60 % against 25 %" in result["findings"][0]["text"]


def test_separated_outcomes_get_no_wald_contrasts():
    data = pd.DataFrame({"exposed": ["no"] * 10 + ["yes"] * 10, "ill": [0] * 10 + [1] * 4 + [0] * 6})
    assert logistic_regression(data, outcome="ill", predictors=["exposed"])["contrasts"] is None


def test_rates_of_one_factor_are_counts_over_exposure():
    data = pd.DataFrame(
        {"site": list("aaabbbccc"), "hits": [3, 6, 5, 9, 12, 8, 30, 22, 25], "hours": [2, 3, 2, 4, 4, 3, 5, 4, 4]}
    )
    result = count_regression(data, count="hits", predictors=["site"], exposure="hours", model="poisson")
    sums = data.groupby("site")[["hits", "hours"]].sum()
    rates = sums["hits"] / sums["hours"]
    for site, rate in rates.items():
        row = mean_of(result, "site", site)
        assert row["mean"] == pytest.approx(rate, rel=1e-6)
        assert row["se"] == pytest.approx(1 / np.sqrt(sums.loc[site, "hits"]), rel=1e-6)
    row = contrast(result, "site: c vs a")
    half = stats.studentized_range.ppf(0.95, 3, np.inf) / np.sqrt(2) * np.sqrt(1 / 14 + 1 / 77)
    assert row["effect"] == pytest.approx(rates["c"] / rates["a"], rel=1e-6)
    assert row["upper_95"] == pytest.approx(rates["c"] / rates["a"] * np.exp(half), rel=1e-4)
    text = result["findings"][0]["text"]
    assert text.startswith("Rate of hits differs by site (p = ")
    assert f"c {rates['c']:.2f}, b {rates['b']:.2f} and a {rates['a']:.2f} per hour" in text


def test_a_mixed_models_contrast_between_subjects_is_a_t_test_of_their_means():
    # In complete data, whatever the variances: 25 degrees of freedom between 27 children, not 80 between their rows
    result = mixed_model(TEETH, outcome="distance", fixed=["Sex", "age"], subject="Subject", categorical=["age"])
    means = TEETH.groupby(["Subject", "Sex"])["distance"].mean().reset_index()
    boys, girls = (means.loc[means["Sex"] == sex, "distance"] for sex in ("male", "female"))
    reference = stats.ttest_ind(boys, girls)
    row = contrast(result, "Sex: male vs female")
    assert (row["statistic"], row["df"]) == (pytest.approx(reference.statistic, rel=1e-4), 25)
    assert row["lower_95"] == pytest.approx(reference.confidence_interval().low, rel=1e-3)
    assert mean_of(result, "Sex", "male")["mean"] == pytest.approx(boys.mean())
    # Within subjects: 26 x 3 less the ages' own, as in the split-plot analysis of variance
    wide = TEETH.pivot(index="Subject", columns="age", values="distance").to_numpy()
    centred = wide - wide.mean(axis=1, keepdims=True)
    error = ((centred - centred.mean(axis=0)) ** 2).sum() / 78
    later = contrast(result, "age: 14 vs 8")
    difference = wide[:, 3].mean() - wide[:, 0].mean()
    assert (later["statistic"], later["df"]) == (pytest.approx(difference / np.sqrt(2 * error / 27), rel=1e-3), 78)
    p = stats.studentized_range.sf(abs(later["statistic"]) * np.sqrt(2), 4, 78)
    assert later["p_adj"] == pytest.approx(p, rel=1e-2, abs=1e-9)


def test_gee_contrasts_are_those_of_statsmodels():
    data = clinic()
    result = mixed_model(data, outcome="better?", fixed=["arm [x]", "visit (week)"], subject="Patient No.")
    plain = data.rename(columns={"Patient No.": "who", "arm [x]": "arm", "visit (week)": "week"})
    plain["y"] = (plain["better?"] == "yes") * 1
    fit = smf.gee("y ~ C(arm, Treatment('placebo')) + week", "who", plain, family=sm.families.Binomial(),
                  cov_struct=sm.cov_struct.Exchangeable()).fit()  # fmt: skip
    test = fit.t_test([[1, 1, plain["week"].mean()]])
    row = mean_of(result, "arm [x]", "drug")
    assert (row["estimate"], row["se"]) == pytest.approx((test.effect[0], test.sd[0, 0]), rel=1e-4)
    assert row["mean"] == pytest.approx(1 / (1 + np.exp(-test.effect[0])), rel=1e-4)
    assert contrast(result, "arm [x]: drug vs placebo")["effect_type"] == "odds ratio"


# ==== difference in differences ====


def four_cells(means, n=5, seed=0):
    """Return rows of four cells that have exactly these means and a spread of 1."""
    rng, rows = np.random.default_rng(seed), []
    for (state, wave), mean in means.items():
        noise = rng.normal(size=n)
        noise = (noise - noise.mean()) / noise.std(ddof=1)
        rows += [(state, wave, mean + value) for value in noise]
    return pd.DataFrame(rows, columns=["state", "wave", "jobs"])


# Four means as in Card and Krueger's table of employment by state and wave; what is checked is the arithmetic of them
WAGES = {("NJ", "before"): 20.44, ("NJ", "after"): 21.03, ("PA", "before"): 23.33, ("PA", "after"): 21.17}


@pytest.mark.parametrize("fit", ["linear", "linear numbers", "anova"])
def test_an_interaction_of_four_cells_is_the_difference_of_their_differences(fit, tmp_path):
    data = four_cells(WAGES)
    data["nj"], data["late"] = (data["state"] == "NJ") * 1, (data["wave"] == "after") * 1
    names = ["nj", "late"] if fit == "linear numbers" else ["state", "wave"]
    tool, params = (
        (anova, {"value": "jobs", "factors": names}) if fit == "anova"
        else (linear_regression, {"outcome": "jobs", "predictors": names, "interaction": True})
    )  # fmt: skip
    record, tables, issues = run_step(tool, {"table": data}, params, tmp_path)
    assert not issues
    row = tables["contrasts"].query("comparison.str.endswith('difference in differences')").iloc[0]
    expected = (21.03 - 20.44) - (21.17 - 23.33)
    sign = 1 if fit == "linear numbers" else -1  # NJ is before PA in the alphabet, so PA minus NJ
    assert sign * row["effect"] == pytest.approx(expected)
    assert row["se"] == pytest.approx(np.sqrt(4 / 5))  # four independent means of five values with variance 1
    assert row["df"] == 16
    first = record["findings"][0]["text"]
    assert "difference in differences" in first
    if fit != "linear numbers":
        assert first.startswith(
            "The change of jobs with wave from before to after was 2.75 lower in PA (-2.16) than in NJ (+0.590)"
        )
    if fit == "anova":
        table = tables["anova_table"].set_index("term")
        assert row["statistic"] ** 2 == pytest.approx(table.loc["state:wave", "f"])


def test_the_same_subjects_before_and_after_are_a_t_test_of_their_changes(tmp_path):
    rng = np.random.default_rng(6)
    rows = [(f"s{i}", "drug" if i < 9 else "placebo", when, 10 + rng.normal() + own + late * (1 + 2 * (i < 9)))
            for i in range(20) for own in [3 * rng.normal()] for late, when in enumerate(("before", "after"))]  # fmt: skip
    data = pd.DataFrame(rows, columns=["who", "arm", "time", "pain"])
    params = {"outcome": "pain", "fixed": ["arm", "time"], "subject": "who", "interaction": True}
    record, tables, issues = run_step(mixed_model, {"table": data}, params, tmp_path)
    assert not issues
    wide = data.pivot(index=["who", "arm"], columns="time", values="pain").reset_index()
    change = wide["after"] - wide["before"]
    drug, placebo = change[wide["arm"] == "drug"], change[wide["arm"] == "placebo"]
    reference = stats.ttest_ind(drug, placebo)
    row = tables["contrasts"].iloc[-1]
    assert row["effect"] == pytest.approx(drug.mean() - placebo.mean())
    assert (row["mean_1"], row["mean_2"]) == pytest.approx((drug.mean(), placebo.mean()))
    assert (row["statistic"], row["df"]) == (pytest.approx(reference.statistic, rel=1e-4), reference.df)
    assert row["p_value"] == pytest.approx(reference.pvalue, rel=1e-3)
    assert record["findings"][0]["text"].startswith("The change of pain with time from before to after is not shown")


def test_an_effect_that_is_no_time_is_called_an_effect():
    data = four_cells({("WT", "oil"): 5, ("WT", "toxin"): 6, ("KO", "oil"): 5, ("KO", "toxin"): 12})
    data.columns = ["genotype", "drug", "y"]
    first = anova(data, value="y", factors=["genotype", "drug"])["findings"][0]["text"]
    assert first.startswith(
        "The effect of genotype from WT to KO on y was 6.00 higher in toxin (+6.00) than in oil (0)"
    )


def test_ratios_of_odds_are_four_cells_of_a_table():
    counts = {("a", "pre", 1): 30, ("a", "pre", 0): 20, ("a", "post", 1): 40, ("a", "post", 0): 10, ("b", "pre", 1): 25,
              ("b", "pre", 0): 25, ("b", "post", 1): 20, ("b", "post", 0): 30}  # fmt: skip
    rows = [key for key, n in counts.items() for _ in range(n)]
    data = pd.DataFrame(rows, columns=["arm", "time", "ill"])
    data["who"] = np.r_[0:100, 0:100]
    data["who"] = [f"{arm}{i % 50}" for i, arm in zip(data["who"], data["arm"], strict=True)]
    result = mixed_model(data, outcome="ill", fixed=["arm", "time"], subject="who", interaction=True)
    row = result["contrasts"].iloc[-1]
    assert row["effect_type"] == "ratio of odds ratios"
    assert row["effect"] == pytest.approx((20 * 25 / (30 * 25)) / (40 * 20 / (10 * 30)), rel=1e-4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a difference-in-differences", True),
        ("diff in diff", True),
        ("DiD of weight", True),
        ("did the weight change", False),
        ("changed more in drug than in placebo", True),
        ("Did weight increase more in A?", True),
        ("how does weight depend on age", False),
    ],
)
def test_words_for_a_difference_in_differences(text, expected):
    import re

    for tool in (linear_regression, mixed_model):
        (param,) = [p for p in tool.tool_spec.params if p.name == "interaction"]
        patterns = [line.partition(":")[2].strip() for line in param.words]
        assert any(re.search(rf"\b(?:{pattern})", text, re.IGNORECASE) for pattern in patterns) == expected


def test_levels_together_are_tested_as_dropping_the_factor_does(tmp_path):
    """The joint test of a factor is the F test of two nested fits (statsmodels `compare_f_test`)."""
    from statsmodels.formula.api import ols

    rng = np.random.default_rng(3)
    table = pd.DataFrame({"arm": ["a", "b", "c"] * 20, "before": rng.normal(50, 8, 60)})
    table["after"] = table["before"] * 0.6 + table["arm"].map({"a": 0, "b": 2, "c": 6}) + rng.normal(0, 4, 60)
    record, tables, issues = run_step(
        linear_regression,
        {"table": table},
        {"outcome": "after", "predictors": ["arm", "before"], "adjusted": ["before"]},
        tmp_path,
    )
    assert not issues
    full, less = ols("after ~ C(arm) + before", table).fit(), ols("after ~ before", table).fit()
    f, p, _ = full.compare_f_test(less)
    row = tables["diagnostics"].set_index("check").loc["arm, all levels together (F test)"]
    assert (row["value"], row["p_value"]) == (pytest.approx(f), pytest.approx(p))
    means = full.predict(pd.DataFrame({"arm": ["a", "c"], "before": table["before"].mean()}))
    assert record["findings"][0]["text"].startswith(
        f"after differs by arm, others held equal ({format_p(p)}): adjusted mean c {means[1]:.1f}, b "
    )
    assert f" and a {means[0]:.1f}; F(2, 56)" in record["findings"][0]["text"]


@pytest.mark.slow
@pytest.mark.parametrize("tool", [linear_regression, count_regression, logistic_regression])
def test_effects_per_ten_units_are_ten_times_as_large_on_their_scale(tool, tmp_path):
    rng = np.random.default_rng(5)
    age, arm = rng.normal(50, 9, 120), np.array(["a", "b"] * 60)
    table = pd.DataFrame({"age": age, "arm": arm, "y": rng.poisson(np.exp(0.02 * age))})
    name = {"linear_regression": "outcome", "count_regression": "count"}.get(tool.__name__, "outcome")
    if tool is logistic_regression:
        table["y"] = np.where(rng.random(120) < 1 / (1 + np.exp(2 - 0.04 * age)), "yes", "no")
    found = []
    for per in (1.0, 10.0):
        params = {name: "y", "predictors": ["age", "arm"], "per": per}
        (tmp_path / f"{per:g}").mkdir()
        record, tables, issues = run_step(tool, {"table": table}, params, tmp_path / f"{per:g}")
        assert not issues
        rows = tables["coefficients"].set_index("term")
        found.append(rows.loc["age", "estimate" if "estimate" in rows else "coef"])
        others = rows.drop(["age", "Intercept"])["p_value"].tolist()
    assert found[1] == pytest.approx(10 * found[0])
    assert any("per 10 units of age" in finding["text"] for finding in record["findings"])
    assert others == pytest.approx(rows.drop(["age", "Intercept"])["p_value"].tolist())
