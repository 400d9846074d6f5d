"""The newest version of the workspace's knowledge graph: opened when first needed, reopened when it changed.

Reading goes through a view that never changes under its reader; an import or a finished run makes a newer version, and
the next question is answered from that. A newer view is built beside the old one: whoever asks while another thread
builds it is answered from the old one, unless an import or a removal asked for by a person lies between the two.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from engine.knowledge.graph.csr import open_graph
from engine.knowledge.graph.view import GraphView
from engine.knowledge.sources import starter
from engine.ports.graph import GraphStore
from engine.ports.system import Clock


@dataclass(slots=True)
class NewestGraph:
    """The graph as it is now. Methods may be called from any thread."""

    store: GraphStore
    folder: Path
    clock: Clock
    starter_wanted: bool = True
    oldest_names: int = 0
    """Names before this version are not to be recognised by any more."""
    _oldest: int = 0
    """Versions before this one are not to be shown any more."""
    _view: GraphView | None = None
    _starter_checked: bool = False
    _building: threading.Lock = field(default_factory=threading.Lock)
    _state: threading.Lock = field(default_factory=threading.Lock)
    """Held for an instant, never while something is built."""

    def view(self, *, wait: bool = False) -> GraphView:
        """Return the newest version of the graph, loading the starter graph into a workspace that has none.

        While another thread builds a version that only a finished run made newer, the one before it is returned,
        unless told to wait.
        """
        kept, version = self._view, self.store.version()
        if kept is not None and kept.version == version:
            return kept
        usable = kept if kept is not None and kept.version >= self._oldest and not wait else None
        if not self._building.acquire(blocking=usable is None):
            assert usable is not None
            return usable
        try:
            self._load_starter()
            kept = self._view
            if kept is None or kept.version != self.store.version():
                kept = self._view = open_graph(self.store, self.folder)
            return kept
        finally:
            self._building.release()

    def outdate(self, *, names: bool = False) -> None:
        """Answer from nothing older than what the store holds now, however long the next question waits for it.

        Args:
            names: entities must be recognised by nothing older either.
        """
        version = self.store.version()
        with self._state:
            self._oldest = max(self._oldest, version)
            if names:
                self.oldest_names = max(self.oldest_names, version)

    def _load_starter(self) -> None:
        if self._starter_checked:
            return
        # Whoever took the starter graph back does not want it again at the next start.
        if self.starter_wanted and starter.SOURCE_ID not in self.store.removed_sources():
            source = starter.starter_source().model_copy(update={"at": self.clock.now()})
            # It finds nothing new in what others state, so it need not be read again because they changed.
            there = any(old.id == source.id and old.files == source.files for old in self.store.sources())
            if not there:
                self.store.add(source, starter.starter_batches())
        self._starter_checked = True
