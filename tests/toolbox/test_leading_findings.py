"""The first finding of a tool is the answer: it names the groups and the ends, and says what a null result leaves open.

Numbers are held against pandas, scipy and lifelines on R's InsectSprays (Beall 1942) and small made-up tables.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from lifelines import CoxPHFitter, KaplanMeierFitter
from lifelines.datasets import load_gbsg2, load_larynx
from scipy import stats
from sklearn.metrics import roc_auc_score
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import proportion_confint
from table_steps import run_step

from engine.toolbox.clinical.risks import risk_measures
from engine.toolbox.clinical.roc import roc_curve
from engine.toolbox.statistics.contingency import contingency
from engine.toolbox.statistics.groups import compare_groups
from engine.toolbox.statistics.linear import linear_regression
from engine.toolbox.statistics.logistic import logistic_regression
from engine.toolbox.statistics.mixed import mixed_model
from engine.toolbox.statistics.proportions import proportion_test
from engine.toolbox.statistics.repeated import repeated_measures
from engine.toolbox.statistics.screening import compare_columns
from engine.toolbox.statistics.summaries import summarize_table
from engine.toolbox.statistics.trend import trend_test
from engine.toolbox.survival.curves import kaplan_meier, log_rank
from engine.toolbox.survival.regression import cox_regression
from engine.toolbox.tables.columns import called_level, format_number, format_p, left_open
from engine.toolbox.tables.handling import filter_rows

SPRAYS = {
    "A": [10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13],
    "C": [0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4],
    "F": [11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13],
}
TABLE = pd.DataFrame(
    [(spray, count) for spray, counts in SPRAYS.items() for count in counts], columns=["spray", "count"]
)


def values_of(finding):
    return {value["name"]: value["value"] for value in finding["values"]}


def test_groups_that_differ_are_named_at_both_ends(tmp_path):
    record, tables, issues = run_step(compare_groups, {"table": TABLE}, {"value": "count", "group": "spray"}, tmp_path)
    assert not issues
    first = record["findings"][0]
    assert "): mean F 16.7, A 14.5 and C 2.08; " in first["text"]
    assert values_of(first)["mean C"] == pytest.approx(np.mean(SPRAYS["C"]))
    shown = tables["groups"].set_index("group")
    assert list(shown.index) == ["F", "A", "C"]
    assert shown.loc["A", "sd"] == pytest.approx(np.std(SPRAYS["A"], ddof=1))
    assert set(compare_groups.tool_spec.shows) <= {port.name for port in compare_groups.tool_spec.outputs}


def test_groups_that_are_not_shown_to_differ_say_what_is_not_excluded(tmp_path):
    alike = pd.DataFrame({"site": np.repeat(["north", "south", "west"], 8),
                          "height": [5, 6, 7, 8, 9, 10, 11, 12, *range(6, 14), *range(5, 13)]})  # fmt: skip
    record, _, issues = run_step(compare_groups, {"table": alike}, {"value": "height", "group": "site"}, tmp_path)
    assert not issues
    first = record["findings"][0]
    sides = [alike.loc[alike["site"] == site, "height"] for site in ("north", "south", "west")]
    interval = stats.tukey_hsd(*sides).confidence_interval(0.95)
    reach = max(np.abs(interval.low).max(), np.abs(interval.high).max())
    assert values_of(first)["largest_not_excluded"] == pytest.approx(reach, rel=1e-4)
    assert f"differences of up to {reach:.2f} between two of them." in first["text"]


def test_medians_of_all_groups_are_told_in_one_sentence():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"arm": np.repeat(["old", "new"], 40), "months": rng.exponential([10] * 40 + [20] * 40).round(2),
                         "died": 1})  # fmt: skip
    first = kaplan_meier(data, time="months", event="died", group="arm", time_unit="months")["findings"][0]
    for arm, part in data.groupby("arm"):
        median = KaplanMeierFitter().fit(part["months"], part["died"]).median_survival_time_
        assert f"{median:g} months with {arm} (95 % interval" in first["text"]
        assert values_of(first)[f"median {arm}"] == pytest.approx(median)


def test_without_groups_the_median_comes_before_the_counts():
    data = pd.DataFrame({"days": [3, 5, 8, 13, 21, 34], "died": [1, 1, 1, 1, 0, 1]})
    found = kaplan_meier(data, time="days", event="died")["findings"]
    assert "median survival 8" in found[0]["text"]
    assert "6 subjects" in found[1]["text"]


def test_means_of_all_groups_are_told_in_one_sentence(tmp_path):
    record, _, issues = run_step(
        summarize_table, {"table": TABLE}, {"columns": ["count"], "group_by": "spray"}, tmp_path
    )
    assert not issues
    assert record["findings"][0]["text"].startswith("Mean count is 16.7 (SD 6.21, n = 12) in F")
    assert "2.08 (SD 1.98, n = 12) in C" in record["findings"][0]["text"]


def test_levels_that_say_nothing_by_themselves_come_with_their_column(tmp_path):
    assert [called_level(level, "smoker") for level in ("yes", "0", "ex")] == ["smoker = yes", "smoker 0", "ex"]
    births = pd.DataFrame({"smoker": ["yes"] * 74 + ["no"] * 115, "small": [1] * 30 + [0] * 44 + [1] * 29 + [0] * 86})
    given = {"exposure": "smoker", "outcome": "small", "event_value": "1"}
    wanted = {param.name for param in risk_measures.tool_spec.params}
    record, _, issues = run_step(
        risk_measures, {"table": births}, {k: v for k, v in given.items() if k in wanted}, tmp_path
    )
    assert not issues
    text = record["findings"][0]["text"]
    assert "higher in smoker = yes than in smoker = no: 40.5 % (30 of 74) against 25.2 % (29 of 115)" in text
    assert "one event more for every 7 in smoker = yes" in text  # 1 / (30/74 - 29/115) = 6.5


def test_shares_of_all_groups_stand_in_the_first_sentence(tmp_path):
    nests = pd.DataFrame({"species": ["a"] * 50 + ["b"] * 40 + ["c"] * 60,
                          "complete": ["Yes"] * 45 + ["No"] * 5 + ["Yes"] * 20 + ["No"] * 20 + ["Yes"] * 48 + ["No"] * 12})  # fmt: skip
    given = {"event": "complete", "group": "species", "event_value": "Yes"}
    record, _, _ = run_step(proportion_test, {"table": nests}, given, tmp_path)
    assert "90.0 % (45 of 50) in a, 80.0 % (48 of 60) in c and 50.0 % (20 of 40) in b" in record["findings"][0]["text"]


def test_a_top_ten_is_named_with_ten(tmp_path):
    birds = pd.DataFrame({"bird": [f"bird{n:02d}" for n in range(30)], "mass": np.arange(30) * 10.0})
    wanted = {"sort_by": "mass", "order": "descending", "top_n": 10}
    record, _, issues = run_step(filter_rows, {"table": birds}, wanted, tmp_path)
    assert not issues
    assert all(f"bird{n}" in record["findings"][-1]["text"] for n in range(20, 30))


RNG = np.random.default_rng(11)
DOSES = pd.DataFrame({"dose": np.repeat([0, 1, 10, 100], 8)})
DOSES["eggs"] = (60 - 0.4 * DOSES["dose"] + RNG.normal(0, 4, len(DOSES))).round(2)
PLANTS = pd.DataFrame({"age": RNG.uniform(1, 9, 90).round(1), "light": np.tile(["sun", "shade"], 45),
                       "soil": np.repeat(["clay", "loam", "sand"], 30)})  # fmt: skip
PLANTS["height"] = 10 + 2 * PLANTS["age"] + 4 * (PLANTS["light"] == "sun") + RNG.normal(0, 2, 90)
PLANTS["wilted"] = np.where(RNG.random(90) < np.where(PLANTS["light"] == "sun", 0.7, 0.3), "yes", "no")


def first_of(function, table, **params):
    return function(table, **params)["findings"][0]


def interval_of(finding, name):
    value = next(value for value in finding["values"] if value["name"] == name)
    return value["value"], value["low"], value["high"]


def test_groups_say_which_of_them_differ():
    text = first_of(compare_groups, TABLE, value="count", group="spray")["text"]
    assert (
        "A above C by 12.4 (p = 1.5e-6); F above C by 14.6 (p = 8.1e-6); not shown: F minus A 2.17 (p = 0.61)" in text
    )
    with_another = pd.concat([TABLE, TABLE[TABLE["spray"] == "C"].assign(spray="D")])
    text = first_of(compare_groups, with_another, value="count", group="spray")["text"]
    assert "; A and F above C and D (4 of 6 pairs) at an adjusted p below 0.05 (Games-Howell)." in text


def test_three_groups_are_told_with_each_pair_and_its_p():
    rng = np.random.default_rng(2)
    samples = {"KO": rng.normal(46, 9, 16), "KO+rescue": rng.normal(50, 9, 16), "WT": rng.normal(57, 9, 16)}
    table = pd.DataFrame([(name, x) for name, xs in samples.items() for x in xs], columns=["genotype", "cells"])
    text = first_of(compare_groups, table, value="cells", group="genotype", post_hoc="tukey")["text"]
    p, names = stats.tukey_hsd(*samples.values()).pvalue, list(samples)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        a, b = (names[i], names[j]) if f"{names[i]} minus {names[j]} " in text else (names[j], names[i])
        gap = samples[a].mean() - samples[b].mean()
        a, b, gap = (a, b, gap) if p[i, j] >= 0.05 or gap > 0 else (b, a, -gap)
        said = f"{a} above {b} by {format_number(gap)}" if p[i, j] < 0.05 else f"{a} minus {b} {format_number(gap)}"
        assert f"{said} ({format_p(p[i, j])})" in text
    assert "(Tukey HSD, mean difference)." in text


def test_a_question_of_noec_is_answered_by_dunnetts_test():
    finding = first_of(compare_groups, DOSES, value="eggs", group="dose", post_hoc="dunnett")
    at = {dose: DOSES.loc[DOSES["dose"] == dose, "eggs"] for dose in (0, 1, 10, 100)}
    dunnett = stats.dunnett(at[1], at[10], at[100], control=at[0], rng=np.random.default_rng(1))
    loec = next(dose for dose, p in zip((1, 10, 100), dunnett.pvalue, strict=True) if p < 0.05)
    noec = {1: 0, 10: 1, 100: 10}[loec]
    assert (values_of(finding)["noec"], values_of(finding)["loec"]) == (noec, loec)
    assert finding["text"].startswith(f"The lowest dose at which eggs is lower than at 0 is {loec} (LOEC)")
    assert f"NOEC {noec}" in finding["text"]
    spec = {param.name: param for param in compare_groups.tool_spec.params}["post_hoc"]
    assert any("dunnett:" in words and "[NL]OA?E[CL]" in words for words in spec.words)


def test_doses_without_an_effect_have_no_loec():
    flat = DOSES.assign(eggs=np.tile([50, 52, 54, 48, 47, 53, 51, 49], 4) + DOSES["dose"] * 0.001)
    finding = first_of(compare_groups, flat, value="eggs", group="dose", post_hoc="dunnett")
    assert "loec" not in values_of(finding)
    assert "the NOEC is the highest one, 100, and there is no LOEC" in finding["text"]


def test_logarithms_give_the_ratio_of_geometric_means():
    table = pd.DataFrame({"arm": np.repeat(["placebo", "drug"], 12), "titre": [2.0**k for k in range(12)] * 2})
    table.loc[12:, "titre"] *= 3
    finding = first_of(compare_groups, table, value="titre", group="arm", log=True)
    logs = [np.log(table.loc[table["arm"] == arm, "titre"]) for arm in ("drug", "placebo")]
    limits = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    assert interval_of(finding, "ratio") == pytest.approx((3, np.exp(limits.low), np.exp(limits.high)))
    assert values_of(finding)["geometric_mean_1"] == pytest.approx(stats.gmean(table.loc[12:, "titre"]))
    assert "is not shown to differ" in finding["text"]
    assert f"{100 * (1 - np.exp(limits.low)):.1f} % lower to {np.exp(limits.high):.1f}" in finding["text"]
    with pytest.raises(ValueError, match="have no logarithm"):
        compare_groups(table.assign(titre=table["titre"] - 1), value="titre", group="arm", log=True)


@pytest.mark.parametrize(
    ("given", "said"),
    [((-5.318, 1.35), "; the data are compatible with anything from 5.32 lower to 1.35 higher"),
     ((0.62, 1.25, True), "; the data are compatible with anything from 38.0 % lower to 25.0 % higher"),
     ((0.5, 4.2, True), "; the data are compatible with anything from 50.0 % lower to 4.20 times as high"),
     ((float("nan"), 1.0), ""), ((0.2, float("inf"), True), "")],
)  # fmt: skip
def test_what_a_null_result_leaves_open_is_said_in_words(given, said):
    assert left_open(*given) == said


def test_two_by_two_tables_say_who_has_it_more_often(tmp_path):
    table = pd.DataFrame({"smoking": ["smoker"] * 60 + ["non-smoker"] * 80,
                          "ssi": ["yes"] * 14 + ["no"] * 46 + ["yes"] * 9 + ["no"] * 71})  # fmt: skip
    given = {"row": "smoking", "column": "ssi", "row_level": "smoker", "column_level": "yes"}
    record, _, issues = run_step(contingency, {"table": table}, given, tmp_path)
    assert not issues
    finding = record["findings"][0]
    woolf = np.sqrt(1 / 14 + 1 / 46 + 1 / 9 + 1 / 71)
    odds = 14 * 71 / (46 * 9)
    expected = (odds, odds * np.exp(-1.959964 * woolf), odds * np.exp(1.959964 * woolf))
    assert interval_of(finding, "odds_ratio") == pytest.approx(expected, rel=1e-5)
    p = stats.chi2_contingency([[14, 46], [9, 71]], correction=False).pvalue
    assert values_of(finding)["p_value"] == pytest.approx(p, rel=1e-4)
    assert "in smoker (14 of 60, 23.3 %) than in non-smoker (9 of 80, 11.2 %)" in finding["text"]


def test_larger_tables_say_how_strong_a_relation_the_data_allow():
    counts = [[20, 22, 18], [21, 19, 20], [18, 21, 21]]
    table = pd.DataFrame([(f"r{i}", f"c{j}", n) for i, row in enumerate(counts) for j, n in enumerate(row)],
                         columns=["row", "column", "n"])  # fmt: skip
    finding = first_of(contingency, table, row="row", column="column", count="n")
    largest, statistic = values_of(finding)["largest_v"], stats.chi2_contingency(counts).statistic
    assert stats.ncx2.cdf(statistic, 4, largest**2 * 180 * 2) == pytest.approx(0.025, rel=1e-6)


def test_shares_of_several_groups_bound_what_any_pair_may_differ_by():
    nests = pd.DataFrame({"site": np.repeat(["a", "b", "c"], 40), "used": (["Yes"] * 9 + ["No"] * 31) * 3})
    finding = first_of(proportion_test, nests, event="used", group="site", event_value="Yes")
    low, high = proportion_confint(9, 40, alpha=0.05 / 3, method="wilson")
    reach = np.hypot(9 / 40 - low, high - 9 / 40)  # Newcombe's interval of two equal shares
    assert values_of(finding)["largest_not_excluded"] == pytest.approx(reach, rel=1e-6)


def test_slopes_of_a_number_are_told_within_each_level_that_it_interacts_with(tmp_path):
    given = {"outcome": "height", "predictors": ["age", "light"], "interaction": True}
    record, _, issues = run_step(linear_regression, {"table": PLANTS}, given, tmp_path)
    assert not issues
    finding = record["findings"][0]
    for light, part in PLANTS.groupby("light"):
        slope = np.polyfit(part["age"], part["height"], 1)[0]
        assert values_of(finding)[f"slope {light}"] == pytest.approx(slope)
        assert f"{format_number(slope)} in {light} (95 % CI " in finding["text"]
    assert finding["text"].startswith("height rises per unit of age by ")
    assert "; the slopes are not shown to differ (interaction F(1, 86) = " in finding["text"]
    falling = PLANTS.assign(height=-PLANTS["height"])
    text = first_of(linear_regression, falling, **given)["text"]
    assert text == finding["text"].replace("rises", "falls")


def test_all_predictors_that_are_asked_about_are_told_together():
    given = {"outcome": "height", "predictors": ["age", "light", "soil"], "references": ["light=shade"]}
    finding = first_of(linear_regression, PLANTS, **given)
    fit = smf.ols("height ~ age + C(light, Treatment('shade')) + soil", PLANTS).fit()
    age, light = fit.params["age"], fit.params["C(light, Treatment('shade'))[T.sun]"]
    assert f"{age:.2f} higher per unit of age (" in finding["text"]
    assert f"{light:.2f} higher in sun than in shade (" in finding["text"]
    joint = fit.f_test("soil[T.loam] = 0, soil[T.sand] = 0").pvalue
    assert f"not shown to change with soil (p = {float(joint):.2g})" in finding["text"]
    for term in ("age", "C(light, Treatment('shade'))[T.sun]"):
        assert f", {format_p(fit.pvalues[term])})" in finding["text"]
    one = first_of(linear_regression, PLANTS, **given, adjusted=["light", "soil"])
    assert one["row"] == {"term": "age"}
    assert one["text"].startswith("height is")


def test_each_covariate_of_a_cox_model_is_told_with_its_p():
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"age": rng.normal(60, 8, 90), "dose": rng.normal(0, 1, 90)})
    data["time"] = np.round(rng.exponential(20 / np.exp(0.08 * (data["age"] - 60))) + 0.01, 3)
    data["death"] = (rng.random(90) < 0.7).astype(int)
    text = first_of(cox_regression, data, time="time", event="death", covariates=["age", "dose"])["text"]
    fit = smf.phreg("time ~ age + dose", data, status=data["death"].to_numpy(), ties="efron").fit()
    assert min(fit.pvalues) < 0.05 < max(fit.pvalues)
    for ratio, p in zip(np.exp(fit.params), fit.pvalues, strict=True):
        assert re.search(rf"\(hazard ratio {ratio:.3g}, 95 % CI [^)]*, {format_p(p)}\)", text)


def test_odds_and_rates_of_several_predictors_are_told_as_ratios():
    finding = first_of(logistic_regression, PLANTS, outcome="wilted", predictors=["light", "age"], event_value="yes",
                       references=["light=shade"])  # fmt: skip
    fit = smf.logit("y ~ C(light, Treatment('shade')) + age", PLANTS.assign(y=PLANTS["wilted"] == "yes")
                    .astype({"y": int})).fit(disp=0)  # fmt: skip
    ratio = np.exp(fit.params["C(light, Treatment('shade'))[T.sun]"])
    assert f"{ratio:.2f} times as high in sun as in shade (odds ratio {ratio:.2f}" in finding["text"]


def test_survival_at_a_moment_is_told_with_the_medians():
    data, given = load_gbsg2(), {"time": "time", "event": "cens", "at_times": ["1000"], "time_unit": "days"}
    text = first_of(kaplan_meier, data, **given, group="menostat")["text"]
    for name, part in data.groupby("menostat"):
        fit = KaplanMeierFitter().fit(part["time"], part["cens"])
        assert f"{100 * fit.predict(1000):.1f} % with {name} (" in text
        assert f"{fit.median_survival_time_:g} days with {name} (" in text
    everyone = KaplanMeierFitter().fit(data["time"], data["cens"])
    text = first_of(kaplan_meier, data, **given)["text"]
    assert text.startswith(f"All subjects: survival at 1000 days is {100 * everyone.predict(1000):.1f} % (")
    assert f"; median survival {everyone.median_survival_time_:g} days (" in text


def test_stages_are_tested_together_in_a_cox_model():
    data = load_larynx().assign(stage=lambda t: np.select([t["Stage_II"] == 1, t["Stage_III"] == 1, t["Stage_IV"] == 1],
                                                          ["II", "III", "IV"], "I"))  # fmt: skip
    finding = first_of(cox_regression, data, time="time", event="death", covariates=["stage"])
    model = CoxPHFitter().fit(data[["time", "death", "Stage_II", "Stage_III", "Stage_IV"]], "time", "death")
    beta, covariance = model.params_.to_numpy(), model.variance_matrix_.to_numpy()
    wald = float(beta @ np.linalg.solve(covariance, beta))
    assert values_of(finding)["p_value"] == pytest.approx(stats.chi2.sf(wald, 3), rel=1e-4)
    assert values_of(finding)["hazard_ratio IV"] == pytest.approx(model.hazard_ratios_["Stage_IV"], rel=1e-4)
    assert "differed by stage (Wald test, " in finding["text"]


def test_survival_of_two_groups_says_when_half_had_the_event():
    data = load_gbsg2()
    finding = first_of(log_rank, data, time="time", event="cens", group="horTh")
    for arm, part in data.groupby("horTh"):
        assert (
            values_of(finding)[f"median {arm}"]
            == KaplanMeierFitter().fit(part["time"], part["cens"]).median_survival_time_
        )
    assert finding["text"].startswith("Survival is longer with horTh = yes than with horTh = no: half had the event by")
    assert "; hazard 29.3 % lower, hazard ratio of yes against no 0.707 (95 % CI " in finding["text"]
    assert "half had the event by 2018 with horTh = yes and 1528 with horTh = no" in finding["text"]


def test_a_trend_of_shares_is_told_over_all_doses():
    table = pd.DataFrame({"dose": [0, 50, 200], "ill": [4, 9, 16], "of": [20, 20, 20]})
    finding = first_of(trend_test, table, group="dose", events="ill", total="of")
    rows = table.loc[table.index.repeat(2)].assign(y=[1, 0] * 3, w=[4, 16, 9, 11, 16, 4])
    fit = smf.glm("y ~ dose", rows, family=sm.families.Binomial(), freq_weights=rows["w"].to_numpy()).fit()
    assert (
        f"odds ratio of 200 against 0 on the line of the trend {np.exp(200 * fit.params['dose']):.3g}"
        in finding["text"]
    )
    assert "from 20.0 % at 0 to 80.0 % at 200" in finding["text"]


def test_two_markers_are_compared_before_each_is_told():
    data = pd.DataFrame({"ill": np.repeat(["case", "control"], 40), "a": np.r_[RNG.normal(2, 1, 40), RNG.normal(0, 1, 40)],
                         "b": RNG.normal(0, 1, 80)})  # fmt: skip
    findings = roc_curve(data, marker="a", others=["b"], outcome="ill", event_value="case", event_when="higher")[
        "findings"
    ]
    areas = {name: roc_auc_score(data["ill"] == "case", data[name]) for name in ("a", "b")}
    assert findings[0]["text"].startswith("a separates subjects with ill = case better than b: AUC a")
    assert values_of(findings[0])["difference"] == pytest.approx(areas["a"] - areas["b"])


def test_a_screen_without_a_find_says_what_it_could_have_found():
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd")).assign(group=np.tile(["x", "y"], 30))
    text = first_of(compare_columns, table, group="group")["text"]
    size = TTestIndPower().solve_power(nobs1=30, alpha=0.05 / 4, power=0.8)
    assert f"a difference of {size:.2f} standard deviations in one of them would have been found" in text


def test_boys_who_grow_faster_lead_where_slopes_are_asked_for():
    rows = [(k, "boy" if k % 2 else "girl", age, 80 + (6 + 0.8 * (k % 2)) * age + 0.3 * ((k * age) % 5))
            for k in range(20) for age in (2, 4, 6, 8)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["child", "sex", "age", "height"])
    finding = first_of(mixed_model, table, outcome="height", fixed=["sex", "age"], subject="child", interaction=True,
                       references=["sex=girl"])  # fmt: skip
    slopes = {sex: [np.polyfit(one["age"], one["height"], 1)[0] for _, one in part.groupby("child")]
              for sex, part in table.groupby("sex")}  # fmt: skip
    limits = stats.ttest_ind(slopes["boy"], slopes["girl"], equal_var=False).confidence_interval(0.95)
    expected = (np.mean(slopes["boy"]) - np.mean(slopes["girl"]), limits.low, limits.high)
    assert interval_of(finding, "difference") == pytest.approx(expected)
    assert finding["text"].startswith("height rises in both: by 6.80 per unit of age in boy (95 % CI ")
    assert f"; {expected[0]:.3f} per unit of age faster in boy than in girl (95 % CI " in finding["text"]


def test_occasions_say_between_which_they_differ():
    rng = np.random.default_rng(2)
    base = rng.normal(20, 3, 25)
    wide = pd.DataFrame(
        {"pig": range(25), "w0": base, "w4": base + rng.normal(0.2, 2, 25), "w8": base + rng.normal(0, 2, 25)}
    )
    finding = first_of(repeated_measures, wide, columns=["w0", "w4", "w8"], subject="pig")
    pairs = [wide[a] - wide[b] for a, b in (("w4", "w0"), ("w8", "w0"), ("w8", "w4"))]
    reach = max(abs(d.mean()) + stats.t.isf(0.025 / 3, 24) * stats.sem(d) for d in pairs)
    assert values_of(finding)["largest_not_excluded"] == pytest.approx(reach)
    assert "none of 3 pairs differ" in finding["text"]


def test_rows_that_are_counted_are_told_as_counts():
    table = pd.DataFrame({"plot": range(1, 8), "site": ["north"] * 3 + ["south"] * 4})
    finding = first_of(summarize_table, table, columns=["plot"], group_by="site", count=True)
    assert finding["text"] == "4 in south and 3 in north (7 rows of plot)."


def test_a_condition_is_told_in_words():
    table = pd.DataFrame({"site": ["a", "b", "c", "a"], "mass": [1, 5, 7, 9]})
    finding = first_of(filter_rows, table, condition="`site` in ['a', 'c'] and `mass` > 5")
    assert finding["text"] == "In 2 of 4 rows site is a or c and mass > 5."


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["P1", "P2", "P3", "P4"], "In 2 of 4 rows mass > 5: who P3, P4."),
        (["P1", "P1", "P3", "P4"], "In 2 of 4 rows mass > 5: who P3, P4."),  # several rows of one, but not of these
        (["P1", "P2", "P3", "P3"], "In 2 of 4 rows mass > 5."),
        ([1, 1, 3, 4], "In 2 of 4 rows mass > 5."),  # numbers may count anything
        ([1, 2, 3, 4], "In 2 of 4 rows mass > 5: who 3, 4."),
    ],
)
def test_the_few_rows_that_meet_a_condition_are_named(names: list, said: str):
    table = pd.DataFrame({"who": names, "mass": [1, 5, 7, 9]})
    assert first_of(filter_rows, table, condition="`mass` > 5")["text"] == said


def test_many_rows_are_not_named():
    table = pd.DataFrame({"who": [f"P{at}" for at in range(40)], "mass": range(40)})
    assert first_of(filter_rows, table, condition="`mass` > 5")["text"] == "In 34 of 40 rows mass > 5."


# ==== whose change, how many, the two at the ends ====


def test_changes_of_three_groups_are_all_told(tmp_path):
    rng = np.random.default_rng(3)
    rise = {"hay": 1.0, "silage": 5.0, "pellets": 5.0}
    frame = pd.DataFrame([
        (f"{feed}{n}", feed, day, 30 + (rise[feed] if day else 0) + base + rng.normal(0, 0.5))
        for feed in rise for n in range(12) for base in [rng.normal(0, 2)] for day in (0, 28)
    ], columns=["goat", "feed", "day", "milk"])  # fmt: skip
    params = {"outcome": "milk", "fixed": ["day", "feed"], "subject": "goat", "interaction": True,
              "categorical": ["day"]}  # fmt: skip
    record, _, issues = run_step(mixed_model, {"table": frame}, params, tmp_path)
    assert not issues
    first = record["findings"][0]
    assert first["text"].startswith("The change of milk from day 0 to 28 differs between the 3 groups of feed: ")
    wide = frame.pivot_table(index=["goat", "feed"], columns="day", values="milk")
    for feed, mean in (wide[28] - wide[0]).groupby("feed").mean().items():
        assert values_of(first)[f"effect {feed}"] == pytest.approx(mean)
        assert f"+{format_number(mean)} in {feed}" in first["text"]


def test_an_empty_cell_is_no_event_where_that_is_said(tmp_path):
    frame = pd.DataFrame({"arm": ["a"] * 10 + ["b"] * 10, "left": ["died"] * 4 + ["sold"] + [None] * 15})
    params = {"event": "left", "event_value": "died", "group": "arm", "empty": "no event"}
    record, tables, issues = run_step(proportion_test, {"table": frame}, params, tmp_path)
    assert not issues
    assert tables["shares"]["total"].tolist() == [10, 10]
    assert "(4 of 10)" in record["findings"][0]["text"]
    assert any("counted as without the event" in warning for warning in record["warnings"])


def test_the_two_at_the_ends_say_that_they_were_picked(tmp_path):
    record, tables, issues = run_step(compare_groups, {"table": TABLE}, {"value": "count", "group": "spray"}, tmp_path)
    assert not issues
    ends = next(f for f in record["findings"] if "picked after looking" in f["text"])
    assert ends["text"].startswith("count is higher in F (")
    pair = tables["comparison"].query("comparison == 'F vs C' or comparison == 'C vs F'").iloc[0]
    assert abs(values_of(ends)["between the ends"]) == pytest.approx(abs(pair["difference"]))


def test_subjects_of_several_rows_are_counted_once(tmp_path):
    frame = pd.DataFrame({"patient": [f"P{n}" for n in range(20)] * 2, "sex": (["m"] * 15 + ["f"] * 5) * 2})
    params = {"columns": ["patient"], "group_by": "sex", "count": True}
    record, _, _ = run_step(summarize_table, {"table": frame}, params, tmp_path)
    assert record["findings"][0]["text"].startswith("15 in m and 5 in f (20 different patient in 40 rows")


def test_codes_of_groups_stand_with_their_column_in_a_log_rank_test(tmp_path):
    frame = load_gbsg2().assign(grade=lambda t: t["tgrade"].map({"I": 1, "II": 2, "III": 3}))
    record, _, _ = run_step(
        log_rank, {"survival": frame}, {"time": "time", "event": "cens", "group": "grade"}, tmp_path
    )
    assert "longest with grade 1 and shortest with grade 3" in record["findings"][0]["text"]


def test_of_several_levels_the_ends_are_told_by_their_adjusted_means():
    rng, n = np.random.default_rng(3), 90
    table = pd.DataFrame({"variety": ["a", "b", "c"] * 30, "block": np.repeat(["i", "ii", "iii"], 30)})
    table["yield_kg"] = 10 + 5.0 * (table["variety"] == "b") - 4.0 * (table["variety"] == "c") + rng.normal(0, 1, n)
    result = linear_regression(table, outcome="yield_kg", predictors=["variety", "block"])
    means = result["marginal_means"].query("factor == 'variety'").set_index("level")["mean"]
    ends = f"highest in b ({format_number(means['b'])}), lowest in c ({format_number(means['c'])})"
    assert result["findings"][0]["text"].startswith("yield_kg differs by variety (p = ")
    assert f"): {ends}; not shown to change with block" in result["findings"][0]["text"]
