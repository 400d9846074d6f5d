"""What the foot of the sidebar says of models."""

from __future__ import annotations

from pages.parts.sidebar import model_words


def test_one_model_is_named_several_are_counted_and_none_is_said():
    none = {"reasoning": [], "fast": []}
    one = {"reasoning": [{"model": "a/b"}, {"model": "c/d"}], "fast": [{"model": "a/b"}]}
    assert model_words(none) == "Built-in planner, no model"
    assert model_words(one) == "a/b"
    assert model_words({**one, "coder": [{"model": "e/f"}]}) == "a/b and 1 more"
