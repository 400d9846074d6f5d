"""A run must end in a report whether or not a language model is at hand.

The report is composed by rule from what the steps found (`engine.reporting.compose`): every sentence with a
number is a finding as the tool wrote it, so nothing can be claimed here that no artifact shows.
"""

from __future__ import annotations

from engine.domain.report import Report, RunView
from engine.ports.artifacts import ArtifactStore
from engine.reporting.answers import with_tables
from engine.reporting.compose import compose
from engine.toolbox.registry import ToolRegistry

__all__ = ["synthesize"]


def synthesize(view: RunView, registry: ToolRegistry, artifacts: ArtifactStore | None = None) -> Report:
    """Write the report of a run, finished or not, from its plan and results, with rows of the stored tables."""
    report = compose(view, registry)
    return report if artifacts is None else with_tables(report, view, registry, artifacts)
