"""What stands under a column's name in the preview of a file."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from engine.domain.profile import ColumnProfile, RoleGuess


def page(columns, head):
    from engine.domain.profile import Profile
    from pages.asking.preview import draw_preview

    facts = {"path": "p", "name": "p.csv", "format": "csv", "bytes": 1, "sha256": "a", "types": [], "summary": ""}
    draw_preview(Profile(**facts, columns=9, column_profiles=columns, head=head), "k")


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (ColumnProfile(name="c", kind="number", scale="number", unit="mg"), "measurement · mg"),
        (ColumnProfile(name="c", kind="integer", scale="code", roles=[RoleGuess(role="event", confidence=0.7)]),
         "code · event"),
        (ColumnProfile(name="c", kind="integer", scale="code", roles=[RoleGuess(role="event", confidence=0.3)]), "code"),
        (ColumnProfile(name="c", kind="identifier", scale="identifier", roles=[RoleGuess(role="id", confidence=0.9)]),
         "id"),
        (ColumnProfile(name="c", kind="number", scale="number", corrected="batch"), "a technical batch"),
        (ColumnProfile(name="other", kind="number", scale="number"), ""),
    ],
)  # fmt: skip
def test_a_column_says_what_it_was_taken_for(column, said):
    run = AppTest.from_function(page, args=([column], {"c": ["1", "$x$"]})).run()
    assert not run.exception
    assert run.dataframe[0].value["c"].tolist() == [said, "1", "$x$"]
    assert run.caption[0].value == "The first 1 of 9 columns."


def test_a_file_without_rows_has_no_preview():
    assert not AppTest.from_function(page, args=([], {})).run().dataframe
