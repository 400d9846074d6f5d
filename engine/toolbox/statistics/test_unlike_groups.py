"""Groups that differ in more than their means: spreads seen in few values, slopes that differ beside repeated rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from engine.toolbox.statistics.groups import compare_groups
from engine.toolbox.statistics.mixed import mixed_model

DRAW = np.random.default_rng(12)


def test_spreads_that_a_test_of_few_values_does_not_see_are_unequal_by_their_ratio():
    # Made so that the Brown-Forsythe test stays above 0.05 while one SD is more than three times another.
    groups = {"a": [3.0, 3.4, 2.6, 3.1, 2.9], "b": [7.0, 8.2, 6.1, 7.6, 7.3], "c": [12.0, 12.2, 12.1, 16.0, 11.9]}
    assert stats.levene(*groups.values(), center="median").pvalue > 0.05
    sd = [np.std(values, ddof=1) for values in groups.values()]
    assert max(sd) / min(sd) > 3
    table = pd.DataFrame([(name, value) for name, values in groups.items() for value in values], columns=["g", "y"])
    found = compare_groups(table, value="y", group="g")
    row = found["assumptions"].set_index("check").loc["equal spread (Brown-Forsythe)"]
    assert "times the smallest" in row["result"]
    assert found["comparison"]["test"].iloc[0] in ("Welch's ANOVA", "Kruskal-Wallis test")


def test_about_equal_spreads_keep_the_plain_analysis_of_variance():
    table = pd.DataFrame({"g": np.repeat(["a", "b", "c"], 12), "y": DRAW.normal(5, 1, 36)})
    assert compare_groups(table, value="y", group="g")["comparison"]["test"].iloc[0] == "one-way ANOVA"


@pytest.fixture(scope="module")
def growth():
    frame = pd.DataFrame({"child": np.repeat(np.arange(40), 5), "age": np.tile([8.0, 10, 12, 14, 16], 40)})
    frame["arm"] = np.where(frame["child"] % 2, "new", "old")
    frame["base"] = DRAW.normal(0, 1, 40)[frame["child"]]
    return frame.assign(noise=DRAW.normal(0, 0.5, 200))


@pytest.mark.parametrize(("apart", "warned"), [(0.5, True), (0.0, False)])
def test_slopes_that_differ_between_the_groups_are_warned_of_first(growth, apart, warned):
    slope = 0.3 + apart * (growth["arm"] == "new")
    table = growth.assign(y=growth["base"] + slope * (growth["age"] - 8) + growth["noise"])
    found = mixed_model(table, outcome="y", fixed=["arm", "age"], subject="child")
    told = [text for text in found["warnings"] if "differs between the levels of arm" in text]
    assert bool(told) == warned
    assert not warned or found["warnings"][0] == told[0]
