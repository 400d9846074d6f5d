"""Agreement against Bland and Altman (1986), Shrout and Fleiss (1979) with psych, vcd's manual, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa
from table_steps import check_issues, run_step

from engine.toolbox.statistics.agreement import agreement
from engine.toolbox.statistics.limits import limits_of_agreement, repeated_limits
from engine.toolbox.statistics.reliability import fleiss_row, intraclass_rows, kappa_row, stepped_up
from engine.toolbox.tables.columns import format_number

# Bland and Altman (1986) Lancet i:307, table: peak expiratory flow (l/min), first reading by each of two meters.
LARGE = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
MINI = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
METERS = pd.DataFrame({"large": LARGE, "mini": MINI})
# Shrout and Fleiss (1979) Psychol Bull 86:420, table 2: six targets, four judges.
JUDGES = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
# R package vcd, data SexualFun (Agresti 1990, table 2.10): answers of 91 couples.
COUPLES = np.array([[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]], dtype=float)
ANSWERS = ["never", "fairly often", "very often", "almost always"]


def couples():
    pairs = [(ANSWERS[i], ANSWERS[j]) for i in range(4) for j in range(4) for _ in range(int(COUPLES[i, j]))]
    return pd.DataFrame(pairs, columns=["husband", "wife"])


def measures(result, pair=None):
    frame = result["agreement"]
    frame = frame if pair is None else frame[frame["pair"] == pair]
    return {row["measure"]: row for row in frame.to_dict("records")}


def test_peak_flow_meters_have_bland_and_altmans_bias_and_limits():
    # Mean difference -2.1, SD 38.8, interval of the bias -22.0 to 17.8; limits with 2 SD -79.7 and 75.5, whose intervals
    # are 34.6 to each side (standard error sqrt(3 s^2 / n) = 16.3)
    by = measures(agreement(METERS, first="large", second="mini"))
    assert by["bias"]["estimate"] == pytest.approx(-2.1, abs=0.05)
    assert by["SD of differences"]["estimate"] == pytest.approx(38.8, abs=0.05)
    assert (by["bias"]["lower_95"], by["bias"]["upper_95"]) == pytest.approx((-22.0, 17.8), abs=0.06)
    for name, side, published in (("lower limit", -1, -79.7), ("upper limit", 1, 75.5)):
        row = by[name]
        assert row["estimate"] == pytest.approx(published - side * 0.040036 * 38.8, abs=0.1)  # 1.96 SD instead of 2
        assert row["upper_95"] - row["estimate"] == pytest.approx(34.6, abs=0.3)
        # Bland and Altman (1999): s^2 (1/n + 1.96^2 / (2 (n - 1))), t with 16 degrees of freedom
        half = stats.t.ppf(0.975, 16) * 38.76513 * np.sqrt(1 / 17 + 1.959964**2 / 32)
        assert row["estimate"] - row["lower_95"] == pytest.approx(half, rel=1e-5)


def test_coefficient_of_repeatability_is_that_of_two_readings():
    by = measures(agreement(METERS, first="large", second="mini"))
    within = np.sqrt(np.mean((METERS["large"] - METERS["mini"]) ** 2) / 2)
    assert by["within-subject SD"]["estimate"] == pytest.approx(within)
    assert by["repeatability coefficient"]["estimate"] == pytest.approx(1.959964 * np.sqrt(2) * within, rel=1e-6)


def test_intraclass_correlations_are_shrout_and_fleiss_with_the_intervals_of_psych():
    # The paper gives .17, .29, .71, .44, .62, .91; the intervals are those that psych::ICC prints for these data.
    wanted = {
        "ICC(1,1)": (0.17, -0.133, 0.72), "ICC(2,1)": (0.29, 0.019, 0.76), "ICC(3,1)": (0.71, 0.342, 0.95),
        "ICC(1,4)": (0.44, -0.884, 0.91), "ICC(2,4)": (0.62, 0.071, 0.93), "ICC(3,4)": (0.91, 0.676, 0.99),
    }  # fmt: skip
    rows = {row["measure"]: row for row in intraclass_rows(JUDGES)}
    for name, numbers in wanted.items():
        assert tuple(rows[name][key] for key in ("estimate", "lower_95", "upper_95")) == pytest.approx(
            numbers, abs=6e-3
        )


def test_kappa_has_the_values_and_errors_of_vcds_manual():
    # ?vcd::Kappa on SexualFun: unweighted 0.1293 (ASE 0.0686), equal spacing 0.2374 (ASE 0.0783)
    for weights, value, error in (("none", 0.1293, 0.0686), ("linear", 0.2374, 0.0783)):
        row = kappa_row(COUPLES, weights)
        assert row["estimate"] == pytest.approx(value, abs=5e-5)
        assert (row["upper_95"] - row["estimate"]) / 1.959964 == pytest.approx(error, abs=5e-5)


def test_kappa_is_that_of_scikit_learn_and_statsmodels():
    rng = np.random.default_rng(1)
    first = rng.integers(0, 4, 200)
    second = np.where(rng.random(200) < 0.6, first, rng.integers(0, 4, 200))
    counts = np.zeros((4, 4))
    np.add.at(counts, (first, second), 1)
    for weights in ("none", "linear", "quadratic"):
        name = None if weights == "none" else weights
        row = kappa_row(counts, weights)
        assert row["estimate"] == pytest.approx(cohen_kappa_score(first, second, weights=name))
        error = cohens_kappa(counts, wt=name).std_kappa
        assert row["upper_95"] - row["estimate"] == pytest.approx(1.959964 * error, rel=1e-5)


def test_quadratic_kappa_of_grades_is_near_icc():
    # Fleiss and Cohen (1973): with quadratic weights kappa is ICC(2,1) but for terms of the order of 1 / n
    rng = np.random.default_rng(3)
    first = rng.integers(1, 6, 4000)
    table = pd.DataFrame({"a": first, "b": np.clip(first + rng.integers(-1, 2, 4000), 1, 5)})
    kappa = measures(agreement(table, first="a", second="b"))["weighted kappa (quadratic)"]["estimate"]
    icc = measures(agreement(table, first="a", second="b", kind="measurements"))["ICC(2,1)"]["estimate"]
    assert kappa == pytest.approx(icc, abs=1e-3)


def test_intraclass_correlations_of_noise_stay_in_their_intervals_and_perfect_ones_are_one():
    rng = np.random.default_rng(8)
    for n, k in ((3, 3), (4, 2), (6, 4)):
        for _ in range(60):
            for row in intraclass_rows(rng.normal(size=(n, k)) + 5 * rng.normal(size=k)):
                low, high = row["lower_95"], row["upper_95"]
                assert np.isnan(low) or low <= row["estimate"] + 1e-9
                assert np.isnan(high) or high >= row["estimate"] - 1e-9
                assert row["estimate"] <= 1
    same = np.repeat(rng.normal(10, 2, 24)[:, None], 2, axis=1)
    for row in intraclass_rows(same):
        assert (row["estimate"], row["lower_95"], row["upper_95"]) == pytest.approx((1, 1, 1), abs=1e-9)
    assert np.isnan(stepped_up(-0.6, 3))  # the mean of three cannot have a reliability of +9


def test_fleiss_kappa_is_that_of_statsmodels_and_of_resampled_subjects(tmp_path):
    # Ten subjects, fourteen raters, five levels as recalled from the Wikipedia article `Fleiss' kappa` (0.210); the
    # independent check is statsmodels below.
    counts = np.array([[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
                       [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]], dtype=float)  # fmt: skip
    row = fleiss_row(counts)
    assert row["estimate"] == pytest.approx(0.210, abs=5e-4)
    assert row["estimate"] == pytest.approx(fleiss_kappa(counts))
    rng = np.random.default_rng(2)
    many = rng.multinomial(5, [0.7, 0.2, 0.1], 60) + rng.multinomial(3, [0.1, 0.2, 0.7], 60)
    drawn = [fleiss_kappa(many[rng.integers(0, 60, 60)]) for _ in range(2000)]
    half = 1.959964 * np.std(drawn)
    found = fleiss_row(many.astype(float))
    assert found["upper_95"] - found["estimate"] == pytest.approx(half, rel=0.08)
    assert "no interval" in fleiss_row(np.array([[3.0, 0], [3, 0], [2, 1]]))["method"]
    table = pd.DataFrame({"a": list("xyzxyzxyxz"), "b": list("xyzxyzxyyz"), "c": list("xyzzyzxyxz")})
    params = {"first": "a", "second": "b", "further": ["c"]}
    record, tables, issues = run_step(agreement, {"table": table}, params, tmp_path)
    assert not issues
    wanted = fleiss_kappa(np.column_stack([(table == level).sum(axis=1) for level in "xyz"]))
    assert tables["agreement"].set_index("measure").loc["Fleiss kappa", "estimate"] == pytest.approx(wanted)
    assert "The 3 raters together agree more often than by chance: Fleiss' kappa" in record["findings"][0]["text"]


def visits(sizes, seed=0):
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(len(sizes)), sizes)
    true = rng.normal(100, 15, len(who))
    return pd.DataFrame({"who": [f"P{i}" for i in who], "old": true,
                         "new": true + rng.normal(2, 4, len(sizes))[who] + rng.normal(0, 3, len(who))})  # fmt: skip


def test_limits_of_several_pairs_a_subject_are_those_of_the_analysis_of_variance(tmp_path):
    table = visits([4] * 12)
    record, tables, issues = run_step(
        agreement, {"table": table}, {"first": "new", "second": "old", "subject": "who"}, tmp_path
    )
    assert not issues
    rows = tables["agreement"].set_index("measure")
    gap = table["new"] - table["old"]
    fit = stats.f_oneway(*[part for _, part in gap.groupby(table["who"])])
    within = gap.groupby(table["who"]).var().mean()
    between = (fit.statistic * within - within) / 4  # balanced: (MSB - MSW) / m
    assert rows.loc["SD of differences", "estimate"] == pytest.approx(np.sqrt(between + within))
    assert rows.loc["SD between subjects", "estimate"] == pytest.approx(np.sqrt(between))
    assert rows.loc["upper limit", "estimate"] == pytest.approx(gap.mean() + 1.959964 * np.sqrt(between + within))
    means = gap.groupby(table["who"]).mean()
    assert rows.loc["bias", "upper_95"] == pytest.approx(
        means.mean() + stats.t.ppf(0.975, 11) * means.std() / np.sqrt(12)
    )
    assert not rows.index.str.contains("ICC").any()
    assert any("48 rows are of 12 subjects" in text for text in record["warnings"])


def test_rows_that_may_be_of_one_subject_are_pointed_out():
    said = agreement(visits([4] * 12), first="new", second="old")["warnings"]
    assert any("who has 12 values in 48 rows. If rows of one who are of one subject" in text for text in said)
    alone = visits([1] * 20)
    assert not any("name it (subject)" in text for text in agreement(alone, first="new", second="old")["warnings"])


@pytest.mark.slow
def test_intervals_of_repeated_limits_cover_where_those_of_single_pairs_do_not():
    rng, hits, wrong = np.random.default_rng(5), 0, 0
    truth = 0.4 - 1.959964 * np.sqrt(1.25)
    who = np.repeat(np.arange(12), 5)
    for _ in range(400):
        gap = 0.4 + rng.normal(0, 1, 12)[who] + rng.normal(0, 0.5, 60)
        row, plain = repeated_limits(gap, np.zeros(60), who)[0][1], limits_of_agreement(gap, np.zeros(60))[0][1]
        hits += row["lower_95"] <= truth <= row["upper_95"]
        wrong += plain["lower_95"] <= truth <= plain["upper_95"]
    assert 0.92 <= hits / 400 <= 0.99
    assert wrong / 400 < 0.8


def test_bias_that_changes_with_size_has_a_row_with_its_interval():
    rng = np.random.default_rng(4)
    size = rng.uniform(10, 100, 80)
    table = pd.DataFrame({"a": size, "b": 0.8 * size + rng.normal(0, 1, 80)})
    row = measures(agreement(table, first="a", second="b"))["proportional bias"]
    fit = stats.linregress((table["a"] + table["b"]) / 2, table["a"] - table["b"])
    assert row["estimate"] == pytest.approx(fit.slope)
    assert row["upper_95"] - row["estimate"] == pytest.approx(stats.t.ppf(0.975, 78) * fit.stderr)
    exact = agreement(pd.DataFrame({"a": size, "b": 2 * size}), first="a", second="b")
    assert any("computed from the other" in text for text in exact["warnings"])


def test_order_of_couples_answers_gives_the_weighted_kappa_first():
    result = agreement(couples(), first="husband", second="wife", order=ANSWERS)
    assert result["agreement"]["measure"].iloc[0] == "weighted kappa (linear)"
    assert result["agreement"]["estimate"].iloc[0] == pytest.approx(0.2374, abs=5e-5)
    assert result["counts"]["n"].sum() == 91
    assert "more often than by chance" in result["findings"][0]["text"]
    colours = couples().replace(dict(zip(ANSWERS, ["red", "blue", "green", "white"], strict=True)))
    plain = agreement(colours, first="husband", second="wife")  # nothing in the names says which is lowest
    assert plain["agreement"]["estimate"].iloc[0] == pytest.approx(0.1293, abs=5e-5)
    assert plain["agreement"]["measure"].tolist() == ["kappa", "share rated alike"]
    assert any("give it (order)" in text for text in plain["warnings"])


def test_grades_are_ordered_by_their_names():
    table = pd.DataFrame({"a": ["mild", "severe", "moderate"] * 12, "b": ["mild", "severe", "mild"] * 12})
    result = agreement(table, first="a", second="b")
    assert "weighted kappa (linear)" in measures(result)
    assert any("mild < moderate < severe" in text for text in result["warnings"])
    assert "weighted kappa (linear)" not in measures(agreement(table, first="a", second="b", kind="categories"))


def test_swapping_methods_mirrors_the_limits_and_scale_scales_them():
    one = measures(agreement(METERS, first="large", second="mini"))
    other = measures(agreement(METERS, first="mini", second="large"))
    assert other["lower limit"]["estimate"] == pytest.approx(-one["upper limit"]["estimate"])
    assert other["upper limit"]["upper_95"] == pytest.approx(-one["lower limit"]["lower_95"])
    assert other["ICC(2,1)"]["estimate"] == pytest.approx(one["ICC(2,1)"]["estimate"])
    litres = measures(agreement((METERS / 1000).sample(frac=1, random_state=1), first="large", second="mini"))
    assert litres["lower limit"]["estimate"] == pytest.approx(one["lower limit"]["estimate"] / 1000)
    assert litres["ICC(2,1)"]["lower_95"] == pytest.approx(one["ICC(2,1)"]["lower_95"])


def test_long_and_wide_form_give_the_same():
    wide = pd.DataFrame(JUDGES, columns=["j1", "j2", "j3", "j4"]).assign(target=list("abcdef"))
    long = wide.melt(id_vars="target", var_name="judge", value_name="score").sample(frac=1, random_state=2)
    one = agreement(wide, first="j1", second="j2", further=["j3", "j4"])["agreement"]
    other = agreement(long, value="score", rater="judge", subject="target")["agreement"]
    pd.testing.assert_frame_equal(one, other)
    assert len(one[one["measure"] == "bias"]) == 6


def test_missing_ratings_are_left_out_and_said():
    table = METERS.astype(float)
    table.loc[[1, 4], "mini"] = None
    result = agreement(table, first="large", second="mini")
    assert result["agreement"]["n"].eq(15).all()
    assert "2 of 17 rows were left out" in result["warnings"][0]
    long = METERS.assign(who=range(17)).melt(id_vars="who", var_name="meter", value_name="flow").iloc[1:]
    result = agreement(long, value="flow", rater="meter", subject="who")
    assert result["agreement"]["n"].eq(16).all()
    assert any("without a value of every meter" in text for text in result["warnings"])


def test_what_spoils_the_limits_is_said():
    rng = np.random.default_rng(4)
    size = rng.uniform(10, 100, 80)
    growing = pd.DataFrame({"a": size, "b": size * np.exp(rng.normal(0, 0.1, 80))})
    assert any("grow with the size" in text for text in agreement(growing, first="a", second="b")["warnings"])
    sloping = pd.DataFrame({"a": size, "b": 0.8 * size + rng.normal(0, 1, 80)})
    assert any("changes with the size" in text for text in agreement(sloping, first="a", second="b")["warnings"])
    rare = pd.DataFrame({"a": ["no"] * 57 + ["yes"] * 3, "b": ["no"] * 56 + ["yes"] * 3 + ["no"]})
    assert any("kappa is then low" in text for text in agreement(rare, first="a", second="b")["warnings"])


RATED = pd.DataFrame({"a": [1.5, 2, 3, 4], "b": [1.0, 2, 3, 5], "same": 2.5, "text": list("wxyz"), "one": "no", "who": list("aabb"), "m": list("xyxx")})  # fmt: skip
BAD = {
    "no form": ({}, "one of these two forms"),
    "one column": ({"first": "a"}, "name the second column"),
    "half long": ({"value": "a", "rater": "m"}, "one of these two forms"),
    "twice": ({"first": "a", "second": "a"}, "serves twice"),
    "repeated": ({"value": "a", "rater": "m", "subject": "who"}, "expected one value each"),
    "constant": ({"first": "same", "second": "same2"}, "is the same"),
    "mixed": ({"first": "a", "second": "text", "kind": "ordered"}, "Give order"),
    "one level": ({"first": "one", "second": "one2"}, "two levels"),
    "kind": ({"first": "a", "second": "b", "kind": "icc"}, "expected auto"),
    "order": ({"first": "text", "second": "text2", "order": ["w", "x"]}, "does not name"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    table = RATED.assign(same2=2.5, one2="no", text2=list("wxyz"))
    with pytest.raises(ValueError, match=r".") as error:
        agreement(table, **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_too_few_subjects_are_refused():
    with pytest.raises(ValueError, match="at least 3"):
        agreement(METERS.iloc[:2], first="large", second="mini")


STEPS = {
    "meters": (METERS, {"first": "large", "second": "mini", "unit": "l/min"}),
    "couples": (couples(), {"first": "husband", "second": "wife", "order": ANSWERS}),
    "identical": (METERS.assign(mini=METERS["large"]), {"first": "large", "second": "mini"}),
    "constant gap": (METERS.assign(mini=METERS["large"] + 5), {"first": "large", "second": "mini"}),
    "yes and no": (pd.DataFrame({"a": [True, False] * 9, "b": [True, False] * 9}), {"first": "a", "second": "b"}),
    "one rater of one mind": (
        pd.DataFrame({"a": ["yes"] * 9, "b": ["yes"] * 8 + ["no"]}), {"first": "a", "second": "b"},
    ),
    "four judges": (
        pd.DataFrame(JUDGES + 0.5, columns=list("abcd")), {"first": "a", "second": "b", "further": ["c", "d"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_step_runs_from_its_own_source_and_passes_its_checks(name, tmp_path):
    table, params = STEPS[name]
    record, _, issues = run_step(agreement, {"table": table}, params, tmp_path)
    assert issues == []
    assert not any(" nan" in finding["text"] for finding in record["findings"])


def test_wrong_agreement_is_caught(tmp_path):
    frame = agreement(METERS, first="large", second="mini")["agreement"]
    checks = ["agreement_in_interval"]
    assert check_issues(checks, {"agreement": frame}, tmp_path) == []
    assert "interval_without_estimate" in check_issues(checks, {"agreement": frame.assign(lower_95=99.0)}, tmp_path)
    icc = frame.assign(estimate=frame["estimate"].where(~frame["measure"].str.startswith("ICC"), 1.1), lower_95=None)
    assert check_issues(checks, {"agreement": icc}, tmp_path) == ["agreement_above_one"]
    turned = frame.replace({"measure": {"lower limit": "upper limit", "upper limit": "lower limit"}})
    assert check_issues(checks, {"agreement": turned}, tmp_path) == ["bias_outside_limits"]


def plan(question, table, folder):

    table.to_csv(folder / "rated.csv", index=False)
    planner = the_planner()
    (step,) = planner.plan(question, profile_files([folder / "rated.csv"])).plan.nodes
    assert step.tool == "agreement"
    return step.params


def test_a_plain_question_plans_two_columns(tmp_path):
    rng = np.random.default_rng(1)
    heat = rng.normal(38.5, 0.6, 40)
    calves = pd.DataFrame({"calf": [f"c{i}" for i in range(40)], "ear_temp": heat + rng.normal(0.2, 0.2, 40), "rectal_temp": heat})  # fmt: skip
    params = plan("Can I trust ear_temp in place of rectal_temp? Bland-Altman", calves.round(2), tmp_path)
    assert (params["first"], params["second"], params["kind"]) == ("ear_temp", "rectal_temp", "measurements")


def test_a_plain_question_plans_rows_of_raters(tmp_path):
    rng = np.random.default_rng(1)
    birds = pd.DataFrame([(f"B{i}", who, round(60 + i + rng.normal(), 1)) for i in range(15) for who in ("Anna", "Ben", "Cleo")],
                         columns=["bird", "ringer", "wing_length"])  # fmt: skip
    params = plan("ICC of wing length, three ringers measured every bird", birds, tmp_path)
    assert (params["value"], params["rater"], params["subject"]) == ("wing_length", "ringer", "bird")


def test_the_form_of_icc_that_is_asked_for_comes_first(tmp_path):
    """The six subjects and four judges of Shrout and Fleiss (1979), table 2: ICC(2,1) 0.29, ICC(3,k) 0.91."""
    judged = pd.DataFrame(
        {"j1": [9, 6, 8, 7, 10, 6], "j2": [2, 1, 4, 1, 5, 2], "j3": [5, 3, 6, 2, 6, 4], "j4": [8, 2, 8, 6, 9, 7]}
    )
    asked = {"first": "j1", "second": "j2", "further": ["j3", "j4"], "kind": "measurements"}
    for form, says in (("(2,1)", "ICC(2,1), two-way random"), ("(3,k)", "ICC(3,4), two-way mixed, mean of 4 ratings")):
        first = agreement(judged, **asked, icc=form)["findings"][0]
        assert first["text"].startswith(says)
        assert first["values"][0]["value"] == pytest.approx({"(2,1)": 0.29, "(3,k)": 0.91}[form], abs=0.005)


def test_kappa_begins_with_its_value_and_interval():
    """Counts 20, 5, 10, 15 of two readers: kappa (0.7 - 0.5) / 0.5 = 0.4 by hand."""
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    first = agreement(pd.DataFrame(pairs, columns=["a", "b"]), first="a", second="b")["findings"][0]["text"]
    assert first.startswith("Kappa of a and b is 0.40 (95 % CI 0.1")


def test_two_units_in_one_column_are_refused_with_the_factor_between_them():
    generator = np.random.default_rng(4)
    lab = generator.uniform(4, 15, 60)
    meter = lab * generator.normal(1.05, 0.05, 60)
    table = pd.DataFrame({"lab mmol/l": lab, "meter": np.where(np.arange(60) % 3 == 0, 18.016 * meter, meter)})
    with pytest.raises(ValueError, match=r"near 0\.0\d+ in 20 rows and near 0\.9\d+ in 40: two units"):
        agreement(table, first="lab mmol/l", second="meter")
    agreement(table.assign(meter=meter), first="lab mmol/l", second="meter")


@pytest.mark.parametrize("factor", [2.2046, 2.54, 88.42, 1000, 1 / 18.016])  # NIST SP 811; molar masses of IUPAC
def test_each_common_factor_between_units_is_refused(factor):
    generator = np.random.default_rng(11)
    truth = generator.lognormal(3, 0.6, 40)
    other = truth * generator.normal(1, 0.03, 40) * np.where(np.arange(40) % 4 == 0, factor, 1)
    with pytest.raises(ValueError, match="two units in one column"):
        agreement(pd.DataFrame({"a": truth, "b": other}), first="a", second="b")


@pytest.mark.parametrize(("factor", "rows"), [(0.1, 3), (5.3, 12), (15, 9)])
def test_a_method_that_fails_in_some_rows_is_compared_and_said_to(factor, rows):
    generator = np.random.default_rng(12)
    truth = generator.lognormal(3, 0.6, 36)
    other = truth * generator.normal(1, 0.03, 36) * np.where(np.arange(36) < rows, factor, 1)
    result = agreement(pd.DataFrame({"a": truth, "b": other}), first="a", second="b")
    bias = result["agreement"].query("measure == 'bias'")["estimate"].iloc[0]
    assert bias == pytest.approx((truth - other).mean())
    assert any(f"in {rows}" in text and "fails in some rows" in text for text in result["warnings"])


def test_scores_of_few_values_have_no_units():
    table = pd.DataFrame(
        {"ann": [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 1, 1], "bo": [1, 1, 10, 10, 10, 10, 2, 2, 2, 2, 10, 10]}
    )
    result = agreement(table, first="ann", second="bo", kind="measurements")
    assert not any("two units" in text for text in result["warnings"])


def test_a_method_that_is_far_off_in_some_rows_is_not_taken_for_another_unit():
    generator = np.random.default_rng(5)
    truth = generator.lognormal(3, 1, 80)
    scattered = truth * generator.lognormal(0, 1.2, 80)
    agreement(pd.DataFrame({"a": truth, "b": scattered}), first="a", second="b")
    agreement(
        pd.DataFrame({"a": truth, "b": np.where(np.arange(80) < 2, 20 * truth, truth * 1.01)}), first="a", second="b"
    )


def test_the_mean_of_each_rater_is_told():
    table = pd.DataFrame({"ann": [4.0, 5.0, 6.5, 7.0, 8.0], "bo": [4.5, 5.5, 6.0, 8.0, 9.0]})
    result = agreement(table, first="ann", second="bo")
    means = result["agreement"].query("measure == 'mean'").set_index("pair")
    assert means["estimate"].to_dict() == pytest.approx({"ann": 6.1, "bo": 6.6})
    interval = stats.t.interval(0.95, 4, 6.1, stats.sem(table["ann"]))
    assert means.loc["ann", ["lower_95", "upper_95"]].tolist() == pytest.approx(interval)
    assert any("ann 6.10 (SD 1.60), bo 6.60" in finding["text"] for finding in result["findings"])


def test_bias_and_limits_stand_in_one_sentence_and_a_limit_alone_is_never_the_answer():
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"B": rng.normal(100, 15, 40)})
    table["A"] = table["B"] + 8.7 + rng.normal(0, 4.5, 40)
    first, limits, *_ = agreement(table, first="A", second="B")["findings"]
    gaps = table["A"] - table["B"]
    test = stats.ttest_1samp(gaps, 0)
    interval = test.confidence_interval(0.95)
    low, high = (gaps.mean() + side * 1.959964 * gaps.std() for side in (-1, 1))
    assert first["text"].startswith(
        f"A reads {gaps.mean():.2f} higher than B on average (95 % CI {format_number(interval.low)} to {format_number(interval.high)}, p = "
    )
    ends = f"{format_number(low)} and {format_number(high)}"
    assert f"; single readings lie between {ends} apart (A minus B" in first["text"]
    told = {value["name"]: value["value"] for value in first["values"]}
    assert told["p_value"] == pytest.approx(test.pvalue)
    assert (told["lower limit"], told["upper limit"]) == pytest.approx((low, high), rel=1e-4)
    # What is taken for a level that a question names (`one`) stands before the colon.
    assert not any(letter.isdigit() for letter in limits["text"].partition(": ")[0])


def test_whole_numbers_say_how_often_two_readers_agree_exactly():
    ages = pd.DataFrame({"r1": [*range(1, 13), 3, 5, 7, 9], "r2": [*range(1, 13), 4, 6, 6, 9]})
    first = agreement(ages, first="r1", second="r2")["findings"][0]
    assert first["text"].endswith("; they are equal in 13 of 16.")
