"""A run must end in a report whether or not a language model is at hand.

The report is composed by rule from what the steps found (`engine.reporting.compose`): every sentence with a
number is a finding as the tool wrote it, so nothing can be claimed here that no artifact shows.
"""

from __future__ import annotations

from engine.domain.report import Report
from engine.domain.run_view import RunView
from engine.reporting.compose import compose
from engine.toolbox.registry import ToolRegistry

__all__ = ["synthesize"]


def synthesize(view: RunView, registry: ToolRegistry) -> Report:
    """Write the report of a run, finished or not, from its plan and results."""
    return compose(view, registry)
