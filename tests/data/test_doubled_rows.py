"""A row that was typed twice counts once, where names tell all others apart; rows that may be the same on purpose stay."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.api import open_engine
from engine.data.catalogue import read_data
from engine.data.profiler import profile_files

TOLD = "the same as an earlier row in every column, left out."


def cohort():
    draw = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "patient": range(101, 161),
            "site": ["A", "B", "C"] * 20,
            "age": draw.integers(30, 80, 60),
            "bmi": draw.normal(25, 3, 60).round(1),
        }
    )


def visits():
    """Three visits of 20 mice in two tissues: no column alone names a row."""
    rows = [(f"M{m}", tissue, day) for m in range(20) for tissue in ("lung", "spleen") for day in (0, 7, 14)]
    table = pd.DataFrame(rows, columns=["mouse", "tissue", "day"])
    return table.assign(ifng=np.random.default_rng(6).integers(0, 4, len(table)) / 10)


def profiled(tmp_path, table, doubled=(), **how):
    rows = [at for at in range(len(table)) for _ in range(1 + (at in doubled))]
    path = tmp_path / "t.csv"
    table.iloc[rows].reset_index(drop=True).to_csv(path, index=how.get("index", False))
    return profile_files([path])[0]


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("made", [cohort, visits])
def test_a_row_that_stands_twice_counts_once(made, index, tmp_path):
    profile = profiled(tmp_path, made(), {7, 8}, index=index)
    assert profile.rows == len(made())
    assert f"2 rows {TOLD}" in " ".join(profile.warnings)
    for guess in profile.types:
        if guess.type.value in ("table", "sample_sheet"):
            assert len(read_data(profile.path, guess.type, **guess.read)) == len(made())


def test_the_structure_is_that_of_the_clean_table(tmp_path):
    assert profiled(tmp_path, visits(), {7}).structure == profiled(tmp_path, visits()).structure


def replicates():
    """Two wells a sample, some of which read the same."""
    values = np.random.default_rng(7).normal(20, 1, 60).round(1)
    return pd.DataFrame({"sample": [f"s{k // 2}" for k in range(60)], "gene": ["Il6", "Gapdh"] * 30, "ct": values})


def unnamed():
    draw = np.random.default_rng(8)
    return pd.DataFrame(
        {"sex": draw.choice(["m", "f"], 60), "grade": draw.integers(0, 3, 60), "kg": draw.integers(20, 90, 60)}
    )


def wells():
    return replicates().assign(gene="Il6")


@pytest.mark.parametrize("made", [unnamed, wells])
def test_rows_that_may_be_the_same_on_purpose_stay(made, tmp_path):
    profile = profiled(tmp_path, made(), {7})
    assert profile.rows == len(made()) + 1
    assert TOLD not in " ".join(profile.warnings)


def test_many_equal_rows_are_told_and_kept(tmp_path):
    profile = profiled(tmp_path, cohort(), {*range(20)})
    assert profile.rows == 80
    assert "20 rows the same as an earlier row in every column." in " ".join(profile.warnings)


@pytest.mark.parametrize(
    ("question", "rows"),
    [("compare age between sites", 20), ("compare age between sites, keep the duplicates", 21), ("compare age between sites, without duplicates", 20),
     ("compare age between sites, measured in duplicate", 20), ("compare age between sites, the dose was doubled", 20)],
)  # fmt: skip
def test_a_question_keeps_them(question, rows, tmp_path):
    path = profiled(tmp_path, cohort(), {7}).path
    with open_engine(workspace=tmp_path / "w", warm_workers=False, embedding_model="none") as engine:
        plan, profiles = engine.draft(question, [path])
        goal = engine.briefs(plan, profiles)[0].sentence()
    assert f"site: A (20), B ({rows}), C (20)" in goal
