"""What entities are recognised by, in a text (the linker) and as they are written (the look-up), in the newest names.

Both are kept for as long as the names are the same: a run that only adds files to the graph makes neither anew.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from engine.domain.knowledge import NodeType
from engine.knowledge.graph.view import GraphView
from engine.knowledge.linking.linker import EntityLinker
from engine.knowledge.lookup import EntityLookup
from engine.knowledge.newest import NewestGraph

_log = logging.getLogger(__name__)
T = TypeVar("T")


class _Kept(NamedTuple, Generic[T]):
    """What was made of names, and the newest version it is right for."""

    version: int
    names: str
    made: T


@dataclass(slots=True)
class Recognising:
    """Linker and look-up of a workspace's graph. Methods may be called from any thread."""

    graph: NewestGraph
    _linker: _Kept[EntityLinker] | None = None
    _lookup: _Kept[EntityLookup] | None = None
    _renewing: bool = False
    """True while a linker is built in the background."""
    _linker_lock: threading.Lock = field(default_factory=threading.Lock)
    _lookup_lock: threading.Lock = field(default_factory=threading.Lock)
    _state: threading.Lock = field(default_factory=threading.Lock)
    """Held for an instant, never while something is built."""

    def linker(self) -> EntityLinker:
        """Return the entity linker of the newest names.

        What it finds are nodes with their ids, so it may be used with a newer view. After a finished run or a
        remembered fact, the one before is returned while a new one is built in the background.
        """
        view = self.graph.view()
        with self._linker_lock:
            kept = self._linker
            if kept is None or kept.version < self.graph.oldest_names:
                kept = self._linker = self._linker_for(view, kept)
            elif kept.version < view.version:
                self._renew_linker_soon(view)
            return kept.made

    def lookup(self) -> EntityLookup:
        """Return the look-up of symbols, identifiers and names in the newest version."""
        view = self.graph.view()
        with self._lookup_lock:
            kept = self._lookup
            if kept is None or kept.version < view.version:
                kept = self._lookup = self._lookup_for(view, kept)
            return kept.made

    def _linker_for(self, view: GraphView, kept: _Kept[EntityLinker] | None) -> _Kept[EntityLinker]:
        names = _names_of(view)
        made = kept.made if kept is not None and kept.names == names else EntityLinker(view)
        return _Kept(view.version, names, made)

    def _lookup_for(self, view: GraphView, kept: _Kept[EntityLookup] | None) -> _Kept[EntityLookup]:
        names = _names_of(view)
        made = kept.made if kept is not None and kept.names == names else EntityLookup(view.nodes)
        return _Kept(view.version, names, made)

    def _renew_linker_soon(self, view: GraphView) -> None:
        with self._state:
            if self._renewing:
                return
            self._renewing = True
        threading.Thread(target=self._renew_linker, args=[view], name="biodesk-linker", daemon=True).start()

    def _renew_linker(self, view: GraphView) -> None:
        try:
            made = self._linker_for(view, self._linker)
            with self._linker_lock:
                if self._linker is None or self._linker.version < made.version:
                    self._linker = made
        except Exception:  # noqa: BLE001 - the old linker stays in use, and the next question tries again
            _log.exception("The entity linker of graph version %d could not be built.", view.version)
        finally:
            with self._state:
                self._renewing = False


def _names_of(view: GraphView) -> str:
    """Return a hash of everything entities are recognised by; the files of runs (datasets) are not among it."""
    return view.nodes.key((NodeType.DATASET,))
