"""Counts out of totals as rows of yes and no: by hand, and against a grouped binomial model of the same counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.toolbox.statistics.logistic import logistic_regression
from engine.toolbox.tables.tallies import one_row_each

TRAYS = pd.DataFrame(
    {"tray": ["a", "b", "c", "d"], "warm": [0, 1, 0, 1], "sprouted": [2, 0, 3, None], "seeds": [3, 2, 3, 4]}
)


def test_each_of_the_counted_has_a_row_and_the_others_of_its_row_beside_it():
    result = one_row_each(TRAYS, part="sprouted", total="seeds", row="tray_no")
    rows = result["rows"]
    assert list(rows["sprouted"]) == ["yes", "yes", "no", "no", "no", "yes", "yes", "yes"]
    assert list(rows["tray"]) == list("aaabbccc")
    assert list(rows["tray_no"]) == [1, 1, 1, 2, 2, 3, 3, 3]
    assert "seeds" not in rows
    assert result["warnings"] == ["1 rows without sprouted or seeds were left out."]
    assert "8 counted in 3 rows" in result["findings"][0]["text"]


def test_the_odds_are_those_of_a_grouped_binomial_model():
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    draw = np.random.default_rng(4)
    table = pd.DataFrame({"warm": np.tile([0, 1], 20), "seeds": draw.integers(8, 30, 40)})
    table["sprouted"] = draw.binomial(table["seeds"], np.where(table["warm"] == 1, 0.7, 0.45))
    grouped = GLM(table[["sprouted", "seeds"]].assign(no=table["seeds"] - table["sprouted"])[["sprouted", "no"]],
                  np.column_stack([np.ones(40), table["warm"]]), family=Binomial()).fit()  # fmt: skip
    rows = one_row_each(table, part="sprouted", total="seeds")["rows"]
    fitted = logistic_regression(rows, outcome="sprouted", predictors=["warm"], event_value="yes")["coefficients"]
    own = fitted[fitted["term"] == "warm"].iloc[0]
    assert own["coef"] == pytest.approx(grouped.params.iloc[1], rel=1e-5)
    assert own["se"] == pytest.approx(grouped.bse.iloc[1], rel=1e-4)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"sprouted": [4, 0, 3, 1]}, "Row 1 holds sprouted"), ({"sprouted": [1.5, 0, 3, 1]}, "whole number"),
     ({"sprouted": [-1, 0, 3, 1]}, "from 0 to seeds"), ({"sprouted": ["x", 0, 3, 1]}, "not numbers"),
     ({"seeds": [400_000, 2, 300_000, 4]}, "at most 500,000"), ({"table_row": [1, 2, 3, 4]}, "is a column already")],
)  # fmt: skip
def test_what_is_no_count_out_of_a_total_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        one_row_each(TRAYS.assign(**change), part="sprouted", total="seeds")
