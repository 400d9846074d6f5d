"""What happened and what was done, ranges of levels, whom a question is about: parts that must not be exchanged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.planning.reading.read import read
from engine.planning.tables.sheets import Data, was_given
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
    for question in ("Il6 normalised to Actb, lps vs ctl, ddCt", "Il6 relative to Actb, lps vs ctl, ddCt fold change"):
        assert params(planner, found, question)["references"] == ["Actb"]


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


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    rng = np.random.default_rng(8)
    path = tmp_path_factory.mktemp("ward") / "trial.csv"
    n = 150
    pd.DataFrame(
        {
            "Pat_ID": [f"P{i:03}" for i in range(n)],
            "TRT": rng.choice(["placebo", "10 mg", "20 mg", "10mg"], n, p=[0.4, 0.28, 0.28, 0.04]),
            "Arm": rng.choice(["A", "B", "a"], n, p=[0.5, 0.45, 0.05]),
            "Age (y)": rng.integers(30, 80, n),
            "BMI kg/m2": rng.normal(27, 4, n).round(1),
            "SBP_scr (mmHg)": rng.normal(150, 9, n).round(),
            "SBP_wk4 (mmHg)": rng.normal(145, 9, n).round(),
            "SBP_wk12 (mmHg)": rng.normal(141, 9, n).round(),
            "days": rng.integers(10, 900, n),
            "Status_last": rng.choice([0, 1, 2], n, p=[0.2, 0.7, 0.1]),
            "RapidTest": rng.choice(["pos", "neg", "invalid"], n, p=[0.4, 0.55, 0.05]),
            "blood culture": rng.choice([0, 1, 9], n, p=[0.5, 0.44, 0.06]),
            "score": rng.normal(50, 9, n).round(1),
        }
    ).to_csv(path, index=False)
    return profile_files([path])


def test_spellings_of_a_dose_and_slips_of_an_arm_are_one_level(ward):
    levels = {column.name: set(column.levels) for column in ward[0].column_profiles}
    assert levels["TRT"] == {"placebo", "10 mg", "20 mg"}
    assert levels["Arm"] == {"A", "B"}


def test_alleles_keep_their_case(tmp_path):
    pd.DataFrame({"allele": ["A"] * 40 + ["a"] * 5 + ["B"] * 5, "y": range(50)}).to_csv(tmp_path / "g.csv", index=False)
    columns = profile_files([tmp_path / "g.csv"])[0].column_profiles
    assert {"A", "a", "B"} == set(next(c for c in columns if c.name == "allele").levels)


def test_an_agent_has_no_age(ward):
    reading = read("arm A = standard, arm B = standard + new agent: is score higher with B?", Data.of(ward))
    assert "Age (y)" not in reading.columns()


def test_a_unit_of_area_is_no_part_of_a_name(ward):
    assert read("mean BMI", Data.of(ward)).named() == ["BMI kg/m2"]


def test_what_stands_beside_an_occasion_is_of_its_column(planner, ward):
    found = params(planner, ward, "Does week 12 SBP differ between the treatments TRT?")
    assert found["value"] == "SBP_wk12 (mmHg)"


def test_the_zero_of_doses_is_the_placebo(ward):
    reading = read("a trend in week 12 SBP over 0, 10 and 20 mg", Data.of(ward))
    assert set(reading.levels("TRT")) == {"placebo", "10 mg", "20 mg"}


def test_two_columns_are_pairs_without_a_column_that_names_the_rows(planner, ward):
    plan = planner.plan("paired t-test of screening vs week 12 in the placebo group only", ward).plan
    step = max(plan.nodes, key=lambda node: node.priority)
    assert step.tool == "compare_columns_paired"
    assert {step.params["first"], step.params["second"]} == {"SBP_scr (mmHg)", "SBP_wk12 (mmHg)"}
    assert any(node.params.get("condition") == "`TRT` in ['placebo']" for node in plan.nodes)


@pytest.mark.parametrize(
    "said", ["Status_last == 1; 0/2 censored", "Status_last = 1", "Status_last 1 = death, 0 and 2 censored"]
)
def test_an_event_set_equal_to_its_code_is_that_code(planner, ward, said):
    assert params(planner, ward, f"Cox model for death ({said}), time days, Arm + age")["event_value"] == "1"


def test_a_positive_culture_is_no_positive_test_beside_it(planner, ward):
    question = "Is score higher with a positive blood culture? (9 = contaminated)"
    reading = read(question, Data.of(ward))
    assert "RapidTest" not in reading.columns()


def test_a_code_that_stands_for_no_result_is_missing(planner, ward):
    for said in ("9 = contaminated, ignore", "1 yes, 0 no, 9 unknown", "9 in the culture is unknown"):
        plan = planner.plan(
            f"accuracy of RapidTest against blood culture ({said}): sensitivity, specificity", ward
        ).plan
        assert any("cells (9) of 'blood culture' are read as missing" in warning for warning in plan.warnings), said


def test_what_is_asked_for_units_of_explains(planner, ward):
    reading = read("How much does score go up for 5 units of BMI once age is accounted for?", Data.of(ward))
    assert reading.is_a("BMI kg/m2", "cause")
    assert reading.is_a("Age (y)", "adjust")


def test_codes_in_brackets_do_not_end_a_list(ward):
    reading = read("score by Arm adjusted for age, Status_last (0 alive/1 dead) and BMI", Data.of(ward))
    assert all(reading.is_a(name, "adjust") for name in ("Age (y)", "Status_last", "BMI kg/m2"))
