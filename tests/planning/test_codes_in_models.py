"""Codes of places and batches (institution, plate, ward) are groups, strata or clusters of a model, never a slope."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.toolbox.bulk_rna.designs import build_factors
from engine.toolbox.registry import builtin_tools
from engine.toolbox.survival.competing import competing_risks

PLANNER = Planner(builtin_tools())


@pytest.fixture(scope="module")
def assay(tmp_path_factory):
    rng, n = np.random.default_rng(6), 240
    rows = {
        "well": range(n),
        "plate": rng.integers(1, 25, n),
        "ward": rng.integers(101, 131, n),
        "inst": np.where(np.arange(n) == 7, np.nan, rng.choice([1, 2, 3, 5, 11, 12, 13, 16, 21, 22, 26, 32, 33], n)),
        "age": rng.integers(30, 80, n),
        "dose_um": rng.choice([0.1, 1, 10], n),
        "viability": rng.normal(60, 10, n).round(1),
        "days": rng.exponential(300, n).round(),
        "died": rng.integers(0, 2, n),
    }
    path = tmp_path_factory.mktemp("codes") / "assay.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def params(question, path, tool):
    return next(n.params for n in PLANNER.plan(question, profile_files([path])).plan.nodes if n.tool == tool)


def test_numbers_of_plates_wards_and_institutions_are_codes(assay):
    scales = {c.name: c.scale for c in profile_files([assay])[0].column_profiles}
    assert [scales[name] for name in ("plate", "ward", "inst")] == ["code"] * 3
    assert scales["age"] == "number"


@pytest.mark.parametrize(
    ("question", "tool", "code"),
    [
        ("Does viability depend on dose_um, adjusting for plate?", "linear_regression", "plate"),
        ("partial correlation of viability and age, with ward held constant", "partial_correlation", "ward"),
        ("predict viability from all other columns", "predict_value", "plate"),
    ],
)
def test_a_code_that_is_adjusted_for_is_taken_as_groups(question, tool, code, assay):
    assert code in params(question, assay, tool)["categorical"]


def test_a_code_of_many_levels_stratifies_a_hazard_model(assay):
    found = params("Cox regression of days until died on age, adjusted for inst", assay, "cox_regression")
    assert found["strata"] == ["inst"]
    assert found["covariates"] == ["age"]


def test_competing_risks_give_a_ratio_for_each_code_and_none_per_unit():
    rng, n = np.random.default_rng(2), 400
    table = pd.DataFrame({"time": rng.exponential(10, n).round(2), "end": rng.choice(["alive", "relapse", "death"], n),
                          "centre": rng.choice([1, 4, 9], n)})  # fmt: skip
    made = competing_risks(table, time="time", event="end", censored="alive", covariates=["centre"],
                           categorical=["centre"])  # fmt: skip
    assert set(made["hazards"]["term"]) == {"centre: 4 vs 1", "centre: 9 vs 1"}
    assert set(made["subdistribution"]["term"]) == {"centre: 4 vs 1", "centre: 9 vs 1"}


@pytest.mark.parametrize(("column", "told"), [("hospital", []), ("origin", ["origin"])])
def test_a_code_in_a_design_of_counts_is_a_label(column, told):
    sheet = pd.DataFrame({"arm": ["a", "b"] * 4, column: [3, 3, 7, 7, 12, 12, 40, 41]}, index=list("stuvwxyz"))
    factors, _, notes = build_factors(sheet, "arm", "a", "b", [column], told)
    assert hasattr(factors["covariate_1"], "cat")
    assert any("taken as labels" in note for note in notes)
