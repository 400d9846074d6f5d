"""Joins that say what they lost, by counts done by hand: partners, spellings, keys that multiply rows."""

from __future__ import annotations

import pandas as pd
import pytest
from table_steps import run_step

from engine.toolbox.tables.joins import folded_key, join_tables

VISITS = pd.DataFrame({"id": ["P-01", "P-02", "P-02", "p3", "P-09", None], "pain": [1, 2, 3, 4, 5, 6]})
PEOPLE = pd.DataFrame({"id": ["P-02", "P03", "P-04", "P-05"], "age": [30, 40, 50, 60]})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("P-01", "p1", True), ("LC-07", "LC7", True), ("a b", "AB", True), ("P-10", "P-1", False), ("1-23", "12-3", True),
     ("0", "00", True), ("P-01", "P-02", False), ("100", "1", False)],
)  # fmt: skip
def test_spellings_fold_to_one_key(one, other, same):
    assert (folded_key(one) == folded_key(other)) == same


def test_keys_without_a_partner_are_named_on_both_sides(tmp_path):
    record, tables, issues = run_step(
        join_tables, {"left": VISITS, "right": PEOPLE}, {"left_on": "id", "right_on": "id", "how": "left"}, tmp_path
    )
    assert not issues
    lost = tables["unmatched"].fillna("")
    assert lost["table"].tolist() == ["first"] * 3 + ["second"] * 3
    assert lost["key"].tolist() == ["P-01", "p3", "P-09", "P03", "P-04", "P-05"]
    assert lost.set_index("key").loc["p3", "spelt_in_the_other"] == "P03"
    said = " ".join(record["warnings"])
    assert "4 rows of the first and 3 of the second table have no partner" in said
    assert "in the first P-01, p3, P-09; in the second P03, P-04, P-05" in said
    assert "2 keys without a partner differ only in capitals" in said
    assert "from 6 and 4 rows" in record["findings"][0]["text"]


def test_keys_that_multiply_rows_are_counted():
    first, second = pd.DataFrame({"id": list("aab")}), pd.DataFrame({"id": list("aaac"), "z": range(4)})
    result = join_tables(first, second, left_on="id", right_on="id")
    assert len(result["joined"]) == 6
    assert any("6 rows in all (for example a: 2 times 3)" in text for text in result["warnings"])
    once = join_tables(first.drop_duplicates(), second, left_on="id", right_on="id")
    assert any("so rows of the first were repeated (for example a: 3 rows)" in text for text in once["warnings"])
    assert join_tables(first, second.drop_duplicates("id"), left_on="id", right_on="id")["warnings"] != []
    clean = join_tables(first, pd.DataFrame({"id": list("ab"), "z": [1, 2]}), left_on="id", right_on="id")
    assert clean["warnings"] == []
    assert clean["unmatched"] is None


def test_a_key_that_only_differs_in_spelling_is_said_when_nothing_matches():
    with pytest.raises(ValueError, match="differ only in capitals"):
        join_tables(
            pd.DataFrame({"id": ["LC-07"]}), pd.DataFrame({"id": ["lc7"], "z": [1]}), left_on="id", right_on="id"
        )
