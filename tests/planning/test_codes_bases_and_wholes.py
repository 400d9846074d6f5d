"""Codes in brackets, what a model compares with, classes and wholes of a measurement, times in one word. The data are invented."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.planning.reading.read import read
from engine.planning.tables.sheets import Data

DRAW = np.random.default_rng(41)
N = 60


@pytest.fixture(scope="module")
def planner():
    return the_planner()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("codes")
    goats = pd.DataFrame({
        "goat": range(1, N + 1), "feed": DRAW.integers(1, 3, N), "milk_kg": DRAW.normal(3, 0.4, N).round(2), "age_mo": DRAW.integers(20, 90, N),
        "lame": DRAW.choice(["yes", "no"], N), "house": DRAW.choice(["yard", "shed"], N), "cs_class": DRAW.choice(["poor", "fair"], N),
        "condition_score": DRAW.normal(3, 0.5, N).round(2), "hoof_pain": DRAW.integers(0, 9, N),
        "stage": DRAW.choice(["I", "II", "III"], N),
    })  # fmt: skip
    growth = pd.DataFrame([
        (kid, day, DRAW.choice(["hay", "silage", "straw"]), round(float(DRAW.normal(20 + day, 2)), 1))
        for kid in range(1, 31) for day in (0, 14, 28)
    ], columns=["kid", "day", "ration", "weight"])  # fmt: skip
    growth["ration"] = growth["kid"].map(lambda kid: ("hay", "silage", "straw")[kid % 3])
    growth["barn"] = growth["kid"].map(lambda kid: ("north", "south")[kid % 2])
    traps = pd.DataFrame({
        "year": np.arange(1990, 2005).repeat(4), "slope": DRAW.choice(["dry", "wet"], N), "moths_n": DRAW.poisson(9, N),
        "altitude_m": DRAW.integers(200, 1800, N), "searched_m2": DRAW.integers(40, 400, N),
    })  # fmt: skip
    sown = DRAW.integers(6, 24, 24)
    dishes = pd.DataFrame({"strain": ["K1", "K9"] * 12, "soil": ["peat"] * 12 + ["sand"] * 12, "eggs": sown,
                           "hatched": DRAW.binomial(sown, 0.4)})  # fmt: skip
    dishes.loc[0, "hatched"] = 0
    scans = pd.DataFrame({"no": range(1, N + 1), "clinic": DRAW.choice(["east", "west"], N),
                          "lesion_vet_Berg": DRAW.choice(["none", "mild", "severe"], N),
                          "lesion_vet_Lund": DRAW.choice(["none", "mild", "severe"], N)})  # fmt: skip
    trials = pd.DataFrame({"trial": [f"T{k}" for k in range(14)], "healed_gel": DRAW.integers(5, 30, 14), "n_gel": DRAW.integers(40, 90, 14),
                           "healed_ctrl": DRAW.integers(5, 20, 14), "n_ctrl": DRAW.integers(40, 90, 14)})  # fmt: skip
    found = {}
    frames = {"goats": goats, "growth": growth, "traps": traps, "dishes": dishes, "scans": scans, "trials": trials}
    for name, frame in frames.items():
        found[name] = folder / f"{name}.csv"
        frame.to_csv(found[name], index=False)
    return found


def steps(planner, question, path):
    plan = planner.plan(question, profile_files([path])).plan
    return [(node.tool, node.params) for node in plan.nodes], [q.text for q in plan.open_questions if q.required]


def last(planner, question, path):
    return steps(planner, question, path)[0][-1]


def test_two_codes_in_brackets_are_the_groups_that_the_words_before_them_name(planner, files):
    nodes, _ = steps(planner, "milk_kg of goats on silage (feed=2) vs hay (1)", files["goats"])
    ((tool, params),) = nodes  # no rows are kept: both are compared
    assert tool == "compare_groups"
    assert (params["group"], params["treated"], params["control"]) == ("feed", "2", "1")


def test_an_adjusted_odds_ratio_is_that_of_a_model_of_all_rows(planner, files):
    nodes, _ = steps(planner, "odds ratio of lame for house, adjusted for age_mo", files["goats"])
    assert [tool for tool, _ in nodes] == ["logistic_regression"]
    assert nodes[0][1]["outcome"] == "lame"
    assert "age_mo" in nodes[0][1]["predictors"]


def test_numbers_needed_are_no_odds_of_a_model(planner, files):
    question = "Number needed to treat, lame yes or no, shed against yard? also adjusted for age_mo"
    assert last(planner, question, files["goats"])[0] == "risk_measures"


def test_a_legend_of_several_words_tells_which_code_each_of_them_means(files):
    question = "feed 1 = meadow hay, 2 = maize silage mix. Do goats on the silage give more milk_kg?"
    reading = read(question, Data.of(profile_files([files["goats"]])))
    named = {reading.words[m.first].text: m.level for m in reading.mentions if m.column == "feed" and m.level}
    assert named["silage"] == "2"


def test_the_level_that_a_model_compares_with_is_said_as_elsewhere(planner, files):
    tool, params = last(
        planner, "Linear regression of milk_kg on stage with II as the reference, and age_mo", files["goats"]
    )
    assert (tool, params["references"], params["control"]) == ("linear_regression", ["stage=II"], "II")


def test_a_class_of_a_measurement_is_named_by_its_level_before_the_name(files):
    reading = read("do lame goats have more poor condition scores", Data.of(profile_files([files["goats"]])))
    assert ("cs_class", "poor") in {(m.column, m.level) for m in reading.mentions}
    assert "condition_score" not in reading.columns()


def test_what_a_class_is_made_of_does_not_predict_it(planner, files):
    tool, params = last(planner, "Predict cs_class, take every column, how good is it on new goats?", files["goats"])
    assert tool == "classify"
    assert params["outcome"] == "cs_class"
    assert "condition_score" not in params["predictors"]
    assert {"milk_kg", "age_mo", "stage"} <= {*params["predictors"]}


def test_the_same_of_something_in_brackets_is_held_constant(planner, files):
    question = "At the same age in months (age_mo), is milk_kg lower in the shed than in the yard?"
    tool, params = last(planner, question, files["goats"])
    assert (tool, params["outcome"], params["adjusted"]) == ("linear_regression", "milk_kg", ["age_mo"])


@pytest.mark.parametrize(
    "question", ["final weights, any difference between rations", "weight at d28, does it differ between the rations"]
)
def test_a_time_in_one_word_and_the_final_measurement_keep_the_rows_of_that_time(planner, files, question):
    nodes, _ = steps(planner, question, files["growth"])
    assert [tool for tool, _ in nodes] == ["filter_rows", "compare_groups"]
    assert nodes[0][1]["condition"] == "`day` in [28]"


def test_rows_told_at_the_start_hold_for_each_request(planner, files):
    question = "For day 28 make a table (n, mean, SD of weight per ration), and tell me which rations differ from hay."
    nodes, asks = steps(planner, question, files["growth"])
    assert [tool for tool, _ in nodes] == ["filter_rows", "summarize_table", "compare_groups"]
    assert not asks
    assert nodes[-1][1]["value"] == "weight"
    assert nodes[-1][1]["control"] == "hay"


def test_what_has_several_rows_is_counted_once(planner, files):
    tool, params = last(planner, "How many kids did each barn have in each ration?", files["growth"])
    assert (tool, params["aggregate"], params["values"]) == ("pivot_table", "distinct", "kid")


def test_years_with_a_dash_are_all_the_years_between(planner, files):
    nodes, _ = steps(
        planner, "Are there fewer moths_n in 2000-2004 than in 1990-1994 at the same altitude?", files["traps"]
    )
    assert nodes[0][0] == "derive_column"
    assert "2002" in nodes[0][1]["expression"]
    assert "1992" in nodes[0][1]["expression"]
    assert "2000 to 2004" in nodes[0][1]["name"]


def test_counts_that_are_adjusted_for_an_effort_are_taken_per_effort(planner, files):
    question = "Are there fewer moths_n the higher up (altitude_m)? We did not search the same area (searched_m2), please account for that."
    tool, params = last(planner, question, files["traps"])
    assert (tool, params["exposure"], params["predictors"]) == ("count_regression", "searched_m2", ["altitude_m"])


def test_the_only_count_below_the_only_other_one_is_its_part(planner, files):
    assert Data.of(profile_files([files["dishes"]])).sheets[0].structure.part_of == {"hatched": "eggs"}
    tool, params = last(
        planner, "is the hatched share of the eggs higher for K9 than for K1, only on peat soil", files["dishes"]
    )
    assert tool == "proportion_test"
    assert (params["events"], params["total"], params["group"]) == (
        "hatched",
        "eggs",
        "strain",
    )


def test_the_numbers_of_arms_explain_no_effect(planner, files):
    tool, params = last(
        planner,
        "14 trials of a gel versus control. Does the gel heal? One overall figure with CI please.",
        files["trials"],
    )
    assert tool == "meta_analysis"
    assert not params.get("moderator")


def test_two_columns_of_the_same_classes_are_two_raters(planner, files):
    tool, params = last(planner, "Two vets graded the same cows. How well do they agree?", files["scans"])
    assert tool == "agreement"
    assert {params["first"], params["second"]} == {"lesion_vet_Berg", "lesion_vet_Lund"}


def test_both_of_two_levels_named_in_passing_are_kept(files):
    reading = read("Do seeds on peat soil or on sand soil come up better", Data.of(profile_files([files["dishes"]])))
    assert not [r for r in reading.restrictions if r.column == "soil"]


def test_pain_by_codes_is_no_pair_with_the_codes(planner, files):
    tool, _ = last(planner, "hoof_pain, silage (feed=2) vs hay (feed=1)", files["goats"])
    assert tool != "compare_columns_paired"


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("feed 1 = hay group, 2 = straw group. Does milk_kg differ by group?", set()),  # of both, so of none
        ("milk_kg per feed: 2 goats each. Does milk_kg of the goats differ?", set()),
        ("feed is 1 hay, 2 straw. Is milk_kg lower with the straw?", {("straw", "2")}),
    ],
)
def test_words_that_two_codes_share_or_that_only_count_name_neither(files, question, named):
    reading = read(question, Data.of(profile_files([files["goats"]])))
    asked = reading.question.rindex(".") if "." in question[:-1] else 0
    levels = {
        (reading.words[m.first].text, m.level)
        for m in reading.mentions
        if m.level and reading.words[m.first].start > asked
    }
    assert levels == named


def test_what_is_taken_to_find_something_out_is_not_left_out(files):
    reading = read("Take milk and find out whether it differs between feeds", Data.of(profile_files([files["goats"]])))
    assert "milk_kg" in reading.columns()


def test_a_count_beside_an_unrelated_number_is_no_part_of_it(tmp_path):
    frame = pd.DataFrame({"mouse": range(N), "fits": DRAW.integers(0, 7, N), "length": DRAW.integers(60, 110, N)})
    frame.to_csv(tmp_path / "mice.csv", index=False)
    assert Data.of(profile_files([tmp_path / "mice.csv"])).sheets[0].structure.part_of == {}


def test_codes_taken_together_that_leave_others_out_are_no_run(planner, tmp_path):
    frame = pd.DataFrame({"ward": DRAW.integers(1, 8, 80), "stay_h": DRAW.normal(50, 9, 80).round(1)})
    frame.to_csv(tmp_path / "wards.csv", index=False)
    nodes, _ = steps(planner, "stay_h of ward 1, 3 and 7 versus the rest", tmp_path / "wards.csv")
    assert not any("1 to 7" in str(params) for _, params in nodes)


def test_codes_that_tell_the_groups_are_not_what_is_counted(planner, files):
    question = "how many percent were lame yes on silage (feed=2) vs hay (feed=1), only in the shed"
    tool, params = last(planner, question, files["goats"])
    assert tool in ("proportion_test", "risk_measures")
    assert "feed" in (params.get("group"), params.get("exposure"))
    assert "lame" in (params.get("event"), params.get("outcome"))


@pytest.mark.parametrize("than", ["than in", "then in", "versus"])
def test_two_spans_of_years_are_compared_also_where_then_is_typed(planner, files, than):
    nodes, _ = steps(planner, f"were there more moths_n in 2000-2004 {than} 1990-1994?", files["traps"])
    assert nodes[0][0] == "derive_column"
    assert not any(tool == "filter_rows" for tool, _ in nodes)
