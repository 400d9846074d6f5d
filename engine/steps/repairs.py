"""What can be done, by rule, about a step that failed.

A tool declares its repairs (`ToolSpec.repairs`): changes of its parameters that a statistician would accept. The
change is an event, a reason in the report's limitations and part of the stored parameters. Where no rule fits, failing
honestly is the right answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.domain.toolspec import Repair, ToolSpec


@dataclass(frozen=True, slots=True)
class Failure:
    """A try that failed."""

    spec: ToolSpec
    error: str


def repair(spec: ToolSpec, error: str, params: Mapping[str, Any], spent: Sequence[Repair]) -> Repair | None:
    """Return a repair of the tool that was not tried yet and fits this failure, or None."""
    for rule in spec.repairs:
        already = any(rule.change == earlier.change for earlier in spent)
        new = any(params.get(key) != value for key, value in rule.change.items())
        if new and not already and re.search(rule.pattern, error, re.IGNORECASE):
            return rule
    return None
