"""What can be found out without opening a workspace."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.asking.router import require_question
from engine.bootstrap import make_profiler, make_router, make_sandbox, workspace_holder
from engine.data.columns.asked_sheet import of_asked_sheets
from engine.data.columns.legend import explained
from engine.domain.knowledge import NodeType
from engine.domain.profile import Profile
from engine.domain.results import Route
from engine.domain.toolspec import ToolSpec
from engine.errors import PlanError, SandboxUnavailable
from engine.planning.planner import Planner
from engine.ports.sandbox import Sandbox
from engine.settings import Settings, load_settings
from engine.toolbox.analyses import Analysis, load_analyses
from engine.toolbox.registry import builtin_tools


def profile_paths(paths: Sequence[Path | str]) -> list[Profile]:
    """Look at files without opening a workspace.

    Raises:
        DataError: when a path leads to nothing that can be read.
    """
    with contextlib.closing(make_profiler()) as profiler:
        return explained(profiler.look([Path(path) for path in paths]))


def route_of(task: str, data: Sequence[Path | str] = (), **settings: Any) -> Route:
    """Return which strategy answers a task, and why, without opening a workspace; settings as in `open_engine`.

    Raises:
        UserError: for an empty task.
        DataError: when a file cannot be read.
    """
    require_question(task)
    router = make_router(load_settings(**settings)[0])
    profiles = of_asked_sheets(profile_paths(data), task) if data else []
    plans = True
    if profiles:
        try:
            plan = Planner(builtin_tools(), router.embed).plan(task, profiles).plan
            # A plan that has to ask whether it is meant at all, and not only which column, is no evidence.
            plans = not any(question.blocking and not question.param for question in plan.open_questions)
        except PlanError:
            plans = False
    return router.route(task, profiles, plans=plans)


def builtin_tool_specs() -> list[ToolSpec]:
    """Return the built-in catalogue without opening a workspace."""
    return list(builtin_tools())


def builtin_analyses() -> list[Analysis]:
    """Return every analysis that can be asked, by field, without opening a workspace."""
    return sorted(load_analyses().values(), key=lambda analysis: analysis.field)


def public_sources() -> list[dict[str, Any]]:
    """Return the public sources of knowledge that can be fetched, without opening a workspace."""
    from engine.knowledge.sources.catalogue import SOURCES

    return [source.model_dump(mode="json") for source in SOURCES.values()]


def graph_formats() -> dict[str, str]:
    """Return the formats of knowledge that can be imported and what each is."""
    from engine.knowledge.importers import read

    return {name: info.description for name, info in read.FORMATS.items()}


def term_types() -> list[str]:
    """Return the types of entities that a list of genes can be tested against, see `GraphReading.enrich`."""
    from engine.knowledge.enrichment import NO_NEIGHBOURHOODS

    none = {*NO_NEIGHBOURHOODS, NodeType.GENE, NodeType.PROTEIN}
    return [kind.value for kind in NodeType if kind not in none]


def preview_graph_files(fmt: str, files: Sequence[Path], organism: str = "human") -> Any:
    """Return the first nodes and edges an import would read, without opening a workspace."""
    from engine.knowledge.importers import read

    return read.preview(fmt, files, organism=organism)


def sandbox_self_test(settings: Settings, scratch: Path) -> dict[str, Any]:
    """Try out what would isolate steps with these settings, without opening a workspace."""
    try:
        sandbox = make_sandbox(settings, scratch)
    except SandboxUnavailable as err:
        return {"kind": "none", "available": False, "warm": False, "isolation": {}, "missing": [err.message]}
    try:
        sandbox.warm()  # the process that steps are forks of is what is tried
        return sandbox_facts(sandbox)
    finally:
        sandbox.close()


def sandbox_facts(sandbox: Sandbox) -> dict[str, Any]:
    """Return what a sandbox isolates as a document."""
    report = sandbox.report()
    return {
        "kind": report.kind,
        "available": report.available,
        "warm": report.warm,
        "isolation": dict(report.isolation),
        "missing": list(report.missing),
    }


def workspace_state(folder: Path) -> str:
    """Return `free`, `new` or who holds the workspace."""
    if not folder.exists():
        return "new"
    return workspace_holder(folder) or "free"
