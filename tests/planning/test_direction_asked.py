"""Which direction of change a question asks about."""

import pytest

from engine.planning.naming.numbers import direction


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("which genes are down in the mutant", "down"),
        ("top ten down", "down"),
        ("the 20 most up", "up"),
        ("list of the upregulated genes", "up"),
        ("which proteins are lower in KO", "down"),
        ("how many genes up and how many down", ""),
        ("which genes go up and which go down", ""),
        ("is IL6 up or down?", ""),
        ("up- and downregulated", ""),
        ("set up the table by group", ""),
        ("break down the genes by group", ""),
        ("which genes go up after the knock down", "up"),
        ("which proteins are down in the knock-down", "down"),
    ],
)
def test_one_direction_is_meant_only_where_the_other_is_not_asked_too(question: str, asked: str):
    assert direction(question) == asked
