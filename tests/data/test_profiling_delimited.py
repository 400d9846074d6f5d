"""Every file here is one somebody brings: it must be read as meant, or refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import profile_files as make
import pytest

from engine.data.catalogue import read_data
from engine.data.profiler import profile_file
from engine.domain.profile import Profile

COUNTS = make.counts()
TRUTH = COUNTS.set_index("gene_id")


def c(frame: pd.DataFrame = COUNTS, **options: object) -> str:
    return make.csv_text(frame, **options)


def german() -> str:
    frame = make.numbers(COUNTS, lambda values: (values / 7).round(2))
    return frame.to_csv(index=False, sep=";", decimal=",")


# name -> (maker, type, rows, columns of what is read, a word of the warning expected or "" for none at all)
READABLE: dict[str, tuple[Callable[[Path], Path], str, tuple[int, int], str]] = {
    "comma.csv": (lambda p: make.write(p, c()), "count_matrix", (200, 6), ""),
    "tab.tsv": (lambda p: make.write(p, c(sep="\t")), "count_matrix", (200, 6), ""),
    "semicolon.csv": (lambda p: make.write(p, c(sep=";")), "count_matrix", (200, 6), ""),
    "pipe.txt": (lambda p: make.write(p, c(sep="|")), "count_matrix", (200, 6), ""),
    "spaces.txt": (lambda p: make.write(p, c(sep=" ")), "count_matrix", (200, 6), ""),
    "tab_named.csv": (lambda p: make.write(p, c(sep="\t")), "count_matrix", (200, 6), ""),
    "bom.csv": (lambda p: make.write(p, c(), "utf-8-sig"), "count_matrix", (200, 6), ""),
    "utf16.txt": (lambda p: make.write(p, c(sep="\t"), "utf-16"), "count_matrix", (200, 6), ""),
    "packed.csv.gz": (lambda p: make.gzipped(p, c()), "count_matrix", (200, 6), ""),
    "packed_without_ending.csv": (lambda p: make.gzipped(p, c()), "count_matrix", (200, 6), ""),
    "windows.csv": (lambda p: make.write(p, c().replace("\n", "\r\n")), "count_matrix", (200, 6), ""),
    "old_mac.csv": (lambda p: make.write(p, c().replace("\n", "\r")), "count_matrix", (200, 6), ""),
    "mixed_ends.csv": (lambda p: make.write(p, c().replace("\n", "\r\n", 50)), "count_matrix", (200, 6), ""),
    "quoted.csv": (lambda p: make.write(p, c(quoting=1)), "count_matrix", (200, 6), ""),
    "no_last_newline.csv": (lambda p: make.write(p, c().rstrip("\n")), "count_matrix", (200, 6), ""),
    "r_table.txt": (make.r_table, "count_matrix", (200, 6), ""),
    "unnamed_index.csv": (lambda p: make.write(p, TRUTH.rename_axis(None).to_csv()), "count_matrix", (200, 6), ""),
    "comments.csv": (lambda p: make.write(p, "# made by us\n# twice\n" + c()), "count_matrix", (200, 6), ""),
    "hash_header.tsv": (lambda p: make.write(p, "#" + c(sep="\t")), "count_matrix", (200, 6), ""),
    "titled.csv": (lambda p: make.write(p, "Table S1. Counts\n\n" + c()), "count_matrix", (200, 6), ""),
    "featurecounts.txt": (make.featurecounts, "count_matrix", (200, 3), ""),
    "trailing_columns.csv": (
        lambda p: make.write(p, c().replace("\n", ",,\n") + ",,,,,,,,\n" * 3), "count_matrix", (200, 6), ""
    ),
    "trailing_separator.csv": (
        lambda p: make.write(p, c().replace("\n", ",\n").replace(",\n", "\n", 1)), "count_matrix", (200, 6), ""
    ),
    "thousands.tsv": (
        lambda p: make.write(p, c(COUNTS.assign(ctrl_1=[f"{v * 1000:,}" for v in COUNTS.ctrl_1]), sep="\t")),
        "count_matrix", (200, 6), "thousands",
    ),
    "decimal_comma.csv": (lambda p: make.write(p, german()), "expression_matrix", (200, 6), "decimal comma"),
    "samples_in_rows.csv": (make.samples_in_rows, "count_matrix", (40, 6), ""),
    "latin1.csv": (
        lambda p: make.write(p, c(make.sheet().assign(site="Köln Süd")), "latin-1"), "sample_sheet", (6, 4), "latin-1"
    ),
    "marks.csv": (
        lambda p: make.write(p, c(make.sheet(list("abcdef")).assign(crp=["1.5", "2", "n.d.", "4", "n.d.", "3"]))),
        "sample_sheet", (6, 4), "'n.d.'",
    ),
    "leading_zeros.csv": (
        lambda p: make.write(p, c(make.sheet([f"00{i}" for i in range(1, 7)]))), "sample_sheet", (6, 3), ""
    ),
    "ranked.rnk": (lambda p: make.write(p, "".join(f"{g}\t{i / 7 - 2:.3f}\n" for i, g in enumerate(make.SYMBOLS))),
                   "ranked_genes", (40, 2), "no header"),
    "inch.tsv": (lambda p: make.write(p, 'id\tnote\tx\n' + "".join(f's{i}\t"{i} inch\t{i}\n' for i in range(1, 9))),
                 "table", (8, 3), ""),
    "commas_in_quotes.csv": (
        lambda p: make.write(p, c(make.sheet().assign(note='a, b "c"'))), "sample_sheet", (6, 4), ""
    ),
}  # fmt: skip


@pytest.fixture(params=READABLE)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Profile, Path, str, tuple[int, int], str]:
    maker, kind, shape, warning = READABLE[request.param]
    path = maker(tmp_path / request.param)
    return profile_file(path), path, kind, shape, warning


def test_each_file_is_recognised_and_every_offered_type_reads(case) -> None:
    profile, path, kind, shape, _ = case
    assert profile.best is not None, profile.warnings
    assert profile.best.type == kind
    for guess in profile.types:
        value = read_data(str(path), guess.type.value, **guess.read)
        if guess is profile.best:
            assert value.shape == shape


def test_warnings_are_given_when_due_and_only_then(case) -> None:
    profile, _, _, _, warning = case
    assert all(text.rstrip().endswith(".") for text in profile.warnings)
    if warning:
        assert any(warning in text for text in profile.warnings), profile.warnings
    else:
        relevant = [text for text in profile.warnings if "same value" not in text]
        assert relevant == []


@pytest.mark.parametrize(
    "name", [n for n, case in READABLE.items() if case[1] == "count_matrix" and case[2] == (200, 6)]
)
def test_counts_read_are_the_counts_written(name: str, tmp_path: Path) -> None:
    path = READABLE[name][0](tmp_path / name)
    guess = profile_file(path).types[0]
    read = read_data(str(path), guess.type.value, **guess.read)
    expected = TRUTH.assign(ctrl_1=TRUTH.ctrl_1 * 1000) if name.startswith("thousands") else TRUTH
    assert list(read.index) == list(expected.index)
    assert list(read.columns) == list(expected.columns)
    assert (read.to_numpy() == expected.to_numpy()).all()
    assert set(map(str, read.dtypes)) == {"int64"}


def test_samples_in_rows_are_turned_around(tmp_path: Path) -> None:
    path = make.samples_in_rows(tmp_path / "wide.csv")
    profile = profile_file(path)
    assert profile.best is not None
    assert profile.best.read["transpose"] is True
    read = read_data(str(path), "count_matrix", **profile.best.read)
    assert list(read.columns) == make.SAMPLES == profile.sample_ids
    assert list(read.index) == make.SYMBOLS == profile.feature_ids


def test_sample_names_keep_leading_zeros(tmp_path: Path) -> None:
    names = ["001", "002", "003", "004", "005", "006"]
    profile = profile_file(make.write(tmp_path / "zeros.csv", c(make.sheet(names))))
    guess = profile.serves_as("sample_sheet")  # type: ignore[arg-type]
    assert guess is not None
    assert list(read_data(profile.path, "sample_sheet", **guess.read).index) == names == profile.sample_ids


BROKEN: dict[str, tuple[str | bytes, str]] = {
    "empty.csv": (b"", "empty"),
    "blank.csv": ("\n\n  \n", "blank lines"),
    "header_only.csv": ("gene,s1,s2\n", "no rows"),
    "ragged.csv": ("gene,s1,s2\nA,1,2\nB,3,4\nC,5,6,7\nD,7,8\nE,9,9\n", "line 4 has 4 fields"),
    "binary.csv": (bytes(range(256)) * 40, "binary"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n" + b"\x00" * 50, "an image"),
    "paper.pdf": (b"%PDF-1.7\n%\xe2\xe3\n1 0 obj", "PDF"),
    "old.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, ".xlsx or CSV"),
    "broken.xlsx": (b"PK\x03\x04" + b"\x00" * 100, "damaged"),
    "broken.csv.gz": (b"\x1f\x8b\x08\x00" + b"\x07" * 30, "damaged"),
    "cells.h5ad": (b"\x89HDF\r\n\x1a\n" + b"\x00" * 200, "damaged"),
    "not.h5ad": (b"gene,s1\nA,1\n", "no HDF5"),
    "page.csv": ("<!DOCTYPE html><html><body>Not found</body></html>", "web page"),
    "matrix.mtx": ("%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 1 5\n", "10x"),
    "tree.nwk": ("((A,B),C;", "brackets"),
    "nested.json": ('{"a": {"b": 1}}', "records"),
    "cut.json": ('[{"a": 1}, {"a"', "not valid JSON"),
    "data.rds": (b"X\n\x00\x00\x00\x03", "write.csv"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_unusable_file_gets_one_sentence_and_no_type(name: str, tmp_path: Path) -> None:
    content, words = BROKEN[name]
    profile = profile_file(make.write(tmp_path / name, content))
    assert profile.types == []
    assert len(profile.warnings) == 1
    assert words in profile.warnings[0]
    assert name in profile.warnings[0]
    assert "could not be understood" not in profile.warnings[0]


@pytest.mark.parametrize(("cell", "word"), [("<1", "limit 1"), ("failed", "'failed'"), ("1O4", "'1O4'")])
def test_sample_with_text_cells_stays_in_the_matrix(cell: str, word: str, tmp_path: Path) -> None:
    frame = COUNTS.astype({"ctrl_1": str})
    frame.loc[[4, 9], "ctrl_1"] = cell
    profile = profile_file(make.write(tmp_path / "t.csv", c(frame)))
    assert profile.best is not None
    assert profile.best.confidence <= 0.75
    assert any("ctrl_1" in warning and word in warning for warning in profile.warnings)
    assert any("2 missing values in 2 rows" in warning for warning in profile.warnings)
    read = read_data(profile.path, "count_matrix", **profile.best.read)
    assert read["ctrl_1"].isna().sum() == 2
    assert list(read.columns) == make.SAMPLES


def test_sample_of_words_is_not_lost_in_silence(tmp_path: Path) -> None:
    frame = COUNTS.astype({"ctrl_1": str})
    frame.loc[range(60), "ctrl_1"] = "low"
    profile = profile_file(make.write(tmp_path / "t.csv", c(frame)))
    assert profile.best is not None
    assert profile.best.confidence <= 0.5
    assert any("1 column ('ctrl_1') left out of the matrix" in warning for warning in profile.warnings)


@pytest.mark.parametrize("sep", [";", "\t"])
def test_three_decimals_are_not_thousands(sep: str, tmp_path: Path) -> None:
    rows = "".join(f"s{i}{sep}{'ab'[i % 2]}{sep}0,{i + 125}\n" for i in range(8))
    profile = profile_file(make.write(tmp_path / "t.csv", f"sample{sep}group{sep}ratio\n{rows}"))
    read = read_data(profile.path, "table", **profile.types[0].read)
    assert read.iloc[0, -1] == pytest.approx(0.125)


def test_long_file_is_counted_but_not_wholly_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.data.reading import delimited

    monkeypatch.setattr(delimited, "MAX_ROWS", 50)
    monkeypatch.setattr(delimited, "MAX_CELLS", 50 * 7)
    frame = make.counts(make.ensembl(5000))
    profile = profile_file(make.write(tmp_path / "t.csv", c(frame)))
    assert profile.rows == 5000
    assert profile.summary.startswith(
        "About 5,000 genes x 6 samples of raw counts, judged from the values in the first 50"
    )
    assert (profile.looked_at, profile.rows_estimated, profile.rows_text) == (50, True, "about 5,000")
    assert "library_sizes" not in profile.details
    assert any("checked in the first 1,000 of about 5,000 rows" in w or "first 50 of" in w for w in profile.warnings)


@pytest.mark.parametrize("cut", [200, 3000])
def test_text_beyond_the_limit_is_counted(cut: int, tmp_path: Path) -> None:
    from engine.data.reading.textfile import read_text

    text = c()
    part = read_text(make.write(tmp_path / "t.csv", text), limit=cut)
    assert not part.complete
    assert len(part.lines()) + part.more_lines == text.count("\n")


def test_comments_between_rows_never_cut_cells(tmp_path: Path) -> None:
    clean = "id,g,x\na,k,1\n# again\nb,k,2\nc,l,3\n"
    profile = profile_file(make.write(tmp_path / "t.csv", clean))
    assert {guess.read["comment"] for guess in profile.types} == {"#"}
    assert read_data(profile.path, "table", sep=",", comment="#").shape == (3, 3)
    profile = profile_file(make.write(tmp_path / "u.csv", clean.replace("b,k", "b,k #2")))
    assert profile.types == []
    assert "would be cut there" in profile.warnings[0]


def test_numbers_with_a_hash_before_them_are_no_comments(tmp_path: Path) -> None:
    rows = "".join(f"#{n:02d},{'AB'[n % 2]},{n * 1.5}\n" for n in range(1, 21))
    path = make.write(tmp_path / "mice.csv", "mouse,group,weight\n" + rows)
    profile = profile_file(path)
    assert profile.rows == 20
    assert not any("comment" in guess.read for guess in profile.types)
    assert read_data(str(path), "table", sep=",")["mouse"].iloc[0] == "#01"


def test_the_first_rows_are_kept_as_they_are_read(tmp_path):
    rows = "".join(f"p{k},{k if k != 1 else ''},{'x' * 100},2020-01-0{k + 1}\n" for k in range(9))
    place = tmp_path / "first.csv"
    place.write_text(f"patient,dose, note ,day\n{rows}")
    head = profile_file(place).head
    assert list(head) == ["patient", "dose", "note", "day"]
    assert head["patient"] == ["p0", "p1", "p2", "p3", "p4", "p5"]
    assert head["dose"] == ["0", "", "2", "3", "4", "5"]  # whole numbers, though a column with gaps has none
    assert head["note"] == ["x" * 60] * 6
    assert head["day"][0] == "2020-01-01"
    wide = tmp_path / "wide.csv"
    wide.write_text("a,a,b" + ",c" * 60 + "\n" + "1,2,3" + ",4" * 60 + "\n" + "1,2,3" + ",5" * 60 + "\n")
    assert len(profile_file(wide).head) == 30
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert profile_file(empty).head == {}
