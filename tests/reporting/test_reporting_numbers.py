from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain.findings import Finding, FindingValue
from engine.reporting.forms.links import LinkPlaces, linked
from engine.reporting.numbers import format_cell, format_number, format_p, is_p_column, parse_number


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3896, "3,896"),
        (12345.6, "12,346"),
        (0.00012345, "1.234e-4"),
        (2.5, "2.5"),
        (2.526042, "2.526"),
        (-0.31641, "-0.3164"),
        (999.96, "1,000"),
        (9999.6, "10,000"),
        (0.0, "0"),
        (1e20, "1e20"),
        (float("nan"), "NA"),
        (None, "NA"),
        (True, "yes"),
    ],
)
def test_numbers_keep_sensible_digits(value, shown):
    assert format_number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.234e-8, "1.2e-8"),
        (7.0e-11, "7.0e-11"),
        (0.0496, "0.0496"),
        (0.000999, "1.0e-3"),
        (0.0, "0"),
        (1.0, "1"),
        (0.9996, ">0.999"),
        (2.5e-310, "2.5e-310"),
        (float("nan"), "NA"),
    ],
)
def test_p_values_are_short_and_never_lie(value, shown):
    assert format_p(value) == shown


@given(st.floats(min_value=0, max_value=1, exclude_min=True))
def test_a_shown_p_value_is_on_the_same_side_of_a_half_percent_step(p):
    shown = format_p(p)
    number = float(shown.lstrip(">"))
    assert number == pytest.approx(p, rel=0.06)
    assert (number > 0) == (p > 0)


@given(st.floats(min_value=-1e300, max_value=1e300))
def test_a_shown_number_is_within_its_digits_of_the_value(value):
    shown = float(format_number(value).replace(",", ""))
    assert shown == pytest.approx(value, rel=6e-4)


def test_columns_decide_how_their_cells_are_shown():
    assert format_cell("1.23456e-12", "p_adj") == "1.2e-12"
    assert format_cell("1234567", "base_count") == "1,234,567"
    assert format_cell("1234567", "entrez_id") == "1234567"
    assert format_cell("00123", "plate") == "00123"
    assert format_cell("0.67001", "size_factor") == "0.6700"
    assert format_cell("0.5", "dose") == "0.5"
    assert format_cell("DUSP1", "symbol") == "DUSP1"
    assert format_cell("1_000", "x") == "1_000"
    assert [is_p_column(n) for n in ("p_value", "p_adj", "padj", "fdr", "pct_in", "p53_level", "stop")] == [
        True, True, True, True, False, False, False]  # fmt: skip
    assert parse_number("nan") is None
    assert parse_number("inf") is None


def _finding(text, *values, row=None):
    return Finding(id="f", node="n1", text=text, values=list(values), artifact="t.csv", row=row or {})


def _links(finding, cells=None, settings=None):
    places = LinkPlaces(values="row", settings="step")
    return [(piece.text, piece.target) for piece in linked(finding, places, cells, settings) if piece.target]


def test_each_number_of_a_finding_links_to_its_row():
    finding = _finding(
        "DUSP1 (ENSG00000120129) is 2.95 log2 units higher (95 % interval 2.6 to 3.3), p = 1.2e-8, of 33,469 genes.",
        FindingValue(name="log2_fold_change", value=2.9512, low=2.61, high=3.29),
        FindingValue(name="p_adj", value=1.234e-8),
        FindingValue(name="tested", value=33469),
    )
    assert _links(finding, settings={"level": 0.95}) == [
        ("2.95", "row"), ("95", "step"), ("2.6", "row"), ("3.3", "row"), ("1.2e-8", "row"),
        ("33,469", "row")]  # fmt: skip


def test_numbers_inside_identifiers_are_not_links():
    finding = _finding("ENSG0001 and HLA-2 and v1.2 and miR21 stay.", FindingValue(name="x", value=1),
                       FindingValue(name="y", value=2), FindingValue(name="z", value=21))  # fmt: skip
    assert _links(finding) == []


def test_a_number_that_fits_nothing_is_not_linked():
    finding = _finding("The difference is 4.2 and 2 groups.", FindingValue(name="difference", value=1.7))
    assert _links(finding) == []


def test_the_size_of_a_negative_value_links_but_a_wrong_sign_does_not():
    value = FindingValue(name="difference", value=-3.69)
    assert _links(_finding("It is lower by 3.7.", value)) == [("3.7", "row")]
    assert _links(_finding("The change is -3.69.", value)) == [("-3.69", "row")]
    assert _links(_finding("The change is +3.69.", value)) == []


def test_numbers_shown_only_by_the_row_link_to_it_too():
    finding = _finding("The mean is 12.5.", row={"group": "a"})
    assert _links(finding, {"group": "a", "mean": "12.4996"}) == [("12.5", "row")]


@given(st.text(max_size=80))
def test_linking_never_changes_the_sentence(text):
    finding = _finding(text, FindingValue(name="x", value=1.5), FindingValue(name="n", value=3))
    assert "".join(piece.text for piece in linked(finding, LinkPlaces(values="row"))) == text
