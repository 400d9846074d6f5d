"""Table handling against counts that can be done by hand, and against what must never run."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_steps import check_issues, run_step

from engine.toolbox.tables.columns import format_p
from engine.toolbox.tables.handling import derive_column, filter_rows
from engine.toolbox.tables.joins import join_tables, pivot_table

GENES = pd.DataFrame(
    {
        "symbol": ["TP53", "MYC", "KRAS", None, "MT-CO1"],
        "p_adj": [0.01, 0.2, None, 0.001, 0.04],
        "log2_fold_change": [2.0, -1.0, 0.5, -3.0, 0.0],
        "fold change": [4.0, 0.5, 1.4, 0.125, 1.0],
    }
)
LONG = pd.DataFrame(
    {"gene": ["a", "a", "b", "b", "b"], "tissue": ["t10", "t2", "t2", "t2", None], "x": [1.0, 2, 4, 8, 9]}
)


def kept(condition: str) -> list[float]:
    return filter_rows(GENES, condition=condition)["filtered"]["log2_fold_change"].tolist()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("p_adj < 0.05", [2.0, -3.0, 0.0]),
        ("p_adj < 0.05 and symbol == 'TP53'", [2.0]),
        ("abs(log2_fold_change) >= 1 and p_adj <= 0.2", [2.0, -1.0, -3.0]),
        ("symbol in ['MYC', 'KRAS']", [-1.0, 0.5]),
        ("symbol not in ['MYC', 'KRAS']", [2.0, 0.0]),
        ("not (p_adj < 0.05)", [-1.0]),
        ("symbol != 'TP53'", [-1.0, 0.5, 0.0]),
        ("0 < log2_fold_change < 1", [0.5]),
        ("`fold change` > 1 or symbol == 'MYC'", [2.0, -1.0, 0.5]),
        ("startswith(symbol, 'MT-')", [0.0]),
        ("is_missing(p_adj) | is_missing(symbol)", [0.5, -3.0]),
        ("log2(`fold change`) == log2_fold_change", [2.0, -1.0, -3.0, 0.0]),
    ],
)
def test_condition_keeps_exactly_the_rows_that_meet_it(condition, expected):
    assert kept(condition) == expected


def test_rows_with_a_missing_value_are_left_out_and_counted():
    result = filter_rows(GENES, condition="p_adj != 0.2")
    assert result["filtered"]["p_adj"].notna().all()
    assert result["warnings"] == ["1 of 5 rows were left out because a value in the condition is missing."]


@pytest.mark.parametrize(
    "condition",
    [
        "__import__('os').system('true')", "p_adj.__class__", "(lambda: 1)()", "[x for x in symbol]",
            "symbol[0] == 'T'",
        "open('/etc/passwd')", "p_adj ** 9 ** 9 ** 9 > 1", "exec('1')", "f'{p_adj}' == 'x'", "symbol.str.len() > 2",
            "(y := 3) > 2",
        "p_adj < " * 3000 + "1", "1 < 2", "p_adj",
    ],
)  # fmt: skip
def test_nothing_but_columns_and_comparisons_is_evaluated(condition):
    with pytest.raises(ValueError, match=r".") as error:
        filter_rows(GENES, condition=condition)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("padj < 0.05", "Did you mean 'p_adj'"), ("symbol = 'TP53'", "Use =="), ("symbol > 3", "same kind"),
        ("p_adj < 0", "No row of 5"), ("symbol in ['MYC', 3]", "texts in quotes"), ("`no such` > 1",
            "no column 'no such'"),
        ("p_adj == 'low'", "same kind"),
    ],
)  # fmt: skip
def test_unusable_condition_says_what_to_change(condition, words):
    with pytest.raises(ValueError, match=r".") as error:
        filter_rows(GENES, condition=condition)
    assert words in str(error.value)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(-5, 5)), min_size=2, max_size=30), st.floats(-5, 5))
def test_condition_and_its_opposite_split_the_known_rows(values, cut):
    table = pd.DataFrame({"x": pd.Series(values, dtype=float), "always": 1.0})
    sizes = []
    for condition in (f"x < {cut!r}", f"not (x < {cut!r})", "is_missing(x)"):
        try:
            sizes.append(len(filter_rows(table, condition=condition)["filtered"]))
        except ValueError as error:
            assert "No row" in str(error)  # noqa: PT017
            sizes.append(0)
    assert sum(sizes) == len(values)


def test_formula_gives_the_value_of_every_row():
    table = derive_column(GENES, name="score", expression="-log10(p_adj) * log2_fold_change ** 2")["derived"]
    assert table["score"].round(6).tolist()[:2] == [8.0, 0.69897]
    assert pd.isna(table["score"].iloc[2])


def test_results_that_are_not_finite_become_missing_and_are_counted():
    result = derive_column(GENES, name="inverse", expression="1 / log2_fold_change")
    assert result["derived"]["inverse"].isna().tolist() == [False] * 4 + [True]
    assert any("1 results are not finite" in text for text in result["warnings"])


def test_existing_column_is_never_replaced():
    with pytest.raises(ValueError, match="already has a column 'p_adj'"):
        derive_column(GENES, name="p_adj", expression="p_adj * 2")


def test_join_matches_numbers_written_as_text_and_counts_the_rest():
    left = pd.DataFrame({"id": [1, 2, 3, None], "y": [10, 20, 30, 40]})
    right = pd.DataFrame({"sample": ["2 ", "3", "9", None], "z": ["b", "c", "d", "e"]})
    inner = join_tables(left, right, left_on="id", right_on="sample")
    assert inner["joined"][["y", "z"]].to_numpy().tolist() == [[20, "b"], [30, "c"]]
    values = {value["name"]: value["value"] for value in inner["findings"][0]["values"]}
    assert (values["n_left_unmatched"], values["n_right_unmatched"]) == (2, 2)
    assert len(join_tables(left, right, left_on="id", right_on="sample", how="left")["joined"]) == 4
    assert len(join_tables(left, right, left_on="id", right_on="sample", how="outer")["joined"]) == 6


def test_join_on_the_same_name_fills_the_key_of_unmatched_rows():
    left, right = pd.DataFrame({"id": ["a", "b"], "y": [1, 2]}), pd.DataFrame({"id": ["b", "c"], "y": [3, 4]})
    joined = join_tables(left, right, left_on="id", right_on="id", how="outer")["joined"]
    assert sorted(joined["id"]) == ["a", "b", "c"]
    assert "y_right" in joined


def test_repeated_keys_are_announced():
    right = pd.DataFrame({"id": ["a", "a"], "z": [1, 2]})
    result = join_tables(pd.DataFrame({"id": ["a"], "y": [5]}), right, left_on="id", right_on="id")
    assert len(result["joined"]) == 2
    assert any("occur more than once" in text for text in result["warnings"])


def test_join_without_a_shared_key_shows_both_spellings():
    with pytest.raises(ValueError, match=r"S1.*sample_1"):
        join_tables(pd.DataFrame({"a": ["S1"]}), pd.DataFrame({"b": ["sample_1"]}), left_on="a", right_on="b")


def test_pivot_orders_columns_naturally_and_says_what_it_combined():
    result = pivot_table(LONG, rows="gene", columns="tissue", values="x")
    assert list(result["pivoted"].columns) == ["gene", "t2", "t10"]
    assert result["pivoted"]["t2"].tolist() == [2.0, 6.0]
    assert pd.isna(result["pivoted"]["t10"].iloc[1])
    assert any("1 of 5 rows" in text for text in result["warnings"])
    assert any("1 further values were combined" in text for text in result["warnings"])


def test_pivot_of_counts_adds_up_to_the_rows():
    counts = pivot_table(LONG, rows="gene", columns="tissue", values="x", aggregate="count")["pivoted"]
    assert int(counts[["t2", "t10"]].to_numpy().sum()) == 4


def test_pivot_of_text_values_is_refused():
    with pytest.raises(ValueError, match="not numbers"):
        pivot_table(LONG.assign(x=["1", "2", "<5", "8", "9"]), rows="gene", columns="tissue", values="x")


STEPS = {
    "join": (join_tables, {"left": LONG, "right": pd.DataFrame({"g": ["a", "b"], "name": ["A", "B"]})},
             {"left_on": "gene", "right_on": "g", "how": "left"}),
    "filter": (filter_rows, {"table": GENES}, {"condition": "p_adj < 0.05 and `fold change` > 1"}),
    "derive": (derive_column, {"table": GENES}, {"name": "ratio", "expression": "log2(`fold change`) / 2"}),
    "pivot": (pivot_table, {"table": LONG}, {"rows": "gene", "columns": "tissue", "values": "x", "aggregate": "sum"}),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_step_runs_from_its_own_source_and_passes_its_checks(name, tmp_path):
    function, inputs, params = STEPS[name]
    record, tables, issues = run_step(function, inputs, params, tmp_path)
    assert issues == []
    assert tables
    assert record["findings"][0]["values"]


def test_row_that_breaks_the_condition_is_caught(tmp_path):
    params, name = {"condition": "p_adj < 0.05"}, ["filter_condition_holds"]
    good = filter_rows(GENES, **params)["filtered"]
    assert check_issues(name, {"filtered": good}, tmp_path, params=params) == []
    assert check_issues(name, {"filtered": GENES}, tmp_path, params=params) == ["condition_broken"]


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0497, "p = 0.0497"), (0.04996, "p = 0.04996"), (0.0502, "p = 0.05"), (0.05, "p = 0.05"), (0.016, "p = 0.016")],
)
def test_a_p_value_is_not_rounded_across_five_per_cent(p, text):
    assert format_p(p) == text


VISITS = pd.DataFrame({"month": ["2023-01", "2023-03", None], "seen": ["2023-01-31", "2023-03-01", "2023-04-01"],
                       "dose": [1, 2, 3], "arm": ["a", "b", "a"]})  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "values"),
    [
        ("days_between('2023-01-01', seen)", [30, 59, 90]),
        ("days_between(join(month, '-01', ''), seen)", [30, 0, None]),
        ("days_between('2023-01-01', join(month, '-01', ''))", [0, 59, None]),
        ("if_else(arm == 'a', 12, 0) + if_else(dose > 2, 1, 0)", [12, 0, 13]),
        ("join('no', dose)", ["no / 1", "no / 2", "no / 3"]),
    ],
)
def test_formulas_take_literals_where_they_take_columns(formula, values):
    found = derive_column(VISITS, name="new", expression=formula)["derived"]["new"]
    assert [None if pd.isna(value) else value for value in found] == values


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("days_between(seen)", r"days_between in .* takes two columns of dates, or a column and a date in quotes"),
        ("days_between('2023-01-01', '2023-02-01')", r"days_between in .* takes two columns of dates"),
        ("days_between('1.1.23', seen)", "years of two digits"),
        ("sort(dose)", r"'sort' in .* is no function .* expected one of: .*days_between"),
        ("contains(arm, dose)", r"contains in .* takes a column and a text in quotes"),
    ],
)
def test_a_function_that_is_used_wrongly_says_what_it_takes(formula, says):
    with pytest.raises(ValueError, match=says):
        derive_column(VISITS, name="new", expression=formula)
