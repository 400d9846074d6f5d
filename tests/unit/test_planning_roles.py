"""What happened and what was done, ranges of levels, whom a question is about: parts that must not be exchanged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.planning.planner import Planner
from engine.planning.read import read
from engine.planning.sheets import Data, was_given
from engine.profiling.profiler import profile_files
from engine.toolbox.registry import builtin_tools

N = 240
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    path = tmp_path_factory.mktemp("roles") / "ward.csv"
    pd.DataFrame(
        {
            "patient_no": range(1, N + 1),
            "arm": RNG.choice(["netilin", "placebo"], N),
            "pneumonia": RNG.choice(["no", "yes"], N, p=[0.8, 0.2]),
            "stage": RNG.choice(["I", "II", "III", "IV", "V"], N),
            "mother_age": RNG.integers(18, 44, N),
            "birth_weight_g": RNG.normal(3100, 400, N).round(),
            "swab": RNG.choice(["negative", "positive", "spoilt"], N),
            "days_in_bed": RNG.exponential(20, N).round() + 1,
            "score_pre": RNG.normal(20, 4, N).round(1),
            "score_2m": RNG.normal(17, 4, N).round(1),
            "score_4m": RNG.normal(15, 4, N).round(1),
        }
    ).to_csv(path, index=False)
    return profile_files([path])


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


def params(planner, profiles, question: str) -> dict:
    plan = planner.plan(question, profiles).plan
    return max(plan.nodes, key=lambda node: node.priority).params


@pytest.mark.parametrize(
    "question",
    [
        "NNT to prevent one pneumonia with netilin?",
        "netilin and pneumonia: give me the relative risk",
        "risk ratio of arm and pneumonia",
    ],
)
def test_what_was_given_to_somebody_did_not_happen_to_them(planner, profiles, question):
    found = params(planner, profiles, question)
    assert (found["outcome"], found["exposure"]) == ("pneumonia", "arm")
    assert (found["event_value"], found["reference"]) == ("yes", "placebo")


@pytest.mark.parametrize(("name", "levels"), [("treatment", "ab"), ("arm", "xy"), ("grp", ("drug", "placebo"))])
def test_a_treatment_is_known_by_its_name_or_by_its_placebo(name, levels, tmp_path):
    pd.DataFrame({name: list(levels) * 30, "y": RNG.normal(size=60)}).to_csv(tmp_path / "t.csv", index=False)
    assert was_given(profile_files([tmp_path / "t.csv"])[0].column_profiles[0])


@pytest.mark.parametrize("name", ["treatment_success", "drug_resistance", "pneumonia", "arm_length"])
def test_what_only_speaks_of_a_treatment_is_none(name, tmp_path):
    pd.DataFrame({name: ["no", "yes"] * 30, "y": RNG.normal(size=60)}).to_csv(tmp_path / "t.csv", index=False)
    assert not was_given(profile_files([tmp_path / "t.csv"])[0].column_profiles[0])


def test_what_is_said_to_be_more_often_is_what_happens(profiles):
    question = "Were swabs positive more often with netilin than with placebo?"
    assert read(question, Data.of(profiles)).is_a("swab", "outcome")


def test_two_states_are_left_where_the_rows_of_a_third_go(planner, profiles):
    found = params(planner, profiles, "Is the share of positive swabs higher with netilin? Ignore spoilt ones.")
    assert (found["event"], found["event_value"], found["group"]) == ("swab", "positive", "arm")


@pytest.mark.parametrize("words", ["stages II to IV", "stage II-IV", "stage II through IV"])
def test_a_range_of_levels_takes_in_those_between(profiles, words):
    reading = read(f"mean birth weight in {words} only", Data.of(profiles))
    assert reading.levels("stage") == ["II", "III", "IV"]
    assert [r.values for r in reading.restrictions if r.column == "stage"] == [("II", "III", "IV")]


def test_a_range_over_all_levels_leaves_out_no_row(planner, profiles):
    plan = planner.plan("Does birth weight differ between stages I to V?", profiles).plan
    assert not any(node.params.get("condition") for node in plan.nodes)


def test_a_change_from_one_level_to_another_is_no_range(profiles):
    reading = read("How does birth weight change from stage II to stage IV?", Data.of(profiles))
    assert reading.levels("stage") == ["II", "IV"]


def test_persons_are_not_what_was_measured_of_them(planner, profiles):
    assert params(planner, profiles, "Only mothers on placebo: mean and SD of the birth weight")["columns"] == [
        "birth_weight_g"
    ]


def test_two_occasions_named_are_the_two_compared(planner, profiles):
    found = params(planner, profiles, "did the score fall from score_pre to score_2m in the same patients?")
    used = [name for value in found.values() for name in (value if isinstance(value, list) else [value])]
    assert {"score_pre", "score_2m"} <= {*used}
    assert "score_4m" not in used


def test_both_arms_are_not_one_of_them(profiles):
    reading = read("length of stay, both arms", Data.of(profiles))
    assert not reading.restrictions


def test_two_nouns_share_the_words_before_them(profiles):
    reading = read("Is mother's age and weight of birth related?", Data.of(profiles))
    assert {"mother_age", "birth_weight_g"} <= {mention.column for mention in reading.mentions}


def test_of_two_occasions_the_earlier_is_subtracted(planner, profiles):
    found = params(planner, profiles, "did the score fall from score_pre to score_2m in the same patients?")
    assert (found["first"], found["second"]) == ("score_2m", "score_pre")


def test_the_other_of_two_levels_is_the_reference(planner, profiles):
    found = params(
        planner, profiles, "logistic regression: pneumonia by arm, placebo vs netilin, adjusted for mother_age"
    )
    assert "arm" not in found.get("references", {})  # a control stays the reference


def test_a_gene_that_words_single_out_is_the_reference(planner, tmp_path):
    genes = [(s, g, gene, 20 + RNG.normal()) for s, g in zip("abcdef", ["ctl"] * 3 + ["lps"] * 3, strict=True)
             for gene in ("Actb", "Gapdh", "Il6", "Tnf")]  # fmt: skip
    pd.DataFrame(genes, columns=["sample", "treatment", "gene", "Ct"]).to_csv(tmp_path / "wells.csv", index=False)
    found = profile_files([tmp_path / "wells.csv"])
    question = "fold change of Il6 and Tnf with lps, delta delta Ct, normalised to Actb and Gapdh"
    assert params(planner, found, question)["references"] == ["Actb", "Gapdh"]


def test_what_is_to_be_held_constant_is_not_dropped(planner, profiles):
    plan = planner.plan("does birth weight differ between the arms, adjusted for mother_age?", profiles).plan
    assert plan.analysis[0].id in ("ancova", "linear_regression")
    assert "mother_age" in str(max(plan.nodes, key=lambda node: node.priority).params)


def test_a_group_that_no_column_has_is_told(planner, profiles):
    plan = planner.plan("Is birth weight higher in the computer group?", profiles).plan
    assert any("computer" in asked.text for asked in plan.open_questions)


def test_a_reader_is_told_by_a_letter(tmp_path):
    rows = {"slide": range(40), "reader_a": RNG.choice(list("pn"), 40), "reader_b": RNG.choice(list("pn"), 40)}
    pd.DataFrame(rows).to_csv(tmp_path / "slides.csv", index=False)
    reading = read("How well does reader A agree with reader B?", Data.of(profile_files([tmp_path / "slides.csv"])))
    assert {m.column for m in reading.mentions} >= {"reader_a", "reader_b"}


def test_a_unit_is_read_behind_its_number(tmp_path):
    rows = {"days": RNG.integers(10, 2900, 60), "died": [0, 1] * 30}
    pd.DataFrame(rows).to_csv(tmp_path / "long.csv", index=False)
    found = profile_files([tmp_path / "long.csv"])
    step = params(
        Planner(builtin_tools()), found, "Kaplan-Meier: how many live 730 days (the patients were followed for 8 years)"
    )
    assert step.get("at", 730) == 730
    assert step.get("at_unit", "days") == "days"
