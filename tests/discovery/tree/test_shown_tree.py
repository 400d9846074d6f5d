"""A kept tree read row by row: each state before its choices, and the way to the best end told from the others."""

from __future__ import annotations

import random

import pytest

from engine.discovery.tree.search import TreeSearch
from engine.discovery.tree.shown import tree_view
from engine.discovery.tree.space import Choice, SearchBudget
from engine.domain.discovery.search_tree import SearchTree


class Numbers:
    """Four digits in a row; what they are worth is drawn once."""

    def start(self):
        return ""

    def is_end(self, state):
        return len(state) == 4

    def key(self, state):
        return state

    def children(self, state):
        return (
            [] if self.is_end(state) else [Choice(state + digit, 1 + int(digit), f"digit {digit}") for digit in "012"]
        )

    def value(self, state):
        return random.Random(state).random()


@pytest.fixture(scope="module")
def tree():
    search = TreeSearch(Numbers())
    search.run(SearchBudget(simulations=500))
    best = round(search.best_value, 6)
    return SearchTree(
        id="t", space="plans", goal="g", settings={}, state="complete", simulations=search.simulations,
        evaluations=search.evaluations, best=search.best, best_value=best, view=tree_view(search),
    )  # fmt: skip


def test_every_state_is_a_row_once_and_stands_below_the_choice_before_it(tree):
    rows = list(tree.rows())
    places = [row.place for row in rows]
    assert len(set(places)) == len(rows) == 1 + 3 + 9 + 27 + 81
    for row in rows[1:]:
        before = rows[places.index(row.place.rpartition(".")[0])]
        assert (row.state.key[:-1], row.depth) == (before.state.key, before.depth + 1)
        assert row.choice == f"digit {row.state.key[-1]}"
    assert (rows[0].choice, rows[0].depth) == ("the start", 0)


def test_one_way_leads_to_the_best_end(tree):
    led = [row.state.key for row in tree.rows() if row.leads]
    assert led == [tree.best[:length] for length in range(5)]


def test_in_short_the_choices_along_that_way_are_left_and_the_others_counted(tree):
    rows = list(tree.in_short().rows())
    assert len(rows) == 1 + 4 * 3
    assert [row.state.key for row in rows if row.leads] == [row.state.key for row in tree.rows() if row.leads]
    for row in rows:
        assert len(row.state.choices) + row.state.hidden == (0 if row.state.end else 3)


def test_how_far_it_came_is_a_sentence(tree):
    assert "81 ends looked at" in tree.told
    assert "did not come to its end" in tree.model_copy(update={"state": "running"}).told
    assert "none was found" in tree.model_copy(update={"best": ""}).told
