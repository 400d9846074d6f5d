"""Risks against the Physicians' Health Study (Agresti), Altman's interval of the number needed, and counting by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_questions import profile_files, the_planner
from table_steps import check_issues, run_step

from engine.toolbox.clinical.risks import number_needed, risk_measures, unexposed_level

COUNTS = {"exposure": "arm", "events": "ill", "total": "n"}


def counted(*pairs, names="abcd"):
    return pd.DataFrame({"arm": list(names)[: len(pairs)], "ill": [e for e, _ in pairs], "n": [n for _, n in pairs]})


def measured(table, **params):
    frame = risk_measures(table, **COUNTS, **params)["measures"]
    return {row["measure"]: row for row in frame.to_dict("records")}


def test_physicians_health_study_has_the_published_measures():
    # Agresti, An Introduction to Categorical Data Analysis, 2.2 and 2.3: heart attacks 189 of 11034 under placebo, 104
    # of 11037 under aspirin: relative risk 1.82 (1.43 to 2.30), odds ratio 1.832 (1.44 to 2.33), difference 0.0077.
    table = counted((189, 11034), (104, 11037), names=["placebo", "aspirin"])
    by = measured(table, exposed="placebo", reference="aspirin")
    assert by["risk ratio"]["estimate"] == pytest.approx(1.82, abs=5e-3)
    assert (by["risk ratio"]["lower_95"], by["risk ratio"]["upper_95"]) == pytest.approx((1.43, 2.30), abs=1e-2)
    assert by["odds ratio"]["estimate"] == pytest.approx(1.832, abs=5e-4)
    assert (by["odds ratio"]["lower_95"], by["odds ratio"]["upper_95"]) == pytest.approx((1.44, 2.33), abs=5e-3)
    assert by["risk difference"]["estimate"] == pytest.approx(0.0077, abs=5e-5)
    assert (by["risk difference"]["lower_95"], by["risk difference"]["upper_95"]) == pytest.approx((0.005, 0.011), abs=5e-4)  # fmt: skip
    assert by["number needed"]["estimate"] == pytest.approx(1 / by["risk difference"]["estimate"])


def test_risk_difference_has_newcombes_published_interval():
    # Newcombe (1998) Stat Med 17:873, table II, method 10: 56 of 70 against 48 of 80: 0.0524 to 0.3339
    gap = measured(counted((56, 70), (48, 80)), exposed="a", reference="b")["risk difference"]
    assert (gap["lower_95"], gap["upper_95"]) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_number_needed_runs_through_infinity_as_altman_says():
    # Altman (1998) BMJ 317:1309: a difference of 10 % with interval -5 % to 25 %: 20 to harm, infinity, 4 to benefit
    row = number_needed(0.10, -0.05, 0.25)
    assert row["estimate"] == pytest.approx(10)
    assert "lower_95" not in row
    assert row["note"] == "20.0 for one event fewer through infinity to 4.00 for one event more"
    clear = number_needed(-0.2, -0.5, -0.1)
    assert (clear["lower_95"], clear["upper_95"]) == pytest.approx((2, 10))
    assert number_needed(0.0, -0.1, 0.1)["estimate"] == math.inf


def test_intervals_are_katzs_and_woolfs_by_hand():
    by = measured(counted((15, 40), (6, 50)), exposed="a", reference="b")
    ratio, odds = (15 / 40) / (6 / 50), 15 * 44 / (25 * 6)
    assert by["risk ratio"]["estimate"] == pytest.approx(ratio)
    assert by["risk ratio"]["upper_95"] == pytest.approx(ratio * math.exp(1.959964 * math.sqrt(1 / 15 - 1 / 40 + 1 / 6 - 1 / 50)))  # fmt: skip
    assert by["odds ratio"]["estimate"] == pytest.approx(odds)
    assert by["odds ratio"]["lower_95"] == pytest.approx(odds * math.exp(-1.959964 * math.sqrt(1 / 15 + 1 / 25 + 1 / 6 + 1 / 44)))  # fmt: skip


def test_zero_counts_stay_as_they_are_unless_haldane_is_said():
    table = counted((4, 11), (0, 9))
    plain = risk_measures(table, **COUNTS, exposed="a", reference="b")
    by = {row["measure"]: row for row in plain["measures"].to_dict("records")}
    assert by["risk ratio"]["estimate"] == math.inf
    assert math.isnan(by["risk ratio"]["lower_95"])
    # The exact lower limit: at that odds ratio the chance of 4 events among the 11 is 2.5 % (hypergeometric by hand)
    low = by["odds ratio"]["lower_95"]
    weights = [math.comb(11, k) * math.comb(9, 4 - k) * low**k for k in range(5)]
    assert weights[4] / sum(weights) == pytest.approx(0.025, rel=1e-4)
    assert any("A count is 0" in text for text in plain["warnings"])
    added = risk_measures(table, **COUNTS, exposed="a", reference="b", haldane=True)
    by = {row["measure"]: row for row in added["measures"].to_dict("records")}
    assert by["odds ratio"]["estimate"] == pytest.approx(4.5 * 9.5 / (7.5 * 0.5))
    assert by["risk ratio"]["estimate"] == pytest.approx((4.5 / 12) / (0.5 / 10))
    assert by["risk difference"]["estimate"] == pytest.approx(4 / 11)
    assert by["odds ratio"]["correction"] == "0.5 added to every count"
    assert by["risk difference"]["correction"] == "none"


def test_case_control_gives_only_the_odds_ratio():
    result = risk_measures(counted((60, 100), (40, 100)), **COUNTS, design="case_control", exposed="a", reference="b")
    assert result["measures"]["measure"].tolist() == ["odds ratio"]
    assert result["measures"]["estimate"].iloc[0] == pytest.approx(2.25)
    assert "The odds of" in result["findings"][0]["text"]
    assert any("chosen by their outcome" in text for text in result["warnings"])


def test_a_number_needed_that_is_whole_is_not_rounded_up():
    result = risk_measures(
        counted((60, 100), (40, 100)), **COUNTS, exposed="a", reference="b"
    )  # 1 / 0.2, in floats 5.0...1
    assert any("For every 5 in a instead of b" in finding["text"] for finding in result["findings"])


def smokers(names=("case", "control")):
    rows = [("smoker", names[0])] * 60 + [("smoker", names[1])] * 40
    rows += [("never", names[0])] * 40 + [("never", names[1])] * 60
    return pd.DataFrame(rows, columns=["tobacco", "status"])


def test_cases_and_controls_give_no_risk_unless_it_is_insisted_on():
    result = risk_measures(smokers(), exposure="tobacco", outcome="status")
    assert result["measures"]["measure"].tolist() == ["odds ratio"]
    assert any("only the odds ratio is given" in text for text in result["warnings"])
    turned = risk_measures(smokers(), exposure="status", outcome="tobacco", event_value="smoker")
    assert turned["measures"]["measure"].tolist() == ["odds ratio"]
    assert turned["measures"]["estimate"].iloc[0] == pytest.approx(result["measures"]["estimate"].iloc[0])
    followed = risk_measures(smokers(), exposure="tobacco", outcome="status", design="cohort")
    assert "risk ratio" in followed["measures"]["measure"].tolist()
    column = smokers(("yes", "no")).rename(columns={"status": "case_control"})
    assert risk_measures(column, exposure="tobacco", outcome="case_control")["measures"]["measure"].tolist() == [
        "odds ratio"
    ]
    equal = risk_measures(smokers(("ill", "well")), exposure="tobacco", outcome="status", event_value="ill")
    assert "risk ratio" in equal["measures"]["measure"].tolist()
    assert any("Exactly as many subjects" in text for text in equal["warnings"])


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=4, max_size=4))
def test_swapping_groups_inverts_ratios_and_mirrors_the_difference(cells):
    a, b, c, d = cells
    table = counted((a, a + b), (c, c + d))
    one, other = measured(table, exposed="a", reference="b"), measured(table, exposed="b", reference="a")
    for name in ("risk ratio", "odds ratio"):
        assert one[name]["estimate"] * other[name]["estimate"] == pytest.approx(1)
        assert one[name]["lower_95"] * other[name]["upper_95"] == pytest.approx(1)
    assert one["risk difference"]["lower_95"] == pytest.approx(-other["risk difference"]["upper_95"])
    healthy = measured(counted((b, a + b), (d, c + d)), exposed="a", reference="b")
    assert healthy["odds ratio"]["estimate"] * one["odds ratio"]["estimate"] == pytest.approx(1)


def test_rows_of_subjects_and_their_tally_give_the_same():
    rows = [(arm, state) for arm, e, n in (("a", 7, 20), ("b", 15, 22)) for state in ["ill"] * e + ["well"] * (n - e)]
    table = pd.DataFrame(rows, columns=["arm", "state"]).sample(frac=1, random_state=2)
    subjects = risk_measures(table, exposure="arm", outcome="state", event_value="ill")
    counts = risk_measures(counted((7, 20), (15, 22)), **COUNTS)
    pd.testing.assert_frame_equal(subjects["measures"], counts["measures"])


def test_missing_rows_are_left_out_and_said():
    table = pd.DataFrame(
        {"arm": ["a", "a", "b", "b", None, "a"] * 4, "ill": ["yes", "no", "no", "yes", "yes", None] * 4}
    )
    result = risk_measures(table, exposure="arm", outcome="ill", event_value="yes")
    assert result["risks"]["total"].tolist() == [8, 8]
    assert "8 of 24 rows were left out" in result["warnings"][0]


@pytest.mark.parametrize(
    ("levels", "unexposed"),
    [(["vaccinated", "unvaccinated"], "unvaccinated"), (["helmet", "no helmet"], "no helmet"), (["0", "1"], "0"),
     (["non-smoker", "smoker"], "non-smoker"), (["straw", "concrete"], ""), (["smokers", "non smokers"], "non smokers")],
)  # fmt: skip
def test_the_unexposed_are_recognised_by_their_name(levels, unexposed):
    assert unexposed_level(levels) == unexposed


def test_more_groups_are_each_compared_with_the_reference():
    result = risk_measures(counted((3, 30), (9, 30), (15, 30)), **COUNTS, reference="b")
    assert result["measures"]["comparison"].unique().tolist() == ["a vs b", "c vs b"]
    assert any("not adjusted" in text for text in result["warnings"])


BAD = {
    "one group": (counted((1, 9)), COUNTS, "at least two groups"),
    "no event": (counted((0, 9), (0, 8)), COUNTS, "No subject has"),
    "only events": (counted((9, 9), (8, 8)), COUNTS, "Every subject has"),
    "no form": (counted((1, 9), (2, 9)), {"exposure": "arm"}, "yes/no column"),
    "swapped": (counted((1, 9), (2, 9)), {"exposure": "arm", "events": "n", "total": "ill"}, "more events"),
    "design": (counted((1, 9), (2, 9)), COUNTS | {"design": "trial"}, "cohort or case_control"),
    "level": (counted((1, 9), (2, 9)), COUNTS | {"exposed": "z"}, "no level 'z'"),
    "an id": (pd.DataFrame({"arm": range(30), "ill": 1, "n": 2}), COUNTS, "at most 12"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    table, params, words = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        risk_measures(table, **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


STEPS = {
    "two groups": (counted((12, 110), (31, 105)), {}),
    "zero": (counted((0, 20), (5, 21)), {}),
    "zero with haldane": (counted((0, 20), (5, 21)), {"haldane": True}),
    "everybody ill": (counted((20, 20), (5, 21)), {}),
    "no difference": (counted((5, 20), (5, 20)), {}),
    "case control": (counted((5, 20), (0, 20)), {"design": "case_control"}),
    "three groups": (counted((5, 20), (9, 20), (2, 30)), {"reference": "c"}),
    "numbers name the groups": (counted((5, 20), (9, 20), names=[0, 1]), {}),
}


@pytest.mark.parametrize("name", STEPS)
def test_step_runs_from_its_own_source_and_passes_its_checks(name, tmp_path):
    table, params = STEPS[name]
    record, _, issues = run_step(risk_measures, {"table": table}, COUNTS | params, tmp_path)
    assert issues == []
    assert not any(" nan" in finding["text"] for finding in record["findings"])


def test_wrong_measures_are_caught(tmp_path):
    frame = risk_measures(counted((12, 110), (31, 105)), **COUNTS)["measures"]
    checks = ["risk_measures_consistent"]
    assert check_issues(checks, {"measures": frame}, tmp_path) == []
    assert check_issues(checks, {"measures": frame.assign(upper_95=-1.0)}, tmp_path) == ["interval_without_estimate"]
    turned = frame.assign(
        estimate=frame["estimate"].where(frame["measure"] != "risk difference", -0.2), lower_95=math.nan
    )
    assert check_issues(checks, {"measures": turned}, tmp_path) == ["risks_disagree"]


@pytest.mark.parametrize("question", ["NNT of vaccine for pneumonia", "relative risk of pneumonia with vaccine"])
def test_a_plain_question_plans_it_with_its_columns(question, tmp_path):

    rows = [
        (v, s) for v, e, n in (("vaccinated", 6, 40), ("unvaccinated", 15, 40)) for s in ["yes"] * e + ["no"] * (n - e)
    ]
    frame = pd.DataFrame(rows, columns=["vaccine", "pneumonia"]).assign(calf=range(1, 81), weight=[80 + i % 7 / 3 for i in range(80)])  # fmt: skip
    frame.to_csv(tmp_path / "calves.csv", index=False)
    planner = the_planner()
    (step,) = planner.plan(question, profile_files([tmp_path / "calves.csv"])).plan.nodes
    assert step.tool == "risk_measures"
    assert (step.params["exposure"], step.params["outcome"], step.params["event_value"]) == (
        "vaccine",
        "pneumonia",
        "yes",
    )


@pytest.mark.parametrize(
    ("asked", "led"),
    [("auto", "risk ratio"), ("odds ratio", "odds ratio"), ("risk difference", "risk difference")],
)
def test_the_measure_that_is_asked_for_is_told_first(asked, led):
    result = risk_measures(counted((10, 90), (20, 80)), **COUNTS, reference="b", measure=asked)
    told = [finding["row"]["measure"] for finding in result["findings"]]
    assert told[0] == led
    assert len(told) == len({*told}) >= 3  # none is told twice, none is lost
