"""Numbers that a model writes: let through when a cited finding has them, however they are rounded or written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.agents.held import unfounded
from engine.domain.findings import Finding, FindingValue

FINDING = Finding(
    id="n1_f1",
    node="n1",
    text="Growth is 1.483 higher in treated (n = 20) than in control (95 % CI 0.85 to 2.11, p = 3.61e-5), 12,345 cells.",
    values=[FindingValue(name="difference", value=1.4834, low=0.8512, high=2.1156, n=40), FindingValue(name="share", value=0.2871)],
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "It is 1.48 higher (0.9 to 2.1).",
        "About 1.5 more, p = 3.6e-5.",
        "28.7 % of them, or 29 %.",
        "12345 cells, that is 12,345.",
        "1,5 mehr (0,85 bis 2,11).",
        "Of 40 plants, 20 in each of the 2 groups.",
        "They differ (one-way ANOVA of logarithms, p = 3.61e-5), 20 pairs; p = 4e-05.",
        "IL6 and HSP90 stay out of it, as does n1.",
        "1.5 lower, as -1.48.",
        "1,4834 mehr (0,8512 bis 2,1156).",
    ],
)
def test_numbers_of_the_finding_are_founded(text):
    assert unfounded(text, [FINDING]) == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is 1.49 higher.", ["1.49"]),
        ("It is 148 % higher, p = 3.7e-5.", ["3.7e-5"]),
        ("30 % of them.", ["30"]),
        ("Of 41 plants.", ["41"]),
        ("12,346 cells.", ["12,346"]),
        ("It takes 5 weeks.", ["5"]),
        ("0,8513 bis 2,1156.", ["0,8513"]),
    ],
)
def test_numbers_of_no_finding_are_named(text, numbers):
    assert unfounded(text, [FINDING]) == numbers


def test_a_number_of_the_question_may_be_repeated():
    assert unfounded("Within 5 weeks.", [FINDING], "Does it grow in 5 weeks?") == []


def test_names_with_digits_are_no_numbers_where_they_stand_so_elsewhere():
    finding = Finding(id="f", node="n", text="The label 13C6-Glucose falls by 0.2.")
    assert unfounded("13C6-Glucose falls by 0.2 at day 21.", [finding], "Does it fall until D21?") == []
    text = "14C7-Glucose falls by 0.2 in 50mg at day 22."
    assert unfounded(text, [finding], "Does it fall until D21?") == ["14", "50", "22"]


@given(st.floats(1e-6, 1e6), st.integers(0, 6))
def test_any_rounding_of_a_value_is_founded(value, digits):
    finding = Finding(id="f", node="n", text="", values=[FindingValue(name="x", value=value)])
    assert unfounded(f"It is {value:.{digits}f}.", [finding]) == []
