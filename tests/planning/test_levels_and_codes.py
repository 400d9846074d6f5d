"""Levels spelled in several ways are one, and numbers that stand for a missing value are none: found, said, and never too many.

All data are invented; what is expected follows from how they were made.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.data.catalogue import read_data
from engine.data.profiler import profile_file
from engine.domain.profile import Profile
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(11)


def written(tmp_path: Path, **columns: object) -> Profile:
    pd.DataFrame(columns).to_csv(tmp_path / "clinic.csv", index=False)
    return profile_file(tmp_path / "clinic.csv")


def as_read(profile: Profile) -> pd.DataFrame:
    return read_data(profile.path, "table", **profile.types[0].read)


def test_levels_that_differ_by_case_or_blanks_are_one_in_profile_and_step(tmp_path):
    ward = ["Intensive Care"] * 6 + ["intensive  care", "INTENSIVE CARE "] + ["Surgery"] * 4
    profile = written(tmp_path, ward=ward, score=RNG.normal(size=12))
    assert profile.column("ward").levels == {"Intensive Care": 8, "Surgery": 4}
    assert as_read(profile)["ward"].value_counts().to_dict() == {"Intensive Care": 8, "Surgery": 4}
    (told,) = [warning for warning in profile.warnings if "differ only by case or blanks" in warning]
    assert "'INTENSIVE CARE '" in told
    assert "as 'Intensive Care'" in told


def test_levels_that_differ_by_an_accent_are_one_and_it_is_said(tmp_path):
    given, site = ["si", "no", "SI", "no", "si"] * 4 + ["s\u00ed"] * 3, ["A"] * 11 + ["\u00c5"] * 12
    profile = written(tmp_path, vacunada=given, allele=site, score=RNG.normal(size=23))
    assert profile.column("vacunada").levels == {"si": 15, "no": 8}
    assert as_read(profile)["vacunada"].value_counts().to_dict() == {"si": 15, "no": 8}
    assert len(profile.column("allele").levels) == 2, "single letters may be names"
    assert any("case, accents or blanks" in warning and "'s\u00ed'" in warning for warning in profile.warnings)


def test_two_raters_who_write_a_judgement_differently_agree(tmp_path):
    first = ["Benign", "Malignant", "Benign", "Unsure"] * 5
    profile = written(tmp_path, reader_1=first, reader_2=[word.lower() for word in first])
    table = as_read(profile)
    assert (table["reader_1"] == table["reader_2"]).all()


@pytest.mark.parametrize(
    "levels",
    [["A", "a"], ["BB", "Bb", "bb"], ["C/C", "C/c"], ["mM", "mm"], ["IL6", "Il6"], ["DE", "De", "dE"], ["s1", "S1"]],
)
def test_what_case_tells_apart_stays_apart(tmp_path, levels):
    profile = written(tmp_path, marker=levels * 8, y=RNG.normal(size=8 * len(levels)))
    assert set(profile.column("marker").levels) == set(levels)
    assert set(as_read(profile)["marker"]) == set(levels)


def test_letters_for_the_sexes_are_words(tmp_path):
    profile = written(tmp_path, sex=["M", "F", "m", "F", "f", "M"] * 3, y=RNG.normal(size=18))
    assert profile.column("sex").levels == {"F": 9, "M": 9}


def ages(*codes: int, n: int = 60) -> list[float]:
    return [*RNG.integers(21, 88, n).tolist(), *codes]


@pytest.mark.parametrize(
    ("values", "code"),
    [(ages(999), 999), (ages(999, 999), 999), ([*(RNG.normal(25, 3, 60).round(1)), 99, 99, 99], 99),
     ([*RNG.integers(1, 6, 60), 88, 88], 88), ([*RNG.integers(1990, 2020, 60), 9999, 9999], 9999)],
)  # fmt: skip
def test_nines_far_beyond_all_others_are_missing(tmp_path, values, code):
    profile = written(tmp_path, y=RNG.normal(400, 300, len(values)).round(), value=values)
    missing = values.count(code)
    assert profile.column("value").missing == missing
    assert profile.column("value").maximum < code
    assert as_read(profile)["value"].isna().sum() == missing
    assert as_read(profile)["y"].notna().all()
    assert any(str(code) in note for note in profile.column("value").notes)
    assert any(str(code) in warning and "missing" in warning for warning in profile.warnings)


def test_a_code_of_one_column_is_a_value_of_another(tmp_path):
    profile = written(tmp_path, y=RNG.normal(size=62), age=ages(999, 999), dna=[*RNG.integers(500, 1900, 61), 999])
    assert as_read(profile)["dna"].notna().all()
    assert as_read(profile)["age"].isna().sum() == 2


@pytest.mark.parametrize(
    ("name", "values"),
    [("platelets", [*RNG.normal(270, 70, 60).round(), 999]), ("ct", [*RNG.normal(29, 3, 60).round(2), 40, 40]),
     ("price", [9, 19, 49, 99, 149, 199, 999] * 8), ("patient_no", [*range(1, 60), 999]),
     ("answer", [*RNG.integers(1, 10, 60)]), ("reads", [*RNG.negative_binomial(1, 0.02, 60), 999]),
     ("titre", [10, 20, 40, 80, 160, 320, 999] * 8), ("spo2", [*RNG.integers(88, 99, 60), 99, 99])],
)  # fmt: skip
def test_values_that_may_be_real_are_kept(tmp_path, name, values):
    profile = written(tmp_path, y=RNG.normal(size=len(values)), **{name: values})
    assert profile.column(name).missing == 0


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    folder, n = tmp_path_factory.mktemp("survey"), 90
    pd.DataFrame(
        {"arm": ["drug", "placebo"] * (n // 2), "smoking": RNG.choice([1, 2, 9], n), "wait": RNG.integers(50, 999, n),
         "pain": [*RNG.integers(0, 9, n - 4), 9, 9, 9, 9]}
    ).assign(wait=lambda t: t["wait"].where(t.index != 7, 999)).to_csv(folder / "survey.csv", index=False)  # fmt: skip
    return profile_file(folder / "survey.csv")


@pytest.mark.parametrize(
    ("question", "column", "code"),
    [("Does pain differ between the arms? For pain, 9 stands for not asked.", "pain", "9"),
     ("In wait 999 = missing. Is wait longer with drug than with placebo?", "wait", "999"),
     ("Is smoking associated with arm? smoking unknown was coded as 9", "smoking", "9"),
     ("compare wait by arm, missing values are written as 999", "wait", "999")],
)  # fmt: skip
def test_what_a_question_calls_missing_is_missing_in_the_column_it_names(survey, question, column, code):
    plan = Planner(builtin_tools()).plan(question, [survey]).plan
    (data,) = plan.datasets
    assert data.read["na"] == {column: [code]}
    assert any("as the question says" in warning and repr(column) in warning for warning in plan.warnings)
    assert plan.nodes[-1].tool in ("compare_groups", "contingency")


def test_a_code_that_no_question_declares_stays_a_number(survey):
    plan = Planner(builtin_tools()).plan("Does pain differ between drug and placebo?", [survey]).plan
    assert "na" not in plan.datasets[0].read
