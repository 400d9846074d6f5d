"""The tree search: finds what is known to be best, looks at nothing twice, and does the same again from its seed."""

from __future__ import annotations

import math
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.discovery.tree.search import TreeSearch
from engine.discovery.tree.shown import tree_view
from engine.discovery.tree.space import Choice, SearchBudget, SearchWays, Spent


class Sums:
    """Digits chosen one after another; an end is worth most where they add up, and priors say a little of it."""

    def __init__(self, depth=4, width=4, seed=1, sets=False):
        chance = random.Random(seed)
        self.depth, self.width, self.sets = depth, width, sets
        self.worth = [[chance.random() for _ in range(width)] for _ in range(depth)]
        self.looked = []

    def start(self):
        return ()

    def is_end(self, state):
        return len(state) == self.depth

    def key(self, state):
        return ",".join(map(str, sorted(state) if self.sets else state))

    def children(self, state):
        if self.is_end(state):
            return []
        left = [d for d in range(self.width) if not (self.sets and d in state)]
        return [Choice((*state, d), 0.2 + self.worth[len(state)][d], f"digit {d}") for d in left]

    def value(self, state):
        self.looked.append(self.key(state))
        return sum(self.worth[at][digit] for at, digit in enumerate(state)) / self.depth

    @property
    def optimum(self):
        return sum(max(row) for row in self.worth) / self.depth


def test_the_best_end_of_a_small_space_is_found_and_the_search_then_stops():
    space = Sums(depth=3, width=3)
    search = TreeSearch(space)
    search.run(SearchBudget(simulations=10_000))
    assert search.best_value == pytest.approx(space.optimum)
    assert search.root.done
    assert search.simulations < 10_000
    assert len(space.looked) == len(set(space.looked)) == 27


@pytest.mark.parametrize("seed", range(4))
def test_a_tenth_of_the_ends_gives_nearly_the_best(seed):
    space = Sums(depth=4, width=6, seed=seed)
    search = TreeSearch(space, SearchWays(seed=seed))
    search.run(SearchBudget(simulations=None, evaluations=6**4 // 10))
    assert search.best_value >= 0.95 * space.optimum
    assert len(space.looked) <= 6**4 // 10


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 60))
def test_the_same_seed_does_the_same_whatever_was_looked_at_before(seed, parallel, stopped):
    ways = SearchWays(seed=seed, parallel=parallel)
    whole, first, later = Sums(seed=seed), Sums(seed=seed), Sums(seed=seed)
    straight = TreeSearch(whole, ways)
    straight.run(SearchBudget(simulations=120))
    rows = {}
    TreeSearch(first, ways, looked_at=rows.update).run(SearchBudget(simulations=stopped))
    again = TreeSearch(later, ways, known=dict(rows))
    again.run(SearchBudget(simulations=120))
    assert tree_view(again) == tree_view(straight)
    assert again.best == straight.best
    assert set(later.looked).isdisjoint(rows)
    assert sorted([*later.looked, *rows]) == sorted(whole.looked)


def test_counts_hold_between_states():
    search = TreeSearch(Sums(), SearchWays(parallel=3))
    search.run(SearchBudget(simulations=100))
    assert search.root.visits == search.simulations == 100
    stack = [search.root]
    while stack:
        node = stack.pop()
        assert node.pending == 0
        assert 0 <= node.mean <= node.best + 1e-12 <= 1 + 1e-12
        if node.choices:
            assert sum(child.visits for _, child in node.choices) <= node.visits
            stack += [child for _, child in node.choices]


def test_states_reached_in_another_order_are_one():
    space = Sums(depth=3, width=5, sets=True)
    search = TreeSearch(space)
    search.run(SearchBudget(simulations=5000))
    assert len(space.looked) == math.comb(5, 3)  # not 60 orders
    assert search.root.done


def test_few_visits_open_few_choices():
    space = Sums(depth=2, width=50)
    search = TreeSearch(space, SearchWays(widening=(1.0, 0.5)))
    search.run(SearchBudget(simulations=25))
    tried = [choice.prior for choice, child in search.root.choices or [] if child.visits]
    assert len(tried) <= 6
    assert min(tried) >= sorted((c.prior for c in space.children(())), reverse=True)[6]


def test_dead_ends_are_left_and_a_space_without_an_end_has_no_best():
    class Nowhere(Sums):
        def children(self, state):
            return super().children(state) if len(state) < 2 else []

    search = TreeSearch(Nowhere(width=3))
    assert search.run(SearchBudget(simulations=1000)) is None
    assert search.root.done
    assert search.evaluations == 0


def test_every_budget_stops_it():
    spent = []
    space = Sums(depth=6, width=8)

    def spending():
        return Spent(calls=len(space.looked), dollars=0.5 * len(space.looked))

    for budget in (
        SearchBudget(simulations=7),
        SearchBudget(evaluations=7),
        SearchBudget(calls=7),
        SearchBudget(dollars=3.5),
    ):
        space.looked.clear()
        TreeSearch(space, spending=spending).run(budget)
        spent.append(len(space.looked))
    assert spent == [7, 7, 7, 7]
    assert TreeSearch(space).run(SearchBudget(simulations=None, seconds=0.0)) is None
    asked = iter([True, True, False])
    search = TreeSearch(space)
    search.run(SearchBudget(), go_on=lambda: next(asked))
    assert search.simulations == 2


def test_ends_looked_at_side_by_side_give_the_same_tree():
    ways = SearchWays(parallel=4, seed=3)
    alone, together = TreeSearch(Sums(), ways), TreeSearch(Sums(), ways)
    alone.run(SearchBudget(simulations=80))
    with ThreadPoolExecutor(4) as pool:
        together.workers = pool
        together.run(SearchBudget(simulations=80))
    assert tree_view(alone) == tree_view(together)


def test_what_is_shown_is_pruned_and_says_why_and_what_is_hidden():
    search = TreeSearch(Sums(depth=3, width=6))
    search.run(SearchBudget(simulations=60))
    view = tree_view(search, widest=2, deepest=1)
    assert len(view.choices) == 2
    assert view.hidden == 4
    assert view.choices[0].visits >= view.choices[1].visits > 0
    assert view.choices[0].why.startswith("digit ")
    assert view.choices[0].choices == []
    assert search.ends(2)[0][0] == search.best_value >= search.ends(2)[1][0]
