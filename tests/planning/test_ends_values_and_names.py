"""Times to an event that only the question tells, values at which something is expected, names grown of two words, and
comparatives that name no level. The data are invented."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.errors import PlanError
from engine.planning.telling.brief import briefs
from engine.toolbox.analyses import load_analyses
from engine.toolbox.registry import builtin_tools

DRAW = np.random.default_rng(77)
N = 90


@pytest.fixture(scope="module")
def planner():
    return the_planner()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ends")
    hives = pd.DataFrame({
        "hive": range(1, N + 1), "wrapped": DRAW.integers(0, 2, N), "X2": DRAW.integers(0, 2, N),
        "frames": DRAW.integers(3, 12, N), "swarm_day": DRAW.integers(3, 90, N), "swarm": DRAW.integers(0, 2, N),
        "mould_day": DRAW.integers(3, 90, N), "mould": DRAW.integers(0, 2, N),
    })  # fmt: skip
    rows = pd.DataFrame({"A1": DRAW.integers(0, 2, N), "T5": DRAW.integers(1, 200, N), "D5": DRAW.integers(0, 2, N),
                         "A2": DRAW.integers(0, 2, N), "A3": DRAW.normal(4, 1, N).round(2)})  # fmt: skip
    ears = pd.DataFrame({"dog": np.arange(60).repeat(2), "side": ["left", "right"] * 60, "flushed": [0, 1] * 60,
                         "weeks": DRAW.uniform(1, 70, 120).round(2), "deaf": DRAW.integers(0, 2, 120)})  # fmt: skip
    pups = pd.DataFrame({"pgr": DRAW.normal(3000, 400, N).round(0), "sowwt": DRAW.normal(190, 20, N).round(0),
                         "pwt": DRAW.normal(1400, 250, N).round(0), "dwt": DRAW.normal(180, 20, N).round(0),
                         "barn": DRAW.choice(["new", "old"], N)})  # fmt: skip
    pups["small"] = (pups["pwt"] < 1200).astype(int)
    pups["smoky"] = DRAW.integers(0, 2, N)
    crosses = pd.DataFrame({"ramstock": DRAW.choice(list("KLM"), N), "ewestock": DRAW.choice(list("KLM"), N),
                            "fleece": DRAW.normal(4, 0.6, N).round(2)})  # fmt: skip
    beds = pd.DataFrame({"salt": DRAW.choice(["low", "high"], N), "sex": DRAW.choice(["F", "M"], N),
                         "growth_mm": DRAW.normal(30, 4, N).round(1)})  # fmt: skip
    base = DRAW.poisson(30, N)
    warts = pd.DataFrame({"cow": range(1, N + 1), "dip": DRAW.choice(["copper", "water"], N), "baseline": base,
                          "number2m": DRAW.poisson(base * 0.8), "number6m": DRAW.poisson(base * 0.6)})  # fmt: skip
    calves = pd.DataFrame([(c, f"d{c % 4}", 1 + c % 4, w, round(40 + 0.7 * w + float(DRAW.normal(0, 3)), 0))
                           for c in range(40) for w in (0, 7, 14, 21)],
                          columns=["calf", "pen", "milk", "day", "weight"]).drop(columns="pen")  # fmt: skip
    calves["weight"] = calves["weight"].astype(int)
    frames = {
        "hives": hives,
        "rows": rows,
        "ears": ears,
        "pups": pups,
        "crosses": crosses,
        "beds": beds,
        "warts": warts,
        "calves": calves,
    }
    found = {}
    for name, frame in frames.items():
        found[name] = folder / f"{name}.csv"
        frame.to_csv(found[name], index=False)
    return found


def steps(planner, question, path):
    plan = planner.plan(question, profile_files([path])).plan
    return {node.tool: node.params for node in plan.nodes}, [q.text for q in plan.open_questions if q.blocking], plan


# ==== times to an event ====


@pytest.mark.parametrize(
    ("file", "question", "time", "event", "group"),
    [
        ("rows", "time to failure (T5, D5 = 1 failed) by A1", "T5", "D5", "A1"),
        ("rows", "Kaplan-Meier of T5 and D5 for the two A2", "T5", "D5", "A2"),
        ("hives", "does wrapping delay swarming? wrapped 1 = yes", "swarm_day", "swarm", "wrapped"),
        ("hives", "share still free of mould at day 30 by wrapped, with the curve", "mould_day", "mould", "wrapped"),
    ],
)
def test_columns_told_as_time_and_event_are_a_follow_up(planner, files, file, question, time, event, group):
    made, asks, _ = steps(planner, question, files[file])
    curves = made["kaplan_meier"]
    assert (curves["time"], curves["event"], curves["group"]) == (time, event, group)
    assert not asks


def test_two_ears_of_a_dog_are_no_two_dogs(planner, files):
    made, _, _ = steps(planner, "does flushing delay deafness?", files["ears"])
    model = made["cox_regression"]
    assert (model["time"], model["event"], model["covariates"], model["subject"]) == (
        "weeks",
        "deaf",
        ["flushed"],
        "dog",
    )


def test_what_happened_to_whom_at_no_time_is_no_follow_up(planner, files):
    made, _, _ = steps(planner, "is mould more common in wrapped hives?", files["hives"])
    assert not {"kaplan_meier", "log_rank", "cox_regression"} & {*made}


# ==== values at which something is expected ====


@pytest.mark.parametrize(
    ("file", "question", "tool", "outcome", "at"),
    [
        ("pups", "what pwt would you predict for a dwt of 200?", "linear_regression", "pwt", ["dwt=200"]),
        ("pups", "expected pwt at dwt 150 and in the old barn", "linear_regression", "pwt", ["dwt=150", "barn=old"]),
        ("rows", "What is the chance of D5 with A3 of 5.5?", "logistic_regression", "D5", ["A3=5.5"]),
    ],
)
def test_what_is_expected_at_values_is_asked_of_a_model_at_them(planner, files, file, question, tool, outcome, at):
    made, asks, plan = steps(planner, question, files[file])
    assert made[tool]["outcome"] == outcome
    assert sorted(made[tool]["at"]) == sorted(at)
    assert "filter_rows" not in made
    assert not asks
    assert not plan.not_answered


def test_the_card_says_at_which_values(planner, files):
    profiles = profile_files([files["pups"]])
    plan = planner.plan("what pwt would you predict for a dwt of 200?", profiles).plan
    (brief,) = briefs(plan, profiles, builtin_tools(), load_analyses())
    assert "Expected at: dwt=200." in brief.sentence()


def test_how_well_something_can_be_predicted_names_no_values(planner, files):
    made, _, _ = steps(planner, "how well can pwt be predicted from dwt and barn?", files["pups"])
    assert not any(params.get("at") for params in made.values())


# ==== names ====


def test_names_made_of_two_beginnings_are_found_by_their_words(planner, files):
    made, _, _ = steps(
        planner, "does the fleece depend on the stock of the ram or on the stock of the ewe?", files["crosses"]
    )
    (params,) = [p for p in made.values() if "factors" in p]
    assert {*params["factors"]} == {"ramstock", "ewestock"}


@pytest.mark.parametrize("question", ["is the growth lower in females?", "do females have the lowest growth?"])
def test_comparatives_name_no_level(planner, files, question):
    made, asks, _ = steps(planner, question, files["beds"])
    assert (made["compare_groups"]["group"], made["compare_groups"]["treated"]) == ("sex", "F")
    assert "filter_rows" not in made
    assert not asks


def test_a_level_is_named_by_more_of_it_before_what_has_it(planner, files):
    made, _, _ = steps(planner, "is the growth better at the higher salt?", files["beds"])
    assert made["compare_groups"]["treated"] == "high"


def test_of_two_weights_it_is_asked_which_is_meant(planner, files):
    _, asks, plan = steps(planner, "are weights lower in the old barn?", files["pups"])
    assert any(text.startswith("Which column is meant by 'weights'") for text in asks)
    (question,) = [q for q in plan.open_questions if q.text.startswith("Which column is meant by")]
    assert {"pwt", "dwt"} <= {*question.choices}


def test_few_codes_are_groups_and_a_group_is_no_rating(planner, files):
    made, asks, _ = steps(planner, "do calves on milk 3 weigh more than on milk 1 at day 21?", files["calves"])
    params = made["compare_groups"]
    assert (params["value"], params["treated"], params["control"]) == ("weight", "3", "1")
    assert not asks
    made, _, _ = steps(planner, "do the calves grow differently on the milks over the days?", files["calves"])
    assert "agreement" not in made


# ==== codes and cuts ====


def test_codes_that_are_defined_restrict_nothing_and_their_measurement_explains_nothing(planner, files):
    question = (
        "small is 1 if the piglet was under 1200 g, smoky is 1 if the barn had smoke. Odds of small by smoky and pwt?"
    )
    made, _, plan = steps(planner, question, files["pups"])
    assert "filter_rows" not in made
    assert made["logistic_regression"]["predictors"] == ["smoky"]
    assert any("'pwt' is left out" in text for text in plan.warnings)
    assert not plan.not_answered


def test_who_does_something_is_set_against_the_others(planner, files):
    made, asks, _ = steps(planner, "is A3 higher in coated ones (A1 = 1)?", files["rows"])
    assert (made["compare_groups"]["group"], made["compare_groups"]["treated"]) == ("A1", "1")
    assert "filter_rows" not in made
    assert not asks


def test_a_moment_cuts_no_count_and_is_said_to_be_left(planner, files):
    made, _, plan = steps(planner, "mean number of frames after 4 weeks by wrapped", files["hives"])
    assert "filter_rows" not in made
    assert any(text.startswith("'after 4 weeks'") for text in plan.not_answered)


# ==== occasions ====


def test_a_column_called_baseline_begins_the_measurement(planner, files):
    made, asks, _ = steps(planner, "change in number of warts from baseline to 2 months by dip", files["warts"])
    assert made["derive_column"]["expression"] == "`number2m` - `baseline`"
    assert (made["compare_groups"]["value"], made["compare_groups"]["group"]) == ("number2m - baseline", "dip")
    assert not asks


def test_the_words_for_a_measure_are_of_the_occasion_that_is_named(planner, files):
    made, _, _ = steps(planner, "is the number of warts at 6 months lower with copper than with water?", files["warts"])
    (params,) = [p for p in made.values() if "number6m" in str(p)]
    assert "number2m" not in str(params)


# ==== what a sceptic tried ====


@pytest.mark.parametrize(
    "question",
    [
        "what is the expected pwt at dwt 180, excluding the old barn?",
        "is the expected pwt higher in piglets with dwt above 150?",
        "leave out the old barn. What is the expected pwt at dwt 180?",
        "in the new barn only, how is pwt expected to depend on dwt at 150?",
    ],
)
def test_rows_kept_left_out_or_compared_are_no_values(planner, files, question):
    made, _, _ = steps(planner, question, files["pups"])
    assert not any(params.get("at") for params in made.values())


def test_of_one_and_two_only_a_legend_says_which_happened(planner, tmp_path):
    frame = pd.DataFrame(
        {"vole": range(60), "bait": [0, 1] * 30, "cyst_day": DRAW.integers(1, 90, 60), "cyst": DRAW.integers(1, 3, 60)}
    )
    frame.to_csv(tmp_path / "voles.csv", index=False)
    with pytest.raises(PlanError, match="needs a table with a time column and an event column"):
        steps(planner, "does the bait delay the cyst?", tmp_path / "voles.csv")


def test_a_heart_rate_is_no_time_of_survival(planner, tmp_path):
    pd.DataFrame({"pat": range(80), "survived": DRAW.integers(0, 2, 80), "age": DRAW.integers(20, 90, 80),
                  "HR": np.round(DRAW.gamma(9, 11, 80)).astype(int), "SBP": DRAW.integers(90, 180, 80)}).to_csv(tmp_path / "icu.csv", index=False)  # fmt: skip
    (profile,) = profile_files([tmp_path / "icu.csv"])
    assert profile.structure.survival == {}


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("mean number6m of cows not on copper", "`dip` not in ['copper']"),
        ("mean number6m of those who were not given copper", "`dip` not in ['copper']"),
    ],
)
def test_who_is_not_on_something_is_whom_it_is_about(planner, files, question, condition):
    made, _, _ = steps(planner, question, files["warts"])
    assert made["filter_rows"]["condition"] == condition


def test_who_is_not_on_something_may_be_compared(planner, files):
    made, _, _ = steps(planner, "is number6m higher in cows not on copper than in those on copper?", files["warts"])
    assert "filter_rows" not in made


@pytest.mark.parametrize("called", ["alive", "still_free"])
def test_the_one_of_who_is_alive_or_free_of_it_is_no_end(planner, tmp_path, called):
    frame = pd.DataFrame(
        {"vole": range(60), "bait": [0, 1] * 30, "T7": DRAW.integers(1, 90, 60), called: DRAW.integers(0, 2, 60)}
    )
    frame.to_csv(tmp_path / "voles.csv", index=False)
    with contextlib.suppress(PlanError):
        made, _, _ = steps(planner, f"time to loss (T7, {called}) by bait", tmp_path / "voles.csv")
        ends = {(p.get("event"), p.get("event_value")) for p in made.values() if "event_value" in p}
        assert (called, "1") not in ends
