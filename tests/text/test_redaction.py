"""Keys are taken out of texts in every form, and nothing else is."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text.redaction import MARK, Redactor, masked

KEY = 'sk-"canary"/+ä=0123'


@pytest.mark.parametrize(
    "form", [KEY, json.dumps(KEY), quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode(), f"a{KEY}b"]
)
def test_a_known_key_is_found_in_every_form(form):
    assert "canary" not in Redactor([KEY])(f"Error: {form} was refused")
    assert MARK in Redactor([KEY])(form)


@pytest.mark.parametrize("text", ["bearer chromosomes of the heterozygous", "the api-key", "Bearer mutations-in-BRCA1"])
def test_ordinary_words_stay(text):
    assert Redactor(["short", ""])(text) == text


@given(before=st.text(max_size=20), after=st.text(max_size=20))
def test_a_key_is_gone_whatever_stands_around_it(before, after):
    assert KEY not in Redactor([KEY, KEY[:12]])(before + KEY + after)


def test_a_short_key_shows_nothing_of_itself():
    assert masked("sk-1234567") == "..."
    assert masked("sk-123456789abcdef") == "...cdef"
