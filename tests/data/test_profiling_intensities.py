"""Matrices of intensities are told from read counts by their values, whatever they are called."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import profile_files as make
import pytest

from engine.data.catalogue import read_data, write_data
from engine.data.columns.nature import judge_values
from engine.data.columns.quantities import block_of, marked_rows
from engine.data.profiler import profile_file
from engine.domain.datatypes import DataType
from engine.domain.profile import Profile

SAMPLES = [f"S{n:02d}" for n in range(1, 7)]


def proteins(rows: int = 60, *, faint: float = 0.1, seed: int = 3) -> pd.DataFrame:
    """Whole intensities about 2**24, a share of them zero, as a search engine writes them."""
    chance = np.random.default_rng(seed)
    values = np.round(2 ** chance.normal(24, 2, (rows, len(SAMPLES)))).astype("int64")
    values[chance.random(values.shape) < faint] = 0
    return pd.DataFrame(values, columns=SAMPLES)


def written(folder: Path, frame: pd.DataFrame) -> Profile:
    return profile_file(make.write(folder / "p.txt", make.csv_text(frame, sep="\t")))


def accessions(rows: int) -> list[str]:
    return [f"P{10000 + n}" for n in range(rows)]


def best(profile: Profile) -> DataType:
    assert profile.best is not None
    return profile.best.type


def test_whole_intensities_are_no_counts(tmp_path: Path) -> None:
    frame = proteins()
    frame.insert(0, "Protein IDs", accessions(len(frame)))
    profile = written(tmp_path, frame)
    assert best(profile) is DataType.EXPRESSION_MATRIX
    assert profile.serves_as(DataType.COUNT_MATRIX) is None
    assert profile.best is not None
    read = read_data(profile.path, "expression_matrix", **profile.best.read)
    raw = frame.set_index("Protein IDs")
    assert np.allclose((2**read).fillna(0), raw)
    assert (read.isna() == (raw == 0).to_numpy()).all().all()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (lambda c: c.negative_binomial(2, 2 / (2 + c.gamma(0.5, 200, (300, 1))), (300, 6)), "counts"),
        (lambda c: c.poisson(c.gamma(0.7, 3000, (300, 1)), (300, 6)), "counts"),  # abundant genes, some faint ones
        (lambda c: c.poisson(c.uniform(200, 900, (300, 1)), (300, 6)), "unclear"),  # no small value at all
        (lambda c: np.round(2 ** c.normal(22, 2, (300, 6))), "intensities"),
        (lambda c: 2 ** c.normal(22, 2, (300, 6)), "intensities"),
        (lambda c: c.normal(22, 2, (300, 6)), "log"),
        (lambda c: c.normal(0, 2, (300, 6)), "negative"),
        (lambda c: c.gamma(0.5, 30, (300, 6)), "normalised"),  # FPKM
        (lambda c: (x := c.gamma(0.5, 30, (300, 6))) / x.sum(axis=0) * 1e6, "per_million"),
    ],
)
def test_the_kind_of_values_is_seen_in_them(values, kind: str) -> None:
    assert judge_values(np.asarray(values(np.random.default_rng(5)), dtype=float)).kind == kind


@pytest.mark.parametrize("high", [1, 5, 9])
def test_counts_with_few_small_values_are_still_counts_where_there_are_some(high: int) -> None:
    chance = np.random.default_rng(high)
    values = chance.poisson(5000, (200, 6)).astype(float)
    values[:10] = chance.integers(1, high + 1, (10, 6))
    assert judge_values(values).kind == "counts"
    assert judge_values(values, measured=True).kind == "counts"


@pytest.mark.parametrize(("genes", "either"), [("GEN{}", True), ("ENSG{:011d}", False)])
def test_numbers_that_may_be_either_are_said_to_be(tmp_path: Path, genes: str, either: bool) -> None:
    frame = pd.DataFrame(np.random.default_rng(1).poisson(500, (80, 6)), columns=[f"ctrl_{n}" for n in range(6)])
    frame.insert(0, "gene", [genes.format(n) for n in range(80)])
    profile = written(tmp_path, frame)
    assert best(profile) is DataType.COUNT_MATRIX
    assert (profile.serves_as(DataType.EXPRESSION_MATRIX) is not None) == either
    assert any("no test for counts fits" in warning for warning in profile.warnings) == either


@pytest.mark.parametrize(
    "heading", ["LFQ intensity {}", "iBAQ {}", "Intensity {}", "{} MaxLFQ Intensity", "{}.PG.Quantity", "{} Intensity"]
)
def test_samples_of_one_quantity_are_found_among_others(tmp_path: Path, heading: str) -> None:
    frame = proteins().rename(columns=heading.format)
    chance = np.random.default_rng(2)
    for sample in SAMPLES:
        frame[f"MS/MS count {sample}"] = chance.integers(0, 40, len(frame))
        frame[f"Sequence coverage {sample} [%]"] = chance.uniform(0, 90, len(frame)).round(1)
    frame["Peptides"] = chance.integers(1, 30, len(frame))
    frame.insert(0, "Protein IDs", accessions(len(frame)))
    profile = written(tmp_path, frame)
    assert profile.sample_ids == SAMPLES
    assert profile.best is not None
    read = read_data(profile.path, "expression_matrix", **profile.best.read)
    assert list(read.columns) == SAMPLES
    assert len(read) == len(frame)


def test_intensities_of_two_dyes_in_cells_are_no_samples() -> None:
    assert block_of(["GFP intensity", "DAPI intensity", "area"], ["cell", "GFP intensity", "DAPI intensity"]) is None
    assert block_of(["GFP intensity", "DAPI intensity"], ["Protein IDs", "GFP intensity", "DAPI intensity"]) is not None


def test_decoys_and_contaminants_are_left_out_and_counted(tmp_path: Path) -> None:
    frame = proteins()
    frame.insert(0, "Protein IDs", accessions(len(frame)))
    frame.insert(1, "Gene names", [f"GEN{n};ALT{n}" for n in range(len(frame))])
    frame.loc[3, "Gene names"] = None
    frame.loc[[1, 2], "Reverse"] = "+"
    frame.loc[[2, 7], "Potential contaminant"] = "+"
    counts, out = marked_rows(frame)
    assert (counts, list(np.flatnonzero(out))) == ({"Reverse": 2, "Potential contaminant": 2}, [1, 2, 7])
    profile = written(tmp_path, frame)
    assert any("3 rows marked as no finding left out" in warning for warning in profile.warnings)
    assert profile.best is not None
    read = read_data(profile.path, "expression_matrix", **profile.best.read)
    assert [p for p in accessions(len(frame)) if p not in read.index] == ["P10001", "P10002", "P10007"]
    assert read.attrs["symbols"]["P10000"] == "GEN0"
    assert "P10003" not in read.attrs["symbols"]


def test_names_of_genes_outlive_writing_and_reading(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    matrix = pd.DataFrame({"a": [1.5, np.nan], "b": [2.0, 3.0]}, index=pd.Index(["P1", "P2"], name="feature"))
    matrix.attrs["symbols"] = {"P2": "TP53"}
    name = write_data(matrix, "m", "expression_matrix")
    again = read_data(name, "expression_matrix", index_col=0)
    assert again.attrs["symbols"] == {"P2": "TP53"}
    pd.testing.assert_frame_equal(again, matrix)


def test_what_an_instrument_says_of_a_feature_is_no_sample(tmp_path: Path) -> None:
    frame = proteins().astype(float)
    frame.insert(0, "feature", [f"F{n:03d}" for n in range(60)])
    frame.insert(1, "m/z", np.linspace(90, 900, 60).round(4))
    frame.insert(2, "rt_min", np.linspace(0.5, 14, 60).round(2))
    profile = written(tmp_path, frame)
    assert profile.details["value_kind"] == "intensities"
    assert profile.sample_ids == SAMPLES
    assert best(profile) is DataType.EXPRESSION_MATRIX


@pytest.mark.parametrize(
    "months", ["jan feb mar apr may jun", "ene feb mar abr may jun", "Januar Februar März April Mai Juni"]
)
def test_a_column_a_month_is_a_table(months: str, tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    table = pd.DataFrame(chance.normal(25, 4, (638, 6)).round(1), columns=months.split())
    table.insert(0, "vaca", [f"H{n:03d}" for n in range(638)])
    assert best(written(tmp_path, table)) is DataType.TABLE
