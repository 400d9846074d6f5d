"""How a prediction is tested on data: what plans and runs the test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.domain.base import Value
from engine.domain.discovery.hypotheses import Chance, Prediction
from engine.domain.plan import TaskDag


class TestOutcome(Value):
    """What a run says of a prediction."""

    __test__ = False

    run: str
    p: Chance | None = None
    """Two-sided p-value."""
    as_predicted: bool | None = None
    """Whether the effect points the way that was predicted; None where no way was, or it cannot be told."""
    why: str = ""
    """Why there is no p-value."""
    data: list[str] = []
    """Hashes of the files that it read."""


class Tester(Protocol):
    """Tests predictions on data."""

    def plan_test(self, prediction: Prediction, files: Sequence[str]) -> TaskDag | None:
        """Return the plan that would test it, None when the question or the data allow none."""
        ...

    def run(self, plan: TaskDag, prediction: Prediction) -> TestOutcome:
        """Run a plan and return what it says; returns when the run is over.

        Raises:
            ItemFailed: when it could not be run.
        """
        ...
