"""Formulas: what other rows say and pieces of texts, against pandas and by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.toolbox.tables.expressions import evaluate_expression

TABLE = pd.DataFrame({
    "plate": ["p1", "p1", "p1", "p2", "p2", None], "drug": ["DMSO", "DMSO", "a", "DMSO", "a", "DMSO"],
    "signal": [10.0, np.nan, 30.0, 4.0, 2.0, 8.0], "sample": ["K1_d0_2", "K1_d7_2", "K2_d0", "x", None, "K3_d0_5,5"],
}, index=[5, 3, 9, 1, 0, 7])  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("signal / mean_of(signal, drug == 'DMSO', plate)", [1, np.nan, 3, 1, 0.5, np.nan]),
        ("mean_of(signal, drug == 'DMSO')", [22 / 3] * 6),
        ("count_of(drug == 'DMSO', plate)", [2, 2, 2, 1, 1, np.nan]),
        ("count_of(drug == 'b', plate)", [0, 0, 0, 0, 0, np.nan]),
        ("sum_of(signal, drug == 'b', plate)", [np.nan] * 6),
        ("max_of(signal, not is_missing(drug), plate, drug)", [10, 10, 30, 4, 2, np.nan]),
        ("signal - median_of(signal, drug == 'DMSO' and signal > 5)", [1, np.nan, 21, -5, -7, -1]),
        ("number(part(sample, '_', 2))", [0, 7, 0, np.nan, np.nan, 0]),
        ("number(part(sample, '_', -1))", [2, 2, 0, np.nan, np.nan, 5.5]),
        ("number(sample)", [np.nan] * 6),
    ],
)
def test_numbers_of_other_rows_and_in_texts(formula, expected):
    found = evaluate_expression(formula, TABLE)
    assert found.index.tolist() == TABLE.index.tolist()
    assert found.tolist() == pytest.approx(expected, nan_ok=True)


def test_the_first_row_of_each_subject():
    """By hand: visits out of order, two on one day, a day and a subject missing, rows that do not count."""
    table = pd.DataFrame({
        "who": ["a", "a", "a", "b", "b", "b", None, "c"], "on": ["2024-03-01", "2024-01-05", "2024-01-05", None, "2024-02-01",
        "2024-01-01", "2023-01-01", "2024-01-01"], "n": [3, 1, 1, 0, 2, 1, 0, 1], "bug": list("xxxxyxxy"),
    }, index=[7, 6, 5, 4, 3, 2, 1, 0])  # fmt: skip
    first = evaluate_expression("is_first(on, n >= 0, who)", table)
    assert table.index[first].tolist() == [6, 2, 0], "of two on one day the one that stands first"
    assert table.index[evaluate_expression("is_first(n, bug == 'y', who)", table)].tolist() == [3, 0]
    for wrong in ("is_first(on, n, who)", "is_first(on, n >= 0)", "is_first(bug, n >= 0, who)"):
        with pytest.raises(ValueError, match=r"is_first|date"):
            evaluate_expression(wrong, table)


def test_pieces_of_texts():
    assert evaluate_expression("part(sample, '_', 1)", TABLE).fillna("").tolist() == ["K1", "K1", "K2", "x", "", "K3"]
    assert evaluate_expression("part(sample, '_', 3) == '2'", TABLE).fillna(value=False).tolist() == [
        True, True, False, False, False, False,
    ]  # fmt: skip
    assert evaluate_expression("part(code, '0', 1)", pd.DataFrame({"code": [10, 20]})).tolist() == ["1", "2"]


def test_year_and_month_of_dates():
    dates = pd.DataFrame(
        {"when": ["31/03/2021", None, "01/12/2020"], "later": pd.to_datetime(["2022-05-01", None, "2022-06-30"])}
    )
    assert evaluate_expression("year(when)", dates).tolist() == pytest.approx([2021, np.nan, 2020], nan_ok=True)
    assert evaluate_expression("month(later)", dates).tolist() == pytest.approx([5, np.nan, 6], nan_ok=True)
    with pytest.raises(ValueError, match="is no date"):
        evaluate_expression("month(drug)", TABLE)


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("mean_of(signal)", "takes a column, a condition"),
        ("mean_of(signal, plate)", "needs a condition"),
        ("mean_of(drug, signal > 1, plate)", "needs a column of numbers"),
        ("mean_of(signal, signal > 1, 'plate')", "takes columns after the condition"),
        ("count_of(drug)", "needs a condition"),
        ("part(sample, '', 1)", "takes a column, a text in quotes"),
        ("part(sample, '_', 0)", "takes a column, a text in quotes"),
        ("part(sample)", "takes a column, a text in quotes"),
        ("number('5')", "takes a column of texts"),
    ],
)
def test_what_cannot_be_is_a_sentence(formula, says):
    with pytest.raises(ValueError, match=says):
        evaluate_expression(formula, TABLE)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.floats(-1e6, 1e6)), min_size=1, max_size=30),
    st.sampled_from(["mean", "median", "sum", "min", "max"]),
)
def test_the_same_as_each_group_by_itself(rows, how):
    table = pd.DataFrame(rows, columns=["group", "chosen", "value"])
    found = evaluate_expression(f"{how}_of(value, chosen == True, group)", table)
    for at, group in enumerate(table["group"]):
        own = table.loc[(table["group"] == group) & table["chosen"], "value"]
        assert found[at] == pytest.approx(getattr(own, how)() if len(own) else np.nan, nan_ok=True)


def test_columns_of_one_row_are_added_averaged_and_counted_without_blanks():
    taxa = pd.DataFrame(
        {"E_baetis": [3.0, None, 0.0], "P_leuctra": [None, None, 2.0], "T_hydro": [1.0, None, 5.0], "site": list("abc")}
    )
    three = "(E_baetis, P_leuctra, T_hydro)"
    assert evaluate_expression(f"sum_across{three}", taxa).tolist()[::2] == [4.0, 7.0]
    assert pd.isna(evaluate_expression(f"sum_across{three}", taxa)[1])
    names = three.strip("()").replace("`", "").split(", ")
    assert evaluate_expression(f"min_across{three}", taxa).tolist()[::2] == taxa[names].min(axis=1).tolist()[::2]
    assert evaluate_expression(f"max_across{three}", taxa).tolist()[::2] == taxa[names].max(axis=1).tolist()[::2]
    assert evaluate_expression(f"mean_across{three}", taxa).tolist()[::2] == [2.0, pytest.approx(7 / 3)]
    assert evaluate_expression(f"count_across{three}", taxa).tolist() == [2.0, 0.0, 2.0]
    with pytest.raises(ValueError, match="needs columns of numbers"):
        evaluate_expression("sum_across(E_baetis, site)", taxa)
    with pytest.raises(ValueError, match="two or more columns"):
        evaluate_expression("sum_across(E_baetis, 3)", taxa)


def test_fifty_columns_are_added_in_one_formula():
    names = [f"`T_a taxon with a long name {at}`" for at in range(60)]
    table = pd.DataFrame(1.0, index=range(3), columns=[name.strip("`") for name in names])
    assert evaluate_expression(f"sum_across({', '.join(names)})", table).tolist() == [60.0] * 3
