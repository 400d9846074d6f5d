"""Which ideas meet: nobody is left out, nobody plays twice at a time, a restart asks for the same, the top is looked at."""

from __future__ import annotations

import numpy as np
import pytest

from engine.discovery.pairing import batch_size, comparisons_wanted, next_pairs
from engine.discovery.ratings import Contest, rate


def played(n, rounds, *, repeat=True, full_rank=False, seed=0):
    rng, strengths, matches = np.random.default_rng(seed), np.linspace(-1, 1, n), []
    for _ in range(rounds):
        size = batch_size(n, len(matches), full_rank=full_rank)
        for i, j in next_pairs(rate(n, matches), matches, size, repeat=repeat, full_rank=full_rank, seed=seed):
            matches.append(Contest(i, j, float(rng.random() < 1 / (1 + np.exp(-2 * (strengths[i] - strengths[j]))))))
    return matches


@pytest.mark.parametrize("n", [2, 3, 5, 8, 16, 31])
def test_after_n_halves_everybody_has_played(n):
    matches = played(n, 2)
    assert {at for match in matches for at in (match.first, match.second)} == set(range(n))


def test_while_all_are_explored_nobody_plays_more_than_one_match_more():
    for rounds in (1, 2):
        games = np.bincount([at for m in played(16, rounds) for at in (m.first, m.second)], minlength=16)
        assert games.max() - games.min() <= 1


@pytest.mark.parametrize("n", [6, 8, 16])
def test_two_who_are_left_over_and_have_met_change_partners_so_that_all_play(n):
    for seed in range(40 if n == 6 else 8):
        matches = played(n, 2, seed=seed)
        games = np.bincount([at for m in matches for at in (m.first, m.second)], minlength=n)
        assert set(games.tolist()) == {2}
        assert len({frozenset((m.first, m.second)) for m in matches}) == len(matches) == n


def test_pairs_of_a_batch_share_nobody_and_a_restart_asks_for_the_same():
    matches = played(12, 3)
    pairs = next_pairs(rate(12, matches), matches, 4, seed=7)
    assert len({at for pair in pairs for at in pair}) == 2 * len(pairs)
    assert next_pairs(rate(12, matches[::-1]), matches, 4, seed=7) == pairs


def test_a_judge_that_repeats_itself_is_never_asked_twice():
    matches = played(6, 40, repeat=False)
    pairs = [frozenset((m.first, m.second)) for m in matches]
    assert len(pairs) == len(set(pairs)) == 15


def test_once_explored_the_top_is_looked_at():
    late = np.zeros(16)
    for seed in range(4):
        late += np.bincount([at for m in played(16, 12, seed=seed)[16:] for at in (m.first, m.second)], minlength=16)
    assert late[-6:].sum() > 1.7 * late[:6].sum()


def test_who_is_vetoed_does_not_play():
    pairs = next_pairs(rate(6, []), [], 3, open_to=[0, 1, 2, 3])
    assert {at for pair in pairs for at in pair} <= {0, 1, 2, 3}
    assert next_pairs(rate(6, []), [], 3, open_to=[4]) == []


def test_more_comparisons_are_wanted_for_near_ideas():
    near = rate(2, [Contest(0, 1), Contest(1, 0), Contest(0, 1)])
    assert comparisons_wanted(near, 0, 1) > 10
    assert comparisons_wanted(rate(2, [Contest(0, 1)] * 40), 0, 1) == 0
