"""ROC and accuracy against Hanley and McNeil, Stata's manual, Altman and Bland, and counting pairs."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_questions import profile_files, the_planner
from scipy import stats
from sklearn.metrics import roc_auc_score
from table_steps import check_issues, run_step

from engine.toolbox.clinical.diagnosis import diagnostic_accuracy, exact_interval, with_results
from engine.toolbox.clinical.roc import delong_parts, delong_variance, roc_curve, youden_cut


def hanley():
    """Return the 109 CT images of Hanley and McNeil (1982) Radiology 143:29, table I: ratings 1 to 5."""
    counts = {"normal": [33, 6, 6, 11, 2], "abnormal": [3, 2, 2, 11, 33]}
    rows = [(rating, state) for state, of in counts.items() for rating, n in enumerate(of, 1) for _ in range(n)]
    return pd.DataFrame(rows, columns=["rating", "disease"])


def images(**params):
    return roc_curve(hanley(), marker="rating", outcome="disease", event_value="abnormal", **params)


def scanned(hits, alarms, misses, clear):
    return pd.DataFrame(
        {"scan": ["abnormal"] * (hits + alarms) + ["normal"] * (misses + clear),
         "ill": ["yes"] * hits + ["no"] * alarms + ["yes"] * misses + ["no"] * clear}
    )  # fmt: skip


def accuracy(table, **params):
    frame = diagnostic_accuracy(table, test="scan", outcome="ill", positive="abnormal", **params)["accuracy"]
    return {row["measure"]: row for row in frame.to_dict("records")}


def markers(n=80, seed=1):
    rng = np.random.default_rng(seed)
    ill = np.repeat([1, 0], n // 2)
    first = rng.normal(ill * 1.2, 1)
    return pd.DataFrame(
        {"ill": np.where(ill, "yes", "no"), "a": first, "b": first + rng.normal(0, 1.5, n), "c": -first}
    )


def leading(function, question, result):
    """Return the text of the finding that the tool declares as the answer, else the first."""
    leads = function.tool_spec.leads
    called = [name for name, words in leads.items() if re.search(words, question, re.IGNORECASE)]
    told = [f for f in result["findings"] for name in called
            if name in f.get("row", {}).values() or name in {value["name"] for value in f["values"]}]  # fmt: skip
    return (told if len(called) == 1 and told else result["findings"])[0]["text"]


# ==== which finding leads ====


def test_of_several_markers_the_difference_of_the_areas_leads_and_of_one_the_cut():
    table, question = markers(), "Is a a better marker than b? AUC with interval and best cut-off"
    both = leading(roc_curve, question, roc_curve(table, marker="a", outcome="ill", others=["b"]))
    areas = [roc_auc_score(table["ill"] == "yes", table[name]) for name in ("a", "b")]
    assert f"difference {areas[0] - areas[1]:.3f} (95 % CI " in both
    one = leading(roc_curve, question, roc_curve(table, marker="a", outcome="ill"))
    assert one.startswith("The best cut-point of a ")
    assert f"(AUC {areas[0]:.3f}, 95 % CI " in one


def test_predictive_values_do_not_lead_where_sensitivity_is_asked_for_too():
    result = diagnostic_accuracy(scanned(231, 32, 27, 54), test="scan", outcome="ill", positive="abnormal")
    said = [f"{name} {100 * share:.1f} % (95 % CI " for name, share in (
        ("sensitivity", 231 / 258), ("specificity", 54 / 86), ("positive predictive value", 231 / 263),
        ("negative predictive value", 54 / 81))]  # fmt: skip
    for question in (
        "Sensitivity, specificity and PPV?",
        "PPV, NPV",
        "NPV and sensitivity",
        "specificity, PPV and NPV",
    ):
        text = leading(diagnostic_accuracy, question, result)
        assert all(part in text for part in said)
        assert f"where {100 * 258 / 344:.1f} % (95 % CI " in text
    assert leading(diagnostic_accuracy, "What is the PPV?", result).startswith("Of 263 positive tests 231 are right")
    assert leading(diagnostic_accuracy, "negative predictive value", result).startswith("Of 81 negative tests 54")
    assert leading(diagnostic_accuracy, "Sensitivity and specificity?", result) == result["findings"][0]["text"]


# ==== ROC ====


def test_hanleys_images_have_the_area_and_delong_interval_of_statas_manual():
    # Hanley and McNeil give 0.893; Stata [R] roctab on these data: area 0.8932, DeLong s.e. 0.0307, 0.83295 to 0.95339
    row = images()["auc"].iloc[0]
    assert row["auc"] == pytest.approx(0.8932, abs=5e-5)
    assert row["standard_error"] == pytest.approx(0.0307, abs=5e-5)
    assert (row["lower_95"], row["upper_95"]) == pytest.approx((0.83295, 0.95339), abs=5e-6)


@pytest.mark.slow
def test_bootstrap_interval_of_the_area_is_near_delongs_and_that_of_own_resamples():
    row = images()["auc"].iloc[0]
    table = hanley()
    sick, well = (table.loc[table["disease"] == state, "rating"].to_numpy() for state in ("abnormal", "normal"))
    rng, truth = np.random.default_rng(11), np.repeat([1, 0], [51, 58])
    drawn = [roc_auc_score(truth, np.concatenate([rng.choice(sick, 51), rng.choice(well, 58)])) for _ in range(2000)]
    assert (row["boot_lower_95"], row["boot_upper_95"]) == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=0.015)
    assert (row["boot_lower_95"], row["boot_upper_95"]) == pytest.approx((row["lower_95"], row["upper_95"]), abs=0.02)


def test_markers_that_order_alike_are_not_compared():
    table = markers().assign(d=lambda t: np.exp(t["a"]))
    result = roc_curve(table, marker="a", outcome="ill", others=["d"])
    assert result["comparison"]["p_value"].isna().all()
    assert any("order every subject alike" in finding["text"] for finding in result["findings"])


@pytest.mark.parametrize(
    ("count", "among", "low", "high"), [(10, 20, 0.27196, 0.72804), (0, 10, 0.0, 0.30850), (10, 10, 0.69150, 1.0)]
)
def test_exact_interval_solves_its_binomial_tails(count, among, low, high):
    found = exact_interval(count, among)
    assert found == pytest.approx((low, high), abs=5e-6)  # 1 - 0.025^(1/10) = 0.30850; the first solved here
    assert stats.binom.sf(count - 1, among, found[0]) == pytest.approx(0.025 if count else 1)
    assert stats.binom.cdf(count, among, found[1]) == pytest.approx(0.025 if count < among else 1)
    by = accuracy(scanned(10, 4, 10, 6), interval="exact")
    assert (by["sensitivity"]["lower_95"], by["sensitivity"]["upper_95"]) == pytest.approx((0.27196, 0.72804), abs=5e-6)
    assert by["sensitivity"]["method"].endswith("exact interval")


@pytest.mark.parametrize(
    ("cells", "words"),
    [((10, 0, 5, 9), "was found only in those with ill = yes, so its likelihood ratio is infinite here"),
     ((0, 4, 5, 9), "was found only in those without ill = yes, so its likelihood ratio is 0 here"),
     ((10, 9, 0, 0), "No test was negative")],
)  # fmt: skip
def test_likelihood_ratios_of_empty_cells_are_said_in_words(cells, words):
    result = diagnostic_accuracy(scanned(*cells), test="scan", outcome="ill", positive="abnormal")
    texts = [finding["text"] for finding in result["findings"]]
    assert any(words in text for text in texts)
    assert not any("not available" in text for text in texts)


def test_a_table_without_rows_is_refused_in_a_sentence():
    empty = hanley().iloc[:0]
    with pytest.raises(ValueError, match="no rows"):
        roc_curve(empty, marker="rating", outcome="disease")
    with pytest.raises(ValueError, match="no rows"):
        diagnostic_accuracy(empty, test="rating", outcome="disease", cut_point=3)


def test_youdens_cut_is_the_best_of_all_cuts_counted_by_hand():
    row = images()["auc"].iloc[0]
    hits, clear = [3, 2, 2, 11, 33], [33, 6, 6, 11, 2]
    by_hand = {cut: sum(hits[cut - 1 :]) / 51 + sum(clear[: cut - 1]) / 58 - 1 for cut in range(1, 6)}
    assert row["cut_point"] == max(by_hand, key=by_hand.get) == 4
    assert row["youden"] == pytest.approx(by_hand[4])
    assert (row["sensitivity"], row["specificity"]) == pytest.approx((44 / 51, 45 / 58))
    assert 0 < row["optimism"] < 0.15
    assert row["youden_corrected"] == pytest.approx(row["youden"] - row["optimism"])
    assert any("optimistic" in finding["text"] for finding in images()["findings"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=3, max_size=12), st.lists(st.integers(0, 6), min_size=3, max_size=12))
def test_area_and_variance_are_those_of_all_pairs(cases, controls):
    cases, controls = np.array(cases, dtype=float), np.array(controls, dtype=float)
    pairs = (cases[:, None] > controls) + 0.5 * (cases[:, None] == controls)
    parts = delong_parts(cases, controls)
    assert parts[0] == pytest.approx(pairs.mean())
    by_hand = pairs.mean(axis=1).var(ddof=1) / len(cases) + pairs.mean(axis=0).var(ddof=1) / len(controls)
    assert delong_variance(parts) == pytest.approx(by_hand, abs=1e-12)


def test_difference_of_two_markers_is_delongs():
    table = markers()
    result = roc_curve(table, marker="a", outcome="ill", others=["b"], event_when="higher")
    row, ill = result["comparison"].iloc[0], (table["ill"] == "yes").to_numpy()
    assert row["difference"] == pytest.approx(roc_auc_score(ill, table["a"]) - roc_auc_score(ill, table["b"]))
    # The variance of a difference of means over cases and over controls, from the matrices of all pairs
    gaps = [np.greater.outer(table[m][ill].to_numpy(), table[m][~ill].to_numpy()).astype(float) for m in "ab"]
    gap = gaps[0] - gaps[1]
    z = gap.mean() / math.sqrt(gap.mean(axis=1).var(ddof=1) / 40 + gap.mean(axis=0).var(ddof=1) / 40)
    assert row["z"] == pytest.approx(z)
    assert row["p_value"] == pytest.approx(math.erfc(abs(z) / math.sqrt(2)))


def test_scale_direction_and_order_of_rows_change_nothing():
    table = markers()
    one = roc_curve(table, marker="a", outcome="ill")["auc"].iloc[0]
    log = roc_curve(table.assign(a=np.exp(table["a"])).sample(frac=1, random_state=4), marker="a", outcome="ill")["auc"].iloc[0]  # fmt: skip
    turned = roc_curve(table, marker="c", outcome="ill")["auc"].iloc[0]
    assert log["auc"] == pytest.approx(one["auc"])
    assert log["cut_point"] == pytest.approx(math.exp(one["cut_point"]))
    assert turned["event_when"] == "lower"
    assert (turned["auc"], turned["cut_point"]) == pytest.approx((one["auc"], -one["cut_point"]))
    fixed = roc_curve(table, marker="c", outcome="ill", event_when="higher")["auc"].iloc[0]
    assert fixed["auc"] == pytest.approx(1 - one["auc"])


def test_corrected_index_is_near_the_truth_where_nothing_is_to_be_found():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"ill": [0, 1] * 25, "x": rng.normal(size=50)})
    row = roc_curve(table, marker="x", outcome="ill", event_when="higher")["auc"].iloc[0]
    assert row["youden_corrected"] < row["youden"] - 0.05


def test_perfect_marker_says_that_its_interval_has_no_width():
    table = pd.DataFrame({"ill": [0] * 10 + [1] * 10, "x": range(20)})
    result = roc_curve(table, marker="x", outcome="ill")
    assert result["auc"]["auc"].iloc[0] == 1
    assert any("no width" in text for text in result["warnings"])
    assert youden_cut(np.arange(4.0), np.array([False, False, True, True])) == (2.0, 1.0)


# ==== accuracy of a test ====


def test_liver_scan_has_the_numbers_of_altman_and_bland():
    # BMJ 1994;308:1552 and 309:102: 231 of 258 abnormal and 54 of 86 normal livers; 0.90, 0.63, 0.88, 0.67, 0.75
    by = accuracy(scanned(231, 32, 27, 54))
    names = ["sensitivity", "specificity", "positive predictive value", "negative predictive value", "prevalence"]
    assert [by[name]["estimate"] for name in names] == pytest.approx([0.90, 0.63, 0.88, 0.67, 0.75], abs=6e-3)


def test_likelihood_ratios_have_the_intervals_of_the_log_method():
    # 815, 115, 208, 327 by hand (Simel 1991): log LR+ has the variance 1/815 - 1/1023 + 1/115 - 1/442
    by = accuracy(scanned(815, 115, 208, 327))
    for name, wanted in (("positive", (3.06, 2.61, 3.59)), ("negative", (0.27, 0.24, 0.31))):
        row = by[f"{name} likelihood ratio"]
        assert (row["estimate"], row["lower_95"], row["upper_95"]) == pytest.approx(wanted, abs=6e-3)


def test_shares_have_newcombes_wilson_interval():
    # Newcombe (1998) Stat Med 17:857, table I: 81 of 263: 0.2553 to 0.3662; 15 of 148: 0.0624 to 0.1605
    by = accuracy(scanned(81, 133, 182, 15))
    assert (by["sensitivity"]["lower_95"], by["sensitivity"]["upper_95"]) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert (by["specificity"]["lower_95"], by["specificity"]["upper_95"]) == pytest.approx((0.0624, 0.1605), abs=5e-5)


def test_predictive_values_at_another_prevalence_follow_bayes():
    by = accuracy(scanned(231, 32, 27, 54), prevalence=0.25)
    sens, spec = 231 / 258, 54 / 86
    good = by["positive predictive value at prevalence 0.25"]
    # Altman and Bland (BMJ 309:102): with a prevalence of 0.25 these would be 0.45 and 0.95
    assert good["estimate"] == pytest.approx(sens * 0.25 / (sens * 0.25 + (1 - spec) * 0.75))
    assert good["estimate"] == pytest.approx(0.45, abs=6e-3)
    bad = by["negative predictive value at prevalence 0.25"]
    assert bad["estimate"] == pytest.approx(0.95, abs=6e-3)
    assert bad["lower_95"] < bad["estimate"] < bad["upper_95"]
    own = accuracy(scanned(231, 32, 27, 54), prevalence=258 / 344)
    assert own[f"positive predictive value at prevalence {258 / 344:g}"]["estimate"] == pytest.approx(231 / 263)


def test_swapping_test_and_truth_swaps_sensitivity_and_predictive_value():
    table = scanned(30, 8, 5, 40)
    one = accuracy(table)
    frame = diagnostic_accuracy(table, test="ill", outcome="scan", event_value="abnormal", positive="yes")["accuracy"]
    other = frame.set_index("measure")["estimate"]
    assert other["sensitivity"] == pytest.approx(one["positive predictive value"]["estimate"])
    assert other["specificity"] == pytest.approx(one["negative predictive value"]["estimate"])


def test_a_number_with_its_cut_point_is_a_test():
    table = pd.DataFrame({"score": [3, 8, 10, 10, 12, 15], "ill": ["no", "no", "no", "yes", "yes", "yes"]})
    counts = {rule: diagnostic_accuracy(table, test="score", outcome="ill", cut_point=10, rule=rule)["counts"] for rule in (">=", ">", "<=", "<")}  # fmt: skip
    assert counts[">="][["with_condition", "without_condition"]].to_numpy()[:2].tolist() == [[3, 1], [0, 2]]
    assert counts[">"]["with_condition"].tolist() == [2, 1, 3]
    assert counts["<="]["without_condition"].tolist() == [3, 0, 3]
    assert counts["<"]["without_condition"].tolist() == [2, 1, 3]


def test_roles_that_the_names_deny_are_said():
    table = scanned(30, 8, 5, 40).rename(columns={"scan": "infected", "ill": "rapid_test"})
    result = diagnostic_accuracy(table, test="infected", outcome="rapid_test", positive="abnormal")
    assert "their names suggest the reverse" in result["warnings"][0]


def test_a_test_that_is_never_positive_has_no_predictive_value():
    table = scanned(0, 0, 9, 11).assign(scan="normal")
    result = diagnostic_accuracy(table, test="scan", outcome="ill", positive="normal")
    assert any("always positive" in text for text in result["warnings"])
    assert result["accuracy"].set_index("measure").loc["negative predictive value", "total"] == 0


# ==== bad input, steps, checks, planning ====

ROWS = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6, 7, 8], "same": 2.0, "word": list("abcdefgh"), "ill": ["yes", "no"] * 4, "one": ["no"] * 8})  # fmt: skip
BAD = {
    "constant marker": (roc_curve, {"marker": "same", "outcome": "ill"}, "must vary"),
    "words": (roc_curve, {"marker": "word", "outcome": "ill"}, "not numbers"),
    "nobody ill": (roc_curve, {"marker": "x", "outcome": "one"}, "at least 3 of each"),
    "three states": (roc_curve, {"marker": "x", "outcome": "word"}, "event_value"),
    "same column": (roc_curve, {"marker": "ill", "outcome": "ill"}, "serves twice"),
    "direction": (roc_curve, {"marker": "x", "outcome": "ill", "event_when": "up"}, "auto, higher or lower"),
    "no cut": (diagnostic_accuracy, {"test": "x", "outcome": "ill"}, "cut_point"),
    "prevalence": (diagnostic_accuracy, {"test": "x", "outcome": "ill", "cut_point": 3, "prevalence": 5}, "0.05"),
    "rule": (diagnostic_accuracy, {"test": "x", "outcome": "ill", "cut_point": 3, "rule": "over"}, "expected >="),
    "many levels": (diagnostic_accuracy, {"test": "word", "outcome": "ill"}, "different values"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    function, params, words = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        function(ROWS, **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


STEPS = {
    "images": (roc_curve, hanley(), {"marker": "rating", "outcome": "disease"}),
    "three markers": (roc_curve, markers(), {"marker": "a", "outcome": "ill", "others": ["b", "c"]}),
    "perfect": (roc_curve, pd.DataFrame({"x": range(10), "ill": [0] * 5 + [1] * 5}), {"marker": "x", "outcome": "ill"}),
    "gaps": (roc_curve, markers().assign(a=lambda t: t["a"].where(t["a"] < 2)), {"marker": "a", "outcome": "ill"}),
    "scan": (diagnostic_accuracy, scanned(231, 32, 27, 54), {"test": "scan", "outcome": "ill", "prevalence": 0.01}),
    "zero": (diagnostic_accuracy, scanned(9, 0, 0, 11), {"test": "scan", "outcome": "ill", "prevalence": 0.01}),
    "score": (diagnostic_accuracy, markers(), {"test": "a", "outcome": "ill", "cut_point": 0.5}),
    "never": (diagnostic_accuracy, markers(), {"test": "a", "outcome": "ill", "cut_point": 99, "prevalence": 0.5}),
}


@pytest.mark.parametrize("name", STEPS)
def test_step_runs_from_its_own_source_and_passes_its_checks(name, tmp_path):
    function, table, params = STEPS[name]
    record, _, issues = run_step(function, {"table": table}, params, tmp_path)
    assert issues == []
    assert not any(" nan" in finding["text"] for finding in record["findings"])


def test_wrong_curves_and_intervals_are_caught(tmp_path):
    result = images()
    tables = {"auc": result["auc"], "curve": result["curve"]}
    checks = ["accuracy_in_interval", "curve_rises"]
    assert check_issues(checks, tables, tmp_path) == []
    assert "interval_without_estimate" in check_issues(
        checks, tables | {"auc": tables["auc"].assign(auc=0.7)}, tmp_path
    )
    assert check_issues(["curve_rises"], tables | {"curve": tables["curve"].iloc[::-1]}, tmp_path) == ["curve_falls"]
    worse = tables | {"curve": tables["curve"].assign(sensitivity=1 - tables["curve"]["specificity"])}
    assert check_issues(["curve_rises"], worse, tmp_path) == ["area_differs"]
    assert "share_out_of_range" in check_issues(
        checks, tables | {"curve": tables["curve"].assign(sensitivity=1.2)}, tmp_path
    )


def patients(folder):
    rng = np.random.default_rng(5)
    ill = np.repeat([1, 0], 50)
    pd.DataFrame(
        {"patient": [f"P{i}" for i in range(100)], "CRP": rng.gamma(2, 10 + 10 * ill).round(1),
         "age": rng.normal(60, 9, 100).round(), "rapid_test": np.where(rng.random(100) < 0.1 + 0.7 * ill, "pos", "neg"),
         "sepsis": np.where(ill, "yes", "no")}
    ).to_csv(folder / "sepsis.csv", index=False)  # fmt: skip
    return profile_files([folder / "sepsis.csv"])


PLANNED = {
    "AUC of CRP for sepsis": ("roc_curve", {"marker": "CRP", "outcome": "sepsis", "event_value": "yes"}),
    "Sensitivity and specificity of rapid_test against sepsis": (
        "diagnostic_accuracy", {"test": "rapid_test", "outcome": "sepsis", "positive": "pos", "cut_point": None},
    ),
    "sens and spec of CRP for sepsis with a cut-off of 20": (
        "diagnostic_accuracy", {"test": "CRP", "outcome": "sepsis", "cut_point": 20},
    ),
}  # fmt: skip


@pytest.mark.parametrize("question", PLANNED)
def test_a_plain_question_plans_it_with_its_columns(question, tmp_path):

    planner = the_planner()
    (step,) = planner.plan(question, patients(tmp_path)).plan.nodes
    tool, params = PLANNED[question]
    assert step.tool == tool
    assert {key: step.params.get(key) for key in params} == params


def test_a_test_without_a_result_is_no_negative_one():
    table = pd.DataFrame(
        {"test": ["pos"] * 8 + ["neg"] * 10 + ["invalid"] * 4, "ill": [1] * 10 + [0] * 8 + [1, 1, 0, 0]}
    )
    with_void = diagnostic_accuracy(table, test="test", outcome="ill", positive="pos")
    without = diagnostic_accuracy(table.iloc[:18], test="test", outcome="ill", positive="pos")
    pd.testing.assert_frame_equal(with_void["accuracy"], without["accuracy"])
    assert any("4 rows have no result in test (invalid) and are left out" in text for text in with_void["warnings"])


@pytest.mark.parametrize("void", ["ungültig", "Ungueltig", "nicht auswertbar", "indéterminé", "inválido", "invalid"])
def test_a_test_without_a_result_is_no_negative_one_in_four_languages(void: str) -> None:
    table = pd.DataFrame({"test": ["pos", "neg", void, "neg"], "truth": ["krank", "gesund", "krank", "gesund"]})
    kept, warnings = with_results(table, ["test"])
    assert len(kept) == 3
    assert void in warnings[0]
