"""A reference level that is told, in a Cox model, against lifelines on columns coded by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from table_steps import run_step

from engine.toolbox.survival.regression import cox_regression


def test_cox_regression_compares_with_the_level_told(tmp_path):
    rng = np.random.default_rng(8)
    breed = rng.choice(["angus", "jersey", "salers"], 240)
    days = rng.exponential(np.where(breed == "angus", 50, 100))
    data = pd.DataFrame({"breed": breed, "days": days, "culled": rng.integers(0, 2, 240)})
    params = {"time": "days", "event": "culled", "covariates": ["breed"], "references": ["breed=salers"]}
    _, tables, issues = run_step(cox_regression, {"survival": data}, params, tmp_path)
    assert not issues
    dummies = pd.DataFrame({level: (level == breed) * 1.0 for level in ("angus", "jersey")})
    fit = CoxPHFitter().fit(dummies.join(data[["days", "culled"]]), "days", "culled")
    found = tables["cox_table"].set_index("term")["coef"]
    assert found["breed: angus vs salers"] == pytest.approx(fit.params_["angus"], rel=1e-4)
    assert found["breed: jersey vs salers"] == pytest.approx(fit.params_["jersey"], rel=1e-4)
