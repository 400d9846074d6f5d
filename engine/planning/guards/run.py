"""Runs the guards of an analysis over a step; all guards register themselves here."""

from __future__ import annotations

from engine.planning.guards import curves, designs, groups, named, subjects
from engine.planning.guards.case import GUARDS, Case
from engine.planning.guards.values import one_unit

_OF = (curves, designs, groups, named, subjects)
"""The modules that put their guards into the table when they are read."""


def run_guards(names: list[str], case: Case) -> None:
    """Let the guards of an analysis look at a step, after what concerns every analysis.

    Raises:
        PlanError: when one of them refuses.
    """
    one_unit(case)
    groups.exclusion_known(case)
    for name in names:
        GUARDS[name](case)
