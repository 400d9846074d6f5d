"""A step under the guards, and the table of guards.

A guard is named by the analyses it belongs to (`guards` in `analyses.toml`). It gets the step's parameters as bound and may change
them; what a person must know before believing the result goes to the warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from engine.planning.binding.bound import Bound
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data


@dataclass(slots=True)
class Case:
    """One step under the guards."""

    bound: Bound
    reading: Reading
    data: Data
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    """What guards found out that practice may use (`pair`)."""


Guard = Callable[[Case], None]
GUARDS: dict[str, Guard] = {}


def guard(function: Guard) -> Guard:
    """Put a function among the guards under its own name."""
    GUARDS[function.__name__] = function
    return function
