"""E-values: their expectation, and the error rates that they promise, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from engine.discovery.falsification import Gathered, discoveries, e_of_p, mean, product, simulated, verdicts


def test_the_expected_e_value_of_a_uniform_p_is_one():
    """The integral of 0.5 p^-0.5 over (0, 1) is 1."""
    from scipy.integrate import quad

    assert quad(e_of_p, 0, 1)[0] == pytest.approx(1, abs=1e-6)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_smaller_p_is_never_less_evidence(one, other):
    assert (e_of_p(min(one, other))) >= e_of_p(max(one, other))


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        e_of_p(p)


def test_e_bh_by_hand():
    """n = 4, alpha = 0.1: thresholds 40, 20, 13.3, 10 (Wang and Ramdas 2022, definition 4)."""
    assert discoveries({"a": 50, "b": 25, "c": 12, "d": 9}) == {"a", "b"}
    assert discoveries({"a": 15, "b": 14, "c": 13.5, "d": 1}) == {"a", "b", "c"}
    assert discoveries({"a": 39}) == {"a"}
    assert discoveries({}) == set()


def test_without_effects_errors_stay_below_alpha():
    wrong, _ = simulated([0.0] * 10, tests=3, trials=1000)
    assert wrong <= 0.1


def test_strong_effects_are_found_and_errors_stay_below_alpha():
    wrong, power = simulated([0.0] * 5 + [4.0] * 5, tests=3, trials=400)
    assert wrong <= 0.1
    assert power > 0.9


def test_an_effect_against_the_prediction_refutes_it():
    strong = Gathered().after(1e-8, as_predicted=False).after(1e-6, as_predicted=False)
    assert verdicts({"a": strong, "b": Gathered()}) == {"a": "refuted", "b": "untested"}


def test_tests_of_the_same_rows_are_averaged_so_that_asking_twice_proves_nothing():
    """The same z tested ten times: multiplied, chance is found far more often than at alpha; averaged, it is not."""
    random = np.random.default_rng(2)
    found = {"mean": 0, "product": 0}
    for z in random.standard_normal(4000):
        once = Gathered().after(float(2 * norm.sf(abs(z))), as_predicted=bool(z > 0))
        for name, how in (("mean", mean), ("product", product)):
            found[name] += verdicts({"a": how([once] * 10)})["a"] == "supported"
    assert found["mean"] / 4000 <= 0.01
    assert found["product"] / 4000 > 0.13
    assert mean([once, once]) == Gathered(once.for_it, once.against, 2)
