"""What stops a plan and what does not: another way to the same answer, words beside a name, everyday short questions. The data are invented."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.domain.plan import texts_of
from engine.errors import PlanError
from engine.planning.binding.rows import condition
from engine.planning.choosing.coverage import unexplained
from engine.planning.naming.levels import level_mentions
from engine.planning.naming.numbers import top_n
from engine.planning.reading.read import read
from engine.planning.tables.sheets import Data
from engine.text.tokens import tokens

DRAW = np.random.default_rng(11)
N = 96


@pytest.fixture(scope="module")
def planner():
    return the_planner()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    hens = pd.DataFrame({
        "ring": [f"H{k:03d}" for k in range(N)], "breed": DRAW.choice(["Marans hen (old)", "Leghorn hen (old)", "Sussex hen (new)"], N),
        "house": DRAW.choice(["north", "south"], N), "egg_g": DRAW.normal(58, 5, N).round(1), "age_wk": DRAW.integers(20, 70, N),
    })  # fmt: skip
    gels = pd.DataFrame({
        "rat": [f"R{k}" for k in range(N)], "form": DRAW.choice(["gel", "cream"], N), "dose_mg": DRAW.choice([0.5, 1.0, 2.0], N),
        "healed_mm": DRAW.normal(9, 2, N).round(2),
    })  # fmt: skip
    ward = pd.DataFrame({
        "patient": range(1, N + 1), "statin": DRAW.integers(0, 2, N), "AKI": DRAW.integers(0, 2, N), "SOFA": DRAW.integers(2, 18, N),
        "lactate": DRAW.gamma(2, 1.2, N).round(1), "platelets": DRAW.integers(20, 400, N), "side": DRAW.choice(["left", "right"], N),
    })  # fmt: skip
    weeks = pd.DataFrame({
        "plot": np.repeat([f"q{k}" for k in range(24)], 4), "cultivar": np.repeat(DRAW.choice(["Ada", "Bea", "Cleo"], 24), 4),
        "dai": [3, 6, 9, 12] * 24, "spot_mm": DRAW.gamma(3, 2, N).round(1),
    })  # fmt: skip
    paired = pd.DataFrame({
        "donor": np.repeat([f"D{k:02d}" for k in range(24)], 2), "stim": ["LPS", "none"] * 24, "IL8": DRAW.gamma(2, 40, 48).round(1),
    })  # fmt: skip
    tissue = pd.DataFrame(
        {"lib": [f"L{k}" for k in range(24)], "site": ["T", "N"] * 12, "reads": DRAW.integers(10_000, 90_000, 24)}
    )
    found = {}
    for name, frame in {
        "hens": hens,
        "gels": gels,
        "ward": ward,
        "weeks": weeks,
        "paired": paired,
        "tissue": tissue,
    }.items():
        path = folder / f"{name}.csv"
        frame.to_csv(path, index=False)
        found[name] = profile_files([path])
    return found


def step(plan, tool):
    return next(node.params for node in plan.nodes if node.tool == tool)


def rows(plan) -> str:
    return next((str(node.params["condition"]) for node in plan.nodes if node.tool == "filter_rows"), "")


def blocking(plan) -> list[str]:
    return [question.text for question in plan.open_questions if question.blocking]


def test_several_ways_to_the_same_answer_are_no_question(planner, files) -> None:
    plan = planner.plan("does IL8 go up with LPS vs none? same donors in both", files["paired"]).plan
    assert not blocking(plan)
    assert {"IL8", "stim", "donor"} <= {
        text for node in plan.nodes for value in node.params.values() for text in texts_of(value)
    }


@pytest.mark.parametrize(
    ("file", "question"),
    [
        ("hens", "are the hens of the north house heavier layers in egg_g than the hens of the south house"),
        ("hens", "mean egg_g of the north birds only"),
        ("hens", "does age_wk affect egg_g"),
        ("hens", "which breed has the biger egg_g"),
    ],
)
def test_words_beside_a_name_do_not_stop_a_plan(planner, files, file, question) -> None:
    plan = planner.plan(question, files[file]).plan
    assert not [text for text in blocking(plan) if "leaves aside" in text]


@pytest.mark.parametrize("question", ["more mites in the north house", "is egg_g higher on the certified farms"])
def test_what_is_missed_still_stops_it(planner, files, question) -> None:
    stopped: list[object] = []
    with contextlib.suppress(PlanError):
        stopped = [q for q in planner.plan(question, files["hens"]).plan.open_questions if q.required]
        assert stopped


@pytest.mark.parametrize(
    ("file", "question", "tool", "wanted"),
    [
        ("hens", "mean egg_g in the Marans", "summarize_table", {"columns": ["egg_g"]}),
        ("hens", "egg_g by breed", "compare_groups", {"value": "egg_g", "group": "breed"}),
        ("hens", "which house has the most hens", "summarize_table", {"columns": ["house"]}),
        ("gels", "is gel better at 0.5", "compare_groups", {"value": "healed_mm", "group": "form"}),
        ("ward", "how many had AKI", "proportion_test", {"event": "AKI"}),
        ("ward", "do patients with statin have AKI more often", "proportion_test", {"event": "AKI", "group": "statin"}),
        (
            "weeks",
            "mean spot_mm per cultivar at 9 dai",
            "summarize_table",
            {"columns": ["spot_mm"], "group_by": "cultivar"},
        ),
        ("weeks", "mean spot_mm per cultivar and dai", "pivot_table", {"rows": "cultivar", "columns": "dai"}),
    ],
)
def test_plain_questions_are_planned_without_asking(planner, files, file, question, tool, wanted) -> None:
    plan = planner.plan(question, files[file]).plan
    assert not blocking(plan)
    params = step(plan, tool)
    assert {name: params[name] for name in wanted} == wanted


def test_numbers_of_rows_are_counted_by_group(planner, files) -> None:
    params = step(planner.plan("how many hens of each breed", files["hens"]).plan, "summarize_table")
    assert params["count"] is True
    assert "breed" in (params.get("group_by"), *params["columns"])


@pytest.mark.parametrize(
    ("file", "question", "kept"),
    [
        ("gels", "is gel better at 0.5", "`dose_mg` in [0.5]"),
        ("weeks", "which cultivar has the smallest spots in spot_mm at 9 dai", "`dai` in [9]"),
        ("ward", "which patients have lactate > 4 or platelets below 50", "(`lactate` > 4 or `platelets` < 50)"),
        ("ward", "which patients have lactate > 4 and platelets below 50", "`lactate` > 4 and `platelets` < 50"),
        ("ward", "leave out patients with lactate > 4 or platelets below 50. SOFA by side", "`lactate` <= 4 and `platelets` >= 50"),
        ("weeks", "at dai 9: does spot_mm differ between the cultivars", "`dai` in [9]"),
        ("gels", "At 2.0 mg the wounds were too wet. Drop that dose, does healed_mm differ by form?", "`dose_mg` not in [2]"),
    ],
)  # fmt: skip
def test_rows_that_are_meant_are_those_of_the_plan(planner, files, file, question, kept) -> None:
    assert rows(planner.plan(question, files[file]).plan).replace(".0]", "]") == kept


def test_who_has_more_often_what(planner, files) -> None:
    question = "Have patients with statin together more often an AKI? odds ratio please, adjusted for SOFA"
    params = step(planner.plan(question, files["ward"]).plan, "logistic_regression")
    assert (params["outcome"], params["predictors"]) == ("AKI", ["statin", "SOFA"])


def test_a_word_of_every_level_names_none(files) -> None:
    column = next(c for c in files["hens"][0].column_profiles if c.name == "breed")
    text = "how many hens of the Marans"
    named = level_mentions(tokens(text), [column], text)
    assert {mention.level for mention in named} == {"Marans hen (old)"}


def test_words_of_which_one_stands_between_are_set_against_each_other(files) -> None:
    data = Data.of(files["tissue"])
    reading = read("are reads different tumour vs normal", data)
    assert [contrast.levels for contrast in reading.contrasts] == [("T", "N")]


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("who are the oldest 5", 5),
        ("the heaviest three?", 3),
        ("the longest 2 hours of sleep", None),
        ("the oldest house", None),
    ],
)
def test_how_many_are_wanted(question, number) -> None:
    found = top_n(question)
    assert (found.value if found else None) == number


def test_a_condition_with_or_stands_in_brackets(files) -> None:
    data = Data.of(files["ward"])
    reading = read("patients with lactate above 4 or platelets below 50 or SOFA over 15", data)
    assert condition(reading.restrictions, data) == "(`lactate` > 4 or `platelets` < 50 or `SOFA` > 15)"


def test_what_is_counted_for_one_of_them_is_not_passed_over(files) -> None:
    data = Data.of(files["hens"])
    reading = read("more than 5 eggs per chick", data)
    assert "chick" in {reading.words[at].text for at in unexplained(reading, [], [], [])}


def test_what_a_column_counts_is_named_by_the_question(planner, tmp_path) -> None:
    traps = pd.DataFrame(
        {"crop": np.repeat(["rye", "oat", "pea"], 12), "count": DRAW.poisson(np.repeat([9, 4, 14], 12))}
    )
    traps.to_csv(tmp_path / "traps.csv", index=False)
    data = profile_files([tmp_path / "traps.csv"])
    params = step(planner.plan("which crop has the most beetles", data).plan, "compare_groups")
    assert (params["value"], params["group"]) == ("count", "crop")
    assert not any(m.column == "count" for m in read("how many rows have rye", Data.of(data)).mentions)


def test_letters_behind_words_of_place_are_set_against_each_other(tmp_path) -> None:
    pd.DataFrame({"mix": list("ABCD") * 6, "mm": DRAW.normal(5, 1, 24)}).to_csv(tmp_path / "mix.csv", index=False)
    reading = read("is mm smaller with B than with D", Data.of(profile_files([tmp_path / "mix.csv"])))
    assert [contrast.levels for contrast in reading.contrasts] == [("B", "D")]


def test_the_mark_of_an_item_is_no_level(tmp_path) -> None:
    stages = pd.DataFrame({"stage": ["I", "II", "III"] * 8, "crp": DRAW.gamma(2, 4, 24).round(1)})
    stages.to_csv(tmp_path / "stages.csv", index=False)
    data = Data.of(profile_files([tmp_path / "stages.csv"]))
    assert not any(m.level for m in read("(i) plot crp by stage (ii) test it", data).mentions)
    assert {m.level for m in read("crp in stage (II)", data).mentions} >= {"II"}


def test_an_optional_part_of_one_column_is_not_filled_by_all_of_a_number(planner, tmp_path) -> None:
    trials = pd.DataFrame({
        "Trial": [f"T{k}" for k in range(9)], "cases (iron)": DRAW.integers(3, 30, 9), "N iron": DRAW.integers(90, 200, 9),
        "cases (none)": DRAW.integers(20, 60, 9), "N none": DRAW.integers(90, 200, 9), "Latitude": DRAW.uniform(5, 60, 9).round(0),
    })  # fmt: skip
    trials.to_csv(tmp_path / "trials.csv", index=False)
    question = "pool all nine trials together: risk ratio of iron, random effects"
    params = step(planner.plan(question, profile_files([tmp_path / "trials.csv"])).plan, "meta_analysis")
    assert not params.get("moderator")


def test_numbers_of_persons_are_counted_and_not_averaged(planner, tmp_path) -> None:
    visits = pd.DataFrame(
        {"patient_id": [*range(1001, 1041), *range(1001, 1008)], "crp": DRAW.gamma(2, 4, 47).round(1)}
    )
    visits.to_csv(tmp_path / "visits.csv", index=False)
    plan = planner.plan("how many different patient_id are there", profile_files([tmp_path / "visits.csv"])).plan
    params = step(plan, "summarize_table")
    assert (params["columns"], params["categorical"], params["count"]) == (["patient_id"], ["patient_id"], True)
