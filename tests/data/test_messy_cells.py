"""Cells and headers as people leave them: what is written must be what is analysed, or a sentence says why not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import profile_files as make
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.data import catalogue
from engine.data.catalogue import read_data
from engine.data.columns.cells import CellReading, is_unit, read_numbers, tidy, totals_below, units_row
from engine.data.columns.column import clean
from engine.data.columns.genes import is_gene_header
from engine.data.kind import NO_SCHEMA
from engine.data.kinds.genes import read_gene_list
from engine.data.kinds.table import read_table
from engine.data.matching import cross_check
from engine.data.profiler import profile_file
from engine.data.schema import plain
from engine.domain.datatypes import DataType
from engine.domain.profile import ColumnProfile, Profile
from engine.toolbox.bulk_rna.common import de_columns

NUMBERS = [f"{i / 4 + 1:.2f}" for i in range(20)]


def profiled(path: Path, text: str, encoding: str = "utf-8") -> tuple[Profile, pd.DataFrame]:
    profile = profile_file(make.write(path, text, encoding))
    guess = profile.serves_as(DataType.TABLE)
    assert guess is not None, profile.warnings
    return profile, read_data(profile.path, "table", **guess.read)


def column(tmp_path: Path, cells: list[str], sep: str = "\t") -> tuple[Profile, ColumnProfile, pd.Series]:
    rows = "".join(f"s{i}{sep}{cell}\n" for i, cell in enumerate(cells))
    profile, frame = profiled(tmp_path / "t.tsv", f"id{sep}crp\n{rows}")
    found = profile.column("crp")
    assert found is not None
    return profile, found, frame["crp"]


# --- numbers with words between them ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word", ["k.A.", "n.d.", "n/a", "lost", "-", "K.A.", "nicht bestimmt", "s/d", "manquant", "broken tube", " n.d. "]
)
def test_words_among_numbers_are_missing_values(word: str, tmp_path: Path) -> None:
    profile, found, values = column(tmp_path, [*NUMBERS, word, word])
    assert found.kind == "number"
    assert found.missing == values.isna().sum() == 2
    assert values.dtype == float
    assert list(values[:20]) == [float(n) for n in NUMBERS]
    if word != "n/a":  # a word that every reader takes for missing needs no telling
        assert any("2 cells" in note and word.strip() in note for note in found.notes)
        assert any(word.strip() in warning for warning in profile.warnings)


@pytest.mark.parametrize("name", ["age", "age ", " age"])
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_missing_cells_are_missing_also_where_the_name_has_blanks_around_it(
    name: str, ending: str, tmp_path: Path
) -> None:
    ages: list[Any] = [30 + i for i in range(30)]
    table = pd.DataFrame(
        {"id": [f"p{i}" for i in range(33)], name: [*ages, "?", "?", 999], "pain ": [*range(10)] * 3 + [99, 99, 4]}
    )
    path = tmp_path / f"t.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_excel(path, index=False)
    profile = profile_file(path)
    guess = profile.serves_as(DataType.TABLE)
    assert guess is not None
    frame = read_data(profile.path, "table", **guess.read)
    assert {c.name: c.missing for c in profile.column_profiles} == frame.isna().sum().to_dict()
    assert frame["age"].dropna().tolist()[:30] == ages
    assert "?" not in frame["age"].tolist()
    assert frame["pain"].isna().sum() == 2
    assert frame.dtypes[["age", "pain"]].tolist() == [float, float]


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
@pytest.mark.parametrize("sign", [".", ","])
def test_a_code_for_missing_beside_words_for_it_is_missing_too(sign: str, ending: str, tmp_path: Path) -> None:
    values = [number if ending == "xlsx" and sign == "." else str(number).replace(".", sign) for number in NUMBERS]
    code: Any = -999 if ending == "xlsx" else "-999"
    table = pd.DataFrame({"id": [f"p{i}" for i in range(23)], "chla": [*values, "n.a.", code, code]})
    path = tmp_path / f"t.{ending}"
    table.to_csv(path, index=False, sep=";") if ending == "csv" else table.to_excel(path, index=False)
    profile = profile_file(path)
    guess, found = profile.serves_as(DataType.TABLE), profile.column("chla")
    assert guess is not None
    assert found is not None
    read = read_data(profile.path, "table", **guess.read)["chla"]
    assert (found.missing, found.minimum, found.maximum) == (3, 1.0, 5.75)
    assert (read.isna().sum(), read.min(), read.max()) == (3, 1.0, 5.75)
    assert any("-999 is taken for a missing value" in note for note in found.notes)


@pytest.mark.parametrize(
    ("cell", "limit", "bias"),
    [("<0.1", "limit 0.1", "upwards"), ("> 100", "limit 100", "downwards"), ("≤0.5", "limit 0.5", "upwards"),
     (">=20", "limit 20", "downwards")],
)  # fmt: skip
def test_values_beyond_a_limit_are_missing_and_the_bias_is_said(
    cell: str, limit: str, bias: str, tmp_path: Path
) -> None:
    profile, found, values = column(tmp_path, [*NUMBERS, cell, cell, cell])
    assert values.isna().sum() == found.missing == 3
    for text in (" ".join(profile.warnings), " ".join(found.notes)):
        assert "3 cells" in text
        assert limit in text
        assert bias in text


def test_several_limits_are_named_from_lowest_to_highest(tmp_path: Path) -> None:
    _, found, _ = column(tmp_path, [*NUMBERS, "<10", "<0.5", "<2"])
    assert "limit 0.5 to 10" in " ".join(found.notes)


def test_remarks_are_told_and_the_number_is_kept(tmp_path: Path) -> None:
    _, found, values = column(tmp_path, [*NUMBERS, "ca. 5", "5*", "12 (?)", "~7", "8†"])
    assert list(values[-5:]) == [5, 5, 12, 7, 8]
    assert found.missing == 0
    assert any("5 cells with a remark" in note for note in found.notes)


@pytest.mark.parametrize("level", ["control", "vehicle", "none", "Kontrolle", "témoin", "neg", "low"])
def test_a_level_beside_doses_is_never_thrown_away(level: str, tmp_path: Path) -> None:
    profile, found, values = column(tmp_path, [*NUMBERS, level])
    assert found.kind not in ("number", "integer")
    assert level in set(values)
    assert any("stays text" in warning for warning in profile.warnings)


@pytest.mark.parametrize(
    "cells",
    [
        ["001", "002", "003", "n.d."], ["1A", "2A", "3A", "4A", "5A"], ["1-Mar", "2-Sep", "3-Sep"], ["3/10", "2/9"],
        ["01.02.2020", "03.04.2021", "05.06.2022"], ["1.2.3", "1.2.4", "1.2.5"], ["Wk0", "Wk12", "Wk4"],
        ["12:30", "13:45"], ["101m", "102m", "103m", "104m", "105m"] , ["CD4", "CD8", "CD19"], ["10q21", "7p13"],
    ],
)  # fmt: skip
def test_names_that_hold_digits_stay_names(cells: list[str]) -> None:
    frame = pd.DataFrame({"id": cells})
    cleaned = clean(frame, "t.csv")
    assert list(cleaned.frame["id"]) == cells
    assert not cleaned.marks and not cleaned.numbers and not cleaned.notes  # noqa: PT018


@pytest.mark.parametrize("levels", [["0 h", "24 h"], ["0h", "6h", "24h"], ["50%", "100%"]])
def test_few_repeated_amounts_are_levels_and_keep_their_names(levels: list[str]) -> None:
    frame = pd.DataFrame({"id": list("abcdef") * 2, "time": levels * (12 // len(levels))})
    assert list(clean(frame, "t.csv").frame["time"]) == list(frame["time"])


def test_a_name_with_a_letter_keeps_its_column_text(tmp_path: Path) -> None:
    _, found, values = column(tmp_path, [*map(str, range(101, 112)), "103b"])
    assert list(values)[-1] == "103b"
    assert found.kind not in ("integer", "number")


def test_unknown_words_in_a_coded_column_stay(tmp_path: Path) -> None:
    """Grades 1, 2, 3 and X are four levels: nothing says that X is a missing value of a measurement."""
    _, _, values = column(tmp_path, [*"123" * 10, "Y"])
    assert set(values) == {"1", "2", "3", "Y"}


# --- numbers written in other ways ------------------------------------------------------------------------------

STYLES: dict[str, tuple[list[str], list[float], str, str]] = {
    "comma": (["1,5", "2,25", "10,0"], [1.5, 2.25, 10.0], "", ""),
    "german": (["1.234,5", "2,25", "1.000.000,0"], [1234.5, 2.25, 1e6], "", ""),
    "english": (["1,234.5", "2.25", "1,000,000"], [1234.5, 2.25, 1e6], "", "thousands"),
    "swiss": (["1'234.5", "2.25", "1’000’000"], [1234.5, 2.25, 1e6], "", ""),
    "french": (["1 234,5", "2,25", "1\u202f000\u202f000"], [1234.5, 2.25, 1e6], "", ""),
    "percent": (["12%", "3.5 %", "100%"], [12, 3.5, 100], "%", ""),
    "percent comma": (["12 %", "3,5%", "0,25 %"], [12, 3.5, 0.25], "%", ""),
    "unit": (["12 mg", "3.4mg", "1e3 mg"], [12, 3.4, 1000], "mg", ""),
    "unit comma": (["12 µg/ml", "3,4 µg/ml", "5 µg/ml"], [12, 3.4, 5], "µg/ml", ""),
    "word unit": (["12 trees", "3 trees", "40 trees"], [12, 3, 40], "trees", ""),
    "unit sometimes": (["12 mg", "3.4 mg", "5"], [12, 3.4, 5], "mg", "without a unit"),
    "spaces": ([" 12", "3\u00a0", "\u00a040.5 "], [12, 3, 40.5], "", ""),
    "minus": (["\u221212", "3", "-4.5"], [-12, 3, -4.5], "", ""),
    "both": (["1,5", "2.5", "3"], [1.5, 2.5, 3], "", "both point and comma"),
}


@pytest.mark.parametrize("sep", ["\t", ";"])
@pytest.mark.parametrize("style", STYLES)
def test_each_style_is_read_alike_by_profiler_and_step(style: str, sep: str, tmp_path: Path) -> None:
    cells, expected, unit, warning = STYLES[style]
    profile, found, values = column(tmp_path, cells, sep)
    assert found.kind in ("number", "integer"), profile.warnings
    assert list(values) == expected
    assert (found.minimum, found.maximum) == (min(expected), max(expected))
    assert found.unit == unit
    assert warning in " ".join(profile.warnings)


@pytest.mark.parametrize("style", STYLES)
def test_each_style_is_read_in_excel_text_cells(style: str, tmp_path: Path) -> None:
    cells, expected, unit, _ = STYLES[style]
    frame = pd.DataFrame({"id": list("abc"), "crp": cells, "n": [1, 2, 3]})
    profile = profile_file(make.excel(tmp_path / "t.xlsx", {"S": frame}))
    found = profile.column("crp")
    assert found is not None
    assert found.unit == unit
    read = read_data(profile.path, "table", **profile.serves_as(DataType.TABLE).read)  # type: ignore[union-attr]
    assert list(read["crp"]) == expected


def test_excel_numbers_beside_text_with_commas_are_no_second_decimal_sign(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": list("abcd"), "crp": [1.5, "2,5", 3.25, "k.A."]})
    profile = profile_file(make.excel(tmp_path / "t.xlsx", {"S": frame}))
    read = read_data(profile.path, "table", **profile.serves_as(DataType.TABLE).read)  # type: ignore[union-attr]
    assert list(read["crp"])[:3] == [1.5, 2.5, 3.25]
    assert np.isnan(read["crp"].iloc[3])
    assert not any("both" in warning for warning in profile.warnings)


def test_contradicting_signs_stay_text_with_a_sentence(tmp_path: Path) -> None:
    profile, _, values = column(tmp_path, ["1,5", "2,345.5", "7"])
    assert list(values) == ["1,5", "2,345.5", "7"]
    assert any("contradict each other" in warning for warning in profile.warnings)


def test_different_units_stay_text_with_a_sentence(tmp_path: Path) -> None:
    profile, _, values = column(tmp_path, ["12 mg", "3 g", "5 mg"])
    assert list(values) == ["12 mg", "3 g", "5 mg"]
    assert any("different units ('g', 'mg')" in warning for warning in profile.warnings)


def test_shares_and_percents_are_not_mixed(tmp_path: Path) -> None:
    """0.5 beside 50% is 0.5 or 50: a hundredfold difference is never guessed."""
    _, _, values = column(tmp_path, ["50%", "40%", "30%", "0.5"])
    assert list(values) == ["50%", "40%", "30%", "0.5"]


@pytest.mark.parametrize("sep", ["\t", ";"])
def test_dates_are_no_thousands_beside_numbers_with_them(sep: str, tmp_path: Path) -> None:
    """A thousands sign for the whole file would turn 01.02.2020 into the number 1022020."""
    text = sep.join(["id", "date", "x", "y"]) + "\n"
    text += "".join(sep.join([f"s{i}", f"0{i}.02.2020", f"1.23{i},5", f"{i},25"]) + "\n" for i in range(1, 8))
    _, frame = profiled(tmp_path / "t.txt", text)
    assert list(frame["date"])[:2] == ["01.02.2020", "02.02.2020"]
    assert list(frame["x"])[:2] == [1231.5, 1232.5]
    assert list(frame["y"])[:2] == [1.25, 2.25]


def test_one_column_with_commas_does_not_change_the_others(tmp_path: Path) -> None:
    text = "id;a;b\n" + "".join(f"s{i};{i},5;{i}.25\n" for i in range(8))
    _, frame = profiled(tmp_path / "t.csv", text)
    assert list(frame["a"]) == [i + 0.5 for i in range(8)]
    assert list(frame["b"]) == [i + 0.25 for i in range(8)]


def test_json_cells_are_read_alike(tmp_path: Path) -> None:
    import json

    path = make.write(
        tmp_path / "t.json", json.dumps([{"id": f"s{i}", "crp": n} for i, n in enumerate([*NUMBERS, "<1"])])
    )
    profile = profile_file(path)
    read = read_data(profile.path, "table", **profile.types[0].read)
    assert read["crp"].isna().sum() == 1
    assert read["crp"].sum() == sum(map(float, NUMBERS))


def test_a_cell_unknown_to_the_profile_stops_the_step_by_its_name(tmp_path: Path) -> None:
    path = make.write(tmp_path / "t.csv", "id;crp\na;5 mg\nb;spilled\n")
    with pytest.raises(ValueError, match=r"Column 'crp' holds 'spilled'.*correct the cell"):
        read_table(path, sep=";", numbers={"crp": {"remove": ["mg"]}})


amounts = st.lists(
    st.decimals(-99_999, 99_999, places=2, allow_nan=False).map(lambda d: d + 0), min_size=3, max_size=12, unique=True
)


@settings(max_examples=120, deadline=None)
@given(
    amounts, st.sampled_from([(".", ""), (",", ""), (".", ","), (",", "."), (",", " "), (".", "'")]),
    st.sampled_from(["", "mg/l", " mg", "%", "\u00a0kg"]), st.sampled_from(["", "<", "> ", "ca. "]),
    st.sampled_from(["", "n.d.", "k.A."]),
)  # fmt: skip
def test_what_is_written_in_any_style_is_what_is_read(numbers, signs, unit, before, word) -> None:
    """Any number, written in any combination of styles, is itself or missing; profiler and step agree."""
    import tempfile

    decimal, thousands = signs

    def write(value: Any) -> str:
        text = f"{value:,.2f}".replace(",", "\0").replace(".", decimal).replace("\0", thousands)
        return text + unit

    cells = [write(value) for value in numbers]
    odd = [before + write(numbers[0])] * bool(before) + [word] * bool(word)
    with tempfile.TemporaryDirectory() as folder:
        rows = "".join(f"s{i}\t{cell}\n" for i, cell in enumerate([*cells, *odd]))
        profile = profile_file(make.write(Path(folder) / "t.tsv", f"id\tx\n{rows}"))
        read = read_data(profile.path, "table", **profile.serves_as(DataType.TABLE).read)["x"]
    found = profile.column("x")
    assert found is not None
    assert found.kind in ("number", "integer"), (cells, profile.warnings)
    assert list(read[: len(cells)]) == [float(value) for value in numbers]
    assert found.missing == read.isna().sum() == len(odd) - (before == "ca. ")
    assert found.unit == unit.strip()


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=12).map(tidy).filter(bool), st.integers(1, 9), max_size=12))
def test_no_text_breaks_the_reading_of_cells(counts: dict[str, int]) -> None:
    reading = read_numbers(counts)
    if isinstance(reading, CellReading):
        assert set(reading.values) | set(reading.missing) == set(counts)
        assert not set(reading.values) & set(reading.missing)
        assert all(np.isfinite(float(value)) or "e" in value.lower() for value in reading.values.values())


@pytest.mark.parametrize(
    "unit",
    ["g", "mg/l", "°C", "µg/mL", "mmol/L", "kg/m2", "mg kg-1 d-1", "10^9/L", "U/L", "mm Hg", "%", "cells/µl", "h"],
)
def test_usual_units_are_known(unit: str) -> None:
    assert is_unit(unit)


@pytest.mark.parametrize("word", ["hello", "treated", "group", "CD4", "sample", "female", "x1", "Mar", ""])
def test_words_are_no_units(word: str) -> None:
    assert not is_unit(word)


# --- rows that are no data --------------------------------------------------------------------------------------


def excel_rows(path: Path, rows: list[list[Any]], merge: str = "") -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)  # type: ignore[union-attr]
    if merge:
        for cells in merge.split():
            book.active.merge_cells(cells)  # type: ignore[union-attr]
    book.save(path)
    return path


def both(tmp_path: Path, rows: list[list[Any]], kind: str) -> tuple[Profile, pd.DataFrame]:
    """Write the rows as CSV or Excel, profile the file and read it as a step does."""
    if kind == "xlsx":
        path = excel_rows(tmp_path / "t.xlsx", rows)
    else:
        lines = (",".join("" if cell is None else str(cell) for cell in row) for row in rows)
        path = make.write(tmp_path / "t.csv", "\n".join(lines) + "\n")
    profile = profile_file(path)
    guess = profile.serves_as(DataType.TABLE)
    assert guess is not None, profile.warnings
    return profile, read_data(str(path), "table", **guess.read)


DATA = [["oak", 1.5, 10], ["elm", 2.5, 20], ["ash", 3.5, 40], ["fir", 4.5, 80]]
KINDS = pytest.mark.parametrize("kind", ["csv", "xlsx"])


@KINDS
@pytest.mark.parametrize("units", [["", "(g)", "[mg/l]"], [None, "g", "mg/l"], ["unit", "g", "-"]])
def test_units_below_the_header_go_to_the_columns(units: list[Any], kind: str, tmp_path: Path) -> None:
    profile, frame = both(tmp_path, [["tree", "mass", "iron"], units, *DATA], kind)
    assert list(frame["mass"]) == [1.5, 2.5, 3.5, 4.5]
    assert list(frame["tree"]) == ["oak", "elm", "ash", "fir"]
    mass = profile.column("mass")
    assert mass is not None
    assert (mass.kind, mass.unit, mass.missing) == ("number", "g", 0)
    assert profile.rows == 4
    assert any("holds units" in warning for warning in profile.warnings)


@KINDS
def test_a_first_row_that_only_looks_like_units_is_data(kind: str, tmp_path: Path) -> None:
    profile, frame = both(tmp_path, [["tree", "leaf", "x"], ["oak", "g", 1], ["elm", "h", 2], ["ash", "g", 3]], kind)
    assert frame["leaf"].tolist() == ["g", "h", "g"]
    assert not any("units" in warning for warning in profile.warnings)


@KINDS
@pytest.mark.parametrize("label", ["Total", "Sum:", "Summe", "mean", "Mittelwert", "Gesamt"])
def test_labelled_totals_are_left_out(label: str, kind: str, tmp_path: Path) -> None:
    profile, frame = both(tmp_path, [["tree", "mass", "iron"], *DATA, [label, 12, 150]], kind)
    assert list(frame["tree"]) == ["oak", "elm", "ash", "fir"]
    assert list(frame["iron"]) == [10, 20, 40, 80]
    assert profile.rows == 4
    assert any("left out" in warning and label in warning for warning in profile.warnings)


@KINDS
def test_title_units_blank_rows_and_totals_at_once(kind: str, tmp_path: Path) -> None:
    rows = [["Table 2. Trees of the park", None, None], [None, None, None], ["tree", "mass", "iron"], ["", "(g)", "(mg)"],
            *DATA, [None, None, None], ["Mean", 3, 37.5], ["SD", 1.29, 31]]  # fmt: skip
    profile, frame = both(tmp_path, rows, kind)
    assert list(frame["mass"]) == [1.5, 2.5, 3.5, 4.5]
    assert frame.shape == (4, 3)
    assert profile.column("iron").unit == "mg"  # type: ignore[union-attr]
    assert profile.column("iron").kind == "integer"  # type: ignore[union-attr]


@KINDS
def test_a_level_called_total_is_data(kind: str, tmp_path: Path) -> None:
    rows = [["part", "year", "mass"], ["leaf", 1, 2.5], ["total", 1, 9.5], ["leaf", 2, 2.5], ["total", 2, 8.5]]
    profile, frame = both(tmp_path, rows, kind)
    assert len(frame) == 4
    assert not any("left out" in warning for warning in profile.warnings)


@KINDS
def test_a_sum_without_label_is_told_and_kept(kind: str, tmp_path: Path) -> None:
    profile, frame = both(tmp_path, [["tree", "mass", "iron"], *DATA, [None, 12, 150]], kind)
    assert len(frame) == 5
    assert any("is the sum of the others" in warning for warning in profile.warnings)
    profile, _ = both(tmp_path, [["tree", "mass", "iron"], *DATA, [None, 11, 150]], kind)
    assert not any("is the sum of the others" in warning for warning in profile.warnings)


@KINDS
def test_an_empty_first_column_is_left_out(kind: str, tmp_path: Path) -> None:
    rows = [[None, "tree", "mass"], *[[None, *row[:2]] for row in DATA]]
    profile, frame = both(tmp_path, rows, kind)
    assert list(frame.columns) == ["tree", "mass"]
    assert [column.name for column in profile.column_profiles] == ["tree", "mass"]


BLOCKS = [["A", 1, 2.5], [None, 2, 2.7], [None, 3, 3.5], ["B", 1, 2.1], [None, 2, 2.2], [None, 3, 2.9]]


@KINDS
@pytest.mark.parametrize("names", ["AB", [7, 9]])
def test_blocks_of_equal_length_are_filled_down(names: Any, kind: str, tmp_path: Path) -> None:
    rows = [[names["AB".index(row[0])] if row[0] else None, *row[1:]] for row in BLOCKS]
    profile, frame = both(tmp_path, [["plot", "day", "mass"], *rows], kind)
    assert list(frame["plot"]) == [names[0]] * 3 + [names[1]] * 3
    plot = profile.column("plot")
    assert plot is not None
    assert plot.missing == 0
    assert plot.levels == {str(names[0]): 3, str(names[1]): 3}
    assert any("same as above" in warning for warning in profile.warnings)


@KINDS
def test_irregular_blanks_are_missing_values(kind: str, tmp_path: Path) -> None:
    rows = [["plot", "day", "mass"], *BLOCKS[:5], ["C", 3, 2.9]]
    profile, frame = both(tmp_path, rows, kind)
    assert frame["plot"].isna().sum() == 3
    assert not any("same as above" in warning for warning in profile.warnings)


def test_merged_cells_of_any_length_are_filled_down(tmp_path: Path) -> None:
    rows = [["plot", "day", "mass"], *BLOCKS[:5], ["C", 3, 2.9]]
    profile = profile_file(excel_rows(tmp_path / "t.xlsx", rows, merge="A2:A4 A5:A6"))
    read = read_data(profile.path, "table", **profile.serves_as(DataType.TABLE).read)  # type: ignore[union-attr]
    assert "".join(read["plot"]) == "AAABBC"


def test_counts_with_a_total_lose_it_and_nothing_else(tmp_path: Path) -> None:
    counts = make.counts(make.ensembl(60))
    total = counts.set_index("gene_id").sum()
    text = make.csv_text(counts) + ",".join(["Total", *map(str, total)]) + "\n"
    profile = profile_file(make.write(tmp_path / "m.csv", text))
    assert profile.best is not None
    assert profile.best.type is DataType.COUNT_MATRIX
    read = read_data(profile.path, "count_matrix", **profile.best.read)
    pd.testing.assert_frame_equal(read, counts.set_index("gene_id").rename_axis("feature"))


def test_rows_that_are_no_data_are_only_found_when_unmistakable() -> None:
    assert units_row(["a", "g", "h"], [["a", "1", "2"]] * 3) == {}
    assert units_row(["", "(g)", ""], [["a", "x", "2"]] * 3) == {}
    assert totals_below([["a", "1"], ["b", "2"], ["Total", "3"]]) == []  # too few rows to be sure
    assert totals_below([["a", "1"], ["b", "2"], ["c", "3"], ["Total", "n.d."]]) == []
    assert totals_below([["a", "1"], ["b", "2"], ["c", "3"], ["Mean", "2"], ["SD", "1"]]) == ["SD", "Mean"]


# --- rankings, lists, schemas -----------------------------------------------------------------------------------

SCORES = [f"{i / 7 - 2:.3f}" for i in range(len(make.SYMBOLS))]


@pytest.mark.parametrize("sep", ["\t", ",", ";", " "])
@pytest.mark.parametrize("name", ["r.rnk", "r.txt", "r.csv"])
def test_a_ranking_without_header_keeps_its_first_gene(name: str, sep: str, tmp_path: Path) -> None:
    text = "".join(f"{gene}{sep}{score}\n" for gene, score in zip(make.SYMBOLS, SCORES, strict=True))
    profile = profile_file(make.write(tmp_path / name, text))
    guess = profile.serves_as(DataType.RANKED_GENES)
    assert guess is not None
    assert guess is profile.best
    assert guess.read["names"] == ["gene", "score"]
    read = read_data(profile.path, "ranked_genes", **guess.read)
    assert list(read["gene"]) == make.SYMBOLS
    assert list(read["score"]) == [float(score) for score in SCORES]


@pytest.mark.parametrize("style", ["comma", "gap"])
def test_a_ranking_with_messy_scores_keeps_its_first_gene(style: str, tmp_path: Path) -> None:
    scores = [s.replace(".", ",") for s in SCORES] if style == "comma" else [*SCORES[:-1], "NA"]
    text = "".join(f"{gene}\t{score}\n" for gene, score in zip(make.SYMBOLS, scores, strict=True))
    profile = profile_file(make.write(tmp_path / "r.rnk", text))
    assert profile.best is not None
    assert profile.best.type is DataType.RANKED_GENES
    read = read_data(profile.path, "ranked_genes", **profile.best.read)
    assert (read["gene"].iloc[0], read["score"].iloc[0]) == ("ACTB", -2.0)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_two_gene_lists_and_a_library_are_each_what_they_are(encoding: str, end: str, tmp_path: Path) -> None:
    mine = make.write(tmp_path / "mine.txt", end.join(["# gewählt", *make.SYMBOLS[:15]]) + end, encoding)
    every = make.write(tmp_path / "every.txt", end.join(make.SYMBOLS) + end, encoding)
    sets = make.write(tmp_path / "s.gmt", "A\tx\tTP53\tMYC\tEGFR\nB\tx\tCD4\tCD8A\tIL6\n")
    profiles = [profile_file(path) for path in (mine, every, sets)]
    assert [p.best.type.value for p in profiles if p.best] == ["gene_list", "gene_list", "gene_set_library"]
    assert read_data(str(mine), "gene_list", **profiles[0].types[0].read) == make.SYMBOLS[:15]
    assert read_data(str(every), "gene_list", **profiles[1].types[0].read) == make.SYMBOLS
    assert cross_check(profiles) == []


DE_NAMES = {
    "feature": ["gene", "gene_id", "Geneid", "ensgene", "ENSEMBL", "ensembl_gene_id", "id", "Unnamed: 0", "row", "names",
                "probe_id"],
    "symbol": ["symbol", "gene_name", "external_gene_name", "hgnc_symbol"],
    "base_mean": ["baseMean", "base_mean"],
    "log2_fold_change": ["log2FoldChange", "logFC", "log2FC", "avg_log2FC", "lfc", "logfoldchanges", "log2_fold_change",
                         "log2 ratio"],
    "lfc_se": ["lfcSE"],
    "stat": ["stat", "t"],
    "p_value": ["pvalue", "P.Value", "PValue", "p_val", "pvals", "p"],
    "p_adj": ["padj", "FDR", "adj.P.Val", "p_val_adj", "pvals_adj", "qvalue", "q_value", "Adjusted P-value"],
}  # fmt: skip


@pytest.mark.parametrize(("field", "header"), [(f, h) for f, headers in DE_NAMES.items() for h in headers])
def test_profiler_and_tools_know_the_same_names(field: str, header: str) -> None:
    """The tools' own list is the schema's: each header is taken for the same field by both."""
    assert catalogue.KINDS[DataType.DE_TABLE].schema.field(field).called(header)
    frame = pd.DataFrame({"feature": ["A", "B"]} if field != "feature" else {}, index=[0, 1])
    frame[header] = ["1", "2"]
    assert field in de_columns(frame, needed=(field,)).columns


def test_the_tools_list_of_names_is_the_schemas() -> None:
    constants = [part for part in de_columns.__code__.co_consts if isinstance(part, (str, tuple))]
    written = {text for part in constants for text in ((part,) if isinstance(part, str) else part)}
    for field in catalogue.KINDS[DataType.DE_TABLE].schema.fields:
        assert field.name in written
        assert field.pattern in written


@pytest.mark.parametrize("header", ["lnFC", "avg_logFC", "ln ratio", "ratio", "fold", "p_ratio", "group", "log"])
def test_natural_logarithms_and_other_names_are_no_log2_fold_change(header: str) -> None:
    assert not catalogue.KINDS[DataType.DE_TABLE].schema.field("log2_fold_change").called(header)
    with pytest.raises(ValueError, match="no column 'log2_fold_change'"):
        de_columns(pd.DataFrame({"gene": ["A"], header: [1.0], "padj": [0.5]}))


@pytest.mark.parametrize(
    "header",
    ["gene", "Gene ID", "gene_symbol", "symbol", "HGNC symbol", "feature", "probe_id", "entrez_gene_id", "names"],
)
def test_gene_headers_are_those_of_the_profiler(header: str) -> None:
    assert catalogue.KINDS[DataType.RANKED_GENES].schema.field("gene").called(header)
    assert is_gene_header(header)


def test_every_schema_has_distinct_needed_fields_that_know_their_own_name() -> None:
    for kind, schema in ((kind.type, kind.schema) for kind in catalogue.KINDS.values() if kind.schema != NO_SCHEMA):
        assert len(schema.by_name) == len(schema.fields)
        for field in schema.fields:
            if field.name not in ("base_mean", "evidence"):
                assert field.called(field.name) or field.name == "log2_fold_change", (kind, field.name)
    assert plain("adj.P.Val") == plain("adj_p_val") == "adjpval"


# --- headers and encodings --------------------------------------------------------------------------------------

HEADERS = ["Größe (cm)", "Âge à l'arrivée", "Año", " Gewicht ", "Pression artérielle", "naïve"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("sep", ["\t", ";", ","])
def test_headers_of_other_languages_are_read_in_every_encoding(
    encoding: str, end: str, sep: str, tmp_path: Path
) -> None:
    rows = [[f"s{i}", *(str(10 * i + k) for k in range(len(HEADERS)))] for i in range(6)]
    text = end.join(sep.join(row) for row in [["id", *HEADERS], *rows]) + end
    profile, frame = profiled(tmp_path / "t.csv", text, encoding)
    names = ["id", *(header.strip() for header in HEADERS)]
    assert list(frame.columns) == names
    assert [column.name for column in profile.column_profiles] == names
    assert frame["Größe (cm)"].tolist() == [10 * i for i in range(6)]


# --- single-cell files of old -----------------------------------------------------------------------------------


def old_h5ad(path: Path, *, sparse: bool, raw: bool) -> np.ndarray:
    """Write a file as anndata before 0.7 did: `obs`, `var` and `obsm` as compound arrays, categories under `uns`."""
    rng = np.random.default_rng(0)
    cells, genes = 30, 40
    values = rng.poisson(1.5, (cells, genes)).astype(np.float32)
    obs = np.zeros(cells, dtype=[("index", "S10"), ("n_counts", "f4"), ("louvain", "i1")])
    obs["index"] = [f"cell{i}" for i in range(cells)]
    obs["n_counts"], obs["louvain"] = values.sum(1), np.arange(cells) % 3
    var = np.zeros(genes, dtype=[("index", "S10"), ("n_cells", "i4")])
    var["index"], var["n_cells"] = make.SYMBOLS, (values > 0).sum(0)
    logs = np.log1p(values)
    with h5py.File(path, "w") as file:
        file["obs"], file["var"] = obs, var
        file["obsm"] = np.zeros(cells, dtype=[("X_pca", "f4", (5,)), ("X_umap", "f4", (2,))])
        file["uns/louvain_categories"] = np.array([b"T", b"B", b"NK"])
        if sparse:
            rows, columns = np.nonzero(logs)
            group = file.create_group("X")
            group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = b"csr", logs.shape
            group["data"], group["indices"] = logs[rows, columns], columns.astype("i4")
            group["indptr"] = np.concatenate([[0], np.cumsum((logs > 0).sum(1))]).astype("i4")
        else:
            file["X"] = logs
        if raw:
            file["raw.X"], file["raw.var"] = values, var
    return logs


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.filterwarnings("ignore")
def test_single_cell_file_of_old_is_described_and_read(sparse: bool, raw: bool, tmp_path: Path) -> None:
    logs = old_h5ad(tmp_path / "old.h5ad", sparse=sparse, raw=raw)
    profile = profile_file(tmp_path / "old.h5ad")
    assert profile.summary == "30 cells x 40 genes (human gene symbols); X holds log-normalised values"
    assert profile.details["obsm"] == ["X_pca", "X_umap"]
    assert profile.details["raw"] == ("counts" if raw else None)
    louvain = profile.column("louvain")
    assert louvain is not None
    assert louvain.levels == {"B": 10, "NK": 10, "T": 10}
    data = read_data(profile.path, "anndata", **profile.types[0].read)
    assert Counter(data.obs["louvain"]) == louvain.levels
    np.testing.assert_allclose(data.X.toarray() if sparse else data.X, logs)
    assert list(data.var_names) == make.SYMBOLS
    assert (data.raw is not None) == raw


@pytest.mark.parametrize("header", ["gene", "Genes", "feature", "symbol", "gene_symbol", "gene_id", "id"])
def test_the_reader_of_gene_lists_knows_headers_of_the_schema(header: str, tmp_path: Path) -> None:
    path = make.write(tmp_path / "g.txt", f"{header}\nTP53\nMYC\n")
    assert catalogue.KINDS[DataType.GENE_LIST].schema.field("gene").called(header)
    assert read_gene_list(str(path)) == ["TP53", "MYC"]


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_date_of_a_year_that_has_not_come_is_told(tmp_path, ending):
    days = [f"{1 + at % 28:02d}/{1 + at % 12:02d}/20{16 + at % 8}" for at in range(60)]
    path, texts = tmp_path / f"lochs.{ending}", {"date": [*days[:-1], "04/05/2117"], "depth": range(60)}
    frame = pd.DataFrame(texts)
    if ending == "xlsx":
        frame["date"] = pd.to_datetime(frame["date"], dayfirst=True)
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False)
    profile = profile_file(path)
    (column,) = [column for column in profile.column_profiles if column.name == "date"]
    assert column.notes == ["Dates of 2016 to 2117.", "1 date of a year that has not come (2117): a slip?"]
    assert any("'date': 1 date of a year that has not come" in text for text in profile.warnings)


@pytest.mark.parametrize(("mark", "states"), [("nd", ("pos", "neg")), ("n.d.", ("yes", "no")), ("?", ("ja", "nein"))])
def test_not_done_is_no_third_result(tmp_path: Path, mark: str, states: tuple[str, str]) -> None:
    path = tmp_path / "toads.csv"
    cells = [*states * 12, mark, mark]
    pd.DataFrame({"toad": range(26), "Bd": cells}).to_csv(path, index=False)
    profile = profile_file(path)
    assert set(profile.column_profiles[1].levels) == set(states)
    assert any(f"2 cells ('{mark}') in column 'Bd' are read as missing values" in text for text in profile.warnings)
    read = read_table(str(path), **profile.types[0].read)
    assert int(read["Bd"].isna().sum()) == 2  # a step reads what the profile says


def test_a_diet_that_is_called_like_a_mark_stays(tmp_path: Path) -> None:
    path = tmp_path / "diets.csv"
    pd.DataFrame({"mouse": range(24), "diet": ["ND", "HFD", "chow"] * 8}).to_csv(path, index=False)
    assert set(profile_file(path).column_profiles[1].levels) == {"ND", "HFD", "chow"}
