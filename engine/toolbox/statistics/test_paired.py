"""Two paired columns against Student (1908) and Hollander and Wolfe (1973), and what must hold for any numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from table_steps import run_step

from engine.toolbox.statistics.paired import compare_columns_paired

# Student (1908): extra hours of sleep of ten patients under two drugs.
SLEEP = pd.DataFrame(
    {
        "patient": range(1, 11),
        "drug 1": [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
        "drug 2": [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
    }
)


def test_sleep_matches_the_published_paired_t_test(tmp_path):
    # R 4: t.test(extra ~ group, sleep, paired): t = -4.0621, df = 9, p = 0.002833, CI -2.4598858 to -0.7001142
    params = {"first": "drug 1", "second": "drug 2", "subject": "patient", "test": "paired_t"}
    record, tables, issues = run_step(compare_columns_paired, {"table": SLEEP}, params, tmp_path)
    row = tables["comparison"].iloc[0]
    assert not issues
    assert row["statistic"] == pytest.approx(-4.0621, abs=5e-5)
    assert row["df"] == 9
    assert row["p_value"] == pytest.approx(0.002833, abs=5e-7)
    assert (row["lower_95"], row["upper_95"]) == pytest.approx((-2.4598858, -0.7001142), abs=1e-6)
    assert row["standardised_difference"] == pytest.approx(-4.0621 / 10**0.5, abs=5e-5)
    assert (row["n"], row["n_higher"], row["n_lower"], row["n_equal"]) == (10, 0, 9, 1)
    assert record["findings"][0]["text"].startswith("drug 1 is lower than drug 2 in the same subjects")
    assert not any("repeat" in text for text in record["warnings"])


def test_signed_rank_matches_the_depression_example_of_hollander_and_wolfe():
    # ?wilcox.test: V = 40, one-sided p = 0.01953; the estimate is the median of the 45 Walsh averages
    first = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    second = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    data = pd.DataFrame({"before": first, "after": second})
    row = compare_columns_paired(data, first="before", second="after", test="wilcoxon")["comparison"].iloc[0]
    d = np.subtract(first, second)
    walsh = [(d[i] + d[j]) / 2 for i in range(9) for j in range(i, 9)]
    assert row["statistic"] == 40
    assert row["p_value"] == pytest.approx(2 * 0.01953, abs=1e-5)
    assert row["difference"] == pytest.approx(np.median(walsh))


def test_auto_takes_ranks_when_few_differences_are_far_from_normal():
    data = pd.DataFrame({"a": [1.1, 2.2, 3.1, 4.2, 5.1, 6.2, 7.1, 8.3, 9.2, 60.0], "b": range(1, 11)})
    result = compare_columns_paired(data, first="a", second="b")
    assert result["comparison"]["test"].iloc[0] == "Wilcoxon signed-rank test"
    forced = compare_columns_paired(data, first="a", second="b", test="paired_t")
    assert any("consider a rank test" in text for text in forced["warnings"])


def test_rounding_keeps_equal_differences_tied():
    # 0.3 - 0.1 is smaller than 0.4 - 0.2 in its last bit; as a tie both have the rank 1.5
    data = pd.DataFrame({"a": [0.3, 0.2, 0.9, 1.7, 2.9], "b": [0.1, 0.4, 0.2, 0.8, 1.8]})
    row = compare_columns_paired(data, first="a", second="b", test="wilcoxon")["comparison"].iloc[0]
    assert row["statistic"] == 1.5 + 3 + 4 + 5


@pytest.mark.parametrize("shift", [0.1, 2.0])
def test_a_constant_difference_needs_ranks(shift):
    data = pd.DataFrame({"a": np.arange(10) + shift, "b": np.arange(10.0)})
    row = compare_columns_paired(data, first="a", second="b")["comparison"].iloc[0]
    assert row["p_value"] == pytest.approx(stats.wilcoxon(np.ones(10), correction=True, method="asymptotic").pvalue)
    assert row["difference"] == pytest.approx(shift)
    with pytest.raises(ValueError, match="no spread to use"):
        compare_columns_paired(data, first="a", second="b", test="paired_t")


def test_gaps_are_counted_and_repeated_subjects_noticed(tmp_path):
    data = pd.concat([SLEEP, pd.DataFrame({"patient": [10, 11], "drug 1": [1.0, None], "drug 2": [2.5, 1.0]})])
    params = {"first": "drug 1", "second": "drug 2", "subject": "patient"}
    record, tables, issues = run_step(compare_columns_paired, {"table": data}, params, tmp_path)
    assert not issues
    assert (tables["comparison"].loc[0, "n"], tables["comparison"].loc[0, "n_left_out"]) == (11, 1)
    assert any("1 of 12 rows were left out" in text for text in record["warnings"])
    assert any("1 rows repeat a value of patient" in text for text in record["warnings"])


@pytest.mark.parametrize(
    ("data", "params", "message"),
    [
        (SLEEP, {"first": "drug 1", "second": "drug 1"}, "expected two different columns"),
        (SLEEP, {"first": "drug 1", "second": "drug 3"}, "no column 'drug 3'; did you mean 'drug 2'"),
        (SLEEP.head(2), {"first": "drug 1", "second": "drug 2"}, "Only 2 rows"),
        (SLEEP.assign(x=SLEEP["drug 1"]), {"first": "drug 1", "second": "x"}, "no difference to test"),
        (SLEEP.assign(x=["1"] * 9 + ["high"]), {"first": "drug 1", "second": "x"}, "not numbers"),
    ],
)
def test_bad_input_is_refused_in_words(data, params, message):
    with pytest.raises(ValueError, match=message):
        compare_columns_paired(data, **params)


def test_alpha_decides_the_sentence():
    said = [
        compare_columns_paired(SLEEP, first="drug 1", second="drug 2", test="paired_t", alpha=alpha)["findings"][0]
        for alpha in (0.05, 0.001)
    ]
    assert "is lower than" in said[0]["text"]
    assert "are not shown to differ" in said[1]["text"]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=4, max_size=25), st.integers(-9, 9))
def test_swapping_columns_mirrors_and_a_common_shift_changes_nothing(pairs, shift):
    data = pd.DataFrame(pairs, columns=["a", "b"], dtype=float)
    assume((data["a"] != data["b"]).any())
    one = compare_columns_paired(data, first="a", second="b")["comparison"].iloc[0]
    two = compare_columns_paired(data, first="b", second="a")["comparison"].iloc[0]
    moved = compare_columns_paired(data + shift, first="a", second="b")["comparison"].iloc[0]
    assert one["difference"] == pytest.approx(-two["difference"], abs=1e-9)
    assert one["lower_95"] == pytest.approx(-two["upper_95"], abs=1e-9, nan_ok=True)
    assert one["effect_size"] == pytest.approx(-two["effect_size"], abs=1e-9)
    for key in ("p_value", "difference", "lower_95", "upper_95"):
        assert moved[key] == pytest.approx(one[key], abs=1e-9, nan_ok=True)
