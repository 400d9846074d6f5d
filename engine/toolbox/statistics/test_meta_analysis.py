"""Meta-analysis against metafor's documented numbers for the BCG trials, and what must hold for any studies.

BCG trials: Colditz GA et al. (1994) Efficacy of BCG vaccine in the prevention of tuberculosis, JAMA 271:698-702, the
counts as metafor's dat.bcg lists them (Viechtbauer 2010, J Stat Softw 36(3)).
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_questions import profile_files, the_planner
from table_steps import check_issues, run_step

from engine.toolbox.statistics.meta_analysis import meta_analysis
from engine.toolbox.statistics.pooling import paule_mandel
from engine.toolbox.statistics.study_effects import arm_columns

BCG = pd.DataFrame(
    [
        ("Aronson 1948", 4, 119, 11, 128), ("Ferguson & Simes 1949", 6, 300, 29, 274), ("Rosenthal et al 1960", 3, 228, 11, 209),
        ("Hart & Sutherland 1977", 62, 13536, 248, 12619), ("Frimodt-Moller et al 1973", 33, 5036, 47, 5761),
        ("Stein & Aronson 1953", 180, 1361, 372, 1079), ("Vandiviere et al 1973", 8, 2537, 10, 619),
        ("TPT Madras 1980", 505, 87886, 499, 87892), ("Coetzee & Berjak 1968", 29, 7470, 45, 7232),
        ("Rosenthal et al 1961", 17, 1699, 65, 1600), ("Comstock et al 1974", 186, 50448, 141, 27197),
        ("Comstock & Webster 1969", 5, 2493, 3, 2338), ("Comstock et al 1976", 27, 16886, 29, 17825),
    ],
    columns=["trial", "tpos", "tneg", "cpos", "cneg"],
)  # fmt: skip
RANDOM = pd.DataFrame({"study": [f"s{i}" for i in range(12)], "yi": np.linspace(-1, 1.2, 12) ** 2,
                       "vi": np.geomspace(0.01, 0.5, 12)})  # fmt: skip


def model_row(result, words):
    return result["pooled"][result["pooled"]["model"].str.contains(words, regex=False)].iloc[0]


def test_bcg_trials_match_metafor(tmp_path):
    # rma(measure="RR", ai=tpos, bi=tneg, ci=cpos, di=cneg): estimate -0.7145, se 0.1798, CI -1.0669 to -0.3622,
    # tau2 0.3132, I2 92.22 %, H2 12.86, Q(12) = 152.2330; confint(): tau2 0.1197 to 1.1115, I2 81.92 to 97.68 %
    record, tables, issues = run_step(meta_analysis, {"table": BCG}, {"study": "trial"}, tmp_path)
    assert not issues
    row = tables["pooled"].set_index("model").loc["random effects (REML)"]
    assert (row["estimate"], row["se"], row["tau2"]) == pytest.approx((-0.7145, 0.1798, 0.3132), abs=5e-5)
    assert (row["lower_95"], row["upper_95"]) == pytest.approx((-1.0669, -0.3622), abs=5e-5)
    spread = tables["heterogeneity"].iloc[0]
    assert spread["Q"] == pytest.approx(152.2330, abs=5e-5)
    assert (spread["I2"], spread["H2"]) == pytest.approx((92.22, 12.86), abs=5e-3)
    assert (spread["tau2_lower_95"], spread["tau2_upper_95"]) == pytest.approx((0.1197, 1.1115), abs=5e-5)
    assert (spread["I2_lower_95"], spread["I2_upper_95"]) == pytest.approx((81.92, 97.68), abs=5e-3)
    assert record["findings"][0]["text"].startswith(
        "Taken together, the effect of the 13 studies is below 1 on average"
    )
    assert "risk ratio 0.489 (95 % CI 0.344 to 0.696" in record["findings"][0]["text"]


def test_other_models_agree_with_statsmodels():
    from statsmodels.stats.meta_analysis import combine_effects

    result = meta_analysis(RANDOM, effect="yi", error="vi")
    other = combine_effects(RANDOM["yi"], RANDOM["vi"], method_re="dl").summary_frame()
    fixed, random = model_row(result, "fixed"), model_row(result, "DerSimonian")
    for row, name in ((fixed, "fixed effect"), (random, "random effect")):
        assert row["estimate"] == pytest.approx(other.loc[name, "eff"])
        assert row["lower_95"] == pytest.approx(other.loc[name, "ci_low"])


def test_reml_maximises_the_restricted_likelihood():
    y, v = RANDOM["yi"].to_numpy(), RANDOM["vi"].to_numpy()

    def likelihood(tau2):
        w = 1 / (v + tau2)
        mean = (w * y).sum() / w.sum()
        return -0.5 * (np.log(v + tau2).sum() + np.log(w.sum()) + (w * (y - mean) ** 2).sum())

    tau2 = meta_analysis(RANDOM, effect="yi", error="vi")["heterogeneity"].loc[0, "tau2"]
    grid = np.linspace(0, 4 * tau2, 4001)
    assert likelihood(tau2) >= max(likelihood(t) for t in grid) - 1e-12


def test_hartung_knapp_prediction_and_egger_by_hand():
    from scipy import stats

    result = meta_analysis(RANDOM, effect="yi", error="vi")
    row, hk = model_row(result, "(REML)"), model_row(result, "Hartung")
    y, v = RANDOM["yi"].to_numpy(), RANDOM["vi"].to_numpy()
    w = 1 / (v + row["tau2"])
    error = math.sqrt((w * (y - row["estimate"]) ** 2).sum() / 11 / w.sum())
    assert hk["se"] == pytest.approx(error)
    assert hk["upper_95"] == pytest.approx(row["estimate"] + stats.t.ppf(0.975, 11) * error)
    half = stats.t.ppf(0.975, 10) * math.sqrt(row["tau2"] + row["se"] ** 2)  # Higgins et al. 2009
    assert row["prediction_upper"] == pytest.approx(row["estimate"] + half)
    design = np.column_stack([np.ones(12), v**-0.5])
    coefficients, residual = np.linalg.lstsq(design, y / v**0.5, rcond=None)[:2]
    error = math.sqrt(residual[0] / 10 * np.linalg.inv(design.T @ design)[0, 0])
    egger = next(f for f in result["findings"] if "Egger" in f["text"])["values"]
    assert egger[0]["value"] == pytest.approx(coefficients[0])
    assert egger[1]["value"] == pytest.approx(2 * stats.t.sf(abs(coefficients[0] / error), 10))


def test_paule_and_mandels_variance_solves_its_equation(tmp_path):
    y, v = RANDOM["yi"].to_numpy(), RANDOM["vi"].to_numpy()
    tau2 = paule_mandel(y, v)
    w = 1 / (v + tau2)
    assert (w * (y - (w * y).sum() / w.sum()) ** 2).sum() == pytest.approx(11)
    squares = [(1 / (v + t) * (y - np.average(y, weights=1 / (v + t))) ** 2).sum() for t in np.linspace(0, 1, 50)]
    assert np.all(np.diff(squares) < 0)  # so that the root is the only one
    assert paule_mandel(np.array([0.1, 0.1, 0.2]), np.ones(3)) == 0
    params = {"effect": "yi", "error": "vi", "model": "paule_mandel"}
    record, tables, issues = run_step(meta_analysis, {"table": RANDOM}, params, tmp_path)
    assert not issues
    assert tables["heterogeneity"].loc[0, ["heterogeneity", "tau2"]].tolist() == ["Paule-Mandel", pytest.approx(tau2)]
    row = tables["pooled"].set_index("model").loc["random effects (Paule-Mandel)"]
    assert (row["estimate"], row["se"]) == pytest.approx(((w * y).sum() / w.sum(), w.sum() ** -0.5))
    assert record["findings"][0]["text"].endswith("random effects (Paule-Mandel).")


def test_odds_ratios_of_bcg_have_metafors_q_profile_interval():
    # metafor-project.org, van Houwelingen et al. (2002), confint() on the log odds ratios: tau2 from 0.1302 to 1.1812
    spread = meta_analysis(BCG, measure="odds_ratio")["heterogeneity"].iloc[0]
    assert (spread["tau2_lower_95"], spread["tau2_upper_95"]) == pytest.approx((0.1302, 1.1812), abs=1e-4)


@pytest.mark.slow
def test_effects_whose_intervals_are_those_of_ratios_are_pooled_as_logarithms():
    half = np.array([0.4, 0.6, 0.5, 0.9])
    ratio = np.array([0.5, 0.8, 1.9, 0.7])
    table = pd.DataFrame({"estimate": ratio, "lower": ratio * np.exp(-half), "upper": ratio * np.exp(half)}).round(3)
    one = meta_analysis(table)
    assert any("symmetric on a log scale only" in text for text in one["warnings"])
    two = meta_analysis(table.rename(columns={"estimate": "OR"}))["pooled"]
    assert one["pooled"]["estimate"].tolist() == pytest.approx(two["estimate"].tolist())
    left = meta_analysis(table, scale="as_is")
    assert "ratio" not in left["pooled"]
    plain = pd.DataFrame({"estimate": ratio, "lower": ratio - half / 3, "upper": ratio + half / 3})
    assert not any("log scale" in text for text in meta_analysis(plain)["warnings"])


def test_an_error_that_hartung_and_knapp_make_smaller_is_not_recommended():
    alike = pd.DataFrame({"effect": [0.30, 0.31, 0.29, 0.30], "se": [0.2, 0.2, 0.2, 0.25]})
    warnings = meta_analysis(alike)["warnings"]
    assert any("do not lean on that row" in text for text in warnings)
    assert not any("prefer the Hartung-Knapp" in text for text in warnings)
    apart = pd.DataFrame({"effect": [0.1, 0.9, 0.4], "se": [0.1, 0.1, 0.2]})
    assert any("prefer the Hartung-Knapp" in text for text in meta_analysis(apart)["warnings"])


def test_studies_that_agree_have_no_variance_between_them():
    table = pd.DataFrame({"effect": [0.5, 0.5, 0.5, 0.5], "se": [0.1, 0.2, 0.3, 0.2]})
    result = meta_analysis(table)
    assert result["heterogeneity"].loc[0, ["tau2", "I2"]].tolist() == [0, 0]
    assert result["pooled"]["estimate"].tolist() == pytest.approx([0.5] * len(result["pooled"]))


def test_hedges_g_and_mean_difference_by_hand():
    table = pd.DataFrame({"study": ["a", "b"], "meanA": [5.0, 6.0], "sdA": [2.0, 1.5], "nA": [10, 20], "meanB": [4.0, 4.0],
                          "sdB": [1.0, 2.5], "nB": [12, 15]})  # fmt: skip
    pooled_sd = math.sqrt((9 * 4 + 11 * 1) / 20)
    correction = math.gamma(10) / (math.sqrt(10) * math.gamma(9.5))  # Hedges 1981, J Educ Stat 6:107
    row = meta_analysis(table)["studies"].iloc[0]
    assert row["effect"] == pytest.approx(correction / pooled_sd)
    assert row["se"] == pytest.approx(math.sqrt(1 / 10 + 1 / 12 + row["effect"] ** 2 / 44))
    row = meta_analysis(table, measure="mean_difference", effect="meanA", error="meanB")["studies"].iloc[0]
    assert (row["effect"], row["se"]) == pytest.approx((1.0, math.sqrt(4 / 10 + 1 / 12)))


def test_ratio_with_interval_is_its_logarithm_with_standard_error():
    log = pd.DataFrame({"log_or": [0.2, -0.5, 0.9], "se": [0.2, 0.3, 0.25]})
    half = 1.959963984540054 * log["se"]
    ratio = pd.DataFrame({"OR": np.exp(log["log_or"]), "ci_lower": np.exp(log["log_or"] - half),
                          "ci_upper": np.exp(log["log_or"] + half)})  # fmt: skip
    one, two = (meta_analysis(table)["pooled"] for table in (log, ratio))
    assert one["estimate"].tolist() == pytest.approx(two["estimate"].tolist())
    assert one["ratio"].tolist() == pytest.approx(np.exp(one["estimate"]).tolist())


def test_a_zero_cell_gets_a_half_and_a_double_zero_is_left_out():
    table = pd.DataFrame(
        {"study": list("abc"), "events_t": [0, 5, 0], "n_t": [10, 20, 30], "events_c": [4, 9, 0], "n_c": [10, 20, 30]}
    )
    result = meta_analysis(table, measure="odds_ratio")
    assert result["studies"].loc[0, "effect"] == pytest.approx(math.log(0.5 * 6.5 / (10.5 * 4.5)))
    assert len(result["studies"]) == 2
    assert any("left out" in text for text in result["warnings"])
    assert any("0.5 was added" in text for text in result["warnings"])


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        (["qt", "tt", "qc", "tc"], {}),
        (["events_treat", "n_treat", "events_ctrl", "n_ctrl"], {"event_1": "events_treat", "total_1": "n_treat",
                                                                 "event_2": "events_ctrl", "total_2": "n_ctrl"}),
        (["control_events", "control_total", "drug_events", "drug_total"], {"event_1": "drug_events", "total_1": "drug_total",
                                                                             "event_2": "control_events", "total_2": "control_total"}),
        (["m1i", "sd1i", "n1i", "m2i", "sd2i", "n2i"], {"mean_1": "m1i", "sd_1": "sd1i", "n_1": "n1i", "mean_2": "m2i",
                                                       "sd_2": "sd2i", "n_2": "n2i"}),
        (["TB cases (vaccinated)", "N vaccinated", "TB cases (unvaccinated)", "N unvaccinated"],
         {"event_1": "TB cases (vaccinated)", "total_1": "N vaccinated", "event_2": "TB cases (unvaccinated)",
          "total_2": "N unvaccinated"}),
        (["ai", "bi", "ci", "di"], {"event_1": "ai", "rest_1": "bi", "event_2": "ci", "rest_2": "di"}),
    ],
)  # fmt: skip
def test_columns_of_two_groups_are_told_by_their_names(names, parts):
    if names[0] == "qt":  # quitters and totals of two arms, as nicotine gum tables have them
        parts = {"event_1": "qt", "total_1": "tt", "event_2": "qc", "total_2": "tc"}
    assert arm_columns(pd.DataFrame(columns=names), []) == parts


def test_missing_values_and_repeated_studies_are_said():
    table = RANDOM.assign(yi=RANDOM["yi"].where(RANDOM.index > 0), study=["x", "y"] * 6)
    result = meta_analysis(table, effect="yi", error="vi", study="study")
    assert any("1 of 12 rows were left out" in text for text in result["warnings"])
    assert any("several rows" in text for text in result["warnings"])


def test_tiny_units_change_nothing_and_equal_studies_get_no_narrow_interval():
    one = meta_analysis(RANDOM, effect="yi", error="vi")["heterogeneity"].loc[0]
    small = RANDOM.assign(yi=RANDOM["yi"] * 1e-6, vi=RANDOM["vi"] * 1e-12)
    two = meta_analysis(small, effect="yi", error="vi")["heterogeneity"].loc[0]
    assert (two["tau2"] * 1e12, two["I2"]) == pytest.approx((one["tau2"], one["I2"]))
    for scale in (1.0, 0.109375, 0.3):
        equal = pd.DataFrame({"effect": [2.25 * scale] * 3, "se": [scale] * 3})
        assert not meta_analysis(equal)["pooled"]["model"].str.contains("Hartung").any()


def test_of_several_maxima_the_best_is_taken_in_any_order():
    """Five studies that agree and a sure one far off: the likelihood is nearly flat, and climbing ended by the order of rows."""
    table = pd.DataFrame({"effect": [0.0] * 5 + [2.0], "se": [2.0] * 5 + [0.5]})
    one = meta_analysis(table)["heterogeneity"].loc[0, "tau2"]
    turned = meta_analysis(table.iloc[::-1].reset_index(drop=True))["heterogeneity"].loc[0, "tau2"]
    assert turned == pytest.approx(one, rel=1e-6)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(0.05, 2)), min_size=3, max_size=12), st.floats(0.1, 10))
def test_order_sign_and_scale_carry_through(studies, scale):
    table = pd.DataFrame(studies, columns=["effect", "se"])
    one = meta_analysis(table)["pooled"]
    turned = meta_analysis(table.iloc[::-1] * [-scale, scale])["pooled"]
    assert turned["estimate"].tolist() == pytest.approx((-scale * one["estimate"]).tolist(), rel=1e-4, abs=1e-5)
    assert turned["tau2"].dropna().tolist() == pytest.approx(
        (scale**2 * one["tau2"].dropna()).tolist(), rel=1e-3, abs=1e-6
    )


BAD = {
    "swapped": ({"effect": "other", "error": "effect"}, "Is 'effect' the effect"),
    "same": ({"effect": "effect", "error": "effect"}, "serves twice"),
    "no precision": ({"effect": "other"}, "precision"),
    "unknown": ({"effect": "efect", "error": "se"}, "did you mean"),
    "interval": ({"effect": "effect", "lower": "other", "upper": "se"}, "is not between"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    table = pd.DataFrame({"effect": [0.1, -0.2, 0.4], "se": [0.1, 0.2, 0.1], "other": [9.0, 8.0, 7.0]})
    table = table.drop(columns="se") if case == "no precision" else table
    with pytest.raises(ValueError, match=r".") as error:
        meta_analysis(table, **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_one_study_is_no_meta_analysis():
    with pytest.raises(ValueError, match="at least 2"):
        meta_analysis(pd.DataFrame({"effect": [0.1], "se": [0.2]}))
    with pytest.raises(ValueError, match="no column that is clearly the effect"):
        meta_analysis(pd.DataFrame({"farm": ["a", "b"], "cows": [1, 2]}))


def test_wrong_tables_are_caught(tmp_path):
    result = meta_analysis(RANDOM, effect="yi", error="vi")
    tables = {"pooled": result["pooled"], "studies": result["studies"]}
    checks = ["pooled_effects_consistent"]
    assert check_issues(checks, tables, tmp_path) == []
    assert "interval_without_estimate" in check_issues(
        checks, tables | {"pooled": result["pooled"].assign(lower_95=9.0)}, tmp_path
    )
    assert "weights_differ" in check_issues(
        checks, tables | {"studies": result["studies"].assign(weight_fixed=1.0)}, tmp_path
    )


@pytest.mark.parametrize(
    ("question", "params"),
    [
        ("pool logOR with SE over the papers, random effects, I2?", {"effect": "logOR", "error": "SE"}),
        ("Do the papers contradict each other in logOR (SE is given), and what is the overall answer?",
         {"effect": "logOR", "error": "SE"}),
    ],
)  # fmt: skip
def test_a_plain_question_plans_it_with_effect_and_error(question, params, tmp_path):
    path = Path(tmp_path) / "papers.csv"
    pd.DataFrame({"paper": [f"Lab {i}" for i in range(12)], "logOR": RANDOM["yi"], "SE": RANDOM["vi"]}).to_csv(
        path, index=False
    )
    planner = the_planner()
    node = planner.plan(question, profile_files([path])).plan.nodes[-1]
    assert node.tool == "meta_analysis"
    assert {key: node.params[key] for key in params} == params


LATITUDE = BCG.assign(ablat=[44, 55, 42, 52, 13, 44, 19, 13, 27, 42, 18, 33, 33])  # as dat.bcg lists it


def test_latitude_explains_bcg_trials_as_in_metafors_documentation(tmp_path):
    # metafor's output of rma(yi, vi, mods = ~ ablat, data = dat), printed in the vignette "Bayesian Meta-Analysis" of the
    # R package RoBMA (28 April 2026); z, R2 and QM differ in the fifth digit, as its tau2, converged to 1e-5, would let them
    asked = {"study": "trial", "moderator": ["ablat"], "regression_test": "normal"}
    record, tables, issues = run_step(meta_analysis, {"table": LATITUDE}, asked, tmp_path)
    assert not issues
    start, slope = (row for _, row in tables["moderator"].iterrows())
    assert (start["estimate"], start["se"]) == pytest.approx((0.2515, 0.2491), abs=5e-5)
    assert (slope["estimate"], slope["se"]) == pytest.approx((-0.0291, 0.0072), abs=5e-5)
    assert (slope["lower_95"], slope["upper_95"]) == pytest.approx((-0.0432, -0.0150), abs=5e-5)
    assert slope["statistic"] == pytest.approx(-4.0444, abs=2e-4)
    left = tables["residual"].iloc[0]
    assert (left["tau2"], left["QE"], left["p_value"]) == pytest.approx((0.0764, 30.7331, 0.0012), abs=6e-5)
    assert (left["I2_left"], left["H2_left"], left["R2"]) == pytest.approx((68.39, 3.16, 75.62), abs=1e-2)
    assert left["QM"] == pytest.approx(16.3571, abs=2e-3)
    assert record["findings"][0]["text"].startswith("The effect changes with ablat: log ratio slope -0.0291 per unit")


def test_knapp_and_hartungs_errors_are_those_of_weighted_least_squares():
    from statsmodels.api import WLS, add_constant

    result = meta_analysis(LATITUDE, moderator=["ablat"])
    tau2, studies = result["residual"]["tau2"][0], result["studies"]
    fit = WLS(studies["effect"], add_constant(LATITUDE["ablat"]), weights=1 / (studies["se"] ** 2 + tau2)).fit()
    assert result["moderator"]["se"].tolist() == pytest.approx(fit.bse.tolist(), rel=1e-6)
    assert result["moderator"]["p_value"].tolist() == pytest.approx(fit.pvalues.tolist(), rel=1e-5)


def test_groups_of_studies_and_moderators_that_explain_nothing():
    kind = ["random"] * 4 + ["alternate"] * 2 + ["random"] * 2 + ["alternate"] * 5
    result = meta_analysis(LATITUDE.assign(kind=kind), moderator=["kind"])
    assert result["moderator"]["term"].tolist()[1].startswith("kind: ")
    assert result["findings"][0]["text"].startswith("There is no clear sign that the effect differs with kind")
    with pytest.raises(ValueError, match="the same in all studies"):
        meta_analysis(LATITUDE.assign(kind="a"), moderator=["kind"])
