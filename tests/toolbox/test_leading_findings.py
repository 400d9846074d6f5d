"""The first finding of a tool is the answer: it names the groups and the ends, and says what a null result leaves open.

Numbers are held against pandas, scipy and lifelines on R's InsectSprays (Beall 1942) and small made-up tables.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lifelines import KaplanMeierFitter
from scipy import stats
from table_steps import run_step

from engine.toolbox.clinical.risks import risk_measures
from engine.toolbox.statistics.groups import compare_groups
from engine.toolbox.statistics.proportions import proportion_test
from engine.toolbox.statistics.summaries import summarize_table
from engine.toolbox.survival.curves import kaplan_meier
from engine.toolbox.tables.columns import called_level
from engine.toolbox.tables.handling import filter_rows

SPRAYS = {
    "A": [10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13],
    "C": [0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4],
    "F": [11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13],
}
TABLE = pd.DataFrame(
    [(spray, count) for spray, counts in SPRAYS.items() for count in counts], columns=["spray", "count"]
)


def values_of(finding):
    return {value["name"]: value["value"] for value in finding["values"]}


def test_groups_that_differ_are_named_at_both_ends(tmp_path):
    record, tables, issues = run_step(compare_groups, {"table": TABLE}, {"value": "count", "group": "spray"}, tmp_path)
    assert not issues
    first = record["findings"][0]
    assert "highest in F (mean 16.7), lowest in C (mean 2.08)" in first["text"]
    assert values_of(first)["mean C"] == pytest.approx(np.mean(SPRAYS["C"]))
    shown = tables["groups"].set_index("group")
    assert list(shown.index) == ["F", "A", "C"]
    assert shown.loc["A", "sd"] == pytest.approx(np.std(SPRAYS["A"], ddof=1))
    assert set(compare_groups.tool_spec.shows) <= {port.name for port in compare_groups.tool_spec.outputs}


def test_groups_that_are_not_shown_to_differ_say_what_is_not_excluded(tmp_path):
    alike = pd.DataFrame({"site": np.repeat(["north", "south", "west"], 8),
                          "height": [5, 6, 7, 8, 9, 10, 11, 12, *range(6, 14), *range(5, 13)]})  # fmt: skip
    record, _, issues = run_step(compare_groups, {"table": alike}, {"value": "height", "group": "site"}, tmp_path)
    assert not issues
    first = record["findings"][0]
    sides = [alike.loc[alike["site"] == site, "height"] for site in ("north", "south", "west")]
    interval = stats.tukey_hsd(*sides).confidence_interval(0.95)
    reach = max(np.abs(interval.low).max(), np.abs(interval.high).max())
    assert values_of(first)["largest_not_excluded"] == pytest.approx(reach, rel=1e-4)
    assert f"differences of up to {reach:.2f} between two of them." in first["text"]


def test_medians_of_all_groups_are_told_in_one_sentence():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"arm": np.repeat(["old", "new"], 40), "months": rng.exponential([10] * 40 + [20] * 40).round(2),
                         "died": 1})  # fmt: skip
    first = kaplan_meier(data, time="months", event="died", group="arm", time_unit="months")["findings"][0]
    for arm, part in data.groupby("arm"):
        median = KaplanMeierFitter().fit(part["months"], part["died"]).median_survival_time_
        assert f"{median:g} months with arm = {arm}" in first["text"]
        assert values_of(first)[f"median {arm}"] == pytest.approx(median)


def test_without_groups_the_median_comes_before_the_counts():
    data = pd.DataFrame({"days": [3, 5, 8, 13, 21, 34], "died": [1, 1, 1, 1, 0, 1]})
    found = kaplan_meier(data, time="days", event="died")["findings"]
    assert "median survival 8" in found[0]["text"]
    assert "6 subjects" in found[1]["text"]


def test_means_of_all_groups_are_told_in_one_sentence(tmp_path):
    record, _, issues = run_step(
        summarize_table, {"table": TABLE}, {"columns": ["count"], "group_by": "spray"}, tmp_path
    )
    assert not issues
    assert record["findings"][0]["text"].startswith("Mean count is 16.67 (SD 6.21, n = 12) in spray F")
    assert "2.083 (SD 1.98, n = 12) in spray C" in record["findings"][0]["text"]


def test_levels_that_say_nothing_by_themselves_come_with_their_column(tmp_path):
    assert [called_level(level, "smoker") for level in ("yes", "0", "ex")] == ["smoker = yes", "smoker 0", "ex"]
    births = pd.DataFrame({"smoker": ["yes"] * 74 + ["no"] * 115, "small": [1] * 30 + [0] * 44 + [1] * 29 + [0] * 86})
    given = {"exposure": "smoker", "outcome": "small", "event_value": "1"}
    wanted = {param.name for param in risk_measures.tool_spec.params}
    record, _, issues = run_step(
        risk_measures, {"table": births}, {k: v for k, v in given.items() if k in wanted}, tmp_path
    )
    assert not issues
    text = record["findings"][0]["text"]
    assert "higher in smoker = yes than in smoker = no: 40.5 % (30 of 74) against 25.2 % (29 of 115)" in text
    assert "one event more for every 7 in smoker = yes" in text  # 1 / (30/74 - 29/115) = 6.5


def test_shares_of_all_groups_stand_in_the_first_sentence(tmp_path):
    nests = pd.DataFrame({"species": ["a"] * 50 + ["b"] * 40 + ["c"] * 60,
                          "complete": ["Yes"] * 45 + ["No"] * 5 + ["Yes"] * 20 + ["No"] * 20 + ["Yes"] * 48 + ["No"] * 12})  # fmt: skip
    given = {"event": "complete", "group": "species", "event_value": "Yes"}
    record, _, _ = run_step(proportion_test, {"table": nests}, given, tmp_path)
    assert "90.0 % in a, 80.0 % in c and 50.0 % in b" in record["findings"][0]["text"]


def test_a_top_ten_is_named_with_ten(tmp_path):
    birds = pd.DataFrame({"bird": [f"bird{n:02d}" for n in range(30)], "mass": np.arange(30) * 10.0})
    wanted = {"sort_by": "mass", "order": "descending", "top_n": 10}
    record, _, issues = run_step(filter_rows, {"table": birds}, wanted, tmp_path)
    assert not issues
    assert all(f"bird{n}" in record["findings"][-1]["text"] for n in range(20, 30))
