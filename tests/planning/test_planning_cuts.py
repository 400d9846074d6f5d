"""Rows cut at a number as people say it, both sides of a number as groups, ends of orders, and which of several ends is asked of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.domain.plan import TaskDag
from engine.errors import PlanError
from engine.planning.planner import Planner
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(11)
N = 160


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


def saved(table: pd.DataFrame, folder, name: str):
    path = folder / name
    table.to_csv(path, index=False)
    return profile_files([path])


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    """A ward of patients numbered from 1, so that a number after `patients` could be one of them."""
    table = pd.DataFrame(
        {
            "patient": range(1, N + 1),
            "sex": RNG.choice(["female", "male"], N),
            "age": RNG.integers(30, 91, N),
            "grade": RNG.choice(["I", "II", "III", "IV"], N),
            "admitted": RNG.integers(1990, 2021, N),
            "loss_kg": RNG.normal(5, 2, N).round(1),
            "ferritin": RNG.lognormal(4, 1, N).round(1),
            "pain": RNG.normal(50, 10, N).round(1),
        }
    )
    return saved(table, tmp_path_factory.mktemp("ward"), "ward.csv")


def conditions(plan: TaskDag) -> list[str]:
    return [node.params["condition"] for node in plan.nodes if node.tool == "filter_rows"]


@pytest.mark.parametrize(
    ("rows", "condition"),
    [
        ("in patients aged 65 or older", "`age` >= 65"),
        ("in patients 65 and over", "`age` >= 65"),
        ("in patients over 65", "`age` > 65"),
        ("in patients 65 or younger", "`age` <= 65"),
        ("in the old patients, 65 and up", "`age` >= 65"),
        ("in patients (65 or more)", "`age` >= 65"),
        ("in those younger than 50", "`age` < 50"),
        ("in the over-70s", "`age` > 70"),
        ("among patients aged 50 to 60", "`age` >= 50 and `age` <= 60"),
        ("for grade III or higher", "`grade` in ['III', 'IV']"),
        ("for grade II and below", "`grade` in ['I', 'II']"),
        ("in patients admitted since 2005", "`admitted` >= 2005"),
        ("in patients admitted in 2005 or later", "`admitted` >= 2005"),
        ("in patients who lost more than 4 kg", "`loss_kg` > 4"),
    ],
)
def test_rows_are_cut_at_a_number_as_people_say_it(planner, ward, rows: str, condition: str) -> None:
    plan = planner.plan(f"Does pain differ between females and males {rows}?", ward).plan
    assert conditions(plan) == [condition]
    assert not any("has no part" in text for text in plan.not_answered)


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        (
            "Is pain higher in patients younger than 60 than in those of 60 and above?",
            "`age` >= 60, '60 or above', 'below 60'",
        ),
        ("Does pain differ between patients over 65 and younger ones?", "`age` > 65, 'above 65', 'up to 65'"),
        (
            "Is pain higher with high than with low ferritin?",
            "`ferritin` > {median}, 'above {median}', 'up to {median}'",
        ),
        (
            "Does pain differ between patients with ferritin above and below the median?",
            "`ferritin` > {median}, 'above {median}', 'up to {median}'",
        ),
    ],
)
def test_both_sides_of_a_number_are_groups(planner, ward, question: str, expression: str) -> None:
    plan = planner.plan(question, ward).plan
    (made,) = [node for node in plan.nodes if node.tool == "derive_column"]
    median = f"{pd.read_csv(ward[0].path)['ferritin'].median():.12g}"
    assert made.params["expression"] == f"if_else({expression.format(median=median)})"
    (step,) = [node for node in plan.nodes if node.tool == "compare_groups"]
    assert (step.params["value"], step.params["group"]) == ("pain", made.params["name"])
    assert not conditions(plan)


def test_a_cut_that_leaves_one_side_empty_makes_no_groups(planner, ward) -> None:
    with pytest.raises(PlanError):
        planner.plan("Does pain differ between patients over 200 and younger ones?", ward)


@pytest.fixture(scope="module")
def plate(tmp_path_factory):
    """Wells of two compounds at five doses, with a vehicle that has a dose of its own: none."""
    rows = [("A", dose, RNG.normal(100 - dose, 3)) for dose in (1, 3, 10, 30) for _ in range(4)]
    rows += [("B", dose, RNG.normal(100, 3)) for dose in (1, 3, 10, 30) for _ in range(4)]
    rows += [("DMSO", 0, RNG.normal(100, 3)) for _ in range(8)]
    table = pd.DataFrame(rows, columns=["compound", "dose_uM", "viability"]).round(2)
    return saved(table, tmp_path_factory.mktemp("plate"), "plate.csv")


def test_the_highest_dose_is_rows_and_a_control_keeps_its_own(planner, plate) -> None:
    plan = planner.plan("Is viability lower with compound B than with DMSO at the highest dose?", plate).plan
    assert conditions(plan) == ["`dose_uM` in [30, 0]"]
    (step,) = [node for node in plan.nodes if node.tool == "compare_groups"]
    assert [value for value in step.params.values() if value in ("B", "DMSO")] == ["B", "DMSO"]


def test_the_lowest_dose_that_works_names_no_rows(planner, plate) -> None:
    plan = planner.plan("Which is the lowest dose that lowers viability of compound A?", plate).plan
    assert not any("dose_uM" in condition for condition in conditions(plan))


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """A trial with two clocks and one end: progression comes before death."""
    pfs = RNG.exponential(8, N).round(1) + 0.1
    table = pd.DataFrame(
        {
            "patient": [f"P{k:03}" for k in range(N)],
            "arm": RNG.choice(["drug", "placebo"], N),
            "PFS months": pfs,
            "OS months": (pfs + RNG.exponential(6, N)).round(1),
            "status": RNG.choice(["dead", "alive"], N, p=[0.7, 0.3]),
        }
    )
    return saved(table, tmp_path_factory.mktemp("trial"), "trial.csv")


@pytest.mark.parametrize(
    ("question", "time"),
    [
        ("Kaplan-Meier curve by arm with median survival", "OS months"),
        ("Does the drug prolong overall survival?", "OS months"),
        ("Does the drug prolong progression-free survival?", "PFS months"),
    ],
)
def test_the_clock_is_that_of_the_end_asked_about(planner, trial, question: str, time: str) -> None:
    plan = planner.plan(question, trial).plan
    step = plan.nodes[-1]
    assert (step.params["time"], step.params["event"], step.params["event_value"]) == (time, "status", "dead")


@pytest.mark.parametrize(
    ("words", "at", "unit"),
    [("at 12 month", 12, "months"), ("one year on", 1, "years"), ("after 24 months", 24, "months")],
)
def test_who_is_alive_at_a_moment_is_told_by_the_deaths(planner, trial, words: str, at: float, unit: str) -> None:
    plan = planner.plan(f"What percent of the patients is alive {words} in each arm?", trial).plan
    params = next(node.params for node in plan.nodes if node.tool == "kaplan_meier")
    assert (params["event_value"], params["at"], params["at_unit"]) == ("dead", at, unit)


@pytest.fixture(scope="module")
def registry_of_ends(tmp_path_factory):
    """Two ends, each with a column and a time of its own."""
    cancer, death = RNG.exponential(300, N), RNG.exponential(120, N)
    end = np.minimum(death, 240).round()
    came = cancer < end
    table = pd.DataFrame(
        {
            "id": [f"S{k}" for k in range(N)],
            "sex": RNG.choice(["F", "M"], N),
            "Months to cancer": np.where(came, cancer, end).round() + 1,
            "cancer": came.astype(int),
            "Months FU": end + 1,
            "died": (death < 240).astype(int),
        }
    )
    return saved(table, tmp_path_factory.mktemp("ends"), "ends.csv")


def test_time_and_event_that_are_called_alike_go_together(planner, registry_of_ends) -> None:
    plan = planner.plan("Kaplan-Meier curve of the months to cancer", registry_of_ends).plan
    assert (plan.nodes[-1].params["time"], plan.nodes[-1].params["event"]) == ("Months to cancer", "cancer")


def test_of_two_ends_with_columns_of_their_own_the_first_is_made(planner, registry_of_ends) -> None:
    question = "What is the 10 year risk of cancer, allowing for death from other causes?"
    plan = planner.plan(question, registry_of_ends, analysis="competing_risks").plan
    made, step = plan.nodes[0], plan.nodes[-1]
    assert made.params["expression"] == "if_else(`cancer` == 1, 'cancer', if_else(`died` == 1, 'died', 'censored'))"
    assert (step.params["time"], step.params["event"]) == ("Months to cancer", made.params["name"])
    assert (step.params["event_value"], step.params["at"], step.params["at_unit"]) == ("cancer", 10, "years")


def test_the_other_side_of_a_number_is_asked_on_about(planner, trial_with_ages) -> None:
    first = planner.plan("Does the drug prolong overall survival in patients 65 and over?", trial_with_ages).plan
    younger = planner.plan("and in the younger ones?", trial_with_ages, previous=first).plan
    assert (conditions(first), conditions(younger)) == (["`age` >= 65"], ["`age` < 65"])
    rest = planner.plan("and in the rest?", trial_with_ages, previous=younger).plan
    assert conditions(rest) == ["`age` >= 65"]


@pytest.fixture(scope="module")
def trial_with_ages(trial, tmp_path_factory):
    table = pd.read_csv(trial[0].path).assign(age=RNG.integers(40, 90, N))
    return saved(table, tmp_path_factory.mktemp("aged"), "trial.csv")


@pytest.fixture(scope="module")
def herd(tmp_path_factory):
    """Animals, which are no persons: their number of years is said beside what they are."""
    table = pd.DataFrame(
        {
            "goat": range(1, N + 1),
            "diet": ["hay", "mixed"] * (N // 2),
            "age": RNG.integers(2, 11, N),
            "weight": RNG.normal(60, 8, N).round(1),
        }
    )
    return saved(table, tmp_path_factory.mktemp("herd"), "goats.csv")


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("does weight differ by diet in goats 8 or younger", "`age` <= 8"),
        ("old goats (8 or more): is weight different by diet", "`age` >= 8"),
        ("goats 8 and up only: which diet is heaviest", "`age` >= 8"),
    ],
)
def test_animals_of_so_many_years_are_of_the_only_age(planner, herd, question: str, condition: str) -> None:
    plan = planner.plan(question, herd).plan
    assert conditions(plan) == [condition]
    (step,) = [node for node in plan.nodes if node.tool == "compare_groups"]
    assert (step.params["value"], step.params["group"]) == ("weight", "diet")
    assert plan.not_answered == []


def test_a_number_at_which_no_rows_are_cut_is_said(planner, herd, tmp_path) -> None:
    table = pd.read_csv(herd[0].path).drop(columns="age")
    plan = planner.plan("goats 8 and up only: which diet has more weight", saved(table, tmp_path, "ageless.csv")).plan
    assert not conditions(plan)
    assert any("'8 and up'" in text for text in plan.not_answered)
