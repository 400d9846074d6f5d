"""Statistics tools against published numbers: R's documentation, NIST, Greene, Benjamini and Hochberg."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_steps import check_issues, classic, run_step

from engine.toolbox.statistics.anova import anova
from engine.toolbox.statistics.contingency import contingency
from engine.toolbox.statistics.groups import compare_groups
from engine.toolbox.statistics.linear import linear_regression
from engine.toolbox.statistics.logistic import logistic_regression
from engine.toolbox.statistics.summaries import adjust_p_values, correlation, summarize_table

# R's `sleep` (Student 1908): extra hours of sleep under two drugs, the same ten patients.
SLEEP = pd.DataFrame(
    {
        "extra": [
            0.7,
            -1.6,
            -0.2,
            -1.2,
            -0.1,
            3.4,
            3.7,
            0.8,
            0.0,
            2.0,
            1.9,
            0.8,
            1.1,
            0.1,
            -0.1,
            4.4,
            5.5,
            1.6,
            4.6,
            3.4,
        ],
        "group": [1] * 10 + [2] * 10,
        "ID": [*range(1, 11)] * 2,
    }
)
# R's `PlantGrowth` (Dobson 1983).
PLANTS = pd.DataFrame(
    {
        "weight": [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14, 4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03,
                   4.89, 4.32, 4.69, 6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
        "group": ["ctrl"] * 10 + ["trt1"] * 10 + ["trt2"] * 10,
    }
)  # fmt: skip
# R's `warpbreaks` (Tukey 1977).
WARPBREAKS = pd.DataFrame(
    {
        "breaks": [26, 30, 54, 25, 70, 52, 51, 26, 67, 18, 21, 29, 17, 12, 18, 35, 30, 36, 36, 21, 24, 18, 10, 43, 28,
            15,
                   26, 27, 14, 29, 19, 29, 31, 41, 20, 44, 42, 26, 19, 16, 39, 28, 21, 39, 29, 20, 21, 24, 17, 13, 15,
                       15,
                   16, 28],
        "wool": ["A"] * 27 + ["B"] * 27,
        "tension": (["L"] * 9 + ["M"] * 9 + ["H"] * 9) * 2,
    }
)  # fmt: skip
# R's `mtcars` (Motor Trend 1974): mpg, wt, am.
MTCARS = pd.DataFrame(
    {
        "mpg": [21, 21, 22.8, 21.4, 18.7, 18.1, 14.3, 24.4, 22.8, 19.2, 17.8, 16.4, 17.3, 15.2, 10.4, 10.4, 14.7, 32.4,
                30.4, 33.9, 21.5, 15.5, 15.2, 13.3, 19.2, 27.3, 26, 30.4, 15.8, 19.7, 15, 21.4],
        "wt": [2.62, 2.875, 2.32, 3.215, 3.44, 3.46, 3.57, 3.19, 3.15, 3.44, 3.44, 4.07, 3.73, 3.78, 5.25, 5.424, 5.345,
               2.2, 1.615, 1.835, 2.465, 3.52, 3.435, 3.84, 3.845, 1.935, 2.14, 1.513, 3.17, 2.77, 3.57, 2.78],
        "am": [1, 1, 1] + [0] * 14 + [1, 1, 1] + [0] * 5 + [1] * 7,
    }
)  # fmt: skip
# R's `airquality`: ozone in May and August (NA kept), the example of ?wilcox.test.
MAY = [41, 36, 12, 18, None, 28, 23, 19, 8, None, 7, 16, 11, 14, 18, 14, 34, 6, 30, 11, 1, 11, 4, 32, None, None,
    None, 23,
       45, 115, 37]  # fmt: skip
AUGUST = [39, 9, 16, 78, 35, 66, 122, 89, 110, None, None, 44, 28, 65, None, 22, 59, 23, 31, 44, 21, 9, None, 45, 168,
    73,
          None, 76, 118, 84, 85]  # fmt: skip
OZONE = pd.DataFrame({"Ozone": MAY + AUGUST, "Month": ["May"] * 31 + ["August"] * 31})
# R's `women`: average heights and weights.
WOMEN = pd.DataFrame(
    {"height": range(58, 73), "weight": [115, 117, 120, 123, 126, 129, 132, 135, 139, 142, 146, 150, 154, 159, 164]}
)
UCB = pd.DataFrame(
    {"Admit": ["Admitted", "Rejected"] * 2, "Gender": ["Male"] * 2 + ["Female"] * 2, "Freq": [1198, 1493, 557, 1278]}
)
TEA = pd.DataFrame({"guess": ["Milk", "Milk", "Tea", "Tea"], "truth": ["Milk", "Tea"] * 2, "n": [3, 1, 1, 3]})
# Benjamini and Hochberg (1995), section 4.1: 15 p-values of a thrombolysis trial.
BH_1995 = [
    0.0001,
    0.0004,
    0.0019,
    0.0095,
    0.0201,
    0.0278,
    0.0298,
    0.0344,
    0.0459,
    0.3240,
    0.4262,
    0.5719,
    0.6528,
    0.7590,
    1.0,
]


def row(frame: pd.DataFrame, **where) -> pd.Series:
    for column, value in where.items():
        frame = frame[frame[column] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def near(value: float, published: float, tolerance: float = 5e-4) -> bool:
    return value == pytest.approx(published, rel=tolerance)


def test_paired_t_test_of_sleep_matches_r():
    # R 4: t.test(Pair(extra[group == 1], extra[group == 2]) ~ 1): t = -4.0621, df = 9, p-value = 0.002833, CI
    # -2.4598858 -0.7001142
    result = compare_groups(SLEEP, value="extra", group="group", pair="ID", treated="1", control="2")
    only = result["comparison"].iloc[0]
    assert only["test"] == "paired t-test"
    assert near(only["statistic"], -4.0621)
    assert near(only["p_value"], 0.002833)
    assert near(only["lower_95"], -2.4598858, 1e-6)
    assert near(only["upper_95"], -0.7001142, 1e-6)
    assert "lower in group 1 than in group 2" in result["findings"][0]["text"]


def test_welch_t_test_of_sleep_matches_r():
    # R 4: t.test(extra ~ group, data = sleep): t = -1.8608, df = 17.776, p-value = 0.07939, CI -3.3654832 0.2054832
    only = compare_groups(SLEEP, value="extra", group="group", treated="1", control="2")["comparison"].iloc[0]
    assert near(only["statistic"], -1.8608)
    assert near(only["df"], 17.776)
    assert near(only["p_value"], 0.07939)
    assert near(only["lower_95"], -3.3654832, 1e-6)
    assert near(only["upper_95"], 0.2054832, 1e-6)


def test_swapping_treated_and_control_mirrors_every_number():
    one = compare_groups(SLEEP, value="extra", group="group", treated="1", control="2")["comparison"].iloc[0]
    two = compare_groups(SLEEP, value="extra", group="group", treated="2", control="1")["comparison"].iloc[0]
    assert one["difference"] == pytest.approx(-two["difference"])
    assert one["lower_95"] == pytest.approx(-two["upper_95"])
    assert one["mean_1"] == two["mean_2"]
    assert one["effect_size"] == pytest.approx(-two["effect_size"])
    assert one["p_value"] == pytest.approx(two["p_value"])


def test_wilcoxon_signed_rank_of_sleep_matches_r():
    # R 4: wilcox.test(extra ~ group, paired = TRUE, exact = FALSE) on sleep: V = 0, p-value = 0.009091
    result = compare_groups(SLEEP, value="extra", group="group", pair="ID", test="wilcoxon", treated="1", control="2")
    assert result["comparison"]["statistic"].iloc[0] == 0
    assert near(result["comparison"]["p_value"].iloc[0], 0.009091)


def test_exact_signed_rank_matches_the_depression_example_of_r():
    # ?wilcox.test, Hollander & Wolfe (1973): V = 40, one-sided p-value = 0.01953, so 0.03906 two-sided
    first = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    second = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    data = pd.DataFrame({"y": first + second, "when": ["first"] * 9 + ["second"] * 9, "id": list("abcdefghi") * 2})
    only = compare_groups(data, value="y", group="when", pair="id", test="wilcoxon", treated="first")[
        "comparison"
    ].iloc[0]
    assert only["statistic"] == 40
    assert near(only["p_value"], 2 * 0.01953)


def test_rank_sum_of_airquality_matches_r():
    # ?wilcox.test: wilcox.test(Ozone ~ Month, data = airquality, subset = Month %in% c(5, 8)): W = 127.5, p-value =
    # 0.0001208
    result = compare_groups(OZONE, value="Ozone", group="Month", test="mann_whitney", treated="May", control="August")
    only = result["comparison"].iloc[0]
    assert only["statistic"] == 127.5
    assert near(only["p_value"], 0.0001208)
    assert "10 of 62 rows were left out" in " ".join(result["warnings"])
    assert "lower in May than in August" in result["findings"][0]["text"]


def test_one_way_anova_and_tukey_of_plantgrowth_match_r():
    # R 4: summary(aov(weight ~ group, PlantGrowth)): F = 4.846, p = 0.0159; TukeyHSD: trt2-trt1 0.865 (0.1737839 to
    # 1.5562161), p adj 0.0120064; trt1-ctrl -0.371 p adj 0.3908711; trt2-ctrl 0.494 p adj 0.1979960
    table = compare_groups(PLANTS, value="weight", group="group", test="anova")["comparison"]
    overall = row(table, comparison="all groups")
    assert near(overall["statistic"], 4.846)
    assert near(overall["p_value"], 0.01591)
    assert (overall["df"], overall["df_2"]) == (2, 27)
    top = row(table, comparison="trt2 vs trt1")
    assert near(top["p_adj"], 0.0120064, 1e-4)
    assert near(top["lower_95"], 0.1737839, 1e-5)
    assert near(top["upper_95"], 1.5562161, 1e-5)
    assert near(row(table, comparison="trt1 vs ctrl")["p_adj"], 0.3908711, 1e-4)
    assert near(row(table, comparison="trt2 vs ctrl")["p_adj"], 0.1979960, 1e-4)


@pytest.mark.parametrize(("test", "statistic", "p"), [("kruskal", 7.9882, 0.01842), ("welch_anova", 5.181, 0.01739)])
def test_overall_tests_of_plantgrowth_match_r(test, statistic, p):
    # R 4: kruskal.test(weight ~ group, PlantGrowth); oneway.test(weight ~ group, PlantGrowth) with 17.128
    # denominator df
    overall = compare_groups(PLANTS, value="weight", group="group", test=test)["comparison"].iloc[0]
    assert near(overall["statistic"], statistic)
    assert near(overall["p_value"], p)


def test_auto_takes_ranks_for_small_skewed_groups_and_says_so():
    skewed = [1, 1.1, 1.2, 1.1, 1.3, 1.2, 1.1, 1.2, 1.3, 40]
    data = pd.DataFrame({"y": skewed + [v + 0.3 for v in skewed], "g": ["a"] * 10 + ["b"] * 10})
    assert "Mann-Whitney" in compare_groups(data, value="y", group="g")["comparison"]["test"].iloc[0]


def test_known_control_is_the_reference_whatever_the_alphabet():
    data = pd.DataFrame({"y": [1.0, 2, 3, 4, 6, 7, 8, 9], "g": ["vehicle"] * 4 + ["drug"] * 4})
    only = compare_groups(data, value="y", group="g")["comparison"].iloc[0]
    assert (only["group_1"], only["group_2"]) == ("drug", "vehicle")
    assert only["difference"] == 5
    other = compare_groups(data.replace({"drug": "zinc", "vehicle": "placebo"}), value="y", group="g")[
        "comparison"
    ].iloc[0]
    assert (other["group_1"], other["group_2"]) == ("zinc", "placebo")


def test_penguin_body_mass_leaves_out_missing_values_and_counts_them():
    penguins = classic("penguins.csv")
    result = compare_groups(penguins, value="body_mass_g", group="species")
    assert any("2 of 344 rows were left out" in text for text in result["warnings"])
    pair = row(result["comparison"], comparison="Gentoo vs Adelie")
    # Gorman, Williams & Fraser (2014) data: 151 Adelie and 123 Gentoo with a mass, means 3700.662 and 5076.016
    assert (pair["n_1"], pair["n_2"]) == (123, 151)
    assert near(pair["mean_1"], 5076.016, 1e-6)
    assert near(pair["mean_2"], 3700.662, 1e-6)


def test_friedman_of_rounding_times_matches_r():
    # ?friedman.test, Hollander & Wolfe (1973) p. 140: Friedman chi-squared = 11.143, df = 2, p-value = 0.003805
    times = np.array(
        [[5.40, 5.50, 5.55], [5.85, 5.70, 5.75], [5.20, 5.60, 5.50], [5.55, 5.50, 5.40], [5.90, 5.85, 5.70],
         [5.45, 5.55, 5.60], [5.40, 5.40, 5.35], [5.45, 5.50, 5.35], [5.25, 5.15, 5.00], [5.85, 5.80, 5.70],
         [5.25, 5.20, 5.10], [5.65, 5.55, 5.45], [5.60, 5.35, 5.45], [5.05, 5.00, 4.95], [5.50, 5.50, 5.40],
         [5.45, 5.55, 5.50], [5.55, 5.55, 5.35], [5.45, 5.50, 5.55], [5.50, 5.45, 5.25], [5.65, 5.60, 5.40],
         [5.70, 5.65, 5.55], [6.30, 6.30, 6.25]]
    )  # fmt: skip
    long = pd.DataFrame(times, columns=["round", "narrow", "wide"]).assign(player=range(22))
    long = long.melt(id_vars="player", var_name="method", value_name="time")
    overall = compare_groups(long, value="time", group="method", pair="player")["comparison"].iloc[0]
    assert overall["test"] == "Friedman test"
    assert near(overall["statistic"], 11.143)
    assert near(overall["p_value"], 0.003805)


def test_incomplete_pairs_are_dropped_and_named():
    data = SLEEP[~((SLEEP["ID"] == 7) & (SLEEP["group"] == 2))]
    result = compare_groups(data, value="extra", group="group", pair="ID", test="paired_t")
    assert result["comparison"]["n"].iloc[0] == 9
    assert any("left out: 7." in text for text in result["warnings"])


def test_toothgrowth_two_way_anova_matches_the_published_table():
    # R: summary(aov(len ~ supp * factor(dose), ToothGrowth)): F 15.572, 92.000, 4.107
    teeth = classic("ToothGrowth.csv")
    result = anova(teeth, value="len", factors=["supp", "dose"])
    table = result["anova_table"]
    for term, f, p in (("supp", 15.572, 0.000231), ("dose", 92.0, 4.046e-18), ("supp:dose", 4.107, 0.02186)):
        assert near(row(table, term=term)["f"], f)
        assert near(row(table, term=term)["p_value"], p, 2e-3)
    assert row(table, term="Residual")["df"] == 54
    assert any("taken as separate groups" in text for text in result["warnings"])
    assert any("interaction supp:dose is significant" in text for text in result["warnings"])


def test_tukey_of_warpbreaks_matches_the_r_documentation():
    # ?TukeyHSD: fm1 <- aov(breaks ~ wool + tension): M-L -10.000000 (-19.35342 -0.6465793) 0.0336262;
    # H-L -14.722222 (-24.07564 -5.3688015) 0.0011218; H-M -4.722222 (-14.07564 4.6311985) 0.4474210
    table = anova(WARPBREAKS, value="breaks", factors=["wool", "tension"], interaction=False)["post_hoc"]
    slow = row(table, comparison="tension: M vs L")
    assert near(slow["difference"], -10.0, 1e-9)
    assert near(slow["lower_95"], -19.35342, 1e-5)
    assert near(slow["upper_95"], -0.6465793, 1e-4)
    assert near(slow["p_adj"], 0.0336262, 1e-4)
    assert near(row(table, comparison="tension: L vs H")["p_adj"], 0.0011218, 1e-3)
    assert near(row(table, comparison="tension: M vs H")["p_adj"], 0.4474210, 1e-4)


def test_anova_with_one_factor_and_two_groups_is_the_squared_t():
    t = compare_groups(SLEEP, value="extra", group="group", test="student_t")["comparison"].iloc[0]["statistic"]
    table = anova(SLEEP, value="extra", factors=["group"])["anova_table"]
    assert row(table, term="group")["f"] == pytest.approx(t**2)


def test_anova_without_a_cell_drops_the_interaction_and_says_why():
    data = WARPBREAKS[~((WARPBREAKS["wool"] == "B") & (WARPBREAKS["tension"] == "H"))]
    result = anova(data, value="breaks", factors=["wool", "tension"])
    assert "wool:tension" not in set(result["anova_table"]["term"])
    assert any("no observation with wool = B, tension = H" in text for text in result["warnings"])


def test_type_three_anova_of_a_balanced_design_equals_type_two():
    two = anova(WARPBREAKS, value="breaks", factors=["wool", "tension"], ss_type=2)["anova_table"]
    three = anova(WARPBREAKS, value="breaks", factors=["wool", "tension"], ss_type=3)["anova_table"]
    assert np.allclose(two["sum_sq"], three["sum_sq"])


def test_pearson_correlation_of_mtcars_matches_r():
    # R: cor.test(mtcars$mpg, mtcars$wt): cor -0.8676594, CI -0.9338264 -0.7440872, p-value = 1.294e-10
    only = correlation(MTCARS, x="mpg", y="wt", method="pearson")["correlations"].iloc[0]
    assert near(only["r"], -0.8676594, 1e-6)
    assert near(only["lower_95"], -0.9338264, 1e-6)
    assert near(only["upper_95"], -0.7440872, 1e-6)
    assert near(only["p_value"], 1.294e-10)


def test_rank_correlations_of_mtcars_match_r():
    # R: cor(mtcars$mpg, mtcars$wt, method = "spearman") -0.886422; method = "kendall" -0.7278321
    assert near(correlation(MTCARS, x="mpg", y="wt", method="spearman")["correlations"]["r"].iloc[0], -0.886422, 1e-6)
    assert near(correlation(MTCARS, x="mpg", y="wt", method="kendall")["correlations"]["r"].iloc[0], -0.7278321, 1e-6)


def test_correlation_leaves_out_missing_pairs_and_says_how_many():
    penguins = classic("penguins.csv")
    result = correlation(penguins, x="flipper_length_mm", y="body_mass_g")
    only = result["correlations"].iloc[0]
    # The palmerpenguins documentation: flipper length and body mass correlate with r = 0.871 on 342 birds
    assert only["n"] == 342
    assert round(only["r"], 3) == 0.871
    assert "rises as flipper_length_mm rises" in result["findings"][0]["text"]


def test_row_numbers_are_not_correlated_unless_named():
    data = MTCARS.assign(row=range(1, 33))
    assert set(correlation(data)["correlations"]["y"]) == {"wt", "am"}
    assert correlation(data, x="row", y="mpg")["correlations"]["x"].iloc[0] == "row"


def test_auto_correlation_takes_ranks_with_an_extreme_value():
    x = [*range(1, 12)]
    data = pd.DataFrame({"x": x, "y": [*x[:-1], 1000]})
    result = correlation(data, x="x", y="y")
    assert result["correlations"]["method"].iloc[0] == "spearman"
    assert result["correlations"]["r"].iloc[0] == pytest.approx(1)
    assert any("extreme values: y" in text for text in result["warnings"])


def test_ucb_admissions_chi_square_matches_r():
    # R: chisq.test(apply(UCBAdmissions, c(1, 2), sum)): X-squared = 91.61 with Yates, 92.205 without; OR 1.84
    result = contingency(UCB, row="Gender", column="Admit", count="Freq", row_level="Male", column_level="Admitted")
    tests = result["test_table"]
    assert near(row(tests, test="chi-square test")["statistic"], 92.205, 1e-5)
    assert near(tests[tests["test"].str.contains("Yates")]["statistic"].iloc[0], 91.61, 1e-4)
    assert near(tests["odds_ratio"].iloc[0], 1198 * 1278 / (1493 * 557), 1e-9)
    assert tests["odds_in"].iloc[0] == "Gender = Male"
    assert "more frequent in Male (1198 of 2691, 44.5 %)" in result["findings"][0]["text"]


def test_fishers_tea_tasting_matches_r():
    # ?fisher.test, TeaTasting: odds ratio 6.408309, one-sided p = 0.2429, so 0.4857 two-sided
    result = contingency(TEA, row="guess", column="truth", count="n", row_level="Milk", column_level="Milk")
    best = result["test_table"].iloc[0]
    assert best["test"] == "Fisher's exact test"
    assert near(best["p_value"], 0.4857)
    assert near(best["odds_ratio"], 6.408309, 1e-5)


def test_job_satisfaction_exact_test_agrees_with_r():
    # ?fisher.test, Agresti (2002) Job: p-value = 0.7827; the random tables' standard error is 0.003
    rows = [(1, 2, 1, 0), (3, 3, 6, 1), (10, 10, 14, 9), (6, 7, 12, 11)]
    job = pd.DataFrame(
        [(s, i, n) for s, r in zip("ABCD", rows, strict=True) for i, n in enumerate(r)], columns=["s", "i", "n"]
    )
    best = contingency(job, row="i", column="s", count="n")["test_table"].iloc[0]
    assert "Freeman-Halton" in best["test"]
    assert best["p_value"] == pytest.approx(0.7827, abs=0.012)


def test_swapping_the_row_level_inverts_the_odds_ratio():
    one = contingency(UCB, row="Gender", column="Admit", count="Freq", row_level="Male", column_level="Admitted")
    two = contingency(UCB, row="Gender", column="Admit", count="Freq", row_level="Female", column_level="Admitted")
    assert one["test_table"]["odds_ratio"].iloc[0] == pytest.approx(1 / two["test_table"]["odds_ratio"].iloc[0])


def test_mtcars_regression_matches_r():
    # R: summary(lm(mpg ~ wt, mtcars)): 37.2851 (1.8776), -5.3445 (0.5591), t -9.559, R-squared 0.7528, F 91.38
    result = linear_regression(MTCARS, outcome="mpg", predictors=["wt"])
    slope = row(result["coefficients"], term="wt")
    assert near(row(result["coefficients"], term="Intercept")["estimate"], 37.2851, 1e-5)
    assert near(slope["estimate"], -5.3445, 1e-5)
    assert near(slope["se"], 0.5591, 1e-4)
    assert near(slope["statistic"], -9.559, 1e-4)
    assert near(slope["p_value"], 1.294e-10)
    assert near(row(result["diagnostics"], check="R squared")["value"], 0.7528, 1e-4)
    assert "mpg is 5.34 lower per unit of wt (95 % CI " in result["findings"][0]["text"]


def test_women_regression_matches_r():
    # R: lm(weight ~ height, women): -87.51667, 3.45000, R-squared 0.991
    table = linear_regression(WOMEN, outcome="weight", predictors=["height"])["coefficients"]
    assert near(row(table, term="Intercept")["estimate"], -87.51667, 1e-6)
    assert near(row(table, term="height")["estimate"], 3.45, 1e-9)


def test_longley_regression_matches_nist_certified_values():
    # NIST Statistical Reference Datasets, Longley: certified estimates and standard deviations
    from statsmodels.datasets import longley

    data = longley.load_pandas().data
    result = linear_regression(data, outcome="TOTEMP", predictors=[name for name in data if name != "TOTEMP"])
    certified = {
        "Intercept": (-3482258.63459582, 890420.383607373), "GNPDEFL": (15.0618722713733, 84.9149257747669),
        "GNP": (-0.358191792925910e-01, 0.334910077722432e-01), "UNEMP": (-2.02022980381683, 0.488399681651699),
        "ARMED": (-1.03322686717359, 0.214274163161675), "POP": (-0.511041056535807e-01, 0.226073200069370),
        "YEAR": (1829.15146461355, 455.478499142212),
    }  # fmt: skip
    for term, (estimate, se) in certified.items():
        assert near(row(result["coefficients"], term=term)["estimate"], estimate, 1e-6)
        assert near(row(result["coefficients"], term=term)["se"], se, 1e-6)
    assert any("nearly determined by the other predictors" in text for text in result["warnings"])


def test_text_predictor_names_its_reference_level():
    # One-way coding: the coefficient of a two-level text predictor is the difference of the two means.
    result = linear_regression(PLANTS[PLANTS["group"] != "trt1"], outcome="weight", predictors=["group"])
    assert row(result["coefficients"], term="group[trt2 vs ctrl]")["estimate"] == pytest.approx(0.494)
    assert any("reference level is ctrl" in text for text in result["warnings"])


def test_logistic_regression_of_mtcars_matches_r():
    # R: summary(glm(am ~ wt, binomial, mtcars)): 12.040 (4.510) p 0.00759, -4.024 (1.436) p 0.00509
    table = logistic_regression(MTCARS, outcome="am", predictors=["wt"], event_value="1")["coefficients"]
    assert near(row(table, term="Intercept")["coef"], 12.040)
    assert near(row(table, term="wt")["coef"], -4.024)
    assert near(row(table, term="wt")["se"], 1.436, 1e-3)
    assert near(row(table, term="wt")["p_value"], 0.00509, 2e-3)


def test_logistic_regression_of_grades_matches_greene():
    # Greene, Econometric Analysis (5th ed.), table 21.1 (Spector & Mazzeo 1980): logit -13.021, 2.826, 0.095, 2.379
    from statsmodels.datasets import spector

    data = spector.load_pandas().data
    table = logistic_regression(data, outcome="GRADE", predictors=["GPA", "TUCE", "PSI"])["coefficients"]
    for term, coefficient, se in (
        ("Intercept", -13.021, 4.931),
        ("GPA", 2.826, 1.263),
        ("TUCE", 0.095, 0.142),
        ("PSI", 2.379, 1.065),
    ):
        assert row(table, term=term)["coef"] == pytest.approx(coefficient, abs=6e-4)
        assert row(table, term=term)["se"] == pytest.approx(se, abs=6e-4)


def test_modelling_the_other_level_inverts_the_odds_ratio():
    one = logistic_regression(MTCARS, outcome="am", predictors=["wt"], event_value="1")["coefficients"]
    two = logistic_regression(MTCARS, outcome="am", predictors=["wt"], event_value="0")["coefficients"]
    assert row(one, term="wt")["coef"] == pytest.approx(-row(two, term="wt")["coef"], rel=1e-5)


def test_separated_outcome_gets_firths_estimate():
    # For a saturated 2 x 2 table Firth's penalty adds one half to every cell (Heinze & Schemper 2002).
    data = pd.DataFrame({"exposed": ["no"] * 10 + ["yes"] * 10, "ill": [0] * 10 + [1] * 4 + [0] * 6})
    result = logistic_regression(data, outcome="ill", predictors=["exposed"])
    effect = row(result["coefficients"], term="exposed[yes vs no]")
    assert effect["method"] == "Firth"
    assert effect["coef"] == pytest.approx(np.log(4.5 * 10.5 / (6.5 * 0.5)), abs=1e-6)
    assert effect["lower_95"] < effect["odds_ratio"] < effect["upper_95"] < np.inf
    assert any("separate events from non-events" in text for text in result["warnings"])


def test_roc_area_of_breast_cancer_agrees_with_scikit_learn():
    from sklearn.datasets import load_breast_cancer
    from sklearn.metrics import roc_auc_score

    data = load_breast_cancer(as_frame=True).frame
    result = logistic_regression(data, outcome="target", predictors=["mean radius"], event_value="1")
    # One predictor with a negative coefficient: the fitted order is the reverse of its own.
    expected = roc_auc_score(data["target"], -data["mean radius"])
    assert row(result["diagnostics"], check="area under the ROC curve")["value"] == pytest.approx(expected)


@pytest.mark.parametrize(("method", "rejected"), [("benjamini_hochberg", 4), ("bonferroni", 3), ("holm", 3)])
def test_adjustment_rejects_what_benjamini_and_hochberg_published(method, rejected):
    result = adjust_p_values(pd.DataFrame({"p": BH_1995}), column="p", method=method)
    assert int(result["adjusted"]["significant"].sum()) == rejected
    assert result["findings"][0]["values"][0]["value"] == rejected


def test_adjustment_skips_missing_p_values():
    result = adjust_p_values(pd.DataFrame({"p_value": [0.01, None, 0.02, 0.5]}), column="p_value")
    assert result["adjusted"]["p_adj"].isna().tolist() == [False, True, False, False]
    assert result["adjusted"]["p_adj"].iloc[0] == pytest.approx(0.03)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=40), st.sampled_from(["benjamini_hochberg", "holm", "bonferroni"])
)
def test_adjusted_p_values_keep_order_and_never_shrink(p, method):
    table = adjust_p_values(pd.DataFrame({"p": p}), column="p", method=method)["adjusted"]
    assert (table["p_adj"] >= table["p"] - 1e-12).all()
    assert (table["p_adj"] <= 1).all()
    assert (table.sort_values("p")["p_adj"].diff().dropna() >= -1e-12).all()


@settings(max_examples=20, deadline=None)
@given(
    # Of numbers that differ by less than a float beside 1 can show, a shift leaves nothing.
    st.lists(st.floats(-1e3, 1e3).map(lambda value: round(value, 6)), min_size=4, max_size=30, unique=True),
    st.floats(0.5, 20),
    st.floats(-50, 50),
)
def test_correlation_does_not_depend_on_units(values, scale, shift):
    noise = np.sin(np.arange(len(values)) * 7.0)
    first = pd.DataFrame({"x": values, "y": noise})
    second = pd.DataFrame({"x": np.array(values) * scale + shift, "y": noise})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, two = (
            correlation(t, x="x", y="y", method="pearson")["correlations"]["r"].iloc[0] for t in (first, second)
        )
    assert one == pytest.approx(two, abs=1e-6)


def test_summary_counts_missing_values_by_group():
    penguins = classic("penguins.csv")
    table = summarize_table(penguins, columns=["body_mass_g"], group_by="species")["summary"]
    adelie = row(table, species="Adelie")
    assert (adelie["n"], adelie["missing"]) == (151, 1)
    assert near(adelie["mean"], 3700.662, 1e-6)


BAD = {
    "an absent column": (compare_groups, SLEEP, {"value": "Extra", "group": "group"}, "did you mean 'extra'"),
    "an absent level": (compare_groups, SLEEP, {"value": "extra", "group": "group", "treated": "3", "control": "1"},
        "no level '3'"),
    "text among numbers": (compare_groups, pd.DataFrame({"y": ["1", "2", "<5", "4"], "g": list("aabb")}),
                           {"value": "y", "group": "g"}, "'<5'"),
    "one group": (compare_groups, pd.DataFrame({"y": [1.0, 2, 3], "g": ["a"] * 3}), {"value": "y", "group": "g"},
        "expected two or more"),
    "constant values": (compare_groups, pd.DataFrame({"y": [1.0] * 6, "g": list("aaabbb")}), {"value": "y",
        "group": "g"}, "the same"),
    "paired test without pairs": (compare_groups, SLEEP, {"value": "extra", "group": "group", "test": "paired_t"},
        "pair column"),
    "ids as groups": (compare_groups, pd.DataFrame({"y": range(80), "g": range(80)}), {"value": "y", "group": "g"},
        "at most 40"),
    "confounded factors": (anova, pd.DataFrame({"y": range(8), "a": list("xxxxyyyy"), "b": list("ppppqqqq")}),
                           {"value": "y", "factors": ["a", "b"], "interaction": False}, "cannot be told apart"),
    "no residuals": (anova, pd.DataFrame({"y": [1.0, 2, 4], "a": list("xyz")}), {"value": "y", "factors": ["a"]},
        "nothing unexplained"),
    "collinear predictors": (linear_regression, MTCARS.assign(kg=MTCARS["wt"] * 453.6), {"outcome": "mpg",
        "predictors": ["wt", "kg"]},
                             "'kg' is fully determined"),
    "three outcomes": (logistic_regression, PLANTS, {"outcome": "group", "predictors": ["weight"]}, "exactly two"),
    "impossible p-values": (adjust_p_values, pd.DataFrame({"p": [0.1, 3.0]}), {"column": "p"}, "outside 0 to 1"),
    "one category": (contingency, pd.DataFrame({"a": list("xxx"), "b": list("pqp")}), {"row": "a", "column": "b"},
        "single value"),
    "fractional counts": (contingency, TEA.assign(n=[3, 1.5, 1, 3]), {"row": "guess", "column": "truth",
        "count": "n"}, "whole numbers"),
    "infinite values": (correlation, pd.DataFrame({"x": [1, 2, 3, np.inf], "y": [1, 2, 3, 4.0]}), {"x": "x",
        "y": "y"}, "infinite"),
    "empty table": (summarize_table, pd.DataFrame({"x": []}), {}, "no rows"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_data_gives_one_clear_sentence(case):
    function, table, params, words = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        function(table, **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


STEPS = {
    "compare_two": (compare_groups, SLEEP, {"value": "extra", "group": "group", "pair": "ID"}),
    "compare_many": (compare_groups, PLANTS, {"value": "weight", "group": "group"}),
    "compare_ranks": (
        compare_groups,
        PLANTS,
        {"value": "weight", "group": "group", "test": "kruskal", "control": "ctrl"},
    ),
    "anova": (
        anova,
        WARPBREAKS,
        {"value": "breaks", "factors": ["wool", "tension"], "interaction": True, "ss_type": 2},
    ),
    "correlation": (correlation, MTCARS, {"columns": ["mpg", "wt"]}),
    "contingency": (contingency, UCB, {"row": "Gender", "column": "Admit", "count": "Freq"}),
    "contingency_exact": (contingency, TEA, {"row": "guess", "column": "truth", "count": "n"}),
    "linear": (linear_regression, MTCARS, {"outcome": "mpg", "predictors": ["wt", "am"]}),
    "logistic": (logistic_regression, MTCARS, {"outcome": "am", "predictors": ["wt"]}),
    "firth": (logistic_regression, MTCARS.assign(heavy=MTCARS["wt"] > 3), {"outcome": "heavy", "predictors": ["wt"]}),
    "summary": (summarize_table, SLEEP, {"group_by": "group"}),
    "adjust": (adjust_p_values, pd.DataFrame({"p_value": BH_1995}), {"column": "p_value", "method": "holm"}),
}


@pytest.mark.parametrize("name", STEPS)
def test_step_runs_from_its_own_source_and_passes_its_checks(name, tmp_path):
    function, table, params = STEPS[name]
    record, _, issues = run_step(function, {"table": table}, params, tmp_path)
    assert issues == []
    assert 1 <= len(record["findings"]) <= 10


def test_swapped_group_means_are_caught(tmp_path):
    table = compare_groups(SLEEP, value="extra", group="group")["comparison"]
    assert check_issues(["group_differences_match_means"], {"comparison": table}, tmp_path) == []
    swapped = table.rename(columns={"mean_1": "mean_2", "mean_2": "mean_1"})
    assert check_issues(["group_differences_match_means"], {"comparison": swapped}, tmp_path) == ["difference_swapped"]
    shifted = table.assign(lower_95=table["difference"] + 1, upper_95=table["difference"] + 2)
    assert check_issues(["group_differences_match_means"], {"comparison": shifted}, tmp_path) == [
        "interval_without_estimate"
    ]


def test_wrong_anova_table_is_caught(tmp_path):
    table = anova(WARPBREAKS, value="breaks", factors=["wool"])["anova_table"]
    assert check_issues(["anova_table_consistent"], {"anova_table": table}, tmp_path) == []
    assert check_issues(["anova_table_consistent"], {"anova_table": table.assign(f=table["f"] * 2)}, tmp_path) == [
        "f_differs"
    ]
    assert check_issues(["anova_table_consistent"], {"anova_table": table.iloc[:1]}, tmp_path) == ["anova_residual"]


def test_impossible_correlation_is_caught(tmp_path):
    table = correlation(MTCARS, x="mpg", y="wt")["correlations"]
    assert check_issues(["correlations_in_range"], {"correlations": table}, tmp_path) == []
    wrong = check_issues(["correlations_in_range"], {"correlations": table.assign(r=-1.2)}, tmp_path)
    assert wrong == ["correlation_out_of_range", "interval_without_estimate"]


def test_lost_counts_are_caught(tmp_path):
    result = contingency(UCB, row="Gender", column="Admit", count="Freq")
    given_tables = {"counts": result["counts"], "test_table": result["test_table"]}
    assert check_issues(["contingency_counts_add_up"], given_tables, tmp_path) == []
    given_tables["counts"] = given_tables["counts"].iloc[:1]
    assert check_issues(["contingency_counts_add_up"], given_tables, tmp_path) == ["counts_differ"]


def test_wrong_coefficients_are_caught(tmp_path):
    table = logistic_regression(MTCARS, outcome="am", predictors=["wt"])["coefficients"]
    name = ["coefficients_in_their_intervals"]
    assert check_issues(name, {"coefficients": table}, tmp_path) == []
    assert "odds_ratio_differs" in check_issues(name, {"coefficients": table.assign(coef=-table["coef"])}, tmp_path)
    assert "standard_error" in check_issues(name, {"coefficients": table.assign(se=0.0)}, tmp_path)
    assert "interval_without_estimate" in check_issues(name, {"coefficients": table.assign(upper_95=0.0)}, tmp_path)


def test_dropped_adjusted_value_is_caught(tmp_path):
    table = adjust_p_values(pd.DataFrame({"p": BH_1995}), column="p")["adjusted"]
    name, params = ["adjusted_rows_complete"], {"column": "p"}
    assert check_issues(name, {"adjusted": table}, tmp_path, params=params) == []
    gap = table.assign(p_adj=table["p_adj"].where(table.index > 0))
    assert check_issues(name, {"adjusted": gap}, tmp_path, params=params) == ["adjusted_missing"]
    assert check_issues(name, {"adjusted": table.assign(p_adj=0.0)}, tmp_path, params=params) == ["adjusted_order"]
