"""Small tables get the exact test and say so; the exact p-values are counted over every table with the same margins."""

from __future__ import annotations

import itertools
import math

import pandas as pd
import pytest

from engine.toolbox.statistics.contingency import contingency


def tallied(*counts):
    rows = [(f"r{i}", f"c{j}", n) for i, line in enumerate(counts) for j, n in enumerate(line)]
    return pd.DataFrame(rows, columns=["row", "column", "n"])


def crossed(*counts):
    return contingency(tallied(*counts), row="row", column="column", count="n")


def exact_p(*counts):
    """Return the p-value of Fisher's (Freeman and Halton's) test of a table with two rows, by counting."""
    columns = [a + b for a, b in zip(*counts, strict=True)]
    ways = {
        first: math.prod(math.comb(n, k) for n, k in zip(columns, first, strict=True))
        for first in itertools.product(*(range(n + 1) for n in columns))
        if sum(first) == sum(counts[0])
    }
    return sum(w for w in ways.values() if w <= ways[counts[0]] * (1 + 1e-9)) / sum(ways.values())


def test_it_answers_the_analysis_of_its_name():
    assert contingency.tool_spec.answers == ["contingency"]


@pytest.mark.parametrize(
    ("counts", "exact"),
    [(((1, 8), (11, 3)), True), (((3, 1), (1, 3)), True), (((0, 5), (40, 55)), True), (((30, 70), (50, 50)), False),
     (((0, 4, 3), (5, 1, 2)), True), (((20, 30, 25), (25, 20, 30)), False)],
)  # fmt: skip
def test_small_tables_get_the_exact_test_and_it_is_said(counts, exact):
    result = crossed(*counts)
    best = result["test_table"].iloc[0]
    assert best["recommended"]
    assert ("Fisher" in best["test"]) == exact
    assert any("the exact test is the one to read" in text for text in result["warnings"]) == exact
    assert best["test"] in result["findings"][0]["text"]
    if exact:
        p = exact_p(*counts)
        assert best["p_value"] == pytest.approx(p, abs=1e-9 if len(counts[0]) == 2 else 4 * math.sqrt(p / 19999))
