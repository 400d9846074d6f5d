"""Plates that stand in a workbook with their layout: read as one row a well, with standards and doses, and answered from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.data.kinds.table import read_table
from engine.toolbox.pharmacology.calibration import standard_curve
from engine.toolbox.pharmacology.dose_response import dose_response

LETTERS, COLUMNS = list("ABCDEFGH"), list(range(1, 13))
STANDARDS = [2000, 1000, 500, 250, 125, 62.5, 31.25, 0]
TRUE = {f"L{k + 1:02d}": 100.0 + 90 * k for k in range(16)}


def grid(cells):
    table = pd.DataFrame([[cells.get(f"{a}{n}") for n in COLUMNS] for a in LETTERS], columns=COLUMNS)
    return table.assign(**{"": LETTERS})[["", *COLUMNS]]


def write(path, title, readings, layout, name="A562"):
    with pd.ExcelWriter(path) as book:
        readings.to_excel(book, sheet_name=name, index=False, startrow=2)
        book.sheets[name].cell(1, 1, title)
        layout.to_excel(book, sheet_name="layout", index=False)
        pd.DataFrame([("Std", "BSA, ug/ml"), ("lysates", "diluted 1:5")]).to_excel(
            book, sheet_name="info", index=False, header=False
        )
    return path


@pytest.fixture(scope="module")
def bca(tmp_path_factory):
    """Return a plate of eight standards and sixteen lysates in triplicate on a straight line; one well was a bubble."""
    draw, said, read = np.random.default_rng(1), {}, {}
    for at, letter in enumerate(LETTERS):
        for n in range(1, 10):
            content = f"Std {STANDARDS[at]:g}" if n < 4 else f"L{at + 1 + 8 * (n > 6):02d}"
            amount = STANDARDS[at] if n < 4 else TRUE[content]
            said[f"{letter}{n}"] = content
            read[f"{letter}{n}"] = round(0.09 + 0.0009 * amount + draw.normal(0, 0.003), 3)
    read["F6"] = "bubble"
    return write(tmp_path_factory.mktemp("p") / "BCA.xlsx", "BCA 96w  A562", grid(read), grid(said))


def test_a_grid_is_read_as_one_row_a_well_with_what_its_layout_says(bca):
    (profile,) = profile_files([bca])
    assert [column.name for column in profile.column_profiles] == [
        "well",
        "row",
        "column",
        "A562",
        "standard",
        "sample",
    ]
    assert profile.others == [], "layout and notes are no tables"
    assert profile.structure.doses == ["standard"]
    assert "is a plate; it is read as one row a well" in " ".join(profile.warnings)
    table = read_table(bca, **profile.types[0].read)
    assert len(table) == 72
    assert table.loc["B2", "standard"] == 1000
    assert table.loc["F6", "sample"] == "L06"
    assert np.isnan(table.loc["F6", "A562"]), "what is no number is missing"


def test_lysates_are_read_from_the_standards_and_undiluted_as_the_question_says(bca):
    question = (
        "BCA plate (sheet A562 has the readings, layout tells what is where). What are the protein concentrations of the lysates "
        "L01-L16? Lysates were diluted 1:5."
    )
    plan = the_planner().plan(question, profile_files([bca])).plan
    (node,) = [n for n in plan.nodes if n.tool == "standard_curve"]
    assert (node.params["concentration"], node.params["signal"], node.params["sample"]) == (
        "standard",
        "A562",
        "sample",
    )
    assert node.params["diluted"] == 5
    assert not any(n.tool == "filter_rows" for n in plan.nodes), (
        "1:5 is no column, and all lysates leave the standards in"
    )
    table = read_table(bca, **profile_files([bca])[0].types[0].read)
    keys = ("concentration", "signal", "sample", "diluted")
    result = standard_curve(table, **{key: node.params[key] for key in keys})
    read = result["unknowns"].set_index("sample")["concentration"]
    assert read.to_dict() == pytest.approx({name: 5 * amount for name, amount in TRUE.items()}, rel=0.03)
    assert result["findings"][0]["text"].startswith("The concentrations of 16 samples run from ")
    assert "undiluted (5.00 times that of the wells)" in result["findings"][0]["text"]


@pytest.fixture(scope="module")
def mtt(tmp_path_factory):
    """Return a plate of two lines over ten doses whose layout is a list of columns and rows."""
    doses = [30, 10, 3, 1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001]
    draw, read = np.random.default_rng(2), {}
    for letter in LETTERS:
        half = 1.4 if letter < "E" else 0.4
        for n in COLUMNS:
            dose = 0 if n <= 2 else doses[n - 3]
            alive = 0.0 if n == 1 else 1.2 / (1 + dose / half)
            read[f"{letter}{n}"] = round(0.06 + alive + draw.normal(0, 0.01), 3)
    rows = [("col 1", "medium only (blank)"), ("col 2", "DMSO 0.1 %"), ("rows A-D", "shNT"), ("rows E-H", "shSNAI2")]
    rows += [(f"col {n}", f"drug {dose:g} uM") for n, dose in enumerate(doses, 3)]
    layout = pd.DataFrame([*rows, ("OUT", "pipetting error")], columns=["where", "what"])
    return write(tmp_path_factory.mktemp("m") / "MTT.xlsx", "MTT 72 h", grid(read), layout, name="MTT_A570")


def test_a_list_of_columns_and_rows_is_a_layout_too_and_its_doses_are_amounts(mtt):
    question = "MTT plate: what is the IC50 of the drug in shNT and in shSNAI2, and the ratio?"
    (profile,) = profile_files([mtt])
    table = read_table(mtt, **profile.types[0].read)
    assert table.loc["A3", ["group", "dose_uM"]].tolist() == ["shNT", 30]
    assert table.loc["H2", "dose_uM"] == 0, "a vehicle has no dose"
    assert np.isnan(table.loc["A1", "dose_uM"]), "a blank is no dose"
    plan = the_planner().plan(question, [profile]).plan
    (node,) = [n for n in plan.nodes if n.params.get("dose") == "dose_uM"]
    assert (node.params["response"], node.params["group"]) == ("MTT_A570", "group")
    result = dose_response(table.dropna(subset=["dose_uM"]), dose="dose_uM", response="MTT_A570", group="group")
    half = result["doses"].query("effect == '50 %'").set_index("curve")["dose"]
    assert half.to_dict() == pytest.approx({"shNT": 1.4, "shSNAI2": 0.4}, rel=0.1)


def test_numbers_that_only_count_standards_are_no_amounts(tmp_path):
    said = {f"{a}{n}": f"Std {at + 1}" if n == 1 else f"S{n}" for at, a in enumerate(LETTERS) for n in COLUMNS}
    read = {well: 0.1 + 0.01 * k for k, well in enumerate(said)}
    (profile,) = profile_files([write(tmp_path / "p.xlsx", "ELISA", grid(read), grid(said), name="OD450")])
    assert "standard" not in [column.name for column in profile.column_profiles]


def test_a_grid_without_a_layout_stays_as_it_is(tmp_path):
    read = {f"{a}{n}": 0.1 * n for a in LETTERS for n in COLUMNS}
    grid(read).to_excel(tmp_path / "p.xlsx", index=False)
    (profile,) = profile_files([tmp_path / "p.xlsx"])
    assert "well" not in [column.name for column in profile.column_profiles]
