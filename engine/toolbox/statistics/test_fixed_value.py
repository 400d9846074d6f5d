"""One-sample tests against a fixed value: numbers by the textbook formula and R's, the sentence, and which question means it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from plan_questions import profile_files, the_planner

from engine.toolbox.statistics.fixed_value import compare_with_value, one_sample

SLEEP = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
"""Hours of sleep gained by one of Student's drugs (1908); R: t.test(sleep$extra[1:10]) gives t = 1.3257, p = 0.2176."""


def test_student_has_the_numbers_of_1908_and_of_r():
    row = one_sample(SLEEP, 0.0, "one_sample_t")
    assert (row["mean"], row["statistic"], row["p_value"]) == pytest.approx((0.75, 1.3257, 0.2176), abs=1e-4)
    assert (row["lower_95"], row["upper_95"]) == pytest.approx((-0.5297804, 2.0297804), abs=1e-6)
    spread = math.sqrt(sum((x - 0.75) ** 2 for x in SLEEP) / 9)
    assert row["effect_size"] == pytest.approx(0.75 / spread)
    moved = one_sample([x + 15 for x in SLEEP], 15.0, "one_sample_t")
    assert moved["p_value"] == pytest.approx(row["p_value"])


def test_wilcoxon_has_the_numbers_of_all_signs():
    # All 2^5 signs of ranks 1 to 5: a sum of positive ranks of 15 or 0 comes twice, p = 2 / 32.
    row = one_sample([11, 12, 13.5, 15, 18], 10.0, "wilcoxon")
    assert row["p_value"] == pytest.approx(2 / 32)
    assert row["effect_size"] == 1.0
    assert row["difference"] == pytest.approx(float(np.median([(a + b) / 2 for i, a in enumerate([1, 2, 3.5, 5, 8]) for b in [1, 2, 3.5, 5, 8][: i + 1]])))  # fmt: skip


def maze():
    draw = np.random.default_rng(5)
    return pd.DataFrame({
        "mouse": [f"m{k}" for k in range(24)], "genotype": ["WT", "KO"] * 12, "sex": ["F", "F", "M", "M"] * 6,
        "TQ_s": np.where(np.arange(24) % 2 == 0, draw.normal(24, 3, 24), draw.normal(15.3, 3, 24)).round(1),
        "AdjL_s": draw.normal(15, 3, 24).round(1),
    })  # fmt: skip


def test_each_group_is_told_by_itself_with_the_value_and_the_gap():
    step = compare_with_value(maze(), value="TQ_s", reference=15.0, group="genotype")
    table = step["comparison"].set_index("group")
    assert table.loc["WT", "p_adj"] == pytest.approx(2 * table.loc["WT", "p_value"])
    text = step["findings"][0]["text"]
    assert text.startswith("TQ_s in WT is above 15: mean 2")
    assert "TQ_s in KO is not shown to differ from 15" in text
    assert "the data are compatible with anything from" in text


@pytest.mark.parametrize("values", [[1.0, 2.0], [3.0, 3.0, 3.0, 3.0]])
def test_too_few_or_equal_values_are_refused(values):
    with pytest.raises(ValueError, match="no spread to test with"):
        compare_with_value(pd.DataFrame({"x": values}), value="x", reference=1.0)


@pytest.mark.parametrize(
    ("question", "reference", "group"),
    [
        ("is TQ_s in KO different from chance (15 s)?", 15, "genotype"),
        ("one-sample t test of TQ_s against 15, by genotype", 15, "genotype"),
        ("does TQ_s differ from zero?", 0, ""),
    ],
)
def test_a_question_against_a_value_is_no_comparison_of_groups(tmp_path, question, reference, group):
    maze().to_csv(tmp_path / "probe.csv", index=False)
    plan = the_planner().plan(question, profile_files([tmp_path / "probe.csv"])).plan
    (node,) = [n for n in plan.nodes if n.tool == "compare_with_value"]
    assert (node.params["value"], node.params["reference"], node.params.get("group") or "") == (
        "TQ_s",
        reference,
        group,
    )
    assert not any("AdjL_s" in str(n.params) for n in plan.nodes), "15 s is no row"


def test_a_comparison_of_groups_stays_one(tmp_path):
    maze().to_csv(tmp_path / "probe.csv", index=False)
    plan = the_planner().plan("is TQ_s higher in WT than in KO?", profile_files([tmp_path / "probe.csv"])).plan
    assert [n.tool for n in plan.nodes] == ["compare_groups"]
