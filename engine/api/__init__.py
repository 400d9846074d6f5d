"""The facade: all that pages, the command line and scripts import.

    engine = open_engine(workspace="analysis")
    run_id = engine.ask("Which genes change with treatment?", ["counts.csv", "samples.csv"], auto_approve=True)
    engine.wait(run_id)
    engine.export(run_id, "html", "report.html")

Values it returns are those of `engine.domain`; errors are those of `engine.errors`.
"""

from engine.api.documents import event_json, plan_document, read_plan
from engine.api.engine import Engine, open_engine
from engine.api.without_workspace import (
    builtin_analyses,
    builtin_tool_specs,
    graph_formats,
    preview_graph_files,
    profile_paths,
    public_sources,
    route_of,
    sandbox_self_test,
    term_types,
    workspace_state,
)
from engine.bootstrap import embedding_state, model_state, serve_mailbox, try_workspace
from engine.domain.brief import Setup, SetupPart
from engine.domain.events import EngineEvent
from engine.domain.knowledge import EdgeType, Neighbourhood, NodeType
from engine.domain.plan import TaskDag, WayOn
from engine.domain.profile import Profile
from engine.domain.report import Conversation, RunView
from engine.domain.results import Route, RunRecord
from engine.errors import (
    DataError,
    EngineError,
    LimitExceeded,
    NotFoundError,
    PlanError,
    SandboxUnavailable,
    StorageError,
    UserError,
    WorkspaceInUse,
)
from engine.examples import Example, examples
from engine.provenance.verify import Verification, verify_path
from engine.reporting.numbers import shown_cells
from engine.runs.imports import ImportState
from engine.runs.requests import request_cancel
from engine.toolbox.analyses import Analysis

__all__ = [
    "Analysis",
    "Conversation",
    "DataError",
    "EdgeType",
    "Engine",
    "EngineError",
    "EngineEvent",
    "Example",
    "ImportState",
    "LimitExceeded",
    "Neighbourhood",
    "NodeType",
    "NotFoundError",
    "PlanError",
    "Profile",
    "Route",
    "RunRecord",
    "RunView",
    "SandboxUnavailable",
    "Setup",
    "SetupPart",
    "StorageError",
    "TaskDag",
    "UserError",
    "Verification",
    "WayOn",
    "WorkspaceInUse",
    "builtin_analyses",
    "builtin_tool_specs",
    "embedding_state",
    "event_json",
    "examples",
    "graph_formats",
    "model_state",
    "open_engine",
    "plan_document",
    "preview_graph_files",
    "profile_paths",
    "public_sources",
    "read_plan",
    "request_cancel",
    "route_of",
    "sandbox_self_test",
    "serve_mailbox",
    "shown_cells",
    "term_types",
    "try_workspace",
    "verify_path",
    "workspace_state",
]
