"""Translation of ids by a mapping of one's own: what is lost, doubled and merged, counted by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from table_steps import check_issues, run_step

from engine.toolbox.tables.identifiers import map_ids

TUBES = pd.DataFrame({"tube": [1, 2, 2, 3, 4, 5, None], "od": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]})
MAPPING = pd.DataFrame(
    {"old": ["1", "2 ", "3", "3", "4", "7", "5"], "new": ["S-1", "S-2", "S-3a", "S-3b", "S-2", "S-7", None]}
)


def test_every_row_is_kept_and_every_loss_is_named(tmp_path):
    record, tables, issues = run_step(map_ids, {"table": TUBES, "mapping": MAPPING}, {"column": "tube"}, tmp_path)
    assert not issues
    assert tables["mapped"]["new"].fillna("").tolist() == ["S-1", "S-2", "S-2", "S-3a / S-3b", "S-2", "", ""]
    assert list(tables["mapped"].columns) == ["tube", "new", "od"]
    summary = tables["mapping_summary"].iloc[0]
    names = ["rows", "rows_mapped", "ids", "ids_mapped", "ids_not_mapped", "ids_with_several", "ids_sharing"]
    assert summary[names].tolist() == [7, 5, 5, 4, 1, 1, 2]
    problems = tables["problems"].set_index("id")
    assert problems.loc[5, "problem"] == "has no new id in the mapping"
    assert problems.loc[3, "new_ids"] == "S-3a, S-3b"
    assert problems.loc[2, ["problem", "new_ids"]].tolist() == ["shares its new id", "S-2 with 4"]
    assert "4 of 5 ids of tube got a new id from new (in 5 of 7 rows)" in record["findings"][0]["text"]
    said = " ".join(record["warnings"])
    for words in ("1 id (1 row) without a new id stay empty: 5", "1 of 7 rows have no tube", "1 id with several new ids: all are written",
                  "2 ids share a new id"):  # fmt: skip
        assert words in said


@pytest.mark.parametrize(
    ("several", "third", "rows"),
    [("all", "S-3a / S-3b", 7), ("first", "S-3a", 7), ("none", None, 7), ("rows", "S-3a", 8)],
)
def test_several_new_ids_are_treated_as_said(several, third, rows, tmp_path):
    _, tables, issues = run_step(
        map_ids, {"table": TUBES, "mapping": MAPPING}, {"column": "tube", "several": several}, tmp_path
    )
    assert not issues
    assert len(tables["mapped"]) == rows
    found = tables["mapped"].loc[tables["mapped"]["tube"] == 3, "new"].tolist()
    assert (found[0] if isinstance(found[0], str) else None) == third


def test_columns_are_told_by_their_values_and_existing_ones_never_replaced():
    table = pd.DataFrame({"well": ["A1", "A2"], "strain": ["x", "y"]})
    mapping = pd.DataFrame({"strain": ["wt", "ko"], "well": ["A1", "A2"]})
    mapped = map_ids(table, mapping, column="well")["mapped"]
    assert mapped["strain_mapped"].tolist() == ["wt", "ko"]
    assert mapped["strain"].tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="already has a column 'strain'"):
        map_ids(table, mapping, column="well", name="strain")
    back = map_ids(mapped, mapping.rename(columns={"well": "pos"}), column="strain_mapped", new="pos")["mapped"]
    assert back["pos"].tolist() == ["A1", "A2"]


def test_a_different_spelling_is_said():
    mapping = pd.DataFrame({"old": ["lc7", "lc8"], "new": ["a", "b"]})
    said = map_ids(pd.DataFrame({"id": ["LC-07", "lc8"]}), mapping, column="id")["warnings"][0]
    assert "only in their spelling (LC-07: the mapping has lc7)" in said
    with pytest.raises(ValueError, match="spelling"):
        map_ids(pd.DataFrame({"id": ["LC-07"]}), mapping, column="id", old="old")


BAD = {
    "no id": (pd.DataFrame({"id": ["x"]}), {}, "holds any of the ids"),
    "empty": (pd.DataFrame({"id": [None]}), {}, "no values at all"),
    "way": (pd.DataFrame({"id": ["1"]}), {"several": "last"}, "expected all, none, first or rows"),
    "column": (pd.DataFrame({"id": ["1"]}), {"old": "odl"}, "did you mean"),
    "same": (pd.DataFrame({"id": ["1"]}), {"old": "old", "new": "old"}, "two columns"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_sentence(case):
    table, params, words = BAD[case]
    with pytest.raises(ValueError, match=r".") as error:
        map_ids(table, MAPPING, column="id", **params)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="2 columns beside"):
        map_ids(pd.DataFrame({"id": ["1"]}), MAPPING.assign(more=1), column="id", old="old")


def test_wrong_counts_are_caught(tmp_path):
    result = map_ids(TUBES, MAPPING, column="tube")
    tables = {"mapped": result["mapped"], "mapping_summary": result["mapping_summary"]}
    assert check_issues(["mapped_ids_counted"], tables, tmp_path) == []
    wrong = tables | {"mapping_summary": result["mapping_summary"].assign(rows_mapped=6)}
    assert check_issues(["mapped_ids_counted"], wrong, tmp_path) == ["mapped_differs"]
    wrong = tables | {"mapping_summary": result["mapping_summary"].assign(ids_mapped=9)}
    assert check_issues(["mapped_ids_counted"], wrong, tmp_path) == ["mapped_differs"]
