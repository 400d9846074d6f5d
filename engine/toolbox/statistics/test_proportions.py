"""Shares against Newcombe's published intervals, R's documentation and counting by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_steps import check_issues, run_step

from engine.toolbox.statistics.proportions import proportion_test, tally_shares, uneven_rows, wilson_interval

CHECKS = ["shares_match_counts", "share_differences_match"]


def tallied(*counts):
    """Return a table of events and totals with groups a, b, c ..."""
    return pd.DataFrame(
        {"arm": list("abcdefgh")[: len(counts)], "hit": [e for e, _ in counts], "n": [n for _, n in counts]}
    )


def compared(*counts, **params):
    return proportion_test(tallied(*counts), events="hit", total="n", group="arm", **params)


# Newcombe (1998) Stat Med 17:857, table I: score method without continuity correction.
@pytest.mark.parametrize(
    ("events", "total", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_interval_is_newcombes_published_one(events, total, low, high):
    assert wilson_interval(events, total) == pytest.approx((low, high), abs=5e-5)


# Newcombe (1998) Stat Med 17:873, table II, method 10: score intervals without continuity correction.
@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [((56, 70), (48, 80), 0.0524, 0.3339), ((9, 10), (3, 10), 0.1705, 0.8090), ((6, 7), (2, 7), 0.0582, 0.8062),
     ((5, 56), (0, 29), -0.0381, 0.1926), ((0, 10), (0, 20), -0.1611, 0.2775), ((0, 10), (0, 10), -0.2775, 0.2775),
     ((10, 10), (0, 20), 0.6791, 1.0), ((10, 10), (0, 10), 0.6075, 1.0)],
)  # fmt: skip
def test_difference_of_two_shares_has_newcombes_published_interval(first, second, low, high):
    row = compared(first, second, treated="a", control="b")["tests"].iloc[0]
    assert (row["lower_95"], row["upper_95"]) == pytest.approx((low, high), abs=5e-5)
    assert row["difference"] == pytest.approx(first[0] / first[1] - second[0] / second[1])


def test_mendels_ratio_gives_the_exact_p_of_rs_manual():
    # ?binom.test, Conover (1971): 682 giants of 925 against 3/4: p-value = 0.3825
    result = proportion_test(pd.DataFrame({"giant": [682], "n": [925]}), events="giant", total="n", value=0.75)
    row = result["tests"].iloc[0]
    assert row["test"] == "exact binomial test"
    assert row["p_value"] == pytest.approx(0.3825, abs=5e-5)
    assert row["difference"] == pytest.approx(682 / 925 - 0.75)
    assert "not shown to differ" in result["findings"][0]["text"]


def test_share_without_a_value_is_only_estimated():
    result = proportion_test(pd.DataFrame({"alive": ["yes"] * 3 + ["no"] * 9}), event="alive")
    assert result["tests"] is None
    assert result["shares"].loc[0, ["events", "total", "share"]].tolist() == [3, 12, 0.25]
    assert len(result["findings"]) == 1


def test_smokers_match_rs_manual():
    # ?prop.test, Fleiss (1981): smokers 83 of 86, 90 of 93, 129 of 136, 70 of 82: X-squared = 12.6, df 3, p = 0.005585
    result = compared((83, 86), (90, 93), (129, 136), (70, 82))
    overall = result["tests"].iloc[0]
    assert overall["comparison"] == "all groups"
    assert overall["df"] == 3
    assert overall["test"] == "chi-square test"
    assert overall["statistic"] == pytest.approx(12.6, abs=5e-3)
    assert overall["p_value"] == pytest.approx(0.005585, abs=5e-7)
    assert len(result["tests"]) == 1 + 6


def test_overall_chi_square_of_large_counts_is_the_sum_over_cells():
    counts = [(30, 100), (45, 100), (60, 120)]
    overall = compared(*counts)["tests"].iloc[0]
    pooled = 135 / 320
    by_hand = sum((e - n * pooled) ** 2 / (n * pooled * (1 - pooled)) for e, n in counts)
    assert overall["test"] == "chi-square test"
    assert overall["statistic"] == pytest.approx(by_hand)
    assert overall["p_value"] == pytest.approx(math.exp(-by_hand / 2))  # two degrees of freedom


def test_small_tables_of_several_groups_are_near_the_exact_p():
    counts = [(0, 4), (3, 5), (4, 4)]
    weights = {
        split: math.prod(math.comb(n, e) for e, (_, n) in zip(split, counts, strict=True))
        for split in itertools.product(*(range(n + 1) for _, n in counts))
        if sum(split) == 7
    }
    exact = sum(w for w in weights.values() if w <= weights[0, 3, 4] * (1 + 1e-9)) / sum(weights.values())
    overall = compared(*counts)["tests"].iloc[0]
    assert overall["p_value"] == pytest.approx(exact, abs=4 * math.sqrt(exact / 19999))
    assert "below 5" in overall["why"]


def test_two_groups_say_which_test_and_why():
    large = compared((30, 100), (50, 100), treated="a", control="b")["tests"].iloc[0]
    # (ad - bc)^2 n / product of the margins, and Katz's interval by hand
    assert large["statistic"] == pytest.approx((30 * 50 - 70 * 50) ** 2 * 200 / (80 * 120 * 100 * 100))
    assert (large["test"], large["why"]) == ("chi-square test without correction", "expected counts are at least 40")
    half = 1.959964 * math.sqrt(1 / 30 - 1 / 100 + 1 / 50 - 1 / 100)
    assert large["risk_ratio"] == pytest.approx(0.6)
    assert large["rr_lower_95"] == pytest.approx(0.6 * math.exp(-half), rel=1e-6)
    small = compared((1, 9), (11, 12), treated="a", control="b")["tests"].iloc[0]
    weights = [math.comb(9, k) * math.comb(12, 12 - k) for k in range(10)]
    assert small["test"] == "Fisher's exact test"
    assert small["p_value"] == pytest.approx(sum(w for w in weights if w <= weights[1]) / sum(weights))
    assert "below 5" in small["why"]


def test_pairwise_p_values_are_holms():
    tests = compared((5, 60), (20, 60), (30, 60))["tests"].iloc[1:].sort_values("p_value")
    raw = tests["p_value"].tolist()
    assert tests["p_adj"].tolist() == pytest.approx([3 * raw[0], max(3 * raw[0], 2 * raw[1]), max(2 * raw[1], raw[2])])


def test_control_is_named_second_and_swapping_mirrors():
    table = tallied((30, 100), (50, 100)).assign(arm=["placebo", "drug"])
    given_names = {"events": "hit", "total": "n", "group": "arm"}
    row = proportion_test(table, **given_names)["tests"].iloc[0]
    assert row["comparison"] == "drug vs placebo"
    swapped = proportion_test(table, **given_names, treated="placebo", control="drug")["tests"].iloc[0]
    assert swapped["difference"] == pytest.approx(-row["difference"])
    assert swapped["upper_95"] == pytest.approx(-row["lower_95"])
    assert swapped["p_value"] == pytest.approx(row["p_value"])


def test_rows_of_subjects_and_their_tally_give_the_same():
    rows = [(g, o) for g, e, n in (("a", 7, 20), ("b", 15, 22)) for o in ["ill"] * e + ["well"] * (n - e)]
    subjects = proportion_test(pd.DataFrame(rows, columns=["g", "state"]), event="state", event_value="ill", group="g")
    counts = compared((7, 20), (15, 22))
    pd.testing.assert_frame_equal(subjects["tests"], counts["tests"])
    other = proportion_test(pd.DataFrame(rows, columns=["g", "state"]), event="state", event_value="well", group="g")
    assert other["tests"]["difference"].iloc[0] == pytest.approx(-counts["tests"]["difference"].iloc[0])


def test_event_is_recognised_and_said():
    result = proportion_test(pd.DataFrame({"alive": [True, False, True]}), event="alive")
    assert result["shares"]["events"].tolist() == [2]
    assert any("taken to be alive = True" in text for text in result["warnings"])
    none = proportion_test(pd.DataFrame({"dead": ["no"] * 20}), event="dead")
    assert none["shares"].loc[0, ["events", "upper_95"]].tolist() == pytest.approx([0, 0.1611], abs=5e-5)


def test_shares_that_differ_between_summed_rows_are_warned_of():
    litters = pd.DataFrame({"arm": list("aabb"), "hit": [1, 19, 2, 18], "n": [20] * 4})
    result = proportion_test(litters, events="hit", total="n", group="arm")
    assert any("more than chance explains" in text for text in result["warnings"])
    frame = pd.DataFrame({"group": list("aa"), "events": [4.0, 8.0], "total": [20.0, 20.0]})
    # The chi-square of a 2 x 2 table, 1 degree of freedom: (4*12 - 16*8)^2 40 / (20 20 12 28)
    statistic = (4 * 12 - 16 * 8) ** 2 * 40 / (20 * 20 * 12 * 28)
    assert uneven_rows(frame) == pytest.approx(math.erfc(math.sqrt(statistic / 2)))
    assert uneven_rows(frame.iloc[:1]) is None


def test_zero_events_give_a_difference_and_no_ratio_interval():
    result = compared((0, 30), (9, 30), treated="a", control="b")
    row = result["tests"].iloc[0]
    assert row["risk_ratio"] == 0
    assert math.isnan(row["rr_upper_95"])
    assert any("no interval" in text for text in result["warnings"])
    assert compared((0, 30), (0, 30), treated="a", control="b")["tests"].loc[0, "p_value"] == 1
    nobody = compared((0, 30), (0, 30), (0, 10))["tests"].iloc[0]
    assert (nobody["test"], nobody["p_value"]) == ("none", 1)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_limits_solve_the_score_equation(pair):
    events, total = pair
    for limit, edge in zip(wilson_interval(events, total), (0, total), strict=True):
        if events == edge:
            assert limit == edge / total
        else:
            z = (events - total * limit) / math.sqrt(total * limit * (1 - limit))
            assert abs(z) == pytest.approx(1.959964, rel=1e-5)


BAD = {
    "no form": ({}, "yes/no column"),
    "both forms": ({"event": "arm", "events": "hit", "total": "n"}, "one of these two forms"),
    "events without total": ({"events": "hit"}, "one of these two forms"),
    "same column": ({"events": "n", "total": "n"}, "serves twice"),
    "swapped": ({"events": "n", "total": "hit"}, "more events"),
    "percent": ({"events": "hit", "total": "n", "value": 25}, "0.25"),
    "level without group": ({"events": "hit", "total": "n", "treated": "a"}, "no column of groups"),
    "unknown level": ({"events": "hit", "total": "n", "group": "arm", "treated": "z"}, "no level 'z'"),
    "three outcomes": ({"event": "arm"}, "event_value"),
    "fractions": ({"events": "part", "total": "n"}, "whole numbers"),
    "empty totals": ({"events": "zero", "total": "zero_too"}, "Every total"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    table = tallied((1, 10), (2, 10), (3, 10)).assign(part=0.5, zero=0, zero_too=0)
    with pytest.raises(ValueError, match=r".") as error:
        proportion_test(table, **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_empty_table_and_too_many_groups_are_refused():
    with pytest.raises(ValueError, match="no rows"):
        tally_shares(tallied(), "", "", "hit", "n", "")
    with pytest.raises(ValueError, match="at most 20"):
        proportion_test(pd.DataFrame({"e": ["yes", "no"] * 20, "id": range(40)}), event="e", group="id")


SUBJECTS = pd.DataFrame(
    {"dose": np.repeat([0.0, 0.5, 1.0], 20), "ill": [1] * 3 + [0] * 17 + [1] * 9 + [0] * 11 + [1] * 20}
)
STEPS = {
    "one share": (pd.DataFrame({"ok": ["yes"] * 8 + ["no"] * 2}), {"event": "ok", "value": 0.5}),
    "two shares": (tallied((30, 100), (50, 100)), {"events": "hit", "total": "n", "group": "arm"}),
    "nothing against something": (tallied((0, 9), (5, 8)), {"events": "hit", "total": "n", "group": "arm"}),
    "levels that are numbers": (SUBJECTS, {"event": "ill", "group": "dose", "value": 0.5}),
    "small groups": (tallied((0, 4), (3, 5), (4, 4)), {"events": "hit", "total": "n", "group": "arm"}),
    "only an estimate": (tallied((3, 7)), {"events": "hit", "total": "n"}),
}


@pytest.mark.parametrize("name", STEPS)
def test_step_runs_from_its_own_source_and_passes_its_checks(name, tmp_path):
    table, params = STEPS[name]
    record, _, issues = run_step(proportion_test, {"table": table}, params, tmp_path)
    assert issues == []
    assert not any("nan" in finding["text"].split() for finding in record["findings"])
    assert proportion_test.tool_spec.answers == ["proportion_test"]


def test_wrong_shares_are_caught(tmp_path):
    result = compared((30, 100), (50, 100))
    tables = {"shares": result["shares"], "tests": result["tests"]}
    assert check_issues(CHECKS, tables, tmp_path) == []
    wrong = tables | {"shares": tables["shares"].assign(events=[31, 50])}
    assert check_issues(CHECKS, wrong, tmp_path) == ["share_differs"]
    wrong = tables | {"shares": tables["shares"].assign(upper_95=0.1)}
    assert set(check_issues(CHECKS, wrong, tmp_path)) == {"share_outside_interval"}
    wrong = tables | {"tests": tables["tests"].rename(columns={"share_1": "share_2", "share_2": "share_1"})}
    assert check_issues(CHECKS, wrong, tmp_path) == ["share_difference_differs"]
    wrong = tables | {"tests": tables["tests"].assign(lower_95=0.9)}
    assert check_issues(CHECKS, wrong, tmp_path) == ["interval_without_estimate"]
