"""Codes of ends that the question tells, hazards per stage, totals of nothing. The data are invented."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

DRAW = np.random.default_rng(45)
N = 120


@pytest.fixture(scope="module")
def planner():
    return the_planner()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ends")
    patients = pd.DataFrame({"months": DRAW.exponential(20, N).round(1) + 0.1, "stage": DRAW.integers(1, 5, N), "sex": DRAW.choice(["f", "m"], N)})  # fmt: skip
    vials = pd.DataFrame({"vial": range(24), "diet": ["rich", "poor"] * 12, "n_pupae": DRAW.integers(8, 20, 24)})
    vials["n_dead"] = DRAW.binomial(vials["n_pupae"], 0.4)
    vials.loc[3, ["n_pupae", "n_dead"]] = 0
    frames = {"dead": patients.assign(dead=DRAW.integers(0, 2, N)), "ends": patients.assign(status=DRAW.integers(1, 4, N)), "vials": vials}  # fmt: skip
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return {name: folder / f"{name}.csv" for name in frames}


def steps(planner, question, path):
    plan = planner.plan(question, profile_files([path])).plan
    return {node.tool: node.params for node in plan.nodes}, plan


@pytest.mark.parametrize(
    "legend",
    [
        "status: 1 = relapse, 2 = died in remission, 3 = censored.",
        "status 1 relapse, 2 death without relapse, 3 alive.",
        "In status 1 means relapse, 2 means death and 3 is alive.",
    ],
)
def test_which_code_is_no_end_is_read_from_the_question(planner, files, legend):
    made, plan = steps(planner, f"{legend} Cumulative incidence of relapse by sex with death as a competing risk", files["ends"])  # fmt: skip
    chosen = made["competing_risks"]
    assert (chosen["event"], chosen["event_value"], chosen["censored"]) == ("status", "1", "3")
    assert not [q for q in plan.open_questions if q.required]
    assert not [text for text in plan.warnings if "say which" in text]


def test_a_code_that_nobody_told_is_still_warned_of(planner, files):
    _, plan = steps(planner, "Cumulative incidence of status 1 by sex with competing risks", files["ends"])
    assert [text for text in plan.warnings if "say which" in text]


def test_a_hazard_per_stage_divides_no_death(planner, files):
    made, _ = steps(planner, "hazard ratio of death per stage", files["dead"])
    assert "derive_column" not in made
    assert made["cox_regression"]["covariates"] == ["stage"]


def test_a_vial_without_a_pupa_does_not_make_deaths_a_measurement(planner, files):
    made, _ = steps(planner, "does diet change how many pupae die?", files["vials"])
    assert (made["one_row_each"]["part"], made["one_row_each"]["total"]) == ("n_dead", "n_pupae")
    made, _ = steps(planner, "share of dead pupae by diet", files["vials"])
    assert made["proportion_test"]["total"] == "n_pupae"
