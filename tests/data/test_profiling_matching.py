"""Two files of one experiment rarely name its samples alike; the difference must be named, not guessed away."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import profile_files as make
import pytest

from engine.data.matching import cross_check, match_samples, same_samples
from engine.data.profiler import profile_file


@pytest.fixture
def pair(tmp_path: Path):
    """Profile a matrix with its sample sheet after the sheet's names were changed."""

    def profiles(change: Callable[[str], str] = str, samples: list[str] | None = None, column: str = "sample"):
        names = samples or make.SAMPLES
        matrix = make.write(tmp_path / "counts.csv", make.csv_text(make.counts(samples=names)))
        sheet = make.write(tmp_path / "sheet.csv", make.csv_text(make.sheet([change(n) for n in names], column)))
        return profile_file(matrix), profile_file(sheet)

    return profiles


def test_equal_names_match_as_row_names_without_a_warning(pair) -> None:
    matrix, sheet = pair()
    assert match_samples(matrix, sheet)[:5] == (None, 6, [], [], 1.0)
    assert cross_check([matrix, sheet]) == []


def test_names_in_another_column_are_found(tmp_path: Path) -> None:
    frame = make.sheet([f"GSM{i}" for i in range(900, 906)], "geo_id")
    frame["title"] = make.SAMPLES
    matrix = profile_file(make.write(tmp_path / "c.csv", make.csv_text(make.counts())))
    sheet = profile_file(make.write(tmp_path / "s.csv", make.csv_text(frame)))
    assert match_samples(matrix, sheet).column == "title"
    assert match_samples(matrix, sheet).fraction == 1.0
    assert cross_check([matrix, sheet]) == []


def test_missing_samples_are_named_on_both_sides(tmp_path: Path) -> None:
    matrix = profile_file(make.write(tmp_path / "c.csv", make.csv_text(make.counts(samples=make.SAMPLES[:5]))))
    sheet = profile_file(make.write(tmp_path / "s.csv", make.csv_text(make.sheet([*make.SAMPLES[1:], "treat_9"]))))
    match = match_samples(matrix, sheet)
    assert (match.n_matched, match.only_in_matrix, match.only_in_sheet) == (4, ["ctrl_1"], ["treat_3", "treat_9"])
    assert match.fraction == 0.8
    warnings = cross_check([matrix, sheet])
    assert any(w.startswith("1 sample of c.csv not in s.csv: 'ctrl_1'") for w in warnings)
    assert any(w.startswith("2 samples of s.csv not in c.csv: 'treat_3', 'treat_9'") for w in warnings)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (str.upper, "upper and lower case"),
        (lambda name: name.replace("_", "-"), "characters between the parts"),
        (lambda name: name.replace("_", "."), "characters between the parts"),
        (lambda name: name.upper().replace("_", " "), "case, punctuation or spaces"),
        (lambda name: name.replace("_", "_0"), "leading zeros"),
    ],
)
def test_systematic_difference_is_named(pair, change: Callable[[str], str], words: str) -> None:
    matrix, sheet = pair(change)
    assert match_samples(matrix, sheet).n_matched == 0
    warnings = cross_check([matrix, sheet])
    assert len(warnings) == 1
    assert words in warnings[0]
    assert repr(make.SAMPLES[0]) in warnings[0]
    assert repr(change(make.SAMPLES[0])) in warnings[0]


@pytest.mark.parametrize(
    "change", [str.upper, lambda name: name.replace("_", "-"), lambda name: name.replace("_", ". ")]
)
def test_names_that_say_the_same_are_taken_for_the_same(pair, change: Callable[[str], str]) -> None:
    matrix, sheet = pair(change)
    found = same_samples(matrix, sheet)
    assert found is not None
    assert found[1] == {change(name): name for name in make.SAMPLES}
    assert cross_check([matrix, sheet])[0].endswith("they are taken for the same.")


@pytest.mark.parametrize("change", [lambda name: name.replace("_", "_0")])
def test_names_that_may_say_something_else_are_not_taken_for_the_same(pair, change: Callable[[str], str]) -> None:
    matrix, sheet = pair(change)
    assert same_samples(matrix, sheet) is None
    assert cross_check([matrix, sheet])[0].endswith("make the names equal.")


def test_two_names_that_would_become_one_are_left_apart(pair) -> None:
    names = ["s-1", "s.1", "s-2", "s.2", "s-3", "s.3"]
    matrix, sheet = pair(lambda name: re.sub("[-.]", "_" if "-" in name else " ", name), names)
    assert match_samples(matrix, sheet).n_matched == 0
    assert same_samples(matrix, sheet) is None


def test_equal_names_need_no_other_spelling(pair) -> None:
    assert same_samples(*pair()) is None


def test_prefix_added_by_r_is_no_difference(tmp_path: Path) -> None:
    names = ["1A", "2A", "3A", "4A", "5A", "6A"]
    matrix = profile_file(make.write(tmp_path / "c.csv", make.csv_text(make.counts(samples=[f"X{n}" for n in names]))))
    sheet = profile_file(make.write(tmp_path / "s.csv", make.csv_text(make.sheet(names))))
    assert match_samples(matrix, sheet).called == {name: f"X{name}" for name in names}
    assert "differ only in a shared 'X'; they are matched without it" in cross_check([matrix, sheet])[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda name: f"{name}.bam", "a shared '.bam'"),
        (lambda name: f"run7-{name}", "a shared 'run7-'"),
        (lambda name: f"D:/lanes/{name}.sorted.bam", "a shared 'D:/lanes/' and '.sorted.bam'"),
        (lambda name: f"LFQ {name}", "a shared 'LFQ '"),
    ],
)
@pytest.mark.parametrize("ours", [True, False])
def test_a_common_beginning_or_end_is_no_difference(tmp_path: Path, change, words: str, ours: bool) -> None:
    longer = [change(name) for name in make.SAMPLES]
    counts, rows = (longer, make.SAMPLES) if ours else (make.SAMPLES, longer)
    matrix = profile_file(make.write(tmp_path / "c.csv", make.csv_text(make.counts(samples=counts))))
    sheet = profile_file(make.write(tmp_path / "s.csv", make.csv_text(make.sheet(rows))))
    match = match_samples(matrix, sheet)
    assert (match.fraction, match.only_in_matrix, match.only_in_sheet) == (1.0, [], [])
    assert dict(match.called) == dict(zip(rows, matrix.sample_ids, strict=True))
    assert cross_check([matrix, sheet])[0].startswith(
        f"The samples of c.csv and s.csv differ only in {words}; they are"
    )


def test_strange_names_match_nothing_and_that_is_said(pair) -> None:
    names = iter(["apple", "pear", "plum", "fig", "kiwi", "lime"])
    matrix, sheet = pair(lambda _: next(names))
    assert cross_check([matrix, sheet])[0].startswith("None of the 6 samples of counts.csv")


def test_same_content_twice_is_reported(pair, tmp_path: Path) -> None:
    matrix, sheet = pair()
    shutil.copy(matrix.path, tmp_path / "copy.csv")
    warnings = cross_check([matrix, sheet, profile_file(tmp_path / "copy.csv")])
    assert warnings == ["counts.csv and copy.csv have exactly the same content; one of them is enough."]


def test_gene_names_of_matrix_and_library_are_compared(pair, tmp_path: Path) -> None:
    matrix, _ = pair()
    symbols = "\t".join(make.SYMBOLS)
    library = profile_file(make.write(tmp_path / "sets.gmt", f"A\tx\t{symbols}\nB\tx\t{symbols}\n"))
    assert "counts.csv names genes by Ensembl ids, sets.gmt by symbols" in cross_check([matrix, library])[0]
    mouse = make.counts([g.capitalize() for g in make.SYMBOLS if "-" not in g], name="gene")
    other = profile_file(make.write(tmp_path / "mouse.csv", make.csv_text(mouse)))
    assert "mouse.csv has mouse genes, sets.gmt human genes" in cross_check([other, library])[0]
