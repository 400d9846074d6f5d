"""Plain sentences with the names of columns as they stand in the file: each is that column and no other. The data are invented."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.errors import PlanError

DRAW = np.random.default_rng(46)
N = 90


@pytest.fixture(scope="module")
def planner():
    return the_planner()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exact")

    def number(mean: float, sd: float, n: int = N) -> np.ndarray:
        return DRAW.normal(mean, sd, n).round(2)

    kinds = DRAW.choice(["oak", "ash", "elm"], N)
    trees = pd.DataFrame({"Kind": kinds, "Min.Price": number(14, 2), "Price": number(20, 3), "PointsAgainst": number(9, 1),
                          "WinPct": number(50, 9), "NetPts": number(3, 9), "highschool": number(60, 5), "lime": number(8, 1)})  # fmt: skip
    letters = pd.DataFrame({"A": number(9, 2), "B": number(5, 1), "Class": DRAW.choice(["One", "Two"], N)})
    school = [*range(3, 18)] * 6
    people = pd.DataFrame({"schooling": school, "pay": number(12, 3), "agree": DRAW.integers(0, 40, N), "sex": ["f", "m"] * 45,
                           "groupsize": DRAW.integers(12, 40, N)})  # fmt: skip
    visits = pd.DataFrame({"patient": np.repeat([f"p{k}" for k in range(30)], 3), "month": [0, 3, 6] * 30, "arm": np.repeat(["drug", "placebo"], 45),
                           "sex": np.repeat(DRAW.choice(["f", "m"], 30), 3), "bmi": np.repeat(number(26, 3, 30), 3), "pain": number(5, 1)})  # fmt: skip
    ages = np.repeat(DRAW.uniform(-1, 0, 15), 6) + np.tile(np.arange(6) * 0.4, 15) + DRAW.uniform(0, 0.01, N)
    boys = pd.DataFrame(
        {"boy": np.repeat([f"b{k}" for k in range(15)], 6), "age": ages.round(4), "height": number(150, 6)}
    )
    trial = pd.DataFrame({"Days": DRAW.exponential(400, N).round() + 1, "Died": DRAW.integers(0, 2, N), "Age (yr)": DRAW.integers(40, 80, N),
                          "Arm": DRAW.choice(["cyclo", "cyclo + adria"], N), "Residual": DRAW.choice(["no", "yes"], N)})  # fmt: skip
    again = trial.assign(
        id=np.repeat(np.arange(45), 2), Arm=np.repeat(DRAW.choice(["cyclo", "cyclo + adria"], 45), 2)
    ).drop(columns="Age (yr)")
    girls = pd.DataFrame({"girl": np.repeat([f"g{k}" for k in range(30)], 3),
                          "age": np.concatenate([[8.0, 10.0, 11 + k / 40] for k in range(30)]),
                          "exercise": number(3, 1), "group": np.repeat(["patient", "control"], 45)})  # fmt: skip
    items = pd.DataFrame({f"N{k}": DRAW.integers(1, 6, N) for k in range(1, 6)} | {"gender": DRAW.choice([1, 2], N)})
    walks = pd.DataFrame(
        {
            "habitat": DRAW.choice(["bank", "wood"], 40),
            "metres": DRAW.integers(20, 120, 40),
            "moths": DRAW.integers(0, 30, 40),
        }
    )
    scores = pd.DataFrame(
        {"team": DRAW.choice(["east", "west"], N), "year": DRAW.choice([1, 2], N), "cog": number(100, 12)}
    )
    absent = pd.DataFrame({"race": DRAW.choice(["tan", "grey"], N), "absent": DRAW.integers(0, 30, N)})
    blocks = pd.DataFrame(
        {
            "Block": DRAW.choice([1, 2, 3, 4], N),
            "pH": number(6, 1),
            "N_pct": number(2, 1),
            "K": number(9, 1),
            "P": number(4, 1),
        }
    )
    frames = {"trees": trees, "letters": letters, "people": people, "visits": visits, "boys": boys, "trial": trial,
              "again": again, "girls": girls, "items": items, "walks": walks, "scores": scores, "absent": absent, "blocks": blocks}  # fmt: skip
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return {name: folder / f"{name}.csv" for name in frames}


def steps(planner, question, path):
    plan = planner.plan(question, profile_files([path])).plan
    return {node.tool: node.params for node in plan.nodes}, plan


# ==== a name is the column that is called so ====


@pytest.mark.parametrize(
    ("file", "question", "tool", "params"),
    [
        ("trees", "Does Price differ by Kind?", "compare_groups", {"value": "Price", "group": "Kind"}),
        ("trees", "compare Min.Price between the kinds", "compare_groups", {"value": "Min.Price"}),
        ("trees", "plot WinPct against NetPts", "scatter_plot", {"y": "WinPct", "x": "NetPts"}),
        ("trees", "which Kind has the highest lime?", "compare_groups", {"value": "lime", "group": "Kind"}),
        ("letters", "Show a box plot of A by Class", "box_plot", {"value": "A", "group": "Class"}),
        ("people", "Does pay differ between the groups of sex?", "compare_groups", {"value": "pay", "group": "sex"}),
        ("people", "how does schooling depend on pay?", "linear_regression", {"outcome": "schooling", "predictors": ["pay"]}),
        ("people", "plot schooling against agree", "scatter_plot", {"y": "schooling", "x": "agree"}),
        ("people", "does pay go up with schooling?", "linear_regression", {"outcome": "pay", "predictors": ["schooling"]}),
        ("absent", "do the grey ones miss more days than the tan?", "compare_groups", {"value": "absent", "group": "race"}),
    ],
)  # fmt: skip
def test_a_column_is_meant_by_its_own_name(planner, files, file, question, tool, params):
    made, _ = steps(planner, question, files[file])
    assert [*made] == [tool]
    assert params.items() <= made[tool].items()


def test_a_rank_of_words_names_no_block(planner, files):
    made, _ = steps(planner, "PCA of pH, N_pct, K and P, reduce them to two or three axes", files["blocks"])
    assert "filter_rows" not in made


def test_whether_a_relation_differs_is_an_interaction(planner, files):
    made, _ = steps(planner, "does the relation of pay and agree differ by sex?", files["people"])
    assert made["linear_regression"] | {"outcome": "pay", "predictors": ["agree", "sex"], "interaction": True} == made["linear_regression"]  # fmt: skip


def test_a_range_subtracts_nothing(planner, files):
    made, _ = steps(planner, "is the mean of N1-N5 higher in gender 2 than gender 1", files["items"])
    assert "`N3`" in made["derive_column"]["expression"]
    made, _ = steps(planner, "average the five items (N1-N5). are they higher in gender 2 than 1?", files["items"])
    assert not any("- `N5`" in str(params) for params in made.values())


# ==== subjects ====


@pytest.mark.parametrize("question", ["Is arm related to sex?", "does bmi differ by arm", "mean bmi per arm"])
def test_each_patient_counts_once_where_all_that_is_named_stays_the_same(planner, files, question):
    made, _ = steps(planner, question, files["visits"])
    assert "is_first" in made["derive_column"]["expression"]
    assert "first of each patient" in made["filter_rows"]["condition"]


def test_what_changes_between_visits_keeps_all_rows(planner, files):
    made, _ = steps(planner, "does pain differ by arm", files["visits"])
    assert (made["mixed_model"]["outcome"], made["mixed_model"]["subject"]) == ("pain", "patient")


def test_ages_that_nobody_shares_are_no_occasions(planner, files):
    made, _ = steps(planner, "Does height change over age?", files["boys"])
    assert made["mixed_model"]["fixed"] == ["age"]


def test_boys_are_no_culture(planner, files):
    try:
        made, plan = steps(planner, "how fast does height grow with age", files["boys"])
    except PlanError:
        return
    assert "growth_rate" not in made or [q for q in plan.open_questions if q.required]


def test_what_is_to_be_explained_is_not_exchanged(planner, files):
    made, _ = steps(planner, "predict age from height", files["boys"])
    assert (made["predict_value"]["outcome"], made["predict_value"]["predictors"]) == ("age", ["height"])


# ==== rows of one value ====


@pytest.mark.parametrize(
    "question",
    ["At age 8 only, was there a difference in exercise between the two groups?", "does exercise differ by group at age 8?",
     "at 8 years, does exercise differ between patient and control"],
)  # fmt: skip
def test_one_value_of_a_number_of_many_keeps_its_rows(planner, files, question):
    made, _ = steps(planner, question, files["girls"])
    assert made["filter_rows"]["condition"] == "`age` in [8]"
    assert made["compare_groups"]["value"] == "exercise"


def test_a_value_at_which_something_is_expected_keeps_none(planner, files):
    made, _ = steps(planner, "what exercise is expected at age 9 by group", files["girls"])
    assert "filter_rows" not in made
    assert made["linear_regression"]["at"] == ["age=9"]


# ==== follow-up ====


def test_an_age_that_is_held_constant_is_no_follow_up(planner, files):
    made, _ = steps(planner, "does the adria arm live longer? adjust for age", files["trial"])
    assert made["cox_regression"]["time"] == "Days"
    assert made["cox_regression"]["adjusted"] == ["Age (yr)"]


def test_rows_of_one_patient_are_not_tested_as_independent(planner, files):
    made, _ = steps(planner, "is the hazard of dying higher with cyclo + adria than with cyclo?", files["again"])
    assert made["cox_regression"]["subject"] == "id"
    assert "log_rank" not in made


# ==== what is not named ====


@pytest.mark.parametrize(
    ("file", "question", "part"),
    [
        ("scores", "In year 2 only, how much is the difference between the teams?", ("compare_groups", "value", "cog")),
        ("walks", "moths per 100 m, by habitat", ("derive_column", "expression", "`moths` / (`metres` / 100)")),
        ("walks", "does the number of moths differ by habitat? the walks weren't all the same length", ("count_regression", "exposure", "metres")),
    ],
)  # fmt: skip
def test_what_nobody_names_is_the_only_one_there_is(planner, files, file, question, part):
    made, _ = steps(planner, question, files[file])
    tool, name, value = part
    assert made[tool][name] == value


# ==== what could be asked next ====


def test_suggestions_begin_with_what_was_given(planner, files):
    assert planner.suggest(profile_files([files["trial"]]))[0] == "Does survival differ by Arm?"


def test_nothing_that_was_done_is_suggested(planner, files):
    trial = profile_files([files["trial"]])
    before = planner.plan("Does survival differ by Arm, only where Residual is yes?", trial).plan
    assert "And only where Residual is yes?" not in planner.suggest(trial, before, asked=[before.question])


def test_what_never_changes_is_not_suggested_over_time(planner, files):
    assert not [q for q in planner.suggest(profile_files([files["visits"]])) if "bmi" in q and "month" in q]


# ==== a list of combinations with how often each came ====


@pytest.fixture(scope="module")
def miners(tmp_path_factory):
    path = tmp_path_factory.mktemp("listed") / "miners.csv"
    rows = [(age, wheeze, breath, int(DRAW.integers(1, 60))) for age in ("20-29", "30-39", "40-49") for wheeze in ("W", "none") for breath in ("short", "normal")]  # fmt: skip
    pd.DataFrame(rows, columns=["Age", "Wheeze", "Breath", "Freq"]).to_csv(path, index=False)
    return path


def test_a_step_that_takes_counts_takes_those_of_the_list(planner, miners):
    made, _ = steps(planner, "Is Breath linked to Wheeze?", miners)
    assert made["contingency"]["count"] == "Freq"
    assert "one_row_each" not in made


def test_every_other_step_gets_a_row_for_each_that_was_counted(planner, miners):
    made, _ = steps(planner, "does the share of short breath rise from the youngest to the oldest Age?", miners)
    assert (made["one_row_each"]["part"], made["one_row_each"]["total"]) == ("Freq", "Freq")
    assert made["trend_test"]["value"] == "Breath"


@pytest.mark.parametrize(
    ("levels", "event"), [(("B", "NoB"), "B"), (("well", "not well"), "well"), (("tan", "grey"), "")]
)
def test_what_a_trend_is_of_is_told_by_the_names_or_asked(planner, tmp_path, levels, event):
    path = tmp_path / "trend.csv"
    ages = np.repeat(["20-29", "30-39", "40-49"], 30)
    pd.DataFrame({"Age": ages, "Breath": DRAW.choice(levels, N)}).to_csv(path, index=False)
    made, plan = steps(planner, "does Breath become more common from the youngest to the oldest Age?", path)
    asked = [q for q in plan.open_questions if q.param == "event_value" and q.blocking]
    assert made["trend_test"].get("event_value", "") == event
    assert bool(asked) == (not event)


def test_a_count_that_is_asked_about_stays_a_number(planner, miners):
    made, _ = steps(planner, "is Freq higher with Wheeze none than W", miners)
    assert "one_row_each" not in made


def test_nobody_asks_who_grew_older(planner, tmp_path):
    path = tmp_path / "arms.csv"
    pd.DataFrame({"arm": ["new", "old"] * 30, "age": DRAW.integers(20, 70, 60), "outcome": DRAW.choice(["none", "some", "marked"], 60)}).to_csv(path, index=False)  # fmt: skip
    made, _ = steps(planner, "Did patients do better on new than on old?", path)
    assert not any(params.get("value") == "age" for params in made.values())


def test_to_tell_species_apart_is_one_question(planner, tmp_path):
    path = tmp_path / "scats.csv"
    frame = pd.DataFrame({"Species": DRAW.choice(["bobcat", "coyote", "fox"], N), "Diameter": DRAW.normal(20, 3, N).round(1), "Mass": DRAW.normal(9, 2, N).round(1)})  # fmt: skip
    frame.to_csv(path, index=False)
    made, _ = steps(planner, "Could I tell bobcat, coyote and fox apart from Diameter and Mass, and how often would I be wrong?", path)  # fmt: skip
    assert made["classify"]["outcome"] == "Species"
