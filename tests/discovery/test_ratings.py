"""Strengths from comparisons: against closed forms and an independent fit, and the promises that make a rank trustworthy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.discovery.ratings import (
    BIAS_VARIANCE,
    ELO,
    FIELD,
    WEIGHT_MEAN,
    Contest,
    SpreadPart,
    _design,
    _fit,
    _refined,
    between,
    cannot_be_told_apart,
    rate,
)

MATCHES = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([0.0, 0.5, 1.0]))
    .filter(lambda m: m[0] != m[1])
    .map(lambda m: Contest(*m)),
    max_size=30,
)


def test_two_ideas_are_the_logistic_regression_of_their_wins():
    """With wide priors, 30 of 40 wins in balanced order give log(3): the closed form of a single odds."""
    matches = [Contest(0, 1)] * 15 + [Contest(0, 1, 0.0)] * 5 + [Contest(1, 0, 0.0)] * 15 + [Contest(1, 0)] * 5
    fit = _fit(*_design(2, matches, np.zeros(2)), 1e6, np.ones(2))
    assert fit.centre[0] - fit.centre[1] == pytest.approx(np.log(3), abs=1e-3)
    assert fit.centre[2] == pytest.approx(0, abs=1e-6)


def test_the_fit_is_the_penalised_logistic_regression_of_statsmodels():
    import scipy.optimize

    rng = np.random.default_rng(3)
    matches = [Contest(*rng.choice(5, 2, replace=False).tolist(), float(rng.random() < 0.6)) for _ in range(60)]
    design, score, weight = _design(5, matches, np.zeros(5))
    prior = np.array([2.0] * 5 + [BIAS_VARIANCE, 2.0])
    expected = np.array([0.0] * 6 + [WEIGHT_MEAN * np.sqrt(2.0)])

    def loss(x):
        odds = design @ x
        return -(score * odds - np.logaddexp(0, odds)).sum() + 0.5 * ((x - expected) ** 2 / prior).sum()

    other = scipy.optimize.minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-9})
    assert _fit(design, score, weight, 2.0, np.ones(5)).centre == pytest.approx(other.x, abs=1e-4)


@pytest.mark.parametrize(("wins", "losses", "variance"), [(4, 0, 4.0), (9, 1, 16.0), (3, 3, 1.0), (1, 0, 0.0625)])
def test_the_posterior_of_one_difference_is_that_of_its_integral(wins, losses, variance):
    """Mean, spread and evidence against a sum over a fine grid; the mode of who always wins is a third of the spread off."""
    matches = [Contest(0, FIELD)] * wins + [Contest(0, FIELD, 0.0)] * losses
    design, score, weight = _design(2, matches, np.zeros(2))
    mode = _fit(design, score, weight, variance, np.ones(2))
    fit = _refined(design, score, weight, mode)
    at = np.linspace(-60, 60, 200_001)
    prior = -(at**2) / (4 * variance) - 0.5 * np.log(4 * np.pi * variance)
    density = np.exp(prior - wins * np.logaddexp(0, -at) - losses * np.logaddexp(0, at))
    mass = density.sum()
    mean = (at * density).sum() / mass
    sd = np.sqrt(((at - mean) ** 2 * density).sum() / mass)
    assert fit.centre[0] - fit.centre[1] == pytest.approx(mean, abs=0.05 * sd)
    c = fit.covariance
    assert np.sqrt(c[0, 0] + c[1, 1] - 2 * c[0, 1]) == pytest.approx(sd, rel=0.13)
    assert fit.evidence == pytest.approx(np.log(mass * (at[1] - at[0])), abs=0.05)
    if losses == 0 and wins > 1:
        assert mean - (mode.centre[0] - mode.centre[1]) > 0.3 * sd


@settings(max_examples=40, deadline=None)
@given(matches=MATCHES, data=st.data())
def test_the_order_of_matches_changes_nothing(matches, data):
    again = rate(6, data.draw(st.permutations(matches)))
    assert rate(6, matches).mean == pytest.approx(again.mean, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(matches=MATCHES)
def test_a_win_more_never_lowers_the_winner(matches):
    before, after = rate(6, matches), rate(6, [*matches, Contest(0, 1)])
    assert after.difference(0, 1)[0] >= before.difference(0, 1)[0] - 1e-9


def test_without_matches_nothing_is_known():
    ratings = rate(4, [])
    assert ratings.elo() == pytest.approx([1200] * 4)
    assert ratings.chance_best() == pytest.approx([0.25] * 4, abs=0.05)
    assert cannot_be_told_apart(ratings) == [[0, 1, 2, 3]]


def test_a_judge_that_favours_the_first_is_found_out():
    rng = np.random.default_rng(0)
    strengths = rng.standard_normal(12)
    matches = []
    for _ in range(300):
        i, j = rng.choice(12, 2, replace=False).tolist()
        matches.append(
            Contest(i, j, float(rng.random() < 1 / (1 + np.exp(-(1.2 * (strengths[i] - strengths[j]) + 1.5)))))
        )
    ratings = rate(12, matches)
    assert ratings.bias == pytest.approx(1.5, abs=2.5 * ratings.bias_sd)
    assert np.corrcoef(ratings.mean, strengths)[0, 1] > 0.9


def test_reviews_count_as_far_as_they_foretell():
    rng = np.random.default_rng(1)
    strengths = rng.standard_normal(16)
    matches = []
    for _ in range(64):
        i, j = rng.choice(16, 2, replace=False).tolist()
        matches.append(Contest(i, j, float(rng.random() < 1 / (1 + np.exp(-2 * (strengths[i] - strengths[j]))))))
    telling = rate(16, matches, list(strengths + 0.3 * rng.standard_normal(16)))
    silent = rate(16, matches, list(rng.standard_normal(16)))
    assert telling.review_weight > 0.5
    assert abs(silent.review_weight) < 0.5


def test_intervals_hold_true_differences_as_often_as_they_say():
    rng, inside, total = np.random.default_rng(5), 0, 0
    for _ in range(60):
        strengths = rng.standard_normal(10)
        matches = []
        for _ in range(30):
            i, j = rng.choice(10, 2, replace=False).tolist()
            matches.append(Contest(i, j, float(rng.random() < 1 / (1 + np.exp(-1.18 * (strengths[i] - strengths[j]))))))
        ratings = rate(10, matches)
        for i, j in zip(*np.triu_indices(10, 1), strict=True):
            low, high = ratings.limits(between(i, j, 10))[0]
            inside += low <= 1.18 * (strengths[i] - strengths[j]) <= high
            total += 1
    assert 0.84 <= inside / total <= 0.96


def test_limits_are_quantiles_of_what_is_averaged():
    narrow, wide = (
        SpreadPart(0.7, np.array([0.0, 1.0]), np.eye(2) * 0.1),
        SpreadPart(0.3, np.array([0.5, -1.0]), np.eye(2) * 4.0),
    )
    rating = replace(rate(2, [Contest(0, 1)]), mixed=(narrow, wide))
    random = np.random.default_rng(3)
    drawn = np.vstack(
        [random.multivariate_normal(p.mean, p.covariance, int(400_000 * p.share)) for p in (narrow, wide)]
    )
    weights = np.array([[1.0, -1.0], [0.5, 0.5]])
    expected = np.quantile(drawn @ weights.T, [0.05, 0.95], axis=0).T
    assert rating.limits(weights) == pytest.approx(expected, abs=0.03)
    alone = replace(rating, mixed=())
    mean, sd = alone.difference(0, 1)
    assert alone.limits(between(0, 1, 2))[0] == pytest.approx([mean - 1.6449 * sd, mean + 1.6449 * sd], abs=1e-3)


def test_elo_units_are_those_of_chess():
    ratings = rate(2, [Contest(0, 1)] * 9 + [Contest(0, 1, 0.0)])
    gap = ratings.elo()[0] - ratings.elo()[1]
    assert gap == pytest.approx(ratings.difference(0, 1)[0] * ELO)


@pytest.mark.parametrize("match", [Contest(0, 0), Contest(0, 3), Contest(-1, 1)])
def test_a_match_of_nobody_is_refused(match):
    with pytest.raises(ValueError, match="cannot be among 3 ideas"):
        rate(3, [match])


def test_a_comparison_with_the_field_has_no_first_place_and_moves_one_against_all_others():
    plain, voted = rate(4, [Contest(0, 1), Contest(1, 0)]), rate(4, [Contest(0, 1), Contest(1, 0), Contest(2, FIELD)])
    assert plain.bias == pytest.approx(voted.bias, abs=0.05)
    assert voted.mean[2] > max(voted.mean[[0, 1, 3]])
    assert voted.mean[0] == pytest.approx(voted.mean[1], abs=1e-6)
    many = rate(4, [Contest(2, FIELD)] * 40)
    assert many.bias == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="cannot be among"):
        rate(4, [Contest(0, -2)])


def test_a_child_is_expected_where_its_parents_are_but_less_surely():
    matches = [Contest(0, 1)] * 6 + [Contest(0, 2)] * 6 + [Contest(1, 2)] * 3
    ratings = rate(4, matches, parents=[[], [], [], [0]], own_variance=[1, 1, 1, 0.5])
    assert ratings.mean[3] == pytest.approx(ratings.mean[0], abs=1e-6)
    assert ratings.covariance[3, 3] > ratings.covariance[0, 0]
    both = rate(4, matches, parents=[[], [], [], [0, 2]])
    assert both.mean[3] == pytest.approx((both.mean[0] + both.mean[2]) / 2, abs=1e-6)
    # What a child does is told of its parent too, and one that never played has no part in it.
    worse = rate(4, [*matches, *[Contest(1, 3)] * 4], parents=[[], [], [], [0]])
    assert worse.mean[3] < worse.mean[0] < ratings.mean[0]
    with pytest.raises(ValueError, match="parents come first"):
        rate(2, [], parents=[[1], []])


def test_reviews_order_what_was_never_compared():
    assert list(np.argsort(rate(3, [], [2.0, 9.0, 5.0]).mean)) == [0, 2, 1]


def test_groups_hold_what_cannot_be_told_from_the_first_of_them():
    ratings = rate(3, [Contest(0, 2), Contest(2, 0, 0.0)] * 20 + [Contest(0, 1), Contest(1, 2)])
    assert cannot_be_told_apart(ratings, among={0, 2}) == [[0], [2]]
    assert cannot_be_told_apart(ratings)[0][0] == 0
    assert all(2 not in group for group in cannot_be_told_apart(ratings) if 0 in group)


def test_the_best_two_are_those_that_win():
    matches = [Contest(a, b) for a, b in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))] * 8
    chance = rate(4, matches).chance_top_two()
    assert chance == pytest.approx(chance.T)
    assert np.triu(chance).sum() == pytest.approx(1)
    assert chance[0, 1] == chance.max() > 0.5
    assert rate(1, []).chance_top_two().tolist() == [[0.0]]
