"""Units that names of columns say, and sentences on several groups or predictors."""

import pytest

from engine.text.times import UNITS_OF_TIME
from engine.toolbox.tables.wording import between, high_to_low, in_size, per_step, rate_base, rate_unit, with_term


@pytest.mark.parametrize(
    ("name", "said"),
    [("day", "per day"), ("Woche", "per week"), ("semanas", "per week"), ("jour", "per day"), ("d", "per day"),
     ("time_h", "per hour"), ("day post infection", "per day"), ("N kg/ha", "per kg/ha of N"),
     ("dose_mg", "per mg of dose"), ("conc_ug_ml", "per ug/ml of conc"), ("Milch kg/Tag", "per kg/day of Milch"),
     ("age (years)", "per year of age"), ("Alter (Jahre)", "per year of Alter"), ("temp_C", "per \u00b0C of temp")],
)  # fmt: skip
def test_a_step_is_called_by_the_unit_that_the_name_says(name, said):
    assert per_step(name) == said


@pytest.mark.parametrize(
    "name", ["score", "wt_d3", "vitamin_d", "pain_week12", "pack_years", "per_week", "log_dose_mg", "diabetes_dm", "N"]
)
def test_no_unit_is_guessed(name):
    assert per_step(name) == f"per unit of {name}"


def test_steps_of_several_units():
    assert per_step("age (years)", 10) == "per 10 years of age"
    assert per_step("dose_mg", 5) == "per 5 mg of dose"
    assert per_step("score", 10) == "per 10 units of score"


def test_units_of_time_are_those_that_columns_are_read_with():
    known = {word: unit for word, unit in UNITS_OF_TIME.items() if len(word) > 2 and unit != "visit"}
    assert {word: per_step(word) for word in known} == {word: f"per {unit}" for word, unit in known.items()}


def test_a_level_is_set_against_its_reference():
    assert with_term("group[enr vs ctl]", "group enr instead of ctl", "group") == "in enr than in ctl"
    assert with_term("ill[yes vs no]", "ill yes instead of no", "ill") == "in ill = yes than in ill = no"
    assert with_term("day", "per day", "day") == "per day"
    assert with_term("a[x vs y vs z]", "a x vs y instead of z", "a") == "with a x vs y instead of z"


def test_groups_stand_from_high_to_low():
    means = {"Local": 6.31, "INTA-7": 7.87, "Chaco": 7.18}
    assert high_to_low(means, "variety") == "INTA-7 7.87, Chaco 7.18 and Local 6.31"
    assert high_to_low(means, "variety", most=2) == "INTA-7 7.87 highest and Local 6.31 lowest of 3"
    assert (between("species"), between("variety"), between("genus")) == ("between species", "by variety", "by genus")


def test_sizes_have_no_sign_and_their_interval_turns_with_them():
    assert in_size(-9.31, -10.5, -8.0) == ("9.31", "95 % CI 8.00 to 10.5")
    assert in_size(-1.0, -3.0, 1.0) == ("1.00", "95 % CI -1.00 to 3.00")


def test_small_rates_are_told_per_so_many():
    assert [rate_base(rates) for rates in ([0.00254, 0.00356], [0.03, 0.01], [0.2, 0.05], [0.0])] == [1000, 100, 1, 1]
    assert (rate_unit("pyrs", 1000), rate_unit("hours"), rate_unit("")) == (" per 1,000 pyrs", " per hour", "")
