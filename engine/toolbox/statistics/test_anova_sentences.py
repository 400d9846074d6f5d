"""What an analysis of variance says first: the means of the factors that are asked about, then what differs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from table_steps import run_step

from engine.toolbox.statistics.anova import anova
from engine.toolbox.tables.columns import format_number

YIELDS = {"INTA-7": 7.9, "Chaco": 7.2, "Aurora": 7.0, "Local": 6.3}


@pytest.fixture(scope="module")
def field() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = [(v, n, b, mean + {"N0": -0.8, "N50": 0, "N100": 0.7}[n] + rng.normal(0, 0.2))
            for v, mean in YIELDS.items() for n in ("N0", "N50", "N100") for b in ("b1", "b2", "b3", "b4")]  # fmt: skip
    return pd.DataFrame(rows, columns=["variety", "N", "block", "yield"])


def in_order(table, factor):
    means = table.groupby(factor)["yield"].mean().sort_values(ascending=False)
    return [f"{level} {format_number(mean)}" for level, mean in means.items()]


def test_means_from_high_to_low_stand_first_and_blocks_are_not_ranked(field, tmp_path):
    given = {"value": "yield", "factors": ["variety", "N", "block"], "interaction": False}
    record, _, issues = run_step(anova, {"table": field}, given, tmp_path)
    assert not issues
    first = record["findings"][0]
    *most, last = in_order(field, "variety")
    assert first["text"].startswith(f"Mean yield by variety: {', '.join(most)} and {last} (p = ")
    *most, last = in_order(field, "N")
    assert f"; by N: {', '.join(most)} and {last} (p = " in first["text"]
    assert first["text"].endswith(".")
    assert "; held constant: block (p = " in first["text"]
    assert "b1" not in first["text"]
    told = {value["name"]: value["value"] for value in first["values"]}
    assert told["mean Local"] == pytest.approx(field.loc[field["variety"] == "Local", "yield"].mean())


def test_what_is_only_adjusted_for_is_not_ranked(field):
    given = {"value": "yield", "factors": ["variety", "season"], "interaction": False}
    table = field.assign(season=field["N"])
    text = anova(table, **given, adjusted=["season"])["findings"][0]["text"]
    assert "; held constant: season (p = " in text
    assert "N100" not in text
    assert "by season: N100" in anova(table, **given)["findings"][0]["text"]


def test_a_clear_interaction_is_told_by_the_means_within_levels(field):
    table = field.copy()
    table.loc[(table["variety"] == "Local") & (table["N"] == "N100"), "yield"] -= 2
    finding = anova(table, value="yield", factors=["variety", "N"])["findings"][0]
    assert finding["text"].startswith("How yield changes with variety depends on N (interaction p = ")
    for level, part in table.groupby("N"):
        *most, last = in_order(part, "variety")
        assert f"at {level} {', '.join(most)} and {last}" in finding["text"]


def test_of_two_levels_both_means_stand_beside_the_difference():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"arm": np.repeat(["ctl", "drug"], 20), "sex": ["m", "f"] * 20})
    table["glucose"] = 5 + 1.2 * (table["arm"] == "drug") + rng.normal(0, 0.5, 40)
    means = table.groupby("arm")["glucose"].mean()
    text = anova(table, value="glucose", factors=["arm", "sex"])["findings"][0]["text"]
    ends = f"{format_number(means['drug'])} against {format_number(means['ctl'])}"
    assert f"{format_number(means['drug'] - means['ctl'])} higher with drug than with ctl ({ends}; 95 % CI" in text
