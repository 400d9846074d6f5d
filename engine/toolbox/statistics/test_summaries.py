"""Summaries and correlations of awkward columns: infinite values, numbers written as text, and very few rows."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from table_steps import run_step

from engine.toolbox.statistics.summaries import correlate, correlation, summarize_table


@pytest.mark.slow
def test_spearman_of_few_rows_counts_every_order():
    # Four pairs in one order: 2 of 24 orders are as extreme, p = 0.083; a t distribution would say 0.
    assert correlate(np.arange(4.0), np.arange(4.0), "spearman")[3] == pytest.approx(2 / 24)
    rng = np.random.default_rng(3)
    for n in (5, 6, 7):
        x, y = rng.integers(0, 4, n).astype(float), rng.normal(size=n)
        observed = abs(pd.Series(x).corr(pd.Series(y), method="spearman"))
        every = [abs(pd.Series(x).corr(pd.Series(order), method="spearman")) for order in itertools.permutations(y)]
        assert correlate(x, y, "spearman")[3] == pytest.approx(np.mean(np.array(every) >= observed - 1e-9))
    assert correlate(np.arange(12.0), np.arange(12.0), "spearman")[3] > 0


def test_few_rows_in_one_order_are_no_proof(tmp_path):
    table = pd.DataFrame({"dose": [1, 2, 3, 4], "weight": [5.0, 6, 8, 20]})
    record, tables, issues = run_step(correlation, {"table": table}, {"x": "dose", "y": "weight", "method": "spearman"},
                                      tmp_path)  # fmt: skip
    assert not issues
    assert tables["correlations"].loc[0, "p_value"] == pytest.approx(1 / 12)
    assert record["findings"][0]["text"].startswith("No correlation of dose and weight was shown")


def test_infinite_values_are_gaps_and_said(tmp_path):
    table = pd.DataFrame({"ratio": [1.0, 2, np.inf, 3], "group": list("abab")})
    result = summarize_table(table)
    row = result["summary"].iloc[0]
    assert (row["n"], row["missing"], row["mean"]) == (3, 1, 2.0)
    assert "1 infinite values of ratio were counted as missing." in result["warnings"]
    record, _, issues = run_step(summarize_table, {"table": table}, {"group_by": "group"}, tmp_path)
    assert not issues
    assert not any("infinite" in finding["text"] for finding in record["findings"])


@pytest.mark.parametrize(
    ("values", "words"),
    [(["1,5", "2,7", "3,1"], "'1,5', with a decimal comma"), (["1.5", "2.7", "<0.1"], "'<0.1'"),
     (["red", "blue", "3"], None), ([True, False, True], None)],
)  # fmt: skip
def test_numbers_read_as_text_are_named(values, words):
    warnings = summarize_table(pd.DataFrame({"x": values, "y": [1, 2, 3]}))["warnings"]
    assert any(words in text for text in warnings) if words else warnings == []


def test_rows_of_each_group_are_counted_in_a_table_of_their_own_where_that_is_asked():
    table = pd.DataFrame(
        {"breed": ["Rex"] * 5 + ["Lop"] * 3, "a": range(8), "b": range(8), "c": [1, 2] * 4, "d": [0] * 8}
    )
    result = summarize_table(table, columns=list("abcd"), group_by="breed", count=True)
    first, counts = result["findings"][0], result["counts"]
    assert (first["text"], first["output"]) == ("5 in Rex and 3 in Lop (8 rows).", "counts")
    assert counts.values.tolist() == [["Rex", 5, 62.5], ["Lop", 3, 37.5]]
    assert summarize_table(table, columns=list("abcd"), group_by="breed")["counts"] is None
    with pytest.raises(ValueError, match="rename it first"):
        summarize_table(table.rename(columns={"breed": "percent"}), group_by="percent", count=True)
