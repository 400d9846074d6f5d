"""Trends against Hollander and Wolfe, Agresti, SciPy's Kendall and counting every arrangement."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_steps import check_issues, run_step

from engine.toolbox.statistics.trend import jonckheere, natural_order, trend_test

# Hollander and Wolfe, Nonparametric Statistical Methods, table 6.6 (Hundal 1969): pieces made with no, rough and
# accurate knowledge of one's output.
KNOWLEDGE = pd.DataFrame(
    {
        "pieces": [40, 35, 38, 43, 44, 41, 38, 40, 47, 44, 40, 42, 48, 40, 45, 43, 46, 44],
        "knowledge": ["no"] * 6 + ["rough"] * 6 + ["accurate"] * 6,
    }
)
ORDER = ["no", "rough", "accurate"]
# Agresti, Categorical Data Analysis, table 3.7 (Graubard and Korn 1987): malformations by the mother's drinks a day.
ALCOHOL = pd.DataFrame(
    {"drinks": [0, 0.5, 1.5, 4, 7], "malformed": [48, 38, 5, 1, 1], "born": [17114, 14502, 793, 127, 38]}
)
COUNTS = {"events": "malformed", "total": "born"}


def row(frame, words):
    found = frame[frame["test"].str.contains(words)]
    assert len(found) == 1
    return found.iloc[0]


def test_jonckheere_of_hollander_and_wolfe():
    # J = 79, and with the variance for ties J* = 2.04, one-sided P about 0.021
    result = trend_test(KNOWLEDGE, value="pieces", group="knowledge", order=ORDER)
    normal = row(result["trend"], "normal")
    assert normal["statistic"] == 79
    assert normal["z"] == pytest.approx(2.04, abs=5e-3)
    assert normal["p_value"] / 2 == pytest.approx(0.0207, abs=5e-5)
    best = result["trend"].iloc[0]
    assert best["recommended"]
    assert "19999 random arrangements" in best["test"]
    assert best["p_value"] == pytest.approx(normal["p_value"], abs=0.006)
    assert "pieces rises over knowledge (no < rough < accurate" in result["findings"][0]["text"]


def test_exact_p_counts_every_arrangement():
    groups = {"low": [1.0, 3.0], "medium": [2.0, 5.0], "high": [4.0, 6.0, 6.0]}
    table = pd.DataFrame([(g, v) for g, values in groups.items() for v in values], columns=["g", "v"])
    values = table["v"].to_numpy()

    def statistic(places):
        pairs = itertools.combinations(range(len(values)), 2)
        return abs(sum(np.sign(values[b] - values[a]) * np.sign(places[b] - places[a]) for a, b in pairs))

    deals = [statistic(places) for places in set(itertools.permutations([0, 0, 1, 1, 2, 2, 2]))]
    observed = statistic([0, 0, 1, 1, 2, 2, 2])
    best = trend_test(table, value="v", group="g")["trend"].iloc[0]
    assert f"all {len(deals)} arrangements" in best["test"]
    assert best["p_value"] == pytest.approx(np.mean([deal >= observed for deal in deals]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), min_size=5, max_size=40))
def test_z_and_tau_are_scipys_kendall(pairs):
    from scipy.stats import kendalltau

    place, values = (np.array(column) for column in zip(*pairs, strict=True))
    if len(set(place)) < 2 or len(set(values)) < 2:
        return
    mine, theirs = jonckheere(values.astype(float), place), kendalltau(place, values, method="asymptotic")
    assert mine["effect"] == pytest.approx(theirs.statistic)
    assert mine["p_value"] == pytest.approx(theirs.pvalue)
    u = sum(np.sign(values[j] - values[i]) / 2 + 0.5 for i, j in itertools.permutations(range(len(place)), 2)
            if place[i] < place[j])  # fmt: skip
    assert mine["statistic"] == pytest.approx(u)
    back = jonckheere(values.astype(float), -place)
    assert (back["z"], back["effect"]) == pytest.approx((-mine["z"], -mine["effect"]))


def test_jackknife_interval_of_tau_is_that_of_leaving_rows_out():
    from scipy.stats import kendalltau

    place = KNOWLEDGE["knowledge"].map({level: i for i, level in enumerate(ORDER)}).to_numpy()
    values = KNOWLEDGE["pieces"].to_numpy(dtype=float)
    without = [kendalltau(np.delete(place, i), np.delete(values, i)).statistic for i in range(len(values))]
    half = 1.959964 * math.sqrt(17 / 18 * np.sum((without - np.mean(without)) ** 2))
    found = jonckheere(values, place)
    assert found["upper_95"] - found["effect"] == pytest.approx(half, rel=1e-6)
    assert found["effect"] - found["lower_95"] == pytest.approx(half, rel=1e-6)


def exact_armitage_p(events, totals, scores):
    """Return the two-sided p-value over all tables with the margins, by adding one level at a time."""
    chances = {(0, 0.0): 1}
    for n, score in zip(totals, scores, strict=True):
        grown = {}
        for (used, value), ways in chances.items():
            for e in range(min(n, sum(events) - used) + 1):
                key = (used + e, value + e * score)
                grown[key] = grown.get(key, 0) + ways * math.comb(n, e)
        chances = grown
    full = {value: ways for (used, value), ways in chances.items() if used == sum(events)}
    mean = sum(events) * sum(n * s for n, s in zip(totals, scores, strict=True)) / sum(totals)
    observed = abs(sum(e * s for e, s in zip(events, scores, strict=True)) - mean)
    far = sum(ways for value, ways in full.items() if abs(value - mean) >= observed - 1e-9)
    return far / sum(full.values())


def test_cochran_armitage_of_agrestis_malformations():
    # Agresti: z2 = 6.57, P = 0.010; logit slope 0.3166 (SE 0.1254); general X2 = 12.1 on 4 df
    result = trend_test(ALCOHOL, group="drinks", **COUNTS)
    normal = row(result["trend"], "normal")
    assert normal["statistic"] == pytest.approx(6.57, abs=5e-3)
    assert normal["p_value"] == pytest.approx(0.010, abs=5e-4)
    assert math.log(normal["effect"]) == pytest.approx(0.3166, abs=5e-5)
    assert math.log(normal["upper_95"] / normal["effect"]) / 1.959964 == pytest.approx(0.1254, abs=5e-5)
    departure = row(result["trend"], "departure")
    assert departure["statistic"] + normal["statistic"] == pytest.approx(12.1, abs=0.05)
    assert departure["df"] == 3
    assert result["levels"]["share"].iloc[-1] == pytest.approx(1 / 38)
    assert result["trend"].iloc[0]["p_value"] < 0.03


def test_ranks_as_scores_give_agrestis_other_answer():
    # Agresti: with equally spaced scores M2 = 1.83, P = 0.18
    names = ALCOHOL.assign(drinks=["none", "very low", "low", "moderate", "high"])
    result = trend_test(names, group="drinks", **COUNTS)
    assert row(result["trend"], "normal")["statistic"] == pytest.approx(1.83, abs=5e-3)
    assert row(result["trend"], "normal")["p_value"] == pytest.approx(0.18, abs=5e-3)
    assert any("none < very low < low < moderate < high" in text for text in result["warnings"])
    assert "not shown to rise" in result["findings"][0]["text"]


def test_random_tables_are_near_the_exact_p():
    table = pd.DataFrame({"dose": [0, 1, 4], "dead": [0, 2, 4], "n": [8, 7, 6]})
    exact = exact_armitage_p([0, 2, 4], [8, 7, 6], [0, 1, 4])
    best = trend_test(table, group="dose", events="dead", total="n")["trend"].iloc[0]
    assert "random tables" in best["test"]
    assert best["p_value"] == pytest.approx(exact, abs=4 * math.sqrt(exact / 19999))


def test_two_levels_equal_the_chi_square_of_two_shares():
    table = pd.DataFrame({"dose": [0, 10], "dead": [30, 50], "n": [100, 100]})
    result = trend_test(table, group="dose", events="dead", total="n")
    assert result["trend"]["statistic"].tolist() == pytest.approx([(30 * 50 - 70 * 50) ** 2 * 200 / (80 * 120 * 1e4)])
    assert result["trend"]["effect"].iloc[0] == pytest.approx((50 * 70 / (50 * 30)) ** 0.1)
    assert any("two levels" in text for text in result["warnings"])


def test_separated_events_have_no_odds_ratio():
    table = pd.DataFrame({"dose": [0, 1, 2], "dead": [0, 0, 9], "n": [9, 9, 9]})
    best = trend_test(table, group="dose", events="dead", total="n")["trend"].iloc[0]
    assert math.isnan(best["effect"])
    assert best["p_value"] < 1e-3


@pytest.mark.parametrize(
    "ordered",
    [["I", "II", "III", "IV"], ["Stage 0", "Stage I", "Stage IIA", "Stage IIB", "Stage IV"], ["Wk0", "Wk4", "Wk12"],
     ["low", "medium", "high"], ["vehicle", "low dose", "mid dose", "high dose"], ["control", "2 mg", "10 mg"],
     ["<50", "50-59", "60+"], ["-20C", "4C", "37C"], ["0.5", "1", "10"], ["young", "adult", "old"], ["pre", "post"],
     ["G1", "G2", "G3"], ["mild", "moderate", "severe", "very severe"], ["never", "former", "current"]],
)  # fmt: skip
def test_order_is_read_from_names(ordered):
    for shuffled in (ordered[::-1], sorted(ordered), ordered[1:] + ordered[:1]):
        assert natural_order(shuffled)[0] == ordered


@pytest.mark.parametrize(
    "levels",
    [["red", "blue"], ["1 mg", "10 ug"], ["T-1", "T0", "T1"], ["low", "old"], ["a1", "b2"], ["high", "low", "odd"],
     ["low a", "low b", "high"]],
)  # fmt: skip
def test_names_without_an_order_are_not_guessed(levels):
    assert natural_order(levels) == (None, None)
    table = pd.DataFrame({"g": levels * 3, "v": range(3 * len(levels))})
    with pytest.raises(ValueError, match="Give order"):
        trend_test(table, value="v", group="g")


def test_only_plain_numbers_become_scores():
    assert natural_order(["Wk12", "Wk0"])[1] == {"Wk0": 0, "Wk12": 12}
    assert natural_order(["0-9", "10-19"])[1] is None
    assert natural_order(["<5", "5"])[1] is None
    assert natural_order(["control", "5 mg", "10 mg"])[1] is None


def test_given_order_decides_the_direction_and_leaves_others_out():
    up = trend_test(KNOWLEDGE, value="pieces", group="knowledge", order=ORDER)["trend"].iloc[0]
    down = trend_test(KNOWLEDGE, value="pieces", group="knowledge", order=ORDER[::-1])["trend"].iloc[0]
    assert (down["z"], down["effect"]) == pytest.approx((-up["z"], -up["effect"]))
    assert down["p_value"] == pytest.approx(up["p_value"], abs=0.006)
    result = trend_test(KNOWLEDGE, value="pieces", group="knowledge", order=["No", "accurate"])
    assert result["levels"]["level"].tolist() == ["no", "accurate"]
    assert any("Left out because the order does not name them: rough" in text for text in result["warnings"])


def test_yes_no_values_are_shares_and_numbers_are_not():
    table = pd.DataFrame({"dose": np.repeat([1, 2, 3], 20), "ill": [0] * 18 + [1] * 12 + [0] * 10 + [1] * 20})
    shares = trend_test(table, value="ill", group="dose")
    assert shares["levels"]["events"].tolist() == [2, 10, 20]
    words = table.assign(ill=table["ill"].map({0: "well", 1: "ill"}))
    named = trend_test(words, value="ill", event_value="well", group="dose")["trend"]
    assert named["z"].iloc[0] == pytest.approx(-shares["trend"]["z"].iloc[0])
    assert "median" in trend_test(table.assign(ill=table["ill"] * 2), value="ill", group="dose")["levels"]


BAD = {
    "nothing": ({"group": "knowledge"}, "Nothing to follow"),
    "same column": ({"group": "pieces", "value": "pieces"}, "different columns"),
    "no order": ({"group": "colour", "value": "pieces"}, "from lowest to highest"),
    "unknown level": ({"group": "knowledge", "value": "pieces", "order": ["no", "much"]}, "no level 'much'"),
    "one level": ({"group": "knowledge", "value": "pieces", "order": ["no"]}, "at least two"),
    "constant": ({"group": "knowledge", "value": "same", "order": ORDER}, "the same"),
    "no event": ({"group": "knowledge", "value": "never", "order": ORDER}, "none or to all"),
    "text": ({"group": "knowledge", "value": "words", "order": ORDER}, "not numbers"),
    "half": ({"group": "knowledge", "events": "pieces", "order": ORDER}, "one of these two forms"),
    "many": ({"group": "row", "value": "pieces"}, "at most 50"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    params, words = BAD[case]
    table = KNOWLEDGE.assign(colour=["red", "blue"] * 9, same=2, never=False, words=["x", "y", "z"] * 6)
    table = pd.concat([table] * 3, ignore_index=True).assign(row=range(54))
    with pytest.raises(ValueError, match=r".") as error:
        trend_test(table, **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


STEPS = {
    "ranks": (KNOWLEDGE, {"value": "pieces", "group": "knowledge", "order": ORDER}),
    "counts": (ALCOHOL, {"group": "drinks"} | COUNTS),
    "large": (pd.DataFrame({"v": range(60), "g": [0.5, 1, 2] * 20}), {"value": "v", "group": "g"}),
    "separated": (
        pd.DataFrame({"g": [0, 1, 2], "e": [0, 0, 9], "n": [9, 9, 9]}),
        {"group": "g", "events": "e", "total": "n"},
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_step_runs_from_its_own_source_and_passes_its_checks(name, tmp_path):
    table, params = STEPS[name]
    record, _, issues = run_step(trend_test, {"table": table}, params, tmp_path)
    assert issues == []
    assert len(record["findings"]) == 3
    assert trend_test.tool_spec.answers == ["trend_test"]


def test_wrong_direction_is_caught(tmp_path):
    frame = trend_test(KNOWLEDGE, value="pieces", group="knowledge", order=ORDER)["trend"]
    name = ["trend_direction_consistent"]
    assert check_issues(name, {"trend": frame}, tmp_path) == []
    assert "trend_direction" in check_issues(name, {"trend": frame.assign(z=-1.0)}, tmp_path)
    assert "interval_without_estimate" in check_issues(name, {"trend": frame.assign(upper_95=0.0)}, tmp_path)
    assert check_issues(name, {"trend": frame.assign(recommended=True)}, tmp_path) == ["recommended"]
    odds = trend_test(ALCOHOL, group="drinks", **COUNTS)["trend"]
    assert "trend_direction" in check_issues(name, {"trend": odds.assign(effect=0.9, lower_95=0.5)}, tmp_path)


def test_an_event_that_the_order_parts_completely_has_no_odds_ratio_and_it_is_said():
    table = pd.DataFrame({"dose": [0, 0, 0, 1, 1, 1, 2, 2, 2], "dead": [0, 0, 0, 0, 0, 0, 1, 1, 1]})
    text = trend_test(table, group="dose", value="dead")["findings"][0]["text"]
    assert "no odds ratio per unit of dose, as dose parts those with the event from the others completely" in text
    assert "not available" not in text
