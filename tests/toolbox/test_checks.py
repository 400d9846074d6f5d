"""The general postconditions: each finds a planted fault and says nothing of a clean output."""

from __future__ import annotations

import pandas as pd
import pytest
from table_steps import check_issues

from engine.toolbox.checks import CHECKS, StepOutputs, check

TABLE = pd.DataFrame(
    {"gene": ["A", "B", "C"], "p_value": [0.001, 0.02, None], "p_adj": [0.002, 0.02, None], "n": [3, 4, 5]}
)


def finding(**changes):
    given = {
        "text": "A is higher.",
        "output": "de_table",
        "row": {"gene": "A"},
        "values": [{"name": "p_adj", "value": 0.002}],
    }
    return given | changes


def test_empty_table_is_caught(tmp_path):
    assert check_issues(["tables_not_empty"], {"de_table": TABLE}, tmp_path) == []
    assert check_issues(["tables_not_empty"], {"de_table": TABLE.iloc[:0]}, tmp_path) == ["empty_table"]


@pytest.mark.parametrize(
    ("column", "values", "codes"),
    [
        ("p_value", [0.001, 0.02, None], []),
        ("p_value", [-0.001, 0.02, None], ["p_out_of_range"]),
        ("p_adj", [0.002, 1.2, None], ["p_out_of_range"]),
        ("p_adj", [0.0005, 0.02, None], ["p_adj_below_p"]),
        ("p_adj", [0.001 * (1 - 1e-12), 0.02, None], []),  # rounding is no fault
        ("p_adj", [None, 0.03, None], []),
    ],
)
def test_impossible_p_values_are_caught(column, values, codes, tmp_path):
    table = TABLE.assign(**{column: values})
    assert check_issues(["p_values_valid"], {"de_table": table}, tmp_path) == codes


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, []),
        ({"values": [{"name": "p_adj", "value": 0.003}]}, ["finding_differs"]),
        ({"values": [{"name": "p_adj", "value": 0.002 + 1e-9}]}, []),
        ({"values": [{"name": "gene", "value": 7}]}, ["finding_differs"]),
        ({"values": [{"name": "elsewhere", "value": 7}]}, []),
        ({"row": {"gene": "Z"}}, ["finding_without_row"]),
        ({"row": {"protein": "A"}}, ["finding_without_row"]),
        ({"row": {}}, []),
        ({"output": ""}, []),
    ],
)
def test_finding_that_differs_from_its_row_is_caught(changes, codes, tmp_path):
    assert (
        check_issues(["findings_match_tables"], {"de_table": TABLE}, tmp_path, findings=[finding(**changes)]) == codes
    )


def test_pointer_to_two_rows_is_caught(tmp_path):
    doubled = pd.concat([TABLE, TABLE])
    assert check_issues(["findings_match_tables"], {"de_table": doubled}, tmp_path, findings=[finding()]) == [
        "finding_without_row"
    ]


def test_issue_names_the_output_and_the_value(tmp_path):
    path = tmp_path / "de_table.csv"
    TABLE.assign(p_value=[5.0, 0.1, 0.2]).to_csv(path, index=False)
    step = StepOutputs(params={}, files={"de_table": path}, types={"de_table": "de_table"})
    issue = next(CHECKS["p_values_valid"](step))
    assert issue.where == "de_table"
    assert issue.severity == "error"
    assert "1 values of p_value in de_table" in issue.message


def test_check_name_is_taken_only_once():
    with pytest.raises(ValueError, match="Two checks are called 'p_values_valid'"):
        check("p_values_valid")(lambda step: iter(()))
