"""Legends: a second sheet, lines above a header, a file of its own; and what is none."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from engine.data.columns.legend import explained, told_of
from engine.data.corrections import apply
from engine.data.kinds.table import read_table
from engine.data.profiler import profile_file
from engine.domain.profile import ColumnProfile, Profile

DATA = pd.DataFrame(
    {
        "ID": [f"P{at:02d}" for at in range(24)],
        "trt": [0, 1] * 12,
        "geno": ["K", "K", "D", "D"] * 6,
        "HT_cm": [50 + at * 1.7 for at in range(24)],
        "status": [1, 2, 2] * 8,
    }
)
SHEET = [
    ["Variable", "Beschreibung", "Codes"],
    ["trt", "Behandlung", "0 = control; 1 = drought"],
    ["geno", "", "K = Kontrolle, D = Dürre"],
    ["HT_cm", "plant height at harvest", ""],
    ["status", "vital status", "1=alive"],
    ["", "", "2=dead"],
]


def told(profile: Profile) -> dict[str, tuple[str, dict[str, str]]]:
    return {c.name: (c.label, c.codes) for c in profile.column_profiles if c.label or c.codes}


def column(name: str, *levels: str) -> ColumnProfile:
    return ColumnProfile(name=name, kind="category", scale="category", levels=dict.fromkeys(levels, 3))


@pytest.mark.parametrize("first", ["legend", "data"])
def test_a_sheet_of_a_workbook_explains_the_other_wherever_it_stands(tmp_path: Path, first: str):
    path = tmp_path / "trial.xlsx"
    sheets = {"legend": pd.DataFrame(SHEET), "data": DATA}
    with pd.ExcelWriter(path) as book:
        for name in sorted(sheets, key=lambda name: name != first):
            sheets[name].to_excel(book, sheet_name=name, index=False, header=name == "data")
    profile = profile_file(path)
    assert profile.rows == 24
    assert told(profile) == {
        "trt": ("Behandlung", {"0": "control", "1": "drought"}),
        "geno": ("", {"K": "Kontrolle", "D": "Dürre"}),
        "HT_cm": ("plant height at harvest", {}),
        "status": ("vital status", {"1": "alive", "2": "dead"}),
    }


def test_lines_above_a_header_explain_its_columns(tmp_path: Path):
    path = tmp_path / "trial.csv"
    head = "# Trial of 2021, by A. B.\n# trt: 0 = control, 1 = drought\n# status 1=alive 2=dead\n"
    path.write_text(head + DATA.to_csv(index=False))
    assert told(profile_file(path)) == {
        "trt": ("", {"0": "control", "1": "drought"}),
        "status": ("", {"1": "alive", "2": "dead"}),
    }


def test_a_file_of_codes_explains_the_file_beside_it_and_is_no_data(tmp_path: Path):
    DATA.to_csv(tmp_path / "trial.csv", index=False)
    rows = [["trt", 0, "control"], ["", 1, "drought"], ["status", 1, "alive"], ["", 2, "dead"]]
    pd.DataFrame(rows, columns=["col", "code", "meaning"]).to_csv(tmp_path / "codes.csv", index=False)
    data, book = explained([profile_file(tmp_path / "trial.csv"), profile_file(tmp_path / "codes.csv")])
    assert told(data)["status"] == ("", {"1": "alive", "2": "dead"})
    assert not book.types
    assert book.summary == "Explains the columns of trial.csv"


def test_a_sheet_of_samples_explains_no_matrix(tmp_path: Path):
    names = [f"S{at}" for at in range(1, 7)]
    counts = pd.DataFrame({name: [at * 3 % 5 for at in range(20)] for name in names})
    counts.insert(0, "protein", [f"prot {at}" for at in range(20)])
    sheet = pd.DataFrame({"sample": names, "dose": [0, 1] * 3, "group": ["a", "b"] * 3})
    counts.to_csv(tmp_path / "m.csv", index=False)
    sheet.to_csv(tmp_path / "s.csv", index=False)
    found = explained([profile_file(tmp_path / "m.csv"), profile_file(tmp_path / "s.csv")])
    assert all(profile.types for profile in found)
    assert not any(told(profile) for profile in found)


def test_a_list_of_codes_spells_out_the_only_column_that_has_them_and_a_list_of_animals_none(tmp_path: Path):
    cultures = pd.DataFrame(
        {"isolate": range(1, 41), "organism": ["ECO", "KPN", "SAU", "PAE"] * 10, "ward": list("AB") * 20}
    )
    names = [
        ["ECO", "Escherichia coli"],
        ["KPN", "Klebsiella pneumoniae"],
        ["SAU", "Staphylococcus aureus"],
        ["XYZ", "other"],
    ]
    cultures.to_csv(tmp_path / "cultures.csv", index=False)
    pd.DataFrame(names, columns=["code", "meaning"]).to_csv(tmp_path / "codes.csv", index=False)
    data, book = explained([profile_file(tmp_path / "cultures.csv"), profile_file(tmp_path / "codes.csv")])
    assert told(data) == {"organism": ("", dict(names[:3]))}
    assert book.details["explains"] == "cultures.csv"
    assert book.types, "ids can still be translated with it"
    cows = pd.DataFrame({"cow": [f"K{at}" for at in range(7311, 7331)], "group": ["control", "drug"] * 10})
    milk = pd.DataFrame({"cow": list(cows["cow"]) * 2, "milk": [at % 7 + 0.5 for at in range(40)]})
    cows.to_csv(tmp_path / "cows.csv", index=False)
    milk.to_csv(tmp_path / "milk.csv", index=False)
    assert all(profile.types for profile in explained([profile_file(tmp_path / f"{n}.csv") for n in ("milk", "cows")]))


def test_codes_alone_belong_to_the_only_column_that_has_them():
    columns = [column("arm", "A", "B"), column("site", "N", "S")]
    assert told_of([["A = placebo"], ["B = drug"]], columns)["arm"].codes == {"A": "placebo", "B": "drug"}
    assert told_of([["A", "placebo"], ["B", "drug"]], columns)["arm"].codes == {"A": "placebo", "B": "drug"}
    both = [column("arm", "A", "B"), column("other", "A", "B")]
    assert told_of([["A = placebo; B = drug"]], both) == {}
    assert told_of([["A = placebo"]], columns) == {}, "one code of a column may stand for anything"


@pytest.mark.parametrize(
    "rows", [[], [[""]], [["Notes", "measured at noon"]], [["trt"]], [["= ="]], [["0", "1", "2"]], [["x" * 10_000]]]
)
def test_what_is_no_legend_says_nothing(rows: list[list[str]]):
    assert told_of(rows, [column("trt", "0", "1"), column("arm", "A", "B")]) == {}


def test_codes_that_a_legend_calls_missing_are_missing_for_the_profile_and_for_every_step(tmp_path: Path):
    data = DATA.assign(mrsa=[0, 1, 9] * 8, score=[10, 12, 99] * 8, grade=[8, 9, 7] * 8)
    head = "# mrsa: 0 neg, 1 pos, 9 = no swab\n# score on day 1; 99 = not done\n# grade: 7 = fair, 8 = good, 9 = best\n"
    path = tmp_path / "icu.csv"
    path.write_text(head + data.to_csv(index=False))
    profile = profile_file(path)
    mrsa = profile.column("mrsa")
    assert mrsa is not None
    assert (mrsa.missing, dict(mrsa.levels), mrsa.codes) == (8, {"0": 8, "1": 8}, {"0": "neg", "1": "pos"})
    assert any("9 is 'no swab'" in note for note in mrsa.notes)
    read = read_table(path, **profile.types[0].read)
    assert read["mrsa"].isna().sum() == read["score"].isna().sum() == 8
    assert read["grade"].notna().all()


def test_codes_among_whole_numbers_of_a_workbook_are_missing_for_a_step_as_for_the_profile(tmp_path: Path):
    data = DATA.assign(mrsa=[0, 1, 9] * 8, age=[31 + at for at in range(22)] + [999, 999])
    path = tmp_path / "icu.xlsx"
    with pd.ExcelWriter(path) as book:
        data.to_excel(book, sheet_name="stays", index=False)
        pd.DataFrame([["mrsa", "0 neg, 1 pos, 9 = no swab"], ["trt", "0 = control"]]).to_excel(
            book, sheet_name="codes", index=False
        )
    profile = profile_file(path)
    read = read_table(path, **profile.types[0].read)
    for name, missing in (("mrsa", 8), ("age", 2)):
        column = profile.column(name)
        assert column is not None
        assert (column.missing, int(read[name].isna().sum())) == (missing, missing)
        assert read[name].max() == column.maximum


def test_a_mark_of_what_was_not_done_calls_no_column_so(tmp_path: Path):
    data = DATA.assign(lact=["nd", *[f"{1 + at / 7:.1f}" for at in range(23)]])
    codes = [
        ["variable", "code", "meaning"],
        ["trt", "0", "control"],
        ["trt", "1", "drought"],
        ["lact", "nd", "not done"],
    ]
    with pd.ExcelWriter(tmp_path / "ward.xlsx") as book:
        data.to_excel(book, sheet_name="data", index=False)
        pd.DataFrame(codes).to_excel(book, sheet_name="codes", index=False, header=False)
    lact = profile_file(tmp_path / "ward.xlsx").column("lact")
    assert (lact.label, lact.kind, lact.missing) == ("", "number", 1)


def test_titles_of_an_instrument_and_units_that_nobody_lists_are_no_rows(tmp_path: Path):
    path = tmp_path / "curves.csv"
    body = "\n".join(f"2024-06-{at:02d};leaf{at};{at * 100};{at},5;<0,0{at % 9 + 1}" for at in range(1, 25))
    head = "Device: LI-6800;;;;\nCO2 reference 400 ppm; VPD 1,3 kPa;;;\nday;leaf;PAR;A;dark\n"
    path.write_text(head + ";;µmol m-2 s-1;µmol m-2 s-1;a.u./cm\n" + body + "\n", encoding="utf-8")
    profile = profile_file(path)
    assert (profile.rows, [column.name for column in profile.column_profiles]) == (
        24,
        ["day", "leaf", "PAR", "A", "dark"],
    )
    assert [column.unit for column in profile.column_profiles[2:]] == ["µmol m-2 s-1", "µmol m-2 s-1", "a.u./cm"]
    read = read_table(path, **profile.types[0].read)
    assert read["A"].tolist() == [at + 0.5 for at in range(1, 25)]


@pytest.mark.parametrize(
    ("words", "missing"),
    [("no swab", True), ("not done", True), ("nicht erhoben", True), ("unknown", True), ("keine Angabe", True)]
    + [(words, False) for words in ("not working", "no pain", "failed", "none", "refused treatment", "best")],
)
def test_only_words_for_an_absent_value_make_a_code_a_missing_one(tmp_path: Path, words: str, missing: bool):
    path = tmp_path / "visits.csv"
    rows = DATA.assign(state=[1, 2, 9] * 8).to_csv(index=False)
    path.write_text(f"# state: 1 = first, 2 = second, 9 = {words}\n{rows}")
    column = profile_file(path).column("state")
    assert column is not None
    assert column.missing == (8 if missing else 0)


def test_what_a_legend_says_outlives_a_correction_of_another_column(tmp_path: Path):
    path = tmp_path / "wards.csv"
    rows = "".join(f"{at},{at % 2},{at % 5}\n" for at in range(24))
    path.write_text("# chg: 0 = before washing, 1 = since\nstay,chg,days\n" + rows)
    profile = profile_file(path)
    assert profile.column("chg").codes == {"0": "before washing", "1": "since"}
    corrected = apply(profile, {"days": "ignore"})
    assert corrected.column("chg").codes == profile.column("chg").codes


def test_a_sign_that_stands_for_something_ends_what_the_code_before_it_means(tmp_path: Path):
    path = tmp_path / "mice.csv"
    rows = "".join(f"{at},{1 + at % 3 if at else '?'}\n" for at in range(24))
    path.write_text("# GT: 1 = WT  2 = HET  3 = KO   ? = to be repeated\nmouse,GT\n" + rows)
    assert profile_file(path).column("GT").codes == {"1": "WT", "2": "HET", "3": "KO"}
