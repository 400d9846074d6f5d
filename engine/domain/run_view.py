"""Everything known of one run, gathered: what a page shows, a report is written from and an export packs."""

from __future__ import annotations

from engine.domain.base import Value
from engine.domain.encoding.sealing import SealHead
from engine.domain.plan import TaskDag
from engine.domain.profile import Profile
from engine.domain.report import Report
from engine.domain.results import NodeResult, Route, RunRecord


class Conversation(Value):
    """Questions that followed each other."""

    id: str
    title: str
    """What a person called it, else its first question."""
    named: bool = False
    """True when a person gave it its name."""
    runs: list[RunRecord]
    """Its turns, oldest first; never empty."""


class RunView(Value):
    """A run with its route, newest plan, results, profiles of its data and report (as far as they exist)."""

    record: RunRecord
    route: Route | None = None
    plan: TaskDag | None = None
    plan_versions: list[int] = []
    results: dict[str, NodeResult] = {}
    """Node id -> result; nodes that have not run are absent."""
    profiles: list[Profile] = []
    report: Report | None = None
    warnings: list[str] = []
    sandbox: dict[str, str] = {}
    """What isolated the steps: kind and a sentence on each thing it does not isolate."""
    seal: SealHead | None = None
    """The newest seal of the stored run."""
