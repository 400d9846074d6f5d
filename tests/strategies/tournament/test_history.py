"""How standings moved: each point is what the standings were then."""

from __future__ import annotations

import pytest
from tournament_room import Simulated, cast_of, played, table_of

from engine.domain.discovery.hypotheses import Bounds, Drawn
from engine.strategies.tournament.history import over_comparisons
from engine.strategies.tournament.standings import standings

BOUNDS = Bounds(hypotheses=5, iterations=1, concurrency=1)


@pytest.fixture(scope="module")
def view():
    """Return a tournament of two rounds."""
    return played(cast_of(Simulated()), BOUNDS).ledger.view()


def test_the_last_point_is_the_standings_of_now(view):
    count, last = over_comparisons(view)[-1]
    assert count == len(view.matches)
    assert last == standings(view)


@pytest.mark.parametrize("most", [1, 3, 7, 1000])
def test_points_are_few_evenly_spread_and_in_order(view, most):
    counts = [count for count, _ in over_comparisons(view, most)]
    assert counts == sorted(set(counts))
    assert len(counts) <= most
    assert counts[-1] == len(view.matches)


def test_a_point_knows_nothing_of_what_came_later(view):
    for count, order in over_comparisons(view, 1000)[:-1]:
        assert sum(one.matches for one in order) == 2 * count
        when = view.matches[count - 1].at
        assert {one.hypothesis for one in order} == {one.id for one in view.hypotheses if one.at <= when}


def test_what_was_drawn_and_has_no_result_is_no_comparison(view):
    last = view.matches[-1]
    failed = Drawn(number=last.number + 1, pairs=[(last.first, last.second)])
    with_it = view.model_copy(update={"drawn": [*view.drawn, failed]})
    assert [count for count, _ in over_comparisons(with_it)] == [count for count, _ in over_comparisons(view)]


def test_without_comparisons_there_is_no_history():
    assert over_comparisons(table_of(cast_of(Simulated()), BOUNDS).ledger.view()) == []
