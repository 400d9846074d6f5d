"""An open engine."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from engine.api.calls import Calls
from engine.api.catalogues import CatalogueCalls
from engine.api.conversations import ConversationCalls
from engine.api.hypotheses import HypothesesCalls
from engine.api.know.imports import ImportCalls
from engine.api.know.knowledge import KnowledgeCalls
from engine.api.know.memory import MemoryCalls
from engine.api.models import ModelCalls
from engine.api.plans import PlanCalls
from engine.api.reports import ReportCalls
from engine.api.without_workspace import sandbox_self_test
from engine.api.written import WrittenCalls
from engine.bootstrap import EngineParts, build
from engine.settings import Settings, load_settings
from engine.trees import tree_size


class Engine(PlanCalls, ConversationCalls, ReportCalls):
    """Biodesk, opened on a workspace. Methods may be called from any thread."""

    def __init__(self, parts: EngineParts, settings: Settings) -> None:
        Calls.__init__(self, parts)
        self.settings = settings
        """The settings in force."""
        self.knowledge = KnowledgeCalls(parts)
        """The knowledge graph: search, neighbourhoods, paths, checking of texts, imports."""
        self.memory = MemoryCalls(parts)
        """What is remembered: past analyses, facts, conversations."""
        self.catalogue = CatalogueCalls(parts)
        """Every tool that can be found, and the imported catalogues."""
        self.written = WrittenCalls(parts)
        """Tools that models wrote, and what people decided about them."""
        self.models = ModelCalls(parts)
        """Language models: which there are, whether they answer, what they cost."""
        self.hypotheses = HypothesesCalls(parts)
        """Tournaments of hypotheses: begun, watched, voted on, tested, exported."""
        self.imports = ImportCalls(parts)
        """Imports in the background: how far the one that is going on is, and what became of it."""

    def __enter__(self) -> Engine:
        """Return the engine itself, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the engine."""
        self.close()

    @property
    def read_only(self) -> bool:
        """True when the workspace may only be read: runs can be looked at, verified and exported, none made."""
        return self._parts.workspace.read_only

    def sandbox_self_test(self) -> dict[str, Any]:
        """Try out now what isolates steps; the runs that are going on do not notice."""
        with tempfile.TemporaryDirectory() as folder:
            return sandbox_self_test(self.settings, Path(folder))

    def disk_use(self) -> dict[str, int]:
        """Return how many bytes each file and folder of the workspace takes, by its name."""
        return {
            path.name: tree_size([path]) if path.is_dir() else path.stat().st_size
            for path in sorted(self._parts.workspace.folder.iterdir())
        }

    def warm(self) -> None:
        """Start what makes the first step fast; returns when it is ready."""
        if self.settings.warm_workers:
            self._parts.beside.sandbox.warm()

    def warm_in_background(self) -> None:
        """Start warming and return at once; a step that comes earlier waits for it or starts cold."""
        self._parts.beside.warm()

    def close(self) -> None:
        """Stop the runs (they can be resumed) and what is being imported, and release the workspace."""
        self._parts.beside.close()


def open_engine(**settings: Any) -> Engine:
    """Open Biodesk on a workspace; keyword arguments are settings (see `engine.settings.Settings`).

    Raises:
        WorkspaceInUse: when another process holds the workspace.
        UserError: for a bad setting.
    """
    loaded, _ = load_settings(**settings)
    return Engine(build(loaded), loaded)
