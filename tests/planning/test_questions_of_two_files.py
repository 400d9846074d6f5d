"""Two files: what is asked after joining them is planned on the joined table, and a step of one file takes that file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.data.catalogue import read_data
from engine.data.columns.asked_sheet import of_asked_sheets
from engine.data.columns.legend import explained

RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Trees with their site and treatment, and their measurements in a second file."""
    folder = tmp_path_factory.mktemp("two")
    trees = [f"T{k:02d}" for k in range(48)]
    pd.DataFrame(
        {"tree": trees, "site": RNG.choice(["north", "south"], 48), "fertiliser": RNG.choice(["none", "npk"], 48)}
    ).to_csv(folder / "trees.csv", index=False)
    pd.DataFrame(
        {"tree": trees, "height": RNG.normal(12, 2, 48).round(2), "girth": RNG.normal(60, 9, 48).round(1)}
    ).to_csv(folder / "sizes.csv", index=False)
    return profile_files([folder / "trees.csv", folder / "sizes.csv"])


@pytest.mark.parametrize(
    ("question", "value", "group"),
    [
        ("Join the two tables, then compare height between the sites", "height", "site"),
        ("Merge both files by tree and test whether girth differs between north and south", "girth", "site"),
        ("Please join the files on tree. Then compare height between the fertiliser groups.", "height", "fertiliser"),
    ],
)
def test_what_follows_a_join_is_planned_on_the_joined_table(files, question, value, group):
    plan = the_planner().plan(question, files).plan
    join, compare = plan.nodes
    assert {join.params["left_on"], join.params["right_on"]} == {"tree"}
    assert compare.inputs == {"table": f"{join.id}.joined"}
    assert (compare.params["value"], compare.params["group"]) == (value, group)
    assert not plan.not_answered
    assert [chosen.id for chosen in plan.analysis] == ["join_tables", "compare_groups"]


def test_a_join_alone_needs_no_key_in_the_words(files):
    (join,) = the_planner().plan("Join the two tables.", files).plan.nodes
    assert {join.params["left_on"], join.params["right_on"]} == {"tree"}


def test_a_step_takes_the_file_that_holds_its_columns(files):
    plan = the_planner().plan("Regress height on girth", files).plan
    assert plan.nodes[-1].inputs == {"table": "data:sizes.csv"}


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Counts of eight samples, and a sheet that writes their names with other signs between the parts."""
    folder = tmp_path_factory.mktemp("counted")
    samples = [f"S{k}.{'drug' if k % 2 else 'mock'}" for k in range(8)]
    genes = pd.Index([f"ENSG{k:011d}" for k in range(300)], name="gene")
    counts = pd.DataFrame(RNG.negative_binomial(5, 0.02, (300, 8)), index=genes, columns=samples)
    counts.to_csv(folder / "counts.csv")
    sheet = pd.DataFrame({"sample": [s.replace(".", "-") for s in samples], "treatment": [s[3:] for s in samples]})
    sheet.to_csv(folder / "sheet.csv", index=False)
    return profile_files([folder / "counts.csv", folder / "sheet.csv"]), samples


def test_samples_are_found_where_only_the_signs_between_the_parts_differ(counted):
    files, samples = counted
    plan = the_planner().plan("Which genes differ between drug and mock?", files).plan
    sheet = next(one for one in plan.datasets if one.name == "sheet.csv")
    assert read_data(sheet.path, sheet.type, **sheet.read).index.tolist() == samples
    assert any("taken for the same" in warning for warning in plan.warnings)


@pytest.mark.parametrize("words", ["give me the top ten", "show me the top 10", "list the top 10"])
def test_how_many_are_wanted_is_no_request_of_its_own(counted, words):
    plan = the_planner().plan(f"Which genes differ between drug and mock? {words}", counted[0]).plan
    assert len(plan.analysis) == 1
    assert not plan.not_answered
    assert 10 in [value for node in plan.nodes for value in node.params.values()]


def battery(folder):
    """Write a workbook of two tests of mice and the list of their genotypes, whose legend stands above its header."""
    rng = np.random.default_rng(8)
    mice = np.arange(201, 237)
    tests = {
        "rotarod": pd.DataFrame({"mouse": np.tile(mice, 3), "day": np.repeat([1, 2, 3], 36), "T1": rng.integers(9, 200, 108)}),
        "open field": pd.DataFrame({"mouse": mice, "box": mice % 4, "center_time_s": rng.normal(80, 9, 36).round(1)}),
    }  # fmt: skip
    with pd.ExcelWriter(folder / "tests.xlsx") as book:
        for title, sheet in tests.items():
            sheet.to_excel(book, sheet_name=title, index=False)
    rows = "\n".join(f"{mouse};{'mf'[at % 2]};{1 + at % 3 if at else '?'}" for at, mouse in enumerate(mice))
    head = "Colony list (KS);;\nGT: 1 = WT  2 = HET  3 = KO   ? = to be repeated;;\nmouse;sex;GT\n"
    (folder / "mice.csv").write_text(head + rows + "\n", encoding="utf-8")
    return explained(profile_files([folder / "tests.xlsx", folder / "mice.csv"]))


@pytest.mark.parametrize(
    ("question", "tool", "params"),
    [
        ("is center time in the open field different between KO and WT", "compare_groups",
         {"value": "center_time_s", "group": "GT", "treated": "3", "control": "1"}),
        ("is center time in open field different in KO, but there are more males in the KO so please take care of sex",
         "linear_regression", {"outcome": "center_time_s", "predictors": ["GT", "sex"]}),
        ("is the center time diffrent in KO, take care of sex", "linear_regression",
         {"outcome": "center_time_s", "predictors": ["GT", "sex"]}),
        ("is the center time the same in KO", "compare_groups", {"value": "center_time_s", "group": "GT"}),
    ],
)  # fmt: skip
def test_what_a_legend_says_of_one_file_holds_after_it_is_joined(tmp_path, question, tool, params):
    """Lost in the join, `KO` named nothing: another grouping was asked about, or the sexes were compared."""
    plan = the_planner().plan(question, of_asked_sheets(battery(tmp_path), question)).plan
    join, answer = plan.nodes
    assert (join.tool, answer.tool) == ("join_tables", tool)
    assert {name: answer.params[name] for name in params} == params
    assert not [asked for asked in plan.open_questions if "open" in asked.text], "the title of a sheet is of the data"


def test_of_a_level_that_another_grouping_is_asked_in_the_rows_are_kept(tmp_path):
    question = "does the center time differ in KO between the sexes"
    plan = the_planner().plan(question, of_asked_sheets(battery(tmp_path), question)).plan
    assert [node.tool for node in plan.nodes] == ["join_tables", "filter_rows", "compare_groups"]
    assert plan.nodes[1].params["condition"] == "`GT` in [3]"
    assert plan.nodes[2].params["group"] == "sex"


@pytest.mark.parametrize(
    "question", ["is the center time different in KO in males", "is center time of males different in KO"]
)
def test_a_level_said_to_be_different_is_compared_among_the_rows_that_are_named_beside_it(tmp_path, question):
    plan = the_planner().plan(question, of_asked_sheets(battery(tmp_path), question)).plan
    assert [node.tool for node in plan.nodes] == ["join_tables", "filter_rows", "compare_groups"]
    assert plan.nodes[1].params["condition"] == "`sex` in ['m']"
    assert plan.nodes[2].params["group"] == "GT"
