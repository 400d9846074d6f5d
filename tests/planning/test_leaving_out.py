"""Rows that a question leaves out by what a remark says, by a number or in any other words: never passed over in silence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.errors import PlanError
from engine.planning.naming.phrases import phrases
from engine.planning.planner import Planner
from engine.planning.reading.leaving_out import not_understood
from engine.planning.reading.read import read
from engine.planning.tables.as_tools import evaluate_expression
from engine.planning.tables.sheets import Data
from engine.planning.telling.kept import kept_rows
from engine.toolbox.registry import builtin_tools
from engine.toolbox.tables.handling import condition_in_words

ASKED = "does leaf area differ between the fungicides?"


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng, folder = np.random.default_rng(3), tmp_path_factory.mktemp("leaving")
    n = 60
    trees = pd.DataFrame(
        {
            "tree": [f"T{i:02d}" for i in range(n)],
            "plot": rng.choice(list("ABC"), n),
            "fungicide": rng.choice(["none given", "copper", "sulphur"], n),
            "leaf_area_cm2": rng.normal(40, 8, n).round(1),
            "age": rng.integers(3, 30, n).astype(float),
            "remark": "",
        }
    )
    trees.loc[4, "remark"] = "storm damage, broken crown"
    trees.loc[[9, 30], "remark"] = "not inoculated"
    trees.loc[17, "remark"] = "label lost - exclude"
    trees.loc[21, "remark"] = "graft + (virus+)"
    trees.loc[[2, 8], "age"] = np.nan
    trees.to_csv(folder / "trees.csv", index=False)
    rows = []
    for i in range(24):
        end = {3: "died d20", 8: "escaped", 15: "died d31"}.get(i, "")
        days = [0, 10, 20] if end == "died d20" else [0, 10, 20, 30]
        rows += [
            (f"L{100 + i}", "hay" if i % 2 else "silage", "FM"[i % 3 == 0], day, round(4 + 0.05 * day + rng.normal(0, 0.2), 2),
             end if day == days[-1] else "")
            for day in days
        ]  # fmt: skip
    names = ["lamb", "diet", "sex", "day", "wt_kg", "comment"]
    pd.DataFrame([dict(zip(names, row, strict=True)) for row in rows]).to_csv(folder / "lambs.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def trees(folder):
    return profile_files([folder / "trees.csv"])


@pytest.fixture(scope="module")
def lambs(folder):
    return profile_files([folder / "lambs.csv"])


def kept(plan) -> str:
    """Return the condition of the rows that a plan keeps, "" for all."""
    return next((str(node.params["condition"]) for node in plan.nodes if node.tool == "filter_rows"), "")


def without(*remarks: str) -> str:
    return f"(`remark` not in {list(remarks)} or is_missing(`remark`))"


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        ("leave out the tree with the broken crown", without("storm damage, broken crown")),
        ("not the uninoculated ones", without("not inoculated")),
        ("uninoculated not counted", without("not inoculated")),
        ("skip those two that were not inoculated", without("not inoculated")),
        ("The ones that got a virus+ should be out", without("graft + (virus+)")),
        ("(no virus+)", without("graft + (virus+)")),
        ("bad tree out", without("label lost - exclude")),
        ("leave out the trees marked to be excluded", without("label lost - exclude")),
        ("forget the trees with storm damage or a virus", without("storm damage, broken crown", "graft + (virus+)")),
        ("only the ones with storm damage", "`remark` in ['storm damage, broken crown']"),
    ],
)
def test_rows_are_left_out_by_what_a_remark_says(planner, trees, said, condition):
    plan = planner.plan(f"{ASKED} {said}", trees).plan
    assert kept(plan) == condition
    answer = next(node for node in plan.nodes if node.priority)
    assert answer.tool == "compare_groups"
    assert any("'remark' says" in reason for reason in answer.reasons)


def test_the_reason_quotes_the_remark_and_counts_the_rows(planner, trees):
    plan = planner.plan(f"{ASKED} not the uninoculated ones", trees).plan
    assert (
        "Of 2 rows 'remark' says 'not inoculated': left out, as 'not the uninoculated ones' says."
        in plan.nodes[-1].reasons
    )


@pytest.mark.parametrize(
    "said",
    [
        "skip those three that were not inoculated",
        "leave out the one that was not inoculated",
        "leave out the stunted trees",
        "stunted out",
        "stunted ones not counted",
        "not the stunted ones",
        "forget the inoculated trees",
        "skip those with mildew",
        "ignore trees that were transplanted",
        "drop the sick trees",
        "take the stunted tree out",
        "(no virus-)",
        "exclude trees with high age",
        "no seedlings",
    ],
)
def test_what_nothing_explains_is_refused_by_name(planner, trees, said):
    with pytest.raises(PlanError) as err:
        planner.plan(f"{ASKED} {said}", trees)
    assert said.strip("()")[:12] in err.value.message
    assert "left out" in err.value.message or "leaves out" in err.value.message


@pytest.mark.parametrize(
    "question",
    [
        "leaf area by fungicide, I am not sure about normality",
        "is leaf area different, not only in copper",
        "is there no difference in leaf area between copper and sulphur?",
        "leaf area by fungicide, leave out age of the model",
        "skip the plot and just give the numbers for leaf area by fungicide",
        "does leaf area differ between fungicides without adjusting for age?",
        "not treated vs treated: leaf area",
        "leaf area by fungicide (no plot needed)",
        "leaf area by fungicide, no p-values",
        "leaf area by fungicide, not the median but the mean",
        "leaf area by fungicide; find out which differ, ignore multiple testing",
        "don't forget the confidence interval of leaf area by fungicide",
        "should trees with a broken crown be excluded? leaf area by fungicide",
        "don't throw away the stunted trees, leaf area by fungicide",
        "is it the age and not the fungicide that drives leaf area",
        "remove outliers from leaf area, then compare fungicides",
        "leaf area by fungicide, excluding trees with no value",
        "do not use a t test to compare leaf area between fungicides",
        "leaf area by fungicide, confidence intervals not included",
        "which trees stand out in leaf area?",
        "leaf area against age, don't count trees twice",
    ],
)
def test_what_only_sounds_like_leaving_out_rows_leaves_out_none(trees, question):
    reading = read(question, Data.of(trees))
    assert not_understood(reading) == ""
    assert not [row for row in reading.restrictions if row.op == "not in"]


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        ("exclude trees older than 20", "(`age` <= 20 or is_missing(`age`))"),
        ("leave out trees with age below 5", "(`age` >= 5 or is_missing(`age`))"),
        ("exclude the trees with too low an age (<5)", "(`age` >= 5 or is_missing(`age`))"),
        ("leave out trees with age between 5 and 10", "(`age` < 5 or `age` > 10 or is_missing(`age`))"),
        ("trees with age above 20 are left out", "(`age` <= 20 or is_missing(`age`))"),
        ("only trees with age above 20", "`age` > 20"),
        ("without sulphur in trees with age above 20", "`fungicide` not in ['sulphur'] and `age` > 20"),
    ],
)
def test_a_number_of_rows_that_go_is_turned_round(planner, trees, said, condition):
    assert kept(planner.plan(f"{ASKED} {said}", trees).plan) == condition


@pytest.mark.parametrize("said", ["no sulphur", "the ones that got sulphur should be out", "sulphur not counted"])
def test_groups_are_left_out_in_short(planner, trees, said):
    assert kept(planner.plan(f"{ASKED} {said}", trees).plan) == "`fungicide` not in ['sulphur']"


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        ("forget the lambs that died or escaped", "count_of(`comment` in ['died d20', 'died d31', 'escaped'], `lamb`) == 0"),
        ("ignore the ones that died", "count_of(`comment` in ['died d20', 'died d31'], `lamb`) == 0"),
        ("only the lambs that died", "count_of(`comment` in ['died d20', 'died d31'], `lamb`) > 0"),
        ("leave out rows with escaped", "(`comment` not in ['escaped'] or is_missing(`comment`))"),
    ],
)  # fmt: skip
def test_whole_subjects_go_where_subjects_are_named(planner, folder, lambs, said, condition):
    plan = planner.plan(f"does weight change differently over the days in the two diets, {said}", lambs).plan
    assert kept(plan) == condition
    table = pd.read_csv(folder / "lambs.csv")
    left = table[evaluate_expression(condition, table).fillna(False).astype(bool)]
    sizes = left.groupby("lamb").size()
    assert condition.startswith("(") or set(sizes) <= {3, 4}
    assert ("L103" in set(left["lamb"])) == (said in ("only the lambs that died", "leave out rows with escaped"))


def test_it_is_asked_whether_subjects_or_rows_go(planner, lambs):
    with pytest.raises(PlanError, match=r"2 rows in which 'comment' says so, or all rows of the 2 'lamb'"):
        planner.plan("does weight differ between the diets at day 30? leave out the died ones", lambs)


def test_whole_subjects_are_told_in_words():
    condition = "count_of(`comment` in ['died, d20', 'sold'], `lamb`) == 0"
    assert kept_rows(condition) == "no row of the lamb has comment is died, d20 or sold"
    assert condition_in_words(condition) == "no row of the lamb has comment is died, d20 or sold"


def test_pairs_are_counted_among_rows_without_a_remark(planner, tmp_path):
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {"plant": [f"p{i}" for i in range(20)], "score_day3": rng.normal(3, 1, 20), "score_day5": rng.normal(4, 1, 20)}
    )
    table["note"] = ["knocked over"] + [""] * 19
    table.to_csv(tmp_path / "plants.csv", index=False)
    question = "paired: did the score change between score_day3 and score_day5? leave the knocked over one"
    plan = planner.plan(question, profile_files([tmp_path / "plants.csv"])).plan
    assert kept(plan) == "(`note` not in ['knocked over'] or is_missing(`note`))"
    assert plan.nodes[-1].tool == "compare_columns_paired"


def test_a_word_of_a_remark_is_no_change(planner, tmp_path):
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"pig": range(1, 41), "feed": ["wheat", "rye"] * 20})
    for week in (0, 6, 12):
        table[f"weight_wk{week}"] = rng.normal(20 + week, 2, 40).round(1)
    table["note"] = ["drop out"] * 4 + [""] * 36
    table.to_csv(tmp_path / "pigs.csv", index=False)
    question = "does weight_wk12 differ between the feeds? exclude the drop outs"
    plan = planner.plan(question, profile_files([tmp_path / "pigs.csv"])).plan
    assert kept(plan) == "(`note` not in ['drop out'] or is_missing(`note`))"
    assert plan.nodes[-1].params["value"] == "weight_wk12"


def test_phrases_of_a_sentence_are_found_apart():
    question = "leave out the sick cows, compare yields; bad day out (no calves)"
    assert [question[p.first : p.last] for p in phrases(question)] == [
        "the sick cows, compare yields",
        "bad day",
        "calves",
    ]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries")
    rng, names = np.random.default_rng(4), [f"S{n:02d}" for n in range(1, 21)]
    sheet = pd.DataFrame({"sample": names, "tissue": ["liver"] * 10 + ["kidney"] * 10, "treatment": ["veh", "drug"] * 10,
                          "sex": ["F", "F", "M", "M"] * 5})  # fmt: skip
    counts = pd.DataFrame(rng.negative_binomial(5, 0.02, (60, 20)), columns=names)
    counts.insert(0, "gene", [f"Gene{n}" for n in range(60)])
    sheet.to_csv(folder / "sheet.csv", index=False)
    counts.to_csv(folder / "counts.csv", index=False)
    return profile_files([folder / "counts.csv", folder / "sheet.csv"])


LIVER = "`tissue` in ['liver']"


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("which genes respond to the drug in liver, adjust for sex. S07 is a bad library, drop it", {LIVER, "`sample` not in ['S07']"}),
        ("which genes change with drug in liver without S07, adjust for sex", {LIVER, "`sample` not in ['S07']"}),
        ("leave out sample s7: which genes change with drug in liver", {LIVER, "`sample` not in ['S07']"}),
        ("which genes change with drug in liver, S12 is odd, drop it", {LIVER, "`sample` not in ['S12']"}),
        ("which genes differ between liver and kidney? S12 and S13 are bad. Drop them.", {"`sample` not in ['S12', 'S13']"}),
    ],
)  # fmt: skip
def test_samples_that_are_named_are_left_out_and_no_others(libraries, question, kept):
    """`drop it` was taken for the tissue two clauses before, and the other tissue was analysed."""
    plan = Planner(builtin_tools()).plan(question, libraries).plan
    node = next(node for node in plan.nodes if node.tool == "filter_rows")
    assert {*node.params["condition"].split(" and ")} == kept


@pytest.mark.parametrize(
    "question",
    [
        "which genes change with drug in liver w/o S77",
        "which genes change with drug in kidney, that one is odd, drop it",
    ],
)
def test_what_is_no_sample_is_refused_by_name(libraries, question):
    with pytest.raises(PlanError, match="leaves out part of the data"):
        Planner(builtin_tools()).plan(question, libraries)


def test_rows_of_a_plate_are_its_wells(tmp_path):
    wells = [f"{row}{column:02d}" for row in "ABCDEFGH" for column in range(1, 13)]
    rng = np.random.default_rng(5)
    plate = pd.DataFrame({"well": wells, "line": ["HCT116", "HT29"] * 48, "conc_uM": np.repeat([0.1, 0.3, 1, 3, 10, 30, 100, 300], 12),
                          "RLU": rng.normal(1000, 100, 96).round()})  # fmt: skip
    plate.to_csv(tmp_path / "plate.csv", index=False)
    profiles = profile_files([tmp_path / "plate.csv"])
    plan = (
        Planner(builtin_tools())
        .plan("does RLU differ between the lines? leave out rows A and H of the plate", profiles)
        .plan
    )
    condition = next(node.params["condition"] for node in plan.nodes if node.tool == "filter_rows")
    assert condition == f"`well` not in {[well for well in wells if well[0] in 'AH']!r}"
    with pytest.raises(PlanError, match="leave out row K"):
        Planner(builtin_tools()).plan("does RLU differ between the lines? leave out row K", profiles)


@pytest.mark.parametrize(
    "question",
    [
        "leave plot B out, it was flooded; does leaf area differ between copper and sulphur?",
        "does leaf area differ between copper and sulphur? please take plot B out",
    ],
)
def test_what_stands_between_leave_and_out_is_left_out(planner, folder, question):
    plan = planner.plan(question, profile_files([folder / "trees.csv"])).plan
    kept = [str(node.params["condition"]) for node in plan.nodes if node.tool == "filter_rows"]
    assert kept
    assert all("`plot` not in ['B']" in condition for condition in kept)
