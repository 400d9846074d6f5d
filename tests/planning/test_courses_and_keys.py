"""Courses in columns, what goes up after something, rows told by letters and lists, files that a person says belong together. The data are invented."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.errors import PlanError
from engine.planning.making.joined import one_lists_the_other
from engine.planning.reading.read import read
from engine.planning.tables.sheets import Data

DRAW = np.random.default_rng(23)
N = 48


@pytest.fixture(scope="module")
def planner():
    return the_planner()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("courses")
    level = DRAW.normal(0, 15, N)
    clamp = pd.DataFrame({
        "rat": [f"R{k:02d}" for k in range(N)], "line": DRAW.choice(["ZDF", "lean"], N), "chow": DRAW.choice(["fat", "plain"], N),
        "BW_OGTT": DRAW.normal(310, 20, N).round(), **{f"g{t}": (100 + 90 * (t > 0) - 0.4 * t + level + DRAW.normal(0, 8, N)).round()
                                                      for t in (0, 15, 30, 60, 120)},
    })  # fmt: skip
    lungs = pd.DataFrame({
        "pat": range(1, N + 1), "diag": DRAW.choice(["COPD", "healthy"], N), "grade": DRAW.choice(["A", "B", "F"], N),
        "VC_pre": DRAW.normal(3.1, 0.4, N).round(2), "PEF_pre": DRAW.normal(6.2, 0.7, N).round(2),
    })  # fmt: skip
    lungs["VC_post"] = (lungs["VC_pre"] + 0.2 + DRAW.normal(0, 0.05, N)).round(2)
    lungs["PEF_post"] = (lungs["PEF_pre"] + 0.4 + DRAW.normal(0, 0.1, N)).round(2)
    births = pd.DataFrame({
        "id": range(1, N + 1), "BMI_book": DRAW.normal(25, 4, N).round(1), "gdm": DRAW.integers(0, 2, N), "gest_wk": DRAW.normal(39, 2, N).round(1),
        "sex": DRAW.choice(["boy", "girl"], N), "bw_g": DRAW.normal(3300, 400, N).round(),
    })  # fmt: skip
    visits = pd.DataFrame({"kid": np.repeat(range(100, 130), 3), "visit": [1, 2, 3] * 30, "score": DRAW.integers(5, 28, 90),
                           "dose": DRAW.choice(["low", "high"], 90)})  # fmt: skip
    breath = pd.DataFrame({"kid": range(115, 145), "NO_ppb": DRAW.gamma(4, 6, 30).round(1)})
    found = {}
    for name, frame in {
        "rats_OGTT": clamp,
        "lungs": lungs,
        "births": births,
        "visits": visits,
        "breath": breath,
    }.items():
        path = folder / f"{name}.csv"
        frame.to_csv(path, index=False)
        found[name] = path
    return found


def asked(planner, question, *paths):
    return planner.plan(question, profile_files(list(paths))).plan


def step(plan, tool):
    return next(node.params for node in plan.nodes if node.tool == tool)


def rows(plan) -> str:
    return next((str(node.params["condition"]) for node in plan.nodes if node.tool == "filter_rows"), "")


# ==== courses in columns ====


def test_letters_with_minutes_are_one_course(files) -> None:
    (profile,) = profile_files([files["rats_OGTT"]])
    assert [(wide.columns, wide.ordered) for wide in profile.structure.wide] == [
        (["g0", "g15", "g30", "g60", "g120"], True)
    ]


@pytest.mark.parametrize(
    ("question", "conditions"),
    [
        ("is the AUC lower in lean than in ZDF", []),
        ("OGTT: is the AUC lower in lean than in ZDF", []),  # the file is called so, and not BW_OGTT
        ("is the AUC lower in lean than in ZDF on fat? and on plain?", ["`chow` in ['fat']", "`chow` in ['plain']"]),
    ],
)
def test_the_area_under_the_only_course_is_compared(planner, files, question, conditions) -> None:
    plan = asked(planner, question, files["rats_OGTT"])
    made = step(plan, "derive_column")
    assert made["expression"].startswith("15 * (`g0` + `g15`) / 2 + 15 * (`g15` + `g30`) / 2 + 30 *")
    compared = [node.params for node in plan.nodes if node.tool == "compare_groups"]
    assert {p["value"] for p in compared} == {made["name"]}
    assert len(compared) == max(1, len(conditions))
    assert [str(n.params["condition"]) for n in plan.nodes if n.tool == "filter_rows"] == conditions


@pytest.mark.parametrize(
    ("question", "pair", "kept"),
    [
        ("How much does VC go up after salbutamol?", {"VC_pre", "VC_post"}, ""),
        ("how much does PEF rise after the spray in those with COPD", {"PEF_pre", "PEF_post"}, "`diag` in ['COPD']"),
        ("How much did VC increase after salbutamol, in l and in %? Leave out the F ones.", {"VC_pre", "VC_post"}, "`grade` not in ['F']"),
    ],
)  # fmt: skip
def test_what_goes_up_after_something_is_compared_with_before(planner, files, question, pair, kept) -> None:
    plan = asked(planner, question, files["lungs"])
    params = next(n.params for n in plan.nodes if n.tool in ("compare_columns_paired", "repeated_measures"))
    assert {*params.get("columns", ())} | {params.get("first"), params.get("second")} - {None} == pair
    assert rows(plan) == kept


# ==== names and rows ====


def test_a_column_that_begins_with_the_name_of_a_method_is_found(planner, files) -> None:
    assert step(asked(planner, "compare BMI by gdm", files["births"]), "compare_groups")["value"] == "BMI_book"
    table = step(asked(planner, "Table 1: BMI, gest_wk and bw_g by gdm", files["births"]), "table_one")
    assert table["columns"] == ["BMI_book", "gest_wk", "bw_g"]


def test_a_level_among_listed_columns_is_its_column_and_keeps_no_rows(planner, files) -> None:
    plan = asked(planner, "Table of characteristics by gdm: BMI, boys, gest_wk, bw_g", files["births"])
    assert {*step(plan, "table_one")["columns"]} == {"BMI_book", "sex", "gest_wk", "bw_g"}
    assert rows(plan) == ""
    assert rows(asked(planner, "mean bw_g in boys", files["births"])) == "`sex` in ['boy']"


def test_a_letter_whose_rows_go_is_found_and_of_two_columns_refused(planner, files, tmp_path) -> None:
    assert (
        rows(asked(planner, "does VC_pre differ by diag? leave out the F ones", files["lungs"]))
        == "`grade` not in ['F']"
    )
    both = pd.read_csv(files["lungs"]).assign(sex=["F", "M"] * (N // 2))
    both.to_csv(tmp_path / "both.csv", index=False)
    with pytest.raises(PlanError, match="leaves out part of the data"):
        asked(planner, "does VC_pre differ by diag? leave out the F ones", tmp_path / "both.csv")


def test_what_is_faint_and_of_other_data_is_not_what_a_refusal_speaks_of(planner, tmp_path) -> None:
    trees = pd.DataFrame(
        {
            "plot": [f"q{k % 6}" for k in range(N)],
            "edge": ["rim", "core"] * (N // 2),
            "H_23": DRAW.normal(9, 2, N).round(1),
        }
    )
    trees.to_csv(tmp_path / "trees.csv", index=False)
    with pytest.raises(PlanError) as told:
        asked(
            planner,
            "The tree of the border, is it more growing than this of the centre? Attention, trees are inside of parcels",
            tmp_path / "trees.csv",
        )
    assert "build tree" not in str(told.value)


# ==== two files ====


def test_files_that_share_some_names_are_joined_where_a_person_says_so(planner, files) -> None:
    data = Data.of(profile_files([files["visits"], files["breath"]]))
    assert one_lists_the_other(data) is None  # 15 of 30
    assert one_lists_the_other(data, "is score related to NO_ppb? kid is the same in both files") is not None
    question = "correlation of score at visit 1 with NO_ppb. kid is the same in both files"
    plan = asked(planner, question, files["visits"], files["breath"])
    assert step(plan, "join_tables") == {"how": "inner", "left_on": "kid", "right_on": "kid"}
    assert {"score", "NO_ppb"} <= {*map(str, step(plan, "correlation").values())}
    assert rows(plan) == "`visit` in [1]"


def test_rows_told_by_a_column_of_the_other_file_are_refused_before_a_run(planner, files) -> None:
    with pytest.raises(PlanError, match="keeps rows by NO_ppb, which"):
        asked(planner, "is NO_ppb above 20, only visit 1", files["visits"], files["breath"])


@pytest.mark.parametrize("question", ["mean and SD of NO_ppb, only visit 1", "histogram of NO_ppb at visit 1"])
def test_a_column_of_the_other_file_is_not_left_out_in_silence(planner, files, question) -> None:
    with pytest.raises(PlanError, match="NO_ppb of"):
        asked(planner, question, files["visits"], files["breath"])


# ==== ends that a legend tells ====


def test_codes_of_which_one_is_the_end_of_the_study_are_ends(tmp_path) -> None:
    draw = np.random.default_rng(3)
    book = {
        "ends": pd.DataFrame({"mouse": [f"M{k}" for k in range(40)], "arm": ["veh", "drug"] * 20, "last_day": draw.choice([17, 21, 24, 28, 31, 35, 42], 40),
                              "reason": draw.choice([0, 1, 2], 40)}),
        "codes": pd.DataFrame({"col": ["reason"], "meaning": ["1 = tumour reached 1500 mm3, 2 = taken out for ulcer, 0 = end of study day 42"]}),
    }  # fmt: skip
    path = tmp_path / "xeno.xlsx"
    with pd.ExcelWriter(path) as writer:
        for name, frame in book.items():
            frame.to_excel(writer, sheet_name=name, index=False)
    (profile, *_) = profile_files([path])
    assert (profile.structure.survival.get("time"), profile.structure.survival.get("event")) == ("last_day", "reason")


def test_that_names_are_the_same_in_both_asks_nothing(files) -> None:
    data = Data.of(profile_files([files["visits"], files["breath"]]))
    reading = read("is score related to NO_ppb? kid is the same in both files", data)
    assert {m.column for m in reading.mentions} >= {"score", "NO_ppb"}
