"""What tools that count, order and reshape say first: the numbers, not the shape of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
from table_steps import run_step

from engine.toolbox.statistics.summaries import summarize_table
from engine.toolbox.tables.handling import filter_rows
from engine.toolbox.tables.joins import pivot_table

FISH = pd.DataFrame({"site": ["north", "south"] * 6, "sex": ["f"] * 6 + ["m"] * 6, "mm": np.arange(12) * 1.5})


def test_the_cells_of_a_small_table_are_told(tmp_path):
    given = {"rows": "site", "columns": "sex", "values": "mm", "aggregate": "mean"}
    record, _, issues = run_step(pivot_table, {"table": FISH}, given, tmp_path)
    assert not issues
    assert record["findings"][0]["text"] == (
        "Mean mm by site and sex: north 3 in f and 12 in m; south 4.500 in f and 13.50 in m."
    )
    counted = pivot_table(FISH[FISH["mm"] > 3], **{**given, "aggregate": "count"})["findings"][0]
    assert counted["text"] == "Number of mm by site and sex: north 1 in f and 3 in m; south 2 in f and 3 in m."


def test_of_a_large_table_the_ends_are_told():
    table = pd.DataFrame([(f"g{a}", f"w{b}", 10 * a + b) for a in range(1, 6) for b in range(3)],
                         columns=["gene", "week", "level"])  # fmt: skip
    text = pivot_table(table, rows="gene", columns="week", values="level")["findings"][0]["text"]
    assert text == "Mean level is highest with 52 in g5, w2 and lowest with 10 in g1, w0, of 15 cells."


def test_a_column_of_few_texts_is_told_by_its_shares():
    table = pd.DataFrame({"species": ["a"] * 5 + ["b"] * 3 + [None] * 2})
    text = summarize_table(table, columns=["species"])["findings"][0]["text"]
    assert text == "species of 8 rows: 5 a (62.5 %) and 3 b (37.5 %)."


def test_the_first_rows_are_named_with_what_they_are_ordered_by(tmp_path):
    birds = pd.DataFrame({"bird": [f"b{n}" for n in range(20)], "mass": np.arange(20) * 10.0 + 0.25})
    wanted = {"sort_by": "mass", "order": "descending", "top_n": 2}
    record, _, issues = run_step(filter_rows, {"table": birds}, wanted, tmp_path)
    assert not issues
    assert record["findings"][-1]["text"] == (
        "The 2 of 20 rows with the highest mass: bird b19 (190.2), b18 (180.2); in descending order from 190.250 to "
        "180.250."
    )
