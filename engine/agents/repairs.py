"""What can be done, by rule, about a step that failed.

Each rule changes one parameter in a way a statistician would accept and says so; the change is an event,
a reason in the report's limitations and part of the stored parameters. Where no rule fits, failing
honestly is the right answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple


class Repair(NamedTuple):
    """A change of parameters and why."""

    changed: dict[str, Any]
    why: str


class _Rule(NamedTuple):
    tool: str
    pattern: str
    change: dict[str, Any]
    why: str


_RULES = (
    _Rule(
        "cox_regression",
        r"converg|singular|collinear|delta contains nan",
        {"penalizer": 0.1},
        "the fit did not converge, so a small ridge penalty (0.1) was added; hazard ratios are shrunk towards 1",
    ),
    _Rule(
        "normalize_counts",
        r"dispersion|trend|all genes have|converg|nan",
        {"method": "log_cpm"},
        "the variance-stabilising fit failed, so log2 counts per million were used",
    ),
    _Rule(
        "gsea_preranked",
        r"no gene set|min_size|no gene sets? (left|passed)",
        {"min_size": 5},
        "no gene set had 15 genes in the data, so sets from 5 genes on were tested",
    ),
    _Rule(
        "over_representation",
        r"no gene set|min_size",
        {"min_size": 3},
        "no gene set had 10 genes in the background, so sets from 3 genes on were tested",
    ),
)


def repair(tool: str, error: str, params: Mapping[str, Any], spent: list[Repair]) -> Repair | None:
    """Return a repair not yet tried for this failure, or None."""
    for rule in _RULES:
        already = any(rule.change == earlier.changed for earlier in spent)
        new = any(params.get(key) != value for key, value in rule.change.items())
        if rule.tool == tool and new and not already and re.search(rule.pattern, error, re.IGNORECASE):
            return Repair(dict(rule.change), rule.why)
    return None
