"""Gathered against chance that adds up: p-values become e-values, and many hypotheses are judged at one error rate.

An e-value has an expectation of at most 1 when there is no effect. Those of independent tests of one hypothesis
multiply, also when later tests are chosen by what earlier ones found, and by Ville's inequality their product ever
reaches 1/alpha with probability at most alpha, whenever one looks. Those of tests on the same rows are averaged, which
holds whatever they have in common. Over several hypotheses e-BH keeps the expected
share of false discoveries at most alpha, however the tests depend on each other; with no true effect at all that is
the chance of any.

Sources: Vovk V, Wang R (2021) Ann Statist 49:1736 (calibrators); Ville J (1939); Wang R, Ramdas A (2022) JRSS B
84:822 (e-BH).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.domain.discovery.hypotheses import TestVerdict

ALPHA = 0.1
"""The usual error rate."""
KAPPA = 0.5
"""The calibrator is KAPPA x p^(KAPPA - 1)."""


def e_of_p(p: float) -> float:
    """Return the e-value of a p-value; infinite for 0.

    Raises:
        ValueError: for what is no probability.
    """
    if not 0 <= p <= 1:
        message = f"A p-value lies between 0 and 1, not at {p!r}."
        raise ValueError(message)
    return math.inf if p == 0 else KAPPA * p ** (KAPPA - 1)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the tests of one hypothesis have shown so far: a product of e-values for it and one against it."""

    for_it: float = 1.0
    against: float = 1.0
    tests: int = 0

    def after(self, p: float, *, as_predicted: bool) -> Gathered:
        """Return the evidence after one more test.

        Args:
            p: the two-sided p-value of the prediction's test.
            as_predicted: whether the effect points the way that was predicted.
        """
        # One-sided in each direction: half of the two-sided p on the side it points to, the rest on the other.
        half = min(1.0, p / 2)
        toward, away = (half, 1 - half) if as_predicted else (1 - half, half)
        return Gathered(self.for_it * e_of_p(toward), self.against * e_of_p(away), self.tests + 1)


def mean(tests: Sequence[Gathered]) -> Gathered:
    """Return the evidence of tests that may depend on each other: the mean of e-values is one, whatever they share."""
    n = len(tests)
    return Gathered(sum(t.for_it for t in tests) / n, sum(t.against for t in tests) / n, sum(t.tests for t in tests))


def product(tests: Sequence[Gathered]) -> Gathered:
    """Return the evidence of independent tests."""
    return Gathered(
        math.prod(t.for_it for t in tests), math.prod(t.against for t in tests), sum(t.tests for t in tests)
    )


def discoveries(values: Mapping[str, float], alpha: float = ALPHA) -> set[str]:
    """Return the names whose e-value is a discovery at the false discovery rate alpha (e-BH).

    Args:
        values: name -> e-value; a hypothesis without a test has 1.
        alpha: the rate, between 0 and 1.
    """
    ordered = sorted(values, key=lambda name: -values[name])
    n, last = len(ordered), 0
    for k, name in enumerate(ordered, start=1):
        if values[name] >= n / (alpha * k):
            last = k
    return set(ordered[:last])


def verdicts(evidence: Mapping[str, Gathered], alpha: float = ALPHA) -> dict[str, TestVerdict]:
    """Return what the tests say of each hypothesis, all together at the error rate alpha in each direction."""
    found = discoveries({name: item.for_it for name, item in evidence.items()}, alpha)
    refuted = discoveries({name: item.against for name, item in evidence.items()}, alpha)
    said: dict[str, TestVerdict] = {}
    for name in evidence:
        both = name in found and name in refuted
        said[name] = (
            "untested" if both or name not in found | refuted else ("supported" if name in found else "refuted")
        )
    return said


def simulated(
    effects: Sequence[float], tests: int, *, alpha: float = ALPHA, trials: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """Return the realised false discovery rate and the power of `verdicts` over simulated tests.

    Args:
        effects: expected z of each hypothesis' tests; 0 for one that is not true.
        tests: independent tests of each.
        alpha: the rate.
        trials: simulations.
        seed: of the simulation.
    """
    import numpy as np
    from scipy.stats import norm

    random = np.random.default_rng(seed)
    false, power = 0.0, 0.0
    for _ in range(trials):
        z = random.standard_normal((len(effects), tests)) + np.asarray(effects)[:, None]
        evidence = {}
        for at, row in enumerate(z):
            known = Gathered()
            for value in row:
                known = known.after(float(2 * norm.sf(abs(value))), as_predicted=bool(value > 0))
            evidence[str(at)] = known
        said = verdicts(evidence, alpha)
        found = [int(name) for name, verdict in said.items() if verdict == "supported"]
        false += sum(effects[at] == 0 for at in found) / max(1, len(found))
        true = sum(effect > 0 for effect in effects)
        power += sum(effects[at] > 0 for at in found) / max(1, true)
    return false / trials, power / trials
