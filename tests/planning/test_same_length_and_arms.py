"""What is held constant, set apart or left out where people say it in passing: of the same length, bigger ulcers, in the two arms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

DRAW = np.random.default_rng(11)
N = 80


def _saved(folder, name, table):
    table.to_csv(folder / name, index=False)
    return profile_files([folder / name])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("passing")
    length = DRAW.normal(290, 60, N).round().astype(int)
    fish = pd.DataFrame({
        "fish": [f"B{k}" for k in range(N)], "sex": DRAW.choice(["F", "M", "I"], N, p=[0.5, 0.4, 0.1]), "TL_mm": length,
        "W_g": (length**3 / 6e4).round().astype(int), "age_R1": DRAW.integers(1, 9, N),
    })  # fmt: skip
    ulcers = pd.DataFrame({
        "ulcer_no": [f"U{k}" for k in range(N)], "offloading": DRAW.choice(["cast", "boot"], N), "infected": DRAW.choice(["Y", "N"], N),
        "area_cm2": DRAW.lognormal(1, 0.7, N).round(1), "weeks": DRAW.integers(1, 40, N),
        "outcome": DRAW.choice(["healed", "still open"], N, p=[0.8, 0.2]),
    })  # fmt: skip
    arm = DRAW.integers(1, 3, N)
    trial = pd.DataFrame({
        "pt_no": range(1001, 1001 + N), "centre": DRAW.integers(1, 5, N), "arm": np.where(arm == 1, "drug", "usual care"),
        **{f"hba1c_{when}": DRAW.normal(70, 8, N).round().astype(int) for when in ("bl", "3m", "6m")},
        **{f"sbp_{when}": DRAW.normal(138, 12, N).round().astype(int) for when in ("bl", "3m", "6m")},
    })  # fmt: skip
    base = DRAW.lognormal(0.6, 0.3, N)
    ward = pd.DataFrame({
        "Pat_Nr": range(1, N + 1), "Infusion": DRAW.choice(["NaCl", "balanciert"], N),
        **{f"Krea_T{day}_mg_dl": (base + 0.1 * day + DRAW.normal(0, 0.1, N)).round(2) for day in (0, 1, 2, 3, 7)},
        "Dialyse": DRAW.integers(0, 2, N), "Tage_bis_Dialyse": DRAW.integers(1, 31, N),
    })  # fmt: skip
    sepsis = pd.DataFrame({
        "pat_id": [f"SEP{k:03d}" for k in range(N)], "age": DRAW.integers(30, 95, N), "DM": DRAW.integers(0, 2, N),
        "lactate": DRAW.lognormal(0.7, 0.5, N).round(1), "vasopr": DRAW.integers(0, 2, N), "death28": DRAW.integers(0, 2, N),
        "fu_days": DRAW.integers(1, 29, N), "LOS_d": DRAW.integers(1, 30, N), "CFS_rater1": DRAW.integers(1, 10, N),
        "CFS_rater2": DRAW.integers(2, 10, N),
    })  # fmt: skip
    tables = {"bream": fish, "ulcers": ulcers, "trial": trial, "ward": ward, "sepsis": sepsis}
    return {name: _saved(folder, f"{name}.csv", table) for name, table in tables.items()}


@pytest.mark.parametrize(
    ("file", "question", "tool", "params"),
    [
        ("bream", "Are female bream heavier than males of the same length?", "linear_regression",
         {"outcome": "W_g", "predictors": ["sex", "TL_mm"]}),
        ("bream", "Are females heavier than males, adjusted for length?", "linear_regression",
         {"outcome": "W_g", "predictors": ["sex", "TL_mm"]}),
        ("ulcers", "Do bigger ulcers take longer to heal, also when you take the offloading type and infection into account?",
         "cox_regression", {"covariates": ["area_cm2", "offloading", "infected"], "time": "weeks", "event": "outcome"}),
        ("trial", "Is HbA1c at 6 months lower on the drug than on usual care? Please adjust for the baseline HbA1c and the centre.",
         "linear_regression", {"outcome": "hba1c_6m", "predictors": ["arm", "hba1c_bl", "centre"]}),
        ("trial", "Systolic pressure was taken at baseline, 3 and 6 months. Did it change differently over time in the two arms?",
         "mixed_model", {"interaction": True}),
        ("ward", "Does the creatinine rise differently over the days in NaCl and balanced patients? Please leave out the patients with "
         "Dialyse = 1, there the creatinine makes no sense. Columns Krea_T0 to T7 (days).", "mixed_model", {"interaction": True}),
        ("sepsis", "How many of our sepsis patients needed vasopressors in the first 24h?", "proportion_test", {"event": "vasopr"}),
        ("sepsis", "what was the 28 day mortality with and without vasopressors", "proportion_test",
         {"event": "death28", "group": "vasopr"}),
        ("sepsis", "Is lactate associated with death at 28 days when I adjust for age? I want OR per 1 mmol/l", "logistic_regression",
         {"outcome": "death28", "predictors": ["lactate", "age"]}),
        ("sepsis", "do diabetics stay longer in hospital, with age and lactate in the model?", "linear_regression",
         {"outcome": "LOS_d", "predictors": ["DM", "age", "lactate"]}),
        ("ward", "time until dialysis, NaCl vs balanced infusion, is there a difference?", "log_rank",
         {"time": "Tage_bis_Dialyse", "event": "Dialyse", "group": "Infusion"}),
        ("bream", "von Bertalanffy curve of length by age for all the bream, and the expected length of a 5 year old", "nonlinear_fit",
         {"y": "TL_mm", "x": "age_R1", "group": None}),
        ("sepsis", "Table of age, lactate, LOS_d and number of vasopressors by DM please", "table_one", {"group": "DM"}),
        ("sepsis", "Two colleagues scored the Clinical Frailty Scale in the same patients. how good is the agreement (weighted kappa)?",
         "agreement", {"first": "CFS_rater1", "second": "CFS_rater2"}),
    ],
)  # fmt: skip
def test_it_is_planned_as_it_is_said(files, file, question, tool, params):
    plan = the_planner().plan(question, files[file]).plan
    node = next(n for n in plan.nodes if n.tool == tool)
    assert "convert_units" not in {n.tool for n in plan.nodes}
    assert {name: node.params.get(name) for name in params} == params, node.params


def test_the_arms_of_a_course_are_explained_and_its_days_are_no_survival_time(files):
    plan = (
        the_planner()
        .plan("Does the creatinine rise differently over the days in NaCl and balanced patients?", files["ward"])
        .plan
    )
    (node,) = [n for n in plan.nodes if n.tool == "mixed_model"]
    assert "Infusion" in node.params["fixed"]
    assert "Tage_bis_Dialyse" not in node.params["fixed"]


@pytest.mark.parametrize("out", ["leave out the patients with Dialyse = 1", "exclude patients with Dialyse 1"])
def test_rows_of_patients_with_something_are_left_out(files, out):
    plan = the_planner().plan(f"Does Krea_T7 differ between NaCl and balanced? {out}.", files["ward"]).plan
    kept = [n.params for n in plan.nodes if n.tool == "filter_rows"]
    assert kept, "rows are left out"
    assert all(one["condition"] == "`Dialyse` not in [1]" for one in kept)


def test_what_is_told_of_every_result_is_no_request_of_its_own(files):
    plan = (
        the_planner()
        .plan("Is W_g different between F and M? give the estimate with CI and p value", files["bream"])
        .plan
    )
    assert [c.id for c in plan.analysis] == ["compare_groups"]


@pytest.mark.parametrize(
    "question", ["is the effect of sex on age bigger than before?", "which fish are bigger than the others"]
)
def test_what_has_no_size_of_its_own_names_no_area(files, question):
    heard = the_planner().read(question, files["ulcers"])
    assert "area_cm2" not in {m.column for m in heard.mentions}


def test_what_a_further_request_counts_cuts_no_rows_of_the_first(tmp_path):
    lab = DRAW.normal(7, 2.5, N).round(1)
    table = pd.DataFrame(
        {
            "subj": [f"V{k}" for k in range(N)],
            "lab_plasma_mmolL": lab,
            "sensor_mmolL": (lab + DRAW.normal(-0.4, 0.7, N)).round(1),
        }
    )
    question = "How well does the sensor agree with the lab plasma? And how many of the lab values did the sensor also show below 4?"
    plan = the_planner().plan(question, _saved(tmp_path, "sensor.csv", table)).plan
    assert [n.tool for n in plan.nodes] == ["agreement"]
    assert any("how many of the lab values" in text for text in plan.not_answered)


def test_an_area_of_a_well_is_no_count(tmp_path):
    table = pd.DataFrame({"siRNA": ["ctrl", "RAC1"] * 20, "area_um2": DRAW.integers(131_000, 480_000, 40)})
    plan = (
        the_planner()
        .plan("Does siRNA change the area, adjusted for nothing?", _saved(tmp_path, "wells.csv", table))
        .plan
    )
    assert "count_regression" not in {n.tool for n in plan.nodes}


def test_of_the_survivors_alone_no_time_to_death_is_asked(files):
    question = "do diabetics stay longer in hospital? only the survivors please (death28 = 0), with age and lactate in the model"
    plan = the_planner().plan(question, files["sepsis"]).plan
    assert not {"cox_regression", "log_rank", "kaplan_meier"} & {n.tool for n in plan.nodes}
    (kept,) = [n.params["condition"] for n in plan.nodes if n.tool == "filter_rows"]
    assert "death28" in kept
