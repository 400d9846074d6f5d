"""What the screen calls things: numbers, times, sizes and text that must not turn into formatting."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain.encoding.escaping import visible
from engine.domain.results import FINAL
from pages.parts.escape import drawn, hint, plain
from pages.parts.words import STATES, counted, duration, number, seconds_between, setting, shortened, size
from pages.running.runs import RUN_STATES


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.2e-8, "1.2e-8"),
        (3896, "3,896"),
        (0.703, "0.703"),
        (12345.678, "12,345.7"),
        (2.0, "2"),
        (None, ""),
        (True, "True"),
        (1.5e20, "1.5e20"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_have_sensible_digits(value, shown):
    assert number(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (0.25, "250 ms"), (3.14, "3.1 s"), (59.6, "60 s"), (125, "2 min 5 s"), (7260, "2 h 1 min")],
)
def test_durations_use_the_unit_a_person_would(seconds, shown):
    assert duration(seconds) == shown


@pytest.mark.parametrize(("count", "shown"), [(12, "12 bytes"), (1500, "1.5 kB"), (2_000_000, "2.0 MB")])
def test_sizes_use_the_unit_a_person_would(count, shown):
    assert size(count) == shown


def test_column_names_and_formulas_are_no_formatting():
    assert plain("~donor + log2_fc * [x] <b> $5 :red[y]") == r"\~donor + log2\_fc \* \[x\] \<b\> \$5 \:red\[y\]"


@given(st.text())
def test_escaping_adds_only_what_is_not_seen(text):
    typed = re.sub(r"(?m)^[ \t]+", " ", visible(text))
    assert re.sub(r"\\([^\w\s]|_)", r"\1", plain(text).replace(":small[]", "")) == typed


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("https://a.b", r"https\::small[]//a.b"),
        (":material/home:", r"\::small[]material/home\:"),
        ("p -- q", r"p -:small[]- q"),
        ("R&D &lt;", r"R\&D \&lt;"),
        ("1. dose", r"1\. dose"),
        ("- dose", r"\- dose"),
        ("-1.5", "-1.5"),
        ("a\x1b[2J", r"a\\u001b\[2J"),
    ],
)
def test_what_backslashes_do_not_stop_is_cut_in_two(typed, written):
    assert plain(typed) == written


def test_a_hint_of_the_drawing_is_neither_a_tag_nor_an_address():
    assert hint("javascript:x").startswith("\N{WORD JOINER}")
    assert drawn("<b>{c}&lt;") == "<\N{WORD JOINER}b>{\N{WORD JOINER}c}&\N{WORD JOINER}lt;"


def test_long_text_is_cut_at_a_word():
    assert shortened("one two three", 9) == "one two..."
    assert shortened("one\n two", 20) == "one two"


def test_every_final_state_has_a_name_and_a_filter():
    assert set(STATES) >= FINAL
    assert set(RUN_STATES) >= FINAL


def test_unknown_times_count_as_no_time():
    assert seconds_between("", "2026-11-21T08:00:00Z") == 0
    assert seconds_between("2026-11-21T08:00:00Z", "2026-11-21T08:01:30.500Z") == 90.5


def test_settings_and_counts_read_as_words():
    assert setting(["age", "tsize"]) == "age, tsize"
    assert setting(value=True) == "yes"
    assert setting([]) == "none"
    assert counted(1, "step") == "1 step"
    assert counted(1200, "step") == "1,200 steps"


def test_a_plural_of_its_own_is_used():
    assert [counted(n, "entity", "entities") for n in (0, 1, 2)] == ["0 entities", "1 entity", "2 entities"]
    assert counted(1200, "analysis", "analyses") == "1,200 analyses"
